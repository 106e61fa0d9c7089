"""Random numbers of the kernels: published values, uniformity, and bootstraps as sums of independent draws.

Statistical tests compare counts with a law by chi-square. Their seeds are fixed; with other seeds each would fail by
chance once in a million runs (`ALARM`).
"""

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, kstest

from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.kernels.draws import bootstrap_counts, draw_below, draw_uint64, draw_unit

ALARM = 1e-6
MASK = (1 << 64) - 1


def splitmix64(seed):
    """Steele, Lea, Flood (2014), Figure 17, in Python's unbounded integers."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def state_of(seed):
    return np.array([seed], np.uint64)


def bootstrap(seed, n_draws, n_rows):
    counts = np.full(n_rows, -1, np.int32)
    bootstrap_counts(np.uint64(seed), n_draws, counts)
    return counts


def test_the_published_numbers_of_splitmix64():
    """The five first ones of seed 1234567, as in Vigna's reference implementation."""
    state = state_of(1234567)
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert draw_uint64(state, len(expected)).tolist() == expected


@pytest.mark.parametrize("seed", [0, 1, 2**63, MASK])
def test_numbers_are_those_of_the_twin(seed):
    """Also where the state runs over."""
    state, twin = state_of(seed), splitmix64(seed)
    assert draw_uint64(state, 50).tolist() == [next(twin) for _ in range(50)]
    state, twin = state_of(seed), splitmix64(seed)
    assert draw_unit(state, 50).tolist() == [(next(twin) >> 11) / 2**53 for _ in range(50)]
    for n in (1, 2, 7, 255, 2**31 - 1):
        state, twin = state_of(seed), splitmix64(seed)
        assert draw_below(state, n, 50).tolist() == [(next(twin) >> 32) * n >> 32 for _ in range(50)]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 255])
def test_every_integer_below_n_is_as_likely(n):
    drawn = draw_below(state_of(n), n, 20_000)
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert chisquare(np.bincount(drawn, minlength=n)).pvalue > ALARM or n == 1


def test_successive_integers_are_independent():
    drawn = draw_below(state_of(3), 6, 40_001)
    assert chisquare(np.bincount(6 * drawn[1:] + drawn[:-1], minlength=36)).pvalue > ALARM


def test_units_are_uniform_in_the_half_open_interval():
    drawn = draw_unit(state_of(4), 20_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert kstest(drawn, "uniform").pvalue > ALARM
    low_bits = (drawn * 2**53).astype(np.int64) % 16
    assert chisquare(np.bincount(low_bits, minlength=16)).pvalue > ALARM


def test_the_largest_unit_is_below_one():
    assert (MASK >> 11) / 2**53 < 1


# Bootstraps.


def test_the_same_seed_draws_the_same_rows():
    assert np.array_equal(bootstrap(5, 300, 100), bootstrap(5, 300, 100))


def test_a_bootstrap_is_the_sum_of_the_draws_of_the_twin():
    """Its stream begins at the seed XOR the constant of random.h."""
    twin = splitmix64(77 ^ 0x5851F42D4C957F2D)
    rows = [(next(twin) >> 32) * 40 >> 32 for _ in range(60)]
    assert np.array_equal(bootstrap(77, 60, 40), np.bincount(rows, minlength=40))


@pytest.mark.parametrize(("n_draws", "n_rows"), [(0, 5), (1, 1), (10, 1), (1, 10), (7, 1000), (1000, 7)])
def test_counts_sum_to_the_number_of_draws(n_draws, n_rows):
    counts = bootstrap(1, n_draws, n_rows)
    assert counts.sum() == n_draws
    assert counts.min() >= 0


def test_every_row_is_as_likely_in_every_bootstrap():
    """Counts of 2000 trees by row: multinomial, and independent from tree to tree."""
    counts = np.stack([bootstrap(seed, 30, 30) for seed in tree_seeds(0, 2000)])
    assert chisquare(counts.sum(axis=0)).pvalue > ALARM
    # A row's own count is binomial(30, 1/30): its share of trees without the row is (29/30)^30.
    absent = np.count_nonzero(counts == 0, axis=0)
    p = (29 / 30) ** 30
    z = (absent - 2000 * p) / np.sqrt(2000 * p * (1 - p))
    assert chi2.sf((z**2).sum() * 29 / 30, 30) > ALARM
    # Sums of squares tell draws that avoid or seek each other: the chi-square of each tree has mean 29.
    statistic = ((counts - 1) ** 2).sum(axis=1)
    standard_error = np.sqrt(2 * 29 * 29 / 30 / 2000)
    assert abs(statistic.mean() - 29) < 4.9 * standard_error  # once in a million


def test_streams_differ():
    """Of neighbouring seeds, of trees, and of the bootstrap and the growth of one tree."""
    counts = [tuple(bootstrap(seed, 100, 100)) for seed in range(200)]
    assert len(set(counts)) == 200
    assert len(set(tree_seeds(0, 1000)) | set(tree_seeds(1, 1000)) | set(tree_seeds([0, 1], 1000))) == 3000
    together = np.corrcoef(np.array(counts, float))[np.triu_indices(200, 1)]
    # Correlations of 100 even draws have a standard deviation of 0.1; the mean of their squares is 1/99.
    assert abs((together**2).mean() * 99 - 1) < 4.9 * np.sqrt(2 / together.size)
    for seed in range(100):
        rows = draw_below(state_of(seed), 1000, 50)
        assert not np.array_equal(bootstrap(seed, 50, 1000), np.bincount(rows, minlength=1000))


@pytest.mark.parametrize("n_draws", [None, 1, 17, 100])
def test_a_forest_remembers_its_bootstraps(n_draws):
    """`in_bag_counts` draws again what the trees were grown on: their roots' shares of the classes say so."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    binned = BinMapper().fit_transform(X)
    forest = grow_forest(
        binned,
        y,
        n_classes=3,
        rules=GrowthRules(max_depth=0),
        seeds=tree_seeds(0, 20),
        bootstrap=True,
        max_samples=n_draws,
    )
    for i in range(20):
        counts = forest.in_bag_counts(i)
        assert counts.sum() == (n_draws or 40)
        share = forest.trees.values[forest.trees.tree(i).value_row[0]]
        assert share == pytest.approx(np.bincount(y, counts, 3) / counts.sum(), abs=1e-6)


def test_without_bootstrap_every_row_counts_once():
    binned = BinMapper().fit_transform(np.arange(9.0)[:, None])
    forest = grow_forest(binned, np.arange(9) % 2, n_classes=2, rules=GrowthRules(), seeds=tree_seeds(0, 2))
    assert np.array_equal(forest.in_bag_counts(1), np.ones(9))
