"""Agreement of contributions with true ones and with Shapley values, by layer (interp-quality): means over repeats."""

from collections.abc import Iterable

import numpy as np

from cascadeforest.experiments.extras import attribution_quality as saved
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, metric_head
from cascadeforest.reports.numbers.cells import Cells, by_layer, means
from cascadeforest.reports.numbers.frame import Found, TidyRow

EXTRA = "attribution_quality"
ERROR, R2, TOP, KNOWN = "rmse", "r2", "top", "known_by_prediction"
TRUE, SHAPLEY = "true", "Shapley values"
#: What is compared with a reference, as the saved arrays name it.
COMPARED = {
    "true": {name: f"{name} against {TRUE}" for name in (*saved.CALIBRATED, SHAPLEY)},
    "shapley": {name: f"{name} against {SHAPLEY}" for name in saved.CALIBRATED},
}
#: Saved array and metric to what its columns are about.
ARRAYS = {
    (ERROR, ERROR): [""],
    **{
        (f"{reference}_{measure}", measure): list(columns.values())
        for measure in (R2, "correlation", TOP)
        for reference, columns in COMPARED.items()
    },
    (KNOWN, KNOWN): ["partial", TRUE],
}
#: The columns of the table; the CSV file has more.
SHOWN = [
    ("", ERROR),
    *((about, R2) for columns in COMPARED.values() for about in columns.values()),
    *((COMPARED["true"][name], TOP) for name in ("partial", SHAPLEY)),
    *((about, KNOWN) for about in ARRAYS[KNOWN, KNOWN]),
]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    found = {pair: _rows(cells, *pair) for pair in cells.pairs}
    told = dict(n_rows=saved.N_ROWS, n_background=saved.N_BACKGROUND, n_groups=saved.N_GROUPS)
    rows = [row for own in found.values() for row in own.values()]
    heads = [", ".join(filter(None, (metric_head(metric), about))) for about, metric in SHOWN]
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own)]
    picture = draw.Picture([_part(cells, *pair, own) for pair, own in found.items()], legend=True, legend_columns=5)
    return Table.of(cells, told, rows, (*cells.label_heads, "layer"), heads, lines, "repeats", picture)


def _condition(layer: int, about: str) -> str:
    return f"layer {layer}, {about}" if about else f"layer {layer}"


def _rows(cells: Cells, dataset: str, column: str) -> Found:
    runs = cells.arrays(dataset, column, EXTRA)
    if not runs:
        return {("", ERROR): cells.row(dataset, column, "", ERROR, None)}
    values = {
        (_condition(layer, about), metric): [float(np.ravel(run)[place]) for run in own]
        for (array, metric), columns in ARRAYS.items()
        for layer, own in enumerate(by_layer([run[array] for run in runs]), start=1)
        for place, about in enumerate(columns)
    }
    return {key: cells.row(dataset, column, *key, own) for key, own in values.items()}


def _by_layer(found: Found, about: str, metric: str) -> list[TidyRow]:
    """Rows of layer 1, 2, ...; none if there are no runs."""
    n_layers = sum(metric == ERROR for condition, metric in found if condition)
    return [found[_condition(layer, about), metric] for layer in range(1, n_layers + 1)]


def _lines(cells: Cells, dataset: str, column: str, found: Found) -> Iterable[Row]:
    labels = cells.labels(dataset, column)
    if ("", ERROR) in found:
        yield from numbered_lines(cells, (*labels, ""), [found["", ERROR]] * len(SHOWN))
    for layer, own in enumerate(zip(*(_by_layer(found, *shown) for shown in SHOWN), strict=True), start=1):
        yield from numbered_lines(cells, (*labels, f"{layer}"), own, f"{own[0].n}")


def _part(cells: Cells, dataset: str, column: str, found: Found) -> draw.Part:
    """The panels of one data set: error, and R² against each reference."""
    if ("", ERROR) in found:
        return draw.Part(title=cells.name(dataset, column), words=cells.reason(dataset, column))

    def line(about: str, metric: str, look: draw.Look, label: str) -> draw.Line:
        values, spreads = means(_by_layer(found, about, metric))
        return draw.Line(range(1, len(values) + 1), values, look, label, spreads)

    error = line("", ERROR, draw.Look(draw.BLACK), "test error")
    axis = draw.layers_axis(len(_by_layer(found, "", ERROR)))
    panels = [draw.Panel([error], "", axis, draw.Axis(f"test {metric_head(ERROR)}", (0, None)))]
    for title, columns in zip((TRUE, SHAPLEY), COMPARED.values(), strict=True):
        lines = [line(about, R2, draw.look(k), name) for k, (name, about) in enumerate(columns.items())]
        panels.append(draw.Panel(lines, f"against {title}", axis, draw.Axis(metric_head(R2), (0, 1.03))))
    return draw.Part([panels], title=cells.title(dataset, column), height=2.0)
