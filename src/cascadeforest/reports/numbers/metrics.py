"""How metrics are shown: measured ones, and those that a report works out from them.

Words live here and not in a module that a fit or a score imports: another label makes no result stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from cascadeforest.experiments.metrics import COST_METRICS, METRICS


@dataclass(frozen=True)
class Metric:
    """How a metric is shown and compared."""

    label: str  # for table heads and axes
    unit: str = ""  # of the stored number; empty for a pure number
    higher_is_better: bool | None = None  # None where neither end is better in itself (number of layers)
    percent: bool = False  # the stored fraction is shown multiplied by 100, with two decimals


#: Below these a measured cost is mostly noise.
COST_FLOORS = MappingProxyType({"CPU s": 0.1, "MiB": 8.0})
#: Computed in the t-SNE plane. Its last bits differ between processors and grow to other layouts: a change in the ninth
#: digit of the features moved S_A / S_E by up to a quarter (210 rows). So they may move by this part of their value.
PROJECTED, PROJECTED_RELATIVE = frozenset({"intra_to_inter_variance"}), 0.5
#: Places in that plane: no two processors need agree on them.
COORDINATES = ("tsne_1", "tsne_2")
#: Computed by scikit-learn through BLAS, whatever the model: near the border a row may change sides.
FOREIGN_METRICS = frozenset({"linear_accuracy"})
#: Differences of two models' means: where both move, they move by up to twice as much.
DIFFERENCES = frozenset({"accuracy_difference", "accuracy_gap", "roc_auc_difference"})
#: Shares of the test rows of one class.
OF_ONE_CLASS = frozenset({"recall"})
#: Test rows that are counted.
ROWS = "rows"
#: Measured beside what a cell measures of every model: of computing importances, and with the training before.
IMPORTANCE_COST, WHOLE_COST = "importance_cpu_seconds", "fit_and_importance_cpu_seconds"
_SHOWN = {
    "accuracy": ("accuracy", "", True),
    "balanced_accuracy": ("balanced accuracy", "", True),
    "log_loss": ("log loss", "nats", False),
    "roc_auc": ("ROC AUC", "", True),
    "ece": ("expected calibration error", "", True),
    "rmse": ("RMSE", "unit of the target", False),
    "fit_cpu_seconds": ("training time", "CPU s", False),
    "predict_cpu_seconds": ("test time", "CPU s", False),
    "fit_peak_mib": ("peak memory, training", "MiB", False),
    "predict_peak_mib": ("peak memory, test", "MiB", False),
    "model_mib": ("model size", "MiB", False),
    "n_layers": ("layers", "", False),
}
#: What a cell measures of every model: label, unit, whether it is a percentage; the direction is the experiments'.
MEASURED = MappingProxyType(
    {name: Metric(label, unit, METRICS[name], percent) for name, (label, unit, percent) in _SHOWN.items()}
)
_COSTS = MappingProxyType(
    {
        IMPORTANCE_COST: Metric("importances", "CPU s", False),
        WHOLE_COST: Metric("training and importances", "CPU s", False),
    }
)
#: All that is measured cost: it differs from run to run.
COSTS = COST_METRICS | _COSTS.keys()
#: A model's cost compared with another's. They move as the costs do, so no exact check covers them either.
COST_RATIOS = MappingProxyType(
    {f"{name}_ratio": Metric(f"{(MEASURED | _COSTS)[name].label}, ratio", "", None) for name in sorted(COSTS)}
    | {"memory_mb_ratio": Metric("memory, ratio", "", None)}
)
DERIVED = MappingProxyType(
    {
        **_COSTS,
        **COST_RATIOS,
        "error_rate": Metric("test error", "", False, percent=True),
        "accuracy_difference": Metric("accuracy, difference", "", None, percent=True),
        "roc_auc_difference": Metric("ROC AUC, difference", "", None, percent=True),
        "screened_share": Metric("screened at level 1", "", None, percent=True),
        "remaining_share": Metric("go through all levels", "", None, percent=True),
        "different_predictions": Metric("screened rows predicted otherwise", ROWS, None),
        "additional_correct": Metric("more rows right at the end", ROWS, None),
        "margin_ratio": Metric("margin ratio (std / mean)", "", None),
        "factor": Metric("alpha", "", None),
        "factor_share": Metric("alpha, of the sum", "", None, percent=True),
        "grown_layers": Metric("layers grown", "", None),
        "best_layer": Metric("best layer out of fold", "", None),
        "rank_correlation": Metric("rank correlation", "", None),
        "intra_to_inter_variance": Metric("S_A / S_E in the plane", "", None),
        "intra_to_inter_variance_of_features": Metric("S_A / S_E of the features", "", None),
        "linear_accuracy": Metric("linear accuracy", "", True, percent=True),
        "columns": Metric("features", "", None),
        "columns_at_a_root": Metric("features at a root", "", None),
        "root_importance": Metric("marginal importance", "", None),
        "importance": Metric("mean decrease in impurity", "", None),
        "train_pass_rate": Metric("pass rate, training", "", None, percent=True),
        "test_pass_rate": Metric("pass rate, test", "", None, percent=True),
        "p_value": Metric("p", "", None),
        "recall": Metric("recall", "", True, percent=True),
        "accuracy_gap": Metric("accuracy, difference", "", None, percent=True),
        "training_rows": Metric("training rows", "", None),
        "training_share": Metric("share of the training rows", "", None, percent=True),
        "negatives_per_positive": Metric("negatives per positive", "", None),
        "region_share": Metric("share of the plane", "", None, percent=True),
        "bias": Metric("bias", "", None),
        "contribution": Metric("contribution", "", None),
        "contribution_size": Metric("mean size of the contribution", "", None),
        "prediction": Metric("prediction", "", None),
        "mdi": Metric("MDI", "", None),
        "mdi_share": Metric("share of the MDI", "", None, percent=True),
        "ranked_pairs": Metric("feature pairs ranked right", "", True, percent=True),
    }
)


#: Decimal places of metrics that are not shown with four significant digits.
PLACES = MappingProxyType(
    dict.fromkeys(("n_layers", "grown_layers", "best_layer", "training_rows", "columns", "columns_at_a_root"), 0)
    | {"rank_correlation": 2, "contribution_size": 3}
)
#: Written without commas between thousands: one is a year.
NO_COMMAS = frozenset({"feature_value"})


def known_metric(name: str) -> Metric:
    """Return how a metric is shown, measured or derived; facts about data and ranks have their name as label."""
    return MEASURED.get(name) or DERIVED.get(name) or Metric(name)


def is_known(name: str) -> bool:
    """Return whether a metric is measured or derived; others are facts about data, ranks and counts."""
    return name in MEASURED or name in DERIVED
