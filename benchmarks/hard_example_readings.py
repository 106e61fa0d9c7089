"""Which reading of DDBF's rules comes near the pass rates of its paper? The table of benchmarks/measurements.md.

    python benchmarks/hard_example_readings.py --skin Skin_NonSkin.txt --fraud creditcard.csv

The paper's Table 5 and Fig. 5 are about the credit card data (284,807 rows, 492 of them positive, 65 % for training):
98.08, 0.16 and 0.12 % of the training rows are easy in the first three iterations, and the ratio of negatives to
positives falls from 565.38 to 3.62. Here the same is counted for readings of the rules, on data of that shape:

made        make_classification: 284,807 rows, 30 features, 15 of them of use; 492 rows are positive.
skin        Skin Segmentation (UCI), 70 % for training, its positives thinned to 567 : 1. Needs --skin.
fraud-like  the frauds of the credit card data among 284,315 made negatives: mixtures of a negative with another one,
            and noise of a tenth of each feature's deviation; the time is uniform. Needs --fraud, the file or a part of
            it with all frauds (.csv, .csv.xz).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

N_ROWS, N_POSITIVE, TRAIN_SHARE = 284_807, 492, 0.65
SKIN_POSITIVE = 240
#: Leaf score, threshold, and the share of the trees that must agree; "score": a row's mean score over the trees must
#: exceed the mean threshold (of the mean leaf, or with "row_mean" of the mean example).
READINGS: tuple[tuple[str, str, float | str], ...] = (
    ("f1", "mean", 1.0),
    ("f1", "mean", 0.95),
    ("f1", "mean", 0.9),
    ("f1", "mean", 0.5),
    ("f1", "median", 1.0),
    ("f1", "mutual_information", 1.0),
    ("f1", "mutual_information", 0.5),
    ("gini", "mean", 1.0),
    ("gini", "mean", 0.95),
    ("entropy", "mean", 1.0),
    ("entropy", "mean", 0.95),
    ("f1", "mean", "score"),
    ("gini", "row_mean", "score"),
)


class Data(NamedTuple):
    """Training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Outcome(NamedTuple):
    """What one reading did."""

    passed: tuple[float, ...]  # share of the training rows, by iteration
    passed_test: float  # share of the test rows in the first iteration
    left: tuple[int, int]  # negatives and positives that no iteration found easy
    auc: float
    cpu_seconds: float


def split(X: np.ndarray, y: np.ndarray, share: float, seed: int) -> Data:
    """Shuffle and split."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(share * len(y))])
    return Data(X[train], y[train], X[test], y[test])


def made(seed: int, n_rows: int = N_ROWS) -> Data:
    """Synthetic rows of the shape of the credit card data."""
    from sklearn.datasets import make_classification

    positive = max(2, round(N_POSITIVE * n_rows / N_ROWS))
    X, y = make_classification(
        n_rows,
        30,
        n_informative=10,
        n_redundant=5,
        weights=[1 - positive / n_rows],
        flip_y=0.0,
        class_sep=2.0,
        random_state=1,
    )
    return split(X.astype(np.float32), y, TRAIN_SHARE, seed)


def skin(path: Path, seed: int) -> Data:
    """Skin Segmentation, the training rows of class 1 thinned."""
    table = np.loadtxt(path)
    data = split(table[:, :3].astype(np.float32), (table[:, 3] == 1).astype(np.int64), 0.7, seed)
    positive = np.flatnonzero(data.y == 1)
    kept = np.sort(np.concatenate([np.flatnonzero(data.y == 0), positive[:SKIN_POSITIVE]]))
    return data._replace(X=data.X[kept], y=data.y[kept])


def fraud_like(path: Path, seed: int) -> Data:
    """All frauds of the credit card data among made negatives."""
    import pandas as pd

    table = pd.read_csv(path).to_numpy()
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    negative, positive = X[y == 0], X[y == 1]
    rng = np.random.default_rng(1)
    n = N_ROWS - len(positive)
    one, other = rng.integers(len(negative), size=(2, n))
    share = 0.3 * rng.random((n, 1))
    noise = 0.1 * negative.std(axis=0) * rng.normal(size=(n, X.shape[1]))
    rows = negative[one] * (1 - share) + negative[other] * share + noise
    rows[:, 0] = rng.uniform(0, 172_792, n)  # the part of the file that is at hand is of the first hours
    everyone = np.vstack([rows, positive]).astype(np.float32)
    return split(everyone, np.r_[np.zeros(n, np.int64), np.ones(len(positive), np.int64)], TRAIN_SHARE, seed)


def outcome(data: Data, reading: tuple[str, str, float | str], n_estimators: int, n_iterations: int) -> Outcome:
    """Fit, count, predict.

    Parameters
    ----------
    data : Data
        Rows.
    reading : tuple
        An entry of `READINGS`.
    n_estimators, n_iterations : int
        Trees of a forest; iterations, of which none is dropped.

    Returns
    -------
    Outcome
    """
    from sklearn.metrics import roc_auc_score

    from cascadeforest import DDBFClassifier

    score, threshold, agree = reading
    vote: dict[str, Any] = {"vote": agree} if isinstance(agree, str) else {"vote_fraction": agree}
    model = DDBFClassifier(
        n_estimators,
        max_layers=n_iterations,
        leaf_score=score,
        threshold=threshold,
        **vote,
        validation="oob",
        patience=n_iterations,
        keep="last",
        random_state=0,
    )
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # mutual information that the mean took the place of
        model.fit(data.X, data.y)
    cpu_seconds = time.process_time() - started
    left = model.class_counts_[-1] - model.easy_counts_[-1]
    return Outcome(
        tuple(model.easy_counts_.sum(axis=1) / len(data.y)),
        float(model.easy(data.X_test).mean()),
        (int(left[0]), int(left[1])),
        float(roc_auc_score(data.y_test, model.predict_proba(data.X_test)[:, 1])),
        cpu_seconds,
    )


def _agree(share: float | str) -> str:
    return "mean score" if isinstance(share, str) else f"{share:.0%}"


def _ratio(left: tuple[int, int]) -> str:
    return f"{left[0] / left[1]:.2f}" if left[1] else "no positives left"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skin", type=Path, help="Skin_NonSkin.txt of the UCI repository")
    parser.add_argument("--fraud", type=Path, help="credit card data, or a part of it with all frauds")
    parser.add_argument("--trees", type=int, default=200, help="trees of a forest (200)")
    parser.add_argument("--iterations", type=int, default=10, help="iterations (10)")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of the synthetic set, to try the script")
    parser.add_argument("--seed", type=int, default=0, help="of the splits (0)")
    given: Any = parser.parse_args(arguments)
    from sklearn.metrics import roc_auc_score

    from cascadeforest import RandomForestClassifier

    sets: dict[str, Callable[[], Data]] = {"made": lambda: made(given.seed, given.rows)}
    if given.skin:
        sets["skin"] = lambda: skin(given.skin, given.seed)
    if given.fraud:
        sets["fraud-like"] = lambda: fraud_like(given.fraud, given.seed)
    print(
        "| data | score | threshold | trees that agree | easy in iterations 1, 2, 3, % "
        "| easy test rows, iteration 1, % | hard to the end | negatives a positive | AUC | training, CPU s |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, make in sets.items():
        data = make()
        forest = RandomForestClassifier(given.trees, random_state=0)
        started = time.process_time()
        forest.fit(data.X, data.y)
        cpu_seconds = time.process_time() - started
        auc = roc_auc_score(data.y_test, forest.predict_proba(data.X_test)[:, 1])
        counts = np.bincount(data.y)
        ratio = f"{counts[0] / counts[1]:.2f}"
        print(
            f"| {name} | random forest | | | | | {len(data.y):,} rows | {ratio} | {100 * auc:.2f} "
            f"| {cpu_seconds:.1f} |",
            flush=True,
        )
        for reading in READINGS:
            found = outcome(data, reading, given.trees, given.iterations)
            passed = ", ".join(f"{100 * share:.2f}" for share in found.passed[:3])
            print(
                f"| {name} | {reading[0]} | {reading[1].replace('_', ' ')} | {_agree(reading[2])} | {passed} "
                f"| {100 * found.passed_test:.2f} | {sum(found.left):,} | {_ratio(found.left)} | {100 * found.auc:.2f} "
                f"| {found.cpu_seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
