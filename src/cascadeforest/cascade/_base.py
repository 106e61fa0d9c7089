"""What all cascades share: checks of parameters and data, the forests of a layer, predictions layer by layer."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cascadeforest.cascade.layer import CLASS_VECTORS, LayerRules, check_member, grows_on_bins
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import PlainFeatures
from cascadeforest.cascade.scanning import FixedGrains, FreshGrains, MultiGrainedScanner, checked_shape
from cascadeforest.forest._base import ProbabilisticClassifier, balanced_factors
from cascadeforest.forest._compiling import ensure_compiled
from cascadeforest.forest._parameters import (
    check_choice,
    check_count,
    check_jobs,
    check_number,
    entropy_of,
)
from cascadeforest.forest.estimators import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

_X_DTYPES = [np.float64, np.float32]
#: Forests by name, for classification and regression.
KINDS = {
    "random_forest": (RandomForestClassifier, RandomForestRegressor),
    "completely_random_forest": (CompletelyRandomForestClassifier, CompletelyRandomForestRegressor),
    "extra_trees": (ExtraTreesClassifier, ExtraTreesRegressor),
}
PRESETS = ("paper", "official")


class Cascade(BaseEstimator):
    """Checks and predictions that do not depend on what a cascade passes on."""

    def _check_shared(self) -> None:
        """Parameters that every cascade has."""
        check_choice("preset", self.preset, PRESETS)
        check_count("n_forests", self.n_forests)
        check_count("n_estimators", self.n_estimators)
        check_count("n_folds", self.n_folds, 2)
        check_count("max_layers", self.max_layers)
        check_count("patience", self.patience, optional=True)
        check_number("tol", self.tol)
        check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        check_choice("class_vectors", self.class_vectors, CLASS_VECTORS)
        if self.vector_dtype is not None:  # class vectors are handed on in single precision
            double = () if isinstance(self, ClassifierMixin) else ("float64",)
            check_choice("vector_dtype", self.vector_dtype, (*double, "float32", "float16"))
        check_jobs(self.n_jobs)

    def _kinds(self) -> tuple[str, ...]:
        """Kinds of forests where `estimators` is None."""
        return ("random_forest", {"paper": "completely_random_forest", "official": "extra_trees"}[self.preset])

    def _members(self) -> list[Any]:
        """The forests of a layer, unfitted: `n_forests`, of each kind of `estimators` in turn."""
        classification = isinstance(self, ClassifierMixin)
        kinds = self._kinds() if self.estimators is None else self.estimators
        if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not len(kinds):
            raise ValueError(f"estimators is {kinds!r}; give a list of names of forests or of estimators, or None.")
        if self.estimators is not None and len(kinds) > self.n_forests:
            raise ValueError(
                f"estimators has {len(kinds)} entries, but n_forests is {self.n_forests}, so that some would not be "
                "used; raise n_forests."
            )
        members = []
        for k in range(self.n_forests):
            member = kinds[k % len(kinds)]
            if isinstance(member, str):
                member = self._forest(member, classification=classification)
            check_member(member, classification=classification, class_vectors=self.class_vectors)
            members.append(member)
        return members

    def _forest(self, kind: str, *, classification: bool) -> Any:
        check_choice("estimators", kind, KINDS)
        forest = KINDS[kind][0 if classification else 1]()
        known = forest.get_params()
        parameters = {
            name: getattr(self, name)
            for name in ("n_estimators", "max_depth", "min_samples_leaf", "max_features")
            if name in known
        }
        return forest.set_params(**parameters)

    def _layer_rules(self, classes: np.ndarray | None, vector_dtype: str, progress: Progress) -> LayerRules:
        return LayerRules(
            classes,
            self.n_folds,
            self.class_vectors,
            vector_dtype,
            entropy_of(self.random_state),
            self.n_jobs,
            progress,
        )

    def _checked_X(self, X: Any) -> Any:
        """Rows to predict."""
        check_is_fitted(self)
        check_jobs(self.n_jobs)
        ensure_compiled()
        plain = isinstance(self.features_, PlainFeatures)
        return validate_data(
            self,
            X,
            reset=False,
            dtype=_X_DTYPES,
            order=None if plain else "C",
            accept_sparse=["csr", "csc"] if plain else False,
            ensure_all_finite="allow-nan",
        )

    def _training_X_y(self, X: Any, y: Any, *, numeric: bool, sparse: bool = True) -> tuple[Any, np.ndarray]:
        return validate_data(
            self,
            X,
            y,
            dtype=_X_DTYPES,
            order=None if sparse else "C",  # windows need a row in one piece
            accept_sparse=["csr", "csc"] if sparse else False,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
            y_numeric=numeric,
        )

    def _plain_features(self, members: Sequence[Any], n_outputs: int) -> PlainFeatures:
        """What levels see without scanning."""
        room = len(members) * n_outputs
        return PlainFeatures(room, not all(map(grows_on_bins, members)), self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class CascadeClassifier(ProbabilisticClassifier, Cascade):
    """Classes, their weights, and predictions from probabilities."""

    def _features(self, members: Sequence[Any], n_features: int, rules: LayerRules) -> Any:
        """What levels see: the features, or what scanning makes of them."""
        if self.scanning is None:
            return self._plain_features(members, self.n_classes_)
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
        settings = scanner.checked(n_features, self.n_classes_, rules.entropy, self.n_estimators, rules.progress)
        kind = FixedGrains if scanner.subsample is None else FreshGrains
        return kind(settings, len(members) * self.n_classes_)

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
        """X, class numbers, the rows that have weight, and weights of all rows (None if all are equal)."""
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

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities.

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

    @abstractmethod
    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            `n_layers_` times; the last one is `predict_proba`.
        """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.scanning is None  # windows need a row in one piece
        return tags

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Classes if the cascade ended at layer 1, 2, ...

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]


def checked_weights(weights: Any, n_rows: int, name: str = "sample_weight") -> np.ndarray | None:
    """Weights as numbers, None if they are all equal.

    Raises
    ------
    ValueError
        If they are not one finite number a row, not negative, at least two of them positive.
    """
    if weights is None:
        return None
    weights = np.asarray(weights, np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"{name} has shape {weights.shape}; X has {n_rows} rows: give ({n_rows},).")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"{name} gives weights from {weights.min()} to {weights.max()}; give finite, not negative ones."
        )
    if weights.max() == 0:
        raise ValueError(f"{name} is zero for every row; give at least two rows a positive weight.")
    return None if weights.min() == weights.max() else weights


def weights_at(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Weights of some rows; None for equal ones."""
    return None if weights is None else weights[rows]


def rows_with_weight(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Numbers of the rows that a cascade learns from.

    Raises
    ------
    ValueError
        If there is only one: no row could be held out.
    """
    rows = np.arange(n_rows, dtype=np.int32) if weights is None else np.flatnonzero(weights).astype(np.int32)
    if len(rows) < 2:
        raise ValueError("Only one sample has weight; a layer holds rows out and needs two: n_samples = 1.")
    return rows
