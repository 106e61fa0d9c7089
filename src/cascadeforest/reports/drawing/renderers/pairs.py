"""Two columns side by side, and their difference below: a column of the table for each pair (ddbf-table3, -table4).

``options: {pairs: [[first, second], ...], sides: [words, words]}``: the columns of a pair stand in lines that `sides`
names. Without `sides` the pairs are rungs of a ladder, named by the numbers of trees that their models really have:
suites bound them, and rungs that became equal are shown once. Shown are the repeats of the first split of each data
set, and below them the repeats of all splits; all repeats at once where each has its own split.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing.lines import difference_words, numbered_lines, published_cell, said_once
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import NOT_PRINTED, Cell, Row, metric_head
from cascadeforest.reports.drawing.words import Words, reasons
from cascadeforest.reports.numbers import scores
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import OK, TidyRow, to_rows
from cascadeforest.reports.numbers.splits import ALL_SPLITS, FIRST_SPLIT, kinds, parts, shared_splits
from cascadeforest.reports.numbers.statistics import LEVEL
from cascadeforest.reports.numbers.trees import Pair, Rung, Size, is_bounded, printed_trees, rungs, size

#: What the labels of models say of the number of trees: true only where the suite does not bound it.
_NUMBER = re.compile(r"\s*\([\d,]+\)$")


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the pairs, and words for the lines of their two columns."""

    pairs: tuple[Pair, ...]
    sides: Pair | None = None


@dataclass(frozen=True)
class Layout:
    """The numbers by part, data set, column and metric; sizes of the columns; a rung for each column of the table."""

    cells: Cells
    metric: str
    sides: Pair
    sizes: dict[str, Size | None]
    rungs: list[Rung]
    found: dict[tuple[str, str, str, str], TidyRow]


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment = cells.experiment
    metric, options = scores.compared_metric(experiment), cells.options(Options)
    named = [column for pair in options.pairs for column in pair]
    scores.check_once(cells, "pairs", named)
    if alone := [column for column in experiment.columns if column not in named]:
        raise ConfigError(f"{experiment.place}/options/pairs lacks {', '.join(alone)}: give each column a partner.")
    sizes = {column: None if options.sides else size(cells, column) for column in named}
    found = dict(_numbers(cells, options.pairs, sizes))
    shown = rungs(options.pairs, sizes)
    layout = Layout(cells, metric, options.sides or _models(cells, options.pairs), sizes, shown, found)
    heads = [cells.label(rung[0][0]) if options.sides else _head(layout, rung) for rung in shown]
    lines = [line for dataset in experiment.datasets for line in _lines(layout, dataset)]
    label_heads = ("data set", "trained" if options.sides else "model")
    words = _words(layout, is_ladder=not options.sides)
    return Table.of(cells, words, found.values(), label_heads, heads, lines)


def _numbers(
    cells: Cells, pairs: tuple[Pair, ...], sizes: dict[str, Size | None]
) -> Iterable[tuple[tuple[str, str, str, str], TidyRow]]:
    """Yield a row for each column and each pair's difference; conditions have real numbers of trees."""
    partner = {second: first for first, second in pairs}
    for part, values in parts(cells, scores.repeats(cells)).items():
        is_first = part == FIRST_SPLIT
        rows = to_rows(scores.with_published(cells, scores.averages(values)))
        shared = {} if is_first else shared_splits(cells)
        rows += to_rows(scores.differences(cells, values, list(partner.items()), shared))
        for row in rows:
            names = [row.model, partner[row.model]] if row.condition else [row.model]
            trees = " and ".join(str(sizes[name]) for name in names if sizes[name])
            words = [row.condition, f"{trees} trees" if trees else "", "" if is_first else ALL_SPLITS]
            row = replace(row, condition=", ".join(filter(None, words)))
            row = row if is_first else replace(row, published=None, published_std=None)
            yield (part, row.dataset, row.model, row.metric), row


def _lines(layout: Layout, dataset: str) -> list[Row]:
    cells, difference = layout.cells, f"{layout.metric}_difference"
    named = [(words, side, layout.metric) for side, words in enumerate(layout.sides)]
    named.append((difference_words(difference), 1, difference))
    pairs = [_chosen(layout, dataset, rung) for rung in layout.rungs]
    any_number = dataset, pairs[0][0], layout.metric
    present = [part for part in (FIRST_SPLIT, ALL_SPLITS) if (part, *any_number) in layout.found]
    lines, shown = [], []
    for part in present:
        for words, side, metric in named:
            rows = [layout.found[part, dataset, pair[side], metric] for pair in pairs]
            labels = (dataset, f"{words}, {part}" if len(present) > 1 else words)
            lines += numbered_lines(cells, labels, rows, printed=partial(_printed, layout, side))
            shown += rows
    return said_once(lines, shown)


def _chosen(layout: Layout, dataset: str, rung: Rung) -> Pair:
    """Return the pair that stands for a rung: all have the same numbers, but one may have failed."""

    def n_numbers(pair: Pair) -> int:
        return sum(layout.found[FIRST_SPLIT, dataset, column, layout.metric].status == OK for column in pair)

    return max(rung, key=n_numbers)


def _printed(layout: Layout, side: int, row: TidyRow) -> Cell:
    """Write the paper's numbers of a rung, with its numbers of trees where they are not ours."""
    rung = next(rung for rung in layout.rungs if any(pair[side] == row.model for pair in rung))
    found = [layout.found[FIRST_SPLIT, row.dataset, pair[side], row.metric] for pair in rung]
    printed = {one.model: published_cell(layout.cells, one) for one in found if one.published is not None}
    if not printed or row.condition.endswith(ALL_SPLITS):
        return Cell(NOT_PRINTED, is_word=True)
    trees, real = [printed_trees(layout.cells, column) for column in printed], layout.sizes[row.model]
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
    return " / ".join(printed_trees(layout.cells, column) or "unknown" for column in pair)


def _words(layout: Layout, is_ladder: bool) -> Words:
    cells, sizes = layout.cells, layout.sizes
    bounded = [rung for rung in layout.rungs if is_bounded(cells, rung, sizes)]
    side_of = {column: side for rung in layout.rungs for pair in rung for side, column in enumerate(pair)}

    def label(row: TidyRow) -> str:
        trees = f" of {sizes[row.model]} trees" if sizes[row.model] else ""
        return layout.sides[side_of[row.model]] + trees if is_ladder else cells.label(row.model)

    return Words(
        "pairs",
        cells,
        what=metric_head(layout.metric),
        sides=layout.sides,
        is_ladder=is_ladder,
        bounded={_head(layout, rung): [_printed_head(layout, pair) for pair in rung] for rung in bounded},
        unequal=[_head(layout, rung) for rung in bounded if len({own.total for c in rung[0] if (own := sizes[c])}) > 1],
        kinds=kinds(cells),
        has_shared=bool(shared_splits(cells)),
        level=LEVEL,
        reasons=reasons(cells, (row for row in layout.found.values() if row.metric == layout.metric), label),
    )
