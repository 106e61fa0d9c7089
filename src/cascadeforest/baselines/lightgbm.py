"""LightGBM for any class labels (arena)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState


class LightGBMClassifier(ProbabilisticBaseline):
    """``lightgbm.LGBMClassifier`` with equal results for any number of threads.

    Parameters
    ----------
    n_estimators : int
        Number of boosting rounds; each grows one tree per class (a single tree for two classes).
    num_leaves : int
        Largest number of leaves of a tree, at least 2.
    learning_rate : float
        Shrinkage of each tree.
    min_child_samples : int
        Fewest training rows of a leaf.
    colsample_bytree : float
        Share of the features that each tree sees, in (0, 1].
    reg_lambda : float
        L2 penalty of the leaves' values.
    n_jobs : int or None
        Threads; None means one, -1 all.
    random_state : int, RandomState instance or None
        Seed. With ``colsample_bytree=1`` it has no effect: repeats on one split give equal results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    booster_ : lightgbm.LGBMClassifier
        The fitted library model, on class codes. Each cut learns the side of missing values.

    Notes
    -----
    All defaults are those of the library. It runs in its deterministic mode, with histograms of rows.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        min_child_samples: int = 20,
        colsample_bytree: float = 1.0,
        reg_lambda: float = 0.0,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.num_leaves, "num_leaves", Integral, min_val=2)
        check_scalar(self.learning_rate, "learning_rate", Real, min_val=0, include_boundaries="neither")
        check_scalar(self.min_child_samples, "min_child_samples", Integral, min_val=1)
        check_scalar(self.colsample_bytree, "colsample_bytree", Real, min_val=0, max_val=1, include_boundaries="right")
        check_scalar(self.reg_lambda, "reg_lambda", Real, min_val=0)

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        self.booster_ = LGBMClassifier(
            n_estimators=self.n_estimators,
            num_leaves=self.num_leaves,
            learning_rate=self.learning_rate,
            min_child_samples=self.min_child_samples,
            colsample_bytree=self.colsample_bytree,
            reg_lambda=self.reg_lambda,
            n_jobs=1 if self.n_jobs is None else self.n_jobs,  # the library reads None as all cores
            random_state=entropy_of(self.random_state) % 2**31,  # the library takes 31 bits
            deterministic=True,
            force_row_wise=True,
            verbose=-1,
        ).fit(X, codes)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            # The library names the columns of an array itself, and then finds that another array has no names.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.booster_.predict_proba(X))
