"""Numbers at each layer (mddf-fig2a): a panel for each quantity, a line for each model and kind of rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, metric_head, scaled
from cascadeforest.reports.drawing.words import Words, metric_label
from cascadeforest.reports.numbers import layer_curves as numbers
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.layer_curves import END, FIRST, TEST, TRAIN, Options

PARTS = {TRAIN: "training rows, out of fold", TEST: "test rows"}


def render(cells: Cells) -> Table:
    """Make picture and table."""
    names = cells.options(Options).curves
    frame = numbers.curves(cells, names)
    rows = list(numbers.facts(cells, frame, names))
    words = Words("layer_curves", cells, names=names, rows=rows)
    heads = [f"{metric_head(name)}, {layer}" for name in names for layer in (FIRST, END)]
    heads += [f"rank correlation of {' and '.join(map(metric_label, names))}"] if len(names) == 2 else []
    heads += ["layers", *(["best layer"] if set(names) & METRICS.keys() else [])]
    picture = draw.Picture([_part(cells, dataset, frame, names) for dataset in cells.experiment.datasets], legend=True)
    lines, label_heads, shown = _lines(cells, rows), (*cells.label_heads, "rows"), numbers.drawn(cells, frame, names)
    return Table.of(cells, words, rows, label_heads, heads, lines, "number of rows", picture, shown)


def _lines(cells: Cells, rows: list[TidyRow]) -> Iterable[Row]:
    for dataset, column in cells.pairs:
        for part, words in PARTS.items():
            key = (dataset, column, part)
            shown = [row for row in rows if (row.dataset, row.model, row.condition.partition(",")[0]) == key]
            size = [f"{cell.n_train if part == TRAIN else cell.n_test:,}" for cell in cells.all(dataset, column)[:1]]
            yield from numbered_lines(cells, (*cells.labels(dataset, column), words), shown, "".join(size))


def _part(cells: Cells, dataset: str, frame: pd.DataFrame, names: tuple[str, ...]) -> draw.Part:
    """The panels of one data set, one for each quantity."""
    own = frame[frame.dataset == dataset]
    if own.empty:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    axis = draw.layers_axis(own.layer.max())
    marks = {name: list(_marks(cells, own[own.quantity == name], name)) for name in names}
    panels = [draw.Panel(marks[name], x=axis, y=draw.Axis(metric_head(name))) for name in names]
    return draw.Part([panels], title=cells.sizes(dataset))


def _marks(cells: Cells, frame: pd.DataFrame, name: str) -> Iterable[draw.Mark]:
    """Lines of the models: kinds of rows differ in line and marker, with one model also in colour."""
    for (column, part), curve in frame.groupby(["model", "part"], sort=False):
        number = list(cells.experiment.columns).index(column)
        colour = draw.look(number if cells.has_models else (part == TEST)).colour
        values = scaled(name, np.where(np.isfinite(curve.value), curve.value, np.nan))
        style = draw.Look(colour, "o", draw.DASHED) if part == TRAIN else draw.Look(colour, "^", draw.SOLID)
        yield draw.Line(curve.layer, values, style, cells.prefix(column) + PARTS[part], hollow=part == TRAIN)
        if part == TRAIN and name in METRICS:
            best, style = numbers.best_layer(curve, name), draw.Look(draw.BLACK)
            yield draw.Points([best], [values[best - 1]], style, "best layer out of fold", size=10, ring=True)
        if part == TEST and len(curve) < frame[frame.model == column].layer.max():
            yield draw.Rule(x=len(curve), label="layer that the cascade ends with", colour=colour)
