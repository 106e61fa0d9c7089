"""Base classes of cascades: checks of parameters and data, the forests of a layer, growing and predicting."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cascadeforest.cascade.layer import (
    CLASS_VECTORS,
    Layer,
    LayerRules,
    check_member,
    fit_layer,
    grows_on_bins,
    mean_vector,
)
from cascadeforest.cascade.on_disk import LayersFolder, check_layers_dir
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import PlainFeatures
from cascadeforest.cascade.scanning import FixedGrains, FreshGrains, MultiGrainedScanner, checked_shape
from cascadeforest.cascade.stopping import BestLayer, Scoring
from cascadeforest.forest._base import X_DTYPES, ProbabilisticClassifier, balanced_factors, checks_of_targets
from cascadeforest.forest._parameters import (
    check_choice,
    check_count,
    check_jobs,
    check_number,
    entropy_of,
    row_weights,
)
from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.categories import TakesCategories
from cascadeforest.forest.estimators import FORESTS

#: What the layers of a cascade see of X.
Features = PlainFeatures | FixedGrains | FreshGrains


class Cascade(TakesCategories):
    """Base class of all cascades: checks of parameters, growing and predicting layer by layer."""

    layers_: list[Any]
    #: In cascades without this parameter, and in models that were kept before it was made.
    layers_dir: str | os.PathLike[str] | None = None
    _sparse_formats: tuple[str, ...] = ("csr", "csc")
    #: Values of parameters that are None, by preset; without a preset, the sizes of docs/defaults.md.
    _presets: Mapping[str | None, Mapping[str, Any]]

    def _chosen(self, name: str) -> Any:
        """Value of a parameter; the preset's value if the parameter is None."""
        value = getattr(self, name)
        return self._presets[self.preset][name] if value is None else value

    def _chosen_patience(self) -> int:
        """Value of `patience`; a preset without one grows all layers."""
        patience = self._chosen("patience")
        return self._chosen("max_layers") if patience is None else patience

    def _check_preset(self) -> None:
        check_choice("preset", self.preset, [name for name in self._presets if name is not None], optional=True)

    def _check_shared(self) -> None:
        """Parameters that every cascade has."""
        self._check_preset()
        for name in ("n_forests", "n_estimators", "max_layers", "patience"):
            check_count(name, getattr(self, name), optional=True)
        check_count("n_folds", self.n_folds, 2, optional=True)
        check_number("tol", self.tol)
        check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        check_choice("class_vectors", self.class_vectors, CLASS_VECTORS)
        # Class vectors pass to the next layer in single precision.
        double = () if isinstance(self, ClassifierMixin) else ("float64",)
        check_choice("vector_dtype", self.vector_dtype, (*double, "float32", "float16"), optional=True)
        check_layers_dir(self.layers_dir)
        check_jobs(self.n_jobs)

    def _kinds(self) -> Sequence[str | BaseEstimator]:
        """Kinds of forests, taken in turn."""
        return self._chosen("estimators")

    def _members(self) -> list[BaseEstimator]:
        """The unfitted forests of a layer: `n_forests` forests, of the kinds in `estimators` in turn."""
        classification = isinstance(self, ClassifierMixin)
        kinds, n_forests = self._kinds(), self._chosen("n_forests")
        if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not len(kinds):
            raise ValueError(f"estimators is {kinds!r}; give a list of names of forests or of estimators, or None.")
        if self.estimators is not None and len(kinds) > n_forests:
            raise ValueError(
                f"estimators has {len(kinds)} entries, but n_forests is {n_forests}, so that some would not be "
                "used; raise n_forests."
            )
        members = []
        for k in range(n_forests):
            member = kinds[k % len(kinds)]
            if isinstance(member, str):
                member = self._forest(member, classification=classification)
            check_member(member, classification=classification, class_vectors=self.class_vectors)
            members.append(member)
        return members

    def _forest(self, kind: str, *, classification: bool) -> BaseEstimator:
        check_choice("estimators", kind, FORESTS)
        forest = FORESTS[kind][0 if classification else 1]()
        known = forest.get_params()
        parameters = {
            name: getattr(self, name) for name in ("max_depth", "min_samples_leaf", "max_features") if name in known
        }
        return forest.set_params(n_estimators=self._chosen("n_estimators"), **parameters)

    def _layer_rules(self, classes: np.ndarray | None, vector_dtype: str, progress: Progress) -> LayerRules:
        return LayerRules(
            classes,
            self._chosen("n_folds"),
            self.class_vectors,
            vector_dtype,
            entropy_of(self.random_state),
            self.n_jobs,
            progress,
            folder=None if self.layers_dir is None else LayersFolder(self.layers_dir),
        )

    def _checked_X(self, X: MatrixLike) -> Any:
        """Rows to predict."""
        check_is_fitted(self)
        check_jobs(self.n_jobs)
        scans = isinstance(getattr(self, "features_", None), FixedGrains | FreshGrains)
        return self._validated(
            X,
            dtype=X_DTYPES,
            order="C" if scans else None,  # windows need a row in one piece
            accept_sparse=False if scans else self._sparse_formats,
            ensure_all_finite="allow-nan",
        )

    def _training_X_y(
        self, X: MatrixLike, y: ArrayLike, *, numeric: bool, sparse: bool = True
    ) -> tuple[Any, np.ndarray]:
        return self._validated(
            X,
            y,
            reset=True,
            dtype=X_DTYPES,
            order=None if sparse else "C",  # windows need a row in one piece
            accept_sparse=self._sparse_formats if sparse else False,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
            **(checks_of_targets(y) if numeric else {}),
        )

    def _plain_features(self, members: Sequence[BaseEstimator], n_outputs: int) -> PlainFeatures:
        """Columns that levels see without scanning."""
        foreign = [member for member in members if not grows_on_bins(member)]
        if foreign:
            self._refuse_categories(
                f"estimators has {foreign[0]!r}, and only our forests (without class_weight, feature_weights or "
                "oob_score of their own) take them"
            )
        return PlainFeatures(len(members) * n_outputs, bool(foreign), self.n_jobs, self._n_levels)

    def _grow_layers(
        self,
        members: list[BaseEstimator],
        features: Features,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        rules: LayerRules,
        scoring: Scoring,
    ) -> tuple[list[Layer], BestLayer]:
        """Grow layers, each on the features and the vectors of the layer before; return the layers and their scores."""
        layers: list[Layer] = []
        max_layers, patience = self._chosen("max_layers"), self._chosen_patience()
        best, vectors, added_mapper = BestLayer(patience, self.tol, features.cycle), None, None
        for level in range(max_layers):
            seen = features.at(level, rows, y, weights)
            if vectors is not None:
                added_mapper = seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)
            with rules.progress.layer(level, rules.n_models(len(members), len(rows))):
                layer, vectors = fit_layer(members, seen, rows, y, weights, rules, level, added_mapper)
            layers.append(layer)
            score = scoring(y, self._mean(vectors), weights)
            best.is_better(score)
            rules.progress.say("layer %d: out-of-fold score %#.6g, %d trees", level + 1, score, layer.n_trees)
            if best.is_over or (scoring.cannot_rise(score) and patience < max_layers):
                break
        return layers, best

    def _keep_layers(self, features: Features, layers: list[Layer], best: BestLayer, progress: Progress) -> None:
        """Set the fitted attributes, with the layers up to the last layer that the cascade keeps."""
        self.n_layers_ = best.n_kept(self.keep)
        features.finish(self.n_layers_)
        self.features_ = features
        self.layers_ = layers[: self.n_layers_]
        self.validation_scores_ = np.array(best.scores)
        progress.say("kept %d of %d layers", self.n_layers_, len(layers))

    @staticmethod
    @abstractmethod
    def _mean(vectors: np.ndarray) -> np.ndarray:
        """Prediction of a layer: the mean of its forests' vectors, of shape (n, n_forests, n_outputs)."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class StagedClassifier(ProbabilisticClassifier):
    """Mixin of classifiers that also predict as if they ended at an earlier layer."""

    @abstractmethod
    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities after layer 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            There are `n_layers_` arrays; the last one equals `predict_proba`.
        """

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict classes after layer 1, 2, ..., as if the cascade ended there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,)
            As many arrays as `staged_predict_proba` yields.
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]


class CascadeClassifier(StagedClassifier, Cascade):
    """Base class of cascades for classification."""

    _mean = staticmethod(mean_vector)

    def _features(self, members: Sequence[BaseEstimator], n_features: int, rules: LayerRules) -> Features:
        """Columns that levels see: the features, or class vectors of windows."""
        if self.scanning is None:
            return self._plain_features(members, self.n_classes_)
        self._refuse_categories("scanning takes windows of numbers")
        scanner = self.scanning
        if isinstance(scanner, Mapping):
            try:
                scanner = MultiGrainedScanner(**scanner)
            except TypeError as error:
                raise ValueError(
                    f"scanning is {self.scanning!r}; give parameters of MultiGrainedScanner. ({error})"
                ) from error
        if not isinstance(scanner, MultiGrainedScanner):
            raise ValueError(
                f"scanning is {self.scanning!r}; give a MultiGrainedScanner, a dict of its parameters, or None."
            )
        if foreign := [member for member in members if not grows_on_bins(member)]:
            raise ValueError(
                f"estimators has {foreign[0]!r}, but with scanning a layer takes our forests only (without "
                "class_weight, feature_weights or oob_score of their own); leave one of the two out."
            )
        scanner = clone(scanner).set_params(n_jobs=self.n_jobs)
        if scanner.shape is None:
            scanner.set_params(shape=checked_shape("input_shape", self.input_shape, n_features))
        settings = scanner.checked(
            n_features, self.n_classes_, rules.entropy, self._chosen("n_estimators"), rules.progress
        )
        kind = FixedGrains if scanner.subsample is None else FreshGrains
        return kind(settings, len(members) * self.n_classes_)

    def _training_data(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
        """X, class numbers, rows of positive weight, and the weights of all rows (None if all weights are equal)."""
        X, y = self._training_X_y(X, y, numeric=False, sparse=self.scanning is None)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        weights = checked_weights(sample_weight, len(label))
        if self.class_weight is not None:
            weights = self._times_class_weight(y, label, weights)
        rows = rows_with_weight(weights, len(label))
        return X, label, rows, weights

    def _times_class_weight(self, y: np.ndarray, label: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            by_class = balanced_factors(label, weights, self.n_classes_)[label]
            return checked_weights(by_class if weights is None else by_class * weights, len(y), "class_weight")
        try:
            if not isinstance(self.class_weight, Mapping):
                raise TypeError("it is neither")
            by_class = np.asarray(compute_sample_weight(self.class_weight, y), np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"class_weight is {self.class_weight!r}; choose 'balanced', None, or give a dict of class to weight. "
                f"({error})"
            ) from error
        return checked_weights(by_class if weights is None else by_class * weights, len(y), "class_weight")

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return deque(self.staged_predict_proba(X), maxlen=1).pop()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.scanning is None  # windows need a row in one piece
        return tags


def checked_weights(weights: object, n_rows: int, name: str = "sample_weight") -> np.ndarray | None:
    """Weights of rows as an array, or None if all weights are equal; the errors are those of `row_weights`."""
    weights = row_weights(weights, n_rows, name, "two rows")
    return None if weights is None or weights.min() == weights.max() else weights


def weights_at(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Weights of `rows`, or None if all weights are equal."""
    return None if weights is None else weights[rows]


def rows_with_weight(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Numbers of the rows that a cascade learns from.

    Raises
    ------
    ValueError
        If there is only one row: it could not be held out.
    """
    rows = np.arange(n_rows, dtype=np.int32) if weights is None else np.flatnonzero(weights).astype(np.int32)
    if len(rows) < 2:
        raise ValueError("Only one sample has weight; a layer holds rows out and needs two: n_samples = 1.")
    return rows


def check_weighted(members: list[BaseEstimator]) -> None:
    """Refuse estimators without `sample_weight`: all layers but the first learn from weighted rows."""
    for member in members:
        if not has_fit_parameter(member, "sample_weight"):
            raise ValueError(
                f"estimators has {member!r}, whose fit takes no sample_weight, but layers after the first weight their "
                "rows; choose estimators that take it."
            )


def rows_that_forests_count(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """As `rows_with_weight`, without the rows that forests leave out: single precision rounds their weight to 0."""
    if weights is not None:
        weights = np.where(weights >= np.finfo(np.float32).tiny * weights.max(), weights, 0.0)
    return rows_with_weight(weights, n_rows)
