"""The cascades inside AutoGluon, whose interface TabArena uses: they are what the estimators alone would be."""

import numpy as np
import pytest

pytest.importorskip("autogluon.tabular", reason="needs autogluon.tabular (docs/tabarena.md)")

import pandas as pd
from autogluon.tabular import TabularPredictor

from cascadeforest import CascadeForestRegressor, GCForestClassifier
from cascadeforest.tabarena import DDBFModel, GCForestCSModel, GCForestModel, HiDFModel, MDDFModel

# AutoGluon's own warnings are not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")
SMALL = {
    GCForestModel: {"n_estimators": 5, "n_forests": 2},
    GCForestCSModel: {"n_estimators": 5, "n_forests": 2},
    HiDFModel: {"n_estimators": 5, "max_layers": 2},
    MDDFModel: {"n_estimators": 5, "n_forests": 2, "max_layers": 2},
    DDBFModel: {"n_estimators": 5, "max_layers": 2},
}


@pytest.fixture(scope="module")
def frame():
    """300 rows: numbers with missing values, a feature with few levels, one with more levels than a cut can hold."""
    rng = np.random.default_rng(0)
    number, few, many = rng.normal(size=300), rng.integers(4, size=300), np.arange(300)
    y = number + (few == 2) > 0.3
    number[::11] = np.nan
    many_levels = pd.Categorical([f"row {k:03d}" for k in many])
    return pd.DataFrame({"number": number, "few": pd.Categorical(few.astype(str)), "many": many_levels, "y": y})


def fitted(model, frame, folder, task="binary", **given):
    predictor = TabularPredictor(label="y", path=str(folder), problem_type=task, verbosity=0)
    return predictor.fit(frame, hyperparameters={model: SMALL[model]}, fit_weighted_ensemble=False, **given)


@pytest.mark.parametrize("model", SMALL)
def test_every_cascade_learns_inside_autogluon(model, frame, tmp_path):
    predictor = fitted(model, frame, tmp_path)
    assert (predictor.predict(frame) == frame.y).mean() > 0.8
    again = TabularPredictor.load(str(tmp_path))
    assert np.array_equal(again.predict_proba(frame), predictor.predict_proba(frame))


def test_the_model_is_the_estimator_on_the_same_frame(frame, tmp_path):
    """The training rows are those that AutoGluon did not hold out; it transforms two classes to 0 and 1."""
    numbers = frame.drop(columns="many")
    predictor = fitted(GCForestModel, numbers, tmp_path, tuning_data=numbers[200:])
    (name,) = predictor.model_names()
    inside = predictor._trainer.load_model(name)
    X, y = predictor.transform_features(numbers), predictor.transform_labels(numbers.y)
    alone = GCForestClassifier(**SMALL[GCForestModel], random_state=inside.random_seed).fit(X, y)
    assert np.array_equal(inside.model.predict_proba(X), alone.predict_proba(X))


def test_regression_bagging_and_refit(frame, tmp_path):
    target = frame.assign(y=frame.number.fillna(0) + frame.few.cat.codes)
    predictor = fitted(GCForestModel, target, tmp_path, "regression", num_bag_folds=2)
    predictor.refit_full()
    (full,) = (name for name in predictor.model_names() if name.endswith("_FULL"))
    bag = predictor._trainer.load_model(full)
    assert [type(bag.load_child(child).model) for child in bag.models] == [CascadeForestRegressor]
    assert np.corrcoef(predictor.predict(target, model=full), target.y)[0, 1] > 0.9


def test_more_levels_than_a_cut_holds_become_numbers(frame, tmp_path):
    """AutoGluon's predictor shortens such features before, its models alone do not."""
    model = GCForestModel(path=str(tmp_path), problem_type="binary", hyperparameters=SMALL[GCForestModel])
    X, y = frame[["number", "many"]], frame.y.astype(int)
    model.fit(X=X[::2], y=y[::2], num_cpus=1)
    codes = model.preprocess(X).many
    known = np.arange(300) % 2 == 0
    # Levels are those of the type, which the test rows share.
    assert codes[known].tolist() == list(range(0, 300, 2))
    unseen = X.assign(many=pd.Categorical(["new"] * 300))
    assert model.preprocess(unseen).many.isna().all()
    assert model.predict_proba(unseen).shape == (300,)
