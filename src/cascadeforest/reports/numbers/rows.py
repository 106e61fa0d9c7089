"""What models predicted for each test row, in the form that the store keeps: paired comparisons need no labels.

The arrays of one data set variant, rows in the order of the data set:

- ``split``: for each repeat the number of its split; ``test_rows/<split>``: whether a row is tested, packed as bits;
- ``class/<split>``, where a table shows balanced accuracy, or the ROC AUC of several classes: codes of their classes;
- ``<model>/<repeat>/predicted``: class codes, and ``right``: whether they are right, packed by `numpy.packbits`;
- ``<model>/<repeat>/value`` and ``residual`` (value minus target) in regression, in single precision;
- ``<model>/<repeat>/placed``, of two classes where a table shows the ROC AUC: twice the placement of each row after
  DeLong et al. (1988). It is the number of negatives scored below a positive, and of positives scored above a
  negative, ties counted half;
- ``<model>/<repeat>/area``, of several classes: what each row adds to the mean of the areas, minus this mean, in single
  precision (`areas`);
- ``<model>/<repeat>/loss``, where a table shows the log loss: that of each row in half precision, since intervals take
  its spread over rows only from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.stats import rankdata

from cascadeforest.data.dataset import Dataset, load
from cascadeforest.data.errors import UserError
from cascadeforest.experiments.cells import predictions

if TYPE_CHECKING:
    from cascadeforest.reports.numbers.results import Results

Arrays: TypeAlias = dict[str, np.ndarray]
#: Arrays of each test row by model preset and repeat.
CellRows: TypeAlias = dict[tuple[str, int], Arrays]
#: Metrics that a test row moves by 1 at most, whatever the data.
BOUNDED = frozenset({"accuracy", "error_rate", "balanced_accuracy", "roc_auc"})
#: Metrics that are no mean over test rows, not even nearly.
WITHOUT_ROWS = frozenset({"ece"})


def placements(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return twice the number of rows of the other class that each row is placed right of; ties count half.

    Higher scores are more likely positive. A positive gets twice the negatives below it, a negative twice the positives
    above it: the mean over the positives, divided by twice the number of negatives, is the area under the ROC curve.
    """
    own = np.empty(len(scores))
    for side in (positive, ~positive):
        own[side] = rankdata(scores[side])
    others = rankdata(scores) - own  # rows of the other class below, ties half
    placed = np.where(positive, others, positive.sum() - others)
    return np.rint(2 * placed).astype(np.uint32)


def areas(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return what each row adds to the mean of the areas of each class against the rest, minus this mean.

    A row counts in the area of its own class as a positive and in all others as a negative. The mean of the n rows is
    0, and the sum of their squares divided by n² is DeLong's variance of the mean of the areas (but for n_k in place of
    n_k - 1 rows of a class). Classes without a row, or with all rows, have no curve.
    """
    n, found = len(classes), np.zeros(len(classes))
    codes = [code for code, size in enumerate(np.bincount(classes, minlength=scores.shape[1])) if 0 < size < n]
    for code in codes:
        positive = classes == code
        own, other = positive.sum(), n - positive.sum()
        placed = placements(scores[:, code], positive) / 2
        share = np.where(positive, placed / other, placed / own)
        found += (share - share[positive].mean()) * np.where(positive, n / own, n / other) / len(codes)
    return found


def rows_of(results: Results, dataset: str, processed: Path) -> Arrays:
    """Return what models predicted for the test rows of a data set variant: empty if no cell kept its predictions.

    `processed` is the folder of the processed data. `UserError` if the cells had other data, or a file is damaged.
    """
    cells = [cell for cell in results.all_cells() if cell.dataset == dataset and cell.outputs]
    if not cells:
        return {}
    data = load(processed / f"{dataset}.npz")
    if other := {cell.provenance.data_digest for cell in cells} - {data.digest}:
        raise UserError(f"{dataset}: cells were computed on other data ({', '.join(other)}, now {data.digest}).")
    splits = [data.rows(repeat).test for repeat in range(max(cell.repeat for cell in cells) + 1)]
    tested = [np.packbits(np.isin(np.arange(len(data.y)), test)) for test in splits]
    numbers = {mask: k for k, mask in enumerate(dict.fromkeys(mask.tobytes() for mask in tested))}
    found: Arrays = {"split": np.array([numbers[mask.tobytes()] for mask in tested], np.int16)}
    found |= {f"test_rows/{numbers[mask.tobytes()]}": mask for mask in tested}
    wanted: dict[str, set[str]] = {}
    for experiment in map(results.experiments.__getitem__, results.drawable()):
        models = {model for variant, model in experiment.needed_runs() if variant == dataset}
        for metric in experiment.metrics:
            wanted.setdefault(metric, set()).update(models)
    is_weighed = wanted.get("balanced_accuracy") or (wanted.get("roc_auc") and len(data.class_names) > 2)
    if data.task == "classification" and is_weighed:
        small = np.min_scalar_type(len(data.class_names))
        sorted_classes = [data.y[np.sort(test)].astype(small) for test in splits]
        found |= {f"class/{numbers[mask.tobytes()]}": own for mask, own in zip(tested, sorted_classes, strict=True)}
    for cell in cells:
        outputs = predictions(results.arrays_folder, cell, results.remedy)
        shown = {metric for metric, models in wanted.items() if cell.model in models}
        order = np.argsort(splits[cell.repeat])
        outputs = {name: values[order] for name, values in outputs.items()}
        for name, values in _of_cell(outputs, data, splits[cell.repeat][order], shown).items():
            found[f"{cell.model}/{cell.repeat}/{name}"] = values
    return found


def _of_cell(outputs: Arrays, data: Dataset, test: np.ndarray, shown: set[str]) -> Arrays:
    """Return what is kept of a cell whose model is in tables that show these metrics."""
    predicted, truth = outputs["predicted"], data.y[test]
    if data.task == "regression":
        return {"value": predicted.astype(np.float32), "residual": (predicted - truth).astype(np.float32)}
    small = np.min_scalar_type(len(data.class_names))
    found = {"predicted": predicted.astype(small), "right": np.packbits(predicted == truth)}
    scores = outputs.get("probabilities", outputs.get("scores"))
    if "roc_auc" in shown and scores is not None:
        if len(data.class_names) == 2:
            found["placed"] = placements(scores[:, 1], truth == 1)
        else:
            found["area"] = areas(scores, truth).astype(np.float32)
    if "log_loss" in shown and "probabilities" in outputs:
        found["loss"] = log_losses(outputs["probabilities"], truth).astype(np.float16)
    return found


def log_losses(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the log loss of each row, in nats, clipped as in `cascadeforest.experiments.metrics`."""
    own = probabilities[np.arange(len(classes)), classes] / probabilities.sum(axis=1, dtype=float)
    return -np.log(np.clip(own, np.finfo(float).eps, 1.0))


def by_cell(arrays: Mapping[str, np.ndarray]) -> CellRows:
    """Return arrays with a value for each test row, by model preset and repeat.

    There are ``test_rows``, their numbers in the data set, and what the head of this module says; ``right`` is bool,
    and ``class`` is there if the data set has it.
    """
    found: CellRows = {}
    for name, values in arrays.items():
        match name.split("/"):
            case [model, repeat, kind]:
                split = arrays["split"][int(repeat)]
                test = np.flatnonzero(np.unpackbits(arrays[f"test_rows/{split}"]))
                of_split = {"test_rows": test, "class": arrays.get(f"class/{split}")}
                known = {key: rows for key, rows in of_split.items() if rows is not None}
                one = found.setdefault((model, int(repeat)), known)
                one[kind] = np.unpackbits(values, count=len(test)).astype(bool) if kind == "right" else values
    return found


def row_values(rows: Arrays, metric: str, value: float) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return a number of each test row whose mean is the metric of a cell, `value`; None if what it takes is not kept.

    Accuracy and log loss are such means. Of RMSE, balanced accuracy and the area under the ROC curve it is the linear
    part: by it the metric changes if the row weighs a little more. Its variance gives the variance of the metric (delta
    method); for areas it is that of DeLong et al. (1988). `rows` is what was kept of the cell (`by_cell`).
    Classes follow within which rows vary, where the metric weighs the classes.
    """
    strata = None
    if metric in ("accuracy", "error_rate") and "right" in rows:
        parts = (rows["right"] if metric == "accuracy" else ~rows["right"]).astype(float)
    elif metric == "rmse" and "residual" in rows:
        squares = rows["residual"].astype(float) ** 2
        parts = squares / (2 * math.sqrt(squares.mean())) if squares.any() else squares
    elif metric == "log_loss" and "loss" in rows:
        parts = rows["loss"].astype(float)
    elif metric == "balanced_accuracy" and "class" in rows:
        strata = rows["class"]
        sizes = np.bincount(strata)
        recalls = np.bincount(strata, rows["right"]) / np.maximum(sizes, 1)
        parts = (rows["right"] - recalls[strata]) * len(strata) / (np.count_nonzero(sizes) * sizes[strata])
    elif metric == "roc_auc" and "placed" in rows:
        # Rows of the second class: predicted so and right, or predicted as the first and wrong.
        positive = (rows["predicted"] == 1) == rows["right"]
        strata = positive.astype(np.int64)
        sizes = np.bincount(strata, minlength=2)
        placements = rows["placed"] / (2.0 * sizes[1 - strata])
        parts = (placements - value) * len(strata) / sizes[strata]
    elif metric == "roc_auc" and "area" in rows and "class" in rows:
        parts, strata = rows["area"].astype(float), rows["class"]
    else:
        return None
    return parts - parts.mean() + value, strata
