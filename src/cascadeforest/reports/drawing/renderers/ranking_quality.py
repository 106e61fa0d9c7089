"""Test error and quality of importances by layer, and importances against the true ones (interp-fig5).

The data are a sum of k times feature k, so that feature k is the k-th least important: a pair of features is ranked
right if the one of the larger coefficient has the larger importance. Means over repeats.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from cascadeforest.reports.drawing import Pair, Table, common_places, draw, mean_text, metric_head, models, number_cell
from cascadeforest.reports.numbers.cells import PLACES, Cells, by_layer, means
from cascadeforest.reports.numbers.differences import of_repeats
from cascadeforest.reports.numbers.frame import Found, TidyRow

SCORES, IMPORTANCES = "layer_scores", "layer_importances"
ERROR, RANKED, DIFFERENCE, MDI, DISTANCE = "rmse", "ranked_pairs", "ranked_pairs_difference", "mdi", "mdi_distance"
TRUE, LAST, CHANGE = "true", "last layer", "last minus first layer"
#: Colours and hatches of the bars, and looks of the curves.
BARS = {"first layer": (draw.BLUE, ""), LAST: (draw.ORANGE, "////"), TRUE: ("#B0B0B0", "")}
CURVES = {ERROR: draw.Look(draw.ORANGE, "^", draw.SOLID), RANKED: draw.Look(draw.GREEN, "o", draw.SOLID)}
HEADS = {ERROR: f"test {metric_head(ERROR)}", RANKED: "pairs ranked right (% of all)"}
#: Other definitions of MDI, arrays of an extra: how a condition ends, with its words and its look. The first is ours.
READINGS = "importance_definitions"
DEFINITIONS = {
    "": ("held-out rows, centred responses", CURVES[RANKED]),
    "uncentred": ("held-out rows, responses as they are", draw.Look(draw.PURPLE, "D", draw.DASHDOT)),
    "in_bag": ("rows in the bag", draw.Look(draw.GREY, "X", draw.DOTTED)),
}


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(SCORES)
    found = models.rows_of(cells, IMPORTANCES, RANKED, _numbers)
    for pair, own in found.items():
        more = () if models.lacking(own) else _more(cells, pair)
        own |= {(row.condition, row.metric): row for row in more}
    definitions = [name for name in DEFINITIONS if not name or any(_curve(own, RANKED, name) for own in found.values())]
    columns = [(ERROR, ""), *((RANKED, name) for name in definitions)]
    lines = models.lines_of(cells, found, columns, _place, "n", _text, "not compared")
    picture = draw.Picture(models.parts_of(cells, found, _part))
    heads = [HEADS[ERROR], *(f"{HEADS[RANKED]}: {DEFINITIONS[name][0]}" for name in definitions)]
    heads = heads if len(definitions) > 1 else list(HEADS.values())
    told = {"changes": list(_changes(cells, found, definitions)), "several_definitions": len(definitions) > 1}
    return Table.of(cells, told, found, (*cells.label_heads, "layer"), heads, lines, "repeats", picture)


def _changes(cells: Cells, found: Mapping[Pair, Found], definitions: Sequence[str]) -> Iterable[dict[str, object]]:
    """Yield the definitions with which the quality of MDI rises from the first to the last layer, model by model."""
    for pair, own in found.items():
        rows = {DEFINITIONS[name][0]: row for name in definitions if (row := own.get((_at(CHANGE, name), DIFFERENCE)))}
        if rows:
            rising = [words for words, row in rows.items() if row.low is not None and row.low > 0]
            decided = any(row.low is not None for row in rows.values())
            yield {"name": cells.name(*pair), "several": len(rows) > 1, "rising": rising, "decided": decided}


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


def _at(place: str, definition: str) -> str:
    return f"{place}, {definition}" if definition else place


def _importances(cells: Cells, pair: Pair) -> dict[str, list[np.ndarray]]:
    """Return the importances of each repeat by definition, in that of the paper and in those that all cells saved."""
    found = {"": [run["importances"] for run in cells.arrays(*pair, IMPORTANCES)]}
    if all(READINGS in cell.extras for cell in cells.all(*pair)):
        saved = cells.arrays(*pair, READINGS)
        found |= {name: [run[name] for run in saved] for name in DEFINITIONS if name}
    return found


def _numbers(cells: Cells, pair: Pair, runs: models.Runs) -> models.Numbers:
    curves = {(ERROR, ""): [run["test"] for run in cells.arrays(*pair, SCORES)]}
    true = true_importances(runs[0]["importances"].shape[1])
    for name, own in _importances(cells, pair).items():
        curves[RANKED, name] = [np.array([ranked_pairs(layer) for layer in run]) for run in own]
        curves[DISTANCE, name] = [np.abs(run / run.sum(axis=1, keepdims=True) - true).sum(axis=1) for run in own]
    values: dict[tuple[str, str], Sequence[float | None]] = {}
    for (metric, name), own in curves.items():
        for k, numbers in enumerate(by_layer(own), start=1):
            values[_at(f"layer {k}", name), metric] = [one if one is None else float(one) for one in numbers]
        values[_at(LAST, name), metric] = [float(run[-1]) for run in own]
    for layer, place in PLACES.items():
        # Sums over features are above 0 for any model that learned something; signs stay as they are.
        shown = [run["importances"][place] for run in runs]
        for k in range(len(shown[0])):
            values[f"{layer} layer, feature x{k + 1}", MDI] = [float((run / run.sum())[k]) for run in shown]
    return values


def _more(cells: Cells, pair: Pair) -> Iterable[TidyRow]:
    """Yield the rows of a model that ran which are no means: changes from first to last layer, true importances."""
    runs: list[np.ndarray] = []
    for name, runs in _importances(cells, pair).items():
        last, first = ([ranked_pairs(run[k]) for run in runs] for k in (-1, 0))
        yield of_repeats(cells, TidyRow(*pair, _at(CHANGE, name), DIFFERENCE), last, first, pair[1]).row
    for k, value in enumerate(true_importances(runs[0].shape[1]), start=1):
        yield cells.row(*pair, f"{TRUE}, feature x{k}", MDI, [value], of_data=True)


def _place(condition: str, metric: str) -> tuple[str, tuple[str, str]]:
    place, _, definition = condition.partition(", ")
    label = {LAST: "last layer of each repeat", CHANGE: f"{CHANGE} (points)"}.get(place, place)
    return label, (RANKED if metric == DIFFERENCE else metric, definition)


def _text(found: Found) -> Callable[[TidyRow], str]:
    places = common_places((row.mean for row in found.values() if row.metric == ERROR), 4)
    return lambda row: mean_text(row, places) if row.metric == ERROR else number_cell(row).text


def _curve(found: Found, metric: str, definition: str) -> list[TidyRow]:
    """Return the rows of layer 1, 2, ..."""
    own = [row for row in found.values() if row.metric == metric and row.condition.startswith("layer ")]
    return [row for row in own if row.condition.partition(", ")[2] == definition]


def _part(cells: Cells, pair: Pair, found: Found) -> draw.Part:
    """The panels of one model on one data set: error, ranked pairs, importances."""
    panels = []
    definitions = [name for name in DEFINITIONS if _curve(found, RANKED, name)]
    for metric, style in CURVES.items():
        several = metric == RANKED and len(definitions) > 1
        looks = {name: DEFINITIONS[name] for name in definitions} if several else {"": ("", style)}
        own = {name: _curve(found, metric, name) for name in looks}
        scale = 100 if metric == RANKED else 1
        every = enumerate(zip(own.values(), looks.values(), strict=True))
        marks = [models.curve(rows, look, words, scale, k, len(own)) for k, (rows, (words, look)) in every]
        axis, title = draw.layers_axis(len(own[""])), "(a)" if metric == ERROR else ""
        panels.append(draw.Panel(marks, title, axis, draw.Axis(HEADS[metric])))
    kinds = [kind for kind in BARS if any(name.startswith(f"{kind}, ") for name, metric in found if metric == MDI)]
    names = [name.removeprefix(f"{TRUE}, feature ") for name, _ in found if name.startswith(f"{TRUE}, ")]
    bars = []
    for k, kind in enumerate(kinds):
        values, spreads = means(found[f"{kind}, feature {name}", MDI] for name in names)
        at, (colour, hatch) = models.beside(range(len(names)), k, len(kinds), 0.82), BARS[kind]
        bars.append(draw.bars(at, values, colour, kind, errors=spreads, width=0.82 / len(kinds), hatch=hatch))
    x, several = draw.Axis("feature", ticks=dict(enumerate(names)), upright=len(names) > 8), len(definitions) > 1
    y = draw.Axis(f"{metric_head(MDI)}, sum 1")
    panels.append(draw.Panel(bars, "(b)", x, y, "upper left" * (not several), width=1.9))
    return draw.Part([panels], title=cells.title(*pair), legend=several)
