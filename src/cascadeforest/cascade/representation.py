"""The columns that a layer sees: the features, binned once, followed by the columns that layers add.

All layers share one matrix. Folds, bootstraps and the rows left by confidence screening are arrays of row numbers; X is
not copied for a layer. All layers write the columns that they add to the same memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.binning import MAX_BINS, BinMapper, BinnedMatrix
from cascadeforest.forest.learned_rows import LearnedRows, Rows


class Representation:
    """Binned features, with room for added columns.

    Make it with `of_training_rows` or `of_new_rows`.

    Parameters
    ----------
    columns : ndarray of shape (n_features + room, n_rows), uint8
        Bins; the first `n_given` rows of the array are filled.
    centers : ndarray of shape (n_features + room, MAX_BINS) or None
        Centers of the bins, needed only to grow trees.
    n_given : int
        Number of features of X.
    X : array, sparse matrix or None
        The values of the features, kept if the layer has estimators of other packages.
    categorical : ndarray of shape (n_features,), bool, or None
        Which features of X are categorical; None if none is.
    """

    def __init__(
        self,
        columns: np.ndarray,
        centers: np.ndarray | None,
        n_given: int,
        X: MatrixLike | None = None,
        categorical: np.ndarray | None = None,
    ):
        self._columns, self._centers, self._categorical = columns, centers, categorical
        self.n_given, self.n_added = n_given, 0
        self._X = X
        self._added: np.ndarray | None = None

    @classmethod
    def of_training_rows(
        cls,
        X: MatrixLike,
        room: int,
        *,
        sample_weight: np.ndarray | None = None,
        keep_values: bool = False,
        n_jobs: int | None = None,
        levels: np.ndarray | None = None,
    ) -> tuple[Representation, BinMapper]:
        """Bin the training rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            float32 or float64.
        room : int
            Columns that a layer may add.
        sample_weight : ndarray of shape (n_rows,), optional
            Weights of rows; bins have nearly equal weight.
        keep_values : bool
            Keep X for estimators of other packages, which do not use bins.
        n_jobs : int, optional
            Threads.
        levels : ndarray of shape (n_features,), int, or None
            Number of levels of each categorical feature, 0 for numeric ones; None if none is categorical.

        Returns
        -------
        Representation
        BinMapper
            Maps other rows to the same bins.
        """
        n_rows, n_given = X.shape
        columns = np.empty((n_given + room, n_rows), np.uint8)
        centers = np.empty((n_given + room, MAX_BINS))
        mapper = BinMapper()
        binned = mapper.fit_transform(X, sample_weight, n_jobs=n_jobs, out=columns[:n_given], levels=levels)
        centers[:n_given] = binned.centers
        return cls(columns, centers, n_given, X if keep_values else None, binned.categorical), mapper

    @classmethod
    def of_bins(cls, given: BinnedMatrix, room: int) -> Representation:
        """Make a representation of training rows that are already binned.

        Parameters
        ----------
        given : BinnedMatrix
            The features; copied.
        room : int
            Columns that a layer may add.

        Returns
        -------
        Representation
        """
        n_given, n_rows = given.columns.shape
        columns, centers = np.empty((n_given + room, n_rows), np.uint8), np.empty((n_given + room, MAX_BINS))
        columns[:n_given] = given.columns
        if given.centers is not None:  # needed only to grow trees
            centers[:n_given] = given.centers
        return cls(columns, centers, n_given, categorical=given.categorical)

    @classmethod
    def of_new_rows(
        cls, X: MatrixLike, room: int, mapper: BinMapper, *, keep_values: bool = False, n_jobs: int | None = None
    ) -> Representation:
        """Bin rows to predict.

        Parameters
        ----------
        X, room, keep_values, n_jobs
            As in `of_training_rows`.
        mapper : BinMapper
            Bins that `of_training_rows` returned.

        Returns
        -------
        Representation
        """
        columns = np.empty((X.shape[1] + room, X.shape[0]), np.uint8)
        categorical = mapper.transform(X, n_jobs=n_jobs, out=columns[: X.shape[1]]).categorical
        return cls(columns, None, X.shape[1], X if keep_values else None, categorical)

    @classmethod
    def of_added(cls, like: Representation) -> Representation:
        """Make a representation of the same rows without features: layers see the added columns only.

        Parameters
        ----------
        like : Representation
            Representation with the same number of rows, the same room, and the same choice to keep values.

        Returns
        -------
        Representation
        """
        room = len(like._columns) - like.n_given
        centers = None if like._centers is None else np.empty((room, MAX_BINS))
        values = None if like._X is None else np.empty((like.n_rows, 0), like._X.dtype)
        return cls(np.empty((room, like.n_rows), np.uint8), centers, 0, values)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._columns.shape[1]

    @property
    def n_features(self) -> int:
        """Number of columns, given and added."""
        return self.n_given + self.n_added

    @property
    def binned(self) -> BinnedMatrix:
        """The matrix that forests see; a view."""
        centers = None if self._centers is None else self._centers[: self.n_features]
        categorical = self._categorical
        if categorical is not None and self.n_added:
            categorical = np.append(categorical, np.zeros(self.n_added, bool))
        return BinnedMatrix(self._columns[: self.n_features], centers, categorical)

    @property
    def given(self) -> BinnedMatrix:
        """The given features alone; a view."""
        centers = None if self._centers is None else self._centers[: self.n_given]
        return BinnedMatrix(self._columns[: self.n_given], centers, self._categorical)

    def fit_added(self, values: np.ndarray, rows: np.ndarray, n_jobs: int | None = None) -> BinMapper:
        """Compute bins for added columns, and put the columns after the features, replacing earlier added columns.

        Parameters
        ----------
        values : ndarray of shape (n, n_added)
            Values for `rows`; in all other rows the added columns become undefined.
        rows : ndarray of shape (n,), int
            Rows of the matrix.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        BinMapper
            Bins of the added columns, for rows to predict.
        """
        mapper = BinMapper()
        self._write(values, rows, mapper, n_jobs, fit=True)
        return mapper

    def add(self, values: np.ndarray, rows: np.ndarray, mapper: BinMapper, n_jobs: int | None = None) -> None:
        """Put columns after the features, as `fit_added` does, with the bins of `mapper`.

        Parameters
        ----------
        values, rows, n_jobs
            As in `fit_added`.
        mapper : BinMapper
            Bins that `fit_added` returned.
        """
        self._write(values, rows, mapper, n_jobs, fit=False)

    def drop_added(self) -> None:
        """Remove the added columns."""
        self.n_added, self._added = 0, None

    def _write(self, values: np.ndarray, rows: np.ndarray, mapper: BinMapper, n_jobs: int | None, *, fit: bool) -> None:
        self.n_added = values.shape[1]
        place = slice(self.n_given, self.n_features)
        target = self._columns[place]  # fails below if there is no room
        everyone = len(rows) == self.n_rows
        out = target if everyone else None
        if fit:
            binned = mapper.fit_transform(values, n_jobs=n_jobs, out=out)
            assert self._centers is not None, "rows to predict have no centers"
            self._centers[place] = binned.known_centers
        else:
            binned = mapper.transform(values, n_jobs=n_jobs, out=out)
        if not everyone:
            target[:, rows] = binned.columns
        if self._X is not None:
            self._added = added = np.zeros((self.n_rows, self.n_added), values.dtype)
            added[rows] = values

    def taken_apart(self) -> tuple[np.ndarray, tuple[Any, ...]]:
        """Arrays of training rows for another process: bins of the features, and what `put_together` takes besides.

        Layers of a cascade have the same bins of the features; other arrays change from layer to layer.
        """
        assert self._centers is not None, "rows to predict have no centers"
        added, centers = self._columns[self.n_given : self.n_features], self._centers[: self.n_features]
        return self._columns[: self.n_given], (added, centers, self._X, self._added, self._categorical)

    @classmethod
    def put_together(
        cls,
        given: np.ndarray,
        added: np.ndarray,
        centers: np.ndarray,
        X: MatrixLike | None,
        added_values: np.ndarray | None,
        categorical: np.ndarray | None,
    ) -> Representation:
        """Undo `taken_apart`."""
        columns = np.concatenate([given, added]) if len(added) else given
        representation = cls(columns, centers, len(given), X, categorical)
        representation.n_added, representation._added = len(added), added_values
        return representation

    def values(self, rows: np.ndarray) -> Any:
        """Features and added columns as numbers, for estimators of other packages.

        Parameters
        ----------
        rows : ndarray of int
            Rows of the matrix.

        Returns
        -------
        ndarray or csr_matrix of shape (n, n_features)
        """
        assert self._X is not None, "the features were not kept"
        given = self._X[rows]
        if self._added is None:
            return given
        if scipy.sparse.issparse(given):
            return scipy.sparse.hstack([given, scipy.sparse.csr_matrix(self._added[rows])], format="csr")
        return np.hstack([given, self._added[rows]])


def weights_of_all(rows: np.ndarray, weights: np.ndarray | None, n_rows: int) -> np.ndarray | None:
    """Weights of all rows: `weights` for `rows` and 0 for all other rows; None if all rows have the same weight."""
    if weights is None and len(rows) == n_rows:
        return None
    of_all = np.zeros(n_rows)
    of_all[rows] = 1.0 if weights is None else weights
    return of_all


#: Gives the columns that a level sees, for rows to predict: ``reader(level, rows)``.
Reader = Callable[[int, np.ndarray], Representation]


class PlainFeatures:
    """The columns that levels see without scanning: the features.

    Parameters
    ----------
    room : int
        Columns that a layer may add.
    keep_values : bool
        Whether layers hold estimators of other packages, which need values instead of bins.
    n_jobs : int or None
        Threads.
    levels : ndarray of shape (n_features,), int, or None
        Number of levels of each categorical feature, 0 for numeric ones; None if none is categorical.
    """

    #: Each level sees all features.
    cycle = 1

    def __init__(self, room: int, keep_values: bool, n_jobs: int | None, levels: np.ndarray | None = None):
        self._room, self._keep_values, self._n_jobs, self._levels = room, keep_values, n_jobs, levels

    def fit(self, X: MatrixLike, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Bin the training rows; rows of weight 0 have no influence on bins."""
        of_all = weights_of_all(rows, weights, X.shape[0])
        self._seen, self.mapper = Representation.of_training_rows(
            *(X, self._room),
            sample_weight=of_all,
            keep_values=self._keep_values,
            n_jobs=self._n_jobs,
            levels=self._levels,
        )

    def at(self, level: int, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Representation:
        """The columns that a level sees of the training rows."""
        return self._seen

    def learned_rows(
        self, y: np.ndarray, weights: np.ndarray | None, *, centers_are_written: bool
    ) -> LearnedRows | None:
        """Training rows that explanations need; None with estimators of other packages, which are not explained."""
        if self._keep_values:
            return None
        return LearnedRows(Rows.of(self._seen.given, y, weights), centers_are_written=centers_are_written)

    def finish(self, n_levels: int) -> None:
        """Keep only the fitted state that prediction needs."""
        del self._seen

    def reader(self, X: MatrixLike, n_jobs: int | None) -> Reader:
        """Return a function ``reader(level, rows)`` that gives the columns that a level sees."""
        seen = Representation.of_new_rows(X, self._room, self.mapper, keep_values=self._keep_values, n_jobs=n_jobs)
        return lambda level, rows: seen
