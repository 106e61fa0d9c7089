"""What tables and figures of means over repeats share: arrays of all repeats, tidy rows of them, notes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import budget_note, data_notes, published_note, stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.tidy import UNAVAILABLE, TidyRow
from cascadeforest.reports.view import Row, TableView

if TYPE_CHECKING:
    import numpy as np

#: What averages by layer are over; a sentence for captions and notes.
HALF_OF_THE_RUNS = (
    "Runs differ in their number of layers: shown are the layers that at least half of the runs have, each as the mean "
    "over the runs that have it."
)
MEANS = "Mean ± standard deviation over repeats (ddof = 1; none for one repeat)."


class EveryRepeat:
    """All cells of an experiment, and tidy rows of means over them.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    needed : iterable of str
        Extras that the figure is drawn from.

    Raises
    ------
    ConfigError
        If the experiment's cells do not save these extras.
    """

    def __init__(self, experiment: Mapping[str, Any], results: Results, needed: Iterable[str] = ()) -> None:
        self._experiment, self._results = experiment, results
        self.first = FirstRepeats(experiment, results)
        for extra in needed:
            if extra not in experiment["extras"]:
                raise ConfigError(f"{self.first.place}/extras are {list(experiment['extras'])}; add '{extra}'.")

    def cells(self, dataset: str, column: str) -> list[dict[str, Any]]:
        """All repeats; none if they are not there."""
        if self.first.cell(dataset, column) is None:
            return []
        preset, repeats = self._experiment["columns"][column], self._experiment["repeats"][dataset]
        return self._results.cells(dataset, preset, repeats) or []

    def arrays(self, dataset: str, column: str, extra: str) -> list[dict[str, np.ndarray]]:
        """What each repeat saved as an extra.

        Raises
        ------
        UserError
            If one saved no such arrays, or they are gone.
        """
        return [self._results.arrays(cell, extra) for cell in self.cells(dataset, column)]

    def row(
        self,
        dataset: str,
        column: str,
        condition: str,
        metric: str,
        values: Sequence[float],
        *,
        of_data: bool = False,
    ) -> TidyRow:
        """Mean and deviation as a tidy row, with the paper's number.

        Parameters
        ----------
        dataset, column, condition, metric : str
            Its key.
        values : sequence of float
            One a repeat; none if nothing ran.
        of_data : bool, default=False
            Whether it is a fact about the data, which has no model.

        Returns
        -------
        TidyRow
        """
        model = "" if of_data else column
        row = TidyRow(dataset, model, condition, metric)
        if number := self.first.published.number(dataset, model, metric, condition):
            row = replace(row, published=float(number.value))
        if not len(values):
            return replace(self.first.row(dataset, column, condition, metric, None), model=model)
        if not all(map(math.isfinite, values)):
            return replace(row, status=UNAVAILABLE, note="not a finite number in every run")
        spread = statistics.stdev(map(float, values)) if len(values) > 1 else None
        n_test = min(cell["n_test"] for cell in self.cells(dataset, column))
        return replace(row, mean=statistics.fmean(values), std=spread, n=len(values), n_test=n_test)

    def size(self, dataset: str, column: str) -> str:
        """What stands behind a line: repeats and test rows."""
        cells = self.cells(dataset, column)
        return f"{len(cells)} × {min(cell['n_test'] for cell in cells):,}" if cells else ""

    def feature_names(self, dataset: str, n_features: int) -> list[str]:
        """Names of features: those of ``options/features``, else x1, x2, ...

        Parameters
        ----------
        dataset : str
            Data set variant.
        n_features : int
            Names that are needed.

        Returns
        -------
        list of str

        Raises
        ------
        ConfigError
            If the options name another number of features.
        """
        base = self._experiment["published_as"].get(dataset, dataset)
        names = self._experiment["options"].get("features", {}).get(base)
        if names is None:
            return [f"x{k}" for k in range(1, n_features + 1)]
        if not isinstance(names, list) or len(names) != n_features:
            raise ConfigError(
                f"{self.first.place}/options/features/{base} is {names!r}; {dataset} has {n_features} features: name "
                "them all, or leave the entry out."
            )
        return [str(name) for name in names]

    def view(
        self, label_heads: Sequence[str], heads: Iterable[str], size_head: str, lines: Iterable[Row], own: Iterable[str]
    ) -> TableView:
        """The table.

        Parameters
        ----------
        label_heads, heads, size_head, lines
            As in `TableView`.
        own : iterable of str
            Notes about this kind of table; empty ones are left out. Those that all of them have come behind.

        Returns
        -------
        TableView
        """
        experiment, results = self._experiment, self._results
        common = [
            stand_in_words(experiment),
            budget_note(experiment, results),
            published_note(experiment, self.first.published),
            *data_notes(experiment, results, self.first.published),
        ]
        return TableView(
            name=experiment["id"],
            title=experiment["title"],
            suite=results.suite,
            label_heads=tuple(label_heads),
            heads=tuple(heads),
            size_head=size_head,
            rows=tuple(lines),
            notes=tuple(filter(None, [*own, *common])),
            deviations=tuple(experiment["deviations"]),
        )


def by_layer(curves: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Gather runs of different length by layer.

    Parameters
    ----------
    curves : sequence of ndarray
        One a run; the first axis is the layer.

    Returns
    -------
    list of lists
        For each layer that at least half of the runs have, its entries of the runs that have it.
    """
    found = [[curve[k] for curve in curves if len(curve) > k] for k in range(max(map(len, curves), default=0))]
    return [entries for entries in found if 2 * len(entries) >= len(curves)]


def common_places(values: Iterable[float | None], digits: int = 3) -> int:
    """Decimal places that give the largest of some numbers so many significant digits.

    Parameters
    ----------
    values : iterable of float or None
        The numbers of one table, so that they stand in line; None where there is none.
    digits : int, default=3
        Significant digits.

    Returns
    -------
    int
        Between 0 and 6.
    """
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    magnitude = math.floor(math.log10(largest)) if largest else 0
    return min(max(digits - 1 - magnitude, 0), 6)


def signed(value: float, places: int) -> str:
    """Write a number with a minus sign that is as wide as a plus, and no minus before zeros."""
    text = f"{value:,.{places}f}"
    text = text.removeprefix("-") if not text.strip("-0.,") else text
    return text.replace("-", "−")


def mean_text(row: TidyRow, places: int) -> str:
    """Write mean and deviation of a row with so many decimal places."""
    text = signed(row.mean, places)
    return text if row.std is None else f"{text} ± {row.std:,.{places}f}"
