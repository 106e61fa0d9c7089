"""Importances as bars, the largest first: means over repeats, with deviations (interp-fig1b and interp-fig8).

With the extra `layer_importances` the columns that layer 2 sees (``options: {layer: 2}``): original features, and the
sum of those that layer 1 added. With `mdi_df` the original features at the last layer (``options: {layer: last}``).
``normalise: true`` makes each run's bars add up to 1, where what is below 0 counts as 0; the table has the importances
as they are beside. ``features: {<data set>: [...]}`` names features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.every_repeat import MEANS, EveryRepeat, common_places, mean_text
from cascadeforest.reports.figure import BLUE, GREY, ORANGE, Figure, write_words
from cascadeforest.reports.notes import listed
from cascadeforest.reports.results import Results
from cascadeforest.reports.stacked import stacked
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import (
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    metric_head,
    number_text,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

#: Extras, and the layer that each is about.
COLUMNS, LAST = "layer_importances", "mdi_df"
LAYERS = {COLUMNS: 2, LAST: "last"}
#: What is drawn; beside it in the table: shares of the sum, or what was normalised.
MDI, SHARE, RAW = "mdi", "mdi_share", "importance"
#: Bars of original features; the others share one.
N_SHOWN = 10
#: Bars that the caption names.
N_SAID = 4
ADDED, SUM = "new features, sum", "sum over features"
NO_LAYER = "no run kept a second layer"
#: Inches of a bar, of title and axis, and of words in place of bars.
_BAR, _FRAME, _EMPTY_HEIGHT = 0.22, 0.75, 0.6


@dataclass(frozen=True)
class Bars:
    """One model on one data set.

    Parameters
    ----------
    values : dict
        Label of a bar to one importance a run, the largest mean first.
    n_runs : int
        Runs, with those that have nothing to draw.
    n_others : int
        Features that share a bar.
    n_negative : int
        Importances below 0, which are drawn as 0; of all runs.
    """

    values: dict[str, np.ndarray]
    n_runs: int
    n_others: int
    n_negative: int

    @property
    def n_drawn(self) -> int:
        """Runs that have something to draw."""
        return len(next(iter(self.values.values()))) if self.values else 0


def normalised(importances: np.ndarray) -> np.ndarray:
    """Importances with sum 1 in each run; what is below 0 counts as 0.

    Parameters
    ----------
    importances : ndarray of shape (n_runs, n_features)
        As they are.

    Returns
    -------
    ndarray of shape (n_runs, n_features)
        Zeros for a run in which none is above 0.
    """
    import numpy as np

    clipped = np.maximum(importances, 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.divide(clipped, total, out=np.zeros_like(clipped), where=total > 0)


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the cells save no importances, or the options name another layer than theirs.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.all = EveryRepeat(experiment, results)
        self.extra = self._checked_extra()
        self.is_normalised = bool(experiment["options"].get("normalise", False))
        self.metrics = (MDI, RAW if self.is_normalised else SHARE)
        self.pairs = self.all.first.pairs
        self.bars = {pair: self._bars(*pair) for pair in self.pairs}
        self.rows = {pair: {row.key[2:]: row for row in self._rows(*pair)} for pair in self.pairs}

    def _checked_extra(self) -> str:
        place, extras = self.all.first.place, self.experiment["extras"]
        found = [extra for extra in LAYERS if extra in extras]
        if len(found) != 1:
            raise ConfigError(f"{place}/extras are {list(extras)}; name one of {listed(list(LAYERS))}, and only one.")
        layer = self.experiment["options"].get("layer")
        if layer != LAYERS[found[0]]:
            raise ConfigError(
                f"{place}/options/layer is {layer!r}, but the extra '{found[0]}' is about layer {LAYERS[found[0]]}; "
                f"write 'layer: {LAYERS[found[0]]}'."
            )
        return found[0]

    # Numbers ------------------------------------------------------------------------------------------------------

    def _bars(self, dataset: str, column: str) -> dict[str, Bars] | None:
        """Bars by metric; None if nothing ran."""
        import numpy as np

        found = self.all.arrays(dataset, column, self.extra)
        if not found:
            return None
        name = "columns" if self.extra == COLUMNS else "importances"
        runs = [one for one in found if len(one[name])]
        if not runs:
            return dict.fromkeys(self.metrics, Bars({}, len(found), 0, 0))
        n_added = int(runs[0]["n_added"]) if self.extra == COLUMNS else 0
        values = np.array([one[name] for one in runs], np.float64)
        n_features = values.shape[1] - n_added
        own, added = values[:, :n_features], values[:, n_features:].sum(axis=1, keepdims=True)
        names = [*self.all.feature_names(dataset, n_features), ADDED]
        columns = np.hstack([own, added]) if n_added else own
        shares = normalised(columns)
        of_metric = {MDI: shares if self.is_normalised else columns, SHARE: shares, RAW: columns}
        order = np.argsort(-of_metric[MDI].mean(axis=0), kind="stable")
        features = [k for k in order if k < n_features]
        # A bar of others for one feature would say less than its own bar.
        others = features[N_SHOWN:] if n_features > N_SHOWN + 1 else []
        n_negative = int((values < 0).sum())
        result = {}
        for metric in self.metrics:
            one = of_metric[metric]
            bars = {names[k]: one[:, k] for k in order if k not in others}
            if others:
                bars[f"{len(others)} other features, sum"] = one[:, others].sum(axis=1)
            result[metric] = Bars(bars, len(found), len(others), n_negative)
        return result

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        bars = self.bars[dataset, column]
        if bars is None or not bars[MDI].values:
            yield self._nothing(dataset, column)
            return
        for metric in self.metrics:
            for label, values in bars[metric].values.items():
                yield self._row(dataset, column, _condition(label), metric, values)
            yield self._row(dataset, column, SUM, metric, sum(bars[metric].values.values()))

    def _nothing(self, dataset: str, column: str) -> TidyRow:
        if self.bars[dataset, column] is None:
            return self.all.row(dataset, column, "", MDI, [])
        return self.all.first.row(dataset, column, "", MDI, NO_LAYER)

    def _row(self, dataset: str, column: str, condition: str, metric: str, values: np.ndarray) -> TidyRow:
        return self.all.row(dataset, column, condition, metric, [float(value) for value in values])

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        label_heads, lines = without_source(
            (*self.all.first.label_heads, "feature", ""), [line for pair in self.pairs for line in self._lines(*pair)]
        )
        heads = [self._head(metric) for metric in self.metrics]
        view = self.all.view(label_heads, heads, "runs", lines, self._notes())
        rows = tuple(row for found in self.rows.values() for row in found.values())
        return Table(rows, view, Figure(self._caption(), self._alt(), rows, self._draw))

    def _head(self, metric: str) -> str:
        if metric == MDI and self.is_normalised:
            return f"{metric_head(MDI)}, normalised"
        return metric_head(metric)

    def _lines(self, dataset: str, column: str) -> Iterable[Row]:
        labels, rows = self.all.first.labels(dataset, column), self.rows[dataset, column]
        bars = self.bars[dataset, column]
        if bars is None or not bars[MDI].values:
            words = NO_LAYER if bars is not None else self.all.first.reason(dataset, column)
            yield Row((*labels, "", REPRODUCED), (Cell(words, is_word=True),) * 2)
            return
        places = {metric: self._places((dataset, column), metric) for metric in self.metrics}
        for label in [*bars[MDI].values, SUM]:
            found = [rows[_condition(label), metric] for metric in self.metrics]
            cells = [Cell(_text(row, places[row.metric])) for row in found]
            yield Row((*labels, _words(label), REPRODUCED), tuple(cells), REPRODUCED, f"{found[0].n}")
            printed = [self.all.first.published.number(*row.key[:2], row.metric, row.condition) for row in found]
            if any(printed):
                cells = [Cell("" if n is None else printed_text(MDI, n.value, None)) for n in printed]
                yield Row((*labels, _words(label), PUBLISHED), tuple(cells), PUBLISHED)

    def _places(self, pair: tuple[str, str], metric: str) -> int:
        rows = self.rows[pair].values()
        return common_places(row.mean for row in rows if row.metric == metric and row.condition != SUM)

    def _notes(self) -> Iterable[str]:
        yield MEANS
        if self.extra == COLUMNS:
            yield (
                "MDI on the rows in each tree's bag, as existing tools compute it: what splits of layer 2 on a column "
                "decrease the impurity by. The new features are the class vectors (predictions) of layer 1."
            )
        else:
            yield "MDI of the original features on held-out training rows, splits on new features traced back to them."
        if self.is_normalised:
            yield (
                "Normalised: each run's importances are divided by their sum, with 0 in the place of those below 0; "
                f"{metric_head(RAW)}: as they are."
            )

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        layer = "a second layer" if self.extra == COLUMNS else "the last layer"
        parts = [f"Mean decrease in impurity (MDI) at {layer}: mean over runs, lines ± standard deviation."]
        if self.extra == COLUMNS:
            parts.append("Original features and, as one bar, the sum of the features that layer 1 added.")
        if self.is_normalised:
            parts.append("Each run's bars add up to 1; importances below 0 are drawn as 0.")
        return " ".join([*parts, *self._all_words()])

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for pair, bars in self.bars.items():
            yield f"{self.all.first.name(*pair)}: {self._pair_words(pair, bars)}."

    def _pair_words(self, pair: tuple[str, str], bars: dict[str, Bars] | None) -> str:
        if bars is None:
            return self.all.first.reason(*pair)
        shown = bars[MDI]
        if not shown.values:
            return NO_LAYER
        places = self._places(pair, MDI)
        labels = [label for k, label in enumerate(shown.values) if k < N_SAID or label.endswith(", sum")]
        said = [f"{_words(label)} {_text(self.rows[pair][_condition(label), MDI], places)}" for label in labels]
        if shown.n_drawn < shown.n_runs:
            said.append(f"{shown.n_runs - shown.n_drawn} of {shown.n_runs} runs kept one layer only and are left out")
        if self.is_normalised:
            said.append(f"{shown.n_negative} importances below 0 in {shown.n_runs} runs")
        return "; ".join(said)

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        heights = [
            _EMPTY_HEIGHT if bars is None or not bars[MDI].values else _FRAME + _BAR * len(bars[MDI].values)
            for bars in self.bars.values()
        ]
        picture, parts = stacked(heights)
        for (pair, bars), part in zip(self.bars.items(), parts, strict=True):
            name = self.all.first.name(*pair)
            if bars is None or not bars[MDI].values:
                words = NO_LAYER if bars is not None else self.all.first.reason(*pair)
                write_words(part, f"{name}: {words}")
                continue
            axes = part.subplots()
            runs = bars[MDI].n_drawn
            axes.set_title(f"{name}, {runs} run{'s' if runs > 1 else ''}", fontweight="bold")
            self._draw_bars(axes, bars[MDI])
        return picture

    def _draw_bars(self, axes: Axes, bars: Bars) -> None:
        import numpy as np

        means = [float(np.mean(values)) for values in bars.values.values()]
        spreads = [float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for values in bars.values.values()]
        labels = list(bars.values)
        colours = [ORANGE if label == ADDED else GREY if "other features" in label else BLUE for label in labels]
        places = range(len(labels))
        axes.barh(
            places, means, xerr=spreads if any(spreads) else None, height=0.72, color=colours,
            error_kw={"ecolor": "black", "elinewidth": 1.0, "capsize": 2.5},
        )  # fmt: skip
        axes.set_yticks(places, [_words(label) for label in labels])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        if all((values >= 0).all() for values in bars.values.values()):
            axes.set_xlim(left=0)  # a whisker may end below 0, importances do not
        else:
            axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_xlabel(self._head(MDI))


def _condition(label: str) -> str:
    """Condition of a bar in tidy tables; features are named as in the published files."""
    return label if label == SUM or label.endswith(", sum") else f"feature {label}"


def _words(label: str) -> str:
    return label.replace("_", " ")


def _text(row: TidyRow, places: int) -> str:
    return number_text(SHARE, row.mean, row.std) if row.metric == SHARE else mean_text(row, places)
