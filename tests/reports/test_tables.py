"""Tidy rows: means, spreads, ranks, marks and words, checked against numbers computed by hand."""

import math
from pathlib import Path

import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.comparisons import AverageRank, PairedTest, RowMarks, WinTieLose, ranks
from cascadeforest.reports.notes import budget_note
from cascadeforest.reports.results import Results, read_results
from cascadeforest.reports.table import make_table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import COLUMNS, read_csv, to_csv, to_frame

FOUR = {
    "columns": {name: name for name in ("hidf", "random_forest", "gbdt", "svm")},
    "labels": {"hidf": "hiDF", "random_forest": "RF", "gbdt": "GBDT", "svm": "SVM"},
    "libraries": {"hidf": [], "random_forest": [], "gbdt": [], "svm": []},
}


def rows_of(suite, name="hidf-table2"):
    """Tidy rows of an experiment by (data set, column, metric)."""
    results = read_results(suite.root, suite.name)
    return {(row.dataset, row.model, row.metric): row for row in score_rows(results.experiment(name), results)}


def test_mean_and_sample_deviation_by_hand(suite):
    suite.experiment(repeats={"adult": 3})
    suite.summary("adult")
    suite.run("adult", "random_forest", [0.7, 0.8, 0.9], n_test=16281)
    suite.run("adult", "gbdt", [0.5, 0.5, 0.5])
    row = rows_of(suite)["adult", "random_forest", "accuracy"]
    assert (row.mean, row.n, row.n_test) == (pytest.approx(0.8, abs=1e-15), 3, 16281)
    assert row.std == pytest.approx(0.1, abs=1e-12)  # ddof = 1; with ddof = 0 it would be 0.0816


def test_one_repeat_has_a_mean_and_no_deviation(suite):
    suite.experiment(repeats={"adult": 1})
    suite.run("adult", "random_forest", [0.7])
    row = rows_of(suite)["adult", "random_forest", "accuracy"]
    assert (row.mean, row.std, row.n) == (0.7, None, 1)


def test_repeats_that_only_another_table_asks_for_do_not_count(suite):
    suite.experiment(repeats={"adult": 2})
    suite.run("adult", "random_forest", [0.7, 0.9, 0.1])
    row = rows_of(suite)["adult", "random_forest", "accuracy"]
    assert (row.mean, row.n) == (pytest.approx(0.8), 2)


def test_equal_results_in_another_order_of_repeats_tie(suite):
    """Added in order, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit."""
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    suite.experiment(repeats={"adult": 3}, marks="best_and_second")
    suite.run("adult", "random_forest", [0.1, 0.2, 0.3])
    suite.run("adult", "gbdt", [0.3, 0.2, 0.1])
    rows = rows_of(suite)
    assert {rows["adult", model, "accuracy"].rank for model in ("random_forest", "gbdt")} == {1.5}
    assert {rows["adult", model, "accuracy"].mark for model in ("random_forest", "gbdt")} == {"best"}


def test_ranks_share_the_average_of_tied_places():
    assert ranks({"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.7}, True) == {"a": 1, "b": 2.5, "c": 2.5, "d": 4}
    assert ranks({"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.7}, False) == {"a": 4, "b": 2.5, "c": 2.5, "d": 1}


def test_marks_use_unrounded_numbers_and_ties_share_them():
    marks = RowMarks("best_and_second")
    # a and b are both 90.00 when rounded to two decimals of a percent.
    assert marks.marks({"a": 0.900001, "b": 0.9, "c": 0.9, "d": 0.1}, True) == {
        "a": "best",
        "b": "second",
        "c": "second",
        "d": "",
    }
    assert marks.marks({"a": 2.0, "b": 1.0}, False) == {"a": "second", "b": "best"}
    assert RowMarks("best").marks({"a": 2.0, "b": 1.0}, True) == {"a": "best", "b": ""}
    assert RowMarks("none").marks({"a": 2.0, "b": 1.0}, True) == {"a": "", "b": ""}


def test_a_single_number_is_not_the_best_of_anything():
    assert RowMarks("best").marks({"a": 0.9}, True) == {"a": ""}


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(ValueError, match="marks is 'bets'; choose one of none, best, best_and_second"):
        RowMarks("bets")


def test_only_the_compared_columns_are_ranked_and_marked(suite):
    suite.experiment(**FOUR, rank_columns=["random_forest", "gbdt"], marks="best")
    for model, value in zip(FOUR["columns"], (0.99, 0.8, 0.9, 0.98), strict=True):
        suite.run("adult", model, [value, value])
    rows = rows_of(suite)
    assert {model: rows["adult", model, "accuracy"].rank for model in FOUR["columns"]} == {
        "hidf": None,
        "random_forest": 2,
        "gbdt": 1,
        "svm": None,
    }
    assert rows["adult", "gbdt", "accuracy"].mark == "best"
    assert rows["adult", "hidf", "accuracy"].mark == ""


def test_lower_is_better_for_cost(suite):
    suite.experiment(metrics=["fit_cpu_seconds"], marks="best")
    suite.run("adult", "random_forest", [2.0, 4.0], metric="fit_cpu_seconds")
    suite.run("adult", "gbdt", [1.0, 1.0], metric="fit_cpu_seconds")
    assert rows_of(suite)["adult", "gbdt", "fit_cpu_seconds"].mark == "best"


def test_words_for_what_has_no_number(suite):
    suite.experiment(
        **FOUR,
        datasets=["adult", "chf"],
        absent={"chf": "needs credentialed access: put the file at data/raw/chf.csv"},
        missing_models={"hidf": "not implemented"},
        status="partial",
    )
    suite.run("adult", "random_forest", [0.7, 0.9])
    suite.fail("adult", "gbdt", "MemoryError", "Unable to allocate 3 GiB\nsecond line")
    rows = rows_of(suite)
    told = {
        model: (rows["adult", model, "accuracy"].status, rows["adult", model, "accuracy"].note)
        for model in FOUR["columns"]
    }
    assert told == {
        "hidf": ("not implemented", ""),
        "random_forest": ("ok", ""),
        "gbdt": ("failed", "MemoryError: Unable to allocate 3 GiB"),
        "svm": ("unavailable", "not run"),
    }
    assert {rows["chf", model, "accuracy"].note for model in FOUR["columns"]} == {
        "needs credentialed access: put the file at data/raw/chf.csv"
    }


def test_the_failure_of_one_part_of_a_split_job_is_found(suite):
    suite.experiment()
    suite.fail("adult", "gbdt", "SIGKILL", "the process was killed", part=".part1")
    assert rows_of(suite)["adult", "gbdt", "accuracy"].note == "SIGKILL: the process was killed"


def test_parts_and_the_merging_job_tell_a_failed_repeat_once(suite):
    suite.complete()
    (suite.folder / "runs/adult/gbdt.json").unlink()
    suite.fail("adult", "gbdt", "MemoryError", "old", part=".part0", ended_ms=1)
    suite.fail("adult", "gbdt", "MemoryError", "new", ended_ms=2)
    assert rows_of(suite)["adult", "gbdt", "accuracy"].note == "MemoryError: new"


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"n_estimators": 5}},
        {"repeats": [0]},
        {"repeats": [0, 1, 2]},
        {"estimator": "elsewhere:gbdt"},
        {"extras": ["predictions"]},
        {"libraries": ["xgboost"]},
        {"task": "regression"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_run_of_another_configuration_has_not_run(suite, change):
    suite.complete()
    suite.plan_run("adult", "gbdt")
    suite.run("adult", "gbdt", [0.90, 0.92])
    assert rows_of(suite)["adult", "gbdt", "accuracy"].mean == 0.91
    suite.plan_run("adult", "gbdt", **change)
    row = rows_of(suite)["adult", "gbdt", "accuracy"]
    assert (row.mean, row.status, row.note) == (None, "unavailable", "not run")
    results = read_results(suite.root, suite.name)
    assert results.stale == {("adult", "gbdt"): list(change)}
    assert results.incomplete() == ["hidf-table2"]


def test_a_metric_that_the_model_does_not_give_is_said_so(suite):
    suite.experiment(metrics=["accuracy", "log_loss"])
    suite.run("adult", "random_forest", [{"accuracy": 0.7, "log_loss": 0.4}] * 2)
    suite.run("adult", "gbdt", [0.7, 0.9])
    row = rows_of(suite)["adult", "gbdt", "log_loss"]
    assert (row.mean, row.status, row.note) == (None, "unavailable", "the model gives no log loss")


def test_a_metric_of_the_other_task_has_no_row(suite):
    suite.experiment(metrics=["rmse", "accuracy"], datasets=["abalone", "adult"])
    suite.summary("abalone", task="regression")
    suite.summary("adult")
    assert {(dataset, metric) for dataset, _, metric in rows_of(suite)} == {("abalone", "rmse"), ("adult", "accuracy")}


def test_rows_follow_the_configuration(suite):
    suite.experiment(datasets=["wine", "adult"], metrics=["accuracy", "log_loss"])
    assert list(rows_of(suite))[:5] == [
        ("wine", "random_forest", "accuracy"),
        ("wine", "random_forest", "log_loss"),
        ("wine", "gbdt", "accuracy"),
        ("wine", "gbdt", "log_loss"),
        ("adult", "random_forest", "accuracy"),
    ]


def test_published_numbers_stand_beside_ours_in_our_unit(suite):
    suite.experiment(datasets=["adult+rows-500"])
    suite.run("adult+rows-500", "random_forest", [0.7, 0.9])
    suite.published(
        "hidf-table2",
        ["adult,random_forest,,accuracy,85.15,0.08,,,percent", "adult,gbdt,,accuracy,0.8612,,,,fraction"],
    )
    rows = rows_of(suite)
    forest = rows["adult+rows-500", "random_forest", "accuracy"]
    assert (forest.published, forest.published_std) == (0.8515, 0.0008)
    # Not run, and yet the paper's number is there.
    gbdt = rows["adult+rows-500", "gbdt", "accuracy"]
    assert (gbdt.published, gbdt.published_std, gbdt.status) == (0.8612, None, "unavailable")


def test_a_spread_printed_in_a_column_of_its_own_is_found(suite):
    """ddbf-table2 prints the AUC as a fraction, its spread in percent points."""
    suite.experiment("ddbf-table2", metrics=["roc_auc"], datasets=["credit_fraud"])
    suite.published(
        "ddbf-table2",
        [
            "credit_fraud,gbdt,,roc_auc,0.9434,,,,fraction",
            "credit_fraud,gbdt,,roc_auc_std,0.3050,,,,percent points",
        ],
    )
    row = rows_of(suite, "ddbf-table2")["credit_fraud", "gbdt", "roc_auc"]
    assert (row.published, row.published_std) == (0.9434, 0.00305)


def test_a_column_can_be_published_under_another_name(suite):
    suite.experiment(
        "cs-table2",
        columns={"gcforest_cs_w20": "gcforest_cs_w20"},
        labels={"gcforest_cs_w20": "CS (20)"},
        libraries={"gcforest_cs_w20": []},
        options={"published": {"gcforest_cs_w20": {"model": "gcforest_cs", "condition": "w=20"}}},
    )
    suite.published("cs-table2", ["adult,gcforest_cs,w=20,accuracy,86.04,,,,percent"])
    assert rows_of(suite, "cs-table2")["adult", "gcforest_cs_w20", "accuracy"].published == 0.8604


def test_average_rank_by_hand(suite):
    """Ranks 1, 2, 3 and 3, 1.5, 1.5: averages 2, 1.75, 2.25. The third data set lacks SVM and is left out."""
    suite.experiment(
        **FOUR,
        datasets=["adult", "yeast", "letter"],
        missing_models={"hidf": "not implemented"},
        average_rank=["adult", "yeast", "letter"],
    )
    for dataset, values in {"adult": (0.9, 0.8, 0.7), "yeast": (0.5, 0.6, 0.6), "letter": (0.9, 0.1)}.items():
        for model, value in zip(("random_forest", "gbdt", "svm"), values, strict=False):
            suite.run(dataset, model, [value, value])
    rows = rows_of(suite)
    ranked = {model: rows["all", model, "average_rank"] for model in FOUR["columns"]}
    assert [ranked[model].mean for model in ("random_forest", "gbdt", "svm")] == [2, 1.75, 2.25]
    assert ranked["gbdt"].n == 2
    assert (ranked["hidf"].mean, ranked["hidf"].status) == (None, "not implemented")


def test_average_rank_counts_the_data_sets_that_the_paper_ranks(suite):
    suite.experiment(datasets=["adult", "wine"], average_rank=["adult"])
    for dataset, values in {"adult": (0.9, 0.8), "wine": (0.1, 0.8)}.items():
        suite.run(dataset, "random_forest", [values[0]] * 2)
        suite.run(dataset, "gbdt", [values[1]] * 2)
    row = rows_of(suite)["all", "random_forest", "average_rank"]
    assert (row.mean, row.n) == (1, 1)


def test_a_suite_without_the_papers_data_sets_ranks_over_its_own(suite):
    suite.experiment(datasets=["digits", "wine"], average_rank=["adult"])
    for dataset, values in {"digits": (0.9, 0.8), "wine": (0.1, 0.8)}.items():
        suite.run(dataset, "random_forest", [values[0]] * 2)
        suite.run(dataset, "gbdt", [values[1]] * 2)
    row = rows_of(suite)["all", "random_forest", "average_rank"]
    assert (row.mean, row.n) == (1.5, 2)
    assert "the suite has none of the paper's" in " ".join(
        make_table("hidf-table2", read_results(suite.root, suite.name)).view.notes
    )


def test_average_rank_of_nothing_is_nothing():
    assert AverageRank((), "all").averages([], True) == ({}, 0)


def test_wins_ties_and_losses_by_hand():
    counts = WinTieLose("a", "A").counts(
        [{"a": 0.9, "b": 0.8, "c": 0.9}, {"a": 0.5, "b": 0.6, "c": 0.4}, {"a": 0.7, "b": 0.6}, {"b": 0.1, "c": 0.2}],
        True,
    )
    assert counts == {"b": (2, 0, 1), "c": (1, 1, 0)}
    assert WinTieLose("a", "A").counts([{"a": 1.0, "b": 2.0}], False) == {"b": (1, 0, 0)}


def test_wins_of_a_model_that_is_not_written_are_not_counted(suite):
    suite.experiment(**FOUR, missing_models={"hidf": "not implemented"}, win_tie_lose="hidf")
    suite.published("hidf-table2", ["all,svm,,win,10,,,,count", "all,svm,,tie,0,,,,count", "all,svm,,lose,0,,,,count"])
    row = rows_of(suite)["all", "svm", "win"]
    assert (row.mean, row.status, row.published) == (None, "not implemented", 10)


def test_summaries_of_several_metrics_are_told_apart_by_condition(suite):
    suite.experiment(metrics=["accuracy", "fit_cpu_seconds"], average_rank=["adult"])
    suite.run("adult", "random_forest", [{"accuracy": 0.9, "fit_cpu_seconds": 9.0}] * 2)
    suite.run("adult", "gbdt", [{"accuracy": 0.8, "fit_cpu_seconds": 1.0}] * 2)
    results = read_results(suite.root, suite.name)
    rows = score_rows(results.experiment("hidf-table2"), results)
    assert {(row.model, row.condition): row.mean for row in rows if row.dataset == "all"} == {
        ("random_forest", "accuracy"): 1,
        ("gbdt", "accuracy"): 2,
        ("random_forest", "fit_cpu_seconds"): 2,
        ("gbdt", "fit_cpu_seconds"): 1,
    }


def test_the_csv_is_the_same_bytes_every_time_and_has_ten_digits(suite):
    suite.complete()
    suite.run("adult", "random_forest", [1 / 3, 2 / 3 + 1e-9])
    results = read_results(suite.root, suite.name)
    first, second = (make_table("hidf-table2", results).files() for _ in range(2))
    assert first == second
    assert first[".csv"].splitlines()[:2] == [
        ",".join(COLUMNS),
        "adult,random_forest,,accuracy,0.5000000005,0.2357022611,2,50,0.8515,0.0008,2,,ok,",
    ]


def test_the_csv_reads_back(suite, tmp_path):
    suite.complete()
    results = read_results(suite.root, suite.name)
    rows = score_rows(results.experiment("hidf-table2"), results)
    path = tmp_path / "table.csv"
    path.write_text(to_csv(rows))
    assert [row["mean"] for row in read_csv(path)] == ["0.85", "0.91"]


def test_the_frame_has_numbers_where_there_are_any(suite):
    suite.complete()
    suite.experiment(missing_models={"gbdt": "not implemented"})
    results = read_results(suite.root, suite.name)
    frame = to_frame(score_rows(results.experiment("hidf-table2"), results))
    assert tuple(frame.columns) == COLUMNS
    assert frame["mean"].dtype == "float64"
    assert math.isnan(frame["mean"][1])
    assert frame["n"].tolist()[0] == 2


def test_statistics_are_compared_with_the_printed_ones(suite):
    suite.experiment(
        "hidf-table1",
        render="statistics",
        columns={},
        labels={},
        libraries={},
        metrics=[],
        datasets=["adult", "chf"],
        absent={"chf": "needs credentialed access"},
    )
    suite.summary("adult", rows=48842, classes=3)
    suite.published(
        "hidf-table1",
        ['adult,,,rows,"48,842",,,,count', "adult,,,classes,2,,,,count", "chf,,,rows,9809,,,,count"],
    )
    table = make_table("hidf-table1", read_results(suite.root, suite.name))
    rows = {row.key: row for row in table.rows}
    assert (rows["adult", "", "", "rows"].mean, rows["adult", "", "", "rows"].mark) == (48842, "")
    assert (rows["adult", "", "", "classes"].published, rows["adult", "", "", "classes"].mark) == (2, "differs")
    assert rows["adult", "", "class yes", "class_count"].mean == 50
    assert (rows["chf", "", "", "rows"].published, rows["chf", "", "", "rows"].note) == (
        9809,
        "needs credentialed access",
    )
    text = table.files()[".md"]
    assert "| adult | measured | 48,842 | 4 | 3 ≠ |" in text
    assert "|  | published | 48,842 | *not printed* | 2 |" in text
    assert "| chf | measured | *unavailable: needs credentialed access* |" in text


def test_many_classes_are_summed_up_by_their_extremes(suite):
    suite.experiment("hidf-table1", render="statistics", columns={}, metrics=[], datasets=["letter"])
    suite.summary(
        "letter", class_counts={letter: 700 + k for k, letter in enumerate("ABCDEFGH")}, class_names="ABCDEFGH"
    )
    table = make_table("hidf-table1", read_results(suite.root, suite.name))
    assert "| 700 to 707 |" in table.files()[".md"]
    assert sum(row.metric == "class_count" for row in table.rows) == 8


def test_splits_are_said_once_for_all_data_that_share_a_protocol(suite):
    suite.experiment(datasets=["adult", "letter", "yeast"])
    for name, protocol in (("adult", "given"), ("letter", "given"), ("yeast", "5-fold")):
        suite.summary(name, protocol=protocol)
    notes = make_table("hidf-table2", read_results(suite.root, suite.name)).view.notes
    words = "Splits (of the repeats named, the first ones are shown): adult and letter: given; yeast: 5-fold."
    assert words in notes


def test_layers_that_predict_are_named_by_repeat(suite):
    options = {"layers_of": ["gbdt"], "layers_as": "iterations"}
    suite.experiment(datasets=["adult", "letter"], options=options)
    for name in ("adult", "letter"):
        suite.summary(name)
        suite.run(name, "random_forest", [0.5, 0.6])
    suite.run("adult", "gbdt", [{"accuracy": 0.5, "n_layers": 3}, {"accuracy": 0.6, "n_layers": 1}])
    notes = make_table("hidf-table2", read_results(suite.root, suite.name)).view.notes
    assert "Iterations that predict, repeat by repeat: adult: GBDT 3, 1." in notes
    suite.experiment(options={"layers_of": ["gdbt"]})
    with pytest.raises(ConfigError, match=r"hidf-table2/options/layers_of has 'gdbt'; choose from random_forest, gbdt"):
        make_table("hidf-table2", read_results(suite.root, suite.name))


def test_the_bounds_of_a_suite_stand_under_the_tables_that_they_concern():
    config = {"description": "d", "repeats": 2, "dataset_repeats": {"adult": 1, "letter": 1}}
    experiment = {
        "status": "ready",
        "datasets": ["adult", "iris"],
        "absent": {},
        "missing_models": {"mlp": "not written"},
    }
    columns = {"rf": "RF", "gbdt": "GBDT", "gc": "gcForest", "mlp": "MLP", "svm": "SVM", "on_hard": "MLP + DDBF"}
    experiment |= {"columns": dict.fromkeys(columns, "preset"), "labels": columns}
    trees = {"n_estimators": [50, 500]}
    experiment["bounds"] = {
        "rf": {"adult": trees, "iris": trees},
        "gbdt": {"adult": trees, "iris": {}},
        "gc": {"adult": trees, "iris": trees},
        "mlp": {"adult": trees, "iris": trees},  # not shown
        "svm": {"adult": {}, "iris": {}},
        "on_hard": dict.fromkeys(["adult", "iris"], trees | {"learner__max_iter": [5, 200]}),
    }
    plan = {"suite": "quick", "suite_config": config, "experiments": {}, "runs": []}
    assert budget_note(experiment, Results(plan, {}, {}, {}, Path())) == (
        "Bounds of the suite quick: RF and gcForest n_estimators 50 of 500; GBDT n_estimators 50 of 500 on adult; "
        "MLP + DDBF n_estimators 50 of 500, learner__max_iter 5 of 200; at most 2 repeats; adult at most 1 repeat."
    )
    config["dataset_repeats"] = {"iris": 4, "adult": 4, "letter": 1}
    assert budget_note(experiment | {"bounds": {}}, Results(plan, {}, {}, {}, Path())) == (
        "Bounds of the suite quick: adult and iris at most 4 repeats."
    )
    unbounded = plan | {"suite_config": {"description": "d", "repeats": None}}
    assert budget_note(experiment | {"bounds": {}}, Results(unbounded, {}, {}, {}, Path())) == ""


# Outcomes that a test decides.


def test_a_paired_test_decides_what_a_tie_is():
    test = PairedTest("ours", "Ours")
    # Leads 1, 2, 3: mean 2, deviation 1, t = 2 * sqrt(3) = 3.464 with 2 degrees of freedom, p = 0.074.
    assert test.outcome([0.91, 0.92, 0.93], [0.90, 0.90, 0.90], True) == "tie"
    # Leads 2, 3, 4: t = 3 * sqrt(3) = 5.196, p = 0.035.
    assert test.outcome([0.92, 0.93, 0.94], [0.90, 0.90, 0.90], True) == "win"
    assert test.outcome([0.92, 0.93, 0.94], [0.90, 0.90, 0.90], False) == "lose"
    assert test.outcome([0.90, 0.90, 0.90], [0.92, 0.93, 0.94], True) == "lose"
    assert PairedTest("ours", "Ours", 0.03).outcome([0.92, 0.93, 0.94], [0.90, 0.90, 0.90], True) == "tie"


def test_pairs_count_not_the_spread_of_each_model():
    own, other = [0.71, 0.81, 0.92, 0.62], [0.70, 0.80, 0.90, 0.60]
    assert PairedTest("ours", "Ours").outcome(own, other, True) == "win"
    assert PairedTest("ours", "Ours").outcome(own, other[::-1], True) == "tie"


@pytest.mark.parametrize(
    ("own", "outcome"), [([0.5, 0.75, 0.1], "tie"), ([0.75, 1.0, 0.35], "win"), ([0.25, 0.5, -0.15], "lose")]
)
def test_differences_without_spread_have_no_chance(own, outcome):
    assert PairedTest("ours", "Ours").outcome(own, [0.5, 0.75, 0.1], True) == outcome


@pytest.mark.parametrize("n", [1, 2])
def test_two_repeats_are_not_judged(n):
    """Differences of whole test rows are too often the same by chance."""
    assert PairedTest("ours", "Ours").outcome([0.9] * n, [0.8] * n, True) is None
