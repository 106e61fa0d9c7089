"""Explanations of models at the end of a pipeline: rows go through its steps, and names come from them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from cascadeforest import GCForestClassifier
from cascadeforest.explanations import Explainer, explain

from .models import SMALL, data

NAMES = list("abcde")


def rows():
    own = data(3)
    return pd.DataFrame(own.X, columns=NAMES).fillna(0.0), own.y, pd.DataFrame(own.new, columns=NAMES).fillna(0.0)


def test_rows_go_through_the_steps_before_the_model():
    X, y, new = rows()
    pipeline = make_pipeline(StandardScaler(), GCForestClassifier(**SMALL)).fit(X, y)
    model, scaled = pipeline[-1], pipeline[:-1].transform(new)
    expected = Explainer(model).explain(scaled)
    for explainer in (Explainer(pipeline), Explainer(pipeline, X, y), pickle.loads(pickle.dumps(Explainer(pipeline)))):
        found = explainer.explain(new)
        assert_array_equal(found.contributions, expected.contributions)
        assert_array_equal(found.X, scaled)
        assert found.feature_names == NAMES
    assert_allclose(found.prediction, pipeline.predict_proba(new), atol=1e-12)
    second = explain(pipeline, new, X, y, layer=2)
    assert_array_equal(second.contributions, Explainer(model).explain(scaled, 2).contributions)
    assert_array_equal(Explainer(pipeline).importances(), Explainer(model).importances())


def test_names_follow_columns_that_steps_make():
    X, y, new = rows()
    X["e"], new["e"] = np.where(X["a"] > 0, "high", "low"), "high"
    columns = ColumnTransformer([("level", OneHotEncoder(), ["e"]), ("number", "passthrough", ["a", "b"])])
    inner = make_pipeline(StandardScaler(), RandomForestRegressor(4, random_state=0))
    pipeline = Pipeline([("columns", columns), ("scaled forest", inner)]).fit(X, y.astype(float))
    found = explain(pipeline, new)
    assert found.feature_names == ["level__e_high", "level__e_low", "number__a", "number__b"]
    assert_array_equal(found.prediction[:, 0], pipeline.predict(new))


@pytest.mark.parametrize("is_frame", [True, False])
def test_steps_without_names_give_numbers(is_frame):
    X, y, new = rows()
    X, new = (X, new) if is_frame else (X.to_numpy(), new.to_numpy())
    pipeline = make_pipeline(FunctionTransformer(np.asarray), StandardScaler(), GCForestClassifier(**SMALL)).fit(X, y)
    assert explain(pipeline, new).feature_names == ["x0", "x1", "x2", "x3", "x4"]


def test_a_model_that_knows_its_columns_names_them():
    X, y, new = rows()
    renamed = FunctionTransformer(lambda X: X.rename(columns=str.upper))
    pipeline = make_pipeline(renamed, GCForestClassifier(**SMALL)).fit(X, y)
    found = explain(pipeline, new)
    assert found.feature_names == list("ABCDE")
    assert list(found.X.columns) == list("ABCDE")
    alone = Pipeline([("model", GCForestClassifier(**SMALL))]).fit(X, y)
    assert explain(alone, new).feature_names == NAMES


def test_pipelines_that_cannot_be_explained_say_why():
    X, _, new = rows()
    with pytest.raises(NotFittedError):
        Explainer(make_pipeline(StandardScaler(), GCForestClassifier(**SMALL)))
    with pytest.raises(TypeError, match="model is a StandardScaler of sklearn"):
        explain(make_pipeline(StandardScaler()).fit(X), new)
