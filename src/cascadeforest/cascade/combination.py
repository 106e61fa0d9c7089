"""Interactions as objects and as text, and the new features made from them (hiDF, section II.B, Eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from cascadeforest.forest._types import MatrixLike

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Condition:
    """One condition of an interaction: a value is above a threshold or not, or a level is in a set.

    Parameters
    ----------
    column : int
        Index of a feature of X, or ``n_features_in_ + i`` for interaction i of earlier layers.
    name : str
        Name of the feature or of the interaction.
    sign : int
        1 for ``x > threshold``, -1 for ``x <= threshold``.
    threshold : float
        In the units of the feature.
    codes : tuple of int or None
        Codes of the levels in the set, if the feature is categorical. The condition is then about the indicator of the
        set, 1 or 0: `sign` is 1 and `threshold` 0.
    levels : tuple or None
        The levels of `codes`.
    """

    column: int
    name: str
    sign: int
    threshold: float
    codes: tuple[int, ...] | None = None
    levels: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        if self.levels is not None:
            return f"{self.name} in {{{', '.join(map(str, self.levels))}}}"
        return f"{self.name} {'>' if self.sign > 0 else '<='} {self.threshold:.6g}"


@dataclass(frozen=True)
class Interaction:
    """A stable interaction of features, which Eq. 3 turns into a new feature.

    Parameters
    ----------
    name : str
        ``I1``, ``I2``, ...: the column `n_features_in_ + number - 1` of what layers see.
    layer : int
        The layer that found it, from 1.
    conditions : tuple of Condition
        Conditions of the interaction, by column.
    weights : tuple of float
        Factors of the conditions in Eq. 3.
    order : int
        Sum of the orders of the features and interactions in its conditions; a feature has order 1.
    stability : float
        Share of the bootstraps in which the interaction was found (Eq. 2).
    support : float
        Share (by weight) of the training rows that satisfy all conditions.
    class_shares : tuple of float
        Shares of the classes among the rows that satisfy all conditions; 0 if there are no such rows.
    importance : float
        Mean decrease in impurity by the new feature in the final forests, divided by the sum over all columns
        (features, interactions and, if forests see them, class vectors).
    """

    name: str
    layer: int
    conditions: tuple[Condition, ...]
    weights: tuple[float, ...]
    order: int
    stability: float
    support: float
    class_shares: tuple[float, ...]
    importance: float

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


class Interactions(Sequence):
    """Interactions of a model, in the order in which they were found.

    Parameters
    ----------
    found : sequence of Interaction
        The interactions.
    class_names : sequence
        Labels of the classes.
    n_dropped : int
        Number of interactions that dropped layers found, which the model does not use.
    """

    def __init__(self, found: Sequence[Interaction], class_names: Sequence[Any], n_dropped: int = 0):
        self._found, self._class_names, self._n_dropped = list(found), list(class_names), n_dropped

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, i: int | slice) -> Any:
        return Interactions(self._found[i], self._class_names) if isinstance(i, slice) else self._found[i]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interactions):
            return NotImplemented
        return (self._found, self._class_names) == (other._found, other._class_names)

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list

    def to_frame(self) -> pd.DataFrame:
        """Table of the interactions, one row each.

        Returns
        -------
        pandas.DataFrame
            Columns name, layer, order, stability, importance, support, rule, and one for the share of each class.
        """
        import pandas as pd

        names = ["name", "layer", "order", "stability", "importance", "support"]
        lines = [
            {name: getattr(one, name) for name in names}
            | {"rule": str(one)}
            | {f"share of {c}": share for c, share in zip(self._class_names, one.class_shares, strict=True)}
            for one in self
        ]
        return pd.DataFrame(lines, columns=[*names, "rule", *(f"share of {c}" for c in self._class_names)])

    def to_text(self) -> str:
        """Text about the interactions, one line each.

        Returns
        -------
        str
        """
        if not self._found and self._n_dropped:
            return (
                f"no interactions are used: without the {self._n_dropped} that were found the score is as good "
                "(keep='last' keeps them)"
            )
        if not self._found:
            return "no stable interactions"
        return "\n".join(
            f"{one.name} (layer {one.layer}, order {one.order}, stability {one.stability:.2f}, importance "
            f"{one.importance:.3f}, {100 * one.support:.1f} % of the rows): {one}"
            for one in self
        )

    __str__ = to_text

    def __repr__(self) -> str:
        return f"<{len(self)} interactions>\n{self.to_text()}"


def features_behind(interactions: Sequence[Interaction], n_features: int) -> list[list[int]]:
    """Find the features that the new feature of each interaction depends on (Eq. 3).

    Parameters
    ----------
    interactions : sequence of Interaction
        Interactions of a model, in the order in which they were found.
    n_features : int
        Number of features of X.

    Returns
    -------
    list of list of int
        For each interaction, its features and the features of interactions in its conditions; each feature once,
        ascending. A condition of weight 0 is left out, and so are two conditions on a column that add up to a constant,
        unless nothing would be left.
    """
    found: list[list[int]] = []
    for one in interactions:
        slopes: dict[tuple[int, tuple[int, ...] | None], float] = {}
        for condition, weight in zip(one.conditions, one.weights, strict=True):
            term = condition.column, condition.codes
            slopes[term] = slopes.get(term, 0.0) + condition.sign * weight
        columns = {column for (column, _), slope in slopes.items() if slope} or {c.column for c in one.conditions}
        parts = [[column] if column < n_features else found[column - n_features] for column in columns]
        found.append(sorted({feature for part in parts for feature in part}))
    return found


def activated_linear_combination(
    values: np.ndarray, signs: np.ndarray, weights: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Compute the new feature of an interaction (Eq. 3).

    Parameters
    ----------
    values : ndarray of shape (n, n_conditions)
        Values of the columns that the conditions refer to; NaN for missing.
    signs, weights, thresholds : ndarray of shape (n_conditions,)
        Signs, weights and thresholds of the conditions.

    Returns
    -------
    ndarray of shape (n,), float64
        ``max(0, sum_i sign_i w_i (x_i - t_i))``; NaN if a value is missing, or if terms overflow to both infinities.
    """
    total = np.zeros(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(values.shape[1]):  # in a fixed order: the result does not depend on the number of rows
            total += (signs[k] * weights[k]) * (values[:, k].astype(np.float64) - thresholds[k])
    return np.clip(total, 0.0, _LARGEST)


class Columns:
    """Columns of X, followed by the new features of interactions."""

    def __init__(self, X: MatrixLike):
        self._X = X.tocsc() if scipy.sparse.issparse(X) else X
        self.n_given = X.shape[1]
        self._added: list[np.ndarray] = []

    @property
    def added(self) -> np.ndarray:
        """Values of the interactions, shape (n_rows, n_interactions)."""
        return np.column_stack(self._added) if self._added else np.empty((self._X.shape[0], 0))

    def append(self, column: np.ndarray) -> None:
        """Append a new feature."""
        self._added.append(column)

    def values(self, columns: Sequence[int]) -> np.ndarray:
        """Values of some columns, shape (n_rows, n), float64."""
        found = np.empty((self._X.shape[0], len(columns)))
        for k, column in enumerate(columns):
            if column >= self.n_given:
                found[:, k] = self._added[column - self.n_given]
            elif scipy.sparse.issparse(self._X):
                found[:, k] = self._X[:, [column]].toarray()[:, 0]
            else:
                found[:, k] = self._X[:, column]
        return found

    def terms(self, conditions: Sequence[Condition]) -> np.ndarray:
        """What conditions compare with their thresholds, shape (n_rows, n_conditions), float64.

        Values; for a set of levels 1 if the row's level is in the set, 0 if it is not, NaN if it is missing.
        """
        found = self.values([c.column for c in conditions])
        for term, condition in zip(found.T, conditions, strict=True):
            if condition.codes is not None:
                term[:] = np.where(np.isnan(term), np.nan, np.isin(term, condition.codes))
        return found

    def combined(self, conditions: Sequence[Condition], weights: Sequence[float]) -> np.ndarray:
        """New feature of an interaction for all rows (Eq. 3)."""
        return activated_linear_combination(
            self.terms(conditions),
            np.array([c.sign for c in conditions]),
            np.array(weights),
            np.array([c.threshold for c in conditions]),
        )

    def satisfied(self, conditions: Sequence[Condition]) -> np.ndarray:
        """Whether each row satisfies all conditions; a missing value satisfies none."""
        values = self.terms(conditions)
        holds = np.ones(len(values), bool)
        for k, condition in enumerate(conditions):
            holds &= values[:, k] > condition.threshold if condition.sign > 0 else values[:, k] <= condition.threshold
        return holds
