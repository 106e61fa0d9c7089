"""Small data and small fitted models of every kind that can be explained."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from cascadeforest import (
    CascadeForestRegressor,
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DDBFClassifier,
    EnrichedRandomForestClassifier,
    ExtraTreesClassifier,
    GCForestClassifier,
    GCForestCSClassifier,
    HiDFClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from cascadeforest.cascade.layer import mean_vector
from cascadeforest.cascade.representation import Representation

SMALL = {"n_forests": 2, "n_estimators": 5, "max_layers": 3, "keep": "last", "patience": 9, "random_state": 0}
N_ROWS, N_FEATURES = 70, 5


@dataclass(frozen=True)
class Data:
    """Rows to learn from, and new ones."""

    X: Any
    y: Any
    weights: Any
    new: Any


@cache
def data(n_classes=3):
    """Noisy classes (targets for ``n_classes=0``); some weights are 0, some values missing, one column is constant.

    New rows miss values in columns that had all of them in training.
    """
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(N_ROWS, N_FEATURES)), rng.normal(size=(15, N_FEATURES))
    score = 1.5 * X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=N_ROWS)
    X[rng.random(N_ROWS) < 0.2, 2] = np.nan
    new[rng.random(new.shape) < 0.1] = np.nan
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = new[:, 4] = 7.0
    if n_classes:
        y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
        y[rng.random(N_ROWS) < 0.05] = 0
    else:
        y = 1000.0 + 20.0 * score
    return Data(X, y, rng.integers(0, 4, N_ROWS).astype(float), new)


@dataclass(frozen=True)
class Case:
    """A model, how it is fitted, and what the naive twin needs to know."""

    model: Any
    kind: str
    n_classes: int = 3
    weighted: bool = False
    twin: dict = field(default_factory=dict)

    def fitted(self):
        """The fitted model, its data, and the weights."""
        return _fitted(self)

    def __hash__(self):
        return id(self)

    @property
    def staged(self):
        """Predictions layer by layer, shape (n, n_outputs)."""

        def predictions(model, X):
            if self.kind == "interactions":
                return list(predictions_of_forests(model, X))
            if self.kind == "forest":
                return [model.predict_proba(X) if self.n_classes else model.predict(X)[:, None]]
            if self.n_classes:
                return list(model.staged_predict_proba(X))
            return [own[:, None] for own in model.staged_predict(X)]

        return predictions


def predictions_of_forests(model, X):
    """hiDF: class probabilities by the forests of the class vectors, if there are any, then by the model."""
    if model.final_.vectors is not None:
        bins = model._bins(np.asarray(X, np.float64))
        seen = Representation(bins, None, len(bins))
        yield mean_vector(model.final_.vectors.transform(seen, np.arange(len(X), dtype=np.int32)))
    yield model.predict_proba(X)


@cache
def _fitted(case):
    own = data(case.n_classes)
    weights = own.weights if case.weighted else None
    return case.model.fit(own.X, own.y, weights), own, weights


LOG = {"alpha": "log", "gamma": 0.8, "mu": 0.1, "theta": 3, "n_folds": 3}  # factors that let every layer speak
CASCADES = {
    "gcforest": Case(GCForestClassifier(**SMALL), "cascade"),
    "gcforest weighted": Case(GCForestClassifier(**SMALL, class_weight="balanced"), "cascade", weighted=True),
    "gcforest of two classes": Case(GCForestClassifier(**SMALL, class_weight={0: 3.0}, max_depth=3), "cascade", 2),
    "gcforest oob": Case(GCForestClassifier(**SMALL, class_vectors="oob"), "cascade", weighted=True),
    "gcforest refit": Case(GCForestClassifier(**SMALL, class_vectors="k_fold_refit"), "cascade", weighted=True),
    "gcforest float16": Case(
        GCForestClassifier(
            **SMALL,
            preset="official",
            vector_dtype="float16",
            estimators=["extra_trees", RandomForestClassifier(3, max_samples=0.5)],
        ),
        "cascade",
    ),
    "regressor": Case(CascadeForestRegressor(**SMALL), "cascade", 0),
    "regressor oob": Case(CascadeForestRegressor(**SMALL, class_vectors="oob"), "cascade", 0, weighted=True),
    "regressor refit": Case(CascadeForestRegressor(**SMALL, class_vectors="k_fold_refit"), "cascade", 0, weighted=True),
    "regressor float16": Case(CascadeForestRegressor(**SMALL, preset="official"), "cascade", 0),
    "screening": Case(GCForestCSClassifier(**SMALL, a=0.9), "screening"),
    "screening weighted": Case(GCForestCSClassifier(**SMALL, a=0.9, class_weight={0: 3.0}), "screening", 3, True),
    "screening oob": Case(GCForestCSClassifier(**SMALL, a=0.9, class_vectors="oob"), "screening", weighted=True),
    "screening refit": Case(GCForestCSClassifier(**SMALL, a=0.9, class_vectors="k_fold_refit"), "screening"),
    "screening bins": Case(GCForestCSClassifier(**SMALL, a=0.9, screening="bins", bin_size=10), "screening"),
    "weighting": Case(GCForestCSClassifier(**SMALL, screening="weights"), "weighting", weighted=True),
    "weighting refit": Case(
        GCForestCSClassifier(**SMALL, screening="weights", class_vectors="k_fold_refit"), "weighting"
    ),
    "mddf": Case(MDDFClassifier(**SMALL, **LOG), "margin"),
    "mddf weighted": Case(MDDFClassifier(**SMALL, **LOG, class_weight="balanced"), "margin", 3, True),
    "mddf oob": Case(MDDFClassifier(**SMALL | {"n_estimators": 12}, **LOG, class_vectors="oob"), "margin"),
    "mddf refit": Case(MDDFClassifier(**SMALL, **LOG, class_vectors="k_fold_refit"), "margin", weighted=True),
    "mddf shared folds": Case(MDDFClassifier(**SMALL, **LOG, shared_folds=True), "margin"),
    "mddf stacking": Case(MDDFClassifier(**SMALL, **LOG, ablation="stacking"), "margin"),
    "mddf no reweighting": Case(MDDFClassifier(**SMALL, **LOG, reweighting=False), "margin", weighted=True),
    "mddf no_preconc": Case(MDDFClassifier(**SMALL, **LOG, ablation="no_preconc"), "margin"),
}
#: Few rules, many interactions; some of them are made of interactions, and of the same feature twice.
INTERACTIONS = {
    "n_estimators": 6,
    "n_bootstraps": 4,
    "rule_estimators": 3,
    "intersection_depth": 2,
    "stability_threshold": 0.2,
    "max_new_features": 6,
    "max_layers": 2,
    "keep": "last",
    "random_state": 0,
}
HARD = {
    "n_estimators": 8,
    "vote_fraction": 0.75,
    "max_layers": 3,
    "patience": 9,
    "keep": "last",
    "random_state": 1,
}
OF_INTERACTIONS = {
    "hidf": Case(HiDFClassifier(**INTERACTIONS), "interactions"),
    "hidf weighted": Case(
        HiDFClassifier(**INTERACTIONS, n_forests=2, class_weight="balanced"), "interactions", weighted=True
    ),
    "hidf with class vectors": Case(
        HiDFClassifier(**INTERACTIONS, preset="official", n_forests=2, repeated="tightest"), "interactions", 2, True
    ),
    "hidf of three classes": Case(HiDFClassifier(**INTERACTIONS, use_class_vectors=True, n_forests=2), "interactions"),
}
OF_HARD_EXAMPLES = {
    "ddbf": Case(DDBFClassifier(**HARD), "hard"),
    "ddbf weighted": Case(
        DDBFClassifier(
            **HARD | {"threshold": "median", "vote_fraction": 0.6, "random_state": 0},
            class_weight="balanced",
            validation="oob",
        ),
        "hard",
        n_classes=2,
        weighted=True,
    ),
    "ddbf of mean scores": Case(DDBFClassifier(**HARD, vote="score", leaf_score="gini"), "hard"),
    "ddbf of all trees": Case(DDBFClassifier(**HARD, predict_with="all", elimination=0.4), "hard"),
}
FORESTS = {
    "random forest": Case(RandomForestClassifier(5, random_state=0), "forest"),
    "random forest balanced by tree": Case(
        RandomForestClassifier(5, max_samples=0.7, class_weight="balanced_subsample", random_state=0), "forest", 3, True
    ),
    "random forest weighted": Case(
        RandomForestClassifier(5, max_depth=3, class_weight="balanced", random_state=0), "forest", 2, True
    ),
    "extra trees": Case(ExtraTreesClassifier(4, random_state=0), "forest", 3, True),
    "extra trees with bootstrap": Case(ExtraTreesClassifier(4, bootstrap=True, random_state=0), "forest"),
    "enriched": Case(EnrichedRandomForestClassifier(5, [1, 2, 1, 0, 1], random_state=0), "forest", weighted=True),
    "completely random": Case(CompletelyRandomForestClassifier(4, random_state=0), "forest"),
    "regression forest": Case(RandomForestRegressor(5, random_state=0), "forest", 0),
    "regression forest weighted": Case(RandomForestRegressor(5, max_depth=4, random_state=0), "forest", 0, True),
    "completely random regression": Case(CompletelyRandomForestRegressor(4, random_state=0), "forest", 0, True),
}
MODELS = CASCADES | OF_INTERACTIONS | OF_HARD_EXAMPLES | FORESTS
