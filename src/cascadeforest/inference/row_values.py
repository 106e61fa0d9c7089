"""What single test rows add to a metric: their variance gives that of the metric, and of differences of two models."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata


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


def log_losses(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the log loss of each row, in nats, clipped as in `cascadeforest.experiments.metrics`."""
    own = probabilities[np.arange(len(classes)), classes] / probabilities.sum(axis=1, dtype=float)
    return -np.log(np.clip(own, np.finfo(float).eps, 1.0))


def stored_losses(losses: np.ndarray) -> np.ndarray:
    """Return log losses, in nats, as float16 without the last four bits, which no compression packs: right to 0.8 %."""
    bits = losses.astype(np.float16).view(np.uint16)
    return ((bits + 7 + (bits >> 4 & 1)) & 0xFFF0).view(np.float16)  # halves to even


def row_values(
    rows: Mapping[str, np.ndarray], metric: str, value: float
) -> tuple[np.ndarray, np.ndarray | None] | None:
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
        parts = squares * value / (2 * squares.mean()) if squares.any() else squares
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


def variance_over_rows(metric: str, value: float, n: int, class_counts: Sequence[int]) -> float:
    """Return the variance of a score over n other test rows; 0 for numbers that are no scores of test rows.

    Accuracy and error: that of a share. AUC: Hanley and McNeil (1982). RMSE: that of normal errors. `class_counts` are
    the rows of each class of the whole data set.
    """
    if metric in ("accuracy", "error_rate"):
        return value * (1 - value) / n
    if metric == "rmse":
        return value**2 / (2 * n)
    if metric == "roc_auc" and len(class_counts) == 2:
        negative, positive = (n * count / sum(class_counts) for count in class_counts)
        both = [value / (2 - value), 2 * value**2 / (1 + value)]
        squares = sum((m - 1) * (q - value**2) for m, q in zip((positive, negative), both, strict=True))
        return (value * (1 - value) + squares) / (positive * negative)
    return 0.0
