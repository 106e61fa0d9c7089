"""Importance of the original features for each class (local MDI)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Local MDI of held-out training rows at the last layer: a line a class, a column a feature; and the class codes.

    Raises
    ------
    ConfigError
        In regression.
    """
    import numpy as np

    from cascadeforest.experiments.explaining import explainer_of

    if fitted.task == "regression":
        raise ConfigError(
            f"config/experiments: the extra 'class_importances' is of classes, but {fitted.dataset} is a regression. "
            "Take another data set, or the extra 'layer_importances'."
        )
    return {
        "importances": explainer_of(fitted).class_importances(),
        "classes": np.asarray(fitted.estimator.classes_, np.int64),
    }
