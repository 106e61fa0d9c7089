"""Growing trees: each node against brute force, whole trees against the naive twin, draws against their laws.

Trees are grown on bins with random values for centers, so that nothing here depends on how `BinMapper` makes them.
Statistical tests compare counts with a law by chi-square. Their seeds are fixed; with other seeds each would fail by
chance once in a million runs (`ALARM`).
"""

import ctypes
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from cascadeforest.forest import _cells, growth
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.kernels.grow import Workspace

from . import naive

MISSING = 255
ALARM = 1e-6
#: No deadline, which would assert a wall time; the same examples in each run.
examples = settings(deadline=None, derandomize=True, max_examples=60)

#: Number of classes (0: regression) and criterion. 2, 3-4, 5-8 and more classes have code of their own.
KINDS = [(0, "squared_error")] + [(k, criterion) for k in (2, 3, 4, 6, 8, 9, 13) for criterion in ("gini", "entropy")]
every_kind = pytest.mark.parametrize(("n_classes", "criterion"), KINDS)


@dataclass
class Data:
    """What trees learn from."""

    columns: np.ndarray  # uint8 (n_features, n_rows)
    centers: np.ndarray
    y: np.ndarray
    n_classes: int
    weights: np.ndarray | None = None

    @property
    def binned(self):
        return BinnedMatrix(self.columns, self.centers)

    @property
    def values(self):
        """Bins as numbers, NaN for missing: what the naive twin takes."""
        return np.where(self.columns == MISSING, np.nan, self.columns)

    @property
    def row_weights(self):
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def grow(self, rules, seeds=1, **others):
        """A forest; `seeds` are a number of trees, or seeds."""
        if isinstance(seeds, int):
            seeds = tree_seeds(7, seeds)
        others = {"n_classes": self.n_classes, "weights": self.weights, **others}
        return grow_forest(self.binned, self.y, rules=rules, seeds=seeds, **others)


def random_centers(rng, n_features):
    """Ascending values with small and large gaps."""
    return np.cumsum(rng.exponential(size=(n_features, 255)) ** 3 + 1e-6, axis=1)


def random_column(rng, n, n_bins, share_missing):
    """A feature whose rows lie in up to `n_bins` of the bins."""
    bins = rng.choice(255, n_bins, replace=False).astype(np.uint8)
    column = rng.choice(bins, n)
    column[rng.random(n) < share_missing] = MISSING
    return column


def random_data(rng, n, n_classes, *, n_features=3, n_bins=6, share_missing=0.0, weights="none"):
    """Random data; the last feature says something about the target."""
    columns = np.stack([random_column(rng, n, n_bins, share_missing) for _ in range(n_features)])
    signal = columns[-1] % 7
    if n_classes:
        y = np.where(rng.random(n) < 0.5, signal, rng.integers(0, n_classes, n)) % n_classes
    else:
        y = rng.integers(-8, 9, n) + signal
    weight = {
        "none": None,
        "integer": rng.integers(1, 4, n).astype(float),
        # The largest is 1: others would be taken relative to the largest and rounded to float32.
        "real": np.minimum(rng.uniform(0.1, 2.0, n), 1.0).astype(np.float32).astype(float),
    }[weights]
    if weights == "real":
        weight[0] = 1.0
    return Data(columns, random_centers(rng, n_features), y, n_classes, weight)


def rows_of_nodes(view, columns, rows):
    """The rows that pass each node of a tree, by the words of the tree alone."""
    reached = [rows] + [None] * (len(view.feature) - 1)
    for t in np.flatnonzero(~view.is_leaf):
        bins = columns[view.feature[t], reached[t]]
        left = np.where(bins == MISSING, view.missing_go_to_left[t], bins <= view.cut[t])
        reached[view.children_left[t]], reached[view.children_right[t]] = reached[t][left], reached[t][~left]
    return reached


def depths(view):
    depth = np.zeros(len(view.feature), int)
    for t in np.flatnonzero(~view.is_leaf):
        depth[[view.children_left[t], view.children_right[t]]] = depth[t] + 1
    return depth


def assert_cut_is_half_way(data, feature, cut, left, right):
    """The cut of a best split: as the threshold half way between the values beside it would divide the bins."""
    left, right = left[left != MISSING], right[right != MISSING]
    if not len(right):
        assert cut == MISSING - 1
        return
    center = data.centers[feature]
    half_way = (center[left.max()] + center[right.min()]) / 2
    expected = max(b for b in range(left.max(), right.min()) if center[b] <= half_way)
    assert cut == expected


def assert_grown_by_the_rules(data, rules, forest, counts=None):
    """Every node of the first tree, against the definitions; returns how many splits it has.

    With `max_features` below the number of features the best of the features looked at is unknown; then the split is
    compared with the best of its own feature.
    """
    view, values, criterion = forest.trees.tree(0), data.values, rules.criterion
    weights = data.row_weights * (1 if counts is None else counts)
    in_bag = np.flatnonzero(weights)
    complete = rules.splitter == "best" and rules.max_features >= len(values)
    max_depth = np.inf if rules.max_depth is None else rules.max_depth
    mean_decrease = np.zeros(len(values))
    for t, (rows, depth) in enumerate(zip(rows_of_nodes(view, data.columns, in_bag), depths(view), strict=True)):
        X, y, w = values[:, rows], data.y[rows], weights[rows]
        share = w.sum() / weights.sum()
        closed = len(np.unique(y, axis=0)) == 1 or depth >= max_depth
        closed = closed or len(rows) < max(rules.min_samples_split, 2 * rules.min_samples_leaf)
        if view.is_leaf[t]:
            if not closed and complete and rules.max_leaf_nodes is None:
                best = naive.best_decrease(X, y, w, criterion, rules.min_samples_leaf)
                assert best == -np.inf or best * share < rules.min_impurity_decrease * (1 + 1e-9)
            if not closed and rules.min_samples_leaf == 1 and rules == GrowthRules(rules.splitter, criterion):
                assert not any(naive.varies(x) for x in X)
            value = forest.trees.values[view.value_row[t]]
            if data.n_classes:
                assert value == pytest.approx(np.bincount(y, w, data.n_classes) / w.sum(), abs=1e-6)
            else:
                assert value + forest.offset == pytest.approx(np.average(y, axis=0, weights=w), rel=1e-6, abs=1e-5)
            continue
        assert not closed
        feature = view.feature[t]
        bins = data.columns[feature, rows]
        left = np.where(bins == MISSING, view.missing_go_to_left[t], bins <= view.cut[t])
        assert naive.allowed(left, rules.min_samples_leaf)
        gain = naive.decreases([left], y, w, criterion)[0]
        if rules.splitter == "best":
            compared = X if complete else X[[feature]]
            best = naive.best_decrease(compared, y, w, criterion, rules.min_samples_leaf)
            assert gain == pytest.approx(best, rel=1e-9, abs=1e-11)
            assert_cut_is_half_way(data, feature, view.cut[t], bins[left], bins[~left])
        assert gain * share >= rules.min_impurity_decrease * (1 - 1e-9) - 1e-12
        if not np.any(bins == MISSING):
            surplus = w[left].sum() - w[~left].sum()
            if abs(surplus) > 1e-6 * w.sum() or np.array_equal(w, np.rint(w)):
                assert view.missing_go_to_left[t] == (surplus > 0)
        mean_decrease[feature] += gain * share
    scale = max(1.0, naive.impurities(np.ones((1, len(in_bag))), data.y[in_bag], weights[in_bag], criterion)[0][0])
    assert forest.mean_decrease_impurity == pytest.approx(mean_decrease, rel=1e-9, abs=1e-10 * scale)
    return np.count_nonzero(~view.is_leaf)


def chi_square(observed, law):
    """Chi-square of counts and its degrees of freedom; rare cells are put together."""
    expected = np.asarray(law, float) * np.sum(observed)
    observed = np.asarray(observed)
    assert not np.any(observed[expected == 0])
    rare = expected < 8
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected >= 1
    return ((observed - expected)[kept] ** 2 / expected[kept]).sum(), np.count_nonzero(kept) - 1


def assert_law(observed, law):
    statistic, freedom = chi_square(observed, law)
    assert freedom > 0
    assert chi2.sf(statistic, freedom) > ALARM


# By hand.


def test_impurities_by_hand():
    """Interpretation paper, Eqs. 7 and 8: variance of (1, 2, 3, 6) is 3.5, of its halves 0.25 and 2.25."""
    y, w = np.array([1.0, 2.0, 3.0, 6.0]), np.ones(4)
    left = np.array([True, True, False, False])
    assert naive.impurity(y, w, "squared_error") == 3.5
    assert naive.decrease(left, y, w, "squared_error") == 3.5 - (0.25 + 2.25) / 2
    labels, w = np.array([0, 1, 1, 2]), np.array([1.0, 1.0, 0.0, 2.0])
    assert naive.impurity(labels, w, "gini") == 1 - 1 / 16 - 1 / 16 - 1 / 4
    assert naive.impurity(labels, np.array([1.0, 1.0, 1.0, 2.0]), "entropy") == pytest.approx(1.5219280948873623)
    for criterion in ("gini", "entropy", "squared_error"):
        expected = naive.decrease(left, y, np.array([1.0, 2.0, 3.0, 4.0]), criterion)
        assert naive.decreases([left], y, np.array([1.0, 2.0, 3.0, 4.0]), criterion) == pytest.approx([expected])


@pytest.mark.parametrize(("n_classes", "criterion"), [(2, "gini"), (2, "entropy"), (0, "squared_error")])
def test_a_stump_by_hand(n_classes, criterion):
    """Bins 3 and 9 are parted in the middle of their values, 30 and 90: bin 6 has value 60."""
    centers = 10.0 * np.arange(255)[None]
    data = Data(np.array([[3, 3, 9]], np.uint8), centers, np.array([0, 0, 1]), n_classes)
    forest = data.grow(GrowthRules(criterion=criterion))
    view = forest.trees.tree(0)
    assert view.feature.tolist() == [0, -2, -2]
    assert view.cut.tolist() == [6, -2, -2]
    assert view.missing_go_to_left.tolist() == [True, False, False]  # two of three rows
    impurity = {"gini": 4 / 9, "entropy": np.log2(3) - 2 / 3, "squared_error": 2 / 9}[criterion]
    assert forest.mean_decrease_impurity == pytest.approx([impurity], rel=1e-12)
    expected = [[1, 0], [0, 1]] if n_classes else [[0], [1]]
    assert (forest.trees.values[view.value_row[1:]] + forest.offset).tolist() == expected


# Every node against brute force.


@every_kind
@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@settings(examples, max_examples=25)
@given(st.data())
def test_every_split_is_the_optimum_of_brute_force(n_classes, criterion, min_leaf, share_missing, data):
    """With ties, constants, weights, few bins and many; up to 40 rows."""
    n = data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sample = random_data(
        rng,
        n,
        n_classes,
        n_bins=data.draw(st.sampled_from([1, 2, 3, 6, 12, 60])),
        share_missing=share_missing,
        weights=data.draw(st.sampled_from(["none", "integer", "real"])),
    )
    if data.draw(st.booleans()):
        sample.columns[0] = 17  # constant
        sample.columns[1] = sample.columns[-1]
    rules = GrowthRules("best", criterion, 3, min_samples_leaf=min_leaf)
    assert_grown_by_the_rules(sample, rules, sample.grow(rules))


@every_kind
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_splits_of_large_nodes_are_the_optimum_of_brute_force(n_classes, criterion, share_missing, n):
    """On both sides of SMALL_NODE; from 8 bins on a small node's bins are looked up."""
    rng = np.random.default_rng(n)
    weights = "real" if share_missing else "integer"
    sample = random_data(rng, n, n_classes, n_features=4, n_bins=40, share_missing=share_missing, weights=weights)
    sample.columns[0] = random_column(rng, n, 255, share_missing)
    sample.columns[1] = 100 + rng.integers(0, 9, n)
    for min_leaf in (1, 7):
        rules = GrowthRules("best", criterion, 4, min_samples_leaf=min_leaf, max_depth=4)
        assert assert_grown_by_the_rules(sample, rules, sample.grow(rules)) > 1


small_columns = st.lists(st.tuples(*[st.sampled_from([0, 1, 5, 254, MISSING])] * 2, st.integers(0, 2)), min_size=1)


@examples
@given(small_columns.map(lambda rows: rows[:12]), st.sampled_from(["gini", "entropy", "squared_error"]))
def test_splits_of_few_rows_are_the_optimum_of_brute_force(rows, criterion):
    """Drawn row by row, so that a failure shrinks to what can be followed on paper."""
    first, second, y = np.array(rows).T
    n_classes = 0 if criterion == "squared_error" else 3
    columns = np.array([first, second], np.uint8)
    sample = Data(columns, 10.0 * np.arange(255) * np.ones((2, 1)), y, n_classes)
    rules = GrowthRules("best", criterion, 2)
    assert_grown_by_the_rules(sample, rules, sample.grow(rules))


@pytest.mark.parametrize(("n_classes", "criterion"), [(0, "squared_error"), (2, "gini"), (3, "entropy"), (9, "gini")])
@pytest.mark.parametrize("splitter", ["best", "random"])
@examples
@given(st.data())
def test_every_rule_holds_in_every_node(n_classes, criterion, splitter, data):
    """Depth, sizes of nodes and leaves, least decrease, number of leaves, features looked at: together."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sample = random_data(
        rng,
        data.draw(st.integers(2, 80)),
        n_classes,
        share_missing=data.draw(st.sampled_from([0.0, 0.3])),
        weights=data.draw(st.sampled_from(["none", "integer", "real"])),
    )
    rules = GrowthRules(
        splitter,
        criterion,
        data.draw(st.integers(1, 3)),
        max_depth=data.draw(st.sampled_from([None, 1, 3])),
        max_leaf_nodes=data.draw(st.sampled_from([None, 2, 5, 1000])),
        min_samples_split=data.draw(st.sampled_from([2, 3, 10])),
        min_samples_leaf=data.draw(st.sampled_from([1, 2, 5])),
        min_impurity_decrease=data.draw(st.sampled_from([0.0, 0.01, 0.1])),
    )
    forest = sample.grow(rules)
    assert_grown_by_the_rules(sample, rules, forest)
    if rules.max_leaf_nodes:
        assert np.count_nonzero(forest.trees.tree(0).is_leaf) <= rules.max_leaf_nodes


@pytest.mark.parametrize(("n_classes", "criterion"), [(0, "squared_error"), (2, "gini"), (5, "entropy")])
def test_rows_of_a_bootstrap_count_as_often_as_they_were_drawn(n_classes, criterion):
    """Values, splits and decreases; leaf sizes are those of distinct rows."""
    rng = np.random.default_rng(3)
    sample = random_data(rng, 120, n_classes, share_missing=0.1, weights="integer")
    rules = GrowthRules("best", criterion, 3, min_samples_leaf=2)
    for n_draws in (None, 40):
        forest = sample.grow(rules, bootstrap=True, max_samples=n_draws)
        counts = forest.in_bag_counts(0)
        assert counts.sum() == (n_draws or 120)
        assert counts.max() > 1
        assert assert_grown_by_the_rules(sample, rules, forest, counts) > 5


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_one_class_or_target_is_one_leaf(criterion):
    rng = np.random.default_rng(0)
    for n_classes in (1, 2, 5) if criterion != "squared_error" else (0,):
        sample = random_data(rng, 30, n_classes)
        sample.y = np.full(30, max(0, n_classes - 1))
        forest = sample.grow(GrowthRules("best", criterion, 3))
        assert len(forest.trees.nodes) == 1
        assert assert_grown_by_the_rules(sample, GrowthRules("best", criterion, 3), forest) == 0


@pytest.mark.parametrize("n_distinct", [254, 255, 256, 400])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_splits_of_binned_values_are_the_optimum(n_distinct, n_classes):
    """Over all values up to 255 of them; over their bins beyond."""
    rng = np.random.default_rng(n_distinct)
    X = rng.normal(size=n_distinct)[np.append(np.arange(n_distinct), rng.integers(0, n_distinct, 200))][:, None]
    y = (np.sin(3 * X[:, 0]) + rng.normal(size=len(X)) > 0.3).astype(int) * rng.integers(1, max(2, n_classes), len(X))
    y = y if n_classes else X[:, 0] ** 2 + rng.normal(size=len(X))
    mapper = BinMapper()
    binned = mapper.fit_transform(X)
    sample = Data(binned.columns, binned.centers, y, n_classes)
    rules = GrowthRules("best", "gini" if n_classes else "squared_error", 1, max_depth=5)
    forest = sample.grow(rules)
    assert assert_grown_by_the_rules(sample, rules, forest) > 5
    if n_distinct <= 255:
        view = forest.trees.tree(0, mapper)
        left = X[:, 0] <= view.threshold[0]
        best = naive.best_decrease(X.T, y, np.ones(len(X)), rules.criterion)
        assert naive.decreases([left], y, np.ones(len(X)), rules.criterion)[0] == pytest.approx(best)
        below, above = X[left].max(), X[~left].min()
        assert view.threshold[0] == pytest.approx((below + above) / 2)


# Whole trees against the naive twin.


def assert_same_tree(view, tree, columns):
    """Same features, same rows in each node; naive cuts lie at the value below, ours in the gap."""
    nodes = list(naive.depth_first(tree))
    assert view.feature.tolist() == [-2 if node.feature is None else node.feature for node in nodes]
    reached = rows_of_nodes(view, columns, np.arange(columns.shape[1]))
    assert [tuple(rows) for rows in reached] == [node.rows for node in nodes]


def exact(numbers):
    return [Fraction(float(v)) for v in numbers]


@pytest.mark.parametrize(
    ("n_classes", "criterion", "missing"),
    # With missing values and more than two classes left, the kernel tries them on the right for all cuts first.
    [(0, "squared_error", 0.25), (2, "gini", 0.25), (3, "gini", 0.0), (7, "gini", 0.0), (10, "gini", 0.0)],
)
@settings(examples, max_examples=20)
@given(st.data())
def test_the_first_of_equal_splits_is_taken(n_classes, criterion, missing, data):
    """One feature, exact sums: lowest cut, missing right before left; the whole tree is that of the naive twin."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, weights = data.draw(st.integers(2, 24)), data.draw(st.sampled_from(["none", "integer"]))
    n_bins = data.draw(st.sampled_from([2, 4, 30]))
    sample = random_data(rng, n, n_classes, n_features=1, n_bins=n_bins, share_missing=missing, weights=weights)
    y = exact(sample.y) if n_classes == 0 else sample.y.tolist()
    min_leaf = data.draw(st.sampled_from([1, 2]))
    tree = naive.grow(sample.values, y, exact(sample.row_weights), criterion, min_leaf=min_leaf)
    view = sample.grow(GrowthRules("best", criterion, min_samples_leaf=min_leaf)).trees.tree(0)
    assert_same_tree(view, tree, sample.columns)


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_is_that_of_the_naive_twin(seed):
    """All features, real targets and no small nodes: no two splits are equal, so that one tree is right."""
    rng = np.random.default_rng(seed)
    sample = random_data(rng, 60, 0, n_features=4, n_bins=200, share_missing=0.1 * (seed % 2), weights="integer")
    sample.y = rng.normal(size=60) + sample.columns[-1] / 64
    bounds = [{}, {"max_depth": 3}, {"min_split": 25}, {"min_decrease": 0.02}][seed % 4]
    tree = naive.grow(
        sample.values, sample.y, sample.row_weights, "squared_error", min_leaf=4, **({"min_split": 14} | bounds)
    )
    names = {"max_depth": "max_depth", "min_split": "min_samples_split", "min_decrease": "min_impurity_decrease"}
    rules = {"min_samples_split": 14} | {names[name]: value for name, value in bounds.items()}
    for max_leaf_nodes in (None, 1000):  # with room for all leaves, best first comes to the same
        forest = sample.grow(
            GrowthRules("best", "squared_error", 4, min_samples_leaf=4, max_leaf_nodes=max_leaf_nodes, **rules)
        )
        assert_same_tree(forest.trees.tree(0), tree, sample.columns)


# Best first.


@every_kind
@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 12])
def test_best_first_always_splits_the_leaf_that_gains_most(n_classes, criterion, max_leaf_nodes):
    """Replayed from the finished tree: the leaves that stayed never had more to gain than the one that was split."""
    rng = np.random.default_rng(max_leaf_nodes + n_classes)
    sample = random_data(rng, 100, n_classes, n_bins=30, share_missing=0.1, weights="real")
    view = sample.grow(GrowthRules("best", criterion, 3, max_leaf_nodes=max_leaf_nodes)).trees.tree(0)
    assert np.count_nonzero(view.is_leaf) == max_leaf_nodes
    gains = []
    for rows in rows_of_nodes(view, sample.columns, np.arange(100)):
        w = sample.row_weights[rows]
        gain = naive.best_decrease(sample.values[:, rows], sample.y[rows], w, criterion)
        gains.append(-np.inf if len(np.unique(sample.y[rows])) == 1 else gain * w.sum())
    frontier = [0]
    for _ in range(max_leaf_nodes - 1):
        t = max((t for t in frontier if not view.is_leaf[t]), key=lambda t: gains[t])
        assert gains[t] >= max(gains[leaf] for leaf in frontier) - 1e-9
        frontier.remove(t)
        frontier += [view.children_left[t], view.children_right[t]]
    assert all(view.is_leaf[frontier])


@every_kind
def test_a_least_decrease_stops_where_brute_force_says(n_classes, criterion):
    """Each decrease of a full tree is met as the least one: the split that brings just as much is made."""
    rng = np.random.default_rng(11)
    sample = random_data(rng, 40, n_classes, n_features=1, n_bins=30, weights="integer")
    for least in (0.003, 0.01, 0.03, 0.1):
        for max_leaf_nodes in (None, 1000):
            rules = GrowthRules("best", criterion, min_impurity_decrease=least, max_leaf_nodes=max_leaf_nodes)
            forest = sample.grow(rules)
            assert_grown_by_the_rules(sample, rules, forest)
            # `assert_grown_by_the_rules` asks nothing of the leaves of best-first trees; here they are the same trees.
            depth_first = sample.grow(GrowthRules("best", criterion, min_impurity_decrease=least))
            assert np.array_equal(forest.trees.nodes, depth_first.trees.nodes)


# Weights, repeated rows, and what must not matter.


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("max_leaf_nodes", [None, 8])
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
@every_kind
def test_integer_weights_are_repeated_rows(n_classes, criterion, splitter, max_leaf_nodes, share_missing):
    """The same bytes; targets are whole numbers, whose sums are exact."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sample = random_data(
            rng, 60, n_classes, n_features=4, n_bins=12, share_missing=share_missing, weights="integer"
        )
        times = sample.weights.astype(int)
        repeated = Data(sample.columns.repeat(times, axis=1), sample.centers, sample.y.repeat(times), n_classes)
        rules = GrowthRules(splitter, criterion, 2, max_leaf_nodes=max_leaf_nodes)
        weighted, plain = sample.grow(rules), repeated.grow(rules)
        assert np.array_equal(weighted.trees.nodes, plain.trees.nodes)
        assert np.array_equal(weighted.trees.values, plain.trees.values)
        assert np.array_equal(weighted.mean_decrease_impurity, plain.mean_decrease_impurity)


@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_rows_of_weight_zero_and_rows_left_out_are_absent_rows(n_classes, splitter):
    rng = np.random.default_rng(1)
    sample = random_data(rng, 80, n_classes, share_missing=0.1, weights="integer")
    kept = np.flatnonzero(rng.random(80) < 0.6)
    alone = Data(
        np.ascontiguousarray(sample.columns[:, kept]), sample.centers, sample.y[kept], n_classes, sample.weights[kept]
    )
    rules = GrowthRules(splitter, "gini" if n_classes else "squared_error", 2)
    zero = np.where(np.isin(np.arange(80), kept), sample.weights, 0.0)
    for bootstrap in (False, True):
        expected = alone.grow(rules, 3, bootstrap=bootstrap)
        others = [
            sample.grow(rules, 3, weights=zero, bootstrap=bootstrap),
            grow_forest(
                sample.binned,
                sample.y[kept],
                n_classes=n_classes,
                rules=rules,
                seeds=tree_seeds(7, 3),
                rows=kept,
                weights=sample.weights[kept],
                bootstrap=bootstrap,
            ),
        ]
        for forest in others:
            assert np.array_equal(forest.trees.nodes, expected.trees.nodes)
            assert np.array_equal(forest.trees.values, expected.trees.values)
            assert np.array_equal(forest.rows, kept)


@pytest.mark.parametrize("splitter", ["best", "random"])
@every_kind
def test_the_order_of_rows_does_not_matter(n_classes, criterion, splitter):
    """Sums of whole numbers are exact in any order; entropies are functions of such sums."""
    rng = np.random.default_rng(2)
    sample = random_data(rng, 300, n_classes, n_features=5, n_bins=40, share_missing=0.1, weights="integer")
    order = rng.permutation(300)
    other = Data(
        np.ascontiguousarray(sample.columns[:, order]),
        sample.centers,
        sample.y[order],
        n_classes,
        sample.weights[order],
    )
    rules = GrowthRules(splitter, criterion, 2)
    first, second = sample.grow(rules, 3), other.grow(rules, 3)
    assert np.array_equal(first.trees.nodes, second.trees.nodes)
    assert np.array_equal(first.trees.values, second.trees.values)
    assert np.array_equal(first.mean_decrease_impurity, second.mean_decrease_impurity)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("n_classes", [2, 4, 7, 12])
def test_the_names_of_classes_do_not_matter(n_classes, splitter):
    rng = np.random.default_rng(5)
    sample = random_data(rng, 150, n_classes, n_bins=5, share_missing=0.1, weights="integer")
    name = rng.permutation(n_classes)[::-1] if n_classes > 2 else np.array([1, 0])
    other = Data(sample.columns, sample.centers, name[sample.y], n_classes, sample.weights)
    rules = GrowthRules(splitter, "gini", 2, min_samples_split=6)
    first, second = sample.grow(rules, 3), other.grow(rules, 3)
    views = first.trees.all_nodes(), second.trees.all_nodes()
    for field in ("children_left", "children_right", "feature", "cut", "missing_go_to_left"):
        assert np.array_equal(getattr(views[0], field), getattr(views[1], field))
    leaf = views[0].is_leaf
    values = [forest.trees.values[view.value_row[leaf]] for forest, view in zip((first, second), views, strict=True)]
    assert np.array_equal(values[0], values[1][:, name])


def test_a_shift_of_the_target_does_not_matter():
    """Exactly, as long as the targets are exact: sums are taken relative to one of them."""
    sample = random_data(np.random.default_rng(6), 200, 0, n_bins=40, share_missing=0.1)
    shifted = Data(sample.columns, sample.centers, sample.y + 2.0**40, 0)
    for splitter in ("best", "random"):
        rules = GrowthRules(splitter, "squared_error", 3)
        first, second = sample.grow(rules), shifted.grow(rules)
        assert np.array_equal(first.trees.nodes, second.trees.nodes)
        assert np.array_equal(first.trees.values, second.trees.values)
        assert second.offset - first.offset == 2.0**40


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_monotone_transforms_of_features_do_not_matter(n_classes):
    """Thresholds move, the rows that they part do not."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 4)).round(1)
    X[rng.random((200, 4)) < 0.05] = np.nan
    y = (rng.integers(0, n_classes, 200) if n_classes else rng.integers(0, 9, 200)) * 1
    rules = GrowthRules("best", "gini" if n_classes else "squared_error", 2)
    leaves, decreases = [], []
    for Z in (X, np.exp(3 * X), X**3, 1000 * X - 5):
        mapper = BinMapper()
        binned = mapper.fit_transform(Z)
        forest = grow_forest(binned, y, n_classes=n_classes, rules=rules, seeds=tree_seeds(1, 4))
        leaves.append(forest.trees.apply(binned))
        decreases.append(forest.mean_decrease_impurity)
    for k in (1, 2, 3):
        assert np.array_equal(leaves[k], leaves[0])
        assert np.array_equal(decreases[k], decreases[0])


@every_kind
def test_a_duplicated_feature_does_not_matter(n_classes, criterion):
    rng = np.random.default_rng(9)
    sample = random_data(rng, 100, n_classes, n_features=1, n_bins=60, share_missing=0.1)
    twice = Data(sample.columns.repeat(2, axis=0), sample.centers.repeat(2, axis=0), sample.y, n_classes)
    one = sample.grow(GrowthRules("best", criterion, 1))
    two = twice.grow(GrowthRules("best", criterion, 2))
    views = one.trees.tree(0), two.trees.tree(0)
    for field in ("children_left", "children_right", "cut", "missing_go_to_left", "value_row"):
        assert np.array_equal(getattr(views[0], field), getattr(views[1], field))
    assert set(views[1].feature) == {-2, 0, 1}
    assert two.mean_decrease_impurity.sum() == pytest.approx(one.mean_decrease_impurity[0], rel=1e-12)


# Random splits.


@pytest.mark.parametrize("n_rows", [20, 32, 33, 60])
@pytest.mark.parametrize("n_others", [0, 9])
def test_random_thresholds_cut_gaps_in_proportion_to_their_width(n_rows, n_others):
    """Bins that only rows outside the node are in take their part of the gap."""
    rng = np.random.default_rng(n_rows)
    bins = np.sort(rng.choice(255, 10, replace=False)).astype(np.uint8)
    others = np.setdiff1d(np.arange(bins[0], bins[-1]), bins)[:n_others]
    used = np.union1d(bins, others)
    data = Data(rng.permutation(np.resize(bins, n_rows))[None], None, np.arange(n_rows) % 2, 2)
    data.centers = np.full((1, 255), np.inf)
    data.centers[0, : len(used)] = np.cumsum(rng.exponential(size=len(used)) + 0.05)  # as if nobody was in between
    data.columns = np.searchsorted(used, data.columns).astype(np.uint8)
    view = data.grow(GrowthRules("random", "gini", 1, max_depth=1), 20_000).trees.all_nodes()
    cuts = np.bincount(view.cut[~view.is_leaf], minlength=len(used))
    assert cuts.sum() == 20_000  # a cut always divides the node
    low, high = data.columns.min(), data.columns.max()
    gaps = np.zeros(len(cuts))
    gaps[low:high] = np.diff(data.centers[0, low : high + 1])
    assert_law(cuts, gaps / gaps.sum())


@pytest.mark.parametrize("max_features", [1, 2, 3])
@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize(
    ("n_classes", "criterion"), [(0, "squared_error"), (2, "gini"), (2, "entropy"), (5, "gini"), (5, "entropy")]
)
def test_extra_trees_take_the_best_of_random_splits(n_classes, criterion, n, max_features):
    """Law of feature, cut and missing side of the root by enumeration of all draws."""
    rng = np.random.default_rng(n + n_classes)
    sample = random_data(rng, n, n_classes, n_features=3, n_bins=4, weights="real")
    bins = [np.unique(column) for column in sample.columns]
    sample.columns = np.stack([np.searchsorted(*pair) for pair in zip(bins, sample.columns, strict=True)]).astype(
        np.uint8
    )
    sample.columns[1, rng.random(n) < 0.3] = MISSING
    law = naive.random_split_law(sample.values, sample.centers, sample.y, sample.row_weights, criterion, max_features)
    forest = sample.grow(GrowthRules("random", criterion, max_features, max_depth=1), 8000)
    view = forest.trees.all_nodes()
    split = ~view.is_leaf
    counts = dict.fromkeys(law, 0)
    for k, cut, side in zip(view.feature[split], view.cut[split], view.missing_go_to_left[split], strict=True):
        counts[k, cut, int(side) if k == 1 else -1] += 1
    assert sum(counts.values()) == 8000
    assert_law(list(counts.values()), list(law.values()))


# Which feature divides a node.


def small_table():
    """Twelve rows; a one-hot group, a constant, and features that are constant on most paths."""
    group = np.repeat([0, 1, 2, 3], 3)
    inner = np.tile([0, 1, 2], 4)
    columns = [group == 0, group == 1, group == 2, np.zeros(12), np.where(group == 3, inner, 0), inner]
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1])
    y = np.where(np.arange(12) % 5 == 0, 2, y)  # three classes in some nodes, two in others
    return Data(np.array(columns, np.uint8), random_centers(np.random.default_rng(0), 6), y, 3)


def assert_features_follow_their_law(data, rules, forest, feature_weights):
    """Chi-square over all nodes of all trees, by the set of rows in them: each has a law of its own."""
    view, values, n = forest.trees.all_nodes(), data.values, len(data.y)
    passed = forest.trees.decision_path(data.binned)[0]
    keys = passed.T @ (1 << np.arange(n))
    statistic, freedom = 0.0, 0
    for key in np.unique(keys):
        chosen = view.feature[keys == key]
        rows = np.flatnonzero(key >> np.arange(n) & 1)
        X, y, w = values[:, rows], data.y[rows], np.ones(len(rows))
        varying = [naive.varies(x) for x in X]
        usable = any(v and weight > 0 for v, weight in zip(varying, feature_weights, strict=True))
        if len(np.unique(y)) == 1 or not usable:
            assert np.all(chosen == -2)
            continue
        assert np.all(chosen >= 0)
        gains = [naive.best_decrease(x[None], y, w, rules.criterion) for x in X]
        if rules.splitter == "random":
            assert rules.max_features == 1  # then gains decide nothing
        law = naive.chosen_feature_law(varying, gains, rules.max_features, feature_weights)
        s, f = chi_square(np.bincount(chosen, minlength=len(X)), law)
        statistic, freedom = statistic + s, freedom + f
    assert freedom >= 5
    assert chi2.sf(statistic, freedom) > ALARM


@pytest.mark.parametrize(
    ("splitter", "max_features"), [("random", 1), ("best", 1), ("best", 2), ("best", 3), ("best", 5), ("best", 6)]
)
@pytest.mark.parametrize("max_leaf_nodes", [None, 100])
def test_features_are_drawn_evenly_among_all_and_until_one_varies(splitter, max_features, max_leaf_nodes):
    """Constants of the path are known, yet count among those looked at: the law does not show that they are.

    With one feature looked at, each of the varying ones divides the node as often as the others.
    """
    data = small_table()
    rules = GrowthRules(splitter, "gini", max_features, max_leaf_nodes=max_leaf_nodes)
    assert_features_follow_their_law(data, rules, data.grow(rules, 6000), [1.0] * 6)


def test_one_feature_looked_at_means_that_each_varying_one_is_as_likely():
    varying = [True, False, True, True, False]
    law = naive.chosen_feature_law(varying, [0.3, 0.0, 0.1, 0.2, 0.0], 1, [1.0] * 5)
    assert law == pytest.approx(np.array(varying) / 3)


@pytest.mark.parametrize(("splitter", "max_features"), [("random", 1), ("best", 1), ("best", 2), ("best", 4)])
@pytest.mark.parametrize(
    "feature_weights",
    [
        [1.0, 2.0, 0.0, 3.0, 0.5, 4.0],
        [1e6, 1.0, 2.0, 1.0, 3.0, 0.0],  # the heavy one is drawn again and again: the other way of drawing is taken
    ],
)
@pytest.mark.parametrize("max_leaf_nodes", [None, 100])
def test_weighted_features_are_drawn_without_replacement(splitter, max_features, feature_weights, max_leaf_nodes):
    data = small_table()
    rules = GrowthRules(splitter, "gini", max_features, max_leaf_nodes=max_leaf_nodes)
    forest = data.grow(rules, 6000, feature_weights=np.array(feature_weights))
    unused = feature_weights.index(0.0)
    assert not np.any(forest.trees.all_nodes().feature == unused)
    assert_features_follow_their_law(data, rules, forest, feature_weights)


# The same bytes.

GROW_AND_DIGEST = """
import hashlib, sys
import numpy as np
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.kernels.grow import Workspace

def digest(n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels, targets = rng.integers(0, 5, 300), rng.normal(size=300)
    weights = rng.random(300)
    result = hashlib.sha256()
    binned = BinMapper().fit_transform(X, weights, n_jobs=n_jobs)
    for n_classes, y in ((5, labels), (2, labels % 2), (0, targets)):
        for splitter in ("best", "random"):
            for max_leaf_nodes in (None, 20):
                rules = GrowthRules(splitter, "gini" if n_classes else "squared_error", 3, None, max_leaf_nodes)
                forest = grow_forest(
                    binned, y, n_classes=n_classes, rules=rules, seeds=tree_seeds(3, 8), weights=weights,
                    bootstrap=True, feature_weights=np.arange(8.0) if splitter == "random" else None, n_jobs=n_jobs,
                )
                for part in (forest.trees.nodes, forest.trees.values, forest.mean_decrease_impurity):
                    result.update(part.tobytes())
    return result.hexdigest()
"""


def test_threads_and_processes_grow_the_same_bytes():
    here = {}
    exec(GROW_AND_DIGEST, here)
    expected = here["digest"](1)
    assert here["digest"](2) == expected
    command = [sys.executable, "-c", GROW_AND_DIGEST + "\nsys.stdout.write(digest(2))"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == expected
    assert len(expected) == hashlib.sha256().digest_size * 2


def test_a_tree_depends_on_its_own_seed_only():
    """Neither on the number of trees nor on its place."""
    sample = random_data(np.random.default_rng(0), 100, 3, share_missing=0.1)
    rules = GrowthRules("random", "gini", 2)
    seeds = tree_seeds(5, 6)
    assert np.array_equal(tree_seeds(5, 3), seeds[:3])
    many = sample.grow(rules, seeds, bootstrap=True).trees
    for i in range(6):
        one = sample.grow(rules, seeds[i : i + 1], bootstrap=True).trees
        begin, end = many.offsets[i : i + 2]
        views = one.tree(0), many.tree(i)
        for field in ("children_left", "children_right", "feature", "cut", "missing_go_to_left"):
            assert np.array_equal(getattr(views[0], field), getattr(views[1], field))
        assert end - begin == len(one.nodes)
        leaf = views[0].is_leaf
        values = [trees.values[view.value_row[leaf]] for trees, view in zip((one, many), views, strict=True)]
        assert np.array_equal(*values)


@pytest.mark.parametrize("n_classes", [0, 2])
def test_a_search_ends_at_a_perfect_split_only(n_classes):
    """One feature errs in one row of 300, the other in none: whichever is drawn first, the perfect one is taken."""
    y = np.repeat([0, 1], 150)
    nearly = y.copy()
    nearly[0] = 1
    sample = Data(np.array([nearly, y], np.uint8), np.tile(np.arange(255.0), (2, 1)), y, n_classes)
    for seed in range(20):
        forest = sample.grow(GrowthRules("best", "gini" if n_classes else "squared_error", 2), tree_seeds(seed, 1))
        assert forest.trees.tree(0).feature.tolist() == [1, -2, -2]


# Windows and parts of the features ------------------------------------------------------------------------------------


def sliding_windows(n_classes, length=7, seed=3):
    """Windows over one long row of bins: as columns that overlap in memory, and copied."""
    rng = np.random.default_rng(seed)
    flat = rng.integers(0, 40, 900).astype(np.uint8)
    flat[rng.random(900) < 0.1] = MISSING
    columns = np.lib.stride_tricks.sliding_window_view(flat, 900 - length + 1)
    assert columns.shape == (length, 894)
    assert columns.strides == (1, 1)
    centers = np.cumsum(rng.random((length, 255)), axis=1)
    level = np.where(columns[2] == MISSING, 0, columns[2]) + columns[5] % 7
    y = (level * max(1, n_classes)) // 47 if n_classes else level.astype(float)
    return Data(columns, centers, y, n_classes), Data(np.ascontiguousarray(columns), centers, y, n_classes)


@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_overlapping_columns_grow_and_predict_like_copies_of_the_windows(n_classes, splitter):
    overlapping, copied = sliding_windows(n_classes)
    rules = GrowthRules(splitter, "gini" if n_classes else "squared_error", 3)
    rows = np.flatnonzero(np.random.default_rng(0).random(894) < 0.7)
    forests = [
        grow_forest(
            data.binned,
            data.y[rows],
            n_classes=n_classes,
            rules=rules,
            seeds=tree_seeds(5, 6),
            rows=rows,
            bootstrap=True,
        )
        for data in (overlapping, copied)
    ]
    assert forests[0].trees.nodes.tobytes() == forests[1].trees.nodes.tobytes()
    for name in ("predict", "apply"):
        results = [
            getattr(forest.trees, name)(data.binned)
            for forest, data in zip(forests, (overlapping, copied), strict=True)
        ]
        assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_some_features_grow_the_trees_of_a_matrix_of_them(splitter):
    data = sliding_windows(5)[1]
    chosen = np.array([1, 2, 5])
    rules, seeds = GrowthRules(splitter, "gini", 2), tree_seeds(1, 5)
    some = grow_forest(data.binned, data.y, n_classes=5, rules=rules, seeds=seeds, features=chosen)
    part = BinnedMatrix(data.columns[chosen], data.centers[chosen])
    alone = grow_forest(part, data.y, n_classes=5, rules=rules, seeds=seeds)
    view, expected = some.trees.all_nodes(), alone.trees.all_nodes()
    split = ~expected.is_leaf
    assert (view.feature[split] == chosen[expected.feature[split]]).all()
    assert (view.cut == expected.cut).all()
    assert (view.children_right == expected.children_right).all()
    assert some.mean_decrease_impurity[chosen].tolist() == alone.mean_decrease_impurity.tolist()
    assert some.trees.predict(data.binned).tobytes() == alone.trees.predict(part).tobytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"features": [0, 0]}, "each once"),
        ({"features": [0.5]}, "numbers of features"),
        ({"features": [0, 7]}, "runs from 0 to 7; there are 7"),
        ({"features": [-1]}, "runs from -1"),
        ({"features": [1], "feature_weights": np.ones(7)}, "not both"),
    ],
)
def test_wrong_features_are_named(wrong, message):
    data = sliding_windows(2)[1]
    with pytest.raises(ValueError, match=message):
        grow_forest(data.binned, data.y, n_classes=2, rules=GrowthRules(), seeds=tree_seeds(1, 1), **wrong)


def test_a_matrix_that_is_neither_is_refused():
    data = sliding_windows(2)[1]
    fortran = BinnedMatrix(np.asfortranarray(data.columns), data.centers)
    with pytest.raises(ValueError, match="C-ordered"):
        grow_forest(fortran, data.y, n_classes=2, rules=GrowthRules(), seeds=tree_seeds(1, 1))


def test_a_seed_sequence_is_an_address():
    """Its place tells forests of one model apart; as a bare number it is what the number is."""
    assert tree_seeds(7, 3).tolist() == tree_seeds(np.random.SeedSequence(7), 3).tolist()
    elsewhere = np.random.SeedSequence(7, spawn_key=(1,))
    assert not set(tree_seeds(elsewhere, 50)) & set(tree_seeds(7, 50))
    assert tree_seeds(elsewhere, 3).tolist() == tree_seeds(elsewhere, 3).tolist()


# Columns of two values -----------------------------------------------------------------------------------------------


def with_two_valued_columns(n_classes, n_two_valued, seed=0):
    rng = np.random.default_rng(seed)
    wide = rng.integers(0, 9, (4, 500)).astype(np.uint8)
    wide[1, rng.random(500) < 0.2] = MISSING
    two = (rng.random((n_two_valued, 500)) < rng.random((n_two_valued, 1))).astype(np.uint8)
    two[0] = 0  # a constant
    missing = two[1].copy()
    missing[::9] = MISSING  # two values and missing ones
    columns = np.ascontiguousarray(np.vstack([two[:7], wide[:2], missing, two[7:], wide[2:]]))
    score = wide[0] % 5 + two[3] * 3 + two[-1] * wide[2]
    y = score % n_classes if n_classes else score.astype(float)
    return Data(columns, np.cumsum(rng.random((len(columns), 255)), axis=1), y, n_classes, rng.random(500))


@pytest.mark.parametrize(("name", "value"), [("criterion", "friedman_mse"), ("criterion", None), ("splitter", "worst")])
def test_unknown_rules_are_refused(name, value):
    """An unknown criterion was once Gini without a word, an unknown splitter "random"."""
    with pytest.raises(ValueError, match=rf"^{name} is {value!r}; choose from '"):
        GrowthRules(**{name: value})


@pytest.mark.parametrize("n_two_valued", [30, 70, 256, 257])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("rules", [("best", 6), ("random", 6), ("random", 1)])
def test_bits_grow_the_trees_that_bytes_grow(monkeypatch, n_two_valued, n_classes, rules):
    data = with_two_valued_columns(n_classes, n_two_valued)
    splitter, max_features = rules
    rules = GrowthRules(splitter, "gini" if n_classes else "squared_error", max_features)
    assert _cells.cells_for(data.binned, 6).n_words == {30: 1, 70: 2, 256: 4, 257: 0}[n_two_valued]
    as_bits = data.grow(rules, 5, bootstrap=True)
    monkeypatch.setattr(_cells, "_MOST_WORDS", 0)
    assert _cells.cells_for(data.binned, 6).n_words == 0
    as_bytes = data.grow(rules, 5, bootstrap=True)
    assert as_bits.trees.nodes.tobytes() == as_bytes.trees.nodes.tobytes()
    assert as_bits.trees.values.tobytes() == as_bytes.trees.values.tobytes()
    assert as_bits.mean_decrease_impurity.tobytes() == as_bytes.mean_decrease_impurity.tobytes()


@pytest.mark.parametrize("n_classes", [255, 256, 257, 300])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("weights", [None, "whole"])
def test_leaves_hold_shares_of_any_number_of_classes(n_classes, splitter, weights):
    """Small whole numbers are counted in bytes, which number 256 classes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.arange(2000) % n_classes
    w = None if weights is None else rng.integers(1, 4, 2000).astype(float)
    binned = BinMapper().fit_transform(X)
    rules = GrowthRules(splitter=splitter, max_features=2, max_depth=3)
    trees = grow_forest(binned, y, n_classes=n_classes, rules=rules, seeds=tree_seeds(0, 2), weights=w).trees
    leaves = trees.apply(binned)
    for tree in range(2):
        probabilities = trees.predict(binned, trees=[tree])
        for leaf in np.unique(leaves[:, tree]):
            rows = leaves[:, tree] == leaf
            shares = np.bincount(y[rows], None if w is None else w[rows], n_classes)
            np.testing.assert_allclose(probabilities[rows], np.tile(shares / shares.sum(), (rows.sum(), 1)), rtol=1e-6)


# Working memory.


@pytest.mark.parametrize("bounds", [{}, {"min_samples_leaf": 2}, {"max_leaf_nodes": 50}, {"max_depth": 1}])
@pytest.mark.parametrize("weights", [None, 0.5])
@pytest.mark.parametrize("n_classes", [0, 16])
def test_there_is_room_for_as_many_leaves_as_a_tree_can_have(n_classes, weights, bounds):
    """In memory, decreases in impurity follow the values of leaves: one leaf too many would overwrite them.

    Its 16 numbers fill 64 bytes, to which memory is rounded up. Rows of a bin have different classes or equal targets.
    """
    place = np.repeat(np.arange(250), 1 if not n_classes and not bounds else 2)
    y = np.stack([place * k % 251 for k in range(1, 17)], axis=1).astype(float)
    if n_classes:
        y = place % 8 + 8 * (np.arange(len(place)) % 2)
    sample = Data(place.astype(np.uint8)[None], random_centers(np.random.default_rng(0), 1), y, n_classes)
    sample.weights = None if weights is None else np.where(place == 0, 1.0, weights)
    criterion = "gini" if n_classes else "squared_error"
    forest = sample.grow(GrowthRules(criterion=criterion, **bounds))
    leaves = forest.trees.apply(sample.binned)[:, 0]
    n_leaves = {"max_leaf_nodes": 50, "max_depth": 2}.get(next(iter(bounds), ""), 250)
    assert len(np.unique(leaves)) == n_leaves == len(forest.trees.values) - n_classes
    sides = leaves == np.unique(leaves)[:, None]
    impurity, weight = naive.impurities(sides, y, sample.row_weights, criterion)
    root, whole = naive.impurities(np.ones((1, len(y))), y, sample.row_weights, criterion)
    assert forest.mean_decrease_impurity == pytest.approx(root - impurity @ weight / whole, rel=1e-9)


@pytest.mark.parametrize("bounds", [{"min_samples_leaf": 400}, {"max_leaf_nodes": 9}, {"max_depth": 3}])
@pytest.mark.parametrize("n_classes", [0, 200])
def test_memory_is_taken_for_the_leaves_that_the_rules_allow(n_classes, bounds, monkeypatch):
    """With a row of values for each row, or for two, it would be 3 or 1.5 MB more."""
    spaces = []
    monkeypatch.setattr(growth, "Workspace", lambda: spaces.append(Workspace()) or spaces[0])
    place = np.arange(4000) % 200
    y = place if n_classes else np.stack([place] * 200, axis=1).astype(float)
    sample = Data(place.astype(np.uint8)[None], random_centers(np.random.default_rng(0), 1), y, n_classes)
    sample.grow(GrowthRules(criterion="gini" if n_classes else "squared_error", **bounds))
    _, used, _ = (ctypes.c_size_t * 3).from_address(spaces[0].pointer)  # Arena of grow.c
    of_rows = 8 * 200 * 4000 if not n_classes else 0  # weight * target of each row
    assert used - of_rows < 1.4e6
