"""gcForest: every layer sees the features and the class vectors of the layer before (Zhou and Feng 2017, 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cascadeforest.cascade._base import CascadeClassifier, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.layer import fit_layer, mean_vector
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.stopping import KEEPS, BestLayer, Scoring
from cascadeforest.forest._compiling import ensure_compiled
from cascadeforest.forest._parameters import check_choice


class GCForestClassifier(ExplainableCascade, CascadeClassifier):
    """gcForest: a cascade of layers of forests, grown as long as out-of-fold predictions become better.

    Layer t + 1 sees the features and the class vectors of layer t. Half of the forests of a layer are random forests,
    half are completely random ones. A class vector of a training row comes from the fold models that did not learn
    from the row.

    Parameters
    ----------
    n_forests : int, default=8
        Forests a layer, all kinds together.
    n_estimators : int, default=500
        Trees a forest; with k folds each forest has k times as many.
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"} or estimators, default=None
        Kinds of forests, taken in turn: forest i is of kind ``i % len(estimators)``. Any scikit-learn classifier with
        ``predict_proba`` can stand among them; it sees numbers where ours see bins, and a random_state for each fold.
        None: random and completely random forests.
    n_folds : int, default=3
        Folds of each forest; every forest and layer draws its own. Fewer rows make fewer folds.
    class_vectors : {"k_fold", "k_fold_refit", "oob"}, default="k_fold"
        Where class vectors come from. "k_fold": new rows get the mean of the fold models. "k_fold_refit": a model of
        all rows, grown beside them. "oob": one forest with bootstrap, whose out-of-bag trees speak for training rows:
        a third of the work with three folds. Rows that share all features (few columns, few values) can give their
        label away in "oob": a row's vector is made of the others', its own missing, and the next layer reads that.
    max_layers : int, default=20
        Greatest number of layers.
    patience : int or None, default=None
        Layers in a row that are not better than the best one until growing stops; at least `max_layers` turns early
        stopping off. None: 1 in preset "paper", 4 in preset "official".
    keep : {"best", "last"}, default="best"
        Which layer the cascade ends with: the first of the best ones, also if `max_layers` is reached, or the last
        that was grown. Later ones are dropped.
    tol : float, default=0.0
        By how much a layer's score must exceed the best one.
    scoring : str, callable or None, default=None
        Scorer of scikit-learn for the out-of-fold predictions of the training rows; None: accuracy.
    preset : {"paper", "official"}, default="paper"
        Whose choice stands for parameters that are None: the paper's text or the released code (v1.0).
    max_depth : int or None, default=None
        Greatest depth of a tree.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that a node of a random forest (or of Extra-Trees) looks at.
    vector_dtype : {"float32", "float16"} or None, default=None
        Precision of class vectors between layers; None: "float32".
    scanning : MultiGrainedScanner, dict or None, default=None
        Multi-grained scanning of sequences or images: an unfitted scanner, or its parameters. The layers then see the
        class vectors of windows in place of the features, one window size after the other in turn; with ``subsample``
        each layer scans other positions with new forests, and sees those of the recent three layers.
    input_shape : tuple of int or None, default=None
        Shape of a row for scanning (see `MultiGrainedScanner`), unless the scanner has one.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes.
    n_jobs : int or None, default=None
        Threads; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1: a line a layer, through `logging`; 2: a progress bar too (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    n_layers_ : int
        Layers that were kept.
    layers_ : list of Layer
        Those.
    validation_scores_ : ndarray of shape (n_grown_layers,)
        Score of the out-of-fold predictions of each layer that was grown, dropped ones included.
    features_ : PlainFeatures, FixedGrains or FreshGrains
        What the layers see of X: bins, or class vectors of windows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importances of the features (not with scanning), see there.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Memory while growing: X as bytes, ``n_forests * n_classes`` more bytes a row for class vectors, and 8 bytes a node
    (a fully grown tree has about two nodes for each row whose class its neighbours do not share). Only the layers up
    to the best one stay: ``sum(layer.nbytes for layer in model.layers_)``.

    Deviations from the released code: features are binned (`BinMapper`); folds and trees are drawn from addresses
    below `random_state`, which the released code takes from Python's changing string hashes; accuracy alone stops
    the growth.

    References
    ----------
    .. [1] Z.-H. Zhou and J. Feng, "Deep forest: Towards an alternative to deep neural networks", IJCAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import GCForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GCForestClassifier(n_forests=2, n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 3)
    """

    def __init__(
        self,
        n_forests: Any = 8,
        n_estimators: Any = 500,
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
        scanning: Any = None,
        input_shape: Any = None,
        class_weight: Any = None,
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
        self.scanning = scanning
        self.input_shape = input_shape
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCForestClassifier:
        """Grow the cascade.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
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
        X, label, rows, weights = self._training_data(X, y, sample_weight)
        members = self._members()
        scoring = Scoring(self.scoring, self.classes_)
        patience = {"paper": 1, "official": 4}[self.preset] if self.patience is None else self.patience
        progress = Progress(self.verbose)
        rules = self._layer_rules(self.classes_, self.vector_dtype or "float32", progress)
        ensure_compiled()
        features = self._features(members, X.shape[1], rules)
        features.fit(X, rows, label[rows], weights_at(weights, rows))
        of_all = weights
        y, weights = label[rows], weights_at(weights, rows)

        layers, best, added_mapper = [], BestLayer(patience, self.tol), None
        for level in range(self.max_layers):
            seen = features.at(level, rows, y, weights)
            if level:
                added_mapper = seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)  # noqa: F821
            with progress.layer(level, rules.n_models(len(members), len(rows))):
                layer, vectors = fit_layer(members, seen, rows, y, weights, rules, level, added_mapper)
            layers.append(layer)
            score = scoring(y, mean_vector(vectors), weights)
            best.is_better(score)
            progress.say("layer %d: out-of-fold score %.5f, %d trees", level + 1, score, layer.n_trees)
            if best.is_over or (scoring.cannot_rise(score) and patience < self.max_layers):
                break

        self.n_layers_ = best.n_kept(self.keep)
        self._remember(features, label, of_all)
        features.finish(self.n_layers_)
        self.features_ = features
        self.layers_ = layers[: self.n_layers_]
        self.validation_scores_ = np.array(best.scores)
        progress.say("kept %d of %d layers", self.n_layers_, len(layers))
        return self

    def _kinds(self) -> tuple[str, ...]:
        return ("random_forest", "completely_random_forest")

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            The mean of the layer's class vectors, `n_layers_` times; the last one is `predict_proba`.
        """
        X = self._checked_X(X)
        reader = self.features_.reader(X, self.n_jobs)
        rows = np.arange(X.shape[0], dtype=np.int32)
        for level, layer in enumerate(self.layers_):
            seen = reader(level, rows)
            if level:
                seen.add(vectors.reshape(len(rows), -1), rows, layer.added_mapper, self.n_jobs)  # noqa: F821
            vectors = layer.transform(seen, rows, self.n_jobs)
            yield mean_vector(vectors)
