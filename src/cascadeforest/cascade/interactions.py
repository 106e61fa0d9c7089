"""hiDF: each layer passes on stable interactions of features (Chen, Lyu and Jiang 2021).

`HiDFClassifier.fit` is Algorithm 2. gRIT (Algorithm 1) and stability (Eq. 2) are in `intersection`, features made of
interactions (Eq. 3) in `combination`.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if

from cascadeforest.cascade._base import CascadeClassifier, rows_that_forests_count, weights_at
from cascadeforest.cascade.combination import Columns, Condition, Interaction, Interactions, features_behind
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.intersection import (
    MERGES,
    REPEATED,
    StableInteraction,
    generalized_rit,
    n_nodes,
    rules_of_rows,
    stable_interactions,
)
from cascadeforest.cascade.layer import FoldForest, Layer, LayerRules, check_member, fit_layer, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation, weights_of_all
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest._parameters import check_choice, check_count, check_flag, check_jobs, check_number
from cascadeforest.forest._types import ClassWeight, MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.binning import MAX_BINS, BinMapper, BinnedMatrix
from cascadeforest.forest.categories import CategoricalFeatures
from cascadeforest.forest.estimators import (
    EnrichedRandomForestClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from cascadeforest.forest.growth import grow_forest, in_bag_counts, tree_seeds
from cascadeforest.forest.learned_rows import LearnedRows, Rows
from cascadeforest.forest.seeds import seed_at
from cascadeforest.forest.walks import INTERRUPTED, Given, Reached, SharedColumns, Walk

#: Seed addresses, beside the addresses of layers: the forests fitted to a representation; the bootstraps and forests of
#: the search for interactions.
_FORESTS, _SEARCH = 2**20, 2**21
#: Seed addresses in the search: draws of rows, of trees, of rules.
_ROWS, _TREES, _RULES = 0, 1, 2
_PAPER: dict[str, Any] = {
    "n_forests": 1,
    "n_estimators": 500,
    "n_folds": 5,
    "cv_estimators": 100,
    "use_class_vectors": False,
    "max_layers": 10,
    "patience": 2,
    "resampling": "bootstrap",
    "intersection_depth": 5,
    "deepest_only": True,
    "threshold_counts": False,
    "weight_floor": 1e-3,
    "weights": "layer",
}
#: Values of parameters that are None, by preset.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: _PAPER,  # no smaller size that was tried is as good
    "paper": _PAPER,
    "official": {
        "n_forests": 5,
        "n_estimators": 100,
        "n_folds": 5,
        "cv_estimators": 100,
        "use_class_vectors": True,
        "max_layers": 9,
        "patience": None,  # all layers
        "resampling": "subsample",
        "intersection_depth": 4,
        "deepest_only": False,
        "threshold_counts": True,
        "weight_floor": 0.0,
        "weights": "forest",
    },
}
RESAMPLING = ("bootstrap", "subsample")
#: Maximum number of nodes in an intersection tree; a larger number is an error.
_MOST_NODES = 2**16
#: Share of the rows in a subsample.
_SUBSAMPLE = 0.5


class _Training:
    """Training data as layers see them: features and interactions, each binned once."""

    def __init__(
        self,
        X: MatrixLike,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        room: int,
        n_jobs: int | None,
        levels: np.ndarray | None,
    ):
        self.rows, self.y, self.weights = rows, y, weights
        self.columns = Columns(X)
        self._room, self._n_jobs = room, n_jobs
        self._of_all = weights_of_all(rows, weights, X.shape[0])
        self.seen, self.mapper = Representation.of_training_rows(
            X, room, sample_weight=self._of_all, n_jobs=n_jobs, levels=levels
        )
        #: Of each layer's interactions.
        self.added_mappers: list[BinMapper] = []
        #: Of all columns, for thresholds.
        self.all_mapper = self.mapper

    def extend(self, new: Sequence[np.ndarray]) -> None:
        """Append new features; only the new features are binned."""
        for column in new:
            self.columns.append(column)
        self.seen.drop_added()
        before = self.seen.binned
        n_before, n_rows = before.columns.shape
        n_after = n_before + len(new)
        columns = np.empty((n_after + self._room, n_rows), np.uint8)
        centers = np.empty((n_after + self._room, MAX_BINS))
        columns[:n_before], centers[:n_before] = before.columns, before.centers
        mapper = BinMapper()
        binned = mapper.fit_transform(
            np.column_stack(new), self._of_all, n_jobs=self._n_jobs, out=columns[n_before:n_after]
        )
        centers[n_before:n_after] = binned.centers
        self.all_mapper = self.all_mapper.extend(mapper)
        self.seen = Representation(columns, centers, n_after, categorical=self.all_mapper.categorical)
        self.added_mappers.append(mapper)

    def first_columns(self, n_columns: int) -> BinnedMatrix:
        """Bins of the features and the first interactions."""
        columns, centers, categorical = self.seen.given
        own = None if categorical is None else categorical[:n_columns]
        return BinnedMatrix(columns[:n_columns], None if centers is None else centers[:n_columns], own)


@dataclass(frozen=True)
class _Fitted:
    """Forests fitted to one representation, with their score and importances.

    Parameters
    ----------
    final : _Final
        Forests that predict from the representation.
    score : float
        Score of the out-of-fold predictions.
    importances : ndarray of shape (n_forests, n_columns)
        Mean decrease in impurity by column, each line divided by its sum; class vectors are the last columns.
    """

    final: _Final
    score: float
    importances: np.ndarray


@dataclass(frozen=True)
class _Final:
    """Forests that predict from a representation: forests of all rows, or two layers of fold models.

    Parameters
    ----------
    forests : list of FoldForest
        Forests that learned from all rows; their mean is the prediction. Empty with class vectors.
    vectors : Layer or None
        Layer that predicts class vectors from features and interactions; None without class vectors, and in the first
        representation.
    layer : Layer or None
        Layer that predicts from features, interactions and class vectors; None without class vectors.
    """

    forests: list[FoldForest]
    vectors: Layer | None
    layer: Layer | None

    def predictions(self, seen: Representation, rows: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield class probabilities of `rows` by each layer of forests, shape (n, n_classes); the last one predicts."""
        if self.layer is None:
            total = self.forests[0].predict(seen, rows, n_jobs)
            for forest in self.forests[1:]:
                total += forest.predict(seen, rows, n_jobs)
            yield total / len(self.forests)
            return
        if self.vectors is not None:
            vectors = self.vectors.transform(seen, rows, n_jobs)
            yield mean_vector(vectors)
            self.layer.see(vectors, seen, rows, n_jobs)
        yield mean_vector(self.layer.transform(seen, rows, n_jobs))

    def layers(self, n_classes: int) -> list[Layer]:
        """The layers of forests; forests that learned from all rows are a layer with out-of-bag vectors."""
        if self.layer is None:
            return [Layer([[forest] for forest in self.forests], None, "float64", n_classes, None)]
        return [self.layer] if self.vectors is None else [self.vectors, self.layer]


class HiDFClassifier(ExplainableCascade, CascadeClassifier):
    """hiDF: a cascade whose layers pass on stable interactions of features, found by random intersection trees.

    Each layer fits a forest and then draws several samples of the rows. On each sample it grows a few trees, which
    prefer features that were important in the forest, and intersects decision rules of these trees. Each set of
    conditions that is found in most of the samples becomes a new feature (Eq. 3). The next layer sees the features and
    all interactions found so far. The forests of the best representation predict.

    Parameters
    ----------
    n_forests : int or None, default=None
        Number of forests that predict from a representation. None: 1; 5 in preset "official".
    n_estimators : int or None, default=None
        Number of trees in each forest. None: 500; 100 in preset "official", where each forest has 100 trees in every
        fold.
    n_folds : int or None, default=None
        Number of folds of the cross-validation. All layers use the same folds. None: 5.
    cv_estimators : int or None, default=None
        Number of trees in the forests of the cross-validation, at most `n_estimators`. Without class vectors only.
        None: 100.
    use_class_vectors : bool or None, default=None
        Whether forests also see the class vectors of a layer that was fitted to the features and interactions. The
        released code does this for the paper's Table II. None: False, as in Algorithm 2; True in "official".
    n_bootstraps : int, default=10
        B, number of samples of the rows. With 0, no interactions are searched; layers then add class vectors only, if
        these are used.
    resampling : {"bootstrap", "subsample"} or None, default=None
        How rows are sampled: "bootstrap" draws n_samples rows with replacement, "subsample" draws half of the rows
        without replacement. None: "bootstrap"; "subsample" in preset "official".
    rule_estimators : int, default=10
        Number of trees in the enriched forest of each sample.
    n_intersection_trees : int, default=20
        L, number of intersection trees of each sample.
    intersection_depth : int or None, default=None
        D, number of levels in an intersection tree, the root included; a node of level d is the intersection of d
        rules. None: 5; 4 in preset "official".
    n_children : int, default=2
        Number of children of a node of an intersection tree.
    deepest_only : bool or None, default=None
        Whether only the nodes of the last level are interactions. None: True, as in Algorithm 1; False in "official".
    repeated : {"first", "tightest"}, default="first"
        Which conditions a rule has on a feature that a path splits several times (see `intersection.rules_of_rows`).
        With "tightest" a rule can have a lower and an upper bound on a feature; in Eq. 3 the two terms then add up to a
        constant.
    merge : {"loosest", "median"}, default="loosest"
        Thresholds of an interaction that was found several times (see `intersection.stable_interactions`).
    stability_threshold : float, default=0.5
        Stability that an interaction must exceed (no interaction exceeds 1); in preset "official", stability that it
        must reach.
    max_new_features : int or None, default=None
        Maximum number of new features of a layer. The most stable interactions are taken first; among equally stable
        interactions, lower orders come first, then larger supports. None: no bound. The released code sets this
        parameter and the threshold by hand for each data set.
    standardize : bool, default=False
        Whether Eq. 3 divides each feature by its standard deviation. Without division, as printed in the paper, the
        feature with the widest range dominates the sum.
    max_layers : int or None, default=None
        K, maximum number of layers. None: 10; 9 in preset "official", whose code counts the features alone as the first
        of ten layers.
    patience : int or None, default=None
        Growing stops after this many consecutive layers that are not better than the best representation; a value of
        `max_layers` or more turns early stopping off. None: 2; in preset "official" growing does not stop early.
    keep : {"best", "last"}, default="best"
        Representation that predicts: the first one with the best score, or the last. With "best" the features alone are
        a candidate, and interactions that do not raise the score are dropped. Use "last" to see all interactions that
        were found.
    keep_stages : bool, default=False
        Whether the forests of each representation are kept for `staged_predict_proba`. They take the memory of one
        model each.
    tol, scoring, max_depth, min_samples_leaf, max_features, class_weight, categorical_features, n_jobs, random_state, \
verbose
        As in `GCForestClassifier`. `max_depth`, `min_samples_leaf` and `max_features` apply to enriched forests too.
        A condition on a categorical feature is that its level is in a set; Eq. 3 then has 1 for levels in the set and
        0 for others in the place of ``x - t`` (our own extension; the paper has numbers only).
    preset : {"paper", "official"} or None, default=None
        Source of the values of parameters that are None. None: as "paper", since smaller sizes were not shown to be
        as good on twelve data sets (``docs/defaults.md``). "paper": the paper's text. "official": the released code.

    Attributes
    ----------
    classes_, n_classes_, feature_importances_, n_features_in_, feature_names_in_, is_categorical_, categories_
        As in `GCForestClassifier`.
    n_layers_ : int
        Number of layers whose interactions are used; 0 if the features alone are as good.
    interactions_ : Interactions
        The interactions that are used, in the order in which they were found: a sequence of `Interaction`, with
        ``to_frame()`` and ``to_text()``.
    importances_ : ndarray of shape (n_features_in_ + n_interactions,)
        Mean decrease in impurity by each feature, then by each interaction, in the final forests, divided by the sum
        over all columns (class vectors included, if they are used).
    root_importances_ : ndarray of shape (n_features_in_ + n_interactions,)
        Largest decrease in Gini impurity by a root split of the final forests (the 'marginal importance' of the
        paper's Fig. 3, by its released code); 0 for columns that no root splits.
    stages_ : list of n_layers_ + 1 objects
        With `keep_stages`, the forests of each representation: of the features alone, and with the interactions up to
        each layer. They are the same object where a layer found no interaction.
    final_ : object
        The forests that predict; with class vectors, the two layers of fold models.
    n_new_ : ndarray of shape (n_grown_layers,), int
        Number of interactions that each layer found, dropped layers included.
    validation_scores_ : ndarray of shape (n_grown_layers + 1,)
        Score of the out-of-fold predictions from the features alone, and with the interactions up to each layer.

    Notes
    -----
    Choices that the paper leaves open:

    - The cross-validation uses the whole representation ("on r^(k+1)", Algorithm 2, line 19). The features alone are a
      candidate too.
    - Enriched forests draw features with probabilities proportional to the mean importance in the layer's forests, with
      a floor of a thousandth of the mean.
    - Interactions have at least two conditions. A new feature that is constant on the training rows is left out. If a
      layer finds no interaction, the next layer draws new samples.
    - A missing value satisfies no condition and makes the new feature missing.

    Rules are drawn for rows without regard to class or weight. For a rare class few rules are drawn, and its conditions
    are rarely found.

    In preset "official" each enriched forest draws features by the importances in one of the fold forests (without
    class vectors, in one forest), without a floor, and the weights of Eq. 3 are the sums of the enriched forests'
    importances. One of the two drivers in the released code adds noise to the probabilities; this class does not.

    References
    ----------
    .. [1] Y.-H. Chen, S.-H. Lyu and Y. Jiang, "Improving deep forest by exploiting high-order interactions", ICDM 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cascadeforest import HiDFClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HiDFClassifier(n_estimators=20, max_layers=2, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 2)
    """

    _presets = PRESETS
    # Parameters that other cascades have and this class does not.
    scanning = input_shape = vector_dtype = estimators = None
    class_vectors = "k_fold"

    def __init__(
        self,
        n_forests: int | None = None,
        n_estimators: int | None = None,
        *,
        n_folds: int | None = None,
        cv_estimators: int | None = None,
        use_class_vectors: bool | None = None,
        n_bootstraps: int = 10,
        resampling: str | None = None,
        rule_estimators: int = 10,
        n_intersection_trees: int = 20,
        intersection_depth: int | None = None,
        n_children: int = 2,
        deepest_only: bool | None = None,
        repeated: str = "first",
        merge: str = "loosest",
        stability_threshold: float = 0.5,
        max_new_features: int | None = None,
        standardize: bool = False,
        max_layers: int | None = None,
        patience: int | None = None,
        keep: str = "best",
        tol: float = 0.0,
        scoring: Scorer = None,
        preset: str | None = None,
        keep_stages: bool = False,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        max_features: MaxFeatures = "sqrt",
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_forests = n_forests
        self.n_estimators = n_estimators
        self.n_folds = n_folds
        self.cv_estimators = cv_estimators
        self.use_class_vectors = use_class_vectors
        self.n_bootstraps = n_bootstraps
        self.resampling = resampling
        self.rule_estimators = rule_estimators
        self.n_intersection_trees = n_intersection_trees
        self.intersection_depth = intersection_depth
        self.n_children = n_children
        self.deepest_only = deepest_only
        self.repeated = repeated
        self.merge = merge
        self.stability_threshold = stability_threshold
        self.max_new_features = max_new_features
        self.standardize = standardize
        self.max_layers = max_layers
        self.patience = patience
        self.keep = keep
        self.tol = tol
        self.scoring = scoring
        self.preset = preset
        self.keep_stages = keep_stages
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> HiDFClassifier:
        """Find interactions, and grow the forests of the best representation (Algorithm 2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. Forests multiply bootstrap counts by them, and the score weights rows by them. The
            samples of the search for interactions ignore weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid; the message names it.
        """
        self._begin()
        chosen = self._checked_parameters()
        X, label, _, all_weights = self._training_data(X, y, sample_weight)
        rows = rows_that_forests_count(all_weights, len(label))
        weights = weights_at(all_weights, rows)
        members = self._layer_members(chosen)
        scoring = Scoring(self.scoring, self.classes_)
        progress = Progress(self.verbose)
        rules = replace(self._layer_rules(self.classes_, "float32", progress), shared_folds=True)
        room = len(members) * self.n_classes_ if chosen["use_class_vectors"] else 0
        data = _Training(X, rows, label[rows], weights, room, self.n_jobs, self._n_levels)

        patience = self._chosen_patience()
        best = BestLayer(patience, self.tol)
        found: list[Interaction] = []
        n_new: list[int] = []
        stages: list[_Final] = []
        for level in range(chosen["max_layers"] + 1):  # line 2: S^(1), S^(2), ..., S^(K + 1)
            # If the representation did not change, reuse the last fit. Class vectors are added in the second one.
            if level == 0 or n_new[-1] or (level == 1 and chosen["use_class_vectors"]):
                fitted = self._fit_representation(members, data, rules, scoring, level, chosen)  # lines 4, 5, 19
            if self.keep_stages:
                stages.append(fitted.final)
            if best.is_better(fitted.score) or self.keep == "last":
                kept = fitted
            progress.say("representation %d: out-of-fold score %.5f", level + 1, fitted.score)
            over = best.is_over or (scoring.cannot_rise(fitted.score) and patience < chosen["max_layers"])
            if level == chosen["max_layers"] or over:  # lines 20 to 22
                break
            data.seen.drop_added()
            stable, weights_of = self._search(data, rules, fitted, level, chosen)  # lines 6 to 11
            new = self._new_features(stable, weights_of, data, found, level + 1, chosen)  # lines 12 to 18
            n_new.append(len(new))
            progress.say("layer %d: %d new interactions", level + 1, len(new))
        self._keep(data, found, kept, best.n_kept(self.keep) - 1)
        if self.keep_stages:
            self.stages_ = stages[: self.n_layers_ + 1]
        self.root_importances_ = self._root_importances(data)
        self.n_new_ = np.array(n_new, np.int64)
        self.validation_scores_ = np.array(best.scores)
        self._learned_rows = LearnedRows(Rows.of(data.first_columns(len(self.importances_)), label, all_weights))
        return self

    def _keep(self, data: _Training, found: list[Interaction], kept: _Fitted, n_layers: int) -> None:
        """Keep only the fitted state that prediction needs."""
        n_found = len(found)
        found = [one for one in found if one.layer <= n_layers]
        n_columns = self.n_features_in_ + len(found)
        self.importances_ = kept.importances.mean(axis=0)[:n_columns]
        shares = self.importances_[self.n_features_in_ :].tolist()
        self.interactions_ = Interactions(
            [replace(one, importance=share) for one, share in zip(found, shares, strict=True)],
            self.classes_.tolist(),
            n_dropped=n_found - len(found),
        )
        self.n_layers_ = n_layers
        self.final_ = kept.final
        self._mapper = data.mapper
        self._added_mapper = None
        n_columns = 0
        for mapper in data.added_mappers:
            if n_columns == len(found):
                break
            n_columns += mapper.n_features_in_
            self._added_mapper = mapper if self._added_mapper is None else self._added_mapper.extend(mapper)

    def _root_importances(self, data: _Training) -> np.ndarray:
        """Largest decrease in impurity by a root split on each column, over all trees of the final forests."""
        largest = np.zeros(len(self.importances_))
        for forest in self.final_.forests:
            _enter_roots(largest, forest, data, np.arange(len(data.y)), self.n_classes_)
        layer = self.final_.layer
        if layer is not None:
            for k, models in enumerate(layer.our_forests):
                fold = layer.fold_of(data.y, k)
                for i, model in enumerate(models):
                    _enter_roots(largest, model, data, np.flatnonzero(fold != i), self.n_classes_)
        return largest

    def _checked_parameters(self) -> dict[str, Any]:
        """Checked parameter values: the user's, or the preset's where the user's value is None."""
        self._check_preset()
        chosen = {
            name: value if getattr(self, name, None) is None else getattr(self, name)
            for name, value in PRESETS[self.preset].items()
        }
        counts = ("n_forests", "n_estimators", "max_layers", "intersection_depth")
        for name in (*counts, "patience", "cv_estimators", "max_new_features"):
            check_count(name, getattr(self, name), optional=True)
        for name in ("rule_estimators", "n_intersection_trees", "n_children"):
            check_count(name, getattr(self, name))
        check_count("n_bootstraps", self.n_bootstraps, 0)
        if n_nodes(chosen["intersection_depth"], self.n_children) > _MOST_NODES:
            raise ValueError(
                f"intersection_depth is {chosen['intersection_depth']!r} and n_children {self.n_children!r}: an "
                f"intersection tree would have more than {_MOST_NODES:,} nodes, each with a rule; lower one of them."
            )
        check_count("n_folds", self.n_folds, 2, optional=True)
        check_number("tol", self.tol)
        check_number("stability_threshold", self.stability_threshold, 0.0, 1.0)
        check_choice("resampling", chosen["resampling"], RESAMPLING)
        check_choice("repeated", self.repeated, REPEATED)
        check_choice("merge", self.merge, MERGES)
        check_choice("keep", self.keep, KEEPS)
        check_flag("use_class_vectors", chosen["use_class_vectors"])
        check_flag("deepest_only", chosen["deepest_only"])
        check_flag("standardize", self.standardize)
        check_flag("keep_stages", self.keep_stages)
        check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        check_jobs(self.n_jobs)
        return chosen

    def _layer_members(self, chosen: dict[str, Any]) -> list[BaseEstimator]:
        """The forests of a layer: random forests; in preset "official" two of five are Extra-Trees with bootstrap."""
        common = {
            "n_estimators": chosen["n_estimators"],
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "max_features": self.max_features,
        }
        kinds = [RandomForestClassifier(**common)]
        if self.preset == "official":
            kinds = [*kinds * 3, *[ExtraTreesClassifier(bootstrap=True, **common)] * 2]
        members = [kinds[k % len(kinds)] for k in range(chosen["n_forests"])]
        for member in members:
            check_member(member, classification=True, class_vectors="k_fold")
        return members

    def _fit_representation(
        self,
        members: list[BaseEstimator],
        data: _Training,
        rules: LayerRules,
        scoring: Scoring,
        level: int,
        chosen: dict[str, Any],
    ) -> _Fitted:
        """Fit forests to the features and interactions found so far; compute score and importances."""
        rows, y, weights = data.rows, data.y, data.weights
        n_models = rules.n_models(len(members), len(rows))
        if chosen["use_class_vectors"]:
            vectors_from = added_mapper = None
            if level:
                with rules.progress.layer(level, n_models):
                    vectors_from, vectors = fit_layer(members, data.seen, rows, y, weights, rules, 2 * level, None)
                added_mapper = data.seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)
            with rules.progress.layer(level, n_models):
                layer, own = fit_layer(members, data.seen, rows, y, weights, rules, 2 * level + 1, added_mapper)
            importances = _importances_of_layer(layer, data, self.n_jobs)
            return _Fitted(_Final([], vectors_from, layer), scoring(y, mean_vector(own), weights), importances)
        fewer = [
            clone(m).set_params(n_estimators=min(chosen["cv_estimators"], chosen["n_estimators"])) for m in members
        ]
        with rules.progress.layer(level, n_models):
            _, own = fit_layer(fewer, data.seen, rows, y, weights, rules, level, None)
        grown = [
            grow_forest(
                data.seen.binned,
                y,
                n_classes=self.n_classes_,
                rules=member.growth_rules(len(rows), data.seen.n_features),
                seeds=tree_seeds(seed_at(rules.entropy, _FORESTS, level, k), member.n_estimators),
                rows=rows,
                weights=weights,
                bootstrap=member.bootstrap,
                n_jobs=self.n_jobs,
            )
            for k, member in enumerate(members)
        ]
        importances = np.array([_shares(forest.mean_decrease_impurity) for forest in grown])
        final = _Final([FoldForest.of(forest) for forest in grown], None, None)
        return _Fitted(final, scoring(y, mean_vector(own), weights), importances)

    def _search(
        self, data: _Training, rules: LayerRules, fitted: _Fitted, level: int, chosen: dict[str, Any]
    ) -> tuple[list[StableInteraction], np.ndarray]:
        """Search interactions; return them with their stability, and the weights of Eq. 3 by column."""
        binned, n_columns = data.seen.binned, data.seen.n_features
        importances = fitted.importances[:, :n_columns]  # class vectors are no part of interactions
        mean = importances.mean(axis=0)
        found, of_rule_forests = [], np.zeros(n_columns)
        for b in range(self.n_bootstraps):

            def generator(purpose: int, b: int = b) -> np.random.SeedSequence:
                return seed_at(rules.entropy, _SEARCH, level, b, purpose)

            drawn = self._drawn(len(data.rows), np.random.default_rng(generator(_ROWS)), chosen["resampling"])
            preferred = mean if chosen["weights"] == "layer" else importances[b % len(importances)]
            forest = EnrichedRandomForestClassifier(
                self.rule_estimators,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features,
            )
            grown = grow_forest(
                binned,
                data.y[drawn],
                n_classes=self.n_classes_,
                rules=forest.growth_rules(len(drawn), n_columns),
                seeds=tree_seeds(generator(_TREES), self.rule_estimators),
                rows=data.rows[drawn],
                weights=None if data.weights is None else data.weights[drawn],
                bootstrap=True,
                feature_weights=_chances(preferred, chosen["weight_floor"]),
                n_jobs=self.n_jobs,
            )
            of_rule_forests += _shares(grown.mean_decrease_impurity)
            # The full rule set of line 9 is not needed: a rule is drawn for each node of the intersection trees.
            rng = np.random.default_rng(generator(_RULES))
            n_rules = self.n_intersection_trees * n_nodes(chosen["intersection_depth"], self.n_children)
            examples = data.rows[drawn[rng.integers(len(drawn), size=n_rules)]]
            of_tree = rng.integers(self.rule_estimators, size=n_rules)
            drawn_rules = rules_of_rows(grown.trees, binned, examples, of_tree, data.all_mapper, self.repeated)
            found.append(
                generalized_rit(
                    drawn_rules,
                    self.n_intersection_trees,
                    chosen["intersection_depth"],
                    self.n_children,
                    deepest_only=chosen["deepest_only"],
                )
            )
        weights = mean if chosen["weights"] == "layer" else of_rule_forests
        return stable_interactions(found, self.merge), weights

    @staticmethod
    def _drawn(n: int, rng: np.random.Generator, resampling: str) -> np.ndarray:
        """Numbers of the rows of a bootstrap, ascending, or of a subsample."""
        if resampling == "bootstrap":
            return np.sort(rng.integers(n, size=n))
        return np.sort(rng.permutation(n)[: math.ceil(_SUBSAMPLE * n)])

    def _new_features(
        self,
        stable: list[StableInteraction],
        weights_of: np.ndarray,
        data: _Training,
        found: list[Interaction],
        layer: int,
        chosen: dict[str, Any],
    ) -> list[Interaction]:
        """Choose interactions, append them to `found`, and append their new features to the data."""
        threshold = self.stability_threshold
        candidates = [
            self._candidate(one, weights_of, data, found, layer)
            for one in stable
            if len(one.signed_features) > 1
            and (one.stability > threshold or (chosen["threshold_counts"] and one.stability == threshold))
        ]
        # Sorting is stable: ties stay in the order of their signed features.
        candidates.sort(key=lambda one: (-one.stability, one.order, -one.support))
        new: list[Interaction] = []
        columns: list[np.ndarray] = []
        for one in candidates:
            if len(new) == self.max_new_features:
                break
            column = data.columns.combined(one.conditions, one.weights)
            present = column[data.rows]
            present = present[~np.isnan(present)]
            if len(present) and present.min() < present.max():
                new.append(replace(one, name=f"I{len(found) + len(new) + 1}"))
                columns.append(column)
        if new:
            data.extend(columns)
            found.extend(new)
        return new

    def _candidate(
        self, one: StableInteraction, weights_of: np.ndarray, data: _Training, found: list[Interaction], layer: int
    ) -> Interaction:
        columns = [abs(i) - 1 for i in one.signed_features]
        orders = [1 if c < self.n_features_in_ else found[c - self.n_features_in_].order for c in columns]
        conditions = tuple(
            self._condition(c, 1 if i > 0 else -1, t)
            for c, i, t in zip(columns, one.signed_features, one.thresholds, strict=True)
        )
        weights = weights_of[columns]
        if self.standardize:
            with np.errstate(over="ignore", invalid="ignore"):
                spread = np.array([np.nanstd(term) for term in data.columns.terms(conditions)[data.rows].T])
            weights = weights / np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
        satisfied = data.columns.satisfied(conditions)[data.rows]
        of_rows = np.ones(len(data.rows)) if data.weights is None else data.weights
        of_classes = np.bincount(data.y[satisfied], of_rows[satisfied], self.n_classes_)
        total = of_classes.sum()
        shares = of_classes / max(total, np.finfo(np.float64).tiny)
        return Interaction(
            name="",
            layer=layer,
            conditions=conditions,
            weights=tuple(weights.tolist()),
            order=sum(orders),
            stability=one.stability,
            support=float(total / of_rows.sum()),
            class_shares=tuple(shares.tolist()),
            importance=math.nan,
        )

    def _condition(self, column: int, sign: int, threshold: float | frozenset[int]) -> Condition:
        name = self._column_name(column)
        if not isinstance(threshold, frozenset):
            return Condition(column, name, sign, threshold)
        levels = cast(list[np.ndarray], self.categories_)[column]
        codes = tuple(code for code in range(len(levels)) if code not in threshold)
        return Condition(column, name, 1, 0.0, codes, tuple(levels[[*codes]].tolist()))

    def _column_name(self, column: int) -> str:
        if column >= self.n_features_in_:
            return f"I{column - self.n_features_in_ + 1}"
        names = getattr(self, "feature_names_in_", None)
        return f"x{column}" if names is None else str(names[column])

    def interaction_values(self, X: MatrixLike) -> np.ndarray:
        """Compute the new feature of each of `interactions_` (Eq. 3).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_interactions)
        """
        return self._values(self._checked_X(X))

    def _values(self, X: MatrixLike) -> np.ndarray:
        columns = Columns(X)
        for one in self.interactions_:
            columns.append(columns.combined(one.conditions, one.weights))
        return columns.added

    def staged_training_features(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """New features of the training rows that layers pass on; equal to `staged_interaction_values`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Not used: the new features of a row are computed without its label.

        Yields
        ------
        ndarray of shape (n_samples, n_interactions up to the layer)
            `n_layers_` times.
        """
        return self.staged_interaction_values(X)

    def staged_interaction_values(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """New features that layers 1, 2, ... pass on: all interactions found so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_interactions up to the layer)
            `n_layers_` times.
        """
        values = self.interaction_values(X)
        layers = [one.layer for one in self.interactions_]
        for layer in range(1, self.n_layers_ + 1):
            yield values[:, : np.searchsorted(layers, layer, side="right")]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Mean over the forests of the kept representation, columns in the order of `classes_`.
        """
        X = self._checked_X(X)
        return self._predicted(self.final_, self._bins(X))

    def _has_stages(self) -> bool:
        if not self.keep_stages:
            raise AttributeError(
                "The forests of earlier layers were not kept; fit HiDFClassifier(keep_stages=True) for its stages."
            )
        return True

    @available_if(_has_stages)
    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict classes from the features alone, and with the interactions up to layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        iterator of ndarray of shape (n_samples,)
            As many arrays as `staged_predict_proba` yields.

        Raises
        ------
        AttributeError
            If the model was made without `keep_stages`.
        """
        return super().staged_predict(X)

    @available_if(_has_stages)
    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities from the features alone, and with the interactions up to layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            There are ``n_layers_ + 1`` arrays, in the order of `validation_scores_`; the last one equals
            `predict_proba`.

        Raises
        ------
        AttributeError
            If the model was made without `keep_stages`.
        """
        bins = self._bins(self._checked_X(X))
        layers = [one.layer for one in self.interactions_]
        for layer, forests in enumerate(self.stages_):
            n_found = np.searchsorted(layers, layer, side="right")
            yield self._predicted(forests, bins[: self.n_features_in_ + n_found])

    def _bins(self, X: MatrixLike) -> np.ndarray:
        """Bins of the features and of all interactions, shape (n_columns, n_samples)."""
        n_rows, n_given = X.shape
        bins = np.empty((n_given + len(self.interactions_), n_rows), np.uint8)
        self._mapper.transform(X, n_jobs=self.n_jobs, out=bins[:n_given])
        if self._added_mapper is not None:
            self._added_mapper.transform(self._values(X), n_jobs=self.n_jobs, out=bins[n_given:])
        return bins

    def _predicted(self, forests: _Final, bins: np.ndarray) -> np.ndarray:
        """Class probabilities from the bins of a representation."""
        rows = np.arange(bins.shape[1], dtype=np.int32)
        return deque(forests.predictions(self._seen(forests, bins), rows, self.n_jobs), maxlen=1).pop()

    def _seen(self, forests: _Final, bins: np.ndarray) -> Representation:
        """The bins of a representation, with room for class vectors if the forests see them."""
        n_columns, n_rows = bins.shape
        if forests.vectors is not None:
            room = len(forests.vectors.forests) * self.n_classes_
            bins = np.concatenate([bins, np.empty((room, n_rows), np.uint8)])
        return Representation(bins, None, n_columns)

    def walk(self, n_jobs: int | None = None) -> Walk:
        """As in `ExplainableCascade`."""
        return InteractionWalk(self, n_jobs)


class InteractionWalk(CascadeWalk):
    """Walk of hiDF: the forests that predict are one layer, or two with class vectors, and see interactions too."""

    model: HiDFClassifier
    is_staged = False  # a stage of hiDF is a representation

    @property
    def _layers(self) -> list[Layer]:
        return self.model.final_.layers(self.model.n_classes_)

    @property
    def n_layers(self) -> int:
        """Number of layers of forests that predict."""
        return len(self._layers)

    @property
    def shared_columns(self) -> SharedColumns:
        """Interactions, each shared by the features that it depends on."""
        found = self.model.interactions_
        behind = features_behind(found, self.model.n_features_in_)
        return SharedColumns.of({one.name: features for one, features in zip(found, behind, strict=True)})

    def columns_of(self, number: int) -> tuple[int, int]:
        """As in `Walk`."""
        return self.model.n_features_in_ + len(self.model.interactions_), self._n_added if number else 0

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        model = self.model
        seen = model._seen(model.final_, model._bins(model._checked_X(X)))
        rows = np.arange(seen.n_rows, dtype=np.int32)
        for prediction in model.final_.predictions(seen, rows, self.n_jobs):
            yield Reached(seen.binned, rows, prediction, rows[:0])

    def training_rows(self, given: Given | None = None) -> Rows:
        """As in `Walk`, with the bins of interactions."""
        if not hasattr(self.model, "final_"):
            raise ValueError(INTERRUPTED)
        return Walk.training_rows(self, given)

    def values(self, learned: Rows) -> np.ndarray:
        """As in `Walk`."""
        n = self.model.n_features_in_
        own = None if learned.categorical is None else learned.categorical[:n]
        centers = None if learned.centers is None else learned.centers[:n]
        return learned._replace(columns=learned.columns[:n], centers=centers, categorical=own).values()

    def _first_rows(self, learned: Rows) -> np.ndarray:
        return rows_that_forests_count(learned.weights, len(learned.y))

    def _reader(self) -> Any:
        return copy.copy(self.model._as_fitted)

    def _bins(self, X: MatrixLike) -> BinnedMatrix:
        mapper, added = self.model._mapper, self.model._added_mapper
        return BinnedMatrix(self.model._bins(X), None, (mapper if added is None else mapper.extend(added)).categorical)


def _shares(decreases: np.ndarray) -> np.ndarray:
    """Importances with sum 1; all 0 if no tree has a split."""
    total = decreases.sum()
    return decreases / total if total > 0 else np.zeros_like(decreases)


def _chances(importances: np.ndarray, floor: float) -> np.ndarray:
    """Probability of each column in an enriched forest; all equal if all importances are 0."""
    if not importances.any():
        return np.ones(len(importances))
    return np.maximum(importances, floor * importances.mean())


def _importances_of_layer(layer: Layer, data: _Training, n_jobs: int | None) -> np.ndarray:
    """Importances of each fold model, ordered by fold."""
    forests = layer.our_forests
    folds = [layer.fold_of(data.y, k) for k in range(len(forests))]
    return np.array(
        [
            _impurity_shares(models[i], data, np.flatnonzero(fold != i), layer.n_classes, n_jobs)
            for i in range(len(forests[0]))
            for models, fold in zip(forests, folds, strict=True)
        ]
    )


def _enter_roots(largest: np.ndarray, forest: FoldForest, data: _Training, learned: np.ndarray, n_classes: int) -> None:
    """Raise `largest` to the decrease in impurity at each tree's root, by the rows that the tree learned from."""
    rows, y = data.rows[learned], data.y[learned]
    weights = np.ones(len(rows)) if data.weights is None else data.weights[learned]
    view = forest.trees.all_nodes()
    columns = data.seen.binned.columns
    for tree, root in enumerate(forest.trees.offsets[:-1]):
        column = view.feature[root]
        if view.is_leaf[root] or column >= len(largest):  # class vectors are the last columns, and do not count
            continue
        bins = columns[column, rows]
        left = forest.trees.sends_left(view, np.full(len(rows), root), bins)
        of_rows = weights * in_bag_counts(forest.seeds[tree], forest.n_draws, len(rows))
        sides = np.bincount(2 * y + left, of_rows, 2 * n_classes).reshape(n_classes, 2)
        after = sum(_gini(side) * side.sum() for side in sides.T) / sides.sum()
        largest[column] = max(largest[column], _gini(sides.sum(axis=1)) - after)


def _gini(of_classes: np.ndarray) -> float:
    return float(1.0 - np.sum(np.square(of_classes / of_classes.sum())))


def _impurity_shares(
    forest: FoldForest, data: _Training, learned: np.ndarray, n_classes: int, n_jobs: int | None
) -> np.ndarray:
    """Mean decrease in impurity by column, divided by its sum, computed from the rows that each tree learned from."""
    rows, y = data.rows[learned], data.y[learned]
    weights = np.ones(len(rows)) if data.weights is None else data.weights[learned]
    of_classes = np.zeros((len(rows), n_classes))
    of_classes[np.arange(len(rows)), y] = 1.0

    def of_tree(tree: int) -> np.ndarray:
        return weights * in_bag_counts(forest.seeds[tree], forest.n_draws, len(rows))

    weight, sums = forest.trees.node_statistics(data.seen.binned, of_classes, rows, of_tree, n_jobs=n_jobs)
    impurity = weight - np.square(sums).sum(axis=1) / np.maximum(weight, np.finfo(np.float64).tiny)
    view = forest.trees.all_nodes()
    root = np.repeat(forest.trees.offsets[:-1], np.diff(forest.trees.offsets))
    split = np.flatnonzero(~view.is_leaf)
    left, right = root[split] + view.children_left[split], root[split] + view.children_right[split]
    decrease = (impurity[split] - impurity[left] - impurity[right]) / weight[root[split]]
    return _shares(np.bincount(view.feature[split], decrease, data.seen.n_features))
