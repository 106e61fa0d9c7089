"""Importances as bars, the largest first: means over repeats (interp-fig1b, interp-fig8).

With the extra `layer_importances` the columns that layer 2 sees: original features, and the sum of the columns that
layer 1 added. With `mdi_df` the original features at the last layer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import Table, common_places, draw, feature_words, mean_text, metric_head, models
from cascadeforest.reports.drawing.lines import number_cell
from cascadeforest.reports.numbers.cells import Cells, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

#: The extra that has the importances at a layer, and its array.
COLUMNS, LAST = "layer_importances", "mdi_df"
EXTRAS: dict[int | str, tuple[str, str]] = {2: (COLUMNS, "columns"), "last": (LAST, "importances")}
#: What is drawn; beside it in the table: shares of the sum, or what was normalised.
MDI, SHARE, RAW = "mdi", "mdi_share", "importance"
#: Original features that have a bar; all others share one.
N_SHOWN = 10
ADDED, OTHERS, SUM = "new features, sum", "other features, sum", "sum over features"
NO_LAYER = "no run kept a second layer"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the layer, whether the bars of a repeat add up to 1, and names of features."""

    layer: Literal[2, "last"]
    normalise: bool = False
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    options = cells.options(Options)
    extra, array = EXTRAS[options.layer]
    found = models.rows_of(cells, extra, MDI, partial(_numbers, array, options))
    told = dict(columns=extra == COLUMNS, normalise=options.normalise)
    metrics = (MDI, RAW if options.normalise else SHARE)
    head = metric_head(MDI) + ", normalised" * options.normalise
    lines = models.lines_of(cells, found, metrics, lambda name, metric: (feature_words(name), metric), "n", _text)
    picture = draw.Picture(models.parts_of(cells, found, partial(_part, head)))
    heads = head, metric_head(metrics[1])
    return Table.of(cells, told, found, (*cells.label_heads, "feature"), heads, lines, "repeats", picture)


def normalised(importances: np.ndarray) -> np.ndarray:
    """Return importances with sum 1 in each line, where negative ones count as 0; zeros where none is positive."""
    clipped = np.maximum(importances, 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.divide(clipped, total, out=np.zeros_like(clipped), where=total > 0)


def _numbers(array: str, options: Options, cells: Cells, pair: Pair, runs: models.Runs) -> models.Numbers:
    kept = [run for run in runs if len(run[array])]
    if not kept:
        return {("", MDI): NO_LAYER}
    n_added = int(kept[0].get("n_added", 0))
    values = np.array([run[array] for run in kept], np.float64)
    n_features = values.shape[1] - n_added
    if n_added:
        values = np.column_stack([values[:, :n_features], values[:, n_features:].sum(axis=1)])
    names = [f"feature {name}" for name in cells.feature_names(pair[0], options.features, n_features)] + [ADDED]
    shares = normalised(values)
    numbers = {MDI: shares, RAW: values} if options.normalise else {MDI: values, SHARE: shares}
    order = [int(k) for k in np.argsort(-numbers[MDI].mean(axis=0), kind="stable")]
    small = [k for k in order if k < n_features][N_SHOWN:]
    small = small if len(small) > 1 else []  # a bar of other features would say less than its own
    bars: dict[tuple[str, str], list[float]] = {}
    for metric, own in numbers.items():
        shown = {names[k]: own[:, k] for k in order if k not in small}
        if small:
            shown[f"{len(small)} {OTHERS}"] = own[:, small].sum(axis=1)
        shown[SUM] = sum(shown.values(), np.zeros(len(kept)))
        bars |= {(name, metric): one.tolist() for name, one in shown.items()}
    return bars


def _text(found: Found) -> Callable[[TidyRow], str]:
    def places(metric: str) -> int:
        return common_places(row.mean for row in found.values() if row.metric == metric and row.condition != SUM)

    return lambda row: number_cell(row).text if row.metric == SHARE else mean_text(row, places(row.metric))


def _part(head: str, cells: Cells, pair: Pair, found: Found) -> draw.Part:
    """The bars of one model on one data set."""
    shown = [row for row in found.values() if row.metric == MDI and row.condition != SUM]
    marks: list[draw.Mark] = []
    for k, row in enumerate(shown):
        colour = draw.ORANGE if row.condition == ADDED else draw.GREY if row.condition.endswith(OTHERS) else draw.BLUE
        values, spreads = means([row])
        marks.append(draw.bars([k], values, colour, errors=spreads, width=0.72, horizontal=True))
        if record := cells.published.record(*pair, MDI, row.condition):
            place = draw.Look(draw.BLACK, "D")
            marks.append(draw.points([float(record.value)], [k], place, "authors' records", size=6, ring=True))
    # A whisker may end below 0 where no importance does.
    is_positive = all(row.mean is not None and row.mean >= 0 for row in shown)
    x = draw.Axis(head, (0, None) if is_positive else None)
    y = draw.Axis(ticks={k: feature_words(row.condition) for k, row in enumerate(shown)}, inverted=True)
    panel = draw.Panel([*marks, *([] if is_positive else [draw.rule(x=0)])], x=x, y=y)
    return draw.Part([[panel]], title=cells.title(*pair, shown[0].n), height=0.45 + 0.22 * len(shown), legend=True)
