"""Accuracy, margin ratio and factors of the layers (mddf-fig2a, mddf-controls): a line for each model and part."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.stats import spearmanr

from cascadeforest.reports.drawing import Pair, Table, draw, metric_head, metric_label, models, numbered_lines
from cascadeforest.reports.numbers.cells import Cells, Values, by_layer, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

SCORE, RATIO = "accuracy", "margin_ratio"
#: The extra whose arrays ``train`` and ``test`` have a quantity.
EXTRAS = {SCORE: "layer_scores", RATIO: "margin_ratios"}
#: Metrics of the arrays of the extra `factors`, which no curve shows.
EXTRA, FACTORS = "factors", {"alphas": "factor", "shares": "factor_share"}
#: A layer with a smaller share of the sum is drawn as a layer with none: a bar of it could not be seen.
NOTHING = 0.0005
TRAIN, TEST = "train", "test"
FIRST, END = "layer 1", "last layer kept"
NO_MEAN = "the mean margin is not positive"
PARTS = {TRAIN: "training rows, out of fold", TEST: "test rows"}
#: Numbers at layer 1, 2, ... of each repeat, by quantity and part.
Curves: TypeAlias = Mapping[tuple[str, str], list[np.ndarray]]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(*EXTRAS.values())
    curves = {pair: _curves(cells, pair) for pair in cells.pairs}
    drawn = models.rows_of(cells, EXTRAS[SCORE], SCORE, lambda _, pair, runs: dict(_drawn(curves[pair])))
    found = {pair: {row.key[2:]: row for row in _facts(cells, pair, own)} for pair, own in curves.items()}
    heads = [f"{metric_head(name)}, {layer}" for name in EXTRAS for layer in (FIRST, END)]
    heads += [f"rank correlation of {' and '.join(map(metric_label, EXTRAS))}", "layers", "best layer"]
    lines, several = [], max(cells.experiment.repeats.values(), default=1) > 1
    for (pair, rows), (part, words) in product(found.items(), PARTS.items()):
        shown = [row for row in rows.values() if row.condition.partition(",")[0] == part]
        size = [f"{cell.n_train if part == TRAIN else cell.n_test:,}" for cell in cells.all(*pair)[:1]]
        sizes = [f"{len(cells.all(*pair))} × {one}" if several else one for one in size]
        lines += numbered_lines(cells, (*cells.labels(*pair), words), shown, "".join(sizes))
    rows_of = {pair: drawn[pair] | rows for pair, rows in found.items()}
    parts = [_part(cells, name, curves, rows_of) for name in cells.experiment.datasets]
    picture = draw.Picture(parts, legend=True, legend_columns=2 if cells.has_models else draw.LEGEND_COLUMNS)
    size_head, told = "repeats × rows" if several else "number of rows", {"found": found}
    return Table.of(cells, told, found, (*cells.label_heads, "rows"), heads, lines, size_head, picture, drawn)


def _curves(cells: Cells, pair: Pair) -> Curves:
    """Return the numbers at layer 1, 2, ... of each repeat by quantity and part; nothing if the model did not run.

    Training rows have a number for each layer that was grown, test rows only for the layers that the cascade kept.
    """
    runs = {name: cells.arrays(*pair, extra) for name, extra in EXTRAS.items()}
    return {(name, part): [run[part] for run in own] for name, own in runs.items() if own for part in PARTS}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | str:
    """Return Spearman's correlation of two curves over the layers where both are finite, or why there is none."""
    first, second = (curve[np.isfinite(first + second)] for curve in (first, second))
    if len(first) < 3:
        return "fewer than three layers"
    if 1 in (len(set(first)), len(set(second))):
        return "the same at all layers"
    return float(spearmanr(first, second).statistic)


def _of_repeats(values: Sequence[float | str | None], why_not: str = "") -> Values:
    """Return the numbers of the repeats, None for one without, or words if none has one."""
    words = [one for one in values if isinstance(one, str)]
    found = [None if isinstance(one, str) or one is None or not math.isfinite(one) else float(one) for one in values]
    return found if not values or any(value is not None for value in found) else words or why_not


def _facts(cells: Cells, pair: Pair, curves: Curves) -> Iterable[TidyRow]:
    """Yield the numbers of the table: first and last layer, rank correlation of two curves, layers, best layer."""
    row, ends = partial(cells.row, *pair), [len(curve) - 1 for curve in curves.get((SCORE, TEST), ())]
    for part in PARTS:
        scores, ratios = (curves.get((name, part), []) for name in EXTRAS)
        for name, runs in (SCORE, scores), (RATIO, ratios):
            both = [(curve[0], curve[end]) for curve, end in zip(runs, ends, strict=True)]
            for k, layer in enumerate((FIRST, END)):
                yield row(f"{part}, {layer}", name, _of_repeats([one[k] for one in both], NO_MEAN))
        shown = len(by_layer(scores))
        found = [rank_correlation(one[:shown], other[:shown]) for one, other in zip(scores, ratios, strict=True)]
        yield row(part, "rank_correlation", _of_repeats(found))
        yield row(part, "grown_layers" if part == TRAIN else "n_layers", list(map(len, scores)))
        yield row(part, "best_layer", [int(curve.argmax()) + 1 for curve in scores])
    factors = cells.arrays(*pair, EXTRA) if EXTRA in cells.experiment.all_extras else []
    for name, metric in FACTORS.items():
        for k, values in enumerate(by_layer([run[name] for run in factors]), start=1):
            yield row(f"layer {k}", metric, values)


def _drawn(curves: Curves) -> Iterable[tuple[tuple[str, str], Values]]:
    """Yield the numbers of the picture: every layer of every curve."""
    for (name, part), runs in curves.items():
        for k, values in enumerate(by_layer(runs), start=1):
            yield (f"{part}, layer {k}", name), _of_repeats(values, NO_MEAN)


def _part(cells: Cells, dataset: str, curves: Mapping[Pair, Curves], rows_of: Mapping[Pair, Found]) -> draw.Part:
    """The panels of one data set, one for each quantity, and the shares of the layers in the sum."""
    found = {column: own for column in cells.experiment.columns if (own := curves[dataset, column])}
    if not found:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    axis = draw.layers_axis(max(len(run) for own in found.values() for runs in own.values() for run in runs))
    marks: dict[str, list[draw.Mark]] = {name: [] for name in EXTRAS}
    for column, own in found.items():
        number, of_mean = list(cells.experiment.columns).index(column), "mean " * (len(own[SCORE, TRAIN]) > 1)
        for name, part in own:
            # Kinds of rows differ in line and marker, with one model also in colour.
            colour = draw.look(number if cells.has_models else (part == TEST)).colour
            style = draw.Look(colour, "o", draw.DASHED) if part == TRAIN else draw.Look(colour, "^", draw.SOLID)
            every, scale = rows_of[dataset, column].items(), 100.0 if name == SCORE else 1.0
            rows = [row for (words, metric), row in every if metric == name and words.startswith(f"{part}, layer ")]
            label = cells.prefix(column) + PARTS[part]
            marks[name].append(models.curve(rows, style, label, scale, hollow=part == TRAIN))
            if part == TRAIN and name == SCORE:
                values, black = means(rows, scale)[0], draw.Look(draw.BLACK)
                best, words = int(np.argmax(values)), f"best {of_mean or 'layer '}out of fold"
                marks[name].append(draw.points([best + 1], [values[best]], black, words, size=10, ring=True))
            both = zip(own[name, part], own[name, TRAIN], strict=True)
            for end in sorted({len(run) for run, grown in both if len(run) < len(grown)}):
                marks[name].append(draw.rule(x=end, label="layer that the cascade ends with", colour=colour))
    panels = [draw.Panel(marks[name], x=axis, y=draw.Axis(metric_head(name))) for name in EXTRAS]
    if EXTRA in cells.experiment.all_extras:
        shares = list(_shares(cells, dataset, rows_of))
        panels.append(draw.Panel(shares, x=axis, y=draw.Axis("share in the sum (%)", (0, 105))))
    several = f", {n} repeats" if (n := max(len(own[SCORE, TRAIN]) for own in found.values())) > 1 else ""
    return draw.Part([panels], title=cells.sizes(dataset) + several)


def _shares(cells: Cells, dataset: str, rows_of: Mapping[Pair, Found]) -> Iterable[draw.Mark]:
    """Bars of the layers' shares in the sum up to them; a layer that has none gets a cross on the axis."""
    columns = list(cells.experiment.columns)
    for k, column in enumerate(columns):
        rows = [row for row in rows_of[dataset, column].values() if row.metric == FACTORS["shares"]]
        shares, spreads = means(rows, 100)
        at, colour = models.beside(range(1, len(shares) + 1), k, len(columns), 0.8), draw.look(k).colour
        yield draw.bars(at, shares, colour, errors=spreads, width=0.8 / len(columns))
        none = np.array(shares) < 100 * NOTHING
        if none.any():
            look = draw.Look(colour if len(columns) > 1 else draw.ORANGE, "x")
            yield draw.points(at[none], np.full(none.sum(), 2.5), look, "layer with a share of 0", size=5)
