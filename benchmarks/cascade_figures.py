"""Figures of docs/cascades.md: layers and margins of mdDF on the digits, drawn with the package's plots.

    python benchmarks/cascade_figures.py [--output docs/figures]

Same seeds, same pictures. It prints what the pictures show.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cascadeforest import MDDFClassifier
from cascadeforest.plotting import plot_layers, plot_margins


def main() -> None:
    """Fit, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/figures"), help="folder of the picture")
    output = parser.parse_args().output
    mpl.use("Agg")

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    model = MDDFClassifier(preset="paper", n_estimators=50, max_layers=8, patience=8, random_state=0)
    model.fit(X_train, y_train)
    print(f"gamma {model.gamma_}, mu {model.mu_}, theta {model.theta_}, {model.n_layers_} layers kept")
    print("out-of-fold accuracy", model.validation_scores_.round(4))
    print("margin ratio", model.margin_ratio_.round(3))
    print("alpha", model.alphas_.round(3))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    plot_layers(model, X_test, y_test, ax=left)
    # Other colours than on the left, where they tell training from test rows; most margins are large.
    right.set_prop_cycle(color=["#999999", "#66A61E", "#1B6B3A"])
    plot_margins(model, layers=[1, 2, 3], ax=right)
    right.set_xlim(-0.5, 1)
    path = output / "cascade_layers_and_margins.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(path)


if __name__ == "__main__":
    main()
