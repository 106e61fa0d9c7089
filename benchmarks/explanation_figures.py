"""Figures of docs/explanations.md: explanations of two deep forests on real data, drawn with the package's plots.

    python benchmarks/explanation_figures.py [--output docs/figures]

Same seeds, same pictures. It prints the text form of the row that the waterfall shows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from cascadeforest import CascadeForestRegressor, Explainer, GCForestClassifier
from cascadeforest.plotting import plot_beeswarm, plot_dependence, plot_importances, plot_waterfall


def main() -> None:
    """Fit, explain, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/figures"), help="folder of the pictures")
    output = parser.parse_args().output
    mpl.use("Agg")

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, _ = train_test_split(X, y, stratify=y, random_state=0)
    model = GCForestClassifier(n_forests=4, n_estimators=50, random_state=0).fit(X_train, y_train)
    explainer = Explainer(model)
    explanation = explainer.explain(X_test)
    unsure = int(abs(explanation.prediction[:, 1] - 0.65).argmin())
    print(f"{model.n_layers_} layers\n{explanation.text(unsure, n_features=5)}")
    _save(plot_waterfall(explanation, unsure), output / "explanation_waterfall.png")
    _save(plot_beeswarm(explanation, "malignant", n_features=12), output / "explanation_beeswarm.png")
    bars = plot_importances(explainer.importances(), list(X), n_features=12, label="MDI on held-out rows")
    _save(bars, output / "explanation_importances.png")

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
    regressor = CascadeForestRegressor(preset="paper", random_state=0).fit(X_train, y_train)
    explanation = Explainer(regressor).explain(X_test)
    _save(plot_dependence(explanation, "bmi"), output / "explanation_dependence.png")


def _save(ax: plt.Axes, path: Path) -> None:
    ax.figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(ax.figure)
    print(path)


if __name__ == "__main__":
    main()
