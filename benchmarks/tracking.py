"""What a sync with MLflow costs where nothing, or one result, is new.

    python benchmarks/tracking.py [--runs 100000] [--repeats 10]

It writes a suite of made-up results, with as many runs as asked for, into a temporary folder. `sync` logs the first
data set; the runs of all others are copies of its runs, made in SQL, since logging 100,000 runs takes an hour. Then it
measures a sync without news and one after a single result has changed. Both must report what they found.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from cascadeforest.experiments.fitting import Costs
from cascadeforest.experiments.plan import Experiment, Plan, Run, Suite
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import RunResult, ScoredCell, run_path
from cascadeforest.experiments.run_records import group_records, read_suite
from cascadeforest.experiments.tracking import SyncReport, sync
from cascadeforest.experiments.tracking_store import own_database
from cascadeforest.experiments.typed_files import write_typed

SUITE, MODEL = "made", "forest"
ESTIMATOR = "sklearn.ensemble:RandomForestClassifier"
COPIED = ("runs", "tags", "params", "latest_metrics", "metrics", "inputs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the suite, copy the runs, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="summaries and repeats (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=10, help="of each data set (default: %(default)s)")
    options = parser.parse_args(arguments)
    datasets = [f"d{k:06d}" for k in range(max(1, options.runs // (1 + options.repeats)))]
    n_runs = len(datasets) * (1 + options.repeats)
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results")
        folder = results / SUITE
        write_plan(folder, datasets, options.repeats)
        write_result(folder, datasets[0], options.repeats)
        measured("first data set", lambda: sync(results))
        for dataset in datasets[1:]:
            write_result(folder, dataset, options.repeats)
        copy_runs(results, datasets[0])
        print(f"{n_runs} runs, database of {own_database(results).stat().st_size / 2**20:.0f} MiB")
        # The state of the suite that the store has is that of the first data set: this sync reads all summaries.
        copies = measured("state of the copies", lambda: sync(results))
        nothing = measured("no news", lambda: sync(results))
        write_result(folder, datasets[-1], options.repeats, accuracy=0.5)
        one = measured("one changed result", lambda: sync(results))
    expected = SyncReport(created=0, replaced=0, unchanged=n_runs, deleted=0)
    changed = replace(expected, replaced=1 + options.repeats, unchanged=n_runs - 1 - options.repeats)
    if (copies, nothing, one) != (expected, expected, changed):
        print(f"error: the syncs found {copies}, {nothing} and {one}, not twice {expected} and {changed}")
        return 1
    return 0


def measured(name: str, call: Callable[[], SyncReport]) -> SyncReport:
    """Call, and print what it cost."""
    cpu, wall = time.process_time(), time.perf_counter()
    report = call()
    print(f"{name}: {time.process_time() - cpu:.1f} CPU s, {time.perf_counter() - wall:.1f} s; {report}", flush=True)
    return report


def run_of(dataset: str, repeats: int) -> Run:
    """The job of one data set."""
    return Run(SUITE, dataset, MODEL, "classification", ESTIMATOR, {"n_estimators": 100}, tuple(range(repeats)))


def write_plan(folder: Path, datasets: Sequence[str], repeats: int) -> None:
    """The plan of a suite with one table of all data sets."""
    table = Experiment(
        id="made-table1",
        paper=SUITE,
        kind="table",
        title="Made",
        render="scores",
        metrics=("accuracy",),
        columns={MODEL: MODEL},
        datasets=tuple(datasets),
        repeats=dict.fromkeys(datasets, repeats),
    )
    runs = tuple(run_of(dataset, repeats) for dataset in datasets)
    write_typed(folder / "plan.json", Plan(SUITE, Suite("made"), {table.id: table}, runs))


def write_result(folder: Path, dataset: str, repeats: int, accuracy: float = 0.75) -> None:
    """A result of the size of real ones."""
    origin = Provenance({"numpy": "2.4.6"}, {"machine": "x86_64"}, "c" * 64, "d" * 64, "abc123")
    params = {f"parameter_{k}": k for k in range(15)}
    metrics = {f"metric_{k}": 0.5 for k in range(8)} | {"accuracy": accuracy}
    cells = tuple(
        ScoredCell(
            key=f"{dataset}-{repeat}",
            dataset=dataset,
            repeat=repeat,
            estimator=ESTIMATOR,
            params=params | {"random_state": repeat},
            costs=Costs(1.5, 0.1, 1.6, 0.1, 3.0, 0.5, 2.0, 1.0, "VmHWM"),
            n_train=1000,
            n_test=500,
            n_validation=0,
            seeds={"model": repeat, "split": 1},
            threads=1,
            started_ms=1_780_000_000_000,
            ended_ms=1_780_000_001_000,
            provenance=origin,
            model=MODEL,
            metrics=metrics,
            confusion=((200, 50), (50, 200)),
        )
        for repeat in range(repeats)
    )
    facts = {"name": dataset, "task": "classification", "features": 20}
    write_typed(run_path(folder, dataset, MODEL), RunResult(run_of(dataset, repeats), facts, "s" * 64, cells))


def copy_runs(results: Path, template: str) -> None:
    """Copy the runs of one data set for all others, as a sync would have logged them."""
    groups = [group for group in group_records(read_suite(results / SUITE)) if group.tags["variant"] != template]
    with closing(sqlite3.connect(own_database(results))) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TEMPORARY TABLE made (number TEXT, dataset TEXT, source TEXT)")
        rows = [(f"{number:08x}", group.tags["variant"], group.source) for number, group in enumerate(groups)]
        connection.executemany("INSERT INTO made VALUES (?, ?, ?)", rows)
        for table in COPIED:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            copied = ", ".join(_copied(table, column, template) for column in columns)
            connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {copied} FROM {table}, made")


def _copied(table: str, column: str, template: str) -> str:
    """SQL of a column of a copied row: other ids, another data set."""
    other_id = f"substr({column}, 1, 24) || made.number"
    if column in ("run_uuid", "destination_id", "input_uuid"):
        return other_id
    if (table, column) == ("tags", "value"):
        other_name = f"replace(value, '{template}', made.dataset)"
        parent = f"CASE key WHEN 'mlflow.parentRunId' THEN {other_id} WHEN 'source_sha' THEN made.source"
        return f"{parent} ELSE {other_name} END"
    if (table, column) in (("runs", "name"), ("runs", "artifact_uri")):
        return f"replace({column}, '{template}', made.dataset)"
    return f"{table}.{column}"


if __name__ == "__main__":
    sys.exit(main())
