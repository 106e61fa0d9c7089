"""Sizes of data sets and test errors of models on them (interp-table3).

The error is 1 - accuracy, in regression the RMSE. ``rank_columns`` are marked against each other; ``options: {test:
{...}}`` names the column that another one is tested against (`cascadeforest.reports.rank_sum`), ``regression_columns``
the name that a column has in the published file where the data set is a regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.comparisons import ranks
from cascadeforest.reports.derived import known_metric
from cascadeforest.reports.notes import budget_note, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published, PublishedNumber
from cascadeforest.reports.rank_sum import WORSE, rank_sum_test
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import number_cell, number_cells, printed_cell, reason_notes, size_text
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import compared_columns, row_marks, score_rows
from cascadeforest.reports.tidy import UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, PUBLISHED, REPRODUCED, Cell, Row, TableView, without_source

ACCURACY, ERROR, RMSE = "accuracy", "error_rate", "rmse"
#: Facts shown, and the heads of their columns.
FACTS = {"classes": "classes", "raw_features": "relevant features", "n_train": "training rows"}
REGRESSION, NOT_PREPARED, DIFFERS = "regression", "not prepared", "differs"


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells, facts about the data and the paper's numbers.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If the metrics are not accuracy and RMSE, or the test cannot be used.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        if set(experiment["metrics"]) != {ACCURACY, RMSE}:
            raise ConfigError(
                f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}/metrics is "
                f"{list(experiment['metrics'])}; errors are made of [{ACCURACY}, {RMSE}]."
            )
        self.columns = list(experiment["columns"])
        self.test, self.tested = rank_sum_test(experiment, self.columns, experiment["labels"])
        self.published = Published(experiment, results.published)
        self.facts = {(name, fact): self._fact(name, fact) for name in experiment["datasets"] for fact in FACTS}
        self.errors = {
            row.key[:2]: row for dataset in experiment["datasets"] for row in self._marked(self._errors(dataset))
        }

    # Numbers ------------------------------------------------------------------------------------------------------

    def _fact(self, dataset: str, fact: str) -> TidyRow:
        row = TidyRow(dataset, "", "", fact)
        if number := self.published.number(dataset, "", fact):
            row = replace(row, published=float(number.value))
        facts = self.results.summaries.get(dataset)
        if facts is None or dataset in self.experiment["absent"]:
            return replace(row, status=UNAVAILABLE, note=self.experiment["absent"].get(dataset, NOT_PREPARED))
        if facts[fact] is None:
            return replace(row, status=UNAVAILABLE, note=REGRESSION)
        differs = row.published is not None and row.published != facts[fact]
        return replace(row, mean=float(facts[fact]), mark=DIFFERS if differs else "")

    def _metric(self, dataset: str) -> str:
        """What the error of a data set is; where nobody prepared it, what the paper's is."""
        facts = self.results.summaries.get(dataset)
        if facts is not None:
            return RMSE if facts["task"] == REGRESSION else ERROR
        return RMSE if any(self._printed(dataset, column, RMSE) for column in self.columns) else ERROR

    def _printed(self, dataset: str, column: str, metric: str) -> PublishedNumber | None:
        names = self.experiment["options"].get("regression_columns", {}) if metric == RMSE else {}
        return self.published.number(dataset, names.get(column, column), metric)

    def _errors(self, dataset: str) -> Iterable[TidyRow]:
        """The error of each model, without marks."""
        metric = self._metric(dataset)
        one = {
            **self.experiment,
            "datasets": [dataset],
            "metrics": [RMSE if metric == RMSE else ACCURACY],
            "marks": "none",
            **dict.fromkeys(("win_tie_lose", "average_rank")),
            "paired_tests": (),
        }
        for row in score_rows(one, self.results):
            row = replace(row, metric=metric, rank=None, published=None, published_std=None)
            if metric == ERROR and row.mean is not None:
                row = replace(row, mean=1 - row.mean)
            if number := self._printed(dataset, row.model, metric):
                std = None if number.std is None else float(number.std)
                row = replace(row, published=float(number.value), published_std=std)
            yield row

    def _values(self, row: TidyRow) -> list[float]:
        """A repeat's errors."""
        preset, repeats = self.experiment["columns"][row.model], self.experiment["repeats"][row.dataset]
        cells = self.results.cells(row.dataset, preset, repeats) or []
        if row.metric == RMSE:
            return [cell["metrics"][RMSE] for cell in cells]
        return [1 - cell["metrics"][ACCURACY] for cell in cells]

    def _marked(self, rows: Iterable[TidyRow]) -> Iterable[TidyRow]:
        """Rows with rank and mark: lowest mean, or significantly worse than the tested column."""
        found = {row.model: row for row in rows}
        compared = compared_columns(self.experiment)
        means = {name: row.mean for name, row in found.items() if row.mean is not None and name in compared}
        rank, marks = ranks(means, False), row_marks(self.experiment).marks(means, False)
        reference = found[self.test.reference]
        for column in self.tested if reference.mean is not None else ():
            row = found[column]
            if row.mean is not None and self.test.is_better(self._values(reference), self._values(row), False):
                marks[column] = WORSE
        return [replace(row, rank=rank.get(name), mark=marks.get(name, "")) for name, row in found.items()]

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        labels = self.experiment["labels"]
        lines = [line for dataset in self.experiment["datasets"] for line in self._lines(dataset)]
        label_heads, lines = without_source(("data set", ""), lines)
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=(*FACTS.values(), *(f"test error, {labels[column]}" for column in self.columns)),
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table((*self.facts.values(), *self.errors.values()), view)

    def _lines(self, dataset: str) -> Iterable[Row]:
        facts = [self.facts[dataset, fact] for fact in FACTS]
        errors = [self.errors[dataset, column] for column in self.columns]
        if all(row.mean is None for row in facts):
            cells = number_cells([*facts, *errors])
        else:
            cells = (*map(_fact_cell, facts), *number_cells(errors))
        yield Row((dataset, REPRODUCED), cells, REPRODUCED, size_text(errors))
        numbers = [self.published.number(dataset, "", fact) for fact in FACTS]
        if self.published.has(dataset):
            printed = [Cell(f"{n.value:,f}", n.mark) if n else Cell(NOT_PRINTED, is_word=True) for n in numbers]
            if self._metric(dataset) == RMSE:
                printed[0] = Cell(REGRESSION, is_word=True)
            metric = self._metric(dataset)
            printed += [printed_cell(metric, self._printed(dataset, column, metric)) for column in self.columns]
            yield Row((dataset, PUBLISHED), tuple(printed), PUBLISHED)

    def _notes(self) -> Iterable[str]:
        yield (
            "Reproduced: test error as mean ± standard deviation over repeats (sample deviation, ddof = 1; none for "
            f"one repeat), suite {self.results.suite}: 1 − accuracy in percent, in regression the RMSE in the "
            f"{known_metric(RMSE).unit}. The last column says how many repeats, and the rows of the smallest test set. "
            "Relevant features are those of the data set; the models also see a permuted copy of each. Training rows "
            "are those of the first repeat."
        )
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        if any(row.mark == DIFFERS for row in self.facts.values()):
            yield "≠: the measured number is not the published one."
        if legend := row_marks(self.experiment).legend():
            yield legend.removesuffix(" No significance test.")
        yield self.test.legend()
        yield from data_notes(self.experiment, self.results, self.published)
        yield from reason_notes(self.experiment, self.errors.values(), lambda row: self.experiment["labels"][row.model])


def _fact_cell(row: TidyRow) -> Cell:
    return number_cell(row) if row.mean is None else Cell(f"{row.mean:,.0f}", row.mark)
