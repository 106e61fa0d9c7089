"""What the benchmark scripts share: a measurement in a process of its own, the best of repeats, tables, the CSV.

Python 3.9 and the standard library are enough for what is called in a measured process: `df21_cell.py` runs there.
"""

from __future__ import annotations

import csv
import json
import os
import pickle
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
WARM_UP_ROWS = 300
PREDICT_CALLS = 3
MIB = 2**20

#: What is measured: column, heading, digits.
COSTS = [
    ("fit_cpu_seconds", "fit, CPU s", 2),
    ("predict_cpu_seconds", "predict, CPU s", 3),
    ("model_mib", "pickled size, MiB", 2),
    ("fit_peak_mib", "peak memory of fit, MiB", 1),
    ("predict_peak_mib", "peak memory of predict, MiB", 1),
]
Row = dict[str, Any]


# One measurement.


def measure_model(measure: Callable[..., Any], model: Any, X: Any, y: Any, X_test: Any) -> tuple[Row, Any]:
    """Fit, predict, pickle; call it in a fresh process, after a warm-up.

    `measure` is that of `cascadeforest.experiments.measure`, handed over because DF21's environment lacks our package.
    """
    _, fit = measure(lambda: model.fit(X, y))
    calls = [measure(lambda: model.predict(X_test)) for _ in range(PREDICT_CALLS)]
    row = {
        "fit_cpu_seconds": fit.cpu_seconds,
        "predict_cpu_seconds": min(call.cpu_seconds for _, call in calls),
        "model_mib": len(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL)) / MIB,
        "fit_peak_mib": fit.peak_mib,
        "predict_peak_mib": max(call.peak_mib for _, call in calls),
        "fit_wall_seconds": fit.wall_seconds,
        "predict_wall_seconds": min(call.wall_seconds for _, call in calls),
        "peak_method": fit.method,
    }
    return row, calls[0][0]


def run_measurement(command: Sequence[str], environment: Mapping[str, str], limit: float | None = None) -> Row:
    """Run a command whose last line is a row as JSON; a failure, or too long a time, becomes a note: others go on."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"note": f"stopped: longer than {limit:g} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return {"note": f"failed: {reason}", "error": done.stderr}


def best(rows: Sequence[Row]) -> Row:
    """Smallest time and largest memory of the repeats; the models are the same, as the seed is."""
    failed = [row for row in rows if "fit_cpu_seconds" not in row]
    if failed:
        return failed[0]
    result = dict(rows[0])
    for column in result:
        if column.endswith("_seconds"):
            result[column] = min(row[column] for row in rows)
        elif column.endswith("_peak_mib"):
            result[column] = max(row[column] for row in rows)
    return result


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """What the table was measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu
        )
    return f"{cpu}, {cores()} cores, {platform.system()}, Python {platform.python_version()}"


# Tables.


def number(value: Any, digits: int) -> str:
    """A number for people; a dash where there is none."""
    return "–" if value in (None, "") else f"{float(value):,.{digits}f}"


def layout(header: Sequence[str], body: Iterable[Sequence[str]], markdown: bool) -> str:
    """A table with aligned columns, as text or as Markdown."""
    lines = [list(header), *map(list, body)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    cells = [
        [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
        for line in lines
    ]
    if not markdown:
        return "\n".join("  ".join(line).rstrip() for line in cells)
    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in [cells[0], rule, *cells[1:]])


# The CSV.


def read_rows(path: Path, key: Sequence[str]) -> dict[tuple[str, ...], Row]:
    """Rows of a CSV that a script wrote, by the columns that identify them."""
    with path.open(encoding="utf-8", newline="") as stream:
        return {tuple(row[column] for column in key): row for row in csv.DictReader(stream)}


def write_rows(path: Path, rows: Mapping[tuple[str, ...], Row], key: Sequence[str], columns: Sequence[str]) -> None:
    """Write all rows, then rename: a killed run leaves a whole file."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for values, row in rows.items():
            short = {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()}
            writer.writerow(short | dict(zip(key, values, strict=True)))
    temporary.replace(path)
