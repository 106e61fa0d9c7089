"""Support vector machine with the RBF kernel, on raw or on scaled features (hidf, Table II)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from cascadeforest.baselines.missing import MedianFill
from cascadeforest.baselines.targets import encode_classes


class SVMClassifier(ClassifierMixin, BaseEstimator):
    """RBF support vector machine (one against one), with median fill and, if asked, standard scaling in front.

    Parameters
    ----------
    scale : bool
        Scale each feature to mean 0 and variance 1. False is what hiDF's released code does, and why the SVM column of
        its Table II is so low.
    C : float
        Cost of margin violations.
    gamma : {'scale', 'auto'} or float
        Kernel width, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    machine_ : sklearn.pipeline.Pipeline
        Median fill, scaling if asked, machine.

    Notes
    -----
    There is no `predict_proba`: a vote of pairwise machines gives none, and calibrating them costs five more fits,
    which would be no fair training time. So tables have the SVM's accuracy (its own vote) and ROC AUC (from
    `decision_function`), but neither log loss nor calibration error.
    """

    def __init__(self, scale: bool = False, *, C: float = 1.0, gamma: str | float = "scale"):
        self.scale = scale
        self.C = C
        self.gamma = gamma

    def fit(self, X, y) -> SVMClassifier:
        """Train the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : SVMClassifier

        Raises
        ------
        ValueError
            If a parameter is out of range, or the rows are of one class.
        """
        check_scalar(self.C, "C", Real, min_val=0, include_boundaries="neither")
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        self.classes_, codes = encode_classes(y, type(self).__name__)
        preprocessing = [MedianFill(), StandardScaler()] if self.scale else [MedianFill()]
        self.machine_ = make_pipeline(*preprocessing, SVC(kernel="rbf", C=self.C, gamma=self.gamma)).fit(X, codes)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Signed distance for two classes, one-against-rest scores made of the pairwise ones for more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The greater, the more the row belongs to the second class, or to the column's class.
        """
        X = self._validated(X)
        return self.machine_.decision_function(X)

    def predict(self, X) -> np.ndarray:
        """Class with most pairwise votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._validated(X)
        codes = self.machine_.predict(X)
        return self.classes_[codes]

    def _validated(self, X) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float32, ensure_all_finite="allow-nan", reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
