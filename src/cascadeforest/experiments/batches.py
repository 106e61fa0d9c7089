"""Training jobs: cheap runs together, costly ones repeat by repeat, by costs that were measured before.

A process that starts and imports the libraries costs more than many a fit, so cheap runs share one. What was measured
stands in ``reports/<suite>/costs.csv``, which is written when a suite is accepted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cascadeforest.experiments.plan import Batch, Pair, Part, Run

#: File of the measured costs, below ``reports/<suite>``.
COSTS = "costs.csv"


@dataclass(frozen=True)
class Cost:
    """What one repeat of a run costs.

    Parameters
    ----------
    seconds : float
        Elapsed time, with what the cell saves for figures.
    mib : float
        Memory.
    """

    seconds: float
    mib: float


def read_costs(root: Path, suite: str) -> dict[Pair, Cost]:
    """Read what runs cost when they were accepted: in this suite, or else in the suite where they cost most.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite.

    Returns
    -------
    dict
        Data set variant and model preset to the cost of a repeat.
    """
    found: dict[Pair, Cost] = {}
    own: dict[Pair, Cost] = {}
    for path in sorted((root / "reports").glob(f"*/{COSTS}")):
        costs = parse_costs(path.read_text(encoding="utf-8"))
        if path.parent.name == suite:
            own = costs
        for pair, cost in costs.items():
            if pair not in found or cost.seconds > found[pair].seconds:
                found[pair] = cost
    return found | own


def parse_costs(text: str) -> dict[Pair, Cost]:
    """Read the content of a file of costs."""
    rows = csv.DictReader(io.StringIO(text))
    return {(row["dataset"], row["model"]): Cost(float(row["seconds"]), float(row["mib"])) for row in rows}


def costs_csv(costs: Mapping[Pair, Cost]) -> str:
    """Return the content of a file of costs, sorted by data set and model."""
    lines = ["dataset,model,seconds,mib"]
    lines += [
        f"{dataset},{model},{cost.seconds:.2f},{cost.mib:.0f}" for (dataset, model), cost in sorted(costs.items())
    ]
    return "\n".join(lines) + "\n"


def make_batches(runs: Iterable[Run], costs: Mapping[Pair, Cost], seconds: float) -> tuple[Batch, ...]:
    """Divide runs into training jobs that take about as long as asked for.

    Runs are put together in their order while their sum is at most `seconds`. A run that takes longer is divided into
    jobs of as many repeats as fit, at least one; one more job merges them. A run of unknown cost is a job.

    Parameters
    ----------
    runs : iterable of Run
        All runs of a suite.
    costs : mapping
        Cost of a repeat, as far as it is known.
    seconds : float
        Aim for the duration of a job.

    Returns
    -------
    tuple of Batch
        Each run is whole in one of them. Costly ones come first, since the last job decides when the suite ends.
    """
    costly: list[Batch] = []
    cheap: list[Batch] = []
    open_runs: list[Run] = []
    for run in runs:
        cost = costs.get(run.pair)
        if cost is None:
            costly.append(Batch(_name(run), (_part(run),)))
            continue
        if cost.seconds * len(run.repeats) > seconds:
            costly += _divided(run, cost, seconds)
            continue
        if open_runs and _expected([*open_runs, run], costs) > seconds:
            cheap.append(_together(open_runs, costs))
            open_runs = []
        open_runs.append(run)
    if open_runs:
        cheap.append(_together(open_runs, costs))
    return (*costly, *cheap)


def _expected(runs: Iterable[Run], costs: Mapping[Pair, Cost]) -> float:
    return sum(costs[run.pair].seconds * len(run.repeats) for run in runs)


def _name(run: Run) -> str:
    return f"{run.dataset}.{run.model}"


def _part(run: Run) -> Part:
    return Part(run.dataset, run.model, run.repeats)


def _together(runs: list[Run], costs: Mapping[Pair, Cost]) -> Batch:
    mib = max(costs[run.pair].mib for run in runs)
    return Batch(_name(runs[0]), tuple(map(_part, runs)), (), _expected(runs, costs), mib)


def _divided(run: Run, cost: Cost, seconds: float) -> list[Batch]:
    """Return jobs of some repeats each, and the job that merges them; one job if the run has one repeat."""
    size = max(1, int(seconds / cost.seconds))
    chunks = [run.repeats[start : start + size] for start in range(0, len(run.repeats), size)]
    parts = [
        Batch(
            f"{_name(run)}.{number}",
            (Part(run.dataset, run.model, chunk),),
            (),
            cost.seconds * len(chunk),
            cost.mib,
        )
        for number, chunk in enumerate(chunks)
    ]
    if len(parts) == 1:
        return [replace(parts[0], name=_name(run))]
    return [*parts, Batch(_name(run), (_part(run),), tuple(part.name for part in parts), 0.0, cost.mib)]
