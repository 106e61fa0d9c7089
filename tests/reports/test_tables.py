"""Tidy rows of scores: means, spreads, ranks, marks and reasons, checked against numbers computed by hand."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, dictionaries, sampled_from

from cascadeforest.experiments.fitting import Growth
from cascadeforest.experiments.plan import Bound, Experiment, Plan, Suite
from cascadeforest.reports.drawing.words import bounds, capped
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import COLUMNS, TidyRow, read_csv
from cascadeforest.reports.numbers.results import Results, read_results
from cascadeforest.reports.numbers.scores import averages
from cascadeforest.reports.numbers.statistics import average_ranks, compare_means, ranked

NAME = "hidf-table2"
FOUR = {"hidf": "hiDF", "random_forest": "RF", "gbdt": "GBDT", "svm": "SVM"}


def row_of(suite, model, metric="accuracy", dataset="adult", condition=""):
    return suite.rows(NAME)[dataset, model, condition, metric]


@pytest.mark.parametrize(
    ("values", "n", "mean", "std"),
    [
        ([0.7, 0.8, 0.9], 3, 0.8, 0.1),  # ddof = 1; with ddof = 0 it would be 0.0816
        ([0.7], 1, 0.7, None),
        ([0.7, 0.9, 0.1], 2, 0.8, 0.02**0.5),  # another table asks for the third repeat
    ],
)
def test_mean_and_sample_deviation_by_hand(suite, values, n, mean, std):
    suite.experiment(repeats=n)
    suite.run("adult", "random_forest", values, n_test=16281)
    row = row_of(suite, "random_forest")
    assert (row.mean, row.n, row.n_test) == (pytest.approx(mean, abs=1e-15), n, 16281)
    assert row.std == (std and pytest.approx(std, abs=1e-12))


def test_a_repeat_without_the_number_leaves_no_mean_and_the_order_of_repeats_makes_no_difference(suite):
    suite.experiment(repeats=3, labels={"random_forest": "RF"})
    suite.run("adult", "random_forest", [{"accuracy": 0.5}, {"accuracy": 0.7}, {}])
    results = read_results(suite.root, suite.name)
    wanted = TidyRow("adult", "random_forest", "", "accuracy", status="unavailable", note="the model gives no accuracy")
    assert averages(Cells(results.plan.experiment(NAME), results)) == [wanted]
    # Added in order, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit.
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    suite.experiment(repeats=3, marks="best_and_second")
    suite.run("adult", "random_forest", [0.1, 0.2, 0.3])
    suite.run("adult", "gbdt", [0.3, 0.2, 0.1])
    rows = [row_of(suite, model) for model in ("random_forest", "gbdt")]
    assert [(row.rank, row.mark) for row in rows] == [(1.5, "best")] * 2


def marked(values, rule="none", metric="accuracy"):
    rows = [TidyRow("adult", model, "", metric, mean) for model, mean in values.items()]
    found = ranked(rows, list(values), rule)
    return {row.model: row.rank for row in found}, {row.model: row.mark for row in found}


@given(dictionaries(sampled_from("abcdef"), sampled_from([0.1, 0.2, 0.5]), min_size=1), booleans())
def test_a_rank_counts_who_is_better_and_half_of_who_is_equal(values, higher):
    key = {name: -value if higher else value for name, value in values.items()}
    assert marked(values, metric="accuracy" if higher else "log_loss")[0] == {
        name: 1 + sum(other < own for other in key.values()) + (sum(other == own for other in key.values()) - 1) / 2
        for name, own in key.items()
    }


def test_marks_use_unrounded_numbers_ties_share_them_and_a_single_number_has_none():
    # a and b are both 90.00 when rounded to two decimals of a percent.
    values = {"a": 0.900001, "b": 0.9, "c": 0.9, "d": 0.1}
    assert marked(values, "best_and_second")[1] == {"a": "best", "b": "second", "c": "second", "d": ""}
    two = {"a": 2.0, "b": 1.0}
    assert marked(two, "best_and_second", "log_loss")[1] == {"a": "second", "b": "best"}
    assert marked(two, "best")[1] == {"a": "best", "b": ""}
    assert marked(two, "none")[1] == {"a": "", "b": ""}
    assert marked({"a": 0.9, "b": None}, "best")[1] == {"a": "", "b": ""}


def test_means_that_differ_by_the_last_bit_of_a_sum_tie():
    """As two processors compute them: else a run elsewhere would have other ranks and marks."""
    sums = [0.1 + 0.2, 0.3]
    assert sums[0] > sums[1]
    assert marked({"a": sums[0], "b": sums[1], "c": 0.1}, "best") == (
        {"a": 1.5, "b": 1.5, "c": 3},
        {"a": "best", "b": "best", "c": ""},
    )
    assert average_ranks(pd.DataFrame({"a": sums[:1], "b": sums[1:]})) == ({"a": 1.5, "b": 1.5}, 1)
    assert compare_means(sums[:1], sums[1:], higher_is_better=True) == "tie"


def test_only_the_compared_columns_are_ranked_and_summaries_told_apart_by_condition(suite):
    suite.experiment(labels=FOUR, rank_columns=["random_forest", "gbdt"], marks="best")
    for model, value in zip(FOUR, (0.99, 0.8, 0.9, 0.98), strict=True):
        suite.run("adult", model, [value, value])
    rows = [row_of(suite, model) for model in FOUR]
    assert [row.rank for row in rows] == [None, 2, 1, None]
    assert [row.mark for row in rows] == ["best", "", "", ""]  # whichever column
    suite.experiment(metrics=["accuracy", "fit_cpu_seconds"], average_rank=["adult"])
    suite.run("adult", "random_forest", [{"accuracy": 0.9, "fit_cpu_seconds": 9.0}] * 2)
    suite.run("adult", "gbdt", [{"accuracy": 0.8, "fit_cpu_seconds": 1.0}] * 2)
    assert {key[1:3]: row.mean for key, row in suite.rows(NAME).items() if key[0] == "all"} == {
        ("random_forest", "accuracy"): 1,
        ("gbdt", "accuracy"): 2,
        ("random_forest", "fit_cpu_seconds"): 2,
        ("gbdt", "fit_cpu_seconds"): 1,
    }


def test_words_for_what_has_no_number_and_no_row_for_a_metric_of_the_other_task(suite):
    absent, missing = {"chf": "needs credentialed access"}, {"hidf": "not implemented"}
    given = {"absent": absent, "missing_models": missing, "status": "partial", "metrics": ["rmse", "accuracy"]}
    suite.experiment(labels=FOUR, datasets=["adult", "chf", "abalone"], **given)
    suite.summary("abalone", task="regression")
    suite.summary("adult")
    suite.run("adult", "random_forest", [0.7, 0.9])
    suite.fail("adult", "gbdt", "Unable to allocate 3 GiB\nsecond line")
    rows = suite.rows(NAME)
    told = {model: rows["adult", model, "", "accuracy"] for model in FOUR}
    assert {model: (row.status, row.note) for model, row in told.items()} == {
        "hidf": ("not implemented", ""),
        "random_forest": ("ok", ""),
        "gbdt": ("failed", "MemoryError: Unable to allocate 3 GiB"),
        "svm": ("unavailable", "not run"),
    }
    assert {row.note for key, row in rows.items() if key[0] == "chf"} == {"needs credentialed access"}
    suite.fail("adult", "gbdt", "x" * 400)
    assert row_of(suite, "gbdt").note == f"MemoryError: {'x' * 286}…"  # a cell has little room
    assert {key[::3] for key in rows if key[0] != "chf"} == {("abalone", "rmse"), ("adult", "accuracy")}


def test_a_run_of_another_configuration_has_not_run(suite):
    suite.complete()
    suite.plan_run("adult", "gbdt")
    suite.run("adult", "gbdt", [0.90, 0.92])
    assert row_of(suite, "gbdt").mean == 0.91
    suite.plan_run("adult", "gbdt", params={"n_estimators": 5}, task="regression")
    row, results = row_of(suite, "gbdt"), read_results(suite.root, suite.name)
    assert (row.mean, row.status, row.note) == (None, "unavailable", "not run")
    assert (results.stale, results.incomplete()) == ({("adult", "gbdt"): ["task", "params"]}, [NAME])


def test_published_numbers_stand_beside_ours_in_our_unit_under_whatever_name(suite):
    suite.experiment(datasets=["adult+rows-500"])
    suite.run("adult+rows-500", "random_forest", [0.7, 0.9])
    lines = ["adult,random_forest,,accuracy,85.15,0.08,,,percent", "adult,gbdt,,accuracy,0.8612,,,,fraction"]
    suite.published(NAME, lines)
    forest = row_of(suite, "random_forest", dataset="adult+rows-500")
    assert (forest.published, forest.published_std) == (0.8515, 0.0008)
    gbdt = row_of(suite, "gbdt", dataset="adult+rows-500")
    assert (gbdt.published, gbdt.published_std, gbdt.status) == (0.8612, None, "unavailable")
    # ddbf-table2 prints the AUC as a fraction, its spread in percent points.
    suite.experiment("ddbf-table2", metrics=["roc_auc"], datasets=["credit_fraud"])
    keys = [("roc_auc,0.9434", "fraction"), ("roc_auc_std,0.3050", "percent points")]
    suite.published("ddbf-table2", [f"credit_fraud,gbdt,,{number},,,,{unit}" for number, unit in keys])
    row = suite.rows("ddbf-table2")["credit_fraud", "gbdt", "", "roc_auc"]
    assert (row.published, row.published_std) == (0.9434, 0.00305)
    published = {"random_forest": {"model": "gcforest_cs", "condition": "w=20"}, "gbdt": {"log_loss": "other"}}
    suite.experiment(metrics=["accuracy", "log_loss"], options={"published": published})
    suite.published(NAME, ["adult,gcforest_cs,w=20,accuracy,86.04,,,,percent", "adult,other,,log_loss,2,,,,ratio"])
    assert row_of(suite, "random_forest").published == 0.8604
    assert row_of(suite, "gbdt", "log_loss").published == 2


def test_average_rank_by_hand(suite):
    """Ranks 1, 2, 3 and 3, 1.5, 1.5: averages 2, 1.75, 2.25. The third data set lacks SVM and is left out."""
    datasets = {"adult": (0.9, 0.8, 0.7), "yeast": (0.5, 0.6, 0.6), "letter": (0.9, 0.1)}
    suite.experiment(labels=FOUR, datasets=list(datasets), missing_models={"hidf": "no"}, average_rank=list(datasets))
    for dataset, values in datasets.items():
        for model, value in zip(("random_forest", "gbdt", "svm"), values, strict=False):
            suite.run(dataset, model, [value, value])
    found = {model: row_of(suite, model, "average_rank", "all") for model in FOUR}
    assert [found[model].mean for model in ("random_forest", "gbdt", "svm")] == [2, 1.75, 2.25]
    assert found["gbdt"].n == 2
    assert (found["hidf"].mean, found["hidf"].status) == (None, "not implemented")


@pytest.mark.parametrize(("ranked_by_paper", "expected"), [(["adult"], (1, 1)), (["letter"], (1.5, 2))])
def test_ranks_are_averaged_over_the_papers_data_sets_or_all_if_there_are_none(suite, ranked_by_paper, expected):
    suite.experiment(datasets=["adult", "wine"], average_rank=ranked_by_paper)
    for dataset, values in {"adult": (0.9, 0.8), "wine": (0.1, 0.8)}.items():
        suite.run(dataset, "random_forest", [values[0]] * 2)
        suite.run(dataset, "gbdt", [values[1]] * 2)
    row = row_of(suite, "random_forest", "average_rank", "all")
    assert (row.mean, row.n) == expected
    assert ("the suite has none that the paper ranks" in suite.notes(NAME)) == (ranked_by_paper == ["letter"])
    assert average_ranks(pd.DataFrame({"a": [math.nan], "b": [math.nan]})) == ({}, 0)  # of nothing there is none


def test_wins_ties_and_losses_by_hand_but_none_of_a_model_that_is_not_written(suite):
    """RF against GBDT 2/0/1, against SVM 1/1/0: the last data set lacks RF."""
    values = {
        "adult": {"random_forest": 0.9, "gbdt": 0.8, "svm": 0.9},
        "yeast": {"random_forest": 0.5, "gbdt": 0.6, "svm": 0.4},
        "letter": {"random_forest": 0.7, "gbdt": 0.6},
        "wine": {"gbdt": 0.1, "svm": 0.2},
    }
    suite.experiment(labels=FOUR, datasets=list(values), win_tie_lose="random_forest", missing_models={"hidf": "no"})
    for dataset, of_models in values.items():
        for model, value in of_models.items():
            suite.run(dataset, model, [value, value])
    rows = suite.rows(NAME)
    counts = {m: [rows["all", m, "", name].mean for name in ("win", "tie", "lose")] for m in ("gbdt", "svm")}
    assert counts == {"gbdt": [2, 0, 1], "svm": [1, 1, 0]}
    assert rows["all", "gbdt", "", "win"].n == 3
    assert compare_means([1.0], [2.0], higher_is_better=False) == "win"
    suite.experiment(labels=FOUR, missing_models={"hidf": "not implemented"}, win_tie_lose="hidf")
    suite.published(NAME, ["all,svm,,win,10,,,,count", "all,svm,,tie,0,,,,count", "all,svm,,lose,0,,,,count"])
    row = row_of(suite, "svm", "win", "all")
    assert (row.mean, row.status, row.published) == (None, "not implemented", 10)


def test_the_csv_is_the_same_bytes_every_time_with_ten_digits(suite, tmp_path):
    suite.complete()
    suite.run("adult", "random_forest", [1 / 3, 2 / 3 + 1e-9])
    first, second = (suite.table(NAME).files()[".csv"] for _ in range(2))
    assert first == second
    assert first.splitlines()[:2] == [
        ",".join(COLUMNS[:-5]),  # no row has an interval
        "adult,random_forest,,accuracy,0.5000000005,0.2357022611,2,50,0.8515,0.0008,2,,ok,",
    ]
    path = tmp_path / "table.csv"
    path.write_text(first)
    assert [row["mean"] for row in read_csv(path)] == ["0.5000000005", "0.91"]


def test_notes_name_splits_once_for_all_data_that_share_a_protocol(suite):
    suite.experiment(datasets=["adult", "letter", "yeast"])
    for name, protocol in (("adult", "given"), ("letter", "given"), ("yeast", "5-fold")):
        suite.summary(name, protocol=protocol)
        suite.run(name, "random_forest", [0.5, 0.6])
    notes = suite.table(NAME).view.notes
    words = "Splits, with the repeats that a data set declares (another number can be shown): "
    assert f"{words}adult and letter: given; yeast: 5-fold." in notes


def test_the_bounds_of_a_suite_name_what_they_concern(tmp_path):
    labels = {"rf": "RF", "gbdt": "GBDT", "gc": "gcForest", "mlp": "MLP", "on_hard": "MLP + DDBF"}
    trees, rows = {"n_estimators": Bound(50, 500)}, ("adult", "iris")
    bounded = dict.fromkeys(labels, dict.fromkeys(rows, trees)) | {"gbdt": {"adult": trees, "iris": {}}}
    bounded["on_hard"] = dict.fromkeys(rows, trees | {"learner__max_iter": Bound(5, 200)})
    shown = {"datasets": rows, "columns": labels, "labels": labels, "missing_models": {"mlp": "not written"}}

    def told(of_parameters, here, unbounded):
        repeats = {
            "repeats": dict(zip(rows, here, strict=True)),
            "all_repeats": dict(zip(rows, unbounded, strict=True)),
        }
        experiment = Experiment("t", "hidf", "table", "T", "scores", bounds=of_parameters, **shown, **repeats)
        plan = Plan("quick", Suite("d"), {"t": experiment}, ())
        return list(bounds(Cells(experiment, Results(plan, {}, {}, {}, tmp_path))))

    assert told(bounded, (1, 2), (10, 10)) == [
        "RF and gcForest n_estimators 50 of 500",
        "GBDT n_estimators 50 of 500 on adult",
        "MLP + DDBF n_estimators 50 of 500, learner__max_iter 5 of 200",
        "adult 1 of 10 repeats",
        "iris 2 of 10 repeats",
    ]
    assert told({}, (3, 3), (10, 10)) == ["3 of 10 repeats"]
    assert told({}, (5, 3), (5, 10)) == ["iris 3 of 10 repeats"]
    assert told({}, (5, 3), (5, 3)) == []


def test_cascades_that_grew_all_layers_of_the_bound_are_named(tmp_path):
    labels, layers = {"gc": "gcForest", "rf": "RF"}, {"max_layers": Bound(5, 20)}
    experiment = Experiment(
        "t", "hidf", "table", "T", "scores", columns=labels, labels=labels, datasets=("a", "b", "c", "d"),
        bounds={"gc": {"a": layers, "b": layers, "c": layers, "d": {}}}, repeats=dict.fromkeys("abcd", 2),
    )  # fmt: skip
    end, early, old = Growth(5, 5, True), Growth(2, 3, False), [Growth(kept) for kept in (3, 4)]
    ends = {"a": (end, old[1]), "b": (early, end), "c": (early, old[0]), "d": (end, end)}

    class Grown(Cells):
        def all(self, dataset, column):
            params = {"max_layers": 5, "patience": 1}
            growths = [SimpleNamespace(growth=growth, params=params) for growth in ends[dataset]]
            return growths if column == "gc" else [SimpleNamespace(growth=None)]

    cells = Grown(experiment, Results(Plan("quick", Suite("d"), {"t": experiment}, ()), {}, {}, {}, tmp_path))
    assert list(capped(cells)) == ["gcForest on a and b (1 of 2)"]
