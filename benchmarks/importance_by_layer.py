"""How well importances tell features from permuted copies of them, layer by layer, on scikit-learn's data sets.

    python benchmarks/importance_by_layer.py [--repeats 3] [--depth 8]

Every feature has a copy whose values are permuted among the rows; a deep forest of the interpretation paper's
section 6.3 (4 forests of 50 trees a layer, 3 folds) learns from a third of the rows. Printed for each layer: accuracy
out of fold, AUC of held-out MDI for features against copies, share of the copies with a positive importance.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from cascadeforest import Explainer, GCForestClassifier


def main() -> None:
    """Fit, explain, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="draws of rows and permutations")
    parser.add_argument("--depth", type=int, default=8, help="greatest depth of a tree")
    arguments = parser.parse_args()
    found = []
    for name, load in (("wine", load_wine), ("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        for repeat in range(arguments.repeats):
            rng = np.random.default_rng(repeat)
            doubled = np.hstack([X, rng.permuted(X, axis=0)])
            rows, _, labels, _ = train_test_split(doubled, y, train_size=1 / 3, stratify=y, random_state=repeat)
            model = GCForestClassifier(
                4, 50, max_depth=arguments.depth, max_layers=4, keep="last", patience=4, random_state=repeat
            ).fit(rows, labels)
            is_copy = np.arange(doubled.shape[1]) >= X.shape[1]
            for layer, importances in enumerate(Explainer(model).staged_importances(), 1):
                found.append(
                    {
                        "data": name,
                        "layer": layer,
                        "accuracy": model.validation_scores_[layer - 1],
                        "auc": roc_auc_score(~is_copy, importances),
                        "copies above 0": np.mean(importances[is_copy] > 0),
                    }
                )
    table = pd.DataFrame(found).groupby(["data", "layer"], sort=False).mean()
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
