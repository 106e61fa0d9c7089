"""The walk of rows through a cascade: `CascadeWalk` is gcForest's, and other cascades override parts of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from cascadeforest.cascade._base import rows_with_weight, weights_at
from cascadeforest.cascade.layer import FoldForest, Layer, LayerRules, fit_layer, is_ours
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import PlainFeatures, Representation
from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import GrownForest, kernel_weights
from cascadeforest.forest.learned_rows import Rows
from cascadeforest.forest.walks import INTERRUPTED, Given, LearnedForest, Reached, TrainedLayer, Walk

if TYPE_CHECKING:
    from cascadeforest.cascade.explainable import ExplainableCascade


class CascadeWalk(Walk):
    """gcForest and the cascade for regression: a layer sees the features and the vectors of the layer before."""

    model: ExplainableCascade

    @property
    def n_layers(self) -> int:
        """Number of layers that were kept."""
        return self.model.n_layers_

    @property
    def _layers(self) -> list[Layer]:
        """The fitted layers."""
        return self.model.layers_

    @property
    def vector_dtype(self) -> str:
        """As in `Walk`."""
        return self._layers[0].vector_dtype

    def columns_of(self, number: int) -> tuple[int, int]:
        """As in `Walk`."""
        sees_vectors = self.model.layers_[number].added_mapper is not None
        return self.model.n_features_in_, self._n_added if sees_vectors else 0

    @property
    def _n_added(self) -> int:
        layer = self._layers[0]
        return len(layer.forests) * layer.n_outputs

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        X = self.model._checked_X(X)
        reader = self.model.features_.reader(X, self.n_jobs)
        rows = np.arange(X.shape[0], dtype=np.int32)
        vectors = None
        for number, layer in enumerate(self.model.layers_):
            seen = reader(number, rows)
            if vectors is not None:
                layer.see(vectors, seen, rows, self.n_jobs)
            vectors = layer.transform(seen, rows, self.n_jobs)
            yield Reached(seen.binned, rows, self.model._mean(vectors).reshape(len(rows), -1), rows[:0])

    def trained_layers(self, learned: Rows) -> Iterator[TrainedLayer]:
        """As in `Walk`: the loop of `fit` with the fitted layers."""
        rows = self._first_rows(learned)
        seen, vectors = self._seen(learned), np.empty(0)
        weights = weights_at(learned.weights, rows)
        for number in range(self.n_layers):
            if number:
                seen.fit_added(vectors.reshape(len(rows), -1), rows, self.n_jobs)
            trained, of_folds = self._trained(number, seen, rows, learned.y[rows], weights)
            yield trained
            if number + 1 < self.n_layers:
                goes_on = self._goes_on(number, rows)
                vectors = self._held_out_vectors(trained, of_folds, seen, learned.y[rows])[goes_on]
                rows = rows[goes_on]
                weights = self._weights(vectors, learned.y[rows], weights_at(learned.weights, rows))

    def _weights(self, vectors: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Weights with which the next layer learns from rows of these vectors, responses and user's weights."""
        return weights

    def _first_rows(self, learned: Rows) -> np.ndarray:
        """Training rows that the first layer learns from."""
        return rows_with_weight(learned.weights, len(learned.y))

    def _goes_on(self, number: int, rows: np.ndarray) -> np.ndarray:
        """Which training rows of a layer the next layer learns from."""
        return np.ones(len(rows), bool)

    def _members(self, number: int, seen: Representation) -> list[BaseEstimator]:
        """The unfitted forests of a layer, as `fit` used them."""
        return self.model._as_fitted._members()

    def _seen(self, learned: Rows) -> Representation:
        """Training rows with room for the columns that layers add."""
        return Representation.of_bins(learned.binned, self._n_added)

    def _trained(
        self,
        number: int,
        seen: Representation,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        share: float = 1.0,
    ) -> tuple[TrainedLayer, Layer]:
        """A layer with its training rows, and with the models of its folds, grown again if `fit` dropped them."""
        layer = of_folds = self._layers[number]
        if layer.folds is not None and len(layer.forests[0]) == 1 < int(layer.folds.of(y, 0).max()) + 1:
            classes = self.model.classes_ if layer.n_classes else None
            draw, precision = layer.folds, layer.vector_dtype
            rules = LayerRules(classes, draw.n_folds, "k_fold", precision, draw.entropy, self.n_jobs, Progress(0),
                               shared_folds=draw.level is None, n_targets=layer.n_targets)  # fmt: skip
            members = self._members(number, seen)
            of_folds = fit_layer(members, seen, rows, y, weights, rules, number, layer.added_mapper)[0]
        Y = self.responses(y)

        def learned(model: FoldForest, chosen: np.ndarray) -> LearnedForest:
            return learned_forest(model, seen.binned, rows, chosen, Y, weights)

        def models(of: Layer) -> list[list[tuple[LearnedForest, np.ndarray | None]]]:
            found: list[list[tuple[LearnedForest, np.ndarray | None]]] = []
            for k, ours in enumerate(of.our_forests):
                if of.folds is None or len(ours) == 1:
                    found.append([(learned(ours[0], np.arange(len(rows))), None)])
                else:
                    fold = of.folds.of(y, k)
                    found.append(
                        [(learned(m, np.flatnonzero(fold != i)), np.flatnonzero(fold == i)) for i, m in enumerate(ours)]
                    )
            return found

        held_out = models(of_folds)
        of_new_rows = held_out if of_folds is layer else models(layer)
        forests = [[model for model, _ in models] for models in of_new_rows]
        n_columns = (seen.n_given, seen.n_added)
        return TrainedLayer(seen.binned, rows, Y, weights, *n_columns, forests, held_out, share), of_folds

    def _held_out_vectors(
        self, trained: TrainedLayer, of_folds: Layer, seen: Representation, y: np.ndarray
    ) -> np.ndarray:
        """Held-out vectors of the training rows, as `fit` computed them; shape (n, n_forests, n_outputs)."""
        if of_folds.folds is not None:
            return of_folds.transform_held_out(seen, trained.rows, y, self.n_jobs)
        vectors = np.empty((len(y), len(trained.forests), trained.Y.shape[1]))
        for k, ((model, _),) in enumerate(trained.held_out):
            grown = GrownForest(
                *(model.trees, model.seeds, model.rows, model.n_draws, np.empty(0), model.offset, model.scale)
            )
            own = grown.oob_prediction(trained.binned, trained.rows, self.n_jobs)
            vectors[:, k] = np.where(np.isnan(own), trained.mean_response, own)
        return vectors.astype(of_folds.vector_dtype).astype(np.float32 if of_folds.n_classes else np.float64)

    def training_rows(self, given: Given | None = None) -> Rows:
        """As in `Walk`; an error if layers do not see the features, or hold estimators of other packages."""
        model = self.model
        if not hasattr(model, "features_"):
            raise ValueError(INTERRUPTED)
        if not isinstance(model.features_, PlainFeatures):
            raise ValueError(
                "The model scans windows (scanning is not None): its layers see class vectors of windows, not the "
                "features. Fit it without scanning to explain it."
            )
        for foreign in (m for layer in model.layers_ for models in layer.forests for m in models):
            if not is_ours(foreign):
                name = type(getattr(foreign, "estimator", foreign)).__name__
                raise ValueError(
                    f"The model has layers with {name}, which is no forest of ours, or has weights of its own: how its "
                    "predictions come about is not known. Fit the cascade without it in estimators."
                )
        return super().training_rows(given)

    def _reader(self) -> Any:
        return copy.copy(self.model._as_fitted)

    def _bins(self, X: MatrixLike) -> BinnedMatrix:
        features = self.model.features_
        assert isinstance(features, PlainFeatures), "training_rows refuses other features"
        return features.mapper.transform(X, n_jobs=self.n_jobs)


def learned_forest(
    model: FoldForest,
    binned: BinnedMatrix,
    rows: np.ndarray,
    chosen: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None,
) -> LearnedForest:
    """A forest with the rows that it learned from.

    Parameters
    ----------
    model : FoldForest
        The forest.
    binned : BinnedMatrix
        Columns that it saw.
    rows : ndarray of shape (n,), int32
        Training rows of the layer.
    chosen : ndarray of shape (n_chosen,), int
        Positions of the rows that the forest was given.
    Y : ndarray of shape (n, n_outputs)
        Responses of `rows`.
    weights : ndarray of shape (n,) or None
        Weights of `rows`. Rows whose weight becomes 0 in single precision are left out, as in the forest.

    Returns
    -------
    LearnedForest
    """
    own = None
    if weights is not None:
        own = kernel_weights(weights[chosen])
        chosen, own = chosen[own > 0], own[own > 0]
    return LearnedForest(
        *(model.trees, model.offset, model.scale, model.seeds, model.n_draws),
        *(binned, rows[chosen], chosen, Y[chosen], own),
    )
