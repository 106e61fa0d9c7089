"""Plots of explanations show the explanation's numbers, in any form of X, and say what they lack."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cascadeforest import Explanation
from cascadeforest.plotting import plot_beeswarm, plot_dependence, plot_importances, plot_waterfall


@pytest.fixture(autouse=True)
def no_windows():
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


CLASSES = ["healthy", "ill"]
X = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 3.0], [3.0, 7.0, 0.0]])
OF_ILL = np.array([[0.25, -0.125, 0.0], [0.0, 0.125, -0.25], [0.0625, 0.0, 0.5]])
BIAS = np.array([0.75, 0.25])


def explanation(X=X, bias=BIAS):
    contributions = np.stack([-OF_ILL, OF_ILL], axis=2)
    return Explanation(bias, contributions, BIAS + contributions.sum(axis=1), ["age", "dose", "rare"], CLASSES, X)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, scipy.sparse.csr_matrix])
def test_the_waterfall_leads_from_the_bias_to_the_prediction(kind):
    ax = plot_waterfall(explanation(kind(X)), 2, "ill")
    assert ticks(ax) == ["dose = 7", "age = 3", "rare = 0"]  # from the bottom up: the greatest is on top
    starts = [bar.get_x() for bar in ax.patches]
    assert starts[0] == 0.25
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends == [0.25, 0.3125, 0.8125]
    assert starts[1:] == ends[:-1]
    assert texts(ax) == ["+0", "+0.0625", "+0.5"]
    assert ax.get_xlabel() == "probability of ill"
    assert "0.8125" in ax.get_title()


def test_the_waterfall_sums_the_small_ones_up_and_takes_the_predicted_class():
    ax = plot_waterfall(explanation(), 1, n_features=1)
    assert ax.get_xlabel() == "probability of healthy"
    assert ticks(ax) == ["2 other features", "rare = 3"]
    assert texts(ax) == ["-0.125", "+0.25"]
    by_row = np.tile(BIAS, (3, 1))
    assert plot_waterfall(explanation(bias=by_row), 1).get_title() == plot_waterfall(explanation(), 1).get_title()


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, scipy.sparse.csr_matrix])
def test_the_beeswarm_has_a_point_for_each_row_coloured_by_rank(kind):
    ax = plot_beeswarm(explanation(kind(X)), n_features=2)
    assert ticks(ax) == ["age", "rare"]  # mean absolute contributions 0.104 and 0.25
    rare = ax.collections[1]
    np.testing.assert_array_equal(rare.get_offsets()[:, 0], OF_ILL[:, 2])
    np.testing.assert_array_equal(rare.get_array(), [0, 1, 0])
    assert (abs(rare.get_offsets()[:, 1] - 1) <= 0.4).all()


def test_points_that_lie_together_stand_beside_each_other():
    together = np.zeros((50, 1, 1))
    one = Explanation(np.zeros(1), together, together[:, 0], ["x"], ["prediction"], np.arange(50.0)[:, None])
    heights = plot_beeswarm(one).collections[0].get_offsets()[:, 1]
    assert len(np.unique(heights)) == 50


def colours_of(points):
    """As they are drawn."""
    points.update_scalarmappable()
    return points.get_facecolors()


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_points_of_missing_values_are_grey(kind):
    """They were once drawn transparent: half of the rows of a column could be missing from the picture."""
    with_nan = X.copy()
    with_nan[0, 0] = with_nan[:, 1] = np.nan
    ax = plot_beeswarm(explanation(kind(with_nan)))
    drawn = dict(zip(ticks(ax), ax.collections, strict=False))
    grey, low, high = mpl.colors.to_rgba("#777777"), *mpl.colormaps["viridis"]([0.0, 1.0])
    np.testing.assert_allclose(colours_of(drawn["age"]), [grey, low, high])
    np.testing.assert_allclose(colours_of(drawn["dose"]), [grey] * 3)
    np.testing.assert_allclose(colours_of(drawn["rare"]), [low, high, low])
    for k, name in enumerate(["age", "dose", "rare"]):
        np.testing.assert_array_equal(drawn[name].get_offsets()[:, 0], OF_ILL[:, k])
        assert not np.ma.getmaskarray(drawn[name].get_offsets()).any()
    bars = [plot_beeswarm(explanation(kind(rows))).figure.axes[1] for rows in (with_nan, X)]
    assert ["grey: missing" in bar.get_ylabel() for bar in bars] == [True, False]


def test_importances_are_bars_the_greatest_on_top():
    ax = plot_importances([0.1, -0.2, 0.3], ["a", "b", "c"], n_features=2, std=[0.0, 0.1, 0.2])
    assert ticks(ax) == ["a", "c"]
    assert [bar.get_width() for bar in ax.patches] == [0.1, 0.3]
    assert ax.get_xlabel() == "importance"
    assert ticks(plot_importances([0.1, 0.2], (name for name in "ab"))) == ["a", "b"]
    assert plot_importances([0.1], label="MDI").get_xlabel() == "MDI"
    assert plot_importances(explanation(), label="mean of |contributions|").get_xlabel() == "mean of |contributions|"
    of_explanation = plot_importances(explanation())
    assert of_explanation.get_xlabel() == "mean absolute contribution"
    np.testing.assert_allclose([bar.get_width() for bar in of_explanation.patches][-1], 0.25)


def test_rows_of_which_nothing_is_known_are_not_drawn():
    """Rows without weight in `fit`, in explanations of held-out rows."""
    whole = explanation()
    parts = (whole.contributions.copy(), whole.prediction.copy())
    for part in parts:
        part[1] = np.nan
    some = Explanation(whole.bias, *parts, whole.feature_names, whole.output_names, whole.X)
    known = whole[[0, 2]]
    offsets = [plot_beeswarm(e).collections[1].get_offsets() for e in (some, known)]
    np.testing.assert_array_equal(*offsets)
    np.testing.assert_array_equal(*(plot_dependence(e, 2).collections[0].get_offsets() for e in (some, known)))
    widths = [[bar.get_width() for bar in plot_importances(e).patches] for e in (some, known)]
    assert widths[0] == widths[1]
    with pytest.raises(ValueError, match="row is 1, which had no weight"):
        plot_waterfall(some, 1)
    for empty in (whole[:0], some[1]):
        for plot in (plot_beeswarm, plot_importances, lambda e: plot_dependence(e, 0)):
            with pytest.raises(ValueError, match="explanation has no rows"):
                plot(empty)


def test_dependence_shows_value_and_contribution():
    for feature in ("rare", 2):
        points = plot_dependence(explanation(), feature).collections[0].get_offsets()
        np.testing.assert_array_equal(points, np.column_stack([X[:, 2], OF_ILL[:, 2]]))


def test_plots_draw_where_they_are_told_to():
    import matplotlib.pyplot as plt

    _, places = plt.subplots(2, 2)
    plots = [
        lambda ax: plot_waterfall(explanation(), ax=ax),
        lambda ax: plot_beeswarm(explanation(), ax=ax),
        lambda ax: plot_importances(explanation(), ax=ax),
        lambda ax: plot_dependence(explanation(), "age", ax=ax),
    ]
    for plot, ax in zip(plots, places.flat, strict=True):
        assert plot(ax) is ax


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_dependence(explanation(), "weight"), "'weight'"),
        (lambda: plot_dependence(explanation(), 3), "below 3"),
        (lambda: plot_beeswarm(explanation(), "dead"), "'dead'"),
        (lambda: plot_waterfall(explanation(), output=2), "output is 2"),
        (lambda: plot_waterfall(explanation(), n_features=0), "n_features"),
        (lambda: plot_importances([[1.0]]), "importances has shape"),
        (lambda: plot_importances([1.0], ["a", "b"]), "feature_names has 2"),
        (lambda: plot_importances([1.0], std=[0.1, 0.2]), "std has 2"),
        (lambda: plot_importances([1.0, 2.0], std=0.1), r"std is 0\.1; give one number a feature"),
        (lambda: plot_importances([1.0, 2.0], std=[[0.1, 0.2]] * 2), r"std has shape \(2, 2\); give one number"),
        (lambda: plot_importances([1.0], std=["a"]), r"std is \['a'\]; give one number"),
        (lambda: plot_importances("a"), "importances is 'a'; give one number a feature, or an Explanation"),
        (lambda: plot_importances(None), "importances is None; give one number a feature, or an Explanation"),
        (lambda: plot_importances(plot_importances), "importances is <function.*; give one number a feature"),
        (lambda: plot_importances(1.0), r"importances is 1\.0; give one number"),
        (lambda: plot_importances([1.0], 5), "feature_names is 5; give one name a feature"),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("given", [np.zeros((3, 3)), "ill", None, Explanation], ids=["array", "str", "None", "class"])
@pytest.mark.parametrize("plot", [plot_waterfall, plot_beeswarm, lambda given: plot_dependence(given, 0)])
def test_what_is_no_explanation_is_named(plot, given):
    with pytest.raises(TypeError, match=f"explanation is of type {type(given).__name__}; give an Explanation"):
        plot(given)


def test_plots_take_a_label_by_its_value_and_name_the_only_class():
    three = Explanation(
        *(np.zeros(3), np.zeros((1, 2, 3)), np.eye(3)[:1], ["a", "b"], ["1.0", "2.0", "3.0"], X[:1, :2]),
        classes=np.array([1.0, 2.0, 3.0]),
    )
    one = Explanation(np.ones(1), np.zeros((1, 2, 1)), np.ones((1, 1)), ["a", "b"], ["u"], X[:1, :2], np.array(["u"]))
    for given, output, name in ((three, 2, "2.0"), (one, None, "u")):
        assert plot_waterfall(given, 0, output).get_xlabel() == f"probability of {name}"
        assert plot_beeswarm(given, output).get_xlabel() == f"contribution to the probability of {name}"
        assert plot_dependence(given, 0, output).get_ylabel() == f"contribution to the\nprobability of {name}"


def test_a_class_must_be_named_where_there_are_three():
    three = Explanation(np.zeros(3), np.zeros((1, 2, 3)), np.zeros((1, 3)), ["a", "b"], ["u", "v", "w"], X[:1, :2])
    with pytest.raises(ValueError, match="output is None, but there are 3 classes"):
        plot_beeswarm(three)
    assert plot_beeswarm(three, "w").get_xlabel() == "contribution to the probability of w"


def test_a_number_is_a_label_where_labels_are_numbers():
    numbers = Explanation(np.zeros(3), np.zeros((1, 2, 3)), np.eye(3)[:1], ["a", "b"], ["1", "2", "3"], X[:1, :2])
    assert [numbers.output(label) for label in (1, np.int64(2), "3")] == [0, 1, 2]
    with pytest.raises(ValueError, match="output is 0"):
        numbers.output(0)
    assert numbers.text(0).splitlines()[0].endswith("probability of 1")
    truth = Explanation(np.zeros(2), np.zeros((1, 2, 2)), np.zeros((1, 2)), ["a", "b"], ["False", "True"], X[:1, :2])
    assert truth.output(True) == truth.output(np.True_) == 1
    floats = Explanation(np.zeros(2), np.zeros((1, 2, 2)), np.zeros((1, 2)), ["a", "b"], ["1.0", "2.0"], X[:1, :2])
    assert floats.output(1) == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray])
def test_levels_have_names_and_no_rank(kind):
    """In all plots; a missing level is no point of the dependence, and grey among the ranks."""
    frame = pd.DataFrame(X, columns=["age", "dose", "rare"]).assign(dose=["much", None, "little"])
    given = explanation(kind(frame))
    assert ticks(plot_waterfall(given, 2, "ill")) == ["dose = little", "age = 3", "rare = 0"]
    ax = plot_dependence(given, "dose")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["little", "much"]
    np.testing.assert_array_equal(np.ma.filled(ax.collections[0].get_offsets()[:, 0], np.nan), [1, np.nan, 0])
    ranks = {str(np.ma.filled(part.get_array(), np.nan)) for part in plot_beeswarm(given).collections}
    assert ranks == {"[nan nan nan]", "[0.  0.5 1. ]", "[0. 1. 0.]"}
