"""A random forest on rows drawn until the classes are of one size (not in the papers; beside ddbf, Fig. 4)."""

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
    """Our random forest behind a random sampler of imbalanced-learn, the plain remedy for classes of unequal size.

    Parameters
    ----------
    n_estimators : int
        Trees.
    sampler : {'under', 'over'}
        'under' drops rows, without replacement, until every class has as many as the smallest; 'over' repeats rows,
        drawn with replacement, until every class has as many as the largest.
    n_jobs : int or None
        Threads of the forest; None means one, -1 all. The result does not depend on it.
    random_state : int, RandomState instance or None
        Decides the rows and the forest, each with a seed of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    n_sampled_rows_ : int
        Rows after sampling, repeated ones counted each time: what the forest learned from.
    forest_ : RandomForestClassifier
        The fitted forest, on class codes. Missing values learn a side at each cut.

    Notes
    -----
    Class probabilities hold for rows like the sampled rows, whose classes are equally frequent.

    The rows are drawn once and all trees learn from them, each on its own bootstrap; a forest that balances every
    bootstrap by itself is ``RandomForestClassifier(class_weight="balanced_subsample")``. Out-of-bag scores of `forest_`
    would mean nothing after over-sampling: of a repeated row, one copy is in the bag of a tree and another is not.
    """

    _dtypes = X_DTYPES  # those of the forest, which is to see the same numbers as without us

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
        Whether all classes get the size of the smallest or of the largest one.
    seed : int
        Decides which rows.

    Returns
    -------
    rows : ndarray of shape (n_sampled_rows,), int
        Numbers of rows. 'over' keeps every row once, in order, and appends the repeated ones.

    Raises
    ------
    ValueError
        If `sampler` is neither.
    """
    if sampler == "under":
        balance = RandomUnderSampler(random_state=seed)
    elif sampler == "over":
        balance = RandomOverSampler(random_state=seed)
    else:
        raise ValueError(f"sampler is {sampler!r}; choose 'under' or 'over'.")
    # The samplers copy what they are given: numbers of rows here, in place of the data.
    numbers = np.arange(len(codes))[:, np.newaxis]
    rows, _ = balance.fit_resample(numbers, codes)
    return rows[:, 0]
