"""A random forest on rows resampled to classes of equal size (not in the papers; shown beside ddbf, Fig. 4)."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from imblearn.over_sampling import RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from sklearn.utils import check_scalar

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.forest._base import X_DTYPES
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest._types import RandomState
from cascadeforest.forest.estimators import RandomForestClassifier
from cascadeforest.forest.seeds import whole_seed_at

# First part of a seed's address: what the randomness is for.
_SAMPLING, _FOREST = range(2)


class ResampledForestClassifier(ProbabilisticBaseline):
    """Random forest of this package on rows that imbalanced-learn resampled to classes of equal size.

    Parameters
    ----------
    n_estimators : int
        Trees.
    sampler : {'under', 'over'}
        'under' draws rows without replacement, so that every class has as many rows as the smallest class; 'over'
        repeats rows, drawn with replacement, until every class has as many rows as the largest class.
    n_jobs : int or None
        Number of threads of the forest; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState instance or None
        Seed. The sampler and the forest get different seeds derived from it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    n_sampled_rows_ : int
        Number of rows after sampling, repetitions included, that the forest learned from.
    forest_ : RandomForestClassifier
        The fitted forest, on class codes. Each cut learns the side of missing values.

    Notes
    -----
    Predicted probabilities assume equally frequent classes, as in the sampled rows.

    The rows are drawn once, and each tree learns from a bootstrap of them. To balance every bootstrap instead, use
    ``RandomForestClassifier(class_weight="balanced_subsample")``. Out-of-bag scores of `forest_` have no meaning after
    over-sampling: one copy of a repeated row may be in-bag while another copy is out-of-bag.
    """

    _dtypes = X_DTYPES  # the forest's types, so that values are not converted

    def __init__(
        self,
        n_estimators: int = 500,
        *,
        sampler: str = "under",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.sampler = sampler
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        entropy = entropy_of(self.random_state)
        rows = sampled_rows(codes, self.sampler, whole_seed_at(entropy, _SAMPLING))
        self.n_sampled_rows_ = len(rows)
        self.forest_ = RandomForestClassifier(
            self.n_estimators, n_jobs=self.n_jobs, random_state=whole_seed_at(entropy, _FOREST)
        ).fit(X[rows], codes[rows])

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.forest_.predict_proba(X)


def sampled_rows(codes: np.ndarray, sampler: str, seed: int) -> np.ndarray:
    """Draw rows until all classes have the same number of them.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class codes, of at least two classes.
    sampler : {'under', 'over'}
        Whether all classes get the size of the smallest class or of the largest class.
    seed : int
        Seed of the draw.

    Returns
    -------
    rows : ndarray of shape (n_sampled_rows,), int
        Row numbers. 'over' keeps every row once, in order, and appends the repeated rows.

    Raises
    ------
    ValueError
        If `sampler` has another value.
    """
    if sampler == "under":
        balance = RandomUnderSampler(random_state=seed)
    elif sampler == "over":
        balance = RandomOverSampler(random_state=seed)
    else:
        raise ValueError(f"sampler is {sampler!r}; choose 'under' or 'over'.")
    # The samplers copy their input, so they get row numbers instead of the data.
    numbers = np.arange(len(codes))[:, np.newaxis]
    rows, _ = balance.fit_resample(numbers, codes)
    return rows[:, 0]
