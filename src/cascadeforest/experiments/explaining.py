"""The explainer of a cell's model, for the extras that save explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cascadeforest.experiments.fitting import Fitted

if TYPE_CHECKING:
    from cascadeforest.cascade.explainable import ExplainableCascade
    from cascadeforest.explanations import Explainer


def explainer_of(fitted: Fitted, calibration: str = "partial") -> Explainer:
    """Explain the model by its own preset: the released cascade by the rules of the released code.

    Parameters
    ----------
    fitted : Fitted
        The model with its training rows; one without a preset is explained as the paper says.
    calibration : str
        As in `Explainer`.

    Returns
    -------
    Explainer
    """
    from cascadeforest.explanations.explainer import Explainer

    estimator = fitted.estimator
    return Explainer(
        cast("ExplainableCascade", estimator),  # which others the explainer refuses
        fitted.X_train,
        fitted.split.y_train,
        calibration=calibration,
        preset=getattr(estimator, "preset", None) or "paper",
        n_jobs=getattr(estimator, "n_jobs", None),
    )
