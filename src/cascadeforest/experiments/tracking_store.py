"""Which MLflow store: ours in the results folder, a database or a server; its artifacts, and its single writer.

By default the store is ``results/mlflow.db`` with its artifacts in ``results/mlartifacts``. It holds nothing that the
result files do not, and is thrown away when it does not fit. ``MLFLOW_TRACKING_URI`` names a database or a server that
many checkouts share, ``MLFLOW_DEFAULT_ARTIFACT_ROOT`` a place for artifacts that all of them see.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from cascadeforest.data.addresses import without_passwords
from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_path
from cascadeforest.experiments.run_records import FORMAT

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    from mlflow import MlflowClient

logger = logging.getLogger(__name__)

#: Marks the experiments that `sync` made; it leaves all others alone.
MANAGED_TAG = ("managed_by", "cascadeforest")
#: Setting for the artifacts of a shared store. `mlflow server` reads the same variable.
ARTIFACTS_VARIABLE = "MLFLOW_DEFAULT_ARTIFACT_ROOT"
#: Name of the lock: a number for PostgreSQL ("cascadef" as eight bytes), a registered model for a server.
ADVISORY_KEY = int.from_bytes(b"cascadef", "big")
LOCK_NAME = "cascadeforest-sync-lock"
#: How often the holder of a server's lock says that it lives, and after what silence another one takes the lock.
HEARTBEAT_SECONDS, SILENCE_SECONDS = 5.0, 60.0


@dataclass(frozen=True)
class Store:
    """An MLflow store.

    Parameters
    ----------
    uri : str
        Address for MLflow.
    is_own : bool
        Whether it is ``results/mlflow.db``, which mirrors the folder.
    artifact_root : str or None
        Address below which new experiments put their artifacts; None leaves it to the server.
    """

    uri: str
    is_own: bool
    artifact_root: str | None

    @property
    def shown(self) -> str:
        """The address without its password."""
        return without_passwords(self.uri)

    @property
    def is_server(self) -> bool:
        """Whether a tracking server answers there, not a database."""
        return _scheme(self.uri) in ("http", "https")


def find_store(results: Path, tracking_uri: str | None = None) -> Store:
    """Say which store is meant; nothing is made.

    Parameters
    ----------
    results : Path
        Folder of the results.
    tracking_uri : str, optional
        Server or database; by default ``MLFLOW_TRACKING_URI``, else ``results/mlflow.db``.

    Raises
    ------
    UserError
        If the address is a folder, or no server answers there.
    """
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        return Store(sqlite_uri(own_database(results)), True, _own_artifacts(results).as_uri())
    if _scheme(uri) in ("", "file"):
        raise UserError(
            f"MLFLOW_TRACKING_URI is '{uri}': MLflow no longer keeps runs in plain folders. Name a server "
            "(http://host:5000) or a database (sqlite:///runs.db, postgresql://...), or unset it: results/mlflow.db."
        )
    store = Store(uri, False, _shared_artifacts(uri))
    if store.is_server:
        _require_answer(store)
    return store


def own_database(results: Path) -> Path:
    """File of the store in the results folder."""
    return results / "mlflow.db"


def sqlite_uri(database: Path) -> str:
    """Address of an sqlite file."""
    return f"sqlite:///{database.resolve().as_posix()}"


def _scheme(uri: str) -> str:
    return urlsplit(uri).scheme


def _shared_artifacts(uri: str) -> str | None:
    """Where a shared store puts artifacts: as set, else beside an sqlite file; None leaves it to the server."""
    if given := os.environ.get(ARTIFACTS_VARIABLE):
        return given.rstrip("/") if _scheme(given) else Path(given).resolve().as_uri()
    if _scheme(uri) == "sqlite":
        return (_sqlite_file(uri).parent / "mlartifacts").as_uri()
    return None


def _sqlite_file(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path)[1:]).resolve()


def _require_answer(store: Store) -> None:
    try:
        with urllib.request.urlopen(f"{store.uri.rstrip('/')}/health", timeout=10):
            pass
    except urllib.error.HTTPError:
        pass  # it answers; whether it lets us in, MLflow says better
    except OSError as error:
        raise UserError(
            f"MLFLOW_TRACKING_URI is '{store.shown}', but no server answers there ({error}). "
            "Start it, or unset the variable: the runs then go to results/mlflow.db."
        ) from error


def _own_artifacts(results: Path) -> Path:
    return results.resolve() / "mlartifacts"


def make_own_store(results: Path) -> bool:
    """Make the store in the results folder if there is none that fits.

    Returns
    -------
    bool
        Whether it had to be made (anew), and is empty.
    """
    database = own_database(results)
    if database.exists():
        reason = misfit(results)
        if not reason:
            return False
        logger.warning("%s: %s. It is deleted and made anew from the result files.", database, reason)
    # What was set aside, and what a sync left that was killed while it made the store.
    for path in (*results.glob("mlflow.db*"), *results.glob(".mlflow.*")):
        path.unlink()
    # Artifacts without their database belong to nothing.
    shutil.rmtree(_own_artifacts(results), ignore_errors=True)
    # The migration that makes the tables cannot be resumed: the file gets its name when it is whole.
    with atomic_path(database) as temporary:
        with open_client(sqlite_uri(temporary), is_disposable=True) as client:
            client.delete_experiment("0")  # 'Default': always empty here
        with closing(sqlite3.connect(temporary)) as connection:
            connection.execute(f"PRAGMA user_version = {_own_version()}")
    return True


def misfit(results: Path) -> str | None:
    """Why our own store cannot be used as it is, or None."""
    database = own_database(results)
    key, value = MANAGED_TAG
    query = (
        "SELECT DISTINCT artifact_location FROM experiments JOIN experiment_tags USING (experiment_id)"
        " WHERE key = ? AND value = ?"
    )
    try:
        with closing(sqlite3.connect(database, timeout=60)) as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (_own_version(),):
                return "it was made by another version of MLflow or of cascadeforest"
            locations = [location for (location,) in connection.execute(query, (key, value))]
    except sqlite3.OperationalError as error:
        # Locked or not readable: that says nothing of the content.
        raise UserError(f"{database}: {error}. End the program that uses the file, or check its rights.") from error
    except sqlite3.DatabaseError as error:
        return f"it is damaged ({error})"
    # MLflow stores absolute addresses, whatever it is given.
    if any(not location.startswith(f"{_own_artifacts(results).as_uri()}/") for location in locations):
        return "it was moved, and its artifacts are recorded under the old path"
    return None


def _own_version() -> int:
    """Number in our store's header. MLflow changes its tables between minor versions, and we what a run shows."""
    from mlflow import __version__

    major, minor, *_ = __version__.split(".")
    return 1_000_000 * FORMAT + 1_000 * int(major) + int(minor)


@contextmanager
def open_client(uri: str, is_disposable: bool = False) -> Iterator[MlflowClient]:
    """Client of a store; its connections are closed at the end, so that the file can be replaced.

    Parameters
    ----------
    uri : str
        Address of the store.
    is_disposable : bool
        Whether it is an sqlite file that can be made anew. The system is then not asked to flush each of the half
        dozen writes of a run to the disk, which takes longer than all the rest. A killed process loses nothing.

    Raises
    ------
    UserError
        If the store cannot be read.
    """
    from mlflow import MlflowClient

    try:
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        if is_disposable:
            _flush_never(_engine(client))
        client.search_experiments(max_results=1)
    except Exception as error:  # of MLflow, of the database, of its driver, of the network
        raise UserError(_unreadable(uri, error)) from error
    try:
        yield client
    finally:
        if engine := _engine(client):
            engine.dispose()


def _engine(client: MlflowClient) -> Any:
    """Connections of a client to a database; None behind a server.

    There is no public way, and MLflow keeps one engine for each address as long as the process lives.
    """
    return getattr(client._tracking_client.store, "engine", None)


def _flush_never(engine: Any) -> None:
    from sqlalchemy import event

    def configure(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    engine.dispose()  # of connections that were made without
    event.listen(engine, "connect", configure)


def _unreadable(uri: str, error: Exception) -> str:
    remedy = ""
    if _scheme(uri).startswith("postgresql") and isinstance(error.__cause__ or error, ModuleNotFoundError):
        remedy = " Install its driver: make setup EXTRAS=postgres, or in the checkout: pip install -e '.[postgres]'."
    return f"The runs in {without_passwords(uri)} cannot be read: {without_passwords(str(error))}{remedy}"


def require_mlflow() -> None:
    """Raise a UserError unless MLflow can be imported, and keep it from talking."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # two lines a run
    try:
        with quiet_mlflow():
            pass
    except ImportError as error:
        raise UserError(
            f"Tracking needs MLflow, which cannot be imported ({error}). Run `make setup`, or: "
            "pip install -e '.[workflow]' in the checkout."
        ) from error


@contextmanager
def quiet_mlflow() -> Iterator[None]:
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
def only_writer(store: Store, results: Path) -> Iterator[None]:
    """Hold the store's lock: of all checkouts that share it one syncs at a time, the others wait.

    Two syncs at once would each miss the runs of the other and write them twice. Files are locked by the system, in
    PostgreSQL an advisory lock is taken, which ends with its connection. A server has no lock; there a registered model
    is made, whose name MLflow keeps unique.

    Parameters
    ----------
    store : Store
    results : Path
        Folder of the results, for the lock file of the store in it.
    """
    scheme = _scheme(store.uri).partition("+")[0]
    if store.is_own:
        lock = _locked_file(results / "mlflow.lock")
    elif scheme == "sqlite":
        file = _sqlite_file(store.uri)
        lock = _locked_file(file.with_name(f"{file.name}.lock"))
    elif scheme == "postgresql":
        lock = _locked_postgres(store.uri)
    elif store.is_server:
        lock = _locked_server(store.uri)
    else:
        raise UserError(
            f"MLFLOW_TRACKING_URI is '{store.shown}': syncs that share a {scheme} database cannot wait for each other, "
            "and would write runs twice. Name a PostgreSQL database, or start `mlflow server` on this one and name it."
        )
    with lock:
        yield


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    """Hold a lock file; the system releases it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
                _tell_waiting(str(path))

else:

    def _lock(descriptor: int, path: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell_waiting(str(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def _tell_waiting(place: str) -> None:
    logger.warning("%s is held by another sync; waiting for it to end.", place)


@contextmanager
def _locked_postgres(uri: str) -> Iterator[None]:
    """Hold an advisory lock of the database, on a connection of its own. No table is made or changed."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    key = {"key": ADVISORY_KEY}
    try:
        # Without a transaction: one that stays open for minutes would keep the database from cleaning up.
        engine = create_engine(uri, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        connection = engine.connect()
    except Exception as error:  # of its driver, of the network
        raise UserError(_unreadable(uri, error)) from error
    with connection:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), key).scalar():
            _tell_waiting(without_passwords(uri))
            connection.execute(text("SELECT pg_advisory_lock(:key)"), key)
        yield


@contextmanager
def _locked_server(uri: str) -> Iterator[None]:
    """Hold the registered model `LOCK_NAME`; a holder that was silent for `SILENCE_SECONDS` is taken for dead."""
    with open_client(uri) as client:
        lock = _ServerLock(client)
        lock.acquire(without_passwords(uri))
        try:
            yield
        finally:
            lock.release()


class _ServerLock:
    """A registered model as a lock: only one client can create a name, and deleting the model frees the name.

    Its description is ``<token of the holder> <number>``; the holder counts up while it lives. Clocks of different
    machines are not compared: whoever waits watches for a change.
    """

    def __init__(self, client: MlflowClient) -> None:
        self.client = client
        self.token = secrets.token_hex(8)
        self._end = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def acquire(self, place: str) -> None:
        seen, since, told = "", time.monotonic(), False
        while not self._created(LOCK_NAME, f"{self.token} 0"):
            if not told:
                _tell_waiting(place)
                told = True
            state = self._state()
            if state != seen:
                seen, since = state, time.monotonic()
            elif time.monotonic() - since > SILENCE_SECONDS:
                self._remove_dead(seen)
            time.sleep(HEARTBEAT_SECONDS / 5)
        self._heart.start()

    def release(self) -> None:
        self._end.set()
        self._heart.join()
        if self._state().startswith(self.token):
            self.client.delete_registered_model(LOCK_NAME)

    def _remove_dead(self, state: str) -> None:
        """Remove a silent holder's lock. Of all that wait one may do so, or a second would remove the first's lock."""
        marker = f"{LOCK_NAME}-{state.partition(' ')[0]}"
        if not self._created(marker, "the lock of a sync that died is being removed"):
            return
        try:
            if self._state() == state:
                logger.warning(
                    "The sync that held the lock was silent for %g s; it is taken for dead.", SILENCE_SECONDS
                )
                self.client.delete_registered_model(LOCK_NAME)
        finally:
            self.client.delete_registered_model(marker)

    def _beat(self) -> None:
        number = 0
        while not self._end.wait(HEARTBEAT_SECONDS):
            number += 1
            try:
                self.client.update_registered_model(LOCK_NAME, description=f"{self.token} {number}")
            except Exception as error:  # of the network: the next beat may get through
                logger.warning("The server did not take the sign that this sync lives: %s", error)

    def _created(self, name: str, description: str) -> bool:
        from mlflow.exceptions import MlflowException

        try:
            self.client.create_registered_model(name, description=description)
        except MlflowException as error:
            # It was there, and may be gone by the time that MLflow looks at what it was.
            if error.error_code not in ("RESOURCE_ALREADY_EXISTS", "RESOURCE_DOES_NOT_EXIST"):
                raise
            return False
        return True

    def _state(self) -> str:
        from mlflow.exceptions import MlflowException

        try:
            return self.client.get_registered_model(LOCK_NAME).description or ""
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return ""
