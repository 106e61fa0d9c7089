"""Numbers per layer, of training rows (out of fold) and of test rows (mddf-fig2a): a panel for each of them.

``options: {curves: [...]}`` names what is drawn, of `QUANTITIES`; ``paper_datasets`` names the data sets that the paper
shows. Training rows have a number for each layer that was grown, test rows only for those that the cascade kept. With
the extra `factors` a note gives the factor of each layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.derived import known_metric
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, metric_head, number_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure


@dataclass(frozen=True)
class Quantity:
    """Something that has a number at each layer.

    Parameters
    ----------
    extra : str
        The extra of the cells that has it, as the arrays ``train`` and ``test``.
    metric : str
        Its name in tables.
    is_score : bool
        Whether its best layer is that of the cascade.
    """

    extra: str
    metric: str
    is_score: bool = False


#: What ``options/curves`` can name.
QUANTITIES = MappingProxyType(
    {
        "accuracy": Quantity("layer_scores", "accuracy", is_score=True),
        "rmse": Quantity("layer_scores", "rmse", is_score=True),
        "margin_ratio": Quantity("margin_ratios", "margin_ratio"),
    }
)
TRAIN, TEST = "train", "test"
PARTS = MappingProxyType({TRAIN: "training rows, out of fold", TEST: "test rows"})
FIRST, END = "layer 1", "last layer kept"
#: Factors of the layers, which no curve shows: the extra, and the metric of each of its arrays.
FACTORS, FACTOR_METRICS = "factors", MappingProxyType({"alphas": "factor", "shares": "factor_share"})
NO_MEAN = "the mean margin is not positive"
TOO_FEW, CONSTANT = "fewer than three layers", "the same at all layers"
#: Inches that the panels of one data set are high, words in their place, and the legend.
_HEIGHT, _EMPTY_HEIGHT, _LEGEND_HEIGHT = 2.5, 0.75, 0.35
_MODEL_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)
_BEST, _ENDS = "best layer out of fold", "layer that the cascade ends with"


@dataclass(frozen=True)
class Curves:
    """One model on one data set.

    Parameters
    ----------
    values : dict
        (name of the quantity, part) to one number a layer.
    n_train, n_test : int
        Rows.
    """

    values: dict[tuple[str, str], np.ndarray]
    n_train: int
    n_test: int

    def n_layers(self, part: str) -> int:
        """Layers that have a number: those grown for training rows, those kept for test rows."""
        return min(len(values) for (_, own), values in self.values.items() if own == part)

    def best_layer(self, part: str) -> int | None:
        """The first layer, counted from 1, of the best score; None if no score is drawn."""
        for (name, own), values in self.values.items():
            if own == part and QUANTITIES[name].is_score:
                best = values.argmax() if METRICS[QUANTITIES[name].metric].higher_is_better else values.argmin()
                return int(best) + 1
        return None


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | str:
    """Spearman's correlation of two curves, or why there is none.

    Parameters
    ----------
    first, second : ndarray of shape (n_layers,)
        The curves; infinite values rank last.

    Returns
    -------
    float or str
    """
    import numpy as np
    from scipy.stats import rankdata

    if len(first) < 3:
        return TOO_FEW
    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (first, second)]
    sizes = [float(np.sum(values**2)) for values in ranks]
    return float(np.sum(ranks[0] * ranks[1])) / math.sqrt(sizes[0] * sizes[1]) if all(sizes) else CONSTANT


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
        If the options name no curves, or ones that are not known or that no extra has.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.cells = FirstRepeats(experiment, results)
        self.names = self._checked_names()
        self.curves = {pair: self._curves(*pair) for pair in self.cells.pairs}
        self.facts = {pair: {row.key[2:]: row for row in self._facts(*pair)} for pair in self.cells.pairs}

    def _checked_names(self) -> list[str]:
        place = self.cells.place
        names = self.experiment["options"].get("curves")
        if not isinstance(names, list) or not names or any(name not in QUANTITIES for name in names):
            raise ConfigError(f"{place}/options/curves is {names!r}; give a list of {', '.join(QUANTITIES)}.")
        for name in names:
            if (extra := QUANTITIES[name].extra) not in self.experiment["extras"]:
                raise ConfigError(
                    f"{place}/options/curves has '{name}', but extras are {list(self.experiment['extras'])}; add "
                    f"'{extra}'."
                )
        return names

    # Numbers ------------------------------------------------------------------------------------------------------

    def _curves(self, dataset: str, column: str) -> Curves | None:
        """Those of the first repeat; None if it did not run."""
        cell = self.cells.cell(dataset, column)
        if cell is None:
            return None
        values = {}
        for name in self.names:
            arrays = self.cells.arrays(dataset, column, QUANTITIES[name].extra)
            values |= {(name, part): arrays[part] for part in PARTS}
        return Curves(values, cell["n_train"], cell["n_test"])

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        """The numbers of the table."""
        curves = self.curves[dataset, column]
        for part in PARTS:
            for name in self.names:
                for layer in (FIRST, END):
                    value = None
                    if curves is not None:
                        at = 0 if layer == FIRST else curves.n_layers(TEST) - 1
                        value = float(curves.values[name, part][at])
                    yield self._row(dataset, column, f"{part}, {layer}", QUANTITIES[name].metric, value)
            if len(self.names) == 2:
                value = None
                if curves is not None:
                    n = curves.n_layers(part)
                    value = rank_correlation(*(curves.values[name, part][:n] for name in self.names))
                yield self._row(dataset, column, part, "rank_correlation", value)
            value = None if curves is None else float(curves.n_layers(part))
            yield self._row(dataset, column, part, "grown_layers" if part == TRAIN else "n_layers", value)
            if any(QUANTITIES[name].is_score for name in self.names):
                value = None if curves is None else float(curves.best_layer(part))
                yield self._row(dataset, column, part, "best_layer", value)
        for name, values in self._factors(dataset, column).items():
            for k, value in enumerate(values, start=1):
                yield self._row(dataset, column, f"layer {k}", FACTOR_METRICS[name], float(value))

    def _factors(self, dataset: str, column: str) -> Mapping[str, np.ndarray]:
        """Factors of the layers; nothing without the extra, or where nothing ran."""
        if FACTORS not in self.experiment["extras"] or self.curves[dataset, column] is None:
            return {}
        return self.cells.arrays(dataset, column, FACTORS)

    def _row(self, dataset: str, column: str, condition: str, metric: str, value: float | str | None) -> TidyRow:
        return self.cells.row(dataset, column, condition, metric, value, NO_MEAN)

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), curves in self.curves.items():
            if curves is None:
                yield self._row(dataset, column, "", QUANTITIES[self.names[0]].metric, None)
                continue
            for (name, part), values in curves.values.items():
                for k, value in enumerate(values, start=1):
                    yield self._row(dataset, column, f"{part}, layer {k}", QUANTITIES[name].metric, float(value))

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        label_heads, lines = without_source(
            (*self.cells.label_heads, "rows", ""),
            [line for pair in self.cells.pairs for part in PARTS for line in self._lines(*pair, part)],
        )
        view = self.cells.view(label_heads, self._heads(), "number of rows", lines, self._notes())
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _heads(self) -> Iterable[str]:
        for name in self.names:
            for layer in (FIRST, END):
                yield f"{metric_head(QUANTITIES[name].metric)}, {layer}"
        if len(self.names) == 2:
            first, second = map(self._word, self.names)
            yield f"rank correlation of {first} and {second}"
        yield "layers"
        if any(QUANTITIES[name].is_score for name in self.names):
            yield "best layer"

    def _word(self, name: str) -> str:
        """A quantity in a sentence."""
        return known_metric(QUANTITIES[name].metric).label.partition(" (")[0]

    def _lines(self, dataset: str, column: str, part: str) -> Iterable[Row]:
        labels = (*self.cells.labels(dataset, column), PARTS[part])
        keys = [key for key in self.facts[dataset, column] if key[0].partition(",")[0] == part]
        rows = [self.facts[dataset, column][key] for key in keys]
        curves = self.curves[dataset, column]
        cells, size = tuple(map(_cell, rows)), ""
        if curves is None:
            cells = (Cell(self.cells.reason(dataset, column), is_word=True),) * len(rows)
        else:
            size = f"{curves.n_train if part == TRAIN else curves.n_test:,}"
        yield Row((*labels, REPRODUCED), cells, REPRODUCED, size)
        yield from self.cells.published_line(labels, rows)

    def _notes(self) -> Iterable[str]:
        yield (
            f"Training rows: from models that did not learn from them, with each layer that was grown. '{END}': the "
            "layer that the prediction ends with; later ones are dropped and predict nothing. Layers: those that were "
            "grown (training rows), those that were kept (test rows)."
        )
        if len(self.names) == 2:
            yield "Rank correlation: Spearman's, over the layers."
        for pair in self.cells.pairs:
            if found := self._factors(*pair):
                factors = zip(*(found[name] for name in FACTOR_METRICS), strict=True)
                said = ", ".join(f"{alpha:.3g} ({100 * share:.0f} %)" for alpha, share in factors)
                yield (
                    f"{self.cells.name(*pair)}: factors alpha of the layers, and in brackets what each is of the sum "
                    f"of those up to it: {said}."
                )

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        panels = " and ".join(metric_head(QUANTITIES[name].metric) for name in self.names)
        parts = [f"At each layer: {panels}, of training rows (out of fold) and of test rows."]
        if "margin_ratio" in self.names:
            parts.append(
                "Margins are those of the sum up to the layer: probability of the row's class minus the largest of the "
                "others."
            )
        if self._has_best():
            parts.append("Ring: the layer that is best out of fold.")
        if any(curves and curves.n_layers(TEST) < curves.n_layers(TRAIN) for curves in self.curves.values()):
            parts.append(
                "Dashed vertical line: the layer that the cascade ends with; later ones were dropped and have only the "
                "curve of the training rows."
            )
        parts.append(stand_in_words(self.experiment))
        return " ".join(filter(None, [*parts, *self._all_words()]))

    def _has_best(self) -> bool:
        return any(curves and curves.best_layer(TRAIN) for curves in self.curves.values())

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for (dataset, column), curves in self.curves.items():
            words = self.cells.reason(dataset, column) if curves is None else "; ".join(self._words(dataset, column))
            yield f"{self.cells.name(dataset, column)}: {words}."

    def _words(self, dataset: str, column: str) -> Iterable[str]:
        """Half-sentences about one model on one data set."""
        curves, facts = self.curves[dataset, column], self.facts[dataset, column]
        grown, kept = curves.n_layers(TRAIN), curves.n_layers(TEST)
        yield f"{grown} layer{'s' if grown > 1 else ''}" + (f", of which {kept} kept" if kept < grown else "")
        for name in self.names:
            metric = QUANTITIES[name].metric
            sides = []
            for part, words in ((TRAIN, "training rows"), (TEST, "test rows")):
                begin, end = (_said(facts[f"{part}, {layer}", metric]) for layer in (FIRST, END))
                sides.append(f"of {words} {begin}" + (f" at layer 1 and {end} at layer {kept}" if kept > 1 else ""))
            yield f"{self._word(name)} {', '.join(sides)}"
        if (best := curves.best_layer(TRAIN)) and grown > 1:
            yield f"best out of fold is layer {best}"
        if len(self.names) == 2:
            first, second = map(self._word, self.names)
            numbers = [(words, facts[part, "rank_correlation"]) for part, words in PARTS.items()]
            said = [f"{_said(row)} ({words})" for words, row in numbers if row.mean is not None]
            if said:
                yield f"rank correlation of {first} and {second} {', '.join(said)}"

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        datasets = self.experiment["datasets"]
        drawn = {name: [c for c in self.experiment["columns"] if self.curves[name, c] is not None] for name in datasets}
        heights = [_HEIGHT if drawn[name] else _EMPTY_HEIGHT for name in datasets]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights) + _LEGEND_HEIGHT), layout="constrained")
        parts = picture.subfigures(len(datasets) + 1, 1, height_ratios=[*heights, _LEGEND_HEIGHT], squeeze=False)
        entries = {}
        for dataset, (part,) in zip(datasets, parts, strict=False):
            part.suptitle(self._panel_title(dataset, drawn[dataset]), x=0.012, ha="left", fontsize=9, fontweight="bold")
            if not drawn[dataset]:
                write_words(
                    part, "; ".join(dict.fromkeys(self.cells.reason(dataset, c) for c in self.experiment["columns"]))
                )
                continue
            panels = part.subplots(1, len(self.names), squeeze=False)[0]
            for axes, name in zip(panels, self.names, strict=True):
                for column in drawn[dataset]:
                    self._draw_curves(axes, name, self.curves[dataset, column], column)
                _frame(axes, max(self.curves[dataset, column].n_layers(TRAIN) for column in drawn[dataset]))
                axes.set_ylabel(metric_head(QUANTITIES[name].metric))
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                    entries.setdefault(label, handle)
        if entries:
            # Marks stand behind the curves.
            labels = sorted(entries, key=lambda label: label in (_BEST, _ENDS))
            parts[-1, 0].legend([entries[label] for label in labels], labels, loc="upper center", ncols=4)
        return picture

    def _panel_title(self, dataset: str, drawn: list[str]) -> str:
        if not drawn:
            return dataset
        curves = self.curves[dataset, drawn[0]]
        return f"{dataset}, {curves.n_train:,} training and {curves.n_test:,} test rows"

    def _draw_curves(self, axes: Axes, name: str, curves: Curves, column: str) -> None:
        """Both parts of one quantity: told apart by line and marker, and by colour where there is one model."""
        import numpy as np

        scale = 100 if known_metric(QUANTITIES[name].metric).percent else 1
        colour = _MODEL_COLOURS[list(self.experiment["columns"]).index(column) % len(_MODEL_COLOURS)]
        prefix = f"{self.experiment['labels'][column]}, " if self.cells.has_models else ""
        for part, marker, line in ((TRAIN, "o", (0, (4, 2))), (TEST, "^", "solid")):
            values = curves.values[name, part]
            drawn = np.where(np.isfinite(values), scale * values, np.nan)
            axes.plot(
                range(1, len(values) + 1),
                drawn,
                color=colour if self.cells.has_models or part == TRAIN else ORANGE,
                marker=marker,
                linestyle=line,
                markerfacecolor="white" if part == TRAIN else None,
                label=f"{prefix}{PARTS[part]}",
            )
            best = curves.best_layer(TRAIN)
            if part == TRAIN and best and QUANTITIES[name].is_score:
                axes.plot(
                    [best],
                    [drawn[best - 1]],
                    marker="o",
                    markersize=10,
                    markerfacecolor="none",
                    markeredgecolor=BLACK,
                    linestyle="none",
                    label=_BEST,
                )
        if curves.n_layers(TEST) < curves.n_layers(TRAIN):
            colour = colour if self.cells.has_models else GREY
            axes.axvline(curves.n_layers(TEST), color=colour, linewidth=0.9, linestyle=(0, (2, 2)), label=_ENDS)


def _frame(axes: Axes, n_layers: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(0.5, max(n_layers, 2) + 0.5)
    axes.set_xlabel("layer")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))


def _said(row: TidyRow) -> str:
    if row.mean is None:
        return f"unknown ({row.note})"
    unit = " %" if known_metric(row.metric).percent else ""
    return _number(row) + unit


def _number(row: TidyRow) -> str:
    if row.metric in ("n_layers", "grown_layers", "best_layer"):
        return f"{row.mean:.0f}"
    if row.metric == "rank_correlation":
        return f"{row.mean:.2f}".replace("-", "−")
    return number_text(row.metric, row.mean, None).replace("-", "−")


def _cell(row: TidyRow) -> Cell:
    return Cell(_number(row)) if row.mean is not None else Cell(row.note or row.status, is_word=True)
