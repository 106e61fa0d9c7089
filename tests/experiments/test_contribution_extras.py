"""Arrays that cells save of explanations: they are those of `Explainer`, and add up."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from cascadeforest import CascadeForestRegressor, GCForestClassifier
from cascadeforest.data.dataset import Split
from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.extras import arrays_of, known_extras
from cascadeforest.experiments.fitting import Fitted
from cascadeforest.explanations import Explainer, mean_decrease_impurity

X, Y = load_iris(return_X_y=True)
#: Rows 0, 2, 4, ... train, the others test; numbers of the data set's rows are ten times theirs.
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)


def fitted(model, data=X, target=Y, task="classification"):
    split = Split(data[TRAIN], target[TRAIN], None, None, data[TEST], target[TEST], 10 * TRAIN, 10 * TEST, None)
    return Fitted(model.fit(data[TRAIN], target[TRAIN]), split, data[TRAIN], data[TEST], {}, task, "iris", 0)


@pytest.fixture(scope="module")
def cascade():
    """Two layers, both kept."""
    found = fitted(GCForestClassifier(2, 5, max_layers=2, patience=2, keep="last", random_state=0))
    assert found.estimator.n_layers_ == 2
    return found


@pytest.fixture(scope="module")
def flat():
    """One layer."""
    return fitted(GCForestClassifier(2, 5, max_layers=1, random_state=0))


@pytest.fixture(scope="module")
def regression():
    data, target = load_diabetes(return_X_y=True)
    model = CascadeForestRegressor(2, 5, max_layers=2, patience=2, keep="last", random_state=0)
    return fitted(model, data, target, "regression")


@pytest.fixture(scope="module")
def wide():
    """More features than are shown one by one."""
    noise = np.random.default_rng(0).random((150, 16))
    return fitted(GCForestClassifier(2, 5, max_layers=1, random_state=0), np.hstack([X, noise]))


def test_they_are_known():
    assert {"layer_importances", "class_importances", "contributions"} <= set(known_extras())


# Contributions.


def test_bias_and_contributions_add_up_to_what_each_layer_predicts(cascade):
    arrays = arrays_of("contributions", cascade)
    assert arrays["layers"].tolist() == [1, 2]
    assert arrays["contributions"].shape == (2, 75, 4, 3)
    staged = list(cascade.estimator.staged_predict_proba(X[TEST]))
    for layer, bias, parts, predictions in zip(
        (1, 2), arrays["bias"], arrays["contributions"], arrays["predictions"], strict=True
    ):
        assert predictions == pytest.approx(staged[layer - 1], abs=1e-6)
        assert bias + parts.sum(axis=1) == pytest.approx(staged[layer - 1], abs=1e-5)


def test_rows_stand_beside_in_single_precision(cascade):
    arrays = arrays_of("contributions", cascade)
    assert arrays["rows"].tolist() == (10 * TEST).tolist()
    assert arrays["X_test"].tolist() == X[TEST].astype(np.float32).tolist()
    assert arrays["X_train"].tolist() == X[TRAIN].astype(np.float32).tolist()
    assert (arrays["y_train"].tolist(), arrays["y_test"].tolist()) == (Y[TRAIN].tolist(), Y[TEST].tolist())
    assert arrays["contributions"].dtype == arrays["predictions"].dtype == arrays["X_test"].dtype == np.float32
    assert arrays["bias"].dtype == np.float64


def test_of_many_features_the_first_two_are_saved_and_the_sum_of_the_others(wide):
    arrays = arrays_of("contributions", wide)
    whole = Explainer(wide.estimator, wide.X_train, Y[TRAIN]).explain(wide.X_test).contributions
    assert arrays["n_features"] == 20
    assert arrays["contributions"][0, :, :2] == pytest.approx(whole[:, :2], abs=1e-7)
    assert arrays["contributions"][0, :, 2] == pytest.approx(whole[:, 2:].sum(axis=1), abs=1e-7)
    assert arrays["X_test"].shape == arrays["X_train"].shape == (75, 2)


def test_twelve_features_are_saved_each():
    noise = np.random.default_rng(0).random((150, 8))
    model = fitted(GCForestClassifier(1, 3, max_layers=1, random_state=0), np.hstack([X, noise]))
    assert arrays_of("contributions", model)["contributions"].shape == (1, 75, 12, 3)


def test_a_cascade_of_one_layer_has_it_once(flat):
    arrays = arrays_of("contributions", flat)
    assert arrays["layers"].tolist() == [1]
    assert len(arrays["bias"]) == len(arrays["contributions"]) == len(arrays["predictions"]) == 1


def test_contributions_to_a_target(regression):
    arrays = arrays_of("contributions", regression)
    total = arrays["bias"][-1] + arrays["contributions"][-1].astype(np.float64).sum(axis=1)
    assert total[:, 0] == pytest.approx(regression.estimator.predict(regression.X_test), rel=1e-5)
    assert arrays["y_test"].dtype == np.float64


# The preset.


@pytest.fixture(scope="module")
def official():
    """Two layers of the released code's cascade, both kept."""
    model = GCForestClassifier(2, 5, preset="official", max_layers=2, patience=2, keep="last", random_state=0)
    found = fitted(model)
    assert found.estimator.n_layers_ == 2
    return found


def explained(one, extra, preset):
    """What an extra saves, by an explainer of that preset; in single precision as it is saved."""
    explainer = Explainer(one.estimator, one.X_train, one.split.y_train, preset=preset)
    if extra == "class_importances":
        return explainer.class_importances()
    if extra == "layer_importances":
        return np.array(list(explainer.staged_importances()))
    return np.array([found.contributions for found in explainer.staged_explain(one.X_test)], np.float32)


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ("layer_importances", "importances"),
        ("class_importances", "importances"),
        ("contributions", "contributions"),
    ],
)
def test_each_model_is_explained_by_its_own_preset(extra, name, official, cascade):
    found = arrays_of(extra, official)[name]
    assert found.tolist() == explained(official, extra, "official").tolist()
    assert found.tolist() != explained(official, extra, "paper").tolist()
    assert arrays_of(extra, cascade)[name].tolist() == explained(cascade, extra, "paper").tolist()


@pytest.mark.parametrize("extra", ["layer_importances", "contributions"])
def test_so_is_a_regression(extra):
    data, target = load_diabetes(return_X_y=True)
    model = CascadeForestRegressor(2, 5, preset="official", max_layers=2, patience=2, keep="last", random_state=0)
    one = fitted(model, data, target, "regression")
    found = arrays_of(extra, one)["importances" if extra == "layer_importances" else extra]
    assert found.tolist() == explained(one, extra, "official").tolist()
    # The first layer has nothing to trace back: there the presets are alike.
    assert found[1].tolist() != explained(one, extra, "paper")[1].tolist()


# Importances.


def test_importances_of_a_layer_are_those_of_a_cascade_that_ends_there(cascade, flat):
    arrays = arrays_of("layer_importances", cascade)
    explainer = Explainer(cascade.estimator, X[TRAIN], Y[TRAIN])
    assert arrays["importances"].shape == (2, 4)
    for layer, found in enumerate(arrays["importances"], start=1):
        held_out = explainer.explain_held_out(layer).contributions
        assert found == pytest.approx(mean_decrease_impurity(held_out, np.eye(3)[Y[TRAIN]]))
    # The first layer does not depend on those behind it.
    assert arrays["importances"][0] == pytest.approx(arrays_of("layer_importances", flat)["importances"][0])


def test_columns_of_the_second_layer_are_features_and_what_forests_added(cascade):
    arrays = arrays_of("layer_importances", cascade)
    n_forests, n_classes = 2, 3
    assert arrays["n_added"] == n_forests * n_classes
    assert arrays["columns"].shape == (4 + n_forests * n_classes,)
    assert (arrays["columns"] >= 0).all()  # in the bag a split never raises the impurity
    # Traced back to the features nothing is lost.
    total = Explainer(cascade.estimator, X[TRAIN], Y[TRAIN]).importances("in_bag", layer=2).sum()
    assert arrays["columns"].sum() == pytest.approx(total)


def test_without_a_second_layer_there_are_no_columns(flat):
    arrays = arrays_of("layer_importances", flat)
    assert arrays["columns"].shape == (0,)
    assert arrays["n_added"] == 0
    assert arrays["importances"].shape == (1, 4)


def test_importances_of_a_class_are_means_over_its_rows_of_what_adds_to_its_probability(cascade):
    arrays = arrays_of("class_importances", cascade)
    held_out = Explainer(cascade.estimator, X[TRAIN], Y[TRAIN]).explain_held_out().contributions
    assert arrays["classes"].tolist() == [0, 1, 2]
    for c, found in enumerate(arrays["importances"]):
        assert found == pytest.approx(held_out[Y[TRAIN] == c, :, c].mean(axis=0))


def test_a_regression_has_no_class_importances(regression):
    with pytest.raises(ConfigError, match=r"'class_importances' is of classes, but iris is a regression\. Take"):
        arrays_of("class_importances", regression)
