"""Maps of predictions and contributions, below the target and the error by layer (interp-fig3, interp-fig4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import Row, Table, numbered_lines, panels
from cascadeforest.reports.drawing.panels import Axis, Panel, Part
from cascadeforest.reports.numbers.cells import PLACES, Cells, by_layer, means
from cascadeforest.reports.numbers.frame import TidyRow

EXTRA, SCORES = "contributions", "layer_scores"
TARGET, PREDICTION, CONTRIBUTION, SIZE = "target", "prediction", "contribution", "contribution_size"
#: Where the arrays have rows of a kind.
PARTS = {"held-out training rows": "train", "test rows": "test"}
FEATURES = ("feature x1", "feature x2", "other features")
Layer = Literal["first", "last"]
#: The CSV has means over so many by so many squares of a map; single points would be tens of thousands of lines.
N_SQUARES = 5
ERRORS = {"rmse": "RMSE", "accuracy": "error (%)"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the layers that are drawn."""

    layers: tuple[Layer] | tuple[Layer, Layer]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA, SCORES)
    layers = cells.options(Options).layers
    frame, rows = _maps(cells, layers), tuple(_facts(cells, layers))
    told = dict(layers=layers, n_squares=N_SQUARES)
    features = [feature for feature in FEATURES if feature in set(frame.feature)]
    heads = [f"{ERRORS[cells.experiment.metrics[0]]}, {part}" for part in PARTS]
    heads += [f"mean size of the contribution of {feature}" for feature in features]
    lines, label_heads = _lines(cells, rows, layers, features), (*cells.label_heads, "layer")
    picture = panels.Picture([part for name in cells.experiment.datasets for part in _parts(cells, name, frame)])
    drawn = _drawn(cells, frame)
    return Table.of(cells, told, rows, label_heads, heads, lines, picture=picture, drawn=drawn)


def grid_places(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the values of two features and the row at each place (x2 along the first axis), or None: no grid."""
    (x, column), (y, line) = (np.unique(X[:, k], return_inverse=True) for k in (0, -1))
    rows = np.full((len(y), len(x)), -1)
    rows[line, column] = np.arange(len(X))
    return (x, y, rows) if rows.size == len(X) and (rows >= 0).all() and X.shape[1] == 2 else None


def square_means(values: np.ndarray, n: int = N_SQUARES) -> np.ndarray:
    """Return the means over n by n squares of a map, as equal as can be; fewer where the map has fewer lines."""
    lines, columns = (np.array_split(np.arange(size), min(n, size)) for size in values.shape)
    return np.array([[values[np.ix_(i, j)].astype(float).mean() for j in columns] for i in lines])


def _contributions(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the contributions of `FEATURES` (layers, rows, outputs); without `other features` if there are none."""
    values = arrays["contributions"]
    parts = values[:, :, 0], values[:, :, 1], values[:, :, 2:].sum(axis=2)
    return dict(zip(FEATURES[: int(arrays["n_features"])], parts, strict=False))


def _maps(cells: Cells, layers: Sequence[str]) -> pd.DataFrame:
    """Return a row for each map of the first repeat: the target of a regression, predictions, contributions.

    `output` is a class (nothing in a regression), `x` and `y` are the values of the features on the grid, and `array`
    is the map with y along its first axis.
    """
    columns = ["dataset", "model", "x", "y", "layer", "output", "feature", "metric", "array"]
    found: list[tuple[object, ...]] = []
    for pair in filter(lambda pair: cells.all(*pair), cells.pairs):
        arrays = cells.first_arrays(*pair, EXTRA)
        if (grid := grid_places(arrays["X_test"])) is None:
            place = f"{cells.experiment.place}/datasets has {pair[0]}"
            raise ConfigError(f"{place}, whose test rows are no grid in two features; take one that has such rows.")
        *axes, rows = grid
        outputs = [f"class {cells.class_name(pair[0], code)}" for code in range(arrays["predictions"].shape[-1])]
        if len(outputs) == 1:
            outputs = [""]
            found.append((*pair, *axes, "", "", "", TARGET, arrays["y_test"][rows]))
        shown = {"": arrays["predictions"]} | _contributions(arrays)
        for layer, (c, output), (feature, values) in product(layers, enumerate(outputs), shown.items()):
            head = *pair, *axes, layer, output, feature, CONTRIBUTION if feature else PREDICTION
            found.append((*head, values[PLACES[layer]][rows, c]))
    return pd.DataFrame(found, columns=columns)


def _layer_errors(cells: Cells, pair: Pair) -> tuple[str, dict[str, list[np.ndarray]]]:
    """Return the metric, and the errors by layer of each repeat, of held-out training rows and of test rows."""
    repeats, is_rmse = cells.arrays(*pair, SCORES), "rmse" in cells.experiment.metrics
    runs = {part: [one[name] if is_rmse else 1 - one[name] for one in repeats] for part, name in PARTS.items()}
    return "rmse" if is_rmse else "error_rate", runs


def _curve(cells: Cells, pair: Pair, part: str) -> list[TidyRow]:
    """Return the mean error of each layer that at least half of the repeats have."""
    metric, runs = _layer_errors(cells, pair)
    layers = enumerate(by_layer(runs[part]), start=1)
    return [cells.row(*pair, f"{part}, layer {k}", metric, list(map(float, values))) for k, values in layers]


def _facts(cells: Cells, layers: Sequence[str]) -> Iterable[TidyRow]:
    """Yield the numbers of the table: errors and mean sizes of contributions, of each repeat at its own last layer."""
    for pair in cells.pairs:
        repeats, (metric, runs) = cells.arrays(*pair, EXTRA), _layer_errors(cells, pair)
        if not repeats:
            yield cells.row(*pair, "", PREDICTION, None)
        for layer in layers if repeats else ():
            k = PLACES[layer]
            for part, curves in runs.items():
                values = [float(one[arrays["layers"][k] - 1]) for one, arrays in zip(curves, repeats, strict=True)]
                yield cells.row(*pair, f"{part}, {layer} layer", metric, values)
            parts = [_contributions(arrays) for arrays in repeats]
            for feature in parts[0]:
                sizes = [float(f"{np.abs(one[feature][k].astype(float)).mean():.6g}") for one in parts]
                yield cells.row(*pair, f"{layer} layer, {feature}", SIZE, sizes)


def _drawn(cells: Cells, frame: pd.DataFrame) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: errors by layer, and the means over squares of each map."""
    for pair in cells.pairs:
        own = frame[(frame.dataset == pair[0]) & (frame.model == pair[1])]
        if own.empty:
            yield cells.row(*pair, "", PREDICTION, None)
        for part in PARTS:
            yield from _curve(cells, pair, part)
        for one in own.itertuples():
            where = [f"{one.layer} layer" if one.layer else "", one.output, one.feature]
            for (i, j), mean in np.ndenumerate(square_means(one.array)):
                condition = ", ".join(filter(None, [*where, f"square {j + 1} {i + 1}"]))
                # Maps are stored in single precision: more digits would be of no meaning.
                yield cells.row(*pair, condition, one.metric, float(f"{mean:.6g}"))


def _lines(cells: Cells, rows: Sequence[TidyRow], layers: Sequence[str], features: Sequence[str]) -> Iterable[Row]:
    found = {row.key[:3]: row for row in rows}
    for pair in cells.pairs:
        if missing := found.get((*pair, "")):
            yield from numbered_lines(cells, (*cells.labels(*pair), ""), [missing] * (len(PARTS) + len(features)))
        for layer in () if missing else layers:
            reached = [arrays["layers"][PLACES[layer]] for arrays in cells.arrays(*pair, EXTRA)]
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
        if rows := _curve(cells, (dataset, column), part):
            values, spreads = means(rows, 100 if rows[0].metric == "error_rate" else 1)
            colour = panels.look(number if cells.has_models else k).colour
            style = panels.Look(colour, "o^"[k], (panels.DASHED, panels.SOLID)[k])
            layers, label = range(1, len(rows) + 1), cells.prefix(column) + part
            marks.append(panels.Line(layers, values, style, label, spreads, hollow=k == 0))
    x, y = Axis("layer", ticks="whole"), Axis(limits=(0, None))
    return Panel(marks, f"{ERRORS[cells.experiment.metrics[0]]} by layer", x, y, legend="best", width=1.5)
