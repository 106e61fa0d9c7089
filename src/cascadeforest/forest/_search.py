"""Which features a node looks at, and the best of their splits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cascadeforest.forest import _splits
from cascadeforest.forest._jit import Int, kernel
from cascadeforest.forest._nodes import (
    ENTROPY,
    MISSING,
    MISSING_LEFT,
    MISSING_RIGHT,
    NONE_MISSING,
    Cells,
    Described,
    Sample,
    Scratch,
    Target,
)
from cascadeforest.forest._random import random_below, random_unit
from cascadeforest.forest._splits import NO_SPLIT, Split

BEST, RANDOM = 0, 1
#: Draws of one weighted feature before the exact but slow way is taken: few features with weight are left then.
_REJECTIONS = 8


class Rules(NamedTuple):
    """How trees grow; the names are scikit-learn's."""

    splitter: int  # BEST or RANDOM
    criterion: int  # GINI (also squared error) or ENTROPY
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_nodes: int  # 0: no bound


class Draws(NamedTuple):
    """Drawing features in one tree."""

    state: np.ndarray  # uint64 (1)
    features: np.ndarray  # int32: those that may be looked at, permuted; the constants of the path come first
    constants: np.ndarray  # int32: those, in the order in which they were found
    cumulative: np.ndarray  # float64 (n_features): running sum of the feature weights; empty: all equal
    drawn: np.ndarray  # int32 (n_features): node in which a feature was last drawn (with weights only)


@kernel(inline=True)
def draw_weighted(draws: Draws, node: int) -> Int:
    """A feature with probability proportional to its weight among those not yet drawn in this node; -1 if none is."""
    cumulative = draws.cumulative
    n_features = cumulative.size
    for _ in range(_REJECTIONS):
        feature = np.searchsorted(cumulative, random_unit(draws.state) * cumulative[-1], side="right")
        if feature < n_features and draws.drawn[feature] != node:
            draws.drawn[feature] = node
            return np.int64(feature)
    remaining, before = 0.0, 0.0
    for k in range(n_features):
        remaining += 0.0 if draws.drawn[k] == node else cumulative[k] - before
        before = cumulative[k]
    threshold = random_unit(draws.state) * remaining
    chosen = np.int64(-1)
    before = 0.0
    for k in range(n_features):
        weight = cumulative[k] - before
        before = cumulative[k]
        if weight > 0.0 and draws.drawn[k] != node:
            chosen = np.int64(k)  # the last one, should rounding leave the threshold unreached
            threshold -= weight
            if threshold < 0.0:
                break
    if chosen >= 0:
        draws.drawn[chosen] = node
    return chosen


@kernel(inline=True)
def split_on(
    cells: Cells,
    feature: int,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    target: Target,
    rules: Rules,
    state: np.ndarray,
    start: int,
    end: int,
    described: Described,
    min_weight: float,
    evaluate: bool,
) -> tuple[Split, bool]:
    """Best or random split of a node on one feature.

    Returns
    -------
    split : Split
        `NO_SPLIT` if no cut leaves enough rows on both sides.
    varies : bool
        Whether the feature takes more than one value in the node (missing counts as one).
    """
    n = end - start
    n_node, v_node, n_present = described.n_node, described.v_node, described.n_present
    low, high, n_missing = _splits.read_bins(cells, sample, scratch, start, end, feature)
    if n_missing == n or (low == high and n_missing == 0):
        return Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0), False
    one_way = high - low + (n_missing > 0) <= 1  # there is only one way to divide the rows
    if rules.splitter == BEST and not one_way:
        if n_present == 2:
            split = _splits.best_moment_split(
                sample,
                scratch,
                start,
                n,
                low,
                high,
                n_missing,
                n_node,
                v_node,
                rules.criterion,
                rules.min_samples_leaf,
                min_weight,
            )
        else:
            split = _splits.best_class_split(
                sample,
                scratch,
                start,
                n,
                low,
                high,
                n_missing,
                n_node,
                n_present,
                rules.criterion,
                rules.min_samples_leaf,
                min_weight,
            )
        return split, True
    cut, threshold = low, centers[low]
    if rules.splitter == RANDOM and low < high:
        threshold = _splits.random_threshold(centers, low, high, state)
        if n <= _splits.FEW_ROWS:
            cut = _splits.cut_among_rows(centers, scratch, n, threshold, low)
        else:
            cut = _splits.cut_at(centers, threshold, low, high)
    # Rows without a value go to a random side, unless they are the whole of the other side.
    missing = NONE_MISSING
    if n_missing > 0:
        missing = MISSING_LEFT if not one_way and random_below(state, 2) == 1 else MISSING_RIGHT
    if rules.min_samples_leaf > 1:
        n_left = _splits.rows_at_most(scratch, n, cut, missing)
        if min(n_left, n - n_left) < rules.min_samples_leaf:
            return Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0), True
    if min_weight > 0.0:
        weight_left = _splits.weight_at_most(sample, scratch, start, n, cut, missing)
        if min(weight_left, n_node - weight_left) < min_weight:
            return Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0), True
    if not evaluate:
        return Split(0.0, cut, missing, threshold), True
    if n_present == 2:
        proxy = _splits.moment_proxy_of(
            sample, scratch, target.whole, start, n, cut, missing, n_node, v_node, rules.criterion
        )
    else:
        proxy = _splits.class_proxy_of(
            sample, scratch, target, start, n, cut, missing, n_node, n_present, rules.criterion
        )
    return Split(proxy, cut, missing, threshold), True


@kernel(inline=True)
def perfect_proxy(described: Described, n_classes: int, criterion: int) -> float:
    """Proxy of a split into two pure sides, which no split exceeds: further features need not be looked at.

    It is known in regression and where two classes are left; most nodes of a fully grown tree divide into such sides.
    """
    if n_classes == 0:
        return described.squares * (1.0 - 1e-15)  # the two are summed in different orders
    if described.n_present != 2:
        return np.inf
    return 0.0 if criterion == ENTROPY else described.v_node


@kernel(inline=True)
def find_split(
    cells: Cells,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    target: Target,
    rules: Rules,
    draws: Draws,
    start: int,
    end: int,
    n_known: int,
    node: int,
    described: Described,
    min_weight: float,
) -> tuple[Split, Int, int]:
    """Draw features and take the best of their splits.

    Up to `max_features` features are looked at, constant ones included, and more until one varies: scikit-learn's
    meaning of `max_features`. Features that were constant in an ancestor are known to be constant here.

    Returns
    -------
    split : Split
    feature : int
    n_known : int
        Known constants, those found here included.
    """
    features = draws.features
    _splits.read_words(cells, sample, scratch, start, end)
    best, best_feature = Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0), np.int64(-1)
    # Where only one split is ever compared with nothing, its proxy is not needed.
    evaluate = rules.max_features > 1 or rules.min_impurity_decrease > 0.0 or rules.max_leaf_nodes > 0
    perfect = perfect_proxy(described, target.n_classes, rules.criterion)
    weighted = draws.cumulative.size > 0
    last = features.size  # features[last:] were looked at and vary
    n_found = 0  # constants found here, at features[n_known : n_known + n_found]
    n_drawn = 0  # known constants that were drawn, at features[:n_drawn]
    n_visited = n_varying = 0
    while last > n_known + n_found and (n_visited < rules.max_features or n_varying == 0):
        n_visited += 1
        j = np.int64(0)
        if weighted:
            feature = draw_weighted(draws, node)
            if feature < 0:
                break
        else:
            j = n_drawn + random_below(draws.state, last - n_found - n_drawn)
            if j < n_known:
                features[j], features[n_drawn] = features[n_drawn], features[j]
                n_drawn += 1
                continue
            j += n_found
            feature = np.int64(features[j])
        split, varies = split_on(
            cells,
            feature,
            centers[feature],
            sample,
            scratch,
            target,
            rules,
            draws.state,
            start,
            end,
            described,
            min_weight,
            evaluate,
        )
        n_varying += varies
        if not weighted:
            if varies:
                last -= 1
                features[j], features[last] = features[last], feature
            else:
                features[j], features[n_known + n_found] = features[n_known + n_found], feature
                n_found += 1
        if split.cut != NO_SPLIT and split.proxy > best.proxy:
            best, best_feature = split, feature
            if best.proxy >= perfect:
                break
    if rules.splitter == RANDOM and best_feature >= 0:  # also for bins that no row of the node is in
        cut = _splits.cut_at(centers[best_feature], best.threshold, best.cut, MISSING)
        best = Split(best.proxy, cut, best.missing, best.threshold)
    if weighted:
        return best, best_feature, 0
    # The constants of each ancestor must stay the first ones, whatever was drawn here.
    for k in range(n_known):
        features[k] = draws.constants[k]
    for k in range(n_known, n_known + n_found):
        draws.constants[k] = features[k]
    return best, best_feature, n_known + n_found
