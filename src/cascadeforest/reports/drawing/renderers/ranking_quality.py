"""Test error and quality of importances by layer, and importances against the true ones (interp-fig5).

The data are a sum of k times feature k, so that feature k is the k-th least important: a pair of features is ranked
right if the one of the larger coefficient has the larger importance. Means over repeats.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import mean_text, number_cell, numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, common_places, metric_head
from cascadeforest.reports.numbers.cells import PLACES, Cells, by_layer, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

SCORES, IMPORTANCES = "layer_scores", "layer_importances"
ERROR, RANKED, MDI = "rmse", "ranked_pairs", "mdi"
TRUE, LAST = "true", "last layer"
#: Colours and hatches of the bars, and looks of the curves.
BARS = {"first layer": (draw.BLUE, ""), LAST: (draw.ORANGE, "////"), TRUE: ("#B0B0B0", "")}
CURVES = {ERROR: draw.Look(draw.ORANGE, "^", draw.SOLID), RANKED: draw.Look(draw.GREEN, "o", draw.SOLID)}
HEADS = {ERROR: f"test {metric_head(ERROR)}", RANKED: "pairs ranked right (% of all)"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: layers whose importances are shown, and names of features."""

    layers: tuple[Literal["first", "last"], ...]
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(SCORES, IMPORTANCES)
    options = cells.options(Options)
    if not options.layers:
        raise ConfigError(f"{cells.experiment.place}/options/layers is empty; name first, last or both.")
    found = {pair: _rows(cells, *pair, options) for pair in cells.pairs}
    # The true importances are facts about the data: once, whatever the number of models.
    rows = tuple({row.key: row for own in found.values() for row in own.values()}.values())
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own)]
    picture = draw.Picture([_part(cells, *pair, own) for pair, own in found.items()])
    return Table.of(cells, {}, rows, (*cells.label_heads, "layer"), HEADS.values(), lines, "repeats", picture)


def ranked_pairs(importances: np.ndarray) -> float:
    """Return the share of the pairs of features of which the later one has the larger importance."""
    above, below = np.triu_indices(len(importances), k=1)
    return float(np.mean(importances[below] > importances[above]))


def true_importances(n_features: int) -> np.ndarray:
    """Return the importances of the features of a sum of k times feature k, with sum 1.

    The features are independent and of equal variance, so that the variance that feature k explains is in proportion to
    the square of k. MDI of fully grown trees is just that.
    """
    squares = np.arange(1, n_features + 1, dtype=np.float64) ** 2
    return squares / squares.sum()


def _rows(cells: Cells, dataset: str, column: str, options: Options) -> Found:
    runs = [run["importances"] for run in cells.arrays(dataset, column, IMPORTANCES)]
    if not runs:
        return {("", RANKED): cells.row(dataset, column, "", RANKED, None)}
    curves = {
        ERROR: [run["test"] for run in cells.arrays(dataset, column, SCORES)],
        RANKED: [np.array([ranked_pairs(layer) for layer in run]) for run in runs],
    }
    layers = {(f"layer {k}", name): own for name in curves for k, own in enumerate(by_layer(curves[name]), start=1)}
    values = {key: list(map(float, own)) for key, own in layers.items()}
    values |= {(LAST, name): [run[-1] for run in curves[name]] for name in curves}
    n_features = runs[0].shape[1]
    names = [f"feature {name}" for name in cells.feature_names(dataset, options.features, n_features)]
    for layer in options.layers:
        # Sums over features are above 0 for any model that learned something; signs stay as they are.
        shares = [run[PLACES[layer]] / run[PLACES[layer]].sum() for run in runs]
        values |= {(f"{layer} layer, {name}", MDI): [run[k] for run in shares] for k, name in enumerate(names)}
    found = {key: cells.row(dataset, column, *key, own) for key, own in values.items()}
    for name, value in zip(names, true_importances(n_features), strict=True):
        found[f"{TRUE}, {name}", MDI] = cells.row(dataset, column, f"{TRUE}, {name}", MDI, [value], of_data=True)
    return found


def _lines(cells: Cells, dataset: str, column: str, found: Found) -> Iterable[Row]:
    labels, errors = cells.labels(dataset, column), [row for row in found.values() if row.metric == ERROR]
    places = common_places((row.mean for row in errors), 4)

    def text(row: TidyRow) -> str:
        return mean_text(row, places) if row.metric == ERROR else number_cell(row).text

    if not errors:
        yield from numbered_lines(cells, (*labels, ""), [found["", RANKED]] * len(HEADS))
    for error in errors:
        words = "last layer of each repeat" if error.condition == LAST else error.condition
        yield from numbered_lines(cells, (*labels, words), [error, found[error.condition, RANKED]], f"{error.n}", text)


def _part(cells: Cells, dataset: str, column: str, found: Found) -> draw.Part:
    """The panels of one model on one data set: error, ranked pairs, importances."""
    if ("", RANKED) in found:
        return draw.Part(title=cells.name(dataset, column), words=cells.reason(dataset, column))
    panels = []
    for metric, style in CURVES.items():
        own = [row for (name, one), row in found.items() if one == metric and name != LAST]
        values, spreads = means(own, 100 if metric == RANKED else 1)
        line = draw.Line(range(1, len(own) + 1), values, style, errors=spreads)
        title = "(a)" if metric == ERROR else ""
        panels.append(draw.Panel([line], title, draw.layers_axis(len(own)), draw.Axis(HEADS[metric])))
    kinds = [kind for kind in BARS if any(name.startswith(f"{kind}, ") for name, _ in found)]
    names = [name.removeprefix(f"{TRUE}, feature ") for name, _ in found if name.startswith(f"{TRUE}, ")]
    width = 0.82 / len(kinds)
    bars = []
    for k, kind in enumerate(kinds):
        values, spreads = means(found[f"{kind}, feature {name}", MDI] for name in names)
        at = [place + (k - (len(kinds) - 1) / 2) * width for place in range(len(names))]
        colour, hatch = BARS[kind]
        bars.append(draw.Bars(at, values, colour, kind, errors=spreads, width=width, hatch=hatch))
    x = draw.Axis("feature", ticks=dict(enumerate(names)), upright=len(names) > 8)
    panels.append(draw.Panel(bars, "(b)", x, draw.Axis(f"{metric_head(MDI)}, sum 1"), legend="upper left", width=1.9))
    return draw.Part([panels], title=cells.title(dataset, column))
