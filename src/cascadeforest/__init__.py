"""Deep forests: deep models made of decision forests, without back-propagation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cascadeforest._public import HOME
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
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
