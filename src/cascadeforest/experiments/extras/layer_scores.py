"""How well each layer of a cascade predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Accuracy (regression: root mean squared error) of training rows, out of fold, and of test rows at each layer.

    Only layers that the cascade kept can predict: the curve of the training rows may be longer.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    if getattr(estimator, "scoring", None) is not None:
        raise ConfigError(
            f"config/models.yaml: scoring is {estimator.scoring!r}, but the extra 'layer_scores' compares accuracy (or "
            "RMSE) of training and test rows. Leave scoring out."
        )
    train = np.asarray(fitted.attribute("layer_scores", "validation_scores_"), np.float64)
    stages = estimator.staged_predict(fitted.X_test)
    if fitted.task == "regression":
        return {"train": -train, "test": np.array([np.sqrt(np.mean((p - y) ** 2)) for p in stages])}
    return {"train": train, "test": np.array([np.mean(p == y) for p in stages])}
