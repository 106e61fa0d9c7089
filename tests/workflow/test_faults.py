"""A run that is disturbed goes on where it was, and loses and doubles nothing. The matrix stands in `faults`."""

import contextlib
import dataclasses
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from tests.workflow.faults import CHAINS, WEIGHTS, Chain
from tests.workflow.test_workflow import Checkout, copy_repository, make_checkout

pytestmark = pytest.mark.workflow
logger = logging.getLogger(__name__)

#: An undisturbed run, what it leaves, and a file for each chain that passed: `make test-faults` goes on with the rest,
#: also several at a time (`-k kills-0` beside `-k kills-1`).
KEPT = Path(__file__).parents[2] / "results" / "faults"
#: Prepared data, and what Snakemake knows of them.
PREPARED = ("data", ".snakemake/metadata")
PATIENCE = 7_200.0
MIB = 2**20


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a run that nothing disturbs leaves.

    Parameters
    ----------
    tables : dict
        Rows of every table but those of measured cost.
    keys : dict
        Status by key of the runs in MLflow.
    things : list of int
        Numbers of data sets, of cells, of drawn tables, and of runs with files in MLflow.
    """

    tables: dict
    keys: dict
    things: list[int]


class Disturbed(Checkout):
    """A checkout whose runs are started, disturbed and run again."""

    def start(self):
        """Start `make run` in a session of its own."""
        command = [sys.executable, "-m", "cascadeforest.experiments", "suite", "--suite", "smoke", "--cores", "2"]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A shell that starts the tests in the background has its children ignore Ctrl-C.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def reference(self):
        return Reference(self.exact_tables(), self.run_keys(), self.things())

    def things(self):
        results = self.folder / "results"
        patterns = ("../data/processed/*.npz", "cells/*/*.json", "smoke/logs/draw/*.complete", "mlartifacts/*/*")
        return [sum(1 for _ in results.glob(pattern)) for pattern in patterns]

    def moment(self, reference):
        """How far the run is, on the scale of `Fault.moment`."""
        shares = (min(1.0, n / n_all) for n, n_all in zip(self.things(), reference.things, strict=True))
        return sum(weight * share for weight, share in zip(WEIGHTS, shares, strict=True))

    def n_fitted(self):
        """Fits that this run has done; this is cheap, to be asked a thousand times a second."""
        path = self.folder / "results/smoke/logs/progress.jsonl"
        return path.read_bytes().count(b'"fitted": true') if path.is_file() else 0

    def wait_for(self, process, fault, reference):
        """Wait until the moment of a fault."""

        def wait(condition, seconds):
            deadline = time.monotonic() + PATIENCE
            while not condition():
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(seconds)

        wait(lambda: self.moment(reference) >= fault.moment, 0.1)
        if fault.at_cell:
            before = self.n_fitted()
            wait(lambda: self.n_fitted() > before, 0.001)
        else:
            time.sleep(random.Random(fault.moment).uniform(0, 1))
        assert process.poll() is None, process.communicate()[0]

    def finished_cells(self):
        """Content of the cells, which says how long each fit took: a cell that is computed again is another one."""
        return {path: path.read_bytes() for path in (self.folder / "results/cells").glob("*/*.json")}

    def finish(self):
        """Run to the end; what the command wrote."""
        return end_well(self.start())


def end_well(process):
    """Wait until a run has succeeded; what it wrote."""
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    assert "of CPU time." in output, output  # the first of the sentences at the end
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
    """A checkout after a run that nothing disturbs."""
    if complete and (KEPT / "reference.json").is_file():
        checkout = Disturbed(KEPT / "checkout")
    else:
        folder = KEPT if complete else tmp_path_factory.mktemp("undisturbed")
        shutil.rmtree(folder / "checkout", ignore_errors=True)
        checkout = new_checkout(folder / "checkout", complete)
    checkout.finish()
    return checkout


@pytest.fixture(scope="module")
def reference(request, complete):
    path = KEPT / "reference.json"
    if complete and path.is_file():
        return Reference(**json.loads(path.read_text()))
    found = request.getfixturevalue("undisturbed").reference()
    if complete:
        path.write_text(json.dumps(dataclasses.asdict(found)))
    return found


@pytest.fixture
def place(tmp_path):
    """A folder that is empty again afterwards: results of all chains would fill the disk."""
    yield tmp_path / "checkout"
    shutil.rmtree(tmp_path / "checkout", ignore_errors=True)


@contextlib.contextmanager
def small_disk(folder):
    """Put a disk of 700 MiB at a folder that is not there yet; what is on it in the end, stays."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs is not allowed here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.title)
def test_a_disturbed_run_ends_with_the_results_of_an_undisturbed_one(chain: Chain, complete, reference, place, request):
    if not complete and not chain.always:
        pytest.skip("only with --faults")
    passed = KEPT / f"{chain.title}.passed"
    if complete and passed.is_file():
        pytest.skip("passed before; make test-faults FRESH=1 begins anew")
    faults = chain.faults if complete else [chain.faults[number] for number in chain.always]
    if chain.title == "damage":
        finished = request.getfixturevalue("undisturbed")
        for fault in faults:
            logger.info("%s", fault)
            DISTURB[fault.name](finished, None, fault)
            finished.finish()
            found = finished.reference()
            assert found.tables == reference.tables, fault
            assert found.keys == reference.keys, fault
    else:
        checkout = new_checkout(place, complete)
        if complete and chain != CHAINS[0]:  # the first chain disturbs the preparation of the data, too
            for name in PREPARED:
                shutil.copytree(KEPT / "checkout" / name, checkout.folder / name, dirs_exist_ok=True)
        with small_disk(checkout.folder / chain.disk) if chain.disk else contextlib.nullcontext():
            disturb_one_run(checkout, faults, reference)
    if complete:
        passed.touch()


def disturb_one_run(checkout, faults, reference):
    """Make faults one after another; each time the run goes on from what is there."""
    process, kept = None, {}
    for fault in faults:
        if process is None:
            (checkout.folder / "results/smoke/logs/progress.jsonl").unlink(missing_ok=True)  # of the run before
            process = checkout.start()
        checkout.wait_for(process, fault, reference)
        logger.info("%s after %d data sets, %d cells, %d tables, %d runs in MLflow", fault, *checkout.things())
        went_on = DISTURB[fault.name](checkout, process, fault)
        process = process if went_on else None
        kept = checkout.finished_cells() | kept
    end_well(process or checkout.start())
    assert checkout.exact_tables() == reference.tables
    assert checkout.run_keys() == reference.keys
    assert set(checkout.run_keys().values()) == {"FINISHED"}
    assert checkout.finished_cells().items() >= kept.items()  # none was computed a second time


def killed(checkout, process, fault):
    kill(family_of(process))
    process.communicate()


def signalled(number):
    def disturb(checkout, process, fault):
        others = family_of(process)[1:]
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "To go on: make run SUITE=smoke" in output
        _, alive = psutil.wait_procs(others, timeout=5)
        assert not alive
        assert not [path for path in (checkout.folder / "results").rglob(".*") if path.is_file()]  # half-written

    return disturb


def full_disk(checkout, process, fault):
    """Something else fills up the small disk while the suite runs."""
    disk = next(path for path in (checkout.folder / "results/cells", checkout.folder / "results") if path.is_mount())
    ballast = disk / "ballast"
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


def damage(checkout, process, fault):
    """Other bytes in a file that was written before."""
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
    path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)
    if fault.where == "cell":  # cells are read when something is to be made from them
        shutil.rmtree(checkout.folder / "results/smoke/batches")
    if fault.where == "store":
        path.write_bytes(b"x" * 4096 + path.read_bytes()[4096:])
        (checkout.folder / "results/smoke/logs/tracked.json").unlink()


def clock_set_back(checkout, process, fault):
    """Python's clock, not the system's: the rest of the run is a day earlier, and what is there is from tomorrow."""
    killed(checkout, process, fault)
    patch = checkout.folder / "clock"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text("import time\nnow = time.time\ntime.time = lambda: now() - 86_400\n")
    checkout.environment["PYTHONPATH"] = os.pathsep.join([str(patch), checkout.environment["PYTHONPATH"]])
    for path in [*(checkout.folder / "results").rglob("*"), *(checkout.folder / "data").rglob("*")]:
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 86_400 * 10**9))


def two_snakemakes(checkout, process, fault):
    second = checkout.start()
    refused, _ = second.communicate(timeout=PATIENCE)
    assert second.returncode == 2
    assert "works in this folder already" in refused
    return process


def two_syncs(checkout, process, fault):
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
