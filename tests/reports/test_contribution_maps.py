"""Maps of contributions: where each test row is drawn, in which colour, and what CSV and caption say."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.renderers.contribution_maps import grid_places, square_means
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
#: Three values of x1 and two of x2; rows in an order of their own.
X1, X2 = np.array([0.0, 0.5, 1.0]), np.array([0.0, 10.0])
ORDER = np.array([4, 0, 5, 2, 1, 3])
GRID = np.array([(x, y) for x in X1 for y in X2])[ORDER]
SCORES = {"train": np.array([0.5, 0.75, 0.7]), "test": np.array([0.625, 0.875])}


def value(x, y):
    """Something that is another number at each place."""
    return 2 * x + y / 100


def regression():
    places = value(*GRID.T)
    contributions = np.zeros((2, 6, 2, 1))
    contributions[0, :, 0, 0], contributions[0, :, 1, 0] = -places, 0.1
    contributions[1, :, 0, 0], contributions[1, :, 1, 0] = 2 * places, -0.2
    return {
        "layers": np.array([1, 2]),
        "n_features": np.array(2),
        "bias": np.zeros((2, 1)),
        "contributions": contributions.astype(np.float32),
        "predictions": np.array([places, 3 * places], np.float32)[:, :, None],
        "X_train": np.array([[0.25, 5]], np.float32),
        "y_train": np.array([1.0]),
        "X_test": GRID.astype(np.float32),
        "y_test": places - 1,
        "rows": np.arange(6),
    }


def classification():
    """Two classes; five features, of which three are summed."""
    one = regression()
    contributions = np.zeros((2, 6, 3, 2), np.float32)
    contributions[:, :, :2, 0] = one["contributions"][:, :, :, 0]
    contributions[:, :, 2, 0] = 0.5
    contributions[..., 1] = -contributions[..., 0]
    right = (GRID[:, 0] > 0.6).astype(np.int64)
    return one | {
        "n_features": np.array(5),
        "contributions": contributions,
        "predictions": np.array([[[0.75, 0.25]] * 6, [[0.5, 0.5]] * 6], np.float32),
        "X_train": np.array([[0.25, 5], [0.75, 5], [0.9, 1]], np.float32),
        "y_train": np.array([0, 1, 1]),
        "y_test": right,
    }


MODELS = {"deep": "deep forest", "code": "deep forest (code)"}


def declare(suite, name="interp-fig3", dataset="sincos", columns=("deep",), repeats=1, **changes):
    suite.experiment(
        name,
        kind="figure",
        render="contribution_maps",
        title="Feature contributions",
        metrics=[],
        columns={column: "preset" if column == "deep" else column for column in columns},
        labels={column: MODELS[column] for column in columns},
        libraries={column: [] for column in columns},
        datasets=[dataset],
        repeats={dataset: repeats},
        **({"options": {"layers": ["first", "last"]}, "extras": ["layer_scores", "contributions"]} | changes),
    )
    shutil.copy(PUBLISHED / f"{name}.csv", suite.root / "reports" / "published")
    suite.summary(dataset, class_names=["1", "2"])


def save(suite, arrays, dataset="sincos", preset="preset", scores=(SCORES,)):
    """One run for each of `scores`; `arrays` are those of all runs, or a list with those of each."""
    suite.run(dataset, preset, [0.5] * len(scores), n_test=6)
    path = suite.folder / "runs" / dataset / f"{preset}.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells" / "ab"
    folder.mkdir(parents=True, exist_ok=True)
    for k, (cell, own) in enumerate(zip(content["cells"], scores, strict=True)):
        saved = {"contributions": arrays[k] if isinstance(arrays, list) else arrays, "layer_scores": own}
        cell["extras"] = {extra: f"ab/{dataset}-{preset}-{k}.{extra}.npz" for extra in saved}
        for extra, values in saved.items():
            np.savez_compressed(folder / f"{dataset}-{preset}-{k}.{extra}.npz", **values)
    path.write_text(json.dumps(content))


def table_of(suite, name="interp-fig3"):
    return make_table(name, read_results(suite.root, suite.name))


@pytest.fixture
def target(suite):
    declare(suite)
    save(suite, regression())
    return suite


@pytest.fixture
def classes(suite):
    declare(suite, "interp-fig4", "three_class")
    save(suite, classification(), "three_class")
    return suite


def images(part):
    """Every map below a part, in the order of drawing."""
    return [image for axes in part.axes for image in axes.images]


def curves_of(axes):
    """Label of a curve to its values."""
    return {one.get_label(): one.lines[0].get_ydata().tolist() for one in axes.containers}


# The grid.


def test_each_row_has_its_place():
    x, y, rows = grid_places(GRID)
    assert (x.tolist(), y.tolist()) == (X1.tolist(), X2.tolist())
    for i, j in np.ndindex(2, 3):
        assert GRID[rows[i, j]].tolist() == [X1[j], X2[i]]


@pytest.mark.parametrize(
    "X",
    [
        GRID[:5],
        np.vstack([GRID, GRID[:1]]),
        np.vstack([GRID[:5], GRID[:1]]),
        np.random.default_rng(0).random((6, 2)),
    ],
)
def test_rows_that_leave_a_place_empty_or_share_one_are_no_grid(X):
    assert grid_places(X) is None


def test_squares_have_the_means_of_their_points():
    values = np.random.default_rng(0).random((10, 15))
    assert square_means(values, 5) == pytest.approx(values.reshape(5, 2, 5, 3).mean(axis=(1, 3)))
    assert square_means(values[:2, :3]) == pytest.approx(values[:2, :3])
    assert square_means(values[:7, :6], 3)[0, 0] == pytest.approx(values[:3, :2].mean())


# A target.


def test_maps_of_a_target_show_each_row_at_its_place(target):
    (part,) = table_of(target).figure.draw().subfigs
    target_map, *maps = images(part.subfigs[0]) + images(part.subfigs[1])
    places = value(*np.meshgrid(X1, X2))
    drawn = [np.asarray(image.get_array()) for image in maps[:6]]
    for found, wanted in zip(
        [np.asarray(target_map.get_array()), *drawn],
        [places - 1, places, -places, np.full((2, 3), 0.1), 3 * places, 2 * places, np.full((2, 3), -0.2)],
        strict=True,
    ):
        assert found == pytest.approx(wanted, abs=1e-6)
    assert all(image.origin == "lower" and image.get_extent() == [-0.25, 1.25, -5, 15] for image in maps[:6])


def test_maps_of_one_kind_have_one_scale_and_that_of_contributions_is_centred(target):
    (part,) = table_of(target).figure.draw().subfigs
    target_map, *maps = images(part.subfigs[0]) + images(part.subfigs[1])
    low, high = -1, 3 * value(1, 10)
    assert target_map.get_clim() == maps[0].get_clim() == maps[3].get_clim() == pytest.approx((low, high))
    largest = 2 * value(1, 10)
    for k in (1, 2, 4, 5):
        assert maps[k].get_clim() == pytest.approx((-largest, largest))


def test_errors_stand_beside_and_the_last_kept_layer_is_marked(target):
    (part,) = table_of(target).figure.draw().subfigs
    axes = part.subfigs[0].axes[1]
    curves = curves_of(axes)
    assert curves["held-out training rows"] == SCORES["train"].tolist()
    assert curves["test rows"] == SCORES["test"].tolist()
    assert [2, 2] in [list(line.get_xdata()) for line in axes.lines]


def test_the_csv_has_means_over_squares_and_the_errors(target):
    rows = {
        (r["condition"], r["metric"]): r for r in csv.DictReader(io.StringIO(table_of(target).figure.csv().decode()))
    }
    # Three by two points: each is a square of its own.
    assert float(rows["last layer, feature x1, square 3 2", "contribution"]["mean"]) == pytest.approx(2 * value(1, 10))
    assert float(rows["square 2 1", "target"]["mean"]) == pytest.approx(value(0.5, 0) - 1)
    assert float(rows["held-out training rows, layer 3", "rmse"]["mean"]) == 0.7
    assert ("test rows, layer 3", "rmse") not in rows


def test_the_table_has_errors_and_mean_sizes(target):
    places = value(*GRID.T)
    table = table_of(target)
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["first layer, feature x1", "contribution_size"] == pytest.approx(places.mean(), rel=1e-5)
    assert found["last layer, feature x2", "contribution_size"] == pytest.approx(0.2, rel=1e-5)
    assert (found["held-out training rows, last layer", "rmse"], found["test rows, last layer", "rmse"]) == (
        0.75,
        0.875,
    )
    assert [row.labels[1] for row in table.view.rows] == ["first (1)", "last (2)"]
    assert "(a) The target." in table.figure.caption
    assert "Published: the paper gives no result in numbers; what it says of the data is in" in " ".join(
        table.view.notes
    )
    assert "last layer (2): error 0.7500 of held-out training rows and 0.8750 of test rows" in table.figure.alt


def test_only_the_layers_asked_for_are_drawn(target):
    declare(target, options={"layers": ["last"]})
    (part,) = table_of(target).figure.draw().subfigs
    assert len([axes for axes in part.subfigs[1].axes if axes.images]) == 3


# Several runs, several models.


#: A run of three kept layers, and one of one.
RUNS = (
    {"train": np.array([0.6, 0.3, 0.2, 0.25]), "test": np.array([0.6, 0.2, 0.1])},
    {"train": np.array([0.4, 0.5]), "test": np.array([0.2])},
    {"train": np.array([0.5, 0.1, 0.2]), "test": np.array([0.4, 0.4])},
)


def of_runs():
    """Contributions of the second run are three times those of the first, of the third twice; its last layer is 2."""
    first = regression() | {"layers": np.array([1, 3])}
    one_layer = {name: first[name][:1] for name in ("bias", "contributions", "predictions")}
    second = first | one_layer | {"layers": np.array([1]), "contributions": 3 * first["contributions"][:1]}
    return [first, second, first | {"layers": np.array([1, 2]), "contributions": 2 * first["contributions"]}]


@pytest.fixture
def runs(suite):
    declare(suite, repeats=3)
    save(suite, of_runs(), scores=RUNS)
    return suite


def test_errors_and_sizes_are_means_over_runs_each_at_its_own_last_layer(runs):
    table = table_of(runs)
    rows = {row.key[2:]: row for row in table.rows}
    size = value(*GRID.T).mean()
    for key, values in {
        ("held-out training rows, first layer", "rmse"): [0.6, 0.4, 0.5],
        ("test rows, first layer", "rmse"): [0.6, 0.2, 0.4],
        ("held-out training rows, last layer", "rmse"): [0.2, 0.4, 0.1],
        ("test rows, last layer", "rmse"): [0.1, 0.2, 0.4],
        ("first layer, feature x1", "contribution_size"): [size, 3 * size, 2 * size],
        ("last layer, feature x1", "contribution_size"): [2 * size, 3 * size, 4 * size],
        ("last layer, feature x2", "contribution_size"): [0.2, 0.3, 0.4],
    }.items():
        assert (rows[key].n, rows[key].mean) == (3, pytest.approx(np.mean(values), rel=1e-5)), key
        assert rows[key].std == pytest.approx(np.std(values, ddof=1), rel=1e-5), key
    assert [row.labels[1] for row in table.view.rows] == ["first (1)", "last (1 to 3)"]
    assert table.view.rows[1].cells[1].text == "0.2333 ± 0.1528"
    assert table.view.rows[0].size == "3 × 6"


def test_the_curve_has_the_layers_that_half_of_the_runs_have(runs):
    table = table_of(runs)
    (part,) = table.figure.draw().subfigs
    axes = part.subfigs[0].axes[1]
    curves = curves_of(axes)
    assert curves["held-out training rows"] == pytest.approx([0.5, 0.3, 0.2])
    assert curves["test rows"] == pytest.approx([0.4, 0.3])
    spread = axes.containers[1].lines[2][0].get_segments()[0][:, 1]
    assert spread == pytest.approx([0.2, 0.6])
    # No one layer is the last of all runs.
    assert not [line for line in axes.lines if len(set(line.get_xdata())) == 1 < len(line.get_xdata())]
    assert "Dashed vertical line" not in table.figure.caption
    assert "mean ± standard deviation over runs" in table.figure.caption
    found = {r["condition"]: r for r in csv.DictReader(io.StringIO(table.figure.csv().decode()))}
    assert (float(found["test rows, layer 2"]["mean"]), found["test rows, layer 2"]["n"]) == (pytest.approx(0.3), "2")


def test_maps_are_those_of_the_first_run(runs):
    (part,) = table_of(runs).figure.draw().subfigs
    assert np.asarray(images(part.subfigs[1])[4].get_array()) == pytest.approx(
        2 * value(*np.meshgrid(X1, X2)), abs=1e-6
    )
    assert [axes.get_title() for axes in part.subfigs[1].axes][3] == "(d) last layer (3): prediction"


@pytest.fixture
def two(suite):
    """Two models; contributions of the second are twice those of the first, its predictions three times."""
    declare(suite, columns=MODELS)
    first = regression()
    save(suite, first)
    twice = {"contributions": 2 * first["contributions"], "predictions": 3 * first["predictions"]}
    save(suite, first | twice, preset="code", scores=[{name: one / 2 for name, one in SCORES.items()}])
    return suite


def test_all_models_have_one_scale(two):
    (part,) = table_of(two).figure.draw().subfigs
    upper, *models = part.subfigs
    largest = 4 * value(1, 10)
    ends = -1, 9 * value(1, 10)
    assert images(upper)[0].get_clim() == pytest.approx(ends)
    assert [one.get_suptitle() for one in models] == [
        "deep forest, first of 1 run",
        "deep forest (code), first of 1 run",
    ]
    for model in models:
        for k in (0, 3):
            assert images(model)[k].get_clim() == pytest.approx(ends)
        for k in (1, 2, 4, 5):
            assert images(model)[k].get_clim() == pytest.approx((-largest, largest))
    assert np.asarray(images(models[1])[4].get_array()) == pytest.approx(4 * value(*np.meshgrid(X1, X2)), abs=1e-6)
    assert "same colour scale, whatever the layer and model." in table_of(two).figure.caption


def test_target_and_errors_of_all_models_are_drawn_once(two):
    (part,) = table_of(two).figure.draw().subfigs
    target_axes, errors = part.subfigs[0].axes
    assert target_axes.get_title() == "(a) target"
    curves = curves_of(errors)
    assert curves["deep forest, test rows"] == SCORES["test"].tolist()
    assert curves["deep forest (code), test rows"] == (SCORES["test"] / 2).tolist()
    colours = [to_hex(one.lines[0].get_color()) for one in errors.containers]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    letters = [axes.get_title()[:3] for one in part.subfigs[1:] for axes in one.axes]
    assert [letter for letter in letters if letter.startswith("(")] == ["(c)", "(d)", "(e)", "(f)"]


def test_a_model_that_did_not_run_leaves_the_other_one(two):
    (two.folder / "runs" / "sincos" / "preset.json").unlink()
    (part,) = table_of(two).figure.draw().subfigs
    assert part.subfigs[1].axes[0].texts[0].get_text() == "sincos, deep forest: unavailable: not run"
    assert len(images(part.subfigs[2])) >= 6


# Classes.


def test_contributions_to_a_class_are_in_its_colour_or_in_grey(classes):
    (part,) = table_of(classes, "interp-fig4").figure.draw().subfigs
    maps = iter(images(part.subfigs[1].subfigs[0]))
    places = value(*np.meshgrid(X1, X2))
    largest = 2 * value(1, 10)
    for colour, sign, chances in (("#0072B2", 1, (0.75, 0.5)), ("#D55E00", -1, (0.25, 0.5))):
        for chance, x1, x2 in zip(chances, (-places, 2 * places), (0.1, -0.2), strict=True):
            probability = next(maps)
            assert probability.get_clim() == (0, 1)
            assert np.asarray(probability.get_array()) == pytest.approx(np.full((2, 3), chance))
            assert [probability.cmap(end)[:3] for end in (0.0, 1.0)] == [(1, 1, 1), to_rgb(colour)]
            for wanted in (x1, np.full((2, 3), x2)):
                image = next(maps)
                assert np.asarray(image.get_array()) == pytest.approx(sign * wanted, abs=1e-6)
                assert image.get_clim() == pytest.approx((-largest, largest))
                assert image.cmap(1.0)[:3] == to_rgb(colour)
                assert len(set(image.cmap(0.0)[:3])) == 1  # grey
                assert image.cmap(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    assert not list(maps)


def test_training_rows_are_points_by_class(classes):
    (part,) = table_of(classes, "interp-fig4").figure.draw().subfigs
    points = {line.get_label(): line.get_xydata().tolist() for line in part.subfigs[0].axes[0].lines}
    assert points == {
        "class 1": [[0.25, 5]],
        "class 2": [[0.75, 5], [pytest.approx(0.9), 1]],
    }


def test_errors_of_classes_are_shares_and_other_features_have_a_number(classes):
    table = table_of(classes, "interp-fig4")
    found = {row.key[2:]: row.mean for row in table.rows}
    assert found["test rows, last layer", "error_rate"] == 0.125
    assert found["first layer, other features", "contribution_size"] == 0.5
    assert table.view.heads[:2] == ("error (%), held-out training rows", "error (%), test rows")
    assert [cell.text for cell in table.view.rows[1].cells][:2] == ["25.00", "12.50"]


def test_there_is_a_colour_bar_for_each_kind(classes):
    (part,) = table_of(classes, "interp-fig4").figure.draw().subfigs
    bars = part.subfigs[1].subfigs[1].axes
    assert [axes.get_xlabel() for axes in bars] == ["probability", "contribution"]
    assert [label.get_text() for label in bars[0].get_yticklabels()] == ["class 1", "class 2"]


# Regression check, refusals.


def test_figure_and_check_are_stable(classes):
    results = read_results(classes.root, classes.name)
    write_table("interp-fig4", make_table("interp-fig4", results).files(), classes.folder / "tables")
    write_figure("interp-fig4", make_figure("interp-fig4", results).files(), classes.folder / "figures")
    accept(classes.root, classes.name, "first")
    report = check(classes.root, classes.name)
    assert not report.has_drift, "\n".join(report.lines())
    drawn = classes.folder / "figures" / "interp-fig4.csv"
    drawn.write_text(drawn.read_text().replace("0.25", "0.26"))
    assert check(classes.root, classes.name).has_drift


def test_a_run_that_is_missing_is_told(suite):
    declare(suite)
    table = table_of(suite)
    assert [(row.status, row.note) for row in table.rows] == [("unavailable", "not run")]
    assert table.figure.draw().axes[0].texts[0].get_text() == "sincos: unavailable: not run"


def test_test_rows_off_a_grid_are_refused(suite):
    declare(suite)
    save(suite, regression() | {"X_test": np.random.default_rng(0).random((6, 2)).astype(np.float32)})
    with pytest.raises(ConfigError, match=r"datasets has sincos, whose test rows are no grid in its first two"):
        table_of(suite)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {"layers": [1]}}, r"options/layers is \[1\]; give a list of 'first' and 'last'"),
        ({"options": {}}, r"options/layers is None"),
        ({"extras": ["contributions"]}, r"extras are \['contributions'\]; add 'layer_scores'"),
    ],
)
def test_what_does_not_fit_is_refused(target, changes, message):
    declare(target, **changes)
    with pytest.raises(ConfigError, match=message):
        table_of(target)
