"""How well importances tell relevant features from permuted copies: AUC by method (interp-table4, interp-table5).

``options: {columns: {name: {model: ..., extra: ..., label: ...}}}`` names the importances, ``compared`` those that are
ranked and marked against each other (default all), ``test`` the column that the others are tested against
(`cascadeforest.reports.rank_sum`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.comparisons import RowMarks, ranks
from cascadeforest.reports.importances import (
    ImportanceCells,
    ImportanceColumn,
    check_has_copies,
    importance_columns,
    place_of,
    ranking_auc,
)
from cascadeforest.reports.notes import budget_note, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.rank_sum import WORSE, rank_sum_test
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import number_cells, printed_cell, reason_notes
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import PUBLISHED, REPRODUCED, Row, TableView, without_source

AUC = "roc_auc"
NOT_FINITE = "an importance is no finite number"


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If an option cannot be used, or a data set has no permuted copies.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        check_has_copies(experiment)
        self.columns = importance_columns(experiment)
        self.labels = {name: column.label for name, column in self.columns.items()}
        self.compared = self._compared()
        self.test, self.tested = rank_sum_test(experiment, self.compared, self.labels)
        is_all = len(self.compared) == len(self.columns)
        self.marks = RowMarks(experiment["marks"], () if is_all else tuple(self.labels[c] for c in self.compared))
        self.published = Published(experiment, results.published)
        self.cells = ImportanceCells(experiment, results)
        #: (data set, column) to one number a repeat, and number of columns, of which half are copies.
        self.values: dict[tuple[str, str], list[float]] = {}
        self.n_columns: dict[str, int] = {}
        self.rows = {
            row.key[:2]: row for dataset in experiment["datasets"] for row in self._marked(dataset, self._rows(dataset))
        }

    def _compared(self) -> list[str]:
        given = self.experiment["options"].get("compared", list(self.columns))
        for name in given:
            if name not in self.columns:
                raise ConfigError(
                    f"{place_of(self.experiment)}/options/compared has '{name}'; choose from {', '.join(self.columns)}."
                )
        return list(given)

    # Numbers ------------------------------------------------------------------------------------------------------

    def _rows(self, dataset: str) -> list[TidyRow]:
        return [self._row(dataset, column) for column in self.columns.values()]

    def _row(self, dataset: str, column: ImportanceColumn) -> TidyRow:
        row = TidyRow(dataset, column.name, "", AUC)
        if number := self.published.number(dataset, column.name, AUC):
            std = None if number.std is None else float(number.std)
            row = replace(row, published=float(number.value), published_std=std)
        saved = [arrays["importances"] for arrays in self.cells.arrays(dataset, column)]
        if not saved:
            return replace(row, **self.cells.lacking(row, column.model))
        values = [ranking_auc(importances) for importances in saved]
        if not all(map(math.isfinite, values)):  # a rank among numbers that are none is none
            return replace(row, status=UNAVAILABLE, note=NOT_FINITE)
        self.values[dataset, column.name] = values
        self.n_columns[dataset] = len(saved[0])
        std = statistics.stdev(values) if len(values) > 1 else None
        return replace(row, mean=statistics.fmean(values), std=std, n=len(values))

    def _marked(self, dataset: str, rows: Iterable[TidyRow]) -> Iterable[TidyRow]:
        """Rows with rank and mark: best mean, or significantly worse than the tested column."""
        higher = METRICS[AUC].higher_is_better
        rows = list(rows)
        means = {row.model: row.mean for row in rows if row.mean is not None and row.model in self.compared}
        rank, marks = ranks(means, higher), self.marks.marks(means, higher)
        own = self.values.get((dataset, self.test.reference))
        for column in self.tested if own else ():
            other = self.values.get((dataset, column))
            if other and self.test.is_better(own, other, higher):
                marks[column] = WORSE
        return [replace(row, rank=rank.get(row.model), mark=marks.get(row.model, "")) for row in rows]

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        lines = [line for dataset in self.experiment["datasets"] for line in self._lines(dataset)]
        label_heads, lines = without_source(("data set", ""), lines)
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(self.labels.values()),
            size_head="repeats × (features + copies)",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _lines(self, dataset: str) -> Iterable[Row]:
        rows = [self.rows[dataset, name] for name in self.columns]
        yield Row((dataset, REPRODUCED), number_cells(rows), REPRODUCED, self._size(dataset, rows))
        printed = [printed_cell(AUC, self.published.number(dataset, name, AUC)) for name in self.columns]
        if any(not cell.is_word for cell in printed):
            yield Row((dataset, PUBLISHED), tuple(printed), PUBLISHED)

    def _size(self, dataset: str, rows: Iterable[TidyRow]) -> str:
        repeats = sorted({row.n for row in rows if row.status == OK})
        half = self.n_columns.get(dataset, 0) // 2
        return ", ".join(f"{n} × ({half:,} + {half:,})" for n in repeats)

    def _notes(self) -> Iterable[str]:
        yield (
            "Reproduced: mean ± standard deviation over repeats (sample deviation, ddof = 1; none for one repeat) of "
            "the area under the ROC curve (%) of telling the columns of the data set from their permuted copies by "
            f"importance, suite {self.results.suite}. Importances are taken as they are, negative ones too; ties count "
            "half."
        )
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        if legend := self.marks.legend():
            yield legend.removesuffix(" No significance test.")
        yield self.test.legend()
        yield from data_notes(self.experiment, self.results, self.published)
        yield from reason_notes(self.experiment, self.rows.values(), lambda row: self.labels[row.model])
