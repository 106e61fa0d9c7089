"""gcForest: against its naive twin, and what is its own (presets, when growing ends)."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score

from cascadeforest import (
    CompletelyRandomForestClassifier,
    ExtraTreesClassifier,
    GCForestClassifier,
    RandomForestClassifier,
)

from . import naive

SMALL = {"n_forests": 2, "n_estimators": 4, "max_layers": 3, "random_state": 0}
DEFAULT = [RandomForestClassifier(4), CompletelyRandomForestClassifier(4)]


def noisy(n_rows=90, n_classes=3, seed=0):
    return make_classification(
        n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.25, class_sep=0.8, random_state=seed
    )


# The naive twin.


@pytest.mark.parametrize(
    ("others", "members", "rules"),
    [
        ({}, DEFAULT, {}),
        ({"n_folds": 5}, DEFAULT, {"n_folds": 5}),
        ({"class_vectors": "oob"}, DEFAULT, {"class_vectors": "oob"}),
        ({"class_vectors": "k_fold_refit"}, DEFAULT, {"class_vectors": "k_fold_refit"}),
        ({"vector_dtype": "float16"}, DEFAULT, {"dtype": "float16"}),
        ({"estimators": ["extra_trees"]}, [ExtraTreesClassifier(4)] * 2, {}),
        (
            {"max_depth": 3, "min_samples_leaf": 2, "max_features": 0.5},
            [
                RandomForestClassifier(4, max_depth=3, min_samples_leaf=2, max_features=0.5),
                CompletelyRandomForestClassifier(4, max_depth=3, min_samples_leaf=2),
            ],
            {},
        ),
        (
            {"estimators": ["random_forest", RandomForestClassifier(3, bootstrap=False, max_leaf_nodes=4)]},
            [RandomForestClassifier(4), RandomForestClassifier(3, bootstrap=False, max_leaf_nodes=4)],
            {},
        ),
        (
            {"estimators": [RandomForestClassifier(3, max_samples=0.5, criterion="entropy")]},
            [RandomForestClassifier(3, max_samples=0.5, criterion="entropy")] * 2,
            {},
        ),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_cascade_is_its_naive_twin(others, members, rules, weighted):
    X, y = noisy()
    X[::11, 2] = np.nan
    weights = np.random.default_rng(0).uniform(0.2, 3, 90) if weighted else None
    new = noisy(70, seed=1)[0]
    model = GCForestClassifier(**{**SMALL, "patience": 3, "scoring": always_better(), **others})
    model.fit(X, y, sample_weight=weights)
    twin, _ = naive.grow_cascade(members, X, y, 3, naive.entropy_of(0), 3, weights=weights, **rules)
    stages = list(model.staged_predict_proba(new))
    assert len(stages) == 3
    for stage, wanted in zip(stages, twin.staged(new), strict=True):
        assert stage.tobytes() == wanted.tobytes()


def test_bins_are_even_by_weight():
    """More values than bins, and weights that are not alike: the twin bins by weight."""
    X, y = noisy(700)
    weights = np.random.default_rng(0).uniform(0.0, 1, 700) ** 4
    model = GCForestClassifier(**{**SMALL, "max_layers": 1}).fit(X, y, sample_weight=weights)
    twin, _ = naive.grow_cascade(DEFAULT, X, y, 3, naive.entropy_of(0), 1, weights=weights)
    assert model.predict_proba(X).tobytes() == next(twin.staged(X)).tobytes()


def always_better():
    """A scorer by which each layer is better than the one before: all are kept."""
    calls = []

    def scorer(estimator, X, y, sample_weight=None):  # weighted fits hand the weights on
        calls.append(len(y))
        return len(calls)

    return scorer


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_twins_out_of_fold_probabilities(weighted):
    X, y = noisy()
    weights = np.random.default_rng(0).uniform(0.2, 3, 90) if weighted else None
    model = GCForestClassifier(**SMALL, patience=3).fit(X, y, sample_weight=weights)
    _, out_of_fold = naive.grow_cascade(DEFAULT, X, y, 3, naive.entropy_of(0), 3, weights=weights)
    wanted = [accuracy_score(y, p.argmax(axis=1), sample_weight=weights) for p in out_of_fold]
    assert model.validation_scores_ == pytest.approx(wanted, rel=1e-12)


def test_scorers_of_probabilities_see_out_of_fold_probabilities():
    X, y = noisy()
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.predict_proba(X), y))
        return 0.5

    names = np.array(["x", "z", "y"])
    GCForestClassifier(**SMALL, patience=3, scoring=scorer).fit(X, names[y])
    relabelled = np.array([0, 2, 1])[y]
    _, out_of_fold = naive.grow_cascade(DEFAULT, X, relabelled, 3, naive.entropy_of(0), 3)
    for (probabilities, labels), wanted in zip(seen, out_of_fold, strict=True):
        assert probabilities.tobytes() == wanted.tobytes()
        assert labels.tolist() == names[y].tolist()


# When growing ends.


@pytest.mark.parametrize(("preset", "patience"), [("paper", 1), ("official", 4)])
def test_presets_have_the_patience_of_paper_and_code(preset, patience):
    X, y = noisy()
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.1, 0.2, 0.9])
    model = GCForestClassifier(2, 2, preset=preset, scoring=lambda e, X, y: next(scores), random_state=0).fit(X, y)
    assert model.validation_scores_.tolist() == [0.5, 0.7, 0.7, 0.6, 0.1, 0.2, 0.9][: 2 + patience]
    assert model.n_layers_ == 2


def test_nothing_is_better_than_all_right():
    """A layer without a mistake is the last one, however patient; unless early stopping is off."""
    X, y = np.repeat([[0.0], [1.0]], 15, axis=0), np.repeat([0, 1], 15)
    patient = GCForestClassifier(2, 4, patience=5, max_layers=6, random_state=0).fit(X, y)
    assert patient.validation_scores_.tolist() == [1.0]
    off = GCForestClassifier(2, 4, patience=6, max_layers=6, random_state=0).fit(X, y)
    assert off.validation_scores_.tolist() == [1.0] * 6
    assert off.n_layers_ == 1  # the first of equals
    other = GCForestClassifier(2, 4, patience=2, max_layers=6, scoring="balanced_accuracy", random_state=0).fit(X, y)
    assert other.validation_scores_.tolist() == [1.0] * 3  # other scorers have no end that is known


def test_layers_learn_from_the_vectors_of_the_layer_before():
    """Class is the parity of two features: at depth 1 a forest sees nothing, and a vector cannot help it.

    At depth 2 two features are enough. With vectors of a layer of depth 2, depth 1 would be.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    deep = RandomForestClassifier(20, max_features=None)
    shallow = RandomForestClassifier(20, max_depth=1, max_features=None)
    model = GCForestClassifier(2, estimators=[deep, shallow], scoring=always_better(), max_layers=2, random_state=0)
    model.fit(X, y)
    accuracy = []
    for layer in model.layers_:
        roots = [int(m.trees.tree(t).feature[0]) for m in layer.forests[1] for t in range(20)]
        accuracy.append(np.mean(np.array(roots) >= 2))
    assert accuracy[0] == 0.0  # there is nothing but two features
    assert accuracy[1] == 1.0  # each stump cuts a class vector


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
@pytest.mark.filterwarnings("ignore:The y_prob values do not sum to one")
def test_ranking_scorers_choose_layers(scoring):
    X, y = noisy()
    model = GCForestClassifier(**{**SMALL, "max_layers": 4}, patience=4, scoring=scoring).fit(X, y)
    scores = model.validation_scores_.tolist()
    assert len(scores) == 4
    assert model.n_layers_ == scores.index(max(scores)) + 1


def test_class_vectors_are_single_precision():
    """Layers hand on float32; 'float64' would promise what is not kept."""
    X, y = noisy()
    assert GCForestClassifier(**SMALL).fit(X, y).layers_[0].vector_dtype == "float32"


def test_double_precision_is_no_choice_for_class_vectors():
    X, y = noisy()
    with pytest.raises(ValueError, match="vector_dtype is 'float64'; choose"):
        GCForestClassifier(**SMALL, vector_dtype="float64").fit(X, y)
