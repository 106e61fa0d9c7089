"""Importances: Eq. 6 by brute force, Eqs. 10, 11 and 31 as loops, Proposition 5.1, MDI-oob, and permutations."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression

from cascadeforest import GCForestClassifier, RandomForestClassifier, RandomForestRegressor
from cascadeforest.explanations import (
    Explainer,
    class_mean_decrease_impurity,
    mean_decrease_accuracy,
    mean_decrease_impurity,
)

from . import naive
from .models import CASCADES, FORESTS, MODELS, SMALL, data
from .test_additivity import OPTIONS, SMALLER, problems
from .test_against_the_naive_twin import twin_of

WITH_BAGS = [name for name, case in FORESTS.items() if case.model.bootstrap]
SINGLE_PREDICTS = [name for name in CASCADES if CASCADES[name].kind == "cascade"]


def explainer_of(case, **options):
    model, own, weights = case.fitted()
    return Explainer(model, own.X, own.y, weights, **options)


def unit_of(case):
    """Variance of the response: importances are parts of it."""
    return 1.0 if case.n_classes else float(np.var(case.fitted()[1].y))


# Proposition 5.1 (Eq. 32).


@pytest.mark.parametrize("calibration", ["partial", "additive", "multiplicative"])
@pytest.mark.parametrize("rows", ["held_out", "in_bag"])
@pytest.mark.parametrize("name", SINGLE_PREDICTS)
def test_importances_have_the_sum_of_those_of_all_columns(name, rows, calibration):
    case = CASCADES[name]
    explainer = explainer_of(case, calibration=calibration)
    for layer in (1, 2, 3):
        own = explainer.importances(rows, layer)
        of_columns = explainer.column_importances(rows, layer)
        model = case.fitted()[0]
        n_added = (layer > 1) * len(model.layers_[0].forests) * max(1, case.n_classes)
        assert own.shape == (explainer.model.n_features_in_,)
        assert of_columns.shape == (len(own) + n_added,)
        # Digits are lost where a factor of Eq. 23 is large.
        scale = max(unit_of(case), abs(own).max())
        assert abs(own.sum() - of_columns.sum()) <= 1e-9 * scale
        assert of_columns.sum() > 0.05 * unit_of(case)
    assert abs(of_columns[len(own) :]).sum() > 0.1 * abs(of_columns).sum()  # there is something to trace back


@pytest.mark.parametrize("calibration", ["partial", "additive", "multiplicative"])
@pytest.mark.parametrize("name", [name for name in CASCADES if CASCADES[name].kind in ("screening", "margin")])
def test_in_the_bag_so_have_those_of_the_other_cascades(name, calibration):
    """Of one layer's trees alone: no row has left, and no layer has a share."""
    case = CASCADES[name]
    explainer = explainer_of(case, calibration=calibration)
    for layer in range(1, explainer.n_layers + 1):
        own, of_columns = (
            kind("in_bag", layer=layer) for kind in (explainer.importances, explainer.column_importances)
        )
        assert abs(own.sum() - of_columns.sum()) <= 1e-9 * max(unit_of(case), abs(own).max())


@settings(max_examples=15, deadline=None)
@given(
    problem=problems(),
    class_vectors=st.sampled_from(["k_fold", "k_fold_refit", "oob"]),
    rows=st.sampled_from(["held_out", "in_bag"]),
    options=st.fixed_dictionaries(OPTIONS),
)
def test_importances_have_that_sum_on_any_data(problem, class_vectors, rows, options):
    X, y, weights, _ = problem
    model = GCForestClassifier(**SMALLER, class_vectors=class_vectors).fit(X, y, weights)
    explainer = Explainer(model, X, y, weights, **options)
    for layer in range(1, explainer.n_layers + 1):
        of_columns = explainer.column_importances(rows, layer)
        average = {"average": "rows"} if rows == "held_out" else {}  # the mean over classes is another one
        own = explainer.importances(rows, layer, **average)
        scale = max(1.0, abs(own).max(), abs(of_columns).max())
        assert abs(own.sum() - of_columns.sum()) <= 1e-9 * scale


# In the bag: decreases of impurity.


@pytest.mark.parametrize("name", FORESTS)
def test_importances_in_the_bag_are_the_decreases_of_impurity(name):
    case = FORESTS[name]
    model, *_ = case.fitted()
    found = explainer_of(case).importances("in_bag")
    twin = twin_of(case)
    (grown,) = twin.levels[0].forests[0]
    expected = naive.impurity_decreases(grown, twin.levels[0].bins, twin.Y, twin.n_features)
    assert_allclose(found, expected, rtol=0, atol=1e-12 * unit_of(case))
    # Weights are single precision within a tree: those of balanced classes are no whole numbers.
    exact = 1e-12 if model.get_params().get("class_weight") is None else 1e-7
    assert_allclose(found, model.mean_decrease_impurity_, rtol=0, atol=exact * unit_of(case))


@pytest.mark.parametrize("name", [*SINGLE_PREDICTS, "screening", "screening weighted", "mddf", "mddf weighted"])
def test_importances_of_columns_in_the_bag_are_their_decreases_of_impurity(name):
    """Also of deeper layers, added columns counted as features; the first layer has no others."""
    case = CASCADES[name]
    explainer = explainer_of(case)
    twin = twin_of(case)
    for layer, level in enumerate(twin.levels, 1):
        expected = np.mean(
            [
                np.mean([naive.impurity_decreases(g, level.bins, level.Y, len(level.bins)) for g in models], axis=0)
                for models in level.forests
            ],
            axis=0,
        )
        found = explainer.column_importances("in_bag", layer)
        assert_allclose(found, expected, rtol=0, atol=1e-12 * unit_of(case))
        if layer == 1:
            assert_allclose(explainer.importances("in_bag", 1), expected, rtol=0, atol=1e-12 * unit_of(case))


@pytest.mark.parametrize("name", ["gcforest", "gcforest of two classes", "gcforest oob", "regressor", "screening"])
def test_importances_in_the_bag_of_deeper_layers_are_traced_back(name):
    case = CASCADES[name]
    explainer, twin = explainer_of(case), twin_of(case)
    for layer, level in enumerate(twin.levels, 1):
        expected = naive.in_bag_importances(level, twin.n_features)
        # Uncentred in the twin: in the bag contributions have mean 0, so that the mean response does not count.
        found = explainer.importances("in_bag", layer)
        assert_allclose(found, expected, rtol=0, atol=1e-6 * unit_of(case))


# Out of the bag, held out.


@pytest.mark.parametrize("name", WITH_BAGS)
def test_importances_out_of_the_bag_are_mdi_oob(name):
    case = FORESTS[name]
    twin = twin_of(case)
    (grown,) = twin.levels[0].forests[0]
    expected = naive.out_of_bag_importances(grown, twin.levels[0].bins, twin.Y, twin.weights, twin.n_features)
    found = explainer_of(case).importances("out_of_bag")
    assert_allclose(found, expected, rtol=0, atol=1e-12 * unit_of(case))


def test_a_tree_that_drew_all_rows_has_no_say_out_of_the_bag():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    everyone = [t for t in range(30) if forest.in_bag_counts(t).all()]
    assert 0 < len(everyone) < 30
    twin = naive.Twin(forest, X, y, kind="forest")
    (grown,) = twin.levels[0].forests[0]
    expected = naive.out_of_bag_importances(grown, twin.levels[0].bins, twin.Y, twin.weights, 1)
    assert_allclose(Explainer(forest, X, y).importances("out_of_bag"), expected, rtol=0, atol=1e-12)


def test_without_bootstrap_nothing_is_out_of_the_bag():
    own = data()
    forest = RandomForestClassifier(3, bootstrap=False).fit(own.X, own.y)
    with pytest.raises(ValueError, match="Every tree drew all rows"):
        Explainer(forest, own.X, own.y).importances("out_of_bag")
    with pytest.raises(ValueError, match="bootstrap is False"):
        Explainer(forest, own.X, own.y).importances()


def response_of(case):
    """Indicators or targets, and weights of rows; what a tree balances by itself is no weight of a row."""
    model, own, weights = case.fitted()
    classes = getattr(model, "classes_", None)
    Y = own.y[:, None] if classes is None else (own.y[:, None] == classes[None]).astype(float)
    weights = np.ones(len(Y)) if weights is None else weights
    named = getattr(model, "class_weight", None)
    named = None if named == "balanced_subsample" else named
    label = own.y if classes is not None else np.zeros(len(Y), int)
    return Y, np.array(naive.class_weights(label, weights, named, classes))


@pytest.mark.parametrize("name", [*CASCADES, *WITH_BAGS])
def test_held_out_importances_are_means_of_contributions_times_responses(name):
    case = MODELS[name]
    explainer = explainer_of(case)
    contributions = explainer.explain_held_out().contributions
    Y, weights = response_of(case)
    rows = np.flatnonzero(weights)
    mean = sum(weights[i] * Y[i] for i in rows) / weights.sum()
    for centred, relative_to in ((True, mean), (False, 0.0)):
        expected = sum(weights[i] * (contributions[i] * (Y[i] - relative_to)).sum(axis=1) for i in rows) / weights.sum()
        found = explainer.importances(average="rows", centred=centred)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * unit_of(case))
    if not case.n_classes:
        return
    of_classes = [
        sum(weights[i] * contributions[i, :, c] for i in rows if Y[i, c]) / sum(weights[i] for i in rows if Y[i, c])
        for c in range(Y.shape[1])
    ]
    assert_allclose(explainer.class_importances(), of_classes, rtol=0, atol=1e-12)
    assert_allclose(explainer.importances(average="classes"), np.mean(of_classes, axis=0), rtol=0, atol=1e-12)


def test_presets_choose_the_average():
    case = CASCADES["gcforest"]
    paper, official = explainer_of(case), explainer_of(case, preset="official", node_rows="in_bag")
    assert_array_equal(official.importances(), paper.importances(average="classes"))
    assert_array_equal(paper.importances(), official.importances(average="rows"))
    assert not np.allclose(paper.importances(), official.importances())
    staged = list(paper.staged_importances("in_bag"))
    assert_array_equal(staged, [paper.importances("in_bag", layer) for layer in (1, 2, 3)])
    staged = list(paper.staged_importances())
    assert_array_equal(staged, [paper.importances(layer=layer) for layer in (1, 2, 3)])


def test_an_average_that_changes_nothing_may_be_named():
    """Means over rows are what the other rows have, and a preset's own average is what its user did not choose."""
    for preset, averages in (("paper", [None, "rows"]), ("official", [None, "rows", "classes"])):
        explainer = explainer_of(FORESTS["random forest"], preset=preset)
        for rows in ("in_bag", "out_of_bag"):
            found = [explainer.importances(rows, average=average) for average in averages]
            assert_array_equal(found, [found[0]] * len(averages))
            assert abs(found[0]).max() > 0.01


# The means alone.


def test_means_by_hand():
    contributions = np.array([[[0.2, -0.2], [0.1, -0.1]], [[-0.4, 0.4], [0.0, 0.0]], [[0.3, -0.3], [0.2, -0.2]]])
    Y = np.array([[1, 0], [0, 1], [1, 0]])
    # Uncentred: (0.2 + 0.4 + 0.3) / 3 and (0.1 + 0 + 0.2) / 3.
    assert_allclose(mean_decrease_impurity(contributions, Y, centred=False), [0.3, 0.1])
    # Means of the columns are 1/30 and 1/10 for the first class, the negatives for the second: with mean responses 2/3
    # and 1/3 centring takes off a third of them.
    assert_allclose(mean_decrease_impurity(contributions, Y), [0.3 - 1 / 90, 0.1 - 1 / 30])
    # The second row counts twice: (0.2 + 0.8 + 0.3) / 4 and 0.3 / 4.
    weighted = mean_decrease_impurity(contributions, Y, [1, 2, 1], centred=False)
    assert_allclose(weighted, [0.325, 0.075])
    assert_allclose(class_mean_decrease_impurity(contributions, Y), [[0.25, 0.15], [0.4, 0.0]])
    assert_allclose(class_mean_decrease_impurity(contributions, Y, [3, 1, 1]), [[0.225, 0.125], [0.4, 0.0]])


def test_rows_without_contributions_do_not_count():
    contributions = np.array([[[1.0]], [[np.nan]], [[-1.0]]])
    assert_allclose(mean_decrease_impurity(contributions, [[3.0], [100.0], [1.0]]), [1.0])
    assert_allclose(mean_decrease_impurity(contributions, [[3.0], [100.0], [1.0]], [1.0, 5.0, 1.0]), [1.0])


def test_a_class_without_rows_has_no_importance_of_its_own():
    found = class_mean_decrease_impurity([[[0.5, 0.1]]], [[1, 0]])
    assert_allclose(found[0], [0.5])
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("mean", [mean_decrease_impurity, class_mean_decrease_impurity])
def test_what_has_no_mean_is_refused(mean):
    with pytest.raises(ValueError, match=r"contributions has shape \(2, 3\) and Y \(2, 1\)"):
        mean(np.zeros((2, 3)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"contributions has shape \(2, 3, 2\) and Y \(2, 1\)"):
        mean(np.zeros((2, 3, 2)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"weights has shape \(3,\); give \(2,\)"):
        mean(np.zeros((2, 3, 1)), np.zeros((2, 1)), np.ones(3))
    with pytest.raises(ValueError, match="no row of finite numbers"):
        mean(np.full((2, 3, 1), np.nan), np.zeros((2, 1)))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("weights", [[0, 0, 0], [0, 5, 0]])
def test_weights_of_nothing_have_no_mean(weights, centred):
    """Also where rows with weight have no contributions."""
    contributions = np.array([[[1.0]], [[np.nan]], [[-1.0]]])
    with pytest.raises(ValueError, match=r"weights has sum 0 over the 2 rows .* give weights"):
        mean_decrease_impurity(contributions, [[3.0], [100.0], [1.0]], weights, centred=centred)


@pytest.mark.parametrize("name", CASCADES)
def test_columns_have_names(name):
    """As many as columns, also in the paper's structures of mdDF that leave the sum or the features out."""
    case = CASCADES[name]
    explainer = explainer_of(case)
    outputs = explainer.output_names
    features = ["x0", "x1", "x2", "x3", "x4"]
    assert explainer.column_names(1) == features
    added = [
        f"{output} of forest {k}" for k in range(1, len(case.fitted()[0].layers_[0].forests) + 1) for output in outputs
    ]
    expected = {"mddf stacking": added, "mddf no_preconc": features}.get(name, features + added)
    assert explainer.column_names() == expected
    for layer in (1, 2):
        assert len(explainer.column_importances("in_bag", layer)) == len(explainer.column_names(layer))
    with pytest.raises(ValueError, match="layer is 9"):
        explainer.column_names(9)


@pytest.mark.parametrize("name", ["gcforest", "regressor", "screening weighted", "mddf refit", "gcforest oob"])
def test_cascades_have_importances_as_scikit_learn_knows_them(name):
    case = CASCADES[name]
    _, own, weights = case.fitted()
    model = clone(case.model)
    assert not hasattr(model, "feature_importances_")
    model.fit(own.X, own.y, weights)
    found = model.feature_importances_
    raw = np.maximum(Explainer(model).importances(), 0.0)
    assert_allclose(found, raw / raw.sum(), rtol=1e-14, atol=0)
    assert (found >= 0).all()
    assert found[4] == 0.0  # a constant
    assert found[:2].sum() > 0.6
    assert_allclose(found.sum(), 1.0, rtol=1e-14)
    found[:] = 9.0  # a copy
    assert_allclose(model.feature_importances_.sum(), 1.0, rtol=1e-14)
    kept = pickle.loads(pickle.dumps(model))
    assert_array_equal(kept.feature_importances_, model.feature_importances_)
    with pytest.raises(AttributeError, match=r"no feature_importances_.*was pickled"):
        pickle.loads(pickle.dumps(model.fit(own.X, own.y, weights))).feature_importances_  # noqa: B018


def test_showing_a_model_asks_for_no_importances():
    own = data(3)
    model = GCForestClassifier(**SMALL).fit(own.X, own.y)
    assert "n_layers_" in model._repr_html_()
    assert model._importances is None
    assert "feature_importances_" not in dir(model)
    model.feature_importances_  # noqa: B018
    assert "feature_importances_" in dir(model)


def test_importances_select_features_in_a_pipeline():
    own = data(3)
    X = np.nan_to_num(own.X)
    selector = SelectFromModel(GCForestClassifier(**SMALL), max_features=2, threshold=-np.inf).fit(X, own.y)
    assert selector.get_support().tolist() == [True, True, False, False, False]


def test_importances_are_zero_without_a_split_and_missing_where_nothing_is_traced_back():
    X = np.ones((30, 3))
    assert_array_equal(GCForestClassifier(**SMALL).fit(X, np.arange(30) % 2).feature_importances_, np.zeros(3))
    X = np.random.default_rng(0).random((30, 12))
    scanning = GCForestClassifier(**SMALL, scanning={"windows": [4]}, input_shape=(12,)).fit(X, np.arange(30) % 2)
    assert not hasattr(scanning, "feature_importances_")
    with pytest.raises(AttributeError, match="scans windows"):
        scanning.feature_importances_  # noqa: B018
    foreign = GCForestClassifier(**SMALL, estimators=[LogisticRegression()]).fit(X, np.arange(30) % 2)
    assert not hasattr(foreign, "feature_importances_")


def test_importances_that_do_not_exist_are_refused():
    cascade, regressor = explainer_of(CASCADES["gcforest"]), explainer_of(CASCADES["regressor"])
    with pytest.raises(ValueError, match=r"rows is 'out_of_bag'.*choose 'held_out' for a cascade"):
        cascade.importances("out_of_bag")
    with pytest.raises(ValueError, match="rows is 'test'"):
        cascade.importances("test")
    with pytest.raises(ValueError, match="rows is 'out_of_bag'"):
        cascade.column_importances("out_of_bag")
    for options in ({"rows": "in_bag"}, {"average": "classes"}):
        with pytest.raises(ValueError, match=r"centred is False with rows .*, where it has no meaning"):
            cascade.importances(centred=False, **options)
    with pytest.raises(ValueError, match="average is 'forests'"):
        cascade.importances(average="forests")
    with pytest.raises(ValueError, match="average is 'classes'"):
        regressor.importances(average="classes")
    forest = explainer_of(FORESTS["random forest"])
    for explainer, rows in ((cascade, "in_bag"), (forest, "in_bag"), (forest, "out_of_bag")):
        with pytest.raises(ValueError, match=f"average is 'classes' with rows '{rows}' .*, where it has no meaning"):
            explainer.importances(rows, average="classes")
        with pytest.raises(ValueError, match=f"average is 'classes' with rows '{rows}'"):
            list(explainer.staged_importances(rows, average="classes"))
    with pytest.raises(ValueError, match="class importances are for classifiers"):
        regressor.class_importances()


# Permutations.


def test_permuting_costs_what_the_feature_is_worth():
    """A stump on a balanced binary feature: permuted rows keep their value, and their class, half of the time."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 200), rng.random(400), np.ones(400)])
    y = X[:, 0].astype(int)
    forest = RandomForestClassifier(5, max_features=None, random_state=0).fit(X, y)
    found = mean_decrease_accuracy(forest, X, y, random_state=0)
    # Standard deviation of the mean of 10 permutations of 400 rows: about 0.5 / sqrt(4000) = 0.008.
    assert abs(found[0] - 0.5) < 0.04
    assert_array_equal(found[1:], [0.0, 0.0])
    # In regression minus the root mean squared error: the same rows miss by 10.
    forest = RandomForestRegressor(5, max_features=None, random_state=0).fit(X, 10.0 * y)
    found = mean_decrease_accuracy(forest, X, 10.0 * y, n_repeats=5, random_state=0)
    assert abs(found[0] - 10 * np.sqrt(0.5)) < 0.6
    assert_array_equal(found[1:], [0.0, 0.0])
    # Of the rows that have weight only.
    weights = np.zeros(400)
    weights[:200] = 1.0
    ones = mean_decrease_accuracy(GCForestClassifier(**SMALL).fit(X, y), X, y, n_repeats=2, sample_weight=weights)
    assert ones[0] > 0.2
    with pytest.raises(ValueError, match="n_repeats is 0"):
        mean_decrease_accuracy(forest, X, y, n_repeats=0)
