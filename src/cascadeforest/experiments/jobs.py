"""One job: all repeats of one model on one data set, each in a fresh process, scored and merged into one file.

The processes are forked from a clean server that has imported the libraries but never computed: importing costs more
than many a fit, and a process that has itself run an OpenMP loop must not fork. A repeat that dies, even by a signal,
loses only itself. Cells lie in a cache that Snakemake does not own, since it deletes the outputs of a failed job.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from cascadeforest.data.errors import ConfigError, DamagedFile, UserError
from cascadeforest.data.files import digest_of, sha256_of
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments import provenance
from cascadeforest.experiments.cells import Cell, compute_cell, predictions, read_cell
from cascadeforest.experiments.code_digest import code_digest
from cascadeforest.experiments.extras import module_of
from cascadeforest.experiments.metrics import Scores, score
from cascadeforest.experiments.plan import Run
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import Failure, Failures, RunResult, scored
from cascadeforest.experiments.typed_files import write_typed

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

#: Imported by the fork server besides the estimator's own module. Nothing here may compute at import.
PRELOAD = ("sklearn.metrics", "cascadeforest.experiments.cells", "cascadeforest.data.processed")
#: What decides a fit's numbers, besides the estimator and the extras; and what decides scores.
FITTING, SCORING = "cascadeforest.experiments.fitting", "cascadeforest.experiments.metrics"


class JobFailed(Exception):
    """Some repeats failed; the others are in the cache, and the next run computes only the failed ones."""


class Died(JobFailed):
    """A process of the job ended without a result.

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
    nested = [value["estimator"] for value in params.values() if isinstance(value, Mapping) and "estimator" in value]
    modules = [str(target).partition(":")[0] for target in (estimator, *nested)]
    digest = code_digest([*modules, FITTING, *map(module_of, extras)])
    foreign = [module for module in modules if not module.startswith(("cascadeforest.", "sklearn."))]
    files = [file for module in foreign for file in loose_files(module)]
    return digest_of([digest, *map(sha256_of, files)]) if files else digest


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


def run_job(run: Run, data: Path, cache: Path, output: Path, failures: Path, threads: int = 1) -> None:
    """Compute the repeats that the cache lacks, score all of them, and write the merged file.

    A cell of the cache that is not what was written, or not the one that is asked for, is named in a warning and
    computed again.

    Parameters
    ----------
    run : Run
        Which repeats of which model on which data set.
    data : Path
        Processed data set; made again if it is damaged.
    cache : Path
        Folder of the cells.
    output : Path
        Merged file, written only if every repeat is there.
    failures : Path
        Written if a repeat failed, removed otherwise.
    threads : int
        Threads that an estimator may use.

    Raises
    ------
    JobFailed
        If a repeat failed; the message names repeat and reason.
    """
    versions = provenance.versions(provenance.libraries_of(run.estimator, run.libraries))
    if missing := [name for name, version in versions.items() if version == "not installed"]:
        raise ConfigError(
            f"config/models.yaml: {run.model} needs {', '.join(missing)}, which is not installed. "
            "Run `make setup`, or install the extra that holds it: pip install 'cascadeforest[baselines]'."
        )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOAD, run.estimator.partition(":")[0]])
    facts = _in_a_process(context, _facts, data, run.seed)
    origin = Provenance(
        versions=versions,
        host=provenance.host(),
        code_digest=digest_for(run.estimator, run.extras, run.params),
        data_digest=str(facts["digest"]),
        git_commit=provenance.git_commit(Path.cwd()),
    )
    failed: list[Failure] = []
    for repeat in run.repeats:
        if _is_cached(cache, run, repeat, origin):
            continue
        started = time.time()
        try:
            _in_a_process(context, compute_cell, run, repeat, data, cache, threads, origin)
        except (Died, UserError) as error:
            kind, message, place = error.args if isinstance(error, Died) else (type(error).__name__, str(error), "")
            failed.append(Failure(repeat, kind, message, place, round(1000 * started), round(1000 * time.time())))
    if failed:
        write_typed(failures, Failures(run.dataset, run.model, tuple(failed)))
        lines = [f"  repeat {failure.repeat}: {failure.error}: {failure.message}" for failure in failed]
        raise JobFailed(
            f"{run.model} on {run.dataset}: {len(failed)} of {len(run.repeats)} repeats failed.\n"
            + "\n".join(lines)
            + f"\nThe others are kept; the next run computes the failed ones again. Details: {failures}"
        )
    cells = [read_cell(cache, run, repeat, origin) for repeat in run.repeats]
    scores = _in_a_process(context, _scores, data, cache, cells)
    merged = tuple(scored(cell, run.model, one) for cell, one in zip(cells, scores, strict=True))
    write_typed(output, RunResult(run, facts, scoring_digest(), merged))
    # With those of the parts that `seeds_per_job` made.
    for path in [failures, *failures.parent.glob(f"{failures.stem}.part*.json")]:
        path.unlink(missing_ok=True)


def _facts(data: Path, seed: int) -> dict[str, Json]:
    """Check the data set, which is made again if it is damaged; facts about it."""
    from cascadeforest.data.dataset import summary
    from cascadeforest.data.processed import load_or_make

    return summary(load_or_make(data, seed=seed))


def _scores(data: Path, cache: Path, cells: Iterable[Cell]) -> list[Scores]:
    from cascadeforest.data.dataset import load

    dataset = load(data)
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


def _in_a_process(
    context: multiprocessing.context.ForkServerContext, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function in a process of its own; `Died`, or a UserError of it, says what became of it otherwise."""
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, function, args, kwargs))
    process.start()
    sender.close()
    answer = None
    try:
        with receiver, contextlib.suppress(EOFError, OSError):
            answer = receiver.recv()
        process.join()
    except KeyboardInterrupt:  # end the child with us
        process.terminate()
        process.join()
        raise
    if answer is None:
        raise _killed(process.exitcode or 0)
    if isinstance(answer, Exception):
        raise answer
    return answer[0]


def _killed(exitcode: int) -> Died:
    """What killed a process that said nothing."""
    if exitcode < 0:
        name = signal.Signals(-exitcode).name if -exitcode in set(signal.Signals) else f"signal {-exitcode}"
        hint = " (often: out of memory)" if -exitcode == signal.SIGKILL else ""
        return Died(name, f"the process was killed by {name}{hint}", "")
    return Died("Exit", f"the process ended with status {exitcode}", "")


def _end_with_parent() -> None:
    """End this process when its job ends, also by SIGKILL: nobody waits for its result any more."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _child(
    sender: Connection, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> None:
    """Body of a process: its result, or what it died of, goes to the parent through the pipe."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send((function(*args, **kwargs),))
    except UserError as error:
        sender.send(error)
    except Exception as error:
        sender.send(Died(type(error).__name__, str(error)[:2_000], traceback.format_exc()[-20_000:]))
