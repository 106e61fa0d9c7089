"""What a fitted model keeps of the rows that it learned from, for those who explain its predictions."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from cascadeforest.forest.binning import MISSING, BinnedMatrix


class LearnedRows:
    """The rows that a model learned from, in bins: a byte a value.

    They stay with the model in memory and are never written: a pickled model holds digests, by which rows that are
    given instead are recognised. Files would grow with the data otherwise, and hand the data on with the model.

    Parameters
    ----------
    binned : BinnedMatrix
        Features; copied, with the centers of their bins (2 KiB a feature).
    y : ndarray of shape (n_rows,)
        Class numbers, or targets.
    weights : ndarray of shape (n_rows,) or None
        What rows weighed, their classes' weights included.
    balanced : bool
        Whether each tree made its classes' weights equal (class_weight="balanced_subsample").
    centers_are_written : bool
        Whether a pickled model holds the centers of bins, without which no forest can be grown again.
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        y: np.ndarray,
        weights: np.ndarray | None,
        *,
        balanced: bool = False,
        centers_are_written: bool = False,
    ):
        self._columns: np.ndarray | None = _own(binned.columns)
        self.centers = None if binned.centers is None else _own(binned.centers)
        self.y: np.ndarray | None = _own(y + 0)  # also -0.0 becomes 0.0, which is the same target
        self.weights = None if weights is None else _own(weights)
        self.balanced, self._centers_are_written = balanced, centers_are_written
        self._digests: dict[str, str] | None = None

    @property
    def are_here(self) -> bool:
        """Whether the rows are in memory; False in a model that was pickled."""
        return self._columns is not None

    @property
    def binned(self) -> BinnedMatrix:
        """The features."""
        return BinnedMatrix(self._columns, self.centers)

    def values(self) -> np.ndarray:
        """Features as numbers, each the middle of its bin; NaN where missing. Shape (n_rows, n_features)."""
        values = np.empty(self._columns.shape[::-1])
        for k, (column, centers) in enumerate(zip(self._columns, self.centers, strict=True)):
            # Infinity stands behind the last bin, where only rows can be that had no weight.
            of_bins = np.where(np.isfinite(centers), centers, np.nan)
            values[:, k] = np.where(column == MISSING, np.nan, of_bins[column % len(of_bins)])
        return values

    @property
    def digests(self) -> dict[str, str]:
        """Digests of responses, weights and features, by the names under which users give them."""
        if self._digests is None:
            weights = self.weights
            if weights is not None and weights.min() == weights.max():
                weights = None  # the same trees
            parts = {"y_train": self.y, "sample_weight": weights, "X_train": self._columns}
            self._digests = {name: _digest(part) for name, part in parts.items()}
            self._digests["sample_weight"] += " balanced by tree" if self.balanced else ""
        return self._digests

    def difference(self, other: LearnedRows) -> str | None:
        """The first of y_train, sample_weight and X_train in which other rows differ from these; None if they agree."""
        return next((name for name, digest in self.digests.items() if other.digests[name] != digest), None)

    def without_rows(self) -> LearnedRows:
        """What is left of them in a model that was pickled."""
        left = LearnedRows.__new__(LearnedRows)
        left.__setstate__(self.__getstate__())
        return left

    def __getstate__(self) -> dict[str, Any]:
        return {"digests": self.digests, "centers": self.centers if self._centers_are_written else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._columns = self.y = self.weights = None
        self._digests, self.centers = state["digests"], state["centers"]
        self.balanced, self._centers_are_written = False, self.centers is not None

    def __deepcopy__(self, memo: dict[int, Any]) -> LearnedRows:
        return self  # nothing in it is ever written to


def _own(part: np.ndarray) -> np.ndarray:
    """A copy that nobody can write to."""
    part = np.array(part, order="C")
    part.setflags(write=False)
    return part


def _digest(part: np.ndarray | None) -> str:
    return "" if part is None else hashlib.blake2b(part.data, digest_size=16).hexdigest()


class KeepsRows:
    """Mixin of models that keep the rows that they learned from."""

    _learned_rows: LearnedRows | None = None

    def forget_training_rows(self) -> Any:
        """Let go of the training rows that the model keeps for explanations.

        They take a byte a value. Explanations need them again afterwards, as after pickling:
        ``Explainer(model, X_train, y_train)``.

        Returns
        -------
        self
        """
        if self._learned_rows is not None:
            self._learned_rows = self._learned_rows.without_rows()
        return self
