"""What estimates decide about a claim: supported, contradicted or neither, and the effect that could have been found.

Every rule asks whether ends of intervals are beyond thresholds. An interval of tail .025 is the 95 % interval; where a
claim is of one side only (equivalence, 'not worse'), the tail is .05. Corrections divide the tail. Numbers are on the
scale of the statistic; ratios are logarithms.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import optimize, special

from cascadeforest.inference.intervals import FLIP_BITS, POWER, TAIL, Estimate, quantile

ONE_SIDED: Final = 0.05
#: A ratio of about ten is above this; above the next it is more; below the last it is not of that order.
ORDER, MORE, NO_ORDER = math.log(5.6), math.log(17.8), math.log(3)
#: Costs that differ by less are as good as equal.
COST_REGION: Final = math.log(1.25)
#: With fewer data sets nothing is said about their mean.
LEAST_SETS: Final = 5
Outcome: TypeAlias = Literal["supported", "contradicted", "open"]
#: Whether an end of the interval of a tail lies above (`low`) or below (`high`) a threshold.
Test: TypeAlias = tuple[Literal["low", "high"], float, float]
Tests: TypeAlias = tuple[Test, ...]


def passes(one: Estimate, tests: Iterable[Test], share: float = 1.0) -> bool:
    """Whether an estimate passes all tests with this share of their tails."""
    for side, threshold, tail in tests:
        low, high = one.interval if tail * share == TAIL else one.ends(tail * share)
        if not (low > threshold if side == "low" else high < threshold):
            return False
    return True


def power(one: Estimate, tests: Iterable[Test], true: float, share: float = 1.0) -> float:
    """Return the probability that all tests pass if the true value is this one; of several a lower bound."""
    leads = ((true - threshold if side == "low" else threshold - true, tail) for side, threshold, tail in tests)
    return max(1 - sum(1 - _power(one, lead, tail * share) for lead, tail in leads), 0.0)


def _power(one: Estimate, lead: float, tail: float) -> float:
    if one.df <= 0:
        return 0.0
    if one.leads:
        # The exact test has steps, and finds about as much as a t test half a step below.
        steps = 2 ** min(len(one.leads), FLIP_BITS)
        tail = (math.floor(tail * steps) - 0.5) / steps
    if one.error == 0 or tail <= 0:
        return float(tail > 0 and lead > 2 * one.widen)
    lead, least = lead / one.error, quantile(1 - tail, one.df) + one.widen / one.error
    if math.isfinite(one.df) and not one.widen:
        return float(1 - special.nctdtr(one.df, lead, least))
    # What the ends are widened by is off by anything up to it, to either side, and a little more to be safe.
    return float(special.ndtr((lead - least) / math.hypot(1, one.widen / one.error / math.sqrt(2))))


@dataclass(frozen=True)
class Criterion:
    """What an estimate must show."""

    supports: Tests  # all of them must pass
    contradicts: tuple[Tests, ...]  # one of these groups must pass
    edge: float  # nearest value at which the claim is just not true, towards which power falls
    upwards: bool = True  # whether larger values are farther on the side of the claim


def criterion(rule: str, value: float = 0.0, region: float | None = None) -> Criterion:
    """Return what a rule asks for, of the number `value` that a claim names.

    `region` is the largest difference that does not matter; None where no such difference is known. 'Better' is then
    not contradicted by equivalence, and the rules that need it raise `ValueError`.
    """
    if region is None and rule in ("comparable", "equivalent", "about"):
        raise ValueError(f"the rule {rule} needs a region, and the metric has none; give `region`.")
    near = region or 0.0
    equal: Tests = ("low", value - near, ONE_SIDED), ("high", value + near, ONE_SIDED)

    def above(threshold: float) -> Tests:
        return (("low", threshold, TAIL),)

    def below(threshold: float) -> Tests:
        return (("high", threshold, TAIL),)

    match rule:
        case "better":
            return Criterion(above(value), (below(value), *([equal] if region else [])), value)
        case "above":
            return Criterion(above(value), (below(value),), value)
        case "below":
            return Criterion(below(value), (above(value),), value, upwards=False)
        case "comparable":
            return Criterion(equal[:1], (below(value - near),), value - near)
        case "equivalent" | "about":
            return Criterion(equal, (above(value + near), below(value - near)), value - near)
        case "order_of_magnitude":
            return Criterion(above(ORDER), (below(NO_ORDER),), ORDER)
        case "up_to":
            least = value - COST_REGION
            return Criterion(above(least), (below(least),), least)
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
        return math.hypot(self.estimate.error, self.estimate.widen / quantile(1 - TAIL, math.inf))

    @property
    def distance(self) -> float:
        """How far the estimate is on the side of the claim, in its own unit."""
        value = self.estimate.value
        return min(value - edge if side == "low" else edge - value for side, edge, _ in self.criterion.supports)

    @property
    def lead(self) -> float:
        """How far the estimate is on the side of the claim, in standard errors; -inf without an interval."""
        if self.estimate.df <= 0:
            return -math.inf
        lead = self.distance
        return lead / self.error if self.error else math.copysign(math.inf, lead) if lead else 0.0

    def is_shown(self, share: float = 1.0) -> bool:
        """Whether the claim is shown here."""
        return passes(self.estimate, self.criterion.supports, share)

    def is_contrary(self, share: float = 1.0) -> bool:
        """Whether the contrary is shown here; above 0, but too small to matter, is no contrary of 'better'."""
        is_contrary = any(passes(self.estimate, group, share) for group in self.criterion.contradicts)
        return is_contrary and not passes(self.estimate, self.criterion.supports)

    def power(self, true: float, share: float = 1.0) -> float:
        """Return the probability that the claim is shown here if the true value is this one."""
        return power(self.estimate, self.criterion.supports, true, share)


@dataclass(frozen=True)
class RandomEffects:
    """Mean of differences on several data sets, which differ in truth too."""

    mean: float
    error: float  # standard error of the mean
    df: int  # degrees of freedom of the error
    tau2: float  # variance of the true differences between data sets
    low: float  # ends within which the true difference of a further data set lies with a probability of 95 %
    high: float


@dataclass(frozen=True)
class Decision:
    """What comparisons decide."""

    outcome: Outcome  # what they say, without regard to data that are missing
    decisive: Comparison  # the one that decides: the weakest of a support, the strongest contrary one
    how: Literal["all", "several", "average", "up_to"]  # how comparisons were put together
    power: Callable[[float], float]  # probability of support if the value of all comparisons is this one
    judged: tuple[Comparison, ...]  # what was put together; of claims about the mean over data sets the means
    means: Mapping[str, RandomEffects] = field(default_factory=dict)  # these means by rival

    @property
    def smallest(self) -> float | None:
        """True value nearest to the edge of the claim at which it is supported with `POWER`; None if there is none."""
        return _smallest(self.power, self.judged)


def decide(
    comparisons: Sequence[Comparison], over: str, k: int | None = None, n_sets: int | None = None, rule: str = ""
) -> Decision:
    """Judge a claim by its comparisons, of which there is at least one.

    They are put together as `over` says: ``all``, ``several`` (`k` of the `n_sets` data sets that the claim speaks of,
    at hand or not) or ``average``. With fewer than `LEAST_SETS` sets an average is judged set by set, and contradicted
    only if all comparisons with a rival show the contrary.
    The rule ``up_to`` asks for the largest of the comparisons only.
    """
    sets = dict.fromkeys(one.dataset for one in comparisons)
    if rule == "up_to":
        return _up_to(comparisons)
    if over == "several" and k is not None:
        return _several(comparisons, k, n_sets or len(sets))
    found = _all(comparisons)
    if over != "average":
        return found
    rivals = list(_grouped(comparisons, "rival").values())
    if min(len({one.dataset for one in own}) for own in rivals) >= LEAST_SETS:
        return _average(comparisons)
    is_contrary = any(all(one.is_contrary(1 / len(rivals)) for one in own) for own in rivals)
    return replace(found, outcome=_outcome(found.outcome == "supported", is_contrary))


def _outcome(is_shown: object, is_contrary: object) -> Outcome:
    return "supported" if is_shown else "contradicted" if is_contrary else "open"


def _all(comparisons: Sequence[Comparison]) -> Decision:
    """Supported if every test passes, uncorrected; contradicted if a contrary one survives Holm over all.

    A test survives Holm's procedure if and only if the one with the smallest p does, at the level divided by their
    number.
    """
    contrary = [one for one in comparisons if one.is_contrary(1 / len(comparisons))]
    failing = [one for one in comparisons if not one.is_shown()]
    decisive = min(contrary or failing or comparisons, key=_judged_lead)

    def power(true: float) -> float:
        return math.prod(one.power(true) for one in comparisons)

    return Decision(_outcome(not contrary and not failing, contrary), decisive, "all", power, tuple(comparisons))


def _up_to(comparisons: Sequence[Comparison]) -> Decision:
    """Supported if the largest passes, at the level divided by their number; contradicted if all show the contrary."""
    share = 1 / len(comparisons)

    def power(true: float) -> float:
        return 1 - math.prod(1 - one.power(true, share) for one in comparisons)

    is_shown = any(one.is_shown(share) for one in comparisons)
    found = _outcome(is_shown, all(one.is_contrary() for one in comparisons))
    return Decision(found, max(comparisons, key=_lead), "up_to", power, tuple(comparisons))


def _several(comparisons: Sequence[Comparison], k: int, n_sets: int) -> Decision:
    """Partial conjunction (Dror et al. 2017), with Bonferroni's correction, so whatever depends on what.

    k of n data sets are shown if k of them pass at the level divided by n - k + 1. The contrary is that so many show
    the contrary that k others are not left.
    """
    sets = list(_grouped(comparisons, "dataset").values())
    n, against = len(sets), n_sets - k + 1
    share, contrary_share = 1 / max(n - k + 1, 1), 1 / max(n - against + 1, 1)
    n_shown = sum(all(one.is_shown(share) for one in own) for own in sets)
    contrary = [own for own in sets if any(one.is_contrary(contrary_share / len(own)) for one in own)]

    def power(true: float) -> float:
        counts = np.array([1.0])  # probabilities of so many of the sets, which are independent
        for own in sets:
            chance = math.prod(one.power(true, share) for one in own)
            counts = np.convolve(counts, [1 - chance, chance])
        return float(counts[k:].sum())

    found = _outcome(n_shown >= k, len(contrary) >= against)
    ranked = sorted((min(own, key=_lead) for own in sets), key=_lead, reverse=True)
    against_it = sorted((min(own, key=_judged_lead) for own in contrary), key=_lead)
    decisive = against_it[against - 1] if found == "contradicted" else ranked[min(k, n) - 1]
    return Decision(found, decisive, "several", power, tuple(comparisons))


def _average(comparisons: Sequence[Comparison]) -> Decision:
    """Judge the mean over data sets for each rival, as the comparisons of a claim about all of them."""
    means, judged = {}, []
    for rival, own in _grouped(comparisons, "rival").items():
        known = [one for one in own if one.estimate.df > 0]
        if len(known) < 2:
            judged.append(Comparison("mean", rival, Estimate(own[0].estimate.value, 0.0, 0), own[0].criterion))
            continue
        means[rival] = mean = random_effects([one.estimate.value for one in known], [one.error for one in known])
        judged.append(Comparison("mean", rival, Estimate(mean.mean, mean.error, mean.df), _mean_criterion(known)))

    def chance(true: float) -> float:
        # Weights are estimated too: with as many degrees of freedom as the error has, less is found.
        known = [replace(one.estimate, df=one.estimate.df - 1) for one in judged]
        return math.prod(power(one, judged[0].criterion.supports, true) for one in known)

    return replace(_all(judged), how="average", power=chance, means=means)


def _mean_criterion(comparisons: Sequence[Comparison]) -> Criterion:
    """Return a criterion whose thresholds are the means of those of the data sets."""
    all_of = [one.criterion for one in comparisons]

    def mean(groups: Iterable[Tests]) -> Tests:
        return tuple(
            (tests[0][0], float(np.mean([threshold for _, threshold, _ in tests])), tests[0][2])
            for tests in zip(*groups, strict=True)
        )

    contradicts = tuple(map(mean, zip(*(one.contradicts for one in all_of), strict=False)))
    edge = float(np.mean([one.edge for one in all_of]))
    return Criterion(mean(one.supports for one in all_of), contradicts, edge, all_of[0].upwards)


def _grouped(comparisons: Iterable[Comparison], name: str) -> dict[str, list[Comparison]]:
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        found.setdefault(getattr(one, name), []).append(one)
    return found


_lead = attrgetter("lead")


def _judged_lead(one: Comparison) -> tuple[bool, float]:
    """The lead; of comparisons without an interval, which come last, how far the number is on the side of the claim."""
    if one.estimate.df > 0:
        return False, one.lead
    return True, math.inf if math.isnan(one.estimate.value) else one.distance


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


def random_effects(values: Sequence[float], errors: Sequence[float]) -> RandomEffects:
    r"""Return the mean with the variance between data sets by REML, and the error of Hartung and Knapp (2001).

    The error is :math:`\sqrt{\sum w_i (y_i - \hat\mu)^2 / ((k - 1) \sum w_i)}` with :math:`w_i = 1 / (v_i + \tau^2)`
    on k - 1 degrees of freedom, as has the prediction interval. `values` and `errors` are the difference and the
    standard error of each data set. An error of 0, of models that are equal on each test row, counts as the smallest of
    the others: such a set would otherwise be the mean alone. `ValueError` for fewer than two data sets.
    """
    y, v = np.array(values, float), np.square(np.array(errors, float))
    k = len(y)
    if k < 2:
        raise ValueError(f"values are of {k} data sets; a mean over data sets needs two.")
    v[v == 0] = v[v > 0].min(initial=math.inf) if v.any() else 1e-300
    tau2, most = 0.0, float(y.var(ddof=1)) * k
    if most > 0:

        def lacking(value: float) -> float:
            return -restricted_likelihood(value, y, v)

        options = {"xatol": 1e-6 * most}
        found = optimize.minimize_scalar(lacking, bounds=(0.0, most), method="bounded", options=options)
        tau2 = min((0.0, float(found.x)), key=lacking)
        # The likelihood is flat at its peak, which is therefore known to few digits, and to others on another
        # processor; where its slope is 0 is known to all.
        near, far = max(tau2 - 1e-4 * most, 0.0), tau2 + 1e-4 * most
        if tau2 and likelihood_slope(near, y, v) > 0 > likelihood_slope(far, y, v):
            tau2 = float(optimize.brentq(likelihood_slope, near, far, args=(y, v), xtol=1e-15 * most))
    weights = 1 / (v + tau2)
    mean = float(weights @ y / weights.sum())
    error = math.sqrt(float(weights @ (y - mean) ** 2) / ((k - 1) * float(weights.sum())))
    half = quantile(1 - TAIL, k - 1) * math.sqrt(tau2 + error**2)
    return RandomEffects(mean, error, k - 1, tau2, mean - half, mean + half)


def restricted_likelihood(tau2: float, y: np.ndarray, v: np.ndarray) -> float:
    """Return the logarithm of the restricted likelihood of a variance between data sets, without its constant."""
    weights = 1 / (v + tau2)
    mean = weights @ y / weights.sum()
    return float(0.5 * (np.log(weights).sum() - np.log(weights.sum()) - weights @ (y - mean) ** 2))


def likelihood_slope(tau2: float, y: np.ndarray, v: np.ndarray) -> float:
    """Return the derivative of `restricted_likelihood` by `tau2`."""
    weights = 1 / (v + tau2)
    mean = weights @ y / weights.sum()
    return float(0.5 * (weights @ weights / weights.sum() - weights.sum() + weights**2 @ (y - mean) ** 2))
