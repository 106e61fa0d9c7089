"""What training jobs tell while they run: one line of JSON for each event, in ``results/<suite>/logs``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.plan import CLAIMS, Pair, Plan
from cascadeforest.experiments.records import batch_path
from cascadeforest.experiments.table_rows import chosen_rows, part_of

#: File of the events, below ``results/<suite>``.
EVENTS = Path("logs") / "progress.jsonl"
#: The score of a run that is shown, the first that it has.
SHOWN_SCORES = ("accuracy", "rmse")
#: One repeat of one model on one data set.
CellName = tuple[str, str, int]


def tell(folder: Path, event: str, **facts: Json) -> None:
    """Append an event to the file of a suite; several jobs may do so at the same time.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``.
    event : str
        ``batch``: a job starts; ``fit``: a fit starts; ``cell``: a repeat is there; ``run``: the repeats of a run were
        merged; ``end``: the job ended.
    **facts
        What the event is about.
    """
    path = folder / EVENTS
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"event": event} | facts) + "\n"
    # One write at the end of the file is not divided by those of other processes.
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def duration(seconds: float) -> str:
    """Write a time in the two units that matter.

    Examples
    --------
    >>> duration(0.42), duration(75), duration(7384), duration(200_000)
    ('0.4 s', '1 min 15 s', '2 h 3 min', '2 d 7 h')
    """
    whole = round(seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def jobs_of_rows(plan: Plan, folder: Path, targets: Sequence[str]) -> dict[Pair, list[str]]:
    """Return the jobs that make what rows of tables show, by run: of a run that other tables repeat more, only some.

    Parameters
    ----------
    plan : Plan
        Of the suite.
    folder : Path
        ``results/<suite>``. A run that was merged before is merged again.
    targets : sequence of str
        Rows of experiments (`chosen_rows`); others are left out.
    """
    repeats: dict[Pair, int] = {}
    for name, rows in chosen_rows(target for target in targets if ":" in target).items():
        one = part_of(plan.experiments[name], rows)
        repeats |= {pair: max(repeats.get(pair, 0), one.n_repeats(*pair)) for pair in one.needed_runs()}
    whole = plan.merged_by
    return {
        pair: [whole[pair]] if batch_path(folder, whole[pair]).is_file() else plan.made_by(pair, n)
        for pair, n in repeats.items()
    }


class Progress:
    """How far a suite is, by what its training jobs tell.

    Parameters
    ----------
    plan : Plan
        Of the suite.
    folder : Path
        ``results/<suite>``. What is told before is forgotten.
    targets : sequence of str
        Experiments, or some of their rows, that are made; all by default, and where another target is among them.
    """

    def __init__(self, plan: Plan, folder: Path, targets: Sequence[str] = ()) -> None:
        self.plan = plan
        trained = {name for name, one in plan.experiments.items() if one.kind != CLAIMS}
        chosen = chosen_rows(targets)
        is_part = bool(chosen) and trained.issuperset(chosen)
        self.experiments = list(chosen) if is_part else plan.drawable()
        self.path = folder / EVENTS
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")
        self._position = 0
        tables = [plan.experiments[name] for name in self.experiments if not chosen.get(name)]
        jobs = {plan.merged_by[pair] for one in tables for pair in one.needed_runs()}
        jobs.update(*jobs_of_rows(plan, folder, targets).values())
        jobs |= {before for name in jobs for before in plan.batch[name].after}
        self.cells: set[CellName] = set()
        self.done: set[CellName] = set()
        for batch in plan.batches:
            if not is_part or batch.name in jobs:
                self.cells |= self._cells_of(batch.name)
                if batch_path(folder, batch.name).is_file():
                    self.done |= self._cells_of(batch.name)
        self.seen: set[CellName] = set()  # in this run
        self.fitted: set[CellName] = set()  # of these
        self.fitting: dict[str, str] = {}
        self.score = ""
        self.seconds = {
            (part.dataset, part.model, repeat): batch.seconds / sum(len(part.repeats) for part in batch.parts)
            for batch in plan.batches
            if batch.seconds
            for part in batch.parts
            for repeat in part.repeats
        }

    def read(self) -> None:
        """Take in what was told since."""
        with self.path.open("rb") as stream:
            stream.seek(self._position)
            content = stream.read()
        complete = content[: content.rfind(b"\n") + 1]
        self._position += len(complete)
        for line in complete.splitlines():
            self._take(json.loads(line))

    def _take(self, event: dict[str, Json]) -> None:
        kind, batch = event["event"], str(event.get("batch"))
        what = f"{event.get('model')} on {event.get('dataset')}"
        if kind == "batch":  # it is done again: its cells are looked for, if no other job just made them
            self.done -= self._cells_of(batch) - self.seen
        elif kind == "fit":
            self.fitting[batch] = f"{what}, repeat {event['repeat']}"
        elif kind == "cell":
            cell = (str(event["dataset"]), str(event["model"]), int(str(event["repeat"])))
            self.done.add(cell)
            self.seen.add(cell)
            if event["fitted"]:
                self.fitted.add(cell)
        elif kind == "run" and "score" in event:
            self.score = f"{what}: {event['metric']} {event['score']}"
        elif kind == "end":
            self.fitting.pop(batch, None)

    def _cells_of(self, batch: str) -> set[CellName]:
        parts = self.plan.batch[batch].parts if batch in self.plan.batch else ()
        return {(part.dataset, part.model, repeat) for part in parts for repeat in part.repeats}

    def expected(self, cells: Iterable[CellName]) -> float:
        """Return how long these fits take one after another, in seconds, by what was measured before."""
        # An unknown cost is taken to be the mean of all known ones on both sides of a division: see `left`.
        measured = [self.seconds[cell] for cell in self.cells & self.seconds.keys()]
        mean = fmean(measured) if measured else 1.0
        return sum(self.seconds.get(cell, mean) for cell in cells)

    def left(self, elapsed: float, cores: int) -> float:
        """Return the time until all fits are done, in seconds, by the speed of this run so far."""
        fitted = self.expected(self.fitted)
        speed = fitted / elapsed if fitted > 10 and elapsed > 10 else float(cores)
        return self.expected(self.cells - self.done) / speed
