"""MDI-oob of a random forest: each tree on the rows that it did not draw."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted
from cascadeforest.experiments.importance_arrays import check_kind, decrease_in_impurity


def arrays(fitted: Fitted) -> dict[str, Any]:
    """MDI-oob of Li et al. (2019), with centred responses.

    Raises
    ------
    ConfigError
        If the model is no forest.
    """
    check_kind("mdi_oob_rf", fitted, of_forest=True)
    return decrease_in_impurity(fitted, "out_of_bag")
