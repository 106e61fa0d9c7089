"""Exact Shapley values of any model with few features, by brute force over all sets of features."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np

#: Each further feature doubles the cost.
MAX_FEATURES = 12
#: Rows that are predicted in one call, unless one explained row needs more.
_AT_ONCE = 2**16


def exact_shapley(predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Compute the interventional Shapley values of predictions.

    The worth v(S) of a set of features is the mean prediction of the background rows, with the features of S taken from
    the explained row. With d features,

        φ_k = Σ_{S without k} |S|! (d - |S| - 1)! / d! · (v(S + k) - v(S)).

    Parameters
    ----------
    predict : callable
        Rows of shape (m, n_features) to predictions of shape (m, ...).
    X : ndarray of shape (n, n_features)
        Rows to explain.
    background : ndarray of shape (n_background, n_features)
        Rows that give the features outside a set. The cost is n * n_background * 2 ** n_features predictions.

    Returns
    -------
    ndarray of shape (n, n_features, ...)
        The sum over features is the prediction of the row minus the mean prediction of the background.

    Raises
    ------
    ValueError
        If there are more than `MAX_FEATURES` features.

    References
    ----------
    .. [1] S. M. Lundberg and S.-I. Lee, "A unified approach to interpreting model predictions", NeurIPS 2017, Eq. 4.
    """
    n_features = X.shape[1]
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"X has {n_features} features, and 2**{n_features} sets of them are too many; give at most {MAX_FEATURES}."
        )
    sets = (np.arange(2**n_features)[:, None] >> np.arange(n_features)) % 2 == 1
    # |S|! (d - |S| - 1)! / d! is 1 / ((d - |S|) C(d, |S|)) for S without k, and 1 / (|S| C(d, |S|)) for S + k in its
    # place: what v(S) counts for a feature outside and inside of S.
    sizes = range(n_features + 1)
    outside = np.array([-1 / ((n_features - s) * comb(n_features, s)) if s < n_features else 0.0 for s in sizes])
    inside = np.array([1 / (s * comb(n_features, s)) if s else 0.0 for s in sizes])
    size = sets.sum(axis=1)
    weights = np.where(sets, inside[size][:, None], outside[size][:, None])
    step = max(1, _AT_ONCE // (len(sets) * len(background)))
    parts = []
    for first in range(0, len(X), step):
        rows = X[first : first + step, None, None]
        mixed = np.where(sets[:, None], rows, background)  # (rows, sets, background, features)
        predicted = predict(mixed.reshape(-1, n_features))
        worth = predicted.reshape(*mixed.shape[:3], *predicted.shape[1:]).mean(axis=2)
        parts.append(np.einsum("ns...,sk->nk...", worth, weights))  # without BLAS: the same bits on each processor
    return np.concatenate(parts)
