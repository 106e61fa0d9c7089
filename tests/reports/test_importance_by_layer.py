"""Importances by layer and by class: means over runs of different length, and what is said of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.every_repeat import by_layer, common_places, signed
from cascadeforest.reports.renderers.importance_by_layer import grouped
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "interp-fig6.csv"
NAME = "interp-fig6"
#: Four features, two of them relevant; three runs of 3, 2 and 1 layers.
LAYERS = [
    np.array([[0.1, 0.2, 0.0, 0.02], [0.3, 0.4, 0.0, 0.04], [0.5, 0.6, 0.0, 0.0]]),
    np.array([[0.3, 0.4, 0.0, 0.00], [0.5, 0.6, 0.0, 0.02]]),
    np.array([[0.2, 0.3, 0.0, 0.04]]),
]
CLASSES = np.array([[0.5, 0.0, 0.0, 0.02], [0.1, 0.3, 0.0, 0.0]])


def declare(suite, n_repeats=3, **changes):
    suite.experiment(
        NAME,
        kind="figure",
        render="importance_by_layer",
        title="MDI",
        metrics=[],
        columns={"gcforest": "preset"},
        labels={"gcforest": "deep forest"},
        libraries={"gcforest": []},
        datasets=["three_class"],
        repeats={"three_class": n_repeats},
        **({"options": {"relevant": 2}, "extras": ["layer_importances", "class_importances"]} | changes),
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def save(suite, repeats):
    """Cells that saved arrays, each repeat and extra in a file of its own."""
    suite.summary("three_class", class_names=["1", "2"])
    suite.run("three_class", "preset", [0.5] * len(repeats))
    path = suite.folder / "runs" / "three_class" / "preset.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells" / "ab"
    folder.mkdir(parents=True, exist_ok=True)
    for cell, extras in zip(content["cells"], repeats, strict=True):
        cell["extras"] = {extra: f"ab/{cell['repeat']}.{extra}.npz" for extra in extras}
        for extra, arrays in extras.items():
            np.savez_compressed(folder / f"{cell['repeat']}.{extra}.npz", **arrays)
    path.write_text(json.dumps(content))


@pytest.fixture
def shown(suite):
    declare(suite)
    by_class = {"importances": CLASSES, "classes": np.array([0, 1])}
    save(suite, [{"layer_importances": {"importances": one}, "class_importances": by_class} for one in LAYERS])
    return suite


def table_of(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


# Numbers.


def test_layers_that_less_than_half_of_the_runs_have_are_left_out():
    runs = [np.array([1, 2, 3]), np.array([4, 5]), np.array([6]), np.array([7])]
    assert by_layer(runs) == [[1, 4, 6, 7], [2, 5]]
    assert by_layer(runs[:2]) == [[1, 4], [2, 5], [3]]
    assert by_layer([]) == []


def test_irrelevant_features_are_one_column():
    assert grouped(LAYERS[0], 2) == pytest.approx(np.array([[0.1, 0.2, 0.01], [0.3, 0.4, 0.02], [0.5, 0.6, 0.0]]))
    assert grouped(LAYERS[0], 4).tolist() == LAYERS[0].tolist()


def test_numbers_have_the_places_of_the_largest():
    assert [common_places(values) for values in ([0.5, 0.01], [1479.0, 2], [12.3, None], [0.0], [])] == [3, 0, 1, 2, 2]
    assert (signed(-0.25, 2), signed(-0.001, 2), signed(-1479.0, 0)) == ("−0.25", "0.00", "−1,479")


def test_means_are_over_the_runs_that_have_the_layer(shown):
    rows = {row.condition: row for row in table_of(shown).rows}
    first, second = rows["feature x1, layer 1"], rows["feature x1, layer 2"]
    assert (first.mean, first.std, first.n) == (pytest.approx(0.2), pytest.approx(0.1), 3)
    assert (second.mean, second.n) == (pytest.approx(0.4), 2)
    assert "feature x1, layer 3" not in rows  # one of three runs
    assert rows["irrelevant features, layer 1"].mean == pytest.approx(np.mean([0.01, 0.0, 0.02]))
    assert rows["feature x2, class 2"].mean == pytest.approx(0.3)


def test_the_published_number_is_of_all_layers(shown):
    row = {row.condition: row for row in table_of(shown).rows}["irrelevant features, every layer"]
    of_runs = [np.mean([0.01, 0.02, 0.0]), np.mean([0.0, 0.01]), 0.02]
    assert (row.mean, row.published) == (pytest.approx(np.mean(of_runs)), 0)
    view = table_of(shown).view
    assert [cell.text for cell in view.rows[-1].cells] == ["", "", "0"]
    assert view.rows[-1].kind == "published"


# Picture and words.


def test_lines_and_bars_are_the_means(shown):
    figure = table_of(shown).figure
    left, right = figure.draw().axes
    assert (left.get_title(), right.get_title()) == ("(a) global, by layer", "(b) local, by class")
    assert figure.caption.startswith("(a) MDI of the original features")
    assert " (b) Local MDI, of the rows of each class" in figure.caption
    lines = {bars.get_label(): bars.lines[0].get_ydata().tolist() for bars in left.containers}
    assert lines == {
        "x1": pytest.approx([0.2, 0.4]),
        "x2": pytest.approx([0.3, 0.5]),
        "mean of irrelevant features": pytest.approx([0.01, 0.015]),
    }
    heights = [[bar.get_height() for bar in bars] for bars in right.containers if hasattr(bars, "patches")]
    assert heights == [pytest.approx(line) for line in ([0.5, 0.1], [0.0, 0.3], [0.01, 0.0])]
    assert [label.get_text() for label in right.get_xticklabels()] == ["class 1", "class 2"]


def test_the_caption_says_how_runs_of_different_length_are_averaged(shown):
    figure = table_of(shown).figure
    assert "layers that at least half of the runs have" in figure.caption
    assert "global MDI of x1 0.2000 at layer 1 and 0.4000 at layer 2" in figure.alt
    assert "local MDI of class 2: x1 0.1000, x2 0.3000, the irrelevant features 0.0000" in figure.alt


def test_a_run_that_is_missing_is_told(suite):
    declare(suite)
    suite.summary("three_class")
    table = table_of(suite)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "not run")]
    assert table.figure.draw().axes[0].texts[0].get_text() == "three_class: unavailable: not run"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {}}, r"options/relevant is None; give the number of relevant features, from 1 to 4"),
        ({"options": {"relevant": 5}}, r"options/relevant is 5"),
        ({"options": {"relevant": True}}, r"options/relevant is True"),
        ({"extras": ["layer_importances"]}, r"extras are \['layer_importances'\]; add 'class_importances'"),
    ],
)
def test_what_does_not_fit_is_refused(shown, changes, message):
    declare(shown, **changes)
    with pytest.raises(ConfigError, match=message):
        table_of(shown)
