"""Bins: the edges against a naive twin, the assignment against its definition (how many edges are below a value)."""

import itertools
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from cascadeforest.forest.binning import MAX_BINS, BinMapper, BinnedMatrix
from cascadeforest.kernels.bins import spread

MISSING = 255
FLOATS = [np.float32, np.float64]
#: No deadline, which would assert a wall time; the same examples in each run.
examples = settings(deadline=None, derandomize=True, max_examples=60)
seeds = st.integers(0, 2**32 - 1)


def naive_share(weights, n_bins):
    """Mean weight of the bins that are left for the lighter values, when each heavier value takes one."""
    heavy = set()
    while True:
        light = sum(w for i, w in enumerate(weights) if i not in heavy)
        share = light / (n_bins - len(heavy))
        heavier = {i for i, w in enumerate(weights) if w > share}
        if heavier == heavy:
            return share
        heavy = heavier


def naive_spread(values, weights, n_bins):
    """Each value goes to the bin in which the middle of its weight lies, one bin further at most, none left empty."""
    share = naive_share(weights, n_bins)
    bins = [[values[0]]]
    position = min(weights[0], share)
    for i in range(1, len(values)):
        capped = min(weights[i], share)
        wanted = sum(position + capped / 2 >= b * share for b in range(1, n_bins))
        position += capped
        if wanted >= len(bins) or len(values) - i == n_bins - len(bins):
            bins.append([])
        bins[-1].append(values[i])
    assert len(bins) == n_bins
    return bins


def naive_mixture(values, counts):
    """What decides the bins: 70 % of the weight, and 30 % of it by the parts of the range nearest to a value."""
    width, total = values[-1] - values[0], sum(counts)
    borders = [values[0], *((a + b) / 2 for a, b in itertools.pairwise(values)), values[-1]]
    return [
        0.7 * count + 0.3 * total * (end - begin) / width
        for count, (begin, end) in zip(counts, itertools.pairwise(borders), strict=True)
    ]


def naive_bins(values, counts):
    """The rule of the module, with lists: which distinct values share a bin."""
    values, counts = [float(v) for v in values], [int(c) for c in counts]
    if len(values) <= 255:
        return [[v] for v in values]
    counts = naive_mixture(values, counts)
    share = naive_share(counts, 255)
    runs = [(h, list(g)) for h, g in itertools.groupby(range(len(values)), key=lambda i: counts[i] > share)]
    n_heavy = sum(len(run) for heavy, run in runs if heavy)
    light_runs = [run for heavy, run in runs if not heavy]
    if n_heavy + len(light_runs) > 255:
        return naive_spread(values, counts, 255)
    bins, free = [], 255 - n_heavy - len(light_runs)
    for heavy, run in runs:
        if heavy:
            bins += [[values[i]] for i in run]
            continue
        weight = sum(counts[i] for i in run)
        rest = sum(counts[i] for later in light_runs for i in later)
        light_runs.pop(0)
        takers = sum(len(later) - 1 for later in light_runs)
        more = int(free * (weight / rest) + 0.5)
        more = min(max(more, free - takers), free, len(run) - 1)
        free -= more
        bins += naive_spread([values[i] for i in run], [counts[i] for i in run], 1 + more)
    return bins


def naive_edges(column, dtype):
    """Mid-points between neighbouring bins of the naive rule."""
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    bins = naive_bins(values.astype(float), counts)
    mids = np.array([(low[-1] + high[0]) / 2 for low, high in itertools.pairwise(bins)])
    edges = mids.astype(dtype)
    return np.where(edges > mids, np.nextafter(edges, dtype(-np.inf)), edges), bins


def naive_assign(mapper, X):
    """How many of the feature's edges are below each value."""
    bins = np.empty(X.T.shape, np.uint8)
    for k in range(X.shape[1]):
        edges = mapper.edges_[mapper.offsets_[k] : mapper.offsets_[k + 1]].astype(float)
        bins[k] = [MISSING if np.isnan(x) else np.sum(edges < float(x)) for x in X[:, k]]
    return bins


def fit_column(values, dtype=np.float64, **arguments):
    mapper = BinMapper()
    binned = mapper.fit_transform(np.asarray(values, dtype)[:, None], **arguments)
    return mapper, binned.columns[0], binned.centers[0]


def assert_same(a, b):
    """Two (mapper, BinnedMatrix) are the same bytes."""
    for one, other in zip(
        (a[0].edges_, a[0].offsets_, *a[1][:2]), (b[0].edges_, b[0].offsets_, *b[1][:2]), strict=True
    ):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def fitted(X, **arguments):
    mapper = BinMapper()
    return mapper, mapper.fit_transform(X, **arguments)


def mixed_matrix(n_rows=700, dtype=np.float64):
    """Columns of every kind: continuous, few values, ties, constant, all missing, some missing; 20 of them."""
    rng = np.random.default_rng(7)
    X = np.empty((n_rows, 20))
    X[:, :12] = rng.normal(size=(n_rows, 12))
    X[:, 12] = rng.integers(0, 2, n_rows)
    X[:, 13] = rng.integers(0, 9, n_rows)
    X[:, 14] = rng.integers(0, 100, n_rows)
    X[:, 15] = np.where(rng.random(n_rows) < 0.6, 0.0, X[:, 0])
    X[:, 16] = 3.0
    X[:, 17] = np.nan
    X[:, 18] = np.where(rng.random(n_rows) < 0.2, np.nan, X[:, 1])
    X[:, 19] = np.where(rng.random(n_rows) < 0.5, -0.0, 0.0)
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_few_values_are_cut_at_their_mid_points(dtype):
    mapper, bins, centers = fit_column([7, 1, 2, 7, 4, 1], dtype)
    assert mapper.edges_.tolist() == [1.5, 3.0, 5.5]
    assert mapper.edges_.dtype == dtype
    assert mapper.offsets_.tolist() == [0, 3]
    assert bins.tolist() == [3, 0, 1, 3, 2, 0]
    assert centers[:4].tolist() == [1, 2, 4, 7]
    assert np.isposinf(centers[4:]).all()


def test_255_values_have_a_bin_each_and_256_share_one():
    mapper, bins, centers = fit_column(np.arange(255))
    assert mapper.edges_.tolist() == [v + 0.5 for v in range(254)]
    assert bins.tolist() == centers.tolist() == list(range(255))
    mapper, bins, centers = fit_column(np.arange(256))
    assert mapper.edges_.size == 254
    sizes = np.bincount(bins)
    assert sorted(sizes) == [1] * 254 + [2]
    shared = int(sizes.argmax())
    assert centers[shared] == shared + 0.5


def test_equal_weights_are_spread_evenly():
    """1,000 values in 255 bins: 3 or 4 each."""
    bins = fit_column(np.random.default_rng(0).permutation(1000))[1]
    assert set(np.bincount(bins)) == {3, 4}


@examples
@given(seeds, st.integers(200, 600), st.integers(1, 40), st.sampled_from(FLOATS))
def test_edges_centers_and_bins_are_those_of_the_naive_twin(seed, n_distinct, heaviest, dtype):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, heaviest + 1, n_distinct) ** rng.integers(1, 3)
    x = rng.permutation(np.repeat(rng.normal(size=n_distinct).astype(dtype), counts))
    x[rng.random(x.size) < 0.01] = np.nan
    mapper, columns, centers = fit_column(x, dtype)
    edges, bins = naive_edges(x, dtype)
    assert mapper.edges_.tolist() == edges.tolist()
    assert centers[: len(bins)].tolist() == [(b[0] + b[-1]) / 2 for b in bins]
    assert np.isposinf(centers[len(bins) :]).all()
    assert columns.tolist() == naive_assign(mapper, x[:, None])[0].tolist()
    assert np.unique(columns[~np.isnan(x)]).tolist() == list(range(len(bins)))
    assert len(bins) == min(255, np.unique(x[~np.isnan(x)]).size)


def test_long_tails_are_divided_finely():
    """Quantiles put 24 of 6,000 rows into each bin: of a lognormal column the last bin was half of the range.

    A bin of several values holds little more than one share, and of that 30 % is by range: it is no wider than about
    1 / (0.3 * 255) of the range. Single values are as far apart as they are.
    """
    x = np.random.default_rng(0).lognormal(sigma=2.0, size=6000)
    _, bins, _ = fit_column(x)
    quantiles = np.array_split(np.sort(x), 255)
    assert np.ptp(quantiles[-1]) > 0.5 * np.ptp(x)
    widths = [np.ptp(x[bins == b]) for b in range(255)]
    assert max(widths) < 1.1 * np.ptp(x) / (0.3 * 255)
    assert max(np.bincount(bins)) < 24 / 0.7  # what the tail gets, the others hardly miss
    tail = x >= quantiles[-1][0]
    assert np.unique(bins[tail]).size > 0.8 * tail.sum()


@pytest.mark.parametrize("seed", range(5))
def test_neighbouring_centers_are_closer_than_those_of_quantiles(seed):
    """Random thresholds fall into wide gaps between centers, where they are all the same cut."""
    x = np.random.default_rng(seed).lognormal(size=6000)
    _, _, centers = fit_column(x)
    quantiles = [0.5 * (part[0] + part[-1]) for part in np.array_split(np.sort(x), 255)]
    assert np.diff(centers).max() < 0.8 * np.diff(quantiles).max()
    # The widest gap that is left is one between two neighbouring values, or nearly so.
    assert np.diff(centers).max() < np.diff(np.sort(x)).max() + 0.03 * np.ptp(x)


def test_a_far_value_costs_two_bins():
    """Its gap is 30 % of the weight, but a value takes one bin at most: it, its neighbour, and 253 for 998 others."""
    x = np.r_[np.arange(999), 1e9]
    _, bins, _ = fit_column(x)
    sizes = np.bincount(bins)
    assert sizes[-2:].tolist() == [1, 1]
    assert set(sizes[:-2]) == {3, 4}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("largest", ["max", "smallest_subnormal"])
def test_the_widest_and_the_narrowest_range(dtype, largest):
    """Twice the largest float, and 999 times the smallest: in both, equal gaps make equal bins."""
    if largest == "max":
        x = np.concatenate([np.arange(-500, 0), np.arange(1, 501)]) * (np.finfo(dtype).max / 500)
    else:
        x = np.arange(1000) * np.finfo(dtype).smallest_subnormal
    mapper, bins, centers = fit_column(x, dtype)
    assert np.isfinite(mapper.edges_).all()
    assert np.isfinite(centers).all()
    assert set(np.bincount(bins)) == {3, 4}


def test_infinite_values_have_no_range_and_leave_the_quantiles_as_they_are():
    x = np.r_[-np.inf, np.exp(np.linspace(0, 20, 998)), np.inf]
    assert set(np.bincount(fit_column(x)[1])) == {3, 4}


def test_a_heavy_value_has_a_bin_for_itself_and_the_light_ones_share_the_others_evenly():
    """Zero holds half of the weight, 60 values lie below it and 940 above: 1 + 15 + 239 bins of about 4 values."""
    x = np.concatenate([np.arange(-60, 0), np.zeros(1000), np.arange(1, 941)])
    _, bins, _ = fit_column(x)
    assert set(x[bins == bins[60]]) == {0.0}
    assert np.unique(bins[:60]).size == 16
    assert np.unique(bins[1060:]).size == 238
    light = np.delete(np.bincount(bins), bins[60])
    assert light.size == 254
    assert light.min() >= 3
    assert light.max() <= 4


def test_rare_values_between_heavy_ones_have_bins_of_their_own():
    """0, 1, ..., 9 with 500 rows each, one row of each half between, and a thousand values above."""
    x = np.concatenate([np.repeat(np.arange(10), 500), np.arange(9) + 0.5, np.linspace(10, 20, 1000)])
    mapper, _, _ = fit_column(x)
    assert mapper.edges_[:18].tolist() == [0.25 + 0.5 * k for k in range(18)]
    assert mapper.edges_.size == 254


def test_heavy_and_light_values_in_turn_use_all_bins_and_heavy_ones_are_never_together():
    """150 heavy and 150 light values in turn would need 300 bins."""
    x = np.repeat(np.arange(300), np.tile([1, 50], 150))
    _, bins, _ = fit_column(x)
    assert np.unique(bins).tolist() == list(range(255))
    assert np.unique(bins[x % 2 == 1]).size == 150


@examples
@given(seeds, st.integers(1, 900), st.booleans())
def test_whole_weights_are_repeated_rows_and_zero_weights_have_no_influence(seed, n_rows, ties):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 300, n_rows).astype(float) if ties else rng.normal(size=n_rows)
    x[rng.random(n_rows) < 0.1] = np.nan
    counts = rng.integers(0, 4, n_rows)
    counts[rng.integers(n_rows)] = 2
    weighted, bins, centers = fit_column(x, sample_weight=counts)
    repeated, repeated_bins, repeated_centers = fit_column(np.repeat(x, counts))
    assert weighted.edges_.tobytes() == repeated.edges_.tobytes()
    assert centers.tobytes() == repeated_centers.tobytes()
    assert np.repeat(bins, counts).tobytes() == repeated_bins.tobytes()


def test_rows_without_weight_are_binned_all_the_same():
    mapper, bins, _ = fit_column([0, 1, 5, 9], sample_weight=[1, 0, 2.5, 0])
    assert mapper.edges_.tolist() == [2.5]
    assert bins.tolist() == [0, 0, 1, 1]


def test_equal_weights_are_no_weights():
    X = mixed_matrix()
    assert_same(fitted(X), fitted(X, sample_weight=np.full(len(X), 0.1)))


def test_fractional_weights_move_the_edges():
    """1,000 values, the first 500 a hundred times heavier: of all bins 70 % * 0.99 + 30 % * 0.5 are theirs."""
    _, bins, _ = fit_column(np.arange(1000), sample_weight=np.repeat([0.1, 0.001], 500))
    assert np.unique(bins).size == 255
    assert bins[499] == pytest.approx(0.84 * 255, abs=2)


@pytest.mark.parametrize("tiny", [1e-20, 5e-324])
def test_weights_that_vanish_beside_others_leave_no_bin_empty(tiny):
    """The sum of the weights does not see the tiny ones."""
    weights = np.full(400, 0.1)
    weights[[3, 100, 101, 398]] = tiny
    x = np.arange(400.0)
    for far in (399.0, 1e30):  # there, nor does the range see the gaps between the others
        x[-1] = far
        _, bins, _ = fit_column(x, sample_weight=weights)
        assert np.unique(bins).tolist() == list(range(255))
    weights = np.r_[np.full(254, 0.1), tiny, 0.1]
    x = np.arange(256.0)
    for far in (255.0, 1e30):
        x[-1] = far
        _, bins, _ = fit_column(x, sample_weight=weights)
        assert np.unique(bins).tolist() == list(range(255))


def test_rounding_makes_no_value_light():
    """A third of 0.7 + 0.7 + 0.7 rounds to less than 0.7: three bins, and three values heavier than a share."""
    last = np.empty(3, np.int64)
    spread(np.array([0.7, 0.7, 0.7, 5e-324]), 0, 4, 3, last, 0)
    assert last.tolist() == [0, 1, 3]


def test_rounding_leaves_no_bin_out():
    """Half of the smallest float is 0, so that the middles alone would fill six of these seven bins."""
    sums = np.array([5e-324, 0.7, 5e-324, 5e-324, 5e-324, 0.3, 5e-324, 5e-324, 0.9])
    last = np.full(8, -1)
    spread(sums, 0, 9, 7, last, 1)
    assert (np.diff(last) > 0).all()
    assert last[-1] == 8


def test_missing_values_have_their_own_bin_and_no_influence():
    mapper, bins, centers = fit_column([np.nan, 2, 1, -np.nan, 2])
    assert mapper.edges_.tolist() == [1.5]
    assert bins.tolist() == [255, 1, 0, 255, 1]
    assert centers[:3].tolist() == [1, 2, np.inf]


def test_a_column_without_values_has_no_bin():
    mapper, bins, centers = fit_column([np.nan, np.nan])
    assert mapper.edges_.size == 0
    assert bins.tolist() == [255, 255]
    assert np.isposinf(centers).all()
    assert mapper.transform(np.array([[1.0], [np.nan]])).columns.tolist() == [[0, 255]]


def test_a_constant_column_has_one_bin():
    mapper, bins, centers = fit_column([4, 4, 4])
    assert mapper.offsets_.tolist() == [0, 0]
    assert bins.tolist() == [0, 0, 0]
    assert centers[0] == 4


def test_one_row():
    mapper, binned = fitted(np.array([[1.0, np.nan]]))
    assert binned.columns.tolist() == [[0], [255]]
    assert mapper.offsets_.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("anchor", [0.0, 1.0, -1.0, 1e-300, 3.0e38, -3.0e38, "max", "min", "tiny"])
def test_neighbouring_floats_are_told_apart(dtype, anchor):
    """Their mid-point is one of the two, and overflows beside the largest."""
    info = np.finfo(dtype)
    named = {"max": info.max, "min": info.min, "tiny": info.smallest_subnormal}
    centre = dtype(named.get(anchor, anchor))
    with np.errstate(over="ignore"):
        near = [centre, *(np.nextafter(centre, dtype(side)) for side in (-np.inf, np.inf))]
    values = np.unique([v for v in near if np.isfinite(v)])
    assert values.size > 1
    mapper, bins, centers = fit_column(values, dtype)
    assert bins.tolist() == list(range(values.size))
    assert (values[:-1] <= mapper.edges_).all()
    assert (mapper.edges_ < values[1:]).all()
    assert centers[: values.size].tolist() == values.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_huge_values_of_both_signs(dtype):
    largest = np.finfo(dtype).max
    mapper, bins, centers = fit_column([-largest, largest, largest / 2], dtype)
    assert bins.tolist() == [0, 2, 1]
    assert np.isfinite(mapper.edges_).all()
    assert mapper.edges_[1] == pytest.approx(0.75 * float(largest))
    assert np.isfinite(centers[:3]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_bins_of_many_neighbouring_huge_values_have_finite_centers(dtype):
    values = np.finfo(dtype).max * (1 - np.arange(600) * np.finfo(dtype).eps)
    _, bins, centers = fit_column(values, dtype)
    lows, highs = (
        extreme.reduceat(values[::-1], np.flatnonzero(np.diff(bins[::-1], prepend=255)))
        for extreme in (np.minimum, np.maximum)
    )
    assert (lows <= centers).all()
    assert (centers <= highs).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_order_format_threads_and_sign_of_zero_do_not_show(dtype):
    X = mixed_matrix(dtype=dtype)
    one = fitted(X)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist() if dtype == np.float64 else X):
        assert_same(one, fitted(other))
    for container in (scipy.sparse.csc_matrix, scipy.sparse.csr_matrix, scipy.sparse.coo_array):
        assert_same(one, fitted(container(X)))
    assert_same(one, fitted(X + dtype(0)))  # no -0.0 any more
    wide = np.tile(X, (200, 2))  # several blocks of rows and of columns
    assert_same(fitted(wide), fitted(wide, n_jobs=2))
    weights = np.random.default_rng(3).random(len(X))
    assert_same(fitted(X, sample_weight=weights), fitted(np.asfortranarray(X), sample_weight=weights, n_jobs=2))


@pytest.mark.parametrize("dtype", FLOATS)
def test_transform_of_the_training_rows_gives_the_bins_of_the_fit(dtype):
    X = np.tile(mixed_matrix(dtype=dtype), (100, 1))  # more than one block of rows
    mapper, binned = fitted(X)
    expected = binned.columns.tobytes()
    assert mapper.transform(X).columns.tobytes() == expected
    assert mapper.transform(X, n_jobs=-1).columns.tobytes() == expected
    assert mapper.transform(np.asfortranarray(X), n_jobs=2).columns.tobytes() == expected
    assert mapper.transform(scipy.sparse.csr_matrix(X)).columns.tobytes() == expected
    assert mapper.transform(X).centers is None
    rows = [mapper.transform(X[i : i + 1]).columns for i in range(700)]
    assert np.hstack(rows).tobytes() == binned.columns[:, :700].tobytes()


def test_fit_finds_what_fit_transform_finds():
    X = mixed_matrix()
    mapper = BinMapper().fit(X)
    assert mapper.edges_.tobytes() == fitted(X)[0].edges_.tobytes()
    assert mapper.n_features_in_ == 20


@pytest.mark.parametrize("n_distinct", [1, 2, 3, 9, 15, 16, 17, 100, 255, 256, 400])
@pytest.mark.parametrize("fit_dtype", FLOATS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_unseen_values_go_where_the_thresholds_send_them(n_distinct, fit_dtype, dtype):
    """That x <= threshold(0, cut) is bin <= cut, on thresholds and their neighbours too. So bins are monotone."""
    rng = np.random.default_rng(n_distinct)
    mapper, _, _ = fit_column(rng.normal(size=n_distinct), fit_dtype)
    edges = mapper.edges_.astype(dtype)
    x = np.concatenate(
        [rng.normal(size=200), edges, np.nextafter(edges, dtype(-9)), np.nextafter(edges, dtype(9)), [-1e30, 1e30]]
    ).astype(dtype)
    bins = mapper.transform(x[:, None]).columns[0]
    for cut in range(MAX_BINS):
        threshold = mapper.threshold(0, cut)
        assert np.array_equal(x.astype(float) <= threshold, bins <= cut)
    assert (np.diff(bins[np.argsort(x)].astype(int)) >= 0).all()


def test_edges_in_float64_decide_exactly_for_float32_rows():
    """Edges beyond float32, and between two of its neighbours."""
    mapper, _, _ = fit_column([-1e300, -1e299, 1.0, 1.0 + 1e-9, 1e299, 1e300])
    big = np.finfo(np.float32).max
    x = np.array([-np.inf, -big, 1.0, np.nextafter(np.float32(1), np.float32(2)), big, np.inf], np.float32)
    assert mapper.transform(x[:, None]).columns.tolist() == naive_assign(mapper, x[:, None]).tolist()


def test_thresholds_of_many_cuts_at_once():
    mapper, _ = fitted(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, np.nan]]))
    assert mapper.threshold(0, 1) == 2.0
    assert isinstance(mapper.threshold(0, 1), float)
    assert mapper.threshold([0, 0, 0, 1], np.array([0, 1, 2, 0], np.uint64)).tolist() == [0.5, 2.0, np.inf, np.inf]


def test_extended_mapper_and_stacked_bins_are_those_of_the_joined_matrix():
    X = mixed_matrix()
    (left, left_bins), (right, right_bins) = fitted(X[:, :7]), fitted(X[:, 7:])
    extended, stacked = left.extend(right), BinnedMatrix.stack([left_bins, right_bins])
    assert_same(fitted(X), (extended, stacked))
    assert extended.transform(X).columns.tobytes() == stacked.columns.tobytes()
    assert BinnedMatrix.stack([left_bins, right.transform(X[:, 7:])]).centers is None
    assert left.n_features_in_ == 7


def test_extension_by_another_type_keeps_all_edges():
    X = mixed_matrix()
    left, right = BinMapper().fit(X[:, :7].astype(np.float32)), BinMapper().fit(X[:, 7:])
    extended = left.extend(right)
    assert extended.edges_.dtype == np.float64
    assert extended.transform(X).columns[:7].tobytes() == left.transform(X[:, :7]).columns.tobytes()


def test_pickle_is_small_and_keeps_everything():
    X = mixed_matrix(dtype=np.float32)
    mapper, binned = fitted(X)
    data = pickle.dumps(mapper)
    copy = pickle.loads(data)
    assert copy.transform(X).columns.tobytes() == binned.columns.tobytes()
    assert len(data) < 4 * mapper.edges_.size + 8 * mapper.offsets_.size + 500


def test_memory_that_must_not_be_written_is_not_written():
    X = mixed_matrix()
    frozen = X.copy(order="F")
    frozen.flags.writeable = False
    assert_same(fitted(X), fitted(frozen))


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_memory_of_matrices_and_mappers_does_not_matter(tmp_path, dtype):
    """Order, strides, blocks of rows; frozen and memory-mapped."""
    X = mixed_matrix(dtype=dtype)
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = fitted(X)
    for matrix in (X.T.copy().T, np.repeat(X, 2, axis=0)[::2], X[:, ::-1].copy()[:, ::-1], frozen, mapped):
        assert_same(fitted(matrix), expected)
    tall = np.tile(X, (100, 1))  # more than one block of rows
    assert expected[0].transform(tall).columns.tobytes() == np.tile(expected[1].columns, 100).tobytes()
    joblib.dump(expected[0], tmp_path / "mapper")
    loaded = joblib.load(tmp_path / "mapper", mmap_mode="r")
    assert loaded.transform(X).columns.tobytes() == expected[1].columns.tobytes()


@examples
@given(seeds, st.integers(0, 254), st.sampled_from(FLOATS))
def test_bins_are_counts_of_edges_for_any_number_of_edges(seed, n_edges, dtype):
    """Values at, beside and far from edges, infinite edges and values."""
    rng = np.random.default_rng(seed)
    mapper = BinMapper()
    mapper.edges_ = np.sort(rng.choice([rng.normal(), -np.inf, *rng.normal(size=300)], n_edges)).astype(dtype)
    mapper.offsets_ = np.array([0, n_edges])
    some = np.r_[mapper.edges_, dtype(0.5)]
    beside = (np.nextafter(some, dtype(way)) for way in (-np.inf, np.inf))
    x = np.concatenate([some, *beside, [-np.inf, np.inf, np.nan]])[:, None].astype(dtype)
    assert mapper.transform(x).columns.tolist() == naive_assign(mapper, x).tolist()


def test_matrices_without_rows_or_features():
    X = mixed_matrix()
    mapper = BinMapper().fit(X)
    assert mapper.transform(X[:0]).columns.shape == (20, 0)
    assert mapper.transform(scipy.sparse.csc_matrix((0, 20))).columns.shape == (20, 0)
    empty, binned = fitted(X[:, :0])
    assert empty.n_features_in_ == 0
    assert binned.columns.shape == (0, 700)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, X: m.transform(X[:, :3]), ValueError, "`X` has 3 features, but 20 were fitted"),
        (lambda m, X: BinMapper().transform(X), NotFittedError, "call fit"),
        (lambda m, X: BinMapper().threshold(0, 0), NotFittedError, "call fit"),
        (lambda m, X: m.extend(BinMapper()), NotFittedError, "call fit"),
        (lambda m, X: m.fit(X[:, 0]), ValueError, r"`X` has 1 dimension.*\(n_rows, n_features\)"),
        (lambda m, X: m.fit(X[:0]), ValueError, "`X` has 0 rows"),
        (lambda m, X: m.fit(X.astype(np.float16)), TypeError, "`X` has dtype float16; convert it to float32"),
        (lambda m, X: m.fit(X, n_jobs=0), ValueError, "`n_jobs` is 0; give the number of threads"),
        (lambda m, X: m.fit(X, np.ones(3)), ValueError, r"sample_weight has shape \(3,\); X has 700 rows: give"),
        (lambda m, X: m.fit(X, np.zeros(700)), ValueError, "sample_weight is zero for every row; give"),
        (
            lambda m, X: m.fit(X, np.r_[-1, np.ones(699)]),
            ValueError,
            "sample_weight gives .* from -1.0 to 1.0; give",
        ),
        (
            lambda m, X: m.fit(X, np.r_[np.nan, np.ones(699)]),
            ValueError,
            "sample_weight gives .* from nan to nan; give",
        ),
        (
            lambda m, X: m.fit(X, np.full(700, 1e308)),
            ValueError,
            r"goes up to 1e\+308, so .* overflows; give",
        ),
        (lambda m, X: m.threshold(20, 0), ValueError, "`feature` is 20; choose from 0 to 19"),
        (lambda m, X: m.threshold(0, 255), ValueError, "`cut` is 255; choose from 0 to 254"),
        (lambda m, X: BinnedMatrix.stack([]), ValueError, "`parts` have"),
        (
            lambda m, X: BinnedMatrix.stack([m.transform(X), m.transform(X[:5])]),
            ValueError,
            r"`parts` have \[700, 5\] rows",
        ),
    ],
)
def test_errors_name_the_argument_its_value_and_the_remedy(call, error, message):
    X = mixed_matrix()
    with pytest.raises(error, match=message):
        call(BinMapper().fit(X), X)


def test_bins_are_written_where_they_are_wanted():
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    room = np.full((5, 300), 99, np.uint8)
    mapper = BinMapper()
    binned = mapper.fit_transform(X, out=room[:3])
    assert np.shares_memory(binned.columns, room)
    assert (room[3:] == 99).all()
    assert room[:3].tobytes() == BinMapper().fit_transform(X).columns.tobytes()
    mapper.transform(X[:, ::-1], out=room[2:])
    assert room[2:].tobytes() == mapper.transform(X[:, ::-1]).columns.tobytes()
    with pytest.raises(ValueError, match=r"`out` has shape \(3, 299\) .* of \(3, 300\)"):
        mapper.transform(X, out=np.empty((3, 299), np.uint8))
