"""MLflow mirrors the result files: nothing twice, nothing lost, whatever interrupted it."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, stdev

import psutil
import pytest

from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.typed_json import to_json
from cascadeforest.experiments import run_records, tracking_store
from cascadeforest.experiments.records import Failure, Failures
from cascadeforest.experiments.run_records import group_records, read_drawing, read_suite, table_records
from cascadeforest.experiments.tracking import SyncReport, sync
from cascadeforest.experiments.tracking_view import ui
from cascadeforest.experiments.typed_files import write_typed

from .made_results import N_RUNS, REPEATS, cell, run_of, store_client, write_plan, write_run, write_suite

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def write_failures(path, *failures):
    write_typed(path, Failures("abalone", "rf10", failures))


@contextmanager
def client_of(results):
    with store_client(tracking_store.sqlite_uri(results / "mlflow.db")) as client:
        yield client


def runs_of(results, suite):
    """All live runs of a suite, as a list: doubles would show."""
    with client_of(results) as client:
        ids = [each.experiment_id for each in client.search_experiments()]
        return list(client.search_runs(ids, filter_string=f"tags.suite = '{suite}'", max_results=1_000))


def by_key(runs):
    keys = [run.data.tags["run_key"] for run in runs]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, runs, strict=True))


def content(runs):
    """What must not depend on when and how often a store was filled."""
    shown = {}
    for key, run in by_key(runs).items():
        info = (run.info.run_name, run.info.status, run.info.start_time, run.info.end_time)
        shown[key] = (info, run.data.metrics, run.data.params, run.data.tags["result_sha"])
    return shown


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One store for most tests, since making one takes seconds; each test brings a suite of its own."""
    results = tmp_path_factory.mktemp("shared") / "results"
    write_suite(results, "quick")
    report = sync(results)
    assert report == SyncReport(created=N_RUNS, replaced=0, unchanged=0, deleted=0)
    return results


@pytest.fixture(autouse=True)
def _no_server(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", raising=False)


def test_one_run_for_each_cell_each_pair_and_each_table(shared):
    pairs = ["digits+irrelevant/hidf", "digits+irrelevant/rf10", "abalone/rf10"]
    expected = {f"quick/{pair}" for pair in pairs} | {f"quick/{pair}/{r}" for pair in pairs for r in range(REPEATS)}
    assert set(by_key(runs_of(shared, "quick"))) == expected | {"quick/hidf-table2"}
    with client_of(shared) as client:
        names = {each.experiment_id: each.name for each in client.search_experiments()}
    places = {run.data.tags["run_key"]: names[run.info.experiment_id] for run in runs_of(shared, "quick")}
    assert places == dict.fromkeys(expected, "cells") | {"quick/hidf-table2": "tables"}


def test_one_search_finds_a_model_on_a_data_set_under_short_names(shared):
    search = "tags.model = 'hidf' AND tags.dataset = 'digits' AND tags.suite = 'quick'"
    with client_of(shared) as client:
        cells = client.get_experiment_by_name("cells").experiment_id
        found = client.search_runs([cells], filter_string=search)
        first = client.search_runs([cells], filter_string=f"{search} AND tags.tables LIKE '%mddf-table1%'")
    pair = "hidf · digits+irrelevant"
    assert {run.info.run_name for run in found} == {pair, f"{pair} · 0", f"{pair} · 1"}
    # The second table shows one repeat only.
    assert {run.info.run_name for run in first} == {pair, f"{pair} · 0"}
    tags = by_key(found)["quick/digits+irrelevant/hidf"].data.tags
    expected = {"paper": "hidf mddf", "tables": "hidf-table2 mddf-table1", "variant": "digits+irrelevant"}
    expected |= {"repeats": "2", "level": "summary", "origin": "run", "label": "hidf"}
    assert {name: tags[name] for name in expected} == expected


def test_a_repeat_carries_the_numbers_of_its_cell(shared):
    run = by_key(runs_of(shared, "quick"))["quick/digits+irrelevant/hidf/1"]
    source = cell("digits+irrelevant", "hidf", 1)
    assert {name: run.data.metrics[name] for name in source.metrics} == source.metrics
    costs = ("fit_wall_seconds", "fit_cpu_seconds", "profiler_fit_peak_mib")
    assert [run.data.metrics[name] for name in costs] == [1.6, 1.5, 3.5]
    assert run.data.params == {"n_estimators": "10", "max_depth": "None", "random_state": "8", "grid": "[1, 2]"}
    expected = {"paper": "hidf", "dataset": "digits", "variant": "digits+irrelevant", "model": "hidf", "suite": "quick"}
    expected["tables"] = "hidf-table2"
    expected |= {"repeat": "1", "level": "repeat", "status": "ok", "git_commit": "abc123", "code_digest": "c" * 64}
    assert {name: run.data.tags[name] for name in expected} == expected
    assert (run.info.status, run.info.start_time, run.info.end_time) == (
        "FINISHED",
        1_700_000_001_000,
        1_700_000_001_500,
    )


def test_a_summary_holds_mean_and_sample_deviation_and_owns_its_repeats(shared):
    runs = by_key(runs_of(shared, "quick"))
    parent = runs["quick/digits+irrelevant/rf10"]
    values = [cell("digits+irrelevant", "rf10", r).metrics["accuracy"] for r in range(REPEATS)]
    assert parent.data.metrics["accuracy"] == pytest.approx(fmean(values), abs=1e-12)
    assert parent.data.metrics["accuracy_std"] == pytest.approx(stdev(values), abs=1e-12)
    assert parent.data.metrics["n_repeats"] == REPEATS
    assert "random_state" not in parent.data.params  # it differs between the repeats
    assert parent.data.params["n_estimators"] == "10"
    assert (parent.info.start_time, parent.info.end_time) == (1_700_000_000_000, 1_700_000_001_500)
    children = {
        run.data.tags["run_key"]
        for run in runs.values()
        if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id
    }
    assert children == {f"quick/digits+irrelevant/rf10/{r}" for r in range(REPEATS)}


def test_a_curve_is_one_metric_with_the_layer_as_step(shared):
    run = by_key(runs_of(shared, "quick"))["quick/digits+irrelevant/hidf/0"]
    with client_of(shared) as client:
        history = client.get_metric_history(run.info.run_id, "accuracy_per_layer")
    assert sorted((point.step, point.value) for point in history) == [(1, 0.5), (2, 0.7), (3, 0.6)]
    # The model's own accuracy must not be that of the last layer.
    assert run.data.metrics["accuracy"] == cell("digits+irrelevant", "hidf", 0).metrics["accuracy"]


def test_the_data_sets_name_finds_the_runs_and_their_training_and_test_parts(shared):
    with client_of(shared) as client:
        ids = [each.experiment_id for each in client.search_experiments()]
        found = client.search_runs(ids, filter_string="dataset.name = 'abalone' AND tags.suite = 'quick'")
    assert {run.data.tags["dataset"] for run in found} == {"abalone"}
    parts = found[0].inputs.dataset_inputs
    digests = {part.tags[0].value: part.dataset.digest for part in parts}
    assert digests == {"test": f"{'d' * 12}-test", "train": f"{'d' * 12}-train"}
    profiles = {part.tags[0].value: json.loads(part.dataset.profile) for part in parts}
    assert profiles == {"test": {"num_rows": 8, "num_features": 7}, "train": {"num_rows": 20, "num_features": 7}}


def test_mlflow_reads_the_schema_of_a_data_set_input(shared):
    from mlflow.data.schema import TensorDatasetSchema

    run = by_key(runs_of(shared, "quick"))["quick/abalone/rf10/0"]
    schema = TensorDatasetSchema.from_dict(json.loads(run.inputs.dataset_inputs[0].dataset.schema))
    assert [(each.type.name, each.shape) for each in schema.features.inputs] == [("float32", (-1, 7))]
    assert [(each.type.name, each.shape) for each in schema.targets.inputs] == [("float64", (-1,))]


def test_artifacts_hold_the_cell_its_confusion_matrix_and_its_layers(shared):
    run = by_key(runs_of(shared, "quick"))["quick/digits+irrelevant/hidf/1"]
    folder = shared / "mlartifacts" / "cells" / run.info.run_id / "artifacts"
    source = cell("digits+irrelevant", "hidf", 1, curves={"accuracy": (0.5, 0.7, 0.6)})
    assert json.loads((folder / "cell.json").read_text()) == json.loads(json.dumps(to_json(source)))
    assert (folder / "confusion.csv").read_text() == "true \\ predicted,0,1\n0,3,1\n1,0,4\n"
    assert (folder / "layers.csv").read_text() == "layer,accuracy\n1,0.5\n2,0.7\n3,0.6\n"


def test_the_table_run_shows_the_table_and_carries_its_files(shared):
    run = by_key(runs_of(shared, "quick"))["quick/hidf-table2"]
    assert run.info.run_name == "hidf-table2 · quick"
    expected = {"table": "hidf-table2", "title": "Title of hidf-table2", "kind": "table", "paper": "hidf"}
    assert {name: run.data.tags[name] for name in expected} == expected
    folder = shared / "mlartifacts" / "tables" / run.info.run_id / "artifacts"
    table = json.loads((folder / "hidf-table2.json").read_text())
    assert table == {
        "columns": ["dataset", "model", "metric", "mean", "note"],
        "data": [["digits", "hidf", "accuracy", 0.5, ""]],
    }
    assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [{"path": "hidf-table2.json", "type": "table"}]
    assert {path.name for path in (folder / "tables").iterdir()} == {f"hidf-table2.{s}" for s in ("csv", "md", "tex")}
    assert (folder / "index.html").read_text() == "<h1>Report</h1>"


def test_each_suite_has_a_saved_view_of_its_summaries_and_one_of_its_tables(shared):
    with client_of(shared) as client:
        tags = {each.name: each.tags for each in client.search_experiments()}
    assert set(tags) == {"cells", "tables"}  # and no 'Default'
    cells = json.loads(tags["cells"]["mlflow.sharedViewState.quick"])
    scores = ("accuracy", "accuracy_std", "roc_auc", "rmse", "rmse_std")
    costs = ("fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "model_mib")
    assert cells["selectedColumns"] == [f"metrics.`{name}`" for name in (*scores, *costs)]
    assert cells["searchFilter"] == "tags.level = 'summary' AND tags.suite = 'quick'"
    tables = json.loads(tags["tables"]["mlflow.sharedViewState.quick"])
    assert tables["selectedColumns"] == ["tags.`title`", "tags.`paper`", "tags.`kind`"]
    assert {each["mlflow.experimentKind"] for each in tags.values()} == {"custom_model_development"}


def test_every_run_has_a_real_start_time(shared, tmp_path):
    """A run that starts at 0 is shown as created 56 years ago."""
    assert min(run.info.start_time for run in runs_of(shared, "quick")) > run_records.EARLIEST_MS
    folder = write_suite(tmp_path, "unpacked")
    for path in (folder / "tables").iterdir():
        os.utime(path, (0, 0))  # an archive that keeps no times
    assert read_drawing(folder, "hidf-table2").written_ms > run_records.EARLIEST_MS


def test_tracking_twice_adds_nothing(shared):
    write_suite(shared, "twice")
    first = sync(shared, ["twice"])
    ids = {run.info.run_id for run in runs_of(shared, "twice")}
    second = sync(shared, ["twice"])
    assert (first.created, second) == (N_RUNS, SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=0))
    assert {run.info.run_id for run in runs_of(shared, "twice")} == ids


def test_a_changed_result_replaces_its_runs_only(shared):
    folder = write_suite(shared, "changed")
    sync(shared, ["changed"])
    before = by_key(runs_of(shared, "changed"))
    cells = [cell("digits+irrelevant", "rf10", 0), cell("digits+irrelevant", "rf10", 1, metrics={"accuracy": 0.125})]
    write_run(folder, "digits+irrelevant", "rf10", cells)
    report = sync(shared, ["changed"])
    after = by_key(runs_of(shared, "changed"))
    pair = "changed/digits+irrelevant/rf10"
    assert report == SyncReport(created=0, replaced=2, unchanged=N_RUNS - 2, deleted=0)
    assert {key for key in after if after[key].info.run_id != before[key].info.run_id} == {pair, f"{pair}/1"}
    assert after[f"{pair}/1"].data.metrics["accuracy"] == 0.125
    # The repeat that stayed belongs to the new summary.
    assert after[f"{pair}/0"].data.tags["mlflow.parentRunId"] == after[pair].info.run_id
    assert sync(shared, ["changed"]).unchanged == N_RUNS


def test_runs_without_a_result_are_deleted(shared):
    folder = write_suite(shared, "stale")
    sync(shared, ["stale"])
    (folder / "runs" / "abalone" / "rf10.json").unlink()
    report = sync(shared, ["stale"])
    assert report == SyncReport(created=0, replaced=0, unchanged=N_RUNS - 3, deleted=3)
    assert not any("abalone" in key for key in by_key(runs_of(shared, "stale")))
    assert len(runs_of(shared, "quick")) == N_RUNS  # the other suite's are not touched


def test_a_failed_cell_is_a_failed_run_that_names_its_error(shared):
    folder = write_suite(shared, "failing")
    (folder / "runs" / "abalone" / "rf10.json").unlink()
    failures = folder / "failures" / "abalone" / "rf10.json"
    times = (1_700_000_000_000, 1_700_000_002_000)
    write_failures(failures, Failure(1, "MemoryError", "no room", "Traceback ...\n", *times))
    sync(shared, ["failing"])
    runs = by_key(runs_of(shared, "failing"))
    pair = "failing/abalone/rf10"
    for key in (pair, f"{pair}/1"):
        assert runs[key].info.status == "FAILED"
        assert runs[key].data.tags["error"] == "MemoryError"
        assert runs[key].data.tags["status"] == "failed"
    assert runs[pair].data.tags["error_message"] == "1 of 1 repeats failed"
    assert f"{pair}/0" not in runs  # nobody knows yet what became of it
    assert sync(shared, ["failing"]).replaced == 0

    failures.unlink()
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r) for r in range(REPEATS)])
    assert sync(shared, ["failing"]) == SyncReport(created=1, replaced=2, unchanged=N_RUNS - 3, deleted=0)
    assert {run.info.status for run in runs_of(shared, "failing")} == {"FINISHED"}


def records_of(folder):
    source = read_suite(folder)
    records = [*table_records(source), *(run for group in group_records(source) for run in group.make())]
    return {run.key: run for run in records}


def test_failures_of_the_parts_of_a_split_run_are_shown_once_the_newest(tmp_path):
    """A long run is divided into jobs of some repeats each; the merging job tries again what they could not do."""
    folder = write_suite(tmp_path, "split")
    (folder / "runs/abalone/rf10.json").unlink()
    for part, repeat, message, ended in ((".part0", 0, "old", 2), (".part1", 1, "alone", 3), ("", 0, "new", 4)):
        path = folder / "failures" / "abalone" / f"rf10{part}.json"
        write_failures(path, Failure(repeat, "MemoryError", message, "", 1, ended))
    records = records_of(folder)
    pair = "split/abalone/rf10"
    assert records[pair].tags["error_message"] == "2 of 2 repeats failed"
    assert [records[f"{pair}/{repeat}"].tags["error_message"] for repeat in range(2)] == ["new", "alone"]


def test_a_run_of_another_configuration_is_not_shown(tmp_path):
    folder = write_suite(tmp_path, "stale")
    pair = "stale/abalone/rf10"
    write_plan(folder, [run_of("stale", "abalone", "rf10")])
    assert pair in records_of(folder)
    write_plan(folder, [run_of("stale", "abalone", "rf10", params={"n_estimators": 50})])
    assert not any(key.startswith(pair) for key in records_of(folder))


def test_a_run_file_that_was_edited_is_an_error_that_names_it(tmp_path):
    folder = write_suite(tmp_path, "edited")
    path = folder / "runs/abalone/rf10.json"
    path.write_text(path.read_text().replace("2.5", "2.4"))
    with pytest.raises(DamagedFile, match=r"runs/abalone/rf10\.json: .*Run the workflow again"):
        records_of(folder)


KILLED_SYNC = """
import os, signal, sys
from pathlib import Path
from mlflow import MlflowClient
from cascadeforest.experiments.tracking import sync

results, suite, name = sys.argv[1:]
method, calls = getattr(MlflowClient, name), []

def until_the_fourth(*arguments, **named):
    calls.append(arguments)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return method(*arguments, **named)

setattr(MlflowClient, name, until_the_fourth)
sync(Path(results), [suite])
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL exists on POSIX systems only")
@pytest.mark.parametrize(
    ("method", "n_unfinished"), [("log_batch", 1), ("set_terminated", 2)], ids=lambda value: str(value)
)
def test_a_sync_killed_in_the_middle_is_repaired_by_the_next(shared, method, n_unfinished):
    """A summary is finished after its repeats: the fourth run to be terminated is a repeat of the second one."""
    suite = f"killed_{method}"
    write_suite(shared, suite)
    command = [sys.executable, "-c", KILLED_SYNC, str(shared), suite, method]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == -signal.SIGKILL, process.stderr
    states = sorted(run.info.status for run in runs_of(shared, suite))
    assert states == ["FINISHED"] * 3 + ["RUNNING"] * n_unfinished
    assert sync(shared, [suite]) == SyncReport(N_RUNS - 3 - n_unfinished, n_unfinished, 3, 0)
    runs = by_key(runs_of(shared, suite))
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    # Nothing tells that it happened: the runs are those of a suite that was never interrupted.
    names = {key.partition("/")[2]: run.data.metrics for key, run in runs.items()}
    assert names == {key.partition("/")[2]: run.data.metrics for key, run in by_key(runs_of(shared, "quick")).items()}


def test_a_deleted_store_gets_the_same_runs_again(shared, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(shared / "quick", results / "quick")
    write_suite(results, "smoke")
    # One suite is asked for, but nothing is left of the others either.
    assert sync(results, ["smoke"]).created == 2 * N_RUNS
    assert content(runs_of(results, "quick")) == content(runs_of(shared, "quick"))


def test_a_moved_checkout_makes_its_store_anew(shared, tmp_path, caplog):
    results = tmp_path / "moved"
    (results / "quick").parent.mkdir()
    shutil.copytree(shared / "quick", results / "quick")
    shutil.copy(shared / "mlflow.db", results / "mlflow.db")
    report = sync(results, ["quick"])
    assert report == SyncReport(created=N_RUNS, replaced=0, unchanged=0, deleted=0)
    assert "it was moved" in caplog.text
    runs = runs_of(results, "quick")
    assert content(runs) == content(runs_of(shared, "quick"))
    assert all(Path(run.info.artifact_uri.removeprefix("file://")).is_relative_to(results) for run in runs)


@pytest.mark.parametrize(
    ("content_of_file", "reason"), [(b"not a database" * 100, "damaged"), (b"", "another version of MLflow")]
)
def test_a_store_that_cannot_be_used_is_recognised(tmp_path, content_of_file, reason):
    database = tmp_path / "mlflow.db"
    database.write_bytes(content_of_file)
    assert reason in tracking_store.misfit(tmp_path)


def test_a_suite_whose_results_were_removed_goes_when_everything_is_compared(shared):
    folder = write_suite(shared, "removed")
    sync(shared, ["removed"])
    shutil.rmtree(folder)
    assert sync(shared).deleted == N_RUNS
    assert runs_of(shared, "removed") == []
    with client_of(shared) as client:
        assert "mlflow.sharedViewState.removed" not in client.get_experiment_by_name("cells").tags


def test_cells_are_brought_up_to_date_before_tables_are_drawn(shared):
    """The workflow does so while it draws; the sync at the end finds them, and adds the tables."""
    folder = write_suite(shared, "early")
    tables = (folder / "tables").rename(folder / "later")
    first = sync(shared, ["early"], tables=False)
    tables.rename(folder / "tables")
    second = sync(shared, ["early"])
    assert (second.unchanged, second.created) == (first.created, N_RUNS - first.created)
    assert 0 < first.created < N_RUNS
    assert sync(shared, ["early"]) == SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=0)


def test_unchanged_results_are_not_read(shared, monkeypatch):
    """Nor any run, unless it is asked for: `every_run` mends a store that somebody edited."""
    write_suite(shared, "untouched")
    sync(shared, ["untouched"])
    gone = by_key(runs_of(shared, "untouched"))["untouched/abalone/rf10/1"].info.run_id
    with client_of(shared) as client:
        client.delete_run(gone)
    with monkeypatch.context() as patch:
        patch.setattr(run_records, "read_run", lambda *_: pytest.fail("a result file was read"))
        patch.setattr("mlflow.MlflowClient.search_runs", lambda *_, **__: pytest.fail("runs were read"))
        assert sync(shared, ["untouched"]) == SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=0)
    report = sync(shared, ["untouched"], every_run=True)
    assert report == SyncReport(created=1, replaced=0, unchanged=N_RUNS - 1, deleted=0)
    assert len(by_key(runs_of(shared, "untouched"))) == N_RUNS


def test_a_sync_that_broke_off_is_repaired_also_when_the_results_are_as_before(shared, monkeypatch):
    folder = write_suite(shared, "back")
    sync(shared, ["back"])
    before = content(runs_of(shared, "back"))
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r, metrics={"rmse": 0.5}) for r in range(REPEATS)])
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient.set_terminated", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sync(shared, ["back"])
    regression = {"metrics": {"rmse": 2.5}, "confusion": None}
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r, **regression) for r in range(REPEATS)])
    assert sync(shared, ["back"]).replaced
    assert content(runs_of(shared, "back")) == before


def test_doubles_under_one_key_are_removed(shared):
    """Somebody restored a run that a sync had replaced."""
    folder = write_suite(shared, "restored")
    sync(shared, ["restored"])
    old = by_key(runs_of(shared, "restored"))["restored/abalone/rf10"].info.run_id
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r, metrics={"rmse": 0.5}) for r in range(REPEATS)])
    sync(shared, ["restored"])
    with client_of(shared) as client:
        client.restore_run(old)
    report = sync(shared, ["restored"], every_run=True)
    assert report == SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=1)
    assert by_key(runs_of(shared, "restored"))["restored/abalone/rf10"].data.metrics["rmse"] == 0.5


def test_many_changed_groups_are_listed_at_once_with_the_same_end(shared, monkeypatch):
    folder = write_suite(shared, "many")
    sync(shared, ["many"])
    monkeypatch.setattr("cascadeforest.experiments.tracking.MANY_GROUPS", 0)
    monkeypatch.setattr("cascadeforest.experiments.tracking._Mirror._repeats", lambda *_: pytest.fail("one by one"))
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r, metrics={"rmse": 1.5}) for r in range(REPEATS)])
    report = sync(shared, ["many"])
    assert report == SyncReport(created=0, replaced=1 + REPEATS, unchanged=N_RUNS - 1 - REPEATS, deleted=0)
    assert len(by_key(runs_of(shared, "many"))) == N_RUNS


def test_a_store_of_another_layout_is_made_anew(shared, tmp_path, caplog):
    """Versions before had an MLflow experiment for each table."""
    results = tmp_path / "results"
    shutil.copytree(shared / "quick", results / "quick")
    with contextlib.closing(sqlite3.connect(results / "mlflow.db")) as connection:
        connection.execute("PRAGMA user_version = 3017")
    assert sync(results).created == N_RUNS
    assert "another version of MLflow or of cascadeforest" in caplog.text


def test_only_the_repeats_that_the_experiment_asks_for_are_shown(tmp_path):
    folder = write_suite(tmp_path, "quick")
    cells = [cell("abalone", "rf10", r) for r in range(5)]  # another table of the suite may want more
    write_run(folder, "abalone", "rf10", cells)
    records = [run for key, run in records_of(folder).items() if "abalone" in key]
    assert [run.tags.get("repeat") for run in records] == [None, "0", "1"]


def test_a_suite_without_results_is_named_with_those_that_have_some(shared):
    with pytest.raises(UserError, match=r"'papr' has no results; there are some of .*quick"):
        sync(shared, ["papr"])


def test_a_tracking_address_that_is_a_folder_is_refused_with_what_to_write(shared, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "file:///runs")
    with pytest.raises(UserError, match=r"MLFLOW_TRACKING_URI is 'file:///runs'.*sqlite:///"):
        sync(shared)


def test_a_named_database_that_cannot_be_read_is_told_without_its_password(shared):
    """Nor does the driver's own message show it; without the driver the message says how to install it."""
    with pytest.raises(
        UserError, match=r"The runs in postgresql://\*\*\*@127.0.0.1:1/runs cannot be read: .+"
    ) as caught:
        sync(shared, tracking_uri="postgresql://me:secret@127.0.0.1:1/runs")
    assert "secret" not in str(caught.value)
    if importlib.util.find_spec("psycopg2") is None:
        assert "make setup EXTRAS=postgres" in str(caught.value)


def test_a_database_that_cannot_make_syncs_wait_is_refused(shared):
    with pytest.raises(UserError, match=r"'mysql://\*\*\*@host/runs': syncs that share a mysql database cannot wait"):
        sync(shared, tracking_uri="mysql://me:sec@ret@host/runs")


def test_a_password_in_the_query_of_an_address_is_not_shown():
    store = tracking_store.Store("postgresql://host/runs?user=me&password=secret", False, None)
    assert store.shown == "postgresql://host/runs?user=me&password=***"


def test_a_tracking_server_that_does_not_answer_is_named(shared):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses every connection
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UserError, match=f"'{address}', but no server answers"):
            sync(shared, tracking_uri=address)


def test_ui_without_a_store_says_what_to_run(tmp_path):
    with pytest.raises(UserError, match="Run `make run` first"):
        ui(tmp_path, "quick")


def test_ui_for_a_suite_without_runs_names_those_that_have_some(shared):
    with pytest.raises(UserError, match=r"no runs of the suite 'papr'; it has .*quick.*make run SUITE=papr"):
        ui(shared, "papr")


def test_ui_on_a_taken_port_names_a_free_one(shared):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"Port {port} .* is taken .*make ui PORT=\d+"):
            ui(shared, "quick", port)


@contextmanager
def serving(results, desktop=False):
    """The UI in a process of its own: its port, the lines that it printed, the process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Under nohup, and after & in a script, a shell has told its children to ignore Ctrl-C.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from pathlib import Path; "
    code += "from cascadeforest.experiments.tracking_view import ui; "
    code += "ui(Path(sys.argv[1]), 'quick', int(sys.argv[2]), browse=lambda address: print('browser:', address))"
    command = [sys.executable, "-u", "-c", code, str(results), str(port)]
    environment = os.environ | {"DISPLAY": ":0" if desktop else "", "WAYLAND_DISPLAY": ""}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("browser:" if desktop else "Ctrl-C"):
                break
        assert process.poll() is None, "\n".join(lines)
        yield port, lines, process
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


def view_of(results, port, name="cells"):
    with client_of(results) as client:
        number = client.get_experiment_by_name(name).experiment_id
    query = "viewStateShareKey=quick&workflowType=machine_learning"
    return f"http://127.0.0.1:{port}/#/experiments/{number}/runs?{query}"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process, as Ctrl-C does on POSIX systems")
def test_ui_opens_the_printed_view_and_ctrl_c_leaves_no_process(shared):
    with serving(shared, desktop=True) as (port, lines, process):
        family = psutil.Process(process.pid).children(recursive=True)
        assert family
        assert {view_of(shared, port), view_of(shared, port, "tables")} <= set(lines)
        assert lines[-1] == f"browser: {view_of(shared, port)}"
        query = f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/get-by-name?experiment_name=cells"
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(query, timeout=30) as answer:
            tags = {tag["key"]: tag["value"] for tag in json.load(answer)["experiment"]["tags"]}
        assert "metrics.`accuracy`" in tags["mlflow.sharedViewState.quick"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert not [member for member in family if member.is_running()]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")
def test_a_browser_opens_the_saved_view_on_the_summaries(shared, tmp_path):
    """The tag behind the view is undocumented: this is the test that notices when MLflow changes it."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    flags += ["--no-first-run", "--disable-component-update", f"--user-data-dir={tmp_path}", "--window-size=2600,1000"]
    with serving(shared) as (port, lines, _):
        assert not [line for line in lines if line.startswith("browser:")]  # there is no desktop
        command = [CHROMIUM, *flags, "--virtual-time-budget=30000", "--dump-dom", view_of(shared, port)]
        page = subprocess.run(command, capture_output=True, text=True, timeout=180).stdout
    # The grid places its header cells by style, in any order of the document.
    cells = re.findall(r"<div[^>]*ag-header-cell [^>]*>", page)
    places = {
        name[1]: int(left[1])
        for cell in cells
        if (name := re.search(r"metrics\.`(\w+)`", cell)) and (left := re.search(r"left: (\d+)px", cell))
    }
    scores = ["accuracy", "accuracy_std", "roc_auc", "rmse", "rmse_std"]
    costs = ["fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "model_mib"]
    assert sorted(places, key=places.get) == [*scores, *costs]
    assert "hidf · digits+irrelevant" in page
    assert "hidf · digits+irrelevant · 0" not in page
    assert re.search(r"\d years? ago", page)  # made_results.py: 2023
    assert not re.search(r"\d\d years ago", page)
