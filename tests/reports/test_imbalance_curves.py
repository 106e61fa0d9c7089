"""Accuracy while a class grows rare: what picture, table and regression check say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, permutations, sampled_from
from tests.reports.conftest import curves, panels, texts

from cascadeforest.reports.drawing.renderers.imbalance_curves import variants

COLUMNS = {"gcforest": "gcForest", "random_forest": "RF", "ddbf_f": "DDBF-f"}
FULL, MORE, MOST = NAMES = "digits", "digits+imbalance-5-0.6", "digits+imbalance-5-0.9"
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
}


def declare(suite, datasets=NAMES, columns=COLUMNS, **changes):
    given = {"datasets": list(datasets), "options": {"label": "5"}} | changes
    suite.figure("ddbf-fig4", "imbalance_curves", dict(columns), "{}_200", **given)


def train(suite, dataset, column, right):
    """Cells whose confusion matrices have these right predictions; the others are of the other class."""
    suite.summary(dataset, class_names=["4", "5"])
    suite.run(dataset, f"{column}_200", [sum(counts) / 20 for counts in right], n_test=20)
    confuse(suite, dataset, column, [[[four, 10 - four], [10 - five, five]] for four, five in right])


def confuse(suite, dataset, column, matrices):
    result = suite.read_run(dataset, f"{column}_200")
    pairs = zip(result.cells, matrices, strict=True)
    cells = tuple(replace(cell, confusion=tuple(map(tuple, matrix))) for cell, matrix in pairs)
    suite.write_run(replace(result, cells=cells))


def run(suite, right=RIGHT):
    for (dataset, column), counts in right.items():
        train(suite, dataset, column, counts)


def line(view, quantity, model, kind="reproduced"):
    (found,) = [row for row in view.rows if (row.labels[1], row.labels[2], row.kind) == (quantity, model, kind)]
    return texts(found)


GAP = "accuracy (percent points)", "DDBF-f minus gcForest"
#: Made data, so t intervals of two repeats: 12.7062 standard errors to each side.
LEADS = ["+7.50 [−24.27, +39.27]", "+12.50 [−82.80, +107.80]", "+10.00 [−53.53, +73.53]"]
NOTHING = "−5.00 ± 0.00, no interval"
RECALL, MISSING = "recall of class 5 (%)", "a run is missing"


@settings(deadline=None, derandomize=True)
@given(lists(sampled_from([0.1, 0.25, 0.5, 0.9]), unique=True, min_size=1).flatmap(permutations))
def test_every_variant_is_found_by_its_ratio_in_ascending_order(ratios):
    names = {0.0: "wine+noise-2"} | {ratio: f"wine+noise-2+imbalance-a.b-{ratio}" for ratio in ratios}
    found = variants(SimpleNamespace(datasets=tuple(names.values())), "a.b")
    assert list(found.items()) == sorted(names.items())


def test_accuracy_lead_and_recall_have_panels_and_lines_by_ratio(shown):
    accuracy, recall = panels(shown.table("ddbf-fig4"))
    assert curves(accuracy) == {"DDBF-f": [92.5, 87.5, 67.5], "gcForest": [97.5, 80, 55], "RF": [80, 70, 60]}
    assert curves(recall) == {"DDBF-f": [90, 75, 40], "gcForest": [95, 60, 10], "RF": [80, 60, 40]}
    assert (accuracy.get_ylabel(), recall.get_ylabel()) == ("accuracy (%)", "recall of class 5 (%)")
    assert accuracy.get_xlabel() == recall.get_xlabel() == "imbalance ratio of class 5"
    assert [label.get_text() for label in accuracy.get_xticklabels()] == ["0", "0.6", "0.9"]
    # One deviation up and down; of gcForest at ratio 0: 95 and 100 %, so 97.5 ± 3.54.
    whiskers = [path.vertices[:, 1] for found in accuracy.collections for path in found.get_paths()]
    assert any(ends == pytest.approx([93.9645, 101.0355], abs=1e-3) for ends in whiskers)
    table = shown.table("ddbf-fig4")
    view, rows = table.view, {row.key: row for row in table.rows}
    assert view.heads == ("ratio 0", "ratio 0.6", "ratio 0.9", "mean from 0.6 on")
    # Means of the repeats over both ratios: (0.8 + 0.6) / 2 and (0.8 + 0.5) / 2.
    assert line(view, "accuracy (%)", "gcForest") == ["97.50 ± 3.54", "80.00 ± 0.00", "55.00 ± 7.07", "67.50 ± 3.54"]
    # Of the same repeats: -5 and -5; 5 and 10; 5 and 20; then 5 and 15.
    assert line(view, *GAP) == [NOTHING, *LEADS]
    assert line(view, RECALL, "gcForest")[:3] == ["95.00 ± 7.07", "60.00 ± 0.00", "10.00 ± 14.14"]
    assert {row.size for row in view.rows} == {"2 × 20", "2 × 10"}
    lead = rows["digits", "ddbf_f", "imbalance ratio beyond 0.6, against gcforest", "accuracy_gap"]
    assert (lead.mean, lead.n, lead.n_test) == (pytest.approx(0.1), 2, 20)
    recall = rows[MOST, "ddbf_f", "class 5", "recall"]
    assert (recall.mean, recall.std, recall.n_test) == (pytest.approx(0.4), pytest.approx(0.02**0.5), 10)
    drawn = table.figure.csv().decode().splitlines()
    assert len(drawn) == 1 + 2 * 3 * len(COLUMNS)
    assert f"{MOST},gcforest,class 5,recall,0.1,0.1414213562,2,10,,,,,ok," in drawn


def test_ddbf_and_gcforest_are_thick_below_the_others_and_no_two_models_look_alike(suite):
    columns = COLUMNS | {f"model_{k}": f"Model {k}" for k in range(9)} | {"ddbf_g": "DDBF-g"}
    declare(suite, columns=columns)
    run(suite, {(name, column): RIGHT[name, "gcforest"] for name in NAMES for column in columns})
    accuracy, _ = panels(suite.table("ddbf-fig4"))
    found = {bars.get_label(): bars[0] for bars in accuracy.containers}
    assert list(found)[:4] == ["DDBF-g", "DDBF-f", "gcForest", "RF"]  # drawn in this order, the first at the bottom
    assert [label for label, one in found.items() if one.get_linewidth() > 2] == ["DDBF-g", "DDBF-f", "gcForest"]
    looks = {(one.get_color(), one.get_marker()) for one in found.values()}
    assert len(looks) == len(columns)
    first = [one.get_xdata()[0] for one in found.values()]
    assert max(first) - min(first) == pytest.approx(0.25 * 0.3)  # beside each other, over a quarter of the gap
    assert first == sorted(first)


def test_a_gap_in_a_curve_is_not_bridged_and_a_series_without_its_first_variant_has_its_later_numbers(suite):
    declare(suite)
    run(suite, {key: right for key, right in RIGHT.items() if key != (MORE, "ddbf_f")})
    suite.fail(MORE, "ddbf_f_200")
    table = suite.table("ddbf-fig4")
    assert str(curves(panels(table)[0])["DDBF-f"]) == "[92.5, nan, 67.5]"
    ours = line(table.view, "accuracy (%)", "DDBF-f")
    assert ours == ["92.50 ± 3.54", "failed: MemoryError", "67.50 ± 3.54", MISSING]
    assert line(table.view, RECALL, "DDBF-f")[1] == "failed: MemoryError"
    assert f"failed: DDBF-f on {MORE}: MemoryError: no room." in table.view.notes
    assert line(table.view, *GAP) == [NOTHING, MISSING, LEADS[1], MISSING]
    for column in COLUMNS:
        suite.lose(FULL, f"{column}_200")
    declare(suite, absent={FULL: "not on the mirror"})
    run(suite, {key: right for key, right in RIGHT.items() if key[0] != FULL})
    table = suite.table("ddbf-fig4")
    assert line(table.view, *GAP) == [MISSING, *LEADS]
    assert str(curves(panels(table)[0])["RF"]) == "[nan, 70.0, 60.0]"
    declare(suite, absent=dict.fromkeys(NAMES, "not on the mirror"))
    assert panels(suite.table("ddbf-fig4"))[0].texts[0].get_text() == "unavailable: not on the mirror"


@pytest.mark.parametrize("names", [("mnist", "mnist+imbalance-5-0.7"), ("mnist+rows-50+imbalance-5-0.7",)])
def test_the_papers_gap_stands_below_ours_on_its_data(suite, names):
    declare(suite, names)
    run(suite, {(name, column): RIGHT[MOST, column] for name in names for column in COLUMNS})
    table = suite.table("ddbf-fig4")
    assert line(table.view, *GAP) == [LEADS[1]] * (len(names) + 1)
    assert line(table.view, *GAP, "published") == ["not printed"] * len(names) + ["about 0.8"]
    key = names[0], "ddbf_f", "imbalance ratio beyond 0.6, against gcforest", "accuracy_gap"
    assert {row.key: row for row in table.rows}[key].published == 0.008
    assert "DDBF-f minus gcForest is +12.50 [−82.80, +107.80] percent points" in table.figure.caption


def test_ratios_below_the_papers_have_no_mean_and_one_repeat_no_spread(suite):
    names = [FULL, "digits+imbalance-5-0.3"]
    declare(suite, names, repeats=1)
    run(suite, {(name, column): RIGHT[MORE, column][:1] for name in names for column in COLUMNS})
    table = suite.table("ddbf-fig4")
    assert line(table.view, *GAP) == ["+5.00, no interval", "+5.00, no interval", "not applicable"]
    assert not any("beyond" in row.condition for row in table.rows)


def test_recall_is_of_the_classs_own_rows_in_each_repeat(suite):
    """Splits that are not stratified have more of a class in one repeat: 4 of 5 and 6 of 10 are 0.7 in the mean."""
    declare(suite, [FULL], {"gcforest": "gcForest"})
    train(suite, FULL, "gcforest", [(10, 4), (10, 6)])
    confuse(suite, FULL, "gcforest", [[[15, 0], [1, 4]], [[10, 0], [4, 6]]])
    row = next(row for row in suite.table("ddbf-fig4").rows if row.metric == "recall")
    assert (row.mean, row.n_test) == (pytest.approx(0.7), 5)
    confuse(suite, FULL, "gcforest", [[[20, 0], [0, 0]]] * 2)
    assert line(suite.table("ddbf-fig4").view, RECALL, "gcForest")[0] == "unavailable: no test rows of the class"
    suite.summary(FULL, class_names=["four", "five"])
    table = suite.table("ddbf-fig4")
    assert line(table.view, RECALL, "gcForest")[0] == "unavailable: the class is not known"
    assert len(panels(table)) == 1


def test_another_row_of_the_class_moves_accuracy_recall_and_lead(shown):
    before = shown.table("ddbf-fig4")
    train(shown, MOST, "ddbf_f", [(10, 3), (9, 6)])
    assert shown.moved("ddbf-fig4", before) == {
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
    run(suite)
    before = suite.table("ddbf-fig4")
    train(suite, MOST, "random_forest", [(8 - (right - 4), right)] * 2)
    assert suite.moved("ddbf-fig4", before) == drift
