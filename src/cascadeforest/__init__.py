"""Deep forests: deep models made of decision forests, without back-propagation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cascadeforest._version import __version__

if TYPE_CHECKING:
    from cascadeforest.cascade.gcforest import GCForestClassifier
    from cascadeforest.cascade.hard_examples import DDBFClassifier
    from cascadeforest.cascade.interactions import HiDFClassifier
    from cascadeforest.cascade.margin import MDDFClassifier
    from cascadeforest.cascade.on_hard_examples import HardExampleClassifier
    from cascadeforest.cascade.regression import CascadeForestRegressor
    from cascadeforest.cascade.scanning import MultiGrainedScanner
    from cascadeforest.cascade.screening import GCForestCSClassifier
    from cascadeforest.explanations.explainer import Explainer, Explanation, explain
    from cascadeforest.forest.estimators import (
        CompletelyRandomForestClassifier,
        CompletelyRandomForestRegressor,
        EnrichedRandomForestClassifier,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from cascadeforest.saving import load, save

#: Where each public name lives. They are imported at first use: scikit-learn takes about a second, and the
#: commands of the workflow import this package for far less.
_HOME = {
    "CascadeForestRegressor": "cascadeforest.cascade.regression",
    "CompletelyRandomForestClassifier": "cascadeforest.forest.estimators",
    "CompletelyRandomForestRegressor": "cascadeforest.forest.estimators",
    "DDBFClassifier": "cascadeforest.cascade.hard_examples",
    "EnrichedRandomForestClassifier": "cascadeforest.forest.estimators",
    "Explainer": "cascadeforest.explanations.explainer",
    "Explanation": "cascadeforest.explanations.explainer",
    "ExtraTreesClassifier": "cascadeforest.forest.estimators",
    "ExtraTreesRegressor": "cascadeforest.forest.estimators",
    "GCForestCSClassifier": "cascadeforest.cascade.screening",
    "GCForestClassifier": "cascadeforest.cascade.gcforest",
    "HardExampleClassifier": "cascadeforest.cascade.on_hard_examples",
    "HiDFClassifier": "cascadeforest.cascade.interactions",
    "MDDFClassifier": "cascadeforest.cascade.margin",
    "MultiGrainedScanner": "cascadeforest.cascade.scanning",
    "RandomForestClassifier": "cascadeforest.forest.estimators",
    "RandomForestRegressor": "cascadeforest.forest.estimators",
    "explain": "cascadeforest.explanations.explainer",
    "load": "cascadeforest.saving",
    "save": "cascadeforest.saving",
}

__all__ = [
    "CascadeForestRegressor",
    "CompletelyRandomForestClassifier",
    "CompletelyRandomForestRegressor",
    "DDBFClassifier",
    "EnrichedRandomForestClassifier",
    "Explainer",
    "Explanation",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GCForestCSClassifier",
    "GCForestClassifier",
    "HardExampleClassifier",
    "HiDFClassifier",
    "MDDFClassifier",
    "MultiGrainedScanner",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "explain",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
