"""The MLflow UI on this machine, opened where the results are."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.run_records import CELLS, TABLES
from cascadeforest.experiments.serving import require_free_port, server, wait_until_healthy
from cascadeforest.experiments.tracking import VIEW_TAG
from cascadeforest.experiments.tracking_store import (
    Store,
    find_store,
    misfit,
    open_client,
    own_database,
    quiet_mlflow,
    require_mlflow,
)


def ui(
    results: Path,
    suite: str,
    port: int = 5000,
    host: str = "127.0.0.1",
    echo: Callable[[str], None] = print,
    browse: Callable[[str], object] = webbrowser.open,
) -> None:
    """Show the tracked runs of a suite: print and open the address of its saved view, serve it until interrupted.

    Parameters
    ----------
    results : Path
        Folder of the results.
    suite : str
        Suite to open on; the store may have others.
    port : int
        Port to listen on.
    host : str
        Interface to listen on; the default serves this machine only.
    echo : callable
        Takes each line for the user.
    browse : callable
        Opens an address in a browser. It is called only where there is a desktop.

    Raises
    ------
    UserError
        If nothing of the suite was tracked yet, the port is taken, or the server does not start.
    """
    results = Path(results)
    store = find_store(results)
    if store.is_own and not own_database(results).is_file():
        remedy = "Run `make run` first (or `make sync`, if it ran before)."
        raise UserError(f"{own_database(results)}: nothing was tracked yet. {remedy}")
    require_mlflow()
    if store.is_own and (reason := misfit(results)):
        raise UserError(f"{own_database(results)}: {reason}. Run `make sync`: it makes the store anew.")
    if store.is_server:
        cells, lines = _addresses(store, suite, store.shown.rstrip("/"))
        echo(f"MLFLOW_TRACKING_URI names a running server.\n{lines}")
        _open(cells, browse)
        return
    require_free_port(host, port)
    base = f"http://{host}:{port}"
    cells, lines = _addresses(store, suite, base)
    command = [sys.executable, "-m", "mlflow", "ui", "--workers", "1", "--host", host, "--port", str(port)]
    command += ["--no-serve-artifacts", "--uvicorn-opts", "--log-level warning"]
    environment = os.environ | {
        # Not as an argument: it may hold a password, and everyone can see the arguments of a process.
        "MLFLOW_BACKEND_STORE_URI": store.uri,
        "MLFLOW_DEFAULT_ARTIFACT_ROOT": store.artifact_root or (results.resolve() / "mlartifacts").as_uri(),
        # Else the server starts twelve more processes: a job queue for language models.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Of its libraries about each other.
        "PYTHONWARNINGS": "ignore",
    }
    echo(f"Starting the MLflow UI at {base} ...")
    with server(command, environment) as process:
        wait_until_healthy(process, base)
        echo(f"{lines}\nCtrl-C stops the server.")
        _open(cells, browse)
        process.wait()
        raise UserError(f"The MLflow server ended by itself with status {process.returncode}; its messages are above.")


def view_address(base: str, experiment_id: str, suite: str) -> str:
    """Address of the saved view of a suite."""
    query = f"viewStateShareKey={quote(suite)}&workflowType=machine_learning"
    return f"{base}/#/experiments/{experiment_id}/runs?{query}"


def _addresses(store: Store, suite: str, base: str) -> tuple[str, str]:
    """Address of the view of the suite's cells, and what to tell the user."""
    with quiet_mlflow(), open_client(store.uri) as client:
        found = [experiment for name in (CELLS, TABLES) if (experiment := client.get_experiment_by_name(name))]
    views = [tag.removeprefix(VIEW_TAG) for experiment in found[:1] for tag in experiment.tags if VIEW_TAG in tag]
    if suite not in views:
        known = f"it has {', '.join(sorted(views))}" if views else "it is empty"
        raise UserError(
            f"{store.shown} has no runs of the suite '{suite}'; {known}. Run `make run SUITE={suite}` first."
        )
    cells, tables = (view_address(base, experiment.experiment_id, suite) for experiment in found)
    lines = [
        f"Results of the suite {suite}, a row for each data set and model:",
        f"  {cells}",
        "Its tables and figures:",
        f"  {tables}",
        "Searches, for example: tags.model = 'hidf' AND tags.dataset = 'letter', or tags.tables LIKE '%hidf-table2%'",
    ]
    return cells, "\n".join(lines)


def _open(address: str, browse: Callable[[str], object]) -> None:
    """Open a browser where there is a desktop; elsewhere a text browser would take the terminal."""
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        browse(address)
