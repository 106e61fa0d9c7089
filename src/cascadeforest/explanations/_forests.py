"""Contributions in one forest, tree by tree: node means of the training rows, then paths of the rows to explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.tree_subsets import trees_beside
from cascadeforest.forest.walks import LearnedForest
from cascadeforest.kernels.contributions import add_calibrated, add_paths, node_means, relatives, sort_by_leaf

#: Trees of a unit of work. Sums are taken unit by unit, in order, whatever the number of threads.
_UNIT = 16
#: Tolerance for rounding errors of leaf values (float32), relative to the range of the responses.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Preceding:
    """Contributions of the original features to the columns that the preceding layer added.

    Parameters
    ----------
    contributions : ndarray of shape (n_forests, n_rows, n_outputs * n_features)
        Contributions in the forests of the preceding layer, for the layer's training rows.
    n_given : int
        Number of columns before the added ones.
    rule : int
        Calibration (see `kernels.contributions`).
    all_rows : bool
        Whether estimates are means over all training rows of a node, as in the released code, or over the tree's in-bag
        rows, with their counts.
    equal : ndarray of shape (n_features,)
        Shares by which a change is spread if all estimates are 0.
    """

    contributions: np.ndarray
    n_given: int
    rule: int
    all_rows: bool
    equal: np.ndarray

    @classmethod
    def of(cls, contributions: np.ndarray, n_features: int, n_given: int, rule: int, all_rows: bool) -> Preceding:
        """Make an instance with equal shares for all features that the preceding layer used."""
        used = np.zeros(contributions.shape[2], bool)
        for forest in contributions:
            used |= forest.any(axis=0)
        by_feature = used.reshape(-1, n_features).any(axis=0) if used.any() else np.ones(n_features, bool)
        return cls(contributions, n_given, rule, all_rows, by_feature / by_feature.sum())


@dataclass(frozen=True)
class _Tree:
    """One tree, its node means, and the leaves of its training rows."""

    number: int
    feature: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    end: np.ndarray
    deepest: int
    weights: np.ndarray  # of the rows that it learned from
    leaf: np.ndarray  # theirs
    mean: np.ndarray  # of the nodes; exact in all
    value: np.ndarray  # the same, in leaves what the tree predicts


def _trees(learned: LearnedForest, first: int, last: int) -> Iterator[_Tree]:
    """Yield trees with their node means (Eq. 14), checked against the values of their leaves."""
    some = trees_beside(learned.trees, first, last)
    leaves = some.apply(learned.binned, learned.rows)
    view, offsets = some.all_nodes(), some.offsets
    n_outputs = learned.Y.shape[1]
    spread = np.abs(learned.Y - learned.Y.mean(axis=0)).max(initial=0.0) + np.abs(learned.Y).max() * 1e-9
    for t in range(last - first):
        own = slice(offsets[t], offsets[t + 1])
        feature, right = view.feature[own], view.children_right[own]
        n_nodes = len(feature)
        parent, depth, end = (np.empty(n_nodes, np.int32) for _ in range(3))
        deepest = relatives(feature, right, parent, depth, end)
        weights, leaf = learned.tree_weights(first + t), np.ascontiguousarray(leaves[:, t])
        total, mean = np.empty(n_nodes), np.empty((n_nodes, n_outputs))
        node_means(feature, right, leaf, weights, learned.Y, total, mean)
        value, is_leaf = mean.copy(), feature < 0
        stored = learned.trees.values[view.value_row[own][is_leaf]].astype(np.float64)
        value[is_leaf] = learned.offset + learned.scale * stored
        if not (np.abs(value - mean)[is_leaf] <= _ROUNDING * spread).all() or not (total[is_leaf] > 0).all():
            raise RuntimeError(
                "A tree's leaf holds another mean than its training rows have: the model was changed after fit; fit it "
                "again."
            )
        yield _Tree(first + t, feature, right, parent, depth, end, deepest, weights, leaf, mean, value)


def _add(
    learned: LearnedForest, tree: _Tree, value: np.ndarray, before: Preceding | None, leaf: np.ndarray, out: np.ndarray
) -> None:
    """Add the contributions of one tree to the rows whose leaves are given (negative: left out)."""
    n_given = out.shape[1] // value.shape[1] if before is None else before.n_given
    add_paths(tree.feature, tree.parent, n_given, value, leaf, out)
    if before is None or not (tree.feature >= n_given).any():
        return
    n_nodes = len(tree.feature)
    order, place = np.empty(len(leaf), np.int32), np.empty(n_nodes + 1, np.int64)
    sort_by_leaf(leaf, order, place)
    weights = np.ones(len(tree.leaf)) if before.all_rows else tree.weights
    hat_leaf = tree.leaf if before.all_rows else np.where(tree.weights > 0, tree.leaf, np.int32(-1))
    hat_order, hat_place = np.empty(len(hat_leaf), np.int32), np.empty(n_nodes + 1, np.int64)
    sort_by_leaf(hat_leaf, hat_order, hat_place)
    stack = np.empty((2 * (tree.deepest + 2), out.shape[1]))
    add_calibrated(
        tree.feature, tree.right, tree.end, tree.depth, value, before.n_given,
        hat_order, hat_place, weights, learned.places, before.contributions, before.equal, before.rule,
        order, place, out, stack, np.empty(n_nodes, np.int64),
    )  # fmt: skip


def _units(learned: LearnedForest) -> list[tuple[int, int]]:
    """First and last tree of each unit of work."""
    return [(k, min(k + _UNIT, learned.trees.n_trees)) for k in range(0, learned.trees.n_trees, _UNIT)]


def mean_root(learned: LearnedForest) -> np.ndarray:
    """Mean over trees of the mean response at the root, shape (n_outputs,)."""
    total = np.zeros(learned.Y.shape[1])
    roots = learned.trees.all_nodes().value_row[learned.trees.offsets[:-1]]
    for tree, value_row in enumerate(roots):
        if value_row < 0:
            total += np.average(learned.Y, axis=0, weights=learned.tree_weights(tree))
        else:  # without splits: what the only leaf predicts
            total += learned.offset + learned.scale * learned.trees.values[value_row].astype(np.float64)
    return total / learned.trees.n_trees


def contributions(
    learned: LearnedForest,
    n_features: int,
    before: Preceding | None,
    binned: BinnedMatrix,
    rows: np.ndarray,
    *,
    out_of_bag: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean over trees of bias and contributions (Eqs. 5 and 28).

    Parameters
    ----------
    learned : LearnedForest
        The forest.
    n_features : int
        Number of original features.
    before : Preceding or None
        Contributions to the added columns; None if there are no added columns.
    binned : BinnedMatrix
        Rows to explain.
    rows : ndarray of shape (n,), int32
        Numbers of these rows.
    out_of_bag : bool
        Whether a tree explains only the rows that it did not draw. `rows` are then all rows of the layer.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    contributions : ndarray of shape (n, n_outputs * n_features)
    bias : ndarray of shape (n, n_outputs)
        Mean response at the roots of the trees that explain a row; NaN if no tree does.
    """
    n_outputs = learned.Y.shape[1]

    def unit(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out, bias = np.zeros((len(rows), n_outputs * n_features)), np.zeros((len(rows), n_outputs))
        votes = np.zeros(len(rows))
        leaves = trees_beside(learned.trees, first, last).apply(binned, rows)
        for tree in _trees(learned, first, last):
            leaf = np.ascontiguousarray(leaves[:, tree.number - first])
            asked = np.ones(len(rows), bool)
            if out_of_bag:
                asked[learned.places] = learned.in_bag(tree.number) == 0
                leaf = np.where(asked, leaf, np.int32(-1))
            _add(learned, tree, tree.value, before, leaf, out)
            bias[asked] += tree.value[0]
            votes += asked
        return out, bias, votes

    done = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(unit)(*part) for part in _units(learned)
    )
    out, bias, votes = next(done)
    for part in done:
        out += part[0]
        bias += part[1]
        votes += part[2]
    with np.errstate(invalid="ignore", divide="ignore"):
        bias /= votes[:, None]
    out /= np.maximum(votes, 1.0)[:, None]
    return out, bias


def impurity_decreases(
    learned: LearnedForest,
    n_features: int,
    before: Preceding | None,
    *,
    out_of_bag: bool = False,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mean over trees of Eq. 10, on each tree's in-bag rows with their counts or on its out-of-bag rows.

    On in-bag rows this is the decrease of impurity (Eq. 6); splits on added columns are traced back to the original
    features. On out-of-bag rows it is MDI-oob of Li et al. (2019).

    Parameters
    ----------
    learned, n_features, before, n_jobs
        As in `contributions`.
    out_of_bag : bool
        Whether to use the out-of-bag rows.

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        Responses are relative to their mean over the tree's in-bag rows, which does not change sums over these rows.
    """
    n_outputs = learned.Y.shape[1]

    def unit(first: int, last: int) -> tuple[np.ndarray, int]:
        total, n_trees = np.zeros((n_features, n_outputs)), 0
        for tree in _trees(learned, first, last):
            weights = tree.weights
            if out_of_bag:
                weights = (learned.in_bag(tree.number) == 0) * (1.0 if learned.weights is None else learned.weights)
                if not weights.any():
                    continue
            responses = np.zeros_like(tree.mean)
            np.add.at(responses, tree.leaf, weights[:, None] * (learned.Y - tree.mean[0]))
            leaf = np.unique(tree.leaf[weights > 0])
            out = np.zeros((len(leaf), n_outputs * n_features))
            _add(learned, tree, tree.mean, before, leaf, out)
            parts = out.reshape(len(leaf), n_outputs, n_features)
            total += np.einsum("lck,lc->kc", parts, responses[leaf]) / weights.sum()
            n_trees += 1
        return total, n_trees

    parts = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(unit)(*part) for part in _units(learned))
    n_trees = sum(n for _, n in parts)
    if not n_trees:
        raise ValueError("Every tree drew all rows; importances out of the bag need rows that some tree did not draw.")
    return sum(total for total, _ in parts) / n_trees
