"""Plots of explanations; they need matplotlib.

A waterfall for one row, a beeswarm for many rows, bars for importances, and the dependence on one feature. Users of
SHAP know these plots; here they show exact contributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cascadeforest.explanations.explainer import Explanation, shown
from cascadeforest.forest._parameters import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

#: Colours of contributions that raise and lower a prediction (Okabe and Ito: safe for colour-blind readers).
RAISES, LOWERS = "#D55E00", "#0072B2"
_GREY = "#777777"
#: From low to high values of a feature.
_VALUES = "viridis"


def plot_waterfall(
    explanation: Explanation, row: int = 0, output: object = None, n_features: int = 10, ax: Axes | None = None
) -> Axes:
    """Plot one row as a waterfall: from the bias, contribution by contribution, to the prediction.

    Parameters
    ----------
    explanation : Explanation
        Explanation that contains the row.
    row : int
        Number of the row.
    output : class label, int or None
        Class to show, as in `Explanation.output`. None stands for the predicted class, or the target in regression.
    n_features : int, default=10
        Number of features with a bar of their own, by size of the contribution. The other features share one bar.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    TypeError
        If `explanation` is not an Explanation.
    IndexError, ValueError
        If there is no such row or output, or the row has no explanation.
    """
    _check_kind(explanation)
    check_count("n_features", n_features)
    row = explanation.row(row)
    c = int(explanation.prediction[row].argmax()) if output is None else explanation.output(output)
    own, values = explanation.contributions[row, :, c], explanation.values(row)
    order = np.argsort(-np.abs(own), kind="stable")
    largest, rest = order[:n_features], order[n_features:]
    sizes = [*own[largest]] + ([own[rest].sum()] if len(rest) else [])
    labels = [f"{explanation.feature_names[k]} = {shown(values[k], 4)}" for k in largest]
    labels += [f"{len(rest)} other features"] if len(rest) else []
    bias = explanation.bias if explanation.bias.ndim == 1 else explanation.bias[row]
    ends = bias[c] + np.cumsum(sizes[::-1])  # the smallest first, from the bottom up
    starts = np.concatenate([[bias[c]], ends[:-1]])
    ax = _axes(ax, 0.38 * len(sizes) + 1.4)
    places = np.arange(len(sizes))
    ax.barh(places, ends - starts, left=starts, color=[RAISES if size > 0 else LOWERS for size in sizes[::-1]])
    for place, end in zip(places[:-1], ends[:-1], strict=True):
        ax.plot([end, end], [place - 0.4, place + 1.4], color=_GREY, linewidth=0.8)
    low, high = min(starts.min(), ends.min()), max(starts.max(), ends.max())
    room = 0.02 * (high - low or 1.0)
    for place, begin, end, size in zip(places, starts, ends, sizes[::-1], strict=True):
        ax.text(max(begin, end) + room, float(place), f"{size:+.3g}", va="center", fontsize=9)
    ax.set_xlim(low - 4 * room, high + 10 * room)
    ax.set_yticks(places, labels[::-1])
    ax.axvline(bias[c], color=_GREY, linestyle=":", linewidth=1)
    ax.set_xlabel(explanation.quantity(c))
    ax.set_title(f"bias {_number(bias[c])}, prediction {_number(explanation.prediction[row, c])}", fontsize=10)
    _plain(ax)
    return ax


def plot_beeswarm(
    explanation: Explanation, output: object = None, n_features: int = 15, ax: Axes | None = None
) -> Axes:
    """Plot the contributions of many rows as a beeswarm, a point for each row.

    The colour says whether the value of the feature is low or high. Points of rows without the value are grey.

    Parameters
    ----------
    explanation : Explanation
        Explanation of many rows.
    output : class label, int or None
        Class to show, as in `Explanation.output`. None stands for the second of two classes, or the target.
    n_features : int, default=15
        Number of features to show, by mean absolute contribution.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes of the points; the colour bar has its own.

    Raises
    ------
    TypeError
        If `explanation` is not an Explanation.
    ValueError
        If it has no rows, or there is no such output.
    """
    _check_kind(explanation)
    check_count("n_features", n_features)
    explanation = _with_numbers(explanation)
    c = explanation.output(output)
    own = explanation.contributions[:, :, c]
    order = np.argsort(-np.abs(own).mean(axis=0), kind="stable")[:n_features]
    ax = _axes(ax, 0.38 * len(order) + 1.4)
    span = np.abs(own).max() or 1.0
    colours = _values_or_grey()
    misses = False
    for place, k in enumerate(order[::-1]):
        ranks, heights = _ranks(explanation, k), place + _spread(own[:, k] / span)
        misses |= np.isnan(ranks).any()
        # Without plotnonfinite matplotlib hides the points that have no rank.
        points = ax.scatter(own[:, k], heights, c=ranks, cmap=colours, vmin=0, vmax=1, s=9, plotnonfinite=True)
    ax.axvline(0, color=_GREY, linewidth=0.8)
    ax.set_yticks(range(len(order)), [explanation.feature_names[k] for k in order[::-1]])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.set_xlabel(f"contribution to the {explanation.quantity(c)}")
    bar = ax.figure.colorbar(points, ax=ax, ticks=[0, 1], fraction=0.03, pad=0.02)
    bar.set_ticklabels(["low", "high"])
    bar.set_label("value (rank; grey: missing or category)" if misses else "value of the feature (rank)", labelpad=-12)
    bar.outline.set_visible(False)
    _plain(ax)
    return ax


def plot_importances(
    importances: ArrayLike | Explanation,
    feature_names: Sequence[str] | None = None,
    n_features: int = 15,
    std: ArrayLike | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot importances as bars, the largest on top.

    Parameters
    ----------
    importances : array-like of shape (n_features,) or Explanation
        Importances (`Explainer.importances`). For an explanation, the mean absolute contributions over all outputs are
        shown.
    feature_names : sequence of str, optional
        Names of the features; by default the names in the explanation, or x0, x1, ...
    n_features : int, default=15
        Number of features to show.
    std : array-like of shape (n_features,), optional
        Standard deviations, drawn as error bars.
    label : str, optional
        Label of the axis; by default "importance", or "mean absolute contribution" for an explanation.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If `importances`, `feature_names` or `std` does not have one entry for each feature.
    """
    check_count("n_features", n_features)
    if isinstance(importances, Explanation):
        explanation = _with_numbers(importances)
        feature_names = explanation.feature_names if feature_names is None else feature_names
        sizes = np.abs(explanation.contributions).mean(axis=(0, 2))
        label = "mean absolute contribution" if label is None else label
    else:
        sizes = _numbers("importances", importances, " or an Explanation")
    errors = None if std is None else _numbers("std", std, " or None")
    try:
        names = [f"x{k}" for k in range(len(sizes))] if feature_names is None else list(feature_names)
    except TypeError as error:
        raise ValueError(f"feature_names is {feature_names!r}; give one name a feature, or None.") from error
    for name, given in (("feature_names", names), ("std", errors)):
        if given is not None and len(given) != len(sizes):
            raise ValueError(f"{name} has {len(given)} entries; importances has {len(sizes)}: give as many.")
    order = np.argsort(-sizes, kind="stable")[:n_features][::-1]
    ax = _axes(ax, 0.33 * len(order) + 1.2)
    colours = [RAISES if sizes[k] >= 0 else LOWERS for k in order]
    errors = None if errors is None else errors[order]
    ax.barh(range(len(order)), sizes[order], color=colours, xerr=errors, ecolor="#333333", capsize=2)
    ax.set_yticks(range(len(order)), [names[k] for k in order])
    ax.axvline(0, color=_GREY, linewidth=0.8)
    ax.set_xlabel("importance" if label is None else label)
    _plain(ax)
    return ax


def plot_dependence(
    explanation: Explanation, feature: int | str, output: object = None, ax: Axes | None = None
) -> Axes:
    """Plot the contribution of one feature against its value, a point for each row.

    Parameters
    ----------
    explanation : Explanation
        Explanation of many rows.
    feature : int or str
        Number or name of the feature.
    output : class label, int or None
        Class to show, as in `Explanation.output`. None stands for the second of two classes, or the target.
    ax : matplotlib Axes, optional
        Axes to draw in; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    TypeError
        If `explanation` is not an Explanation.
    ValueError
        If it has no rows, or there is no such feature or output.
    """
    _check_kind(explanation)
    names = explanation.feature_names
    if isinstance(feature, str) and feature in names:
        k = names.index(feature)
    elif isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < len(names):
        k = int(feature)
    else:
        raise ValueError(f"feature is {feature!r}; give one of the names, or a number below {len(names)}.")
    explanation = _with_numbers(explanation)
    c = explanation.output(output)
    ax = _axes(ax, 3.6)
    own = explanation.contributions[:, k, c]
    values, levels = explanation.column(k)
    ax.scatter(values, own, s=12, color=[RAISES if f > 0 else LOWERS for f in own], alpha=0.7)
    if levels is not None:
        ax.set_xticks(range(len(levels)), levels)
    ax.axhline(0, color=_GREY, linewidth=0.8)
    ax.set_xlabel(names[k])
    ax.set_ylabel(f"contribution to the\n{explanation.quantity(c)}")
    _plain(ax)
    return ax


def _check_kind(explanation: object) -> None:
    if not isinstance(explanation, Explanation):
        raise TypeError(
            f"explanation is of type {type(explanation).__name__}; give an Explanation, as explain(model, X) and "
            "Explainer(model).explain(X) make it."
        )


def _numbers(name: str, value: ArrayLike, otherwise: str) -> np.ndarray:
    """Convert to one number for each feature; `otherwise` is what else the error message allows."""
    remedy = f"give one number a feature,{otherwise}"
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is {value!r}; {remedy}.") from error
    if numbers.ndim != 1:
        what = f"is {value!r}" if numbers.ndim == 0 else f"has shape {numbers.shape}"
        raise ValueError(f"{name} {what}; {remedy}.")
    return numbers


def _with_numbers(explanation: Explanation) -> Explanation:
    """The explanation without rows that had no weight in `fit`."""
    known = ~np.isnan(explanation.prediction).any(axis=1)
    if not known.any():
        raise ValueError("explanation has no rows; give some.")
    return explanation if known.all() else explanation[known]


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def _values_or_grey() -> Colormap:
    """Colours from low to high values; missing ones are grey."""
    import matplotlib as mpl

    return mpl.colormaps[_VALUES].with_extremes(bad=_GREY)


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _ranks(explanation: Explanation, k: int) -> np.ndarray:
    """Ranks of a feature's values from 0 to 1; equal values have equal ranks, missing values and levels have none."""
    column, names = explanation.column(k)
    if names is not None:
        return np.full(len(column), np.nan)
    levels, place = np.unique(column, return_inverse=True)
    ranks = place / np.maximum(np.count_nonzero(np.isfinite(levels)) - 1, 1)
    return np.where(np.isnan(column), np.nan, np.minimum(ranks, 1.0))


def _spread(x: np.ndarray, n_bins: int = 80) -> np.ndarray:
    """Vertical offsets, at most 0.4, that keep neighbouring points of a beeswarm from overlapping."""
    bins = np.round(x * n_bins).astype(int)
    heights = np.zeros(len(x))
    fullest = np.bincount(bins - bins.min()).max()
    for b in np.unique(bins):
        inside = np.flatnonzero(bins == b)
        order = np.arange(len(inside))
        sides = np.where(order % 2 == 0, 1, -1) * ((order + 1) // 2)
        heights[inside] = 0.4 * sides / np.maximum(fullest / 2, 6.0)
    return heights
