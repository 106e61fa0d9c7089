"""Shares of classes that iterations pass and keep: what picture, table and regression check say of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import integers, tuples
from tests.reports.conftest import curves, texts

from cascadeforest.reports.drawing.renderers.class_shares import STACK, count

EXTRA, RATIO, ROWS = "iterations", "negatives_per_positive", "training_rows"
#: 160 negatives (class 0) and 40 positives (class 1). 110 and 10 pass first, then nobody, then 20 and 10.
REACHED = [[160, 40], [50, 30], [50, 30]]
EASY = [[110, 10], [0, 0], [20, 10]]
DATA, GONE = "breast_cancer", "a class is used up"


def declare(suite, datasets=(DATA,), columns=("ddbf_f",), **changes):
    labels, given = {name: name.upper() for name in columns}, {"metrics": ["roc_auc"], "repeats": 1, "extras": [EXTRA]}
    suite.figure("ddbf-fig5", "class_shares", labels, "{}_all", datasets=list(datasets), **given | changes)


def run(suite, dataset=DATA, column="ddbf_f", reached=REACHED, easy=EASY, metrics=None):
    suite.summary(dataset)
    cell = {"roc_auc": 0.975} if metrics is None else metrics
    suite.run(dataset, f"{column}_all", [cell], n_train=int(np.sum(reached[0])), n_test=30)
    found = {"class_counts_train": np.array(reached), "easy_counts_train": np.array(easy)}
    suite.extra(dataset, f"{column}_all", EXTRA, **found)


def panels(table, place=0):
    return [axes for axes in table.figure.draw().subfigs[place].axes if axes.axison]


def cells(view, kind="reproduced"):
    return [texts(row) for row in view.rows if row.kind == kind]


def stack(axes):
    return {bars.get_label(): [round(bar.get_height(), 6) for bar in bars] for bars in axes.containers}


def test_the_rarest_class_that_has_training_rows_is_positive_and_all_others_are_negative():
    """Kept are 80 and 20, 55 and 15, 0 and 15."""
    found = count(np.array([[50, 20, 30], [30, 15, 25]]), np.array([[20, 5, 5], [30, 0, 25]]))
    assert [found[f"iteration {k}, negatives kept", ROWS] for k in (1, 2)] == [55, 0]
    assert [found[f"iteration {k}, positives kept", ROWS] for k in (1, 2)] == [15, 15]
    assert [found[f"iteration {k}", "train_pass_rate"] for k in (1, 2)] == [0.3, 0.55]
    assert found["before iteration 1", RATIO] == 4
    assert found["iteration 1", RATIO] == pytest.approx(55 / 15)
    assert found["iteration 2", RATIO] == found["after the last iteration", RATIO] == GONE
    assert count(np.array([[0, 10, 20]]), np.zeros((1, 3), int))["before iteration 1", RATIO] == 2


@settings(deadline=None, derandomize=True)
@given(arrays(np.int64, tuples(integers(1, 5), integers(2, 4)), elements=integers(0, 3)))
def test_shares_add_up_whatever_passes(easy):
    """Of equally rare classes the last one is positive."""
    reached = easy.sum(axis=0) + 1 - np.cumsum(np.vstack([np.zeros_like(easy[:1]), easy[:-1]]), axis=0)
    found, rows = count(reached, easy), reached[0].sum()
    positive = min(range(reached.shape[1]), key=lambda code: (reached[0, code], -code))
    for k in range(len(easy) + 1):
        state = f"iteration {k}" if k else "before iteration 1"
        negatives, positives, *kept = (found[f"{state}, {name}", "training_share"] for name in STACK)
        assert negatives + positives + sum(kept) == pytest.approx(1)
        assert negatives + positives == pytest.approx(easy[:k].sum() / rows)
        assert positives == pytest.approx(easy[:k, positive].sum() / rows)


def test_the_picture_and_the_table_show_what_passes_and_is_kept_in_each_iteration(shown):
    shares, ratios = panels(shown.table("ddbf-fig5"))
    assert list(stack(shares)) == ["negatives passed", "positives passed", "positives kept", "negatives kept"]
    assert list(stack(shares).values()) == [[0, 55, 55, 65], [0, 5, 5, 10], [20, 15, 15, 10], [80, 25, 25, 15]]
    tops = [bars.patches[1].get_y() + bars.patches[1].get_height() for bars in shares.containers]
    assert tops == pytest.approx([55, 60, 75, 100])
    assert shares.get_ylabel() == "training rows (%)"
    assert curves(ratios) == {"DDBF_F": pytest.approx([4, 5 / 3, 5 / 3, 1.5], abs=1e-6)}
    assert ratios.get_yscale() == "log"
    low, high = ratios.get_ylim()
    assert high / low == pytest.approx(10)  # a ratio that hardly moves looks so
    table = shown.table("ddbf-fig5")
    assert table.view.label_heads == ("data set", "iteration")
    assert [row.labels[1] for row in table.view.rows][::2] == ["before iteration 1", "2", "after the last iteration"]
    assert cells(table.view) == [
        ["", "", "160", "40", "4.000", ""],
        ["200", "60.00", "50", "30", "1.667", ""],
        ["80", "0.00", "50", "30", "1.667", ""],
        ["80", "15.00", "30", "20", "1.500", ""],
        ["", "75.00", "", "", "1.500", "97.50"],
    ]
    rows = {row.key[2:]: row.mean for row in table.rows}
    assert (rows["iteration 3, reached", ROWS], rows["all", "train_pass_rate"]) == (80, pytest.approx(0.75))
    assert not any("over repeats" in condition for condition, _ in rows)
    drawn = table.figure.csv().decode().splitlines()
    assert len(drawn) == 1 + 4 * (4 + 1)
    assert 'breast_cancer,ddbf_f,"iteration 1, negatives passed",training_share,0.55,,1,30,,,,,ok,' in drawn
    shown.extra(DATA, "ddbf_f_all", EXTRA, accuracy=np.array([0.9]))
    shown.refuses("ddbf-fig5", r"ddbf-fig5/models/ddbf_f: 'ddbf_f_all' has no iterations\. Take it out")


@pytest.mark.parametrize(("negatives", "stands_in"), [(56600, True), (50900, True), (50800, False), (62300, False)])
def test_data_that_begin_with_nearly_the_papers_ratio_have_its_ratios_as_lines(suite, negatives, stands_in):
    """565.38 less a tenth is 508.8, and a tenth more 621.9."""
    declare(suite, ["skin"])
    run(suite, "skin", reached=[[negatives, 100]], easy=[[negatives - 500, 5]])
    table = suite.table("ddbf-fig5")
    lines = {line.get_label(): line.get_ydata()[0] for line in panels(table)[-1].lines}
    published = {label: y for label, y in lines.items() if label.startswith("published")}
    wanted = {"published, before iteration 1: 565.38": 565.38, "published, after the last iteration: 3.62": 3.62}
    assert published == (wanted if stands_in else {})
    assert not cells(table.view, "published")


def test_models_have_panels_of_their_own_and_share_the_panel_of_the_ratio(suite):
    """A model of which a class is used up has no ratio from there on; one that did not run has words."""
    declare(suite, columns=("ddbf_f", "ddbf_g", "ddbf_e"))
    run(suite, easy=[[110, 10], [20, 30], [30, 0]], reached=[[160, 40], [50, 30], [30, 0]])
    run(suite, column="ddbf_g", reached=REACHED[:1], easy=EASY[:1])
    table = suite.table("ddbf-fig5")
    f, g, ratios = panels(table)
    assert [axes.get_title() for axes in (f, g)] == ["(a1) DDBF_F", "(a2) DDBF_G"]
    assert stack(g)["negatives kept"] == [80, 25]
    assert f.get_xlim() == g.get_xlim() == ratios.get_xlim()
    assert str(curves(ratios)["DDBF_F"]) == "[4.0, 1.666667, nan, nan]"
    assert len(curves(ratios)["DDBF_G"]) == 2
    assert [row[4] for row in cells(table.view)][2:5] == [GONE] * 3
    rows = [row for row in table.view.rows if row.labels[1] == "DDBF_E"]
    assert {cell.text for row in rows for cell in row.cells} == {"unavailable: not run"}


def test_what_is_not_there_has_words_and_the_papers_numbers(suite):
    declare(suite, ["credit_fraud", DATA], columns=("ddbf_f", "ddbf_g"), absent={"credit_fraud": "not on the mirror"})
    run(suite)
    run(suite, column="ddbf_g", metrics={"accuracy": 0.9})
    table = suite.table("ddbf-fig5")
    assert cells(table.view)[-1][5] == "no probabilities"
    assert table.figure.draw().subfigs[0].axes[0].texts[0].get_text() == "unavailable: not on the mirror"
    assert [row.labels for row in table.view.rows if row.kind == "published"] == [
        ("credit_fraud", "DDBF_F", "before iteration 1", "published"),
        ("credit_fraud", "DDBF_F", "after the last iteration", "published"),
    ]
    assert [row[4:] for row in cells(table.view, "published")] == [["565.38", ""], ["3.62", "97.55"]]


def test_the_first_repeat_is_drawn_and_means_are_over_the_repeats_with_a_number(suite):
    """120, 60 and 150 of 200 rows pass; 50 : 30 and 100 : 40 are kept, then 50 : 0."""
    easy, aucs = [[110, 10], [60, 0], [110, 40]], [0.9, 0.8, 0.7]
    declare(suite, repeats={DATA: 3})
    suite.summary(DATA)
    suite.run(DATA, "ddbf_f_all", [{"roc_auc": auc} for auc in aucs], n_train=200, n_test=30)
    for repeat, passed in enumerate(easy):
        found = {"class_counts_train": np.array([[160, 40]]), "easy_counts_train": np.array([passed])}
        suite.extra(DATA, "ddbf_f_all", EXTRA, repeat, **found)
    table = suite.table("ddbf-fig5")
    assert stack(panels(table)[0])["negatives passed"] == [0, 55]
    assert "Lines without 'mean' show the first repeat." in suite.notes("ddbf-fig5")
    assert cells(table.view)[2:] == [
        ["", "60.00", "", "", "1.667", "90.00"],
        ["", "", "", "", "4.000 ± 0.000", ""],
        ["", "55.00 ± 22.91", "", "", "", ""],
        ["", "55.00 ± 22.91", "67 ± 29", "23 ± 21", "2.083 ± 0.589", "80.00 ± 10.00"],
    ]
    assert [row.labels[1] for row in table.view.rows[-2:]] == ["1, mean", "after the last iteration, mean"]
    assert table.view.rows[-1].size == "2 × 30, 3 × 30"
    row = next(row for row in table.rows if row.key[2:] == ("after the last iteration, over repeats", RATIO))
    assert (row.mean, row.n, row.std) == (pytest.approx(25 / 12), 2, pytest.approx(np.std([5 / 3, 2.5], ddof=1)))


@pytest.mark.parametrize(("name", "more", "drift"), [("smoke", 1, True), ("quick", 1, True), ("quick", 0, False)])
def test_another_ratio_is_a_drift(shown, name, more, drift):
    """49 of 30 instead of 50 of 30 is more than one part in a hundred."""
    before = shown.table("ddbf-fig5")
    run(shown, easy=[[110 + more, 10], [0, 0], [20, 10]])
    assert (f"{DATA} / ddbf_f / iteration 1 / {RATIO}" in shown.moved("ddbf-fig5", before, name)) == drift
