"""Predictions as sums: the rows that are shown, the numbers beside the paper's, and what is refused."""

from datetime import date, timedelta

import numpy as np
import pytest

from cascadeforest.reports.drawing.renderers.contribution_table import day_number, nearest

POINTS = {"points": [[0, 1], [1, 1]]}
DAYS = {
    "rows": ["2011/12/7", "2012/9/21"],
    "first_days": {"bike": "2011/1/1"},
    "features": {"bike": ["year", "temperature"]},
    "units": {"bike": {"year": {"add": 2011}, "temperature": {"times": 41}}},
}
#: Two test rows near the points, one far off; two layers, the last of which is shown. Three features are summed.
CLASSES = {
    "layers": np.array([1, 4]),
    "n_features": np.array(5),
    "rows": np.array([7, 8, 9]),
    "X_test": np.array([[0.5, 0.5], [0.98, 0.98], [0.0, 0.98]], np.float32),
    "y_test": np.array([2, 1, 0]),
    "bias": np.array([[9.0, 9, 9], [0.5, 0.25, 0.25]]),
    "contributions": np.zeros((2, 3, 3, 3), np.float32),
    "predictions": np.zeros((2, 3, 3), np.float32),
}
CLASSES["contributions"][1, 2] = [[0.25, -0.125, -0.125], [0, 0.0625, -0.0625], [0.125, -0.0625, -0.0625]]
CLASSES["predictions"][1, 2] = [0.875, 0.125, 0.0]
CLASSES["predictions"][1, 1] = [0.25, 0.5, 0.25]


def days(shift=0.0, rows=(340, 3, 629)):
    """Days of a target; the second layer has the numbers."""
    contributions = np.zeros((2, 3, 2, 1), np.float32)
    contributions[1, 0, :, 0] = [-700 + shift, -1500]
    contributions[1, 2, :, 0] = [1000 + shift, 1100]
    predictions = np.zeros((2, 3, 1), np.float32)
    predictions[1, :, 0] = [2300 + shift, 0, 6600 + shift]
    return {
        "layers": np.array([1, 2]),
        "n_features": np.array(2),
        "rows": np.array(rows),
        "X_test": np.array([[0, 0.41], [0, 0], [1, 0.6]], np.float32),
        "y_test": np.array([705.0, 1.0, 8167.0]),
        "bias": np.array([[0.0], [4500.0]]),
        "contributions": contributions,
        "predictions": predictions,
    }


def declare(suite, name, dataset, options, columns=None):
    columns = columns or ["gcforest" if name == "interp-table2" else "cascade_regressor"]
    given = {"columns": dict.fromkeys(columns, "preset"), "labels": {column: column for column in columns}}
    given |= {"metrics": [], "libraries": {}, "extras": ["contributions"]}
    suite.declare(name, "contribution_table", datasets=[dataset], options=options, **given)
    suite.summary(dataset, class_names=["1", "2", "3"] if name == "interp-table2" else [])


def save(suite, dataset, repeats):
    suite.run(dataset, "preset", [0.5] * len(repeats))
    for repeat, arrays in enumerate(repeats):
        suite.extra(dataset, "preset", "contributions", repeat, **arrays)


def lines(view):
    return [(*row.labels[1:], *(cell.text for cell in row.cells)) for row in view.rows]


@pytest.fixture
def classes(suite):
    declare(suite, "interp-table2", "three_class", POINTS)
    more = {name: values.copy() for name, values in CLASSES.items()}
    more["contributions"][1, 2, 0, 0] = 0.5
    save(suite, "three_class", [CLASSES, more])
    return suite


@pytest.fixture
def bike(suite):
    declare(suite, "interp-table6", "bike", DAYS)
    save(suite, "bike", [days(), days(shift=10)])
    return suite


def test_the_nearest_row_is_found_by_brute_force_and_days_are_counted_through_a_leap_year():
    random = np.random.default_rng(0)
    X = random.random((50, 4)).astype(np.float32)
    for point in random.random((5, 2)):
        distances = [np.hypot(row[0] - point[0], row[1] - point[1]) for row in X.astype(float)]
        assert nearest(X, point) == min(range(50), key=lambda k: distances[k])
    assert nearest(np.array([[5, 5], [0, 1], [1, 0]], np.float32), (0, 0)) == 1  # the first of equally near ones
    number = day_number("2012/9/21", "2011/1/1")
    assert date(2011, 1, 1) + timedelta(days=number) == date(2012, 9, 21)


def test_lines_of_the_last_layer_at_the_nearest_row_stand_beside_the_papers(classes):
    view = classes.table("interp-table2").view
    assert view.heads == ("bias", *(f"contribution of {name}" for name in ("x1", "x2", "other features")), "prediction")
    ours, theirs = lines(view)[:2]
    numbers = ["0.500 ± 0.000", "0.375 ± 0.177", "0.000 ± 0.000", "0.125 ± 0.000", "0.875 ± 0.000"]
    assert ours == ("point (0, 1)", "class 1", "reproduced", *numbers)
    assert theirs == ("point (0, 1)", "class 1", "published", "0.46", "0.37", "0.00", "not printed", "0.88")
    assert [cell.mark for cell in view.rows[0].cells] == ["predicted"] * 5
    assert [view.rows[k].cells[0].mark for k in (1, 2)] == ["predicted", ""]
    rows = {row.key[2:]: row for row in classes.table("interp-table2").rows}
    x1 = rows["point (0, 1), class 1, feature x1", "contribution"]
    assert (x1.mean, x1.std, x1.n, x1.published) == (0.375, pytest.approx(0.25 / np.sqrt(2)), 2, 0.37)
    others = rows["point (0, 1), class 3, other features", "contribution"]
    assert (others.mean, others.published) == (-0.0625, None)
    assert rows["point (1, 1), class 2", "prediction"].mean == 0.5
    points = [*POINTS["points"], [0.5, 0.5]]
    declare(classes, "interp-table2", "three_class", {"points": points})
    notes = " ".join(classes.table("interp-table2").view.notes)
    assert "point (0, 1) is shown by the nearest test row, (0, 0.98)." in notes
    assert "point (1, 1) is shown by the nearest test row, (0.98, 0.98)." in notes
    assert "point (0.5, 0.5) is shown" not in notes  # it is a test row


def test_days_have_a_line_a_feature_with_the_papers_numbers_below_each_model(bike):
    found = lines(bike.table("interp-table6").view)[:6]
    assert found == [
        ("day 2011/12/7", "bias", "reproduced", "", "4,500 ± 0"),
        ("day 2011/12/7", "year", "reproduced", "2011", "−695 ± 7"),
        ("day 2011/12/7", "year", "published", "2011", "−714"),
        ("day 2011/12/7", "temperature", "reproduced", "16.81", "−1,500 ± 0"),
        ("day 2011/12/7", "temperature", "published", "17", "−1,479"),
        ("day 2011/12/7", "prediction; its value: the target", "reproduced", "705", "2,305 ± 7"),
    ]
    rows = {row.key[1:]: row for row in bike.table("interp-table6").rows}
    year = rows["cascade_regressor", "day 2011/12/7, feature year", "contribution"]
    assert (year.mean, year.std, year.n, year.published) == (-695, pytest.approx(10 / np.sqrt(2)), 2, -714)
    value = rows["", "day 2012/9/21, feature year", "feature_value"]
    assert (value.mean, value.published) == (2012, 2012)
    temperature = rows["", "day 2011/12/7, feature temperature", "feature_value"]
    assert (temperature.mean, temperature.published) == (pytest.approx(0.41 * 41), 17)
    assert rows["", "day 2012/9/21", "target"].mean == 8167
    columns = ("cascade_regressor", "cascade_regressor_official")
    place = {"published": {"cascade_regressor_official": {"model": "cascade_regressor"}}}
    declare(bike, "interp-table6", "bike", DAYS | place, columns)
    table = bike.table("interp-table6")
    found = lines(table.view)
    for label in columns:
        assert (label, "day 2011/12/7", "year", "reproduced", "2011", "−695 ± 7") in found
        assert (label, "day 2011/12/7", "year", "published", "2011", "−714") in found
    keys = [row.key for row in table.rows]
    assert len(keys) == len(set(keys))
    declare(bike, "interp-table6", "bike", DAYS | {"rows": ["2011/1/2"]})
    bike.refuses("interp-table6", r"has 2011/1/2, which is no test row of the first repeat of bike \(row 1\)")


def test_data_without_days_show_their_first_test_rows_and_only_repeats_that_have_them(suite):
    declare(suite, "interp-table6", "diabetes", DAYS)
    save(suite, "diabetes", [days(), days(shift=10, rows=(5, 340, 6))])
    table = suite.table("interp-table6")
    rows = {row.key[2:]: row for row in table.rows}
    both, one = rows["row 340, feature x1", "contribution"], rows["row 3, feature x1", "contribution"]
    assert (both.mean, both.n) == ((-700 + 0) / 2, 2)  # in the second repeat it is the row in the middle
    assert (one.mean, one.n, one.std) == (0, 1, None)
    assert any(note.startswith("diabetes has no days.") for note in table.view.notes)
    assert not [row for row in table.view.rows if row.kind == "published"]
