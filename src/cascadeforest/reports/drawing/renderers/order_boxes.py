"""Importance of features and interactions against their order (hidf-fig3): a box for each group of orders.

Input features have order 1. The order of an interaction is the sum of the orders of its components and reaches
hundreds, so that orders above `N_SINGLE` share boxes (`order_group`). Drawn is the marginal importance, the largest
decrease in impurity by a root split, in the first repeat; numbers are means. CSV files have the mean decrease too.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Pair, Table, TidyRow, draw, metric_head, models

EXTRA = "interactions"
MARGINAL, MDI = "root_importance", "importance"
STATISTICS = {"median": 0.5, "lower quartile": 0.25, "upper quartile": 0.75, "largest": 1.0}
#: Orders up to this one have a box each.
N_SINGLE = 12
TOO_FEW, CONSTANT = "fewer than three interactions", "the same for all interactions"
NO_INTERACTIONS = "no interactions found"
#: Panels are as wide as their numbers of boxes, but no narrower than this many.
LEAST_BOXES = 5


@dataclass(frozen=True)
class Options:
    """Options of the experiment: input features that the picture names."""

    informative: tuple[int, ...]
    layers: tuple[int, ...] = ()  # for the figure of the same models, with which this one shares its options


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    of_repeats = {pair: _columns(cells, *pair) for pair in cells.pairs}
    frames = {pair: own[0] for pair, own in of_repeats.items()}
    informative = cells.options(Options).informative
    n_features = min((int((frame.order == 1).sum()) for frame in frames.values() if len(frame)), default=None)
    if n_features is not None and any(not 0 <= k < n_features for k in informative):
        place = f"{cells.experiment.place}/options/informative"
        raise ConfigError(f"{place} is {list(informative)}; give a list of columns below {n_features}.")
    facts = {pair: {row.key[2:]: row for row in _facts(cells, *pair, own)} for pair, own in of_repeats.items()}
    drawn = tuple(row for pair, frame in frames.items() for row in _drawn(cells, *pair, frame))
    told = dict(frames=frames, facts=facts)
    heads = ["features", "of these at a root", *(f"marginal importance, {name}" for name in STATISTICS)]
    lines = models.lines_of(cells, facts, ["columns", "columns_at_a_root", *STATISTICS], _place, "n")
    picture = draw.Picture([_part(cells, dataset, frames, informative) for dataset in cells.experiment.datasets])
    return Table.of(cells, told, facts, (*cells.label_heads, "order"), heads, lines, "repeats", picture, drawn)


def order_group(order: int) -> str:
    """Return the name of a group, whatever orders were found: the order itself or, from 13 on, ``13 to 24``, ..."""
    first, last = N_SINGLE + 1, 2 * N_SINGLE
    while order > last:
        first, last = last + 1, 2 * last
    return str(order) if order <= N_SINGLE else f"{first} to {last}"


def rank_correlation(interactions: pd.DataFrame, metric: str) -> tuple[float, float] | str:
    """Return Spearman's correlation of order and another number with its p-value (two-sided), or why there is none."""
    if len(interactions) < 3:
        return TOO_FEW if len(interactions) else NO_INTERACTIONS
    if interactions.order.nunique() == 1 or interactions[metric].nunique() == 1:
        return CONSTANT
    found = spearmanr(interactions.order, interactions[metric])
    return float(found.statistic), float(f"{found.pvalue:.3g}")  # p comes from a foreign library


def _columns(cells: Cells, dataset: str, column: str) -> list[pd.DataFrame]:
    """Return features and interactions of each repeat, one a row; an empty frame if the run is not there."""
    found = []
    for arrays in cells.arrays(dataset, column, EXTRA) or [{}]:
        frame = pd.DataFrame({name: arrays.get(name, []) for name in ("order", "layer", MARGINAL, MDI)})
        n_features = int((frame.order == 1).sum())
        names = [f"x{k}" if k < n_features else f"I{k - n_features + 1}" for k in range(len(frame))]
        found.append(frame.assign(name=names, group=[*map(order_group, frame.order.astype(int))]))
    return found


def _groups(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the groups of orders, ascending."""
    return dict(iter(frame.sort_values("order", kind="stable").groupby("group", sort=False)))


def _facts(cells: Cells, dataset: str, column: str, frames: list[pd.DataFrame]) -> Iterable[TidyRow]:
    row = partial(cells.row, dataset, column)
    if frames[0].empty:
        yield row("", MARGINAL, None)
        return
    groups = [_groups(frame) for frame in frames]
    for name in sorted({*itertools.chain(*groups)}, key=lambda name: int(name.split()[0])):
        found = [own[name] for own in groups if name in own]
        yield row(f"order {name}", "columns", [len(own) for own in found])
        yield row(f"order {name}", "columns_at_a_root", [int((own[MARGINAL] > 0).sum()) for own in found])
        for metric in (MARGINAL, MDI):
            for statistic, share in STATISTICS.items():
                yield row(f"order {name}, {statistic}", metric, [np.quantile(own[metric], share) for own in found])
    for metric in (MARGINAL, MDI, "layer"):
        correlations = [rank_correlation(frame[frame.order > 1], metric) for frame in frames]
        for k, name in enumerate(("rank_correlation", "p_value")[: 1 + (len(frames) == 1)]):
            told = [one[k] for one in correlations if not isinstance(one, str)]
            yield row(f"interactions, {metric}", name, told or [one for one in correlations if isinstance(one, str)])


def _drawn(cells: Cells, dataset: str, column: str, frame: pd.DataFrame) -> Iterable[TidyRow]:
    if frame.empty:
        yield cells.row(dataset, column, "", MARGINAL, None)
    for one in frame.itertuples():
        condition = f"order {one.order}, {one.name}" + (f", layer {one.layer}" if one.layer else "")
        for metric in (MARGINAL, MDI):
            yield cells.row(dataset, column, condition, metric, getattr(one, metric))


def _place(condition: str, metric: str) -> tuple[str, str]:
    """Return the line and the column of a number, a statistic of the marginal importance or a count."""
    order, _, statistic = condition.removeprefix("order ").partition(", ")
    return order, statistic if metric == MARGINAL else metric


def _part(cells: Cells, dataset: str, frames: dict[Pair, pd.DataFrame], informative: tuple[int, ...]) -> draw.Part:
    """The panels of one data set, one for each model, on one scale."""
    own = {column: frames[dataset, column] for column in cells.experiment.columns}
    if all(frame.empty for frame in own.values()):
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    highest = max(frame[MARGINAL].max() for frame in own.values() if len(frame)) or 1.0
    y = draw.Axis(metric_head(MARGINAL), (-0.03 * highest, 1.05 * highest))
    panels = []
    for column, frame in own.items():
        title = cells.label(column) if cells.has_models else ""
        if frame.empty:
            panels.append(draw.Panel(title=title, words=cells.reason(dataset, column), width=LEAST_BOXES))
            continue
        groups = _groups(frame)
        ticks = {float(k): f"{name.replace(' to ', '–')} ({len(groups[name]):,})" for k, name in enumerate(groups)}
        width = max(len(groups), LEAST_BOXES)
        # Names of features stand on the left, where no other box is.
        x = draw.Axis("order (in brackets: how many)", (-2.1, width - 0.4), ticks=ticks, upright=True)
        colours = [draw.ORANGE if own.order.max() == 1 else draw.BLUE for own in groups.values()]
        marks = [draw.box(k, own[MARGINAL], colours[k]) for k, own in enumerate(groups.values())]
        named, look = frame.loc[list(informative)].sort_values(MARGINAL), draw.Look(draw.ORANGE)
        marks.append(draw.points([0] * len(named), named[MARGINAL], look, "informative features", size=4.5))
        # Names of features that are close would cover each other.
        places = (named[MARGINAL].diff() > 0.08 * highest).cumsum()
        for _, one in named.groupby(places):
            marks.append(draw.text(-0.45, one[MARGINAL].mean(), ", ".join(sorted(one["name"])), "right center"))
        if len(groups) == 1:
            marks.append(draw.text(0.7, highest / 2, NO_INTERACTIONS.replace(" ", "\n"), "left center", draw.GREY))
        panels.append(draw.Panel(marks, title, x, y, width=width))
    return draw.Part([panels], title=dataset, height=2.9, legend=True)
