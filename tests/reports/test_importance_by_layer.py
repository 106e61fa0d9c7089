"""Importances by layer and by class: means over repeats of different length, and the picture of them."""

import numpy as np
import pytest
from tests.reports.conftest import curves, texts

from cascadeforest.reports.drawing.lines import common_places, mean_text
from cascadeforest.reports.drawing.panels import GREY
from cascadeforest.reports.drawing.renderers.importance_by_layer import grouped
from cascadeforest.reports.numbers.cells import by_layer
from cascadeforest.reports.numbers.frame import TidyRow

NAME = "interp-fig6"
#: Four features, two of them relevant; three repeats of 3, 2 and 1 layers.
LAYERS = [
    np.array([[0.1, 0.2, 0.0, 0.02], [0.3, 0.4, 0.0, 0.04], [0.5, 0.6, 0.0, 0.0]]),
    np.array([[0.3, 0.4, 0.0, 0.00], [0.5, 0.6, 0.0, 0.02]]),
    np.array([[0.2, 0.3, 0.0, 0.04]]),
]
CLASSES = np.array([[0.5, 0.0, 0.0, 0.02], [0.1, 0.3, 0.0, 0.0]])


def declare(suite, **changes):
    given = {"metrics": [], "datasets": ["three_class"], "repeats": 3, "options": {"relevant": 2}}
    given |= {"extras": ["layer_importances", "class_importances"]} | changes
    suite.figure(NAME, "importance_by_layer", {"gcforest": "deep forest"}, "{}", **given)
    suite.summary("three_class", class_names=["1", "2"])


def run(suite):
    suite.run("three_class", "gcforest", [0.5] * 3)
    for repeat, layers in enumerate(LAYERS):
        suite.extra("three_class", "gcforest", "layer_importances", repeat, importances=layers)
        local = {"importances": CLASSES[::-1], "classes": np.array([1, 0])}
        suite.extra("three_class", "gcforest", "class_importances", repeat, **local)


def test_layers_of_few_repeats_are_left_out_irrelevant_features_are_one_column_and_places_those_of_the_largest():
    runs = [np.array([1, 2, 3]), np.array([4, 5]), np.array([6]), np.array([7])]
    assert by_layer(runs) == [[1, 4, 6, 7], [2, 5, None, None]]
    assert by_layer(runs[:2]) == [[1, 4], [2, 5], [3, None]]
    assert by_layer([]) == []
    assert grouped(LAYERS[0], 2) == pytest.approx(np.array([[0.1, 0.2, 0.01], [0.3, 0.4, 0.02], [0.5, 0.6, 0.0]]))
    assert grouped(LAYERS[0], 4).tolist() == LAYERS[0].tolist()
    assert [common_places(values) for values in ([0.5, 0.01], [1479.0, 2], [12.3, None], [0.0], [])] == [3, 0, 1, 2, 2]
    means = {-0.25: 2, -0.001: 2, -1479.0: 0}
    found = [mean_text(TidyRow("", "", "", "mdi", mean), places) for mean, places in means.items()]
    assert found == ["−0.25", "0.00", "−1,479"]


def test_lines_and_bars_are_means_over_the_repeats_that_have_the_layer(shown):
    rows = {row.condition: row for row in shown.table(NAME).rows}
    first, second = rows["feature x1, layer 1"], rows["feature x1, layer 2"]
    assert (first.mean, first.std, first.n) == (pytest.approx(0.2), pytest.approx(0.1), 3)
    assert (second.mean, second.n) == (pytest.approx(0.4), 2)
    assert np.isnan(second.values).sum() == 1  # pairs of layers are of the same repeats
    assert "feature x1, layer 3" not in rows  # one of three repeats
    assert rows["irrelevant features, layer 1"].mean == pytest.approx(np.mean([0.01, 0.0, 0.02]))
    assert rows["feature x2, class 2"].mean == pytest.approx(0.3)
    table = shown.table(NAME)
    parts = ["global, layer 1", "global, layer 2", "local, class 1", "local, class 2"]
    assert [row.labels[1] for row in table.view.rows] == parts
    left, right = shown.table(NAME).figure.draw().axes
    assert (left.get_title(), right.get_title()) == ("(a) global, by layer", "(b) local, by class")
    assert curves(left) == {"x1": [0.2, 0.4], "x2": [0.3, 0.5], "mean of the irrelevant features": [0.01, 0.015]}
    assert left.containers[2][0].get_color() == GREY
    heights = [[bar.get_height() for bar in bars] for bars in right.containers if hasattr(bars, "patches")]
    assert heights == [pytest.approx(line) for line in ([0.5, 0.1], [0.0, 0.3], [0.01, 0.0])]
    assert [label.get_text() for label in right.get_xticklabels()] == ["class 1", "class 2"]


def test_records_of_the_authors_have_a_line_and_points_of_their_own(shown):
    record = "feature x1, layer 2, authors' records, not printed in the paper"
    shown.published(NAME, [f'three_class,gcforest,"{record}",mdi,0.45,,,,fraction'])
    table = shown.table(NAME)
    (line,) = [row for row in table.view.rows if row.labels[-1].startswith("authors' records")]
    assert (line.labels[1], texts(line)) == ("global, layer 2", ["0.45", "–", "–"])
    assert {row.published for row in table.rows} == {None}
    (points,) = [one for one in table.figure.draw().axes[0].lines if one.get_label() == "authors' records"]
    assert points.get_xydata().tolist() == [[2, 0.45]]
    assert "Diamonds: the authors' records" in table.figure.caption
    assert any(note.startswith("Authors' records: numbers that the paper draws") for note in table.view.notes)
