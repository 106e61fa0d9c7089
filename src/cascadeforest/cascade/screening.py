"""gcForest_CS: confident rows leave the cascade early (Pang, Ting, Zhao and Zhou 2018).

The equations of the paper are functions here: `confidence_threshold` (Eq. 4), `trees_of_level` (variable model
complexity, section II) and `refill` (what keeps k-fold possible). `GCForestCSClassifier.fit` is Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from cascadeforest.cascade._base import CascadeClassifier, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.folds import seed_at
from cascadeforest.cascade.layer import fit_layer, grows_on_bins, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.forest._compiling import ensure_compiled
from cascadeforest.forest._parameters import check_choice, check_number

#: Address of the draw that gives rows back, beside those of the forests.
_REFILL = 2**17


def confidence_threshold(confidence: np.ndarray, wrong: np.ndarray, bound: float) -> float:
    """Least confidence of which the rows that have it, and those above, are wrong less often than `bound` (Eq. 4).

    Rows of equal confidence are screened together: were a prefix to end between two of them, the order in which equal
    rows happen to be sorted would decide, and the gate ``>= threshold`` would let the other one leave as well.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Largest class probability of each row.
    wrong : ndarray of shape (n,), bool
        Whether the row's class is another one.
    bound : float
        a * epsilon.

    Returns
    -------
    float
        Infinity if there is none: nobody is screened.
    """
    order = np.argsort(-confidence, kind="stable")
    descending = confidence[order]
    last_of_equals = np.append(np.flatnonzero(np.diff(descending)), len(order) - 1)
    error = np.cumsum(wrong[order])[last_of_equals] / (last_of_equals + 1)
    allowed = np.flatnonzero(error < bound)
    return float(descending[last_of_equals[allowed[-1]]]) if len(allowed) else math.inf


def trees_of_level(
    n_first: int, n_rows: int, n_rows_first: int, n_features: int, n_added: int, growth: str, most: float
) -> int:
    """Trees of a forest at a level that `n_rows` of the `n_rows_first` training rows have reached.

    Parameters
    ----------
    n_first : int
        Trees at the first level (w).
    n_rows, n_rows_first : int
        Rows at this level and at the first.
    n_features, n_added : int
        Features that the level sees, of X or of scanning, and class vectors beside them (none at the first level).
    growth : {"reciprocal", "linear", "none"}
        "reciprocal" (the released code): w / rho with rho = min(1, m_t / m_1 * (d + n_added) / d), so that a level
        costs about as much as the first. "linear": w * (1 + (m_1 - m_t) / m_1), the text's 'increases linearly as the
        number of instances decreases'. "none": w.
    most : float
        Times w that are not exceeded: few rows left would ask for thousands of trees.

    Returns
    -------
    int
    """
    # In whole numbers: a quotient of floats may lie just below the whole number that it is.
    trees = n_first
    if growth == "reciprocal":
        trees = max(n_first, n_first * n_rows_first * n_features // (n_rows * (n_features + n_added)))
    elif growth == "linear":
        trees = n_first * (2 * n_rows_first - n_rows) // n_rows_first
    return min(trees, int(n_first * most))


def refill(goes_on: np.ndarray, y: np.ndarray, least: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Give classes rows back of which fewer than `least` go on, drawn from those of the class that would leave.

    Parameters
    ----------
    goes_on : ndarray of shape (n,), bool
        Rows below the threshold.
    y : ndarray of shape (n,), int
        Their classes.
    least : int
        Rows that each class keeps, as far as it has them.
    seed : SeedSequence
        Decides which ones.

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


class GCForestCSClassifier(ExplainableCascade, CascadeClassifier):
    """gcForest with confidence screening: each level decides the rows that it is sure of, and only the others go on.

    Levels become cheaper as rows leave, and their forests larger. The confidence that lets a row leave is set by
    out-of-fold predictions (Eq. 4): the rows that leave are wrong `a` times as often as all rows of the level.

    Parameters
    ----------
    n_forests : int, default=8
        Forests a level, all kinds together.
    n_estimators : int, default=100
        Trees a forest at the first level (w of the paper).
    a : float or "auto", default="auto"
        Fraction of the level's error that screened rows may have, in (0, 1). "auto": 1/10 if the out-of-fold accuracy
        of the first level is above 0.9, else 1/3; 1/20 with scanning.
    growth : {"reciprocal", "linear", "none"}, default="reciprocal"
        How the number of trees grows as rows leave (see `trees_of_level`): as in the released code, as in the text, or
        not at all. Estimators that are not ours do not grow.
    max_growth : float, default=10.0
        Times `n_estimators` that a level's forests do not exceed.
    error_scope : {"level", "all"}, default="level"
        Whose error `a` is a fraction of: that of the rows at the level, or of all training rows, with those that left
        as they were decided.
    estimators, n_folds, class_vectors, max_layers, keep, tol, scoring, max_depth, min_samples_leaf, max_features, \
vector_dtype, scanning, input_shape, class_weight, n_jobs, random_state, verbose
        As in `GCForestClassifier`. The score of a level is that of the whole cascade if it ended there.
    patience : int or None, default=None
        As in `GCForestClassifier`. None: 1 in preset "paper", 4 in preset "official".
    preset : {"paper", "official"}, default="paper"
        Whose choice stands for parameters that are None. "official": patience 4, and Extra-Trees in place of
        completely random forests, as in the released demo.

    Attributes
    ----------
    classes_, n_classes_, n_layers_, layers_, validation_scores_, features_, feature_importances_, \
n_features_in_, feature_names_in_
        As in `GCForestClassifier`.
    a_ : float
        The fraction that was used.
    thresholds_ : ndarray of shape (n_layers_ - 1,)
        Confidence from which rows leave each level but the last, where all do; infinity where nobody did.
    n_rows_ : ndarray of shape (n_layers_,), int
        Training rows that reached each level.
    n_trees_ : ndarray of shape (n_layers_,), int
        Trees a forest (the first one of ours) of each level.
    decision_level_ : ndarray of shape (n_samples,), int16
        Level (from 0) that decided each training row; -1 for rows without weight.

    Notes
    -----
    Where the paper leaves room: epsilon is the error of the rows at the level; equal confidences are screened
    together; if no confidence satisfies Eq. 4 nobody is screened (the released code screens the most confident row);
    each class keeps at least `n_folds` rows as far as it has them; the accuracy that stops growing is that of the
    out-of-fold predictions of all training rows, each from the level that decided it (the released code has no
    validation set either); if all rows leave, the cascade ends.

    References
    ----------
    .. [1] M. Pang, K.-M. Ting, P. Zhao and Z.-H. Zhou, "Improving deep forest by confidence screening", ICDM 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cascadeforest import GCForestCSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCForestCSClassifier(n_forests=2, n_estimators=20, random_state=0).fit(X, y)
    >>> model.decision_level(X).shape
    (1797,)
    """

    def __init__(
        self,
        n_forests: Any = 8,
        n_estimators: Any = 100,
        *,
        a: Any = "auto",
        growth: Any = "reciprocal",
        max_growth: Any = 10.0,
        error_scope: Any = "level",
        estimators: Any = None,
        n_folds: Any = 3,
        class_vectors: Any = "k_fold",
        max_layers: Any = 20,
        patience: Any = None,
        keep: Any = "best",
        tol: Any = 0.0,
        scoring: Any = None,
        preset: Any = "paper",
        max_depth: Any = None,
        min_samples_leaf: Any = 1,
        max_features: Any = "sqrt",
        vector_dtype: Any = None,
        scanning: Any = None,
        input_shape: Any = None,
        class_weight: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
        verbose: Any = 0,
    ):
        self.n_forests = n_forests
        self.n_estimators = n_estimators
        self.a = a
        self.growth = growth
        self.max_growth = max_growth
        self.error_scope = error_scope
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCForestCSClassifier:
        """Grow the cascade (Algorithm 1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative; in forests they multiply the counts of the bootstrap, in the score they weight rows.
            Eq. 4 counts rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or a weight cannot be used; the message says which and why.
        """
        self._begin()
        self._check_shared()
        check_choice("keep", self.keep, KEEPS)
        self._check_screening()
        X, label, rows, weights = self._training_data(X, y, sample_weight)
        members = self._members()
        scoring = Scoring(self.scoring, self.classes_)
        patience = {"paper": 1, "official": 4}[self.preset] if self.patience is None else self.patience
        progress = Progress(self.verbose)
        rules = self._layer_rules(self.classes_, self.vector_dtype or "float32", progress)
        ensure_compiled()
        features = self._features(members, X.shape[1], rules)
        features.fit(X, rows, label[rows], weights_at(weights, rows))

        everyone = rows  # of all rows that have weight; `rows` are those that reached the level
        decided = np.zeros((len(label), self.n_classes_))  # each row's probabilities at the last level it reached
        decision_level = np.full(len(label), -1, np.int16)
        layers, thresholds, n_rows, n_trees = [], [], [], []
        best, added_mapper = BestLayer(patience, self.tol), None
        for level in range(self.max_layers):
            seen = features.at(level, rows, label[rows], weights_at(weights, rows))
            if level:
                added_mapper = seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)  # noqa: F821
            grown = self._grown(members, len(rows), len(everyone), seen.n_given, seen.n_added)
            with progress.layer(level, rules.n_models(len(members), len(rows))):
                layer, vectors = fit_layer(
                    grown, seen, rows, label[rows], weights_at(weights, rows), rules, level, added_mapper
                )
            decided[rows] = mean_vector(vectors)
            decision_level[rows] = level
            layers.append(layer)
            n_rows.append(len(rows))
            n_trees.append(next((m.n_estimators for m in grown if grows_on_bins(m)), 0))
            score = scoring(label[everyone], decided[everyone], weights_at(weights, everyone))
            if best.is_better(score) or self.keep == "last":
                self.decision_level_ = decision_level.copy()
            if level == 0:
                self.a_ = self._fraction(self._accuracy(decided, label, rows))
            threshold, goes_on = self._screen(decided, label, rows, everyone, rules.entropy, level)
            thresholds.append(threshold)
            progress.say(
                "level %d: out-of-fold score of all %.5f, %d rows, %d trees, %d rows go on",
                *(level + 1, score, len(rows), layer.n_trees, np.count_nonzero(goes_on)),
            )
            if best.is_over or (scoring.cannot_rise(score) and patience < self.max_layers):
                break
            if np.count_nonzero(goes_on) < 2:  # none, or one, from which no row can be held out
                break
            rows, vectors = rows[goes_on], vectors[goes_on]

        self.n_layers_ = best.n_kept(self.keep)
        self._remember(features, label, weights)
        features.finish(self.n_layers_)
        self.features_ = features
        self.layers_ = layers[: self.n_layers_]
        self.thresholds_ = np.array(thresholds[: self.n_layers_ - 1])
        self.n_rows_ = np.array(n_rows[: self.n_layers_])
        self.n_trees_ = np.array(n_trees[: self.n_layers_])
        self.validation_scores_ = np.array(best.scores)
        progress.say("kept %d of %d levels", self.n_layers_, len(layers))
        return self

    def _check_screening(self) -> None:
        if self.a != "auto":
            check_number("a", self.a, most=1.0)
            if not 0 < self.a < 1:
                raise ValueError(f"a is {self.a!r}; give a fraction between 0 and 1, or 'auto'.")
        check_choice("growth", self.growth, ("reciprocal", "linear", "none"))
        check_choice("error_scope", self.error_scope, ("level", "all"))
        check_number("max_growth", self.max_growth, 1.0)

    def _grown(self, members: list[Any], n_rows: int, n_rows_first: int, n_features: int, n_added: int) -> list[Any]:
        """The forests of a level, with as many trees as its rows ask for."""
        size = (n_rows, n_rows_first, n_features, n_added, self.growth, self.max_growth)
        return [
            clone(m).set_params(n_estimators=trees_of_level(m.n_estimators, *size)) if grows_on_bins(m) else m
            for m in members
        ]

    def _fraction(self, first_accuracy: float) -> float:
        """Section V, parameter settings. The text says 'training accuracy'; on training rows it would always be 1."""
        if self.a != "auto":
            return self.a
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
        confidence = decided[rows].max(axis=1)
        wrong = decided[rows].argmax(axis=1) != label[rows]
        scope = rows if self.error_scope == "level" else everyone
        error = np.mean(decided[scope].argmax(axis=1) != label[scope])
        threshold = confidence_threshold(confidence, wrong, self.a_ * error)
        goes_on = confidence < threshold
        if goes_on.any():
            goes_on = refill(goes_on, label[rows], self.n_folds, seed_at(entropy, level, _REFILL))
        return threshold, goes_on

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities if the cascade ended at level 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Of each row from the last level that it reached, `n_layers_` times; the last one is `predict_proba`.
        """
        for probabilities, _ in self._levels(X):
            yield probabilities.copy()

    def decision_level(self, X: Any) -> np.ndarray:
        """The level, counted from 0, that decides each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,), int16
        """
        levels = np.empty(0, np.int16)
        for level, (probabilities, rows) in enumerate(self._levels(X)):
            if level == 0:
                levels = np.empty(len(probabilities), np.int16)
            levels[rows] = level
        return levels

    def _levels(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each level the probabilities so far, and the rows that reached it."""
        X = self._checked_X(X)
        reader = self.features_.reader(X, self.n_jobs)
        rows = np.arange(X.shape[0], dtype=np.int32)
        probabilities = np.empty((len(rows), self.n_classes_))
        for level, layer in enumerate(self.layers_):
            if level:
                goes_on = probabilities[rows].max(axis=1) < self.thresholds_[level - 1]
                rows, vectors = rows[goes_on], vectors[goes_on]  # noqa: F821
            if len(rows):
                seen = reader(level, rows)
                if level:
                    seen.add(vectors.reshape(len(rows), -1), rows, layer.added_mapper, self.n_jobs)
                vectors = layer.transform(seen, rows, self.n_jobs)
                probabilities[rows] = mean_vector(vectors)
            yield probabilities, rows
