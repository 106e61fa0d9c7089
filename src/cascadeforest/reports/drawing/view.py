"""A table as the papers print it: what stands in which cell, whatever the format it is written in."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from cascadeforest.reports.numbers.metrics import COST_RATIOS, COSTS, NO_COMMAS, PLACES, ROWS, known_metric

REPRODUCED, PUBLISHED, SUMMARY = "reproduced", "published", "summary"


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str
    mark: str = ""  # best, second, ... or empty
    is_word: bool = False  # a reason in place of a number: set apart, not aligned as a number


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    labels: tuple[str, ...]  # one for each label column; equal ones below each other are one cell
    cells: tuple[Cell, ...]
    kind: str = REPRODUCED  # reproduced, published, or summary: a reproduced row over all data sets
    size: str = ""  # repeats and test rows behind it

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
    """A table in its paper's layout."""

    name: str  # id of the experiment
    title: str
    suite: str
    label_heads: tuple[str, ...]
    heads: tuple[str, ...]
    size_head: str  # of the last column; empty if the table has none
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()  # what the numbers and marks mean
    deviations: tuple[str, ...] = ()  # where this is not what the paper did
    folded: tuple["TableView", ...] = ()  # tables below, which readers open who want to know more

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


def decimals(metric: str, value: float) -> int:
    """Return how many decimal places a metric is shown with; `value` is its mean in the shown unit.

    Percent has two, counted rows none. Others have four significant digits, measured cost three: more would only show
    noise.
    """
    if metric in PLACES:
        return PLACES[metric]
    if known_metric(metric).percent:
        return 2
    if known_metric(metric).unit == ROWS:
        return 0
    return common_places([value], 3 if metric in COSTS or metric in COST_RATIOS else 4)


def common_places(values: Iterable[float | None], digits: int = 3) -> int:
    """Return the decimal places, 0 to 6, that give the largest of some numbers so many significant digits."""
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    magnitude = math.floor(math.log10(largest)) if largest else 0
    return min(max(digits - 1 - magnitude, 0), 6)


def scaled(metric: str, values: np.ndarray) -> np.ndarray:
    """Return values as they are shown: in percent where the metric is."""
    return 100 * values if known_metric(metric).percent else values


def number_text(metric: str, mean: float, std: float | None) -> str:
    """Write mean and spread, given in the stored unit, as they are shown: in percent where the metric is."""
    scale = 100 if known_metric(metric).percent else 1
    places = decimals(metric, scale * mean)
    if metric == "n_layers" and std is not None:  # few layers: their mean over repeats is no whole number
        places = 1
    text = f"{scale * mean:,.{places}f}".replace("-", "−")
    return text if std is None else f"{text} ± {scale * std:,.{places}f}"


def printed_text(metric: str, value: Decimal, std: Decimal | None) -> str:
    """Write a published number of the stored unit with its printed digits, in percent where the metric is."""
    shift = 2 if known_metric(metric).percent else 0
    text = f"{value.scaleb(shift):{'' if metric in NO_COMMAS else ','}f}".replace("-", "−")
    return text if std is None else f"{text} ± {std.scaleb(shift):,f}"


def feature_words(name: str) -> str:
    """Return the name of a feature as in conditions of tidy rows, ``feature wind_speed``, in words."""
    return name.removeprefix("feature ").replace("_", " ")


def metric_head(metric: str) -> str:
    """Words for a metric with the unit in which it is shown."""
    shown = known_metric(metric)
    unit = "%" if shown.percent else shown.unit
    return f"{shown.label} ({unit})" if unit else shown.label
