"""Accuracy while a class grows rare: what picture, table, caption and regression check say."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, permutations, sampled_from

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check, compare
from cascadeforest.reports.renderers.imbalance_curves import Series, find_series, looks
from cascadeforest.reports.results import read_results
from cascadeforest.reports.stored import render_stored
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "ddbf-fig4.csv"
COLUMNS = {
    "gcforest": "gcForest",
    "random_forest": "RF",
    "random_forest_balanced": "RF, class-weighted",
    "ddbf_f": "DDBF-f",
}
FULL, MORE, MOST = "digits", "digits+imbalance-5-0.6", "digits+imbalance-5-0.9"
#: Right predictions of ten test rows of class 4 and of ten of class 5, in two repeats.
RIGHT = {
    (FULL, "gcforest"): [(10, 9), (10, 10)],  # 95 and 100 %
    (MORE, "gcforest"): [(10, 6), (10, 6)],  # 80, 80
    (MOST, "gcforest"): [(10, 2), (10, 0)],  # 60, 50
    (FULL, "ddbf_f"): [(9, 9), (10, 9)],  # 90, 95
    (MORE, "ddbf_f"): [(10, 7), (10, 8)],  # 85, 90
    (MOST, "ddbf_f"): [(10, 3), (9, 5)],  # 65, 70
    (FULL, "random_forest"): [(8, 8), (8, 8)],
    (MORE, "random_forest"): [(8, 6), (8, 6)],
    (MOST, "random_forest"): [(8, 4), (8, 4)],
    (FULL, "random_forest_balanced"): [(8, 8), (8, 8)],
    (MORE, "random_forest_balanced"): [(8, 7), (8, 7)],
    (MOST, "random_forest_balanced"): [(8, 6), (8, 6)],
}


def declare(suite, datasets=(FULL, MORE, MOST), columns=COLUMNS, **changes):
    suite.experiment(
        "ddbf-fig4",
        kind="figure",
        render="imbalance_curves",
        title="Accuracy against the imbalance ratio",
        datasets=list(datasets),
        **(
            {
                "columns": {name: f"{name}_200" for name in columns},
                "labels": dict(columns),
                "libraries": {name: [] for name in columns},
                "options": {"label": "5"},
            }
            | changes
        ),
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def run(suite, dataset, column, right, rows=(10, 10)):
    """Cells whose confusion matrices have these right predictions; the others are of the other class."""
    suite.summary(dataset, class_names=["4", "5"], n_train=70, n_test=sum(rows))
    suite.run(dataset, f"{column}_200", [sum(counts) / sum(rows) for counts in right], n_test=sum(rows))
    path = suite.folder / "runs" / dataset / f"{column}_200.json"
    content = json.loads(path.read_text())
    for cell, (four, five) in zip(content["cells"], right, strict=True):
        cell["confusion"] = [[four, rows[0] - four], [rows[1] - five, five]]
    path.write_text(json.dumps(content))


def run_all(suite, right=RIGHT, without=()):
    for (dataset, column), counts in right.items():
        if (dataset, column) not in without:
            run(suite, dataset, column, counts)


@pytest.fixture
def shown(suite):
    declare(suite)
    run_all(suite)
    return suite


def table_of(suite):
    return make_table("ddbf-fig4", read_results(suite.root, suite.name))


def parts(table):
    return table.figure.draw().subfigs


def panels(table):
    return [axes for part in parts(table) for axes in part.axes]


def curves(axes):
    return {line.get_label(): [round(float(y), 6) for y in line.get_ydata()] for line in axes.lines}


def line(view, quantity, model, source=None):
    """Texts of one line."""
    found = [
        row
        for row in view.rows
        if row.labels[1].startswith(quantity) and row.labels[2] == model and source in (None, row.labels[-1])
    ]
    assert len(found) == 1
    return [cell.text for cell in found[0].cells]


GAP = "accuracy (percent points)", "DDBF-f minus gcForest"


# Series.


def test_variants_of_one_data_set_are_a_series_in_the_order_of_their_ratios():
    names = ["mnist+rows-50+imbalance-5-0.9", "mnist+rows-50", "wine", "mnist+rows-50+imbalance-5-0.3"]
    assert find_series(names, "here") == [
        Series("mnist+rows-50", "5", {0.0: names[1], 0.3: names[3], 0.9: names[0]}),
        Series("wine", None, {0.0: "wine"}),
    ]


def test_other_operations_make_another_series():
    names = ["wine+noise-2", "wine+noise-2+imbalance-a-0.5", "wine+imbalance-a-0.5"]
    assert [one.base for one in find_series(names, "here")] == ["wine+noise-2", "wine"]


@settings(deadline=None, derandomize=True)
@given(lists(sampled_from([0.1, 0.25, 0.5, 0.9]), unique=True, min_size=1).flatmap(permutations))
def test_every_variant_is_found_by_its_ratio(ratios):
    (series,) = find_series([f"wine+imbalance-a-{ratio}" for ratio in ratios], "here")
    assert series.variants == {ratio: f"wine+imbalance-a-{ratio}" for ratio in sorted(ratios)}
    assert list(series.variants) == sorted(ratios)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["wine+imbalance-a-0.5", "wine+imbalance-b-0.6"], "of the classes 'a' and 'b'; a curve is about one class"),
        (["wine+imbalance-a-0.5", "wine+imbalance-a-0.50"], "have the same ratio, 0.5; keep one"),
        (["wine", "wine+imbalance-a-0"], "'wine' and 'wine\\+imbalance-a-0' have the same ratio, 0; keep one"),
    ],
)
def test_variants_that_make_no_curve_are_refused(suite, names, words):
    declare(suite, names)
    with pytest.raises(ConfigError, match=f"config/experiments/ddbf.yaml: ddbf-fig4/datasets: .*{words}"):
        table_of(suite)


# Looks.


def test_ddbf_and_gcforest_are_thick_and_no_two_models_look_alike():
    names = ["sndf", "gcforest", "mlp", "random_forest", "random_forest_balanced", "random_forest_undersampled"]
    names += ["random_forest_oversampled", "gbdt", "xgboost", "ddbf_f", "ddbf_g", "svm", "knn", "tree"]
    found = looks(names)
    assert list(found) == names
    assert [name for name in names if found[name].is_thick] == ["gcforest", "ddbf_f", "ddbf_g"]
    assert len({(look.colour, look.marker, str(look.dash)) for look in found.values()}) == len(names)
    thin = [look for look in found.values() if not look.is_thick]
    assert len({look.marker for look in thin}) == len(thin)


def test_versions_of_one_model_have_shades_of_a_colour_and_differ_in_dashes():
    names = ["mlp", "random_forest", "random_forest_balanced", "random_forest_undersampled", "gbdt"]
    found = looks(names)
    assert len({found[name].colour for name in names}) == len(names)
    assert len({str(found[name].dash) for name in names[1:4]}) == 3
    assert found["random_forest"].colour == "#E69F00"
    assert found["random_forest_balanced"].colour == "#674800"  # 0.45 of each channel
    assert found["random_forest_undersampled"].colour == "#F0C566"  # 0.4 of what lacks to white


def test_versions_of_ddbf_differ_in_colour_marker_and_dashes():
    found = looks(["ddbf_g", "ddbf_e", "ddbf_f", "random_forest", "gbdt", "mlp", "sndf", "xgboost"])
    own = [found[name] for name in ("ddbf_g", "ddbf_e", "ddbf_f")]
    for looked in ({look.colour for look in own}, {look.marker for look in own}, {str(look.dash) for look in own}):
        assert len(looked) == 3
    assert len({look.colour for look in found.values()}) == len(found)
    assert own[-1].dash == "solid"


# Picture.


def test_accuracy_and_recall_have_a_panel_each(shown):
    accuracy, recall = panels(table_of(shown))
    assert curves(accuracy) == {
        "gcForest": [97.5, 80, 55],
        "DDBF-f": [92.5, 87.5, 67.5],
        "RF": [80, 70, 60],
        "RF, class-weighted": [80, 75, 70],
    }
    assert curves(recall) == {
        "gcForest": [95, 60, 10],
        "DDBF-f": [90, 75, 40],
        "RF": [80, 60, 40],
        "RF, class-weighted": [80, 70, 60],
    }
    assert (accuracy.get_ylabel(), recall.get_ylabel()) == ("accuracy (%)", "recall of class 5 (%)")
    assert accuracy.get_xlabel() == recall.get_xlabel() == "imbalance ratio of class 5"
    assert [label.get_text() for label in accuracy.get_xticklabels()] == ["0", "0.6", "0.9"]


def test_points_at_one_ratio_stand_beside_each_other_in_the_order_of_the_columns(shown):
    """Four models, 0.02 of the axis apart: -0.027, -0.009, 0.009 and 0.027."""
    accuracy, _ = panels(table_of(shown))
    for number, line in enumerate(sorted(accuracy.lines, key=lambda line: line.get_xdata()[0])):
        assert line.get_label() == list(COLUMNS.values())[number]
        assert (line.get_xdata() - [0, 0.6, 0.9]).tolist() == pytest.approx([0.018 * (number - 1.5)] * 3)
    low, high = accuracy.get_xlim()
    assert low < -0.027
    assert high > 0.927


def test_many_models_take_a_quarter_of_the_gap_between_ratios(suite):
    columns = dict(COLUMNS) | {f"model_{k}": f"Model {k}" for k in range(20)}
    declare(suite, columns=columns)
    run_all(suite, {(name, column): RIGHT[name, "gcforest"] for name in (FULL, MORE, MOST) for column in columns})
    accuracy, _ = panels(table_of(suite))
    first = [line.get_xdata()[0] for line in accuracy.lines]
    assert max(first) - min(first) == pytest.approx(0.25 * 0.3)


def test_thick_curves_hide_no_thin_one(shown):
    for axes in panels(table_of(shown)):
        orders = {line.get_label(): line.get_zorder() for line in axes.lines}
        assert max(orders["DDBF-f"], orders["gcForest"]) < min(orders["RF"], orders["RF, class-weighted"])


def test_the_label_of_the_right_panel_keeps_clear_of_the_left_one(shown):
    picture = table_of(shown).figure.draw()
    picture.draw_without_rendering()
    left, right = picture.subfigs[0].axes
    gap = right.yaxis.label.get_window_extent().x0 - left.get_tightbbox().x1
    assert gap > 0.1 * picture.dpi  # a tenth of an inch


def test_whiskers_reach_one_deviation_up_and_down(shown):
    """Of gcForest at ratio 0: 95 and 100 %, so 97.5 ± 3.54."""
    accuracy, _ = panels(table_of(shown))
    ends = {
        round(float(y), 2)
        for collection in accuracy.collections
        for path in collection.get_paths()
        for y in path.vertices[:, 1]
    }
    assert {93.96, 101.04} <= ends


def test_the_legend_is_in_the_order_of_the_right_ends(shown):
    (part,) = parts(table_of(shown))
    (legend,) = part.legends
    assert [text.get_text() for text in legend.get_texts()] == ["RF, class-weighted", "DDBF-f", "RF", "gcForest"]
    assert legend.get_title().get_text() == "by accuracy at 0.9"


def test_each_data_set_has_a_row_of_panels(suite):
    declare(
        suite,
        [FULL, MOST, "wine", "har", "har+imbalance-a-0.5"],
        absent=dict.fromkeys(["har", "har+imbalance-a-0.5"], "no"),
    )
    run_all(suite, {key: RIGHT[key] for key in RIGHT if key[0] != MORE})
    for column in COLUMNS:
        run(suite, "wine", column, [(9, 9)] * 2)
    table = table_of(suite)
    digits, wine, har = parts(table)
    assert digits.get_suptitle() == "digits, 70 training rows (ratio 0), 20 test rows"
    assert curves(wine.axes[0])["DDBF-f"] == [90]
    assert wine.axes[1].get_xlabel() == "imbalance ratio of class 5"  # options/label, where no variant names it
    assert har.axes[0].texts[0].get_text() == "unavailable: no"
    assert har.get_suptitle() == "har"
    assert [row.labels[2] for row in table.view.rows if row.labels[0] == "har"] == ["all models"]
    assert "har: unavailable: no." in table.figure.caption
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_a_gap_in_a_curve_is_not_bridged(suite):
    declare(suite)
    run_all(suite, without=[(MORE, "ddbf_f")])
    suite.fail(MORE, "ddbf_f_200", "MemoryError", "no room")
    table = table_of(suite)
    assert str(curves(panels(table)[0])["DDBF-f"]) == "[92.5, nan, 67.5]"
    assert line(table.view, "accuracy (%)", "DDBF-f")[:3] == ["92.50 ± 3.54", "failed: MemoryError", "67.50 ± 3.54"]
    assert line(table.view, "accuracy (%)", "DDBF-f")[3] == "not at every ratio"
    assert line(table.view, "recall", "DDBF-f")[1] == "failed: MemoryError"
    assert f"failed: DDBF-f on {MORE}: MemoryError: no room." in table.view.notes
    # The lead is that at the ratio where both have a number: 0.05 and 0.2.
    assert line(table.view, *GAP)[1:] == ["failed: MemoryError", "+12.50 ± 10.61", "+12.50 ± 10.61"]
    assert "+12.50 ± 10.61 percent points at ratio 0.9 (mean over 2 repeats)" in table.figure.caption


def test_a_model_without_the_last_ratio_stands_last_in_the_legend(suite):
    declare(suite)
    run_all(suite, without=[(MOST, "gcforest")])
    suite.fail(MOST, "gcforest_200", "MemoryError", "no room")
    table = table_of(suite)
    (legend,) = parts(table)[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["RF, class-weighted", "DDBF-f", "RF", "gcForest"]
    assert curves(panels(table)[0])["gcForest"][1] > curves(panels(table)[0])["RF"][1]
    # The lead lacks the other model there.
    assert line(table.view, *GAP) == ["−5.00 ± 0.00", "+7.50 ± 3.54", "failed: MemoryError", "+7.50 ± 3.54"]


def test_a_model_that_is_not_written_has_words_and_no_curve(suite):
    declare(suite, missing_models={"ddbf_f": "not implemented"}, status="partial")
    run_all(suite, without=[(dataset, "ddbf_f") for dataset in (FULL, MORE, MOST)])
    table = table_of(suite)
    assert "DDBF-f" not in curves(panels(table)[0])
    assert set(line(table.view, "accuracy (%)", "DDBF-f")) == {"not implemented"}
    assert set(line(table.view, *GAP)) == {"not implemented"}
    assert table.figure.caption.endswith("; DDBF-f: not implemented.")
    assert "Here, on" not in table.figure.caption


# Table and words.


def test_the_table_has_accuracy_lead_and_recall_by_ratio(shown):
    view = table_of(shown).view
    assert view.label_heads == ("data set", "quantity", "model")
    assert view.heads == ("ratio 0", "ratio 0.6", "ratio 0.9", "mean from 0.6 on")
    # Means of the repeats over both ratios: (0.8 + 0.6) / 2 and (0.8 + 0.5) / 2.
    assert line(view, "accuracy (%)", "gcForest") == ["97.50 ± 3.54", "80.00 ± 0.00", "55.00 ± 7.07", "67.50 ± 3.54"]
    # Of the same repeats: -5 and -5; 5 and 10; 5 and 20; then 5 and 15.
    assert line(view, *GAP) == ["−5.00 ± 0.00", "+7.50 ± 3.54", "+12.50 ± 10.61", "+10.00 ± 7.07"]
    assert line(view, "recall of class 5 (%)", "gcForest")[:3] == ["95.00 ± 7.07", "60.00 ± 0.00", "10.00 ± 14.14"]
    assert {row.size for row in view.rows} == {"2 × 20", "2 × 10"}


def test_the_tidy_rows_have_the_papers_condition(shown):
    rows = {row.key: row for row in table_of(shown).rows}
    lead = rows["digits", "ddbf_f", "imbalance ratio beyond 0.6, against gcforest", "accuracy_gap"]
    assert (lead.mean, lead.n, lead.n_test) == (pytest.approx(0.1), 2, 20)
    assert rows[MOST, "ddbf_f", "against gcforest", "accuracy_gap"].mean == pytest.approx(0.125)
    recall = rows[MOST, "ddbf_f", "class 5", "recall"]
    assert (recall.mean, recall.std, recall.n_test) == (pytest.approx(0.4), pytest.approx(0.02**0.5), 10)
    assert rows["digits", "ddbf_f", "imbalance ratio beyond 0.6", "accuracy"].mean == pytest.approx(0.775)


def test_the_figures_csv_holds_the_drawn_numbers(shown):
    lines = table_of(shown).figure.csv().decode().splitlines()
    assert len(lines) == 1 + 2 * 3 * len(COLUMNS)
    assert f"{MOST},gcforest,class 5,recall,0.1,0.1414213562,2,10,,,,,ok," in lines


def test_the_papers_gap_stands_below_ours_on_its_data(suite):
    names = ["mnist", "mnist+imbalance-5-0.7"]
    declare(suite, names)
    for column in COLUMNS:
        run(suite, names[0], column, RIGHT[FULL, column])
        run(suite, names[1], column, RIGHT[MOST, column])
    table = table_of(suite)
    assert line(table.view, *GAP, "reproduced")[1:] == ["+12.50 ± 10.61"] * 2
    assert line(table.view, *GAP, "published") == ["not printed", "not printed", "about 0.8"]
    key = "mnist", "ddbf_f", "imbalance ratio beyond 0.6, against gcforest", "accuracy_gap"
    assert {row.key: row for row in table.rows}[key].published == 0.008


def test_a_series_without_its_full_data_set_is_published_as_its_variants_are(suite):
    declare(suite, ["mnist+rows-50+imbalance-5-0.7"])
    for column in COLUMNS:
        run(suite, "mnist+rows-50+imbalance-5-0.7", column, RIGHT[MOST, column])
    table = table_of(suite)
    assert line(table.view, *GAP, "published") == ["not printed", "about 0.8"]
    assert parts(table)[0].get_suptitle() == "mnist+rows-50, 70 training rows (ratio 0.7), 20 test rows"


def test_the_caption_sets_the_papers_gap_beside_ours(shown):
    caption = table_of(shown).figure.caption
    assert (
        "The paper's text: on mnist gcForest is ahead while nothing is dropped; beyond a ratio of 0.6 DDBF-f is, by "
        "about 0.8 percent points. Here, on digits: DDBF-f minus gcForest +10.00 ± 7.07 percent points at ratios 0.6 "
        "and 0.9 (mean over 2 repeats), −5.00 ± 0.00 percent points at ratio 0." in caption
    )
    assert "Thick: gcForest and DDBF-f. Whiskers:" in caption


def test_the_picture_is_told_in_words(shown):
    assert table_of(shown).figure.alt.startswith(
        "Accuracy against the imbalance ratio. digits: gcForest accuracy 97.50 % at ratio 0, 55.00 % at 0.9, recall of "
        "class 5 95.00 %, then 10.00 %; DDBF-f accuracy 92.50 % at ratio 0, 67.50 % at 0.9, recall of class 5 90.00 %, "
        "then 40.00 %; best of the other 2 models at the end: RF, class-weighted accuracy 80.00 % at ratio 0"
    )


def test_ratios_below_the_papers_have_no_mean(suite):
    declare(suite, [FULL, "digits+imbalance-5-0.3"])
    run_all(suite, {key: RIGHT[key] for key in RIGHT if key[0] == FULL})
    for column in COLUMNS:
        run(suite, "digits+imbalance-5-0.3", column, RIGHT[MORE, column])
    table = table_of(suite)
    assert table.view.heads == ("ratio 0", "ratio 0.3")
    assert "Here, on digits: DDBF-f minus gcForest −5.00 ± 0.00 percent points at ratio 0." in table.figure.caption
    assert not any("beyond" in row.condition for row in table.rows)


def test_ratios_that_only_another_data_set_has_are_words(suite):
    declare(suite, [FULL, MOST, "wine", "wine+imbalance-5-0.3"])
    run_all(suite, {key: RIGHT[key] for key in RIGHT if key[0] != MORE})
    for name in ("wine", "wine+imbalance-5-0.3"):
        for column in COLUMNS:
            run(suite, name, column, [(9, 9)] * 2)
    view = table_of(suite).view
    assert view.heads == ("ratio 0", "ratio 0.3", "ratio 0.9", "mean from 0.6 on")
    digits, wine = (
        next(row for row in view.rows if row.labels == (name, "accuracy (%)", "DDBF-f")) for name in ("digits", "wine")
    )
    assert [cell.text for cell in digits.cells][1] == "no such variant"
    assert [cell.text for cell in wine.cells][2:] == ["no such variant", "no ratio of 0.6 or more"]


def test_one_repeat_has_no_spread(suite):
    declare(suite, repeats=dict.fromkeys([FULL, MORE, MOST], 1))
    run_all(suite, {key: counts[:1] for key, counts in RIGHT.items()})
    table = table_of(suite)
    assert line(table.view, *GAP) == ["−5.00", "+5.00", "+5.00", "+5.00"]
    assert not panels(table)[0].collections
    assert "(one repeat)" in table.figure.caption
    assert "whiskers" not in table.figure.caption


def test_a_class_that_is_not_known_has_no_recall(suite):
    declare(suite)
    run_all(suite)
    for name in (FULL, MORE, MOST):
        suite.summary(name, class_names=["four", "five"])
    table = table_of(suite)
    assert panels(table)[1].texts[0].get_text() == "the class is not known"
    assert set(line(table.view, "recall", "RF")) == {"unavailable: the class is not known"}
    assert "recall" not in table.figure.alt


def test_recall_is_of_the_classs_own_rows_in_each_repeat(suite):
    """Splits that are not stratified have more of a class in one repeat: 4 of 5 and 6 of 10 are 0.7 in the mean."""
    declare(suite, [FULL])
    for column in COLUMNS:
        run(suite, FULL, column, [(10, 4), (10, 6)])
        path = suite.folder / "runs" / FULL / f"{column}_200.json"
        content = json.loads(path.read_text())
        content["cells"][0]["confusion"] = [[15, 0], [1, 4]]
        path.write_text(json.dumps(content))
    row = next(row for row in table_of(suite).rows if row.metric == "recall")
    assert (row.mean, row.n_test) == (pytest.approx(0.7), 5)


def test_a_class_without_test_rows_has_no_recall(suite):
    declare(suite, [FULL])
    for column in COLUMNS:
        run(suite, FULL, column, [(9, 0)] * 2, rows=(10, 0))
    table = table_of(suite)
    assert panels(table)[1].texts[0].get_text() == "no test rows of the class"


def test_without_gcforest_nothing_is_compared(suite):
    columns = {name: label for name, label in COLUMNS.items() if name != "gcforest"}
    declare(suite, columns=columns)
    run_all(suite, {key: counts for key, counts in RIGHT.items() if key[1] != "gcforest"})
    table = table_of(suite)
    assert not any("minus" in row.labels[2] for row in table.view.rows)
    assert "percent points" not in table.figure.caption


# The regression check.


def draw(suite):
    results = read_results(suite.root, suite.name)
    write_table("ddbf-fig4", make_table("ddbf-fig4", results).files(), suite.folder / "tables")
    write_figure("ddbf-fig4", make_figure("ddbf-fig4", results).files(), suite.folder / "figures")


def test_drawing_again_is_exact_and_gives_the_same_bytes(shown):
    for dataset, column in RIGHT:
        shown.plan_run(dataset, f"{column}_200")
    run_all(shown)
    draw(shown)
    accept(shown.root, shown.name, "first numbers")
    assert not any(finding.is_drift for finding in check(shown.root, shown.name).findings)
    assert table_of(shown).figure.files() == table_of(shown).figure.files()
    shutil.rmtree(shown.root / "results")
    assert render_stored(shown.root, shown.name).differences == ()


def texts(suite):
    """Rows of the table as the check reads them."""
    return list(csv.DictReader(io.StringIO(table_of(suite).files()[".csv"])))


def moved(suite, before):
    """Rows whose means drift from those of an earlier table."""
    experiment = suite.experiments["ddbf-fig4"]
    findings = compare("ddbf-fig4", before, texts(suite), experiment, suite.name)
    return {finding.cell for finding in findings if finding.is_drift and finding.column == "mean"}


def test_another_row_of_the_class_moves_accuracy_recall_and_lead(shown):
    before = texts(shown)
    run(shown, MOST, "ddbf_f", [(10, 3), (9, 6)])
    assert moved(shown, before) == {
        f"{MOST} / ddbf_f / accuracy",
        f"{MOST} / ddbf_f / class 5 / recall",
        f"{MOST} / ddbf_f / against gcforest / accuracy_gap",
        "digits / ddbf_f / imbalance ratio beyond 0.6 / accuracy",
        "digits / ddbf_f / imbalance ratio beyond 0.6, against gcforest / accuracy_gap",
    }


@pytest.mark.parametrize(("right", "drift"), [(6, set()), (7, {f"{MOST} / random_forest / class 5 / recall"})])
def test_a_foreign_recall_may_move_by_two_rows_of_the_class(suite, right, drift):
    """From four of ten; the other class loses as many, so that the accuracy stays."""
    declare(suite, libraries={name: ["xgboost"] if name == "random_forest" else [] for name in COLUMNS})
    run_all(suite)
    before = texts(suite)
    run(suite, MOST, "random_forest", [(8 - (right - 4), right)] * 2)
    assert moved(suite, before) == drift
