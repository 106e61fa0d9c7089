"""Scores of each split, checked against numbers computed by hand and against the paper's table."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.splits import split_rows
from cascadeforest.reports.accept import accept
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.rendering import to_html, to_latex, to_markdown
from cascadeforest.reports.results import read_results
from cascadeforest.reports.split_groups import split_groups
from cascadeforest.reports.table import make_table, write_table

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
NAME, FRAUD, SKIN = "ddbf-table2", "credit_fraud", "skin+imbalance-1-0.99326"
AUC, TIME = "ROC AUC (%)", "training time (CPU s)"


def declare(suite, n_repeats, datasets=(FRAUD,), **changes):
    """The paper's table, with two of its models."""
    row = {
        "render": "scores_by_split",
        "metrics": ["roc_auc", "fit_cpu_seconds"],
        "columns": {"random_forest": "rf", "ddbf_f": "ddbf"},
        "labels": {"random_forest": "RF", "ddbf_f": "DDBF"},
        "libraries": {"random_forest": [], "ddbf_f": []},
        "datasets": list(datasets),
        "repeats": dict.fromkeys(datasets, n_repeats),
        "marks": "best",
        "options": {"splits": 3},
    }
    suite.experiment(NAME, **(row | changes))
    shutil.copy(PUBLISHED / f"{NAME}.csv", suite.root / "reports" / "published")


def run(suite, dataset, model, splits, areas, seconds=None):
    """Write a run; `splits` are the seeds of its repeats' splits."""
    seconds = seconds or [1.0] * len(areas)
    values = [{"roc_auc": area, "fit_cpu_seconds": time} for area, time in zip(areas, seconds, strict=True)]
    suite.run(dataset, model, values)
    path = suite.folder / "runs" / dataset / f"{model}.json"
    content = json.loads(path.read_text())
    for cell, seed in zip(content["cells"], splits, strict=True):
        cell["seeds"] = {"model": 1, "split": seed}
    path.write_text(json.dumps(content))


SPLITS = [11, 11, 5, 5, 22, 22]  # seeds have no order


def ran(suite, **changes):
    """Three splits of two repeats."""
    declare(suite, 6, **changes)
    run(suite, FRAUD, "rf", SPLITS, [0.90, 0.92, 0.95, 0.95, 0.80, 0.90], [10, 12, 20, 20, 30, 30])
    run(suite, FRAUD, "ddbf", SPLITS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.88], [5, 5, 5, 5, 5, 5])
    return suite


def table_of(suite):
    return make_table(NAME, read_results(suite.root, suite.name))


def lines(view, *labels):
    """Lines whose first labels are these: source to texts."""
    return {row.labels[-1]: [c.text for c in row.cells] for row in view.rows if row.labels[: len(labels)] == labels}


def test_each_split_has_the_mean_and_deviation_of_its_own_repeats(suite):
    view = table_of(ran(suite)).view
    # |0.92 - 0.90| / sqrt(2) = 0.0141, |0.90 - 0.80| / sqrt(2) = 0.0707
    assert lines(view, FRAUD, "split 1", AUC)["reproduced"] == ["91.00 ± 1.41", "93.00 ± 0.00"]
    assert lines(view, FRAUD, "split 2", AUC)["reproduced"] == ["95.00 ± 0.00", "95.00 ± 1.41"]
    assert lines(view, FRAUD, "split 3", AUC)["reproduced"] == ["85.00 ± 7.07", "88.00 ± 0.00"]
    assert lines(view, FRAUD, "split 1", TIME)["reproduced"] == ["11.0 ± 1.4", "5.00 ± 0.00"]


def test_all_splits_are_all_repeats(suite):
    """0.9033 and 0.92; squared deviations add up to 0.015333 and 0.0054: sqrt(0.015333 / 5) = 0.0554, 0.0329."""
    table = table_of(ran(suite))
    assert lines(table.view, FRAUD, "all splits", AUC)["reproduced"] == ["90.33 ± 5.54", "92.00 ± 3.29"]
    row = next(row for row in table.rows if row.key == (FRAUD, "random_forest", "all splits", "roc_auc"))
    assert (row.mean, row.std, row.n) == (pytest.approx(5.42 / 6), pytest.approx(0.0553775, abs=1e-7), 6)


def test_the_last_column_counts_the_repeats_of_a_split(suite):
    sizes = {row.labels[1]: row.size for row in table_of(ran(suite)).view.rows if row.labels[-1] == "reproduced"}
    assert sizes == {"split 1": "2 × 50", "split 2": "2 × 50", "split 3": "2 × 50", "all splits": "6 × 50"}


def test_the_best_area_of_a_split_is_marked_and_no_time(suite):
    """On split 2 both have 0.95; the time of DDBF is always the shorter one."""
    rows = {row.key[1:]: row for row in table_of(ran(suite)).rows}
    marks = {key[:2]: row.mark for key, row in rows.items() if key[2] == "roc_auc"}
    assert marks == {
        ("random_forest", "split 1"): "",
        ("random_forest", "split 2"): "best",
        ("random_forest", "split 3"): "",
        ("random_forest", "all splits"): "",
        ("ddbf_f", "split 1"): "best",
        ("ddbf_f", "split 2"): "best",
        ("ddbf_f", "split 3"): "best",
        ("ddbf_f", "all splits"): "best",
    }
    assert rows["ddbf_f", "split 2", "roc_auc"].rank == 1.5
    assert {(row.mark, row.rank) for key, row in rows.items() if key[2] == "fit_cpu_seconds"} == {("", None)}


def test_the_papers_numbers_stand_below_with_their_digits_in_percent(suite):
    """Printed: 0.9508, 0.9762 with 0.3050, 0.0293; 61.2 ± 1.4 and 97.4 ± 5.7 seconds."""
    table = table_of(ran(suite))
    assert lines(table.view, FRAUD, "split 1", AUC)["published"] == ["95.08 ± 0.3050", "97.62 ± 0.0293"]
    assert lines(table.view, FRAUD, "split 1", TIME)["published"] == ["61.2 ± 1.4", "97.4 ± 5.7"]
    assert lines(table.view, FRAUD, "split 3", AUC)["published"] == ["94.78 ± 0.2218", "97.30 ± 0.1117"]
    row = next(row for row in table.rows if row.key == (FRAUD, "ddbf_f", "split 2", "roc_auc"))
    assert (row.published, row.published_std) == (0.9848, pytest.approx(0.000242))
    notes = " ".join(table.view.notes)
    assert "ROC AUC as a fraction and its deviation in percent points" in notes
    assert "does not say which seconds its training time is in" in notes


def test_over_all_splits_the_papers_means_are_averaged_without_a_deviation(suite):
    """(0.9508 + 0.9598 + 0.9478) / 3 = 0.95280, (0.9762 + 0.9848 + 0.9730) / 3 = 0.97800."""
    table = table_of(ran(suite))
    assert lines(table.view, FRAUD, "all splits", AUC)["published"] == ["95.28", "97.80"]
    row = next(row for row in table.rows if row.key == (FRAUD, "random_forest", "all splits", "roc_auc"))
    assert (row.published, row.published_std) == (pytest.approx(0.9528), None)
    assert "Published, all splits: the mean of the printed means" in " ".join(table.view.notes)


def test_a_column_that_the_paper_does_not_have_is_said_so(suite):
    columns, labels = {"random_forest": "rf", "median": "ddbf"}, {"random_forest": "RF", "median": "DDBF, median"}
    view = table_of(ran(suite, columns=columns, labels=labels)).view
    assert lines(view, FRAUD, "split 1", AUC)["published"] == ["95.08 ± 0.3050", "not printed"]
    assert lines(view, FRAUD, "all splits", AUC)["published"] == ["95.28", "not printed"]


def test_repeats_are_grouped_as_the_protocol_deals_them_out(suite):
    """The seeds are those of the module that draws the splits: fifteen repeats are three splits of five."""
    protocol = {"kind": "holdout", "test_size": 0.35, "seed": "per_split", "splits": 3, "repeats": 15}
    y = np.arange(20) % 2
    seeds = [split_rows(protocol, y, repeat, dataset=FRAUD, task="classification").seed for repeat in range(15)]
    declare(suite, 15)
    run(suite, FRAUD, "rf", seeds, [0.9] * 15)
    results = read_results(suite.root, suite.name)
    groups = split_groups(results.experiment(NAME), results, FRAUD).groups
    assert groups == (tuple(range(5)), tuple(range(5, 10)), tuple(range(10, 15)))


def test_a_small_suite_shows_the_splits_that_it_has(suite):
    """Three of fifteen repeats are all of the first split."""
    declare(suite, 3)
    run(suite, FRAUD, "rf", [11] * 3, [0.7, 0.8, 0.9])
    run(suite, FRAUD, "ddbf", [11] * 3, [0.8, 0.8, 0.8])
    table = table_of(suite)
    assert lines(table.view, FRAUD, "split 1", AUC)["reproduced"] == ["80.00 ± 10.00", "80.00 ± 0.00"]
    assert lines(table.view, FRAUD, "split 2", AUC) == {
        "reproduced": ["unavailable: no repeats of it"] * 2,
        "published": ["95.98 ± 0.5299", "98.48 ± 0.0242"],
    }
    # A mean over one split is none over all of them.
    assert lines(table.view, FRAUD, "all splits", AUC)["reproduced"] == ["unavailable: repeats of one split"] * 2
    assert {row.n for row in table.rows} == {3, None}


def test_the_only_repeat_is_of_the_first_split(suite):
    declare(suite, 1)
    run(suite, FRAUD, "rf", [11], [0.9])
    run(suite, FRAUD, "ddbf", [11], [0.8])
    assert lines(table_of(suite).view, FRAUD, "split 1", AUC)["reproduced"] == ["90.00", "80.00"]


def test_a_split_for_each_repeat_gives_one_line_over_all_of_them(suite):
    declare(suite, 3, [SKIN])
    run(suite, SKIN, "rf", [1, 2, 3], [0.7, 0.8, 0.9], [1, 2, 3])
    run(suite, SKIN, "ddbf", [1, 2, 3], [0.8, 0.8, 0.8])
    table = table_of(suite)
    assert {row.labels for row in table.view.rows} == {(SKIN, "all splits", AUC), (SKIN, "all splits", TIME)}
    assert [cell.text for cell in table.view.rows[0].cells] == ["80.00 ± 10.00", "80.00 ± 0.00"]
    assert {row.condition for row in table.rows} == {"all splits"}
    notes = " ".join(table.view.notes)
    assert f"{SKIN}: each repeat has a split of its own" in notes
    # Nothing is said of splits that are not there.
    assert "Splits are numbered" not in notes
    assert "have the number in common" not in notes


def test_one_repeat_of_a_data_set_without_published_splits_is_not_called_the_first(suite):
    declare(suite, 1, [SKIN])
    run(suite, SKIN, "rf", [1], [0.7])
    run(suite, SKIN, "ddbf", [1], [0.8])
    table = table_of(suite)
    assert {row.labels[1] for row in table.view.rows} == {"all splits"}
    assert f"{SKIN}: one repeat, and so one split." in table.view.notes


def test_one_split_of_several_repeats_is_not_summed_up(suite):
    """A given split has no seed."""
    declare(suite, 2, ["adult"])
    run(suite, "adult", "rf", [None, None], [0.7, 0.8])
    run(suite, "adult", "ddbf", [None, None], [0.8, 0.8])
    assert {row.condition for row in table_of(suite).rows} == {"split 1"}


def test_own_splits_are_none_of_the_papers(suite):
    declare(suite, 2)
    run(suite, FRAUD, "rf", [1, 2], [0.7, 0.8])
    run(suite, FRAUD, "ddbf", [1, 2], [0.8, 0.8])
    view = table_of(suite).view
    assert lines(view, FRAUD, "split 1", AUC)["reproduced"] == ["unavailable: one repeat a split"] * 2
    assert lines(view, FRAUD, "all splits", AUC)["reproduced"] == ["75.00 ± 7.07", "80.00 ± 0.00"]


def test_an_absent_data_set_has_its_reason_once_and_the_papers_lines(suite):
    declare(suite, 3, [FRAUD, SKIN], absent={FRAUD: "not on the mirror; suite paper downloads it"})
    run(suite, SKIN, "rf", [1, 2, 3], [0.7, 0.8, 0.9])
    run(suite, SKIN, "ddbf", [1, 2, 3], [0.8, 0.8, 0.8])
    table = table_of(suite)
    ours = [row for row in table.view.rows if row.labels[0] == FRAUD and row.labels[-1] == "reproduced"]
    assert [row.labels for row in ours] == [(FRAUD, "all", "all", "reproduced")]
    assert {cell.text for cell in ours[0].cells} == {"unavailable: not on the mirror; suite paper downloads it"}
    printed = [row.labels[1:3] for row in table.view.rows if row.labels[-1] == "published"]
    assert printed == [
        (f"{split}", m) for split in ("split 1", "split 2", "split 3", "all splits") for m in (AUC, TIME)
    ]
    assert {row.status for row in table.rows if row.dataset == FRAUD} == {"unavailable"}


def test_failed_and_missing_models_have_words_and_the_others_their_numbers(suite):
    columns = {"sndf": "sndf", "random_forest": "rf", "ddbf_f": "ddbf"}
    labels = {"sndf": "sNDF", "random_forest": "RF", "ddbf_f": "DDBF"}
    declare(suite, 2, columns=columns, labels=labels, missing_models={"ddbf_f": "not implemented"}, status="partial")
    suite.fail(FRAUD, "sndf", "MemoryError", "Unable to allocate 3 GiB\nsecond line")
    run(suite, FRAUD, "rf", [11, 11], [0.7, 0.8])
    table = table_of(suite)
    assert lines(table.view, FRAUD, "split 1", AUC)["reproduced"] == [
        "failed: MemoryError",
        "75.00 ± 7.07",
        "not implemented",
    ]
    assert "failed: sNDF on credit_fraud: MemoryError: Unable to allocate 3 GiB." in table.view.notes
    assert not any(row.mark for row in table.rows)  # a single number is the best of nothing


def test_nothing_has_run(suite):
    declare(suite, 15)
    table = table_of(suite)
    assert [c.text for c in table.view.rows[0].cells] == ["unavailable: not run"] * 2
    assert sum(row.labels[-1] == "published" for row in table.view.rows) == 8


@pytest.mark.parametrize("splits", [None, 0, "3", True])
def test_a_wrong_number_of_splits_is_refused_by_name(suite, splits):
    ran(suite, options={} if splits is None else {"splits": splits})
    with pytest.raises(ConfigError, match=rf"ddbf\.yaml: ddbf-table2/options/splits is {splits!r}; give the number"):
        table_of(suite)


def test_the_same_results_are_the_same_bytes_and_every_line_has_all_columns(suite):
    first, second = (table_of(ran_again) for ran_again in (ran(suite), suite))
    assert first.files() == second.files()
    assert to_html(first.view) == to_html(second.view)
    rows = [row for row in to_markdown(first.view).splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(first.view.all_heads) + 1}
    for row in to_latex(first.view).splitlines():
        if row.endswith(r"\\"):
            spanned = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert row.count("&") + 1 + spanned == len(first.view.all_heads), row


def drifts(suite):
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    return [(finding.cell, finding.column) for finding in check(suite.root, suite.name).findings if finding.is_drift]


def test_the_check_finds_another_area_on_its_split_and_over_all_and_lets_times_go(suite):
    ran(suite)
    suite.summary(FRAUD)
    write_table(NAME, table_of(suite).files(), suite.folder / "tables")
    accept(suite.root, suite.name, "first numbers")
    assert drifts(suite) == []
    times = [20, 24, 40, 40, 60, 60]  # a machine half as fast
    run(suite, FRAUD, "rf", SPLITS, [0.90, 0.92, 0.95, 0.95, 0.80, 0.90], times)
    run(suite, FRAUD, "ddbf", SPLITS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.88], [10] * 6)
    assert drifts(suite) == []
    run(suite, FRAUD, "ddbf", SPLITS, [0.93, 0.93, 0.94, 0.96, 0.88, 0.89], [10] * 6)
    assert {cell for cell, _ in drifts(suite)} == {
        f"{FRAUD} / ddbf_f / split 3 / roc_auc",
        f"{FRAUD} / ddbf_f / all splits / roc_auc",
    }
