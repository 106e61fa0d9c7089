"""Categorical splits against brute force over all sets of levels, and what grown trees do with their rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadeforest.forest.binning import MAX_LEVELS, MISSING, BinMapper, BinnedMatrix
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.forest.tree_subsets import some_trees, trees_beside

CRITERIA = {0: ["squared_error"], 2: ["gini", "entropy"], 4: ["gini", "entropy"]}
KINDS = [(n_classes, criterion) for n_classes, names in CRITERIA.items() for criterion in names]


def impurity(y, weights, n_classes, criterion):
    """Weight times impurity of some rows."""
    total = weights.sum()
    if n_classes == 0:
        return (weights * (y - np.average(y, weights=weights)) ** 2).sum()
    share = np.bincount(y, weights, n_classes) / total
    if criterion == "gini":
        return total * (1 - (share**2).sum())
    return -total * (share[share > 0] * np.log2(share[share > 0])).sum()


def drawn(rng, n, n_levels, n_classes, share_missing, kind_of_weights):
    codes = rng.integers(0, n_levels, n).astype(float)
    codes[rng.random(n) < share_missing] = np.nan
    y = rng.normal(size=n).round(1) if n_classes == 0 else rng.integers(0, n_classes, n)
    weights = {"none": np.ones(n), "whole": rng.integers(1, 4, n) + 0.0, "real": rng.integers(1, 9, n) / 8}
    return codes, y, weights[kind_of_weights]


def levels_of(codes):
    """Which rows have each level, missing being the last one."""
    masks = [*(codes == level for level in np.unique(codes[~np.isnan(codes)])), np.isnan(codes)]
    return [mask for mask in masks if mask.any()]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(0, "squared_error"), (2, "gini"), (2, "entropy")]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from(["none", "whole", "real"]),
    st.integers(1, 4),
)
def test_the_best_set_of_levels_is_that_of_brute_force(seed, kind, share_missing, kind_of_weights, min_samples_leaf):
    n_classes, criterion = kind
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    codes, y, weights = drawn(rng, n, int(rng.integers(3, 8)), n_classes, share_missing, kind_of_weights)
    rules = GrowthRules("best", criterion, max_depth=1, min_samples_leaf=min_samples_leaf)
    binned = BinMapper().fit_transform(codes[:, None], levels=[8])
    grown = grow_forest(binned, y, n_classes=n_classes, rules=rules, seeds=tree_seeds(0, 1), weights=weights)
    leaf = grown.trees.apply(binned)[:, 0]

    def after(mask):
        return sum(impurity(y[side], weights[side], n_classes, criterion) for side in (mask, ~mask))

    masks = levels_of(codes)
    if min_samples_leaf == 1:
        sets = [np.any(some, axis=0) for size in range(1, len(masks)) for some in combinations(masks, size)]
    else:  # among those that cut the order of mean responses
        order = sorted(masks, key=lambda mask: np.average(y[mask], weights=weights[mask]))
        sets = [np.any(order[:size], axis=0) for size in range(1, len(order))]
    allowed = [mask for mask in sets if min(mask.sum(), n - mask.sum()) >= min_samples_leaf]
    pure = len(np.unique(y)) == 1
    if pure or not allowed or n < 2 * min_samples_leaf:
        assert len(set(leaf)) == 1
        return
    left = leaf == leaf[0]
    assert min(left.sum(), n - left.sum()) >= min_samples_leaf
    assert after(left) == pytest.approx(min(map(after, allowed)), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_with_more_classes_the_best_of_the_stated_orders_is_taken(criterion):
    """Levels in the order of their share of a class; with four classes of them, all are tried."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(20, 60))
        codes, y, weights = drawn(rng, n, 7, 4, 0.1, "none")
        binned = BinMapper().fit_transform(codes[:, None], levels=[7])
        rules = GrowthRules("best", criterion, max_depth=1)
        grown = grow_forest(binned, y, n_classes=4, rules=rules, seeds=tree_seeds(0, 1))
        leaf = grown.trees.apply(binned)[:, 0]
        masks, found = levels_of(codes), []
        for label in np.unique(y):
            order = sorted(masks, key=lambda mask: np.mean(y[mask] == label))
            found += [np.any(order[:size], axis=0) for size in range(1, len(order))]
        least = min(sum(impurity(y[s], weights[s], 4, criterion) for s in (mask, ~mask)) for mask in found)
        left = leaf == leaf[0]
        ours = sum(impurity(y[side], weights[side], 4, criterion) for side in (left, ~left))
        assert ours <= least + 1e-9


def case(n_classes, splitter, seed=0, n=400, **rules):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 6, n), rng.normal(size=n), rng.integers(0, 40, n), rng.random(n) < 0.3])
    X[rng.random(X.shape) < 0.05] = np.nan
    effect = np.nan_to_num(np.array([3, -1, 0, 2, -2, 1])[np.nan_to_num(X[:, 0]).astype(int)] + X[:, 1])
    signal = effect + np.nan_to_num(X[:, 2]) % 7 + rng.normal(size=n)
    y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])) if n_classes else signal
    mapper = BinMapper()
    binned = mapper.fit_transform(X, levels=[6, 0, 40, 2])
    criterion = "gini" if n_classes else "squared_error"
    rules = GrowthRules(splitter, criterion, 3, **rules)
    return mapper, binned, y, rules


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bounds", [{}, {"max_leaf_nodes": 30}, {"min_samples_leaf": 4}], ids=str)
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_leaves_hold_what_the_rows_that_reach_them_have(n_classes, splitter, bounds, weighted):
    """Growth divides rows as prediction, paths and statistics do."""
    _, binned, y, rules = case(n_classes, splitter, **bounds)
    weights = np.random.default_rng(5).random(len(y)) if weighted else None
    grown = grow_forest(
        binned, y, n_classes=n_classes, rules=rules, seeds=tree_seeds(3, 4), weights=weights, bootstrap=True
    )
    trees = grown.trees
    assert trees.set_offsets is not None
    assert (np.diff(trees.set_offsets) > 0).all()
    targets = np.eye(n_classes)[y] if n_classes else (y[:, None] - grown.offset) / grown.scale
    own = np.ones(len(y)) if weights is None else weights / weights.max()
    weight, sums = trees.node_statistics(binned, targets, weights=lambda t: own * grown.in_bag_counts(t))
    view = trees.all_nodes()
    leaves = view.is_leaf
    assert (weight[leaves] > 0).all()
    means = sums[leaves] / weight[leaves, None]
    assert means == pytest.approx(trees.values[view.value_row[leaves]], rel=1e-4, abs=1e-5)
    of_leaf = trees.apply(binned)
    indicator, ends = trees.decision_path(binned)
    last = indicator.indices[indicator.indptr[1:] - 1] - ends[-2]
    assert np.array_equal(last, of_leaf[:, -1])
    # What is put aside or taken alone goes the same ways.
    for some, numbers in ((some_trees(trees, np.array([3, 1])), [3, 1]), (trees_beside(trees, 1, 3), [1, 2])):
        assert np.array_equal(some.apply(binned), of_leaf[:, numbers])
        for k, number in enumerate(numbers):
            one, other = some.tree(k), trees.tree(number)
            assert np.array_equal(
                some.sets[one.set_row[one.set_row >= 0]], trees.sets[other.set_row[other.set_row >= 0]]
            )


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_threads_do_not_change_a_byte(splitter):
    _, binned, y, rules = case(3, splitter)
    grown = [grow_forest(binned, y, n_classes=3, rules=rules, seeds=tree_seeds(1, 8), n_jobs=n).trees for n in (1, 2)]
    for name in ("nodes", "values", "sets", "set_offsets"):
        assert getattr(grown[0], name).tobytes() == getattr(grown[1], name).tobytes()


def test_levels_that_no_row_of_the_node_has_go_where_most_of_its_weight_went():
    codes = np.repeat([0.0, 1.0, 2.0], [5, 3, 4])
    y = np.repeat([0, 0, 1], [5, 3, 4])
    mapper = BinMapper()
    binned = mapper.fit_transform(codes[:, None], levels=[6])
    grown = grow_forest(binned, y, n_classes=2, rules=GrowthRules(), seeds=tree_seeds(0, 1))
    unseen = mapper.transform(np.array([[3.0], [5.0], [np.nan], [2.0]]))
    assert grown.trees.predict(unseen)[:, 1].tolist() == [0.0, 0.0, 0.0, 1.0]
    view = grown.trees.tree(0, mapper)
    assert view.feature.tolist()[0] == 0
    assert view.cut.tolist()[0] == -1
    assert np.isnan(view.threshold[0])
    assert view.missing_go_to_left[0]
    bits = np.unpackbits(grown.trees.sets[0, 1:].view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits == 0).tolist() == [2]
    assert bits[MISSING] == 1


def test_random_sets_are_drawn_evenly_among_all_but_none_and_all():
    codes = np.tile([0.0, 1.0, 2.0, np.nan], 5)
    binned = BinMapper().fit_transform(codes[:, None], levels=[3])
    rules = GrowthRules("random", "gini", 1, max_depth=1)
    grown = grow_forest(binned, np.arange(20) % 2, n_classes=2, rules=rules, seeds=tree_seeds(0, 14_000))
    left = grown.trees.apply(binned)[:4] == 1
    found = np.bincount(left.T @ [1, 2, 4, 8], minlength=16)
    assert found[0] == found[15] == 0
    assert found[1:15] == pytest.approx(np.full(14, 1000), abs=5 * np.sqrt(1000))


def test_impurity_decreases_add_up():
    _, binned, y, rules = case(2, "best")
    grown = grow_forest(binned, y, n_classes=2, rules=rules, seeds=tree_seeds(0, 3))
    share = y.mean()
    assert grown.mean_decrease_impurity.sum() == pytest.approx(2 * share * (1 - share))
    assert (grown.mean_decrease_impurity[:3] > 0).all()


def test_codes_are_bins_whether_rows_have_them_or_not():
    mapper = BinMapper()
    binned = mapper.fit_transform(np.array([[4.0, 0.0], [np.nan, 1.0], [2.0, 1.0]], np.float32), levels=[6, 2])
    assert binned.columns.tolist() == [[4, MISSING, 2], [0, 1, 1]]
    assert binned.categorical.tolist() == [True, False]  # a cut divides two levels
    assert mapper.transform(np.array([[5.0, 0.0]])).columns.ravel().tolist() == [5, 0]
    stacked = BinnedMatrix.stack([binned, BinnedMatrix(binned.columns[1:], binned.centers[1:])])
    assert stacked.categorical.tolist() == [True, False, False]
    assert mapper.extend(BinMapper().fit(np.zeros((2, 1)))).levels_.tolist() == [6, 2, 0]


@pytest.mark.parametrize("levels", [[MAX_LEVELS + 1], [-1], [3, 3]])
def test_numbers_of_levels_are_checked(levels):
    with pytest.raises(ValueError, match=r"`levels` is .*; give a number from 0 to 254 for each feature"):
        BinMapper().fit(np.zeros((2, 1)), levels=levels)
