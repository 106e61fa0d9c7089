"""Subsets of the trees of a forest: a copy of chosen trees, or a view of neighbouring trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cascadeforest.forest.trees import Trees
from cascadeforest.kernels.grow import LEAF

_FEATURE, _TARGET, _BELOW_TARGET = np.uint64(9), np.uint64(32), np.uint64(2**32 - 1)


def some_trees(trees: Trees, chosen: np.ndarray) -> Trees:
    """Copy chosen trees of a forest into a new forest.

    Parameters
    ----------
    trees : Trees
        The forest.
    chosen : ndarray of int
        Numbers of the trees to copy, in their new order.

    Returns
    -------
    Trees
        The new forest shares no memory with `trees`. It has the values of pure leaves, and the values that its own
        leaves hold.
    """
    nodes = np.concatenate([trees.nodes[trees.offsets[t] : trees.offsets[t + 1]] for t in chosen])
    leaf = (nodes >> _FEATURE) & np.uint64(LEAF) == LEAF
    rows = (nodes[leaf] >> _TARGET).astype(np.int64)
    used = np.union1d(np.arange(trees.n_classes), rows)  # pure leaves have the first rows, which stay in their places
    nodes[leaf] = (nodes[leaf] & _BELOW_TARGET) | (np.searchsorted(used, rows).astype(np.uint64) << _TARGET)
    offsets = np.append(0, np.cumsum(np.diff(trees.offsets)[chosen]))
    some = Trees(nodes, offsets, trees.values[used], trees.n_classes)
    if trees.set_offsets is None:
        return some
    sets = [trees.sets[trees.set_offsets[t] : trees.set_offsets[t + 1]] for t in chosen]
    return replace(some, sets=np.concatenate(sets), set_offsets=np.append(0, np.cumsum([len(one) for one in sets])))


def trees_beside(trees: Trees, first: int, last: int) -> Trees:
    """View the trees from number `first` up to, but without, number `last`; nothing is copied.

    Parameters
    ----------
    trees : Trees
        The forest.
    first, last : int
        Numbers of trees.

    Returns
    -------
    Trees
    """
    nodes = trees.nodes[trees.offsets[first] : trees.offsets[last]]
    some = Trees(nodes, trees.offsets[first : last + 1] - trees.offsets[first], trees.values, trees.n_classes)
    if trees.set_offsets is None:
        return some
    begin, end = trees.set_offsets[[first, last]]
    return replace(some, sets=trees.sets[begin:end], set_offsets=trees.set_offsets[first : last + 1] - begin)
