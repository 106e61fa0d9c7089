"""Scores of models within each split of a data set, and over all of them (ddbf-table2).

``options: {splits: 3}`` says how many splits the paper has. The rows of a data set are its splits, the columns models.
Which repeats share a split is in the cells (`cascadeforest.reports.split_groups`); a data set whose every repeat has a
split of its own has one line over all of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.reports.comparisons import ranks
from cascadeforest.reports.notes import budget_note, data_notes, processor_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results, present
from cascadeforest.reports.score_lines import Part, part_lines, printed_cell, reason_notes
from cascadeforest.reports.split_groups import ALL_SPLITS, split_groups
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import compared_columns, row_marks, score_rows
from cascadeforest.reports.tidy import OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, Cell, Row, TableView, metric_head, number_text, without_source

NO_REPEATS, ONE_SPLIT, SINGLE = "no repeats of it", "repeats of one split", "one repeat a split"


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
        If the option `splits` is no number of splits.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.published = Published(experiment, results.published)
        self.n_printed = self._checked_splits()
        self.groups = {name: split_groups(experiment, results, name) for name in experiment["datasets"]}
        self.measured = {row.key: row for row in score_rows(experiment, results)}
        rows = [row for dataset in experiment["datasets"] for row in self._rows(dataset)]
        self.rows = {row.key: row for row in self._marked(rows)}

    def _checked_splits(self) -> int:
        splits = self.experiment["options"].get("splits")
        if type(splits) is not int or splits < 1:
            raise ConfigError(
                f"config/experiments/{self.experiment['paper']}.yaml: {self.experiment['id']}/options/splits is "
                f"{splits!r}; give the number of splits that the paper shows."
            )
        return splits

    # Numbers ------------------------------------------------------------------------------------------------------

    def _is_printed(self, dataset: str) -> bool:
        """Whether the paper has numbers of single splits for a data set."""
        return any(
            self.published.number(dataset, column, metric, _name(k))
            for column in self.experiment["columns"]
            for metric in self.experiment["metrics"]
            for k in range(self.n_printed)
        )

    def _is_split(self, dataset: str) -> bool:
        """Whether our repeats are told apart by split. A single one is the first split of those that are printed."""
        found = self.groups[dataset]
        return not found.are_single or (len(found.groups) == 1 and self._is_printed(dataset))

    def _conditions(self, dataset: str) -> list[str]:
        n_splits = len(self.groups[dataset].groups) if self._is_split(dataset) else 0
        n_splits = max(n_splits, self.n_printed if self._is_printed(dataset) else 0)
        return [*map(_name, range(n_splits)), *([ALL_SPLITS] if n_splits != 1 else [])]

    def _rows(self, dataset: str) -> Iterable[TidyRow]:
        for column in self.experiment["columns"]:
            for condition in self._conditions(dataset):
                for metric in self.experiment["metrics"]:
                    if row := self.measured.get((dataset, column, "", metric)):
                        yield self._row(replace(row, condition=condition, rank=None, mark=""))

    def _row(self, row: TidyRow) -> TidyRow:
        """A number over all repeats, as that of its condition."""
        row = self._with_published(row)
        if row.status != OK:
            return row
        repeats = self._repeats(row.dataset, row.condition)
        if isinstance(repeats, str):
            return replace(row, mean=None, std=None, n=None, n_test=None, status=UNAVAILABLE, note=repeats)
        cells = self.results.cells(
            row.dataset, self.experiment["columns"][row.model], self.experiment["repeats"][row.dataset]
        )
        own = [cell for cell in cells if cell["repeat"] in repeats]
        values = [cell["metrics"][row.metric] for cell in own]
        return replace(
            row,
            mean=statistics.fmean(values),
            std=float(statistics.stdev(values)) if len(values) > 1 else None,
            n=len(values),
            n_test=min(cell["n_test"] for cell in own),
        )

    def _repeats(self, dataset: str, condition: str) -> list[int] | str:
        """Repeats that a condition stands for, or why there are none."""
        groups = self.groups[dataset].groups
        if condition == ALL_SPLITS:
            if self._is_split(dataset) and len(groups) == 1:
                return ONE_SPLIT
            return [repeat for group in groups for repeat in group]
        if not self._is_split(dataset):
            return SINGLE
        return dict(zip(map(_name, range(len(groups))), map(list, groups), strict=True)).get(condition, NO_REPEATS)

    def _with_published(self, row: TidyRow) -> TidyRow:
        if row.condition == ALL_SPLITS:
            numbers = [
                self.published.number(row.dataset, row.model, row.metric, _name(k)) for k in range(self.n_printed)
            ]
            if None in numbers:
                return replace(row, published=None, published_std=None)
            mean = sum(number.value for number in numbers) / len(numbers)
            return replace(row, published=float(mean), published_std=None)
        number = self.published.number(row.dataset, row.model, row.metric, row.condition)
        if number is None:
            return replace(row, published=None, published_std=None)
        std = None if number.std is None else float(number.std)
        return replace(row, published=float(number.value), published_std=std)

    def _marked(self, rows: list[TidyRow]) -> Iterable[TidyRow]:
        """Ranks and marks among the models of a split; measured costs have none."""
        compared, decider = set(compared_columns(self.experiment)), row_marks(self.experiment)
        groups: dict[tuple[str, str, str], dict[str, float]] = {}
        for row in rows:
            if row.mean is not None and row.model in compared and _is_compared(row.metric):
                groups.setdefault((row.dataset, row.condition, row.metric), {})[row.model] = row.mean
        for row in rows:
            values = groups.get((row.dataset, row.condition, row.metric), {})
            if row.model not in values:
                yield row
                continue
            higher = METRICS[row.metric].higher_is_better
            yield replace(row, rank=ranks(values, higher)[row.model], mark=decider.marks(values, higher)[row.model])

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        lines = [line for dataset in self.experiment["datasets"] for line in self._lines(dataset)]
        label_heads, lines = without_source(("data set", "split", "measure", ""), lines)
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(self.experiment["labels"][column] for column in self.experiment["columns"]),
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _lines(self, dataset: str) -> Iterable[Row]:
        parts = []
        for condition in self._conditions(dataset):
            for metric in self.experiment["metrics"]:
                found = [self.rows.get((dataset, column, condition, metric)) for column in self.experiment["columns"]]
                if None not in found:  # a metric of the other task
                    printed = tuple(map(self._printed_cell, found))
                    parts.append(Part((condition, metric_head(metric)), tuple(found), printed))
        return part_lines(dataset, parts) if parts else ()

    def _printed_cell(self, row: TidyRow) -> Cell:
        if row.condition != ALL_SPLITS:
            number = self.published.number(row.dataset, row.model, row.metric, row.condition)
            return printed_cell(row.metric, number)
        if row.published is None:
            return Cell(NOT_PRINTED, is_word=True)
        return Cell(number_text(row.metric, row.published, None))

    # Notes --------------------------------------------------------------------------------------------------------

    def _notes(self) -> Iterable[str]:
        experiment = self.experiment
        yield (
            "Reproduced: mean ± standard deviation over the repeats of a split (sample deviation, ddof = 1; none for "
            f"one repeat), suite {self.results.suite}. The last column says how many repeats, and the rows of the "
            "smallest test set."
        )
        yield from self._split_notes()
        yield budget_note(experiment, self.results)
        yield published_note(experiment, self.published)
        yield from self._unit_notes()
        if legend := row_marks(experiment).legend():
            yield f"{legend} Compared are the models within a split; times are not."
        yield from self._cost_notes()
        yield from data_notes(experiment, self.results, self.published)
        yield from reason_notes(experiment, self.rows.values(), lambda row: experiment["labels"][row.model])

    def _split_notes(self) -> Iterable[str]:
        shown = present(self.experiment)
        if any(self._is_split(name) for name in shown):
            yield (
                "Splits are numbered in the order of our repeats; repeats of one split differ in the seed of the "
                f"model. {ALL_SPLITS.capitalize()}: over all repeats, so that the deviation is that between splits too."
            )
        if any(map(self._is_printed, self.experiment["datasets"])):
            yield (
                "The paper does not say which rows are in its splits: a split of ours and the published one below it "
                "have the number in common, no more."
            )
        single = [name for name in shown if self.groups[name].groups and not self._is_split(name)]
        several = [name for name in single if len(self.groups[name].groups) > 1]
        if several:
            yield f"{', '.join(several)}: each repeat has a split of its own; one line over all of them."
        if one := [name for name in single if name not in several]:
            yield f"{', '.join(one)}: one repeat, and so one split."

    def _unit_notes(self) -> Iterable[str]:
        """What was printed in other units; the digits are as printed."""
        printed = [name for name in self.experiment["datasets"] if self._is_printed(name)]
        units: dict[str, set[str]] = {metric: set() for metric in self.experiment["metrics"]}
        for metric, column, dataset in ((m, c, d) for m in units for c in self.experiment["columns"] for d in printed):
            if number := self.published.number(dataset, column, metric, _name(0)):
                units[metric].add(number.unit)
        for metric, found in units.items():
            if METRICS[metric].percent and "fraction" in found:
                yield (
                    f"The paper prints the {METRICS[metric].label} as a fraction and its deviation in percent points; "
                    "here both are in percent, with the printed digits."
                )
            if metric in COST_METRICS and found:
                yield f"The paper does not say which {' and '.join(sorted(found))} its {METRICS[metric].label} is in."
        if printed:
            yield (
                f"Published, {ALL_SPLITS}: the mean of the printed means, computed here; a deviation does not follow "
                "from what is printed."
            )

    def _cost_notes(self) -> Iterable[str]:
        measured = [row for row in self.rows.values() if row.metric in COST_METRICS and row.mean is not None]
        if not measured:
            return
        threads = {
            cell["threads"]
            for dataset, column in dict.fromkeys(row.key[:2] for row in measured)
            for cell in self.results.cells(
                dataset, self.experiment["columns"][column], self.experiment["repeats"][dataset]
            )
        }
        yield (
            "Times are CPU seconds (user and system) of a process of its own; threads: "
            f"{', '.join(map(str, sorted(threads)))}. Measured cost differs from run to run and from machine to "
            "machine."
        )
        yield from processor_notes(self.experiment, self.results)


def _name(k: int) -> str:
    """Condition of a split, as in the published files."""
    return f"split {k + 1}"


def _is_compared(metric: str) -> bool:
    return METRICS[metric].higher_is_better is not None and metric not in COST_METRICS
