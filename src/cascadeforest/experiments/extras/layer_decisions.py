"""Where in a cascade test rows are decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """What a cascade would predict if it ended at each layer, and the layer that decides each test row.

    Rows do not leave a cascade without screening: its last layer decides them all.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    staged = np.array(list(estimator.staged_predict(fitted.X_test)), dtype=np.int64)
    if hasattr(estimator, "decision_level"):
        level = estimator.decision_level(fitted.X_test).astype(np.int64)
    else:
        level = np.full(len(y), len(staged) - 1)
    return {"staged_predicted": staged, "decision_level": level, "y_test": y}
