"""The cascades as models of AutoGluon, the interface that TabArena asks of its entries; they need `autogluon.tabular`.

from cascadeforest.tabarena import GCForestModel
TabularPredictor(label="y").fit(frame, hyperparameters={GCForestModel: {}})

docs/tabarena.md says how to enter one of them into TabArena.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from autogluon.core.constants import REGRESSION
from autogluon.core.models import AbstractModel
from sklearn.base import BaseEstimator

from cascadeforest.cascade.gcforest import GCForestClassifier
from cascadeforest.cascade.hard_examples import DDBFClassifier
from cascadeforest.cascade.interactions import HiDFClassifier
from cascadeforest.cascade.margin import MDDFClassifier
from cascadeforest.cascade.regression import CascadeForestRegressor
from cascadeforest.cascade.screening import GCForestCSClassifier
from cascadeforest.forest.binning import MAX_LEVELS

__all__ = ["DDBFModel", "GCForestCSModel", "GCForestModel", "HiDFModel", "MDDFModel"]

_CLASSES = ["binary", "multiclass"]


class CascadeModel(AbstractModel):
    """A cascade as a model of AutoGluon; hyperparameters are the parameters of its estimator.

    Categories stay categories up to the number of levels that a cut can tell apart; with more levels a feature becomes
    the number of its level in the order of the training data. Missing values stay missing. The random seed and the
    number of processors are AutoGluon's. A cascade cannot stop at a time limit: it grows until its layers no longer
    improve, and AutoGluon drops it afterwards if it took too long.
    """

    seed_name = "random_state"
    ag_priority = 40
    _default_auxiliary_params_extra: ClassVar[Mapping[str, Any]] = {"valid_raw_types": ["int", "float", "category"]}
    _classifier: type[BaseEstimator]
    _regressor: type[BaseEstimator]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._levels: dict[str, pd.Index] = {}

    def _preprocess(self, X: pd.DataFrame, is_train: bool = False, **kwargs: Any) -> pd.DataFrame:
        X = super()._preprocess(X, **kwargs)
        if is_train:
            categories = X.select_dtypes("category")
            self._levels = {
                str(name): column.cat.categories
                for name, column in categories.items()
                if len(column.cat.categories) > MAX_LEVELS
            }
        if self._levels:
            X = X.copy()
            for name, levels in self._levels.items():
                codes = levels.get_indexer(X[name])
                X[name] = np.where(codes < 0, np.nan, codes)  # unseen and missing levels
        return X

    def _fit(self, X: pd.DataFrame, y: pd.Series, num_cpus: int = 1, **kwargs: Any) -> None:
        X = self.preprocess(X, y=y, is_train=True)
        estimator = self._regressor if self.problem_type == REGRESSION else self._classifier
        self.model = estimator(**self._get_model_params(), n_jobs=num_cpus)
        self.model.fit(X, y, sample_weight=kwargs.get("sample_weight"))

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}


class GCForestModel(CascadeModel):
    """`GCForestClassifier`, and `CascadeForestRegressor` for regression, as a model of AutoGluon."""

    ag_key = "GCFOREST"
    ag_name = "gcForest"
    _supported_problem_types: ClassVar[list[str]] = [*_CLASSES, "regression"]
    _classifier, _regressor = GCForestClassifier, CascadeForestRegressor


class GCForestCSModel(CascadeModel):
    """`GCForestCSClassifier` as a model of AutoGluon."""

    ag_key = "GCFOREST_CS"
    ag_name = "gcForest_CS"
    _supported_problem_types: ClassVar[list[str]] = _CLASSES
    _classifier = GCForestCSClassifier


class HiDFModel(CascadeModel):
    """`HiDFClassifier` as a model of AutoGluon."""

    ag_key = "HIDF"
    ag_name = "hiDF"
    _supported_problem_types: ClassVar[list[str]] = _CLASSES
    _classifier = HiDFClassifier


class MDDFModel(CascadeModel):
    """`MDDFClassifier` as a model of AutoGluon."""

    ag_key = "MDDF"
    ag_name = "mdDF"
    _supported_problem_types: ClassVar[list[str]] = _CLASSES
    _classifier = MDDFClassifier


class DDBFModel(CascadeModel):
    """`DDBFClassifier` as a model of AutoGluon."""

    ag_key = "DDBF"
    ag_name = "DDBF"
    _supported_problem_types: ClassVar[list[str]] = _CLASSES
    _classifier = DDBFClassifier
