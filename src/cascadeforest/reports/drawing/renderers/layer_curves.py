"""Accuracy, margin ratio and factors of the layers (mddf-fig2a): a line for each model and kind of rows."""

import math
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product
from statistics import fmean
from typing import TypeAlias

import numpy as np
from scipy.stats import spearmanr

from cascadeforest.reports.drawing import Pair, Table, draw, metric_head, metric_label, models, numbered_lines, scaled
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
    lines = []
    for (pair, rows), (part, words) in product(found.items(), PARTS.items()):
        shown = [row for row in rows.values() if row.condition.partition(",")[0] == part]
        size = [f"{cell.n_train if part == TRAIN else cell.n_test:,}" for cell in cells.all(*pair)[:1]]
        lines += numbered_lines(cells, (*cells.labels(*pair), words), shown, "".join(size))
    parts = [_part(cells, dataset, curves, drawn) for dataset in cells.experiment.datasets]
    picture = draw.Picture(parts, legend=True)
    return Table.of(cells, {}, found, (*cells.label_heads, "rows"), heads, lines, "number of rows", picture, drawn)


def _curves(cells: Cells, pair: Pair) -> Curves:
    """Return the numbers at layer 1, 2, ... of each repeat by quantity and part; nothing if the model did not run.

    Training rows have a number for each layer that was grown, test rows only for the layers that the cascade kept.
    """
    runs = {name: cells.arrays(*pair, extra) for name, extra in EXTRAS.items()}
    return {(name, part): [run[part] for run in own] for name, own in runs.items() if own for part in PARTS}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | str:
    """Return Spearman's correlation of two curves, in which infinite values rank last, or why there is none."""
    if len(first) < 3:
        return "fewer than three layers"
    if 1 in (len(set(first)), len(set(second))):
        return "the same at all layers"
    return float(spearmanr(first, second).statistic)


def _facts(cells: Cells, pair: Pair, curves: Curves) -> Iterable[TidyRow]:
    """Yield the numbers of the table: first and last layer, rank correlation of two curves, layers, best layer."""
    row = partial(cells.row, *pair, why_not=NO_MEAN)
    ends = [len(curve) - 1 for curve in curves.get((SCORE, TEST), ())]
    for part in PARTS:
        scores, ratios = (curves.get((name, part), []) for name in EXTRAS)
        for name, runs in (SCORE, scores), (RATIO, ratios):
            yield row(f"{part}, {FIRST}", name, [curve[0] for curve in runs])
            yield row(f"{part}, {END}", name, [curve[end] for curve, end in zip(runs, ends, strict=True)])
        found = list(map(rank_correlation, scores, ratios))
        numbers = [None if isinstance(one, str) else one for one in found]
        yield row(part, "rank_correlation", numbers if any(one is not None for one in numbers) else found)
        yield row(part, "grown_layers" if part == TRAIN else "n_layers", list(map(len, scores)))
        yield row(part, "best_layer", [int(curve.argmax()) + 1 for curve in scores])
    for name, factors in _factors(cells, pair).items():
        for k, values in enumerate(factors, start=1):
            yield row(f"layer {k}", name, values)


def _factors(cells: Cells, pair: Pair) -> Mapping[str, list[list[float | None]]]:
    """Return the factors of each layer in the repeats that have it, and their shares, by metric."""
    runs = cells.arrays(*pair, EXTRA) if EXTRA in cells.experiment.all_extras else []
    return {metric: by_layer([run[name] for run in runs]) for name, metric in FACTORS.items()}


def _drawn(curves: Curves) -> Iterable[tuple[tuple[str, str], Values]]:
    """Yield the numbers of the picture: every layer of every curve."""
    for (name, part), runs in curves.items():
        for k, values in enumerate(by_layer(runs), start=1):
            is_finite = all(value is None or math.isfinite(value) for value in values)
            yield (f"{part}, layer {k}", name), values if is_finite else NO_MEAN


def _part(cells: Cells, dataset: str, curves: Mapping[Pair, Curves], drawn: Mapping[Pair, Found]) -> draw.Part:
    """The panels of one data set, one for each quantity, and the shares of the layers in the sum."""
    found = {column: own for column in cells.experiment.columns if (own := curves[dataset, column])}
    if not found:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    axis = draw.layers_axis(max(len(run) for own in found.values() for runs in own.values() for run in runs))
    marks: dict[str, list[draw.Mark]] = {name: [] for name in EXTRAS}
    for column, own in found.items():
        number = list(cells.experiment.columns).index(column)
        for name, part in own:
            # Kinds of rows differ in line and marker, with one model also in colour.
            colour = draw.look(number if cells.has_models else (part == TEST)).colour
            style = draw.Look(colour, "o", draw.DASHED) if part == TRAIN else draw.Look(colour, "^", draw.SOLID)
            rows = [row for row in drawn[dataset, column].values() if row.condition.startswith(f"{part}, ")]
            rows, scale = [row for row in rows if row.metric == name], float(scaled(name, np.ones(())))
            label = cells.prefix(column) + PARTS[part]
            marks[name].append(models.curve(rows, style, label, scale, hollow=part == TRAIN))
            if part == TRAIN and name == SCORE:
                values, black = means(rows, scale)[0], draw.Look(draw.BLACK)
                best, words = int(np.argmax(values)), "best layer out of fold"
                marks[name].append(draw.points([best + 1], [values[best]], black, words, size=10, ring=True))
            kept = {
                len(run) for run, grown in zip(own[name, part], own[name, TRAIN], strict=True) if run.size < grown.size
            }
            for end in sorted(kept):
                marks[name].append(draw.rule(x=end, label="layer that the cascade ends with", colour=colour))
    panels = [draw.Panel(marks[name], x=axis, y=draw.Axis(metric_head(name))) for name in EXTRAS]
    if EXTRA in cells.experiment.all_extras:
        panels.append(draw.Panel(list(_shares(cells, dataset)), x=axis, y=draw.Axis("share in the sum (%)", (0, 105))))
    return draw.Part([panels], title=cells.sizes(dataset))


def _shares(cells: Cells, dataset: str) -> Iterable[draw.Mark]:
    """Bars of the layers' shares in the sum up to them; a layer that has none gets a cross on the axis."""
    columns = list(cells.experiment.columns)
    for k, column in enumerate(columns):
        runs = _factors(cells, (dataset, column))[FACTORS["shares"]]
        shares = np.array([100 * fmean(share for share in layer if share is not None) for layer in runs])
        at, colour = models.beside(range(1, len(shares) + 1), k, len(columns), 0.8), draw.look(k).colour
        yield draw.bars(at, shares, colour, width=0.8 / len(columns))
        none = shares < 100 * NOTHING
        if none.any():
            look = draw.Look(colour if len(columns) > 1 else draw.ORANGE, "x")
            yield draw.points(at[none], np.full(none.sum(), 2.5), look, "layer with a share of 0", size=5)
