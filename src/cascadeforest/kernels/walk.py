"""Walking binned rows down grown trees (walk.c).

All functions take a binned matrix as `bins`, uint8 of shape (n_features * stride,), column after column, the length of
a column, `stride`, and `rows`, int32 of shape (n_rows,): rows of the matrix. Those with `first` and `last` do that part
of `rows`. `nodes`, `offsets`, `sets` and `set_offsets` are a forest's (see `forest.trees.Trees`), `tree` the part of
`nodes` that is one tree.
"""

import ctypes

import numpy as np

from cascadeforest.kernels import array, function, out

_size = ctypes.c_int64
_matrix = (array(np.uint8), ctypes.c_uint64, array(np.int32))
_forest = (array(np.uint64), array(np.int64), array(np.uint64), array(np.int64))
_add_values = function(
    "add_values",
    *(*_forest, array(np.float32), _size, array(np.int64), _size, *_matrix, array(np.float64), _size),
    *(out(np.float64), _size, _size),
)
_find_leaves = function("find_leaves", *_forest, _size, *_matrix, out(np.int32), _size, _size)
_add_leaf_statistics = function(
    "add_leaf_statistics",
    *(array(np.uint64), array(np.uint64), _size, *_matrix, _size, array(np.float64), array(np.float64), _size),
    *(out(np.float64), out(np.float64)),
)
_add_up = function("add_up", array(np.uint64), _size, out(np.float64), out(np.float64), _size)
_path_lengths = function("path_lengths", *_forest, _size, *_matrix, out(np.int64), _size, _size)
_write_paths = {
    np.dtype(kind): function(
        f"write_paths_{np.dtype(kind)}", *_forest, _size, *_matrix, out(np.int64), out(kind), _size, _size
    )
    for kind in (np.int32, np.int64)
}
_number_value_rows = function("number_value_rows", out(np.uint64), _size, _size, _size)
_n_features_needed = function("n_features_needed", array(np.uint64), _size, result=_size)


def add_values(
    nodes: np.ndarray,
    offsets: np.ndarray,
    sets: np.ndarray,
    set_offsets: np.ndarray,
    values: np.ndarray,
    trees: np.ndarray,
    bins: np.ndarray,
    stride: int,
    rows: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Add the values of the leaves that rows reach, in the order of the trees.

    Parameters
    ----------
    nodes, offsets, sets, set_offsets, values
        The forest.
    trees : int64 array of shape (n,)
        Trees to walk.
    bins, stride, rows, first, last
        See the module.
    weights : float64 array of shape (n, n_rows) or (1, n_rows)
        Factors, by tree or the same for all; a row does not walk where its factor is 0.
    out : float64 array of shape (n_rows, n_outputs)
        Added to.
    """
    n_lines, n_rows = weights.shape
    _add_values(
        *(nodes, offsets, sets, set_offsets, values, values.shape[1], trees, trees.size, bins, stride, rows),
        *(weights, n_rows if n_lines > 1 else 0, out, first, last),
    )


def find_leaves(
    nodes: np.ndarray,
    offsets: np.ndarray,
    sets: np.ndarray,
    set_offsets: np.ndarray,
    bins: np.ndarray,
    stride: int,
    rows: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Write the leaves that rows reach, counted from the root of each tree, to `out` (n_rows, n_trees), int32."""
    _find_leaves(nodes, offsets, sets, set_offsets, offsets.size - 1, bins, stride, rows, out, first, last)


def add_leaf_statistics(
    tree: np.ndarray,
    sets: np.ndarray,
    bins: np.ndarray,
    stride: int,
    rows: np.ndarray,
    weights: np.ndarray,
    targets: np.ndarray,
    weight: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add each row's weight, and weight * targets, to the leaf of one tree that it reaches, in the order of the rows.

    Parameters
    ----------
    tree, bins, stride, rows
        See the module.
    sets : uint64 array of shape (n_sets, SET_WORDS)
        The tree's.
    weights : float64 array of shape (n_rows,)
        Rows of weight 0 do not walk.
    targets : float64 array of shape (n_rows, n_targets)
        What is summed.
    weight : float64 array of shape (n_nodes,)
        Added to.
    sums : float64 array of shape (n_nodes, n_targets)
        Added to.
    """
    _add_leaf_statistics(
        *(tree, sets, len(sets), bins, stride, rows, rows.size),
        *(weights, targets, targets.shape[1], weight, sums),
    )


def add_up(tree: np.ndarray, weight: np.ndarray, sums: np.ndarray) -> None:
    """Make statistics of splits from those of the leaves, in place: a parent is exactly the sum of its children."""
    _add_up(tree, tree.size, weight, sums, sums.shape[1])


def path_lengths(
    nodes: np.ndarray,
    offsets: np.ndarray,
    sets: np.ndarray,
    set_offsets: np.ndarray,
    bins: np.ndarray,
    stride: int,
    rows: np.ndarray,
    lengths: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Add the nodes that each row passes in all trees, from root to leaf, to `lengths` (n_rows,), int64."""
    _path_lengths(nodes, offsets, sets, set_offsets, offsets.size - 1, bins, stride, rows, lengths, first, last)


def write_paths(
    nodes: np.ndarray,
    offsets: np.ndarray,
    sets: np.ndarray,
    set_offsets: np.ndarray,
    bins: np.ndarray,
    stride: int,
    rows: np.ndarray,
    positions: np.ndarray,
    passed: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Write the nodes that row i passes, counted over the forest and ascending, to ``passed[positions[i]:]``.

    `passed` is of int32 or int64; `positions` (n_rows,), int64, is moved to the ends of the paths.
    """
    write = _write_paths[passed.dtype]
    write(nodes, offsets, sets, set_offsets, offsets.size - 1, bins, stride, rows, positions, passed, first, last)


def number_value_rows(tree: np.ndarray, n_classes: int, shift: int) -> None:
    """Number the value rows of a tree's leaves over the forest: all but the first `n_classes` move up by `shift`."""
    _number_value_rows(tree, tree.size, n_classes, shift)


def n_features_needed(nodes: np.ndarray) -> int:
    """Return one more than the highest feature of the splits, without splits of sets; 0 if there are none."""
    return _n_features_needed(nodes, nodes.size)
