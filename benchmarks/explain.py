"""Cost of explanations: how it grows, and ours beside SHAP's TreeExplainer and treeinterpreter on the same forest.

    python benchmarks/explain.py forests         contributions of a plain forest; see README.md for the other libraries
    python benchmarks/explain.py growth          a cascade's explanation as rows, trees, layers, features, classes grow
    python benchmarks/explain.py wide            729 rows, 512 features, 10 classes, as USPS with irrelevant copies
    python benchmarks/explain.py wide --data data/processed    USPS itself, from its prepared file there
    python benchmarks/explain.py again           one more row of a cascade: from the training rows, and by leaf tables
    python benchmarks/explain.py again --data data/processed    Adult itself, from its prepared file there

CPU seconds of one process, threads pinned to one; memory is the highest mark above that before the call.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import THREAD_VARIABLES, machine

os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier as TheirClassifier
from sklearn.ensemble import RandomForestRegressor as TheirRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from cascadeforest import (
    CascadeForestRegressor,
    Explainer,
    GCForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    explain,
)
from cascadeforest.data.dataset import load
from cascadeforest.data.variants import vary
from cascadeforest.experiments.measure import measure

#: Training rows, features, classes (0: regression), trees, greatest depth.
FORESTS = [(2_000, 20, 2, 100, None), (20_000, 20, 2, 100, None), (20_000, 20, 0, 100, 12), (5_000, 50, 10, 100, None)]
N_EXPLAINED = 500
FOREST_COLUMNS = ("case", "library", "CPU s", "peak MiB", "greatest difference", "correlation", "note")
MISSING = "not installed: pip install -e '.[explain]'"


def _data(n_rows: int, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    n_informative = min(n_features, 10)
    if n_classes:
        return make_classification(
            n_rows, n_features, n_informative=n_informative, n_redundant=0, n_classes=n_classes, random_state=0
        )
    return make_regression(n_rows, n_features, n_informative=n_informative, noise=10.0, random_state=0)


def _timed(call: Callable[..., Any], *arguments: Any, repeats: int = 1) -> tuple[Any, float, float]:
    """Result, least CPU seconds and greatest memory of a few calls."""
    done = [measure(lambda: call(*arguments)) for _ in range(repeats)]
    return done[0][0], min(cost.cpu_seconds for _, cost in done), max(cost.peak_mib for _, cost in done)


# One forest for all libraries.


def as_scikit_learn(model: Any, X: np.ndarray, Y: np.ndarray) -> Any:
    """Our forest as one of scikit-learn's, which the other libraries read: the same trees, thresholds, node means."""
    is_classifier = hasattr(model, "classes_")
    forest = (TheirClassifier if is_classifier else TheirRegressor)(model.trees_.n_trees)
    weight, sums = model.trees_.node_statistics(model.bin_mapper_.transform(X), Y, weights=model.in_bag_counts)
    view = model.trees_.all_nodes(model.bin_mapper_)
    nodes = np.zeros(len(weight), NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = view.children_left, view.children_right
    nodes["feature"], nodes["threshold"] = view.feature, view.threshold
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 1, weight
    values = (sums / weight[:, None])[:, None, :]
    forest.estimators_ = []
    for begin, end in pairwise(model.trees_.offsets):
        tree = Tree(X.shape[1], np.array([Y.shape[1]], np.intp), 1)
        state = {"max_depth": 64, "node_count": end - begin, "nodes": nodes[begin:end], "values": values[begin:end]}
        tree.__setstate__(state | {"values": state["values"].copy()})
        forest.estimators_.append((DecisionTreeClassifier if is_classifier else DecisionTreeRegressor)())
        forest.estimators_[-1].tree_ = tree
    for estimator in (forest, *forest.estimators_):
        estimator.n_features_in_, estimator.n_outputs_, estimator.max_features_ = X.shape[1], 1, X.shape[1]
        if is_classifier:
            estimator.classes_, estimator.n_classes_ = model.classes_, len(model.classes_)
    return forest


def forests(max_rows: int | None = None) -> Iterator[dict[str, Any]]:
    """A line a case and library: cost, and how far its contributions are from ours."""
    for n_rows, n_features, n_classes, n_trees, depth in FORESTS:
        n_rows = min(n_rows, max_rows or n_rows)
        X, y = _data(n_rows + N_EXPLAINED, n_features, n_classes)
        X = X.astype(np.float32).astype(np.float64)  # the others compare single precision with thresholds
        X_train, y_train, X_new = X[:n_rows], y[:n_rows], X[n_rows:]
        kind = RandomForestClassifier if n_classes else RandomForestRegressor
        model = kind(n_trees, max_depth=depth, random_state=0).fit(X_train, y_train)
        ours, seconds, peak = _timed(explain, model, X_new, X_train, y_train, repeats=2)
        case = f"{n_rows} x {n_features}, {n_classes or 'no'} classes, {n_trees} trees, depth {depth or 'unbounded'}"
        yield {"case": case, "library": "ours", "CPU s": seconds, "peak MiB": peak}
        Y = np.eye(n_classes)[y_train] if n_classes else y_train[:, None]
        theirs = as_scikit_learn(model, X_train, Y)
        of_theirs, seconds, peak = _timed(explain, theirs, X_new, repeats=2)
        difference = np.abs(of_theirs.contributions - ours.contributions).max() / np.abs(ours.contributions).max()
        yield {
            **{"case": case, "library": "ours, scikit-learn's forest", "CPU s": seconds, "peak MiB": peak},
            "greatest difference": difference,
        }
        for library, theirs_explain in (("treeinterpreter", _treeinterpreter), ("SHAP", _shap)):
            try:
                module = importlib.import_module(library.lower())
            except ImportError:
                yield {"case": case, "library": library, "note": MISSING}
                continue
            try:
                values, seconds, peak = _timed(theirs_explain, module, theirs, X_new)
            except (TypeError, ValueError) as error:  # as treeinterpreter 0.2.3 in regression, with numpy 2.4
                yield {"case": case, "library": library, "note": f"failed: {error}"}
                continue
            correlation = np.corrcoef(values.ravel(), ours.contributions.ravel())[0, 1]
            yield {
                "case": case,
                "library": f"{library} {getattr(module, '__version__', '')}".strip(),
                "CPU s": seconds,
                "peak MiB": peak,
                "greatest difference": np.abs(values - ours.contributions).max() / np.abs(ours.contributions).max(),
                "correlation": correlation,
            }


def _treeinterpreter(module: Any, forest: Any, X: np.ndarray) -> np.ndarray:
    _, _, values = importlib.import_module("treeinterpreter.treeinterpreter").predict(forest, X)
    return values.reshape(*X.shape, -1)


def _shap(module: Any, forest: Any, X: np.ndarray) -> np.ndarray:
    values = module.TreeExplainer(forest, feature_perturbation="tree_path_dependent").shap_values(X)
    return np.asarray(values).reshape(*X.shape, -1)


def _importances(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return Explainer(model, X, y).importances()


# A cascade's explanation, one size at a time.


def growth(max_rows: int | None = None) -> Iterator[dict[str, Any]]:
    """CPU seconds of the importances of a whole cascade over M1 M2 n log n: level where the cost grows as stated."""
    base = {"n_rows": 2_000, "n_features": 20, "n_classes": 3, "n_estimators": 20, "n_layers": 3}
    changes = [
        {},
        *({"n_rows": n} for n in (500, 1_000, 4_000, 8_000)),
        *({"n_estimators": n} for n in (10, 40)),
        *({"n_layers": n} for n in (2, 5)),
        *({"n_features": n} for n in (10, 40, 80)),
        *({"n_classes": n} for n in (2, 6)),
    ]
    for change in changes:
        size = base | change
        size["n_rows"] = min(size["n_rows"], max_rows or size["n_rows"])
        X, y = _data(size["n_rows"], size["n_features"], size["n_classes"])
        model = GCForestClassifier(
            4, size["n_estimators"], max_layers=size["n_layers"], patience=99, keep="last", random_state=0
        )
        _, fitting, _ = _timed(model.fit, X, y)
        _, seconds, peak = _timed(_importances, model, X, y)
        # The first layer has no columns of another one, and costs next to nothing.
        work = 4 * size["n_estimators"] * (size["n_layers"] - 1) * size["n_rows"] * math.log2(size["n_rows"])
        numbers = size["n_features"] * size["n_classes"]
        yield size | {
            "fit, CPU s": fitting,
            "explain, CPU s": seconds,
            "ns per M1 M2 n log n and number": 1e9 * seconds / work / numbers,
            "peak MiB": peak,
            "n K C L, MiB": 8 * size["n_rows"] * numbers * 4 / 2**20,
        }


#: The operations of the paper's comparison: a tenth of the training rows, and permuted copies of the features.
USPS, COMPARED = "usps", ("train-0.1", "irrelevant")


def _wide_data(max_rows: int | None, folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Name, training rows, classes or targets, and 100 other rows."""
    if folder is None:
        n_rows = min(729, max_rows or 729)
        for n_classes, n_features in ((10, 512), (0, 512)):
            X, y = _data(n_rows + 100, n_features, n_classes)
            yield "", X[:n_rows], y[:n_rows], X[n_rows:]
        return
    dataset = load(folder / f"{USPS}.npz")
    for operation in COMPARED:
        dataset = vary(dataset, operation)
    split = dataset.split(0)
    yield f"{dataset.name}: ", split.X_train[:max_rows], split.y_train[:max_rows], split.X_test[:100]


def wide(max_rows: int | None = None, folder: Path | None = None) -> Iterator[dict[str, Any]]:
    """As many rows, features and classes as USPS has in the paper's comparison; and regression of its size.

    With a folder of prepared data sets USPS itself, the rows of the first repeat.
    """
    for name, X_train, y_train, X_new in _wide_data(max_rows, folder):
        n_classes = len(np.unique(y_train)) if y_train.dtype.kind == "i" else 0
        kind = GCForestClassifier if n_classes else CascadeForestRegressor
        model = kind(4, 50, max_depth=8, max_layers=4, patience=99, keep="last", random_state=0)
        _, fitting, _ = _timed(model.fit, X_train, y_train)
        for what, call, arguments in (
            ("importances", _importances, (model, X_train, y_train)),
            (f"{len(X_new)} rows", explain, (model, X_new, X_train, y_train)),
        ):
            _, seconds, peak = _timed(call, *arguments)
            yield {
                "case": f"{name}{len(X_train)} x {X_train.shape[1]}, {n_classes or 'no'} classes, "
                f"{model.n_layers_} layers",
                "fit, CPU s": fitting,
                "what": what,
                "explain, CPU s": seconds,
                "peak MiB": peak,
            }


#: Training rows, features, and greatest depth of the made cascades.
AGAIN = [(32_561, 14, 8), (10_000, 100, None)]
ADULT = "adult"


def _again_data(max_rows: int | None, folder: Path | None) -> Iterator[tuple[str, tuple[np.ndarray, ...], int | None]]:
    """Name, training rows with classes and 500 other rows, and greatest depth."""
    for n_rows, n_features, depth in AGAIN:
        n_rows = min(n_rows, max_rows or n_rows)
        X, y = _data(n_rows + N_EXPLAINED, n_features, 2)
        yield "made", (X[:n_rows], y[:n_rows], X[n_rows:]), depth
    if folder is not None:
        split = load(folder / f"{ADULT}.npz").split(0)
        yield "Adult", (split.X_train[:max_rows], split.y_train[:max_rows], split.X_test[:N_EXPLAINED]), AGAIN[0][2]


def again(max_rows: int | None = None, folder: Path | None = None) -> Iterator[dict[str, Any]]:
    """The third layer of 4 forests explained: once from the training rows, then by the leaf tables that are kept."""
    for name, (X_train, y_train, X_new), depth in _again_data(max_rows, folder):
        model = GCForestClassifier(4, 24, max_depth=depth, max_layers=3, patience=99, keep="last", random_state=0)
        model.fit(X_train, y_train)
        explainer = Explainer(model)
        from_rows, row_by_rows, _ = _timed(explain, model, X_new[:1])
        _, all_by_rows, _ = _timed(explain, model, X_new)
        _, first, peak = _timed(explainer.explain, X_new)
        by_tables, row_by_tables, _ = _timed(explainer.explain, X_new[:1], repeats=20)
        _, all_by_tables, _ = _timed(explainer.explain, X_new)
        yield {
            "case": f"{name}, {X_train.shape[0]} x {X_train.shape[1]}, depth {depth or 'unbounded'}",
            "a row from training rows, CPU s": row_by_rows,
            f"{len(X_new)} rows": all_by_rows,
            "first call, as many rows": first,
            "peak MiB": peak,
            "a row by tables, CPU s": row_by_tables,
            "all rows by tables": all_by_tables,
            "pickle, MiB": len(pickle.dumps(explainer)) / 2**20,
            "greatest difference": float(np.abs(by_tables.contributions - from_rows.contributions).max()),
        }


def main(arguments: list[str] | None = None) -> int:
    """Print one of the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["forests", "growth", "wide", "again"])
    parser.add_argument("--max-rows", type=int, help="bound the training rows, to try the script")
    parser.add_argument(
        "--data",
        type=Path,
        help=f"wide: folder with {USPS}.npz, prepared, whose rows replace made ones; again: with {ADULT}.npz",
    )
    chosen = parser.parse_args(arguments)
    if chosen.data is not None and chosen.table not in ("wide", "again"):
        parser.error(f"--data is for the tables wide and again, not for {chosen.table}.")
    X, y = _data(200, 5, 2)  # compile first
    Explainer(GCForestClassifier(2, 2, max_layers=2, keep="last", patience=9).fit(X, y), X, y).importances()
    print(machine())
    columns: tuple[str, ...] = ()
    tables = {
        "forests": forests,
        "growth": growth,
        "wide": lambda n: wide(n, chosen.data),
        "again": lambda n: again(n, chosen.data),
    }
    for row in tables[chosen.table](chosen.max_rows):
        if not columns:
            columns = FOREST_COLUMNS if chosen.table == "forests" else tuple(row)
            print(f"\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
        cells = [row.get(column, "") for column in columns]
        print("|", " | ".join(f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
