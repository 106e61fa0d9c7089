"""Predictions and contributions of two features on a grid of test rows, errors by layer (interp-fig3, interp-fig4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.numbers.cells import Cells, by_layer
from cascadeforest.reports.numbers.frame import TidyRow

EXTRA, SCORES = "contributions", "layer_scores"
TARGET, PREDICTION, CONTRIBUTION, SIZE = "target", "prediction", "contribution", "contribution_size"
#: Where the arrays have rows of a kind, and a layer of the option `layers`.
PARTS = {"held-out training rows": "train", "test rows": "test"}
PLACES = {"first": 0, "last": -1}
FEATURES = ("feature x1", "feature x2", "other features")
Layer = Literal["first", "last"]
#: The CSV has means over so many by so many squares of a map; single points would be tens of thousands of lines.
N_SQUARES = 5


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the layers that are drawn."""

    layers: tuple[Layer] | tuple[Layer, Layer]


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


def contributions(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the contributions of `FEATURES` (layers, rows, outputs); without `other features` if there are none."""
    values = arrays["contributions"]
    parts = values[:, :, 0], values[:, :, 1], values[:, :, 2:].sum(axis=2)
    return dict(zip(FEATURES[: int(arrays["n_features"])], parts, strict=False))


def maps(cells: Cells, layers: Sequence[str]) -> pd.DataFrame:
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
        shown = {"": arrays["predictions"]} | contributions(arrays)
        for layer, (c, output), (feature, values) in product(layers, enumerate(outputs), shown.items()):
            head = *pair, *axes, layer, output, feature, CONTRIBUTION if feature else PREDICTION
            found.append((*head, values[PLACES[layer]][rows, c]))
    return pd.DataFrame(found, columns=columns)


def errors(cells: Cells, pair: Pair) -> tuple[str, dict[str, list[np.ndarray]]]:
    """Return the metric, and the errors by layer of each repeat, of held-out training rows and of test rows."""
    repeats, is_rmse = cells.arrays(*pair, SCORES), "rmse" in cells.experiment.metrics
    runs = {part: [one[name] if is_rmse else 1 - one[name] for one in repeats] for part, name in PARTS.items()}
    return "rmse" if is_rmse else "error_rate", runs


def curve(cells: Cells, pair: Pair, part: str) -> list[TidyRow]:
    """Return the mean error of each layer that at least half of the repeats have."""
    metric, runs = errors(cells, pair)
    layers = enumerate(by_layer(runs[part]), start=1)
    return [cells.row(*pair, f"{part}, layer {k}", metric, list(map(float, values))) for k, values in layers]


def facts(cells: Cells, layers: Sequence[str]) -> Iterable[TidyRow]:
    """Yield the numbers of the table: errors and mean sizes of contributions, of each repeat at its own last layer."""
    for pair in cells.pairs:
        repeats, (metric, runs) = cells.arrays(*pair, EXTRA), errors(cells, pair)
        if not repeats:
            yield cells.row(*pair, "", PREDICTION, None)
        for layer in layers if repeats else ():
            k = PLACES[layer]
            for part, curves in runs.items():
                values = [float(one[arrays["layers"][k] - 1]) for one, arrays in zip(curves, repeats, strict=True)]
                yield cells.row(*pair, f"{part}, {layer} layer", metric, values)
            parts = [contributions(arrays) for arrays in repeats]
            for feature in parts[0]:
                sizes = [float(f"{np.abs(one[feature][k].astype(float)).mean():.6g}") for one in parts]
                yield cells.row(*pair, f"{layer} layer, {feature}", SIZE, sizes)


def drawn(cells: Cells, frame: pd.DataFrame) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: errors by layer, and the means over squares of each map."""
    for pair in cells.pairs:
        own = frame[(frame.dataset == pair[0]) & (frame.model == pair[1])]
        if own.empty:
            yield cells.row(*pair, "", PREDICTION, None)
        for part in PARTS:
            yield from curve(cells, pair, part)
        for one in own.itertuples():
            where = [f"{one.layer} layer" if one.layer else "", one.output, one.feature]
            for (i, j), mean in np.ndenumerate(square_means(one.array)):
                condition = ", ".join(filter(None, [*where, f"square {j + 1} {i + 1}"]))
                # Maps are stored in single precision: more digits would be of no meaning.
                yield cells.row(*pair, condition, one.metric, float(f"{mean:.6g}"))
