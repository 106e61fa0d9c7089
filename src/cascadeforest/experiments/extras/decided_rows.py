"""How many rows a cascade decides before its last layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    import numpy as np


def arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """Training and test rows that each layer decides, and of DDBF those that the first iteration finds easy.

    `train` and `test` have an entry for each layer that the cascade kept, the last one for all rows that are left.
    `easy_train` and `easy_test` are numbers; a first iteration that is the only one decides the other rows too. A model
    that lets no row leave early saves nothing.
    """
    import numpy as np

    estimator = fitted.estimator
    if not hasattr(estimator, "decision_level"):
        return {}
    n_layers = int(fitted.attribute("decided_rows", "n_layers_"))
    levels = {"train": estimator.decision_level_, "test": estimator.decision_level(fitted.X_test)}
    found = {part: np.bincount(own[own >= 0], minlength=n_layers) for part, own in levels.items()}
    if hasattr(estimator, "easy_counts_"):
        found["easy_train"] = np.array(estimator.easy_counts_[0].sum())
        found["easy_test"] = np.array(np.count_nonzero(estimator.easy(fitted.X_test)))
    return found
