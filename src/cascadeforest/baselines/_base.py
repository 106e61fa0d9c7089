"""Shared code of the baselines: checks of samples and labels, class codes, prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cascadeforest.forest._base import MostProbableClass


class Baseline(BaseEstimator):
    """Base class of classifiers that accept NaN as missing values; their models learn the class codes 0, 1, ..."""

    #: Types of samples that are not converted.
    _dtypes: Any = np.float32

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Class labels. A fold may lack classes of the data set.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, if `y` does not have class labels, or if there is only one class. With one
            class, two of the wrapped libraries raise an error and two return probabilities of a second class that does
            not exist; all baselines raise an error.
        """
        self._check_parameters()  # first: after an error, the earlier fit is unchanged
        X, y = validate_data(self, X, y, dtype=self._dtypes, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs training rows of at least two classes; y holds 1 class, "
                f"{classes[0]!r}. Give it more rows, or a split that is stratified by class."
            )
        self.classes_ = classes
        self._fit(np.asarray(X), codes)
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter is out of range."""

    @abstractmethod
    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Learn from samples whose classes are ``classes_[codes]``."""

    def _samples(self, X: ArrayLike) -> np.ndarray:
        """Samples to predict."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=self._dtypes, ensure_all_finite="allow-nan", reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ProbabilisticBaseline(MostProbableClass, Baseline):
    """A baseline that predicts probabilities, and the most probable class."""

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; NaN means missing.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._probabilities(self._samples(X))

    @abstractmethod
    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of checked samples."""
