"""MDA of a deep forest: by how much accuracy falls when a feature is permuted."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted
from cascadeforest.experiments.importance_arrays import check_kind, decrease_in_accuracy


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Mean decrease of accuracy (regression: increase of the RMSE) over permutations, on held-out rows.

    Raises
    ------
    ConfigError
        If the model is no cascade.
    """
    check_kind("mda_df", fitted, of_forest=False)
    return decrease_in_accuracy(fitted)
