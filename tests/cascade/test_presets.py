"""Presets fill the parameters that are left at None, and no others."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris

from cascadeforest import (
    CascadeForestRegressor,
    DDBFClassifier,
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
DDBF = {"n_estimators": 200, "max_layers": 10, "patience": 5}
HIDF = {"n_forests": 1, "n_estimators": 500, "n_folds": 5, "cv_estimators": 100, "max_layers": 10, "patience": 2}
#: Class, preset, and the parameters that it stands for.
MEANINGS = [
    (GCForestClassifier, None, GCFOREST | {"n_estimators": 50}),
    (GCForestClassifier, "paper", GCFOREST),
    (GCForestClassifier, "official", GCFOREST | {"patience": 4}),
    (GCForestCSClassifier, None, SCREENING | {"n_estimators": 50}),
    (GCForestCSClassifier, "paper", SCREENING),
    (GCForestCSClassifier, "official", SCREENING | {"patience": 4, "estimators": ET}),
    (MDDFClassifier, None, MDDF | {"n_estimators": 50, "search_estimators": 5, "search_layers": 2}),
    (MDDFClassifier, "paper", MDDF),
    (CascadeForestRegressor, None, REGRESSOR | {"patience": 1}),
    (CascadeForestRegressor, "paper", REGRESSOR),
    (CascadeForestRegressor, "official", REGRESSOR | {"estimators": ET, "vector_dtype": "float16"}),
    (DDBFClassifier, None, DDBF | {"patience": 2}),
    (DDBFClassifier, "paper", DDBF),
    (HiDFClassifier, None, HIDF),
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


@pytest.mark.parametrize(("Cascade", "preset", "meaning"), MEANINGS, ids=str)
def test_a_preset_is_the_parameters_that_it_stands_for(Cascade, preset, meaning):
    """Without a preset, the algorithm is the paper's in other sizes. Trees have a test of their own, below."""
    X, y = data(Cascade)
    short = {"n_bootstraps": 2} if Cascade is HiDFClassifier else {"n_estimators": 21}  # more than a search has
    if Cascade is MDDFClassifier:
        short |= {"theta": 4, "mu": 0.05}
    by_preset = Cascade(preset=preset, **short, random_state=0)
    spelled_out = Cascade(preset="paper", **{**meaning, **short}, random_state=0)
    assert predicted(clone(by_preset).fit(X, y), X) == predicted(spelled_out.fit(X, y), X)


@pytest.mark.parametrize(
    ("Cascade", "preset", "meaning"),
    [one for one in MEANINGS if "n_forests" in one[2] and one[0] is not HiDFClassifier],
    ids=str,
)
def test_a_preset_says_how_many_trees_there_are(Cascade, preset, meaning):
    X, y = data(Cascade)
    given = {"gamma": 0.85, "mu": 0.05, "theta": 4} if Cascade is MDDFClassifier else {}
    model = Cascade(preset=preset, max_layers=1, **given).fit(X, y)
    assert model.layers_[0].n_trees == meaning["n_forests"] * meaning["n_estimators"] * meaning["n_folds"]


@pytest.mark.parametrize("preset", [None, "paper", "official"])
@pytest.mark.parametrize("Cascade", [GCForestClassifier, GCForestCSClassifier, MDDFClassifier, CascadeForestRegressor])
def test_what_is_given_is_not_filled(Cascade, preset):
    X, y = data(Cascade)
    own = {"gamma": 0.85, "mu": 0.05, "theta": 4} if Cascade is MDDFClassifier else {}
    model = Cascade(2, 3, n_folds=2, max_layers=2, patience=2, preset=preset, keep="last", random_state=0, **own)
    model.fit(X, y)
    assert model.layers_[0].n_trees == 2 * 3 * 2
    assert len(model.layers_) == 2
