"""Rows in the plane: what picture, table and regression check say of them."""

import numpy as np
import pytest
from tests.reports.conftest import texts, words

EXTRA = "representations-1-5"
#: Two classes at -2 +- 1 and 2 +- 1 on a line: within 4, between 16. Then at -4 +- 1 and 4 +- 1: 4 and 64.
CLASSES, ROWS = np.array([0, 0, 1, 1]), np.array([10, 30, 70, 20])
NEAR = np.array([[-3, 0], [-1, 0], [1, 0], [3, 0]], np.float32)
FAR = np.array([[-5, 0], [-3, 0], [3, 0], [5, 0]], np.float32)


def declare(suite, models=("mddf",), datasets=("digits",), options=(), **changes):
    given = {"extras": [EXTRA], "repeats": 1, "datasets": datasets} | changes
    given["options"] = {"layers": [1, 5], "projection": "tsne"} | dict(options)
    suite.figure("mddf-fig2b", "representation_maps", {model: model.upper() for model in models}, **given)


def save(suite, dataset="digits", layers=(1, 5), planes=(NEAR, FAR), model="mddf_20", extra=EXTRA, **changes):
    given = {
        "layers": np.array(layers, np.int64),
        "n_layers": np.array(5),
        "rows": ROWS,
        "classes": CLASSES,
        "coordinates": np.reshape(planes, (len(layers), len(changes.get("rows", ROWS)), 2)).astype(np.float32),
        "feature_ratios": np.linspace(0.5, 0.25, len(layers)),
    }
    suite.extra(dataset, model, extra, **(given | changes))


def run(suite, dataset="digits", class_names=("no", "yes"), model="mddf_20", **changes):
    suite.summary(dataset, class_names=list(class_names))
    suite.run(dataset, model, [0.75], n_train=70, n_test=30)
    save(suite, dataset, model=model, **changes)


def parts(suite):
    return suite.table("mddf-fig2b").figure.draw().subfigs


def panels(suite, place=0):
    return parts(suite)[place].axes


def cells(suite, row=0):
    return texts(suite.table("mddf-fig2b").view.rows[row])


def test_points_are_where_the_cell_has_them_with_names_in_a_legend(shown):
    first, second = panels(shown)
    for axes, plane in (first, NEAR), (second, FAR):
        clouds = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
        assert clouds == {"no": plane[:2].tolist(), "yes": plane[2:].tolist()}
    titles = [axes.get_title() for axes in (first, second)]
    assert titles == ["Layer 1\nS_A / S_E in the plane 0.2500", "Layer 5\nS_A / S_E in the plane 0.06250"]
    lines = shown.table("mddf-fig2b").figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * 4 * 2
    assert 'digits,mddf,"layer 5, row 70, class yes",tsne_1,3,,1,30,,,,,ok,' in lines
    plane = np.array([[0, 0], [9, 9], [9, 8], [5, 5.126]])
    save(shown, planes=(plane, plane), classes=np.array([0, 0, 0, 1]))
    assert "tsne_2,5.13," in shown.table("mddf-fig2b").figure.csv().decode()
    run(shown, class_names=["WALKING", "LAYING"])
    assert [text.get_text() for text in parts(shown)[0].legends[0].get_texts()] == ["WALKING", "LAYING"]
    plane = np.array([[-1, 0], [1, 0], [-2, 0], [2, 0]])
    save(shown, planes=(plane, plane))
    assert cells(shown)[0] == "all class means are equal"
    axes = panels(shown)[0]
    assert (axes.get_title(), len(axes.lines)) == ("Layer 1", 2)


def test_the_papers_ratios_stand_beside_and_below_ours_on_its_data(suite):
    declare(suite, datasets=["har", "digits"], absent={"digits": "not on the mirror"})
    run(suite, "har")
    assert words(panels(suite, 1)[0]) == ["unavailable: not on the mirror"]
    assert panels(suite)[1].get_title() == "Layer 5\nS_A / S_E in the plane 0.06250 (published 1.97)"
    assert cells(suite) == ["0.2500", "0.06250", "0.5000", "0.2500"]
    assert cells(suite, 1) == ["3.88", "1.97", "not printed", "not printed"]
    row = {row.key: row for row in suite.table("mddf-fig2b").rows}["har", "mddf", "layer 5", "intra_to_inter_variance"]
    assert (row.mean, row.published) == (0.0625, 1.97)


@pytest.mark.parametrize("planes", [(NEAR,), ()])
def test_a_layer_that_the_cascade_does_not_have_is_said(suite, planes):
    declare(suite)
    run(suite, layers=[1][: len(planes)], planes=planes, n_layers=np.array(len(planes)))
    reason = f"the cascade has {len(planes)} layer{'' if planes else 's'}"
    assert words(panels(suite)[1]) == [reason]
    assert [reason in text for text in cells(suite)] == [not planes, True] * 2


def test_twenty_six_classes_have_looks_of_their_own(suite):
    declare(suite)
    names, planes = [chr(65 + k) for k in range(26)], np.random.default_rng(0).normal(size=(2, 26, 2))
    run(suite, class_names=names, classes=np.arange(26), rows=np.arange(26), planes=planes)
    axes = panels(suite)[0]
    assert len({(line.get_color(), line.get_marker()) for line in axes.lines}) == 26
    assert [text.get_text() for text in parts(suite)[0].legends[0].get_texts()] == names


def test_random_starts_of_t_sne_stand_beside_the_plane_that_is_drawn(suite):
    declare(suite, extras=[EXTRA, "plane_starts-1-5"])
    run(suite)
    ratios = np.array([[0.3, 0.2, 0.1], [0.2, 0.25, 0.05]])
    suite.extra("digits", "mddf_20", "plane_starts-1-5", layers=np.array([1, 5]), ratios=ratios)
    title = panels(suite)[0].get_title()
    assert title.endswith("S_A / S_E in the plane 0.2500\n(random starts: 0.1000 to 0.3000)")
    table = suite.table("mddf-fig2b")
    rows = {row.key[2:]: row.mean for row in table.rows}
    assert rows["layer 5, start 2", "intra_to_inter_variance"] == 0.25


def test_the_data_by_two_features_are_a_panel_of_their_own(linear):
    assert [len(part.axes) for part in parts(linear)] == [3, 1]
    options = {"layers": [0, 1, 3], "separability": True, "data": ["height", "width"]}
    declare(linear, ["hidf"], extras=LINEAR, options=options)
    save(
        linear, layers=[0, 1, 3], planes=(NEAR, 0 * NEAR, FAR), model="hidf_20", extra=LINEAR[0], first_features=FAR + 1
    )
    axes = panels(linear)[0]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("(a) The data\n\n", "height", "width")
    assert axes.lines[0].get_xydata().tolist() == (FAR[:2] + 1).tolist()
    assert "(a) Training rows by the height and width" in linear.table("mddf-fig2b").figure.caption


LINEAR = ("representations-0-1-3", "separability", "interactions")
ACCURACY = np.array([0.5, 0.4, 0.9, 0.8])


def declare_linear(suite, *models):
    declare(suite, models, extras=LINEAR, options={"layers": [0, 1, 3], "separability": True})


def run_linear(suite, model="hidf_20", accuracy=ACCURACY, found_in=(0, 0, 2, 3), planes=(NEAR, 0 * NEAR, FAR)):
    """Two features and two interactions; by default layer 1 of three finds none."""
    layers, n_layers = [0, 1, 3][: len(planes)], np.array(len(accuracy) - 1)
    run(suite, model=model, layers=layers, planes=planes, extra=LINEAR[0], n_layers=n_layers)
    suite.extra("digits", model, "separability", accuracy=accuracy)
    suite.extra("digits", model, "interactions", layer=np.array(found_in))


@pytest.fixture
def linear(suite):
    declare_linear(suite, "hidf")
    run_linear(suite)
    return suite


def test_a_linear_cascade_has_a_row_for_every_layer_and_words_for_one_without_features(linear):
    titles = [axes.get_title() for axes in panels(linear)]
    assert titles[::2] == ["The input\nlinear accuracy 50.00 %", "Layer 3\nlinear accuracy 80.00 %"]
    line, hollow = (one.lines[0] for one in panels(linear, 1)[0].containers)
    assert line.get_xydata().tolist() == [[0, 50], [1, 40], [2, 90], [3, 80]]
    assert (hollow.get_xydata().tolist(), hollow.get_markerfacecolor()) == ([[1, 40]], "white")
    rows = {row.key[2:]: row for row in linear.table("mddf-fig2b").rows}
    assert [rows[f"layer {k}", "linear_accuracy"].mean for k in range(4)] == ACCURACY.tolist()
    assert rows["layer 1", "intra_to_inter_variance"].note == "no interactions found so far"
    assert rows["layer 3", "intra_to_inter_variance"].mean == 4 / 64
    assert cells(linear) == ["50.00", "40.00", "80.00"]
    linear.published("mddf-fig2b", ["digits,hidf,layer 3,linear_accuracy,95.5,,,,percent"])
    assert panels(linear)[2].get_title() == "Layer 3\nlinear accuracy 80.00 % (published 95.5)"
    assert cells(linear, 1) == ["not printed", "not printed", "95.5"]
    assert [len(axes.lines) for axes in panels(linear)] == [2, 0, 2]
    assert words(panels(linear)[1]) == ["no interactions found so far"]
    drawn = linear.table("mddf-fig2b").figure.csv().decode()
    assert "digits,hidf,layer 1,tsne_1,,,,,,,,,unavailable,no interactions found so far" in drawn
    assert '"layer 1, row' not in drawn
    assert '"layer 3, row 10, class no",tsne_1,-5' in drawn
    assert "digits,hidf,layer 2,linear_accuracy,0.9," in drawn
    for found_in, n_clouds in ((0, 0, 1), [2, 2, 2]), ((0, 0), [2, 0, 0]):  # rows at one place are drawn too
        run_linear(linear, found_in=found_in)
        assert [len(axes.lines) for axes in panels(linear)] == n_clouds


@pytest.mark.parametrize(("n_layers", "reason"), [(0, "the cascade has 0 layers"), (1, "the cascade has 1 layer")])
def test_a_shallow_cascade_of_interactions_says_so(linear, n_layers, reason):
    run_linear(linear, accuracy=ACCURACY[: n_layers + 1], found_in=(0, 0, 1), planes=(NEAR, FAR)[: n_layers + 1])
    axes = panels(linear)[2]
    assert (axes.get_title(), words(axes), cells(linear)[2]) == ("Layer 3", [reason], reason)
    assert len(panels(linear, 1)[0].containers[0].lines[0].get_xdata()) == n_layers + 1


def test_models_of_interactions_are_told_apart(suite):
    declare_linear(suite, "hidf", "code", "none")
    run_linear(suite)
    run_linear(suite, "code_20", accuracy=ACCURACY[::-1])
    titles = [part.get_suptitle() for part in parts(suite)]
    assert titles[::2] == ["digits, HIDF, 4 of 70 training rows", "digits, CODE, 4 of 70 training rows", "digits, NONE"]
    assert panels(suite, 3)[0].containers[0].lines[0].get_ydata().tolist() == [80, 90, 40, 50]
    assert [row.labels[1] for row in suite.table("mddf-fig2b").view.rows] == ["HIDF", "CODE", "NONE"]
    assert set(cells(suite, 2)) == {"unavailable: not run"}


def test_the_plane_of_another_processor_is_no_drift_but_another_ratio_or_row(shown):
    """Turned by a right angle, and a little wider within classes: 0.25 becomes 0.3.

    Ratios of the features are our own: to the last stored digit. Coordinates may differ, the rows may not.
    """
    turned = np.column_stack([[0, 0, 0, 0], [-3.095445, -0.904555, 0.904555, 3.095445]])
    save(shown.stored(), planes=(turned, FAR))
    assert shown.drifts() == set()
    assert shown.table("mddf-fig2b").rows[0].mean == pytest.approx(0.3, abs=1e-5)
    save(shown, planes=(FAR, FAR), feature_ratios=np.array([0.5, 0.250000001]))
    ratios = ("1 / intra_to_inter_variance", "5 / intra_to_inter_variance_of_features")
    assert shown.drifts() == {(f"digits / mddf / layer {one}", "mean") for one in ratios}
    path = shown.folder / "figures" / "mddf-fig2b.csv"
    path.write_text(path.read_text().replace("row 70", "row 71"))
    assert "digits / mddf / layer 1, row 71, class yes / tsne_1" in {cell for cell, _ in shown.found()}


def test_a_linear_accuracy_may_move_by_some_test_rows(linear):
    """It comes from BLAS: one of thirty rows may change sides, not three, though the model is ours."""
    linear.stored()
    for n_rows, found in (1, set()), (3, {("digits / hidf / layer 3 / linear_accuracy", "mean")}):
        run_linear(linear, accuracy=np.append(ACCURACY[:3], 0.8 + n_rows / 30))
        assert linear.drifts() == found


def test_linear_accuracies_are_means_over_repeats_and_planes_are_of_the_first(suite):
    options, first = {"layers": [0, 1, 3], "separability": True}, {LINEAR[0]: 1}
    declare(suite, ["hidf"], extras=LINEAR, options=options, repeats=2, extra_repeats=first)
    suite.summary("digits", class_names=["no", "yes"])
    suite.run("digits", "hidf_20", [0.75, 0.75], n_train=70, n_test=30)
    save(suite, layers=[0, 1, 3], planes=(NEAR, 0 * NEAR, FAR), model="hidf_20", extra=LINEAR[0])
    # The first finds interactions in layer 2 and 3, the second, which has a layer less, in layer 1.
    for repeat, (accuracy, found_in) in enumerate(((ACCURACY, [0, 2, 3]), (ACCURACY[:3] - 0.2, [0, 1]))):
        suite.extra("digits", "hidf_20", "separability", repeat, accuracy=accuracy)
        suite.extra("digits", "hidf_20", "interactions", repeat, layer=np.array(found_in))
    rows = {row.key[2:]: row for row in suite.table("mddf-fig2b").rows}
    assert rows["layer 1", "linear_accuracy"].values == pytest.approx((0.4, 0.2))
    last = rows["layer 3", "linear_accuracy"], rows["layer 3", "intra_to_inter_variance"]
    assert (last[0].note, last[1].mean) == ("a cascade has 2 layers", 4 / 64)
    assert [axes.get_title() for axes in panels(suite)][1] == "Layer 1\nlinear accuracy 30.00 % (mean of 2)"
    assert words(panels(suite)[1]) == ["no interactions found so far"]  # in the first repeat
    line, hollow = (one.lines[0] for one in panels(suite, 1)[0].containers)
    assert line.get_xydata().tolist() == [[0, pytest.approx(40)], [1, pytest.approx(30)], [2, pytest.approx(80)]]
    assert hollow.get_xydata().tolist() == []  # a repeat found some in layer 1
    assert "planes and S_A / S_E are of the first repeat" in suite.notes("mddf-fig2b")


def test_ratios_are_means_over_repeats_where_all_save_planes_and_points_are_of_the_first(suite):
    starts = "plane_starts-1-5"
    declare(suite, datasets=["digits", "har"], extras=[EXTRA, starts], repeats=2, extra_repeats={starts: 1})
    suite.summary("digits", class_names=["no", "yes"])
    suite.run("digits", "mddf_20", [0.75, 0.75], n_train=70, n_test=30)
    save(suite)
    suite.extra("digits", "mddf_20", starts, layers=np.array([1, 5]), ratios=np.array([[0.3, 0.2], [0.2, 0.25]]))
    repeat = {"layers": np.array([1]), "n_layers": np.array(1), "rows": ROWS[::-1], "classes": CLASSES}
    plane, ratio = FAR[None], np.array([0.7])
    suite.extra("digits", "mddf_20", EXTRA, 1, **repeat, coordinates=plane, feature_ratios=ratio)
    table = suite.table("mddf-fig2b")
    rows = {row.key[2:]: row for row in table.rows if row.dataset == "digits"}
    assert rows["layer 1", "intra_to_inter_variance"].values == (0.25, 0.0625)
    assert rows["layer 1", "intra_to_inter_variance_of_features"].mean == pytest.approx(0.6)
    last = rows["layer 5", "intra_to_inter_variance"]  # the second repeat has no layer 5
    assert (last.mean, last.n) == (0.0625, 1)
    assert np.isnan(last.values).tolist() == [False, True]
    axes = panels(suite)[0]
    words_of_starts = "(random starts, first repeat: 0.2000 to 0.3000)"
    assert axes.get_title() == f"Layer 1\nS_A / S_E in the plane 0.1562 (mean of 2)\n{words_of_starts}"
    assert axes.lines[0].get_xydata().tolist() == NEAR[:2].tolist()
    assert "Points, and the range in brackets, are of the first repeat; other num" in suite.notes("mddf-fig2b")
    assert ([row.size for row in table.view.rows], table.view.size_head) == (["2", "", ""], "repeats")  # har: not run
    # The other way round: the first repeat has one layer only.
    save(suite, layers=[1], planes=(NEAR,), n_layers=np.array(1))
    repeat |= {"layers": np.array([1, 5]), "coordinates": np.stack([NEAR, FAR]), "feature_ratios": np.array([0.7, 0.6])}
    suite.extra("digits", "mddf_20", EXTRA, 1, **repeat)
    (reason,) = words(panels(suite)[1])
    assert reason.replace("\n", " ") == "the first repeat has no such layer"
    assert "layer 5, row" not in suite.table("mddf-fig2b").figure.csv().decode()
