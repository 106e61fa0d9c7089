"""Timing jobs: the models of a table fitted in turn, A B C A B C, with nothing else running.

Ordinary cells run beside each other, which changes what they cost. Here one process fits one model after the other, on
the same rows in each round, and in each round one of them a second time: what a model costs against itself is the noise
of the machine. Snakemake gives the job all cores. A round is a file of its own, named by all that is timed: a job that
was killed goes on after its last whole round. A fit that fails, or dies, loses only itself.
"""

from __future__ import annotations

import contextlib
import io
import logging
import multiprocessing
import os
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import ConfigError, DamagedFile, UserError
from cascadeforest.data.files import atomic_write, canonical_json, digest_of, sha256_of
from cascadeforest.data.typed_json import Json, to_json
from cascadeforest.experiments import fitting, provenance
from cascadeforest.experiments.cells import cell_path
from cascadeforest.experiments.extras import arrays_of
from cascadeforest.experiments.fitting import Model, fit_model
from cascadeforest.experiments.jobs import PRELOAD, Died, JobFailed, Tell, Worker, _facts, _silent, digest_for
from cascadeforest.experiments.plan import Plan, Run, Timing
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import (
    PROCESSED,
    ROUND_CACHE,
    Failure,
    Round,
    Timed,
    Timings,
    Turn,
    timings_mark,
    timings_path,
)
from cascadeforest.experiments.typed_files import read_typed, write_typed

logger = logging.getLogger(__name__)
#: Raise it when something else is measured: each round is then timed again.
FORMAT = 1
#: Counts without noise: trees and nodes that the fitted model keeps; trees that were grown, also for layers that were
#: dropped, and the sum of their training rows. Of a scanning model rows are windows.
COUNTS = ("n_trees", "n_nodes", "grown_trees", "tree_rows")


def timing_digest(plan: Plan, experiment: str) -> str:
    """Return a digest of what one timing job of a plan does."""
    return digest_of([to_json(replace(timing, seconds=None)) for timing in plan.timings_of(experiment)])


def run_timings(plan: Plan, experiment: str, root: Path, tell: Tell = _silent) -> None:
    """Time the models of an experiment in turn on each of its data sets, write what was found, and mark it as done.

    Parameters
    ----------
    plan : Plan
        Of a suite.
    experiment : str
        Id of an experiment that has timings.
    root : Path
        Folder of the repository.
    tell : callable
        As for `cascadeforest.experiments.jobs.run_jobs`.

    Raises
    ------
    ConfigError
        If the experiment has no timings.
    JobFailed
        If a fit failed; the message names model, data and reason. The other costs are written.
    """
    folder, timings = root / "results" / plan.suite, plan.timings_of(experiment)
    if not timings:
        known = ", ".join(dict.fromkeys(timing.experiment for timing in plan.timings)) or "none"
        raise ConfigError(f"--experiment is '{experiment}'; the suite {plan.suite} has timings of {known}.")
    path = timings_path(folder, experiment)
    path.unlink(missing_ok=True)  # what was found before must not pass for what is found now
    context = multiprocessing.get_context("forkserver")
    modules = (run.estimator.partition(":")[0] for timing in timings for run in timing.runs)
    context.set_forkserver_preload([*PRELOAD, __name__, *dict.fromkeys(modules)])
    parts = []
    tell("batch")
    try:
        with contextlib.closing(Worker(context)) as worker:
            for timing in timings:
                data = root / PROCESSED / f"{timing.dataset}.npz"
                parts.append(_timed(worker, timing, data, root / ROUND_CACHE, tell))
                write_typed(path, Timings(experiment, tuple(parts)))
    finally:
        tell("end")
    failed = [
        f"{experiment}, {part.timing.dataset}, {column}: {failure.error}: {failure.message}"
        for part in parts
        for column, failure in part.failures
    ]
    if failed:
        raise JobFailed("\n".join(["timings failed; rounds without a failure are kept.", *failed]))
    atomic_write(timings_mark(folder, experiment), canonical_json([sha256_of(path)]) + "\n")


def _timed(worker: Worker, timing: Timing, data: Path, cache: Path, tell: Tell) -> Timed:
    facts = worker.call(_facts, data, timing.runs[0].data_seed)
    origin = _origin(timing, str(facts["digest"]))
    rounds = []
    for number, repeat in enumerate(timing.repeats):
        key = _key(timing, number, origin)
        one = _read(cache, key)
        if one is None:
            tell("fit", model=f"{timing.experiment} in turn", dataset=timing.dataset, repeat=number)
            one = _round(worker, timing, data, key, repeat, origin)
            if not any(turn.failure for turn in one.turns):
                write_typed(cell_path(cache, key), one)
        rounds.append(one)
    return Timed(timing, tuple(rounds))


def _round(worker: Worker, timing: Timing, data: Path, key: str, repeat: int, origin: Provenance) -> Round:
    """One turn of each column, and the second one of the column that others are compared with."""
    started, turns, taken = time.time(), [], []
    for column, run, is_second in timing.turns():
        began = time.time()
        try:
            found = worker.call(take_turn, run, repeat, data)
        except (Died, UserError) as error:
            kind, message, place = error.args if isinstance(error, Died) else (type(error).__name__, str(error), "")
            failure = Failure(repeat, kind, message, place, round(1000 * began), round(1000 * time.time()))
            turns.append(Turn(column, is_second, failure=failure))
            continue
        taken.append(found)
        turns.append(Turn(column, is_second, found.costs, found.counts))
    wall = sum(one.wall_seconds for one in taken)
    return Round(
        key=key,
        repeat=repeat,
        turns=tuple(turns),
        n_train=max((one.n_train for one in taken), default=0),
        n_test=max((one.n_test for one in taken), default=0),
        # The system counts in ticks of 10 ms: in a shorter round they may be more than all cores can do.
        elsewhere=round(min(sum(one.other_seconds for one in taken) / wall, os.cpu_count() or 1), 3) if wall else 0.0,
        threads=1,
        started_ms=round(1000 * started),
        ended_ms=round(1000 * time.time()),
        provenance=origin,
    )


def _origin(timing: Timing, data_digest: str) -> Provenance:
    """Where the numbers of a timing come from: versions and code of all its models."""
    libraries = {name for run in timing.runs for name in provenance.libraries_of(run.estimator, run.libraries)}
    code = [digest_for(run.estimator, run.extras, run.params) for run in timing.runs]
    commit = provenance.git_commit(Path.cwd())
    return Provenance(provenance.versions(sorted(libraries)), provenance.host(), digest_of(code), data_digest, commit)


def _key(timing: Timing, number: int, origin: Provenance) -> str:
    """Name of a round: a digest of the models in their order, of data, code and versions, and of its number."""
    models = [
        [column, run.estimator, run.params, list(run.extras), run.seed, second]
        for column, run, second in timing.turns()
    ]
    decisive: dict[str, Json] = {
        "format": FORMAT,
        "dataset": timing.dataset,
        "models": models,
        "round": number,
        "repeat": timing.repeats[number],
        "data": origin.data_digest,
        "code": origin.code_digest,
        "versions": origin.versions,
    }
    return digest_of(decisive)


def _read(cache: Path, key: str) -> Round | None:
    """The round of this name, if it was timed before."""
    path = cell_path(cache, key)
    try:
        found = read_typed(Round, path, "It is timed again.")
    except FileNotFoundError:
        return None
    except DamagedFile as error:
        logger.warning("%s", error)
        return None
    if found.key != key:
        logger.warning("%s: it is another round. It is timed again.", path)
        return None
    return found


# In the process that fits ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """What one turn gave.

    Parameters
    ----------
    costs, counts : dict
        As in `cascadeforest.experiments.records.Turn`.
    n_train, n_test : int
        Rows.
    wall_seconds, other_seconds : float
        Elapsed time, and CPU seconds that other processes of the machine used meanwhile.
    """

    costs: dict[str, float]
    counts: dict[str, int]
    n_train: int
    n_test: int
    wall_seconds: float
    other_seconds: float


def take_turn(run: Run, repeat: int, data: Path) -> Taken:
    """Fit a model once with one thread, predict, compute the importances that are timed, and count what it is made of.

    Parameters
    ----------
    run : Run
        The model, its parameters and seed; of its extras only importances are computed.
    repeat : int
        Split and seeds.
    data : Path
        Processed data set.
    """
    own, wall, machine = time.process_time(), time.perf_counter(), _busy_seconds()
    with counting(run) as grown:
        fit = fit_model(run, repeat, data, 1)
    costs = {name: getattr(fit.costs, name) for name in ("fit_cpu_seconds", "predict_cpu_seconds")}
    costs |= {name: float(arrays_of(name, fit.fitted)["cpu_seconds"]) for name in run.extras}
    split = fit.fitted.split
    counts = kept(fit.fitted.estimator) | grown
    others = max(0.0, _busy_seconds() - machine - (time.process_time() - own))
    return Taken(costs, counts, len(split.y_train), len(split.y_test), time.perf_counter() - wall, others)


def _busy_seconds() -> float:
    """CPU seconds that all processes of the machine have used."""
    import psutil

    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))  # Linux counts nice processes apart


@contextlib.contextmanager
def counting(run: Run) -> Iterator[dict[str, int]]:
    """Count the trees that our kernel grows for the fit of a model, and their training rows, within the block.

    The library has no hook for this: it would be part of the name of every cell. So the function that grows the trees
    of a forest is wrapped. Warm-up fits do not count.

    Parameters
    ----------
    run : Run
        The model.

    Yields
    ------
    dict
        ``grown_trees`` and ``tree_rows``; empty at the end if no tree was grown.
    """
    from cascadeforest.forest import growth

    grow, counts, settings = growth._grow_trees, dict[str, int](), digest_of([run.estimator, run.params])

    def counted(*args: Any, **kwargs: Any) -> Any:
        if settings in fitting._warm:
            _, rows, _, _, _, seeds, *_ = args
            for name, number in (("grown_trees", len(seeds)), ("tree_rows", len(seeds) * len(rows))):
                counts[name] = counts.get(name, 0) + number
        return grow(*args, **kwargs)

    growth._grow_trees = counted
    try:
        yield counts
    finally:
        growth._grow_trees = grow


def kept(estimator: Model) -> dict[str, int]:
    """Return the numbers of trees and nodes that a fitted model holds, ours and scikit-learn's; nothing if it has none.

    They are those that its pickle would contain, each once.
    """
    from sklearn.tree._tree import Tree

    from cascadeforest.forest.trees import Trees

    found: dict[int, tuple[int, int]] = {}

    class Finder(pickle.Pickler):
        def persistent_id(self, part: object) -> str | None:
            if isinstance(part, Trees):
                found[id(part)] = part.n_trees, len(part.nodes)
            elif isinstance(part, Tree):
                found[id(part)] = 1, part.node_count
            else:
                return None
            return ""  # its arrays are not written

    Finder(io.BytesIO(), pickle.HIGHEST_PROTOCOL).dump(estimator)
    if not found:
        return {}
    n_trees, n_nodes = (sum(numbers) for numbers in zip(*found.values(), strict=True))
    return {"n_trees": n_trees, "n_nodes": n_nodes}
