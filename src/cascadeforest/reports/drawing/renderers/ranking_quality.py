"""Test error and quality of importances by layer, and importances against the true ones (interp-fig5).

The data are a sum of k times feature k, so that feature k is the k-th least important: a pair of features is ranked
right if the one of the larger coefficient has the larger importance. Means over repeats.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Literal

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import difference_cell, mean_text, number_cell, numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, common_places, metric_head
from cascadeforest.reports.numbers.cells import PLACES, Cells, by_layer, means
from cascadeforest.reports.numbers.differences import of_repeats
from cascadeforest.reports.numbers.frame import Found, TidyRow

SCORES, IMPORTANCES = "layer_scores", "layer_importances"
ERROR, RANKED, DIFFERENCE, MDI = "rmse", "ranked_pairs", "ranked_pairs_difference", "mdi"
NOT_COMPARED = "not compared"
TRUE, LAST = "true", "last layer"
#: Colours and hatches of the bars, and looks of the curves.
BARS = {"first layer": (draw.BLUE, ""), LAST: (draw.ORANGE, "////"), TRUE: ("#B0B0B0", "")}
CURVES = {ERROR: draw.Look(draw.ORANGE, "^", draw.SOLID), RANKED: draw.Look(draw.GREEN, "o", draw.SOLID)}
HEADS = {ERROR: f"test {metric_head(ERROR)}", RANKED: "pairs ranked right (% of all)"}
#: Other definitions of MDI, arrays of an extra: how a condition ends, with its words and its look. The first is ours.
READINGS = "importance_definitions"
DEFINITIONS = {
    "": ("held-out rows, centred responses", CURVES[RANKED]),
    ", uncentred": ("held-out rows, responses as they are", draw.Look(draw.PURPLE, "D", draw.DASHDOT)),
    ", in_bag": ("rows in the bag", draw.Look(draw.GREY, "X", draw.DOTTED)),
}
CHANGE = "last minus first layer"


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
    shown = {name for own in found.values() for name, _ in own}
    definitions = [name for name in DEFINITIONS if not name or f"{LAST}{name}" in shown]
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own, definitions)]
    picture = draw.Picture([_part(cells, *pair, own) for pair, own in found.items()])
    heads = [HEADS[ERROR], *(f"{HEADS[RANKED]}: {DEFINITIONS[name][0]}" for name in definitions)]
    heads = heads if len(definitions) > 1 else list(HEADS.values())
    told = {"changes": list(_changes(cells, found, definitions)), "several_definitions": len(definitions) > 1}
    return Table.of(cells, told, rows, (*cells.label_heads, "layer"), heads, lines, "repeats", picture)


def _changes(cells: Cells, found: Mapping[Pair, Found], definitions: Sequence[str]) -> Iterable[dict[str, object]]:
    """Yield by how much the quality of MDI changes from the first to the last layer, model by model."""
    for pair, own in found.items():
        rows = [own[f"{CHANGE}{name}", DIFFERENCE] for name in definitions if (f"{CHANGE}{name}", DIFFERENCE) in own]
        words = [DEFINITIONS[name][0] for name in definitions]
        if rows:
            rising = [word for word, row in zip(words, rows, strict=True) if row.low is not None and row.low > 0]
            parts = [{"words": word, "text": difference_cell(row).text} for word, row in zip(words, rows, strict=True)]
            decided = any(row.low is not None for row in rows)
            yield {"name": cells.name(*pair), "parts": parts, "rising": rising, "decided": decided}


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
    curves = {(ERROR, ""): [run["test"] for run in cells.arrays(dataset, column, SCORES)]}
    by_definition = {"": runs} | _readings(cells, dataset, column)
    for suffix, own in by_definition.items():
        curves[RANKED, suffix] = [np.array([ranked_pairs(layer) for layer in run]) for run in own]
    values: dict[tuple[str, str], list[float]] = {}
    for (name, suffix), own in curves.items():
        for k, numbers in enumerate(by_layer(own), start=1):
            values[f"layer {k}{suffix}", name] = list(map(float, numbers))
        values[f"{LAST}{suffix}", name] = [float(run[-1]) for run in own]
    n_features = runs[0].shape[1]
    names = [f"feature {name}" for name in cells.feature_names(dataset, options.features, n_features)]
    for layer in options.layers:
        # Sums over features are above 0 for any model that learned something; signs stay as they are.
        shares = [run[PLACES[layer]] / run[PLACES[layer]].sum() for run in runs]
        values |= {(f"{layer} layer, {name}", MDI): [run[k] for run in shares] for k, name in enumerate(names)}
    found = {key: cells.row(dataset, column, *key, own) for key, own in values.items()}
    for suffix in by_definition:
        last, first = ([float(run[k]) for run in curves[RANKED, suffix]] for k in (-1, 0))
        row = TidyRow(dataset, column, f"{CHANGE}{suffix}", DIFFERENCE)
        found[row.condition, DIFFERENCE] = of_repeats(cells, row, last, first, column).row
    for name, value in zip(names, true_importances(n_features), strict=True):
        found[f"{TRUE}, {name}", MDI] = cells.row(dataset, column, f"{TRUE}, {name}", MDI, [value], of_data=True)
    return found


def _readings(cells: Cells, dataset: str, column: str) -> dict[str, list[np.ndarray]]:
    """Return the importances of each repeat by the other definitions; nothing where cells did not save them."""
    if any(READINGS not in cell.extras for cell in cells.all(dataset, column)):
        return {}
    saved = cells.arrays(dataset, column, READINGS)
    return {suffix: [run[suffix.removeprefix(", ")] for run in saved] for suffix in DEFINITIONS if suffix}


def _lines(cells: Cells, dataset: str, column: str, found: Found, definitions: Sequence[str]) -> Iterable[Row]:
    labels, errors = cells.labels(dataset, column), [row for row in found.values() if row.metric == ERROR]
    places = common_places((row.mean for row in errors), 4)

    def text(row: TidyRow) -> str:
        return mean_text(row, places) if row.metric == ERROR else number_cell(row).text

    if not errors:
        yield from numbered_lines(cells, (*labels, ""), [found["", RANKED]] * (1 + len(definitions)))
    for error in errors:
        words = "last layer of each repeat" if error.condition == LAST else error.condition
        ranked = [found.get((f"{error.condition}{suffix}", RANKED)) for suffix in definitions]
        yield from numbered_lines(cells, (*labels, words), [error, *ranked], f"{error.n}", text)
    changes = [found.get((f"{CHANGE}{suffix}", DIFFERENCE)) for suffix in definitions]
    if errors:
        words = f"{CHANGE} (points)"
        yield from numbered_lines(cells, (*labels, words), [None, *changes], f"{errors[0].n}", None, NOT_COMPARED)


def _part(cells: Cells, dataset: str, column: str, found: Found) -> draw.Part:
    """The panels of one model on one data set: error, ranked pairs, importances."""
    if ("", RANKED) in found:
        return draw.Part(title=cells.name(dataset, column), words=cells.reason(dataset, column))
    panels = []
    suffixes = [suffix for suffix in DEFINITIONS if (f"{LAST}{suffix}", RANKED) in found]
    for metric, style in CURVES.items():
        marks = []
        for suffix in suffixes if metric == RANKED else [""]:
            places = takewhile(lambda key: key in found, ((f"layer {k}{suffix}", metric) for k in count(1)))
            own = [found[key] for key in places]
            values, spreads = means(own, 100 if metric == RANKED else 1)
            words, look = DEFINITIONS[suffix] if metric == RANKED and len(suffixes) > 1 else ("", style)
            marks.append(draw.Line(range(1, len(own) + 1), values, look, words, errors=spreads))
        title = "(a)" if metric == ERROR else ""
        panels.append(draw.Panel(marks, title, draw.layers_axis(len(own)), draw.Axis(HEADS[metric])))
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
    return draw.Part([panels], title=cells.title(dataset, column), legend=len(suffixes) > 1)
