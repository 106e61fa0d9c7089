"""Importance by order of interaction: what picture, table, caption and CSV say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.stats import spearmanr
from tests.reports.conftest import panels, texts, words

from cascadeforest.reports.drawing.renderers import order_boxes
from cascadeforest.reports.drawing.renderers.order_boxes import MARGINAL, MDI, order_group, rank_correlation

NAME = "hidf-fig3"
#: Six features, two of them good, then interactions of orders 2 (five), 3 (one) and 14, 20 (one group).
ORDERS = [1] * 6 + [2] * 5 + [3, 14, 20]
LAYERS = [0] * 6 + [1] * 5 + [2, 3, 3]
ROOTS = [0.2, 0.1, 0, 0, 0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0, 0.45, 0.25]
SHARES = [0.01 * k for k in range(14)]


def declare(suite, datasets=("digits",), columns=("hidf",), **changes):
    given = {
        "datasets": list(datasets),
        "repeats": 1,
        "extras": ["interactions"],
        "options": {"informative": [0, 1]},
    } | changes
    suite.figure(NAME, "order_boxes", {name: name.upper() for name in columns}, "{}", **given)


def run(suite, model="hidf", n=None, orders=ORDERS, layers=LAYERS, roots=ROOTS, shares=SHARES):
    suite.summary("digits")
    suite.run("digits", model, [0.75], n_train=70, n_test=30)
    arrays = {"order": orders, "layer": layers, MARGINAL: roots, MDI: shares}
    suite.extra("digits", model, "interactions", **{name: np.array(own[:n]) for name, own in arrays.items()})


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def points(axes, marker):
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
    ("orders", "roots", "reason"),
    [
        ([], [], order_boxes.NO_INTERACTIONS),
        ([2, 3], [0.1, 0.2], order_boxes.TOO_FEW),
        ([2, 2, 2], [0.1, 0.2, 0.3], order_boxes.CONSTANT),
        ([2, 3, 4], [0.1, 0.1, 0.1], order_boxes.CONSTANT),
    ],
)
def test_where_there_is_no_correlation_words_say_why(orders, roots, reason):
    assert rank_correlation(pd.DataFrame({"order": orders, MARGINAL: roots}), MARGINAL) == reason


def test_boxes_table_and_files_show_the_groups(shown):
    (axes,) = panels(shown.table(NAME))
    assert ticks(axes) == ["1 (6)", "2 (5)", "3 (1)", "13–24 (2)"]
    assert len(axes.patches) == 4
    box = axes.patches[1].get_path().vertices[:-1]
    assert (box[:, 1].min(), box[:, 1].max()) == pytest.approx((0.2, 0.4))
    # Of 0.2, 0.1, 0, 0, 0, 0.01 the upper quartile is 0.0775: 0.2 lies above its whisker, and so has a circle.
    assert points(axes, "o") == [(0, 0.1), (0, 0.2), (0, 0.2)]
    view = shown.table(NAME).view
    assert view.label_heads == ("data set", "order")
    assert view.heads[:3] == ("features", "of these at a root", "marginal importance, median")
    assert [texts(row) for row in view.rows] == [
        ["6", "3", "0.005000", "0.000", "0.07750", "0.2000"],
        ["5", "5", "0.3000", "0.2000", "0.4000", "0.5000"],
        ["1", "0", "0.000", "0.000", "0.000", "0.000"],
        ["2", "2", "0.3500", "0.3000", "0.4000", "0.4500"],
    ]
    table = shown.table(NAME)
    rows = {row.key[2:]: row for row in table.rows}
    assert rows["order 2, median", MDI].mean == pytest.approx(0.08)
    assert rows["order 13 to 24, largest", MDI].mean == pytest.approx(0.13)
    of_interactions = [(order, layer) for order, layer in zip(ORDERS, LAYERS, strict=True) if order > 1]
    by_layer = rows["interactions, layer", "rank_correlation"].mean
    assert by_layer == pytest.approx(spearmanr(of_interactions).statistic)
    lines = table.figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * len(ORDERS)
    assert 'digits,hidf,"order 1, x5",root_importance,0.01,,1,30,,,,,ok,' in lines
    assert 'digits,hidf,"order 14, I7, layer 3",importance,0.12,,1,30,,,,,ok,' in lines


def test_informative_features_are_named_at_their_places(suite):
    declare(suite, options={"informative": [0, 2]})
    run(suite)
    (axes,) = panels(suite.table(NAME))
    assert words(axes) == ["x2", "x0"]  # from below; though x2 is at no root
    assert axes.get_legend_handles_labels()[1] == ["informative features"]
    declare(suite, options={"informative": [2, 3]})
    run(suite)
    (axes,) = panels(suite.table(NAME))
    assert words(axes) == ["x2, x3"]  # close to each other: one name for both


def test_models_stand_beside_each_other_also_without_interactions_or_data(suite):
    declare(suite)
    run(suite, n=6)
    table = suite.table(NAME)
    (axes,) = panels(table)
    assert ticks(axes) == ["1 (6)"]
    assert "no\ninteractions\nfound" in words(axes)
    assert [row.labels for row in table.view.rows] == [("digits", "1")]
    rows = {row.key[2:]: row for row in table.rows}
    assert rows[f"interactions, {MARGINAL}", "rank_correlation"].note == order_boxes.NO_INTERACTIONS
    declare(suite, columns=("none", "hidf", "code"))
    run(suite)
    run(suite, "code", n=6)
    table = suite.table(NAME)
    none, hidf, code = panels(table)
    assert [axes.get_title() for axes in (none, hidf, code)] == ["NONE", "HIDF", "CODE"]
    assert words(none) == ["unavailable: not run"]
    assert hidf.get_ylim() == code.get_ylim()
    assert [row.labels for row in table.view.rows] == [
        ("digits", "NONE", ""),
        *(("digits", "HIDF", name) for name in ("1", "2", "3", "13 to 24")),
        ("digits", "CODE", "1"),
    ]
    declare(suite, ["har", "digits"], absent={"har": "not on the mirror"})
    run(suite)
    absent, present = panels(suite.table(NAME))
    assert words(absent) == ["unavailable: not on the mirror"]
    assert ticks(present)[0] == "1 (6)"


def test_notes_give_both_correlations_and_the_caption_what_the_paper_says_of_which_data(shown):
    statement = "on hidf_sphere the marginal importance of all but 2 input features is nearly zero"
    assert statement in shown.table(NAME).figure.caption
    found = [spearmanr(ORDERS[6:], values[6:]) for values in (ROOTS, SHARES, LAYERS)]
    words = [f"p = {one.pvalue:.2g}" if one.pvalue >= 0.001 else "p < 0.001" for one in found]
    marginal, mdi, layer = (f"{one.statistic:.2f} ({p})".replace("-", "−") for one, p in zip(found, words, strict=True))
    table = shown.table(NAME)
    assert (
        f"digits: marginal importance {marginal}, mean decrease in impurity {mdi}, layer {layer}." in table.view.notes
    )
    assert "Drawn and shown is the first repeat." not in table.view.notes  # there is no other
    run(shown, n=20, orders=[1, *range(1, 20)], layers=[0, 0] + [1] * 18, roots=range(20), shares=range(20))
    assert any("1.00 (p < 0.001)" in note for note in shown.table(NAME).view.notes)


def test_numbers_are_means_over_the_repeats_that_have_such_features(suite):
    declare(suite, repeats=3)
    suite.summary("digits")
    suite.run("digits", "hidf", [0.75] * 3, n_train=70, n_test=30)
    shorter = {"order": ORDERS[:12], "layer": LAYERS[:12], MARGINAL: [2 * one for one in ROOTS[:12]], MDI: SHARES[:12]}
    longer = {"order": ORDERS, "layer": LAYERS, MARGINAL: ROOTS, MDI: SHARES}
    without = {name: own[:6] for name, own in longer.items()}
    for repeat, own in enumerate((longer, shorter, without)):
        suite.extra("digits", "hidf", "interactions", repeat, **{name: np.array(found) for name, found in own.items()})
    rows = {row.key[2:]: row for row in suite.table(NAME).rows}
    assert rows["order 2, median", MARGINAL].values == pytest.approx((0.3, 0.6))
    assert rows["order 13 to 24, median", MARGINAL].values == pytest.approx((0.35,))
    expected = [spearmanr(orders, roots)[0] for orders, roots in ((ORDERS[6:], ROOTS[6:]), (ORDERS[6:12], ROOTS[6:12]))]
    assert rows[f"interactions, {MARGINAL}", "rank_correlation"].values == pytest.approx(expected)
    assert (f"interactions, {MARGINAL}", "p_value") not in rows  # of several models there is none
    assert ticks(panels(suite.table(NAME))[0]) == ["1 (6)", "2 (5)", "3 (1)", "13–24 (2)"]
    notes = suite.notes(NAME)
    assert "means over the repeats that have features of such an order" in notes
    assert f"{np.mean(expected):.2f} (2 of 3 repeats)".replace("-", "−") in notes
    assert [row.size for row in suite.table(NAME).view.rows] == ["3", "2", "2", "1"]
