"""Shapley values by brute force, against their definition by permutations and functions whose values are known."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from cascadeforest import GCForestClassifier
from cascadeforest.experiments.shapley import MAX_FEATURES, exact_shapley


def by_permutations(predict, x, background):
    """What a feature adds to the worth of those before it, mean over all orders of the features."""
    d = len(x)
    found = 0.0

    def worth(features):
        mixed = background.copy()
        mixed[:, list(features)] = x[list(features)]
        return predict(mixed).mean(axis=0)

    for order in permutations(range(d)):
        added = [worth(order[: k + 1]) - worth(order[:k]) for k in range(d)]
        found = found + np.array([added[order.index(feature)] for feature in range(d)])
    return found / factorial(d)


def some_function(X):
    """Interactions of all orders and two outputs, one of them with jumps."""
    return np.stack([X[:, 0] * X[:, 1] - np.exp(X.sum(axis=1)), (X[:, 0] > X[:, -1]) + X[:, 1] ** 2], axis=1)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_they_are_the_mean_over_all_orders_of_the_features(d):
    random = np.random.default_rng(d)
    X, background = random.normal(size=(3, d)), random.normal(size=(5, d))
    found = exact_shapley(some_function, X, background)
    assert found.shape == (3, d, 2)
    for x, own in zip(X, found, strict=True):
        np.testing.assert_allclose(own, by_permutations(some_function, x, background), atol=1e-12)


def test_of_a_forest_they_add_up_to_its_prediction_at_every_layer():
    random = np.random.default_rng(0)
    X = random.random((60, 4))
    model = GCForestClassifier(2, 4, max_layers=2, patience=2, keep="last", random_state=0).fit(X, X[:, 0] > X[:, 1])

    def staged(rows):
        return np.stack([one[:, 1] for one in model.staged_predict_proba(rows)], axis=1)

    found = exact_shapley(staged, X[:4], X[10:40])
    assert found.shape == (4, 4, 2)
    np.testing.assert_allclose(found.sum(axis=1), staged(X[:4]) - staged(X[10:40]).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found[0], by_permutations(staged, X[0], X[10:40]), atol=1e-12)


def test_of_known_functions_they_are_known():
    """A sum has its summands, a product of two is shared equally, an unused feature has nothing."""
    grid = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 4), axis=-1).reshape(-1, 4)  # means of every feature are 0
    X = np.random.default_rng(0).normal(size=(50, 4))
    found = exact_shapley(lambda rows: 3 * rows[:, 0] + rows[:, 1] * rows[:, 2], X, grid)
    half = X[:, 1] * X[:, 2] / 2
    np.testing.assert_allclose(found, np.stack([3 * X[:, 0], half, half, 0 * half], axis=1), atol=1e-12)


def test_rows_are_predicted_in_parts_without_a_difference(monkeypatch):
    random = np.random.default_rng(0)
    X, background = random.normal(size=(7, 3)), random.normal(size=(5, 3))
    sizes = []

    def counted(rows):
        sizes.append(len(rows))
        return some_function(rows)

    together = exact_shapley(counted, X, background)
    monkeypatch.setattr("cascadeforest.experiments.shapley._AT_ONCE", 100)
    assert np.array_equal(exact_shapley(counted, X, background), together)
    assert sizes == [7 * 8 * 5, 80, 80, 80, 40]


def test_many_features_are_refused():
    X = np.zeros((1, MAX_FEATURES + 1))
    with pytest.raises(ValueError, match=r"X has 13 features, and 2\*\*13 sets of them are too many; give at most 12"):
        exact_shapley(some_function, X, X)
