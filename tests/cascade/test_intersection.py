"""gRIT against Algorithm 1 as it is printed, on explicit nodes; rules of leaves, and stability, by hand."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadeforest.cascade import intersection as module
from cascadeforest.cascade.intersection import (
    StableInteraction,
    generalized_rit,
    intersection,
    intersection_tree,
    n_nodes,
    rules_of_rows,
    stable_interactions,
)
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.growth import GrowthRules, grow_forest, tree_seeds
from cascadeforest.forest.trees import Trees

examples = settings(deadline=None, derandomize=True, max_examples=300)
MISSING = 255
LEAF = 255 | (2**23 - 1) << 9

SIGNED = st.integers(1, 4).flatmap(lambda i: st.sampled_from([-i, i]))
RULES = st.dictionaries(SIGNED, st.integers(-3, 3).map(float), max_size=5)


# Algorithm 1, line by line.


@dataclass
class Node:
    parent: "Node | None"
    depth: int
    index: set
    threshold: dict


def printed_tree(draw, depth, n_children):
    """Nodes of one intersection tree; `draw` gives the rule of a uniformly drawn example: (set, thresholds)."""
    index, threshold = draw()
    root = Node(None, 1, set(index), dict(threshold))
    nodes, level = [root], [root]
    for d in range(2, depth + 1):
        grown = []
        for parent in level:
            for _ in range(n_children):
                index, threshold = draw()
                node = Node(parent, d, set(index) & parent.index, {})
                for i in node.index:
                    pair = (threshold[i], parent.threshold[i])
                    node.threshold[i] = max(pair) if i < 0 else min(pair)
                grown.append(node)
        nodes += grown
        level = grown
    return nodes


def printed_grit(rules, n_trees, depth, n_children, deepest_only):
    stock = iter(rules)

    def draw():
        rule = next(stock)
        return set(rule), dict(rule)

    found = []
    for _ in range(n_trees):
        for node in printed_tree(draw, depth, n_children):
            if node.index and (node.depth == depth or not deepest_only):
                found.append(node.threshold)
    assert next(stock, None) is None
    return found


@examples
@given(st.data(), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_grit_is_algorithm_1(data, depth, n_children, n_trees, deepest_only):
    n = n_trees * n_nodes(depth, n_children)
    few = data.draw(st.lists(RULES, min_size=1, max_size=4))  # few rules for many nodes, so that much survives
    rules = [few[k] for k in data.draw(st.lists(st.integers(0, len(few) - 1), min_size=n, max_size=n))]
    before = [dict(rule) for rule in rules]
    found = generalized_rit(rules, n_trees, depth, n_children, deepest_only=deepest_only)
    assert found == printed_grit(rules, n_trees, depth, n_children, deepest_only)
    assert rules == before


@pytest.mark.parametrize(
    ("depth", "n_children", "n"), [(1, 1, 1), (1, 3, 1), (5, 1, 5), (5, 2, 31), (4, 2, 15), (3, 3, 13)]
)
def test_nodes_of_a_tree_by_hand(depth, n_children, n):
    assert n_nodes(depth, n_children) == n


def test_thresholds_merge_to_the_looser_one_by_hand():
    """Algorithm 1, line 7: 'max if i < 0 else min'."""
    one, other = {-1: 2.0, 2: 0.5, 3: 1.0}, {-1: 3.0, 2: 0.25, -3: 9.0}
    assert intersection(one, other) == intersection(other, one) == {-1: 3.0, 2: 0.25}


def test_sets_of_levels_are_united_and_all_levels_are_no_condition():
    """A rule has the levels outside of the set."""
    one, other = {-1: frozenset({0, 1}), 2: frozenset({1}), 3: 5.0}, {-1: frozenset({1, 2}), 2: frozenset({0}), 3: 4.0}
    assert intersection(one, other) == intersection(other, one) == {-1: frozenset({1}), 3: 4.0}
    found = [[{1: frozenset({0, 1}), -2: 3.0}], [{1: frozenset({1, 2}), -2: 4.0}], [{-2: 2.0}]]
    assert stable_interactions(found) == [((-2,), (2.0,), 1 / 3), ((1, -2), (frozenset({1}), 4.0), 2 / 3)]
    found[0] += [{1: frozenset({2}), -2: 1.0, 4: 0.0}, {1: frozenset({2, 3}), 3: frozenset({0})}]
    found[2] += [{1: frozenset({0}), -2: 9.0, 4: 0.5}, {1: frozenset({0, 1}), 3: frozenset({1})}]
    assert stable_interactions(found, "median") == [
        ((-2,), (2.0,), 1 / 3),
        ((-2, 4), (5.0, 0.25), 2 / 3),  # its sets of the first feature are all levels, united
        ((1, -2), (frozenset({1}), 3.5), 2 / 3),
    ]
    found[1] += [{-2: 5.0, 4: 1.0}]  # joins them
    assert stable_interactions(found)[1] == ((-2, 4), (9.0, 0.0), 1.0)
    assert stable_interactions([[{1: frozenset({0})}, {1: frozenset({1})}]]) == []


@examples
@given(RULES, RULES, RULES)
def test_intersections_do_not_depend_on_the_order(one, two, three):
    assert intersection(one, two) == intersection(two, one)
    assert intersection(intersection(one, two), three) == intersection(one, intersection(two, three))
    assert intersection(one, one) == one


@examples
@given(RULES, RULES, st.tuples(*[st.floats(-4, 4)] * 4))
def test_whoever_satisfies_a_rule_satisfies_its_intersections(one, two, x):
    def satisfied(rule):
        return all(x[i - 1] > t if i > 0 else x[-i - 1] <= t for i, t in rule.items())

    if satisfied(one) or satisfied(two):
        assert satisfied(intersection(one, two))


def test_a_tree_by_hand():
    """Children 2 and 3 of the root, and 4 to 7 of those."""
    rules = [
        {-1: 1.0, 2: 5.0, 3: 0.0},
        {-1: 2.0, 2: 6.0},
        {2: 4.0, 3: 1.0, 4: 0.0},
        {-1: 0.0, 2: 9.0, 3: 7.0},  # from here below the second rule
        {-2: 1.0},
        {-1: 5.0, 2: 4.5},  # and from here below the third
        {3: -1.0},
    ]
    deepest = [{-1: 2.0, 2: 5.0}, {2: 4.0}, {3: -1.0}]
    assert intersection_tree(rules, 3, 2) == deepest
    above = [rules[0], {-1: 2.0, 2: 5.0}, {2: 4.0, 3: 0.0}]
    assert intersection_tree(rules, 3, 2, deepest_only=False) == above + deepest


def test_a_tree_of_depth_1_is_one_rule():
    rule = {-1: 1.0, 2: 5.0}
    for deepest_only in (True, False):
        assert intersection_tree([rule], 1, 3, deepest_only=deepest_only) == [rule]


def test_one_child_makes_a_chain_of_rules():
    rules = [{1: 3.0, -2: 1.0, 3: 0.0}, {1: 2.0, -2: 0.0}, {1: 4.0, 5: 0.0}]
    assert intersection_tree(rules, 3, 1) == [{1: 2.0}]
    assert intersection_tree(rules, 3, 1, deepest_only=False) == [rules[0], {1: 2.0, -2: 1.0}, {1: 2.0}]


def test_three_children_each_meet_the_root():
    rules = [{1: 0.0, 2: 0.0, 3: 0.0}, {1: -1.0}, {2: 1.0}, {4: 0.0}]
    assert intersection_tree(rules, 2, 3) == [{1: -1.0}, {2: 0.0}]


def test_empty_rules_leave_nothing_below_them():
    rules = [{}, {1: 0.0}, {1: 0.0}]
    assert intersection_tree(rules, 2, 2, deepest_only=False) == []
    assert intersection_tree([{1: 0.0}, {}, {1: 1.0}], 2, 2, deepest_only=False) == [{1: 0.0}, {1: 0.0}]


@pytest.mark.parametrize("n", [6, 8])
def test_a_tree_wants_a_rule_for_each_node(n):
    with pytest.raises(ValueError, match=f"rules has {n} entries; .* has 7"):
        intersection_tree([{1: 0.0}] * n, 3, 2)


def test_each_tree_has_rules_of_its_own():
    rules = [{1: 0.0}, {1: 1.0}, {2: 0.0}, {2: -1.0}]
    assert generalized_rit(rules, 2, 2, 1) == [{1: 0.0}, {2: -1.0}]


# Rules of leaves.


def split(feature, cut, right):
    return cut | feature << 9 | right << 32


def trees_by_hand():
    """x0 <= 10, on the right x0 <= 20, on its left x1 <= 0.5, on its right x0 <= 15; missing rows go right."""
    nodes = [split(0, 0, 2), LEAF, split(0, 2, 8), split(1, 1, 5), LEAF, split(0, 1, 7), LEAF, LEAF, LEAF]
    return Trees.join([(np.array(nodes, np.uint64), np.empty((0, 1), np.float32))], 1)


def mapper_by_hand():
    """Thresholds of bins 0, 1, 2: 10, 15, 20 for x0, and -1.5, 0.5, 2.5 for x1."""
    one, other = np.array([9.0, 11, 19, 21]), np.array([-2.0, -1, 2, 3])
    return BinMapper().fit(one[:, None]).extend(BinMapper().fit(other[:, None]))


def rules_by_hand(rows, repeated):
    columns = np.array(rows, np.uint8).T
    binned = BinnedMatrix(np.ascontiguousarray(columns), None)
    n = np.arange(len(rows))
    return rules_of_rows(trees_by_hand(), binned, n, np.zeros_like(n), mapper_by_hand(), repeated)


def test_rules_of_a_tree_by_hand():
    rows = [(0, 0), (1, 1), (1, 2), (2, 2), (3, 0)]
    assert rules_by_hand(rows, "first") == [
        {-1: 10.0},
        {1: 10.0, -2: 0.5},  # the second split on x0 is left out
        {1: 10.0, 2: 0.5},
        {1: 10.0, 2: 0.5},
        {1: 10.0},
    ]
    assert rules_by_hand(rows, "tightest") == [
        {-1: 10.0},
        {1: 10.0, -1: 20.0, -2: 0.5},
        {1: 10.0, -1: 15.0, 2: 0.5},  # 15 says more than 20
        {1: 15.0, -1: 20.0, 2: 0.5},  # and than 10
        {1: 20.0},
    ]


def test_the_tightest_bound_need_not_be_the_last():
    """x0 <= 15, and below it x0 <= 20 on the left, x0 > 10 on the right: neither says more. No forest grows this."""
    nodes = np.array([split(0, 1, 4), split(0, 2, 3), LEAF, LEAF, split(0, 0, 6), LEAF, LEAF], np.uint64)
    trees = Trees.join([(nodes, np.empty((0, 1), np.float32))], 1)
    binned = BinnedMatrix(np.array([[0, 3], [0, 0]], np.uint8), None)
    rules = rules_of_rows(trees, binned, np.arange(2), np.zeros(2, int), mapper_by_hand(), "tightest")
    assert rules == [{-1: 15.0}, {1: 15.0}]


def test_a_row_without_a_value_gets_no_condition_from_that_split():
    rows = [(MISSING, 0), (1, MISSING), (MISSING, MISSING)]
    assert rules_by_hand(rows, "first") == [{}, {1: 10.0}, {}]
    assert rules_by_hand(rows, "tightest") == [{}, {1: 10.0, -1: 15.0}, {}]


def test_a_split_that_only_parts_missing_values_gives_no_condition():
    """Bin 3 is the last one of x1: whoever has a value goes left there."""
    nodes = np.array([split(1, 3, 4), split(0, 1, 3), LEAF, LEAF, LEAF], np.uint64)
    trees = Trees.join([(nodes, np.empty((0, 1), np.float32))], 1)
    columns = np.array([[0, 2, 2], [3, 0, MISSING]], np.uint8)
    for repeated in ("first", "tightest"):
        rules = rules_of_rows(
            trees, BinnedMatrix(columns, None), np.arange(3), np.zeros(3, int), mapper_by_hand(), repeated
        )
        assert rules == [{-1: 15.0}, {1: 15.0}, {}]


def test_a_split_that_parts_missing_values_does_not_hide_the_next_one_on_the_feature():
    nodes = np.array([split(1, 3, 4), split(1, 0, 3), LEAF, LEAF, LEAF], np.uint64)
    trees = Trees.join([(nodes, np.empty((0, 1), np.float32))], 1)
    columns = np.array([[0, 0], [0, 1]], np.uint8)
    rules = rules_of_rows(trees, BinnedMatrix(columns, None), np.arange(2), np.zeros(2, int), mapper_by_hand())
    assert rules == [{-2: -1.5}, {2: -1.5}]


def naive_rule(view, x, repeated):
    """Rule of one row of numbers, by thresholds only."""
    node, conditions = 0, []
    while not view.is_leaf[node]:
        feature, threshold = int(view.feature[node]), float(view.threshold[node])
        lost = np.isnan(x[feature])
        goes_left = bool(view.missing_go_to_left[node]) if lost else x[feature] <= threshold
        if not lost and np.isfinite(threshold):
            conditions.append((-(feature + 1) if goes_left else feature + 1, threshold))
        node = int((view.children_left if goes_left else view.children_right)[node])
    rule = {}
    if repeated == "first":
        for i, t in reversed(conditions):
            rule.pop(-i, None)
            rule[i] = t
        return rule
    for i in {i for i, _ in conditions}:
        bounds = [t for j, t in conditions if j == i]
        rule[i] = max(bounds) if i > 0 else min(bounds)
    return rule


def forest_on_numbers(seed, share_missing, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=[1.0, 1e-6, 1e6, 1.0], size=(150, 4)).astype(dtype)
    X[:, 3] = rng.integers(0, 3, 150)
    y = (X[:, 0] + X[:, 3] > 1).astype(int) + (X[:, 2] > 0)
    X[rng.random(X.shape) < share_missing] = np.nan
    mapper = BinMapper()
    binned = mapper.fit_transform(X)
    grown = grow_forest(binned, y, n_classes=3, rules=GrowthRules(max_features=2), seeds=tree_seeds(seed, 4))
    return X, y, mapper, binned, grown


@pytest.mark.parametrize("repeated", ["first", "tightest"])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rules_of_a_grown_forest_in_the_units_of_the_data(repeated, share_missing, dtype):
    X, _, mapper, binned, grown = forest_on_numbers(0, share_missing, dtype)
    rows, of_tree = np.divmod(np.arange(150 * 4), 4)
    rules = rules_of_rows(grown.trees, binned, rows, of_tree, mapper, repeated)
    views = [grown.trees.tree(t, mapper) for t in range(4)]
    assert rules == [naive_rule(views[t], X[row], repeated) for row, t in zip(rows, of_tree, strict=True)]
    for rule, row in zip(rules, rows, strict=True):  # a row satisfies its own rule
        assert all(X[row, i - 1] > t if i > 0 else X[row, -i - 1] <= t for i, t in rule.items())


def test_with_first_a_feature_has_one_sign_and_with_tightest_it_can_have_two():
    _, _, mapper, binned, grown = forest_on_numbers(1, 0.0)
    rows, of_tree = np.divmod(np.arange(150 * 4), 4)
    both = {
        repeated: [
            any(-i in rule for i in rule)
            for rule in rules_of_rows(grown.trees, binned, rows, of_tree, mapper, repeated)
        ]
        for repeated in ("first", "tightest")
    }
    assert not any(both["first"])
    assert any(both["tightest"])


def test_only_the_rules_that_are_asked_for_are_made(monkeypatch):
    """L times J of them; the rule set of Algorithm 2, line 9, has a rule for each row and tree."""
    _, _, mapper, binned, grown = forest_on_numbers(2, 0.0)
    walked = []
    steps = module.path_steps
    monkeypatch.setattr(module, "path_steps", lambda t, b, rows, of: walked.append(len(rows)) or steps(t, b, rows, of))
    n = 3 * n_nodes(3, 2)
    rules = rules_of_rows(grown.trees, binned, np.zeros(n, int), np.zeros(n, int), mapper)
    assert walked == [21]
    assert len(rules) == 21
    assert len({id(rule) for rule in rules}) == 21  # each may be changed without the others


# Stability.


def test_stability_by_hand():
    """Eq. 2: a bootstrap counts once, however often it found an interaction, and with whatever thresholds."""
    found = [
        [{-2: 1.0, 3: 5.0}, {-2: 2.0, 3: 6.0}, {1: 0.0}],
        [{3: 4.0, -2: 1.5}],
        [],
        [{2: 1.0, 3: 5.0}],
    ]
    assert stable_interactions(found) == [
        StableInteraction((-2, 3), (2.0, 4.0), 0.5),
        StableInteraction((1,), (0.0,), 0.25),
        StableInteraction((2, 3), (1.0, 5.0), 0.25),
    ]


def test_merged_thresholds_by_hand():
    found = [[{-1: 1.0, 2: 1.0}], [{-1: 5.0, 2: 2.0}], [{-1: 2.0, 2: 9.0}, {-1: 2.0, 2: 9.0}]]
    (loosest,) = stable_interactions(found, "loosest")
    (median,) = stable_interactions(found, "median")
    assert loosest == StableInteraction((-1, 2), (5.0, 1.0), 1.0)
    assert median.thresholds == (2.0, 5.5)  # of 1, 2, 2, 5 and of 1, 2, 9, 9
    assert (median.signed_features, median.stability) == (loosest.signed_features, 1.0)


def test_nothing_found_nothing_stable():
    assert stable_interactions([[], []]) == []


def test_the_two_sides_of_one_feature_stand_side_by_side():
    (one,) = stable_interactions([[{3: 0.0, 2: 1.0, -2: 4.0}]])
    assert one == StableInteraction((-2, 2, 3), (4.0, 1.0, 0.0), 1.0)


@examples
@given(st.lists(st.lists(RULES.filter(bool), max_size=5), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_stability_counts_bootstraps(found, random):
    stable = stable_interactions(found)
    of = {frozenset(one.signed_features): one for one in stable}
    assert len(of) == len(stable) == len({frozenset(rule) for rules in found for rule in rules})
    counts = Counter(index for rules in found for index in {frozenset(rule) for rule in rules})
    for index, one in of.items():
        assert one.stability == float(Fraction(counts[index], len(found)))
        assert list(one.signed_features) == sorted(one.signed_features, key=lambda i: (abs(i), i))
        for i, t in zip(one.signed_features, one.thresholds, strict=True):
            seen = [rule[i] for rules in found for rule in rules if frozenset(rule) == index]
            assert t == (min(seen) if i > 0 else max(seen))
    shuffled = [random.sample(rules, len(rules)) for rules in random.sample(found, len(found))]
    assert stable_interactions(shuffled) == stable


def test_bootstraps_may_be_generators():
    assert stable_interactions([iter([{1: 0.0}]), (r for r in [{1: 1.0}])]) == [StableInteraction((1,), (0.0,), 1.0)]
