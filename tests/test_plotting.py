"""Plots show the numbers of the model, take any cascade, and say what they lack."""

import copy
import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from cascadeforest import CascadeForestRegressor, GCForestClassifier, MDDFClassifier
from cascadeforest.plotting import plot_layers, plot_margins


@pytest.fixture(autouse=True)
def no_windows():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]


def mddf(**changes):
    parameters = {"gamma": 0.85, "mu": 0.05, "theta": 2, "max_layers": 4, "patience": 4, "random_state": 1}
    return MDDFClassifier(2, 5, **(parameters | changes)).fit(X[::2], LABELS[::2])


@pytest.fixture(scope="module")
def model():
    return mddf()


def curves(ax):
    return {line.get_label(): np.asarray(line.get_ydata(), float) for line in ax.lines}


def test_layers_are_the_scores_and_ratios_of_the_model(model):
    ax = plot_layers(model)
    assert curves(ax) == {"accuracy, training rows out of fold": pytest.approx(model.validation_scores_)}
    right = ax.figure.axes[-1]
    assert curves(right) == {"margin ratio, training rows out of fold": pytest.approx(model.margin_ratio_)}
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3, 4]
    assert (ax.get_xlabel(), ax.get_ylabel(), right.get_ylabel()) == ("layer", "accuracy", "margin ratio (std / mean)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*curves(ax), *curves(right)]


def test_test_rows_have_a_number_for_each_kept_layer():
    model = mddf(keep="last")
    ax = plot_layers(model, X[1::2], LABELS[1::2])
    accuracy = [np.mean(predicted == LABELS[1::2]) for predicted in model.staged_predict(X[1::2])]
    assert curves(ax)["accuracy, test rows"] == pytest.approx(accuracy)
    margins = list(model.staged_margins(X[1::2], LABELS[1::2]))
    drawn = curves(ax.figure.axes[-1])["margin ratio, test rows"]
    assert drawn == pytest.approx([np.std(z) / np.mean(z) for z in margins])
    assert len(drawn) == model.n_layers_ == 4


def test_dropped_layers_have_training_rows_only(model):
    assert model.n_layers_ < len(model.validation_scores_)
    assert len(curves(plot_layers(model, X[1::2], LABELS[1::2]))["accuracy, test rows"]) == model.n_layers_


def test_a_cascade_without_margins_has_scores_only():
    model = GCForestClassifier(2, 5, scoring="neg_log_loss", max_layers=2, random_state=0).fit(X[::2], LABELS[::2])
    ax = plot_layers(model, X[1::2], LABELS[1::2])
    assert len(ax.figure.axes) == 1
    assert ax.get_ylabel() == "neg_log_loss"
    (drawn,) = [values for label, values in curves(ax).items() if "test" in label]
    last = model.predict_proba(X[1::2])[np.arange(75), Y[1::2]]
    assert drawn[-1] == pytest.approx(np.mean(np.log(np.clip(last, np.finfo(float).eps, 1))))


def test_a_regression_cascade_shows_its_error_as_it_is():
    data, target = load_diabetes(return_X_y=True)
    model = CascadeForestRegressor(2, 5, max_layers=2, random_state=0).fit(data[::2], target[::2])
    drawn = curves(plot_layers(model, data[1::2], target[1::2]))
    assert drawn["root mean squared error, training rows out of fold"] == pytest.approx(-model.validation_scores_)
    error = np.sqrt(np.mean((model.predict(data[1::2]) - target[1::2]) ** 2))
    assert drawn["root mean squared error, test rows"][-1] == pytest.approx(error)


def test_an_infinite_ratio_is_a_gap(model):
    worse = copy.copy(model)
    worse.margin_ratio_ = np.array([np.inf, 0.5, 0.4, 0.3])  # a first layer whose mean margin is below 0
    right = plot_layers(worse).figure.axes[-1]
    assert np.isnan(curves(right)["margin ratio, training rows out of fold"]).tolist() == [True, False, False, False]


def test_margins_are_drawn_as_shares_of_the_rows(model):
    ax = plot_margins(model, layers=[2])
    line = next(line for line in ax.lines if line.get_label().startswith("layer 2"))
    margins = model.margins_[1]
    reached = dict(zip(*map(np.ndarray.tolist, map(np.asarray, line.get_data())), strict=True))  # equal ones: the last
    assert reached == {margin: pytest.approx(np.mean(margins <= margin)) for margin in set(margins.tolist())}
    assert f"margin ratio {model.margin_ratio_[1]:.2f}" in line.get_label()


def test_the_first_and_the_last_layer_are_drawn_unless_others_are_named(model):
    labels = [text.get_text().split(",")[0] for text in plot_margins(model).get_legend().get_texts()]
    assert labels == ["layer 1", "layer 4"]
    assert len(plot_margins(mddf(max_layers=1)).get_legend().get_texts()) == 1


def test_rows_without_weight_are_not_counted():
    weight = np.ones(75)
    weight[::3] = 0
    model = MDDFClassifier(2, 5, gamma=0.85, mu=0.05, theta=2, max_layers=1, random_state=0)
    ax = plot_margins(model.fit(X[::2], Y[::2], weight))
    assert np.isfinite(ax.lines[0].get_xdata()[1:]).all()
    assert len(ax.lines[0].get_xdata()) == 50 + 1  # the step from 0 begins twice


def test_both_draw_where_they_are_told(model):
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    assert plot_layers(model, ax=left) is left
    assert plot_margins(model, ax=right) is right
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("plot", [plot_layers, plot_margins])
def test_a_model_that_is_not_fitted_is_refused(plot):
    with pytest.raises(NotFittedError):
        plot(MDDFClassifier())


def test_what_a_model_lacks_is_named(model):
    with pytest.raises(ValueError, match="GCForestClassifier, which has no margins_; plot_margins takes a model with"):
        plot_margins(GCForestClassifier(2, 3, max_layers=1, random_state=0).fit(X, Y))
    with pytest.raises(ValueError, match=r"layers has \[0, 5\]; the model has margins of the layers 1 to 4"):
        plot_margins(model, layers=[0, 1, 5])
    with pytest.raises(ValueError, match="X was given without y"):
        plot_layers(model, X)
    with pytest.raises(ValueError, match=r"y has the classes \['other'\], which fit did not see"):
        plot_layers(model, X[:1], ["other"])


def test_without_matplotlib_the_remedy_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (plot_layers, plot_margins):
        with pytest.raises(ImportError, match=r"Install it: pip install matplotlib"):
            plot(model)
