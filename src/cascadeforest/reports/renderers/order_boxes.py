"""Importance of features and interactions against their order (hidf-fig3): a box a group of orders.

Order 1 are the input features. A new feature's order is the sum of its components' orders and reaches hundreds, so
orders above `N_SINGLE` share boxes (`order_groups`). Drawn is marginal importance, the largest decrease in impurity by
a root split; the CSV files have the mean decrease in impurity too.

``options: {informative: [0, 1]}`` gives the columns of the input features that are named in the picture; else the two
of largest marginal importance are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.derived import known_metric
from cascadeforest.reports.figure import BLACK, BLUE, GREY, ORANGE, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import listed, stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import Cell, Row, number_text

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA = "interactions"
MARGINAL, MDI = "root_importance", "importance"
#: Orders up to this one have a box each.
N_SINGLE = 12
#: Fewer columns than this are drawn as points: quartiles would be the points themselves.
N_BOX = 5
TOO_FEW, CONSTANT = "fewer than three interactions", "the same for all interactions"
NO_INTERACTIONS = "no interactions found"
#: Numbers that a table gives of each group.
_STATISTICS = ("median", "lower quartile", "upper quartile", "largest")
#: Part of the highest value by which dots must differ to have names of their own.
_CLOSE = 0.05
#: Inches that the panels of one data set are high, and words in their place.
_HEIGHT, _EMPTY_HEIGHT = 3.2, 0.75
#: Widths of panels are as their numbers of boxes, but no panel has less than this many: its title needs room.
_LEAST_BOXES = 5


@dataclass(frozen=True)
class Importances:
    """One model on one data set; a column is a feature or an interaction.

    Parameters
    ----------
    orders : ndarray of shape (n_columns,)
        Of the columns; those of order 1 are the features, which come first.
    layers : ndarray of shape (n_columns,)
        Where they were found; 0 for features.
    values : dict
        `MARGINAL` and `MDI` to a number a column.
    """

    orders: np.ndarray
    layers: np.ndarray
    values: dict[str, np.ndarray]

    @property
    def n_features(self) -> int:
        """Columns that are no interactions."""
        return int((self.orders == 1).sum())

    def name(self, column: int) -> str:
        """A column, as rules call it."""
        return f"x{column}" if column < self.n_features else f"I{column - self.n_features + 1}"

    def largest_features(self) -> list[int]:
        """Features that are at a root, by their marginal importance, the largest first."""
        values = self.values[MARGINAL][: self.n_features]
        return [k for k in sorted(range(self.n_features), key=lambda k: (-values[k], k)) if values[k] > 0]


def order_groups(orders: Iterable[int]) -> dict[tuple[int, int], str]:
    """Groups of orders that share a box.

    Up to `N_SINGLE` each order is a group. Above, bounds double: 13 to 24, 25 to 48, 49 to 96, ... They do not depend
    on the orders found, so that pictures of other models and data have the same.

    Parameters
    ----------
    orders : iterable of int
        Orders that there are.

    Returns
    -------
    dict
        (First, last order) to the group's name, ascending; groups that nothing falls into are left out.
    """
    found = {}
    for order in sorted(set(orders)):
        first = last = order
        if order > N_SINGLE:
            first, last = N_SINGLE + 1, 2 * N_SINGLE
            while order > last:
                first, last = last + 1, 2 * last
        found[int(first), int(last)] = str(order) if first == last else f"{first} to {last}"
    return found


def rank_correlation(importances: Importances, metric: str) -> tuple[float, float] | str:
    """Spearman's correlation of order and importance over the interactions with its p-value, or why there is none.

    Parameters
    ----------
    importances : Importances
        Of a model.
    metric : str
        `MARGINAL` or `MDI`.

    Returns
    -------
    tuple of two floats, or str
        The p-value (two-sided, t distribution) has three significant digits: it is computed by a foreign library.
    """
    from scipy.stats import spearmanr

    orders = importances.orders[importances.n_features :]
    values = importances.values[metric][importances.n_features :]
    if len(orders) < 3:
        return TOO_FEW if len(orders) else NO_INTERACTIONS
    if orders.min() == orders.max() or values.min() == values.max():
        return CONSTANT
    found = spearmanr(orders, values)
    return float(found.statistic), float(f"{found.pvalue:.3g}")


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved under `EXTRA`.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the experiment's cells do not save the arrays.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.cells = FirstRepeats(experiment, results)
        if EXTRA not in experiment["extras"]:
            raise ConfigError(f"{self.cells.place}/extras are {list(experiment['extras'])}; add '{EXTRA}'.")
        self.importances = {pair: self._importances(*pair) for pair in self.cells.pairs}
        self.informative = self._checked_informative()
        self.facts = {pair: {row.key[2:]: row for row in self._facts(*pair)} for pair in self.cells.pairs}

    def _checked_informative(self) -> list[int] | None:
        named = self.experiment["options"].get("informative")
        n_features = min((one.n_features for one in self.importances.values() if one), default=math.inf)
        if named is not None and not (
            isinstance(named, list) and all(type(k) is int and 0 <= k < n_features for k in named)
        ):
            raise ConfigError(
                f"{self.cells.place}/options/informative is {named!r}; give a list of columns below {n_features}."
            )
        return named

    # Numbers ------------------------------------------------------------------------------------------------------

    def _importances(self, dataset: str, column: str) -> Importances | None:
        if self.cells.cell(dataset, column) is None:
            return None
        arrays = self.cells.arrays(dataset, column, EXTRA)
        return Importances(arrays["order"], arrays["layer"], {metric: arrays[metric] for metric in (MARGINAL, MDI)})

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        import numpy as np

        importances = self.importances[dataset, column]
        if importances is None:
            yield self.cells.row(dataset, column, "", MARGINAL, None)
            return
        for (first, last), name in order_groups(importances.orders).items():
            own = (importances.orders >= first) & (importances.orders <= last)
            condition = f"order {name}"
            yield self.cells.row(dataset, column, condition, "columns", float(own.sum()))
            at_root = float((importances.values[MARGINAL][own] > 0).sum())
            yield self.cells.row(dataset, column, condition, "columns_at_a_root", at_root)
            for metric in (MARGINAL, MDI):
                numbers = np.quantile(importances.values[metric][own], [0.5, 0.25, 0.75, 1])
                for statistic, number in zip(_STATISTICS, numbers, strict=True):
                    yield self.cells.row(dataset, column, f"{condition}, {statistic}", metric, float(number))
        for metric in (MARGINAL, MDI):
            found = rank_correlation(importances, metric)
            numbers = (found, found) if isinstance(found, str) else found
            for name, number in zip(("rank_correlation", "p_value"), numbers, strict=True):
                yield self.cells.row(dataset, column, f"interactions, {metric}", name, number)

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), importances in self.importances.items():
            if importances is None:
                yield self.cells.row(dataset, column, "", MARGINAL, None)
                continue
            for k, (order, layer) in enumerate(zip(importances.orders, importances.layers, strict=True)):
                condition = f"order {order}, {importances.name(k)}" + (f", layer {layer}" if layer else "")
                for metric, values in importances.values.items():
                    yield self.cells.row(dataset, column, condition, metric, float(values[k]))

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        heads = ["features", "of these at a root", *(f"marginal importance, {name}" for name in _STATISTICS)]
        lines = [line for pair in self.cells.pairs for line in self._lines(*pair, len(heads))]
        view = self.cells.view((*self.cells.label_heads, "order"), heads, "", lines, self._notes())
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _lines(self, dataset: str, column: str, n_cells: int) -> Iterable[Row]:
        labels, importances = self.cells.labels(dataset, column), self.importances[dataset, column]
        if importances is None:
            yield Row((*labels, ""), (Cell(self.cells.reason(dataset, column), is_word=True),) * n_cells)
            return
        facts = self.facts[dataset, column]
        for name in order_groups(importances.orders).values():
            counts = [facts[f"order {name}", metric] for metric in ("columns", "columns_at_a_root")]
            numbers = [facts[f"order {name}, {statistic}", MARGINAL] for statistic in _STATISTICS]
            yield Row((*labels, name), tuple(Cell(_number(row)) for row in [*counts, *numbers]))

    def _notes(self) -> Iterable[str]:
        yield (
            "Order: 1 for input features, for interactions the sum of the orders of what they are made of. Up to "
            f"{N_SINGLE} each order has a line, above that bounds double ({N_SINGLE + 1} to {2 * N_SINGLE}, "
            f"{2 * N_SINGLE + 1} to {4 * N_SINGLE}, ...); orders that do not occur have none."
        )
        yield (
            "Marginal importance: the largest decrease in Gini impurity by a root split of the final forests, 0 for "
            "what is at no root. A tree has one root, whose feature is the best of a few drawn ones: among many "
            "features most have 0, and a good one has it where better ones are drawn with it. The CSV file has the "
            "mean decrease in impurity (MDI) beside it."
        )
        correlations = [words for pair in self.cells.pairs for words in self._correlation_words(*pair)]
        if correlations:
            yield (
                f"Spearman's correlation of order and importance over the interactions: {'; '.join(correlations)}. "
                "p: two-sided, as if interactions were independent, which those of one model are not."
            )

    def _correlation_words(self, dataset: str, column: str) -> Iterable[str]:
        importances = self.importances[dataset, column]
        if importances is None:
            return
        n = len(importances.orders) - importances.n_features
        if not n:
            yield f"{self.cells.name(dataset, column)}: {NO_INTERACTIONS}"
            return
        said = [f"{words} {self._correlation(dataset, column, metric)}" for metric, words in _METRIC_WORDS.items()]
        yield f"{self.cells.name(dataset, column)}: {', '.join(said)} ({_counted(n, 'interaction')})"

    def _correlation(self, dataset: str, column: str, metric: str) -> str:
        """A correlation with its p-value in words."""
        row, p = (
            self.facts[dataset, column][f"interactions, {metric}", name] for name in ("rank_correlation", "p_value")
        )
        return f"unknown ({row.note})" if row.mean is None else f"{_number(row)} ({_p_words(p.mean)})"

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "Marginal importance of input features (order 1) and interactions, by order; in brackets: how many. Boxes: "
            "quartiles and median, whiskers to the last value within 1.5 times the box, circles: values beyond. Groups "
            f"of fewer than {N_BOX} are points (diamonds). Dots with names: "
            + ("informative input features." if self.informative else "the two largest of order 1.")
        ]
        published = self.cells.published
        for dataset in published.datasets():
            for column in self.experiment["columns"]:
                model, condition = published.place(column, "input")
                if number := published.number_at(dataset, model, condition, "informative_features"):
                    parts.append(
                        f"The paper's text: on {dataset} the marginal importance of all but {number.value} input "
                        "features is nearly zero, and interactions of higher order tend to have greater importance."
                    )
        parts.append(stand_in_words(self.experiment))
        return " ".join(filter(None, [*parts, *self._all_words()]))

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for (dataset, column), importances in self.importances.items():
            name = self.cells.name(dataset, column)
            if importances is None:
                yield f"{name}: {self.cells.reason(dataset, column)}."
            else:
                yield f"{name}: {'; '.join(self._words(dataset, column, importances))}."

    def _words(self, dataset: str, column: str, importances: Importances) -> Iterable[str]:
        """Half-sentences about one model on one data set."""
        values = importances.values[MARGINAL]
        largest, named = importances.largest_features(), self._named(importances)

        def said(k: int) -> str:
            return f"{number_text(MARGINAL, values[k], None)} of {importances.name(k)}"

        yield f"{_counted(importances.n_features, 'input feature')}, of which {len(largest)} at a root"
        if named:
            others = [k for k in largest if k not in named]
            yield f"marginal importance {listed([said(k) for k in named])}" + (
                f", of the others at most {said(others[0])}" if others else ""
            )
        n = len(importances.orders) - importances.n_features
        if not n:
            yield NO_INTERACTIONS
            return
        orders = importances.orders[importances.n_features :]
        at_root = int((values[importances.n_features :] > 0).sum())
        spread = f"order {orders.min()}" if orders.min() == orders.max() else f"orders {orders.min()} to {orders.max()}"
        yield f"{_counted(n, 'interaction')} of {spread}, of which {at_root} at a root"
        yield f"rank correlation of order and marginal importance {self._correlation(dataset, column, MARGINAL)}"

    def _named(self, importances: Importances) -> list[int]:
        """Features whose names are given."""
        return self.informative or importances.largest_features()[:2]

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        datasets = self.experiment["datasets"]
        drawn = {
            name: [c for c in self.experiment["columns"] if self.importances[name, c] is not None] for name in datasets
        }
        heights = [_HEIGHT if drawn[name] else _EMPTY_HEIGHT for name in datasets]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = picture.subfigures(len(datasets), 1, height_ratios=heights, squeeze=False)
        for dataset, (part,) in zip(datasets, parts, strict=True):
            part.suptitle(dataset, x=0.012, ha="left", fontsize=9, fontweight="bold")
            columns = list(self.experiment["columns"])
            if not drawn[dataset]:
                write_words(part, "; ".join(dict.fromkeys(self.cells.reason(dataset, c) for c in columns)))
                continue
            found = [self.importances[dataset, column] for column in columns]
            highest = max(one.values[MARGINAL].max() for one in found if one)
            n_boxes = [len(order_groups(one.orders)) if one else _LEAST_BOXES for one in found]
            panels = part.subplots(
                1,
                len(columns),
                squeeze=False,
                sharey=True,
                gridspec_kw={"width_ratios": [max(n, _LEAST_BOXES) for n in n_boxes]},
            )[0]
            for axes, column, importances in zip(panels, columns, found, strict=True):
                if self.cells.has_models:
                    axes.set_title(self.cells.label(column))
                if importances is None:
                    _write(axes, self.cells.reason(dataset, column))
                else:
                    _draw_boxes(axes, importances)
                    _draw_named(axes, importances, self._named(importances), _CLOSE * highest)
            first = panels[columns.index(drawn[dataset][0])]  # where those before it have words only
            first.set_ylabel(known_metric(MARGINAL).label)
            first.tick_params(labelleft=True)
            part.supxlabel("order (in brackets: how many)", fontsize=8)
        return picture


#: Metrics in words, in the order of the notes.
_METRIC_WORDS = {MARGINAL: "marginal importance", MDI: "MDI"}


def _draw_boxes(axes: Axes, importances: Importances) -> None:
    """A box, or points, for each group of orders."""
    groups = order_groups(importances.orders)
    values, labels = importances.values[MARGINAL], []
    for place, ((first, last), name) in enumerate(groups.items()):
        own = values[(importances.orders >= first) & (importances.orders <= last)]
        labels.append(f"{name.replace(' to ', '–')} ({len(own):,})")
        colour = ORANGE if first == 1 else BLUE
        if len(own) < N_BOX:
            axes.plot([place] * len(own), own, color=colour, marker="D", markersize=3.5, linestyle="none")
            continue
        axes.boxplot(
            [own],
            positions=[place],
            widths=0.62,
            patch_artist=True,
            boxprops={"facecolor": f"{colour}40", "edgecolor": colour, "linewidth": 0.9},
            medianprops={"color": BLACK, "linewidth": 1.4},
            whiskerprops={"color": colour, "linewidth": 0.9},
            capprops={"color": colour, "linewidth": 0.9},
            flierprops={"marker": "o", "markersize": 3, "markeredgecolor": colour, "markeredgewidth": 0.8},
            manage_ticks=False,
        )
    axes.set_xticks(range(len(groups)), labels, rotation=90)
    # Names of features stand on the left, where no other box is.
    axes.set_xlim(-2.1, max(len(groups), _LEAST_BOXES) - 0.4)
    axes.grid(visible=False, axis="x")
    if len(groups) == 1:
        words = NO_INTERACTIONS.replace("interactions ", "interactions\n")  # right of the one column that there is
        axes.text(0.42, 0.5, words, transform=axes.transAxes, ha="left", va="center", color=GREY, style="italic")


def _draw_named(axes: Axes, importances: Importances, named: list[int], close: float) -> None:
    """Dots and names of some input features; names of close ones are one text."""
    values = importances.values[MARGINAL]
    groups: list[list[int]] = []
    for k in sorted(named, key=lambda k: -values[k]):
        if groups and values[groups[-1][0]] - values[k] < close:
            groups[-1].append(k)
        else:
            groups.append([k])
    for group in groups:
        axes.plot([0] * len(group), values[group], color=ORANGE, marker="o", markersize=4.5, linestyle="none", zorder=4)
        names = "\n".join(importances.name(k) for k in group)
        middle = float(values[group].mean())
        side = "bottom" if middle < close else "center"  # not across the axis
        axes.annotate(names, (-0.31, middle), (-3, 0), textcoords="offset points", ha="right", va=side, fontsize=7.5)


def _write(axes: Axes, words: str) -> None:
    """Words in the place of one panel; its neighbours keep their axis."""
    import textwrap

    axes.set_axis_off()
    text = textwrap.fill(words, 28)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic")


def _p_words(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' if n != 1 else ''}"


def _number(row: TidyRow) -> str:
    if row.metric in ("columns", "columns_at_a_root"):
        return f"{row.mean:,.0f}"
    if row.metric == "rank_correlation":
        return f"{row.mean:.2f}".replace("-", "−")
    return number_text(row.metric, row.mean, None)
