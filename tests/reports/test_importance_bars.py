"""Importances as bars: what picture, table and caption say of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.renderers.importance_bars import N_SHOWN, normalised
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "interp-fig8.csv"
#: Two runs; the third feature is below 0 in the second one.
MDI = [np.array([1.0, 3.0, 0.0]), np.array([3.0, 2.0, -1.0])]
NAMES = {"features": {"bike": ["year", "wind_speed", "humidity"]}}


def declare(suite, name="interp-fig8", extras=("mdi_df",), dataset="bike", n_repeats=2, **changes):
    suite.experiment(
        name,
        kind="figure",
        render="importance_bars",
        title="MDI",
        metrics=[],
        datasets=[dataset],
        extras=list(extras),
        repeats={dataset: n_repeats},
        **{
            "columns": {"cascade_regressor": "preset"},
            "labels": {"cascade_regressor": "deep forest"},
            "libraries": {"cascade_regressor": []},
            "options": {"layer": "last", "normalise": True, **NAMES},
        }
        | changes,
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def save(suite, extra, repeats, dataset="bike"):
    """Cells that saved arrays, each repeat in a file of its own."""
    suite.summary(dataset, task="regression")
    suite.run(dataset, "preset", [0.5] * len(repeats), metric="n_layers")
    path = suite.folder / "runs" / dataset / "preset.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells" / "ab"
    folder.mkdir(parents=True, exist_ok=True)
    for cell, arrays in zip(content["cells"], repeats, strict=True):
        name = f"{dataset}-{cell['repeat']}.{extra}.npz"
        cell["extras"] = {extra: f"ab/{name}"}
        np.savez_compressed(folder / name, **arrays)
    path.write_text(json.dumps(content))


def table_of(suite, name="interp-fig8"):
    return make_table(name, read_results(suite.root, suite.name))


def lines(view):
    return {row.labels[1:]: [cell.text for cell in row.cells] for row in view.rows}


@pytest.fixture
def shown(suite):
    declare(suite)
    save(suite, "mdi_df", [{"importances": one, "cpu_seconds": np.array(1.0)} for one in MDI])
    return suite


def test_what_is_below_zero_counts_as_zero():
    assert normalised(np.array(MDI)).tolist() == [[0.25, 0.75, 0.0], [0.6, 0.4, 0.0]]


def test_a_run_of_nothing_above_zero_stays_zero():
    assert normalised(np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]


def test_each_run_is_normalised_before_the_mean(shown):
    found = {row.key[2:]: row for row in table_of(shown).rows}
    row = found["feature wind_speed", "mdi"]
    assert (row.mean, row.std, row.n) == (pytest.approx(0.575), pytest.approx(np.std([0.75, 0.4], ddof=1)), 2)
    assert found["feature humidity", "importance"].mean == -0.5  # as it is
    total = found["sum over features", "mdi"]
    assert (total.mean, total.std, total.published) == (pytest.approx(1), pytest.approx(0), 1)


def test_the_published_sum_stands_below(shown):
    found = lines(table_of(shown).view)
    assert found["sum over features", "published"] == ["1", ""]
    assert found["wind speed", "reproduced"] == ["0.575 ± 0.247", "2.50 ± 0.71"]
    assert found["humidity", "reproduced"] == ["0.000 ± 0.000", "−0.50 ± 0.71"]


def test_bars_stand_in_order_with_their_deviation(shown):
    (axes,) = table_of(shown).figure.draw().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["wind speed", "year", "humidity"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.575, 0.425, 0])
    (whiskers,) = axes.collections
    ends = [path.vertices[:, 0].tolist() for path in whiskers.get_paths()]
    spread = np.std([0.75, 0.4], ddof=1)
    assert ends[0] == pytest.approx([0.575 - spread, 0.575 + spread])
    assert axes.yaxis_inverted()
    assert axes.get_xlim()[0] == 0  # nothing stands left of 0, though a whisker would end there
    assert axes.get_title() == "bike, 2 runs"


def test_caption_and_words_say_what_was_clipped(shown):
    figure = table_of(shown).figure
    assert "importances below 0 are drawn as 0" in figure.caption
    assert "1 importances below 0 in 2 runs" in figure.alt
    assert "wind speed 0.575 ± 0.247" in figure.alt


def test_files_are_the_same_bytes_every_time(shown):
    assert table_of(shown).figure.files() == table_of(shown).figure.files()


def test_importances_below_zero_have_room_where_they_are_drawn(suite):
    declare(suite, options={"layer": "last", **NAMES})
    save(suite, "mdi_df", [{"importances": one, "cpu_seconds": np.array(1.0)} for one in MDI])
    (axes,) = table_of(suite).figure.draw().axes
    assert axes.get_xlim()[0] < -0.5


def test_a_second_model_has_bars_and_the_published_sum_of_its_own(shown):
    columns = {"cascade_regressor": "preset", "cascade_regressor_official": "preset"}
    labels = {"cascade_regressor": "deep forest", "cascade_regressor_official": "deep forest (code)"}
    place = {"published": {"cascade_regressor_official": {"model": "cascade_regressor"}}}
    declare(
        shown,
        columns=columns,
        labels=labels,
        libraries={name: [] for name in columns},
        options={"layer": "last", "normalise": True, **NAMES, **place},
    )
    table = table_of(shown)
    found = {row.key[1:]: row for row in table.rows}
    for name in columns:
        assert found[name, "sum over features", "mdi"].published == 1
        assert found[name, "feature wind_speed", "mdi"].mean == pytest.approx(0.575)
    assert [axes.get_title() for axes in table.figure.draw().axes] == [
        "bike, deep forest, 2 runs",
        "bike, deep forest (code), 2 runs",
    ]


# The columns of layer 2.


def columns(*own, added=(), n_added=None):
    n = len(added) if n_added is None else n_added
    return {"importances": np.zeros((2, len(own))), "columns": np.array([*own, *added]), "n_added": np.array(n)}


NO_SECOND = {"importances": np.zeros((1, 2)), "columns": np.empty(0), "n_added": np.array(0)}


def layer2(suite, *repeats):
    declare(suite, "interp-fig1b", ["layer_importances"], n_repeats=len(repeats), options={"layer": 2})
    save(suite, "layer_importances", list(repeats))
    return table_of(suite, "interp-fig1b")


def test_new_features_are_one_bar(suite):
    table = layer2(suite, columns(1.0, 2.0, added=(3.0, 4.0, 0.5)), columns(1.0, 2.0, added=(1.0, 1.0, 1.5)))
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["new features, sum", "mdi"] == 5.5
    assert found["new features, sum", "mdi_share"] == pytest.approx((7.5 / 10.5 + 3.5 / 6.5) / 2)
    assert (found["feature x1", "mdi"], found["feature x2", "mdi"]) == (1, 2)
    (axes,) = table.figure.draw().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["new features, sum", "x2", "x1"]
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def test_many_features_share_a_bar(suite):
    own = np.arange(N_SHOWN + 3, 0, -1, dtype=float)
    table = layer2(suite, columns(*own, added=(0.5,)))
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["3 other features, sum", "mdi"] == 3 + 2 + 1
    assert found["sum over features", "mdi"] == own.sum() + 0.5
    assert f"feature x{N_SHOWN}" in {condition for condition, _ in found}
    assert f"feature x{N_SHOWN + 1}" not in {condition for condition, _ in found}


def test_one_feature_too_many_keeps_its_bar(suite):
    table = layer2(suite, columns(*np.arange(N_SHOWN + 1.0), added=(0.5,)))
    assert not [row for row in table.rows if "other" in row.condition]


def test_runs_of_one_layer_are_left_out_and_counted(suite):
    table = layer2(suite, NO_SECOND, columns(1.0, 2.0, added=(3.0,)))
    assert {row.n for row in table.rows} == {1}
    assert "1 of 2 runs kept one layer only and are left out" in table.figure.caption


def test_without_any_second_layer_the_figure_says_so(suite):
    table = layer2(suite, NO_SECOND)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "no run kept a second layer")]
    (axes,) = table.figure.draw().axes
    assert axes.texts[0].get_text() == "bike: no run kept a second layer"
    assert "no run kept a second layer" in table.files()[".md"]


# What is refused, and what has not run.


def test_a_run_that_is_missing_is_told(suite):
    declare(suite)
    suite.summary("bike")
    table = table_of(suite)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "not run")]
    assert table.figure.draw().axes[0].texts[0].get_text() == "bike: unavailable: not run"


def test_cells_without_arrays_are_told(suite):
    declare(suite)
    suite.summary("bike")
    suite.run("bike", "preset", [1, 1], metric="n_layers")
    with pytest.raises(UserError, match=r"the figure needs 'mdi_df'"):
        table_of(suite)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": []}, r"fig8/extras are \[\]; name one of layer_importances and mdi_df, and only one"),
        ({"extras": ["mdi_df", "layer_importances"]}, r"and only one"),
        ({"options": {"layer": 2}}, r"options/layer is 2, but the extra 'mdi_df' is about layer last; write"),
        (
            {"options": {"layer": "last", "features": {"bike": ["year"]}}},
            r"options/features/bike is \['year'\]; bike has 3 features: name them all",
        ),
    ],
)
def test_what_does_not_fit_is_refused(shown, changes, message):
    declare(shown, **changes)
    with pytest.raises(ConfigError, match=message):
        table_of(shown)
