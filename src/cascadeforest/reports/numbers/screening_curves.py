"""Test rows that leave a cascade early, level by level, and the rows that go on (cs-fig4); first repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cascadeforest.data.errors import UserError
from cascadeforest.reports.numbers.cells import Cells, Values
from cascadeforest.reports.numbers.frame import TidyRow

EXTRA = "layer_decisions"
NONE_EARLY = "no row leaves early"
#: Rows that left up to a level, of these right; rows that go on, of these right at this level and at the next one.
CURVES = ("screened", "screened_correct", "remaining", "correct_now", "correct_next")


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the column with screening, and the column without that it is compared with."""

    screening: str
    against: str


def count(arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Count `CURVES` at each level but the last, at which all rows leave.

    `arrays` has the predictions of each level, in which a row that left keeps its class, the level, from 0, that
    decided each row, and the true classes.
    """
    right, decided, found = arrays["staged_predicted"] == arrays["y_test"], arrays["decision_level"], []
    for k in range(len(right) - 1):
        left, on = decided <= k, decided > k
        found.append([k + 1, *map(np.sum, (left, right[k, left], on, right[k, on], right[k + 1, on]))])
    return pd.DataFrame(found, columns=["level", *CURVES], dtype=int)


def facts(cells: Cells, own: str, other: str) -> Iterable[TidyRow]:
    """Yield the numbers of the paper's text for each data set on which both cascades ran."""
    keys = (
        (own, "level 1", "screened_share"),
        (own, "last level", "remaining_share"),
        (own, "screened rows", "accuracy"),
        (own, "all rows", "accuracy"),
        (other, "all rows", "accuracy"),
        (own, f"screened rows, against {other}", "different_predictions"),
        (own, f"last level, against {other}", "additional_correct"),
        (own, "", "n_layers"),
        (other, "", "n_layers"),
    )
    for dataset in cells.experiment.datasets:
        found = {column: cells.first_arrays(dataset, column, EXTRA) for column in (own, other)}
        lacking = next((column for column, arrays in found.items() if not arrays), None)
        values = [None] * len(keys) if lacking else _compare(dataset, *found.values())
        for (column, condition, metric), value in zip(keys, values, strict=True):
            yield replace(cells.row(dataset, lacking or column, condition, metric, value), model=column)


def _compare(dataset: str, own: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> list[Values]:
    (predicted, level, y), (others, _, other_y) = (
        (arrays["staged_predicted"], arrays["decision_level"], arrays["y_test"]) for arrays in (own, other)
    )
    if (y != other_y).any():
        raise UserError(f"{dataset}: the test rows of the two cascades are not the same. Run both again.")
    early, right, other_right = level < len(predicted) - 1, predicted[-1] == y, others[-1] == y
    early_right = float(right[early].mean()) if early.any() else NONE_EARLY
    different = int((predicted[-1] != others[-1])[early].sum()) if early.any() else NONE_EARLY
    more = int(right.sum()) - int(other_right.sum())
    shares = [float(np.mean(rows)) for rows in (early & (level == 0), ~early, right, other_right)]
    return [*shares[:2], early_right, *shares[2:], different, more, len(predicted), len(others)]


def drawn(cells: Cells, column: str, counts: Mapping[str, pd.DataFrame]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: every curve at every level."""
    for dataset in cells.experiment.datasets:
        if dataset not in counts:
            yield cells.row(dataset, column, "", CURVES[0], None)
        for curve in CURVES if dataset in counts else ():
            for level, value in zip(counts[dataset].level, counts[dataset][curve], strict=True):
                yield cells.row(dataset, column, f"level {level}", curve, int(value))
