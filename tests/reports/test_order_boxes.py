"""Importance by order of interaction: what picture, table, caption and CSV say."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists
from scipy.stats import spearmanr

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.renderers.order_boxes import (
    CONSTANT,
    MARGINAL,
    MDI,
    NO_INTERACTIONS,
    TOO_FEW,
    Importances,
    order_groups,
    rank_correlation,
)
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "hidf-fig3.csv"
EXTRA = "interactions"
#: Six features, two of them good, then interactions of orders 2 (five), 3 (one) and 14, 20 (one group).
ORDERS = [1] * 6 + [2] * 5 + [3, 14, 20]
LAYERS = [0] * 6 + [1] * 5 + [2, 3, 3]
ROOTS = [0.2, 0.1, 0, 0, 0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0, 0.45, 0.25]
SHARES = [0.01 * k for k in range(14)]


def declare(suite, datasets=("digits",), **changes):
    suite.experiment(
        "hidf-fig3",
        kind="figure",
        render="order_boxes",
        title="Marginal importance against order",
        datasets=list(datasets),
        **(
            {
                "columns": {"hidf": "hidf_12"},
                "labels": {"hidf": "hiDF"},
                "libraries": {"hidf": []},
                "extras": [EXTRA],
                "repeats": dict.fromkeys(datasets, 1),
            }
            | changes
        ),
    )


def run(suite, dataset="digits", model="hidf_12", orders=ORDERS, layers=LAYERS, roots=ROOTS, shares=SHARES):
    suite.summary(dataset)
    suite.run(dataset, model, [0.75], n_train=70, n_test=30)
    suite.extra(
        dataset,
        model,
        EXTRA,
        order=np.array(orders, np.int64),
        layer=np.array(layers, np.int64),
        root_importance=np.array(roots, float),
        importance=np.array(shares, float),
    )


def run_without_interactions(suite, model="hidf_12", roots=ROOTS[:6]):
    run(suite, model=model, orders=ORDERS[:6], layers=LAYERS[:6], roots=roots, shares=SHARES[:6])


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite)
    return suite


def table_of(suite):
    return make_table("hidf-fig3", read_results(suite.root, suite.name))


def panels(table):
    return [axes for part in table.figure.draw().subfigs for axes in part.axes]


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def points(axes, marker):
    """Places of the points with a marker, by x and y."""
    drawn = [line.get_xydata() for line in axes.lines if line.get_marker() == marker and line.get_linestyle() == "None"]
    return sorted(map(tuple, np.concatenate(drawn).tolist())) if drawn else []


# Groups.


def test_low_orders_are_alone_and_high_ones_share_groups_that_double():
    assert order_groups([1, 2, 12, 13, 24, 25, 48, 49, 384, 385]) == {
        (1, 1): "1",
        (2, 2): "2",
        (12, 12): "12",
        (13, 24): "13 to 24",
        (25, 48): "25 to 48",
        (49, 96): "49 to 96",
        (193, 384): "193 to 384",
        (385, 768): "385 to 768",
    }


@settings(deadline=None, derandomize=True)
@given(lists(integers(1, 5000)))
def test_each_order_is_in_one_group_and_no_group_is_empty(orders):
    groups = list(order_groups(orders))
    assert groups == sorted(groups)
    assert all(sum(first <= order <= last for first, last in groups) == 1 for order in orders)
    assert all(any(first <= order <= last for order in orders) for first, last in groups)


@settings(deadline=None, derandomize=True)
@given(lists(integers(1, 5000)), lists(integers(1, 5000)))
def test_a_group_does_not_depend_on_the_other_orders(some, others):
    assert order_groups(some).items() <= order_groups(some + others).items()


# Correlation.


def importances(orders, roots):
    orders = np.array([1, 1, *orders])
    return Importances(orders, orders - 1, {MARGINAL: np.array([0.9, 0.8, *roots]), MDI: np.zeros(len(orders))})


def test_the_correlation_is_spearmans_of_the_interactions_only():
    orders, roots = [2, 2, 5, 9, 4], [0.1, 0, 0.3, 0.2, 0.2]
    expected = spearmanr(orders, roots)
    rho, p = rank_correlation(importances(orders, roots), MARGINAL)
    assert rho == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue, rel=0.005)
    assert p == float(f"{p:.3g}")


@pytest.mark.parametrize(
    ("orders", "roots", "words"),
    [
        ([], [], NO_INTERACTIONS),
        ([2, 3], [0.1, 0.2], TOO_FEW),
        ([2, 2, 2], [0.1, 0.2, 0.3], CONSTANT),
        ([2, 3, 4], [0.1, 0.1, 0.1], CONSTANT),
    ],
)
def test_where_there_is_no_correlation_words_say_why(orders, roots, words):
    assert rank_correlation(importances(orders, roots), MARGINAL) == words


# Picture.


def test_boxes_are_those_of_the_groups_and_the_axis_names_them_with_their_sizes(shown):
    (axes,) = panels(table_of(shown))
    assert ticks(axes) == ["1 (6)", "2 (5)", "3 (1)", "13–24 (2)"]
    assert len(axes.patches) == 2
    box = axes.patches[1].get_path().vertices[:-1]
    assert (box[:, 1].min(), box[:, 1].max()) == pytest.approx((0.2, 0.4))
    assert axes.get_ylabel() == "marginal importance"


def test_small_groups_are_points(shown):
    (axes,) = panels(table_of(shown))
    assert points(axes, "D") == [(2, 0), (3, 0.25), (3, 0.45)]


def test_informative_features_stand_out(shown):
    """Of 0.2, 0.1, 0, 0, 0, 0.01 the upper quartile is 0.0775: 0.2 lies above its whisker, and so has a circle."""
    (axes,) = panels(table_of(shown))
    assert points(axes, "o") == [(0, 0.1), (0, 0.2), (0, 0.2)]
    assert [text.get_text() for text in axes.texts] == ["x0", "x1"]


def test_names_of_close_points_are_one_text(suite):
    declare(suite)
    run(suite, roots=[0.2, 0.21, *ROOTS[2:]])
    (axes,) = panels(table_of(suite))
    assert [text.get_text() for text in axes.texts] == ["x1\nx0"]


def test_features_that_are_known_to_be_informative_are_named_even_if_they_are_at_no_root(suite):
    declare(suite, options={"informative": [0, 2]})
    run(suite)
    table = table_of(suite)
    (axes,) = panels(table)
    assert [text.get_text() for text in axes.texts] == ["x0", "x2"]
    assert (
        "marginal importance 0.2000 of x0 and 0.000 of x2, of the others at most 0.1000 of x1" in table.figure.caption
    )
    assert "Dots with names: informative input features." in table.figure.caption


def test_a_model_without_interactions_shows_the_features_and_says_so(suite):
    declare(suite)
    run_without_interactions(suite)
    table = table_of(suite)
    (axes,) = panels(table)
    assert ticks(axes) == ["1 (6)"]
    assert "no interactions\nfound" in [text.get_text() for text in axes.texts]
    assert table.figure.caption.endswith("of the others at most 0.01000 of x5; no interactions found.")
    assert [row.labels for row in table.view.rows] == [("digits", "1")]
    assert any("digits: no interactions found" in note for note in table.view.notes)
    rows = {row.key[2:]: row for row in table.rows}
    assert rows[f"interactions, {MARGINAL}", "rank_correlation"].note == NO_INTERACTIONS


def test_a_forest_without_a_split_has_no_names(suite):
    declare(suite)
    run_without_interactions(suite, roots=[0] * 6)
    table = table_of(suite)
    assert "digits: 6 input features, of which 0 at a root; no interactions found." in table.figure.caption
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_models_stand_beside_each_other_on_one_scale(suite):
    columns = {"none": "none_12", "hidf": "hidf_12", "code": "code_12"}
    declare(suite, columns=columns, labels={n: n.upper() for n in columns}, libraries={n: [] for n in columns})
    run(suite)
    run_without_interactions(suite, "code_12")
    table = table_of(suite)
    none, hidf, code = panels(table)
    assert [axes.get_title() for axes in (none, hidf, code)] == ["NONE", "HIDF", "CODE"]
    assert none.texts[0].get_text() == "unavailable: not run"
    assert hidf.get_ylim() == code.get_ylim()
    assert hidf.get_ylabel() == "marginal importance"  # the first panel with an axis
    assert [row.labels for row in table.view.rows] == [
        ("digits", "NONE", ""),
        *(("digits", "HIDF", name) for name in ("1", "2", "3", "13 to 24")),
        ("digits", "CODE", "1"),
    ]
    assert {cell.text for cell in table.view.rows[0].cells} == {"unavailable: not run"}
    assert "digits, NONE: unavailable: not run." in table.figure.caption
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_a_data_set_that_is_not_there_has_words(suite):
    declare(suite, ["har", "digits"], absent={"har": "not on the mirror"})
    run(suite)
    table = table_of(suite)
    assert panels(table)[0].texts[0].get_text() == "unavailable: not on the mirror"
    assert ticks(panels(table)[1])[0] == "1 (6)"


# Table and words.


def test_the_table_has_a_line_for_each_group(shown):
    view = table_of(shown).view
    assert view.label_heads == ("data set", "order")
    assert view.heads[:3] == ("features", "of these at a root", "marginal importance, median")
    assert [[cell.text for cell in row.cells] for row in view.rows] == [
        ["6", "3", "0.005000", "0.000", "0.07750", "0.2000"],
        ["5", "5", "0.3000", "0.2000", "0.4000", "0.5000"],
        ["1", "0", "0.000", "0.000", "0.000", "0.000"],
        ["2", "2", "0.3500", "0.3000", "0.4000", "0.4500"],
    ]


def test_the_csv_files_have_the_mean_decrease_in_impurity_too(shown):
    table = table_of(shown)
    rows = {row.key[2:]: row for row in table.rows}
    assert rows["order 2, median", MDI].mean == pytest.approx(0.08)
    assert rows["order 13 to 24, largest", MDI].mean == pytest.approx(0.13)
    lines = table.figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * len(ORDERS)
    assert 'digits,hidf,"order 1, x5",root_importance,0.01,,1,30,,,,,ok,' in lines
    assert 'digits,hidf,"order 14, I7, layer 3",importance,0.12,,1,30,,,,,ok,' in lines


def test_notes_give_both_correlations_and_the_caption_that_of_the_picture(shown):
    table = table_of(shown)
    found = [spearmanr(ORDERS[6:], values[6:]) for values in (ROOTS, SHARES)]
    marginal, mdi = (f"{one.statistic:.2f} (p = {one.pvalue:.2g})".replace("-", "−") for one in found)
    assert f"rank correlation of order and marginal importance {marginal}." in table.figure.caption
    expected = f"digits: marginal importance {marginal}, MDI {mdi} (8 interactions)."
    assert any(expected in note for note in table.view.notes)
    assert "8 interactions of orders 2 to 20, of which 7 at a root" in table.figure.alt


def test_small_p_values_are_not_written_out(suite):
    declare(suite)
    n = 20
    run(suite, orders=[1, *range(2, n + 1)], layers=[0] + [1] * (n - 1), roots=range(n), shares=range(n))
    assert "rank correlation of order and marginal importance 1.00 (p < 0.001)." in table_of(suite).figure.caption


def test_the_caption_says_what_the_paper_says_of_which_data(shown):
    shutil.copy(PUBLISHED, shown.root / "reports" / "published")
    assert (
        "The paper's text: on hidf_sphere the marginal importance of all but 2 input features is nearly zero, and "
        "interactions of higher order tend to have greater importance." in table_of(shown).figure.caption
    )


def test_the_same_results_give_the_same_bytes(shown):
    assert table_of(shown).figure.files() == table_of(shown).figure.files()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extras": []}, r"/extras are \[\]; add 'interactions'"),
        ({"options": {"informative": [6]}}, r"/options/informative is \[6\]; give a list of columns below 6"),
        ({"options": {"informative": 2}}, "/options/informative is 2; give a list of columns below 6"),
    ],
)
def test_what_cannot_be_drawn_is_refused(suite, changes, words):
    declare(suite, **changes)
    run(suite)
    with pytest.raises(ConfigError, match=f"hidf.yaml: hidf-fig3{words}"):
        table_of(suite)


def test_a_cell_without_the_arrays_is_named(suite):
    declare(suite)
    suite.run("digits", "hidf_12", [0.75])
    with pytest.raises(UserError, match="hidf_12 on digits, repeat 0: extras are none"):
        table_of(suite)
