"""Intervals of differences: coverage on simulated results, brute force, enumeration, and formulas by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from cascadeforest.inference import intervals

N = 2000
#: 95 % of 2,000, and four standard errors to both sides.
FEWEST, MOST = 0.93, 0.97


def coverage(interval, draw, truth=0.0, n=N):
    """Share of simulations whose interval holds the true difference."""
    generator = np.random.default_rng(0)
    found = (interval(*draw(generator)) for _ in range(n))
    return np.mean([one.low <= truth <= one.high for one in found])


def persistent(generator, n_rows, n_seeds, rows=0.03, seeds=0.0, rest=0.015):
    """Differences of being right: rows where one model always is, noise of seeds, and noise of both together."""

    def signs(share, *shape):
        uniform = generator.random(shape)
        return np.where(uniform < share / 2, 1.0, np.where(uniform < share, -1.0, 0.0))

    return signs(rows, n_rows, 1) + seeds * generator.normal(size=(1, n_seeds)) + signs(rest, n_rows, n_seeds)


def test_seeds_are_no_replicates_of_rows():
    """No true difference, 3 % of 2,000 rows in persistent disagreement, 5 seeds."""
    generator = np.random.default_rng(0)
    over_seeds, over_both = [], []
    for _ in range(N):
        table = persistent(generator, 2000, 5, rest=0.0125)
        means = table.mean(axis=0)
        over_seeds.append(abs(means.mean()) > 2.776445 * means.std(ddof=1) / 5**0.5)
        over_both.append(intervals.given_test_set(table).excludes_zero)
    assert 0.4 < np.mean(over_seeds) < 0.52
    assert 0.03 <= np.mean(over_both) <= 0.06


@pytest.mark.parametrize(
    ("n_rows", "n_seeds", "parts"),
    [
        (400, 1, {}),
        (400, 3, {"rows": 0.1, "rest": 0.1}),
        (300, 10, {"rows": 0.1, "seeds": 0.015}),
        (300, 10, {"rows": 0.0, "seeds": 0.02, "rest": 0.1}),
    ],
)
def test_intervals_of_rows_and_seeds_hold_the_difference_as_often_as_they_say(n_rows, n_seeds, parts):
    found = coverage(intervals.given_test_set, lambda generator: (persistent(generator, n_rows, n_seeds, **parts),))
    assert FEWEST <= found <= MOST


def test_the_variance_over_rows_and_seeds_is_that_of_the_two_way_layout():
    table = persistent(np.random.default_rng(1), 40, 4, 0.3, 0.2, 0.3)
    n, s = table.shape
    rows, seeds, mean = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True), table.mean()
    ms_row = s * ((rows - mean) ** 2).sum() / (n - 1)
    ms_seed = n * ((seeds - mean) ** 2).sum() / (s - 1)
    ms_err = ((table - rows - seeds + mean) ** 2).sum() / ((n - 1) * (s - 1))
    found = intervals.given_test_set(table)
    assert ms_row + ms_seed - ms_err > max(ms_row, ms_seed)
    assert found.error**2 == pytest.approx((ms_row + ms_seed - ms_err) / (n * s))
    squares = ms_row**2 / (n - 1) + ms_seed**2 / (s - 1) + ms_err**2 / ((n - 1) * (s - 1))
    assert found.df == pytest.approx((ms_row + ms_seed - ms_err) ** 2 / squares)
    shares = np.array([ms_row - ms_err, ms_seed - ms_err, ms_err])
    assert list(vars(found.shares).values()) == pytest.approx(shares / shares.sum())
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, found.df) * found.error)
    assert intervals.given_test_set(table[:, :1]).error == pytest.approx(table[:, 0].std(ddof=1) / 40**0.5)


def test_the_largest_mean_square_is_the_least_variance():
    """Without seeds the sum may be smaller than the part of the rows, whose degrees of freedom then count."""
    rows = np.repeat([[1.0], [-1.0], [0.0], [1.0]], 3, axis=1)
    table = rows + np.outer([1, -1, 1, -1], [0.1, -0.1, 0.0])
    found = intervals.given_test_set(table)
    assert found.df == 3
    assert found.error**2 == pytest.approx(table.mean(axis=1).var(ddof=1) / 4)


@pytest.mark.parametrize("sizes", [(60, 60), (200, 15), (100, 40, 20)])
def test_strata_hold_the_difference_as_often_as_they_say(sizes):
    """Rows vary within their classes, which weigh the same, by other variances; seeds vary too."""
    strata = np.repeat(np.arange(len(sizes)), sizes)
    weights = (len(strata) / len(sizes) / np.array(sizes))[strata]

    def draw(generator):
        own = generator.normal(0, 1 + strata, len(strata))[:, None] + generator.normal(0, 1, (len(strata), 3))
        return weights[:, None] * own + generator.normal(0, 0.05, (1, 3)), strata

    assert FEWEST <= coverage(intervals.given_test_set, draw) <= MOST


def test_strata_have_the_degrees_of_freedom_of_satterthwaite():
    """Two classes of 3 and 5 rows that weigh as they are: Welch's t with both parts of the variance."""
    generator = np.random.default_rng(5)
    values, strata = generator.normal(0, 1, (8, 1)), np.repeat([0, 1], [3, 5])
    parts = np.array([9 / 64 * values[:3].var(ddof=1) / 3, 25 / 64 * values[3:].var(ddof=1) / 5])
    found = intervals.given_test_set(values, strata)
    assert found.error**2 == pytest.approx(parts.sum())
    assert found.df == pytest.approx(parts.sum() ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 4))
    with pytest.raises(ValueError, match="1 test rows of a class"):
        intervals.given_test_set(values, np.arange(8) // 7)


def test_rows_that_are_all_equal_bound_how_often_models_differ():
    """Of 100 rows none differs: 0.97^100 = 4.8 %, and 1 - 0.05^(1/100) = 2.95 %."""
    found = intervals.equal_rows(100)
    assert (found.low, found.high) == (pytest.approx(-0.02951, abs=1e-5), pytest.approx(0.02951, abs=1e-5))
    assert found.error * 1.959964 == pytest.approx(found.high)
    assert (1 - found.high) ** 100 == pytest.approx(0.05)


# Splits ------------------------------------------------------------------------------------------------------------


def test_splits_have_the_variance_of_nadeau_and_bengio():
    """Differences 1, 2, 3 and 6, half as many test rows as training rows: s² = 14 / 3, factor 1 / 4 + 1 / 2."""
    found = intervals.repeated_splits([1.0, 2.0, 3.0, 6.0], 0.5)
    assert (found.value, found.df) == (3.0, 3)
    assert found.error**2 == pytest.approx(14 / 3 * 0.75)
    assert found.high == pytest.approx(3 + 3.182446 * math.sqrt(3.5), rel=1e-6)
    # (3.182446 + 0.978472) standard errors: tables of Student's t at 97.5 and 80 %.
    assert found.detectable == pytest.approx(4.160918 * math.sqrt(3.5), rel=1e-6)


def test_intervals_of_splits_hold_the_difference_as_often_as_they_say():
    """Differences of splits share a part, as overlapping training sets make them: correlation n_test / (n_test + n)."""

    def draw(generator):
        shared = generator.normal(0, math.sqrt(0.2))
        return shared + generator.normal(0, math.sqrt(0.8), 5), 0.25

    assert FEWEST <= coverage(intervals.repeated_splits, draw) <= MOST


def test_pooled_rows_are_those_of_one_sample_and_a_row_tested_twice_counts_once():
    values = np.array([1.0, 0.0, -1.0, 0.0, 1.0, 1.0])
    found = intervals.pooled_rows(np.arange(6), values)
    assert found.error == pytest.approx(values.std(ddof=1) / 6**0.5)
    assert found.df == 5
    twice = intervals.pooled_rows(np.tile(np.arange(6), 3), np.tile(values, 3))
    assert (twice.low, twice.high) == (pytest.approx(found.low), pytest.approx(found.high))


def test_intervals_of_pooled_rows_hold_the_difference_as_often_as_they_say():
    def draw(generator):
        rows = generator.integers(0, 300, 400)
        return rows, persistent(generator, 300, 1, 0.3)[rows, 0] + persistent(generator, 400, 1, 0, 0, 0.2)[:, 0]

    assert FEWEST <= coverage(intervals.pooled_rows, draw) <= MOST


@pytest.mark.parametrize("kind", ["folds", "splits"])
def test_intervals_of_real_models_hold_what_they_say_they_do(kind):
    """Nearest centroids on two halves of 8 features that are drawn alike, so that neither half is better.

    Nadeau and Bengio: of all training sets. Pooled rows: of the models that were trained, whose accuracy is known.
    """

    def fit(x, y):
        means = [x[y == label].mean(axis=0) for label in (1, 0)]
        return means[0] - means[1], -(means[0] - means[1]) @ (means[0] + means[1]) / 2

    def accuracy(w, b):
        return np.mean([stats.norm.cdf((0.5 * w.sum() + side * b) / np.linalg.norm(w)) for side in (1, -1)])

    n, n_simulations, found = 60, 800, []
    generator = np.random.default_rng(8)
    for _ in range(n_simulations):
        y = generator.permutation(np.arange(n) % 2)
        x = generator.normal(y[:, None] - 0.5, 1.0, (n, 8))
        order = [generator.permutation(n) for _ in range(1 if kind == "folds" else 10)]
        tests = np.split(order[0], 5) if kind == "folds" else [one[:18] for one in order]
        rows, differences, truths = [], [], []
        for test in tests:
            train = np.setdiff1d(np.arange(n), test)
            models = [(half, fit(x[train][:, half], y[train])) for half in (slice(4), slice(4, None))]
            right = [((x[test][:, half] @ w + b > 0) == y[test]).astype(float) for half, (w, b) in models]
            rows.append(test)
            differences.append(right[0] - right[1])
            truths.append(accuracy(*models[0][1]) - accuracy(*models[1][1]))
        over = intervals.repeated_splits([one.mean() for one in differences], len(test) / len(train))
        here = intervals.pooled_rows(np.concatenate(rows), np.concatenate(differences))
        found.append((over.low <= 0 <= over.high, here.low <= np.mean(truths) <= here.high))
    of_all, of_these = np.mean(found, axis=0)
    assert FEWEST <= of_these <= MOST
    # Folds share fewer rows than the correction takes them to: 98 to 99 %.
    assert FEWEST <= of_all <= (MOST if kind == "splits" else 1)


# Training draws ----------------------------------------------------------------------------------------------------


def p_value(differences, shift):
    """Two-sided p of the exact test that flips signs, by enumeration of all of them."""
    centred = np.array(differences) - shift
    sums = [abs(np.dot(signs, centred)) for signs in itertools.product((-1, 1), repeat=len(centred))]
    return np.mean(np.array(sums) >= abs(centred.sum()) - 1e-9)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.lists(st.integers(-60, 60), min_size=6, max_size=8, unique=True))
def test_the_interval_of_sign_flips_has_what_enumeration_does_not_reject(values):
    found = intervals.sign_flips(values)
    step = 1e-6
    for end, outside in ((found.low, -step), (found.high, step)):
        assert p_value(values, end + outside) <= 0.05
        assert p_value(values, end - outside) > 0.05
    assert p_value(values, found.value) == 1


def test_few_repeats_exclude_nothing():
    found = intervals.sign_flips([1.0, 1.1, 1.2, 1.3, 1.4])
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert intervals.sign_flips([1.0, 1.1, 1.2, 1.3, 1.4, 1.5]).low == pytest.approx(1.0)
    with pytest.raises(ValueError, match="1 repeats; an interval needs two"):
        intervals.sign_flips([0.0])


@pytest.mark.parametrize(("n", "n_simulations"), [(10, N), (30, 800), (100, 800)])
def test_intervals_of_sign_flips_hold_the_difference_as_often_as_they_say(n, n_simulations):
    def draw(generator):
        return (generator.laplace(1.0, 1.0, n),)

    assert FEWEST <= coverage(intervals.sign_flips, draw, 1.0, n_simulations) <= MOST


def test_an_end_that_is_zero_but_for_rounding_excludes_nothing():
    assert intervals.sign_flips([0.1 + 0.2 - 0.3, *[0.1] * 5]).low == 0


@pytest.fixture
def few_bits(monkeypatch):
    """Subgroups of 64 changes of sign, of the field with x^6 + x + 1."""
    monkeypatch.setattr(intervals, "FLIP_BITS", 6)
    monkeypatch.setattr(intervals, "_PRIMITIVE", 0b1000011)


def test_a_subgroup_of_flips_has_an_exact_level(few_bits):
    """Of all 2^8 signs of eight numbers, exactly 1/64 excludes 0 at each side: 1 of 64 is the most below 2.5 %."""
    sizes = np.random.default_rng(6).exponential(size=8)
    found = [intervals.sign_flips(sizes * signs) for signs in itertools.product((-1, 1), repeat=8)]
    assert sum(one.low > 0 for one in found) == sum(one.high < 0 for one in found) == 2**8 / 64


def test_a_subgroup_of_flips_is_closed_and_ties_no_two_repeats(few_bits):
    """By the means of single repeats: the subsets that they are in, found from values that are powers of two."""
    n, sums = 12, []
    original = intervals._sum_where_odd

    def listen(values, n_bits):
        original(values, n_bits)
        sums.append(values.copy())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_sum_where_odd", listen)
        assert intervals.sign_flips([2.0**k for k in range(n)]).interval
    found = {int(one) for one in sums[0][0]}
    assert len(found) == 64
    assert {a ^ b for a in found for b in found} == found
    for i, j in itertools.combinations(range(n), 2):
        both = [(one >> i & 1, one >> j & 1) for one in found]
        assert [both.count(pair) for pair in ((0, 0), (0, 1), (1, 0), (1, 1))] == [16] * 4
    assert sums[0][1].tolist() == [int(one).bit_count() for one in sums[0][0]]


def test_the_numbers_of_a_hundred_repeats_differ():
    """The polynomial is primitive: 65,535 numbers without a repetition."""
    code, seen = 1, set()
    for _ in range(2**16 - 1):
        seen.add(code)
        code <<= 1
        code ^= intervals._PRIMITIVE if code >> 16 else 0
    assert len(seen) == 2**16 - 1


def test_subgroup_and_all_flips_agree_nearly(monkeypatch):
    """18 repeats, all 2^18 subsets, and 2^16 of them."""
    values = np.random.default_rng(7).laplace(1.0, 1.0, 18)
    some = intervals.sign_flips(values)
    monkeypatch.setattr(intervals, "FLIP_BITS", 18)
    every = intervals.sign_flips(values)
    width = every.high - every.low
    assert some.low == pytest.approx(every.low, abs=0.02 * width)
    assert some.high == pytest.approx(every.high, abs=0.02 * width)


def test_intervals_of_paired_t_hold_the_difference_as_often_as_they_say():
    assert FEWEST <= coverage(intervals.paired_t, lambda generator: (generator.normal(1.0, 1.0, 5),), 1.0) <= MOST


# Costs -------------------------------------------------------------------------------------------------------------


def test_ratios_of_costs_are_geometric_means_and_wider_than_their_repeats_say():
    """Ratios 1, 2 and 4: mean log 2, deviation log 2."""
    found = intervals.cost_ratio([1.0, 2.0, 12.0], [1.0, 1.0, 3.0])
    assert found.value == pytest.approx(math.log(2))
    half = 4.302653 * math.log(2) / math.sqrt(3) + math.log(1.2)
    assert found.interval == pytest.approx((math.log(2) - half, math.log(2) + half), rel=1e-5)
    single = intervals.cost_ratio([3.0], [2.0])
    assert np.exp((single.low, single.value, single.high)) == pytest.approx((1.0, 1.5, 2.25))
    with pytest.raises(ValueError, match="positive"):
        intervals.cost_ratio([1.0], [0.0])


def test_ratios_of_costs_are_in_their_interval_at_least_as_often_as_it_says():
    def draw(generator):
        return generator.lognormal(math.log(2), 0.1, 5), generator.lognormal(0, 0.1, 5)

    assert coverage(intervals.cost_ratio, draw, math.log(2)) >= FEWEST


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([0.0], 1.2),  # one round says nothing
        ([0.01, -0.01, 0.0], math.exp(4.302653 * 0.01 / math.sqrt(3))),  # narrower than 1.2 to both sides
        ([0.1, 0.2, 0.0], 1.2),  # 0.1 and its interval hold 0 as well as more than 1.2
        ([0.5, 0.51, 0.49], math.exp(0.5 + 4.302653 * 0.01 / math.sqrt(3))),  # beyond 1.2
    ],
)
def test_the_machine_counts_for_a_fifth_until_a_model_against_itself_excludes_it(logs, expected):
    found = intervals.machine_factor([math.exp(log) for log in logs], [1.0] * len(logs))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("bias", [0.0, 0.1, math.log(1.2), 0.3])
def test_widened_ratios_hold_the_true_one_on_machines_that_favour_a_turn(bias):
    """Noise of 3 % in five rounds; the last turn of a round, in which a model meets itself, costs more."""

    def interval(own, other, again):
        return intervals.cost_ratio(own, other, intervals.machine_factor(again, other))

    def draw(generator):
        own, other, again = np.exp(generator.normal([math.log(2) + bias, 0, bias], 0.03, (5, 3))).T
        return own, other, again

    assert coverage(interval, draw, math.log(2)) >= FEWEST


def test_the_interval_of_two_spreads_is_that_of_pitman_and_morgan():
    """The ratio of standard deviations at which sum and difference are just not correlated lies at its ends."""
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    y = 2 * y + x
    estimate = intervals.ratio_of_spreads(x.tolist(), y.tolist())

    def lead(log_ratio):
        scaled = math.exp(log_ratio) * y
        return stats.pearsonr(x - scaled, x + scaled).pvalue - 0.05

    exact = optimize.brentq(lead, estimate.value, estimate.value + 3)
    half = math.asinh(stats.t.ppf(0.975, 10) * estimate.error)
    assert exact - estimate.value == pytest.approx(half, rel=1e-6)
    assert estimate.interval[1] > exact


@pytest.mark.parametrize(("own", "other"), [([1.0, 2.0], [1.0, 3.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0])])
def test_spreads_that_are_not_there_have_no_ratio(own, other):
    with pytest.raises(ValueError, match="a ratio of their spreads needs three, and numbers that vary"):
        intervals.ratio_of_spreads(own, other)


# What intervals decide ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "published", "expected"),
    [
        ("accuracy", 0.95, 0.0025),
        ("accuracy", 0.999, 0.001),
        ("balanced_accuracy", 0.62, 0.005),
        ("roc_auc", 0.97, 0.0015),
        ("accuracy", None, 0.003),
        ("rmse", 2.5, 0.05),
        ("rmse", None, 0.06),
        ("log_loss", 0.5, 0.01),
        ("ece", 0.1, None),
    ],
)
def test_regions_follow_from_the_published_error(metric, published, expected):
    found = intervals.region(metric, 3.0, published)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.004, 0.02, "win"),
        (-0.02, -0.004, "lose"),
        (-0.002, 0.003, "equivalent"),
        (0.001, 0.002, "equivalent"),
        (-0.002, 0.004, "undecided"),
        (-math.inf, math.inf, "undecided"),
    ],
)
def test_an_interval_and_a_region_decide(low, high, expected):
    assert intervals.outcome(low, high, 0.003, higher_is_better=True) == expected
    flipped = {"win": "lose", "lose": "win"}
    assert intervals.outcome(low, high, 0.003, higher_is_better=False) == flipped.get(expected, expected)


def test_rows_needed_are_those_without_which_no_seed_helps():
    """The variance of the rows falls with their number: as many more as the square of what is too wide."""
    generator = np.random.default_rng(4)
    table = persistent(generator, 1000, 10, rows=0.3, rest=0.0)
    found = intervals.given_test_set(table)
    assert found.shares.rows == pytest.approx(1)
    wide = 2.801585 * found.error  # 1.96 + 0.84
    assert found.rows_needed(wide * 1.01) is None
    assert found.rows_needed(wide / 2) == pytest.approx(4000, rel=0.001)
    assert intervals.paired_t([1.0, 2.0, 4.0]).rows_needed(0.1) is None


def test_by_chance_one_of_twenty_intervals_excludes_zero():
    """Of 20: P(X > 4) = 0.0026, P(X > 3) = 0.0159."""
    assert [intervals.most_by_chance(n) for n in (0, 1, 20)] == [0, 1, 4]
