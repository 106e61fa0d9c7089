"""How the cost of each model grows with rows and with trees; see docs/cost.md.

    python benchmarks/cost_growth.py
    python benchmarks/cost_growth.py --rows 1000 4000 --trees 10 40 --models random_forest gcforest

Each fit runs in a new process, with one thread. A cascade grows two layers, however good they are: else a number of
layers that changes with the rows would hide how the cost of a layer grows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from forest_cases import RF, Case, make_higgs_like
from measuring import THREAD_VARIABLES, WARM_UP_ROWS, Row, best, layout, machine, number, run_measurement

FEATURES = 28
LAYERS = 2
_GROWN = {"max_layers": LAYERS, "patience": LAYERS}
#: Class in `cascadeforest`, and its parameters beside trees and seed.
MODELS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "random_forest": ("RandomForestClassifier", {}),
    "gcforest": ("GCForestClassifier", _GROWN),
    "gcforest_cs": ("GCForestCSClassifier", _GROWN),
    "hidf": ("HiDFClassifier", _GROWN),
    "mddf": ("MDDFClassifier", _GROWN),
    "ddbf": ("DDBFClassifier", _GROWN),
    "cascade_regressor": ("CascadeForestRegressor", _GROWN),
}


def measure_cell(model: str, rows: int, trees: int) -> Row:
    """Fit in this process, after a warm-up."""
    import cascadeforest
    from cascadeforest.experiments.measure import measure

    name, params = MODELS[model]
    X, y = make_higgs_like(rows, Case(RF, "higgs-like", rows, FEATURES, 2, trees), np.random.default_rng(0))
    cls = getattr(cascadeforest, name)
    cls(n_estimators=2, random_state=0, n_jobs=1, **params).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    fitted = cls(n_estimators=trees, random_state=0, n_jobs=1, **params)
    _, fit = measure(lambda: fitted.fit(X, y))
    return {"fit_cpu_seconds": fit.cpu_seconds, "fit_peak_mib": fit.peak_mib}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print two tables: cost by rows, and by trees."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", nargs="+", type=int, default=[2_000, 8_000, 32_000], metavar="N")
    parser.add_argument("--trees", nargs="+", type=int, default=[10, 40, 160], metavar="N")
    parser.add_argument("--repeats", type=int, default=2, help="new processes for each measurement; the best counts")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cell:
        print(json.dumps(measure_cell(**json.loads(options.cell))))
        return
    print(f"{machine()}. {FEATURES} features, {LAYERS} layers, best of {options.repeats}.")
    middle_rows, middle_trees = options.rows[len(options.rows) // 2], options.trees[len(options.trees) // 2]
    by_rows = [(rows, middle_trees) for rows in options.rows]
    by_trees = [(middle_rows, trees) for trees in options.trees]
    measured: dict[tuple[str, int, int], Row] = {}
    for title, sizes, place in (
        (f"rows ({middle_trees} trees a forest)", by_rows, 0),
        (f"trees a forest ({middle_rows:,} rows)", by_trees, 1),
    ):
        body = []
        for model in options.models:
            for size in sizes:
                if (model, *size) not in measured:
                    measured[model, *size] = _measured(model, *size, options.repeats)
            found = [measured[model, *size] for size in sizes]
            ratio = log(sizes[-1][place] / sizes[0][place])
            exponents = [
                _exponent(found[0][name], found[-1][name], ratio) for name in ("fit_cpu_seconds", "fit_peak_mib")
            ]
            costs = [f"{number(row['fit_cpu_seconds'], 2)} s, {number(row['fit_peak_mib'], 0)} MiB" for row in found]
            body.append([model, *costs, *(number(exponent, 2) for exponent in exponents)])
        header = [title, *(f"{size[place]:,}" for size in sizes), "exponent of CPU time", "of memory"]
        print(f"\n{layout(header, body, markdown=True)}")


def _exponent(first: float, last: float, ratio: float) -> float | None:
    """Of a power law through the first and the last; None for one size, and where nothing was measured."""
    return log(last / first) / ratio if ratio and min(first, last) > 0 else None


def _measured(model: str, rows: int, trees: int, repeats: int) -> Row:
    cell = json.dumps({"model": model, "rows": rows, "trees": trees})
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    row = best([run_measurement([sys.executable, __file__, "--cell", cell], environment) for _ in range(repeats)])
    if "note" in row:
        raise SystemExit(f"{model}, {rows:,} rows, {trees} trees: {row['note']}\n{row['error']}")
    return row


if __name__ == "__main__":
    main()
