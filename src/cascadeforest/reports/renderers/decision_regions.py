"""What models of two features predict everywhere (ddbf-fig6): a row of panels a model, training and test rows in them.

Regions and points are those of the first repeat; the table has the accuracy on training and test rows over all repeats
too. Regions are saved on a grid, so that each cell of it is drawn as one square. ``options: {features: [...]}`` names
the two features where cells do not save their names.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import budget_note, data_notes, layers_note, listed, published_note, stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    TableView,
    number_text,
    printed_text,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA = "decision_grid"
ACCURACY, SHARE = "accuracy", "region_share"
#: Conditions as published, and in words.
TRAIN, TEST = "train", "test"
PARTS = MappingProxyType({TRAIN: "training rows", TEST: "test rows"})
_DRAWN = "first repeat"
#: Inches that the panels of a model are high, words in their place, the head of a data set, and a line of the legend.
_HEIGHT, _EMPTY_HEIGHT, _HEAD, _LINE = 2.35, 0.6, 0.25, 0.2
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", GREY)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X")
#: Strength of a region's colour where the model is as unsure as can be, and where it is sure.
_PALE, _STRONG = 0.10, 0.34
_LEGEND_COLUMNS = 4
_RING = "predicted as another class"


@dataclass(frozen=True)
class Regions:
    """One model on one data set.

    Parameters
    ----------
    x, y : ndarray of shape (m,), (k,)
        Coordinates of the grid, ascending.
    predicted : ndarray of shape (k, m)
        Class codes.
    confidence : ndarray of shape (k, m)
        Largest probability.
    points : dict
        Part to coordinates of shape (n, 2), classes and predicted classes.
    features : tuple of str
        Names of the two features.
    classes : dict
        Class code to name.
    """

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    confidence: np.ndarray
    points: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
    features: tuple[str, str]
    classes: dict[int, str]

    def share(self, code: int) -> float:
        """Part of the plane that is predicted as a class."""
        return float((self.predicted == code).mean())

    def n_wrong(self, part: str) -> int:
        """Rows that are predicted as another class."""
        _, true, predicted = self.points[part]
        return int((true != predicted).sum())


def accuracy(arrays: Mapping[str, np.ndarray], part: str) -> float:
    """Share of the rows that are predicted right.

    Parameters
    ----------
    arrays : mapping
        What a cell saved under `EXTRA`.
    part : {"train", "test"}
        Which rows.

    Returns
    -------
    float
    """
    return float((arrays[f"predicted_{part}"] == arrays[f"y_{part}"]).mean())


def borders(predicted: np.ndarray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Lines between neighbours of different classes on a grid.

    Parameters
    ----------
    predicted : ndarray of shape (k, m)
        Class codes.

    Returns
    -------
    list of ((float, float), (float, float))
        Ends of the lines, in cells: the cell in column 0 and row 0 reaches from (0, 0) to (1, 1). Pieces that
        continue each other are one line.
    """
    import numpy as np

    found = []
    for differs, is_upright in (
        (predicted[:, 1:] != predicted[:, :-1], True),
        (predicted[1:] != predicted[:-1], False),
    ):
        # Along an upright line the row changes, along a level one the column.
        along = differs.T if is_upright else differs
        for number, line in enumerate(along, start=1):
            steps = np.diff(np.concatenate([[0], line.astype(np.int8), [0]]))
            begins, ends = np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist()
            for begin, end in zip(begins, ends, strict=True):
                found.append(((number, begin), (number, end)) if is_upright else ((begin, number), (end, number)))
    return found


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
        If the experiment's cells do not save the arrays, or the option `features` has not two names.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.cells = FirstRepeats(experiment, results)
        if EXTRA not in experiment["extras"]:
            raise ConfigError(f"{self.cells.place}/extras are {list(experiment['extras'])}; add '{EXTRA}'.")
        self.features = experiment["options"].get("features", ["feature 1", "feature 2"])
        if not (isinstance(self.features, list) and len(self.features) == 2):
            raise ConfigError(
                f"{self.cells.place}/options/features is {self.features!r}; give a list of the two features' names."
            )
        self.regions: dict[tuple[str, str], Regions | None] = {}
        self.facts: dict[tuple[str, str], dict[str, TidyRow]] = {}
        for pair in self.cells.pairs:
            cells = self._all_cells(*pair)
            arrays = [results.arrays(cell, EXTRA) for cell in cells]
            self.regions[pair] = self._regions(pair[0], arrays[0]) if arrays else None
            self.facts[pair] = {row.condition: row for row in self._facts(*pair, arrays)}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _all_cells(self, dataset: str, column: str) -> list[dict[str, Any]]:
        """Cells of all repeats; none if one is not there."""
        if self.cells.cell(dataset, column) is None:
            return []
        preset = self.experiment["columns"][column]
        return self.results.cells(dataset, preset, self.experiment["repeats"][dataset]) or []

    def _regions(self, dataset: str, arrays: Mapping[str, np.ndarray]) -> Regions:
        points = {part: tuple(arrays[f"{name}_{part}"] for name in ("X", "y", "predicted")) for part in PARTS}
        codes = {code for name in arrays if name.startswith(("y_", "predicted")) for code in set(arrays[name].flat)}
        names = self._names(arrays, "class_names", self.results.summaries.get(dataset, {}).get("class_names", []))
        classes = {code: names[code] if code < len(names) else str(code) for code in sorted(map(int, codes))}
        features = self._names(arrays, "feature_names", self.features)
        return Regions(
            *(arrays[name] for name in ("x", "y", "predicted", "confidence")), points, tuple(features), classes
        )

    @staticmethod
    def _names(arrays: Mapping[str, np.ndarray], name: str, otherwise: list[str]) -> list[str]:
        """Names that the cell saved; those of the report where it saved none."""
        return arrays[name].tolist() if name in arrays else otherwise

    def _facts(self, dataset: str, column: str, arrays: list[Mapping[str, np.ndarray]]) -> Iterable[TidyRow]:
        """The numbers of the table: over all repeats, and of the one that is drawn."""
        for part in PARTS:
            values = [accuracy(one, part) for one in arrays]
            row = self.cells.row(dataset, column, part, ACCURACY, statistics.fmean(values) if values else None)
            if values:
                sizes = [len(one[f"y_{part}"]) for one in arrays]
                spread = float(statistics.stdev(values)) if len(values) > 1 else None
                row = replace(row, std=spread, n=len(values), n_test=min(sizes))
            yield row
            drawn = self.cells.row(dataset, column, f"{part}, {_DRAWN}", ACCURACY, values[0] if values else None)
            yield replace(drawn, n_test=len(arrays[0][f"y_{part}"])) if values else drawn

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), regions in self.regions.items():
            if regions is None:
                yield self.cells.row(dataset, column, "", SHARE, None)
                continue
            for code, name in regions.classes.items():
                yield self.cells.row(dataset, column, f"class {name}", SHARE, regions.share(code))
            for part, (plane, true, predicted) in regions.points.items():
                for k, (point, code, own) in enumerate(zip(plane, true, predicted, strict=True), start=1):
                    condition = f"{part}, row {k}, class {regions.classes[int(code)]}"
                    # Features are stored in single precision: more digits would be of no meaning.
                    yield self.cells.row(dataset, column, condition, "feature_1", float(f"{point[0]:.7g}"))
                    yield self.cells.row(dataset, column, condition, "feature_2", float(f"{point[1]:.7g}"))
                    yield self.cells.row(dataset, column, condition, "predicted_right", float(code == own))

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        heads = [f"accuracy on {words} (%)" for words in PARTS.values()]
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=(*self.cells.label_heads, ""),
            heads=tuple(heads),
            size_head="training and test rows",
            rows=tuple(line for pair in self.cells.pairs for line in self._lines(*pair)),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _lines(self, dataset: str, column: str) -> Iterable[Row]:
        labels, facts = self.cells.labels(dataset, column), self.facts[dataset, column]
        whole, drawn = ([facts[f"{part}{which}"] for part in PARTS] for which in ("", f", {_DRAWN}"))
        if self.regions[dataset, column] is None:
            reason = (Cell(self.cells.reason(dataset, column), is_word=True),) * len(PARTS)
            yield Row((*labels, REPRODUCED), reason)
        else:
            sizes = " + ".join(f"{row.n_test:,}" for row in drawn)
            if whole[0].n > 1:
                yield Row((*labels, f"mean of {whole[0].n} repeats"), tuple(map(_cell, whole)), REPRODUCED, sizes)
            yield Row((*labels, "the repeat drawn"), tuple(map(_cell, drawn)), REPRODUCED, sizes)
        numbers = [self.cells.published.number(dataset, column, ACCURACY, part) for part in PARTS]
        if any(numbers):
            printed = [
                Cell(NOT_PRINTED, is_word=True) if number is None else Cell(printed_text(ACCURACY, number.value, None))
                for number in numbers
            ]
            yield Row((*labels, PUBLISHED), tuple(printed), PUBLISHED)

    def _notes(self) -> Iterable[str]:
        if any(row.n and row.n > 1 for facts in self.facts.values() for row in facts.values()):
            yield (
                "Mean ± standard deviation over repeats, each with a split of its own (sample deviation, ddof = 1). "
                "The paper's numbers are those of one split."
            )
            yield "Drawn is the first repeat."
        yield layers_note(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.cells.published)
        yield from data_notes(self.experiment, self.results, self.cells.published)

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "Areas: the class that a model predicts there, the paler the less sure it is; lines: where the class "
            "changes. Points: training rows on the left, test rows on the right, by class; rings: rows that are "
            "predicted as another class."
        ]
        if said := self._published_words():
            parts.append(f"The paper's text: {said}.")
        parts.append(stand_in_words(self.experiment))
        return " ".join(filter(None, [*parts, *self._all_words()]))

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _published_words(self) -> str:
        """The paper's numbers in words, with the data set that they are of."""
        published, sentences = self.cells.published, []
        for dataset in published.datasets():
            said = []
            for column in self.experiment["columns"]:
                numbers = {}
                for part in PARTS:
                    model, condition = published.place(column, part)
                    if number := published.number_at(dataset, model, condition, ACCURACY):
                        numbers[part] = f"{printed_text(ACCURACY, number.value, None)} % of the {PARTS[part]}"
                if numbers:
                    said.append(f"{self.cells.label(column)} predicts {listed(list(numbers.values()))} right")
            if said:
                sentences.append(f"on {dataset} {', '.join(said)}")
        return "; ".join(sentences)

    def _all_words(self) -> Iterable[str]:
        for dataset in self.experiment["datasets"]:
            if words := self._reasons(dataset):
                yield f"{dataset}: {words}."
                continue
            for _, column in self._pairs(dataset):
                name, regions = f"{dataset}, {self.cells.label(column)}", self.regions[dataset, column]
                if regions is None:
                    yield f"{name}: {self.cells.reason(dataset, column)}."
                else:
                    yield f"{name}: {'; '.join(self._words(dataset, column, regions))}."

    def _reasons(self, dataset: str) -> str:
        """Why no model is drawn; empty if one is."""
        pairs = self._pairs(dataset)
        if any(self.regions[pair] for pair in pairs):
            return ""
        return "; ".join(dict.fromkeys(self.cells.reason(*pair) for pair in pairs))

    def _words(self, dataset: str, column: str, regions: Regions) -> Iterable[str]:
        """Half-sentences about one model on one data set."""
        facts = self.facts[dataset, column]
        for part, words in PARTS.items():
            drawn, whole = facts[f"{part}, {_DRAWN}"], facts[part]
            said = (
                f"{number_text(ACCURACY, drawn.mean, None)} % of {drawn.n_test:,} {words} right "
                f"({regions.n_wrong(part):,} wrong)"
            )
            if whole.n > 1:
                said += f", {number_text(ACCURACY, whole.mean, whole.std)} % over {whole.n} repeats"
            yield said
        yield "share of the plane drawn: " + ", ".join(
            f"{name} {100 * regions.share(code):.0f} %" for code, name in regions.classes.items()
        )

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        datasets, columns = self.experiment["datasets"], list(self.experiment["columns"])
        heights = [self._height(dataset) for dataset in datasets]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = picture.subfigures(len(datasets), 1, height_ratios=heights, squeeze=False)
        for dataset, (part,) in zip(datasets, parts, strict=True):
            part.suptitle(dataset, x=0.012, ha="left", fontsize=9, fontweight="bold")
            if words := self._reasons(dataset):
                write_words(part, words)
                continue
            rows = [*self._row_heights(dataset), self._legend_height(dataset)]
            places = part.subfigures(len(rows), 1, height_ratios=rows, squeeze=False)[:, 0]
            entries: dict[str, Any] = {}
            for column, place in zip(columns, places, strict=False):
                regions = self.regions[dataset, column]
                if regions is None:
                    write_words(place, f"{self.cells.label(column)}: {self.cells.reason(dataset, column)}")
                    continue
                for axes, name in zip(place.subplots(1, 2, sharex=True, sharey=True), PARTS, strict=True):
                    axes.set_title(self._panel_title(dataset, column, name))
                    _draw_regions(axes, regions)
                    _draw_points(axes, regions, name)
                    axes.set_xlabel(regions.features[0])
                    if name == TRAIN:
                        axes.set_ylabel(regions.features[1])
                    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                        entries.setdefault(label, handle)
            labels = sorted(entries, key=lambda label: label == _RING)
            handles = [entries[label] for label in labels]
            places[-1].legend(handles, labels, loc="center", ncols=min(_LEGEND_COLUMNS, len(labels)))
        return picture

    def _pairs(self, dataset: str) -> list[tuple[str, str]]:
        return [pair for pair in self.regions if pair[0] == dataset]

    def _height(self, dataset: str) -> float:
        if self._reasons(dataset):
            return _HEAD + _EMPTY_HEIGHT
        return _HEAD + sum(self._row_heights(dataset)) + self._legend_height(dataset)

    def _row_heights(self, dataset: str) -> list[float]:
        return [_EMPTY_HEIGHT if self.regions[pair] is None else _HEIGHT for pair in self._pairs(dataset)]

    def _legend_height(self, dataset: str) -> float:
        """Of all classes and the ring."""
        names = {name for pair in self._pairs(dataset) if (r := self.regions[pair]) for name in r.classes.values()}
        return _LINE * -(-(len(names) + 1) // _LEGEND_COLUMNS) + 0.1

    def _panel_title(self, dataset: str, column: str, part: str) -> str:
        row = self.facts[dataset, column][f"{part}, {_DRAWN}"]
        title = f"{self.cells.label(column)}, {PARTS[part]}: {number_text(ACCURACY, row.mean, None)} %"
        number = self.cells.published.number(dataset, column, ACCURACY, part)
        return title if number is None else f"{title} (published {printed_text(ACCURACY, number.value, None)})"


def _draw_regions(axes: Axes, regions: Regions) -> None:
    """Squares of the grid in the colour of their class, and lines between classes."""
    import numpy as np
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    x, y = (_edges(values) for values in (regions.x, regions.y))
    colours = np.ones((*regions.predicted.shape, 3))
    least = 1 / max(len(regions.classes), 2)
    sure = np.clip((regions.confidence - least) / (1 - least), 0, 1)[:, :, None]
    for code in regions.classes:
        own = regions.predicted == code
        strength = (_PALE + (_STRONG - _PALE) * sure)[own]
        colours[own] = 1 - strength + strength * np.array(to_rgb(_look(code)[0]))
    axes.imshow(
        colours, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", aspect="auto", interpolation="nearest", zorder=0.5
    )
    lines = [[(x[int(a)], y[int(b)]) for a, b in ends] for ends in borders(regions.predicted)]
    axes.add_collection(LineCollection(lines, colors=GREY, linewidths=0.8, zorder=1.5), autolim=False)
    axes.grid(visible=False)


def _draw_points(axes: Axes, regions: Regions, part: str) -> None:
    plane, true, predicted = regions.points[part]
    for code, name in regions.classes.items():
        colour, marker = _look(code)
        axes.plot(
            *plane[true == code].T,
            color=colour,
            marker=marker,
            markersize=4.2,
            markeredgecolor="white",
            markeredgewidth=0.4,
            linestyle="none",
            label=name,
            zorder=3,
        )
    axes.plot(
        *plane[true != predicted].T,
        marker="o",
        markersize=8.5,
        markerfacecolor="none",
        markeredgecolor=BLACK,
        markeredgewidth=1.1,
        linestyle="none",
        label=_RING,
        zorder=4,
    )


def _look(code: int) -> tuple[str, str]:
    """Colour and marker of a class; a colour meets another marker each time."""
    lap, place = divmod(code, len(_COLOURS))
    return _COLOURS[place], _MARKERS[(place + lap) % len(_MARKERS)]


def _edges(values: np.ndarray) -> np.ndarray:
    """Edges of the squares around equally spaced coordinates."""
    import numpy as np

    half = (values[-1] - values[0]) / (len(values) - 1) / 2
    return np.linspace(values[0] - half, values[-1] + half, len(values) + 1)


def _cell(row: TidyRow) -> Cell:
    return Cell(number_text(row.metric, row.mean, row.std))
