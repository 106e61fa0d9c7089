"""Importance of relevant and of irrelevant features, by layer and by class (interp-fig6): means over repeats."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import mean_text, numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, common_places, metric_head
from cascadeforest.reports.numbers.cells import Cells, by_layer, means
from cascadeforest.reports.numbers.frame import TidyRow

BY_LAYER, BY_CLASS = "layer_importances", "class_importances"
MDI, IRRELEVANT = "mdi", "irrelevant features"
#: The paper speaks of the irrelevant features at all layers at once.
EVERY_LAYER = "every layer"
#: Tidy rows of one model on one data set, by layer or class and by feature.
Found = dict[tuple[str, str], TidyRow]


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the first `relevant` features are shown, of all others the mean; names of features."""

    relevant: int
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(BY_LAYER, BY_CLASS)
    options = cells.options(Options)
    if not 1 <= options.relevant < len(draw.LOOKS):
        allowed = f"give the number of relevant features, from 1 to {len(draw.LOOKS) - 1}"
        raise ConfigError(f"{cells.experiment.place}/options/relevant is {options.relevant}; {allowed}.")
    found = {pair: _rows(cells, *pair, options) for pair in cells.pairs}
    rows = tuple(row for own in found.values() for row in own.values())
    groups = list(dict.fromkeys(group for own in found.values() for _, group in own if group))
    heads = [_words(group) for group in groups] or [metric_head(MDI)]
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own, groups)]
    picture = draw.Picture([_part(cells, *pair, own) for pair, own in found.items()])
    told = {"rising": list(_rising(cells, found))}
    return Table.of(cells, told, rows, (*cells.label_heads, "MDI"), heads, lines, "repeats", picture)


def _rising(cells: Cells, found: Mapping[Pair, Found]) -> Iterable[dict[str, object]]:
    """Yield the relevant features whose mean importance is larger at each layer than at the one before, and others."""
    for pair, own in found.items():
        curves: dict[str, list[float]] = {}
        for (part, group), row in own.items():
            if part.startswith("layer ") and group != IRRELEVANT:
                curves.setdefault(_words(group), []).append(row.number)
        n_layers = max(map(len, curves.values()), default=0)
        rising = [name for name, values in curves.items() if all(b > a for a, b in pairwise(values))]
        others = [name for name in curves if name not in rising]
        if n_layers > 1:
            yield {"name": cells.name(*pair), "rising": rising, "others": others, "n": n_layers}


def grouped(importances: np.ndarray, n_relevant: int) -> np.ndarray:
    """Return the columns of the relevant features, which come first, and the mean of all other columns, if any."""
    first, others = importances[:, :n_relevant], importances[:, n_relevant:]
    return np.column_stack([first, others.mean(axis=1)]) if others.shape[1] else first


def _rows(cells: Cells, dataset: str, column: str, options: Options) -> Found:
    runs = cells.arrays(dataset, column, BY_LAYER)
    if not runs:
        return {("", ""): cells.row(dataset, column, "", MDI, None)}
    names = cells.feature_names(dataset, options.features, runs[0]["importances"].shape[1])
    groups = [f"feature {name}" for name in names[: options.relevant]]
    groups += [IRRELEVANT] if len(names) > options.relevant else []
    layers = [grouped(run["importances"], options.relevant) for run in runs]
    classes: dict[int, list[np.ndarray]] = {}
    for run in cells.arrays(dataset, column, BY_CLASS):
        for code, values in zip(run["classes"], grouped(run["importances"], options.relevant), strict=True):
            classes.setdefault(int(code), []).append(values)
    parts = {f"layer {k}": values for k, values in enumerate(by_layer(layers), start=1)}
    parts |= {f"class {cells.class_name(dataset, code)}": classes[code] for code in sorted(classes)}
    values = {(part, group): [run[k] for run in own] for part, own in parts.items() for k, group in enumerate(groups)}
    if IRRELEVANT in groups:
        values[EVERY_LAYER, IRRELEVANT] = [run[:, -1].mean() for run in layers]
    return {key: cells.row(dataset, column, f"{key[1]}, {key[0]}", MDI, own) for key, own in values.items()}


def _lines(cells: Cells, dataset: str, column: str, found: Found, groups: list[str]) -> Iterable[Row]:
    places = common_places((row.mean for row in found.values()), 4)
    for part in dict.fromkeys(part for part, _ in found):
        kind = "local" if part.startswith("class ") else "global"
        own = [found.get((part, group)) for group in groups] if part else list(found.values()) * max(len(groups), 1)
        size = f"{next(row.n for row in own if row) or ''}"
        labels = (*cells.labels(dataset, column), f"{kind}, {part}" if part else "")
        yield from numbered_lines(cells, labels, own, size, lambda row: mean_text(row, places))


def _part(cells: Cells, dataset: str, column: str, found: Found) -> draw.Part:
    """The panels of one model on one data set: layers, and classes."""
    if ("", "") in found:
        return draw.Part(title=cells.name(dataset, column), words=cells.reason(dataset, column))
    parts = list(dict.fromkeys(part for part, _ in found if part != EVERY_LAYER))
    layers, classes = ([part for part in parts if part.startswith(kind)] for kind in ("layer ", "class "))
    groups = list(dict.fromkeys(group for _, group in found))
    width = 0.8 / len(groups)
    lines: list[draw.Mark] = []
    bars: list[draw.Mark] = [draw.Rule(y=0)]
    for k, group in enumerate(groups):
        style = draw.Look(draw.GREY, "v", draw.DASHED) if group == IRRELEVANT else draw.look(k)
        values, spreads = means(found[part, group] for part in layers)
        lines.append(draw.Line(range(1, len(layers) + 1), values, style, _words(group), spreads))
        known = {
            k: float(one.value)
            for k, part in enumerate(layers, start=1)
            if (one := cells.published.record(dataset, column, MDI, f"{group}, {part}"))
        }
        if known:
            own = draw.Look(style.colour, "D")
            lines.append(draw.Points(list(known), list(known.values()), own, "authors' records", size=7, ring=True))
        values, spreads = means(found[part, group] for part in classes)
        at = [place + (k - (len(groups) - 1) / 2) * width for place in range(len(classes))]
        bars.append(draw.Bars(at, values, style.colour, errors=spreads, width=0.92 * width))
    left = draw.Panel(lines, "(a) global, by layer", draw.layers_axis(len(layers)), draw.Axis(metric_head(MDI)))
    x, y = draw.Axis(ticks=dict(enumerate(classes))), draw.Axis(f"local {metric_head(MDI)}")
    right = draw.Panel(bars, "(b) local, by class", x, y)
    return draw.Part([[left, right]], title=cells.title(dataset, column), legend=True)


def _words(group: str) -> str:
    return f"mean of the {group}" if group == IRRELEVANT else group.removeprefix("feature ")
