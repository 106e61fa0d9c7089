"""Multilayer perceptron whose architecture is chosen on held-out training rows (mddf, section 5; ddbf, section 4)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState
from cascadeforest.forest.seeds import whole_seed_at

#: Hidden layers of the architectures that mddf examines, in its order.
ARCHITECTURES = ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))

# First part of a seed's address: what the randomness is for.
_SPLIT, _CANDIDATE, _FINAL = range(3)


class SelectedMLPClassifier(ProbabilisticBaseline):
    """Multilayer perceptron: choose the architecture on held-out training rows, then refit on all training rows.

    Parameters
    ----------
    architectures : sequence of sequences of int
        Units of the hidden layers, one entry per candidate. With one candidate nothing is held out.
    max_iter : int
        Maximum number of epochs, for the candidates and for the final network.
    validation_fraction : float
        Share of the training rows, stratified by class, on which the candidates are compared.
    random_state : int, RandomState instance or None
        Seed of the validation rows, the initial weights and the batches.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    architecture_ : tuple of int
        Hidden layers of the chosen architecture: the first with the highest validation accuracy.
    validation_scores_ : ndarray of shape (n_architectures,) or None
        Accuracy on the validation rows; None if there was only one candidate.
    n_iter_ : int
        Number of epochs of the final network.
    network_ : sklearn.pipeline.Pipeline
        Median fill, standard scaling, network; fitted on all training rows.

    Notes
    -----
    As in the papers: ReLU, cross-entropy, no dropout, architecture chosen on a validation set, final network trained
    on the whole training set. Deviations: Adam instead of Adadelta, which scikit-learn does not have; inputs are scaled
    to mean 0 and variance 1. The papers state neither the size of their validation set nor the length of training (here
    until the training loss does not improve for 10 epochs, or `max_iter`). Missing values become medians.
    """

    def __init__(
        self,
        architectures: Sequence[Sequence[int]] = ARCHITECTURES,
        *,
        max_iter: int = 200,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
    ):
        self.architectures = architectures
        self.max_iter = max_iter
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.max_iter, "max_iter", Integral, min_val=1)
        check_scalar(
            self.validation_fraction, "validation_fraction", Real, min_val=0, max_val=1, include_boundaries="neither"
        )
        if not len(self.architectures):
            raise ValueError("architectures is empty; give at least one, such as [[70, 50]].")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        architectures = [tuple(hidden) for hidden in self.architectures]
        entropy = entropy_of(self.random_state)

        self.validation_scores_ = None
        best = 0
        if len(architectures) > 1:
            held_out = validation_rows(codes, self.validation_fraction, whole_seed_at(entropy, _SPLIT))
            self.validation_scores_ = np.zeros(len(architectures))
            with warnings.catch_warnings():
                # Candidates are compared at the same budget, exhausted or not; the final network still warns.
                warnings.simplefilter("ignore", ConvergenceWarning)
                for i, hidden in enumerate(architectures):
                    seed = whole_seed_at(entropy, _CANDIDATE, i)
                    candidate = self._fitted_network(X[~held_out], codes[~held_out], hidden, seed)
                    self.validation_scores_[i] = candidate.score(X[held_out], codes[held_out])
            best = int(self.validation_scores_.argmax())
        self.architecture_ = architectures[best]
        self.network_ = self._fitted_network(X, codes, self.architecture_, whole_seed_at(entropy, _FINAL))
        self.n_iter_ = self.network_[-1].n_iter_

    def _fitted_network(self, X: np.ndarray, codes: np.ndarray, hidden: tuple[int, ...], seed: int) -> Pipeline:
        network = MLPClassifier(hidden, activation="relu", solver="adam", max_iter=self.max_iter, random_state=seed)
        return make_pipeline(MedianFill(), StandardScaler(), network).fit(X, codes)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.network_.predict_proba(X)


def validation_rows(codes: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Draw the validation rows on which candidates are compared: the same share of every class.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class codes.
    fraction : float
        Share of rows to draw, in (0, 1).
    seed : int
        Decides which rows.

    Returns
    -------
    held_out : ndarray of shape (n_samples,), bool
        At least one row is drawn and at least one row of each class is not.

    Raises
    ------
    ValueError
        If each class has only one row: no row can be held out.

    Notes
    -----
    scikit-learn's stratified splitters raise an error for a class of one row, and for fewer validation rows than
    classes. Both occur here (a fold of Arrhythmia, the subsamples of the smoke suite).
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]  # by class, at random within it
    first_of_class = np.diff(codes[order], prepend=-1) > 0
    if first_of_class.all():
        raise ValueError(
            f"architectures cannot be compared: each of the {len(codes)} rows is the only one of its class. "
            "Give more rows, or a single architecture."
        )
    # Every (1/fraction)-th row along the sorted order: each class gives its share, up to one row.
    steps = np.floor(fraction * np.arange(1, len(codes) + 1))
    drawn = (np.diff(steps, prepend=0) > 0) & ~first_of_class
    if not drawn.any():
        drawn[np.flatnonzero(~first_of_class)[0]] = True
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order[drawn]] = True
    return held_out
