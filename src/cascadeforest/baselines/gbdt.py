"""Gradient boosted decision trees: scikit-learn's exact algorithm (hidf, Table II; ddbf, Tables 1-3)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.forest._types import RandomState


class GBDTClassifier(ProbabilisticBaseline):
    """scikit-learn's ``GradientBoostingClassifier``; missing values are replaced by medians.

    Parameters
    ----------
    n_estimators : int
        Number of boosting rounds; each grows one tree per class (a single tree for two classes). hiDF: 500.
    max_depth : int
        Depth of each tree. 6 in hiDF's text, 10 in its released code.
    learning_rate : float
        Shrinkage of each tree. No paper states it; the default is the library's.
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
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.max_depth, "max_depth", Integral, min_val=1)
        check_scalar(self.learning_rate, "learning_rate", Real, min_val=0, include_boundaries="neither")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        booster = GradientBoostingClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        )
        self.booster_ = make_pipeline(MedianFill(), booster).fit(X, codes)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.booster_.predict_proba(X)
