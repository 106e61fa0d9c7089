"""Stratified folds for any data set, also if a class has fewer rows than there are folds."""

from __future__ import annotations

import numpy as np


def stratified_folds(strata: np.ndarray, n_folds: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Assign rows to folds so that each fold has its share of every stratum.

    The sizes of folds differ by at most one, and so do the numbers of rows of a stratum in the folds. This is
    scikit-learn's ``StratifiedKFold(shuffle=True)``, but for any data: scikit-learn raises an error if all classes have
    fewer rows than there are folds. A class of one row is in one fold; the forest that predicts the row has not seen
    the class.

    Parameters
    ----------
    strata : ndarray of shape (n,), int
        Classes; equal numbers for plain folds.
    n_folds : int
        Number of folds; at most the number of rows is used.
    seed : SeedSequence
        Seed of the shuffle.

    Returns
    -------
    ndarray of shape (n,), uint16
        Number of each row's fold.
    """
    n = len(strata)
    n_folds = min(n_folds, n)
    shuffled = np.random.default_rng(seed).permutation(n)
    dealt = shuffled[np.argsort(strata[shuffled], kind="stable")]
    folds = np.empty(n, np.uint16)
    folds[dealt] = np.arange(n) % n_folds
    return folds
