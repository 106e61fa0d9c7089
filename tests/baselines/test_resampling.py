"""The resampled forests: which rows are drawn, and that the forest learns from them and from nothing else."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis.strategies import integers, lists, sampled_from
from imblearn.over_sampling import RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler

from cascadeforest.baselines import resampling
from cascadeforest.baselines.resampling import ResampledForestClassifier, sampled_rows
from cascadeforest.experiments.fitting import CURVES, make_estimator
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.forest.estimators import RandomForestClassifier

ROOT = Path(__file__).parents[2]
SAMPLERS = {"under": RandomUnderSampler, "over": RandomOverSampler}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


@pytest.fixture
def uneven():
    """Three classes of 60, 25 and 9 rows in random order; column 0 is the number of the row."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [60, 25, 9]))
    X = np.column_stack([np.arange(94), y + rng.normal(0, 0.7, 94), rng.normal(size=94)])
    return X.astype(np.float32), y


@pytest.fixture
def learned(monkeypatch):
    """What every forest of the module under test is given, in order."""
    record = []

    class Spy(RandomForestClassifier):
        def fit(self, X, y):
            record.append((X, y))
            return super().fit(X, y)

    monkeypatch.setattr(resampling, "RandomForestClassifier", Spy)
    return record


def in_bytes(forest):
    trees = forest.trees_
    return trees.nodes.tobytes(), trees.offsets.tobytes(), trees.values.tobytes()


# ---------------------------------------------------------------------------------------------- the rows


@settings(deadline=None, derandomize=True)
@given(
    sizes=lists(integers(1, 30), min_size=2, max_size=6),
    sampler=sampled_from(list(SAMPLERS)),
    seed=integers(0, 2**32 - 1),
)
@example(sizes=[7, 7], sampler="under", seed=0)
@example(sizes=[7, 7], sampler="over", seed=0)
def test_every_class_gets_the_size_of_the_smallest_or_of_the_largest(sizes, sampler, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = sampled_rows(codes, sampler, seed)
    wanted = min(sizes) if sampler == "under" else max(sizes)
    assert np.bincount(codes[rows]).tolist() == [wanted] * len(sizes)
    if sampler == "under":
        assert len(np.unique(rows)) == len(rows), "a row was drawn twice"
    else:
        assert np.array_equal(rows[: len(codes)], np.arange(len(codes))), "a row was lost"


@pytest.mark.parametrize(("sampler", "draws"), [("under", 1), ("over", 9)])
def test_every_row_of_a_class_is_drawn_equally_often(sampler, draws):
    """10 rows of class 0 beside 1 or 19 of class 1: one of the ten stays, or nine draws are added.

    Chi-squared with 9 degrees of freedom; the limit is exceeded once in a million.
    """
    codes = np.repeat([0, 1], [10, 1 if sampler == "under" else 19])
    times = np.zeros(10)
    for seed in range(300):
        rows = sampled_rows(codes, sampler, seed)
        rows = rows[codes[rows] == 0]
        times += np.bincount(rows if sampler == "under" else rows[10:], minlength=10)
    assert times.sum() == 300 * draws
    expected = 30 * draws
    assert np.sum((times - expected) ** 2 / expected) < 44.9


@every_sampler
def test_the_rows_are_those_that_the_library_draws(sampler, uneven):
    X, y = uneven
    theirs, labels = SAMPLERS[sampler](random_state=5).fit_resample(X, y)
    rows = sampled_rows(y, sampler, 5)
    assert np.array_equal(X[rows], theirs)
    assert np.array_equal(y[rows], labels)


@pytest.mark.parametrize("sampler", ["smote", None, ["under"]])
def test_an_unknown_sampler_is_refused_with_those_that_are_known(sampler, uneven):
    with pytest.raises(ValueError, match=r"sampler is .*; choose 'under' or 'over'\.") as caught:
        ResampledForestClassifier(2, sampler=sampler).fit(*uneven)
    assert repr(sampler) in str(caught.value)


@pytest.mark.parametrize("n_estimators", [0, 2.5])
def test_a_number_of_trees_that_is_none_is_refused(n_estimators, uneven):
    with pytest.raises((ValueError, TypeError), match="n_estimators"):
        ResampledForestClassifier(n_estimators).fit(*uneven)


# ---------------------------------------------------------------------------------------------- the forest


@every_sampler
def test_the_forest_learns_from_the_drawn_rows_with_their_own_labels(sampler, uneven, learned):
    X, y = uneven
    model = ResampledForestClassifier(3, sampler=sampler, random_state=0).fit(X, y)
    ((drawn, labels),) = learned
    rows = drawn[:, 0].astype(int)
    assert np.array_equal(drawn, X[rows])
    assert np.array_equal(labels, y[rows])
    assert np.bincount(labels).tolist() == [9 if sampler == "under" else 60] * 3
    assert model.n_sampled_rows_ == len(rows)


def test_over_sampling_is_the_forest_on_the_repeated_rows():
    """With one row in the small class, which row is repeated is no matter of chance."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(13, 3)), np.repeat([0, 1], [12, 1])
    ours = ResampledForestClassifier(10, sampler="over", random_state=3).fit(X, y)
    repeated = [*range(13), *[12] * 11]
    theirs = RandomForestClassifier(10, random_state=ours.forest_.random_state).fit(X[repeated], y[repeated])
    assert in_bytes(ours.forest_) == in_bytes(theirs)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_under_sampling_is_the_forest_on_the_rows_that_are_left():
    """The rows of the large class are all the same, so that it does not matter which are left."""
    X = np.concatenate([np.tile([[1.0, 2.0]], (30, 1)), np.random.default_rng(0).normal(size=(5, 2))])
    y = np.repeat([0, 1], [30, 5])
    ours = ResampledForestClassifier(10, sampler="under", random_state=3).fit(X, y)
    theirs = RandomForestClassifier(10, random_state=ours.forest_.random_state).fit(X[25:], y[25:])
    assert in_bytes(ours.forest_) == in_bytes(theirs)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@every_sampler
def test_equal_classes_are_left_alone(sampler, learned):
    X, y = np.arange(20.0)[:, np.newaxis], np.repeat([0, 1], 10)
    ResampledForestClassifier(2, sampler=sampler, random_state=0).fit(X, y)
    ((drawn, labels),) = learned
    assert np.array_equal(np.sort(drawn, axis=0), X)
    assert np.array_equal(labels, drawn[:, 0] >= 10)


@pytest.mark.parametrize(
    "model",
    [
        ResampledForestClassifier(100, sampler="under", random_state=0),
        ResampledForestClassifier(100, sampler="over", random_state=0),
        RandomForestClassifier(100, class_weight="balanced", random_state=0),
    ],
    ids=["under", "over", "class-weighted"],
)
def test_a_feature_that_tells_nothing_leaves_equal_chances(model):
    """Trees are single leaves that hold the shares of their bootstrap; 90 % and 10 % of 200 rows without a remedy.

    The least rows (40, under-sampled) give the mean of 100 trees a standard deviation of sqrt(0.25 / 4000) = 0.008;
    the weighted one has 0.006 and a bias of -0.006. The bound is five deviations and the bias: one false alarm in a
    million.
    """
    X, y = np.ones((200, 1)), np.repeat([0, 1], [180, 20])
    plain = RandomForestClassifier(100, random_state=0).fit(X, y).predict_proba(X[:1])
    assert plain == pytest.approx(np.array([[0.9, 0.1]]), abs=0.02)
    assert model.fit(X, y).predict_proba(X[:1]) == pytest.approx(np.array([[0.5, 0.5]]), abs=0.046)


@every_sampler
def test_missing_values_reach_the_forest_and_decide(sampler, learned):
    """Whether the value is missing is all there is to learn."""
    X = np.array([0, 1, 2, 3, np.nan] * 20, dtype=np.float32)[:, np.newaxis]
    y = np.array([0, 0, 0, 0, 1] * 20)
    model = ResampledForestClassifier(20, sampler=sampler, random_state=0).fit(X, y)
    ((drawn, labels),) = learned
    assert np.array_equal(np.isnan(drawn[:, 0]), labels == 1)
    assert np.array_equal(model.predict(X), y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_floating_types_stay_as_they_are(dtype, uneven, learned):
    """The comparison is with the forest alone, which does not round either."""
    X, y = uneven
    ResampledForestClassifier(2, random_state=0).fit(X.astype(dtype), y)
    assert learned[0][0].dtype == dtype


@every_sampler
def test_labels_may_be_words_or_have_gaps(sampler, uneven):
    X, y = uneven
    plain = ResampledForestClassifier(10, sampler=sampler, random_state=0).fit(X, y)
    for names in (np.array(["a", "bb", "ccc"]), np.array(["a", "bb", "ccc"], dtype=object), np.array([-3, 0, 70])):
        model = ResampledForestClassifier(10, sampler=sampler, random_state=0).fit(X, names[y])
        assert model.classes_.tolist() == names.tolist()
        assert np.array_equal(model.predict(X), names[plain.predict(X)])
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))


@every_sampler
def test_one_class_is_refused_by_name(sampler):
    with pytest.raises(ValueError, match=r"ResampledForestClassifier needs .* y holds 1 class"):
        ResampledForestClassifier(2, sampler=sampler).fit(np.zeros((5, 1)), np.ones(5))


# ---------------------------------------------------------------------------------------------- seeds


@every_sampler
def test_same_seed_same_bytes_whatever_the_threads(sampler, uneven):
    X, y = uneven
    fitted = [
        ResampledForestClassifier(8, sampler=sampler, n_jobs=n_jobs, random_state=7).fit(X, y) for n_jobs in (1, 1, 2)
    ]
    assert len({in_bytes(model.forest_) for model in fitted}) == 1
    assert len({model.predict_proba(X).tobytes() for model in fitted}) == 1
    assert fitted[2].forest_.n_jobs == 2
    other = ResampledForestClassifier(8, sampler=sampler, random_state=8).fit(X, y)
    assert in_bytes(other.forest_) != in_bytes(fitted[0].forest_)


def test_sampler_and_forest_have_seeds_of_their_own(uneven, monkeypatch):
    """The seed of the one is not that of the other, and neither moves when the other draws more or less."""
    seeds = []
    draw = resampling.sampled_rows

    def spy(codes, sampler, seed):
        seeds.append(seed)
        return draw(codes, sampler, seed)

    monkeypatch.setattr(resampling, "sampled_rows", spy)
    under = ResampledForestClassifier(2, sampler="under", random_state=4).fit(*uneven)
    over = ResampledForestClassifier(5, sampler="over", random_state=4).fit(*uneven)
    assert under.forest_.random_state == over.forest_.random_state
    assert seeds[0] == seeds[1] != under.forest_.random_state


# ---------------------------------------------------------------------------------------------- the workflow


def test_nothing_is_taken_for_the_curve_of_a_cascade(uneven):
    """A cell reads some attributes as one number a layer: `n_rows_`, a plain number here, would end it in an error."""
    model = ResampledForestClassifier(2, random_state=0).fit(*uneven)
    assert not [name for name in CURVES.values() if hasattr(model, name)]


def test_the_presets_differ_from_the_plain_forest_in_the_remedy_alone(tmp_path):
    """In a plan of their own: which experiments show them is not this test's business."""
    for name in ("config", "workflow/schemas"):
        shutil.copytree(ROOT / name, tmp_path / name)
    remedies = {
        "random_forest_200": {},
        "random_forest_balanced": {"class_weight": "balanced"},
        "random_forest_undersampled": {"sampler": "under"},
        "random_forest_oversampled": {"sampler": "over"},
    }
    experiment = {
        "title": "Remedies",
        "kind": "table",
        "render": "scores",
        "metrics": ["accuracy"],
        "models": {name: name for name in remedies},
        "repeats": 1,
        "datasets": {suite: ["iris"] for suite in ("smoke", "quick", "standard", "paper")},
    }
    for path in (tmp_path / "config" / "experiments").iterdir():
        path.unlink()
    (tmp_path / "config" / "experiments" / "remedies.yaml").write_text(yaml.safe_dump({"remedies": experiment}))
    plan = load_plan(tmp_path, {"suite": "paper"})
    runs = {run.model: run for run in plan.runs}
    assert {name: run.params for name, run in runs.items()} == {
        name: {"n_estimators": 200} | remedy for name, remedy in remedies.items()
    }
    for run in runs.values():
        known = make_estimator(run.estimator, run.params, seed=3, threads=2).get_params()
        assert known | run.params | {"random_state": 3, "n_jobs": 2} == known
    sampled = {name for name, run in runs.items() if "imbalanced-learn" in run.libraries}
    assert sampled == {"random_forest_undersampled", "random_forest_oversampled"}
    assert plan.experiments["remedies"].labels == {
        "random_forest_200": "RF",
        "random_forest_balanced": "RF, class-weighted",
        "random_forest_undersampled": "RF, under-sampled",
        "random_forest_oversampled": "RF, over-sampled",
    }
