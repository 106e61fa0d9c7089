"""What each iteration of DDBF found easy, and what it cost."""

from __future__ import annotations

import logging
import time
from typing import Any

from cascadeforest.experiments.extras import Fitted

_LOGGER = "cascadeforest"


class _Clock(logging.Handler):
    """Notes the CPU time of the process at each line that an iteration ends with."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = [time.process_time()]

    def emit(self, record: logging.LogRecord) -> None:
        if str(record.msg).startswith("iteration "):
            self.seconds.append(time.process_time())


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Rows of each class that reached each iteration and those that it decided, and CPU seconds by iteration.

    `easy_counts_train` and `easy_counts_test` are rows that the iteration found easy; of test rows the last iteration
    decides all that are left (`decided_counts_test`). `is_valid`: whether the division of the iteration stands (rule
    2). `fell_back`: whether the mean took the place of mutual information, which passed no row. Times of the fit are
    those of a second one: an estimator keeps no clock. Counts of the two fits are compared.

    A model without iterations saves nothing.

    Raises
    ------
    AssertionError
        If the second fit is not the same.
    """
    import numpy as np
    from sklearn.base import clone

    estimator, split = fitted.estimator, fitted.split
    if not hasattr(estimator, "easy_counts_"):
        return {}
    reached = fitted.attribute("iterations", "class_counts_")
    easy = fitted.attribute("iterations", "easy_counts_")
    n_iterations, n_classes = reached.shape

    clock, logger = _Clock(), logging.getLogger(_LOGGER)
    level = logger.level
    logger.addHandler(clock)
    try:
        again = clone(estimator).set_params(verbose=1)
        clock.seconds = [time.process_time()]
        again.fit(fitted.X_train, split.y_train)
    finally:
        logger.removeHandler(clock)
        logger.setLevel(level)
    if not np.array_equal(again.easy_counts_, easy):
        raise AssertionError(f"A second fit of {estimator} is not the same; its times say nothing about the first.")
    fit_seconds = np.diff(clock.seconds)[:n_iterations]

    def of_class(rows: Any) -> Any:
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
