"""What figures draw: the first repeat of each model on each data set, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cascadeforest.reports.notes import budget_note, data_notes, published_note, stand_in_words
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, PUBLISHED, Cell, Row, TableView, printed_text

if TYPE_CHECKING:
    import numpy as np


class FirstRepeats:
    """The first cells of an experiment, and tidy rows of numbers found in them.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    """

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self._experiment, self._results = experiment, results
        self.published = Published(experiment, results.published)
        # Any metric does: what counts is whether the run is there.
        measured = score_rows({**experiment, "metrics": ["n_layers"]}, results)
        self._status = {(row.dataset, row.model): row for row in measured}

    @property
    def place(self) -> str:
        """Where the experiment is declared, for messages."""
        return f"config/experiments/{self._experiment['paper']}.yaml: {self._experiment['id']}"

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(Data set, column), in the order of the configuration."""
        return list(self._status)

    @property
    def has_models(self) -> bool:
        """Whether several models are shown, which must then be told apart."""
        return len(self._experiment["columns"]) > 1

    def label(self, column: str) -> str:
        """A model in words."""
        return self._experiment["labels"][column]

    @property
    def label_heads(self) -> tuple[str, ...]:
        """Heads of the columns of a table that name data set and model."""
        return ("data set", "model") if self.has_models else ("data set",)

    def labels(self, dataset: str, column: str) -> tuple[str, ...]:
        """What stands below `label_heads`."""
        return (dataset, self.label(column)) if self.has_models else (dataset,)

    def name(self, dataset: str, column: str) -> str:
        """Data set, and the model where several are shown, in words."""
        return ", ".join(self.labels(dataset, column))

    def cell(self, dataset: str, column: str) -> dict[str, Any] | None:
        """The first repeat; None if it is not there."""
        if dataset in self._experiment["absent"] or column in self._experiment["missing_models"]:
            return None
        preset, repeats = self._experiment["columns"][column], self._experiment["repeats"][dataset]
        cells = self._results.cells(dataset, preset, repeats)
        return cells[0] if cells else None

    def arrays(self, dataset: str, column: str, extra: str) -> dict[str, np.ndarray]:
        """What that cell saved as an extra.

        Raises
        ------
        UserError
            If it saved no such arrays, or they are gone.
        """
        return self._results.arrays(self.cell(dataset, column), extra)

    def reason(self, dataset: str, column: str) -> str:
        """Why there is no cell."""
        row = self._status[dataset, column]
        return f"{row.status}: {row.note}" if row.note else row.status

    def row(
        self, dataset: str, column: str, condition: str, metric: str, value: float | str | None, why_not: str = ""
    ) -> TidyRow:
        """A number as a tidy row, with the paper's.

        Parameters
        ----------
        dataset, column, condition, metric : str
            Its key.
        value : float, str or None
            The number; words if there is none; None if there is no cell.
        why_not : str
            Words for a number that is not finite.

        Returns
        -------
        TidyRow
        """
        row = TidyRow(dataset, column, condition, metric)
        if number := self.published.number(dataset, column, metric, condition):
            row = replace(row, published=float(number.value))
        if value is None:
            status = self._status[dataset, column]
            return replace(row, status=status.status, note=status.note)
        if isinstance(value, str):
            return replace(row, status=UNAVAILABLE, note=value)
        if not math.isfinite(value):
            return replace(row, status=UNAVAILABLE, note=why_not)
        return replace(row, mean=float(value), n=1, n_test=self.cell(dataset, column)["n_test"])

    def published_line(self, labels: Sequence[str], rows: Iterable[TidyRow]) -> Iterable[Row]:
        """The line of the paper's numbers below one of ours; nothing if it has none of them.

        Parameters
        ----------
        labels : sequence of str
            Labels of the line.
        rows : iterable of TidyRow
            Our numbers.

        Yields
        ------
        Row
        """
        rows = list(rows)
        numbers = [self.published.number(row.dataset, row.model, row.metric, row.condition) for row in rows]
        if any(numbers):
            cells = [
                Cell(NOT_PRINTED, is_word=True)
                if number is None
                else Cell(printed_text(row.metric, number.value, None))
                for number, row in zip(numbers, rows, strict=True)
            ]
            yield Row((*labels, PUBLISHED), tuple(cells), PUBLISHED)

    def view(
        self, label_heads: Sequence[str], heads: Iterable[str], size_head: str, lines: Iterable[Row], own: Iterable[str]
    ) -> TableView:
        """The table of the figure.

        Parameters
        ----------
        label_heads, heads, size_head, lines
            As in `TableView`.
        own : iterable of str
            Notes about this kind of figure; empty ones are left out. Those that all of them have come behind.

        Returns
        -------
        TableView
        """
        return TableView(
            name=self._experiment["id"],
            title=self._experiment["title"],
            suite=self._results.suite,
            label_heads=tuple(label_heads),
            heads=tuple(heads),
            size_head=size_head,
            rows=tuple(lines),
            notes=tuple(filter(None, [*own, *self._common_notes()])),
            deviations=tuple(self._experiment["deviations"]),
        )

    def _common_notes(self) -> Iterable[str]:
        if any(bound > 1 for bound in self._experiment["repeats"].values()):
            yield "Drawn and shown is the first repeat."
        yield stand_in_words(self._experiment)
        yield budget_note(self._experiment, self._results)
        yield published_note(self._experiment, self.published)
        yield from data_notes(self._experiment, self._results, self.published)
