"""What the regression check lets pass and what it reports."""

import csv
import statistics

import pytest

from cascadeforest.reports.numbers import frame
from cascadeforest.reports.numbers.frame import COLUMNS
from cascadeforest.reports.store.check import allowed, check, compare, compare_exactly

OURS = {"random_forest": [], "gbdt": []}
FOREIGN = {"random_forest": ["scikit-learn"], "gbdt": ["scikit-learn"]}


def stored(suite, libraries=OURS, **changes):
    suite.complete()
    suite.experiment(libraries=libraries, **changes)
    return suite.stored()


def of_letter(suite):
    suite.summary("letter")
    for model in OURS:
        suite.run("letter", model, [0.8, 0.9])


def test_the_same_results_pass_and_a_drift_is_printed_with_cell_stored_new_and_tolerance(suite, capsys):
    stored(suite)
    assert suite.command("check") == 0
    assert "Check of the suite smoke: 1 tables, 2 rows, no drift." in capsys.readouterr().out
    suite.run("adult", "gbdt", [0.90, 0.91])
    suite.draw()
    assert suite.command("check") == 1
    out = capsys.readouterr().out
    assert "DRIFT hidf-table2: adult / gbdt / accuracy: mean: stored 0.91, new 0.905, tolerance 0 (exact)" in out
    assert "make accept SUITE=smoke" in out


@pytest.mark.parametrize(
    ("name", "libraries", "facts", "was", "near", "far", "column"),
    [
        ("smoke", OURS, {}, [0.90, 0.92], [0.90, 0.92], [0.90 + 1e-8, 0.92 + 1e-8], "mean"),
        # 50 test rows: 2 / 50 = 0.04 is more than 0.01.
        ("smoke", FOREIGN, {}, [0.90, 0.92], [0.861, 0.881], [0.859, 0.879], "mean"),
        ("smoke", FOREIGN, {"n_test": 16281}, [0.90, 0.92], [0.892, 0.912], [0.889, 0.909], "mean"),
        # The mean stays, the repeats move apart: 1.5 * 0.04 = 0.06 is the limit for the deviation of 0.0141.
        ("smoke", FOREIGN, {}, [0.90, 0.92], [0.86, 0.96], [0.855, 0.965], "std"),
        ("smoke", FOREIGN, {"metric": "log_loss"}, [0.5] * 2, [0.509] * 2, [0.511] * 2, "mean"),
        # Three standard errors: 3 * 0.0707 / sqrt(2) = 0.15, and 3 * 0.01414 / sqrt(2) = 0.03.
        ("quick", OURS, {}, [0.80, 0.90], [0.66, 0.76], [0.64, 0.74], "mean"),
        ("quick", OURS, {}, [0.90, 0.92], [0.881, 0.882], [0.87, 0.88], "mean"),
        # The floor where nothing spreads.
        ("quick", OURS, {}, [0.9, 0.9], [0.896, 0.896], [0.894, 0.894], "mean"),
    ],
    ids=["ours", "few rows", "many rows", "deviation", "no share", "wide spread", "small spread", "floor"],
)
def test_numbers_may_move_within_their_tolerance(make_suite, name, libraries, facts, was, near, far, column):
    suite, metric = make_suite(name).complete(), facts.get("metric", "accuracy")
    suite.experiment(libraries=libraries, metrics=[metric])
    suite.run("adult", "random_forest", [0.5, 0.5], **facts)
    suite.run("adult", "gbdt", was, **facts)
    suite.stored()
    suite.run("adult", "gbdt", near, **facts)
    assert suite.drifts() == set()
    suite.run("adult", "gbdt", far, **facts)
    assert suite.drifts() == {(f"adult / gbdt / {metric}", column)}


def test_a_deviation_that_is_gone_is_a_drift(make_suite):
    suite = stored(make_suite("quick"))
    table = suite.folder / "tables/hidf-table2.csv"
    table.write_text(table.read_text().replace("0.91,0.01414213562,", "0.91,,"))
    assert ("adult / gbdt / accuracy", "std") in suite.found()


FOREST = {"estimator": "sklearn.ensemble:RandomForestClassifier"}


@pytest.mark.parametrize(
    ("cell", "is_exact"),
    [
        (FOREST, True),
        ({"estimator": "sklearn.ensemble:ExtraTreesRegressor"}, True),
        ({"estimator": "sklearn.ensemble:HistGradientBoostingClassifier"}, False),
        (FOREST | {"versions": {"numpy": "2.5.0", "scikit-learn": "1.9.1"}}, False),
        (FOREST | {"host": {"python": "3.12.1", "machine": "x86_64", "processor": "", "cores": 1}}, False),
        (FOREST | {"host": {"python": "3.11.7", "machine": "aarch64", "processor": "", "cores": 1}}, False),
    ],
    ids=["forest", "extra trees", "boosting", "other numpy", "other python", "other machine"],
)
def test_a_forest_of_the_same_software_is_exact(suite, cell, is_exact):
    suite.complete()
    suite.experiment(libraries=FOREIGN)
    suite.run("adult", "random_forest", [0.80, 0.90], **{"estimator": cell["estimator"]})
    suite.stored()
    suite.run("adult", "random_forest", [0.81, 0.91], **cell)
    assert suite.drifts() == ({("adult / random_forest / accuracy", "mean")} if is_exact else set())


def test_a_rank_that_follows_from_tolerated_means_is_only_noted(suite):
    suite.complete()
    suite.experiment(libraries=FOREIGN, average_rank=["adult"])
    suite.run("adult", "random_forest", [0.9, 0.9])
    suite.run("adult", "gbdt", [0.91, 0.91])
    suite.stored()
    suite.run("adult", "random_forest", [0.92, 0.92])
    suite.draw()
    report = check(suite.root, suite.name)
    assert not report.has_drift
    assert {(finding.cell, finding.column) for finding in report.findings} == {
        ("adult / random_forest / accuracy", "rank"),
        ("adult / gbdt / accuracy", "rank"),
        ("all / random_forest / average_rank", "mean"),
        ("all / gbdt / average_rank", "mean"),
    }


@pytest.mark.parametrize(("row", "column"), [("adult,gbdt,,accuracy", "rank"), ("all,gbdt,,average_rank", "mean")])
def test_what_follows_from_moved_means_must_follow(suite, row, column):
    """Means of foreign libraries move within their tolerance; ranks and counts over them have none."""
    stored(suite, FOREIGN, average_rank=["adult"], win_tie_lose="random_forest")
    suite.run("adult", "gbdt", [0.90, 0.93])
    assert suite.drifts() == set()
    table = suite.folder / "tables/hidf-table2.csv"
    with table.open(newline="") as stream:
        head, *rows = list(csv.reader(stream))
    changed = next(cells for cells in rows if ",".join(cells[:4]) == row)
    changed[head.index(column)] = "2"
    with table.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    assert suite.found() == {(" / ".join(filter(None, row.split(","))), f"{column} (redrawn from the new cells)")}


@pytest.mark.parametrize(("other", "n_drifts"), [(1 - 1e-15, 0), (1 - 1e-9, 1)], ids=["rounding", "a drift"])
def test_sums_that_another_processor_rounds_otherwise_are_the_same(suite, other, n_drifts):
    """Equal shares add up to 1 or to the number before it, so that their deviation is 0 or 1e-16."""
    stored(suite)
    suite.run("adult", "gbdt", [1.0, 1.0])
    suite.stored()
    suite.run("adult", "gbdt", [1.0, other])
    assert sum(column == "std" for _, column in suite.drifts()) == n_drifts


@pytest.mark.parametrize("libraries", [OURS, FOREIGN], ids=["ours", "foreign"])
def test_another_formula_is_found_on_any_machine(suite, monkeypatch, libraries):
    """The deviation of the population in place of the sample's: small enough for every tolerance."""
    stored(suite, libraries)
    monkeypatch.setattr(frame, "stdev", statistics.pstdev)
    assert ("adult / gbdt / accuracy", "std (redrawn from the stored cells)") in suite.drifts()


def test_marks_must_follow_from_the_means_and_other_words_are_noted(suite):
    stored(suite)
    path = suite.root / "reports/smoke/tables/hidf-table2.md"
    path.write_text(path.read_text() + "- Another sentence.\n")
    report = check(suite.root, suite.name)
    assert not report.has_drift
    assert [finding.cell for finding in report.findings] == ["hidf-table2.md"]
    # The means are as stored, the mark is not: what marks has changed.
    stored(suite, marks="best_and_second")
    suite.experiment(libraries=OURS, marks="best")
    assert suite.drifts() == {("adult / random_forest / accuracy", "mark")}


def test_a_run_of_another_configuration_is_a_drift(suite, capsys):
    suite.complete()
    suite.plan_run("adult", "gbdt")
    suite.run("adult", "gbdt", [0.90, 0.92])
    suite.stored()
    assert suite.found() == set()
    suite.plan_run("adult", "gbdt", params={"n_estimators": 5})
    assert suite.command("check") == 1
    out = capsys.readouterr().out
    assert "adult / gbdt: run: stored there, new of another configuration (other params)" in out
    assert "run again: snakemake --cores all --config suite=smoke" in out


@pytest.mark.parametrize(
    ("was", "now", "is_drift", "said"),
    [
        ([2.0, 8.0], [20.0, 80.0], False, []),
        ([2.0, 8.0], [2.0, 24.0], False, ["note  {}: stored 4, new 12, tolerance a factor of 5"]),
        ([2.0, 8.0], [2.0, 48.0], True, ["DRIFT {}: stored 4, new 24, tolerance a factor of 5"]),
        ([0.05, 0.001], [0.05, 0.09], False, []),
    ],
    ids=["a slower machine", "a larger ratio", "too large a ratio", "below what can be measured"],
)
def test_cost_is_judged_by_its_ratio_to_the_reference(suite, was, now, is_drift, said):
    def cost(values):
        for model, value in zip(OURS, values, strict=True):
            suite.run("adult", model, [{"accuracy": 0.9, "fit_cpu_seconds": value}] * 2)

    suite.complete()
    suite.experiment(libraries=OURS, metrics=["accuracy", "fit_cpu_seconds"])
    cost(was)
    suite.stored()
    cost(now)
    report = check(suite.draw().root, suite.name)
    cell = "hidf-table2: adult / gbdt / fit_cpu_seconds: ratio to random_forest"
    assert ([str(one) for one in report.findings], report.has_drift) == ([one.format(cell) for one in said], is_drift)


def test_another_row_and_a_number_that_becomes_a_word_are_drifts(suite):
    stored(suite, FOREIGN)
    suite.fail("adult", "gbdt")
    suite.run("wine", "gbdt", [0.9, 0.9])
    suite.run("adult", "random_forest", [0.80, 0.90], n_test=51)
    suite.experiment(libraries=FOREIGN, datasets=["adult", "wine"])
    assert suite.drifts() >= {("wine / gbdt / accuracy", "row"), ("adult / gbdt / accuracy", "status")}
    assert ("adult / random_forest / accuracy", "n_test") in suite.found()


@pytest.mark.parametrize(("metric", "n_drifts"), [("predict_peak_mib_ratio", 0), ("accuracy", 1)])
def test_a_ratio_to_a_cost_that_was_measured_as_nothing_may_come_and_go(suite, metric, n_drifts):
    """Memory of a small prediction is 0 MiB in one run and 0.1 in the next."""
    suite.experiment("cs-table2")
    experiment = suite.planned("cs-table2")
    row = dict.fromkeys(COLUMNS, "") | {"dataset": "wine", "model": "cs", "metric": metric, "mean": "0.5"}
    for stored_rows, new_rows in (([row], []), ([], [row])):
        assert len(compare("cs-table2", stored_rows, new_rows, experiment, "smoke")) == n_drifts
        printed = [one | {"published": "0.1"} for one in stored_rows], [one | {"published": "0.1"} for one in new_rows]
        assert len(compare("cs-table2", *printed, experiment, "smoke")) == 1
    (finding,) = compare_exactly("cs-table2", [row], [row | {"note": "other words"}], "redrawn")
    assert not finding.is_drift


@pytest.mark.parametrize(("metric", "n_drifts"), [("fit_cpu_seconds_ratio", 0), ("average_rank", 1)])
def test_a_mean_ratio_of_costs_over_all_data_sets_may_move(suite, metric, n_drifts):
    """The critical-difference figure has it; the costs themselves are compared in the table of the same cells."""
    suite.experiment("arena-ranks")
    row = dict.fromkeys(COLUMNS, "") | {"dataset": "all", "model": "gcforest", "metric": metric, "mean": "6.8"}
    row["condition"] = "accuracy"
    found = compare("arena-ranks", [row], [row | {"mean": "9.2"}], suite.planned("arena-ranks"), "smoke")
    assert sum(one.is_drift for one in found) == n_drifts


def test_a_missing_table_is_a_drift_and_one_left_by_an_earlier_configuration_is_not(suite, capsys):
    stored(suite)
    (suite.folder / "tables/hidf-table8.csv").write_text("left over")
    assert suite.drifts() == set()
    suite.experiment("hidf-table9")
    suite.draw()
    (suite.folder / "tables/hidf-table2.csv").unlink()
    assert suite.command("check") == 1
    out = capsys.readouterr().out
    assert "DRIFT hidf-table2: the whole table: file: stored there, new (nothing)" in out
    assert "DRIFT hidf-table9: the whole table: file: stored (nothing), new there" in out


def test_after_a_run_of_some_tables_only_these_are_compared(suite, capsys):
    suite.experiment("hidf-table9")
    stored(suite)
    (suite.folder / "tables/hidf-table9.csv").unlink()
    assert suite.command("check") == 1
    assert "make check SUITE=smoke ONLY='hidf-table2'" in capsys.readouterr().out
    assert suite.command("check", "--only", "hidf-table2") == 0
    assert "1 tables, 2 rows, no drift" in capsys.readouterr().out
    assert suite.command("check", "--only", "hidf-table7") == 2
    assert "hidf-table7: neither accepted nor a table in" in capsys.readouterr().err


def test_after_a_run_of_some_rows_only_these_are_compared(suite, capsys):
    """Such a run draws no table; what is told of all data sets is not compared."""
    of_letter(suite)
    stored(suite, datasets=["adult", "letter"], win_tie_lose="random_forest")
    (suite.folder / "tables/hidf-table2.csv").unlink()
    suite.run("letter", "gbdt", [0.5, 0.6])
    assert suite.command("check", "--only", "hidf-table2:adult") == 0
    assert "1 tables, 2 rows, no drift" in capsys.readouterr().out
    assert suite.command("check", "--only", "hidf-table2:letter,adult") == 1
    out = capsys.readouterr().out
    assert "DRIFT hidf-table2: letter / gbdt / accuracy: mean: stored" in out
    assert "adult /" not in out
    assert "all /" not in out
    assert suite.command("check", "--only", "hidf-table2:yeast") == 2
    assert "names rows that hidf-table2 does not have in the suite smoke: yeast" in capsys.readouterr().err


def test_rows_that_are_not_computed_are_drifts(suite):
    of_letter(suite)
    stored(suite, datasets=["adult", "letter"])
    suite.fail("letter", "gbdt")
    found = check(suite.root, suite.name, ["hidf-table2:letter"]).findings
    assert ("letter / gbdt / accuracy", "status", "ok", "failed") in {
        (one.cell, one.column, one.stored, one.new) for one in found if one.is_drift
    }


def test_facts_about_data_are_exact_in_every_suite(make_suite):
    suite = make_suite("quick")
    suite.experiment("hidf-table1", render="statistics", columns={}, metrics=[], options={"facts": {"rows": "rows"}})
    suite.summary("adult")
    suite.stored()
    suite.summary("adult", rows=151)
    assert suite.drifts() == {("adult / rows", "mean")}


def test_nothing_stored_and_nothing_drawn_are_errors_that_say_what_to_do(suite, capsys):
    suite.complete().draw()
    assert suite.command("check") == 2
    assert "nothing is stored for the suite 'smoke'" in capsys.readouterr().err
    table = suite.stored().folder / "tables/hidf-table2.csv"
    table.rename(table.with_name(".hidf-table2.0123.csv"))  # it is being written
    assert suite.command("check") == 2
    assert "snakemake --cores all --config suite=smoke" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metric", "foreign", "expected"),
    [("recall", True, 2 / 40), ("recall", False, 0.005), ("accuracy", True, 0.005), ("accuracy_gap", False, 0.01)],
)
def test_shares_of_few_rows_and_differences_may_move_more(metric, foreign, expected):
    """Of 40 test rows of a thinned class a single one is more than the floor; of a difference both means may move."""
    row = {"metric": metric, "mean": "0.5", "std": "", "n": "3", "n_test": "40"}
    assert allowed(row, foreign, "quick") == pytest.approx(expected)
