"""Time and pass rate by iteration: numbers, layout, and what is said where there is none."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.results import read_results, read_stored
from cascadeforest.reports.table import make_table, write_table
from cascadeforest.reports.tidy import UNAVAILABLE

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "ddbf-table5.csv"
#: 200 training rows, of which 100, 20, 0 and 40 pass; 100 test rows, of which 50, 10, 1 and 39 are decided.
ARRAYS = {
    "is_valid": [True, True, False, True],
    "class_counts_train": [[190, 10], [90, 10], [70, 10], [70, 10]],
    "easy_counts_train": [[100, 0], [20, 0], [0, 0], [35, 5]],
    "class_counts_test": [[95, 5], [45, 5], [36, 4], [35, 4]],
    "easy_counts_test": [[50, 0], [9, 1], [1, 0], [30, 0]],
    "decided_counts_test": [[50, 0], [9, 1], [1, 0], [35, 4]],
    "fit_cpu_seconds": [4.0, 1.0, 0.5, 0.25],
    "predict_cpu_seconds": [0.5, 0.25, 0.125, 0.0625],
}


def declare(suite, datasets=("credit_fraud",), **changes):
    suite.experiment(
        "ddbf-table5",
        **{
            "render": "iteration_table",
            "title": "Time and pass rate per iteration of DDBF",
            "metrics": ["fit_cpu_seconds", "predict_cpu_seconds"],
            "datasets": list(datasets),
            "columns": {"ddbf_f": "ddbf_f_all", "random_forest": "rf"},
            "labels": {"ddbf_f": "DDBF-f", "random_forest": "RF"},
            "libraries": {"ddbf_f": [], "random_forest": []},
            "extras": ["iterations"],
            "repeats": dict.fromkeys(datasets, 1),
            "options": {"iterations": 3},
        }
        | changes,
    )


def run(suite, dataset="credit_fraud", arrays=ARRAYS):
    suite.summary(dataset)
    for model, saved in (("ddbf_f_all", {k: np.array(v) for k, v in arrays.items()}), ("rf", {})):
        cost = {"fit_cpu_seconds": 3.0, "predict_cpu_seconds": 0.75}
        suite.run(dataset, model, [cost], n_test=100, seeds={"split": 1, "model": 2})
        suite.extra(dataset, model, "iterations", **saved)


def table(suite):
    return make_table("ddbf-table5", read_results(suite.root, suite.name))


def rows_of(made):
    return {row.key[1:]: row for row in made.rows}


@pytest.fixture
def shown(suite):
    declare(suite)
    run(suite)
    return suite


def test_rates_are_shares_of_all_rows_and_add_up(shown):
    rows = rows_of(table(shown))
    names = ["iteration 1", "iteration 2", "iteration 3", "all"]
    assert [rows["ddbf_f", name, "train_pass_rate"].mean for name in names] == [0.5, 0.1, 0.0, 0.6]
    found = [rows["ddbf_f", name, "test_pass_rate"].mean for name in names]
    assert found == pytest.approx([0.5, 0.1, 0.01, 0.61])
    assert [rows["ddbf_f", name, "fit_cpu_seconds"].mean for name in names] == [4.0, 1.0, 0.5, 5.5]
    assert [rows["ddbf_f", name, "predict_cpu_seconds"].mean for name in names] == [0.5, 0.25, 0.125, 0.875]


def test_a_model_without_iterations_has_its_times_in_the_last_column(shown):
    made = table(shown)
    line = next(row for row in made.view.rows if row.labels[1] == "RF" and "training" in row.labels[2])
    assert [cell.text for cell in line.cells] == ["no iterations"] * 3 + ["3.00"]
    assert rows_of(made)["random_forest", "", "fit_cpu_seconds"].mean == 3.0
    assert not any(key[0] == "random_forest" and key[2].endswith("pass_rate") for key in rows_of(made))


def test_annulled_divisions_are_counted(shown):
    assert any("DDBF-f: 1 of the divisions shown were annulled" in note for note in table(shown).view.notes)
    assert not any("RF" in note and "annulled" in note for note in table(shown).view.notes)


def test_the_papers_numbers_stand_below(shown):
    shutil.copy(PUBLISHED, shown.root / "reports" / "published")
    made = table(shown)
    row = rows_of(made)["ddbf_f", "iteration 1", "train_pass_rate"]
    assert (row.mean, row.published) == (0.5, pytest.approx(0.9808))
    lines = [row for row in made.view.rows if row.labels[2].startswith("pass rate, training")]
    assert [cell.text for cell in lines[0].cells] == ["50.00", "10.00", "0.00", "60.00"]
    assert [cell.text for cell in lines[1].cells] == ["98.08", "0.16", "0.12", "98.36"]
    forest = [row for row in made.view.rows if row.labels[1] == "RF" and row.labels[-1] == "published"]
    assert [cell.text for cell in forest[0].cells] == ["not printed"] * 3 + ["58.2"]


def test_iterations_that_were_not_run_are_words(suite):
    declare(suite)
    run(suite, arrays={name: values[:2] for name, values in ARRAYS.items()})
    made = table(suite)
    row = rows_of(made)["ddbf_f", "iteration 3", "train_pass_rate"]
    assert (row.mean, row.status, row.note) == (None, UNAVAILABLE, "ended before")
    assert rows_of(made)["ddbf_f", "all", "train_pass_rate"].mean == 0.6
    assert "ended before" in made.files()[".md"]


def many(suite, seeds):
    """Several repeats, which differ in their last iteration's rate."""
    declare(suite, repeats={"credit_fraud": len(seeds)}, columns={"ddbf_f": "ddbf_f_all"})
    suite.summary("credit_fraud")
    cost = {"fit_cpu_seconds": 3.0, "predict_cpu_seconds": 0.75}
    suite.run("credit_fraud", "ddbf_f_all", [cost] * len(seeds), n_test=100)
    path = suite.folder / "runs" / "credit_fraud" / "ddbf_f_all.json"
    suite.extra("credit_fraud", "ddbf_f_all", "iterations", **{k: np.array(v) for k, v in ARRAYS.items()})
    run = json.loads(path.read_text())
    for repeat, (cell, seed) in enumerate(zip(run["cells"], seeds, strict=True)):
        cell["seeds"] = {"split": seed, "model": repeat}
        arrays = {k: np.array(v) for k, v in ARRAYS.items()}
        arrays["easy_counts_train"][0, 0] = 100 - 20 * repeat
        name = f"ab/repeat{repeat}.npz"
        cell["extras"] = {"iterations": name}
        np.savez_compressed(suite.root / "results" / "cells" / name, **arrays)
    path.write_text(json.dumps(run))
    return table(suite)


def test_repeats_of_all_splits_count(suite):
    made = many(suite, [7, 7, 8, 8])
    row = rows_of(made)["ddbf_f", "iteration 1", "train_pass_rate"]
    assert (row.mean, row.n) == (pytest.approx(0.35), 4)
    assert row.std == pytest.approx(np.std([0.5, 0.4, 0.3, 0.2], ddof=1))
    (note,) = (note for note in made.view.notes if note.startswith("credit_fraud: 2 splits of 2 repeats each"))
    assert note.endswith("The paper's numbers are of one split.")


def test_repeats_of_one_split_are_said_to_be_that(suite):
    made = many(suite, [7, 7])
    assert rows_of(made)["ddbf_f", "iteration 1", "train_pass_rate"].n == 2
    assert any("credit_fraud: the repeats share one split" in note for note in made.view.notes)


def test_repeats_with_splits_of_their_own_all_count(suite):
    made = many(suite, [7, 8, 9])
    row = rows_of(made)["ddbf_f", "iteration 1", "train_pass_rate"]
    assert (row.mean, row.n) == (pytest.approx(0.4), 3)
    assert any("credit_fraud: each repeat has a split of its own" in note for note in made.view.notes)


def test_a_set_that_is_not_there_says_why(suite):
    declare(suite, absent={"credit_fraud": "not on this machine"})
    made = table(suite)
    assert {(row.status, row.note) for row in made.rows} == {(UNAVAILABLE, "not on this machine")}
    assert "not on this machine" in made.files()[".md"]


def test_one_line_says_why_no_model_has_numbers_and_the_papers_stay(suite):
    """RF's too, which are of no iteration; it has no pass rates here either."""
    declare(suite, absent={"credit_fraud": "not on this machine"})
    shutil.copy(PUBLISHED, suite.root / "reports" / "published")
    made = table(suite)
    lines = [(row.labels, [cell.text for cell in row.cells]) for row in made.view.rows]
    words = ["unavailable: not on this machine", *["unavailable"] * 3]
    assert [line for line in lines if line[0][-1] == "reproduced"] == [
        (("credit_fraud", "all", "all", "reproduced"), words)
    ]
    printed = {(labels[1], labels[2]): texts for labels, texts in lines if labels[-1] == "published"}
    assert printed["RF", "training time (CPU s)"] == ["not printed"] * 3 + ["58.2"]
    assert printed["RF", "test time (CPU s)"] == ["not printed"] * 3 + ["0.33"]
    assert printed["DDBF-f", "pass rate, test (%)"] == ["98.05", "0.15", "0.11", "98.31"]
    assert len(printed) == 6
    row = rows_of(made)["random_forest", "", "fit_cpu_seconds"]
    assert (row.published, row.status) == (58.2, UNAVAILABLE)


def test_models_that_lack_numbers_for_other_reasons_each_say_so(suite):
    declare(suite, missing_models={"random_forest": "not written yet"})
    assert {tuple(row.labels[:2]) for row in table(suite).view.rows} == {
        ("credit_fraud", "DDBF-f"), ("credit_fraud", "RF")
    }  # fmt: skip


def test_a_run_that_is_missing_is_no_table_of_nothing(suite):
    declare(suite)
    assert {row.note for row in table(suite).rows} == {"not run"}


def test_lost_arrays_are_named(shown):
    (shown.root / "results" / "cells" / "ab" / "credit_fraud-ddbf_f_all.iterations.npz").unlink()
    with pytest.raises(UserError, match="no such file"):
        table(shown)


@pytest.mark.parametrize("value", [0, "three", 2.5])
def test_a_wrong_number_of_iterations_is_named(suite, value):
    declare(suite, options={"iterations": value})
    with pytest.raises(ConfigError, match="ddbf-table5/options/iterations is"):
        table(suite)


def test_the_same_results_give_the_same_bytes(shown):
    assert table(shown).files() == table(shown).files()


def test_arrays_that_a_table_shows_are_stored_with_it(shown):
    """Not those of figures only: a clean checkout draws the table again, and the check needs to."""
    results = read_results(shown.root, shown.name)
    write_table("ddbf-table5", make_table("ddbf-table5", results).files(), shown.folder / "tables")
    stored = accept(shown.root, shown.name, "first numbers")
    assert sorted(path.name for path in (stored / "extras" / "ab").iterdir()) == [
        "credit_fraud-ddbf_f_all.iterations.npz",
        "credit_fraud-rf.iterations.npz",
    ]
    shutil.rmtree(shown.root / "results")
    drawn = make_table("ddbf-table5", read_stored(shown.root, shown.name))
    assert {name: (stored / "tables" / f"ddbf-table5{name}").read_text() for name in drawn.files()} == drawn.files()
