"""Forests and cascades with about the same number of trees in all, rung by rung (ddbf-table4).

``options: {pairs: [[cascade, forest], ...]}`` names the rungs. A rung is shown by the numbers of trees that its models
really have: suites bound them, and rungs that became equal are shown once. Shown are the repeats of the first split of
each data set, and below them those of all splits; all repeats at once where each has its own split.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.column_pairs import (
    column_pairs,
    compared_metric,
    difference_notes,
    difference_row,
    published_difference,
)
from cascadeforest.reports.notes import budget_note, data_notes, listed, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results, present
from cascadeforest.reports.score_lines import Part, difference_words, part_lines, reason_notes, signed_text
from cascadeforest.reports.split_groups import SplitPart, first_split_notes, split_parts
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import OK, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, Cell, TableView, metric_head, printed_text, without_source

TREES, LAYERS = "n_estimators", "max_layers"
#: What the labels of models say of the number of trees: true only where the suite does not bound it.
_NUMBER = re.compile(r"\s*\([\d,]+\)$")
_CONDITION = re.compile(r"\d+ trees")


@dataclass(frozen=True)
class Size:
    """Trees of a model.

    Parameters
    ----------
    trees : int
        Of a forest.
    layers : int or None
        Forests one after the other, at most; None for a model that is one forest.
    """

    trees: int
    layers: int | None

    @property
    def total(self) -> int:
        """Trees of all forests."""
        return self.trees * (self.layers or 1)

    def __str__(self) -> str:
        """As a condition of the tidy rows has it."""
        return f"{self.trees:,}" if self.layers is None else f"{self.layers} × {self.trees:,}"


@dataclass(frozen=True)
class Rung:
    """Pairs of columns with equal numbers of trees.

    Parameters
    ----------
    pairs : tuple of tuples of two str
        (Cascade, forest) columns.
    cascade, forest : Size or None
        Their real numbers; None if no data set has such a run.
    """

    pairs: tuple[tuple[str, str], ...]
    cascade: Size | None
    forest: Size | None


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
        If the option `pairs` does not hold each column once, if there is not one metric, or if a column has other
        numbers of trees on another data set.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.pairs = column_pairs(experiment)
        self.metric, self.difference = compared_metric(experiment)
        self.published = Published(experiment, results.published)
        self.sizes = {column: self._size(column) for column in experiment["columns"]}
        self.rungs = self._rungs()
        self.parts = split_parts(experiment, results)
        self.rows = {
            (part.name, row.dataset, row.model, row.metric): row for part in self.parts for row in self._rows(part)
        }

    # Sizes --------------------------------------------------------------------------------------------------------

    def _size(self, column: str) -> Size | None:
        """Trees of a column as the plan has them, the suite's bounds applied."""
        preset, found = self.experiment["columns"][column], {}
        for run in self.results.plan["runs"]:
            if run["model"] == preset and run["dataset"] in present(self.experiment) and TREES in run["params"]:
                found[run["dataset"]] = Size(run["params"][TREES], run["params"].get(LAYERS))
        if len(set(found.values())) > 1:
            sizes = ", ".join(f"{size} on {dataset}" for dataset, size in found.items())
            raise ConfigError(
                f"config/models.yaml: {preset} has other numbers of trees on other data sets ({sizes}), but in "
                f"{self.experiment['id']} it is one column. Take its 'dataset_params' out."
            )
        return next(iter(found.values()), None)

    def _rungs(self) -> list[Rung]:
        groups: dict[Any, list[tuple[str, str]]] = {}
        for pair in self.pairs:
            sizes = tuple(self.sizes[column] for column in pair)
            groups.setdefault(pair if sizes == (None, None) else sizes, []).append(pair)
        return [Rung(tuple(pairs), *(self.sizes[column] for column in pairs[0])) for pairs in groups.values()]

    def _printed_size(self, column: str) -> str:
        """Trees (of a forest) for which the paper prints the numbers of a column; empty if it does not say."""
        condition = self.published.place(column)[1]
        return condition.removesuffix(" trees") if _CONDITION.fullmatch(condition) else ""

    def _is_bounded(self, rung: Rung) -> bool:
        """Whether a rung has not, or not only, the numbers of trees that the paper has."""
        sizes = zip(rung.pairs[0], (rung.cascade, rung.forest), strict=True)
        differs = [
            printed != str(real.trees) for column, real in sizes if real and (printed := self._printed_size(column))
        ]
        return any(differs) or len(rung.pairs) > 1

    def _base(self, place: int) -> str:
        """The models of one side without their numbers of trees."""
        labels = (_NUMBER.sub("", self.experiment["labels"][pair[place]]) for pair in self.pairs)
        return ", ".join(dict.fromkeys(labels))

    def _head(self, rung: Rung) -> str:
        if rung.cascade is None and rung.forest is None:
            cascade, forest = rung.pairs[0]
            printed = [self._printed_size(column) or "unknown" for column in (forest, cascade)]
            return f"{' / '.join(printed)} (paper)"
        total = f" = {rung.cascade.total:,}" if rung.cascade and rung.cascade.layers else ""
        return f"{rung.forest or 'unknown'} / {rung.cascade or 'unknown'}{total}"

    # Numbers ------------------------------------------------------------------------------------------------------

    def _rows(self, part: SplitPart) -> Iterable[TidyRow]:
        """A row for each column, and the differences of each pair; conditions are real numbers of trees."""
        measured = {}
        for row in score_rows(part.experiment, self.results):
            if row.dataset in part.datasets:
                size = self.sizes[row.model]
                measured[row.dataset, row.model] = row = part.row(row, "" if size is None else f"{size} trees")
                yield row
        for dataset in part.datasets:
            for cascade, forest in self.pairs:
                sizes = [self.sizes[column] for column in (cascade, forest)]
                trees = "" if None in sizes else f", {sizes[0]} and {sizes[1]} trees"
                printed = published_difference(self.published, dataset, cascade, forest, self.metric)
                yield difference_row(
                    part.experiment,
                    self.results,
                    (measured[dataset, cascade], measured[dataset, forest]),
                    part.condition(f"against {forest}{trees}"),
                    printed if part.is_first else None,
                    part.groups(dataset),
                )

    def _chosen(self, dataset: str, rung: Rung) -> tuple[str, str]:
        """The pair that stands for a rung: with equal parameters all have the same numbers, but one may have failed."""

        def n_numbers(pair: tuple[str, str]) -> int:
            return sum(self.rows[self.parts[0].name, dataset, column, self.metric].status == OK for column in pair)

        return max(rung.pairs, key=n_numbers)  # the first of equal ones

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        lines = [line for name in self.experiment["datasets"] for line in part_lines(name, list(self._lines(name)))]
        label_heads, lines = without_source(("data set", "model", ""), lines)
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(map(self._head, self.rungs)),
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _lines(self, dataset: str) -> Iterable[Part]:
        chosen = [self._chosen(dataset, rung) for rung in self.rungs]
        nothing = tuple(Cell(NOT_PRINTED, is_word=True) for _ in self.rungs)
        for part in self.parts:
            if dataset not in part.datasets:
                continue
            for side in (1, 0):
                rows = tuple(self.rows[part.name, dataset, pair[side], self.metric] for pair in chosen)
                printed = tuple(self._printed_cell(dataset, rung, side) for rung in self.rungs)
                yield Part((part.label(self._base(side), dataset),), rows, printed if part.is_first else nothing)
            rows = tuple(self.rows[part.name, dataset, pair[0], self.difference] for pair in chosen)
            printed = tuple(self._printed_difference(dataset, rung) for rung in self.rungs)
            words = part.label(difference_words(self.difference), dataset)
            yield Part((words,), rows, printed if part.is_first else nothing)

    def _printed_cell(self, dataset: str, rung: Rung, place: int) -> Cell:
        """The paper's numbers of a rung with its numbers of trees where they are not ours."""
        columns = [pair[place] for pair in rung.pairs]
        numbers = {column: self.published.number(dataset, column, self.metric) for column in columns}
        texts = {
            column: printed_text(self.metric, number.value, number.std) for column, number in numbers.items() if number
        }
        if not texts:
            return Cell(NOT_PRINTED, is_word=True)
        sizes, real = [self._printed_size(column) for column in texts], (rung.cascade, rung.forest)[place]
        is_same = real is None or sizes == [str(real.trees)] or not any(sizes)
        return Cell(" / ".join(texts.values()) + ("" if is_same else f" ({' / '.join(sizes)} trees)"))

    def _printed_difference(self, dataset: str, rung: Rung) -> Cell:
        found = [
            self.rows[self.parts[0].name, dataset, cascade, self.difference].published for cascade, _ in rung.pairs
        ]
        texts = [signed_text(self.difference, value, None) for value in found if value is not None]
        return Cell(" / ".join(texts)) if texts else Cell(NOT_PRINTED, is_word=True)

    # Notes --------------------------------------------------------------------------------------------------------

    def _notes(self) -> Iterable[str]:
        forest, cascade = self._base(1), self._base(0)
        yield (
            f"Heads: trees of {forest} / forests one after the other × trees of each = trees in all of {cascade}, "
            "at most: it may stop earlier."
        )
        yield from self._rung_notes(forest, cascade)
        yield (
            f"Reproduced: mean ± standard deviation of {metric_head(self.metric)} over the repeats (sample deviation, "
            f"ddof = 1; none for one repeat), suite {self.results.suite}. The last column says how many repeats, and "
            "the rows of the smallest test set."
        )
        yield from first_split_notes(self.experiment, self.results)
        differences = [row for row in self.rows.values() if row.metric == self.difference]
        yield from difference_notes(differences, f"{cascade} minus {forest}", self.parts[0].splits)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        yield from data_notes(self.experiment, self.results, self.published)
        measured = [row for row in self.rows.values() if row.metric == self.metric]
        yield from reason_notes(self.experiment, measured, self._words)

    def _rung_notes(self, forest: str, cascade: str) -> Iterable[str]:
        """Which of the paper's rungs a column stands for, and where the totals are not about equal."""
        bounded = [rung for rung in self.rungs if self._is_bounded(rung)]
        said = [f"{self._head(rung)} for the paper's {listed(list(self._printed_heads(rung)))}" for rung in bounded]
        if said:
            yield (
                f"The suite bounds numbers of trees, and columns that became equal are shown once: {'; '.join(said)} "
                f"(trees of {forest} / trees of each forest of {cascade}). Published numbers stand in this order."
            )
        known = [rung for rung in bounded if rung.cascade and rung.forest]
        if unequal := [self._head(rung) for rung in known if rung.cascade.total != rung.forest.total]:
            yield (
                f"Not equal in the total number of trees, so that the difference is not the paper's: "
                f"{'; '.join(unequal)}."
            )

    def _printed_heads(self, rung: Rung) -> Iterable[str]:
        for cascade, forest in rung.pairs:
            yield f"{self._printed_size(forest) or 'unknown'} / {self._printed_size(cascade) or 'unknown'}"

    def _words(self, row: TidyRow) -> str:
        """A model by its real number of trees."""
        is_cascade = any(row.model == cascade for cascade, _ in self.pairs)
        size = self.sizes[row.model]
        return self._base(0 if is_cascade else 1) + ("" if size is None else f" of {size} trees")
