"""Explanations: contributions of features to predictions, and importances of features."""

from cascadeforest.explanations.calibration import calibrate
from cascadeforest.explanations.explainer import Explainer, Explanation, explain
from cascadeforest.explanations.importance import (
    class_mean_decrease_impurity,
    mean_decrease_accuracy,
    mean_decrease_impurity,
)

__all__ = [
    "Explainer",
    "Explanation",
    "calibrate",
    "class_mean_decrease_impurity",
    "explain",
    "mean_decrease_accuracy",
    "mean_decrease_impurity",
]
