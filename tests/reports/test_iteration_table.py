"""Time and pass rate by iteration: numbers, layout, and what is said where there is none."""

import numpy as np
import pytest

from cascadeforest.reports.numbers.frame import UNAVAILABLE

NAME, DATA = "ddbf-table5", "credit_fraud"
#: 200 training rows, of which 100, 20, 0 and 40 pass; 100 test rows, of which 50, 10, 1 and 39 are decided.
ARRAYS = {
    "is_valid": [True, True, False, False],
    "class_counts_train": [[190, 10], [90, 10], [70, 10], [70, 10]],
    "easy_counts_train": [[100, 0], [20, 0], [0, 0], [35, 5]],
    "class_counts_test": [[95, 5], [45, 5], [36, 4], [35, 4]],
    "easy_counts_test": [[50, 0], [9, 1], [1, 0], [30, 0]],
    "fit_cpu_seconds": [4.0, 1.0, 0.5, 0.25],
    "predict_cpu_seconds": [0.5, 0.25, 0.125, 0.0625],
}
COST = {"fit_cpu_seconds": 3.0, "predict_cpu_seconds": 0.75}
CONDITIONS = ["iteration 1", "iteration 2", "iteration 3", "all"]


def declare(suite, labels=("ddbf_f", "random_forest"), repeats=1, **changes):
    given = {"metrics": ["fit_cpu_seconds", "predict_cpu_seconds"], "datasets": [DATA], "repeats": repeats}
    given |= {"extras": ["iterations"]} | changes
    suite.experiment(NAME, render="iteration_table", labels={name: name for name in labels}, **given)


def run(suite, n_iterations=4):
    suite.summary(DATA)
    for model, saved in (("ddbf_f", ARRAYS), ("random_forest", {})):
        suite.run(DATA, model, [COST], n_test=100, splits=[1])
        suite.extra(DATA, model, "iterations", **{name: np.array(own[:n_iterations]) for name, own in saved.items()})


def means(suite, column, metric):
    rows = suite.rows(NAME)
    return [rows[DATA, column, condition, metric].mean for condition in CONDITIONS]


def test_rates_are_shares_of_all_rows_and_add_up_with_the_papers_numbers_below(shown):
    assert means(shown, "ddbf_f", "train_pass_rate") == [0.5, 0.1, 0.0, 0.6]
    assert means(shown, "ddbf_f", "test_pass_rate") == pytest.approx([0.5, 0.1, 0.01, 0.61])
    assert means(shown, "ddbf_f", "fit_cpu_seconds") == [4.0, 1.0, 0.5, 5.5]
    assert means(shown, "ddbf_f", "predict_cpu_seconds") == [0.5, 0.25, 0.125, 0.875]
    line = shown.line(NAME, DATA, "random_forest", "training time (CPU s)")
    assert line == ["no iterations"] * 3 + ["3.00"]
    rows = shown.rows(NAME)
    assert rows[DATA, "random_forest", "", "fit_cpu_seconds"].mean == 3.0
    assert not any(key[1] == "random_forest" and key[3].endswith("pass_rate") for key in rows)
    shown.as_printed(NAME)
    row = shown.rows(NAME)[DATA, "ddbf_f", "iteration 1", "train_pass_rate"]
    assert (row.mean, row.published) == (0.5, pytest.approx(0.9808))
    labels = (DATA, "ddbf_f", "pass rate, training (%)")
    assert shown.line(NAME, *labels) == ["50.00", "10.00", "0.00", "60.00"]
    assert shown.line(NAME, *labels, kind="published") == ["98.08", "0.16", "0.12", "98.36"]
    assert shown.line(NAME, DATA, "random_forest", "training time (CPU s)", kind="published")[-1] == "58.2"


def test_numbers_that_are_not_there_have_reasons(suite):
    declare(suite)
    run(suite, n_iterations=2)
    row = suite.rows(NAME)[DATA, "ddbf_f", "iteration 3", "train_pass_rate"]
    assert (row.mean, row.status, row.note) == (None, UNAVAILABLE, "ended before")
    assert means(suite, "ddbf_f", "train_pass_rate") == [0.5, 0.1, None, 0.6]
    assert "ended before" in suite.table(NAME).files()[".md"]
    # The forest's numbers too, which belong to no iteration; it has no pass rates here either.
    suite.lose(DATA, "random_forest")
    declare(suite, absent={DATA: "not on this machine"})
    suite.as_printed(NAME)
    assert suite.line(NAME, DATA) == ["unavailable: not on this machine"] * 4
    printed = [row for row in suite.table(NAME).view.rows if row.kind == "published"]
    assert len(printed) == 6
    assert {row.cells[-1].text for row in printed} >= {"58.2", "0.33", "98.31"}
    assert {cell.text for row in printed if row.labels[1] == "random_forest" for cell in row.cells[:-1]} == {""}
    row = suite.rows(NAME)[DATA, "random_forest", "", "fit_cpu_seconds"]
    assert (row.published, row.status, row.note) == (58.2, UNAVAILABLE, "not on this machine")
    suite.lose(DATA, "ddbf_f")
    declare(suite, missing_models={"random_forest": "not written yet"})
    labels = {tuple(row.labels[:2]) for row in suite.table(NAME).view.rows}
    assert labels == {(DATA, "ddbf_f"), (DATA, "random_forest")}


@pytest.mark.parametrize(
    ("splits", "words"),
    [([7, 7, 8, 8], "2 splits of 2 repeats"), ([7, 7], "share one split"), ([7, 8, 9], "a split of its own")],
)
def test_repeats_of_all_splits_count(suite, splits, words):
    declare(suite, ["ddbf_f"], len(splits))
    suite.summary(DATA)
    suite.run(DATA, "ddbf_f", [COST] * len(splits), n_test=100, splits=splits)
    for repeat in range(len(splits)):
        easy = np.array([[100 - 20 * repeat, 0], *ARRAYS["easy_counts_train"][1:]])
        arrays = {name: np.array(own) for name, own in ARRAYS.items()} | {"easy_counts_train": easy}
        suite.extra(DATA, "ddbf_f", "iterations", repeat, **arrays)
    row = suite.rows(NAME)[DATA, "ddbf_f", "iteration 1", "train_pass_rate"]
    rates = [0.5, 0.4, 0.3, 0.2][: len(splits)]
    assert (row.mean, row.n) == (pytest.approx(np.mean(rates)), len(rates))
    assert row.std == pytest.approx(np.std(rates, ddof=1))
    assert any(note.startswith(f"{DATA}: ") and words in note for note in suite.table(NAME).view.notes)
