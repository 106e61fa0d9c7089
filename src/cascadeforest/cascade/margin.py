"""mdDF: a cascade as an additive model that weights rows by their margins (Lyu, Yang and Zhou 2019).

The equations of the paper are functions here: `margins` (section 4), `margin_loss` (Eq. 28), `minimise_margin_loss`
(line 7 of Algorithm 2), `reweighted` (Eq. 27), `margin_ratio` (Theorem 1). `MDDFClassifier.fit` is Algorithm 2.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from cascadeforest.cascade._base import CascadeClassifier, check_weighted, rows_with_weight, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.layer import Layer, LayerRules, fit_layer, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest._base import Forest
from cascadeforest.forest._parameters import check_choice, check_count, check_flag, check_number
from cascadeforest.forest._types import ClassWeight, MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.categories import CategoricalFeatures
from cascadeforest.forest.learned_rows import Rows
from cascadeforest.forest.walks import Reached, TrainedLayer, Walk

#: Section 4: 'we generally choose these two hyper-parameters from the finite sets'.
GAMMAS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
MUS = (0.01, 0.05, 0.1)
#: Section 5: depth 2t + 2, 4t + 4, 8t + 8 or 16t + 16.
THETAS = (2, 4, 8, 16)
#: Closer to 0 or 1, the divisors of the loss would be nearly 0.
_BOUNDS = {"gamma": (0.001, 0.999), "mu": (0.0,)}
#: Maximum depth of trees, as in the released code.
MAX_DEPTH = 100
ABLATIONS = (None, "same_forests", "stacking", "no_preconc")
#: Values of gamma and mu during the search for theta, unless the user gave them.
_MIDDLE = {"gamma": 0.85, "mu": 0.05}
_PAPER: dict[str, Any] = {
    "n_forests": 4,
    "n_estimators": 100,
    "n_folds": 5,
    "max_layers": 20,
    "patience": 2,
    "estimators": ("random_forest", "completely_random_forest"),
    "gamma": None,
    "mu": None,
    "theta": None,
    "alpha": "exact",
    "cumulative": "normalized",
    "scaled_loss": True,
    "bounded_forests": "random_forest",
    "depth_shift": 1,
    "shared_folds": False,
    "keep": "best",
    "search_estimators": 20,
    "search_layers": 5,
}
_OFFICIAL: dict[str, Any] = {
    "patience": None,  # all layers
    "estimators": ("random_forest", "extra_trees"),
    "gamma": 0.98,
    "mu": 0.05,
    "theta": 4,
    "alpha": "log",
    "cumulative": "sum",
    "scaled_loss": False,
    "bounded_forests": "all",
    "depth_shift": 0,
    "shared_folds": True,
    "keep": "last",
}
#: Values of parameters that are None, by preset.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: _PAPER | {"n_estimators": 50, "search_estimators": 5, "search_layers": 2},
    "paper": _PAPER,
    "official": _PAPER | _OFFICIAL,
}
#: A mean margin of 1 has no finite logarithm.
_LARGEST_MEAN = 1.0 - 1e-6


def margins(vectors: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Crammer and Singer's margin: probability of the row's class minus the largest other probability (section 4).

    Parameters
    ----------
    vectors : ndarray of shape (n, n_classes)
        Class probabilities.
    y : ndarray of shape (n,), int
        Class numbers.

    Returns
    -------
    ndarray of shape (n,)
        In [-1, 1]; 1 for all rows if there is only one class.
    """
    rows = np.arange(len(y))
    own = vectors[rows, y]
    if vectors.shape[1] == 1:
        return np.ones(len(y))
    others = vectors.copy()
    others[rows, y] = -np.inf
    return own - others.max(axis=1)


def margin_loss(z: np.ndarray, gamma: float, mu: float, *, scaled: bool = True) -> np.ndarray:
    """Margin distribution loss (Eq. 28).

    Parameters
    ----------
    z : ndarray
        Margins.
    gamma : float
        The margin with loss 0, in (0, 1).
    mu : float
        Factor of the loss of margins above gamma, relative to margins below gamma.
    scaled : bool
        Divide by ``gamma**2`` and ``(1 - gamma)**2``, as the paper does and the released code does not.

    Returns
    -------
    ndarray
    """
    below, above = _coefficients(gamma, mu, scaled)
    return np.where(z <= gamma, below, above) * (z - gamma) ** 2


def _coefficients(gamma: float, mu: float, scaled: bool) -> tuple[float, float]:
    """Factors of the squared distance to gamma, for margins below gamma and for margins above gamma."""
    return (1.0 / gamma**2, mu / (1.0 - gamma) ** 2) if scaled else (1.0, mu)


def minimise_margin_loss(
    start: np.ndarray,
    slope: np.ndarray,
    weights: np.ndarray,
    gamma: float,
    mu: float,
    least: float,
    most: float,
    *,
    scaled: bool = True,
) -> float:
    """Find the exact x in [least, most] that minimises the mean loss of the margins ``start + x * slope``.

    The loss is convex and piecewise quadratic, with breakpoints where a margin passes gamma. Its derivative is
    continuous, piecewise linear and non-decreasing. Its zero is found from its values at the breakpoints.

    Parameters
    ----------
    start, slope : ndarray of shape (n,)
        Margins are ``start + x * slope``.
    weights : ndarray of shape (n,)
        Weights of the rows in the mean.
    gamma, mu, scaled
        As in `margin_loss`.
    least, most : float
        Bounds of x; `most` may be infinite.

    Returns
    -------
    float
        The smallest minimiser if there are several.
    """
    below, above = _coefficients(gamma, mu, scaled)
    moves = slope != 0
    a, b, w = start[moves] - gamma, slope[moves], weights[moves]
    # Half the derivative is sum_i w_i c_i b_i (a_i + x b_i), where c_i changes as x passes -a_i / b_i.
    with np.errstate(over="ignore"):
        turning = -a / b
    order = np.argsort(turning, kind="stable")
    turning, a, b, w = turning[order], a[order], b[order], w[order]
    before, after = np.where(b > 0, below, above), np.where(b > 0, above, below)
    inside = slice(np.searchsorted(turning, least, side="right"), np.searchsorted(turning, most, side="left") + 1)
    constants = _sums_of_stretches(before * w * b * a, after * w * b * a)[inside]
    linears = _sums_of_stretches(before * w * b * b, after * w * b * b)[inside]
    x = turning[inside.start : inside.stop - 1]
    ends = np.append(x, most)
    finite = np.where(np.isfinite(ends), ends, 0.0)
    at_end = np.where(np.isfinite(ends), constants + linears * finite, np.where(linears > 0, np.inf, constants))
    reached = np.flatnonzero(at_end >= 0)
    if not len(reached):
        return most
    k = reached[0]
    begin = least if k == 0 else x[k - 1]
    return float(np.clip(-constants[k] / linears[k], begin, ends[k])) if linears[k] > 0 else float(begin)


def _sums_of_stretches(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """For k = 0, 1, ..., n: the sum of the first k terms of `after` and of the terms of `before` from k on.

    Subtraction is avoided, so that the sum of zeros (margins above gamma with mu = 0) is 0 without rounding error.
    """
    return np.append(0.0, np.cumsum(after)) + np.append(np.cumsum(before[::-1])[::-1], 0.0)


def log_weight(mean_margin: float) -> float:
    """AdaBoost's formula, which the released code uses in place of line 7 of Algorithm 2; not below 0.

    Parameters
    ----------
    mean_margin : float
        Mean margin of the layer.

    Returns
    -------
    float
    """
    mean_margin = min(max(mean_margin, 0.0), _LARGEST_MEAN)
    return 0.5 * math.log((1.0 + mean_margin) / (1.0 - mean_margin))


def reweighted(loss: np.ndarray, floor: float) -> np.ndarray:
    """Weights of the next layer's rows (Eq. 27), with mean 1.

    Parameters
    ----------
    loss : ndarray of shape (n,)
        Margin loss of each row.
    floor : float
        Smaller losses are raised to this share of the mean loss. Without a floor, a row exactly at gamma would have
        weight 0, and a class of such rows would be lost. The paper has no floor.

    Returns
    -------
    ndarray of shape (n,)
        Ones if no row has a loss.
    """
    mean = loss.mean()
    if not mean > 0:
        return np.ones(len(loss))
    weights = np.maximum(loss / mean, floor)
    return weights / weights.mean()


def equal_are_none(weights: np.ndarray | None) -> np.ndarray | None:
    """None if all weights are equal, else the weights: products of equal weights with Eq. 27 change the last digit."""
    return None if weights is None or (weights == weights[0]).all() else weights


def margin_ratio(z: np.ndarray) -> float:
    """Standard deviation of margins over their mean: lambda of Theorem 1.

    Parameters
    ----------
    z : ndarray
        Margins.

    Returns
    -------
    float
        Infinity if the mean is not positive; the theorem does not apply then.
    """
    mean = float(np.mean(z))
    return float(np.std(z)) / mean if mean > 0 else math.inf


@dataclass(frozen=True)
class Setting:
    """Hyperparameters that the paper chooses from grids.

    Parameters
    ----------
    gamma, mu : float
        Parameters of the margin loss.
    theta : int
        Schedule of depths.
    """

    gamma: float
    mu: float
    theta: int

    def depth(self, level: int, shift: int) -> int:
        """Maximum depth of trees at a level, counted from 0: theta * (t + shift) for layer t, counted from 1."""
        return min(self.theta * (level + 1 + shift), MAX_DEPTH)


class Additive:
    """The additive model (Eq. 1) divided by the sum of its factors: a weighted mean of the layers' class vectors.

    Updated as ``(1 - share) * mean so far + share * newest layer``, which cannot overflow.

    Parameters
    ----------
    n_rows, n_forests, n_classes : int
        Sizes.
    average : bool
        Whether the next layer sees the mean over the forests.
    """

    def __init__(self, n_rows: int, n_forests: int, n_classes: int, *, average: bool = False):
        self._mean, self._average = np.zeros((n_rows, n_forests, n_classes)), average

    def add(self, vectors: np.ndarray, share: float) -> None:
        """Add a layer's class vectors, of shape (n_rows, n_forests, n_classes), with weight `share` in the mean."""
        self._mean *= 1.0 - share
        self._mean += np.multiply(vectors, share, dtype=np.float64)  # vectors * share would have single precision

    @property
    def features(self) -> np.ndarray:
        """f_t (Eq. 6), float32: a block with sum 1 for each forest, side by side, or the mean of the blocks."""
        seen = self.probabilities if self._average else self._mean.reshape(len(self._mean), -1)
        return seen.astype(np.float32)

    @property
    def probabilities(self) -> np.ndarray:
        """F (Eq. 1) with sum 1: shape (n_rows, n_classes)."""
        return mean_vector(self._mean)


@dataclass(frozen=True)
class TrainingRows:
    """Training data of the layers.

    Parameters
    ----------
    seen : Representation
        Features, with room for the sum.
    alone : Representation or None
        Room for the sum without features, which later layers of ablation ST see.
    rows : ndarray of shape (n,), int
        Rows of `seen` that have positive weight.
    y : ndarray of shape (n,), int
        Class numbers of `rows`.
    weights : ndarray of shape (n,) or None
        Weights of `rows`.
    """

    seen: Representation
    alone: Representation | None
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None


class Boosting:
    """What Algorithm 2 updates after each layer, in `fit` and in explanations.

    Attributes
    ----------
    sum : Additive
        Sum of the layers so far.
    weights : ndarray of shape (n,) or None
        Weights of the rows in the next layer: Eq. 27 times the weights that the user gave.
    cumulative : ndarray of shape (n,)
        Margins under the sum, divided by the sum of the factors.
    total : float
        Sum of the factors.
    """

    def __init__(self, cascade: MDDFClassifier, data: TrainingRows, n_forests: int, setting: Setting):
        self._cascade, self._data, self._setting = cascade, data, setting
        self.sum = cascade._additive(len(data.rows), n_forests)
        self.weights, self.cumulative, self.total = data.weights, np.zeros(len(data.rows)), 0.0

    def seen(self, level: int, n_jobs: int | None) -> tuple[Representation, BinMapper | None]:
        """Columns of the training rows that a layer sees, and the bins of the sum."""
        data = self._data
        if level == 0 or self._cascade._as_fitted.ablation == "no_preconc":
            data.seen.drop_added()
            return data.seen, None
        seen = data.seen if data.alone is None else data.alone
        return seen, seen.fit_added(self.sum.features, data.rows, n_jobs)

    def margins_of(self, vectors: np.ndarray) -> np.ndarray:
        """Margins of a layer's class vectors."""
        return margins(mean_vector(vectors), self._data.y)

    def add(self, vectors: np.ndarray, own: np.ndarray, alpha: float, share: float) -> None:
        """Add a layer with its class vectors, its margins, its factor, and its share of the sum of the factors."""
        self.total += alpha
        self.cumulative = (1.0 - share) * self.cumulative + share * own
        self.sum.add(vectors, share)
        if not self._cascade._as_fitted.reweighting:
            return
        of_rows = self._cascade._as_fitted._row_weights(self.cumulative, self.total, self._setting)
        self.weights = of_rows if self._data.weights is None else of_rows * self._data.weights


@dataclass
class Growth:
    """Results of growing a cascade with one setting, layer by layer."""

    best: BestLayer
    layers: list[Layer] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    margins: list[np.ndarray] = field(default_factory=list)
    first: tuple[Layer, np.ndarray] | None = None


class MDDFClassifier(ExplainableCascade, CascadeClassifier):
    """mdDF: a cascade as an additive model, in which each layer weights rows by their margins so far.

    Layer t learns from rows weighted by their margin loss under layers 1 to t - 1 (Eq. 27). Its class vectors are added
    to a sum, with the factor that minimises the loss (Algorithm 2, line 7). The next layer sees the features and the
    sum.

    Parameters
    ----------
    n_forests : int or None, default=None
        Number of forests in a layer, all kinds together. None: 4.
    n_estimators : int or None, default=None
        Number of trees in a forest; with k folds each forest has k times as many. None: 50; 100 in presets "paper" and
        "official".
    gamma : float or None, default=None
        Margin without loss, from 0.001 to 0.999. None: chosen from the paper's grid (`GAMMAS`); 0.98 in preset
        "official".
    mu : float or None, default=None
        Loss of a margin above gamma relative to one below. None: chosen from the paper's grid (`MUS`); 0.05 in preset
        "official".
    theta : int or None, default=None
        Trees of layer t, counted from 1, have depth ``theta * (t + depth_shift)`` at most. None: chosen from the
        paper's grid (`THETAS`); 4 in preset "official".
    alpha : {"exact", "log"} or None, default=None
        How to find the factor of a layer: "exact" minimises the mean loss, "log" is AdaBoost's formula. None: "exact";
        "log" in preset "official".
    cumulative : {"normalized", "sum"} or None, default=None
        Margin in the loss. "sum": sum of the layers' margins times their factors. "normalized": this sum, divided by
        the sum of the factors. A plain sum exceeds 1 after some layers, and Eq. 28 is not defined there; with exact
        factors the first layer then has nearly the whole weight. None: "normalized"; "sum" in preset "official".
    scaled_loss : bool or None, default=None
        Whether the loss is divided by ``gamma**2`` and ``(1 - gamma)**2`` (Eq. 28). None: True; False in "official".
    bounded_forests : {"random_forest", "all"} or None, default=None
        Which forests `theta` bounds. None: "random_forest" (section 5: 'the maximum depth of tree in random forest');
        "all" in preset "official".
    depth_shift : int or None, default=None
        None: 1, so that the random forests of the first layer have depth 2 theta; 0 in preset "official", whose code
        counts layers from 0.
    max_share : float, default=0.9
        With "normalized" and "exact", largest share of the sum of factors that the newest layer can have. Without a
        bound the newest layer often has the whole sum.
    reweighting : bool, default=True
        Whether layers weight rows by their margin loss (Eq. 27). False, a control that is not in the paper: all layers
        learn with the weights that the user gave.
    weight_floor : float, default=1e-3
        Smallest weight of a row, relative to the mean (see `reweighted`).
    average_vectors : bool, default=False
        What the next layer sees of the sum. False: the vectors of all forests. True: their mean, n_classes columns, as
        section 4 says ('average prediction vector in each layer'). Such a model is not explained.
    ablation : {"same_forests", "stacking", "no_preconc"} or None, default=None
        The other structures of the paper. "same_forests" (SF): random forests only. "stacking" (ST): later layers see
        the sum, not the features. "no_preconc" (NP): layers see the features, not the sum.
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"} or estimators, default=None
        As in `GCForestClassifier`. Estimators that are given as objects keep their own depth, and their ``fit`` must
        accept `sample_weight`. None: random and completely random forests; in preset "official" random forests and
        Extra-Trees.
    n_folds : int or None, default=None
        Number of folds of each forest. None: 5.
    shared_folds : bool or None, default=None
        Whether all layers and forests use the same folds. None: False; True in preset "official".
    class_vectors, max_layers, tol, scoring, min_samples_leaf, max_features, class_weight, categorical_features, \
layers_dir, n_jobs, random_state, verbose
        As in `GCForestClassifier`.
    patience : int or None, default=None
        As in `GCForestClassifier`. None: 2; `max_layers` in preset "official", so that all layers are grown.
    keep : {"best", "last"} or None, default=None
        Last layer of the prediction: the first of the best layers, or the last that was grown. None: "best"; "last" in
        preset "official".
    search_estimators : int or None, default=None
        Number of trees in a forest during the search of the grids. None: 5; 20 in preset "paper".
    search_layers : int or None, default=None
        Largest number of layers during the search of the grids. None: 2; 5 in preset "paper".
    preset : {"paper", "official"} or None, default=None
        Source of the values of parameters that are None. None: the paper's algorithm with fewer trees, chosen on
        twelve data sets (``docs/defaults.md``). "paper": the paper's text. "official": the released code.

    Attributes
    ----------
    classes_, n_classes_, n_layers_, layers_, validation_scores_, features_, feature_importances_, \
n_features_in_, feature_names_in_, is_categorical_, categories_
        As in `GCForestClassifier`. The score of a layer is the score of the sum up to it.
    gamma_, mu_, theta_ : float, float, int
        Values that were used.
    alphas_ : ndarray of shape (n_grown_layers,)
        Factors of the layers; with "normalized" relative to the factor of the first layer.
    shares_ : ndarray of shape (n_grown_layers,)
        Factor of each layer, divided by the sum of the factors up to it.
    margins_ : ndarray of shape (n_grown_layers, n_samples), float32
        Out-of-fold margins of the sum up to each layer, divided by the sum of the factors; NaN for rows without weight.
    margin_ratio_ : ndarray of shape (n_grown_layers,)
        Standard deviation of these margins, divided by their mean (lambda of Theorem 1).
    search_results_ : list of dict
        For each setting that was tried: gamma, mu, theta and the best out-of-fold score. Empty if gamma, mu and theta
        were given.

    Notes
    -----
    The grids are searched on out-of-fold predictions of the training rows: first theta (with gamma 0.85 and mu 0.05,
    unless they are given), then gamma and mu together. Among settings with equal scores, the first is chosen.

    Choices that the paper leaves open: class vectors are out-of-fold (the text's 'each instance is training data k - 1
    times' would leak labels), and the block of each forest in the sum is renormalised.

    References
    ----------
    .. [1] S.-H. Lyu, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest representation
       learning", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import MDDFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDDFClassifier(2, 20, gamma=0.9, mu=0.05, theta=4, max_layers=3, random_state=0).fit(X, y)
    >>> model.margins_.shape
    (3, 150)
    """

    _presets = PRESETS
    # Models that version 0.1.0 saved or pickled lack these parameters.
    reweighting = True
    average_vectors = False
    # Parameters that other cascades have and this class does not.
    scanning = input_shape = max_depth = vector_dtype = None

    def __init__(
        self,
        n_forests: int | None = None,
        n_estimators: int | None = None,
        *,
        gamma: float | None = None,
        mu: float | None = None,
        theta: int | None = None,
        alpha: str | None = None,
        cumulative: str | None = None,
        scaled_loss: bool | None = None,
        bounded_forests: str | None = None,
        depth_shift: int | None = None,
        max_share: float = 0.9,
        reweighting: bool = True,
        weight_floor: float = 1e-3,
        average_vectors: bool = False,
        ablation: str | None = None,
        estimators: Sequence[str | BaseEstimator] | None = None,
        n_folds: int | None = None,
        shared_folds: bool | None = None,
        class_vectors: str = "k_fold",
        max_layers: int | None = None,
        patience: int | None = None,
        keep: str | None = None,
        tol: float = 0.0,
        scoring: Scorer = None,
        search_estimators: int | None = None,
        search_layers: int | None = None,
        preset: str | None = None,
        min_samples_leaf: int | float = 1,
        max_features: MaxFeatures = "sqrt",
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        layers_dir: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_forests = n_forests
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.mu = mu
        self.theta = theta
        self.alpha = alpha
        self.cumulative = cumulative
        self.scaled_loss = scaled_loss
        self.bounded_forests = bounded_forests
        self.depth_shift = depth_shift
        self.max_share = max_share
        self.reweighting = reweighting
        self.weight_floor = weight_floor
        self.average_vectors = average_vectors
        self.ablation = ablation
        self.estimators = estimators
        self.n_folds = n_folds
        self.shared_folds = shared_folds
        self.class_vectors = class_vectors
        self.max_layers = max_layers
        self.patience = patience
        self.keep = keep
        self.tol = tol
        self.scoring = scoring
        self.search_estimators = search_estimators
        self.search_layers = search_layers
        self.preset = preset
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.layers_dir = layers_dir
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MDDFClassifier:
        """Choose gamma, mu and theta, unless they are given, and grow the cascade (Algorithm 2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative. They multiply the weights of Eq. 27, and count in the loss and the score.

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
        self._check_margins()
        X, label, rows, of_all = self._training_data(X, y, sample_weight)
        members = self._members()
        if self.reweighting:
            check_weighted(members)
        scoring = Scoring(self.scoring, self.classes_)
        progress = Progress(self.verbose)
        rules = replace(
            self._layer_rules(self.classes_, "float32", progress), shared_folds=self._chosen("shared_folds")
        )
        features = self._features(members, X.shape[1], rules)
        labels, weights = label[rows], equal_are_none(weights_at(of_all, rows))
        features.fit(X, rows, labels, weights)
        seen = features.at(0, rows, labels, weights)
        data = TrainingRows(seen, self._alone(seen), rows, labels, weights)

        self.search_results_: list[dict[str, float]] = []
        setting = self._search(members, data, rules, scoring)
        self.gamma_, self.mu_, self.theta_ = setting.gamma, setting.mu, setting.theta
        grown = self._grow(members, data, rules, scoring, setting, self._chosen("max_layers"))
        n_kept = grown.best.n_kept(self._chosen("keep"))
        self._remember(features, label, of_all)
        features.finish(n_kept)
        self.features_ = features
        self.layers_ = grown.layers[:n_kept]
        self.n_layers_ = n_kept
        self.alphas_, self.shares_ = np.array(grown.alphas), np.array(grown.shares)
        self.validation_scores_ = np.array(grown.best.scores)
        self.margins_ = np.full((len(grown.margins), len(label)), np.nan, np.float32)
        self.margins_[:, rows] = grown.margins
        self.margin_ratio_ = np.array([margin_ratio(z) for z in grown.margins])
        progress.say("kept %d of %d layers", n_kept, len(grown.layers))
        return self

    def _check_margins(self) -> None:
        for name, grid in (("gamma", GAMMAS), ("mu", MUS)):
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, *_BOUNDS[name], otherwise=f", or None to choose from {grid}")
        check_count("theta", self.theta, optional=True)
        check_choice("alpha", self._chosen("alpha"), ("exact", "log"))
        check_choice("cumulative", self._chosen("cumulative"), ("normalized", "sum"))
        check_choice("keep", self._chosen("keep"), KEEPS)
        check_flag("scaled_loss", self._chosen("scaled_loss"))
        check_choice("bounded_forests", self._chosen("bounded_forests"), ("random_forest", "all"))
        check_count("depth_shift", self._chosen("depth_shift"), 0)
        check_flag("shared_folds", self._chosen("shared_folds"))
        check_number("max_share", self.max_share, 0.0, 1.0)
        if self.max_share in (0, 1):
            raise ValueError(f"max_share is {self.max_share!r}; give a number between 0 and 1, both excluded.")
        check_flag("reweighting", self.reweighting)
        check_flag("average_vectors", self.average_vectors)
        check_number("weight_floor", self.weight_floor, 0.0, 1.0)
        if self.weight_floor == 0:
            raise ValueError("weight_floor is 0; give a positive number: forests leave rows without weight out.")
        check_choice("ablation", self.ablation, ABLATIONS[1:], optional=True)
        if self.ablation == "same_forests" and self.estimators is not None:
            raise ValueError(
                "ablation is 'same_forests', which says what the estimators are; leave one of the two out."
            )
        for name in ("search_estimators", "search_layers"):
            check_count(name, getattr(self, name), optional=True)

    def _kinds(self) -> Sequence[str | BaseEstimator]:
        if self.ablation == "same_forests":
            return ("random_forest",)
        return super()._kinds()

    def _alone(self, seen: Representation) -> Representation | None:
        """Room for the sum without features, which is all that later layers see in ablation ST."""
        return Representation.of_added(seen) if self._as_fitted.ablation == "stacking" else None

    def _additive(self, n_rows: int, n_forests: int) -> Additive:
        """The sum of no layers."""
        return Additive(n_rows, n_forests, self.n_classes_, average=self._as_fitted.average_vectors)

    def _search(self, members: list[BaseEstimator], data: TrainingRows, rules: LayerRules, scoring: Scoring) -> Setting:
        """Find the setting with the best out-of-fold score of smaller cascades; theta is searched first."""
        given = {name: self._chosen(name) for name in ("gamma", "mu", "theta")}
        if None not in given.values():
            return Setting(**given)
        smaller = [
            clone(m).set_params(n_estimators=min(m.n_estimators, self._chosen("search_estimators")))
            if isinstance(m, Forest)
            else m
            for m in members
        ]
        n_layers = min(self._chosen("max_layers"), self._chosen("search_layers"))
        # Keep only scores and first layers (they depend on theta only): all cascades together would fill the memory.
        scores: dict[Setting, float] = {}
        first_layers: dict[int, tuple[Layer, np.ndarray] | None] = {}

        def score(setting: Setting) -> float:
            if setting not in scores:
                first = first_layers.get(setting.theta)
                grown = self._grow(smaller, data, rules, scoring, setting, n_layers, first)
                first_layers.setdefault(setting.theta, grown.first)
                scores[setting] = grown.best.scores[grown.best.index]
                result = {"gamma": setting.gamma, "mu": setting.mu, "theta": setting.theta}
                self.search_results_.append(result | {"score": scores[setting]})
                rules.progress.say("%s: out-of-fold score %.5f", setting, scores[setting])
            return scores[setting]

        gamma, mu = (_MIDDLE[name] if given[name] is None else given[name] for name in ("gamma", "mu"))
        thetas = THETAS if given["theta"] is None else (given["theta"],)
        chosen = max((Setting(gamma, mu, theta) for theta in thetas), key=score) if len(thetas) > 1 else None
        theta = thetas[0] if chosen is None else chosen.theta
        gammas = GAMMAS if given["gamma"] is None else (given["gamma"],)
        mus = MUS if given["mu"] is None else (given["mu"],)
        if len(gammas) == len(mus) == 1:
            return Setting(gamma, mu, theta)
        return max((Setting(g, m, theta) for g, m in product(gammas, mus)), key=score)

    def _grow(
        self,
        members: list[BaseEstimator],
        data: TrainingRows,
        rules: LayerRules,
        scoring: Scoring,
        setting: Setting,
        n_layers: int,
        first: tuple[Layer, np.ndarray] | None = None,
    ) -> Growth:
        """Run Algorithm 2 with one setting; `first` is an earlier first layer with its vectors, to be reused."""
        rows, y, weights = data.rows, data.y, data.weights
        patience = self._chosen_patience()
        grown, state = Growth(BestLayer(patience, self.tol)), Boosting(self, data, len(members), setting)
        for level in range(n_layers):
            if level == 0 and first is not None:
                layer, vectors = first
            else:
                seen, added_mapper = state.seen(level, self.n_jobs)
                with rules.progress.layer(level, rules.n_models(len(members), len(rows))):
                    layer, vectors = fit_layer(
                        self._at_depth(members, setting, level),
                        *(seen, rows, y, state.weights, rules, level, added_mapper),
                    )
            grown.first = grown.first or (layer, vectors)
            own = state.margins_of(vectors)
            alpha, share = self._factor(own, state.cumulative, state.total, weights, setting)
            state.add(vectors, own, alpha, share)
            probabilities = state.sum.probabilities
            score = scoring(y, probabilities, weights)
            grown.best.is_better(score)
            grown.layers.append(layer)
            grown.alphas.append(alpha)
            grown.shares.append(share)
            grown.margins.append(margins(probabilities, y))
            rules.progress.say(
                "layer %d: out-of-fold score %.5f, alpha %.3f, margin ratio %.3f, %d trees",
                *(level + 1, score, alpha, margin_ratio(grown.margins[-1]), layer.n_trees),
            )
            if grown.best.is_over or (scoring.cannot_rise(score) and patience < self._chosen("max_layers")):
                break
        return grown

    def _at_depth(self, members: list[BaseEstimator], setting: Setting, level: int) -> list[BaseEstimator]:
        """The forests of a layer, with the level's depth; estimators that were given as objects keep their own."""
        depth = setting.depth(level, self._chosen("depth_shift"))
        kinds = self._kinds()
        bounded = self._chosen("bounded_forests")
        return [
            clone(member).set_params(max_depth=depth) if isinstance(kind, str) and bounded in ("all", kind) else member
            for kind, member in zip(cycle(kinds), members, strict=False)
        ]

    def _row_weights(self, cumulative: np.ndarray, total: float, setting: Setting) -> np.ndarray:
        """Weights of the next layer's rows (Eq. 27), from their margins and the sum of the factors so far."""
        z = cumulative if self._chosen("cumulative") == "normalized" else total * cumulative
        loss = margin_loss(z, setting.gamma, setting.mu, scaled=self._chosen("scaled_loss"))
        return reweighted(loss, self.weight_floor)

    def _factor(
        self, own: np.ndarray, cumulative: np.ndarray, total: float, weights: np.ndarray | None, setting: Setting
    ) -> tuple[float, float]:
        """alpha_t (Algorithm 2, line 7), and its share of the sum of the factors so far."""
        if self._chosen("alpha") == "exact" and self._chosen("cumulative") == "normalized":
            if total == 0:
                return 1.0, 1.0
            share = self._minimised(cumulative, own - cumulative, weights, setting, self.max_share)
            return total * (share / (1.0 - share)), share
        if self._chosen("alpha") == "log":
            alpha = log_weight(float(np.average(own, weights=weights)))
        else:
            alpha = self._minimised(total * cumulative, own, weights, setting, math.inf)
        # A layer worse than chance gets 0. If all layers so far have 0, the newest layer alone predicts.
        return alpha, alpha / (total + alpha) if total + alpha > 0 else 1.0

    def _minimised(
        self, start: np.ndarray, slope: np.ndarray, weights: np.ndarray | None, setting: Setting, most: float
    ) -> float:
        of_rows = np.ones(len(start)) if weights is None else weights
        loss = {"gamma": setting.gamma, "mu": setting.mu, "scaled": self._chosen("scaled_loss")}
        return minimise_margin_loss(start, slope, of_rows, least=0.0, most=most, **loss)

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Class probabilities if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Mean of the layers' class vectors, weighted by their factors. There are `n_layers_` arrays; the last one is
            `predict_proba`.
        """
        for reached in MarginWalk(self, self.n_jobs).layers(X):
            yield reached.prediction

    def walk(self, n_jobs: int | None = None) -> Walk:
        """As in `ExplainableCascade`; an error with `average_vectors`."""
        if self._as_fitted.average_vectors:
            raise ValueError(
                "average_vectors is True: layers see the mean of the forests' vectors, which explanations do not "
                "follow. Fit it with average_vectors=False to explain it."
            )
        return MarginWalk(self, n_jobs)

    def _staged(
        self,
        X: MatrixLike,
        rows: np.ndarray,
        vectors_of: Callable[[int, Representation], np.ndarray],
        n_jobs: int | None,
    ) -> Iterator[tuple[Additive, Representation]]:
        """The sum up to layer 1, 2, ..., and the columns that the layer sees; `vectors_of` computes class vectors."""
        reader = self.features_.reader(X, n_jobs)
        total, alone = self._additive(len(rows), len(self.layers_[0].forests)), None
        for level, (layer, share) in enumerate(zip(self.layers_, self.shares_, strict=False)):
            seen = reader(level, rows)
            if level == 0:
                alone = self._alone(seen)
            elif layer.added_mapper is not None:
                seen = seen if alone is None else alone
                seen.add(total.features, rows, layer.added_mapper, n_jobs)
            total.add(vectors_of(level, seen), share)
            yield total, seen

    def staged_training_features(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """Out-of-fold features of the training rows that layers 1, 2, ... hand on: f_t (Eq. 6).

        `fit` does not keep these features. The folds are drawn again, and each row goes through the models that did not
        learn from it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, as in `fit`.
        y : array-like of shape (n_samples,)
            Classes of the training samples.

        Yields
        ------
        ndarray of shape (n_samples, n_forests * n_classes), float32
            Features from one layer, `n_layers_` times; NaN for rows without weight. With `average_vectors`, there are
            n_classes columns.

        Raises
        ------
        ValueError
            If these are not the training samples, or `class_vectors` was not "k_fold", so that the models that did not
            learn from a row were not kept.
        """
        X = self._checked_X(X)
        label = self._class_numbers(y)
        check_consistent_length(X, label)
        check_consistent_length(X, self.margins_.T)
        rows = np.flatnonzero(~np.isnan(self.margins_[0])).astype(np.int32)
        label = label[rows]

        def vectors_of(level: int, seen: Representation) -> np.ndarray:
            return self.layers_[level].transform_held_out(seen, rows, label, self.n_jobs)

        for level, (total, _) in enumerate(self._staged(X, rows, vectors_of, self.n_jobs)):
            if not np.array_equal(margins(total.probabilities, label).astype(np.float32), self.margins_[level, rows]):
                raise ValueError("X and y are not those that fit had: the margins differ; give the same rows in order.")
            features = total.features
            of_all = np.full((X.shape[0], features.shape[1]), np.nan, np.float32)
            of_all[rows] = features
            yield of_all

    def staged_margins(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """Margins of the sum up to layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.

        Yields
        ------
        ndarray of shape (n_samples,)
            Margins in [-1, 1], `n_layers_` times.

        Raises
        ------
        ValueError
            If y has a class that `fit` did not see.
        """
        check_is_fitted(self)
        label = self._class_numbers(y)
        for probabilities in self.staged_predict_proba(X):
            check_consistent_length(probabilities, label)
            yield margins(probabilities, label)

    def _class_numbers(self, y: ArrayLike) -> np.ndarray:
        y = column_or_1d(y)
        if unknown := sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist())):
            raise ValueError(f"y has the classes {unknown}, which fit did not see; leave these rows out.")
        return np.searchsorted(self.classes_, y)


class MarginWalk(CascadeWalk):
    """Walk of mdDF: layers see the sum of the layers so far, and weight rows by their margins."""

    model: MDDFClassifier
    passes_sum_on = True

    def columns_of(self, number: int) -> tuple[int, int]:
        """As in `Walk`."""
        n_given, n_added = super().columns_of(number)
        return 0 if number and self.model._as_fitted.ablation == "stacking" else n_given, n_added

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        model = self.model
        X = model._checked_X(X)
        rows = np.arange(X.shape[0], dtype=np.int32)

        def vectors_of(level: int, seen: Representation) -> np.ndarray:
            return model.layers_[level].transform(seen, rows, self.n_jobs)

        for total, seen in model._staged(X, rows, vectors_of, self.n_jobs):
            yield Reached(seen.binned, rows, total.probabilities, rows)

    def trained_layers(self, learned: Rows) -> Iterator[TrainedLayer]:
        """As in `Walk`: Algorithm 2 with the fitted factors."""
        model, seen = self.model, self._seen(learned)
        rows = rows_with_weight(learned.weights, len(learned.y))
        weights = equal_are_none(weights_at(learned.weights, rows))
        data = TrainingRows(seen, model._alone(seen), rows, learned.y[rows], weights)
        state = Boosting(model, data, len(model.layers_[0].forests), self._setting)
        for number in range(self.n_layers):
            of_level, _ = state.seen(number, self.n_jobs)
            share = model.shares_[number]
            trained, of_folds = self._trained(number, of_level, rows, data.y, state.weights, share)
            yield trained
            if number + 1 < self.n_layers:
                vectors = self._held_out_vectors(trained, of_folds, of_level, data.y)
                state.add(vectors, state.margins_of(vectors), model.alphas_[number], share)

    @property
    def _setting(self) -> Setting:
        return Setting(self.model.gamma_, self.model.mu_, self.model.theta_)

    def _members(self, number: int, seen: Representation) -> list[BaseEstimator]:
        fitted = self.model._as_fitted
        return fitted._at_depth(fitted._members(), self._setting, number)
