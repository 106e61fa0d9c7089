"""What is measured of a model's predictions: one name per metric, the same in JSON, tables and MLflow.

Metrics are a function of a cell's predictions and of the true classes or targets. They are computed when cells are
merged: a change here fits nothing again. `cascadeforest.reports.numbers.metrics` says how metrics are called in tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

N_CALIBRATION_BINS = 15


#: Name to whether higher is better; None where neither end is better in itself.
METRICS: Mapping[str, bool | None] = MappingProxyType(
    {
        "accuracy": True,
        "balanced_accuracy": True,
        "log_loss": False,
        "roc_auc": True,
        "ece": False,
        "rmse": False,
        "fit_cpu_seconds": False,
        "predict_cpu_seconds": False,
        "fit_peak_mib": False,
        "predict_peak_mib": False,
        "model_mib": False,
        "n_layers": None,
    }
)

#: Measured cost differs from run to run: no promise of equal bytes and no exact check covers these.
COST_METRICS = frozenset({"fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "predict_peak_mib", "model_mib"})
#: Those that need a process of their own for each fit.
MEMORY_METRICS = frozenset({"fit_peak_mib", "predict_peak_mib"})


@dataclass(frozen=True)
class Scores:
    """How good predictions are.

    Parameters
    ----------
    metrics : dict
        Metric name to value; a metric that is undefined here is absent.
    confusion : tuple of tuple of int, or None
        Test rows by true and predicted class; None in regression.
    """

    metrics: dict[str, float]
    confusion: tuple[tuple[int, ...], ...] | None = None


def score(outputs: Mapping[str, np.ndarray], y: np.ndarray, n_classes: int | None) -> Scores:
    """Compute all metrics that a model's predictions allow.

    Parameters
    ----------
    outputs : mapping
        Predictions for the test rows: ``predicted``, and for a classifier ``probabilities`` or ``scores`` where it
        gives them, with a column for each class.
    y : ndarray of shape (n_samples,)
        True class codes, or targets.
    n_classes : int or None
        Number of classes of the data set; None in regression.

    Returns
    -------
    Scores

    Raises
    ------
    ValueError
        If there are not as many predictions as rows, or a metric is not finite.
    """
    import numpy as np

    if lengths := {name: len(values) for name, values in outputs.items() if len(values) != len(y)}:
        raise ValueError(f"There are {len(y)} test rows, but predictions of {lengths}.")
    predicted = outputs["predicted"]
    if n_classes is None:
        scores = Scores(score_regressor(y, predicted))
    else:
        # Summed in double precision, whatever precision they are kept in.
        values = {name: outputs[name].astype(np.float64) for name in ("probabilities", "scores") if name in outputs}
        confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
        np.add.at(confusion, (y, predicted), 1)
        scores = Scores(
            score_classifier(y, predicted, n_classes, values.get("probabilities"), values.get("scores")),
            tuple(map(tuple, confusion.tolist())),
        )
    if broken := [name for name, value in scores.metrics.items() if not np.isfinite(value)]:
        raise ValueError(f"The predictions give numbers that are not finite for {', '.join(broken)}.")
    return scores


def expected_calibration_error(y: np.ndarray, probabilities: np.ndarray, n_bins: int = N_CALIBRATION_BINS) -> float:
    """Gap between confidence and accuracy, averaged over equal-width bins of the top probability.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Class codes.
    probabilities : ndarray of shape (n_samples, n_classes)
        Predicted probabilities, one column a code.
    n_bins : int
        Number of bins on (0, 1].

    Returns
    -------
    float
        In [0, 1]; 0 is perfect. Guo et al., "On calibration of modern neural networks", ICML 2017, Eq. 3.
    """
    import numpy as np

    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    # Bins are open on the left, (0, 1/n], as in the source: a confidence of exactly 1 belongs to the last one.
    index = np.clip(np.ceil(confidence * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    gap = np.bincount(index, weights=correct - confidence, minlength=n_bins)
    return float(np.abs(gap).sum() / len(y))


def macro_roc_auc(y: np.ndarray, scores: np.ndarray) -> float | None:
    """Area under the ROC curve: of class 1 for two classes, else the mean over one-against-rest curves.

    The area is the share of the pairs of a row of the class and another row in which the class's has the larger value,
    ties counted half, which ranks give for all classes at once.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Class codes.
    scores : ndarray of shape (n_samples, n_classes)
        Probabilities or decision values, one column a code.

    Returns
    -------
    float or None
        Classes without a test row, or with no other, have no curve and are left out; None if none is left.
    """
    import numpy as np
    from scipy.stats import rankdata

    codes = np.array([1]) if scores.shape[1] == 2 else np.arange(scores.shape[1])
    is_of_class = y[:, None] == codes
    n_own = is_of_class.sum(axis=0)
    n_pairs = n_own * (len(y) - n_own)
    larger = (rankdata(scores[:, codes], axis=0) * is_of_class).sum(axis=0) - n_own * (n_own + 1) / 2
    return float(np.mean(larger[n_pairs > 0] / n_pairs[n_pairs > 0])) if n_pairs.any() else None


def score_classifier(
    y: np.ndarray, predicted: np.ndarray, n_classes: int, probabilities: np.ndarray | None, scores: np.ndarray | None
) -> dict[str, float]:
    """All classification metrics that the model's outputs allow.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)
        True and predicted class codes of the test rows.
    n_classes : int
        Number of classes of the data set.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Without them there is no log loss and no calibration error.
    scores : ndarray of shape (n_samples, n_classes) or None
        Decision values, used for the ROC curve where there are no probabilities.

    Returns
    -------
    dict
        Metric name to value; a metric that is undefined here is absent. Log loss clips probabilities at the
        machine epsilon of float64, as scikit-learn does: a class given probability 0 costs 36 nats a row.
    """
    import numpy as np
    from sklearn.metrics import log_loss

    recalls = [np.mean(predicted[y == code] == code) for code in range(n_classes) if np.any(y == code)]
    metrics = {"accuracy": float(np.mean(predicted == y)), "balanced_accuracy": float(np.mean(recalls))}
    ranking = probabilities if probabilities is not None else scores
    if ranking is not None and (area := macro_roc_auc(y, ranking)) is not None:
        metrics["roc_auc"] = area
    if probabilities is not None:
        normalised = probabilities / probabilities.sum(axis=1, keepdims=True)
        metrics["log_loss"] = float(log_loss(y, normalised, labels=np.arange(n_classes)))
        metrics["ece"] = expected_calibration_error(y, probabilities)
    return metrics


def score_regressor(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Root mean squared error, in the unit of the target.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)
        True and predicted values of the test rows.

    Returns
    -------
    dict
        ``{"rmse": value}``.
    """
    import numpy as np

    return {"rmse": float(np.sqrt(np.mean((np.asarray(y) - np.asarray(predicted)) ** 2)))}
