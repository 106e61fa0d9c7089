"""What mdDF's layers hand on for the training rows, found again after the fit."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from cascadeforest import MDDFClassifier
from cascadeforest.cascade import margin

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(Y))


def cascade(**changes):
    parameters = {"gamma": 0.85, "mu": 0.05, "theta": 2, "max_layers": 3, "patience": 3, "keep": "last", "n_folds": 3}
    return MDDFClassifier(2, 4, **(parameters | {"random_state": 1} | changes))


@pytest.mark.parametrize(
    ("changes", "weights"),
    [
        ({}, None),
        ({"random_state": np.random.RandomState(3)}, None),  # a generator that has moved on since
        ({"preset": "official"}, None),  # shared folds
        ({"ablation": "stacking"}, None),
        ({"ablation": "no_preconc"}, None),
        ({"average_vectors": True}, WEIGHTS),
        ({"reweighting": False}, None),
        ({"ablation": "same_forests", "n_jobs": 2}, None),
        ({"estimators": ["random_forest", LogisticRegression(max_iter=300)]}, WEIGHTS),
        ({}, WEIGHTS),
        (
            {"theta": None, "search_estimators": 2, "search_layers": 1},
            None,
        ),  # its first layer is not that of the search
    ],
)
def test_they_are_the_held_out_vectors_of_the_fit_summed_up(monkeypatch, changes, weights):
    seen = []

    def watched(*arguments):
        layer, vectors = fit_layer(*arguments)
        seen.append(vectors.astype(np.float64))
        return layer, vectors

    fit_layer = margin.fit_layer
    monkeypatch.setattr(margin, "fit_layer", watched)
    model = cascade(**changes).fit(X, Y, weights)
    monkeypatch.undo()
    total = summed = 0.0
    for features, alpha, vectors in zip(
        pickle.loads(pickle.dumps(model)).staged_training_features(X, Y), model.alphas_, seen[-3:], strict=True
    ):
        total, summed = total + alpha, summed + alpha * vectors
        weighted = np.ones(len(Y), bool) if weights is None else weights > 0
        handed_on = summed.mean(axis=1) if changes.get("average_vectors") else summed
        assert features[weighted] == pytest.approx((handed_on / total).reshape(weighted.sum(), -1), abs=1e-6)
        assert np.isnan(features[~weighted]).all()
        assert features.shape == (150, 3 if changes.get("average_vectors") else 6)


def test_they_are_out_of_fold_and_not_what_the_rows_would_be_predicted():
    """Of pure noise the forests learn every row by heart; held-out vectors know nothing."""
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    model = cascade(max_layers=1, theta=50).fit(noise, y)
    (features,) = model.staged_training_features(noise, y)
    held_out = features.reshape(300, 2, 2).mean(axis=1).argmax(axis=1)
    # 300 fair coins: more than 190 heads come once in a quarter of a million times.
    assert np.count_nonzero(held_out == y) < 190
    assert np.mean(model.predict(noise) == y) > 0.8


def test_parameters_that_change_after_the_fit_change_nothing():
    model = cascade(preset="official").fit(X, Y)
    before = [features.tobytes() for features in model.staged_training_features(X, Y)]
    model.set_params(n_folds=7, shared_folds=False, class_vectors="oob", random_state=5)
    assert [features.tobytes() for features in model.staged_training_features(X, Y)] == before


def test_there_are_as_many_as_layers_that_were_kept():
    model = cascade(keep="best").fit(X, Y)
    assert len(list(model.staged_training_features(X, Y))) == model.n_layers_


@pytest.mark.parametrize(("rows", "labels"), [(X[::-1], Y[::-1]), (X + 0.5, Y), (X, np.roll(Y, 1))])
def test_other_rows_than_those_of_the_fit_are_refused(rows, labels):
    with pytest.raises(ValueError, match="X and y are not those that fit had"):
        list(cascade().fit(X, Y).staged_training_features(rows, labels))


def test_another_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(cascade().fit(X, Y).staged_training_features(X[1:], Y[1:]))


@pytest.mark.parametrize("class_vectors", ["oob", "k_fold_refit"])
def test_models_that_did_not_learn_from_a_row_must_be_there(class_vectors):
    model = cascade(class_vectors=class_vectors).fit(X, Y)
    with pytest.raises(ValueError, match="did not learn from a row are gone; choose class_vectors='k_fold'"):
        list(model.staged_training_features(X, Y))


def test_before_the_fit_there_are_none():
    with pytest.raises(NotFittedError):
        list(cascade().staged_training_features(X, Y))
