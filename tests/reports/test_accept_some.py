"""Accepting a suite experiment by experiment: what is stored already stays, and nothing contradicts itself."""

import json
import shutil

import numpy as np
import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.reports.__main__ import main
from cascadeforest.reports.accept import accept
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.regression_check import check
from cascadeforest.reports.results import read_results, read_stored
from cascadeforest.reports.stored import render_stored
from cascadeforest.reports.table import make_table, write_table

FIRST, SECOND, THIRD = "hidf-table2", "ddbf-table1", "mddf-fig2a"


def draw(suite):
    results = read_results(suite.root, suite.name)
    for name in results.drawable():
        write_table(name, make_table(name, results).files(), suite.folder / "tables")
    for name in results.figures():
        write_figure(name, make_figure(name, results).files(), suite.folder / "figures")


def accept_some(suite, *names, message="why"):
    return accept(suite.root, suite.name, message, names)


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run_figure(suite):
    suite.summary("digits")
    suite.run("digits", "mddf_20", [{"accuracy": 0.8, "n_layers": 3}], n_train=70, n_test=30)
    suite.extra("digits", "mddf_20", "layer_scores", train=np.array([0.8, 0.9, 0.9]), test=np.array([0.7, 0.75, 0.8]))


def provenance(stored):
    return json.loads((stored / "provenance.json").read_text())


@pytest.fixture
def three(suite):
    """Two tables that share the forest on adult, and a figure; all complete."""
    suite.complete()
    suite.experiment(
        SECOND,
        columns={"random_forest": "random_forest", "gcforest": "gcforest"},
        labels={"random_forest": "RF", "gcforest": "gcForest"},
        libraries={"random_forest": ["scikit-learn"], "gcforest": []},
    )
    suite.run("adult", "gcforest", [0.95, 0.97])
    suite.experiment(
        THIRD,
        kind="figure",
        render="layer_curves",
        columns={"mddf": "mddf_20"},
        labels={"mddf": "mdDF"},
        libraries={"mddf": []},
        datasets=["digits"],
        repeats={"digits": 1},
        extras=["layer_scores"],
        options={"curves": ["accuracy"], "paper_datasets": ["digits"]},
    )
    run_figure(suite)
    draw(suite)
    return suite


def test_only_the_named_experiment_is_stored(three):
    stored = accept_some(three, THIRD)
    assert sorted(snapshot(stored)) == [
        "cells.json.gz",
        "extras/ab/digits-mddf_20.layer_scores.npz",
        *(f"figures/mddf-fig2a.{suffix}" for suffix in ("csv", "png", "svg")),
        "index.html",
        "provenance.json",
        *(f"tables/mddf-fig2a.{suffix}" for suffix in ("csv", "md", "tex")),
    ]
    assert provenance(stored)["tables"] == [THIRD]
    assert provenance(stored)["cells"] == 1
    assert list(read_stored(three.root, three.name).runs) == [("digits", "mddf_20")]


def test_what_the_others_lack_does_not_matter(three):
    (three.folder / "runs/adult/gbdt.json").unlink()
    (three.folder / "tables/hidf-table2.md").unlink()
    with pytest.raises(UserError, match="gbdt on adult has not run"):
        accept_some(three, FIRST)
    with pytest.raises(UserError, match="gbdt on adult has not run"):
        accept(three.root, three.name, "why")
    assert accept_some(three, SECOND, THIRD).is_dir()


def test_an_incomplete_experiment_says_how_to_run_it(three):
    (three.folder / "runs/adult/gbdt.json").unlink()
    with pytest.raises(UserError, match=f"snakemake {FIRST} --cores all --config suite=smoke"):
        accept_some(three, FIRST)


@pytest.mark.parametrize("order", [(FIRST, SECOND, THIRD), (THIRD, SECOND, FIRST), (SECOND, THIRD, FIRST)])
def test_one_after_the_other_gives_what_all_at_once_give(three, order):
    at_once = snapshot(accept(three.root, three.name, "why"))
    shutil.rmtree(three.root / "reports/smoke")
    for name in order:
        stored = accept_some(three, name)
    one_by_one = snapshot(stored)
    assert sorted(one_by_one) == sorted(at_once)
    differing = {name for name in at_once if at_once[name] != one_by_one[name]}
    assert differing <= {"cells.json.gz", "provenance.json"}  # order of runs in the plan; several messages
    assert render_stored(three.root, three.name).differences == ()
    before, after = read_results(three.root, three.name), read_stored(three.root, three.name)
    assert (after.runs, after.summaries) == (before.runs, before.summaries)
    assert list(after.experiments.items()) == list(before.experiments.items())


def test_provenance_keeps_the_reasons_of_what_stays(three):
    accept_some(three, FIRST, THIRD, message="first two")
    first = provenance(three.root / "reports/smoke")
    accept_some(three, SECOND, message="second")
    facts = provenance(accept_some(three, THIRD, message="third anew"))
    assert facts["message"] == "third anew"
    assert [(entry["message"], entry["tables"]) for entry in facts["earlier"]] == [
        ("first two", [FIRST]),
        ("second", [SECOND]),
    ]
    assert facts["earlier"][0]["accepted"] == first["accepted"]
    assert provenance(accept(three.root, three.name, "all"))["earlier"] == []


def test_a_run_that_both_show_must_be_the_same(three):
    accept_some(three, FIRST)
    before = snapshot(three.root / "reports/smoke")
    three.run("adult", "random_forest", [0.1, 0.2], key="another code")
    draw(three)
    with pytest.raises(UserError, match=f"random_forest on adult was run by another code; shown by {FIRST}"):
        accept_some(three, SECOND)
    assert snapshot(three.root / "reports/smoke") == before
    accept_some(three, FIRST, SECOND)
    accept_some(three, THIRD)  # shares no run
    assert render_stored(three.root, three.name).differences == ()


def test_a_run_with_more_repeats_serves_both(three):
    accept_some(three, FIRST)
    three.run("adult", "random_forest", [0.80, 0.90, 0.95])
    draw(three)
    accept_some(three, SECOND)
    assert len(read_stored(three.root, three.name).runs["adult", "random_forest"]["cells"]) == 3
    three.run("adult", "random_forest", [0.80, 0.90])
    draw(three)
    accept_some(three, SECOND)
    assert len(read_stored(three.root, three.name).runs["adult", "random_forest"]["cells"]) == 3
    assert render_stored(three.root, three.name).differences == ()


def test_data_that_both_show_must_be_the_same(three):
    accept_some(three, FIRST)
    three.summary("adult", digest="0ther")
    three.run("adult", "random_forest", [0.80, 0.90], data_digest="0ther")
    three.run("adult", "gcforest", [0.95, 0.97], data_digest="0ther")
    draw(three)
    with pytest.raises(UserError, match=f"adult was prepared otherwise; shown by {FIRST}"):
        accept_some(three, SECOND)


def test_the_suite_must_have_the_same_bounds(three):
    accept_some(three, FIRST)
    plan = three.folder / "plan.json"
    content = json.loads(plan.read_text())
    content["suite_config"]["caps"] = {"n_estimators": 7}
    plan.write_text(json.dumps(content))
    draw(three)
    with pytest.raises(
        UserError, match=r"the suite's configuration is another one now \(caps\)(.|\n)*removing reports/smoke"
    ):
        accept_some(three, SECOND)
    assert accept_some(three, FIRST, SECOND).is_dir()  # nothing stays that had other bounds


def test_what_the_configuration_no_longer_has_does_not_stay(three):
    accept_some(three, FIRST)
    del three.experiments[FIRST]
    three.plan_run("digits", "mddf_20")
    run_figure(three)
    draw(three)
    assert sorted(read_stored(three.root, accept_some(three, THIRD).name).experiments) == [THIRD]


def test_an_unknown_experiment_is_an_error(three, capsys):
    arguments = ["accept", "--suite", "smoke", "--message", "why", "--root", str(three.root), "--only", "hidf-table9"]
    assert main(arguments) == 2
    assert "--only is 'hidf-table9'; the suite smoke declares hidf-table2, ddbf-table1" in capsys.readouterr().err


def test_the_command_takes_several(three, capsys):
    arguments = ["accept", "--suite", "smoke", "--message", "why", "--root", str(three.root), "--only", FIRST, THIRD]
    assert main(arguments) == 0
    assert list(read_stored(three.root, "smoke").experiments) == [FIRST, THIRD]


def test_the_page_names_what_is_not_accepted_yet(three):
    page = (accept_some(three, FIRST, THIRD) / "index.html").read_text()
    assert "2 complete, 0 in part, 0 not implemented</a>; 1 of the suite not accepted yet" in page
    assert 'Not accepted yet, and not shown here: <span class="id">ddbf-table1</span>.' in page
    assert "ot accepted yet" not in (accept(three.root, three.name, "all") / "index.html").read_text()


def test_a_check_notes_what_is_not_accepted_yet(three):
    accept_some(three, FIRST)
    report = check(three.root, three.name)
    assert not report.has_drift
    assert [(finding.table, finding.cell) for finding in report.findings] == [
        (SECOND, "the whole table"),
        (THIRD, "the whole table"),
    ]
    assert report.tables == (FIRST,)
    accept(three.root, three.name, "all")
    (three.folder / f"tables/{SECOND}.csv").unlink()
    assert check(three.root, three.name).has_drift
