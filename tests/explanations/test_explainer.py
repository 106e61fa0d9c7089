"""`Explainer` and `Explanation`: what does not change explanations, what is refused, and how explanations are read."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as ForestOfScikitLearn
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import cascadeforest
from cascadeforest import CascadeForestRegressor, GCForestClassifier, RandomForestClassifier
from cascadeforest.explanations import Explainer, explain

from .models import CASCADES, FORESTS, MODELS, SMALL, data

SOME = ["gcforest", "gcforest refit", "regressor oob", "screening", "mddf", "random forest"]


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


@pytest.mark.parametrize("name", ["gcforest", "gcforest float16", "screening", "random forest"])
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

WRONG = r"X_train and y_train are not the rows that the model learned from"


@pytest.mark.parametrize("name", ["gcforest", "regressor", "screening", "mddf", "random forest", "regression forest"])
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
        with pytest.raises(ValueError, match=WRONG):
            Explainer(model, X, y, weights).explain(own.new)
        with pytest.raises(ValueError, match=WRONG):
            Explainer(model, X, y, weights).importances("in_bag")


@pytest.mark.parametrize("kind", [GCForestClassifier, CascadeForestRegressor])
def test_other_weights_are_noticed_where_leaves_hold_unlike_rows(kind):
    """Leaves of like rows have the same mean under any weights; nothing else is kept of the rows."""
    own = data(3 if kind is GCForestClassifier else 0)
    model = kind(**SMALL, max_depth=3).fit(own.X, own.y)
    with pytest.raises(ValueError, match=WRONG):
        explain(model, own.new, own.X, own.y, np.linspace(1, 3, len(own.y)))


def test_missing_weights_are_noticed():
    model, own, weights = CASCADES["gcforest weighted"].fitted()
    with pytest.raises(ValueError, match=WRONG):
        explain(model, own.new, own.X, own.y)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(69,\)"):
        explain(model, own.new, own.X, own.y, weights[1:])


@pytest.mark.parametrize("name", ["gcforest", "regressor", "random forest"])
def test_another_number_of_features_is_refused(name):
    model, own, _ = MODELS[name].fitted()
    with pytest.raises(ValueError, match=r"X.* has 4 features, but .*5"):
        Explainer(model, own.X[:, :4], own.y)
    with pytest.raises(ValueError, match=r"X has 4 features"):
        Explainer(model, own.X, own.y).explain(own.new[:, :4])


@pytest.mark.parametrize("name", ["gcforest", "random forest"])
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
    with pytest.raises(TypeError, match=r"model is a RandomForestClassifier; give one of .*GCForestClassifier"):
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
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        explainer_of("gcforest", **options)


def test_training_rows_are_needed():
    model, own, _ = CASCADES["gcforest"].fitted()
    for arguments in ((), (own.X,), (None, own.y)):
        with pytest.raises(ValueError, match=r"X_train or y_train is None.*explain\(model, X, X_train, y_train\)"):
            explain(model, own.new, *arguments)


# Reading an explanation.


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
    for explanation, output in ((three, None), (three, 3), (three, -1), (three, "x"), (two, True), (one, "x0")):
        with pytest.raises(ValueError, match=rf"output is {output!r}"):
            explanation.output(output)


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
    assert set(FORESTS) | set(CASCADES) == set(MODELS)
