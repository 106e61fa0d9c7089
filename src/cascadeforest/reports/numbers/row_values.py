"""What each test row adds to a metric: a number of each row whose mean over the test rows is the metric.

Accuracy and log loss are such means. Of RMSE, balanced accuracy and the area under the ROC curve it is the linear part:
by it the metric changes if the row weighs a little more. Its variance gives the variance of the metric (delta method);
for areas it is that of DeLong et al. (1988).
"""

import math
from dataclasses import dataclass

import numpy as np

from cascadeforest.reports.numbers.rows import Arrays

#: Metrics that a test row moves by 1 at most, whatever the data.
BOUNDED = frozenset({"accuracy", "error_rate", "balanced_accuracy", "roc_auc"})
#: Metrics that are no mean over test rows, not even nearly.
WITHOUT_ROWS = frozenset({"ece"})


@dataclass(frozen=True)
class RowValues:
    """What each test row adds to a metric of one model in one repeat.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Their mean is the metric.
    strata : ndarray of int, shape (n_rows,), or None
        Classes within which rows vary, where the metric weighs the classes; None: all rows are alike.
    """

    values: np.ndarray
    strata: np.ndarray | None = None


def row_values(rows: Arrays, metric: str, value: float) -> RowValues | None:
    """Return what each test row adds to a metric; None if what it takes was not kept.

    Parameters
    ----------
    rows : dict
        What was kept of a cell (`cascadeforest.reports.numbers.rows.by_cell`).
    metric : str
        Name of the metric, or ``error_rate``.
    value : float
        The metric of the cell, which the mean of the values is.
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
    return RowValues(parts - parts.mean() + value, strata)
