"""The seven public forests as scikit-learn estimators: its own checks, behaviour, errors, and interp Eq. 10."""

import pickle
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import stats
from sklearn import ensemble
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import cascadeforest
from cascadeforest._public import HOME

NAMES = [name for name, home in HOME.items() if home == "cascadeforest.forest.estimators"]
FORESTS = [getattr(cascadeforest, name) for name in sorted(NAMES)]
CLASSIFIERS = [forest for forest in FORESTS if is_classifier(forest())]
REGRESSORS = [forest for forest in FORESTS if not is_classifier(forest())]

every_forest = pytest.mark.parametrize("Forest", FORESTS)
every_classifier = pytest.mark.parametrize("Forest", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("Forest", REGRESSORS)


def data_for(Forest, n_rows=None):
    """Iris for classifiers, diabetes for regressors; some of their rows, spread over all of them."""
    X, y = load_iris(return_X_y=True) if Forest in CLASSIFIERS else load_diabetes(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[rows], y[rows]


def prediction(forest, X):
    return forest.predict_proba(X) if is_classifier(forest) else forest.predict(X)


def same_forest(one, other):
    """Whether two forests consist of the same bytes."""
    return all(
        a.tobytes() == b.tobytes()
        for a, b in (
            (one.trees_.nodes, other.trees_.nodes),
            (one.trees_.offsets, other.trees_.offsets),
            (one.trees_.values, other.trees_.values),
            (one.bin_mapper_.edges_, other.bin_mapper_.edges_),
            (one.mean_decrease_impurity_, other.mean_decrease_impurity_),
        )
    )


def n_leaves(forest):
    view = forest.trees_.all_nodes()
    return np.add.reduceat(view.is_leaf.astype(int), forest.trees_.offsets[:-1])


# The contract of scikit-learn.


def expected_failures(forest):
    failures = {}
    if forest.bootstrap:
        reason = "repeated rows are other rows to draw from; scikit-learn lists the same for its random forests"
        for kind in ("dense", "sparse"):
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = reason
    return failures


@parametrize_with_checks([Forest() for Forest in FORESTS], expected_failed_checks=expected_failures)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@every_forest
@pytest.mark.parametrize("bounds", [{}, {"max_leaf_nodes": 12}, {"min_samples_leaf": 3}])
def test_each_leaf_has_the_share_of_weight_that_is_asked_for(Forest, bounds):
    X, y = data_for(Forest, 120)
    X[::7, 0] = np.nan
    weight = np.random.default_rng(0).uniform(0.1, 3, 120)
    forest = Forest(5, min_weight_fraction_leaf=0.06, bootstrap=False, random_state=0, **bounds)
    forest.fit(X, y, sample_weight=weight)
    assert n_leaves(forest).sum() > 5  # one random cut that is refused ends a branch of a completely random tree
    for reached in forest.apply(X).T:
        held = np.bincount(reached, weight)
        assert held[held > 0].min() >= 0.06 * weight.sum() * (1 - 1e-6)


def test_there_are_seven_forests():
    assert len(CLASSIFIERS) == 4
    assert len(REGRESSORS) == 3


# Life of an estimator.


@every_forest
def test_a_clone_learns_the_same(Forest):
    X, y = data_for(Forest, 80)
    forest = Forest(5, random_state=3, max_depth=4).fit(X, y)
    twin = clone(forest)
    assert not hasattr(twin, "trees_")
    assert same_forest(twin.fit(X, y), forest)


@every_forest
def test_a_second_fit_forgets_the_first(Forest):
    X, y = data_for(Forest, 80)
    forest = Forest(5, bootstrap=True, oob_score=True, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few trees: rows in the bag of each
        forest.fit(pd.DataFrame(X).add_prefix("x"), y)
    forest.set_params(oob_score=False).fit(X[:40, :2], y[:40])
    fresh = Forest(5, bootstrap=True, random_state=3).fit(X[:40, :2], y[:40])
    assert same_forest(forest, fresh)
    assert vars(forest).keys() == vars(fresh).keys()
    assert len(forest.in_bag_counts(0)) == 40


@every_forest
def test_grid_search_takes_numpy_values(Forest):
    X, y = data_for(Forest, 60)
    grid = {"max_depth": np.array([1, 3]), "bootstrap": np.array([True, False]), "n_estimators": np.array([4])}
    search = GridSearchCV(Forest(random_state=0), grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["max_depth"] in (1, 3)
    assert search.predict(X).shape == y.shape


def test_criteria_may_be_numpy_strings():
    X, y = data_for(CLASSIFIERS[0], 60)
    Forest = cascadeforest.RandomForestClassifier
    forest = Forest(3, criterion=np.str_("log_loss"), max_features=np.str_("log2"), random_state=0).fit(X, y)
    assert same_forest(forest, Forest(3, criterion="entropy", max_features=2, random_state=0).fit(X, y))


@every_forest
def test_a_pickled_forest_predicts_the_same_bytes(Forest):
    X, y = data_for(Forest)
    forest = Forest(5, bootstrap=True, random_state=0).fit(X[:100], y[:100])
    twin = pickle.loads(pickle.dumps(forest))
    assert prediction(twin, X).tobytes() == prediction(forest, X).tobytes()
    assert twin.apply(X).tobytes() == forest.apply(X).tobytes()
    assert all(twin.in_bag_counts(tree).tobytes() == forest.in_bag_counts(tree).tobytes() for tree in range(5))


@every_forest
def test_equal_fits_are_equal_pickles(Forest):
    X, y = data_for(Forest, 80)
    one, other = (pickle.dumps(Forest(5, random_state=0).fit(X, y)) for _ in range(2))
    assert one == other


@every_forest
def test_a_pickle_holds_nothing_of_the_size_of_the_data(Forest):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 2)), rng.integers(0, 2, 40_000)
    forest = Forest(5, max_depth=2, bootstrap=True, random_state=0).fit(X, y)
    # 2 * 254 edges of 8 bytes, 5 * 7 nodes of 8 bytes, and what Python writes around it; a mask would be 5,000.
    assert len(pickle.dumps(forest)) < 8_500


@every_forest
def test_methods_of_an_unfitted_forest_say_so(Forest):
    X, _ = data_for(Forest, 5)
    for name in ("predict", "apply", "decision_path", "predict_proba", "predict_log_proba"):
        if hasattr(Forest, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(Forest(), name)(X)
    with pytest.raises(NotFittedError, match="not fitted"):
        Forest().in_bag_counts(0)
    assert not hasattr(Forest(), "feature_importances_")


@every_forest
def test_repr_shows_what_differs_from_the_defaults(Forest):
    assert repr(Forest()) == f"{Forest.__name__}()"
    assert repr(Forest(7, max_depth=3)) == f"{Forest.__name__}(max_depth=3, n_estimators=7)"
    assert Forest(max_samples=0.5).get_params()["max_samples"] == 0.5


@every_forest
def test_there_is_no_set_output_as_there_is_no_transform(Forest):
    assert not hasattr(Forest(), "set_output")
    assert not hasattr(ensemble.RandomForestClassifier(), "set_output")


# Inputs.


@every_forest
def test_names_of_columns_are_kept_and_compared(Forest):
    X, y = data_for(Forest, 60)
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(X.shape[1])])
    forest = Forest(3, random_state=0).fit(frame, y)
    assert list(forest.feature_names_in_) == list(frame.columns)
    assert same_forest(forest, Forest(3, random_state=0).fit(X, y))
    assert prediction(forest, frame).shape[0] == len(y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        forest.predict(X)
    for method in (forest.predict, forest.apply, forest.decision_path):
        with pytest.raises(ValueError, match="feature names should match"):
            method(frame.rename(columns={"feature 0": "other"}))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        Forest(3).fit(X, y).predict(frame)


@every_classifier
def test_labels_may_be_strings(Forest):
    X, y = data_for(Forest, 90)
    names = np.array(["setosa", "virginica", "a"], dtype=object)  # not in the order of the numbers
    forest = Forest(9, random_state=0).fit(X, names[y])
    assert list(forest.classes_) == ["a", "setosa", "virginica"]
    assert forest.n_classes_ == 3
    assert forest.score(X, names[y]) > 0.95
    assert set(forest.predict(X)) <= set(names)
    # Column by column the same forest, for a relabelled class is the same class.
    numbered = Forest(9, random_state=0).fit(X, np.array([1, 2, 0])[y])
    assert forest.predict_proba(X).tobytes() == numbered.predict_proba(X).tobytes()


@every_forest
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, object, bool])
def test_the_type_of_the_same_numbers_does_not_matter(Forest, dtype, order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 50, (60, 5))
    y = (X[:, 0] * 3 + X[:, 1] > X[:, 2] + 40 * (dtype is not bool)).astype(int)
    wanted = Forest(4, random_state=0).fit(X.astype(np.float64), y)
    forest = Forest(4, random_state=0).fit(np.asarray(X.astype(dtype), order=order), y)
    assert forest.trees_.nodes.tobytes() == wanted.trees_.nodes.tobytes()
    assert prediction(forest, X.astype(dtype)).tobytes() == prediction(wanted, X.astype(np.float64)).tobytes()


@every_forest
def test_single_precision_is_not_widened_first(Forest):
    """A float32 forest is that of the float32 values, also where float64 tells more of them apart."""
    X, y = data_for(Forest, 80)
    single = X.astype(np.float32)
    forest = Forest(4, random_state=0).fit(single, y)
    assert forest.bin_mapper_.edges_.dtype == np.float32
    twin = Forest(4, random_state=0).fit(single.astype(np.float64), y)
    assert prediction(forest, single).tobytes() == prediction(twin, single.astype(np.float64)).tobytes()


@every_forest
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
def test_sparse_is_dense(Forest, make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)).round(1) * (rng.random((80, 6)) < 0.4)
    X[0, 0] = np.nan
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] > 0).astype(int)
    dense = Forest(4, random_state=0).fit(X, y)
    sparse = Forest(4, random_state=0).fit(make(X), y)
    assert same_forest(sparse, dense)
    assert prediction(sparse, make(X)).tobytes() == prediction(dense, X).tobytes()
    assert sparse.apply(make(X)).tobytes() == dense.apply(X).tobytes()
    assert (sparse.decision_path(make(X))[0] != dense.decision_path(X)[0]).nnz == 0


@every_forest
def test_input_arrays_are_not_touched(Forest):
    X, y = data_for(Forest, 60)
    X[3, 1] = np.nan
    X_before, y_before, weight = X.copy(), y.copy(), np.ones(60)
    for array in (X, y, weight):
        array.flags.writeable = False  # as memory-mapped data are
    forest = Forest(3, random_state=0).fit(X, y, sample_weight=weight)
    prediction(forest, X)
    assert X.tobytes() == X_before.tobytes()
    assert y.tobytes() == y_before.tobytes()


@every_forest
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused(Forest, value):
    X, y = data_for(Forest, 20)
    forest = Forest(2, random_state=0).fit(X, y)
    X[3, 1] = value
    for call in (lambda: Forest(2).fit(X, y), lambda: forest.predict(X)):
        with pytest.raises(ValueError, match="infinity"):
            call()


@every_forest
@pytest.mark.parametrize("shape", [(20, 2), (20, 1, 1), (1, 20)])
def test_targets_of_a_wrong_shape_are_refused(Forest, shape):
    y = np.zeros(shape)
    if shape == (20, 2) and Forest in REGRESSORS:  # these take several targets
        y = np.zeros((19, 2))
    with pytest.raises(ValueError, match=r"y has 20? columns|y should be a 1d array|inconsistent numbers|y.*dim"):
        Forest(2).fit(np.arange(20.0)[:, None], y)


@every_forest
def test_a_column_of_targets_is_raveled_with_a_warning(Forest):
    X, y = data_for(Forest, 40)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        forest = Forest(2, random_state=0).fit(X, y[:, None])
    assert same_forest(forest, Forest(2, random_state=0).fit(X, y))


@every_classifier
def test_real_numbers_are_no_classes(Forest):
    with pytest.raises(ValueError, match="Unknown label type"):
        Forest(2).fit(np.arange(20.0)[:, None], np.linspace(0, 1, 20))


# Missing values.


@every_forest
def test_missingness_is_learned(Forest):
    """The target says where the only feature is missing."""
    X = np.random.default_rng(0).normal(size=(100, 1))
    X[::3] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    forest = Forest(60, random_state=0).fit(X, y)
    assert np.array_equal(np.round(forest.predict(X)), y)
    assert np.array_equal(np.round(forest.predict([[np.nan], [0.1], [99.0]])), [1, 0, 0])


@every_forest
def test_what_is_missing_only_later_goes_with_the_majority(Forest):
    """30 rows on the left of the only possible cut, 10 on the right: a NaN is one of the 30."""
    X = np.repeat([[0.0], [1.0]], [30, 10], axis=0)
    y = X[:, 0].astype(int)
    forest = Forest(15, bootstrap=False, random_state=0).fit(X, y)
    assert forest.predict([[np.nan], [0.0], [1.0]]).tolist() == [0, 0, 1]
    mirrored = Forest(15, bootstrap=False, random_state=0).fit(-X, y)
    assert mirrored.predict([[np.nan], [0.0], [-1.0]]).tolist() == [0, 0, 1]


@every_forest
def test_a_feature_that_is_always_missing_is_not_used(Forest):
    X, y = data_for(Forest, 60)
    forest = Forest(5, random_state=0).fit(np.column_stack([X, np.full(60, np.nan)]), y)
    assert forest.mean_decrease_impurity_[-1] == 0.0
    later = np.column_stack([X, np.arange(60.0)])
    assert np.isfinite(prediction(forest, later)).all()


@every_forest
def test_nothing_but_missing_values_is_a_forest_of_roots(Forest):
    y = np.repeat([0, 1], [30, 10])
    forest = Forest(5, bootstrap=False).fit(np.full((40, 2), np.nan), y)
    wanted = [[0.75, 0.25]] if Forest in CLASSIFIERS else [0.25]
    assert prediction(forest, [[1.0, np.nan]]).tolist() == wanted


# Weights.


@every_forest
@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_without_weight_are_removed_rows(Forest, bootstrap):
    X, y = data_for(Forest, 100)
    y = y.copy()
    weight = np.tile([1.0, 0.0, 1.0, 1.0, 0.0], 20)
    y[weight == 0] = y.max()
    X[weight == 0] += 1000.0
    forest = Forest(5, bootstrap=bootstrap, random_state=0).fit(X, y, sample_weight=weight)
    kept = weight > 0
    assert same_forest(forest, Forest(5, bootstrap=bootstrap, random_state=0).fit(X[kept], y[kept]))
    counts = [pickle.loads(pickle.dumps(forest)).in_bag_counts(tree) for tree in range(5)]
    assert all(count.shape == (100,) and not count[~kept].any() and count.sum() == 60 for count in counts)


def twice_the_same(Forest, X, y, weight, **parameters):
    """Forests of weighted rows and of rows repeated that often."""
    weighted = Forest(5, bootstrap=False, random_state=0, **parameters).fit(X, y, sample_weight=weight)
    repeated = Forest(5, bootstrap=False, random_state=0, **parameters).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    return weighted, repeated


@every_forest
def test_whole_weights_are_repeated_rows(Forest):
    """Targets are whole numbers, so that sums do not depend on the order of additions."""
    X, y = data_for(Forest, 100)
    weight = np.random.default_rng(1).integers(0, 5, 100)
    weighted, repeated = twice_the_same(Forest, X, y, weight)
    assert prediction(weighted, X).tobytes() == prediction(repeated, X).tobytes()
    np.testing.assert_allclose(
        weighted.mean_decrease_impurity_, repeated.mean_decrease_impurity_, rtol=1e-9, atol=1e-12
    )


@every_classifier
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 3, 1: 0.5}])
def test_whole_weights_are_repeated_rows_under_class_weights(Forest, class_weight):
    X, y = data_for(Forest, 100)
    weight = np.random.default_rng(1).integers(0, 5, 100)
    weighted, repeated = twice_the_same(Forest, X, y, weight, class_weight=class_weight, max_depth=2)
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-6)


@every_forest
def test_the_scale_of_weights_does_not_matter(Forest):
    X, y = data_for(Forest, 100)
    weight = np.random.default_rng(1).random(100)
    one, other = (Forest(5, random_state=0).fit(X, y, sample_weight=weight * scale) for scale in (1.0, 2.0**40))
    assert same_forest(one, other)


@every_classifier
def test_class_weights_are_sample_weights(Forest):
    X, y = data_for(Forest, 100)
    by_dict = Forest(5, class_weight={0: 2, 2: 5}, max_depth=2, random_state=0).fit(X, y)
    by_row = Forest(5, max_depth=2, random_state=0).fit(X, y, sample_weight=np.array([2, 1, 5])[y])
    assert same_forest(by_dict, by_row)


@every_classifier
@pytest.mark.parametrize("bootstrap", [False, True])
def test_balanced_classes_weigh_the_same(Forest, bootstrap):
    """A root without splits holds the classes' shares: 75 % and 25 %, or halves if balanced."""
    X, y = np.zeros((400, 1)), np.repeat(["a", "b"], [300, 100])
    parameters = {"n_estimators": 20, "bootstrap": bootstrap, "random_state": 0}
    plain = Forest(**parameters).fit(X, y).predict_proba(X[:1])
    balanced = Forest(class_weight="balanced", **parameters).fit(X, y).predict_proba(X[:1])
    each = Forest(class_weight="balanced_subsample", **parameters).fit(X, y).predict_proba(X[:1])
    assert plain == pytest.approx(np.array([[0.75, 0.25]]), abs=0.03 if bootstrap else 1e-7)
    assert balanced == pytest.approx(np.array([[0.5, 0.5]]), abs=0.03 if bootstrap else 1e-7)
    assert each == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-6)  # in every tree, whatever it drew
    if bootstrap:
        assert abs(balanced - 0.5).max() > 1e-4  # the bootstrap's own frequencies differ


@every_classifier
def test_balanced_counts_weighted_rows_by_weight(Forest):
    X, y = np.zeros((40, 1)), np.repeat([0, 1], [30, 10])
    weight = np.where(y == 1, 5.0, 1.0)
    forest = Forest(3, class_weight="balanced", bootstrap=False).fit(X, y, sample_weight=weight)
    assert forest.predict_proba(X[:1]) == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-7)


@every_classifier
def test_a_class_without_weight_stays_a_class(Forest):
    X, y = data_for(Forest, 90)
    forest = Forest(5, random_state=0).fit(X, y, sample_weight=(y != 1).astype(float))
    assert forest.classes_.tolist() == [0, 1, 2]
    assert not forest.predict_proba(X)[:, 1].any()


@every_forest
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\); X has 20 rows"),
        (np.ones((20, 1)), r"sample_weight has shape \(20, 1\)"),
        (np.full(20, np.nan), "sample_weight gives weights from nan to nan; give finite"),
        (np.full(20, np.inf), "sample_weight gives weights from inf to inf; give finite"),
        (np.arange(20.0) - 1.0, "sample_weight gives weights from -1.0 to 18.0; give finite, not negative"),
        (np.zeros(20), "sample_weight is zero for every row"),
    ],
)
def test_weights_that_are_none_are_refused(Forest, weight, message):
    X, y = data_for(Forest, 20)
    with pytest.raises(ValueError, match=message):
        Forest(2).fit(X, y, sample_weight=weight)


# Small data.


@every_forest
def test_a_constant_target_is_predicted(Forest):
    X, _ = data_for(Forest, 30)
    forest = Forest(5, random_state=0).fit(X, np.full(30, 7))
    assert forest.predict(X + 1.0).tolist() == [7] * 30
    assert len(forest.trees_.nodes) == 5  # roots only
    assert forest.feature_importances_.tolist() == [0.0] * X.shape[1]
    if is_classifier(forest):
        assert forest.predict_proba(X).tolist() == [[1.0]] * 30


@every_forest
def test_two_rows_are_told_apart(Forest):
    forest = Forest(9, bootstrap=False, random_state=0).fit([[0.0], [1.0]], [3, 5])
    assert forest.predict([[-4.0], [0.0], [1.0], [4.0]]).tolist() == [3, 3, 5, 5]


@every_forest
def test_one_row_is_a_root(Forest):
    forest = Forest(3).fit([[1.0, 2.0]], [4])
    assert forest.predict([[9.0, 9.0]]).tolist() == [4]


@every_forest
def test_one_feature_is_enough(Forest):
    X = np.linspace(0, 1, 300)[:, None]  # more values than bins
    y = (X[:, 0] > 0.62).astype(int)
    forest = Forest(30, random_state=0).fit(X, y)
    assert (np.round(forest.predict(X)) == y).mean() > 0.98
    assert forest.feature_importances_.tolist() == [1.0]


@every_regressor
@pytest.mark.parametrize("shift", [0.0, 1e8, -1e12])
def test_targets_far_from_zero_lose_nothing(Forest, shift):
    """Leaves are single precision, but relative to the middle of the targets."""
    X, y = data_for(Forest, 100)
    forest = Forest(10, random_state=0).fit(X, y)
    shifted = Forest(10, random_state=0).fit(X, y + shift)
    np.testing.assert_allclose(shifted.predict(X) - shift, forest.predict(X), atol=1e-5 + abs(shift) * 1e-15)


@every_regressor
@pytest.mark.parametrize("size", [2.0**power for power in (-1000, -560, -150, -66, 70, 126, 490)])
def test_the_size_of_targets_does_not_matter(Forest, size):
    """Beyond single precision predictions were infinite, below it one constant, without a word."""
    X, y = data_for(Forest, 60)
    y = (y - y.mean()) / np.ptp(y)
    for least in (0.0, 1e-3):
        if least and not 1e-150 < size < 1e150:
            continue  # the decrease itself is beyond float64
        plain = Forest(3, random_state=0, min_impurity_decrease=least).fit(X, y)
        scaled = Forest(3, random_state=0, min_impurity_decrease=least * size**2 if least else 0.0).fit(X, y * size)
        np.testing.assert_allclose(scaled.predict(X) / size, plain.predict(X), rtol=1e-5, atol=1e-7)
        assert len(np.unique(scaled.predict(X))) == len(np.unique(plain.predict(X))) > 3


@every_regressor
def test_targets_whose_variance_overflows_are_refused(Forest):
    with pytest.raises(ValueError, match="y runs from"):
        Forest(1).fit([[0.0], [1.0]], [-1.7e308, 1.7e308])


INTERRUPTED = """
import _thread, signal, sys, threading
import numpy as np
import cascadeforest
from cascadeforest._public import HOME
signal.signal(signal.SIGINT, signal.default_int_handler)  # under nohup it is ignored
X = np.random.default_rng(0).normal(size=(200, 4))
for name in sys.argv[1:]:
    Forest = getattr(cascadeforest, name)
    Forest(1).fit(X, X[:, 0] > 0)
    for wait in (0.2, 0.23, 0.26):
        threading.Timer(wait, _thread.interrupt_main).start()
        try:
            Forest(100_000).fit(X, X[:, 0] > 0)
        except KeyboardInterrupt:
            print(name)
"""


def test_an_interrupt_stays_an_interrupt():
    """Whenever it comes: an error in its place, which `except Exception` swallows, would lose it."""
    names = [Forest.__name__ for Forest in FORESTS]
    command = [sys.executable, "-c", INTERRUPTED, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [name for name in names for _ in range(3)], done.stderr


@pytest.mark.parametrize("Forest", [cascadeforest.EnrichedRandomForestClassifier])
def test_large_feature_weights_do_not_overflow(Forest):
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = X[:, 2] > 0
    forest = Forest(10, feature_weights=[1e308] * 4, random_state=0).fit(X, y)
    assert forest.feature_importances_.argmax() == 2


# Threads and seeds.


@every_forest
def test_threads_do_not_change_a_byte(Forest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 20))
    y = (X[:, 0] + rng.normal(size=700) > 0).astype(int)
    weight = rng.random(700)
    forests = [Forest(12, bootstrap=True, oob_score=True, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2, -1, None)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few trees: rows in the bag of each
        for forest in forests:
            forest.fit(X, y, sample_weight=weight)
    first = forests[0]
    for forest in forests[1:]:
        assert same_forest(forest, first)
        assert prediction(forest, X).tobytes() == prediction(first, X).tobytes()
        assert forest.apply(X).tobytes() == first.apply(X).tobytes()
        assert (forest.decision_path(X)[0] != first.decision_path(X)[0]).nnz == 0
        assert forest.oob_score_ == first.oob_score_


@every_forest
def test_seeds(Forest):
    X, y = data_for(Forest, 80)
    by_number = [Forest(5, random_state=seed).fit(X, y) for seed in (7, 7, 8)]
    assert same_forest(by_number[0], by_number[1])
    assert not same_forest(by_number[0], by_number[2])
    generator = np.random.RandomState(7)
    by_generator = [Forest(5, random_state=generator).fit(X, y) for _ in range(2)]
    assert same_forest(by_generator[0], by_number[0])
    assert not same_forest(by_generator[1], by_number[0])  # the generator has moved on
    # Without a seed: equal with probability 2**-31, if one draw of the shared generator is equal to the next.
    assert not same_forest(*(Forest(5).fit(X, y) for _ in range(2)))


@every_forest
def test_a_larger_forest_begins_with_the_smaller_one(Forest):
    """A tree's seed is its address, so that a run with more trees is comparable."""
    X, y = data_for(Forest, 60)
    small, large = (Forest(n, random_state=0).fit(X, y) for n in (4, 9))
    assert large.apply(X)[:, :4].tolist() == small.apply(X).tolist()


# Out-of-bag scores.


def leaf_means(forest, X, Y):
    """Mean of Y over each leaf's in-bag rows, by their counts, for the leaf that each row reaches: (n, trees, k)."""
    leaves = forest.apply(X)
    means = np.empty((*leaves.shape, Y.shape[1]))
    for tree in range(leaves.shape[1]):
        counts = forest.in_bag_counts(tree)
        for leaf in np.unique(leaves[:, tree]):
            inside = leaves[:, tree] == leaf
            means[inside, tree] = np.average(Y[inside], axis=0, weights=counts[inside])
    return means


def one_hot(y):
    return np.eye(y.max() + 1)[y]


@every_forest
@pytest.mark.parametrize("max_samples", [None, 0.4, 30])
def test_in_bag_counts_are_those_of_growth(Forest, max_samples):
    """The mean target of the rows that a tree is said to have seen is the value of its leaf."""
    X, y = data_for(Forest, 100)
    forest = Forest(8, bootstrap=True, max_samples=max_samples, random_state=0).fit(X, y)
    drawn = {None: 100, 0.4: 40, 30: 30}[max_samples]
    counts = [forest.in_bag_counts(tree) for tree in range(8)]
    assert {count.sum() for count in counts} == {drawn}
    Y = one_hot(y) if is_classifier(forest) else y[:, None]
    mean = leaf_means(forest, X, Y).mean(axis=1)
    np.testing.assert_allclose(prediction(forest, X).reshape(mean.shape), mean, rtol=1e-6, atol=1e-6)


@every_forest
def test_without_bootstrap_every_row_is_in_the_bag(Forest):
    X, y = data_for(Forest, 30)
    assert Forest(2, bootstrap=False).fit(X, y).in_bag_counts(1).tolist() == [1] * 30


@every_forest
@pytest.mark.parametrize("metric", [None, "other"])
def test_oob_score_is_that_of_trees_that_did_not_see_the_row(Forest, metric):
    X, y = data_for(Forest, 100)
    labels = np.array(["x", "a", "m"])[y] if Forest in CLASSIFIERS else y
    if metric is None:
        oob_score, metric = True, accuracy_score if Forest in CLASSIFIERS else r2_score
    else:
        oob_score = metric = balanced_accuracy_score if Forest in CLASSIFIERS else mean_absolute_error
    forest = Forest(50, bootstrap=True, oob_score=oob_score, random_state=0).fit(X, labels)
    code = np.unique(labels, return_inverse=True)[1] if is_classifier(forest) else None
    means = leaf_means(forest, X, one_hot(code) if is_classifier(forest) else y[:, None])
    out = np.array([forest.in_bag_counts(tree) == 0 for tree in range(50)]).T
    wanted = (means * out[:, :, None]).sum(axis=1) / out.sum(axis=1)[:, None]
    if is_classifier(forest):
        np.testing.assert_allclose(forest.oob_decision_function_, wanted, atol=1e-6)
        guess = forest.classes_[forest.oob_decision_function_.argmax(axis=1)]
    else:
        np.testing.assert_allclose(forest.oob_prediction_, wanted[:, 0], rtol=1e-6)
        guess = forest.oob_prediction_
    assert forest.oob_score_ == pytest.approx(metric(labels, guess), rel=1e-12)


@every_forest
def test_few_trees_leave_rows_without_an_oob_prediction(Forest):
    X, y = data_for(Forest, 60)
    forest = Forest(2, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match=r"\d+ of 60 rows were in the bag of every tree .* take more trees") as caught:
        forest.fit(X, y)
    assert caught[0].filename == __file__  # it points at the caller
    always = np.all([forest.in_bag_counts(tree) > 0 for tree in range(2)], axis=0)
    known = forest.oob_decision_function_[:, 0] if is_classifier(forest) else forest.oob_prediction_
    assert np.array_equal(np.isnan(known), always)
    assert np.isfinite(forest.oob_score_)


@every_forest
def test_oob_score_needs_a_bootstrap(Forest):
    X, y = data_for(Forest, 20)
    with pytest.raises(ValueError, match=r"oob_score is True while bootstrap is False.*set bootstrap=True"):
        Forest(2, bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match=r"max_samples is 0\.5 while bootstrap is False; set one"):
        Forest(2, bootstrap=False, max_samples=0.5).fit(X, y)


# Leaves and paths.


@every_forest
def test_paths_end_in_the_leaves_of_apply(Forest):
    X, y = data_for(Forest, 60)
    forest = Forest(4, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    indicator, pointer = forest.decision_path(X)
    assert leaves.dtype == np.int32
    assert indicator.shape == (60, pointer[-1])
    for tree in range(4):
        view = forest.trees_.tree(tree)
        path = indicator[:, pointer[tree] : pointer[tree + 1]].toarray().astype(bool)
        assert path[:, 0].all()
        assert np.array_equal((path & view.is_leaf).sum(axis=1), np.ones(60))
        assert np.array_equal((path & view.is_leaf).argmax(axis=1), leaves[:, tree])
        for node in np.flatnonzero(~view.is_leaf):  # whoever passes a split passes exactly one of its children
            children = path[:, view.children_left[node]].astype(int) + path[:, view.children_right[node]]
            assert np.array_equal(children, path[:, node])


@every_forest
def test_thresholds_lead_to_the_same_leaves(Forest):
    """The trees on bins are trees on numbers: x <= threshold goes left, whatever the bin."""
    X, y = data_for(Forest, 120)
    forest = Forest(4, random_state=0).fit(X[:60], y[:60])
    leaves = forest.apply(X)
    for tree in range(4):
        view = forest.trees_.tree(tree, forest.bin_mapper_)
        for row, leaf in zip(X, leaves[:, tree], strict=True):
            node = 0
            while not view.is_leaf[node]:
                left = row[view.feature[node]] <= view.threshold[node]
                node = view.children_left[node] if left else view.children_right[node]
            assert node == leaf


@every_classifier
def test_the_most_probable_class_is_predicted(Forest):
    X, y = data_for(Forest, 60)
    forest = Forest(7, max_depth=2, random_state=0).fit(X, y)
    probability = forest.predict_proba(X)
    assert probability.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-6)
    assert np.array_equal(forest.predict(X), forest.classes_[probability.argmax(axis=1)])
    assert np.array_equal(np.exp(forest.predict_log_proba(X)) > 0, probability > 0)


# Importances.


@every_forest
def test_importances_sum_to_one(Forest):
    X, y = data_for(Forest)
    forest = Forest(10, random_state=0).fit(X, y)
    assert forest.feature_importances_.sum() == pytest.approx(1.0, abs=1e-12)
    assert (forest.feature_importances_ >= 0).all()
    ratio = forest.mean_decrease_impurity_ / forest.mean_decrease_impurity_.sum()
    assert forest.feature_importances_ == pytest.approx(ratio, rel=1e-12)


def contributions(view, row, mean, n_features):
    """Feature contributions f_{T,k}(x) of one tree (interp Eq. 3), walking by thresholds: (n_features, n_outputs)."""
    total = np.zeros((n_features, mean.shape[1]))
    node = 0
    while not view.is_leaf[node]:
        feature = view.feature[node]
        left = view.missing_go_to_left[node] if np.isnan(row[feature]) else row[feature] <= view.threshold[node]
        child = view.children_left[node] if left else view.children_right[node]
        total[feature] += mean[child] - mean[node]
        node = child
    return total


@every_forest
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("rule", [{}, {"max_leaf_nodes": 6}, {"max_depth": 3, "min_samples_leaf": 2}])
def test_mean_decrease_impurity_is_equation_10(Forest, bootstrap, rule):
    """Eq. 10 of interp: MDI(k, T) is the mean of f_{T,k}(x_i) . y_i over the tree's rows; for a forest, Eq. 9."""
    X, y = data_for(Forest, 60)
    X[::7, 2] = np.nan
    forest = Forest(4, bootstrap=bootstrap, random_state=1, **rule).fit(X, y)
    Y = one_hot(y).astype(float) if is_classifier(forest) else y[:, None]
    indicator, pointer = forest.decision_path(X)
    wanted = np.zeros(X.shape[1])
    for tree in range(4):
        view = forest.trees_.tree(tree, forest.bin_mapper_)
        count = forest.in_bag_counts(tree)
        passes = indicator[:, pointer[tree] : pointer[tree + 1]].toarray() * count[:, None]
        mean = passes.T @ Y / passes.sum(axis=0)[:, None]  # mu(t)
        for row, target, times in zip(X, Y, count, strict=True):
            wanted += times * contributions(view, row, mean, X.shape[1]) @ target / count.sum() / 4
    assert wanted.max() > 0
    np.testing.assert_allclose(forest.mean_decrease_impurity_, wanted, rtol=1e-9, atol=1e-9 * wanted.max())


@every_forest
def test_mean_decrease_impurity_is_that_of_scikit_learn_for_a_stump(Forest):
    """One feature with two values, so that there is one tree only."""
    X = np.repeat([[0.0], [1.0]], [13, 7], axis=0)
    y = np.random.default_rng(0).integers(0, 3, 20)
    forest = Forest(2, bootstrap=False).fit(X, y)
    kind = ensemble.ExtraTreesClassifier if is_classifier(forest) else ensemble.ExtraTreesRegressor
    tree = kind(1).fit(X, y).estimators_[0].tree_
    wanted = tree.compute_feature_importances(normalize=False)
    assert forest.mean_decrease_impurity_ == pytest.approx(wanted, rel=1e-9)


# Parameters that bound trees.


@every_forest
def test_bounds_of_depth_and_leaves_are_honoured(Forest):
    X, y = data_for(Forest)
    assert n_leaves(Forest(5, max_leaf_nodes=4, random_state=0).fit(X, y)).tolist() == [4] * 5
    forest = Forest(5, max_depth=3, random_state=0).fit(X, y)
    indicator, pointer = forest.decision_path(X)
    lengths = [indicator[:, a:b].sum(axis=1).max() for a, b in pairwise(pointer)]
    assert max(lengths) == 4  # the root has depth 0
    both = Forest(5, max_depth=2, max_leaf_nodes=50, random_state=0).fit(X, y)
    assert n_leaves(both).max() <= 4


@every_forest
@pytest.mark.parametrize(("asked", "least"), [(7, 7), (0.07, 10)])
def test_smallest_nodes_are_honoured(Forest, asked, least):
    """0.07 of 140 rows is 9.8, rounded up. Rows in the bag are counted once."""
    X, y = data_for(Forest, 140)
    leafy = Forest(5, min_samples_leaf=asked, random_state=0).fit(X, y)
    split = Forest(5, min_samples_split=asked, random_state=0).fit(X, y)
    for tree in range(5):
        in_bag = leafy.in_bag_counts(tree) > 0
        assert np.unique(leafy.apply(X)[in_bag, tree], return_counts=True)[1].min() >= least
        in_bag = split.in_bag_counts(tree) > 0
        indicator, pointer = split.decision_path(X)
        passing = indicator[in_bag, pointer[tree] : pointer[tree + 1]].toarray().sum(axis=0)
        assert passing[~split.trees_.tree(tree).is_leaf].min() >= least


@every_forest
def test_a_split_may_ask_for_all_rows(Forest):
    X, y = data_for(Forest, 60)
    forest = Forest(3, min_samples_split=1.0, bootstrap=False, random_state=0).fit(X, y)
    assert n_leaves(forest).tolist() == [2] * 3


@every_forest
def test_the_least_decrease_is_honoured(Forest):
    X, y = data_for(Forest, 100)
    free = Forest(5, bootstrap=False, random_state=0).fit(X, y)
    least = free.mean_decrease_impurity_.sum() * 0.03
    forest = Forest(5, min_impurity_decrease=least, bootstrap=False, random_state=0).fit(X, y)
    assert n_leaves(forest).sum() < n_leaves(free).sum()
    Y = one_hot(y) if is_classifier(forest) else y[:, None]
    indicator, pointer = forest.decision_path(X)
    n_splits = 0
    for tree in range(5):
        view = forest.trees_.tree(tree)
        passes = indicator[:, pointer[tree] : pointer[tree + 1]].toarray().astype(bool)
        scatter = np.array([Y[rows].var(axis=0).sum() * rows.sum() / 100 for rows in passes.T])
        split = ~view.is_leaf
        decrease = scatter[split] - scatter[view.children_left[split]] - scatter[view.children_right[split]]
        assert (decrease > least * (1 - 1e-9)).all()
        n_splits += split.sum()
    assert n_splits > 0


def test_features_are_drawn_in_proportion_to_their_weights():
    """Roots of 3,000 stumps that look at one feature each. False alarms: one in a million."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 4)), np.tile([0, 1], 6)
    chances = [1.0, 3.0, 0.0, 6.0]
    forest = cascadeforest.EnrichedRandomForestClassifier(
        3000, chances, max_features=1, max_depth=1, bootstrap=False, random_state=0
    ).fit(X, y)
    drawn = np.bincount(forest.trees_.all_nodes().feature[forest.trees_.offsets[:-1]], minlength=4)
    assert drawn[2] == 0
    assert stats.chisquare(drawn[[0, 1, 3]], [300, 900, 1800]).pvalue > 1e-6


def test_equal_chances_are_the_default_of_enriched_forests():
    X, y = make_classification(200, 6, random_state=0)
    enriched = cascadeforest.EnrichedRandomForestClassifier(5, random_state=0).fit(X, y)
    assert same_forest(enriched, cascadeforest.RandomForestClassifier(5, random_state=0).fit(X, y))


def test_completely_random_trees_split_until_pure_or_constant():
    X, y = load_iris(return_X_y=True)
    forest = cascadeforest.CompletelyRandomForestClassifier(10, random_state=0).fit(X, y)
    assert forest.score(X, y) == 1.0


# Errors.

NAN = float("nan")
WRONG = {
    "n_estimators": [0, -1, 2.5, "many", None, True],
    "criterion": ["mse", None, 3, ["gini"]],
    "max_depth": [0, -1, 1.5, "deep", True],
    "min_samples_split": [1, -1, 0.0, 1.5, NAN, "2", None, True],
    "min_samples_leaf": [0, -1, 0.0, 1.0, 1.5, NAN, "1", None, True],
    "max_features": [0, -1, 0.0, 1.5, NAN, "auto", True, ["sqrt"]],
    "max_leaf_nodes": [0, 1, -1, 2.5, "two", True],
    "min_weight_fraction_leaf": [-0.1, 0.6, NAN, "0", None, True],
    "min_impurity_decrease": [-0.1, NAN, float("inf"), "0", None, True],
    "bootstrap": ["yes", 1, None],
    "oob_score": ["yes", 1, None],
    "max_samples": [0, -1, 31, 0.0, 1.5, NAN, "all", True],
    "class_weight": ["auto", 3, [1, 2], {0: -1.0}, {0: NAN}, {0: "a"}, {0: 0, 1: 0, 2: 0}],
    "categorical_features": ["dtype", 1, [1.5], [-1], [99], [True], ["age"], [[0]]],
    "n_jobs": [0, 1.5, "all", True],
    "random_state": ["seed", -1, 1.5, np.random.default_rng(0)],
    "feature_weights": [[1.0], "equal", ["a"] * 4, [-1.0, 1, 1, 1], [0.0] * 4, [NAN, 1, 1, 1], [[1.0] * 4]],
}


@pytest.mark.parametrize(
    ("Forest", "name", "value"),
    [
        pytest.param(Forest, name, value, id=f"{Forest.__name__}-{name}-{i}")
        for Forest in FORESTS
        for name in Forest().get_params()
        for i, value in enumerate(WRONG[name])
    ],
)
def test_wrong_parameters_are_named_with_value_and_remedy(Forest, name, value):
    X, y = data_for(Forest, 30)
    forest = Forest(**{"n_estimators": 2, "bootstrap": True, name: value})
    with pytest.raises(ValueError, match=rf"^{name} (is|has shape) .*; (give|choose|set) ") as caught:
        forest.fit(X, y)
    assert f"{name} is {value!r}" in str(caught.value) or f"{name} has shape {np.shape(value)}" in str(caught.value)


@every_forest
def test_the_wrong_number_of_features_is_named(Forest):
    X, y = data_for(Forest, 30)
    forest = Forest(2).fit(X, y)
    with pytest.raises(ValueError, match=rf"X has 1 features, but {Forest.__name__} is expecting {X.shape[1]}"):
        forest.predict(X[:, :1])


def test_out_of_bag_predictions_are_those_of_the_trees_that_did_not_draw_a_row():
    """Rows without weight, which stand in front of and between others, are out of every bag."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    weight[:5] = 0
    forest = cascadeforest.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y, weight)
    drawn = np.array([forest.in_bag_counts(tree) for tree in range(40)]) > 0
    assert not drawn[:, weight == 0].any()
    binned = forest.bin_mapper_.transform(X)
    of_trees = np.array([forest.trees_.predict(binned, trees=[tree]) for tree in range(40)])
    expected = [of_trees[~drawn[:, row], row].mean(axis=0) for row in range(60)]
    np.testing.assert_allclose(forest.oob_decision_function_, expected, rtol=1e-12)
