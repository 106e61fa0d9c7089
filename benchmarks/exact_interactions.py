"""Interactions that layers 1 and 2 of hiDF's released code find, by a plain transcription with exact splits.

python benchmarks/exact_interactions.py --data data/processed --datasets satimage letter adult --seeds 5

An oracle for preset `official` of `HiDFClassifier`, and for what binning changes: forests of scikit-learn, enriched
trees that sort each node's values, rules of leaves drawn by their rows in the bag, intersections of Python sets.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np
import scipy.sparse
from measuring import layout, machine
from released_codes import INTERACTIONS, split_of
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

N_FOLDS, N_FORESTS, N_TREES = 5, 5, 100
N_BOOTSTRAPS, N_RULE_TREES, N_INTERSECTION_TREES, DEPTH, N_CHILDREN, STABLE = 10, 10, 20, 4, 2, 0.5


@numba.njit(cache=True)
def enriched_tree(X, y, n_classes, counts, chances, n_candidates, rng):
    """Grow one tree; candidates of a node are drawn without replacement in proportion to `chances`.

    Returns
    -------
    parent, feature, threshold : ndarray of shape (n_nodes,)
        Parent of each node, its split (-1 for a leaf).
    is_left : ndarray of shape (n_nodes,), bool
    weight : ndarray of shape (n_nodes,)
        Rows in the bag.
    importances : ndarray of shape (n_features,)
        Mean decrease in impurity, not divided by its sum.
    """
    n_features = X.shape[1]
    rows = np.flatnonzero(counts)
    size = 2 * len(rows)
    parent, feature = np.full(size, -1), np.full(size, -1)
    threshold, weight, is_left = np.zeros(size), np.zeros(size), np.zeros(size, np.bool_)
    importances = np.zeros(n_features)
    starts, ends = np.zeros(size, np.int64), np.zeros(size, np.int64)
    starts[0], ends[0] = 0, len(rows)
    n_nodes, total = 1, counts.sum()
    node = 0
    left, right, every = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    while node < n_nodes:
        start, end = starts[node], ends[node]
        every[:] = 0
        for r in rows[start:end]:
            every[y[r]] += counts[r]
        n = every.sum()
        weight[node] = n
        squares = (every**2).sum()
        if squares >= n * n * (1 - 1e-7) or end - start < 2:
            node += 1
            continue
        open_chances = chances.copy()
        n_seen, n_varying, best, best_feature, best_cut = 0, 0, -np.inf, -1, 0.0
        while n_seen < n_candidates or n_varying == 0:
            remaining = open_chances.sum()
            if remaining <= 0.0:
                break
            point = rng.random() * remaining
            chosen = -1
            for k in range(n_features):
                if open_chances[k] > 0.0:
                    chosen = k
                    point -= open_chances[k]
                    if point < 0.0:
                        break
            open_chances[chosen] = 0.0
            n_seen += 1
            values = X[rows[start:end], chosen]
            if values.max() <= values.min() + 1e-7:
                continue
            n_varying += 1
            order = np.argsort(values)
            left[:] = 0
            n_left = 0.0
            for i in range(end - start - 1):
                r = rows[start + order[i]]
                left[y[r]] += counts[r]
                n_left += counts[r]
                low, high = values[order[i]], values[order[i + 1]]
                if high <= low + 1e-7:
                    continue
                right[:] = every - left
                purity = (left**2).sum() / n_left + (right**2).sum() / (n - n_left)
                if purity > best:
                    best, best_feature, best_cut = purity, chosen, (low + high) / 2
                    if best_cut == high:
                        best_cut = low
        if best_feature < 0:
            node += 1
            continue
        part = rows[start:end].copy()
        goes_left = X[part, best_feature] <= best_cut
        n_left_rows = goes_left.sum()
        rows[start : start + n_left_rows] = part[goes_left]
        rows[start + n_left_rows : end] = part[~goes_left]
        feature[node], threshold[node] = best_feature, best_cut
        importances[best_feature] += (best - squares / n) / total
        for side in range(2):
            parent[n_nodes], is_left[n_nodes] = node, side == 0
            starts[n_nodes] = start if side == 0 else start + n_left_rows
            ends[n_nodes] = start + n_left_rows if side == 0 else end
            n_nodes += 1
        node += 1
    return parent[:n_nodes], feature[:n_nodes], threshold[:n_nodes], is_left[:n_nodes], weight[:n_nodes], importances


def fold_forests(X: np.ndarray, y: np.ndarray, folds: list, seed: int, n_trees: int, which: int | None = None):
    """Importances of the forests of a layer, those of one fold one after the other, and class vectors out of fold."""
    importances, vectors = [], np.zeros((len(X), N_FORESTS, y.max() + 1))
    for learned, left_out in folds:
        for k in range(N_FORESTS):
            if which is not None and len(importances) == which:
                return importances, None
            kind = ExtraTreesClassifier if k % 2 else RandomForestClassifier
            forest = kind(n_trees, bootstrap=True, random_state=seed + k).fit(X[learned], y[learned])
            importances.append(forest.feature_importances_)
            if which is None:
                vectors[left_out, k] = forest.predict_proba(X[left_out])
    return importances, vectors.reshape(len(X), -1)


def merged(one: dict, other: dict) -> dict:
    """Intersection of two rules, thresholds at the looser one."""
    return {s: (max if s[1] else min)(one[s], other[s]) for s in one.keys() & other.keys()}


def search(X: np.ndarray, y: np.ndarray, importances: list, rng: np.random.Generator) -> tuple[list[dict], np.ndarray]:
    """Stable interactions, {(feature, is left): threshold}, and the weights of their features."""
    n_drawn, n_candidates = math.ceil(0.5 * len(X)), max(1, int(math.sqrt(X.shape[1])))
    seen, bounds, weights = Counter(), {}, np.zeros(X.shape[1])
    for b in range(N_BOOTSTRAPS):
        drawn = rng.permutation(len(X))[:n_drawn]
        A, labels = np.asfortranarray(X[drawn], dtype=np.float32), y[drawn]
        trees, leaves = [], []
        of_forest = np.zeros(X.shape[1])
        for t in range(N_RULE_TREES):
            counts = np.bincount(rng.integers(n_drawn, size=n_drawn), minlength=n_drawn).astype(np.float64)
            chances = importances[b % len(importances)][: X.shape[1]].astype(np.float64)
            tree = enriched_tree(A, labels, y.max() + 1, counts, chances, n_candidates, rng)
            trees.append(tree)
            of_forest += tree[5] / max(tree[5].sum(), 1e-300)
            leaves += [(t, node, tree[4][node]) for node in np.flatnonzero(tree[1] < 0)]
        weights += of_forest / N_RULE_TREES
        chances = np.array([leaf[2] for leaf in leaves])
        n_rules = N_INTERSECTION_TREES * (N_CHILDREN**DEPTH - 1) // (N_CHILDREN - 1)
        rules = iter(rng.choice(len(leaves), size=n_rules, p=chances / chances.sum()))

        def rule(trees: list = trees, leaves: list = leaves, rules=rules) -> dict:
            t, node, _ = leaves[next(rules)]
            parent, feature, threshold, is_left = trees[t][:4]
            path = {}
            while parent[node] >= 0:
                above = parent[node]
                path[feature[above]] = (bool(is_left[node]), threshold[above])  # the last to write is next to the root
                node = above
            return {(f, side): cut for f, (side, cut) in path.items()}

        found: dict[frozenset, dict] = {}

        def intersect(one: dict, depth: int, found: dict = found, rule=rule) -> None:
            if not one:
                return
            key = frozenset(one)
            found[key] = merged(found[key], one) if key in found else one
            if depth < DEPTH:
                for _ in range(N_CHILDREN):
                    intersect(merged(one, rule()), depth + 1)

        for _ in range(N_INTERSECTION_TREES):
            intersect(rule(), 1)
        for key, bound in found.items():
            seen[key] += 1
            bounds[key] = merged(bounds[key], bound) if key in bounds else bound
    stable = [key for key, n in seen.most_common() if len(key) > 1 and n >= STABLE * N_BOOTSTRAPS]
    return [bounds[key] for key in stable], weights


def interactions(X: np.ndarray, y: np.ndarray, seed: int, n_trees: int) -> list[int]:
    """Interactions of layers 1 and 2."""
    rng = np.random.default_rng(seed)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y))
    importances, _ = fold_forests(X, y, folds, seed, n_trees, which=N_BOOTSTRAPS)
    first, weights = search(X, y, importances, rng)
    new = [
        np.maximum(sum(weights[f] * (t - X[:, f] if left else X[:, f] - t) for (f, left), t in one.items()), 0)
        for one in first
    ]
    X = np.column_stack([X, *new])
    _, vectors = fold_forests(X, y, folds, seed, n_trees)
    importances, _ = fold_forests(np.hstack([X, vectors]), y, folds, seed, n_trees, which=N_BOOTSTRAPS)
    second, _ = search(X, y, importances, rng)
    return [len(first), len(second)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the interactions that each seed finds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="prepared data sets")
    parser.add_argument("--datasets", nargs="+", default=list(INTERACTIONS), choices=list(INTERACTIONS))
    parser.add_argument("--seeds", type=int, default=5, help="transcriptions (default 5)")
    parser.add_argument("--trees", type=int, default=N_TREES, help="trees a forest (default 100, as released)")
    options = parser.parse_args(arguments)
    print(f"{machine()}. {options.seeds} seeds, {options.trees} trees a forest.\n")
    rows = []
    for dataset in options.datasets:
        X, y, _, _ = split_of(dataset, options.data)
        X = X.toarray() if scipy.sparse.issparse(X) else X
        y = np.unique(y, return_inverse=True)[1]
        found = []
        for seed in range(options.seeds):
            found.append(interactions(np.ascontiguousarray(X, dtype=np.float64), y, seed, options.trees))
            print(f"{dataset}, seed {seed}: {found[-1]}", file=sys.stderr)
        for layer, (released, ours) in enumerate(zip(INTERACTIONS[dataset], zip(*found, strict=True), strict=True), 1):
            numbers = ", ".join(map(str, ours))
            spread = f"{np.mean(ours):.1f} ± {np.std(ours, ddof=1):.1f}" if len(ours) > 1 else numbers
            rows.append([dataset, f"layer {layer}", str(released), spread, numbers])
    print(layout(["data set", "", "released code, one seed", "transcription", "by seed"], rows, markdown=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
