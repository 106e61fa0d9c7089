"""Scores of models on data sets: mean and spread over repeats, with the paper's numbers below.

One metric: data sets as rows, models as columns. Several metrics: a row for each data set and model, metrics as
columns, as the papers do for accuracy beside time and memory.

``options: {differences: {to: column, of: [column, ...]}}`` adds a line to each data set: these columns minus that one,
paired over the repeats and tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.reports.column_pairs import (
    compared_metric,
    difference_notes,
    difference_row,
    differences_wanted,
    published_difference,
    published_difference_cell,
)
from cascadeforest.reports.notes import (
    budget_note,
    data_notes,
    layers_note,
    processor_notes,
    protocol_note,
    published_note,
)
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results, present
from cascadeforest.reports.score_lines import (
    difference_words,
    number_cell,
    number_cells,
    reason_notes,
    size_text,
)
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import (
    TESTED,
    average_rank,
    paired_tests,
    row_marks,
    score_rows,
    summarised_metrics,
    win_tie_lose,
)
from cascadeforest.reports.tidy import ALL, OK, TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    SUMMARY,
    Cell,
    Row,
    TableView,
    metric_head,
    printed_text,
    without_source,
)

_MEMORY_METRICS = frozenset({"fit_peak_mib", "predict_peak_mib"})
_TIME_METRICS = frozenset({"fit_cpu_seconds", "predict_cpu_seconds"})


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        What it is made from.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If the option `differences` names what is no column, or there is not one metric.
    """
    rows = score_rows(experiment, results)
    rows += difference_rows(experiment, results, rows)
    return Table(tuple(rows), ScoresLayout(experiment, results, rows).view())


def difference_rows(experiment: Mapping[str, Any], results: Results, rows: Iterable[TidyRow]) -> list[TidyRow]:
    """Make the rows of the option `differences`; none without it.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    rows : iterable of TidyRow
        From `score_rows`.

    Returns
    -------
    list of TidyRow
        By data set and column, with the condition ``against`` the column that is subtracted.
    """
    wanted = differences_wanted(experiment)
    if wanted is None:
        return []
    reference, columns = wanted
    metric = compared_metric(experiment)[0]
    published = Published(experiment, results.published)
    by_key = {row.key: row for row in rows}
    return [
        difference_row(
            experiment,
            results,
            (by_key[dataset, column, "", metric], by_key[dataset, reference, "", metric]),
            _against(reference),
            published_difference(published, dataset, column, reference, metric),
        )
        for dataset in experiment["datasets"]
        for column in columns
    ]


def _against(reference: str) -> str:
    return f"against {reference}"


class ScoresLayout:
    """Arranges tidy rows as lines of a table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the notes.
    rows : iterable of TidyRow
        From `score_rows`.
    printed_as : mapping, optional
        Metric to the published metric, and its unit, that stands below it where the paper measures something like it.
    """

    def __init__(
        self,
        experiment: Mapping[str, Any],
        results: Results,
        rows: Iterable[TidyRow],
        printed_as: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    ) -> None:
        self.experiment = experiment
        self.results = results
        self.rows = {row.key: row for row in rows}
        self.published = Published(experiment, results.published)
        self.columns = list(experiment["columns"])
        self.metrics = list(experiment["metrics"])
        self.printed_as = printed_as
        self.by_model = len(self.metrics) > 1
        self.wanted = differences_wanted(experiment)

    def view(self, lines: Iterable[Row] = (), notes: Iterable[str] = ()) -> TableView:
        """Arrange everything.

        Parameters
        ----------
        lines : iterable of Row
            More lines, below the others.
        notes : iterable of str
            More notes, below the others.

        Returns
        -------
        TableView
        """
        label_heads = ("data set", "model", "") if self.by_model else ("data set", "")
        heads = map(metric_head, self.metrics) if self.by_model else map(self._label, self.columns)
        label_heads, rows = without_source(label_heads, [*self._lines(), *lines])
        return TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(heads),
            size_head="repeats × test rows",
            rows=tuple(rows),
            notes=tuple(filter(None, [*self._notes(), *notes])),
            deviations=tuple(self.experiment["deviations"]),
        )

    def _label(self, column: str) -> str:
        return self.experiment["labels"][column]

    # Lines --------------------------------------------------------------------------------------------------------

    def _lines(self) -> Iterable[Row]:
        for dataset in self.experiment["datasets"]:
            if self.by_model:
                for column in self.columns:
                    keys = [(dataset, column, "", metric) for metric in self.metrics]
                    lines = list(self._pair((dataset, self._label(column)), keys))
                    # A line without any number for each data set would bury the others: a note names these models.
                    if column not in self.experiment["missing_models"] or len(lines) > 1:
                        yield from lines
            else:
                yield from self._pair((dataset,), [(dataset, column, "", self.metrics[0]) for column in self.columns])
                yield from self._difference_lines(dataset)
        yield from self._average_rank_lines()
        yield from self._win_tie_lose_lines()
        yield from self._tested_lines()

    def _pair(self, labels: tuple[str, ...], keys: list[tuple[str, str, str, str]]) -> Iterable[Row]:
        """A reproduced line and, where the paper prints any of its numbers, the published one below."""
        line = [self.rows.get(key) for key in keys]
        yield Row((*labels, REPRODUCED), number_cells(line), REPRODUCED, size_text(line))
        printed = [self._printed(key) for key in keys]
        if any(not cell.is_word for cell in printed):
            yield Row((*labels, PUBLISHED), tuple(printed), PUBLISHED)

    def _difference_lines(self, dataset: str) -> Iterable[Row]:
        """Columns minus the one that the option `differences` names; nothing where none of them has a number."""
        rows = {row.model: row for row in self._differences() if row.dataset == dataset}
        if not any(row.status == OK for row in rows.values()):
            return
        words = difference_words(next(iter(rows.values())).metric)

        def line(source: str, cell: Callable[[TidyRow], Cell], size: str = "") -> Row:
            cells = (
                cell(rows[column])
                if column in rows
                else Cell("reference" if column == self.wanted[0] else "not compared", is_word=True)
                for column in self.columns
            )
            return Row((f"{dataset}: {words}", source), tuple(cells), source, size)

        yield line(REPRODUCED, number_cell, size_text(rows.values()))
        if any(row.published is not None for row in rows.values()):
            yield line(PUBLISHED, published_difference_cell)

    def _differences(self) -> list[TidyRow]:
        return [row for row in self.rows.values() if self.wanted and row.condition == _against(self.wanted[0])]

    def _printed(self, key: tuple[str, str, str, str]) -> Cell:
        dataset, column, condition, metric = key
        name, unit = self.printed_as.get(metric, (metric, ""))
        number = self.published.number(dataset, column, name, condition)
        if number is None:
            return Cell(NOT_PRINTED, is_word=True)
        return Cell(f"{printed_text(name, number.value, number.std)} {unit}".strip(), number.mark)

    def _summary_pair(self, label: str, reproduced: list[Cell], printed: list[Cell], size: str) -> Iterable[Row]:
        yield Row((label, REPRODUCED), tuple(reproduced), SUMMARY, size)
        if any(not cell.is_word for cell in printed):
            yield Row((label, PUBLISHED), tuple(printed), PUBLISHED)

    def _average_rank_lines(self) -> Iterable[Row]:
        if average_rank(self.experiment) is None:
            return
        keys = {
            (column, metric): (ALL, column, condition, "average_rank")
            for metric, condition in summarised_metrics(self.experiment).items()
            for column in self.columns
        }

        def cell(column: str, metric: str) -> Cell:
            row = self.rows.get(keys.get((column, metric)))
            if row is None:
                return Cell("not ranked", is_word=True)
            return Cell(f"{row.mean:.3f}") if row.status == OK else number_cell(row)

        def printed(column: str, metric: str) -> Cell:
            key = keys.get((column, metric))
            return self._printed(key) if key else Cell(NOT_PRINTED, is_word=True)

        yield from self._arranged("average rank", cell, printed, "average_rank")

    def _win_tie_lose_lines(self) -> Iterable[Row]:
        decider = win_tie_lose(self.experiment)
        if decider is None:
            return
        conditions = summarised_metrics(self.experiment)

        def cell(column: str, metric: str) -> Cell:
            if column == decider.reference:
                return Cell("reference", is_word=True)
            if metric not in conditions:
                return Cell("not compared", is_word=True)
            found = [self.rows[ALL, column, conditions[metric], name] for name in ("win", "tie", "lose")]
            if found[0].status != OK:
                return number_cell(found[0])
            return Cell("/".join(f"{row.mean:.0f}" for row in found))

        def printed(column: str, metric: str) -> Cell:
            numbers = [
                self.published.number(ALL, column, name, conditions.get(metric, "")) for name in ("win", "tie", "lose")
            ]
            if column == decider.reference or None in numbers:
                return Cell("reference" if column == decider.reference else NOT_PRINTED, is_word=True)
            return Cell("/".join(f"{number.value:f}" for number in numbers))

        yield from self._arranged(f"win/tie/lose of {decider.label}", cell, printed, "win")

    def _tested_lines(self) -> Iterable[Row]:
        for decider in paired_tests(self.experiment):
            cells, sizes = [], set()
            for column in self.columns:
                if column == decider.reference:
                    cells.append(Cell("reference", is_word=True))
                    continue
                found = [self.rows[ALL, column, decider.reference, name] for name in TESTED.values()]
                ok = found[0].status == OK
                cells.append(Cell("/".join(f"{row.mean:.0f}" for row in found)) if ok else number_cell(found[0]))
                sizes |= {found[0].n} if ok else set()
            size = "" if not sizes else f"over {max(sizes)} data set{'s' if max(sizes) > 1 else ''}"
            yield Row((f"win/tie/lose of {decider.label}, tested", REPRODUCED), tuple(cells), SUMMARY, size)

    def _arranged(self, label: str, cell: Any, printed: Any, counted: str) -> Iterable[Row]:
        """Summary lines: one over the columns, or one a model where the columns are metrics."""
        counts = {row.n for row in self.rows.values() if row.dataset == ALL and row.metric == counted and row.n}
        size = f"over {max(counts)} data sets" if max(counts, default=0) > 1 else "over 1 data set" if counts else ""
        if not self.by_model:
            metric = self.metrics[0]
            reproduced = [cell(column, metric) for column in self.columns]
            yield from self._summary_pair(label, reproduced, [printed(c, metric) for c in self.columns], size)
            return
        for column in self.columns:
            cells = tuple(cell(column, metric) for metric in self.metrics)
            if any(not one.is_word for one in cells):
                yield Row((label, self._label(column), REPRODUCED), cells, SUMMARY, size)

    # Notes --------------------------------------------------------------------------------------------------------

    def _notes(self) -> Iterable[str]:
        shown = [row for row in self.rows.values() if row.dataset != ALL and row.metric in self.metrics]
        what = "" if self.by_model else f" of {metric_head(self.metrics[0])}"
        yield (
            f"Reproduced: mean ± standard deviation{what} over repeats (sample deviation, ddof = 1; none for one "
            f"repeat), suite {self.results.suite}. The last column says how many repeats, and the rows of the smallest "
            "test set."
        )
        yield protocol_note(self.experiment, self.results)
        yield layers_note(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        if any(METRICS[metric].higher_is_better is not None for metric in self.metrics):
            yield row_marks(self.experiment).legend()
        for decider in (average_rank(self.experiment), win_tie_lose(self.experiment)):
            yield decider.legend() if decider else ""
        for decider in paired_tests(self.experiment):
            yield decider.legend()
        if differences := self._differences():
            yield from difference_notes(differences, f"the model of the column minus {self._label(self.wanted[0])}")
        yield from self._cost_notes()
        yield from data_notes(self.experiment, self.results, self.published)
        yield from reason_notes(self.experiment, shown, lambda row: self._label(row.model))
        if self.by_model and (missing := self.experiment["missing_models"]):
            yield f"Not implemented: {', '.join(self._label(column) for column in missing)}."

    def _cost_notes(self) -> Iterable[str]:
        cells = [
            cell
            for dataset in present(self.experiment)
            for column, preset in self.experiment["columns"].items()
            if column not in self.experiment["missing_models"]
            for cell in self.results.cells(dataset, preset, self.experiment["repeats"][dataset]) or []
        ]
        if cells and _TIME_METRICS.intersection(self.metrics):
            threads = sorted({cell["threads"] for cell in cells})
            yield (
                "Times are CPU seconds (user and system) of the fit, and of the prediction of the test rows, in a "
                f"process of their own; threads: {', '.join(map(str, threads))}."
            )
        if cells and _MEMORY_METRICS.intersection(self.metrics):
            methods = sorted({cell["memory"]["method"] for cell in cells})
            yield (
                "Memory is the peak resident memory of the cell's own process during the call, minus the resident "
                f"memory just before it (method: {', '.join(methods)}; a small warm-up fit came before)."
            )
        if "model_mib" in self.metrics:
            yield "Model size is that of the pickled model."
        if COST_METRICS.intersection(self.metrics):
            yield "Measured cost differs from run to run and from machine to machine."
        if _TIME_METRICS.intersection(self.metrics):
            yield from processor_notes(self.experiment, self.results)
