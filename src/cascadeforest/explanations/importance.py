"""Importances of the original features: mean decrease in impurity from contributions, mean decrease in accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted

from cascadeforest.forest._parameters import check_count
from cascadeforest.forest._types import RandomState, Scorer


def mean_decrease_impurity(
    contributions: ArrayLike, Y: ArrayLike, weights: ArrayLike | None = None, *, centred: bool = True
) -> np.ndarray:
    r"""MDI as the covariance of contributions and responses (interpretation paper, Eqs. 10, 11 and 31).

    Parameters
    ----------
    contributions : array-like of shape (n, n_features, n_outputs)
        Contributions of any rows.
    Y : array-like of shape (n, n_outputs)
        Responses of these rows: indicators of the classes, or targets.
    weights : array-like of shape (n,), optional
        Weights of the rows in the mean.
    centred : bool, default=True
        Subtract the mean from the responses. Eq. 31 does not. The result is the same if contributions have mean 0, as
        on the rows that the trees were grown on (Eq. 10). On other rows, an uncentred target far from 0 would dominate
        the result.

    Returns
    -------
    ndarray of shape (n_features,)
        Importances in squared units of the response. They can be negative: on rows that the trees did not learn from,
        noise features are on both sides of 0.

    Raises
    ------
    ValueError
        If the shapes do not agree, or no row has finite contributions and positive weight.

    Examples
    --------
    >>> from cascadeforest.explanations import mean_decrease_impurity
    >>> mean_decrease_impurity([[[1.0], [0.0]], [[-1.0], [0.0]]], [[3.0], [1.0]]).tolist()
    [1.0, 0.0]
    """
    contributions, Y, weights = _checked(contributions, Y, weights)
    if weights is not None and weights.sum() == 0:
        raise ValueError(
            f"weights has sum 0 over the {len(weights)} rows with finite contributions; give weights that are not "
            "negative, at least one of them positive, or None for equal ones."
        )
    if centred:
        Y = Y - np.average(Y, axis=0, weights=weights)
    w = np.full(len(Y), 1.0 / len(Y)) if weights is None else weights / weights.sum()
    return np.einsum("nkc,nc,n->k", contributions, Y, w, optimize=True)


def class_mean_decrease_impurity(
    contributions: ArrayLike, Y: ArrayLike, weights: ArrayLike | None = None
) -> np.ndarray:
    """Local MDI: mean contribution of each feature to the probability of a class, over the rows of this class.

    See section 6.2 of the interpretation paper. The released code calls the mean over classes MDI.

    Parameters
    ----------
    contributions : array-like of shape (n, n_features, n_classes)
        Contributions of any rows.
    Y : array-like of shape (n, n_classes)
        Indicators of the classes of these rows.
    weights : array-like of shape (n,), optional
        Weights of the rows in the means.

    Returns
    -------
    ndarray of shape (n_classes, n_features)
        NaN for classes without rows.
    """
    contributions, Y, weights = _checked(contributions, Y, weights)
    w = Y if weights is None else Y * weights[:, None]
    with np.errstate(invalid="ignore"):
        return np.einsum("nkc,nc->ck", contributions, w) / w.sum(axis=0)[:, None]


def _checked(
    contributions: ArrayLike, Y: ArrayLike, weights: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    parts, responses = np.asarray(contributions, np.float64), np.asarray(Y, np.float64)
    if parts.ndim != 3 or responses.shape != (len(parts), parts.shape[2]):
        raise ValueError(
            f"contributions has shape {parts.shape} and Y {responses.shape}; give (n, n_features, n_outputs) and "
            "(n, n_outputs)."
        )
    of_rows = None if weights is None else np.asarray(weights, np.float64)
    if of_rows is not None and of_rows.shape != (len(parts),):
        raise ValueError(f"weights has shape {of_rows.shape}; give ({len(parts)},).")
    kept = np.isfinite(parts).all(axis=(1, 2))  # training rows without weight have no contributions
    if not kept.any():
        raise ValueError("contributions has no row of finite numbers; a mean needs one.")
    if kept.all():
        return parts, responses, of_rows
    return parts[kept], responses[kept], None if of_rows is None else of_rows[kept]


def mean_decrease_accuracy(
    model: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_repeats: int = 10,
    scoring: Scorer = None,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mean decrease in accuracy (MDA): how much a score falls if the values of a feature are permuted.

    Parameters
    ----------
    model : estimator
        Any fitted scikit-learn estimator.
    X : array-like of shape (n, n_features)
        Rows that the model did not learn from; dense.
    y : array-like of shape (n,)
        Classes or targets of these rows.
    n_repeats : int, default=10
        Number of permutations of each feature.
    scoring : str, callable or None, default=None
        Scorer. None stands for accuracy, in regression for minus the root mean squared error.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the score.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of joblib workers (processes, by default); the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_features,)
        Decrease of the score, mean over the permutations.

    See Also
    --------
    sklearn.inspection.permutation_importance : the function that this one calls.
    """
    check_is_fitted(model)
    check_count("n_repeats", n_repeats)
    if scoring is None:
        scoring = "accuracy" if hasattr(model, "classes_") else "neg_root_mean_squared_error"
    options = {"n_repeats": n_repeats, "random_state": random_state, "n_jobs": n_jobs}
    return permutation_importance(model, X, y, scoring=scoring, sample_weight=sample_weight, **options).importances_mean
