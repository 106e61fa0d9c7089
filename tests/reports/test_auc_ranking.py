"""AUC of telling columns from their permuted copies: numbers by hand, marks, and what is said where there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays as numpy_arrays
from hypothesis.strategies import integers, sampled_from
from scipy.stats import mannwhitneyu

from cascadeforest.reports.numbers.importances import ranking_auc
from cascadeforest.reports.numbers.statistics import RankSumTest
from cascadeforest.reports.store.stored import needed_arrays, read_stored

NAME, DATASET = "interp-table4", "abalone+irrelevant"
COLUMNS = {
    "mdi_rf": {"model": "random_forest", "label": "MDI(RF)"},
    "mda_df": {"model": "gcforest", "label": "MDA(DF)"},
    "mdi_df": {"model": "gcforest", "label": "MDI(DF)"},
    "mdi_df_official": {"model": "official", "extra": "mdi_df", "label": "MDI(DF, code)"},
}
OPTIONS = {
    "columns": COLUMNS,
    "compared": ["mdi_rf", "mda_df", "mdi_df"],
    "test": {"kind": "rank_sum", "level": 0.1, "column": "mdi_df"},
}
EXTRAS = {"random_forest": ["mdi_rf"], "gcforest": ["mda_df", "mdi_df"], "official": ["mdi_df"]}
#: Importances of two columns and their copies by AUC: of four pairs none, one, ... are in order.
WITH = {
    0.0: [0.0, 1.0, 2.0, 3.0],
    0.25: [0.0, 2.0, 1.0, 3.0],
    0.5: [0.0, 3.0, 1.0, 2.0],
    0.75: [3.0, 1.0, 2.0, -1.0],
    1.0: [0.5, -0.5, -0.7, -0.6],
}


def declare(suite, name=NAME, extras=EXTRAS, **changes):
    row = {"render": "auc_ranking", "metrics": [], "labels": {c: c.upper() for c in extras}, "extras": extras}
    row |= {"datasets": [DATASET], "repeats": 4, "marks": "best", "options": OPTIONS}
    suite.experiment(name, **row | changes)


def run(suite, column, **areas):
    """Write four repeats of a model; each extra is saved with these AUCs, or importances."""
    suite.run(DATASET, column, [0.9] * 4)
    for extra, values in areas.items():
        for repeat, value in enumerate(values):
            importances = np.array(WITH[value] if isinstance(value, float) else value)
            suite.extra(DATASET, column, extra, repeat, importances=importances, cpu_seconds=0.5)


def ran(suite, **changes):
    """AUCs of four repeats: RF worse than MDI(DF) by far, MDA(DF) not, the official model as good."""
    declare(suite, **changes)
    suite.summary(DATASET)
    run(suite, "random_forest", mdi_rf=[0.5, 0.25, 0.5, 0.25])
    run(suite, "gcforest", mda_df=[1.0, 1.0, 0.75, 0.5], mdi_df=[1.0, 1.0, 0.75, 1.0])
    run(suite, "official", mdi_df=[0.0, 0.0, 0.0, 0.0])
    return suite


def rows_of(suite):
    return {row.model: row for row in suite.table(NAME).rows if not row.condition}


@given(numpy_arrays(np.float64, integers(1, 8).map(lambda n: 2 * n), elements=sampled_from([-1.0, 0.0, 0.1, 0.3, 5.0])))
def test_auc_is_the_share_of_pairs_in_order(importances):
    own, copies = np.split(importances, 2)
    pairs = [(a > b) + (a == b) / 2 for a in own for b in copies]
    assert ranking_auc(importances) == pytest.approx(np.mean(pairs))


def test_sums_that_differ_by_rounding_tie():
    assert ranking_auc(np.array([0.1 + 0.2, 0.3])) == ranking_auc(np.array([0.3, 0.1 + 0.2])) == 0.5
    assert ranking_auc(np.array([3e-9, 1e-9])) == 1.0
    assert np.isnan(ranking_auc(np.array([np.nan, 1.0])))


def test_numbers_are_means_and_deviations_with_marks_and_the_published_ones_below(suite):
    rows = rows_of(ran(suite))
    assert (rows["mdi_rf"].mean, rows["mdi_rf"].n, rows["mdi_rf"].n_test) == (0.375, 4, None)
    assert rows["mdi_rf"].std == pytest.approx(np.std([0.5, 0.25, 0.5, 0.25], ddof=1))
    assert (rows["mda_df"].mean, rows["mdi_df"].mean, rows["mdi_df_official"].mean) == (0.8125, 0.9375, 0.0)
    view = suite.table(NAME).view
    assert view.heads == ("MDI(RF)", "MDA(DF)", "MDI(DF)", "MDI(DF, code)")
    assert suite.line(NAME, DATASET) == ["37.50 ± 14.43", "81.25 ± 23.94", "93.75 ± 12.50", "0.00 ± 0.00"]
    assert view.rows[0].size == "4 × (2 + 2)"
    # Four repeats all above four others: z = 8 / sqrt(12) = 2.3, p = 0.02. The official model is not ranked.
    assert [rows[name].mark for name in COLUMNS] == ["worse", "", "best", ""]
    assert [rows[name].rank for name in COLUMNS] == [3, 2, 1, None]
    markdown = suite.table(NAME).files()[".md"]
    assert "37.50 ± 14.43 •" in markdown
    assert "**93.75 ± 12.50**" in markdown
    ran(suite)
    run(suite, "random_forest", mdi_rf=[1.0] * 4)
    run(suite, "gcforest", mda_df=[0.0] * 4, mdi_df=[0.5] * 4)
    assert [rows_of(suite)[name].mark for name in COLUMNS] == ["best", "worse", "", ""]
    suite.as_printed(NAME)
    ran(suite)
    assert suite.line(NAME, DATASET, kind="published") == ["91.1 ± 4.7", "100.0 ± 0.0", "100.0 ± 0.0", "not printed"]
    assert [cell.mark for cell in suite.table(NAME).view.rows[1].cells] == ["worse", "best", "best", ""]
    rows = rows_of(suite)
    assert (rows["mdi_rf"].published, rows["mdi_rf"].published_std) == (0.911, 0.047)
    assert rows["mdi_df_official"].published is None


TEST = RankSumTest("rank_sum", 0.1, "a")


@given(numpy_arrays(np.float64, (2, 10), elements=sampled_from([k / 7 for k in range(8)])))
def test_the_test_is_that_of_mann_and_whitney(samples):
    """Without its corrections for ties and continuity: z = (U - n m / 2) / sqrt(n m (n + m + 1) / 12)."""
    own, other = samples
    u = mannwhitneyu(own, other).statistic
    z = (u - 50) / np.sqrt(10 * 10 * 21 / 12)
    assert TEST.is_better(own, other, True) == (z > 1.6448536 and own.mean() > other.mean())
    assert TEST.is_better(own, other, False) == (z < -1.6448536 and own.mean() < other.mean())


def test_what_is_better_in_few_repeats_or_in_rank_only_or_in_mean_only_is_not_better():
    assert [TEST.is_better([1.0] * n, [0.0] * n, True) for n in (1, 2, 3, 10)] == [False, False, True, True]
    assert not TEST.is_better([1.0] * 9 + [-100.0], [0.0] * 10, True)
    assert not TEST.is_better([-1.0] * 9 + [100.0], [0.0] * 10, True)


def test_importances_are_compared_by_the_design_of_the_repeats(suite):
    """Leads over MDI(DF): of MDI(RF) −.5, −.75, −.25, −.75, of MDA(DF) 0, 0, 0, −.5."""
    leads = np.array([-0.5, -0.75, -0.25, -0.75])
    half = {"made": 3.182446 / 2, "splits": 3.182446 * (1 / 4 + 50 / 100) ** 0.5}
    for design, factor in half.items():
        ran(suite, designs={DATASET: design})
        rows = {row.model: row for row in suite.table(NAME).rows if row.condition}
        found = rows["mdi_rf"]
        assert (found.mean, found.n) == (leads.mean(), 4)
        assert found.high - found.low == pytest.approx(2 * factor * leads.std(ddof=1), rel=1e-6)
    below = ran(suite, designs={DATASET: "draws"}).table(NAME).view.folded[0]
    assert below.title == "Differences of ROC AUC (points): each model minus MDI(DF), with 95 % intervals"
    # Four repeats reject nothing.
    assert below.rows[0].cells[0].text == "−56.25 ± 23.94, no interval"


def test_calibrations_are_published_under_conditions(suite):
    suite.as_printed("interp-table5")
    columns = {name: {"model": "gcforest", "label": name} for name in ("mdi_df_multiplicative", "mdi_df")}
    published = {
        "mdi_df_multiplicative": {"model": "mdi_df", "condition": "multiplicative"},
        "mdi_df": {"model": "mdi_df", "condition": "partial"},
    }
    options = OPTIONS | {"columns": columns, "compared": list(columns), "published": published}
    declare(suite, "interp-table5", extras={"gcforest": list(columns)}, options=options)
    suite.summary(DATASET)
    run(suite, "gcforest", mdi_df_multiplicative=[1.0] * 4, mdi_df=[1.0] * 4)
    assert suite.line("interp-table5", DATASET, kind="published") == ["85.3 ± 18.1", "100.0 ± 0.0"]
    assert {row.mark for row in suite.table("interp-table5").rows if not row.condition} == {
        "best"
    }  # equal means share it


def test_a_model_that_failed_and_an_importance_that_is_no_number_leave_the_others(suite):
    ran(suite)
    run(suite, "random_forest", mdi_rf=[1.0, 1.0, 1.0, [np.nan, 1.0, 2.0, 3.0]])
    row = rows_of(suite)["mdi_rf"]
    assert (row.mean, row.mark, row.note) == (None, "", "an importance is no finite number")
    suite.fail(DATASET, "random_forest")
    assert suite.line(NAME, DATASET)[:3] == ["failed: MemoryError", "81.25 ± 23.94", "93.75 ± 12.50"]
    assert "failed: MDI(RF) on abalone+irrelevant: MemoryError: no room." in suite.table(NAME).view.notes


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("columns", None, "columns is None; it must be a mapping"),
        ("column", {"model": "random_forest"}, "columns/mdi_rf lacks label"),
        ("column", {"model": "forrest", "label": "x"}, "columns/mdi_rf/model is 'forrest'; choose from random_fores"),
        ("column", {"model": "gcforest", "label": "x"}, "mdi_rf needs the extra 'mdi_rf', but .* gcforest are mda_"),
        ("compared", ["mdi_fd"], "compared has 'mdi_fd'; choose from mdi_rf"),
        ("test", None, "test is None; it must be a mapping of kind, level, column"),
        ("test", {"kind": "t"}, "test/kind is 't'; it must be one of rank_sum"),
        ("test", {"level": 10}, "test/level is 10; give a number between 0 and 1"),
        ("test", {"column": "mdi"}, "test/column is 'mdi'; choose from mdi_rf"),
        ("test", {"against": ["mdi_df"]}, "test/against has 'mdi_df', the column that is tested"),
        ("test", {"alpha": 1}, "test has alpha; it can have kind, level, column, against"),
    ],
)
def test_a_slip_is_named_with_place_and_remedy(suite, option, value, words):
    if option == "column":
        option, value = "columns", COLUMNS | {"mdi_rf": value}
    elif option == "test" and value:
        value = OPTIONS["test"] | value
    declare(suite, options=OPTIONS | {option: value})
    suite.refuses(NAME, rf"interp\.yaml: {NAME}/options/.*{words}")


def test_every_model_stores_its_own_extras_only_and_another_ranking_is_a_drift(suite):
    ran(suite).stored()
    results = read_stored(suite.root, suite.name)
    saved = [array.file.split(".")[-2] for array in needed_arrays(results.experiments[NAME], results)]
    assert {extra: saved.count(extra) for extra in saved} == {"mdi_rf": 4, "mda_df": 4, "mdi_df": 8}
    assert len(list((suite.root / "reports" / suite.name / "extras" / "ab").iterdir())) == 16
    assert suite.drifts() == set()
    run(suite, "random_forest", mdi_rf=[0.5, 0.25, 0.25, 0.25])
    cell = f"{DATASET} / mdi_rf / roc_auc"
    difference = f"{DATASET} / mdi_rf / against mdi_df / roc_auc_difference"
    assert suite.drifts() == {(where, column) for where in (cell, difference) for column in ("mean", "std")}


def test_an_importance_of_fewer_repeats_is_compared_in_these(suite):
    ran(suite, extra_repeats={"mda_df": 3})
    rows = {row.key[1:3]: row for row in suite.table(NAME).rows}
    assert (rows["mda_df", ""].n, rows["mda_df", ""].mean) == (3, pytest.approx(11 / 12))
    assert rows["mdi_df", ""].n == 4
    against = rows["mda_df", "against mdi_df"]  # 0, 0, 0
    assert (against.n, against.mean) == (3, 0)
    assert suite.table(NAME).view.rows[0].size == "3 × (2 + 2), 4 × (2 + 2)"
    assert "MDA(DF) takes long: it is of the first 3 repeats, and differences to it too." in suite.notes(NAME)
    suite.stored()
    results = read_stored(suite.root, suite.name)
    saved = [array.file.split(".")[-2] for array in needed_arrays(results.experiments[NAME], results)]
    assert {extra: saved.count(extra) for extra in saved} == {"mdi_rf": 4, "mda_df": 3, "mdi_df": 8}
    assert suite.drifts() == set()


def test_a_second_test_has_a_mark_of_its_own_and_rows_of_differences(suite):
    """The official importance is worse than all others; turned round it is better than them."""
    second = {"kind": "rank_sum", "level": 0.1, "column": "mdi_df_official", "against": ["mdi_rf", "mda_df"]}
    ran(suite, options=OPTIONS | {"second_test": second})
    marks = {row.model: row.mark for row in suite.table(NAME).rows if row.metric == "roc_auc"}
    assert (marks["mdi_rf"], marks["mda_df"]) == ("worse", "")
    run(suite, "official", mdi_df=[1.0, 1.0, 1.0, 1.0])
    table = suite.table(NAME)
    marks = {row.model: row.mark for row in table.rows if row.metric == "roc_auc"}
    assert (marks["mdi_rf"], marks["mda_df"]) == ("worse_both", "")
    run(suite, "gcforest", mda_df=[0.5, 0.25, 0.5, 0.25], mdi_df=[0.5, 0.25, 0.5, 0.25])
    table = suite.table(NAME)
    marks = {row.model: row.mark for row in table.rows if row.metric == "roc_auc"}
    assert (marks["mdi_rf"], marks["mda_df"]) == ("worse_2", "worse_2")
    assert any(cell.mark == "worse_2" for cell in table.view.rows[0].cells)
    assert "◦: the same of MDI(DF, code)" in " ".join(table.view.notes)
    assert {row.condition for row in table.rows} >= {"against mdi_df", "against mdi_df_official"}


def test_rows_of_the_rest_of_the_training_file_say_what_they_explain(suite):
    given, rest = "usps+train-0.1+irrelevant", "usps+rest-0.1+irrelevant"
    row = {"render": "auc_ranking", "metrics": [], "labels": {c: c.upper() for c in EXTRAS}, "extras": EXTRAS}
    suite.experiment(NAME, **row, datasets=[given, rest], repeats=1, marks="best", options=OPTIONS)
    suite.published(NAME, ["usps,mdi_rf,,roc_auc,100,,,,percent", "usps,mdi_df,,roc_auc,100,,,,percent"])
    for dataset, area in (given, 0.5), (rest, 0.75):
        suite.summary(dataset)
        for column, extras in EXTRAS.items():
            suite.run(dataset, column, [0.9])
            for extra in extras:
                suite.extra(dataset, column, extra, importances=np.array(WITH[area]), cpu_seconds=0.5)
    (note,) = [note for note in suite.table(NAME).view.notes if note.startswith(f"{rest} beside")]
    assert (
        "MDI(RF) 50.00 on the given test rows, 75.00 on these, published 100.00 (50 % of the distance explained)"
        in note
    )
    assert note.endswith("What is not explained stays open.")
