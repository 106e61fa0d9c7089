"""Multi-grained scanning: forests predict the class of windows that slide over sequences and images.

Every window of a row is an instance with the row's class. Forests learn from the windows. The class vectors of all
positions, one after another, are the row's new features (Zhou and Feng 2017, section 2.2). gcForest_CS uses only some
positions, and draws other positions at each level (Pang et al. 2018, section II).

Windows are not copied. The first value of a window determines where it is in the binned data, and the distances from
there to its other values are the same for all windows. The kernel sees a matrix whose columns overlap in memory
(`BinnedMatrix`); a row number of this matrix is the place of a first value. A window takes the memory of one row
number.

Memory, besides one byte per value of X and per class vector entry: about 80 bytes per thread for each window that a
tree learns from, and `BLOCK_BYTES` while class vectors are computed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.progress import Progress
from cascadeforest.cascade.representation import Reader, Representation
from cascadeforest.forest._base import X_DTYPES, ForestClassifier
from cascadeforest.forest._parameters import (
    check_choice,
    check_count,
    check_jobs,
    check_one_output,
    count_of,
    entropy_of,
)
from cascadeforest.forest._types import MatrixLike, RandomState
from cascadeforest.forest.binning import MAX_BINS, BinMapper, BinnedMatrix
from cascadeforest.forest.categories import Categories
from cascadeforest.forest.estimators import FORESTS
from cascadeforest.forest.growth import grow_forest, tree_seeds
from cascadeforest.forest.seeds import seed_at
from cascadeforest.forest.trees import Trees

#: Memory for class vectors that are computed at one time. It does not bound the size of the data.
BLOCK_BYTES = 1 << 26
#: Maximum number of values from which the bins of pixels are found; more values hardly change the bins.
_BIN_VALUES = 1_000_000
#: Number of levels whose subsampled features a level sees: 'the features from the recent three levels are
#: concatenated'.
RECENT_LEVELS = 3
#: Purposes of random numbers in a scanner: parts of the seed address (`seed_at`).
_BINS, _POSITIONS, _FOLDS, _MODEL = range(4)
#: Seed address of scanning in a cascade. The levels have their own numbers.
SCANNING = 2**18


@dataclass(frozen=True)
class Grain:
    """One window size for rows of one shape.

    Parameters
    ----------
    shape : tuple of int
        Shape of a row: length of a sequence; height, width and, if there are any, channels of an image.
    window : tuple of int
        Length, or height and width.
    stride : int
        Steps between windows.
    """

    shape: tuple[int, ...]
    window: tuple[int, ...]
    stride: int

    @property
    def n_values(self) -> int:
        """Number of values in a row."""
        return math.prod(self.shape)

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of positions along each axis."""
        return tuple((n - w) // self.stride + 1 for n, w in zip(self.shape, self.window, strict=False))

    @property
    def _steps(self) -> tuple[int, ...]:
        """Distance in memory between neighbouring values, for each axis along which windows move."""
        channels = self.shape[2] if len(self.shape) == 3 else 1
        return (1,) if len(self.window) == 1 else (self.shape[1] * channels, channels)

    @property
    def positions(self) -> np.ndarray:
        """Start of each window, counted from the row's first value."""
        axes = [range(0, n * self.stride, self.stride) for n in self.grid]
        return np.array([sum(map(int.__mul__, p, self._steps)) for p in product(*axes)], np.int64)

    @property
    def offsets(self) -> np.ndarray:
        """Place of each value of a window, counted from the window's first value."""
        axes = [range(n) for n in self.window]
        starts = np.array([sum(map(int.__mul__, p, self._steps)) for p in product(*axes)], np.int64)
        channels = self.shape[2] if len(self.shape) == 3 else 1
        return (starts[:, None] + np.arange(channels)).reshape(-1)


class Pixels:
    """All binned rows, one byte per value, row after row in memory.

    Parameters
    ----------
    flat : ndarray of shape (n_rows * n_values,), uint8
        Bins.
    n_values : int
        Number of values in a row.
    centers : ndarray of shape (MAX_BINS,) or None
        Centers of the bins, needed to grow trees. All pixels have the same bins.
    """

    def __init__(self, flat: np.ndarray, n_values: int, centers: np.ndarray | None):
        self.flat, self.n_values, self.centers = flat, n_values, centers

    @classmethod
    def of_training_rows(
        cls, X: np.ndarray, seed: np.random.SeedSequence, n_jobs: int | None, rows: np.ndarray | None = None
    ) -> tuple[Pixels, BinMapper]:
        """Bin the values of all pixels with the same bins, since a window may start at any position.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_values), C order
            float32 or float64.
        seed : SeedSequence
            Seed of the draw of values from which bins are found, if there are more than a million values.
        n_jobs : int or None
            Threads.
        rows : ndarray of int, optional
            Rows from which the bins are found; all rows by default.

        Returns
        -------
        Pixels
        BinMapper
            Maps other rows to the same bins.
        """
        rows = np.arange(len(X)) if rows is None else rows
        n_values = X.shape[1]
        if len(rows) * n_values > _BIN_VALUES:
            drawn = np.random.default_rng(seed).integers(len(rows) * n_values, size=_BIN_VALUES)
            sample = X[rows[drawn // n_values], drawn % n_values]
        else:
            sample = X[rows]
        mapper = BinMapper()
        centers = mapper.fit_transform(sample.reshape(-1, 1), n_jobs=n_jobs).known_centers[0]
        flat = mapper.transform(X.reshape(-1, 1), n_jobs=n_jobs).columns[0]
        return cls(flat, n_values, centers), mapper

    @classmethod
    def of_new_rows(cls, X: np.ndarray, mapper: BinMapper, n_jobs: int | None) -> Pixels:
        """Bin rows to predict, with the bins of the training rows."""
        return cls(mapper.transform(X.reshape(-1, 1), n_jobs=n_jobs).columns[0], X.shape[1], None)

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return len(self.flat) // self.n_values

    def windows(self, grain: Grain) -> BinnedMatrix:
        """Return the matrix whose row r is the window that begins at ``flat[r]``, without a copy."""
        span = int(grain.offsets[-1]) + 1
        centers = None if self.centers is None else np.tile(self.centers, (span, 1))
        return BinnedMatrix(sliding_window_view(self.flat, len(self.flat) - span + 1), centers)

    def places(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Row numbers in `windows`, ordered by row and position; a ValueError if they exceed the integer type."""
        if len(rows) and (int(rows.max()) + 1) * self.n_values > np.iinfo(np.int32).max:
            raise ValueError(
                f"X has {int(rows.max()) + 1} rows of {self.n_values} numbers; scanning numbers up to 2**31 of them "
                "together: scan fewer rows."
            )
        return (rows.astype(np.int64)[:, None] * self.n_values + positions).reshape(-1).astype(np.int32)


@dataclass(frozen=True)
class ScanRules:
    """Settings that all scans of a scanner share."""

    members: list[ForestClassifier]
    n_classes: int
    n_folds: int
    pooling: int
    entropy: int
    n_jobs: int | None
    progress: Progress


@dataclass(frozen=True)
class Scan:
    """Fitted forests of one window size, and the positions that they predict.

    Parameters
    ----------
    grain : Grain
        Window size and stride.
    positions : ndarray of int
        Chosen positions, as indices into ``grain.positions``, ascending.
    forests : list of list of Trees
        Fold models of each forest.
    pooling : int
        Side of the squares of positions whose vectors are averaged; 1: no averaging.
    """

    grain: Grain
    positions: np.ndarray
    forests: list[list[Trees]]
    pooling: int

    @property
    def places(self) -> Sequence[int] | np.ndarray:
        """Numbers of the positions, or of the squares of positions if pooled, that have columns."""
        if self.pooling > 1:
            return range(math.prod(-(-n // self.pooling) for n in self.grain.grid))
        return self.positions

    @property
    def n_features(self) -> int:
        """Number of columns that the scan gives."""
        return len(self.places) * len(self.forests) * self.forests[0][0].n_classes

    def blocks(
        self, pixels: Pixels, rows: np.ndarray, n_jobs: int | None, folds: Sequence[np.ndarray] | None = None
    ) -> Iterator[np.ndarray]:
        """Compute class vectors of `rows`, some positions at a time.

        Parameters
        ----------
        pixels : Pixels
            The data.
        rows : ndarray of shape (n,), int
            Rows of `pixels`.
        n_jobs : int or None
            Threads.
        folds : sequence of ndarray of shape (n,), optional
            For training rows: for each forest, the fold in which each row was held out; this fold's model predicts the
            row. By default, the mean of all fold models.

        Yields
        ------
        ndarray of shape (n, n_columns), float32
            Columns in order: position, forest, class.
        """
        windows, begins = pixels.windows(self.grain), self.grain.positions[self.positions]
        n_classes = self.forests[0][0].n_classes
        # A window takes up to 24 bytes (its number, as it is made and as it is kept, and its weight), a vector 4 for
        # each forest and up to 24 while it is summed up.
        for first, last in self._parts(len(rows) * (24 + n_classes * (24 + 4 * len(self.forests)))):
            vectors = np.empty((len(rows), last - first, len(self.forests), n_classes), np.float32)
            for k, models in enumerate(self.forests):
                for i, trees in enumerate(models):
                    asked = slice(None) if folds is None else np.flatnonzero(folds[k] == i)
                    places = pixels.places(rows[asked], begins[first:last])
                    made = trees.predict(windows, places, n_jobs=n_jobs).reshape(-1, last - first, n_classes)
                    if folds is not None:
                        vectors[asked, :, k] = made
                    elif i == 0:
                        total = made
                    else:
                        total += made
                if folds is None:
                    total /= len(models)
                    vectors[:, :, k] = total
            yield self._averaged(vectors).reshape(len(rows), -1)

    def _parts(self, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Ranges of positions that fit into a block, at `n_bytes` per position; whole lines of squares if pooled."""
        unit = 1 if self.pooling == 1 else self.pooling * self.grain.grid[1]
        step = max(1, BLOCK_BYTES // (max(1, n_bytes) * unit)) * unit
        for first in range(0, len(self.positions), step):
            yield first, min(first + step, len(self.positions))

    def _averaged(self, vectors: np.ndarray) -> np.ndarray:
        """Means over squares of positions, as the released code pools; incomplete squares at the border are kept."""
        if self.pooling == 1:
            return vectors
        width = self.grain.grid[1]
        n, n_positions, *rest = vectors.shape
        grid = vectors.reshape(n, n_positions // width, width, *rest)
        for axis in (1, 2):
            starts = np.arange(0, grid.shape[axis], self.pooling)
            sizes = np.diff(np.append(starts, grid.shape[axis])).reshape([-1 if a == axis else 1 for a in range(5)])
            grid = np.add.reduceat(grid, starts, axis=axis) / sizes.astype(np.float32)
        return grid.reshape(n, -1, *rest)


def fit_scan(
    pixels: Pixels,
    grain: Grain,
    positions: np.ndarray,
    rows: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    rules: ScanRules,
    address: tuple[int, ...],
) -> tuple[Scan, list[np.ndarray]]:
    """Fit the forests of one window size.

    Parameters
    ----------
    pixels : Pixels
        The data.
    grain : Grain
        Window size and stride.
    positions : ndarray of int
        Positions of the windows, as indices into ``grain.positions``.
    rows : ndarray of shape (n,), int
        Rows of the data to learn from.
    y : ndarray of shape (n,), int
        Class numbers of `rows`.
    weights : ndarray of shape (n,) or None
        Weights of `rows`.
    rules : ScanRules
        Forests and folds.
    address : tuple of int
        Seed address of the scan.

    Returns
    -------
    Scan
    folds : list of ndarray of shape (n,)
        For each forest, the fold of each row. All windows of a row are in one fold: windows of a row overlap, so
        windows in other folds would leak the row's class.
    """
    windows, begins = pixels.windows(grain), grain.positions[positions]
    offsets = grain.offsets
    forests, folds = [], []
    for k, member in enumerate(rules.members):
        fold = stratified_folds(y, rules.n_folds, seed_at(rules.entropy, *address, k, _FOLDS))
        models = []
        for i in range(int(fold.max()) + 1):
            learned = fold != i
            n_instances = int(np.count_nonzero(learned)) * len(begins)
            grown = grow_forest(
                windows,
                np.repeat(y[learned], len(begins)),
                n_classes=rules.n_classes,
                rules=member.growth_rules(n_instances, len(offsets)),
                seeds=tree_seeds(seed_at(rules.entropy, *address, k, _MODEL, i), member.n_estimators),
                rows=pixels.places(rows[learned], begins),
                weights=None if weights is None else np.repeat(weights[learned], len(begins)),
                bootstrap=member.bootstrap,
                max_samples=None if member.max_samples is None else min(member.max_samples, n_instances),
                features=offsets,
                n_jobs=rules.n_jobs,
            )
            models.append(grown.trees)
        forests.append(models)
        folds.append(fold)
    return Scan(grain, positions, forests, rules.pooling), folds


@dataclass(frozen=True)
class Scanning:
    """Checked settings of a scanner for data of one shape.

    Parameters
    ----------
    grains : list of Grain
        Window sizes.
    rules : ScanRules
        Forests and folds.
    subsample : int, float or None
        Number or share of the positions of each window size that a level uses; None for all.
    """

    grains: list[Grain]
    rules: ScanRules
    subsample: int | float | None

    def pixels(self, X: np.ndarray, rows: np.ndarray) -> tuple[Pixels, BinMapper]:
        """Bin the training rows; the bins are found from `rows`."""
        return Pixels.of_training_rows(X, seed_at(self.rules.entropy, SCANNING, _BINS), self.rules.n_jobs, rows)

    def positions(self, grain: Grain, address: tuple[int, ...]) -> np.ndarray:
        """Positions to use, ascending: all positions, or `subsample` of them, drawn without replacement."""
        n_positions = math.prod(grain.grid)
        if self.subsample is None:
            return np.arange(n_positions)
        n_drawn = count_of("subsample", self.subsample, n_positions)
        rng = np.random.default_rng(seed_at(self.rules.entropy, *address, _POSITIONS))
        return np.sort(rng.choice(n_positions, n_drawn, replace=False))

    def fit(
        self,
        k: int,
        pixels: Pixels,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        level: int | None = None,
    ) -> tuple[Scan, list[np.ndarray]]:
        """Fit the forests of window size `k` (see `fit_scan`); if a level is given, with its own seeds."""
        address = (SCANNING, k) if level is None else (SCANNING, k, level)
        grain = self.grains[k]
        positions = self.positions(grain, address)
        self.rules.progress.say(
            "scanning with windows of %s: %d rows, %d positions, %d trees a forest",
            *(" x ".join(map(str, grain.window)), len(rows), len(positions), self.rules.members[0].n_estimators),
        )
        return fit_scan(pixels, grain, positions, rows, y, weights, self.rules, address)


class FixedGrains:
    """Features of levels with full scanning: each level sees the class vectors of one window size, in turn.

    The forests of a window size are fitted when a level first needs them; a cascade that ends early fits fewer forests.

    Parameters
    ----------
    scanning : Scanning
        Settings.
    room : int
        Columns that a layer may add.
    """

    def __init__(self, scanning: Scanning, room: int):
        self._scanning, self._room = scanning, room
        #: Levels until all window sizes were seen.
        self.cycle = len(scanning.grains)

    def fit(self, X: np.ndarray, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Bin the data, and store the rows that the forests of all window sizes learn from."""
        pixels, self._bins = self._scanning.pixels(X, rows)
        self._training = (pixels, rows, y, weights)
        self._scans: list[Scan] = []
        self._mappers: list[BinMapper] = []
        self._seen: list[Representation] = []

    def at(self, level: int, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Representation:
        """The columns that a level sees of the training rows `rows` that reached it; the scan learned from all rows."""
        k = level % len(self._scanning.grains)
        if k == len(self._seen):  # levels come in order
            pixels, everyone, *_ = self._training
            scan, folds = self._scanning.fit(k, *self._training)
            columns, centers, mapper = _binned(scan, pixels, everyone, folds, self._room, self._scanning.rules.n_jobs)
            self._scans.append(scan)
            self._mappers.append(mapper)
            self._seen.append(Representation(columns, centers, scan.n_features))
        return self._seen[k]

    def finish(self, n_levels: int) -> None:
        """Keep what rows to predict need: the scans that the kept levels see."""
        self._seen = []
        del self._training
        self._scans, self._mappers = self._scans[:n_levels], self._mappers[:n_levels]

    def reader(self, X: np.ndarray, n_jobs: int | None) -> Reader:
        """Return a function ``reader(level, rows)`` that gives the columns that a level sees."""
        pixels = Pixels.of_new_rows(X, self._bins, n_jobs)
        made: dict[int, Representation] = {}

        def at(level: int, rows: np.ndarray) -> Representation:
            k = level % len(self._scanning.grains)
            if k not in made:  # rows of a later level are a subset of the rows of earlier levels
                columns = _read(self._scans[k], pixels, rows, self._mappers[k], self._room, n_jobs)
                made[k] = Representation(columns, None, self._scans[k].n_features)
            return made[k]

        return at


class FreshGrains:
    """Features of levels with subsampled scanning: each level fits forests on its own positions.

    A level sees the class vectors from the most recent levels. Its positions are the same for all rows, so that a
    column has the same meaning in each row.

    Parameters
    ----------
    scanning : Scanning
        Settings.
    room : int
        Columns that a layer may add.
    """

    #: Each level sees all window sizes.
    cycle = 1

    def __init__(self, scanning: Scanning, room: int):
        self._scanning, self._room = scanning, room

    def fit(self, X: np.ndarray, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Bin the data; forests are fitted when a level needs them."""
        self._pixels, self._bins = self._scanning.pixels(X, rows)
        self._levels: list[list[tuple[Scan, BinMapper]]] = []
        self._recent: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=RECENT_LEVELS)

    def at(self, level: int, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Representation:
        """Fit the scanning forests of a level on the rows that reached it; return the columns that the level sees."""
        scans, columns, centers = [], [], []
        for k in range(len(self._scanning.grains)):
            scan, folds = self._scanning.fit(k, self._pixels, rows, y, weights, level)
            of_scan = _binned(scan, self._pixels, rows, folds, 0, self._scanning.rules.n_jobs)
            scans.append((scan, of_scan[2]))
            columns.append(of_scan[0])
            centers.append(of_scan[1])
        self._levels.append(scans)
        self._recent.append((np.vstack(columns), np.vstack(centers)))
        return _side_by_side([c for c, _ in self._recent], [c for _, c in self._recent], self._room)

    def finish(self, n_levels: int) -> None:
        """Keep what rows to predict need: the scans of the levels that are kept."""
        self._levels = self._levels[:n_levels]
        del self._pixels, self._recent

    def reader(self, X: np.ndarray, n_jobs: int | None) -> Reader:
        """Return a function ``reader(level, rows)`` that gives the columns that a level sees; levels come in order."""
        pixels = Pixels.of_new_rows(X, self._bins, n_jobs)
        recent: deque[np.ndarray] = deque(maxlen=RECENT_LEVELS)

        def at(level: int, rows: np.ndarray) -> Representation:
            scans = self._levels[level]
            recent.append(np.vstack([_read(scan, pixels, rows, mapper, 0, n_jobs) for scan, mapper in scans]))
            return _side_by_side(list(recent), None, self._room)

        return at


def _side_by_side(columns: list[np.ndarray], centers: list[np.ndarray] | None, room: int) -> Representation:
    """Join the features of several levels, with room for added columns."""
    n_given = sum(map(len, columns))
    joined = np.empty((n_given + room, columns[0].shape[1]), np.uint8)
    np.concatenate(columns, out=joined[:n_given])
    joined_centers = None
    if centers is not None:
        joined_centers = np.empty((n_given + room, MAX_BINS))
        np.concatenate(centers, out=joined_centers[:n_given])
    return Representation(joined, joined_centers, n_given)


def _binned(
    scan: Scan, pixels: Pixels, rows: np.ndarray, folds: list[np.ndarray], room: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, BinMapper]:
    """Out-of-fold vectors of training rows as bins, block by block: unbinned vectors would take too much memory."""
    columns = np.empty((scan.n_features + room, pixels.n_rows), np.uint8)
    centers = np.empty((scan.n_features + room, MAX_BINS))
    mappers, first = [], 0
    for block in scan.blocks(pixels, rows, n_jobs, folds):
        place = slice(first, first + block.shape[1])
        mapper = BinMapper()
        binned = mapper.fit_transform(block, n_jobs=n_jobs)
        columns[place, rows], centers[place] = binned.columns, binned.centers
        mappers.append(mapper)
        first = place.stop
    return columns, centers, reduce(BinMapper.extend, mappers)


def _read(scan: Scan, pixels: Pixels, rows: np.ndarray, mapper: BinMapper, room: int, n_jobs: int | None) -> np.ndarray:
    """Vectors of rows to predict as bins, block by block."""
    columns = np.empty((scan.n_features + room, pixels.n_rows), np.uint8)
    first = 0
    for block in scan.blocks(pixels, rows, n_jobs):
        place = slice(first, first + block.shape[1])
        columns[place, rows] = _part(mapper, place).transform(block, n_jobs=n_jobs).columns
        first = place.stop
    return columns


def _part(mapper: BinMapper, features: slice) -> BinMapper:
    """The mapper of a range of features."""
    part = BinMapper()
    offsets = mapper.offsets_[features.start : features.stop + 1]
    part.offsets_ = offsets - offsets[0]
    part.edges_ = mapper.edges_[offsets[0] : offsets[-1]]
    return part


class MultiGrainedScanner(TransformerMixin, BaseEstimator):
    """Multi-grained scanning: replace each sequence or image by the class vectors of its windows.

    Parameters
    ----------
    windows : sequence of int, tuple of int, or "d/<number>", default=("d/16", "d/8", "d/4")
        Window sizes. A whole number is a length or the side of a square, a pair is height and width; "d/16" is a
        sixteenth of the row's positions: floor(d / 16) steps of a sequence, or the square of pixels that comes closest
        to that many (MNIST, d = 784: 7 x 7).
    shape : tuple of int or None, default=None
        Shape of a row: length; height and width; height, width and channels (last). None: a sequence.
    stride : int, default=1
        Steps between windows, along each axis.
    subsample : int, float or None, default=None
        Number or share of the positions of each window size to use, drawn once for all rows; None for all. In a
        cascade, each level then draws positions and fits forests (see `GCForestClassifier`).
    pooling : int, default=1
        Side of squares of positions whose vectors are averaged (images only, without `subsample`).
    n_estimators : int or None, default=None
        Number of trees in a forest. None: 500; in a cascade, the cascade's `n_estimators`.
    estimators : sequence of {"random_forest", "completely_random_forest", "extra_trees"}, \
default=("random_forest", "extra_trees")
        One forest of each kind. The default has Extra-Trees, as gcForest's released code: a completely random tree
        stops at a node if its only random cut leaves fewer than `min_samples_leaf` windows on one side. If values have
        long tails, this happens after a few nodes (sEMG).
    n_folds : int, default=3
        Number of folds. All windows of a row are in the same fold.
    max_depth : int or None, default=100
        Maximum depth of a tree.
    min_samples_leaf : int, default=10
        Minimum number of windows on each side of a split.
    max_samples : int or None, default=None
        Number of windows that each tree of a random forest draws; None for the number of all windows. It bounds time,
        not memory.
    n_jobs : int or None, default=None
        Number of threads; None for one, -1 for all. The result does not depend on it. In a cascade, the cascade's value
        is used instead.
    random_state : int, RandomState or None, default=None
        Seed. In a cascade, the cascade's value is used instead.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    scans_ : list of Scan
        Fitted forests of each window size.
    n_features_in_ : int
        Number of features seen in `fit`.

    Notes
    -----
    ``fit(X, y).transform(X)`` differs from ``fit_transform(X, y)``: the latter predicts training rows by models that
    did not learn from them, as scikit-learn's ``TargetEncoder`` does.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cascadeforest import MultiGrainedScanner
    >>> X, y = load_digits(return_X_y=True)
    >>> scanner = MultiGrainedScanner([4], shape=(8, 8), n_estimators=10, random_state=0)
    >>> scanner.fit_transform(X, y).shape  # 25 positions, 2 forests, 10 classes
    (1797, 500)
    """

    def __init__(
        self,
        windows: Sequence[int | str | tuple[int, int]] = ("d/16", "d/8", "d/4"),
        *,
        shape: Sequence[int] | int | None = None,
        stride: int = 1,
        subsample: int | float | None = None,
        pooling: int = 1,
        n_estimators: int | None = None,
        estimators: Sequence[str] = ("random_forest", "extra_trees"),
        n_folds: int = 3,
        max_depth: int | None = 100,
        min_samples_leaf: int = 10,
        max_samples: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.windows = windows
        self.shape = shape
        self.stride = stride
        self.subsample = subsample
        self.pooling = pooling
        self.n_estimators = n_estimators
        self.estimators = estimators
        self.n_folds = n_folds
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def checked(
        self, n_features: int, n_classes: int, entropy: int, n_estimators: int = 500, progress: Progress | None = None
    ) -> Scanning:
        """Check the parameters for rows of `n_features` values.

        Parameters
        ----------
        n_features, n_classes : int
            Size of the data.
        entropy : int
            Seed.
        n_estimators : int
            Number of trees in a forest if the parameter `n_estimators` is None.
        progress : Progress, optional
            Logs a line for each window size; by default nothing is logged.

        Returns
        -------
        Scanning

        Raises
        ------
        ValueError
            If a parameter is invalid; the message names it.
        """
        for name, least in (("stride", 1), ("pooling", 1), ("n_folds", 2), ("min_samples_leaf", 1)):
            check_count(name, getattr(self, name), least)
        check_count("n_estimators", self.n_estimators, optional=True)
        check_count("max_depth", self.max_depth, optional=True)
        check_count("max_samples", self.max_samples, optional=True)
        check_jobs(self.n_jobs)
        shape = checked_shape("shape", self.shape, n_features)
        if isinstance(self.windows, str) or not isinstance(self.windows, Sequence) or not len(self.windows):
            raise ValueError(f"windows is {self.windows!r}; give a list of window sizes, such as ['d/16', 'd/8'].")
        if isinstance(self.estimators, str) or not isinstance(self.estimators, Sequence) or not len(self.estimators):
            raise ValueError(f"estimators is {self.estimators!r}; give a list of names of forests.")
        grains = [Grain(shape, _checked_window(window, shape), self.stride) for window in self.windows]
        if self.pooling > 1 and (len(shape) == 1 or self.subsample is not None):
            raise ValueError(f"pooling is {self.pooling}; it needs images, and all positions (subsample=None).")
        if self.subsample is not None:
            for grain in grains:
                count_of("subsample", self.subsample, math.prod(grain.grid))
        members = []
        for kind in self.estimators:
            check_choice("estimators", kind, FORESTS)
            forest = FORESTS[kind][0](
                n_estimators=n_estimators if self.n_estimators is None else self.n_estimators,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
            )
            members.append(forest.set_params(max_samples=self.max_samples) if forest.bootstrap else forest)
        progress = Progress() if progress is None else progress
        rules = ScanRules(members, n_classes, self.n_folds, self.pooling, entropy, self.n_jobs, progress)
        return Scanning(grains, rules, self.subsample)

    def fit(self, X: MatrixLike, y: ArrayLike) -> MultiGrainedScanner:
        """Fit forests on the windows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, each a flattened sequence or image; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X or y is invalid; the message names it.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: MatrixLike, y: ArrayLike) -> np.ndarray:
        """Fit, and compute the class vectors of training rows with models that did not learn from the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out), float32
            Columns in order: window size, position, forest, class.
        """
        pixels, rows, folds = self._fit(X, y)
        parts = zip(self.scans_, folds, strict=True)
        return np.hstack([b for scan, fold in parts for b in scan.blocks(pixels, rows, self.n_jobs, fold)])

    def _fit(self, X: MatrixLike, y: ArrayLike) -> tuple[Pixels, np.ndarray, list]:
        if Categories.learn(X, "from_dtype") is not None:
            raise ValueError("X has categorical features, but windows are of numbers; encode or drop them.")
        check_one_output(y)
        X, y = validate_data(self, X, y, dtype=X_DTYPES, order="C", ensure_all_finite="allow-nan", ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        scanning = self.checked(X.shape[1], len(self.classes_), entropy_of(self.random_state))
        rows = np.arange(len(X))
        pixels, self._bins = scanning.pixels(X, rows)
        fitted = [scanning.fit(k, pixels, rows, label, None) for k in range(len(scanning.grains))]
        self.scans_ = [scan for scan, _ in fitted]
        return pixels, rows, [folds for _, folds in fitted]

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Compute the class vectors of all windows: the mean of the fold models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out), float32
            Columns in order: window size, position, forest, class.
        """
        check_is_fitted(self)
        check_jobs(self.n_jobs)
        X = validate_data(self, X, reset=False, dtype=X_DTYPES, order="C", ensure_all_finite="allow-nan")
        pixels, rows = Pixels.of_new_rows(X, self._bins, self.n_jobs), np.arange(len(X))
        return np.hstack([block for scan in self.scans_ for block in scan.blocks(pixels, rows, self.n_jobs)])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`, which ``set_output(transform="pandas")`` uses.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used, since a column is of a whole window; checked against the names that `fit` saw.

        Returns
        -------
        ndarray of shape (n_features_out,), object
            ``"window0_position3_forest1_setosa"``: window size, position (of pooled positions the square), forest, all
            counted from 0, and class.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        names = [
            f"window{k}_position{position}_forest{forest}_{label}"
            for k, scan in enumerate(self.scans_)
            for position, forest, label in product(scan.places, range(len(scan.forests)), self.classes_)
        ]
        return np.array(names, object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []  # class vectors are float32, whatever X is
        return tags


def checked_shape(name: str, shape: Sequence[int] | int | None, n_features: int) -> tuple[int, ...]:
    """Shape of a row.

    Parameters
    ----------
    name : str
        Name of the parameter, for error messages.
    shape : int, sequence of int or None
        Value that the user gave; None for a sequence.
    n_features : int
        Number of values in a row.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If `shape` does not have `n_features` values.
    """
    if shape is None:
        return (n_features,)
    size = tuple(shape) if isinstance(shape, Sequence | np.ndarray) and not isinstance(shape, str) else (shape,)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in size)
    if not whole or not 1 <= len(size) <= 3 or min(size) < 1 or math.prod(map(int, size)) != n_features:
        raise ValueError(
            f"{name} is {shape!r}, but X has {n_features} features; give (length,), (height, width) or (height, width, "
            "channels) whose product that is."
        )
    return tuple(map(int, size))


def _checked_window(window: int | str | tuple[int, int], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Window size as a tuple of int."""
    axes = min(len(shape), 2)
    size: tuple[Any, ...] = ()
    if isinstance(window, str):
        head, _, divisor = window.partition("/")
        if head.strip() == "d" and divisor.strip().isdecimal() and int(divisor) > 0:
            n = math.prod(shape[:2]) // int(divisor)
            size = (n,) if axes == 1 else (round(math.sqrt(n)),) * 2
    elif isinstance(window, Sequence):
        size = tuple(window)
    else:
        size = (window,) * axes
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in size)
    if len(size) != axes or not whole or any(not 1 <= n <= most for n, most in zip(size, shape, strict=False)):
        raise ValueError(
            f"windows has {window!r}, which is no window over rows of shape {shape}; give a whole number, 'd/<number>'"
            f"{', or a pair of height and width' if axes == 2 else ''}, within the row."
        )
    return tuple(map(int, size))
