"""Ratios of costs with intervals, from models that were timed in turn with nothing else running.

A ratio is the cost of the reference divided by that of the model, as in `cascadeforest.reports.numbers.costs`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Final, Literal, TypeAlias

from cascadeforest.experiments.metrics import COST_METRICS, MEMORY_METRICS
from cascadeforest.experiments.plan import Timing
from cascadeforest.experiments.records import Timed
from cascadeforest.reports.numbers import intervals
from cascadeforest.reports.numbers.cells import Cells, failure_words
from cascadeforest.reports.numbers.frame import FAILED, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.importances import importance_columns
from cascadeforest.reports.numbers.intervals import Interval
from cascadeforest.reports.numbers.metrics import COUNTS, WHOLE_COST

IN_TURN: Final = "in turn"
#: Condition of the ratios of a model to itself.
ITSELF: Final = f"itself, {IN_TURN}"
FIT: Final = "fit_cpu_seconds"
TIMES: Final = (FIT, "predict_cpu_seconds", WHOLE_COST)
#: Costs, or counts, of a model in each round, by metric; a round in which it failed has none.
Rounds: TypeAlias = list[Mapping[str, float]]


@dataclass(frozen=True)
class Ratio:
    """The cost of a reference divided by that of a model.

    Parameters
    ----------
    interval : Interval
        Its `difference` is the ratio, `low` and `high` are already widened; `error` and `df` are of the logarithm.
    kind : {"in turn", "cells", "exact"}
        Timings in turn with nothing else running; times of ordinary cells, which ran beside others; sizes and counts.
    n : int
        Rounds or repeats behind it.
    wide : float
        Factor by which both ends were widened.
    why : str
        What it stands on, in words.
    """

    interval: Interval
    kind: Literal["in turn", "cells", "exact"]
    n: int
    wide: float
    why: str


def ratio(cells: Cells, dataset: str, column: str, reference: str, metric: str) -> Ratio | None:
    """Return the cost of the reference divided by that of a model; None if one of them is not known.

    Parameters
    ----------
    cells : Cells
        Of the experiment.
    dataset : str
        Data set variant; one that was timed in turn need not be a row of the table.
    column, reference : str
        Two models, or two importances of one model.
    metric : str
        A measured cost, ``fit_and_importance_cpu_seconds``, or one of the counts without noise (`COUNTS`).
    """
    timed = next((one for one in cells.results.timings_of(cells.experiment.id) if one.timing.dataset == dataset), None)
    if timed is not None and (found := _in_turn(cells, timed, column, reference, metric)):
        return found
    if metric not in COST_METRICS or any(one not in cells.experiment.columns for one in (column, reference)):
        return None
    if dataset not in cells.experiment.datasets:
        return None
    mine, own = (cells.metric(dataset, one, metric) for one in (reference, column))
    if not own or not mine or min(*own, *mine) <= 0:
        return None
    repeats = f"{len(own)} repeat{'s' if len(own) > 1 else ''}"
    if metric not in MEMORY_METRICS and metric in TIMES:
        wide = intervals.SINGLE_TIMING
        mean = intervals.cost_ratio(mine, own, 1.0).difference
        words = f"cells that ran beside others, {repeats}: wrong by up to {wide:g} times"
        return Ratio(Interval(mean, mean / wide, mean * wide, 0.0, 0.0), "cells", len(own), wide, words)
    wide = intervals.MACHINE if len(own) == 1 and metric != "model_mib" else 1.0
    return Ratio(_exact(mine, own, wide), "exact", len(own), wide, repeats)


def _exact(mine: Sequence[float], own: Sequence[float], wide: float = 1.0) -> Interval:
    """Interval over repeats of a cost that other work on the machine does not change; of one repeat its number."""
    if len(own) > 1:
        return intervals.cost_ratio(mine, own, wide)
    return Interval(mine[0] / own[0], mine[0] / own[0] / wide, mine[0] / own[0] * wide, 0.0, 0.0)


def _in_turn(cells: Cells, timed: Timed, column: str, reference: str, metric: str) -> Ratio | None:
    if metric in COUNTS:
        values = counts(timed)
        pairs = _pairs(values.get(reference, []), values.get(column, []), metric)
        return Ratio(_exact(*pairs), "exact", len(pairs[0]), 1.0, f"{len(pairs[0])} rounds") if pairs else None
    series = costs(cells, timed)
    pairs = _pairs(series.get((reference, False), []), series.get((column, False), []), metric)
    if not pairs:
        return None
    n = len(pairs[0])
    wide = machine(cells, timed, metric) if n > 1 else intervals.SINGLE_TIMING
    words = f"{n} round{'s' if n > 1 else ''} in turn, widened by {wide:.2f} for the machine"
    return Ratio(intervals.cost_ratio(*pairs, wide), IN_TURN, n, wide, words)


def _pairs(mine: Rounds, own: Rounds, metric: str) -> tuple[list[float], list[float]] | None:
    """Return what both cost, in the rounds in which both were measured."""
    both = [(a[metric], b[metric]) for a, b in zip(mine, own, strict=False) if a.get(metric) and b.get(metric)]
    return ([a for a, _ in both], [b for _, b in both]) if both else None


def itself(cells: Cells, timed: Timed, metric: str) -> tuple[list[float], list[float]] | None:
    """Return what a model cost in its first and in its second turn of each round; None if that was not measured."""
    series, name = costs(cells, timed), reference_of(cells, timed.timing)
    return _pairs(series.get((name, True), []), series.get((name, False), []), metric)


def machine(cells: Cells, timed: Timed, metric: str) -> float:
    """Return the factor by which ratios of a metric are widened for the machine."""
    return intervals.machine_factor(*(itself(cells, timed, metric) or ([], [])))


# What was timed -----------------------------------------------------------------------------------------------------


def has_importances(timing: Timing) -> bool:
    """Whether importances of one model are compared, not models."""
    return any(run.extras for run in timing.runs)


def names_of(cells: Cells, timing: Timing) -> dict[str, str]:
    """Return what is compared, columns or importances, with labels."""
    if has_importances(timing):
        return {name: one.label for name, one in importance_columns(cells.experiment).items()}
    return {column: cells.label(column) for column in timing.columns}


def reference_of(cells: Cells, timing: Timing) -> str:
    """Return what is timed against itself: the column that others are compared with, or the last importance of it."""
    if not has_importances(timing):
        return timing.against
    return [name for name, one in importance_columns(cells.experiment).items() if one.model == timing.against][-1]


def costs(cells: Cells, timed: Timed) -> dict[tuple[str, bool], Rounds]:
    """Return what each column, or importance, cost in each round, and whether in its second turn of the round."""
    found: dict[tuple[str, bool], Rounds] = {}
    importances = importance_columns(cells.experiment) if has_importances(timed.timing) else {}
    for one in timed.rounds:
        for turn in one.turns:
            if not importances:
                found.setdefault((turn.column, turn.is_second), []).append(turn.costs)
            for name, column in importances.items():
                if column.model == turn.column:
                    own = {WHOLE_COST: turn.costs[FIT] + turn.costs[column.extra]} if turn.costs else {}
                    found.setdefault((name, turn.is_second), []).append(own)
    return found


def counts(timed: Timed) -> dict[str, Rounds]:
    """Return the counts without noise of each column in each round."""
    found: dict[str, Rounds] = {}
    for one in timed.rounds:
        for turn in one.turns:
            if not turn.is_second:
                found.setdefault(turn.column, []).append(turn.counts)
    return found


def rows(cells: Cells) -> Iterable[TidyRow]:
    """Yield the tidy rows of what an experiment has timed in turn: costs, ratios with intervals, counts."""
    there = {one.timing.dataset: one for one in cells.results.timings_of(cells.experiment.id)}
    for timing in cells.results.plan.timings_of(cells.experiment.id):
        timed = there.get(timing.dataset, Timed(timing, ()))
        series, reference = costs(cells, timed), reference_of(cells, timing)
        for name in names_of(cells, timing):
            for metric in _metrics(timing):
                row = _told(TidyRow(timing.dataset, name, IN_TURN, metric), timed, name)
                values = [one.get(metric) for one in series.get((name, False), [])]
                yield row if None in values or not values else _mean(row, [one for one in values if one is not None])
                if name != reference:
                    yield _ratio_row(cells, timed, name, reference, metric)
        for metric in _metrics(timing):
            if pairs := itself(cells, timed, metric):
                found = intervals.cost_ratio(*pairs, 1.0)
                row = TidyRow(timing.dataset, reference, ITSELF, f"{metric}_ratio", found.difference, n=len(pairs[0]))
                yield replace(row, low=found.low, high=found.high) if len(pairs[0]) > 1 else row
        for column, rounds in counts(timed).items():
            for name in () if has_importances(timing) else COUNTS:
                numbers = [one[name] for one in rounds if name in one]
                if numbers and len(numbers) == len(rounds):
                    yield _mean(TidyRow(timing.dataset, column, "", name), numbers)


def _metrics(timing: Timing) -> tuple[str, ...]:
    return (WHOLE_COST,) if has_importances(timing) else TIMES[:2]


def _mean(row: TidyRow, values: Sequence[float]) -> TidyRow:
    spread = stdev(values) if len(values) > 1 else None
    return replace(row, mean=fmean(values), std=spread, n=len(values), status="ok", note="")


def _told(row: TidyRow, timed: Timed, name: str) -> TidyRow:
    """Return a row that says why there is no number."""
    failed = [failure for column, failure in timed.failures if column == name]
    return (
        replace(row, status=FAILED, note=failure_words(failed))
        if failed
        else replace(row, status=UNAVAILABLE, note="not timed" if not timed.rounds else "too little to be measured")
    )


def _ratio_row(cells: Cells, timed: Timed, name: str, reference: str, metric: str) -> TidyRow:
    row = TidyRow(timed.timing.dataset, name, f"against {reference}, {IN_TURN}", f"{metric}_ratio")
    row = replace(row, published=_published(cells, timed.timing, name, reference, metric))
    found = _in_turn(cells, timed, name, reference, metric)
    if found is None:
        failed = any(column in (name, reference) for column, _ in timed.failures)
        who = name if any(column == name for column, _ in timed.failures) or not failed else reference
        return _told(row, timed, who)
    one = found.interval
    return replace(row, mean=one.difference, low=one.low, high=one.high, n=found.n, note=found.why)


def _published(cells: Cells, timing: Timing, name: str, reference: str, metric: str) -> float | None:
    """Return the ratio of the paper's numbers."""
    if has_importances(timing):
        return None
    own, mine = (
        cells.published.number_at(timing.base, *cells.published.place(one, "", metric), metric)
        for one in (name, reference)
    )
    return float(mine.value / own.value) if own and mine and own.value else None
