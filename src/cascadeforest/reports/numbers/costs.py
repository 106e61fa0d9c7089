"""Costs of models beside the cost of one of them: of ordinary cells, and timed in turn with nothing else running.

A ratio is the cost of the reference divided by that of the model. Models that were timed in turn have one with an
interval; cells that ran beside others have the ratio of the means, and the smallest and the largest of the repeats,
over the repeats that both models have.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Final, NamedTuple, TypeAlias

from cascadeforest.experiments.metrics import COST_METRICS
from cascadeforest.experiments.plan import Timing
from cascadeforest.experiments.records import Timed
from cascadeforest.inference import intervals
from cascadeforest.inference.intervals import Estimate
from cascadeforest.reports.numbers.cells import Cells, failure_words
from cascadeforest.reports.numbers.frame import FAILED, OK, UNAVAILABLE, Key, TidyRow
from cascadeforest.reports.numbers.importances import importance_columns
from cascadeforest.reports.numbers.metrics import COUNTS, WHOLE_COST

#: The papers print one figure of memory, where we measure several peaks; it stands below the peak of training.
MEMORY, MEMORY_BELOW = "memory_mb", "fit_peak_mib"
#: How the conditions of the ratios of single repeats end, which stand beside the ratio of the means.
ENDS = {"smallest of the repeats": min, "largest of the repeats": max}
DIFFERENCE: Final = "accuracy_difference"
IN_TURN: Final = "in turn"
#: Condition of the ratios of a model to itself.
ITSELF: Final = f"itself, {IN_TURN}"
FIT: Final = "fit_cpu_seconds"
TIMES: Final = (FIT, "predict_cpu_seconds", WHOLE_COST)
#: Costs, or counts, of a model in each round, by metric; a round in which it failed has none.
Rounds: TypeAlias = list[Mapping[str, float]]


# Ordinary cells -----------------------------------------------------------------------------------------------------


def ratio_rows(
    cells: Cells, rows: Mapping[Key, TidyRow], reference: str, columns: Collection[str] = ()
) -> Iterable[TidyRow]:
    """Yield the cost of the reference divided by that of other columns, by default of all; `rows` has the scores."""
    metrics = [metric for metric in cells.experiment.metrics if metric in COST_METRICS]
    wanted = [pair for pair in cells.pairs if pair[1] in (columns or cells.experiment.columns) and pair[1] != reference]
    for (dataset, column), metric in itertools.product(wanted, metrics):
        published = published_ratio(cells, cells.experiment.base(dataset), column, reference, metric)
        row = TidyRow(dataset, column, f"against {reference}", f"{metric}_ratio", published=published)
        measured = [rows.get((dataset, name, "", metric)) for name in (reference, column)]
        told = [(one.status, one.note) if one else (UNAVAILABLE, "does not apply") for one in measured]
        lacking = next((one for one in told if one[0] != OK), None)
        costs = [] if lacking else [cells.metric(dataset, name, metric) for name in (reference, column)]
        both = list(zip(*costs, strict=False))  # a column can have fewer repeats: the first
        if lacking or not all(own for _, own in both):
            status, note = lacking or (UNAVAILABLE, "too little to be measured")
            yield replace(row, status=status, note=note)
            continue
        of_repeats, (of_other, of_own) = [cost / own for cost, own in both], map(fmean, zip(*both, strict=True))
        row = replace(row.over(of_repeats), mean=of_other / of_own, n_test=cells.n_test(dataset, column))
        yield row
        for name, end in ENDS.items() if len(of_repeats) > 1 else ():
            yield replace(row, condition=f"{row.condition}, {name}", mean=end(of_repeats), std=None, published=None)


def published_ratio(cells: Cells, base: str, column: str, reference: str, metric: str) -> float | None:
    """Return the ratio of the paper's numbers, which it lists under the data set `base`."""
    name, published = MEMORY if metric == MEMORY_BELOW else metric, cells.published
    own, mine = (published.number_at(base, *published.place(one, "", name), name) for one in (column, reference))
    return float(mine.value / own.value) if own and mine and own.value else None


def memory_rows(cells: Cells) -> Iterable[TidyRow]:
    """Yield the paper's figure of memory under its own name: it is in MB, and not known to be a peak."""
    note = "published only; measured here are fit_peak_mib, predict_peak_mib and model_mib"
    for dataset, column in cells.pairs if MEMORY_BELOW in cells.experiment.metrics else ():
        if number := cells.published.number(dataset, column, MEMORY):
            yield TidyRow(dataset, column, "", MEMORY, published=float(number.value), status=UNAVAILABLE, note=note)


# Timed in turn -----------------------------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """The cost of a reference divided by that of a model, from timings in turn with nothing else running."""

    estimate: Estimate  # of its logarithm
    n: int  # rounds behind it
    why: str  # what it stands on, in words


def ratio(cells: Cells, dataset: str, column: str, reference: str, metric: str) -> Ratio | None:
    """Return the cost of the reference divided by that of a model; None if they were not timed in turn.

    `dataset` need not be a row of the table. `column` and `reference` are two models, or two importances of one model.
    """
    timed = next((one for one in cells.results.timings_of(cells.experiment.id) if one.timing.dataset == dataset), None)
    series = series_of(cells, timed) if timed else {}
    pairs = _pairs(series.get((reference, False), []), series.get((column, False), []), metric)
    if timed is None or not pairs:
        return None
    n = len(pairs[0])
    wide = intervals.machine_factor(*(itself(cells, timed, metric) or ([], []))) if n > 1 else intervals.SINGLE_TIMING
    words = f"{n} round{'s' if n > 1 else ''} in turn, widened by {wide:.2f} for the machine"
    return Ratio(intervals.cost_ratio(*pairs, wide), n, words)


def _pairs(mine: Rounds, own: Rounds, metric: str) -> tuple[list[float], list[float]] | None:
    """Return what both cost, in the rounds in which both were measured."""
    both = [(a[metric], b[metric]) for a, b in zip(mine, own, strict=False) if a.get(metric) and b.get(metric)]
    return ([a for a, _ in both], [b for _, b in both]) if both else None


def itself(cells: Cells, timed: Timed, metric: str) -> tuple[list[float], list[float]] | None:
    """Return what a model cost in its first and in its second turn of each round; None if that was not measured."""
    series, name = series_of(cells, timed), reference_of(cells, timed.timing)
    return _pairs(series.get((name, True), []), series.get((name, False), []), metric)


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


def series_of(cells: Cells, timed: Timed) -> dict[tuple[str, bool], Rounds]:
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
        series, reference = series_of(cells, timed), reference_of(cells, timing)
        for name in names_of(cells, timing):
            for metric in _metrics(timing):
                row, rounds = TidyRow(timing.dataset, name, IN_TURN, metric), series.get((name, False), [])
                is_whole = rounds and all(metric in one for one in rounds)
                yield row.over([one[metric] for one in rounds]) if is_whole else _told(row, timed, name)
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
                    yield TidyRow(timing.dataset, column, "", name).over([one[name] for one in rounds])


def _metrics(timing: Timing) -> tuple[str, ...]:
    return (WHOLE_COST,) if has_importances(timing) else TIMES[:2]


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
    printed = None if has_importances(timing) else published_ratio(cells, timing.base, name, reference, metric)
    row = TidyRow(timing.dataset, name, f"against {reference}, {IN_TURN}", f"{metric}_ratio", published=printed)
    found = ratio(cells, timing.dataset, name, reference, metric)
    if found is None:
        return _told(row, timed, name, reference)
    return _with_ratio(replace(row, n=found.n, note=found.why), found.estimate)
