"""The naive twin of the forest kernel: impurities, splits and trees from their definitions, nothing shared with it.

Features are lines of numbers, NaN where a row has no value. Weights and targets may be `fractions.Fraction`: then sums
and comparisons are exact, and ties are ties.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

TOLERANCE = 1e-9


def impurity(y, weights, criterion):
    """Eq. 8 of the interpretation paper for squared error and Gini, bits for entropy; of any numbers.

    Of several targets (tuples) it is the mean of theirs, as in scikit-learn's trees.
    """
    if isinstance(y[0], tuple):
        return sum(impurity(target, weights, criterion) for target in zip(*y, strict=True)) / len(y[0])
    total = sum(weights)
    if criterion == "squared_error":
        mean = sum(w * v for w, v in zip(weights, y, strict=True)) / total
        return sum(w * (v - mean) ** 2 for w, v in zip(weights, y, strict=True)) / total
    shares = [sum(w for w, v in zip(weights, y, strict=True) if v == c) / total for c in sorted(set(y))]
    if criterion == "gini":
        return 1 - sum(p * p for p in shares)
    return -sum(p * math.log2(p) for p in shares)


def decrease(left, y, weights, criterion):
    """Eq. 7: impurity of a node, minus that of its sides by their share of the weight."""
    sides = [[i for i in range(len(y)) if left[i] == side] for side in (True, False)]
    total = sum(weights)
    result = impurity(y, weights, criterion)
    for side in sides:
        some = [weights[i] for i in side]
        result -= sum(some) / total * impurity([y[i] for i in side], some, criterion)
    return result


class Division(NamedTuple):
    """One way to divide rows by a feature."""

    value: float  # largest value on the left
    lost_left: bool  # whether rows without a value go left
    left: np.ndarray  # bool


def divisions(values):
    """All ways to divide rows by a feature, each once: lowest cut first, rows without a value right before left."""
    lost = np.isnan(values)
    present = np.unique(values[~lost])
    found = []
    for value in present:
        for lost_left in (False, True) if lost.any() else (False,):
            left = (values <= value) | (lost & lost_left)
            if not left.all():
                found.append(Division(value, lost_left, left))
    return found


def allowed(left, min_leaf):
    """Whether both sides have enough rows."""
    return min(np.count_nonzero(left), np.count_nonzero(~left)) >= min_leaf


def varies(values):
    """Whether a feature takes more than one value; missing is one."""
    return len(np.unique(values)) > 1


def impurities(masks, y, weights, criterion):
    """Impurity and weight of each of many sets of rows (masks of shape (n_sets, n_rows)), in floats."""
    if y.ndim == 2:
        of_targets = [impurities(masks, target, weights, criterion) for target in y.T]
        return np.mean([own for own, _ in of_targets], axis=0), of_targets[0][1]
    total = masks @ weights
    if criterion == "squared_error":
        mean = masks @ (weights * y) / total
        return (masks * weights * (y - mean[:, None]) ** 2).sum(axis=1) / total, total
    shares = masks @ (weights[:, None] * (y[:, None] == np.unique(y))) / total[:, None]
    if criterion == "gini":
        return 1 - (shares**2).sum(axis=1), total
    return -(shares * np.log2(shares, where=shares > 0, out=np.zeros_like(shares))).sum(axis=1), total


def decreases(masks, y, weights, criterion):
    """Eq. 7 of many divisions of the same rows, in floats."""
    masks = np.asarray(masks, bool).reshape(-1, len(y))
    whole, total = impurities(np.ones((1, len(y)), bool), y, weights, criterion)
    left, n_left = impurities(masks, y, weights, criterion)
    right, n_right = impurities(~masks, y, weights, criterion)
    return whole - n_left / total * left - n_right / total * right


def best_decrease(X, y, weights, criterion, min_leaf=1):
    """The largest decrease that any allowed division by any feature brings; -inf if there is none."""
    masks = [d.left for values in X for d in divisions(values) if allowed(d.left, min_leaf)]
    return decreases(masks, y, weights, criterion).max() if masks else -np.inf


class Node(NamedTuple):
    """A node of a naive tree: rows, and what divides them (None in leaves)."""

    rows: tuple
    feature: int | None = None
    division: Division | None = None
    children: tuple = ()


def grow(X, y, weights, criterion, *, max_depth=math.inf, min_split=2, min_leaf=1, min_decrease=0, rows=None, depth=0):
    """A whole tree that looks at all features; the first of equal splits. Exact if `y` and `weights` are fractions."""
    rows = tuple(range(len(y))) if rows is None else rows
    some_y, some_weights = [y[i] for i in rows], [weights[i] for i in rows]
    if len(set(some_y)) == 1 or depth >= max_depth or len(rows) < min_split:
        return Node(rows)
    best = None
    for feature, values in enumerate(X):
        for division in divisions(values[list(rows)]):
            if allowed(division.left, min_leaf):
                gain = decrease(division.left, some_y, some_weights, criterion)
                if best is None or gain > best[0]:
                    best = gain, feature, division
    if best is None or best[0] * sum(some_weights) < min_decrease * sum(weights):
        return Node(rows)
    _, feature, division = best
    sides = [tuple(r for r, left in zip(rows, division.left, strict=True) if left == side) for side in (True, False)]
    rules = {"max_depth": max_depth, "min_split": min_split, "min_leaf": min_leaf, "min_decrease": min_decrease}
    children = [grow(X, y, weights, criterion, rows=side, depth=depth + 1, **rules) for side in sides]
    return Node(rows, feature, division, tuple(children))


def depth_first(node):
    """Nodes of a naive tree, each before its children, left before right."""
    yield node
    for child in node.children:
        yield from depth_first(child)


def orders(weights):
    """All orders of the features that have weight, and their probabilities: draws without replacement."""
    for order in itertools.permutations([k for k, w in enumerate(weights) if w > 0]):
        left, probability = sum(weights), 1.0
        for k in order:
            probability *= weights[k] / left
            left -= weights[k]
        yield order, probability


def looked_at(order, varying, max_features):
    """Varying features that a node looks at: the first `max_features` of an order, and more until one varies."""
    looked = []
    for n_visited, k in enumerate(order):
        if n_visited >= max_features and looked:
            break
        if varying[k]:
            looked.append(k)
    return looked


def chosen_feature_law(varying, gains, max_features, weights):
    """Probability of each feature to divide a node: the best of those looked at, the first drawn of equals."""
    law = np.zeros(len(gains))
    for order, probability in orders(weights):
        looked = looked_at(order, varying, max_features)
        if looked:
            best = max(gains[k] for k in looked)
            law[next(k for k in looked if gains[k] > best - TOLERANCE)] += probability
    return law


def random_split_law(X, centers, y, weights, criterion, max_features):
    """Probability of each (feature, bin, missing on the left) at random thresholds; -1 where no row is missing.

    A threshold is uniform between the smallest and the largest value, rows without a value go either way.
    """
    options = []  # of each feature: (what divides, probability, decrease)
    for k, values in enumerate(X):
        found = []
        lost = np.isnan(values)
        bins = np.unique(values[~lost]).astype(int)
        span = centers[k][bins[-1]] - centers[k][bins[0]]
        for low, high in itertools.pairwise(bins):
            share = (centers[k][high] - centers[k][low]) / span
            for side in (False, True) if lost.any() else (False,):
                left = (values <= low) | (lost & side)
                gain = decrease(left, list(y), list(weights), criterion)
                found.append(((k, low, int(side) if lost.any() else -1), share / (1 + lost.any()), gain))
        options.append(found)
    law = {}
    for order, probability in orders([1] * len(X)):
        for chosen in itertools.product(*(options[k] for k in order[:max_features])):
            best = max(gain for _, _, gain in chosen)
            split = next(split for split, _, gain in chosen if gain > best - TOLERANCE)
            law[split] = law.get(split, 0.0) + probability * math.prod(share for _, share, _ in chosen)
    return law
