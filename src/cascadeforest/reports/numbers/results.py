"""What a report is made from: plan, runs, failures, facts about the data, the papers' numbers.

Rendering is a pure function of `Results`. They are read from ``results/`` after a run (`read_results`) or from what was
accepted (`cascadeforest.reports.store.stored.read_stored`).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from cascadeforest.data.dataset import read_summary
from cascadeforest.data.errors import UserError
from cascadeforest.data.typed_json import to_json
from cascadeforest.experiments import records
from cascadeforest.experiments.cells import read_arrays
from cascadeforest.experiments.claims import CHECKS_FILE, ClaimsToJudge, claims_of
from cascadeforest.experiments.plan import CLAIMS, Experiment, Pair, Plan, read_plan
from cascadeforest.experiments.records import CELL_CACHE, PLAN_FILE, PROCESSED, Failure, RunResult, ScoredCell, Timed
from cascadeforest.reports.numbers.rows import Arrays, CellRows, by_cell, rows_of


@dataclass(frozen=True)
class Results:
    """Everything that a rendering reads."""

    plan: Plan
    runs: dict[Pair, RunResult]  # by data set variant and model preset, without what has not run
    failures: dict[Pair, list[Failure]]  # repeats that failed
    summaries: dict[str, dict[str, Any]]  # data set variant to its facts (data/processed/<variant>.json)
    published: Path  # folder of the papers' numbers
    timings: tuple[Timed, ...] = ()  # what was timed in turn, as far as the plan asks for it
    #: Fields in which a run differs from the plan: it was left by another configuration and counts as not run.
    stale: dict[Pair, list[str]] = field(default_factory=dict)
    arrays_folder: Path = CELL_CACHE  # of the arrays that cells saved
    remedy: str = ""  # what to do about a damaged file of arrays
    #: Gives the predictions for the test rows of a data set variant; nothing where none were kept.
    row_source: Callable[["Results", str], Arrays] = lambda results, dataset: {}
    claims: ClaimsToJudge = field(default_factory=ClaimsToJudge)
    _rows: dict[str, CellRows] = field(default_factory=dict, init=False, compare=False)  # read before

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.plan.suite

    @property
    def experiments(self) -> dict[str, Experiment]:
        """Every declared experiment, in the order of the configuration."""
        return self.plan.experiments

    def drawable(self) -> list[str]:
        """Return the ids of the experiments that have a table."""
        return self.plan.drawable()

    def of(self, plan: Plan) -> Self:
        """Return the part that a part of the plan shows (`Plan.only`, `Plan.showing`)."""
        pairs = {pair for experiment in plan.experiments.values() for pair in experiment.needed_runs()}
        shown, timed = plan.variants(), {timing.experiment for timing in plan.timings}
        return replace(
            self,
            plan=plan,
            runs={pair: run for pair, run in self.runs.items() if pair in pairs},
            failures={pair: failure for pair, failure in self.failures.items() if pair in pairs},
            summaries={name: facts for name, facts in self.summaries.items() if name in shown},
            timings=tuple(one for one in self.timings if one.timing.experiment in timed),
        )

    def timings_of(self, experiment: str) -> list[Timed]:
        """Return what one experiment has timed in turn."""
        return [one for one in self.timings if one.timing.experiment == experiment]

    def incomplete(self) -> list[str]:
        """Return the ids of the experiments whose table lacks a run: it failed, or did not come to its turn."""

        def lacks(name: str) -> bool:
            timed, one = self.timings_of(name), self.experiments[name]
            runs = all(self.cells(*pair, one.n_repeats(*pair)) for pair in one.needed_runs())
            return not runs or len(timed) < len(self.plan.timings_of(name)) or any(one.failures for one in timed)

        found = [name for name in self.drawable() if lacks(name)]
        return found + [name for name in self.drawable() if found and self.experiments[name].kind == CLAIMS]

    def cells(self, dataset: str, preset: str, repeats: int) -> list[ScoredCell] | None:
        """Return the first `repeats` cells of a run in their order, or None if not all of them are there.

        A run can have more repeats than a table shows: another table may ask for them.
        """
        run = self.runs.get((dataset, preset))
        cells = [cell for cell in run.cells if cell.repeat < repeats] if run else []
        return cells if cells and len(cells) == repeats else None

    def all_cells(self) -> list[ScoredCell]:
        """Return the cells of all runs."""
        return [cell for run in self.runs.values() for cell in run.cells]

    def n_accepted(self) -> int:
        """Return how many cells of a run were taken as they were accepted."""
        folder, cache = self.arrays_folder.parent / self.suite, self.arrays_folder
        if not records.accepted_folder(folder).is_dir():
            return 0
        found = ((cell, records.read_accepted(folder, cache, cell.key, cell.model)) for cell in self.all_cells())
        return sum(one is not None and one.cell == cell for cell, one in found)

    def rows(self, dataset: str) -> CellRows:
        """Return what models predicted for each test row of a data set variant (`cascadeforest.reports.numbers.rows`).

        Empty if no predictions were kept. `UserError` if the data are others than those of the cells, or damaged.
        """
        if dataset not in self._rows:
            self._rows[dataset] = by_cell(self.row_source(self, dataset))
        return self._rows[dataset]

    def arrays(self, cell: ScoredCell, extra: str) -> dict[str, np.ndarray]:
        """Return what a cell saved as an extra; `UserError` if it saved none, or the file is gone or damaged."""
        if extra not in cell.extras:
            place = f"{cell.model} on {cell.dataset}, repeat {cell.repeat}"
            remedy = f"Name it in the experiment: 'extras: [{extra}]' (config/experiments), and run again."
            known = ", ".join(cell.extras) or "none"
            raise UserError(f"{place}: extras are {known}, and '{extra}' is needed. {remedy}")
        return read_arrays(self.arrays_folder, cell.extras[extra], self.remedy)


def read_results(root: Path, suite: str, experiments: Iterable[str] | None = None) -> Results:
    """Read what a run of the workflow left in ``results/<suite>``, by default of all experiments.

    Runs that are missing, or were made by another configuration, are left out: a table says so in words. `UserError` if
    there is no plan of this suite, or a file is malformed or not what was written. Claims are read if they are judged.
    """
    folder = root / "results" / suite
    plan = read_plan(folder / PLAN_FILE, suite)
    chosen = [plan.experiments[name] for name in experiments or plan.experiments if name in plan.experiments]
    judges = not experiments or any(experiment.kind == CLAIMS for experiment in chosen)
    if judges:  # claims, by all other experiments; to read them takes a CPU second
        chosen = list(plan.experiments.values())
    runs: dict[Pair, RunResult] = {}
    failures: dict[Pair, list[Failure]] = {}
    stale: dict[Pair, list[str]] = {}
    for pair in sorted({pair for experiment in chosen for pair in experiment.needed_runs()}):
        run = records.read_run(folder, *pair)
        differing = run.differences(plan.run(*pair)) if run is not None else []
        if differing:
            stale[pair] = differing
        planned = plan.run(*pair)
        if run is not None and not differing:
            runs[pair] = run
            if planned is None or run.run.repeats == planned.repeats:
                continue
        if failed := records.read_failures(folder, *pair):
            failures[pair] = failed
    shown = sorted({dataset for e in chosen if e.is_implemented for dataset in e.present()})
    processed = root / PROCESSED
    summaries = {name: read_summary(path) for name in shown if (path := processed / f"{name}.json").is_file()}
    remedy = f"Run the workflow again, which makes it anew: snakemake --cores all --config suite={suite}"
    published = root / "reports" / "published"

    def row_source(results: Results, dataset: str) -> Arrays:
        return rows_of(results, dataset, processed) if (processed / f"{dataset}.npz").is_file() else {}

    claims = claims_of(root, root / "reports" / suite, root / "results" / CHECKS_FILE) if judges else ClaimsToJudge()
    timings = tuple(part for experiment in chosen for part in records.read_timings(folder, plan, experiment.id))
    return Results(
        plan, runs, failures, summaries, published, timings, stale, root / CELL_CACHE, remedy, row_source, claims
    )


def origin(results: Results) -> dict[str, Any]:
    """Return what the cells of a suite say of where they come from; where cells differ, every value is listed."""

    def collected(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for name, value in pairs:
            found.setdefault(name, set()).add(value)
        return {name: sorted(values) for name, values in sorted(found.items())}

    cells = results.all_cells()
    dates = {datetime.fromtimestamp(cell.started_ms / 1000, UTC).date().isoformat() for cell in cells}
    hosts = {json.dumps(cell.provenance.host, sort_keys=True) for cell in cells}
    return {
        "suite": results.suite,
        "suite_config": to_json(results.plan.suite_config),
        "tables": results.drawable(),
        "cells": len(cells),
        "cells_without_rows": sum(cell.outputs is None for cell in cells),
        "cpu_seconds": round(sum(cell.costs.fit_cpu_seconds + cell.costs.predict_cpu_seconds for cell in cells), 1),
        "run_commits": sorted({cell.provenance.git_commit or "not a checkout" for cell in cells}),
        "run_dates": sorted(dates),
        "versions": collected(pair for cell in cells for pair in cell.provenance.versions.items()),
        "hosts": [json.loads(text) for text in sorted(hosts)],
        "code_digests": collected((cell.estimator, cell.provenance.code_digest) for cell in cells),
        "data_digests": {name: facts["digest"] for name, facts in sorted(results.summaries.items())},
    }
