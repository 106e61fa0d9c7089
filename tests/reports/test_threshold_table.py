"""Thresholds compared: scores, who passes at once, where mutual information fell back, and ties that follow from it."""

import numpy as np
import pytest
from tests.reports.conftest import texts

NAME, DATA = "ddbf-threshold", "digits"
LABELS = {"ddbf_g": "DDBF-g", "ddbf_g_mi": "DDBF-g, MI", "ddbf_f": "DDBF-f", "ddbf_f_mi": "DDBF-f, MI"}
MEANS = {"ddbf_g_mi": "ddbf_g", "ddbf_f_mi": "ddbf_f"}
#: 200 training rows; 100 and 20 pass, the last iteration's 10 decide nothing.
REACHED = [[190, 10], [90, 10], [70, 10]]
EASY, FEW = [[100, 0], [20, 0], [10, 0]], [[30, 0], [5, 0], [5, 0]]
MEAN, OTHER = [(0.90, 0.95), (0.92, 0.97)], [(0.80, 0.85), (0.82, 0.87)]


def declare(suite, datasets=(DATA,), means=MEANS, **changes):
    given = {"metrics": ["accuracy", "roc_auc"], "datasets": list(datasets), "labels": LABELS, "extras": ["iterations"]}
    suite.experiment(NAME, render="threshold_table", marks="best", options={"means": means}, **given | changes)


def run(suite, column, scores, easy=(EASY, EASY), fell_back=([False] * 3,) * 2, splits=(7, 7)):
    """Two repeats: (accuracy, ROC AUC) of each, the rows that pass, and the iterations that fell back."""
    suite.summary(DATA)
    suite.run(DATA, column, [{"accuracy": a, "roc_auc": b} for a, b in scores], splits=list(splits))
    for repeat, (passed, fell) in enumerate(zip(easy, fell_back, strict=True)):
        arrays = {"class_counts_train": REACHED, "easy_counts_train": passed, "fell_back": fell}
        own = {name: np.array(values) for name, values in arrays.items()}
        suite.extra(DATA, column, "iterations", repeat, **own)


ALL = ([True] * 3,) * 2


@pytest.fixture
def shown(suite):
    """Gini falls back everywhere and is the mean; f1 does not in one iteration of one repeat."""
    declare(suite)
    run(suite, "ddbf_g", MEAN)
    run(suite, "ddbf_g_mi", MEAN, fell_back=ALL)
    run(suite, "ddbf_f", OTHER)
    run(suite, "ddbf_f_mi", OTHER, easy=(FEW, FEW), fell_back=([False, True, True], [True] * 3))
    return suite


def test_a_line_has_scores_rows_that_pass_at_once_and_fallbacks_of_which_one_more_is_a_drift(shown):
    view = shown.table(NAME).view
    assert view.heads[2:] == ("easy in iteration 1 (% of training rows)", "fell back to the mean")
    assert {row.labels[1]: texts(row) for row in view.rows} == {
        "DDBF-g": ["91.00 ± 1.41", "96.00 ± 1.41", "50.00 ± 0.00", "–"],
        "DDBF-g, MI": ["91.00 ± 1.41", "96.00 ± 1.41", "50.00 ± 0.00", "3 of 3 iterations"],
        "DDBF-f": ["81.00 ± 1.41", "86.00 ± 1.41", "50.00 ± 0.00", "–"],
        "DDBF-f, MI": ["81.00 ± 1.41", "86.00 ± 1.41", "15.00 ± 0.00", "2.5 of 3 iterations"],
    }
    assert {row.size for row in view.rows} == {"2 × 50"}
    rows = shown.rows(NAME)
    assert rows[DATA, "ddbf_f_mi", "", "fallbacks"].mean == 2.5
    assert rows[DATA, "ddbf_f_mi", "iteration 1", "train_pass_rate"].mean == pytest.approx(0.15)
    assert (DATA, "ddbf_f", "", "fallbacks") not in rows
    assert shown.stored().drifts() == set()
    run(shown, "ddbf_f_mi", OTHER, easy=(FEW, FEW), fell_back=ALL)
    assert (f"{DATA} / ddbf_f_mi / fallbacks", "mean") in shown.drifts()
    shown.extra(DATA, "ddbf_g", "iterations")
    shown.refuses(NAME, "models/ddbf_g: 'ddbf_g' has no iterations")


@pytest.mark.parametrize(
    ("change", "is_tie"),
    [
        ({}, True),
        ({"easy": ([*EASY[:2], [70, 10]],) * 2}, True),  # who is easy in the last iteration decides nothing
        ({"easy": (EASY, FEW)}, False),  # another division, by chance the same numbers
        ({"fell_back": ([True] * 3, [False] * 3)}, False),  # a repeat in which mutual information passed rows
        ({"scores": [MEAN[0], (0.92, 0.96)]}, False),
    ],
    ids=["same", "last iteration", "division", "no fallback", "number"],
)
def test_a_tie_has_no_mark_if_the_fallback_makes_it(shown, change, is_tie):
    run(shown, "ddbf_g_mi", **{"scores": MEAN, "fell_back": ALL} | change)
    table = shown.table(NAME)
    marks = {row.model: row.mark for row in table.rows if row.metric == "accuracy"}
    assert marks == {"ddbf_g": "best", "ddbf_g_mi": "" if is_tie else "best", "ddbf_f": "", "ddbf_f_mi": ""}
    notes = [note for note in table.view.notes if note.startswith("digits: DDBF-g, MI is DDBF-g in every repeat")]
    assert len(notes) == is_tie


def test_without_numbers_a_reason_stands(suite):
    declare(suite, [DATA, "credit_fraud"], absent={"credit_fraud": "not here"})
    for column in ("ddbf_g", "ddbf_f", "ddbf_f_mi"):
        run(suite, column, MEAN)
    suite.fail(DATA, "ddbf_g_mi")
    assert suite.line(NAME, "credit_fraud") == ["unavailable: not here"] * 4
    assert set(suite.line(NAME, DATA, "DDBF-g, MI")) == {"failed: MemoryError: no room"}
    assert suite.line(NAME, DATA, "DDBF-f, MI")[-1] == "0 of 3 iterations"


@pytest.mark.parametrize(("splits", "words"), [((7, 7), "share one split"), ((7, 8), "a split of its own")])
def test_notes_say_whether_repeats_share_splits(suite, splits, words):
    declare(suite)
    for column in LABELS:
        run(suite, column, MEAN, splits=splits)
    assert any(note.startswith(f"{DATA}: ") and words in note for note in suite.table(NAME).view.notes)
