"""Categorical features as they are, one-hot and as integers: accuracy, CPU seconds and nodes; see README.md.

for name in adult bank; do python -m cascadeforest.data fetch --dataset $name; done
python benchmarks/categories.py
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from measuring import Row, layout, machine, number
from sklearn.model_selection import train_test_split

from cascadeforest import ExtraTreesClassifier, GCForestClassifier, RandomForestClassifier
from cascadeforest.data.parsers.tables import concatenate, read_frame
from cascadeforest.data.parsers.uci import ADULT_COLUMNS
from cascadeforest.data.registry import find_dataset_file
from cascadeforest.data.sources import fetched_files

ROOT = Path(__file__).parents[1]
CODINGS = ("levels", "one-hot", "integer")
TEST_SHARE = 1 / 3
MODELS: dict[str, Any] = {
    "random forest": lambda seed: RandomForestClassifier(200, random_state=seed),
    "random forest, leaves of 5 rows": lambda seed: RandomForestClassifier(200, min_samples_leaf=5, random_state=seed),
    "Extra-Trees": lambda seed: ExtraTreesClassifier(200, random_state=seed),
    "gcForest": lambda seed: GCForestClassifier(4, 50, max_layers=3, random_state=seed),
}
HEADER = [
    "data set, model",
    "coding",
    "accuracy, %",
    "levels − coding, points",
    "better of ten",
    "fit, CPU s",
    "coding / levels",
    "nodes",
]


def adult(files: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    """All rows of Adult; '?' is a level."""
    parts = [read_frame(files, name, columns=ADULT_COLUMNS, comment="|") for name in ("adult.data", "adult.test")]
    X = concatenate(*parts, "adult.data", "adult.test")
    return X, X.pop("income").str.rstrip(".").to_numpy(str)


def bank(files: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    """All rows of Bank Marketing without `duration`; 'unknown' is a level."""
    X = read_frame(files, "bank-additional.zip::bank-additional-full.csv", separator=";", header=0)
    y = X.pop("y").to_numpy(str)
    return X.drop(columns="duration"), y


def coded(X: pd.DataFrame, coding: str) -> Any:
    """Features for the models; codes of integers are in the order of the names of the levels."""
    own = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(own, "category"))
    if coding == "levels":
        return X
    if coding == "one-hot":
        return pd.get_dummies(X, dtype=np.float32).to_numpy(np.float32)
    return X.assign(**{name: X[name].cat.codes for name in own}).to_numpy(np.float32)


def n_nodes(model: Any) -> int:
    """Nodes of all trees."""
    if isinstance(model, GCForestClassifier):
        return sum(len(forest.trees.nodes) for layer in model.layers_ for models in layer.forests for forest in models)
    return len(model.trees_.nodes)


def measure(X: Any, y: np.ndarray, model: str, seed: int) -> Row:
    """Fit to two thirds of the rows, predict the others; the split depends on the seed only."""
    rows = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, stratify=y, random_state=seed)
    train, test = (X.iloc[some] if isinstance(X, pd.DataFrame) else X[some] for some in rows)
    estimator = MODELS[model](seed)
    start = time.process_time()
    estimator.fit(train, y[rows[0]])
    seconds = time.process_time() - start
    return {
        "accuracy": 100 * float(np.mean(estimator.predict(test) == y[rows[1]])),
        "seconds": seconds,
        "nodes": n_nodes(estimator),
    }


def interval(differences: np.ndarray) -> str:
    """Mean of paired differences with its 95 % interval, corrected for training sets that overlap (Nadeau, Bengio)."""
    n = len(differences)
    error = math.sqrt((1 / n + TEST_SHARE / (1 - TEST_SHARE)) * differences.var(ddof=1))
    return f"{differences.mean():+.2f} ± {scipy.stats.t.ppf(0.975, n - 1) * error:.2f}"


def lines(title: str, found: dict[str, list[Row]]) -> list[list[str]]:
    """Lines of the table, one for each coding."""
    table = {coding: pd.DataFrame(rows) for coding, rows in found.items()}
    levels, body = table["levels"], []
    for coding, own in table.items():
        difference = (levels["accuracy"] - own["accuracy"]).to_numpy()
        compared = coding != "levels"
        body.append(
            [
                title,
                coding,
                f"{own['accuracy'].mean():.2f} ± {own['accuracy'].std():.2f}",
                interval(difference) if compared else "",
                f"{np.sum(difference > 0)} : {np.sum(difference < 0)}" if compared else "",
                number(own["seconds"].median(), 2),
                number((own["seconds"] / levels["seconds"]).median(), 2) if compared else "",
                number(own["nodes"].mean(), 0),
            ]
        )
    return body


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure codings in turn, seed by seed; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT / "data" / "raw", help="folder of the fetched files")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-rows", type=int, help="bound the rows, to try the script")
    options = parser.parse_args(arguments)
    body = []
    for name, read in {"adult": adult, "bank": bank}.items():
        X, y = read(fetched_files(find_dataset_file(name, ROOT / "config"), options.data)[1])
        X, y = X[: options.max_rows], y[: options.max_rows]
        by_coding = {coding: coded(X, coding) for coding in CODINGS}
        for model in options.models:
            found: dict[str, list[Row]] = {coding: [] for coding in CODINGS}
            for seed in range(options.seeds):
                for coding, own in by_coding.items():
                    found[coding].append(measure(own, y, model, seed))
            body += lines(f"{name}, {model}", found)
    print(f"{machine()}. {options.seeds} seeds; CPU seconds and their ratios are medians.\n")
    print(layout(HEADER, body, markdown=True))


if __name__ == "__main__":
    main()
