"""Training rows that DDBF's iterations pass and keep, by class (ddbf-fig5): stacks, and the ratio of the classes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import Row, metric_head
from cascadeforest.reports.drawing.words import Words
from cascadeforest.reports.numbers import class_shares as numbers
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.class_shares import AFTER, AUC, NEGATIVES, OVER, POSITIVES, RATE, RATIO, STACK
from cascadeforest.reports.numbers.frame import TidyRow, to_frame

#: Columns of the table: how the condition of a number ends, or else its metric.
COLUMNS = ("reached", RATE, NEGATIVES, POSITIVES, RATIO, AUC)
HEADS = ("rows that reach it", "passed (% of all)", NEGATIVES, POSITIVES, "negatives per positive", metric_head(AUC))
COLOURS = ("#B9D8EA", "#F4CDB0", draw.ORANGE, draw.BLUE)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(numbers.EXTRA)
    found = numbers.measured(cells)
    rows, drawn = tuple(numbers.facts(cells, found)), tuple(numbers.drawn(cells, found))
    words = Words("class_shares", cells)
    lines = [line for pair in cells.pairs for line in _lines(cells, *pair, rows)]
    frame = to_frame(row for row in drawn if row.condition)
    parts = [_part(cells, dataset, frame[frame.dataset == dataset]) for dataset in cells.experiment.datasets]
    picture = draw.Picture(parts, legend=True, legend_columns=3)
    label_heads = (*cells.label_heads, "iteration")
    return Table.of(cells, words, rows, label_heads, HEADS, lines, picture=picture, drawn=drawn)


def _lines(cells: Cells, dataset: str, column: str, rows: Iterable[TidyRow]) -> Iterable[Row]:
    """Yield a line for each state of the first repeat, and for the means."""
    found: dict[str, list[TidyRow | None]] = {}
    for row in rows:
        if (row.dataset, row.model) == (dataset, column):
            condition = row.condition.removesuffix(OVER).removesuffix(", ").replace(numbers.ALL, "")
            state, _, what = condition.partition(", ")
            label = (state or AFTER).removeprefix("iteration ") + ", mean" * row.condition.endswith(OVER)
            found.setdefault(label, [None] * len(COLUMNS))[COLUMNS.index(what or row.metric)] = row
    for label, own in found.items():
        yield from numbered_lines(cells, (*cells.labels(dataset, column), label), own)


def _part(cells: Cells, dataset: str, frame: pd.DataFrame) -> draw.Part:
    """Draw one data set: a stack for each model, and the ratio of the classes for all models."""
    if frame.empty:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    panels: list[draw.Panel | None] = []
    marks: list[draw.Mark] = []
    n_states = frame[frame.metric == RATIO].groupby("model").size().max()
    x = draw.Axis("after iteration (0: before the first)", (-0.6, max(n_states, 3) - 0.4), ticks="whole")
    for number, (column, own) in enumerate(frame.groupby("model", sort=False)):
        shares = 100 * own.loc[own.metric == numbers.SHARE, "mean"].to_numpy().reshape(-1, len(STACK)).T
        bars = zip(shares, COLOURS, STACK, np.cumsum(shares, axis=0) - shares, strict=True)
        stack = [draw.Bars(range(shares.shape[1]), *bar, width=0.9) for bar in bars]
        title = f"(a{number + 1}) {cells.label(column)}"
        panels.append(draw.Panel(stack, title, x, draw.Axis("training rows (%)", (0, 100))))
        ratios = own.loc[own.metric == RATIO, "mean"]
        marks.append(draw.Line(range(len(ratios)), ratios, draw.look(number), cells.label(column)))
    published = numbers.references(cells, ratios.iloc[0])
    for condition, digits in published.items():
        words = f"published, {condition}: {digits}"
        marks.append(draw.Rule(y=float(digits), label=words, colour=draw.BLACK, line=draw.DASHED))
    # At least a decade, so that a ratio that hardly moves looks so.
    shown = [*frame.loc[frame.metric == RATIO, "mean"], *map(float, published.values())]
    low, high = np.nanmin(shown) / 1.4, np.nanmax(shown) * 1.4
    y = draw.Axis("negatives per positive", (low, max(high, 10 * low)), log=True)
    panels += [draw.Panel(marks, "(b) Negatives per positive kept", x, y), *[None] * (1 - len(panels) % 2)]
    return draw.Part([panels[k : k + 2] for k in range(0, len(panels), 2)], cells.sizes(dataset))
