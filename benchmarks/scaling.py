"""Memory of a cascade with layers in memory and on disk, and time of joblib's backends; see README.md.

python benchmarks/scaling.py --rows 100000 200000 --ways memory disk
python benchmarks/scaling.py --rows 2000 20000 100000 --ways threads loky dask --trees 20
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from forest_cases import RF, TEST_ROWS, Case, make_higgs_like
from measuring import MIB, THREAD_VARIABLES, Row, best, layout, machine, number, run_measurement

FEATURES, FORESTS, FOLDS = 28, 4, 3
#: Ways of fitting: layers in memory and on disk, in one thread; two threads, and two processes of two backends.
WAYS = ("memory", "disk", "threads", "loky", "dask")
COLUMNS = [
    ("fit_cpu_seconds", "fit, CPU s", 1),
    ("main_cpu_seconds", "of them in the main process", 1),
    ("fit_wall_seconds", "fit, elapsed s", 1),
    ("fit_peak_mib", "peak of fit, MiB", 0),
    ("predict_peak_mib", "peak of predict, MiB", 0),
    ("save_peak_mib", "peak of save, MiB", 0),
    ("process_mib", "process before fit, MiB", 0),
    ("trees_mib", "trees, MiB", 0),
    ("layers", "layers", 0),
    ("score", "accuracy", 4),
]


@contextmanager
def backend(way: str) -> Iterator[None]:
    """Choose joblib's backend."""
    from joblib import parallel_config

    if way in ("threads", "loky"):
        with parallel_config({"threads": "threading"}.get(way, way), n_jobs=2):
            yield
    elif way == "dask":
        from dask.distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with cluster, Client(cluster), parallel_config("dask"):
            yield
    else:
        yield


def cpu_of_workers() -> float:
    """CPU seconds of the processes that this one started, so far."""
    return sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))


def measure_cell(way: str, rows: int, trees: int, layers: int, folder: str, save: bool) -> Row:
    """Fit, predict and save in this process; with other processes after a warm-up of them."""
    from cascadeforest import GCForestCSClassifier
    from cascadeforest import save as save_model
    from cascadeforest.experiments.measure import measure, resident_bytes

    case = Case(RF, "higgs-like", rows, FEATURES, 2, trees)
    X, y = make_higgs_like(rows + TEST_ROWS, case, np.random.default_rng(0))
    X, y, X_test, y_test = X[:rows], y[:rows], X[rows:], y[rows:]
    settings = {"n_folds": FOLDS, "max_layers": layers, "patience": layers, "keep": "last", "random_state": 0}
    settings["layers_dir"] = folder if way == "disk" else None
    with backend(way):
        GCForestCSClassifier(FORESTS, 2, **settings | {"max_layers": 2}).fit(X[:300], y[:300]).predict(X[:20])
        model = GCForestCSClassifier(FORESTS, trees, **settings)
        before, cpu = resident_bytes(), cpu_of_workers()
        _, fit = measure(lambda: model.fit(X, y))
        cpu = cpu_of_workers() - cpu
    predicted, predict = measure(lambda: model.predict(X_test))
    row = {
        "fit_cpu_seconds": fit.cpu_seconds + cpu,
        "main_cpu_seconds": fit.cpu_seconds,
        "fit_wall_seconds": fit.wall_seconds,
        "fit_peak_mib": fit.peak_mib,
        "predict_peak_mib": predict.peak_mib,
        "process_mib": before / MIB,
        "trees_mib": sum(layer.nbytes for layer in model.layers_) / MIB,
        "layers": model.n_layers_,
        "score": float(np.mean(predicted == y_test)),
    }
    if save:
        file = Path(folder) / "saved"
        _, kept = measure(lambda: save_model(model, file))
        with file.open("rb") as stream:
            row |= {"save_peak_mib": kept.peak_mib, "bytes": hashlib.file_digest(stream, "blake2b").hexdigest()}
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 200_000], metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["memory", "disk"])
    parser.add_argument("--trees", type=int, default=100, help="trees a forest (default 100)")
    parser.add_argument("--layers", type=int, default=2, help="layers that are grown and kept (default 2)")
    parser.add_argument("--repeats", type=int, default=1, help="new processes for each measurement; the best counts")
    parser.add_argument("--no-save", action="store_true", help="do not save models, nor compare their bytes")
    parser.add_argument("--folder", type=Path, help="folder for layers and saved models (default: the system's)")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cell:
        print(json.dumps(measure_cell(**json.loads(options.cell))))
        return
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    body = []
    for rows in options.rows:
        digests = set()
        found: dict[str, list[Row]] = {way: [] for way in options.ways}
        for way in options.ways * options.repeats:  # in turn, so that a busy minute of the machine meets all
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                cell = {"way": way, "rows": rows, "trees": options.trees, "layers": options.layers, "folder": folder}
                cell["save"] = not options.no_save
                row = run_measurement([sys.executable, __file__, "--cell", json.dumps(cell)], environment)
            if "note" in row:
                raise SystemExit(f"{way}, {rows:,} rows: {row['note']}\n{row['error']}")
            found[way].append(row)
            digests.add(row.get("bytes"))
        for way, row in ((way, best(measured)) for way, measured in found.items()):
            body.append([f"{rows:,}, {way}", *(number(row.get(name), digits) for name, _, digits in COLUMNS)])
            print(layout([""] * len(body[-1]), [body[-1]], markdown=False).strip(), file=sys.stderr, flush=True)
        if len(digests) > 1:
            raise SystemExit(f"{rows:,} rows: the saved models differ")
    shape = f"{FORESTS} forests, {options.trees} trees, {FOLDS} folds, {FEATURES} features"
    print(f"{machine()}. {shape}, best of {options.repeats}.\n")
    print(layout(["rows, way", *(heading for _, heading, _ in COLUMNS)], body, markdown=True))


if __name__ == "__main__":
    main()
