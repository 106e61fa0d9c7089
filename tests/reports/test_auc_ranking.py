"""AUC of telling columns from their permuted copies: numbers by hand, marks, and what is said where there is none."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays as numpy_arrays
from hypothesis.strategies import integers, sampled_from
from scipy.stats import mannwhitneyu

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.importances import ranking_auc
from cascadeforest.reports.rank_sum import RankSumTest
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.results import needed_extras, read_results, read_stored
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
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


def declare(suite, name=NAME, datasets=(DATASET,), n_repeats=4, extras=EXTRAS, options=OPTIONS, **changes):
    columns = {column: f"{column}_8" for column in extras}
    return suite.experiment(
        name,
        **{
            "render": "auc_ranking",
            "title": "AUC by importance",
            "metrics": [],
            "columns": columns,
            "labels": {column: column.upper() for column in columns},
            "libraries": {column: [] for column in columns},
            "extras": list(dict.fromkeys(extra for own in extras.values() for extra in own)),
            "extras_of": extras,
            "datasets": list(datasets),
            "repeats": dict.fromkeys(datasets, n_repeats),
            "marks": "best",
            "options": options,
        }
        | changes,
    )


def run(suite, column, dataset=DATASET, **areas):
    """Write the repeats of a model; each extra is saved with these AUCs."""
    n_repeats = len(next(iter(areas.values())))
    suite.run(dataset, f"{column}_8", [0.9] * n_repeats)
    path = suite.folder / "runs" / dataset / f"{column}_8.json"
    content = json.loads(path.read_text())
    folder = suite.root / "results" / "cells" / "ab"
    folder.mkdir(parents=True, exist_ok=True)
    for cell in content["cells"]:
        cell["extras"] = {}
        for extra, values in areas.items():
            cell["extras"][extra] = f"ab/{dataset}-{column}-{cell['repeat']}.{extra}.npz"
            importances = values[cell["repeat"]]
            importances = WITH[importances] if isinstance(importances, float) else importances
            np.savez(folder.parent / cell["extras"][extra], importances=np.array(importances), cpu_seconds=0.5)
    path.write_text(json.dumps(content))


def ran(suite, **changes):
    """AUCs of four repeats: RF worse than MDI(DF) by far, MDA(DF) not, the official model as good."""
    declare(suite, **changes)
    suite.summary(DATASET)
    run(suite, "random_forest", mdi_rf=[0.5, 0.25, 0.5, 0.25])
    run(suite, "gcforest", mda_df=[1.0, 1.0, 0.75, 0.5], mdi_df=[1.0, 1.0, 0.75, 1.0])
    run(suite, "official", mdi_df=[0.0, 0.0, 0.0, 0.0])
    return suite


def table(suite, name=NAME):
    return make_table(name, read_results(suite.root, suite.name))


def rows_of(made):
    return {row.model: row for row in made.rows}


def texts(made, place=0):
    return [cell.text for cell in made.view.rows[place].cells]


@given(numpy_arrays(np.float64, integers(1, 8).map(lambda n: 2 * n), elements=sampled_from([-1.0, 0.0, 0.1, 0.3, 5.0])))
def test_auc_is_the_share_of_pairs_in_order(importances):
    own, copies = np.split(importances, 2)
    pairs = [(a > b) + (a == b) / 2 for a in own for b in copies]
    assert ranking_auc(importances) == pytest.approx(np.mean(pairs))


def test_sums_that_differ_by_rounding_tie():
    assert ranking_auc(np.array([0.1 + 0.2, 0.3])) == ranking_auc(np.array([0.3, 0.1 + 0.2])) == 0.5
    assert ranking_auc(np.array([3e-9, 1e-9])) == 1.0
    assert np.isnan(ranking_auc(np.array([np.nan, 1.0])))


def test_numbers_are_means_and_deviations_over_repeats(suite):
    rows = rows_of(table(ran(suite)))
    assert (rows["mdi_rf"].mean, rows["mdi_rf"].n) == (0.375, 4)
    assert rows["mdi_rf"].std == pytest.approx(np.std([0.5, 0.25, 0.5, 0.25], ddof=1))
    assert (rows["mda_df"].mean, rows["mdi_df"].mean, rows["mdi_df_official"].mean) == (0.8125, 0.9375, 0.0)
    assert {row.metric for row in rows.values()} == {"roc_auc"}
    assert table(suite).view.heads == ("MDI(RF)", "MDA(DF)", "MDI(DF)", "MDI(DF, code)")
    assert texts(table(suite)) == ["37.50 ± 14.43", "81.25 ± 23.94", "93.75 ± 12.50", "0.00 ± 0.00"]
    assert table(suite).view.rows[0].size == "4 × (2 + 2)"


def test_marks_are_the_best_and_what_the_tested_column_is_better_than(suite):
    """Four repeats all above four others: z = 8 / sqrt(12) = 2.3, p = 0.02. The official model takes no part."""
    rows = rows_of(table(ran(suite)))
    assert {name: row.mark for name, row in rows.items()} == {
        "mdi_rf": "worse",
        "mda_df": "",
        "mdi_df": "best",
        "mdi_df_official": "",
    }
    assert [rows[name].rank for name in COLUMNS] == [3, 2, 1, None]
    markdown = table(suite).files()[".md"]
    assert "37.50 ± 14.43 •" in markdown
    assert "**93.75 ± 12.50**" in markdown


def test_a_better_column_is_not_marked_worse(suite):
    ran(suite)
    run(suite, "random_forest", mdi_rf=[1.0] * 4)
    run(suite, "gcforest", mda_df=[0.0] * 4, mdi_df=[0.5] * 4)
    marks = {name: row.mark for name, row in rows_of(table(suite)).items()}
    assert marks == {"mdi_rf": "best", "mda_df": "worse", "mdi_df": "", "mdi_df_official": ""}


TEST = RankSumTest("a", "A", 0.1)


@given(numpy_arrays(np.float64, (2, 10), elements=sampled_from([k / 7 for k in range(8)])))
def test_the_test_is_that_of_mann_and_whitney(samples):
    """Without its corrections for ties and continuity: z = (U - n m / 2) / sqrt(n m (n + m + 1) / 12)."""
    own, other = samples
    u = mannwhitneyu(own, other).statistic
    z = (u - 50) / np.sqrt(10 * 10 * 21 / 12)
    assert TEST.is_better(own, other, True) == (z > 1.6448536 and own.mean() > other.mean())
    assert TEST.is_better(own, other, False) == (z < -1.6448536 and own.mean() < other.mean())


@pytest.mark.parametrize(("n", "found"), [(1, False), (2, False), (3, True), (10, True)])
def test_two_repeats_are_too_few(n, found):
    assert TEST.is_better([1.0] * n, [0.0] * n, True) == found


def test_what_is_better_in_rank_only_or_in_mean_only_is_not_better():
    assert not TEST.is_better([1.0] * 9 + [-100.0], [0.0] * 10, True)
    assert not TEST.is_better([-1.0] * 9 + [100.0], [0.0] * 10, True)


def test_published_numbers_stand_below_with_their_marks(suite):
    shutil.copy(PUBLISHED / f"{NAME}.csv", suite.root / "reports" / "published")
    made = table(ran(suite))
    assert texts(made, 1) == ["91.1 ± 4.7", "100.0 ± 0.0", "100.0 ± 0.0", "not printed"]
    assert [cell.mark for cell in made.view.rows[1].cells] == ["worse", "best", "best", ""]
    row = rows_of(made)["mdi_rf"]
    assert (row.published, row.published_std) == (0.911, 0.047)
    assert rows_of(made)["mdi_df_official"].published is None


def test_calibrations_are_published_under_conditions(suite):
    shutil.copy(PUBLISHED / "interp-table5.csv", suite.root / "reports" / "published")
    columns = {name: {"model": "gcforest", "label": name} for name in ("mdi_df_multiplicative", "mdi_df")}
    published = {
        "mdi_df_multiplicative": {"model": "mdi_df", "condition": "multiplicative"},
        "mdi_df": {"model": "mdi_df", "condition": "partial"},
    }
    options = OPTIONS | {"columns": columns, "compared": list(columns), "published": published}
    declare(suite, "interp-table5", extras={"gcforest": list(columns)}, options=options)
    suite.summary(DATASET)
    run(suite, "gcforest", mdi_df_multiplicative=[1.0] * 4, mdi_df=[1.0] * 4)
    made = table(suite, "interp-table5")
    assert texts(made, 1) == ["85.3 ± 18.1", "100.0 ± 0.0"]
    assert {row.mark for row in made.rows} == {"best"}  # equal means share it


def test_a_model_that_failed_leaves_the_others(suite):
    ran(suite)
    (suite.folder / "runs" / DATASET / "random_forest_8.json").unlink()
    suite.fail(DATASET, "random_forest_8", "MemoryError", "no room")
    made = table(suite)
    assert texts(made)[0] == "failed: MemoryError"
    assert texts(made)[2] == "93.75 ± 12.50"
    assert "failed: MDI(RF) on abalone+irrelevant: MemoryError: no room." in made.view.notes


def test_without_any_run_there_are_words(suite):
    declare(suite)
    made = table(suite)
    assert texts(made) == ["unavailable: not run"] * 4
    assert {row.status for row in made.rows} == {"unavailable"}


def test_an_importance_that_is_no_number_is_said(suite):
    ran(suite)
    run(suite, "random_forest", mdi_rf=[1.0, 1.0, 1.0, [np.nan, 1.0, 2.0, 3.0]])
    row = rows_of(table(suite))["mdi_rf"]
    assert (row.mean, row.mark, row.note) == (None, "", "an importance is no finite number")


def changed(**changes):
    return OPTIONS | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["abalone"]}, r"'abalone' has no permuted copies.* Take 'abalone\+irrelevant'"),
        ({"options": {}}, r"options/columns is None; give"),
        ({"options": changed(columns={"mdi_rf": {"model": "random_forest"}})}, r"columns/mdi_rf is .*model and label"),
        (
            {"options": changed(columns=COLUMNS | {"mdi_rf": {"model": "forrest", "label": "x"}})},
            r"columns/mdi_rf/model is 'forrest'; choose from random_forest, gcforest, official",
        ),
        (
            {"options": changed(columns=COLUMNS | {"mdi_rf": {"model": "gcforest", "label": "x"}})},
            r"columns/mdi_rf needs the extra 'mdi_rf', but extras of gcforest are mda_df, mdi_df",
        ),
        ({"options": changed(compared=["mdi_fd"])}, r"options/compared has 'mdi_fd'; choose from mdi_rf"),
        ({"options": changed(test=None)}, r"options/test is None; give"),
        ({"options": changed(test=OPTIONS["test"] | {"kind": "t"})}, r"test/kind is 't'; only 'rank_sum' is known"),
        (
            {"options": changed(test=OPTIONS["test"] | {"level": 10})},
            r"test/level is 10; give a number between 0 and 1",
        ),
        ({"options": changed(test=OPTIONS["test"] | {"column": "mdi"})}, r"test/column is 'mdi'; choose from mdi_rf"),
        (
            {"options": changed(test=OPTIONS["test"] | {"against": ["mdi_df"]})},
            r"test/against has 'mdi_df', which is the column",
        ),
        ({"options": changed(test=OPTIONS["test"] | {"alpha": 1})}, r"options/test is .*'alpha'.*; give"),
    ],
)
def test_a_slip_is_named_with_place_and_remedy(suite, changes, message):
    declare(suite, **changes)
    with pytest.raises(ConfigError, match=rf"interp\.yaml: {NAME}/.*{message}"):
        table(suite)


# Regression check.


@pytest.fixture
def stored(suite):
    """The table, stored."""
    ran(suite)
    results = read_results(suite.root, suite.name)
    write_table(NAME, make_table(NAME, results).files(), suite.folder / "tables")
    accept(suite.root, suite.name, "first numbers")
    return suite


def drifts(suite):
    results = read_results(suite.root, suite.name)
    write_table(NAME, make_table(NAME, results).files(), suite.folder / "tables")
    return {
        (finding.cell.split(" / ")[1], finding.column)
        for finding in check(suite.root, suite.name).findings
        if finding.is_drift
    }


def test_every_model_stores_its_own_extras_only(stored):
    results = read_stored(stored.root, stored.name)
    saved = [path.name.split(".")[-2] for path in needed_extras(results.experiment(NAME), results)]
    assert {extra: saved.count(extra) for extra in saved} == {"mdi_rf": 4, "mda_df": 4, "mdi_df": 8}
    assert len(list((stored.root / "reports" / stored.name / "extras" / "ab").iterdir())) == 16
    assert drifts(stored) == set()


def test_another_ranking_is_a_drift(stored):
    run(stored, "random_forest", mdi_rf=[0.5, 0.25, 0.25, 0.25])
    assert drifts(stored) == {("mdi_rf", "mean"), ("mdi_rf", "std")}
