"""Training rows in the plane of what layers hand on (mddf-fig2b, hidf-fig2): a panel a layer, classes told apart.

``options: {layers: [...], projection: tsne, part: train}``; ``paper_datasets`` names the data sets that the paper
shows. Coordinates are those that the cell saved: t-SNE draws other pictures on other machines.

With ``separability: true`` panels say how well a linear classifier tells test rows apart in the place of S_A / S_E, and
below them is the curve of all layers. This is for cascades that hand on the features of interactions: a layer before
the first interaction hands on nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.projection import PERPLEXITY, scatter_ratio
from cascadeforest.reports.class_points import draw_classes, has_legend
from cascadeforest.reports.derived import COORDINATES, known_metric
from cascadeforest.reports.figure import BLUE, GREY, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import listed, stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, metric_head, number_text, printed_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA, SEPARABILITY, INTERACTIONS = "representations", "separability", "interactions"
PLANE, FEATURES, LINEAR = "intra_to_inter_variance", "intra_to_inter_variance_of_features", "linear_accuracy"
NO_DISTANCE = "all classes have the same mean"
NOTHING = "no interactions found so far"
#: Options and the only value that they have so far, which is the default too.
_ONLY = {"projection": "tsne", "part": "train"}
#: Inches: words in the place of panels, a line of the legend, the head of a row of panels.
_EMPTY_HEIGHT, _LINE, _HEAD = 0.75, 0.2, 0.55
#: The same of the second line of titles and the curve below the panels.
_SECOND_LINE, _CURVE_HEIGHT = 0.15, 1.45
_LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class Maps:
    """One model on one data set.

    Parameters
    ----------
    planes : dict
        Layer to coordinates of shape (n, 2); those that the cascade kept of the layers asked for.
    feature_ratios : dict
        Layer to S_A / S_E before the projection.
    classes : ndarray of shape (n,)
        Class codes.
    rows : ndarray of shape (n,)
        Row numbers of the data set.
    n_layers : int
        Layers of the cascade.
    n_train : int
        Training rows, of which n are drawn.
    linear : ndarray of shape (n_layers + 1,) or None
        Accuracy of the linear classifier at the input and at each layer.
    empty : frozenset of int
        Layers that hand nothing on.
    """

    planes: dict[int, np.ndarray]
    feature_ratios: dict[int, float]
    classes: np.ndarray
    rows: np.ndarray
    n_layers: int
    n_train: int
    linear: np.ndarray | None
    empty: frozenset[int]


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
        If the options ask for what is not there.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.results = results
        self.cells = FirstRepeats(experiment, results)
        place = self.cells.place
        for option, value in _ONLY.items():
            if (given := experiment["options"].get(option, value)) != value:
                raise ConfigError(f"{place}/options/{option} is {given!r}; only '{value}' can be drawn.")
        self.extra = extra_name(EXTRA, experiment["options"], place)
        if self.extra not in experiment["extras"]:
            raise ConfigError(f"{place}/extras are {list(experiment['extras'])}; add '{EXTRA}'.")
        self.is_linear = experiment["options"].get("separability", False)
        if not isinstance(self.is_linear, bool):
            raise ConfigError(f"{place}/options/separability is {self.is_linear!r}; write true or false.")
        if self.is_linear and SEPARABILITY not in experiment["extras"]:
            raise ConfigError(
                f"{place}/options/separability is true, but extras are {list(experiment['extras'])}; add "
                f"'{SEPARABILITY}'."
            )
        #: What panels say of a layer.
        self.metric = LINEAR if self.is_linear else PLANE
        self.layers: Sequence[int] = experiment["options"]["layers"]
        self.maps = {pair: self._maps(*pair) for pair in self.cells.pairs}
        self.facts = {pair: {row.key[2:]: row for row in self._facts(*pair)} for pair in self.cells.pairs}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _maps(self, dataset: str, column: str) -> Maps | None:
        cell = self.cells.cell(dataset, column)
        if cell is None:
            return None
        arrays = self.cells.arrays(dataset, column, self.extra)
        layers = arrays["layers"].tolist()
        return Maps(
            dict(zip(layers, arrays["coordinates"], strict=True)),
            dict(zip(layers, arrays["feature_ratios"].tolist(), strict=True)),
            arrays["classes"],
            arrays["rows"],
            int(arrays["n_layers"]),
            cell["n_train"],
            self.cells.arrays(dataset, column, SEPARABILITY)["accuracy"] if self.is_linear else None,
            self._empty_layers(dataset, column, arrays) if self.is_linear else frozenset(),
        )

    def _empty_layers(self, dataset: str, column: str, arrays: Mapping[str, np.ndarray]) -> frozenset[int]:
        """Layers up to which no interaction was found; without the extra, those whose rows are all at one place."""
        if INTERACTIONS in self.experiment["extras"]:
            found_in = self.cells.arrays(dataset, column, INTERACTIONS)["layer"]
            n_layers = int(arrays["n_layers"])
            first = min(found_in[found_in > 0].tolist(), default=n_layers + 1)
            return frozenset(range(1, first))
        drawn = zip(arrays["layers"].tolist(), arrays["coordinates"], arrays["feature_ratios"], strict=True)
        return frozenset(layer for layer, plane, ratio in drawn if layer and ratio == float("inf") and not plane.any())

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        maps = self.maps[dataset, column]
        if self.is_linear:
            yield from self._linear_facts(dataset, column, maps)
        for metric in (PLANE, FEATURES):
            for layer in self.layers:
                if maps is None:
                    value = None
                elif layer not in maps.planes:
                    value = _no_layer(maps)
                elif layer in maps.empty:
                    value = NOTHING
                elif metric == PLANE:
                    value = scatter_ratio(maps.planes[layer], maps.classes)
                else:
                    value = maps.feature_ratios[layer]
                yield self.cells.row(dataset, column, f"layer {layer}", metric, value, NO_DISTANCE)

    def _linear_facts(self, dataset: str, column: str, maps: Maps | None) -> Iterable[TidyRow]:
        """Of every layer, and of those that are shown but not there."""
        there = set() if maps is None else set(range(len(maps.linear)))
        for layer in sorted(there | set(self.layers)):
            value = None
            if maps is not None:
                value = float(maps.linear[layer]) if layer in there else _no_layer(maps)
            yield self.cells.row(dataset, column, f"layer {layer}", LINEAR, value)

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), maps in self.maps.items():
            if maps is None:
                yield self.cells.row(dataset, column, "", COORDINATES[0], None)
                continue
            if maps.linear is not None:
                for layer, value in enumerate(maps.linear):
                    yield self.cells.row(dataset, column, f"layer {layer}", LINEAR, float(value))
            names = self._class_names(dataset, maps)
            for layer, plane in maps.planes.items():
                if layer in maps.empty:
                    yield self.cells.row(dataset, column, f"layer {layer}", COORDINATES[0], NOTHING)
                    continue
                for row, code, point in zip(maps.rows, maps.classes, plane, strict=True):
                    condition = f"layer {layer}, row {row}, class {names[code]}"
                    for metric, value in zip(COORDINATES, point, strict=True):
                        yield self.cells.row(dataset, column, condition, metric, round(float(value), 2))

    def _class_names(self, dataset: str, maps: Maps) -> dict[int, str]:
        """Code to name, of the classes that are drawn; the code itself where the facts about the data are gone."""
        names = self.results.summaries.get(dataset, {}).get("class_names", [])
        codes = sorted(set(maps.classes.tolist()))
        return {code: names[code] if code < len(names) else str(code) for code in codes}

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        label_heads, lines = without_source(
            (*self.cells.label_heads, ""), [line for pair in self.cells.pairs for line in self._lines(*pair)]
        )
        view = self.cells.view(label_heads, self._heads(), "rows drawn", lines, self._notes())
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _heads(self) -> Iterable[str]:
        if self.is_linear:
            for layer in self.layers:
                yield f"{metric_head(LINEAR)}, {_layer_words(layer)}"
        else:
            for where in ("t-SNE plane", "features"):
                for layer in self.layers:
                    yield f"S_A / S_E, {_layer_words(layer)}, {where}"

    def _lines(self, dataset: str, column: str) -> Iterable[Row]:
        labels = self.cells.labels(dataset, column)
        facts, maps = self.facts[dataset, column], self.maps[dataset, column]
        rows = list(facts.values())
        if self.is_linear:
            rows = [facts[f"layer {layer}", LINEAR] for layer in self.layers]
        if maps is None:
            cells, size = (Cell(self.cells.reason(dataset, column), is_word=True),) * len(rows), ""
        else:
            cells, size = tuple(map(_cell, rows)), f"{len(maps.rows):,} of {maps.n_train:,}"
        yield Row((*labels, REPRODUCED), cells, REPRODUCED, size)
        yield from self.cells.published_line(labels, rows)

    def _notes(self) -> Iterable[str]:
        ratio = (
            "S_A / S_E: scatter of the rows around the means of their classes over the scatter of these means, each "
            "counted as often as it has rows, around the mean of all; in the plane, and before the projection."
        )
        if self.is_linear:
            yield (
                "Linear accuracy: of logistic regression, fitted to what a layer hands on for the training rows "
                "(standardised), on the test rows; the CSV file has it of every layer. A layer hands on the new "
                "features of all interactions found so far; where there are none, the most frequent class is "
                "predicted."
            )
            yield f"{ratio} In the CSV file only."
        else:
            yield f"{ratio} The paper gives no formula; its numbers are those of its own plane."
        yield (
            "Rows that are drawn: training rows, drawn by a seed of their own. t-SNE: scikit-learn's, perplexity "
            f"{PERPLEXITY:g} (less for few rows), started from the two principal components, one seed."
        )

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        layers = listed([_layer_words(layer) for layer in self.layers])
        hands = f"hand{'s' if len(self.layers) == 1 else ''} on"
        if self.is_linear:
            parts = [
                f"Training rows in the t-SNE plane of what {layers} {hands} (layers: the new features of all "
                "interactions found so far); colour and marker: class. Curve: test accuracy of a linear classifier "
                "that learned from what a layer hands on; large dots: the layers above. Hollow: the layer hands "
                "nothing on, the most frequent class is predicted."
            ]
        else:
            parts = [
                f"Training rows in the t-SNE plane of what {layers} {hands} (out of fold); colour and marker: class. "
                "S_A / S_E: scatter within classes over scatter between them, in the plane."
            ]
        if said := self._published_words():
            parts.append(
                f"The paper: {said}." if self.is_linear else f"The paper's caption: {said}; it gives no formula."
            )
        parts.append(stand_in_words(self.experiment))
        return " ".join(filter(None, [*parts, *self._all_words()]))

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _published_words(self) -> str:
        """The paper's numbers in words, with the data set that they are of."""
        sentences = []
        for dataset in self.cells.published.datasets():
            said = []
            for column in self.experiment["columns"]:
                for layer in self.layers:
                    model, condition = self.cells.published.place(column, f"layer {layer}")
                    if number := self.cells.published.number_at(dataset, model, condition, self.metric):
                        said.append(
                            f"{printed_text(self.metric, number.value, None)}{self._unit} at {_layer_words(layer)}"
                        )
            if said:
                sentences.append(f"on {dataset} {listed(said)}")
        return "; ".join(sentences)

    def _all_words(self) -> Iterable[str]:
        for (dataset, column), maps in self.maps.items():
            name = self.cells.name(dataset, column)
            if maps is None:
                yield f"{name}: {self.cells.reason(dataset, column)}."
            else:
                yield f"{name}: {'; '.join(self._words(dataset, column, maps))}."

    def _words(self, dataset: str, column: str, maps: Maps) -> Iterable[str]:
        """Half-sentences about one model on one data set."""
        facts = self.facts[dataset, column]
        rows = {layer: facts[f"layer {layer}", self.metric] for layer in self.layers}
        said = [
            f"{_number(row)}{self._unit} at {_layer_words(layer)}"
            for layer, row in rows.items()
            if row.mean is not None
        ]
        words = f"{len(maps.rows):,} of {maps.n_train:,} training rows, {len(self._class_names(dataset, maps))} classes"
        quantity = "linear accuracy" if self.is_linear else "S_A / S_E"
        yield words + (f", {quantity} {listed(said)}" if said else "")
        if self.is_linear:
            yield _no_layer(maps)
            if len(maps.empty) == maps.n_layers:
                yield "no interactions found"
            elif maps.empty:
                yield f"{NOTHING} at {listed([_layer_words(layer) for layer in sorted(maps.empty)])}"
        yield from dict.fromkeys(row.note for row in rows.values() if row.note)

    @property
    def _unit(self) -> str:
        """What stands behind a number in words."""
        return " %" if known_metric(self.metric).percent else ""

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        pairs = self.cells.pairs
        heights = [self._height(*pair) for pair in pairs]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = picture.subfigures(len(pairs), 1, height_ratios=heights, squeeze=False)
        for (dataset, column), (part,) in zip(pairs, parts, strict=True):
            maps = self.maps[dataset, column]
            size = "" if maps is None else f", {len(maps.rows):,} of {maps.n_train:,} training rows"
            title = f"{self.cells.name(dataset, column)}{size}"
            part.suptitle(title, x=0.012, ha="left", fontsize=9, fontweight="bold")
            if maps is None:
                write_words(part, self.cells.reason(dataset, column))
            elif maps.linear is None:
                self._draw_maps(part, dataset, column, maps)
            else:
                ratios = [self._height(dataset, column) - _CURVE_HEIGHT, _CURVE_HEIGHT]
                above, below = part.subfigures(2, 1, height_ratios=ratios)
                self._draw_maps(above, dataset, column, maps)
                _draw_linear(below.subplots(), maps, self.layers)
        return picture

    def _height(self, dataset: str, column: str) -> float:
        maps = self.maps[dataset, column]
        if maps is None:
            return _EMPTY_HEIGHT
        names = self._class_names(dataset, maps)
        lines = -(-len(names) // _LEGEND_COLUMNS) if has_legend(names) else 0
        curve = _SECOND_LINE + _CURVE_HEIGHT if self.is_linear else 0
        return _HEAD + WIDTH / max(len(self.layers), 2) * 0.92 + _LINE * lines + curve

    def _draw_maps(self, part: Any, dataset: str, column: str, maps: Maps) -> None:
        names = self._class_names(dataset, maps)
        panels = part.subplots(1, len(self.layers), squeeze=False)[0]
        for axes, layer in zip(panels, self.layers, strict=True):
            axes.set_title(self._panel_title(dataset, column, layer))
            if layer not in maps.planes or layer in maps.empty:
                axes.set_axis_off()
                words = NOTHING if layer in maps.empty else _no_layer(maps)
                axes.text(
                    0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic"
                )
                continue
            draw_classes(axes, maps.planes[layer], maps.classes, names)
        drawn = [
            axes for axes, layer in zip(panels, self.layers, strict=True) if layer in maps.planes.keys() - maps.empty
        ]
        if has_legend(names) and drawn:
            part.legend(*drawn[0].get_legend_handles_labels(), loc="outside lower center", ncols=_LEGEND_COLUMNS)

    def _panel_title(self, dataset: str, column: str, layer: int) -> str:
        row = self.facts[dataset, column][f"layer {layer}", self.metric]
        title = _layer_words(layer).capitalize()
        if row.mean is not None:
            # Two lines: three panels beside each other have no room for one.
            title += f"\nlinear accuracy {_number(row)} %" if self.is_linear else f": $S_A/S_E$ = {_number(row)}"
        number = self.cells.published.number(dataset, column, self.metric, f"layer {layer}")
        return title if number is None else f"{title} (published {printed_text(self.metric, number.value, None)})"


def _draw_linear(axes: Axes, maps: Maps, shown: Sequence[int]) -> None:
    """Accuracy of the linear classifier at each layer; large where a map shows it, hollow where it has no features."""
    from matplotlib.ticker import MaxNLocator

    percents = 100 * maps.linear
    layers = range(len(percents))
    axes.plot(layers, percents, color=BLUE, zorder=1)
    for layer in layers:
        axes.plot(
            [layer],
            [percents[layer]],
            color=BLUE,
            marker="o",
            markersize=6.5 if layer in shown else 4,
            markerfacecolor="white" if layer in maps.empty else BLUE,
            clip_on=False,
        )
    # Up to 100 in each of them: pictures of several models compare.
    axes.set_ylim(10 * math.floor((percents.min() - 2) / 10), 103)
    axes.set_xlim(-0.4, max(len(percents) - 1, 1) + 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=13, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.set_xlabel("layer (0: the input)")
    axes.set_ylabel("linear accuracy (%)")


def _layer_words(layer: int) -> str:
    return f"layer {layer}" if layer else "the input"


def _no_layer(maps: Maps) -> str:
    return f"the cascade has {maps.n_layers} layer{'s' if maps.n_layers != 1 else ''}"


def _number(row: TidyRow) -> str:
    return number_text(row.metric, row.mean, None)


def _cell(row: TidyRow) -> Cell:
    return Cell(_number(row)) if row.mean is not None else Cell(row.note or row.status, is_word=True)
