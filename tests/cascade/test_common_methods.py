"""Methods that all classifiers of this package have."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from cascadeforest import (
    DDBFClassifier,
    EnrichedRandomForestClassifier,
    GCForestClassifier,
    GCForestCSClassifier,
    HardExampleClassifier,
    HiDFClassifier,
    MDDFClassifier,
    MultiGrainedScanner,
    RandomForestClassifier,
)

LAYERS = {"n_forests": 2, "n_estimators": 4, "max_layers": 2, "keep": "last", "random_state": 0}
FIXED = {"gamma": 0.85, "mu": 0.05, "theta": 4}
SEARCH = {"cv_estimators": 3, "rule_estimators": 2, "n_bootstraps": 3, "n_folds": 3}
MODELS = [
    GCForestClassifier(**LAYERS),
    GCForestCSClassifier(**LAYERS),
    MDDFClassifier(**LAYERS, **FIXED),
    HiDFClassifier(**LAYERS, **SEARCH, keep_stages=True),
    DDBFClassifier(4, max_layers=3, vote_fraction=0.5, keep="last", random_state=0),
    HardExampleClassifier(GaussianNB(), 4, vote_fraction=0.5, random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
NAMES = np.array(["iris setosa", "iris versicolor", "iris virginica"])


def data():
    """Iris, some of it under wrong labels, which are strings."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    return X, NAMES[np.where(rng.random(len(y)) < 0.15, rng.integers(0, 3, len(y)), y)]


@every_model
def test_logarithms_of_probabilities(model):
    X, y = data()
    model.fit(X, y)
    probability, logarithm = model.predict_proba(X), model.predict_log_proba(X)  # without a warning of numpy
    assert logarithm[probability == 0].tolist() == [-np.inf] * np.count_nonzero(probability == 0)
    np.testing.assert_allclose(np.exp(logarithm), probability, rtol=1e-12)


@every_model
def test_stages_end_in_the_prediction(model):
    X, y = data()
    model.fit(X, y)
    stages, labels = list(model.staged_predict_proba(X)), list(model.staged_predict(X))
    assert len(stages) == len(labels) > 1
    assert stages[0].tobytes() != stages[-1].tobytes() == model.predict_proba(X).tobytes()
    assert [label.tolist() for label in labels] == [NAMES[stage.argmax(axis=1)].tolist() for stage in stages]


@pytest.mark.parametrize("model", [m for m in MODELS if hasattr(m, "scoring")], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("scoring", ["roc_auc", "f1"])
def test_a_scorer_of_two_classes_is_refused_for_three(model, scoring):
    with pytest.raises(ValueError, match=rf"^scoring is '{scoring}', which cannot score 3 classes .*; choose"):
        clone(model).set_params(scoring=scoring).fit(*data())


@pytest.mark.parametrize(
    "model",
    [*MODELS, RandomForestClassifier(2), EnrichedRandomForestClassifier(2), MultiGrainedScanner(n_estimators=2)],
    ids=lambda model: type(model).__name__,
)
def test_more_than_one_output_is_refused(model):
    X, y = data()
    two = np.column_stack([y, y[::-1]])
    said = r"^y has 2 columns, but .* one class for each row; .*sklearn\.multioutput\.MultiOutputClassifier"
    for several in (two, two.tolist(), pd.DataFrame(two), csr_matrix(two == NAMES[0])):
        with pytest.raises(ValueError, match=said):
            clone(model).fit(X, several)


def test_a_model_for_each_output_is_the_remedy():
    X, y = data()
    two = np.column_stack([y, y[::-1]])
    model = MultiOutputClassifier(RandomForestClassifier(3, random_state=0)).fit(X, two)
    alone = [RandomForestClassifier(3, random_state=0).fit(X, column).predict(X) for column in two.T]
    assert model.predict(X).tolist() == np.column_stack(alone).tolist()


@every_model
def test_stages_need_a_fit(model):
    unfitted = clone(model)
    for method in (unfitted.staged_predict, unfitted.staged_predict_proba):
        with pytest.raises(NotFittedError, match=type(model).__name__):
            next(method(data()[0]))
