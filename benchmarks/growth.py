"""How the cost of a random forest grows with rows: data of HIGGS's shape, one thread and two; see README.md.

python benchmarks/growth.py --rows 100000 300000 1000000 2000000
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from forest_cases import RF, Case
from measuring import MIB, Row, layout, machine, number

from forest import measure_group

FEATURES, HIGGS_ROWS = 28, 11_000_000
HEADER = [
    "rows",
    "fit, CPU s",
    "CPU µs a row and tree",
    "beside the first",
    "peak memory of fit, MiB",
    "trees, MiB",
    "peak less trees, bytes a row and feature",
    "accuracy",
    "elapsed s, 1 thread",
    "elapsed s, 2 threads",
    "1 / 2",
]


def line(rows: int, trees: int, one: Row, two: Row, first: float) -> list[str]:
    """What a forest of so many rows costs; `first` is the time a row and tree of the fewest rows."""
    each = one["fit_cpu_seconds"] / rows / trees
    beside = (one["fit_peak_mib"] - one["model_mib"]) * MIB / rows / FEATURES
    elapsed = [row.get("fit_wall_seconds") for row in (one, two)]
    return [
        f"{rows:,}",
        number(one["fit_cpu_seconds"], 2),
        number(1e6 * each, 2),
        number(each / first, 2),
        number(one["fit_peak_mib"], 0),
        number(one["model_mib"], 0),
        number(beside, 2),
        number(one.get("score"), 4),
        *(number(seconds, 2) for seconds in elapsed),
        number(elapsed[0] / elapsed[1] if all(elapsed) else None, 2),
    ]


def extrapolated(row: Row, rows: int, target: int) -> Row:
    """Times by n log n, memory by n."""
    times = target * math.log(target) / (rows * math.log(rows))
    found = {name: value * times for name, value in row.items() if name.endswith("_seconds")}
    return found | {name: value * target / rows for name, value in row.items() if name.endswith("_mib")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 300_000, 1_000_000, 2_000_000], metavar="N")
    parser.add_argument("--trees", type=int, default=4, help="trees a forest (default 4)")
    parser.add_argument("--repeats", type=int, default=3, help="new processes for each measurement; the best counts")
    options = parser.parse_args(arguments)
    body, first = [], None
    for rows in sorted(options.rows):
        case = Case(RF, "higgs-like", rows, FEATURES, 2, options.trees)
        one, two = (measure_group(case, n_jobs, ["ours"], options.repeats)["ours"] for n_jobs in (1, 2))
        failed = [row["note"] for row in (one, two) if "fit_cpu_seconds" not in row]
        if failed:
            raise SystemExit(f"{rows:,} rows: {failed[0]}")
        first = first or one["fit_cpu_seconds"] / rows / options.trees
        body.append(line(rows, options.trees, one, two, first))
    one, two = (extrapolated(row, rows, HIGGS_ROWS) for row in (one, two))
    body.append(line(HIGGS_ROWS, options.trees, one, two, first))
    body[-1][0] += ", extrapolated"
    print(f"{machine()}. {options.trees} trees, {FEATURES} features, best of {options.repeats}.\n")
    print(layout(HEADER, body, markdown=True))


if __name__ == "__main__":
    main()
