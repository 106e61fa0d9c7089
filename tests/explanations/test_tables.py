"""Leaf tables: the same numbers as from the training rows, made once, within their bound, and pickled without rows."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from cascadeforest import GCForestClassifier, RandomForestClassifier, load, save
from cascadeforest.explanations import Explainer
from cascadeforest.explanations._forests import TableLayout

from .models import CASCADES, MODELS, data

SOME = ["gcforest", "gcforest refit", "regressor oob", "screening", "screening oob", "mddf", "random forest"]
SOME += ["hidf", "hidf with class vectors", "ddbf"]


def fitted_anew(name):
    case = MODELS[name]
    _, own, weights = case.fitted()
    return clone(case.model).fit(own.X, own.y, weights), own


def without_training_rows(explainer, monkeypatch):
    """From now on the explainer fails if it looks at a training row."""

    def refuse(self, learned):
        raise AssertionError("the training rows were read again")

    monkeypatch.setattr(type(explainer._walk), "trained_layers", refuse)


@pytest.mark.parametrize("calibration", ["partial", "additive", "multiplicative"])
@pytest.mark.parametrize("name", MODELS)
def test_tables_give_the_bytes_that_training_rows_give(name, calibration):
    model, own, _ = MODELS[name].fitted()
    by_tables = Explainer(model, calibration=calibration)
    by_rows = Explainer(model, calibration=calibration, max_table_mib=0)
    expected = list(by_rows.staged_explain(own.new))
    for _ in range(2):  # tables are made, and looked up
        for found, one in zip(by_tables.staged_explain(own.new), expected, strict=True):
            assert found.contributions.tobytes() == one.contributions.tobytes()
            assert found.bias.tobytes() == one.bias.tobytes()
            assert found.prediction.tobytes() == one.prediction.tobytes()


@pytest.mark.parametrize("name", SOME)
def test_training_rows_are_read_once(name, monkeypatch):
    model, own, _ = MODELS[name].fitted()
    explainer = Explainer(model)
    first = explainer.explain(own.new[:1])
    with monkeypatch.context() as patch:
        without_training_rows(explainer, patch)
        assert_array_equal(explainer.explain(own.new).contributions[:1], first.contributions)
        with pytest.raises(AssertionError, match="read again"):
            explainer.explain_held_out()


def test_layers_without_tables_yet_are_read_when_they_are_asked_for(monkeypatch):
    model, own, _ = CASCADES["gcforest"].fitted()
    explainer = Explainer(model)
    explainer.explain(own.new)
    expected = explainer.explain(own.new, layer=2)
    without_training_rows(explainer, monkeypatch)
    assert_array_equal(explainer.explain(own.new, layer=2).contributions, expected.contributions)
    with pytest.raises(AssertionError, match="read again"):
        explainer.explain(own.new, layer=1)


def test_threads_share_the_rows_and_change_no_byte():
    model, own, _ = CASCADES["gcforest"].fitted()
    new = np.tile(own.new, (50, 1))
    one, two = (Explainer(model, n_jobs=n_jobs).explain(new) for n_jobs in (1, 2))
    assert one.contributions.tobytes() == two.contributions.tobytes()


# Size.


def lines_of(view, n_given):
    """Children of splits on added columns with a leaf below that no other such split is above of; by recursion."""
    found = set()

    def visit(node, nearest):
        if view.children_left[node] < 0:
            if nearest is not None:
                found.add(nearest)
            return
        for child in (int(view.children_left[node]), int(view.children_right[node])):
            visit(child, child if view.feature[node] >= n_given else nearest)

    visit(0, None)
    return found


@pytest.mark.parametrize("name", ["gcforest", "mddf stacking", "regressor", "gcforest of two classes"])
def test_leaves_share_the_lines_of_the_split_above(name):
    model, *_ = CASCADES[name].fitted()
    n_given = 0 if name == "mddf stacking" else model.n_features_in_
    for layer in model.layers_[1:]:
        for trees in (one.trees for models in layer.forests for one in models):
            layout = TableLayout.of(trees, n_given)
            sizes = [len(lines_of(trees.tree(t), n_given)) for t in range(trees.n_trees)]
            assert np.diff(layout.first).tolist() == sizes
            assert (sum(sizes) < np.count_nonzero(trees.all_nodes().feature < 0)) == (n_given > 0)


@pytest.mark.parametrize("name", SOME)
def test_tables_take_what_was_foreseen_and_no_more_than_allowed(name):
    model, own, _ = MODELS[name].fitted()
    free = Explainer(model)
    expected = list(free.staged_explain(own.new))
    n_outputs, n_features = expected[0].contributions.shape[2], len(free.feature_names)
    for tables in free._tables.values():
        layouts = [TableLayout.of(trees, of.n_given) for models in tables.forests for trees, of in models]
        assert tables.n_bytes == sum(one.n_bytes(n_outputs, n_features) for one in layouts)
    size = sum(tables.n_bytes for tables in free._tables.values())
    for n_bytes, fits in ((size, True), (size - 1, False)):
        bound = Explainer(model, max_table_mib=n_bytes / 2**20)
        found = list(bound.staged_explain(own.new))
        kept = [tables.n_bytes for tables in bound._tables.values() if tables is not None]
        assert (len(kept) == len(expected)) == fits
        assert sum(kept) <= n_bytes
        for one, other in zip(found, expected, strict=True):
            assert_array_equal(one.contributions, other.contributions)


# Pickling.


@pytest.mark.parametrize("name", SOME)
def test_a_pickled_explainer_explains_without_training_rows(name, monkeypatch):
    """All layers if it explained nothing before; a copy of the copy too."""
    model, own = fitted_anew(name)
    explainer = Explainer(model)
    expected = list(Explainer(model).staged_explain(own.new))
    copied = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(explainer))))
    assert copied.model._learned_rows.rows is None
    without_training_rows(copied, monkeypatch)
    for found, one in zip(copied.staged_explain(own.new), expected, strict=True):
        assert found.contributions.tobytes() == one.contributions.tobytes()
        assert found.feature_names == one.feature_names
    assert_array_equal(copied.explain(own.new).contributions, expected[-1].contributions)


@pytest.mark.parametrize("name", ["mddf stacking", "hidf with class vectors", "ddbf"])
def test_a_saved_explainer_explains_as_before(name, tmp_path):
    """Layers of the ablation ST see no feature; those of hiDF see columns that several features share."""
    model, own, _ = MODELS[name].fitted()
    explainer = Explainer(model)
    expected = list(explainer.staged_explain(own.new))
    save(explainer, tmp_path / "explainer")
    for found, one in zip(load(tmp_path / "explainer").staged_explain(own.new), expected, strict=True):
        assert found.contributions.tobytes() == one.contributions.tobytes()


@pytest.mark.parametrize("copied_by", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy])
def test_a_copy_says_what_needs_training_rows(copied_by):
    model, own, _ = CASCADES["gcforest weighted"].fitted()
    explainer = Explainer(model)
    explainer.explain(own.new)
    copied = copied_by(explainer)
    copied.explain(own.new)
    for call in (
        lambda: copied.explain(own.new, layer=1),
        copied.explain_held_out,
        lambda: next(copied.staged_explain_held_out()),
        copied.importances,
        lambda: copied.importances("in_bag"),
        copied.column_importances,
        copied.class_importances,
        lambda: copied.responses,
        lambda: copied.weights,
    ):
        with pytest.raises(ValueError, match=r"no training rows.*of layers \[3\].*Explainer\(model, X_train, y_train"):
            call()
    assert len(explainer.responses) == len(own.y)  # the copied one keeps its rows


def test_pickles_do_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 200))
    y = (X[:, 0] > 0.5).astype(int)
    for model in (RandomForestClassifier(1, max_depth=1), GCForestClassifier(1, 1, max_layers=2, max_depth=1)):
        many, few = (pickle.dumps(Explainer(model.fit(X[:n], y[:n]), X[:n], y[:n])) for n in (3000, 300))
        assert len(many) - len(few) < 100_000  # edges; bins would take 540,000


def test_no_number_of_a_row_is_in_the_pickle():
    """Not of its features, its target or its weight, if all leaves have several rows."""
    own = data(0)
    y, weights = own.y + np.pi, 1 + np.arange(len(own.y)) / 100
    model = clone(CASCADES["regressor"].model).set_params(min_samples_leaf=5).fit(own.X, y, weights)
    written = pickle.dumps(Explainer(model, own.X, y, weights))
    for numbers in (y, weights):
        assert not any(number.tobytes() in written for number in numbers[:20])
    assert model._learned_rows.rows.columns[0].tobytes() not in written


def test_tables_that_do_not_fit_are_not_pickled():
    model, own, _ = CASCADES["gcforest"].fitted()
    explainer = Explainer(model, max_table_mib=0.01)
    explainer.explain(own.new)
    for one, said in (
        (explainer, r"0.01, .*of layers \[3\]"),
        (Explainer(model, max_table_mib=0), r"0, .*\[1, 2, 3\]"),
    ):
        with pytest.raises(ValueError, match=f"max_table_mib is {said}, and a pickled explainer needs them"):
            pickle.dumps(one)


@pytest.mark.parametrize("name", ["gcforest", "random forest"])
def test_a_pickled_explainer_notices_a_new_fit_of_its_model(name):
    model, own = fitted_anew(name)
    copied = pickle.loads(pickle.dumps(Explainer(model)))
    copied.explain(own.new)
    copied.model.fit(own.X, own.y)
    with pytest.raises(RuntimeError, match="was fitted again since"):
        copied.explain(own.new)
