"""Leaf tables: the same numbers as from the training rows, made once and within their bound."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cascadeforest.explanations import Explainer
from cascadeforest.explanations._forests import TableLayout

from .models import CASCADES, MODELS

SOME = ["gcforest", "gcforest refit", "regressor oob", "screening", "screening oob", "mddf", "random forest"]


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
