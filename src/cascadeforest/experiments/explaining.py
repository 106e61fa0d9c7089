"""The explainer of a cell's model, for the extras that save explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.experiments.extras import Fitted

if TYPE_CHECKING:
    from cascadeforest.explanations import Explainer


def explainer_of(fitted: Fitted) -> Explainer:
    """Explain the model by its own preset: the released cascade by the rules of the released code.

    Parameters
    ----------
    fitted : Fitted
        The model with its training rows; one without a preset is explained as the paper says.

    Returns
    -------
    Explainer
    """
    from cascadeforest.explanations.explainer import Explainer

    estimator = fitted.estimator
    return Explainer(
        estimator,
        fitted.X_train,
        fitted.split.y_train,
        preset=getattr(estimator, "preset", "paper"),
        n_jobs=getattr(estimator, "n_jobs", None),
    )
