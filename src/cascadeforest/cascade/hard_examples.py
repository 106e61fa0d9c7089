"""DDBF: each forest predicts the rows that it finds easy; the next forest learns from hard rows (Wang et al. 2020).

The equations of the paper are functions here: `leaf_scores` (Eqs. 4 to 8), `mutual_information` (Eq. 9),
`retained_trees` (section 3.3.1) and `HardExampleForest.easy` (Eqs. 1 and 3). `DDBFClassifier.fit` is Algorithm 1 with
the two rules of section 3.3.2.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.isotonic import IsotonicRegression

from cascadeforest.cascade._base import CascadeClassifier, rows_that_forests_count, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.layer import FoldForest, LayerRules, check_member, fit_forest, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation
from cascadeforest.cascade.stopping import KEEPS, Scoring
from cascadeforest.cascade.walks import learned_forest
from cascadeforest.forest._parameters import check_choice, check_count, check_jobs, check_number, entropy_of
from cascadeforest.forest._types import ClassWeight, MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.categories import CategoricalFeatures
from cascadeforest.forest.estimators import RandomForestClassifier
from cascadeforest.forest.growth import in_bag_counts
from cascadeforest.forest.learned_rows import LearnedRows, Rows
from cascadeforest.forest.tree_subsets import some_trees, trees_beside
from cascadeforest.forest.walks import INTERRUPTED, Given, Reached, TrainedLayer, Walk

LEAF_SCORES = ("f1", "gini", "entropy")
THRESHOLDS = ("mean", "median", "mutual_information", "row_mean")
#: How the trees decide together which rows are easy.
VOTES = ("trees", "score")
#: Rows that leaf scores are computed from: all training rows of the iteration, or the rows each tree's bootstrap drew.
LEAF_ROWS = ("all", "in_bag")
#: Sources of out-of-sample predictions of training rows, and the matching value of `class_vectors` in a layer.
VALIDATION = {"k_fold": "k_fold_refit", "oob": "oob"}
PREDICT_WITH = ("retained", "all")
#: Values of parameters that are None, by preset.
PRESETS: dict[str | None, dict[str, Any]] = {None: {"patience": 2}, "paper": {"patience": 5}}
#: Largest number of bytes of leaf statistics in memory at one time.
_AT_ONCE = 1 << 26
#: Rows and trees in one block of the search for easy rows: a row that cannot become easy skips later blocks.
_ROWS_AT_ONCE, _TREES_AT_ONCE = 1 << 16, 16
_FEW_ROWS = 1 << 10
#: Tolerances for rounding errors in a number of trees, and in scores and accuracies.
_ROUNDING = 1e-9


def leaf_scores(counts: np.ndarray, total: float, kind: str) -> np.ndarray:
    """Quality of leaves, from the training rows that reach them (Eqs. 4 to 8).

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
        Rows (or weight) of each class in each leaf, at least one in each leaf.
    total : float
        Rows (or weight) in all leaves of a tree together: |X| in Eq. 4.
    kind : {"f1", "gini", "entropy"}
        "f1" (Eq. 6): harmonic mean of support (Eq. 4), the leaf's share of all rows, and confidence (Eq. 5), the share
        of the leaf's rows that are of its most frequent class; in (0, 1]. "gini" (Eq. 7) and "entropy" (Eq. 8, natural
        logarithm): impurities with a minus sign, 0 at best. Eq. 8 as printed has p² log p; the text says entropy, which
        is p log p.

    Returns
    -------
    ndarray of shape (n_leaves,)
    """
    size = counts.sum(axis=1)
    share = counts / size[:, None]
    if kind == "gini":
        return np.minimum((share * share).sum(axis=1) - 1.0, 0.0)
    if kind == "entropy":
        return np.minimum(xlogy(share, share).sum(axis=1), 0.0)
    support, confidence = size / total, share.max(axis=1)
    return 2.0 * support * confidence / (support + confidence)


def mutual_information(counts: np.ndarray) -> float:
    """Mutual information of class and leaf, in nats (Eq. 9).

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
        Rows (or weight) of each class in each leaf of a tree.

    Returns
    -------
    float
        Between 0 and the entropy of the classes.
    """
    joint = counts / counts.sum()
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float(max(0.0, xlogy(joint, np.divide(joint, independent, where=joint > 0, out=np.ones_like(joint))).sum()))


def leaf_threshold(scores: np.ndarray, counts: np.ndarray, kind: str) -> float:
    """Threshold of a tree: the leaves of easy examples have larger scores (section 5.1).

    Parameters
    ----------
    scores : ndarray of shape (n_leaves,)
        Scores of the tree's leaves.
    counts : ndarray of shape (n_leaves, n_classes)
        Counts that the scores were computed from.
    kind : {"mean", "median", "mutual_information", "row_mean"}
        Mean or median of the scores, mutual information (Eq. 9), or the mean over the rows of the score of the leaf
        that a row reaches (each leaf counts as often as it has rows).

    Returns
    -------
    float
        If all scores are equal, exactly this score (a mean may be rounded down), so that no leaf exceeds the threshold.
    """
    if kind == "mutual_information":
        return mutual_information(counts)
    if kind == "row_mean":
        middle = np.average(scores, weights=counts.sum(axis=1))
    else:
        middle = scores.mean() if kind == "mean" else np.median(scores)
    return float(np.clip(middle, scores.min(), scores.max()))


def retained_trees(fitness: np.ndarray, elimination: float) -> np.ndarray:
    """Find the trees that are not eliminated (section 3.3.1).

    Parameters
    ----------
    fitness : ndarray of shape (n_trees,)
        Mean leaf score of each tree.
    elimination : float
        Maximum share of trees to drop. A tree with the same fitness as the worst retained tree is retained too.

    Returns
    -------
    ndarray of shape (n_trees,), bool
        At least one is True.
    """
    n_dropped = min(int(elimination * len(fitness) + _ROUNDING), len(fitness) - 1)
    return fitness >= np.sort(fitness)[n_dropped]


@dataclass(frozen=True)
class HardExampleForest:
    """The forest of one iteration, with the leaf scores and thresholds that decide which rows are easy.

    Parameters
    ----------
    forest : FoldForest
        Forest of the retained trees, or of all trees if eliminated trees also predict.
    mapper : BinMapper
        Bins of the forest's rows.
    leaf_score : ndarray of shape (n_nodes,), float32
        Score of each leaf, tree after tree; 0 for splits.
    threshold : ndarray of shape (n_trees,), float64
        Threshold of each tree: the leaves of easy examples have larger scores (sigma of Eq. 3).
    votes : ndarray of shape (n_trees,), bool
        Whether each tree votes on which rows are easy: True for retained trees.
    n_needed : int
        Number of votes that make a row easy. With ``vote="score"`` it has no effect.
    threshold_kind : str
        Kind of the threshold: "mutual_information" becomes "mean" where no training row was easy.
    is_valid : bool
        Whether the division into easy and hard rows stands (rule 2 of section 3.3.2); if not, no row is easy.
    calibration : list of IsotonicRegression or None
        Calibration of the probabilities, one for each class.
    vote : {"trees", "score"}
        As in `DDBFClassifier`.
    """

    forest: FoldForest
    mapper: BinMapper
    leaf_score: np.ndarray
    threshold: np.ndarray
    votes: np.ndarray
    n_needed: int
    threshold_kind: str
    is_valid: bool = True
    calibration: list[IsotonicRegression] | None = None
    vote: str = "trees"

    def binned(self, X: MatrixLike, n_jobs: int | None) -> BinnedMatrix:
        """Bin rows with the bins that the trees were grown on."""
        return self.mapper.transform(X, n_jobs=n_jobs)

    def easy(self, binned: BinnedMatrix, n_jobs: int | None = None) -> np.ndarray:
        """Find easy rows: rows that enough trees send to a leaf above the tree's threshold (Eqs. 1 and 3).

        With ``vote="score"``: rows whose mean leaf score over the trees is above the mean threshold.

        Parameters
        ----------
        binned : BinnedMatrix
            Rows, from `binned`.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        ndarray of shape (n,), bool
        """
        if not self.is_valid:
            return np.zeros(binned.columns.shape[1], bool)
        easy = np.empty(binned.columns.shape[1], bool)
        for first in range(0, len(easy), _ROWS_AT_ONCE):
            rows = np.arange(first, min(first + _ROWS_AT_ONCE, len(easy)), dtype=np.int32)
            # Few rows go through all trees in one block: each block of trees reads all its nodes once.
            n_at_once = len(self.votes) if len(rows) <= _FEW_ROWS else _TREES_AT_ONCE
            easy[rows] = False
            found = self._high_scores if self.vote == "score" else self._enough_votes
            easy[found(binned, rows, n_at_once, n_jobs)] = True
        return easy

    def _enough_votes(self, binned: BinnedMatrix, rows: np.ndarray, n_at_once: int, n_jobs: int | None) -> np.ndarray:
        """Rows that `n_needed` trees call easy. A row that can no longer reach `n_needed` skips the remaining trees."""
        n_votes, n_left = np.zeros(len(rows), np.int32), int(np.count_nonzero(self.votes))
        for first in range(0, self.forest.trees.n_trees, n_at_once):
            scores, thresholds = self._scores(binned, rows, first, n_at_once, n_jobs)
            n_votes += (scores > thresholds).sum(axis=1, dtype=np.int32)
            n_left -= len(thresholds)
            still = n_votes + n_left >= self.n_needed
            rows, n_votes = rows[still], n_votes[still]
        return rows

    def _high_scores(self, binned: BinnedMatrix, rows: np.ndarray, n_at_once: int, n_jobs: int | None) -> np.ndarray:
        """Rows whose leaf scores exceed the thresholds in the mean over the trees that vote."""
        excess = np.zeros(len(rows))
        for first in range(0, self.forest.trees.n_trees, n_at_once):
            scores, thresholds = self._scores(binned, rows, first, n_at_once, n_jobs)
            for score, threshold in zip(scores.T, thresholds, strict=True):  # one order of summation for any blocks
                excess += np.subtract(score, threshold, dtype=np.float64)
        return rows[excess > 0]

    def _scores(
        self, binned: BinnedMatrix, rows: np.ndarray, first: int, n_at_once: int, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the rows' leaves in those of a block of trees that vote, (n_rows, n_voters), and the thresholds."""
        trees = self.forest.trees
        last = min(first + n_at_once, trees.n_trees)
        part = trees if last - first == trees.n_trees else trees_beside(trees, first, last)
        voters = np.flatnonzero(self.votes[first:last])
        leaves = part.apply(binned, rows, n_jobs=n_jobs)[:, voters] + trees.offsets[first + voters]
        return self.leaf_score[leaves], self.threshold[first + voters]

    def probabilities(self, binned: BinnedMatrix, rows: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Class probabilities of rows.

        Parameters
        ----------
        binned : BinnedMatrix
            Rows, from `binned`.
        rows : ndarray of int
            Rows of the matrix to predict.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self.forest.trees.predict(binned, rows, n_jobs=n_jobs)
        return _calibrated(values / values.sum(axis=1, keepdims=True), self.calibration)

    @property
    def nbytes(self) -> int:
        """Memory of trees and leaf scores, in bytes."""
        return self.forest.trees.nodes.nbytes + self.forest.trees.values.nbytes + self.leaf_score.nbytes


@dataclass(frozen=True)
class MiningRules:
    """Rules for finding easy examples: parameters of `DDBFClassifier` with the same names."""

    leaf_score: str
    threshold: str
    leaf_rows: str
    elimination: float
    vote_fraction: float
    predict_with: str
    vote: str = "trees"

    def mine(
        self,
        forest: FoldForest,
        mapper: BinMapper,
        binned: BinnedMatrix,
        y: np.ndarray,
        weights: np.ndarray | None,
        n_jobs: int | None,
    ) -> tuple[HardExampleForest, np.ndarray]:
        """Score the leaves of a forest and find the rows that it finds easy (section 3.2).

        Parameters
        ----------
        forest : FoldForest
            Forest grown on the training rows of the iteration.
        mapper : BinMapper
            Bins of the features.
        binned : BinnedMatrix
            Binned training rows.
        y : ndarray of shape (n,), int
            Class numbers of the training rows.
        weights : ndarray of shape (n,) or None
            Weights of the training rows.
        n_jobs : int or None
            Threads.

        Returns
        -------
        HardExampleForest
        easy : ndarray of shape (n,), bool
        """
        trees = forest.trees
        scores = np.zeros(len(trees.nodes), np.float32)
        fitness, thresholds, means = np.empty(trees.n_trees), np.empty(trees.n_trees), np.empty(trees.n_trees)
        for t, leaves, counts in self._leaf_counts(forest, binned, y, weights, n_jobs):
            own = leaf_scores(counts, counts.sum(), self.leaf_score).astype(np.float32)
            scores[trees.offsets[t] : trees.offsets[t + 1]][leaves] = own
            own = own.astype(np.float64)
            fitness[t] = own.mean()
            thresholds[t] = leaf_threshold(own, counts, self.threshold)
            means[t] = leaf_threshold(own, counts, "mean")
        votes = retained_trees(fitness, self.elimination)
        if self.predict_with == "retained":
            kept = np.flatnonzero(votes)
            of_kept = np.repeat(votes, np.diff(trees.offsets))
            forest = replace(forest, trees=some_trees(trees, kept), seeds=forest.seeds[kept])
            scores, thresholds, means, votes = scores[of_kept], thresholds[kept], means[kept], votes[kept]
        n_voters = int(np.count_nonzero(votes))
        n_needed = max(1, int(np.ceil(self.vote_fraction * n_voters - _ROUNDING)))
        mined = HardExampleForest(forest, mapper, scores, thresholds, votes, n_needed, self.threshold, vote=self.vote)
        easy = mined.easy(binned, n_jobs)
        if self.threshold == "mutual_information" and not easy.any():
            mined = replace(mined, threshold=means, threshold_kind="mean")
            easy = mined.easy(binned, n_jobs)
        return mined, easy

    def _leaf_counts(
        self, forest: FoldForest, binned: BinnedMatrix, y: np.ndarray, weights: np.ndarray | None, n_jobs: int | None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each tree: the leaves that rows reach, and the weight of each class in these leaves."""
        trees = forest.trees
        n_rows, n_classes = len(y), trees.n_classes
        of_class = np.zeros((n_rows, n_classes))
        of_class[np.arange(n_rows), y] = 1.0
        largest = int(np.diff(trees.offsets).max())
        step = max(1, _AT_ONCE // (8 * (n_classes + 1) * largest))
        for first in range(0, trees.n_trees, step):
            part = trees_beside(trees, first, min(first + step, trees.n_trees))
            row_weights: Any = weights
            if self.leaf_rows == "in_bag":

                def row_weights(tree: int, first: int = first) -> np.ndarray:
                    counts = in_bag_counts(forest.seeds[first + tree], forest.n_draws, n_rows)
                    return counts.astype(np.float64) if weights is None else counts * weights

            weight, sums = part.leaf_statistics(binned, of_class, weights=row_weights, n_jobs=n_jobs)
            for t, (begin, end) in enumerate(pairwise(part.offsets), first):
                leaves = np.flatnonzero(weight[begin:end] > 0)
                yield t, leaves, sums[begin:end][leaves]


def _calibrated(probabilities: np.ndarray, calibration: list[IsotonicRegression] | None) -> np.ndarray:
    """Probabilities after isotonic regression of each class; unchanged in rows where all classes would be 0."""
    if calibration is None or not len(probabilities):  # isotonic regression refuses an empty array
        return probabilities
    own = np.column_stack([one.predict(p) for one, p in zip(calibration, probabilities.T, strict=True)])
    total = own.sum(axis=1, keepdims=True)
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), probabilities)


@dataclass(frozen=True)
class _Grow:
    """Lines 4 to 6 of Algorithm 1: grow a forest on some rows, and find its easy rows.

    Parameters
    ----------
    member : RandomForestClassifier
        The unfitted forest.
    rules : LayerRules
        Seeds, threads, and where out-of-sample predictions come from.
    mining : MiningRules
        Which rows are easy.
    X : array or sparse matrix of shape (n_samples, n_features)
        All rows.
    label : ndarray of shape (n_samples,), int
        Their class numbers.
    weights : ndarray of shape (n_samples,) or None
        Their weights; None if all are equal.
    levels : ndarray of shape (n_features,), int, or None
        Number of levels of each categorical feature, 0 for numeric ones; None if none is categorical.
    """

    member: RandomForestClassifier
    rules: LayerRules
    mining: MiningRules
    X: MatrixLike
    label: np.ndarray
    weights: np.ndarray | None
    levels: np.ndarray | None

    def __call__(
        self, rows: np.ndarray, iteration: int, fold: int | None = None
    ) -> tuple[HardExampleForest, np.ndarray, np.ndarray | None, BinnedMatrix]:
        """Return the forest, which of `rows` are easy, their out-of-bag predictions (if asked for), and their bins."""
        y, weights, n_jobs = self.label[rows], weights_at(self.weights, rows), self.rules.n_jobs
        seen, mapper = Representation.of_training_rows(
            self.rows(rows), 0, sample_weight=weights, n_jobs=n_jobs, levels=self.levels
        )
        forest, out_of_bag = fit_forest(self.member, seen, y, weights, self.rules, iteration, fold)
        mined, easy = self.mining.mine(forest, mapper, seen.binned, y, weights, n_jobs)
        return mined, easy, None if out_of_bag is None else mean_vector(out_of_bag[:, None]), seen.binned

    def rows(self, rows: np.ndarray) -> MatrixLike:
        """Some rows of X."""
        return self.X if len(rows) == self.X.shape[0] else self.X[rows]


class _HeldOut:
    """A cascade without the rows of a fold. It predicts them as it would predict new rows.

    Rows of an iteration are chosen by their labels, so that predictions of these rows alone look too good or too bad.
    Rows that a whole cascade has not seen go the way of new rows.

    Parameters
    ----------
    rows : ndarray of shape (n_learned,), int
        Rows that are still hard; at first all rows to learn from.
    held_out : ndarray of shape (n_held_out,), int
        The other rows.
    """

    def __init__(self, rows: np.ndarray, held_out: np.ndarray):
        self._rows, self.held_out = rows, held_out
        self._is_waiting = np.ones(len(held_out), bool)
        self.is_over = False

    def grow(self, grow: _Grow, iteration: int, number: int) -> None:
        """Grow the next forest, unless the hard rows are too few: the last forest decides all rows."""
        if not self.is_over:
            self._newest, self._easy, *_ = grow(self._rows, iteration, number)
            self._binned = self._newest.binned(grow.rows(self.held_out), grow.rules.n_jobs)

    @property
    def waiting(self) -> np.ndarray:
        """Held-out rows that no iteration before the newest has decided."""
        return self.held_out[self._is_waiting]

    def probabilities(self, n_jobs: int | None) -> np.ndarray:
        """Predictions of the newest forest for all held-out rows, whether or not they reach it."""
        return self._newest.probabilities(self._binned, np.arange(len(self.held_out), dtype=np.int32), n_jobs)

    def divide(self, is_valid: bool, are_few: Callable[[np.ndarray], bool], n_jobs: int | None) -> None:
        """Let easy rows go, unless the division is annulled."""
        if self.is_over or not is_valid:
            return
        hard = self._rows[~self._easy]
        self.is_over = are_few(hard)
        if not self.is_over:
            self._rows = hard
            self._is_waiting &= ~self._newest.easy(self._binned, n_jobs)


class DDBFClassifier(ExplainableCascade, CascadeClassifier):
    """Deep dynamic boosted forest: each iteration's forest predicts easy rows, and the next one learns from hard rows.

    The score of a leaf measures how good the leaf is as a decision rule. An example is easy if, in every tree, the leaf
    that it reaches has a score above the threshold of the tree. Each iteration removes its easy training examples, and
    the next forest learns from the hard examples. The first forest that finds a new row easy predicts it. If no forest
    does, the last forest predicts the row.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees in each forest, before elimination.
    max_layers : int, default=10
        Maximum number of iterations (n of Algorithm 1).
    leaf_score : {"f1", "gini", "entropy"}, default="f1"
        Score of a leaf (Eqs. 6, 7, 8; see `leaf_scores`).
    threshold : {"mean", "mutual_information", "median", "row_mean"}, default="mean"
        Threshold of a tree, which the leaf scores of easy examples exceed: the mean of the tree's leaf scores, the
        mutual information of class and leaf in nats (Eq. 9), or the median of the leaf scores. Gini and entropy scores
        are never positive, so no leaf exceeds the mutual information. If no row is easy with mutual information, the
        mean is used instead, with a warning. "row_mean" is the mean over the training rows of the scores of their
        leaves. It and the median are not in the paper.
    vote : {"trees", "score"}, default="trees"
        How the trees decide together. "trees": each tree compares a row's leaf score with its own threshold, and
        `vote_fraction` of the trees must find the row easy (Eqs. 1 and 3). "score": a row is easy if its mean leaf
        score over the trees is above the mean of their thresholds; `vote_fraction` has no effect. With the threshold
        "mean" this is the mean leaf threshold, with "row_mean" the mean score of the training rows. "score" is a
        reading that is not in the paper.
    vote_fraction : float, default=1.0
        Share of the trees that must find an example easy, in (0, 1]. Eq. 1 requires all trees.
    elimination : float, default=0.2
        Share of the trees that are eliminated, in [0, 1): the trees of lowest fitness, the mean score of their leaves.
    leaf_rows : {"all", "in_bag"}, default="all"
        Rows that leaf scores are computed from: all training rows of the iteration, or the rows that the tree's
        bootstrap drew. In fully grown trees, in-bag rows make pure leaves (unless rows of several classes have the same
        features). With "in_bag", gini and entropy scores are then all equal and no row is easy.
    predict_with : {"retained", "all"}, default="retained"
        Trees that predict: the trees that were not eliminated, or all trees.
    validation : {"k_fold", "oob"}, default="k_fold"
        Source of the out-of-sample predictions of training rows, which the two rules of section 3.3.2 use. "k_fold":
        `n_folds` further cascades, each without the rows of a fold, which it predicts as new rows. "oob": for rule 2
        the trees of the forest that did not draw the row, without further forests. There is no score of the cascade
        then: rule 1 does not apply, and `keep` must be "last" (unless `max_layers` is 1).
    n_folds : int, default=3
        Number of folds of the validation.
    patience : int or None, default=None
        Growing stops after this many consecutive decreases of the score (rule 1); a value of `max_layers` or more
        turns the rule off. None: 2; 5 in preset "paper".
    keep : {"best", "last"}, default="best"
        The last iteration of the fitted cascade: the first iteration with the best score, or the last that was run.
    scoring : str, callable or None, default=None
        Scorer of scikit-learn for the held-out predictions, each from the iteration that decided the row; None:
        accuracy. Rule 2 always compares accuracies.
    preset : {"paper"} or None, default=None
        Source of the values of parameters that are None. None: a patience that was chosen on twelve data sets
        (``docs/defaults.md``). "paper": the paper's text.
    calibration : {"isotonic"} or None, default=None
        Isotonic regression of each iteration's probabilities, fitted on out-of-sample predictions. Iterations learn
        from data of different class ratios, so without calibration their probabilities are on different scales. The
        score and both rules use probabilities without calibration.
    criterion, max_depth, min_samples_leaf, max_features
        As in `RandomForestClassifier`.
    class_weight, categorical_features, n_jobs, random_state, verbose
        As in `GCForestClassifier`.

    Attributes
    ----------
    classes_, n_classes_, feature_importances_, n_features_in_, feature_names_in_, is_categorical_, categories_
        As in `GCForestClassifier`.
    n_layers_ : int
        Number of iterations that were kept.
    layers_ : list of HardExampleForest
        Forests of the kept iterations, with leaf scores and thresholds.
    validation_scores_ : ndarray of shape (n_run_iterations,)
        Score of held-out rows if the cascade ended at iteration 1, 2, ..., for all iterations that were run, also
        dropped ones. Empty with ``validation="oob"``.
    n_rows_ : ndarray of shape (n_layers_,), int
        Number of training rows that reached each iteration.
    n_trees_ : ndarray of shape (n_layers_,), int
        Number of trees in each iteration that were not eliminated.
    class_counts_ : ndarray of shape (n_layers_, n_classes), int
        Number of training rows of each class that reached each iteration.
    easy_counts_ : ndarray of shape (n_layers_, n_classes), int
        Number of training rows of each class that each iteration found easy; 0 if the division was annulled (rule 2).
    decision_level_ : ndarray of shape (n_samples,), int16
        Iteration (from 0) that decided each training row; -1 for rows without weight.

    Notes
    -----
    No code was released. Choices that the paper leaves open:

    - Eq. 3 intersects over the leaves of a tree, but a row reaches one leaf only; Eq. 1 intersects over trees. Section
      3.1 says that easy examples are kept for the next iteration; Algorithm 1 keeps the hard examples, and so do we.
    - Leaf scores come from all training rows of the iteration, and ``|X|`` of Eq. 4 is the number of these rows (with
      ``leaf_rows="in_bag"``, the number of draws of each tree).
    - Weights count as repeated rows, in forests, scores and accuracies. The rules that end the growth count rows.
    - If the division of an iteration is annulled (rule 2: easy examples are predicted worse than all examples), or if
      no row is easy, the iteration keeps all rows and counts. The next forest learns from the same rows.
    - Growing ends if no hard row is left, if all hard rows are of one class, or if there are fewer hard rows than
      `n_folds` times the number of their classes (for both kinds of validation). Classes without a hard row have
      probability 0 in later iterations.
    - The validation accuracy of rule 1 is that of whole cascades on rows that they have not seen. That of an
      iteration's own training rows would rise by itself: the rows are chosen by their labels.
    - Rule 1 decides when to stop, not what to keep: the iterations up to the best score are kept.
    - Each iteration computes new bins from its rows, so that thresholds are finest where hard rows are.

    With "f1" the score is nearly twice the support, since the support is far smaller than the confidence. Large leaves
    then have the highest scores, and fitness falls with the number of leaves, so the largest trees are eliminated.

    References
    ----------
    .. [1] H. Wang, X. Ren, J. Sun, W. Ye, L. Chen, M. Yu and S. Zhang, "Deep Dynamic Boosted Forest", ACML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cascadeforest import DDBFClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DDBFClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.decision_level(X).shape
    (569,)
    """

    _presets = PRESETS
    # Models that version 0.1.0 saved or pickled lack this parameter.
    preset: str | None = None
    # Parameters that other cascades have and this class does not: layers see the features, not class vectors.
    scanning = estimators = None
    # Models that version 0.1.0 saved or pickled lack this parameter.
    vote = "trees"

    _sparse_formats = ("csr",)  # rows are selected, which is fast in CSR

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        max_layers: int = 10,
        leaf_score: str = "f1",
        threshold: str = "mean",
        vote: str = "trees",
        vote_fraction: float = 1.0,
        elimination: float = 0.2,
        leaf_rows: str = "all",
        predict_with: str = "retained",
        validation: str = "k_fold",
        n_folds: int = 3,
        patience: int | None = None,
        keep: str = "best",
        scoring: Scorer = None,
        preset: str | None = None,
        calibration: str | None = None,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        max_features: MaxFeatures = "sqrt",
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_estimators = n_estimators
        self.max_layers = max_layers
        self.leaf_score = leaf_score
        self.threshold = threshold
        self.vote = vote
        self.vote_fraction = vote_fraction
        self.elimination = elimination
        self.leaf_rows = leaf_rows
        self.predict_with = predict_with
        self.validation = validation
        self.n_folds = n_folds
        self.patience = patience
        self.keep = keep
        self.scoring = scoring
        self.preset = preset
        self.calibration = calibration
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DDBFClassifier:
        """Grow one forest after another, each on the rows that are still hard (Algorithm 1, lines 1 to 10).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. A weight counts as repetitions of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid; the message names it.

        Warns
        -----
        UserWarning
            If an iteration used the mean score instead of mutual information.
        """
        self._begin()
        mining = self._checked_mining()
        X, label, _, weights = self._training_data(X, y, sample_weight)
        rows = rows_that_forests_count(weights, len(label))
        scoring = Scoring(self.scoring, self.classes_)
        progress = Progress(self.verbose)
        rules = self._rules(progress)
        everyone, n_decreases, patience = rows, 0, self._chosen("patience")
        grow = _Grow(self._forest_of_iteration(), rules, mining, X, label, weights, self._n_levels)
        folds = [] if self.validation == "oob" else self._folds(rules, label, everyone)
        decided = np.zeros((len(label), self.n_classes_))  # out of sample, at the last iteration that a row reached
        decision_level = np.full(len(label), -1, np.int16)
        layers: list[HardExampleForest] = []
        bins: list[BinnedMatrix] = []
        scores: list[float] = []
        reached, found_easy = [], []

        def are_few(some: np.ndarray) -> bool:
            """Whether hard rows are too few to learn from."""
            n_left = len(np.unique(label[some]))
            return n_left < 2 or len(some) < self.n_folds * n_left

        for iteration in range(self.max_layers):
            own, w = label[rows], weights_at(weights, rows)
            decision_level[rows] = iteration
            with progress.layer(iteration, 1 + sum(not fold.is_over for fold in folds)):
                mined, easy, out_of_bag, binned = grow(rows, iteration)  # lines 4 to 6
                for number, fold in enumerate(folds):
                    fold.grow(grow, iteration, number)
            predicted = np.empty((len(label), self.n_classes_))
            if out_of_bag is not None:
                predicted[rows] = out_of_bag
            for fold in folds:
                predicted[fold.held_out] = fold.probabilities(self.n_jobs)
                decided[fold.waiting] = predicted[fold.waiting]
            right = predicted[rows].argmax(axis=1) == own
            if easy.any() and _is_less(_mean(right[easy], weights_at(w, easy)), _mean(right, w)):  # rule 2
                mined, easy = replace(mined, is_valid=False), np.zeros(len(rows), bool)
            if self.calibration is not None:
                mined = replace(mined, calibration=_isotonic(predicted[rows], own, w))
            layers.append(mined)
            bins.append(binned)
            reached.append(np.bincount(own, minlength=self.n_classes_))
            found_easy.append(np.bincount(own[easy], minlength=self.n_classes_))
            if folds:
                score = scoring(label[everyone], decided[everyone], weights_at(weights, everyone))
                n_decreases = n_decreases + 1 if scores and _is_less(score, scores[-1]) else 0
                scores.append(score)
            progress.say(
                "iteration %d:%s %d rows, %d of them easy%s",
                *(iteration + 1, f" held-out score of all {score:.5f}," if folds else "", len(rows)),
                *(np.count_nonzero(easy), "" if mined.is_valid else " (division annulled)"),
            )
            hard = rows[~easy]  # line 7
            if n_decreases >= patience or are_few(hard):  # rule 1
                break
            rows = hard
            for fold in folds:
                fold.divide(mined.is_valid, are_few, self.n_jobs)

        self.n_layers_ = len(layers)
        if folds and self.keep == "best":
            self.n_layers_ = 1 + next(i for i, score in enumerate(scores) if not _is_less(score, max(scores)))
        self.layers_ = layers[: self.n_layers_]
        self.validation_scores_ = np.array(scores)
        self.class_counts_ = np.array(reached[: self.n_layers_])
        self.easy_counts_ = np.array(found_easy[: self.n_layers_])
        self.n_rows_ = self.class_counts_.sum(axis=1)
        self.n_trees_ = np.array([np.count_nonzero(layer.votes) for layer in self.layers_])
        self.decision_level_ = np.minimum(decision_level, self.n_layers_ - 1).astype(np.int16)
        self._learned_rows = LearnedRows(Rows.of(_beside(bins[: self.n_layers_]), label, weights))
        progress.say("kept %d of %d iterations", self.n_layers_, len(layers))
        self._warn_of_thresholds()
        return self

    def _folds(self, rules: LayerRules, label: np.ndarray, rows: np.ndarray) -> list[_HeldOut]:
        """One cascade for each fold, which learns from the other folds."""
        draw = rules.fold_draw(0)
        assert draw is not None, "out-of-bag predictions need no folds"
        fold = draw.of(label[rows], 0)
        return [_HeldOut(rows[fold != i], rows[fold == i]) for i in range(int(fold.max()) + 1)]

    def _checked_mining(self) -> MiningRules:
        """Check all parameters."""
        self._check_preset()
        for name in ("n_estimators", "max_layers"):
            check_count(name, getattr(self, name))
        check_count("patience", self.patience, optional=True)
        check_count("n_folds", self.n_folds, 2)
        check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        check_choice("leaf_score", self.leaf_score, LEAF_SCORES)
        check_choice("threshold", self.threshold, THRESHOLDS)
        check_choice("vote", self.vote, VOTES)
        check_choice("leaf_rows", self.leaf_rows, LEAF_ROWS)
        check_choice("predict_with", self.predict_with, PREDICT_WITH)
        check_choice("validation", self.validation, VALIDATION)
        check_choice("keep", self.keep, KEEPS)
        if self.validation == "oob" and self.keep == "best" and self.max_layers > 1:
            raise ValueError(
                "keep is 'best', but validation='oob' gives no score of the cascade; choose keep='last', or "
                "validation='k_fold'."
            )
        check_choice("calibration", self.calibration, ("isotonic",), optional=True)
        check_number("vote_fraction", self.vote_fraction, most=1.0)
        if not self.vote_fraction > 0:
            raise ValueError(f"vote_fraction is {self.vote_fraction!r}; give a share of the trees above 0.")
        check_number("elimination", self.elimination, most=1.0)
        if not self.elimination < 1:
            raise ValueError(f"elimination is {self.elimination!r}; give a share of the trees below 1.")
        check_jobs(self.n_jobs)
        return MiningRules(
            self.leaf_score,
            self.threshold,
            self.leaf_rows,
            self.elimination,
            self.vote_fraction,
            self.predict_with,
            self.vote,
        )

    def _forest_of_iteration(self) -> RandomForestClassifier:
        member = RandomForestClassifier(
            self.n_estimators,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
        )
        check_member(member, classification=True, class_vectors="k_fold")
        return member

    def _rules(self, progress: Progress) -> LayerRules:
        """Layer rules that the forests of all iterations share."""
        return LayerRules(
            self.classes_,
            self.n_folds,
            VALIDATION[self.validation],
            "float32",
            entropy_of(self.random_state),
            self.n_jobs,
            progress,
        )

    def _warn_of_thresholds(self) -> None:
        fell_back = [i + 1 for i, layer in enumerate(self.layers_) if layer.threshold_kind != self.threshold]
        if fell_back:
            which = f"iteration{'s' if len(fell_back) > 1 else ''} {', '.join(map(str, fell_back))}"
            warnings.warn(
                f"threshold is 'mutual_information', above which leaf_score {self.leaf_score!r} had no easy row in "
                f"{which}; the mean score was tried in its place.",
                UserWarning,
                stacklevel=3,  # the caller of fit
            )

    def iterate(self, X: MatrixLike) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Predict rows, one iteration after another (Algorithm 1, lines 12 to 25).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        iterator of (rows, probabilities)
            One pair for each iteration.
        rows : ndarray of shape (n_decided,), int32
            Indices of the rows that the iteration decides, ascending: the easy rows; in the last iteration all
            remaining rows.
        probabilities : ndarray of shape (n_decided, n_classes)
            Class probabilities of `rows`.
        """
        return self._decide(self._checked_X(X))

    def _decide(self, X: MatrixLike) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = np.arange(X.shape[0], dtype=np.int32)
        for iteration, layer in enumerate(self.layers_):
            if not layer.is_valid and iteration < self.n_layers_ - 1:
                yield rows[:0], np.empty((0, self.n_classes_))
                continue
            easy, binned = self._reach(X, rows, iteration)
            places = np.flatnonzero(easy).astype(np.int32)
            yield rows[places], layer.probabilities(binned, places, self.n_jobs)
            rows = rows[~easy]

    def _reach(self, X: MatrixLike, rows: np.ndarray, iteration: int) -> tuple[np.ndarray, BinnedMatrix]:
        """Which of `rows` an iteration decides, and the binned rows."""
        layer = self.layers_[iteration]
        binned = layer.binned(X if len(rows) == X.shape[0] else X[rows], self.n_jobs)
        last = iteration == self.n_layers_ - 1
        return np.ones(len(rows), bool) if last else layer.easy(binned, self.n_jobs), binned

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict class probabilities; each row is predicted by the iteration that decides it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        X = self._checked_X(X)
        probabilities = np.empty((X.shape[0], self.n_classes_))
        for rows, own in self._decide(X):
            probabilities[rows] = own
        return probabilities

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities after iteration 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities from the last iteration that each row reached so far. There are `n_layers_` arrays; the last
            one equals `predict_proba`.
        """
        for reached in HardExampleWalk(self, self.n_jobs).layers(X):
            yield reached.prediction

    def easy(self, X: MatrixLike, iteration: int = 0) -> np.ndarray:
        """Find the rows that an iteration's forest calls easy, whether or not they reach the iteration.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        iteration : int, default=0
            Number of the iteration, counted from 0.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            All False where the division was annulled.

        Raises
        ------
        ValueError
            If the cascade has no such iteration.
        """
        X = self._checked_X(X)
        check_count("iteration", iteration, 0)
        if iteration >= self.n_layers_:
            raise ValueError(f"iteration is {iteration}; there are {self.n_layers_}, counted from 0.")
        layer = self.layers_[iteration]
        return layer.easy(layer.binned(X, self.n_jobs), self.n_jobs)

    def decision_level(self, X: MatrixLike) -> np.ndarray:
        """Find the iteration, counted from 0, that decides each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,), int16
        """
        X = self._checked_X(X)
        levels = np.empty(X.shape[0], np.int16)
        rows = np.arange(X.shape[0], dtype=np.int32)
        for iteration in range(self.n_layers_):
            easy, _ = self._reach(X, rows, iteration)
            levels[rows] = iteration
            rows = rows[~easy]
        return levels

    def walk(self, n_jobs: int | None = None) -> Walk:
        """As in `ExplainableCascade`."""
        return HardExampleWalk(self, n_jobs)


class HardExampleWalk(Walk):
    """Walk of DDBF: a row leaves at the first iteration that finds it easy; each iteration has bins of its own."""

    model: DDBFClassifier
    rows_leave = True

    @property
    def n_layers(self) -> int:
        """Number of iterations that were kept."""
        return self.model.n_layers_

    @property
    def vector_dtype(self) -> str:
        """As in `Walk`: leaves hold single precision, and probabilities are divided by their sum."""
        return "float32"

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        model = self.model
        X = model._checked_X(X)
        n_rows = X.shape[0]
        rows = np.arange(n_rows, dtype=np.int32)
        probabilities = np.empty((n_rows, model.n_classes_))
        for iteration, layer in enumerate(model.layers_):
            easy, binned = model._reach(X, rows, iteration)
            probabilities = probabilities.copy()
            probabilities[rows] = layer.probabilities(binned, np.arange(len(rows), dtype=np.int32), self.n_jobs)
            yield Reached(_among(n_rows, rows, binned), rows, probabilities, rows[easy])
            rows = rows[~easy]

    def trained_layers(self, learned: Rows) -> Iterator[TrainedLayer]:
        """As in `Walk`; each tree predicts the training rows that it did not draw."""
        model, n_rows, begin = self.model, len(learned.y), 0
        for iteration, layer in enumerate(model.layers_):
            rows = self._reached(iteration)
            columns = np.ascontiguousarray(learned.columns[:, begin : begin + len(rows)])
            binned = _among(n_rows, rows, learned.binned._replace(columns=columns))
            begin += len(rows)
            Y, weights = self.responses(learned.y[rows]), weights_at(learned.weights, rows)
            forest = learned_forest(layer.forest, binned, rows, np.arange(len(rows)), Y, weights)
            yield TrainedLayer(binned, rows, Y, weights, model.n_features_in_, 0, [[forest]], [[(forest, None)]])

    def _reached(self, iteration: int) -> np.ndarray:
        """Training rows that reached an iteration."""
        return np.flatnonzero(self.model.decision_level_ >= iteration).astype(np.int32)

    def training_rows(self, given: Given | None = None) -> Rows:
        """As in `Walk`, with the bins of each iteration beside those of the iteration before.

        An error if probabilities were calibrated: they are no longer means over the trees.
        """
        if not hasattr(self.model, "n_layers_"):
            raise ValueError(INTERRUPTED)
        if any(layer.calibration is not None for layer in self.model.layers_):
            raise ValueError(
                "The model has calibration='isotonic': its probabilities went through an isotonic regression and are "
                "no means over trees. Fit it with calibration=None to explain it."
            )
        return super().training_rows(given)

    def values(self, learned: Rows) -> np.ndarray:
        """As in `Walk`; rows of weight 0 have NaN, since no iteration has bins of them."""
        rows = self._reached(0)
        values = np.full((len(learned.y), self.model.n_features_in_), np.nan)
        values[rows] = learned._replace(columns=learned.columns[:, : len(rows)]).values()
        return values

    def _reader(self) -> Any:
        return copy.copy(self.model._as_fitted)

    def _bins(self, X: MatrixLike) -> BinnedMatrix:
        layers = self.model.layers_
        if X.shape[0] != len(self.model.decision_level_):
            return layers[0].binned(X, self.n_jobs)  # other rows than those of `fit`, as their digests will say
        return _beside([layer.binned(X[self._reached(i)], self.n_jobs) for i, layer in enumerate(layers)])


def _beside(parts: list[BinnedMatrix]) -> BinnedMatrix:
    """Bins of the rows of each iteration, side by side; the centers are those of the first iteration."""
    return parts[0]._replace(columns=np.concatenate([part.columns for part in parts], axis=1))


def _among(n_rows: int, rows: np.ndarray, binned: BinnedMatrix) -> BinnedMatrix:
    """A matrix of `n_rows` rows that has those of `binned` at `rows`, and nothing to look at in the other rows."""
    if len(rows) == n_rows:
        return binned
    columns = np.zeros((len(binned.columns), n_rows), np.uint8)
    columns[:, rows] = binned.columns
    return binned._replace(columns=columns)


def _isotonic(probabilities: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> list[IsotonicRegression]:
    """For each class, an isotonic regression of its share among rows on the predicted probability."""
    return [
        IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p, y == c, weights)
        for c, p in enumerate(probabilities.T)
    ]


def _is_less(one: float, other: float) -> bool:
    """Whether one score is less than another by more than rounding errors: sums of weights depend on their order."""
    return one < other - _ROUNDING * max(1.0, abs(other))


def _mean(right: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(right, weights=weights))
