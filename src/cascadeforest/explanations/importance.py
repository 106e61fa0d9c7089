"""Importances of the original features: mean decrease in impurity from contributions, mean decrease in accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted

from cascadeforest.forest._parameters import check_count


def mean_decrease_impurity(contributions: Any, Y: Any, weights: Any = None, *, centred: bool = True) -> np.ndarray:
    r"""MDI as the covariance of contributions and responses (interpretation paper, Eqs. 10, 11 and 31).

    Parameters
    ----------
    contributions : array-like of shape (n, n_features, n_outputs)
        Of any rows.
    Y : array-like of shape (n, n_outputs)
        Their responses: indicators of the classes, or targets.
    weights : array-like of shape (n,), optional
        Weights of the rows in the mean.
    centred : bool, default=True
        Take responses relative to their mean. Eq. 31 does not; the two agree where contributions have mean 0, as on the
        rows that the trees were grown on (Eq. 10 calls both sides equal). Off these rows an uncentred target far from
        0 would drown everything.

    Returns
    -------
    ndarray of shape (n_features,)
        In squared units of the response; not clipped: noise features fall on both sides of 0 on rows that the trees
        did not learn from.

    Raises
    ------
    ValueError
        If the shapes do not agree, or no row has finite contributions and a weight.

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


def class_mean_decrease_impurity(contributions: Any, Y: Any, weights: Any = None) -> np.ndarray:
    """Local MDI: what each feature adds to the probability of the own class, on average over the rows of each class.

    Interpretation paper, section 6.2. Its mean over classes is what the released code calls MDI.

    Parameters
    ----------
    contributions : array-like of shape (n, n_features, n_classes)
        Of any rows.
    Y : array-like of shape (n, n_classes)
        Indicators of their classes.
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


def _checked(contributions: Any, Y: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    contributions, Y = np.asarray(contributions, np.float64), np.asarray(Y, np.float64)
    if contributions.ndim != 3 or Y.shape != (len(contributions), contributions.shape[2]):
        raise ValueError(
            f"contributions has shape {contributions.shape} and Y {Y.shape}; give (n, n_features, n_outputs) and "
            "(n, n_outputs)."
        )
    if weights is not None:
        weights = np.asarray(weights, np.float64)
        if weights.shape != (len(Y),):
            raise ValueError(f"weights has shape {weights.shape}; give ({len(Y)},).")
    kept = np.isfinite(contributions).all(axis=(1, 2))  # training rows without weight have no contributions
    if not kept.any():
        raise ValueError("contributions has no row of finite numbers; a mean needs one.")
    if not kept.all():
        contributions, Y = contributions[kept], Y[kept]
        weights = None if weights is None else weights[kept]
    return contributions, Y, weights


def mean_decrease_accuracy(
    model: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 10,
    scoring: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """MDA: by how much a score falls when the values of a feature are permuted among the rows.

    Parameters
    ----------
    model : estimator
        Fitted; any of scikit-learn's kind.
    X : array-like of shape (n, n_features)
        Rows that the model did not learn from; dense.
    y : array-like of shape (n,)
        Their classes or targets.
    n_repeats : int, default=10
        Permutations of each feature.
    scoring : str, callable or None, default=None
        Scorer; None: accuracy, or minus the root mean squared error in regression.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the score.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Workers of joblib (processes, by default); the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_features,)
        Mean over the permutations.

    See Also
    --------
    sklearn.inspection.permutation_importance : does the work.
    """
    check_is_fitted(model)
    check_count("n_repeats", n_repeats)
    if scoring is None:
        scoring = "accuracy" if hasattr(model, "classes_") else "neg_root_mean_squared_error"
    options = {"n_repeats": n_repeats, "random_state": random_state, "n_jobs": n_jobs}
    return permutation_importance(model, X, y, scoring=scoring, sample_weight=sample_weight, **options).importances_mean
