"""What the wrappers add to the libraries' models: any labels, missing values, and otherwise nothing."""

import numpy as np
import pytest
from catboost import CatBoostClassifier as CatBoost
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from cascadeforest.baselines.catboost import CatBoostClassifier
from cascadeforest.baselines.gbdt import GBDTClassifier
from cascadeforest.baselines.lightgbm import LightGBMClassifier
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.baselines.mlp import SelectedMLPClassifier
from cascadeforest.baselines.resampling import ResampledForestClassifier
from cascadeforest.baselines.sndf import SNDFClassifier
from cascadeforest.baselines.svm import SVMClassifier
from cascadeforest.baselines.xgboost import XGBoostClassifier

MODELS = {
    "catboost": CatBoostClassifier(5, random_state=0),
    "gbdt": GBDTClassifier(5, random_state=0),
    "lightgbm": LightGBMClassifier(5, random_state=0),
    "mlp": SelectedMLPClassifier([[20]], random_state=0),
    "svm": SVMClassifier(),
    "svm_scaled": SVMClassifier(scale=True),
    "xgboost": XGBoostClassifier(5, random_state=0),
}
FILLING = ["gbdt", "mlp", "svm", "svm_scaled"]

pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X.astype(np.float32), y


@pytest.mark.parametrize("name", MODELS)
def test_labels_with_a_gap_work_as_those_without(name, iris):
    """A fold that lacks a rare class has such labels; XGBoost itself refuses them."""
    X, y = iris
    plain = MODELS[name].fit(X, y).predict(X)
    gap = MODELS[name].fit(X, np.array([0, 3, 7])[y])
    assert gap.classes_.tolist() == [0, 3, 7]
    assert np.array_equal(gap.predict(X), np.array([0, 3, 7])[plain])


@pytest.mark.parametrize("name", MODELS)
def test_one_class_is_refused_by_name(name, iris):
    X, _ = iris
    with pytest.raises(ValueError, match=rf"{type(MODELS[name]).__name__} needs .* y holds 1 class"):
        MODELS[name].fit(X, np.ones(len(X)))


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (MODELS["catboost"], {"max_depth": 17}),
        (MODELS["gbdt"], {"n_estimators": 0}),
        (MODELS["lightgbm"], {"colsample_bytree": 0.0}),
        (MODELS["mlp"], {"architectures": []}),
        (MODELS["svm"], {"C": -1.0}),
        (MODELS["xgboost"], {"tree_method": "best"}),
        (SNDFClassifier(2, max_depth=2, max_iter=1, random_state=0), {"max_depth": 21}),
        (ResampledForestClassifier(2, random_state=0), {"n_estimators": 0}),
    ],
)
def test_a_fit_that_is_refused_changes_nothing(model, wrong, iris):
    """A wrong parameter once left the new classes behind: predictions of the fit before came under their names."""
    X, y = iris
    unfitted = clone(model).set_params(**wrong)
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        unfitted.fit(X, y)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    fitted = clone(model).fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="two classes"):
        fitted.fit(X, np.full(len(X), "a"))
    with pytest.raises(ValueError, match=name):
        fitted.set_params(**wrong).fit(X, np.array(["a", "b", "c"])[y])
    assert np.array_equal(fitted.predict(X), before)


@pytest.mark.parametrize("name", FILLING)
def test_a_missing_value_counts_as_the_median_of_the_training_rows(name, iris):
    X, y = iris
    holes = X.copy()
    holes[::7, 2] = np.nan
    filled = holes.copy()
    filled[::7, 2] = np.median(np.delete(X[:, 2], np.s_[::7]))
    assert np.array_equal(MODELS[name].fit(holes, y).predict(holes), MODELS[name].fit(filled, y).predict(filled))


@pytest.mark.parametrize(
    "model", [XGBoostClassifier(5), LightGBMClassifier(5), CatBoostClassifier(5, learning_rate=0.5, random_state=0)]
)
def test_a_booster_that_takes_missing_values_learns_from_them(model):
    """Whether the value is missing is all there is to learn; the median, a value of the other class, hides it."""
    X = np.array([0, 1, 2, np.nan] * 50, dtype=np.float32)[:, np.newaxis]
    y = np.array([0, 0, 0, 1] * 50)
    assert model.fit(X, y).score(X, y) == 1
    assert GBDTClassifier(5).fit(X, y).score(X, y) < 1


def test_gbdt_is_that_of_scikit_learn(iris):
    X, y = iris
    ours = GBDTClassifier(7, max_depth=2, learning_rate=0.2, random_state=3).fit(X, y)
    theirs = GradientBoostingClassifier(n_estimators=7, max_depth=2, learning_rate=0.2, random_state=3).fit(X, y)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_xgboost_is_the_library_with_its_defaults(iris):
    X, y = iris
    ours = XGBoostClassifier(7).fit(X, y)
    assert np.array_equal(ours.predict_proba(X), XGBClassifier(n_estimators=7).fit(X, y).predict_proba(X))


def test_lightgbm_is_the_library_with_its_defaults(iris):
    X, y = iris
    theirs = LGBMClassifier(n_estimators=7, n_jobs=1, verbose=-1).fit(X, y)
    ours = LightGBMClassifier(7, n_jobs=2).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.booster_.predict(X), abs=1e-12)


def test_the_parameters_of_lightgbm_reach_the_library(iris):
    X, y = iris
    given = {"num_leaves": 3, "learning_rate": 0.4, "min_child_samples": 5, "colsample_bytree": 0.5, "reg_lambda": 2.0}
    ours = LightGBMClassifier(7, random_state=3, **given).fit(X, y)
    seed = ours.booster_.random_state
    theirs = LGBMClassifier(n_estimators=7, n_jobs=1, random_state=seed, verbose=-1, **given).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.booster_.predict(X), abs=1e-12)


@pytest.mark.parametrize("given", [{}, {"max_depth": 2, "learning_rate": 0.4, "reg_lambda": 20.0}])
def test_catboost_is_the_library_with_its_defaults(given, iris, tmp_path, monkeypatch):
    """The library would write a folder of logs where it runs."""
    monkeypatch.chdir(tmp_path)
    X, y = iris
    ours = CatBoostClassifier(7, random_state=3, **given).fit(X, y)
    assert not list(tmp_path.iterdir())
    seed = ours.booster_.get_param("random_seed")
    own = {"random_seed": seed, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    library = CatBoost(n_estimators=7, **own, **given)
    assert np.array_equal(ours.predict_proba(X), library.fit(X, y).predict_proba(X))


def test_catboost_predicts_shares_of_classes_where_no_feature_varies():
    """The library refuses such data."""
    X, y = np.full((4, 2), [1, np.nan], np.float32), np.array(["a", "b", "b", "b"])
    assert CatBoostClassifier(3).fit(X, y).predict_proba(X).tolist() == [[0.25, 0.75]] * 4


def test_the_parameters_of_xgboost_reach_the_library(iris):
    X, y = iris
    given = {"max_depth": 1, "learning_rate": 0.05, "min_child_weight": 5.0, "reg_lambda": 2.0, "tree_method": "exact"}
    ours = XGBoostClassifier(7, colsample_bytree=0.5, random_state=3, **given).fit(X, y)
    seed = ours.booster_.random_state
    theirs = XGBClassifier(n_estimators=7, colsample_bytree=0.5, random_state=seed, **given).fit(X, y)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_an_unknown_tree_method_is_refused(iris):
    with pytest.raises(ValueError, match=r"tree_method is 'gpu_hist'; choose one of"):
        XGBoostClassifier(tree_method="gpu_hist").fit(*iris)


def test_the_network_is_that_of_scikit_learn_on_scaled_features(iris):
    X, y = iris
    ours = SelectedMLPClassifier([[20]], max_iter=50, random_state=0).fit(X, y)
    seed = ours.network_[-1].random_state
    network = MLPClassifier((20,), activation="relu", solver="adam", max_iter=50, random_state=seed)
    theirs = make_pipeline(StandardScaler(), network).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))


@pytest.mark.parametrize("scale", [False, True])
def test_the_machine_is_that_of_scikit_learn(scale, iris):
    X, y = iris
    theirs = make_pipeline(StandardScaler(), SVC()) if scale else SVC()
    ours = SVMClassifier(scale=scale).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.fit(X, y).decision_function(X))
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_only_the_scaled_machine_survives_a_column_in_other_units():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.column_stack([y + rng.normal(0, 0.1, 200), rng.normal(0, 1e4, 200)])
    train, test = np.s_[:100], np.s_[100:]
    assert SVMClassifier(scale=True).fit(X[train], y[train]).score(X[test], y[test]) > 0.95
    assert SVMClassifier().fit(X[train], y[train]).score(X[test], y[test]) < 0.75


def test_the_machine_offers_no_probabilities():
    """The tables would otherwise show a log loss of something that no paper's SVM computed."""
    assert not hasattr(SVMClassifier(), "predict_proba")


def test_median_fill_by_hand():
    nan = np.nan
    X = np.array([[1, nan, 5], [3, nan, nan], [8, nan, 7]], dtype=np.float32)
    fill = MedianFill().fit(X)
    assert fill.medians_.tolist() == [3, 0, 6]
    assert fill.transform([[nan, nan, 1]]).tolist() == [[3, 0, 1]]


def test_complete_rows_are_not_copied():
    X = np.ones((3, 2), dtype=np.float32)
    assert np.shares_memory(MedianFill().fit(X).transform(X), X)
