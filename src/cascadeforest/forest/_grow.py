"""Growing one tree on binned features into flat arrays: depth first, or best first up to a number of leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cascadeforest.forest._jit import kernel
from cascadeforest.forest._nodes import (
    GINI,
    MISSING,
    MISSING_LEFT,
    NONE_MISSING,
    Cells,
    Described,
    Plant,
    Sample,
    Scratch,
    Target,
    describe,
    draw_sample,
    feature_of,
    make_scratch,
    node_purity,
    not_negative,
    pack_split,
    partition,
    write_leaf,
)
from cascadeforest.forest._search import BEST, Draws, Rules, find_split
from cascadeforest.forest._splits import NO_SPLIT, Split, cut_at, read_bins

_32 = np.uint64(32)


@kernel(inline=True)
def gain_of(split: Split, described: Described, purity: float, target: Target, criterion: int) -> float:
    """Weight times impurity decrease of a split, in units of `node_purity`."""
    if described.n_present == 2 and target.n_classes > 0 and criterion == GINI:
        # v^2 / n is half of what sum_c n_c^2 / n gains from a split into two classes.
        return 2.0 * (split.proxy - described.v_node * described.v_node / described.n_node)
    return split.proxy - purity


@kernel(inline=True)
def push(stack: np.ndarray, height: int, start: int, end: int, depth: int, parent: int, n_known: int) -> None:
    """Put a node on the stack."""
    stack[height, 0], stack[height, 1], stack[height, 2] = start, end, depth
    stack[height, 3], stack[height, 4] = parent, n_known


@kernel(inline=True)
def is_leaf(start: int, end: int, depth: int, described: Described, min_weight: float, rules: Rules) -> bool:
    """Whether a node is not to be split, whatever its features are."""
    n = end - start
    few = n < rules.min_samples_split or n < 2 * rules.min_samples_leaf or described.n_node < 2.0 * min_weight
    return described.pure or depth >= rules.max_depth or few


@kernel(inline=True)
def place(plant: Plant, node: int, parent: int, purity: float) -> None:
    """Count a node's purity for its parent's feature and, if it is a right child, enter it there."""
    if parent >= 0:
        plant.decreases[feature_of(plant.nodes[parent])] += purity
        if node != parent + 1:
            plant.nodes[parent] |= np.uint64(node) << _32


@kernel(inline=True)
def divide(
    cells: Cells,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    rules: Rules,
    feature: int,
    split: Split,
    start: int,
    end: int,
    n_node: float,
) -> tuple[int, np.uint64]:
    """Divide a node's rows.

    Returns
    -------
    middle : int
        The first row of the right child.
    word : uint64
        The node's word. A best cut lies half way between the values on its two sides, as scikit-learn's thresholds
        do: at the left one's end of the gap, rows of other data would go right too often.
    """
    read_bins(cells, sample, scratch, start, end, feature)  # the search may have looked at others since
    middle, right_bin, n_left = partition(sample, scratch, start, end, split.cut, split.missing)
    cut = np.int64(split.cut)
    if right_bin == MISSING:  # whatever has a value goes left
        cut = np.int64(MISSING - 1)
    elif rules.splitter == BEST:
        value = centers[feature]
        cut = cut_at(value, 0.5 * value[cut] + 0.5 * value[right_bin], cut, right_bin)
    missing_left = split.missing == MISSING_LEFT
    if split.missing == NONE_MISSING:  # later ones go where most of the node's weight went
        missing_left = n_left > n_node - n_left
    return middle, pack_split(feature, cut, missing_left)


@kernel
def grow_depth_first(
    cells: Cells,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    target: Target,
    rules: Rules,
    draws: Draws,
    plant: Plant,
) -> tuple[int, int, float]:
    """Grow a tree node by node; returns how many nodes and values it has, and the weight of its root."""
    stack = plant.stack
    n_nodes = n_values = 0
    n_root = 0.0
    # Nodes to visit: start, end, depth, parent, known constants. Left children come first, so that the left child of
    # a node is the next one and the stack holds one right child a level.
    push(stack, 0, 0, sample.key.size, 0, -1, 0)
    height = 1
    while height > 0:
        height -= 1
        start, end, depth = not_negative(stack[height, 0]), not_negative(stack[height, 1]), stack[height, 2]
        parent, n_known = stack[height, 3], stack[height, 4]
        node = n_nodes
        n_nodes += 1
        described = describe(sample, scratch, target, plant.counts, start, end)
        purity = node_purity(described, scratch.total, target, rules.criterion)
        place(plant, node, parent, purity)
        if parent < 0:
            n_root = described.n_node
        split, feature = Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0), np.int64(-1)
        min_weight = rules.min_weight_fraction_leaf * n_root
        if not is_leaf(start, end, depth, described, min_weight, rules):
            split, feature, n_known = find_split(
                cells, centers, sample, scratch, target, rules, draws, start, end, n_known, node, described, min_weight
            )
        if split.cut != NO_SPLIT and rules.min_impurity_decrease > 0.0:
            gain = gain_of(split, described, purity, target, rules.criterion)
            # A few units in the last place are rounding, not a decrease that is missing.
            if gain * (1.0 + 1e-12) < rules.min_impurity_decrease * n_root:
                split = Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0)
        if split.cut == NO_SPLIT:
            plant.nodes[node], n_values = write_leaf(plant, n_values, sample, target, start, described)
            continue
        middle, plant.nodes[node] = divide(
            cells, centers, sample, scratch, rules, feature, split, start, end, described.n_node
        )
        plant.decreases[feature] -= purity
        push(stack, height, middle, end, depth + 1, node, n_known)
        push(stack, height + 1, start, middle, depth + 1, node, n_known)
        height += 2
    return n_nodes, n_values, n_root


class Bud(NamedTuple):
    """Nodes of a tree that grows best first, in the order of their making; column by column."""

    start: np.ndarray  # int64
    end: np.ndarray
    depth: np.ndarray
    middle: np.ndarray  # first row of the right child
    left: np.ndarray  # left child, the right one is the next; -1 while the node is a leaf
    word: np.ndarray  # uint64: node word of the split that it would get
    gain: np.ndarray  # float64: weight times impurity decrease of that split; -1 if there is none
    heap: np.ndarray  # int64: the leaves that can be split, as a binary heap: none comes before its parent


@kernel(inline=True)
def set_bud(
    cells: Cells,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    target: Target,
    rules: Rules,
    draws: Draws,
    plant: Plant,
    buds: Bud,
    node: int,
    start: int,
    end: int,
    depth: int,
    n_root: float,
) -> float:
    """Enter a node with the split that it would get; its rows are divided already. Returns its weight."""
    start, end = not_negative(start), not_negative(end)
    buds.start[node], buds.end[node], buds.depth[node], buds.left[node] = start, end, depth, -1
    buds.gain[node] = -1.0
    described = describe(sample, scratch, target, plant.counts, start, end)
    n_node = described.n_node
    min_weight = rules.min_weight_fraction_leaf * (n_node if n_root == 0.0 else n_root)
    if is_leaf(start, end, depth, described, min_weight, rules):
        return n_node
    purity = node_purity(described, scratch.total, target, rules.criterion)
    # Constants of an ancestor are remembered along one path only: here none are known.
    split, feature, _ = find_split(
        cells, centers, sample, scratch, target, rules, draws, start, end, 0, node, described, min_weight
    )
    if split.cut == NO_SPLIT:
        return n_node
    gain = max(0.0, gain_of(split, described, purity, target, rules.criterion))
    if gain * (1.0 + 1e-12) < rules.min_impurity_decrease * (n_node if n_root == 0.0 else n_root):
        return n_node
    buds.middle[node], buds.word[node] = divide(
        cells, centers, sample, scratch, rules, feature, split, start, end, n_node
    )
    buds.gain[node] = gain
    return n_node


@kernel(inline=True)
def comes_before(buds: Bud, a: int, b: int) -> bool:
    """Whether leaf `a` is split before leaf `b`: by gain, the older of equals."""
    return buds.gain[a] > buds.gain[b] or (buds.gain[a] == buds.gain[b] and a < b)


@kernel(inline=True)
def push_leaf(buds: Bud, n_heap: int, node: int) -> None:
    """Enter a leaf into the heap, which holds `n_heap` others."""
    heap, place = buds.heap, n_heap
    while place > 0 and comes_before(buds, node, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = node


@kernel(inline=True)
def pop_leaf(buds: Bud, n_heap: int) -> int:
    """Take the leaf that is split next from the heap of `n_heap` leaves."""
    heap = buds.heap
    first, node, place = heap[0], heap[n_heap - 1], 0
    while 2 * place + 1 < n_heap - 1:
        child = 2 * place + 1
        if child + 1 < n_heap - 1 and comes_before(buds, heap[child + 1], heap[child]):
            child += 1
        if comes_before(buds, node, heap[child]):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = node
    return first


@kernel
def grow_best_first(
    cells: Cells,
    centers: np.ndarray,
    sample: Sample,
    scratch: Scratch,
    target: Target,
    rules: Rules,
    draws: Draws,
    plant: Plant,
    buds: Bud,
) -> tuple[int, int, float]:
    """Grow a tree up to `max_leaf_nodes`, always splitting the leaf whose split gains most (the oldest of equals)."""
    # One call site for the first node and for all children: the search is inlined here.
    n_buds, n_leaves, n_heap, chosen, n_root = 0, 1, 0, -1, 0.0
    start, end, depth = np.int64(0), np.int64(sample.key.size), np.int64(0)
    while True:
        n_node = set_bud(
            cells, centers, sample, scratch, target, rules, draws, plant, buds, n_buds, start, end, depth, n_root
        )
        if buds.gain[n_buds] >= 0.0:
            push_leaf(buds, n_heap, n_buds)
            n_heap += 1
        n_buds += 1
        if chosen < 0:
            n_root = n_node
        elif n_buds == buds.left[chosen] + 1:  # the right child's turn
            start, end = buds.middle[chosen], buds.end[chosen]
            continue
        if n_heap == 0 or n_leaves == rules.max_leaf_nodes:
            break
        chosen = pop_leaf(buds, n_heap)
        n_heap -= 1
        buds.left[chosen] = n_buds
        n_leaves += 1
        start, end, depth = buds.start[chosen], buds.middle[chosen], buds.depth[chosen] + 1
    # The same tree depth first, which is how its nodes are stored.
    stack = plant.stack
    n_nodes = n_values = 0
    push(stack, 0, 0, -1, 0, 0, 0)
    height = 1
    while height > 0:
        height -= 1
        bud, parent = stack[height, 0], stack[height, 1]
        node = n_nodes
        n_nodes += 1
        start, end = not_negative(buds.start[bud]), not_negative(buds.end[bud])
        described = describe(sample, scratch, target, plant.counts, start, end)
        purity = node_purity(described, scratch.total, target, rules.criterion)
        place(plant, node, parent, purity)
        if buds.left[bud] < 0:
            plant.nodes[node], n_values = write_leaf(plant, n_values, sample, target, start, described)
            continue
        plant.nodes[node] = buds.word[bud]
        plant.decreases[feature_of(buds.word[bud])] -= purity
        push(stack, height, buds.left[bud] + 1, node, 0, 0, 0)
        push(stack, height + 1, buds.left[bud], node, 0, 0, 0)
        height += 2
    return n_nodes, n_values, n_root


@kernel(allocates=True)
def make_buds(n: int) -> Bud:
    """Room for `n` nodes."""
    return Bud(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.uint64),
        np.empty(n, np.float64),
        np.empty(n, np.int64),
    )


@kernel(allocates=True)
def grow_tree(
    cells: Cells,
    centers: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    target: Target,
    counts: np.ndarray,
    seed: np.uint64,
    rules: Rules,
    features: np.ndarray,
    cumulative: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grow one tree.

    Parameters
    ----------
    cells : Cells
        Bins.
    centers : float64 array of shape (n_features, 255)
        A value for each bin, ascending, for random thresholds.
    rows : int32 array of shape (n,)
        Rows of the binned matrix that this forest learns from.
    weights : float64 array of shape (n,)
        Their weights, positive.
    target : Target
        Their labels.
    counts : int32 array of shape (n,)
        How often the tree's bootstrap drew each of them.
    seed : uint64
        Decides features and random thresholds.
    rules : Rules
    features : int32 array
        Features that may be looked at.
    cumulative : float64 array of shape (n_features,) or (0,)
        Running sum of feature weights over all features, or empty for equal ones.

    Returns
    -------
    nodes : uint64 array
    values : float32 array of shape (n_values, max(1, n_classes))
    decreases : float64 array of shape (n_features,)
        Impurity decrease by feature: Eq. 6 of the interpretation paper.
    """
    n_features = cells.packed.size
    sample = draw_sample(rows, weights, target, counts)
    n = sample.key.size
    scratch = make_scratch(n, target.n_classes, cells.n_words)
    state = np.empty(1, np.uint64)
    state[0] = seed
    draws = Draws(
        state,
        features.copy(),
        np.empty(features.size, np.int32),
        cumulative,
        np.full(cumulative.size, -1, np.int32),
    )
    # Memory that is never written is never taken from the system: these bounds cost nothing.
    max_nodes = 2 * n - 1
    if rules.max_leaf_nodes > 0:
        max_nodes = min(max_nodes, 2 * rules.max_leaf_nodes - 1)
    n_outputs = max(1, target.n_classes)
    plant = Plant(
        np.empty(max_nodes, np.uint64),
        np.empty((n if target.n_classes == 0 else n // 2 + 1, n_outputs), np.float32),
        np.zeros(n_features, np.float64),
        np.zeros(n_outputs, np.float64),
        np.empty((n + 1, 5), np.int64),
    )
    if rules.max_leaf_nodes > 0:
        n_nodes, n_values, n_root = grow_best_first(
            cells, centers, sample, scratch, target, rules, draws, plant, make_buds(max_nodes)
        )
    else:
        n_nodes, n_values, n_root = grow_depth_first(cells, centers, sample, scratch, target, rules, draws, plant)
    return plant.nodes[:n_nodes].copy(), plant.values[:n_values].copy(), plant.decreases / n_root
