"""Kinds of forests and of class vectors in a layer of gcForest, compared: accuracy, CPU seconds, memory; see README.md.

python benchmarks/layers.py --data data/processed --datasets letter satimage adult
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from measuring import MIB, THREAD_VARIABLES, layout, machine, run_measurement
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SECOND = {"CRF": "completely_random_forest", "ET": "extra_trees"}
#: What is compared: the second kind of forest, and where class vectors come from. The first is the paper's.
SETTINGS = [(second, vectors) for vectors in ("k_fold", "oob") for second in SECOND]


def arrays(dataset: str, folder: Path | None, seed: int) -> list[np.ndarray]:
    """X, X_test, y, y_test; the split of digits belongs to the seed, the others have a given one."""
    if dataset == "digits":
        return train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=seed)
    if folder is None:
        raise SystemExit(
            f"{dataset} needs --data FOLDER with {dataset}.npz, from `python -m cascadeforest.data prepare`."
        )
    from cascadeforest.data.dataset import load

    split = load(folder / f"{dataset}.npz").split(0)
    return [split.X_train, split.X_test, split.y_train, split.y_test]


def measure_cell(
    dataset: str, folder: Path | None, second: str, vectors: str, seed: int, trees: int
) -> dict[str, float]:
    """One fit, in this process."""
    import pickle

    from cascadeforest import GCForestClassifier
    from cascadeforest.experiments.measure import measure

    X, X_test, y, y_test = arrays(dataset, folder, seed)
    kinds = ["random_forest", SECOND[second]]
    GCForestClassifier(2, 2, estimators=kinds, max_layers=2).fit(X[:200], y[:200]).predict(X[:20])
    model = GCForestClassifier(2, trees, estimators=kinds, class_vectors=vectors, random_state=seed)
    _, fit = measure(lambda: model.fit(X, y))
    return {
        "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)),
        "layers": model.n_layers_,
        "grown": len(model.validation_scores_),
        "fit": fit.cpu_seconds,
        "peak": fit.peak_mib,
        "size": len(pickle.dumps(model)) / MIB,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", nargs="+", default=["digits"], help="digits, or prepared data sets")
    parser.add_argument("--data", type=Path, help="folder of prepared data sets (.npz)")
    parser.add_argument("--seeds", type=int, default=5, help="models a setting (default 5)")
    parser.add_argument("--trees", type=int, default=100, help="trees a forest (default 100)")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cell:
        dataset, second, vectors, seed = json.loads(options.cell)
        print(json.dumps(measure_cell(dataset, options.data, second, vectors, seed, options.trees)))
        return 0
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    body = []
    for dataset in options.datasets:
        for second, vectors in SETTINGS:
            rows = []
            for seed in range(options.seeds):
                cell = json.dumps([dataset, second, vectors, seed])
                command = [sys.executable, __file__, "--cell", cell, "--trees", str(options.trees)]
                row = run_measurement(command + (["--data", str(options.data)] if options.data else []), environment)
                if "note" in row:
                    raise SystemExit(f"{dataset}, {second}, {vectors}: {row['note']}\n{row['error']}")
                rows.append(row)
            column = {name: [row[name] for row in rows] for name in rows[0]}
            spread = statistics.stdev(column["accuracy"]) if len(rows) > 1 else 0.0
            body.append(
                [
                    dataset,
                    f"RF + {second}",
                    vectors,
                    f"{statistics.mean(column['accuracy']):.2f} ± {spread:.2f}",
                    f"{statistics.mean(column['layers']):.1f} of {statistics.mean(column['grown']):.1f}",
                    *(f"{statistics.mean(column[name]):.1f}" for name in ("fit", "peak", "size")),
                ]
            )
            print(layout([""] * len(body[-1]), [body[-1]], markdown=False).strip(), file=sys.stderr)
    print(f"{machine()}. {options.seeds} seeds, 2 forests a layer, {options.trees} trees each, patience 1.\n")
    head = [
        "data set",
        "forests",
        "vectors",
        "accuracy, %",
        "layers kept",
        "fit, CPU s",
        "peak of fit, MiB",
        "size, MiB",
    ]
    print(layout(head, body, markdown=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
