"""Nodes: the word that stands for one, the rows of one while a tree grows, their statistics, their division.

A node of a grown tree is one 64-bit word, so that a walk reads one word a level:

====  ===============================================================================================
bits  meaning
====  ===============================================================================================
0-7   cut: rows whose bin is at most this go left (255 in leaves)
8     whether rows without a value go left
9-31  feature (`LEAF` in leaves)
32-63 right child, counted from the tree's root (its left child is the next node); a leaf's value row
====  ===============================================================================================

A leaf's value row is an index into the values of the tree. The first `n_classes` rows are not stored with a tree: they
stand for 'all weight in class c', which is what nearly all leaves of a fully grown classification tree are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cascadeforest.forest._jit import Int, kernel

#: Bin of rows without a value; the values' bins are 0 to 254.
MISSING = 255
#: Rows without a value in the node at hand: there are none, or the side to which they go.
NONE_MISSING, MISSING_RIGHT, MISSING_LEFT = 0, 1, 2
GINI, ENTROPY = 0, 1
LEAF = (1 << 23) - 1
MAX_FEATURES = LEAF
_CUT, _FEATURE, _LOW_HALF = np.uint64(0xFF), np.uint64(LEAF), np.uint64(0xFFFFFFFF)
_NO_BITS, _ALL_BITS = np.uint8(0), np.uint8(255)
_0, _1, _8, _9, _16, _32 = (np.uint64(number) for number in (0, 1, 8, 9, 16, 32))


class Cells(NamedTuple):
    """The binned matrix: feature by feature, row by row, and columns of two values as bits.

    A node of few rows reads bins that are far apart. Row by row all features of a row share a cache line or two, which
    the first feature brings and the others find; feature by feature each brings a line of its own. Of columns with two
    values (one-hot ones) a row has a few words: a node reads them once, knows which of the columns vary, and takes the
    bins of these from the words.
    """

    by_feature: np.ndarray  # uint8 (n_features * n_rows)
    by_row: np.ndarray  # uint8 (n_rows * n_wide): features that are not packed; empty where it would not pay
    words: np.ndarray  # uint64 (n_rows * n_words): packed features
    place: np.ndarray  # int32 (n_features): column in `by_row`, or bit if packed
    packed: np.ndarray  # bool (n_features)
    n_rows: int  # distance of the features in `by_feature`; 1 if they overlap
    n_wide: int  # features that are not packed
    n_words: int  # 0: none is
    few: int  # nodes with fewer rows read row by row


@kernel(inline=True)
def cells_of(cells: Cells, n: int, feature: int) -> tuple[np.ndarray, int, int]:
    """The array from which a node of `n` rows reads a feature, where its first row is, and how far apart rows are."""
    if n < cells.few and not cells.packed[feature]:
        return cells.by_row, not_negative(np.int64(cells.place[feature])), cells.n_wide
    return cells.by_feature, not_negative(feature * cells.n_rows), 1


class Sample(NamedTuple):
    """In-bag rows of one tree, permuted in place while it grows: a node is a range of positions."""

    key: np.ndarray  # uint64: row of the binned matrix (high half) and label (low half)
    weight: np.ndarray  # float32, > 0


class Scratch(NamedTuple):
    """Working memory of one thread; contents mean something within one call only."""

    bins: np.ndarray  # uint8 (n): bins of the node's rows in the feature at hand
    words: np.ndarray  # uint64 (n * n_words): packed features of the node's rows
    varying: np.ndarray  # uint64 (n_words): which of them take both values in the node
    moment: np.ndarray  # float64 (n): weight * target of the node's rows
    whole_weight: np.ndarray  # int32 (n): weight of the node's rows, if all weights are whole
    whole_moment: np.ndarray  # int32 (n): weight * target, likewise
    code: np.ndarray  # uint16 (n): class of the node's rows, numbered within the node
    mask: np.ndarray  # uint64 (4): set of bins
    present: np.ndarray  # uint8 (256): bins that hold rows, ascending
    counts: np.ndarray  # int64 (256): rows a bin
    # float64 (256 * width): sums a bin, all 0 between calls; width is n_classes, rounded up to a multiple of 4. For one
    # given cut (`class_proxy_of`) it holds the two sides of each class.
    hist: np.ndarray
    total: np.ndarray  # float64 (width): weight of each of the node's classes, then 0
    left: np.ndarray  # float64 (width): weight of each class on the left; in `class_statistics` the classes' numbers
    key: np.ndarray  # uint64 (n): rows that go right, while a node is divided; before, the rows' words (`word_bits`)
    weight: np.ndarray  # float32 (n)


class Target(NamedTuple):
    """What is learned."""

    label: np.ndarray  # int32: class, or index of a row's target in `value` (regression)
    value: np.ndarray  # float64: the distinct targets, centred (regression); 0 and 1 (two classes); else empty
    n_classes: int  # 0: regression
    whole: bool  # classification, and all weights are whole numbers whose sum fits into 32 bits
    in_words: bool  # whether `word_bits` is used: whole weights, and random splits


class Plant(NamedTuple):
    """Arrays that a growing tree fills."""

    nodes: np.ndarray  # uint64
    values: np.ndarray  # float32
    decreases: np.ndarray  # float64 (n_features)
    counts: np.ndarray  # float64 (n_classes): weights of the classes in the node at hand
    stack: np.ndarray  # int64 (height, 5)


@kernel(inline=True)
def pack_split(feature: int, cut: int, missing_left: bool) -> np.uint64:
    """Node word of a split whose right child is not known yet."""
    return np.uint64(cut) | (np.uint64(missing_left) << _8) | (np.uint64(feature) << _9)


@kernel(inline=True)
def pack_leaf(value_row: int) -> np.uint64:
    """Node word of a leaf."""
    return _CUT | (_FEATURE << _9) | (np.uint64(value_row) << _32)


@kernel(inline=True)
def feature_of(word: np.uint64) -> Int:
    """Feature of a node word; `LEAF` in leaves."""
    return np.int64((word >> _9) & _FEATURE)


@kernel(inline=True)
def not_negative(position: int) -> int:
    """The same position. It tells the compiler that it is not counted from the end, as a negative index would be.

    Otherwise each access with a computed index takes three more instructions, and loops are not vectorised. In loops
    over rows the compiler loses track of it: there positions are uint64, which took a seventh off the time of growing.
    """
    return position & 0x7FFFFFFFFFFF


@kernel(inline=True)
def padded(n_classes: int) -> int:
    """Number of classes, rounded up to a multiple of 4."""
    return (n_classes + 3) & 0x7FFFFFFC


@kernel(inline=True)
def label_of(key: np.uint64) -> Int:
    """Class, or index of the target."""
    return np.int64(key & _LOW_HALF)


@kernel(inline=True)
def goes_left(b: int, cut: int, missing: int) -> np.bool_:
    """Whether a row of this bin goes left; one comparison, for MISSING + 1 is 0 in eight bits."""
    shift = np.uint8(missing == MISSING_LEFT)
    return np.uint8(b + shift) <= np.uint8(cut + shift)


@kernel(inline=True)
def x_log_x(x: float) -> float:
    """``x * log2(x)``, 0 at 0."""
    return x * np.log2(x) if x > 0.0 else 0.0


@kernel(inline=True)
def class_term(n_c: float, criterion: int) -> float:
    """What one class adds to a side's sum."""
    return x_log_x(n_c) if criterion == ENTROPY else n_c * n_c


@kernel(inline=True)
def class_proxy(n_left: float, sum_left: float, n_right: float, sum_right: float, criterion: int) -> float:
    """Proxy from the sides' sums of `class_term`."""
    if criterion == ENTROPY:
        return sum_left - x_log_x(n_left) + sum_right - x_log_x(n_right)
    # sum_left / n_left + sum_right / n_right with one division instead of two.
    return (sum_left * n_right + sum_right * n_left) / (n_left * n_right)


@kernel(allocates=True)
def make_scratch(n: int, n_classes: int, n_words: int) -> Scratch:
    """Working memory for trees of up to `n` in-bag rows."""
    width = max(4, padded(n_classes))
    return Scratch(
        np.empty(n, np.uint8),
        np.empty(n * n_words, np.uint64),
        np.empty(n_words, np.uint64),
        np.empty(n, np.float64),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.uint16),
        np.empty(4, np.uint64),
        np.empty(256, np.uint8),
        np.empty(256, np.int64),
        np.zeros(256 * width, np.float64),
        np.empty(width, np.float64),
        np.empty(width, np.float64),
        np.empty(n, np.uint64),
        np.empty(n, np.float32),
    )


@kernel(allocates=True)
def draw_sample(rows: np.ndarray, weights: np.ndarray, target: Target, counts: np.ndarray) -> Sample:
    """In-bag rows of a tree, weighted by how often they were drawn."""
    n = 0
    for i in range(rows.size):
        n += counts[i] > 0
    key, weight = np.empty(n, np.uint64), np.empty(n, np.float32)
    n = 0
    for i in range(rows.size):
        if counts[i] > 0:
            key[n] = (np.uint64(rows[i]) << _32) | np.uint64(np.uint32(target.label[i]))
            weight[n] = counts[i] * weights[i]
            n += 1
    return Sample(key, weight)


@kernel(inline=True)
def copy_whole(sample: Sample, scratch: Scratch, start: int, end: int) -> None:
    """Weights and moments as integers: their sums need no order, so that the compiler adds many at a time."""
    begin = np.uint64(start)
    for k in range(end - start):
        i = np.uint64(k)
        scratch.whole_weight[i] = np.int32(sample.weight[begin + i])
        scratch.whole_moment[i] = np.int32(scratch.moment[i])


@kernel(inline=True)
def moment_statistics(
    sample: Sample, scratch: Scratch, value: np.ndarray, whole: bool, start: int, end: int
) -> tuple[float, float, bool, float]:
    """Weight, sum of weight * target, whether all are equal, sum of weight * target^2; fills `scratch.moment`."""
    n_node = v_node = squares = 0.0
    first, begin = sample.key[start], np.uint64(start)
    differing = _0
    for k in range(end - start):
        i = np.uint64(k)
        w, key = np.float64(sample.weight[begin + i]), sample.key[begin + i]
        y = value[key & _LOW_HALF]
        v = w * y
        scratch.moment[i] = v
        n_node += w
        v_node += v
        squares += v * y
        differing |= key ^ first
    if whole:
        copy_whole(sample, scratch, start, end)
    return n_node, v_node, label_of(differing) == 0, squares


@kernel(inline=True)
def class_statistics(
    sample: Sample, scratch: Scratch, target: Target, start: int, end: int, counts: np.ndarray
) -> tuple[float, int]:
    """Weight of the node and of each class (`counts`), and how many classes it has.

    Numbers the classes within the node: their weights go to `scratch.total`, the rows' numbers to `scratch.code` (or
    the rows' words to `scratch.key`, see `word_bits`); if there are two, weight * number goes to `scratch.moment`.
    """
    n_classes, begin = target.n_classes, np.uint64(start)
    for c in range(n_classes):
        counts[c] = 0.0
    for k in range(end - start):
        i = begin + np.uint64(k)
        counts[sample.key[i] & _LOW_HALF] += sample.weight[i]
    n_node = 0.0
    n_present = 0
    for c in range(n_classes):
        if counts[c] > 0.0:
            n_node += counts[c]
            scratch.total[n_present] = counts[c]
            scratch.left[c] = n_present
            n_present += 1
    for c in range(n_present, padded(n_present)):
        scratch.total[c] = 0.0
    if n_present == 2:
        for k in range(end - start):
            i = np.uint64(k)
            scratch.moment[i] = sample.weight[begin + i] * scratch.left[sample.key[begin + i] & _LOW_HALF]
        if target.whole:
            copy_whole(sample, scratch, start, end)
    elif n_present > 2:
        bits = word_bits(target, n_node, n_present)
        if bits > _0:
            for k in range(end - start):
                i = begin + np.uint64(k)
                shift = np.uint64(scratch.left[sample.key[i] & _LOW_HALF]) * bits
                scratch.key[np.uint64(k)] = np.uint64(sample.weight[i]) << shift
        else:
            for k in range(end - start):
                i = np.uint64(k)
                scratch.code[i] = np.uint16(scratch.left[sample.key[begin + i] & _LOW_HALF])
    return n_node, n_present


@kernel(inline=True)
def word_bits(target: Target, n_node: float, n_present: int) -> np.uint64:
    """Bits a class if the weights of all of a node's classes, added up, fit into one word; else 0.

    Then a random split is compared by a single sum over its rows, without a histogram.
    """
    if not target.in_words:
        return _0
    if n_node < 256.0 and n_present <= 8:
        return _8
    return _16 if n_node < 65536.0 and n_present <= 4 else _0


class Described(NamedTuple):
    """Statistics of a node."""

    n_node: float  # weight
    v_node: float  # sum of weight * target, where two classes are present, or in regression
    n_present: int  # classes; 2 in regression
    pure: bool  # whether all targets are equal
    squares: float  # sum of weight * target^2 in regression; the proxy of a split into two pure sides


@kernel(inline=True)
def describe(sample: Sample, scratch: Scratch, target: Target, counts: np.ndarray, start: int, end: int) -> Described:
    """Statistics of a node; fills `counts` and what `class_statistics` and `moment_statistics` say."""
    if target.n_classes == 0 or target.n_classes == 2:
        n_node, v_node, pure, squares = moment_statistics(sample, scratch, target.value, target.whole, start, end)
        if target.n_classes == 2:
            counts[0], counts[1] = n_node - v_node, v_node
            scratch.total[0], scratch.total[1] = counts[0], counts[1]
        return Described(n_node, v_node, 2, pure, squares)
    n_node, n_present = class_statistics(sample, scratch, target, start, end, counts)
    v_node = scratch.total[1] if n_present == 2 else 0.0
    return Described(n_node, v_node, n_present, n_present == 1, 0.0)


@kernel(inline=True)
def node_purity(described: Described, total: np.ndarray, target: Target, criterion: int) -> float:
    """Weight times (a constant minus impurity). The sum over both children minus that of the node is n(t) * Eq. 7.

    A constant 1 for Gini, the target's second moment for squared error, 0 for entropy.
    """
    if target.n_classes == 0:
        return described.v_node * described.v_node / described.n_node
    node_sum = 0.0
    for c in range(described.n_present):
        node_sum += class_term(total[c], criterion)
    return node_sum - x_log_x(described.n_node) if criterion == ENTROPY else node_sum / described.n_node


@kernel(inline=True)
def write_leaf(
    plant: Plant, n_values: int, sample: Sample, target: Target, start: int, described: Described
) -> tuple[np.uint64, int]:
    """Node word of a leaf; appends its value unless it is one of the pure ones. Returns word and number of values."""
    if target.n_classes == 0:
        plant.values[n_values, 0] = described.v_node / described.n_node
        return pack_leaf(n_values), n_values + 1
    if described.pure:
        return pack_leaf(label_of(sample.key[start])), n_values
    for c in range(target.n_classes):
        plant.values[n_values, c] = plant.counts[c] / described.n_node
    return pack_leaf(target.n_classes + n_values), n_values + 1


@kernel(inline=True)
def partition(sample: Sample, scratch: Scratch, start: int, end: int, cut: int, missing: int) -> tuple[Int, Int, float]:
    """Move the rows that go left to the front of the node, both sides in their old order; reads `scratch.bins`.

    Without branches: each row is written to both sides, and only one of the two positions advances.

    Returns
    -------
    middle : int
        The first row that goes right.
    right_bin : int
        Smallest bin on the right; MISSING if no row there has a value.
    n_left : float
        Weight of the rows that go left.
    """
    begin = np.uint64(start)
    left, right = begin, _0
    n_left = 0.0
    right_bin = np.uint8(MISSING)
    for k in range(end - start):
        i = np.uint64(k)
        key, weight, b = sample.key[begin + i], sample.weight[begin + i], scratch.bins[i]
        left_side = goes_left(b, cut, missing)
        sample.key[left], sample.weight[left] = key, weight
        scratch.key[right], scratch.weight[right] = key, weight
        n_left += np.float64(left_side) * weight
        left += np.uint64(left_side)
        right += _1 - np.uint64(left_side)
        right_bin = min(right_bin, b | (_ALL_BITS if left_side else _NO_BITS))
    for k in range(np.int64(right)):
        i = np.uint64(k)
        sample.key[left + i] = scratch.key[i]
        sample.weight[left + i] = scratch.weight[i]
    return np.int64(left), np.int64(right_bin), n_left
