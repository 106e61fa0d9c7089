"""What a model of two features predicts everywhere, and for its training and test rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: Points along each feature, and the share of its range that is shown beyond the rows.
N_POINTS, MARGIN = 200, 0.08


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Predicted class and its probability on a grid, and all rows with true and predicted class.

    Raises
    ------
    ConfigError
        If there are not two features.
    """
    import numpy as np

    estimator, split = fitted.estimator, fitted.split
    if fitted.X_train.shape[1] != 2:
        raise ConfigError(
            f"config/experiments: the extra 'decision_grid' shows two features, but {fitted.dataset} has "
            f"{fitted.X_train.shape[1]}. Take another data set, or leave the extra out."
        )
    everyone = np.concatenate([fitted.X_train, fitted.X_test])
    low, high = everyone.min(axis=0), everyone.max(axis=0)
    margin = MARGIN * (high - low)
    x, y = (np.linspace(low[k] - margin[k], high[k] + margin[k], N_POINTS) for k in range(2))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)]).astype(fitted.X_train.dtype)
    return {
        "x": x,
        "y": y,
        "predicted": estimator.predict(grid).astype(np.int64).reshape(N_POINTS, N_POINTS),
        "confidence": estimator.predict_proba(grid).max(axis=1).reshape(N_POINTS, N_POINTS),
        "X_train": fitted.X_train,
        "y_train": np.asarray(split.y_train, np.int64),
        "predicted_train": estimator.predict(fitted.X_train).astype(np.int64),
        "X_test": fitted.X_test,
        "y_test": np.asarray(split.y_test, np.int64),
        "predicted_test": estimator.predict(fitted.X_test).astype(np.int64),
    }
