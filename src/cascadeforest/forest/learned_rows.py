"""Training rows that a fitted model keeps, so that its predictions can be explained."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, Self

import numpy as np

from cascadeforest.forest.binning import MISSING, BinnedMatrix


class Rows(NamedTuple):
    """Training rows in bins.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_rows), uint8
        Bins.
    centers : ndarray of shape (n_features, MAX_BINS) or None
        Centers of the bins.
    y : ndarray of shape (n_rows,)
        Class numbers, or targets.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows, multiplied by class weights.
    balanced : bool
        Whether each tree balanced the weights of its classes (class_weight="balanced_subsample").
    categorical : ndarray of shape (n_features,), bool, or None
        Which features are categorical; None if none is.
    """

    columns: np.ndarray
    centers: np.ndarray | None
    y: np.ndarray
    weights: np.ndarray | None
    balanced: bool = False
    categorical: np.ndarray | None = None

    @classmethod
    def of(cls, binned: BinnedMatrix, y: np.ndarray, weights: np.ndarray | None, *, balanced: bool = False) -> Rows:
        """Store rows in read-only arrays: the arrays of `binned`, or copies if they are views.

        Adding 0 makes a copy and turns -0.0 into 0.0: the numbers are equal, but their digests would differ.
        """
        centers = None if binned.centers is None else _fixed(binned.centers)
        weights = None if weights is None else _fixed(weights + 0.0)
        return cls(_fixed(binned.columns), centers, _fixed(y + 0), weights, balanced, binned.categorical)

    @property
    def binned(self) -> BinnedMatrix:
        """The features."""
        return BinnedMatrix(self.columns, self.centers, self.categorical)

    def values(self) -> np.ndarray:
        """Feature values as bin centers (codes of levels, if categorical), NaN if missing; (n_rows, n_features)."""
        values = np.empty(self.columns.shape[::-1])
        for k, (column, centers) in enumerate(zip(self.columns, self.binned.known_centers, strict=True)):
            if self.categorical is not None and self.categorical[k]:
                centers = np.arange(len(centers))
            # Centers after the last bin are infinite. Only rows of weight 0 can be there.
            of_bins = np.where(np.isfinite(centers), centers, np.nan)
            values[:, k] = np.where(column == MISSING, np.nan, of_bins[column % len(of_bins)])
        return values

    def digests(self) -> dict[str, str]:
        """Digests of responses, weights and features, by the names under which users give them."""
        weights = self.weights
        if weights is not None and weights.min() == weights.max():
            weights = None  # the same trees
        parts = {"y_train": self.y, "sample_weight": weights, "X_train": self.columns}
        digests = {name: _digest(part) for name, part in parts.items()}
        digests["sample_weight"] += " balanced by tree" if self.balanced else ""
        return digests


class LearnedRows:
    """Training rows of a model in memory, one byte per value. A pickled model has their digests instead.

    Pickled rows would make files large and pass the data on with the model. The digests recognise the rows if the user
    gives them again.

    Parameters
    ----------
    rows : Rows
        The rows.
    centers_are_written : bool
        Whether a pickled model holds the centers of bins, which are needed to grow forests again.

    Attributes
    ----------
    rows : Rows or None
        None in a model that was pickled.
    centers : ndarray of shape (n_features, MAX_BINS) or None
        Centers of the bins.
    """

    def __init__(self, rows: Rows, *, centers_are_written: bool = False):
        self.rows: Rows | None = rows
        self.centers = rows.centers
        self._centers_are_written = centers_are_written
        self._digests: dict[str, str] | None = None

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the rows, by the names under which users give them."""
        if self._digests is None:
            assert self.rows is not None, "digests are made before rows are let go"
            self._digests = self.rows.digests()
        return self._digests

    def difference(self, other: Rows) -> str | None:
        """Name of the first of y_train, sample_weight and X_train that differs in other rows; None if all agree."""
        others = other.digests()
        return next((name for name, digest in self.digests.items() if others[name] != digest), None)

    def without_rows(self) -> LearnedRows:
        """The digests, without rows, for a pickled model."""
        left = LearnedRows.__new__(LearnedRows)
        left.__setstate__(self.__getstate__())
        return left

    def __getstate__(self) -> dict[str, Any]:
        return {"digests": self.digests, "centers": self.centers if self._centers_are_written else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows = None
        self._digests, self.centers = state["digests"], state["centers"]
        self._centers_are_written = self.centers is not None

    def __deepcopy__(self, memo: dict[int, Any]) -> LearnedRows:
        return self  # immutable


def _fixed(part: np.ndarray) -> np.ndarray:
    """Make an array read-only. Views are copied first, since they keep the whole array in memory."""
    part = np.ascontiguousarray(part if part.base is None else part.copy())
    part.setflags(write=False)
    return part


def _digest(part: np.ndarray | None) -> str:
    return "" if part is None else hashlib.blake2b(part.data, digest_size=16).hexdigest()


class KeepsRows:
    """Mixin of models that keep the rows that they learned from."""

    _learned_rows: LearnedRows | None = None
    _fit_mark: Any = None

    def _forget_fit(self) -> None:
        """First step of `fit`: forget the fit before, so that nothing of it remains even if this fit fails."""
        self._learned_rows = None
        self._fit_mark = object()  # explainers of the fit before see by this mark that it is outdated

    def forget_training_rows(self) -> Self:
        """Free the memory of the training rows that the model keeps for explanations.

        The rows take one byte per value. Afterwards, as after pickling, explanations need the rows again:
        ``Explainer(model, X_train, y_train)``.

        Returns
        -------
        self
        """
        if self._learned_rows is not None:
            self._learned_rows = self._learned_rows.without_rows()
        return self
