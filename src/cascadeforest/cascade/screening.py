"""gcForest_CS: confident rows leave the cascade early (Pang, Ting, Zhao and Zhou 2018).

The equations of the paper are functions here: `confidence_threshold` (Eq. 4), `trees_of_level` (variable model
complexity, section II) and `refill` (enough rows of each class for k folds). `GCForestCSClassifier.fit` is Algorithm 1.
Two successors replace the screening: `bin_threshold` is that of DBC-Forest (Ma et al. 2022), and `weights_of_rows` that
of AWDF (Utkin et al. 2019), where rows get weights and none leaves.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from cascadeforest.cascade._base import CascadeClassifier, check_weighted, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.layer import fit_layer, grows_on_bins, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation
from cascadeforest.cascade.scanning import MultiGrainedScanner
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest._parameters import check_choice, check_count, check_number
from cascadeforest.forest._types import ClassWeight, MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.categories import CategoricalFeatures
from cascadeforest.forest.seeds import seed_at
from cascadeforest.forest.walks import Reached, Walk

#: Seed address of the draw in `refill`. The forests have other addresses.
_REFILL = 2**17
#: Least weight of a row in `weights_of_rows`.
_LEAST = 1e-9


def confidence_threshold(confidence: np.ndarray, wrong: np.ndarray, bound: float) -> float:
    """Find the least confidence such that rows of at least this confidence are wrong less often than `bound` (Eq. 4).

    Rows of equal confidence are screened together. Otherwise the result would depend on the order of rows with equal
    confidence, and ``confidence >= threshold`` would screen more rows than were counted.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Largest class probability of each row.
    wrong : ndarray of shape (n,), bool
        Whether the predicted class is wrong.
    bound : float
        a * epsilon.

    Returns
    -------
    float
        Infinity if no confidence satisfies the bound; no row is screened then.
    """
    order = np.argsort(-confidence, kind="stable")
    descending = confidence[order]
    last_of_equals = np.append(np.flatnonzero(np.diff(descending)), len(order) - 1)
    error = np.cumsum(wrong[order])[last_of_equals] / (last_of_equals + 1)
    allowed = np.flatnonzero(error < bound)
    return float(descending[last_of_equals[allowed[-1]]]) if len(allowed) else math.inf


def bin_threshold(confidence: np.ndarray, wrong: np.ndarray, bound: float, bin_size: int) -> float:
    """Find the confidence from which all bins of rows are wrong at most as often as `bound` (DBC-Forest).

    Rows are sorted by confidence, the most confident first, and divided into bins of equal size. Rows leave up to the
    first bin whose error rate exceeds `bound`. In Eq. 4 the error rate is that of all rows that leave, so that many
    correct rows of high confidence make up for errors below them; here each bin must satisfy the bound.

    Parameters
    ----------
    confidence, wrong, bound
        As in `confidence_threshold`.
    bin_size : int
        Least number of rows in a bin: there are ``n // bin_size`` bins, at least one.

    Returns
    -------
    float
        Infinity if the first bin exceeds the bound; no row is screened then.

    Notes
    -----
    Source: ``getAutoThresh1`` of the authors' code [1]_; of the article we read the abstract only, which says that all
    instances are packed 'into bins based on their confidences'. Four choices are ours. Rows of equal confidence are in
    one bin, so that their order has no influence: a bin that would end between them ends after them. Rows that remain
    after the last bin belong to it (the code leaves them out of all bins, and they go on). If the first bin exceeds the
    bound, no row leaves (in the code rows of confidence 1 leave). If no bin exceeds it, all rows leave, and fewer rows
    than `bin_size` are one bin (the code fails in both cases).

    References
    ----------
    .. [1] https://github.com/wuc567/Machine-learning, folder DBC-Forest, ``cascade_classifier_thresh.py``.
    """
    order = np.argsort(-confidence, kind="stable")
    descending, n = confidence[order], len(order)
    n_bins = max(1, n // bin_size)
    ends = n // n_bins * np.arange(1, n_bins + 1)
    ends[-1] = n
    ends = np.append(0, np.unique(np.searchsorted(-descending, -descending[ends - 1], side="right")))
    errors = np.diff(np.append(0, np.cumsum(wrong[order]))[ends])
    exceeds = errors > bound * np.diff(ends)
    n_leave = ends[np.append(exceeds, True).argmax()]
    return float(descending[n_leave - 1]) if n_leave else math.inf


def weights_of_rows(probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of rows at the next level (AWDF): 1 - p, where p is the probability of the row's class.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Out-of-fold probabilities of this level.
    y : ndarray of shape (n,), int
        Classes of the rows.

    Returns
    -------
    ndarray of shape (n,)
        Positive.

    Notes
    -----
    Source: the default weighting function, "linear", of the authors' code [1]_; of the article we read the abstract
    only. That code takes p from the first forest of the level. Here, as in `WeightsBlock` of the group's library [2]_,
    p is the mean over the forests, and weights are at least 1e-9: forests leave rows of weight 0 out.

    References
    ----------
    .. [1] https://github.com/andruekonst/A-new-Adaptive-Weighted-Deep-Forest-and-Its-Modifications
    .. [2] https://github.com/NTAILab/bosk, ``bosk/block/zoo/data_weighting``.
    """
    return np.maximum(1.0 - probabilities[np.arange(len(y)), y], _LEAST)


def trees_of_level(
    n_first: int, n_rows: int, n_rows_first: int, n_features: int, n_added: int, growth: str, most: float
) -> int:
    """Number of trees in a forest of a level that `n_rows` of `n_rows_first` training rows have reached.

    Parameters
    ----------
    n_first : int
        Number of trees at the first level (w).
    n_rows, n_rows_first : int
        Number of rows at this level and at the first level.
    n_features, n_added : int
        Number of columns that the level sees: features of X or of scanning, and added class vector columns (0 at the
        first level).
    growth : {"reciprocal", "linear", "none"}
        "reciprocal" (the released code): w / rho with rho = min(1, m_t / m_1 * (d + n_added) / d), so that a level
        costs about as much as the first. "linear": w * (1 + (m_1 - m_t) / m_1), the text's 'increases linearly as the
        number of instances decreases'. "none": w.
    most : float
        Upper bound of the result, as a multiple of w. Without it, a level with few rows would grow thousands of trees.

    Returns
    -------
    int
    """
    # Integer arithmetic: a quotient of floats may lie just below the exact integer.
    trees = n_first
    if growth == "reciprocal":
        trees = max(n_first, n_first * n_rows_first * n_features // (n_rows * (n_features + n_added)))
    elif growth == "linear":
        trees = n_first * (2 * n_rows_first - n_rows) // n_rows_first
    return min(trees, int(n_first * most))


def refill(goes_on: np.ndarray, y: np.ndarray, least: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Let at least `least` rows of each class go on: draw the missing rows from rows of the class that would leave.

    Parameters
    ----------
    goes_on : ndarray of shape (n,), bool
        Rows below the threshold.
    y : ndarray of shape (n,), int
        Their classes.
    least : int
        Minimum number of rows that each class keeps. A class with fewer rows keeps all of them.
    seed : SeedSequence
        Decides which rows are drawn.

    Returns
    -------
    ndarray of shape (n,), bool
    """
    goes_on = goes_on.copy()
    rng = np.random.default_rng(seed)
    for c in np.unique(y):
        missing = least - np.count_nonzero(goes_on & (y == c))
        if missing > 0:
            leaving = np.flatnonzero(~goes_on & (y == c))
            goes_on[rng.permutation(leaving)[:missing]] = True
    return goes_on


_PAPER: dict[str, Any] = {
    "n_forests": 8,
    "n_estimators": 100,
    "n_folds": 3,
    "max_layers": 20,
    "patience": 1,
    "estimators": ("random_forest", "completely_random_forest"),
    "vector_dtype": "float32",
}
#: Values of parameters that are None, by preset.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: _PAPER | {"n_estimators": 50},
    "paper": _PAPER,
    "official": _PAPER | {"patience": 4, "estimators": ("random_forest", "extra_trees")},
}


class GCForestCSClassifier(ExplainableCascade, CascadeClassifier):
    """gcForest with confidence screening: each level predicts the rows that it is sure of; all other rows go on.

    As rows leave, later levels have fewer training rows and larger forests. Out-of-fold predictions set the confidence
    from which a row leaves (Eq. 4): the error rate of the rows that leave is less than `a` times that of the level.

    Parameters
    ----------
    n_forests : int or None, default=None
        Number of forests in a level, all kinds together. None: 8.
    n_estimators : int or None, default=None
        Number of trees in a forest of the first level (w of the paper). None: 50; 100 in presets "paper" and
        "official".
    a : float or "auto", default="auto"
        Error rate of screened rows, as a fraction of the level's error rate, in (0, 1). "auto": 1/10 if the
        out-of-fold accuracy of the first level is above 0.9, else 1/3; 1/20 with scanning.
    growth : {"reciprocal", "linear", "none"}, default="reciprocal"
        How the number of trees grows as rows leave (see `trees_of_level`): as in the released code, as in the text, or
        not at all. It applies to forests of this package only.
    max_growth : float, default=10.0
        Forests of a level have at most `max_growth` times `n_estimators` trees.
    error_scope : {"level", "all"}, default="level"
        Rows whose error rate `a` multiplies: the rows at the level, or all training rows. A row that left counts with
        the prediction of the level that it left.
    screening : {"threshold", "bins", "weights", "gates"}, default="threshold"
        What happens to confident rows. "threshold": they leave if together they are wrong less often than `a` times
        the error rate (Eq. 4). "bins": they leave up to the first bin of rows of similar confidence that is wrong more
        often (DBC-Forest, see `bin_threshold`). "weights": no row leaves, and each row weighs 1 - p at the next
        level, where p is the out-of-fold probability of its class (AWDF, see `weights_of_rows`); `a`, `growth`,
        `max_growth` and `error_scope` then have no effect. "gates": as "threshold", but rows leave in prediction only,
        and each level learns from all training rows, so that `growth` and `max_growth` have no effect. This is a
        control, not in the papers: it separates the choice of a row's level from that of the rows to learn from. Such
        a model is not explained.
    bin_size : int, default=100
        Number of rows in a bin of ``screening="bins"``.
    estimators, n_folds, class_vectors, max_layers, keep, tol, scoring, max_depth, min_samples_leaf, max_features, \
vector_dtype, scanning, input_shape, class_weight, categorical_features, layers_dir, n_jobs, random_state, verbose
        As in `GCForestClassifier`. The score of a level is the score of the whole cascade if it ended at this level.
    patience : int or None, default=None
        As in `GCForestClassifier`. None: 1; 4 in preset "official".
    preset : {"paper", "official"} or None, default=None
        Source of the values of parameters that are None. None: the paper's algorithm with half of its
        trees, chosen on twelve data sets (``docs/defaults.md``). "paper": the paper's text. "official": patience 4,
        and Extra-Trees in place of completely random forests, as in the released demo.

    Attributes
    ----------
    classes_, n_classes_, n_layers_, layers_, validation_scores_, features_, feature_importances_, \
n_features_in_, feature_names_in_, is_categorical_, categories_
        As in `GCForestClassifier`.
    a_ : float
        Value of `a` that was used.
    thresholds_ : ndarray of shape (n_layers_ - 1,)
        Confidence from which rows leave a level, for all levels but the last, where all rows leave; infinity if no row
        left.
    n_rows_ : ndarray of shape (n_layers_,), int
        Number of training rows that reached each level. With ``screening="gates"``, levels learn from all rows.
    n_trees_ : ndarray of shape (n_layers_,), int
        For each level, the number of trees in its first forest that is a forest of this package.
    decision_level_ : ndarray of shape (n_samples,), int16
        Level (from 0) that decided each training row; -1 for rows without weight.

    Notes
    -----
    Choices that the paper leaves open:

    - epsilon is the error rate of the rows at the level.
    - Rows of equal confidence are screened together. If no confidence satisfies Eq. 4, no row is screened (the released
      code screens the most confident row).
    - Each class keeps at least `n_folds` rows, or all its rows if it has fewer.
    - The accuracy that stops the growth is the accuracy of out-of-fold predictions of all training rows, each from the
      level that decided the row (the released code has no validation set either).
    - If all rows leave, the cascade ends.

    With ``screening="gates"``, the threshold of a level is that of Eq. 4 for the training rows that the gates before it
    let through, as new rows are, and no class is refilled.

    Of DBC-Forest and AWDF we read the abstracts and the authors' code. DBC-Forest's code is gcForest_CS with another
    threshold; a is 1/3 there, and 1/2 in its demo. AWDF's code has four more weighting functions, a variant that draws
    rows with probabilities proportional to the weights, and a fixed probability from which rows leave; they are not
    available here. The weights of `sample_weight` and `class_weight` multiply those of AWDF.

    References
    ----------
    .. [1] M. Pang, K.-M. Ting, P. Zhao and Z.-H. Zhou, "Improving deep forest by confidence screening", ICDM 2018.
    .. [2] P. Ma, Y. Wu, Y. Li, L. Guo and Z. Li, "DBC-Forest: Deep forest with binning confidence screening",
       Neurocomputing, 2022.
    .. [3] L. V. Utkin, A. V. Konstantinov, V. S. Chukanov, M. V. Kots and A. A. Meldo, "An adaptive weighted deep
       forest classifier", arXiv 1901.01334, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cascadeforest import GCForestCSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCForestCSClassifier(n_forests=2, n_estimators=20, random_state=0).fit(X, y)
    >>> model.decision_level(X).shape
    (1797,)
    """

    _presets = PRESETS
    # Models that version 0.1.0 saved or pickled lack these parameters.
    screening = "threshold"
    bin_size = 100

    def __init__(
        self,
        n_forests: int | None = None,
        n_estimators: int | None = None,
        *,
        a: float | str = "auto",
        growth: str = "reciprocal",
        max_growth: float = 10.0,
        error_scope: str = "level",
        screening: str = "threshold",
        bin_size: int = 100,
        estimators: Sequence[str | BaseEstimator] | None = None,
        n_folds: int | None = None,
        class_vectors: str = "k_fold",
        max_layers: int | None = None,
        patience: int | None = None,
        keep: str = "best",
        tol: float = 0.0,
        scoring: Scorer = None,
        preset: str | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        max_features: MaxFeatures = "sqrt",
        vector_dtype: str | None = None,
        scanning: MultiGrainedScanner | Mapping[str, Any] | None = None,
        input_shape: Sequence[int] | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        layers_dir: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_forests = n_forests
        self.n_estimators = n_estimators
        self.a = a
        self.growth = growth
        self.max_growth = max_growth
        self.error_scope = error_scope
        self.screening = screening
        self.bin_size = bin_size
        self.estimators = estimators
        self.n_folds = n_folds
        self.class_vectors = class_vectors
        self.max_layers = max_layers
        self.patience = patience
        self.keep = keep
        self.tol = tol
        self.scoring = scoring
        self.preset = preset
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.vector_dtype = vector_dtype
        self.scanning = scanning
        self.input_shape = input_shape
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.layers_dir = layers_dir
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GCForestCSClassifier:
        """Grow the cascade (Algorithm 1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. Forests multiply bootstrap counts by them, and the score weights rows by them. Eq. 4
            counts rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid; the message names it.
        """
        self._begin()
        self._check_shared()
        check_choice("keep", self.keep, KEEPS)
        self._check_screening()
        X, label, rows, weights = self._training_data(X, y, sample_weight)
        members = self._members()
        if self.screening == "weights":
            check_weighted(members)
        scoring = Scoring(self.scoring, self.classes_)
        max_layers, patience = self._chosen("max_layers"), self._chosen_patience()
        progress = Progress(self.verbose)
        rules = self._layer_rules(self.classes_, self._chosen("vector_dtype"), progress)
        features = self._features(members, X.shape[1], rules)
        features.fit(X, rows, label[rows], weights_at(weights, rows))

        everyone = rows  # all rows of positive weight; the level learns from `rows`
        reached = np.ones(len(rows), bool)  # which of `rows` reached the level; all of them but with gates
        of_rows = weights_at(weights, rows)  # weights with which the level learns from `rows`
        decided = np.zeros((len(label), self.n_classes_))  # each row's probabilities at the last level it reached
        decision_level = np.full(len(label), -1, np.int16)
        layers, thresholds, n_rows, n_trees = [], [], [], []
        best, vectors, added_mapper = BestLayer(patience, self.tol, features.cycle), None, None
        for level in range(max_layers):
            seen = features.at(level, rows, label[rows], weights_at(weights, rows))
            if vectors is not None:
                added_mapper = seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)
            grown = self._grown(members, len(rows), len(everyone), seen.n_given, seen.n_added)
            with progress.layer(level, rules.n_models(len(members), len(rows))):
                layer, vectors = fit_layer(grown, seen, rows, label[rows], of_rows, rules, level, added_mapper)
            here = rows[reached]
            decided[here] = mean_vector(vectors)[reached]
            decision_level[here] = level
            layers.append(layer)
            n_rows.append(len(here))
            n_trees.append(next((m.n_estimators for m in grown if grows_on_bins(m)), 0))
            score = scoring(label[everyone], decided[everyone], weights_at(weights, everyone))
            if best.is_better(score) or self.keep == "last":
                self.decision_level_ = decision_level.copy()
            if level == 0:
                self.a_ = self._fraction(self._accuracy(decided, label, here))
            threshold, goes_on = self._screen(decided, label, here, everyone, rules.entropy, level)
            thresholds.append(threshold)
            progress.say(
                "level %d: out-of-fold score of all %.5f, %d rows, %d trees, %d rows go on",
                *(level + 1, score, len(here), layer.n_trees, np.count_nonzero(goes_on)),
            )
            if best.is_over or (scoring.cannot_rise(score) and patience < max_layers):
                break
            if np.count_nonzero(goes_on) < 2:  # out-of-fold predictions need two rows
                break
            if self.screening == "gates":
                reached[reached] = goes_on
            else:
                rows, vectors, reached = rows[goes_on], vectors[goes_on], reached[goes_on]
            of_rows = self._weights(vectors, label[rows], weights_at(weights, rows))

        self._remember(features, label, weights)
        self._keep_layers(features, layers, best, progress)
        self.thresholds_ = np.array(thresholds[: self.n_layers_ - 1])
        self.n_rows_ = np.array(n_rows[: self.n_layers_])
        self.n_trees_ = np.array(n_trees[: self.n_layers_])
        return self

    def _check_screening(self) -> None:
        if self.a != "auto":
            check_number("a", self.a, most=1.0)
            if self.a in (0, 1):
                raise ValueError(f"a is {self.a!r}; give a fraction between 0 and 1, or 'auto'.")
        check_choice("growth", self.growth, ("reciprocal", "linear", "none"))
        check_choice("error_scope", self.error_scope, ("level", "all"))
        check_number("max_growth", self.max_growth, 1.0)
        check_choice("screening", self.screening, ("threshold", "bins", "weights", "gates"))
        check_count("bin_size", self.bin_size)

    def _grown(
        self, members: list[BaseEstimator], n_rows: int, n_rows_first: int, n_features: int, n_added: int
    ) -> list[BaseEstimator]:
        """The forests of a level, with the number of trees that `trees_of_level` gives."""
        size = (n_rows, n_rows_first, n_features, n_added, self.growth, self.max_growth)
        return [
            clone(m).set_params(n_estimators=trees_of_level(m.n_estimators, *size)) if grows_on_bins(m) else m
            for m in members
        ]

    def _fraction(self, first_accuracy: float) -> float:
        """Section V, parameter settings. The text says 'training accuracy'; on training rows it would always be 1."""
        if self.a != "auto":
            return float(self.a)
        if self.scanning is not None:
            return 1 / 20
        return 1 / 10 if first_accuracy > 0.9 else 1 / 3

    @staticmethod
    def _accuracy(decided: np.ndarray, label: np.ndarray, rows: np.ndarray) -> float:
        return float(np.mean(decided[rows].argmax(axis=1) == label[rows]))

    def _screen(
        self, decided: np.ndarray, label: np.ndarray, rows: np.ndarray, everyone: np.ndarray, entropy: int, level: int
    ) -> tuple[float, np.ndarray]:
        """Threshold of a level (Eqs. 2 and 4), and which of its rows go on."""
        if self.screening == "weights":
            return math.inf, np.ones(len(rows), bool)
        confidence = decided[rows].max(axis=1)
        wrong = decided[rows].argmax(axis=1) != label[rows]
        scope = rows if self.error_scope == "level" else everyone
        error = np.mean(decided[scope].argmax(axis=1) != label[scope])
        if self.screening == "bins":
            threshold = bin_threshold(confidence, wrong, self.a_ * error, self.bin_size)
        else:
            threshold = confidence_threshold(confidence, wrong, self.a_ * error)
        goes_on = confidence < threshold
        if goes_on.any() and self.screening != "gates":
            goes_on = refill(goes_on, label[rows], self._chosen("n_folds"), seed_at(entropy, level, _REFILL))
        return threshold, goes_on

    def _weights(self, vectors: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Weights with which the next level learns from rows of these class vectors, classes and user's weights."""
        if self.screening != "weights":
            return weights
        own = weights_of_rows(mean_vector(vectors), y)
        return own if weights is None else own * weights

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities after level 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities from the last level that each row reached so far. There are `n_layers_` arrays; the last one
            equals `predict_proba`.
        """
        for reached in ScreeningWalk(self, self.n_jobs).layers(X):
            yield reached.prediction

    def decision_level(self, X: MatrixLike) -> np.ndarray:
        """Find the level, counted from 0, that decides each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,), int16
        """
        levels = np.empty(0, np.int16)
        for level, reached in enumerate(ScreeningWalk(self, self.n_jobs).layers(X)):
            if level == 0:
                levels = np.empty(len(reached.rows), np.int16)
            levels[reached.rows] = level
        return levels

    def walk(self, n_jobs: int | None = None) -> Walk:
        """As in `ExplainableCascade`; an error with ``screening="gates"``."""
        if self._as_fitted.screening == "gates":
            raise ValueError(
                "screening is 'gates': the rows that a level learns from are not those that it decides, which "
                "explanations do not follow. Fit it with screening='threshold' to explain it."
            )
        return (WeightingWalk if self._as_fitted.screening == "weights" else ScreeningWalk)(self, n_jobs)


class ScreeningWalk(CascadeWalk):
    """Walk of gcForest_CS: a row leaves at the first level whose confidence threshold it reaches."""

    model: GCForestCSClassifier
    rows_leave = True

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        model = self.model
        X = model._checked_X(X)
        reader = model.features_.reader(X, self.n_jobs)
        rows = np.arange(X.shape[0], dtype=np.int32)
        probabilities, vectors = np.empty((len(rows), model.n_classes_)), np.empty((len(rows), 0))
        thresholds = [*model.thresholds_[: len(model.layers_) - 1], -math.inf]  # all rows leave the last level
        for level, (layer, threshold) in enumerate(zip(model.layers_, thresholds, strict=True)):
            if len(rows):
                seen = reader(level, rows)
                if level:
                    layer.see(vectors, seen, rows, self.n_jobs)
                vectors = layer.transform(seen, rows, self.n_jobs)
                probabilities = probabilities.copy()
                probabilities[rows] = mean_vector(vectors)
            goes_on = probabilities[rows].max(axis=1) < threshold
            yield Reached(seen.binned, rows, probabilities, rows[~goes_on])
            rows, vectors = rows[goes_on], vectors[goes_on]

    def _goes_on(self, number: int, rows: np.ndarray) -> np.ndarray:
        return self.model.decision_level_[rows] > number

    def _members(self, number: int, seen: Representation) -> list[BaseEstimator]:
        fitted, n_rows = self.model._as_fitted, self.model.n_rows_
        return fitted._grown(fitted._members(), int(n_rows[number]), int(n_rows[0]), seen.n_given, seen.n_added)


class WeightingWalk(CascadeWalk):
    """Walk of gcForest_CS with ``screening="weights"``: all rows reach all levels, with weights of the level before."""

    model: GCForestCSClassifier

    def _weights(self, vectors: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        return self.model._as_fitted._weights(vectors, y, weights)
