"""Our forests beside those of other libraries: CPU seconds, pickled size, peak memory; see README.md."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import logging
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import peers
from forest_cases import CASES, CRF, ET, RF, Case, save_data
from measuring import (
    COSTS,
    THREAD_VARIABLES,
    WARM_UP_ROWS,
    Row,
    best,
    cores,
    layout,
    machine,
    measure_model,
    number,
    read_rows,
    run_measurement,
    write_rows,
)

ONLY_RANDOM = ("ydf", "lightgbm")  # they have no extra or completely random trees
LIBRARIES = {"ours": "cascadeforest", "sklearn": "sklearn", "intelex": "sklearnex"} | {x: x for x in ONLY_RANDOM}
DISTRIBUTIONS = {"sklearn": "scikit-learn", "intelex": "scikit-learn-intelex"}

#: A longer fit is not repeated.
ONCE_SECONDS = 60

#: What is measured beside the costs: column, heading, digits. Checks have no ratio: they show that the work is equal.
WALL = [("fit_wall_seconds", "fit, elapsed s", 2), ("predict_wall_seconds", "predict, elapsed s", 3)]
CHECKS = [("score", "accuracy or R²", 4), ("n_nodes", "nodes", 0)]
KEY = ("case", "data", "n_estimators", "max_features", "n_jobs", "library")
FACTS = ("kind", "rows", "features", "classes")
COLUMNS = [
    *KEY,
    *FACTS,
    "repeats",
    *(column for column, _, _ in [*COSTS, *WALL, *CHECKS]),
    "peak_method",
    "version",
    "note",
]

RANDOM, CUTS = "random forests from 15,000 rows on", "extra and completely random trees"
ALL, FEW, WIDE = "regression, all features a node", "all but 800 features", "800 features"
#: The cases of an aim.
MEANT: dict[str, Callable[[Case], bool]] = {
    RANDOM: lambda case: case.kind == RF and case.rows >= 15_000,
    CUTS: lambda case: case.kind in (ET, CRF),
    ALL: lambda case: case.kind == RF and not case.classes and case.max_features is None,
    FEW: lambda case: case.features != 800,
    WIDE: lambda case: case.features == 800,
}
#: What is meant to hold: cases, whose cost over ours, which cost, the least ratio, in which share of the cases.
AIMS = [
    (RANDOM, "sklearn", "fit_cpu_seconds", 6.0, 1.0),
    (RANDOM, "sklearn", "fit_cpu_seconds", 8.0, 0.5),
    (RANDOM, "intelex", "fit_cpu_seconds", 2.5, 1.0),
    (CUTS, "sklearn", "fit_cpu_seconds", 3.5, 1.0),
    (CUTS, "sklearn", "fit_cpu_seconds", 4.5, 0.5),
    (CUTS, "intelex", "fit_cpu_seconds", 2.5, 1.0),
    (ALL, "sklearn", "fit_cpu_seconds", 10.0, 1.0),
    (FEW, "sklearn", "fit_peak_mib", 2.0, 1.0),
    (WIDE, "sklearn", "fit_peak_mib", 1.0, 1.0),
]


# One measurement, in a process of its own.


def build(case: Case, library: str, n_jobs: int, n_estimators: int) -> Any:
    """The unfitted estimator; what is not named stays at the library's default."""
    kind, extra = case.kind, {}
    what = "Classifier" if case.classes else "Regressor"
    if library == "ydf":
        return peers.YDFForest(case.classes, n_estimators, case.max_features, threads(n_jobs))
    if library == "lightgbm":
        share = peers.candidates(case.features, case.max_features, case.classes) / case.features
        return peers.lightgbm_forest(what, n_estimators, share, case.rows, threads(n_jobs))
    if case.max_features is not None:
        extra["max_features"] = case.max_features
    if library == "ours":
        import cascadeforest as module
    else:
        module = importlib.import_module(f"{LIBRARIES[library]}.ensemble")
        if kind == CRF:  # they have no such class: one random cut of one random feature is this
            kind, extra = ET, {"max_features": 1}
    return getattr(module, kind + what)(n_estimators=n_estimators, n_jobs=n_jobs, random_state=0, **extra)


class FallbackRecord(logging.Handler):
    """Which calls scikit-learn-intelex left to scikit-learn; it says so in its log only."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        log = logging.getLogger("sklearnex")
        log.setLevel(logging.INFO)
        log.handlers = [self]

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the method's name of a message such as 'sklearn.ensemble.X.fit: fallback to original Scikit-learn'."""
        message = record.getMessage()
        if "fallback" in message:
            self.calls.append(message.split(":")[0].rsplit(".", 1)[-1])


def count_nodes(model: Any) -> int:
    """Nodes of all trees, leaves included."""
    if hasattr(model, "trees_"):
        return len(model.trees_.nodes)
    if hasattr(model, "n_nodes"):
        return model.n_nodes()
    if hasattr(model, "booster_"):
        return peers.lightgbm_nodes(model)
    return sum(tree.tree_.node_count for tree in model.estimators_)


def measure_cell(case: Case, library: str, n_jobs: int, data: Path) -> Row:
    """Fit, predict, pickle; called in a fresh process."""
    import numpy as np

    from cascadeforest.experiments.measure import measure

    with np.load(data) as arrays:
        X, y, X_test, y_test = (arrays[name] for name in ("X", "y", "X_test", "y_test"))
    few = build(case, library, n_jobs, 2).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    few.predict(X_test[:WARM_UP_ROWS])
    fallbacks = FallbackRecord()
    model = build(case, library, n_jobs, case.n_estimators)
    row, prediction = measure_model(measure, model, X, y, X_test)
    wrong = float(np.mean((prediction != y_test) if case.classes else (prediction - y_test) ** 2))
    row |= {
        "score": 1 - wrong / (1 if case.classes else float(np.var(y_test))),
        "version": version_of(library),
        "note": "".join(f"{method} by scikit-learn; " for method in sorted(set(fallbacks.calls))).rstrip("; "),
    }
    row["n_nodes"] = count_nodes(model)  # last: scikit-learn-intelex makes scikit-learn's trees for it
    return row


def version_of(library: str) -> str:
    """Version of a library, without importing it where that can be avoided."""
    if library == "ours":
        import cascadeforest

        return cascadeforest.__version__
    return importlib.metadata.version(DISTRIBUTIONS.get(library, library))


def threads(n_jobs: int) -> int:
    """How many threads `n_jobs` means."""
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


def run_cell(case: Case, library: str, n_jobs: int, data: Path, limit: float | None = None) -> Row:
    """Measure in a new process; a failure becomes a note, so that the others go on."""
    cell = json.dumps({"case": asdict(case), "library": library, "n_jobs": n_jobs, "data": str(data)})
    command = [sys.executable, str(Path(__file__).resolve()), "--cell", cell]
    # Not always 1: scikit-learn-intelex takes a limit on OpenMP for a limit of its own.
    return run_measurement(command, os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads(n_jobs))), limit)


# Tables.


def ratio(rows: dict[str, Row], library: str, column: str) -> str:
    """Cost of a library over ours; above 1 is in our favour."""
    ours, other = (rows.get(name, {}).get(column) for name in ("ours", library))
    return number(float(other) / float(ours), 2) if ours and other and float(ours) > 0 else "–"


def case_table(case: Case, n_jobs: int, rows: dict[str, Row], libraries: Sequence[str], markdown: bool) -> str:
    """All measurements of one case: a column for each library, then the ratios."""
    others = [library for library in libraries if library != "ours"]
    missing = {library: "not installed" for library in libraries if not installed(library)}
    for library, row in rows.items():
        if row["note"].startswith(("failed", "stopped")):
            missing[library] = row["note"].partition(":")[0]
    body = []
    for column, heading, digits in [*COSTS, *(WALL if n_jobs != 1 else []), *CHECKS]:
        values = [missing.get(library) or number(rows.get(library, {}).get(column), digits) for library in libraries]
        costs = column not in {name for name, _, _ in CHECKS}
        body.append([heading, *values, *(ratio(rows, library, column) if costs else "" for library in others)])
    title = f"{case.name}, n_jobs={n_jobs}"
    table = layout([title, *libraries, *(f"{library} / ours" for library in others)], body, markdown)
    notes = "".join(
        f"\n{library}: {rows[library]['note']}" for library in libraries if rows.get(library, {}).get("note")
    )
    gap = "\n\n" if markdown else "\n"
    return f"{case.title}{gap}{table}{gap if notes else ''}{notes.strip()}"


def summary_table(groups: list[tuple[Case, int, dict[str, Row]]], libraries: Sequence[str], markdown: bool) -> str:
    """Ratios only, a line for each case: all of them for fit, the libraries that have every case for the rest."""
    others = [library for library in libraries if library != "ours"]
    short = {"fit_cpu_seconds": "fit", "predict_cpu_seconds": "predict", "model_mib": "size", "fit_peak_mib": "peak"}
    shown = [(c, o) for c in short for o in others if c == "fit_cpu_seconds" or o not in ONLY_RANDOM]
    header = ["case", "n_jobs", *(f"{short[column]} {library}" for column, library in shown), "falls back"]
    body = [
        [
            case.name,
            str(n_jobs),
            *(ratio(rows, library, column) for column, library in shown),
            ", ".join(library for library in others if "by scikit-learn" in rows.get(library, {}).get("note", "")),
        ]
        for case, n_jobs, rows in groups
    ]
    return layout(header, body, markdown)


def aims_table(groups: list[tuple[Case, int, dict[str, Row]]], markdown: bool) -> str:
    """In how many of its cases each aim is reached, with one thread; no line where nothing of it was measured."""
    body, costs = [], {column: heading for column, heading, _ in COSTS}
    for words, library, column, least, share in AIMS:
        found = [ratio(rows, library, column) for case, n_jobs, rows in groups if n_jobs == 1 and MEANT[words](case)]
        values = [float(text.replace(",", "")) for text in found if text != "–"]
        if values:
            reached = sum(value >= least for value in values)
            wanted = "every case" if share == 1 else f"{share:.0%} of the cases"
            aim = f"{words}: {costs[column].split(',')[0]}, {library} / ours at least {least:g} in {wanted}"
            verdict = "yes" if reached >= share * len(values) else "no"
            body.append([aim, f"{reached} of {len(values)}", number(min(values), 2), verdict])
    return layout(["aim", "reached in", "least", "holds"], body, markdown) if body else ""


# Command line.


def installed(library: str) -> bool:
    """Whether a library can be imported."""
    return importlib.util.find_spec(LIBRARIES[library]) is not None


def key_of(case: Case, library: str, n_jobs: int) -> tuple[str, ...]:
    """What identifies a row of the CSV: a changed case is measured again."""
    share = "" if case.max_features is None else f"{case.max_features:.4f}"
    return (case.name, case.data, str(case.n_estimators), share, str(n_jobs), library)


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """The cases of the grid that were asked for, with their rows bounded."""
    names = {case.name: case for case in CASES}
    unknown = sorted(set(options.cases or []) - set(names))
    if unknown:
        raise SystemExit(f"--cases has {', '.join(unknown)}; choose from {', '.join(names)}.")
    cases = [names[name] for name in options.cases] if options.cases else CASES
    if options.quick:
        cases = [case for case in cases if case.quick]
    if options.max_rows:
        cases = [replace(case, rows=min(case.rows, options.max_rows)) for case in cases]
    return cases


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", metavar="NAME", help="names of cases (default: all)")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--n-jobs", nargs="+", type=int, default=[1], metavar="N", help="-1 is all cores (default: 1)")
    parser.add_argument("--repeats", type=int, default=3, help="new processes for each measurement; the best counts")
    parser.add_argument(
        "--limit", type=float, default=150, metavar="S", help="stop a measurement after S seconds (150)"
    )
    parser.add_argument("--quick", action="store_true", help="only the cases that take a few seconds")
    parser.add_argument("--max-rows", type=int, metavar="N", help="bound the training rows (for a trial of the script)")
    parser.add_argument("--csv", type=Path, metavar="PATH", help="also write every measurement here, as they come")
    parser.add_argument("--resume", action="store_true", help="keep what the CSV has, measure what it lacks")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.resume and not options.csv:
        parser.error("--resume needs --csv PATH.")
    if options.csv and options.csv.exists() and not options.resume:
        parser.error(f"--csv {options.csv} exists; add --resume to go on with it, or name another file.")
    if options.repeats < 1 or 0 in options.n_jobs:
        parser.error("--repeats is at least 1, and --n-jobs not 0.")
    return options


def measure_group(
    case: Case, n_jobs: int, libraries: Sequence[str], repeats: int, limit: float | None = None
) -> dict[str, Row]:
    """The libraries in turn, repeat by repeat, so that a busy minute of the machine meets all of them."""
    found: dict[str, list[Row]] = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        save_data(case, data)
        for _ in range(repeats):
            for library in libraries:
                if any(row.get("fit_cpu_seconds", math.inf) > ONCE_SECONDS for row in found[library]):
                    continue  # it failed, or took so long that a repeat tells less than it costs
                row = run_cell(case, library, n_jobs, data, limit)
                found[library].append(row)
                report_progress(case, library, n_jobs, row)
    facts = {name: getattr(case, name) for name in FACTS}
    return {library: best(rows) | facts | {"repeats": len(rows)} for library, rows in found.items()}


def report_progress(case: Case, library: str, n_jobs: int, row: Row) -> None:
    """One line on the standard error stream."""
    if "fit_cpu_seconds" not in row:
        print(row.get("error", ""), file=sys.stderr)
        text = row["note"]
    else:
        fit, predict, size, peak = (number(row[column], digits) for column, _, digits in COSTS[:4])
        score, nodes = (number(row[column], digits) for column, _, digits in CHECKS)
        text = f"fit {fit} s  predict {predict} s  {size} MiB  peak {peak} MiB  score {score}  nodes {nodes}"
    line = f"{time.strftime('%H:%M:%S')}  {case.name:16} n_jobs={n_jobs:<3} {library:9}{text}"
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, print the tables; 1 if a measurement failed."""
    options = parse(arguments)
    if options.cell:
        cell = json.loads(options.cell)
        print(json.dumps(measure_cell(Case(**cell["case"]), cell["library"], cell["n_jobs"], Path(cell["data"]))))
        return 0
    if not installed("ours"):
        raise SystemExit("cascadeforest is not installed in this environment; run `pip install -e .` at the root.")
    cases = chosen_cases(options)
    if options.list:
        print(layout(["case", "what"], [[case.name, case.title] for case in cases], options.markdown))
        return 0
    rows = read_rows(options.csv, KEY) if options.resume and options.csv.exists() else {}
    rows = {key: row for key, row in rows.items() if not row["note"].startswith("failed")}
    groups = []
    for case in cases:
        for n_jobs in options.n_jobs:
            wanted = {library: key_of(case, library, n_jobs) for library in options.libraries}
            wanted = {library: key for library, key in wanted.items() if case.kind == RF or library not in ONLY_RANDOM}
            missing = [library for library, key in wanted.items() if key not in rows and installed(library)]
            if missing:
                measured = measure_group(case, n_jobs, missing, options.repeats, options.limit)
                rows |= {wanted[library]: row for library, row in measured.items()}
                if options.csv:
                    write_rows(options.csv, rows, KEY, COLUMNS)
            groups.append((case, n_jobs, {library: rows[key] for library, key in wanted.items() if key in rows}))
    print(f"{machine()}. CPU seconds: user and system, all threads. Ratios above 1 are in our favour.\n")
    for case, n_jobs, found in groups:
        print(case_table(case, n_jobs, found, options.libraries, options.markdown), end="\n\n")
    if len(groups) > 1 and len(options.libraries) > 1 and "ours" in options.libraries:
        print("Cost of the others over ours\n")
        print(summary_table(groups, options.libraries, options.markdown))
        print(f"\nAims\n\n{aims_table(groups, options.markdown)}")
    unequal = [library for library in options.libraries if library in peers.WORK]
    if unequal:
        print("\nWork that is not equal\n\n" + "\n".join(f"- {library}: {peers.WORK[library]}" for library in unequal))
    return int(any(row.get("note", "").startswith("failed") for _, _, found in groups for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
