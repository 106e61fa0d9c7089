"""Files that jobs leave in ``results/<suite>``: one for each run, one for what failed of it, one for timings in turn.

They are checked whenever they are read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.cells import Cell, SavedArrays, cell_path, check_arrays
from cascadeforest.experiments.metrics import COST_METRICS, Scores
from cascadeforest.experiments.plan import Plan, Run, Timing, read_plan
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.typed_files import read_typed

logger = logging.getLogger(__name__)

#: File of the plan, below ``results/<suite>``.
PLAN_FILE = "plan.json"
#: Folder of the cells, and of the arrays that they saved.
CELL_CACHE = Path("results") / "cells"
#: Folder of the rounds of timings.
ROUND_CACHE = Path("results") / "rounds"
PROCESSED = Path("data") / "processed"

#: Fields of a run that decide its numbers or what is kept of them. The suite is the folder's name.
DECISIVE = (
    *("dataset", "model", "task", "estimator", "params", "repeats"),
    *("extras", "libraries", "seed", "memory", "keeps_model"),
)


@dataclass(frozen=True, kw_only=True)
class ScoredCell(Cell):
    """A cell with the view of it that tables show.

    Parameters
    ----------
    model : str
        Model preset for which the cell was asked.
    metrics : dict
        Name to value: scores, costs, and the number of layers of a cascade.
    confusion : tuple of tuple of int, or None
        Test rows by true and predicted class; None in regression.
    """

    model: str
    metrics: dict[str, float]
    confusion: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class AcceptedCell:
    """A cell that was accepted earlier, for runs to take (`cascadeforest.experiments.accepted.restore`).

    Parameters
    ----------
    scoring : str
        Digest of the code that computed its metrics.
    cell : ScoredCell
        As it was accepted; the file of its predictions need not be there.
    rows : SavedArrays
        What is kept of its predictions (`cascadeforest.reports.numbers.rows`), below `accepted_folder`.
    """

    scoring: str
    cell: ScoredCell
    rows: SavedArrays


@dataclass(frozen=True)
class RunResult:
    """What a job wrote: all repeats of one model on one data set.

    Parameters
    ----------
    run : Run
        What was asked for.
    data : dict
        Facts about the data set (``data/processed/<dataset>.json``).
    scoring : str
        Digest of the code that computed the metrics (`cascadeforest.experiments.jobs.scoring_digest`).
    cells : tuple of ScoredCell
        In the order of the repeats.
    """

    run: Run
    data: dict[str, Json]
    scoring: str
    cells: tuple[ScoredCell, ...]

    def differences(self, planned: Run | None) -> list[str]:
        """Return the fields in which the run differs from the planned one, in the order of `DECISIVE`.

        A run with any is not a result of this configuration. Where nothing is planned there is nothing to differ from.
        A run may have its first repeats alone: all that the rows which were asked for show.
        """
        if planned is None:
            return []
        own = self.run
        if own.repeats == planned.repeats[: len(own.repeats)]:
            own = replace(own, repeats=planned.repeats)
        return [name for name in DECISIVE if getattr(own, name) != getattr(planned, name)]


@dataclass(frozen=True)
class Failure:
    """A repeat that failed.

    Parameters
    ----------
    repeat : int
        Its number.
    error, message : str
        Kind of the error, or name of the signal, and what it says.
    traceback : str
        Empty for a user's mistake and for a killed process.
    started_ms, ended_ms : int
        When it ran, in milliseconds of the epoch.
    """

    repeat: int
    error: str
    message: str
    traceback: str
    started_ms: int
    ended_ms: int


@dataclass(frozen=True)
class Failures:
    """What failed of a run.

    Parameters
    ----------
    dataset, model : str
        Data set variant and model preset.
    repeats : tuple of Failure
        One for each repeat that failed.
    """

    dataset: str
    model: str
    repeats: tuple[Failure, ...]


@dataclass(frozen=True)
class Turn:
    """One fit of a round.

    Parameters
    ----------
    column : str
        Column of the experiment.
    is_second : bool
        Whether its model was fitted in this round before.
    costs : dict
        CPU seconds of what was measured: ``fit_cpu_seconds``, ``predict_cpu_seconds``, and the importances that the
        experiment is about, by the names of the extras. Empty if the fit failed.
    counts : dict
        What the model is made of, without noise (`cascadeforest.experiments.timing.COUNTS`), as far as it says.
    failure : Failure or None
        Why there are no costs.
    """

    column: str
    is_second: bool
    costs: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True)
class Round:
    """All columns of a timing in turn.

    Parameters
    ----------
    key : str
        Digest of all that is timed; the name of its file.
    repeat : int
        Split and seeds.
    turns : tuple of Turn
        In the order in which they were taken.
    n_train, n_test : int
        Rows.
    elsewhere : float
        How many cores of the machine were busy with other work on average.
    threads : int
        Threads that a model was allowed.
    started_ms, ended_ms : int
        When it ran, in milliseconds of the epoch.
    provenance : Provenance
        Versions, machine, digests of data and code, commit.
    """

    key: str
    repeat: int
    turns: tuple[Turn, ...]
    n_train: int
    n_test: int
    elsewhere: float
    threads: int
    started_ms: int
    ended_ms: int
    provenance: Provenance


@dataclass(frozen=True)
class Timed:
    """What was timed in turn on one data set.

    Parameters
    ----------
    timing : Timing
        What was asked for.
    rounds : tuple of Round
        One for each round.
    """

    timing: Timing
    rounds: tuple[Round, ...]

    @property
    def failures(self) -> list[tuple[str, Failure]]:
        """Column and reason of each fit that failed."""
        return [(turn.column, turn.failure) for one in self.rounds for turn in one.turns if turn.failure]


@dataclass(frozen=True)
class Timings:
    """What a timing job wrote.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    parts : tuple of Timed
        One for each data set.
    """

    experiment: str
    parts: tuple[Timed, ...]


def scored(cell: Cell, model: str, scores: Scores) -> ScoredCell:
    """Put a cell's scores, its costs and its number of layers side by side."""
    costs = {name: getattr(cell.costs, name) for name in sorted(COST_METRICS)}
    metrics = scores.metrics | {name: cost for name, cost in costs.items() if cost is not None}
    if cell.growth is not None:
        metrics["n_layers"] = cell.growth.n_kept
    facts = {one.name: getattr(cell, one.name) for one in fields(Cell)}
    return ScoredCell(**facts, model=model, metrics=metrics, confusion=scores.confusion)


def accepted_folder(folder: Path) -> Path:
    """Return the folder of accepted cells that runs of a suite may take, below ``results/<suite>``."""
    return folder / "accepted"


def accepted_path(folder: Path, key: str, model: str) -> Path:
    """Return the file of an accepted cell of a model preset, below ``results/<suite>``."""
    return cell_path(accepted_folder(folder), key).with_suffix(f".{model}.json")


def read_accepted(folder: Path, cache: Path, key: str, model: str) -> AcceptedCell | None:
    """Read an accepted cell that `cascadeforest.experiments.accepted.restore` put there.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``.
    cache : Path
        Folder of the cells, which has what the cell saved for figures.
    key : str
        Name of the cell (`cascadeforest.experiments.cells.cell_key`).
    model : str
        Model preset. If only another preset with the same cell was accepted, its cell is returned under this name.

    Returns
    -------
    AcceptedCell or None
        None if it is not there.

    Raises
    ------
    DamagedFile
        If it, or a file of arrays that belongs to it, is not what was written.
    """
    path, remedy = accepted_path(folder, key, model), "It is computed."
    paths = [path] if path.is_file() else sorted(path.parent.glob(f"{key}.*.json"))
    if not paths:
        return None
    found = read_typed(AcceptedCell, paths[0], remedy)
    if found.cell.key != key:
        raise DamagedFile(paths[0], f"it is {found.cell.model} on {found.cell.dataset}", remedy)
    check_arrays(accepted_folder(folder), found.rows, remedy)
    for saved in found.cell.extras.values():
        check_arrays(cache, saved, remedy)
    return replace(found, cell=replace(found.cell, model=model))


def accepted_instead(folder: Path, cache: Path, cell: ScoredCell) -> AcceptedCell | None:
    """Return the accepted cell that a run took instead of computing it.

    Parameters
    ----------
    folder, cache : Path
        As for `read_accepted`.
    cell : ScoredCell
        Cell of a run.

    Returns
    -------
    AcceptedCell or None
        None if the predictions of the cell are there, or the accepted cell is another fit.

    Raises
    ------
    DamagedFile
        As `read_accepted`.
    """
    if cell.outputs is None or (cache / cell.outputs.file).is_file():
        return None
    found = read_accepted(folder, cache, cell.key, cell.model)
    return found if found is not None and found.cell == cell else None


def run_path(folder: Path, dataset: str, model: str) -> Path:
    """Return the file of a run below ``results/<suite>``."""
    return folder / "runs" / dataset / f"{model}.json"


def batch_path(folder: Path, name: str) -> Path:
    """Return the file that marks a training job as done, below ``results/<suite>``."""
    return folder / "batches" / f"{name}.json"


def read_run(folder: Path, dataset: str, model: str) -> RunResult | None:
    """Read what a job wrote.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``.
    dataset, model : str
        Data set variant and model preset.

    Returns
    -------
    RunResult or None
        None if the job has not run.

    Raises
    ------
    DamagedFile
        If the file is not what was written, is that of another run, or lacks a repeat or has one twice.
    """
    path = run_path(folder, dataset, model)
    remedy = f"Run the workflow again, which makes it anew: snakemake --cores all --config suite={folder.name}"
    try:
        result = read_typed(RunResult, path, remedy)
    except FileNotFoundError:
        return None
    if result.run.pair != (dataset, model):
        raise DamagedFile(path, f"it is the result of {result.run.model} on {result.run.dataset}", remedy)
    repeats = [cell.repeat for cell in result.cells]
    if repeats != list(result.run.repeats) or len(set(repeats)) < len(repeats):
        raise DamagedFile(path, f"its repeats are {repeats}, not {list(result.run.repeats)}, each once", remedy)
    strangers = {(cell.dataset, cell.model) for cell in result.cells} - {(dataset, model)}
    if strangers:
        raise DamagedFile(path, f"it has cells of {', '.join(map(str, sorted(strangers)))}", remedy)
    return result


def timings_path(folder: Path, experiment: str) -> Path:
    """Return the file of what an experiment has timed in turn, below ``results/<suite>``."""
    return folder / "timings" / f"{experiment}.json"


def timings_mark(folder: Path, experiment: str) -> Path:
    """Return the file that marks a timing job as done, below ``results/<suite>``."""
    return folder / "timings" / f"{experiment}.done"


def read_timings(folder: Path, plan: Plan, experiment: str) -> tuple[Timed, ...]:
    """Read what a timing job wrote, as far as the plan asks for it.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``.
    plan : Plan
        Of the suite. What was timed for another configuration is left out.
    experiment : str
        Id of the experiment.

    Raises
    ------
    DamagedFile
        If the file is not what was written.
    """
    remedy = f"Run the workflow again, which makes it anew: snakemake --cores all --config suite={folder.name}"
    try:
        found = read_typed(Timings, timings_path(folder, experiment), remedy)
    except FileNotFoundError:
        return ()
    planned = plan.timings_of(experiment)
    return tuple(part for part in found.parts if any(part.timing.same_work(one) for one in planned))


def discard_damaged(root: Path, plan: Plan) -> list[Path]:
    """Remove files of a suite that are not what was written, with all that was made from them; warn of each.

    These are its plan, its run files, the arrays that their cells saved, its timings, and the facts about its data
    sets. Snakemake then makes them again. It takes a file that is there for done, whatever is in it, and a missing one
    for needless while the tables and the page that are made from it are there.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    plan : Plan
        Of the suite.

    Returns
    -------
    list of Path
        The damaged files that were removed.
    """
    folder = root / "results" / plan.suite
    removed = []

    def discard(error: DamagedFile, shown: Iterable[str], *also: Path) -> None:
        path, fault, _ = error.args
        logger.warning("%s: %s. It is removed with what was made from it, and made again.", path, fault)
        patterns = ["index.html", *(f"{kind}/{name}.*" for name in shown for kind in ("tables", "figures"))]
        for each in (error.path, *also, *(found for pattern in patterns for found in folder.glob(pattern))):
            each.unlink(missing_ok=True)
        removed.append(error.path)

    path = folder / PLAN_FILE
    try:
        if path.is_file():
            read_plan(path, plan.suite)
    except DamagedFile as error:
        discard(error, plan.experiments)
    for variant in plan.variants():
        path = root / PROCESSED / f"{variant}.json"
        try:
            if path.is_file():
                from cascadeforest.data.dataset import read_summary  # scipy: half a second, for those who need it

                read_summary(path)
        except DamagedFile as error:
            discard(error, [name for name, experiment in plan.experiments.items() if variant in experiment.datasets])
    for run in plan.runs:
        path, mark = run_path(folder, run.dataset, run.model), batch_path(folder, plan.merged_by[run.pair])
        try:
            result = read_run(folder, run.dataset, run.model)
            if result is None and mark.is_file():
                raise DamagedFile(path, "no such file", "")
            for cell in result.cells if result else ():
                if accepted_instead(folder, root / CELL_CACHE, cell) is None:
                    for saved in (*([cell.outputs] if cell.outputs else []), *cell.extras.values()):
                        check_arrays(root / CELL_CACHE, saved, "")
        except DamagedFile as error:
            shown = [name for name, experiment in plan.experiments.items() if run.pair in experiment.needed_runs()]
            discard(error, shown, path, mark)
    for name in dict.fromkeys(timing.experiment for timing in plan.timings):
        path, mark = timings_path(folder, name), timings_mark(folder, name)
        try:
            read_timings(folder, plan, name)
            if mark.is_file() and not path.is_file():
                raise DamagedFile(path, "no such file", "")
        except DamagedFile as error:
            discard(error, [name], path, mark)
    return removed


def failure_paths(folder: Path, dataset: str, model: str) -> list[Path]:
    """Return the files below ``results/<suite>`` that say which repeats of a run failed."""
    place = folder / "failures" / dataset
    paths = [place / f"{model}.json", *sorted(place.glob(f"{model}.part*.json"))]
    return [path for path in paths if path.is_file()]


def read_failures(folder: Path, dataset: str, model: str) -> list[Failure]:
    """Read the failed repeats of one model preset on one data set.

    A run in jobs of some repeats each leaves one file a job, and one of the merging job, which tries the rest again.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``.
    dataset, model : str
        Data set variant and model preset.

    Returns
    -------
    list of Failure
        One for each repeat, the newest where several files have it, in the order of the repeats.

    Raises
    ------
    DamagedFile
        If a file is not what was written.
    """
    remedy = "Delete it, or run the workflow again, which tries what failed again."
    paths = failure_paths(folder, dataset, model)
    found = [failure for path in paths for failure in read_typed(Failures, path, remedy).repeats]
    newest = {failure.repeat: failure for failure in sorted(found, key=lambda failure: failure.ended_ms)}
    return [newest[repeat] for repeat in sorted(newest)]
