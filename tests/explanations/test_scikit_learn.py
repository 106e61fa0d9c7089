"""scikit-learn's forests: explained as treeinterpreter does, and as SHAP does where both agree."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError

from cascadeforest.explanations import Explainer, explain

KINDS = {
    "random forest": (RandomForestClassifier, {}),
    "of two classes": (RandomForestClassifier, {"max_depth": 4, "class_weight": "balanced"}),
    "best leaves first": (RandomForestClassifier, {"max_leaf_nodes": 9, "criterion": "entropy"}),
    "Extra-Trees": (ExtraTreesClassifier, {"bootstrap": True, "max_samples": 0.5}),
    "regression": (RandomForestRegressor, {}),
    "absolute error": (RandomForestRegressor, {"criterion": "absolute_error", "max_depth": 3}),
    "Extra-Trees regression": (ExtraTreesRegressor, {"min_samples_leaf": 3}),
}


def rows(name, n=120):
    """Rows, responses, and new rows; single precision, as the trees compare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 30, 6)).astype(np.float32).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 2]
    if "regression" in name or "error" in name:
        return X[:n], 50 + 10 * score[:n], X[n:]
    n_classes = 2 if "two" in name else 3
    labels = np.array(["c", "a", "b"])[np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))]
    return X[:n], labels[:n], X[n:]


def fitted(name, **more):
    kind, options = KINDS[name]
    X, y, new = rows(name)
    return kind(**{"n_estimators": 12, "random_state": 0} | options | more).fit(X, y), new


def naive(forest, X):
    """Bias and contributions (n, n_features, n_outputs): each row's path, step by step."""
    n_outputs = forest.estimators_[0].tree_.value.shape[2]
    bias, out = np.zeros(n_outputs), np.zeros((*X.shape, n_outputs))
    for tree in (estimator.tree_ for estimator in forest.estimators_):
        bias += tree.value[0, 0] / len(forest.estimators_)
        for i, path in enumerate(tree.decision_path(X.astype(np.float32)).toarray()):
            node = 0
            while tree.children_left[node] >= 0:
                (child,) = (int(c) for c in (tree.children_left[node], tree.children_right[node]) if path[c])
                change = tree.value[child, 0] - tree.value[node, 0]
                out[i, tree.feature[node]] += change / len(forest.estimators_)
                node = child
    return bias, out


@pytest.mark.parametrize("name", KINDS)
def test_contributions_are_those_of_the_paths(name):
    forest, new = fitted(name)
    found, (bias, expected) = explain(forest, new), naive(forest, new)
    assert_allclose(found.bias, bias, rtol=1e-12)
    assert_allclose(found.contributions, expected, rtol=0, atol=1e-11)
    is_classifier = hasattr(forest, "classes_")
    predicted = forest.predict_proba(new) if is_classifier else forest.predict(new)[:, None]
    assert_array_equal(found.prediction, predicted)
    assert_allclose(found.bias + found.contributions.sum(axis=1), predicted, rtol=1e-12, atol=1e-14)
    assert found.output_names == (list(forest.classes_) if is_classifier else ["prediction"])


class OneTarget:
    """A regression tree with one axis less: treeinterpreter 0.2.3 adds arrays of one number, numpy 2.4 does not."""

    def __init__(self, tree):
        self.tree, self.value = tree, tree.value[:, :, 0]

    def __getattr__(self, name):
        return getattr(self.tree, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_contributions_are_those_of_treeinterpreter(name):
    library = pytest.importorskip("treeinterpreter.treeinterpreter", reason="the package treeinterpreter is missing")
    forest, new = fitted(name)
    found = explain(forest, new)
    if not hasattr(forest, "classes_"):
        for tree in forest.estimators_:
            tree.tree_ = OneTarget(tree.tree_)
    prediction, bias, contributions = library.predict(forest, new)
    scale = abs(found.prediction).max()
    assert_allclose(found.contributions, contributions.reshape(found.contributions.shape), rtol=0, atol=1e-9 * scale)
    assert_allclose(np.broadcast_to(found.bias, found.prediction.shape), bias.reshape(len(new), -1), atol=1e-9 * scale)
    assert_allclose(found.prediction, prediction.reshape(len(new), -1), rtol=0, atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["random forest", "regression", "Extra-Trees"])
def test_trees_of_one_split_have_their_shap_values(name):
    """With one feature on each path the order of features does not matter."""
    shap = pytest.importorskip("shap", reason="the package shap is missing")
    forest, new = fitted(name, max_depth=1)
    values = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent").shap_values(new)
    found = explain(forest, new).contributions
    assert_allclose(found, np.asarray(values).reshape(found.shape), rtol=0, atol=1e-6 * abs(found).max())


def test_tables_sparse_rows_missing_values_and_threads():
    forest, new = fitted("random forest")
    expected = explain(forest, new)
    many = np.tile(new, (20, 1))
    assert_array_equal(explain(forest, many, n_jobs=2).contributions, np.tile(expected.contributions, (20, 1, 1)))
    for matrix in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, np.ndarray.tolist):
        found = explain(forest, matrix(new), layer=1)
        assert_array_equal(found.contributions, expected.contributions)
        assert_array_equal(found.values(3), new[3])
    X, y, new = rows("random forest")
    names = list("abcdef")
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    forest = RandomForestClassifier(5, random_state=0).fit(pd.DataFrame(holes, columns=names), y)
    frame = pd.DataFrame(np.where(new > 1, np.nan, new), columns=names)
    found = explain(forest, frame)
    assert found.feature_names == names
    assert_array_equal(found.prediction, forest.predict_proba(frame))


class Squared(RandomForestClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) ** 2


def test_what_is_not_explained_says_why():
    X, y, new = rows("random forest")
    forest, _ = fitted("random forest")
    with pytest.raises(ValueError, match="model predicts 2 outputs; fit a forest for each"):
        explain(RandomForestRegressor(2).fit(X, X[:, :2]), new)
    with pytest.raises(ValueError, match=r"from what Squared.predict_proba predicts: Squared does not"):
        explain(Squared(5, random_state=0).fit(X, y), new)
    with pytest.raises(ValueError, match="X_train is given, but nodes of scikit-learn's forests hold"):
        explain(forest, new, X, y)
    with pytest.raises(ValueError, match="layer is 2, but a forest has one layer"):
        explain(forest, new, layer=2)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        explain(forest, new, n_jobs=0)
    with pytest.raises(ValueError, match="X has 3 features"):
        explain(forest, new[:, :3])
    with pytest.raises(NotFittedError):
        explain(RandomForestClassifier(), new)
    with pytest.raises(TypeError, match=r"Random forests and Extra-Trees of scikit-learn are for explain\(model, X\)"):
        Explainer(forest)
