"""Synthetic data: each table is what its paper says, and the same every time."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_circles

from cascadeforest.data.synthetic import (
    GENERATORS,
    TERMS,
    hidf_circles,
    hidf_sphere,
    linear_sum,
    planted_additive,
    planted_interaction,
    planted_xor,
    sincos,
    three_class,
    true_contributions,
)
from cascadeforest.experiments.shapley import exact_shapley


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_arguments_give_the_same_table_and_another_seed_another(name):
    make = partial(GENERATORS[name], **({"n_samples": 100} if name.startswith("hidf") else {}))
    first, again, other = make(), make(), make(seed=7)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


def test_hidf_circles_is_make_circles_beside_uniform_noise():
    """ALGORITHMS, hiDF: `make_circles(10000, factor=0.35, noise=0.05, random_state=42)` + 500 uniform(-0.5, 0.5)."""
    parsed = hidf_circles()
    points, y = make_circles(10_000, factor=0.35, noise=0.05, random_state=42)
    assert parsed.X.shape == (10_000, 502)
    np.testing.assert_array_equal(parsed.X[:, :2], points)
    np.testing.assert_array_equal(parsed.y == "inner", y == 1)
    noise = parsed.X[:, 2:]
    assert noise.min() >= -0.5
    assert noise.max() < 0.5
    # uniform: mean 0, variance 1/12; five standard errors of 5,000,000 draws
    assert abs(noise.mean()) < 5 * np.sqrt(1 / 12 / noise.size)
    assert noise.var() == pytest.approx(1 / 12, rel=0.01)


def test_hidf_sphere_has_a_circle_as_boundary_and_balanced_classes():
    parsed = hidf_sphere()
    radius = np.hypot(parsed.X[:, 0].astype(float), parsed.X[:, 1].astype(float))
    inside = parsed.y == "inside"
    assert radius[inside].max() < radius[~inside].min()
    # half of a plane Gaussian is within sqrt(2 ln 2); five standard errors
    assert abs(inside.mean() - 0.5) < 5 * 0.5 / np.sqrt(10_000)
    assert parsed.X.shape == (10_000, 502)


def test_sincos_by_hand():
    """interp, Eq. 34: sin 2πx₁ + cos 2πx₂; at (0.5, 0) that is 0 + 1, at (0.5, 0.5) it is 0 - 1."""
    parsed = sincos()
    train, test = parsed.X[~parsed.given_test], parsed.X[parsed.given_test]
    assert train.shape == (2_000, 2)
    assert test.shape == (2_500, 2)
    assert train.min() >= 0
    assert train.max() < 1
    at = {tuple(x): y for x, y in zip(test.tolist(), parsed.y[parsed.given_test], strict=True)}
    assert at[0.5, 0.0] == pytest.approx(1)
    assert at[0.5, 0.5] == pytest.approx(-1)
    assert at[0.0, 0.5] == pytest.approx(-1)
    assert at[0.0, 0.0] == pytest.approx(1)
    x = parsed.X.astype(float)
    np.testing.assert_allclose(parsed.y, np.sin(2 * np.pi * x[:, 0]) + np.cos(2 * np.pi * x[:, 1]), atol=1e-12)


def test_the_grid_has_step_002_in_both_directions():
    for parsed in (sincos(), three_class()):
        grid = parsed.X[parsed.given_test][:, :2]
        assert len({tuple(point) for point in grid.tolist()}) == 2_500
        for k in (0, 1):
            np.testing.assert_allclose(np.unique(grid[:, k]), np.arange(50) * 0.02, atol=1e-6)


def test_three_class_by_hand():
    """interp, section 6.1: class 1 if x₁ < 0.5, else class 2 if x₂ > 0.5, else class 3; the borders are on the grid."""
    parsed = three_class()
    test = parsed.given_test
    assert parsed.X.shape == (2_700, 102)
    assert test.sum() == 2_500
    at = {tuple(x): y for x, y in zip(parsed.X[test][:, :2].tolist(), parsed.y[test], strict=True)}
    below, above = float(np.float32(0.48)), float(np.float32(0.52))
    assert at[below, above] == 1
    assert at[0.5, above] == 2
    assert at[0.5, 0.5] == 3
    assert at[0.5, below] == 3
    # on the grid x₁ < 0.5 in 25 of 50 columns, x₂ > 0.5 in 24 of 50 rows
    assert np.bincount(parsed.y[test])[1:].tolist() == [1_250, 600, 650]


def test_three_class_tests_on_fresh_noise():
    parsed = three_class()
    noise = parsed.X[:, 2:]
    assert noise.min() >= 0
    assert noise.max() < 1
    assert len({tuple(row) for row in noise[:, :3].tolist()}) == 2_700


def test_three_class_is_the_draw_of_the_released_example():
    """Its lines, in its order: seed 42, 200 training rows, then the noise of a grid along which x₁ varies fastest."""
    parsed = three_class()
    example = np.random.RandomState(42)
    train = example.rand(200, 102)
    np.testing.assert_array_equal(parsed.X[:200], train.astype(np.float32))
    steps = np.arange(0, 1, 0.02)
    x1, x2 = (part.reshape(-1, 1) for part in np.meshgrid(steps, steps))
    test = np.hstack([x1, x2, example.rand(2_500, 100)])
    places = (parsed.X[200:, :2] * 50).round().tolist()
    ours = {tuple(place): tuple(noise) for place, noise in zip(places, parsed.X[200:, 2:], strict=True)}
    for row in (0, 1, 50, 2_499):
        assert ours[tuple((test[row, :2] * 50).round())] == tuple(test[row, 2:].astype(np.float32))
    # The bias that Table 2 prints.
    shares = np.bincount(parsed.y[:200])[1:] / 200
    np.testing.assert_allclose(shares, [0.46, 0.24, 0.30], atol=0.0051)


def test_linear_sum_by_hand():
    """interp, Eq. 35: f = Σ k x_k, K = 12."""
    parsed = linear_sum()
    assert parsed.X.shape == (11_000, 12)
    assert parsed.given_test.sum() == 1_000
    assert parsed.y[3] == pytest.approx(sum((k + 1) * float(parsed.X[3, k]) for k in range(12)), abs=1e-9)
    assert parsed.X.min() >= 0
    assert parsed.X.max() < 1


def test_planted_functions_by_hand():
    """At x = (0.75, 0.25, 0): z = (0.5, -0.5, -1)."""
    x = np.array([[0.75, 0.25, 0.0, 0.9, 0.9, 0.9]])
    assert true_contributions("planted_additive", x)[0].tolist() == [1.0, -1.0, 2.0, 0.0, 0.0, 0.0]
    assert true_contributions("planted_interaction", x)[0].tolist() == [0.5, 0.5, 0.5, 0.0, 0.0, 0.0]
    assert true_contributions("planted_xor", x)[0].tolist() == [-0.25, -0.25, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("make", [sincos, planted_additive, planted_interaction, planted_xor])
def test_true_contributions_are_shapley_values_that_add_up_to_the_response(make):
    parsed = make(200)
    X, name = parsed.X[-40:], make.__name__
    truth = true_contributions(name, X)
    y = (parsed.y == "same") - 0.5 if name == "planted_xor" else parsed.y
    np.testing.assert_allclose(truth.sum(axis=1), y[-40:], atol=1e-11)
    relevant = 1 + max(k for features in TERMS[name] for k in features)
    assert not truth[:, relevant:].any()

    def response(rows):
        return true_contributions(name, rows).sum(axis=1)

    # Centres of squares: the means of polynomials of degree 2 miss those on the unit cube by 1 / (12 * 20 ** 2).
    centres = (np.arange(20) + 0.5) / 20
    grid = np.stack(np.meshgrid(*[centres] * relevant), axis=-1).reshape(-1, relevant)
    np.testing.assert_allclose(exact_shapley(response, X[:, :relevant], grid), truth[:, :relevant], atol=0.003)
