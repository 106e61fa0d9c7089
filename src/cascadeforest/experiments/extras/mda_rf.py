"""MDA of a random forest: by how much accuracy falls when a feature is permuted."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted
from cascadeforest.experiments.importance_arrays import check_kind, decrease_in_accuracy


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Mean decrease of accuracy (regression: increase of the RMSE) over permutations, on held-out rows.

    Raises
    ------
    ConfigError
        If the model is no forest.
    """
    check_kind("mda_rf", fitted, of_forest=True)
    return decrease_in_accuracy(fitted)
