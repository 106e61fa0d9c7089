"""Deep forest for regression: every layer sees the features and the targets that the layer before predicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from cascadeforest.cascade._base import Cascade, checked_weights, rows_with_weight, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.layer import fit_layer
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.forest._compiling import ensure_compiled
from cascadeforest.forest._parameters import check_choice


class CascadeForestRegressor(ExplainableCascade, RegressorMixin, Cascade):
    """Deep forest for regression, as in the interpretation paper: gcForest whose forests predict the target.

    Layer t + 1 sees the features and one predicted target for each forest of layer t. A training row's comes from the
    fold models that did not learn from the row.

    Parameters
    ----------
    n_forests : int, default=4
        Forests a layer, all kinds together.
    n_estimators : int, default=50
        Trees a forest; with k folds each forest has k times as many.
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"} or estimators, default=None
        Kinds of forests, taken in turn: forest i is of kind ``i % len(estimators)``. Any scikit-learn regressor can
        stand among them. None: random forests and completely random ones; in preset "official" Extra-Trees instead of
        these.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that a node of a random forest (or of Extra-Trees) looks at.
    scoring : str, callable or None, default=None
        Scorer of scikit-learn for the out-of-fold predictions; None: minus the root mean squared error.
    patience : int or None, default=None
        Layers in a row that are not better than the best one until growing stops. None: 3, as in the released
        examples.
    vector_dtype : {"float64", "float32", "float16"} or None, default=None
        Precision of a forest's predictions; None: "float16" in preset "official", else "float64".
    preset : {"paper", "official"}, default="paper"
        Whose choice stands for parameters that are None: the paper's text or the released code.
    n_folds, class_vectors, max_layers, keep, tol, max_depth, min_samples_leaf, n_jobs, random_state, verbose
        As in `GCForestClassifier`.

    Attributes
    ----------
    n_layers_ : int
        Layers that were kept.
    layers_ : list of Layer
        Those.
    validation_scores_ : ndarray of shape (n_grown_layers,)
        Score of the out-of-fold predictions of each layer that was grown, dropped ones included; greater is better.
    features_ : PlainFeatures
        Bins of the features.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importances of the features, see there.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

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

    def __init__(
        self,
        n_forests: Any = 4,
        n_estimators: Any = 50,
        *,
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
        n_jobs: Any = None,
        random_state: Any = None,
        verbose: Any = 0,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CascadeForestRegressor:
        """Grow the cascade.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative; in forests they multiply the counts of the bootstrap, in the score they weight rows.

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
        X, y = self._training_X_y(X, y, numeric=True)
        y = np.asarray(y, np.float64)
        weights = checked_weights(sample_weight, len(y))
        rows = rows_with_weight(weights, len(y))
        members = self._members()
        scoring = Scoring(self.scoring, None)
        progress = Progress(self.verbose)
        vector_dtype = {"paper": "float64", "official": "float16"}[self.preset]
        rules = self._layer_rules(None, self.vector_dtype or vector_dtype, progress)
        ensure_compiled()
        features = self._plain_features(members, 1)
        features.fit(X, rows, y[rows], weights_at(weights, rows))
        of_all = (y, weights)
        y, weights = y[rows], weights_at(weights, rows)

        layers, best, added_mapper = [], BestLayer(3 if self.patience is None else self.patience, self.tol), None
        for level in range(self.max_layers):
            seen = features.at(level, rows, y, weights)
            if level:
                added_mapper = seen.fit_added(vectors[:, :, 0], rows, self.n_jobs)  # noqa: F821
            with progress.layer(level, rules.n_models(len(members), len(rows))):
                layer, vectors = fit_layer(members, seen, rows, y, weights, rules, level, added_mapper)
            layers.append(layer)
            score = scoring(y, vectors.mean(axis=(1, 2), dtype=np.float64), weights)
            best.is_better(score)
            progress.say("layer %d: out-of-fold score %.6g, %d trees", level + 1, score, layer.n_trees)
            if best.is_over:
                break

        self.n_layers_ = best.n_kept(self.keep)
        self._remember(features, *of_all)
        features.finish(self.n_layers_)
        self.features_ = features
        self.layers_ = layers[: self.n_layers_]
        self.validation_scores_ = np.array(best.scores)
        progress.say("kept %d of %d layers", self.n_layers_, len(layers))
        return self

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,)
            The mean over the layer's forests, `n_layers_` times; the last one is `predict`.
        """
        X = self._checked_X(X)
        reader = self.features_.reader(X, self.n_jobs)
        rows = np.arange(X.shape[0], dtype=np.int32)
        for level, layer in enumerate(self.layers_):
            seen = reader(level, rows)
            if level:
                seen.add(vectors[:, :, 0], rows, layer.added_mapper, self.n_jobs)  # noqa: F821
            vectors = layer.transform(seen, rows, self.n_jobs)
            yield vectors.mean(axis=(1, 2), dtype=np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """Mean over the forests of the last layer.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of the target.
        """
        return deque(self.staged_predict(X), maxlen=1).pop()
