"""A run that is disturbed goes on where it was, and loses and doubles nothing. The matrix stands in `faults`."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.workflow.faults import FAULTS, Fault
from tests.workflow.test_workflow import Checkout, copy_repository, make_checkout

pytestmark = pytest.mark.workflow

#: What passed before, for a complete run that is interrupted: `make test-faults` goes on with the rest.
PASSED = Path(__file__).parents[2] / "results" / "faults.json"
PATIENCE = 1_800.0
MIB = 2**20


class Disturbed(Checkout):
    """A checkout whose runs are started, disturbed and run again."""

    def start(self, **environment):
        """Start `make run` in a session of its own."""
        command = [sys.executable, "-m", "cascadeforest.experiments", "suite", "--suite", "smoke", "--cores", "2"]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def n_done(self):
        """Fits that the run has told of."""
        path = self.folder / "results/smoke/logs/progress.jsonl"
        return path.read_text().count('"event": "cell"') if path.is_file() else 0

    def wait_for(self, process, fault, n_cells):
        """Wait until a share of the fits is done."""
        deadline, wanted = time.monotonic() + PATIENCE, min(n_cells - 1, int(fault.moment * n_cells))
        while self.n_done() < wanted:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.002 if fault.at_cell else 0.05)
        if not fault.at_cell:
            time.sleep(random.Random(fault.title).uniform(0, 1))

    def finish(self):
        """Run to the end; what the command wrote."""
        process = self.start()
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
        return output


def family_of(process):
    """Give a process and all that it started, in whatever session."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def kill(processes):
    """End them at once, whatever they do."""
    for one in processes:
        try:
            one.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=60)


def new_checkout(folder, complete):
    """Give a copy of the repository: the suite smoke as it is, or the small one of the workflow's tests."""
    folder.mkdir(parents=True)
    if complete:
        copy_repository(folder)
        shutil.copytree(Path(__file__).parents[2] / "reports/smoke", folder / "reports/smoke")
        return Disturbed(folder)
    return Disturbed(make_checkout(folder).folder)


@pytest.fixture(scope="module")
def complete(request):
    """Whether the whole matrix is made, with the whole suite."""
    return request.config.getoption("--faults")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, complete):
    """Tables and keys of a run that nothing disturbs."""
    checkout = new_checkout(tmp_path_factory.mktemp("undisturbed") / "checkout", complete)
    checkout.finish()
    return {"tables": checkout.exact_tables(), "keys": checkout.run_keys(), "cells": checkout.n_done()}


@pytest.fixture
def place(tmp_path):
    """A folder that is empty again afterwards: thirty results would fill the disk."""
    yield tmp_path / "checkout"
    shutil.rmtree(tmp_path / "checkout", ignore_errors=True)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_a_disturbed_run_ends_with_the_results_of_an_undisturbed_one(fault: Fault, complete, undisturbed, place):
    if not complete and not fault.always:
        pytest.skip("only with --faults")
    passed = json.loads(PASSED.read_text()) if complete and PASSED.is_file() else []
    if fault.title in passed:
        pytest.skip("passed before; make test-faults FRESH=1 begins anew")
    checkout = new_checkout(place, complete)
    DISTURB[fault.name](checkout, fault, undisturbed["cells"])
    checkout.finish()
    assert checkout.exact_tables() == undisturbed["tables"]
    assert checkout.run_keys() == undisturbed["keys"]
    assert set(checkout.run_keys().values()) == {"FINISHED"}
    if complete:
        PASSED.parent.mkdir(exist_ok=True)
        PASSED.write_text(json.dumps([*passed, fault.title]))


def killed(checkout, fault, n_cells):
    process = checkout.start()
    checkout.wait_for(process, fault, n_cells)
    kill(family_of(process))
    process.communicate()


def signalled(number):
    def disturb(checkout, fault, n_cells):
        process = checkout.start()
        checkout.wait_for(process, fault, n_cells)
        others = family_of(process)[1:]
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "To go on: make run SUITE=smoke" in output
        _, alive = psutil.wait_procs(others, timeout=5)
        assert not alive
        assert not [path for path in (checkout.folder / "results").rglob(".*") if path.is_file()]  # half-written

    return disturb


def full_disk(checkout, fault, n_cells):
    """A small disk that something else fills up while the suite runs."""
    folder = checkout.folder / fault.where
    folder.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs is not allowed here: {mounted.stderr.decode().strip()}")
    try:
        process = checkout.start()
        checkout.wait_for(process, fault, n_cells)
        ballast = folder / "ballast"
        with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(bytes(MIB))
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode not in (0, 130), output
        log = checkout.folder / "results/smoke/logs/run.log"
        told = output + (log.read_text(errors="replace") if log.is_file() else "")
        assert "full" in told or "No space left" in told
        assert "Traceback" not in output
        ballast.unlink()
        checkout.finish()
        kept = folder.with_name(f"{folder.name}.kept")
        shutil.copytree(folder, kept)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
    folder.rmdir()
    kept.rename(folder)


def damage(checkout, fault, n_cells):
    """Other bytes in a file that was written before."""
    checkout.finish()
    if fault.where == "kernels":
        libraries = {path: path.read_bytes() for path in checkout.folder.glob("src/cascadeforest/kernels/*.so")}
        for path in libraries:
            path.write_bytes(b"other")
        program = "from cascadeforest import RandomForestClassifier as F; F(1).fit([[0], [1]], [0, 1])"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=checkout.folder,
            env=checkout.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for path, content in libraries.items():
            path.write_bytes(content)
        assert done.returncode != 0
        assert "make setup" in done.stderr
        return
    pattern = {"cell": "cells/*/*.json", "arrays": "cells/*/*.npz", "run": "smoke/runs/*/*.json", "store": "mlflow.db"}
    path = sorted((checkout.folder / "results").glob(pattern[fault.where]))[0]
    if fault.where == "store":
        path.unlink()  # an index that is made again from the results
        (checkout.folder / "results/smoke/logs/tracked.json").unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)


def clock_set_back(checkout, fault, n_cells):
    """Python's clock, not the system's: the second half of the run is a day earlier."""
    killed(checkout, fault, n_cells)
    patch = checkout.folder / "clock"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text("import time\nnow = time.time\ntime.time = lambda: now() - 86_400\n")
    path = os.pathsep.join([str(patch), checkout.environment["PYTHONPATH"]])
    process = checkout.start(PYTHONPATH=path)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output


def two_snakemakes(checkout, fault, n_cells):
    first = checkout.start()
    checkout.wait_for(first, fault, n_cells)
    second = checkout.start()
    refused, _ = second.communicate(timeout=60)
    assert second.returncode == 2
    assert "works in this folder already" in refused
    output, _ = first.communicate(timeout=PATIENCE)
    assert first.returncode == 0, output


def two_syncs(checkout, fault, n_cells):
    checkout.finish()
    shutil.rmtree(checkout.folder / "results/mlartifacts")
    (checkout.folder / "results/mlflow.db").unlink()
    command = [sys.executable, "-m", "cascadeforest.experiments", "track", "--suite", "smoke"]
    both = [subprocess.Popen(command, cwd=checkout.folder, env=checkout.environment) for _ in range(2)]
    assert [process.wait(timeout=PATIENCE) for process in both] == [0, 0]


DISTURB = {
    "kill": killed,
    "interrupt": signalled(signal.SIGINT),
    "terminate": signalled(signal.SIGTERM),
    "full_disk": full_disk,
    "damage": damage,
    "clock_set_back": clock_set_back,
    "two_snakemakes": two_snakemakes,
    "two_syncs": two_syncs,
}
