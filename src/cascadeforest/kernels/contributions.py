"""Contributions tree by tree (contributions.c): node means, decision paths, Algorithm 1 of the interpretation paper.

Nodes of a tree are numbered from the root, a left child directly behind its parent (see nodes.h), so that the rows of a
subtree stand side by side once rows are sorted by leaf.

Arrays of contributions are flat in outputs and features: entry ``c * n_features + k`` is feature k's for output c, so
that what is summed over features lies side by side.
"""

import ctypes

import numpy as np

from cascadeforest.kernels import array, function, out

#: Eqs. 23, 24, and 25 and 26.
MULTIPLICATIVE, ADDITIVE, PARTIAL = 0, 1, 2
_TYPES = {np.dtype(dtype): dtype for dtype in (np.float32, np.float64)}
_size, _ints, _longs, _doubles = ctypes.c_int64, array(np.int32), array(np.int64), array(np.float64)
_relatives = function(
    "relatives", _ints, _ints, _size, out(np.int32), out(np.int32), out(np.int32), result=ctypes.c_int32
)
_sort_by_leaf = function("sort_by_leaf", _ints, _size, out(np.int32), out(np.int64), _size)
_node_means = function(
    "node_means", _ints, _ints, _size, _ints, _doubles, _size, _doubles, _size, out(np.float64), out(np.float64)
)
_add_paths = function(
    "add_paths", _ints, _ints, _size, _doubles, _size, _ints, _size, _longs, _ints, out(np.float64), _size
)  # fmt: skip
_add_from_tables = function(
    "add_from_tables", _longs, _size, _size, _size, _ints, _ints, _size, _doubles, _size, _ints, _doubles, _ints, _size,
    _longs, _ints, out(np.float64), _size,
)  # fmt: skip
_calibrate = function("calibrate", out(np.float64), _doubles, _size, _doubles, _size, ctypes.c_int32)
_add_calibrated = {
    dtype: function(
        f"add_calibrated_{dtype}",
        *(_ints, _ints, _ints, _ints, _size, _doubles, _size, _size, _ints, _longs, _doubles, _longs),
        *(array(kind), _size, _doubles, _size, ctypes.c_int32, _ints, _longs),
        *(out(np.float64), out(np.float64), out(np.int64), out(np.float64)),
    )
    for dtype, kind in _TYPES.items()
}


def relatives(feature: np.ndarray, right: np.ndarray, parent: np.ndarray, depth: np.ndarray, end: np.ndarray) -> int:
    """Find parents, depths and ends of subtrees (one behind their last node); returns the greatest depth.

    Parameters
    ----------
    feature : int32 array of shape (n_nodes,)
        Feature of a split; negative in leaves.
    right : int32 array of shape (n_nodes,)
        Right children.
    parent, depth, end : int32 arrays of shape (n_nodes,)
        Filled.
    """
    return _relatives(feature, right, feature.size, parent, depth, end)


def sort_by_leaf(leaf: np.ndarray, order: np.ndarray, place: np.ndarray) -> None:
    """Sort rows by their leaves: those of the subtree at `node` are ``order[place[node]:place[end[node]]]``.

    Parameters
    ----------
    leaf : int32 array of shape (n,)
        Leaf of each row; negative for rows that are left out.
    order : int32 array of shape (n,)
        Filled with row numbers, as many as are not left out.
    place : int64 array of shape (n_nodes + 1,)
        Filled.
    """
    _sort_by_leaf(leaf, leaf.size, order, place, place.size - 1)


def node_means(
    feature: np.ndarray, right: np.ndarray, leaf: np.ndarray, weight: np.ndarray, Y: np.ndarray, total: np.ndarray,
    mean: np.ndarray,
) -> None:  # fmt: skip
    """Find the weighted mean response of the rows in each node: mu(t) of Eq. 14.

    Parameters
    ----------
    feature, right
        As in `relatives`.
    leaf : int32 array of shape (n,)
        Leaf of each row.
    weight : float64 array of shape (n,)
        Weight of each row, 0 for rows that the tree did not learn from.
    Y : float64 array of shape (n, n_outputs)
        Responses.
    total : float64 array of shape (n_nodes,)
        Filled with the weight of the rows in each node.
    mean : float64 array of shape (n_nodes, n_outputs)
        Filled; 0 in nodes without weight.
    """
    _node_means(feature, right, feature.size, leaf, weight, leaf.size, Y, Y.shape[1], total, mean)


def add_paths(
    feature: np.ndarray, parent: np.ndarray, n_given: int, value: np.ndarray, leaf: np.ndarray, shared: np.ndarray,
    sharer: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Eqs. 1 to 3: each step of a row's path gives the change of the mean response to the feature that was split.

    What a split on a shared column changes is divided equally among the features of the column.

    Parameters
    ----------
    feature, parent
        As in `relatives`.
    n_given : int
        Columns below are features or shared columns; splits on other columns are left out.
    value : float64 array of shape (n_nodes, n_outputs)
        Mean response of the nodes.
    leaf : int32 array of shape (n,)
        Leaf of each row; negative for rows that are left out.
    shared : int64 array of shape (n_shared + 1,)
        The features of column ``n_features + s`` are ``sharer[shared[s]:shared[s + 1]]``.
    sharer : int32 array
        Features of the shared columns.
    out : float64 array of shape (n, n_outputs * n_features)
        Added to.
    """
    n_outputs = value.shape[1]
    n_features = out.shape[1] // n_outputs
    _add_paths(feature, parent, n_given, value, n_outputs, leaf, leaf.size, shared, sharer, out, n_features)


def add_from_tables(
    offsets: np.ndarray, first: int, last: int, feature: np.ndarray, parent: np.ndarray, n_given: int,
    value: np.ndarray, number: np.ndarray, lines: np.ndarray, leaf: np.ndarray, shared: np.ndarray, sharer: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Add contributions of rows by leaf tables, summed over the trees from `first` up to, but without, `last`.

    Parameters
    ----------
    offsets : int64 array of shape (n_trees + 1,)
        The nodes of tree t are those from ``offsets[t]`` up to ``offsets[t + 1]``.
    first, last : int
        Numbers of trees.
    feature, parent, n_given, value
        As in `add_paths`, for the nodes of all trees; parents are counted from the root of their tree.
    number : int32 array of shape (n_nodes,)
        Line of `lines` of each leaf; negative if no split on an added column is above the leaf.
    lines : float64 array of shape (n_lines, n_outputs * n_features)
        Contributions by splits on added columns.
    leaf : int32 array of shape (n, n_trees)
        Leaf of each row in each tree.
    shared, sharer
        As in `add_paths`.
    out : float64 array of shape (n, n_outputs * n_features)
        Added to.
    """
    n_outputs = value.shape[1]
    _add_from_tables(
        offsets, offsets.size - 1, first, last, feature, parent, n_given, value, n_outputs, number, lines, leaf,
        len(leaf), shared, sharer, out, out.shape[1] // n_outputs,
    )  # fmt: skip


def calibrate(estimated: np.ndarray, change: np.ndarray, equal: np.ndarray, rule: int) -> None:
    """Make estimated changes add up to the true ones (Eq. 20), in place.

    Parameters
    ----------
    estimated : float64 array of shape (n_outputs * n_features,)
        What the features changed, as estimated (Eq. 17).
    change : float64 array of shape (n_outputs,)
        What was changed (Eq. 14).
    equal : float64 array of shape (n_features,)
        Shares, with sum 1, by which a change is spread of which the estimate says nothing.
    rule : int
        `MULTIPLICATIVE`, `ADDITIVE` or `PARTIAL`.
    """
    _calibrate(estimated, change, change.size, equal, equal.size, rule)


def add_calibrated(
    feature: np.ndarray, right: np.ndarray, end: np.ndarray, depth: np.ndarray, value: np.ndarray, n_given: int,
    hat_order: np.ndarray, hat_place: np.ndarray, hat_weight: np.ndarray, hat_rows: np.ndarray,
    contributions: np.ndarray, equal: np.ndarray, rule: int, order: np.ndarray, place: np.ndarray, out: np.ndarray,
    stack: np.ndarray, base: np.ndarray,
) -> None:  # fmt: skip
    """Splits of one tree on added columns in Algorithm 1, from the root down; `add_paths` does the other splits.

    Parameters
    ----------
    feature, right, end, depth
        The tree (see `relatives`).
    value : float64 array of shape (n_nodes, n_outputs)
        Mean response of the nodes.
    n_given : int
        Columns before the added ones; column ``n_given + f * n_outputs + c`` is output c of forest f before.
    hat_order, hat_place : arrays
        Training rows of the tree, sorted by leaf.
    hat_weight : float64 array of shape (n,)
        Weights of the sorted rows.
    hat_rows : int64 array of shape (n,)
        Their places in `contributions`.
    contributions : float32 or float64 array of shape (n_forests, n_rows, n_outputs * n_features)
        Of the forests of the preceding layer, for training rows.
    equal : float64 array of shape (n_features,)
        See `calibrate`.
    rule : int
        See `calibrate`.
    order, place : arrays
        Rows to explain, sorted by leaf. Subtrees that none of them reaches are left out.
    out : float64 array of shape (n, n_outputs * n_features)
        Added to.
    stack : float64 array of shape (2 * (greatest depth + 2), n_outputs * n_features)
        Working memory.
    base : int64 array of shape (n_nodes,)
        Working memory.
    """
    _add_calibrated[contributions.dtype](
        feature, right, end, depth, feature.size, value, value.shape[1], n_given, hat_order, hat_place, hat_weight,
        hat_rows, contributions, contributions.shape[1], equal, equal.size, rule, order, place, out, stack, base,
        np.empty(value.shape[1]),
    )  # fmt: skip
