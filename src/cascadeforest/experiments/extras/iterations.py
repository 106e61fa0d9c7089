"""What each iteration of DDBF found easy, and what it cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: An iteration of the fit ends with a line in the log.
NEEDS_LOG = True


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Rows of each class that reached each iteration and those that it decided, and CPU seconds by iteration.

    `easy_counts_train` and `easy_counts_test` are rows that the iteration found easy; of test rows the last iteration
    decides all that are left (`decided_counts_test`). `is_valid`: whether the division of the iteration stands (rule
    2). `fell_back`: whether the mean took the place of mutual information, which passed no row. Times of the fit are
    those of its log: an estimator keeps no clock.

    A model without iterations saves nothing.

    Raises
    ------
    ConfigError
        If the log does not have a line for each iteration.
    """
    import numpy as np

    estimator, split = fitted.estimator, fitted.split
    if not hasattr(estimator, "easy_counts_"):
        return {}
    reached = fitted.attribute("iterations", "class_counts_")
    easy = fitted.attribute("iterations", "easy_counts_")
    n_iterations, n_classes = reached.shape
    ends = [seconds for seconds, line in fitted.log if not line or line.startswith("iteration ")]
    if len(ends) <= n_iterations:
        raise ConfigError(
            f"The extra 'iterations' needs a line in the log for each of {n_iterations} iterations, and "
            f"{type(estimator).__name__} logged {max(len(ends) - 1, 0)} while it was fitted."
        )
    fit_seconds = np.diff(ends)[:n_iterations]

    def of_class(rows: np.ndarray) -> np.ndarray:
        """Test rows of each class; classes that no training row has have no column."""
        known = np.isin(split.y_test[rows], estimator.classes_)
        return np.bincount(np.searchsorted(estimator.classes_, split.y_test[rows][known]), minlength=n_classes)

    left = np.arange(len(split.y_test))
    reached_test, easy_test, decided_test, predict_seconds = [], [], [], []
    iterations = estimator.iterate(fitted.X_test)
    for iteration in range(n_iterations):
        started = time.process_time()
        rows, _ = next(iterations)
        predict_seconds.append(time.process_time() - started)
        reached_test.append(of_class(left))
        decided_test.append(of_class(rows))
        easy_test.append(of_class(left[estimator.easy(fitted.X_test[left], iteration)] if len(left) else left))
        left = np.setdiff1d(left, rows)
    return {
        "is_valid": np.array([layer.is_valid for layer in estimator.layers_]),
        "fell_back": np.array([layer.threshold_kind != estimator.threshold for layer in estimator.layers_]),
        "class_counts_train": np.asarray(reached, np.int64),
        "easy_counts_train": np.asarray(easy, np.int64),
        "class_counts_test": np.array(reached_test, np.int64),
        "easy_counts_test": np.array(easy_test, np.int64),
        "decided_counts_test": np.array(decided_test, np.int64),
        "fit_cpu_seconds": np.asarray(fit_seconds, np.float64),
        "predict_cpu_seconds": np.array(predict_seconds, np.float64),
    }
