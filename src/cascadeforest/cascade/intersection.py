"""Generalized random intersection trees, gRIT (hiDF, section II.A, Algorithm 1), and stability (section II.B, Eq. 2).

A rule is the premise of a decision rule, a set of conditions with signs and thresholds. Conditions are numbered as in
the paper, from 1: ``-i`` stands for ``x_i <= t`` and ``+i`` for ``x_i > t`` (the paper writes < and >=; trees of
scikit-learn and ours put equal values on the left).

Categorical features (ours; the paper has numbers only): ``-i`` and ``+i`` stand for the levels that a split sends left
and right. In place of a threshold, a rule has the levels outside of the set, so that the looser of two conditions, the
union of their sets, is what they both exclude. A condition that excludes no level says nothing, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cascadeforest.forest.binning import MAX_LEVELS, BinMapper, BinnedMatrix
from cascadeforest.forest.paths import PathSteps, path_steps
from cascadeforest.forest.trees import Trees

#: Threshold of a condition; of a categorical feature, the codes of the levels outside of its set.
Threshold = float | frozenset[int]
#: A rule: maps the signed number of each condition to its threshold.
Rule = Mapping[int, Threshold]
#: Which splits on the same feature count: the split nearest to the root, or the tightest split on each side.
REPEATED = ("first", "tightest")
_NO_LEVEL: frozenset[int] = frozenset()
#: Thresholds that all rows with a value satisfy: a cut above the last bin, a set of all levels.
_SAYS_NOTHING = (np.inf, _NO_LEVEL)
#: Threshold of an interaction that was found several times: the one that most rows satisfy, or the median.
MERGES = ("loosest", "median")


class StableInteraction(NamedTuple):
    """An interaction with its stability."""

    signed_features: tuple[int, ...]  # numbers from 1 with the sign of the condition, by feature
    thresholds: tuple[Threshold, ...]
    stability: float


def rules_of_rows(
    trees: Trees,
    binned: BinnedMatrix,
    rows: np.ndarray,
    of_tree: np.ndarray,
    mapper: BinMapper,
    repeated: str = "first",
) -> Sequence[Rule]:
    """Make the rules of the leaves that rows reach, each row in one tree (Algorithm 2, line 9).

    Parameters
    ----------
    trees : Trees
        An enriched random forest.
    binned : BinnedMatrix
        Rows, binned as at growth.
    rows, of_tree : ndarray of shape (n,), int
        Row and tree of each rule.
    mapper : BinMapper
        Bins of all columns, for thresholds in their units.
    repeated : {"first", "tightest"}
        Which splits count if a path splits a feature several times: the split nearest to the root, as in the released
        code, or the tightest split on each side. With "first" a feature has one sign in a rule.

    Returns
    -------
    list of Rule
        One rule for each row. A split that only separates missing values gives no condition, nor does a split at which
        the row's value is missing.
    """
    steps = path_steps(trees, binned, rows, of_tree)
    thresholds = _thresholds(trees, steps, mapper)
    rules: list[dict[int, Threshold]] = [{} for _ in rows]
    signed = np.where(steps.goes_right, 1, -1) * (steps.feature.astype(np.int64) + 1)
    for path, index, threshold, is_missing in zip(
        steps.path.tolist(), signed.tolist(), thresholds, steps.is_missing.tolist(), strict=True
    ):
        rule = rules[path]
        if is_missing or threshold in _SAYS_NOTHING:
            continue
        if repeated == "first":
            if index not in rule and -index not in rule:
                rule[index] = threshold
        else:
            rule[index] = _tighter(index, rule[index], threshold) if index in rule else threshold
    return rules


def _thresholds(trees: Trees, steps: PathSteps, mapper: BinMapper) -> list[Threshold]:
    """What the condition of each step has for a threshold."""
    thresholds = np.empty(len(steps.path))
    of_cut = steps.set_row < 0
    thresholds[of_cut] = mapper.threshold(steps.feature[of_cut], steps.cut[of_cut])
    of_all: list[Threshold] = [*thresholds.tolist()]
    if mapper.levels_ is None:
        return of_all
    n_levels = mapper.levels_[steps.feature]
    of_sets = np.flatnonzero(n_levels)
    parts = np.stack([steps.set_row, steps.cut, n_levels, steps.goes_right])[:, of_sets]
    order = np.lexsort(parts)  # many paths pass the same splits: each is looked at once
    is_new = np.append(True, (np.diff(parts[:, order]) != 0).any(axis=0))[: len(order)]
    row, cut, n, goes_right = parts[:, order[is_new], None]
    level = np.arange(MAX_LEVELS)
    goes_left = level <= cut  # of two levels
    in_sets = np.unpackbits(trees.sets[row[row >= 0], 1:].view(np.uint8), axis=1, bitorder="little")
    goes_left[row[:, 0] >= 0] = in_sets[:, :MAX_LEVELS]
    split, outside = np.nonzero((goes_left == goes_right) & (level < n))
    ends = np.searchsorted(split, np.arange(len(row) + 1)).tolist()
    levels = outside.tolist()
    sets = [frozenset(levels[start:end]) for start, end in pairwise(ends)]
    for k, j in zip(of_sets[order].tolist(), (np.cumsum(is_new) - 1).tolist(), strict=True):
        of_all[k] = sets[j]
    return of_all


def intersection(rule: Rule, other: Rule) -> Rule:
    """Conditions that two rules have in common, with the looser threshold (Algorithm 1, lines 4 to 8).

    Parameters
    ----------
    rule, other : Rule
        Rules.

    Returns
    -------
    Rule
        The common conditions; the threshold is "max(t, t') if i < 0, else min(t, t')". Sets of levels are united; the
        condition is left out if the union has all levels.
    """
    return {i: t for i in rule if i in other and (t := _looser(i, rule[i], other[i])) != _NO_LEVEL}


def n_nodes(depth: int, n_children: int) -> int:
    """Number of nodes of an intersection tree (J).

    Parameters
    ----------
    depth : int
        Number of levels, the root included.
    n_children : int
        Number of children of each node above the last level.

    Returns
    -------
    int
    """
    return depth if n_children == 1 else (n_children**depth - 1) // (n_children - 1)


def intersection_tree(rules: Sequence[Rule], depth: int, n_children: int, *, deepest_only: bool = True) -> list[Rule]:
    """Intersect rules along one random intersection tree (Algorithm 1, lines 2 to 10).

    Parameters
    ----------
    rules : sequence of Rule
        One random rule for each node, level by level: children come after their parents.
    depth, n_children : int
        As in `n_nodes`.
    deepest_only : bool
        Return the nodes of the last level, as in Algorithm 1, or all nodes, as in the released code.

    Returns
    -------
    list of Rule
        Intersections without the empty ones.

    Raises
    ------
    ValueError
        If there are more or fewer rules than nodes.
    """
    if len(rules) != n_nodes(depth, n_children):
        raise ValueError(f"rules has {len(rules)} entries; a tree of these levels has {n_nodes(depth, n_children)}.")
    nodes: list[Rule] = []
    for j, rule in enumerate(rules):
        nodes.append(intersection(nodes[(j - 1) // n_children], rule) if j else rule)
    first = len(rules) - n_children ** (depth - 1) if deepest_only else 0
    return [node for node in nodes[first:] if node]


def generalized_rit(
    rules: Sequence[Rule], n_trees: int, depth: int, n_children: int, *, deepest_only: bool = True
) -> list[Rule]:
    """Find interactions that survive intersections with randomly drawn rules (gRIT, Algorithm 1).

    Parameters
    ----------
    rules : sequence of Rule
        ``n_trees * n_nodes(depth, n_children)``, drawn at random.
    n_trees : int
        L, number of intersection trees.
    depth, n_children, deepest_only
        As in `intersection_tree`.

    Returns
    -------
    list of Rule
        Interactions of all trees; an interaction occurs as often as it was found.
    """
    size = n_nodes(depth, n_children)
    return [
        node
        for tree in range(n_trees)
        for node in intersection_tree(
            rules[tree * size : (tree + 1) * size], depth, n_children, deepest_only=deepest_only
        )
    ]


def stable_interactions(found: Sequence[Iterable[Rule]], merge: str = "loosest") -> list[StableInteraction]:
    """Compute the stability of interactions: the share of bootstraps in which they were found (Eq. 2).

    Two rules are the same interaction if they have the same signed features; thresholds do not count. If the union of
    an interaction's sets has all levels of a feature, its rules are counted without this condition.

    Parameters
    ----------
    found : sequence of iterable of Rule
        Rules that gRIT found in each bootstrap.
    merge : {"loosest", "median"}
        Thresholds of an interaction that was found several times: the loosest, as the rule of Algorithm 1 gives, or the
        median. Sets of levels are always united.

    Returns
    -------
    list of StableInteraction
        In the order of their signed features.
    """
    groups: dict[tuple[int, ...], list[tuple[int, Rule]]] = {}
    for bootstrap, rules in enumerate(found):
        for rule in rules:
            groups.setdefault(_index(rule), []).append((bootstrap, rule))
    stable = []
    for order in range(max(map(len, groups), default=0), 0, -1):  # a group without a condition joins a later one
        for index in [index for index in groups if len(index) == order]:
            merged = {i: _merged(i, [rule[i] for _, rule in groups[index]], merge) for i in index}
            left = tuple(i for i in index if merged[i] != _NO_LEVEL)
            if left == index:
                in_bootstraps = len({bootstrap for bootstrap, _ in groups[index]})
                stable.append(StableInteraction(index, tuple(merged.values()), in_bootstraps / len(found)))
            elif left:
                groups.setdefault(left, []).extend(groups[index])
    return sorted(stable, key=lambda one: one.signed_features)


def _index(rule: Rule) -> tuple[int, ...]:
    """The signed features of a rule, by feature."""
    return tuple(sorted(rule, key=lambda i: (abs(i), i)))


def _looser(i: int, t: Any, other: Any) -> Any:
    if isinstance(t, frozenset):
        return t & other
    return min(t, other) if i > 0 else max(t, other)


def _tighter(i: int, t: Any, other: Any) -> Any:
    if isinstance(t, frozenset):
        return t | other
    return max(t, other) if i > 0 else min(t, other)


def _merged(i: int, seen: Sequence[Any], merge: str) -> Any:
    if merge == "median" and not isinstance(seen[0], frozenset):
        return float(np.median(seen))
    return reduce(partial(_looser, i), seen)
