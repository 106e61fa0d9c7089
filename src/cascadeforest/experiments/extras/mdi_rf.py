"""MDI of a random forest, as it falls out of training."""

from __future__ import annotations

from typing import Any

from cascadeforest.experiments.extras import Fitted
from cascadeforest.experiments.importance_arrays import check_kind, measured


def arrays(fitted: Fitted) -> dict[str, Any]:
    """Sum of the decreases in impurity of each feature's splits (interpretation paper, Eqs. 6 and 9); the fit had them.

    Raises
    ------
    ConfigError
        If the model is no forest.
    """
    check_kind("mdi_rf", fitted, of_forest=True)
    return measured(lambda: fitted.estimator.mean_decrease_impurity_)
