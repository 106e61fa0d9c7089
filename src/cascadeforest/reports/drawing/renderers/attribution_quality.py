"""Agreement of contributions with true ones and with Shapley values, by layer (interp-quality): means over repeats."""

import numpy as np

from cascadeforest.experiments.extras import attribution_quality as saved
from cascadeforest.reports.drawing import Found, Pair, Table, draw, metric_head, models
from cascadeforest.reports.numbers.cells import Cells, by_layer

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
    found = models.rows_of(cells, "attribution_quality", ERROR, _numbers)
    told = dict(n_rows=saved.N_ROWS, n_background=saved.N_BACKGROUND, n_groups=saved.N_GROUPS)
    heads = [", ".join(filter(None, (metric_head(metric), about))) for about, metric in SHOWN]
    lines = models.lines_of(cells, found, SHOWN, _place, "n")
    picture = draw.Picture(models.parts_of(cells, found, _part), legend=True, legend_columns=5)
    return Table.of(cells, told, found, (*cells.label_heads, "layer"), heads, lines, "repeats", picture)


def _numbers(cells: Cells, pair: Pair, runs: models.Runs) -> models.Numbers:
    return {
        (f"layer {layer}, {about}".removesuffix(", "), metric): [
            None if run is None else float(np.ravel(run)[place]) for run in own
        ]
        for (array, metric), columns in ARRAYS.items()
        for layer, own in enumerate(by_layer([run[array] for run in runs]), start=1)
        for place, about in enumerate(columns)
    }


def _place(condition: str, metric: str) -> tuple[str, tuple[str, str]]:
    layer, _, about = condition.partition(", ")
    return layer.removeprefix("layer "), (about, metric)


def _part(cells: Cells, pair: Pair, found: Found) -> draw.Part:
    """The panels of one data set: error, and R² against each reference."""

    def line(about: str, metric: str, look: draw.Look, label: str, k: int = 0, n: int = 1) -> draw.Mark:
        rows = (row for key, row in found.items() if _place(*key)[1] == (about, metric))
        return models.curve(rows, look, label, k=k, n=n)

    error = line("", ERROR, draw.Look(draw.BLACK), "test error")
    axis = draw.layers_axis(sum(metric == ERROR for _, metric in found))
    panels = [draw.Panel([error], "", axis, draw.Axis(f"test {metric_head(ERROR)}", (0, None)))]
    for title, columns in zip((TRUE, SHAPLEY), COMPARED.values(), strict=True):
        n = len(columns)
        lines = [line(about, R2, draw.look(k), name, k, n) for k, (name, about) in enumerate(columns.items())]
        panels.append(draw.Panel(lines, f"against {title}", axis, draw.Axis(metric_head(R2), (0, None))))
    return draw.Part([panels], title=cells.title(*pair), height=2.0)
