"""CatBoost for any class labels (arena)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from catboost import CatBoostClassifier as LibraryClassifier
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState


class CatBoostClassifier(ProbabilisticBaseline):
    """``catboost.CatBoostClassifier`` for numbers, without the files that the library writes.

    Parameters
    ----------
    n_estimators : int
        Number of boosting rounds; each grows one tree, whose leaves have a value for each class.
    max_depth : int
        Depth of each tree, at most 16.
    learning_rate : float or None
        Shrinkage of each tree. None: the library chooses it from the numbers of rows and rounds if `reg_lambda` is None
        too, and else takes 0.03.
    reg_lambda : float or None
        L2 penalty of the leaves' values. None: the library's, 3.
    n_jobs : int or None
        Threads; None means one, -1 all.
    random_state : int, RandomState instance or None
        Seed of the rows' weights and of the random parts of the cuts' scores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    booster_ : catboost.CatBoostClassifier
        The library model, on class codes. Missing values are smaller than all others.
    shares_ : ndarray of shape (n_classes,) or None
        Probabilities of the classes where no feature varies, which the library refuses; else None.

    Notes
    -----
    All defaults are those of the library.
    """

    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        max_depth: int = 6,
        learning_rate: float | None = None,
        reg_lambda: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(self.max_depth, "max_depth", Integral, min_val=1, max_val=16)
        if self.learning_rate is not None:
            check_scalar(self.learning_rate, "learning_rate", Real, min_val=0, include_boundaries="neither")
        if self.reg_lambda is not None:
            check_scalar(self.reg_lambda, "reg_lambda", Real, min_val=0)

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        booster = LibraryClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            # What is given, be it the default, changes what the library chooses.
            **({} if self.learning_rate is None else {"learning_rate": self.learning_rate}),
            **({} if self.reg_lambda is None else {"reg_lambda": self.reg_lambda}),
            thread_count=1 if self.n_jobs is None else self.n_jobs,  # the library reads None as all cores
            random_seed=entropy_of(self.random_state) % 2**31,
            allow_writing_files=False,
            verbose=False,
        )
        self.shares_ = None
        if ((X[:1] != X) & ~(np.isnan(X) & np.isnan(X[:1]))).any():
            booster.fit(X, codes)
        else:
            self.shares_ = np.bincount(codes) / len(codes)
        self.booster_ = booster

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        if self.shares_ is not None:
            return np.tile(self.shares_, (len(X), 1))
        return self.booster_.predict_proba(X)
