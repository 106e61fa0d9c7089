"""Contributions layer by layer: each layer with its training rows, and contributions to the columns that it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from cascadeforest.explanations._forests import (
    LeafTables,
    Preceding,
    SeenColumns,
    TableLayout,
    contributions,
    equal_shares,
    impurity_decreases,
    mean_root,
)
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.learned_rows import Rows
from cascadeforest.forest.trees import Trees
from cascadeforest.forest.walks import NONE_SHARED, LearnedForest, TrainedLayer, Walk
from cascadeforest.kernels.contributions import MULTIPLICATIVE, calibrate

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How contributions are computed: calibration (see `kernels.contributions`), rows (see `Preceding`), threads."""

    rule: int
    all_rows: bool
    n_jobs: int | None

    @property
    def dtype(self) -> type:
        """Type of the contributions that are passed on to the next layer.

        Single precision takes half of the memory and is enough for additive and partial calibration. Eq. 23 divides by
        sums that nearly cancel, and needs double precision.
        """
        return np.float64 if self.rule == MULTIPLICATIVE else np.float32


@dataclass
class Part:
    """Bias, shape (n, n_outputs), and contributions, shape (n, n_outputs * n_features), of some rows."""

    bias: np.ndarray
    contributions: np.ndarray


@dataclass
class Joined:
    """How the part of a layer joins the result of the layers before.

    Parameters
    ----------
    share : float
        Weight of the layer in the prediction (see `TrainedLayer`).
    passage : Part or None
        As in `Level`.
    """

    share: float
    passage: Part | None

    def add_to(self, result: Part, rows: np.ndarray, own: Part) -> None:
        """Combine the layer's part for `rows`, in place, with the result of the layers before."""
        if self.passage is not None:
            result.bias[rows] = own.bias - self.passage.bias
            result.contributions[rows] = own.contributions + self.passage.contributions
        elif self.share == 1:
            result.bias[rows], result.contributions[rows] = own.bias, own.contributions
        else:
            result.bias[rows] = (1.0 - self.share) * result.bias[rows] + self.share * own.bias
            result.contributions *= 1.0 - self.share
            result.contributions[rows] += self.share * own.contributions


@dataclass
class LevelTables:
    """One layer with its leaf tables: it explains new rows without training rows.

    Parameters
    ----------
    bias : ndarray of shape (n_outputs,)
        Bias of new rows.
    joined : Joined
        How the layer's part joins the layers before.
    forests : list of list of (Trees, LeafTables)
        For each forest, its models; a new row gets their mean.
    """

    bias: np.ndarray
    joined: Joined
    forests: list[list[tuple[Trees, LeafTables]]]

    def check(self) -> None:
        """Check that kernels can follow the tables (`LeafTables.check`)."""
        for trees, tables in (model for models in self.forests for model in models):
            tables.check(trees)

    @property
    def n_bytes(self) -> int:
        """Size of the tables."""
        return sum(tables.n_bytes for models in self.forests for _, tables in models)

    def of_new_rows(self, binned: BinnedMatrix, rows: np.ndarray, n_jobs: int | None) -> Part:
        """As in `Level`."""

        def of_model(model: tuple[Trees, LeafTables]) -> np.ndarray:
            trees, tables = model
            return tables.contributions(trees.apply(binned, rows, n_jobs=n_jobs), n_jobs)

        return _mean_part(self.bias, len(rows), self.forests, of_model)


def _mean_part(bias: np.ndarray, n: int, forests: list[list[T]], of_model: Callable[[T], np.ndarray]) -> Part:
    """The bias for each row, and the mean of contributions over models and forests."""
    total: np.ndarray | None = None
    for models in forests:
        for model in models:
            own = of_model(model)
            own /= len(models) * len(forests)
            total = own if total is None else np.add(total, own, out=total)
    assert total is not None, "a layer has at least one forest"
    return Part(np.broadcast_to(bias, (n, len(bias))), total)


@dataclass
class Level:
    """One layer with its training rows.

    Parameters
    ----------
    layer : TrainedLayer
        The layer.
    seen : SeenColumns
        Columns that the layer sees.
    options : Options
        How contributions are computed.
    hands_on : bool
        Whether a later layer sees the predictions of this layer.
    passage : Part or None
        If rows leave: the change of the bias from the first layer to this layer, shape (1, n_outputs), and the
        contributions of the features to the change.
    """

    layer: TrainedLayer
    seen: SeenColumns
    options: Options
    hands_on: bool
    passage: Part | None = None

    def _mean(self, of_model: Callable[[LearnedForest], np.ndarray]) -> np.ndarray:
        """Mean over forests of the mean over their models."""
        return np.mean([np.mean([of_model(m) for m in models], axis=0) for models in self.layer.forests], axis=0)

    @cached_property
    def bias(self) -> np.ndarray:
        """Mean response at the roots of the trees: the bias of new rows, shape (n_outputs,)."""
        return self._mean(mean_root)

    def of_new_rows(self, binned: BinnedMatrix, rows: np.ndarray, n_jobs: int | None) -> Part:
        """Bias and contributions of new rows, mean over models and forests, from the training rows."""

        def of_model(model: LearnedForest) -> np.ndarray:
            return contributions(model, self.seen, binned, rows, n_jobs=n_jobs)[0]

        return _mean_part(self.bias, len(rows), self.layer.forests, of_model)

    def tables(self, most_bytes: float) -> LevelTables | None:
        """Make the leaf tables of the layer; None if they take more than `most_bytes`."""
        n_outputs = self.layer.Y.shape[1]
        n_given, n_features = self.seen.n_given, self.seen.n_features
        layouts = [[(model, TableLayout.of(model.trees, n_given)) for model in models] for models in self.layer.forests]
        if sum(own.n_bytes(n_outputs, n_features) for models in layouts for _, own in models) > most_bytes:
            return None

        def tables(model: LearnedForest, layout: TableLayout) -> tuple[Trees, LeafTables]:
            return model.trees, layout.fill(model, self.seen, self.options.n_jobs)

        return LevelTables(self.bias, self.joined, [[tables(*model) for model in models] for models in layouts])

    @property
    def joined(self) -> Joined:
        """How the layer's part joins the layers before."""
        return Joined(self.layer.share, self.passage)

    def as_it_is(self) -> Level:
        """The same layer, with shared columns and the columns that earlier layers added treated as features."""
        seen = SeenColumns(self.layer.n_given + self.layer.n_added, NONE_SHARED, None)
        return replace(self, seen=seen, hands_on=False)

    @cached_property
    def held_out(self) -> tuple[Part, np.ndarray | None]:
        """Held-out bias and contributions of training rows, mean over forests.

        The array of shape (n_forests, n, n_outputs * n_features) has the contributions of each forest, if the next
        layer needs them (see `Options.dtype`).
        """
        n_forests, mean = len(self.layer.forests), self._zeros()
        of_forests = np.empty((n_forests, *mean.contributions.shape), self.options.dtype) if self.hands_on else None
        for k in range(n_forests):
            part = self._held_out_of(k)
            if of_forests is not None:
                of_forests[k] = part.contributions
            mean.bias += part.bias / n_forests
            part.contributions /= n_forests
            mean.contributions += part.contributions
        return mean, of_forests

    def _held_out_of(self, k: int) -> Part:
        """Held-out bias and contributions of training rows in forest k."""
        layer, part = self.layer, self._zeros()
        for model, places in layer.held_out[k]:
            if places is None and not model.n_draws:
                raise ValueError(
                    "The forest has no rows out of the bag: bootstrap is False. Ask for importances with "
                    "rows='in_bag', explain other rows than it learned from, or fit it with bootstrap=True."
                )
            rows = slice(None) if places is None else places
            own, bias = contributions(
                *(model, self.seen, layer.binned, layer.rows[rows]),
                out_of_bag=places is None,
                n_jobs=self.options.n_jobs,
            )
            part.contributions[rows], part.bias[rows] = own, np.where(np.isnan(bias), layer.mean_response, bias)
        return part

    def _zeros(self) -> Part:
        n, n_outputs = self.layer.Y.shape
        return Part(np.zeros((n, n_outputs)), np.zeros((n, n_outputs * self.seen.n_features)))

    def impurity_decreases(self, *, out_of_bag: bool = False) -> np.ndarray:
        """Mean of Eq. 10 over forests and models (see `_forests`), shape (n_features, n_outputs)."""
        seen, n_jobs = self.seen, self.options.n_jobs
        return self._mean(lambda m: impurity_decreases(m, seen, out_of_bag=out_of_bag, n_jobs=n_jobs))


def levels(walk: Walk, learned: Rows, options: Options) -> Iterator[Level]:
    """Yield the layers, each valid until the next one: of earlier layers only contributions stay in memory."""
    shared = walk.shared_columns
    n_features = walk.columns_of(0)[0] - len(shared.names)
    level: Level | None = None
    behind: np.ndarray | None = None  # contributions to the columns that the next layer sees of earlier layers
    for number, layer in enumerate(walk.trained_layers(learned)):
        before = None
        if level is not None and behind is not None and layer.n_added:
            goes_on = _goes_on(level, layer)
            if not goes_on.all():
                behind = np.ascontiguousarray(behind[:, goes_on])  # as the kernels take it
            before = Preceding.of(behind, n_features, layer.n_given, options.rule, options.all_rows)
        hands_on = number + 1 < walk.n_layers and walk.columns_of(number + 1)[1] > 0
        previous, level = level, Level(layer, SeenColumns(n_features, shared, before), options, hands_on)
        if walk.rows_leave:
            level.passage = _passage(previous, level)
        del previous
        yield level
        own = level.held_out[1] if hands_on else None
        if behind is None or own is None or not walk.passes_sum_on:
            behind = own
        else:
            for total, part in zip(behind, own, strict=True):
                total *= 1.0 - layer.share
                total += part.dtype.type(layer.share) * part


def _goes_on(level: Level, layer: TrainedLayer) -> np.ndarray:
    """Which training rows of a level reach the next layer."""
    return np.isin(level.layer.rows, layer.rows, assume_unique=True)


def _passage(previous: Level | None, level: Level) -> Part:
    """Change of the bias from the first level to this level, and the contributions of the features to the change.

    The passage from one level to the next counts as a split on the prediction of the level: one child has the training
    rows that go on. It changes the mean response of the level's rows to the mean response of the next level's rows. The
    contributions to this change are estimated and calibrated as in any split (docs/explanations.md).
    """
    n_outputs = level.layer.Y.shape[1]
    n_features, before = level.seen.n_features, level.seen.before
    if previous is None or previous.passage is None:
        return Part(np.zeros((1, n_outputs)), np.zeros((1, n_outputs * n_features)))
    all_rows = previous.held_out[0].contributions
    equal = equal_shares(all_rows[None], n_features) if before is None else before.equal
    estimated = np.average(all_rows[_goes_on(previous, level.layer)], axis=0, weights=level.layer.weights)
    estimated -= np.average(all_rows, axis=0, weights=previous.layer.weights)
    change = level.bias - previous.bias
    calibrate(estimated, change, equal, level.options.rule)
    return Part(previous.passage.bias + change, previous.passage.contributions + estimated)
