"""Train, validation and test rows of each protocol (the key `protocol` in config/README.md).

Seeds depend on the data set, the repeat and the `seed` of the configuration, never on the model, so that comparisons of
models are paired. Variants share the split of their data set, so that `digits` and `digits+irrelevant` are compared on
the same rows. A number in the protocol is a published split, which the `seed` of the configuration does not change.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor

import numpy as np

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.names import seed_for


@dataclass(frozen=True)
class Rows:
    """Row numbers of one split.

    Parameters
    ----------
    train, test : ndarray of int
        Rows of the training and the test set.
    validation : ndarray of int or None
        Rows of the validation set, if the protocol has one.
    seed : int or None
        Seed that drew the split; None for a given split.
    """

    train: np.ndarray
    test: np.ndarray
    validation: np.ndarray | None
    seed: int | None

    def with_train(self, train: np.ndarray) -> "Rows":
        """Return the same split with other training rows."""
        return replace(self, train=train)


def repeats_of(protocol: dict) -> int:
    """Return the number of repeats of a protocol; a k-fold cross-validation has k."""
    return protocol["folds"] if protocol["kind"] == "cv" else protocol["repeats"]


def split_rows(
    protocol: dict,
    y: np.ndarray,
    repeat: int,
    *,
    dataset: str,
    task: str,
    given_test: np.ndarray | None = None,
    class_names: tuple[str, ...] = (),
    seed: int = 0,
) -> Rows:
    """Draw one split.

    Parameters
    ----------
    protocol : dict
        The `protocol` of a data set file.
    y : ndarray of shape (n_samples,)
        Class codes, or the regression target.
    repeat : int
        From 0. Cross-validation: the fold. A given or fixed split is the same in each repeat.
    dataset : str
        Name of the data set, without operations: all variants share its splits.
    task : {'classification', 'regression'}
        Only classes are stratified.
    given_test : ndarray of bool, optional
        Test rows of a given split.
    class_names : tuple of str
        For messages.
    seed : int, default=0
        `seed` of ``config/config.yaml``; changes the splits that are drawn ``per_repeat`` or ``per_split``.

    Returns
    -------
    Rows
        Disjoint rows; together all rows, unless the protocol names sizes that leave some out.

    Raises
    ------
    ConfigError
        If the protocol has no such repeat, or its sizes do not fit the number of rows.
    UserError
        If a class is too small to be stratified.
    """
    if repeat < 0:
        raise ConfigError(f"Repeat {repeat} of '{dataset}': repeats are counted from 0.")
    kind = protocol["kind"]
    if kind == "given":
        if given_test is None:
            raise ConfigError(
                f"config/datasets/{dataset}.yaml: protocol.kind is 'given', but its files give no test rows; "
                "choose cv or holdout."
            )
        return Rows(np.flatnonzero(~given_test), np.flatnonzero(given_test), None, None)
    if kind == "cv":
        return _fold(protocol, y, repeat, dataset, task, class_names)
    return _holdout(protocol, y, _seed(protocol, repeat, dataset, seed), dataset, class_names)


def _fold(protocol: dict, y: np.ndarray, repeat: int, dataset: str, task: str, class_names: tuple[str, ...]) -> Rows:
    """Fold `repeat` of the shuffled k-fold cross-validation that the released hiDF code uses."""
    from sklearn.model_selection import KFold, StratifiedKFold

    folds, seed = protocol["folds"], protocol["seed"]
    if repeat >= folds:
        raise ConfigError(
            f"Repeat {repeat} of '{dataset}': a {folds}-fold cross-validation has repeats 0 to {folds - 1}; "
            "ask for fewer, or raise protocol.folds."
        )
    if y.size < folds:
        raise UserError(f"'{dataset}' has {y.size} rows, too few for {folds} folds; lower protocol.folds.")
    if task == "regression":
        splitter = KFold(folds, shuffle=True, random_state=seed)
    else:
        _require_rows(y, 2, dataset, class_names)
        if np.bincount(y).max() < folds:
            raise UserError(
                f"'{dataset}': no class has as many rows as there are folds ({folds}); lower protocol.folds."
            )
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Some published sets (arrhythmia) have classes with fewer rows than folds: such a class is missing from the
        # test part of some folds. The papers' protocol has it so.
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        train, test = list(splitter.split(np.zeros(y.size), y))[repeat]
    return Rows(train, test, None, seed)


def _holdout(protocol: dict, y: np.ndarray, seed: int, dataset: str, class_names: tuple[str, ...]) -> Rows:
    """Random split; with a fixed seed and one of the two sizes exactly scikit-learn's `train_test_split`."""
    from sklearn.model_selection import train_test_split

    n_train, n_validation, n_test = _sizes(protocol, y.size, dataset)
    stratified = bool(protocol.get("stratify"))
    if stratified:
        _require_rows(y, 3 if n_validation else 2, dataset, class_names)
        n_classes = np.unique(y).size
        if smallest := [n for n in (n_train, n_validation, n_test) if 0 < n < n_classes]:
            raise UserError(
                f"'{dataset}': a part of {smallest[0]} rows cannot hold all {n_classes} classes, so the split cannot "
                f"be stratified; use more rows, or set stratify: false in config/datasets/{dataset}.yaml."
            )
    rows = np.arange(y.size)
    kept, test = train_test_split(
        rows,
        train_size=n_train + n_validation,
        test_size=n_test,
        random_state=seed,
        stratify=y if stratified else None,
    )
    if not n_validation:
        return Rows(kept, test, None, seed)
    train, validation = train_test_split(
        kept,
        train_size=n_train,
        test_size=n_validation,
        random_state=seed,
        stratify=y[kept] if stratified else None,
    )
    return Rows(train, test, validation, seed)


def _seed(protocol: dict, repeat: int, dataset: str, seed: int) -> int:
    """Seed of the split of one repeat."""
    if protocol["seed"] == "per_repeat":
        return seed_for("split", dataset, repeat, seed=seed)
    if protocol["seed"] == "per_split":
        if repeat >= protocol["repeats"]:
            raise ConfigError(
                f"Repeat {repeat} of '{dataset}': its {protocol['splits']} splits have repeats 0 to "
                f"{protocol['repeats'] - 1}; ask for fewer, or raise protocol.repeats."
            )
        return seed_for("split", dataset, repeat // (protocol["repeats"] // protocol["splits"]), seed=seed)
    return protocol["seed"]


def _sizes(protocol: dict, n_rows: int, dataset: str) -> tuple[int, int, int]:
    """Rows of training, validation and test set, rounded as scikit-learn does (test up, training down)."""
    n_validation = _count(protocol.get("validation_size", 0), n_rows, floor)
    if "test_size" not in protocol:
        n_train = _count(protocol["train_size"], n_rows, floor)
        n_test = n_rows - n_train - n_validation
    else:
        n_test = _count(protocol["test_size"], n_rows, ceil)
        rest = n_rows - n_test - n_validation
        n_train = _count(protocol["train_size"], n_rows, floor) if "train_size" in protocol else rest
    if min(n_train, n_test) < 1 or n_train + n_validation + n_test > n_rows:
        raise ConfigError(
            f"config/datasets/{dataset}.yaml: the sizes of protocol ask for {n_train} training, {n_validation} "
            f"validation and {n_test} test rows, but there are {n_rows} in all; every part but validation needs at "
            "least one. Change train_size, validation_size or test_size."
        )
    return n_train, n_validation, n_test


def _count(size: float, n_rows: int, rounded: Callable[[float], int]) -> int:
    return rounded(size * n_rows) if isinstance(size, float) else size


def _require_rows(y: np.ndarray, least: int, dataset: str, class_names: tuple[str, ...]) -> None:
    """Refuse classes that cannot be in every part, by name."""
    codes, counts = np.unique(y, return_counts=True)
    small = [
        f"'{class_names[code] if class_names else code}' ({count})"
        for code, count in zip(codes, counts, strict=True)
        if count < least
    ]
    if small:
        raise UserError(
            f"'{dataset}' cannot be split by class: {', '.join(small)} of too few rows, each class needs {least}. "
            f"Drop or merge such classes, or set stratify: false in config/datasets/{dataset}.yaml."
        )
