"""Scores of each split, checked against numbers computed by hand and against the paper's table."""

import numpy as np
import pytest

from cascadeforest.data.splits import split_rows
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.numbers.splits import splits

NAME, FRAUD, SKIN = "ddbf-table2", "credit_fraud", "skin+imbalance-1-0.99326"
AUC, TIME = "ROC AUC (%)", "training time (CPU s)"


def declare(suite, n_repeats, datasets=(FRAUD,), **changes):
    labels, metrics = {"random_forest": "RF", "ddbf_f": "DDBF"}, ["roc_auc", "fit_cpu_seconds"]
    shown = {"labels": labels, "metrics": metrics, "datasets": list(datasets), "repeats": n_repeats}
    suite.declare(NAME, "scores", **{"marks": "best", "options": {"splits": 3}} | shown | changes)


def run(suite, dataset, model, seeds, areas, seconds=None):
    """Write a run; `seeds` are those of its repeats' splits."""
    seconds = seconds or [1.0] * len(areas)
    values = [{"roc_auc": area, "fit_cpu_seconds": time} for area, time in zip(areas, seconds, strict=True)]
    suite.run(dataset, model, values, splits=seeds)


SEEDS = [11, 11, 5, 5, 22, 22]  # they have no order


def ran(suite, **changes):
    declare(suite, 6, **changes)
    run(suite, FRAUD, "random_forest", SEEDS, [0.90, 0.92, 0.95, 0.95, 0.80, 0.90], [10, 12, 20, 20, 30, 30])
    run(suite, FRAUD, "ddbf_f", SEEDS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.88], [5, 5, 5, 5, 5, 5])
    return suite


def same(suite, dataset, seeds, **changes):
    """RF has AUCs of 0.7, 0.8, 0.9 in as many repeats as there are seeds, DDBF 0.8 in each."""
    declare(suite, len(seeds), [dataset], **changes)
    run(suite, dataset, "random_forest", seeds, [0.7, 0.8, 0.9][: len(seeds)])
    run(suite, dataset, "ddbf_f", seeds, [0.8] * len(seeds))
    return suite


def line(suite, dataset, split, metric=AUC, kind="reproduced"):
    return suite.line(NAME, dataset, split, metric, kind=kind)


def test_each_split_has_its_own_repeats_the_papers_numbers_below_and_a_best_area(suite):
    ran(suite)
    # |0.92 - 0.90| / sqrt(2) = 0.0141, |0.90 - 0.80| / sqrt(2) = 0.0707
    assert line(suite, FRAUD, "split 1") == ["91.00 ± 1.41", "93.00 ± 0.00"]
    assert line(suite, FRAUD, "split 2") == ["95.00 ± 0.00", "95.00 ± 1.41"]
    assert line(suite, FRAUD, "split 3") == ["85.00 ± 7.07", "88.00 ± 0.00"]
    assert line(suite, FRAUD, "split 1", TIME) == ["11.0 ± 1.4", "5.00 ± 0.00"]
    sizes = {row.labels[1]: row.size for row in suite.table(NAME).view.rows if row.labels[-1] == "reproduced"}
    assert sizes == {"split 1": "2 × 50", "split 2": "2 × 50", "split 3": "2 × 50", "all splits": "6 × 50"}
    # 0.9033 and 0.92; squared deviations add up to 0.015333 and 0.0054: sqrt(0.015333 / 5) = 0.0554, 0.0329.
    assert line(ran(suite), FRAUD, "all splits") == ["90.33 ± 5.54", "92.00 ± 3.29"]
    row = suite.rows(NAME)[FRAUD, "random_forest", "all splits", "roc_auc"]
    assert (row.mean, row.std, row.n) == (pytest.approx(5.42 / 6), pytest.approx(0.0553775, abs=1e-7), 6)
    # Printed: 0.9508, 0.9762 with 0.3050, 0.0293; 61.2 ± 1.4 and 97.4 ± 5.7 seconds.
    ran(suite)
    assert line(suite, FRAUD, "split 1", kind="published") == ["95.08 ± 0.3050", "97.62 ± 0.0293"]
    assert line(suite, FRAUD, "split 1", TIME, "published") == ["61.2 ± 1.4", "97.4 ± 5.7"]
    assert line(suite, FRAUD, "split 3", kind="published") == ["94.78 ± 0.2218", "97.30 ± 0.1117"]
    row = suite.rows(NAME)[FRAUD, "ddbf_f", "split 2", "roc_auc"]
    assert (row.published, row.published_std) == (0.9848, pytest.approx(0.000242))
    # (0.9508 + 0.9598 + 0.9478) / 3 = 0.95280, (0.9762 + 0.9848 + 0.9730) / 3 = 0.97800.
    assert line(ran(suite), FRAUD, "all splits", kind="published") == ["95.28", "97.80"]
    row = suite.rows(NAME)[FRAUD, "random_forest", "all splits", "roc_auc"]
    assert (row.published, row.published_std) == (pytest.approx(0.9528), None)
    suite.published(NAME, [f"{FRAUD},random_forest,split {k},roc_auc,0.9,,,,fraction" for k in (1, 2)])
    assert suite.rows(NAME)[FRAUD, "random_forest", "all splits", "roc_auc"].published is None  # of two in three
    # On split 2 both have 0.95; the time of DDBF is always the shorter one.
    rows = ran(suite).rows(NAME)
    areas = {key[1:3]: row for key, row in rows.items() if key[3] == "roc_auc"}
    marked = {key for key, row in areas.items() if row.mark == "best"}
    ours = {("ddbf_f", split) for split in ("split 1", "split 2", "split 3", "all splits")}
    assert marked == ours | {("random_forest", "split 2")}
    assert areas["ddbf_f", "split 2"].rank == 1.5
    assert {(row.mark, row.rank) for key, row in rows.items() if key[3] == "fit_cpu_seconds"} == {("", None)}


def test_repeats_are_grouped_as_the_protocol_deals_them_out(suite):
    """The seeds are those of the module that draws the splits: fifteen repeats are three splits of five."""
    protocol = {"kind": "holdout", "test_size": 0.35, "seed": "per_split", "splits": 3, "repeats": 15}
    y = np.arange(20) % 2
    seeds = [split_rows(protocol, y, repeat, dataset=FRAUD, task="classification").seed for repeat in range(15)]
    declare(suite, 15)
    run(suite, FRAUD, "random_forest", seeds, [0.9] * 15)
    results = read_results(suite.root, suite.name)
    found = splits(Cells(results.experiments[NAME], results), FRAUD)
    assert found == [list(range(5)), list(range(5, 10)), list(range(10, 15))]


def test_a_small_suite_shows_the_splits_that_it_has(suite):
    """Three of fifteen repeats are all of the first split."""
    same(suite, FRAUD, [11] * 3)
    assert line(suite, FRAUD, "split 1") == ["80.00 ± 10.00", "80.00 ± 0.00"]
    assert line(suite, FRAUD, "split 2") == ["unavailable: no repeats of it"] * 2
    assert line(suite, FRAUD, "split 2", kind="published") == ["95.98 ± 0.5299", "98.48 ± 0.0242"]
    # A mean over one split is none over all of them.
    assert line(suite, FRAUD, "all splits") == ["unavailable: repeats of one split"] * 2
    assert {row.n for row in suite.table(NAME).rows} == {3, None}
    assert line(same(suite, FRAUD, [11]), FRAUD, "split 1") == ["70.00", "80.00"]
    assert "split of its own" not in suite.notes(NAME)
    same(suite, FRAUD, [1, 2])
    assert line(suite, FRAUD, "split 1") == ["unavailable: one repeat a split"] * 2
    assert line(suite, FRAUD, "all splits") == ["75.00 ± 7.07", "80.00 ± 0.00"]


def test_a_split_for_each_repeat_gives_one_line_and_absent_data_the_papers(suite):
    table = same(suite, SKIN, [1, 2, 3]).table(NAME)
    assert {row.labels for row in table.view.rows} == {(SKIN, "all splits", AUC), (SKIN, "all splits", TIME)}
    assert [cell.text for cell in table.view.rows[0].cells] == ["80.00 ± 10.00", "80.00 ± 0.00"]
    assert {row.condition for row in table.rows} == {"all splits"}
    notes = " ".join(table.view.notes)
    assert f"{SKIN}: each repeat has a split of its own" in notes
    assert "Splits are numbered" not in notes  # nothing is said of splits that are not there
    same(suite, SKIN, [1, 2, 3])
    declare(suite, 3, [FRAUD, SKIN], absent={FRAUD: "not on the mirror; suite paper downloads it"})
    table = suite.table(NAME)
    assert set(suite.line(NAME, FRAUD, "all", "all")) == {"unavailable: not on the mirror; suite paper downloads it"}
    printed = [row.labels[1:3] for row in table.view.rows if row.kind == "published"]
    assert printed == [(split, m) for split in ("split 1", "split 2", "split 3", "all splits") for m in (AUC, TIME)]
    assert {row.status for row in table.rows if row.dataset == FRAUD} == {"unavailable"}


def test_the_model_of_most_repeats_tells_the_splits(suite):
    """The first one has two of three here."""
    declare(suite, 3, [SKIN], fewer_repeats={SKIN: {"random_forest": 2}})
    run(suite, SKIN, "random_forest", [1, 2], [0.7, 0.8])
    run(suite, SKIN, "ddbf_f", [1, 2, 3], [0.7, 0.8, 0.9])
    assert suite.line(NAME, SKIN, "all splits", AUC) == ["75.00 ± 7.07", "80.00 ± 10.00"]


@pytest.mark.parametrize(
    ("dataset", "seeds", "condition"),
    [(SKIN, [1], "all splits"), ("adult", [None, None], "split 1")],
    ids=["one repeat without published splits is not called the first", "one given split is not summed up"],
)
def test_one_split_has_one_condition(suite, dataset, seeds, condition):
    assert {row.condition for row in same(suite, dataset, seeds).table(NAME).rows} == {condition}


def test_the_check_finds_another_area_on_its_split_and_over_all_and_lets_times_go(suite):
    ran(suite).summary(FRAUD)
    suite.stored()
    assert suite.drifts() == set()
    times = [20, 24, 40, 40, 60, 60]  # a machine half as fast
    run(suite, FRAUD, "random_forest", SEEDS, [0.90, 0.92, 0.95, 0.95, 0.80, 0.90], times)
    run(suite, FRAUD, "ddbf_f", SEEDS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.88], [10] * 6)
    assert suite.drifts() == set()
    run(suite, FRAUD, "ddbf_f", SEEDS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.89], [10] * 6)
    assert {cell for cell, _ in suite.drifts()} == {
        f"{FRAUD} / ddbf_f / split 3 / roc_auc",
        f"{FRAUD} / ddbf_f / all splits / roc_auc",
    }
