"""The comparisons that a claim stands on: its numbers, found in the cells and tables of experiments, as estimates."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import stats

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_operation, parse_variant
from cascadeforest.experiments.claims import CLAIMS_FILE, Claim, Part
from cascadeforest.inference import intervals
from cascadeforest.inference.intervals import Estimate
from cascadeforest.inference.rules import COST_REGION, Comparison, criterion
from cascadeforest.reports.numbers import costs
from cascadeforest.reports.numbers.cells import Cells, is_met
from cascadeforest.reports.numbers.differences import NO_ROWS, Difference, difference, of_repeats
from cascadeforest.reports.numbers.frame import OK, Key, TidyRow
from cascadeforest.reports.numbers.growth import EASY_TRAIN, INTERACTIONS, growth_numbers
from cascadeforest.reports.numbers.metrics import COMPARED, COST_RATIOS, COSTS, known_metric
from cascadeforest.reports.numbers.results import Results

#: Whether a comparison counts; if not: data are not at hand, it was not run (in full), or the mechanism was not active.
State: TypeAlias = Literal["judged", "absent", "not run", "inactive"]
#: Regions of importances' AUC, of calibration errors, of shares and of correlations.
IMPORTANCE, CALIBRATION, SHARE, CORRELATION = 0.005, 0.005, 0.02, 0.1
#: Metrics that count test rows, as a share of all.
SHARES: Final = ("accuracy", "error_rate", "linear_accuracy", "screened_share", "remaining_share", "test_pass_rate")
#: What stands for the number of a layer in conditions.
ANY_LAYER: Final = "*"
#: How the note of a bounded number begins.
NOT_IN_FULL: Final = "not in full"
#: What guards call numbers of growth.
_GUARDS: Final = {"new_interactions": INTERACTIONS, "easy_share": EASY_TRAIN}
#: Renderer of the tables whose AUC is that of importances.
RANKINGS: Final = "auc_ranking"


@dataclass(frozen=True)
class Evidence:
    """A comparison, or why there is none."""

    experiment: str  # where its numbers stand
    dataset: str  # the variant of this suite, or what the claim calls it
    words: str  # model, rival and condition
    label: str  # the same with the labels of the table, and the data set
    metric: str  # of the numbers; ratios and differences have names of their own
    state: State  # whether it counts
    note: str  # what its interval stands on, or why it does not count
    comparison: Comparison | None = field(default=None, repr=False)  # also of bounded numbers, which do not count
    published: float | None = None  # the same of the paper's numbers


@dataclass(frozen=True)
class Sources:
    """Cells and rows of all experiments of a suite; `rows_of` gives the rows of an experiment's table and picture."""

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
            self._rows[experiment] = {row.key: row for row in reversed(list(self.rows_of(experiment)))}
        return self._rows[experiment]

    def variant(self, experiment: str, name: str) -> str | None:
        """Return the row of an experiment that a claim means: itself, or the first that the paper calls so."""
        declared = self.results.experiments[experiment]
        if name in declared.datasets:
            return name
        return next((one for one in declared.datasets if name in (declared.base(one), parse_variant(one)[0])), None)


def collect(claim: Claim, sources: Sources, first_repeat: int = 0) -> list[Evidence]:
    """Return the comparisons of a claim that names no readings; repeats before `first_repeat` do not count.

    `ConfigError` if a rule needs a region and the metric has none.
    """
    return [one for part in claim.evidence for one in _Search(claim, part, sources, first_repeat).found()]


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

    @property
    def column(self) -> str:
        """A column whose cells say how many rows were for training and test."""
        return self.model if self.is_column else next(iter(self.cells.experiment.columns), "")

    @property
    def design(self) -> str:
        return self.cells.experiment.designs.get(self.dataset, "given")

    @cached_property
    def row(self) -> TidyRow | None:
        return self.sources.rows(self.part.experiment).get((self.dataset, self.model, self.condition, self.metric))

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number of each repeat, or one that has no repeats; empty if there is none."""
        row, is_score = self.row, self.is_column and not self.condition
        if row is not None and row.values:
            return row.values
        if is_score and (found := self.cells.metric(self.dataset, self.model, self.metric)):
            return tuple(found)
        if row is not None and row.mean is not None and (row.n or 1) == 1:
            return (row.mean,)
        growth = growth_numbers(self.cells, (self.dataset, self.model)) if is_score else {}
        return tuple(growth.get(_GUARDS.get(self.metric, ""), ()))

    @property
    def mean(self) -> float:
        """The mean over the repeats that have the number."""
        return fmean(value for value in self.values if not math.isnan(value))

    @property
    def printed(self) -> float | None:
        """The paper's number."""
        number = self.cells.published.number(self.dataset, self.model, self.metric, self.condition)
        return None if number is None else float(number.value)

    @property
    def why_not(self) -> str:
        """Why there is no number."""
        if self.row is not None and self.row.status != OK:
            return self.row.reason
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
                if name != "max_layers" or any(is_met(cell, name) for cell in self.cells.all(self.dataset, column)):
                    found.append(f"{name} {bound.here:g} of {bound.unbounded:g}")
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class _Search:
    """Finds the comparisons of one part of a claim's evidence."""

    claim: Claim
    part: Part
    sources: Sources
    first: int

    def found(self) -> Iterable[Evidence]:
        """Yield the comparisons of all data sets."""
        part, sources = self.part, self.sources
        declared = sources.results.experiments.get(part.experiment)
        at_hand = {parse_variant(row)[0] for one in sources.results.experiments.values() for row in one.present()}
        for k, name in enumerate(part.datasets):
            if declared is None or not declared.is_implemented or part.experiment in sources.results.plan.left_out:
                why = "not in the tables of this suite" if declared is None else declared.reason or "not run"
                yield self._none(name, "not run", why)
                continue
            rivals = part.with_datasets[k if len(part.with_datasets) > 1 else 0] if part.with_datasets else name
            own, other = (sources.variant(part.experiment, one) for one in (name, rivals))
            if own is None or other is None:
                lacking = name if own is None else rivals
                state: State = "not run" if parse_variant(lacking)[0] in at_hand else "absent"
                yield self._none(lacking, state, f"{part.experiment} of suite {sources.results.suite} lacks {lacking}")
            elif absent := declared.absent.get(own) or declared.absent.get(other):
                yield self._none(own, "absent", absent)
            elif not (compared := self._compared(own, other)):
                yield self._none(own, "not run", f"{part.experiment} has no rows {', '.join(part.conditions)}")
            else:
                for one in compared:
                    yield self._evidence(own, *one)

    def _none(self, data: str, state: State, why: str, rival: str = "", condition: str = "", at: str = "") -> Evidence:
        own, rivals = self.part.model, [rival] if rival else self.part.rivals
        here, there = (f" on {one}" if at not in ("", data) else "" for one in (data, at))

        def words(name: Callable[[str], str], others: Sequence[str], between: str = " against ", turn: int = 1) -> str:
            sides = [name(own) + here, ", ".join(name(one) + there for one in others)]
            compared = between.join(filter(None, sides[::turn]))
            return ", ".join(filter(None, (compared, " / ".join(condition.split(" / ")[::turn]))))

        declared, claim = self.sources.results.experiments.get(self.part.experiment), self.claim
        form = {"ratio": (" / ", -1), "spread": (" / ", 1)}.get(str(claim.statistic), (" against ", 1))
        label = words(declared.label_of if declared else str, [one for one in rivals if one != own or here], *form)
        if claim.statistic == "ratio" and len({part.metric for part in claim.evidence}) > 1:
            label += f", {known_metric(self.part.metric).label}"
        label += "" if here else f" on {data}"
        return Evidence(self.part.experiment, data, words(str, rivals), label, self.part.metric, state, why)

    def _compared(self, own: str, other: str) -> list[tuple[str, str, list[_Side], list[_Side]]]:
        """Return rival, condition, and numbers of the model and of the rival; of a correlation two curves."""
        part, statistic = self.part, self.claim.statistic

        def side(dataset: str, model: str, condition: str, metric: str) -> _Side:
            return _Side(self.sources, part, dataset, model, condition, metric)

        conditions, second = self._layers(part.conditions, own, part.metric), part.with_metric or part.metric
        with_conditions = self._layers(part.with_conditions, other, second) or conditions
        curve = [side(own, part.model, one, part.metric) for one in conditions]
        if not conditions:
            return []
        if statistic == "change":
            steps = [(curve[0], curve[-1])] if part.ends else list(itertools.pairwise(curve))
            shorter = [b.condition.removeprefix(f"{a.condition.rpartition(', ')[0]}, ") for b, a in steps]
            named = zip(shorter, steps, strict=True)
            return [("", f"{after.condition} after {word}", [after], [before]) for word, (before, after) in named]
        if statistic == "correlation":
            others = [side(other, part.model, one, second) for one in with_conditions]
            return [("", " and ".join(known_metric(name).label for name in (part.metric, second)), curve, others)]
        found = []
        for rival, j in itertools.product(part.rivals or ("",), range(max(len(conditions), len(with_conditions)))):
            mine, theirs = (c[j if len(c) > 1 else 0] for c in (conditions, with_conditions))
            words = mine if mine == theirs else f"{mine or 'all'} / {theirs or 'all'}"
            rivals = [side(other, rival, theirs, second)] if rival else []
            found.append((rival, words, [side(own, part.model, mine, part.metric)], rivals))
        return found

    def _layers(self, names: Sequence[str], dataset: str, metric: str) -> list[str]:
        """Return conditions, with those of all layers in order in place of one with `ANY_LAYER`."""
        found: list[str] = []
        key = dataset, self.part.model, metric
        for name in names:
            if ANY_LAYER not in name:
                found.append(name)
                continue
            pattern = re.compile(re.escape(name).replace(re.escape(ANY_LAYER), r"(\d+)"))
            every = self.sources.rows(self.part.experiment).values()
            known = [row.condition for row in every if (row.dataset, row.model, row.metric) == key and row.values]
            matches = [match for condition in dict.fromkeys(known) if (match := pattern.fullmatch(condition))]
            found += [match.string for match in sorted(matches, key=lambda match: int(match[1]))]
        return found

    def _evidence(self, dataset: str, rival: str, condition: str, own: list[_Side], other: list[_Side]) -> Evidence:
        claim, part, sides, mine = self.claim, self.part, [*own, *other], own[0]
        metric = part.metric if claim.statistic == "value" else f"{part.metric}_{claim.statistic}"
        found = replace(self._none(dataset, "not run", "", rival, condition, sides[-1].dataset), metric=metric)
        if lacking := next((one for one in sides if not one.values), None):
            return replace(found, note=lacking.why_not)
        if len(mine.values) <= self.first > 0:
            return replace(found, note=f"no repeats beyond the {self.first} that were known")
        estimate, note = _estimate(claim, own, other, self.first)
        value = claim.value if claim.value is not None else 1.0 if claim.is_log else 0.0
        region = _region(claim, mine, other[0] if other else None)
        try:
            bar = criterion(str(claim.rule), math.log(value) if claim.is_log else value, region)
        except ValueError as error:
            raise ConfigError(f"{CLAIMS_FILE}: {claim.id}: {part.metric}: {error}") from None
        comparison = Comparison(dataset, ", ".join(filter(None, (rival, condition))), estimate, bar)
        state: State = "not run" if note.startswith(NO_ROWS) else "judged"
        if not part.bounded and (bounds := list(dict.fromkeys(bound for one in sides for bound in one.bounds))):
            state, note = "not run", f"{NOT_IN_FULL}: {', '.join(bounds)}"
        elif state == "judged" and (inactive := self._inactive(mine)):
            state, note = "inactive", inactive
        published = _published(claim, mine.metric, *(one.printed for one in (mine, *other[:1])))
        return replace(found, state=state, note=note, comparison=comparison, published=published)

    def _inactive(self, own: _Side) -> str:
        """Return why the mechanism of the claim was not active; empty if it was, or if that was not recorded."""
        guard, part, dataset = self.claim.guard, self.part, own.dataset
        if guard is None:
            return ""
        if guard.experiment and guard.experiment != part.experiment:
            if guard.experiment not in self.sources.results.experiments:
                return ""
            part = Part(guard.experiment, part.datasets, guard.metric)
            dataset = self.sources.variant(guard.experiment, own.cells.experiment.base(dataset)) or dataset
        side = _Side(self.sources, part, dataset, guard.model or own.model, guard.condition, guard.metric)
        if not side.values or guard.least <= side.mean <= guard.most:
            return ""
        beyond = f"below {guard.least:g}" if side.mean < guard.least else f"above {guard.most:g}"
        return f"{known_metric(guard.metric).label} {side.mean:.3g}, {beyond}"


def _sign(claim: Claim, metric: str) -> float:
    """Return -1 for a difference of numbers of which lower ones are better: what is better is above 0."""
    return -1.0 if claim.statistic == "difference" and known_metric(metric).higher_is_better is False else 1.0


def _published(claim: Claim, metric: str, own: float | None, other: float | None = None) -> float | None:
    """Return what the paper's numbers give for a value, a difference or a ratio."""
    if claim.statistic == "value":
        return own
    if own is None or other is None or claim.statistic not in ("difference", "ratio"):
        return None
    if claim.statistic == "ratio":
        return other / own if own else None
    return (own - other) * _sign(claim, metric)


# Estimates -----------------------------------------------------------------------------------------------------------


def _estimate(claim: Claim, own: list[_Side], other: list[_Side], first: int) -> tuple[Estimate, str]:
    """Return the estimate of a comparison, and what its interval stands on."""
    mine = own[0]
    if claim.statistic == "correlation":
        return _correlation(mine, *(np.array([one.values[first:] for one in sides]) for sides in (own, other)))
    values = [list(one.values[first:]) for one in (mine, *other[:1])]
    n = min(map(len, values))  # an extra that takes long is saved by the first repeats only
    there = ~np.isnan([own[:n] for own in values]).any(axis=0)
    values = [np.compress(there, own).tolist() for own in values]
    if len(values[0]) < min(max(n, 1), 2):
        return Estimate(math.nan, 0.0, 0), "fewer than two repeats have both numbers"
    if claim.statistic == "value":
        return _of_value(mine, values[0])
    theirs = other[0]
    if claim.statistic == "ratio":
        return _ratio(mine, theirs, *values)
    if claim.statistic == "spread":
        return _spread(*values)
    sign, found = _sign(claim, mine.metric), _difference(mine, theirs, values, first)
    some = f"; {n - len(values[0])} of {n} repeats have fewer layers" if len(values[0]) < n else ""
    one = found.interval
    is_one = "one run" * (len(values[0]) == 1) or "one training set" * (one is not None and one is found.here)
    if one is None or is_one:
        return Estimate(sign * found.row.number, 0.0, 0), (found.why if one is None else is_one) + some
    needs = f"; no number of seeds decides, {found.rows_needed:,} test rows would" if found.rows_needed else ""
    leads = tuple(sign * lead for lead in one.leads)
    return replace(one, value=sign * one.value, leads=leads), found.why + some + needs


def _correlation(side: _Side, *curves: np.ndarray) -> tuple[Estimate, str]:
    """Return the mean rank correlation of two curves (layers, runs), of each run over the layers that it has.

    That of a constant curve is 0: it neither rises nor falls with the other. Runs of less than three layers have none.
    """
    found, n_constant = [], 0
    for one, other in zip(*(curve.T for curve in curves), strict=True):
        a, b = (curve[~np.isnan(one + other)] for curve in (one, other))
        if len(a) > 2:
            is_constant = min(np.ptp(a), np.ptp(b)) == 0
            found.append(0.0 if is_constant else float(stats.spearmanr(a, b).statistic))
            n_constant += is_constant
    if n_constant == len(found):
        return Estimate(math.nan, 0.0, 0), "a curve of each run is constant" if found else "fewer than three layers"
    estimate, words = _over_runs(side, found)
    return estimate, words + (f", {n_constant} with a curve that is constant" if n_constant else "")


def _difference(own: _Side, other: _Side, values: list[list[float]], first: int) -> Difference:
    """Return the model's number minus the rival's: over test rows where they are kept, else over repeats."""
    are_models = own.is_column and other.is_column and own.model != other.model and own.dataset == other.dataset
    are_scores = own.metric == other.metric and own.metric in COMPARED and not (own.condition or other.condition)
    if are_models and are_scores:
        chosen = range(first, first + len(values[0])) if first else None
        return difference(own.cells, own.dataset, own.model, other.model, own.metric, chosen)
    row = TidyRow(own.dataset, own.model, "", f"{own.metric}_difference")
    return of_repeats(own.cells, row, values[0], values[1], own.column)


def _over_runs(side: _Side, values: Sequence[float]) -> tuple[Estimate, str]:
    """Return the mean over runs, as the design of their repeats has it."""
    if len(values) < 2:
        return Estimate(values[0], 0.0, 0), "one run"
    is_split = side.design in ("folds", "splits")
    if max(values) - min(values) <= 1e-12 * max(1.0, abs(values[0])):
        words = f"all {len(values)} runs give the same number"
        if is_split or len(values) < 6:  # no flips of the signs of fewer numbers exclude anything at 5 %
            return Estimate(values[0], 0.0, 0), f"{words}, and {'they share rows' if is_split else 'these are too few'}"
        return intervals.sign_flips(values), f"{words}: the test that flips signs"
    shares = [cell.n_test / cell.n_train for cell in side.cells.all(side.dataset, side.column)] if is_split else [0.0]
    return intervals.repeated_splits(values, fmean(shares)), f"{len(values)} runs"


def _of_value(side: _Side, values: Sequence[float]) -> tuple[Estimate, str]:
    """Return a number itself; of a share of the test rows, with what other test rows would change."""
    row, mean = side.row, fmean(values)
    if row is not None and row.n is None and not side.is_column:
        return Estimate(values[0], 0.0), "a fact about the data"
    estimate, words = _over_runs(side, values)
    if side.metric not in SHARES or row is None or not row.n_test or side.design != "given" or len(values) < 2:
        return estimate, words
    of_rows, n = mean * (1 - mean) / row.n_test, row.n_test
    if not of_rows:
        return replace(intervals.equal_rows(n), value=mean), f"{n:,} test rows, which are all alike"
    if estimate.df <= 0:
        return Estimate(mean, math.sqrt(of_rows), n - 1), f"{n:,} test rows, {words}"
    error = math.hypot(estimate.error, math.sqrt(of_rows))
    df = error**4 / (estimate.error**4 / estimate.df + of_rows**2 / (n - 1))
    return Estimate(mean, error, df), f"{n:,} test rows and {words}"


def _ratio(own: _Side, other: _Side, mine: list[float], theirs: list[float]) -> tuple[Estimate, str]:
    """Return the logarithm of the rival's number divided by the model's."""
    if min(*mine, *theirs) <= 0:
        return Estimate(math.nan, 0.0, 0), "a number is 0"
    logs = [math.log(b / a) for a, b in zip(mine, theirs, strict=True)]
    if own.metric in COSTS and own.metric.endswith("seconds"):
        if in_turn := costs.ratio(own.cells, own.dataset, own.model, other.model, own.metric):
            return in_turn.estimate, in_turn.why
        # Ordinary cells ran beside others: their times count as single ones, however many there are.
        return Estimate(fmean(logs), 0.0, widen=math.log(intervals.SINGLE_TIMING)), "times of ordinary cells"
    if len(logs) == 1 and (own.metric in COSTS or own.metric in COST_RATIOS):
        return Estimate(logs[0], 0.0, widen=math.log(intervals.MACHINE)), "one measurement"
    if len(logs) > 1 and max(logs) - min(logs) < 1e-12:
        return Estimate(logs[0], 0.0), "the same in all runs"
    return _over_runs(own, logs)


def _spread(mine: list[float], theirs: list[float]) -> tuple[Estimate, str]:
    """Return the logarithm of the model's standard deviation divided by the rival's, over paired repeats."""
    if len(mine) < 3 or min(map(np.ptp, (mine, theirs))) == 0:
        words = "fewer than three repeats" if len(mine) < 3 else "a model is the same in all repeats"
        return Estimate(math.nan, 0.0, 0), words
    return intervals.ratio_of_spreads(mine, theirs), f"{len(mine)} repeats"


def _region(claim: Claim, own: _Side, other: _Side | None) -> float | None:
    """Return the largest difference from the claimed number that does not matter."""
    if claim.region is not None:
        return claim.region
    if claim.statistic in ("ratio", "correlation", "spread"):
        return {"ratio": COST_REGION, "correlation": CORRELATION}.get(claim.statistic)
    if own.metric == "roc_auc" and own.cells.experiment.render == RANKINGS:
        return IMPORTANCE
    rival, name = other or own, own.metric
    published = claim.value if claim.statistic == "value" and claim.value is not None else rival.printed
    if name == "error_rate":
        name, published = "accuracy", None if published is None else 1 - published
    found = intervals.region(name, rival.mean, published)
    if found is not None or name == "ece":
        return CALIBRATION if found is None else found
    return CORRELATION if "correlation" in name else SHARE if known_metric(name).percent else None
