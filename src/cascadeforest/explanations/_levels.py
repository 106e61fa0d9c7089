"""What each layer of a fitted model saw of its training rows, layer by layer, and what it sees of new ones.

`fit` keeps the features of its training rows in bins, and nothing of what layers added. Folds and bootstraps are drawn
again from their addresses, held-out class vectors come from the models that did not learn from a row, and weights are
computed as `fit` computed them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from cascadeforest.cascade._base import CascadeClassifier, checked_weights, rows_with_weight, weights_at
from cascadeforest.cascade.gcforest import GCForestClassifier
from cascadeforest.cascade.layer import FoldForest, Layer, LayerRules, fit_layer, mean_vector
from cascadeforest.cascade.margin import Additive, MDDFClassifier, Setting, equal_are_none, margins
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.regression import CascadeForestRegressor
from cascadeforest.cascade.representation import PlainFeatures, Representation
from cascadeforest.cascade.screening import GCForestCSClassifier
from cascadeforest.explanations._forests import (
    Learned,
    Preceding,
    contributions,
    impurity_decreases,
    mean_root,
)
from cascadeforest.explanations._kernels import MULTIPLICATIVE, calibrate
from cascadeforest.forest._base import Forest, ForestClassifier
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import kernel_weights
from cascadeforest.forest.learned_rows import LearnedRows, Rows


@dataclass(frozen=True)
class Options:
    """How contributions are computed.

    Parameters
    ----------
    rule : int
        Calibration (see `_kernels`).
    all_rows : bool
        See `Preceding`.
    n_jobs : int or None
        Threads.
    """

    rule: int
    all_rows: bool
    n_jobs: int | None

    @property
    def dtype(self) -> type:
        """Type in which contributions are handed on to the next layer.

        Single precision is enough for estimates that are calibrated by addition, and half of the memory. Eq. 23 divides
        by sums that nearly cancel.
        """
        return np.float64 if self.rule == MULTIPLICATIVE else np.float32


@dataclass
class Part:
    """Bias and contributions of some rows.

    Parameters
    ----------
    bias : ndarray of shape (n, n_outputs)
    contributions : ndarray of shape (n, n_outputs * n_features)
    """

    bias: np.ndarray
    contributions: np.ndarray


class Level(ABC):
    """One layer with its training rows.

    Parameters
    ----------
    n_features : int
        Original features.
    Y : ndarray of shape (n, n_outputs)
        Responses of its training rows.
    before : Preceding or None
        What stands behind the columns that the layer before added.
    options : Options
        How contributions are computed.
    hands_on : bool
        Whether another layer follows.

    Attributes
    ----------
    weights : ndarray of shape (n,) or None
        Weights of the training rows.
    """

    weights: np.ndarray | None
    #: What it changed to come here from the first level, of the mean response and by feature; only in gcForest_CS.
    passage: Part

    def __init__(self, n_features: int, Y: np.ndarray, before: Preceding | None, options: Options, hands_on: bool):
        self.n_features, self.Y, self.before, self.options = n_features, Y, before, options
        self.hands_on = hands_on
        self._held_out: tuple[Part, np.ndarray | None] | None = None

    @property
    @abstractmethod
    def forests(self) -> list[list[Learned]]:
        """For each forest the models that new rows get the mean of."""

    @cached_property
    def bias(self) -> np.ndarray:
        """Mean over forests, models and trees of the mean response at the root: the bias of new rows, (n_outputs,)."""
        return np.mean([np.mean([mean_root(model) for model in models], axis=0) for models in self.forests], axis=0)

    def of_new_rows(self, binned: BinnedMatrix, rows: np.ndarray) -> np.ndarray:
        """Contributions of new rows, mean over models and forests: shape (n, n_outputs * n_features)."""
        total = np.zeros((len(rows), self.Y.shape[1] * self.n_features))
        for models in self.forests:
            for model in models:
                own, _ = contributions(model, self.n_features, self.before, binned, rows, n_jobs=self.options.n_jobs)
                total += own / (len(models) * len(self.forests))
        return total

    def as_it_is(self) -> Level:
        """The same layer, the columns that it was given taken for features of their own."""
        level = copy.copy(self)
        if self.before is not None:
            n_added = len(self.before.contributions) * self.Y.shape[1]
            level.n_features, level.before, level._held_out, level.hands_on = (
                self.before.n_given + n_added,
                None,
                None,
                False,
            )
        return level

    @property
    @abstractmethod
    def n_forests(self) -> int:
        """Forests of the layer."""

    @abstractmethod
    def _held_out_of(self, k: int) -> Part:
        """Bias and contributions of training rows in the models of forest k that did not learn from them."""

    def held_out(self) -> tuple[Part, np.ndarray | None]:
        """Bias and contributions of training rows in models that did not learn from them.

        Returns
        -------
        Part
            Mean over forests.
        ndarray of shape (n_forests, n, n_outputs * n_features) or None
            Contributions forest by forest, if another layer follows (see `Options.dtype`).
        """
        if self._held_out is None:
            shape = (len(self.Y), self.Y.shape[1] * self.n_features)
            mean = Part(np.zeros_like(self.Y), np.zeros(shape))
            of_forests = np.empty((self.n_forests, *shape), self.options.dtype) if self.hands_on else None
            for k in range(self.n_forests):
                part = self._held_out_of(k)
                if of_forests is not None:
                    of_forests[k] = part.contributions
                mean.bias += part.bias / self.n_forests
                part.contributions /= self.n_forests
                mean.contributions += part.contributions
            self._held_out = mean, of_forests
        return self._held_out

    def impurity_decreases(self, *, out_of_bag: bool = False) -> np.ndarray:
        """Mean over forests and models of Eq. 10 on each tree's own rows, shape (n_features, n_outputs)."""
        return np.mean(
            [
                np.mean(
                    [
                        impurity_decreases(
                            model, self.n_features, self.before, out_of_bag=out_of_bag, n_jobs=self.options.n_jobs
                        )
                        for model in models
                    ],
                    axis=0,
                )
                for models in self.forests
            ],
            axis=0,
        )


def _out_of_bag(model: Learned, level: Level, binned: BinnedMatrix, rows: np.ndarray, fallback: np.ndarray) -> Part:
    """Bias and contributions of rows in the trees that did not draw them; `fallback` where all trees did."""

    def did_not_draw(tree: int) -> np.ndarray:
        out = np.ones(len(rows), bool)
        out[model.places] = model.in_bag(tree) == 0
        return out

    own, bias = contributions(
        model, level.n_features, level.before, binned, rows, speaks=did_not_draw, n_jobs=level.options.n_jobs
    )
    return Part(np.where(np.isnan(bias), fallback, bias), own)


class LayerLevel(Level):
    """A layer of a cascade.

    Parameters
    ----------
    layer : Layer
        What speaks for new rows.
    of_folds : Layer
        The same with the models of all folds; another one only if `fit` replaced them by a model of all rows.
    seen : Representation
        What the layer saw.
    rows : ndarray of shape (n,), int32
        Rows of it that the layer learned from.
    y : ndarray of shape (n,)
        Class numbers, or targets.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    """

    def __init__(
        self,
        layer: Layer,
        of_folds: Layer,
        seen: Representation,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        **shared: Any,
    ):
        super().__init__(**shared)
        self.layer, self.of_folds = layer, of_folds
        self.seen, self.rows, self.y, self.weights = seen, rows, y, weights

    def _learned(self, model: FoldForest, chosen: np.ndarray) -> Learned:
        """A model with the rows at the places `chosen`."""
        weights = None
        if self.weights is not None:
            weights = kernel_weights(self.weights[chosen])
            chosen, weights = chosen[weights > 0], weights[weights > 0]
        return Learned(
            *(model.trees, model.offset, model.scale, model.seeds, model.n_draws),
            *(self.seen.binned, self.rows[chosen], chosen, self.Y[chosen], weights),
        )

    def _models(self, layer: Layer, k: int) -> list[Learned]:
        models = layer.forests[k]
        if len(models) == 1:
            return [self._learned(models[0], np.arange(len(self.rows)))]
        fold = layer.folds.of(self.y, k)
        return [self._learned(model, np.flatnonzero(fold != i)) for i, model in enumerate(models)]

    @cached_property
    def forests(self) -> list[list[Learned]]:
        return [self._models(self.layer, k) for k in range(len(self.layer.forests))]

    @property
    def n_forests(self) -> int:
        return len(self.layer.forests)

    def _held_out_of(self, k: int) -> Part:
        models = self._models(self.of_folds, k)
        binned, rows = self.seen.binned, self.rows
        if self.of_folds.folds is None:
            return _out_of_bag(models[0], self, binned, rows, np.average(self.Y, axis=0, weights=self.weights))
        fold = self.of_folds.folds.of(self.y, k)
        part = Part(np.empty_like(self.Y), np.empty((len(rows), self.Y.shape[1] * self.n_features)))
        for i, model in enumerate(models):
            held_out = fold == i
            part.contributions[held_out], part.bias[held_out] = contributions(
                model, self.n_features, self.before, binned, rows[held_out], n_jobs=self.options.n_jobs
            )
        return part

    def held_out_vectors(self) -> np.ndarray:
        """Class vectors (predicted targets) of the training rows as `fit` had them, (n, n_forests, n_outputs)."""
        if self.of_folds.folds is not None:
            return self.of_folds.transform_held_out(self.seen, self.rows, self.y, self.options.n_jobs)
        vectors = np.empty((len(self.rows), len(self.layer.forests), self.Y.shape[1]))
        for k, ((model,), (grown,)) in enumerate(zip(self.forests, self.layer.forests, strict=True)):
            n_votes = np.zeros(len(self.rows))

            def did_not_draw(tree: int, model: Learned = model, n_votes: np.ndarray = n_votes) -> np.ndarray:
                out = np.ones(len(self.rows))
                out[model.places] = model.in_bag(tree) == 0
                np.add(n_votes, out, out=n_votes)
                return out

            total = grown.trees.predict_sum(
                self.seen.binned, self.rows, weights=did_not_draw, n_jobs=self.options.n_jobs
            )
            vectors[:, k] = grown.offset + grown.scale * (total / np.maximum(n_votes, 1.0)[:, None])
            vectors[n_votes == 0, k] = np.average(self.Y, axis=0, weights=self.weights)
        return vectors.astype(self.layer.vector_dtype).astype(np.float32 if self.layer.n_classes else np.float64)


class ForestLevel(Level):
    """A forest that stands alone.

    Parameters
    ----------
    model : Learned
        The forest.
    n_rows : int
        Training rows, those without weight included.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    """

    def __init__(self, model: Learned, n_rows: int, weights: np.ndarray | None, **shared: Any):
        super().__init__(before=None, hands_on=False, **shared)
        self._model, self._n_rows, self.weights = model, n_rows, weights

    @property
    def forests(self) -> list[list[Learned]]:
        return [[self._model]]

    @property
    def n_forests(self) -> int:
        return 1

    def _held_out_of(self, k: int) -> Part:
        if not self._model.n_draws:
            raise ValueError(
                "The forest has no rows out of the bag: bootstrap is False. Ask for importances with rows='in_bag', "
                "explain other rows than it learned from, or fit it with bootstrap=True."
            )
        rows = np.arange(self._n_rows, dtype=np.int32)
        fallback = np.average(self._model.Y, axis=0, weights=self._model.weights)
        return _out_of_bag(self._model, self, self._model.binned, rows, fallback)


#: Of training rows that are given and are not those of `fit`; by what the model keeps of them.
WRONG_ROWS = (
    "{name} is not what the model learned from; give the same rows as fit had, in the same order, with the same "
    "sample_weight and class_weight."
)

#: Of models that hold nothing of their last fit.
INTERRUPTED = "The last fit of the model was interrupted by an error; fit it again."


class Training(ABC):
    """The training rows of a fitted model, layer by layer.

    Parameters
    ----------
    model : estimator
        Fitted.
    given : tuple of (X, y, sample_weight) or None
        What it was fitted with; None to take what the model keeps of it.
    options : Options
        How contributions are computed.

    Attributes
    ----------
    learned : Rows
        The rows in bins.
    Y : ndarray of shape (n_samples, n_outputs)
        Responses of all training rows: indicators of the classes, or targets.
    weights : ndarray of shape (n_samples,) or None
        Their weights, those of their classes included.
    rows : ndarray of shape (n,), int32
        Rows that have weight.
    n_layers : int
        Layers that were kept.
    n_features : int
        Original features.
    """

    weights: np.ndarray | None
    rows: np.ndarray
    n_layers: int
    #: Whether a row's contributions are a sum over layers.
    margin_sum = False
    #: Precision of what layers predict.
    vector_dtype = "float64"

    def __init__(self, model: Any, given: tuple[Any, Any, Any] | None, options: Options):
        self.model, self.options = model, options
        self.n_features = model.n_features_in_
        self.learned = self._kept() if given is None else self._given(*given)
        y = self.learned.y
        self.Y = np.eye(len(model.classes_))[y] if hasattr(model, "classes_") else y.reshape(-1, 1).copy()
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Set `weights`, `rows` and `n_layers`."""

    @abstractmethod
    def _read(self, shadow: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Check and bin rows as `fit` does; `shadow` is a copy of the model that may note what it sees."""

    def _kept(self) -> Rows:
        learned = self._known()
        if learned.rows is None:
            raise ValueError(
                "The model has no training rows: it was pickled, came back from another process, or was told to forget "
                "them; models keep them in memory only. Give X_train, y_train (and sample_weight): what fit had."
            )
        return learned.rows

    def _known(self) -> LearnedRows:
        learned = self.model._learned_rows
        if learned is None:
            raise ValueError(INTERRUPTED)
        return learned

    def _given(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        known = self._known()
        learned = self._read(self._shadow(), X, y, sample_weight)
        if name := known.difference(learned):
            raise ValueError(WRONG_ROWS.format(name=name))
        return learned._replace(centers=known.centers)

    @abstractmethod
    def _shadow(self) -> Any:
        """A model that reads rows as `fit` did, and may note what it sees."""

    def _check_features(self, shadow: Any) -> None:
        if shadow.n_features_in_ != self.model.n_features_in_:
            raise ValueError(
                f"X_train has {shadow.n_features_in_} features, but the model learned from "
                f"{self.model.n_features_in_}; give the rows that it learned from."
            )
        names, known = (getattr(m, "feature_names_in_", None) for m in (shadow, self.model))
        if names is not None and known is not None and (other := names != known).any():
            raise ValueError(
                f"X_train has the column {names[other][0]!r} where the model learned from {known[other][0]!r}; give "
                "the rows that it learned from."
            )

    def _check_classes(self, shadow: Any) -> None:
        if not np.array_equal(shadow.classes_, self.model.classes_):
            raise ValueError(
                f"y_train has the classes {shadow.classes_.tolist()}, but the model learned "
                f"{self.model.classes_.tolist()}; give the rows that it learned from."
            )

    @abstractmethod
    def levels(self) -> Iterator[Level]:
        """The layers, one after the other; what the layer before contributed is all that stays in memory."""

    def columns_of(self, number: int) -> tuple[int, int]:
        """Original features that a layer sees, and columns that the layer before added."""
        return self.n_features, 0

    @abstractmethod
    def new_rows(self, X: Any) -> NewRows:
        """Rows to explain, on their way through the layers."""

    def asked(self, number: int, new: NewRows, *, wanted: bool) -> np.ndarray:
        """Rows whose contributions in a layer are needed: all if an explanation of that layer is wanted, else none."""
        return new.rows if wanted else new.rows[:0]

    def combined(self, number: int, level: Level, rows: np.ndarray, own: Part, result: Part) -> None:
        """Take the contributions of a layer into those of the model up to it, in place.

        Parameters
        ----------
        number : int
            Number of the layer, from 0.
        level : Level
            The layer.
        rows : ndarray of int
            Rows of `result` that the layer speaks for.
        own : Part
            Theirs, in the layer.
        result : Part
            Of the model up to the layer before.
        """
        result.bias[rows], result.contributions[rows] = own.bias, own.contributions


class NewRows(ABC):
    """Rows to explain on their way through the layers.

    Attributes
    ----------
    n : int
        How many.
    rows : ndarray of int
        Those that reached the present layer.
    binned : BinnedMatrix
        What it sees.
    prediction : ndarray of shape (n, n_outputs)
        Of the model up to it.
    """

    n: int
    rows: np.ndarray
    binned: BinnedMatrix
    prediction: np.ndarray

    @abstractmethod
    def enter(self, number: int) -> None:
        """Go on to a layer, and be predicted by it."""


class ForestTraining(Training):
    """A forest that stands alone."""

    n_layers = 1

    def _shadow(self) -> Forest:
        shadow = copy.copy(self.model)
        vars(shadow).update(self.model._weighted_by)
        return shadow

    def _read(self, shadow: Forest, X: Any, y: Any, sample_weight: Any) -> Rows:
        is_classifier = isinstance(shadow, ForestClassifier)
        X, y = validate_data(
            shadow,
            X,
            y,
            dtype=[np.float64, np.float32],
            accept_sparse=["csc", "csr"],
            ensure_all_finite="allow-nan",
            y_numeric=not is_classifier,
        )
        self._check_features(shadow)
        weight, balanced = shadow._checked_weight(sample_weight, X.shape[0]), False
        if is_classifier:
            shadow.classes_, label = np.unique(y, return_inverse=True)
            self._check_classes(shadow)
            weight, balanced = shadow._class_weighted(y, label, weight)
        else:
            label = np.asarray(y, np.float64)
        binned = shadow.bin_mapper_.transform(X, n_jobs=self.options.n_jobs)
        return Rows.of(binned, label, weight, balanced=balanced)

    def _prepare(self) -> None:
        self.weights, self.rows = self.learned.weights, np.arange(len(self.Y), dtype=np.int32)
        if self.weights is not None:
            self.weights = kernel_weights(self.weights)
            self.rows = np.flatnonzero(self.weights).astype(np.int32)

    def levels(self) -> Iterator[Level]:
        model, bags = self.model, self.model._bags
        learned = Learned(
            *(model.trees_, model._offset, model._scale, bags.seeds, bags.n_draws),
            *(self.learned.binned, self.rows, self.rows.astype(np.int64), self.Y[self.rows]),
            None if self.weights is None else self.weights[self.rows],
            self.learned.balanced,
        )
        yield ForestLevel(
            learned, len(self.Y), self.weights, n_features=self.n_features, Y=self.Y, options=self.options
        )

    def new_rows(self, X: Any) -> NewRows:
        return ForestRows(self.model, X)


class ForestRows(NewRows):
    """Rows to explain in a forest that stands alone."""

    def __init__(self, model: Forest, X: Any):
        self._model, self.binned = model, model._binned(X)
        self.n = self.binned.columns.shape[1]
        self.rows = np.arange(self.n, dtype=np.int32)

    def enter(self, number: int) -> None:
        model = self._model
        self.prediction = model._offset + model._scale * model.trees_.predict(self.binned)


class CascadeTraining(Training):
    """gcForest and the cascade for regression: a layer sees the features and the vectors of the layer before."""

    def __init__(self, model: Any, given: tuple[Any, Any, Any] | None, options: Options):
        self._refuse(model)
        super().__init__(model, given, options)

    @staticmethod
    def _refuse(cascade: Any) -> None:
        if not hasattr(cascade, "features_"):
            raise ValueError(INTERRUPTED)
        if not isinstance(cascade.features_, PlainFeatures):
            raise ValueError(
                "The model scans windows (scanning is not None): its layers see class vectors of windows, not the "
                "features. Fit it without scanning to explain it."
            )
        for layer in cascade.layers_:
            for model in (model for models in layer.forests for model in models if not isinstance(model, FoldForest)):
                name = type(getattr(model, "estimator", model)).__name__
                raise ValueError(
                    f"The model has layers with {name}, which is no forest of ours, or has weights of its own: how its "
                    "predictions come about is not known. Fit the cascade without it in estimators."
                )

    def _read(self, shadow: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
        if isinstance(shadow, CascadeClassifier):
            X, y, _, weights = shadow._training_data(X, y, sample_weight)
            self._check_classes(shadow)
        else:
            X, y = shadow._training_X_y(X, y, numeric=True)
            y = np.asarray(y, np.float64)
            weights = checked_weights(sample_weight, len(y))
        self._check_features(shadow)
        return Rows.of(self.model.features_.mapper.transform(X, n_jobs=self.options.n_jobs), y, weights)

    def _shadow(self) -> Any:
        return copy.copy(self.model._as_fitted)

    def _prepare(self) -> None:
        self.weights = self.learned.weights
        self.rows = rows_with_weight(self.weights, len(self.Y))
        self.n_layers, self.vector_dtype = self.model.n_layers_, self.model.layers_[0].vector_dtype

    def levels(self) -> Iterator[Level]:
        rows, before, columns = self.rows, None, None
        seen = self._seen()
        for number, layer in enumerate(self.model.layers_):
            if number:
                seen.fit_added(columns, rows, self.options.n_jobs)
            level = self._level(number, layer, seen, rows, weights_at(self.weights, rows), before)
            yield level
            if number + 1 < self.n_layers:
                goes_on = self._goes_on(number, rows)
                columns = level.held_out_vectors()[goes_on].reshape(np.count_nonzero(goes_on), -1)
                handed_on = level.held_out()[1]
                if not goes_on.all():
                    handed_on = np.ascontiguousarray(handed_on[:, goes_on])  # as the kernels were compiled for
                rows, before = rows[goes_on], self._preceding(handed_on, seen.n_given)

    def _seen(self) -> Representation:
        """Training rows with room for what layers add."""
        return Representation.of_bins(self.learned.binned, len(self.model.layers_[0].forests) * self.Y.shape[1])

    def columns_of(self, number: int) -> tuple[int, int]:
        return self.n_features, len(self.model.layers_[0].forests) * self.Y.shape[1] if number else 0

    def _goes_on(self, number: int, rows: np.ndarray) -> np.ndarray:
        """Which training rows of a layer the next one learns from."""
        return np.ones(len(rows), bool)

    def _preceding(self, handed_on: np.ndarray, n_given: int) -> Preceding:
        return Preceding.of(handed_on, self.n_features, n_given, self.options.rule, self.options.all_rows)

    def _level(
        self,
        number: int,
        layer: Layer,
        seen: Representation,
        rows: np.ndarray,
        weights: np.ndarray | None,
        before: Preceding | None,
    ) -> LayerLevel:
        y, of_folds = self.learned.y[rows], layer
        if layer.folds is not None and len(layer.forests[0]) == 1 < int(layer.folds.of(y, 0).max()) + 1:
            of_folds = self._grown_again(number, layer, seen, rows, y, weights)
        shared = {"n_features": self.n_features, "Y": self.Y[rows], "before": before, "options": self.options}
        shared["hands_on"] = number + 1 < self.n_layers
        return LayerLevel(layer, of_folds, seen, rows, y, weights, **shared)

    def _grown_again(
        self,
        number: int,
        layer: Layer,
        seen: Representation,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> Layer:
        """A layer with the models of its folds, which `fit` replaced by one model of all rows: the same trees again."""
        rules = LayerRules(
            self.model.classes_ if layer.n_classes else None,
            layer.folds.n_folds,
            "k_fold",
            layer.vector_dtype,
            layer.folds.entropy,
            self.options.n_jobs,
            Progress(0),
            layer.folds.level is None,
        )
        members = self._members(number, seen, len(rows))
        return fit_layer(members, seen, rows, y, weights, rules, number, layer.added_mapper)[0]

    def _members(self, number: int, seen: Representation, n_rows: int) -> list[Any]:
        """The forests of a layer as `fit` had them, unfitted."""
        return self.model._as_fitted._members()

    def new_rows(self, X: Any) -> NewRows:
        return CascadeRows(self.model, X, self.options.n_jobs)


class CascadeRows(NewRows):
    """Rows to explain in gcForest or the cascade for regression."""

    def __init__(self, model: Any, X: Any, n_jobs: int | None):
        X = model._checked_X(X)
        self._model, self._n_jobs = model, n_jobs
        self._reader = model.features_.reader(X, n_jobs)
        self.n = X.shape[0]
        self.rows = np.arange(self.n, dtype=np.int32)
        self._vectors: np.ndarray | None = None

    def enter(self, number: int) -> None:
        layer, seen = self._model.layers_[number], self._reader(number, self.rows)
        if number:
            seen.add(self._vectors.reshape(len(self.rows), -1), self.rows, layer.added_mapper, self._n_jobs)
        self.binned = seen.binned
        self._vectors = layer.transform(seen, self.rows, self._n_jobs)
        self._predict(mean_vector(self._vectors) if layer.n_classes else self._vectors.mean(axis=1, dtype=np.float64))

    def _predict(self, own: np.ndarray) -> None:
        self.prediction = own


class ScreeningTraining(CascadeTraining):
    """gcForest_CS: rows leave at the level that is sure of them.

    The passage to the next level is one more split on what the level before predicted: of all its training rows, those
    that go on. It moves the mean response from that of one level's rows to that of the next one's; what the features
    contributed to it is estimated and calibrated as in any such split (docs/explanations.md).
    """

    def _goes_on(self, number: int, rows: np.ndarray) -> np.ndarray:
        return self.model.decision_level_[rows] > number

    def levels(self) -> Iterator[Level]:
        n_outputs = self.Y.shape[1]
        passage, before = Part(np.zeros((1, n_outputs)), np.zeros((1, n_outputs * self.n_features))), None
        for level in super().levels():
            if before is not None:
                passage = self._passage(before, level, passage)
            level.passage = passage
            before = level
            yield level

    def _passage(self, before: LayerLevel, level: LayerLevel, passage: Part) -> Part:
        """What it changed to come to a level from the first one; `passage` is the same of the level before."""
        all_rows = before.held_out()[0].contributions
        goes_on = np.isin(before.rows, level.rows, assume_unique=True)
        estimated = np.average(all_rows[goes_on], axis=0, weights=level.weights)
        estimated -= np.average(all_rows, axis=0, weights=before.weights)
        change = level.bias - before.bias
        calibrate(estimated, change, level.before.equal, self.options.rule)
        return Part(passage.bias + change, passage.contributions + estimated)

    def _members(self, number: int, seen: Representation, n_rows: int) -> list[Any]:
        fitted = self.model._as_fitted
        return fitted._grown(fitted._members(), n_rows, len(self.rows), seen.n_given, seen.n_added)

    def new_rows(self, X: Any) -> NewRows:
        return ScreeningRows(self.model, X, self.options.n_jobs)

    def asked(self, number: int, new: NewRows, *, wanted: bool) -> np.ndarray:
        if wanted:
            return new.rows
        return new.rows[new.prediction[new.rows].max(axis=1) >= self.model.thresholds_[number]]

    def combined(self, number: int, level: Level, rows: np.ndarray, own: Part, result: Part) -> None:
        passage = level.passage
        result.bias[rows] = own.bias - passage.bias
        result.contributions[rows] = own.contributions + passage.contributions


class ScreeningRows(CascadeRows):
    """Rows to explain in gcForest_CS."""

    def enter(self, number: int) -> None:
        if number:
            goes_on = self.prediction[self.rows].max(axis=1) < self._model.thresholds_[number - 1]
            self.rows, self._vectors = self.rows[goes_on], self._vectors[goes_on]
            if not len(self.rows):
                return
        super().enter(number)

    def _predict(self, own: np.ndarray) -> None:
        if len(own) == self.n:
            self.prediction = own
        else:
            self.prediction = self.prediction.copy()
            self.prediction[self.rows] = own


class MarginTraining(CascadeTraining):
    """mdDF: a layer sees the features and the sum of the layers so far, and weights rows by their margins.

    The sum is a mean of the layers' vectors with their shares, forest by forest; so are its bias and contributions
    (docs/explanations.md).
    """

    margin_sum = True

    def columns_of(self, number: int) -> tuple[int, int]:
        n_given, n_added = super().columns_of(number)
        return {"stacking": (0 if number else n_given, n_added), "no_preconc": (n_given, 0)}.get(
            self.model._structure, (n_given, n_added)
        )

    def levels(self) -> Iterator[Level]:
        model, rows, y = self.model, self.rows, self.learned.y[self.rows]
        weights = equal_are_none(weights_at(self.weights, rows))
        seen = self._seen()
        alone = model._alone(seen)
        additive = Additive(len(rows), len(model.layers_[0].forests), self.Y.shape[1])
        cumulative, total, of_rows, before = np.zeros(len(rows)), 0.0, None, None
        summed: np.ndarray | None = None  # contributions behind the sum, forest by forest
        setting = Setting(model.gamma_, model.mu_, model.theta_)
        for number, layer in enumerate(model.layers_):
            of_level = seen
            if number and model._structure != "no_preconc":
                of_level = seen if alone is None else alone
                of_level.fit_added(additive.features, rows, self.options.n_jobs)
                before = self._preceding(summed, of_level.n_given)
            of_both = weights if of_rows is None else of_rows if weights is None else of_rows * weights
            level = self._level(number, layer, of_level, rows, of_both, before)
            yield level
            if number + 1 == self.n_layers:
                return
            share = model.shares_[number]
            vectors = level.held_out_vectors()
            additive.add(vectors, share)
            own = margins(mean_vector(vectors), y)
            total += model.alphas_[number]
            cumulative = (1.0 - share) * cumulative + share * own
            of_rows = model._as_fitted._row_weights(cumulative, total, setting)
            if summed is None:
                shape = (len(layer.forests), len(rows), self.Y.shape[1] * self.n_features)
                summed = np.zeros(shape, self.options.dtype)
            for block, own_part in zip(summed, level.held_out()[1], strict=True):
                block *= 1.0 - share
                block += own_part.dtype.type(share) * own_part

    def _members(self, number: int, seen: Representation, n_rows: int) -> list[Any]:
        model, fitted = self.model, self.model._as_fitted
        return fitted._at_depth(fitted._members(), Setting(model.gamma_, model.mu_, model.theta_).depth(number))

    def new_rows(self, X: Any) -> NewRows:
        return MarginRows(self.model, X, self.options.n_jobs)

    def asked(self, number: int, new: NewRows, *, wanted: bool) -> np.ndarray:
        return new.rows

    def combined(self, number: int, level: Level, rows: np.ndarray, own: Part, result: Part) -> None:
        share = self.model.shares_[number]
        result.bias[rows] = (1.0 - share) * result.bias[rows] + share * own.bias
        result.contributions *= 1.0 - share
        result.contributions[rows] += share * own.contributions


class MarginRows(CascadeRows):
    """Rows to explain in mdDF."""

    def enter(self, number: int) -> None:
        model = self._model
        layer, seen = model.layers_[number], self._reader(number, self.rows)
        if number == 0:
            self._sum = Additive(self.n, len(layer.forests), model.n_classes_)
            self._alone = model._alone(seen)
        elif model._structure != "no_preconc":
            seen = seen if self._alone is None else self._alone
            seen.add(self._sum.features, self.rows, layer.added_mapper, self._n_jobs)
        self.binned = seen.binned
        self._sum.add(layer.transform(seen, self.rows, self._n_jobs), model.shares_[number])
        self.prediction = self._sum.probabilities


#: How the training rows of each kind of model are gone through.
KINDS: dict[type, type[Training]] = {
    GCForestCSClassifier: ScreeningTraining,
    MDDFClassifier: MarginTraining,
    GCForestClassifier: CascadeTraining,
    CascadeForestRegressor: CascadeTraining,
    Forest: ForestTraining,
}
