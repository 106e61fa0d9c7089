"""What estimates decide about a claim: supported, contradicted or neither, and the effect that could have been found.

Every rule asks whether ends of intervals are beyond thresholds. An interval of tail .025 is the 95 % interval; where a
claim is of one side only (equivalence, 'not worse'), the tail is .05. Corrections divide the tail. Numbers are on the
scale of the statistic; ratios are logarithms.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import special

from cascadeforest.reports.numbers.intervals import FLIP_BITS, POWER, sign_flips
from cascadeforest.reports.numbers.random_effects import RandomEffects, random_effects

TWO_SIDED, ONE_SIDED = 0.025, 0.05
#: A ratio of about ten is above this; above the next it is more; below the last it is not of that order.
ORDER, MORE, NO_ORDER = math.log(5.6), math.log(17.8), math.log(3)
#: Costs that differ by less are as good as equal.
COST_REGION: Final = math.log(1.25)
#: With fewer data sets nothing is said about their mean.
LEAST_SETS: Final = 5
Outcome: TypeAlias = Literal["supported", "contradicted", "open"]
#: Whether an end of the interval of a tail lies above (`low`) or below (`high`) a threshold.
Test: TypeAlias = tuple[Literal["low", "high"], float, float]


@dataclass(frozen=True)
class Estimate:
    """An estimate with what its interval needs.

    Parameters
    ----------
    value, error : float
        Estimate and standard error.
    df : float
        Degrees of freedom of the error; infinite for a normal approximation, 0 where there is no interval.
    widen : float
        By so much both ends lie farther out, whatever the level.
    leads : tuple of float
        Differences of repeats whose signs an exact test flips; the ends are then its.
    """

    value: float
    error: float
    df: float = math.inf
    widen: float = 0.0
    leads: tuple[float, ...] = ()

    def ends(self, tail: float) -> tuple[float, float]:
        """Return the ends of the interval with this probability beyond each."""
        if self.df <= 0:
            return -math.inf, math.inf
        if self.leads:
            return _exact_ends(self.leads, tail)
        half = self.error * _quantile(tail, self.df) + self.widen
        return self.value - half, self.value + half

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        return self.ends(TWO_SIDED)

    def passes(self, tests: Iterable[Test], share: float = 1.0) -> bool:
        """Whether all tests pass with this share of their tails."""
        for side, threshold, tail in tests:
            low, high = self.interval if tail * share == TWO_SIDED else self.ends(tail * share)
            if not (low > threshold if side == "low" else high < threshold):
                return False
        return True

    def power(self, tests: Iterable[Test], true: float, share: float = 1.0) -> float:
        """Return the probability that all tests pass if the true value is this one; of several a lower bound."""
        lacking = 0.0
        for side, threshold, tail in tests:
            lead = true - threshold if side == "low" else threshold - true
            lacking += 1 - self._power(lead, tail * share)
        return max(1 - lacking, 0.0)

    def _power(self, lead: float, tail: float) -> float:
        if self.df <= 0:
            return 0.0
        if self.leads:
            # The exact test has steps, and finds about as much as a t test half a step below.
            steps = 2 ** min(len(self.leads), FLIP_BITS)
            tail = (math.floor(tail * steps) - 0.5) / steps
        if self.error == 0 or tail <= 0:
            return float(tail > 0 and lead > 2 * self.widen)
        least = _quantile(tail, self.df) + self.widen / self.error
        if self.widen:
            # What the ends are widened by is off by anything up to it, to either side, and a little more to be safe.
            return float(
                special.ndtr((lead / self.error - least) / math.hypot(1, self.widen / self.error / math.sqrt(2)))
            )
        if not math.isfinite(self.df):
            return float(special.ndtr(lead / self.error - least))
        return float(1 - special.nctdtr(self.df, lead / self.error, least))


@lru_cache(maxsize=4096)
def _exact_ends(leads: tuple[float, ...], tail: float) -> tuple[float, float]:
    exact = sign_flips(leads, tail)
    return exact.low, exact.high


def _quantile(tail: float, df: float) -> float:
    return float(special.stdtrit(df, 1 - tail) if math.isfinite(df) else -special.ndtri(tail))


@dataclass(frozen=True)
class Criterion:
    """What an estimate must show.

    Parameters
    ----------
    supports : tuple of Test
        All of them must pass.
    contradicts : tuple of tuple of Test
        One of these groups must pass.
    edge : float
        Nearest value at which the claim is just not true, towards which power falls.
    upwards : bool
        Whether larger values are farther on the side of the claim.
    """

    supports: tuple[Test, ...]
    contradicts: tuple[tuple[Test, ...], ...]
    edge: float
    upwards: bool = True

    def contradicted_by(self, one: Estimate, share: float = 1.0) -> bool:
        """Whether an estimate shows the contrary; above 0, but too small to matter, is no contrary of 'better'."""
        return any(one.passes(group, share) for group in self.contradicts) and not one.passes(self.supports)


def criterion(rule: str, value: float = 0.0, region: float | None = None) -> Criterion:
    """Return what a rule asks for.

    Parameters
    ----------
    rule : str
        Of the claim.
    value : float
        The number that it names.
    region : float or None
        The largest difference that does not matter; None where no such difference is known. 'Better' is then not
        contradicted by equivalence, and the rules that need it raise an error.

    Raises
    ------
    ValueError
        For a rule that needs a region, without one.
    """
    if region is None and rule in ("comparable", "equivalent", "about"):
        raise ValueError(f"the rule {rule} needs a region, and the metric has none; give `region`.")
    near = region or 0.0
    equal: tuple[Test, ...] = ("low", value - near, ONE_SIDED), ("high", value + near, ONE_SIDED)
    if rule in ("better", "above"):
        groups: tuple[tuple[Test, ...], ...] = ((("high", value, TWO_SIDED),),)
        groups += (equal,) if rule == "better" and region else ()
        return Criterion((("low", value, TWO_SIDED),), groups, value)
    if rule == "below":
        return Criterion((("high", value, TWO_SIDED),), ((("low", value, TWO_SIDED),),), value, upwards=False)
    if rule == "comparable":
        return Criterion(equal[:1], ((("high", value - near, TWO_SIDED),),), value - near)
    if rule in ("equivalent", "about"):
        beyond: tuple[tuple[Test, ...], ...] = (
            (("low", value + near, TWO_SIDED),),
            (("high", value - near, TWO_SIDED),),
        )
        return Criterion(equal, beyond, value - near)
    if rule == "order_of_magnitude":
        return Criterion((("low", ORDER, TWO_SIDED),), ((("high", NO_ORDER, TWO_SIDED),),), ORDER)
    if rule == "up_to":
        least = value - COST_REGION
        return Criterion((("low", least, TWO_SIDED),), ((("high", least, TWO_SIDED),),), least)
    raise ValueError(f"rule is '{rule}'; a criterion needs one of those that judge estimates.")


# Several comparisons -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """An estimate and what it must show; `dataset` and `rival` say what it is of."""

    dataset: str
    rival: str
    estimate: Estimate
    criterion: Criterion

    @property
    def error(self) -> float:
        """Standard error, with what the ends are widened by."""
        return math.hypot(self.estimate.error, self.estimate.widen / _quantile(TWO_SIDED, math.inf))

    @property
    def lead(self) -> float:
        """How far the estimate is on the side of the claim, in standard errors."""
        value = self.estimate.value
        leads = [value - edge if side == "low" else edge - value for side, edge, _ in self.criterion.supports]
        lead = min(leads)
        return lead / self.error if self.error else math.copysign(math.inf, lead) if lead else 0.0


@dataclass(frozen=True)
class Decision:
    """What comparisons decide.

    Parameters
    ----------
    outcome : {"supported", "contradicted", "open"}
        What they say, without regard to data that are missing.
    decisive : Comparison
        The one that decides: the weakest of a support, the strongest contrary one.
    how : {"all", "several", "average", "up_to"}
        How comparisons were put together.
    power : callable
        Probability of support if the value of all comparisons is this one.
    judged : tuple of Comparison
        What was put together; of claims about the mean over data sets the means.
    means : dict
        These means by rival.
    """

    outcome: Outcome
    decisive: Comparison
    how: str
    power: Callable[[float], float]
    judged: tuple[Comparison, ...]
    means: Mapping[str, RandomEffects] = field(default_factory=dict)

    @property
    def smallest(self) -> float | None:
        """True value nearest to the edge of the claim at which it is supported with `POWER`; None if there is none."""
        return _smallest(self.power, self.judged)


def decide(
    comparisons: Sequence[Comparison], over: str, k: int | None = None, n_sets: int | None = None, rule: str = ""
) -> Decision:
    """Judge a claim by its comparisons, of which there is at least one.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Those at hand.
    over : {"all", "several", "average"}
        How they are put together. Claims about an average are judged set by set if there are fewer than `LEAST_SETS`.
    k : int, optional
        With several, the number of data sets.
    n_sets : int, optional
        Data sets that the claim speaks of, at hand or not; by default those at hand.
    rule : str
        ``up_to`` asks for the largest of the comparisons only.
    """
    sets = dict.fromkeys(one.dataset for one in comparisons)
    if rule == "up_to":
        return _up_to(comparisons)
    if over == "several" and k is not None:
        return _several(comparisons, k, n_sets or len(sets))
    if over == "average" and len(sets) >= LEAST_SETS:
        return _average(comparisons)
    return _all(comparisons)


def _all(comparisons: Sequence[Comparison]) -> Decision:
    """Supported if every test passes, uncorrected; contradicted if a contrary one survives Holm over all.

    A test survives Holm's procedure if and only if the one with the smallest p does, at the level divided by their
    number.
    """
    share = 1 / len(comparisons)
    contrary = [one for one in comparisons if one.criterion.contradicted_by(one.estimate, share)]
    failing = [one for one in comparisons if not one.estimate.passes(one.criterion.supports)]
    outcome: Outcome = "contradicted" if contrary else "open" if failing else "supported"

    def power(true: float) -> float:
        return math.prod(one.estimate.power(one.criterion.supports, true) for one in comparisons)

    decisive = min(contrary or failing or comparisons, key=lambda one: (one.estimate.df <= 0, one.lead))
    return Decision(outcome, decisive, "all", power, tuple(comparisons))


def _up_to(comparisons: Sequence[Comparison]) -> Decision:
    """Supported if the largest passes, at the level divided by their number; contradicted if all show the contrary."""
    share = 1 / len(comparisons)
    supporting = [one for one in comparisons if one.estimate.passes(one.criterion.supports, share)]
    is_contrary = all(one.criterion.contradicted_by(one.estimate) for one in comparisons)

    def power(true: float) -> float:
        return 1 - math.prod(1 - one.estimate.power(one.criterion.supports, true, share) for one in comparisons)

    outcome: Outcome = "supported" if supporting else "contradicted" if is_contrary else "open"
    return Decision(outcome, max(comparisons, key=_lead), "up_to", power, tuple(comparisons))


def _several(comparisons: Sequence[Comparison], k: int, n_sets: int) -> Decision:
    """Partial conjunction (Dror et al. 2017), with Bonferroni's correction, so whatever depends on what.

    k of n data sets are shown if k of them pass at the level divided by n - k + 1. The contrary is that so many show
    the contrary that k others are not left.
    """
    by_set: dict[str, list[Comparison]] = {}
    for one in comparisons:
        by_set.setdefault(one.dataset, []).append(one)
    n = len(by_set)

    def passing(share: float) -> list[str]:
        return [
            name for name, own in by_set.items() if all(c.estimate.passes(c.criterion.supports, share) for c in own)
        ]

    def contrary(share: float) -> list[str]:
        return [
            name
            for name, own in by_set.items()
            if any(one.criterion.contradicted_by(one.estimate, share / len(own)) for one in own)
        ]

    against, share = n_sets - k + 1, 1 / max(n - k + 1, 1)
    is_shown = len(passing(share)) >= k
    is_contrary = n >= against and len(contrary(1 / (n - against + 1))) >= against

    def power(true: float) -> float:
        chances = [
            math.prod(c.estimate.power(c.criterion.supports, true, share) for c in own) for own in by_set.values()
        ]
        return _at_least(k, chances)

    outcome: Outcome = "supported" if is_shown else "contradicted" if is_contrary else "open"
    ranked = sorted((min(own, key=_lead) for own in by_set.values()), key=_lead, reverse=True)
    decisive = ranked[min(k, n) - 1]
    return Decision(outcome, decisive, "several", power, tuple(comparisons))


def _average(comparisons: Sequence[Comparison]) -> Decision:
    """Judge the mean over data sets for each rival, as the comparisons of a claim about all of them."""
    by_rival: dict[str, list[Comparison]] = {}
    for one in comparisons:
        by_rival.setdefault(one.rival, []).append(one)
    means, judged = {}, []
    for rival, own in by_rival.items():
        known = [one for one in own if one.estimate.df > 0]
        if len(known) < 2:
            judged.append(Comparison("mean", rival, Estimate(own[0].estimate.value, 0.0, 0), own[0].criterion))
            continue
        means[rival] = mean = random_effects([one.estimate.value for one in known], [one.error for one in known])
        judged.append(Comparison("mean", rival, Estimate(mean.mean, mean.error, mean.df), _mean_criterion(known)))

    def power(true: float) -> float:
        # Weights are estimated too: with as many degrees of freedom as the error has, less is found.
        known = [replace(one.estimate, df=one.estimate.df - 1) for one in judged]
        return math.prod(one.power(judged[0].criterion.supports, true) for one in known)

    return replace(_all(judged), how="average", power=power, means=means)


def _mean_criterion(comparisons: Sequence[Comparison]) -> Criterion:
    """Return a criterion whose thresholds are the means of those of the data sets."""
    all_of = [one.criterion for one in comparisons]
    first = all_of[0]

    def mean(groups: Sequence[tuple[Test, ...]]) -> tuple[Test, ...]:
        return tuple(
            (tests[0][0], float(np.mean([test[1] for test in tests])), tests[0][2])
            for tests in zip(*groups, strict=True)
        )

    n_groups = min(len(one.contradicts) for one in all_of)
    contradicts = tuple(mean([one.contradicts[k] for one in all_of]) for k in range(n_groups))
    return Criterion(
        mean([one.supports for one in all_of]), contradicts, float(np.mean([o.edge for o in all_of])), first.upwards
    )


def _lead(one: Comparison) -> float:
    return one.lead


def _at_least(k: int, chances: Sequence[float]) -> float:
    """Probability that at least k of independent events happen."""
    counts = np.array([1.0])
    for chance in chances:
        counts = np.convolve(counts, [1 - chance, chance])
    return float(counts[k:].sum())


def _smallest(power: Callable[[float], float], comparisons: Sequence[Comparison]) -> float | None:
    """Return the nearest value to the edge at which the power is `POWER`; None if there is none.

    Of rules with two sides, power is largest in the middle between the thresholds.
    """
    criteria = [one.criterion for one in comparisons]
    side = 1 if criteria[0].upwards else -1
    edge = max((one.edge for one in criteria), key=lambda value: side * value)
    step = max([one.error for one in comparisons if one.estimate.df > 0], default=0.0) or 1e-12
    middles = [(one.supports[0][1] + one.supports[1][1]) / 2 for one in criteria if len(one.supports) > 1]
    far = min(middles) - edge if middles else step
    while not middles and far < 1e6 * step and power(edge + side * far) < POWER:
        far *= 2
    if far <= 0 or power(edge + side * far) < POWER:
        return None
    near = 0.0
    for _ in range(40):
        middle = (near + far) / 2
        near, far = (near, middle) if power(edge + side * middle) >= POWER else (middle, far)
    return edge + side * far
