"""`Explainer` and `Explanation`: what does not change explanations, what is refused, and how explanations are read."""

import copy
import pickle
import re
import threading
from collections import deque

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as ForestOfScikitLearn
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import cascadeforest
from cascadeforest import (
    CascadeForestRegressor,
    DDBFClassifier,
    GCForestClassifier,
    HiDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from cascadeforest.explanations import Explainer, explain
from cascadeforest.explanations.explainer import _add_up

from .models import CASCADES, FORESTS, HARD, INTERACTIONS, MODELS, SMALL, data

SOME = ["gcforest", "gcforest refit", "regressor oob", "screening", "mddf", "random forest"]
SOME += ["hidf with class vectors", "ddbf"]


def explainer_of(name, **options):
    model, own, weights = MODELS[name].fitted()
    return Explainer(model, own.X, own.y, weights, **options)


# What explanations do not depend on.


@pytest.mark.parametrize("calibration", ["partial", "additive"])
@pytest.mark.parametrize("name", MODELS)
def test_a_constant_feature_contributes_nothing(name, calibration):
    """Nor is it important: no tree can have split on it, and equal shares are of features that were used."""
    explainer = explainer_of(name, calibration=calibration)
    own = MODELS[name].fitted()[1]
    for explanation in explainer.staged_explain(own.new):
        assert_array_equal(explanation.contributions[:, 4], 0.0)
    assert_array_equal(explainer.importances("in_bag")[4], 0.0)


@pytest.mark.parametrize("name", SOME)
def test_a_row_is_explained_the_same_alone_and_among_others(name):
    explainer, new = explainer_of(name), MODELS[name].fitted()[1].new
    together = explainer.explain(new)
    for i in (0, 3, 9):
        alone = explainer.explain(new[[i]])
        assert_array_equal(alone.contributions, together.contributions[[i]])
        assert_array_equal(alone.prediction, together.prediction[[i]])
    assert_array_equal(alone.bias, together.bias)
    backwards = explainer.explain(new[::-1])
    assert_array_equal(backwards.contributions[::-1], together.contributions)


@pytest.mark.parametrize("name", SOME)
def test_no_thread_changes_a_byte(name):
    """More trees than a unit of work has: sums are taken in the same order by two threads."""
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).set_params(n_estimators=40).fit(own.X, own.y, weights)
    one, two = (Explainer(model, own.X, own.y, weights, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.explain(own.new).contributions.tobytes() == two.explain(own.new).contributions.tobytes()
    assert one.explain_held_out().contributions.tobytes() == two.explain_held_out().contributions.tobytes()
    assert one.importances("in_bag").tobytes() == two.importances("in_bag").tobytes()


@pytest.mark.parametrize("name", SOME)
def test_explaining_changes_neither_the_model_nor_the_data(name):
    model, own, weights = MODELS[name].fitted()
    before = pickle.dumps((model, own.X, own.y, weights, own.new))
    explainer = Explainer(model, own.X, own.y, weights)
    list(explainer.staged_explain(own.new))
    list(explainer.staged_explain_held_out())
    explainer.importances("in_bag")
    assert pickle.dumps((model, own.X, own.y, weights, own.new)) == before
    other = Explainer(pickle.loads(pickle.dumps(model)), own.X, own.y, weights)
    assert_array_equal(other.explain(own.new).contributions, explainer.explain(own.new).contributions)


@pytest.mark.parametrize("name", ["gcforest", "gcforest float16", "screening", "random forest", "hidf", "ddbf"])
def test_sparse_rows_are_explained_as_dense_ones(name):
    case = MODELS[name]
    own = data(3)
    X, new = np.nan_to_num(own.X), np.nan_to_num(own.new)
    found = []
    for matrix in (np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        model = clone(case.model).fit(matrix(X), own.y)
        found.append(explain(model, matrix(new), matrix(X), own.y).contributions)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_layers_that_follow_do_not_matter():
    """The explanation of layer 2 is that of the cascade that ends there."""
    own = data(3)
    short = GCForestClassifier(**SMALL | {"max_layers": 2}).fit(own.X, own.y)
    found = explainer_of("gcforest").explain(own.new, layer=2)
    expected = explain(short, own.new, own.X, own.y)
    assert_array_equal(found.contributions, expected.contributions)
    assert_array_equal(found.bias, expected.bias)
    assert_array_equal(explain(*_gcforest(), layer=2).contributions, expected.contributions)


def _gcforest():
    model, own, _ = CASCADES["gcforest"].fitted()
    return model, own.new, own.X, own.y


def test_whole_weights_are_repeated_rows_to_the_last_split():
    """With one class of weight 2 everywhere nothing is learned differently: equal weights are none."""
    own = data(3)
    model = GCForestClassifier(**SMALL).fit(own.X, own.y, np.full(len(own.y), 2.0))
    found = explain(model, own.new, own.X, own.y, np.full(len(own.y), 2.0))
    assert_array_equal(found.contributions, explain(*_gcforest()).contributions)


def test_no_rows_at_all_have_an_empty_explanation_or_a_clear_error():
    model, own, _ = CASCADES["gcforest"].fitted()
    with pytest.raises(ValueError, match="0 sample"):
        explain(model, own.new[:0], own.X, own.y)


def test_presets_choose_the_rows_of_nodes():
    own = data(3)
    for preset, rows in (("paper", "in_bag"), ("official", "all")):
        by_preset = explainer_of("gcforest", preset=preset).explain(own.new)
        assert_array_equal(
            by_preset.contributions, explainer_of("gcforest", node_rows=rows).explain(own.new).contributions
        )
    assert not np.allclose(by_preset.contributions, explainer_of("gcforest").explain(own.new).contributions)


# What is refused.

WRONG = r"(X_train|y_train|sample_weight) is not what the model learned from"


@pytest.mark.parametrize(
    "name", ["gcforest", "regressor", "screening", "mddf", "random forest", "regression forest", "hidf", "ddbf"]
)
def test_other_training_rows_are_noticed(name):
    model, own, _ = MODELS[name].fitted()
    rng = np.random.default_rng(1)
    order = rng.permutation(len(own.y))
    for X, y, weights in (
        (own.X, own.y[order], None),
        (own.X[order], own.y, None),
        (own.X[::-1], own.y[::-1], None),
        (own.X[:-1], own.y[:-1], None),
        (np.vstack([own.X, own.X[:1]]), np.append(own.y, own.y[0]), None),
    ):
        for known in (model, pickle.loads(pickle.dumps(model))):
            with pytest.raises(ValueError, match=WRONG):
                Explainer(known, X, y, weights)


@pytest.mark.parametrize(
    "name", ["gcforest", "regressor", "mddf", "random forest", "regression forest", "hidf", "ddbf"]
)
def test_other_weights_are_noticed(name):
    """Also where all leaves are pure, and weights change no number."""
    model, own, _ = MODELS[name].fitted()
    with pytest.raises(ValueError, match="sample_weight is not what"):
        explain(model, own.new, own.X, own.y, np.linspace(1, 3, len(own.y)))


@pytest.mark.parametrize("name", [*SOME, "mddf refit", "screening refit"])
def test_a_value_that_changes_no_bin_is_no_other_row(name):
    """Also where layers are grown again: from the bins of `fit`."""
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).fit(own.X, own.y, weights)
    expected = Explainer(model).explain_held_out().contributions
    X = own.X.astype(np.float32)
    assert (X != own.X).any()
    for known in (model, pickle.loads(pickle.dumps(model))):
        found = Explainer(known, X, own.y, weights)
        assert_array_equal(found.explain_held_out().contributions, expected)
        assert_array_equal(found.explain(own.new).contributions, explain(model, own.new).contributions)


@pytest.mark.parametrize("name", SOME)
def test_features_in_other_units_are_other_rows(name):
    """Their own bins would be the same ones."""
    model, own, weights = MODELS[name].fitted()
    with pytest.raises(ValueError, match="X_train is not what"):
        Explainer(model, np.exp(own.X) * 1000, own.y, weights)


@pytest.mark.parametrize(
    "name", ["gcforest", "mddf", "random forest", "regression forest", "regressor", "hidf", "ddbf"]
)
def test_equal_weights_are_none(name):
    case = MODELS[name]
    own = data(case.n_classes)
    ones = np.full(len(own.y), 2.0)
    zeros = np.where(np.arange(len(own.y)) < 5, 0.0, 2.0)
    explain(clone(case.model).fit(own.X, own.y, zeros), own.new, own.X, own.y, np.where(zeros == 0, -0.0, zeros))
    without, equal = clone(case.model).fit(own.X, own.y), clone(case.model).fit(own.X, own.y, ones)
    expected = explain(without, own.new).contributions
    for model, weights in ((without, ones), (equal, None), (equal, ones)):
        assert_allclose(explain(model, own.new, own.X, own.y, weights).contributions, expected, rtol=0, atol=1e-9)


def test_missing_weights_are_noticed():
    model, own, weights = CASCADES["gcforest weighted"].fitted()
    with pytest.raises(ValueError, match="sample_weight is not what"):
        explain(model, own.new, own.X, own.y)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(69,\)"):
        explain(model, own.new, own.X, own.y, weights[1:])


@pytest.mark.parametrize("name", ["gcforest", "regressor", "random forest", "hidf", "ddbf"])
def test_another_number_of_features_is_refused(name):
    model, own, _ = MODELS[name].fitted()
    with pytest.raises(ValueError, match=r"X.* has 4 features, but .*5"):
        Explainer(model, own.X[:, :4], own.y)
    with pytest.raises(ValueError, match=r"X has 4 features"):
        Explainer(model, own.X, own.y).explain(own.new[:, :4])


@pytest.mark.parametrize("name", ["gcforest", "random forest", "hidf", "ddbf"])
def test_other_classes_are_refused(name):
    model, own, _ = MODELS[name].fitted()
    for y in (own.y + 1, np.where(own.y == 0, 1, own.y)):
        with pytest.raises(ValueError, match=r"y_train has the classes \[1, .*the model learned \[0, 1, 2\]"):
            Explainer(model, own.X, y)


@pytest.mark.parametrize("layer", [0, 4, -1, 1.5, "last"])
def test_layers_that_do_not_exist_are_refused(layer):
    explainer, own = explainer_of("gcforest"), data(3)
    for call in (
        lambda: explainer.explain(own.new, layer),
        lambda: explainer.explain_held_out(layer),
        lambda: explainer.importances(layer=layer),
        lambda: explainer.column_importances(layer=layer),
        lambda: explainer.class_importances(layer),
    ):
        with pytest.raises((ValueError, TypeError), match=f"layer is {layer!r}"):
            call()


def test_foreign_estimators_are_refused_by_name():
    own = data(3)
    X = np.nan_to_num(own.X)
    model = GCForestClassifier(**SMALL, estimators=["random_forest", LogisticRegression()]).fit(X, own.y)
    with pytest.raises(ValueError, match=r"layers with LogisticRegression.*Fit the cascade without it in estimators"):
        explain(model, np.nan_to_num(own.new), X, own.y)


def test_scanning_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 12)), rng.integers(0, 2, 30)
    model = GCForestClassifier(**SMALL, scanning={"windows": [4]}, input_shape=(12,)).fit(X, y)
    with pytest.raises(ValueError, match=r"scanning is not None.*Fit it without scanning"):
        Explainer(model, X, y)


def test_models_that_cannot_be_explained_are_refused():
    own = data(3)
    X = np.nan_to_num(own.X)
    said = r"model is a RandomForestClassifier of sklearn; give a forest of cascadeforest, or a .*GCForestClassifier"
    with pytest.raises(TypeError, match=said):
        Explainer(ForestOfScikitLearn(2).fit(X, own.y), X, own.y)
    for model in (GCForestClassifier(), CascadeForestRegressor(), RandomForestClassifier()):
        with pytest.raises(NotFittedError):
            Explainer(model, X, own.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration": "naive"}, "calibration is 'naive'"),
        ({"node_rows": "out_of_bag"}, "node_rows is 'out_of_bag'"),
        ({"preset": "authors"}, "preset is 'authors'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"max_table_mib": -1}, "max_table_mib is -1"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        explainer_of("gcforest", **options)


def test_training_rows_come_together_or_not_at_all():
    model, own, _ = CASCADES["gcforest"].fitted()
    for arguments, missing in (((own.X,), "y_train"), ((None, own.y), "X_train")):
        with pytest.raises(ValueError, match=f"{missing} is None; give X_train and y_train, or neither"):
            explain(model, own.new, *arguments)
    with pytest.raises(ValueError, match="sample_weight is given without X_train"):
        explain(model, own.new, sample_weight=np.ones(len(own.y)))


@pytest.mark.parametrize("name", ["gcforest", "random forest"])
def test_columns_of_another_name_are_refused(name):
    case = MODELS[name]
    own = data(3)
    X, other = pd.DataFrame(own.X, columns=list("abcde")), pd.DataFrame(own.X, columns=list("abxde"))
    model = clone(case.model).fit(X, own.y)
    with pytest.raises(ValueError, match="X_train has the column 'x' where the model learned from 'c'"):
        Explainer(model, other, own.y)
    Explainer(model, own.X, own.y)


# Rows that a model keeps.


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_memory_needs_no_training_rows(name):
    model, own, weights = MODELS[name].fitted()
    alone, given = Explainer(model), Explainer(model, own.X, own.y, weights)
    for found, expected in zip(alone.staged_explain(own.new), given.staged_explain(own.new), strict=True):
        assert found.contributions.tobytes() == expected.contributions.tobytes()
        assert found.bias.tobytes() == expected.bias.tobytes()
    assert alone.importances("in_bag").tobytes() == given.importances("in_bag").tobytes()
    assert explain(model, own.new).contributions.tobytes() == expected.contributions.tobytes()


@pytest.mark.parametrize("name", SOME)
def test_a_pickled_model_has_no_training_rows_and_says_so(name):
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).fit(own.X, own.y, weights)
    for copied in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))):
        with pytest.raises(ValueError, match=r"was pickled.*Give X_train, y_train"):
            explain(copied, own.new)
        found = explain(copied, own.new, own.X, own.y, weights)
        assert_array_equal(found.contributions, explain(model, own.new).contributions)
    again = copy.deepcopy(model)
    assert_array_equal(explain(again, own.new).contributions, found.contributions)


@pytest.mark.parametrize("class_vectors", ["k_fold", "k_fold_refit"])
def test_files_hold_values_only_where_layers_are_grown_again(class_vectors):
    own = data(3)
    model = GCForestClassifier(**SMALL, class_vectors=class_vectors).fit(own.X, own.y)
    copied = pickle.loads(pickle.dumps(model))
    assert copied._learned_rows.rows is None
    assert (copied._learned_rows.centers is not None) == (class_vectors == "k_fold_refit")


def test_files_do_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 200))
    y = (X[:, 0] > 0.5).astype(int)
    for model in (RandomForestClassifier(1, max_depth=1), GCForestClassifier(1, 1, max_layers=1, max_depth=1)):
        size = len(pickle.dumps(model.fit(X, y)))
        assert size - len(pickle.dumps(model.fit(X[:300], y[:300]))) < 100_000  # edges; bins would take 540,000


def test_rows_that_change_after_fit_change_no_explanation():
    own = data(3)
    targets = data(0).y
    for model in (
        GCForestClassifier(**SMALL),
        RandomForestClassifier(5, random_state=0),
        CascadeForestRegressor(**SMALL),
        RandomForestRegressor(5, random_state=0),
    ):
        y = (targets if "Regressor" in type(model).__name__ else own.y).copy()
        X, weights = own.X.copy(), np.linspace(1, 2, len(y))
        model.fit(X, y, weights)
        explainer = Explainer(model)
        expected = explainer.explain(own.new).contributions
        X[:], y[:], weights[:] = 0, 0, 1
        explainer.responses[:], explainer.weights[:] = 0, 1
        assert_array_equal(explain(model, own.new).contributions, expected)


def test_rows_can_be_let_go():
    case = MODELS["gcforest"]
    own = data(3)
    model = clone(case.model).fit(own.X, own.y)
    explainer, expected = Explainer(model), explain(model, own.new).contributions
    assert model.forget_training_rows() is model
    assert model.forget_training_rows() is model
    assert_array_equal(explainer.explain(own.new).contributions, expected)  # it has them still
    with pytest.raises(ValueError, match="has no training rows"):
        explain(model, own.new)
    assert_array_equal(explain(model, own.new, own.X, own.y).contributions, expected)
    with pytest.raises(ValueError, match="y_train is not what"):
        explain(model, own.new, own.X, own.y[::-1])


@pytest.mark.parametrize("name", SOME)
def test_an_explainer_of_an_earlier_fit_says_so(name):
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).fit(own.X, own.y, weights)
    explainer = Explainer(model)
    model.fit(own.X[:60], own.y[:60], None if weights is None else weights[:60])
    for call in (
        lambda: explainer.explain(own.new),
        lambda: explainer.importances("in_bag"),
        explainer.explain_held_out,
    ):
        with pytest.raises(RuntimeError, match="was fitted again since; make a new Explainer"):
            call()


@pytest.mark.parametrize(
    "model",
    [GCForestClassifier(**SMALL), RandomForestClassifier(3), HiDFClassifier(**INTERACTIONS), DDBFClassifier(**HARD)],
    ids=["cascade", "forest", "hidf", "ddbf"],
)
def test_a_fit_that_fails_leaves_no_explanation_of_the_one_before(model):
    own = data(3)
    model.fit(own.X, own.y)
    hasattr(model, "feature_importances_")
    bad = {"n_estimators": 0}
    n_estimators = model.n_estimators
    with pytest.raises(ValueError, match="n_estimators"):
        model.set_params(**bad).fit(own.X[:, :4], np.arange(len(own.y)) % 2)
    model.set_params(n_estimators=n_estimators)
    with pytest.raises(ValueError, match="last fit of the model was interrupted"):
        explain(model, own.new)
    with pytest.raises(ValueError, match="last fit of the model was interrupted"):
        explain(model, own.new, own.X, own.y)


@pytest.mark.parametrize("name", SOME)
def test_an_explainer_notices_a_fit_that_was_interrupted(name):
    """Parts of the model may be of the new fit already."""
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).fit(own.X, own.y, weights)
    explainer = Explainer(model)
    before = model.n_estimators
    with pytest.raises(ValueError, match="n_estimators"):
        model.set_params(n_estimators=0).fit(own.X, own.y, weights)
    model.set_params(n_estimators=before)
    for call in (lambda: explainer.explain(own.new), explainer.importances):
        with pytest.raises(RuntimeError, match="was fitted again since"):
            call()


@pytest.mark.parametrize("kind", [GCForestClassifier, CascadeForestRegressor, RandomForestClassifier])
def test_a_first_fit_that_fails_leaves_nothing_to_explain(kind):
    own = data(3)
    model = kind(n_estimators=0)
    with pytest.raises(ValueError, match="n_estimators"):
        model.fit(own.X, own.y)
    with pytest.raises((NotFittedError, ValueError), match=r"not fitted yet|was interrupted"):
        explain(model, own.new)
    late = GCForestClassifier(**SMALL, scoring="no such score")
    with pytest.raises(ValueError, match="no such score"):
        late.fit(own.X, own.y)
    with pytest.raises(ValueError, match="last fit of the model was interrupted"):
        explain(late, own.new)


class WithLock(GCForestClassifier):
    """What users do to models: a lock that cannot be copied, private settings, a name of their own."""

    walk = GCForestClassifier.walk

    def __init__(self, n_forests=2, n_estimators=5, *, lambda_=3, random_state=0, class_vectors="k_fold_refit"):
        super().__init__(n_forests, n_estimators, max_layers=2, class_vectors=class_vectors, random_state=random_state)
        self.lambda_ = lambda_
        self._lock = threading.Lock()

    def _forest(self, kind, *, classification):
        with self._lock:
            return super()._forest(kind, classification=classification).set_params(max_depth=self.lambda_)

    def __getstate__(self):
        state = dict(super().__getstate__())
        del state["_lock"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._lock = threading.Lock()


def test_models_of_users_are_explained_as_ours():
    own = data(3)
    model = WithLock().fit(own.X, own.y).fit(own.X, own.y)
    plain = GCForestClassifier(2, 5, max_depth=3, max_layers=2, class_vectors="k_fold_refit", random_state=0)
    plain.fit(own.X, own.y)
    model.lambda_ = 1
    expected = Explainer(plain).explain_held_out().contributions
    assert_array_equal(Explainer(model).explain_held_out().contributions, expected)
    copied = pickle.loads(pickle.dumps(model))
    assert_array_equal(Explainer(copied, own.X, own.y).explain_held_out().contributions, expected)


def test_a_member_that_changes_after_fit_changes_no_explanation():
    own = data(3)
    for kind in (list, tuple, deque):
        member = RandomForestClassifier(4)
        model = GCForestClassifier(**SMALL, estimators=kind([member]), class_vectors="k_fold_refit").fit(own.X, own.y)
        expected = Explainer(model).explain_held_out().contributions
        member.set_params(max_depth=1)
        assert_array_equal(Explainer(model).explain_held_out().contributions, expected)


def test_explanations_of_screening_do_not_mix():
    """Within one Explainer: a walk through the layers has what it needs of its own."""
    explainer, new = explainer_of("screening"), MODELS["screening"].fitted()[1].new
    expected = [e.contributions for e in explainer.staged_explain(new)]
    assert len(expected) > 1
    for found, before in zip(explainer.staged_explain(new), expected, strict=True):
        assert_array_equal(explainer.explain(new, layer=1).contributions, expected[0])
        assert_array_equal(found.contributions, before)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("gcforest refit", {"max_depth": 1, "max_features": 1, "n_estimators": 2, "estimators": ["extra_trees"]}),
        ("regressor oob", {"preset": "official"}),
        ("screening refit", {"n_estimators": 2, "max_growth": 1.0, "growth": "none"}),
        ("mddf", {"weight_floor": 0.9, "scaled_loss": True, "cumulative": "normalized", "ablation": "stacking"}),
        ("mddf refit", {"min_samples_leaf": 9, "preset": "official"}),
        ("gcforest weighted", {"class_weight": None}),
        ("random forest balanced by tree", {"class_weight": None, "max_samples": None}),
    ],
)
def test_parameters_that_are_set_after_fit_change_no_explanation(name, changed):
    case = MODELS[name]
    _, own, weights = case.fitted()
    model = clone(case.model).fit(own.X, own.y, weights)
    expected = list(Explainer(model).staged_explain(own.new))
    held_out = Explainer(model).explain_held_out()
    model.set_params(**changed)
    assert_array_equal(explain(model, own.new, own.X, own.y, weights).contributions, expected[-1].contributions)
    for found, before in zip(Explainer(model).staged_explain(own.new), expected, strict=True):
        assert_array_equal(found.contributions, before.contributions)
    assert_array_equal(Explainer(model).explain_held_out().contributions, held_out.contributions)


def test_values_of_kept_rows_are_the_middles_of_their_bins():
    case = MODELS["gcforest"]
    own = data(3)
    rng = np.random.default_rng(0)
    X = np.column_stack([own.X, rng.random(len(own.X))])
    X = np.repeat(X, 5, axis=0)
    X[:, -1] = rng.random(len(X))  # more values than bins
    X[3, -1] = np.nan
    model = clone(case.model).set_params(max_layers=1).fit(X, np.repeat(own.y, 5))
    found, given = Explainer(model).explain_held_out(), Explainer(model, X, np.repeat(own.y, 5)).explain_held_out()
    assert_array_equal(found.contributions, given.contributions)
    assert_array_equal(found.X[:, :-1], X[:, :-1])
    assert np.isnan(found.X[3, -1])
    weights = np.ones(len(X))
    weights[5:10], X[:5, 0], X[10:, 0] = 0, np.nan, np.nan
    forest = RandomForestClassifier(3, random_state=0).fit(X, np.repeat(own.y, 5), weights)
    assert np.isnan(Explainer(forest).explain_held_out().X[:, 0]).all()  # known of rows without weight alone
    X[:, 0] = np.repeat(own.X[:, 0], 5)
    distance = np.abs(found.X[:, -1] - X[:, -1])
    assert 0 < np.nanmax(distance) < 0.05
    assert_array_equal(given.X, X)


def test_forests_within_a_layer_keep_no_rows():
    own = data(3)
    member = RandomForestClassifier(3, class_weight="balanced", random_state=0)
    X = np.nan_to_num(own.X)
    model = GCForestClassifier(**SMALL, estimators=[member]).fit(X, own.y)
    assert model._learned_rows is None
    assert model.layers_[0].forests[0][0].estimator._learned_rows.rows is None
    with pytest.raises(ValueError, match="weights of its own"):
        explain(model, X)


# Reading an explanation.


def test_rows_that_do_not_exist_or_say_nothing_are_refused():
    model, _, weights = CASCADES["gcforest weighted"].fitted()
    explanation = Explainer(model).explain_held_out()
    silent = int(np.flatnonzero(weights == 0)[0])
    for call in (explanation.to_frame, explanation.text):
        with pytest.raises(ValueError, match=f"row is {silent}, which had no weight in fit"):
            call(silent)
        for row in (len(explanation), -len(explanation) - 1, 1.0, "a", True):
            message = f"row is {row!r}; the explanation has 70 rows: give a whole number from -70 to 69"
            with pytest.raises(IndexError, match=message):
                call(row)
    with pytest.raises(IndexError, match="row is 0; the explanation has 0 rows: explain some"):
        explanation[:0].text()
    for rows in (None, (1, 2), ..., True, np.zeros((2, 2), int)):
        with pytest.raises(IndexError, match="give a number, a slice"):
            explanation[rows]


def test_an_explanation_names_itself_and_is_only_itself():
    explanation = explainer_of("gcforest").explain(data(3).new)
    assert repr(explanation) == f"Explanation({len(explanation)} rows, 5 features, outputs: 0, 1, 2)"
    assert explanation == explanation
    assert explanation != explanation[:]
    assert len({explanation, explanation}) == 1
    assert "row" not in explanation[3].text()


def test_values_that_are_strings_of_digits_and_a_class_called_value():
    own = data(3)
    X = np.nan_to_num(own.X)
    model = RandomForestClassifier(5, random_state=0).fit(X, np.array(["value", "b", "c"])[own.y])
    explanation = explain(model, X[:3].astype(str))
    assert f"= {float(str(X[1, 0])):.6g}" in explanation.text(1)
    columns = list("abcde")
    model.fit(pd.DataFrame(X, columns=columns), own.y)
    frame = pd.DataFrame({name: pd.array([1, None, 3], "Int64") for name in columns})
    assert explain(model, frame).text(1).count("= nan") == 5
    table = explanation.to_frame(1)
    assert sorted(table.columns) == ["b", "c", "value", "value"]


def test_slices_are_explanations_of_fewer_rows():
    explainer, own = explainer_of("gcforest"), data(3)
    for whole in (explainer.explain(own.new), explainer.explain_held_out()):
        mask = np.arange(len(whole)) % 2 == 0
        for index, rows in ((3, [3]), (-1, [len(whole) - 1]), (slice(2, 5), [2, 3, 4]), (mask, np.flatnonzero(mask))):
            part = whole[index]
            assert len(part) == len(rows)
            assert_array_equal(part.contributions, whole.contributions[rows])
            assert_array_equal(part.prediction, whole.prediction[rows])
            assert_array_equal(part.bias, whole.bias if whole.bias.ndim == 1 else whole.bias[rows])
            assert_array_equal(part.X, whole.X[rows])
        with pytest.raises(IndexError):
            whole[len(whole)]


def test_outputs_by_number_and_name():
    three, two, one = (explainer_of(name).explain(data(k).new) for name, k in (
        ("gcforest", 3), ("gcforest of two classes", 2), ("regressor", 0)
    ))  # fmt: skip
    assert [three.output(c) for c in (0, "2", np.int64(1))] == [0, 2, 1]
    assert two.output() == 1
    assert one.output() == one.output("prediction") == 0
    for explanation, output in ((three, None), (three, 3), (three, -1), (three, "x"), (one, True), (one, "x0")):
        with pytest.raises(ValueError, match=rf"output is {output!r}"):
            explanation.output(output)


def explanation_of_labels(labels):
    """Of a forest that learned from two or three classes of these names."""
    own = data(len(labels))
    return explain(RandomForestClassifier(3, random_state=0).fit(own.X, np.array(labels)[own.y]), own.new)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([1.0, 2.0, 3.0], [(1, 0), (2, 1), (2.0, 1), (np.float32(3), 2), (np.int64(3), 2), ("3.0", 2), (True, 0)]),
        ([1.0, 2.0], [(1, 0), (np.uint8(2), 1)]),
        (np.array([-2, 0, 2], np.float32), [(-2, 0), (0, 1), (-0.0, 1), (np.float64(2), 2)]),
        ([1, 2, 3], [(1, 0), (2.0, 1), (np.float32(3), 2), ("2", 1), (np.True_, 0)]),
        ([-1, 0, 1], [(-1, 0), (0, 1), (1.0, 2), (False, 1)]),
        ([2**53, 2**53 + 1], [(2**53, 0), (2.0**53, 0), (2**53 + 1, 1)]),
        ([False, True], [(False, 0), (True, 1), (np.True_, 1), (0, 0), (1, 1), (1.0, 1), ("True", 1)]),
        (["1.0", "2.0", "3.0"], [(2, 1), (2.0, 1), ("3.0", 2)]),
        (["1", "2", "3"], [(2, 1), (2.0, 1), ("3", 2)]),
        (["b", "c", "nan"], [("nan", 2), ("b", 0), (2, 2), (np.int8(0), 0)]),
        (["2020_1", "inf", "x"], [(0, 0), (np.int64(2), 2), ("inf", 1)]),
    ],
)
def test_a_label_is_found_by_its_value(labels, found):
    """Of floats every number was once a position: of the classes 1.0, 2.0, 3.0 output 2 was the class 3.0."""
    explanation = explanation_of_labels(labels)
    for whole in (explanation, explanation[:2]):
        assert [whole.output(output) for output, _ in found] == [c for _, c in found]
    for output, c in found:
        assert explanation.text(0, output).splitlines()[0].endswith(f"  probability of {labels[c]} of row 0")


@pytest.mark.parametrize(
    ("labels", "absent"),
    [
        ([1.0, 2.0, 3.0], [0, 0.0, False, 4, 1.5, -1, "2", np.nan]),
        ([-2.0, 3.0, 5.0], [0, 1, 2, np.int64(2)]),
        ([1, 2, 3], [0, 0.0, 1.5, "2.0", False]),
        ([2**53, 2**53 + 2], [2**53 + 1]),
        ([False, True], [2, -1, "1"]),
        (["1.5", "2.5", "x"], [0, 1, 2]),
        (["b", "c", "nan"], [3, -1, True, 1.0]),
    ],
)
def test_an_absent_label_is_no_position(labels, absent):
    explanation = explanation_of_labels(labels)
    for output in absent:
        with pytest.raises(ValueError, match=rf"output is {re.escape(repr(output))}; give one of \['{labels[0]}', "):
            explanation.output(output)


@pytest.mark.parametrize("name", ["gcforest", "screening", "mddf", "random forest"])
def test_a_classifier_of_one_class_is_a_classifier(name):
    """It was once taken for a regression: its only output said "prediction", its importances were refused."""
    own = data(3)
    for label in ("a", True):
        model = clone(MODELS[name].model).fit(own.X, np.full(len(own.y), label))
        for preset in ("paper", "official"):
            explainer = Explainer(model, preset=preset)
            of_new = explainer.explain(own.new)
            for explanation in (of_new, of_new[:3], explainer.explain_held_out()):
                assert explanation.text(1).splitlines()[0].endswith(f"probability of {label} of row 1")
                assert explanation.output() == explanation.output(label) == 0
            assert_array_equal(explainer.class_importances(), np.zeros((1, 5)))
            assert_array_equal(explainer.importances(average="classes"), np.zeros(5))
    with pytest.raises(ValueError, match=r"output is 0; give one of \['True'\]\."):
        explanation.output(0)  # the class is True


@pytest.mark.parametrize("unit", [1e-6, 1e-7, 1e-9])
def test_targets_that_half_precision_cannot_hold_are_refused_by_name(unit):
    """What was lost is more than contributions can make up for; this once was to be reported as an error of ours."""
    own = data(0)
    y = (own.y - 900.0) / 200.0 * unit
    message = r"vector_dtype is 'float16', .*Fit the model with vector_dtype='float32', or rescale y"
    official = CascadeForestRegressor(**SMALL, preset="official").fit(own.X, y)
    with pytest.raises(ValueError, match=message):
        explain(official, own.new)
    for model, factor in (
        (CascadeForestRegressor(**SMALL, preset="official", vector_dtype="float32"), 1.0),
        (CascadeForestRegressor(**SMALL, preset="official"), 1e-3 / unit),
    ):
        explanation = explain(model.fit(own.X, y * factor), own.new)
        total = explanation.bias + explanation.contributions.sum(axis=1)
        assert_allclose(total[:, 0], model.predict(own.new), rtol=1e-9, atol=0)


@pytest.mark.parametrize(("dtype", "missing"), [("float64", 3e-8), ("float32", 3e-8), ("float16", 1e-7)])
def test_any_other_sum_that_misses_the_prediction_is_an_error_of_ours(dtype, missing):
    """Also in half precision, where more is missing than it can lose."""
    contributions = np.full((1, 2, 1), 1e-6)
    with pytest.raises(RuntimeError, match="please report it"):
        _add_up(np.zeros(1), contributions, np.full((1, 1), 2e-6 + missing), dtype)


def test_a_table_has_the_greatest_contributions_first():
    explanation = explainer_of("gcforest").explain(data(3).new)
    table = explanation.to_frame(2)
    assert list(table.columns) == ["value", "0", "1", "2"]
    assert sorted(table.index) == explanation.feature_names == ["x0", "x1", "x2", "x3", "x4"]
    greatest = table[["0", "1", "2"]].abs().max(axis=1)
    assert (np.diff(greatest) <= 0).all()
    for k, name in enumerate(explanation.feature_names):
        assert_array_equal(table.loc[name, "value"], data(3).new[2, k])
        assert_array_equal(table.loc[name, ["0", "1", "2"]].to_numpy(float), explanation.contributions[2, k])
    assert explanation.to_frame(-1).equals(explanation.to_frame(len(explanation) - 1))


@pytest.mark.parametrize(("name", "k"), [("gcforest", 3), ("regressor", 0)])
def test_a_text_adds_up(name, k):
    explanation = explainer_of(name).explain(data(k).new)
    text = explanation.text(4, n_features=2)
    numbers, words = zip(*(line.strip().split("  ", 1) for line in text.splitlines()), strict=True)
    assert len(words) == 5  # prediction, bias, two features, the rest
    assert words[1] == "bias"
    assert words[-1] == "3 other features"
    assert words[0].endswith("of row 4")
    predicted, *parts = map(float, numbers)
    assert_allclose(sum(parts), predicted, rtol=1e-5, atol=1e-5 * max(map(abs, parts)))
    c = int(explanation.prediction[4].argmax())
    assert_allclose(predicted, explanation.prediction[4, c], rtol=1e-5)
    assert abs(parts[1]) >= abs(parts[2])
    assert len(explanation.text(4).splitlines()) == 7  # nothing is left for others
    with pytest.raises(ValueError, match="n_features is 0"):
        explanation.text(4, n_features=0)


def test_sparse_rows_have_values():
    model, own, _ = CASCADES["gcforest float16"].fitted()
    explanation = explain(model, scipy.sparse.csr_matrix(np.nan_to_num(own.new)), own.X, own.y)
    assert_array_equal(explanation.values(1), np.nan_to_num(own.new[1]))


def test_names_of_the_package():
    assert cascadeforest.Explainer is Explainer
    assert cascadeforest.explain is explain
    assert explainer_of("random forest").n_layers == 1


def test_an_enriched_forest_gives_nothing_to_features_that_it_never_looks_at():
    """Weight 0 in place of 3; the others share the prediction as in any forest."""
    case = FORESTS["enriched"]
    model, own, weights = case.fitted()
    explainer = Explainer(model, own.X, own.y, weights)
    found = explainer.explain(own.new)
    assert_array_equal(found.contributions[:, 3], 0.0)
    assert (abs(found.contributions[:, [0, 1, 2]]).max(axis=(0, 2)) > 0.01).all()
    total = found.bias + found.contributions.sum(axis=1)
    assert_allclose(total, model.predict_proba(own.new), rtol=0, atol=1e-9)
    assert explainer.importances()[3] == 0.0
