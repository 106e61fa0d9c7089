"""Ratios of costs with intervals, from models that were timed in turn with nothing else running.

A ratio is the cost of the reference divided by that of the model, as in `cascadeforest.reports.numbers.costs`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Final, TypeAlias

from cascadeforest.experiments.plan import Timing
from cascadeforest.experiments.records import Timed
from cascadeforest.inference import intervals
from cascadeforest.inference.intervals import Estimate
from cascadeforest.reports.numbers.cells import Cells, failure_words
from cascadeforest.reports.numbers.costs import published_ratio
from cascadeforest.reports.numbers.frame import FAILED, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.importances import importance_columns
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
    """The cost of a reference divided by that of a model, from timings in turn with nothing else running."""

    estimate: Estimate  # of its logarithm
    n: int  # rounds behind it
    why: str  # what it stands on, in words


def ratio(cells: Cells, dataset: str, column: str, reference: str, metric: str) -> Ratio | None:
    """Return the cost of the reference divided by that of a model; None if they were not timed in turn.

    `dataset` need not be a row of the table. `column` and `reference` are two models, or two importances of one model.
    """
    timed = next((one for one in cells.results.timings_of(cells.experiment.id) if one.timing.dataset == dataset), None)
    series = costs(cells, timed) if timed else {}
    pairs = _pairs(series.get((reference, False), []), series.get((column, False), []), metric)
    if timed is None or not pairs:
        return None
    n = len(pairs[0])
    wide = machine(cells, timed, metric) if n > 1 else intervals.SINGLE_TIMING
    words = f"{n} round{'s' if n > 1 else ''} in turn, widened by {wide:.2f} for the machine"
    return Ratio(intervals.cost_ratio(*pairs, wide), n, words)


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
                found, n = intervals.cost_ratio(*pairs, 1.0), len(pairs[0])
                row = TidyRow(timing.dataset, reference, ITSELF, f"{metric}_ratio", math.exp(found.value), n=n)
                yield _with_ratio(row, found) if n > 1 else row
        counts: dict[str, Rounds] = {}
        for turn in (turn for one in timed.rounds for turn in one.turns if not turn.is_second):
            counts.setdefault(turn.column, []).append(turn.counts)
        for column, rounds in counts.items():
            for name in () if has_importances(timing) else COUNTS:
                if all(name in one for one in rounds):
                    yield _mean(TidyRow(timing.dataset, column, "", name), [one[name] for one in rounds])


def _metrics(timing: Timing) -> tuple[str, ...]:
    return (WHOLE_COST,) if has_importances(timing) else TIMES[:2]


def _mean(row: TidyRow, values: Sequence[float]) -> TidyRow:
    spread = stdev(values) if len(values) > 1 else None
    return replace(row, mean=fmean(values), std=spread, n=len(values), status="ok", note="")


def _with_ratio(row: TidyRow, one: Estimate) -> TidyRow:
    return replace(row, mean=math.exp(one.value), low=math.exp(one.low), high=math.exp(one.high))


def _told(row: TidyRow, timed: Timed, *names: str) -> TidyRow:
    """Return a row that says why there is no number: the first of these models that failed, or that none was timed."""
    for name in names:
        if failed := [failure for column, failure in timed.failures if column == name]:
            return replace(row, status=FAILED, note=failure_words(failed))
    return replace(row, status=UNAVAILABLE, note="not timed" if not timed.rounds else "too little to be measured")


def _ratio_row(cells: Cells, timed: Timed, name: str, reference: str, metric: str) -> TidyRow:
    timing = timed.timing
    row = TidyRow(timing.dataset, name, f"against {reference}, {IN_TURN}", f"{metric}_ratio")
    if not has_importances(timing):
        row = replace(row, published=published_ratio(cells, timing.base, name, reference, metric))
    found = ratio(cells, timing.dataset, name, reference, metric)
    if found is None:
        return _told(row, timed, name, reference)
    return _with_ratio(replace(row, n=found.n, note=found.why), found.estimate)
