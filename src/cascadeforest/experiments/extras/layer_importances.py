"""Importance of the original features at each layer of a cascade, and of all columns that its second layer sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np

#: The layer whose columns are saved: the first that sees what forests before it predict.
LAYER = 2


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """MDI of held-out training rows as if the cascade ended at each layer, and in the bag of the columns of layer 2.

    `importances` has a line a layer and a column a feature. `columns` are the original features, then those that layer
    1 added; empty where the cascade kept layer 1 only. `n_added` says how many were added.
    """
    import numpy as np

    from cascadeforest.experiments.explaining import explainer_of

    explainer = explainer_of(fitted)
    columns = explainer.column_importances("in_bag", LAYER) if explainer.n_layers >= LAYER else np.empty(0)
    return {
        "importances": np.array(list(explainer.staged_importances("held_out"))),
        "columns": columns,
        "n_added": np.array(max(len(columns) - fitted.X_train.shape[1], 0)),
    }
