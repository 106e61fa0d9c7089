"""Seeds as addresses, and folds that every data set allows."""

from __future__ import annotations

import numpy as np


def seed_at(entropy: int, *address: int) -> np.random.SeedSequence:
    """The random numbers that belong to one place of a model: layer, forest, fold, purpose.

    They do not depend on what was drawn elsewhere, so that neither the order of work nor a resumed run changes them.

    Parameters
    ----------
    entropy : int
        The model's own.
    *address : int
        The place.

    Returns
    -------
    SeedSequence
    """
    return np.random.SeedSequence(entropy, spawn_key=address)


def stratified_folds(strata: np.ndarray, n_folds: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Deal rows out to folds, stratum after stratum.

    Fold sizes differ by one at most, and so do the numbers of a stratum in each fold: scikit-learn's
    ``StratifiedKFold(shuffle=True)``, for any data. It refuses classes that all have fewer rows than there are folds;
    here a class of one row is in one fold, and unknown to the forest that predicts this row.

    Parameters
    ----------
    strata : ndarray of shape (n,), int
        Classes; equal numbers for plain folds.
    n_folds : int
        Folds; not more than rows are used.
    seed : SeedSequence
        Decides who is with whom.

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
