"""What renderers do for each model on each data set: rows of what was saved, lines of a table, parts of a picture.

A model that did not run has one row, without a condition, and its reason in table and picture.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing.lines import Row, numbered_lines
from cascadeforest.reports.drawing.panels import Look, Mark, Part, line
from cascadeforest.reports.numbers.cells import Cells, Values, means
from cascadeforest.reports.numbers.frame import OK, Found, TidyRow

Column = TypeVar("Column", bound=Hashable)
#: What the repeats of a model saved, and the numbers of it by condition and metric.
Runs = list[dict[str, np.ndarray]]
Numbers = Mapping[tuple[str, str], Values]


def rows_of(
    cells: Cells, extra: str, metric: str, numbers: Callable[[Cells, Pair, Runs], Numbers]
) -> dict[Pair, Found]:
    """Return the rows of what `numbers` finds in an extra; of a model that did not run a row of the metric."""
    cells.need(extra)
    saved = {pair: cells.arrays(*pair, extra) for pair in cells.pairs}
    found = {pair: numbers(cells, pair, runs) if runs else {("", metric): None} for pair, runs in saved.items()}
    return {pair: {key: cells.row(*pair, *key, own) for key, own in values.items()} for pair, values in found.items()}


def lacking(found: Found) -> str:
    """Return why a model has no rows but one, or nothing."""
    first = next(iter(found.values()))
    is_lacking = len(found) == 1 and first.condition == "" and first.status != OK
    return first.reason if is_lacking else ""


def lines_of(
    cells: Cells,
    found: Mapping[Pair, Found],
    columns: Sequence[Column],
    place: Callable[[str, str], tuple[str, Column]],
    size: str | None = "",
    text: Callable[[Found], Callable[[TidyRow], str]] | None = None,
    words: str = "",
) -> Iterable[Row]:
    """Yield the lines of the rows: `place` gives the label of the line and the column of a condition and metric.

    Rows of other columns are in the CSV only. `size` "n" counts the repeats, None the test rows too.
    """
    for (dataset, model), own in found.items():
        lines: dict[str, list[TidyRow | None]] = {"": [*own.values()] * len(columns)} if lacking(own) else {}
        for key, row in own.items() if not lines else ():
            label, column = place(*key)
            if column in columns:
                lines.setdefault(label, [None] * len(columns))[columns.index(column)] = row
        for label, rows in lines.items():
            n = next((row.n for row in rows if row is not None), None)
            shown = f"{n or ''}" if size == "n" else size
            labels = (*cells.labels(dataset, model), label)
            yield from numbered_lines(cells, labels, rows, shown, text and text(own), words)


def parts_of(cells: Cells, found: Mapping[Pair, Found], part: Callable[[Cells, Pair, Found], Part]) -> list[Part]:
    """Return the part of each model, or its reason."""
    return [
        Part(title=cells.name(*pair), words=words) if (words := lacking(own)) else part(cells, pair, own)
        for pair, own in found.items()
    ]


def curve(
    rows: Iterable[TidyRow], look: Look, label: str = "", scale: float = 1.0, k: int = 0, n: int = 1, **more: Any
) -> Mark:
    """Return the line of the means of layer 1, 2, ..., the k-th of n curves whose whiskers stand beside each other."""
    values, spreads = means(rows, scale)
    return line(beside(range(1, len(values) + 1), k, n, 0.4), values, look, label, spreads, **more)


def beside(places: Iterable[float], k: int, n: int, width: float) -> np.ndarray:
    """Return where the bars of the k-th of n series stand, beside each other around each place."""
    return np.asarray(places) + (k - (n - 1) / 2) * (width / n)
