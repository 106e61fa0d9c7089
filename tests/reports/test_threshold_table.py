"""Thresholds compared: scores, who passes at once, where mutual information fell back, and ties that follow from it."""

import json

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.accept import accept
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

LABELS = {"ddbf_g": "DDBF-g", "ddbf_g_mi": "DDBF-g, MI", "ddbf_f": "DDBF-f", "ddbf_f_mi": "DDBF-f, MI"}
MEANS = {"ddbf_g_mi": "ddbf_g", "ddbf_f_mi": "ddbf_f"}
DATA = "digits"
#: 200 training rows; 100 and 20 pass, the last iteration's 10 decide nothing.
REACHED = [[190, 10], [90, 10], [70, 10]]
EASY = [[100, 0], [20, 0], [10, 0]]


def declare(suite, datasets=(DATA,), **changes):
    suite.experiment(
        "ddbf-threshold",
        **{
            "render": "threshold_table",
            "title": "Mean against mutual information",
            "metrics": ["accuracy", "roc_auc"],
            "datasets": list(datasets),
            "columns": {name: f"{name}_all" for name in LABELS},
            "labels": LABELS,
            "libraries": {name: [] for name in LABELS},
            "extras": ["iterations"],
            "marks": "best",
            "options": {"means": MEANS},
        }
        | changes,
    )


def run(suite, column, scores, easy=(EASY, EASY), fell_back=(False, False), dataset=DATA, splits=(7, 7)):
    """Two repeats: (accuracy, ROC AUC) of each, the rows that pass, and whether all iterations fell back."""
    suite.summary(dataset)
    model = f"{column}_all"
    suite.run(dataset, model, [{"accuracy": a, "roc_auc": b} for a, b in scores])
    path = suite.folder / "runs" / dataset / f"{model}.json"
    content = json.loads(path.read_text())
    (suite.root / "results" / "cells" / "ab").mkdir(parents=True, exist_ok=True)
    for cell, passed, fell in zip(content["cells"], easy, fell_back, strict=True):
        name = f"ab/{dataset}-{model}-{cell['repeat']}.npz"
        cell["extras"] = {"iterations": name}
        cell["seeds"] = {"split": splits[cell["repeat"]], "model": cell["repeat"]}
        np.savez_compressed(
            suite.root / "results" / "cells" / name,
            class_counts_train=np.array(REACHED),
            easy_counts_train=np.array(passed),
            fell_back=np.full(len(passed), fell) if np.ndim(fell) == 0 else np.array(fell),
        )
    path.write_text(json.dumps(content))


MEAN, OTHER = [(0.90, 0.95), (0.92, 0.97)], [(0.80, 0.85), (0.82, 0.87)]
FEW = [[30, 0], [5, 0], [5, 0]]


@pytest.fixture
def shown(suite):
    """Gini falls back everywhere and is the mean; f1 does in one iteration of one repeat."""
    declare(suite)
    run(suite, "ddbf_g", MEAN)
    run(suite, "ddbf_g_mi", MEAN, fell_back=(True, True))
    run(suite, "ddbf_f", OTHER)
    run(suite, "ddbf_f_mi", OTHER, easy=(FEW, FEW), fell_back=([False, True, True], [True, True, True]))
    return suite


def table(suite):
    return make_table("ddbf-threshold", read_results(suite.root, suite.name))


def lines(made):
    return {row.labels[1]: [cell.text for cell in row.cells] for row in made.view.rows}


def notes(made, words):
    return [note for note in made.view.notes if words in note]


def test_a_line_has_scores_rows_that_pass_at_once_and_fallbacks(shown):
    made = table(shown)
    assert made.view.heads[2:] == ("easy in iteration 1 (% of training rows)", "fell back to the mean")
    assert lines(made) == {
        "DDBF-g": ["91.00 ± 1.41", "96.00 ± 1.41", "50.00 ± 0.00", "–"],
        "DDBF-g, MI": ["91.00 ± 1.41", "96.00 ± 1.41", "50.00 ± 0.00", "3 of 3 iterations"],
        "DDBF-f": ["81.00 ± 1.41", "86.00 ± 1.41", "50.00 ± 0.00", "–"],
        "DDBF-f, MI": ["81.00 ± 1.41", "86.00 ± 1.41", "15.00 ± 0.00", "2.5 of 3 iterations"],
    }
    assert {row.size for row in made.view.rows} == {"2 × 50"}
    rows = {row.key[1:]: row for row in made.rows}
    assert rows["ddbf_f_mi", "", "fallbacks"].mean == 2.5
    assert rows["ddbf_f_mi", "iteration 1", "train_pass_rate"].mean == pytest.approx(0.15)
    assert ("ddbf_f", "", "fallbacks") not in rows


def test_the_fallbacks_tie_has_no_mark_and_is_explained(shown):
    made = table(shown)
    marks = {row.model: row.mark for row in made.rows if row.metric == "accuracy"}
    assert marks == {"ddbf_g": "best", "ddbf_g_mi": "", "ddbf_f": "", "ddbf_f_mi": ""}
    (note,) = notes(made, "fell back to the mean wherever")
    assert note.startswith("digits: DDBF-g, MI is DDBF-g in every repeat")


@pytest.mark.parametrize(
    ("change", "is_tie"),
    [
        ({}, True),
        ({"easy": ([*EASY[:2], [70, 10]],) * 2}, True),  # who is easy in the last iteration decides nothing
        ({"easy": (EASY, FEW)}, False),  # another division, by chance the same numbers
        ({"fell_back": (True, False)}, False),  # a repeat in which mutual information passed rows
        ({"scores": [MEAN[0], (0.92, 0.96)]}, False),
    ],
    ids=["same", "last iteration", "division", "no fallback", "number"],
)
def test_a_tie_is_one_only_if_the_fallback_makes_it(shown, change, is_tie):
    run(shown, "ddbf_g_mi", **{"scores": MEAN, "fell_back": (True, True)} | change)
    made = table(shown)
    marks = {row.model: row.mark for row in made.rows if row.metric == "accuracy"}
    assert (marks["ddbf_g_mi"] == "") == is_tie
    assert bool(notes(made, "fell back to the mean wherever")) == is_tie


def test_without_numbers_a_reason_stands(suite):
    declare(suite, [DATA, "credit_fraud"], absent={"credit_fraud": "not here"})
    for column in ("ddbf_g", "ddbf_f", "ddbf_f_mi"):
        run(suite, column, MEAN)
    suite.fail(DATA, "ddbf_g_mi_all", "MemoryError", "no room")
    made = table(suite)
    (absent,) = (row for row in made.view.rows if row.labels[0] == "credit_fraud")
    assert absent.labels[1] == "all models"
    assert {cell.text for cell in absent.cells} == {"unavailable: not here"}
    assert set(lines(made)["DDBF-g, MI"]) == {"failed: MemoryError: no room"}
    assert lines(made)["DDBF-f, MI"][-1] == "0 of 3 iterations"


def test_what_cannot_be_compared_is_refused(shown):
    declare(shown, options={"means": {"ddbf_g_mi": "svm"}})
    with pytest.raises(ConfigError, match="ddbf-threshold/options/means: 'svm' is no column; choose from ddbf_g,"):
        table(shown)
    declare(shown)
    shown.extra(DATA, "ddbf_g_all", "iterations")
    with pytest.raises(ConfigError, match="models/ddbf_g: 'ddbf_g_all' has no iterations"):
        table(shown)
    (shown.root / "results" / "cells" / "ab" / f"{DATA}-ddbf_f_all-1.npz").unlink()
    run(shown, "ddbf_g", MEAN)
    with pytest.raises(UserError, match="no such file; the cell of ddbf_f_all"):
        table(shown)


def test_a_stored_table_is_checked_and_one_more_fallback_is_a_drift(shown):
    def write():
        made = make_table("ddbf-threshold", read_results(shown.root, shown.name))
        write_table("ddbf-threshold", made.files(), shown.folder / "tables")

    write()
    accept(shown.root, shown.name, "first numbers")
    assert not any(finding.is_drift for finding in check(shown.root, shown.name).findings)
    run(shown, "ddbf_f_mi", OTHER, easy=(FEW, FEW), fell_back=(True, True))
    write()
    moved = {finding.cell for finding in check(shown.root, shown.name).findings if finding.is_drift}
    assert f"{DATA} / ddbf_f_mi / fallbacks" in moved


@pytest.mark.parametrize(
    ("splits", "words"),
    [((7, 7), "the repeats share one split and differ in the seed of the model only"), ((7, 8), "a split of its own")],
)
def test_what_the_deviation_is_about_is_said(suite, splits, words):
    declare(suite)
    for column in LABELS:
        run(suite, column, [(0.5, 0.6), (0.7, 0.8)], splits=splits)
    made = make_table("ddbf-threshold", read_results(suite.root, suite.name))
    assert [note for note in made.view.notes if note.startswith(f"{DATA}: ") and words in note]
