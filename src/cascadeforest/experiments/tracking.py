"""MLflow: an index of the result files, for browsing and comparing; rebuilt from them at will.

Training never touches MLflow. `sync` brings a store into line with the results, as the only writer (many writers wait
for one another for seconds, and several that open a new database all fail in its migration). It can be killed at any
time: a run gets the tag ``result_sha`` as the last thing before it is terminated, so that the next `sync` recognises
and replaces an unfinished one. By default the store is ``results/mlflow.db`` with its artifacts in
``results/mlartifacts``; it holds nothing that the result files do not, and is thrown away when it does not fit.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_path, digest_of
from cascadeforest.experiments.run_records import DataInput, ExperimentRecord, RunRecord, suite_records
from cascadeforest.experiments.serving import require_free_port, server, wait_until_healthy

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Experiment, Run
    from mlflow.store.entities.paged_list import PagedList

logger = logging.getLogger(__name__)
T = TypeVar("T")

#: Marks the experiments that `sync` made; it leaves all others alone.
MANAGED_TAG = ("managed_by", "cascadeforest")
#: Name of the saved view, and the (undocumented) experiment tag under which the UI of MLflow 3.17 looks it up.
VIEW = "main"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# MLflow takes 100 parameters and 1,000 values in all in one call of log_batch.
METRICS_PER_BATCH, PARAMS_PER_BATCH = 900, 100
RUNS_PER_PAGE = 1_000


@dataclass(frozen=True)
class SyncReport:
    """What one `sync` did, in numbers of runs.

    Parameters
    ----------
    created : int
        New runs.
    replaced : int
        Runs whose result changed or whose logging was cut off.
    unchanged : int
        Runs that were there already.
    deleted : int
        Runs without a result any more, and doubles.
    """

    created: int
    replaced: int
    unchanged: int
    deleted: int


def sync(results: Path, suites: Sequence[str] | None = None, tracking_uri: str | None = None) -> SyncReport:
    """Bring the MLflow store into line with the result files.

    Parameters
    ----------
    results : Path
        Folder of the results, one folder a suite.
    suites : sequence of str, optional
        Suites to compare; by default all that have results. A store that is new or had to be made anew gets all.
    tracking_uri : str, optional
        Server or database; by default ``MLFLOW_TRACKING_URI``, else ``results/mlflow.db``. The runs of these suites
        there are made equal to the results here: checkouts that share a server overwrite each other's.

    Returns
    -------
    SyncReport

    Raises
    ------
    UserError
        If there are no results, or the store cannot be reached.
    """
    results = Path(results)
    chosen = _choose_suites(results, suites)
    _require_mlflow()
    with _exclusive(results / "mlflow.lock"), _quiet_mlflow():
        given = _given_uri(tracking_uri)
        uri, is_new = _own_store(results) if given is None else (given, False)
        if is_new:
            chosen = _suites_with_results(results)
        with _open_client(uri) as client:
            # A store of our own mirrors the folder: a suite whose results were removed goes. A server may hold
            # suites that lie elsewhere.
            mirror = _Mirror(client, _artifact_root(results, uri), None if given is None and suites is None else chosen)
            for suite in chosen:
                for record in suite_records(results / suite):
                    mirror.experiment(record)
            mirror.remove_the_rest()
            return SyncReport(**mirror.counts)


def ui(results: Path, port: int = 5000, host: str = "127.0.0.1", echo: Callable[[str], None] = print) -> None:
    """Show the tracked runs: print the address of each experiment's saved view and serve them until interrupted.

    Parameters
    ----------
    results : Path
        Folder of the results.
    port : int
        Port to listen on.
    host : str
        Interface to listen on; the default serves this machine only.
    echo : callable
        Takes each line for the user.

    Raises
    ------
    UserError
        If nothing was tracked yet, the port is taken, or the server does not start.
    """
    results = Path(results)
    uri = _given_uri(None)
    database = results / "mlflow.db"
    if uri is None and not database.is_file():
        raise UserError(
            f"{database}: nothing was tracked yet. Run `make run` first (or `make sync`, if it ran before)."
        )
    _require_mlflow()
    if uri is not None and _is_server(uri):
        echo(f"MLFLOW_TRACKING_URI names a running server:\n{_view_addresses(uri, _without_password(uri).rstrip('/'))}")
        return
    if uri is None:
        uri = _sqlite_uri(database)
        if reason := _misfit(database, _own_artifacts(results)):
            remedy = "Run `make sync` (SUITE=... names a suite): it makes the store anew."
            raise UserError(f"{database}: {reason}. {remedy}")
    require_free_port(host, port)
    base = f"http://{host}:{port}"
    addresses = _view_addresses(uri, base)
    command = [sys.executable, "-m", "mlflow", "ui", "--workers", "1", "--host", host, "--port", str(port)]
    command += ["--no-serve-artifacts", "--uvicorn-opts", "--log-level warning"]
    environment = os.environ | {
        # Not as an argument: it may hold a password, and everyone can see the arguments of a process.
        "MLFLOW_BACKEND_STORE_URI": uri,
        "MLFLOW_DEFAULT_ARTIFACT_ROOT": (_artifact_root(results, uri) or _own_artifacts(results)).as_uri(),
        # Else the server starts twelve more processes: a job queue for language models.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Of its libraries about each other.
        "PYTHONWARNINGS": "ignore",
    }
    echo(f"Starting the MLflow UI at {base} ...")
    with server(command, environment) as process:
        wait_until_healthy(process, base)
        echo(f"{addresses}\nCtrl-C stops the server.")
        process.wait()
        raise UserError(f"The MLflow server ended by itself with status {process.returncode}; its messages are above.")


class _Mirror:
    """Makes a store equal to records: creates what is missing, replaces what differs, deletes what is left over."""

    def __init__(self, client: MlflowClient, artifact_root: Path | None, suites: Sequence[str] | None) -> None:
        self.client = client
        self.artifact_root = artifact_root
        self.suites = suites
        self.counts = {"created": 0, "replaced": 0, "unchanged": 0, "deleted": 0}
        key, value = MANAGED_TAG
        self.experiments: dict[str, Experiment] = {
            experiment.name: experiment
            for experiment in _all_pages(
                lambda token: client.search_experiments(filter_string=f"tags.{key} = '{value}'", page_token=token)
            )
        }
        self.known = {name: self._runs(experiment) for name, experiment in self.experiments.items()}
        self.recorded: set[str] = set()

    def experiment(self, record: ExperimentRecord) -> None:
        """Bring one experiment of one suite up to date."""
        self.recorded.add(record.name)
        experiment_id = self._experiment_id(record)
        known = self.known.setdefault(record.name, {})
        run_ids: dict[str, str] = {}
        for run in record.runs:
            run_ids[run.key] = self._run(experiment_id, run, known.pop(run.key, []), run_ids.get(run.parent or ""))

    def remove_the_rest(self) -> None:
        """Delete the runs that no record asked for, and experiments of which nothing is left."""
        for name, runs_by_key in self.known.items():
            for runs in runs_by_key.values():
                self._delete(runs)
            experiment = self.experiments[name]
            if name not in self.recorded and not self.client.search_runs([experiment.experiment_id], max_results=1):
                self.client.delete_experiment(experiment.experiment_id)

    def _runs(self, experiment: Experiment) -> dict[str, list[Run]]:
        """The experiment's runs by key; several under one key only if somebody restored deleted ones."""
        filters = [""] if self.suites is None else [f"tags.suite = '{suite}'" for suite in self.suites]
        runs: dict[str, list[Run]] = {}
        for text in filters:

            def page(token: str | None, text: str = text) -> PagedList[Run]:
                return self.client.search_runs(
                    [experiment.experiment_id], filter_string=text, max_results=RUNS_PER_PAGE, page_token=token
                )

            for run in _all_pages(page):
                if key := run.data.tags.get("run_key"):
                    runs.setdefault(key, []).append(run)
        return runs

    def _experiment_id(self, record: ExperimentRecord) -> str:
        tags = dict([MANAGED_TAG], **record.tags)
        tags |= {"mlflow.experimentKind": "custom_model_development", VIEW_TAG: json.dumps(record.view)}
        experiment = self.experiments.get(record.name) or self.client.get_experiment_by_name(record.name)
        if experiment is None:
            location = None if self.artifact_root is None else (self.artifact_root / record.name).as_uri()
            created = self.client.create_experiment(record.name, artifact_location=location, tags=tags)
            experiment = self.client.get_experiment(created)
        elif experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        if record.name not in self.experiments:
            self.experiments[record.name] = experiment
            # Restoring an experiment brings its deleted runs back.
            self.known[record.name] = self._runs(experiment)
        for name, value in tags.items():
            if experiment.tags.get(name) != value:
                self.client.set_experiment_tag(experiment.experiment_id, name, value)
        return experiment.experiment_id

    def _run(self, experiment_id: str, record: RunRecord, present: Sequence[Run], parent_id: str | None) -> str:
        """Make one run as the record says; its id."""
        digest = record.digest()
        current = [
            run for run in present if run.info.status == record.status and run.data.tags.get("result_sha") == digest
        ][:1]
        outdated = [run for run in present if run not in current]
        if current:
            self._delete(outdated)
            self.counts["unchanged"] += 1
            run = current[0]
            # The summary may be a new run, because another repeat changed.
            if parent_id and run.data.tags.get("mlflow.parentRunId") != parent_id:
                self.client.set_tag(run.info.run_id, "mlflow.parentRunId", parent_id)
            return run.info.run_id
        # Parameters are immutable and a killed sync leaves a part: replace, never patch.
        for run in outdated:
            self.client.delete_run(run.info.run_id)
        self.counts["replaced" if outdated else "created"] += 1
        return self._create(experiment_id, record, digest, parent_id)

    def _create(self, experiment_id: str, record: RunRecord, digest: str, parent_id: str | None) -> str:
        from mlflow.entities import Metric, Param
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        tags = record.tags | {
            "run_key": record.key,
            "mlflow.source.name": "cascadeforest",
            "mlflow.source.type": "PROJECT",
            "mlflow.user": "cascadeforest",
        }
        if "git_commit" in record.tags:
            tags["mlflow.source.git.commit"] = record.tags["git_commit"]
        if parent_id:
            tags["mlflow.parentRunId"] = parent_id
        run = self.client.create_run(experiment_id, record.start_ms, tags, record.name)
        run_id = run.info.run_id
        metrics = [Metric(name, value, record.end_ms, step) for name, value, step in record.metrics]
        params = [Param(name, value) for name, value in record.params.items()]
        # One call for nearly every run; a long curve or a long list of parameters needs more.
        while metrics or params:
            self.client.log_batch(run_id, metrics=metrics[:METRICS_PER_BATCH], params=params[:PARAMS_PER_BATCH])
            metrics, params = metrics[METRICS_PER_BATCH:], params[PARAMS_PER_BATCH:]
        if record.inputs:
            self.client.log_inputs(run_id, [_mlflow_input(part) for part in record.inputs])
        if record.artifacts:
            with tempfile.TemporaryDirectory() as folder:
                for path, content in record.artifacts.items():
                    target = Path(folder, path)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                # client.log_artifacts would read the whole run again to learn this address: a fifth of the time.
                get_artifact_repository(run.info.artifact_uri, self.client.tracking_uri).log_artifacts(folder)
        if record.table is not None:
            self._log_table(run_id, record.table, record.tags["experiment"])
        self.client.set_tag(run_id, "result_sha", digest)  # last: an interrupted run lacks it
        self.client.set_terminated(run_id, record.status, record.end_ms)
        return run_id

    def _log_table(self, run_id: str, table: bytes, experiment: str) -> None:
        import pandas as pd

        frame = pd.read_csv(io.BytesIO(table)).astype(object)
        # An empty field would show as 'null'.
        self.client.log_table(run_id, frame.where(frame.notna(), ""), f"{experiment}.json")

    def _delete(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self.client.delete_run(run.info.run_id)
        self.counts["deleted"] += len(runs)


def _mlflow_input(part: DataInput) -> DatasetInput:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(
        name=part.name,
        digest=part.digest,
        source_type="local",
        source=json.dumps({"uri": part.source}),
        profile=json.dumps({"num_rows": part.rows}),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", part.context)])


def _all_pages(search: Callable[[str | None], PagedList[T]]) -> list[T]:
    """Every item of a search that MLflow answers in pages."""
    page = search(None)
    items = list(page)
    while page.token:
        page = search(page.token)
        items += page
    return items


def _suites_with_results(results: Path) -> list[str]:
    return sorted(path.parent.name for path in results.glob("*/plan.json"))


def _choose_suites(results: Path, suites: Sequence[str] | None) -> list[str]:
    """The suites to compare, each of which must have a plan beside its results."""
    present = _suites_with_results(results)
    if not present:
        raise UserError(f"{results}: no suite has results here (<suite>/plan.json). Run `make run` first.")
    for suite in suites or ():
        if suite not in present:
            raise UserError(
                f"{results / suite / 'plan.json'}: the suite '{suite}' has no results; there are some of "
                f"{', '.join(present)}. Run `make run SUITE={suite}` first."
            )
    return present if suites is None else list(dict.fromkeys(suites))


def _given_uri(tracking_uri: str | None) -> str | None:
    """The store that the user named, or None for our own."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        return None
    if urlsplit(uri).scheme in ("", "file"):
        raise UserError(
            f"MLFLOW_TRACKING_URI is '{uri}': MLflow no longer keeps runs in plain folders. Name a server "
            "(http://host:5000) or a database (sqlite:///runs.db, postgresql://...), or unset it: results/mlflow.db."
        )
    if _is_server(uri):
        try:
            with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=10):
                pass
        except urllib.error.HTTPError:
            pass  # it answers; whether it lets us in, MLflow says better
        except OSError as error:
            raise UserError(
                f"MLFLOW_TRACKING_URI is '{_without_password(uri)}', but no server answers there ({error}). "
                "Start it, or unset the variable: the runs then go to results/mlflow.db."
            ) from error
    return uri


def _without_password(uri: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", uri)


def _is_server(uri: str) -> bool:
    return urlsplit(uri).scheme in ("http", "https")


def _sqlite_uri(database: Path) -> str:
    return f"sqlite:///{database.resolve().as_posix()}"


def _artifact_root(results: Path, uri: str) -> Path | None:
    """Folder of the artifacts; None where a server takes them. A database that the user named gets one of its own."""
    if _is_server(uri):
        return None
    if uri == _sqlite_uri(results / "mlflow.db"):
        return _own_artifacts(results)
    return results.resolve() / f"mlartifacts-{digest_of(uri)[:8]}"


def _own_artifacts(results: Path) -> Path:
    return results.resolve() / "mlartifacts"


def _own_store(results: Path) -> tuple[str, bool]:
    """Address of the store in the results folder, and whether it had to be made (anew)."""
    database = results / "mlflow.db"
    uri = _sqlite_uri(database)
    root = _own_artifacts(results)
    if database.exists():
        reason = _misfit(database, root)
        if not reason:
            return uri, False
        logger.warning("%s: %s. It is deleted and made anew from the result files.", database, reason)
    # What was set aside, and what a sync left that was killed while it made the store.
    for path in (*results.glob("mlflow.db*"), *results.glob(".mlflow.*")):
        path.unlink()
    # Artifacts without their database belong to nothing.
    shutil.rmtree(root, ignore_errors=True)
    # The migration that makes the tables cannot be resumed: the file gets its name when it is whole.
    with atomic_path(database) as temporary:
        with _open_client(_sqlite_uri(temporary)) as client:
            client.delete_experiment("0")  # 'Default': always empty here
        with closing(sqlite3.connect(temporary)) as connection:
            connection.execute(f"PRAGMA user_version = {_schema_version()}")
    return uri, True


def _misfit(database: Path, artifact_root: Path) -> str | None:
    """Why our own store cannot be used as it is, or None."""
    key, value = MANAGED_TAG
    query = (
        "SELECT DISTINCT artifact_location FROM experiments JOIN experiment_tags USING (experiment_id)"
        " WHERE key = ? AND value = ?"
    )
    try:
        with closing(sqlite3.connect(database, timeout=60)) as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (_schema_version(),):
                return "it was made by another version of MLflow"
            locations = [location for (location,) in connection.execute(query, (key, value))]
    except sqlite3.OperationalError as error:
        # Locked or not readable: that says nothing of the content.
        raise UserError(f"{database}: {error}. End the program that uses the file, or check its rights.") from error
    except sqlite3.DatabaseError as error:
        return f"it is damaged ({error})"
    # MLflow stores absolute addresses, whatever it is given.
    if any(not location.startswith(f"{artifact_root.as_uri()}/") for location in locations):
        return "it was moved, and its artifacts are recorded under the old path"
    return None


def _schema_version() -> int:
    """Number that we write into our store's header; MLflow changes its tables between minor versions."""
    from mlflow import __version__

    major, minor, *_ = __version__.split(".")
    return 1_000 * int(major) + int(minor)


@contextmanager
def _open_client(uri: str) -> Iterator[MlflowClient]:
    """Client of a store; its connections are closed at the end, so that the file can be replaced."""
    from mlflow import MlflowClient

    try:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    except Exception as error:  # of MLflow, of the database, of its driver, of the network
        raise UserError(f"The runs in {_without_password(uri)} cannot be read: {error}") from error
    try:
        yield client
    finally:
        # There is no public way, and MLflow keeps one engine for each address as long as the process lives.
        engine = getattr(client._tracking_client.store, "engine", None)
        if engine is not None:
            engine.dispose()


def _require_mlflow() -> None:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # two lines a run
    try:
        with _quiet_mlflow():
            pass
    except ImportError as error:
        raise UserError(
            f"Tracking needs MLflow, which cannot be imported ({error}). Run `make setup`, or: "
            "pip install -e '.[workflow]' in the folder of the sources."
        ) from error


@contextmanager
def _quiet_mlflow() -> Iterator[None]:
    """Leave out what MLflow and its libraries say about their own code; our warnings pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(mlflow|alembic|sqlalchemy|pydantic|google|flask)(\.|$)")
        import mlflow  # noqa: F401  # configures its loggers when imported

        loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
        levels = [each.level for each in loggers]
        for each in loggers:
            each.setLevel(logging.WARNING)
        try:
            yield
        finally:
            for each, level in zip(loggers, levels, strict=True):
                each.setLevel(level)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file; the system releases it when the process ends, however it ends."""
    with path.open("a+b") as stream:
        _lock(stream.fileno(), path)
        yield


if sys.platform == "win32":

    def _lock(descriptor: int, path: Path) -> None:
        """Lock the first byte; msvcrt gives up after ten seconds, we do not."""
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return
            except OSError:
                logger.warning("%s is held by another sync; waiting for it to end.", path)

else:

    def _lock(descriptor: int, path: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("%s is held by another sync; waiting for it to end.", path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def _view_addresses(uri: str, base: str) -> str:
    """One line an experiment: its saved view and its title."""
    key, value = MANAGED_TAG
    with _quiet_mlflow(), _open_client(uri) as client:
        experiments = _all_pages(
            lambda token: client.search_experiments(filter_string=f"tags.{key} = '{value}'", page_token=token)
        )
    query = f"viewStateShareKey={VIEW}&workflowType=machine_learning"
    lines = [
        f"  {experiment.name}: {experiment.tags.get('title', '')}\n"
        f"    {base}/#/experiments/{experiment.experiment_id}/runs?{query}"
        for experiment in sorted(experiments, key=lambda experiment: experiment.name)
    ]
    return "\n".join(["Experiments, each with its saved view:", *lines])
