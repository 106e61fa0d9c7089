"""Learners alone and trained on the hard examples of DDBF's first iteration, side by side (ddbf-table3).

``options: {pairs: [[alone, on hard examples], ...]}`` names the two columns of each learner. Shown is the first split
of each data set, as in the paper, and where there are more below it all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
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
from cascadeforest.reports.split_groups import (
    ALL_SPLITS,
    FIRST_SPLIT,
    first_split_notes,
    on_first_split,
    split_repeats,
)
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
        self.splits = {name: split_repeats(experiment, results, name) for name in experiment["datasets"]}
        parts = {FIRST_SPLIT: on_first_split(experiment, results), ALL_SPLITS: experiment}
        self.rows = {row.key: row for place, shown in parts.items() for row in self._rows(place, shown)}
        self.differences = [row for row in self.rows.values() if row.metric == self.difference]

    def _rows(self, place: str, shown: Mapping[str, Any]) -> Iterable[TidyRow]:
        """A row for each column, and the differences of each pair."""
        is_first = place == FIRST_SPLIT
        measured = {}
        for row in score_rows(shown, self.results):
            if is_first or self.splits[row.dataset]:
                # Columns are compared two by two: a rank among all of them says nothing.
                row = replace(row, condition=_condition(place), rank=None, mark="")
                if not is_first:  # the paper's are of its first split
                    row = replace(row, published=None, published_std=None)
                measured[row.dataset, row.model] = row
                yield row
        for dataset in dict.fromkeys(dataset for dataset, _ in measured):
            for alone, hard in self.pairs:
                printed = published_difference(self.published, dataset, hard, alone, self.metric) if is_first else None
                yield difference_row(
                    shown,
                    self.results,
                    (measured[dataset, hard], measured[dataset, alone]),
                    _condition(place, alone),
                    printed,
                    () if is_first else self.splits[dataset],
                )

    def _parts(self, dataset: str) -> Iterable[Part]:
        """Lines of the first split with the paper's, and those of all splits if there are several."""
        for place in (FIRST_SPLIT, ALL_SPLITS) if self.splits[dataset] else (FIRST_SPLIT,):
            behind = f", {place}" if self.splits[dataset] else ""
            for name, side in ((ALONE, 0), (ON_HARD_EXAMPLES, 1)):
                columns = [pair[side] for pair in self.pairs]
                found = tuple(self.rows[dataset, column, _condition(place), self.metric] for column in columns)
                numbers = [self.published.number(dataset, column, self.metric) for column in columns]
                printed = (printed_cell(self.metric, number if place == FIRST_SPLIT else None) for number in numbers)
                yield Part((f"{name}{behind}",), found, tuple(printed))
            found = tuple(
                self.rows[dataset, hard, _condition(place, alone), self.difference] for alone, hard in self.pairs
            )
            words = f"{difference_words(self.difference)}{behind}"
            yield Part((words,), found, tuple(map(published_difference_cell, found)))

    def table(self) -> Table:
        """Everything."""
        experiment = self.experiment
        lines = [line for name in experiment["datasets"] for line in part_lines(name, list(self._parts(name)))]
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
        yield from difference_notes(self.differences, f"{ON_HARD_EXAMPLES} minus {ALONE}")
        yield budget_note(experiment, results)
        yield published_note(experiment, self.published)
        yield from data_notes(experiment, results, self.published)
        measured = [row for row in self.rows.values() if row.metric == self.metric and not row.condition]
        yield from reason_notes(experiment, measured, lambda row: experiment["labels"][row.model])


def _condition(place: str, against: str = "") -> str:
    """Condition of a number; those of the first split are named as the published ones."""
    return ", ".join(filter(None, [against and f"against {against}", "" if place == FIRST_SPLIT else place]))
