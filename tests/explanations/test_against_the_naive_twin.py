"""Every number of `Explainer` against the naive twin: all models, calibrations, rows of nodes, layers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from cascadeforest.explanations import Explainer
from cascadeforest.explanations._levels import Options

from . import naive
from .models import CASCADES, FORESTS, MODELS, OF_HARD_EXAMPLES, OF_INTERACTIONS

#: Layers hand contributions on as float32: what deeper layers estimate by them is off by that, relative to their scale.
SINGLE = 1e-6


def twin_of(case, **options):
    model, own, weights = case.fitted()
    of_folds = None
    if getattr(model, "class_vectors", None) == "k_fold_refit":
        # The same folds and seeds, and so the same models; this cascade keeps them.
        of_folds = clone(model).set_params(class_vectors="k_fold").fit(own.X, own.y, weights).layers_
    return naive.Twin(model, own.X, own.y, weights, kind=case.kind, of_folds=of_folds, **options)


def scale_of(case):
    return 1.0 if case.n_classes else float(np.ptp(case.fitted()[1].y))


def check(case, rule, node_rows, layers, tolerance=None):
    model, own, weights = case.fitted()
    tolerance = tolerance or (lambda _: SINGLE * scale_of(case))
    twin = twin_of(case, rule=rule, all_rows=node_rows == "all")
    explainer = Explainer(model, own.X, own.y, weights, calibration=rule, node_rows=node_rows)
    found = zip(explainer.staged_explain(own.new), twin.explain(own.new), strict=True)
    for layer, (ours, (bias, contributions, prediction)) in enumerate(found):
        exact = 1e-12 * scale_of(case)
        assert_allclose(ours.bias, bias, rtol=1e-12, atol=1e-12)
        assert_allclose(ours.prediction, prediction, rtol=1e-12, atol=exact)
        if layer in layers:
            atol = tolerance(contributions) if layer else exact
            assert_allclose(ours.contributions, contributions, rtol=0, atol=atol)
    if twin.levels[0].held_out is None:
        with pytest.raises(ValueError, match=r"no rows out of the bag: bootstrap is False.*bootstrap=True"):
            explainer.explain_held_out()
        return
    for layer, ours in enumerate(explainer.staged_explain_held_out()):
        bias, contributions = twin.held_out(layer + 1)
        assert_allclose(ours.bias, bias, rtol=1e-12, atol=1e-12)
        assert_allclose(ours.prediction, bias + contributions.sum(axis=1), rtol=1e-12, atol=1e-6 * scale_of(case))
        if layer in layers:
            atol = tolerance(contributions) if layer else 1e-12 * scale_of(case)
            assert_allclose(ours.contributions, contributions, rtol=0, atol=atol)


EVERY = [("partial", "in_bag"), ("partial", "all"), ("additive", "in_bag"), ("additive", "all")]
COMBINATIONS = [
    (name, *EVERY[i]) for name in CASCADES for i in (range(4) if name in ("gcforest", "regressor") else (0, 3))
]


@pytest.mark.parametrize(("name", "rule", "node_rows"), COMBINATIONS)
def test_a_cascade_is_explained_as_by_the_naive_twin(name, rule, node_rows):
    check(CASCADES[name], rule, node_rows, range(3))


@pytest.mark.parametrize(
    ("name", "node_rows"), [("regressor", "all"), ("regressor oob", "in_bag"), ("gcforest of two classes", "in_bag")]
)
def test_multiplicative_calibration_is_that_of_the_naive_twin(name, node_rows):
    """Few sums of estimates cancel with one output, or two that mirror each other; those that do magnify rounding."""
    check(CASCADES[name], "multiplicative", node_rows, range(3), lambda c: 1e-3 * np.nanmax(abs(c)))


def test_multiplicative_calibration_divides_by_no_rounding_error():
    """With three classes a split on one class often leaves the mean vector of another as it was (Eq. 23: 0 / 0)."""
    case = CASCADES["gcforest"]
    model, own, _ = case.fitted()
    found = Explainer(model, own.X, own.y, calibration="multiplicative").staged_explain_held_out()
    twin = twin_of(case, rule="multiplicative")
    for layer, ours in enumerate(found):
        assert abs(ours.contributions).max() <= 2 * abs(twin.held_out(layer + 1)[1]).max()


@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_is_explained_by_its_decision_paths(name):
    check(FORESTS[name], "partial", "in_bag", range(1))


@pytest.mark.parametrize(("rule", "node_rows"), [EVERY[0], EVERY[3]])
@pytest.mark.parametrize("name", OF_INTERACTIONS | OF_HARD_EXAMPLES)
def test_hidf_and_ddbf_are_explained_as_by_the_naive_twin(name, rule, node_rows, monkeypatch):
    """Contributions are handed on in double precision here, so that all layers agree to the last digits."""
    monkeypatch.setattr(Options, "dtype", np.float64)
    check(MODELS[name], rule, node_rows, range(3), lambda _: 1e-12)


def test_the_cases_have_what_they_are_meant_to_test():
    """Splits on given and added columns, rows that leave at every level, layers that all speak, missing values."""
    for name, case in CASCADES.items():
        model, *_ = case.fitted()
        assert model.n_layers_ == 3, name
        for number, layer in enumerate(model.layers_):
            features = np.concatenate([m.trees.all_nodes().feature for models in layer.forests for m in models])
            n_given = 0 if number and "stacking" in name else model.n_features_in_
            assert (features >= n_given).any() == (number > 0 and "no_preconc" not in name), name
            assert ((features >= 0) & (features < n_given)).any() == (n_given > 0), name
        if case.kind == "screening":
            assert model.n_rows_[0] > model.n_rows_[1], name
    model, own, _ = CASCADES["screening oob"].fitted()
    assert (np.diff(model.n_rows_) < 0).all()
    assert set(model.decision_level(own.new)) == {0, 1, 2}
    for name in ("mddf", "mddf weighted", "mddf oob", "mddf refit", "mddf stacking", "mddf no_preconc"):
        shares = CASCADES[name].fitted()[0].shares_
        assert (shares[1:] > 0.1).all(), name
        assert (shares[1:] < 0.9).all(), name
    for name, case in OF_INTERACTIONS.items():
        model, *_ = case.fitted()
        n, behind = model.n_features_in_, naive.features_behind(model)
        seen = [
            feature
            for layer in model.final_.layers(model.n_classes_)
            for models in layer.forests
            for one in models
            for feature in one.trees.all_nodes().feature.tolist()
            if n <= feature < n + len(behind)
        ]
        assert {len(behind[feature - n]) for feature in seen} >= {2, 3}, name
        assert max(one.order for one in model.interactions_) > 3, name  # interactions within interactions
    for name, case in OF_HARD_EXAMPLES.items():
        model, own, _ = case.fitted()
        assert model.n_layers_ == 3, name
        assert model.n_rows_[0] > model.n_rows_[2], name
        assert {0, 2} <= set(model.decision_level(own.new)), name
    assert not all(layer.is_valid for layer in OF_HARD_EXAMPLES["ddbf weighted"].fitted()[0].layers_)
    for case in MODELS.values():
        assert np.isnan(case.fitted()[1].X).any()
        assert np.isnan(case.fitted()[1].new).any()
