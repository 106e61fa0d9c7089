"""Accepting a suite experiment by experiment: what is stored already stays, and nothing contradicts itself."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.reports.conftest import snapshot

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.plan import Experiment, Run, Timing
from cascadeforest.experiments.table_rows import part_of, staying, stays_timed, united
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.check import check
from cascadeforest.reports.store.crate import CRATE
from cascadeforest.reports.store.redraw import redraw_stored
from cascadeforest.reports.store.stored import read_provenance, read_stored

FIRST, SECOND, THIRD, NEVER = "hidf-table2", "ddbf-table1", "mddf-fig2a", "claims"
FIGURE_EXTRAS = ["layer_scores", "margin_ratios"]


def accept_some(suite, *names, message="why"):
    return accept(suite.root, suite.name, message, names)


def run_figure(suite):
    suite.summary("digits")
    suite.run("digits", "mddf_20", [{"accuracy": 0.8, "n_layers": 3}], n_train=70, n_test=30)
    for extra in FIGURE_EXTRAS:
        suite.extra("digits", "mddf_20", extra, train=np.array([0.8, 0.9, 0.9]), test=np.array([0.7, 0.75, 0.8]))


@pytest.fixture
def three(suite):
    """Two tables that share the forest on adult, and a figure, all complete; one that nobody can draw."""
    suite.complete()
    libraries = {"random_forest": ["scikit-learn"], "gcforest": []}
    suite.experiment(SECOND, labels={"random_forest": "RF", "gcforest": "gcForest"}, libraries=libraries)
    suite.run("adult", "gcforest", [0.95, 0.97])
    given = {"repeats": 1, "extras": FIGURE_EXTRAS, "options": {"paper_datasets": ["digits"]}}
    suite.figure(THIRD, "layer_curves", {"mddf": "mdDF"}, datasets=["digits"], **given)
    run_figure(suite)
    suite.experiment(NEVER, kind="claims", status="not implemented", reason="no renderer", columns={}, datasets=[])
    return suite.draw()


def test_only_the_named_experiment_is_stored(three):
    stored = accept_some(three, THIRD)
    assert sorted(snapshot(stored)) == [
        "cells.json.gz",
        "costs.csv",
        "extras/ab/digits-mddf_20-0.layer_scores.npz",
        "extras/ab/digits-mddf_20-0.margin_ratios.npz",
        "figures/mddf-fig2a.csv",
        "provenance.json",
        CRATE,
        "tables/mddf-fig2a.csv",
        "tables/mddf-fig2a.md",
    ]
    assert read_provenance(stored)["tables"] == [THIRD]
    assert read_provenance(stored)["cells"] == 1
    assert list(read_stored(three.root, three.name).runs) == [("digits", "mddf_20")]


def test_what_the_others_lack_does_not_matter_and_what_a_named_one_lacks_is_said(three):
    three.lose("adult", "gbdt")
    (three.folder / "tables/hidf-table2.md").unlink()
    text = three.refused(FIRST)
    assert "gbdt on adult has not run" in text
    assert f"make run SUITE=smoke ONLY='{FIRST}'" in text
    assert "gbdt on adult has not run" in three.refused()
    assert accept_some(three, SECOND, THIRD).is_dir()


@pytest.mark.parametrize("order", [(FIRST, SECOND, THIRD), (THIRD, SECOND, FIRST), (SECOND, THIRD, FIRST)])
def test_one_after_the_other_gives_what_all_at_once_give(three, order):
    at_once = snapshot(accept(three.root, three.name, "why"))
    shutil.rmtree(three.root / "reports/smoke")
    for name in order:
        stored = accept_some(three, name)
    one_by_one = snapshot(stored)
    assert sorted(one_by_one) == sorted(at_once)
    assert {name for name in at_once if at_once[name] != one_by_one[name]} <= {
        "provenance.json",
        CRATE,
    }  # several messages
    assert redraw_stored(three.root, three.name).differences == ()
    before, after = read_results(three.root, three.name), read_stored(three.root, three.name)
    assert (after.runs, after.summaries) == (before.runs, before.summaries)
    assert list(after.experiments.items()) == list(before.experiments.items())


def test_provenance_keeps_the_reasons_of_what_stays(three):
    accept_some(three, FIRST, THIRD, message="first two")
    first = read_provenance(three.root / "reports/smoke")
    accept_some(three, SECOND, message="second")
    facts = read_provenance(accept_some(three, THIRD, message="third anew"))
    assert (facts["message"], facts["accepted_tables"]) == ("third anew", [THIRD])
    earlier = [(entry["message"], entry["tables"]) for entry in facts["earlier"]]
    assert earlier == [("first two", [FIRST]), ("second", [SECOND])]
    assert facts["earlier"][0]["accepted"] == first["accepted"]
    assert sorted(facts["tables"]) == sorted([FIRST, SECOND, THIRD])
    facts = read_provenance(accept_some(three, FIRST, message="first anew"))
    assert [entry["message"] for entry in facts["earlier"]] == ["second", "third anew"]
    facts = read_provenance(accept(three.root, three.name, "all"))
    assert (facts["earlier"], sorted(facts["accepted_tables"])) == ([], sorted([FIRST, SECOND, THIRD]))


def page(suite):
    report = redraw_stored(suite.root, suite.name)
    assert report.differences == ()
    return (report.folder / "index.html").read_text()


@pytest.mark.parametrize(
    ("other", "fields"),
    [
        ({"code_digest": "other"}, "provenance"),
        ({"versions": {"numpy": "9"}}, "provenance"),
        ({"costs": 99.0}, "costs, metrics"),
    ],
)
def test_a_run_that_both_show_must_be_the_same_with_its_costs(three, other, fields):
    """Also where the key is the same: run on another machine, it has other costs."""
    accept_some(three, FIRST, THIRD)
    cost = {"fit_cpu_seconds": other.pop("costs", 1.5)}
    three.run("adult", "random_forest", [{"accuracy": value} | cost for value in (0.80, 0.90)], **other)
    three.draw()
    text = three.refused(SECOND)
    assert f"random_forest on adult is another run now (other {fields}); stored with {FIRST}\n" in text
    assert f"make accept SUITE=smoke ONLY='{FIRST} {SECOND}' MESSAGE='why'" in text
    assert accept_some(three, FIRST, SECOND)
    assert redraw_stored(three.root, three.name).differences == ()


def test_a_run_with_more_repeats_serves_both(three):
    accept_some(three, FIRST)
    for values in ([0.80, 0.90, 0.95], [0.80, 0.90]):
        three.run("adult", "random_forest", values)
        three.draw()
        accept_some(three, SECOND)
        assert len(read_stored(three.root, three.name).runs["adult", "random_forest"].cells) == 3
    assert redraw_stored(three.root, three.name).differences == ()
    result = three.read_run("adult", "random_forest")  # its cells may be cached under other names
    three.write_run(replace(result, cells=tuple(replace(cell, key=f"{cell.key}-9") for cell in result.cells)))
    accept_some(three, SECOND)
    three.run("adult", "random_forest", [0.80, 0.70])
    three.draw()
    assert "(other metrics)" in three.refused(SECOND)


def test_arrays_and_data_that_both_show_must_be_the_same(three):
    accept_some(three, FIRST, THIRD)
    three.summary("adult", note="a note")
    three.draw()
    assert f"adult is prepared otherwise now (other note); stored with {FIRST}" in three.refused(SECOND)
    three.experiments[SECOND] |= {"datasets": ["digits"], "columns": {"mddf": "mddf_20"}, "labels": {"mddf": "mdDF"}}
    three.experiments[SECOND] |= {"libraries": {}, "repeats": {"digits": 1}, "extras": {}, "published_as": {}}
    three.write_plan()
    three.extra("digits", "mddf_20", "layer_scores", train=np.array([0.1]), test=np.array([0.1]))
    three.draw()
    assert f"mddf_20 on digits is another run now (other extras); stored with {THIRD}" in three.refused(SECOND)


def test_what_stays_keeps_the_bounds_that_it_was_made_with(three):
    def bound(trees, **repeats):
        three.experiments[FIRST] |= {"bounds": {"gbdt": {"adult": {"n_estimators": trees}}}, "all_repeats": repeats}
        three.write_plan()
        three.draw()

    bound({"here": 10, "unbounded": 500}, adult=7)
    accept_some(three, FIRST)
    before = snapshot(three.root / "reports/smoke/tables")
    bound({"here": 20, "unbounded": 400}, adult=2)
    accept_some(three, SECOND)
    assert redraw_stored(three.root, three.name).differences == ()
    after = snapshot(three.root / "reports/smoke/tables")
    assert {name: after[name] for name in before} == before
    notes = before[f"{FIRST}.md"].decode()
    assert r"GBDT n\_estimators 10 of 500" in notes
    assert "; 2 of 7 repeats." in notes


def test_stored_tables_that_contradict_can_be_given_up(three):
    accept_some(three, FIRST, THIRD)
    three.run("adult", "random_forest", [0.80, 0.70])
    three.draw()
    assert f"or give them up: DROP='{FIRST}'" in three.refused(SECOND)
    with pytest.raises(UserError, match=rf"--drop names {SECOND}, not stored\. Stored are {FIRST}, {THIRD}"):
        accept(three.root, three.name, "why", [SECOND], [SECOND])
    with pytest.raises(UserError, match="without --only: then nothing stays anyway"):
        accept(three.root, three.name, "why", drop=[FIRST])
    accept(three.root, three.name, "why", [SECOND], [FIRST])
    assert read_provenance(three.root / "reports/smoke")["tables"] == [SECOND, THIRD]
    assert redraw_stored(three.root, three.name).differences == ()


@pytest.mark.parametrize("how", ["undeclared", "not implemented"])
def test_what_the_configuration_no_longer_has_is_not_dropped_silently(three, how):
    accept_some(three, FIRST)
    if how == "undeclared":
        del three.experiments[FIRST]
    else:
        three.experiments[FIRST]["status"] = "not implemented"
    three.write_plan()
    three.draw()
    text = three.refused(THIRD)
    assert f"Stored, but the configuration no longer has it or cannot draw it, so it cannot stay:\n  {FIRST}\n" in text


def test_what_stays_is_not_touched(three):
    """So that `render` and `check` still see a stored table that its cells do not give."""
    stored = accept_some(three, FIRST)
    table = stored / f"tables/{FIRST}.csv"
    table.write_text(table.read_text().replace("0.91,", "0.99,"))
    three.published(FIRST, ["adult,random_forest,,accuracy,11.11,,,,percent"])
    before = snapshot(stored)
    accept_some(three, THIRD)
    after = snapshot(stored)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"cells.json.gz", "costs.csv", "provenance.json", CRATE}


def test_failures_of_others_are_not_shown(three):
    three.fail("adult", "gbdt")
    three.draw()
    accept_some(three, SECOND)
    assert "MemoryError" not in page(three)


def test_the_command_takes_several_but_none_that_is_unknown_or_cannot_be_drawn(three, capsys):
    assert three.command("accept", "--message", "why", "--only", "hidf-table9") == 2
    assert "--only is 'hidf-table9'; the suite smoke declares hidf-table2, ddbf-table1" in capsys.readouterr().err
    assert three.command("accept", "--message", "why", "--only", FIRST, THIRD) == 0
    assert read_stored(three.root, "smoke").drawable() == [FIRST, THIRD]
    assert "claims (Test accuracy) is declared but cannot be drawn" in three.refused(NEVER)


def test_the_page_names_what_is_not_accepted_yet(three):
    accept_some(three, FIRST, THIRD)
    words = "2 complete, 0 in part, 1 not implemented; not accepted yet, and not shown here: ddbf-table1"
    assert words in page(three)
    accept(three.root, three.name, "all")
    assert "ot accepted yet" not in page(three)


def test_the_page_and_a_check_name_what_is_not_accepted_yet(three):
    """However it looks: a suite that runs for days is half drawn on most of them."""
    accept_some(three, FIRST)

    def drifts():
        report = check(three.root, three.name)
        assert report.tables == (FIRST,)
        assert [f.table for f in report.findings if not f.is_drift] == [SECOND, THIRD]
        return [f.table for f in report.findings if f.is_drift]

    assert drifts() == []
    first = check(three.root, three.name).findings[0]
    assert "note  ddbf-table1: the whole table: file: stored not accepted yet" in str(first)
    three.plan_run("adult", "gcforest", params={"n_estimators": 5})  # a run of another configuration
    assert drifts() == []
    (three.folder / f"tables/{THIRD}.csv").write_text("dataset,model,condition,metric\n")  # not what its cells say
    assert drifts() == []
    three.plan_run("adult", "gbdt", params={"n_estimators": 5})
    assert drifts() == [FIRST]


def test_a_check_fails_for_a_table_that_was_accepted_and_is_gone(three):
    accept(three.root, three.name, "all")
    (three.folder / f"tables/{SECOND}.csv").unlink()
    assert check(three.root, three.name).has_drift


@pytest.fixture
def by_rows(suite):
    """A table of three rows, two of them bounded, is stored; now it is declared with all rows of them, and a column."""
    suite.complete()
    old = {"datasets": ["adult+rows-50", "wine+rows-50", "yeast"], "repeats": 2}
    bounds = {"gbdt": {row: {"n_estimators": {"here": 10, "unbounded": 500}} for row in old["datasets"][:2]}}
    suite.experiment(FIRST, **old, bounds=bounds, published_as={"adult+rows-50": "adult", "wine+rows-50": "wine"})
    for k, dataset in enumerate(old["datasets"]):
        suite.summary(dataset)
        suite.run(dataset, "random_forest", [0.71 + 0.01 * k, 0.73])
        suite.run(dataset, "gbdt", [0.61 + 0.01 * k, 0.63])
    accept(suite.draw().root, suite.name, "bounded")
    suite.experiments[FIRST] |= {
        "datasets": ["adult", "wine", "yeast", "iris"],
        "repeats": {"adult": 2, "wine": 2, "yeast": 2, "iris": 2},
        "columns": {"random_forest": "random_forest", "gbdt": "gbdt", "mlp": "mlp"},
        "labels": {"random_forest": "RF", "gbdt": "GBDT", "mlp": "MLP"},
        "libraries": {"random_forest": [], "gbdt": [], "mlp": []},
        "designs": dict.fromkeys(["adult", "wine", "yeast", "iris"], "given"),
        "bounds": {},
        "published_as": {},
    }
    suite.write_plan()
    suite.run("adult", "mlp", [0.85, 0.87])
    return suite


def lines(suite, name=FIRST):
    text = (suite.root / f"reports/smoke/tables/{name}.md").read_text()
    cells = [line.split(" | ") for line in text.split("<details>")[0].splitlines() if "| reproduced |" in line]
    return {own[0].removeprefix("| ").replace("\\", ""): own[2:-1] for own in cells}


def test_rows_of_a_table_are_accepted_and_its_other_rows_stay(by_rows):
    before = lines(by_rows)
    accept_some(by_rows, f"{FIRST}:adult", message="adult in full")
    after = lines(by_rows)
    assert list(after) == ["adult", "wine+rows-50", "yeast", "iris"]
    assert [cell.strip("*• ") for cell in after["adult"]] == ["85.00 ± 7.07", "91.00 ± 1.41", "86.00 ± 1.41"]
    for dataset in ("wine+rows-50", "yeast"):
        assert after[dataset] == [*before[dataset], "*not run*"]
    assert after["iris"][0] == "*unavailable: not run*"
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()
    facts = read_provenance(by_rows.root / "reports/smoke")
    assert facts["accepted_tables"] == [f"{FIRST}:adult"]
    left = [(entry["message"], entry["tables"]) for entry in facts["earlier"]]
    assert left == [("bounded", [f"{FIRST}:wine+rows-50,yeast"])]
    experiment = read_stored(by_rows.root, "smoke").experiments[FIRST]
    assert experiment.published_as["wine+rows-50"] == "wine"
    assert list(experiment.bounds["gbdt"]) == ["wine+rows-50"]
    # What is stored by rows stays with a later table, and goes when it is accepted as a whole.
    for dataset in ("wine", "yeast", "iris"):
        by_rows.summary(dataset)
        for model in ("random_forest", "gbdt", "mlp"):
            by_rows.run(dataset, model, [0.5, 0.6])
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:wine,iris", message="two more")
    assert list(lines(by_rows)) == ["adult", "wine", "yeast", "iris"]
    earlier = read_provenance(by_rows.root / "reports/smoke")["earlier"]
    assert [entry["tables"] for entry in earlier] == [[f"{FIRST}:yeast"], [f"{FIRST}:adult"]]
    accept_some(by_rows, FIRST)
    assert read_provenance(by_rows.root / "reports/smoke")["earlier"] == []
    assert "not run" not in (by_rows.root / f"reports/smoke/tables/{FIRST}.md").read_text()


def test_a_column_with_fewer_repeats_in_new_rows_keeps_all_in_older_ones(by_rows):
    by_rows.experiments[FIRST]["fewer_repeats"] = {name: {"gbdt": 1} for name in ("adult", "wine", "yeast", "iris")}
    by_rows.write_plan()
    by_rows.run("adult", "gbdt", [0.90])
    by_rows.plan_run("adult", "gbdt")  # another table shows two repeats
    accept_some(by_rows, f"{FIRST}:adult", message="adult in full")
    after = {name: [cell.strip("*• ") for cell in cells] for name, cells in lines(by_rows).items()}
    assert after["adult"] == ["85.00 ± 7.07", "90.00", "86.00 ± 1.41"]
    assert "±" in after["yeast"][1]
    experiment = read_stored(by_rows.root, "smoke").experiments[FIRST]
    assert [experiment.n_repeats(name, "gbdt") for name in ("adult", "yeast")] == [1, 2]
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()


def test_a_row_is_complete_without_a_column_that_the_suite_leaves_out(by_rows):
    by_rows.experiments[FIRST]["fewer_repeats"] = {"adult": {"gbdt": 0}}
    by_rows.write_plan()
    by_rows.lose("adult", "gbdt")
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:adult", message="adult without GBDT")
    stored = by_rows.root / f"reports/smoke/tables/{FIRST}.md"
    assert "| 85.00 ± 7.07 | *left out of this table* | 86.00 ± 1.41 | 2 × 50 |" in stored.read_text()
    assert "GBDT 0 of 2 repeats on adult" in stored.read_text()
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()


def test_a_table_in_parts_is_drawn_anew_if_another_one_brings_runs_that_it_shows(by_rows):
    only_forest = {"labels": {"random_forest": "RF"}, "libraries": {"random_forest": []}}
    by_rows.experiment(SECOND, datasets=["iris", "adult"], **only_forest)
    by_rows.summary("iris")
    by_rows.run("iris", "random_forest", [0.5, 0.6])
    by_rows.draw()
    accept_some(by_rows, f"{SECOND}:iris", message="one row")
    table = by_rows.root / f"reports/smoke/tables/{SECOND}.md"
    assert "| adult | *unavailable: not run* |" in table.read_text()
    whole = by_rows.read_run("adult", "random_forest")
    by_rows.experiments[FIRST]["fewer_repeats"] = {"adult": {"random_forest": 1}}
    by_rows.write_plan()
    by_rows.write_run(replace(whole, run=replace(whole.run, repeats=(0,)), cells=whole.cells[:1]))
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:adult", message="adult, one repeat of the forest")
    assert "| adult | *unavailable: not run* |" in table.read_text()  # which shows two
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()
    by_rows.write_run(whole)
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:adult", message="adult in full")
    assert "| adult | 85.00 ± 7.07 |" in table.read_text()
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()


def test_a_table_is_drawn_anew_if_another_one_brings_the_task_of_a_row_that_it_lacks(by_rows):
    both = {"columns": {"forest": "forest"}, "labels": {"forest": "F"}, "libraries": {"forest": []}}
    by_rows.experiment(SECOND, datasets=["iris", "adult"], metrics=["accuracy", "rmse"], **both)
    by_rows.summary("iris")
    by_rows.run("iris", "forest", [0.5, 0.6])
    by_rows.draw()
    accept_some(by_rows, f"{SECOND}:iris", message="one row")
    table = by_rows.root / f"reports/smoke/tables/{SECOND}.csv"
    assert "adult,forest,,rmse,,,,,,,,,unavailable,not run" in table.read_text()
    accept_some(by_rows, f"{FIRST}:adult", message="another model on adult, which is one of classes")
    assert "adult,forest,,rmse" not in table.read_text()
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()
    # What is known of the task stays when the table that brought it goes.
    by_rows.summary("wine")
    for model in ("random_forest", "gbdt", "mlp"):
        by_rows.run("wine", model, [0.5, 0.6])
    by_rows.draw()
    accept(by_rows.root, by_rows.name, "wine in place of adult", [f"{FIRST}:wine"], [f"{FIRST}:adult"])
    assert "adult,forest,,rmse" not in table.read_text()
    assert redraw_stored(by_rows.root, by_rows.name).differences == ()


def test_a_row_whose_data_are_no_longer_declared_is_given_up_by_name(by_rows):
    accept_some(by_rows, f"{FIRST}:adult")
    assert "wine+rows-50" in lines(by_rows)
    by_rows.experiments[FIRST] |= {"datasets": ["adult", "yeast"], "repeats": {"adult": 2, "yeast": 2}}
    by_rows.write_plan()
    by_rows.draw()
    text = by_rows.refused(f"{FIRST}:adult")
    assert f"to be accepted, since the configuration has changed:\n  random_forest on wine+rows-50 of {FIRST}\n" in text
    assert f"DROP='{FIRST}:wine+rows-50'" in text
    accept(by_rows.root, by_rows.name, "why", [f"{FIRST}:adult"], [f"{FIRST}:wine+rows-50"])
    assert list(lines(by_rows)) == ["adult", "yeast"]
    assert ("wine+rows-50", "gbdt") not in read_stored(by_rows.root, "smoke").runs


def test_rows_that_are_not_there_or_contradict_what_stays_are_refused(by_rows):
    assert f"--only names rows that {FIRST} does not have in the suite smoke: abalone." in by_rows.refused(
        f"{FIRST}:abalone"
    )
    assert "gbdt on iris has not run" in by_rows.refused(f"{FIRST}:iris")
    assert f"make run SUITE=smoke ONLY='{FIRST}:iris'" in by_rows.refused(f"{FIRST}:iris")
    by_rows.experiment(SECOND, labels={"gbdt": "GBDT"}, libraries={"gbdt": []}, datasets=["yeast"], repeats=2)
    by_rows.run("yeast", "gbdt", [0.1, 0.2])
    by_rows.draw()
    text = by_rows.refused(f"{SECOND}:yeast")
    assert f"gbdt on yeast is another run now (other metrics); stored with {FIRST}" in text
    assert f"ONLY='{FIRST}:yeast {SECOND}:yeast' MESSAGE='why'" in text


def test_stored_runs_that_would_no_longer_be_shown_are_given_up_by_name_only(by_rows):
    by_rows.experiments[FIRST]["columns"]["gbdt"] = "gbdt_2"  # the column has another model now
    by_rows.write_plan()
    by_rows.run("adult", "gbdt_2", [0.5, 0.6])
    by_rows.draw()
    text = by_rows.refused(f"{FIRST}:adult")
    for dataset in ("wine+rows-50", "yeast"):
        assert f"\n  gbdt on {dataset} of {FIRST}\n" in text
    assert text.endswith(f"DROP='{FIRST}:gbdt'")
    for drop, words in (
        ([f"{FIRST}:gbdt_3"], f"--drop names gbdt_3, not stored with {FIRST}. Stored are adult"),
        ([FIRST, f"{SECOND}:adult"], f"--drop names {SECOND}, not stored"),
    ):
        with pytest.raises(UserError, match=words):
            accept(by_rows.root, by_rows.name, "why", [f"{FIRST}:adult"], drop)
    stored = accept(by_rows.root, by_rows.name, "why", [f"{FIRST}:adult"], [f"{FIRST}:gbdt"])
    assert lines(by_rows)["yeast"][1] == "*not run*"
    assert ("yeast", "gbdt") not in read_stored(by_rows.root, "smoke").runs
    assert ("yeast", "random_forest") in read_stored(by_rows.root, "smoke").runs
    assert "yeast,gbdt," in (stored / "costs.csv").read_text()  # what it took is known, until it is measured again


def test_a_table_of_rows_says_what_is_not_accepted_yet_and_which_rows_are_older(by_rows):
    accept_some(by_rows, f"{FIRST}:adult")
    assert "In part: not accepted yet: iris." in page(by_rows)
    words = "Rows of an earlier acceptance, with models, code and bounds of then: wine+rows-50, yeast."
    assert words in (by_rows.root / f"reports/smoke/tables/{FIRST}.md").read_text()


def test_rows_whose_data_were_missing_are_not_accepted_yet_and_stored_rows_stay_when_data_go_missing(by_rows):
    by_rows.experiments[FIRST]["absent"] = {"yeast": "not on this machine"}
    by_rows.write_plan()
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:adult")
    assert lines(by_rows)["yeast"][0] == "73.00 ± 0.00"
    accept(by_rows.root, by_rows.name, "why", [f"{FIRST}:adult"], [f"{FIRST}:yeast"])
    assert "not on this machine" in lines(by_rows)["yeast"][0]
    by_rows.experiments[FIRST]["absent"] = {}
    by_rows.write_plan()
    by_rows.draw()
    accept_some(by_rows, f"{FIRST}:adult")
    assert lines(by_rows)["yeast"][0] == "*unavailable: not run*"


def test_a_whole_table_does_not_lose_stored_rows_whose_data_are_missing(by_rows):
    by_rows.experiments[FIRST]["datasets"] = ["adult", "yeast"]
    by_rows.experiments[FIRST]["absent"] = {"yeast": "not on this machine"}
    by_rows.write_plan()
    by_rows.draw()
    words = by_rows.refused(FIRST)
    assert f"yeast of {FIRST}: not on this machine" in words
    assert words.endswith(f"DROP='{FIRST}'")
    assert f"yeast of {FIRST}: not on this machine" in by_rows.refused()  # the whole suite
    accept(by_rows.root, by_rows.name, "why", [FIRST], [FIRST])
    assert "not on this machine" in lines(by_rows)["yeast"][0]
    accept_some(by_rows, FIRST)  # nothing is lost any more


def test_a_row_of_all_data_that_are_missing_does_not_replace_one_of_fewer_rows(by_rows):
    by_rows.experiments[FIRST] |= {"datasets": ["adult", "wine"], "absent": {"wine": "not on this machine"}}
    by_rows.write_plan()
    by_rows.draw()
    assert f"wine+rows-50 of {FIRST}: not on this machine" in by_rows.refused(FIRST)


def test_what_was_timed_in_turn_on_a_row_goes_with_it():
    def timing(dataset, model="m"):
        run = Run("smoke", dataset, model, "classification", "somewhere:M", {}, (0,))
        return Timing(FIRST, dataset, dataset, ("c",), (run,), "c", (0,))

    earlier = Experiment(FIRST, "hidf", "table", "T", "scores", columns={"c": "m"}, datasets=("a+rows-5", "b"))
    declared = replace(earlier, datasets=("a", "b"))
    stay = staying(earlier, ["a"], declared)
    both = united({FIRST: part_of(declared, ["a"])}, {FIRST: stay}, {FIRST: declared})
    found = [stays_timed(timing(name), {FIRST: stay}, both) for name in ("a+rows-5", "b", "untimed")]
    assert found == [False, True, True]
    assert not stays_timed(timing("b", "another"), {FIRST: stay}, both)


def test_a_name_with_a_colon_needs_rows(three):
    assert f"'{FIRST}:' names no row" in three.refused(f"{FIRST}:")
