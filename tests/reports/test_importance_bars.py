"""Importances as bars: what picture, table and caption say of them."""

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.drawing.renderers.importance_bars import N_SHOWN, normalised

NAME = "interp-fig8"
#: Two repeats; the third feature is below 0 in the second one.
MDI = [{"importances": np.array([1.0, 3.0, 0.0])}, {"importances": np.array([3.0, 2.0, -1.0])}]
NAMES = {"layer": "last", "features": {"bike": ["year", "wind_speed", "humidity"]}}
SPREAD = np.std([0.75, 0.4], ddof=1)


def declare(
    suite, extras=("mdi_df",), n_repeats=2, columns=("cascade_regressor",), options=NAMES | {"normalise": True}
):
    suite.experiment(
        NAME,
        kind="figure",
        render="importance_bars",
        title="MDI",
        metrics=[],
        datasets=["bike"],
        extras=list(extras),
        repeats=n_repeats,
        columns=dict.fromkeys(columns, "preset"),
        labels={name: name for name in columns},
        libraries={},
        options=options,
    )
    suite.as_printed(NAME)
    suite.summary("bike", task="regression")


def save(suite, extra, repeats):
    suite.run("bike", "preset", [0.5] * len(repeats), metric="n_layers")
    for repeat, arrays in enumerate(repeats):
        suite.extra("bike", "preset", extra, repeat, **arrays)


def panel(table):
    (axes,) = table.figure.draw().axes
    return axes


def ticks(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.fixture
def shown(suite):
    declare(suite)
    save(suite, "mdi_df", MDI)
    return suite


def test_negative_importances_count_as_zero():
    assert normalised(np.array([[1.0, 3.0, 0.0], [3.0, 2.0, -1.0]])).tolist() == [[0.25, 0.75, 0.0], [0.6, 0.4, 0.0]]
    assert normalised(np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]


def test_each_repeat_is_normalised_before_the_mean(shown):
    found = {row.key[2:]: row for row in shown.table(NAME).rows}
    row = found["feature wind_speed", "mdi"]
    assert (row.mean, row.std, row.n) == (pytest.approx(0.575), pytest.approx(SPREAD), 2)
    assert found["feature humidity", "importance"].mean == -0.5  # as it is
    total = found["sum over features", "mdi"]
    assert (total.mean, total.std, total.published) == (pytest.approx(1), pytest.approx(0), 1)


def test_the_published_sum_stands_below(shown):
    found = {row.labels[1:]: [cell.text for cell in row.cells] for row in shown.table(NAME).view.rows}
    assert found["sum over features", "published"] == ["1", "not printed"]
    assert found["wind speed", "reproduced"] == ["0.575 ± 0.247", "2.50 ± 0.71"]
    assert found["humidity", "reproduced"] == ["0.000 ± 0.000", "−0.50 ± 0.71"]


def test_bars_stand_in_order_with_their_deviation(shown):
    figure = shown.table(NAME).figure
    assert figure.caption.endswith("bike: 1 negative in 2 repeats.")
    assert figure.files() == shown.table(NAME).figure.files()
    axes = panel(shown.table(NAME))
    assert ticks(axes) == ["wind speed", "year", "humidity"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.575, 0.425, 0])
    whiskers = axes.collections[0].get_paths()[0].vertices[:, 0]
    assert whiskers == pytest.approx([0.575 - SPREAD, 0.575 + SPREAD])
    assert axes.yaxis_inverted()
    assert axes.get_xlim()[0] == 0  # nothing stands left of 0, though a whisker would end there


def test_negative_importances_have_room_where_they_are_drawn(suite):
    declare(suite, options=NAMES)
    save(suite, "mdi_df", MDI)
    assert panel(suite.table(NAME)).get_xlim()[0] < -0.5


def test_a_second_model_has_bars_and_the_published_sum_of_its_own(shown):
    columns = ("cascade_regressor", "cascade_regressor_official")
    place = {"published": {"cascade_regressor_official": {"model": "cascade_regressor"}}}
    declare(shown, columns=columns, options=NAMES | {"normalise": True} | place)
    table = shown.table(NAME)
    found = {row.key[1:]: row for row in table.rows}
    for name in columns:
        assert found[name, "sum over features", "mdi"].published == 1
        assert found[name, "feature wind_speed", "mdi"].mean == pytest.approx(0.575)
    titles = [part.get_suptitle() for part in table.figure.draw().subfigs]
    assert titles == [f"bike, {name}, 2 repeats" for name in columns]


# The columns of layer 2.


def columns(*own, added=()):
    return {
        "importances": np.zeros((2, len(own))),
        "columns": np.array([*own, *added]),
        "n_added": np.array(len(added)),
    }


NO_SECOND = {"importances": np.zeros((1, 2)), "columns": np.empty(0), "n_added": np.array(0)}


def layer2(suite, *repeats):
    declare(suite, ["layer_importances"], n_repeats=len(repeats), options={"layer": 2})
    save(suite, "layer_importances", list(repeats))
    return suite.table(NAME)


def test_new_features_are_one_bar(suite):
    table = layer2(suite, columns(1.0, 2.0, added=(3.0, 4.0, 0.5)), columns(1.0, 2.0, added=(1.0, 1.0, 1.5)))
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["new features, sum", "mdi"] == 5.5
    assert found["new features, sum", "mdi_share"] == pytest.approx((7.5 / 10.5 + 3.5 / 6.5) / 2)
    assert (found["feature x1", "mdi"], found["feature x2", "mdi"]) == (1, 2)
    axes = panel(table)
    assert ticks(axes) == ["new features, sum", "x2", "x1"]
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def test_many_features_share_a_bar(suite):
    own = np.arange(N_SHOWN + 3, 0, -1, dtype=float)
    found = {row.key[2:]: row.mean for row in layer2(suite, columns(*own, added=(0.5,))).rows}
    assert found["3 other features, sum", "mdi"] == 3 + 2 + 1
    assert found["sum over features", "mdi"] == own.sum() + 0.5
    assert (f"feature x{N_SHOWN}", "mdi") in found
    assert (f"feature x{N_SHOWN + 1}", "mdi") not in found
    conditions = [row.condition for row in layer2(suite, columns(*own[:-2], added=(0.5,))).rows]
    assert f"feature x{N_SHOWN + 1}" in conditions  # one feature too many keeps its bar


def test_repeats_of_one_layer_are_left_out_and_counted(suite):
    table = layer2(suite, NO_SECOND, columns(1.0, 2.0, added=(3.0,)))
    assert {row.n for row in table.rows} == {1}
    assert "bike: 1 of 2 repeats kept one layer only" in table.figure.caption


def test_without_any_second_layer_the_figure_says_so(suite):
    table = layer2(suite, NO_SECOND)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "no run kept a second layer")]
    assert panel(table).texts[0].get_text() == "unavailable: no run kept a second layer"


def test_a_missing_run_and_missing_arrays_are_said(suite):
    declare(suite)
    table = suite.table(NAME)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "not run")]
    assert panel(table).texts[0].get_text() == "unavailable: not run"
    suite.run("bike", "preset", [1, 1], metric="n_layers")
    with pytest.raises(UserError, match=r"preset on bike, repeat 0: extras are none, and 'mdi_df' is needed"):
        suite.table(NAME)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": []}, r"fig8/extras are \[\]; add 'mdi_df'"),
        ({"options": {"layer": 2}}, r"fig8/extras are \['mdi_df'\]; add 'layer_importances'"),
        ({"options": {"layer": 3}}, r"options/layer is 3; it must be one of 2, last"),
        (
            {"options": {"layer": "last", "features": {"bike": ["year"]}}},
            r"options/features/bike is \['year'\]; bike has 3 features: name them all",
        ),
    ],
)
def test_what_does_not_fit_is_refused(shown, changes, message):
    declare(shown, **changes)
    with pytest.raises(ConfigError, match=message):
        shown.table(NAME)
