"""Each metric by hand, and against scikit-learn where it has the same one."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from cascadeforest.experiments.metrics import (
    COST_METRICS,
    METRICS,
    expected_calibration_error,
    macro_roc_auc,
    score,
    score_classifier,
    score_regressor,
)
from cascadeforest.reports.numbers.metrics import MEASURED


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    probabilities = rng.dirichlet(np.ones(3), 200)
    probabilities[np.arange(200), y] += 0.3
    return y, probabilities / probabilities.sum(axis=1, keepdims=True)


def test_classification_metrics_equal_scikit_learns(three_classes):
    y, probabilities = three_classes
    predicted = probabilities.argmax(axis=1)
    metrics = score_classifier(y, predicted, 3, probabilities, None)
    assert metrics["accuracy"] == pytest.approx(np.mean(y == predicted))
    assert metrics["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert metrics["log_loss"] == pytest.approx(log_loss(y, probabilities))
    assert metrics["roc_auc"] == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovr"))


@pytest.mark.parametrize("decimals", [8, 1])
def test_auc_equals_scikit_learns_also_with_ties(three_classes, decimals):
    y, probabilities = three_classes
    scores = probabilities.round(decimals)
    expected = [roc_auc_score(y == code, scores[:, code]) for code in range(3)]
    assert macro_roc_auc(y, scores) == pytest.approx(np.mean(expected), rel=1e-12)
    assert macro_roc_auc(y == 1, scores[:, :2]) == pytest.approx(roc_auc_score(y == 1, scores[:, 1]), rel=1e-12)


def test_balanced_accuracy_weighs_classes_not_rows():
    """Recalls 3/4 and 0: mean 0.375, whereas accuracy is 0.6."""
    metrics = score_classifier(np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 0]), 2, None, None)
    assert metrics == {"accuracy": pytest.approx(0.6), "balanced_accuracy": pytest.approx(0.375)}


def test_two_class_auc_is_of_class_one_also_from_decision_values():
    y, margin = np.array([0, 0, 1, 1]), np.array([-2.0, 0.5, 0.1, 3.0])
    metrics = score_classifier(y, (margin > 0).astype(int), 2, None, np.column_stack([-margin, margin]))
    assert metrics["roc_auc"] == pytest.approx(0.75)  # 3 of 4 pairs are in order
    assert "log_loss" not in metrics


def test_auc_leaves_out_classes_without_test_rows():
    y, scores = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0.2, 0.8, 0], [0.1, 0.9, 0]])
    assert macro_roc_auc(y, scores) == 1
    assert macro_roc_auc(np.zeros(4, int), scores[:, :2]) is None


def test_calibration_error_by_hand():
    """Two rows at confidence 0.9 (one right), two at 0.6 (both right): (2 * 0.4 + 2 * 0.4) / 4."""
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    assert expected_calibration_error(np.array([0, 1, 1, 1]), probabilities, n_bins=10) == pytest.approx(0.4)


def test_calibration_error_bins_are_closed_on_the_right():
    """0.5 belongs to (0.25, 0.5] and 1 to the last bin: confidences 0.5 and 0.75 do not share a bin."""
    probabilities = np.array([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]])
    error = expected_calibration_error(np.array([1, 0, 0]), probabilities, n_bins=4)
    assert error == pytest.approx((0.5 + 0.25 + 0) / 3)


def test_regression_error_by_hand():
    assert score_regressor(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == {"rmse": pytest.approx(np.sqrt(2))}


def test_every_cost_metric_is_a_metric():
    assert set(METRICS) > COST_METRICS


def test_every_metric_has_words_and_no_other():
    assert METRICS.keys() == MEASURED.keys()


def test_scores_are_of_the_classifiers_own_decisions(three_classes):
    """The confusion matrix counts what was predicted, not the largest probability."""
    y, probabilities = three_classes
    predicted = np.zeros(len(y), int)
    scores = score({"predicted": predicted, "probabilities": probabilities}, y, 3)
    assert np.array(scores.confusion)[:, 0].tolist() == np.bincount(y).tolist()
    assert scores.metrics == score_classifier(y, predicted, 3, probabilities, None)


def test_scores_do_not_depend_on_the_precision_in_which_predictions_are_kept(three_classes):
    """Single precision that loses nothing: sums would differ in their last digits."""
    y, probabilities = three_classes
    kept = probabilities.astype(np.float32)
    outputs = {"predicted": kept.argmax(axis=1), "probabilities": kept}
    assert score(outputs, y, 3) == score(outputs | {"probabilities": kept.astype(np.float64)}, y, 3)


def test_decision_values_give_a_curve_and_no_probabilities():
    outputs = {"predicted": np.array([0, 1]), "scores": np.array([[1.0, -1.0], [-2.0, 2.0]])}
    assert score(outputs, np.array([0, 1]), 2).metrics.keys() == {"accuracy", "balanced_accuracy", "roc_auc"}


def test_a_regression_has_no_confusion_matrix():
    scores = score({"predicted": np.array([1.0, 4.0])}, np.array([1.0, 2.0]), None)
    assert (scores.metrics, scores.confusion) == ({"rmse": pytest.approx(np.sqrt(2))}, None)


@pytest.mark.parametrize("predicted", [[1.0], [1.0, 1e300]])
def test_predictions_that_give_no_number_are_refused(predicted):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"2 test rows|not finite for rmse"):
        score({"predicted": np.array(predicted)}, np.zeros(2), None)
