"""Gradient boosted decision trees: scikit-learn's exact algorithm (hidf, Table II; ddbf, Tables 1-3)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from cascadeforest.baselines.missing import MedianFill
from cascadeforest.baselines.targets import encode_classes


class GBDTClassifier(ClassifierMixin, BaseEstimator):
    """scikit-learn's ``GradientBoostingClassifier`` behind a median fill.

    Parameters
    ----------
    n_estimators : int
        Boosting rounds; each grows one tree a class (one in all for two classes). hiDF: 500.
    max_depth : int
        Depth of each tree. 6 in hiDF's text, 10 in its released code.
    learning_rate : float
        Shrinkage of each tree; none of the papers names it, so the library's default.
    random_state : int, RandomState instance or None
        Order of the features, which decides between equally good cuts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    booster_ : sklearn.pipeline.Pipeline
        Median fill, booster.
    """

    def __init__(
        self,
        n_estimators: int = 500,
        *,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X, y) -> GBDTClassifier:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : GBDTClassifier

        Raises
        ------
        ValueError
            If a parameter is out of range, or the rows are of one class.
        """
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.max_depth, "max_depth", Integral, min_val=1)
        check_scalar(self.learning_rate, "learning_rate", Real, min_val=0, include_boundaries="neither")
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        self.classes_, codes = encode_classes(y, type(self).__name__)
        booster = GradientBoostingClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        )
        self.booster_ = make_pipeline(MedianFill(), booster).fit(X, codes)
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False)
        return self.booster_.predict_proba(X)

    def predict(self, X) -> np.ndarray:
        """Most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
