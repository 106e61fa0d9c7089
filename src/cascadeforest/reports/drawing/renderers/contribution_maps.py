"""Maps of predictions and contributions, below the target and the error by layer (interp-fig3, interp-fig4)."""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Pair, Table, TidyRow, draw, models
from cascadeforest.reports.drawing.panels import Axis, Panel, Part
from cascadeforest.reports.numbers.cells import PLACES, Cells, Values, by_layer

EXTRA, SCORES = "contributions", "layer_scores"
TARGET, PREDICTION, CONTRIBUTION, SIZE = "target", "prediction", "contribution", "contribution_size"
SHARES, CONSTANT = ("own_share", "other_share", "joint_share"), "constant"
#: Where the arrays have rows of a kind.
PARTS = {"held-out training rows": "train", "test rows": "test"}
FEATURES = ("feature x1", "feature x2", "other features")
#: The CSV has means over so many by so many squares of a map; single points would be tens of thousands of lines.
N_SQUARES = 5
ERRORS = {"rmse": "RMSE", "accuracy": "error (%)"}


class Map(NamedTuple):
    """A map of the first repeat: `values` with y along the first axis; `output` is a class, empty in a regression."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    metric: str
    layer: str = ""
    output: str = ""
    feature: str = ""


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(SCORES, EXTRA)
    maps = {pair: list(_maps(cells, pair)) for pair in cells.pairs}
    found = models.rows_of(cells, EXTRA, PREDICTION, _numbers)
    features = [name for name in FEATURES if any(one.feature == name for own in maps.values() for one in own)]
    heads = [f"{ERRORS[cells.experiment.metrics[0]]}, {part}" for part in PARTS]
    heads += [f"mean size of the contribution of {feature}" for feature in features]
    heads += [f"variance of the contribution of {x} that {x} alone explains (%)" for x in ("x1", "x2")[: len(features)]]
    shown = [*PARTS, *features, *(f"{feature}, {SHARES[0]}" for feature in features[:2])]
    lines = [models.lines_of(cells, {pair: found[pair]}, shown, partial(_place, cells, pair), None) for pair in found]
    picture = draw.Picture([part for name in cells.experiment.datasets for part in _parts(cells, name, maps)])
    told, label_heads = dict(n_squares=N_SQUARES), (*cells.label_heads, "layer")
    return Table.of(cells, told, found, label_heads, heads, chain(*lines), picture=picture, drawn=_drawn(cells, maps))


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


def variance_shares(values: np.ndarray, other: int) -> tuple[float, ...]:
    """Return shares of a map's variance, (x2, x1, outputs): of means over an axis, the rest, and what no means have."""
    if not np.ptp(values, axis=(0, 1)).any():
        return ()
    centred = values - values.mean(axis=(0, 1))
    alone = [np.sum(centred.mean(axis=k) ** 2) * values.shape[k] / np.sum(centred**2) for k in (0, 1)]
    return tuple(float(f"{max(one, 0.0):.6g}") for one in (alone[other], 1 - alone[other], 1 - sum(alone)))


def _contributions(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the contributions of `FEATURES` (layers, rows, outputs); without `other features` if there are none."""
    values = arrays["contributions"]
    parts = values[:, :, 0], values[:, :, 1], values[:, :, 2:].sum(axis=2)
    return dict(zip(FEATURES[: int(arrays["n_features"])], parts, strict=False))


def _maps(cells: Cells, pair: Pair) -> Iterable[Map]:
    """Yield the target of a regression, predictions and contributions."""
    if not (arrays := cells.first_arrays(*pair, EXTRA)):
        return
    if (grid := grid_places(arrays["X_test"])) is None:
        place = f"{cells.experiment.place}/datasets has {pair[0]}"
        raise ConfigError(f"{place}, whose test rows are no grid in two features; take one that has such rows.")
    x, y, rows = grid
    outputs = [f"class {cells.class_name(pair[0], code)}" for code in range(arrays["predictions"].shape[-1])]
    if len(outputs) == 1:
        outputs = [""]
        yield Map(x, y, arrays["y_test"][rows], TARGET)
    shown = {"": arrays["predictions"]} | _contributions(arrays)
    for layer, (c, output), (feature, values) in product(PLACES, enumerate(outputs), shown.items()):
        kind = CONTRIBUTION if feature else PREDICTION
        yield Map(x, y, values[PLACES[layer]][rows, c], kind, layer, output, feature)


def _layer_errors(cells: Cells, pair: Pair) -> tuple[str, dict[str, list[np.ndarray]]]:
    """Return the metric, and the errors by layer of each repeat, of held-out training rows and of test rows."""
    repeats, is_rmse = cells.arrays(*pair, SCORES), "rmse" in cells.experiment.metrics
    runs = {part: [one[name] if is_rmse else 1 - one[name] for one in repeats] for part, name in PARTS.items()}
    return "rmse" if is_rmse else "error_rate", runs


def _curve(cells: Cells, pair: Pair, part: str) -> list[TidyRow]:
    """Return the mean error of each layer that at least half of the repeats have."""
    metric, runs = _layer_errors(cells, pair)
    layers = [[one if one is None else float(one) for one in values] for values in by_layer(runs[part])]
    return [cells.row(*pair, f"{part}, layer {k}", metric, values) for k, values in enumerate(layers, start=1)]


def _numbers(cells: Cells, pair: Pair, repeats: models.Runs) -> models.Numbers:
    """Return errors and mean sizes of contributions, of each repeat at its own last layer."""
    found: dict[tuple[str, str], Values] = {}
    metric, runs = _layer_errors(cells, pair)
    parts, grids = [*map(_contributions, repeats)], [grid[2] for run in repeats if (grid := grid_places(run["X_test"]))]
    for layer, k in PLACES.items():
        for part, curves in runs.items():
            values = [float(one[arrays["layers"][k] - 1]) for one, arrays in zip(curves, repeats, strict=True)]
            found[f"{part}, {layer} layer", metric] = values
        for feature in parts[0]:
            sizes = [float(f"{np.abs(one[feature][k].astype(float)).mean():.6g}") for one in parts]
            found[f"{layer} layer, {feature}", SIZE] = sizes
        for axis, feature in enumerate(FEATURES[:2]):
            maps = [one[feature][k][rows].astype(float) for one, rows in zip(parts, grids, strict=True)]
            own = [variance_shares(one, axis) for one in maps]
            for j, name in enumerate(SHARES):
                every = [shares[j] if shares else None for shares in own]
                found[f"{layer} layer, {feature}", name] = every if any(own) else CONSTANT
    return found


def _place(cells: Cells, pair: Pair, condition: str, metric: str) -> tuple[str, str]:
    """Return the layer with its numbers among the repeats, and what the column shows."""
    layer, what = condition.split(", ")[:: -1 if condition.endswith(" layer") else 1]
    name = layer.removesuffix(" layer")
    reached = [arrays["layers"][PLACES[name]] for arrays in cells.arrays(*pair, EXTRA)]
    what += f", {metric}" * (metric in SHARES)
    return f"{name} ({' to '.join(map(str, sorted({min(reached), max(reached)})))})", what


def _drawn(cells: Cells, maps: Mapping[Pair, list[Map]]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: errors by layer, and the means over squares of each map."""
    for pair, own in maps.items():
        if not own:
            yield cells.row(*pair, "", PREDICTION, None)
        for part in PARTS:
            yield from _curve(cells, pair, part)
        for one in own:
            where = [one.layer and f"{one.layer} layer", one.output, one.feature]
            for (i, j), mean in np.ndenumerate(square_means(one.values)):
                condition = ", ".join(filter(None, [*where, f"square {j + 1} {i + 1}"]))
                # Maps are stored in single precision: more digits would be of no meaning.
                yield cells.row(*pair, condition, one.metric, float(f"{mean:.6g}"))


def _parts(cells: Cells, dataset: str, maps: Mapping[Pair, list[Map]]) -> Iterable[Part]:
    """What all models share, then the maps of each model: a row of panels for each class, in it those of each layer."""
    columns = cells.experiment.labels
    shown = {column: [one for one in maps[dataset, column] if one.feature != FEATURES[2]] for column in columns}
    every = [one for own in shown.values() for one in own]
    if not every:
        yield Part(title=dataset, words=cells.reasons(dataset))
        return
    # Maps of one kind have one scale of colours.
    values = np.concatenate([one.values.ravel() for one in every if one.metric != CONTRIBUTION])
    largest = max(np.abs(one.values).max() for one in every if one.metric == CONTRIBUTION)
    scales = {CONTRIBUTION: ("RdBu_r", (-largest, largest))}

    def panel(one: Map, titled: bool = True) -> Panel:
        scale = scales.get(one.metric, ("cividis", (values.min(), values.max())))
        mark = draw.squares(one.values, one.x, one.y, *scale)
        title = "\n".join(filter(None, [one.layer and f"{one.layer} layer", one.feature or one.metric]))
        return Panel([mark], title if titled else "", Axis("x1"), Axis("\n".join(filter(None, [one.output, "x2"]))))

    outputs = list(dict.fromkeys(one.output for one in every if one.metric != TARGET))
    ran = next(column for column, own in shown.items() if own)
    first = panel(every[0]) if every[0].metric == TARGET else _training_rows(cells, (dataset, ran), outputs)
    yield Part([[first, _errors(cells, dataset)]], title=dataset)
    n = cells.experiment.repeats[dataset]
    for column, label in columns.items():
        own = [[one for one in shown[column] if one.output == output and one.metric != TARGET] for output in outputs]
        if not any(own):
            yield Part(title=label, words=cells.reason(dataset, column))
            continue
        rows = [[panel(one, k == 0) for one in line] for k, line in enumerate(own)]
        places = [(i, j) for j in range(len(rows[0])) for i in range(len(rows))]
        # The first place gives the colours: on the left a prediction, on the right, from the end, a contribution.
        half = len(rows) * (len(rows[0]) // 2)
        bars = [draw.ColourBar(places[:half], PREDICTION), draw.ColourBar(places[half:][::-1], CONTRIBUTION)]
        title = f"{label}, first of {n} repeats" if n > 1 else label
        yield Part(rows, title, height=0.75 + 0.9 / len(rows), bars=bars, shared=True)


def _training_rows(cells: Cells, pair: Pair, classes: Iterable[str]) -> Panel:
    arrays = cells.first_arrays(*pair, EXTRA)
    marks = draw.class_points(arrays["X_train"], arrays["y_train"], dict(enumerate(classes)))
    return Panel(marks, "training rows", Axis("x1"), Axis("x2"), legend="right", equal=True, grid=False)


def _errors(cells: Cells, dataset: str) -> Panel:
    """Errors by layer: kinds of rows differ in line and marker, with one model also in colour."""
    marks = []
    for (number, column), (k, part) in product(enumerate(cells.experiment.columns), enumerate(PARTS)):
        if rows := _curve(cells, (dataset, column), part):
            colour = draw.look(number if cells.has_models else k).colour
            style = draw.Look(colour, "o^"[k], (draw.DASHED, draw.SOLID)[k])
            scale = 100 if rows[0].metric == "error_rate" else 1
            marks.append(models.curve(rows, style, cells.prefix(column) + part, scale, hollow=k == 0))
    x, y = Axis("layer", ticks="whole"), Axis(limits=(0, None))
    return Panel(marks, f"{ERRORS[cells.experiment.metrics[0]]} by layer", x, y, legend="best", width=1.5)
