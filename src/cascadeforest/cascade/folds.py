"""Folds that every data set allows, also one with classes of fewer rows than folds."""

from __future__ import annotations

import numpy as np


def stratified_folds(strata: np.ndarray, n_folds: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Assign rows to folds so that each fold has its share of every stratum.

    Fold sizes differ by one at most, and so do the numbers of a stratum in each fold: scikit-learn's
    ``StratifiedKFold(shuffle=True)``, for any data. It refuses classes that all have fewer rows than there are folds;
    here a class of one row is in one fold, and unknown to the forest that predicts this row.

    Parameters
    ----------
    strata : ndarray of shape (n,), int
        Classes; equal numbers for plain folds.
    n_folds : int
        Number of folds; at most the number of rows is used.
    seed : SeedSequence
        Decides which rows share a fold.

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
