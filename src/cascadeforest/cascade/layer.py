"""One layer of a cascade: several forests, each of which predicts a vector for every row.

The vector of a training row (class probabilities, or predicted targets) comes from models that did not learn from
the row: with k folds, from the model of the fold in which the row was held out; with out-of-bag vectors, from the trees
that did not draw the row. A new row gets the mean of the k fold models (gcForest and its successors never refit), or
the prediction of one model that learned from all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.on_disk import LayersFolder, StoredForest
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Representation
from cascadeforest.cascade.workers import has_own_memory, on_workers
from cascadeforest.forest._base import Forest
from cascadeforest.forest._parameters import check_count, check_flag
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.growth import GrownForest, grow_forest, tree_seeds
from cascadeforest.forest.learned_rows import KeepsRows
from cascadeforest.forest.seeds import seed_at, whole_seed_at
from cascadeforest.forest.trees import Trees

#: How a layer predicts vectors: k fold models; fold models for training rows and one refitted model for new rows; one
#: model, whose out-of-bag trees predict training rows.
CLASS_VECTORS = ("k_fold", "k_fold_refit", "oob")
#: Purposes of random numbers in a layer: part of the seed address (`seed_at`).
_FOLDS, _MODEL = 0, 1
#: Seed address of the model that learned from all rows. Fold models have their fold's number.
_ALL_ROWS = 2**16
#: Seed address of folds that all forests share. Other folds have the layer's number.
_SHARED = (2**19, 0)
_GONE = "The models that did not learn from a row are gone; choose class_vectors='k_fold'."
#: Number of rows and features for checks of parameters before the data are known.
_SOME = 2**20


@dataclass(frozen=True)
class LayerRules:
    """Settings that all layers of a cascade share.

    Parameters
    ----------
    classes : ndarray or None
        Labels of the classes, which estimators of other packages see; None for regression.
    n_folds : int
        Folds; fewer rows than folds make fewer folds.
    class_vectors : {"k_fold", "k_fold_refit", "oob"}
        Which models predict vectors (see `CLASS_VECTORS`).
    vector_dtype : {"float64", "float32", "float16"}
        Precision to which vectors are rounded. Class vectors are stored as float32, predicted targets as float64.
    entropy : int
        Seed of the cascade.
    n_jobs : int or None
        Threads.
    progress : Progress
        Counts the fitted models.
    shared_folds : bool
        Whether all layers and forests hold out the same rows.
    n_targets : int
        Targets of a row in regression.
    folder : LayersFolder or None
        Where fitted forests of this package are kept; None: in memory.
    """

    classes: np.ndarray | None
    n_folds: int
    class_vectors: str
    vector_dtype: str
    entropy: int
    n_jobs: int | None
    progress: Progress
    shared_folds: bool = False
    n_targets: int = 1
    folder: LayersFolder | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Length of a forest's vector."""
        return self.n_classes or self.n_targets

    def n_models(self, n_forests: int, n_rows: int) -> int:
        """Number of models that a layer with `n_forests` forests and `n_rows` rows fits."""
        if self.class_vectors == "oob":
            return n_forests
        return n_forests * (min(self.n_folds, n_rows) + (self.class_vectors == "k_fold_refit"))

    def fold_draw(self, level: int) -> FoldDraw | None:
        """Folds of a layer's forests; None with out-of-bag vectors."""
        if self.class_vectors == "oob":
            return None
        return FoldDraw(self.n_folds, self.entropy, None if self.shared_folds else level, self.n_classes > 0)

    @property
    def stored_dtype(self) -> type:
        """Type of a layer's vectors."""
        return np.float32 if self.n_classes else np.float64


@dataclass(frozen=True)
class FoldDraw:
    """Draws the folds of a layer's forests when they are needed, so that layers do not store row numbers.

    Parameters
    ----------
    n_folds : int
        Folds; fewer rows than folds make fewer folds.
    entropy : int
        Seed of the cascade.
    level : int or None
        Number of the layer; None: all layers and forests hold out the same rows.
    stratified : bool
        Whether folds are stratified by class.
    """

    n_folds: int
    entropy: int
    level: int | None
    stratified: bool

    def of(self, y: np.ndarray, forest: int) -> np.ndarray:
        """Fold in which each training row is held out.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Class numbers, or targets, of the layer's training rows.
        forest : int
            Number of the forest in the layer.

        Returns
        -------
        ndarray of shape (n,), int
        """
        address = _SHARED if self.level is None else (self.level, forest)
        strata = y if self.stratified else np.zeros(len(y), np.int64)
        return stratified_folds(strata, self.n_folds, seed_at(self.entropy, *address, _FOLDS))


@dataclass(frozen=True)
class FoldForest:
    """A forest of this package without its training rows; `seeds` can draw its bootstraps again."""

    trees: Trees
    offset: float | np.ndarray
    scale: float
    seeds: np.ndarray = field(repr=False)
    n_draws: int

    @classmethod
    def of(cls, grown: GrownForest) -> FoldForest:
        """Convert a grown forest, dropping its training rows."""
        return cls(grown.trees, grown.offset, grown.scale, grown.seeds, grown.n_draws)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.trees.n_trees

    @property
    def nbytes(self) -> int:
        """Memory of the trees: 8 bytes per node, 4 bytes per number in a leaf that is not pure."""
        return self.trees.nodes.nbytes + self.trees.values.nbytes

    def predict(self, representation: Representation, rows: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Vectors of `rows`, shape (n, n_outputs)."""
        values = self.trees.predict(representation.binned, rows, n_jobs=n_jobs)
        return values if self.trees.n_classes else self.offset + self.scale * values


@dataclass(frozen=True)
class FoldEstimator:
    """An estimator of another package; the columns of its probabilities are put into the order of all classes."""

    estimator: BaseEstimator
    classes: np.ndarray | None

    def predict(self, representation: Representation, rows: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Vectors of `rows`, shape (n, n_outputs)."""
        X = representation.values(rows)
        if self.classes is None:
            return np.array(self.estimator.predict(X), np.float64).reshape(len(rows), -1)  # a copy: it will be added to
        vectors = np.zeros((len(rows), len(self.classes)))
        vectors[:, np.searchsorted(self.classes, self.estimator.classes_)] = self.estimator.predict_proba(X)
        return vectors


@dataclass(frozen=True)
class OneClass:
    """Constant model, for training rows of a single class: many estimators raise an error for such data."""

    label: int
    n_classes: int

    def predict(self, representation: Representation, rows: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Vectors of `rows`, shape (n, n_classes)."""
        vectors = np.zeros((len(rows), self.n_classes))
        vectors[:, self.label] = 1.0
        return vectors


#: A fitted model in a layer.
FoldModel = FoldForest | StoredForest | FoldEstimator | OneClass


@dataclass(frozen=True)
class Layer:
    """A fitted layer.

    Parameters
    ----------
    forests : list of list
        For each forest, its fold models (their mean is the vector of a new row), or a single model.
    added_mapper : BinMapper or None
        Bins of the columns that were added to the features; None if there were none.
    vector_dtype : str
        See `LayerRules`.
    n_classes : int
        Number of classes; 0 for regression.
    folds : FoldDraw or None
        Folds in which training rows were held out; None with out-of-bag vectors.
    n_targets : int
        Targets of a row in regression.
    """

    forests: list[list[FoldModel]]
    added_mapper: BinMapper | None
    vector_dtype: str
    n_classes: int
    folds: FoldDraw | None
    n_targets: int = 1

    @property
    def n_outputs(self) -> int:
        """Length of a forest's vector."""
        return self.n_classes or self.n_targets

    def transform(self, representation: Representation, rows: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Predict vectors of rows that the layer did not learn from.

        Parameters
        ----------
        representation : Representation
            Features and the columns that the layer before added.
        rows : ndarray of shape (n,), int
            Rows of `representation`.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        ndarray of shape (n, n_forests, n_outputs)
            float32; float64 in regression.
        """
        dtype = np.float32 if self.n_classes else np.float64
        vectors = np.empty((len(rows), len(self.forests), self.n_outputs), dtype)
        for k, models in enumerate(self.forests):
            total = models[0].predict(representation, rows, n_jobs)
            for model in models[1:]:
                total += model.predict(representation, rows, n_jobs)
            vectors[:, k] = _rounded(total / len(models), self.vector_dtype)
        return vectors

    def transform_held_out(
        self, representation: Representation, rows: np.ndarray, y: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """Predict held-out vectors of the training rows, as `fit_layer` returned them.

        Parameters
        ----------
        representation : Representation
            Features and the held-out columns that the layer before added.
        rows : ndarray of shape (n,), int
            The layer's training rows, ascending.
        y : ndarray of shape (n,)
            Class numbers, or targets, of `rows`.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        ndarray of shape (n, n_forests, n_outputs)
            float32; float64 in regression.

        Raises
        ------
        ValueError
            If the fold models were not kept: class vectors are out-of-bag, or one model of all rows replaced them.
        """
        vectors = np.empty((len(rows), len(self.forests), self.n_outputs), np.float32 if self.n_classes else np.float64)
        for k, models in enumerate(self.forests):
            fold = self.fold_of(y, k)
            if len(models) != fold.max() + 1:
                raise ValueError(_GONE)
            for i, model in enumerate(models):
                held_out = fold == i
                own = model.predict(representation, rows[held_out], n_jobs)
                vectors[held_out, k] = _rounded(own, self.vector_dtype)
        return vectors

    def see(self, vectors: np.ndarray, representation: Representation, rows: np.ndarray, n_jobs: int | None) -> None:
        """Add the vectors of the layer before to the features, in the bins that this layer learned with."""
        assert self.added_mapper is not None, "the first layer sees features only"
        representation.add(vectors.reshape(len(rows), -1), rows, self.added_mapper, n_jobs)

    def fold_of(self, y: np.ndarray, forest: int) -> np.ndarray:
        """Fold of a forest in which each training row was held out; a ValueError with out-of-bag vectors."""
        if self.folds is None:
            raise ValueError(_GONE)
        return self.folds.of(y, forest)

    @property
    def our_forests(self) -> list[list[FoldForest]]:
        """For each forest, its fold models of this package; an empty list for other estimators."""
        return [
            [model.opened() if isinstance(model, StoredForest) else model for model in models if is_ours(model)]
            for models in self.forests
        ]

    @property
    def n_trees(self) -> int:
        """Number of trees in forests of this package, all folds together."""
        return sum(model.n_trees for models in self.forests for model in models if is_ours(model))

    @property
    def nbytes(self) -> int:
        """Memory of trees of this package, or their size on disk with `layers_dir`: see `FoldForest.nbytes`."""
        return sum(model.nbytes for models in self.forests for model in models if is_ours(model))


def is_ours(model: FoldModel) -> TypeGuard[FoldForest | StoredForest]:
    """Whether a fitted model is a forest of this package."""
    return isinstance(model, FoldForest | StoredForest)


def fit_layer(
    members: Sequence[Any],
    representation: Representation,
    rows: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    rules: LayerRules,
    level: int,
    added_mapper: BinMapper | None,
) -> tuple[Layer, np.ndarray]:
    """Fit a layer.

    Parameters
    ----------
    members : sequence of estimators
        Unfitted forests of this package, or any classifiers with ``predict_proba`` (in regression, any regressors).
    representation : Representation
        Columns that the layer sees.
    rows : ndarray of shape (n,), int
        Rows of `representation` to learn from, ascending.
    y : ndarray of shape (n,) or (n, n_targets)
        Class numbers, or targets, of these rows.
    weights : ndarray of shape (n,) or None
        Weights of these rows, positive.
    rules : LayerRules
        Settings that all layers share.
    level : int
        Number of the layer, part of its seed address.
    added_mapper : BinMapper or None
        Bins of the columns added to the features; stored for rows to predict.

    Returns
    -------
    Layer
    vectors : ndarray of shape (n, n_forests, n_outputs)
        Vectors of the training rows, from models that did not learn from them. float32; float64 in regression.
    """
    vectors: np.ndarray = np.empty((len(rows), len(members), rules.n_outputs), rules.stored_dtype)
    fits = [_Fit(member, representation, rows, y, weights, rules, (level, k)) for k, member in enumerate(members)]
    work = [(fit, part) for fit in fits for part in fit.parts]
    fitted: dict[tuple[int, int], FoldModel] = {}
    for number, (model, own) in _elsewhere(work) if has_own_memory() else _here(work):
        fit, part = work[number]
        k = fit.address[1]
        if own is not None:
            vectors[fit.predicted(part), k] = _rounded(own, rules.vector_dtype)
        if model is not None:
            fitted[k, part] = rules.folder.keep(model) if rules.folder and isinstance(model, FoldForest) else model
        del model, own  # before the next one is fitted
        rules.progress.advance()
    forests = [[fitted[k, part] for part in fit.parts if (k, part) in fitted] for k, fit in enumerate(fits)]
    folds = rules.fold_draw(level)
    return Layer(forests, added_mapper, rules.vector_dtype, rules.n_classes, folds, rules.n_targets), vectors


def fit_forest(
    member: Forest,
    representation: Representation,
    y: np.ndarray,
    weights: np.ndarray | None,
    rules: LayerRules,
    level: int,
    fold: int | None = None,
) -> tuple[FoldForest, np.ndarray | None]:
    """Fit the only forest of a layer to all rows of a representation.

    Parameters
    ----------
    member : Forest
        Unfitted forest.
    representation, y, weights, rules, level
        As in `fit_layer`.
    fold : int, optional
        Number of the fold that the rows lack; by default they are all rows.

    Returns
    -------
    FoldForest
    vectors : ndarray of shape (n, n_outputs) or None
        Out-of-bag vectors, if these are the class vectors of `rules`.
    """
    rows = np.arange(len(y), dtype=np.int32)
    if rules.class_vectors == "oob":
        layer, vectors = fit_layer([member], representation, rows, y, weights, rules, level, None)
        return layer.our_forests[0][0], vectors[:, 0]
    fit = _Fit(member, representation, rows, y, weights, rules, (level, 0))
    grown = fit.grow(rows, _ALL_ROWS if fold is None else fold)
    rules.progress.advance()
    return FoldForest.of(grown), None


#: A fitted model, None if new rows do not need it, and vectors of rows that it did not learn from, None if all did.
_Fitted = tuple[FoldModel | None, np.ndarray | None]


@dataclass(frozen=True)
class _Fit:
    """Fits one forest of a layer, in parts: a model of each fold, a model of all rows (`_ALL_ROWS`), or both."""

    member: BaseEstimator
    representation: Representation
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    rules: LayerRules
    address: tuple[int, int]

    @property
    def parts(self) -> list[int]:
        """Numbers of the parts."""
        kind = self.rules.class_vectors
        folds = [] if kind == "oob" else list(range(min(self.rules.n_folds, len(self.rows))))
        return folds if kind == "k_fold" else [*folds, _ALL_ROWS]

    def fit(self, part: int) -> _Fitted:
        """Fit the model of a part."""
        kind = self.rules.class_vectors
        if kind == "oob":
            return self._out_of_bag()
        if part == _ALL_ROWS:
            return self._model(np.arange(len(self.rows)), part), None
        held_out = self.predicted(part)
        model = self._model(np.flatnonzero(~held_out), part)
        own = model.predict(self.representation, self.rows[held_out], self.rules.n_jobs)
        return (model if kind == "k_fold" else None), own

    def predicted(self, part: int) -> np.ndarray:
        """Which rows get their vectors from a part; shape (n,), bool."""
        return np.ones(len(self.rows), bool) if part == _ALL_ROWS else self._fold == part

    @cached_property
    def _fold(self) -> np.ndarray:
        """Fold in which each row is held out."""
        level, k = self.address
        draw = self.rules.fold_draw(level)
        assert draw is not None, "with out-of-bag vectors there are no folds"
        return draw.of(self.y, k)

    def _out_of_bag(self) -> _Fitted:
        """Fit one model of all rows; return it and the out-of-bag vectors."""
        grown = self.grow(np.arange(len(self.rows)), _ALL_ROWS, bootstrap=True)
        vectors = grown.oob_prediction(self.representation.binned, self.rows, self.rules.n_jobs)
        # In small forests every tree may have drawn a row: predict it without features.
        vectors[np.isnan(vectors[:, 0])] = self._without_features()
        return FoldForest.of(grown), vectors

    def _without_features(self) -> np.ndarray:
        """Weighted shares of the classes, or the weighted mean of each target."""
        if self.rules.n_classes:
            shares = np.bincount(self.y, self.weights, self.rules.n_classes)
            return shares / shares.sum()
        return np.atleast_1d(np.average(self.y, axis=0, weights=self.weights))

    def _model(self, chosen: np.ndarray, part: int) -> FoldModel:
        """Fit a model to the rows at positions `chosen`."""
        if grows_on_bins(self.member):
            return FoldForest.of(self.grow(chosen, part))
        return self._foreign(chosen, part)

    def grow(self, chosen: np.ndarray, fold: int, bootstrap: bool | None = None) -> GrownForest:
        """Grow a forest of this package on the binned matrix that all forests share."""
        member, binned = self.member, self.representation.binned
        bootstrap = member.bootstrap if bootstrap is None else bootstrap
        return grow_forest(
            binned,
            self.y[chosen],
            n_classes=self.rules.n_classes,
            rules=member.growth_rules(len(chosen), self.representation.n_features),
            seeds=tree_seeds(seed_at(self.rules.entropy, *self.address, _MODEL, fold), member.n_estimators),
            rows=self.rows[chosen],
            weights=None if self.weights is None else self.weights[chosen],
            bootstrap=bootstrap,
            max_samples=_draws(member, len(chosen)) if bootstrap else None,
            n_jobs=self.rules.n_jobs,
        )

    def _foreign(self, chosen: np.ndarray, fold: int) -> FoldEstimator | OneClass:
        y = self.y[chosen]
        if self.rules.n_classes and (y == y[0]).all():
            return OneClass(int(y[0]), self.rules.n_classes)
        estimator = clone(self.member)
        seed = whole_seed_at(self.rules.entropy, *self.address, _MODEL, fold)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        estimator.set_params(**dict.fromkeys(names, seed))
        weights = {}
        if self.weights is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise ValueError(
                    f"estimators has {self.member}, whose fit takes no sample_weight; leave it out, or fit without "
                    "sample_weight and class_weight."
                )
            weights = {"sample_weight": self.weights[chosen]}
        labels = y if self.rules.classes is None else self.rules.classes[y]
        estimator.fit(self.representation.values(self.rows[chosen]), labels, **weights)
        if isinstance(estimator, KeepsRows):
            estimator.forget_training_rows()  # single forests of a layer are not explained
        return FoldEstimator(estimator, self.rules.classes)


def _here(work: list[tuple[_Fit, int]]) -> Iterator[tuple[int, _Fitted]]:
    """Fit one part after the other, each in `n_jobs` threads; yield the number of each part, and what was fitted."""
    for number, (fit, part) in enumerate(work):
        yield number, fit.fit(part)


def _elsewhere(work: list[tuple[_Fit, int]]) -> Iterator[tuple[int, _Fitted]]:
    """Fit the parts of a layer on the workers of the active joblib backend, each in one thread; yields as `_here`."""
    one = work[0][0]
    rules = replace(one.rules, n_jobs=1, progress=Progress(), folder=None)
    given, others = one.representation.taken_apart()
    tasks = [(fit.member, fit.address, part) for fit, part in work]
    return on_workers(_fit_there, given, (*others, one.rows, one.y, one.weights, rules), tasks, one.rules.n_jobs)


def _fit_there(
    given: np.ndarray,
    added: np.ndarray,
    centers: np.ndarray,
    X: Any,
    added_values: np.ndarray | None,
    categorical: np.ndarray | None,
    rows: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    rules: LayerRules,
    member: BaseEstimator,
    address: tuple[int, int],
    part: int,
) -> _Fitted:
    """Fit a part in another process: `given` and what follows are from `Representation.taken_apart`."""
    representation = Representation.put_together(given, added, centers, X, added_values, categorical)
    return _Fit(member, representation, rows, y, weights, rules, address).fit(part)


def grows_on_bins(member: BaseEstimator) -> bool:
    """Whether a member of a layer is a forest of this package that can grow on the layer's bins.

    A subclass counts as another estimator unless it defines `walk`, since it may override ``fit`` or ``predict_proba``.
    """
    plain = (
        isinstance(member, Forest) and "walk" in vars(type(member)) and getattr(member, "class_weight", None) is None
    )
    return plain and getattr(member, "feature_weights", None) is None and not member.oob_score


def _draws(member: BaseEstimator, n_rows: int) -> int | None:
    """Number of rows that each bootstrap draws; an integer `max_samples` is bounded by the number of rows."""
    if isinstance(member.max_samples, Integral):
        return min(int(member.max_samples), n_rows)
    return None if member.max_samples is None else member.draws_of_bootstrap(n_rows)


def mean_vector(vectors: np.ndarray) -> np.ndarray:
    """Mean class vector over forests, normalised in double precision, since scorers check that the sum is 1.

    Parameters
    ----------
    vectors : ndarray of shape (n, n_forests, n_classes), float32
        Class vectors of a layer.

    Returns
    -------
    ndarray of shape (n, n_classes), float64
    """
    mean = vectors.mean(axis=1, dtype=np.float64)
    return mean / mean.sum(axis=1, keepdims=True)


def check_member(member: BaseEstimator, *, classification: bool, class_vectors: str) -> None:
    """Check that an estimator can be a forest of a layer.

    Raises
    ------
    ValueError
        If the estimator is not a classifier with ``predict_proba`` (in regression, not a regressor), cannot give
        out-of-bag vectors, or is a forest of this package with an invalid parameter.
    """
    if isinstance(member, type) or not hasattr(member, "fit") or not hasattr(member, "get_params"):
        raise ValueError(f"estimators has {member!r}; give names of forests or unfitted scikit-learn estimators.")
    if classification and not (is_classifier(member) and hasattr(member, "predict_proba")):
        raise ValueError(f"estimators has {member!r}; a layer needs classifiers with predict_proba.")
    if not classification and (is_classifier(member) or not hasattr(member, "predict")):
        raise ValueError(f"estimators has {member!r}; a layer of a regression cascade needs regressors.")
    if getattr(member, "feature_weights", None) is not None:
        raise ValueError(
            f"estimators has {member!r}, whose feature_weights are for a fixed number of features, but layers add "
            "columns; leave feature_weights out."
        )
    if isinstance(member, Forest):
        given = member.categorical_features
        if given is not None and not (isinstance(given, str) and given == "from_dtype"):
            raise ValueError(f"estimators has {member!r}; give categorical_features to the cascade instead.")
        check_count("n_estimators", member.n_estimators)
        check_flag("bootstrap", member.bootstrap)
        member.growth_rules(_SOME, _SOME)
        if member.max_samples is not None and not isinstance(member.max_samples, Integral):
            member.draws_of_bootstrap(_SOME)
    if class_vectors == "oob" and not grows_on_bins(member):
        raise ValueError(
            f"class_vectors is 'oob' and estimators has {member!r}, whose out-of-bag rows are not known; choose "
            "class_vectors='k_fold'."
        )


def _rounded(vectors: np.ndarray, dtype: str) -> np.ndarray:
    """Round vectors to the precision of `dtype`; an error if they are not finite."""
    if np.isnan(vectors).any():
        raise ValueError("estimators has one that predicts NaN; a layer needs finite numbers: replace or mend it.")
    with np.errstate(over="ignore"):
        rounded = vectors.astype(dtype)
    if not np.isfinite(rounded).all():
        most = np.abs(vectors).max()
        raise ValueError(f"vector_dtype is {dtype!r}, but predictions reach {most:g}; choose 'float64', or rescale y.")
    return rounded
