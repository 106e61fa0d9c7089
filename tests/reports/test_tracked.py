"""Accepted results in MLflow."""

import shutil
from datetime import datetime

import pytest

from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import CONTENT_DIGEST, read_json, write_signed_json
from cascadeforest.experiments import tracking_store
from cascadeforest.experiments.tracking import SyncReport, sync
from cascadeforest.reports.__main__ import main
from cascadeforest.reports.store import tracked
from cascadeforest.reports.store.accept import accept

#: Two models on one data set, two repeats each, with a summary above; and one table.
N_RUNS = 2 * (1 + 2) + 1


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", raising=False)


@pytest.fixture
def ran(suite):
    """A checkout in which a suite ran and was accepted."""
    suite.complete().draw()
    accept(suite.root, "smoke", "first numbers")
    return suite.root


@pytest.fixture
def clone(ran, tmp_path):
    """A fresh clone: reports, and no results."""
    root = tmp_path / "clone"
    shutil.copytree(ran / "reports", root / "reports")
    return root


def runs_of(root):
    uri = tracking_store.sqlite_uri(root / "results" / "mlflow.db")
    with tracking_store.quiet_mlflow(), tracking_store.open_client(uri) as client:
        ids = [each.experiment_id for each in client.search_experiments()]
        runs = client.search_runs(ids, max_results=100)
    found = {run.data.tags["run_key"]: run for run in runs}
    assert len(found) == len(runs)
    return found


def test_a_fresh_clone_tracks_accepted_results_once(clone, capsys):
    assert main(["track", "--suite", "smoke", "--root", str(clone)]) == 0
    assert capsys.readouterr().out == f"created: {N_RUNS}, replaced: 0, unchanged: 0, deleted: 0\n"
    runs = runs_of(clone)
    assert len(runs) == N_RUNS
    assert {run.data.tags["origin"] for run in runs.values()} == {"accepted"}
    assert runs["smoke/adult/gbdt/1"].info.start_time == 1_780_000_000_000
    # Files have the time of the clone; the table is as old as its acceptance.
    facts = read_json(clone / "reports/smoke/provenance.json")
    accepted_ms = 1000 * datetime.fromisoformat(facts["accepted"]).timestamp()
    assert runs["smoke/hidf-table2"].info.start_time == accepted_ms
    assert tracked.track_accepted(clone, "smoke") == SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=0)


def test_results_of_this_checkout_take_the_place_of_accepted_ones(ran):
    tracked.track_accepted(ran, "smoke")
    report = sync(ran / "results", ["smoke"])
    assert (report.created, report.replaced, report.deleted) == (0, N_RUNS, 0)
    assert {run.data.tags["origin"] for run in runs_of(ran).values()} == {"run"}


def test_a_sync_of_all_results_leaves_accepted_suites(ran):
    """They have no results in the folder, as a suite has whose results were removed."""
    shutil.copytree(ran / "results/smoke", ran / "kept")
    tracked.track_accepted(ran, "smoke")
    shutil.rmtree(ran / "results/smoke")
    other = ran / "results" / "quick"
    shutil.copytree(ran / "kept", other)
    plan = read_json(other / "plan.json")
    write_signed_json(other / "plan.json", plan | {"suite": "quick", "runs": []})
    sync(ran / "results")
    assert sorted(key.partition("/")[0] for key in runs_of(ran)) == ["quick"] * N_RUNS + ["smoke"] * N_RUNS


def test_ui_shows_what_there_is(ran, clone, monkeypatch, capsys):
    """Accepted results in a clone, results of the checkout where the suite ran; it leaves a shared store as it is."""
    shown = []
    monkeypatch.setattr(tracked, "ui", lambda results, suite, port: shown.append((results, suite, port)))
    for root, origin in ((clone, "accepted"), (ran, "run")):
        assert main(["ui", "--suite", "smoke", "--port", "5001", "--root", str(root)]) == 0
        assert {run.data.tags["origin"] for run in runs_of(root).values()} == {origin}
    assert shown == [(root / "results", "smoke", 5001) for root in (clone, ran)]
    assert capsys.readouterr().out.count("The suite smoke did not run here") == 1
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{clone}/shared.db")
    monkeypatch.setattr(tracked, "sync", lambda *_, **__: pytest.fail("a shared store was written"))
    tracked.show(clone, "smoke", 5002)
    assert shown[-1] == (clone / "results", "smoke", 5002)


def test_a_suite_that_was_not_accepted_says_what_to_run(clone):
    with pytest.raises(UserError, match=r"nothing is stored for the suite 'paper'.*make accept SUITE=paper"):
        tracked.track_accepted(clone, "paper")


def test_a_provenance_without_a_time_is_named(clone):
    path = clone / "reports/smoke/provenance.json"
    facts = read_json(path)
    del facts[CONTENT_DIGEST]
    write_signed_json(path, facts | {"accepted": "yesterday"})
    with pytest.raises(DamagedFile, match=r"provenance\.json: accepted is 'yesterday', not a time.*git checkout"):
        tracked.accepted_suite(clone, "smoke")
