"""Importance of relevant and of irrelevant features, by layer and by class (interp-fig6): means over repeats."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Pair, Table, common_places, draw, mean_text, metric_head, models
from cascadeforest.reports.numbers.cells import Cells, by_layer, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

BY_LAYER, BY_CLASS = "layer_importances", "class_importances"
MDI, IRRELEVANT = "mdi", "irrelevant features"
HATCHES = ("", "////", "....")


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the first `relevant` features are shown, of all others the mean."""

    relevant: int


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(BY_CLASS)
    options = cells.options(Options)
    if not 1 <= options.relevant < len(draw.LOOKS):
        allowed = f"give the number of relevant features, from 1 to {len(draw.LOOKS) - 1}"
        raise ConfigError(f"{cells.experiment.place}/options/relevant is {options.relevant}; {allowed}.")
    found = models.rows_of(cells, BY_LAYER, MDI, partial(_numbers, options))
    groups = list(dict.fromkeys(_place(*key)[1] for own in found.values() for key in own if key[0]))
    heads = [_words(group) for group in groups] or [metric_head(MDI)]
    lines = models.lines_of(cells, found, groups or [""], _place, "n", _text)
    picture = draw.Picture(models.parts_of(cells, found, _part))
    return Table.of(cells, {}, found, (*cells.label_heads, "MDI"), heads, lines, "repeats", picture)


def grouped(importances: np.ndarray, n_relevant: int) -> np.ndarray:
    """Return the columns of the relevant features, which come first, and the mean of all other columns, if any."""
    first, others = importances[:, :n_relevant], importances[:, n_relevant:]
    return np.column_stack([first, others.mean(axis=1)]) if others.shape[1] else first


def _numbers(options: Options, cells: Cells, pair: Pair, runs: models.Runs) -> models.Numbers:
    groups = [f"feature x{k}" for k in range(1, options.relevant + 1)]
    groups += [IRRELEVANT] if runs[0]["importances"].shape[1] > options.relevant else []
    layers = [grouped(run["importances"], options.relevant) for run in runs]
    classes: dict[int, list[np.ndarray]] = {}
    for run in cells.arrays(*pair, BY_CLASS):
        for code, values in zip(run["classes"], grouped(run["importances"], options.relevant), strict=True):
            classes.setdefault(int(code), []).append(values)
    own = enumerate(by_layer(layers), start=1)
    parts: dict[str, list[np.ndarray | None]] = {f"layer {k}": values for k, values in own}
    parts |= {f"class {cells.class_name(pair[0], code)}": [*classes[code]] for code in sorted(classes)}
    return {
        (f"{group}, {part}", MDI): [None if run is None else run[k] for run in own]
        for part, own in parts.items()
        for k, group in enumerate(groups)
    }


def _place(condition: str, metric: str) -> tuple[str, str]:
    """Return the line and the group of features of a row."""
    group, _, part = condition.partition(", ")
    return f"{'local' if part.startswith('class ') else 'global'}, {part}", group


def _text(found: Found) -> Callable[[TidyRow], str]:
    places = common_places((row.mean for row in found.values()), 4)
    return lambda row: mean_text(row, places)


def _part(cells: Cells, pair: Pair, found: Found) -> draw.Part:
    """The panels of one model on one data set: layers, and classes."""
    split = [condition.split(", ", 1) for condition, _ in found if condition]
    groups, parts = (list(dict.fromkeys(one[k] for one in split)) for k in (0, 1))
    layers, classes = ([part for part in parts if part.startswith(kind)] for kind in ("layer ", "class "))
    lines: list[draw.Mark] = []
    bars: list[draw.Mark] = [draw.rule(y=0)]
    for k, group in enumerate(groups):
        style = draw.Look(draw.GREY, "v", draw.DASHED) if group == IRRELEVANT else draw.look(k)
        lines.append(models.curve((found[f"{group}, {part}", MDI] for part in layers), style, _words(group)))
        printed = [cells.published.record(*pair, MDI, f"{group}, {part}") for part in layers]
        if known := {k: float(one.value) for k, one in enumerate(printed, start=1) if one}:
            own = draw.Look(style.colour, "D")
            lines.append(draw.points(list(known), list(known.values()), own, "authors' records", size=7, ring=True))
        values, spreads = means(found[f"{group}, {part}", MDI] for part in classes)
        at, width = models.beside(range(len(classes)), k, len(groups), 0.8), 0.92 * 0.8 / len(groups)
        bars.append(draw.bars(at, values, style.colour, errors=spreads, width=width, hatch=HATCHES[k % 3]))
    left = draw.Panel(lines, "(a) global, by layer", draw.layers_axis(len(layers)), draw.Axis(metric_head(MDI)))
    x, y = draw.Axis(ticks=dict(enumerate(classes))), draw.Axis(f"local {metric_head(MDI)}")
    right = draw.Panel(bars, "(b) local, by class", x, y)
    return draw.Part([[left, right]], title=cells.title(*pair), legend=True)


def _words(group: str) -> str:
    return f"mean of the {group}" if group == IRRELEVANT else group.removeprefix("feature ")
