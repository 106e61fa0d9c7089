"""Sizes and test errors: errors from accuracies and RMSE, marks, the paper's numbers under two names."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "interp-table3.csv"
NAME, DIGITS, SHELLS = "interp-table3", "pendigits+train-0.1+irrelevant", "abalone+irrelevant"
LABELS = {"random_forest": "RF", "gcforest": "DF", "official": "DF (code)"}
TEST = {"kind": "rank_sum", "level": 0.1, "column": "gcforest", "against": "random_forest"}
OPTIONS = {"test": TEST, "regression_columns": {"gcforest": "cascade_regressor"}}
#: Accuracies of four repeats.
RIGHT = {
    "random_forest": [0.5, 0.75, 0.5, 0.75],
    "gcforest": [0.875, 0.875, 1.0, 1.0],
    "official": [1.0, 1.0, 1.0, 1.0],
}
#: Errors of a regression: the forests differ little.
ERRORS = {"random_forest": [2.0, 3.0, 4.0, 5.0], "gcforest": [2.5, 3.5, 4.5, 5.5], "official": [0.0, 0.0, 0.0, 0.0]}


def declare(suite, datasets=(DIGITS, SHELLS), **changes):
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")
    return suite.experiment(
        NAME,
        **{
            "render": "sizes_and_errors",
            "title": "Sizes and errors",
            "metrics": ["accuracy", "rmse"],
            "columns": {name: f"{name}_8" for name in LABELS},
            "labels": LABELS,
            "libraries": {name: [] for name in LABELS},
            "datasets": list(datasets),
            "repeats": dict.fromkeys(datasets, 4),
            "marks": "best",
            "rank_columns": ["random_forest", "gcforest"],
            "options": OPTIONS,
        }
        | changes,
    )


def ran(suite, **changes):
    declare(suite, **changes)
    suite.summary(DIGITS, classes=10, raw_features=16, n_train=749)
    suite.summary(SHELLS, task="regression", classes=None, raw_features=8, n_train=400)
    for column in LABELS:
        suite.run(DIGITS, f"{column}_8", RIGHT[column])
        suite.run(SHELLS, f"{column}_8", ERRORS[column], metric="rmse")
    return suite


def table(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


def rows_of(made, dataset):
    return {(row.model, row.metric): row for row in made.rows if row.dataset == dataset}


def line(made, dataset, source="reproduced"):
    (found,) = (row for row in made.view.rows if row.labels == (dataset, source))
    return [cell.text for cell in found.cells]


def test_the_error_of_a_classifier_is_what_accuracy_leaves(suite):
    rows = rows_of(table(ran(suite)), DIGITS)
    assert (rows["random_forest", "error_rate"].mean, rows["random_forest", "error_rate"].n) == (0.375, 4)
    assert rows["random_forest", "error_rate"].std == pytest.approx(np.std(RIGHT["random_forest"], ddof=1))
    assert rows["gcforest", "error_rate"].mean == 0.0625
    assert not any(metric in ("accuracy", "rmse") for _, metric in rows)
    assert line(table(suite), DIGITS) == ["10", "16", "749", "37.50 ± 14.43", "6.25 ± 7.22", "0.00 ± 0.00"]


def test_the_error_of_a_regression_is_the_rmse(suite):
    rows = rows_of(table(ran(suite)), SHELLS)
    assert rows["gcforest", "rmse"].mean == 4.0
    assert line(table(suite), SHELLS)[:4] == ["regression", "8", "400", "3.500 ± 1.291"]
    assert (rows["", "classes"].mean, rows["", "classes"].note) == (None, "regression")


def test_low_errors_are_best_and_a_test_marks_the_worse(suite):
    """On the digits every error of RF is above every one of DF (p = 0.02); on the shells RF is a little better."""
    made = table(ran(suite))
    marks = {(row.dataset, row.model): row.mark for row in made.rows if row.model}
    assert marks == {
        (DIGITS, "random_forest"): "worse",
        (DIGITS, "gcforest"): "best",
        (DIGITS, "official"): "",
        (SHELLS, "random_forest"): "best",
        (SHELLS, "gcforest"): "",
        (SHELLS, "official"): "",
    }
    ranks = {row.model: row.rank for row in made.rows if row.dataset == SHELLS and row.model}
    assert ranks == {"random_forest": 1, "gcforest": 2, "official": None}
    assert "37.50 ± 14.43 •" in made.files()[".md"]


def test_a_deep_forest_that_is_worse_is_marked_by_nobody(suite):
    ran(suite)
    for column, values in (("random_forest", [1.0] * 4), ("gcforest", [0.5] * 4)):
        suite.run(DIGITS, f"{column}_8", values)
    rows = rows_of(table(suite), DIGITS)
    assert [rows[column, "error_rate"].mark for column in LABELS] == ["best", "", ""]


def test_published_errors_stand_below_under_the_name_of_the_task(suite):
    made = table(ran(suite))
    assert line(made, DIGITS, "published") == ["10", "16", "749", "2.9 ± 0.3", "2.6 ± 0.1", "not printed"]
    assert line(made, SHELLS, "published") == [
        "regression",
        "8",
        "417",
        "2.432 ± 0.026",
        "2.425 ± 0.041",
        "not printed",
    ]
    (published,) = (row for row in made.view.rows if row.labels == (DIGITS, "published"))
    assert [cell.mark for cell in published.cells[3:]] == ["worse", "best", ""]
    row = rows_of(made, SHELLS)["gcforest", "rmse"]
    assert (row.published, row.published_std) == (2.425, 0.041)


def test_a_size_that_is_not_the_papers_is_marked(suite):
    made = table(ran(suite))
    marks = {(row.dataset, row.metric): row.mark for row in made.rows if not row.model}
    assert {key for key, mark in marks.items() if mark == "differs"} == {(SHELLS, "n_train")}
    assert "≠: the measured number is not the published one." in made.view.notes


def test_a_data_set_that_is_absent_has_the_papers_numbers(suite):
    declare(suite, absent={SHELLS: "not on the mirror"})
    suite.summary(DIGITS)
    made = table(suite)
    assert line(made, SHELLS) == ["unavailable: not on the mirror"] * 6
    assert line(made, SHELLS, "published")[3:] == ["2.432 ± 0.026", "2.425 ± 0.041", "not printed"]
    assert line(made, DIGITS)[:3] == ["2", "4", "100"]
    assert {row.metric for row in made.rows if row.dataset == SHELLS and row.model} == {"rmse"}


def test_a_model_that_failed_leaves_the_others(suite):
    ran(suite)
    (suite.folder / "runs" / DIGITS / "gcforest_8.json").unlink()
    suite.fail(DIGITS, "gcforest_8", "MemoryError", "no room")
    made = table(suite)
    assert line(made, DIGITS)[3:] == ["37.50 ± 14.43", "failed: MemoryError", "0.00 ± 0.00"]
    assert f"failed: DF on {DIGITS}: MemoryError: no room." in made.view.notes
    assert rows_of(made, DIGITS)["random_forest", "error_rate"].mark == ""


def test_other_metrics_are_refused(suite):
    declare(suite, metrics=["accuracy"])
    with pytest.raises(
        ConfigError, match=r"interp-table3/metrics is \['accuracy'\]; errors are made of \[accuracy, rm"
    ):
        table(suite)


def test_a_test_against_no_column_is_refused(suite):
    declare(suite, options=OPTIONS | {"test": TEST | {"against": "forrest"}})
    with pytest.raises(ConfigError, match=r"options/test/against is 'forrest'; choose from random_forest, gcforest"):
        table(suite)


def drifts(suite):
    write_table(NAME, table(suite).files(), suite.folder / "tables")
    return {(finding.cell, finding.column) for finding in check(suite.root, suite.name).findings if finding.is_drift}


def test_another_error_is_a_drift_in_an_exact_suite(suite):
    ran(suite)
    write_table(NAME, table(suite).files(), suite.folder / "tables")
    accept(suite.root, suite.name, "first numbers")
    assert drifts(suite) == set()
    suite.run(DIGITS, "official_8", [1.0, 1.0, 1.0, 0.5])
    cell = f"{DIGITS} / official / error_rate"
    assert drifts(suite) == {(cell, "mean"), (cell, "std")}
