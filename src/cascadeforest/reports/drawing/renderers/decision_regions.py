"""What models of two features predict everywhere (ddbf-fig6): a row of panels for each model, with the rows of data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import panels
from cascadeforest.reports.drawing.lines import numbered_lines, published_text
from cascadeforest.reports.drawing.panels import Axis, Look, Panel, Part
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.words import Words, layers, number
from cascadeforest.reports.numbers import decision_regions as numbers
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.decision_regions import ACCURACY, EXTRA, PARTS


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    rows = {row.key[:3]: row for row in numbers.facts(cells)}
    words = Words("decision_regions", cells, layers=layers(cells))
    heads = [f"accuracy on {part} (%)" for part in PARTS.values()]
    lines = []
    for pair in cells.pairs:
        whole, first = ([rows[*pair, part + which] for part in PARTS] for which in ("", ", first repeat"))
        n, size = whole[0].n or 0, " + ".join(f"{row.n_test:,}" for row in first if row.n_test)
        lines.extend(numbered_lines(cells, (*cells.labels(*pair), f"all {n}" if n else ""), whole, size))
        lines.extend(numbered_lines(cells, (*cells.labels(*pair), "first, drawn"), first, size) if n > 1 else [])
    picture = panels.Picture([_part(cells, pair) for pair in cells.pairs], legend=True)
    label_heads, size = (*cells.label_heads, "repeats"), "training and test rows"
    return Table.of(cells, words, rows.values(), label_heads, heads, lines, size, picture, numbers.drawn(cells))


def _part(cells: Cells, pair: Pair) -> Part:
    """The panels of one model: the same regions with training and with test rows."""
    if not (arrays := cells.first_arrays(*pair, EXTRA)):
        return Part(title=cells.name(*pair), words=cells.reason(*pair))
    names, squares = numbers.classes(cells, pair), numbers.borders(arrays["predicted"])
    lines = [
        np.pad(at[0] + (squares[:, :, k] - 0.5) * (at[1] - at[0]), ((0, 0), (0, 1)), constant_values=np.nan).ravel()
        for k, at in enumerate((arrays["x"], arrays["y"]))
    ]
    regions = panels.Map(_colours(arrays), arrays["x"], arrays["y"], equal=False)
    borders = panels.Line(lines[0], lines[1], Look(panels.GREY, ""), width=0.8)
    x, y = map(Axis, cells.options(numbers.Options).features)
    shown = []
    for part, kind in PARTS.items():
        X, true, predicted = (arrays[f"{name}_{part}"] for name in ("X", "y", "predicted"))
        x_wrong, y_wrong = X[true != predicted].T
        ring = panels.Points(x_wrong, y_wrong, Look(panels.BLACK), "predicted as another class", 8.5, ring=True)
        row = cells.row(*pair, part, ACCURACY, float((true == predicted).mean()))
        title = f"{kind}: {number(row)}{published_text(cells, row)}"
        shown.append(Panel([regions, borders, *panels.class_points(X, true, names, 4.0), ring], title, x, y))
    return Part([shown], title=cells.name(*pair), shared=True)


def _colours(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Colours of the regions: those of the classes, paler where the model is less sure."""
    strength, predicted = 0.34 * arrays["confidence"][:, :, None], arrays["predicted"]
    colours = np.array([panels.rgb(panels.look(code).colour) for code in range(predicted.max() + 1)])
    return 1 - strength + strength * colours[predicted]
