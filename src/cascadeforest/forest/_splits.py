"""Best and random splits of one node on one binned feature.

A split sends a row left if its bin is at most `cut`; rows without a value lie in the bin `MISSING` and go to a side of
their own. Splits are compared by a *proxy*, the part of the impurity decrease that depends on the split, to be
maximised: with n the weight of a side, v the sum of weight * target and n_c the weight of class c in it,

- squared error (regression), and Gini with two classes, targets 0 and 1:  v_left^2 / n_left + v_right^2 / n_right,
- Gini with more classes:                             sum_c n_c,left^2 / n_left + sum_c n_c,right^2 / n_right,
- entropy:  sum_c n_c,left log2 n_c,left - n_left log2 n_left, and the same for the right side.

Two classes need two sums a bin, (n, v), whatever the criterion; so do nodes in which only two of many classes are left.
Sums are float64: exact for counts, so that a row of weight 2 is the same as two rows, and no order of addition shows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cascadeforest.forest._bits import lowest_bit
from cascadeforest.forest._jit import Int, kernel
from cascadeforest.forest._nodes import (
    ENTROPY,
    GINI,
    MISSING,
    MISSING_LEFT,
    MISSING_RIGHT,
    NONE_MISSING,
    Cells,
    Sample,
    Scratch,
    Target,
    cells_of,
    class_proxy,
    class_term,
    goes_left,
    padded,
    word_bits,
    x_log_x,
)
from cascadeforest.forest._random import random_unit

NO_SPLIT = -1
#: Up to so many rows a node's bins are looked up one by one; above it all bins from the lowest to the highest are.
SMALL_NODE = 256
#: Up to so many rows a random threshold is compared with the rows' own values.
FEW_ROWS = 32
_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)
_BIN_0, _BIN_255 = np.uint8(0), np.uint8(255)


class Split(NamedTuple):
    """A cut of one feature and its proxy."""

    proxy: float
    cut: Int  # NO_SPLIT if there is none
    missing: int  # NONE_MISSING, MISSING_RIGHT or MISSING_LEFT
    threshold: float  # where it was drawn at random; else 0


@kernel(inline=True)
def moment_proxy(n_left: float, v_left: float, n_right: float, v_right: float, criterion: int) -> float:
    """Proxy from weights and sums of weight * target."""
    if criterion == ENTROPY:
        left = x_log_x(v_left) + x_log_x(n_left - v_left) - x_log_x(n_left)
        return left + x_log_x(v_right) + x_log_x(n_right - v_right) - x_log_x(n_right)
    # v_left^2 / n_left + v_right^2 / n_right with one division instead of two.
    return (v_left * v_left * n_right + v_right * v_right * n_left) / (n_left * n_right)


@kernel(inline=True)
def read_words(cells: Cells, sample: Sample, scratch: Scratch, start: int, end: int) -> None:
    """Packed features of the node's rows into `scratch.words`, and which of them vary into `scratch.varying`."""
    n_words = cells.n_words
    begin, distance = np.uint64(start), np.uint64(n_words)
    for k in range(n_words):
        either, both = _0, ~_0
        for j in range(end - start):
            i = np.uint64(j)
            word = cells.words[(sample.key[begin + i] >> _32) * distance + np.uint64(k)]
            scratch.words[i * distance + np.uint64(k)] = word
            either |= word
            both &= word
        scratch.varying[k] = either & ~both


@kernel(inline=True)
def unpack(cells: Cells, scratch: Scratch, n: int, bit: int) -> None:
    """Bins of a packed feature into `scratch.bins`."""
    distance, first, shift = np.uint64(cells.n_words), np.uint64(bit >> 6), np.uint64(bit & 63)
    for k in range(n):
        i = np.uint64(k)
        scratch.bins[i] = np.uint8((scratch.words[i * distance + first] >> shift) & _1)


@kernel(inline=True)
def read_bins(
    cells: Cells, sample: Sample, scratch: Scratch, start: int, end: int, feature: int
) -> tuple[int, int, int]:
    """Bins of the node's rows into `scratch.bins`; their smallest and largest, and how many rows are missing.

    Nothing is written for packed features that do not vary. `read_words` has been called for the node.

    Returns
    -------
    low, high : int
        Over the rows that have a value; low > high if none has.
    n_missing : int
    """
    if cells.packed[feature]:
        bit = np.int64(cells.place[feature])
        if (scratch.varying[bit >> 6] >> np.uint64(bit & 63)) & _1 == _0:
            return 0, 0, 0
        unpack(cells, scratch, end - start, bit)
        return 0, 1, 0
    column, first, step = cells_of(cells, end - start, feature)
    return gather(column, first, step, sample, scratch, start, end)


@kernel(inline=True)
def gather(
    cells: np.ndarray, first: int, step: int, sample: Sample, scratch: Scratch, start: int, end: int
) -> tuple[Int, Int, int]:
    """`read_bins` of a feature that is not packed.

    Returns
    -------
    low, high : int
        Over the rows that have a value; low > high if none has.
    n_missing : int
    """
    bins = scratch.bins
    n = end - start
    begin, origin, distance = np.uint64(start), np.uint64(first), np.uint64(step)
    for k in range(n):
        i = np.uint64(k)
        bins[i] = cells[origin + (sample.key[begin + i] >> _32) * distance]
    # A loop of its own: it runs over 64 bins at a time.
    smallest, largest = _BIN_255, _BIN_0
    for j in range(n):
        smallest = min(smallest, bins[j])
        largest = max(largest, bins[j])
    low, high, n_missing = np.int64(smallest), np.int64(largest), 0
    if high == MISSING:
        high = np.int64(-1)
        for j in range(n):
            if bins[j] == MISSING:
                n_missing += 1
            else:
                high = max(high, np.int64(bins[j]))
    return low, high, n_missing


@kernel(inline=True)
def list_bins(scratch: Scratch, n: int, low: int, high: int) -> int:
    """Write the bins of low to high that may hold rows to `scratch.present`, ascending; returns how many.

    Exactly those that do for small nodes; all for large ones, where nearly every bin does.
    """
    present = scratch.present
    n_bins = 0
    if n > SMALL_NODE or high - low < 8:
        for b in range(low, high + 1):
            present[n_bins] = b
            n_bins += 1
        return n_bins
    mask = scratch.mask
    mask[0] = mask[1] = mask[2] = mask[3] = _0
    for i in range(n):
        b = scratch.bins[i]
        mask[b >> 6] |= _1 << np.uint64(b & 63)
    mask[3] &= ~(_1 << np.uint64(63))  # missing
    for k in range(4):
        word = mask[k]
        while word != _0:
            present[n_bins] = 64 * k + lowest_bit(word)
            word &= word - _1
            n_bins += 1
    return n_bins


@kernel(inline=True)
def enough(rows_left: int, rows_right: int, min_leaf: int, n_left: float, n_right: float, min_weight: float) -> bool:
    """Whether both sides have rows and weight enough; rows are counted only if more than one is asked for."""
    rows = min_leaf == 1 or min(rows_left, rows_right) >= min_leaf
    return rows and n_right > 0.0 and min(n_left, n_right) >= min_weight


@kernel(inline=True)
def best_moment_split(
    sample: Sample,
    scratch: Scratch,
    start: int,
    n: int,
    low: int,
    high: int,
    n_missing: int,
    n_node: float,
    v_node: float,
    criterion: int,
    min_leaf: int,
    min_weight: float,
) -> Split:
    """Best split by sums of weight and weight * target in each bin."""
    hist, begin = scratch.hist, np.uint64(start)  # all zero here, and left so
    for k in range(n):
        i = np.uint64(k)
        at = np.uint64(scratch.bins[i]) << _1
        hist[at] += sample.weight[begin + i]
        hist[at + _1] += scratch.moment[i]
    if min_leaf > 1:
        count_rows(scratch, n, low, high)
    n_lost, v_lost = hist[2 * MISSING], hist[2 * MISSING + 1]
    hist[2 * MISSING] = hist[2 * MISSING + 1] = 0.0
    rows_left = 0
    n_left = v_left = 0.0
    best = Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0)
    missing = MISSING_RIGHT if n_missing > 0 else NONE_MISSING
    for k in range(list_bins(scratch, n, low, high)):
        b = np.int64(scratch.present[k])
        n_bin = hist[2 * b]
        if n_bin == 0.0:
            continue
        n_left += n_bin
        v_left += hist[2 * b + 1]
        hist[2 * b] = hist[2 * b + 1] = 0.0
        if b == high and n_missing == 0:
            break
        if min_leaf > 1:
            rows_left += scratch.counts[b]
        n_right, v_right = n_node - n_left, v_node - v_left
        if enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight):
            proxy = moment_proxy(n_left, v_left, n_right, v_right, criterion)
            if proxy > best.proxy:
                best = Split(proxy, b, missing, 0.0)
        if n_missing == 0 or b == high:
            continue
        n_right -= n_lost
        rows_right = n - rows_left - n_missing
        if enough(rows_left + n_missing, rows_right, min_leaf, n_left + n_lost, n_right, min_weight):
            proxy = moment_proxy(n_left + n_lost, v_left + v_lost, n_right, v_right - v_lost, criterion)
            if proxy > best.proxy:
                best = Split(proxy, b, MISSING_LEFT, 0.0)
    return best


@kernel(inline=True)
def count_rows(scratch: Scratch, n: int, low: int, high: int) -> None:
    """Rows in each bin; only smallest leaf sizes above one ask for it."""
    scratch.counts[low : high + 1] = 0
    for i in range(n):
        scratch.counts[scratch.bins[i]] += 1


@kernel(inline=True)
def move_bin(scratch: Scratch, b: int, width: int, criterion: int) -> tuple[float, float, float]:
    """Move the rows of a bin from right to left: adds its class weights to `scratch.left`.

    Four classes at a time with sums of their own: additions that do not wait for each other, in an order that is the
    same on every machine.

    Returns
    -------
    n_bin : float
        Weight of the bin.
    sum_left, sum_right : float
        Sums of `class_term` over the classes of each side.
    """
    hist, left, total = scratch.hist, scratch.left, scratch.total
    n_0 = n_1 = n_2 = n_3 = l_0 = l_1 = l_2 = l_3 = r_0 = r_1 = r_2 = r_3 = 0.0
    for c in range(0, width, 4):
        j = b * width + c
        w_0, w_1, w_2, w_3 = hist[j], hist[j + 1], hist[j + 2], hist[j + 3]
        x_0, x_1, x_2, x_3 = left[c] + w_0, left[c + 1] + w_1, left[c + 2] + w_2, left[c + 3] + w_3
        y_0, y_1, y_2, y_3 = total[c] - x_0, total[c + 1] - x_1, total[c + 2] - x_2, total[c + 3] - x_3
        left[c], left[c + 1], left[c + 2], left[c + 3] = x_0, x_1, x_2, x_3
        n_0, n_1, n_2, n_3 = n_0 + w_0, n_1 + w_1, n_2 + w_2, n_3 + w_3
        l_0, l_1, l_2, l_3 = l_0 + x_0 * x_0, l_1 + x_1 * x_1, l_2 + x_2 * x_2, l_3 + x_3 * x_3
        r_0, r_1, r_2, r_3 = r_0 + y_0 * y_0, r_1 + y_1 * y_1, r_2 + y_2 * y_2, r_3 + y_3 * y_3
    if criterion == ENTROPY:
        l_0 = l_1 = l_2 = l_3 = r_0 = r_1 = r_2 = r_3 = 0.0
        for c in range(width):
            l_0 += x_log_x(left[c])
            r_0 += x_log_x(total[c] - left[c])
    return (n_0 + n_1) + (n_2 + n_3), (l_0 + l_1) + (l_2 + l_3), (r_0 + r_1) + (r_2 + r_3)


@kernel(inline=True)
def sweep_4(hist: np.ndarray, present: np.ndarray, n_bins: int, total: np.ndarray, n_node: float) -> tuple[float, Int]:
    """Best Gini split of up to four classes, whose left weights stay in registers: `move_bin` took twice as long.

    Returns
    -------
    proxy : float
    cut : int
    """
    t_0, t_1, t_2, t_3 = total[0], total[1], total[2], total[3]
    l_0 = l_1 = l_2 = l_3 = 0.0
    best = -np.inf
    cut: Int = NO_SPLIT
    for k in range(n_bins - 1):
        j = 4 * np.int64(present[k])
        l_0, l_1, l_2, l_3 = l_0 + hist[j], l_1 + hist[j + 1], l_2 + hist[j + 2], l_3 + hist[j + 3]
        r_0, r_1, r_2, r_3 = t_0 - l_0, t_1 - l_1, t_2 - l_2, t_3 - l_3
        n_left = (l_0 + l_1) + (l_2 + l_3)
        sum_left = (l_0 * l_0 + l_1 * l_1) + (l_2 * l_2 + l_3 * l_3)
        sum_right = (r_0 * r_0 + r_1 * r_1) + (r_2 * r_2 + r_3 * r_3)
        n_right = n_node - n_left
        proxy = (sum_left * n_right + sum_right * n_left) / (n_left * n_right)
        if proxy > best and n_right > 0.0:
            best, cut = proxy, np.int64(present[k])
    return best, cut


@kernel(inline=True)
def sweep_8(hist: np.ndarray, present: np.ndarray, n_bins: int, total: np.ndarray, n_node: float) -> tuple[float, Int]:
    """As `sweep_4`, for up to eight classes."""
    t_0, t_1, t_2, t_3, t_4, t_5, t_6, t_7 = (
        total[0],
        total[1],
        total[2],
        total[3],
        total[4],
        total[5],
        total[6],
        total[7],
    )
    l_0 = l_1 = l_2 = l_3 = l_4 = l_5 = l_6 = l_7 = 0.0
    best = -np.inf
    cut: Int = NO_SPLIT
    for k in range(n_bins - 1):
        j = 8 * np.int64(present[k])
        l_0, l_1, l_2, l_3 = l_0 + hist[j], l_1 + hist[j + 1], l_2 + hist[j + 2], l_3 + hist[j + 3]
        l_4, l_5, l_6, l_7 = l_4 + hist[j + 4], l_5 + hist[j + 5], l_6 + hist[j + 6], l_7 + hist[j + 7]
        r_0, r_1, r_2, r_3 = t_0 - l_0, t_1 - l_1, t_2 - l_2, t_3 - l_3
        r_4, r_5, r_6, r_7 = t_4 - l_4, t_5 - l_5, t_6 - l_6, t_7 - l_7
        n_left = ((l_0 + l_1) + (l_2 + l_3)) + ((l_4 + l_5) + (l_6 + l_7))
        sum_left = (l_0 * l_0 + l_1 * l_1) + (l_2 * l_2 + l_3 * l_3)
        sum_left += (l_4 * l_4 + l_5 * l_5) + (l_6 * l_6 + l_7 * l_7)
        sum_right = (r_0 * r_0 + r_1 * r_1) + (r_2 * r_2 + r_3 * r_3)
        sum_right += (r_4 * r_4 + r_5 * r_5) + (r_6 * r_6 + r_7 * r_7)
        n_right = n_node - n_left
        proxy = (sum_left * n_right + sum_right * n_left) / (n_left * n_right)
        if proxy > best and n_right > 0.0:
            best, cut = proxy, np.int64(present[k])
    return best, cut


@kernel(inline=True)
def best_class_split(
    sample: Sample,
    scratch: Scratch,
    start: int,
    n: int,
    low: int,
    high: int,
    n_missing: int,
    n_node: float,
    n_classes: int,
    criterion: int,
    min_leaf: int,
    min_weight: float,
) -> Split:
    """Best split by the weights of each class in each bin, moved from the right side to the left bin after bin."""
    hist, left = scratch.hist, scratch.left
    width = padded(n_classes)
    begin, distance = np.uint64(start), np.uint64(width)
    for k in range(n):  # `hist` is all zero here, and left so
        i = np.uint64(k)
        hist[np.uint64(scratch.bins[i]) * distance + np.uint64(scratch.code[i])] += sample.weight[begin + i]
    if min_leaf > 1:
        count_rows(scratch, n, low, high)
    n_bins = list_bins(scratch, n, low, high)
    best = Split(-np.inf, NO_SPLIT, NONE_MISSING, 0.0)
    missing = MISSING_RIGHT if n_missing > 0 else NONE_MISSING
    plain = n_missing == 0 and min_leaf == 1 and min_weight == 0.0 and criterion == GINI
    if plain and width == 4:
        proxy, cut = sweep_4(hist, scratch.present, n_bins, scratch.total, n_node)
        best = Split(proxy, cut, missing, 0.0)
    elif plain and width == 8:
        proxy, cut = sweep_8(hist, scratch.present, n_bins, scratch.total, n_node)
        best = Split(proxy, cut, missing, 0.0)
    while not plain or width > 8:  # once, or with the rows without a value on the right and then on the left
        n_left = 0.0
        rows_left = 0
        for c in range(width):
            left[c] = 0.0
        if missing == MISSING_LEFT:
            n_left, _, _ = move_bin(scratch, MISSING, width, criterion)
            rows_left = n_missing
        for k in range(n_bins):
            b = np.int64(scratch.present[k])
            if b == high and missing != MISSING_RIGHT:
                break
            n_bin, sum_left, sum_right = move_bin(scratch, b, width, criterion)
            if n_bin == 0.0:
                continue
            n_left += n_bin
            if min_leaf > 1:
                rows_left += scratch.counts[b]
            n_right = n_node - n_left
            if enough(rows_left, n - rows_left, min_leaf, n_left, n_right, min_weight):
                proxy = class_proxy(n_left, sum_left, n_right, sum_right, criterion)
                if proxy > best.proxy:
                    best = Split(proxy, b, missing, 0.0)
        if missing != MISSING_RIGHT:
            break
        missing = MISSING_LEFT
    for k in range(n_bins):
        first = np.int64(scratch.present[k]) * width
        for c in range(0, width, 4):
            hist[first + c] = hist[first + c + 1] = hist[first + c + 2] = hist[first + c + 3] = 0.0
    if n_missing > 0:
        for c in range(width):
            hist[MISSING * width + c] = 0.0
    return best


@kernel(inline=True)
def random_threshold(centers: np.ndarray, low: int, high: int, state: np.ndarray) -> float:
    """A threshold drawn uniformly between the values of the bins `low` and `high`.

    Where each bin is one distinct value, this is the law of Extra-Trees (Geurts, Ernst, Wehenkel 2006) exactly: the
    threshold is uniform over *values*, so that wide gaps are cut more often.
    """
    first, last = centers[low], centers[high]
    u = random_unit(state)
    threshold = (1.0 - u) * first + u * last  # the difference of the two might overflow
    return threshold if first < threshold < last else first  # it may round to either


@kernel(inline=True)
def cut_at(centers: np.ndarray, threshold: float, low: int, high: int) -> int:
    """The last bin of [low, high) whose centre is at most the threshold; no branch could be mispredicted."""
    cut, width = low, high - low
    while width > 1:
        half = width >> 1
        cut += half if centers[cut + half] <= threshold else 0
        width -= half
    return cut


@kernel(inline=True)
def cut_among_rows(centers: np.ndarray, scratch: Scratch, n: int, threshold: float, low: int) -> Int:
    """The last bin *of the node's rows* whose centre is at most the threshold: the same rows go left as with `cut_at`.

    For few rows: their look-ups do not wait for each other, those of a search do. It took a third of the time.
    """
    least = np.int64(low)
    cut = least
    for i in range(n):
        b = np.int64(scratch.bins[i])
        cut = max(cut, b if (b != MISSING) & (centers[min(b, 254)] <= threshold) else least)  # type: ignore[call-overload]  # numba takes a whole number of min
    return cut


@kernel(inline=True)
def rows_at_most(scratch: Scratch, n: int, cut: int, missing: int) -> int:
    """How many of the node's rows go left."""
    n_left = 0
    for i in range(n):
        n_left += goes_left(scratch.bins[i], cut, missing)
    return n_left


@kernel(inline=True)
def weight_at_most(sample: Sample, scratch: Scratch, start: int, n: int, cut: int, missing: int) -> float:
    """Weight of the node's rows that go left."""
    n_left = 0.0
    for i in range(n):
        n_left += np.float64(goes_left(scratch.bins[i], cut, missing)) * sample.weight[start + i]
    return n_left


@kernel(inline=True)
def moment_proxy_of(
    sample: Sample,
    scratch: Scratch,
    whole: bool,
    start: int,
    n: int,
    cut: int,
    missing: int,
    n_node: float,
    v_node: float,
    criterion: int,
) -> float:
    """Proxy of one given split, from weights and sums of weight * target."""
    n_left = v_left = 0.0
    if whole:
        n_whole = v_whole = np.int64(0)
        for i in range(n):
            is_left = np.int32(goes_left(scratch.bins[i], cut, missing))
            n_whole += is_left * scratch.whole_weight[i]
            v_whole += is_left * scratch.whole_moment[i]
        n_left, v_left = np.float64(n_whole), np.float64(v_whole)
    else:
        for i in range(n):
            left = np.float64(goes_left(scratch.bins[i], cut, missing))  # 0 or 1: a branch would be mispredicted
            n_left += left * sample.weight[start + i]
            v_left += left * scratch.moment[i]
    return moment_proxy(n_left, v_left, n_node - n_left, v_node - v_left, criterion)


@kernel(inline=True)
def class_proxy_of(
    sample: Sample,
    scratch: Scratch,
    target: Target,
    start: int,
    n: int,
    cut: int,
    missing: int,
    n_node: float,
    n_classes: int,
    criterion: int,
) -> float:
    """Proxy of one given split, from the weights of each class."""
    hist, total = scratch.hist, scratch.total  # all zero here, and left so
    n_left = sum_left = sum_right = 0.0
    bits = word_bits(target, n_node, n_classes)
    if bits > _0:
        word = _0
        for k in range(n):
            i = np.uint64(k)
            word += scratch.key[i] * np.uint64(goes_left(scratch.bins[i], cut, missing))
        mask = (_1 << bits) - _1
        for c in range(n_classes):
            left = np.float64((word >> (np.uint64(c) * bits)) & mask)
            n_left += left
            sum_left += class_term(left, criterion)
            sum_right += class_term(total[c] - left, criterion)
        return class_proxy(n_left, sum_left, n_node - n_left, sum_right, criterion)
    begin = np.uint64(start)
    for k in range(n):
        i = np.uint64(k)
        side = np.uint64(goes_left(scratch.bins[i], cut, missing))
        hist[(np.uint64(scratch.code[i]) << _1) + side] += sample.weight[begin + i]
    for c in range(n_classes):
        left = hist[2 * c + 1]
        hist[2 * c] = hist[2 * c + 1] = 0.0
        n_left += left
        sum_left += class_term(left, criterion)
        sum_right += class_term(total[c] - left, criterion)
    return class_proxy(n_left, sum_left, n_node - n_left, sum_right, criterion)
