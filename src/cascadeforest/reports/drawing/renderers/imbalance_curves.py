"""Accuracy while one class grows rare in training, and recall of this class (ddbf-fig4): a line for each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, metric_head, scaled
from cascadeforest.reports.drawing.words import Words, layers, protocols
from cascadeforest.reports.numbers import imbalance_curves as numbers
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.imbalance_curves import ACCURACY, AGAINST, BEYOND, GAP, OWN, RECALL

Rows = Mapping[tuple[str, str, str, str], TidyRow]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    label = cells.options(numbers.Options).label
    series = numbers.variants(cells.experiment, label)
    curves = tuple(numbers.drawn(cells, series, label))
    rows = {row.key: row for row in (*curves, *numbers.facts(cells, series))}
    names = [next(iter(series.values()))]
    facts = {"names": names, "label": label, "rows": list(rows.values())}
    words = Words("imbalance_curves", cells, layers=layers(cells), protocols=protocols(cells, names), **facts)
    heads = [*(f"ratio {ratio:g}" for ratio in series), f"mean from {BEYOND:g} on"]
    lines, label_heads = _lines(cells, series, f"class {label}", rows), ("data set", "quantity", "model")
    picture = draw.Picture([_part(cells, series, f"class {label}", rows)], legend=True)
    return Table.of(cells, words, rows.values(), label_heads, heads, lines, picture=picture, drawn=curves)


def _lines(cells: Cells, series: Mapping[float, str], of_class: str, rows: Rows) -> Iterable[Row]:
    """Yield the lines of the models: accuracies, differences, recalls."""
    name = next(iter(series.values()))
    for quantity, metric, condition, later in (
        (metric_head(ACCURACY), ACCURACY, "", numbers.LATER),
        ("accuracy (percent points)", GAP, numbers.PAIR, numbers.LATER_PAIR),
        (f"recall of {of_class} (%)", RECALL, of_class, ""),
    ):
        for column, model in cells.experiment.labels.items():
            own = [rows.get((variant, column, condition, metric)) for variant in series.values()]
            if any(own):
                labels = name, quantity, f"{model} minus {cells.label(AGAINST)}" if metric == GAP else model
                own.append(rows.get((name, column, later, metric)))
                yield from numbered_lines(cells, labels, own, words="not applicable")


def _part(cells: Cells, series: Mapping[float, str], of_class: str, rows: Rows) -> draw.Part:
    """Draw a panel for the accuracy and, if the class is known, one for its recall."""
    # Thick, below all others: the paper's models, its default one first, and the one that they are compared with.
    thick = [column for column in reversed(cells.experiment.columns) if column.startswith(OWN) or column == AGAINST]
    columns = [*thick, *(column for column in cells.experiment.columns if column not in thick)]
    ratios, variants = np.array(list(series)), list(series.values())
    # Points at one ratio stand beside each other over a quarter of the gap to the next ratio.
    beside = 0.25 * min(np.diff(ratios), default=0.2) * np.linspace(-0.5, 0.5, len(columns))
    x = draw.Axis(f"imbalance ratio of {of_class}", ticks={ratio: f"{ratio:g}" for ratio in series})
    panels = []
    for metric, condition, head in (ACCURACY, "", "accuracy (%)"), (RECALL, of_class, f"recall of {of_class} (%)"):
        marks = []
        for number, column in enumerate(columns):
            own = [rows[variant, column, condition, metric] for variant in variants]
            means, spreads = scaled(metric, np.array([(row.mean, row.std) for row in own], float).T)
            if np.isfinite(means).any():
                size, width = (6.5, 2.4) if column in thick else (4.2, 0.9)
                look, words = draw.look(number), cells.label(column)
                marks.append(draw.Line(ratios + beside[number], means, look, words, spreads, size=size, width=width))
        panels += [draw.Panel(marks, x=x, y=draw.Axis(head))] if marks else []
    reasons = "; ".join(dict.fromkeys(map(cells.reasons, variants)))
    return draw.Part([panels] if panels else [], cells.sizes(variants[0]), reasons, height=3.3)
