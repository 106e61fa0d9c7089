"""Training jobs: cheap runs together, costly ones repeat by repeat, by costs that were measured before.

A process that starts and imports the libraries costs more than many a fit, so cheap runs share one. What was measured
stands in ``reports/<suite>/costs.csv``, which is written when a suite is accepted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ldexp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from cascadeforest.data.names import parse_operation, parse_variant
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.cells import Cell
from cascadeforest.experiments.plan import Batch, Pair, Part, Plan, Run, Timing

#: Operations of a variant whose amount is a fraction of the training rows.
DRAWN = ("train", "rest")
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
        By how much memory grew during training, or the size of the fitted model if that is larger.
    size : float
        Trees, rounds or epochs that were trained (`size_of`); 0 if the model has none.
    rows : int
        Training rows; 0 if they are not known.
    steps : float
        Of soft trees, in which each row goes to all leaves in each epoch, epochs times leaves (`steps_of`); 1 of other
        models, and 0 if it is not known.
    fit_cpu, predict_cpu : float
        CPU seconds of training and of predicting the test rows.
    has_peak : bool
        Whether memory was measured during training; else `mib` is the size of the fitted model.
    """

    seconds: float
    mib: float
    size: float = 0
    rows: int = 0
    steps: float = 1
    fit_cpu: float = 0
    predict_cpu: float = 0
    has_peak: bool = False

    def scaled(self, size: float, rows: int, steps: float = 1) -> Cost:
        """Return the cost of another size: in proportion to it, and to the training rows, as far as they are known.

        What the clock shows beyond CPU seconds, such as reading the data, is scaled with the rows only. For soft trees
        memory and prediction come out too large, so that a job has room: they train in batches.
        """
        by_size, by_rows, by_steps = self._ratios(size, rows, steps)
        by, mib = by_size * by_rows * by_steps, self.mib * by_size * by_rows
        fit, predict = self.fit_cpu * by, self.predict_cpu * by
        beyond = max(self.seconds - self.fit_cpu - self.predict_cpu, 0) if self.fit_cpu else 0
        seconds = beyond * by_rows + (self.seconds - beyond) * by
        return Cost(seconds, mib, size, rows, steps, fit, predict, self.has_peak)

    def distance(self, size: float, rows: int, steps: float = 1) -> float:
        """Return how far it is scaled for another size."""
        return sum(abs(log(ratio)) for ratio in self._ratios(size, rows, steps))

    def covers(self, other: Cost) -> bool:
        """Return whether it was measured with at least as many rows, trees and steps."""
        return self.rows >= other.rows and self.size >= other.size and self.steps >= other.steps

    def _ratios(self, size: float, rows: int, steps: float) -> tuple[float, float, float]:
        by_size = size / self.size if size and self.size else 1.0
        by_rows = rows / self.rows if rows and self.rows else 1.0
        return by_size, by_rows, steps / self.steps if steps and self.steps else 1.0


def size_of(params: Mapping[str, Json]) -> float:
    """Return the number of trees, boosting rounds or epochs among the parameters of a model; 0 if there is none."""
    found = (params.get(name) for name in ("n_estimators", "max_iter"))
    return next((number for number in found if isinstance(number, int | float)), 0)


def steps_of(params: Mapping[str, Json]) -> float:
    """Return epochs times leaves of a model that trains trees in epochs: soft trees; 1 of other models."""
    trees, epochs, depth = (params.get(name) for name in ("n_estimators", "max_iter", "max_depth"))
    if isinstance(trees, int) and isinstance(epochs, int) and isinstance(depth, int):
        return ldexp(epochs, depth)
    return 1


def cost_of(run: Run, cells: Collection[Cell], n_train: int) -> Cost:
    """Return what a repeat of a run took: mean times of its cells, and their largest memory."""
    seconds = fmean((cell.ended_ms - cell.started_ms) / 1000 for cell in cells)
    cpu = fmean(cell.costs.fit_cpu_seconds for cell in cells), fmean(cell.costs.predict_cpu_seconds for cell in cells)
    peaks = [cell.costs.fit_peak_mib for cell in cells if cell.costs.fit_peak_mib is not None]
    mib = max([*peaks, *(cell.costs.model_mib for cell in cells)])
    return Cost(seconds, mib, size_of(run.params), n_train, steps_of(run.params), *cpu, has_peak=bool(peaks))


def read_costs(root: Path) -> list[tuple[Pair, Cost]]:
    """Read what a repeat of the runs of all accepted suites cost; the same run can be there at several sizes.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    """
    files = sorted((root / "reports").glob(f"*/{COSTS}"))
    return [item for path in files for item in parse_costs(path.read_text(encoding="utf-8")).items()]


def expected_costs(
    runs: Iterable[Run], measured: Iterable[tuple[Pair, Cost]], n_train: Mapping[str, int]
) -> dict[Pair, Cost]:
    """Return the cost of a repeat of each run, as far as it, or another size of it, was measured.

    Another size is another number of trees or epochs, or another number of training rows of the same data set: other
    variants of it, and other budgets of the model, whose names are the same up to the first ``+``. The nearest size
    that was measured is scaled in proportion. `n_train` has the training rows of whole data sets (`training_rows`).
    """

    def drawn(variant: str) -> int:
        name, operations = parse_variant(variant)
        rows = n_train.get(name, 0)
        for one in map(parse_operation, operations):
            rows = int(one.amount if one.kind == "rows" else rows * one.amount if one.kind in DRAWN else rows)
        return rows

    known: dict[Pair, list[Cost]] = {}
    for (dataset, model), cost in measured:
        known.setdefault(_whole((dataset, model)), []).append(cost)
    found: dict[Pair, Cost] = {}
    for run in runs:
        if costs := known.get(_whole(run.pair)):
            own = size_of(run.params), drawn(run.dataset), steps_of(run.params)
            found[run.pair] = min(costs, key=lambda cost: cost.distance(*own)).scaled(*own)
    return found


def training_rows(datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the training rows of whole data sets whose files say how many rows they have."""
    found: dict[str, int] = {}
    for name, content in datasets.items():
        expected, protocol = content.get("expected", {}), content.get("protocol", {})
        rows = expected.get("rows", 0)
        size = protocol.get("train_size", 1 - 1 / protocol["folds"] if "folds" in protocol else None)
        if size is not None:  # a number of rows, or a share
            rows = size if size > 1 else rows * size
        elif rows:
            test = protocol.get("test_size", 0)
            rows -= test if test > 1 else rows * test
        if rows := int(expected.get("train", rows)):
            found[name] = rows
    return found


def parse_costs(text: str) -> dict[Pair, Cost]:
    """Read the content of a file of costs; files of earlier versions lack the last four columns."""
    found: dict[Pair, Cost] = {}
    for row in csv.DictReader(io.StringIO(text)):
        seconds, mib, size = (float(row[name]) for name in ("seconds", "mib", "size"))
        steps, has_peak = float(row.get("steps", 0)), row.get("memory") == "peak"
        cpu = float(row.get("fit_cpu", 0)), float(row.get("predict_cpu", 0))
        found[row["dataset"], row["model"]] = Cost(seconds, mib, size, int(row["rows"]), steps, *cpu, has_peak)
    return found


def costs_csv(costs: Mapping[Pair, Cost], before: Path | None = None) -> str:
    """Return the content of a file of costs, sorted by data set and model.

    A line of the file `before` stays, though no cell has its cost any more, until the model is measured on as many rows
    of the data: plans and estimates lose no measurement. Who renames a model or a data set deletes such lines by hand.
    """
    if before is not None and before.is_file():
        former, now = parse_costs(before.read_text(encoding="utf-8")), [(_whole(pair), costs[pair]) for pair in costs]
        kept = {
            pair: one
            for pair, one in former.items()
            if not any(own == _whole(pair) and cost.covers(one) for own, cost in now)
        }
        costs = {**kept, **costs}
    lines = ["dataset,model,seconds,mib,size,rows,steps,fit_cpu,predict_cpu,memory"]
    lines += [
        f"{dataset},{model},{cost.seconds:.2f},{cost.mib:.0f},{cost.size:g},{cost.rows},{cost.steps:.0f},"
        f"{cost.fit_cpu:.2f},{cost.predict_cpu:.2f},{'peak' if cost.has_peak else 'model'}"
        for (dataset, model), cost in sorted(costs.items())
    ]
    return "\n".join(lines) + "\n"


def _whole(pair: Pair) -> Pair:
    """Return the data set without operations on it, and the model without a budget."""
    return pair[0].partition("+")[0], pair[1].partition("+")[0]


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


def expected_seconds(timing: Timing, costs: Mapping[Pair, Cost]) -> float | None:
    """Return how long a timing takes; None if a model of it was not measured at any size."""
    runs = [run for _, run, _ in timing.turns()]
    if any(run.pair not in costs for run in runs):
        return None
    return len(timing.repeats) * sum(costs[run.pair].seconds for run in runs)


def cost_lines(plan: Plan, costs: Mapping[Pair, Cost], width: int, claims: Mapping[str, int]) -> list[str]:
    """Return hours of one core: a line for each experiment, and one for the suite, which computes shared runs once.

    `claims` has the number of open claims that wait for an experiment: the most claims per hour should come first.
    """

    def line(name: str, runs: Collection[Run]) -> str:
        hours = sum(costs[run.pair].seconds * len(run.repeats) for run in runs if run.pair in costs) / 3600
        unknown = sum(run.pair not in costs for run in runs)
        more = f"  and {unknown} of {len(runs)} runs of which no size was measured" if unknown else ""
        if n := claims.get(name):
            rate = f", {n / hours:,.1f} per hour" if hours >= 0.005 and unknown < len(runs) / 2 else ""
            more += f"  {n} open {'claim' if n == 1 else 'claims'}{rate}"
        return f"{name:<{width}}  {hours:9.2f} h{more}"

    lines = ["hours of one core, by the clock, of accepted runs, in proportion to trees, epochs and training rows"]
    for experiment in plan.experiments.values():
        if needed := [plan.run(*pair) for pair in experiment.needed_runs()]:
            of_table = [replace(run, repeats=run.repeats[: experiment.n_repeats(*run.pair)]) for run in needed if run]
            lines.append(line(experiment.id, of_table))
    lines.append(line("all, shared runs once", plan.runs))
    if plan.timings:
        known = [timing.seconds for timing in plan.timings if timing.seconds is not None]
        n_unknown = len(plan.timings) - len(known)
        more = f"  and {n_unknown} of {len(plan.timings)} timings of which no size was measured" if n_unknown else ""
        lines.append(f"{'timed in turn, alone':<{width}}  {sum(known) / 3600:9.2f} h{more}")
    return lines
