"""Regions of two features: what picture, table, caption and regression check say of them."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import integers, tuples
from matplotlib.colors import to_rgb

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check, compare
from cascadeforest.reports.renderers.decision_regions import accuracy, borders
from cascadeforest.reports.results import read_results
from cascadeforest.reports.stored import render_stored
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "ddbf-fig6.csv"
EXTRA = "decision_grid"
BLUE, ORANGE = to_rgb("#0072B2"), to_rgb("#D55E00")
#: Four columns and three rows; class 1 on the right, and class 2 in the upper left corner.
GRID = {
    "x": np.array([0.0, 1, 2, 3]),
    "y": np.array([10.0, 20, 30]),
    "predicted": np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 0, 1, 1]]),
    "confidence": np.array([[1, 1, 1, 1], [1, 1 / 3, 1, 1], [1, 1, 1, 1]]),
}
POINTS = {
    "X_train": np.array([[0, 10], [1, 10], [2, 10], [3, 20], [0, 30]], np.float32),
    "y_train": np.array([0, 0, 1, 0, 2]),
    "predicted_train": np.array([0, 0, 1, 1, 2]),
    "X_test": np.array([[0, 20], [3, 30]], np.float32),
    "y_test": np.array([0, 1]),
    "predicted_test": np.array([0, 1]),
}
NAMES = {"feature_names": np.array(["width", "length"]), "class_names": np.array(["setosa", "versicolor", "virginica"])}
#: A second repeat, where test rows are wrong too.
OTHER = {"predicted_train": np.array([0, 0, 1, 0, 2]), "predicted_test": np.array([1, 1])}
COLUMNS = {"random_forest": "RF", "ddbf_f": "DDBF-f"}


def declare(suite, datasets=("iris2",), repeats=2, **changes):
    suite.experiment(
        "ddbf-fig6",
        kind="figure",
        render="decision_regions",
        title="Decision regions",
        datasets=list(datasets),
        **(
            {
                "columns": {name: f"{name}_50" for name in COLUMNS},
                "labels": COLUMNS,
                "libraries": {name: [] for name in COLUMNS},
                "extras": ["predictions", EXTRA],
                "repeats": dict.fromkeys(datasets, repeats),
            }
            | changes
        ),
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def run(suite, column, dataset="iris2", repeats=(POINTS, POINTS | OTHER), **changes):
    """Cells that saved their regions, each repeat in a file of its own."""
    suite.summary(dataset, class_names=["a", "b", "c"])
    scores = [float((own["predicted_test"] == own["y_test"]).mean()) for own in repeats]
    suite.run(dataset, f"{column}_50", scores, n_train=5, n_test=2)
    path = suite.folder / "runs" / dataset / f"{column}_50.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells" / "ab"
    folder.mkdir(parents=True, exist_ok=True)
    for cell, own in zip(content["cells"], repeats, strict=True):
        name = f"{dataset}-{column}-{cell['repeat']}.npz"
        cell["extras"] = {EXTRA: f"ab/{name}"}
        saved = GRID | NAMES | own | changes
        np.savez_compressed(folder / name, **{key: value for key, value in saved.items() if value is not None})
    path.write_text(json.dumps(content))


@pytest.fixture
def shown(suite):
    declare(suite)
    for column in COLUMNS:
        run(suite, column)
    return suite


def table_of(suite):
    return make_table("ddbf-fig6", read_results(suite.root, suite.name))


def rows_of_panels(table, place=0):
    """A list of panels for each model, and words where there are none."""
    return [part.axes for part in table.figure.draw().subfigs[place].subfigs]


def points(axes):
    """Places of the points by name."""
    return {line.get_label(): sorted(map(tuple, line.get_xydata().tolist())) for line in axes.lines}


def texts(view):
    return [(row.labels, [cell.text for cell in row.cells]) for row in view.rows]


# Borders.


def test_borders_are_the_longest_lines_between_classes():
    assert sorted(borders(GRID["predicted"])) == [((0, 2), (1, 2)), ((1, 2), (1, 3)), ((2, 0), (2, 3))]


def test_a_plane_of_one_class_has_no_border():
    assert borders(np.zeros((3, 4), int)) == []


def test_an_island_has_four_sides():
    island = np.zeros((3, 3), int)
    island[1, 1] = 1
    assert sorted(borders(island)) == [((1, 1), (1, 2)), ((1, 1), (2, 1)), ((1, 2), (2, 2)), ((2, 1), (2, 2))]


@settings(deadline=None, derandomize=True)
@given(arrays(np.int64, tuples(integers(2, 6), integers(2, 6)), elements=integers(0, 2)))
def test_borders_lie_between_all_neighbours_of_different_classes_and_no_others(predicted):
    k, m = predicted.shape
    drawn = set()
    for (x0, y0), (x1, y1) in borders(predicted):
        assert (x0 == x1) != (y0 == y1)
        steps = max(x1 - x0, y1 - y0)
        pieces = {(x0 + (x1 > x0) * s, y0 + (y1 > y0) * s, x0 == x1) for s in range(steps)}
        assert not pieces & drawn
        drawn |= pieces
    upright = {(j + 1, i, True) for i in range(k) for j in range(m - 1) if predicted[i, j] != predicted[i, j + 1]}
    level = {(j, i + 1, False) for i in range(k - 1) for j in range(m) if predicted[i, j] != predicted[i + 1, j]}
    assert drawn == upright | level


def test_accuracy_is_the_share_of_right_rows():
    assert (accuracy(POINTS, "train"), accuracy(POINTS, "test")) == (0.8, 1)


# Picture.


def test_each_model_has_a_panel_for_training_and_one_for_test_rows(shown):
    *models, legend = rows_of_panels(table_of(shown))
    assert [[axes.get_title() for axes in row] for row in models] == [
        ["RF, training rows: 80.00 % (published 98)", "RF, test rows: 100.00 % (published 94)"],
        ["DDBF-f, training rows: 80.00 % (published 94)", "DDBF-f, test rows: 100.00 % (published 98)"],
    ]
    assert not legend
    train, test = models[0]
    ring = "predicted as another class"
    assert points(train) == {"setosa": [(0, 10), (1, 10), (3, 20)], "versicolor": [(2, 10)], "virginica": [(0, 30)]} | {
        ring: [(3, 20)]
    }
    assert points(test) == {"setosa": [(0, 20)], "versicolor": [(3, 30)], "virginica": [], ring: []}
    assert (train.get_xlabel(), train.get_ylabel(), test.get_ylabel()) == ("width", "length", "")


def test_classes_differ_in_colour_and_marker(shown):
    train = rows_of_panels(table_of(shown))[0][0]
    classes = train.lines[:3]
    assert len({line.get_color() for line in classes}) == len({line.get_marker() for line in classes}) == 3


def test_areas_are_squares_around_the_grids_points_in_the_pale_colour_of_their_class(shown):
    for axes in rows_of_panels(table_of(shown))[0]:
        (image,) = axes.images
        assert image.get_extent() == [-0.5, 3.5, 5, 35]
        assert image.origin == "lower"
        drawn = np.asarray(image.get_array())
        strong, pale = (drawn[0, 0], drawn[1, 1])  # of class 0: sure, and as unsure as with three classes one can be
        assert strong == pytest.approx(1 - 0.34 + 0.34 * np.array(BLUE))
        assert pale == pytest.approx(1 - 0.10 + 0.10 * np.array(BLUE))
        assert drawn[0, 3] == pytest.approx(1 - 0.34 + 0.34 * np.array(ORANGE))


def test_lines_stand_where_the_class_changes(shown):
    axes = rows_of_panels(table_of(shown))[0][0]
    lines = sorted(sorted(map(tuple, path.vertices.tolist())) for path in axes.collections[0].get_paths())
    assert lines == [[(-0.5, 25), (0.5, 25)], [(0.5, 25), (0.5, 35)], [(1.5, 5), (1.5, 35)]]


def test_the_legend_has_the_classes_then_the_ring(shown):
    part = table_of(shown).figure.draw().subfigs[0].subfigs[-1]
    entries = [text.get_text() for text in part.legends[0].get_texts()]
    assert entries == ["setosa", "versicolor", "virginica", "predicted as another class"]


def test_names_that_the_cell_did_not_save_are_those_of_the_data(suite):
    declare(suite)
    for column in COLUMNS:
        run(suite, column, feature_names=None, class_names=None)
    train = rows_of_panels(table_of(suite))[0][0]
    assert set(points(train)) == {"a", "b", "c", "predicted as another class"}
    assert (train.get_xlabel(), train.get_ylabel()) == ("feature 1", "feature 2")
    declare(suite, options={"features": ["petal", "sepal"]})
    train = rows_of_panels(table_of(suite))[0][0]
    assert (train.get_xlabel(), train.get_ylabel()) == ("petal", "sepal")


def test_a_model_that_failed_or_is_not_written_has_words(suite):
    declare(suite, missing_models={"ddbf_f": "not implemented"}, status="partial")
    suite.fail("iris2", "random_forest_50", "MemoryError", "no room")
    table = table_of(suite)
    part = table.figure.draw().subfigs[0]
    assert part.axes[0].texts[0].get_text() == "failed: MemoryError: no room; not implemented"
    assert table.figure.alt == "Decision regions. iris2: failed: MemoryError: no room; not implemented."
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_a_model_beside_one_that_is_not_there_is_drawn(suite):
    declare(suite, missing_models={"ddbf_f": "not implemented"}, status="partial")
    run(suite, "random_forest")
    table = table_of(suite)
    first, second, _ = rows_of_panels(table)
    assert len(first) == 2
    assert second[0].texts[0].get_text() == "DDBF-f: not implemented"
    assert texts(table.view)[-2:] == [
        (("iris2", "DDBF-f", "reproduced"), ["not implemented"] * 2),
        (("iris2", "DDBF-f", "published"), ["94", "98"]),
    ]
    assert "iris2,ddbf_f,,region_share,,,,,,,,,not implemented," in table.figure.csv().decode()


def test_a_data_set_that_is_not_there_has_words_once(suite):
    declare(suite, ["iris2", "wine2"], absent={"wine2": "not on the mirror"})
    for column in COLUMNS:
        run(suite, column)
    table = table_of(suite)
    assert table.figure.draw().subfigs[1].axes[0].texts[0].get_text() == "unavailable: not on the mirror"
    assert table.figure.caption.endswith(" wine2: unavailable: not on the mirror.")
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


# Table and words.


def test_the_table_has_all_repeats_the_one_drawn_and_the_papers(shown):
    """Training: 4 and 5 of 5, of the paper 98; test: 2 and 1 of 2."""
    view = table_of(shown).view
    assert view.heads == ("accuracy on training rows (%)", "accuracy on test rows (%)")
    assert texts(view)[:3] == [
        (("iris2", "RF", "mean of 2 repeats"), ["90.00 ± 14.14", "75.00 ± 35.36"]),
        (("iris2", "RF", "the repeat drawn"), ["80.00", "100.00"]),
        (("iris2", "RF", "published"), ["98", "94"]),
    ]
    assert [row.size for row in view.rows[:3]] == ["5 + 2", "5 + 2", ""]
    assert "Drawn is the first repeat." in view.notes


def test_the_tidy_rows_have_the_papers_conditions(shown):
    rows = {row.key[1:]: row for row in table_of(shown).rows}
    train = rows["ddbf_f", "train", "accuracy"]
    assert (train.mean, train.n, train.n_test, train.published) == (pytest.approx(0.9), 2, 5, 0.94)
    test = rows["ddbf_f", "test", "accuracy"]
    assert (test.mean, test.std, test.published) == (0.75, pytest.approx(0.125**0.5), 0.98)
    drawn = rows["ddbf_f", "test, first repeat", "accuracy"]
    assert (drawn.mean, drawn.std, drawn.n, drawn.n_test, drawn.published) == (1, None, 1, 2, None)


def test_one_repeat_has_one_line(suite):
    declare(suite, repeats=1)
    for column in COLUMNS:
        run(suite, column, repeats=[POINTS])
    table = table_of(suite)
    assert [labels[-1] for labels, _ in texts(table.view)] == ["the repeat drawn", "published"] * 2
    assert "over 1 repeat" not in table.figure.caption
    assert not any("Drawn is" in note or "deviation" in note for note in table.view.notes)


def test_the_figures_csv_has_the_points_and_how_large_the_areas_are(shown):
    lines = table_of(shown).figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * (3 + 3 * (5 + 2))
    assert "iris2,random_forest,class setosa,region_share,0.4166666667,,1,2,,,,,ok," in lines
    assert 'iris2,ddbf_f,"train, row 4, class setosa",feature_1,3,,1,2,,,,,ok,' in lines
    assert 'iris2,ddbf_f,"train, row 4, class setosa",predicted_right,0,,1,2,,,,,ok,' in lines


def test_the_caption_has_the_papers_numbers_and_ours(shown):
    caption = table_of(shown).figure.caption
    assert (
        "The paper's text: on iris2 RF predicts 98 % of the training rows and 94 % of the test rows right, DDBF-f "
        "predicts 94 % of the training rows and 98 % of the test rows right." in caption
    )
    assert (
        "iris2, RF: 80.00 % of 5 training rows right (1 wrong), 90.00 ± 14.14 % over 2 repeats; 100.00 % of 2 test "
        "rows right (0 wrong), 75.00 ± 35.36 % over 2 repeats; share of the plane drawn: setosa 42 %, versicolor 50 %, "
        "virginica 8 %." in caption
    )


# Refusals and the regression check.


def test_cells_that_save_no_grid_are_refused(suite):
    declare(suite, extras=["predictions"])
    with pytest.raises(ConfigError, match=r"ddbf-fig6/extras are \['predictions'\]; add 'decision_grid'"):
        table_of(suite)


@pytest.mark.parametrize("features", ["width", ["width"]])
def test_names_that_are_not_two_are_refused(suite, features):
    declare(suite, options={"features": features})
    with pytest.raises(ConfigError, match=r"ddbf-fig6/options/features is .*; give a list of the two features' names"):
        table_of(suite)


def test_arrays_of_any_repeat_that_are_gone_are_named(shown):
    (shown.root / "results/cells/ab/iris2-ddbf_f-1.npz").unlink()
    with pytest.raises(UserError, match="no such file; the cell of ddbf_f_50 on iris2, repeat 1"):
        table_of(shown)


def test_drawing_again_is_exact_and_gives_the_same_bytes(suite):
    declare(suite)
    for column in COLUMNS:
        suite.plan_run("iris2", f"{column}_50", extras=["predictions", EXTRA])
        run(suite, column)
    path = suite.folder / "runs/iris2"
    for file in path.iterdir():  # the other extra that the experiment asks for
        content = json.loads(file.read_text())
        for cell in content["cells"]:
            cell["extras"]["predictions"] = cell["extras"][EXTRA]
        file.write_text(json.dumps(content))
    results = read_results(suite.root, suite.name)
    write_table("ddbf-fig6", make_table("ddbf-fig6", results).files(), suite.folder / "tables")
    write_figure("ddbf-fig6", make_figure("ddbf-fig6", results).files(), suite.folder / "figures")
    accept(suite.root, suite.name, "first numbers")
    assert not any(finding.is_drift for finding in check(suite.root, suite.name).findings)
    assert table_of(suite).figure.files() == table_of(suite).figure.files()
    shutil.rmtree(suite.root / "results")
    assert render_stored(suite.root, suite.name).differences == ()


@pytest.mark.parametrize(("libraries", "drift"), [([], True), (["xgboost"], False)])
def test_a_row_may_change_sides_in_a_foreign_model_only(suite, libraries, drift):
    def rows():
        return list(csv.DictReader(io.StringIO(table_of(suite).files()[".csv"])))

    declare(suite, libraries={"random_forest": libraries, "ddbf_f": []})
    for column in COLUMNS:
        run(suite, column)
    before = rows()
    run(suite, "random_forest", repeats=(POINTS, POINTS))
    findings = compare("ddbf-fig6", before, rows(), suite.experiments["ddbf-fig6"], suite.name)
    cells = {finding.cell for finding in findings if finding.is_drift}
    assert ("iris2 / random_forest / train / accuracy" in cells) == drift
