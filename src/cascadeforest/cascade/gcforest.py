"""gcForest: every layer sees the features and the class vectors of the layer before (Zhou and Feng 2017, 2019)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cascadeforest.cascade._base import CascadeClassifier, weights_at
from cascadeforest.cascade.explainable import ExplainableCascade
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.scanning import MultiGrainedScanner
from cascadeforest.cascade.stopping import KEEPS, Scoring
from cascadeforest.cascade.walks import CascadeWalk
from cascadeforest.forest._parameters import check_choice
from cascadeforest.forest._types import ClassWeight, MatrixLike, MaxFeatures, RandomState, Scorer
from cascadeforest.forest.categories import CategoricalFeatures

_PAPER: dict[str, Any] = {
    "n_forests": 8,
    "n_estimators": 500,
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
    "official": _PAPER | {"patience": 4},
}


class GCForestClassifier(ExplainableCascade, CascadeClassifier):
    """gcForest: a cascade of layers of forests, which grows as long as the out-of-fold score rises.

    Layer t + 1 sees the features and the class vectors of layer t. Half of the forests of a layer are random forests,
    half are completely random forests. The class vectors of a training row come from the fold models that did not
    learn from the row.

    Parameters
    ----------
    n_forests : int or None, default=None
        Number of forests in a layer, all kinds together. None: 8.
    n_estimators : int or None, default=None
        Number of trees in a forest; with k folds each forest has k times as many. None: 50; 500 in presets "paper" and
        "official".
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"} or estimators, default=None
        Kinds of forests, taken in turn: forest i is of kind ``i % len(estimators)``. Any scikit-learn classifier with
        ``predict_proba`` can take the place of a forest. It learns from the original values, our forests learn from
        bins. It gets another random_state in each fold. None: random and completely random forests.
    n_folds : int or None, default=None
        Number of folds of each forest. Each forest of each layer draws its folds. Fewer rows make fewer folds. None: 3.
    class_vectors : {"k_fold", "k_fold_refit", "oob"}, default="k_fold"
        Which models predict class vectors. "k_fold": for a training row, the model of the fold in which the row was
        held out; for a new row, all fold models (mean). "k_fold_refit": the same for a training row; for a new row, a
        model that learned from all rows. "oob": one forest with bootstrap, a third of the work of three folds; for a
        training row, the trees that did not draw it (mean). If several rows have the same values in all features,
        "oob" can reveal labels: the vector of a row depends on the labels of its duplicates but not on its own label,
        and the next layer can infer the label that is missing.
    max_layers : int or None, default=None
        Maximum number of layers. None: 20.
    patience : int or None, default=None
        Growing stops after this many consecutive layers that are not better than the best layer; a value of
        `max_layers` or more turns early stopping off. None: 1; 4 in preset "official". With scanning, all layers of a
        cycle of window sizes count as one layer here.
    keep : {"best", "last"}, default="best"
        The last layer of the fitted cascade: "best", the first layer with the best score, also if `max_layers` is
        reached; "last", the last layer that was grown. Later layers are dropped.
    tol : float, default=0.0
        A layer is better if its score exceeds the best score by more than this.
    scoring : str, callable or None, default=None
        Scorer of scikit-learn for the out-of-fold predictions of the training rows; None: accuracy.
    preset : {"paper", "official"} or None, default=None
        Source of the values of parameters that are None. None: the paper's algorithm with a tenth of its trees, chosen
        on twelve data sets (``docs/defaults.md``). "paper": the paper's text. "official": the released code (v1.0).
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features considered at a split of a random forest (or of Extra-Trees).
    vector_dtype : {"float32", "float16"} or None, default=None
        Precision of class vectors between layers; None: "float32".
    scanning : MultiGrainedScanner, dict or None, default=None
        Multi-grained scanning of sequences or images: an unfitted scanner, or its parameters. The layers then see the
        class vectors of windows instead of the features. Each layer sees one window size, in turn; after the last
        size comes the first again. With ``subsample`` each layer scans other positions with new forests, and sees the
        class vectors of windows from the most recent three layers.
    input_shape : tuple of int or None, default=None
        Shape of a row for scanning (see `MultiGrainedScanner`), unless the scanner has one.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None, default="from_dtype"
        Categorical features: a mask, column numbers, or names of columns. "from_dtype": the columns of a DataFrame that
        have a categorical type or strings. None: none.
    layers_dir : str or PathLike, default=None
        Folder on a local disk for the forests of layers, which then need the memory of one forest, in `fit` and in
        prediction; None: they are in memory. Each fit makes a folder of its own in it. Its files are deleted with the
        model, also at the end of the process: `save` keeps a model, and it and pickles hold the forests themselves.
        Estimators of other packages and the forests of scanning stay in memory.
    n_jobs : int or None, default=None
        Number of threads; None for one, -1 for all. The result does not depend on it. Under a joblib backend of other
        processes (``joblib.parallel_config(backend="dask")``), the forests of a layer are fitted there, in so many
        processes.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1: log a line after each layer; 2: also show a progress bar (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    n_layers_ : int
        Number of layers that were kept.
    layers_ : list of Layer
        The layers that were kept.
    validation_scores_ : ndarray of shape (n_grown_layers,)
        Score of the out-of-fold predictions of each layer that was grown, dropped ones included.
    features_ : PlainFeatures, FixedGrains or FreshGrains
        What the layers see of X: bins, or class vectors of windows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importances of the original features; not with scanning.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.
    is_categorical_ : ndarray of shape (n_features_in_,), bool, or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Levels of each categorical feature, None for a numeric one; None if no feature is categorical. In prediction,
        other levels are missing values.

    Notes
    -----
    Memory during `fit`: one byte per value of X, ``n_forests * n_classes`` bytes per row for class vectors, and 8 bytes
    per node (a fully grown tree has about two nodes for each row whose neighbours have another class). Layers after
    the best layer are freed. The kept layers need ``sum(layer.nbytes for layer in model.layers_)``; with `layers_dir`
    they need it on disk, and twice the size of the largest forest of one fold in memory.

    Deviations from the released code: features are binned (`BinMapper`); seeds of folds and trees are derived from
    `random_state`, whereas the released code derives them from Python's string hashes, which change between runs;
    accuracy alone stops the growth.

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

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GCForestClassifier:
        """Grow the cascade.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
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
        X, label, rows, weights = self._training_data(X, y, sample_weight)
        members = self._members()
        scoring = Scoring(self.scoring, self.classes_)
        rules = self._layer_rules(self.classes_, self._chosen("vector_dtype"), Progress(self.verbose))
        features = self._features(members, X.shape[1], rules)
        data = (rows, label[rows], weights_at(weights, rows))
        features.fit(X, *data)
        layers, best = self._grow_layers(members, features, *data, rules, scoring)
        self._remember(features, label, weights)
        self._keep_layers(features, layers, best, rules.progress)
        return self

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities after layer 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Mean of the layer's class vectors. There are `n_layers_` arrays; the last one equals `predict_proba`.
        """
        for reached in CascadeWalk(self, self.n_jobs).layers(X):
            yield reached.prediction
