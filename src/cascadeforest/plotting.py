"""Plots of fitted cascades and of explanations; they need matplotlib.

from cascadeforest.plotting import plot_layers, plot_margins
from cascadeforest.plotting import plot_waterfall, plot_beeswarm, plot_importances, plot_dependence
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from cascadeforest.cascade.margin import margin_ratio
from cascadeforest.cascade.stopping import Scoring
from cascadeforest.explanations.plots import plot_beeswarm, plot_dependence, plot_importances, plot_waterfall
from cascadeforest.forest._types import MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_beeswarm", "plot_dependence", "plot_importances", "plot_layers", "plot_margins", "plot_waterfall"]

_TRAIN, _TEST = "#0072B2", "#D55E00"


def plot_layers(
    model: BaseEstimator, X: MatrixLike | None = None, y: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the score of each layer and, if the model has margins, the margin ratio (standard deviation over mean).

    Scores and margins of the training rows are out-of-fold, from all layers that were grown. The margin ratio has a
    separate axis on the right. If the ratio falls, the bound of Lyu et al. (Theorem 1) falls too.

    Parameters
    ----------
    model : estimator
        A fitted cascade: any with ``validation_scores_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
        Test samples. Their curves are added, for the layers that were kept.
    y : array-like of shape (n_samples,), optional
        Classes or targets of the test samples; give X and y together.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes of the scores. The axes of the margin ratio is the last axes of the figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the model has no layers, or only one of X and y is given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import MDDFClassifier
    >>> from cascadeforest.plotting import plot_layers
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDDFClassifier(2, 10, gamma=0.9, mu=0.05, theta=4, max_layers=3, random_state=0)
    >>> plot_layers(model.fit(X[::2], y[::2]), X[1::2], y[1::2]).get_xlabel()
    'layer'
    """
    check_is_fitted(model)
    _need(model, "validation_scores_", "plot_layers", "a cascade, such as GCForestClassifier")
    if (X is None) != (y is None):
        raise ValueError(f"{'y' if X is None else 'X'} was given without {'X' if X is None else 'y'}; give both.")
    ax = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    label, sign = _score_of(model)
    _draw(ax, sign * model.validation_scores_, _TRAIN, "o", "-", f"{label}, training rows out of fold")
    if X is not None and y is not None:
        _draw(ax, sign * _staged_scores(model, X, y), _TEST, "^", "-", f"{label}, test rows")
    ax.set_xlabel("layer")
    ax.set_ylabel(label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles, labels = ax.get_legend_handles_labels()
    if hasattr(model, "margin_ratio_"):
        right = ax.twinx()
        _draw(right, _finite(model.margin_ratio_), _TRAIN, "o", ":", "margin ratio, training rows out of fold")
        if X is not None:
            ratios = [margin_ratio(z) for z in model.staged_margins(X, y)]
            _draw(right, _finite(ratios), _TEST, "^", ":", "margin ratio, test rows")
        right.set_ylabel("margin ratio (std / mean)")
        for axis, more in zip((handles, labels), right.get_legend_handles_labels(), strict=True):
            axis.extend(more)
    # Above: neither axes knows where the other one's curves leave room.
    ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
    return ax


def plot_margins(model: BaseEstimator, layers: Sequence[int] | None = None, ax: Axes | None = None) -> Axes:
    """Plot the distribution of the out-of-fold margins of the training rows at some layers.

    Parameters
    ----------
    model : estimator
        A fitted model with ``margins_``, such as `MDDFClassifier`.
    layers : sequence of int, optional
        Layers, counted from 1; None for the first and the last that were grown.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes
        One step curve per layer: for each margin, the share of rows with this margin or a smaller one. Rows with a
        margin below 0 are misclassified.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the model has no margins, or no such layer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import MDDFClassifier
    >>> from cascadeforest.plotting import plot_margins
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MDDFClassifier(2, 10, gamma=0.9, mu=0.05, theta=4, max_layers=3, random_state=0)
    >>> plot_margins(model.fit(X, y), layers=[1, 2]).get_xlabel()
    'margin'
    """
    check_is_fitted(model)
    _need(model, "margins_", "plot_margins", "a model with margins, such as MDDFClassifier")
    n_layers = len(model.margins_)
    layers = sorted({1, n_layers}) if layers is None else list(layers)
    if unknown := [layer for layer in layers if layer not in range(1, n_layers + 1)]:
        raise ValueError(f"layers has {unknown}; the model has margins of the layers 1 to {n_layers}.")
    ax = _axes(ax)
    for layer in layers:
        z = model.margins_[layer - 1]
        ax.ecdf(z[~np.isnan(z)], label=f"layer {layer}, margin ratio {model.margin_ratio_[layer - 1]:.2f}")
    ax.set_xlim(-1, 1)
    ax.axvline(0, color="#6B6B6B", linewidth=0.8)
    ax.set_xlabel("margin")
    ax.set_ylabel("share of the training rows with at most this margin")
    ax.legend()
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed. Install it: pip install matplotlib."
        ) from error
    return plt.subplots()[1]


def _need(model: BaseEstimator, attribute: str, function: str, wanted: str) -> None:
    if not hasattr(model, attribute):
        raise ValueError(f"model is a {type(model).__name__}, which has no {attribute}; {function} takes {wanted}.")


def _score_of(model: BaseEstimator) -> tuple[str, float]:
    """Axis label for the scores of a model's layers, and the factor that converts scores to the label's unit."""
    if model.scoring is None:
        return ("accuracy", 1.0) if is_classifier(model) else ("root mean squared error", -1.0)
    return (model.scoring if isinstance(model.scoring, str) else "score"), 1.0


def _staged_scores(model: BaseEstimator, X: MatrixLike, y: ArrayLike) -> np.ndarray:
    """Scores of rows if the cascade ended at each layer."""
    if not is_classifier(model):
        scoring, y = Scoring(model.scoring, None), np.asarray(y, np.float64)
        return np.array([scoring(y, values, None) for values in model.staged_predict(X)])
    scoring = Scoring(model.scoring, model.classes_)
    y = np.asarray(y)
    if unknown := sorted(set(y.tolist()) - set(model.classes_.tolist())):
        raise ValueError(f"y has the classes {unknown}, which fit did not see; leave these rows out.")
    label = np.searchsorted(model.classes_, y)
    return np.array([scoring(label, values, None) for values in model.staged_predict_proba(X)])


def _finite(values: ArrayLike) -> np.ndarray:
    """Replace infinite ratios (a mean margin of 0 or less) by gaps."""
    values = np.asarray(values, np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _draw(ax: Axes, values: np.ndarray, colour: str, marker: str, line: str, label: str) -> None:
    ax.plot(range(1, len(values) + 1), values, color=colour, marker=marker, linestyle=line, label=label)
