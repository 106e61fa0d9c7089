"""Regions of two features: what picture, table and regression check say of them."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.reports.conftest import texts

EXTRA, RING = "decision_grid", "predicted as another class"
BLUE, ORANGE = np.array(to_rgb("#0072B2")), np.array(to_rgb("#D55E00"))
#: Four columns and three rows of a grid; class 1 on the right, and class 2 in the upper left corner.
FIRST = {
    "x": np.array([0.0, 1, 2, 3]),
    "y": np.array([10.0, 20, 30]),
    "predicted": np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 0, 1, 1]]),
    "confidence": np.array([[1, 1 / 3, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]),
    "X_train": np.array([[0, 10], [1, 10], [2, 10], [3, 20], [0, 30]], np.float32),
    "y_train": np.array([0, 0, 1, 0, 2]),
    "predicted_train": np.array([0, 0, 1, 1, 2]),
    "X_test": np.array([[0, 20], [3, 30]], np.float32),
    "y_test": np.array([0, 1]),
    "predicted_test": np.array([0, 1]),
}
#: A second repeat, where a test row is wrong and all training rows are right.
SECOND = FIRST | {"predicted_train": np.array([0, 0, 1, 0, 2]), "predicted_test": np.array([1, 1])}
COLUMNS = {"random_forest": "RF", "ddbf_f": "DDBF-f"}


def declare(suite, datasets=("iris2",), repeats=2, **changes):
    given = {"extras": [EXTRA], "options": {"features": ["width", "length"]}, "datasets": datasets, "repeats": repeats}
    suite.figure("ddbf-fig6", "decision_regions", COLUMNS, **given | changes)
    for dataset in datasets:
        suite.summary(dataset, class_names=["setosa", "versicolor", "virginica"])


def run(suite, *columns, dataset="iris2", repeats=(FIRST, SECOND)):
    for column in columns or COLUMNS:
        suite.run(dataset, f"{column}_20", [0.5] * len(repeats), n_train=5, n_test=2)
        for k, saved in enumerate(repeats):
            suite.extra(dataset, f"{column}_20", EXTRA, k, **saved)


def parts(suite):
    """Return a part for each model, and that of the legend."""
    return suite.table("ddbf-fig6").figure.draw().subfigs


def points(axes):
    """Return places of points by name."""
    return {line.get_label(): sorted(map(tuple, line.get_xydata().tolist())) for line in axes.lines}


def lines(view):
    return [(*row.labels[1:], *texts(row), row.size) for row in view.rows]


def test_a_panel_each_for_training_and_test_rows_paler_where_the_model_is_unsure_with_lines_between_areas(shown):
    *models, legend = parts(shown)
    assert [(model.get_suptitle(), *(axes.get_title() for axes in model.axes)) for model in models] == [
        ("iris2, RF", "training rows: 80.00 % (published 98)", "test rows: 100.00 % (published 94)"),
        ("iris2, DDBF-f", "training rows: 80.00 % (published 94)", "test rows: 100.00 % (published 98)"),
    ]
    train, test = map(points, models[0].axes)
    assert train["setosa"] == [(0, 10), (1, 10), (3, 20)]
    assert (train["virginica"], train[RING]) == ([(0, 30)], [(3, 20)])
    assert test == {"setosa": [(0, 20)], "versicolor": [(3, 30)], "virginica": [], RING: []}
    assert [text.get_text() for text in legend.legends[0].get_texts()] == list(test)
    assert [axes.get_ylabel() for axes in models[0].axes] == ["length", ""]
    axes = parts(shown)[0].axes[1]
    (image,) = axes.images
    assert (image.get_extent(), image.origin) == ([-0.5, 3.5, 5, 35], "lower")
    for place, strength, colour in ((0, 0), 0.34, BLUE), ((0, 1), 0.34 / 3, BLUE), ((0, 3), 0.34, ORANGE):
        assert np.asarray(image.get_array())[place] == pytest.approx(1 - strength + strength * colour)
    # Lines run half-way between squares of different classes: around those of 1 on the right, and of 2 in a corner.
    places = np.concatenate([path.vertices for lines in axes.collections for path in lines.get_paths()])
    assert sorted(places.tolist()) == [[0, 25], [0.5, 30], [1.5, 10], [1.5, 20], [1.5, 30]]


def test_a_model_beside_one_that_is_not_there_is_drawn_and_names_not_known_are_numbers(suite):
    declare(suite, options={})
    run(suite)
    (suite.root / "data" / "processed" / "iris2.json").unlink()
    train = parts(suite)[0].axes[0]
    assert set(points(train)) == {"0", "1", "2", RING}
    assert (train.get_xlabel(), train.get_ylabel()) == ("feature 1", "feature 2")
    declare(suite, ["iris2", "wine2"], missing_models={"ddbf_f": "not implemented"}, status="partial")
    run(suite, "random_forest")
    suite.fail("wine2", "random_forest_20")
    table = suite.table("ddbf-fig6")
    first, second, failed, *_ = table.figure.draw().subfigs
    assert len(first.axes) == 2
    words = [part.axes[0].texts[0].get_text() for part in (second, failed)]
    assert words == ["not implemented", "failed: MemoryError: no room"]
    assert lines(table.view)[3] == ("DDBF-f", "", "reproduced", "not implemented", "not implemented", "")
    assert lines(table.view)[4] == ("DDBF-f", "", "published", "94", "98", "")
    assert "iris2,ddbf_f,,region_share,,,,,,,,,not implemented," in table.figure.csv().decode()


def test_tables_have_all_repeats_the_first_one_its_points_and_the_papers(shown, suite):
    """Training: 4 and 5 of 5, of the paper 98; test: 2 and 1 of 2."""
    table = shown.table("ddbf-fig6")
    assert lines(table.view)[:3] == [
        ("RF", "all 2", "reproduced", "90.00 ± 14.14", "75.00 ± 35.36", "5 + 2"),
        ("RF", "all 2", "published", "98", "94", ""),
        ("RF", "first, drawn", "reproduced", "80.00", "100.00", "5 + 2"),
    ]
    rows = {row.key[1:3]: row for row in table.rows}
    train, test, drawn = (rows["ddbf_f", part] for part in ("train", "test", "test, first repeat"))
    assert (train.mean, train.n, train.n_test, train.published) == (pytest.approx(0.9), 2, 5, 0.94)
    assert (test.mean, test.std, test.published) == (0.75, pytest.approx(0.125**0.5), 0.98)
    assert (drawn.mean, drawn.std, drawn.n, drawn.n_test, drawn.published) == (1, None, 1, 2, None)
    drawn_in = table.figure.csv().decode().splitlines()
    assert len(drawn_in) == 1 + 2 * (3 + 3 * (5 + 2))
    assert "iris2,random_forest,class setosa,region_share,0.4166666667,,1,2,,,,,ok," in drawn_in
    assert 'iris2,ddbf_f,"train, row 4, class setosa",feature_1,3,,1,2,,,,,ok,' in drawn_in
    assert 'iris2,ddbf_f,"train, row 4, class setosa",predicted_right,0,,1,2,,,,,ok,' in drawn_in
    declare(suite, repeats=1)
    run(suite, repeats=[FIRST])
    found = [row[1:3] for row in lines(suite.table("ddbf-fig6").view)]
    assert found == [("all 1", "reproduced"), ("all 1", "published")] * 2
    declare(suite)
    fewer = {name: FIRST[name][:4] for name in ("X_train", "y_train", "predicted_train")}
    run(suite, repeats=[FIRST, FIRST | fewer])
    assert suite.rows("ddbf-fig6")["iris2", "ddbf_f", "train", "accuracy"].n_test == 4  # the fewest of a repeat


@pytest.mark.parametrize(("libraries", "drift"), [([], True), (["xgboost"], False)])
def test_a_row_may_change_sides_in_a_foreign_model_only(suite, libraries, drift):
    declare(suite, libraries={"random_forest": libraries, "ddbf_f": []})
    run(suite)
    before = suite.table("ddbf-fig6")
    run(suite, "random_forest", repeats=(FIRST, FIRST))
    assert ("iris2 / random_forest / train / accuracy" in suite.moved("ddbf-fig6", before)) == drift
