"""`make run`: one line that says how far a suite is, the reason of a failure, and an end that leaves nothing behind."""

import io
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.experiments import running
from cascadeforest.experiments.batches import Cost, make_batches
from cascadeforest.experiments.plan import Experiment, Plan, Run, Suite
from cascadeforest.experiments.progress import Progress, duration, tell
from cascadeforest.experiments.records import Failure, Failures, batch_path
from cascadeforest.experiments.typed_files import write_typed

Usage = namedtuple("Usage", ["total", "used", "free"])
#: Stands for Snakemake: writes what it writes, and what training jobs tell.
SNAKEMAKE = """
import os, shutil, sys, time
from pathlib import Path
from cascadeforest.experiments.progress import tell
folder = Path("results/quick")
mode = Path("mode").read_text()
print("1 of 4 steps (25%) done", flush=True)
tell(folder, "batch", batch="iris.forest")
tell(folder, "fit", batch="iris.forest", dataset="iris", model="forest", repeat=1)
if mode == "waits":
    Path("child").write_text(str(os.getpid()))
    time.sleep(100)
tell(folder, "cell", batch="iris.forest", dataset="iris", model="forest", repeat=0, fitted=False)
tell(folder, "cell", batch="iris.forest", dataset="iris", model="forest", repeat=1, fitted=True)
tell(folder, "run", batch="iris.forest", dataset="iris", model="forest", metric="accuracy", score=0.95)
print(" ".join(sys.argv[1:]))
if mode == "fails":
    print("Error in rule train")
    sys.exit(1)
if mode == "lacks":
    print("Error in rule fetch:\\nerror: letter.data could not be had\\n" * 2)
    sys.exit(1)
"""


@pytest.fixture
def plan():
    runs = [
        Run("quick", data, "forest", "classification", "sklearn.dummy:DummyClassifier", {}, (0, 1))
        for data in ("iris", "wine")
    ]
    costs = {run.pair: Cost(10.0, 1.0) for run in runs}
    return Plan("quick", Suite("a suite"), {}, tuple(runs), batches=make_batches(runs, costs, 25))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results" / "quick"


def test_progress_follows_what_jobs_tell(plan, folder):
    mark = batch_path(folder, "wine.forest")
    mark.parent.mkdir(parents=True)
    mark.touch()
    tell(folder, "cell", batch="x", dataset="iris", model="forest", repeat=0, fitted=True)  # of an earlier run
    progress = Progress(plan, folder)
    progress.read()
    assert (len(progress.done), len(progress.cells)) == (2, 4)
    assert progress.left(0.0, 2) == pytest.approx(10.0)  # two fits of ten seconds, on two cores
    tell(folder, "batch", batch="wine.forest")  # looked at again
    tell(folder, "fit", batch="wine.forest", dataset="wine", model="forest", repeat=1)
    progress.read()
    assert not progress.done
    assert list(progress.fitting.values()) == ["forest on wine, repeat 1"]
    tell(folder, "cell", batch="wine.forest", dataset="wine", model="forest", repeat=0, fitted=False)
    tell(folder, "cell", batch="wine.forest", dataset="wine", model="forest", repeat=1, fitted=True)
    tell(folder, "run", batch="wine.forest", dataset="wine", model="forest", metric="accuracy", score=0.5)
    tell(folder, "end", batch="wine.forest")
    for repeat in (0, 1):
        tell(folder, "cell", batch="iris.forest", dataset="iris", model="forest", repeat=repeat, fitted=True)
    progress.read()
    assert progress.done == progress.cells
    assert progress.fitted == progress.cells - {("wine", "forest", 0)}
    assert not progress.fitting
    assert progress.score == "forest on wine: accuracy 0.5"
    assert progress.left(60.0, 2) == 0
    tell(folder, "batch", batch="iris.forest")  # merges what others made just now: the count must not fall
    progress.read()
    assert progress.done == progress.cells


def showing(repeats):
    """A table of one column with these rows."""
    columns = {"rf": "forest"}
    return Experiment("", "hidf", "table", "T", "scores", columns=columns, datasets=(*repeats,), repeats=repeats)


def test_of_some_targets_only_their_fits_count(plan, folder):
    """And those that are computed in the same job; the claims follow from all results."""
    kinds = {"ours": ("table", ("wine",)), "both": ("table", ("iris", "wine")), "claims": ("claims", ())}
    one = {name: replace(showing(dict.fromkeys(rows, 2)), kind=kind) for name, (kind, rows) in kinds.items()}
    plan = replace(plan, experiments=one)

    def shown(*targets):
        progress = Progress(plan, folder, targets)
        return progress.experiments, {dataset for dataset, _, _ in progress.cells}

    assert shown("ours") == (["ours"], {"wine"})
    assert shown("both:iris") == (["both"], {"iris"})
    assert shown("both:iris", "ours") == (["both", "ours"], {"iris", "wine"})
    assert shown() == shown("ours", "claims") == shown("report") == ([*one], {"iris", "wine"})


def test_files_from_the_future_get_the_present_time(stand_in, plan, folder):
    """Snakemake refuses what a job makes from an input that is newer than it: the clock was set back."""
    data = folder.parents[1] / "data" / "processed"
    data.mkdir(parents=True)
    now, files = time.time(), [data / "iris.npz", data / "wine.npz"]
    for file, when in zip(files, (now + 86_400, now - 86_400), strict=True):
        file.touch()
        os.utime(file, (when, when))
    _, text = stand_in(plan, "works")
    assert "The clock was set back: 1 files were newer than now" in text
    assert abs(files[0].stat().st_mtime - now) < 60
    assert files[1].stat().st_mtime == pytest.approx(now - 86_400)
    assert "newer" not in stand_in(plan, "works")[1]


def test_half_a_line_waits_for_its_end(plan, folder):
    progress = Progress(plan, folder)
    with progress.path.open("a") as stream:
        stream.write('{"event": "cell", "dataset": "iris", ')
        stream.flush()
        progress.read()
        stream.write('"model": "forest", "repeat": 0, "fitted": true}\n')
    assert not progress.done
    progress.read()
    assert progress.done == {("iris", "forest", 0)}


def test_time_left_goes_by_the_speed_of_this_run(plan, folder):
    progress = Progress(plan, folder)
    for repeat in (0, 1):
        tell(folder, "cell", batch="iris.forest", dataset="iris", model="forest", repeat=repeat, fitted=True)
    progress.read()
    assert progress.left(40.0, 2) == pytest.approx(40.0)  # half as fast as it was measured


def test_fits_of_unknown_cost_are_as_long_as_the_known_ones_on_both_sides(plan, folder):
    """Nothing is known of wine, and only wine was fitted so far."""
    costs = {("iris", "forest"): Cost(10.0, 1.0)}
    progress = Progress(replace(plan, batches=make_batches(plan.runs, costs, 25)), folder)
    assert progress.left(0.0, 2) == pytest.approx(20.0)
    for repeat in (0, 1):
        tell(folder, "cell", batch="wine.forest", dataset="wine", model="forest", repeat=repeat, fitted=True)
    progress.read()
    assert progress.left(40.0, 2) == pytest.approx(40.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.42, "0.4 s"), (75, "1 min 15 s"), (7384, "2 h 3 min"), (200_000, "2 d 7 h")]
)
def test_durations_have_two_units(seconds, text):
    assert duration(seconds) == text


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program in the place of Snakemake; the returned function runs the suite with it."""
    program = tmp_path / "snakemake.py"
    program.write_text(SNAKEMAKE)
    source = str(Path(running.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), source]))

    def start(plan, mode, targets=()):
        (tmp_path / "mode").write_text(mode)
        stream = io.StringIO()
        status = running.run_suite(tmp_path, plan, targets, "2", {"suite": "quick"}, stream)
        return status, stream.getvalue()

    return start


def test_a_run_says_what_happens_and_where_the_log_is(stand_in, plan, folder):
    status, text = stand_in(plan, "works", ["hidf-table1"])
    assert status == 0
    lines = text.splitlines()
    assert "from 4 fits; 0 are there" in lines[0]
    assert "of 4 fits" in lines[1]
    assert "The log of this run: " in lines[-1]
    log = (folder / running.LOG).read_text()
    assert "hidf-table1 --cores 2 --config suite=quick" in log
    assert "steps" not in text  # Snakemake's output is in the log only


def test_of_rows_of_a_table_the_runs_are_made(stand_in, plan, folder):
    plan = replace(plan, experiments={"both": showing({"iris": 2, "wine": 2})})
    assert stand_in(plan, "works", ["both:iris", "ours"])[0] == 0
    log = (folder / running.LOG).read_text()
    mark = f"results/quick/batches/{plan.merged_by['iris', 'forest']}.json"
    assert f"ours {mark} results/quick/plan.json --cores 2" in log
    assert "ONLY='both:iris ours'" in stand_in(plan, "fails", ["both:iris", "ours"])[1]


def test_of_a_run_that_other_tables_repeat_more_a_row_makes_its_own_repeats(stand_in, plan, folder, monkeypatch):
    """Ten seconds a repeat and jobs of 25: two of four repeats are one job. The whole is merged where it was before."""
    merged = []
    monkeypatch.setattr("cascadeforest.experiments.jobs.merge", lambda *run: merged.append(run))
    runs = tuple(replace(run, repeats=(0, 1, 2, 3)) for run in plan.runs)
    costs = {run.pair: Cost(10.0, 1.0) for run in runs}
    two = {"both": showing({"iris": 2, "wine": 4}), "one": showing({"iris": 1})}
    plan = replace(plan, runs=runs, batches=make_batches(runs, costs, 25), experiments=two)
    assert plan.made_by(("iris", "forest"), 3) == ["iris.forest"]  # all parts: merged by the job
    assert "from 6 fits; 0 are there" in stand_in(plan, "works", ["both:iris,wine", "one:iris"])[1]
    names = [f"results/quick/batches/{name}.json" for name in ("iris.forest.0", "wine.forest")]
    log = (folder / running.LOG).read_text()
    assert f"{names[0]} {names[1]} results/quick/plan.json --cores 2" in log
    two_of_iris = (folder.parents[1], "quick", replace(runs[0], repeats=(0, 1)))
    assert merged == [two_of_iris]
    assert stand_in(plan, "fails", ["both:iris"])[0] == 1
    assert merged == [two_of_iris]  # not of what failed

    def fails(*run):
        raise UserError("iris.npz: damaged")

    monkeypatch.setattr("cascadeforest.experiments.jobs.merge", fails)
    status, text = stand_in(plan, "works", ["both:iris"])
    assert status == 1
    assert "forest on iris is not merged: iris.npz: damaged\nFailed after" in text
    whole = batch_path(folder, "iris.forest")
    whole.parent.mkdir()
    whole.touch()
    assert "from 4 fits; 4 are there" in stand_in(plan, "works", ["both:iris"])[1]
    assert f"{whole.relative_to(folder.parents[1])} results/quick/plan.json" in (folder / running.LOG).read_text()


def test_the_lock_of_a_killed_run_is_released_and_that_of_a_living_one_is_not(stand_in, plan, tmp_path):
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("results/quick/plan.json")
    _, text = stand_in(plan, "works")
    assert text.startswith("An earlier run in this folder was killed; its lock is released.")
    assert not locks.exists()
    locks.mkdir()
    (locks / "0.input.lock").touch()
    command = [sys.executable, "-c", "import time; time.sleep(60)  # snakemake"]
    other = subprocess.Popen(command, cwd=tmp_path)
    try:
        with pytest.raises(UserError, match=rf"works in this folder already: process {other.pid}\."):
            stand_in(plan, "works")
    finally:
        other.kill()
        other.wait()


def test_a_second_run_is_refused_before_snakemake_has_its_lock(stand_in, plan, tmp_path, folder):
    """The second one emptied the log of the first, and only then learned from Snakemake that it came too late."""
    lock = tmp_path / "results" / "run.lock"
    lock.parent.mkdir()
    code = (
        "import fcntl, sys; stream = open(sys.argv[1], 'w'); fcntl.flock(stream, fcntl.LOCK_EX)\n"
        "print(77, file=stream, end='', flush=True); print(flush=True); input()"
    )
    other = subprocess.Popen([sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    with pytest.raises(UserError, match=r"works in this folder already: process 77\."):
        stand_in(plan, "works")
    assert not folder.exists()
    other.communicate(b"\n")
    assert stand_in(plan, "works")[0] == 0  # the system released the lock


def test_a_failed_run_says_why_and_how_to_go_on(stand_in, plan, folder):
    write_typed(
        folder / "failures" / "iris" / "forest.json",
        Failures("iris", "forest", (Failure(1, "MemoryError", "too much", "", 0, 1),)),
    )
    status, text = stand_in(plan, "fails")
    assert status == 1
    assert "forest on iris, repeat 1: MemoryError: too much" in text
    assert "make run SUITE=quick" in text
    (folder / "failures" / "iris" / "forest.json").unlink()
    _, text = stand_in(plan, "fails")
    assert "Error in rule train" in text  # nothing failed in a fit: the last that Snakemake says


def test_what_other_steps_say_comes_before_failed_fits_and_failed_steps_are_counted(stand_in, plan, folder):
    status, text = stand_in(plan, "lacks")
    assert status == 1
    assert text.count("error: letter.data could not be had") == 1
    assert "Error in rule" not in text
    state = running._state(Progress(plan, folder), folder / running.LOG, 1.0, 2)
    assert state.startswith("1.0 s: 0 of 4 fits, 2 failed steps (see the log)")
    failures = tuple(Failure(k, "MemoryError", "too much", "", 0, 1) for k in range(running.N_SHOWN))
    write_typed(folder / "failures" / "iris" / "forest.json", Failures("iris", "forest", failures))
    _, text = stand_in(plan, "lacks")
    assert "error: letter.data could not be had" in text  # whatever number of fits failed too
    assert "and 1 more" in text


def test_a_full_disk_is_the_reason_whatever_the_logs_say(stand_in, plan, folder, monkeypatch):
    monkeypatch.setattr(running.shutil, "disk_usage", lambda _: Usage(1, 1, 4096))
    status, text = stand_in(plan, "fails")
    assert status == 1
    assert f"{folder}: the disk is full. Make room" in text


def test_a_terminal_shows_one_line_that_is_drawn_again():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    line = running.Line(stream)
    line.show(lambda: "x" * 500)
    line.show(lambda: "second")
    line.end()
    assert "\n" not in stream.getvalue()
    assert max(map(len, stream.getvalue().split("\r\x1b[K"))) < 500


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_jobs_and_says_how_to_go_on(stand_in, plan, tmp_path, number):
    (tmp_path / "mode").write_text("waits")
    code = (
        "import signal, sys; from pathlib import Path; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tests.experiments.test_running import interrupted_plan\n"
        "from cascadeforest.experiments.running import run_suite\n"
        "sys.exit(run_suite(Path(), interrupted_plan(), [], '1', {'suite': 'quick'}, sys.stdout))"
    )
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(Path(__file__).parents[2])])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    child = tmp_path / "child"
    deadline = time.monotonic() + 60
    while not (child.exists() and child.read_text()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To go on: make run SUITE=quick" in output
    assert not psutil.pid_exists(int(child.read_text()))


def interrupted_plan():
    run = Run("quick", "iris", "forest", "classification", "sklearn.dummy:DummyClassifier", {}, (0, 1))
    return Plan("quick", Suite("a suite"), {}, (run,), batches=make_batches([run], {}, 25))
