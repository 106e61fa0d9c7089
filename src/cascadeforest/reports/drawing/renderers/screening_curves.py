"""Test rows that leave a cascade early, and rows that go on (cs-fig4): two panels for each data set."""

from __future__ import annotations

import pandas as pd

from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.lines import numbered_lines
from cascadeforest.reports.drawing.table import Table
from cascadeforest.reports.drawing.view import metric_head, printed_text
from cascadeforest.reports.drawing.words import Words
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.screening_curves import EXTRA, NONE_EARLY, Options, count, drawn, facts

BAR_COLOUR = "#CFD3D8"


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    experiment = cells.experiment
    own, other = cells.options(Options).screening, cells.options(Options).against
    cells.check_columns("screening", [own])
    cells.check_columns("against", [other])
    first = {dataset: cells.first_arrays(dataset, own, EXTRA) for dataset in experiment.datasets}
    counts = {dataset: count(arrays) for dataset, arrays in first.items() if arrays}
    rows = tuple(facts(cells, own, other))
    by_dataset = {dataset: [row for row in rows if row.dataset == dataset] for dataset in experiment.datasets}
    words = Words("screening_curves", cells, label=cells.label(own), other=cells.label(other))
    heads = [
        metric_head(row.metric)
        + (f", {row.condition}" if row.metric == "accuracy" else "")
        + (f", {cells.label(other)}" if row.model == other else "")
        for row in by_dataset[experiment.datasets[0]]
    ]
    lines = [line for dataset, found in by_dataset.items() for line in numbered_lines(cells, (dataset,), found)]
    parts = [_part(cells, dataset, own, counts.get(dataset)) for dataset in experiment.datasets]
    picture = draw.Picture(parts, legend=True, legend_columns=2)
    shown = drawn(cells, own, counts)
    return Table.of(cells, words, rows, ("data set",), heads, lines, picture=picture, drawn=shown)


def _part(cells: Cells, dataset: str, column: str, counts: pd.DataFrame | None) -> draw.Part:
    """Draw one data set: rows that left, and rows that go on."""
    if counts is None or not counts.screened.any():
        words = cells.reason(dataset, column) if counts is None else f"levels: {len(counts) + 1}; {NONE_EARLY}"
        return draw.Part(title=cells.sizes(dataset), words=words)
    n_test, level = cells.n_test(dataset, column), counts.level
    blue, orange = draw.Look(draw.BLUE), draw.Look(draw.ORANGE, "^", "none")
    left: list[draw.Mark] = [
        draw.Bars(level, counts.screened, BAR_COLOUR, "rows that left at this level or before"),
        draw.Line(level, counts.screened_correct, blue, "of these, predicted right"),
        draw.Rule(y=n_test, label="all test rows"),
    ]
    on: list[draw.Mark] = [
        draw.Bars(level, counts.remaining, BAR_COLOUR, "rows that go on to the next level"),
        draw.Line(level - 0.2, counts.correct_now, blue._replace(line="none"), "of these, right at this level"),
        draw.Line(level + 0.2, counts.correct_next, orange, "of these, right at the next level"),
    ]
    for marks, metric, place in (left, "screened_share", "level 1"), (on, "remaining_share", "last level"):
        if number := cells.published.number(dataset, column, metric, place):
            words = f"published, {place}: {printed_text(metric, number.value, None)} %"
            marks.append(draw.Rule(y=n_test * float(number.value), label=words, colour=draw.BLACK, line=draw.DASHED))
    for row in counts.itertuples(index=False) if len(counts) <= 10 else ():  # more numbers would overlap
        left.append(draw.Text(row.level, 1.03 * n_test, f"{100 * row.screened / n_test:.0f} %"))
        change = f"{row.correct_next - row.correct_now:+,}".replace("-", "−")
        on.append(draw.Text(row.level, 1.03 * n_test, change))
    # Limits with room for two bars: a single one would fill the panel.
    x = draw.Axis("level", (0.3, max(len(counts), 2) + 0.7), ticks="whole")
    y = draw.Axis("test rows (number)", (0, 1.15 * n_test), ticks="whole")
    titles = (left, "(a) Rows that have left, accumulated"), (on, "(b) Rows that go on")
    return draw.Part([[draw.Panel(marks, title, x, y) for marks, title in titles]], cells.sizes(dataset), height=2.6)
