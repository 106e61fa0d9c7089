"""hiDF, whose interactions share what a split changes, and DDBF, whose rows leave when a forest finds them easy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from cascadeforest import DDBFClassifier, HardExampleClassifier, HiDFClassifier, load, save
from cascadeforest.cascade.combination import Condition, Interaction, features_behind
from cascadeforest.explanations import Explainer, explain
from cascadeforest.explanations._forests import LeafTables
from cascadeforest.forest.walks import SharedColumns

from . import naive
from .models import HARD, INTERACTIONS, OF_HARD_EXAMPLES, OF_INTERACTIONS, data
from .test_additivity import OPTIONS, check_sums, problems
from .test_against_the_naive_twin import twin_of


def interaction(*conditions, weights=None):
    """An interaction of conditions (column, sign) or (column, codes)."""
    made = tuple(
        Condition(column, "", 1, 0.0, sign, sign) if isinstance(sign, tuple) else Condition(column, "", sign, 0.5)
        for column, sign in conditions
    )
    return Interaction("", 1, made, tuple(weights or [1.0] * len(made)), 2, 1.0, 1.0, (), 0.0)


# Features behind an interaction.


def test_interactions_within_interactions_are_taken_apart():
    found = [interaction((0, 1), (3, -1)), interaction((4, 1), (1, 1)), interaction((4, -1), (5, 1), (0, 1))]
    assert features_behind(found, 4) == [[0, 3], [0, 1, 3], [0, 1, 3]]


def test_a_feature_that_cannot_change_the_value_is_not_behind_it():
    """Its weight is 0, or two conditions on it add up to a constant; sets of levels are terms of their own."""
    assert features_behind([interaction((0, 1), (1, 1), weights=[0.0, 0.2])], 2) == [[1]]
    assert features_behind([interaction((0, 1), (0, -1), (1, 1))], 2) == [[1]]
    assert features_behind([interaction((0, 1), (0, -1), (1, 1), weights=[0.1, 0.2, 0.2])], 2) == [[0, 1]]
    assert features_behind([interaction((0, (0,)), (0, (1,)), (1, 1))], 2) == [[0, 1]]
    assert features_behind([interaction((0, 1), (0, -1))], 2) == [[0]]
    assert features_behind([interaction((0, 1), (1, 1)), interaction((2, 1), (0, 1), weights=[0.0, 1.0])], 2)[1] == [0]


@pytest.mark.parametrize("name", OF_INTERACTIONS)
def test_the_features_behind_are_those_that_change_the_value(name):
    """By changing one feature after another, in rows near the thresholds and far from them."""
    model, *_ = OF_INTERACTIONS[name].fitted()
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, model.n_features_in_)) * 3
    rows = np.concatenate([rows, -100 * rows])
    values = naive.interaction_values(model, rows)
    scale = abs(values).max(axis=0)
    moved = [set() for _ in model.interactions_]
    for feature in range(model.n_features_in_):
        other = rows.copy()
        other[:, feature] = rng.permutation(rows[:, feature])
        change = abs(naive.interaction_values(model, other) - values).max(axis=0)
        for i in np.flatnonzero(change > 1e-9 * scale):
            moved[i].add(feature)
    assert [sorted(one) for one in moved] == features_behind(model.interactions_, model.n_features_in_)


# Shares.


def test_an_interaction_shares_a_change_equally():
    """A tree of two splits by hand: on an interaction of features 0 and 2, and below it on feature 1."""
    offsets, feature = np.array([0, 5]), np.array([3, -1, 1, -1, -1], np.int32)
    parent, value = np.array([-1, 0, 0, 2, 2], np.int32), np.array([[0.5], [0.1], [0.9], [0.6], [1.0]])
    tables = LeafTables(
        *(offsets, feature, parent, value, 3, 4, np.full(5, -1, np.int32), np.empty((0, 3))),
        SharedColumns.of({"I1": [0, 2]}),
    )
    found = tables.contributions(np.array([[1], [3], [4]], np.int32))
    assert_allclose(found, [[-0.2, 0, -0.2], [0.2, -0.3, 0.2], [0.2, 0.1, 0.2]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", OF_INTERACTIONS)
def test_shares_are_what_interactions_contribute_as_columns(name):
    """The first layer's contributions of all columns, by a twin that knows no features behind, divided afterwards."""
    case = OF_INTERACTIONS[name]
    model, own, _ = case.fitted()
    twin, n = twin_of(case), model.n_features_in_
    level, behind = twin.levels[0], twin.behind
    expected = np.zeros((len(own.new), n, case.n_classes))
    bins = twin._bins(own.new)
    for models in level.forests:
        for grown in models:
            plain, n_columns = replace(grown, behind=()), n + len(behind)
            said = naive.explain_by(plain, level.bins, level.Y, n_columns, None, bins, range(len(own.new)))
            for i, (_, of_columns, _) in said.items():
                share = 1 / (len(models) * len(level.forests))
                expected[i] += of_columns[:, :n].T * share
                for column, features in enumerate(behind, n):
                    for feature in features:
                        expected[i, feature] += of_columns[:, column] / len(features) * share
    found = Explainer(model).explain(own.new, layer=1)
    missing = found.prediction - found.bias - expected.sum(axis=1)  # rounding of vectors
    assert abs(missing).max() < 1e-6
    assert_allclose(found.contributions, expected, rtol=0, atol=2 * abs(missing).max() + 1e-12)


# Sums on data of all kinds.


@st.composite
def tables(draw):
    """A data frame with a categorical column, whose new rows have a level that training rows lack."""
    X, y, weights, new = draw(problems())
    X, new = (pd.DataFrame(x.toarray() if hasattr(x, "toarray") else x) for x in (X, new))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = np.array(["red", "green", "blue", "grey"], object)
    X["colour"] = pd.Categorical(levels[(y + rng.integers(0, 2, len(y))) % 3])
    new["colour"] = pd.Categorical(levels[rng.integers(0, 4, len(new))])
    X.columns = new.columns = [f"column {k}" for k in range(X.shape[1])]
    return X, y, weights, new


def check_all(model, problem, options):
    X, y, weights, new = problem
    names = np.array(["a", "b", "c", "d"])
    model.fit(X, names[y], weights)
    explainer = Explainer(model, X, names[y], weights, **options)
    prediction = model.predict_proba(new)
    check_sums(explainer.explain(new), prediction)
    for found in explainer.staged_explain_held_out():
        known = ~np.isnan(found.bias[:, 0])
        assert known.sum() == (len(y) if weights is None else np.count_nonzero(weights))
        check_sums(found, found.prediction, bias_by_row=True)
    return explainer, new


@settings(max_examples=15, deadline=None)
@given(
    problem=st.one_of(problems(), tables()),
    use_class_vectors=st.booleans(),
    class_weight=st.sampled_from([None, "balanced"]),
    options=st.fixed_dictionaries(OPTIONS),
)
def test_explanations_of_hidf_add_up_on_any_data(problem, use_class_vectors, class_weight, options):
    model = HiDFClassifier(
        **INTERACTIONS | {"n_estimators": 3, "cv_estimators": 1, "n_folds": 2},
        use_class_vectors=use_class_vectors,
        class_weight=class_weight,
        repeated="tightest",
    )
    explainer, _ = check_all(model, problem, options)
    assert explainer.n_layers == 1 + use_class_vectors


@settings(max_examples=15, deadline=None)
@given(
    problem=st.one_of(problems(), tables()),
    validation=st.sampled_from(["k_fold", "oob"]),
    threshold=st.sampled_from(["mean", "median"]),
    class_weight=st.sampled_from([None, "balanced"]),
    options=st.fixed_dictionaries(OPTIONS),
)
def test_explanations_of_ddbf_add_up_on_any_data(problem, validation, threshold, class_weight, options):
    model = DDBFClassifier(
        **HARD | {"threshold": threshold, "vote_fraction": 0.2, "max_depth": 2},
        validation=validation,
        n_folds=2,
        class_weight=class_weight,
    )
    explainer, new = check_all(model, problem, options)
    for found, expected in zip(explainer.staged_explain(new), model.staged_predict_proba(new), strict=True):
        check_sums(found, expected)


MODELS = {
    "hidf": HiDFClassifier(2, 8, max_layers=2, keep="last", preset="official", random_state=0),
    "ddbf": DDBFClassifier(30, threshold="median", vote_fraction=0.9, max_layers=4, keep="last", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_explanations_of_real_data_add_up_and_are_saved(name, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:, :10], y
    model = MODELS[name].fit(X[:300], y[:300])
    assert len(model.interactions_) if name == "hidf" else (model.n_rows_[-1] < 200)
    explainer = Explainer(model)
    found = explainer.explain(X[300:])
    check_sums(found, model.predict_proba(X[300:]))
    save(explainer, tmp_path / "explainer")
    again = load(tmp_path / "explainer").explain(X[300:])
    assert again.contributions.tobytes() == found.contributions.tobytes()
    assert_allclose(explainer.importances("in_bag").sum(), explainer.column_importances("in_bag").sum(), rtol=1e-9)
    assert model.feature_importances_.argmax() in (3, 6, 7)  # area, mean concavity, concave points
    if name == "hidf":
        assert_allclose(explainer.importances().sum(), explainer.column_importances().sum(), rtol=1e-9)


# Layers, columns, rows that are kept.


def test_columns_of_hidf_have_the_names_of_its_interactions():
    model, *_ = OF_INTERACTIONS["hidf with class vectors"].fitted()
    explainer = Explainer(model)
    names = [one.name for one in model.interactions_]
    features = [f"x{k}" for k in range(5)]
    assert explainer.column_names(1) == features + names
    assert explainer.column_names() == features + names + [f"{c} of forest {f}" for f in (1, 2) for c in (0, 1)]
    assert explainer.feature_names == features
    assert len(explainer.column_importances()) == len(explainer.column_names())


def test_a_layer_of_hidf_is_a_layer_of_the_forests_that_predict():
    """Without class vectors there is one; the stages of hiDF are representations, which are not explained."""
    own = data()
    model = HiDFClassifier(**INTERACTIONS, keep_stages=True).fit(own.X, own.y)
    explainer = Explainer(model)
    assert explainer.n_layers == 1
    assert len(list(model.staged_predict_proba(own.new))) == 3
    check_sums(explainer.explain(own.new, layer=1), model.predict_proba(own.new))
    with pytest.raises(ValueError, match="layer is 2; the model has 1"):
        explainer.explain(own.new, layer=2)


def test_hidf_without_interactions_is_explained_as_its_forest():
    own = data()
    model = HiDFClassifier(**INTERACTIONS | {"n_bootstraps": 0}).fit(own.X, own.y)
    assert Explainer(model).column_names() == Explainer(model).feature_names
    check_sums(explain(model, own.new), model.predict_proba(own.new))


def test_ddbf_explains_a_row_by_the_iteration_that_decides_it():
    """Without the passages, contributions in later iterations are those of the forests alone."""
    model, own, _ = OF_HARD_EXAMPLES["ddbf"].fitted()
    levels = model.decision_level(own.new)
    stages = list(Explainer(model).staged_explain(own.new))
    for level in range(model.n_layers_):
        for later in stages[level:]:
            assert_allclose(
                later.contributions[levels == level], stages[level].contributions[levels == level], rtol=0, atol=1e-15
            )
    assert abs(stages[2].contributions - stages[1].contributions)[levels == 2].max() > 0.01


@pytest.mark.parametrize("name", ["hidf", "ddbf"])
def test_values_of_training_rows_are_those_of_their_bins(name):
    """Every feature has fewer values than there are bins; rows of weight 0 are in no bins of DDBF."""
    case = (OF_INTERACTIONS | OF_HARD_EXAMPLES)[name]
    own = data()
    model = type(case.model)(**case.model.get_params()).fit(own.X, own.y, own.weights)
    shown = Explainer(model).explain_held_out().X
    kept = own.weights > 0
    assert shown.shape == own.X.shape
    distinct = np.abs(shown[kept] - own.X[kept])
    assert np.nanmax(distinct) < 1e-12
    assert_array_equal(np.isnan(shown[kept]), np.isnan(own.X[kept]))


def test_categories_are_shown_as_levels():
    own = data()
    X = pd.DataFrame(own.X[:, :3], columns=list("abc"))
    X["town"] = pd.Categorical(np.array(["Rome", "Oslo", "Bonn"])[own.y])
    for model in (HiDFClassifier(**INTERACTIONS), DDBFClassifier(**HARD)):
        explainer = Explainer(model.fit(X, own.y))
        assert explainer.feature_names == ["a", "b", "c", "town"]
        assert explainer.explain_held_out().X[:, 3].tolist() == X["town"].tolist()
        assert explainer.importances().argmax() == 3


# What is refused.


def test_calibrated_probabilities_of_ddbf_are_refused():
    own = data()
    model = DDBFClassifier(**HARD, calibration="isotonic").fit(own.X, own.y)
    with pytest.raises(ValueError, match=r"isotonic.*Fit it with calibration=None to explain it"):
        Explainer(model)
    with pytest.raises(AttributeError, match=r"no feature_importances_\. .*isotonic"):
        _ = model.feature_importances_


def test_a_learner_of_hard_examples_is_refused_and_its_forest_is_not():
    own = data()
    X = np.nan_to_num(own.X)
    model = HardExampleClassifier(LogisticRegression(), n_estimators=5, random_state=0).fit(X, own.y)
    with pytest.raises(TypeError, match=r"model is a HardExampleClassifier of cascadeforest; give .*DDBFClassifier"):
        Explainer(model)
    check_sums(explain(model.forest_, X), model.forest_.predict_proba(X))
