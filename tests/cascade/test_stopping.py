"""Scores of layers, and which layer is kept."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    get_scorer,
    get_scorer_names,
    make_scorer,
    mean_absolute_error,
    roc_auc_score,
)

from cascadeforest.cascade.stopping import BestLayer, Scoring, _PredictedClasses

examples = settings(deadline=None, derandomize=True, max_examples=300)

# Which layer.


def first_best(scores, patience, tol):
    """Scores until growth stops, and the layer kept: by looking at all scores so far after each layer."""
    for n in range(1, len(scores) + 1):
        best = 0
        for i in range(1, n):
            if scores[i] > scores[best] + tol:
                best = i
        if n - 1 - best >= patience:
            break
    return n, best


@examples
@given(
    st.lists(st.integers(-3, 3).map(lambda k: k / 4), min_size=1, max_size=12),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.25, 0.3]),
)
@example([0.5, 0.5, 0.75], 1, 0.0)
def test_the_first_of_the_best_layers_is_kept(scores, patience, tol):
    rule = BestLayer(patience, tol)
    for score in scores:
        rule.is_better(score)
        if rule.is_over:
            break
    n_grown, kept = first_best(scores, patience, tol)
    assert rule.index == kept
    assert rule.scores == scores[:n_grown]


@pytest.mark.parametrize(
    ("scores", "patience", "tol", "n_grown", "kept"),
    [
        ([0.5, 0.6, 0.6, 0.7], 1, 0.0, 3, 1),  # the tie is not better, and ends it
        ([0.5, 0.6, 0.6, 0.7], 2, 0.0, 4, 3),
        ([0.9, 0.1, 0.2, 0.3, 0.4], 3, 0.0, 4, 0),  # rising again, but never as good as the first
        ([0.5, 0.75, 1.0], 1, 0.25, 2, 0),  # 0.75 is 0.5 + tol, and does not exceed it
        ([0.5, 0.625, 0.875], 2, 0.25, 3, 2),  # compared with the best one, not with the last
        ([-3.0, -2.0, -1.0], 1, 0.0, 3, 2),
    ],
)
def test_stopping_by_hand(scores, patience, tol, n_grown, kept):
    rule = BestLayer(patience, tol)
    better = []
    for score in scores:
        better.append(rule.is_better(score))
        if rule.is_over:
            break
    assert (len(better), rule.index) == (n_grown, kept)
    assert max(i for i, new in enumerate(better) if new) == kept


@pytest.mark.parametrize(("cycle", "n_grown"), [(1, 3), (2, 4), (3, 8)])
def test_patience_counts_whole_cycles(cycle, n_grown):
    """The best layer is the second; with cycles of three the sixth is a better one, within the cycle after it."""
    rule = BestLayer(1, 0.0, cycle)
    scores = [0.5, 0.6, 0.1, 0.2, 0.7, 0.1, 0.1, 0.1, 0.9]
    for score in scores:
        rule.is_better(score)
        if rule.is_over:
            break
    assert rule.scores == scores[:n_grown]


# Scores.

CLASSES = np.array(["b", "a", "c"], object)  # any order: columns are numbered
PROBABILITIES = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.0, 0.1, 0.9]])
LABEL = np.array([0, 1, 2, 1, 2])  # right, right, wrong, wrong (the first of equals), right
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0, 10.0])


@pytest.mark.parametrize("scoring", [None, "accuracy", make_scorer(accuracy_score)])
def test_accuracy_by_hand(scoring):
    score = Scoring(scoring, CLASSES)
    assert score(LABEL, PROBABILITIES, None) == pytest.approx(3 / 5)
    assert score(LABEL, PROBABILITIES, WEIGHTS) == pytest.approx(13 / 20)


def test_minus_the_root_mean_squared_error_by_hand():
    score = Scoring(None, None)
    y, predicted = np.array([1.0, 2.0, 5.0]), np.array([1.0, 4.0, 4.0])
    assert score(y, predicted, None) == pytest.approx(-math.sqrt(5 / 3))
    assert score(y, predicted, np.array([1.0, 1.0, 2.0])) == pytest.approx(-math.sqrt(6 / 4))


def test_scorers_by_name_see_labels_and_weights():
    labels = CLASSES[LABEL]
    predicted = CLASSES[PROBABILITIES.argmax(axis=1)]
    for weights in (None, WEIGHTS):
        wanted = balanced_accuracy_score(labels, predicted, sample_weight=weights)
        assert Scoring("balanced_accuracy", CLASSES)(LABEL, PROBABILITIES, weights) == pytest.approx(wanted)
        wanted = -mean_absolute_error(WEIGHTS, WEIGHTS**1.1, sample_weight=weights)
        assert Scoring("neg_mean_absolute_error", None)(WEIGHTS, WEIGHTS**1.1, weights) == pytest.approx(wanted)


def test_scorers_of_probabilities_see_the_columns_of_their_classes():
    classes = np.array(["a", "b", "c"], object)
    wanted = roc_auc_score(LABEL, PROBABILITIES, multi_class="ovr")
    assert Scoring("roc_auc_ovr", classes)(LABEL, PROBABILITIES, None) == pytest.approx(wanted)
    two = PROBABILITIES[:, :2] / PROBABILITIES[:, :2].sum(axis=1, keepdims=True)
    label = np.array([0, 1, 1, 0, 0])
    assert Scoring("roc_auc", classes[:2])(label, two, None) == pytest.approx(roc_auc_score(label, two[:, 1]))
    log_loss = -np.log(two[np.arange(5), label].clip(np.finfo(float).eps)).mean()
    assert Scoring("neg_log_loss", classes[:2])(label, two, None) == pytest.approx(-log_loss)


def test_a_function_sees_an_estimator_and_labels():
    seen = {}

    def scorer(estimator, X, y):
        seen.update(predicted=estimator.predict(X), proba=estimator.predict_proba(X), classes=estimator.classes_, y=y)
        return 0.25

    assert Scoring(scorer, CLASSES)(LABEL, PROBABILITIES, None) == 0.25
    assert list(seen["y"]) == ["b", "a", "c", "a", "c"]
    assert list(seen["predicted"]) == ["b", "a", "a", "b", "c"]
    assert list(seen["classes"]) == ["b", "a", "c"]
    assert seen["proba"].tolist() == PROBABILITIES.tolist()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("classes", [CLASSES, None])
def test_scores_that_are_no_numbers_are_refused(value, classes):
    score = Scoring(lambda estimator, X, y: value, classes)
    with pytest.raises(ValueError, match=r"^scoring gave -?(nan|inf) on out-of-fold predictions; choose a scorer"):
        score(LABEL, PROBABILITIES if classes is not None else np.ones(5), None)


@pytest.mark.parametrize("classes", [CLASSES, None])
@pytest.mark.parametrize("scoring", ["accurate", 3, True])
def test_unknown_scorers_are_named(scoring, classes):
    with pytest.raises(ValueError, match=rf"^scoring is {scoring!r}; give None, the name of a scikit-learn scorer"):
        Scoring(scoring, classes)


@pytest.mark.parametrize("classes", [CLASSES, None])
@pytest.mark.parametrize("scoring", [["accuracy"], {"a": "accuracy"}, ("accuracy", "roc_auc")])
def test_several_scorers_are_refused_by_name(scoring, classes):
    """scikit-learn makes a scorer of them that returns a dict; which of the scores is meant nobody says."""
    with pytest.raises(ValueError, match=r"^scoring is .*; give None, the name of a scikit-learn scorer"):
        Scoring(scoring, classes)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "precision", "positive_likelihood_ratio"])
def test_scorers_of_two_classes_are_refused_for_three(scoring):
    """Before a layer is fitted, by name; "f1" refuses two strings, too, since it cannot know which one is positive."""
    said = rf"^scoring is '{scoring}', which cannot score 3 classes .*; choose a scorer that can, .*'f1_macro'"
    for classes in (np.arange(3), CLASSES):
        with pytest.raises(ValueError, match=said):
            Scoring(scoring, classes)
    assert math.isfinite(Scoring(scoring, np.arange(2))(LABEL % 2, PROBABILITIES[:, :2], None))
    if scoring == "f1":
        with pytest.raises(ValueError, match=r"^scoring is 'f1', which cannot score 2 classes such as 'a'"):
            Scoring(scoring, np.array(["a", "b"], object))


def fails(function, *values):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scores that are not defined on five rows
            function(*values)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_scorer_is_refused_that_can_score(n_classes):
    """Of all scorers of scikit-learn, those and only those are refused that fail on out-of-fold predictions."""
    classes, values = np.arange(n_classes), PROBABILITIES[:, :n_classes]
    predicted = _PredictedClasses(values / values.sum(axis=1, keepdims=True), classes)
    names = get_scorer_names()
    refused = {name for name in names if fails(Scoring, name, classes)}
    assert refused == {name for name in names if fails(get_scorer(name), predicted, None, LABEL % n_classes)}
    assert n_classes == 2 or refused > {"roc_auc", "f1", "precision", "recall", "jaccard"}


def test_only_accuracy_is_known_to_have_an_end():
    assert Scoring(None, CLASSES).cannot_rise(1.0)
    assert Scoring("accuracy", CLASSES).cannot_rise(1.0)
    assert not Scoring(None, CLASSES).cannot_rise(1 - 1e-9)
    assert not Scoring("roc_auc_ovr", CLASSES).cannot_rise(1.0)
    assert not Scoring(lambda estimator, X, y: 1.0, CLASSES).cannot_rise(1.0)
    assert not Scoring(None, None).cannot_rise(1.0)
