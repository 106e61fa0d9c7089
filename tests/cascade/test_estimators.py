"""What all cascades promise as scikit-learn estimators: its own checks, life cycle, inputs, weights, errors."""

import logging
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from cascadeforest import (
    CascadeForestRegressor,
    DDBFClassifier,
    GCForestClassifier,
    GCForestCSClassifier,
    HiDFClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [GCForestClassifier, GCForestCSClassifier, MDDFClassifier]
CASCADES = [*CLASSIFIERS, CascadeForestRegressor]
#: And what keeps the promises below that are not about layers of several forests.
WITH_DDBF = [*CASCADES, DDBFClassifier]
SMALL = {"n_forests": 2, "n_estimators": 4, "max_layers": 3, "random_state": 0}
#: What mdDF would search for; its trees have depth 16 in the first layer.
FIXED = {MDDFClassifier: {"gamma": 0.85, "mu": 0.05, "theta": 16, "bounded_forests": "all", "depth_shift": 0}}

every_cascade = pytest.mark.parametrize("Cascade", CASCADES)
every_classifier = pytest.mark.parametrize("Cascade", CLASSIFIERS)
also_ddbf = pytest.mark.parametrize("Cascade", WITH_DDBF)
also_ddbf_classifier = pytest.mark.parametrize("Cascade", [*CLASSIFIERS, DDBFClassifier])


def small(Cascade, **others):
    """A cascade that grows its three layers, whatever they score."""
    own = {**SMALL, **FIXED.get(Cascade, {}), "patience": 3}
    if Cascade is DDBFClassifier:
        del own["n_forests"]
    return Cascade(**{**own, **others})


def with_depth(Cascade, depth):
    """The parameter that bounds depth in the first layer; in mdDF, layer t may have t times that."""
    return {"theta" if Cascade is MDDFClassifier else "max_depth": depth}


def data_for(Cascade, n_rows=None):
    """Iris for classifiers, some of it under wrong labels, so that no layer is perfect; diabetes for regressors."""
    X, y = load_diabetes(return_X_y=True) if Cascade is CascadeForestRegressor else load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:n_rows]
    X, y = X[rows], y[rows]
    if Cascade is not CascadeForestRegressor:
        y = np.where(rng.random(len(y)) < 0.15, rng.integers(0, 3, len(y)), y)
    return X, y


def prediction(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def staged(model, X):
    return list(model.staged_predict_proba(X) if is_classifier(model) else model.staged_predict(X))


def same_predictions(one, other, X):
    """Whether two cascades are the same bytes for rows that tell much about them, and were scored the same."""
    pairs = zip(staged(one, X), staged(other, X), strict=True)
    return one.validation_scores_.tobytes() == other.validation_scores_.tobytes() and all(
        a.tobytes() == b.tobytes() for a, b in pairs
    )


# The contract of scikit-learn.

FOREIGN = {"n_forests": 3, "n_estimators": 3, "max_layers": 2}
#: mdDF searches its grids with next to nothing in one instance, and not in the other. Shallow trees: not at all.
QUICK = {MDDFClassifier: {"search_estimators": 1, "search_layers": 1}}
SHALLOW = {MDDFClassifier: {**FIXED[MDDFClassifier], "theta": 2}}
INSTANCES = [Cascade(n_forests=2, n_estimators=5, max_layers=3, **QUICK.get(Cascade, {})) for Cascade in CASCADES]
#: What hiDF does beyond that is tested in test_interactions.py: it has no estimators but its own.
FEW = {"n_estimators": 5, "cv_estimators": 3, "max_layers": 2, "rule_estimators": 2, "n_bootstraps": 3}
INSTANCES += [HiDFClassifier(**FEW)]
#: Of DDBF, what is peculiar to its iterations is in test_hard_examples.py.
INSTANCES += [DDBFClassifier(5, max_layers=3)]
#: Other code takes the rows: learners that are not ours, each its own weights of features, rows outside the bag.
OTHERS = [
    Cascade(estimators=["extra_trees", DecisionTreeClassifier()], **FOREIGN, **SHALLOW.get(Cascade, {}))
    for Cascade in CLASSIFIERS
]
OTHERS += [
    CascadeForestRegressor(estimators=["extra_trees", DecisionTreeRegressor()], **FOREIGN),
    HiDFClassifier(**FEW, preset="official"),
    DDBFClassifier(5, max_layers=3, vote_fraction=0.5, validation="oob", leaf_score="gini", keep="last"),
]
#: Checks about what is accepted and refused; the others are about methods that all instances share.
OTHER_INPUT = re.compile(
    "nan|empty|dtype|object|complex|sparse|1sample|1feature|one_label|classes|2d|memmap|weight|array|train|clone|params"
)


def expected_failures(cascade):
    reason = "rows that are repeated are other rows to deal out to folds; scikit-learn lists the same for its CV models"
    failures = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    shallow = getattr(cascade, "bounded_forests", None) == "all"
    if is_classifier(cascade) and not shallow:
        failures["check_class_weight_classifiers"] = (
            "trees grow until leaves are pure, where no weight changes a share; the check bounds leaves of forests by "
            "min_weight_fraction_leaf, which cascades do not have"
        )
    return failures


@parametrize_with_checks(INSTANCES, expected_failed_checks=expected_failures)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def checks_of_input(cascade):
    expected = expected_failures(cascade)
    for one, check in estimator_checks_generator(cascade):
        name = check.func.__name__
        if OTHER_INPUT.search(name):
            marks = [pytest.mark.xfail(reason=expected[name])] if name in expected else []
            yield pytest.param(one, check, marks=marks, id=f"{type(one).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), [pair for cascade in OTHERS for pair in checks_of_input(cascade)])
def test_scikit_learn_accepts_the_input_of_other_options(estimator, check):
    check(estimator)


# Life of an estimator.


@every_cascade
def test_a_clone_learns_the_same(Cascade):
    X, y = data_for(Cascade, 80)
    member = RandomForestClassifier(3) if Cascade in CLASSIFIERS else RandomForestRegressor(3)
    model = small(Cascade, estimators=["random_forest", member], **with_depth(Cascade, 3)).fit(X, y)
    twin = clone(model)
    assert not hasattr(twin, "layers_")
    assert same_predictions(twin.fit(X, y), model, X)


@also_ddbf
def test_a_second_fit_forgets_the_first(Cascade):
    X, y = data_for(Cascade, 80)
    model = small(Cascade).fit(pd.DataFrame(X).add_prefix("x"), y)
    model.fit(X[:40, :2], y[:40])
    fresh = small(Cascade).fit(X[:40, :2], y[:40])
    assert same_predictions(model, fresh, X[:, :2])
    assert vars(model).keys() == vars(fresh).keys()


@also_ddbf
def test_the_seed_decides(Cascade):
    X, y = data_for(Cascade, 80)
    one, same, other = (small(Cascade, random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert same_predictions(one, same, X)
    assert prediction(one, X).tobytes() != prediction(other, X).tobytes()
    generator = np.random.RandomState(0)
    drawn = [prediction(small(Cascade, random_state=generator).fit(X, y), X).tobytes() for _ in range(2)]
    assert drawn[0] != drawn[1]


@also_ddbf
def test_threads_change_no_byte(Cascade):
    X, y = data_for(Cascade)
    one, two = (small(Cascade, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    many = np.repeat(X, 4, axis=0)  # more rows than a thread of a prediction has at least
    assert same_predictions(one, two, many)


@every_cascade
@pytest.mark.parametrize("foreign", [False, True])
def test_a_pickled_cascade_predicts_the_same_bytes(Cascade, foreign):
    X, y = data_for(Cascade, 100)
    others = {}
    if foreign:
        others["estimators"] = ["random_forest", GaussianNB() if Cascade in CLASSIFIERS else LinearRegression()]
    model = small(Cascade, **others).fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    assert same_predictions(model, twin, X)


@also_ddbf
def test_equal_fits_are_equal_pickles(Cascade):
    X, y = data_for(Cascade, 80)
    one, other = (pickle.dumps(small(Cascade).fit(X, y)) for _ in range(2))
    assert one == other


@every_cascade
@pytest.mark.parametrize("foreign", [False, True])
def test_a_fitted_cascade_holds_no_training_data(Cascade, foreign):
    """Shallow trees and 20,000 rows; what a model says of each row is `decision_level_` or `margins_`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = rng.integers(0, 2, 20_000)
    others = {**with_depth(Cascade, 2), "min_samples_leaf": 0.1, "max_layers": 2, "n_estimators": 2}
    if foreign:
        member = GaussianNB() if Cascade in CLASSIFIERS else LinearRegression()
        others["estimators"] = ["random_forest", member]
    model = small(Cascade, **others).fit(X, y)
    of_rows = [getattr(model, name).nbytes for name in ("decision_level_", "margins_") if hasattr(model, name)]
    size = len(pickle.dumps(model)) - sum(of_rows)
    assert size < 20_000


@every_cascade
def test_methods_of_an_unfitted_cascade_say_so(Cascade):
    X, _ = data_for(Cascade, 5)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_level"):
        if hasattr(Cascade, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(Cascade(), name)(X)
    for name in ("staged_predict", "staged_predict_proba"):
        if hasattr(Cascade, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                next(getattr(Cascade(), name)(X))


@every_cascade
def test_grid_search_takes_numpy_values(Cascade):
    X, y = data_for(Cascade, 60)
    grid = {
        **with_depth(Cascade, np.array([1, 3])),
        "n_forests": np.array([1, 2]),
        "max_layers": np.array([2]),
        "tol": np.array([0.01]),
        "class_vectors": np.array(["oob"]),
    }
    search = GridSearchCV(small(Cascade), grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.best_estimator_.layers_[0].forests) in (1, 2)
    assert search.predict(X).shape == y.shape


@every_cascade
def test_parameters_are_stored_as_given_and_not_changed(Cascade):
    X, y = data_for(Cascade, 60)
    members = ["random_forest", RandomForestClassifier(3) if Cascade in CLASSIFIERS else RandomForestRegressor(3)]
    model = small(Cascade, estimators=members, n_forests=3)
    before = dict(model.get_params(deep=False))
    model.fit(X, y)
    after = model.get_params(deep=False)
    assert all(after[name] is value for name, value in before.items())
    assert members == before["estimators"]
    assert not hasattr(members[1], "trees_")
    assert members[1].n_estimators == 3


@every_cascade
def test_repr_shows_what_differs_from_the_defaults(Cascade):
    assert repr(Cascade()) == f"{Cascade.__name__}()"
    assert repr(Cascade(7, tol=0.5)) == f"{Cascade.__name__}(n_forests=7, tol=0.5)"


# Layers.


@every_cascade
def test_the_last_stage_is_the_prediction(Cascade):
    X, y = data_for(Cascade, 100)
    model = small(Cascade, tol=1e-9, max_layers=4, patience=4).fit(X, y)
    stages = staged(model, X)
    assert len(stages) == model.n_layers_ == len(model.layers_)
    assert len(model.validation_scores_) >= model.n_layers_
    assert stages[-1].tobytes() == prediction(model, X).tobytes()
    labels = list(model.staged_predict(X))
    assert labels[-1].tolist() == model.predict(X).tolist()
    if Cascade in CLASSIFIERS:
        assert [label.tolist() for label in labels] == [model.classes_[p.argmax(axis=1)].tolist() for p in stages]
        with np.errstate(divide="ignore"):
            assert model.predict_log_proba(X).tobytes() == np.log(stages[-1]).tobytes()


@every_cascade
def test_stages_stay_as_they_were(Cascade):
    """Each stage is an array of its own, not one that the next overwrites."""
    X, y = data_for(Cascade, 100)
    model = next(m for seed in range(20) if (m := small(Cascade, random_state=seed).fit(X, y)).n_layers_ > 1)
    walker = iter(model.staged_predict_proba(X) if Cascade in CLASSIFIERS else model.staged_predict(X))
    first = next(walker)
    copy = first.copy()
    list(walker)
    assert first.tobytes() == copy.tobytes()


@every_cascade
@pytest.mark.parametrize("patience", [1, 2, 5])
def test_the_first_of_the_best_layers_is_kept_and_the_later_ones_are_dropped(Cascade, patience):
    """Also if `max_layers` is reached. A cascade that may grow one layer only is the same first layer."""
    X, y = data_for(Cascade, 100)
    kept = set()
    for seed in range(6):
        model = small(Cascade, max_layers=5, patience=patience, random_state=seed).fit(X, y)
        scores = model.validation_scores_.tolist()
        assert model.n_layers_ == scores.index(max(scores)) + 1
        assert len(scores) == min(5, model.n_layers_ + patience)
        short = small(Cascade, max_layers=model.n_layers_, patience=patience, random_state=seed).fit(X, y)
        assert short.validation_scores_.tolist() == scores[: model.n_layers_]
        assert same_bytes_of(short, model, X)
        kept.add(model.n_layers_)
    assert len(kept) > 1  # otherwise another choice of layers would pass


@every_cascade
def test_the_last_layer_is_kept_on_request(Cascade):
    """Whatever it scores: the same cascade as one whose last layer is the best."""
    X, y = data_for(Cascade, 100)

    def falling():
        scores = iter([0.9, 0.8, 0.7, 0.6])
        return lambda estimator, X, y: next(scores)

    def rising():
        scores = iter([0.1, 0.2, 0.3, 0.4])
        return lambda estimator, X, y: next(scores)

    last = small(Cascade, max_layers=4, patience=4, keep="last", scoring=falling()).fit(X, y)
    best = small(Cascade, max_layers=4, patience=4, scoring=rising()).fit(X, y)
    assert last.validation_scores_.tolist() == [0.9, 0.8, 0.7, 0.6]
    assert last.n_layers_ == len(last.layers_) == len(staged(last, X)) == 4
    assert same_bytes_of(last, best, X)
    for name in ("thresholds_", "n_rows_", "n_trees_", "decision_level_"):
        assert hasattr(last, name) == (Cascade is GCForestCSClassifier)
        if hasattr(last, name):
            assert getattr(last, name).tolist() == getattr(best, name).tolist()
    stopped = small(Cascade, max_layers=4, patience=2, keep="last", scoring=falling()).fit(X, y)
    assert stopped.n_layers_ == len(stopped.validation_scores_) == 3


def same_bytes_of(one, other, X):
    return prediction(one, X).tobytes() == prediction(other, X).tobytes()


@every_cascade
def test_a_layer_must_be_better_by_more_than_tol(Cascade):
    X, y = data_for(Cascade, 100)
    gains = 0
    for seed in range(6):
        free = small(Cascade, random_state=seed).fit(X, y).validation_scores_
        gain = free[1:].max() - free[0]
        if gain > 0:
            gains += 1
            kept = [small(Cascade, random_state=seed, tol=gain * f).fit(X, y).n_layers_ for f in (0.99, 1.01)]
            assert kept[0] > 1
            assert kept[1] == 1
    assert gains


@every_cascade
def test_a_later_layer_does_not_change_an_earlier_one(Cascade):
    """Seeds are addresses: growing on, in vain or not, leaves the scores of the first layers as they are."""
    X, y = data_for(Cascade, 100)
    scores = [small(Cascade, max_layers=n, patience=9).fit(X, y).validation_scores_.tolist() for n in (1, 2, 4)]
    assert [len(s) for s in scores] == [1, 2, 4]
    assert scores[2][:2] == scores[1]
    assert scores[1][:1] == scores[0]


@every_cascade
def test_one_more_forest_leaves_the_others_as_they_are(Cascade):
    X, y = data_for(Cascade, 100)
    two, three = (small(Cascade, n_forests=n, max_layers=1).fit(X, y) for n in (2, 3))
    for one, other in zip(two.layers_[0].forests, three.layers_[0].forests, strict=False):
        assert [m.trees.nodes.tobytes() for m in one] == [m.trees.nodes.tobytes() for m in other]


@every_cascade
def test_kinds_of_forests_are_taken_in_turn(Cascade):
    X, y = data_for(Cascade, 60)
    member = (RandomForestClassifier if Cascade in CLASSIFIERS else RandomForestRegressor)(7, max_depth=2)
    kinds = ["random_forest", member]
    model = small(Cascade, estimators=kinds, n_forests=5, max_layers=1).fit(X, y)
    assert [models[0].trees.n_trees for models in model.layers_[0].forests] == [4, 7, 4, 7, 4]
    depths = [max(tree_depth(m.trees, t) for m in models for t in range(2)) for models in model.layers_[0].forests]
    assert depths[1] == depths[3] == 2
    assert min(depths[::2]) > 2


def tree_depth(trees, tree):
    view = trees.tree(tree)
    depth = np.zeros(len(view.feature), int)
    for node in np.flatnonzero(~view.is_leaf):  # children come after their parents
        depth[[view.children_left[node], view.children_right[node]]] = depth[node] + 1
    return depth.max()


@every_cascade
def test_parameters_of_forests_reach_the_forests(Cascade):
    X, y = data_for(Cascade, 100)
    shallow = small(Cascade, n_forests=4, **with_depth(Cascade, 2)).fit(X, y)
    assert max(tree_depth(m.trees, 0) for f in shallow.layers_[0].forests for m in f) == 2
    wide = small(Cascade, min_samples_leaf=20, max_layers=1).fit(X, y)
    assert max(tree_depth(m.trees, 0) for f in wide.layers_[0].forests for m in f) <= 3
    # Random forests that look at all features of one informative column use it at each root; completely random ones
    # are not asked.
    Z = np.column_stack([y, np.random.default_rng(0).normal(size=(100, 6))])
    model = small(Cascade, max_features=None, n_estimators=8, max_layers=1).fit(Z, y)
    roots = [{int(m.trees.tree(t).feature[0]) for m in f for t in range(8)} for f in model.layers_[0].forests]
    assert roots[0] == {0}
    assert len(roots[1]) > 2


# Inputs.


@every_cascade
def test_names_of_columns_are_kept_and_compared(Cascade):
    X, y = data_for(Cascade, 60)
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(X.shape[1])])
    model = small(Cascade).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == X.shape[1]
    assert same_bytes_of(model, small(Cascade).fit(frame, y), frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"feature 0": "other"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


@also_ddbf_classifier
def test_labels_may_be_strings(Cascade):
    X, y = data_for(Cascade)
    names = np.array(["setosa", "virginica", "a"], dtype=object)  # not in the order of the numbers
    model = small(Cascade).fit(X, pd.Series(names[y]))
    assert list(model.classes_) == ["a", "setosa", "virginica"]
    assert model.n_classes_ == 3
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names[y]) > 0.8
    relabelled = small(Cascade).fit(X, np.array([1, 2, 0])[y])
    assert same_predictions(model, relabelled, X)
    for stage in model.staged_predict(X):
        assert set(stage) <= set(names)


@every_cascade
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
@pytest.mark.parametrize("foreign", [False, True])
def test_sparse_is_dense(Cascade, make, foreign):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)).round(1) * (rng.random((80, 6)) < 0.4)
    y = (X[:, 0] + X[:, 1] + rng.normal(scale=0.3, size=80) > 0).astype(int)
    others = {"patience": 3}
    if foreign:
        member = DecisionTreeClassifier() if Cascade in CLASSIFIERS else DecisionTreeRegressor()
        others["estimators"] = ["random_forest", member]
    else:
        X[0, 0] = np.nan
    dense = small(Cascade, **others).fit(X, y)
    sparse = small(Cascade, **others).fit(make(X), y)
    assert dense.validation_scores_.tobytes() == sparse.validation_scores_.tobytes()
    assert prediction(sparse, make(X)).tobytes() == prediction(dense, X).tobytes()


@also_ddbf
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_type_of_the_same_numbers_does_not_matter(Cascade, dtype, order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (60, 5))
    y = (X[:, 0] * 3 + X[:, 1] > X[:, 2] + 40).astype(int)
    wanted = small(Cascade).fit(X.astype(np.float64), y)
    model = small(Cascade).fit(np.asarray(X.astype(dtype), order=order), y)
    assert prediction(model, X.astype(dtype)).tobytes() == prediction(wanted, X.astype(np.float64)).tobytes()


@also_ddbf
def test_input_arrays_are_not_touched(Cascade):
    X, y = data_for(Cascade, 60)
    X[3, 1] = np.nan
    X_before, y_before, weight = X.copy(), y.copy(), np.arange(60) % 4 + 0.0
    for array in (X, y, weight):
        array.flags.writeable = False  # as memory-mapped data are
    model = small(Cascade).fit(X, y, sample_weight=weight)
    prediction(model, X)
    assert X.tobytes() == X_before.tobytes()
    assert y.tobytes() == y_before.tobytes()


@also_ddbf
def test_missingness_is_learned(Cascade):
    """The target says where the only feature is missing."""
    X = np.random.default_rng(0).normal(size=(90, 1))
    X[::3] = np.nan
    y = np.isnan(X[:, 0]).astype(int)
    model = small(Cascade, n_estimators=20).fit(X, y)
    assert np.array_equal(np.round(model.predict([[np.nan], [0.1], [99.0]])), [1, 0, 0])


@also_ddbf
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused(Cascade, value):
    X, y = data_for(Cascade, 20)
    model = small(Cascade).fit(X, y)
    X[3, 1] = value
    for call in (lambda: small(Cascade).fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="infinity"):
            call()


@also_ddbf
def test_the_wrong_number_of_features_is_named(Cascade):
    X, y = data_for(Cascade, 30)
    with pytest.raises(ValueError, match=rf"X has 1 features, but {Cascade.__name__} is expecting {X.shape[1]}"):
        small(Cascade).fit(X, y).predict(X[:, :1])


@also_ddbf
def test_a_column_of_targets_is_raveled_with_a_warning(Cascade):
    X, y = data_for(Cascade, 40)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = small(Cascade).fit(X, y[:, None])
    assert same_predictions(model, small(Cascade).fit(X, y), X)


@also_ddbf
def test_one_row_is_too_few(Cascade):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        small(Cascade).fit([[1.0]], [1])
    X, y = data_for(Cascade, 5)
    with pytest.raises(ValueError, match="Only one sample has weight"):
        small(Cascade).fit(X, y, sample_weight=[0, 0, 1, 0, 0])


@also_ddbf
def test_rows_are_predicted_each_by_itself(Cascade):
    X, y = data_for(Cascade, 100)
    model = small(Cascade).fit(X, y)
    wanted = prediction(model, X)
    assert np.concatenate([prediction(model, X[i : i + 1]) for i in range(12)]).tobytes() == wanted[:12].tobytes()
    assert prediction(model, X[::-1])[::-1].tobytes() == wanted.tobytes()


# Weights.


@every_cascade
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
@pytest.mark.parametrize("foreign", [False, True])
def test_rows_without_weight_are_absent_rows(Cascade, how, foreign):
    if foreign and how == "oob":
        return
    X, y = data_for(Cascade, 100)
    y = y.copy()
    weight = np.tile([1.0, 0.0, 2.0, 1.0, 0.0], 20)
    kept = weight > 0
    y[~kept] = y.max()
    X[~kept] += 1000.0
    others = {"class_vectors": how}
    if foreign:
        member = DecisionTreeClassifier() if Cascade in CLASSIFIERS else DecisionTreeRegressor()
        others["estimators"] = ["random_forest", member]
    model = small(Cascade, **others).fit(X, y, sample_weight=weight)
    absent = small(Cascade, **others).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert same_predictions(model, absent, X)
    if Cascade is GCForestCSClassifier:
        assert model.decision_level_[kept].tolist() == absent.decision_level_.tolist()
        assert set(model.decision_level_[~kept]) == {-1}


@also_ddbf
def test_equal_weights_are_no_weights(Cascade):
    X, y = data_for(Cascade, 100)
    weight = np.tile([2.5, 0.0], 50)
    plain = small(Cascade).fit(X, y)
    assert same_predictions(plain, small(Cascade).fit(X, y, sample_weight=np.full(100, 0.3)), X)
    some = small(Cascade).fit(X, y, sample_weight=weight)
    assert same_predictions(some, small(Cascade).fit(X[::2], y[::2]), X)


@also_ddbf
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_without_weight_decide_no_bin(Cascade, weighted):
    """More values than bins: where bins end depends on the rows, and on their weights."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(700, 2)), rng.normal(loc=3, size=(300, 2))])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=1000) > 0).astype(int)
    weight = np.where(np.arange(1000) < 700, rng.uniform(0.1, 5, 1000) if weighted else 1.0, 0.0)
    model = small(Cascade, max_layers=1).fit(X, y, sample_weight=weight)
    absent = small(Cascade, max_layers=1).fit(X[:700], y[:700], sample_weight=weight[:700])
    assert same_predictions(model, absent, X)


@also_ddbf
def test_the_scale_of_weights_does_not_matter(Cascade):
    X, y = data_for(Cascade, 100)
    weight = np.random.default_rng(1).random(100)
    one, other = (small(Cascade).fit(X, y, sample_weight=weight * scale) for scale in (1.0, 2.0**40))
    assert same_predictions(one, other, X)


@also_ddbf
def test_weights_reach_forests_and_scores(Cascade):
    """Rows of two groups with the same features and other targets: the heavy ones decide, and are scored."""
    X = np.repeat(np.random.default_rng(0).normal(size=(60, 3)), 2, axis=0)
    first = (X[:, 0] > 0).astype(int)
    heavy = np.tile([True, False], 60)
    y = np.where(heavy, first, 1 - first)
    model = small(Cascade, n_estimators=20, **with_depth(Cascade, 3)).fit(
        X, y, sample_weight=np.where(heavy, 50.0, 1.0)
    )
    assert (np.round(model.predict(X)) == first).mean() > 0.9
    least = -0.4 if Cascade is CascadeForestRegressor else 0.75  # unweighted: -0.7 and 0.5
    assert model.validation_scores_.max() > least


@also_ddbf
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\); X has 20 rows"),
        (np.ones((20, 1)), r"sample_weight has shape \(20, 1\)"),
        (np.full(20, np.nan), "sample_weight gives .*; give finite"),
        (np.full(20, np.inf), "sample_weight gives .*; give finite"),
        (np.arange(20.0) - 1.0, "sample_weight gives weights from -1.0 .*; give finite, not negative"),
        (np.zeros(20), "sample_weight is zero for every row; give at least two"),
    ],
)
def test_weights_that_are_none_are_refused(Cascade, weight, message):
    X, y = data_for(Cascade, 20)
    with pytest.raises(ValueError, match=message):
        small(Cascade).fit(X, y, sample_weight=weight)


@every_cascade
@pytest.mark.parametrize("how", ["k_fold", "oob"])
def test_a_row_of_next_to_no_weight_is_next_to_no_row(Cascade, how):
    """The kernel leaves rows out whose weight single precision does not hold, and draws among the others."""
    X, y = data_for(Cascade, 60)
    weight = np.ones(60)
    weight[7] = 1e-60
    model = small(Cascade, class_vectors=how).fit(X, y, sample_weight=weight)
    assert np.isfinite(prediction(model, X)).all()


@also_ddbf_classifier
def test_class_weights_are_sample_weights(Cascade):
    X, y = data_for(Cascade, 100)
    names = np.array(["b", "c", "a"])
    by_dict = small(Cascade, class_weight={"b": 2, "a": 5}).fit(X, names[y])
    by_row = small(Cascade).fit(X, names[y], sample_weight=np.array([2, 1, 5])[y])
    assert same_predictions(by_dict, by_row, X)
    both = small(Cascade, class_weight={"b": 2, "a": 5}).fit(X, names[y], sample_weight=np.tile([1, 2], 50))
    by_row = small(Cascade).fit(X, names[y], sample_weight=np.array([2, 1, 5])[y] * np.tile([1, 2], 50))
    assert same_predictions(both, by_row, X)


@every_classifier
def test_balanced_classes_weigh_the_same(Cascade):
    """Nothing to learn from: forests of roots give 75 % and 25 %, or halves if balanced."""
    X, y = np.zeros((120, 1)), np.repeat(["a", "b"], [90, 30])
    plain, balanced = (
        small(Cascade, class_weight=w, estimators=["completely_random_forest"]).fit(X, y) for w in (None, "balanced")
    )
    assert plain.predict_proba(X[:1]) == pytest.approx(np.array([[0.75, 0.25]]), abs=1e-6)
    assert balanced.predict_proba(X[:1]) == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-6)


@every_classifier
def test_balanced_counts_weighted_rows_by_weight(Cascade):
    """As the forests' class_weight does; otherwise rows without weight still decide how classes are balanced."""
    X, y = np.zeros((120, 1)), np.repeat(["a", "b"], [90, 30])
    weight = np.where(y == "b", 5.0, 1.0)
    model = small(Cascade, class_weight="balanced", estimators=["completely_random_forest"])
    model.fit(X, y, sample_weight=weight)
    assert model.predict_proba(X[:1]) == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-6)


@also_ddbf_classifier
def test_a_class_without_weight_stays_a_class(Cascade):
    X, y = data_for(Cascade, 90)
    model = small(Cascade).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert not model.predict_proba(X)[:, 1].any()


# Small and odd data.


@every_cascade
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
def test_a_constant_target_is_predicted(Cascade, how):
    X, _ = data_for(Cascade, 30)
    model = small(Cascade, class_vectors=how).fit(X, np.full(30, 7))
    assert model.predict(X + 1.0).tolist() == [7] * 30
    assert model.n_layers_ == 1
    if Cascade in CLASSIFIERS:
        assert model.predict_proba(X).tolist() == [[1.0]] * 30


@every_cascade
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
def test_two_rows_are_enough(Cascade, how):
    model = small(Cascade, class_vectors=how).fit([[0.0], [1.0]], [3, 5])
    got = model.predict([[-4.0], [0.0], [1.0], [4.0]])
    assert set(got) <= {3, 5} if Cascade in CLASSIFIERS else got.min() >= 3 and got.max() <= 5
    if how != "oob":
        assert len(model.layers_[0].forests[0]) == (2 if how == "k_fold" else 1)  # fewer rows than folds


@every_cascade
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
def test_nothing_but_missing_values_says_nothing(Cascade, how):
    y = np.repeat([0, 1], [30, 10])
    model = small(Cascade, class_vectors=how, n_estimators=30, max_layers=1).fit(np.full((40, 2), np.nan), y)
    got = prediction(model, [[1.0, np.nan]])
    assert got[0] == pytest.approx([0.75, 0.25] if Cascade in CLASSIFIERS else 0.25, abs=0.1)


@also_ddbf_classifier
def test_rare_classes_are_learned_though_folds_lack_them(Cascade):
    X = np.repeat([[0.0], [1.0], [2.0]], [30, 29, 1], axis=0)
    y = np.repeat(["a", "b", "c"], [30, 29, 1])
    model = small(Cascade, n_folds=5, n_estimators=10).fit(X, y)
    assert model.predict_proba(X).shape == (60, 3)
    assert model.predict_proba([[2.0]])[0, 2] > 0
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


# Scorers and estimators.


@also_ddbf_classifier
@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc_ovr", "f1_macro"])
def test_layers_are_chosen_by_the_scorer_that_is_asked_for(Cascade, scoring):
    X, y = data_for(Cascade)
    model = small(Cascade, scoring=scoring).fit(X, np.array(["x", "y", "z"])[y])
    scores = model.validation_scores_.tolist()
    assert len(scores) == 3
    assert model.n_layers_ == scores.index(max(scores)) + 1
    assert scores != small(Cascade).fit(X, y).validation_scores_.tolist()


@also_ddbf
def test_a_function_may_score(Cascade):
    """One that likes the third layer best."""
    X, y = data_for(Cascade, 100)
    calls = []

    def scorer(estimator, X, y):
        calls.append(len(y))
        return float(len(calls))

    model = small(Cascade, scoring=scorer, patience=1).fit(X, y)
    assert model.validation_scores_.tolist() == [1.0, 2.0, 3.0]
    assert model.n_layers_ == 3
    assert calls == [100] * 3


@also_ddbf
def test_a_score_that_is_no_number_is_an_error(Cascade):
    X, y = data_for(Cascade, 60)
    with pytest.raises(ValueError, match="scoring gave nan on out-of-fold predictions; choose"):
        small(Cascade, scoring=lambda estimator, X, y: float("nan")).fit(X, y)


@also_ddbf_classifier
def test_probabilities_sum_to_one_as_closely_as_scorers_ask(Cascade):
    """Means of rounded vectors do not quite; scikit-learn's log loss then warns with each layer."""
    X, y = data_for(Cascade)
    model = small(Cascade, scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(model.validation_scores_).all()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(150), abs=1e-9)


FOREIGN_CLASSIFIERS = [
    make_pipeline(SimpleImputer(), LogisticRegression(solver="newton-cholesky")),
    GaussianNB(),
    RandomForestClassifier(3, max_depth=2, bootstrap=False),
    RandomForestClassifier(3, class_weight="balanced"),
    DummyClassifier(),
]
FOREIGN_REGRESSORS = [
    make_pipeline(SimpleImputer(), LinearRegression()),
    KNeighborsRegressor(3),
    RandomForestRegressor(3, max_depth=2, bootstrap=False),
    DecisionTreeRegressor(max_depth=3),
]


@pytest.mark.parametrize(
    ("Cascade", "member"),
    [
        (Cascade, member)
        for Cascade in CLASSIFIERS
        for member in FOREIGN_CLASSIFIERS
        if Cascade is not MDDFClassifier or not isinstance(member, Pipeline)  # which takes no weights
    ]
    + [(CascadeForestRegressor, member) for member in FOREIGN_REGRESSORS],
)
@pytest.mark.parametrize("alone", [False, True])
def test_any_estimator_can_be_in_a_layer(Cascade, member, alone):
    X, y = data_for(Cascade, 120)
    if isinstance(member, Pipeline):
        X[::9, 1] = np.nan
    model = small(Cascade, estimators=[member] if alone else ["random_forest", member]).fit(X, y)
    again = small(Cascade, estimators=[member] if alone else ["random_forest", member]).fit(X, y)
    assert same_predictions(model, again, X)
    if Cascade in CLASSIFIERS:
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(120), abs=1e-6)
    if not isinstance(member, DummyClassifier):
        assert model.score(X, y) > (0.7 if Cascade in CLASSIFIERS else 0.2)


@every_classifier
@pytest.mark.parametrize("Member", [LogisticRegression, RandomForestClassifier])
def test_estimators_in_a_layer_see_the_labels(Cascade, Member):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.tile([1, 2], 30)
    others = {"max_iter": 500} if Member is LogisticRegression else {"max_depth": 1, "n_estimators": 20}
    member = Member(class_weight={1: 100.0}, random_state=0, **others)
    model = Cascade(1, estimators=[member], max_layers=1, random_state=0).fit(X, y)
    assert member.fit(X, y).predict_proba(X)[:, 0].mean() > 0.8
    assert model.predict_proba(X)[:, 0].mean() > 0.8


# Verbosity.


@pytest.fixture
def library_log(caplog):
    logger = logging.getLogger("cascadeforest")
    level, handlers = logger.level, list(logger.handlers)
    yield caplog
    logger.setLevel(level)
    logger.handlers[:] = handlers


@every_cascade
def test_a_line_for_each_layer(Cascade, library_log):
    X, y = data_for(Cascade, 80)
    silent = small(Cascade).fit(X, y)
    assert not library_log.records
    model = small(Cascade, verbose=1).fit(X, y)
    lines = [record.getMessage() for record in library_log.records]
    assert len(lines) == len(model.validation_scores_) + 1
    for number, (line, score) in enumerate(zip(lines, model.validation_scores_, strict=False), 1):
        assert line.startswith((f"layer {number}: ", f"level {number}: "))
        assert f"{score:.3f}"[:-1] in line
        assert f"{model.layers_[0].n_trees} trees" in line or Cascade is GCForestCSClassifier
    assert lines[-1].startswith(f"kept {model.n_layers_} of {len(model.validation_scores_)} l")
    assert same_predictions(silent, model, X)


SAYS = """
from sklearn.datasets import load_iris
from cascadeforest import {name}
X, y = load_iris(return_X_y=True)
{name}(n_forests=1, n_estimators=2, max_layers=2, random_state=0, verbose={verbose}).fit(X, y)
"""


@pytest.mark.parametrize("verbose", [0, 1])
def test_lines_are_seen_without_a_logging_set_up(verbose):
    script = SAYS.format(name="GCForestClassifier", verbose=verbose)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if line.startswith(("layer", "kept"))]
    assert bool(said) == bool(verbose)
    assert done.stdout == ""


# Errors.

NAN = float("nan")
WRONG = {
    "n_forests": [0, -1, 2.5, "many", True],
    "n_estimators": [0, -1, 2.5, "many", True],
    "estimators": [[], "random_forest", 3, ["random_tree"], [3], [RandomForestClassifier], [SVC], ["extra_trees"] * 3],
    "n_folds": [1, 0, -1, 2.5, "three", True],
    "class_vectors": ["kfold", None, 3, True],
    "max_layers": [0, -1, 2.5, "all", True],
    "patience": [0, -1, 1.5, "long", True],
    "tol": [-0.1, NAN, float("inf"), "0", None, True],
    "scoring": ["accurate", 3],
    "preset": ["papers", 1],
    "max_depth": [0, -1, 1.5, "deep", True],
    "min_samples_leaf": [0, -1, 0.0, 1.0, 1.5, NAN, "1", None, True],
    "max_features": [0, -1, 0.0, 1.5, NAN, "auto", True, ["sqrt"]],
    "vector_dtype": ["int8", "double", np.float32, 32],
    "class_weight": ["auto", 3, {0: -1.0}, {0: NAN}, {0: "a"}, {0: 0, 1: 0, 2: 0}],
    "categorical_features": ["dtype", 1, [1.5], [-1], [99], [True], ["age"]],
    "n_jobs": [0, 1.5, "all", True],
    "random_state": ["seed", -1, 1.5, np.random.default_rng(0)],
    "verbose": [-1, 1.5, "yes", None],
    "a": [0, 1, 0.0, 1.0, -0.5, 3, NAN, "1/3", None, True],
    "growth": ["reciprocally", None, 2],
    "max_growth": [0, 0.5, NAN, float("inf"), None, "10", True],
    "error_scope": ["rows", None, 1],
    "screening": ["rows", "Bins", None, 1],
    "bin_size": [0, -1, 2.5, "100", None, True],
    "gamma": [0, 1, 0.0, 1.0, -0.5, 3, NAN, "0.9", True, [0.7, 0.8]],
    "mu": [-0.1, NAN, float("inf"), "0.1", True, [0.1]],
    "theta": [0, -1, 2.5, NAN, "4", True, [2, 4]],
    "alpha": ["exactly", "none", 1, True],
    "cumulative": ["normalised", 1, True],
    "scaled_loss": [0, 1, "yes"],
    "bounded_forests": ["extra_trees", True, 1],
    "depth_shift": [-1, 0.5, "1"],
    "max_share": [0, 1, 0.0, 1.0, -0.1, 1.1, NAN, "0.9", None, True],
    "reweighting": [0, 1, "yes", None],
    "average_vectors": [0, 1, "yes", None],
    "weight_floor": [0, 0.0, -0.1, 1.1, NAN, "0.1", None, True],
    "ablation": ["SF", "none", 1, True],
    "shared_folds": [0, 1, "yes"],
    "keep": ["first", 1, True, ["last"]],
    "layers_dir": [3, True, b"folder", ["folder"]],
    "search_estimators": [0, -1, 2.5, "many", True],
    "search_layers": [0, -1, 2.5, "many", True],
}
#: Parameters of scanning have tests of their own.
ELSEWHERE = {"scanning", "input_shape"}


@pytest.mark.parametrize(
    ("Cascade", "name", "value"),
    [
        pytest.param(Cascade, name, value, id=f"{Cascade.__name__}-{name}-{i}")
        for Cascade in CASCADES
        for name in Cascade().get_params()
        if name not in ELSEWHERE
        for i, value in enumerate(WRONG[name])
    ],
)
def test_wrong_parameters_are_named_with_value_and_remedy(Cascade, name, value):
    X, y = data_for(Cascade, 30)
    with pytest.raises(ValueError, match=rf"(?s)^{name} (is|has|gives) .*[;,] .*(give|choose|raise|a layer needs) "):
        small(Cascade, **{name: value}).fit(X, y)


@also_ddbf_classifier
def test_a_list_of_class_weights_is_refused_by_name(Cascade):
    X, y = data_for(Cascade, 30)
    with pytest.raises(ValueError, match=r"^class_weight is "):
        small(Cascade, class_weight=[1, 2]).fit(X, y)


@every_cascade
@pytest.mark.parametrize("wrong", [{"n_estimators": 0}, {"n_estimators": "many"}, {"bootstrap": "yes"}])
def test_wrong_parameters_of_forests_in_a_layer_are_named(Cascade, wrong):
    X, y = data_for(Cascade, 30)
    member = (RandomForestClassifier if Cascade in CLASSIFIERS else RandomForestRegressor)(**wrong)
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))} is .*; (give|choose)"):
        small(Cascade, estimators=[member]).fit(X, y)


@also_ddbf_classifier
def test_real_numbers_are_no_classes(Cascade):
    with pytest.raises(ValueError, match="Unknown label type"):
        small(Cascade).fit(np.arange(20.0)[:, None], np.linspace(0, 1, 20))
