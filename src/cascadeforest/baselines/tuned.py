"""Any classifier with parameters that a random search on held-out training rows chooses (arena)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.baselines.mlp import validation_rows
from cascadeforest.forest._base import X_DTYPES
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState
from cascadeforest.forest.seeds import seed_at, whole_seed_at

# First part of a seed's address: what the randomness is for.
_ROWS, _SPLIT, _PARAMETERS, _CANDIDATE, _FINAL = range(5)


class TunedClassifier(ProbabilisticBaseline):
    """Random search: compare candidates on held-out training rows, then fit the best one on all training rows.

    Parameters
    ----------
    learner : mapping
        ``estimator``, the classifier's ``"package.module:Class"``, and ``params``, its parameters.
    space : mapping of str to mapping
        For each parameter that is searched either ``choice``, a list of values, or ``low`` and ``high``, with
        ``log: true`` for a logarithmic scale. Numbers are whole where both ends are.
    n_candidates : int
        Candidates, the learner's own parameters included, which are the first candidate.
    validation_fraction : float
        Share of the search's rows, stratified by class, on which the candidates are compared by log loss.
    search_rows : int or None
        Largest number of training rows that the search uses, drawn with the same share of every class, and one row of
        each class at least; None: all. The chosen candidate learns from all rows.
    n_jobs : int or None
        Threads, given to the learner.
    random_state : int, RandomState instance or None
        Seed of rows, candidates and learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    candidates_ : list of dict
        What each candidate changes; the first is empty.
    validation_losses_ : ndarray of shape (n_candidates,)
        Log loss of each candidate on the validation rows.
    chosen_ : dict
        The candidate of the lowest log loss, the first of equal ones.
    learner_ : classifier
        The chosen candidate, fitted on all training rows, on class codes.
    """

    _dtypes = X_DTYPES

    def __init__(
        self,
        learner: Mapping[str, Any],
        space: Mapping[str, Mapping[str, Any]],
        *,
        n_candidates: int = 20,
        validation_fraction: float = 0.2,
        search_rows: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.learner = learner
        self.space = space
        self.n_candidates = n_candidates
        self.validation_fraction = validation_fraction
        self.search_rows = search_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_candidates, "n_candidates", Integral, min_val=1)
        check_scalar(
            self.validation_fraction, "validation_fraction", Real, min_val=0, max_val=1, include_boundaries="neither"
        )
        if self.search_rows is not None:
            check_scalar(self.search_rows, "search_rows", Integral, min_val=2)
        known = self._unfitted({}, 0).get_params()
        for name, values in self.space.items():
            if name not in known:
                raise ValueError(
                    f"space has {name!r}, which {self.learner['estimator']} lacks; it has {sorted(known)}."
                )
            if not values.get("choice") and not {"low", "high"} <= values.keys():
                raise ValueError(f"space[{name!r}] is {dict(values)!r}; give a list `choice`, or `low` and `high`.")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        entropy = entropy_of(self.random_state)
        rows = np.arange(len(codes))
        if self.search_rows is not None and self.search_rows < len(codes):
            drawn = validation_rows(codes, self.search_rows / len(codes), whole_seed_at(entropy, _ROWS))
            drawn[np.unique(codes, return_index=True)[1]] = True  # a class of one row is not drawn
            rows = rows[drawn]
        held_out = validation_rows(codes[rows], self.validation_fraction, whole_seed_at(entropy, _SPLIT))
        learned, judged = rows[~held_out], rows[held_out]
        self.candidates_: list[dict[str, Any]] = [{}] + [
            self._draw(np.random.default_rng(seed_at(entropy, _PARAMETERS, i))) for i in range(1, self.n_candidates)
        ]
        self.validation_losses_ = np.zeros(self.n_candidates)
        for i, changes in enumerate(self.candidates_):
            candidate = self._unfitted(changes, whole_seed_at(entropy, _CANDIDATE, i)).fit(X[learned], codes[learned])
            probabilities = candidate.predict_proba(X[judged])
            self.validation_losses_[i] = log_loss(codes[judged], probabilities, labels=np.arange(len(self.classes_)))
        self.chosen_ = self.candidates_[int(self.validation_losses_.argmin())]
        self.learner_ = self._unfitted(self.chosen_, whole_seed_at(entropy, _FINAL)).fit(X, codes)

    def _draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the parameters of one candidate, each on its own."""
        return {name: _value(self.space[name], rng) for name in sorted(self.space)}

    def _unfitted(self, changes: Mapping[str, Any], seed: int) -> BaseEstimator:
        module, _, name = self.learner["estimator"].partition(":")
        estimator = getattr(importlib.import_module(module), name)(**{**self.learner.get("params", {}), **changes})
        given = {"random_state": seed, "n_jobs": self.n_jobs}
        known = estimator.get_params()
        return estimator.set_params(**{key: value for key, value in given.items() if key in known})

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.learner_.predict_proba(X)


def _value(values: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """Draw a value: an entry of `choice`, or a number between `low` and `high`."""
    if "choice" in values:
        choice: Sequence[Any] = values["choice"]
        return choice[int(rng.integers(len(choice)))]
    low, high = values["low"], values["high"]
    is_whole = isinstance(low, int) and isinstance(high, int)
    if is_whole:
        low, high = low - 0.5, high + 0.5  # each whole number has its share
    drawn = float(np.exp(rng.uniform(np.log(low), np.log(high))) if values.get("log") else rng.uniform(low, high))
    return int(np.clip(round(drawn), values["low"], values["high"])) if is_whole else drawn
