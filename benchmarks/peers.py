"""Random forests of YDF and LightGBM behind scikit-learn's interface, as near to ours as they can be set.

`WORK` says what remains unequal; the tables of `forest.py` repeat it, and show score and number of nodes beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: LightGBM refuses more leaves, and keeps histograms of as many leaves as there are, if nothing bounds their memory.
MOST_LEAVES, HISTOGRAM_MIB = 131_072, 512

WORK = {
    "intelex": "256 bins a feature; constant features are not among the max_features of a node, so trees are smaller",
    "ydf": "exact thresholds in columns sorted once a forest, no bins; entropy instead of Gini; constant features as "
    "intelex; random forests only",
    "lightgbm": "255 bins, one-hot columns bundled; grows the leaf of largest gain first; 63.2 % of the rows without "
    "replacement; squared loss of gradients at the mean score instead of Gini, and with more than two classes a tree "
    f"for each class: K times the trees; at most {MOST_LEAVES:,} leaves, histograms within {HISTOGRAM_MIB} MiB; random "
    "forests only",
}


def candidates(n_features: int, max_features: float | None, classes: int) -> int:
    """Features that a node looks at: the square root in classification, all in regression, or the share given."""
    if max_features is not None:
        return max(1, int(max_features * n_features))
    return max(1, int(np.sqrt(n_features))) if classes else n_features


@dataclass
class YDFForest:
    """Fully grown trees of YDF that vote with the shares of their leaves; one thread for `n_jobs=1`."""

    classes: int
    n_estimators: int
    max_features: float | None
    n_threads: int

    def fit(self, X: np.ndarray, y: np.ndarray) -> YDFForest:
        """Grow the forest."""
        import ydf

        ydf.verbose(0)
        learner = ydf.RandomForestLearner(
            label="y",
            task=ydf.Task.CLASSIFICATION if self.classes else ydf.Task.REGRESSION,
            num_trees=self.n_estimators,
            num_candidate_attributes=candidates(X.shape[1], self.max_features, self.classes),
            winner_take_all=False,
            max_depth=-1,
            min_examples=1,
            compute_oob_performances=False,
            num_threads=self.n_threads,
            random_seed=1,
        )
        self.model_ = learner.train({"X": X, "y": y})
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classes or numbers."""
        found = self.model_.predict({"X": X})
        if not self.classes:
            return found
        names = np.array(self.model_.label_classes(), dtype=np.int64)
        return names[found.argmax(axis=1) if found.ndim == 2 else np.int64(found > 0.5)]

    def __getstate__(self) -> bytes:
        """What YDF would store; pickling goes through it."""
        return self.model_.serialize()

    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return self.model_.num_nodes()


def lightgbm_forest(kind: str, n_estimators: int, share: float, n_rows: int, n_jobs: int) -> Any:
    """LightGBM's mode `rf`, grown as far as it can; `kind` is Classifier or Regressor."""
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(
        boosting_type="rf",
        n_estimators=n_estimators,
        num_leaves=min(n_rows, MOST_LEAVES),
        min_child_samples=1,
        min_child_weight=0.0,
        subsample=0.632,
        subsample_freq=1,
        feature_fraction_bynode=share,
        max_bin=255,
        min_split_gain=1e-6 if kind == "Classifier" else 0.0,  # with 0, rounding splits leaves of one class
        histogram_pool_size=HISTOGRAM_MIB,
        n_jobs=n_jobs,
        random_state=1,
        verbose=-1,
    )


def lightgbm_nodes(model: Any) -> int:
    """Nodes of all trees: LightGBM stores the number of leaves of each."""
    text = model.booster_.model_to_string()
    return sum(2 * int(line[11:]) - 1 for line in text.splitlines() if line.startswith("num_leaves="))
