"""Trees as flat arrays, against a walker that follows nested tuples, against scikit-learn, and by hand."""

import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.forest.trees import Trees

MISSING = 255
LEAF_FEATURE = 2**23 - 1
N_FEATURES = 3


class Split(NamedTuple):
    """A split of a drawn tree; its leaves are classes, or tuples of the values that they hold."""

    feature: int
    cut: int
    missing_left: bool
    left: "Split | int | tuple"
    right: "Split | int | tuple"


# The naive twin: trees as nested tuples.


def follow(tree, row):
    """Numbers of the nodes that a row passes, counted depth first, and the leaf."""
    passed = [0]
    while isinstance(tree, Split):
        b = row[tree.feature]
        goes_left = tree.missing_left if b == MISSING else b <= tree.cut
        passed.append(passed[-1] + 1 + (0 if goes_left else count_nodes(tree.left)))
        tree = tree.left if goes_left else tree.right
    return passed, tree


def count_nodes(tree):
    return 1 + count_nodes(tree.left) + count_nodes(tree.right) if isinstance(tree, Split) else 1


def value_of(leaf, n_classes):
    return np.eye(n_classes)[leaf] if isinstance(leaf, int) else np.array(leaf, np.float64)


# The same trees as kernels take them.


def split_word(feature, cut, missing_left, right):
    return cut | missing_left << 8 | feature << 9 | right << 32


def leaf_word(value_row):
    return 255 | LEAF_FEATURE << 9 | value_row << 32


def pack(tree, n_classes):
    """Nodes and values as `grow_tree` returns them."""
    words, values = [], []

    def visit(tree):
        number = len(words)
        words.append(None)
        if isinstance(tree, Split):
            visit(tree.left)
            words[number] = split_word(tree.feature, tree.cut, tree.missing_left, len(words))
            visit(tree.right)
        elif isinstance(tree, int):
            words[number] = leaf_word(tree)
        else:
            words[number] = leaf_word(n_classes + len(values))
            values.append(tree)

    visit(tree)
    return np.array(words, np.uint64), np.array(values, np.float32).reshape(len(values), max(1, n_classes))


def join(forest, n_classes):
    return Trees.join([pack(tree, n_classes) for tree in forest], n_classes)


def binned(rows):
    """A matrix of these rows."""
    columns = np.array(rows, np.uint8).reshape(len(rows), -1).T
    return BinnedMatrix(np.ascontiguousarray(columns), None)


#: Rows that kernels/walk.c takes down all trees before the next ones.
BLOCK = 4096
#: Lowest and highest bins, those beside cuts, and missing.
BINS = st.sampled_from([0, 1, 2, 126, 127, 128, 253, 254, MISSING])
CUTS = st.sampled_from([0, 1, 126, 127, 253, 254])


def trees_of(n_classes):
    eighths = st.integers(-8, 8).map(lambda k: k / 8)  # sums are exact, in whatever order
    leaves = st.tuples(*[eighths] * max(1, n_classes))
    if n_classes:
        leaves |= st.integers(0, n_classes - 1)
    return st.recursive(
        leaves,
        lambda child: st.builds(Split, st.integers(0, N_FEATURES - 1), CUTS, st.booleans(), child, child),
        max_leaves=12,
    )


@st.composite
def cases(draw):
    n_classes = draw(st.sampled_from([0, 1, 2, 3]))
    forest = draw(st.lists(trees_of(n_classes), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*[BINS] * N_FEATURES), min_size=1, max_size=20))
    return n_classes, forest, rows


every_forest = settings(deadline=None, max_examples=150)


@every_forest
@given(cases())
def test_prediction_is_the_mean_of_the_leaves_that_a_row_reaches(case):
    n_classes, forest, rows = case
    expected = [sum(value_of(follow(tree, row)[1], n_classes) for tree in forest) / len(forest) for row in rows]
    assert np.array_equal(join(forest, n_classes).predict(binned(rows)), np.array(expected))


@every_forest
@given(cases())
def test_apply_and_decision_path_name_the_nodes_that_a_row_passes(case):
    n_classes, forest, rows = case
    trees, matrix = join(forest, n_classes), binned(rows)
    paths = [[follow(tree, row)[0] for tree in forest] for row in rows]
    assert np.array_equal(trees.apply(matrix), [[path[-1] for path in row_paths] for row_paths in paths])
    indicator, n_nodes_ptr = trees.decision_path(matrix)
    assert np.array_equal(n_nodes_ptr, np.cumsum([0] + [count_nodes(tree) for tree in forest]))
    expected = np.zeros((len(rows), n_nodes_ptr[-1]), np.int64)
    for i, row_paths in enumerate(paths):
        for begin, path in zip(n_nodes_ptr, row_paths, strict=False):
            expected[i, begin + np.array(path)] = 1
    assert np.array_equal(indicator.toarray(), expected)
    indicator.check_format(full_check=True)


@every_forest
@given(cases(), st.randoms(use_true_random=False))
def test_node_statistics_sum_over_the_rows_that_pass(case, random):
    n_classes, forest, rows = case
    trees, matrix = join(forest, n_classes), binned(rows)
    targets = np.array([[random.randint(-8, 8) / 8 for _ in range(2)] for _ in rows])
    table = np.array([[random.choice([0, 0, 1, 2.5]) for _ in rows] for _ in forest])
    passed = trees.decision_path(matrix)[0].toarray()  # right by the test above
    tree_of_node = np.repeat(np.arange(len(forest)), np.diff(trees.offsets))
    for weights, by_tree in [(None, np.ones_like(table)), (table[0], table[:1].repeat(len(forest), 0)), (table, table)]:
        node_weights = passed.T * by_tree[tree_of_node]
        weight, sums = trees.node_statistics(matrix, targets, weights=weights)
        assert np.array_equal(weight, node_weights.sum(axis=1))
        assert np.array_equal(sums, node_weights @ targets)
        is_leaf = trees.all_nodes().is_leaf
        leaf_weight, leaf_sums = trees.leaf_statistics(matrix, targets, weights=weights)
        assert np.array_equal(leaf_weight, np.where(is_leaf, weight, 0))
        assert np.array_equal(leaf_sums, np.where(is_leaf[:, None], sums, 0))


@every_forest
@given(cases())
def test_the_view_of_a_tree_leads_rows_to_the_same_leaves(case):
    n_classes, forest, rows = case
    trees = join(forest, n_classes)
    everything = trees.all_nodes()
    for i, tree in enumerate(forest):
        view = trees.tree(i)
        for part, whole in zip(view[:-1], everything[:-1], strict=True):
            assert np.array_equal(part, whole[trees.offsets[i] : trees.offsets[i + 1]])
        for row in rows:
            node = 0
            while not view.is_leaf[node]:
                b = row[view.feature[node]]
                left = view.missing_go_to_left[node] if b == MISSING else b <= view.cut[node]
                node = view.children_left[node] if left else view.children_right[node]
            passed, leaf = follow(tree, row)
            assert node == passed[-1]
            assert np.array_equal(trees.values[view.value_row[node]], value_of(leaf, n_classes))


# By hand.


@pytest.fixture
def stump():
    """Feature 1, cut 3, rows without a value go left to class 0; right is half of each class."""
    return Trees.join([pack(Split(1, 3, True, 0, (0.5, 0.5)), 2)], 2)


def test_words_of_a_stump_by_hand(stump):
    assert [hex(word) for word in stump.nodes] == ["0x200000303", "0xfffffeff", "0x2fffffeff"]
    assert stump.values.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert stump.values.dtype == np.float32


def test_a_cut_belongs_to_the_left_side_and_missing_has_its_own(stump):
    rows = binned([(9, 3), (9, 4), (9, MISSING)])
    assert stump.predict(rows).tolist() == [[1, 0], [0.5, 0.5], [1, 0]]
    assert stump.apply(rows).tolist() == [[1], [2], [1]]


def test_the_view_of_a_stump_by_hand(stump):
    view = stump.tree(-1, mapper=SimpleNamespace(threshold=lambda feature, cut: 10.0 * feature + cut))
    assert view.children_left.tolist() == [1, -1, -1]
    assert view.children_right.tolist() == [2, -1, -1]
    assert view.feature.tolist() == [1, -2, -2]
    assert view.cut.tolist() == [3, -2, -2]
    assert view.threshold.tolist() == [13.0, -2.0, -2.0]
    assert view.missing_go_to_left.tolist() == [True, False, False]
    assert view.value_row.tolist() == [-1, 0, 2]
    with pytest.raises(IndexError):
        stump.tree(1)


def test_join_shares_pure_rows_and_shifts_the_others():
    first = Split(0, 1, False, 2, (0.5, 0.25, 0.25))
    second = Split(0, 1, False, (0, 0.5, 0.5), Split(0, 2, False, 1, (0.25, 0.25, 0.5)))
    nodes, values = zip(*[pack(tree, 3) for tree in (first, 0, second)], strict=True)
    before = [part.copy() for part in nodes]
    trees = Trees.join(zip(nodes, values, strict=True), 3)
    assert trees.n_trees == 3
    assert trees.n_outputs == 3
    assert trees.offsets.tolist() == [0, 3, 4, 9]
    assert trees.all_nodes().value_row.tolist() == [-1, 2, 3, 0, -1, 4, -1, 1, 5]
    assert trees.values[3:].tolist() == [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0.25, 0.25, 0.5]]
    assert all(np.array_equal(a, b) for a, b in zip(before, nodes, strict=True)), "what is joined stays as it was"


def test_regression_trees_have_one_output_and_no_shared_rows():
    trees = join([Split(0, 1, False, (-2.0,), (7.0,)), (1.0,)], 0)
    assert trees.values.tolist() == [[-2], [7], [1]]
    assert trees.predict(binned([(1,), (2,)])).tolist() == [[-0.5], [4]]


def test_a_single_leaf_needs_no_feature():
    trees = join([1], 2)
    for matrix in (binned([(0,), (MISSING,)]), BinnedMatrix(np.empty((0, 2), np.uint8), None)):
        assert trees.predict(matrix).tolist() == [[0, 1], [0, 1]]
        assert trees.apply(matrix).tolist() == [[0], [0]]
        assert trees.decision_path(matrix)[0].toarray().tolist() == [[1], [1]]
        assert trees.node_statistics(matrix, np.ones((2, 1)))[0].tolist() == [2]


def test_the_highest_feature_that_a_word_can_hold():
    columns = np.zeros((LEAF_FEATURE, 2), np.uint8)
    columns[-1] = 4, 5
    matrix = BinnedMatrix(columns, None)
    trees = join([Split(LEAF_FEATURE - 1, 4, False, 0, 1)], 2)
    assert trees.predict(matrix).tolist() == [[1, 0], [0, 1]]
    assert trees.decision_path(matrix)[0].toarray().tolist() == [[1, 1, 0], [1, 0, 1]]
    assert trees.tree(0).feature[0] == LEAF_FEATURE - 1


def test_a_chain_of_254_splits():
    """The deepest tree on one feature; row b leaves it after b + 1 steps."""
    tree = (254.0,)
    for b in reversed(range(254)):
        tree = Split(0, b, False, (float(b),), tree)
    trees = join([tree], 0)
    rows = binned([(b,) for b in range(255)])
    assert np.array_equal(trees.predict(rows)[:, 0], np.arange(255))
    assert np.array_equal(np.diff(trees.decision_path(rows)[0].indptr), np.minimum(np.arange(255), 253) + 2)


# Rows, trees, weights, threads.


def random_forest_case(n_rows, seed=0):
    """A forest of 20 drawn trees and rows for it."""
    rng = np.random.default_rng(seed)

    def grow(depth):
        if depth == 0 or rng.random() < 0.2:
            return int(rng.integers(3)) if rng.random() < 0.5 else tuple(rng.integers(0, 1000, 3) / 999)
        feature, cut, missing_left = int(rng.integers(5)), int(rng.integers(255)), bool(rng.integers(2))
        return Split(feature, cut, missing_left, grow(depth - 1), grow(depth - 1))

    forest = [grow(6) for _ in range(20)]
    columns = rng.integers(0, 255, (5, n_rows)).astype(np.uint8)
    columns[rng.random(columns.shape) < 0.1] = MISSING
    return forest, join(forest, 3), BinnedMatrix(columns, None)


def test_rows_beyond_one_block_walk_like_the_first():
    n_rows = BLOCK + 300
    forest, trees, matrix = random_forest_case(n_rows)
    leaves = [[follow(tree, row)[0][-1] for tree in forest] for row in matrix.columns.T.tolist()]
    assert np.array_equal(trees.apply(matrix), leaves)
    alone = [trees.predict(binned([matrix.columns[:, i]]))[0] for i in (0, BLOCK - 1, BLOCK, n_rows - 1)]
    assert np.array_equal(trees.predict(matrix)[[0, BLOCK - 1, BLOCK, -1]], alone)
    targets = np.random.default_rng(1).random((n_rows, 2))
    weight, sums = trees.node_statistics(matrix, targets)
    passed = trees.decision_path(matrix)[0]
    assert np.array_equal(weight, passed.T @ np.ones(n_rows))
    assert np.allclose(sums, passed.T @ targets, rtol=1e-12)


def outputs(trees, matrix, targets, weights, n_jobs):
    rows = np.arange(0, matrix.columns.shape[1], 2)
    indicator, _ = trees.decision_path(matrix, n_jobs=n_jobs)
    return [
        trees.predict(matrix, n_jobs=n_jobs),
        trees.predict(matrix, rows, n_jobs=n_jobs),
        trees.predict_sum(matrix, weights=weights, n_jobs=n_jobs),
        trees.apply(matrix, n_jobs=n_jobs),
        indicator.indices,
        indicator.indptr,
        *trees.node_statistics(matrix, targets, weights=weights, n_jobs=n_jobs),
        *trees.leaf_statistics(matrix, targets, n_jobs=n_jobs),
    ]


def test_the_number_of_threads_does_not_change_a_byte():
    _, trees, matrix = random_forest_case(1501)
    rng = np.random.default_rng(2)
    targets, table = rng.random((1501, 3)), rng.random((20, 1501))
    one, two, three = (outputs(trees, matrix, targets, lambda tree: table[tree], n_jobs) for n_jobs in (None, 2, 3))
    assert [a.tobytes() for a in one] == [a.tobytes() for a in two] == [a.tobytes() for a in three]


@pytest.mark.parametrize("rows", [[4], [0, 7, 8], [9, 2, 2], []], ids=["one", "ascending", "any order, twice", "none"])
def test_a_subset_of_rows_gives_what_a_matrix_of_them_gives(rows):
    _, trees, matrix = random_forest_case(10)
    taken = BinnedMatrix(np.ascontiguousarray(matrix.columns[:, rows]), None)
    rows = np.array(rows, np.int64)
    targets, weights = np.random.default_rng(3).random((len(rows), 2)), np.arange(1.0, len(rows) + 1)
    assert np.array_equal(trees.predict(matrix, rows), trees.predict(taken))
    assert np.array_equal(trees.apply(matrix, rows), trees.apply(taken))
    assert (trees.decision_path(matrix, rows)[0] != trees.decision_path(taken)[0]).nnz == 0
    for a, b in zip(
        trees.node_statistics(matrix, targets, rows, weights),
        trees.node_statistics(taken, targets, weights=weights),
        strict=True,
    ):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "chosen", [slice(3, 9), [5, 0], 7, np.arange(20) % 3 == 0], ids=["slice", "list", "one", "mask"]
)
def test_some_trees_predict_like_a_forest_of_them(chosen):
    forest, trees, matrix = random_forest_case(50)
    some = join([forest[i] for i in np.atleast_1d(np.arange(20)[chosen])], 3)
    assert np.array_equal(trees.predict(matrix, trees=chosen), some.predict(matrix))
    assert np.array_equal(trees.predict_sum(matrix, trees=chosen), some.predict_sum(matrix))


def test_weights_multiply_the_values_of_each_tree_and_row():
    forest, trees, matrix = random_forest_case(40)
    table = np.random.default_rng(4).choice([0, 0, 1, 0.5], (20, 40))
    each = np.array([join([tree], 3).predict(matrix) for tree in forest])
    assert np.allclose(trees.predict_sum(matrix, weights=table), np.einsum("ti,tic->ic", table, each), atol=1e-12)
    assert np.array_equal(
        trees.predict_sum(matrix, weights=lambda tree: table[tree]), trees.predict_sum(matrix, weights=table)
    )
    assert np.allclose(trees.predict_sum(matrix, weights=table[0]), table[0][:, None] * each.sum(axis=0), atol=1e-12)
    chosen = [18, 2]
    asked = []
    by_number = trees.predict_sum(matrix, trees=chosen, weights=lambda tree: asked.append(tree) or table[tree])
    assert asked == chosen
    assert np.array_equal(by_number, trees.predict_sum(matrix, trees=chosen, weights=table[chosen]))


def test_pickled_trees_are_the_same_and_take_eight_bytes_a_node():
    _, trees, matrix = random_forest_case(30)
    packed = pickle.dumps(trees)
    assert len(packed) < 8 * len(trees.nodes) + trees.values.nbytes + trees.offsets.nbytes + 1000
    again = pickle.loads(packed)
    assert again.n_classes == 3
    for name in ("nodes", "offsets", "values"):
        assert np.array_equal(getattr(again, name), getattr(trees, name))
    assert again.predict(matrix).tobytes() == trees.predict(matrix).tobytes()


def test_wrong_arguments_are_named():
    _, trees, matrix = random_forest_case(10)
    with pytest.raises(ValueError, match="at least one tree"):
        Trees.join([], 2)
    with pytest.raises(ValueError, match="2 features, but the trees split feature 4"):
        trees.predict(BinnedMatrix(matrix.columns[:2], None))
    for columns in (matrix.columns.astype(np.int64), np.asfortranarray(matrix.columns), matrix.columns[0]):
        with pytest.raises(ValueError, match="C-ordered matrix of uint8"):
            trees.apply(BinnedMatrix(columns, None))
    for rows in ([-1], [10]):
        with pytest.raises(IndexError, match="rows 0 to 9"):
            trees.predict(matrix, np.array(rows))
    for rows in (np.ones(10, bool), np.zeros((1, 1), int)):
        with pytest.raises(ValueError, match="give row numbers"):
            trees.predict(matrix, rows)
    with pytest.raises(ValueError, match="selects no tree"):
        trees.predict(matrix, trees=[])
    for weights in (np.ones(9), np.ones((19, 10)), lambda tree: np.ones(9)):
        with pytest.raises(ValueError, match=r"weights has shape \(.*9"):
            trees.predict_sum(matrix, weights=weights)
        with pytest.raises(ValueError, match=r"weights has shape \(.*9"):
            trees.node_statistics(matrix, np.ones((10, 1)), weights=weights)
    for targets in (np.ones(10), np.ones((9, 1))):
        with pytest.raises(ValueError, match="one line for each of the 10 rows"):
            trees.node_statistics(matrix, targets)


# scikit-learn's own trees, as node words.


def from_scikit_learn(forest, n_classes):
    """The trees of a forest that was fitted on bins; scikit-learn, too, numbers nodes depth first."""

    def nested(tree, node):
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return tuple(tree.value[node, 0])
        feature, missing_left = int(tree.feature[node]), bool(tree.missing_go_to_left[node])
        cut = int(min(tree.threshold[node], MISSING - 1))  # infinite where all rows with a value go left
        return Split(feature, cut, missing_left, nested(tree, left), nested(tree, right))

    return join([nested(estimator.tree_, 0) for estimator in forest.estimators_], n_classes)


def scikit_learn_case(model: Callable, n_classes):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 40, (400, 6)).astype(np.float32)
    y = np.minimum(X[:, 0] // 10 + X[:, 1] // 20, 2) if n_classes else X[:, 0] + rng.normal(size=400)
    columns = X.T.astype(np.uint8)
    missing = rng.random(columns.shape) < 0.05
    columns[missing], X[missing.T] = MISSING, np.nan
    forest = model(n_estimators=10, max_features=2, min_samples_leaf=3, random_state=0).fit(X, y)
    trees = from_scikit_learn(forest, n_classes)
    return forest, trees, BinnedMatrix(np.ascontiguousarray(columns), None), X, y


def test_scikit_learns_classification_trees_give_its_answers():
    forest, trees, matrix, X, y = scikit_learn_case(RandomForestClassifier, 3)
    assert np.allclose(trees.predict(matrix), forest.predict_proba(X), atol=1e-6)
    assert np.array_equal(trees.apply(matrix), forest.apply(X))
    (indicator, n_nodes_ptr), (theirs, their_ptr) = trees.decision_path(matrix), forest.decision_path(X)
    assert np.array_equal(n_nodes_ptr, their_ptr)
    assert (indicator != theirs).nnz == 0
    counts = [np.bincount(drawn, minlength=len(X)) for drawn in forest.estimators_samples_]
    weight, sums = trees.node_statistics(matrix, np.eye(3)[y.astype(int)], weights=lambda tree: counts[tree])
    assert np.array_equal(weight, np.concatenate([e.tree_.weighted_n_node_samples for e in forest.estimators_]))
    shares = np.concatenate([e.tree_.value[:, 0] for e in forest.estimators_])
    assert np.allclose(sums / weight[:, None], shares, atol=1e-12)


def test_scikit_learns_regression_trees_give_its_answers():
    forest, trees, matrix, X, _ = scikit_learn_case(RandomForestRegressor, 0)
    assert np.allclose(trees.predict(matrix)[:, 0], forest.predict(X), rtol=1e-6)
    assert np.array_equal(trees.apply(matrix), forest.apply(X))


# Trees that grow_tree grew.


@pytest.fixture(scope="module")
def training():
    X, y = make_classification(600, 8, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
    ranks = X.argsort(axis=0).argsort(axis=0)
    columns = np.ascontiguousarray((ranks * 255 // 600).T.astype(np.uint8))
    columns[0, ::7] = MISSING
    centers = np.tile(np.arange(255.0), (8, 1))
    return BinnedMatrix(columns, centers), y, X[:, 0] * X[:, 1]


def test_fully_grown_trees_without_bootstrap_know_their_rows(training):
    matrix, y, _ = training
    rules = GrowthRules(max_features=2)
    grown = grow_forest(matrix, y, n_classes=3, rules=rules, seeds=tree_seeds(0, 5))
    alike = np.unique(matrix.columns, axis=1, return_inverse=True)[1]
    assert len(set(alike)) == len(y), "rows that differ in their bins can be told apart"
    assert np.array_equal(grown.trees.predict(matrix), np.eye(3)[y])
    assert grown.trees.values.shape == (3, 3), "pure leaves store no values"


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_leaf_holds_the_mean_of_its_in_bag_rows(training, task, splitter):
    matrix, y, target = training
    n_classes = 3 if task == "classification" else 0
    criterion = "gini" if n_classes else "squared_error"
    rows = np.flatnonzero(np.arange(600) % 3)
    learned = (y if n_classes else target)[rows]
    grown = grow_forest(
        matrix,
        learned,
        n_classes=n_classes,
        rules=GrowthRules(splitter, criterion, max_features=3, min_samples_leaf=4),
        seeds=tree_seeds(1, 6),
        rows=rows,
        bootstrap=True,
    )
    trees = grown.trees
    targets = np.eye(3)[learned] if n_classes else learned[:, None] - grown.offset
    weight, sums = trees.node_statistics(matrix, targets, rows, grown.in_bag_counts)
    nodes = trees.all_nodes()
    leaves = nodes.is_leaf
    assert np.allclose(trees.values[nodes.value_row[leaves]], sums[leaves] / weight[leaves, None], atol=1e-6)
    assert np.array_equal(weight[trees.offsets[:-1]], np.full(6, len(rows))), "the root holds all draws"
    for i in range(trees.n_trees):
        view, own = trees.tree(i), slice(trees.offsets[i], trees.offsets[i + 1])
        inner = ~view.is_leaf
        left, right = view.children_left[inner], view.children_right[inner]
        for statistic in (weight[own], sums[own]):
            assert np.array_equal(statistic[inner], statistic[left] + statistic[right])
