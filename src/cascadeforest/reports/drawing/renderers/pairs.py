"""Two columns side by side, and their difference below: a column of the table for each pair (ddbf-table3, -table4).

``options: {pairs: [[first, second], ...], sides: [words, words]}``: the columns of a pair stand in lines that `sides`
names. Without `sides` the pairs are rungs of a ladder, named by the numbers of trees that their models really have:
suites bound them, and rungs that became equal are shown once. Shown are the repeats of the first split of each data
set, and below them the repeats of all splits; all repeats at once where each has its own split.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias, cast

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import lines as draw
from cascadeforest.reports.drawing.differences import told_of
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Cell, metric_head
from cascadeforest.reports.drawing.words import reasons
from cascadeforest.reports.numbers import scores
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import Difference, difference
from cascadeforest.reports.numbers.frame import OK, Key, TidyRow, to_rows
from cascadeforest.reports.numbers.splits import ALL_SPLITS, FIRST_SPLIT, kinds, parts, shared_splits

TREES, LAYERS = "n_estimators", "max_layers"
#: Two columns that are compared, and pairs of them with equal numbers of trees.
Pair: TypeAlias = tuple[str, str]
Rung: TypeAlias = list[Pair]
_CONDITION = re.compile(r"(\d+) trees")
#: What the labels of models say of the number of trees: true only where the suite does not bound it.
_NUMBER = re.compile(r"\s*\([\d,]+\)$")


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the pairs, and words for the lines of their two columns."""

    pairs: tuple[Pair, ...]
    sides: Pair | None = None


class Size(NamedTuple):
    """Trees of each forest of a model, and forests one after the other, at most (None: it is one forest)."""

    trees: int
    layers: int | None

    @property
    def total(self) -> int:
        """Trees of all forests."""
        return self.trees * (self.layers or 1)

    def __str__(self) -> str:
        """Write the size as in conditions of the tidy rows: ``50``, ``3 × 17``."""
        return f"{self.trees:,}" if self.layers is None else f"{self.layers} × {self.trees:,}"


@dataclass(frozen=True)
class Layout:
    """The numbers by part, data set, column and metric; sizes of the columns; a rung for each column of the table."""

    cells: Cells
    metric: str
    sides: Pair
    sizes: dict[str, Size | None]
    rungs: list[Rung]
    found: dict[Key, TidyRow]


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment = cells.experiment
    metric, options = scores.compared_metric(experiment, also=()), cells.options(Options)
    named = [column for pair in options.pairs for column in pair]
    scores.check_once(cells, "pairs", named)
    if alone := [column for column in experiment.columns if column not in named]:
        raise ConfigError(f"{experiment.place}/options/pairs lacks {', '.join(alone)}: give each column a partner.")
    sizes = {column: None if options.sides else _size(cells, column) for column in named}
    compared: list[Difference] = []
    found = dict(_numbers(cells, options.pairs, sizes, compared))
    shown = _rungs(options.pairs, sizes)
    layout = Layout(cells, metric, options.sides or _models(cells, options.pairs), sizes, shown, found)
    heads = [cells.label(rung[0][0]) if options.sides else _head(layout, rung) for rung in shown]
    lines = [line for dataset in experiment.datasets for line in draw.said_once(_lines(layout, dataset))]
    label_heads = ("data set", "trained" if options.sides else "model")
    told = _told(layout, is_ladder=not options.sides) | {"intervals": told_of(compared, cells)}
    return Table.of(cells, told, found.values(), label_heads, heads, lines)


def _size(cells: Cells, column: str) -> Size | None:
    """Return the trees of a column with the suite's bounds, None without a run; `ConfigError` if data sets differ."""
    preset, found = cells.experiment.columns[column], {}
    for dataset in cells.experiment.present():
        if (run := cells.results.plan.run(dataset, preset)) is not None and TREES in run.params:
            found[dataset] = Size(cast(int, run.params[TREES]), cast("int | None", run.params.get(LAYERS)))
    if len(set(found.values())) > 1:
        told = ", ".join(f"{one} on {dataset}" for dataset, one in found.items())
        raise ConfigError(
            f"config/models.yaml: {preset} has other numbers of trees on other data sets ({told}), but in "
            f"{cells.experiment.id} it is one column. Take its 'dataset_params' out."
        )
    return next(iter(found.values()), None)


def _printed_trees(cells: Cells, column: str) -> str:
    """Return the trees of a forest for which the paper prints the numbers of a column; empty if it does not say."""
    found = _CONDITION.fullmatch(cells.published.place(column)[1])
    return found[1] if found else ""


def _rungs(pairs: tuple[Pair, ...], sizes: dict[str, Size | None]) -> list[Rung]:
    """Return the pairs, those together whose sizes a suite made equal."""
    groups: dict[object, Rung] = {}
    for pair in pairs:
        both = tuple(sizes[column] for column in pair)
        groups.setdefault(pair if both == (None, None) else both, []).append(pair)
    return list(groups.values())


def _numbers(
    cells: Cells, pairs: tuple[Pair, ...], sizes: dict[str, Size | None], compared: list[Difference]
) -> Iterable[tuple[Key, TidyRow]]:
    """Yield a row for each column and each pair's difference, which `compared` gets; conditions have real numbers."""
    partner = {second: first for first, second in pairs}
    for part, values in parts(cells, scores.repeats(cells)).items():
        is_first = part == FIRST_SPLIT
        rows = to_rows(scores.with_published(cells, scores.averages(values)))
        own = list(_differences(cells, partner, is_first))
        compared += own
        for row in [*rows, *(one.row for one in own)]:
            names = [row.model, partner[row.model]] if row.condition else [row.model]
            trees = " and ".join(str(sizes[name]) for name in names if sizes[name])
            words = [row.condition, f"{trees} trees" if trees else "", "" if is_first else ALL_SPLITS]
            row = replace(row, condition=", ".join(filter(None, words)))
            row = row if is_first else replace(row, published=None, published_std=None)
            yield (part, row.dataset, row.model, row.metric), row


def _differences(cells: Cells, partner: Mapping[str, str], is_first: bool) -> Iterable[Difference]:
    """Yield the differences of a part: on the first split, where several repeats share it, seeds are what varies."""
    metric, shared = scores.compared_metric(cells.experiment, also=()), shared_splits(cells)
    for dataset in cells.experiment.datasets if is_first else shared:
        repeats = shared[dataset][0] if is_first and dataset in shared else None
        for second, first in partner.items():
            yield difference(cells, dataset, second, first, metric, repeats, None if repeats is None else "given")


def _lines(layout: Layout, dataset: str) -> Iterable[draw.Lines]:
    cells, difference = layout.cells, f"{layout.metric}_difference"
    named = [(words, side, layout.metric) for side, words in enumerate(layout.sides)]
    named.append((draw.difference_words(difference), 1, difference))
    pairs = [_chosen(layout, dataset, rung) for rung in layout.rungs]
    any_number = dataset, pairs[0][0], layout.metric
    present = [part for part in (FIRST_SPLIT, ALL_SPLITS) if (part, *any_number) in layout.found]
    for part in present:
        for words, side, metric in named:
            rows = [layout.found[part, dataset, pair[side], metric] for pair in pairs]
            labels = (dataset, f"{words}, {part}" if len(present) > 1 else words)
            yield draw.numbered_lines(cells, labels, rows, printed=partial(_printed, layout, side)), rows


def _chosen(layout: Layout, dataset: str, rung: Rung) -> Pair:
    """Return the pair that stands for a rung: all have the same numbers, but one may have failed."""

    def n_numbers(pair: Pair) -> int:
        return sum(layout.found[FIRST_SPLIT, dataset, column, layout.metric].status == OK for column in pair)

    return max(rung, key=n_numbers)


def _printed(layout: Layout, side: int, row: TidyRow) -> Cell:
    """Write the paper's numbers of a rung, with its numbers of trees where they are not ours."""
    rung = next(rung for rung in layout.rungs if any(pair[side] == row.model for pair in rung))
    found = [layout.found[FIRST_SPLIT, row.dataset, pair[side], row.metric] for pair in rung]
    printed = {one.model: draw.published_cell(layout.cells, one) for one in found if one.published is not None}
    if not printed or row.condition.endswith(ALL_SPLITS):
        return draw.NOT_PRINTED
    trees, real = [_printed_trees(layout.cells, column) for column in printed], layout.sizes[row.model]
    is_same = row.metric != layout.metric or real is None or trees == [str(real.trees)] or not any(trees)
    text = " / ".join(cell.text for cell in printed.values())
    return replace(next(iter(printed.values())), text=text if is_same else f"{text} ({' / '.join(trees)} trees)")


def _models(cells: Cells, pairs: tuple[Pair, ...]) -> Pair:
    """Return the models of both sides without their numbers of trees."""
    labels = [[_NUMBER.sub("", cells.label(pair[side])) for pair in pairs] for side in (0, 1)]
    return ", ".join(dict.fromkeys(labels[0])), ", ".join(dict.fromkeys(labels[1]))


def _head(layout: Layout, rung: Rung) -> str:
    """Write the numbers of trees of a rung; the paper's if none of its models is in the suite."""
    sizes = [layout.sizes[column] for column in rung[0]]
    if not any(sizes):
        return f"{_printed_head(layout, rung[0])} (paper)"
    total = f" = {sizes[1].total:,}" if sizes[1] is not None and sizes[1].layers else ""
    return " / ".join(str(one or "unknown") for one in sizes) + total


def _printed_head(layout: Layout, pair: Pair) -> str:
    return " / ".join(_printed_trees(layout.cells, column) or "unknown" for column in pair)


def _is_bounded(layout: Layout, rung: Rung) -> bool:
    """Return whether the models have not, or not only, the numbers of trees that the paper has."""
    known = [(_printed_trees(layout.cells, column), own) for column in rung[0] if (own := layout.sizes[column])]
    return len(rung) > 1 or any(printed and printed != str(own.trees) for printed, own in known)


def _told(layout: Layout, is_ladder: bool) -> dict[str, object]:
    cells, sizes = layout.cells, layout.sizes
    bounded = [rung for rung in layout.rungs if _is_bounded(layout, rung)]
    side_of = {column: side for rung in layout.rungs for pair in rung for side, column in enumerate(pair)}

    def label(row: TidyRow) -> str:
        trees = f" of {sizes[row.model]} trees" if sizes[row.model] else ""
        return layout.sides[side_of[row.model]] + trees if is_ladder else cells.label(row.model)

    return dict(
        what=metric_head(layout.metric),
        sides=layout.sides,
        is_ladder=is_ladder,
        bounded={_head(layout, rung): [_printed_head(layout, pair) for pair in rung] for rung in bounded},
        unequal=[_head(layout, rung) for rung in bounded if len({own.total for c in rung[0] if (own := sizes[c])}) > 1],
        kinds=kinds(cells),
        reasons=reasons(cells, (row for row in layout.found.values() if row.metric == layout.metric), label),
    )
