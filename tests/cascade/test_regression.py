"""Cascades for regression: against the naive twin, and targets of any size."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.multioutput import MultiOutputRegressor

from cascadeforest import (
    CascadeForestRegressor,
    CompletelyRandomForestRegressor,
    Explainer,
    ExtraTreesRegressor,
    RandomForestRegressor,
)

from . import naive

SMALL = {"n_forests": 2, "n_estimators": 4, "max_layers": 3, "patience": 3, "random_state": 0}
DEFAULT = [RandomForestRegressor(4, max_features="sqrt"), CompletelyRandomForestRegressor(4)]


def diabetes(n_rows=100):
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[rows], y[rows]


def better_and_better():
    calls = []

    def scorer(estimator, X, y, sample_weight=None):
        calls.append(estimator.predict(X))
        return len(calls)

    return scorer, calls


@pytest.mark.parametrize(
    ("others", "members", "rules"),
    [
        ({}, DEFAULT, {"dtype": "float64"}),
        ({"class_vectors": "k_fold_refit"}, DEFAULT, {"dtype": "float64", "class_vectors": "k_fold_refit"}),
        ({"vector_dtype": "float32", "n_folds": 4}, DEFAULT, {"dtype": "float32", "n_folds": 4}),
        ({"preset": "official"}, [DEFAULT[0], ExtraTreesRegressor(4, max_features="sqrt")], {"dtype": "float16"}),
        (
            {"max_features": None, "max_depth": 4},
            [
                RandomForestRegressor(4, max_features=None, max_depth=4),
                CompletelyRandomForestRegressor(4, max_depth=4),
            ],
            {"dtype": "float64"},
        ),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_cascade_is_its_naive_twin(others, members, rules, weighted):
    X, y = diabetes()
    weights = np.random.default_rng(0).uniform(0.2, 3, 100) if weighted else None
    scorer, scored = better_and_better()
    model = CascadeForestRegressor(**SMALL, scoring=scorer, **others).fit(X, y, sample_weight=weights)
    twin, out_of_fold = naive.grow_cascade(members, X, y, 0, naive.entropy_of(0), 3, weights=weights, **rules)
    new = diabetes(None)[0]
    assert model.n_layers_ == 3
    for stage, wanted in zip(model.staged_predict(new), twin.staged(new), strict=True):
        assert stage == pytest.approx(wanted[:, 0], rel=1e-13)  # the forests are added up in one go, or one by one
    for predicted, wanted in zip(scored, out_of_fold, strict=True):
        assert predicted == pytest.approx(wanted[:, 0], rel=1e-13)


def test_a_cascade_with_out_of_bag_vectors_is_its_naive_twin():
    X, y = diabetes()
    scorer, _ = better_and_better()
    model = CascadeForestRegressor(**SMALL, scoring=scorer, class_vectors="oob", vector_dtype="float32").fit(X, y)
    twin, _ = naive.grow_cascade(
        DEFAULT, X, y, 0, naive.entropy_of(0), 3, class_vectors="oob", dtype="float32"
    )  # single precision: last digits of a mean do not decide how later layers are binned
    for stage, wanted in zip(model.staged_predict(X), twin.staged(X), strict=True):
        assert stage == pytest.approx(wanted[:, 0], rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_of_out_of_fold_predictions(weighted):
    X, y = diabetes()
    weights = np.random.default_rng(0).uniform(0.2, 3, 100) if weighted else None
    _, out_of_fold = naive.grow_cascade(DEFAULT, X, y, 0, naive.entropy_of(0), 3, weights=weights, dtype="float64")
    model = CascadeForestRegressor(**SMALL).fit(X, y, sample_weight=weights)
    wanted = [-np.sqrt(mean_squared_error(y, p[:, 0], sample_weight=weights)) for p in out_of_fold]
    assert model.validation_scores_ == pytest.approx(wanted, rel=1e-12)
    model = CascadeForestRegressor(**SMALL, scoring="r2").fit(X, y, sample_weight=weights)
    wanted = [r2_score(y, p[:, 0], sample_weight=weights) for p in out_of_fold]
    assert model.validation_scores_ == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("preset", ["paper", "official"])
def test_three_layers_in_vain_end_the_growth(preset):
    X, y = diabetes()
    scores = iter([-5.0, -3.0, -3.0, -4.0, -3.5, -1.0])
    model = CascadeForestRegressor(2, 2, preset=preset, scoring=lambda e, X, y: next(scores), random_state=0).fit(X, y)
    assert model.validation_scores_.tolist() == [-5.0, -3.0, -3.0, -4.0, -3.5]
    assert model.n_layers_ == 2


# Targets.


@pytest.mark.parametrize("shift", [1e8, -1e12])
@pytest.mark.parametrize("how", ["k_fold", "k_fold_refit", "oob"])
def test_targets_far_from_zero_lose_nothing(shift, how):
    """Also between layers: predicted targets are double precision there."""
    X, y = diabetes()
    scorer, _ = better_and_better()
    plain = CascadeForestRegressor(**SMALL, class_vectors=how, scoring=scorer).fit(X, y)
    shifted = CascadeForestRegressor(**SMALL, class_vectors=how, scoring=better_and_better()[0]).fit(X, y + shift)
    atol = 1e-4 + abs(shift) * 1e-15
    for one, other in zip(shifted.staged_predict(X), plain.staged_predict(X), strict=True):
        # A row in a hundred may pass a cut on a predicted target on the other side of it, as rounding has it.
        assert np.quantile(np.abs(one - shift - other), 0.9) < atol


def test_targets_far_from_zero_lose_nothing_in_estimators_that_are_not_ours():
    X, y = diabetes(300)
    scores = [
        CascadeForestRegressor(1, estimators=[LinearRegression()], max_layers=2, patience=2, random_state=0)
        .fit(X, y + shift)
        .validation_scores_
        for shift in (0.0, 1e9)
    ]
    assert scores[0][0] == pytest.approx(scores[1][0], rel=1e-4)
    assert scores[0][1] == pytest.approx(scores[1][1], rel=1e-3)


@pytest.mark.parametrize("size", [2.0**power for power in (-400, -150, 100, 450)])
def test_the_size_of_targets_does_not_matter(size):
    X, y = diabetes()
    plain = CascadeForestRegressor(**SMALL).fit(X, y)
    scaled = CascadeForestRegressor(**SMALL).fit(X, y * size)
    assert scaled.n_layers_ == plain.n_layers_
    assert scaled.predict(X) / size == pytest.approx(plain.predict(X), rel=1e-5)
    assert scaled.validation_scores_ / size == pytest.approx(plain.validation_scores_, rel=1e-5)


def test_predictions_stay_within_the_targets():
    X, y = diabetes()
    predicted = CascadeForestRegressor(**SMALL).fit(X, y).predict(X * 100)
    assert y.min() <= predicted.min() <= predicted.max() <= y.max()


def test_targets_beyond_half_precision_are_refused_with_a_remedy():
    X, y = diabetes()
    with pytest.raises(ValueError, match=r"vector_dtype is 'float16', but predictions reach .*; choose 'float64'"):
        CascadeForestRegressor(**SMALL, preset="official").fit(X, y * 1000)
    CascadeForestRegressor(**SMALL, preset="official", vector_dtype="float64").fit(X, y * 1000)


def test_whole_numbers_are_targets():
    X, y = diabetes()
    whole = np.round(y).astype(int)
    one, other = (CascadeForestRegressor(**SMALL).fit(X, z).predict(X) for z in (whole, whole.astype(float)))
    assert one.tobytes() == other.tobytes()
    assert one.dtype == np.float64


def test_a_cascade_is_better_than_the_mean():
    X, y = diabetes(None)
    learn = np.arange(len(y)) % 3 > 0
    model = CascadeForestRegressor(4, 20, random_state=0).fit(X[learn], y[learn])
    assert model.score(X[~learn], y[~learn]) > 0.3


def test_words_are_no_targets():
    with pytest.raises(ValueError, match=r"could not convert string to float|dtype"):
        CascadeForestRegressor(**SMALL).fit(np.arange(6.0)[:, None], list("abcdef"))


# Several targets.


def several(n_rows=100):
    """Three targets on scales of their own."""
    X, y = diabetes(n_rows)
    noise = np.random.default_rng(1).normal(size=len(y))
    return X, np.column_stack([y, 1e3 + 20 * X[:, 2] - X[:, 3] + noise, 100 * X[:, 8] * (y > 150)])


@pytest.mark.parametrize(
    ("others", "rules"),
    [
        ({}, {"dtype": "float64"}),
        ({"class_vectors": "k_fold_refit", "n_folds": 4}, {"class_vectors": "k_fold_refit", "n_folds": 4}),
        ({"class_vectors": "oob", "vector_dtype": "float32"}, {"class_vectors": "oob", "dtype": "float32"}),
    ],
    ids=["folds", "refit", "oob"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_cascade_for_several_targets_is_its_naive_twin(others, rules, weighted):
    """Each layer sees all targets that all forests of the layer before predicted."""
    X, y = several()
    weights = np.random.default_rng(0).uniform(0.2, 3, 100) if weighted else None
    scorer, scored = better_and_better()
    model = CascadeForestRegressor(**SMALL, scoring=scorer, **others).fit(X, y, sample_weight=weights)
    rules = {"dtype": "float64", **rules}
    twin, out_of_fold = naive.grow_cascade(DEFAULT, X, y, 0, naive.entropy_of(0), 3, weights=weights, **rules)
    new = diabetes(None)[0]
    assert model.n_layers_ == model.n_outputs_ == 3
    stages = list(model.staged_predict(new))
    rel = 1e-6 if rules["dtype"] == "float32" else 1e-13
    for stage, wanted in zip(stages, twin.staged(new), strict=True):
        assert stage == pytest.approx(wanted, rel=rel)
    for predicted, wanted in zip(scored, out_of_fold, strict=True):
        assert predicted == pytest.approx(wanted, rel=rel)
    assert stages[-1].tobytes() == model.predict(new).tobytes()
    assert [layer.added_mapper is not None and layer.added_mapper.n_features_in_ for layer in model.layers_] == [
        0,
        6,
        6,
    ]


def test_scores_are_means_over_targets():
    X, y = several()
    _, out_of_fold = naive.grow_cascade(DEFAULT, X, y, 0, naive.entropy_of(0), 3, dtype="float64")
    model = CascadeForestRegressor(**SMALL).fit(X, y)
    wanted = [-np.sqrt(((y - p) ** 2).mean(axis=0)).mean() for p in out_of_fold]
    assert model.validation_scores_ == pytest.approx(wanted, rel=1e-12)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))


def test_estimators_that_take_several_targets_can_be_in_a_layer():
    X, y = several(300)
    model = CascadeForestRegressor(2, 5, estimators=["extra_trees", LinearRegression()], random_state=0).fit(X, y)
    assert model.predict(X).shape == (300, 3)
    assert r2_score(y, model.predict(X), multioutput="raw_values").min() > 0.3
    boosted = GradientBoostingRegressor(n_estimators=2)
    with pytest.raises(
        ValueError, match=r"(?s)^estimators has GradientBoosting.*, which takes one target, but y has 3;"
    ):
        CascadeForestRegressor(2, 5, estimators=["extra_trees", boosted]).fit(X, y)
    wrapped = CascadeForestRegressor(2, 5, estimators=["extra_trees", MultiOutputRegressor(boosted)], random_state=0)
    assert wrapped.fit(X, y).predict(X).shape == (300, 3)


def test_a_second_fit_with_another_number_of_targets_forgets_the_first():
    X, y = several()
    model = CascadeForestRegressor(**SMALL).fit(X, y)
    model.fit(X, y[:, 0])
    assert model.n_outputs_ == 1
    assert model.predict(X).tobytes() == CascadeForestRegressor(**SMALL).fit(X, y[:, 0]).predict(X).tobytes()


def test_explanations_are_of_one_target():
    X, y = several()
    for model in (CascadeForestRegressor(**SMALL).fit(X, y), RandomForestRegressor(2).fit(X, y)):
        with pytest.raises(ValueError, match=r"^model predicts 3 targets; explain a model of one target"):
            Explainer(model)
    with pytest.raises(AttributeError, match=r"no feature_importances_\. model predicts 3 targets"):
        CascadeForestRegressor(**SMALL).fit(X, y).feature_importances_  # noqa: B018
