"""Rules of claims: 2,000 simulations of each rule and design, the random-effects mean, and single cases by hand."""

import functools
import math
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from cascadeforest.inference import intervals, rules
from cascadeforest.inference.intervals import Estimate
from cascadeforest.inference.rules import Comparison, criterion, decide, random_effects, restricted_likelihood

N = 2000
#: False supports and false contradictions, at most; power where 80 % is stated, at least.
MOST_FALSE, LEAST_POWER = 0.06, 0.77


# Estimates of a true value of 0, by design ---------------------------------------------------------------------------


def of_rows_and_seeds(generator):
    """Four seeds on 300 given test rows: some rows are always right with one model, others by chance of the seed."""
    signs = np.round(generator.uniform(-0.54, 0.54, size=(300, 1)))
    chance = np.round(generator.uniform(-0.52, 0.52, size=(300, 4)))
    return intervals.given_test_set(signs + chance + 0.004 * generator.normal(size=(1, 4)))


def of_splits(generator, n, test_to_train):
    """Splits share training rows, so that their differences have the correlation that the interval supposes."""
    shared = test_to_train / (1 + test_to_train)
    noise = math.sqrt(shared) * generator.normal() + math.sqrt(1 - shared) * generator.normal(size=n)
    return intervals.repeated_splits(noise, test_to_train)


def of_costs(generator):
    """Six rounds of timings in turn, whose machine is off by less than it is granted."""
    noise = generator.normal(scale=0.1, size=6) + generator.uniform(-1, 1) * math.log(intervals.MACHINE)
    return intervals.cost_ratio(np.exp(noise), np.ones(6))


DESIGNS = {
    "given": of_rows_and_seeds,
    "folds": lambda generator: of_splits(generator, 5, 0.25),
    "splits": lambda generator: of_splits(generator, 10, 3 / 7),
    "draws": lambda generator: intervals.sign_flips(generator.normal(size=8)),
    "made": lambda generator: intervals.paired_t(generator.normal(size=10)),
    "costs": of_costs,
}


@pytest.fixture(scope="module")
def simulated():
    """2,000 simulations of six data sets, by design."""
    return {
        name: [[draw(generator) for _ in range(6)] for _ in range(N)]
        for name, draw in DESIGNS.items()
        for generator in [np.random.default_rng(1)]
    }


#: Ends of each simulated estimate; the test of signs takes most of the time, and is asked at many true values.
ends_of = functools.cache(Estimate.ends)


@dataclass(frozen=True)
class Moved(Estimate):
    """An estimate whose test of signs has the ends of another one, moved by a number."""

    of: Estimate = None
    by: float = 0.0

    def ends(self, tail):
        return tuple(end + self.by for end in ends_of(self.of, tail))


def at(one, value):
    """The estimate, had the true value been this one."""
    moved = replace(one, value=one.value + value, leads=tuple(lead + value for lead in one.leads))
    return Moved(moved.value, one.error, one.df, leads=moved.leads, of=one, by=value) if one.leads else moved


def test_the_ends_of_a_test_of_signs_move_with_its_differences():
    generator = np.random.default_rng(3)
    for _ in range(50):
        one = intervals.sign_flips(generator.normal(size=8))
        for value, tail in ((0.0, 0.025), (1.7, 0.05), (-30.0, 0.0125)):
            assert at(one, value).ends(tail) == pytest.approx(Estimate.ends(at(one, value), tail), abs=1e-9)


def decisions(simulations, values, bar, **how):
    """Decisions on data sets with these true values."""
    for estimates in simulations:
        yield decide(
            [Comparison(str(k), "", at(e, v), bar) for k, (e, v) in enumerate(zip(estimates, values, strict=False))],
            **how,
        )


def shares(*arguments, **how):
    """Shares of support and contradiction."""
    found = [one.outcome for one in decisions(*arguments, **how)]
    return found.count("supported") / N, found.count("contradicted") / N


def stated(simulations, bar, n, **how):
    """What a claim says it could have found, given the true standard errors."""
    errors = np.sqrt(np.mean([[one.error**2 for one in found[:n]] for found in simulations], axis=0))
    typical = [replace(one, error=error) for one, error in zip(simulations[0], errors, strict=False)]
    return next(decisions([typical], [bar.edge] * n, bar, **how)).smallest


def region_of(simulations):
    """A region in which an equivalence can be shown."""
    return 5 * float(np.mean([c[0].error + c[0].widen for c in simulations]))


def check(capsys, name, simulations, bar, false_support, false_contradiction, n, effect=None, **how):
    """Simulate a rule at the values at which it is just false, just true, and as it says to be found."""
    support, _ = shares(simulations, false_support, bar, **how)
    _, contradiction = shares(simulations, false_contradiction, bar, **how)
    effect = effect or stated(simulations, bar, n, **how)
    power, _ = shares(simulations, [effect] * n, bar, **how)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name}: false support {support:.3f}, false contradiction {contradiction:.3f}, power {power:.3f}"
        )
    assert support <= MOST_FALSE
    assert contradiction <= MOST_FALSE
    assert power >= LEAST_POWER


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("rule", ["better", "comparable", "equivalent", "above", "below", "about"])
def test_one_comparison(capsys, simulated, design, rule):
    simulations, region = simulated[design], region_of(simulated[design])
    bar = criterion(rule, 0.0, region if rule not in ("above", "below") else None)
    # 'Better' is contradicted by a difference that does not matter, so that it is true from there on.
    just_true = region if rule == "better" else bar.edge
    check(capsys, f"{rule}, {design}", simulations, bar, [bar.edge], [just_true], 1, over="all")


@pytest.mark.parametrize("design", DESIGNS)
def test_all_of_three(capsys, simulated, design):
    """Just false: one of them is not better."""
    simulations, region = simulated[design], region_of(simulated[design])
    bar = criterion("better", 0.0, region)
    check(capsys, f"all of three, {design}", simulations, bar, [0, 9 * region, 9 * region], [region] * 3, 3, over="all")


@pytest.mark.parametrize("design", DESIGNS)
def test_two_of_four(capsys, simulated, design):
    """Just false: one is better; just true: two are, and two are much worse."""
    simulations, region = simulated[design], region_of(simulated[design])
    bar, far = criterion("better", 0.0, region), 9 * region
    false = [far, 0, 0, 0], [region, region, -far, -far]
    check(capsys, f"two of four, {design}", simulations, bar, *false, 4, over="several", k=2)


@pytest.mark.parametrize(("design", "spread"), [*((name, 2.0) for name in DESIGNS), ("given", 0.0), ("folds", 0.0)])
def test_on_average(capsys, simulated, design, spread):
    """Data sets differ by nothing, or by twice the error, around the mean."""
    region, generator = region_of(simulated[design]), np.random.default_rng(2)
    simulations = [[at(e, spread * region / 5 * generator.normal()) for e in found] for found in simulated[design]]
    bar, name = criterion("better", 0.0, region), f"average, {design}, spread {spread}"
    # The mean moves with the true values: once is enough.
    found = list(decisions(simulations, [0] * 6, bar, over="average"))
    means = [one.judged[0].estimate for one in found]
    error = math.sqrt(np.mean([mean.error**2 for mean in means]))
    typical = decide([Comparison("", "", replace(means[0], error=error, df=4), bar)], "all").smallest
    check(capsys, name, [[mean] for mean in means], bar, [0], [region], 1, typical, over="all")


@pytest.mark.parametrize("rule", ["order_of_magnitude", "up_to"])
def test_ratios(capsys, simulated, rule):
    simulations = simulated["costs"]
    bar = criterion(rule, math.log(10))
    lowest = rules.NO_ORDER if rule == "order_of_magnitude" else bar.edge
    n = 1 if rule == "order_of_magnitude" else 4
    check(capsys, rule, simulations, bar, [bar.edge] * n, [lowest, *[0.0] * (n - 1)], n, over="all", rule=rule)


# Too little to say anything ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["better", "comparable", "equivalent", "above", "below", "about"])
def test_too_few_repeats_leave_a_claim_open(rule):
    """Five draws exclude nothing, whatever they are, or four on one side; one repeat has no interval."""
    bar = criterion(rule, 0.0, 1.0)
    draws = (3.0, 3.1, 3.2, 2.9, 3.0)[: 5 if rule in ("better", "above", "below") else 4]
    few = Estimate(3.04, 0.05, 4, leads=draws), Estimate(3.0, 0.0, 0)
    for one in few:
        found = decide([Comparison("a", "", one, bar)], "all")
        assert (found.outcome, found.smallest) == ("open", None)


@pytest.mark.parametrize(("over", "rule"), [("several", "better"), ("all", "up_to")])
@pytest.mark.parametrize("value", [math.nan, 9.0])
def test_a_comparison_without_an_interval_does_not_decide(over, rule, value):
    bar = criterion("better", 0.0, 0.1)
    one, *others = (Comparison(f"d{k}", "", Estimate(value if k == 0 else k, 0.1, 9 * (k > 0)), bar) for k in range(4))
    found = decide([one, *others], over, k=1, n_sets=4, rule=rule)
    assert found.outcome == "supported"
    assert found.decisive in others
    assert decide([one], over, k=1, n_sets=1, rule=rule).outcome == "open"


def test_without_any_interval_the_number_that_is_least_on_the_side_of_the_claim_is_shown():
    values = (555.0, 10.0, -7.0, math.nan)
    for rule, least in (("above", -7.0), ("below", 555.0)):
        bar = criterion(rule)
        found = decide([Comparison("imdb", f"level {v}", Estimate(v, 0.0, 0), bar) for v in values], "all")
        assert (found.outcome, found.decisive.estimate.value) == ("open", least)


def test_what_contradicts_a_claim_on_several_sets_is_a_contrary_comparison():
    """Two of four are contrary, so that three cannot be better; the weaker of the two decides."""
    bar = criterion("better", 0.0, 0.1)
    values = {"a": (1.0, 9), "b": (-2.0, 9), "c": (-3.0, 9), "d": (0.0, 0)}
    one = {name: Comparison(name, "", Estimate(value, 0.1, df), bar) for name, (value, df) in values.items()}
    found = decide([*one.values()], "several", k=3)
    assert (found.outcome, found.decisive) == ("contradicted", one["b"])
    found = decide([one["a"], one["b"], one["d"]], "several", k=2)
    assert (found.outcome, found.decisive) == ("open", one["b"])


def test_five_sets_or_each_for_itself():
    bar = criterion("better")
    six = [Comparison(str(k), "", Estimate(1.0 + k / 10, 0.3), bar) for k in range(6)]
    assert decide(six, "average").how == "average"
    assert decide(six[:4], "average").how == "all"


def test_a_mean_over_few_sets_is_contradicted_by_all_of_them_only():
    bar = criterion("better")
    against, fair = (Comparison(name, "", Estimate(mean, 0.1), bar) for name, mean in (("a", -1.0), ("b", 5.0)))
    assert decide([against, fair], "all").outcome == "contradicted"
    assert decide([against, fair], "average").outcome == "open"  # their mean is 2
    assert decide([against, against], "average").outcome == "contradicted"


def test_a_mean_over_few_sets_that_is_lower_than_one_rival_s_contradicts_a_claim_about_both():
    bar = criterion("better")
    leads = {"rf": (-1.0, -1.0, -1.0, -1.0, -1.0), "mlp": (1.0, 1.0)}
    found = [Comparison(str(k), name, Estimate(v, 0.1), bar) for name, own in leads.items() for k, v in enumerate(own)]
    of_all = decide(found, "average")
    # Two sets are too few for a mean over sets, whatever the number of sets with the other rival.
    assert (of_all.how, of_all.outcome) == ("all", "contradicted")
    mixed = [replace(one, rival="mlp" if one.dataset == "0" else "rf") for one in found]
    assert decide(mixed, "average").outcome == "open"


# The random-effects mean ---------------------------------------------------------------------------------------------


def test_random_effects_of_a_published_example():
    """BCG vaccine against tuberculosis (Colditz et al. 1994), as metafor gives it with REML and Knapp-Hartung."""
    treated = [(4, 119), (6, 300), (3, 228), (62, 13536), (33, 5036), (180, 1361), (8, 2537), (505, 87886), (29, 7470)]
    treated += [(17, 1699), (186, 50448), (5, 2493), (27, 16886)]
    control = [
        (11, 128),
        (29, 274),
        (11, 209),
        (248, 12619),
        (47, 5761),
        (372, 1079),
        (10, 619),
        (499, 87892),
        (45, 7232),
    ]
    control += [(65, 1600), (141, 27197), (3, 2338), (29, 17825)]
    values = [math.log(a / (a + b) * (c + d) / c) for (a, b), (c, d) in zip(treated, control, strict=True)]
    errors = [
        math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)) for (a, b), (c, d) in zip(treated, control, strict=True)
    ]
    found = random_effects(values, errors)
    assert found.mean == pytest.approx(-0.7145, abs=5e-5)
    assert found.tau2 == pytest.approx(0.3132, abs=5e-5)
    assert found.mean / found.error == pytest.approx(-3.952, abs=5e-4)


def test_the_variance_between_data_sets_is_the_most_likely_one():
    generator = np.random.default_rng(0)
    for k in (2, 5, 12):
        y, v = generator.normal(size=k), generator.exponential(size=k) ** 2
        found, grid = random_effects(y, np.sqrt(v)), np.linspace(0, 20, 4001)
        best = grid[np.argmax([restricted_likelihood(value, y, v) for value in grid])]
        assert found.tau2 == pytest.approx(best, abs=4e-3)


def test_equal_errors_give_the_plain_mean():
    """The error of Hartung and Knapp is then that of a t test."""
    y = np.array([0.3, 0.1, 0.5, -0.2, 0.4])
    found = random_effects(y, [0.1] * 5)
    assert (found.mean, found.error) == pytest.approx((y.mean(), y.std(ddof=1) / math.sqrt(5)))
    assert found.tau2 == pytest.approx(y.var(ddof=1) - 0.01, rel=1e-13)


def test_the_variance_between_data_sets_is_exact_to_the_digits_that_are_stored():
    """Differences in the last bits, as of another processor, must not show among ten digits."""
    generator = np.random.default_rng(0)
    for k in (2, 3, 8):
        y, errors = generator.normal(size=k), generator.exponential(size=k) / 10
        found, moved = random_effects(y, errors), random_effects(y * (1 + 4e-16), errors * (1 - 4e-16))
        assert found.tau2 > 0
        assert moved.tau2 == pytest.approx(found.tau2, rel=1e-13)
