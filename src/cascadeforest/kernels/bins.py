"""Features as bins of one byte (bins.c); what the bins are, `forest.binning` says."""

import ctypes

import numpy as np

from cascadeforest.kernels import array, function, out

_TYPES = {np.dtype(dtype): dtype for dtype in (np.float32, np.float64)}
_size, _doubles = ctypes.c_int64, array(np.float64)
_spread = function("spread", _doubles, _size, _size, _size, out(np.int64), _size)
_find_edges = {
    dtype: function(
        f"find_edges_{dtype}",
        *(out(kind), _size, _doubles, _size, out(np.float64), out(np.float64), out(np.float64)),
        result=ctypes.c_int64,
    )
    for dtype, kind in _TYPES.items()
}
_assign_bins = {
    dtype: function(
        f"assign_bins_{dtype}",
        *(array(kind), _size, _size, array(kind), array(np.int64), out(np.uint8), _size, _size),
    )
    for dtype, kind in _TYPES.items()
}


def spread(sums: np.ndarray, start: int, end: int, n_bins: int, last: np.ndarray, n_before: int) -> None:
    """Divide the values of start to end into bins of nearly equal weight, none empty.

    Parameters
    ----------
    sums : float64 array of shape (at least end,)
        Weights of the values.
    start, end, n_bins : int
        Which values, and into how many bins: at most as many as values.
    last : int64 array of shape (at least n_before + n_bins,)
        The position of each bin's last value is written to it, from `n_before` on.
    n_before : int
    """
    _spread(sums, start, end, n_bins, last, n_before)


def find_edges(
    column: np.ndarray, weights: np.ndarray, sums: np.ndarray, edges: np.ndarray, centers: np.ndarray
) -> int:
    """Find the bins of one feature.

    Parameters
    ----------
    column : float32 or float64 array of shape (n,)
        Sorted, NaN last. Overwritten.
    weights : float64 array of shape (n,) or (0,)
        Positive; empty if all are equal.
    sums : float64 array of shape (at least n,)
        Working memory.
    edges, centers : float64 arrays of shape (MAX_BINS,)
        Written as far as there are bins.

    Returns
    -------
    n_bins : int
        0 if all values are missing. There is one edge less than there are bins.
    """
    return _find_edges[column.dtype](column, column.size, weights, weights.size, sums, edges, centers)


def assign_bins(block: np.ndarray, edges: np.ndarray, offsets: np.ndarray, out: np.ndarray, first_row: int) -> None:
    """Write the bins of a block of features to `out`.

    Parameters
    ----------
    block : float32 or float64 array of shape (k, n)
        Values of k features.
    edges : array of the same type
        Edges of these and other features, each feature's ascending.
    offsets : int64 array of shape (k + 1,)
        Where the edges of each of the k features begin and, one further, end.
    out : uint8 array of shape (k, at least first_row + n)
        Written from column `first_row` on.
    first_row : int
    """
    _assign_bins[block.dtype](block, *block.shape, edges, offsets, out, out.shape[1], first_row)
