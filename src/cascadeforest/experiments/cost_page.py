"""The tables of ``docs/cost.md``: what fits cost, and what the suite ``paper`` would take.

All numbers come from ``reports/<suite>/costs.csv``, the measured costs of runs that are or were accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from cascadeforest.data.files import read_yaml
from cascadeforest.data.registry import load_dataset_files
from cascadeforest.experiments.batches import COSTS, Cost, expected_costs, parse_costs, read_costs, training_rows
from cascadeforest.experiments.plan import Pair, Plan
from cascadeforest.experiments.resolve import load_plan

#: Of a cluster, or one large machine.
CORES = 16


def cost_tables(root: Path) -> str:
    """Return both tables as Markdown, and in the last line what the suite ``paper`` takes.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    """
    accepted = parse_costs((root / "reports" / "standard" / COSTS).read_text(encoding="utf-8"))
    plan = load_plan(root, {"suite": "paper"})
    costs = expected_costs(plan.runs, read_costs(root), training_rows(load_dataset_files(root / "config" / "datasets")))
    lines = [
        *_fit_lines(accepted, read_yaml(root / "config" / "models.yaml")),
        "\n## What the suite `paper` takes\n",
        *_suite_lines(plan, costs),
    ]
    return "\n".join(lines) + "\n"


def _fit_lines(costs: Mapping[Pair, Cost], models: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "| data set | training rows | model | trees, rounds or epochs | training | prediction | MiB |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    whole = [(cost.rows, pair[0], cost.fit_cpu, pair[1]) for pair, cost in costs.items() if "+" not in pair[0]]
    for rows, dataset, fit_cpu, model in sorted(whole):
        cost, preset = costs[dataset, model], model.partition("+")[0]
        words = f"{models[preset]['label']} (`{preset}`)" if "label" in models.get(preset, {}) else f"`{preset}`"
        size, least = f"{cost.size:,.0f}" if cost.size else "", "" if cost.has_peak else "≥ "
        times = f"{fit_cpu:,.2f} | {cost.predict_cpu:,.2f}"
        yield f"| {dataset} | {rows:,} | {words} | {size} | {times} | {least}{cost.mib:,.0f} |"


def _suite_lines(plan: Plan, costs: Mapping[Pair, Cost]) -> Iterator[str]:
    """Experiments, the most expensive first; no hours where no run has a measured size."""
    hours = {run.pair: costs[run.pair].seconds * len(run.repeats) / 3600 for run in plan.runs if run.pair in costs}
    known = {run.pair for run in plan.runs}
    needed = {name: known.intersection(each.needed_runs()) for name, each in plan.experiments.items()}
    # Exact sums: a plain one depends on the order of a set, which differs from process to process.
    total = {name: math.fsum(hours.get(pair, 0) for pair in pairs) for name, pairs in needed.items()}
    yield "| experiment | hours of one core | runs | of them without a measured size |"
    yield "|---|---:|---:|---:|"
    for name in sorted(total, key=lambda name: (-total[name], name)):
        if needed[name]:
            unknown = len(needed[name] - hours.keys())
            shown = f"{total[name]:,.1f}" if unknown < len(needed[name]) else ""
            yield f"| `{name}` | {shown} | {len(needed[name])} | {unknown or ''} |"
    unknown = len(known - hours.keys())
    yield f"| all, shared runs once | {sum(hours.values()):,.0f} | {len(known)} | {unknown or ''} |"
    alone = [timing.seconds / 3600 for timing in plan.timings if timing.seconds is not None]
    longest = max([*alone, *(cost.seconds / 3600 for cost in costs.values())])
    largest = max(cost.mib for cost in costs.values()) / 1024
    yield ""
    fits, n_timings, wall = sum(hours.values()), len(plan.timings), sum(hours.values()) / CORES + sum(alone)
    yield (
        f"By measured costs the fits of the suite `paper` take {fits:,.0f} hours of one core, by the clock. Models "
        f"timed in turn, with nothing else on the machine, take {sum(alone):,.0f} hours on any number of cores. Both "
        f"together take {wall:,.0f} hours on {CORES} cores, if memory has room for {CORES} fits. "
        f"Left out are {unknown:,} of its {len(known):,} runs and {n_timings - len(alone)} of its {n_timings} timings, "
        f"whose size was never measured. The longest fit or timing takes {longest:,.1f} hours: a cluster of any size "
        f"needs at least that. The largest fit needs {largest:,.0f} GiB of memory."
    )
