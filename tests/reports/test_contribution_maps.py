"""Maps of contributions: where each test row is drawn, and what table and CSV say."""

import numpy as np
import pytest
from tests.reports.conftest import curves, texts

from cascadeforest.reports.drawing.renderers.contribution_maps import (
    CONSTANT,
    grid_places,
    square_means,
    variance_shares,
)
from cascadeforest.reports.store.check import check

#: Three values of x1 and two of x2; rows in an order of their own.
X1, X2 = np.array([0.0, 0.5, 1.0]), np.array([0.0, 10.0])
GRID = np.array([(x, y) for x in X1 for y in X2], np.float32)[[4, 0, 5, 2, 1, 3]]
#: Something that is another number at each place: of the rows, and as a map.
ROWS, PLACES = 2 * GRID[:, 0] + GRID[:, 1] / 100, 2 * X1[None] + X2[:, None] / 100
SCORES = {"train": np.array([0.5, 0.75, 0.7]), "test": np.array([0.625, 0.875])}
LABELS = {"deep": "deep forest", "code": "deep forest (code)"}


def regression():
    """Return arrays where the features contribute -ROWS and 0.1 at layer 1, twice ROWS and -0.2 at layer 2."""
    layers = [np.column_stack([-ROWS, np.full(6, 0.1)]), np.column_stack([2 * ROWS, np.full(6, -0.2)])]
    return {
        "layers": np.array([1, 2]),
        "n_features": np.array(2),
        "contributions": np.array(layers, np.float32)[..., None],
        "predictions": np.array([ROWS, 3 * ROWS], np.float32)[..., None],
        "X_train": np.array([[0.25, 5]], np.float32),
        "y_train": np.array([1.0]),
        "X_test": GRID,
        "y_test": ROWS - 1,
    }


def classification():
    """Return arrays of two classes, with contributions of opposite signs, and of three more features, summed."""
    one = regression()
    first = np.concatenate([one["contributions"], np.full((2, 6, 1, 1), 0.5, np.float32)], axis=2)
    return one | {
        "n_features": np.array(5),
        "contributions": np.concatenate([first, -first], axis=3),
        "predictions": np.array([[[0.75, 0.25]] * 6, [[0.5, 0.5]] * 6], np.float32),
        "X_train": np.array([[0.25, 5], [0.75, 5], [0.9, 1]], np.float32),
        "y_train": np.array([0, 1, 1]),
    }


def declare(suite, name="interp-fig3", dataset="sincos", metric="rmse", models=("deep",), repeats=1, **changes):
    given = {"extras": ["layer_scores", "contributions"]} | changes
    labels = {model: LABELS[model] for model in models}
    data = {"datasets": [dataset], "metrics": [metric], "repeats": {dataset: repeats}}
    suite.figure(name, "contribution_maps", labels, **data, **given)
    suite.summary(dataset, class_names=["1", "2"])


def save(suite, *repeats, dataset="sincos", model="deep_20", scores=(SCORES,)):
    suite.run(dataset, model, [0.5] * len(repeats), n_test=6)
    for k, (arrays, errors) in enumerate(zip(repeats, scores, strict=True)):
        suite.extra(dataset, model, "contributions", k, **arrays)
        suite.extra(dataset, model, "layer_scores", k, **errors)


def drawn_rows(suite, name="interp-fig3"):
    return {(row.condition, row.metric): row for row in suite.table(name).figure.rows}


def parts(suite, name="interp-fig3"):
    return suite.table(name).figure.draw().subfigs


def images(part):
    """Return the maps of a part; colour bars have none."""
    return [axes.images[0] for axes in part.axes if axes.images]


def values(part):
    return [np.asarray(image.get_array()) for image in images(part)]


@pytest.fixture
def target(suite):
    declare(suite)
    save(suite, regression())
    return suite


@pytest.fixture
def classes(suite):
    declare(suite, "interp-fig4", "three_class", "accuracy")
    save(suite, classification(), dataset="three_class")
    return suite


def test_each_row_has_its_place_on_the_grid_and_squares_have_the_means_of_their_points():
    x, y, rows = grid_places(GRID)
    assert (x.tolist(), y.tolist()) == (X1.tolist(), X2.tolist())
    assert GRID[rows].tolist() == [[[x1, x2] for x1 in X1] for x2 in X2]
    several = np.vstack([GRID, GRID[:1]]), np.vstack([GRID[:5], GRID[:1]])
    for X in (GRID[:5], *several, GRID[:, [0, 1, 1]], GRID[:1, :1]):
        assert grid_places(X) is None
    values = np.random.default_rng(0).random((10, 15))
    assert square_means(values, 5) == pytest.approx(values.reshape(5, 2, 5, 3).mean(axis=(1, 3)))
    assert square_means(values[:2, :3]) == pytest.approx(values[:2, :3])
    assert square_means(values[:7, :6], 3)[0, 0] == pytest.approx(values[:3, :2].mean())


def test_maps_and_errors_in_the_picture_means_over_squares_in_the_csv_mean_sizes_in_the_table(target):
    upper, maps = parts(target)
    wanted = [PLACES - 1, PLACES, -PLACES, 0.1 + 0 * PLACES, 3 * PLACES, 2 * PLACES, -0.2 + 0 * PLACES]
    assert np.array(values(upper) + values(maps)) == pytest.approx(np.array(wanted), abs=1e-6)
    assert {(image.origin, *image.get_extent()) for image in images(maps)} == {("lower", -0.25, 1.25, -5, 15)}
    titles = [axes.get_title() for axes in maps.axes]
    assert (titles[0], titles[4]) == ("first layer\nprediction", "last layer\nfeature x1")
    errors = {"held-out training rows": SCORES["train"].tolist(), "test rows": SCORES["test"].tolist()}
    assert curves(upper.axes[1]) == errors
    # Three by two points: each is a square of its own.
    rows, view = drawn_rows(target), target.table("interp-fig3").view
    assert rows["last layer, feature x1, square 3 2", "contribution"].mean == pytest.approx(2 * PLACES[1, 2])
    assert rows["square 2 1", "target"].mean == pytest.approx(PLACES[0, 1] - 1)
    assert rows["held-out training rows, layer 3", "rmse"].mean == 0.7
    assert len(rows) == 3 + 2 + 6 * (1 + 2 * 3)
    assert [row.labels[1] for row in view.rows] == ["first (1)", "last (2)"]
    assert texts(view.rows[0])[:3] == ["0.5000", "0.6250", f"{ROWS.mean():.3f}"]
    # Feature x1 has 2/3 of the variance 2/3 + 1/400 of its map, x2 the rest; the map of x2 is constant.
    assert texts(view.rows[1]) == ["0.7500", "0.8750", f"{2 * ROWS.mean():.3f}", "0.200", "99.63", CONSTANT]
    assert view.heads[4] == "variance of the contribution of x1 that x1 alone explains (%)"
    joint = {row.condition: row.mean for row in target.table("interp-fig3").rows if row.metric == "joint_share"}
    assert joint["last layer, feature x1"] == pytest.approx(0, abs=1e-6)


def test_shares_of_the_variance_are_those_of_an_analysis_of_variance():
    """Of a sum of one function of each feature and a product without means; outputs count by their variance."""
    rng = np.random.default_rng(0)
    first, second, u, v = (rng.normal(size=n) for n in (7, 4, 7, 4))
    product = np.outer(v - v.mean(), u - u.mean())
    one = first[None] + second[:, None] + product
    parts = np.var(first), np.var(second), np.var(product)
    assert sum(parts) == pytest.approx(np.var(one))
    for axis in (0, 1):
        wanted = parts[axis] / sum(parts), 1 - parts[axis] / sum(parts), parts[2] / sum(parts)
        assert variance_shares(one[..., None], axis) == pytest.approx(wanted, rel=1e-5)
    assert variance_shares(product[..., None], 0) == pytest.approx((0, 1, 1), abs=1e-12)
    both = np.stack([one, 3 * product + 5], axis=2)
    whole = sum(parts) + 9 * parts[2]
    wanted = parts[0] / whole, 1 - parts[0] / whole, 10 * parts[2] / whole
    assert variance_shares(both, 0) == pytest.approx(wanted, rel=1e-5)
    assert variance_shares(np.full((2, 3, 1), 0.1), 1) == ()


@pytest.fixture
def repeats(suite):
    """Three; last layers are 3, 1 and 2, contributions are once, three times and twice those of the first."""
    errors = ([0.6, 0.3, 0.2, 0.25], [0.6, 0.2, 0.1]), ([0.4, 0.5], [0.2]), ([0.5, 0.1, 0.2], [0.4, 0.4])
    scores = [{"train": np.array(train), "test": np.array(test)} for train, test in errors]
    declare(suite, repeats=3)
    first = regression() | {"layers": np.array([1, 3])}
    ends = {"layers": np.array([1]), "predictions": first["predictions"][:1]}
    second = first | ends | {"contributions": 3 * first["contributions"][:1]}
    third = first | {"layers": np.array([1, 2]), "contributions": 2 * first["contributions"]}
    save(suite, first, second, third, scores=scores)
    return suite


def test_errors_and_sizes_are_means_each_repeat_at_its_own_last_layer_and_curves_of_layers_that_half_have(repeats):
    table, size = repeats.table("interp-fig3"), ROWS.mean()
    rows = {row.condition: row for row in table.rows if not row.metric.endswith("_share")}
    for condition, numbers in {
        "held-out training rows, first layer": [0.6, 0.4, 0.5],
        "test rows, first layer": [0.6, 0.2, 0.4],
        "held-out training rows, last layer": [0.2, 0.4, 0.1],
        "test rows, last layer": [0.1, 0.2, 0.4],
        "first layer, feature x1": [size, 3 * size, 2 * size],
        "last layer, feature x1": [2 * size, 3 * size, 4 * size],
        "last layer, feature x2": [0.2, 0.3, 0.4],
    }.items():
        row = rows[condition]
        assert (row.n, row.mean) == (3, pytest.approx(np.mean(numbers), rel=1e-5)), condition
        assert row.std == pytest.approx(np.std(numbers, ddof=1), rel=1e-5), condition
    last = table.view.rows[1]
    assert (last.labels[1], last.cells[1].text, last.size) == ("last (1 to 3)", "0.2333 ± 0.1528", "3 × 6")
    upper, maps = parts(repeats)
    assert curves(upper.axes[1]) == {"held-out training rows": [0.5, 0.3, 0.2], "test rows": [0.4, 0.3]}
    assert upper.axes[1].containers[1].lines[2][0].get_segments()[0][:, 1] == pytest.approx([0.2, 0.6])
    row = drawn_rows(repeats)["test rows, layer 2", "rmse"]
    assert (row.mean, row.n) == (pytest.approx(0.3), 2)
    assert maps.get_suptitle() == "deep forest, first of 3 repeats"
    assert values(maps)[4] == pytest.approx(2 * PLACES, abs=1e-6)


@pytest.fixture
def two(target):
    """Two models; contributions of the second are twice those of the first, its predictions three times."""
    declare(target, models=LABELS)
    first = regression()
    twice = {"contributions": 2 * first["contributions"], "predictions": 3 * first["predictions"]}
    save(target, first | twice, model="code_20", scores=[{name: one / 2 for name, one in SCORES.items()}])
    return target


def test_models_share_the_scales_of_maps_and_one_that_did_not_run_leaves_the_other(two):
    upper, *models = parts(two)
    ends, largest = (-1, 9 * PLACES.max()), 4 * PLACES.max()
    assert images(upper)[0].get_clim() == pytest.approx(ends)
    for model, label in zip(models, LABELS.values(), strict=True):
        assert model.get_suptitle() == label
        for k, image in enumerate(images(model)):
            assert image.get_clim() == pytest.approx((-largest, largest) if k % 3 else ends)
        scales = [axes.get_xlim() for axes in model.axes[-2:]]
        assert scales == [pytest.approx(ends), pytest.approx((-largest, largest))]
    errors = upper.axes[1]
    assert curves(errors)["deep forest (code), test rows"] == (SCORES["test"] / 2).tolist()
    colours = [one.lines[0].get_color() for one in errors.containers]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert [one.lines[0].get_markerfacecolor() == "white" for one in errors.containers] == [True, False] * 2
    two.lose("sincos", "deep_20")
    _, missing, there = parts(two)
    assert missing.axes[0].texts[0].get_text() == "unavailable: not run"
    assert values(there)[4] == pytest.approx(4 * PLACES, abs=1e-6)
    assert set(texts(two.table("interp-fig3").view.rows[0])) == {"unavailable: not run"}


def test_each_class_has_its_points_a_row_of_maps_and_shares_as_errors_and_another_number_is_a_drift(classes):
    table = classes.table("interp-fig4")
    upper, maps = table.figure.draw().subfigs
    first = [0.75 + 0 * PLACES, -PLACES, 0.1 + 0 * PLACES, 0.5 + 0 * PLACES, 2 * PLACES, -0.2 + 0 * PLACES]
    second = [1 - one if k % 3 == 0 else -one for k, one in enumerate(first)]
    assert np.array(values(maps)) == pytest.approx(np.array(first + second), abs=1e-6)
    assert [axes.get_ylabel() for axes in maps.axes[:12:6]] == ["class 1\nx2", "class 2\nx2"]
    points = {line.get_label(): line.get_xydata().tolist() for line in upper.axes[0].lines}
    assert points == {"class 1": [[0.25, 5]], "class 2": [[0.75, 5], [pytest.approx(0.9), 1]]}
    found = {row.key[2]: row.mean for row in table.rows}
    assert (found["test rows, last layer"], found["first layer, other features"]) == (0.125, 0.5)
    assert table.view.heads[0] == "error (%), held-out training rows"
    assert texts(table.view.rows[1])[:2] == ["25.00", "12.50"]
    assert drawn_rows(classes, "interp-fig4")["last layer, class 2, square 1 1", "prediction"].mean == 0.5
    drawn = classes.stored().folder / "figures" / "interp-fig4.csv"
    drawn.write_text(drawn.read_text().replace("0.25", "0.26"))
    assert check(classes.root, classes.name).has_drift


def test_test_rows_off_a_grid_are_refused(suite):
    declare(suite)
    save(suite, regression() | {"X_test": GRID + GRID[:, ::-1] ** 2})
    suite.refuses("interp-fig3", "datasets has sincos, whose test rows are no grid in two features; take")
