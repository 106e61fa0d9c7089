"""Facts about data sets and test errors on them: errors from accuracies and RMSE, marks, the papers' numbers."""

import numpy as np
import pytest

NAME, DIGITS, SHELLS = "interp-table3", "pendigits+train-0.1+irrelevant", "abalone+irrelevant"
LABELS = {"random_forest": "RF", "gcforest": "DF", "official": "DF (code)"}
TEST = {"kind": "rank_sum", "level": 0.1, "column": "gcforest", "against": "random_forest"}
OPTIONS = {
    "facts": {"classes": "classes", "raw_features": "relevant features", "n_train": "training rows"},
    "test": TEST,
    "published": {"gcforest": {"rmse": "cascade_regressor"}},
}
#: Accuracies of four repeats.
RIGHT = {"random_forest": [0.5, 0.75, 0.5, 0.75], "gcforest": [0.875, 0.875, 1.0, 1.0], "official": [1.0] * 4}
#: Errors of a regression: the forests differ little.
ERRORS = {"random_forest": [2.0, 3.0, 4.0, 5.0], "gcforest": [2.5, 3.5, 4.5, 5.5], "official": [0.0, 0.0, 0.0, 0.0]}


def declare(suite, **changes):
    row = {"metrics": ["accuracy", "rmse"], "labels": LABELS, "datasets": [DIGITS, SHELLS], "options": OPTIONS}
    row |= {"repeats": 4, "marks": "best", "rank_columns": ["random_forest", "gcforest"]}
    suite.declare(NAME, "statistics", **row | changes)


def ran(suite, **changes):
    declare(suite, **changes)
    suite.summary(DIGITS, classes=10, raw_features=16, n_train=749)
    suite.summary(SHELLS, task="regression", classes=None, raw_features=8, n_train=400)
    for column in LABELS:
        suite.run(DIGITS, column, RIGHT[column])
        suite.run(SHELLS, column, ERRORS[column], metric="rmse")
    return suite


def test_errors_are_what_accuracy_leaves_or_the_rmse_with_the_published_ones_below_and_marks(suite):
    rows = ran(suite).rows(NAME)
    forest = rows[DIGITS, "random_forest", "", "error_rate"]
    assert (forest.mean, forest.n) == (0.375, 4)
    assert forest.std == pytest.approx(np.std(RIGHT["random_forest"], ddof=1))
    assert rows[DIGITS, "gcforest", "", "error_rate"].mean == 0.0625
    assert not any(key[0] == DIGITS and key[3] in ("accuracy", "rmse") for key in rows)
    assert suite.line(NAME, DIGITS) == ["10", "16", "749", "37.50 ± 14.43", "6.25 ± 7.22", "0.00 ± 0.00"]
    assert suite.line(NAME, SHELLS)[:4] == ["regression", "8", "400", "3.500 ± 1.291"]
    assert rows[SHELLS, "gcforest", "", "rmse"].mean == 4.0
    assert (rows[SHELLS, "", "", "classes"].mean, rows[SHELLS, "", "", "classes"].note) == (None, "regression")
    forests = ["2.9 ± 0.3", "2.6 ± 0.1", "not printed"]
    assert suite.line(NAME, DIGITS, kind="published") == ["10", "16", "749", *forests]
    forests = ["2.432 ± 0.026", "2.425 ± 0.041", "not printed"]
    assert suite.line(NAME, SHELLS, kind="published") == ["regression", "8", "417", *forests]
    (published,) = (row for row in suite.table(NAME).view.rows if row.labels == (DIGITS, "published"))
    assert [cell.mark for cell in published.cells[3:]] == ["worse", "best", ""]
    row = rows[SHELLS, "gcforest", "", "rmse"]
    assert (row.published, row.published_std) == (2.425, 0.041)
    # On the digits every error of RF is above every one of DF (p = 0.02); on the shells RF is a little better.
    # A deep forest that is worse is marked by nobody. Best are columns beside the paper's, too.
    rows = [row for row in suite.table(NAME).rows if row.model]
    assert {(row.dataset, row.model): row.mark for row in rows if row.mark} == {
        (DIGITS, "random_forest"): "worse",
        (DIGITS, "official"): "best",
        (SHELLS, "official"): "best",
    }
    assert [row.rank for row in rows if row.dataset == SHELLS] == [1, 2, None]
    assert "37.50 ± 14.43 •" in suite.table(NAME).files()[".md"]
    # Only RF is tested against, so that the official code is not called worse.
    for accuracies, marks in ((1.0, 0.5, 1.0), ["best", "", "best"]), ((0.5, 1.0, 0.5), ["worse", "best", ""]):
        for column, accuracy in zip(LABELS, accuracies, strict=True):
            suite.run(DIGITS, column, [accuracy] * 4)
        assert [suite.rows(NAME)[DIGITS, column, "", "error_rate"].mark for column in LABELS] == marks


def test_errors_are_compared_with_the_reference_below(suite):
    below = ran(suite, references=["random_forest"]).table(NAME).view.folded[0]
    assert below.title == "Differences: each model minus RF, with 95 % intervals"
    assert [(row.labels, row.cells[0].text) for row in below.rows] == [
        ((DIGITS, "test error (points)"), "−31.25 [−56.93, −5.57]"),
        ((SHELLS, "RMSE (unit of the target)"), "+0.5000 ± 0.0000, no interval"),
    ]
    row = suite.rows(NAME)[DIGITS, "gcforest", "against random_forest", "error_rate_difference"]
    assert row.mark == "win"


def test_a_data_set_that_is_absent_has_the_papers_numbers(suite):
    declare(suite, absent={SHELLS: "not on the mirror"})
    suite.summary(DIGITS)
    assert suite.line(NAME, SHELLS) == ["unavailable: not on the mirror"] * 6
    assert suite.line(NAME, SHELLS, kind="published")[3:] == ["2.432 ± 0.026", "2.425 ± 0.041", "not printed"]
    assert suite.line(NAME, DIGITS)[:3] == ["2", "4", "100"]
    assert {row.metric for row in suite.table(NAME).rows if row.dataset == SHELLS and row.model} == {"rmse"}


def test_another_error_is_a_drift_in_an_exact_suite(suite):
    ran(suite).stored()
    assert suite.drifts() == set()
    suite.run(DIGITS, "official", [1.0, 1.0, 1.0, 0.5])
    cell = f"{DIGITS} / official / error_rate"
    assert suite.drifts() == {(cell, "mean"), (cell, "std")}


def facts(suite, **changes):
    options = {"facts": {"rows": "rows", "raw_features": "features", "classes": "classes"}, "class_counts": True}
    suite.experiment("hidf-table1", render="statistics", options=options, labels={}, metrics=[], **changes)


def test_facts_are_compared_with_the_printed_ones_and_many_classes_summed_up(suite):
    facts(suite, datasets=["adult", "chf"], absent={"chf": "needs credentialed access"})
    suite.summary("adult", rows=48842, classes=3)
    lines = ['adult,,,rows,"48,842",,,,count', "adult,,,classes,2,,,,count", "chf,,,rows,9.809,,,,thousands"]
    suite.published("hidf-table1", lines)
    rows = suite.rows("hidf-table1")
    assert (rows["adult", "", "", "rows"].mean, rows["adult", "", "", "rows"].mark) == (48842, "")
    assert (rows["adult", "", "", "classes"].published, rows["adult", "", "", "classes"].mark) == (2, "differs")
    assert rows["adult", "", "class yes", "class_count"].mean == 50
    absent = rows["chf", "", "", "rows"]
    assert (absent.published, absent.note) == (9809, "needs credentialed access")
    text = suite.table("hidf-table1").files()[".md"]
    assert "| adult | reproduced | 48,842 | 4 | 3 ≠ | 100 / 50 |" in text
    assert "|  | published | 48,842 | *not printed* | 2 |" in text
    assert "| chf | reproduced | *unavailable: needs credentialed access* |" in text
    assert "≠: the measured number is not the published one." in suite.table("hidf-table1").view.notes
    facts(suite, datasets=["letter"])
    for letters, listed in ("ABCDEFG", "700 / 701 / 702 / 703 / 704 / 705 / 706"), ("ABCDEFGH", "700 to 707"):
        counts = {letter: 700 + k for k, letter in enumerate(letters)}
        suite.summary("letter", class_counts=counts, class_names=list(counts))
        assert suite.line("hidf-table1", "letter")[-1] == listed
    assert sum(row.metric == "class_count" for row in suite.table("hidf-table1").rows) == 8
