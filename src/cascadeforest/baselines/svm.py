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

    def _check_parameters(self) -> None:
        check_scalar(self.C, "C", Real, min_val=0, include_boundaries="neither")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        preprocessing = [MedianFill(), StandardScaler()] if self.scale else [MedianFill()]
        self.machine_ = make_pipeline(*preprocessing, SVC(kernel="rbf", C=self.C, gamma=self.gamma)).fit(X, codes)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
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
        X = self._samples(X)
        return self.machine_.decision_function(X)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Class with most pairwise votes.

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
