"""The walk of rows through a fitted model, which explanations follow.

Each class of models that can be explained has a method ``walk`` in its own body. A subclass may predict in another way,
so it must define ``walk`` again.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import in_bag_counts, kernel_weights
from cascadeforest.forest.learned_rows import KeepsRows, Rows
from cascadeforest.forest.trees import Trees

if TYPE_CHECKING:
    from cascadeforest.forest._base import Forest

#: X, y and sample_weight as `fit` takes them.
Given = tuple[MatrixLike, ArrayLike, ArrayLike | None]

#: Error for models whose last fit failed.
INTERRUPTED = "The last fit of the model was interrupted by an error; fit it again."


class SharedColumns(NamedTuple):
    """Columns that a model computes from several features each; they come right after the features.

    What a split on such a column changes is divided equally among the features of the column (docs/explanations.md).

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    offsets : ndarray of shape (n_shared + 1,), int64
        The features of column s are ``features[offsets[s]:offsets[s + 1]]``.
    features : ndarray, int32
        Numbers of features, at least one for each column.
    """

    names: tuple[str, ...]
    offsets: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, features: Mapping[str, Sequence[int]]) -> SharedColumns:
        """Make an instance from the features of each column, by the column's name."""
        offsets = np.cumsum([0, *map(len, features.values())], dtype=np.int64)
        numbers = [number for own in features.values() for number in own]
        return cls(tuple(features), offsets, np.array(numbers, np.int32))


#: No shared columns.
NONE_SHARED = SharedColumns.of({})


@dataclass(frozen=True)
class LearnedForest:
    """A forest and the rows that it learned from.

    Parameters
    ----------
    trees : Trees
        The trees.
    offset : float or ndarray of shape (n_outputs,)
    scale : float
        The forest predicts ``offset + scale * value``.
    seeds : ndarray of shape (n_trees,), uint64
        Seeds that draw the bootstraps again.
    n_draws : int
        Number of draws of a bootstrap; 0 without bootstrap.
    binned : BinnedMatrix
        Features that the forest saw.
    rows : ndarray of shape (n,), int32
        Rows of the matrix that the forest learned from.
    places : ndarray of shape (n,), int64
        Positions of these rows among the training rows of the layer.
    Y : ndarray of shape (n, n_outputs)
        Responses of these rows: indicators of the classes, or targets.
    weights : ndarray of shape (n,) or None
        Weights of these rows.
    balance : bool
        Whether each tree balanced the weights of its classes (class_weight="balanced_subsample").
    """

    trees: Trees
    offset: float | np.ndarray
    scale: float
    seeds: np.ndarray
    n_draws: int
    binned: BinnedMatrix
    rows: np.ndarray
    places: np.ndarray
    Y: np.ndarray
    weights: np.ndarray | None
    balance: bool = False

    def in_bag(self, tree: int) -> np.ndarray:
        """How often a tree drew each of `rows`."""
        return in_bag_counts(self.seeds[tree], self.n_draws, len(self.rows))

    def tree_weights(self, tree: int) -> np.ndarray:
        """Weight of each of `rows` in a tree, shape (n,): 0 for rows out of the bag."""
        counts = self.in_bag(tree)
        weights = counts.astype(np.float64)
        if self.weights is not None:
            weights *= self.weights
        if self.balance:
            frequency = counts @ self.Y
            weights *= self.Y @ (counts.sum() / (np.count_nonzero(frequency) * np.maximum(frequency, 1)))
        return weights


@dataclass
class TrainedLayer:
    """A fitted layer and the rows that it learned from.

    Parameters
    ----------
    binned : BinnedMatrix
        Columns that the layer sees, for all training rows.
    rows : ndarray of shape (n,), int32
        Rows of the matrix that reach the layer, ascending.
    Y : ndarray of shape (n, n_outputs)
        Responses of these rows.
    weights : ndarray of shape (n,) or None
        Weights of these rows.
    n_given : int
        Number of the first columns that the layer sees: original features, then shared columns (`SharedColumns`).
    n_added : int
        Number of columns after them, which earlier layers predicted: the outputs of the first forest, of the
        second forest, and so on.
    forests : list of list of LearnedForest
        For each forest, its models; a new row gets their mean.
    held_out : list of list of (LearnedForest, ndarray or None)
        For each forest, the models that predict training rows, each with the positions of the rows that it held out.
        None instead of positions: each tree predicts the rows that it did not draw.
    share : float
        Weight of the layer in the model's prediction: ``(1 - share) * before + share * layer``.
    """

    binned: BinnedMatrix
    rows: np.ndarray
    Y: np.ndarray
    weights: np.ndarray | None
    n_given: int
    n_added: int
    forests: list[list[LearnedForest]]
    held_out: list[list[tuple[LearnedForest, np.ndarray | None]]]
    share: float = 1.0

    @property
    def mean_response(self) -> np.ndarray:
        """Prediction for a row that all trees drew, shape (n_outputs,)."""
        if self.weights is None:
            return self.Y.mean(axis=0)
        weighted = self.weights > 0
        return np.average(self.Y[weighted], axis=0, weights=self.weights[weighted])


class Reached(NamedTuple):
    """New rows at a layer.

    Parameters
    ----------
    binned : BinnedMatrix
        Columns that the layer sees, for all new rows; valid until the next layer.
    rows : ndarray of shape (n,), int32
        Rows that reach the layer.
    prediction : ndarray of shape (n_samples, n_outputs)
        Prediction for all rows by the layers so far.
    lasting : ndarray of int32
        Rows whose final prediction uses the prediction of this layer, if other layers follow.
    """

    binned: BinnedMatrix
    rows: np.ndarray
    prediction: np.ndarray
    lasting: np.ndarray


class Walk(ABC):
    """How rows go through a fitted model, layer by layer.

    Parameters
    ----------
    model : estimator
        Fitted model.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    rows_leave : bool
        Whether each row is predicted by the last layer that it reaches, so that later layers learn from fewer rows.
    passes_sum_on : bool
        Whether layers see the prediction of all earlier layers together, instead of the last layer's prediction.
    is_staged : bool
        Whether the staged predictions of the model are those of the layers.
    """

    rows_leave: bool = False
    passes_sum_on: bool = False
    is_staged: bool = True

    def __init__(self, model: KeepsRows, n_jobs: int | None = None):
        self.model: Any = model  # each kind of walk knows the attributes of its own models
        self.n_jobs = n_jobs

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return 1

    @property
    def vector_dtype(self) -> str:
        """Precision of a layer's predictions: "float64", "float32" or "float16"."""
        return "float64"

    def columns_of(self, number: int) -> tuple[int, int]:
        """`n_given` and `n_added` of a layer (see `TrainedLayer`)."""
        return self.model.n_features_in_, 0

    @property
    def shared_columns(self) -> SharedColumns:
        """Columns behind the features that the model computes from several features each."""
        return NONE_SHARED

    @abstractmethod
    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """Yield new rows at each layer; the last one has the prediction of the model."""

    @abstractmethod
    def trained_layers(self, learned: Rows) -> Iterator[TrainedLayer]:
        """Yield each layer with its training rows, from `training_rows`; valid until the next layer."""

    @abstractmethod
    def _reader(self) -> Any:
        """A copy of the model with the parameters of `fit`, which can check new rows."""

    @abstractmethod
    def _bins(self, X: MatrixLike) -> BinnedMatrix:
        """Checked training rows in the bins of the model, as `training_rows` has them."""

    def values(self, learned: Rows) -> np.ndarray:
        """Feature values of the training rows, as `Rows.values` gives them."""
        return learned.values()

    def training_rows(self, given: Given | None = None) -> Rows:
        """Rows that the model learned from.

        Parameters
        ----------
        given : tuple of (X, y, sample_weight), optional
            The arguments of `fit`; None for the rows that the model keeps.

        Returns
        -------
        Rows

        Raises
        ------
        ValueError
            If the model keeps no rows and none are given, or if the given rows differ from the rows of `fit`.
        """
        known = self.model._learned_rows
        if known is None:
            raise ValueError(INTERRUPTED)
        if given is not None:
            rows = self._read(given)
            if name := known.difference(rows):
                raise ValueError(
                    f"{name} is not what the model learned from; give the same rows as fit had, in the same order, "
                    "with the same sample_weight and class_weight."
                )
            return rows._replace(centers=known.centers)
        if known.rows is None:
            raise ValueError(
                "The model has no training rows: it was pickled or saved, came back from another process, or was told "
                "to forget them; models keep them in memory only. Give X_train, y_train (and sample_weight): what fit "
                "had."
            )
        return known.rows

    def _read(self, given: Given) -> Rows:
        """Check and bin rows as `fit` does."""
        reader, model = self._reader(), self.model
        X, y, _, weights, *balanced = reader._training_data(*given)
        if reader.n_features_in_ != model.n_features_in_:
            raise ValueError(
                f"X_train has {reader.n_features_in_} features, but the model learned from {model.n_features_in_}; "
                "give the rows that it learned from."
            )
        names, known = (getattr(m, "feature_names_in_", None) for m in (reader, model))
        if names is not None and known is not None and (other := names != known).any():
            raise ValueError(
                f"X_train has the column {names[other][0]!r} where the model learned from {known[other][0]!r}; give "
                "the rows that it learned from."
            )
        if hasattr(model, "classes_") and not np.array_equal(reader.classes_, model.classes_):
            raise ValueError(
                f"y_train has the classes {reader.classes_.tolist()}, but the model learned "
                f"{model.classes_.tolist()}; give the rows that it learned from."
            )
        return Rows.of(self._bins(X), y, weights, balanced=any(balanced))

    def responses(self, y: np.ndarray) -> np.ndarray:
        """Indicators of class numbers, or targets, as an array of shape (n_samples, n_outputs)."""
        return np.eye(len(self.model.classes_))[y] if hasattr(self.model, "classes_") else y.reshape(len(y), -1).copy()


class ForestWalk(Walk):
    """Walk of a single forest: one layer."""

    model: Forest

    def layers(self, X: MatrixLike) -> Iterator[Reached]:
        """As in `Walk`."""
        model, binned = self.model, self.model._binned(X)
        rows = np.arange(binned.columns.shape[1], dtype=np.int32)
        values = model.trees_.predict(binned, n_jobs=self.n_jobs)
        yield Reached(binned, rows, model._offset + model._scale * values, rows)

    def trained_layers(self, learned: Rows) -> Iterator[TrainedLayer]:
        """As in `Walk`; rows of weight 0 are held out too."""
        model, bags, Y, weights = self.model, self.model._bags, self.responses(learned.y), learned.weights
        rows = np.arange(len(Y), dtype=np.int32)
        kept = rows if weights is None else rows[weights > 0]
        forest = LearnedForest(
            *(model.trees_, model._offset, model._scale, bags.seeds, bags.n_draws),
            *(learned.binned, kept, kept.astype(np.int64), Y[kept], None if weights is None else weights[kept]),
            learned.balanced,
        )
        yield TrainedLayer(learned.binned, rows, Y, weights, model.n_features_in_, 0, [[forest]], [[(forest, None)]])

    def training_rows(self, given: Given | None = None) -> Rows:
        """As in `Walk`, with the weights that the trees used."""
        rows = super().training_rows(given)
        return rows if rows.weights is None else rows._replace(weights=kernel_weights(rows.weights))

    def _reader(self) -> Any:
        reader = copy.copy(self.model)
        reader.__dict__.update(self.model._weighted_by)
        return reader

    def _bins(self, X: MatrixLike) -> BinnedMatrix:
        return self.model.bin_mapper_.transform(X, n_jobs=self.n_jobs)
