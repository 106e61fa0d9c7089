"""Support vector machine with the RBF kernel, on raw or on scaled features (hidf, Table II)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import Baseline
from cascadeforest.baselines.missing import MedianFill


class SVMClassifier(ClassifierMixin, Baseline):
    """RBF support vector machine (one-vs-one), after median fill and optional standard scaling.

    Parameters
    ----------
    scale : bool
        Scale each feature to mean 0 and variance 1. hiDF's released code does not scale, which explains the low numbers
        of the SVM in its Table II.
    C : float
        Cost of margin violations.
    gamma : {'scale', 'auto'} or float
        Kernel width, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    machine_ : sklearn.pipeline.Pipeline
        Median fill, scaling (optional), support vector machine.

    Notes
    -----
    There is no `predict_proba`: votes of pairwise machines are not probabilities, and calibration needs five more fits,
    which would distort the training time. Tables therefore show the SVM's accuracy (by votes) and ROC AUC (from
    `decision_function`), but neither log loss nor calibration error.
    """

    def __init__(self, scale: bool = False, *, C: float = 1.0, gamma: str | float = "scale"):
        self.scale = scale
        self.C = C
        self.gamma = gamma

    def _check_parameters(self) -> None:
        check_scalar(self.C, "C", Real, min_val=0, include_boundaries="neither")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        preprocessing = [MedianFill(), StandardScaler()] if self.scale else [MedianFill()]
        self.machine_ = make_pipeline(*preprocessing, SVC(kernel="rbf", C=self.C, gamma=self.gamma)).fit(X, codes)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Signed distances for two classes; for more classes, one-vs-rest scores computed from pairwise scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            A larger score speaks for the second class, or for the column's class.
        """
        X = self._samples(X)
        return self.machine_.decision_function(X)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class with the most pairwise votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN = missing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._samples(X)
        return self.classes_[self.machine_.predict(X)]
