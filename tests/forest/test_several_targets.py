"""Regression of several targets at once: splits against brute force, what does not matter, and the public forests.

The naive twin's impurity is the mean of the targets' variances. `test_against_scikit_learn.py` compares scores and
sizes with scikit-learn's forests.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_linnerud
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score

from cascadeforest import CompletelyRandomForestRegressor, ExtraTreesRegressor, RandomForestRegressor
from cascadeforest.forest.growth import GrowthRules, _distinct_rows

from . import naive
from .test_grow import (
    MISSING,
    assert_grown_by_the_rules,
    assert_law,
    assert_same_tree,
    exact,
    examples,
    random_column,
    random_data,
    with_two_valued_columns,
)

#: Sums are added four targets at a time.
N_TARGETS = [2, 3, 4, 5, 9]
FORESTS = [RandomForestRegressor, ExtraTreesRegressor, CompletelyRandomForestRegressor]
every_forest = pytest.mark.parametrize("Forest", FORESTS)
every_number = pytest.mark.parametrize("n_targets", N_TARGETS)


def several(rng, n, n_targets, **others):
    """Random data; each target depends on another feature."""
    sample = random_data(rng, n, 0, **others)
    signals = sample.columns[rng.integers(0, len(sample.columns), n_targets)].astype(int) % 7
    sample.y = (rng.integers(-4, 5, (n_targets, n)) + signals).T.astype(float)
    return sample


def copies(sample, n_targets):
    """The same data with copies of its target."""
    return type(sample)(sample.columns, sample.centers, np.tile(sample.y[:, None], n_targets), 0, sample.weights)


def same_trees(one, other):
    return (
        one.trees.nodes.tobytes() == other.trees.nodes.tobytes()
        and one.trees.sets.tobytes() == other.trees.sets.tobytes()
    )


# Splits.


def test_the_impurity_is_the_mean_of_the_variances_by_hand():
    y, w = [(1, 0), (2, 0), (3, 4), (6, 4)], np.ones(4)
    left = np.array([True, True, False, False])
    assert naive.impurity(y, w, "squared_error") == (3.5 + 4) / 2
    assert naive.decrease(left, y, w, "squared_error") == (3.5 - (0.25 + 2.25) / 2 + 4) / 2
    assert naive.decreases([left], np.array(y, float), w, "squared_error") == pytest.approx([(2.25 + 4) / 2])


@every_number
@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@examples
@given(st.data())
def test_every_split_is_the_optimum_of_brute_force(n_targets, min_leaf, share_missing, data):
    """With ties, constants, weights, few bins and many; up to 40 rows."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sample = several(
        rng,
        data.draw(st.integers(1, 40)),
        n_targets,
        n_bins=data.draw(st.sampled_from([1, 2, 3, 6, 12, 60])),
        share_missing=share_missing,
        weights=data.draw(st.sampled_from(["none", "integer", "real"])),
    )
    if data.draw(st.booleans()):
        sample.columns[0] = 17  # constant
        sample.columns[1] = sample.columns[-1]
        sample.y[:, 0] = 3.0
    rules = GrowthRules("best", "squared_error", 3, min_samples_leaf=min_leaf)
    assert_grown_by_the_rules(sample, rules, sample.grow(rules))


@every_number
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_splits_of_large_nodes_are_the_optimum_of_brute_force(n_targets, share_missing, n):
    rng = np.random.default_rng(n)
    weights = "real" if share_missing else "integer"
    sample = several(rng, n, n_targets, n_features=4, n_bins=40, share_missing=share_missing, weights=weights)
    sample.columns[0] = random_column(rng, n, 255, share_missing)
    for min_leaf in (1, 7):
        rules = GrowthRules("best", "squared_error", 4, min_samples_leaf=min_leaf, max_depth=4)
        assert assert_grown_by_the_rules(sample, rules, sample.grow(rules)) > 1


@pytest.mark.parametrize("splitter", ["best", "random"])
@examples
@given(st.data())
def test_every_rule_holds_in_every_node(splitter, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sample = several(
        rng,
        data.draw(st.integers(2, 80)),
        data.draw(st.sampled_from(N_TARGETS)),
        share_missing=data.draw(st.sampled_from([0.0, 0.3])),
        weights=data.draw(st.sampled_from(["none", "integer", "real"])),
    )
    rules = GrowthRules(
        splitter,
        "squared_error",
        data.draw(st.integers(1, 3)),
        max_depth=data.draw(st.sampled_from([None, 1, 3])),
        max_leaf_nodes=data.draw(st.sampled_from([None, 2, 5, 1000])),
        min_samples_split=data.draw(st.sampled_from([2, 3, 10])),
        min_samples_leaf=data.draw(st.sampled_from([1, 2, 5])),
        min_impurity_decrease=data.draw(st.sampled_from([0.0, 0.01, 0.1, 1.0])),
    )
    forest = sample.grow(rules)
    assert_grown_by_the_rules(sample, rules, forest)
    if rules.max_leaf_nodes:
        assert np.count_nonzero(forest.trees.tree(0).is_leaf) <= rules.max_leaf_nodes


def test_rows_of_a_bootstrap_count_as_often_as_they_were_drawn():
    sample = several(np.random.default_rng(3), 120, 3, share_missing=0.1, weights="integer")
    rules = GrowthRules("best", "squared_error", 3, min_samples_leaf=2)
    for n_draws in (None, 40):
        forest = sample.grow(rules, bootstrap=True, max_samples=n_draws)
        assert assert_grown_by_the_rules(sample, rules, forest, forest.in_bag_counts(0)) > 5


@every_number
@examples
@given(st.data())
def test_the_tree_is_that_of_the_naive_twin(n_targets, data):
    """One feature, exact sums, the first of equal splits: the whole tree."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, weights = data.draw(st.integers(2, 16)), data.draw(st.sampled_from(["none", "integer"]))
    sample = several(rng, n, n_targets, n_features=1, n_bins=data.draw(st.sampled_from([2, 4, 30])), weights=weights)
    min_leaf = data.draw(st.sampled_from([1, 2]))
    y = [tuple(exact(row)) for row in sample.y]
    tree = naive.grow(sample.values, y, exact(sample.row_weights), "squared_error", min_leaf=min_leaf)
    view = sample.grow(GrowthRules("best", "squared_error", min_samples_leaf=min_leaf)).trees.tree(0)
    assert_same_tree(view, tree, sample.columns)


def test_extra_trees_take_the_best_of_random_splits():
    rng = np.random.default_rng(2)
    sample = several(rng, 12, 3, n_bins=4, share_missing=0.2, weights="integer")
    forest = sample.grow(GrowthRules("random", "squared_error", 2, max_depth=1), 4000)
    y = [tuple(row) for row in sample.y]
    law = naive.random_split_law(sample.values, sample.centers, y, sample.row_weights, "squared_error", 2)
    view = forest.trees.all_nodes()
    observed = dict.fromkeys(law, 0)
    for root in forest.trees.offsets[:-1]:
        feature, bins = view.feature[root], sample.columns[view.feature[root]]
        lost = np.any(bins == MISSING)
        below = bins[(bins != MISSING) & (bins <= view.cut[root])].max()
        observed[feature, int(below), int(view.missing_go_to_left[root]) if lost else -1] += 1
    assert_law(list(observed.values()), list(law.values()))


# What does not matter.

RULES = [
    {},
    {"max_features": 2},
    {"max_depth": 3},
    {"max_leaf_nodes": 9},
    {"min_samples_leaf": 4},
    {"min_impurity_decrease": 0.05},
    {"min_weight_fraction_leaf": 0.05},
]


@pytest.mark.parametrize("n_targets", [2, 4, 8])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_copies_of_a_target_grow_the_trees_of_the_target(n_targets, splitter, rules):
    """Whole targets and weights, and powers of two of them, so that all sums are exact: the same bytes."""
    rng = np.random.default_rng(n_targets)
    share_missing = 0.2 if splitter == "random" else 0.0  # in best splits the order of equal ones differs
    sample = random_data(rng, 300, 0, n_features=4, n_bins=50, share_missing=share_missing, weights="integer")
    sample.y = sample.y.astype(float)
    sample.columns[1] = sample.columns[1] > 99  # packed as a bit
    rules = GrowthRules(splitter, "squared_error", **{"max_features": 4, **rules})
    alone = sample.grow(rules, 5, bootstrap=True)
    forest = copies(sample, n_targets).grow(rules, 5, bootstrap=True)
    assert same_trees(forest, alone)
    assert forest.trees.values.tobytes() == np.tile(alone.trees.values, n_targets).tobytes()
    assert forest.offset.tolist() == [alone.offset] * n_targets
    assert forest.mean_decrease_impurity == pytest.approx(alone.mean_decrease_impurity, rel=1e-12)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_copies_of_a_target_divide_levels_as_the_target_does(splitter):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 400), rng.integers(0, 5, 400), rng.normal(size=400)]).astype(float)
    X[::9, 0] = np.nan
    y = np.isin(X[:, 0], [1, 4, 5]) * 8.0 + X[:, 1] + rng.integers(0, 3, 400)
    Forest = RandomForestRegressor if splitter == "best" else ExtraTreesRegressor
    forests = [
        Forest(5, max_depth=6, categorical_features=[0, 1], random_state=0).fit(X, targets)
        for targets in (y, np.column_stack([y, y]))
    ]
    assert len(forests[0].trees_.sets) > 20
    assert np.array_equal(forests[0].trees_.sets, forests[1].trees_.sets)
    assert np.array_equal(forests[0].trees_.nodes, forests[1].trees_.nodes)


def test_levels_are_divided_by_the_order_of_any_target():
    """The first target knows nothing of the levels: the best set is one of the order of the second."""
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(6.0), 20)
    y = np.column_stack([rng.permutation(np.tile([0.0, 1.0], 60)), 10.0 * np.isin(codes, [0, 3, 5])])
    forest = RandomForestRegressor(1, max_depth=1, bootstrap=False, categorical_features=[0])
    leaves = forest.fit(codes[:, None], y).apply(codes[:, None])[:, 0]
    assert len(np.unique(leaves)) == 2
    assert len(np.unique(leaves[y[:, 1] == 0])) == len(np.unique(leaves[y[:, 1] == 10])) == 1


@every_number
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_the_order_of_targets_does_not_matter(n_targets, splitter):
    rng = np.random.default_rng(0)
    sample = several(rng, 300, n_targets, n_bins=50, share_missing=0.1, weights="integer")
    rules = GrowthRules(splitter, "squared_error", 2)
    forest = sample.grow(rules, 4, bootstrap=True)
    order = rng.permutation(n_targets)
    sample.y = sample.y[:, order]
    other = sample.grow(rules, 4, bootstrap=True)
    assert same_trees(forest, other)
    assert other.trees.values.tobytes() == np.ascontiguousarray(forest.trees.values[:, order]).tobytes()


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_a_constant_target_does_not_matter(splitter):
    rng = np.random.default_rng(0)
    sample = several(rng, 300, 2, n_bins=50, share_missing=0.1)
    rules = GrowthRules(splitter, "squared_error", 2)
    forest = sample.grow(rules, 4, bootstrap=True)
    sample.y = np.column_stack([sample.y, np.full(300, 1e6)])
    other = sample.grow(rules, 4, bootstrap=True)
    assert same_trees(forest, other)
    assert forest.mean_decrease_impurity * 2 == pytest.approx(other.mean_decrease_impurity * 3, rel=1e-9)
    assert (other.trees.predict(sample.binned) * other.scale + other.offset)[:, 2].tolist() == [1e6] * 300


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_bits_grow_the_trees_that_bytes_grow(monkeypatch, splitter):
    data = with_two_valued_columns(0, 70)
    data.y = np.column_stack([data.y, data.columns[-1] % 5, data.y % 3])
    rules = GrowthRules(splitter, "squared_error", 6)
    as_bits = data.grow(rules, 5, bootstrap=True)
    monkeypatch.setattr("cascadeforest.forest._cells._MOST_WORDS", 0)
    as_bytes = data.grow(rules, 5, bootstrap=True)
    assert same_trees(as_bits, as_bytes)
    assert as_bits.trees.values.tobytes() == as_bytes.trees.values.tobytes()


@pytest.mark.parametrize("size", [2.0**power for power in (-400, -100, 100, 450)])
def test_targets_of_any_size_grow_the_same_trees(size):
    sample = several(np.random.default_rng(0), 200, 3)
    rules = GrowthRules("best", "squared_error", 3)
    forest = sample.grow(rules, 2)
    sample.y = sample.y * size
    scaled = sample.grow(rules, 2)
    assert same_trees(forest, scaled)
    assert scaled.mean_decrease_impurity / size / size == pytest.approx(forest.mean_decrease_impurity, rel=1e-9)


@examples
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-1, 1)), min_size=1, max_size=30))
def test_distinct_rows_are_those_of_numpy(rows):
    y = np.array(rows, float)
    distinct, label = _distinct_rows(y)
    assert distinct.tolist() == np.unique(y, axis=0).tolist()
    assert distinct[label].tolist() == y.tolist()


# The public forests.


def linnerud():
    """Three exercises; weight, waist and pulse of 20 men, here often enough for a forest."""
    X, y = load_linnerud(return_X_y=True)
    rng = np.random.default_rng(0)
    return np.tile(X, (5, 1)) + rng.normal(size=(100, 3)), np.tile(y, (5, 1)) + rng.normal(size=(100, 3))


@every_forest
def test_predictions_have_a_column_for_each_target(Forest):
    X, y = linnerud()
    forest = Forest(20, random_state=0).fit(X, y)
    predicted = forest.predict(X)
    assert predicted.shape == y.shape
    assert forest.n_outputs_ == 3
    assert forest.score(X, y) == r2_score(y, predicted) > 0.5
    leaves = forest.apply(X)
    assert leaves.shape == (100, 20)
    if not forest.bootstrap:
        expected = [np.mean([y[own == own[i]].mean(axis=0) for own in leaves.T], axis=0) for i in range(100)]
        assert predicted == pytest.approx(np.array(expected), rel=1e-6)
    for targets in (y.tolist(), pd.DataFrame(y), np.asfortranarray(y)):
        assert Forest(20, random_state=0).fit(X, targets).predict(X).tobytes() == predicted.tobytes()
    assert pickle.loads(pickle.dumps(forest)).predict(X).tobytes() == predicted.tobytes()
    assert Forest(20, n_jobs=2, random_state=0).fit(X, y).predict(X).tobytes() == predicted.tobytes()
    assert Forest(20, random_state=0).fit(X, y[:, 0]).n_outputs_ == 1
    assert forest.fit(X, y[:, 0]).predict(X).shape == (100,)


def test_out_of_bag_predictions_have_a_column_for_each_target():
    X, y = linnerud()
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_prediction_.shape == (100, 3)
    trees = forest.trees_.predict(forest.bin_mapper_.transform(X), trees=[0])
    assert trees.shape == (100, 3)
    by_tree = np.array([forest.trees_.predict(forest.bin_mapper_.transform(X), trees=[t]) for t in range(60)])
    out = np.array([forest.in_bag_counts(t) == 0 for t in range(60)])
    expected = forest._offset + (by_tree * out[:, :, None]).sum(axis=0) / out.sum(axis=0)[:, None]
    assert forest.oob_prediction_ == pytest.approx(expected, rel=1e-12)
    assert forest.oob_score_ == r2_score(y, forest.oob_prediction_)


@every_forest
def test_one_column_is_one_target(Forest):
    X, y = linnerud()
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        forest = Forest(3, random_state=0).fit(X, y[:, :1])
    assert forest.predict(X).tobytes() == Forest(3, random_state=0).fit(X, y[:, 0]).predict(X).tobytes()


@every_forest
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: scipy.sparse.csr_matrix(y), "^y is sparse; give a dense array"),
        (lambda y: np.where(y == y[3], np.nan, y), "y contains NaN"),
        (lambda y: y[:-1], "inconsistent numbers of samples"),
        (lambda y: y * [1, 1e300, 1], "its variance overflows; rescale"),
    ],
    ids=["sparse", "missing", "short", "wide"],
)
def test_targets_that_cannot_be_used_are_refused(Forest, change, words):
    X, y = linnerud()
    with pytest.raises(ValueError, match=words):
        Forest(2).fit(X, change(y))
