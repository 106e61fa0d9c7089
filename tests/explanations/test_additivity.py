"""Bias and contributions add up to the prediction (Eqs. 12 and 13): all models, layers, calibrations, kinds of data."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cascadeforest import (
    CascadeForestRegressor,
    GCForestClassifier,
    GCForestCSClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from cascadeforest.explanations import Explainer, explain

from .models import CASCADES, MODELS, SMALL, data

EXACT = 1e-9


def check_sums(explanation, prediction, bias_by_row=False):
    """Relative to the largest contribution: a factor of Eq. 23 can be large, and digits are lost in the sum."""
    scale = max(1.0, np.nanmax(abs(explanation.contributions), initial=0.0), np.nanmax(abs(prediction), initial=0.0))
    assert explanation.bias.ndim == 1 + bias_by_row
    total = explanation.bias + explanation.contributions.sum(axis=1)
    assert_allclose(total, prediction, rtol=0, atol=EXACT * scale)
    assert_allclose(explanation.prediction, prediction, rtol=0, atol=EXACT * scale)


@pytest.mark.parametrize("preset", ["paper", "official"])
@pytest.mark.parametrize("calibration", ["partial", "additive", "multiplicative"])
@pytest.mark.parametrize("name", MODELS)
def test_bias_and_contributions_are_the_prediction_of_each_layer(name, calibration, preset):
    case = MODELS[name]
    model, own, weights = case.fitted()
    explainer = Explainer(model, own.X, own.y, weights, calibration=calibration, preset=preset)
    for X in (own.new, own.X):
        found = list(explainer.staged_explain(X))
        predicted = case.staged(model, X)
        assert len(found) == len(predicted) == explainer.n_layers
        for explanation, prediction in zip(found, predicted, strict=True):
            check_sums(explanation, prediction)
    last = explainer.explain(own.X)
    assert_allclose(last.contributions, found[-1].contributions, rtol=0, atol=0)


def held_out_predictions(case):
    """What `fit` knew of its training rows out of fold, layer by layer; from its public attributes."""
    model, own, weights = case.fitted()
    if case.kind == "margin":
        rows = np.flatnonzero(~np.isnan(model.margins_[0]))
        for features in model.staged_training_features(own.X, own.y):
            vectors = features[rows].astype(np.float64).reshape(len(rows), -1, len(model.classes_))
            yield rows, vectors.mean(axis=1)
        return
    seen, vectors = model.features_.reader(own.X, None), None
    label = own.y.astype(float) if case.n_classes == 0 else np.searchsorted(model.classes_, own.y)
    rows = np.arange(len(label)) if weights is None else np.flatnonzero(weights)
    rows = rows.astype(np.int32)
    for number, layer in enumerate(model.layers_):
        of_level = seen(number, rows)
        if number:
            of_level.add(vectors.reshape(len(rows), -1), rows, layer.added_mapper)
        vectors = layer.transform_held_out(of_level, rows, label[rows])
        yield rows, vectors.mean(axis=1, dtype=np.float64)


@pytest.mark.parametrize(
    "name", ["gcforest", "gcforest weighted", "gcforest of two classes", "regressor", "mddf", "mddf weighted"]
)
def test_held_out_explanations_add_up_to_the_out_of_fold_predictions(name):
    """Here single precision counts: `fit` rounded the vectors of the forests, their explanations are not rounded."""
    case = CASCADES[name]
    model, own, weights = case.fitted()
    explainer = Explainer(model, own.X, own.y, weights)
    for found, (rows, expected) in zip(explainer.staged_explain_held_out(), held_out_predictions(case), strict=True):
        check_sums(found, found.prediction, bias_by_row=True)
        scale = 1.0 if case.n_classes else np.abs(own.y).max()
        assert_allclose(found.prediction[rows], expected, rtol=0, atol=2e-7 * scale)
        nobody = np.setdiff1d(np.arange(len(own.y)), rows)
        assert np.isnan(found.prediction[nobody]).all()
        assert np.isnan(found.contributions[nobody]).all()


def test_a_forest_explains_its_out_of_bag_predictions():
    own = data()
    forest = RandomForestClassifier(30, oob_score=True, random_state=0).fit(own.X, own.y)
    found = Explainer(forest, own.X, own.y).explain_held_out()
    assert_allclose(found.bias + found.contributions.sum(axis=1), forest.oob_decision_function_, rtol=0, atol=1e-7)


# Data of all kinds.


@st.composite
def problems(draw, n_classes=None):
    """X (maybe sparse, with missing values, constant and double columns, double rows), y, weights, class weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_features = draw(st.integers(8, 30)), draw(st.integers(1, 4))
    levels = draw(st.sampled_from([2, 3, 1000]))
    X = np.round(rng.random((n, n_features)) * levels) / levels
    if draw(st.booleans()):
        X[:, rng.integers(n_features)] = 3.0
    if draw(st.booleans()):
        X[rng.random(n) < 0.4] = X[0]
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    k = draw(st.integers(2, 4)) if n_classes is None else n_classes
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    if draw(st.booleans()):
        y[y == k - 1] = 0
        y[k - 1] = k - 1  # a class of one row
    weights = None
    if draw(st.booleans()):
        weights = rng.choice([0.0, 0.5, 1.0, 3.7], n)
        weights[:k] = 1.0
    new = np.where(rng.random((9, n_features)) < 0.2, np.nan, rng.random((9, n_features)))
    if draw(st.booleans()):
        X, new = scipy.sparse.csr_matrix(np.nan_to_num(X)), scipy.sparse.csc_matrix(np.nan_to_num(new))
    return X, y, weights, new


SMALLER = SMALL | {"n_estimators": 3}
OPTIONS = {
    "calibration": st.sampled_from(["partial", "additive", "multiplicative"]),
    "preset": st.sampled_from(["paper", "official"]),
}


@settings(max_examples=40, deadline=None)
@given(
    problem=problems(),
    kind=st.sampled_from([GCForestClassifier, GCForestCSClassifier, MDDFClassifier]),
    class_vectors=st.sampled_from(["k_fold", "k_fold_refit", "oob"]),
    class_weight=st.sampled_from([None, "balanced"]),
    options=st.fixed_dictionaries(OPTIONS),
)
def test_explanations_of_classifiers_add_up_on_any_data(problem, kind, class_vectors, class_weight, options):
    X, y, weights, new = problem
    names = np.array(["a", "b", "c", "d"])
    extra = {"gamma": 0.8, "mu": 0.1, "theta": 2} if kind is MDDFClassifier else {}
    model = kind(**SMALLER, **extra, class_vectors=class_vectors, class_weight=class_weight)
    model.fit(X, names[y], weights)
    explainer = Explainer(model, X, names[y], weights, **options)
    assert explainer.output_names == list(model.classes_)
    for found, prediction in zip(explainer.staged_explain(new), model.staged_predict_proba(new), strict=True):
        check_sums(found, prediction)
    for found in explainer.staged_explain_held_out():
        known = ~np.isnan(found.bias[:, 0])
        assert known.sum() == (len(y) if weights is None else np.count_nonzero(weights))
        check_sums(found, found.prediction, bias_by_row=True)
        assert_allclose(found.prediction[known].sum(axis=1), 1.0, rtol=0, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    problem=problems(n_classes=4),
    class_vectors=st.sampled_from(["k_fold", "k_fold_refit", "oob"]),
    unit=st.sampled_from([1e-8, 1.0, 1e8]),
    offset=st.sampled_from([0.0, 1e4]),
    options=st.fixed_dictionaries(OPTIONS),
)
def test_explanations_of_regressors_add_up_in_any_units(problem, class_vectors, unit, offset, options):
    X, y, weights, new = problem
    targets = (y + offset) * unit
    model = CascadeForestRegressor(**SMALLER, class_vectors=class_vectors, vector_dtype="float64")
    model.fit(X, targets, weights)
    for found, prediction in zip(
        Explainer(model, X, targets, weights, **options).staged_explain(new), model.staged_predict(new), strict=True
    ):
        scale = max(abs(targets).max(), abs(found.contributions).max())
        total = found.bias + found.contributions.sum(axis=1)
        assert_allclose(total[:, 0], prediction, rtol=0, atol=EXACT * scale)


def test_tables_with_names():
    own = data()
    names = [f"column {k}" for k in range(own.X.shape[1])]
    X, new = pd.DataFrame(own.X, columns=names), pd.DataFrame(own.new, columns=names)
    y = pd.Series(np.array(["low", "middle", "high"])[own.y])
    model = GCForestClassifier(**SMALL).fit(X, y)
    found = explain(model, new, X, y)
    assert found.feature_names == names
    assert found.output_names == ["high", "low", "middle"]
    check_sums(found, model.predict_proba(new))
    plain = explain(GCForestClassifier(**SMALL).fit(own.X, y), own.new, own.X, y)
    assert_allclose(found.contributions, plain.contributions, rtol=0, atol=0)
