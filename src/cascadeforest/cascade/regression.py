"""Deep forest for regression: every layer sees the features and the targets that the layer before predicted."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import get_tags

from cascadeforest.cascade._base import Cascade, checked_weights, rows_with_weight, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.stopping import KEEPS, Scoring
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest._base import one_column
from cascadeforest.forest._parameters import check_choice
from cascadeforest.forest._types import MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.categories import CategoricalFeatures

_PAPER: dict[str, Any] = {
    "n_forests": 4,
    "n_estimators": 50,
    "n_folds": 3,
    "max_layers": 20,
    "patience": 3,
    "estimators": ("random_forest", "completely_random_forest"),
    "vector_dtype": "float64",
}
#: Values of parameters that are None, by preset.
PRESETS: dict[str | None, dict[str, Any]] = {
    None: _PAPER | {"patience": 1},
    "paper": _PAPER,
    "official": _PAPER | {"estimators": ("random_forest", "extra_trees"), "vector_dtype": "float16"},
}


class CascadeForestRegressor(ExplainableCascade, RegressorMixin, Cascade):
    """Deep forest for regression, as in the interpretation paper: gcForest whose forests predict the target.

    Layer t + 1 sees the features and one predicted target for each forest of layer t. The predicted targets of a
    training row come from the fold models that did not learn from the row. With several targets (our own extension)
    each forest predicts all of them, and the next layer sees all predictions.

    Parameters
    ----------
    n_forests : int or None, default=None
        Number of forests in a layer, all kinds together. None: 4.
    n_estimators : int or None, default=None
        Number of trees in a forest; with k folds each forest has k times as many. None: 50.
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"} or estimators, default=None
        Kinds of forests, taken in turn: forest i is of kind ``i % len(estimators)``. Any scikit-learn regressor can
        take the place of a forest. None: random forests and completely random forests; in preset "official" random
        forests and Extra-Trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features considered at a split of a random forest (or of Extra-Trees).
    scoring : str, callable or None, default=None
        Scorer of scikit-learn for the out-of-fold predictions; None: minus the root mean squared error.
    patience : int or None, default=None
        As in `GCForestClassifier`. None: 1; 3 in presets "paper" and "official", as in the released examples.
    vector_dtype : {"float64", "float32", "float16"} or None, default=None
        Precision of a forest's predictions; None: "float16" in preset "official", else "float64".
    preset : {"paper", "official"} or None, default=None
        Source of the values of parameters that are None. None: the paper's algorithm, which stops earlier, chosen on
        six data sets (``docs/defaults.md``). "paper": the paper's text. "official": the released code.
    n_folds, class_vectors, max_layers, keep, tol, max_depth, min_samples_leaf, categorical_features, \
layers_dir, n_jobs, random_state, verbose
        As in `GCForestClassifier`.

    Attributes
    ----------
    n_layers_ : int
        Number of layers that were kept.
    n_outputs_ : int
        Number of targets.
    layers_ : list of Layer
        The layers that were kept.
    validation_scores_ : ndarray of shape (n_grown_layers,)
        Score of the out-of-fold predictions of each layer that was grown, dropped ones included; greater is better.
    features_ : PlainFeatures
        Bins of the features.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importances of the original features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.
    is_categorical_ : ndarray of shape (n_features_in_,), bool, or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Levels of each categorical feature, None for a numeric one; None if no feature is categorical. In prediction,
        other levels are missing values.

    References
    ----------
    .. [1] Y.-X. He, S.-H. Lyu and Y. Jiang, "Interpreting deep forest through feature contribution and MDI feature
       importance", TKDD 2024, sections 3.3 and 6.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cascadeforest import CascadeForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CascadeForestRegressor(random_state=0).fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    walk = ExplainableCascade.walk
    _presets = PRESETS

    def __init__(
        self,
        n_forests: int | None = None,
        n_estimators: int | None = None,
        *,
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
        categorical_features: CategoricalFeatures = "from_dtype",
        layers_dir: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_forests = n_forests
        self.n_estimators = n_estimators
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
        self.categorical_features = categorical_features
        self.layers_dir = layers_dir
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def _mean(vectors: np.ndarray) -> np.ndarray:
        one = vectors.shape[2] == 1
        return vectors.mean(axis=(1, 2) if one else 1, dtype=np.float64)

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CascadeForestRegressor:
        """Grow the cascade.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. Forests multiply bootstrap counts by them, and the score weights rows by them.

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
        X, y, rows, weights = self._training_data(X, y, sample_weight)
        members = self._members()
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self._refuse_members_of_one_target(members)
        scoring = Scoring(self.scoring, None)
        rules = self._layer_rules(None, self._chosen("vector_dtype"), Progress(self.verbose))
        rules = replace(rules, n_targets=self.n_outputs_)
        features = self._plain_features(members, self.n_outputs_)
        data = (rows, y[rows], weights_at(weights, rows))
        features.fit(X, *data)
        layers, best = self._grow_layers(members, features, *data, rules, scoring)
        self._remember(features, y, weights)
        self._keep_layers(features, layers, best, rules.progress)
        return self

    def _training_data(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
        """X, targets, rows of positive weight, and the weights of all rows (None if all weights are equal)."""
        X, y = self._training_X_y(X, y, numeric=True)
        y = np.asarray(y, np.float64)
        weights = checked_weights(sample_weight, len(y))
        return X, y, rows_with_weight(weights, len(y)), weights

    def _refuse_members_of_one_target(self, members: Sequence[BaseEstimator]) -> None:
        if self.n_outputs_ > 1 and (narrow := [m for m in members if not get_tags(m).target_tags.multi_output]):
            raise ValueError(
                f"estimators has {narrow[0]!r}, which takes one target, but y has {self.n_outputs_}; give it inside of "
                "sklearn.multioutput.MultiOutputRegressor, or leave it out."
            )

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict targets after layer 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Mean over the layer's forests. There are `n_layers_` arrays; the last one equals `predict`.
        """
        for reached in CascadeWalk(self, self.n_jobs).layers(X):
            yield one_column(reached.prediction)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict targets: the mean over the forests of the last layer.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets.
        """
        return deque(self.staged_predict(X), maxlen=1).pop()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
