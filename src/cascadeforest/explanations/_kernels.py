"""Contributions tree by tree: node means, decision paths, and Algorithm 1 of the interpretation paper.

Nodes of a tree are numbered from the root, a left child directly behind its parent (see `forest._nodes`), so that the
rows of a subtree stand side by side once rows are sorted by leaf. All numbers are float64.

Arrays of contributions are flat in outputs and features: entry ``c * n_features + k`` is feature k's for output c, so
that what is summed over features lies side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

#: Eqs. 23, 24, and 25 and 26.
MULTIPLICATIVE, ADDITIVE, PARTIAL = 0, 1, 2
#: A sum that is not above this share of its terms' absolute sum, or a change that is not, is rounding error: nothing is
#: divided by it, and its sign chooses nothing. Leaves hold what they predict in single precision.
_CANCELLED = 1e-6
#: Means of equal numbers differ by less than this share of them.
_EQUAL = 1e-9
#: Numbers of a long sum that are summed over all rows before the next ones.
_PIECE = 1024


def _compiled(function: Callable) -> Any:
    """Compile, without the GIL, kept on disk where a folder can be written.

    numba's own cache looks at the file of a function only: everything that is called from here stands here.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder can be written: compiled in each process, as the forests' kernels are
        return numba.njit(**options)(function)


@_compiled
def relatives(feature: np.ndarray, right: np.ndarray, parent: np.ndarray, depth: np.ndarray, end: np.ndarray) -> int:
    """Parents, depths and ends of subtrees (one behind their last node); returns the greatest depth.

    Parameters
    ----------
    feature : int32 array of shape (n_nodes,)
        Feature of a split; negative in leaves.
    right : int32 array of shape (n_nodes,)
        Right children.
    parent, depth, end : int32 arrays of shape (n_nodes,)
        Filled.
    """
    n_nodes = feature.size
    parent[0], depth[0], deepest = -1, 0, 0
    for node in range(n_nodes):
        if feature[node] >= 0:
            parent[node + 1] = parent[right[node]] = node
            depth[node + 1] = depth[right[node]] = depth[node] + 1
        if depth[node] > deepest:
            deepest = depth[node]
    for node in range(n_nodes - 1, -1, -1):
        end[node] = end[right[node]] if feature[node] >= 0 else node + 1
    return deepest


@_compiled
def sort_by_leaf(leaf: np.ndarray, order: np.ndarray, place: np.ndarray) -> None:
    """Rows in the order of their leaves: those of the subtree at `node` are ``order[place[node]:place[end[node]]]``.

    Parameters
    ----------
    leaf : int32 array of shape (n,)
        Leaf of each row; negative for rows that are left out.
    order : int32 array of shape (n,)
        Filled with row numbers, as many as are not left out.
    place : int64 array of shape (n_nodes + 1,)
        Filled.
    """
    place[:] = 0
    for i in range(leaf.size):
        if leaf[i] >= 0:
            place[leaf[i] + 1] += 1
    for node in range(place.size - 1):
        place[node + 1] += place[node]
    for i in range(leaf.size):
        if leaf[i] >= 0:
            order[place[leaf[i]]] = i
            place[leaf[i]] += 1
    for node in range(place.size - 1, 0, -1):
        place[node] = place[node - 1]
    place[0] = 0


@_compiled
def node_means(
    feature: np.ndarray, right: np.ndarray, leaf: np.ndarray, weight: np.ndarray, Y: np.ndarray, total: np.ndarray,
    mean: np.ndarray,
) -> None:  # fmt: skip
    """Weighted mean response of the rows in each node: mu(t) of Eq. 14.

    Parameters
    ----------
    feature, right
        As in `relatives`.
    leaf : int32 array of shape (n,)
        Leaf of each row.
    weight : float64 array of shape (n,)
        Weight of each row, 0 for rows that the tree did not learn from.
    Y : float64 array of shape (n, n_outputs)
        Responses.
    total : float64 array of shape (n_nodes,)
        Filled with the weight of the rows in each node.
    mean : float64 array of shape (n_nodes, n_outputs)
        Filled; 0 in nodes without weight.
    """
    n_outputs = Y.shape[1]
    total[:] = 0.0
    mean[:] = 0.0
    for i in range(leaf.size):
        if weight[i] > 0.0:
            total[leaf[i]] += weight[i]
            for c in range(n_outputs):
                mean[leaf[i], c] += weight[i] * Y[i, c]
    for node in range(feature.size - 1, -1, -1):
        if feature[node] >= 0:
            a, b = node + 1, right[node]
            total[node] = total[a] + total[b]
            for c in range(n_outputs):
                mean[node, c] = mean[a, c] + mean[b, c]
    for node in range(feature.size):
        if total[node] > 0.0:
            for c in range(n_outputs):
                mean[node, c] /= total[node]


@_compiled
def add_paths(
    feature: np.ndarray, parent: np.ndarray, n_given: int, value: np.ndarray, leaf: np.ndarray, out: np.ndarray
) -> None:
    """Eqs. 1 to 3: each step of a row's path gives the change of the mean response to the feature that was split.

    Parameters
    ----------
    feature, parent
        As in `relatives`.
    n_given : int
        Features below are original ones; splits on others are left out.
    value : float64 array of shape (n_nodes, n_outputs)
        Mean response of the nodes.
    leaf : int32 array of shape (n,)
        Leaf of each row; negative for rows that are left out.
    out : float64 array of shape (n, n_outputs * n_features)
        Added to.
    """
    n_outputs = value.shape[1]
    n_features = out.shape[1] // n_outputs
    for i in range(leaf.size):
        node = leaf[i]
        while node > 0:
            above = parent[node]
            if feature[above] < n_given:
                for c in range(n_outputs):
                    out[i, c * n_features + feature[above]] += value[node, c] - value[above, c]
            node = above


@_compiled
def _sums(terms: np.ndarray, sign: float) -> tuple[float, float, float]:
    """Sum, absolute sum, and sum of the terms that have a sign (Eq. 25).

    Four sums side by side: one would wait for each addition, and the compiler may not reorder them by itself.
    """
    t0 = t1 = t2 = t3 = a0 = a1 = a2 = a3 = s0 = s1 = s2 = s3 = 0.0
    rest = terms.size // 4 * 4
    for k in range(0, rest, 4):
        x0, x1, x2, x3 = terms[k], terms[k + 1], terms[k + 2], terms[k + 3]
        t0, t1, t2, t3 = t0 + x0, t1 + x1, t2 + x2, t3 + x3
        a0, a1, a2, a3 = a0 + abs(x0), a1 + abs(x1), a2 + abs(x2), a3 + abs(x3)
        s0, s1 = s0 + max(sign * x0, 0.0), s1 + max(sign * x1, 0.0)
        s2, s3 = s2 + max(sign * x2, 0.0), s3 + max(sign * x3, 0.0)
    for k in range(rest, terms.size):
        t0 += terms[k]
        a0 += abs(terms[k])
        s0 += max(sign * terms[k], 0.0)
    return (t0 + t1) + (t2 + t3), (a0 + a1) + (a2 + a3), sign * ((s0 + s1) + (s2 + s3))


@_compiled
def calibrate(estimated: np.ndarray, change: np.ndarray, equal: np.ndarray, rule: int) -> None:
    """Make estimated changes add up to the true ones (Eq. 20), in place.

    Parameters
    ----------
    estimated : float64 array of shape (n_outputs * n_features,)
        What the features changed, as estimated (Eq. 17).
    change : float64 array of shape (n_outputs,)
        What was changed (Eq. 14).
    equal : float64 array of shape (n_features,)
        Shares, with sum 1, by which a change is spread of which the estimate says nothing.
    rule : int
        `MULTIPLICATIVE`, `ADDITIVE` or `PARTIAL`.
    """
    n_features = equal.size
    for c in range(change.size):
        terms, to = estimated[c * n_features : (c + 1) * n_features], change[c]
        total, absolute, same = _sums(terms, np.sign(to))
        if absolute == 0.0:
            for k in range(n_features):
                terms[k] = to * equal[k]
        elif rule == PARTIAL and min(abs(same), abs(to)) > _CANCELLED * absolute:  # Eq. 26
            sign = np.sign(to)
            for k in range(n_features):  # the share of a term is at most 1; a common factor could overflow
                terms[k] += sign * max(sign * terms[k], 0.0) / same * (to - total)
        elif rule == MULTIPLICATIVE and abs(total) > _CANCELLED * absolute:  # Eq. 23
            for k in range(n_features):
                terms[k] = terms[k] / total * to
        else:  # Eq. 24, also where Eqs. 23 and 26 divide by zero
            for k in range(n_features):
                terms[k] += abs(terms[k]) / absolute * (to - total)


@_compiled
def _mean_contribution(
    order: np.ndarray, first: int, last: int, weight: np.ndarray, rows: np.ndarray, contributions: np.ndarray,
    out: np.ndarray,
) -> float:  # fmt: skip
    """Weighted sum of contributions of rows ``order[first:last]``; returns their weight."""
    out[:] = 0.0
    for begin in range(0, out.size, _PIECE):  # a piece of the sum stays in the core's nearest cache
        end = min(begin + _PIECE, out.size)
        for position in range(first, last):
            i = order[position]
            w, line = weight[i], contributions[rows[i]]
            for j in range(begin, end):
                out[j] += w * line[j]
    total = 0.0
    for position in range(first, last):
        total += weight[order[position]]
    return total


@_compiled
def _difference(a: float, b: float) -> float:
    """A - b; 0 where both are the mean of equal numbers."""
    return a - b if abs(a - b) > _EQUAL * (abs(a) + abs(b)) else 0.0


@_compiled
def estimated_changes(
    order: np.ndarray, place: np.ndarray, end: np.ndarray, node: int, child: int, weight: np.ndarray,
    rows: np.ndarray, contributions: np.ndarray, left_mean: np.ndarray, right_mean: np.ndarray,
) -> None:  # fmt: skip
    """Eq. 17 for both children of a split on a new feature.

    Parameters
    ----------
    order, place, end
        From `sort_by_leaf` and `relatives`.
    node, child : int
        The split and its right child.
    weight : float64 array of shape (n,)
        Weights of the sorted rows.
    rows : int64 array of shape (n,)
        Their places in `contributions`.
    contributions : array of shape (n_rows, n_outputs * n_features)
        Of the forest of the preceding layer whose output was split.
    left_mean, right_mean : float64 arrays of shape (n_outputs * n_features,)
        Filled with the estimated changes from the node to its left and right child.
    """
    left = _mean_contribution(order, place[node + 1], place[end[node + 1]], weight, rows, contributions, left_mean)
    right = _mean_contribution(order, place[child], place[end[child]], weight, rows, contributions, right_mean)
    for j in range(left_mean.size):
        of_left = left_mean[j] / left if left > 0.0 else 0.0
        of_right = right_mean[j] / right if right > 0.0 else 0.0
        above = (left_mean[j] + right_mean[j]) / (left + right) if left + right > 0.0 else 0.0
        left_mean[j], right_mean[j] = _difference(of_left, above), _difference(of_right, above)


@_compiled
def add_calibrated(
    feature: np.ndarray, right: np.ndarray, end: np.ndarray, depth: np.ndarray, value: np.ndarray, n_given: int,
    hat_order: np.ndarray, hat_place: np.ndarray, hat_weight: np.ndarray, hat_rows: np.ndarray,
    contributions: np.ndarray, equal: np.ndarray, rule: int, order: np.ndarray, place: np.ndarray, out: np.ndarray,
    stack: np.ndarray, base: np.ndarray,
) -> None:  # fmt: skip
    """Splits of one tree on added columns in Algorithm 1, from the root down; `add_paths` does the other splits.

    Parameters
    ----------
    feature, right, end, depth
        The tree (see `relatives`).
    value : float64 array of shape (n_nodes, n_outputs)
        Mean response of the nodes.
    n_given : int
        Features below are original ones; feature ``n_given + f * n_outputs + c`` is output c of forest f before.
    hat_order, hat_place, hat_weight, hat_rows
        Training rows of the tree, sorted by leaf, as in `estimated_changes`.
    contributions : array of shape (n_forests, n_rows, n_outputs * n_features)
        Of the forests of the preceding layer, for training rows.
    equal : float64 array of shape (n_features,)
        See `calibrate`.
    rule : int
        See `calibrate`.
    order, place : arrays
        Rows to explain, sorted by leaf. Subtrees that none of them reaches are left out.
    out : float64 array of shape (n, n_outputs * n_features)
        Added to.
    stack : float64 array of shape (2 * (greatest depth + 2), n_outputs * n_features)
        Working memory. A node's contributions stay where the nearest split on an added column above put them: line
        2 d + 2 for its left child and 2 d + 3 for its right one, d being its depth.
    base : int64 array of shape (n_nodes,)
        Working memory: the line of each node; line 0 holds zeros.
    """
    n_outputs = value.shape[1]
    size = stack.shape[1]
    change = np.empty(n_outputs)
    stack[0, :] = 0.0
    base[0] = 0
    node = 0
    while node < feature.size:
        if place[node] == place[end[node]]:  # nobody to explain here
            node = end[node]
            continue
        mine = base[node]
        if feature[node] < 0:
            if mine > 0:
                for position in range(place[node], place[end[node]]):
                    line = out[order[position]]
                    for j in range(size):
                        line[j] += stack[mine, j]
        else:
            left, child = node + 1, np.int64(right[node])
            if feature[node] < n_given:
                base[left] = base[child] = mine
            else:
                forest = (feature[node] - n_given) // n_outputs
                base[left], base[child] = 2 * depth[node] + 2, 2 * depth[node] + 3
                left_change, right_change = stack[base[left]], stack[base[child]]
                estimated_changes(
                    hat_order, hat_place, end, node, child, hat_weight, hat_rows, contributions[forest], left_change,
                    right_change,
                )  # fmt: skip
                for to, changes in ((left, left_change), (child, right_change)):
                    if place[to] < place[end[to]]:
                        for c in range(n_outputs):
                            change[c] = value[to, c] - value[node, c]
                        calibrate(changes, change, equal, rule)
                        for j in range(size):
                            changes[j] += stack[mine, j]
        node += 1
