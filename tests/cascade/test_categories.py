"""Cascades on categorical features: equal to cascades on codes, through every door; and who refuses them."""

import importlib
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from cascadeforest import (
    CascadeForestRegressor,
    DDBFClassifier,
    Explainer,
    GCForestClassifier,
    GCForestCSClassifier,
    HardExampleClassifier,
    HiDFClassifier,
    MDDFClassifier,
    MultiGrainedScanner,
    RandomForestClassifier,
)
from cascadeforest.forest.binning import BinMapper

LAYERED = {"n_forests": 2, "n_estimators": 4, "max_layers": 2, "patience": 2, "random_state": 0}
MODELS = [
    GCForestClassifier(**LAYERED),
    GCForestClassifier(**LAYERED, class_vectors="k_fold_refit"),
    GCForestClassifier(**LAYERED, class_vectors="oob"),
    GCForestCSClassifier(**LAYERED),
    MDDFClassifier(**LAYERED, gamma=0.85, mu=0.05, theta=16),
    CascadeForestRegressor(**LAYERED),
    DDBFClassifier(n_estimators=4, max_layers=2, random_state=0),
    HiDFClassifier(
        n_estimators=8,
        intersection_depth=2,
        stability_threshold=0.1,
        max_layers=2,
        max_new_features=3,
        keep="last",
        random_state=0,
    ),
    HardExampleClassifier(RandomForestClassifier(4), 4, random_state=0),
    HardExampleClassifier(HistGradientBoostingClassifier(max_iter=2), 4, random_state=0),
]
MASK = [True, False, True]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
explained = pytest.mark.parametrize("model", MODELS[:6], ids=lambda model: type(model).__name__)


def table(n=120, seed=0):
    """A data frame, its codes, and noisy classes."""
    rng = np.random.default_rng(seed)
    city, day, number = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.normal(size=n).round(1)
    city[:4], day[:3] = np.arange(4), np.arange(3)
    X = pd.DataFrame(
        {
            "city": np.array(["Bonn", "Oslo", "Paris", "Rome"], dtype=object)[city],
            "number": number,
            "day": pd.Categorical.from_codes(day, ["Mon", "Tue", "Sat"]),
        }
    )
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), (city % 3 == 1) ^ (number > 0))
    return X, np.column_stack([city, number, day]), y


def predictions(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@every_model
def test_a_data_frame_gives_the_cascade_of_its_codes(model):
    X, codes, y = table()
    new, new_codes, _ = table(seed=1)
    model = model.fit(X, y)
    assert model.is_categorical_.tolist() == MASK
    assert [own is None or own.tolist() for own in model.categories_] == [
        ["Bonn", "Oslo", "Paris", "Rome"],
        True,
        ["Mon", "Tue", "Sat"],
    ]
    expected = predictions(model, new)
    again = pickle.loads(pickle.dumps(model))
    staged = list(model.staged_predict(new)) if hasattr(model, "staged_predict") else []
    unseen, missing = new.assign(city="Lyon", day="Sun"), new.assign(city=None, day=np.nan)
    assert predictions(model, unseen).tobytes() == predictions(model, missing).tobytes()
    with pytest.raises(ValueError, match="The feature names should match"):
        model.predict(new[["number", "city", "day"]])

    by_hand = model.set_params(categorical_features=MASK).fit(codes, y)
    assert predictions(by_hand, new_codes).tobytes() == expected.tobytes()
    assert predictions(again, new).tobytes() == expected.tobytes()
    for one, other in zip(staged, by_hand.staged_predict(new_codes) if staged else [], strict=True):
        np.testing.assert_array_equal(one, other)
    model.set_params(categorical_features="from_dtype")


@explained
def test_explanations_read_categories_as_the_model_does(model):
    X, codes, y = table()
    new, new_codes, _ = table(seed=1)
    explainer = Explainer(model.fit(X, y))
    of_new, held_out = explainer.explain(new), explainer.explain_held_out()
    assert explainer.feature_names == [*X.columns]
    written = pickle.loads(pickle.dumps(model))
    given_again = Explainer(written, X, y).explain_held_out()
    with pytest.raises(ValueError, match="X_train is not what the model learned from"):
        Explainer(written, X.assign(city="Rome"), y)

    by_hand = Explainer(model.set_params(categorical_features=MASK).fit(codes, y))
    np.testing.assert_array_equal(of_new.contributions, by_hand.explain(new_codes).contributions)
    np.testing.assert_array_equal(held_out.contributions, by_hand.explain_held_out().contributions)
    np.testing.assert_array_equal(held_out.contributions, given_again.contributions)
    np.testing.assert_array_equal(held_out.X[:, [0, 2]], X[["city", "day"]].astype(object).to_numpy())
    model.set_params(categorical_features="from_dtype")


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (
            GCForestClassifier(2, 2, estimators=["random_forest", GaussianNB()]),
            r"has GaussianNB\(\), and only our",
        ),
        (GCForestClassifier(2, 2, estimators=[RandomForestClassifier(2, oob_score=True)]), "oob_score=True"),
        (
            CascadeForestRegressor(2, 2, estimators=[LinearRegression()]),
            r"has LinearRegression\(\), and only our",
        ),
        (GCForestClassifier(2, 2, scanning={"windows": [2]}), "scanning takes windows of numbers"),
        (HardExampleClassifier(GaussianNB(), 2), r"the learner GaussianNB\(\) has no parameter categorical_features"),
    ],
)
def test_who_cannot_split_categories_says_so(model, why):
    X, _, y = table()
    with pytest.raises(ValueError, match=rf"X has 2 categorical feature\(s\), but .*{why}.*; encode them, for"):
        model.fit(X, y)


def test_other_refusals():
    X, _, y = table()
    with pytest.raises(ValueError, match="X has categorical features, but windows are of numbers; encode or drop them"):
        MultiGrainedScanner().fit(X, y)
    with pytest.raises(ValueError, match="give categorical_features to the cascade instead"):
        GCForestClassifier(2, 2, estimators=[RandomForestClassifier(2, categorical_features=[0])]).fit(X, y)


@explained
def test_added_columns_are_numeric_in_every_layer(model):
    """In training and prediction, from the rows in memory and from rows that are given again."""
    X, _, y = table()
    walk = model.fit(X, y).walk()
    layers = [*walk.layers(X), *walk.trained_layers(walk.training_rows())]
    layers += walk.trained_layers(walk.training_rows((X, y, None)))
    assert len(layers) == 3 * walk.n_layers
    for layer in layers:
        n_added = len(layer.binned.columns) - len(MASK)
        assert layer.binned.categorical.tolist() == MASK + [False] * n_added


@pytest.mark.parametrize("model", [*MODELS[:8], RandomForestClassifier(2)], ids=lambda model: type(model).__name__)
def test_forests_grow_on_columns_that_are_marked(model, monkeypatch):
    """With levels that no row of a fold or an iteration has."""
    X, _, y = table()
    seen, learned = [], []
    for module in ("cascade.layer", "cascade.interactions", "forest._base"):
        module = f"cascadeforest.{module}"
        grow = importlib.import_module(module).grow_forest
        monkeypatch.setattr(
            f"{module}.grow_forest", lambda b, *a, g=grow, **k: seen.append(b.categorical) or g(b, *a, **k)
        )
    fit = BinMapper.fit_transform
    monkeypatch.setattr(BinMapper, "fit_transform", lambda *a, **k: learned.append(k.get("levels")) or fit(*a, **k))
    model.fit(X, y)
    assert {tuple(own[:3].tolist()) for own in seen} == {tuple(MASK)}
    assert not any(own[3:].any() for own in seen)
    assert {tuple(levels.tolist()) for levels in learned if levels is not None} == {(4, 0, 3)}


def test_interactions_print_their_levels():
    """Two levels or more; values are 1 in the set, 0 outside of it, and missing where the level is."""
    X, _, y = table()
    X["half"] = np.where(X["day"] == "Sat", "no", "yes")
    y = np.where(X["city"].isin(["Bonn", "Rome"]) & (X["half"] == "yes") & (X["number"] > -1), 1, 0)
    model = HiDFClassifier(
        n_estimators=20,
        intersection_depth=2,
        stability_threshold=0.1,
        max_layers=1,
        keep="last",
        random_state=0,
    ).fit(X[["city", "half", "number"]], y)
    found = {str(condition) for one in model.interactions_ for condition in one.conditions}
    assert {"city in {Bonn, Rome}", "half in {yes}"} <= found
    one = next(
        o for o in model.interactions_ if {str(c) for c in o.conditions} == {"city in {Bonn, Rome}", "half in {yes}"}
    )
    rows = pd.DataFrame({"city": ["Bonn", "Rome", "Oslo", "Lyon", "Paris"], "half": ["yes", "no", "yes", "yes", "no"]})
    values = model.interaction_values(rows.assign(number=0.0))[:, [*model.interactions_].index(one)]
    city, half = one.weights
    np.testing.assert_array_equal(values, [city + half, city, half, np.nan, 0.0])
