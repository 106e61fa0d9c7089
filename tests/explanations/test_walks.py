"""Who explains a model: its own class supplies the walk, and sums are compared with what the model itself predicts."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import cascadeforest
from cascadeforest import CascadeForestRegressor, GCForestClassifier, MDDFClassifier, RandomForestClassifier
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.explanations import Explainer, explain

from .models import MODELS, SMALL, data
from .test_additivity import check_sums

#: Forests and cascades.
EXPLAINED = [name for name in cascadeforest.__all__ if hasattr(getattr(cascadeforest, name), "walk")]


def fitted(kind, n_classes=3):
    own = data(n_classes)
    return kind(**SMALL).fit(own.X, own.y), own


class Sharpened(GCForestClassifier):
    """Predicts something else than gcForest, and does not tell explanations."""

    def staged_predict_proba(self, X):
        for probabilities in super().staged_predict_proba(X):
            yield probabilities**2 / (probabilities**2).sum(axis=1, keepdims=True)


class Doubled(CascadeForestRegressor):
    walk = CascadeForestRegressor.walk

    def predict(self, X):
        return 2 * super().predict(X)


class SharpenedWithAnothersWalk(Sharpened):
    walk = GCForestClassifier.walk


class MeanOfLayers(GCForestClassifier):
    """Predicts the mean of all layers, each of which sees the vectors of the layer before as in gcForest."""

    def staged_predict_proba(self, X):
        for reached in self.walk(self.n_jobs).layers(X):
            yield reached.prediction

    def walk(self, n_jobs=None):
        return MeanWalk(self, n_jobs)


class MeanWalk(CascadeWalk):
    def layers(self, X):
        total = 0.0
        for number, reached in enumerate(super().layers(X), 1):
            total = total + reached.prediction
            yield reached._replace(prediction=total / number, lasting=reached.rows)

    def trained_layers(self, learned):
        for number, layer in enumerate(super().trained_layers(learned), 1):
            layer.share = 1 / number
            yield layer


def test_every_public_model_supplies_its_own_walk():
    assert len(EXPLAINED) == 13
    for name in EXPLAINED:
        assert "walk" in vars(getattr(cascadeforest, name)), name


def test_a_subclass_that_predicts_in_another_way_is_refused():
    """Once a subclass with another `predict_proba` was explained as gcForest: sums missed it by 0.125, silently."""
    model, own = fitted(Sharpened)
    base, _ = fitted(GCForestClassifier)
    assert abs(model.predict_proba(own.new) - base.predict_proba(own.new)).max() > 0.05
    message = (
        r"model is a Sharpened, a subclass of GCForestClassifier that may predict in another way.*"
        r"write 'walk = GCForestClassifier.walk' into the body of Sharpened; else define walk there"
    )
    with pytest.raises(TypeError, match=message):
        Explainer(model)
    with pytest.raises(TypeError, match=message):
        explain(model, own.new, own.X, own.y)
    with pytest.raises(AttributeError, match=r"no feature_importances_.*Sharpened, a subclass"):
        _ = model.feature_importances_


@pytest.mark.parametrize("name", EXPLAINED)
def test_no_subclass_inherits_its_explanation(name):
    kind = getattr(cascadeforest, name)
    model = type("Sub", (kind,), {"__init__": kind.__init__})()
    model.fitted_ = True
    with pytest.raises(TypeError, match=f"model is a Sub, a subclass of {name} that may"):
        Explainer(model)


@pytest.mark.parametrize("kind", [SharpenedWithAnothersWalk, Doubled])
def test_a_walk_of_other_predictions_is_noticed(kind):
    regression = issubclass(kind, CascadeForestRegressor)
    model, own = fitted(kind, 0 if regression else 3)
    explainer = Explainer(model)
    method = "predict" if regression else "predict_proba"
    message = rf"differ by up to \S+ from what {kind.__name__}\.{method} predicts: the method walk of {kind.__name__}"
    for X in (own.new, own.new[:1], pd.DataFrame(own.new).to_numpy().tolist()):
        with pytest.raises(ValueError, match=message):
            explainer.explain(X)
    if not regression:
        with pytest.raises(ValueError, match=r"from what SharpenedWithAnothersWalk\.staged_predict_proba predicts"):
            explainer.explain(own.new, layer=1)
        with pytest.raises(ValueError, match="staged_predict_proba predicts"):
            next(explainer.staged_explain(own.new))


def test_a_prediction_that_is_replaced_after_fit_is_noticed():
    own = data()
    model = RandomForestClassifier(5, random_state=0).fit(own.X, own.y)
    found = Explainer(model).explain(own.new)
    model.predict_proba = lambda X: RandomForestClassifier.predict_proba(model, X) + 1e-4
    with pytest.raises(ValueError, match=r"differ by up to 0.0001 from what RandomForestClassifier.predict_proba"):
        Explainer(model).explain(own.new)
    model.predict_proba = lambda X: RandomForestClassifier.predict_proba(model, X) + 1e-8
    assert_array_equal(Explainer(model).explain(own.new).contributions, found.contributions)


@pytest.mark.parametrize("name", ["gcforest", "regressor", "screening", "mddf", "random forest", "regression forest"])
def test_one_line_lets_a_subclass_be_explained_as_its_base(name):
    case = MODELS[name]
    base = type(case.model)
    subclass = type("Sub", (base,), {"walk": base.walk, "__init__": base.__init__})
    model, own, _ = case.fitted()
    same = subclass(**model.get_params()).fit(own.X, own.y)
    assert_array_equal(explain(same, own.new).contributions, explain(model, own.new).contributions)
    assert_array_equal(same.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize("calibration", ["partial", "additive", "multiplicative"])
def test_a_subclass_can_supply_a_walk_of_its_own(calibration):
    """A mean of layers has the mean of their biases and contributions; later layers see what gcForest's see."""
    model, own = fitted(MeanOfLayers)
    base, _ = fitted(GCForestClassifier)
    explainer, of_base = Explainer(model, calibration=calibration), Explainer(base, calibration=calibration)
    found, layers = list(explainer.staged_explain(own.new)), list(of_base.staged_explain(own.new))
    for number, (explanation, prediction) in enumerate(zip(found, model.staged_predict_proba(own.new), strict=True), 1):
        check_sums(explanation, prediction)
        expected = np.mean([layer.contributions for layer in layers[:number]], axis=0)
        scale = max(1.0, abs(expected).max())
        assert_allclose(explanation.contributions, expected, rtol=0, atol=1e-6 * scale)
    assert not np.allclose(found[-1].prediction, layers[-1].prediction)
    assert_allclose(
        explainer.explain_held_out().bias,
        np.mean([e.bias for e in of_base.staged_explain_held_out()], axis=0),
        rtol=1e-9,
    )


def test_explanations_and_predictions_walk_the_same_way():
    """The last step of a walk has the prediction, bit by bit: both are one loop."""
    for case in MODELS.values():
        model, own, _ = case.fitted()
        steps = [reached.prediction for reached in model.walk(n_jobs=2).layers(own.new)]
        for step, predicted in zip(steps, case.staged(model, own.new), strict=True):
            assert_array_equal(step, predicted)


def test_sums_of_sparse_and_named_rows_are_compared_as_well():
    own = data()
    X, new = np.nan_to_num(own.X), np.nan_to_num(own.new)
    for kind in (scipy.sparse.csc_matrix, scipy.sparse.coo_array, pd.DataFrame, np.ndarray.tolist):
        model = MDDFClassifier(2, 4, gamma=0.8, mu=0.1, theta=2, max_layers=2, random_state=0).fit(kind(X), own.y)
        check_sums(explain(model, kind(new)), model.predict_proba(kind(new)))
        model.predict_proba = lambda X: np.full((X.shape[0] if hasattr(X, "shape") else len(X), 3), 1 / 3)
        with pytest.raises(ValueError, match=r"from what MDDFClassifier\.predict_proba predicts"):
            explain(model, kind(new))


def test_rows_that_are_compared_are_spread_over_the_table():
    own = data()
    forest = clone(MODELS["random forest"].model).fit(own.X, own.y)
    new, asked = np.repeat(own.new, 40, axis=0), []

    def watched(X):
        asked.append(X)
        return RandomForestClassifier.predict_proba(forest, X)

    forest.predict_proba = watched
    explain(forest, new)
    assert [len(X) for X in asked] == [32]
    assert_array_equal(asked[0][[0, -1]], new[[0, -1]])
