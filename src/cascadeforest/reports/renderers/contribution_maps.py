"""Predictions and contributions of two features as maps, at the first and at the last layer (interp-fig3, interp-fig4).

Test rows are a grid in the first two features, so that each is drawn as one square. Of a regression the target is shown
as a map too, of classes the training rows as points; beside it the error by layer, of all models. Maps are those of the
first repeat, errors and sizes of contributions means over repeats. ``options: {layers: [first, last]}`` says which
layers are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.derived import known_metric
from cascadeforest.reports.every_repeat import (
    HALF_OF_THE_RUNS,
    MEANS,
    EveryRepeat,
    by_layer,
    common_places,
    mean_text,
    signed,
)
from cascadeforest.reports.figure import BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.notes import stand_in_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.stacked import stacked, title
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, number_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA, SCORES = "contributions", "layer_scores"
FIRST, LAST = "first", "last"
ERROR_RATE, RMSE = "error_rate", "rmse"
PREDICTION, CONTRIBUTION, SIZE, TARGET = "prediction", "contribution", "contribution_size", "target"
HELD_OUT, TEST = "held-out training rows", "test rows"
#: The CSV has means over so many by so many squares of a map; single points would be tens of thousands of lines.
N_SQUARES = 5
N_FEATURES = 2
#: Inches: a map, the upper panels, colour bars, head, words in place of panels.
_MAP, _UPPER, _BARS, _HEAD, _EMPTY_HEIGHT = 2.2, 2.2, 0.8, 0.3, 0.7
#: A map of the classes' figure: six stand beside each other.
_SMALL_MAP = 1.05
#: Inches beside the picture, for letters that are wider in the file than in the layout, and between panels.
_MARGIN, _GAP = 0.1, 0.035
_COLOURS, _MARKERS = (BLUE, ORANGE, GREEN, PURPLE), ("o", "^", "s", "D")
#: Maps of values, and of what is centred at 0; both for colour-blind readers, both even in brightness.
_SEQUENTIAL, _DIVERGING = "cividis", "RdBu_r"
#: What a class's probability is decreased by.
_DECREASE = "#4D4D4D"


@dataclass(frozen=True)
class Maps:
    """One model on one data set, on a grid; arrays have x2 along their first axis and x1 along their second.

    Parameters
    ----------
    x, y : ndarray of shape (m,), (k,)
        The grid's values of the two features, ascending.
    target : ndarray of shape (k, m)
        True targets, or class codes.
    layers : dict
        "first" or "last" to the number of the layer.
    predictions : dict
        "first" or "last" to maps of shape (n_outputs, k, m).
    contributions : dict
        "first" or "last" to maps of shape (2, n_outputs, k, m).
    others : dict
        "first" or "last" to maps of what all other features add, shape (n_outputs, k, m); zeros if there are none.
    X_train, y_train : ndarray
        Training rows, of the two features.
    """

    x: np.ndarray
    y: np.ndarray
    target: np.ndarray
    layers: dict[str, int]
    predictions: dict[str, np.ndarray]
    contributions: dict[str, np.ndarray]
    others: dict[str, np.ndarray]
    X_train: np.ndarray
    y_train: np.ndarray

    @property
    def n_outputs(self) -> int:
        """Classes; 1 in a regression."""
        return len(next(iter(self.predictions.values())))

    @property
    def metric(self) -> str:
        """The error."""
        return RMSE if self.n_outputs == 1 else ERROR_RATE

    @property
    def largest(self) -> float:
        """Largest size of a contribution."""
        return max(float(abs(one).max()) for one in self.contributions.values())


def grid_places(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Find the grid that rows are on.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Rows.

    Returns
    -------
    tuple of three ndarrays, or None
        Values of the first and of the second feature, ascending, and for each place of the grid (second feature along
        the first axis) the number of its row. None if places lack a row, or have several.
    """
    import numpy as np

    (x, column), (y, line) = (np.unique(X[:, k], return_inverse=True) for k in range(2))
    rows = np.full((len(y), len(x)), -1)
    rows[line, column] = np.arange(len(X))
    return (x, y, rows) if rows.size == len(X) and (rows >= 0).all() else None


def square_means(values: np.ndarray, n: int = N_SQUARES) -> np.ndarray:
    """Means over n by n squares of a map, as equal as can be.

    Parameters
    ----------
    values : ndarray of shape (k, m)
        The map.
    n : int
        Squares along a side; fewer where the map has fewer lines.

    Returns
    -------
    ndarray of shape (min(n, k), min(n, m))
    """
    import numpy as np

    lines = np.array_split(np.arange(values.shape[0]), min(n, values.shape[0]))
    columns = np.array_split(np.arange(values.shape[1]), min(n, values.shape[1]))
    return np.array([[values[np.ix_(i, j)].astype(np.float64).mean() for j in columns] for i in lines])


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its option `layers` says which are drawn.
    results : Results
        Its cells and the arrays that they saved under `EXTRA` and `SCORES`.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the cells do not save these arrays, `layers` has other words, or test rows are no grid in two features.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.all = EveryRepeat(experiment, results, [EXTRA, SCORES])
        self.cells = self.all.first
        self.layers = self._checked_layers()
        self.pairs = self.cells.pairs
        self.maps = {pair: self._maps(*pair) for pair in self.pairs}
        self.errors = {pair: self._errors(*pair) for pair in self.pairs}
        self.facts = {pair: {row.key[2:]: row for row in self._facts(*pair)} for pair in self.pairs}

    def _checked_layers(self) -> list[str]:
        layers = self.experiment["options"].get("layers")
        if not isinstance(layers, list) or not layers or any(layer not in (FIRST, LAST) for layer in layers):
            raise ConfigError(
                f"{self.cells.place}/options/layers is {layers!r}; give a list of 'first' and 'last', or one of them."
            )
        return layers

    # Numbers ------------------------------------------------------------------------------------------------------

    def _maps(self, dataset: str, column: str) -> Maps | None:
        if self.cells.cell(dataset, column) is None:
            return None
        arrays = self.cells.arrays(dataset, column, EXTRA)
        found = grid_places(arrays["X_test"][:, :N_FEATURES]) if arrays["X_test"].shape[1] == N_FEATURES else None
        if found is None:
            raise ConfigError(
                f"{self.cells.place}/datasets has {dataset}, whose test rows are no grid in its first two features "
                "(all others being irrelevant); the renderer 'contribution_maps' draws a square for each of its points."
            )
        x, y, rows = found
        numbers = {FIRST: 0, LAST: len(arrays["layers"]) - 1}
        parts = {layer: arrays["contributions"][numbers[layer]] for layer in self.layers}
        contributions = {layer: part[rows].transpose(2, 3, 0, 1) for layer, part in parts.items()}
        predictions = {layer: arrays["predictions"][numbers[layer]][rows].transpose(2, 0, 1) for layer in self.layers}
        return Maps(
            x,
            y,
            arrays["y_test"][rows],
            {layer: int(arrays["layers"][numbers[layer]]) for layer in self.layers},
            predictions,
            {layer: one[:N_FEATURES] for layer, one in contributions.items()},
            {layer: one[N_FEATURES:].sum(axis=0) for layer, one in contributions.items()},
            arrays["X_train"],
            arrays["y_train"],
        )

    def _errors(self, dataset: str, column: str) -> dict[str, list[np.ndarray]]:
        """`HELD_OUT` and `TEST` to the errors by layer of each run."""
        maps, saved = self.maps[dataset, column], self.all.arrays(dataset, column, SCORES)
        if maps is None:
            return {}
        parts = {HELD_OUT: [one["train"] for one in saved], TEST: [one["test"] for one in saved]}
        return parts if maps.metric == RMSE else {part: [1 - one for one in runs] for part, runs in parts.items()}

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        """The numbers of the table: means over repeats, each run at its own last layer."""
        maps = self.maps[dataset, column]
        if maps is None:
            yield self.cells.row(dataset, column, "", PREDICTION, None)
            return
        runs = self.all.arrays(dataset, column, EXTRA)
        for layer in self.layers:
            at = 0 if layer == FIRST else -1
            for part, errors in self.errors[dataset, column].items():
                values = [one[run["layers"][at] - 1] for one, run in zip(errors, runs, strict=True)]
                yield self._mean_row(dataset, column, f"{part}, {layer} layer", maps.metric, values)
            sizes = [self._sizes(run["contributions"][at]) for run in runs]
            for k, (name, _) in enumerate(self._columns(dataset, column, layer)):
                yield self._mean_row(dataset, column, f"{layer} layer, {name}", SIZE, [one[k] for one in sizes])

    def _sizes(self, contributions: np.ndarray) -> list[float]:
        """Mean size of the contributions of each feature, and of all others together."""
        parts = [contributions[:, k] for k in range(N_FEATURES)]
        return [_mean_size(one) for one in (*parts, contributions[:, N_FEATURES:].sum(axis=1))]

    def _mean_row(self, dataset: str, column: str, condition: str, metric: str, values: Iterable[Any]) -> TidyRow:
        return self.all.row(dataset, column, condition, metric, [float(value) for value in values])

    def _numbers(self, pair: tuple[str, str], layer: str) -> str:
        """Numbers of the layers of all runs that are the first, or the last."""
        found = {int(run["layers"][0 if layer == FIRST else -1]) for run in self.all.arrays(*pair, EXTRA)}
        return " to ".join(map(str, dict.fromkeys((min(found), max(found)))))

    def _columns(self, dataset: str, column: str, layer: str) -> Iterable[tuple[str, np.ndarray]]:
        """Maps of the contributions by feature, of shape (n_outputs, k, m), and of all others together."""
        maps = self.maps[dataset, column]
        for name, one in zip(self._features(dataset, column), maps.contributions[layer], strict=True):
            yield f"feature {name}", one
        if self._n_others(dataset, column):
            yield "other features", maps.others[layer]

    def _n_others(self, dataset: str, column: str) -> int:
        return int(self.cells.arrays(dataset, column, EXTRA)["n_features"]) - N_FEATURES

    def _features(self, dataset: str, column: str) -> list[str]:
        names = self.all.feature_names(dataset, N_FEATURES + self._n_others(dataset, column))
        return names[:N_FEATURES]

    def _row(self, dataset: str, column: str, condition: str, metric: str, value: Any) -> TidyRow:
        return self.cells.row(dataset, column, condition, metric, float(value))

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), maps in self.maps.items():
            if maps is None:
                yield self.cells.row(dataset, column, "", PREDICTION, None)
                continue
            for part in (HELD_OUT, TEST):
                yield from self._curve((dataset, column), part)
            if maps.n_outputs == 1:
                yield from self._map_rows(dataset, column, "", TARGET, maps.target)
            for layer in self.layers:
                for c, output in enumerate(self._outputs(dataset, maps)):
                    where = ", ".join(filter(None, [f"{layer} layer", output]))
                    yield from self._map_rows(dataset, column, where, PREDICTION, maps.predictions[layer][c])
                    for name, one in self._columns(dataset, column, layer):
                        yield from self._map_rows(dataset, column, f"{where}, {name}", CONTRIBUTION, one[c])

    def _curve(self, pair: tuple[str, str], part: str) -> list[TidyRow]:
        """Mean errors by layer."""
        layers = enumerate(by_layer(self.errors[pair][part]), start=1)
        return [self._mean_row(*pair, f"{part}, layer {k}", self.maps[pair].metric, values) for k, values in layers]

    def _map_rows(self, dataset: str, column: str, where: str, metric: str, values: np.ndarray) -> Iterable[TidyRow]:
        for i, line in enumerate(square_means(values), start=1):
            for j, mean in enumerate(line, start=1):
                # Contributions are stored in single precision: more digits would be of no meaning.
                condition = ", ".join(filter(None, [where, f"square {j} {i}"]))
                yield self._row(dataset, column, condition, metric, f"{mean:.6g}")

    def _outputs(self, dataset: str, maps: Maps) -> list[str]:
        """Names of the classes; of a regression one of no name."""
        if maps.n_outputs == 1:
            return [""]
        names = self.results.summaries.get(dataset, {}).get("class_names") or list(map(str, range(maps.n_outputs)))
        return [f"class {name}" for name in names]

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        drawn = [pair for pair in self.pairs if self.maps[pair] is not None]
        metrics = {self.maps[pair].metric for pair in drawn}
        columns = {tuple(name for name, _ in self._columns(*pair, self.layers[0])) for pair in drawn}
        if len(metrics) > 1 or len(columns) > 1:
            raise ConfigError(
                f"{self.cells.place}/datasets has {', '.join(self.experiment['datasets'])}, which have other errors or "
                "other features; give each a figure of its own."
            )
        names = [f"mean size of the contribution of {_words(name)}" for name in next(iter(columns), ())]
        error = _error_head(next(iter(metrics), RMSE))
        heads = [f"{error}, held-out training rows", f"{error}, test rows", *names]
        label_heads, lines = without_source(
            (*self.cells.label_heads, "layer", ""),
            [line for pair in self.pairs for line in self._lines(*pair, len(heads))],
        )
        view = self.all.view(label_heads, heads, "runs × test rows", lines, self._notes())
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for facts in self.facts.values() for row in facts.values()), view, figure)

    def _lines(self, dataset: str, column: str, n_heads: int) -> Iterable[Row]:
        labels, maps, facts = (
            self.cells.labels(dataset, column),
            self.maps[dataset, column],
            self.facts[dataset, column],
        )
        if maps is None:
            yield Row((*labels, "", REPRODUCED), (Cell(self.cells.reason(dataset, column), is_word=True),) * n_heads)
            return
        places = common_places(row.mean for row in facts.values() if row.metric == SIZE)
        for layer in self.layers:
            cells = [
                Cell(number_text(row.metric, row.mean, row.std))
                for part in (HELD_OUT, TEST)
                if (row := facts[f"{part}, {layer} layer", maps.metric])
            ]
            for name, _ in self._columns(dataset, column, layer):
                cells.append(Cell(mean_text(facts[f"{layer} layer, {name}", SIZE], places)))
            label = f"{layer} ({self._numbers((dataset, column), layer)})"
            yield Row((*labels, label, REPRODUCED), tuple(cells), REPRODUCED, self.all.size(dataset, column))

    def _notes(self) -> Iterable[str]:
        yield (
            "Held-out training rows: predicted by models that did not learn from them. Mean size of a contribution: "
            "mean absolute value over test rows, and classes. First and last layer of each run, with their numbers."
        )
        yield MEANS
        yield (
            f"The figure's CSV has each map, of the first repeat, as means over {N_SQUARES} × {N_SQUARES} squares, "
            "numbered along the first and then along the second feature."
        )

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        drawn = [maps for maps in self.maps.values() if maps is not None]
        parts = []
        if any(maps.n_outputs == 1 for maps in drawn):
            parts.append(
                "(a) The target. (b) Error as if the cascade ended at each layer. Below: prediction and contributions "
                "of the two features at the layers named, first repeat; bias and contributions add up to the "
                "prediction. Red: a feature increases the prediction; blue: it decreases it."
            )
        if any(maps.n_outputs > 1 for maps in drawn):
            parts.append(
                "(a) Training rows in the two relevant features. (b) Error as if the cascade ended at each layer. "
                "Below: a row a class, its probability and the contributions of the two features at the layers named, "
                "first repeat. "
                "The class's colour: a feature increases its probability; grey: it decreases it."
            )
        if any(len(errors[TEST]) > 1 for errors in self.errors.values() if errors):
            parts.append(f"Errors: mean ± standard deviation over runs. {HALF_OF_THE_RUNS}")
        if any(self._end(pair) for pair in self.pairs):
            parts.append("Dashed vertical line: the layer that the cascade ends with.")
        among = " and model" if self.cells.has_models else ""
        parts.append(f"Maps of the same kind have the same colour scale, whatever the layer{among}.")
        return " ".join(filter(None, [*parts, stand_in_words(self.experiment), *self._all_words()]))

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for pair in self.pairs:
            yield f"{self.cells.name(*pair)}: {self._pair_words(pair)}."

    def _pair_words(self, pair: tuple[str, str]) -> str:
        maps, facts = self.maps[pair], self.facts[pair]
        if maps is None:
            return self.cells.reason(*pair)
        metric = maps.metric
        unit = " %" if known_metric(metric).percent else ""
        places = common_places(row.mean for row in facts.values() if row.metric == SIZE)
        said = []
        for layer in self.layers:
            parts = (HELD_OUT, TEST)
            errors = [number_text(metric, facts[f"{part}, {layer} layer", metric].mean, None) for part in parts]
            sizes = [
                f"{_words(name)} {signed(facts[f'{layer} layer, {name}', SIZE].mean, places)}"
                for name, _ in self._columns(*pair, layer)
            ]
            said.append(
                f"{layer} layer ({self._numbers(pair, layer)}): error {errors[0]}{unit} of held-out training rows and "
                f"{errors[1]}{unit} of test rows, mean size of the contributions of {', '.join(sizes)}"
            )
        return "; ".join(said)

    # Picture ------------------------------------------------------------------------------------------------------

    def _end(self, pair: tuple[str, str]) -> int | None:
        """The layer that the cascade ends with, if there is one run, which went on growing."""
        errors = self.errors[pair]
        if not errors or len(errors[TEST]) > 1 or len(errors[TEST][0]) == len(errors[HELD_OUT][0]):
            return None
        return len(errors[TEST][0])

    def _draw(self) -> MatplotlibFigure:
        datasets = self.experiment["datasets"]
        heights = [sum(self._heights(dataset)) for dataset in datasets]
        picture, parts = stacked(heights)
        # Maps fill the width: the room for letters that are wider in the file is at the edges only.
        edge = _MARGIN / WIDTH
        picture.get_layout_engine().set(w_pad=_GAP, rect=(edge, 0, 1 - 2 * edge, 1))
        for dataset, part in zip(datasets, parts, strict=True):
            self._draw_dataset(dataset, part)
        return picture

    def _of(self, dataset: str) -> dict[tuple[str, str], Maps | None]:
        return {pair: maps for pair, maps in self.maps.items() if pair[0] == dataset}

    def _heights(self, dataset: str) -> list[float]:
        """Inches of what all models share, and of each model."""
        found = self._of(dataset)
        shared = [_HEAD + _UPPER] if any(maps is not None for maps in found.values()) else []
        return [*shared, *map(self._height, found.values())]

    def _height(self, maps: Maps | None) -> float:
        if maps is None:
            return _EMPTY_HEIGHT
        head = _HEAD if self.cells.has_models else 0.0
        rows = _MAP * len(self.layers) if maps.n_outputs == 1 else _SMALL_MAP * maps.n_outputs + 0.45
        return head + rows + _BARS

    def _draw_dataset(self, dataset: str, part: Any) -> None:
        """What all models share, then the maps of each."""
        found, heights = self._of(dataset), self._heights(dataset)
        drawn = {pair: maps for pair, maps in found.items() if maps is not None}
        if not drawn and len(found) == 1:
            write_words(part, f"{self.cells.name(*next(iter(found)))}: {self.cells.reason(*next(iter(found)))}")
            return
        parts = list(part.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        if drawn:
            upper, (pair, maps) = parts.pop(0), next(iter(drawn.items()))
            title(upper, dataset)
            left, right = upper.subplots(1, 2, width_ratios=[1, 1.5])
            self._draw_errors(right, list(drawn))
            if maps.n_outputs == 1:
                _draw_map(left, maps, maps.target, **self._values(dataset))
                left.set_title("(a) target")
                _name_axes(left, self._features(*pair))
            else:
                self._draw_training_rows(left, pair, maps)
        letter = ord("c")
        for (pair, maps), lower in zip(found.items(), parts, strict=True):
            if maps is None:
                write_words(lower, f"{self.cells.name(*pair)}: {self.cells.reason(*pair)}")
                continue
            if self.cells.has_models:
                title(lower, f"{self.cells.label(pair[1])}, first of {_runs(len(self.errors[pair][TEST]))}")
            draw = self._draw_regression if maps.n_outputs == 1 else self._draw_classes
            draw(pair, maps, lower, [chr(letter + k) for k in range(len(self.layers))])
            letter += len(self.layers)

    def _draw_errors(self, axes: Axes, pairs: list[tuple[str, str]]) -> None:
        from matplotlib.ticker import MaxNLocator

        metric = self.maps[pairs[0]].metric
        scale = 100 if known_metric(metric).percent else 1
        tops = []
        for k, pair in enumerate(pairs):
            for part, marker, line in ((HELD_OUT, "o", (0, (4, 2))), (TEST, "^", "solid")):
                rows = self._curve(pair, part)
                # One model: the two kinds of rows have colours; several: the models do.
                colour = _COLOURS[k % len(_COLOURS)] if len(pairs) > 1 else (BLUE if part == HELD_OUT else ORANGE)
                prefix = f"{self.cells.label(pair[1])}, " if self.cells.has_models else ""
                spreads = [scale * (row.std or 0.0) for row in rows]
                axes.errorbar(
                    range(1, len(rows) + 1), [scale * row.mean for row in rows], yerr=spreads if any(spreads) else None,
                    color=colour, marker=marker, linestyle=line, capsize=2.0, elinewidth=0.9,
                    markerfacecolor="white" if part == HELD_OUT else None, label=f"{prefix}{part}",
                )  # fmt: skip
                tops += [scale * row.mean + spread for row, spread in zip(rows, spreads, strict=True)]
            if end := self._end(pair):
                colour = _COLOURS[k % len(_COLOURS)] if len(pairs) > 1 else GREY
                axes.axvline(end, color=colour, linewidth=0.9, linestyle=(0, (2, 2)))
        grown = max(len(self._curve(pair, HELD_OUT)) for pair in pairs)
        axes.set_title(f"(b) {_error_head(metric)} by layer")
        axes.set_xlabel("layer")
        axes.set_xlim(0.5, max(grown, 2) + 0.5)
        # Names of several models stand above the curves.
        axes.set_ylim(0, (1.6 if len(pairs) > 1 else 1.08) * max(tops) or 1)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
        axes.legend(loc="upper right")

    def _values(self, dataset: str) -> dict[str, Any]:
        """Colours of the target and of predictions: the same for all layers and models."""
        drawn = [maps for maps in self._of(dataset).values() if maps is not None]
        everything = [one for maps in drawn for one in (maps.target, *maps.predictions.values())]
        ends = min(float(one.min()) for one in everything), max(float(one.max()) for one in everything)
        return {"cmap": _SEQUENTIAL, "vmin": ends[0], "vmax": ends[1]}

    def _largest(self, dataset: str) -> float:
        """Largest size of a contribution, by which all maps of contributions are scaled."""
        return max(maps.largest for maps in self._of(dataset).values() if maps is not None)

    def _draw_regression(self, pair: tuple[str, str], maps: Maps, lower: Any, letters: list[str]) -> None:
        from matplotlib.ticker import MaxNLocator

        names, largest = self._features(*pair), self._largest(pair[0])
        values = self._values(pair[0])
        changes = {"cmap": _DIVERGING, "vmin": -largest, "vmax": largest}
        panels = lower.subplots(len(self.layers), 1 + N_FEATURES, sharex=True, sharey=True, squeeze=False)
        for k, (layer, line) in enumerate(zip(self.layers, panels, strict=True)):
            drawn = [_draw_map(line[0], maps, maps.predictions[layer][0], **values)]
            line[0].set_title(f"({letters[k]}) {layer} layer ({maps.layers[layer]}): prediction")
            for f, axes in enumerate(line[1:]):
                drawn.append(_draw_map(axes, maps, maps.contributions[layer][f, 0], **changes))
                axes.set_title(f"contribution of {names[f]}")
            line[0].set_ylabel(names[1])
            if k == len(self.layers) - 1:
                for axes in line:
                    axes.set_xlabel(names[0])
        for image, under, shrink, aspect, label in (
            (drawn[0], panels[:, 0], 0.9, 25, "target, prediction"),
            (drawn[1], panels[:, 1:], 0.6, 35, CONTRIBUTION),
        ):
            look = {"location": "bottom", "shrink": shrink, "aspect": aspect, "ticks": MaxNLocator(nbins=5)}
            lower.colorbar(image, ax=under, label=label, **look)

    def _draw_training_rows(self, axes: Axes, pair: tuple[str, str], maps: Maps) -> None:
        for c, name in enumerate(self._outputs(pair[0], maps)):
            colour, marker = _look(c)
            own = maps.y_train == c
            axes.plot(
                *maps.X_train[own].T, color=colour, marker=marker, markersize=3.4, markeredgewidth=0, linestyle="none",
                label=name,
            )  # fmt: skip
        axes.set_title("(a) training rows")
        axes.grid(visible=False)
        axes.set_aspect("equal")
        _name_axes(axes, self._features(*pair))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2)

    def _draw_classes(self, pair: tuple[str, str], maps: Maps, lower: Any, letters: list[str]) -> None:
        names, outputs, largest = self._features(*pair), self._outputs(pair[0], maps), self._largest(pair[0])
        height = _SMALL_MAP * maps.n_outputs + 0.45
        upper, bars = lower.subfigures(2, 1, height_ratios=[height, _BARS])
        n_maps = 1 + N_FEATURES
        # A narrow empty column between the layers; one grid, so that their maps are of one size.
        widths = ([1.0] * n_maps + [0.12]) * len(self.layers)
        panels = upper.subplots(
            maps.n_outputs, len(widths) - 1, sharex=True, sharey=True, squeeze=False, width_ratios=widths[:-1]
        )
        for axes in panels[:, n_maps :: n_maps + 1].ravel():
            axes.set_axis_off()
        for k, layer in enumerate(self.layers):
            block = panels[:, k * (n_maps + 1) :][:, :n_maps]
            for c, line in enumerate(block):
                colour = _look(c)[0]
                _draw_map(line[0], maps, maps.predictions[layer][c], cmap=_from_white(colour), vmin=0, vmax=1)
                for f, axes in enumerate(line[1:]):
                    _draw_map(
                        axes, maps, maps.contributions[layer][f, c], cmap=_around_white(colour), vmin=-largest,
                        vmax=largest,
                    )  # fmt: skip
                if k == 0:
                    line[0].set_ylabel(f"{outputs[c]}\n{names[1]}")
            head = f"({letters[k]}) {layer} layer ({maps.layers[layer]})\n"
            words = (f"{head}probability", *(f"contrib. {name}" for name in names))
            for axes, text in zip(block[0], words, strict=True):
                axes.set_title(text, fontsize=7.5)
            for axes in block[-1]:
                axes.set_xlabel(names[0])
        left, right = bars.subplots(1, 2)
        _draw_bars(left, outputs, _from_white, (0.0, 1.0), "probability")
        _draw_bars(right, outputs, _around_white, (-largest, largest), CONTRIBUTION)
        right.tick_params(labelleft=False, left=False)


def _runs(n: int) -> str:
    return f"{n} run{'s' if n > 1 else ''}"


def _error_head(metric: str) -> str:
    """An error, of whatever rows."""
    return "error (%)" if metric == ERROR_RATE else "RMSE"


def _mean_size(values: np.ndarray) -> float:
    import numpy as np

    # Contributions are stored in single precision: more digits would be of no meaning.
    return float(f"{np.abs(values.astype(np.float64)).mean():.6g}")


def _draw_map(axes: Axes, maps: Maps, values: np.ndarray, **colours: Any) -> Any:
    """Squares of the grid."""
    x, y = _edges(maps.x), _edges(maps.y)
    axes.grid(visible=False)
    return axes.imshow(
        values, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", aspect="equal", interpolation="nearest", **colours
    )


def _draw_bars(axes: Axes, outputs: list[str], colours: Any, ends: tuple[float, float], words: str) -> None:
    """One colour bar with a line for each class."""
    import numpy as np
    from matplotlib.colors import to_rgb

    steps = np.linspace(0, 1, 256)
    lines = np.array([colours(_look(c)[0])(steps)[:, :3] for c in range(len(outputs))])
    axes.imshow(lines, extent=(*ends, len(outputs) - 0.5, -0.5), aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(outputs)), outputs)
    axes.set_xlabel(words)
    axes.grid(visible=False)
    axes.set_facecolor(to_rgb("white"))


def _from_white(colour: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("probability", ["white", colour])


def _around_white(colour: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("contribution", [_DECREASE, "white", colour])


def _name_axes(axes: Axes, names: list[str]) -> None:
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])


def _edges(values: np.ndarray) -> np.ndarray:
    """Edges of the squares around equally spaced coordinates."""
    import numpy as np

    half = (float(values[-1]) - float(values[0])) / (len(values) - 1) / 2
    return np.linspace(float(values[0]) - half, float(values[-1]) + half, len(values) + 1)


def _look(c: int) -> tuple[str, str]:
    """Colour and marker of a class."""
    return _COLOURS[c % len(_COLOURS)], _MARKERS[c % len(_MARKERS)]


def _words(name: str) -> str:
    return name.removeprefix("feature ").replace("_", " ")
