"""Presets fill the parameters that are left at None, and no others."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris

from cascadeforest import (
    CascadeForestRegressor,
    GCForestClassifier,
    GCForestCSClassifier,
    HiDFClassifier,
    MDDFClassifier,
)

CRF, ET = ["random_forest", "completely_random_forest"], ["random_forest", "extra_trees"]
#: What the papers and released codes say, and what a plain call takes; mdDF's own parameters have tests of their own.
GCFOREST = {"n_forests": 8, "n_estimators": 500, "n_folds": 3, "max_layers": 20, "patience": 1, "estimators": CRF}
SCREENING = GCFOREST | {"n_estimators": 100}
MDDF = {"n_forests": 4, "n_estimators": 100, "n_folds": 5, "max_layers": 20, "patience": 2, "estimators": CRF}
MDDF |= {"search_estimators": 20, "search_layers": 5}
REGRESSOR = {"n_forests": 4, "n_estimators": 50, "n_folds": 3, "max_layers": 20, "patience": 3, "estimators": CRF}
HIDF = {"n_forests": 1, "n_estimators": 500, "n_folds": 5, "cv_estimators": 100, "max_layers": 10, "patience": 2}
#: Class, preset, and the parameters that it stands for.
MEANINGS = [
    (GCForestClassifier, None, GCFOREST | {"n_forests": 4, "n_estimators": 50}),
    (GCForestClassifier, "paper", GCFOREST),
    (GCForestClassifier, "official", GCFOREST | {"patience": 4}),
    (GCForestCSClassifier, None, SCREENING | {"n_forests": 4, "n_estimators": 50}),
    (GCForestCSClassifier, "paper", SCREENING),
    (GCForestCSClassifier, "official", SCREENING | {"patience": 4, "estimators": ET}),
    (MDDFClassifier, None, MDDF | {"n_estimators": 50, "search_estimators": 5, "search_layers": 2}),
    (MDDFClassifier, "paper", MDDF),
    (CascadeForestRegressor, None, REGRESSOR | {"n_estimators": 25, "patience": 1}),
    (CascadeForestRegressor, "paper", REGRESSOR),
    (CascadeForestRegressor, "official", REGRESSOR | {"estimators": ET, "vector_dtype": "float16"}),
    (HiDFClassifier, None, HIDF | {"n_estimators": 100, "cv_estimators": 50}),
    (HiDFClassifier, "paper", HIDF),
]


def data(Cascade):
    """Few rows, some of them under wrong labels, so that growth does not end at an accuracy of 1."""
    rng = np.random.default_rng(0)
    if Cascade is CascadeForestRegressor:
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = load_iris(return_X_y=True)
        y = np.where(rng.random(len(y)) < 0.2, rng.integers(0, 3, len(y)), y)
    rows = rng.permutation(len(y))[:40]
    return X[rows], y[rows]


def predicted(model, X):
    return (model.predict_proba(X) if is_classifier(model) else model.predict(X)).tobytes()


def in_a_moment(Cascade, meaning):
    """Other values that make a fit short, given on both sides; they leave all counts of `meaning` alone."""
    if Cascade is MDDFClassifier and meaning["search_estimators"] == 20:
        return {"theta": 4, "mu": 0.05}
    return {"n_bootstraps": 2} if Cascade is HiDFClassifier else {}


@pytest.mark.parametrize(("Cascade", "preset", "meaning"), MEANINGS, ids=str)
def test_a_preset_is_the_parameters_that_it_stands_for(Cascade, preset, meaning):
    """Without a preset, the algorithm is the paper's in other sizes."""
    X, y = data(Cascade)
    short = in_a_moment(Cascade, meaning) | {"random_state": 0}
    by_preset = Cascade(preset=preset, **short)
    spelled_out = Cascade(preset="paper", **meaning, **short)
    assert predicted(clone(by_preset).fit(X, y), X) == predicted(spelled_out.fit(X, y), X)
    assert {by_preset.get_params()[name] for name in meaning if name != "estimators"} == {None}


@pytest.mark.parametrize("preset", [None, "paper", "official"])
@pytest.mark.parametrize("Cascade", [GCForestClassifier, GCForestCSClassifier, MDDFClassifier, CascadeForestRegressor])
def test_what_is_given_is_not_filled(Cascade, preset):
    X, y = data(Cascade)
    own = {"gamma": 0.85, "mu": 0.05, "theta": 4} if Cascade is MDDFClassifier else {}
    model = Cascade(2, 3, n_folds=2, max_layers=2, patience=2, preset=preset, keep="last", random_state=0, **own)
    model.fit(X, y)
    assert model.layers_[0].n_trees == 2 * 3 * 2
    assert len(model.layers_) == 2


@pytest.mark.parametrize("Cascade", [GCForestClassifier, CascadeForestRegressor])
def test_a_plain_call_grows_a_fraction_of_the_papers_trees(Cascade):
    """As far as trees tell: docs/defaults.md measures seconds."""
    X, y = data(Cascade)
    ours, papers = (
        sum(layer.n_trees for layer in Cascade(preset=preset, keep="last", random_state=0).fit(X, y).layers_)
        for preset in (None, "paper")
    )
    assert ours <= papers / 4
