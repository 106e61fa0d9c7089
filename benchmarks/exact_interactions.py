"""Interactions that layers 1 and 2 of hiDF's released code find, by a plain transcription with exact splits.

python benchmarks/exact_interactions.py --data data/processed --datasets satimage letter adult --seeds 5

An oracle for preset `official` of `HiDFClassifier`, and for what binning changes: forests of scikit-learn, enriched
trees that sort each node's values (install numba: without it they take hours), rules of leaves drawn by their rows in
the bag, intersections of Python sets.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
from measuring import layout, machine
from released_codes import INTERACTIONS, split_of
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

try:
    from numba import njit
except ImportError:  # the same trees, and far slower

    def njit(**_: bool):
        """Leave a function as it is."""
        return lambda function: function


N_FOLDS, N_FORESTS, N_TREES = 5, 5, 100
N_BOOTSTRAPS, N_RULE_TREES, N_INTERSECTION_TREES, DEPTH, N_CHILDREN, STABLE = 10, 10, 20, 4, 2, 0.5


@njit(cache=True)
def enriched_tree(X, y, n_classes, counts, chances, n_candidates, rng):
    """Grow one tree; candidates of a node are drawn without replacement in proportion to `chances`.

    Parameters
    ----------
    X : ndarray of shape (n, n_features), float32, column after column
    y : ndarray of shape (n,), int
        Class codes below `n_classes`.
    counts : ndarray of shape (n,)
        How often each row is in the bag.
    chances : ndarray of shape (n_features,)
        Weights of the features.
    n_candidates : int
        Features that a node looks at, constant ones included; more until one varies.
    rng : Generator

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


def fold_forests(X: np.ndarray, y: np.ndarray, folds: list, seed: int, n_trees: int, vectors: bool):
    """Fit the forests of a layer, those of one fold one after the other.

    Returns
    -------
    importances : list of ndarray
        Of each forest; without `vectors` of as many as there are bootstraps, for which they are.
    vectors : ndarray of shape (n, n_forests * n_classes)
        Class probabilities out of fold; empty if they are not wanted.
    """
    importances, of_rows = [], np.zeros((len(X), N_FORESTS, y.max() + 1 if vectors else 0))
    for learned, left_out in folds:
        for k in range(N_FORESTS):
            if not vectors and len(importances) == N_BOOTSTRAPS:
                return importances, of_rows.reshape(len(X), -1)
            kind = ExtraTreesClassifier if k % 2 else RandomForestClassifier
            forest = kind(n_trees, bootstrap=True, random_state=seed + k).fit(X[learned], y[learned])
            importances.append(forest.feature_importances_)
            if vectors:
                of_rows[left_out, k] = forest.predict_proba(X[left_out])
    return importances, of_rows.reshape(len(X), -1)


def leaf_rule(tree: Sequence[np.ndarray], leaf: int) -> dict[tuple[int, bool], float]:
    """What a leaf asks of a row, {(feature, is left): threshold}: of each feature the split nearest to the root."""
    parent, feature, threshold, is_left = tree[:4]
    path, node = {}, leaf
    while parent[node] >= 0:
        above = parent[node]
        path[feature[above]] = (bool(is_left[node]), threshold[above])  # the last to write is next to the root
        node = above
    return {(f, side): cut for f, (side, cut) in path.items()}


def drawn_rules(trees: Sequence[Sequence[np.ndarray]], n: int, rng: np.random.Generator) -> Iterator[dict]:
    """Draw rules of leaves, in proportion to their rows in the bag."""
    leaves = [(tree, leaf) for tree in trees for leaf in np.flatnonzero(tree[1] < 0)]
    rows = np.array([tree[4][leaf] for tree, leaf in leaves])
    for k in rng.choice(len(leaves), size=n, p=rows / rows.sum()):
        yield leaf_rule(*leaves[k])


def merged(one: dict, other: dict) -> dict:
    """Intersection of two rules, thresholds at the looser one."""
    return {s: (max if s[1] else min)(one[s], other[s]) for s in one.keys() & other.keys()}


def intersection_tree(rules: Iterator[dict], rule: dict | None = None, depth: int = 1) -> Iterator[dict]:
    """All nodes that are not empty: a rule, and below each node its intersections with as many others as children."""
    rule = next(rules) if rule is None else rule
    if rule:
        yield rule
        if depth < DEPTH:
            for _ in range(N_CHILDREN):
                yield from intersection_tree(rules, merged(rule, next(rules)), depth + 1)


def search(X: np.ndarray, y: np.ndarray, importances: list, rng: np.random.Generator) -> tuple[list[dict], np.ndarray]:
    """Stable interactions, {(feature, is left): threshold}, and the weights of all features (Eq. 3)."""
    n_drawn, n_candidates = math.ceil(0.5 * len(X)), max(1, int(math.sqrt(X.shape[1])))
    seen, bounds, weights = Counter(), {}, np.zeros(X.shape[1])
    for b in range(N_BOOTSTRAPS):
        drawn = rng.permutation(len(X))[:n_drawn]
        A, labels = np.asfortranarray(X[drawn], dtype=np.float32), y[drawn]
        chances = importances[b % len(importances)][: X.shape[1]].astype(np.float64)
        trees = []
        for _ in range(N_RULE_TREES):
            counts = np.bincount(rng.integers(n_drawn, size=n_drawn), minlength=n_drawn).astype(np.float64)
            trees.append(enriched_tree(A, labels, y.max() + 1, counts, chances, n_candidates, rng))
            weights += trees[-1][5] / max(trees[-1][5].sum(), 1e-300) / N_RULE_TREES
        n_rules = N_INTERSECTION_TREES * (N_CHILDREN**DEPTH - 1) // (N_CHILDREN - 1)
        rules, found = drawn_rules(trees, n_rules, rng), {}
        for _ in range(N_INTERSECTION_TREES):
            for node in intersection_tree(rules):
                key = frozenset(node)
                found[key] = merged(found[key], node) if key in found else node
        for key, bound in found.items():
            seen[key] += 1
            bounds[key] = merged(bounds[key], bound) if key in bounds else bound
    stable = [key for key, n in seen.most_common() if len(key) > 1 and n >= STABLE * N_BOOTSTRAPS]
    return [bounds[key] for key in stable], weights


def interactions(X: np.ndarray, y: np.ndarray, seed: int, n_trees: int) -> list[int]:
    """Interactions of layers 1 and 2."""
    rng = np.random.default_rng(seed)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y))
    importances, _ = fold_forests(X, y, folds, seed, n_trees, vectors=False)
    first, weights = search(X, y, importances, rng)
    new = [
        np.maximum(sum(weights[f] * (t - X[:, f] if left else X[:, f] - t) for (f, left), t in one.items()), 0)
        for one in first
    ]
    X = np.column_stack([X, *new])
    _, vectors = fold_forests(X, y, folds, seed, n_trees, vectors=True)
    importances, _ = fold_forests(np.hstack([X, vectors]), y, folds, seed, n_trees, vectors=False)
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
    if options.seeds < 2:
        parser.error("--seeds must be 2 or more: the spread over seeds is what the numbers are compared by.")
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
            spread = f"{np.mean(ours):.1f} ± {np.std(ours, ddof=1):.1f}"
            rows.append([dataset, f"layer {layer}", str(released), spread, numbers])
    print(layout(["data set", "", "released code, one seed", "transcription", "by seed"], rows, markdown=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
