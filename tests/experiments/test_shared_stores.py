"""A store that several checkouts share: every run once, whoever writes, and artifacts where all of them see them."""

import contextlib
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.experiments import tracking_store
from cascadeforest.experiments.serving import server, wait_until_healthy
from cascadeforest.experiments.tracking import SyncReport, sync

from .made_results import N_RUNS, store_client, write_suite

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)
SYNC = """
import sys
from pathlib import Path
from cascadeforest.experiments.tracking import sync
print(sync(Path(sys.argv[1]), tracking_uri=sys.argv[2]))
"""
HOLD = """
import sys, time
from pathlib import Path
from cascadeforest.experiments.tracking_store import Store, only_writer
with only_writer(Store(sys.argv[2], False, None), Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", raising=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def postgres():
    """Debian's PostgreSQL on a free port of this machine: the address of a server without databases of ours."""
    if POSTGRES is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    if importlib.util.find_spec("psycopg2") is None:
        pytest.skip("needs psycopg2: make setup EXTRAS=postgres")
    folder, port = Path(tempfile.mkdtemp(prefix="postgres-")), free_port()
    # PostgreSQL refuses to run as root; the package makes a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    initdb = [POSTGRES.with_name("initdb"), "-D", folder / "data", "-U", "me", "--auth=trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, user=user, cwd=folder, timeout=120)
    command = [POSTGRES, "-D", folder / "data", "-F", "-h", "127.0.0.1", "-p", str(port), "-k", folder]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log)
        try:
            ready = [POSTGRES.with_name("pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
            deadline = time.monotonic() + 60
            while subprocess.run(ready, capture_output=True).returncode:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"postgresql://me:secret@127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            shutil.rmtree(folder)


@pytest.fixture
def database(postgres, request):
    """An empty database."""
    import psycopg2

    name = f"runs_{abs(hash(request.node.name))}"
    with contextlib.closing(psycopg2.connect(f"{postgres}/postgres")) as connection:
        connection.autocommit = True
        connection.cursor().execute(f"CREATE DATABASE {name}")
    return f"{postgres}/{name}"


def columns_of(database):
    """Every table and column of a database."""
    import psycopg2

    with contextlib.closing(psycopg2.connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'")
        return set(cursor.fetchall())


def keys_of(uri):
    """Tag run_key of every active run, as a list: doubles would show."""
    with store_client(uri) as client:
        ids = [each.experiment_id for each in client.search_experiments()]
        return sorted(run.data.tags["run_key"] for run in client.search_runs(ids, max_results=1_000))


def sync_from_two_checkouts(folder, uri):
    """Sync the same suite from two checkouts at the same time; what the two say."""
    checkouts = [folder / name / "results" for name in ("one", "two")]
    for results in checkouts:
        write_suite(results, "quick")
    commands = [[sys.executable, "-c", SYNC, str(results), uri] for results in checkouts]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    texts = [process.communicate(timeout=240)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    return texts, checkouts


NEWS = str(SyncReport(created=N_RUNS, replaced=0, unchanged=0, deleted=0))
NO_NEWS = str(SyncReport(created=0, replaced=0, unchanged=N_RUNS, deleted=0))


def test_two_checkouts_write_each_run_once_into_postgres(database, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    monkeypatch.setenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", str(shared))
    texts, checkouts = sync_from_two_checkouts(tmp_path, database)
    assert sorted(texts) == sorted([NEWS, NO_NEWS])
    keys = keys_of(database)
    assert len(keys) == len(set(keys)) == N_RUNS
    # Artifacts lie where both machines see them, and nowhere else.
    assert len(list(shared.glob("cells/*/artifacts/cell.json"))) == 6
    assert len(list(shared.glob("tables/*/artifacts/tables/hidf-table2.csv"))) == 1
    assert not [path for results in checkouts for path in results.glob("mlartifacts*")]


def test_the_lock_adds_nothing_to_the_database(database, postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", str(tmp_path))
    write_suite(tmp_path / "results", "quick")
    sync(tmp_path / "results", tracking_uri=database)
    synced = columns_of(database)
    import psycopg2

    with contextlib.closing(psycopg2.connect(f"{postgres}/postgres")) as connection:
        connection.autocommit = True
        connection.cursor().execute("CREATE DATABASE untouched")
    with store_client(f"{postgres}/untouched"):
        pass
    assert synced == columns_of(f"{postgres}/untouched")


@contextlib.contextmanager
def held(folder, uri):
    """A process that holds the lock of a store."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder), uri], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_sync_waits_for_the_holder_and_a_killed_holder_blocks_nobody(database, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", str(tmp_path))
    write_suite(tmp_path / "results", "quick")
    with held(tmp_path, database) as holder:
        command = [sys.executable, "-c", SYNC, str(tmp_path / "results"), database]
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = waiting.stderr.readline()
        assert "is held by another sync; waiting" in line
        assert "secret" not in line
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=3)
        holder.kill()
        assert waiting.communicate(timeout=120)[0].strip() == NEWS


def test_a_database_without_a_place_for_artifacts_is_refused(database, tmp_path):
    write_suite(tmp_path / "results", "quick")
    with pytest.raises(UserError, match=r"postgresql://\*\*\*@.* have no place yet\. Set MLFLOW_DEFAULT_ARTIFACT_ROOT"):
        sync(tmp_path / "results", tracking_uri=database)


def test_an_sqlite_file_has_its_artifacts_beside_it_and_they_cannot_move(tmp_path, monkeypatch):
    uri = f"sqlite:///{tmp_path}/team/runs.db"
    (tmp_path / "team").mkdir()
    write_suite(tmp_path / "results", "quick")
    assert sync(tmp_path / "results", tracking_uri=uri).created == N_RUNS
    assert len(list((tmp_path / "team/mlartifacts/cells").glob("*/artifacts/cell.json"))) == 6
    monkeypatch.setenv("MLFLOW_DEFAULT_ARTIFACT_ROOT", str(tmp_path / "elsewhere"))
    with pytest.raises(UserError, match=r"MLflow cannot move them\. Set MLFLOW_DEFAULT_ARTIFACT_ROOT=file://.*/team"):
        sync(tmp_path / "results", tracking_uri=uri)


def test_an_experiment_of_somebody_else_is_left_alone_and_one_of_our_old_layout_goes(tmp_path):
    uri = f"sqlite:///{tmp_path}/runs.db"
    write_suite(tmp_path / "results", "quick")
    with store_client(uri) as client:
        old = client.create_experiment("hidf-table2", tags={"managed_by": "cascadeforest"})
        ours = client.create_run(old, tags={"suite": "quick", "run_key": "quick/hidf-table2/digits/hidf/0"})
        theirs = client.create_run(old, tags={"suite": "paper", "run_key": "paper/hidf-table2/digits/hidf/0"})
    assert sync(tmp_path / "results", tracking_uri=uri).deleted == 1
    with store_client(uri) as client:
        stages = [client.get_run(run.info.run_id).info.lifecycle_stage for run in (ours, theirs)]
        assert stages == ["deleted", "active"]
        foreign = client.get_experiment_by_name("cells")
        client.set_experiment_tag(foreign.experiment_id, "managed_by", "somebody")
    with pytest.raises(UserError, match=r"has an experiment 'cells' that is not of cascadeforest\. Rename it"):
        sync(tmp_path / "results", tracking_uri=uri)


@pytest.fixture(scope="module")
def tracking_server(tmp_path_factory):
    """A local MLflow server that takes artifacts: its address and the folder that it puts them in."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder}/runs.db", "--artifacts-destination", str(folder / "files")]
    quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")} | quiet
    with server(command, environment) as process:
        wait_until_healthy(process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}", folder / "files"


def test_two_checkouts_write_each_run_once_behind_a_server(tracking_server, tmp_path):
    uri, files = tracking_server
    texts, checkouts = sync_from_two_checkouts(tmp_path, uri)
    assert sorted(texts) == sorted([NEWS, NO_NEWS])
    keys = keys_of(uri)
    assert len(keys) == len(set(keys)) == N_RUNS
    assert len(list(files.rglob("cell.json"))) == 6
    assert not [path for results in checkouts for path in results.glob("mlartifacts*")]
    models = f"{uri}/api/2.0/mlflow/registered-models/search"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(models, timeout=30) as answer:
        assert tracking_store.LOCK_NAME not in answer.read().decode()


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """A store with a model registry; an sqlite file answers as a server does, and sooner."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('registry')}/runs.db"
    with store_client(uri):
        pass
    return uri


def test_one_at_a_time_holds_a_servers_lock(registry, monkeypatch):
    monkeypatch.setattr(tracking_store, "HEARTBEAT_SECONDS", 0.05)
    inside, most, order = 0, 0, []

    def work(number):
        nonlocal inside, most
        with tracking_store._locked_server(registry):
            inside += 1
            most = max(most, inside)
            order.append(number)
            time.sleep(0.2)
            inside -= 1

    with tracking_store.quiet_mlflow():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert (most, sorted(order)) == (1, [0, 1, 2])


def test_a_silent_holder_of_a_servers_lock_is_taken_for_dead_a_living_one_is_not(registry, monkeypatch, caplog):
    monkeypatch.setattr(tracking_store, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(tracking_store, "SILENCE_SECONDS", 1.5)
    caplog.set_level(logging.WARNING)
    with store_client(registry) as client:
        client.create_registered_model(tracking_store.LOCK_NAME, description="of-a-killed-sync 7")
        entered = threading.Event()

        def wait_and_enter():
            with tracking_store._locked_server(registry):
                entered.set()

        with tracking_store._locked_server(registry):
            assert "was silent for 1.5 s" in caplog.text
            thread = threading.Thread(target=wait_and_enter)
            thread.start()
            # Three times as long as a silent holder would have kept the lock.
            assert not entered.wait(timeout=4.5)
        thread.join(timeout=30)
        assert entered.is_set()
        assert not client.search_registered_models()
