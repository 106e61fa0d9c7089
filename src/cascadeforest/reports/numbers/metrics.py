"""How metrics are shown: measured ones, and those that a report works out from them.

Words live here and not in a module that a fit or a score imports: another label makes no result stale.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cascadeforest.experiments.metrics import COST_METRICS, METRICS


@dataclass(frozen=True)
class Metric:
    """How a metric is shown and compared."""

    label: str  # for table heads and axes
    unit: str = ""  # of the stored number; empty for a pure number
    higher_is_better: bool | None = None  # None where neither end is better in itself (number of layers)
    percent: bool = False  # the stored fraction is shown multiplied by 100, with two decimals


#: Below these a measured cost is mostly noise.
COST_FLOORS: Mapping[str, float] = {"CPU s": 0.1, "MiB": 8.0}
#: Computed in the t-SNE plane. Its last bits differ between processors and grow to other layouts: a change in the ninth
#: digit of the features moved S_A / S_E by up to a quarter (210 rows). So they may move by this part of their value.
PROJECTED, PROJECTED_RELATIVE = frozenset({"intra_to_inter_variance"}), 0.5
#: Places in that plane: no two processors need agree on them.
COORDINATES = ("tsne_1", "tsne_2")
#: Computed by scikit-learn through BLAS, whatever the model: near the border a row may change sides.
FOREIGN_METRICS = frozenset({"linear_accuracy"})
#: Metrics that models are compared by.
COMPARED = ("accuracy", "error_rate", "balanced_accuracy", "log_loss", "ece", "roc_auc", "rmse")
#: Differences of two models' means: where both move, they move by up to twice as much.
DIFFERENCES = frozenset({f"{name}_difference" for name in COMPARED} | {"accuracy_gap", "ranked_pairs_difference"})
#: Shares of the test rows of one class.
OF_ONE_CLASS = frozenset({"recall"})
#: Test rows that are counted.
ROWS = "rows"
#: Measured beside what a cell measures of every model: of computing importances, and with the training before.
IMPORTANCE_COST, WHOLE_COST = "importance_cpu_seconds", "fit_and_importance_cpu_seconds"
#: What a cell measures of every model: label, unit, whether it is a percentage; the direction is the experiments'.
MEASURED: Mapping[str, Metric] = {
    name: Metric(label, unit, METRICS[name], percent)
    for name, label, unit, percent in (
        ("accuracy", "accuracy", "", True),
        ("balanced_accuracy", "balanced accuracy", "", True),
        ("log_loss", "log loss", "nats", False),
        ("roc_auc", "ROC AUC", "", True),
        ("ece", "expected calibration error", "", True),
        ("rmse", "RMSE", "unit of the target", False),
        ("fit_cpu_seconds", "training time", "CPU s", False),
        ("predict_cpu_seconds", "test time", "CPU s", False),
        ("fit_peak_mib", "peak memory, training", "MiB", False),
        ("predict_peak_mib", "peak memory, test", "MiB", False),
        ("model_mib", "model size", "MiB", False),
        ("n_layers", "layers", "", False),
    )
}
_ERROR = Metric("test error", "", False, percent=True)
_COSTS: Mapping[str, Metric] = {
    IMPORTANCE_COST: Metric("importances", "CPU s", False),
    WHOLE_COST: Metric("training and importances", "CPU s", False),
}
#: All that is measured cost: it differs from run to run.
COSTS = COST_METRICS | _COSTS.keys()
#: Of what a model is made: costs without noise.
COUNTS: Mapping[str, Metric] = {
    "n_trees": Metric("trees kept", higher_is_better=False),
    "n_nodes": Metric("nodes kept", higher_is_better=False),
    "grown_trees": Metric("trees grown", higher_is_better=False),
    "tree_rows": Metric("trees grown × training rows", higher_is_better=False),
}
#: A model's cost compared with another's. They move as the costs do, so no exact check covers them either.
COST_RATIOS: Mapping[str, Metric] = {
    **{f"{name}_ratio": Metric(f"{(MEASURED.get(name) or _COSTS[name]).label}, ratio") for name in sorted(COSTS)},
    "memory_mb_ratio": Metric("memory, ratio"),
}
#: Every metric that is measured or derived; other names are facts about data, ranks and counts.
KNOWN: Mapping[str, Metric] = {
    **MEASURED,
    **_COSTS,
    **COST_RATIOS,
    **COUNTS,
    **{
        f"{name}_difference": Metric(f"{one.label}, difference", one.unit, percent=one.percent)
        for name, one in ((name, MEASURED.get(name, _ERROR)) for name in COMPARED)
    },
    "error_rate": _ERROR,
    "ranked_pairs_difference": Metric("feature pairs ranked right, difference", percent=True),
    "screened_share": Metric("screened at level 1", percent=True),
    "remaining_share": Metric("go through all levels", percent=True),
    "different_predictions": Metric("screened rows predicted otherwise", ROWS),
    "additional_correct": Metric("more rows right at the end", ROWS),
    "margin_ratio": Metric("margin ratio (std / mean)"),
    "factor": Metric("alpha"),
    "factor_share": Metric("alpha, of the sum", percent=True),
    "grown_layers": Metric("layers grown"),
    "interactions": Metric("interactions kept"),
    "most_interactions": Metric("most in one layer"),
    "early_share_train": Metric("decided before the last layer, training", percent=True),
    "early_share_test": Metric("decided before the last layer, test", percent=True),
    "easy_share_train": Metric("easy in the first iteration, training", percent=True),
    "easy_share_test": Metric("easy in the first iteration, test", percent=True),
    "screening_a": Metric("a of Eq. 4"),
    "hard_rows": Metric("hard training rows"),
    "best_layer": Metric("best layer out of fold"),
    "rank_correlation": Metric("rank correlation"),
    "intra_to_inter_variance": Metric("S_A / S_E in the plane"),
    "intra_to_inter_variance_of_features": Metric("S_A / S_E of the features"),
    "linear_accuracy": Metric("linear accuracy", "", True, percent=True),
    "columns": Metric("features"),
    "columns_at_a_root": Metric("features at a root"),
    "root_importance": Metric("marginal importance"),
    "importance": Metric("mean decrease in impurity"),
    "train_pass_rate": Metric("pass rate, training", percent=True),
    "test_pass_rate": Metric("pass rate, test", percent=True),
    "p_value": Metric("p"),
    "win_rate": Metric("wins", percent=True),
    "recall": Metric("recall", "", True, percent=True),
    "accuracy_gap": Metric("accuracy, difference", percent=True),
    "training_rows": Metric("training rows"),
    "training_share": Metric("share of the training rows", percent=True),
    "negatives_per_positive": Metric("negatives per positive"),
    **{name: Metric(name) for name in ("bias", "contribution", "prediction")},
    "region_share": Metric("share of the plane", percent=True),
    "contribution_size": Metric("mean size of the contribution"),
    "own_share": Metric("variance that the feature alone explains", percent=True),
    "other_share": Metric("variance that the feature alone does not explain", percent=True),
    "joint_share": Metric("variance that neither x1 nor x2 alone explains", percent=True),
    "mdi": Metric("MDI"),
    "mdi_distance": Metric("sum of distances to the true importances", "", False),
    "mdi_share": Metric("share of the MDI", percent=True),
    "ranked_pairs": Metric("feature pairs ranked right", "", True, percent=True),
    "r2": Metric("R²", "", True),
    "correlation": Metric("correlation", "", True),
    "top": Metric("top feature right", "", True, percent=True),
    "known_by_prediction": Metric("known by the prediction", percent=True),
}
#: Decimal places of metrics that are not shown with four significant digits.
_WHOLE = ("n_layers", "grown_layers", "best_layer", "training_rows", "columns", "columns_at_a_root")
PLACES: Mapping[str, int] = {
    **dict.fromkeys((*_WHOLE, "hard_rows", "interactions", "most_interactions", *COUNTS), 0),
    **dict.fromkeys(("contribution_size", "r2", "correlation"), 3),
    "rank_correlation": 2,
}
#: Written without commas between thousands: one is a year.
NO_COMMAS = frozenset({"feature_value"})


def known_metric(name: str) -> Metric:
    """Return how a metric is shown, measured or derived; facts about data and ranks have their name as label."""
    return KNOWN.get(name) or Metric(name)
