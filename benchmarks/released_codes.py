"""Presets `official` of mdDF and hiDF beside what the authors' released codes gave for one seed; see README.md.

python benchmarks/released_codes.py mddf --data data/processed
python benchmarks/released_codes.py interactions --data data/processed --datasets satimage letter adult
python benchmarks/released_codes.py satimage --data data/processed
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import layout, machine

#: Test accuracy (%) of layers 1 to 9 on integer-coded Adult: learner/mdDF.py, theta 4, seed 0.
MDDF = [82.34, 85.81, 86.07, 86.52, 86.71, 86.55, 86.61, 86.54, 86.52]
#: Interactions of layers 1 and 2 with a stability of 0.5 and no bound on new features.
INTERACTIONS = {"satimage": [0, 1], "adult": [22, 0], "letter": [10, 7]}
#: Test accuracy (%) on satimage with the code's own settings: with interactions, and without.
SATIMAGE = [91.70, 91.75]


def split_of(dataset: str, folder: Path) -> tuple[np.ndarray, ...]:
    """X, y, X_test, y_test of a prepared data set that has a given split."""
    from cascadeforest.data.dataset import load

    path = folder / f"{dataset}.npz"
    if not path.is_file():
        raise SystemExit(
            f"{path} is missing; make it with `python -m cascadeforest.data fetch --dataset {dataset}` and `python -m "
            f"cascadeforest.data prepare --dataset {dataset} --output {path}`."
        )
    split = load(path).split(0)
    return split.X_train, split.y_train, split.X_test, split.y_test


def percent(found: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of predictions."""
    return 100 * float(np.mean(found == y))


def mddf_layers(arrays: Sequence[np.ndarray], seed: int, n_trees: int, n_layers: int) -> list[float]:
    """Test accuracy of each layer of mdDF."""
    from cascadeforest import MDDFClassifier

    X, y, X_test, y_test = arrays
    model = MDDFClassifier(preset="official", n_estimators=n_trees, max_layers=n_layers, random_state=seed).fit(X, y)
    return [percent(found, y_test) for found in model.staged_predict(X_test)]


def hidf(seed: int, n_trees: int, n_layers: int, **others: Any) -> Any:
    """The released code's hiDF, all of its layers grown."""
    from cascadeforest import HiDFClassifier

    sizes = {"n_forests": 5, "n_folds": 5, "n_estimators": n_trees, "max_layers": n_layers, "patience": n_layers}
    return HiDFClassifier(preset="official", random_state=seed, **sizes, **others)


def interactions(arrays: Sequence[np.ndarray], seed: int, n_trees: int) -> list[float]:
    """Interactions that layers 1 and 2 of hiDF find."""
    model = hidf(seed, n_trees, 2, stability_threshold=0.5, keep="last")
    return [float(n) for n in model.fit(*arrays[:2]).n_new_]


def with_and_without(arrays: Sequence[np.ndarray], seed: int, n_trees: int, n_layers: int) -> list[float]:
    """Test accuracy of hiDF with the settings that the released code has for satimage, and without a search."""
    X, y, X_test, y_test = arrays
    models = (
        hidf(seed, n_trees, n_layers, stability_threshold=0.2, max_new_features=5, **others)
        for others in ({}, {"n_bootstraps": 0})
    )
    return [percent(model.fit(X, y).predict(X_test), y_test) for model in models]


def row(words: Sequence[str], released: float, ours: Sequence[float], digits: int) -> list[str]:
    """A line: the released code's number, our mean, deviation and range."""
    spread = statistics.stdev(ours) if len(ours) > 1 else float("nan")
    away = (released - statistics.mean(ours)) / spread if spread > 0 else float("nan")
    return [
        *words,
        f"{released:.{digits}f}",
        f"{statistics.mean(ours):.2f} ± {spread:.2f}",
        f"{min(ours):.{digits}f} to {max(ours):.{digits}f}",
        "" if np.isnan(away) else f"{away:+.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["mddf", "interactions", "satimage"])
    parser.add_argument("--data", type=Path, required=True, help="folder of prepared data sets (.npz)")
    parser.add_argument("--datasets", nargs="+", choices=list(INTERACTIONS), default=list(INTERACTIONS))
    parser.add_argument("--seeds", type=int, default=5, help="models (default 5)")
    parser.add_argument("--trees", type=int, default=100, help="trees a forest (default 100, as released)")
    parser.add_argument("--layers", type=int, default=9, help="layers of mddf and satimage (default 9, as released)")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds must be 2 or more: the spread over seeds is what the numbers are compared by.")

    def say(words: str, seed: int, numbers: Sequence[float]) -> Sequence[float]:
        print(f"{words}, seed {seed}: {', '.join(f'{n:.2f}' for n in numbers)}", file=sys.stderr)
        return numbers

    seeds, body = range(options.seeds), []
    if options.what == "mddf":
        arrays = split_of("adult_integer", options.data)
        runs = [say("mddf", s, mddf_layers(arrays, s, options.trees, options.layers)) for s in seeds]
        for layer, ours in enumerate(zip(*runs, strict=True)):
            body.append(row(["adult_integer", f"accuracy of layer {layer + 1}, %"], MDDF[layer], ours, 2))
    elif options.what == "interactions":
        for dataset in options.datasets:
            arrays = split_of(dataset, options.data)
            runs = [say(dataset, s, interactions(arrays, s, options.trees)) for s in seeds]
            for layer, ours in enumerate(zip(*runs, strict=True)):
                body.append(row([dataset, f"interactions of layer {layer + 1}"], INTERACTIONS[dataset][layer], ours, 0))
    else:
        arrays = split_of("satimage", options.data)
        runs = [say("satimage", s, with_and_without(arrays, s, options.trees, options.layers)) for s in seeds]
        for words, released, ours in zip(("with", "without"), SATIMAGE, zip(*runs, strict=True), strict=True):
            body.append(row(["satimage", f"accuracy {words} interactions, %"], released, ours, 2))
    print(f"{machine()}. {options.seeds} seeds, {options.trees} trees a forest.\n")
    head = ["data set", "what", "released code, one seed", "ours", "range", "away, in our deviations"]
    print(layout(head, body, markdown=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
