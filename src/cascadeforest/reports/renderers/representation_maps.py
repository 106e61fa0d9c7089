"""Training rows in the plane of what layers hand on (mddf-fig2b): a panel for each layer, classes told apart.

``options: {layers: [...], projection: tsne, part: train}``; ``paper_datasets`` names the data sets that the paper
shows. Coordinates are those that the cell saved: t-SNE draws other pictures on other machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.projection import PERPLEXITY, scatter_ratio
from cascadeforest.reports.derived import COORDINATES
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import budget_note, data_notes, listed, published_note, stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, TableView, number_text, printed_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA = "representations"
PLANE, FEATURES = "intra_to_inter_variance", "intra_to_inter_variance_of_features"
NO_DISTANCE = "all classes have the same mean"
#: Options and the only value that they have so far, which is the default too.
_ONLY = {"projection": "tsne", "part": "train"}
#: Colour and marker change together, and a colour meets another marker each time: readable in grey.
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", GREY)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
#: Names of at most so many letters are written into the panels, others into a legend of at most so many classes.
_SHORT, _N_LISTED = 3, 20
#: Inches: words in the place of panels, a line of the legend, the head of a row of panels.
_EMPTY_HEIGHT, _LINE, _HEAD = 0.75, 0.2, 0.55
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
    """

    planes: dict[int, np.ndarray]
    feature_ratios: dict[int, float]
    classes: np.ndarray
    rows: np.ndarray
    n_layers: int
    n_train: int


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
        place = f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"
        for option, value in _ONLY.items():
            if (given := experiment["options"].get(option, value)) != value:
                raise ConfigError(f"{place}/options/{option} is {given!r}; only '{value}' can be drawn.")
        self.extra = extra_name(EXTRA, experiment["options"], place)
        if self.extra not in experiment["extras"]:
            raise ConfigError(f"{place}/extras are {list(experiment['extras'])}; add '{EXTRA}'.")
        self.layers: Sequence[int] = experiment["options"]["layers"]
        self.cells = FirstRepeats(experiment, results)
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
        )

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        maps = self.maps[dataset, column]
        for metric in (PLANE, FEATURES):
            for layer in self.layers:
                if maps is None:
                    value = None
                elif layer not in maps.planes:
                    value = _no_layer(maps)
                elif metric == PLANE:
                    value = scatter_ratio(maps.planes[layer], maps.classes)
                else:
                    value = maps.feature_ratios[layer]
                yield self.cells.row(dataset, column, f"layer {layer}", metric, value, NO_DISTANCE)

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), maps in self.maps.items():
            if maps is None:
                yield self.cells.row(dataset, column, "", COORDINATES[0], None)
                continue
            names = self._class_names(dataset, maps)
            for layer, plane in maps.planes.items():
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
        heads = ["data set", *(["model"] if self.cells.has_models else []), ""]
        label_heads, lines = without_source(
            tuple(heads), [line for pair in self.cells.pairs for line in self._lines(*pair)]
        )
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(
                f"S_A / S_E, {_layer_words(layer)}, {where}"
                for where in ("t-SNE plane", "features")
                for layer in self.layers
            ),
            size_head="rows drawn",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _lines(self, dataset: str, column: str) -> Iterable[Row]:
        labels = (dataset, *([self.cells.label(column)] if self.cells.has_models else []))
        rows, maps = list(self.facts[dataset, column].values()), self.maps[dataset, column]
        if maps is None:
            cells, size = (Cell(self.cells.reason(dataset, column), is_word=True),) * len(rows), ""
        else:
            cells, size = tuple(map(_cell, rows)), f"{len(maps.rows):,} of {maps.n_train:,}"
        yield Row((*labels, REPRODUCED), cells, REPRODUCED, size)
        yield from self.cells.published_line(labels, rows)

    def _notes(self) -> Iterable[str]:
        yield (
            "S_A / S_E: scatter of the rows around the means of their classes over the scatter of these means, each "
            "counted as often as it has rows, around the mean of all; in the plane, and before the projection. The "
            "paper gives no formula; its numbers are those of its own plane."
        )
        yield (
            "Rows that are drawn: training rows, drawn by a seed of their own. t-SNE: scikit-learn's, perplexity "
            f"{PERPLEXITY:g} (less for few rows), started from the two principal components, one seed."
        )
        if any(bound > 1 for bound in self.experiment["repeats"].values()):
            yield "Drawn and shown is the first repeat."
        yield stand_in_words(self.experiment)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.cells.published)
        yield from data_notes(self.experiment, self.results, self.cells.published)

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        layers = listed([_layer_words(layer) for layer in self.layers])
        parts = [
            f"Training rows in the t-SNE plane of what {layers} hand{'s' if len(self.layers) == 1 else ''} on "
            "(out of fold); colour and marker: class. S_A / S_E: scatter within classes over scatter between them, in "
            "the plane."
        ]
        if said := self._published_words():
            parts.append(f"The paper's caption: {said}; it gives no formula.")
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
                    if number := self.cells.published.number_at(dataset, model, condition, PLANE):
                        said.append(f"{printed_text(PLANE, number.value, None)} at {_layer_words(layer)}")
            if said:
                sentences.append(f"on {dataset} {listed(said)}")
        return "; ".join(sentences)

    def _all_words(self) -> Iterable[str]:
        for (dataset, column), maps in self.maps.items():
            label = f", {self.cells.label(column)}" if self.cells.has_models else ""
            if maps is None:
                yield f"{dataset}{label}: {self.cells.reason(dataset, column)}."
                continue
            rows = {layer: self.facts[dataset, column][f"layer {layer}", PLANE] for layer in self.layers}
            said = [f"{_number(row)} at {_layer_words(layer)}" for layer, row in rows.items() if row.mean is not None]
            size = f"{len(maps.rows):,} of {maps.n_train:,} training rows"
            words = f"{size}, {len(self._class_names(dataset, maps))} classes"
            words += f", S_A / S_E {listed(said)}" if said else ""
            yield (
                "; ".join([f"{dataset}{label}: {words}", *dict.fromkeys(r.note for r in rows.values() if r.note)]) + "."
            )

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        pairs = self.cells.pairs
        heights = [self._height(*pair) for pair in pairs]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = picture.subfigures(len(pairs), 1, height_ratios=heights, squeeze=False)
        for (dataset, column), (part,) in zip(pairs, parts, strict=True):
            maps = self.maps[dataset, column]
            label = f", {self.cells.label(column)}" if self.cells.has_models else ""
            size = "" if maps is None else f", {len(maps.rows):,} of {maps.n_train:,} training rows"
            part.suptitle(f"{dataset}{label}{size}", x=0.012, ha="left", fontsize=9, fontweight="bold")
            if maps is None:
                write_words(part, self.cells.reason(dataset, column))
            else:
                self._draw_maps(part, dataset, column, maps)
        return picture

    def _height(self, dataset: str, column: str) -> float:
        maps = self.maps[dataset, column]
        if maps is None:
            return _EMPTY_HEIGHT
        names = self._class_names(dataset, maps)
        lines = -(-len(names) // _LEGEND_COLUMNS) if _has_legend(names) else 0
        return _HEAD + WIDTH / max(len(self.layers), 2) * 0.92 + _LINE * lines

    def _draw_maps(self, part: Any, dataset: str, column: str, maps: Maps) -> None:
        names = self._class_names(dataset, maps)
        panels = part.subplots(1, len(self.layers), squeeze=False)[0]
        for axes, layer in zip(panels, self.layers, strict=True):
            axes.set_title(self._panel_title(dataset, column, layer))
            if layer not in maps.planes:
                axes.set_axis_off()
                words = _no_layer(maps)
                axes.text(
                    0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic"
                )
                continue
            _draw_classes(axes, maps.planes[layer], maps.classes, names)
        if _has_legend(names) and maps.planes:
            drawn = panels[self.layers.index(next(iter(maps.planes)))]
            part.legend(*drawn.get_legend_handles_labels(), loc="outside lower center", ncols=_LEGEND_COLUMNS)

    def _panel_title(self, dataset: str, column: str, layer: int) -> str:
        row = self.facts[dataset, column][f"layer {layer}", PLANE]
        title = _layer_words(layer).capitalize()
        if row.mean is not None:
            title += f": $S_A/S_E$ = {_number(row)}"
        number = self.cells.published.number(dataset, column, PLANE, f"layer {layer}")
        return title if number is None else f"{title} (published {printed_text(PLANE, number.value, None)})"


def _draw_classes(axes: Axes, plane: np.ndarray, classes: np.ndarray, names: Mapping[int, str]) -> None:
    """Points of each class; short names stand above the point next to the middle of the class."""
    import numpy as np
    from matplotlib.patheffects import withStroke

    for code, name in names.items():
        points = plane[classes == code]
        lap, place = divmod(code, len(_COLOURS))
        axes.plot(
            *points.T,
            color=_COLOURS[place],
            marker=_MARKERS[(place + lap) % len(_MARKERS)],
            markersize=3,
            markeredgewidth=0,
            alpha=0.75,
            linestyle="none",
            label=name,
        )
        if not _has_legend(names) and _are_short(names):
            middle = np.median(points, axis=0)
            nearest = points[np.argmin(np.sum((points - middle) ** 2, axis=1))]
            axes.annotate(
                name,
                nearest,
                (0, 5),  # above: small clusters would be hidden
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                fontweight="bold",
                color=BLACK,
                path_effects=[withStroke(linewidth=2, foreground="white")],
            )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("t-SNE 1")
    axes.set_ylabel("t-SNE 2")


def _are_short(names: Mapping[int, str]) -> bool:
    return max(map(len, names.values())) <= _SHORT


def _has_legend(names: Mapping[int, str]) -> bool:
    return not _are_short(names) and len(names) <= _N_LISTED


def _layer_words(layer: int) -> str:
    return f"layer {layer}" if layer else "the input"


def _no_layer(maps: Maps) -> str:
    return f"the cascade has {maps.n_layers} layer{'s' if maps.n_layers > 1 else ''}"


def _number(row: TidyRow) -> str:
    return number_text(row.metric, row.mean, None)


def _cell(row: TidyRow) -> Cell:
    return Cell(_number(row)) if row.mean is not None else Cell(row.note or row.status, is_word=True)
