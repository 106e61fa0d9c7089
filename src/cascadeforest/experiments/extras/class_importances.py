"""Importance of the original features for each class (local MDI)."""

from __future__ import annotations

from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.extras import Fitted


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Local MDI of held-out training rows at the last layer: a line a class, a column a feature; and the class codes.

    Raises
    ------
    ConfigError
        In regression.
    """
    import numpy as np

    from cascadeforest.explanations.explainer import Explainer

    estimator = fitted.estimator
    if fitted.task == "regression":
        raise ConfigError(
            f"config/experiments: the extra 'class_importances' is of classes, but {fitted.dataset} is a regression. "
            "Take another data set, or the extra 'layer_importances'."
        )
    explainer = Explainer(estimator, fitted.X_train, fitted.split.y_train, n_jobs=getattr(estimator, "n_jobs", None))
    return {
        "importances": explainer.class_importances(),
        "classes": np.asarray(estimator.classes_, np.int64),
    }
