"""Our cascades beside DF21 at an equal number of trees: CPU seconds, memory, pickled size, accuracy; see README.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cascade_cases import CASES, DF21, MODELS, Case, build, load_arrays, save_arrays
from measuring import (
    COSTS,
    THREAD_VARIABLES,
    WARM_UP_ROWS,
    Row,
    best,
    layout,
    machine,
    measure_model,
    number,
    read_rows,
    run_measurement,
    write_rows,
)

CHECKS = [("accuracy", "accuracy", 4), ("layers", "layers", 0), ("n_trees", "trees", 0), ("n_nodes", "nodes", 0)]
KEY = ("case", "model", "trees", "layers_asked", "max_rows")
FACTS = ("rows", "features", "classes")
COLUMNS = [
    *KEY,
    *FACTS,
    "repeats",
    *(column for column, _, _ in COSTS),
    "fit_wall_seconds",
    "predict_wall_seconds",
    *(column for column, _, _ in CHECKS),
    "validation",
    "peak_method",
    "version",
    "note",
]
#: Whose cost is divided by whose: at an equal number of trees, and screening beside none.
RATIOS = [(DF21, "gcforest-oob"), (DF21, "gcforest"), ("gcforest-oob", "cs-oob"), ("gcforest", "cs")]
DF21_MISSING = "not measured; give --df21-python PATH, a Python with deep-forest 0.1.7 (see README.md)"


# One measurement, in a process of its own.


def measure_cell(model: str, trees: int, layers: int, folder: Path) -> Row:
    """Fit, predict, pickle one of our cascades; called in a fresh process."""
    import cascadeforest
    from cascadeforest.experiments.measure import measure

    X, y, X_test, y_test = load_arrays(folder)
    few = build(MODELS[model], 3, 2).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    few.predict(X_test[:WARM_UP_ROWS])
    estimator = build(MODELS[model], trees, layers)
    row, prediction = measure_model(measure, estimator, X, y, X_test)
    forests = [forest for layer in estimator.layers_ for models in layer.forests for forest in models]
    reached = " ".join(map(str, estimator.n_rows_)) if MODELS[model].screening else ""
    return row | {
        "accuracy": float(np.mean(prediction == y_test)),
        "layers": estimator.n_layers_,
        "n_trees": sum(layer.n_trees for layer in estimator.layers_),
        "n_nodes": sum(len(forest.trees.nodes) for forest in forests),
        "validation": " ".join(f"{accuracy:.4f}" for accuracy in estimator.scoring.accuracies),
        "version": cascadeforest.__version__,
        "note": f"rows at the levels: {reached}" if reached else "",
    }


def run_cell(model: str, trees: int, layers: int, folder: Path, df21_python: str | None) -> Row:
    """Measure in a new process with one thread."""
    here = Path(__file__).resolve()
    environment = os.environ | dict.fromkeys((*THREAD_VARIABLES, "LOKY_MAX_CPU_COUNT"), "1")
    cell = {"model": model, "trees": trees, "layers": layers, "folder": str(folder)}
    if model != DF21:
        return run_measurement([sys.executable, str(here), "--cell", json.dumps(cell)], environment)
    from cascadeforest.experiments import measure

    cell["measure"] = measure.__file__
    script = str(here.with_name("df21_cell.py"))
    return run_measurement([df21_python, script, json.dumps(cell)], without_python_paths(environment))


def without_python_paths(environment: dict[str, str]) -> dict[str, str]:
    """For another Python: what is meant for this one would break it."""
    return {name: value for name, value in environment.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def check_df21(python: str) -> None:
    """Say at once, not after the first case, that DF21 cannot be imported."""
    try:
        done = subprocess.run(
            [python, "-c", "import deepforest"],
            env=without_python_paths(dict(os.environ)),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise SystemExit(f"--df21-python {python}: cannot be run ({error}).") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise SystemExit(
            f"--df21-python {python}: DF21 cannot be imported ({reason}); see README.md how to install it."
        )


def measure_case(case: Case, models: Sequence[str], options: argparse.Namespace) -> dict[str, Row]:
    """The models in turn, repeat by repeat, so that a busy minute of the machine meets all of them."""
    found: dict[str, list[Row]] = {model: [] for model in models}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        facts = save_arrays(case, options.data, folder, options.max_rows)
        for _ in range(options.repeats):
            for model in models:
                row = run_cell(model, options.trees, options.layers, folder, options.df21_python)
                found[model].append(row)
                report_progress(case, model, row)
    return {model: best(rows) | facts | {"repeats": options.repeats} for model, rows in found.items()}


def report_progress(case: Case, model: str, row: Row) -> None:
    """One line on the standard error stream."""
    if "fit_cpu_seconds" not in row:
        print(row.get("error", ""), file=sys.stderr)
        text = row["note"]
    else:
        fit, predict, size, peak = (number(row[column], digits) for column, _, digits in COSTS[:4])
        accuracy, _, trees, _ = (number(row[column], digits) for column, _, digits in CHECKS)
        text = f"fit {fit} s  predict {predict} s  {size} MiB  peak {peak} MiB  accuracy {accuracy}  trees {trees}"
    print(f"{time.strftime('%H:%M:%S')}  {case.name:16} {model:13}{text}", file=sys.stderr, flush=True)


# Tables.


def case_table(case: Case, rows: dict[str, Row], models: Sequence[str], missing: str, markdown: bool) -> str:
    """All measurements of one case, a line for each model; `missing` says why there are none."""
    gap = "\n\n" if markdown else "\n"
    if missing:
        return f"{case.title}{gap}{case.name}: {missing}."
    body, notes = [], []
    for model in models:
        row = rows.get(model, {})
        body.append([model, *(number(row.get(column), digits) for column, _, digits in [*COSTS, *CHECKS])])
        note = row.get("note") or (DF21_MISSING if model == DF21 and not row else "")
        validation = f"validation accuracy by layer: {row['validation']}" if row.get("validation") else ""
        text = "; ".join(filter(None, [validation, note]))
        if text:
            notes.append(f"{model}: {text}")
    header = [case.name, *(heading for _, heading, _ in [*COSTS, *CHECKS])]
    between = "  \n" if markdown else "\n"
    return f"{case.title}{gap}{layout(header, body, markdown)}{gap}{between.join(notes)}"


def ratio_table(groups: Sequence[tuple[Case, dict[str, Row]]], markdown: bool) -> str:
    """Costs of one model over those of another."""
    body = []
    for case, rows in groups:
        for above, below in RATIOS:
            pair = [rows.get(name, {}) for name in (above, below)]
            if all(row.get("fit_cpu_seconds") for row in pair):
                body.append([case.name, f"{above} / {below}", *(quotient(*pair, column) for column, _, _ in COSTS)])
    return (
        layout(["case", "ratio", *(heading.split(",")[0] for _, heading, _ in COSTS)], body, markdown) if body else ""
    )


def quotient(above: Row, below: Row, column: str) -> str:
    """Cost over cost; a dash where the lower one is too small to be seen."""
    return number(float(above[column]) / float(below[column]), 2) if float(below[column]) > 0 else "–"


# Command line.


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the command line."""
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--list", action="store_true", help="list cases and models and stop")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of prepared data sets (.npz)")
    parser.add_argument("--df21-python", metavar="PATH", help="a Python that has DF21 (deep-forest)")
    parser.add_argument("--trees", type=int, default=100, metavar="N", help="trees in each of DF21's four forests")
    parser.add_argument("--layers", type=int, default=3, metavar="N", help="layers, all of which are kept")
    parser.add_argument("--repeats", type=int, default=2, help="new processes for each measurement; the best counts")
    parser.add_argument("--max-rows", type=int, metavar="N", help="bound training and test rows (for a trial)")
    parser.add_argument("--csv", type=Path, metavar="PATH", help="also write every measurement here, as they come")
    parser.add_argument("--resume", action="store_true", help="keep what the CSV has, measure what it lacks")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.resume and not options.csv:
        parser.error("--resume needs --csv PATH.")
    if options.csv and options.csv.exists() and not options.resume:
        parser.error(f"--csv {options.csv} exists; add --resume to go on with it, or name another file.")
    if min(options.trees, options.layers, options.repeats) < 1:
        parser.error("--trees, --layers and --repeats are at least 1.")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, print the tables; 1 if a measurement failed."""
    options = parse(arguments)
    if options.cell:
        cell = json.loads(options.cell)
        print(json.dumps(measure_cell(cell["model"], cell["trees"], cell["layers"], Path(cell["folder"]))))
        return 0
    if options.list:
        print(layout(["case", "what"], [[case.name, case.title] for case in CASES], options.markdown), end="\n\n")
        body = [[m.name, f"{m.n_trees(options.trees, options.layers):,}", m.title] for m in MODELS.values()]
        print(layout(["model", "trees", "what"], body, options.markdown))
        return 0
    if options.df21_python and DF21 in options.models:
        check_df21(options.df21_python)
    measurable = [model for model in options.models if model != DF21 or options.df21_python]
    rows = read_rows(options.csv, KEY) if options.resume and options.csv.exists() else {}
    rows = {key: row for key, row in rows.items() if not row["note"].startswith("failed")}
    groups = []
    for case in (case for case in CASES if case.name in options.cases):
        settings = (str(options.trees), str(options.layers), str(options.max_rows or ""))
        wanted = {model: (case.name, model, *settings) for model in options.models}
        lacking = [model for model in measurable if wanted[model] not in rows]
        missing = case.missing(options.data) if lacking else ""
        if lacking and not missing:
            measured = measure_case(case, lacking, options)
            rows |= {wanted[model]: row for model, row in measured.items()}
            if options.csv:
                write_rows(options.csv, rows, KEY, COLUMNS)
        groups.append((case, {model: rows[key] for model, key in wanted.items() if key in rows}, missing))
    print(f"{machine()}. CPU seconds: user and system, one thread. {options.layers} layers.\n")
    for case, found, missing in groups:
        print(case_table(case, found, options.models, missing, options.markdown), end="\n\n")
    ratios = ratio_table([(case, found) for case, found, _ in groups], options.markdown)
    if ratios:
        print(f"Costs of one over those of the other\n\n{ratios}")
    return int(any(row.get("note", "").startswith("failed") for _, found, _ in groups for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
