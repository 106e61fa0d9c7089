"""Learners alone and trained on the hard examples of DDBF's first iteration, side by side (ddbf-table3).

``options: {pairs: [[alone, on hard examples], ...]}`` names the two columns of each learner. Shown is the first split
of each data set.
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
from cascadeforest.reports.split_groups import first_split_notes, on_first_split
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import Row, TableView, metric_head, without_source

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
    pairs, (metric, difference) = column_pairs(experiment), compared_metric(experiment)
    published = Published(experiment, results.published)
    shown = on_first_split(experiment, results)
    # Columns are compared two by two: a rank among all of them says nothing.
    rows = {row.key: replace(row, rank=None, mark="") for row in score_rows(shown, results)}
    for dataset in experiment["datasets"]:
        for alone, on_hard in pairs:
            row = difference_row(
                shown,
                results,
                (rows[dataset, on_hard, "", metric], rows[dataset, alone, "", metric]),
                f"against {alone}",
                published_difference(published, dataset, on_hard, alone, metric),
            )
            rows[row.key] = row
    differences = [row for row in rows.values() if row.metric == difference]

    def lines(dataset: str) -> Iterable[Row]:
        for name, place in ((ALONE, 0), (ON_HARD_EXAMPLES, 1)):
            found = [rows[dataset, pair[place], "", metric] for pair in pairs]
            printed = (printed_cell(metric, published.number(dataset, pair[place], metric)) for pair in pairs)
            yield Part((name,), tuple(found), tuple(printed))
        found = tuple(row for row in differences if row.dataset == dataset)
        yield Part((difference_words(difference),), found, tuple(map(published_difference_cell, found)))

    label_heads, arranged = without_source(
        ("data set", "trained", ""),
        [line for dataset in experiment["datasets"] for line in part_lines(dataset, list(lines(dataset)))],
    )
    view = TableView(
        name=experiment["id"],
        title=experiment["title"],
        suite=results.suite,
        label_heads=label_heads,
        heads=tuple(experiment["labels"][alone] for alone, _ in pairs),
        size_head="repeats × test rows",
        rows=tuple(arranged),
        notes=tuple(filter(None, _notes(experiment, results, published, rows, differences))),
        deviations=tuple(experiment["deviations"]),
    )
    return Table(tuple(rows.values()), view)


def _notes(
    experiment: Mapping[str, Any],
    results: Results,
    published: Published,
    rows: Mapping[tuple, TidyRow],
    differences: list[TidyRow],
) -> Iterable[str]:
    metric = experiment["metrics"][0]
    yield (
        f"Reproduced: mean ± standard deviation of {metric_head(metric)} over the repeats of the first split (sample "
        f"deviation, ddof = 1; none for one repeat), suite {results.suite}. The last column says how many repeats, and "
        "the rows of the smallest test set."
    )
    yield from first_split_notes(experiment, results)
    yield (
        f"{ON_HARD_EXAMPLES.capitalize()}: the learner sees the training rows that DDBF's first iteration finds hard, "
        "and answers the test rows that it finds hard; the forest of that iteration answers the easy ones. The AUC "
        "ranks probabilities of both together."
    )
    yield from difference_notes(differences, f"{ON_HARD_EXAMPLES} minus {ALONE}")
    yield budget_note(experiment, results)
    yield published_note(experiment, published)
    yield from data_notes(experiment, results, published)
    measured = [row for row in rows.values() if row.metric == metric]
    yield from reason_notes(experiment, measured, lambda row: experiment["labels"][row.model])
