"""Time and pass rate of DDBF by iteration (ddbf-table5): a line for each data set, model and quantity.

A row passes where an iteration finds it easy; rates are shares of all rows, so that they add up. Models without
iterations have their times in the last column. Means are over all repeats, whatever their split.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from cascadeforest.reports.drawing import Table, metric_head, numbered_lines, said_once
from cascadeforest.reports.drawing.lines import Lines
from cascadeforest.reports.numbers.cells import Cells, Values
from cascadeforest.reports.numbers.frame import ALL, Key, TidyRow
from cascadeforest.reports.numbers.splits import kinds

EXTRA = "iterations"
#: Iterations that the paper shows.
N_SHOWN = 3
CONDITIONS = (*(f"iteration {k}" for k in range(1, N_SHOWN + 1)), ALL)
TIMES, RATES = ("fit_cpu_seconds", "predict_cpu_seconds"), ("train_pass_rate", "test_pass_rate")


def render(cells: Cells) -> Table:
    """Make the table."""
    rows = {row.key: row for pair in cells.pairs for row in _rows(cells, *pair)}
    heads = [*(f"Iteration {k}" for k in range(1, N_SHOWN + 1)), f"First {N_SHOWN}, or all"]
    lines = [line for dataset in cells.experiment.datasets for line in said_once(_lines(cells, dataset, rows))]
    told = dict(n_shown=N_SHOWN, kinds=kinds(cells))
    return Table.of(cells, told, rows.values(), ("data set", "model", ""), heads, lines)


def quantities(arrays: Mapping[str, np.ndarray]) -> dict[tuple[str, str], float]:
    """Return the numbers of one repeat by metric and condition; "all" sums the iterations that are shown and ran."""
    rates = {
        f"{part}_pass_rate": arrays[f"easy_counts_{part}"].sum(axis=1) / arrays[f"class_counts_{part}"][0].sum()
        for part in ("train", "test")
    }
    found: dict[tuple[str, str], float] = {}
    for metric, values in ({name: arrays[name] for name in TIMES} | rates).items():
        shown = [float(value) for value in values[:N_SHOWN]]
        found |= {(metric, condition): value for condition, value in zip(CONDITIONS, shown, strict=False)}
        found[metric, ALL] = sum(shown)
    return found


def _rows(cells: Cells, dataset: str, column: str) -> Iterable[TidyRow]:
    runs = cells.arrays(dataset, column, EXTRA)
    found = [quantities(run) for run in runs if run]
    # Times printed without an iteration are times of a model that has none.
    is_whole = any(cells.published.number(dataset, column, metric) for metric in TIMES)
    if (runs and not found) or (not runs and is_whole):
        for metric in TIMES:
            yield cells.row(dataset, column, "", metric, cells.metric(dataset, column, metric))
        return
    for metric in (*TIMES, *RATES):
        for condition in CONDITIONS:
            values: Values = [one[metric, condition] for one in found if (metric, condition) in one]
            yield cells.row(dataset, column, condition, metric, values or ("ended before" if found else None))


def _lines(cells: Cells, dataset: str, rows: dict[Key, TidyRow]) -> Iterable[Lines]:
    for column in cells.experiment.columns:
        words = "no iterations" if cells.all(dataset, column) else ""
        for metric in (*TIMES, *RATES):
            own = [rows.get((dataset, column, condition, metric)) for condition in CONDITIONS]
            own[-1] = own[-1] or rows.get((dataset, column, "", metric))
            if own[-1] is not None:
                labels = (dataset, cells.label(column), metric_head(metric))
                yield numbered_lines(cells, labels, own, words=words), own
