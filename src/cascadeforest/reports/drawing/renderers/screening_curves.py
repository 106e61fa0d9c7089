"""Test rows that leave a cascade early, and rows that go on (cs-fig4): two panels for each data set."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cascadeforest.data.errors import UserError
from cascadeforest.reports.drawing import Table, TidyRow, draw, metric_head, numbered_lines, printed_text
from cascadeforest.reports.numbers.cells import Cells, Values

EXTRA = "layer_decisions"
NONE_EARLY = "no row leaves early"
#: Rows that left up to a level, of these right; rows that go on, of these right at this level and at the next one.
CURVES = ("screened", "screened_correct", "remaining", "correct_now", "correct_next")
BAR_COLOUR = "#CFD3D8"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the column with screening, and the column without that it is compared with."""

    screening: str
    against: str


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    experiment = cells.experiment
    own, other = cells.options(Options).screening, cells.options(Options).against
    cells.check_columns("screening", [own])
    cells.check_columns("against", [other])
    counts = {name: count(first) for name in experiment.datasets if (first := cells.first_arrays(name, own, EXTRA))}
    rows = tuple(_facts(cells, own, other))
    by_dataset = {dataset: [row for row in rows if row.dataset == dataset] for dataset in experiment.datasets}
    heads = []
    for row in by_dataset[experiment.datasets[0]]:
        where = row.condition if row.metric == "accuracy" else "", cells.label(other) if row.model == other else ""
        heads.append(", ".join(filter(None, (metric_head(row.metric), *where))))
    lines = [line for dataset, found in by_dataset.items() for line in numbered_lines(cells, (dataset,), found)]
    parts = [_part(cells, dataset, own, counts.get(dataset)) for dataset in experiment.datasets]
    told, shown = dict(label=cells.label(own), other=cells.label(other)), _drawn(cells, own, counts)
    picture = draw.Picture(parts, legend=True, legend_columns=2)
    return Table.of(cells, told, rows, ("data set",), heads, lines, picture=picture, drawn=shown)


def count(arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Count `CURVES` at each level but the last, at which all rows leave.

    `arrays` has the predictions of each level, in which a row that left keeps its class, the level, from 0, that
    decided each row, and the true classes.
    """
    right, decided, found = arrays["staged_predicted"] == arrays["y_test"], arrays["decision_level"], []
    for k in range(len(right) - 1):
        left, on = decided <= k, decided > k
        found.append([k + 1, *map(np.sum, (left, right[k, left], on, right[k, on], right[k + 1, on]))])
    return pd.DataFrame(found, columns=["level", *CURVES], dtype=int)


def _facts(cells: Cells, own: str, other: str) -> Iterable[TidyRow]:
    """Yield the numbers of the paper's text for each data set on which both ran; one may have fewer repeats."""
    keys = (
        (own, "level 1", "screened_share"),
        (own, "last level", "remaining_share"),
        (own, "screened rows", "accuracy"),
        (own, "all rows", "accuracy"),
        (other, "all rows", "accuracy"),
        (own, f"screened rows, against {other}", "different_predictions"),
        (own, f"last level, against {other}", "additional_correct"),
        (own, "", "n_layers"),
        (other, "", "n_layers"),
    )
    for dataset in cells.experiment.datasets:
        found = {column: cells.arrays(dataset, column, EXTRA) for column in (own, other)}
        lacking = next((column for column, arrays in found.items() if not arrays), None)
        mine, theirs = found.values()
        # A repeat that one of them lacks is paired with itself; of such a pair only its own numbers are taken.
        pairs = zip([*mine, *theirs[len(mine) :]], [*theirs, *mine[len(theirs) :]], strict=True)
        repeats = [] if lacking else [_compare(dataset, *pair) for pair in pairs]
        for (column, condition, metric), *every in zip(keys, *repeats, strict=True):
            values = every[: min(map(len, found.values())) if condition.endswith(other) else len(found[column])]
            n, n_none = len(values), values.count(NONE_EARLY)
            told: Values = f"{NONE_EARLY} in {n_none} of {n} repeats" if 0 < n_none < n else values
            yield replace(cells.row(dataset, lacking or column, condition, metric, told), model=column)


def _compare(dataset: str, own: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> list[float | str]:
    predicted, level, y = (own[name] for name in ("staged_predicted", "decision_level", "y_test"))
    others, other_y = other["staged_predicted"], other["y_test"]
    if (y != other_y).any():
        raise UserError(f"{dataset}: the test rows of the two cascades are not the same. Run both again.")
    early, right, other_right = level < len(predicted) - 1, predicted[-1] == y, others[-1] == y
    differs, more = predicted[-1] != others[-1], right.sum() - other_right.sum()
    early_right, different = (right[early].mean(), differs[early].sum()) if early.any() else (NONE_EARLY, NONE_EARLY)
    first, late = np.mean(early & (level == 0)), np.mean(~early)
    return [first, late, early_right, right.mean(), other_right.mean(), different, more, len(predicted), len(others)]


def _drawn(cells: Cells, column: str, counts: Mapping[str, pd.DataFrame]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: every curve at every level."""
    for dataset in cells.experiment.datasets:
        if dataset not in counts:
            yield cells.row(dataset, column, "", CURVES[0], None)
        for curve in CURVES if dataset in counts else ():
            for level, value in zip(counts[dataset].level, counts[dataset][curve], strict=True):
                yield cells.row(dataset, column, f"level {level}", curve, int(value))


def _part(cells: Cells, dataset: str, column: str, counts: pd.DataFrame | None) -> draw.Part:
    """Draw one data set: rows that left, and rows that go on."""
    if counts is None or not counts.screened.any():
        words = cells.reason(dataset, column) if counts is None else f"levels: {len(counts) + 1}; {NONE_EARLY}"
        return draw.Part(title=cells.sizes(dataset), words=words)
    n_test, level = cells.n_test(dataset, column), counts.level
    blue, orange = draw.Look(draw.BLUE), draw.Look(draw.ORANGE, "^", "none")
    left: list[draw.Mark] = [
        draw.bars(level, counts.screened, BAR_COLOUR, "rows that left at this level or before"),
        draw.line(level, counts.screened_correct, blue, "of these, predicted right"),
        draw.rule(y=n_test, label="all test rows"),
    ]
    on: list[draw.Mark] = [
        draw.bars(level, counts.remaining, BAR_COLOUR, "rows that go on to the next level"),
        draw.line(level - 0.2, counts.correct_now, blue._replace(line="none"), "of these, right at this level"),
        draw.line(level + 0.2, counts.correct_next, orange, "of these, right at the next level"),
    ]
    for marks, metric, place in (left, "screened_share", "level 1"), (on, "remaining_share", "last level"):
        if number := cells.published.number(dataset, column, metric, place):
            words = f"published, {place}: {printed_text(metric, number.value, None)} %"
            marks.append(draw.rule(y=n_test * float(number.value), label=words, colour=draw.BLACK, line=draw.DASHED))
    for row in counts.itertuples(index=False) if len(counts) <= 10 else ():  # more numbers would overlap
        left.append(draw.text(row.level, 1.03 * n_test, f"{100 * row.screened / n_test:.0f} %"))
        change = f"{row.correct_next - row.correct_now:+,}".replace("-", "−")
        on.append(draw.text(row.level, 1.03 * n_test, change))
    # Limits with room for two bars: a single one would fill the panel.
    x = draw.Axis("level", (0.3, max(len(counts), 2) + 0.7), ticks="whole")
    y = draw.Axis("test rows (number)", (0, 1.15 * n_test), ticks="whole")
    titles = (left, "(a) Rows that have left, accumulated"), (on, "(b) Rows that go on")
    return draw.Part([[draw.Panel(marks, title, x, y) for marks, title in titles]], cells.sizes(dataset), height=2.6)
