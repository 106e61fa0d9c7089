"""Scanning in a cascade against a naive twin, and what scanning must not depend on."""

import itertools
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from cascadeforest import (
    CompletelyRandomForestClassifier,
    ExtraTreesClassifier,
    GCForestClassifier,
    GCForestCSClassifier,
    MultiGrainedScanner,
    RandomForestClassifier,
)
from cascadeforest.cascade import _base, scanning, screening
from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.scanning import _FOLDS, _MODEL, _POSITIONS, SCANNING, Pixels
from cascadeforest.cascade.screening import _REFILL, confidence_threshold, refill, trees_of_level
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.seeds import seed_at

from . import naive

BOTH = [GCForestClassifier, GCForestCSClassifier]
both = pytest.mark.parametrize("Cascade", BOTH)


def noisy(n_rows=60, n_values=16, n_classes=3, seed=0):
    """Rows with a step whose place tells the class, under noise, and some wrong labels; more values than bins."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(scale=0.8, size=(n_rows, n_values)) + (np.arange(n_values) // 3 % n_classes == y[:, None])
    wrong = rng.random(n_rows) < 0.25
    return X, np.where(wrong, rng.integers(0, n_classes, n_rows), y)


def every_layer():
    """A scorer that lets no layer be dropped."""
    count = itertools.count()
    return lambda estimator, X, y: next(count)


# The naive twin: windows are copied, forests see a matrix of them, and of each level its rows only.


def cut(bins, shape, window, stride):
    """Windows of all rows, shape (n, n_positions, n_values of a window)."""
    rows = []
    for row in bins.reshape(len(bins), *shape):
        if len(shape) == 1:
            windows = sliding_window_view(row, window)[::stride]
        else:
            windows = sliding_window_view(row, (window, window), axis=(0, 1))[::stride, ::stride]
            if len(shape) == 3:  # numpy puts the channels before the window
                windows = np.moveaxis(windows, 2, -1)
            windows = windows.reshape(-1, *windows.shape[2:])
        rows.append(windows.reshape(len(windows), -1))
    return np.array(rows)


def pool(vectors, grid, side):
    """Means over squares, one after the other; shape (n, positions, forests, classes) before and after."""
    lines = [range(i, min(i + side, grid[0])) for i in range(0, grid[0], side)]
    columns = [range(j, min(j + side, grid[1])) for j in range(0, grid[1], side)]
    squares = [[grid[1] * i + j for i in a for j in b] for a, b in itertools.product(lines, columns)]
    return np.stack([vectors[:, square].astype(np.float64).mean(axis=1) for square in squares], axis=1)


class TwinScan:
    """Forests of one window size on a matrix of windows; `own` are the out-of-fold vectors."""

    def __init__(self, members, bins, centers, y, n_classes, entropy, address, n_folds, chosen=None, weights=None):
        self.chosen, self.n_classes, self.models = chosen, n_classes, []
        self.centers = np.tile(centers, (bins.shape[2], 1))
        n, n_positions = len(y), self.of(bins).shape[1]
        self.own = np.full((n, n_positions, len(members), n_classes), np.nan, np.float32)
        for k, member in enumerate(members):
            fold = stratified_folds(y, n_folds, seed_at(entropy, *address, k, _FOLDS))
            models = []
            for i in np.unique(fold):
                learn = fold != i
                some = None if weights is None else np.repeat(weights[learn], n_positions)
                seed = seed_at(entropy, *address, k, _MODEL, int(i))
                grown = naive.grow(
                    member, self.matrix(bins[learn]), np.repeat(y[learn], n_positions), n_classes, seed, some
                )
                models.append(grown)
                self.own[~learn, :, k] = self.said(grown, bins[~learn])
            self.models.append(models)

    def of(self, bins):
        return bins if self.chosen is None else bins[:, self.chosen]

    def matrix(self, bins):
        flat = self.of(bins).reshape(-1, bins.shape[2])
        return BinnedMatrix(np.ascontiguousarray(flat.T), self.centers)

    def said(self, grown, bins):
        return naive.values(grown, self.matrix(bins)).reshape(len(bins), -1, self.n_classes)

    def vectors(self, bins):
        means = [sum(self.said(grown, bins) for grown in models) / len(models) for models in self.models]
        return np.stack(means, axis=2).astype(np.float32)


class TwinScanner:
    """What levels see of rows, binned anew for each set of rows."""

    def __init__(self, X, shape, windows, stride, members, n_classes, entropy, *, subsample=None, n_folds=3):
        self.mapper = BinMapper()
        self.centers = self.mapper.fit_transform(X.reshape(-1, 1)).centers[0]
        self.shape, self.windows, self.stride, self.members = shape, windows, stride, members
        self.n_classes, self.entropy, self.subsample, self.n_folds = n_classes, entropy, subsample, n_folds
        self.fixed, self.levels, self.columns = {}, [], []

    def cut(self, X, k):
        bins = self.mapper.transform(X.reshape(-1, 1)).columns[0].reshape(X.shape)
        return cut(bins, self.shape, self.windows[k], self.stride)

    def scan(self, X, y, k, address, weights):
        windows, chosen = self.cut(X, k), None
        if self.subsample is not None:
            rng = np.random.default_rng(seed_at(self.entropy, *address, _POSITIONS))
            chosen = np.sort(rng.choice(windows.shape[1], self.subsample, replace=False))
        scan = TwinScan(
            self.members, windows, self.centers, y, self.n_classes, self.entropy, address, self.n_folds, chosen, weights
        )
        mapper = BinMapper()
        return scan, mapper, mapper.fit_transform(scan.own.reshape(len(y), -1))

    def at(self, level, X, y, weights=None, everyone=None):
        """What a level sees of its rows; full scanning learned from `everyone` beforehand."""
        if self.subsample is None:
            k = level % len(self.windows)
            X_all, y_all, weights_all, rows = everyone
            if k not in self.fixed:
                self.fixed[k] = self.scan(X_all, y_all, k, (SCANNING, k), weights_all)
            return naive.of_rows(self.fixed[k][2], rows)
        scans = [self.scan(X, y, k, (SCANNING, k, level), weights) for k in range(len(self.windows))]
        self.levels.append(scans)
        rows = everyone[3]
        binned = BinnedMatrix.stack([scan[2] for scan in scans])
        full = np.full((len(binned.columns), len(everyone[0])), 77, np.uint8)
        full[:, rows] = binned.columns
        self.columns.append(BinnedMatrix(full, binned.centers))
        return naive.of_rows(BinnedMatrix.stack(self.columns[-3:]), rows)

    def of_new(self, level, X):
        if self.subsample is None:
            k = level % len(self.windows)
            parts = [(k, self.fixed[k])]
        else:
            parts = [(k, scan) for scans in self.levels[max(0, level - 2) : level + 1] for k, scan in enumerate(scans)]
        made = [mapper.transform(scan.vectors(self.cut(X, k)).reshape(len(X), -1)) for k, (scan, mapper, _) in parts]
        return BinnedMatrix.stack(made)


SCANS = {
    "sequence": ((16,), [3, 5], 1, {}),
    "sequence-stride": ((16,), [4], 3, {}),
    "image": ((4, 4), [2, 3], 1, {}),
    "wide-image": ((2, 8), [2], 1, {}),  # 4 values within 10: features that nodes look at are counted among the 4
    "channels": ((4, 2, 2), [2, 1], 1, {}),
    "image-subsample": ((4, 4), [2], 1, {"subsample": 4}),
    "channels-subsample": ((4, 2, 2), [1, 2], 1, {"subsample": 1}),
    "sequence-subsample": ((16,), [3, 6], 2, {"subsample": 3, "n_folds": 2}),
}
KINDS = {
    "random_forest": RandomForestClassifier,
    "completely_random_forest": CompletelyRandomForestClassifier,
    "extra_trees": ExtraTreesClassifier,
}


def twin_and_scanner(X, shape, windows, stride, others, kinds, entropy, n_classes=3):
    members = [KINDS[kind](3, max_depth=6, min_samples_leaf=4) for kind in kinds]
    twin = TwinScanner(X, shape, windows, stride, members, n_classes, entropy, **others)
    parameters = {"max_depth": 6, "min_samples_leaf": 4, "estimators": kinds, "n_estimators": 3}
    return twin, MultiGrainedScanner(windows, stride=stride, **parameters, **others)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SCANS)
def test_a_cascade_with_scanning_is_its_naive_twin(name, weighted):
    shape, windows, stride, others = SCANS[name]
    X, y = noisy()
    X[::7, 5] = np.nan
    new = noisy(30, seed=1)[0]
    weights = np.random.default_rng(2).uniform(0.2, 3, 60) if weighted else None
    kinds = ["random_forest", "completely_random_forest"] if weighted else ["extra_trees", "random_forest"]
    entropy = naive.entropy_of(3)
    twin, scanner = twin_and_scanner(X, shape, windows, stride, others, kinds, entropy)
    n_levels = 5
    model = GCForestClassifier(
        2, 4, max_layers=n_levels, patience=n_levels, scoring=every_layer(), scanning=scanner, input_shape=shape,
        random_state=3,
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    members, own, vectors = [RandomForestClassifier(4), CompletelyRandomForestClassifier(4)], None, None
    stages = list(model.staged_predict_proba(new))
    assert len(stages) == n_levels
    everyone = (X, y, weights, np.arange(60))
    for level in range(n_levels):
        seen, of_new = twin.at(level, X, y, weights, everyone), twin.of_new(level, new)
        if level:
            mapper = BinMapper()
            seen = naive.add_columns(seen, own, mapper, fit=True)
            of_new = naive.add_columns(of_new, vectors, mapper)
        layer, own = naive.fit_layer(members, seen, y, 3, entropy, level, weights=weights)
        vectors = layer.vectors(of_new)
        assert stages[level].tobytes() == naive.mean(vectors).tobytes()


@pytest.mark.parametrize("name", ["sequence", "image-subsample", "sequence-subsample"])
def test_screening_with_scanning_is_its_naive_twin(name):
    """Each level on a matrix of the rows that reached it, and new rows predicted one by one."""
    shape, windows, stride, others = SCANS[name]
    X, y = noisy(150)
    new = noisy(25, seed=1)[0]
    entropy = naive.entropy_of(5)
    twin, scanner = twin_and_scanner(X, shape, windows, stride, others, ["random_forest"], entropy)
    n_levels = 4
    model = GCForestCSClassifier(
        2, 4, a=0.8, max_layers=n_levels, patience=n_levels, scoring=every_layer(), scanning=scanner,
        input_shape=shape, random_state=5,
    ).fit(X, y)  # fmt: skip
    rows, decided = np.arange(150), np.zeros((150, 3))
    probabilities, exits, stays = np.zeros((25, 3)), np.zeros(25, int), np.ones(25, bool)
    n_rows, own, of_new_vectors = [], None, None
    for level in range(model.n_layers_):
        seen = twin.at(level, X[rows], y[rows], None, (X, y, None, rows))
        of_new, n_given, mapper = twin.of_new(level, new), len(seen.columns), BinMapper()
        if level:
            seen = naive.add_columns(seen, own, mapper, fit=True)
            of_new = naive.add_columns(of_new, of_new_vectors, mapper)
        n_trees = trees_of_level(4, len(rows), 150, n_given, 6 if level else 0, "reciprocal", 10.0)
        members = [RandomForestClassifier(n_trees), CompletelyRandomForestClassifier(n_trees)]
        layer, own = naive.fit_layer(members, seen, y[rows], 3, entropy, level)
        of_new_vectors = layer.vectors(of_new)
        means = naive.mean(of_new_vectors)
        probabilities[stays], exits[stays] = means[stays], level
        n_rows.append(len(rows))
        decided[rows] = naive.mean(own)
        wrong = decided[rows].argmax(axis=1) != y[rows]
        confidence = decided[rows].max(axis=1)
        threshold = confidence_threshold(confidence, wrong, 0.8 * wrong.mean())
        stays = stays & (means.max(axis=1) < threshold)
        goes_on = refill(confidence < threshold, y[rows], 3, seed_at(entropy, level, _REFILL))
        rows, own = rows[goes_on], own[goes_on]
    assert model.n_rows_.tolist() == n_rows
    assert len(set(n_rows)) > 1  # rows did leave
    assert model.predict_proba(new).tobytes() == probabilities.tobytes()
    assert model.decision_level(new).tolist() == exits.tolist()


@pytest.mark.parametrize("side", [2, 3, 4, 7])
@pytest.mark.parametrize("block_bytes", [1, 1 << 26])
def test_pooling_by_hand_on_grids_that_are_not_square(monkeypatch, side, block_bytes):
    monkeypatch.setattr(scanning, "BLOCK_BYTES", block_bytes)
    X, y = noisy(40, 8 * 6)
    common = {"shape": (8, 6), "n_estimators": 2, "random_state": 0}  # windows at 7 x 5 places
    plain = MultiGrainedScanner([2], **common)
    pooled = MultiGrainedScanner([2], pooling=side, **common)
    for method in ("fit_transform", "transform"):
        arguments = (X, y) if method == "fit_transform" else (X,)
        vectors = getattr(plain, method)(*arguments).reshape(40, 35, 2, 3)
        wanted = pool(vectors, (7, 5), side).reshape(40, -1)
        assert getattr(pooled, method)(*arguments) == pytest.approx(wanted, abs=1e-6)
    assert pooled.scans_[0].n_features == wanted.shape[1]


# Folds.


def test_no_window_of_a_row_was_seen_by_the_models_that_speak_for_the_row():
    """With another label, or other values, of a single row its own out-of-fold vectors stay as they are.

    The row takes a value that the data have already, so that bins do not move; its class stays for the folds.
    """
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (40, 12)) + 0.0, rng.integers(0, 2, 40)
    settings_ = MultiGrainedScanner([4], n_estimators=3, min_samples_leaf=1).checked(12, 2, 7)
    rows = np.arange(40)
    pixels, _ = settings_.pixels(X, rows)
    scan, folds = settings_.fit(0, pixels, rows, y, None)
    own = np.hstack(list(scan.blocks(pixels, rows, None, folds)))
    for i in range(0, 40, 9):
        other = pixels.flat.reshape(40, 12).copy()
        other[i] = other[i][::-1]
        others = Pixels(other.reshape(-1), 12, pixels.centers)
        scan, folds_again = settings_.fit(0, others, rows, y, None)
        assert all(np.array_equal(a, b) for a, b in zip(folds, folds_again, strict=True))
        again = np.hstack(list(scan.blocks(pixels, rows, None, folds)))  # asked of the row as it was
        assert again[i].tobytes() == own[i].tobytes()
        assert again.tobytes() != own.tobytes()  # others did learn from it


# Order of columns.


def test_columns_are_ordered_by_window_position_forest_and_class():
    """A pair of scanners with one window size, and one forest, each is a part of the scanner that has all."""
    X, y = noisy(50)
    common = {"n_estimators": 2, "random_state": 0, "min_samples_leaf": 2}
    whole = MultiGrainedScanner([3, 6], estimators=["extra_trees", "random_forest"], **common).fit_transform(X, y)
    assert whole.shape == (50, (14 + 11) * 2 * 3)
    first = whole[:, : 14 * 6].reshape(50, 14, 2, 3)
    alone = MultiGrainedScanner([3], estimators=["extra_trees"], **common).fit_transform(X, y)
    assert first[:, :, 0].tobytes() == alone.reshape(50, 14, 3).tobytes()
    assert whole.reshape(50, -1, 3).sum(axis=2) == pytest.approx(1.0, abs=1e-6)


# Drawn positions.


@pytest.mark.parametrize(("subsample", "n"), [(1, 1), (5, 5), (10, 10), (0.5, 5), (0.01, 1), (1.0, 10), (0.39, 3)])
def test_positions_are_drawn_without_replacement_ascending_and_as_many_as_asked_for(subsample, n):
    settings_ = MultiGrainedScanner([3], subsample=subsample).checked(12, 2, 9)
    drawn = [settings_.positions(settings_.grains[0], (SCANNING, 0, level)).tolist() for level in range(30)]
    assert all(len(d) == n and d == sorted(set(d)) and set(d) <= set(range(10)) for d in drawn)
    again = [settings_.positions(settings_.grains[0], (SCANNING, 0, level)).tolist() for level in range(30)]
    assert drawn == again
    assert len(set(map(tuple, drawn))) == 1 if n == 10 else len(set(map(tuple, drawn))) > 3


def test_each_position_is_as_likely_as_another():
    """Chi squared of 3,000 draws of 3 out of 10: above 35 once in 20,000 seeds (9 degrees of freedom, less spread)."""
    settings_ = MultiGrainedScanner([3], subsample=3).checked(12, 2, 1)
    drawn = [settings_.positions(settings_.grains[0], (SCANNING, 0, level)) for level in range(3000)]
    counts = np.bincount(np.concatenate(drawn), minlength=10)
    assert ((counts - 900) ** 2 / 900).sum() < 35


# What levels see.


@both
@pytest.mark.parametrize(("subsample", "given"), [(None, [56, 44, 56, 44, 56]), (2, [16, 32, 48, 48, 48])])
def test_layers_see_class_vectors_of_windows_and_of_the_layer_before(monkeypatch, Cascade, subsample, given):
    module, widths = {GCForestClassifier: _base, GCForestCSClassifier: screening}[Cascade], []
    original = module.fit_layer

    def fit_layer(members, seen, *arguments):
        widths.append((seen.n_given, seen.n_features))
        return original(members, seen, *arguments)

    monkeypatch.setattr(module, "fit_layer", fit_layer)
    X, y = noisy(80, n_classes=2)
    others = {"a": 0.01} if Cascade is GCForestCSClassifier else {}  # few leave
    scanner = {"windows": [3, 6], "subsample": subsample, "min_samples_leaf": 3}  # 14 and 11 positions
    Cascade(
        2, 3, max_layers=5, patience=5, scoring=every_layer(), scanning=scanner, random_state=0, **others
    ).fit(X, y)  # fmt: skip
    assert [n for n, _ in widths] == given
    assert [n - g for g, n in widths] == [0, 4, 4, 4, 4]


# What must not matter.


def small(Cascade, **others):
    scanner = {"windows": [3, 5], "n_folds": 2, "min_samples_leaf": 3}
    common = {"n_forests": 2, "n_estimators": 3, "max_layers": 3, "patience": 3, "random_state": 0}
    return Cascade(**{**common, "scanning": scanner, **others})


def modes():
    return pytest.mark.parametrize("subsample", [None, 4])


def with_subsample(Cascade, subsample, **others):
    return small(Cascade, scanning={"windows": [3, 5], "subsample": subsample, "min_samples_leaf": 3}, **others)


@both
@modes()
def test_neither_threads_nor_blocks_change_a_byte(monkeypatch, Cascade, subsample):
    X, y = noisy(70)
    X[::6, 2] = np.nan
    wanted = with_subsample(Cascade, subsample).fit(X, y)
    threads = with_subsample(Cascade, subsample, n_jobs=2).fit(X, y)
    assert threads.predict_proba(X).tobytes() == wanted.predict_proba(X).tobytes()
    assert threads.validation_scores_.tobytes() == wanted.validation_scores_.tobytes()
    probabilities = wanted.predict_proba(X)
    monkeypatch.setattr(scanning, "BLOCK_BYTES", 1)
    blocks = with_subsample(Cascade, subsample).fit(X, y)
    assert blocks.predict_proba(X).tobytes() == wanted.predict_proba(X).tobytes() == probabilities.tobytes()


@both
@modes()
def test_clones_and_pickles_are_the_same(Cascade, subsample):
    X, y = noisy(70)
    model = with_subsample(Cascade, subsample).fit(X, y)
    probabilities = model.predict_proba(X)
    assert clone(model).fit(X, y).predict_proba(X).tobytes() == probabilities.tobytes()
    assert pickle.loads(pickle.dumps(model)).predict_proba(X).tobytes() == probabilities.tobytes()
    assert pickle.dumps(with_subsample(Cascade, subsample).fit(X, y)) == pickle.dumps(model)
    model.fit(*noisy(40, 11, seed=4))  # a second fit forgets the first
    fresh = with_subsample(Cascade, subsample).fit(*noisy(40, 11, seed=4))
    X = noisy(9, 11)[0]
    assert model.predict_proba(X).tobytes() == fresh.predict_proba(X).tobytes()


@both
@modes()
def test_rows_are_predicted_each_by_itself(Cascade, subsample):
    X, y = noisy(70)
    model = with_subsample(Cascade, subsample).fit(X, y)
    wanted = model.predict_proba(X)
    assert np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(10)]).tobytes() == wanted[:10].tobytes()
    assert model.predict_proba(X[::-1])[::-1].tobytes() == wanted.tobytes()


@both
@modes()
def test_a_fitted_cascade_holds_no_training_data(Cascade, subsample):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 4)), rng.integers(0, 2, 20_000)
    scanner = {"windows": [2], "subsample": 2 if subsample else None, "max_depth": 2, "n_folds": 2}
    model = small(Cascade, scanning=scanner, max_depth=2, max_layers=2, n_estimators=2).fit(X, y)
    size = len(pickle.dumps(model)) - getattr(model, "decision_level_", np.empty(0)).nbytes
    assert size < 20_000


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_type_and_order_of_the_same_numbers_do_not_matter(Cascade, dtype, order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (50, 12))
    y = (X[:, 0] + X[:, 3] > X[:, 7] + 120).astype(int)
    wanted = small(Cascade).fit(X.astype(np.float64), y).predict_proba(X.astype(np.float64))
    model = small(Cascade).fit(np.asarray(X.astype(dtype), order=order), y)
    assert model.predict_proba(np.asarray(X.astype(dtype), order=order)).tobytes() == wanted.tobytes()


def test_bins_of_many_values_come_from_a_sample_that_the_seed_decides(monkeypatch):
    monkeypatch.setattr(scanning, "_BIN_VALUES", 300)
    X, _ = noisy(60)
    edges = [Pixels.of_training_rows(X, np.random.SeedSequence(seed), None)[1].edges_ for seed in (0, 0, 1)]
    assert edges[0].tobytes() == edges[1].tobytes() != edges[2].tobytes()
    pixels, mapper = Pixels.of_training_rows(X, np.random.SeedSequence(0), None)
    assert pixels.flat.tolist() == [int(np.searchsorted(mapper.edges_, x)) for x in X.reshape(-1)]
    monkeypatch.setattr(scanning, "_BIN_VALUES", X.size)  # just not more: all count, whatever the seed
    edges = [Pixels.of_training_rows(X, np.random.SeedSequence(seed), None)[1].edges_ for seed in (0, 1)]
    assert edges[0].tobytes() == edges[1].tobytes()


def test_the_sample_for_bins_is_drawn_from_all_values_of_the_rows_that_count(monkeypatch):
    """1,990 draws, with replacement, from 200 distinct values: each is drawn but for a chance of exp(-10)."""
    monkeypatch.setattr(scanning, "_BIN_VALUES", 1990)
    X = np.tile(np.arange(200.0).reshape(20, 10), (30, 1))
    X[20:40] += 1000.0  # rows that do not count
    rows = np.flatnonzero(X[:, 0] < 1000.0)
    mapper = Pixels.of_training_rows(X, np.random.SeedSequence(0), None, rows)[1]
    assert mapper.edges_.tolist() == (np.arange(199) + 0.5).tolist()


@pytest.mark.parametrize("n_best", [1, 2])
def test_scans_of_dropped_layers_are_dropped(n_best):
    """Scores fall from the best layer on."""
    scores = iter([*range(n_best), -1, -2, -3])
    model = with_subsample(GCForestClassifier, 4, scoring=lambda estimator, X, y: next(scores), max_layers=4)
    model.fit(*noisy(40))
    assert len(model.validation_scores_) > model.n_layers_ == n_best
    assert len(model.features_._levels) == n_best


def test_parameters_of_a_nested_scanner_are_reached_and_not_changed():
    scanner = MultiGrainedScanner([3], n_jobs=1)
    model = small(GCForestClassifier, scanning=scanner, input_shape=(4, 4), n_jobs=2)
    assert model.get_params()["scanning__windows"] == [3]
    model.set_params(scanning__windows=[2], scanning__stride=np.int64(2))
    assert scanner.windows == [2]
    before = scanner.get_params()
    X, y = noisy(40)
    model.fit(X, y)
    assert scanner.get_params() == before
    assert not hasattr(scanner, "scans_")
    assert clone(model).scanning is not scanner
    same = small(GCForestClassifier, scanning={"windows": [2], "stride": 2, "shape": (4, 4)}).fit(X, y)
    assert same.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_a_scanner_takes_the_trees_of_its_cascade_unless_it_has_a_number():
    X, y = noisy(40)
    for number, trees in ((None, 3), (2, 2)):
        model = small(GCForestClassifier, scanning={"windows": [3], "n_estimators": number}).fit(X, y)
        assert {t.n_trees for forest in model.features_._scans[0].forests for t in forest} == {trees}


@both
def test_sparse_matrices_are_refused_with_what_to_do(Cascade):
    X, y = noisy(40)
    model = small(Cascade).fit(X, y)
    fit = small(Cascade).fit
    for call in (lambda: fit(scipy.sparse.csr_matrix(X), y), lambda: model.predict(scipy.sparse.csc_matrix(X))):
        with pytest.raises(TypeError, match=r"Sparse data was passed.*Use '\.toarray\(\)'"):
            call()


@both
@modes()
def test_rows_without_weight_are_absent_rows_if_their_values_are_no_others(Cascade, subsample):
    X, y = noisy(75)
    X = X.round()
    weight = np.tile([1.0, 0.0, 2.0, 1.0, 0.0], 15)
    kept = weight > 0
    X[~kept], y[~kept] = X[0], y.max()  # values that are there already: bins stay
    model = with_subsample(Cascade, subsample).fit(X, y, sample_weight=weight)
    absent = with_subsample(Cascade, subsample).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert model.predict_proba(X).tobytes() == absent.predict_proba(X).tobytes()


def test_nothing_but_missing_values_says_nothing():
    y = np.arange(30) % 2
    Z = MultiGrainedScanner([3], n_estimators=20, estimators=["extra_trees"], random_state=0).fit_transform(
        np.full((30, 5), np.nan), y
    )
    assert pytest.approx(0.5, abs=1e-6) == Z


# What scanning does not do as it says.


@both
@modes()
def test_rows_without_weight_decide_no_bin(Cascade, subsample):
    """As without scanning (`PlainFeatures.fit`)."""
    X, y = noisy(75)
    weight = np.tile([1.0, 0.0, 1.0], 25)
    X[weight == 0] *= 1000
    model = with_subsample(Cascade, subsample).fit(X, y, sample_weight=weight)
    absent = with_subsample(Cascade, subsample).fit(X[weight > 0], y[weight > 0])
    assert model.predict_proba(X).tobytes() == absent.predict_proba(X).tobytes()


@both
def test_the_tag_of_sparse_input_knows_of_scanning(Cascade):
    assert Cascade().__sklearn_tags__().input_tags.sparse
    assert not small(Cascade).__sklearn_tags__().input_tags.sparse


def test_places_do_not_wrap():
    pixels = Pixels(np.zeros(4, np.uint8), 2**30, None)
    try:
        place = pixels.places(np.array([3]), np.array([0]))[0]
    except (ValueError, OverflowError):
        return
    assert place == 3 * 2**30


@pytest.mark.parametrize(
    "shape",
    [
        (4.7, 4.2),
        "16",
        (True, 16),
        float("inf"),
        "square",
        [[4, 4]],
        (4, 5),
        (0, 4),
        (2, 2, 2, 2),
    ],
)
def test_wrong_shapes_are_named_with_their_value(shape):
    with pytest.raises(ValueError, match="shape is ") as caught:
        MultiGrainedScanner([1], shape=shape, n_estimators=1).fit(*noisy(20))
    assert repr(shape) in str(caught.value)
    assert "give " in str(caught.value)


@both
def test_an_input_shape_that_does_not_fit_is_called_input_shape(Cascade):
    with pytest.raises(ValueError, match=r"^input_shape is \(4, 5\), but X has 16 features"):
        small(Cascade, input_shape=(4, 5)).fit(*noisy(20))


def test_an_odd_divisor_is_named():
    with pytest.raises(ValueError, match="windows has 'd/²'"):
        MultiGrainedScanner(["d/²"], n_estimators=1).fit(*noisy(20))


@both
def test_only_the_scans_that_kept_layers_see_are_kept(Cascade):
    model = small(Cascade, max_layers=1).fit(*noisy(40))
    assert model.n_layers_ == 1
    assert len(model.features_._scans) == 1


@both
@pytest.mark.parametrize("n_layers", [1, 2, 4])
def test_forests_of_a_window_size_are_fitted_when_a_layer_asks_for_them(Cascade, n_layers, monkeypatch):
    asked = []
    fit = scanning.Scanning.fit
    monkeypatch.setattr(scanning.Scanning, "fit", lambda self, k, *others: asked.append(k) or fit(self, k, *others))
    scanner = {"windows": [3, 5, 7], "n_folds": 2, "min_samples_leaf": 3}
    model = small(Cascade, scanning=scanner, max_layers=n_layers, patience=5).fit(*noisy(80))
    assert asked == list(range(min(len(model.validation_scores_), 3)))
    assert model.n_layers_ <= len(model.validation_scores_) <= n_layers


@both
@pytest.mark.parametrize(("subsample", "n_grown"), [(None, 7), (2, 3)])
def test_patience_counts_cycles_of_window_sizes(Cascade, subsample, n_grown):
    """The first layer is the best. With positions of its own each layer sees all window sizes."""
    scores = itertools.chain([1.0], itertools.repeat(0.5))
    scanner = {"windows": [3, 5, 7], "n_folds": 2, "min_samples_leaf": 3, "subsample": subsample}
    parameters = {"max_layers": 20, "patience": 2, "scoring": lambda *given: next(scores)}
    model = small(Cascade, scanning=scanner, **parameters).fit(*noisy(60))
    assert len(model.validation_scores_) == n_grown


@pytest.mark.parametrize("n_classes", [2, 10])
def test_vectors_of_new_rows_need_the_memory_of_a_block(monkeypatch, n_classes):
    """A block is all that `BLOCK_BYTES` bounds; half of it is added for places and the like."""
    X, y = noisy(500, 400, n_classes)
    scanner = MultiGrainedScanner([4], shape=(20, 20), n_estimators=2, n_folds=2, max_depth=2, random_state=0).fit(X, y)
    pixels = Pixels.of_new_rows(X, scanner._bins, None)
    monkeypatch.setattr(scanning, "BLOCK_BYTES", 1 << 22)
    tracemalloc.start()
    try:
        n_blocks = sum(1 for _ in scanner.scans_[0].blocks(pixels, np.arange(500), 1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_blocks > 1
    assert peak < 1.5 * (1 << 22)


_MEMORY_OF_FIT = """
import sys
from pathlib import Path
import numpy as np
from cascadeforest import MultiGrainedScanner

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])

n_rows, n_jobs = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(n_rows, 1100)).astype(np.float32), rng.integers(0, 3, n_rows)
scanner = MultiGrainedScanner([100], n_estimators=4, n_folds=2, n_jobs=n_jobs, min_samples_leaf=50, random_state=0)
scanner.fit(X[:10], y[:10])  # what is compiled and kept
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
scanner.fit(X, y)
print((status("VmHWM") - before) / (n_rows // 2 * 1001))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux to set the peak back")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_growing_on_windows_needs_the_memory_that_is_stated(n_jobs):
    """60 to 65 bytes a window and thread were measured; a copy of the windows would be another 100."""
    command = [sys.executable, "-c", _MEMORY_OF_FIT, "400", str(n_jobs)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < float(found.stdout) < 85 * n_jobs


REPEATED = "rows that are repeated are other rows to deal out to folds"
CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_class_weight_classifiers": "as of cascades without scanning: no weight changes the share of a pure leaf",
}


@parametrize_with_checks(
    [
        Cascade(2, 5, max_layers=2, scanning={"windows": ["d/1"], "min_samples_leaf": 2, "subsample": subsample})
        for Cascade, subsample in zip(BOTH, (None, 1.0), strict=True)
    ],
    expected_failed_checks=lambda cascade: CHECKS,
)
def test_scikit_learn_accepts_cascades_with_scanning(estimator, check):
    check(estimator)
