"""Maps of predictions and contributions, below the target and the error by layer (interp-fig3, interp-fig4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from cascadeforest.reports.drawing import panels
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.panels import Axis, Panel, Part
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, scaled
from cascadeforest.reports.drawing.words import Words
from cascadeforest.reports.numbers import contribution_maps as numbers
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.contribution_maps import CONTRIBUTION, EXTRA, FEATURES, PARTS, PREDICTION, TARGET
from cascadeforest.reports.numbers.frame import TidyRow

ERRORS = {"rmse": "RMSE", "accuracy": "error (%)"}


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA, numbers.SCORES)
    layers = cells.options(numbers.Options).layers
    frame, rows = numbers.maps(cells, layers), tuple(numbers.facts(cells, layers))
    words = Words("contribution_maps", cells, layers=layers, n_squares=numbers.N_SQUARES)
    features = [feature for feature in FEATURES if feature in set(frame.feature)]
    heads = [f"{ERRORS[cells.experiment.metrics[0]]}, {part}" for part in PARTS]
    heads += [f"mean size of the contribution of {feature}" for feature in features]
    lines, label_heads = _lines(cells, rows, layers, features), (*cells.label_heads, "layer")
    picture = panels.Picture([part for name in cells.experiment.datasets for part in _parts(cells, name, frame)])
    drawn = numbers.drawn(cells, frame)
    return Table.of(cells, words, rows, label_heads, heads, lines, picture=picture, drawn=drawn)


def _lines(cells: Cells, rows: Sequence[TidyRow], layers: Sequence[str], features: Sequence[str]) -> Iterable[Row]:
    found = {row.key[:3]: row for row in rows}
    for pair in cells.pairs:
        if missing := found.get((*pair, "")):
            yield from numbered_lines(cells, (*cells.labels(*pair), ""), [missing] * (len(PARTS) + len(features)))
        for layer in () if missing else layers:
            reached = [arrays["layers"][numbers.PLACES[layer]] for arrays in cells.arrays(*pair, EXTRA)]
            label = f"{layer} ({' to '.join(map(str, sorted({min(reached), max(reached)})))})"
            places = [f"{part}, {layer} layer" for part in PARTS] + [f"{layer} layer, {name}" for name in features]
            yield from numbered_lines(cells, (*cells.labels(*pair), label), [found.get((*pair, at)) for at in places])


def _parts(cells: Cells, dataset: str, frame: pd.DataFrame) -> Iterable[Part]:
    """What all models share, then the maps of each model: a row of panels for each class, in it those of each layer."""
    own = frame[(frame.dataset == dataset) & (frame.feature != FEATURES[2])]
    if own.empty:
        yield Part(title=dataset, words=cells.reasons(dataset))
        return
    # Maps of one kind have one scale of colours.
    values = np.concatenate([array.ravel() for array in own[own.metric != CONTRIBUTION].array])
    largest = max(np.abs(array).max() for array in own[own.metric == CONTRIBUTION].array)
    limits = {False: (values.min(), values.max()), True: (-largest, largest)}
    targets = [_map(one, limits) for one in own[own.metric == TARGET].itertuples()]
    yield Part([[targets[0] if targets else _training_rows(cells, own), _errors(cells, dataset)]], title=dataset)
    n = cells.experiment.repeats[dataset]
    for column, label in cells.experiment.labels.items():
        maps = own[(own.model == column) & (own.metric != TARGET)]
        if maps.empty:
            yield Part(title=label, words=cells.reason(dataset, column))
            continue
        outputs = [maps[maps.output == output] for output in maps.output.unique()]
        rows = [[_map(one, limits, k == 0) for one in output.itertuples()] for k, output in enumerate(outputs)]
        places = [(i, j) for j in range(len(rows[0])) for i in range(len(rows))]
        # The first place gives the colours: on the left a prediction, on the right, from the end, a contribution.
        half = len(rows) * (len(rows[0]) // 2)
        bars = [panels.ColourBar(places[:half], PREDICTION), panels.ColourBar(places[half:][::-1], CONTRIBUTION)]
        title = f"{label}, first of {n} repeats" if n > 1 else label
        yield Part(rows, title, height=0.75 + 0.9 / len(rows), bars=bars, shared=True)


def _map(one: Any, limits: Mapping[bool, tuple[float, float]], titled: bool = True) -> Panel:
    """A row of the frame of maps as a panel."""
    is_contribution = one.metric == CONTRIBUTION
    colours = "RdBu_r" if is_contribution else "cividis"
    mark = panels.Map(one.array, one.x, one.y, colours, limits[is_contribution])
    title = "\n".join(filter(None, [one.layer and f"{one.layer} layer", one.feature or one.metric]))
    return Panel([mark], title if titled else "", Axis("x1"), Axis("\n".join(filter(None, [one.output, "x2"]))))


def _training_rows(cells: Cells, frame: pd.DataFrame) -> Panel:
    arrays = cells.first_arrays(frame.dataset.iloc[0], frame.model.iloc[0], EXTRA)
    marks = panels.class_points(arrays["X_train"], arrays["y_train"], dict(enumerate(frame.output.unique())))
    return Panel(marks, "training rows", Axis("x1"), Axis("x2"), legend="right", equal=True, grid=False)


def _errors(cells: Cells, dataset: str) -> Panel:
    """Errors by layer: kinds of rows differ in line and marker, with one model also in colour."""
    marks = []
    for (number, column), (k, part) in product(enumerate(cells.experiment.columns), enumerate(PARTS)):
        if rows := numbers.curve(cells, (dataset, column), part):
            means, spreads = scaled(rows[0].metric, np.array([(row.mean, row.std or 0.0) for row in rows])).T
            colour = panels.look(number if cells.has_models else k).colour
            style = panels.Look(colour, "o^"[k], (panels.DASHED, panels.SOLID)[k])
            layers, spread = np.arange(1, len(rows) + 1), spreads if spreads.any() else None
            marks.append(panels.Line(layers, means, style, cells.prefix(column) + part, spread, hollow=k == 0))
    x, y = Axis("layer", ticks="whole"), Axis(limits=(0, None))
    return Panel(marks, f"{ERRORS[cells.experiment.metrics[0]]} by layer", x, y, legend="best", width=1.5)
