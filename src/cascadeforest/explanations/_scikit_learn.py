"""Decision paths of scikit-learn's forests: their nodes hold mean responses, so no training row is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

from cascadeforest.explanations._forests import LeafTables

TheirForest: TypeAlias = RandomForestClassifier | RandomForestRegressor | ExtraTreesClassifier | ExtraTreesRegressor


def tables_of(forest: TheirForest) -> LeafTables:
    """Read the nodes of a fitted forest with one output; no split is on an added column.

    Parameters
    ----------
    forest : estimator
        Fitted forest.

    Returns
    -------
    LeafTables
        Class shares or targets of the nodes, which are what the leaves predict.

    Raises
    ------
    ValueError
        If the forest predicts several outputs.
    """
    if forest.n_outputs_ != 1:
        raise ValueError(
            f"model predicts {forest.n_outputs_} outputs; fit a forest for each of them, and explain them one by one."
        )
    trees = [estimator.tree_ for estimator in forest.estimators_]
    offsets = np.cumsum([0, *(tree.node_count for tree in trees)], dtype=np.int64)
    parent = np.full(offsets[-1], -1, np.int32)
    for tree, (begin, end) in zip(trees, pairwise(offsets), strict=True):
        splits = np.flatnonzero(tree.children_left >= 0)
        for children in (tree.children_left, tree.children_right):
            parent[begin:end][children[splits]] = splits
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int32)
    value = np.concatenate([tree.value[:, 0, :] for tree in trees])
    n_features = forest.n_features_in_
    number, lines = np.full(len(feature), -1, np.int32), np.empty((0, value.shape[1] * n_features))
    return LeafTables(offsets, feature, parent, value, n_features, n_features, number, lines)


def leaves_of(forest: TheirForest, X: object) -> np.ndarray:
    """Leaf of each row in each tree, as `LeafTables` takes them."""
    return np.ascontiguousarray(forest.apply(X), np.int32)
