"""Importances by layer and by class: means over repeats of different length, and the picture of them."""

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing.lines import common_places, signed
from cascadeforest.reports.drawing.renderers.importance_by_layer import grouped
from cascadeforest.reports.numbers.cells import by_layer

NAME = "interp-fig6"
#: Four features, two of them relevant; three repeats of 3, 2 and 1 layers.
LAYERS = [
    np.array([[0.1, 0.2, 0.0, 0.02], [0.3, 0.4, 0.0, 0.04], [0.5, 0.6, 0.0, 0.0]]),
    np.array([[0.3, 0.4, 0.0, 0.00], [0.5, 0.6, 0.0, 0.02]]),
    np.array([[0.2, 0.3, 0.0, 0.04]]),
]
CLASSES = np.array([[0.5, 0.0, 0.0, 0.02], [0.1, 0.3, 0.0, 0.0]])


def declare(suite, **changes):
    suite.experiment(
        NAME,
        kind="figure",
        render="importance_by_layer",
        title="MDI",
        metrics=[],
        labels={"gcforest": "deep forest"},
        datasets=["three_class"],
        repeats=3,
        **({"options": {"relevant": 2}, "extras": ["layer_importances", "class_importances"]} | changes),
    )
    suite.as_printed(NAME)
    suite.summary("three_class", class_names=["1", "2"])


@pytest.fixture
def shown(suite):
    declare(suite)
    suite.run("three_class", "gcforest", [0.5] * 3)
    for repeat, layers in enumerate(LAYERS):
        suite.extra("three_class", "gcforest", "layer_importances", repeat, importances=layers)
        suite.extra("three_class", "gcforest", "class_importances", repeat, importances=CLASSES, classes=np.arange(2))
    return suite


def test_layers_that_less_than_half_of_the_repeats_have_are_left_out():
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


def test_means_are_over_the_repeats_that_have_the_layer(shown):
    rows = {row.condition: row for row in shown.table(NAME).rows}
    first, second = rows["feature x1, layer 1"], rows["feature x1, layer 2"]
    assert (first.mean, first.std, first.n) == (pytest.approx(0.2), pytest.approx(0.1), 3)
    assert (second.mean, second.n) == (pytest.approx(0.4), 2)
    assert "feature x1, layer 3" not in rows  # one of three repeats
    assert rows["irrelevant features, layer 1"].mean == pytest.approx(np.mean([0.01, 0.0, 0.02]))
    assert rows["feature x2, class 2"].mean == pytest.approx(0.3)


def test_the_published_number_is_of_all_layers(shown):
    table = shown.table(NAME)
    row = {row.condition: row for row in table.rows}["irrelevant features, every layer"]
    of_runs = [np.mean([0.01, 0.02, 0.0]), np.mean([0.0, 0.01]), 0.02]
    assert (row.mean, row.published) == (pytest.approx(np.mean(of_runs)), 0)
    assert [cell.text for cell in table.view.rows[-1].cells] == ["", "", "0"]
    assert table.view.rows[-1].kind == "published"


def test_lines_and_bars_are_the_means(shown):
    left, right = shown.table(NAME).figure.draw().axes
    assert (left.get_title(), right.get_title()) == ("(a) global, by layer", "(b) local, by class")
    lines = {bars.get_label(): bars.lines[0].get_ydata().tolist() for bars in left.containers}
    assert lines == {
        "x1": pytest.approx([0.2, 0.4]),
        "x2": pytest.approx([0.3, 0.5]),
        "mean of the irrelevant features": pytest.approx([0.01, 0.015]),
    }
    heights = [[bar.get_height() for bar in bars] for bars in right.containers if hasattr(bars, "patches")]
    assert heights == [pytest.approx(line) for line in ([0.5, 0.1], [0.0, 0.3], [0.01, 0.0])]
    assert [label.get_text() for label in right.get_xticklabels()] == ["class 1", "class 2"]


def test_the_same_results_give_the_same_bytes(shown):
    assert shown.table(NAME).figure.files() == shown.table(NAME).figure.files()


def test_a_missing_run_is_said(suite):
    declare(suite)
    table = suite.table(NAME)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "not run")]
    assert table.figure.draw().axes[0].texts[0].get_text() == "unavailable: not run"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {}}, r"interp-fig6/options lacks relevant"),
        ({"options": {"relevant": 8}}, r"options/relevant is 8; give the number of relevant features, from 1 to 7"),
        ({"options": {"relevant": True}}, r"options/relevant is True; it must be a whole number"),
        ({"extras": ["layer_importances"]}, r"extras are \['layer_importances'\]; add 'class_importances'"),
    ],
)
def test_what_does_not_fit_is_refused(shown, changes, message):
    declare(shown, **changes)
    with pytest.raises(ConfigError, match=message):
        shown.table(NAME)
