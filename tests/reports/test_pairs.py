"""Pairs of columns: lines, paired differences and their intervals by hand, the paper's tables 3 and 4 of DDBF below.

The ladder of table 4 is named by real numbers of trees, whatever the suite's bounds make of the paper's.
"""

import re
from dataclasses import replace

import pytest
from tests.reports.conftest import PUBLISHED, ROOT, texts

from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.results import Results

NAME, LADDER, FRAUD, SKIN = "ddbf-table3", "ddbf-table4", "credit_fraud", "skin+imbalance-1-0.99326"
LABELS = {"mlp": "MLP", "random_forest": "RF", "mlp_hard": "MLP + DDBF", "rf_hard": "RF + DDBF"}
OPTIONS = {
    "pairs": [["mlp", "mlp_hard"], ["random_forest", "rf_hard"]],
    "sides": ["alone", "on hard examples"],
    "published": {
        "mlp": {"model": "mlp", "condition": "alone"},
        "random_forest": {"model": "random_forest", "condition": "alone"},
        "mlp_hard": {"model": "mlp", "condition": "hard examples"},
        "rf_hard": {"model": "random_forest", "condition": "hard examples"},
    },
}
ALONE, HARD, DIFFERENCE = "alone", "on hard examples", "difference (points)"
#: On hard examples the MLP gains 1, 2 and 3 points, the forest loses 2, 3 and 4.
AREAS = {
    "mlp": [0.90, 0.90, 0.90],
    "mlp_hard": [0.91, 0.92, 0.93],
    "random_forest": [0.95, 0.96, 0.97],
    "rf_hard": [0.93, 0.93, 0.93],
}


def declare(suite, n_repeats=3, datasets=(FRAUD,), name=NAME, **changes):
    row = {"metrics": ["roc_auc"], "labels": LABELS, "datasets": list(datasets), "repeats": n_repeats}
    suite.declare(name, "pairs", **{"options": OPTIONS} | row | changes)


def run(suite, dataset, preset, areas, seeds=None):
    suite.run(dataset, preset, areas, metric="roc_auc", splits=seeds)


def ran(suite, n_repeats=3, dataset=FRAUD, seeds=None, **changes):
    declare(suite, n_repeats, [dataset], **changes)
    for preset, areas in AREAS.items():
        run(suite, dataset, preset, areas[:n_repeats], seeds)
    return suite


@pytest.mark.parametrize("name", ["smoke", "quick"])
def test_the_real_configuration_pairs_every_column_and_heads_are_what_its_plan_has(name):
    """Whatever the bounds of these suites are; their data sets are always there."""
    plan = load_plan(ROOT, {"suite": name})
    pairs = plan.experiments[NAME].options["pairs"]
    learners = ["mlp", "random_forest", "gbdt", "sndf", "gcforest"]
    assert pairs == [[learner, f"{learner}_on_hard_examples"] for learner in learners]
    params = {run.model: run.params for run in plan.runs}
    models = read_yaml(ROOT / "config" / "models.yaml")
    wanted = []
    for forest, cascade in plan.experiments[LADDER].options["pairs"]:
        of_forest, of_cascade = (params[plan.experiments[LADDER].columns[column]] for column in (forest, cascade))
        trees, layers = of_cascade["n_estimators"], of_cascade["max_layers"]
        wanted.append(f"{of_forest['n_estimators']:,} / {layers} × {trees:,} = {layers * trees:,}")
        ratio = 3 * models[cascade]["params"]["n_estimators"] / models[forest]["params"]["n_estimators"]
        assert ratio == pytest.approx(1, abs=0.021)  # 51 and 50
    assert make_table(LADDER, Results(plan, {}, {}, {}, PUBLISHED)).view.heads == tuple(wanted)


def test_each_learner_stands_above_itself_on_hard_examples_and_the_papers_lines_below(suite):
    """Printed: 91.72 and 95.98, 95.08 and 97.40."""
    view = ran(suite).table(NAME).view
    assert view.heads == ("MLP", "RF")
    assert suite.line(NAME, FRAUD, ALONE) == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert suite.line(NAME, FRAUD, HARD) == ["92.00 ± 1.00", "93.00 ± 0.00"]
    assert {row.size for row in view.rows if row.kind == "reproduced"} == {"3 × 50"}
    assert suite.line(NAME, FRAUD, ALONE, kind="published") == ["91.72", "95.08"]
    assert suite.line(NAME, FRAUD, HARD, kind="published") == ["95.98", "97.40"]
    assert suite.line(NAME, FRAUD, DIFFERENCE, kind="published") == ["+4.26", "+2.32"]
    row = suite.rows(NAME)[FRAUD, "mlp_hard", "against mlp", "roc_auc_difference"]
    assert row.published == pytest.approx(0.0426, abs=1e-12)


def test_differences_are_paired_by_repeats_and_pairs_decide_not_the_spread(suite):
    """Gains 1, 2, 3 and losses 2, 3, 4: each way 4.303 / sqrt(3) = 2.48 points."""
    assert ran(suite).line(NAME, FRAUD, DIFFERENCE) == ["+2.00 [−0.48, +4.48]", "−3.00 [−5.48, −0.52]"]
    rows = {row.model: row for row in suite.table(NAME).rows if row.metric == "roc_auc_difference"}
    assert {model: (row.condition, row.mark) for model, row in rows.items()} == {
        "mlp_hard": ("against mlp", "undecided"),
        "rf_hard": ("against random_forest", "lose"),
    }
    assert (rows["rf_hard"].mean, rows["rf_hard"].n, rows["rf_hard"].n_test) == (pytest.approx(-0.03), 3, 50)
    assert {row.rank for row in suite.table(NAME).rows} == {None}
    # Repeats differ by 10 points and more, the gain is 1, 1.5 and 2 in each.
    ran(suite)
    run(suite, FRAUD, "mlp", [0.70, 0.80, 0.90])
    run(suite, FRAUD, "mlp_hard", [0.71, 0.815, 0.92])
    assert suite.line(NAME, FRAUD, DIFFERENCE)[0] == "+1.50 [+0.26, +2.74]"
    assert suite.rows(NAME)[FRAUD, "mlp_hard", "against mlp", "roc_auc_difference"].mark == "win"


@pytest.mark.parametrize(
    ("n", "texts"),
    [
        (1, ["+1.00, no interval", "−2.00, no interval"]),
        (2, ["+1.50 [−4.85, +7.85]", "−2.50 [−8.85, +3.85]"]),  # 12.7 times half a point
    ],
)
def test_one_repeat_has_no_interval(suite, n, texts):
    assert ran(suite, n).line(NAME, FRAUD, DIFFERENCE) == texts


def test_the_first_learner_can_have_fewer_repeats_where_no_two_share_a_split(suite):
    """The forest's numbers are over all three."""
    fewer = {FRAUD: {"mlp": 2, "mlp_hard": 2}}
    declare(suite, 3, designs={FRAUD: "splits"}, fewer_repeats=fewer)
    for preset, areas in AREAS.items():
        run(suite, FRAUD, preset, areas[: 2 if preset in fewer[FRAUD] else 3], [9, 4, 1])
    assert suite.line(NAME, FRAUD, ALONE) == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert suite.line(NAME, FRAUD, HARD) == ["91.50 ± 0.71", "93.00 ± 0.00"]
    rows = suite.rows(NAME)
    pairs = (("mlp_hard", "mlp"), ("rf_hard", "random_forest"))
    assert [rows[FRAUD, one, f"against {other}", "roc_auc_difference"].n for one, other in pairs] == [2, 3]


def test_the_first_split_stands_above_all_of_them(suite):
    """Repeats 4 to 6 are of the second split, 7 to 9 of the third."""
    declare(suite, 9, designs={FRAUD: "splits"})
    more = {
        "mlp": [0.80, 0.80, 0.80, 0.70, 0.70, 0.70],
        "mlp_hard": [0.84, 0.85, 0.86, 0.705, 0.71, 0.715],
        "random_forest": [0.90] * 6,
        "rf_hard": [0.86] * 3 + [0.865] * 3,
    }
    for preset, areas in AREAS.items():
        run(suite, FRAUD, preset, [*areas, *more[preset]], [9, 9, 9, 4, 4, 4, 1, 1, 1])
    assert suite.line(NAME, FRAUD, f"{ALONE}, first split") == ["90.00 ± 0.00", "96.00 ± 1.00"]
    assert suite.line(NAME, FRAUD, f"{ALONE}, first split", kind="published") == ["91.72", "95.08"]
    assert suite.line(NAME, FRAUD, f"{DIFFERENCE}, first split") == [
        f"{gain} ± 1.00, no interval" for gain in ("+2.00", "−3.00")
    ]
    assert suite.line(NAME, FRAUD, f"{ALONE}, all splits") == ["80.00 ± 8.66", "92.00 ± 3.04"]
    # The MLP gains 2, 5 and 1 points, the forest loses 3, 4, 3.5: deviations of 2.08 and 0.5 over splits, not repeats.
    # The root of 1 / 3 + 50 / 100 and t = 4.303 make 3.93 of them.
    assert suite.line(NAME, FRAUD, f"{DIFFERENCE}, all splits") == ["+2.67 [−5.51, +10.84]", "−3.50 [−5.46, −1.54]"]
    with pytest.raises(AssertionError):
        suite.line(NAME, FRAUD, f"{ALONE}, all splits", kind="published")
    rows = {key[1:3]: row for key, row in suite.rows(NAME).items()}
    over_all = rows["mlp_hard", "against mlp, all splits"]
    assert (over_all.n, over_all.published, rows["mlp", ""].n) == (9, None, 3)
    suite.published(NAME, [f"{FRAUD},mlp,alone,roc_auc,91.72,0.50,,,percent"])
    deviations = {key[2]: row.published_std for key, row in suite.rows(NAME).items() if key[1] == "mlp"}
    assert deviations == {"": 0.005, "all splits": None}
    assert f"{FRAUD}: 3 splits of 3 repeats" in suite.notes(NAME)
    assert "Nadeau and Bengio (2003)" in suite.notes(NAME)
    reason = "no predictions of single test rows were kept"
    assert f"No interval, of some or all models, on {FRAUD}: {reason}." in suite.notes(NAME)


def test_a_reason_that_holds_for_all_splits_only_is_told(suite):
    declare(suite, 4)
    for preset in AREAS:
        run(suite, FRAUD, preset, [0.9, 0.8, 0.9, 0.8], [9, 9, 4, 4])
    result = suite.read_run(FRAUD, "mlp")
    last = replace(result.cells[3], metrics={"accuracy": 0.5})
    suite.write_run(replace(result, cells=(*result.cells[:3], last)))
    assert suite.line(NAME, FRAUD, f"{ALONE}, first split")[0] == "85.00 ± 7.07"
    assert suite.line(NAME, FRAUD, f"{ALONE}, all splits")[0] == "unavailable"
    assert "unavailable: MLP" in suite.notes(NAME)


def test_where_each_repeat_has_its_own_split_all_are_shown(suite):
    table = ran(suite, 3, SKIN, [1, 2, 3]).table(NAME)
    assert {row.n for row in table.rows} == {3}
    assert f"{SKIN}: each repeat has a split of its own." in table.view.notes
    # The paper has no numbers for it.
    assert {row.kind for row in table.view.rows} == {"reproduced"}
    assert table.view.label_heads == ("data set", "trained")


def test_an_absent_data_set_and_half_of_a_pair_without_a_number_have_reasons(suite):
    view = ran(suite, absent={FRAUD: "not on the mirror; suite paper downloads it"}).table(NAME).view
    lines = [(row.labels[1], row.kind) for row in view.rows]
    assert lines == [("all", "reproduced"), (ALONE, "published"), (HARD, "published"), (DIFFERENCE, "published")]
    assert view.rows[0].cells[0].text == "unavailable: not on the mirror; suite paper downloads it"
    assert "not on the mirror" not in suite.notes(NAME)
    ran(suite)
    suite.fail(FRAUD, "rf_hard", "Unable to allocate 3 GiB\nsecond line")
    assert suite.line(NAME, FRAUD, ALONE)[1] == "96.00 ± 1.00"
    assert suite.line(NAME, FRAUD, HARD) == ["92.00 ± 1.00", "failed: MemoryError"]
    assert suite.line(NAME, FRAUD, DIFFERENCE) == ["+2.00 [−0.48, +4.48]", "failed: MemoryError"]
    # Said once: the difference follows.
    said = "failed: RF + DDBF on credit_fraud: MemoryError: Unable to allocate 3 GiB."
    assert [note for note in suite.table(NAME).view.notes if note.startswith("failed")] == [said]
    assert suite.line(NAME, FRAUD, DIFFERENCE, kind="published") == ["+4.26", "+2.32"]
    suite.run(FRAUD, "mlp", [0.9] * 3, metric="accuracy")
    rows = [row for row in suite.table(NAME).rows if row.model in ("mlp", "mlp_hard") and row.mean is None]
    assert {row.note for row in rows} == {"the model gives no ROC AUC"}


def test_our_own_differences_must_be_equal_and_those_of_foreign_models_may_move_as_far_as_both_of_them(suite):
    """50 test rows: each may move by 0.04, so their difference by 0.08."""
    ran(suite, libraries={"mlp": ["scikit-learn"], "mlp_hard": ["scikit-learn"]}).summary(FRAUD)
    suite.stored()
    run(suite, FRAUD, "mlp", [area - 0.035 for area in AREAS["mlp"]])
    run(suite, FRAUD, "mlp_hard", [area + 0.035 for area in AREAS["mlp_hard"]])
    assert suite.drifts() == set()
    run(suite, FRAUD, "mlp_hard", [area + 0.05 for area in AREAS["mlp_hard"]])
    difference = f"{FRAUD} / mlp_hard / against mlp / roc_auc_difference"
    assert suite.drifts() == {(f"{FRAUD} / mlp_hard / roc_auc", "mean"), (difference, "mean")}
    ran(suite).stored()
    assert suite.drifts() == set()
    run(suite, FRAUD, "mlp", [0.90, 0.90, 0.90 - 1e-8])
    assert {(difference, "mean"), (difference, "std")} <= suite.drifts()


#: Trees of DDBF's forests and of RF.
RUNGS = {17: 50, 50: 150, 150: 450, 450: 1350, 1350: 4050}


def declare_ladder(suite, datasets=(FRAUD,), n_repeats=3, rungs=RUNGS, **changes):
    forests = {f"random_forest_{n}": f"RF ({n})" for n in rungs.values()}
    cascades = {f"ddbf_f_{n}": f"DDBF-f ({n})" for n in rungs}
    published = {name: {"model": "random_forest", "condition": f"{name.split('_')[-1]} trees"} for name in forests}
    published |= {name: {"model": "ddbf_f", "condition": f"{name.split('_')[-1]} trees"} for name in cascades}
    options = {"pairs": [[f"random_forest_{b}", f"ddbf_f_{a}"] for a, b in rungs.items()], "published": published}
    declare(suite, n_repeats, datasets, LADDER, labels=forests | cascades, **{"options": options} | changes)


def grow(suite, dataset, name, areas, cap=10**6, seeds=None):
    """Plan and write a run of a forest or cascade whose number of trees the suite bounds."""
    params = {"n_estimators": min(int(name.split("_")[-1]), cap)} | ({"max_layers": 3} if name[0] == "d" else {})
    suite.plan_run(dataset, name, params=params, repeats=tuple(range(len(areas))))
    run(suite, dataset, name, areas, seeds)


def grown(suite, cap=10**6, dataset=FRAUD, seeds=None, rungs=RUNGS, **changes):
    """Every run: RF has its (real) trees / 10,000, DDBF the same plus 1, 2, 3 points."""
    declare_ladder(suite, [dataset], rungs=rungs, **changes)
    for cascade, forest in rungs.items():
        grow(suite, dataset, f"random_forest_{forest}", [min(forest, cap) / 10_000] * 3, cap, seeds)
        low = min(cascade, cap) / 10_000
        grow(suite, dataset, f"ddbf_f_{cascade}", [low + gain for gain in (0.01, 0.02, 0.03)], cap, seeds)
    return suite


def line(suite, label, kind="reproduced", dataset=FRAUD):
    return suite.line(LADDER, dataset, label, kind=kind)


def test_in_full_every_rung_has_a_column_and_differences_are_paired(suite):
    view = grown(suite).table(LADDER).view
    assert view.heads[::4] == ("50 / 3 × 17 = 51", "4,050 / 3 × 1,350 = 4,050")
    assert view.heads[1:4] == ("150 / 3 × 50 = 150", "450 / 3 × 150 = 450", "1,350 / 3 × 450 = 1,350")
    assert line(suite, "RF") == ["0.50 ± 0.00", "1.50 ± 0.00", "4.50 ± 0.00", "13.50 ± 0.00", "40.50 ± 0.00"]
    assert line(suite, "DDBF-f") == ["2.17 ± 1.00", "2.50 ± 1.00", "3.50 ± 1.00", "6.50 ± 1.00", "15.50 ± 1.00"]
    assert line(suite, "RF", "published") == ["93.86", "94.58", "96.59", "96.60", "96.67"]
    assert line(suite, "DDBF-f", "published") == ["97.21", "97.25", "97.57", "97.62", "97.83"]
    # 97.21 - 93.86, 97.25 - 94.58, 97.57 - 96.59, 97.62 - 96.60, 97.83 - 96.67
    assert line(suite, DIFFERENCE, "published") == ["+3.35", "+2.67", "+0.98", "+1.02", "+1.16"]
    assert line(suite, DIFFERENCE) == [
        "+1.67 [−0.81, +4.15]",
        "+1.00 [−1.48, +3.48]",
        "−1.00 [−3.48, +1.48]",
        "−7.00 [−9.48, −4.52]",
        "−25.00 [−27.48, −22.52]",
    ]
    condition = "against random_forest_50, 3 × 17 and 50 trees"
    row = suite.rows(LADDER)[FRAUD, "ddbf_f_17", condition, "roc_auc_difference"]
    assert (row.mean, row.published) == (pytest.approx(0.0167), pytest.approx(0.0335))


def test_rungs_that_the_suite_bounds_have_their_real_numbers_of_trees(suite):
    """A bound of 100 trees leaves RF 50 and 100, DDBF's forests 17, 50 and 100."""
    table = grown(suite, cap=100).table(LADDER)
    assert table.view.heads == ("50 / 3 × 17 = 51", "100 / 3 × 50 = 150", *["100 / 3 × 100 = 300"] * 3)
    assert line(suite, "RF") == ["0.50 ± 0.00", *["1.00 ± 0.00"] * 4]
    assert line(suite, "DDBF-f") == ["2.17 ± 1.00", "2.50 ± 1.00", *["3.00 ± 1.00"] * 3]
    # The paper's numbers keep their numbers of trees.
    bounded = ["94.58 (150 trees)", "96.59 (450 trees)", "96.60 (1350 trees)", "96.67 (4050 trees)"]
    assert line(suite, "RF", "published") == ["93.86", *bounded]
    bounded = ["97.57 (150 trees)", "97.62 (450 trees)", "97.83 (1350 trees)"]
    assert line(suite, "DDBF-f", "published") == ["97.21", "97.25", *bounded]
    assert line(suite, DIFFERENCE, "published") == ["+3.35", "+2.67", "+0.98", "+1.02", "+1.16"]
    rows = {row.model: row for row in table.rows if row.metric == "roc_auc"}
    assert len(rows) == 10
    assert (rows["random_forest_1350"].condition, rows["random_forest_1350"].published) == ("100 trees", 0.966)
    assert (rows["ddbf_f_450"].condition, rows["ddbf_f_450"].published) == ("3 × 100 trees", 0.9762)
    declare_ladder(suite, rungs={50: 150})
    grow(suite, FRAUD, "random_forest_150", [0.9] * 3, 30)
    grow(suite, FRAUD, "ddbf_f_50", [0.9] * 3, 10)
    assert suite.table(LADDER).view.heads == ("30 / 3 × 10 = 30",)


def test_no_number_of_trees_is_shown_that_a_forest_does_not_have(suite):
    """A bound of 10: nothing is called RF (4050) but what the paper prints."""
    table = grown(suite, cap=10, dataset=SKIN).table(LADDER)
    assert set(table.view.heads) == {"10 / 3 × 10 = 30"}
    shown = [*table.view.heads, *(text for row in table.view.rows for text in (*row.labels, *texts(row)))]
    assert not re.search(r"\b(17|50|150|450|1350|1,350|4050|4,050)\b", " ".join(shown))
    assert {row.condition for row in table.rows if row.metric == "roc_auc"} == {"10 trees", "3 × 10 trees"}


def test_a_rung_of_several_splits_has_lines_for_the_first_and_for_all(suite):
    declare_ladder(suite, n_repeats=5, rungs={17: 50}, designs={FRAUD: "splits"})
    grow(suite, FRAUD, "random_forest_50", [0.7, 0.8, 0.9, 0.1, 0.2], 100, [3, 3, 3, 2, 2])
    grow(suite, FRAUD, "ddbf_f_17", [0.9, 0.9, 0.9, 0.2, 0.3], 100, [3, 3, 3, 2, 2])
    assert line(suite, "RF, first split") == ["80.00 ± 10.00"]
    assert line(suite, "RF, first split", "published") == ["93.86"]
    assert line(suite, f"{DIFFERENCE}, first split") == ["+10.00 ± 10.00, no interval"]
    assert line(suite, "RF, all splits") == ["54.00 ± 36.47"]
    assert line(suite, f"{DIFFERENCE}, all splits") == ["+10.00 ± 7.07, no interval"]  # the mean of both splits is 10
    rows = {key[1:3]: row for key, row in suite.rows(LADDER).items()}
    assert rows["random_forest_50", "50 trees"].published == pytest.approx(0.9386)
    assert rows["random_forest_50", "50 trees, all splits"].published is None
    assert {row.n for row in rows.values()} == {3, 5}


def test_absent_data_have_the_papers_heads_and_models_that_are_not_written_words(suite):
    declare_ladder(suite, absent={FRAUD: "not on the mirror"})
    view = suite.table(LADDER).view
    assert (view.heads[0], len(view.heads)) == ("50 / 17 (paper)", 5)
    lines = [(row.labels[1], row.kind) for row in view.rows]
    assert lines == [("all", "reproduced"), ("RF", "published"), ("DDBF-f", "published"), (DIFFERENCE, "published")]
    assert line(suite, "RF", "published") == ["93.86", "94.58", "96.59", "96.60", "96.67"]
    missing = {"ddbf_f_17": "no", "ddbf_f_50": "no"}
    declare_ladder(suite, rungs={17: 50, 50: 150}, missing_models=missing, status="partial")
    for name in ("random_forest_50", "random_forest_150"):
        grow(suite, FRAUD, name, [0.7, 0.8, 0.9], 100)
    assert suite.table(LADDER).view.heads == ("50 / unknown", "100 / unknown")
    assert line(suite, "RF") == ["80.00 ± 10.00"] * 2
    assert line(suite, "DDBF-f") == line(suite, DIFFERENCE) == ["not implemented"] * 2
    assert line(suite, "DDBF-f", "published") == ["97.21", "97.25"]


def test_a_failed_rung_is_called_by_its_real_number_of_trees(suite):
    grown(suite, cap=100)
    suite.fail(FRAUD, "random_forest_50")
    suite.fail(FRAUD, "random_forest_450")
    suite.lose(FRAUD, "ddbf_f_50")
    assert line(suite, "RF") == ["failed: MemoryError", "1.00 ± 0.00", "failed: MemoryError", *["1.00 ± 0.00"] * 2]
    assert line(suite, "DDBF-f")[1] == "not run"
    failed = "failed: MemoryError"
    assert line(suite, DIFFERENCE) == [failed, "not run", failed, *["+2.00 [−0.48, +4.48]"] * 2]
    # The failure is not said of a forest of 450 trees.
    said = "failed: RF of 50 trees, RF of 100 trees on credit_fraud: MemoryError: no room."
    assert said in suite.table(LADDER).view.notes


def test_a_column_of_other_sizes_on_other_data_is_refused(suite):
    declare_ladder(suite, [FRAUD, SKIN], rungs={17: 50})
    for dataset, cap in ((FRAUD, 100), (SKIN, 10)):
        grow(suite, dataset, "random_forest_50", [0.9] * 3, cap)
        grow(suite, dataset, "ddbf_f_17", [0.9] * 3, cap)
    suite.refuses(LADDER, r"models\.yaml: random_forest_50 has other .*\(50 on credit_fraud, 10 on sk")
