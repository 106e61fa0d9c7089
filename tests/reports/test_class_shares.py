"""Shares of classes that iterations pass and keep: what picture, table, caption and regression check say of them."""

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

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check, compare
from cascadeforest.reports.renderers.class_shares import NO_NEGATIVES, NO_POSITIVES, NOBODY, Shares, count_shares
from cascadeforest.reports.results import read_results
from cascadeforest.reports.stored import render_stored
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "ddbf-fig5.csv"
EXTRA = "iterations"
#: 160 negatives (class 0) and 40 positives (class 1). 110 and 10 pass first, then nobody, then 20 and 10.
REACHED = [[160, 40], [50, 30], [50, 30]]
EASY = [[110, 10], [0, 0], [20, 10]]
DATA = "breast_cancer"


def declare(suite, datasets=(DATA,), columns=("ddbf_f",), **changes):
    suite.experiment(
        "ddbf-fig5",
        kind="figure",
        render="class_shares",
        title="Class shares",
        datasets=list(datasets),
        **(
            {
                "metrics": ["roc_auc"],
                "columns": {name: f"{name}_all" for name in columns},
                "labels": {name: name.upper() for name in columns},
                "libraries": {name: [] for name in columns},
                "extras": [EXTRA],
                "repeats": dict.fromkeys(datasets, 1),
            }
            | changes
        ),
    )
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")


def run(suite, dataset=DATA, column="ddbf_f", reached=REACHED, easy=EASY, names=("no", "yes"), metrics=None):
    suite.summary(dataset, class_names=list(names))
    cell = {"roc_auc": 0.975} if metrics is None else metrics
    suite.run(dataset, f"{column}_all", [cell], n_train=int(np.sum(reached[0])), n_test=30)
    return suite.extra(
        dataset, f"{column}_all", EXTRA, class_counts_train=np.array(reached), easy_counts_train=np.array(easy)
    )


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite)
    return suite


def table_of(suite):
    return make_table("ddbf-fig5", read_results(suite.root, suite.name))


def parts(table):
    return table.figure.draw().subfigs


def panels(table, place=0):
    return [axes for axes in parts(table)[place].axes if axes.axison]


def stack(axes):
    """Heights of the bars by name, from the bottom to the top."""
    return {bars.get_label(): [round(bar.get_height(), 6) for bar in bars] for bars in axes.containers}


def curves(axes):
    return {line.get_label(): np.asarray(line.get_ydata(), float).tolist() for line in axes.lines}


def texts(view):
    return [[cell.text for cell in row.cells] for row in view.rows]


# Counting.


def test_the_rarest_class_is_positive_and_all_others_are_negative():
    shares = count_shares(np.array([[50, 20, 30], [30, 15, 25]]), np.array([[20, 5, 5], [30, 0, 25]]))
    assert shares == Shares(kept=((80, 20), (55, 15), (0, 15)), positive=1, n_classes=3)
    assert [shares.ratio(k) for k in range(3)] == [4, pytest.approx(55 / 15), NO_NEGATIVES]
    assert [shares.passed(k) for k in (1, 2)] == [30, 55]


def test_of_equally_rare_classes_the_last_is_positive_and_a_class_without_rows_is_none():
    assert count_shares(np.array([[10, 10, 20]]), np.zeros((1, 3), int)).positive == 1
    assert count_shares(np.array([[0, 10, 20]]), np.zeros((1, 3), int)).positive == 1


@pytest.mark.parametrize(
    ("left", "words"), [((5, 0), NO_POSITIVES), ((0, 5), NO_NEGATIVES), ((0, 0), NOBODY)], ids=["+", "-", "none"]
)
def test_a_ratio_without_rows_of_a_class_is_words(left, words):
    assert Shares(kept=((10, 10), left), positive=1, n_classes=2).ratio(1) == words


@settings(deadline=None, derandomize=True)
@given(arrays(np.int64, tuples(integers(1, 5), integers(2, 4)), elements=integers(0, 20)))
def test_shares_add_up_whatever_passes(easy):
    reached = easy.sum(axis=0) + 1 - np.cumsum(np.vstack([np.zeros_like(easy[:1]), easy[:-1]]), axis=0)
    shares = count_shares(reached, easy)
    for k in range(len(easy) + 1):
        found = shares.stack(k)
        assert sum(found.values()) == pytest.approx(1)
        passed = easy[:k].sum() / reached[0].sum()
        assert found["negatives passed"] + found["positives passed"] == pytest.approx(passed)
        of_class = (easy[:k, shares.positive].sum()) / reached[0].sum()
        assert found["positives passed"] == pytest.approx(of_class)


# Picture.


def test_rows_that_passed_stand_at_the_bottom_and_those_kept_at_the_top(shown):
    shares, _ = panels(table_of(shown))
    assert list(stack(shares)) == ["negatives passed", "positives passed", "positives kept", "negatives kept"]
    assert stack(shares) == {
        "negatives passed": [0, 55, 55, 65],
        "positives passed": [0, 5, 5, 10],
        "positives kept": [20, 15, 15, 10],
        "negatives kept": [80, 25, 25, 15],
    }
    tops = [bars.patches[1].get_y() + bars.patches[1].get_height() for bars in shares.containers]
    assert tops == pytest.approx([55, 60, 75, 100])
    assert shares.get_ylabel() == "training rows (%)"


def test_the_ratio_of_the_rows_kept_has_a_logarithmic_axis(shown):
    _, ratios = panels(table_of(shown))
    assert curves(ratios) == {"DDBF_F": pytest.approx([4, 5 / 3, 5 / 3, 1.5])}
    assert ratios.get_yscale() == "log"
    low, high = ratios.get_ylim()
    assert high / low == pytest.approx(10)


def test_the_papers_data_have_its_ratios_as_lines(suite):
    declare(suite, ["credit_fraud"])
    run(suite, "credit_fraud")
    table = table_of(suite)
    drawn = curves(panels(table)[1])
    assert drawn["published, before iteration 1: 565.38"] == [565.38, 565.38]
    assert drawn["published, after the last iteration: 3.62"] == [3.62, 3.62]
    assert "Horizontal lines: the paper's ratios." in table.figure.caption
    assert "stands for" not in table.figure.caption


@pytest.mark.parametrize(("negatives", "stands_in"), [(56600, True), (50900, True), (50800, False), (62300, False)])
def test_data_that_begin_with_nearly_the_papers_ratio_stand_for_its_own(suite, negatives, stands_in):
    """565.38 less a tenth is 508.8, and a tenth more 621.9."""
    declare(suite, ["skin"])
    run(suite, "skin", reached=[[negatives, 100]], easy=[[negatives - 500, 5]])
    table = table_of(suite)
    assert any("published" in label for label in curves(panels(table)[1])) == stands_in
    words = "skin begins with about the same ratio of classes and stands for the paper's data."
    assert (words in table.figure.caption) == stands_in
    assert not any(row.kind == "published" for row in table.view.rows)


def test_models_have_panels_of_their_own_and_share_that_of_the_ratio(suite):
    declare(suite, columns=("ddbf_f", "ddbf_g", "ddbf_e"))
    run(suite)
    run(suite, column="ddbf_g", reached=REACHED[:1], easy=EASY[:1])
    table = table_of(suite)
    f, g, e, ratios = parts(table)[0].axes
    assert [axes.get_title() for axes in (f, g, e)] == ["(a1) DDBF_F", "(a2) DDBF_G", "(a3) DDBF_E"]
    assert table.figure.caption.startswith("(a1) to (a3) Shares of the training rows")
    assert stack(g)["negatives kept"] == [80, 25]
    assert f.get_xlim() == g.get_xlim() == ratios.get_xlim()
    assert e.texts[0].get_text() == "unavailable: not run"
    assert {label: len(values) for label, values in curves(ratios).items()} == {"DDBF_F": 4, "DDBF_G": 2}
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ratios.lines}
    assert len({look[0] for look in looks}) == len({look[1] for look in looks}) == 2
    assert "breast_cancer, DDBF_E: unavailable: not run." in table.figure.caption
    assert [row.labels[:3] for row in table.view.rows if row.labels[1] == "DDBF_E"] == [(DATA, "DDBF_E", "")]


def test_states_without_a_ratio_are_marked_on_the_axis_and_told(suite):
    declare(suite, columns=("ddbf_f", "ddbf_g"))
    run(suite, easy=[[110, 10], [20, 30], [30, 0]], reached=[[160, 40], [50, 30], [30, 0]])
    run(suite, column="ddbf_g", reached=[[160, 40]], easy=[[160, 0]])
    table = table_of(suite)
    ratios = panels(table)[-1]
    drawn = curves(ratios)
    assert drawn["DDBF_F"] == pytest.approx([4, 5 / 3])
    assert drawn["DDBF_G"] == [4]
    marks = {}
    for mark in ratios.lines:
        if list(mark.get_ydata()) == [0]:
            assert mark.get_transform() == ratios.get_xaxis_transform()
            marks.setdefault((mark.get_color(), mark.get_marker()), []).append(round(mark.get_xdata()[0]))
    blue, orange = "#0072B2", "#D55E00"
    assert marks == {(blue, "x"): [2], (blue, "+"): [3], (orange, "1"): [1]}
    entries = [text.get_text() for text in parts(table)[-1].legends[-1].get_texts()]
    assert entries == ["DDBF_F", "DDBF_G", NO_POSITIVES, NO_NEGATIVES, NOBODY]
    assert "Marks on the axis of (b): the rows kept have no ratio" in table.figure.caption
    assert [row[4] for row in texts(table.view)][2:5] == [NO_POSITIVES, NOBODY, NOBODY]
    assert f"{NOBODY} after the last iteration" in table.figure.alt
    assert "inf" not in table.figure.csv().decode() + table.files()[".csv"]


def test_a_data_set_that_is_not_there_has_words_once_and_the_papers_numbers(suite):
    declare(suite, ["credit_fraud", DATA], columns=("ddbf_f", "ddbf_g"), absent={"credit_fraud": "not on the mirror"})
    for column in ("ddbf_f", "ddbf_g"):
        run(suite, column=column)
    table = table_of(suite)
    assert parts(table)[0].axes[0].texts[0].get_text() == "unavailable: not on the mirror"
    assert table.figure.caption.count("unavailable: not on the mirror") == 1
    lines = [row for row in table.view.rows if row.labels[0] == "credit_fraud"]
    assert [row.labels[1:] for row in lines] == [
        ("DDBF_F", "", "reproduced"),
        ("DDBF_F", "before iteration 1", "published"),
        ("DDBF_F", "after the last iteration", "published"),
        ("DDBF_G", "", "reproduced"),
    ]
    assert [cell.text for cell in lines[2].cells] == ["", "", "", "", "3.62", "97.55"]
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


def test_a_failed_run_and_a_model_that_is_not_written_have_words(suite):
    declare(suite, columns=("ddbf_f", "ddbf_g"), missing_models={"ddbf_g": "not implemented"}, status="partial")
    suite.fail(DATA, "ddbf_f_all", "MemoryError", "no room")
    table = table_of(suite)
    words = "failed: MemoryError: no room"
    assert parts(table)[0].axes[0].texts[0].get_text() == f"{words}; not implemented"
    assert table.figure.alt.endswith(f"{DATA}, DDBF_F: {words}. {DATA}, DDBF_G: not implemented.")
    assert f"{DATA},ddbf_f,,training_share,,,,,,,,,failed,MemoryError: no room" in table.figure.csv().decode()
    assert set(table.figure.files()) == {".svg", ".png", ".csv"}


# Table and words.


def test_the_table_has_a_line_for_each_iteration(shown):
    view = table_of(shown).view
    assert view.label_heads == ("data set", "iteration")
    assert view.heads == (
        "rows that reach it",
        "passed (% of all)",
        "negatives kept",
        "positives kept",
        "negatives per positive kept",
        "ROC AUC (%)",
    )
    assert [row.labels[1] for row in view.rows] == ["before iteration 1", "1", "2", "3", "after the last iteration"]
    assert texts(view) == [
        ["", "", "160", "40", "4.000", ""],
        ["200", "60.00", "50", "30", "1.667", ""],
        ["80", "0.00", "50", "30", "1.667", ""],
        ["80", "15.00", "30", "20", "1.500", ""],
        ["", "75.00", "30", "20", "1.500", "97.50"],
    ]
    assert "breast_cancer, positives: class yes, negatives: class no." in view.notes


def test_the_papers_numbers_stand_below_ours(suite):
    declare(suite, ["credit_fraud"])
    run(suite, "credit_fraud")
    table = table_of(suite)
    published = [[cell.text for cell in row.cells] for row in table.view.rows if row.kind == "published"]
    assert published == [
        ["", "", "not printed", "not printed", "565.38", ""],
        ["", "not printed", "not printed", "not printed", "3.62", "97.55"],
    ]
    rows = {row.key[2:]: row for row in table.rows}
    assert rows["after the last iteration", "negatives_per_positive"].published == 3.62
    assert rows["", "roc_auc"].published == 0.9755
    assert (
        "The paper's text: on credit_fraud 565.38 negatives per positive before the first iteration, 3.62 after the "
        "last, ROC AUC 97.55 %." in table.figure.caption
    )


def test_the_tidy_rows_name_iteration_and_class(shown):
    rows = {row.key[2:]: row for row in table_of(shown).rows}
    assert rows["iteration 3, reached", "training_rows"].mean == 80
    assert rows["iteration 3, positives kept", "training_rows"].mean == 20
    assert rows["before iteration 1, negatives kept", "training_rows"].mean == 160
    assert rows["iteration 3", "train_pass_rate"].mean == pytest.approx(0.15)
    assert rows["all", "train_pass_rate"].mean == pytest.approx(0.75)
    assert rows["iteration 1", "negatives_per_positive"].mean == pytest.approx(5 / 3)


def test_the_figures_csv_holds_the_drawn_numbers(shown):
    lines = table_of(shown).figure.csv().decode().splitlines()
    assert len(lines) == 1 + 4 * (4 + 1)
    assert 'breast_cancer,ddbf_f,"iteration 1, negatives passed",training_share,0.55,,1,30,,,,,ok,' in lines
    assert "breast_cancer,ddbf_f,before iteration 1,negatives_per_positive,4,,1,30,,,,,ok," in lines


def test_the_caption_tells_beginning_end_and_auc(shown):
    assert table_of(shown).figure.caption.endswith(
        "breast_cancer: 200 training rows, 4.000 negatives per positive before iteration 1; 60.00 % of the rows pass "
        "at iteration 1, 75.00 % in 3 iterations; 1.500 negatives per positive after the last iteration; ROC AUC "
        "97.50 %."
    )


def test_one_iteration_is_told_once(suite):
    declare(suite)
    run(suite, reached=REACHED[:1], easy=EASY[:1])
    assert "60.00 % of the rows pass at iteration 1; 1.667 negatives" in table_of(suite).figure.alt


def test_more_classes_are_the_rarest_against_the_rest(suite):
    declare(suite)
    run(suite, reached=[[50, 20, 30]], easy=[[10, 5, 0]], names=("a", "b", "c"))
    table = table_of(suite)
    assert (
        parts(table)[0].get_suptitle() == "breast_cancer, 100 training rows\npositives: class b, negatives: all others"
    )
    assert texts(table.view)[1] == ["100", "15.00", "70", "15", "4.667", ""]


def test_the_first_class_can_be_the_positive_one(suite):
    declare(suite)
    run(suite, reached=[[20, 80]], easy=[[5, 60]])
    table = table_of(suite)
    assert "breast_cancer, positives: class no, negatives: class yes." in table.view.notes
    assert texts(table.view)[1] == ["100", "65.00", "20", "15", "1.333", ""]


def test_where_a_class_has_no_training_rows_the_positive_one_has_no_name(suite):
    """The model then has fewer classes than the data set, and its codes are others."""
    declare(suite)
    run(suite, names=("a", "b", "c"))
    assert "breast_cancer, positives: the rarest class." in table_of(suite).view.notes


def test_a_model_without_probabilities_has_no_auc(suite):
    declare(suite)
    run(suite, metrics={"accuracy": 0.9})
    table = table_of(suite)
    assert texts(table.view)[-1][-1] == "the model gives no ROC AUC"
    assert table.figure.alt.endswith("; the model gives no ROC AUC.")


def run_repeats(suite, easy, aucs):
    """Repeats that differ in what passes."""
    declare(suite, repeats={DATA: len(easy)})
    suite.summary(DATA)
    suite.run(DATA, "ddbf_f_all", [{"roc_auc": auc} for auc in aucs], n_train=200, n_test=30)
    path = suite.folder / "runs" / DATA / "ddbf_f_all.json"
    content = json.loads(path.read_text())
    (suite.root / "results" / "cells" / "ab").mkdir(parents=True)
    for cell, passed in zip(content["cells"], easy, strict=True):
        name = f"ab/repeat{cell['repeat']}.npz"
        cell["extras"] = {EXTRA: name}
        passed = np.array(passed)
        reached = [160, 40] - np.vstack([[0, 0], passed[:-1]]).cumsum(axis=0)
        np.savez_compressed(
            suite.root / "results" / "cells" / name, class_counts_train=reached, easy_counts_train=passed
        )
    path.write_text(json.dumps(content))


def test_the_first_repeat_is_drawn_and_means_are_over_all(suite):
    # 120 and 60 of 200 rows pass at first, 150 and 80 in all; 30 : 20 and 80 : 40 are kept.
    run_repeats(suite, [[[110, 10], [20, 10]], [[60, 0], [20, 0]]], [0.9, 0.8])
    table = table_of(suite)
    assert stack(panels(table)[0])["negatives passed"] == [0, 55, 65]
    assert texts(table.view)[-3:] == [
        ["", "75.00", "30", "20", "1.500", "90.00"],
        ["", "45.00 ± 21.21", "", "", "", ""],
        ["", "57.50 ± 24.75", "55.0 ± 35.4", "30.0 ± 14.1", "1.750 ± 0.354", "85.00 ± 7.07"],
    ]
    assert [row.labels[1] for row in table.view.rows[-2:]] == [
        "1, mean of 2 repeats",
        "after the last iteration, mean of 2 repeats",
    ]
    rows = {row.key[2:]: row for row in table.rows}
    row = rows["after the last iteration, over repeats", "negatives_per_positive"]
    assert (row.mean, row.n, row.std) == (1.75, 2, pytest.approx(np.std([1.5, 2], ddof=1)))
    assert rows["after the last iteration", "negatives_per_positive"].mean == 1.5
    assert (
        "over 2 repeats 57.50 ± 24.75 % pass, 1.750 ± 0.354 negatives per positive at the end, ROC AUC 85.00 ± 7.07 %."
    ) in table.figure.caption


def test_repeats_without_a_ratio_do_not_count_in_its_mean(suite):
    run_repeats(suite, [[[110, 10]], [[60, 40]], [[110, 40]]], [0.9, 0.8, 0.7])
    assert texts(table_of(suite).view)[-1][-2:] == ["1.667 (1 of 3)", "80.00 ± 10.00"]


def test_one_repeat_has_no_mean(shown):
    table = table_of(shown)
    assert not any("over repeats" in row.condition for row in table.rows)
    assert "repeats" not in table.figure.caption


@pytest.mark.parametrize(("positives", "is_thin"), [(20, True), (30, False)])
def test_positives_that_no_bar_shows_are_counted_in_words(suite, positives, is_thin):
    """Less than one part in fifty."""
    declare(suite)
    run(suite, reached=[[1000, positives], [500, 9]], easy=[[500, positives - 9], [0, 5]])
    table = table_of(suite)
    words = [text.get_text() for text in panels(table)[0].texts]
    assert words == ([f"positives kept:\n{positives} → 9 → 4"] if is_thin else [])
    assert ("too few to be seen in (a)" in table.figure.caption) == is_thin


# Refusals and the regression check.


def test_cells_that_save_no_iterations_are_refused(suite):
    declare(suite, extras=[])
    run(suite)
    with pytest.raises(ConfigError, match=r"ddbf.yaml: ddbf-fig5/extras are \[\]; add 'iterations'"):
        table_of(suite)


def test_a_model_without_iterations_is_refused(suite):
    declare(suite)
    run(suite)
    suite.extra(DATA, "ddbf_f_all", EXTRA)
    with pytest.raises(ConfigError, match=r"ddbf-fig5/models/ddbf_f: 'ddbf_f_all' has no iterations\. Take it out"):
        table_of(suite)


def test_arrays_that_are_gone_are_named(suite):
    declare(suite)
    run(suite).unlink()
    with pytest.raises(UserError, match="no such file; the cell of ddbf_f_all on breast_cancer, repeat 0"):
        table_of(suite)


def test_drawing_again_is_exact_and_gives_the_same_bytes(suite):
    declare(suite)
    suite.plan_run(DATA, "ddbf_f_all", extras=[EXTRA])
    run(suite)
    results = read_results(suite.root, suite.name)
    write_table("ddbf-fig5", make_table("ddbf-fig5", results).files(), suite.folder / "tables")
    write_figure("ddbf-fig5", make_figure("ddbf-fig5", results).files(), suite.folder / "figures")
    accept(suite.root, suite.name, "first numbers")
    assert not any(finding.is_drift for finding in check(suite.root, suite.name).findings)
    assert table_of(suite).figure.files() == table_of(suite).figure.files()
    shutil.rmtree(suite.root / "results")
    assert render_stored(suite.root, suite.name).differences == ()


@pytest.mark.parametrize(
    ("suite_name", "easy", "drift"),
    [
        ("smoke", [[111, 10], [0, 0], [20, 10]], True),  # one row of two hundred
        ("quick", [[111, 10], [0, 0], [19, 10]], True),  # 49 of 30 instead of 50 of 30: more than one part in a hundred
        ("quick", [[110, 10], [0, 0], [20, 10]], False),
    ],
)
def test_another_ratio_is_a_drift(suite, suite_name, easy, drift):
    def rows():
        return list(csv.DictReader(io.StringIO(table_of(suite).files()[".csv"])))

    declare(suite)
    run(suite)
    before = rows()
    run(suite, easy=easy)
    findings = compare("ddbf-fig5", before, rows(), suite.experiments["ddbf-fig5"], suite_name)
    key = f"{DATA} / ddbf_f / iteration 1 / negatives_per_positive"
    assert any(finding.is_drift and finding.cell == key for finding in findings) == drift
