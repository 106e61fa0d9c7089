"""Importance of relevant and of irrelevant features, by layer and by class (interp-fig6): means over repeats.

``options: {relevant: 2}``: so many first features are relevant; of the others the mean is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.every_repeat import (
    HALF_OF_THE_RUNS,
    MEANS,
    EveryRepeat,
    by_layer,
    common_places,
    mean_text,
    signed,
)
from cascadeforest.reports.figure import BLUE, GREEN, GREY, ORANGE, PURPLE, Figure, write_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.stacked import stacked, title
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import PUBLISHED, REPRODUCED, Cell, Row, metric_head, printed_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

BY_LAYER, BY_CLASS = "layer_importances", "class_importances"
MDI = "mdi"
IRRELEVANT = "irrelevant features"
#: As the published file calls the mean over the irrelevant features, of which the paper speaks for all layers at once.
EVERY_LAYER = f"{IRRELEVANT}, every layer"
_COLOURS, _MARKERS = (BLUE, ORANGE, GREEN, PURPLE), ("o", "^", "s", "D")
#: Inches that the panels of one data set are high, and words in their place.
_HEIGHT, _EMPTY_HEIGHT = 2.7, 0.7


def grouped(importances: np.ndarray, n_relevant: int) -> np.ndarray:
    """Importances of the relevant features, and the mean of the others.

    Parameters
    ----------
    importances : ndarray of shape (n, n_features)
        A line a layer or a class.
    n_relevant : int
        First features that are relevant.

    Returns
    -------
    ndarray of shape (n, n_relevant + 1)
        One column less if all features are relevant.
    """
    import numpy as np

    first, others = importances[:, :n_relevant], importances[:, n_relevant:]
    return np.column_stack([first, others.mean(axis=1)]) if others.shape[1] else first


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved under `BY_LAYER` and `BY_CLASS`.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the cells do not save these arrays, or the options do not say how many features are relevant.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.all = EveryRepeat(experiment, results, [BY_LAYER, BY_CLASS])
        self.n_relevant = experiment["options"].get("relevant")
        if type(self.n_relevant) is not int or not 1 <= self.n_relevant <= len(_COLOURS):
            raise ConfigError(
                f"{self.all.first.place}/options/relevant is {self.n_relevant!r}; give the number of relevant "
                f"features, from 1 to {len(_COLOURS)}."
            )
        self.pairs = self.all.first.pairs
        self.layers = {pair: self._by_layer(*pair) for pair in self.pairs}
        self.classes = {pair: self._by_class(*pair) for pair in self.pairs}
        self.rows = {pair: {row.condition: row for row in self._rows(*pair)} for pair in self.pairs}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _by_layer(self, dataset: str, column: str) -> list[np.ndarray]:
        """For each layer (runs, features and the mean of the others)."""
        import numpy as np

        found = self.all.arrays(dataset, column, BY_LAYER)
        return [np.array(runs) for runs in by_layer([grouped(one["importances"], self.n_relevant) for one in found])]

    def _by_class(self, dataset: str, column: str) -> dict[str, np.ndarray]:
        """For each class (runs, features and the mean of the others)."""
        import numpy as np

        found = self.all.arrays(dataset, column, BY_CLASS)
        codes = sorted({int(code) for one in found for code in one["classes"]})
        names = self.results.summaries.get(dataset, {}).get("class_names", [])
        result = {}
        for code in codes:
            lines = [
                grouped(one["importances"], self.n_relevant)[one["classes"].tolist().index(code)]
                for one in found
                if code in one["classes"]
            ]
            result[f"class {names[code] if code < len(names) else code}"] = np.array(lines)
        return result

    def _groups(self, dataset: str, column: str) -> list[str]:
        """Names of the columns."""
        layers = self.layers[dataset, column]
        n_columns = layers[0].shape[1] if layers else 0
        first = self.all.arrays(dataset, column, BY_LAYER)[0] if layers else {}
        names = self.all.feature_names(dataset, first["importances"].shape[1]) if layers else []
        return [*(f"feature {name}" for name in names[: self.n_relevant]), IRRELEVANT][:n_columns]

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        layers = self.layers[dataset, column]
        if not layers:
            yield self.all.row(dataset, column, "", MDI, [])
            return
        groups = self._groups(dataset, column)
        for name, values in self._lines_of(dataset, column).items():
            for k, group in enumerate(groups):
                yield self._row(dataset, column, f"{group}, {name}", values[:, k])
        if IRRELEVANT in groups:
            # The paper's words are about all layers: the mean over them, of each run.
            runs = [one["importances"] for one in self.all.arrays(dataset, column, BY_LAYER)]
            means = [float(grouped(one, self.n_relevant)[:, -1].mean()) for one in runs]
            yield self._row(dataset, column, EVERY_LAYER, means)

    def _lines_of(self, dataset: str, column: str) -> dict[str, np.ndarray]:
        """Layers, then classes, by name."""
        layers = {f"layer {k}": values for k, values in enumerate(self.layers[dataset, column], start=1)}
        return layers | self.classes[dataset, column]

    def _row(self, dataset: str, column: str, condition: str, values: Iterable[float]) -> TidyRow:
        return self.all.row(dataset, column, condition, MDI, [float(value) for value in values])

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        drawn = [pair for pair in self.pairs if self.layers[pair]]
        groups = self._groups(*drawn[0]) if drawn else []
        heads = [_words(group, "mean of the ") for group in groups] or [metric_head(MDI)]
        label_heads, lines = without_source(
            (*self.all.first.label_heads, "MDI", ""),
            [line for pair in self.pairs for line in self._lines(*pair, len(heads))],
        )
        view = self.all.view(label_heads, heads, "runs", lines, self._notes())
        rows = tuple(row for found in self.rows.values() for row in found.values())
        return Table(rows, view, Figure(self._caption(), self._alt(), rows, self._draw))

    def _lines(self, dataset: str, column: str, n_heads: int) -> Iterable[Row]:
        labels = self.all.first.labels(dataset, column)
        if not self.layers[dataset, column]:
            reason = Cell(self.all.first.reason(dataset, column), is_word=True)
            yield Row((*labels, "", REPRODUCED), (reason,) * n_heads)
            return
        rows, groups = self.rows[dataset, column], self._groups(dataset, column)
        places = common_places((row.mean for row in rows.values()), 4)
        for name in self._lines_of(dataset, column):
            found = [rows[f"{group}, {name}"] for group in groups]
            label = f"global, {name}" if name.startswith("layer ") else f"local, {name}"
            yield Row((*labels, label, REPRODUCED), tuple(_cell(row, places) for row in found), REPRODUCED,
                      f"{found[0].n or ''}")  # fmt: skip
        if EVERY_LAYER in rows:
            row = rows[EVERY_LAYER]
            empty = (Cell(""),) * (n_heads - 1)
            name = (*labels, "global, every layer")
            yield Row((*name, REPRODUCED), (*empty, _cell(row, places)), REPRODUCED, f"{row.n}")
            if number := self.all.first.published.number(dataset, column, MDI, EVERY_LAYER):
                yield Row((*name, PUBLISHED), (*empty, Cell(printed_text(MDI, number.value, None))), PUBLISHED)

    def _notes(self) -> Iterable[str]:
        yield (
            "MDI on held-out training rows. Global: as if the cascade ended at the layer. Local: of the rows of a "
            "class, for its own probability, at the last layer of each run."
        )
        yield f"{MEANS} {HALF_OF_THE_RUNS}"

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "(a) MDI of the original features as if the cascade ended at each layer. (b) Local MDI, of the rows "
            "of each class for the probability of that class, at the last layer. Means over runs, lines ± standard "
            "deviation; of the irrelevant features their mean is shown.",
            HALF_OF_THE_RUNS,
        ]
        return " ".join([*parts, *self._all_words()])

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for pair in self.pairs:
            yield f"{self.all.first.name(*pair)}: {self._pair_words(pair)}."

    def _pair_words(self, pair: tuple[str, str]) -> str:
        layers, rows = self.layers[pair], self.rows[pair]
        if not layers:
            return self.all.first.reason(*pair)
        places = common_places((row.mean for row in rows.values()), 4)
        said = []
        for group in self._groups(*pair):
            ends = [rows[f"{group}, layer {k}"] for k in dict.fromkeys((1, len(layers)))]
            numbers = [f"{_said(row, places)} at layer {k}" for row, k in zip(ends, (1, len(layers)), strict=False)]
            said.append(f"global MDI of {_words(group, 'the ')} {' and '.join(numbers)}")
        for name in self.classes[pair]:
            numbers = [
                f"{_words(group, 'the ')} {_said(rows[f'{group}, {name}'], places)}" for group in self._groups(*pair)
            ]
            said.append(f"local MDI of {name}: {', '.join(numbers)}")
        return "; ".join(said)

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        heights = [_HEIGHT if self.layers[pair] else _EMPTY_HEIGHT for pair in self.pairs]
        picture, parts = stacked(heights)
        for pair, part in zip(self.pairs, parts, strict=True):
            name = self.all.first.name(*pair)
            if not self.layers[pair]:
                write_words(part, f"{name}: {self.all.first.reason(*pair)}")
                continue
            runs = len(self.all.cells(*pair))
            title(part, f"{name}, {runs} run{'s' if runs > 1 else ''}")
            left, right = part.subplots(1, 2)
            self._draw_layers(left, pair)
            self._draw_classes(right, pair)
            handles, labels = left.get_legend_handles_labels()
            part.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return picture

    def _draw_layers(self, axes: Axes, pair: tuple[str, str]) -> None:
        from matplotlib.ticker import MaxNLocator

        layers = range(1, len(self.layers[pair]) + 1)
        for k, group in enumerate(self._groups(*pair)):
            rows = [self.rows[pair][f"{group}, layer {layer}"] for layer in layers]
            colour, marker = _look(k, group)
            axes.errorbar(
                layers, [row.mean for row in rows], yerr=[row.std or 0.0 for row in rows], color=colour, marker=marker,
                capsize=2.5, elinewidth=1.0, linestyle=_line(group), label=_words(group, "mean of "),
            )  # fmt: skip
        axes.set_title("(a) global, by layer")
        axes.set_xlabel("layer")
        axes.set_ylabel(metric_head(MDI))
        axes.set_xlim(0.5, max(len(layers), 2) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))

    def _draw_classes(self, axes: Axes, pair: tuple[str, str]) -> None:
        groups, names = self._groups(*pair), list(self.classes[pair])
        width = 0.8 / len(groups)
        for k, group in enumerate(groups):
            rows = [self.rows[pair][f"{group}, {name}"] for name in names]
            axes.bar(
                [at + (k - (len(groups) - 1) / 2) * width for at in range(len(names))],
                [row.mean if row.mean is not None else 0.0 for row in rows],
                yerr=[row.std or 0.0 for row in rows],
                width=width * 0.92,
                color=_look(k, group)[0],
                error_kw={"elinewidth": 1.0, "capsize": 2.5},
            )
        axes.set_title("(b) local, by class")
        axes.set_xticks(range(len(names)), names)
        axes.grid(visible=False, axis="x")
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_ylabel(f"local {metric_head(MDI)}")


def _look(k: int, group: str) -> tuple[str, str]:
    """Colour and marker."""
    return (GREY, "v") if group == IRRELEVANT else (_COLOURS[k], _MARKERS[k])


def _line(group: str) -> Any:
    return (0, (4, 2)) if group == IRRELEVANT else "solid"


def _words(group: str, before: str) -> str:
    return f"{before}{group}" if group == IRRELEVANT else group.removeprefix("feature ")


def _said(row: TidyRow, places: int) -> str:
    return f"unknown ({row.note})" if row.mean is None else signed(row.mean, places)


def _cell(row: TidyRow, places: int) -> Cell:
    return Cell(row.note or row.status, is_word=True) if row.mean is None else Cell(mean_text(row, places))
