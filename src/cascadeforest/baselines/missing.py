"""Filling in missing values, for baselines that do not accept them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class MedianFill(TransformerMixin, BaseEstimator):
    """Replace NaN by the median of the training rows, column by column.

    No paper says how its baselines handle missing values. The median is our choice for `gbdt`, `svm` and `mlp`.
    `random_forest` and `xgboost` accept NaN.

    Attributes
    ----------
    medians_ : ndarray of shape (n_features,), float32
        Median of the present values of each column; 0 if all values are missing.

    Notes
    -----
    scikit-learn's ``SimpleImputer`` gives the same values, but uses masked arrays and copies the data. Here data
    without NaN are not copied, so that measured time and memory of complete data sets hardly change.
    """

    def fit(self, X: ArrayLike, y: object = None) -> MedianFill:
        """Learn the medians.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self : MedianFill
        """
        X = np.asarray(validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan"))
        self.medians_ = np.zeros(X.shape[1], dtype=np.float32)
        for k, column in enumerate(X.T):
            present = column[~np.isnan(column)]
            if present.size:
                self.medians_[k] = np.median(present)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Fill the missing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features), float32
            `X` itself if it is a float32 array without NaN, else a filled copy.
        """
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False))
        missing = np.isnan(X)
        return np.where(missing, self.medians_, X) if missing.any() else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
