"""A table as the papers print it: what stands in which cell, whatever the format it is written in."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from cascadeforest.reports.numbers.metrics import COST_RATIOS, COSTS, NO_COMMAS, PLACES, ROWS, known_metric

REPRODUCED, PUBLISHED, SUMMARY = "reproduced", "published", "summary"
#: What stands in a published row where the paper prints nothing.
NOT_PRINTED = "not printed"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text : str
        What it says.
    mark : str
        ``best``, ``second``, ... or ``""``.
    is_word : bool
        A reason in place of a number: set apart, not aligned as a number.
    """

    text: str
    mark: str = ""
    is_word: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Parameters
    ----------
    labels : tuple of str
        Its head, one for each label column; equal ones below each other are one cell.
    cells : tuple of Cell
        One for each column.
    kind : {"reproduced", "published", "summary"}
        Where the numbers come from; a summary is a reproduced row over all data sets.
    size : str
        Repeats and test rows behind it.
    """

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    kind: str = REPRODUCED
    size: str = ""

    def merged(self) -> list[tuple[Cell, int]]:
        """Cells and the columns that each takes: equal words beside each other are said once."""
        spans: list[tuple[Cell, int]] = []
        for cell in self.cells:
            if spans and cell.is_word and cell == spans[-1][0]:
                spans[-1] = (cell, spans[-1][1] + 1)
            else:
                spans.append((cell, 1))
        return spans


@dataclass(frozen=True)
class TableView:
    """A table in its paper's layout.

    Parameters
    ----------
    name, title : str
        Id and heading of the experiment.
    suite : str
        Suite that it was made in.
    label_heads, heads : tuple of str
        Column heads, of the labels and of the cells.
    size_head : str
        Head of the last column, ``""`` if the table has none.
    rows : tuple of Row
        Lines.
    notes : tuple of str
        What the numbers and marks mean, one sentence or more each.
    deviations : tuple of str
        Where this is not what the paper did.
    """

    name: str
    title: str
    suite: str
    label_heads: tuple[str, ...]
    heads: tuple[str, ...]
    size_head: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    deviations: tuple[str, ...]

    @property
    def all_heads(self) -> tuple[str, ...]:
        """Every column head."""
        return (*self.label_heads, *self.heads, *((self.size_head,) if self.size_head else ()))

    @property
    def is_grouped(self) -> bool:
        """Whether several lines belong to one first label: it names a group, the next label the line."""
        return sum(map(bool, self.label_heads)) > 1

    def new_labels(self, index: int) -> tuple[str | None, ...]:
        """Labels of a row, None where the row above says the same (and everything to its left is the same)."""
        labels = self.rows[index].labels
        above = self.rows[index - 1].labels if index else ()
        return tuple(None if labels[: k + 1] == above[: k + 1] else labels[k] for k in range(len(labels)))


def without_source(label_heads: tuple[str, ...], rows: list[Row]) -> tuple[tuple[str, ...], list[Row]]:
    """Drop the last label, which tells reproduced from published lines, if there are only reproduced ones.

    Parameters
    ----------
    label_heads : tuple of str
        Heads of the labels.
    rows : list of Row
        All lines.

    Returns
    -------
    label_heads : tuple of str
    rows : list of Row
    """
    if any(row.kind == PUBLISHED for row in rows):
        return label_heads, rows
    return label_heads[:-1], [replace(row, labels=row.labels[:-1]) for row in rows]


def decimals(metric: str, value: float) -> int:
    """Return how many decimal places a metric is shown with.

    Percent has two, counted rows none. Others have four significant digits, measured cost three: more would only show
    noise.

    Parameters
    ----------
    metric : str
        Name of the metric.
    value : float
        Its mean, in the shown unit.
    """
    if metric in PLACES:
        return PLACES[metric]
    if known_metric(metric).percent:
        return 2
    if known_metric(metric).unit == ROWS:
        return 0
    digits = 3 if metric in COSTS or metric in COST_RATIOS else 4
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return min(max(digits - 1 - magnitude, 0), 6)


def scaled(metric: str, values: np.ndarray) -> np.ndarray:
    """Return values as they are shown: in percent where the metric is."""
    return 100 * values if known_metric(metric).percent else values


def number_text(metric: str, mean: float, std: float | None) -> str:
    """Write mean and spread as they are shown, in percent where the metric is.

    Parameters
    ----------
    metric : str
        Name of the metric.
    mean : float
        In the stored unit.
    std : float or None
        Same unit; None if there is none.
    """
    scale = 100 if known_metric(metric).percent else 1
    places = decimals(metric, scale * mean)
    if metric == "n_layers" and std is not None:  # few layers: their mean over repeats is no whole number
        places = 1
    text = f"{scale * mean:,.{places}f}".replace("-", "−")
    return text if std is None else f"{text} ± {scale * std:,.{places}f}"


def printed_text(metric: str, value: Decimal, std: Decimal | None) -> str:
    """Write a published number with the digits that the paper prints, in percent where the metric is.

    Parameters
    ----------
    metric : str
        Name of the metric; one that we do not measure is written as it is.
    value, std : Decimal
        In the stored unit; `std` may be None.
    """
    shift = 2 if known_metric(metric).percent else 0
    text = f"{value.scaleb(shift):{'' if metric in NO_COMMAS else ','}f}".replace("-", "−")
    return text if std is None else f"{text} ± {std.scaleb(shift):,f}"


def metric_head(metric: str) -> str:
    """Words for a metric with the unit in which it is shown."""
    shown = known_metric(metric)
    unit = "%" if shown.percent else shown.unit
    return f"{shown.label} ({unit})" if unit else shown.label
