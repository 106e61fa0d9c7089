"""Generalized random intersection trees, gRIT (hiDF, section II.A, Algorithm 1), and stability (section II.B, Eq. 2).

A rule is the premise of a decision rule, a set of conditions with signs and thresholds. Conditions are numbered as in
the paper, from 1: ``-i`` stands for ``x_i <= t`` and ``+i`` for ``x_i > t`` (the paper writes < and >=; trees of
scikit-learn and ours put equal values on the left).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.paths import path_steps
from cascadeforest.forest.trees import Trees

#: A rule: maps the signed number of each condition to its threshold.
Rule = Mapping[int, float]
#: Which splits on the same feature count: the split nearest to the root, or the tightest split on each side.
REPEATED = ("first", "tightest")
#: Threshold of an interaction that was found several times: the one that most rows satisfy, or the median.
MERGES = ("loosest", "median")


class StableInteraction(NamedTuple):
    """An interaction with its stability."""

    signed_features: tuple[int, ...]  # numbers from 1 with the sign of the condition, by feature
    thresholds: tuple[float, ...]
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

    Raises
    ------
    ValueError
        If a feature is categorical.
    """
    if binned.categorical is not None and binned.categorical.any():
        raise ValueError("binned has categorical features, but conditions are thresholds; encode them as numbers.")
    steps = path_steps(trees, binned, rows, of_tree)
    thresholds = mapper.threshold(steps.feature, steps.cut)
    says = np.isfinite(thresholds) & ~steps.is_missing
    rules: list[dict[int, float]] = [{} for _ in rows]
    signed = np.where(steps.goes_right, 1, -1) * (steps.feature.astype(np.int64) + 1)
    for path, index, threshold in zip(
        steps.path[says].tolist(), signed[says].tolist(), thresholds[says].tolist(), strict=True
    ):
        rule = rules[path]
        if repeated == "first":
            if index not in rule and -index not in rule:
                rule[index] = threshold
        elif index not in rule:
            rule[index] = threshold
        else:
            rule[index] = max(rule[index], threshold) if index > 0 else min(rule[index], threshold)
    return rules


def intersection(rule: Rule, other: Rule) -> Rule:
    """Conditions that two rules have in common, with the looser threshold (Algorithm 1, lines 4 to 8).

    Parameters
    ----------
    rule, other : Rule
        Rules.

    Returns
    -------
    Rule
        The common conditions; the threshold is "max(t, t') if i < 0, else min(t, t')".
    """
    return {i: _looser(i, t, other[i]) for i, t in rule.items() if i in other}


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

    Two rules are the same interaction if they have the same signed features; thresholds do not count.

    Parameters
    ----------
    found : sequence of iterable of Rule
        Rules that gRIT found in each bootstrap.
    merge : {"loosest", "median"}
        Thresholds of an interaction that was found several times: the loosest, as the rule of Algorithm 1 gives, or the
        median.

    Returns
    -------
    list of StableInteraction
        In the order of their signed features.
    """
    in_bootstraps: dict[tuple[int, ...], int] = {}
    thresholds: dict[tuple[int, ...], list[tuple[float, ...]]] = {}
    for rules in found:
        once = set()
        for rule in rules:
            index = tuple(sorted(rule, key=lambda i: (abs(i), i)))
            once.add(index)
            thresholds.setdefault(index, []).append(tuple(rule[i] for i in index))
        for index in once:
            in_bootstraps[index] = in_bootstraps.get(index, 0) + 1
    return [
        StableInteraction(index, _merged(index, thresholds[index], merge), in_bootstraps[index] / len(found))
        for index in sorted(in_bootstraps)
    ]


def _looser(i: int, t: float, other: float) -> float:
    return min(t, other) if i > 0 else max(t, other)


def _merged(index: tuple[int, ...], seen: list[tuple[float, ...]], merge: str) -> tuple[float, ...]:
    table = np.array(seen)
    if merge == "median":
        return tuple(np.median(table, axis=0).tolist())
    return tuple(float(table[:, k].min() if i > 0 else table[:, k].max()) for k, i in enumerate(index))
