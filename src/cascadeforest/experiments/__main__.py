"""Command line: ``python -m cascadeforest.experiments COMMAND``; ``--help`` lists the commands."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cascadeforest.data.typed_json import Json
    from cascadeforest.experiments.plan import Plan

#: Every library that starts threads of its own, and the variable that bounds it. Snakemake exports some of these to
#: its jobs, but not joblib's: without it each job would start a thread per core of the machine.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def limit_threads(threads: int) -> None:
    """Bound the threads of every numeric library; call it before numpy is imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("limit_threads() came too late: numpy is imported already.")
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m cascadeforest.experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--root", type=Path, default=Path(), help="folder that holds config/ (default: here)")
        return added

    for name, text in (
        ("list", "every experiment: what runs in a suite, what is not implemented or not available, and why"),
        ("plan", "write the resolved plan of a suite as JSON"),
        ("spec", "print the specification of one job, as `run --spec` takes it"),
        ("missing", "say what an experiment that cannot run still lacks, and fail"),
    ):
        added = command(name, text)
        added.add_argument("--suite", help="default: the suite of config/config.yaml")
        added.add_argument("--overrides", type=json.loads, default={}, help="JSON: keys of config.yaml to replace")
        if name == "list":
            added.add_argument("--json", action="store_true", help="machine-readable")
            added.add_argument("--cost", action="store_true", help="hours of each experiment, and open claims")
        elif name == "plan":
            added.add_argument("--output", type=Path, required=True)
        elif name == "missing":
            added.add_argument("experiment")
        else:
            added.add_argument("--dataset", required=True)
            added.add_argument("--model", required=True)

    suite = command("suite", "everything of a suite, or some targets, with one line of progress")
    suite.add_argument("--suite", help="default: the suite of config/config.yaml")
    suite.add_argument("--cores", default="all", help="a number, or all")
    suite.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="TARGET",
        help="experiments to make, or runs of some rows: hidf-table2:adult,bank (default: everything)",
    )
    suite.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE", help="keys of config.yaml to replace")

    restore = command("restore", "let runs take accepted cells as they are, and compute only the rest")
    restore.add_argument("--suite", required=True)

    run = command("run", "all repeats of one model on one data set")
    run.add_argument("--spec", type=json.loads, required=True, help="JSON, from `spec`")
    run.add_argument("--data", type=Path, required=True, help="processed data set (.npz)")
    run.add_argument("--cache", type=Path, default=Path("results/cells"), help="folder of the cells")
    run.add_argument("--output", type=Path, required=True, help="merged result (.json)")
    run.add_argument("--failures", type=Path, required=True, help="written if a repeat failed")
    run.add_argument("--threads", type=int, default=1, help="threads of one fit")

    batch = command("batch", "one training job of a plan: some runs, or some repeats of a run")
    batch.add_argument("--suite", required=True)
    batch.add_argument("--batch", required=True, help="its name in the plan")
    batch.add_argument("--spec", help="digest of what it computes; a plan on disk with another one is not used")
    batch.add_argument("--overrides", type=json.loads, default={}, help="JSON: keys of config.yaml to replace")
    batch.add_argument("--threads", type=int, default=1, help="threads of one fit")

    timed = command("time", "one timing job of a plan: the models of a table in turn; nothing else should run")
    timed.add_argument("--suite", required=True)
    timed.add_argument("--experiment", required=True, help="its id")
    timed.add_argument("--spec", help="digest of what it times; a plan on disk with another one is not used")
    timed.add_argument("--overrides", type=json.loads, default={}, help="JSON: keys of config.yaml to replace")

    track = command("track", "bring the MLflow store up to date with the results")
    track.add_argument("--suite", action="append", help="default: every suite that has results")
    track.add_argument("--results", type=Path, default=Path("results"))
    track.add_argument("--cells", action="store_true", help="cells only, while tables are drawn")
    track.add_argument("--every-run", action="store_true", help="also compare runs whose results did not change")
    track.add_argument("--output", type=Path, help="JSON with what was done")

    claims = command("claims", "check config/claims.yaml, and run what its claims say of all data")
    claims.add_argument("--output", type=Path, required=True, help="JSON with what was found")

    reference = command("reference", "the generated pages: fail while they are stale, or renew them")
    reference.add_argument("--write", action="store_true", help="renew them")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 2 for a user's mistake, 1 for failed cells."""
    options = parse_arguments(arguments)
    # One thread unless told otherwise: parallelism comes from Snakemake alone.
    limit_threads(getattr(options, "threads", 1))
    from cascadeforest.data.errors import UserError
    from cascadeforest.experiments.jobs import JobFailed

    try:
        return globals()[f"_{options.command}"](options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except JobFailed as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: finished cells are kept, the next run does the rest", file=sys.stderr)
        return 130


def _load_plan(options: argparse.Namespace) -> Plan:
    from cascadeforest.experiments.resolve import load_plan

    return load_plan(options.root, options.overrides | ({"suite": options.suite} if options.suite else {}))


def _list(options: argparse.Namespace) -> int:
    plan = _load_plan(options)
    if options.json:
        rows = [
            {"id": e.id, "paper": e.paper, "kind": e.kind, "status": e.status, "reason": e.reason, "absent": e.absent}
            for e in plan.experiments.values()
        ]
        print(json.dumps(rows, indent=1))
        return 0
    print(f"suite {plan.suite}: {len(plan.experiments)} experiments, {len(plan.runs)} jobs")
    width = max(map(len, plan.experiments))
    if options.cost:
        from cascadeforest.data.registry import load_dataset_files
        from cascadeforest.experiments.batches import cost_lines, expected_costs, read_costs, training_rows
        from cascadeforest.experiments.claims import undecided

        n_train = training_rows(load_dataset_files(options.root / "config" / "datasets"))
        costs = expected_costs(plan.runs, read_costs(options.root), n_train)
        print("\n".join(cost_lines(plan, costs, width, undecided(options.root, plan))))
        return 0
    for experiment in plan.experiments.values():
        print(f"{experiment.id:<{width}}  {experiment.kind:<6}  {experiment.status:<15}  {experiment.reason}".rstrip())
        for dataset, reason in experiment.absent.items():
            print(f"{'':<{width}}  without {dataset}: {reason}")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from cascadeforest.experiments.typed_files import write_typed

    write_typed(options.output, _load_plan(options))
    return 0


def _spec(options: argparse.Namespace) -> int:
    from cascadeforest.data.errors import ConfigError
    from cascadeforest.data.typed_json import to_json

    plan = _load_plan(options)
    run = plan.run(options.dataset, options.model)
    if run is None:
        models = ", ".join(known.model for known in plan.runs if known.dataset == options.dataset)
        datasets = ", ".join(dict.fromkeys(known.dataset for known in plan.runs))
        has = f"Models on this data set: {models}." if models else f"Data sets of the suite: {datasets}."
        raise ConfigError(
            f"No experiment of the suite {plan.suite} runs '{options.model}' on '{options.dataset}'. {has}"
        )
    print(json.dumps(to_json(run)))
    return 0


def _missing(options: argparse.Namespace) -> int:
    from cascadeforest.data.errors import ConfigError

    experiment = _load_plan(options).experiments[options.experiment]
    raise ConfigError(
        f"{experiment.id} ({experiment.title}) is declared but cannot run yet: {experiment.reason}. "
        "`make list` shows what can."
    )


def _run(options: argparse.Namespace) -> int:
    import signal

    from cascadeforest.data.typed_json import from_json
    from cascadeforest.experiments.jobs import Job, run_jobs
    from cascadeforest.experiments.plan import Run

    # As Ctrl-C: the repeat's process ends with the job, which would otherwise go on computing.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run = from_json(Run, options.spec, "--spec")
    run_jobs([Job(run, options.data, options.output, options.failures)], options.cache, options.threads)
    return 0


def _batch(options: argparse.Namespace) -> int:
    from cascadeforest.experiments.jobs import run_batch, spec_digest

    plan, tell = _job(
        options, options.batch, lambda plan: options.batch in plan.batch and spec_digest(plan, options.batch)
    )
    run_batch(plan, options.batch, options.root, options.threads, tell)
    return 0


def _time(options: argparse.Namespace) -> int:
    from cascadeforest.experiments.timing import run_timings, timing_digest

    name = options.experiment
    plan, tell = _job(options, f"{name} in turn", lambda plan: timing_digest(plan, name))
    run_timings(plan, name, options.root, tell)
    return 0


def _job(options: argparse.Namespace, name: str, spec: Callable[[Plan], object]) -> tuple[Plan, Callable[..., None]]:
    """The plan of a job, from disk if it is the one that is meant, and where to tell what happens."""
    import signal

    from cascadeforest.experiments import progress
    from cascadeforest.experiments.plan import read_plan
    from cascadeforest.experiments.records import PLAN_FILE

    # As Ctrl-C: the process that fits ends with the job, which would otherwise go on computing.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = options.root / "results" / options.suite

    def tell(event: str, **facts: Json) -> None:
        progress.tell(folder, event, batch=name, **facts)
        print(event, *(f"{key}={value}" for key, value in facts.items()), flush=True)

    plan = read_plan(folder / PLAN_FILE, options.suite) if (folder / PLAN_FILE).is_file() else None
    if plan is None or (options.spec and options.spec != spec(plan)):
        plan = _load_plan(options)
    return plan, tell


def _suite(options: argparse.Namespace) -> int:
    print("Reading the configuration.", flush=True)
    from cascadeforest.experiments.prerequisites import check_prerequisites
    from cascadeforest.experiments.resolve import load_plan
    from cascadeforest.experiments.running import overrides_of, run_suite

    overrides = overrides_of(options.suite, options.config)
    plan = load_plan(options.root, overrides)
    check_prerequisites(options.root, plan, options.only)
    return run_suite(options.root, plan, options.only, options.cores, overrides, sys.stdout)


def _restore(options: argparse.Namespace) -> int:
    from cascadeforest.experiments.accepted import restore

    print("\n".join(restore(options.root, options.suite).lines()))
    return 0


def _track(options: argparse.Namespace) -> int:
    import dataclasses

    from cascadeforest.data.files import atomic_write
    from cascadeforest.experiments.tracking import sync

    report = dataclasses.asdict(
        sync(options.results, options.suite, every_run=options.every_run, tables=not options.cells)
    )
    print(", ".join(f"{name}: {count}" for name, count in report.items()))
    if options.output:
        atomic_write(options.output, json.dumps(report, indent=1) + "\n")
    return 0


def _claims(options: argparse.Namespace) -> int:
    from cascadeforest.data.files import atomic_write
    from cascadeforest.data.typed_json import to_json
    from cascadeforest.experiments.claim_checks import run_checks
    from cascadeforest.experiments.claims import check_claims, read_claims
    from cascadeforest.experiments.resolve import load_plan

    check_claims(read_claims(options.root), load_plan(options.root))
    found = run_checks()
    for name, check in found.items():
        print(f"{name}: {'holds' if check.holds else 'does not hold'}: {check.words}")
    atomic_write(options.output, json.dumps(to_json(found), indent=1, ensure_ascii=False) + "\n")
    return 0


def _reference(options: argparse.Namespace) -> int:
    from cascadeforest.experiments import reference

    if options.write:
        for path in reference.write(options.root):
            print(f"renewed {path}")
        return 0
    difference = reference.differences(options.root)
    print(difference, end="")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
