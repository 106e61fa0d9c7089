"""What interactions a cascade found, and how important they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Features and interactions, a number each: order, layer, importance, stability, and the rules as text.

    Features have order 1, layer 0 and stability NaN. `importance` is the mean decrease in impurity, `root_importance`
    the largest decrease by a root split.
    """
    import numpy as np

    found = fitted.attribute("interactions", "interactions_")
    estimator = fitted.estimator
    n_features = estimator.n_features_in_
    return {
        "order": np.array([1] * n_features + [one.order for one in found], np.int64),
        "layer": np.array([0] * n_features + [one.layer for one in found], np.int64),
        "stability": np.array([np.nan] * n_features + [one.stability for one in found]),
        "importance": np.asarray(estimator.importances_, np.float64),
        "root_importance": np.asarray(estimator.root_importances_, np.float64),
        "rule": np.array([str(one) for one in found], np.str_),
        "n_new": np.asarray(estimator.n_new_, np.int64),
    }
