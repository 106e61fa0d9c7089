"""Importances as bars: what picture, table and caption say of them."""

import numpy as np
import pytest
from tests.reports.conftest import texts, words

from cascadeforest.reports.drawing.renderers.importance_bars import N_SHOWN, normalised

NAME = "interp-fig8"
#: Two repeats; the third feature is below 0 in the second one.
MDI = [{"importances": np.array([1.0, 3.0, 0.0])}, {"importances": np.array([3.0, 2.0, -1.0])}]
NAMES = {"layer": "last", "features": {"bike": ["year", "wind_speed", "humidity"]}}
SPREAD = np.std([0.75, 0.4], ddof=1)


def declare(suite, columns=("cascade_regressor",), **changes):
    given = {"metrics": [], "datasets": ["bike"], "extras": ["mdi_df"], "repeats": 2}
    given |= {"options": NAMES | {"normalise": True}} | changes
    suite.figure(NAME, "importance_bars", {name: name for name in columns}, "preset", **given)
    suite.summary("bike", task="regression")


def run(suite, extra="mdi_df", repeats=MDI):
    suite.run("bike", "preset", [0.5] * len(repeats), metric="n_layers")
    for repeat, arrays in enumerate(repeats):
        suite.extra("bike", "preset", extra, repeat, **arrays)


def panel(table):
    (axes,) = table.figure.draw().axes
    return axes


def ticks(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_negative_importances_count_as_zero_and_have_room_where_they_are_drawn(suite):
    assert normalised(np.array([[1.0, 3.0, 0.0], [3.0, 2.0, -1.0]])).tolist() == [[0.25, 0.75, 0.0], [0.6, 0.4, 0.0]]
    assert normalised(np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]
    declare(suite, options=NAMES)
    run(suite)
    assert panel(suite.table(NAME)).get_xlim()[0] < -0.5


def test_bars_stand_in_order_for_each_model_with_the_published_sum_of_its_own(shown):
    shown.published(NAME, ["bike,cascade_regressor,sum over features,mdi,1,,,,fraction"])
    found = {row.key[2:]: row for row in shown.table(NAME).rows}
    row = found["feature wind_speed", "mdi"]
    assert (row.mean, row.std, row.n) == (pytest.approx(0.575), pytest.approx(SPREAD), 2)
    assert found["feature humidity", "importance"].mean == -0.5  # as it is
    total = found["sum over features", "mdi"]
    assert (total.mean, total.std, total.published) == (pytest.approx(1), pytest.approx(0), 1)
    found = {row.labels[1:]: texts(row) for row in shown.table(NAME).view.rows}
    assert found["sum over features", "published"] == ["1", "not printed"]
    assert found["wind speed", "reproduced"] == ["0.575 ± 0.247", "2.50 ± 0.71"]
    assert found["humidity", "reproduced"] == ["0.000 ± 0.000", "−0.50 ± 0.71"]
    axes = panel(shown.table(NAME))
    assert ticks(axes) == ["wind speed", "year", "humidity"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.575, 0.425, 0])
    whiskers = axes.collections[0].get_paths()[0].vertices[:, 0]
    assert whiskers == pytest.approx([0.575 - SPREAD, 0.575 + SPREAD])
    assert axes.yaxis_inverted()
    assert axes.get_xlim()[0] == 0  # nothing stands left of 0, though a whisker would end there
    columns = ("cascade_regressor", "cascade_regressor_official")
    place = {"published": {"cascade_regressor_official": {"model": "cascade_regressor"}}}
    declare(shown, columns=columns, options=NAMES | {"normalise": True} | place)
    shown.published(NAME, ["bike,cascade_regressor,sum over features,mdi,1,,,,fraction"])
    table = shown.table(NAME)
    found = {row.key[1:]: row for row in table.rows}
    for name in columns:
        assert found[name, "sum over features", "mdi"].published == 1
        assert found[name, "feature wind_speed", "mdi"].mean == pytest.approx(0.575)
    titles = [part.get_suptitle() for part in table.figure.draw().subfigs]
    assert titles == [f"bike, {name}, 2 repeats" for name in columns]


def columns(*own, added=()):
    columns = np.array([*own, *added])
    return {"importances": np.zeros((2, len(own))), "columns": columns, "n_added": np.array(len(added))}


NO_SECOND = {"importances": np.zeros((1, 2)), "columns": np.empty(0), "n_added": np.array(0)}


def layer2(suite, *repeats):
    declare(suite, extras=["layer_importances"], repeats=len(repeats), options={"layer": 2})
    run(suite, "layer_importances", list(repeats))
    return suite.table(NAME)


def test_new_features_are_one_bar_and_many_features_share_one(suite):
    table = layer2(suite, columns(1.0, 2.0, added=(3.0, 4.0, 0.5)), columns(1.0, 2.0, added=(1.0, 1.0, 1.5)))
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["new features, sum", "mdi"] == 5.5
    assert found["new features, sum", "mdi_share"] == pytest.approx((7.5 / 10.5 + 3.5 / 6.5) / 2)
    assert (found["feature x1", "mdi"], found["feature x2", "mdi"]) == (1, 2)
    axes = panel(table)
    assert ticks(axes) == ["new features, sum", "x2", "x1"]
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2
    own = np.arange(N_SHOWN + 3, 0, -1, dtype=float)
    found = {row.key[2:]: row.mean for row in layer2(suite, columns(*own, added=(0.5,))).rows}
    assert found["3 other features, sum", "mdi"] == 3 + 2 + 1
    assert found["sum over features", "mdi"] == own.sum() + 0.5
    assert (f"feature x{N_SHOWN}", "mdi") in found
    assert (f"feature x{N_SHOWN + 1}", "mdi") not in found
    conditions = [row.condition for row in layer2(suite, columns(*own[:-2], added=(0.5,))).rows]
    assert f"feature x{N_SHOWN + 1}" in conditions  # one feature too many keeps its bar


def test_repeats_of_one_layer_are_left_out_and_counted_and_without_any_other_the_figure_says_so(suite):
    table = layer2(suite, NO_SECOND, columns(1.0, 2.0, added=(3.0,)))
    assert {row.n for row in table.rows if row.condition != "growth"} == {1}
    table = layer2(suite, NO_SECOND)
    own = [(row.status, row.note) for row in table.rows if row.condition != "growth"]
    assert own == [("unavailable", "no run kept a second layer")]
    assert words(panel(table)) == ["unavailable: no run kept a second layer"]
