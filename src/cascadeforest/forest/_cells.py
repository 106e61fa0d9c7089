"""The binned matrix as the kernels read it: columns of two values as bits, and a copy row by row where that pays."""

from __future__ import annotations

import numpy as np

from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.kernels.grow import Cells

#: Bytes of a cache line, and of a matrix that the caches of a core hold anyway.
_CACHE_LINE, _CACHE = 64, 1 << 18
#: Rows copied at once.
_ROWS = 1 << 12
#: Words a row for columns of two values. A node reads all of them, so that more would cost more than they save.
_MOST_WORDS = 4


def cells_for(binned: BinnedMatrix, max_features: int) -> Cells:
    """Lay out a binned matrix for the kernels.

    Parameters
    ----------
    binned : BinnedMatrix
        Bins.
    max_features : int
        Features that a node looks at.

    Returns
    -------
    Cells
        Columns of two values are bits. All other columns are also copied row by row where that saves reading.
    """
    by_feature, distance = binned.flat()
    n_features, n_rows = binned.columns.shape
    overlapping = distance != n_rows  # a sliding window: row by row already
    packed = np.zeros(n_features, bool) if overlapping else _two_valued(binned.columns)
    if binned.categorical is not None:
        packed &= ~binned.categorical
    wide = np.flatnonzero(~packed)
    place = np.empty(n_features, np.int32)
    place[wide], place[packed] = np.arange(len(wide)), np.arange(n_features - len(wide))
    # Cache lines that a node of n rows reads: feature by feature one for each 64 rows of the matrix, but at most n, and
    # that for each feature looked at; row by row those of n rows, or of as many features as are looked at.
    lines_of_row = min(max_features, len(wide) // _CACHE_LINE + 1)
    few = n_rows * max_features // (_CACHE_LINE * lines_of_row)
    pays = max_features > lines_of_row and len(wide) * n_rows > _CACHE and not overlapping
    by_row = _by_row(binned.columns, wide) if pays else np.empty(0, np.uint8)
    words, n_words = _words(binned.columns[packed]) if packed.any() else (np.empty(0, np.uint64), 0)
    return Cells(
        by_feature,
        by_row,
        words,
        place,
        packed,
        binned.categorical,
        distance,
        len(wide),
        n_words,
        few if pays else 0,
    )


def _by_row(columns: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Some columns row by row; a block of rows at a time, since a choice of columns is a copy."""
    copied = np.empty((columns.shape[1], len(wide)), np.uint8)
    for start in range(0, len(copied), _ROWS):
        copied[start : start + _ROWS] = columns[wide, start : start + _ROWS].T
    return copied.reshape(-1)


def _two_valued(columns: np.ndarray) -> np.ndarray:
    """Features that are kept as bits: those of at most two values, none missing, if they are few words together."""
    found = columns.max(axis=1, initial=0) <= 1 if columns.shape[1] else np.zeros(len(columns), bool)
    return found if 2 <= np.count_nonzero(found) <= 64 * _MOST_WORDS else np.zeros(len(columns), bool)


def _words(columns: np.ndarray) -> tuple[np.ndarray, int]:
    """Bits of 0-1 columns, row by row, and words a row."""
    n_words = -(-len(columns) // 64)
    bits = np.zeros((columns.shape[1], 8 * n_words), np.uint8)
    packed = np.packbits(columns, axis=0, bitorder="little")
    bits[:, : len(packed)] = packed.T
    return bits.view("<u8").astype(np.uint64, copy=False).reshape(-1), n_words
