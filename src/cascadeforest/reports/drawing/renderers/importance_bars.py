"""Importances as bars, the largest first: means over repeats (interp-fig1b, interp-fig8).

With the extra `layer_importances` the columns that layer 2 sees: original features, and the sum of the columns that
layer 1 added. With `mdi_df` the original features at the last layer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import mean_text, number_cell, numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, common_places, feature_words, metric_head
from cascadeforest.reports.numbers.cells import Cells, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

#: The extra that has the importances at a layer, and its array.
COLUMNS, LAST = "layer_importances", "mdi_df"
EXTRAS: dict[int | str, str] = {2: COLUMNS, "last": LAST}
ARRAYS = {COLUMNS: "columns", LAST: "importances"}
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
    extra = EXTRAS[options.layer]
    cells.need(extra)
    found = {pair: _rows(cells, *pair, extra, options) for pair in cells.pairs}
    rows = tuple(row for own in found.values() for row in own.values())
    facts = []
    for pair in cells.pairs:
        runs = [run[ARRAYS[extra]] for run in cells.arrays(*pair, extra)]
        left_out, negative = sum(not len(run) for run in runs), sum(int((run < 0).sum()) for run in runs)
        largest = _largest(found[pair], SHARE if SHARE in {name for _, name in found[pair]} else MDI)
        told_of = {"left_out": left_out, "negative": negative, "largest": largest}
        facts.append({"name": cells.name(*pair), "n": len(runs), **told_of})
    told = dict(columns=extra == COLUMNS, normalise=options.normalise, facts=facts)
    metrics = (MDI, RAW if options.normalise else SHARE)
    heads = [_head(metric, options) for metric in metrics]
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own, metrics)]
    picture = draw.Picture([_part(cells, *pair, own, _head(MDI, options)) for pair, own in found.items()])
    return Table.of(cells, told, rows, (*cells.label_heads, "feature"), heads, lines, "repeats", picture)


def _largest(found: Found, share: str) -> dict[str, object] | None:
    """Return the name and the share of the largest bar."""
    bars = [row for (name, metric), row in found.items() if metric == share and name != SUM and row.mean is not None]
    if not bars:
        return None
    row = max(bars, key=lambda row: row.number)
    return {"name": feature_words(row.condition), "share": row.number}


def normalised(importances: np.ndarray) -> np.ndarray:
    """Return importances with sum 1 in each line, where negative ones count as 0; zeros where none is positive."""
    clipped = np.maximum(importances, 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.divide(clipped, total, out=np.zeros_like(clipped), where=total > 0)


def _rows(cells: Cells, dataset: str, column: str, extra: str, options: Options) -> Found:
    runs = cells.arrays(dataset, column, extra)
    kept = [run for run in runs if len(run[ARRAYS[extra]])]
    if not kept:
        return {("", MDI): cells.row(dataset, column, "", MDI, NO_LAYER if runs else None)}
    n_added = int(kept[0]["n_added"]) if extra == COLUMNS else 0
    values = np.array([run[ARRAYS[extra]] for run in kept], np.float64)
    n_features = values.shape[1] - n_added
    if n_added:
        values = np.column_stack([values[:, :n_features], values[:, n_features:].sum(axis=1)])
    names = [f"feature {name}" for name in cells.feature_names(dataset, options.features, n_features)] + [ADDED]
    shares = normalised(values)
    numbers = {MDI: shares, RAW: values} if options.normalise else {MDI: values, SHARE: shares}
    order = [int(k) for k in np.argsort(-numbers[MDI].mean(axis=0), kind="stable")]
    small = [k for k in order if k < n_features][N_SHOWN:]
    if len(small) == 1:
        small = []  # a bar of other features would say less than its own
    bars: dict[tuple[str, str], np.ndarray] = {}
    for metric, own in numbers.items():
        shown = {names[k]: own[:, k] for k in order if k not in small}
        if small:
            shown[f"{len(small)} {OTHERS}"] = own[:, small].sum(axis=1)
        shown[SUM] = sum(shown.values(), np.zeros(len(kept)))
        bars |= {(name, metric): one for name, one in shown.items()}
    return {key: cells.row(dataset, column, *key, one.tolist()) for key, one in bars.items()}


def _lines(cells: Cells, dataset: str, column: str, found: Found, metrics: tuple[str, str]) -> Iterable[Row]:
    places = {
        metric: common_places(row.mean for row in found.values() if row.metric == metric and row.condition != SUM)
        for metric in metrics
    }

    def text(row: TidyRow) -> str:
        return number_cell(row).text if row.metric == SHARE else mean_text(row, places[row.metric])

    for name in dict.fromkeys(name for name, _ in found):
        own = [found.get((name, metric), found[name, MDI]) for metric in metrics]
        labels = (*cells.labels(dataset, column), feature_words(name))
        yield from numbered_lines(cells, labels, own, f"{own[0].n or ''}", text)


def _part(cells: Cells, dataset: str, column: str, found: Found, head: str) -> draw.Part:
    """The bars of one model on one data set."""
    if ("", MDI) in found:
        row = found["", MDI]
        return draw.Part(title=cells.name(dataset, column), words=f"{row.status}: {row.note}".removesuffix(": "))
    shown = [row for row in found.values() if row.metric == MDI and row.condition != SUM]
    marks: list[draw.Mark] = []
    for k, row in enumerate(shown):
        colour = draw.ORANGE if row.condition == ADDED else draw.GREY if row.condition.endswith(OTHERS) else draw.BLUE
        values, spreads = means([row])
        marks.append(draw.Bars([k], values, colour, errors=spreads, width=0.72, horizontal=True))
        if record := cells.published.record(dataset, column, MDI, row.condition):
            place = draw.Look(draw.BLACK, "D")
            marks.append(draw.Points([float(record.value)], [k], place, "authors' records", size=6, ring=True))
    # A whisker may end below 0 where no importance does.
    is_positive = all(row.mean is not None and row.mean >= 0 for row in shown)
    x = draw.Axis(head, (0, None) if is_positive else None)
    y = draw.Axis(ticks={k: feature_words(row.condition) for k, row in enumerate(shown)}, inverted=True)
    panel = draw.Panel([*marks, *([] if is_positive else [draw.Rule(x=0)])], x=x, y=y)
    return draw.Part([[panel]], title=cells.title(dataset, column, shown[0].n), height=0.45 + 0.22 * len(shown))


def _head(metric: str, options: Options) -> str:
    return f"{metric_head(metric)}{', normalised' if metric == MDI and options.normalise else ''}"
