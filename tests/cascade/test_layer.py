"""What a layer sees, and what it hands on: against the naive twin, refitted estimators, and by hand."""

import dataclasses
import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cascadeforest import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    ExtraTreesClassifier,
    GCForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.layer import _FOLDS, _MODEL, LayerRules, check_member, fit_layer, grows_on_bins
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.seeds import seed_at

from . import naive

FORESTS = [RandomForestClassifier(4), CompletelyRandomForestClassifier(3), ExtraTreesClassifier(2, min_samples_leaf=2)]
REGRESSION_FORESTS = [RandomForestRegressor(4), CompletelyRandomForestRegressor(3)]


def rules_of(n_classes, **others):
    wanted = {"n_folds": 3, "class_vectors": "k_fold", "vector_dtype": "float32" if n_classes else "float64"}
    return LayerRules(
        classes=np.arange(n_classes) if n_classes else None,
        **{**wanted, "entropy": 7, "n_jobs": None, "progress": Progress(), **others},
    )


def data(n_rows=40, n_classes=3, seed=0):
    """Features with ties and missing values, and classes (or a target) that depend on them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(1)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.7, size=n_rows)
    X[rng.random(X.shape) < 0.03] = np.nan
    if not n_classes:
        return X, signal
    return X, np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)


def seen(X, added=None, rows=None, room=40, **others):
    """What a layer sees of X, and of added columns."""
    representation, _ = Representation.of_training_rows(X, room, **others)
    mapper = None
    if added is not None:
        mapper = representation.fit_added(added, np.arange(X.shape[0]) if rows is None else rows)
    return representation, mapper


def fit(members, X, y, rules, *, rows=None, weights=None, level=0, added=None, **others):
    """A layer on some rows of X; `y`, `weights` and `added` are those of these rows."""
    rows = np.arange(len(X), dtype=np.int32) if rows is None else np.asarray(rows, np.int32)
    representation, mapper = seen(X, added, rows, **others)
    return (*fit_layer(members, representation, rows, y, weights, rules, level, mapper), representation)


def same_bytes(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


# What a layer sees.


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_features_and_added_columns_are_binned_as_one_matrix(make):
    X, _ = data()
    added = np.random.default_rng(1).random((40, 4)).astype(np.float32)
    representation, _ = seen(make(X), added)
    wanted = BinMapper().fit_transform(np.hstack([X, added]))
    assert representation.n_features == 9
    assert same_bytes(representation.binned.columns, wanted.columns)
    assert same_bytes(representation.binned.centers, wanted.centers)


def test_what_all_layers_see_is_in_memory_once():
    X, _ = data()
    representation, _ = seen(X)
    before = representation.binned
    representation.fit_added(np.zeros((40, 3), np.float32), np.arange(40))
    after = representation.binned
    assert np.shares_memory(before.columns, after.columns)
    assert after.columns[:5].ctypes.data == before.columns.ctypes.data
    assert after.columns[5:].ctypes.data == before.columns.ctypes.data + before.columns.size  # right behind them
    assert not np.shares_memory(X, after.columns)


def test_a_layer_replaces_what_the_one_before_has_added():
    X, _ = data()
    representation, _ = seen(X, np.random.default_rng(0).random((40, 6)).astype(np.float32))
    added = np.random.default_rng(1).random((40, 2)).astype(np.float32)
    representation.fit_added(added, np.arange(40))
    wanted = BinMapper().fit_transform(np.hstack([X, added])).columns
    assert same_bytes(np.array(representation.binned.columns), wanted)
    representation.drop_added()
    assert same_bytes(np.array(representation.binned.columns), wanted[:5])


def test_columns_added_to_some_rows_have_the_bins_of_these():
    X, _ = data()
    rows = np.array([3, 4, 11, 39])
    added = np.array([[0.1, 7], [0.2, 7], [0.2, 8], [0.9, -1]], np.float32)
    representation, mapper = seen(X, added, rows)
    assert representation.binned.columns[5:, rows].tolist() == [[0, 1, 1, 2], [1, 1, 2, 0]]
    assert np.asarray(representation.binned.centers)[5, :4] == pytest.approx([0.1, 0.2, 0.9, np.inf])
    later = Representation.of_new_rows(X[:6], 2, seen(X)[0] and BinMapper().fit(X))
    later.add(np.array([[0.16, 7.4]], np.float32), np.array([5]), mapper)
    assert later.binned.columns[5:, 5].tolist() == [1, 1]
    assert later.binned.columns[:5].tolist() == representation.binned.columns[:5, :6].tolist()


def test_columns_without_room_are_an_error():
    X, _ = data()
    representation, _ = seen(X, room=2)
    for rows in (np.arange(40), np.arange(7)):
        with pytest.raises(ValueError):  # noqa: PT011 - from wherever the bins are written
            representation.fit_added(np.random.default_rng(0).random((len(rows), 3)), rows)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_estimators_that_are_not_ours_see_numbers(make):
    X = np.arange(12.0).reshape(4, 3)
    added = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], np.float32)
    rows = np.array([0, 2, 3])
    representation, _ = seen(make(X), keep_values=True)
    asked = np.array([3, 0])

    def dense(values):
        return values.toarray() if scipy.sparse.issparse(values) else values

    assert dense(representation.values(asked)).tolist() == X[asked].tolist()
    representation.fit_added(added, rows)
    got = representation.values(asked)
    assert scipy.sparse.issparse(got) == scipy.sparse.issparse(make(X))
    assert dense(got).tolist() == [[9, 10, 11, 1.0, 0.0], [0, 1, 2, 0.25, 0.75]]
    representation.drop_added()
    assert dense(representation.values(asked)).tolist() == X[asked].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_estimators_that_are_not_ours_see_the_type_of_x(dtype):
    X = np.ones((4, 2), dtype)
    representation, _ = seen(X, np.ones((4, 1), np.float32), keep_values=True)
    assert representation.values(np.arange(4)).dtype == dtype


# Vectors, against the naive twin.

KINDS = [
    {"n_classes": 3},
    {"n_classes": 2, "class_vectors": "k_fold_refit"},
    {"n_classes": 3, "class_vectors": "oob"},
    {"n_classes": 0},
    {"n_classes": 0, "class_vectors": "k_fold_refit"},
    {"n_classes": 0, "class_vectors": "oob"},
    {"n_classes": 3, "n_folds": 5, "vector_dtype": "float16"},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))


def twin_of(kind, X, y, *, added=None, weights=None, level=0):
    members = FORESTS if kind["n_classes"] else REGRESSION_FORESTS
    others = {name: value for name, value in kind.items() if name in ("class_vectors", "n_folds")}
    others["dtype"] = rules_of(**kind).vector_dtype
    binned = BinMapper().fit_transform(X)
    mapper = BinMapper()
    if added is not None:
        binned = naive.add_columns(binned, added, mapper, fit=True)
    return (*naive.fit_layer(members, binned, y, kind["n_classes"], 7, level, weights=weights, **others), mapper)


@every_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_a_layer_is_its_naive_twin(kind, weighted):
    X, y = data(n_classes=kind["n_classes"])
    members = FORESTS if kind["n_classes"] else REGRESSION_FORESTS
    weights = np.random.default_rng(2).uniform(0.5, 3, 40) if weighted else None
    added = np.random.default_rng(1).random((40, 4)).astype(np.float32)
    twin, wanted, mapper = twin_of(kind, X, y, added=added, weights=weights, level=2)
    layer, vectors, _ = fit(members, X, y, rules_of(**kind), weights=weights, added=added, level=2)
    np.testing.assert_allclose(vectors, wanted, rtol=1e-13)  # the mean target, for rows that all trees drew
    assert same_bytes(vectors, wanted) or kind.get("class_vectors") == "oob"
    # Rows to predict.
    new, new_added = data(30, kind["n_classes"], seed=5)[0], np.random.default_rng(3).random((30, 4)).astype(np.float32)
    bins = BinMapper().fit(X)
    representation = Representation.of_new_rows(new, 4, bins)
    representation.add(new_added, np.arange(30), layer.added_mapper)
    rows = np.array([2, 3, 17, 29], np.int32)
    binned = naive.add_columns(bins.transform(new), new_added, mapper)
    assert same_bytes(layer.transform(representation, rows), twin.vectors(binned)[rows])


@every_kind
def test_some_rows_are_a_matrix_of_these_rows(kind):
    """Confidence screening hands on row numbers. The rows that left must not be seen, nor decide a bin of a vector."""
    X, y = data(60, kind["n_classes"])
    rows = np.flatnonzero(np.random.default_rng(3).random(60) < 0.6)
    added = np.random.default_rng(1).random((len(rows), 4)).astype(np.float32)
    _, vectors, _ = fit(
        FORESTS if kind["n_classes"] else REGRESSION_FORESTS, X, y[rows], rules_of(**kind), rows=rows, added=added
    )
    binned = naive.of_rows(BinMapper().fit_transform(X), rows)
    binned = naive.add_columns(binned, added, BinMapper(), fit=True)
    members = FORESTS if kind["n_classes"] else REGRESSION_FORESTS
    others = {name: value for name, value in kind.items() if name in ("class_vectors", "n_folds")}
    others["dtype"] = rules_of(**kind).vector_dtype
    _, wanted = naive.fit_layer(members, binned, y[rows], kind["n_classes"], 7, 0, **others)
    np.testing.assert_allclose(vectors, wanted, rtol=1e-13)
    assert same_bytes(vectors, wanted) or kind.get("class_vectors") == "oob"


@pytest.mark.parametrize("how", ["k_fold", "oob"])
@pytest.mark.parametrize("foreign", [False, True])
def test_a_target_does_not_reach_its_own_vector(how, foreign):
    """In regression folds do not depend on targets, so that all that a new target changes is what others are told."""
    if foreign and how == "oob":
        return
    X, y = data(30, 0)
    X = np.nan_to_num(X)
    members = [LinearRegression()] if foreign else [RandomForestRegressor(10)]
    rules = rules_of(0, class_vectors=how)
    _, before, _ = fit(members, X, y, rules, keep_values=foreign)
    for row in np.argsort(y)[-5:]:  # targets are stored relative to the middle one, which stays the same
        changed = y.copy()
        changed[row] += 100.0
        _, after, _ = fit(members, X, changed, rules, keep_values=foreign)
        assert after[row] == before[row] if not foreign else after[row] == pytest.approx(before[row], rel=1e-12)
        assert (np.delete(after, row, axis=0) != np.delete(before, row, axis=0)).any()


def test_a_label_does_not_reach_its_own_vector():
    """Two rows swap their classes, where neither the folds nor their fold's training rows change by that."""
    X, y = data(24, 2)
    members, rules = [RandomForestClassifier(10)], rules_of(2)
    seed = seed_at(rules.entropy, 0, 0, _FOLDS)
    fold = stratified_folds(y, 3, seed)
    _, before, _ = fit(members, X, y, rules)
    n_pairs = 0
    for i, j in itertools.combinations(range(24), 2):
        swapped = y.copy()
        swapped[[i, j]] = y[[j, i]]
        if y[i] != y[j] and fold[i] == fold[j] and np.array_equal(stratified_folds(swapped, 3, seed), fold):
            _, after, _ = fit(members, X, swapped, rules)
            together = fold == fold[i]
            assert same_bytes(after[together], before[together])
            assert (after[~together] != before[~together]).any()
            n_pairs += 1
    assert n_pairs > 0


@pytest.mark.parametrize("n_classes", [3, 0])
def test_out_of_bag_rows_that_every_tree_drew_get_what_is_known_without_features(n_classes):
    X, y = data(30, n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, 30)
    members = [(RandomForestClassifier if n_classes else RandomForestRegressor)(1)]
    layer, vectors, representation = fit(
        members, X, y, rules_of(n_classes, class_vectors="oob", vector_dtype="float32"), weights=weights
    )
    model = layer.forests[0][0]
    binned = naive.BinnedMatrix(representation.binned.columns, representation.binned.centers)
    drawn = naive.grow(
        members[0], binned, y, n_classes, seed_at(7, 0, 0, _MODEL, naive._ALL_ROWS), weights, True
    ).in_bag_counts(0)
    known = weights @ np.eye(n_classes)[y] / weights.sum() if n_classes else [np.average(y, weights=weights)]
    assert 0 < np.count_nonzero(drawn) < 30
    for row in range(30):
        alone = model.predict(representation, np.array([row], np.int32), None)[0]
        assert vectors[row, 0] == pytest.approx(known if drawn[row] else alone, rel=1e-6)


def test_out_of_bag_forests_draw_rows_whatever_their_kind():
    X, y = data()
    members = [CompletelyRandomForestClassifier(5)]
    assert not members[0].bootstrap
    layer, vectors, _ = fit(members, X, y, rules_of(3, class_vectors="oob"))
    assert len(layer.forests[0]) == 1
    assert vectors[np.arange(40), 0, y].mean() < 0.99  # trees that learned from a row know its class


def test_a_layer_has_as_many_models_as_its_class_vectors_need():
    X, y = data()
    for how, n_models in (("k_fold", 4), ("k_fold_refit", 1), ("oob", 1)):
        layer, _, _ = fit(FORESTS, X, y, rules_of(3, class_vectors=how, n_folds=4))
        assert [len(models) for models in layer.forests] == [n_models] * 3
        assert layer.n_trees == (4 + 3 + 2) * n_models
        trees = [model.trees for models in layer.forests for model in models]
        assert layer.nbytes == sum(8 * len(t.nodes) + 4 * t.values.size for t in trees)


# Precision.


@pytest.mark.parametrize("n_classes", [3, 0])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_vectors_are_rounded_as_asked(n_classes, dtype):
    X, y = data(n_classes=n_classes)
    members = FORESTS if n_classes else REGRESSION_FORESTS
    precise = "float32" if n_classes else "float64"
    layer, exact, representation = fit(members, X, y, rules_of(n_classes, vector_dtype=precise))
    rough, rounded, _ = fit(members, X, y, rules_of(n_classes, vector_dtype=dtype))
    assert rounded.dtype == exact.dtype == (np.float32 if n_classes else np.float64)
    assert np.array_equal(rounded, exact.astype(dtype))
    rows = np.arange(40, dtype=np.int32)
    assert np.array_equal(rough.transform(representation, rows), layer.transform(representation, rows).astype(dtype))


def test_predictions_beyond_the_precision_are_an_error():
    X, y = data(n_classes=0)
    with pytest.raises(ValueError, match=r"^vector_dtype is 'float16', but predictions reach .*; choose 'float64'"):
        fit(REGRESSION_FORESTS, X, y + 1e5, rules_of(0, vector_dtype="float16"))


# Held-out vectors again, after the fit.


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("members", "n_classes", "dtype"),
    [
        (FORESTS, 3, "float32"),
        (FORESTS, 3, "float16"),
        (REGRESSION_FORESTS, 0, "float64"),
        ([RandomForestClassifier(3), LogisticRegression(solver="newton-cholesky")], 3, "float32"),
    ],
)
def test_held_out_vectors_are_found_again(members, n_classes, dtype, shared):
    X, y = data(n_classes=n_classes)
    X, rows = np.nan_to_num(X), np.delete(np.arange(40), [0, 7, 33])
    rules = rules_of(n_classes, vector_dtype=dtype, shared_folds=shared)
    layer, vectors, representation = fit(members, X, y[rows], rules, rows=rows, level=2, keep_values=True)
    again = pickle.loads(pickle.dumps(layer)).transform_held_out(representation, rows.astype(np.int32), y[rows])
    assert same_bytes(again, vectors)
    assert not np.array_equal(layer.transform(representation, rows.astype(np.int32)), vectors)
    folds = [layer.folds.of(y[rows], k).tolist() for k in range(len(members))]
    assert (folds[0] == folds[1]) == shared


@pytest.mark.parametrize("how", ["k_fold_refit", "oob"])
def test_held_out_vectors_whose_models_are_gone_are_refused(how):
    X, y = data()
    layer, _, representation = fit(FORESTS, X, y, rules_of(3, class_vectors=how))
    with pytest.raises(ValueError, match=r"are gone; choose class_vectors='k_fold'\.$"):
        layer.transform_held_out(representation, np.arange(40, dtype=np.int32), y)


# Few rows, few classes.


@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
@pytest.mark.parametrize("foreign", [False, True])
def test_a_class_of_one_row_is_unknown_where_it_is_held_out(how, foreign):
    if foreign and how == "oob":
        return
    X, y = np.nan_to_num(data()[0]), np.repeat([0, 2, 1], [20, 19, 1])
    members = [LogisticRegression(solver="newton-cholesky")] if foreign else [RandomForestClassifier(5)]
    layer, vectors, representation = fit(members, X, y, rules_of(4, class_vectors=how), keep_values=foreign)
    assert vectors.shape == (40, 1, 4)
    assert vectors[39, 0, 1] == 0.0
    assert vectors[:, 0].sum(axis=1) == pytest.approx(np.ones(40), abs=1e-6)
    assert not vectors[..., 3].any()  # of no row
    later = layer.transform(representation, np.arange(40, dtype=np.int32))
    assert later[39, 0, 1] > 0.0
    assert not later[..., 3].any()


@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
@pytest.mark.parametrize("member", [RandomForestClassifier(3), DecisionTreeClassifier(), SVC(kernel="linear")])
def test_one_class_is_certain(how, member):
    if not grows_on_bins(member):
        if how == "oob":
            return
        member = LogisticRegression() if isinstance(member, SVC) else member  # refuses a single class
    X, _ = data()
    layer, vectors, representation = fit(
        [member], X, np.ones(40, int), rules_of(2, class_vectors=how), keep_values=True
    )
    assert vectors.tolist() == [[[0.0, 1.0]]] * 40
    assert layer.transform(representation, np.arange(3, dtype=np.int32)).tolist() == [[[0.0, 1.0]]] * 3


@pytest.mark.parametrize("n_folds", [2, 3, 50])
def test_two_rows_are_two_folds(n_folds):
    """Each is told what the other one is, and new rows the mean."""
    X = np.array([[0.0], [1.0]])
    layer, vectors, representation = fit([RandomForestClassifier(3)], X, np.array([0, 1]), rules_of(2, n_folds=n_folds))
    assert vectors[:, 0].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert layer.transform(representation, np.array([0, 1], np.int32))[:, 0].tolist() == [[0.5, 0.5]] * 2
    layer, vectors, representation = fit([RandomForestRegressor(3)], X, np.array([4.0, 8.0]), rules_of(0))
    assert vectors.ravel().tolist() == [8.0, 4.0]
    assert layer.transform(representation, np.array([0, 1], np.int32)).ravel().tolist() == [6.0, 6.0]


def test_each_forest_and_level_draws_folds_and_trees_of_its_own():
    X, y = data()
    twins = [RandomForestClassifier(3), RandomForestClassifier(3)]
    vectors = [fit(twins, X, y, rules_of(3), level=level)[1][:, k] for level in (0, 1) for k in (0, 1)]
    vectors.append(fit(twins, X, y, rules_of(3, entropy=8))[1][:, 0])
    assert len({v.tobytes() for v in vectors}) == 5


@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
@pytest.mark.parametrize("n_classes", [3, 0])
def test_threads_change_no_byte(how, n_classes):
    X, y = data(700, n_classes)  # more than the 256 rows that a thread of a prediction has at least
    members = FORESTS if n_classes else REGRESSION_FORESTS
    rows = np.arange(700, dtype=np.int32)
    results = []
    for n_jobs in (1, 2):
        rules = rules_of(n_classes, class_vectors=how, n_jobs=n_jobs)
        layer, vectors, representation = fit(members, X, y, rules, n_jobs=n_jobs)
        results.append(vectors.tobytes() + layer.transform(representation, rows, n_jobs).tobytes())
    assert results[0] == results[1]


# Estimators that are not ours.


def fold_of(rules, y, *, level=0, k=0):
    strata = y if rules.n_classes else np.zeros(len(y), int)
    return stratified_folds(strata, rules.n_folds, seed_at(rules.entropy, level, k, _FOLDS))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit"])
@pytest.mark.parametrize("n_classes", [3, 0])
def test_foreign_vectors_are_those_of_refitted_estimators(n_classes, how, weighted):
    X, y = data(n_classes=n_classes)
    X = np.nan_to_num(X)
    added = np.random.default_rng(1).random((40, 4)).astype(np.float32)
    weights = np.random.default_rng(2).uniform(0.5, 3, 40) if weighted else None
    member = LogisticRegression(solver="newton-cholesky") if n_classes else LinearRegression()
    rules = rules_of(n_classes, class_vectors=how)
    layer, vectors, representation = fit([member], X, y, rules, added=added, weights=weights, keep_values=True)
    both, fold = np.hstack([X, added]), fold_of(rules, y)

    def told(learn, asked):
        refitted = clone(member).fit(both[learn], y[learn], None if weights is None else weights[learn])
        return refitted.predict_proba(both[asked]) if n_classes else refitted.predict(both[asked])[:, None]

    everyone = np.ones(40, bool)
    for i in range(3):
        assert vectors[fold == i, 0] == pytest.approx(told(fold != i, fold == i), rel=1e-6)
    wanted = told(everyone, everyone) if how == "k_fold_refit" else sum(told(fold != i, everyone) for i in range(3)) / 3
    assert layer.transform(representation, np.arange(40, dtype=np.int32))[:, 0] == pytest.approx(wanted, rel=1e-6)
    assert layer.n_trees == layer.nbytes == 0
    assert not hasattr(member, "coef_")  # what was given is not fitted


def test_labels_that_a_fold_lacks_leave_their_column_empty():
    X, y = np.nan_to_num(data()[0]), np.repeat([0, 3, 1], [20, 19, 1])
    rules = rules_of(4)
    _, vectors, _ = fit([GaussianNB(var_smoothing=0.1)], X, y, rules, keep_values=True)
    fold = fold_of(rules, y)
    held_out = fold == fold[39]
    refitted = GaussianNB(var_smoothing=0.1).fit(X[~held_out], y[~held_out])
    assert vectors[held_out, 0][:, [0, 3]] == pytest.approx(refitted.predict_proba(X[held_out]), rel=1e-6)
    assert not vectors[held_out, 0][:, [1, 2]].any()


def test_each_foreign_model_has_a_seed_of_its_own_also_inside_pipelines():
    X, y = np.nan_to_num(data()[0]), data()[1]
    tree = DecisionTreeClassifier(random_state=5)
    members = [tree, make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=np.random.RandomState(0)))]
    rules = rules_of(3)
    layer, _, _ = fit(members, X, y, rules, keep_values=True)
    seeds = [model.estimator.random_state for model in layer.forests[0]]
    seeds += [model.estimator[-1].random_state for model in layer.forests[1]]
    assert all(isinstance(seed, int) for seed in seeds)
    assert len(set(seeds)) == 6
    assert tree.random_state == 5
    again, _, _ = fit(members, X, y, rules, keep_values=True)
    assert [model.estimator.random_state for model in again.forests[0]] == seeds[:3]


class Remembering(DummyRegressor):
    """Returns the same array for the same number of rows, as estimators that cache do; `lock` makes it read-only."""

    def __init__(self, lock=False):
        super().__init__()
        self.lock = lock

    def predict(self, X):
        if not hasattr(self, "told_") or len(self.told_) != len(X):
            self.told_ = super().predict(X)
            self.told_.flags.writeable = not self.lock
        return self.told_


@pytest.mark.parametrize("lock", [False, True])
def test_what_an_estimator_returns_is_not_written_to(lock):
    X, y = np.nan_to_num(data()[0]), np.arange(40.0)
    layer, _, representation = fit([Remembering(lock)], X, y, rules_of(0), keep_values=True)
    rows = np.arange(40, dtype=np.int32)
    first, second = (layer.transform(representation, rows) for _ in range(2))
    assert first == pytest.approx(second)


def test_weights_need_an_estimator_that_takes_them():
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    fit([pipeline], X, y, rules_of(3), keep_values=True)
    with pytest.raises(ValueError, match=r"(?s)^estimators has Pipeline\(.*takes no sample_weight; leave it out"):
        fit([pipeline], X, y, rules_of(3), keep_values=True, weights=np.arange(40) + 1.0)


def test_forests_with_what_bins_do_not_carry_are_fitted_as_a_whole():
    """Class weights are of labels, out-of-bag scores of a whole forest: such forests fit themselves."""
    assert grows_on_bins(RandomForestClassifier(max_depth=3))
    assert grows_on_bins(RandomForestRegressor())
    for member in (
        RandomForestClassifier(class_weight="balanced"),
        RandomForestRegressor(oob_score=True),
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
    ):
        assert not grows_on_bins(member)
    X, y = data(60, 2)
    member = RandomForestClassifier(3, class_weight="balanced", max_depth=2)
    rules = rules_of(2)
    _, vectors, _ = fit([member], X, y, rules, keep_values=True)
    fold = fold_of(rules, y)
    for i in range(3):
        seed = int(seed_at(7, 0, 0, _MODEL, i).generate_state(1)[0])
        refitted = clone(member).set_params(random_state=seed).fit(X[fold != i], y[fold != i])
        assert vectors[fold == i, 0] == pytest.approx(refitted.predict_proba(X[fold == i]), rel=1e-6)


@pytest.mark.parametrize(
    ("member", "classification", "how", "message"),
    [
        (RandomForestClassifier, True, "k_fold", "give names of forests or unfitted"),
        (3, True, "k_fold", "give names of forests or unfitted"),
        (RandomForestRegressor(), True, "k_fold", "needs classifiers with predict_proba"),
        (SVC(), True, "k_fold", "needs classifiers with predict_proba"),
        (RandomForestClassifier(), False, "k_fold", "needs regressors"),
        (StandardScaler(), False, "k_fold", "needs regressors"),
        (DecisionTreeClassifier(), True, "oob", "choose class_vectors='k_fold'"),
        (RandomForestRegressor(oob_score=True), False, "oob", "choose class_vectors='k_fold'"),
    ],
)
def test_what_cannot_be_in_a_layer_is_refused(member, classification, how, message):
    with pytest.raises(ValueError, match=rf"estimators has .*{message}"):
        check_member(member, classification=classification, class_vectors=how)


def test_what_can_be_in_a_layer_is_accepted():
    for member, classification in (
        (RandomForestClassifier(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (RandomForestRegressor(), False),
        (TransformedTargetRegressor(LinearRegression()), False),
    ):
        check_member(member, classification=classification, class_vectors="k_fold")
    check_member(CompletelyRandomForestRegressor(), classification=False, class_vectors="oob")


def test_progress_hears_of_each_model():
    X, y = data()
    told = []
    for how, n_models in (("k_fold", 3 * 3), ("k_fold_refit", 3 * 4), ("oob", 3)):
        told.clear()
        progress = SimpleNamespace(advance=lambda: told.append(1))
        fit(FORESTS, X, y, dataclasses.replace(rules_of(3, class_vectors=how), progress=progress))
        assert len(told) == n_models


def test_a_subclass_of_a_forest_predicts_in_a_layer_as_it_does_alone():
    """Its `predict_proba` was once passed over without a word: the layer grew the forest of its base class."""

    class Sharp(RandomForestClassifier):
        def predict_proba(self, X):
            return np.eye(2)[super().predict_proba(X).argmax(axis=1)]

    class Same(RandomForestClassifier):
        walk = RandomForestClassifier.walk

    assert not grows_on_bins(Sharp())
    assert grows_on_bins(Same())
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    settings = {"n_forests": 1, "n_folds": 2, "max_layers": 1, "random_state": 0}
    predicted = GCForestClassifier(estimators=[Sharp(3, max_depth=2)], **settings).fit(X, y).predict_proba(X)
    assert set(np.unique(predicted)) <= {0.0, 0.5, 1.0}  # a mean of two models
