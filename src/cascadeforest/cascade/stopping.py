"""When a cascade stops growing, and which layer it keeps."""

from __future__ import annotations

import inspect
import math
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring

from cascadeforest.forest._types import Scorer

#: Which grown layer is the last layer of the cascade.
KEEPS = ("best", "last")


class _Predicted(BaseEstimator):
    """An estimator that returns given predictions, for scorers of scikit-learn."""

    def __init__(self, values: np.ndarray, classes: np.ndarray | None = None):
        self.values = values
        self.classes_ = classes

    def fit(self, X: object = None, y: object = None) -> _Predicted:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _PredictedClasses(ClassifierMixin, _Predicted):
    def predict_proba(self, X: object) -> np.ndarray:
        return self.values

    def predict(self, X: object) -> np.ndarray:
        assert self.classes_ is not None
        return self.classes_[self.values.argmax(axis=1)]


class _PredictedTargets(RegressorMixin, _Predicted):
    def predict(self, X: object) -> np.ndarray:
        return self.values


class Scoring:
    """Scores out-of-fold predictions; greater is better.

    Parameters
    ----------
    scoring : str, callable or None
        Any scorer of scikit-learn. None: accuracy, or minus the root mean squared error.
    classes : ndarray or None
        Labels of the classes; None for regression.

    Raises
    ------
    ValueError
        If scikit-learn has no scorer of this name, or its scorer cannot score so many classes: "roc_auc" and "f1" need
        two.
    """

    def __init__(self, scoring: Scorer, classes: np.ndarray | None):
        self._classes = classes
        self._is_accuracy = scoring in (None, "accuracy") if not callable(scoring) else False
        self._is_accuracy &= classes is not None
        kind = _PredictedTargets if classes is None else _PredictedClasses
        default = "neg_root_mean_squared_error" if classes is None else "accuracy"
        try:
            self._scorer = check_scoring(kind(np.empty(0), classes), default if scoring is None else scoring)
            if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
                raise ValueError("one score decides, not several")
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"scoring is {scoring!r}; give None, the name of a scikit-learn scorer, or a function of "
                f"(estimator, X, y). ({error})"
            ) from error

        if isinstance(scoring, str) and classes is not None and len(classes) > 1:
            self._refuse_what_cannot_score(scoring, classes)
        # Scorers of scikit-learn accept `sample_weight`; functions may accept it.
        self._takes_weights = True
        if callable(scoring) and not hasattr(scoring, "_score_func"):
            self._takes_weights = "sample_weight" in inspect.signature(scoring).parameters

    def _refuse_what_cannot_score(self, scoring: str, classes: np.ndarray) -> None:
        """Raise an error, before anything is fitted, if the scorer refuses predictions of these classes."""
        n = len(classes)
        label = np.tile(np.arange(n), 3)
        predicted = np.where(np.arange(3 * n) < n, (label + 1) % n, label)  # a third is wrong: no score is undefined
        values = np.where(np.arange(n) == predicted[:, None], 0.6, 0.4 / (n - 1))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._scorer(_PredictedClasses(values, classes), None, classes[label])
        except ValueError as error:
            raise ValueError(
                f"scoring is {scoring!r}, which cannot score {n} classes such as {classes[0]!r}; choose a scorer that "
                f"can, for instance 'accuracy', 'roc_auc_ovr' or 'f1_macro'. ({error})"
            ) from error

    def __call__(self, y: np.ndarray, values: np.ndarray, weights: np.ndarray | None) -> float:
        """Score predictions.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Class numbers, or targets.
        values : ndarray of shape (n, n_classes) or (n,)
            Out-of-fold probabilities, or predicted targets.
        weights : ndarray of shape (n,) or None
            Weights of the rows; functions of (estimator, X, y) alone do not get them.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If the scorer does not return one finite number.
        """
        weighted = {} if weights is None or not self._takes_weights else {"sample_weight": weights}
        if self._classes is None:
            score = self._scorer(_PredictedTargets(values), None, y, **weighted)
        elif self._is_accuracy:
            score = np.average(values.argmax(axis=1) == y, weights=weights)
        else:
            score = self._scorer(_PredictedClasses(values, self._classes), None, self._classes[y], **weighted)
        try:
            score = float(score)
        except (TypeError, ValueError):
            raise ValueError(f"scoring gave {score!r}; a scorer returns one number, greater for better.") from None
        if not math.isfinite(score):
            raise ValueError(
                f"scoring gave {score} on out-of-fold predictions; choose a scorer that is defined on this data."
            )
        return score

    def cannot_rise(self, score: float) -> bool:
        """Whether no later layer can have a better score; known for accuracy only."""
        return self._is_accuracy and score >= 1.0


class BestLayer:
    """Keeps track of the best layer, the first one among equals, and decides when to stop.

    Parameters
    ----------
    patience : int
        Growing stops after this many consecutive layers that are not better than the best layer.
    tol : float
        A score is better if it exceeds the best score by more than this.
    cycle : int
        Number of consecutive layers that count as one for `patience`.
    """

    def __init__(self, patience: int, tol: float, cycle: int = 1):
        self.patience, self.tol, self.cycle = patience, tol, cycle
        self.index = -1
        self.scores: list[float] = []

    def is_better(self, score: float) -> bool:
        """Record the next layer's score; return whether it is the best so far."""
        self.scores.append(score)
        if self.index >= 0 and not score > self.scores[self.index] + self.tol:
            return False
        self.index = len(self.scores) - 1
        return True

    def n_kept(self, keep: str) -> int:
        """Number of layers to keep: up to the "best" layer, or all up to the "last"."""
        return len(self.scores) if keep == "last" else self.index + 1

    @property
    def is_over(self) -> bool:
        """Whether the last `patience` layers, or cycles of layers, were not better than the best layer."""
        return len(self.scores) - 1 - self.index >= self.patience * self.cycle
