"""Importance by order of interaction: what picture, table, caption and CSV say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.stats import spearmanr

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing.renderers import order_boxes
from cascadeforest.reports.drawing.renderers.order_boxes import MARGINAL, MDI, order_group, rank_correlation

NAME = "hidf-fig3"
#: Six features, two of them good, then interactions of orders 2 (five), 3 (one) and 14, 20 (one group).
ORDERS = [1] * 6 + [2] * 5 + [3, 14, 20]
LAYERS = [0] * 6 + [1] * 5 + [2, 3, 3]
ROOTS = [0.2, 0.1, 0, 0, 0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0, 0.45, 0.25]
SHARES = [0.01 * k for k in range(14)]


def declare(suite, datasets=("digits",), columns=("hidf",), **changes):
    suite.experiment(
        NAME,
        kind="figure",
        render="order_boxes",
        title="Marginal importance against order",
        datasets=list(datasets),
        labels={name: name.upper() for name in columns},
        repeats=1,
        **{"extras": ["interactions"]} | changes,
    )


def run(suite, model="hidf", n=None, orders=ORDERS, layers=LAYERS, roots=ROOTS, shares=SHARES):
    """A model with the first n columns."""
    suite.summary("digits")
    suite.run("digits", model, [0.75], n_train=70, n_test=30)
    arrays = {"order": orders, "layer": layers, MARGINAL: roots, MDI: shares}
    suite.extra("digits", model, "interactions", **{name: np.array(own[:n]) for name, own in arrays.items()})


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite)
    return suite


def panels(table):
    return [axes for part in table.figure.draw().subfigs for axes in part.axes]


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def points(axes, marker):
    """Places of the points with a marker, by x and y."""
    drawn = [line.get_xydata() for line in axes.lines if line.get_marker() == marker and line.get_linestyle() == "None"]
    return sorted(map(tuple, np.concatenate(drawn).tolist())) if drawn else []


def test_low_orders_are_alone_and_high_ones_share_groups_that_double():
    groups = {1: "1", 12: "12", 13: "13 to 24", 24: "13 to 24", 25: "25 to 48", 49: "49 to 96", 385: "385 to 768"}
    assert {order: order_group(order) for order in groups} == groups


@settings(deadline=None, derandomize=True)
@given(integers(1, 5000))
def test_each_order_is_in_its_group_and_all_orders_of_a_group_share_it(order):
    bounds = [int(bound) for bound in order_group(order).split(" to ")]
    first, last = bounds[0], bounds[-1]
    assert first <= order <= last
    assert {order_group(other) for other in range(first, last + 1)} == {order_group(order)}


def test_the_correlation_is_spearmans():
    found = pd.DataFrame({"order": [2, 2, 5, 9, 4], MARGINAL: [0.1, 0, 0.3, 0.2, 0.2]})
    expected = spearmanr(found.order, found[MARGINAL])
    assert rank_correlation(found, MARGINAL) == (pytest.approx(expected.statistic), float(f"{expected.pvalue:.3g}"))


@pytest.mark.parametrize(
    ("orders", "roots", "words"),
    [
        ([], [], order_boxes.NO_INTERACTIONS),
        ([2, 3], [0.1, 0.2], order_boxes.TOO_FEW),
        ([2, 2, 2], [0.1, 0.2, 0.3], order_boxes.CONSTANT),
        ([2, 3, 4], [0.1, 0.1, 0.1], order_boxes.CONSTANT),
    ],
)
def test_where_there_is_no_correlation_words_say_why(orders, roots, words):
    assert rank_correlation(pd.DataFrame({"order": orders, MARGINAL: roots}), MARGINAL) == words


def test_boxes_and_points_show_the_groups(shown):
    (axes,) = panels(shown.table(NAME))
    assert ticks(axes) == ["1 (6)", "2 (5)", "3 (1)", "13–24 (2)"]
    assert len(axes.patches) == 2
    box = axes.patches[1].get_path().vertices[:-1]
    assert (box[:, 1].min(), box[:, 1].max()) == pytest.approx((0.2, 0.4))
    assert points(axes, "D") == [(2, 0), (3, 0.25), (3, 0.45)]  # too few for boxes
    # Of 0.2, 0.1, 0, 0, 0, 0.01 the upper quartile is 0.0775: 0.2 lies above its whisker, and so has a circle.
    assert points(axes, "o") == [(0, 0.1), (0, 0.2), (0, 0.2)]


@pytest.mark.parametrize(
    ("options", "roots", "names"),
    [
        ({}, ROOTS, ["x0", "x1"]),
        ({}, [0.2, 0.21, *ROOTS[2:]], ["x1\nx0"]),  # too close for two texts
        ({"informative": [0, 2]}, ROOTS, ["x0", "x2"]),  # though x2 is at no root
        ({}, [0] * len(ORDERS), []),
    ],
)
def test_names_are_the_informative_features_or_the_largest(suite, options, roots, names):
    declare(suite, options=options)
    run(suite, roots=roots)
    assert texts(panels(suite.table(NAME))[0]) == names


def test_a_model_without_interactions_shows_the_features_and_says_so(suite):
    declare(suite)
    run(suite, n=6)
    table = suite.table(NAME)
    (axes,) = panels(table)
    assert ticks(axes) == ["1 (6)"]
    assert "no\ninteractions\nfound" in texts(axes)
    assert "3 of 6 input features and no interactions, since none was found" in table.figure.caption
    assert [row.labels for row in table.view.rows] == [("digits", "1")]
    rows = {row.key[2:]: row for row in table.rows}
    assert rows[f"interactions, {MARGINAL}", "rank_correlation"].note == order_boxes.NO_INTERACTIONS


def test_models_stand_beside_each_other_on_one_scale(suite):
    declare(suite, columns=("none", "hidf", "code"))
    run(suite)
    run(suite, "code", n=6)
    table = suite.table(NAME)
    none, hidf, code = panels(table)
    assert [axes.get_title() for axes in (none, hidf, code)] == ["NONE", "HIDF", "CODE"]
    assert texts(none) == ["unavailable: not run"]
    assert hidf.get_ylim() == code.get_ylim()
    assert [row.labels for row in table.view.rows] == [
        ("digits", "NONE", ""),
        *(("digits", "HIDF", name) for name in ("1", "2", "3", "13 to 24")),
        ("digits", "CODE", "1"),
    ]
    assert table.figure.files() == suite.table(NAME).figure.files()


def test_a_data_set_that_is_not_there_has_words(suite):
    declare(suite, ["har", "digits"], absent={"har": "not on the mirror"})
    run(suite)
    absent, present = panels(suite.table(NAME))
    assert texts(absent) == ["unavailable: not on the mirror"]
    assert ticks(present)[0] == "1 (6)"


def test_the_table_has_a_line_for_each_group(shown):
    view = shown.table(NAME).view
    assert view.label_heads == ("data set", "order")
    assert view.heads[:3] == ("features", "of these at a root", "marginal importance, median")
    assert [[cell.text for cell in row.cells] for row in view.rows] == [
        ["6", "3", "0.005000", "0.000", "0.07750", "0.2000"],
        ["5", "5", "0.3000", "0.2000", "0.4000", "0.5000"],
        ["1", "0", "0.000", "0.000", "0.000", "0.000"],
        ["2", "2", "0.3500", "0.3000", "0.4000", "0.4500"],
    ]


def test_the_csv_files_have_the_mean_decrease_in_impurity_too(shown):
    table = shown.table(NAME)
    rows = {row.key[2:]: row for row in table.rows}
    assert rows["order 2, median", MDI].mean == pytest.approx(0.08)
    assert rows["order 13 to 24, largest", MDI].mean == pytest.approx(0.13)
    lines = table.figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * len(ORDERS)
    assert 'digits,hidf,"order 1, x5",root_importance,0.01,,1,30,,,,,ok,' in lines
    assert 'digits,hidf,"order 14, I7, layer 3",importance,0.12,,1,30,,,,,ok,' in lines


def test_notes_give_both_correlations(shown):
    found = [spearmanr(ORDERS[6:], values[6:]) for values in (ROOTS, SHARES)]
    marginal, mdi = (f"{one.statistic:.2f} (p = {one.pvalue:.2g})".replace("-", "−") for one in found)
    table = shown.table(NAME)
    assert f"digits: marginal importance {marginal}, mean decrease in impurity {mdi}." in table.view.notes
    assert "7 of 8 interactions of orders 2 to 20" in table.figure.caption


def test_small_p_values_are_not_written_out(suite):
    declare(suite)
    run(suite, n=20, orders=range(1, 21), layers=[0] + [1] * 19, roots=range(20), shares=range(20))
    assert any("1.00 (p < 0.001)" in note for note in suite.table(NAME).view.notes)


def test_the_caption_says_what_the_paper_says_of_which_data(shown):
    shown.as_printed(NAME)
    words = "on hidf_sphere the marginal importance of all but 2 input features is nearly zero"
    assert words in shown.table(NAME).figure.caption


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extras": []}, r"/extras are \[\]; add 'interactions'"),
        ({"options": {"informative": [6]}}, r"/options/informative is \[6\]; give a list of columns below 6"),
        ({"options": {"informative": 2}}, "/options/informative is 2; it must be a list"),
    ],
)
def test_what_cannot_be_drawn_is_refused(shown, changes, words):
    declare(shown, **changes)
    with pytest.raises(ConfigError, match=f"hidf.yaml: hidf-fig3{words}"):
        shown.table(NAME)
