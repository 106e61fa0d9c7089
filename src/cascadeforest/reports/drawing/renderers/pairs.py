"""Two columns side by side, and their difference below: a column of the table for each pair (ddbf-table3, -table4).

``options: {pairs: [[first, second], ...], sides: [words, words]}``: the columns of a pair stand in lines that `sides`
names. Without `sides` the pairs are rungs of a ladder, named by the numbers of trees that their models really have:
suites bound them. Shown are the repeats of the first split of each data set, and below them the repeats of all splits;
all repeats at once where each has its own split.
"""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias, cast

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cell, Table, metric_head, numbered_lines, published_cell, reasons, said_once
from cascadeforest.reports.drawing.folded import told_of
from cascadeforest.reports.drawing.lines import NOT_PRINTED, Lines
from cascadeforest.reports.numbers import scores
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import Difference, difference
from cascadeforest.reports.numbers.frame import Key, TidyRow
from cascadeforest.reports.numbers.metrics import known_metric
from cascadeforest.reports.numbers.splits import ALL_SPLITS, FIRST_SPLIT, kinds, parts

TREES, LAYERS = "n_estimators", "max_layers"
#: Two columns that are compared.
Pair: TypeAlias = tuple[str, str]
#: What labels of models say of the number of trees: true only where the suite does not bound it.
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

    def __str__(self) -> str:
        """Write the size as in conditions of the tidy rows: ``50``, ``3 × 17``."""
        return f"{self.trees:,}" if self.layers is None else f"{self.layers} × {self.trees:,}"


#: Sizes of the columns of a ladder, with the bounds of the suite; None without a run, and where columns are no rungs.
Sizes: TypeAlias = Mapping[str, Size | None]


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment = cells.experiment
    metric, options = scores.compared_metric(experiment), cells.options(Options)
    pairs, is_ladder = options.pairs, not options.sides
    named = [column for pair in pairs for column in pair]
    scores.check_once(cells, "pairs", named)
    if alone := [column for column in experiment.columns if column not in named]:
        raise ConfigError(f"{experiment.place}/options/pairs lacks {', '.join(alone)}: give each column a partner.")
    sizes = {column: _size(cells, column) if is_ladder else None for column in named}
    compared = {part: list(_differences(cells, pairs, metric, part)) for part in (FIRST_SPLIT, ALL_SPLITS)}
    found = dict(_numbers(cells, pairs, sizes, compared))
    words = [[_NUMBER.sub("", cells.label(pair[side])) for pair in pairs] for side in (0, 1)]
    sides = options.sides or tuple(", ".join(dict.fromkeys(own)) for own in words)
    heads = [_head(cells, sizes, pair) if is_ladder else cells.label(pair[0]) for pair in pairs]

    def label(row: TidyRow) -> str:
        trees = f" of {sizes[row.model]} trees" if sizes[row.model] else ""
        return sides[named.index(row.model) % 2] + trees if is_ladder else cells.label(row.model)

    told = dict(
        what=metric_head(metric),
        sides=sides,
        is_ladder=is_ladder,
        kinds=kinds(cells),
        reasons=reasons(cells, (row for row in found.values() if row.metric == metric), label),
        intervals=told_of([one for part in compared.values() for one in part]),
    )
    lines = []
    for dataset in experiment.datasets:
        lines += said_once(_lines(cells, dataset, pairs, sides, sizes, found))
    return Table.of(cells, told, found.values(), ("data set", "model" if is_ladder else "trained"), heads, lines)


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
    trees, _, rest = cells.published.place(column)[1].partition(" trees")
    return trees if trees.isdigit() and not rest else ""


def _head(cells: Cells, sizes: Sizes, pair: Pair) -> str:
    """Write the numbers of trees of a rung; the paper's if none of its models is in the suite."""
    own = [sizes[column] for column in pair]
    if not any(own):
        return f"{' / '.join(_printed_trees(cells, column) or 'unknown' for column in pair)} (paper)"
    total = f" = {own[1].trees * own[1].layers:,}" if own[1] is not None and own[1].layers else ""
    return " / ".join(str(one or "unknown") for one in own) + total


def _numbers(
    cells: Cells, pairs: Iterable[Pair], sizes: Sizes, compared: Mapping[str, list[Difference]]
) -> Iterable[tuple[Key, TidyRow]]:
    """Yield a row for each column and each pair's difference by part; conditions have real numbers of trees."""
    partner = {second: first for first, second in pairs}
    metric, columns = cells.experiment.metrics[0], cells.experiment.columns
    for part, chosen in parts(cells).items():
        is_first = part == FIRST_SPLIT
        places = itertools.product(chosen.items(), columns)
        rows = [scores.score(cells, data, column, metric, repeats=own) for (data, own), column in places]
        for row in [*rows, *(one.row for one in compared[part])]:
            names = [row.model, partner[row.model]] if row.condition else [row.model]
            trees = " and ".join(str(sizes[name]) for name in names if sizes[name])
            words = [row.condition, f"{trees} trees" if trees else "", "" if is_first else ALL_SPLITS]
            row = replace(row, condition=", ".join(filter(None, words)))
            row = row if is_first else replace(row, published=None, published_std=None)
            yield (part, row.dataset, row.model, row.metric), row


def _differences(cells: Cells, pairs: Iterable[Pair], metric: str, part: str) -> Iterable[Difference]:
    """Yield the differences of a part: on the first split, where several repeats share it, seeds are what varies."""
    for dataset, repeats in parts(cells)[part].items():
        for first, second in pairs:
            yield difference(cells, dataset, second, first, metric, repeats or None, "given" if repeats else None)


def _lines(
    cells: Cells, dataset: str, pairs: Iterable[Pair], sides: Iterable[str], sizes: Sizes, found: Mapping[Key, TidyRow]
) -> Iterable[Lines]:
    metric = cells.experiment.metrics[0]
    of_pair = f"{metric}_difference"
    words = "difference (points)" if known_metric(metric).percent else "difference"
    named = [*((own, side, metric) for side, own in enumerate(sides)), (words, 1, of_pair)]
    present = [part for part in (FIRST_SPLIT, ALL_SPLITS) if any(key[:2] == (part, dataset) for key in found)]
    for part in present:
        for words, side, name in named:
            rows = [found[part, dataset, pair[side], name] for pair in pairs]
            labels = (dataset, f"{words}, {part}" if len(present) > 1 else words)
            yield numbered_lines(cells, labels, rows, printed=partial(_printed, cells, sizes)), rows


def _printed(cells: Cells, sizes: Sizes, row: TidyRow) -> Cell:
    """Write the paper's number, with its number of trees where it is not ours."""
    if row.published is None:
        return NOT_PRINTED
    cell, real, trees = published_cell(cells, row), sizes[row.model], _printed_trees(cells, row.model)
    is_same = row.metric not in cells.experiment.metrics or real is None or trees in ("", str(real.trees))
    return cell if is_same else replace(cell, text=f"{cell.text} ({trees} trees)")
