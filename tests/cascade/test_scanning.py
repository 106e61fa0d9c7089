"""Multi-grained scanning: windows against windows that numpy cuts out, forests against forests on those."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from cascadeforest import GCForestClassifier, GCForestCSClassifier, MultiGrainedScanner
from cascadeforest.cascade import scanning
from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.scanning import _FOLDS, _MODEL, SCANNING, Grain, Pixels
from cascadeforest.forest.binning import BinnedMatrix
from cascadeforest.forest.growth import grow_forest, tree_seeds
from cascadeforest.forest.seeds import seed_at

examples = settings(deadline=None, derandomize=True, max_examples=40)
SHAPES = [(9,), (5, 6), (4, 5, 3)]


def sequences(n_rows=60, length=12, seed=0):
    """A bump of one of two shapes somewhere in each row, and noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(scale=0.3, size=(n_rows, length))
    for i, place in enumerate(rng.integers(0, length - 2, n_rows)):
        X[i, place : place + 3] += [1, 2, 1] if y[i] else [2, 0, 2]
    return X, np.array(["dip", "bump"])[y]


def cut_out(row, grain):
    """Windows of one row, one after the other, flat."""
    row = row.reshape(grain.shape)
    starts = [range(0, n - w + 1, grain.stride) for n, w in zip(grain.shape, grain.window, strict=False)]
    return np.array(
        [
            row[tuple(slice(p, p + w) for p, w in zip(place, grain.window, strict=True))].reshape(-1)
            for place in itertools.product(*starts)
        ]
    )


@st.composite
def grains(draw):
    shape = draw(st.sampled_from(SHAPES))
    window = tuple(draw(st.integers(1, n)) for n in shape[:2])
    return Grain(shape, window, draw(st.integers(1, 3)))


@examples
@given(grains())
def test_places_and_offsets_find_the_windows_that_numpy_cuts_out(grain):
    X = np.random.default_rng(0).integers(0, 200, (4, grain.n_values)).astype(np.uint8)
    pixels = Pixels(X.reshape(-1), grain.n_values, None)
    columns = pixels.windows(grain).columns
    assert np.shares_memory(columns, X)
    rows = np.array([2, 0])
    places = pixels.places(rows, grain.positions)
    found = columns[grain.offsets][:, places].T
    assert found.tolist() == np.vstack([cut_out(X[i], grain) for i in rows]).tolist()
    assert len(grain.positions) == np.prod(grain.grid)


@pytest.mark.parametrize(
    ("shape", "window", "stride"), [((12,), (4,), 1), ((3, 4), (2, 2), 1), ((2, 3, 2), (1, 2), 1), ((12,), (3,), 2)]
)
def test_class_vectors_are_those_of_forests_on_windows_that_were_cut_out(shape, window, stride):
    X, y = sequences()
    label = (y == "dip").astype(int)
    scanner = MultiGrainedScanner([window], shape=shape, stride=stride, n_estimators=3, random_state=4)
    Z = scanner.fit_transform(X, y)
    new = scanner.transform(X[:7] * 1.1)
    entropy = int(np.random.RandomState(4).randint(np.iinfo(np.int32).max))
    grain = scanner.scans_[0].grain
    pixels, mapper = Pixels.of_training_rows(X, seed_at(entropy, SCANNING, 0), None)
    of_new = mapper.transform((X[:7] * 1.1).reshape(-1, 1)).columns.reshape(7, -1)
    bins = pixels.flat.reshape(X.shape)

    def matrix(rows_of_bins):
        cut = np.vstack([cut_out(row, grain) for row in rows_of_bins]).T
        return BinnedMatrix(np.ascontiguousarray(cut), np.tile(pixels.centers, (len(cut), 1)))

    n_positions = len(grain.positions)
    expected, expected_new = np.empty((60, n_positions, 2, 2)), np.zeros((7, n_positions, 2, 2))
    for k, member in enumerate(scanner.checked(12, 2, entropy).rules.members):
        fold = stratified_folds(label, 3, seed_at(entropy, SCANNING, 0, k, _FOLDS))
        for i in range(3):
            learned, held_out = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
            forest = grow_forest(
                matrix(bins[learned]),
                np.repeat(label[learned], n_positions),
                n_classes=2,
                rules=member.growth_rules(len(learned) * n_positions, len(grain.offsets)),
                seeds=tree_seeds(seed_at(entropy, SCANNING, 0, k, _MODEL, i), 3),
                bootstrap=member.bootstrap,
            )
            expected[held_out, :, k] = forest.trees.predict(matrix(bins[held_out])).reshape(len(held_out), -1, 2)
            expected_new[:, :, k] += forest.trees.predict(matrix(of_new)).reshape(7, -1, 2) / 3
    assert pytest.approx(expected.reshape(60, -1), abs=1e-6) == Z
    assert pytest.approx(expected_new.reshape(7, -1), abs=1e-6) == new


@pytest.mark.parametrize(
    ("shape", "window", "size"),
    [
        ((3000,), "d/16", (187,)),
        ((28, 28), "d/16", (7, 7)),
        ((28, 28), "d/4", (14, 14)),
        ((32, 32, 3), "d/16", (8, 8)),
        ((8, 8), "d/16", (2, 2)),
        ((8, 8), " d / 8 ", (3, 3)),
        ((8, 8), 5, (5, 5)),
        ((8, 8), (2, 7), (2, 7)),
        ((9,), [4], (4,)),
    ],
)
def test_window_sizes_by_hand(shape, window, size):
    settings = MultiGrainedScanner([window], shape=shape).checked(int(np.prod(shape)), 2, 0)
    assert settings.grains[0].window == size


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"windows": ["d/0"]}, r"windows has 'd/0', .* within the row"),
        ({"windows": ["x"]}, "windows has 'x'"),
        ({"windows": "d/4"}, "windows is 'd/4'; give a list"),
        ({"windows": []}, r"windows is \[\]; give a list"),
        ({"windows": [13]}, "windows has 13"),
        ({"windows": [(2, 2)]}, r"windows has \(2, 2\)"),
        ({"windows": [2.5]}, "windows has 2.5"),
        ({"windows": [True]}, "windows has True"),
        ({"shape": (5, 2)}, r"shape is \(5, 2\), but X has 12 features; give"),
        ({"shape": "square"}, "shape is .*, but X has 12 features"),
        ({"stride": 0}, "stride is 0; give"),
        ({"subsample": 0}, "subsample is 0; give"),
        ({"subsample": 40}, "subsample is 40; give"),
        ({"pooling": 2}, r"pooling is 2; it needs images, and all positions \(subsample=None\)"),
        ({"estimators": "random_forest"}, "estimators is 'random_forest'; give a list"),
        ({"estimators": ["forest"]}, "estimators is 'forest'; choose"),
        ({"n_estimators": 0}, "n_estimators is 0; give"),
        ({"n_folds": 1}, "n_folds is 1; give"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    X, y = sequences()
    with pytest.raises(ValueError, match=message):
        MultiGrainedScanner(**{"windows": [4], "n_estimators": 2} | wrong).fit(X, y)


def test_squares_of_positions_are_averaged_with_what_is_left_over():
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    common = {"shape": (8, 8), "n_estimators": 3, "random_state": 0}
    plain = MultiGrainedScanner([4], **common).fit_transform(X, y).reshape(120, 5, 5, 2, 10)
    pooled = MultiGrainedScanner([4], pooling=2, **common).fit(X, y)
    assert pooled.scans_[0].n_features == 3 * 3 * 2 * 10
    found = MultiGrainedScanner([4], pooling=2, **common).fit_transform(X, y).reshape(120, 3, 3, 2, 10)
    for i, j in itertools.product(range(3), range(3)):
        square = plain[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        assert found[:, i, j] == pytest.approx(square.mean(axis=(1, 2)), abs=1e-6)


@pytest.mark.parametrize("others", [{}, {"pooling": 2}, {"subsample": 0.5}])
def test_blocks_change_nothing(monkeypatch, others):
    X, y = load_digits(return_X_y=True)
    scanner = MultiGrainedScanner([5], shape=(8, 8), n_estimators=2, random_state=0, **others)
    whole = scanner.fit_transform(X[:90], y[:90]), scanner.transform(X[90:120])
    monkeypatch.setattr(scanning, "BLOCK_BYTES", 1)
    assert len(list(scanner.scans_[0]._parts(1))) > 1
    parts = scanner.fit_transform(X[:90], y[:90]), scanner.transform(X[90:120])
    assert all(a.tobytes() == b.tobytes() for a, b in zip(whole, parts, strict=True))


def test_blocks_are_as_small_as_the_bound_says(monkeypatch):
    monkeypatch.setattr(scanning, "BLOCK_BYTES", 40_000)
    X, y = load_digits(return_X_y=True)
    scanner = MultiGrainedScanner([3], shape=(8, 8), n_estimators=1, random_state=0).fit(X[:100], y[:100])
    pixels = Pixels.of_new_rows(X[:30], scanner._bins, None)
    blocks = list(scanner.scans_[0].blocks(pixels, np.arange(30), None))
    assert sum(block.shape[1] for block in blocks) == 36 * 2 * 10
    assert all(3 * block.nbytes <= 40_000 for block in blocks)  # and twice as much while it is summed up


def test_threads_seeds_and_pickles():
    X, y = sequences()
    scanner = MultiGrainedScanner([3, 5], n_estimators=4, random_state=1)
    Z = scanner.fit_transform(X, y)
    assert clone(scanner).set_params(n_jobs=2).fit_transform(X, y).tobytes() == Z.tobytes()
    assert pickle.loads(pickle.dumps(scanner)).transform(X).tobytes() == scanner.transform(X).tobytes()
    assert clone(scanner).set_params(random_state=2).fit_transform(X, y).tobytes() != Z.tobytes()
    assert Z.shape == (60, (10 + 8) * 2 * 2)
    assert pytest.approx(1.0, abs=1e-6) == Z.reshape(60, -1, 2).sum(axis=2)


def test_missing_values_and_many_values(monkeypatch):
    X, y = sequences(200)
    X[::3, 4] = np.nan
    whole = MultiGrainedScanner([4], n_estimators=3, random_state=0).fit_transform(X, y)
    assert np.isfinite(whole).all()
    monkeypatch.setattr(scanning, "_BIN_VALUES", 500)
    some = MultiGrainedScanner([4], n_estimators=3, random_state=0)
    assert abs(some.fit_transform(X, y) - whole).mean() < 0.2
    assert len(some._bins.edges_) == 254


@pytest.mark.parametrize(
    ("parameters", "n_columns"),
    [
        ({"windows": [3, (2, 4)]}, (36 + 35) * 2 * 3),
        ({"windows": [3, "d/4"], "pooling": 4, "estimators": ["extra_trees"]}, (4 + 4) * 3),
        ({"windows": [3, (2, 4)], "subsample": 0.2}, (7 + 7) * 2 * 3),
    ],
    ids=["all", "pooled", "subsampled"],
)
def test_columns_have_the_names_of_what_they_are(parameters, n_columns):
    """Each column is found by its name alone, through the forests of its window size and position."""
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 3][:90], np.array(["nil", "one", "two"])[y[y < 3][:90]]
    scanner = MultiGrainedScanner(shape=(8, 8), n_estimators=2, random_state=0, **parameters)
    plain, plain_training = scanner.fit(X, y).transform(X), scanner.fit_transform(X, y)
    index = pd.RangeIndex(7, 97)
    frame = pd.DataFrame(X, index=index).add_prefix("pixel")
    scanner.set_output(transform="pandas")
    training, found = scanner.fit_transform(frame, y), scanner.transform(frame)
    assert found.to_numpy().tobytes() == plain.tobytes()
    assert training.to_numpy().tobytes() == plain_training.tobytes()
    assert found.index.equals(index)
    assert training.columns.equals(found.columns)
    assert found.shape[1] == found.columns.nunique() == n_columns
    assert scanner.get_feature_names_out().tolist() == found.columns.tolist()
    assert {dtype.name for dtype in found.dtypes} == {"float32"}
    for k, scan in enumerate(scanner.scans_):
        pixels = Pixels.of_new_rows(X, scanner._bins, None)
        windows, begins = pixels.windows(scan.grain), scan.grain.positions
        height, width = scan.grain.grid
        squares = np.arange(height)[:, None] // scan.pooling * -(-width // scan.pooling)
        place_of = (squares + np.arange(width) // scan.pooling).reshape(-1)  # of each position
        for forest, models in enumerate(scan.forests):
            for place in scan.places:
                own = scan.positions[place_of[scan.positions] == place] if scan.pooling > 1 else [place]
                vectors = [
                    trees.predict(windows, pixels.places(np.arange(90), begins[[position]]))
                    for position in own
                    for trees in models
                ]
                columns = [f"window{k}_position{place}_forest{forest}_{name}" for name in ("nil", "one", "two")]
                np.testing.assert_allclose(found[columns], np.mean(vectors, axis=0), atol=1e-6)


CHECKS = {
    name: "fit_transform gives out-of-fold vectors, as scikit-learn's TargetEncoder"
    for name in ("check_transformer_general", "check_transformer_data_not_an_array")
}


@parametrize_with_checks(
    [MultiGrainedScanner(["d/1"], n_estimators=3, min_samples_leaf=2)], expected_failed_checks=lambda scanner: CHECKS
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


# In a cascade.


class Watched:
    """Remembers what each level sees."""

    def __init__(self, monkeypatch, kind):
        self.seen = []
        original = kind.at

        def at(source, level, rows, y, weights):
            representation = original(source, level, rows, y, weights)
            self.seen.append((level, len(rows), representation.n_given, representation.binned.columns.copy()))
            return representation

        monkeypatch.setattr(kind, "at", at)


def every_layer():
    """A scorer that lets no layer be dropped."""
    count = itertools.count()
    return lambda estimator, X, y: next(count)


def cascade(Cascade, scanner, layers, **others):
    common = {"n_forests": 2, "n_estimators": 3, "max_layers": layers, "patience": layers, "random_state": 0}
    return Cascade(**common, scanning=scanner, scoring=every_layer(), **others)


@pytest.mark.parametrize("Cascade", [GCForestClassifier, GCForestCSClassifier])
def test_full_scanning_shows_one_window_size_after_the_other(monkeypatch, Cascade):
    watched = Watched(monkeypatch, scanning.FixedGrains)
    X, y = sequences(90)
    others = {} if Cascade is GCForestClassifier else {"a": 0.01}
    model = cascade(Cascade, {"windows": [3, 5, 8]}, 5, **others).fit(X, y)
    assert [n_given for _, _, n_given, _ in watched.seen] == [40, 32, 20, 40, 32]  # positions * 2 forests * 2 classes
    assert model.n_layers_ == 5
    assert len(list(model.staged_predict_proba(X))) == 5


def test_subsampled_scanning_sees_other_positions_at_each_level_and_the_recent_three(monkeypatch):
    watched = Watched(monkeypatch, scanning.FreshGrains)
    X, y = sequences(90)
    model = cascade(GCForestClassifier, MultiGrainedScanner([3], subsample=4), 5).fit(X, y)
    assert [n_given for _, _, n_given, _ in watched.seen] == [16, 32, 48, 48, 48]
    for before, after in itertools.pairwise(watched.seen):  # what was there moves to the front
        kept = min(before[2], 32)
        assert after[3][:kept].tolist() == before[3][before[2] - kept : before[2]].tolist()
    positions = [scans[0][0].positions.tolist() for scans in model.features_._levels]
    assert all(p == sorted(set(p)) and len(p) == 4 for p in positions)
    assert len({tuple(p) for p in positions}) > 1
    again = cascade(GCForestClassifier, MultiGrainedScanner([3], subsample=4), 5).fit(X, y)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_rows_that_have_left_are_not_scanned_again(monkeypatch):
    X, y = sequences(300)
    asked = []
    original = scanning.Pixels.places

    def places(pixels, rows, positions):
        asked.append((len(pixels.flat) // pixels.n_values, tuple(rows)))
        return original(pixels, rows, positions)

    model = cascade(GCForestCSClassifier, {"windows": [3], "subsample": 5}, 3, a=0.5).fit(X[:200], y[:200])
    assert model.a_ == 0.5
    levels = model.decision_level(X[200:])
    assert len(set(levels)) > 1
    monkeypatch.setattr(scanning.Pixels, "places", places)
    model.predict_proba(X[200:])
    scanned = {rows for n_rows, rows in asked if n_rows == 100}
    assert scanned == {tuple(np.flatnonzero(levels >= level)) for level in range(max(levels) + 1)}


def test_scanning_alone_sets_a_twentieth():
    X, y = sequences(90)
    assert cascade(GCForestCSClassifier, {"windows": [3], "subsample": 4}, 2).fit(X, y).a_ == 1 / 20


def test_a_search_over_windows():
    X, y = sequences(90)
    model = GCForestClassifier(2, 3, max_layers=1, scanning=MultiGrainedScanner([2], subsample=5), random_state=0)
    search = GridSearchCV(model, {"scanning__windows": [[2], [4]]}, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 2
    assert search.score(X, y) > 0.8


@pytest.mark.parametrize("Cascade", [GCForestClassifier, GCForestCSClassifier])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scanning": "yes"}, "scanning is 'yes'; give a MultiGrainedScanner"),
        ({"scanning": {"window": [3]}}, r"scanning is \{'window': \[3\]\}; give parameters of MultiGrainedScanner"),
        ({"scanning": {"windows": [3]}, "input_shape": (5, 5)}, r"shape is \(5, 5\), but X has 12 features"),
        (
            {"scanning": {"windows": [3]}, "estimators": [LogisticRegression()]},
            "with scanning a layer takes our forests",
        ),
    ],
)
def test_what_does_not_fit_together_is_named(Cascade, parameters, message):
    X, y = sequences()
    with pytest.raises(ValueError, match=message):
        Cascade(2, 3, **parameters).fit(X, y)


def test_weights_reach_the_windows():
    """Stumps: the share of a class is that of its weight."""
    X, y = sequences(90)
    label = (y == "dip").astype(int)
    pixels = Pixels.of_training_rows(X, np.random.SeedSequence(0), None)[0]
    settings = MultiGrainedScanner([3], n_estimators=3, max_depth=1).checked(12, 2, 0)
    shares = []
    for weights in (None, np.where(label == 1, 1e-3, 1.0)):
        scan, folds = settings.fit(0, pixels, np.arange(90), label, weights)
        shares.append(np.hstack(list(scan.blocks(pixels, np.arange(90), None, folds))).reshape(-1, 2)[:, 1].mean())
    assert 0.3 < shares[0] < 0.7
    assert shares[1] < 0.01
