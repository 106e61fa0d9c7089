"""Contributions in one forest: tree by tree from the training rows, or from leaf tables that were made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.tree_subsets import trees_beside
from cascadeforest.forest.trees import ROWS_PER_THREAD, Trees, in_threads
from cascadeforest.forest.walks import NONE_SHARED, LearnedForest, SharedColumns
from cascadeforest.kernels.contributions import (
    add_calibrated,
    add_from_tables,
    add_paths,
    node_means,
    relatives,
    sort_by_leaf,
)

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
        return cls(contributions, n_given, rule, all_rows, equal_shares(contributions, n_features))


def equal_shares(contributions: np.ndarray, n_features: int) -> np.ndarray:
    """Equal shares of the features that have contributions anywhere; of all features if none has.

    Parameters
    ----------
    contributions : ndarray of shape (n_forests, n_rows, n_outputs * n_features)
        Contributions.
    n_features : int
        Number of original features.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares with sum 1.
    """
    used = np.zeros(contributions.shape[2], bool)
    for forest in contributions:
        used |= forest.any(axis=0)
    by_feature = used.reshape(-1, n_features).any(axis=0) if used.any() else np.ones(n_features, bool)
    return by_feature / by_feature.sum()


@dataclass(frozen=True)
class SeenColumns:
    """Columns that a forest sees, by what is behind them.

    Parameters
    ----------
    n_features : int
        Number of original features, which are the first columns.
    shared : SharedColumns
        Columns after the features that belong to several features each.
    before : Preceding or None
        Contributions to the columns that earlier layers added; None if there are no such columns.
    """

    n_features: int
    shared: SharedColumns
    before: Preceding | None

    @property
    def n_given(self) -> int:
        """Number of columns before the added ones."""
        return self.n_features + len(self.shared.names) if self.before is None else self.before.n_given


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
    learned: LearnedForest, tree: _Tree, value: np.ndarray, seen: SeenColumns, leaf: np.ndarray, out: np.ndarray
) -> None:
    """Add the contributions of one tree to the rows whose leaves are given (negative: left out)."""
    shared, before = seen.shared, seen.before
    add_paths(tree.feature, tree.parent, seen.n_given, value, leaf, shared.offsets, shared.features, out)
    if before is not None and (tree.feature >= before.n_given).any():
        _add_calibrated(learned, tree, value, before, leaf, out)


def _add_calibrated(
    learned: LearnedForest, tree: _Tree, value: np.ndarray, before: Preceding, leaf: np.ndarray, out: np.ndarray
) -> None:
    """Add what splits on added columns contribute."""
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


def _units(n_trees: int) -> list[tuple[int, int]]:
    """First and last tree of each unit of work."""
    return [(k, min(k + _UNIT, n_trees)) for k in range(0, n_trees, _UNIT)]


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
    seen: SeenColumns,
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
    seen : SeenColumns
        Columns that it sees.
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
        out, bias = np.zeros((len(rows), n_outputs * seen.n_features)), np.zeros((len(rows), n_outputs))
        votes = np.zeros(len(rows))
        leaves = trees_beside(learned.trees, first, last).apply(binned, rows)
        for tree in _trees(learned, first, last):
            leaf = np.ascontiguousarray(leaves[:, tree.number - first])
            asked = np.ones(len(rows), bool)
            if out_of_bag:
                asked[learned.places] = learned.in_bag(tree.number) == 0
                leaf = np.where(asked, leaf, np.int32(-1))
            _add(learned, tree, tree.value, seen, leaf, out)
            bias[asked] += tree.value[0]
            votes += asked
        return out, bias, votes

    done = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
        delayed(unit)(*part) for part in _units(learned.trees.n_trees)
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


@dataclass(frozen=True)
class LeafTables:
    """Leaf tables of a forest (Algorithm 1): all that contributions of new rows need of the training rows.

    Leaves below the same split on an added column share what such splits contribute: one line of `lines`. The path
    below adds the splits on original features.

    Parameters
    ----------
    offsets : ndarray of shape (n_trees + 1,), int64
        The nodes of tree t are those from ``offsets[t]`` up to ``offsets[t + 1]``.
    feature : ndarray of shape (n_nodes,), int32
        Features of the splits; negative in leaves.
    parent : ndarray of shape (n_nodes,), int32
        Parents, counted from the root of their tree.
    value : ndarray of shape (n_nodes, n_outputs)
        Mean responses of the nodes.
    n_features, n_given : int
        Number of original features, and number of columns before the added ones.
    number : ndarray of shape (n_nodes,), int32
        Line of each leaf; -1 if no split on an added column is above it.
    lines : ndarray of shape (n_lines, n_outputs * n_features)
        Contributions by splits on added columns.
    shared : SharedColumns
        Columns after the features that belong to several features each.
    """

    offsets: np.ndarray
    feature: np.ndarray
    parent: np.ndarray
    value: np.ndarray
    n_features: int
    n_given: int
    number: np.ndarray
    lines: np.ndarray
    shared: SharedColumns = NONE_SHARED  # also in files of versions that had none

    @property
    def n_bytes(self) -> int:
        """Size of the arrays that the model does not have."""
        return sum(part.nbytes for part in (self.feature, self.parent, self.value, self.number, self.lines))

    def check(self, trees: Trees) -> None:
        """Check that the tables are of these trees and stay within their arrays: kernels follow them without looking.

        Raises
        ------
        ValueError
            If they do not, as in a file that was tampered with.
        """
        n_nodes, n_outputs = len(trees.nodes), self.value.shape[-1]
        node = np.arange(n_nodes) - np.repeat(trees.offsets[:-1], np.diff(trees.offsets))
        shared = self.shared
        fits = (
            np.array_equal(self.offsets, trees.offsets)
            and self.feature.shape == self.parent.shape == self.number.shape == (n_nodes,)
            and self.value.shape == (n_nodes, n_outputs)
            and self.lines.shape[1:] == (n_outputs * self.n_features,)
            and 0 <= self.n_given <= self.n_features + len(shared.names)
            and len(shared.offsets) == len(shared.names) + 1
            and shared.offsets[0] == 0
            and shared.offsets[-1] == len(shared.features)
            and (np.diff(shared.offsets) > 0).all()
            and ((shared.features >= 0) & (shared.features < self.n_features)).all()
            and (self.number < len(self.lines)).all()
            and (self.parent[node > 0] >= 0).all()
            and (self.parent < np.maximum(node, 1)).all()
            and (self.feature[(np.arange(n_nodes) - node + self.parent)[node > 0]] >= 0).all()
        )
        if not fits:
            raise ValueError("its leaf tables are not those of its trees")

    def contributions(self, leaves: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Mean over trees of the contributions (Eqs. 5 and 28), as `contributions` computes them, bit by bit.

        Parameters
        ----------
        leaves : ndarray of shape (n, n_trees), int32
            Leaf of each row in each tree.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        ndarray of shape (n, n_outputs * n_features)
        """
        n_trees = len(self.offsets) - 1
        total = np.zeros((len(leaves), self.value.shape[1] * self.n_features))

        def add(first: int, last: int) -> None:
            for trees in _units(n_trees):
                part = np.zeros((last - first, total.shape[1]))
                add_from_tables(
                    *(self.offsets, *trees, self.feature, self.parent, self.n_given, self.value),
                    *(self.number, self.lines, leaves[first:last], self.shared.offsets, self.shared.features, part),
                )
                total[first:last] += part

        in_threads(add, len(leaves), ROWS_PER_THREAD, n_jobs)
        total /= n_trees
        return total


@dataclass(frozen=True)
class TableLayout:
    """Which leaves of a forest share a line of its `LeafTables`; known before any training row is looked at.

    Parameters
    ----------
    trees : Trees
        The forest.
    feature, parent, number
        As in `LeafTables`.
    leaf : ndarray of shape (n_lines,), int32
        A leaf of each line, counted from the root of its tree.
    first : ndarray of shape (n_trees + 1,), int64
        The lines of tree t are those from ``first[t]`` up to ``first[t + 1]``.
    """

    trees: Trees
    feature: np.ndarray
    parent: np.ndarray
    number: np.ndarray
    leaf: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, trees: Trees, n_given: int) -> TableLayout:
        """Find the lines: one for each child of a split on an added column that has leaves without another between."""
        view, offsets = trees.all_nodes(), trees.offsets
        root = np.repeat(offsets[:-1], np.diff(offsets))
        above = root.copy()  # numbers among the nodes of all trees; a root is above itself
        split = np.flatnonzero(view.feature >= 0)
        for child in (view.children_left, view.children_right):
            above[root[split] + child[split]] = split
        itself = np.arange(len(above))
        by_added = (above != itself) & (view.feature[above] >= n_given)
        nearest = np.where(by_added, itself, above)  # followed up to a child of a split on an added column, or the root
        while (nearest != (further := nearest[nearest])).any():
            nearest = further
        leaves = np.flatnonzero((view.feature < 0) & by_added[nearest])
        shared, one, line = np.unique(nearest[leaves], return_index=True, return_inverse=True)
        number = np.full(len(above), -1, np.int32)
        number[leaves] = line
        leaf = (leaves[one] - root[leaves[one]]).astype(np.int32)
        parent = np.where(above == itself, -1, above - root).astype(np.int32)
        return cls(trees, view.feature, parent, number, leaf, np.searchsorted(shared, offsets))

    def n_bytes(self, n_outputs: int, n_features: int) -> int:
        """Size of the tables."""
        return len(self.feature) * (12 + 8 * n_outputs) + len(self.leaf) * n_outputs * n_features * 8

    def fill(self, learned: LearnedForest, seen: SeenColumns, n_jobs: int | None = None) -> LeafTables:
        """Make the tables from the training rows.

        Parameters
        ----------
        learned, seen, n_jobs
            As in `contributions`.

        Returns
        -------
        LeafTables
        """
        n_outputs, offsets = learned.Y.shape[1], self.trees.offsets
        n_features, before = seen.n_features, seen.before
        value, lines = np.empty((len(self.feature), n_outputs)), np.zeros((len(self.leaf), n_outputs * n_features))

        def unit(first: int, last: int) -> None:
            for tree in _trees(learned, first, last):
                t = tree.number
                value[offsets[t] : offsets[t + 1]] = tree.value
                own = slice(self.first[t], self.first[t + 1])
                if before is not None and len(self.leaf[own]):
                    _add_calibrated(learned, tree, tree.value, before, self.leaf[own], lines[own])

        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(unit)(*part) for part in _units(self.trees.n_trees))
        own_nodes = (offsets, self.feature, self.parent, value)
        return LeafTables(*own_nodes, n_features, seen.n_given, self.number, lines, seen.shared)


def impurity_decreases(
    learned: LearnedForest,
    seen: SeenColumns,
    *,
    out_of_bag: bool = False,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mean over trees of Eq. 10, on each tree's in-bag rows with their counts or on its out-of-bag rows.

    On in-bag rows this is the decrease of impurity (Eq. 6); splits on added columns are traced back to the original
    features. On out-of-bag rows it is MDI-oob of Li et al. (2019).

    Parameters
    ----------
    learned, seen, n_jobs
        As in `contributions`.
    out_of_bag : bool
        Whether to use the out-of-bag rows.

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        Responses are relative to their mean over the tree's in-bag rows, which does not change sums over these rows.
    """
    n_outputs, n_features = learned.Y.shape[1], seen.n_features

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
            _add(learned, tree, tree.mean, seen, leaf, out)
            parts = out.reshape(len(leaf), n_outputs, n_features)
            total += np.einsum("lck,lc->kc", parts, responses[leaf]) / weights.sum()
            n_trees += 1
        return total, n_trees

    parts = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(unit)(*part) for part in _units(learned.trees.n_trees))
    n_trees = sum(n for _, n in parts)
    if not n_trees:
        raise ValueError("Every tree drew all rows; importances out of the bag need rows that some tree did not draw.")
    return sum(total for total, _ in parts) / n_trees
