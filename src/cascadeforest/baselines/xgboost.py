"""XGBoost for any class labels (hidf, Table II; mddf, Table 1; ddbf, Table 1)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_scalar
from xgboost import XGBClassifier

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState


class XGBoostClassifier(ProbabilisticBaseline):
    """``xgboost.XGBClassifier`` for any class labels.

    The library accepts only the labels 0, 1, ... without a gap, but a fold may lack a rare class.

    Parameters
    ----------
    n_estimators : int
        Number of boosting rounds; each grows one tree per class (a single tree for two classes). hiDF: 500.
    max_depth : int
        Depth of each tree. hiDF: 6, the library's default.
    learning_rate : float
        Shrinkage of each tree. No paper states it; the default is the library's.
    min_child_weight : float
        Fewest training rows of a leaf, weighted by their second derivatives.
    colsample_bytree : float
        Share of the features that each tree sees, in (0, 1].
    reg_lambda : float
        L2 penalty of the leaves' values.
    tree_method : {'hist', 'exact', 'approx'}
        How cuts are found. Deviation: 'hist', today's default. When the papers were written, the library used 'exact'
        for data of this size, which is several times slower.
    n_jobs : int or None
        Threads; None means one, -1 all.
    random_state : int, RandomState instance or None
        Seed. It has no effect with ``colsample_bytree=1``: repeats on one split give equal results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    booster_ : xgboost.XGBClassifier
        The fitted library model, on class codes. Each cut learns the side of missing values.
    """

    def __init__(
        self,
        n_estimators: int = 500,
        *,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        min_child_weight: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_lambda: float = 1.0,
        tree_method: str = "hist",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_child_weight = min_child_weight
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.tree_method = tree_method
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.max_depth, "max_depth", Integral, min_val=1)
        check_scalar(self.learning_rate, "learning_rate", Real, min_val=0, include_boundaries="neither")
        check_scalar(self.min_child_weight, "min_child_weight", Real, min_val=0)
        check_scalar(self.colsample_bytree, "colsample_bytree", Real, min_val=0, max_val=1, include_boundaries="right")
        check_scalar(self.reg_lambda, "reg_lambda", Real, min_val=0)
        if self.tree_method not in ("hist", "exact", "approx"):
            raise ValueError(f"tree_method is {self.tree_method!r}; choose one of 'hist', 'exact', 'approx'.")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        self.booster_ = XGBClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            min_child_weight=self.min_child_weight,
            colsample_bytree=self.colsample_bytree,
            reg_lambda=self.reg_lambda,
            tree_method=self.tree_method,
            n_jobs=1 if self.n_jobs is None else self.n_jobs,  # the library reads None as all cores
            random_state=entropy_of(self.random_state),
        ).fit(X, codes)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.booster_.predict_proba(X)
