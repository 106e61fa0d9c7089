"""Types of parameters that several estimators have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

MatrixLike = ArrayLike | scipy.sparse.spmatrix | scipy.sparse.sparray
RandomState = int | np.random.RandomState | None
MaxFeatures = int | float | str | None
ClassWeight = dict[Any, float] | str | None
#: A score of true and predicted values.
Score = Callable[[np.ndarray, np.ndarray], float]
#: A scorer of scikit-learn, by name or as a function of (estimator, X, y).
Scorer = str | Callable[..., float] | None
