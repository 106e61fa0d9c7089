"""Learners alone and trained on the hard examples of DDBF's first iteration, side by side (ddbf-table3).

``options: {pairs: [[alone, on hard examples], ...]}`` names the two columns of each learner. Shown are the repeats of
the first split of each data set, and below them those of all splits; all repeats at once where each has its own split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cascadeforest.reports.column_pairs import (
    column_pairs,
    compared_metric,
    difference_notes,
    difference_row,
    published_difference,
    published_difference_cell,
)
from cascadeforest.reports.notes import budget_note, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import Part, difference_words, part_lines, printed_cell, reason_notes
from cascadeforest.reports.split_groups import SplitPart, first_split_notes, split_parts
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import TableView, metric_head, without_source

ALONE, ON_HARD_EXAMPLES = "alone", "on hard examples"


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
        If the option `pairs` does not hold each column once, or there is not one metric.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.pairs = column_pairs(experiment)
        self.metric, self.difference = compared_metric(experiment)
        self.published = Published(experiment, results.published)
        self.parts = split_parts(experiment, results)
        self.rows = {row.key: row for part in self.parts for row in self._rows(part)}
        self.differences = [row for row in self.rows.values() if row.metric == self.difference]

    def _rows(self, part: SplitPart) -> Iterable[TidyRow]:
        """A row for each column, and the differences of each pair."""
        measured = {}
        for row in score_rows(part.experiment, self.results):
            if row.dataset in part.datasets:
                measured[row.dataset, row.model] = row = part.row(row)
                yield row
        for dataset in part.datasets:
            for alone, hard in self.pairs:
                printed = published_difference(self.published, dataset, hard, alone, self.metric)
                yield difference_row(
                    part.experiment,
                    self.results,
                    (measured[dataset, hard], measured[dataset, alone]),
                    part.condition(f"against {alone}"),
                    printed if part.is_first else None,
                    part.groups(dataset),
                )

    def _lines(self, dataset: str) -> Iterable[Part]:
        """Lines of the first split with the paper's, and those of all splits if there are several."""
        for part in self.parts:
            if dataset not in part.datasets:
                continue
            for name, side in ((ALONE, 0), (ON_HARD_EXAMPLES, 1)):
                columns = [pair[side] for pair in self.pairs]
                found = tuple(self.rows[dataset, column, part.condition(), self.metric] for column in columns)
                numbers = [self.published.number(dataset, column, self.metric) for column in columns]
                printed = (printed_cell(self.metric, number if part.is_first else None) for number in numbers)
                yield Part((part.label(name, dataset),), found, tuple(printed))
            found = tuple(
                self.rows[dataset, hard, part.condition(f"against {alone}"), self.difference]
                for alone, hard in self.pairs
            )
            words = part.label(difference_words(self.difference), dataset)
            yield Part((words,), found, tuple(map(published_difference_cell, found)))

    def table(self) -> Table:
        """Everything."""
        experiment = self.experiment
        lines = [line for name in experiment["datasets"] for line in part_lines(name, list(self._lines(name)))]
        label_heads, lines = without_source(("data set", "trained", ""), lines)
        view = TableView(
            name=experiment["id"],
            title=experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(experiment["labels"][alone] for alone, _ in self.pairs),
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _notes(self) -> Iterable[str]:
        experiment, results = self.experiment, self.results
        yield (
            f"Reproduced: mean ± standard deviation of {metric_head(self.metric)} over the repeats (sample deviation, "
            f"ddof = 1; none for one repeat), suite {results.suite}. The last column says how many repeats, and the "
            "rows of the smallest test set."
        )
        yield from first_split_notes(experiment, results)
        yield (
            f"{ON_HARD_EXAMPLES.capitalize()}: the learner sees the training rows that DDBF's first iteration finds "
            "hard, and answers the test rows that it finds hard; the forest of that iteration answers the easy ones. "
            "The AUC ranks probabilities of both together."
        )
        yield from difference_notes(self.differences, f"{ON_HARD_EXAMPLES} minus {ALONE}", self.parts[0].splits)
        yield budget_note(experiment, results)
        yield published_note(experiment, self.published)
        yield from data_notes(experiment, results, self.published)
        measured = [row for row in self.rows.values() if row.metric == self.metric]
        yield from reason_notes(experiment, measured, lambda row: experiment["labels"][row.model])
