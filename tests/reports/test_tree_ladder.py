"""Rungs by their real numbers of trees, whatever the suite's bounds make of the paper's; differences by hand."""

import json
import re
import shutil
from pathlib import Path

import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.plan import load_plan
from cascadeforest.reports.accept import accept
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.rendering import to_html, to_latex, to_markdown
from cascadeforest.reports.results import Results, read_results
from cascadeforest.reports.table import make_table, write_table

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"
NAME, FRAUD, SKIN = "ddbf-table4", "credit_fraud", "skin+imbalance-1-0.99326"
#: Trees of DDBF's forests and of RF.
RUNGS = {17: 50, 50: 150, 150: 450, 450: 1350, 1350: 4050}
DIFFERENCE = "difference (points)"


def declare(suite, datasets=(FRAUD,), n_repeats=3, rungs=RUNGS, **changes):
    """The paper's table, all of its rungs or some of them."""
    forests = {f"random_forest_{n}": f"RF ({n})" for n in rungs.values()}
    cascades = {f"ddbf_f_{n}": f"DDBF-f ({n})" for n in rungs}
    published = {name: {"model": "random_forest", "condition": f"{name.split('_')[-1]} trees"} for name in forests}
    published |= {name: {"model": "ddbf_f", "condition": f"{name.split('_')[-1]} trees"} for name in cascades}
    row = {
        "render": "tree_ladder",
        "metrics": ["roc_auc"],
        "columns": {name: name for name in (*forests, *cascades)},
        "labels": forests | cascades,
        "libraries": {},
        "datasets": list(datasets),
        "repeats": dict.fromkeys(datasets, n_repeats),
        "options": {"pairs": [[f"ddbf_f_{a}", f"random_forest_{b}"] for a, b in rungs.items()], "published": published},
    }
    suite.experiment(NAME, **(row | changes))
    shutil.copy(PUBLISHED / f"{NAME}.csv", suite.root / "reports" / "published")


def run(suite, dataset, name, areas, cap, splits=None):
    """Plan and write a run of a forest or cascade whose number of trees the suite bounds."""
    params = {"n_estimators": min(int(name.split("_")[-1]), cap)}
    params |= {"max_layers": 3} if name.startswith("ddbf") else {}
    suite.plan_run(dataset, name, params=params, repeats=list(range(len(areas))))
    suite.run(dataset, name, areas, metric="roc_auc")
    path = suite.folder / "runs" / dataset / f"{name}.json"
    content = json.loads(path.read_text())
    for cell, seed in zip(content["cells"], splits or [7] * len(areas), strict=True):
        cell["seeds"] = {"model": 1, "split": seed}
    path.write_text(json.dumps(content))


def ran(suite, cap=10**6, dataset=FRAUD, splits=None, rungs=RUNGS, **changes):
    """Every run: RF has its (real) trees / 10,000, DDBF the same plus 1, 2, 3 points."""
    declare(suite, [dataset], rungs=rungs, **changes)
    for cascade, forest in rungs.items():
        low = min(forest, cap) / 10_000
        run(suite, dataset, f"random_forest_{forest}", [low] * 3, cap, splits)
        low = min(cascade, cap) / 10_000
        run(suite, dataset, f"ddbf_f_{cascade}", [low + gain for gain in (0.01, 0.02, 0.03)], cap, splits)
    return suite


def table_of(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


def line(view, label, kind="reproduced", dataset=FRAUD):
    """Texts of one line."""
    found = [row for row in view.rows if row.labels[:2] == (dataset, label) and row.kind == kind]
    assert len(found) == 1
    return [cell.text for cell in found[0].cells]


FULL = (
    "50 / 3 × 17 = 51",
    "150 / 3 × 50 = 150",
    "450 / 3 × 150 = 450",
    "1,350 / 3 × 450 = 1,350",
    "4,050 / 3 × 1,350 = 4,050",
)


def test_in_full_every_rung_of_the_paper_has_a_column(suite):
    view = table_of(ran(suite)).view
    assert view.heads == FULL
    assert line(view, "RF") == ["0.50 ± 0.00", "1.50 ± 0.00", "4.50 ± 0.00", "13.50 ± 0.00", "40.50 ± 0.00"]
    assert line(view, "DDBF-f") == ["2.17 ± 1.00", "2.50 ± 1.00", "3.50 ± 1.00", "6.50 ± 1.00", "15.50 ± 1.00"]
    assert not any("bounds numbers of trees" in note or "Not equal" in note for note in view.notes)


def test_the_papers_lines_stand_below_as_printed(suite):
    view = table_of(ran(suite)).view
    assert line(view, "RF", "published") == ["93.86", "94.58", "96.59", "96.60", "96.67"]
    assert line(view, "DDBF-f", "published") == ["97.21", "97.25", "97.57", "97.62", "97.83"]
    # 97.21 - 93.86, 97.25 - 94.58, 97.57 - 96.59, 97.62 - 96.60, 97.83 - 96.67
    assert line(view, DIFFERENCE, "published") == ["+3.35", "+2.67", "+0.98", "+1.02", "+1.16"]


def test_differences_are_paired_by_repeats_and_tested(suite):
    """First rung 0.67, 1.67, 2.67: t = 2.89, p = 0.10; last -26, -25, -24: t = -43, p < 0.001."""
    table = table_of(ran(suite))
    assert line(table.view, DIFFERENCE) == [
        "+1.67 ± 1.00",
        "+1.00 ± 1.00",
        "−1.00 ± 1.00",
        "−7.00 ± 1.00 (p < 0.05)",
        "−25.00 ± 1.00 (p < 0.05)",
    ]
    row = next(row for row in table.rows if row.key[1] == "ddbf_f_17" and row.metric == "roc_auc_difference")
    assert row.condition == "against random_forest_50, 3 × 17 and 50 trees"
    assert (row.mean, row.published) == (pytest.approx(0.0167), pytest.approx(0.0335))


def test_rungs_that_the_suite_made_equal_are_shown_once(suite):
    """A bound of 100 trees leaves RF 50 and 100, DDBF's forests 17, 50 and 100."""
    view = table_of(ran(suite, cap=100)).view
    assert view.heads == ("50 / 3 × 17 = 51", "100 / 3 × 50 = 150", "100 / 3 × 100 = 300")
    assert line(view, "RF") == ["0.50 ± 0.00", "1.00 ± 0.00", "1.00 ± 0.00"]
    assert line(view, "DDBF-f") == ["2.17 ± 1.00", "2.50 ± 1.00", "3.00 ± 1.00"]


def test_the_papers_numbers_of_merged_rungs_keep_their_numbers_of_trees(suite):
    view = table_of(ran(suite, cap=100)).view
    assert line(view, "RF", "published") == [
        "93.86",
        "94.58 (150 trees)",
        "96.59 / 96.60 / 96.67 (450 / 1350 / 4050 trees)",
    ]
    assert line(view, "DDBF-f", "published") == [
        "97.21",
        "97.25",
        "97.57 / 97.62 / 97.83 (150 / 450 / 1350 trees)",
    ]
    assert line(view, DIFFERENCE, "published") == ["+3.35", "+2.67", "+0.98 / +1.02 / +1.16"]


def test_notes_say_which_rungs_a_column_stands_for_and_where_totals_differ(suite):
    notes = table_of(ran(suite, cap=100)).view.notes
    merged = next(note for note in notes if "shown once" in note)
    assert "100 / 3 × 50 = 150 for the paper's 150 / 50; " in merged
    assert "100 / 3 × 100 = 300 for the paper's 450 / 150, 1350 / 450 and 4050 / 1350 (trees of RF" in merged
    assert "50 / 3 × 17" not in merged.replace("150 / 3 × 17", "")
    unequal = next(note for note in notes if note.startswith("Not equal in the total"))
    assert unequal.endswith("100 / 3 × 50 = 150; 100 / 3 × 100 = 300.")


def test_bounds_that_leave_totals_equal_are_not_called_unequal(suite):
    declare(suite, rungs={50: 150})
    run(suite, FRAUD, "random_forest_150", [0.9] * 3, 30)
    run(suite, FRAUD, "ddbf_f_50", [0.9] * 3, 10)
    view = table_of(suite).view
    assert view.heads == ("30 / 3 × 10 = 30",)
    assert any("30 / 3 × 10 = 30 for the paper's 150 / 50" in note for note in view.notes)
    assert not any("Not equal" in note for note in view.notes)


def test_no_number_of_trees_is_shown_that_a_forest_does_not_have(suite):
    """A bound of 10: one column, and nothing is called RF (4050) but what the paper prints."""
    table = table_of(ran(suite, cap=10, dataset=SKIN))
    assert table.view.heads == ("10 / 3 × 10 = 30",)
    shown = " ".join([*table.view.heads, *(cell.text for row in table.view.rows for cell in row.cells)])
    labels = " ".join(label for row in table.view.rows for label in row.labels)
    assert not re.search(r"\b(17|50|150|450|1350|1,350|4050|4,050)\b", shown + labels)
    assert {row.condition for row in table.rows if row.metric == "roc_auc"} == {"10 trees", "3 × 10 trees"}


def test_the_csv_keeps_every_rung_with_its_published_number(suite):
    rows = {row.model: row for row in table_of(ran(suite, cap=100)).rows if row.metric == "roc_auc"}
    assert len(rows) == 10
    assert (rows["random_forest_1350"].condition, rows["random_forest_1350"].published) == ("100 trees", 0.966)
    assert (rows["ddbf_f_450"].condition, rows["ddbf_f_450"].published) == ("3 × 100 trees", 0.9762)
    assert {row.rank for row in rows.values()} == {None}


@pytest.mark.parametrize("name", ["smoke", "quick"])
def test_the_heads_are_what_the_plan_has(name):
    """The real configuration, whatever the bounds of these suites are; their data sets are always there."""
    plan = load_plan(ROOT, {"suite": name}).as_dict()
    params = {run["model"]: run["params"] for run in plan["runs"]}
    wanted = {}  # ordered, each once
    for cascade, forest in plan["experiments"][NAME]["options"]["pairs"]:
        trees, layers = params[cascade]["n_estimators"], params[cascade]["max_layers"]
        wanted[f"{params[forest]['n_estimators']:,} / {layers} × {trees:,} = {layers * trees:,}"] = None
    assert make_table(NAME, Results(plan, {}, {}, {}, PUBLISHED)).view.heads == tuple(wanted)


def test_the_config_aligns_totals():
    options = read_yaml(ROOT / "config" / "experiments" / "ddbf.yaml")[NAME]["options"]
    models = read_yaml(ROOT / "config" / "models.yaml")
    for cascade, forest in options["pairs"]:
        ratio = 3 * models[cascade]["params"]["n_estimators"] / models[forest]["params"]["n_estimators"]
        assert ratio == pytest.approx(1, abs=0.021)  # 51 and 50


def test_the_first_split_stands_above_all_of_them(suite):
    declare(suite, n_repeats=5, rungs={17: 50})
    run(suite, FRAUD, "random_forest_50", [0.7, 0.8, 0.9, 0.1, 0.2], 100, [3, 3, 3, 2, 2])
    run(suite, FRAUD, "ddbf_f_17", [0.9, 0.9, 0.9, 0.2, 0.3], 100, [3, 3, 3, 2, 2])
    table = table_of(suite)
    assert line(table.view, "RF, first split") == ["80.00 ± 10.00"]
    assert line(table.view, "RF, first split", "published") == ["93.86"]
    assert line(table.view, f"{DIFFERENCE}, first split") == ["+10.00 ± 10.00"]
    assert line(table.view, "RF, all splits") == ["54.00 ± 36.47"]
    assert line(table.view, f"{DIFFERENCE}, all splits") == ["+10.00 ± 7.07"]  # two splits are not tested
    rows = {row.key[1:3]: row for row in table.rows}
    assert rows["random_forest_50", "50 trees"].published == pytest.approx(0.9386)
    assert rows["random_forest_50", "50 trees, all splits"].published is None
    assert {row.n for row in table.rows} == {3, 5}
    notes = " ".join(table.view.notes)
    assert "p ≥ 0.05 or were not tested" in notes
    assert "Fewer than three are not tested." in notes


def test_where_each_repeat_has_its_own_split_all_are_shown(suite):
    table = table_of(ran(suite, dataset=SKIN, splits=[1, 2, 3], cap=100))
    assert {row.n for row in table.rows} == {3}
    assert {row.kind for row in table.view.rows} == {"reproduced"}
    assert f"{SKIN}: each repeat has a split of its own; shown are all of them." in table.view.notes


def test_one_repeat_has_no_deviation_and_no_test(suite):
    declare(suite, n_repeats=1, rungs={17: 50})
    run(suite, FRAUD, "random_forest_50", [0.7], 100)
    run(suite, FRAUD, "ddbf_f_17", [0.9], 100)
    view = table_of(suite).view
    assert (line(view, "RF"), line(view, DIFFERENCE)) == (["70.00"], ["+20.00"])
    assert "No difference is tested: that needs three repeats." in view.notes


def test_where_no_data_set_is_there_the_heads_are_the_papers(suite):
    declare(suite, absent={FRAUD: "not on the mirror"})
    view = table_of(suite).view
    assert view.heads[0] == "50 / 17 (paper)"
    assert len(view.heads) == 5
    assert [(row.labels[1], row.kind) for row in view.rows] == [
        ("all", "reproduced"),
        ("RF", "published"),
        ("DDBF-f", "published"),
        (DIFFERENCE, "published"),
    ]
    assert view.rows[0].cells[0].text == "unavailable: not on the mirror"
    assert line(view, "RF", "published") == ["93.86", "94.58", "96.59", "96.60", "96.67"]


def test_an_absent_data_set_beside_another_shares_its_columns(suite):
    ran(suite, cap=100, dataset=SKIN)
    declare(suite, [FRAUD, SKIN], absent={FRAUD: "not on the mirror"})
    view = table_of(suite).view
    assert len(view.heads) == 3
    assert line(view, "RF", "published")[2] == "96.59 / 96.60 / 96.67 (450 / 1350 / 4050 trees)"
    assert line(view, "RF", dataset=SKIN) == ["0.50 ± 0.00", "1.00 ± 0.00", "1.00 ± 0.00"]


def test_models_that_are_not_written_have_words_and_unknown_trees(suite):
    rungs = {17: 50, 50: 150}
    declare(suite, rungs=rungs, missing_models={"ddbf_f_17": "no", "ddbf_f_50": "no"}, status="partial")
    run(suite, FRAUD, "random_forest_50", [0.7, 0.8, 0.9], 100)
    run(suite, FRAUD, "random_forest_150", [0.7, 0.8, 0.9], 100)
    view = table_of(suite).view
    assert view.heads == ("50 / unknown", "100 / unknown")
    assert line(view, "RF") == ["80.00 ± 10.00"] * 2
    assert line(view, "DDBF-f") == ["not implemented"] * 2
    assert line(view, DIFFERENCE) == ["not implemented"] * 2
    assert line(view, "DDBF-f", "published") == ["97.21", "97.25"]
    notes = " ".join(view.notes)
    assert "100 / unknown for the paper's 150 / 50" in notes
    assert "50 / unknown for" not in notes.replace("150 / unknown for", "")


def test_a_failed_rung_is_called_by_its_real_number_of_trees(suite):
    ran(suite, cap=100)
    (suite.folder / "runs" / FRAUD / "random_forest_50.json").unlink()
    suite.fail(FRAUD, "random_forest_50", "MemoryError", "no room")
    (suite.folder / "runs" / FRAUD / "ddbf_f_50.json").unlink()
    table = table_of(suite)
    assert line(table.view, "RF")[0] == "failed: MemoryError"
    assert line(table.view, "DDBF-f")[1] == "not run"
    assert line(table.view, DIFFERENCE)[:2] == ["failed: MemoryError", "not run"]
    assert "failed: RF of 50 trees on credit_fraud: MemoryError: no room." in table.view.notes


def test_of_equal_rungs_one_that_has_run_is_shown(suite):
    ran(suite, cap=100)
    (suite.folder / "runs" / FRAUD / "random_forest_450.json").unlink()
    suite.fail(FRAUD, "random_forest_450", "MemoryError", "no room")
    table = table_of(suite)
    assert line(table.view, "RF")[2] == "1.00 ± 0.00"
    assert line(table.view, DIFFERENCE)[2] == "+2.00 ± 1.00"
    # The failure is not lost, and is not said of a forest of 450 trees.
    assert "failed: RF of 100 trees on credit_fraud: MemoryError: no room." in table.view.notes


def test_a_column_of_other_sizes_on_other_data_is_refused(suite):
    declare(suite, [FRAUD, SKIN], rungs={17: 50})
    for dataset, cap in ((FRAUD, 100), (SKIN, 10)):
        run(suite, dataset, "random_forest_50", [0.9] * 3, cap)
        run(suite, dataset, "ddbf_f_17", [0.9] * 3, cap)
    with pytest.raises(ConfigError, match=r"models\.yaml: random_forest_50 has other .*\(50 on credit_fraud, 10 on sk"):
        table_of(suite)


def test_a_column_without_a_partner_is_refused(suite):
    ran(suite, options={"pairs": [["ddbf_f_17", "random_forest_50"]]})
    with pytest.raises(ConfigError, match=r"ddbf-table4/options/pairs: random_forest_150, .* has no partner"):
        table_of(suite)


def test_the_same_results_are_the_same_bytes_and_every_line_has_all_columns(suite):
    first, second = table_of(ran(suite, cap=100)), table_of(suite)
    assert first.files() == second.files()
    assert to_html(first.view) == to_html(second.view)
    rows = [row for row in to_markdown(first.view).splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(first.view.all_heads) + 1}
    for row in to_latex(first.view).splitlines():
        if row.endswith(r"\\"):
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert row.count("&") + 1 + spanned == len(first.view.all_heads), row


def drifts(suite):
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    return {(finding.cell, finding.column) for finding in check(suite.root, suite.name).findings if finding.is_drift}


def test_the_check_finds_another_area_and_its_difference(suite):
    ran(suite, rungs={17: 50})
    suite.summary(FRAUD)
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    accept(suite.root, suite.name, "first numbers")
    assert drifts(suite) == set()
    run(suite, FRAUD, "random_forest_50", [0.005, 0.005, 0.006], 10**6)
    assert {cell for cell, column in drifts(suite) if column == "mean"} == {
        f"{FRAUD} / random_forest_50 / 50 trees / roc_auc",
        f"{FRAUD} / ddbf_f_17 / against random_forest_50, 3 × 17 and 50 trees / roc_auc_difference",
    }
