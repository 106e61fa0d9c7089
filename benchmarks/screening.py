"""gcForest, gcForest_CS and two successors of it, paired on the same rows and seeds; the table of docs/cascades.md.

    python -m cascadeforest.data prepare --dataset letter --output data/processed/letter.npz  # each data set, once
    python benchmarks/screening.py --data data/processed

Each seed draws a stratified split of a data set and seeds all models. Differences are means over the seeds of the test
accuracy of a model minus that of another model on the same split, with the standard error of the mean.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import layout, machine
from sklearn.model_selection import train_test_split

DATASETS = ("adult", "crowdsourced", "letter", "pendigits", "phishing", "satimage", "yeast")
#: Test rows of a split at most.
N_TEST = 5000
#: Models whose accuracies are compared: the first minus the second.
PAIRS = (
    ("gcForest_CS", "gcForest"),
    ("bins", "gcForest"),
    ("weights", "gcForest"),
    ("bins", "gcForest_CS"),
    ("weights", "gcForest_CS"),
)


class Outcome(NamedTuple):
    """One model on one split."""

    accuracy: float  # %
    cpu_seconds: float  # of fit
    leave_first: float  # % of the training rows that the first level decides


def models(n_forests: int, n_estimators: int, seed: int) -> dict[str, Callable[[], Any]]:
    """What is compared, by name."""
    from cascadeforest import GCForestClassifier, GCForestCSClassifier

    own = {"n_forests": n_forests, "n_estimators": n_estimators, "n_jobs": 1, "random_state": seed}
    return {
        "gcForest": lambda: GCForestClassifier(**own),
        "gcForest_CS": lambda: GCForestCSClassifier(**own),
        "bins": lambda: GCForestCSClassifier(**own, screening="bins"),
        "weights": lambda: GCForestCSClassifier(**own, screening="weights"),
    }


def outcome(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Outcome:
    """Fit a model and score it on the test rows."""
    begin = time.process_time()
    model.fit(X, y)
    cpu_seconds = time.process_time() - begin
    level = getattr(model, "decision_level_", np.full(len(y), model.n_layers_ - 1))
    leave_first = 100 * float(np.mean(level == 0)) if model.n_layers_ > 1 else 0.0
    accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
    return Outcome(accuracy, cpu_seconds, leave_first)


def outcomes(file: Path, n_seeds: int, n_rows: int, n_forests: int, n_estimators: int) -> dict[str, list[Outcome]]:
    """Outcomes of all models on one data set, seed by seed."""
    from cascadeforest.data.dataset import load

    data = load(file)
    found: dict[str, list[Outcome]] = {}
    for seed in range(n_seeds):
        n_train = min(n_rows, round(0.7 * len(data.y)))
        n_test = min(N_TEST, len(data.y) - n_train)
        split = train_test_split(
            data.X, data.y, train_size=n_train, test_size=n_test, stratify=data.y, random_state=seed
        )
        X, X_test, y, y_test = split
        for name, model in models(n_forests, n_estimators, seed).items():
            found.setdefault(name, []).append(outcome(model(), X, y, X_test, y_test))
    return found


def differences(found: dict[str, list[Outcome]]) -> np.ndarray:
    """Differences of accuracy for each of `PAIRS` and each seed, shape (n_pairs, n_seeds)."""
    accuracy = {name: np.array([one.accuracy for one in rows]) for name, rows in found.items()}
    return np.array([accuracy[one] - accuracy[other] for one, other in PAIRS])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of prepared data sets (.npz)")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, help="prepared data sets")
    parser.add_argument("--seeds", type=int, default=10, help="splits of a data set, at least 2 (default 10)")
    parser.add_argument("--rows", type=int, default=1000, help="training rows at most (default 1000)")
    parser.add_argument("--forests", type=int, default=4, help="forests a level (default 4)")
    parser.add_argument("--trees", type=int, default=50, help="trees a forest (default 50)")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds is below 2, but standard errors need two splits")
    missing = [name for name in options.datasets if not (options.data / f"{name}.npz").exists()]
    if missing:
        made = "make them with `python -m cascadeforest.data prepare`"
        parser.error(f"{options.data} lacks prepared data sets: {', '.join(missing)}; {made}")
    accuracy, cost, means = [], [], []
    for name in options.datasets:
        found = outcomes(options.data / f"{name}.npz", options.seeds, options.rows, options.forests, options.trees)
        by_seed = differences(found)
        means.append(by_seed.mean(axis=1))
        errors = by_seed.std(axis=1, ddof=1) / np.sqrt(options.seeds)
        base = np.mean([one.accuracy for one in found["gcForest"]])
        spread = [f"{mean:+.2f} ± {error:.2f}" for mean, error in zip(means[-1], errors, strict=True)]
        accuracy.append([name, f"{base:.2f}", *spread])
        seconds = {kind: np.sum([one.cpu_seconds for one in rows]) for kind, rows in found.items()}
        cost.append(
            [
                name,
                f"{seconds['gcForest'] / options.seeds:.2f}",
                *(f"{seconds[kind] / seconds['gcForest']:.2f}" for kind in ("gcForest_CS", "bins", "weights")),
                *(f"{np.mean([one.leave_first for one in found[kind]]):.0f}" for kind in ("gcForest_CS", "bins")),
            ]
        )
        print(layout([""] * len(accuracy[-1]), [accuracy[-1]], markdown=False).strip(), file=sys.stderr, flush=True)
    accuracy.append(["mean", "", *(f"{mean:+.2f}" for mean in np.mean(means, axis=0))])
    size = f"{options.forests} forests of {options.trees} trees a level, at most {options.rows} training rows"
    print(f"{machine()}. {options.seeds} splits, {size}.\n")
    head = ["data set", "gcForest, %", *(f"{one} − {other}" for one, other in PAIRS)]
    print(layout(head, accuracy, markdown=True), end="\n\n")
    ratios = [f"{kind}, ratio" for kind in ("gcForest_CS", "bins", "weights")]
    leave = [f"leave first, {kind}, %" for kind in ("gcForest_CS", "bins")]
    print(layout(["data set", "fit of gcForest, CPU s", *ratios, *leave], cost, markdown=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
