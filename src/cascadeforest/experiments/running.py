"""`make run`: Snakemake with one line of progress in place of its own output, which goes to a file."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import psutil

from cascadeforest.data.errors import UserError
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.plan import Plan
from cascadeforest.experiments.progress import Progress, duration, jobs_of_rows
from cascadeforest.experiments.records import PLAN_FILE, batch_path, read_failures

if sys.platform != "win32":
    import fcntl

#: Snakemake's own output, below ``results/<suite>``.
LOG = Path("logs") / "run.log"
#: There while a run is being stopped: Snakemake then draws nothing of what there is.
STOPPING = Path("logs") / "stopping"
#: Seconds between two lines, on a terminal and elsewhere.
REDRAW, REPEAT = 0.5, 60.0
#: Seconds until jobs that were asked to end are ended.
ASK, END = 20.0, 5.0
#: Failures, and last lines of the log, that are printed.
N_SHOWN = 5
#: Bytes that are left on a disk that is full.
FULL = 5 * 2**20
_STEPS = re.compile(rb"(\d+) of (\d+) steps")


class Line:
    """One line on a terminal that is drawn again and again, or a line a minute elsewhere.

    Parameters
    ----------
    stream : text stream
        Where it is written.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        self._written = -REPEAT

    def show(self, text: Callable[[], str]) -> None:
        """Draw the line, if it is time to."""
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\x1b[K" + text()[:width])
        elif time.monotonic() - self._written >= REPEAT:
            self.stream.write(text() + "\n")
            self._written = time.monotonic()
        self.stream.flush()

    def end(self) -> None:
        """Leave the terminal's line."""
        if self.is_terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def run_suite(
    root: Path, plan: Plan, targets: Sequence[str], cores: str, overrides: Mapping[str, Json], stream: TextIO
) -> int:
    """Run Snakemake and say on one line how far it is.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    plan : Plan
        Of the suite.
    targets : sequence of str
        What to make: names of rules, files, experiments with some of their rows (`chosen_rows`), whose
        runs are made and no table; empty for everything.
    cores : str
        A number, or ``all``.
    overrides : mapping
        Keys of ``config/config.yaml`` to replace.
    stream : text stream
        Where to write.

    Returns
    -------
    int
        0 if everything was made, 130 if it was interrupted, else Snakemake's exit status.

    Raises
    ------
    UserError
        If Snakemake works in this folder already.
    """
    with _only_run(root):
        if _release_lock(root):
            stream.write("An earlier run in this folder was killed; its lock is released.\n")
        return _run(root, plan, targets, cores, overrides, stream)


def _run(
    root: Path, plan: Plan, targets: Sequence[str], cores: str, overrides: Mapping[str, Json], stream: TextIO
) -> int:
    folder = root / "results" / plan.suite
    (folder / STOPPING).unlink(missing_ok=True)
    if n := _reset_future_times(root / "data", folder):
        stream.write(f"The clock was set back: {n:,} files were newer than now, and got the present time.\n")
    progress, log = Progress(plan, folder, targets), folder / LOG
    page = folder / "index.html"
    n_cores = (os.cpu_count() or 1) if cores == "all" else int(cores)
    expected = progress.expected(progress.cells - progress.done) / n_cores
    stream.write(
        f"Suite {plan.suite}: {len(progress.experiments)} tables and figures from {len(progress.cells):,} fits; "
        f"{len(progress.done):,} are there, the others take about {duration(expected)} on {n_cores} cores, where "
        f"reports/*/costs.csv was measured. The page grows at {page}.\n"
    )
    stream.flush()
    settings = [f"{key}={value}" for key, value in overrides.items()]
    made = _made_for(root, plan, targets)
    command = [sys.executable, "-m", "snakemake", *made, "--cores", cores, "--config", *settings]
    started, interrupted, line = time.monotonic(), False, Line(stream)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone, and we end its jobs
        )
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while process.poll() is None:
                line.show(lambda: _state(progress, log, time.monotonic() - started, n_cores))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(REDRAW if line.is_terminal else 2 * REDRAW)
        except KeyboardInterrupt:
            interrupted = True
            line.end()
            stream.write("Stopping: the fits that run now are given up, finished ones are kept.\n")
            stream.flush()
            (folder / STOPPING).touch()
            _stop(process, root)
        finally:
            signal.signal(signal.SIGTERM, before)
    line.end()
    is_made = process.returncode == 0 and not interrupted
    unmerged = _merge_first(root, plan, targets) if is_made else []
    progress.read()
    again = " ".join(["make run", f"SUITE={plan.suite}", *([f"ONLY='{' '.join(targets)}'"] if targets else [])])
    took = duration(time.monotonic() - started)
    if interrupted:
        state = f"{len(progress.done):,} of {len(progress.cells):,} fits are kept"
        stream.write(f"Stopped after {took}: {state}. To go on: {again}\nThe log of this run: {log}\n")
        return 130
    if is_made and not unmerged:
        _say_result(root, plan, targets, stream)
        stream.write(f"Finished after {took}.{'' if targets else f' The page: {page.resolve().as_uri()}'}\n")
    else:
        for reason in unmerged or _reasons(plan, folder, log):
            stream.write(f"{reason}\n")
        shown = f" What there is, is shown at {page.resolve().as_uri()}." if page.is_file() and not targets else ""
        stream.write(f"Failed after {took}.{shown} What failed is tried again by: {again}\n")
    stream.write(f"The log of this run: {log}\n")
    return process.returncode or bool(unmerged)


def _made_for(root: Path, plan: Plan, targets: Sequence[str]) -> list[str]:
    """Return Snakemake's targets: for rows of an experiment the marks of jobs that make their runs, and the plan."""
    made, folder = [target for target in targets if ":" not in target], Path("results") / plan.suite
    if jobs := jobs_of_rows(plan, root / folder, targets):
        made += [*(str(batch_path(folder, name)) for names in jobs.values() for name in names), str(folder / PLAN_FILE)]
    return list(dict.fromkeys(made))


def _merge_first(root: Path, plan: Plan, targets: Sequence[str]) -> list[str]:
    """Merge runs where a row shows only their first repeats, so that it can be accepted; return what failed."""
    jobs = jobs_of_rows(plan, root / "results" / plan.suite, targets)
    if not (parts := {pair: names for pair, names in jobs.items() if plan.merged_by[pair] not in names}):
        return []
    from cascadeforest.experiments.jobs import JobFailed, merge  # slow to import

    problems = []
    for pair, names in parts.items():
        [run] = plan.work(plan.batch[plan.merged_by[pair]])
        made = tuple(repeat for name in names for repeat in plan.batch[name].parts[0].repeats)
        try:
            merge(root, plan.suite, replace(run, repeats=made))
        except (JobFailed, UserError, OSError) as error:
            problems.append(f"{run.model} on {run.dataset} is not merged: {error}")
    return problems


def _reset_future_times(*folders: Path) -> int:
    """Set the times of files from the future to now, and return how many there were.

    Snakemake fails a job whose input is newer than its output.
    """
    now = time.time()
    files = (Path(place, name) for folder in folders for place, _, names in os.walk(folder) for name in names)
    late = [file for file in files if not file.is_symlink() and file.stat().st_mtime > now + 1]
    for file in late:
        os.utime(file, (now, now))
    return len(late)


@contextlib.contextmanager
def _only_run(root: Path) -> Iterator[None]:
    """Refuse a second run in the same folder, from the first moment on; Snakemake makes its own lock seconds later."""
    path = root / "results" / "run.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as stream:
        if sys.platform != "win32":
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until this process ends, however it ends
            except BlockingIOError:
                stream.seek(0)
                raise _works_already(stream.read()) from None
        stream.truncate(0)
        stream.write(f"{os.getpid()}")
        stream.flush()
        yield


def _works_already(process: object) -> UserError:
    return UserError(
        f"Snakemake works in this folder already: process {process}. Wait until it has finished, or end it: "
        f"kill {process}"
    )


def _release_lock(root: Path) -> bool:
    """Release the lock of a Snakemake that was killed; `UserError` if one works in this folder."""
    if not any((root / ".snakemake" / "locks").glob("*")):
        return False
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            if "snakemake" in " ".join(process.info["cmdline"] or []) and process.cwd() == os.fspath(root.resolve()):
                raise _works_already(process.pid)
    _unlock(root)
    return True


def _unlock(root: Path) -> None:
    """Do what `snakemake --unlock` does, which takes seconds to start."""
    shutil.rmtree(root / ".snakemake" / "locks", ignore_errors=True)


def _state(progress: Progress, log: Path, elapsed: float, cores: int) -> str:
    progress.read()
    n_done, n_all = len(progress.done), len(progress.cells)
    text = f"{duration(elapsed)}: {n_done:,} of {n_all:,} fits"
    if n_failed := log.read_bytes().count(b"\nError in rule "):
        text += f", {n_failed:,} failed step{'s' * (n_failed > 1)} (see the log)"
    if progress.fitting:
        text += f", now {'; '.join(list(progress.fitting.values())[:2])}"
    elif steps := _steps(log):
        text += f", step {steps}"
    if progress.score:
        text += f"; last {progress.score}"
    if n_done < n_all:
        text += f"; about {duration(progress.left(elapsed, cores))} left"
    else:
        text += "; drawing tables and figures"
    return text


def _steps(log: Path) -> str:
    """Snakemake's count of its jobs, from the end of its output."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 20_000))
        found = _STEPS.findall(stream.read())
    return f"{int(found[-1][0])} of {int(found[-1][1])}" if found else ""


def _stop(process: subprocess.Popen[bytes], root: Path) -> None:
    """End Snakemake and its jobs, politely first."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    for seconds, number in ((ASK, signal.SIGTERM), (END, signal.SIGKILL)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    if process.wait() == -signal.SIGKILL:  # it could not release its lock on the folder
        _unlock(root)


def _say_result(root: Path, plan: Plan, targets: Sequence[str], stream: TextIO) -> None:
    """Print what the page says, in three sentences."""
    command = [sys.executable, "-m", "cascadeforest.reports", "summary", "--suite", plan.suite]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if not targets:
        stream.write(done.stdout or done.stderr)


def _reasons(plan: Plan, folder: Path, log: Path) -> list[str]:
    """Why a run failed: what its fits died of and its other steps say, or else what Snakemake says at last."""
    if shutil.disk_usage(folder).free < FULL:  # the logs, too, may lack what they should say
        return [f"{folder}: the disk is full. Make room, and run again: what is done is kept."]
    failed = [
        f"{run.model} on {run.dataset}, repeat {one.repeat}: {one.error}: {one.message}"
        for run in plan.runs
        for one in read_failures(folder, run.dataset, run.model)
    ]
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    # First what no fit tells of: data that could not be had, timings.
    failed = [*dict.fromkeys(line for line in lines if line.startswith(("error: ", "failed: timings"))), *failed]
    if failed:
        more = [f"and {len(failed) - N_SHOWN} more"] if len(failed) > N_SHOWN else []
        return [*failed[:N_SHOWN], *more]
    return lines[-3 * N_SHOWN :]


def overrides_of(suite: str | None, others: Sequence[str]) -> dict[str, Json]:
    """Read ``key=value`` words, as Snakemake's ``--config`` takes them."""
    given: dict[str, Json] = {"suite": suite} if suite else {}
    for word in others:
        key, _, value = word.partition("=")
        try:
            given[key] = json.loads(value)
        except ValueError:
            given[key] = value
    return given
