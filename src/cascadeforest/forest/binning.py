"""Features as bins of one byte: exact mid-points where values are few, bins of nearly equal weight otherwise.

The bin of a value is the number of its feature's edges that are below it, so that ``x <= edges[b]`` is ``bin <= b``:
a tree that was grown on bins is a tree with thresholds in the units of X. NaN has a bin of its own, `MISSING`.

Where a feature has more than `MAX_BINS` distinct values, neighbouring values share bins. The weight of a value is then
a mixture of what its rows weigh and of its part in the range of the values (RANGE_SHARE in kernels/bins.c):

1. A value that is heavier than the mean of the bins which are left for the lighter ones gets a bin for itself. Such
   values (zero, most often) are where cuts are wanted exactly, and would leave empty bins behind among quantiles.
2. Each run of light values between heavy ones gets one bin, the other bins go to the runs in proportion to weight.
3. Within a run, a value belongs to the bin in which the middle of its weight lies.

Should heavy values and runs be more than `MAX_BINS` together (heavy and light ones alternate), the whole feature is
one run, in which no value counts more than one bin's share. Either way all bins are used, and none is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from joblib import Parallel, delayed
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from cascadeforest.forest._parameters import row_weights
from cascadeforest.forest._types import MatrixLike
from cascadeforest.kernels.bins import assign_bins, find_edges
from cascadeforest.kernels.grow import MISSING

MAX_BINS = 255
#: Levels that a categorical feature may have: its codes are bins. Missing values have a bin, as in scikit-learn's
#: `HistGradientBoostingClassifier`, which takes one more.
MAX_LEVELS = 254
#: Columns copied at once: a cache line of float32, so that each line of a matrix in C order is read once.
_BLOCK_COLUMNS = 16
#: Blocks of long matrices are narrower, so that they take no more memory than the bins.
_FEWEST_COLUMNS = 2
#: Blocks of short matrices are wider than that, up to so many values: one row is one block.
_BLOCK_VALUES = 1 << 16
#: Rows binned at once by `transform`. Fitting needs whole columns.
_BLOCK_ROWS = 1 << 16
#: Rows copied at once: the lines read for one column are still in the cache for the next, twice as fast as without.
_COPY_ROWS = 1024


class BinnedMatrix(NamedTuple):
    """Bins of a matrix, feature by feature.

    The center of a bin is the middle of its smallest and largest training value. Random thresholds need it, and only
    `BinMapper.fit_transform` knows it.

    Columns may overlap in memory, each beginning one byte after the one before: then "rows" are positions in one long
    array, and a window that slides over it is a matrix of which nothing is copied
    (``numpy.lib.stride_tricks.sliding_window_view``).
    """

    columns: np.ndarray  # uint8 (n_features, n_rows), C order or overlapping
    centers: np.ndarray | None  # float64 (n_features, MAX_BINS), ascending, infinity after the last bin
    categorical: np.ndarray | None = None  # bool (n_features): whether splits send sets of bins left; None: nowhere

    @property
    def known_centers(self) -> np.ndarray:
        """The centers, without which no tree can be grown; a ValueError if there are none."""
        if self.centers is None:
            raise ValueError(
                "binned has no centers, which thresholds are placed by; take it from BinMapper.fit_transform."
            )
        return self.centers

    def flat(self) -> tuple[np.ndarray, int]:
        """The memory of the columns, and how far apart they begin.

        Returns
        -------
        cells : uint8 ndarray of one dimension
            Row i of feature k is ``cells[k * distance + i]``.
        distance : int

        Raises
        ------
        ValueError
            If the columns are not as `BinMapper` or a sliding window makes them.
        """
        columns = self.columns
        if columns.dtype == np.uint8 and columns.ndim == 2:
            n_features, n_rows = columns.shape
            if columns.flags.c_contiguous:
                return columns.reshape(-1), n_rows
            if columns.strides == (1, 1):
                return as_strided(columns, (n_features + n_rows - 1,), (1,)), 1
        raise ValueError(
            "binned.columns must be a C-ordered matrix of uint8; take it from BinMapper, or use np.ascontiguousarray."
        )

    @staticmethod
    def stack(parts: Iterable[BinnedMatrix]) -> BinnedMatrix:
        """Put the features of several matrices of the same rows together; without centers if a part has none."""
        parts = list(parts)
        rows = [part.columns.shape[1] for part in parts]
        if len(set(rows)) != 1:
            raise ValueError(f"`parts` have {rows} rows; stack one or more binned matrices of the same rows.")
        columns = np.concatenate([part.columns for part in parts])
        found = [np.zeros(len(p.columns), bool) if p.categorical is None else p.categorical for p in parts]
        categorical = np.concatenate(found) if any(part.categorical is not None for part in parts) else None
        if any(part.centers is None for part in parts):
            return BinnedMatrix(columns, None, categorical)
        return BinnedMatrix(columns, np.concatenate([part.centers for part in parts]), categorical)


def _round_down(edges: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Edges in the type of X: for an x of that type, x <= edge and x <= rounded edge are the same."""
    if dtype != np.float32 or edges.dtype == np.float32:
        return edges.astype(dtype, copy=False)
    with np.errstate(over="ignore", under="ignore"):
        rounded = edges.astype(np.float32)
        return np.where(rounded > edges, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _check_matrix(X: MatrixLike) -> Any:
    """X as an array or a CSC matrix of float32 or float64."""
    if not scipy.sparse.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"`X` has {X.ndim} dimension(s); give an array of shape (n_rows, n_features).")
    if X.dtype != np.float32 and X.dtype != np.float64:
        raise TypeError(f"`X` has dtype {X.dtype}; convert it to float32 or float64.")
    return X.tocsc() if scipy.sparse.issparse(X) else X


def _columns_for(X: MatrixLike, out: np.ndarray | None) -> np.ndarray:
    """Memory for the bins of X."""
    shape = X.shape[::-1]
    if out is None:
        return np.empty(shape, np.uint8)
    if out.dtype != np.uint8 or out.shape != shape or not out.flags.c_contiguous:
        raise ValueError(f"`out` has shape {out.shape} and type {out.dtype}; give a C-ordered uint8 array of {shape}.")
    return out


def _check_weights(sample_weight: ArrayLike | None, n_rows: int) -> tuple[np.ndarray, slice | np.ndarray]:
    """Weights of the rows that have one, empty if they are all equal; and which rows those are."""
    weights = row_weights(sample_weight, n_rows)
    if weights is None:
        return np.empty(0), slice(None)
    with np.errstate(over="ignore"):
        if np.isinf(weights.sum()):
            raise ValueError(f"sample_weight goes up to {weights.max()}, so that its sum overflows; give smaller ones.")
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    equal = weights.min() == weights.max()
    return (np.empty(0) if equal else weights), (slice(None) if rows.size == n_rows else rows)


def _block(X: MatrixLike, features: slice, rows: slice) -> np.ndarray:
    """A block of X, feature by feature: shape (n_features, n_rows), C order; X's own memory if it is so ordered."""
    if scipy.sparse.issparse(X):
        return X[rows, features].T.toarray(order="C")
    view = X[rows, features].T
    if view.flags.c_contiguous:
        return view
    block = np.empty(view.shape, X.dtype)
    for start in range(0, view.shape[1], _COPY_ROWS):
        block[:, start : start + _COPY_ROWS] = view[:, start : start + _COPY_ROWS]
    return block


def _feature_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    widest = _BLOCK_COLUMNS if n_rows <= _BLOCK_ROWS else max(_FEWEST_COLUMNS, n_features // 16)
    width = max(min(_BLOCK_COLUMNS, widest), _BLOCK_VALUES // max(1, n_rows))
    return (slice(start, min(start + width, n_features)) for start in range(0, n_features, width))


def _run(task: Callable, arguments: list, n_jobs: int | None) -> list:
    """Results of a task on each argument, in order; in threads, for kernels and sorts hold no lock."""
    if n_jobs == 0:
        raise ValueError("`n_jobs` is 0; give the number of threads, -1 for all cores, or None for one.")
    if len(arguments) < 2:
        return [task(argument) for argument in arguments]  # joblib takes longer than binning a row
    return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(task)(argument) for argument in arguments)


class BinMapper:
    """From values to bins and back.

    X is an array (C or F order) or sparse matrix of float32 or float64, NaN for missing values. It is never copied as
    a whole (but for a change of format to CSC): each thread holds a block of columns, and one sorted column. All
    results are the same bytes for any order, format and `n_jobs` (the number of threads).

    Attributes
    ----------
    edges_ : array of shape (n_edges,)
        Thresholds of all features, one feature after the other, each feature's ascending. In the type of the X that
        was fitted; mid-points are rounded down to float32, which decides the same for every float32 value.
    offsets_ : int64 array of shape (n_features_in_ + 1,)
        ``edges_[offsets_[k] : offsets_[k + 1]]`` are the edges of feature k.
    levels_ : int array of shape (n_features_in_,) or None
        Number of levels of each categorical feature, whose bins are its codes; 0 for numbers. None: all are numbers.
    """

    edges_: np.ndarray
    offsets_: np.ndarray
    levels_: np.ndarray | None = None

    @property
    def n_features_in_(self) -> int:
        """Number of features that were fitted."""
        self._check_fitted()
        return self.offsets_.size - 1

    def fit(
        self,
        X: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_jobs: int | None = None,
        levels: ArrayLike | None = None,
    ) -> BinMapper:
        """Find the edges of each feature; parameters as in `fit_transform`."""
        X = _check_matrix(X)
        self._fit(X, sample_weight, None, n_jobs, levels)
        return self

    def fit_transform(
        self,
        X: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_jobs: int | None = None,
        out: np.ndarray | None = None,
        levels: ArrayLike | None = None,
    ) -> BinnedMatrix:
        """Find the edges of each feature, and bin the same rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
        sample_weight : array of shape (n_rows,), optional
            Not negative. Whole numbers give the bins of rows repeated as often; rows of weight 0 have no influence,
            but are binned.
        n_jobs : int, optional
            Threads: None for one, -1 for all cores.
        out : uint8 array of shape (n_features, n_rows), optional
            Where the bins are written; new memory by default.
        levels : int array of shape (n_features,), optional
            Number of levels, at most `MAX_LEVELS`, of categorical features, which hold codes from 0 on or NaN; 0 for
            numbers. All are numbers by default.

        Returns
        -------
        binned : BinnedMatrix
            With centers.
        """
        X = _check_matrix(X)
        columns = _columns_for(X, out)
        centers = self._fit(X, sample_weight, columns, n_jobs, levels)
        return BinnedMatrix(columns, centers, self.categorical)

    def transform(self, X: MatrixLike, *, n_jobs: int | None = None, out: np.ndarray | None = None) -> BinnedMatrix:
        """Bin the rows of X; without centers. Parameters as in `fit_transform`."""
        self._check_fitted()
        X = _check_matrix(X)
        n_rows, n_features = X.shape
        if n_features != self.n_features_in_:
            raise ValueError(
                f"`X` has {n_features} features, but {self.n_features_in_} were fitted; give the same columns."
            )
        columns = _columns_for(X, out)
        edges, offsets = _round_down(self.edges_, X.dtype), self.offsets_
        step = n_rows if scipy.sparse.issparse(X) else _BLOCK_ROWS  # rows of CSC are spread over all of it
        row_blocks = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, max(1, step))]

        def assign(block: tuple[slice, slice]) -> None:
            features, rows = block
            local = offsets[features.start : features.stop + 1]
            assign_bins(_block(X, features, rows), edges, local, columns[features], rows.start)

        blocks = [
            (features, rows) for rows in row_blocks for features in _feature_blocks(rows.stop - rows.start, n_features)
        ]
        _run(assign, blocks, n_jobs)
        return BinnedMatrix(columns, None, self.categorical)

    def threshold(self, feature: ArrayLike, cut: ArrayLike) -> Any:
        """Threshold of a cut, in the units of X: a row that has a value goes left if ``x <= threshold``.

        Parameters
        ----------
        feature, cut : int, or arrays of them
            Rows whose bin is at most `cut` go left; below `MISSING`.

        Returns
        -------
        float, or float64 array
            Infinity where the cut is not below the feature's last bin: it parts missing from present values.
        """
        self._check_fitted()
        feature, cut = np.asarray(feature, np.int64), np.asarray(cut, np.int64)
        if np.any((feature < 0) | (feature >= self.n_features_in_)):
            raise ValueError(f"`feature` is {feature}; choose from 0 to {self.n_features_in_ - 1}.")
        if np.any((cut < 0) | (cut >= MISSING)):
            raise ValueError(f"`cut` is {cut}; choose from 0 to {MISSING - 1}. Leaves have no threshold.")
        position = self.offsets_[feature] + cut
        edges = np.append(self.edges_.astype(np.float64), np.inf)
        found = edges[np.where(position < self.offsets_[feature + 1], position, edges.size - 1)]
        return found if found.ndim else float(found)

    def extend(self, other: BinMapper) -> BinMapper:
        """A mapper of the features of this mapper, followed by the features of another mapper."""
        self._check_fitted()
        other._check_fitted()
        extended = BinMapper()
        extended.edges_ = np.concatenate([self.edges_, other.edges_])
        extended.offsets_ = np.concatenate([self.offsets_, self.offsets_[-1] + other.offsets_[1:]])
        both = [np.zeros(m.n_features_in_, np.int64) if m.levels_ is None else m.levels_ for m in (self, other)]
        extended.levels_ = None if self.levels_ is None and other.levels_ is None else np.concatenate(both)
        return extended

    @property
    def categorical(self) -> np.ndarray | None:
        """Features that have sets of bins on the sides of their splits: with two levels a cut is enough."""
        return None if self.levels_ is None or self.levels_.max(initial=0) <= 2 else self.levels_ > 2

    def check(self) -> None:
        """Check that offsets point into the edges: kernels follow them without looking.

        Raises
        ------
        ValueError
            If they do not, as in a file that was tampered with.
        """
        counts = np.diff(self.offsets_)
        if self.offsets_[0] != 0 or self.offsets_[-1] != len(self.edges_) or (counts < 0).any():
            raise ValueError("the offsets of its bins do not divide their edges")
        if counts.max(initial=0) >= MAX_BINS:
            raise ValueError(f"a feature has {counts.max()} edges of bins, more than {MAX_BINS - 1}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "offsets_"):
            raise NotFittedError("This BinMapper has no edges yet; call fit or fit_transform first.")

    def _fit(
        self,
        X: MatrixLike,
        sample_weight: ArrayLike | None,
        columns: np.ndarray | None,
        n_jobs: int | None,
        levels: ArrayLike | None,
    ) -> np.ndarray:
        """Find the edges, fill `columns` unless it is None, and return the centers."""
        n_rows, n_features = X.shape
        n_levels = np.zeros(n_features, np.int64) if levels is None else np.asarray(levels, np.int64)
        if n_levels.shape != (n_features,) or n_levels.min(initial=0) < 0 or n_levels.max(initial=0) > MAX_LEVELS:
            raise ValueError(f"`levels` is {levels!r}; give a number from 0 to {MAX_LEVELS} for each feature.")
        self.levels_ = None if levels is None else n_levels
        if n_rows == 0:
            raise ValueError("`X` has 0 rows; give at least one to fit.")
        weights, rows = _check_weights(sample_weight, n_rows)
        centers = np.full((n_features, MAX_BINS), np.inf)

        def fit_block(features: slice) -> list[np.ndarray]:
            block = _block(X, features, slice(None))
            found, edges, sums = [], np.empty(MAX_BINS), np.empty(n_rows)
            for k, column in enumerate(block, features.start):
                if n_levels[k]:
                    centers[k, : n_levels[k]] = np.arange(n_levels[k])
                    found.append((np.arange(n_levels[k] - 1) + 0.5).astype(X.dtype))
                    continue
                present = column[rows]
                if weights.size:
                    order = np.argsort(present, kind="stable")  # equal values in the order of rows: sums in one order
                    n_bins = find_edges(present[order], weights[order], sums, edges, centers[k])
                else:
                    n_bins = find_edges(np.sort(present), weights, sums, edges, centers[k])
                found.append(_round_down(edges[: max(0, n_bins - 1)].copy(), X.dtype))
            if columns is not None:
                offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
                assign_bins(block, np.concatenate(found), offsets, columns[features], 0)
            return found

        blocks = _run(fit_block, list(_feature_blocks(n_rows, n_features)), n_jobs)
        found = [edges for block in blocks for edges in block]
        self.edges_ = np.concatenate([np.empty(0, X.dtype), *found])
        self.offsets_ = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return centers
