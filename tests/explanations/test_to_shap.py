"""`Explanation.to_shap`: what shap's plots get, and that they draw it."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from cascadeforest import RandomForestClassifier
from cascadeforest.explanations import Explainer, explain

from .models import MODELS, data

PLOTS = ["waterfall", "beeswarm", "bar", "scatter"]
CASES = ["gcforest", "gcforest of two classes", "regressor", "levels", "sparse", "one row"]


@pytest.fixture
def shap(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return pytest.importorskip("shap", reason="the package shap is missing")


def explained(name):
    model, own, _ = MODELS[name].fitted()
    return Explainer(model).explain(own.new)


def with_levels():
    own = data(3)
    X = pd.DataFrame(own.X, columns=list("abcde"))
    X["c"] = pd.Categorical(np.where(own.X[:, 0] > 0, "high", "low"))
    X.loc[:3, "c"] = np.nan
    return explain(RandomForestClassifier(5, random_state=0, categorical_features="from_dtype").fit(X, own.y), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gcforest", "gcforest of two classes", "regressor"])
def test_values_base_values_and_data_are_those_of_the_output(shap, name):
    found = explained(name)
    output = 1 if name == "gcforest" else None
    c = found.output(output)
    theirs = found.to_shap(output)
    assert isinstance(theirs, shap.Explanation)
    assert_array_equal(theirs.values, found.contributions[:, :, c])
    assert_array_equal(theirs.base_values, np.full(len(found), found.bias[c]))
    assert_array_equal(theirs.data, found.X)
    assert theirs.feature_names == found.feature_names
    error = theirs.base_values + theirs.values.sum(axis=1) - found.prediction[:, c]
    assert abs(error).max() < 1e-9 * abs(found.prediction).max()


@pytest.mark.filterwarnings("ignore")
def test_each_row_keeps_its_own_bias(shap):
    model, *_ = MODELS["regressor"].fitted()
    found = Explainer(model).explain_held_out()
    assert_array_equal(found.to_shap().base_values, found.bias[:, 0])
    assert len(set(found.to_shap().base_values)) > 1


@pytest.mark.filterwarnings("ignore")
def test_levels_are_numbers_to_compute_with_and_names_to_show(shap):
    theirs = with_levels().to_shap(2)
    assert theirs.display_data[5, 2] in ("high", "low")
    assert set(theirs.data[4:, 2]) == {0.0, 1.0}
    assert np.isnan(theirs.data[:3, 2]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("case", CASES)
def test_shap_draws_it(shap, plot, case):
    import matplotlib.pyplot as plt

    if case == "levels":
        found = with_levels()
    elif case == "sparse":
        own = data(3)
        X = scipy.sparse.csr_matrix(np.nan_to_num(own.X))
        found = explain(RandomForestClassifier(5, random_state=0).fit(X, own.y), X)
    else:
        found = explained("gcforest" if case == "one row" else case)
    theirs = (found[:1] if case == "one row" else found).to_shap(None if len(found.output_names) < 3 else 1)
    plt.close("all")
    if plot == "waterfall":
        shap.plots.waterfall(theirs[0], show=False)
    elif plot == "scatter":
        shap.plots.scatter(theirs[:, 0], show=False)
    else:
        getattr(shap.plots, plot)(theirs, show=False)
    assert any(ax.collections or ax.patches for ax in plt.gcf().axes)
    plt.close("all")


def test_without_shap_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"to_shap needs the package shap: pip install shap"):
        explained("regressor").to_shap()


def test_outputs_are_chosen_as_elsewhere():
    with pytest.raises(ValueError, match="output is None, but there are 3 classes"):
        explained("gcforest").to_shap()
