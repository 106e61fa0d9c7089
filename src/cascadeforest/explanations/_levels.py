"""What each layer of a fitted model saw of its training rows, layer by layer, and what it sees of new ones.

`fit` keeps no training row. Given the same rows again, folds and bootstraps are drawn from their addresses, held-out
class vectors come from the models that did not learn from a row, and weights are computed as `fit` computed them.
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

from cascadeforest.cascade._base import CascadeClassifier, checked_weights, rows_with_weight
from cascadeforest.cascade.gcforest import GCForestClassifier
from cascadeforest.cascade.layer import FoldForest, Layer, LayerRules, fit_layer, mean_vector
from cascadeforest.cascade.margin import Additive, MDDFClassifier, Setting, margin_loss, margins, reweighted
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.regression import CascadeForestRegressor
from cascadeforest.cascade.representation import PlainFeatures, Representation
from cascadeforest.cascade.screening import GCForestCSClassifier
from cascadeforest.explanations._forests import (
    WRONG_ROWS,
    Learned,
    Preceding,
    contributions,
    impurity_decreases,
    mean_root,
)
from cascadeforest.explanations._kernels import MULTIPLICATIVE, calibrate
from cascadeforest.forest._base import Forest, ForestClassifier
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import _kernel_weights


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
        for models in (*layer.forests, *of_folds.forests):
            for model in models:
                if not isinstance(model, FoldForest):
                    name = type(getattr(model, "estimator", model)).__name__
                    raise ValueError(
                        f"The model has layers with {name}, which is no forest of ours: how its predictions come about "
                        "is not known. Fit the cascade without it in estimators."
                    )

    def _learned(self, model: FoldForest, chosen: np.ndarray) -> Learned:
        """A model with the rows at the places `chosen`."""
        weights = None
        if self.weights is not None:
            weights = _kernel_weights(self.weights[chosen])
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
                "The forest has no rows out of the bag: bootstrap is False. Fit it with bootstrap=True, or explain "
                "rows that it did not learn from."
            )
        rows = np.arange(self._n_rows, dtype=np.int32)
        fallback = np.average(self._model.Y, axis=0, weights=self._model.weights)
        return _out_of_bag(self._model, self, self._model.binned, rows, fallback)


class Training(ABC):
    """The training rows of a fitted model, layer by layer.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y, sample_weight
        What it was fitted with.
    options : Options
        How contributions are computed.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_outputs)
        Responses of all training rows: indicators of the classes, or targets.
    weights : ndarray of shape (n_samples,) or None
        Their weights, those of their classes included.
    rows : ndarray of shape (n,), int32
        Rows that have weight.
    n_layers : int
        Layers that were kept.
    """

    Y: np.ndarray
    weights: np.ndarray | None
    rows: np.ndarray
    n_layers: int
    #: Whether a row's contributions are a sum over layers.
    margin_sum = False
    #: Precision of what layers predict.
    vector_dtype = "float64"

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, options: Options):
        self.model, self.options = model, options
        shadow = copy.copy(model)  # checks of training data note what they see
        self._read(shadow, X, y, sample_weight)
        self.n_features = model.n_features_in_

    @abstractmethod
    def _read(self, shadow: Any, X: Any, y: Any, sample_weight: Any) -> None:
        """Set `Y`, `weights`, `rows` and `n_layers`."""

    def _check_features(self, shadow: Any) -> None:
        if shadow.n_features_in_ != self.model.n_features_in_:
            raise ValueError(
                f"X_train has {shadow.n_features_in_} features, but the model learned from "
                f"{self.model.n_features_in_}; give the rows that it learned from."
            )

    def _indicators(self, shadow: Any, label: np.ndarray) -> np.ndarray:
        if not np.array_equal(shadow.classes_, self.model.classes_):
            raise ValueError(
                f"y_train has the classes {shadow.classes_.tolist()}, but the model learned "
                f"{self.model.classes_.tolist()}; give the rows that it learned from."
            )
        return np.eye(len(shadow.classes_))[label]

    @abstractmethod
    def levels(self) -> Iterator[Level]:
        """The layers, one after the other; what the layer before contributed is all that stays in memory."""

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

    def _read(self, shadow: Forest, X: Any, y: Any, sample_weight: Any) -> None:
        self.n_layers = 1
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
        weight, self._balance = shadow._checked_weight(sample_weight, X.shape[0]), False
        if is_classifier:
            shadow.classes_, label = np.unique(y, return_inverse=True)
            self.Y = self._indicators(shadow, label)
            weight, self._balance = shadow._class_weighted(y, label, weight)
        else:
            self.Y = np.asarray(y, np.float64).reshape(-1, 1)
        self.weights = None if weight is None else _kernel_weights(np.asarray(weight, np.float64))
        self.rows = np.arange(len(self.Y), dtype=np.int32)
        if self.weights is not None:
            self.rows = np.flatnonzero(self.weights).astype(np.int32)
        self._binned = shadow.bin_mapper_.transform(X, n_jobs=self.options.n_jobs)

    def levels(self) -> Iterator[Level]:
        model, bags = self.model, self.model._bags
        if len(self.Y) != bags.n_samples or len(self.rows) != bags.n_kept:
            raise ValueError(WRONG_ROWS)
        learned = Learned(
            *(model.trees_, model._offset, model._scale, bags.seeds, bags.n_draws),
            *(self._binned, self.rows, self.rows.astype(np.int64), self.Y[self.rows]),
            None if self.weights is None else self.weights[self.rows],
            self._balance,
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

    def _read(self, shadow: Any, X: Any, y: Any, sample_weight: Any) -> None:
        model = self.model
        if not isinstance(model.features_, PlainFeatures):
            raise ValueError(
                "The model scans windows (scanning is not None): its layers see class vectors of windows, not the "
                "features. Fit it without scanning to explain it."
            )
        if isinstance(shadow, CascadeClassifier):
            X, self._y, self.rows, self.weights = shadow._training_data(X, y, sample_weight)
            self.Y = self._indicators(shadow, self._y)
        else:
            X, y = shadow._training_X_y(X, y, numeric=True)
            self._y = np.asarray(y, np.float64)
            self.Y = self._y.reshape(-1, 1)
            self.weights = checked_weights(sample_weight, len(self._y))
            self.rows = rows_with_weight(self.weights, len(self._y))
        self._check_features(shadow)
        self.n_layers, self.vector_dtype = model.n_layers_, model.layers_[0].vector_dtype
        self._X = X

    def levels(self) -> Iterator[Level]:
        rows, before, columns = self.rows, None, None
        seen = self._seen(rows, self._weights_of(rows))
        for number, layer in enumerate(self.model.layers_):
            if number:
                seen.fit_added(columns, rows, self.options.n_jobs)
            level = self._level(number, layer, seen, rows, self._weights_of(rows), before)
            yield level
            if number + 1 < self.n_layers:
                goes_on = self._goes_on(number, rows)
                columns = level.held_out_vectors()[goes_on].reshape(np.count_nonzero(goes_on), -1)
                handed_on = level.held_out()[1]
                if not goes_on.all():
                    handed_on = handed_on[:, goes_on]
                rows, before = rows[goes_on], self._preceding(handed_on, seen.n_given)

    def _weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.weights is None else self.weights[rows]

    def _seen(self, rows: np.ndarray, weights: np.ndarray | None) -> Representation:
        """Training rows, binned as `fit` did."""
        room = len(self.model.layers_[0].forests) * self.Y.shape[1]
        features = PlainFeatures(room, keep_values=False, n_jobs=self.options.n_jobs)
        features.fit(self._X, rows, self._y[rows], weights)
        return features.at(0, rows, self._y[rows], weights)

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
        y, of_folds = self._y[rows], layer
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
        """The forests of a layer, unfitted."""
        model = self.model
        if isinstance(model, CascadeForestRegressor):
            second = {"paper": "completely_random_forest", "official": "extra_trees"}[model.preset]
            return model._members(("random_forest", second), classification=False)
        return model._members(("random_forest", "completely_random_forest"), classification=True)

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

    def _read(self, shadow: Any, X: Any, y: Any, sample_weight: Any) -> None:
        super()._read(shadow, X, y, sample_weight)
        if len(self._y) != len(self.model.decision_level_):
            raise ValueError(WRONG_ROWS)

    def levels(self) -> Iterator[Level]:
        size = self.Y.shape[1] * self.n_features
        before: LayerLevel | None = None
        self.passages = [Part(np.zeros((1, self.Y.shape[1])), np.zeros((1, size)))]
        for level in super().levels():
            if before is not None:
                self.passages.append(self._passage(before, level))
            before = level
            yield level

    def _passage(self, before: LayerLevel, level: LayerLevel) -> Part:
        """What it changed to come from the first level to this one: of the mean response, and by feature."""
        all_rows = before.held_out()[0].contributions
        goes_on = np.isin(before.rows, level.rows, assume_unique=True)
        estimated = np.average(all_rows[goes_on], axis=0, weights=level.weights)
        estimated -= np.average(all_rows, axis=0, weights=before.weights)
        change = level.bias - before.bias
        calibrate(estimated, change, level.before.equal, self.options.rule)
        last = self.passages[-1]
        return Part(last.bias + change, last.contributions + estimated)

    def _members(self, number: int, seen: Representation, n_rows: int) -> list[Any]:
        model = self.model
        second = {"paper": "completely_random_forest", "official": "extra_trees"}[model.preset]
        members = model._members(("random_forest", second), classification=True)
        return model._grown(members, n_rows, len(self.rows), seen.n_given, seen.n_added)

    def new_rows(self, X: Any) -> NewRows:
        return ScreeningRows(self.model, X, self.options.n_jobs)

    def asked(self, number: int, new: NewRows, *, wanted: bool) -> np.ndarray:
        if wanted:
            return new.rows
        return new.rows[new.prediction[new.rows].max(axis=1) >= self.model.thresholds_[number]]

    def combined(self, number: int, level: Level, rows: np.ndarray, own: Part, result: Part) -> None:
        passage = self.passages[number]
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

    def levels(self) -> Iterator[Level]:
        model, rows, y = self.model, self.rows, self._y[self.rows]
        weights = self._weights_of(rows)
        if weights is not None and (weights == weights[0]).all():
            weights = None
        if len(self._y) != model.margins_.shape[1]:
            raise ValueError(WRONG_ROWS)
        seen = self._seen(rows, weights)
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
            z = cumulative if model._chosen("cumulative") == "normalized" else total * cumulative
            scaled = model._chosen("scaled_loss")
            of_rows = reweighted(margin_loss(z, setting.gamma, setting.mu, scaled=scaled), model.weight_floor)
            if summed is None:
                shape = (len(layer.forests), len(rows), self.Y.shape[1] * self.n_features)
                summed = np.zeros(shape, self.options.dtype)
            for block, own_part in zip(summed, level.held_out()[1], strict=True):
                block *= 1.0 - share
                block += own_part.dtype.type(share) * own_part

    def _members(self, number: int, seen: Representation, n_rows: int) -> list[Any]:
        model = self.model
        members = model._members(model._kinds(), classification=True)
        return model._at_depth(members, Setting(model.gamma_, model.mu_, model.theta_).depth(number))

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
