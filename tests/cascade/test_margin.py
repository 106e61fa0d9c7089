"""mdDF: its equations by hand and against searches; Algorithm 2 against naive twins; the grids, and odd data.

One twin is given the class vectors of each layer, so that everything between layers is compared number by number. The
other grows forests (`naive`).
"""

import math
import weakref
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from cascadeforest import (
    CompletelyRandomForestClassifier,
    Explainer,
    ExtraTreesClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from cascadeforest.cascade import margin
from cascadeforest.cascade.layer import FoldDraw
from cascadeforest.cascade.margin import (
    PRESETS,
    Additive,
    Setting,
    log_weight,
    margin_loss,
    margin_ratio,
    margins,
    minimise_margin_loss,
    reweighted,
)
from cascadeforest.cascade.representation import Representation
from cascadeforest.data.dataset import build_dataset, save
from cascadeforest.experiments.cells import compute_cell, predictions, read_arrays
from cascadeforest.experiments.metrics import score
from cascadeforest.experiments.plan import Run
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.forest.binning import BinMapper

from . import naive

#: Section 4 and section 5 of the paper.
GAMMAS, MUS, THETAS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95), (0.01, 0.05, 0.1), (2, 4, 8, 16)
examples = settings(deadline=None, derandomize=True, max_examples=400)
FIXED = {"gamma": 0.85, "mu": 0.05, "theta": 4}
SMALL = {"n_forests": 2, "n_estimators": 4, "n_folds": 3, "max_layers": 3, "patience": 3, "random_state": 0}


def small(**others):
    """A cascade that grows its three layers, whatever they score."""
    return MDDFClassifier(**{**SMALL, **FIXED, **others})


def noisy(n_rows=90, n_classes=3, seed=0):
    return make_classification(
        n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.25, class_sep=0.8, random_state=seed
    )


def stages(model, X):
    return list(model.staged_predict_proba(X))


def same_predictions(one, other, X):
    return all(a.tobytes() == b.tobytes() for a, b in zip(stages(one, X), stages(other, X), strict=True))


def best_last():
    """A scorer by which each layer is better than the one before: all are kept."""
    calls = []

    def scorer(estimator, X, y, sample_weight=None):
        calls.append(len(y))
        return len(calls)

    return scorer


# Equations by hand.


def test_margins_by_hand():
    vectors = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.2, 0.4], [0.0, 1.0, 0.0]])
    before = vectors.copy()
    got = margins(vectors, np.array([0, 1, 2, 2, 1]))
    assert got == pytest.approx([0.5 - 0.3, 0.3 - 0.5, 0.2 - 0.5, 0.4 - 0.4, 1.0 - 0.0], abs=1e-15)
    assert vectors.tobytes() == before.tobytes()


def test_the_margin_of_a_single_class_is_one():
    assert margins(np.ones((3, 1)), np.zeros(3, int)).tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("z", "scaled", "unscaled"),
    [
        (0.4, 0.16 / 0.64, 0.16),  # (0.4 - 0.8)^2 = 0.16, over 0.8^2 = 0.64
        (-1.0, 3.24 / 0.64, 3.24),  # 1.8^2 = 3.24
        (0.0, 1.0, 0.64),  # what the normaliser is for: a margin of 0 costs 1
        (0.8, 0.0, 0.0),
        (0.9, 0.1 * 0.01 / 0.04, 0.1 * 0.01),  # (0.9 - 0.8)^2 = 0.01, over (1 - 0.8)^2 = 0.04
        (1.0, 0.1, 0.1 * 0.04),  # and a margin of 1 costs mu
        (2.8, 0.1 * 4 / 0.04, 0.1 * 4.0),  # sums pass 1
    ],
)
def test_margin_loss_by_hand(z, scaled, unscaled):
    """Gamma 0.8 and mu 0.1; 'scaled' is Eq. 28."""
    assert margin_loss(np.array([z]), 0.8, 0.1) == pytest.approx([scaled], rel=1e-12, abs=1e-15)
    assert margin_loss(np.array([z]), 0.8, 0.1, scaled=False) == pytest.approx([unscaled], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("loss", "floor", "wanted"),
    [
        ([1.0, 2.0, 3.0], 0.001, [0.5, 1.0, 1.5]),  # mean 2
        # mean 4/3: 0, 3/4, 9/4; the first is raised to 1/4: mean 13/12
        ([0.0, 1.0, 3.0], 0.25, [3 / 13, 9 / 13, 27 / 13]),
        ([0.0, 0.0, 0.0], 0.25, [1.0, 1.0, 1.0]),
        ([0.0, 0.0, 0.0, 4.0], 1.0, [4 / 7, 4 / 7, 4 / 7, 16 / 7]),  # mean 1: 1, 1, 1, 4 with mean 7/4
        ([1e-300, 1e-300], 0.25, [1.0, 1.0]),
    ],
)
def test_weights_by_hand(loss, floor, wanted):
    assert reweighted(np.array(loss), floor) == pytest.approx(wanted, rel=1e-14)


@examples
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.floats(1e-6, 1))
def test_weights_have_mean_one_and_keep_the_order_of_losses(loss, floor):
    loss = np.array(loss)
    weights = reweighted(loss, floor)
    assert weights.mean() == pytest.approx(1.0, rel=1e-9)
    assert weights.min() >= floor / (1 + floor) * (1 - 1e-9)
    assert (np.diff(weights[np.argsort(loss, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(
    ("mean", "weight"),
    [
        (0.6, math.log(2)),  # half the logarithm of 1.6 / 0.4 = 4
        (0.0, 0.0),
        (-0.5, 0.0),
        (1.0, 0.5 * math.log(1_999_999)),  # as if it were 1 - 1e-6
    ],
)
def test_the_log_formula_by_hand(mean, weight):
    assert log_weight(mean) == pytest.approx(weight, rel=1e-9)


@pytest.mark.parametrize(
    ("z", "ratio"),
    [
        ([0.2, 0.6], 0.5),  # deviation 0.2, mean 0.4
        ([0.3, 0.3], 0.0),
        ([0.5, -0.5], math.inf),
        ([-0.5, -0.1], math.inf),
    ],
)
def test_the_margin_ratio_by_hand(z, ratio):
    assert margin_ratio(np.array(z)) == pytest.approx(ratio, abs=1e-12)


def test_depth_grows_by_theta_up_to_a_hundred():
    assert [Setting(0.9, 0.1, 4).depth(t, 0) for t in (0, 1, 2, 23, 24, 25)] == [4, 8, 12, 96, 100, 100]
    assert [Setting(0.9, 0.1, 2).depth(t, 1) for t in range(4)] == [4, 6, 8, 10]  # 2t + 2 for t = 1, 2, ...
    assert [Setting(0.9, 0.1, 16).depth(t, 1) for t in range(7)] == [32, 48, 64, 80, 96, 100, 100]
    assert Setting(0.9, 0.1, 300).depth(0, 1) == 100


def test_the_sum_by_hand():
    """Factors 1 and 3: shares 1 and 3/4. Two forests, two classes."""
    model = Additive(1, 2, 2)
    model.add(np.array([[[1.0, 0.0], [0.5, 0.5]]], np.float32), 1.0)
    assert model.features.tolist() == [[1.0, 0.0, 0.5, 0.5]]
    assert model.probabilities.tolist() == [[0.75, 0.25]]
    first = model.features
    model.add(np.array([[[0.0, 1.0], [0.25, 0.75]]], np.float32), 0.75)
    # (1 * [1, 0] + 3 * [0, 1]) / 4 and (1 * [1/2, 1/2] + 3 * [1/4, 3/4]) / 4
    assert model.features.tolist() == [[0.25, 0.75, 0.3125, 0.6875]]
    assert model.probabilities.tolist() == [[0.28125, 0.71875]]
    assert model.features.dtype == np.float32
    assert first.tolist() == [[1.0, 0.0, 0.5, 0.5]]


def test_a_share_is_not_rounded_to_single_precision():
    """In predictions shares are numpy's double numbers, while growing Python's: both must give the same."""
    vectors = np.random.default_rng(0).dirichlet(np.ones(3), (20, 2)).astype(np.float32)
    one, other = Additive(20, 2, 3), Additive(20, 2, 3)
    for share in (1.0, 0.3, 0.1):
        one.add(vectors, share)
        other.add(vectors, np.float64(share))
    assert one.probabilities.tobytes() == other.probabilities.tobytes()


# The best factor.


def loss_at(x, start, slope, weights, gamma, mu, scaled):
    """Mean loss of each x, from Eq. 28."""
    z = start[:, None] + np.outer(slope, x)
    below, above = (gamma**-2, mu * (1 - gamma) ** -2) if scaled else (1, mu)
    loss = np.where(z > gamma, above * (z - gamma) ** 2, below * (z - gamma) ** 2)
    return (weights[:, None] * loss).sum(axis=0) / weights.sum()


def slow_minimum(start, slope, weights, gamma, mu, most, scaled):
    """Where the derivative, which does not fall, becomes 0: by halving."""
    below, above = (gamma**-2, mu * (1 - gamma) ** -2) if scaled else (1, mu)

    def derivative(x):
        terms = []
        for a, b, w in zip(start.tolist(), slope.tolist(), weights.tolist(), strict=True):
            z = a + x * b
            terms.append(w * (above if z > gamma else below) * (z - gamma) * b)
        return math.fsum(terms)

    if derivative(0.0) >= 0:
        return 0.0
    low, high = 0.0, most
    if math.isinf(most):
        high = 1.0
        while derivative(high) < 0:
            high *= 2
    elif derivative(most) < 0:
        return most
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if derivative(middle) >= 0 else (middle, high)
    return high


eighths = st.integers(-8, 8).map(lambda k: k / 8)
problems = st.tuples(
    st.lists(st.tuples(eighths, eighths, st.integers(1, 4)), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.75, 0.875]),
    st.sampled_from([0.0, 0.0625, 0.5, 1.0, 4.0]),
    st.booleans(),
)


def arrays_of(rows):
    return tuple(np.array(column, float) for column in zip(*rows, strict=True))


@examples
@given(problems, st.sampled_from([math.inf, 0.9, 1.0]))
@example(([(0.0, 0.0, 1)], 0.5, 0.5, True), math.inf)  # nothing moves
@example(([(0.5, 0.5, 1)], 0.5, 0.5, True), math.inf)  # is there already
@example(([(0.0, 0.5, 1), (0.0, 0.25, 3)], 0.5, 0.0, True), math.inf)  # free of cost from the last turn on
@example(([(0.0, -0.5, 1)], 0.5, 0.5, True), math.inf)
@example(([(1.0, -0.5, 1), (1.0, -0.5, 1)], 0.5, 0.0625, False), 0.9)
@example(([(0.5, 1.0, 1), (0.5, -1.0, 1)], 0.5, 1.0, False), 0.9)
def test_the_factor_is_the_smallest_that_no_other_is_better_than(problem, most):
    """Plain sums: x from 0 on; normalised ones: a share. Each row that rises passes gamma before x = 15."""
    rows, gamma, mu, scaled = problem
    start, slope, weights = arrays_of(rows)
    x = minimise_margin_loss(start, slope, weights, gamma, mu, 0.0, most, scaled=scaled)
    assert 0.0 <= x <= min(most, 16.0)
    known = (start, slope, weights, gamma, mu, scaled)
    grid = np.linspace(0.0, min(most, 20.0), 2001)
    best = loss_at(np.array([x]), *known)[0]
    assert best <= loss_at(grid, *known).min() + 1e-12
    if x > 0:
        nearer = max(x - 0.01, x / 2)
        assert loss_at(np.array([nearer]), *known)[0] > best + 1e-10


@examples
@given(problems, st.sampled_from([math.inf, 0.9]))
def test_the_factor_is_found_by_halving_too(problem, most):
    rows, gamma, mu, scaled = problem
    start, slope, weights = arrays_of(rows)
    rng = np.random.default_rng(len(rows))
    start, slope = start + rng.uniform(-0.1, 0.1, len(rows)), slope + rng.uniform(-0.1, 0.1, len(rows))
    mu = max(mu, 0.0625)  # otherwise the last place where the derivative is 0 is not the first
    if math.isinf(most) and not (slope != 0).any():
        return
    x = minimise_margin_loss(start, slope, weights, gamma, mu, 0.0, most, scaled=scaled)
    assert x == pytest.approx(slow_minimum(start, slope, weights, gamma, mu, most, scaled), rel=1e-9, abs=1e-9)


@examples
@given(problems, st.floats(0.01, 4), st.randoms(use_true_random=False))
def test_what_must_not_matter_to_the_factor_does_not(problem, bound, random):
    rows, gamma, mu, scaled = problem

    def best(rows, most=math.inf):
        start, slope, weights = arrays_of(rows)
        return minimise_margin_loss(start, slope, weights, gamma, mu, 0.0, most, scaled=scaled)

    x = best(rows)
    near = {"rel": 1e-9, "abs": 1e-9}
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert best(shuffled) == pytest.approx(x, **near)
    assert best([(a, b, w * 8) for a, b, w in rows]) == x
    assert best([(a, b, 1) for a, b, w in rows for _ in range(w)]) == pytest.approx(x, **near)
    assert best([*rows, (-1.0, 0.0, 4), (1.0, 0.0, 1)]) == pytest.approx(x, **near)  # rows that do not move
    assert best([(a, b / 4, w) for a, b, w in rows]) == pytest.approx(4 * x, **near)
    assert best(rows, bound) == pytest.approx(min(x, bound), **near)  # convex: a bound cuts


def test_factors_by_hand():
    """Unscaled, gamma 1/2, mu 1/4."""

    def best(start, slope, most=math.inf, weights=None):
        start, slope = np.array(start), np.array(slope)
        weights = np.ones(len(start)) if weights is None else np.array(weights)
        return minimise_margin_loss(start, slope, weights, 0.5, 0.25, 0.0, most, scaled=False)

    assert best([0.0], [0.25]) == 2.0  # at gamma
    assert best([0.0], [0.25], 0.9) == 0.9
    assert best([0.0, 1.0], [0.0, 0.0]) == 0.0
    # (x - 1/2)^2 + (x/2 - 1/2)^2 / ... : between 1/2 and 1 the first row is above, (x - 1/2) / 4 + (x/2 - 1/2) / 2 = 0,
    # so x (1/4 + 1/4) = 1/8 + 1/4 and x = 3/4
    assert best([0.0, 0.0], [1.0, 0.5]) == pytest.approx(0.75, abs=1e-15)
    # The first with three times the weight: x (3/4 + 1/4) = 3/8 + 1/4
    assert best([0.0, 0.0], [1.0, 0.5], weights=[3.0, 1.0]) == pytest.approx(0.625, abs=1e-15)
    # One rises to gamma, one falls from it: x - 1/2 + x = 0
    assert best([0.0, 0.5], [1.0, -1.0]) == pytest.approx(0.25, abs=1e-15)
    # One falls from 1 to gamma at x = 1/2, with weight 1/4 before and 1 after; one rises from -1/2:
    # before: -(1/2 - x) / 4 + (x - 1) < 0 at 1/2; after: (x - 1/2) + (x - 1) = 0
    assert best([1.0, -0.5], [-1.0, 1.0]) == pytest.approx(0.75, abs=1e-15)


def test_tiny_margins_have_a_large_but_finite_factor():
    """Also where margins above gamma cost nothing, and from the last turn on all factors are as good."""
    slope = np.array([1e-12, 3e-12, 7e-13])
    for mu in (0.0, 0.05):
        x = minimise_margin_loss(np.zeros(3), slope, np.ones(3), 0.7, mu, 0.0, math.inf)
        assert 0.7 / 3e-12 < x <= 0.7 / 7e-13 * (1 + 1e-9)


def test_margins_above_gamma_that_cost_nothing_end_the_search():
    """With mu = 0 rows that rise from 0 cost nothing from gamma / slope on: the last one decides, and not rounding."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        slope = rng.uniform(0.01, 1, 8)
        x = minimise_margin_loss(np.zeros(8), slope, rng.uniform(0.1, 2, 8), 0.98, 0.0, 0.0, math.inf)
        assert x == pytest.approx(0.98 / slope.min(), rel=1e-9)


# Algorithm 2 with class vectors that are given.


@dataclass
class Twin:
    """What Algorithm 2 makes of each layer's class vectors, in sums as they stand in the paper."""

    alphas: list = field(default_factory=list)
    shares: list = field(default_factory=list)
    margins: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    features: list = field(default_factory=list)
    probabilities: list = field(default_factory=list)


def normalised(rows):
    return rows / rows.sum(axis=-1, keepdims=True)


def slow_margins(probabilities, y):
    return np.array([p[c] - max(np.delete(p, c)) for p, c in zip(probabilities, y, strict=True)])


def slow_loss(z, gamma, mu, scaled):
    loss = []
    for value in z:
        if value <= gamma:
            loss.append((value - gamma) ** 2 / (gamma**2 if scaled else 1))
        else:
            loss.append(mu * (value - gamma) ** 2 / ((1 - gamma) ** 2 if scaled else 1))
    return np.array(loss)


def twin_of(layers, y, alpha, cumulative, scaled, *, gamma=0.85, mu=0.05, most=0.9, floor=1e-3, weights=None,
            reweighting=True, average=False):  # fmt: skip
    """Algorithm 2; `layers` has a function of (features, weights) for each layer, which gives its class vectors."""
    twin = Twin()
    own_weights = np.ones(len(y)) if weights is None else weights
    total, sum_of_vectors, sum_of_margins, features, of_rows = 0.0, 0.0, 0.0, None, weights
    for layer in layers:
        twin.weights.append(of_rows)
        vectors = np.asarray(layer(features, of_rows), np.float64)
        own = slow_margins(normalised(vectors.mean(axis=1)), y)
        if alpha == "log":
            mean = (own * own_weights).sum() / own_weights.sum()
            factor = 0.5 * math.log((1 + mean) / (1 - mean)) if mean > 0 else 0.0
        elif cumulative == "sum":
            start = sum_of_margins + np.zeros(len(y))
            factor = slow_minimum(start, own, own_weights, gamma, mu, math.inf, scaled)
        elif total == 0:
            factor = 1.0
        else:
            before = sum_of_margins / total
            share = slow_minimum(before, own - before, own_weights, gamma, mu, most, scaled)
            factor = total * share / (1 - share)
        if factor == total == 0:
            factor = 1.0
        total += factor
        sum_of_vectors = sum_of_vectors + factor * vectors
        sum_of_margins = sum_of_margins + factor * own
        loss = slow_loss(sum_of_margins / (total if cumulative == "normalized" else 1), gamma, mu, scaled)
        if reweighting:
            of_rows = np.maximum(loss / loss.mean(), floor)
            of_rows = of_rows / of_rows.mean() * own_weights
        handed_on = sum_of_vectors.mean(axis=1) if average else sum_of_vectors
        features = (handed_on / total).reshape(len(y), -1).astype(np.float32)
        twin.alphas.append(factor)
        twin.shares.append(factor / total)
        twin.probabilities.append(normalised(normalised(sum_of_vectors).mean(axis=1)))
        twin.margins.append(slow_margins(twin.probabilities[-1], y))
        twin.features.append(features)
    return twin


class GivenLayers:
    """In place of `fit_layer`: gives class vectors that were drawn before, and writes down what it sees."""

    def __init__(self, of_training_rows, of_new_rows=()):
        self.of_training_rows, self.of_new_rows = of_training_rows, of_new_rows
        self.members, self.seen, self.weights, self.seen_of_new_rows = [], [], [], []

    def __call__(self, members, representation, rows, y, weights, rules, level, added_mapper):
        self.members.append(members)
        self.seen.append(np.array(representation.values(rows)))
        self.weights.append(weights)

        def transform(representation, rows, n_jobs=None):
            self.seen_of_new_rows.append(np.array(representation.values(rows)))
            return self.of_new_rows[level][rows]

        layer = SimpleNamespace(forests=[[]] * len(members), n_trees=0, added_mapper=added_mapper, transform=transform)
        return layer, self.of_training_rows[level][rows]


def drawn_vectors(y, n_layers, n_forests=2, seed=0, strength=2.0):
    """Class vectors that say the class better and better, each in its own way."""
    rng = np.random.default_rng(seed)
    one_hot = np.eye(3)[y][:, None]
    return [
        np.array(
            [
                [rng.dirichlet(0.5 + (1 + level) * strength * row) for row in rows]
                for rows in one_hot.repeat(n_forests, 1)
            ],
            np.float32,
        )
        for level in range(n_layers)
    ]


def fit_given(monkeypatch, vectors, X, y, new=(), sample_weight=None, **others):
    """A cascade of given class vectors; the estimators are there for their number, and see values, not bins."""
    layers = GivenLayers(vectors, new)
    monkeypatch.setattr(margin, "fit_layer", layers)
    model = MDDFClassifier(
        vectors[0].shape[1],
        estimators=[GaussianNB()],
        **{**FIXED, "max_layers": len(vectors), "patience": len(vectors), "scoring": best_last(), **others},
    )
    return model.fit(X, y, sample_weight=sample_weight), layers


ALL_WAYS = list(product(("exact", "log"), ("normalized", "sum"), (True, False)))


@pytest.mark.parametrize(("alpha", "cumulative", "scaled"), ALL_WAYS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("reweighting", "average"), [(True, False), (False, False), (True, True)])
def test_algorithm_2_is_its_naive_twin(alpha, cumulative, scaled, weighted, reweighting, average, monkeypatch):
    rng = np.random.default_rng(1)
    y, y_new = rng.integers(0, 3, 40), rng.integers(0, 3, 25)
    X, X_new = rng.normal(size=(40, 2)), rng.normal(size=(25, 2))
    vectors, new = drawn_vectors(y, 5, seed=2, strength=0.5), drawn_vectors(y_new, 5, seed=3)
    weights = rng.uniform(0.2, 3, 40) if weighted else None
    others = {"weights": weights, "reweighting": reweighting, "average": average}
    twin = twin_of([lambda f, w, v=v: v for v in vectors], y, alpha, cumulative, scaled, **others)
    ways = {"alpha": alpha, "cumulative": cumulative, "scaled_loss": scaled}
    ways |= {"reweighting": reweighting, "average_vectors": average}
    model, layers = fit_given(monkeypatch, vectors, X, y, new, weights, **ways)
    assert model.n_layers_ == 5
    assert sum(a > 0 for a in model.alphas_) >= 2  # otherwise little is compared
    assert model.alphas_ == pytest.approx(np.array(twin.alphas), rel=1e-9, abs=1e-9)
    assert model.shares_ == pytest.approx(np.array(twin.shares), rel=1e-9, abs=1e-9)
    assert model.margins_ == pytest.approx(np.array(twin.margins), abs=1e-6)
    assert model.margin_ratio_ == pytest.approx([z.std() / z.mean() for z in twin.margins], rel=1e-6)
    for level in range(5):
        if twin.weights[level] is None:
            assert layers.weights[level] is None
        else:
            assert layers.weights[level] == pytest.approx(twin.weights[level], rel=1e-8)
        features = [twin.features[level - 1]] if level else []
        assert layers.seen[level] == pytest.approx(np.hstack([X, *features]), abs=1e-6)
    # Rows to predict: the sum of their vectors by the factors of the training rows.
    staged = stages(model, X_new)
    for level, got in enumerate(staged):
        alphas = np.array(twin.alphas[: level + 1])[:, None, None, None]
        sums = normalised((alphas * np.array(new[: level + 1], np.float64)).sum(axis=0))
        assert got == pytest.approx(sums.mean(axis=1), abs=1e-6)
        if level < 4:
            handed_on = sums.mean(axis=1) if average else sums
            assert layers.seen_of_new_rows[level + 1] == pytest.approx(
                np.hstack([X_new, handed_on.reshape(25, -1)]), abs=1e-6
            )
    assert model.predict(X_new).tolist() == staged[-1].argmax(axis=1).tolist()


@pytest.mark.parametrize("cumulative", ["normalized", "sum"])
def test_no_other_factor_has_a_smaller_loss(cumulative, monkeypatch):
    """Line 7 as it stands, with alpha itself; the layer that is there alone is left out where it has no say."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    vectors = drawn_vectors(y, 5, seed=4, strength=0.3)
    model, _ = fit_given(monkeypatch, vectors, rng.normal(size=(60, 2)), y, cumulative=cumulative)
    own = [slow_margins(normalised(v.astype(float).mean(axis=1)), y) for v in vectors]
    for t in range(cumulative == "normalized", 5):
        total, before = model.alphas_[:t].sum(), model.alphas_[:t] @ np.array(own[:t]) if t else np.zeros(60)

        def mean_loss(alpha, total=total, before=before, own=own[t]):
            z = before + alpha * own
            return slow_loss(z / (total + alpha) if cumulative == "normalized" else z, 0.85, 0.05, True).mean()

        most = 9 * total if cumulative == "normalized" else 20.0  # the largest share is 0.9
        others = [mean_loss(alpha) for alpha in np.linspace(0, most, 300)]
        assert model.alphas_[t] <= most * (1 + 1e-9)
        assert mean_loss(model.alphas_[t]) <= min(others) + 1e-12


def test_weights_that_are_1_and_no_weights_are_one_thing_in_the_loss(monkeypatch):
    """Rows of weight 2 are two rows: same factors, and twice the weight for each layer."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 30)
    X, vectors, twice = rng.normal(size=(30, 2)), drawn_vectors(y, 4, strength=0.5), rng.integers(1, 3, 30)
    for alpha, cumulative in product(("exact", "log"), ("normalized", "sum")):
        ways = {"alpha": alpha, "cumulative": cumulative}
        one, _ = fit_given(monkeypatch, vectors, X, y, sample_weight=twice.astype(float), **ways)
        repeated = [v.repeat(twice, axis=0) for v in vectors]
        other, _ = fit_given(monkeypatch, repeated, X.repeat(twice, axis=0), y.repeat(twice), **ways)
        assert one.alphas_ == pytest.approx(other.alphas_, rel=1e-9)
        assert one.margins_.repeat(twice, axis=1) == pytest.approx(other.margins_, abs=1e-6)


@pytest.mark.parametrize("max_share", [0.2, 0.6, 0.95])
def test_a_layer_that_is_best_gets_the_largest_share(max_share, monkeypatch):
    """Each layer is surer than the one before, and gamma is nearly 1."""
    y = np.array([0, 1, 2, 0])
    vectors = [np.eye(3, dtype=np.float32)[y][:, None] * s + np.float32((1 - s) / 3) for s in (0.1, 0.3, 0.6, 0.9)]
    model, _ = fit_given(monkeypatch, vectors, np.zeros((4, 1)), y, gamma=0.99, max_share=max_share)
    assert model.shares_ == pytest.approx([1.0, max_share, max_share, max_share])
    grown = max_share / (1 - max_share)  # share = alpha / (total + alpha)
    assert model.alphas_ == pytest.approx([1.0, grown, grown * (1 + grown), grown * (1 + grown) ** 2])


def test_a_layer_without_a_share_changes_nothing(monkeypatch):
    """The second layer is wrong throughout: the third sees the same sum and the same weights as it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    good, wrong = drawn_vectors(y, 1, strength=4.0)[0], drawn_vectors((y + 1) % 3, 1, strength=8.0)[0]
    for alpha, cumulative in product(("exact", "log"), ("normalized", "sum")):
        model, layers = fit_given(
            monkeypatch, [good, wrong, good], np.zeros((30, 1)), y, alpha=alpha, cumulative=cumulative
        )
        assert model.alphas_[0] > 0
        assert model.alphas_[1] == 0
        assert layers.seen[2].tobytes() == layers.seen[1].tobytes()
        assert layers.weights[2].tobytes() == layers.weights[1].tobytes()
        assert model.margins_[1].tobytes() == model.margins_[0].tobytes()


@pytest.mark.parametrize(("alpha", "cumulative", "scaled"), ALL_WAYS)
def test_a_first_layer_that_is_worse_than_chance_is_followed(alpha, cumulative, scaled, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    wrong, good = drawn_vectors((y + 1) % 3, 1)[0], drawn_vectors(y, 1, strength=8.0)[0]
    ways = {"alpha": alpha, "cumulative": cumulative, "scaled_loss": scaled}
    model, _ = fit_given(monkeypatch, [wrong, good], rng.normal(size=(30, 1)), y, **ways)
    assert model.margins_[0].mean() < 0
    assert math.isinf(model.margin_ratio_[0])
    if (alpha, cumulative) == ("exact", "normalized"):
        assert model.alphas_[0] == model.shares_[0] == 1.0
        assert 0 < model.shares_[1] < 1
    else:  # it has no part in the sum, and speaks until another layer has
        assert model.alphas_[0] == 0.0 < model.alphas_[1]
        assert model.shares_.tolist() == [1.0, 1.0]
    assert model.margins_[1].mean() > model.margins_[0].mean()


def test_rows_exactly_at_gamma_keep_a_little_weight(monkeypatch):
    """A whole class at gamma would be lost to the next layer."""
    y = np.array([0, 0, 1, 1])
    vectors = np.array([[[0.75, 0.25]], [[0.75, 0.25]], [[0.5, 0.5]], [[0.25, 0.75]]], np.float32)
    _, layers = fit_given(monkeypatch, [vectors] * 2, np.zeros((4, 1)), y, gamma=0.5, weight_floor=0.01)
    # Losses 0, 0, (0 - 1/2)^2 / (1/2)^2 = 1 and 0: over their mean 0, 0, 4, 0; with the floor the mean is 4.03 / 4
    assert layers.weights[1] == pytest.approx(np.array([0.01, 0.01, 4, 0.01]) * 4 / 4.03, rel=1e-12)


def test_if_all_rows_are_at_gamma_they_weigh_the_same(monkeypatch):
    y = np.array([0, 1, 0, 1])
    vectors = np.where(np.eye(2)[y] > 0, 0.75, 0.25)[:, None].astype(np.float32)
    model, layers = fit_given(monkeypatch, [vectors] * 3, np.zeros((4, 1)), y, gamma=0.5)
    assert layers.weights[1].tolist() == [1.0] * 4
    assert model.alphas_.tolist() == [1.0, 0.0, 0.0]  # nothing is better than no loss


@pytest.mark.parametrize(
    ("ways", "alphas"),
    [
        ({}, [1.0, 0.0, 0.0]),
        ({"cumulative": "sum"}, [0.85, 0.0, 0.0]),  # a margin of 1 times 0.85 is at gamma
        ({"alpha": "log"}, [0.5 * math.log(1_999_999)] * 3),
    ],
)
def test_a_layer_that_is_sure_of_everything_has_a_finite_factor(ways, alphas, monkeypatch):
    y = np.array([0, 1, 0, 1])
    vectors = np.eye(2, dtype=np.float32)[y][:, None]
    model, layers = fit_given(monkeypatch, [vectors] * 3, np.zeros((4, 1)), y, **ways)
    assert model.alphas_ == pytest.approx(alphas, rel=1e-9)
    assert model.margins_.tolist() == [[1.0] * 4] * 3
    assert layers.weights[1].tolist() == [1.0] * 4


# Algorithm 2 with forests.


def members_at(level, kinds, *, official, theta=4):
    """The paper bounds random forests, the released code all; it counts layers from 0."""
    depth = theta * (level + (1 if official else 2))
    bounded = [official or kind is RandomForestClassifier for kind in kinds]
    return [kind(4).set_params(max_depth=depth if own else None) for kind, own in zip(kinds, bounded, strict=True)]


PLAIN = (RandomForestClassifier, CompletelyRandomForestClassifier)
OFFICIAL = {"gamma": 0.98, "most": None, "alpha": "log", "cumulative": "sum", "scaled": False}


@pytest.mark.parametrize(
    ("others", "kinds", "structure"),
    [
        ({}, PLAIN, "plain"),
        ({"alpha": "log"}, PLAIN, "plain"),
        ({"cumulative": "sum"}, PLAIN, "plain"),
        ({"class_vectors": "oob"}, PLAIN, "plain"),
        ({"class_vectors": "k_fold_refit"}, PLAIN, "plain"),
        ({"ablation": "same_forests"}, [RandomForestClassifier] * 2, "plain"),
        ({"ablation": "stacking"}, PLAIN, "stacking"),
        ({"ablation": "no_preconc"}, PLAIN, "no_preconc"),
        ({"preset": "official", "gamma": None}, (RandomForestClassifier, ExtraTreesClassifier), "plain"),
        ({"shared_folds": True}, PLAIN, "plain"),
        ({"reweighting": False}, PLAIN, "plain"),
        ({"average_vectors": True}, PLAIN, "plain"),
        ({"average_vectors": True, "ablation": "stacking"}, PLAIN, "stacking"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_cascade_is_its_naive_twin(others, kinds, structure, weighted, monkeypatch):
    X, y = noisy()
    new = noisy(50, seed=1)[0]
    weights = np.random.default_rng(0).uniform(0.2, 3, 90) if weighted else None
    model = small(**{"scoring": best_last(), "keep": "best", **others}).fit(X, y, sample_weight=weights)
    official = others.get("preset") == "official"
    entropy = naive.entropy_of(0)
    if official or others.get("shared_folds"):
        monkeypatch.setattr(
            naive, "stratified_folds", lambda strata, n, _: FoldDraw(n, entropy, None, True).of(strata, 0)
        )
    mapper = BinMapper()
    binned = mapper.fit_transform(X, weights)
    layers, mappers = [], []

    def seen_by(binned, features, mapper, *, fit=False):
        if features is None or structure == "no_preconc":
            return binned
        if structure == "stacking":
            return mapper.fit_transform(features) if fit else mapper.transform(features)
        return naive.add_columns(binned, features, mapper, fit=fit)

    def grow(features, of_rows):
        mappers.append(BinMapper())
        layer, vectors = naive.fit_layer(
            members_at(len(layers), kinds, official=official),
            seen_by(binned, features, mappers[-1], fit=True),
            y,
            3,
            entropy,
            len(layers),
            weights=of_rows,
            class_vectors=others.get("class_vectors", "k_fold"),
        )
        layers.append(layer)
        return vectors

    ways = {
        name: others.get(name, PRESETS["official" if official else "paper"][name]) for name in ("alpha", "cumulative")
    }
    ways |= {"scaled": not official, "gamma": 0.98 if official else 0.85}
    average = others.get("average_vectors", False)
    ways |= {"reweighting": others.get("reweighting", True), "average": average}
    twin = twin_of([grow] * 3, y, weights=weights, **ways)
    assert model.n_layers_ == 3
    assert model.alphas_ == pytest.approx(np.array(twin.alphas), rel=1e-6, abs=1e-9)
    assert model.margins_ == pytest.approx(np.array(twin.margins), abs=1e-6)
    features, sums, total = None, 0.0, 0.0
    binned_new = mapper.transform(new)
    for layer, added, alpha, got in zip(layers, mappers, twin.alphas, stages(model, new), strict=True):
        sums = sums + alpha * layer.vectors(seen_by(binned_new, features, added)).astype(np.float64)
        total += alpha
        features = ((sums.mean(axis=1) if average else sums) / total).reshape(50, -1).astype(np.float32)
        assert got == pytest.approx(normalised(sums).mean(axis=1), abs=1e-6)


def test_without_reweighting_estimators_need_not_take_weights():
    X, y = noisy()
    model = small(estimators=["random_forest", KNeighborsClassifier()], reweighting=False).fit(X, y)
    assert model.predict(X).shape == (90,)
    with pytest.raises(ValueError, match="fit takes no sample_weight; leave it out, or fit without"):
        model.fit(X, y, sample_weight=np.arange(90.0))


def test_the_mean_of_vectors_is_not_explained():
    model = small(average_vectors=True).fit(*noisy())
    with pytest.raises(ValueError, match=r"^average_vectors is True.* with average_vectors=False to explain it\.$"):
        Explainer(model)
    assert not hasattr(model, "feature_importances_")


def test_margins_are_those_of_out_of_fold_probabilities():
    """What a scorer sees; and rows without weight have none."""
    X, y = noisy()
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.predict_proba(X), y))
        return float(len(seen))

    names = np.array(["x", "z", "y"])
    weight = np.tile([1.0, 0.0, 2.0], 30)
    model = small(scoring=scorer).fit(X, names[y], sample_weight=weight)
    assert model.margins_.shape == (3, 90)
    assert model.margins_.dtype == np.float32
    assert np.isnan(model.margins_[:, weight == 0]).all()
    for (probabilities, labels), z in zip(seen, model.margins_[:, weight > 0], strict=True):
        wanted = slow_margins(probabilities, np.searchsorted(["x", "y", "z"], labels))
        assert z == pytest.approx(wanted, abs=1e-6)
        assert labels.tolist() == names[y][weight > 0].tolist()


# What a layer sees.


class Spy(DummyClassifier):
    """Writes down what it learns from."""

    log: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        X = X.toarray() if scipy.sparse.issparse(X) else X
        Spy.log.append((np.array(X), np.array(y), None if sample_weight is None else np.array(sample_weight)))
        return super().fit(X, y, sample_weight)


@pytest.fixture
def log():
    Spy.log.clear()
    return Spy.log


@pytest.mark.parametrize("ablation", [None, "stacking", "no_preconc"])
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_matrix])
def test_structures_see_what_they_are_named_for(ablation, make, log):
    """Three layers, two forests (each with three class probabilities) and three folds."""
    X, y = noisy(60)
    X[:, 0] = np.arange(60)  # who is who
    estimators = ["random_forest", Spy(strategy="prior")]
    small(n_estimators=10, ablation=ablation, estimators=estimators, scoring=best_last()).fit(make(X), y)
    assert len(log) == 9
    of_layers = [log[:3], log[3:6], log[6:]]
    for seen, _, weights in of_layers[0]:
        assert seen.tobytes() == X[seen[:, 0].astype(int)].tobytes()
        assert weights is None
    for seen, _, weights in of_layers[1] + of_layers[2]:
        assert weights.min() > 0
        assert weights.max() > weights.min()
        if ablation != "stacking":
            assert seen[:, :6].tobytes() == X[seen[:, 0].astype(int)].tobytes()
        added = seen[:, {None: slice(6, None), "stacking": slice(None), "no_preconc": slice(6, None)}[ablation]]
        assert added.shape[1] == (0 if ablation == "no_preconc" else 6)
        if ablation != "no_preconc":
            assert added.reshape(-1, 2, 3).sum(axis=2) == pytest.approx(np.ones((len(added), 2)), abs=1e-6)
            assert added[:, :3].std(axis=0).min() > 0  # the forest's say, not columns that no one filled


def test_same_forests_are_random_forests():
    X, y = noisy()
    for preset in ("paper", "official"):
        one = small(preset=preset, ablation="same_forests").fit(X, y)
        assert same_predictions(one, small(preset=preset, estimators=["random_forest"]).fit(X, y), X)
        assert not same_predictions(one, small(preset=preset).fit(X, y), X)


def test_same_forests_and_estimators_contradict_each_other():
    with pytest.raises(ValueError, match=r"ablation is 'same_forests', which says what .* are; leave one of"):
        small(ablation="same_forests", estimators=["random_forest"]).fit(*noisy())


@pytest.mark.parametrize("shared", [False, True])
def test_folds_are_the_same_everywhere_if_they_are_shared(shared, log):
    X, y = noisy(60)
    X[:, 0] = np.arange(60)
    model = small(estimators=[Spy(strategy="prior")], shared_folds=shared, scoring=best_last()).fit(X, y)
    assert model.n_layers_ == 3
    learned = [frozenset(seen[:, 0]) for seen, *_ in log]
    folds = [frozenset(learned[k : k + 3]) for k in range(0, 18, 3)]  # 3 layers x 2 forests
    assert all(len(f) == 3 for f in folds)
    assert len(set(folds)) == (1 if shared else 6)


def test_shared_folds_are_stratified_and_differ_from_seed_to_seed(log):
    X, y = noisy(60)
    X[:, 0] = np.arange(60)
    found = set()
    for seed in range(3):
        log.clear()
        small(estimators=[Spy(strategy="prior")], shared_folds=True, max_layers=1, random_state=seed).fit(X, y)
        found.add(frozenset(frozenset(seen[:, 0]) for seen, *_ in log))
        for _, labels, _ in log:
            assert np.abs(np.bincount(labels) - np.bincount(y) * 2 / 3).max() <= 1
    assert len(found) == 3


def test_depth_grows_and_objects_keep_their_own(monkeypatch):
    members = []

    def note(given, *others):
        members.append(given)
        return fit_layer(given, *others)

    fit_layer = margin.fit_layer
    monkeypatch.setattr(margin, "fit_layer", note)
    X, y = noisy()
    estimators = ["random_forest", RandomForestClassifier(3, max_depth=2), "completely_random_forest", GaussianNB()]
    model = small(n_forests=6, estimators=estimators, theta=40, max_layers=4, patience=4, scoring=best_last())
    model.fit(X, y)
    depths = [[getattr(member, "max_depth", "no depth") for member in layer] for layer in members]
    assert depths == [[d, 2, None, "no depth", d, 2] for d in (80, 100, 100, 100)]
    members.clear()
    model.set_params(bounded_forests="all", depth_shift=0).fit(X, y)
    depths = [[getattr(member, "max_depth", "no depth") for member in layer] for layer in members]
    assert depths == [[d, 2, d, "no depth", d, 2] for d in (40, 80, 100, 100)]
    assert [type(member) for member in members[0]] == [
        RandomForestClassifier,
        RandomForestClassifier,
        CompletelyRandomForestClassifier,
        GaussianNB,
        RandomForestClassifier,
        RandomForestClassifier,
    ]
    assert estimators[1].max_depth == 2


def test_trees_are_as_deep_as_the_schedule_allows():
    """Labels at random: trees of bounded depth reach their bound."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    model = small(theta=2, scoring=best_last()).fit(X, y)
    for level, layer in enumerate(model.layers_):
        random, completely_random = (
            max(depth_of(m.trees, t) for m in models for t in range(4)) for models in layer.forests
        )
        assert random == 2 * (level + 1) + 2
        assert completely_random > 10
    model = small(theta=2, scoring=best_last(), bounded_forests="all", depth_shift=0).fit(X, y)
    for level, layer in enumerate(model.layers_):
        for models in layer.forests:
            assert max(depth_of(m.trees, t) for m in models for t in range(4)) == 2 * (level + 1)


def depth_of(trees, tree):
    view = trees.tree(tree)
    depth = np.zeros(len(view.feature), int)
    for node in np.flatnonzero(~view.is_leaf):  # children come after their parents
        depth[[view.children_left[node], view.children_right[node]]] = depth[node] + 1
    return depth.max()


def test_room_for_the_sum_alone_has_the_same_rows_and_no_features():
    X, added = np.arange(20.0).reshape(10, 2), np.random.default_rng(0).random((10, 3), np.float32)
    for given_X in (X, scipy.sparse.csr_matrix(X)):
        seen, mapper = Representation.of_training_rows(given_X, 3, keep_values=True)
        alone = Representation.of_added(seen)
        assert (alone.n_rows, alone.n_given, alone.n_features) == (10, 0, 0)
        added_mapper = alone.fit_added(added, np.arange(10))
        assert alone.n_features == 3
        assert alone.binned.columns.shape == (3, 10)
        assert np.asarray(alone.values(np.array([2, 0]))).tolist() == added[[2, 0]].tolist()
        assert (seen.n_features, seen.binned.columns.shape) == (2, (2, 10))
        new = Representation.of_added(Representation.of_new_rows(given_X[:4], 3, mapper, keep_values=True))
        new.add(added[:4], np.arange(4), added_mapper)
        assert new.binned.columns.tobytes() == alone.binned.columns[:, :4].tobytes()
        assert new.binned.centers is None
        assert np.asarray(new.values(np.arange(4))).tolist() == added[:4].tolist()


# The grids.


def searched(**others):
    """A cascade that searches with fewer trees and layers than it has."""
    return MDDFClassifier(
        **{**SMALL, "max_layers": 4, "patience": 4, "search_estimators": 2, "search_layers": 2, **others}
    )


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        (
            {},
            [(0.85, 0.05, theta) for theta in THETAS]
            + [(g, m, None) for g, m in product(GAMMAS, MUS) if (g, m) != (0.85, 0.05)],
        ),
        ({"theta": 3}, [(g, m, 3) for g, m in product(GAMMAS, MUS)]),
        ({"gamma": 0.6}, [(0.6, 0.05, theta) for theta in THETAS] + [(0.6, m, None) for m in (0.01, 0.1)]),
        ({"mu": 0.3}, [(0.85, 0.3, theta) for theta in THETAS] + [(g, 0.3, None) for g in GAMMAS if g != 0.85]),
        ({"gamma": 0.6, "mu": 0.3}, [(0.6, 0.3, theta) for theta in THETAS]),
        ({"gamma": 0.6, "theta": 3}, [(0.6, m, 3) for m in MUS]),
        ({"mu": 0.3, "theta": 3}, [(g, 0.3, 3) for g in GAMMAS]),
        ({"gamma": 0.6, "mu": 0.3, "theta": 3}, []),
    ],
)
def test_the_grids_are_searched_where_they_are_open(given, tried):
    X, y = noisy(60)
    model = searched(**given).fit(X, y)
    results = model.search_results_
    best_theta = model.theta_
    assert [(r["gamma"], r["mu"], r["theta"]) for r in results] == [
        (g, m, best_theta if theta is None else theta) for g, m, theta in tried
    ]
    if "theta" not in given:
        thetas = results[:4]
        assert best_theta == max(thetas, key=lambda r: r["score"])["theta"]  # the first of equals
    assert given.items() <= {"gamma": model.gamma_, "mu": model.mu_, "theta": model.theta_}.items()
    last = [r for r in results if r["theta"] == best_theta]
    if last:
        last.sort(key=lambda r: (r["gamma"], r["mu"]))
        best = max(last, key=lambda r: r["score"])
        assert (model.gamma_, model.mu_) == (best["gamma"], best["mu"])


@pytest.mark.parametrize("others", [{}, {"alpha": "log", "cumulative": "sum"}, {"ablation": "stacking"}])
@pytest.mark.parametrize("weighted", [False, True])
def test_search_results_are_those_of_separate_fits(others, weighted):
    """With the trees and layers of the search; first layers that are used again are none the worse."""
    X, y = noisy(60)
    weights = np.random.default_rng(0).uniform(0.2, 3, 60) if weighted else None
    estimators = ["random_forest", ExtraTreesClassifier(1, max_depth=3)]
    others = {**others, "depth_shift": 0}  # in deeper trees all settings would come to the same
    model = searched(estimators=estimators, **others).fit(X, y, sample_weight=weights)
    assert len(model.search_results_) == 21
    for result in model.search_results_:
        setting = {name: result[name] for name in FIXED}
        alone = searched(estimators=estimators, n_estimators=2, **{**others, "max_layers": 2}, **setting).fit(
            X, y, sample_weight=weights
        )
        assert result["score"] == alone.validation_scores_.max()
    chosen = {"gamma": model.gamma_, "mu": model.mu_, "theta": model.theta_}
    assert same_predictions(model, searched(estimators=estimators, **others, **chosen).fit(X, y, weights), X)
    assert len({result["score"] for result in model.search_results_}) > 2  # otherwise any order would do


def test_the_search_has_no_more_trees_and_layers_than_the_cascade(monkeypatch):
    calls = []

    def note(members, *others):
        calls.append(([member.n_estimators for member in members], others[5]))
        return fit_layer(members, *others)

    fit_layer = margin.fit_layer
    monkeypatch.setattr(margin, "fit_layer", note)
    X, y = noisy(60)
    estimators = ["random_forest", RandomForestClassifier(1)]
    searched(estimators=estimators, search_estimators=3, search_layers=9, max_layers=2, gamma=0.9, mu=0.1).fit(X, y)
    assert calls == [([3, 1], 0), ([3, 1], 1)] * 4 + [([4, 1], 0), ([4, 1], 1)]


def test_the_search_grows_the_first_layer_once_for_each_theta(monkeypatch):
    levels = []

    def note(*given):
        levels.append(given[6])
        return fit_layer(*given)

    fit_layer = margin.fit_layer
    monkeypatch.setattr(margin, "fit_layer", note)
    X, y = noisy(60)
    searched(max_layers=2).fit(X, y)
    assert levels.count(0) == 4 + 1  # and the cascade itself
    assert levels.count(1) == 21 + 1
    levels.clear()
    searched(max_layers=2, theta=3).fit(X, y)
    assert (levels.count(0), levels.count(1)) == (1 + 1, 18 + 1)


def test_the_search_does_not_hoard_layers(monkeypatch):
    """It tries 21 settings of two layers each; first layers of four settings are kept, and what is at hand."""
    layers, most = [], 0

    def note(*given):
        nonlocal most
        most = max(most, sum(layer() is not None for layer in layers))
        layer, vectors = fit_layer(*given)
        layers.append(weakref.ref(layer))
        return layer, vectors

    fit_layer = margin.fit_layer
    monkeypatch.setattr(margin, "fit_layer", note)
    searched(max_layers=2).fit(*noisy(60))
    assert most <= 4 + 2


def test_no_label_of_the_test_rows_decides_anything(tmp_path):
    """The same cell, but the test labels are permuted: scores change, and nothing that was chosen or predicted."""
    X, y = noisy(120)
    is_test = np.arange(120) >= 80
    permuted = y.copy()
    permuted[is_test] = np.random.default_rng(0).permutation(y[is_test])
    run = Run(
        "test",
        "toy",
        "mddf",
        "classification",
        "cascadeforest.cascade.margin:MDDFClassifier",
        {"n_forests": 2, "n_estimators": 3, "max_layers": 2, "search_estimators": 2, "search_layers": 2},
        (0,),
        extras=("predictions", "layer_decisions"),
    )
    results, arrays = [], []
    for name, labels in (("one", y), ("other", permuted)):
        dataset = build_dataset(
            name="toy",
            task="classification",
            X=X,
            y=labels,
            feature_names="abcdef",
            class_names="xyz",
            given_test=is_test,
            protocol={"kind": "given", "repeats": 1},
        )
        save(dataset, tmp_path / name / "toy.npz")
        cell = compute_cell(run, 0, tmp_path / name / "toy.npz", tmp_path, 1, Provenance({}, {}, "", name))
        results.append(cell)
        saved = [predictions(tmp_path, cell), *(read_arrays(tmp_path, extra) for extra in cell.extras.values())]
        arrays.append({f"{k}/{key}": a for k, s in enumerate(saved) for key, a in s.items() if key != "y_test"})
    one, other = results
    accuracies = [score(predictions(tmp_path, one), labels[is_test], 3).metrics["accuracy"] for labels in (y, permuted)]
    assert accuracies[0] != accuracies[1]
    assert one.params == other.params
    assert one.curves == other.curves
    assert one.chosen == other.chosen
    assert one.chosen.keys() == {"gamma", "mu", "theta"}
    assert arrays[0].keys() == arrays[1].keys() >= {"0/predicted", "0/probabilities", "2/staged_predicted"}
    for key, array in arrays[0].items():
        assert array.tobytes() == arrays[1][key].tobytes()


# Readings of the paper.


@pytest.mark.parametrize("seed", range(3))
def test_the_literal_reading_stalls_and_the_normalised_one_does_not(seed):
    """Sums whose factors minimise the loss: the first layer takes nearly everything, and accuracy stays behind.

    Of 300 digits. Seeds are fixed: there is no false alarm.
    """
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:300]
    X, y = X[rows], y[rows]
    literal, usual = (
        small(n_estimators=10, max_layers=5, patience=5, cumulative=cumulative, random_state=seed).fit(X, y)
        for cumulative in ("sum", "normalized")
    )
    assert literal.alphas_[0] > 1
    assert literal.shares_[1] < 0.2
    assert literal.shares_[2:].max() < 0.05
    assert usual.shares_[1:4].min() > 0.4
    assert usual.validation_scores_.max() > literal.validation_scores_.max()


@pytest.mark.parametrize("preset", ["paper", "official"])
def test_presets_stand_for_parameters_that_are_open(preset):
    X, y = noisy(60)
    given = {**SMALL, "max_layers": 4, "search_layers": 2, "patience": None}
    settings = {name: value for name, value in PRESETS[preset].items() if given.get(name) is None}
    if preset == "paper":
        assert [settings.pop(name) for name in ("gamma", "mu", "theta")] == [None] * 3
    else:
        assert settings["patience"] is None
        settings["patience"] = 4  # all layers
    assert None not in settings.values()
    by_name = MDDFClassifier(**given, preset=preset).fit(X, y)
    other_preset = {"paper": "official", "official": "paper"}[preset]
    # Open in "paper", fixed in "official": what was found is given.
    settings |= {"gamma": by_name.gamma_, "mu": by_name.mu_, "theta": by_name.theta_}
    by_hand = MDDFClassifier(**{**given, **settings}, preset=other_preset).fit(X, y)
    assert same_predictions(by_name, by_hand, X)
    assert by_name.validation_scores_.tolist() == by_hand.validation_scores_.tolist()


def test_the_official_preset_is_the_released_code():
    X, y = noisy()
    model = MDDFClassifier(2, 3, preset="official", max_layers=5, random_state=0).fit(X, y)
    assert (model.gamma_, model.mu_, model.theta_) == (0.98, 0.05, 4)
    assert model.search_results_ == []
    assert model.n_layers_ == len(model.layers_) == len(model.alphas_) == 5
    assert model.validation_scores_.argmax() < 4  # otherwise the best would be the last
    assert model.shares_ == pytest.approx(model.alphas_ / model.alphas_.cumsum())


def test_official_factors_are_those_of_the_layers_own_mean_margins(monkeypatch):
    """Margins 0.6 and 0.2 with mean 0.4, then 0.8 throughout: half the logarithms of 1.4 / 0.6 and 1.8 / 0.2."""
    y = np.array([0, 1])
    first = np.array([[[0.8, 0.2]], [[0.4, 0.6]]], np.float32)
    second = np.array([[[0.9, 0.1]], [[0.1, 0.9]]], np.float32)
    model, layers = fit_given(
        monkeypatch, [first, second, second], np.zeros((2, 1)), y, preset="official", gamma=None, mu=None
    )
    alphas = [0.5 * math.log(7 / 3), math.log(3), math.log(3)]
    assert model.alphas_ == pytest.approx(alphas, rel=1e-6)
    # The sum of the first layer, not normalised: 0.6 and 0.2 times its factor, squared distances to 0.98.
    loss = [(0.6 * alphas[0] - 0.98) ** 2, (0.2 * alphas[0] - 0.98) ** 2]
    assert layers.weights[1] == pytest.approx(np.array(loss) / np.mean(loss), rel=1e-6)
    # Then the sums are 0.6 * 0.424 + 0.8 * 1.099 = 1.133, above 0.98 by 0.153, and 0.2 * 0.424 + 0.879 = 0.964
    loss = [0.05 * (0.6 * alphas[0] + 0.8 * alphas[1] - 0.98) ** 2, (0.2 * alphas[0] + 0.8 * alphas[1] - 0.98) ** 2]
    assert layers.weights[2] == pytest.approx(np.array(loss) / np.mean(loss), rel=1e-4)


@pytest.mark.parametrize(("keep", "kept"), [("best", 2), ("last", 4)])
@pytest.mark.parametrize("preset", ["paper", "official"])
def test_the_best_or_the_last_layer_is_kept(keep, kept, preset):
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.9])
    X, y = noisy()
    model = small(preset=preset, keep=keep, patience=2, max_layers=5, scoring=lambda e, X, y: next(scores)).fit(X, y)
    assert model.validation_scores_.tolist() == [0.5, 0.7, 0.7, 0.6]
    assert model.n_layers_ == len(model.layers_) == len(stages(model, X)) == kept
    assert len(model.alphas_) == len(model.shares_) == len(model.margin_ratio_) == len(model.margins_) == 4
    assert model.score(X, y) > 0.5


def test_nothing_is_better_than_all_right():
    X, y = np.repeat([[0.0], [1.0]], 15, axis=0), np.repeat([0, 1], 15)
    assert small(max_layers=6).fit(X, y).validation_scores_.tolist() == [1.0]
    assert small(max_layers=6, patience=6).fit(X, y).validation_scores_.tolist() == [1.0] * 6
    official = MDDFClassifier(2, 4, preset="official", max_layers=6, random_state=0).fit(X, y)
    assert official.n_layers_ == 6  # grows them all


# Small and odd data.


def rows_at_random(n_rows, n_classes):
    return np.arange(float(n_rows))[:, None], np.arange(n_rows) % n_classes


@pytest.mark.parametrize("preset", ["paper", "official"])
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
@pytest.mark.parametrize("ablation", [None, "same_forests", "stacking", "no_preconc"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0]], [0, 1]),
        ([[0.0], [1.0]], [1, 1]),
        ([[0.0], [1.0], [2.0]], [0, 1, 2]),
        (np.zeros((12, 2)), [0, 1] * 6),
        (np.full((12, 2), np.nan), [0, 1, 2] * 4),
        ([[float(k)] for k in range(12)], [0] * 11 + [1]),  # a class that one fold has no row to learn from
    ],
)
def test_tiny_data_give_probabilities_and_finite_factors(X, y, ablation, how, preset):
    model = MDDFClassifier(
        2, 2, max_layers=3, patience=3, preset=preset, ablation=ablation, class_vectors=how, random_state=0,
        search_estimators=1, search_layers=1,
    ).fit(X, y)  # fmt: skip
    assert len(model.alphas_) == 3
    assert np.isfinite(model.alphas_).all()
    assert (model.alphas_ >= 0).all()
    assert model.shares_[0] == 1.0
    assert ((model.shares_ >= 0) & (model.shares_ <= 1)).all()
    assert np.isfinite(model.margins_).all()
    assert np.abs(model.margins_).max() <= 1
    assert (model.margin_ratio_ >= 0).all()
    for stage, z in zip(stages(model, X), model.staged_margins(X, y), strict=True):
        assert stage.sum(axis=1) == pytest.approx(np.ones(len(y)), abs=1e-9)
        assert stage.min() >= 0
        assert np.abs(z).max() <= 1


@pytest.mark.parametrize(("ways", "alphas"), [({}, [1, 0, 0]), ({"cumulative": "sum"}, [0.85, 0, 0])])
def test_one_class_has_margins_of_one(ways, alphas):
    model = small(patience=9, **ways).fit([[0.0], [1.0], [2.0]], ["a"] * 3)
    assert model.margins_.tolist() == [[1.0] * 3] * 3
    assert model.margin_ratio_.tolist() == [0.0] * 3
    assert model.alphas_ == pytest.approx(alphas)
    assert [z.tolist() for z in model.staged_margins([[5.0]], ["a"])] == [[1.0]]


def test_a_row_whose_class_is_unknown_to_its_fold_has_a_negative_margin_and_weight():
    """No fold model that predicts it knows its class: its margin is the largest probability of others, negated."""
    X, y = np.repeat([[0.0], [1.0], [2.0]], [30, 29, 1], axis=0), np.repeat([0, 1, 2], [30, 29, 1])
    model = small(n_estimators=10).fit(X, y)
    assert (model.margins_[:, -1] < -0.3).all()
    assert (model.margins_[0, :-1] > model.margins_[0, -1]).all()
    assert model.predict_proba([[2.0]])[0, 2] > 0


# Margins of other rows.


def test_staged_margins_are_those_of_the_staged_probabilities():
    X, y = noisy()
    new, label = noisy(40, seed=3)
    names = np.array(["x", "z", "y"])  # not in the order of the numbers
    model = small(scoring=best_last()).fit(X, names[y])
    found = list(model.staged_margins(new, names[label]))
    assert len(found) == model.n_layers_ == 3
    for z, probabilities in zip(found, stages(model, new), strict=True):
        assert z == pytest.approx(slow_margins(probabilities, np.array([0, 2, 1])[label]), abs=1e-12)
    # Rows of one class only, and as other types of sequences.
    some = label == 1
    assert next(model.staged_margins(new[some], ["z"] * some.sum())).tolist() == found[0][some].tolist()
    assert next(model.staged_margins(new.tolist(), names[label].astype(object))).tolist() == found[0].tolist()


def test_staged_margins_of_rows_that_cannot_have_any():
    X, y = noisy()
    model = small().fit(X, y)
    with pytest.raises(ValueError, match=r"y has the classes \[7\], which fit did not see; leave these rows out"):
        next(model.staged_margins(X[:3], [0, 7, 1]))
    with pytest.raises(ValueError, match=r"y has the classes \['a'\], which fit did not see"):
        next(model.staged_margins(X[:2], ["a", "a"]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(model.staged_margins(X[:3], [0, 1]))
    with pytest.raises(ValueError, match="y should be a 1d array"):
        next(model.staged_margins(X[:3], np.zeros((3, 2))))
    with pytest.raises(NotFittedError, match="not fitted"):
        next(MDDFClassifier().staged_margins(X, y))


# Estimators that are not ours.


@pytest.mark.parametrize("member", [KNeighborsClassifier(), make_pipeline(LogisticRegression())])
def test_estimators_that_take_no_weights_are_refused_before_anything_is_grown(member, monkeypatch):
    monkeypatch.setattr(margin, "fit_layer", None)
    with pytest.raises(ValueError, match=r"(?s)^estimators has .*, whose fit takes no sample_weight.*; choose"):
        small(estimators=["random_forest", member]).fit(*noisy())


@pytest.mark.parametrize("ablation", [None, "stacking", "no_preconc"])
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_matrix])
def test_other_estimators_predict_in_all_structures(ablation, make):
    X, y = noisy(120)
    X, new = np.abs(X), np.abs(noisy(40, seed=1)[0])
    members = ["random_forest", MultinomialNB()]
    model = small(ablation=ablation, estimators=members, scoring=best_last()).fit(make(X), y)
    dense = small(ablation=ablation, estimators=members, scoring=best_last()).fit(X, y)
    assert model.n_layers_ == 3
    for one, other in zip(stages(model, make(new)), stages(dense, new), strict=True):
        assert one == pytest.approx(other, abs=1e-6)
    assert model.score(make(X), y) > 0.5


def test_hundreds_of_layers_do_not_overflow(monkeypatch):
    """Each is better than the sum before it and takes nine tenths: relative to the first, factors grow tenfold."""
    y = np.arange(20) % 2
    better = [np.where(np.eye(2)[y] > 0, p, 1 - p)[:, None].astype(np.float32) for p in np.linspace(0.5, 0.9, 330)]
    ways = {"max_layers": 330, "patience": 330, "keep": "last", "gamma": 0.9}
    model, _ = fit_given(monkeypatch, better, np.zeros((20, 1)), y, **ways)
    assert model.shares_.tolist() == [1.0] + [0.9] * 329
    assert np.isinf(model.alphas_[-1])
    assert np.isfinite(model.margins_).all()
