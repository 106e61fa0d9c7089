"""Learners alone and on hard examples: lines, paired differences and their tests by hand, the paper's table below."""

import json
import re
import shutil
from pathlib import Path

import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.reports.accept import accept
from cascadeforest.reports.column_pairs import column_pairs
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.rendering import to_html, to_latex, to_markdown
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"
NAME, FRAUD, SKIN = "ddbf-table3", "credit_fraud", "skin+imbalance-1-0.99326"
COLUMNS = {"mlp": "mlp", "random_forest": "rf", "mlp_on_hard": "mlp_hard", "rf_on_hard": "rf_hard"}
LABELS = {"mlp": "MLP", "random_forest": "RF", "mlp_on_hard": "MLP + DDBF", "rf_on_hard": "RF + DDBF"}
OPTIONS = {
    "pairs": [["mlp", "mlp_on_hard"], ["random_forest", "rf_on_hard"]],
    "published": {
        "mlp": {"model": "mlp", "condition": "alone"},
        "random_forest": {"model": "random_forest", "condition": "alone"},
        "mlp_on_hard": {"model": "mlp", "condition": "hard examples"},
        "rf_on_hard": {"model": "random_forest", "condition": "hard examples"},
    },
}
ALONE, HARD, DIFFERENCE = "alone", "on hard examples", "difference (points)"


def declare(suite, n_repeats, datasets=(FRAUD,), **changes):
    """The paper's table, with two of its learners."""
    row = {
        "render": "paired_scores",
        "metrics": ["roc_auc"],
        "columns": COLUMNS,
        "labels": LABELS,
        "libraries": {},
        "datasets": list(datasets),
        "repeats": dict.fromkeys(datasets, n_repeats),
        "options": OPTIONS,
    }
    suite.experiment(NAME, **(row | changes))
    shutil.copy(PUBLISHED / f"{NAME}.csv", suite.root / "reports" / "published")


def run(suite, dataset, preset, areas, splits=None):
    """Write a run; `splits` are the seeds of its repeats' splits, by default one split."""
    suite.run(dataset, preset, areas, metric="roc_auc")
    path = suite.folder / "runs" / dataset / f"{preset}.json"
    content = json.loads(path.read_text())
    for cell, seed in zip(content["cells"], splits or [7] * len(areas), strict=True):
        cell["seeds"] = {"model": 1, "split": seed}
    path.write_text(json.dumps(content))


#: On hard examples the MLP gains 1, 2 and 3 points, the forest loses 2, 3 and 4.
AREAS = {
    "mlp": [0.90, 0.90, 0.90],
    "mlp_hard": [0.91, 0.92, 0.93],
    "rf": [0.95, 0.96, 0.97],
    "rf_hard": [0.93, 0.93, 0.93],
}


def ran(suite, dataset=FRAUD, splits=None, **changes):
    declare(suite, 3, [dataset], **changes)
    for preset, areas in AREAS.items():
        run(suite, dataset, preset, areas, splits)
    return suite


def table_of(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


def line(view, dataset, label, kind="reproduced"):
    """Texts of one line."""
    found = [row for row in view.rows if row.labels[:2] == (dataset, label) and row.kind == kind]
    assert len(found) == 1
    return [cell.text for cell in found[0].cells]


def test_the_config_pairs_every_column_of_the_experiment():
    row = read_yaml(ROOT / "config" / "experiments" / "ddbf.yaml")[NAME]
    pairs = column_pairs({"id": NAME, "paper": "ddbf", "columns": row["models"], "options": row["options"]})
    assert [alone for alone, _ in pairs] == ["mlp", "random_forest", "gbdt", "sndf", "gcforest"]
    assert all(hard == f"{alone}_on_hard_examples" for alone, hard in pairs)


def test_each_learner_stands_above_itself_on_hard_examples(suite):
    view = table_of(ran(suite)).view
    assert view.heads == ("MLP", "RF")
    assert line(view, FRAUD, ALONE) == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert line(view, FRAUD, HARD) == ["92.00 ± 1.00", "93.00 ± 0.00"]
    assert {row.size for row in view.rows if row.kind == "reproduced"} == {"3 × 50"}


def test_differences_are_paired_by_repeats_and_tested(suite):
    """Gains 1, 2, 3: t = 2 sqrt(3) = 3.46, p = 0.074. Losses 2, 3, 4: t = 3 sqrt(3) = 5.20, p = 0.035."""
    table = table_of(ran(suite))
    assert line(table.view, FRAUD, DIFFERENCE) == ["+2.00 ± 1.00", "−3.00 ± 1.00 (p < 0.05)"]
    rows = {row.model: row for row in table.rows if row.metric == "roc_auc_difference"}
    assert {model: (row.condition, row.mark) for model, row in rows.items()} == {
        "mlp_on_hard": ("against mlp", ""),
        "rf_on_hard": ("against random_forest", "worse"),
    }
    assert rows["rf_on_hard"].mean == pytest.approx(-0.03)
    assert (rows["rf_on_hard"].n, rows["rf_on_hard"].n_test) == (3, 50)
    assert "two-sided paired t test" in " ".join(table.view.notes)


def test_a_gain_is_marked_better_and_pairs_decide_not_the_spread(suite):
    """Repeats differ by 10 points and more, the gain is 1 or 2 in each: t = 5.20 with the mean 1.5 and 0.5."""
    ran(suite)
    run(suite, FRAUD, "mlp", [0.70, 0.80, 0.90])
    run(suite, FRAUD, "mlp_hard", [0.71, 0.815, 0.92])
    table = table_of(suite)
    assert line(table.view, FRAUD, DIFFERENCE)[0] == "+1.50 ± 0.50 (p < 0.05)"
    assert next(row.mark for row in table.rows if row.key[1:3] == ("mlp_on_hard", "against mlp")) == "better"


def test_two_repeats_have_a_deviation_and_no_test(suite):
    declare(suite, 2)
    for preset, areas in AREAS.items():
        run(suite, FRAUD, preset, areas[:2])
    view = table_of(suite).view
    assert line(view, FRAUD, DIFFERENCE) == ["+1.50 ± 0.71", "−2.50 ± 0.71"]
    assert "No difference is tested: that needs three repeats." in view.notes


def test_one_repeat_has_neither(suite):
    declare(suite, 1)
    for preset, areas in AREAS.items():
        run(suite, FRAUD, preset, areas[:1])
    view = table_of(suite).view
    assert line(view, FRAUD, ALONE) == ["90.00", "95.00"]
    assert line(view, FRAUD, DIFFERENCE) == ["+1.00", "−2.00"]


def test_the_papers_lines_and_their_difference_stand_below(suite):
    """Printed: 91.72 and 95.98, 95.08 and 97.40."""
    table = table_of(ran(suite))
    assert line(table.view, FRAUD, ALONE, "published") == ["91.72", "95.08"]
    assert line(table.view, FRAUD, HARD, "published") == ["95.98", "97.40"]
    assert line(table.view, FRAUD, DIFFERENCE, "published") == ["+4.26", "+2.32"]
    row = next(row for row in table.rows if row.key[1:3] == ("mlp_on_hard", "against mlp"))
    assert row.published == pytest.approx(0.0426, abs=1e-12)
    assert "published ones are computed" in " ".join(table.view.notes)


def test_the_first_split_stands_above_all_of_them(suite):
    """Repeats 4 to 6 are of the second split, 7 to 9 of the third."""
    declare(suite, 9)
    more = {
        "mlp": [0.80, 0.80, 0.80, 0.70, 0.70, 0.70],
        "mlp_hard": [0.84, 0.85, 0.86, 0.705, 0.71, 0.715],
        "rf": [0.90] * 6,
        "rf_hard": [0.86] * 3 + [0.865] * 3,
    }
    for preset, areas in AREAS.items():
        run(suite, FRAUD, preset, [*areas, *more[preset]], [9, 9, 9, 4, 4, 4, 1, 1, 1])
    table = table_of(suite)
    assert line(table.view, FRAUD, f"{ALONE}, first split") == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert line(table.view, FRAUD, f"{ALONE}, first split", "published") == ["91.72", "95.08"]
    assert line(table.view, FRAUD, f"{DIFFERENCE}, first split") == ["+2.00 ± 1.00", "−3.00 ± 1.00 (p < 0.05)"]
    assert line(table.view, FRAUD, f"{ALONE}, all splits") == ["80.00 ± 8.66", "92.00 ± 3.04"]
    # The MLP gains 2, 5 and 1 points: t = 4.1 over nine repeats, but 2.2 over three splits. The forest loses 3, 4, 3.5.
    assert line(table.view, FRAUD, f"{DIFFERENCE}, all splits") == ["+2.67 ± 1.95", "−3.50 ± 0.66 (p < 0.05)"]
    with pytest.raises(AssertionError):
        line(table.view, FRAUD, f"{ALONE}, all splits", "published")
    rows = {row.key[1:3]: row for row in table.rows}
    assert rows["mlp_on_hard", "against mlp, all splits"].n == 9
    assert rows["mlp_on_hard", "against mlp, all splits"].published is None
    assert rows["mlp", ""].n == 3
    notes = " ".join(table.view.notes)
    assert f"{FRAUD}: the repeats of the first split share it" in notes
    assert "Of all splits (3) the spread is that over all repeats." in notes
    assert "test over the repeats of a split, or, of all splits, over their means" in notes
    assert "not tested" not in notes


def test_a_reason_that_holds_for_all_splits_only_is_told(suite):
    declare(suite, 4)
    for preset in AREAS:
        run(suite, FRAUD, preset, [0.9, 0.8, 0.9, 0.8], [9, 9, 4, 4])
    path = suite.folder / "runs" / FRAUD / "mlp.json"
    content = json.loads(path.read_text())
    del content["cells"][3]["metrics"]["roc_auc"]
    path.write_text(json.dumps(content))
    table = table_of(suite)
    assert line(table.view, FRAUD, f"{ALONE}, first split")[0] == "85.00 ± 7.07"
    assert line(table.view, FRAUD, f"{ALONE}, all splits")[0] == "unavailable"
    assert any(note.startswith("unavailable: MLP") for note in table.view.notes)
    assert "No difference is tested: that needs three repeats, or splits." in table.view.notes


def test_an_average_rank_that_someone_asks_for_is_no_line_of_it(suite):
    table = table_of(ran(suite, average_rank=[FRAUD]))
    assert {row.dataset for row in table.rows} == {FRAUD}


def test_where_each_repeat_has_its_own_split_all_are_shown(suite):
    table = table_of(ran(suite, SKIN, [1, 2, 3]))
    assert {row.n for row in table.rows} == {3}
    assert f"{SKIN}: each repeat has a split of its own; shown are all of them." in table.view.notes
    # The paper has no numbers for it.
    assert {row.kind for row in table.view.rows} == {"reproduced"}
    assert table.view.label_heads == ("data set", "trained")


def test_repeats_of_one_split_are_said_to_be(suite):
    notes = table_of(ran(suite)).view.notes
    assert any(note.startswith(f"{FRAUD}: the repeats share one split") for note in notes)


def test_an_absent_data_set_has_its_reason_once_and_the_papers_lines(suite):
    view = table_of(ran(suite, absent={FRAUD: "not on the mirror; suite paper downloads it"})).view
    assert [(row.labels[1], row.kind) for row in view.rows] == [
        ("all", "reproduced"),
        (ALONE, "published"),
        (HARD, "published"),
        (DIFFERENCE, "published"),
    ]
    assert view.rows[0].cells[0].text == "unavailable: not on the mirror; suite paper downloads it"
    assert not any("not on the mirror" in note for note in view.notes)


def test_a_failed_half_of_a_pair_leaves_the_other_its_number(suite):
    ran(suite)
    (suite.folder / "runs" / FRAUD / "rf_hard.json").unlink()
    suite.fail(FRAUD, "rf_hard", "MemoryError", "Unable to allocate 3 GiB\nsecond line")
    table = table_of(suite)
    assert line(table.view, FRAUD, ALONE)[1] == "96.00 ± 1.00"
    assert line(table.view, FRAUD, HARD) == ["92.00 ± 1.00", "failed: MemoryError"]
    assert line(table.view, FRAUD, DIFFERENCE) == ["+2.00 ± 1.00", "failed: MemoryError"]
    # Said once: the difference follows.
    assert [note for note in table.view.notes if note.startswith("failed")] == [
        "failed: RF + DDBF on credit_fraud: MemoryError: Unable to allocate 3 GiB."
    ]
    assert line(table.view, FRAUD, DIFFERENCE, "published") == ["+4.26", "+2.32"]


def test_models_that_are_not_written_are_said_to_be(suite):
    missing = {"mlp_on_hard": "not implemented", "rf_on_hard": "not implemented"}
    table = table_of(ran(suite, missing_models=missing, status="partial"))
    assert line(table.view, FRAUD, ALONE) == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert line(table.view, FRAUD, HARD) == ["not implemented"] * 2
    assert line(table.view, FRAUD, DIFFERENCE) == ["not implemented"] * 2
    assert {row.status for row in table.rows if row.metric == "roc_auc_difference"} == {"not implemented"}


def test_a_model_without_the_metric_has_the_reason_and_so_has_the_difference(suite):
    ran(suite)
    suite.run(FRAUD, "mlp", [0.9] * 3, metric="accuracy", seeds={"model": 1, "split": 7})
    table = table_of(suite)
    notes = {row.note for row in table.rows if row.model in ("mlp", "mlp_on_hard") and row.mean is None}
    assert notes == {"the model gives no ROC AUC"}


def test_columns_have_no_rank_among_all(suite):
    assert {row.rank for row in table_of(ran(suite)).rows} == {None}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (None, r"options/pairs is None; give a list of pairs of columns"),
        ([], r"options/pairs is \[\]"),
        ([["mlp"]], r"options/pairs is \[\['mlp'\]\]"),
        ([["mlp", "mlp_on_hrd"]], r"'mlp_on_hrd' is no column; choose from mlp, random_forest, mlp_on_hard, rf_on"),
        ([["mlp", "mlp_on_hard"], ["mlp", "rf_on_hard"]], r"'mlp' is there 2 times"),
        ([["mlp", "mlp_on_hard"]], r"random_forest, rf_on_hard has no partner"),
    ],
)
def test_wrong_pairs_are_refused_by_name(suite, pairs, message):
    ran(suite, options={} if pairs is None else {"pairs": pairs})
    with pytest.raises(ConfigError, match=rf"config/experiments/ddbf\.yaml: {NAME}/options/pairs.*"):
        table_of(suite)
    with pytest.raises(ConfigError, match=message):
        table_of(suite)


@pytest.mark.parametrize("metrics", [["roc_auc", "accuracy"], ["rmse"], []])
def test_a_table_of_pairs_has_one_metric(suite, metrics):
    ran(suite, metrics=metrics)
    with pytest.raises(ConfigError, match=rf"ddbf-table3/metrics is .*{len(metrics) and metrics[0]}?.*one metric"):
        table_of(suite)


def test_accuracy_is_compared_too(suite):
    declare(suite, 3, ["adult"], metrics=["accuracy"])
    for preset, areas in AREAS.items():
        suite.run("adult", preset, areas, seeds={"model": 1, "split": 7})
    assert line(table_of(suite).view, "adult", DIFFERENCE)[1] == "−3.00 ± 1.00 (p < 0.05)"


def test_the_same_results_are_the_same_bytes_and_every_line_has_all_columns(suite):
    first, second = table_of(ran(suite)), table_of(suite)
    assert first.files() == second.files()
    assert to_html(first.view) == to_html(second.view)
    rows = [row for row in to_markdown(first.view).splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(first.view.all_heads) + 1}
    for row in to_latex(first.view).splitlines():
        if row.endswith(r"\\"):
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert row.count("&") + 1 + spanned == len(first.view.all_heads), row


# The check.


def drifts(suite):
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    return {(finding.cell, finding.column) for finding in check(suite.root, suite.name).findings if finding.is_drift}


def stored(suite, libraries):
    ran(suite, libraries=libraries)
    suite.summary(FRAUD)
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    accept(suite.root, suite.name, "first numbers")
    return suite


def test_our_own_differences_must_be_equal(suite):
    stored(suite, {})
    assert drifts(suite) == set()
    run(suite, FRAUD, "mlp", [0.90, 0.90, 0.90 - 1e-8])
    key = f"{FRAUD} / mlp_on_hard / against mlp / roc_auc_difference"
    assert {(key, "mean"), (key, "std")} <= drifts(suite)


def test_a_difference_of_foreign_models_may_move_as_far_as_both_of_them(suite):
    """50 test rows: each may move by 0.04, so their difference by 0.08."""
    stored(suite, {"mlp": ["scikit-learn"], "mlp_on_hard": ["scikit-learn"]})
    run(suite, FRAUD, "mlp", [area - 0.035 for area in AREAS["mlp"]])
    run(suite, FRAUD, "mlp_hard", [area + 0.035 for area in AREAS["mlp_hard"]])
    assert drifts(suite) == set()
    run(suite, FRAUD, "mlp_hard", [area + 0.05 for area in AREAS["mlp_hard"]])
    assert drifts(suite) == {
        (f"{FRAUD} / mlp_on_hard / roc_auc", "mean"),
        (f"{FRAUD} / mlp_on_hard / against mlp / roc_auc_difference", "mean"),
    }
