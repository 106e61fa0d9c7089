"""Margins at each layer of mdDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Standard deviation over mean of the margins of training rows, out of fold, and of test rows at each layer.

    Infinite where the mean is not positive. Test rows of a class that no training row has do not count: `n_test` says
    how many do.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    train = np.asarray(fitted.attribute("margin_ratios", "margin_ratio_"), np.float64)
    known = np.isin(y, estimator.classes_)
    test = []
    for z in estimator.staged_margins(fitted.X_test[known], y[known]):
        mean = np.mean(z)
        test.append(np.std(z) / mean if mean > 0 else np.inf)
    return {"train": train, "test": np.array(test), "n_test": np.array(np.count_nonzero(known))}
