"""Training jobs: all repeats of some runs, each fit in a process apart, scored and merged into one file a run.

One process fits one repeat after another; a fit whose memory is measured gets a process of its own. They are forked
from a clean server that has imported the libraries but never computed: importing costs more than many a fit, and a
process that has itself run an OpenMP loop must not fork. A repeat that dies, even by a signal, loses only itself. Cells
and merged files are not outputs that Snakemake knows, since it deletes the outputs of a failed job.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import importlib.util
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import ParamSpec, TypeAlias, TypeVar

from cascadeforest.data.errors import ConfigError, DamagedFile, UserError
from cascadeforest.data.files import atomic_write, canonical_json, digest_of, sha256_of
from cascadeforest.data.typed_json import Json, to_json
from cascadeforest.experiments import provenance
from cascadeforest.experiments.cells import Cell, cell_key, compute_cell, predictions, read_cell
from cascadeforest.experiments.code_digest import code_digest
from cascadeforest.experiments.extras import module_of
from cascadeforest.experiments.measure import read_by_profiler, release_memory
from cascadeforest.experiments.metrics import Scores, score
from cascadeforest.experiments.plan import Plan, Run
from cascadeforest.experiments.progress import SHOWN_SCORES
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import (
    CELL_CACHE,
    PROCESSED,
    Failure,
    Failures,
    RunResult,
    ScoredCell,
    batch_path,
    read_accepted,
    run_path,
    scored,
)
from cascadeforest.experiments.typed_files import write_typed

P = ParamSpec("P")
T = TypeVar("T")
#: Is told what happens, as `cascadeforest.experiments.progress.tell`.
Tell: TypeAlias = Callable[..., None]
logger = logging.getLogger(__name__)

#: Imported by the fork server besides the estimator's own module. Nothing here may compute at import.
PRELOAD = (
    *("sklearn.metrics", "sklearn.model_selection", "memory_profiler"),
    *("cascadeforest.experiments.cells", "cascadeforest.data.processed", "cascadeforest.kernels"),
)
#: What decides a fit's numbers, besides the estimator and the extras; and what decides scores.
FITTING, SCORING = "cascadeforest.experiments.fitting", "cascadeforest.experiments.metrics"


def _silent(event: str, **facts: Json) -> None:
    """Do nothing."""


class JobFailed(Exception):
    """Some repeats failed; the others are in the cache, and the next run computes only the failed ones."""


class Died(JobFailed):
    """A fit ended without a result.

    Parameters
    ----------
    error, message, traceback : str
        Kind of the error, or name of the signal, what it says, and where it came from.
    """

    def __init__(self, error: str, message: str, traceback: str) -> None:
        super().__init__(error, message, traceback)

    def __str__(self) -> str:
        error, message, traceback = self.args
        return f"{error}: {message}\n{traceback}".rstrip()


def digest_for(estimator: str, extras: Iterable[str] = (), params: Mapping[str, Json] = MappingProxyType({})) -> str:
    """Return a digest of all our modules that decide the numbers of a cell of this estimator.

    Parameters
    ----------
    estimator : str
        ``"package.module:Class"``. Of an installed foreign package the version is in the cell's name; a module that
        belongs to no distribution (a user's own file) counts with its text.
    extras : iterable of str
        What the cell saves beyond predictions.
    params : mapping
        Parameters of the estimator; one may be another estimator, as ``{"estimator": ..., "params": ...}``.
    """
    modules = _modules(estimator, params)
    digest = code_digest([*modules, FITTING, *map(module_of, extras)])
    foreign = [module for module in modules if not module.startswith(("cascadeforest.", "sklearn."))]
    files = [file for module in foreign for file in loose_files(module)]
    return digest_of([digest, *map(sha256_of, files)]) if files else digest


def _modules(estimator: str, params: Mapping[str, Json]) -> list[str]:
    """Modules of an estimator and of estimators among its parameters."""
    nested = [value["estimator"] for value in params.values() if isinstance(value, Mapping) and "estimator" in value]
    return [str(target).partition(":")[0] for target in (estimator, *nested)]


def loose_files(module: str) -> list[Path]:
    """Return the source files of a module that no installed distribution owns; nothing is imported.

    Parameters
    ----------
    module : str
        Dotted name.

    Returns
    -------
    list of Path
        Empty for installed packages, and for names that do not exist.
    """
    package = module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or provenance.libraries_of(module, ()):
        return []
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]


def scoring_digest() -> str:
    """Return a digest of what decides metrics: their code, and the libraries that compute them."""
    return digest_of([code_digest([SCORING]), provenance.versions()])


@dataclass(frozen=True)
class Job:
    """What is to be done of one run.

    Parameters
    ----------
    run : Run
        Which repeats of which model on which data set.
    data : Path
        Processed data set; made again if it is damaged.
    output : Path or None
        File of the merged results, written only if every repeat is there. None: the cells only.
    failures : Path
        Written if a repeat failed, removed otherwise.
    """

    run: Run
    data: Path
    output: Path | None
    failures: Path


def run_jobs(
    jobs: Sequence[Job], cache: Path, threads: int = 1, tell: Tell = _silent, folder: Path | None = None
) -> None:
    """Compute the repeats that the cache lacks, score all of them, and write the merged files.

    A cell of the cache that is not what was written, or not the one that is asked for, is named in a warning and
    computed again. What fails does not keep the rest from being done.

    Parameters
    ----------
    jobs : sequence of Job
        What to do, in this order.
    cache : Path
        Folder of the cells.
    threads : int
        Threads that an estimator may use.
    tell : callable
        Is told what happens (`cascadeforest.experiments.progress.tell`).
    folder : Path, optional
        ``results/<suite>``. Accepted cells that are there (`cascadeforest.experiments.accepted.restore`) are taken
        instead of computing them, and instead of cells that were computed here.

    Raises
    ------
    UserError
        If there is one job, and its data or model cannot be used.
    JobFailed
        If something failed; the message names model, data, repeat and reason.
    """
    for job in jobs:  # a result of before must not pass for one of now
        if job.output:
            job.output.unlink(missing_ok=True)
    context = multiprocessing.get_context("forkserver")
    modules = [module for job in jobs for module in _modules(job.run.estimator, job.run.params)]
    context.set_forkserver_preload([*PRELOAD, *dict.fromkeys(modules)])
    failed: list[UserError | JobFailed] = []
    with contextlib.closing(Worker(context)) as worker:
        runner = _Runner(worker, cache, threads, tell, folder)
        for job in jobs:
            try:
                runner.run(job)
            except (UserError, JobFailed) as error:
                failed.append(error)
    if len(jobs) == 1 and failed:
        raise failed[0]
    if failed:
        raise JobFailed("\n".join(str(error) for error in failed))


class _Runner:
    """Does one job after another with one process."""

    def __init__(self, worker: Worker, cache: Path, threads: int, tell: Tell, folder: Path | None) -> None:
        self.worker = worker
        self.folder = folder
        self.cache = cache
        self.threads = threads
        self.tell = tell
        self.commit = provenance.git_commit(Path.cwd())
        self.facts: dict[Path, dict[str, Json]] = {}

    def run(self, job: Job) -> None:
        run = job.run
        facts = self._facts_of(job)
        origins = self._origins(run, str(facts["digest"]))
        failed: list[Failure] = []
        accepted = {
            repeat: found
            for repeat, origin in origins.items()
            if (found := self._accepted(run, repeat, origin)) is not None
        }
        for repeat, origin in origins.items():
            cell = {"dataset": run.dataset, "model": run.model, "repeat": repeat}
            if repeat in accepted or _is_cached(self.cache, run, repeat, origin):
                self.tell("cell", **cell, fitted=False)
                continue
            self.tell("fit", **cell)
            started = time.time()
            try:
                self._compute(run, repeat, job.data, origin)
                self.tell("cell", **cell, fitted=True, seconds=round(time.time() - started, 2))
            except (Died, UserError) as error:
                kind, message, place = error.args if isinstance(error, Died) else (type(error).__name__, str(error), "")
                failed.append(Failure(repeat, kind, message, place, round(1000 * started), round(1000 * time.time())))
        if failed:
            write_typed(job.failures, Failures(run.dataset, run.model, tuple(failed)))
            lines = [f"  repeat {failure.repeat}: {failure.error}: {failure.message}" for failure in failed]
            raise JobFailed(
                f"{run.model} on {run.dataset}: {len(failed)} of {len(run.repeats)} repeats failed.\n"
                + "\n".join(lines)
                + f"\nThe others are kept; the next run computes the failed ones again. Details: {job.failures}"
            )
        outdated = [job.failures]
        if job.output is not None:
            own = {repeat: origin for repeat, origin in origins.items() if repeat not in accepted}
            cells = [read_cell(self.cache, run, repeat, origin) for repeat, origin in own.items()]
            scores = self.worker.call(_scores, job.data, self.cache, cells) if cells else []
            accepted |= {cell.repeat: scored(cell, run.model, one) for cell, one in zip(cells, scores, strict=True)}
            merged = tuple(accepted[repeat] for repeat in origins)
            write_typed(job.output, RunResult(run, facts, scoring_digest(), merged))
            self.tell("run", dataset=run.dataset, model=run.model, **_shown_score(merged))
            # Those of the jobs that computed some of the repeats.
            outdated += job.failures.parent.glob(f"{job.failures.stem}.part*.json")
        for path in outdated:
            path.unlink(missing_ok=True)

    def _accepted(self, run: Run, repeat: int, origin: Provenance) -> ScoredCell | None:
        """Return a repeat as it was accepted, if it was restored, and its metrics are those of today's code."""
        if self.folder is None:
            return None
        try:
            found = read_accepted(self.folder, self.cache, cell_key(run, repeat, origin), run.model)
        except DamagedFile as error:
            logger.warning("%s", error)
            return None
        return found.cell if found and found.scoring == scoring_digest() else None

    def _facts_of(self, job: Job) -> dict[str, Json]:
        if job.data not in self.facts:
            self.facts[job.data] = self.worker.call(_facts, job.data, job.run.data_seed)
        return self.facts[job.data]

    def _origins(self, run: Run, data_digest: str) -> dict[int, Provenance]:
        """Provenance by repeat: the code of what a cell saves counts for this cell only."""
        versions = provenance.versions(provenance.libraries_of(run.estimator, run.libraries))
        if missing := [name for name, version in versions.items() if version == "not installed"]:
            raise ConfigError(
                f"config/models.yaml: {run.model} needs {', '.join(missing)}, which is not installed. "
                "Run `make setup`, or in the folder of the sources: pip install -e '.[baselines]'."
            )
        extras = {repeat: run.extras_of(repeat) for repeat in run.repeats}
        code = {names: digest_for(run.estimator, names, run.params) for names in set(extras.values())}
        host = provenance.host()
        return {
            repeat: Provenance(versions, host, code[names], data_digest, self.commit)
            for repeat, names in extras.items()
        }

    def _compute(self, run: Run, repeat: int, data: Path, origin: Provenance) -> None:
        # The peak of memory is that of a process: it must not have done anything before. memory-profiler, which needs
        # one more, only reads the first repeat.
        process = Worker(self.worker.context, profiled=repeat == 0) if run.memory else self.worker
        try:
            process.call(compute_cell, run, repeat, data, self.cache, self.threads, origin)
        finally:
            if process is not self.worker:
                process.close()


def spec_digest(plan: Plan, name: str) -> str:
    """Return a digest of what one training job of a plan computes."""
    return digest_of([to_json(run) for run in plan.work(plan.batch[name])])


def run_batch(plan: Plan, name: str, root: Path, threads: int = 1, tell: Tell = _silent) -> None:
    """Do what one training job of a plan is to do, and mark it as done.

    Parameters
    ----------
    plan : Plan
        Of a suite.
    name : str
        Of one of its batches.
    root : Path
        Folder of the repository.
    threads : int
        Threads that an estimator may use.
    tell : callable
        As for `run_jobs`.

    Raises
    ------
    UserError, JobFailed
        As `run_jobs`.
    """
    if name not in plan.batch:
        close = difflib.get_close_matches(name, plan.batch, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else "Its plan.json names all."
        raise ConfigError(f"--batch is '{name}', which the suite {plan.suite} does not have. {hint}")
    batch, folder = plan.batch[name], root / "results" / plan.suite
    merged = set(plan.merged(batch))
    tell("batch")
    work, part = plan.work(batch), f".part{name.rpartition('.')[2]}"
    jobs = [_job(root, folder, run, "" if run.pair in merged else part) for run in work]
    try:
        run_jobs(jobs, root / CELL_CACHE, threads, tell, folder)
    finally:
        tell("end")
    # Snakemake compares checksums: the mark says what was made, so that other results draw tables anew.
    made = [
        [*run.pair, sha256_of(run_path(folder, *run.pair)) if run.pair in merged else list(run.repeats)] for run in work
    ]
    atomic_write(batch_path(folder, name), canonical_json(made) + "\n")


def _job(root: Path, folder: Path, run: Run, part: str = "") -> Job:
    """What is to be done of a run; of a part of its repeats nothing is merged."""
    output = None if part else run_path(folder, *run.pair)
    failures = folder / "failures" / run.dataset / f"{run.model}{part}.json"
    return Job(run, root / PROCESSED / f"{run.dataset}.npz", output, failures)


def merge(root: Path, suite: str, run: Run) -> None:
    """Merge the first repeats of a run, which jobs computed; what is told of later repeats that failed stays.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Its name.
    run : Run
        With the repeats that are merged.

    Raises
    ------
    UserError, JobFailed
        As `run_jobs`.
    """
    folder = root / "results" / suite
    job = replace(_job(root, folder, run, ".part-first"), output=run_path(folder, *run.pair))
    run_jobs([job], root / CELL_CACHE, folder=folder)


def _shown_score(cells: Sequence[ScoredCell]) -> dict[str, Json]:
    """Mean of the first score that is shown while a suite runs."""
    for name in SHOWN_SCORES:
        if all(name in cell.metrics for cell in cells):
            return {"metric": name, "score": round(fmean(cell.metrics[name] for cell in cells), 4)}
    return {}


def _facts(data: Path, seed: int) -> dict[str, Json]:
    """Check the data set, which is made again if it is damaged; facts about it."""
    from cascadeforest.data.dataset import summary
    from cascadeforest.data.processed import load_or_make

    return summary(load_or_make(data, seed=seed))


def _scores(data: Path, cache: Path, cells: Iterable[Cell]) -> list[Scores]:
    from cascadeforest.experiments.fitting import load_data

    dataset = load_data(data)
    n_classes = len(dataset.class_names) if dataset.task == "classification" else None
    return [score(predictions(cache, cell), dataset.y[dataset.rows(cell.repeat).test], n_classes) for cell in cells]


def _is_cached(cache: Path, run: Run, repeat: int, origin: Provenance) -> bool:
    """Whether the cell is in the cache as it was written."""
    try:
        read_cell(cache, run, repeat, origin)
    except FileNotFoundError:
        return False
    except DamagedFile as error:
        logger.warning("%s", error)
        return False
    return True


class Worker:
    """A process that calls one function after another, and is started again when it is needed after it died.

    Parameters
    ----------
    context : multiprocessing.context.ForkServerContext
        Starts it, from a server that has imported the libraries but never computed.
    profiled : bool
        Each function also gets `profiler`, the connection of another process that runs `read_by_profiler`.
    """

    def __init__(self, context: multiprocessing.context.ForkServerContext, profiled: bool = False) -> None:
        self.context = context
        self.profiled = profiled
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the process; `Died`, or a UserError of it, says what became of it otherwise."""
        try:
            if self._process is None or self._connection is None:
                self._process, self._connection = self._start()
            answer = None
            with contextlib.suppress(EOFError, OSError):
                self._connection.send((function, args, kwargs))
                answer = self._connection.recv()
        except KeyboardInterrupt:  # end the process with us
            self._end(kill=True)
            raise
        if answer is None:
            raise _killed(self._end())
        if isinstance(answer, Exception):
            raise answer
        return answer[0]

    def _start(self) -> tuple[multiprocessing.process.BaseProcess, Connection]:
        own, profiler = {}, None
        if self.profiled:
            own["profiler"], profiler = self.context.Pipe()
            self.context.Process(target=read_by_profiler, args=(profiler,)).start()
        connection, other = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(other, own))
        process.start()
        for end in (other, profiler, *own.values()):  # each process ends when the other one's end is closed
            if end is not None:
                end.close()
        return process, connection

    def close(self) -> None:
        """End the process."""
        self._end()

    def _end(self, kill: bool = False) -> int:
        """End the process, which does so by itself when its parent has ended; return its exit code."""
        process, connection, self._process, self._connection = self._process, self._connection, None, None
        if process is None or connection is None:
            return 0
        connection.close()
        if kill:
            process.terminate()
        process.join()
        return process.exitcode or 0


def _killed(exitcode: int) -> Died:
    """What killed a process that said nothing."""
    if exitcode < 0:
        name = signal.Signals(-exitcode).name if -exitcode in set(signal.Signals) else f"signal {-exitcode}"
        hint = " (often: out of memory)" if -exitcode == signal.SIGKILL else ""
        return Died(name, f"the process was killed by {name}{hint}", "")
    return Died("Exit", f"the process ended with status {exitcode}", "")


def _end_with_parent() -> None:
    """End this process when its job ends, also by SIGKILL: its result is no longer needed."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _serve(connection: Connection, own: Mapping[str, Connection]) -> None:
    """Body of a process: calls what it is asked for; the result, or what went wrong, goes back through the pipe.

    Connections, which each function also gets, are `own`: they can be given to a process only when it starts.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()  # what the server imported: searching it for garbage takes longer than many a fit
    while True:
        try:
            function, args, kwargs = connection.recv()
        except EOFError:
            return
        try:
            connection.send((function(*args, **kwargs, **own),))
        except UserError as error:
            connection.send(error)
        except Exception as error:
            connection.send(Died(type(error).__name__, str(error)[:2_000], traceback.format_exc()[-20_000:]))
        finally:
            release_memory()
