"""Decision paths of single rows in single trees, from which rules are made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.trees import Trees
from cascadeforest.kernels.grow import MISSING


class PathSteps(NamedTuple):
    """Splits on some paths, path by path, each in the order from the root."""

    path: np.ndarray  # int64: number of the path
    feature: np.ndarray  # int32
    cut: np.ndarray  # int32: rows of this bin or a lower one go left; -1 where a set of bins does
    set_row: np.ndarray  # int64: row of `Trees.sets`, whose bins go left; -1 where there is a cut
    goes_right: np.ndarray  # bool
    is_missing: np.ndarray  # bool: the row has no value there


def path_steps(trees: Trees, binned: BinnedMatrix, rows: np.ndarray, of_tree: np.ndarray) -> PathSteps:
    """Find the splits that rows pass, each row in one tree.

    All rows walk at the same time, one level a step.

    Parameters
    ----------
    trees : Trees
        A forest.
    binned : BinnedMatrix
        Rows, binned as at growth.
    rows : ndarray of shape (n,), int
        Row of each path.
    of_tree : ndarray of shape (n,), int
        Tree of each path.

    Returns
    -------
    PathSteps
        Splits of paths 0 to n - 1.
    """
    view = trees.all_nodes()
    is_leaf = view.is_leaf
    roots = trees.offsets[of_tree]
    node, walking = roots.copy(), np.arange(len(rows))
    levels = []
    while True:
        walking = walking[~is_leaf[node[walking]]]
        if not len(walking):
            break
        at = node[walking]
        feature, cut = view.feature[at], view.cut[at]
        bins = binned.columns[feature, rows[walking]]
        is_missing = bins == MISSING
        goes_left = trees.sends_left(view, at, bins)
        node[walking] = roots[walking] + np.where(goes_left, view.children_left[at], view.children_right[at])
        levels.append(PathSteps(walking, feature, cut, view.set_row[at], ~goes_left, is_missing))
    if not levels:
        return PathSteps(*(np.empty(0, kind) for kind in (np.int64, np.int32, np.int32, np.int64, bool, bool)))
    steps = PathSteps(*map(np.concatenate, zip(*levels, strict=True)))
    order = np.argsort(steps.path, kind="stable")
    return PathSteps(*(part[order] for part in steps))
