"""MDI of a deep forest, with the paper's calibration."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted
from cascadeforest.experiments.importance_arrays import check_kind, decrease_in_impurity


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Held-out MDI of the last layer, calibration partial (interpretation paper, Eqs. 25, 26 and 31).

    Raises
    ------
    ConfigError
        If the model is no cascade.
    """
    check_kind("mdi_df", fitted, of_forest=False)
    return decrease_in_impurity(fitted, "held_out", "partial")
