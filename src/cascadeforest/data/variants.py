"""Variants of a prepared data set: apply one operation of a variant id at a time.

``noise`` and ``smooth`` change the stored table. The other operations are only checked and recorded here;
`Dataset.split` applies them in each repeat. No operation thins the test rows.
"""

from math import isqrt

import numpy as np
from scipy.sparse import issparse

from cascadeforest.data.dataset import Dataset, build_dataset
from cascadeforest.data.draws import draw_train
from cascadeforest.data.errors import UserError
from cascadeforest.data.names import Operation, parse_operation, parse_variant, seed_for


def vary(dataset: Dataset, operation: str, name: str | None = None) -> Dataset:
    """Apply one operation to a data set.

    Parameters
    ----------
    dataset : Dataset
        A data set or a variant.
    operation : str
        ``irrelevant``, ``imbalance-<class>-<ratio>``, ``train-<fraction>``, ``rest-<fraction>``, ``noise-<columns>``,
        ``smooth-<pixels>``, ``rows-<count>`` or ``negatives-<count>``.

    name : str, optional
        Name of the result. By default ``<name>+<operation>``.

    Returns
    -------
    Dataset
        The data set or variant.

    Raises
    ------
    ConfigError
        If the operation is unknown, repeated, or follows an operation that it must precede.
    UserError
        If the data set cannot be varied in this way.
    """
    identifier = f"{dataset.name}+{operation}"
    parse_variant(identifier)
    parsed = parse_operation(operation, identifier)
    change = {
        "negatives": _negatives,
        "rows": _rows,
        "noise": _noise,
        "smooth": _smooth,
        "train": _train,
        "rest": _rest,
        "imbalance": _imbalance,
        "irrelevant": _irrelevant,
    }[parsed.kind]
    parts = {
        "task": dataset.task,
        "X": dataset.X,
        "y": dataset.y,
        "feature_names": dataset.feature_names,
        "class_names": dataset.class_names,
        "given_test": dataset.given_test,
        "protocol": dataset.protocol,
        "repeat_operations": (*dataset.repeat_operations, *((operation,) if parsed.per_repeat else ())),
        "meta": dict(dataset.meta),
        "seed": dataset.seed,
    }
    return build_dataset(name=name or identifier, **(parts | change(dataset, parsed)))


def _rows(dataset: Dataset, operation: Operation) -> dict:
    training = [dataset.rows(repeat).train for repeat in range(dataset.repeats())]
    for repeat, train in enumerate(training):  # folds differ in size
        draw_train(
            operation,
            train,
            dataset.y,
            dataset=dataset.base_name,
            repeat=repeat,
            class_names=dataset.class_names,
            seed=dataset.seed,
        )
    text = f"{operation.count:,} of {training[0].size:,} training rows, drawn by class in each repeat; all test rows."
    return {"meta": _with_note(dataset.meta, text)}


def _negatives(dataset: Dataset, operation: Operation) -> dict:
    """Rows of NaN behind the others, whose values each repeat makes."""
    n_stored = int((dataset.y == 0).sum())
    if issparse(dataset.X) or not dataset.class_names or dataset.given_test is not None or operation.count < n_stored:
        raise UserError(
            f"'{dataset.name}' cannot have negatives-{operation.count}: the operation is for dense tables of classes "
            f"without a given split, and for more rows of class 0 than the {n_stored} that there are."
        )
    n_more = operation.count - n_stored
    text = (
        f"{operation.count:,} rows of class {dataset.class_names[0]} are made in each repeat from the {n_stored:,} "
        "that there are; the rows of the other classes stay. Intervals over the repeats are for these rows."
    )
    return {
        "X": np.vstack([dataset.X, np.full((n_more, dataset.X.shape[1]), np.nan, np.float32)]),
        "y": np.r_[dataset.y, np.zeros(n_more, dataset.y.dtype)],
        "meta": _with_note(dataset.meta, text),
    }


def _noise(dataset: Dataset, operation: Operation) -> dict:
    """Columns of uniform noise on [0, 1), the same in all repeats."""
    if issparse(dataset.X):
        raise UserError(
            f"'{dataset.name}' is sparse: the operation 'noise' is for dense tables only. Choose another data set."
        )
    k = operation.count
    generator = np.random.default_rng(seed_for("noise", dataset.base_name, k, seed=dataset.seed))
    noise = generator.random((dataset.X.shape[0], k), dtype=np.float32)
    meta = _with_note(dataset.meta, f"{k:,} columns of uniform noise added.")
    if meta.get("raw_features") is not None:
        meta["raw_features"] += k
    return {
        "X": np.hstack([dataset.X.astype(np.float32, copy=False), noise]),
        "feature_names": (*dataset.feature_names, *(f"noise_{i}" for i in range(1, k + 1))),
        "meta": meta,
    }


def _smooth(dataset: Dataset, operation: Operation) -> dict:
    """Square images through a Gaussian filter (`scipy.ndimage`) of this standard deviation in pixels."""
    from scipy.ndimage import gaussian_filter

    n_rows, n_features = dataset.X.shape
    side = isqrt(n_features)
    if issparse(dataset.X) or side * side != n_features:
        raise UserError(
            f"The rows of '{dataset.name}' are no square images: they have {n_features} features. The operation "
            "'smooth' is for images with as many rows as columns; choose another data set."
        )
    images = dataset.X.astype(np.float32, copy=False).reshape(n_rows, side, side)
    smooth = gaussian_filter(images, operation.amount, axes=(1, 2)).reshape(n_rows, n_features)
    text = f"Images smoothed by a Gaussian filter with a standard deviation of {operation.count} pixel."
    return {"X": smooth, "meta": _with_note(dataset.meta, text)}


def _train(dataset: Dataset, operation: Operation) -> dict:
    return {
        "meta": _with_note(dataset.meta, f"{100 * operation.amount:g} % of the training rows, drawn in each repeat.")
    }


def _rest(dataset: Dataset, operation: Operation) -> dict:
    text = f"{100 * operation.amount:g} % of the training rows, drawn in each repeat; the test rows are the others."
    return {"meta": _with_note(dataset.meta, text)}


def _imbalance(dataset: Dataset, operation: Operation) -> dict:
    if operation.label not in dataset.class_names:
        classes = ", ".join(dataset.class_names) or "none: its task is regression"
        raise UserError(
            f"'{dataset.name}' has no class '{operation.label}' for imbalance-{operation.label}-{operation.amount:g}; "
            f"its classes are {classes}."
        )
    text = f"{100 * operation.amount:g} % of the training rows of class {operation.label} dropped in each repeat."
    return {"meta": _with_note(dataset.meta, text)}


def _irrelevant(dataset: Dataset, _: Operation) -> dict:
    if issparse(dataset.X):
        raise UserError(
            f"'{dataset.name}' is sparse: the operation 'irrelevant' is for dense tables only. Choose another data set."
        )
    return {"meta": _with_note(dataset.meta, "A permuted copy of each column added, drawn in each repeat.")}


def _with_note(meta: dict, sentence: str) -> dict:
    """Add a sentence to the note that tables show."""
    return {**meta, "note": f"{meta['note']} {sentence}" if meta.get("note") else sentence}
