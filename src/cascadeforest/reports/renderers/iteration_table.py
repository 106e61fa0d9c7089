"""Time and pass rate of DDBF by iteration (ddbf-table5), in the paper's layout.

A line for each data set, model and quantity; a column for each of the first iterations (``options: {iterations: 3}``),
and one for all of them. A row passes where an iteration finds it easy; rates are shares of all rows, so that they add
up. Models without iterations have their times in the last column. Means are over all repeats, whatever their split.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.notes import budget_note, data_notes, processor_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.split_groups import split_notes
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    TableView,
    metric_head,
    number_text,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    import numpy as np

EXTRA = "iterations"
#: What is shown, in this order.
TIMES, RATES = ("fit_cpu_seconds", "predict_cpu_seconds"), ("train_pass_rate", "test_pass_rate")
#: The condition of the last column, as in the published file.
ALL = "all"


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its option `iterations` says how many are shown.
    results : Results
        Its cells and the arrays that they saved under `EXTRA`.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If `iterations` is no whole number above 0.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


def quantities(arrays: Mapping[str, np.ndarray], n_shown: int) -> dict[tuple[str, str], float]:
    """Numbers of one cell by metric and condition.

    Parameters
    ----------
    arrays : mapping
        What the cell saved.
    n_shown : int
        Iterations that are shown.

    Returns
    -------
    dict
        Iterations that the cascade did not run are not in it; "all" sums those that are.
    """
    n_train = arrays["class_counts_train"][0].sum()
    n_test = arrays["class_counts_test"][0].sum()
    by_iteration = {
        "fit_cpu_seconds": arrays["fit_cpu_seconds"],
        "predict_cpu_seconds": arrays["predict_cpu_seconds"],
        "train_pass_rate": arrays["easy_counts_train"].sum(axis=1) / n_train,
        "test_pass_rate": arrays["easy_counts_test"].sum(axis=1) / n_test,
    }
    found = {}
    for metric, values in by_iteration.items():
        shown = [float(value) for value in values[:n_shown]]
        found |= {(metric, _condition(k)): value for k, value in enumerate(shown, 1)}
        found[metric, ALL] = sum(shown)
    return found


def _condition(iteration: int) -> str:
    return f"iteration {iteration}"


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.published = Published(experiment, results.published)
        self.n_shown = experiment["options"].get("iterations", 3)
        if not isinstance(self.n_shown, int) or self.n_shown < 1:
            raise ConfigError(
                f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}/options/iterations is "
                f"{self.n_shown!r}; give the number of iterations that are shown."
            )
        self.conditions = [*map(_condition, range(1, self.n_shown + 1)), ALL]
        measured = score_rows({**experiment, "metrics": ["fit_cpu_seconds"]}, results)
        self.status = {(row.dataset, row.model): row for row in measured}
        self.annulled: dict[tuple[str, str], int] = {}
        self.rows = {row.key: row for pair in self.status for row in self._rows(*pair)}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        status = self.status[dataset, column]
        if status.status != OK:
            # Times printed without an iteration are those of a model that has none.
            is_whole = any(self.published.number(dataset, column, metric, "") for metric in TIMES)
            for metric in TIMES if is_whole else (*TIMES, *RATES):
                for condition in [""] if is_whole else self.conditions:
                    row = self._with_published(TidyRow(dataset, column, condition, metric))
                    yield replace(row, status=status.status, note=status.note)
            return
        cells = self._cells(dataset, column)
        found = [self._of_cell(cell) for cell in cells]
        has_iterations = any(metric in RATES for metric, _ in found[0])
        for metric in (*TIMES, *RATES) if has_iterations else TIMES:
            for condition in self.conditions if has_iterations else [""]:
                row = self._with_published(TidyRow(dataset, column, condition, metric))
                values = [one[metric, condition] for one in found if (metric, condition) in one]
                if values:
                    spread = statistics.stdev(values) if len(values) > 1 else None
                    n_test = min(cell["n_test"] for cell in cells)
                    yield replace(row, mean=statistics.fmean(values), std=spread, n=len(values), n_test=n_test)
                else:
                    yield replace(row, status=UNAVAILABLE, note="ended before")

    def _with_published(self, row: TidyRow) -> TidyRow:
        number = self.published.number(row.dataset, row.model, row.metric, row.condition)
        return row if number is None else replace(row, published=float(number.value))

    def _cells(self, dataset: str, column: str) -> list[Mapping[str, Any]]:
        preset = self.experiment["columns"][column]
        return self.results.cells(dataset, preset, self.experiment["repeats"][dataset])

    def _of_cell(self, cell: Mapping[str, Any]) -> dict[tuple[str, str], float]:
        arrays = self.results.arrays(cell, EXTRA)
        if not arrays:  # a model without iterations
            return {(metric, ""): cell["metrics"][metric] for metric in TIMES}
        if n_annulled := int((~arrays["is_valid"][: self.n_shown]).sum()):
            pair = cell["dataset"], cell["model"]
            self.annulled[pair] = self.annulled.get(pair, 0) + n_annulled
        return quantities(arrays, self.n_shown)

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        heads = (*map(str.capitalize, self.conditions[:-1]), f"First {self.n_shown}, or all")
        label_heads, lines = without_source(("data set", "model", "", ""), list(self._lines()))
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=heads,
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _lines(self) -> Iterable[Row]:
        """A line a model and quantity; one for a data set that no model has numbers of, all for the same reason."""
        told = set()
        for dataset, column in self.status:
            label = self.experiment["labels"][column]
            reason = self._common_reason(dataset)
            if reason and dataset not in told:
                told.add(dataset)
                words = [f"{UNAVAILABLE}: {reason}", *[UNAVAILABLE] * (len(self.conditions) - 1)]
                yield Row((dataset, "all", "all", REPRODUCED), tuple(Cell(w, is_word=True) for w in words), REPRODUCED)
            for metric in (*TIMES, *RATES):
                found = [self._found(dataset, column, condition, metric) for condition in self.conditions]
                if not any(found):
                    continue
                labels = (dataset, label, metric_head(metric))
                sizes = sorted({f"{row.n} × {row.n_test:,}" for row in found if row and row.n})
                if not reason:
                    yield Row((*labels, REPRODUCED), tuple(map(_cell, found)), REPRODUCED, ", ".join(sizes))
                printed = [self._printed(row) for row in found]
                if any(not cell.is_word for cell in printed):
                    yield Row((*labels, PUBLISHED), tuple(printed), PUBLISHED)

    def _common_reason(self, dataset: str) -> str:
        """Why no model has numbers on a data set; empty if one has, or the reasons differ."""
        reasons = {(row.status, row.note or row.status) for (name, _), row in self.status.items() if name == dataset}
        (status, reason), *others = reasons
        return "" if others or status == OK else reason

    def _found(self, dataset: str, column: str, condition: str, metric: str) -> TidyRow | None:
        row = self.rows.get((dataset, column, condition, metric))
        # The time of a model without iterations stands in the last column.
        return self.rows.get((dataset, column, "", metric)) if row is None and condition == ALL else row

    def _printed(self, row: TidyRow | None) -> Cell:
        number = row and self.published.number(row.dataset, row.model, row.metric, row.condition)
        if not number:
            return Cell(NOT_PRINTED, is_word=True)
        return Cell(printed_text(row.metric, number.value, None))

    def _notes(self) -> Iterable[str]:
        yield (
            "Pass rate: rows that an iteration finds easy, of all rows; of test rows too, also in the last iteration, "
            f"which answers whatever is left. The last column sums up the iterations shown (at most {self.n_shown}), "
            "as the paper's 'All' does, and has the time of models without iterations."
        )
        yield (
            "Mean ± standard deviation over repeats (ddof = 1; none for one repeat). Times are CPU seconds by "
            "iteration: of training those of a second, equal fit that writes down the time after each iteration, its "
            "out-of-sample predictions included. Measured cost differs from run to run and from machine to machine."
        )
        yield (
            "Test times by iteration are those of answering alone; that of a model without iterations includes the "
            "check of its input."
        )
        yield from processor_notes(self.experiment, self.results)
        for dataset, column in self.status:
            if n_annulled := self.annulled.get((dataset, self.experiment["columns"][column])):
                yield (
                    f"{dataset}, {self.experiment['labels'][column]}: {n_annulled} of the divisions shown were "
                    "annulled (rule 2: easy examples were predicted worse than all), so that nobody passed."
                )
        yield from split_notes(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        yield from data_notes(self.experiment, self.results, self.published)


def _cell(row: TidyRow | None) -> Cell:
    if row is None:
        return Cell("no iterations", is_word=True)
    if row.mean is None:
        return Cell(row.note or row.status, is_word=True)
    return Cell(number_text(row.metric, row.mean, row.std))
