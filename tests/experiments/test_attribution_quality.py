"""The extra `attribution_quality`: measures against scikit-learn and by hand, arrays against what they are made of."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import r2_score

from cascadeforest import CascadeForestRegressor, GCForestClassifier, RandomForestClassifier
from cascadeforest.data.dataset import Split
from cascadeforest.data.errors import ConfigError
from cascadeforest.data.synthetic import GENERATORS, true_contributions
from cascadeforest.experiments.extras import arrays_of, known_extras
from cascadeforest.experiments.extras.attribution_quality import EXPLANATIONS, agreement, share_between
from cascadeforest.experiments.fitting import Fitted
from cascadeforest.explanations import Explainer

EXTRA = "attribution_quality"
GROWN = {"max_depth": 4, "max_layers": 2, "patience": 2, "keep": "last", "random_state": 0}


def fitted(name, model, task="regression", n=300):
    """A model of one of the planted data sets, on few rows."""
    parsed = GENERATORS[name](n) if name == "sincos" else GENERATORS[name](n, 200)
    y = parsed.y if task == "regression" else np.unique(parsed.y, return_inverse=True)[1]
    X, train, test = parsed.X, np.arange(n), np.arange(n, len(y))
    split = Split(X[train], y[train], None, None, X[test], y[test], train, test, None)
    return Fitted(model.fit(X[train], y[train]), split, X[train], X[test], {}, task, f"{name}+train-0.1", 0)


@pytest.fixture(scope="module")
def regression():
    return fitted("planted_interaction", CascadeForestRegressor(2, 5, **GROWN))


@pytest.fixture(scope="module")
def saved(regression):
    return arrays_of(EXTRA, regression)


def test_measures_are_scikit_learns_and_numpys():
    random = np.random.default_rng(0)
    expected = random.normal(size=(40, 3)) * [3, 1, 0.1] + [0, 1, 2]
    found = expected + random.normal(size=(40, 3))
    measured = agreement(found, expected)
    assert measured["r2"] == pytest.approx(r2_score(expected, found, multioutput="variance_weighted"))
    assert measured["correlation"] == pytest.approx(np.corrcoef(found.ravel(), expected.ravel())[0, 1])
    same = np.abs(found).argmax(axis=1) == np.abs(expected).argmax(axis=1)
    assert 0 < measured["top"] == same.mean() < 1
    assert agreement(expected, expected) == pytest.approx({"r2": 1, "correlation": 1, "top": 1})


def test_features_that_share_the_largest_contribution_are_both_right():
    expected = np.array([[1.0, -1.0, 0.0], [2.0, -2.0, 0.0], [3.0, 3.0, 0.0]])
    found = np.array([[0.2, 0.0, 0.1], [0.0, 0.2, 0.1], [0.0, 0.1, -0.2]])
    assert agreement(found, expected)["top"] == pytest.approx(2 / 3)


def test_contributions_that_follow_from_the_prediction_are_known_by_it_and_half_of_sincos_is():
    """Given the sum, sine and cosine have equal means, so that half of their variance is left."""
    grid = (np.arange(200) + 0.5) / 200
    X = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    truth = true_contributions("sincos", X)
    assert share_between(truth.sum(axis=1), truth) == pytest.approx(0.5, abs=0.005)
    steps = np.repeat(np.arange(25.0), 40)
    assert share_between(steps, np.stack([steps, -3 * steps], axis=1)) == pytest.approx(1)
    noise = np.random.default_rng(0).normal(size=(40_000, 2))
    assert share_between(truth.sum(axis=1), noise) < 0.01


def test_it_is_known():
    assert EXTRA in known_extras()


def test_each_layer_and_calibration_is_compared_with_the_truth(regression, saved):
    X, y = regression.X_test, regression.split.y_test
    truth = true_contributions("planted_interaction", X)
    explained = [list(Explainer(regression.estimator, calibration=one).staged_explain(X)) for one in EXPLANATIONS[:3]]
    for layer, prediction in enumerate(regression.estimator.staged_predict(X)):
        assert saved["rmse"][layer] == pytest.approx(np.sqrt(np.mean((prediction - y) ** 2)))
        for place, stages in enumerate(explained):
            ours = stages[layer].contributions[:, :, 0]
            for measure, value in agreement(ours, truth).items():
                assert saved[f"true_{measure}"][layer, place] == value
        known = [share_between(prediction, one) for one in (explained[0][layer].contributions[:, :, 0], truth)]
        assert saved["known_by_prediction"][layer].tolist() == known
    assert {name: values.shape for name, values in saved.items()} == {
        "rmse": (2,),
        "known_by_prediction": (2, 2),
        **{f"true_{measure}": (2, 4) for measure in ("r2", "correlation", "top")},
        **{f"shapley_{measure}": (2, 3) for measure in ("r2", "correlation", "top")},
    }


def test_a_first_layer_of_one_split_a_tree_has_its_shapley_values():
    """Forests of such trees are additive: contributions and Shapley values differ in the rows of their means only."""
    stumps = GROWN | {"max_depth": 1, "max_layers": 1, "patience": 1}
    one = arrays_of(EXTRA, fitted("planted_additive", CascadeForestRegressor(2, 40, **stumps), n=1000))
    assert one["shapley_correlation"].min() > 0.98
    assert one["shapley_top"].min() > 0.8


def test_of_a_class_it_is_the_probability_of_the_last():
    model = fitted("planted_xor", GCForestClassifier(2, 5, **GROWN), "classification")
    saved = arrays_of(EXTRA, model)
    truth = true_contributions("planted_xor", model.X_test)
    stages = Explainer(model.estimator).staged_explain(model.X_test)
    for layer, found in enumerate(stages):
        error = found.prediction[:, 1] - (model.split.y_test == 1)
        assert saved["rmse"][layer] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert saved["true_r2"][layer, 0] == agreement(found.contributions[:, :, 1], truth)["r2"]


def test_the_same_model_gives_the_same_arrays(regression, saved):
    again = arrays_of(EXTRA, regression)
    assert all(np.array_equal(values, again[name]) for name, values in saved.items())


def test_data_without_a_known_truth_and_models_without_layers_are_refused(regression):
    with pytest.raises(ConfigError, match=r"true contributions, which are not known of wine\. Take a data set of"):
        arrays_of(EXTRA, replace(regression, dataset="wine"))
    forest = fitted("planted_xor", RandomForestClassifier(3, random_state=0), "classification")
    with pytest.raises(ConfigError, match="needs 'staged_predict_proba', which RandomForestClassifier does not have"):
        arrays_of(EXTRA, forest)
