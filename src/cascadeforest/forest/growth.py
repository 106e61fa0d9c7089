"""Growing a whole forest on a binned matrix: seeds, bootstraps, threads. Cascades build on this module.

Folds, bootstraps and screened rows are arrays of row numbers, never copies of the matrix. The result is the same to the
byte for any `n_jobs`, since a tree depends on its own seed only and results are joined in the order of the trees.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from cascadeforest.forest._cells import cells_for
from cascadeforest.forest._parameters import check_choice, feature_chances
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.trees import Trees
from cascadeforest.kernels.draws import bootstrap_counts
from cascadeforest.kernels.grow import (
    BEST,
    ENTROPY,
    GINI,
    MAX_FEATURES,
    RANDOM,
    Centers,
    Rules,
    Target,
    Workspace,
    grow_tree,
)

_SPLITTERS = {"best": BEST, "random": RANDOM}
_CRITERIA = {"gini": GINI, "entropy": ENTROPY, "squared_error": GINI}  # of targets, the kernel's Gini is the variance
_NO_BOUND = np.iinfo(np.int64).max
_EQUAL = np.empty(0, np.float64)
_MAX_CLASSES = 2**16
#: Ranges of targets that need no scale, and the maximum range.
_USUAL, _WIDEST = (1e-20, 1e20), 1e150
#: float32 represents every integer up to this number.
_EXACT = 2**24


@dataclass(frozen=True)
class GrowthRules:
    """How the trees of a forest grow; the names and meanings are scikit-learn's.

    Parameters
    ----------
    splitter : {"best", "random"}
        The best cut of a feature, or a cut at a random threshold (Extra-Trees).
    criterion : {"gini", "entropy", "squared_error"}
        Impurity. With ``splitter="random"`` and ``max_features=1`` it has no influence: trees are completely random.
    max_features : int
        Number of features considered at each split, constant features included; more if all of them are constant.
    max_depth, max_leaf_nodes : int or None
        Bounds; None for no bound. With `max_leaf_nodes` the leaf with the largest gain is split first.
    min_samples_split, min_samples_leaf : int
        Distinct in-bag rows, as in scikit-learn: a row that the bootstrap drew twice counts once.
    min_weight_fraction_leaf : float
        Minimum share of the tree's in-bag weight on each side of a split.
    min_impurity_decrease : float
        Minimum decrease in impurity by a split, weighted by the node's share of the weight.
    """

    splitter: str = "best"
    criterion: str = "gini"
    max_features: int = 1
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0

    def __post_init__(self) -> None:
        check_choice("splitter", self.splitter, _SPLITTERS)
        check_choice("criterion", self.criterion, _CRITERIA)

    def _for_kernel(self, scale: float, n_outputs: int) -> Rules:
        return Rules(
            _SPLITTERS[self.splitter],
            _CRITERIA[self.criterion],
            int(self.max_features),
            _NO_BOUND if self.max_depth is None else int(self.max_depth),
            int(self.min_samples_split),
            int(self.min_samples_leaf),
            float(self.min_weight_fraction_leaf),
            float(self.min_impurity_decrease) / scale / scale * n_outputs,  # the kernel adds the outputs' impurities
            0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
        )


@dataclass(frozen=True)
class GrownForest:
    """A grown forest, with the seeds that draw its bootstraps again.

    Parameters
    ----------
    trees : Trees
        The trees. Values of a regression forest are relative to `offset` and `scale`.
    seeds : ndarray of shape (n_trees,), uint64
        Seed of each tree, from which its bootstrap can be drawn again (`in_bag_counts`).
    rows : ndarray of shape (n,), int32
        Rows of the matrix that the forest learned from; rows of weight 0 are left out.
    n_draws : int
        Number of rows that each bootstrap drew; 0 without bootstrap.
    mean_decrease_impurity : ndarray of shape (n_features,)
        Mean over trees of the impurity decrease by feature (interpretation paper, Eqs. 6 and 9).
    offset : float or ndarray of shape (n_outputs,)
        Predictions are ``offset + scale * value``; 0 for classification, an array for several outputs.
    scale : float
        A power of two; 1 for classification.
    """

    trees: Trees
    seeds: np.ndarray
    rows: np.ndarray
    n_draws: int
    mean_decrease_impurity: np.ndarray
    offset: float | np.ndarray
    scale: float

    def in_bag_counts(self, tree: int) -> np.ndarray:
        """Count how often a tree drew each of `rows`, by drawing its bootstrap again from its seed.

        Parameters
        ----------
        tree : int
            Number of the tree.

        Returns
        -------
        ndarray of shape (n,), int32
        """
        return in_bag_counts(self.seeds[tree], self.n_draws, len(self.rows))

    def oob_prediction(
        self, binned: BinnedMatrix, rows: np.ndarray | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """Predict each row by the mean over the trees that did not learn from it.

        Parameters
        ----------
        binned : BinnedMatrix
            The matrix that the forest was grown on.
        rows : ndarray of shape (n,), int, optional
            Rows of the matrix, ascending; they must contain all rows that the forest learned from. All rows by default.
        n_jobs : int, optional
            Threads; as in joblib.

        Returns
        -------
        ndarray of shape (n, n_outputs), float64
            NaN where every tree learned from the row. In the units of the targets.
        """
        rows = np.arange(binned.columns.shape[1]) if rows is None else rows
        learned = np.searchsorted(rows, self.rows)
        n_votes = np.zeros(len(rows))

        def out_of_bag(tree: int) -> np.ndarray:
            out = np.ones(len(rows))
            out[learned] = self.in_bag_counts(tree) == 0
            np.add(n_votes, out, out=n_votes)
            return out

        total = self.trees.predict_sum(binned, rows, weights=out_of_bag, n_jobs=n_jobs)
        total[n_votes == 0] = np.nan
        return self.offset + self.scale * (total / np.maximum(n_votes, 1)[:, None])


def tree_seeds(entropy: int | Sequence[int] | np.random.SeedSequence, n_trees: int) -> np.ndarray:
    """Draw the seeds of a forest's trees; the seed of tree i does not depend on the number of trees.

    Parameters
    ----------
    entropy : int, sequence of int or SeedSequence
        Seed of the forest.
    n_trees : int
        Number of trees.

    Returns
    -------
    ndarray of shape (n_trees,), uint64
    """
    sequence = entropy if isinstance(entropy, np.random.SeedSequence) else np.random.SeedSequence(entropy)
    return sequence.generate_state(n_trees, np.uint64)


def in_bag_counts(seed: np.uint64, n_draws: int, n_rows: int) -> np.ndarray:
    """Count how often a tree's bootstrap drew each of its rows.

    Parameters
    ----------
    seed : uint64
        The tree's seed.
    n_draws : int
        Number of draws; 0 without bootstrap, where each row counts once.
    n_rows : int
        Number of rows to draw from.

    Returns
    -------
    ndarray of shape (n_rows,), int32
    """
    counts = np.ones(n_rows, np.int32)
    if n_draws:
        bootstrap_counts(seed, n_draws, counts)
    return counts


def _target(y: np.ndarray, n_classes: int, whole: bool) -> tuple[Target, float | np.ndarray, float]:
    """Labels for the kernel and, in regression, their offset and scale.

    The offset is the median of the distinct targets: differences of similar numbers are mostly exact, so large targets
    with a small spread lose no precision. Each output has an offset of its own, but all have one scale, since their
    variances are added. The scale is 1 unless squares or single precision would overflow or underflow. It is a power of
    two, so scaling changes no digit.
    """
    if n_classes:
        value = np.array([0.0, 1.0]) if n_classes <= 2 else _EQUAL
        return Target(np.ascontiguousarray(y, np.int32), value, n_classes, 1, whole), 0.0, 1.0
    y = np.asarray(y, np.float64)
    offset: float | np.ndarray
    if y.ndim == 1:
        distinct, label = np.unique(y, return_inverse=True)
        offset = float(distinct[len(distinct) // 2])
    else:
        distinct, label = _distinct_rows(y)
        offset = np.array([own[len(own) // 2] for own in map(np.unique, y.T)])
    with np.errstate(over="ignore"):
        value = distinct - offset
    widest = float(np.abs(value).max())
    if not widest < _WIDEST:
        raise ValueError(
            f"y runs from {distinct.min():g} to {distinct.max():g}, so that its variance overflows; rescale it."
        )
    scale = 1.0
    if widest > 0 and not _USUAL[0] < widest < _USUAL[1]:
        scale = float(np.ldexp(1.0, int(np.frexp(widest)[1]) - 1))
    n_outputs = 1 if y.ndim == 1 else y.shape[1]
    return Target(label.astype(np.int32), value / scale, 0, n_outputs, False), offset, scale


def _distinct_rows(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows, sorted, and which of them each row is: ``np.unique`` with an axis, but by whole columns."""
    order = np.lexsort(y.T[::-1])
    ordered = y[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    label = np.empty(len(y), np.int64)
    label[order] = np.cumsum(is_new) - 1
    return ordered[is_new], label


def kernel_weights(weights: np.ndarray) -> np.ndarray:
    """Convert weights for float32: integers stay as they are, other weights are divided by the largest.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Not negative, not all 0.

    Returns
    -------
    ndarray of shape (n,)
        Weights that trees use; 0 for weights that are too small for single precision relative to the largest.
    """
    if weights.max() < _EXACT and np.array_equal(weights, np.rint(weights)):
        return weights
    relative = weights / weights.max()
    return np.where(relative < np.finfo(np.float32).tiny, 0.0, relative)


def grow_forest(
    binned: BinnedMatrix,
    y: np.ndarray,
    *,
    n_classes: int,
    rules: GrowthRules,
    seeds: np.ndarray,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    bootstrap: bool = False,
    max_samples: int | None = None,
    features: np.ndarray | None = None,
    feature_weights: np.ndarray | None = None,
    balance_bootstraps: bool = False,
    n_jobs: int | None = None,
) -> GrownForest:
    """Grow a forest.

    Parameters
    ----------
    binned : BinnedMatrix
        Training features, from `BinMapper.fit_transform`.
    y : ndarray of shape (n,) or (n, n_outputs)
        Class indices (0 to n_classes - 1), or targets; one for each of `rows`. Trees for several targets minimise the
        mean of the targets' variances, as scikit-learn's do.
    n_classes : int
        Number of classes; 0 for regression.
    rules : GrowthRules
        How trees grow.
    seeds : ndarray of shape (n_trees,), uint64
        Seed of each tree, from `tree_seeds`.
    rows : ndarray of shape (n,), int, optional
        Rows of the matrix to learn from; all by default. Ascending rows are read fastest.
    weights : ndarray of shape (n,), optional
        Weights of these rows, not negative. They multiply the bootstrap's counts. Rows of weight 0 are left out.
    bootstrap : bool
        Whether each tree draws its rows with replacement.
    max_samples : int, optional
        Number of draws of each bootstrap; by default the number of rows.
    features : ndarray of int, optional
        Features that trees may use, without repetition; all by default. Not together with `feature_weights`.
    feature_weights : ndarray of shape (n_features,), optional
        Weights with which nodes draw features, not negative; equal by default. A feature of weight 0 is never used.
    balance_bootstraps : bool
        Weight classes inversely to their frequency in each tree's own rows.
    n_jobs : int, optional
        Threads; as in joblib.

    Returns
    -------
    GrownForest

    Raises
    ------
    ValueError
        If no row has positive weight, a feature weight is negative, all feature weights are 0, there are too many rows,
        features or classes, or the matrix does not have the layout of `BinMapper.fit_transform`.
    """
    n_features, n_rows = binned.columns.shape
    if n_features >= MAX_FEATURES:
        raise ValueError(f"X has {n_features} features; the kernel takes fewer than {MAX_FEATURES}.")
    if n_rows > np.iinfo(np.int32).max:
        raise ValueError(f"X has {n_rows} rows; the kernel takes up to {np.iinfo(np.int32).max}.")
    if n_classes > _MAX_CLASSES:
        raise ValueError(f"y has {n_classes} classes; the kernel takes up to {_MAX_CLASSES}.")
    rows = np.arange(n_rows, dtype=np.int32) if rows is None else np.asarray(rows, np.int32)
    heaviest, whole = 1.0, True
    if weights is not None:
        weights = kernel_weights(np.ascontiguousarray(weights, np.float64))
        heaviest, whole = weights.max(initial=0.0), np.array_equal(weights, np.rint(weights))
        if not weights.all():
            kept = np.flatnonzero(weights)
            rows, weights, y = rows[kept], weights[kept], y[kept]
    if not len(rows):
        raise ValueError("sample_weight is zero for every row; give at least one row a positive weight.")
    n_draws = 0
    if bootstrap:
        n_draws = len(rows) if max_samples is None else int(max_samples)
    whole = whole and not balance_bootstraps and heaviest * max(n_draws, len(rows)) < 2**31
    target, offset, scale = _target(y, n_classes, bool(whole))
    features = _looked_at(features, feature_weights, n_features)
    kernel_rules, cumulative = rules._for_kernel(scale, target.n_outputs), _cumulative(feature_weights, n_features)
    grown = _grow_trees(
        binned,
        np.ascontiguousarray(rows),
        weights,
        target,
        kernel_rules,
        seeds,
        n_draws,
        features,
        cumulative,
        balance_bootstraps=balance_bootstraps,
        n_jobs=n_jobs,
    )
    decrease = np.zeros(n_features)
    for _, _, _, decreases in grown:  # in the order of the trees, whichever thread finished first
        decrease += decreases
    trees = Trees.join([(nodes, values) for nodes, _, values, _ in grown], n_classes, [sets for _, sets, _, _ in grown])
    decrease = decrease / len(seeds) * scale * scale / target.n_outputs
    return GrownForest(trees, seeds, rows, n_draws, decrease, offset, scale)


def _grow_trees(
    binned: BinnedMatrix,
    rows: np.ndarray,
    weights: np.ndarray | None,
    target: Target,
    rules: Rules,
    seeds: np.ndarray,
    n_draws: int,
    features: np.ndarray,
    cumulative: np.ndarray,
    *,
    balance_bootstraps: bool,
    n_jobs: int | None,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """What `grow_tree` returns for each seed. Working memory is free again when the trees are joined."""
    centers, cells = Centers.of(binned.known_centers), cells_for(binned, rules.max_features)
    own = threading.local()  # of a thread: working memory that all of its trees use

    def grow(seed: np.uint64) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        counts = in_bag_counts(seed, n_draws, len(rows))
        tree_weights = weights
        if balance_bootstraps:
            frequency = np.bincount(target.label, counts, target.n_classes)
            factor = counts.sum() / (np.count_nonzero(frequency) * np.maximum(frequency, 1))
            tree_weights = factor[target.label] if weights is None else weights * factor[target.label]
        if not hasattr(own, "workspace"):
            own.workspace = Workspace()
        return grow_tree(
            cells, centers, rows, tree_weights, target, counts, seed, rules, features, cumulative, own.workspace
        )

    return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(grow)(seed) for seed in seeds)


def _looked_at(features: np.ndarray | None, feature_weights: np.ndarray | None, n_features: int) -> np.ndarray:
    """Numbers of the features that trees may use, as an array for the kernel."""
    if features is None:
        return np.arange(n_features, dtype=np.int32)
    if feature_weights is not None:
        raise ValueError("Give features or feature_weights, not both: a weight of 0 leaves a feature out.")
    features = np.asarray(features)
    if features.ndim != 1 or features.dtype.kind not in "iu" or len(np.unique(features)) != len(features):
        raise ValueError("features must be numbers of features, each once.")
    if len(features) and not 0 <= features.min() <= features.max() < n_features:
        raise ValueError(f"features runs from {features.min()} to {features.max()}; there are {n_features}.")
    return np.ascontiguousarray(features, np.int32)


def _cumulative(feature_weights: np.ndarray | None, n_features: int) -> np.ndarray:
    """Running sum of the feature weights, empty if all are equal."""
    weights = feature_chances(feature_weights, n_features)
    if weights is None:
        return _EQUAL
    # Divide by the largest weight, so that the sum cannot overflow; weights below its rounding error count as 0.
    return np.cumsum(weights / weights.max())
