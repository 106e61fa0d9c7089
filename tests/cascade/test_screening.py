"""Confidence screening: Eq. 4, tree numbers and refilling from their definitions; the whole of it against a naive twin.

The twin grows each level on a matrix of the rows that reached it, and predicts each row by itself.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from cascadeforest import (
    CompletelyRandomForestClassifier,
    Explainer,
    ExtraTreesClassifier,
    GCForestClassifier,
    GCForestCSClassifier,
    RandomForestClassifier,
)
from cascadeforest.cascade import screening
from cascadeforest.cascade.screening import (
    _REFILL,
    bin_threshold,
    confidence_threshold,
    refill,
    trees_of_level,
    weights_of_rows,
)
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.seeds import seed_at

from . import naive

examples = settings(deadline=None, derandomize=True, max_examples=400)

# Equation 4.


def least_allowed(confidence, wrong, bound):
    """Each confidence that occurs is a candidate; it and all above it must be wrong less often than `bound`."""
    allowed = []
    for candidate in confidence:
        errors = [w for c, w in zip(confidence, wrong, strict=True) if c >= candidate]
        if Fraction(sum(errors), len(errors)) < bound:
            allowed.append(candidate)
    return min(allowed, default=math.inf)


@examples
@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([False, False, True])), min_size=1, max_size=25),
    st.integers(0, 20),
)
@example([(3, False), (3, True)], 10)
@example([(3, True), (2, False)], 12)
def test_the_threshold_is_the_least_that_equation_4_allows(rows, sixteenths):
    """Sixteenths and quotients of small numbers are compared exactly in floats, too."""
    confidence, wrong = np.array([c / 8 for c, _ in rows]), np.array([w for _, w in rows])
    threshold = confidence_threshold(confidence, wrong, sixteenths / 16)
    assert threshold == least_allowed(confidence.tolist(), wrong.tolist(), Fraction(sixteenths, 16))
    assert isinstance(threshold, float)


@pytest.mark.parametrize(
    ("wrong", "bound", "threshold"),
    [
        ([0, 0, 0, 0, 0], 0.1, 0.5),  # all satisfy it: all leave
        ([0, 0, 0, 0, 0], 0.0, math.inf),  # no share of errors is below none
        ([1, 1, 1, 1, 1], 0.9, math.inf),
        ([1, 0, 0, 0, 0], 0.2, math.inf),  # 1/1, 1/2, 1/4 and 1/5, which is not less than 0.2
        ([1, 0, 0, 0, 0], 0.21, 0.5),
        ([0, 1, 0, 0, 0], 0.3, 0.5),  # 0, 1/2, 1/4, 1/5: the least one, though one above it does not satisfy it
        ([0, 0, 1, 0, 1], 0.3, 0.6),  # 0, 0, (0.6 twice) 1/4, 2/5
        ([0, 0, 0, 1, 1], 0.3, 0.6),  # the same: equal confidences count together
        ([0, 0, 1, 1, 0], 0.35, 0.8),  # one of the equal ones would satisfy it alone: 1/3
    ],
)
def test_equation_4_by_hand(wrong, bound, threshold):
    confidence = np.array([0.9, 0.8, 0.6, 0.6, 0.5])
    for order in (np.arange(5), np.arange(5)[::-1], np.array([2, 4, 3, 0, 1])):
        assert confidence_threshold(confidence[order], np.array(wrong, bool)[order], bound) == threshold


def test_those_who_leave_are_wrong_less_often_than_the_bound_also_at_the_gate():
    """The gate is >=: what it lets leave must be the rows that Eq. 4 counted."""
    rng = np.random.default_rng(0)
    n_screened = 0
    for _ in range(200):
        confidence = rng.integers(4, 13, 30) / 12
        wrong = rng.random(30) > confidence
        threshold = confidence_threshold(confidence, wrong, wrong.mean() / 3)
        leaves = confidence >= threshold
        if leaves.any():
            assert wrong[leaves].mean() < wrong.mean() / 3
            n_screened += 1
    assert n_screened > 20


def test_the_bound_is_not_passed_by_rounding():
    """12 of 40 rows are wrong, 3 of the 20 confident ones: just a = 1/2 of the level's share, which is not less."""
    label = np.zeros(40, int)
    confidence = np.r_[np.full(20, 0.9), np.full(20, 0.6)]
    wrong = np.zeros(40, bool)
    wrong[[1, 2, 3, *range(20, 29)]] = True
    decided = np.where(wrong[:, None], np.c_[1 - confidence, confidence], np.c_[confidence, 1 - confidence])
    model = GCForestCSClassifier(a=0.5)
    model.a_ = 0.5
    rows = np.arange(40)
    threshold, goes_on = model._screen(decided, label, rows, rows, 0, 0)
    assert threshold == math.inf
    assert goes_on.all()


# Bins of DBC-Forest.


def least_in_accurate_bins(confidence, wrong, bound, bin_size):
    """Rows of equal confidence are in the bin of the first of them; the last bin has the rest."""
    order = sorted(range(len(confidence)), key=lambda i: -confidence[i])
    n_bins = max(1, len(order) // bin_size)
    size = len(order) // n_bins
    bins, bin_of = {}, {}
    for place, i in enumerate(order):
        number = bin_of.setdefault(confidence[i], min(place // size, n_bins - 1))
        bins.setdefault(number, []).append(i)
    threshold = math.inf
    for number in sorted(bins):
        if Fraction(sum(bool(wrong[i]) for i in bins[number]), len(bins[number])) > bound:
            break
        threshold = min(confidence[i] for i in bins[number])
    return threshold


@examples
@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from([False, False, True])), min_size=1, max_size=40),
    st.integers(0, 16),
    st.integers(1, 12),
)
@example([(3, False), (3, True)], 8, 1)
@example([(3, False), (2, False), (1, True)], 8, 2)
def test_the_bins_that_leave_are_those_of_a_loop_over_rows(rows, sixteenths, bin_size):
    confidence, wrong = np.array([c / 16 for c, _ in rows]), np.array([w for _, w in rows])
    threshold = bin_threshold(confidence, wrong, sixteenths / 16, bin_size)
    assert threshold == least_in_accurate_bins(confidence.tolist(), wrong, Fraction(sixteenths, 16), bin_size)
    assert isinstance(threshold, float)


@pytest.mark.parametrize(
    ("wrong", "bound", "bin_size", "threshold"),
    [
        ([0, 0, 0, 0, 1, 1, 0], 0.4, 2, 0.6),  # bins of 2, 2 and 3 rows; Eq. 4 would let all rows leave
        ([0, 0, 1, 0, 0, 0, 0], 0.4, 2, 0.8),  # all rows together satisfy the bound, but the second bin does not
        ([0, 0, 1, 0, 0, 0, 0], 0.5, 2, 0.3),  # a bin may be wrong as often as the bound
        ([1, 0, 0, 0, 0, 0, 0], 0.4, 2, math.inf),  # the first bin fails: no row leaves
        ([1, 0, 0, 0, 0, 0, 0], 0.4, 3, 0.3),  # bins of 3 and 4 rows
        ([0, 0, 0, 0, 0, 0, 1], 0.2, 100, 0.3),  # one bin
        ([0, 0, 0, 0, 0, 0, 0], 0.0, 2, 0.3),  # no errors: all rows leave
    ],
)
def test_bins_by_hand(wrong, bound, bin_size, threshold):
    confidence = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
    assert bin_threshold(confidence, np.array(wrong, bool), bound, bin_size) == threshold


def test_rows_of_equal_confidence_are_in_one_bin():
    confidence, wrong = np.array([0.9, 0.8, 0.8, 0.8, 0.7, 0.6]), np.array([0, 0, 0, 1, 0, 1], bool)
    for order in (np.arange(6), np.arange(6)[::-1], np.array([3, 5, 0, 2, 4, 1])):
        one, other = confidence[order], wrong[order]
        assert bin_threshold(one, other, 0.25, 2) == 0.8  # bins of 4 and 2 rows, wrong once each
        assert bin_threshold(one, other, 0.24, 2) == math.inf


# Weights of AWDF.


def test_weights_by_hand():
    probabilities = np.array([[0.75, 0.25], [0.75, 0.25], [1.0, 0.0], [0.0, 1.0]])
    assert weights_of_rows(probabilities, np.array([0, 1, 0, 0])).tolist() == [0.25, 0.75, 1e-9, 1.0]


# Trees of a level.


@pytest.mark.parametrize(
    ("n_rows", "n_added", "growth", "most", "n_trees"),
    [
        (1000, 0, "reciprocal", 10, 100),  # the first level
        (500, 0, "reciprocal", 10, 200),
        (500, 16, "reciprocal", 10, 100),  # half of the rows, twice the columns: the same work
        (500, 8, "reciprocal", 10, 133),  # rho = 1/2 * 24/16 = 3/4
        (900, 16, "reciprocal", 10, 100),  # rho is not above 1: never fewer trees
        (250, 16, "reciprocal", 10, 200),
        (20, 0, "reciprocal", 10, 1000),  # 5,000 but for the cap
        (20, 0, "reciprocal", 1000, 5000),
        (20, 0, "reciprocal", 2.5, 250),
        (1000, 0, "linear", 10, 100),
        (500, 16, "linear", 10, 150),
        (250, 16, "linear", 10, 175),
        (250, 16, "linear", 1.5, 150),
        (1, 16, "none", 10, 100),
    ],
)
def test_trees_of_a_level_by_hand(n_rows, n_added, growth, most, n_trees):
    assert trees_of_level(100, n_rows, 1000, 16, n_added, growth, most) == n_trees


@examples
@given(
    st.integers(1, 500),
    st.integers(1, 300),
    st.integers(0, 300),
    st.integers(1, 40),
    st.integers(0, 40),
    st.sampled_from(["reciprocal", "linear", "none"]),
    st.integers(1, 20),
)
def test_trees_are_those_of_the_formula_up_to_rounding(n_first, n_rows, n_gone, n_features, n_added, growth, most):
    n_rows_first = n_rows + n_gone
    rho = min(Fraction(1), Fraction(n_rows, n_rows_first) * Fraction(n_features + n_added, n_features))
    factor = {"reciprocal": 1 / rho, "linear": 1 + Fraction(n_gone, n_rows_first), "none": Fraction(1)}[growth]
    exact = n_first * min(factor, Fraction(most))
    got = trees_of_level(n_first, n_rows, n_rows_first, n_features, n_added, growth, float(most))
    assert math.floor(exact * (1 - Fraction(1, 10**12))) <= got <= exact


@pytest.mark.parametrize(
    ("n_first", "n_rows", "n_rows_first", "growth", "n_trees"),
    [(100, 85, 100, "linear", 115), (49, 7, 100, "reciprocal", 280), (10, 35, 150, "reciprocal", 30)],
)
def test_whole_numbers_of_trees_are_not_rounded_down(n_first, n_rows, n_rows_first, growth, n_trees):
    n_features, n_added = (4, 6) if n_rows_first == 100 else (7, 3)
    assert trees_of_level(n_first, n_rows, n_rows_first, n_features, n_added, growth, 10.0) == n_trees


# Refilling.


def test_refilling_by_hand():
    """Class 0 has enough, class 1 gets one of its two rows back, class 2 has only two rows at all."""
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    goes_on = np.array([1, 1, 0, 1, 0, 0, 0, 1], bool)
    chosen = set()
    for seed in range(20):
        refilled = refill(goes_on, y, 2, np.random.SeedSequence(seed))
        assert refilled[[0, 1, 3, 6, 7]].all()
        assert not refilled[2]
        assert np.count_nonzero(refilled[[4, 5]]) == 1
        chosen.add(int(np.flatnonzero(refilled[[4, 5]])[0]))
    assert chosen == {0, 1}
    assert goes_on.tolist() == [True, True, False, True, False, False, False, True]  # not changed


@examples
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30), st.integers(1, 5), st.integers(0)
)
def test_each_class_keeps_what_it_needs_and_no_more(rows, least, seed):
    goes_on, y = np.array([r for r, _ in rows]), np.array([c for _, c in rows])
    refilled = refill(goes_on, y, least, np.random.SeedSequence(seed))
    assert refilled[goes_on].all()
    for c in np.unique(y):
        had = np.count_nonzero(goes_on & (y == c))
        assert np.count_nonzero(refilled & (y == c)) == max(had, min(least, np.count_nonzero(y == c)))
    assert refilled.tolist() == refill(goes_on, y, least, np.random.SeedSequence(seed)).tolist()


# The whole of it.


def noisy(n_rows=160, n_classes=3, seed=0):
    return make_classification(
        n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, class_sep=1.2, random_state=seed
    )


def twin_of(X, y, n_classes, entropy, *, n_levels, w, a, growth="reciprocal", scope="level", second=None,
            bins=None, weighting=False, gates=False, **rules):  # fmt: skip
    """Algorithm 1, with a matrix of its own for each level; ends when fewer than two rows go on.

    `bins` is the size of DBC-Forest's bins, and `weighting` says whether rows get AWDF's weights instead of leaving.
    With `gates` each level learns from all rows, and `rows` are those that the gates let through.
    """
    n, d = X.shape
    n_folds = rules.get("n_folds", 3)
    second = second or CompletelyRandomForestClassifier
    mapper = BinMapper()
    all_rows = mapper.fit_transform(X)
    rows, vectors, weights = np.arange(n), None, None
    decided, level_of = np.zeros((n, n_classes)), np.zeros(n, int)
    twin = {"mapper": mapper, "layers": [], "mappers": [], "thresholds": [], "n_rows": [], "scores": [], "exits": []}
    for level in range(n_levels):
        learned = np.arange(n) if gates else rows
        seen, added = naive.of_rows(all_rows, learned), BinMapper()
        if level:
            seen = naive.add_columns(seen, vectors, added, fit=True)
        trees = trees_of_level(w, len(learned), n, d, 2 * n_classes if level else 0, growth, 10.0)
        members = [RandomForestClassifier(trees), second(trees)]
        layer, vectors = naive.fit_layer(members, seen, y[learned], n_classes, entropy, level, weights=weights, **rules)
        for i, probabilities in zip(learned, naive.mean(vectors), strict=True):
            if i in rows:
                decided[i] = probabilities
        level_of[rows] = level
        is_wrong = decided.argmax(axis=1) != y
        twin["layers"].append(layer)
        twin["mappers"].append(added)
        twin["n_rows"].append(len(rows))
        twin["scores"].append(accuracy_score(y, decided.argmax(axis=1)))
        twin["exits"].append(level_of.copy())
        if a == "auto":
            a = 1 / 10 if twin["scores"][0] > 0.9 else 1 / 3
            twin["a"] = a
        scope_of = rows if scope == "level" else np.arange(n)
        error = Fraction(int(is_wrong[scope_of].sum()), len(scope_of))
        confidence = decided[rows].max(axis=1)
        # a little is taken off, so that equality, which floats cannot be asked for, does not matter
        bound = Fraction(a) * error * (1 - Fraction(1, 10**9))
        if weighting:
            weights = np.array([max(1 - decided[i, y[i]], 1e-9) for i in rows])
            threshold = math.inf
        elif bins:
            bound *= 1 + Fraction(2, 10**9)  # here equality is allowed
            threshold = least_in_accurate_bins(confidence.tolist(), is_wrong[rows], bound, bins)
        else:
            threshold = least_allowed(confidence.tolist(), is_wrong[rows].tolist(), bound)
        twin["thresholds"].append(threshold)
        goes_on = np.array([c < threshold for c in confidence])
        if not goes_on.any():
            break
        for c in np.unique(y[rows]):  # the draw itself is that of `refill`, which has tests of its own
            assert np.count_nonzero(y[rows] == c) >= 1
        if not gates:
            goes_on = refill(goes_on, y[rows], n_folds, seed_at(entropy, level, _REFILL))
            vectors = vectors[goes_on]
        if goes_on.sum() < 2:
            break
        rows = rows[goes_on]
    return twin


def predict_row(twin, n_levels, x):
    """Probabilities and exit level of one row."""
    binned = twin["mapper"].transform(x[None])
    for level in range(n_levels):
        seen = naive.add_columns(binned, vectors, twin["mappers"][level]) if level else binned  # noqa: F821
        vectors = twin["layers"][level].vectors(seen)
        probabilities = naive.mean(vectors)[0]
        if level == n_levels - 1 or probabilities.max() >= twin["thresholds"][level]:
            return probabilities, level
    raise AssertionError


VARIANTS = [
    ({}, {"a": "auto"}),
    ({"a": 0.5}, {"a": 0.5}),
    ({"a": 0.9, "growth": "none"}, {"a": 0.9, "growth": "none"}),
    ({"a": 0.5, "growth": "linear"}, {"a": 0.5, "growth": "linear"}),
    ({"a": 0.7, "error_scope": "all"}, {"a": 0.7, "scope": "all"}),
    ({"a": 0.6, "class_vectors": "oob"}, {"a": 0.6, "class_vectors": "oob"}),
    ({"a": 0.6, "class_vectors": "k_fold_refit"}, {"a": 0.6, "class_vectors": "k_fold_refit"}),
    ({"a": 0.6, "n_folds": 5, "vector_dtype": "float16"}, {"a": 0.6, "n_folds": 5, "dtype": "float16"}),
    ({"a": 0.6, "preset": "official"}, {"a": 0.6, "second": ExtraTreesClassifier}),
    ({"a": 0.9, "screening": "bins", "bin_size": 20}, {"a": 0.9, "bins": 20}),
    ({"a": 0.8, "screening": "bins", "bin_size": 7, "error_scope": "all"}, {"a": 0.8, "bins": 7, "scope": "all"}),
    ({"screening": "weights"}, {"a": "auto", "weighting": True}),
    ({"screening": "weights", "class_vectors": "oob"}, {"a": "auto", "weighting": True, "class_vectors": "oob"}),
    ({"a": 0.8, "screening": "gates"}, {"a": 0.8, "gates": True}),
    ({"a": 0.9, "screening": "gates", "error_scope": "all"}, {"a": 0.9, "gates": True, "scope": "all"}),
    (
        {"screening": "gates", "growth": "linear", "class_vectors": "oob"},
        {"a": "auto", "gates": True, "growth": "linear", "class_vectors": "oob"},
    ),
]


@pytest.mark.parametrize(("parameters", "rules"), VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_cascade_is_its_naive_twin(parameters, rules, seed):
    X, y = noisy(seed=seed)
    model = GCForestCSClassifier(2, 6, max_layers=4, patience=4, random_state=seed, **parameters).fit(X, y)
    twin = twin_of(X, y, 3, naive.entropy_of(seed), n_levels=4, w=6, **rules)
    kept = model.n_layers_
    assert model.validation_scores_ == pytest.approx(twin["scores"], rel=1e-12)
    assert kept == int(np.argmax(twin["scores"])) + 1
    assert model.thresholds_.tolist() == twin["thresholds"][: kept - 1]
    assert model.n_rows_.tolist() == twin["n_rows"][:kept]
    assert model.n_trees_.tolist() == [layer.forests[0][0].trees.n_trees for layer in twin["layers"][:kept]]
    assert model.a_ == twin.get("a", rules["a"])
    assert model.decision_level_.tolist() == twin["exits"][kept - 1].tolist()
    new = noisy(60, seed=seed + 10)[0]
    for n_levels, stage in enumerate(model.staged_predict_proba(new), 1):
        wanted, exits = zip(*(predict_row(twin, n_levels, x) for x in new), strict=True)
        assert stage.tobytes() == np.array(wanted).tobytes()
    assert model.decision_level(new).tolist() == list(exits)


def test_the_twins_tell_much():
    """Among the cascades above: rows leave, rows come back, levels follow, thresholds are infinite."""
    kept, leave, stay = set(), 0, 0
    for parameters, _ in VARIANTS:
        for seed in (0, 1):
            X, y = noisy(seed=seed)
            model = GCForestCSClassifier(2, 6, max_layers=4, patience=4, random_state=seed, **parameters).fit(X, y)
            kept.add(model.n_layers_)
            leave += np.count_nonzero(np.diff(model.n_rows_) < 0)
            stay += np.isinf(model.thresholds_).sum()
    assert len(kept) > 1
    assert leave > 3


def test_decisions_of_a_cascade_by_hand():
    """Staged probabilities and thresholds alone say where each row leaves."""
    X, y = noisy()
    model = next(
        m
        for seed in range(50)
        if (m := GCForestCSClassifier(2, 6, a=0.7, max_layers=5, patience=5, random_state=seed).fit(X, y)).n_layers_ > 2
        and np.isfinite(m.thresholds_).all()
    )
    new = noisy(300, seed=3)[0]
    stages = list(model.staged_predict_proba(new))
    levels = np.full(300, model.n_layers_ - 1)
    for level in reversed(range(model.n_layers_ - 1)):
        levels[stages[level].max(axis=1) >= model.thresholds_[level]] = level
    assert model.decision_level(new).tolist() == levels.tolist()
    assert model.decision_level(new).dtype == model.decision_level_.dtype == np.int16
    assert len(set(levels)) == model.n_layers_
    # Who has left keeps the probabilities with which it left.
    for row in range(300):
        for later in stages[levels[row] :]:
            assert later[row].tolist() == stages[-1][row].tolist()


def test_all_levels_see_the_same_matrix_in_memory(monkeypatch):
    """Rows that go on are a list of row numbers: no level has a matrix of its own, however few reach it."""
    X, y = noisy()
    seen_by_levels = []

    def fit_layer(grown, seen, rows, *others):
        columns = seen.binned.columns
        seen_by_levels.append((columns.ctypes.data, columns.shape[1], len(rows)))
        return screening_fit_layer(grown, seen, rows, *others)

    screening_fit_layer = screening.fit_layer
    monkeypatch.setattr(screening, "fit_layer", fit_layer)
    model = GCForestCSClassifier(2, 6, a=0.6, max_layers=4, patience=4, random_state=0).fit(X, y)
    addresses, widths, reached = zip(*seen_by_levels, strict=True)
    assert len(set(addresses)) == 1
    assert set(widths) == {len(X)}
    assert reached[: model.n_layers_] == tuple(model.n_rows_)
    assert model.n_layers_ > 1
    assert reached[-1] < reached[0]


def test_training_rows_are_counted_where_they_were_decided():
    X, y = noisy()
    n_multi = 0
    for seed in range(5):
        model = GCForestCSClassifier(2, 6, a=0.6, max_layers=4, patience=4, random_state=seed).fit(X, y)
        reached = [np.count_nonzero(model.decision_level_ >= level) for level in range(model.n_layers_)]
        assert reached == model.n_rows_.tolist()
        assert set(model.decision_level_) <= set(range(model.n_layers_))
        n_multi += model.n_layers_ > 1
    assert n_multi


@pytest.mark.parametrize("error_scope", ["level", "all"])
def test_nobody_leaves_a_level_without_mistakes(error_scope):
    """No share of errors is less than none. With early stopping off, such levels go on to the last, all alike."""
    X, y = np.repeat([[0.0], [1.0]], 15, axis=0), np.repeat([0, 1], 15)
    model = GCForestCSClassifier(2, 4, max_layers=5, patience=5, error_scope=error_scope, random_state=0).fit(X, y)
    assert model.validation_scores_.tolist() == [1.0] * 5
    assert model.n_layers_ == 1
    assert model.predict(X).tolist() == y.tolist()
    assert len(GCForestCSClassifier(2, 4, max_layers=5, patience=4).fit(X, y).validation_scores_) == 1


def test_a_level_that_all_rows_leave_is_the_last():
    """Only a fraction of the error of all rows can be more than the error of all rows at a level."""
    X, y = noisy()
    n_ended = 0
    for seed in range(12):
        model = GCForestCSClassifier(2, 6, a=0.99, error_scope="all", max_layers=5, patience=5, random_state=seed)
        scores = model.fit(X, y).validation_scores_
        if len(scores) < 5 and model.n_layers_ == len(scores):
            n_ended += 1
            assert scores.max() < 1
            assert len(model.thresholds_) == model.n_layers_ - 1
            last = model.decision_level_ == model.n_layers_ - 1
            assert np.count_nonzero(last) == model.n_rows_[-1]
            assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-6)
    assert n_ended > 0


def test_a_cascade_without_rows_to_predict_at_later_levels_ends_there():
    """All new rows are the most confident one: none reaches the second level."""
    X, y = noisy()
    model = next(
        m
        for seed in range(50)
        if (m := GCForestCSClassifier(2, 6, a=0.9, max_layers=4, patience=4, random_state=seed).fit(X, y)).n_layers_ > 1
        and m.thresholds_[0] < 1.0
    )
    first = next(iter(model.staged_predict_proba(X)))
    sure = X[[first.max(axis=1).argmax()] * 7]
    stages = list(model.staged_predict_proba(sure))
    assert len(stages) == model.n_layers_
    assert all(stage.tobytes() == stages[0].tobytes() for stage in stages)
    assert model.decision_level(sure).tolist() == [0] * 7


@pytest.mark.parametrize(
    ("load", "lowest", "highest", "a"), [(load_iris, 0.9, 1.0, 1 / 10), (load_digits, 0.0, 0.9, 1 / 3)]
)
def test_a_follows_from_the_accuracy_of_the_first_level(load, lowest, highest, a):
    X, y = load(return_X_y=True)
    model = GCForestCSClassifier(2, 3, max_layers=1, max_depth=4, random_state=0).fit(X[::2], y[::2])
    assert lowest < model.validation_scores_[0] <= highest
    assert model.a_ == a
    assert GCForestCSClassifier(2, 3, a=0.25, max_layers=1, random_state=0).fit(X[:60], y[:60]).a_ == 0.25


def test_an_accuracy_of_nine_tenths_is_not_above_nine_tenths():
    model = GCForestCSClassifier()
    assert [model._fraction(accuracy) for accuracy in (0.9, np.nextafter(0.9, 1))] == [1 / 3, 1 / 10]


def test_scores_are_of_all_training_rows():
    """Also at levels that few of them reach; a scorer sees each row as it was decided."""
    X, y = noisy()
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.predict_proba(X), y))
        return float(len(seen))

    model = GCForestCSClassifier(2, 6, a=0.6, max_layers=3, scoring=scorer, random_state=0).fit(X, y)
    assert model.n_layers_ == 3
    assert model.n_rows_[-1] < model.n_rows_[0]
    assert [labels.tolist() for _, labels in seen] == [y.tolist()] * 3
    for level in (1, 2):
        left_before = model.decision_level_ < level
        assert left_before.any()
        assert seen[level][0][left_before].tolist() == seen[level - 1][0][left_before].tolist()
        assert (seen[level][0][~left_before] != seen[level - 1][0][~left_before]).any()


def test_estimators_that_are_not_ours_do_not_grow():
    X, y = noisy()
    model = next(
        m
        for seed in range(30)
        if (
            m := GCForestCSClassifier(
                2, 6, a=0.7, estimators=["random_forest", GaussianNB()], max_layers=3, patience=3, random_state=seed
            ).fit(X, y)
        ).n_layers_
        > 1
    )
    assert model.n_trees_.tolist() == [models[0].trees.n_trees for models in (k.forests[0] for k in model.layers_)]
    alone = GCForestCSClassifier(1, 6, estimators=[GaussianNB()], max_layers=2, random_state=0).fit(X, y)
    assert alone.n_trees_.tolist() == [0] * alone.n_layers_
    # What has been given to the cascade keeps its number of trees.
    member = RandomForestClassifier(3)
    GCForestCSClassifier(1, estimators=[member], a=0.7, max_layers=3, patience=3, random_state=0).fit(X, y)
    assert member.n_estimators == 3


@pytest.mark.parametrize(("preset", "patience"), [("paper", 1), ("official", 4)])
def test_presets_have_the_patience_of_paper_and_code(preset, patience):
    X, y = noisy()
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.1, 0.2, 0.9])
    model = GCForestCSClassifier(2, 2, preset=preset, scoring=lambda e, X, y: next(scores), random_state=0).fit(X, y)
    assert model.validation_scores_.tolist() == [0.5, 0.7, 0.7, 0.6, 0.1, 0.2, 0.9][: 2 + patience]
    assert model.n_layers_ == 2


def test_classes_keep_rows_for_the_folds_of_the_next_level():
    """An easy class would leave altogether; each level holds `n_folds` rows of each class."""
    rng = np.random.default_rng(0)
    easy = rng.normal(size=(60, 3)) + 100
    hard = rng.normal(size=(120, 3))
    X, y = np.vstack([easy, hard]), np.r_[np.zeros(60, int), rng.integers(1, 3, 120)]
    model = next(
        m
        for seed in range(30)
        if (m := GCForestCSClassifier(2, 6, a=0.5, n_folds=4, max_layers=3, patience=3, random_state=seed).fit(X, y))
        and m.n_layers_ > 1
        and np.isfinite(m.thresholds_[0])
    )
    assert np.count_nonzero(model.decision_level_[:60] >= 1) == 4


def test_a_row_in_two_levels_has_the_class_of_the_later():
    """`predict` is the arg-max of the level that decides, not of an average over levels."""
    X, y = noisy()
    model = next(
        m
        for seed in range(50)
        if (m := GCForestCSClassifier(2, 6, a=0.7, max_layers=4, patience=4, random_state=seed).fit(X, y)).n_layers_ > 1
    )
    stages = list(model.staged_predict_proba(X))
    assert model.predict(X).tolist() == stages[-1].argmax(axis=1).tolist()
    assert (stages[-1] != stages[0]).any()


def test_a_cascade_that_was_shortened_predicts_as_its_levels_did():
    """Fewer `layers_` than thresholds were once an error of `zip`, without a word on what was wrong."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    model = GCForestCSClassifier(2, 3, a=0.9, max_layers=3, patience=3, keep="last", random_state=0).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 3
    model.layers_, model.n_layers_ = model.layers_[:2], 2
    assert np.array_equal(model.predict_proba(X), stages[1])
    assert model.decision_level(X).max() == 1


def test_weights_of_the_user_multiply_those_of_awdf(monkeypatch):
    X, y = noisy()
    given = np.tile([1.0, 3.0, 0.0, 0.5], 40)
    kept = np.flatnonzero(given)
    log = []

    def fit_layer(grown, seen, rows, y, weights, *others):
        layer, vectors = screening_fit_layer(grown, seen, rows, y, weights, *others)
        log.append((rows, weights, naive.mean(vectors)))
        return layer, vectors

    screening_fit_layer = screening.fit_layer
    monkeypatch.setattr(screening, "fit_layer", fit_layer)
    model = GCForestCSClassifier(2, 6, screening="weights", max_layers=3, patience=3, keep="last", random_state=0)
    model.fit(X, y, sample_weight=given)
    assert [rows.tolist() for rows, _, _ in log] == [kept.tolist()] * 3
    assert log[0][1].tolist() == given[kept].tolist()
    for (_, _, before), (_, weights, _) in pairwise(log):
        misfit = 1 - before[np.arange(len(kept)), y[kept]]
        assert weights == pytest.approx(np.maximum(misfit, 1e-9) * given[kept], rel=1e-12)
    assert set(model.decision_level(X)) == {2}
    assert set(model.decision_level_[kept]) == {2}


def test_weights_need_estimators_that_take_them():
    X, y = noisy()
    model = GCForestCSClassifier(1, estimators=[KNeighborsClassifier()], screening="weights")
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\(\), whose fit takes no sample_weight, but layers"):
        model.fit(X, y)
    assert model.set_params(screening="bins", max_layers=2).fit(X, y).n_layers_


def test_gates_that_let_all_rows_through_are_gcforest():
    """Levels learn from all rows: the layers are gcForest's, and gates only choose among them."""
    X, y = noisy()
    new = noisy(80, seed=3)[0]
    sizes = {"n_forests": 2, "n_estimators": 6, "max_layers": 3, "patience": 3, "keep": "last", "random_state": 0}
    plain = list(GCForestClassifier(**sizes).fit(X, y).staged_predict_proba(new))
    model = GCForestCSClassifier(**sizes, a=0.9, screening="gates").fit(X, y)
    levels = model.decision_level(new)
    assert len(set(levels)) > 1
    assert len(plain) == model.n_layers_ == 3
    wanted = np.array([plain[level][row] for row, level in enumerate(levels)])
    assert model.predict_proba(new).tobytes() == wanted.tobytes()
    assert model.n_trees_.tolist() == [6, 6, 6]


def test_gates_are_not_explained():
    X, y = noisy()
    model = GCForestCSClassifier(2, 4, screening="gates", max_layers=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^screening is 'gates'.* Fit it with screening='threshold' to explain it\.$"):
        Explainer(model)
    assert not hasattr(model, "feature_importances_")
