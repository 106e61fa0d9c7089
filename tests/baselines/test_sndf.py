"""The soft forest against its definitions: routes and gradients by recursion and by difference, leaves by loops."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cascadeforest.baselines import sndf
from cascadeforest.baselines.sndf import Adam, SNDFClassifier, fitted_leaves, loss_and_gradient, router_values
from cascadeforest.kernels.soft_trees import soft_gradient, soft_reach, soft_shares

LOG_3 = np.log(3)  # the logit of 3/4


# ---------------------------------------------------------------------------------------------- naive twins


def left(router, row):
    """Probability of a left turn: the logistic function of the router's value."""
    return 1 / (1 + np.exp(-(router @ row)))


def naive_reach(routers, row, level=0, node=0):
    """Leaf by leaf number, the product along its path (Eq. 2), by recursion from the root."""
    if 2**level > len(routers):
        return {node: 1.0}
    goes_left = left(routers[2**level - 1 + node], row)
    below_left = naive_reach(routers, row, level + 1, node)
    below_right = naive_reach(routers, row, level + 1, node + 2**level)
    return {leaf: goes_left * p for leaf, p in below_left.items()} | {
        leaf: (1 - goes_left) * p for leaf, p in below_right.items()
    }


def naive_probability(routers, leaves, row):
    """Class distribution that one tree gives a row (Eq. 1)."""
    return sum(p * leaves[:, leaf] for leaf, p in naive_reach(routers, row).items())


def naive_loss(weights, leaves, x, codes):
    """Log-loss of a tree (Eq. 4), mean over the rows."""
    return -np.mean([np.log(naive_probability(weights, leaves, row)[y]) for row, y in zip(x, codes, strict=True)])


def naive_update(weights, leaves, x, codes):
    """Eq. 11, a sum over the rows for each class of each leaf."""
    updated = np.zeros_like(leaves)
    for row, y in zip(x, codes, strict=True):
        probability = naive_probability(weights, leaves, row)[y]
        for leaf, reach in naive_reach(weights, row).items():
            updated[y, leaf] += leaves[y, leaf] * reach / probability
    return updated / updated.sum(axis=0)


def single(*arrays):
    return tuple(np.ascontiguousarray(array, dtype=np.float32) for array in arrays)


def problem(depth, n_classes, n_rows, seed=0, n_features=3):
    """Random routers, leaves and rows of some classes: numbers of single precision in arrays of double precision."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 1, (2**depth - 1, n_features + 1))
    leaves = rng.dirichlet(np.ones(n_classes), 2**depth).T
    x = rng.normal(0, 1, (n_rows, n_features + 1))
    x[:, -1] = 1
    weights, leaves, x = (array.astype(np.float64) for array in single(weights, leaves, x))
    return weights, leaves, x, np.sort(rng.integers(n_classes, size=n_rows))


def routed(weights, x):
    turns = router_values(*single(weights, x))
    reach = np.empty_like(turns)
    soft_reach(turns, reach)
    return reach


def leaves_for(weights, x, codes, n_updates, n_classes=None, room=10**6):
    """Updates of the leaves, with or without room for what may be kept between them."""
    n_leaves = len(weights) + 1
    kept = np.empty((min(len(x), room // n_leaves), n_leaves), dtype=np.float32)
    return fitted_leaves(*single(weights, x), codes, n_classes or codes.max() + 1, n_updates, kept)


@pytest.fixture
def no_early_stop(monkeypatch):
    monkeypatch.setattr(sndf, "_LEAST_GAIN", -np.inf)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks that the few rows of a test fill several times, the last one in part."""
    monkeypatch.setattr(sndf, "_ROWS", 4)


# ---------------------------------------------------------------------------------------------- routes


@pytest.mark.parametrize("depth", [1, 2, 5, 7])
def test_the_reach_of_every_leaf_is_the_product_along_its_path(depth):
    weights, _, x, _ = problem(depth, 2, 7)
    for row, found in zip(x, routed(weights, x), strict=True):
        expected = naive_reach(weights, row)
        assert found == pytest.approx([expected[leaf] for leaf in range(2**depth)], rel=1e-5, abs=1e-7)


@settings(deadline=None, derandomize=True)
@given(depth=integers(1, 10), seed=integers(0, 2**32 - 1))
def test_a_row_reaches_the_leaves_with_probability_one_in_all(depth, seed):
    weights, _, x, _ = problem(depth, 2, 5, seed)
    reach = routed(100 * weights, x)  # from sure turns to even ones
    assert np.all(reach >= 0)
    assert reach.sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_a_turn_that_is_sure_is_no_overflow():
    assert routed([[1000.0]], [[1], [-1], [1e30], [-1e30]]).tolist() == [[1, 0], [0, 1]] * 2


def test_turns_are_the_logistic_function_to_the_last_places():
    values = np.linspace(-88, 88, 100_001, dtype=np.float32)
    reach = routed([[1.0]], values[:, np.newaxis])
    assert reach[:, 1] == pytest.approx(1 / (1 + np.exp(values.astype(np.float64))), rel=4e-7, abs=1.2e-38)
    assert reach[:, 0].tolist() == (1 - reach[:, 1]).tolist()
    assert np.all(np.diff(reach[:, 0]) >= -1e-7)


def test_what_is_no_number_stays_none():
    assert np.isnan(routed([[1.0]], [[np.nan]])).all()


# ---------------------------------------------------------------------------------------------- gradient


@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (2, 3), (4, 2), (6, 2)])
def test_the_loss_is_the_mean_log_loss_of_the_tree(depth, n_classes, small_blocks):
    weights, leaves, x, codes = problem(depth, n_classes, 11)
    loss, _ = loss_and_gradient(*single(weights, leaves, x), codes)
    assert loss == pytest.approx(naive_loss(weights, leaves, x, codes), rel=1e-6)


@pytest.mark.parametrize(("depth", "n_classes", "n_rows"), [(1, 2, 3), (2, 3, 11), (3, 4, 9), (4, 2, 6), (6, 2, 5)])
def test_the_gradient_is_the_quotient_of_small_differences(depth, n_classes, n_rows, small_blocks):
    weights, leaves, x, codes = problem(depth, n_classes, n_rows)
    _, gradient = loss_and_gradient(*single(weights, leaves, x), codes)
    step = 1e-5  # central differences in double precision then err by about 1e-10
    for entry in np.ndindex(weights.shape):
        below, above = weights.copy(), weights.copy()
        below[entry] -= step
        above[entry] += step
        slope = (naive_loss(above, leaves, x, codes) - naive_loss(below, leaves, x, codes)) / (2 * step)
        assert gradient[entry] == pytest.approx(slope, abs=1e-6)


def test_one_split_by_hand():
    """A row with d = 3/4 of class 1, whose share is 0.2 on the left and 0.6 on the right.

    P = 3/4 * 0.2 + 1/4 * 0.6 = 0.3, and the loss falls in the router's value by (0.2 - 0.6) * 3/4 * 1/4 / 0.3 = -0.25
    for each unit: the row should go right.
    """
    weights, leaves, x = single([[LOG_3, 0.0]], [[0.8, 0.4], [0.2, 0.6]], [[1.0, 1.0]])
    assert routed(weights, x)[0] == pytest.approx([0.75, 0.25])
    derivatives = router_values(weights, x)
    assert soft_gradient(derivatives, leaves, np.array([1])) == pytest.approx([0.3])
    assert derivatives[0, 1] == pytest.approx(0.25)
    loss, gradient = loss_and_gradient(weights, leaves, x, np.array([1]))
    assert loss == pytest.approx(-np.log(0.3))
    assert gradient == pytest.approx(np.array([[0.25, 0.25]]))


def test_a_row_that_the_tree_holds_impossible_gives_a_finite_gradient():
    weights, _, x, codes = problem(2, 2, 5)
    leaves = np.stack([np.zeros(4), np.ones(4)])
    loss, gradient = loss_and_gradient(*single(weights, leaves, 100 * x), codes)
    assert (codes == 0).any()
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


# ---------------------------------------------------------------------------------------------- leaves


@pytest.mark.parametrize(("depth", "n_classes", "n_updates"), [(1, 2, 1), (2, 3, 2), (3, 2, 5), (6, 2, 2)])
def test_the_leaves_are_those_of_equation_11(depth, n_classes, n_updates, small_blocks, no_early_stop):
    weights, _, x, codes = problem(depth, n_classes, 13)
    expected = np.full((n_classes, 2**depth), 1 / n_classes)
    for _ in range(n_updates):
        expected = naive_update(weights, expected, x, codes)
    assert leaves_for(weights, x, codes, n_updates) == pytest.approx(expected, rel=1e-4)


def test_two_updates_by_hand(no_early_stop):
    """Two rows that go left with probability 3/4 and 1/4, the first of class 0, the second of class 1.

    From uniform leaves, P = 1/2 and the left leaf's shares are 3/4 and 1/4. Then P = 3/4 * 3/4 + 1/4 * 1/4 = 5/8 for
    both rows, and the left leaf's shares are 9/16 / (5/8) = 0.9 and 1/16 / (5/8) = 0.1.
    """
    rows = np.array([[LOG_3]]), np.array([[1.0], [-1.0]]), np.array([0, 1])
    assert leaves_for(*rows, 1) == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert leaves_for(*rows, 2) == pytest.approx(np.array([[0.9, 0.1], [0.1, 0.9]]))


def test_hard_routes_make_the_leaves_class_frequencies_which_stay():
    x = np.array([[1.0], [1], [-1], [-1], [1], [-1]])  # 1 goes left
    codes = np.array([0, 0, 0, 1, 1, 1])
    frequencies = np.array([[2, 1], [1, 2]]) / 3
    for n_updates in (1, 2, 20):
        assert leaves_for([[1000.0]], x, codes, n_updates) == pytest.approx(frequencies)


def test_a_leaf_that_no_row_reaches_stays_uniform():
    leaves = leaves_for([[1000.0]], np.ones((3, 1)), np.array([0, 0, 1]), 3)
    assert leaves == pytest.approx(np.array([[2 / 3, 0.5], [1 / 3, 0.5]]))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(depth=integers(1, 6), n_classes=integers(2, 4), n_rows=integers(5, 40), seed=integers(0, 2**32 - 1))
def test_updates_never_raise_the_loss_and_keep_distributions(depth, n_classes, n_rows, seed):
    weights, _, x, codes = problem(depth, n_classes, n_rows, seed)
    losses = []
    for n_updates in range(1, 8):
        leaves = leaves_for(weights, x, codes, n_updates, n_classes)
        assert np.all(leaves >= 0)
        assert leaves.sum(axis=0) == pytest.approx(1)
        losses.append(loss_and_gradient(*single(weights, leaves, x), codes)[0])
    assert np.all(np.diff(losses) <= 1e-6)


def test_updates_end_where_one_gains_too_little(monkeypatch):
    weights, _, x, codes = problem(3, 2, 20)
    monkeypatch.setattr(sndf, "_LEAST_GAIN", 10)  # no update gains this; the first is made without asking
    once = leaves_for(weights, x, codes, 20)
    monkeypatch.setattr(sndf, "_LEAST_GAIN", -np.inf)
    assert np.array_equal(once, leaves_for(weights, x, codes, 1))
    assert not np.array_equal(once, leaves_for(weights, x, codes, 2))


@pytest.mark.parametrize("n_kept", [0, 256])
def test_what_is_not_kept_between_updates_is_computed_again(n_kept):
    weights, _, x, codes = problem(3, 3, 700)
    assert np.array_equal(leaves_for(weights, x, codes, 5, room=8 * n_kept), leaves_for(weights, x, codes, 5))


def test_the_order_of_the_rows_does_not_matter_to_the_shares():
    """Classes that alternate, and more rows of one class than are added up in single precision."""
    weights, leaves, x, codes = problem(5, 2, 1000)
    leaves, reach = single(leaves)[0], routed(weights, x)
    mixed = np.random.default_rng(0).permutation(len(x))
    found = {}
    for name, order in (("sorted", np.arange(len(x))), ("mixed", mixed)):
        shares = np.zeros(leaves.shape)
        probability = soft_shares(reach[order], leaves, codes[order], shares)
        found[name] = shares, probability[np.argsort(order)]
    expected = (reach @ leaves.T.astype(np.float64))[np.arange(len(x)), codes]
    assert found["sorted"][1] == pytest.approx(expected, rel=1e-5)
    assert np.array_equal(found["sorted"][1], found["mixed"][1])
    sums = np.stack([(reach / expected[:, np.newaxis])[codes == code].sum(axis=0) for code in (0, 1)])
    assert found["sorted"][0] == pytest.approx(sums, rel=1e-5)
    assert found["mixed"][0] == pytest.approx(sums, rel=1e-5)


@pytest.mark.parametrize("codes", [[0, 2], [-1, 0], [0]])
def test_classes_that_the_leaves_lack_are_refused(codes):
    reach, leaves = np.ones((2, 4), np.float32), np.ones((2, 4), np.float32)
    codes = np.array(codes)
    with pytest.raises(ValueError, match="do not fit"):
        soft_shares(reach, leaves, codes, np.zeros((2, 4)))
    with pytest.raises(ValueError, match="do not fit"):
        soft_gradient(reach, leaves, codes)


def test_arrays_of_other_widths_are_refused():
    reach, leaves, codes = np.ones((2, 4), np.float32), np.ones((2, 8), np.float32), np.array([0, 1])
    with pytest.raises(ValueError, match="do not fit"):
        soft_reach(reach, np.ones((2, 8), np.float32))
    with pytest.raises(ValueError, match="do not fit"):
        soft_gradient(reach, leaves, codes)
    with pytest.raises(ValueError, match="do not fit"):
        soft_shares(reach, reach, codes, np.zeros((2, 8)))


# ---------------------------------------------------------------------------------------------- descent


def test_adam_is_the_published_algorithm():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=4)
    expected, m, v = weights.copy(), 0, 0
    adam = Adam(weights, 0.1)
    for t in range(1, 6):
        gradient = rng.normal(size=4)
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        expected -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        adam.step(gradient)
        assert weights == pytest.approx(expected, rel=1e-12)


@pytest.fixture
def batches(monkeypatch):
    """First feature and class codes of every batch that a tree is trained on."""
    record = []
    compute = sndf.loss_and_gradient

    def spy(weights, leaves, x, codes):
        record.append((x[:, 0].copy(), codes))
        return compute(weights, leaves, x, codes)

    monkeypatch.setattr(sndf, "loss_and_gradient", spy)
    return record


@pytest.mark.parametrize(("n_rows", "sizes"), [(20, [10, 10]), (25, [9, 8, 8])])
def test_an_epoch_takes_each_row_once_in_batches_of_equal_size(n_rows, sizes, batches):
    X = np.arange(float(n_rows))[:, np.newaxis]
    y = np.arange(n_rows) % 3
    SNDFClassifier(1, max_depth=1, max_iter=4, batch_size=10, random_state=0).fit(X, y)
    assert [len(codes) for _, codes in batches] == sizes * 4
    epochs = [batches[start : start + len(sizes)] for start in range(0, len(batches), len(sizes))]
    for epoch in epochs:
        rows = np.concatenate([values * X.std() + X.mean() for values, _ in epoch])
        codes = np.concatenate([codes for _, codes in epoch])
        order = np.argsort(rows)
        assert rows[order] == pytest.approx(X[:, 0], abs=1e-4)
        assert np.array_equal(codes[order], y)
    assert len({epoch[0][0].tobytes() for epoch in epochs}) == 4


def test_another_seed_makes_other_batches(batches):
    X = np.arange(20.0)[:, np.newaxis]
    for seed in (0, 1):
        SNDFClassifier(1, max_depth=1, max_iter=1, batch_size=10, random_state=seed).fit(X, X[:, 0] > 9)
    assert not np.array_equal(batches[0][0], batches[2][0])


def test_fewer_rows_than_a_batch_are_one_batch(batches):
    X = np.arange(7.0)[:, np.newaxis]
    SNDFClassifier(1, max_depth=1, max_iter=2, random_state=0).fit(X, X[:, 0] > 2)
    assert [len(codes) for _, codes in batches] == [7, 7]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)


def test_the_loss_curve_is_the_mean_log_loss_of_the_trees(wine):
    """Without steps the forest of the batches is that of the end, so that it can be asked again."""
    X, _, y, _ = wine
    model = SNDFClassifier(3, max_depth=3, max_iter=2, batch_size=50, learning_rate=1e-30, random_state=0).fit(X, y)
    rows = np.column_stack([model.preprocessing_.transform(X.astype(np.float32)), np.ones(len(X))])
    trees = zip(model.weights_, model.leaves_, model.features_, strict=True)
    expected = np.mean([naive_loss(w, pi, rows[:, [*seen, X.shape[1]]], y) for w, pi, seen in trees])
    assert model.loss_curve_ == pytest.approx([expected] * 2, rel=1e-5)
    assert model.n_iter_ == 2


def test_the_loss_falls(wine):
    X, _, y, _ = wine
    curve = SNDFClassifier(5, max_depth=4, max_iter=30, random_state=0).fit(X, y).loss_curve_
    assert np.all(np.diff(curve) < 0)
    assert curve[-1] < curve[0] / 3


# ---------------------------------------------------------------------------------------------- forest


def test_the_forest_is_the_mean_of_its_trees(wine):
    """Eq. 3, row by row, with the trees as attributes describe them."""
    X, X_test, y, _ = wine
    model = SNDFClassifier(3, max_depth=3, max_iter=3, random_state=0).fit(X, y)
    rows = np.column_stack([model.preprocessing_.transform(X_test.astype(np.float32)), np.ones(len(X_test))])
    for row, found in zip(rows, model.predict_proba(X_test), strict=True):
        trees = zip(model.weights_, model.leaves_, model.features_, strict=True)
        expected = np.mean([naive_probability(w, pi, row[[*seen, X.shape[1]]]) for w, pi, seen in trees], axis=0)
        assert found == pytest.approx(expected, rel=1e-4)


def test_the_leaves_suit_the_routers_that_they_are_used_with(wine):
    X, _, y, _ = wine
    model = SNDFClassifier(1, max_depth=3, max_iter=5, feature_fraction=1.0, random_state=0).fit(X, y)
    order = np.argsort(y, kind="stable")
    rows = np.column_stack([model.preprocessing_.transform(X.astype(np.float32))[order], np.ones(len(X))])
    assert model.leaves_[0] == pytest.approx(leaves_for(model.weights_[0], rows, y[order], 20), abs=1e-5)


@pytest.mark.parametrize(("fraction", "n_seen"), [(0.5, 6), (1.0, 13), (0.01, 1)])
def test_each_tree_sees_its_own_share_of_the_features(fraction, n_seen, wine):
    X, _, y, _ = wine
    model = SNDFClassifier(20, max_depth=1, max_iter=1, feature_fraction=fraction, random_state=0).fit(X, y)
    assert model.features_.shape == (20, n_seen)
    assert all(len(set(features)) == n_seen for features in model.features_)
    assert (len({tuple(features) for features in model.features_}) == 1) == (fraction == 1)
    # With 6 of 13 a tree, one or another feature is missed by all 20 trees with probability 13 * (7 / 13)^20 = 5e-5.
    assert n_seen == 1 or set(model.features_.ravel()) == set(range(13))


def test_a_tree_ignores_the_features_that_it_does_not_see(wine):
    X, X_test, y, _ = wine
    model = SNDFClassifier(1, max_depth=3, max_iter=3, random_state=0).fit(X, y)
    unseen = np.setdiff1d(np.arange(13), model.features_[0])
    changed = X_test.copy()
    changed[:, unseen] = 0
    assert np.array_equal(model.predict_proba(changed), model.predict_proba(X_test))
    changed[:, model.features_[0][0]] = 0
    assert not np.array_equal(model.predict_proba(changed), model.predict_proba(X_test))


def fitted_bytes(X, y, seed=0, **params):
    model = SNDFClassifier(**{"n_estimators": 5, "max_depth": 3, "max_iter": 3, "batch_size": 50, **params})
    model.set_params(random_state=seed).fit(X, y)
    fitted = (model.weights_, model.leaves_, model.features_, model.loss_curve_, model.predict_proba(X))
    return tuple(array.tobytes() for array in fitted)


def test_the_same_seed_gives_the_same_bytes(wine):
    X, _, y, _ = wine
    assert fitted_bytes(X, y) == fitted_bytes(X, y)


def test_another_seed_makes_other_trees(wine):
    """All rows in one batch, so that nothing else is drawn."""
    X, _, y, _ = wine
    seeds = (fitted_bytes(X, y, seed=seed, batch_size=1000) for seed in (0, 1))
    assert all(a != b for a, b in zip(*seeds, strict=True))


def test_a_global_seed_has_no_part(wine):
    X, _, y, _ = wine
    expected = fitted_bytes(X, y)
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    assert fitted_bytes(X, y) == expected
    np.random.set_state(state)  # noqa: NPY002


def test_a_tree_does_not_depend_on_how_many_there_are(wine):
    X, _, y, _ = wine
    few, many = (SNDFClassifier(n, max_depth=3, max_iter=3, random_state=0).fit(X, y) for n in (2, 5))
    assert np.array_equal(few.weights_, many.weights_[:2])
    assert np.array_equal(few.leaves_, many.leaves_[:2])


def test_the_bound_on_memory_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = (X.sum(axis=1) + rng.normal(size=700)) > 0
    before = fitted_bytes(X, y)
    monkeypatch.setattr(sndf, "_KEPT_BYTES", 300 * 8 * 4)  # 300 rows of eight leaves: one block
    assert fitted_bytes(X, y) == before


def peak_megabytes(function, *args):
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_in_the_rows(monkeypatch):
    """The reach of a tree's leaves for all rows is 20 MB; the rows are 0.16 MB, a block's arrays are 0.26 MB each."""
    X = np.random.default_rng(0).normal(size=(20_000, 2)).astype(np.float32)
    y = X[:, 0] > 0
    model = SNDFClassifier(1, max_depth=8, max_iter=1, random_state=0)
    assert 20 < peak_megabytes(model.fit, X, y) < 24
    monkeypatch.setattr(sndf, "_KEPT_BYTES", 10**6)
    assert peak_megabytes(model.fit, X, y) < 4
    assert peak_megabytes(model.predict_proba, X) < 3


# ---------------------------------------------------------------------------------------------- accuracy


def test_trees_of_depth_two_solve_what_no_single_split_can():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    train, test = np.s_[:400], np.s_[400:]
    params = {"feature_fraction": 1.0, "max_iter": 200, "learning_rate": 0.1, "random_state": 0}
    deep = SNDFClassifier(10, max_depth=2, **params).fit(X[train], y[train])
    shallow = SNDFClassifier(1, max_depth=1, **params).fit(X[train], y[train])
    assert deep.score(X[test], y[test]) > 0.95
    assert shallow.score(X[test], y[test]) < 0.8


def test_it_is_at_least_as_good_as_a_linear_model_on_wine_and_digits(wine):
    """Within three rows of wine's 54; on digits, whose classes are not linear, better."""
    digits = train_test_split(
        *load_digits(return_X_y=True), test_size=0.3, stratify=load_digits().target, random_state=0
    )
    for data, slack in ((wine, 3 / 54), (digits, 0)):
        X, X_test, y, y_test = data
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
        forest = SNDFClassifier(15, max_depth=6, max_iter=60, random_state=0).fit(X, y)
        assert forest.score(X_test, y_test) >= linear.score(X_test, y_test) - slack


# ---------------------------------------------------------------------------------------------- inputs

QUICK = {"n_estimators": 3, "max_depth": 3, "max_iter": 3, "random_state": 0}


@pytest.mark.parametrize("labels", [[0, 3, 7], ["red", "green", "blue"]])
def test_any_labels_work(labels, wine):
    """Coded in another order, they make another forest; so they are compared with labels of their own order."""
    X, _, y, _ = wine
    labels = np.sort(labels)
    model = SNDFClassifier(**QUICK).fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    assert np.array_equal(model.predict(X), labels[SNDFClassifier(**QUICK).fit(X, y).predict(X)])


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match=r"SNDFClassifier needs .* y holds 1 class"):
        SNDFClassifier(**QUICK).fit(np.eye(3), np.ones(3))


def test_a_missing_value_counts_as_the_median_of_the_training_rows(wine):
    X, _, y, _ = wine
    holes = X.copy()
    holes[::7, 2] = np.nan
    filled = holes.copy()
    filled[::7, 2] = np.median(np.delete(X[:, 2], np.s_[::7]))
    assert fitted_bytes(holes, y) == fitted_bytes(filled, y)


def test_units_of_the_features_do_not_matter(wine):
    X, _, y, _ = wine
    units = 2.0 ** np.arange(-6, 7)  # powers of two, so that nothing is rounded
    ours, theirs = (SNDFClassifier(**QUICK).fit(data, y).predict_proba(data) for data in (X, X * units))
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_a_constant_column_is_harmless(wine):
    X, _, y, _ = wine
    model = SNDFClassifier(**QUICK | {"feature_fraction": 1.0}).fit(np.column_stack([X, np.full(len(X), 5)]), y)
    assert np.isfinite(model.weights_).all()
    assert model.score(np.column_stack([X, np.full(len(X), 5)]), y) > 0.8


def test_columns_that_are_all_constant_give_the_class_frequencies():
    y = np.array([0, 0, 0, 1])
    model = SNDFClassifier(**QUICK | {"max_iter": 50}).fit(np.ones((4, 2)), y)
    assert model.predict_proba(np.ones((1, 2)))[0] == pytest.approx([0.75, 0.25], abs=0.01)


def test_one_feature_is_enough():
    X = np.linspace(-1, 1, 60)[:, np.newaxis]
    y = np.abs(X[:, 0]) > 0.5
    model = SNDFClassifier(10, max_depth=3, max_iter=200, learning_rate=0.1, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


def test_a_single_row_of_each_class_is_learnt():
    X = np.eye(4)
    model = SNDFClassifier(10, max_depth=3, max_iter=100, random_state=0).fit(X, list("abcd"))
    assert model.predict(X).tolist() == list("abcd")


def test_rows_far_from_the_training_rows_have_probabilities(wine):
    X, _, y, _ = wine
    probabilities = SNDFClassifier(**QUICK).fit(X, y).predict_proba(X * 1e20)
    assert probabilities.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0),
        ("max_depth", 0),
        ("max_depth", 21),
        ("max_iter", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("feature_fraction", 0.0),
        ("feature_fraction", 1.5),
        ("leaf_updates", 0),
        ("n_estimators", True),
        ("max_iter", 2.5),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", "fast"),
        ("feature_fraction", float("nan")),
        ("feature_fraction", True),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name_and_value(name, value):
    with pytest.raises(ValueError, match=rf"{name} is {value!r}; give a "):
        SNDFClassifier(**{name: value}).fit(np.eye(2), [0, 1])
