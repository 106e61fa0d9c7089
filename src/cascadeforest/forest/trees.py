"""All trees of a forest as flat arrays: predictions, leaves, paths, statistics of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import csr_matrix

from cascadeforest.kernels import walk
from cascadeforest.kernels.grow import LEAF, MISSING, OF_SET, SET_WORDS

if TYPE_CHECKING:
    from cascadeforest.forest.binning import BinMapper, BinnedMatrix

#: Weights of rows by tree: none, the same for all trees, a table (tree, row), or computed when a tree needs them.
Weights = np.ndarray | Callable[[int], np.ndarray] | None
#: Minimum number of rows for another thread.
ROWS_PER_THREAD = 256
#: Trees whose computed weights are in memory at the same time.
_TREES_AT_ONCE = 16
#: Nodes that are checked at one time: they stay in the caches.
_NODES_AT_ONCE = 1 << 15
_8, _9, _32 = np.uint64(8), np.uint64(9), np.uint64(32)


class TreeView(NamedTuple):
    """Nodes as readable arrays, named and filled as in scikit-learn's ``tree_``; node 0 is the root."""

    children_left: np.ndarray  # int32; -1 in leaves
    children_right: np.ndarray  # int32; -1 in leaves
    feature: np.ndarray  # int32; -2 in leaves
    cut: np.ndarray  # int32: rows of this bin or a lower one go left; -1 where a set of bins does; -2 in leaves
    missing_go_to_left: np.ndarray  # bool; False in leaves
    value_row: np.ndarray  # int64: row of `Trees.values`; -1 in splits
    set_row: np.ndarray  # int64: row of `Trees.sets`, whose bins go left; -1 elsewhere
    threshold: np.ndarray | None = None  # float64: left if x <= threshold; NaN for sets, -2 in leaves. Needs a mapper

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether a node is a leaf."""
        return self.children_left == -1


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of a forest, which have the same features and outputs.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), uint64
        Node words (see kernels/nodes.h), tree after tree; children are counted from the root of their tree.
    offsets : ndarray of shape (n_trees + 1,), int64
        The nodes of tree i are ``nodes[offsets[i]:offsets[i + 1]]``.
    values : ndarray of shape (n_values, n_outputs), float32
        Value rows of the leaves of all trees. For classification they begin with the unit matrix: all leaves of one
        class share a row.
    n_classes : int
        Number of classes; 0 for regression.
    sets : ndarray of shape (n_sets, 5), uint64, optional
        Categorical splits, tree after tree: the feature, and a bit for each bin that goes left, `MISSING` included.
    set_offsets : ndarray of shape (n_trees + 1,), int64, optional
        The sets of tree i are ``sets[set_offsets[i]:set_offsets[i + 1]]``. None without categorical splits.
    """

    nodes: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    n_classes: int
    sets: np.ndarray = field(default_factory=lambda: np.empty((0, SET_WORDS), np.uint64))
    set_offsets: np.ndarray | None = None

    @classmethod
    def join(
        cls, trees: Iterable[tuple[np.ndarray, np.ndarray]], n_classes: int, sets: Sequence[np.ndarray] = ()
    ) -> Trees:
        """Make a forest from trees that `grow_tree` returned.

        Parameters
        ----------
        trees : iterable of (nodes, values)
            Node words and value rows of each tree; its leaves count the value rows from `n_classes`.
        n_classes : int
            Number of classes; 0 for regression.
        sets : sequence of ndarray, optional
            Sets of the categorical splits of each tree.

        Returns
        -------
        Trees

        Raises
        ------
        ValueError
            If there is no tree, or there are 2**32 value rows or more.
        """
        trees = list(trees)
        if not trees:
            raise ValueError("trees is empty; a forest has at least one tree.")
        offsets = np.cumsum([0, *(len(nodes) for nodes, _ in trees)], dtype=np.int64)
        shifts = np.cumsum([0, *(len(values) for _, values in trees)], dtype=np.int64)
        if n_classes + shifts[-1] >= 2**32:
            raise ValueError(
                f"The trees have {shifts[-1]} value rows, but fewer than 2**32 can be numbered; grow less."
            )
        nodes = np.concatenate([nodes for nodes, _ in trees])
        for (begin, end), shift in zip(pairwise(offsets), shifts, strict=False):
            walk.number_value_rows(nodes[begin:end], n_classes, shift)
        pure = np.eye(n_classes, trees[0][1].shape[1], dtype=np.float32)
        values = np.concatenate([pure, *(values for _, values in trees)])
        if not any(map(len, sets)):
            return cls(nodes, offsets, values, n_classes)
        set_offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        return cls(nodes, offsets, values, n_classes, np.concatenate(sets), set_offsets)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.offsets) - 1

    @property
    def n_outputs(self) -> int:
        """Number of values in a leaf: a share for each class, or the targets."""
        return self.values.shape[1]

    def predict(
        self,
        binned: BinnedMatrix,
        rows: np.ndarray | None = None,
        *,
        trees: Sequence[int] | np.ndarray | slice | None = None,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Mean over trees of the value of the leaf that a row reaches.

        Parameters
        ----------
        binned : BinnedMatrix
            Rows, binned as at growth.
        rows : ndarray of shape (n,), int, optional
            Rows of the matrix; all by default. Ascending rows are read fastest.
        trees : index, optional
            Trees that take part: numbers, a slice or a mask; all by default.
        n_jobs : int, optional
            Threads; as in joblib. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, n_outputs), float64
            Shares of the classes, or the target.

        Raises
        ------
        ValueError
            If `trees` selects none, or as `predict_sum`.
        """
        chosen = self._chosen(trees)
        if not len(chosen):
            raise ValueError("trees selects no tree; a mean needs at least one.")
        total = self.predict_sum(binned, rows, trees=chosen, n_jobs=n_jobs)
        total /= len(chosen)
        return total

    def predict_sum(
        self,
        binned: BinnedMatrix,
        rows: np.ndarray | None = None,
        *,
        trees: Sequence[int] | np.ndarray | slice | None = None,
        weights: Weights = None,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Sum over trees of the value of the leaf that a row reaches, weighted by tree and row.

        Parameters
        ----------
        binned, rows, trees, n_jobs
            As in `predict`.
        weights : ndarray of shape (n,) or (n_chosen_trees, n), or callable, optional
            Factors, 1 by default. The callable takes the number of a tree and returns an array of shape (n,). Rows
            are not walked where it is 0: ``weights=lambda tree: in_bag_counts(tree) == 0`` sums out-of-bag values.

        Returns
        -------
        ndarray of shape (n, n_outputs), float64

        Raises
        ------
        ValueError
            If the matrix lacks features of the trees, or an argument has the wrong shape.
        IndexError
            If the matrix has no such row, or the forest no such tree.
        """
        bins, stride = self._bins(binned)
        rows = _row_numbers(rows, binned)
        chosen = self._chosen(trees)
        out = np.zeros((len(rows), self.n_outputs))
        step = _TREES_AT_ONCE if callable(weights) else max(1, len(chosen))
        for k in range(0, len(chosen), step):  # one after the other: a row's values are added in the order of the trees
            some = chosen[k : k + step]
            table = _weight_table(weights, some, len(rows))
            add = partial(walk.add_values, *self._arrays, self.values, some, bins, stride, rows, table, out)
            in_threads(add, len(rows), ROWS_PER_THREAD, n_jobs)
        return out

    def apply(self, binned: BinnedMatrix, rows: np.ndarray | None = None, *, n_jobs: int | None = None) -> np.ndarray:
        """The leaf that each row reaches in each tree.

        Parameters
        ----------
        binned, rows, n_jobs
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, n_trees), int32
            Numbers of nodes within their trees.
        """
        bins, stride = self._bins(binned)
        rows = _row_numbers(rows, binned)
        leaves = np.empty((len(rows), self.n_trees), np.int32)
        find = partial(walk.find_leaves, *self._arrays, bins, stride, rows, leaves)
        in_threads(find, len(rows), ROWS_PER_THREAD, n_jobs)
        return leaves

    def decision_path(
        self, binned: BinnedMatrix, rows: np.ndarray | None = None, *, n_jobs: int | None = None
    ) -> tuple[csr_matrix, np.ndarray]:
        """The nodes that each row passes, from the root to the leaf of each tree.

        Parameters
        ----------
        binned, rows, n_jobs
            As in `predict`.

        Returns
        -------
        indicator : csr_matrix of shape (n, n_nodes), int64
            1 where the row passes the node. Indices are sorted.
        n_nodes_ptr : ndarray of shape (n_trees + 1,), int64
            Tree i has the columns from ``n_nodes_ptr[i]`` up to ``n_nodes_ptr[i + 1]``.
        """
        bins, stride = self._bins(binned)
        rows = _row_numbers(rows, binned)
        starts = np.zeros(len(rows) + 1, np.int64)
        measure = partial(walk.path_lengths, *self._arrays, bins, stride, rows, starts[1:])
        in_threads(measure, len(rows), ROWS_PER_THREAD, n_jobs)
        np.cumsum(starts, out=starts)
        # scipy wants one type for both, and copies 64-bit ones that would fit into 32 bits.
        index_type = np.int32 if max(starts[-1], len(self.nodes)) <= np.iinfo(np.int32).max else np.int64
        passed = np.empty(starts[-1], index_type)
        write = partial(walk.write_paths, *self._arrays, bins, stride, rows, starts[:-1].copy(), passed)
        in_threads(write, len(rows), ROWS_PER_THREAD, n_jobs)
        ones = np.ones(len(passed), np.int64)
        indicator = csr_matrix((ones, passed, starts.astype(index_type)), shape=(len(rows), len(self.nodes)))
        indicator.has_sorted_indices = True
        return indicator, self.offsets.copy()

    def node_statistics(
        self,
        binned: BinnedMatrix,
        targets: np.ndarray,
        rows: np.ndarray | None = None,
        weights: Weights = None,
        *,
        n_jobs: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weight of the rows that pass each node, and their weighted sum of each target.

        Sums of rows are taken in the leaves, in the order of the rows; a split is exactly the sum of its children.

        Parameters
        ----------
        binned, rows, n_jobs
            As in `predict`.
        targets : ndarray of shape (n, n_targets)
            Numbers to sum, such as indicators of the classes or regression targets, one line for each of `rows`.
        weights : ndarray of shape (n,) or (n_trees, n), or callable, optional
            Weights of the rows, 1 by default. The callable takes the number of a tree and returns an array of shape
            (n,), as ``GrownForest.in_bag_counts`` does; it is called in threads.

        Returns
        -------
        weight : ndarray of shape (n_nodes,), float64
            Weights of the nodes of all trees, in the order of `nodes`.
        sums : ndarray of shape (n_nodes, n_targets), float64

        Raises
        ------
        ValueError, IndexError
            As `predict_sum`.
        """
        weight, sums = self.leaf_statistics(binned, targets, rows, weights, n_jobs=n_jobs)
        for begin, end in pairwise(self.offsets):
            walk.add_up(self.nodes[begin:end], weight[begin:end], sums[begin:end])
        return weight, sums

    def leaf_statistics(
        self,
        binned: BinnedMatrix,
        targets: np.ndarray,
        rows: np.ndarray | None = None,
        weights: Weights = None,
        *,
        n_jobs: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """`node_statistics` of the leaves; 0 in splits.

        Parameters
        ----------
        binned, targets, rows, weights, n_jobs
            As in `node_statistics`.

        Returns
        -------
        weight : ndarray of shape (n_nodes,), float64
        sums : ndarray of shape (n_nodes, n_targets), float64
        """
        bins, stride = self._bins(binned)
        rows = _row_numbers(rows, binned)
        targets = np.ascontiguousarray(targets, np.float64)
        if targets.ndim != 2 or len(targets) != len(rows):
            raise ValueError(f"targets has shape {targets.shape}; give one line for each of the {len(rows)} rows.")
        weight, sums = np.zeros(len(self.nodes)), np.zeros((len(self.nodes), targets.shape[1]))
        fixed = None if callable(weights) else _weight_table(weights, range(self.n_trees), len(rows))

        def add_part(first: int, last: int) -> None:
            for t in range(first, last):
                table = _weight_table(weights, [t], len(rows)) if fixed is None else fixed[min(t, len(fixed) - 1) :]
                own = slice(self.offsets[t], self.offsets[t + 1])
                tree, sets = self.nodes[own], self.sets[slice(*self._arrays[3][t : t + 2])]
                walk.add_leaf_statistics(tree, sets, bins, stride, rows, table[0], targets, weight[own], sums[own])

        in_threads(add_part, self.n_trees, 1, n_jobs)
        return weight, sums

    def tree(self, i: int, mapper: BinMapper | None = None) -> TreeView:
        """Nodes of one tree, readable.

        Parameters
        ----------
        i : int
            Number of the tree.
        mapper : BinMapper, optional
            Adds thresholds in the units of the data.

        Returns
        -------
        TreeView
        """
        i = range(self.n_trees)[i]
        begin, end = self.offsets[i : i + 2]
        return self._decode(self.nodes[begin:end], np.arange(end - begin), self._arrays[3][i], mapper)

    def all_nodes(self, mapper: BinMapper | None = None) -> TreeView:
        """Nodes of all trees, readable, one tree after the other; children are counted from the root of their tree.

        Parameters
        ----------
        mapper : BinMapper, optional
            Adds thresholds in the units of the data.

        Returns
        -------
        TreeView
        """
        number = np.arange(len(self.nodes)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return self._decode(self.nodes, number, np.repeat(self._arrays[3][:-1], np.diff(self.offsets)), mapper)

    def sends_left(self, view: TreeView, nodes: np.ndarray, bins: np.ndarray) -> np.ndarray:
        """Whether rows go left.

        Parameters
        ----------
        view : TreeView
            Nodes of these trees.
        nodes : ndarray of shape (n,), int
            Node of each row, a split.
        bins : ndarray of shape (n,), uint8
            Bin of each row in the column that its node splits.

        Returns
        -------
        ndarray of shape (n,), bool
        """
        left = np.where(bins == MISSING, view.missing_go_to_left[nodes], bins <= view.cut[nodes])
        of_set = np.flatnonzero(view.set_row[nodes] >= 0)
        word = self.sets[view.set_row[nodes[of_set]], 1 + (bins[of_set] >> 6)]
        left[of_set] = (word >> (bins[of_set] & 63).astype(np.uint64)) & np.uint64(1)
        return left

    def _decode(
        self, nodes: np.ndarray, number: np.ndarray, first_set: np.ndarray, mapper: BinMapper | None
    ) -> TreeView:
        """Node words as arrays; `number` counts the nodes of each tree, whose sets begin at `first_set`."""
        feature = ((nodes >> _9) & np.uint64(LEAF)).astype(np.int32)
        cut = (nodes & np.uint64(0xFF)).astype(np.int32)
        split = feature != LEAF
        of_set = split & (cut == OF_SET)
        set_row = np.where(of_set, feature + first_set, -1)
        feature[of_set], cut[of_set] = self.sets[set_row[of_set], 0], -1
        target = (nodes >> _32).astype(np.int64)
        threshold = None
        if mapper is not None:
            threshold = np.where(split, np.nan, -2.0)
            by_cut = split & ~of_set
            threshold[by_cut] = mapper.threshold(feature[by_cut], cut[by_cut])
        return TreeView(
            children_left=np.where(split, number + 1, -1).astype(np.int32),
            children_right=np.where(split, target, -1).astype(np.int32),
            feature=np.where(split, feature, -2).astype(np.int32),
            cut=np.where(split, cut, -2).astype(np.int32),
            missing_go_to_left=split & ((nodes >> _8) & np.uint64(1)).astype(bool),
            value_row=np.where(split, -1, target),
            set_row=set_row,
            threshold=threshold,
        )

    def check(self) -> None:
        """Check that nodes point into their tree, its sets and the value rows: kernels follow them without looking.

        Raises
        ------
        ValueError
            If they do not, as in a file that was tampered with.
        """
        offsets, set_offsets, n_nodes = self.offsets, self._arrays[3], len(self.nodes)
        n_sets = np.diff(set_offsets).astype(np.uint64)
        if offsets[0] != 0 or offsets[-1] != n_nodes or (np.diff(offsets) < 1).any():
            raise ValueError("the offsets of its trees do not divide their nodes")
        if set_offsets.shape != offsets.shape or set_offsets[0] != 0 or set_offsets[-1] != len(self.sets):
            raise ValueError("the offsets of its trees do not divide their sets")
        if (set_offsets[1:] < set_offsets[:-1]).any() or self.sets.shape[1:] != (SET_WORDS,):
            raise ValueError("the sets of its trees have another shape")
        if self.values.ndim != 2 or self.values.shape[1] < 1 or self.n_classes not in (0, self.values.shape[1]):
            raise ValueError("the leaves of its trees have values of another shape")
        for first in range(0, n_nodes, _NODES_AT_ONCE):
            nodes = self.nodes[first : first + _NODES_AT_ONCE]
            last = first + len(nodes)
            begin, end = int(np.searchsorted(offsets, first, "right")) - 1, int(np.searchsorted(offsets, last, "left"))
            bounds = offsets[begin : end + 1]  # of the trees that have some of these nodes
            n_of_tree = np.diff(np.clip(bounds, first, last))
            target, feature = (nodes >> _32).astype(np.int64), (nodes >> _9) & np.uint64(LEAF)
            child, end_of_tree = target + np.repeat(bounds[:-1], n_of_tree), np.repeat(bounds[1:], n_of_tree)
            is_split = feature != LEAF
            is_ahead = (child > np.arange(first, last) + 1) & (child < end_of_tree)  # the left child is the next node
            if not np.where(is_split, is_ahead, target < len(self.values)).all():
                raise ValueError("a node of its trees points outside of its tree")
            of_set = is_split & (nodes & np.uint64(0xFF) == OF_SET)
            if (of_set & (feature >= np.repeat(n_sets[begin:end], n_of_tree))).any():
                raise ValueError("a node of its trees points outside of its sets")

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays that every walk reads."""
        set_offsets = np.zeros_like(self.offsets) if self.set_offsets is None else self.set_offsets
        return self.nodes, self.offsets, self.sets, set_offsets

    def __getstate__(self) -> dict[str, Any]:
        """The fields only, without cached values, so that a prediction does not change the pickle."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def _n_features_needed(self) -> int:
        """One more than the highest feature of a split; computed once, not for every prediction."""
        of_sets = int(self.sets[:, 0].max()) + 1 if len(self.sets) else 0
        return max(walk.n_features_needed(self.nodes), of_sets)

    def _bins(self, binned: BinnedMatrix) -> tuple[np.ndarray, int]:
        """The matrix as kernels take it, one column after the other, and how far apart columns begin."""
        bins, distance = binned.flat()
        n_features = binned.columns.shape[0]
        if n_features < self._n_features_needed:
            raise ValueError(
                f"binned has {n_features} features, but the trees split feature {self._n_features_needed - 1}; "
                "give the matrix the features that they were grown on."
            )
        return bins, distance

    def _chosen(self, trees: Sequence[int] | np.ndarray | slice | None) -> np.ndarray:
        everyone = np.arange(self.n_trees)
        return everyone if trees is None else np.ascontiguousarray(np.atleast_1d(everyone[trees]))


def _row_numbers(rows: np.ndarray | None, binned: BinnedMatrix) -> np.ndarray:
    """Checked row numbers, as an array for kernels, which do not check them."""
    n_rows = binned.columns.shape[1]
    if rows is None:
        return np.arange(n_rows, dtype=np.int32)
    rows = np.asarray(rows)
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
        raise ValueError(f"rows has shape {rows.shape} and type {rows.dtype}; give row numbers in one dimension.")
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise IndexError(f"rows runs from {rows.min()} to {rows.max()}; the matrix has rows 0 to {n_rows - 1}.")
    return np.ascontiguousarray(rows, np.int32)


def _weight_table(weights: Weights, trees: Iterable[int], n_rows: int) -> np.ndarray:
    """Weights of `trees`: one line per tree, or one line for all trees."""
    if weights is None:
        return np.ones((1, n_rows))
    lines = [weights(int(tree)) for tree in trees] if callable(weights) else weights
    table = np.ascontiguousarray(np.atleast_2d(lines), np.float64)
    n_trees = len(list(trees))
    if table.shape not in {(1, n_rows), (n_trees, n_rows)}:
        raise ValueError(
            f"weights has shape {np.shape(lines)}; give one for each of {n_rows} rows, or a line of them for each of "
            f"{n_trees} trees."
        )
    return table


def in_threads(work: Callable[[int, int], None], n: int, least: int, n_jobs: int | None) -> None:
    """Split ``range(n)`` into parts of at least `least` and work on them in threads."""
    n_parts = min(effective_n_jobs(n_jobs), max(1, n // least))
    if n_parts == 1:  # without the millisecond that threads need
        work(0, n)
        return
    bounds = np.linspace(0, n, n_parts + 1).astype(np.int64)
    Parallel(n_jobs=n_parts, require="sharedmem")(delayed(work)(*part) for part in pairwise(bounds))
