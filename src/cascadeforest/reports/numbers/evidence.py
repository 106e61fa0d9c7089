"""The comparisons that a claim stands on: its numbers, found in the cells and tables of experiments, as estimates."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import stats

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_operation, parse_variant
from cascadeforest.experiments.claims import CLAIMS_FILE, Claim, Part
from cascadeforest.reports.numbers import intervals, timings
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import NO_ROWS, Difference, difference, of_repeats
from cascadeforest.reports.numbers.frame import OK, Key, TidyRow
from cascadeforest.reports.numbers.metrics import COMPARED, COST_RATIOS, COSTS, known_metric
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.numbers.rules import COST_REGION, Comparison, Estimate, criterion

#: Whether a comparison counts; if not: data are not at hand, it was not run (in full), or the mechanism was not active.
State: TypeAlias = Literal["judged", "absent", "not run", "inactive"]
#: Regions of importances' AUC, of calibration errors, of shares and of correlations.
IMPORTANCE, CALIBRATION, SHARE, CORRELATION = 0.005, 0.005, 0.02, 0.1
#: What stands for the number of a layer in conditions.
ANY_LAYER: Final = "*"
#: How the note of a bounded number begins.
NOT_IN_FULL: Final = "not in full"
#: Renderer of the tables whose AUC is that of importances.
RANKINGS: Final = "auc_ranking"


@dataclass(frozen=True)
class Evidence:
    """A comparison, or why there is none.

    Parameters
    ----------
    experiment, dataset : str
        Where its numbers stand; the data set is the variant of this suite, or what the claim calls it.
    words : str
        Model, rival and condition.
    metric : str
        Of the numbers; ratios and differences have names of their own.
    state : {"judged", "absent", "not run", "inactive"}
        Whether it counts.
    note : str
        What its interval stands on, or why it does not count.
    is_log : bool
        Whether the estimate is a logarithm.
    comparison : Comparison or None
        Also there where numbers are bounded, and do not count.
    published : float or None
        The same of the paper's numbers.
    """

    experiment: str
    dataset: str
    words: str
    metric: str
    state: State
    note: str
    is_log: bool = False
    comparison: Comparison | None = field(default=None, repr=False)
    published: float | None = None


@dataclass(frozen=True)
class Sources:
    """Cells and rows of all experiments of a suite.

    Parameters
    ----------
    results : Results
        Of the suite.
    rows_of : callable
        Gives the rows of an experiment's table and picture.
    """

    results: Results
    rows_of: Callable[[str], Iterable[TidyRow]]
    _cells: dict[str, Cells] = field(default_factory=dict, init=False)
    _rows: dict[str, dict[Key, TidyRow]] = field(default_factory=dict, init=False)

    def cells(self, experiment: str) -> Cells:
        """Return the cells of an experiment."""
        if experiment not in self._cells:
            self._cells[experiment] = Cells(self.results.experiments[experiment], self.results)
        return self._cells[experiment]

    def rows(self, experiment: str) -> dict[Key, TidyRow]:
        """Return the rows of an experiment by key; those of the table win over those of the picture."""
        if experiment not in self._rows:
            found: dict[Key, TidyRow] = {}
            for row in self.rows_of(experiment):
                found.setdefault(row.key, row)
            self._rows[experiment] = found
        return self._rows[experiment]

    def variant(self, experiment: str, name: str) -> str | None:
        """Return the row of an experiment that a claim means: itself, or the first that the paper calls so."""
        declared = self.results.experiments[experiment]
        if name in declared.datasets:
            return name
        return next((one for one in declared.datasets if name in (declared.base(one), parse_variant(one)[0])), None)


@dataclass(frozen=True)
class _Side:
    """Where a number of a claim is: experiment, data set, model, condition and metric."""

    sources: Sources
    part: Part
    dataset: str
    model: str
    condition: str
    metric: str

    @cached_property
    def cells(self) -> Cells:
        return self.sources.cells(self.part.experiment)

    @property
    def is_column(self) -> bool:
        return self.model in self.cells.experiment.columns

    @cached_property
    def row(self) -> TidyRow | None:
        return self.sources.rows(self.part.experiment).get((self.dataset, self.model, self.condition, self.metric))

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number of each repeat, or one that has no repeats; empty if there is none."""
        if self.row is not None and self.row.values:
            return self.row.values
        if (
            self.is_column
            and not self.condition
            and (found := self.cells.metric(self.dataset, self.model, self.metric))
        ):
            return tuple(found)
        if self.row is not None and self.row.mean is not None and (self.row.n or 1) == 1:
            return (self.row.mean,)
        return tuple(of_curves(self.cells, self.dataset, self.model, self.condition, self.metric))

    @property
    def why_not(self) -> str:
        """Why there is no number."""
        if self.row is not None and self.row.status != OK:
            return ": ".join(filter(None, (self.row.status, self.row.note)))
        reason = self.cells.reason(self.dataset, self.model) if self.is_column else ""
        return reason.removeprefix(f"{OK}: ").removeprefix(OK) or f"{self.part.experiment} has no such number"

    @property
    def bounds(self) -> list[str]:
        """What the suite bounds, in words: training rows, trees or epochs, and layers where their number was met."""
        declared, found = self.cells.experiment, []
        named = {name for one in (*self.part.datasets, *self.part.with_datasets) for name in parse_variant(one)[1]}
        for operation in parse_variant(self.dataset)[1]:
            if parse_operation(operation).kind == "rows" and operation not in named:
                found.append(f"{parse_operation(operation).count:,} training rows only")
        for column in [self.model] if self.is_column else declared.columns:
            for name, bound in declared.bounds.get(column, {}).get(self.dataset, {}).items():
                own = self.cells.all(self.dataset, column)
                if name != "max_layers" or any(cell.growth and cell.growth.at_cap for cell in own):
                    found.append(f"{name} {bound.here:g} of {bound.unbounded:g}")
        return list(dict.fromkeys(found))


def of_curves(cells: Cells, dataset: str, column: str, condition: str, metric: str) -> Iterable[float]:
    """Yield, for each repeat, what a cascade says of its layers: interactions found, share of rows easy at once."""
    layer = re.fullmatch(r"layer (\d+)", condition)
    for cell in cells.all(dataset, column) if column in cells.experiment.columns else ():
        curves = cell.curves
        if metric == "new_interactions" and metric in curves:
            kept = curves[metric][: cell.growth.n_kept if cell.growth else None]
            yield sum(kept) if layer is None else kept[int(layer[1]) - 1] if int(layer[1]) <= len(kept) else 0.0
        elif metric == "easy_share" and curves.get("easy_rows") and curves.get("rows"):
            yield curves["easy_rows"][0] / curves["rows"][0]


def collect(claim: Claim, sources: Sources, first_repeat: int = 0) -> list[Evidence]:
    """Return the comparisons of a claim that names no readings.

    Parameters
    ----------
    claim : Claim
        The claim.
    sources : Sources
        Of the suite.
    first_repeat : int
        Repeats before it do not count.

    Raises
    ------
    ConfigError
        If a rule needs a region and the metric has none.
    """
    return [one for part in claim.evidence for one in _of_part(claim, part, sources, first_repeat)]


def _of_part(claim: Claim, part: Part, sources: Sources, first: int) -> Iterable[Evidence]:
    declared = sources.results.experiments.get(part.experiment)
    for k, name in enumerate(part.datasets):
        if declared is None or not declared.is_implemented or part.experiment in sources.results.plan.left_out:
            why = "not in the tables of this suite" if declared is None else declared.reason or "not run"
            yield Evidence(part.experiment, name, _words(claim, part), part.metric, "not run", why)
            continue
        own = sources.variant(part.experiment, name)
        rivals = part.with_datasets[k if len(part.with_datasets) > 1 else 0] if part.with_datasets else name
        other = sources.variant(part.experiment, rivals)
        if own is None or other is None:
            lacking = name if own is None else rivals
            why = f"{lacking} is not in suite {sources.results.suite}"
            yield Evidence(part.experiment, lacking, _words(claim, part), part.metric, "absent", why)
        elif absent := declared.absent.get(own) or declared.absent.get(other):
            yield Evidence(part.experiment, own, _words(claim, part), part.metric, "absent", absent)
        else:
            yield from _of_dataset(claim, part, sources, own, other, first)


def _words(claim: Claim, part: Part, rival: str = "", condition: str = "") -> str:
    rivals = rival or ", ".join(part.rivals)
    return ", ".join(filter(None, (part.model + (f" against {rivals}" if rivals else ""), condition)))


def _of_dataset(claim: Claim, part: Part, sources: Sources, own: str, other: str, first: int) -> Iterable[Evidence]:
    def side(dataset: str, model: str, condition: str, metric: str) -> _Side:
        return _Side(sources, part, dataset, model, condition, metric)

    conditions = _layers(part.conditions, sources, part, own)
    second = part.with_metric or part.metric
    with_conditions = _layers(part.with_conditions, sources, part, other, second) or conditions
    curve = [side(own, part.model, one, part.metric) for one in conditions]
    made: list[
        tuple[str, str, list[_Side], list[_Side]]
    ] = []  # rival, condition, numbers of the model and of the rival
    if claim.statistic == "change":
        steps = [(curve[0], curve[-1])] if part.ends else list(itertools.pairwise(curve))
        made = [("", f"{after.condition} after {before.condition}", [after], [before]) for before, after in steps]
    elif claim.statistic == "correlation":
        made = [
            ("", f"{part.metric} and {second}", curve, [side(other, part.model, c, second) for c in with_conditions])
        ]
    else:
        longest = max(len(conditions), len(with_conditions))
        for rival in part.rivals or ("",):
            for j in range(longest):
                mine, theirs = (c[j if len(c) > 1 else 0] for c in (conditions, with_conditions))
                words = mine if mine == theirs else f"{mine or 'all'} / {theirs or 'all'}"
                rivals = [side(other, rival, theirs, second)] if rival else []
                made.append((rival, words, [side(own, part.model, mine, part.metric)], rivals))
    if not conditions or not made:
        note = f"{part.experiment} has no rows {', '.join(part.conditions)}"
        yield Evidence(part.experiment, own, _words(claim, part), part.metric, "not run", note)
        return
    for rival, condition, numbers, compared in made:
        yield _evidence(claim, part, own, rival, condition, numbers, compared, first)


def _layers(names: Sequence[str], sources: Sources, part: Part, dataset: str, metric: str = "") -> list[str]:
    """Return conditions, with those of all layers in order in place of one with `ANY_LAYER`."""
    found: list[str] = []
    for name in names:
        if ANY_LAYER not in name:
            found.append(name)
            continue
        pattern = re.compile(re.escape(name).replace(re.escape(ANY_LAYER), r"(\d+)"))
        key = (dataset, part.model, metric or part.metric)
        rows = [row for row in sources.rows(part.experiment).values() if (row.dataset, row.model, row.metric) == key]
        matches = [match for row in rows if (match := pattern.fullmatch(row.condition))]
        # Layers that not every run has are left out: their runs cannot be paired.
        most = max((len(row.values) for row in rows), default=0)
        whole = {row.condition for row in rows if len(row.values) == most}
        ordered = sorted(matches, key=lambda match: int(match[1]))
        found += dict.fromkeys(match.string for match in ordered if match.string in whole)
    return found


def _evidence(
    claim: Claim, part: Part, dataset: str, rival: str, condition: str, own: list[_Side], other: list[_Side], first: int
) -> Evidence:
    """Return the comparison of numbers of a model and a rival; of a correlation, of two curves."""
    words, sides = _words(claim, part, rival, condition), [*own, *other]
    metric = part.metric if claim.statistic == "value" else f"{part.metric}_{claim.statistic}"
    if lacking := next((one for one in sides if not one.values), None):
        return Evidence(part.experiment, dataset, words, metric, "not run", lacking.why_not)
    if len(sides[0].values) <= first > 0:
        note = f"no repeats beyond the {first} that were known"
        return Evidence(part.experiment, dataset, words, metric, "not run", note)
    estimate, note = _estimate(claim, own, other, first)
    is_log = claim.statistic in ("ratio", "spread")
    value = claim.value if claim.value is not None else 1.0 if is_log else 0.0
    region = _region(claim, part, own[0], other[0] if other else None)
    try:
        bar = criterion(str(claim.rule), math.log(value) if is_log else value, region)
    except ValueError as error:
        raise ConfigError(f"{CLAIMS_FILE}: {claim.id}: {part.metric}: {error}") from None
    comparison = Comparison(dataset, ", ".join(filter(None, (rival, condition))), estimate, bar)
    state: State = "judged"
    if not part.bounded and (bounds := list(dict.fromkeys(bound for one in sides for bound in one.bounds))):
        state, note = "not run", f"{NOT_IN_FULL}: {', '.join(bounds)}"
    elif note.startswith(NO_ROWS):
        state = "not run"
    elif inactive := _inactive(claim, own[0]):
        state, note = "inactive", inactive
    published = _published(claim, own[0], other[0] if other else None)
    return Evidence(part.experiment, dataset, words, metric, state, note, is_log, comparison, published)


def _published(claim: Claim, own: _Side, other: _Side | None) -> float | None:
    """Return what the paper's numbers give for a value, a difference or a ratio."""
    found = [_printed(side) for side in (own, other) if side is not None]
    if None in found or claim.statistic not in ("value", "difference", "ratio"):
        return None
    numbers = [number for number in found if number is not None]
    if claim.statistic == "value":
        return numbers[0]
    if claim.statistic == "ratio":
        return numbers[1] / numbers[0] if numbers[0] else None
    return (numbers[0] - numbers[1]) * (-1 if known_metric(own.metric).higher_is_better is False else 1)


def _printed(side: _Side) -> float | None:
    number = side.cells.published.number(side.dataset, side.model, side.metric, side.condition)
    return None if number is None else float(number.value)


def _inactive(claim: Claim, own: _Side) -> str:
    """Return why the mechanism of a claim was not active; empty if it was, or if that was not recorded."""
    if claim.guard is None:
        return ""
    guard, part, dataset = claim.guard, own.part, own.dataset
    if guard.experiment and guard.experiment != part.experiment:
        if guard.experiment not in own.sources.results.experiments:
            return ""
        part = Part(guard.experiment, part.datasets, guard.metric)
        dataset = own.sources.variant(guard.experiment, own.cells.experiment.base(dataset)) or dataset
    values = _Side(own.sources, part, dataset, guard.model or own.model, guard.condition, guard.metric).values
    if not values or fmean(values) >= guard.least:
        return ""
    return f"{known_metric(guard.metric).label} {fmean(values):.3g}, below {guard.least:g}"


# Estimates -----------------------------------------------------------------------------------------------------------


def _estimate(claim: Claim, own: list[_Side], other: list[_Side], first: int) -> tuple[Estimate, str]:
    """Return the estimate of a comparison, and what its interval stands on."""
    mine = own[0]
    if claim.statistic == "correlation":
        curves = [np.array([one.values[first:] for one in sides]) for sides in (own, other)]
        if any((curve == curve[0]).all(axis=0).any() for curve in curves):
            return Estimate(0.0, 0.0, 0), "a curve is constant"
        rhos = [float(stats.spearmanr(a, b).statistic) for a, b in zip(curves[0].T, curves[1].T, strict=True)]
        return _over_runs(mine, rhos)
    values = [list(one.values[first:]) for one in (mine, *other[:1])]
    if claim.statistic == "value":
        return _of_value(mine, values[0])
    theirs = other[0]
    if len(values[0]) != len(values[1]):
        return Estimate(fmean(values[0]) - fmean(values[1]), 0.0, 0), "the repeats of the two cannot be paired"
    if claim.statistic == "ratio":
        return _ratio(mine, theirs, *values)
    if claim.statistic == "spread":
        return _spread(*values)
    sign = -1.0 if claim.statistic == "difference" and known_metric(mine.metric).higher_is_better is False else 1.0
    found = _difference(mine, theirs, values, first)
    one, leads = found.interval, [sign * (a - b) for a, b in zip(*values, strict=True)]
    if one is None:
        return Estimate(fmean(leads), 0.0, 0), found.why
    # Small draws have the ends of an exact test, unless the interval over test rows is wider.
    half = (one.high - one.low) / 2
    is_exact = found.design == "draws" and not math.isclose(half, one.error * stats.t.ppf(0.975, one.df), rel_tol=1e-9)
    needs = f"; no number of seeds decides, {found.rows_needed:,} test rows would" if found.rows_needed else ""
    return Estimate(sign * one.difference, one.error, one.df, leads=tuple(leads) if is_exact else ()), found.why + needs


def _difference(own: _Side, other: _Side, values: list[list[float]], first: int) -> Difference:
    """Return the model's number minus the rival's: over test rows where they are kept, else over repeats."""
    are_models = own.is_column and other.is_column and own.model != other.model and own.dataset == other.dataset
    are_scores = own.metric == other.metric and own.metric in COMPARED and not (own.condition or other.condition)
    if are_models and are_scores:
        chosen = range(first, first + len(values[0])) if first else None
        return difference(own.cells, own.dataset, own.model, other.model, own.metric, chosen)
    row = TidyRow(own.dataset, own.model, "", f"{own.metric}_difference")
    return of_repeats(own.cells, row, values[0], values[1], _column(own))


def _column(side: _Side) -> str:
    """Return a column whose cells say how many rows were for training and test."""
    return side.model if side.is_column else next(iter(side.cells.experiment.columns), "")


def _over_runs(side: _Side, values: Sequence[float]) -> tuple[Estimate, str]:
    """Return the mean over runs, as the design of their repeats has it."""
    design = side.cells.experiment.designs.get(side.dataset, "given")
    if len(values) < 2:
        return Estimate(values[0], 0.0, 0), "one run, and layers are no replicates"
    if max(values) - min(values) <= 1e-12 * max(1.0, abs(values[0])):
        return Estimate(values[0], 0.0, 0), "the same number in all runs, whose spread says nothing"
    if design in ("folds", "splits"):
        ratio = fmean(cell.n_test / cell.n_train for cell in side.cells.all(side.dataset, _column(side)))
        one = intervals.repeated_splits(values, ratio)
    else:
        one = intervals.paired_t(values)
    return Estimate(one.difference, one.error, one.df), f"{len(values)} runs"


def _of_value(side: _Side, values: Sequence[float]) -> tuple[Estimate, str]:
    """Return a number itself; of a share of test rows, with what other test rows would change."""
    if side.row is not None and side.row.n is None and not side.is_column:
        return Estimate(values[0], 0.0), "a fact about the data"
    estimate, words = _over_runs(side, values)
    is_share = known_metric(side.metric).percent and 0 <= fmean(values) <= 1
    n_test = side.row.n_test if side.row is not None else None
    design = side.cells.experiment.designs.get(side.dataset, "given")
    if not is_share or not n_test or design != "given":
        return estimate, words
    of_rows, mean = fmean(values) * (1 - fmean(values)) / n_test, fmean(values)
    if estimate.df <= 0:
        return Estimate(mean, math.sqrt(of_rows), n_test - 1), f"{n_test:,} test rows, one run"
    error = math.hypot(estimate.error, math.sqrt(of_rows))
    df = error**4 / (estimate.error**4 / estimate.df + of_rows**2 / (n_test - 1))
    return Estimate(mean, error, df), f"{n_test:,} test rows and {words}"


def _ratio(own: _Side, other: _Side, mine: list[float], theirs: list[float]) -> tuple[Estimate, str]:
    """Return the logarithm of the rival's number divided by the model's."""
    if min(*mine, *theirs) <= 0:
        return Estimate(0.0, 0.0, 0), "a number is 0"
    logs = [math.log(b / a) for a, b in zip(mine, theirs, strict=True)]
    is_time = own.metric in COSTS and own.metric.endswith("seconds")
    in_turn = timings.ratio(own.cells, own.dataset, own.model, other.model, own.metric) if is_time else None
    if in_turn is not None and in_turn.kind == timings.IN_TURN and own.cells is other.cells:
        one = in_turn.interval
        return Estimate(math.log(one.difference), one.error, one.df or math.inf, math.log(in_turn.wide)), in_turn.why
    if is_time:
        # Ordinary cells ran beside others: their times count as single ones, however many there are.
        return Estimate(fmean(logs), 0.0, widen=math.log(intervals.SINGLE_TIMING)), "times of ordinary cells"
    if len(logs) == 1 and (own.metric in COSTS or own.metric in COST_RATIOS):
        return Estimate(logs[0], 0.0, widen=math.log(intervals.MACHINE)), "one measurement"
    if len(logs) == 1:
        return Estimate(logs[0], 0.0, 0), "one run"
    if max(logs) - min(logs) < 1e-12:
        return Estimate(logs[0], 0.0), "the same in all runs"
    return _over_runs(own, logs)


def _spread(mine: list[float], theirs: list[float]) -> tuple[Estimate, str]:
    """Return the logarithm of the model's standard deviation divided by the rival's, over paired repeats.

    Pitman (1939) and Morgan: the sum and the difference of two numbers of equal variance are not correlated. The
    interval of the logarithm is then log(s1 / s2) -/+ asinh(t sqrt((1 - r^2) / (n - 2))); t sqrt(...) itself, which is
    larger, is taken.
    """
    n, spreads = len(mine), (float(np.std(mine, ddof=1)), float(np.std(theirs, ddof=1)))
    if n < 3 or min(spreads) == 0:
        return Estimate(0.0, 0.0, 0), "fewer than three repeats" if n < 3 else "a model is the same in all repeats"
    r = float(np.corrcoef(mine, theirs)[0, 1])
    return Estimate(math.log(spreads[0] / spreads[1]), math.sqrt((1 - r**2) / (n - 2)), n - 2), f"{n} repeats"


def _region(claim: Claim, part: Part, own: _Side, other: _Side | None) -> float | None:
    """Return the largest difference from the claimed number that does not matter."""
    if claim.region is not None:
        return claim.region
    if claim.statistic == "ratio":
        return COST_REGION
    if claim.statistic in ("correlation", "spread"):
        return CORRELATION if claim.statistic == "correlation" else None
    if own.metric == "roc_auc" and own.cells.experiment.render == RANKINGS:
        return IMPORTANCE
    rival = other or own
    published, name = _printed(rival), own.metric
    if claim.statistic == "value" and claim.value is not None:
        published = claim.value
    if name == "error_rate":
        name, published = "accuracy", None if published is None else 1 - published
    found = intervals.region(name, fmean(rival.values), published)
    if found is not None or name == "ece":
        return CALIBRATION if found is None else found
    if "correlation" in name:
        return CORRELATION
    return SHARE if known_metric(name).percent else None
