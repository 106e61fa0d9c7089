"""Accepted results in MLflow: a fresh clone shows what the documentation shows, without training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.files import sha256_of
from cascadeforest.experiments.plan import Pair
from cascadeforest.experiments.records import PLAN_FILE, Failure, RunResult
from cascadeforest.experiments.run_records import ACCEPTED, Drawing, SuiteSource, read_drawing
from cascadeforest.experiments.tracking import SyncReport, sync
from cascadeforest.experiments.tracking_store import find_store
from cascadeforest.experiments.tracking_view import ui
from cascadeforest.reports.store import stored as store


def accepted_suite(root: Path, suite: str) -> SuiteSource:
    """Read the accepted results of a suite as MLflow shows them; `UserError` if there are none, or they are damaged."""
    folder = root / "reports" / suite
    content = store.unpack(folder / store.CELLS, suite)
    runs = {run.run.pair: run for run in content.runs}
    accepted, digest = store.read_provenance(folder).get("accepted"), sha256_of(folder / store.CELLS)
    try:
        accepted_ms = round(1000 * datetime.fromisoformat(str(accepted)).timestamp())
    except ValueError as error:
        path, remedy = folder / store.PROVENANCE, store.from_git(folder)
        raise DamagedFile(path, f"accepted is {accepted!r}, not a time", remedy) from error

    def read(pair: Pair) -> tuple[RunResult | None, list[Failure]]:
        return runs.get(pair), []

    def drawing(name: str) -> Drawing:
        # A clone's files have the time of the clone.
        return dataclasses.replace(read_drawing(folder, name), written_ms=accepted_ms)

    return SuiteSource(content.plan, ACCEPTED, lambda pair: digest if pair in runs else None, read, drawing, page=None)


def track_accepted(root: Path, suite: str) -> SyncReport:
    """Bring the accepted results of a suite into the MLflow store, in place of its results of this checkout."""
    source = accepted_suite(root, suite)
    (root / "results").mkdir(exist_ok=True)
    return sync(root / "results", accepted=source)


def show(root: Path, suite: str, port: int, echo: Callable[[str], None] = print) -> None:
    """Open the MLflow UI on the results of a suite, or on its accepted results if it did not run here.

    Our own store is brought up to date first. A shared one is shown as it is. `port` of 127.0.0.1 is listened on, and
    `echo` takes each line for the user.
    """
    results = root / "results"
    if find_store(results).is_own:
        if (results / suite / PLAN_FILE).is_file():
            sync(results, [suite])
        else:
            echo(f"The suite {suite} did not run here: these are the accepted results of {root / 'reports' / suite}.")
            echo("The first time they are put into MLflow, which takes a minute or two for a large suite.")
            track_accepted(root, suite)
    ui(results, suite, port)
