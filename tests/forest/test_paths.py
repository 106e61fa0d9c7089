"""Decision paths of single rows, against a walk over one tree at a time and against `Trees.decision_path`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.forest.paths import path_steps
from cascadeforest.forest.trees import Trees

MISSING = 255
LEAF_FEATURE = 2**23 - 1
N_FEATURES = 3

#: Nested (feature, cut, missing go left, left, right), or None for a leaf.
TREES = st.recursive(
    st.none(),
    lambda child: st.tuples(
        st.integers(0, N_FEATURES - 1), st.sampled_from([0, 1, 127, 253, 254]), st.booleans(), child, child
    ),
    max_leaves=12,
)
BINS = st.sampled_from([0, 1, 2, 127, 128, 253, 254, MISSING])
ROWS = st.lists(st.tuples(*[BINS] * N_FEATURES), min_size=1, max_size=8)


def join(forest):
    """Nested tuples as `Trees`, every leaf of the one class 0."""

    def words(tree):
        if tree is None:
            return [255 | LEAF_FEATURE << 9]
        feature, cut, missing_left, left, right = tree
        left, right = words(left), words(right)
        size = 1 + len(left)  # children on the right are counted from the root
        word = cut | missing_left << 8 | feature << 9 | size << 32
        return [word, *shifted(left, 1), *shifted(right, size)]

    def shifted(nodes, by):
        return [n if (n >> 9) & LEAF_FEATURE == LEAF_FEATURE else n + (by << 32) for n in nodes]

    return Trees.join([(np.array(words(tree), np.uint64), np.empty((0, 1), np.float32)) for tree in forest], 1)


def matrix(rows):
    columns = np.array(rows, np.uint8).reshape(len(rows), -1).T
    return BinnedMatrix(np.ascontiguousarray(columns), None)


def walk(trees, binned, row, tree):
    """Splits that one row passes in one tree, and the numbers of all nodes that it passes."""
    view = trees.tree(tree)
    node, steps, passed = 0, [], [0]
    while not view.is_leaf[node]:
        b = int(binned.columns[view.feature[node], row])
        goes_left = bool(view.missing_go_to_left[node]) if b == MISSING else b <= view.cut[node]
        steps.append((int(view.feature[node]), int(view.cut[node]), -1, not goes_left, b == MISSING))
        node = int(view.children_left[node] if goes_left else view.children_right[node])
        passed.append(node)
    return steps, passed


def as_lists(steps, n_paths):
    """Splits of each path, in the order in which they stand there."""
    paths = [[] for _ in range(n_paths)]
    for path, *step in zip(*(part.tolist() for part in steps), strict=True):
        paths[path].append(tuple(step))
    return paths


def check_against_walks(trees, binned, rows, of_tree):
    rows, of_tree = np.asarray(rows), np.asarray(of_tree)
    steps = path_steps(trees, binned, rows, of_tree)
    assert (np.diff(steps.path) >= 0).all()
    wanted = [walk(trees, binned, row, tree)[0] for row, tree in zip(rows, of_tree, strict=True)]
    assert as_lists(steps, len(rows)) == wanted
    return steps


def grown(n_trees, *, seed=0, share_missing=0.0, n_rows=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < share_missing] = np.nan
    binned = BinMapper().fit_transform(X)
    rules = GrowthRules(max_features=2)
    forest = grow_forest(binned, y, n_classes=2, rules=rules, seeds=tree_seeds(seed, n_trees), bootstrap=True)
    return forest.trees, binned


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(TREES, min_size=1, max_size=4), ROWS, st.data())
def test_steps_are_those_of_a_walk_over_one_tree_at_a_time(forest, rows, data):
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, len(rows) - 1), st.integers(0, len(forest) - 1)), min_size=0, max_size=12)
    )
    row, tree = np.array(pairs, np.int64).reshape(-1, 2).T
    check_against_walks(join(forest), matrix(rows), row, tree)


def test_steps_by_hand():
    """A split on feature 1, and behind its right side one on feature 0 that sends missing rows to the left."""
    trees = join([(1, 4, False, None, (0, 2, True, None, None))])
    binned = matrix([(0, 4, 0), (2, 5, 0), (3, 5, 0), (MISSING, 200, 0), (3, MISSING, 0)])
    steps = path_steps(trees, binned, np.arange(5), np.zeros(5, int))
    right, left = (-1, True), (-1, False)  # no sets
    assert as_lists(steps, 5) == [
        [(1, 4, *left, False)],
        [(1, 4, *right, False), (0, 2, *left, False)],
        [(1, 4, *right, False), (0, 2, *right, False)],
        [(1, 4, *right, False), (0, 2, *left, True)],
        [(1, 4, *right, True), (0, 2, *right, False)],
    ]


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("n_trees", [1, 7])
def test_every_row_of_a_grown_forest_in_every_tree(n_trees, share_missing):
    trees, binned = grown(n_trees, share_missing=share_missing)
    rows, of_tree = np.divmod(np.arange(80 * n_trees), n_trees)
    steps = check_against_walks(trees, binned, rows, of_tree)
    assert steps.is_missing.any() == (share_missing > 0)


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_directions_lead_along_the_decision_path(share_missing):
    trees, binned = grown(4, seed=1, share_missing=share_missing)
    indicator, pointer = trees.decision_path(binned)
    rng = np.random.default_rng(0)
    rows, of_tree = rng.integers(80, size=200), rng.integers(4, size=200)  # some rows in several trees, some twice
    paths = as_lists(path_steps(trees, binned, rows, of_tree), 200)
    for row, tree, path in zip(rows, of_tree, paths, strict=True):
        view, passed = trees.tree(tree), [0]
        for feature, cut, _, goes_right, _ in path:
            assert (view.feature[passed[-1]], view.cut[passed[-1]]) == (feature, cut)
            passed.append((view.children_right if goes_right else view.children_left)[passed[-1]])
        assert view.is_leaf[passed[-1]]
        marked = indicator[row].indices
        own = marked[(marked >= pointer[tree]) & (marked < pointer[tree + 1])] - pointer[tree]
        assert sorted(passed) == own.tolist()


def test_the_same_path_asked_for_twice_comes_twice():
    trees, binned = grown(3)
    steps = path_steps(trees, binned, np.array([5, 5, 5, 5]), np.array([2, 0, 2, 1]))
    paths = as_lists(steps, 4)
    assert paths[0] == paths[2] == walk(trees, binned, 5, 2)[0]
    assert paths[1] == walk(trees, binned, 5, 0)[0] != paths[0]


def test_trees_without_splits_have_no_steps():
    steps = path_steps(join([None, None]), matrix([(0, 1, 2), (3, 4, 5)]), np.array([0, 1, 1]), np.array([1, 0, 1]))
    assert [len(part) for part in steps] == [0] * 6


def test_trees_without_splits_between_others():
    trees = join([None, (2, 0, False, None, None), None])
    steps = path_steps(trees, matrix([(0, 1, 2)]), np.zeros(3, int), np.array([0, 1, 2]))
    assert as_lists(steps, 3) == [[], [(2, 0, -1, True, False)], []]


def test_no_rows_no_steps():
    trees, binned = grown(2)
    assert [len(part) for part in path_steps(trees, binned, np.empty(0, int), np.empty(0, int))] == [0] * 6


def test_neither_trees_nor_rows_are_written_to():
    trees, binned = grown(3, share_missing=0.2)
    rows, of_tree = np.arange(80), np.arange(80) % 3
    before = [a.copy() for a in (trees.nodes, trees.offsets, binned.columns, rows, of_tree)]
    path_steps(trees, binned, rows, of_tree)
    now = [trees.nodes, trees.offsets, binned.columns, rows, of_tree]
    assert all(np.array_equal(a, b) for a, b in zip(before, now, strict=True))
