"""Test error and quality of importances by layer, and importances against the true ones (interp-fig5).

The data are a sum of k times feature k, so that feature k is the k-th least important: a pair of features is ranked
right if the one of the larger coefficient has the larger importance. Means over repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.every_repeat import (
    HALF_OF_THE_RUNS,
    MEANS,
    EveryRepeat,
    by_layer,
    common_places,
    mean_text,
)
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, ORANGE, Figure, write_words
from cascadeforest.reports.results import Results
from cascadeforest.reports.stacked import stacked, title
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, metric_head, number_text, without_source

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

SCORES, IMPORTANCES = "layer_scores", "layer_importances"
ERROR, RANKED, MDI = "rmse", "ranked_pairs", "mdi"
FIRST, LAST, TRUE = "first", "last", "true"
#: What the bars are called, and how they look.
_WORDS = {FIRST: "first layer", LAST: "last layer", TRUE: "true"}
_COLOURS = {FIRST: BLUE, LAST: ORANGE, TRUE: "#B0B0B0"}
#: Inches that the panels of one data set are high, and words in their place.
_HEIGHT, _EMPTY_HEIGHT = 2.6, 0.7


@dataclass(frozen=True)
class Quality:
    """One model on one data set.

    Parameters
    ----------
    errors, ranked : list of lists
        For each layer the test errors, and the shares of pairs that are ranked right, of the runs.
    importances : dict
        `FIRST` and `LAST` to normalised importances of shape (runs, features).
    """

    errors: list[list[float]]
    ranked: list[list[float]]
    importances: dict[str, np.ndarray]

    @property
    def n_features(self) -> int:
        """Features."""
        return self.importances[LAST].shape[1]


def ranked_pairs(importances: np.ndarray) -> float:
    """Share of the pairs of features that are ranked right, where a later feature is the more important one.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        Estimated; equal ones rank nothing, their pair is not right.

    Returns
    -------
    float
    """
    import numpy as np

    above, below = np.triu_indices(len(importances), k=1)
    return float(np.mean(importances[below] > importances[above]))


def true_importances(n_features: int) -> np.ndarray:
    """Importances of the features of a sum of k times feature k, with sum 1.

    The features are independent and of equal variance, so that the variance that feature k explains is in proportion to
    the square of k. MDI of fully grown trees is just that.

    Parameters
    ----------
    n_features : int
        Features.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    import numpy as np

    squares = np.arange(1, n_features + 1, dtype=np.float64) ** 2
    return squares / squares.sum()


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; of its option `layers`, "first" and "last", the importances are drawn.
    results : Results
        Its cells and the arrays that they saved under `SCORES` and `IMPORTANCES`.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the cells do not save these arrays, or `layers` is none of these words.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.all = EveryRepeat(experiment, results, [SCORES, IMPORTANCES])
        self.layers = self._checked_layers()
        self.pairs = self.all.first.pairs
        self.quality = {pair: self._quality(*pair) for pair in self.pairs}
        self.rows = {pair: {row.key[2:]: row for row in self._rows(*pair)} for pair in self.pairs}

    def _checked_layers(self) -> list[str]:
        layers = self.experiment["options"].get("layers")
        if not isinstance(layers, list) or not layers or any(layer not in (FIRST, LAST) for layer in layers):
            raise ConfigError(
                f"{self.all.first.place}/options/layers is {layers!r}; give a list of 'first' and 'last', or one."
            )
        return layers

    # Numbers ------------------------------------------------------------------------------------------------------

    def _quality(self, dataset: str, column: str) -> Quality | None:
        import numpy as np

        found = [one["importances"] for one in self.all.arrays(dataset, column, IMPORTANCES)]
        if not found:
            return None
        errors = by_layer([one["test"] for one in self.all.arrays(dataset, column, SCORES)])
        ranked = by_layer([np.array([ranked_pairs(layer) for layer in one]) for one in found])
        ends = {FIRST: np.array([one[0] for one in found]), LAST: np.array([one[-1] for one in found])}
        # Sums over features are above 0 for any model that learned something; signs stay as they are.
        return Quality(errors, ranked, {name: ends[name] / ends[name].sum(axis=1, keepdims=True) for name in ends})

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        quality = self.quality[dataset, column]
        if quality is None:
            yield self.all.row(dataset, column, "", RANKED, [])
            return
        for metric, layers in ((ERROR, quality.errors), (RANKED, quality.ranked)):
            for k, values in enumerate(layers, start=1):
                yield self._row(dataset, column, f"layer {k}", metric, values)
        for metric, name in ((ERROR, SCORES), (RANKED, IMPORTANCES)):
            yield self._row(dataset, column, f"{LAST} layer", metric, self._at_the_end(dataset, column, name))
        names = self._features(dataset, column)
        for layer in self.layers:
            for k, name in enumerate(names):
                yield self._row(dataset, column, f"{_WORDS[layer]}, {name}", MDI, quality.importances[layer][:, k])
        for k, name in enumerate(names):
            condition = f"{TRUE}, {name}"
            yield self.all.row(dataset, column, condition, MDI, [true_importances(quality.n_features)[k]], of_data=True)

    def _at_the_end(self, dataset: str, column: str, extra: str) -> list[float]:
        """Numbers of each run at its own last layer."""
        found = self.all.arrays(dataset, column, extra)
        if extra == SCORES:
            return [float(one["test"][-1]) for one in found]
        return [ranked_pairs(one["importances"][-1]) for one in found]

    def _row(self, dataset: str, column: str, condition: str, metric: str, values: Iterable[float]) -> TidyRow:
        return self.all.row(dataset, column, condition, metric, [float(value) for value in values])

    def _features(self, dataset: str, column: str) -> list[str]:
        quality = self.quality[dataset, column]
        return [f"feature {name}" for name in self.all.feature_names(dataset, quality.n_features)]

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        heads = [f"test {metric_head(ERROR)}", metric_head(RANKED).replace("(%)", "(% of all pairs)")]
        label_heads, lines = without_source(
            (*self.all.first.label_heads, "layer", ""), [line for pair in self.pairs for line in self._lines(*pair)]
        )
        view = self.all.view(label_heads, heads, "runs", lines, self._notes())
        # The true importances are the data's: once, whatever the number of models.
        rows = tuple({row.key: row for found in self.rows.values() for row in found.values()}.values())
        return Table(rows, view, Figure(self._caption(), self._alt(), rows, self._draw))

    def _lines(self, dataset: str, column: str) -> Iterable[Row]:
        labels, quality, rows = (
            self.all.first.labels(dataset, column),
            self.quality[dataset, column],
            self.rows[dataset, column],
        )
        if quality is None:
            reason = Cell(self.all.first.reason(dataset, column), is_word=True)
            yield Row((*labels, "", REPRODUCED), (reason,) * 2)
            return
        places = common_places((row.mean for row in rows.values() if row.metric == ERROR), 4)
        for name in [*(f"layer {k}" for k in range(1, len(quality.errors) + 1)), f"{LAST} layer"]:
            found = [rows[name, metric] for metric in (ERROR, RANKED)]
            cells = Cell(mean_text(found[0], places)), Cell(number_text(RANKED, found[1].mean, found[1].std))
            label = name if name.startswith("layer ") else "last layer of each run"
            yield Row((*labels, label, REPRODUCED), cells, REPRODUCED, f"{found[0].n}")

    def _notes(self) -> Iterable[str]:
        yield (
            "MDI on held-out training rows, as if the cascade ended at the layer. A pair of features is ranked right "
            "if the one of the larger coefficient has the larger MDI; equal ones are not."
        )
        yield f"{MEANS} {HALF_OF_THE_RUNS}"

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "(a) Test error, and share of the pairs of features that MDI ranks right, as if the cascade ended at each "
            "layer. (b) MDI with sum 1 at the first and at the last layer of each run, and the true one: the share of "
            "the variance that a feature explains, in proportion to the square of its coefficient. Means over runs, "
            "lines ± standard deviation.",
            HALF_OF_THE_RUNS,
        ]
        return " ".join([*parts, *self._all_words()])

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _all_words(self) -> Iterable[str]:
        for pair in self.pairs:
            yield f"{self.all.first.name(*pair)}: {self._pair_words(pair)}."

    def _pair_words(self, pair: tuple[str, str]) -> str:
        import numpy as np

        quality, rows = self.quality[pair], self.rows[pair]
        if quality is None:
            return self.all.first.reason(*pair)
        n_layers = len(quality.errors)
        said = []
        for metric, words in ((ERROR, "test RMSE"), (RANKED, "pairs ranked right")):
            unit = " %" if metric == RANKED else ""
            numbers = [number_text(metric, rows[f"layer {k}", metric].mean, None) + unit for k in (1, n_layers)]
            said.append(f"{words} {numbers[0]} at layer 1" + (
                f" and {numbers[1]} at layer {n_layers}" if n_layers > 1 else ""))  # fmt: skip
        true = true_importances(quality.n_features)
        for layer in self.layers:
            distance = float(np.abs(quality.importances[layer].mean(axis=0) - true).sum()) / 2
            said.append(f"MDI of the {_WORDS[layer]} puts {100 * distance:.1f} % of the sum in other features than "
                        "the true one")  # fmt: skip
        return "; ".join(said)

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        heights = [_EMPTY_HEIGHT if self.quality[pair] is None else _HEIGHT for pair in self.pairs]
        picture, parts = stacked(heights)
        for pair, part in zip(self.pairs, parts, strict=True):
            name = self.all.first.name(*pair)
            if self.quality[pair] is None:
                write_words(part, f"{name}: {self.all.first.reason(*pair)}")
                continue
            runs = len(self.all.cells(*pair))
            title(part, f"{name}, {runs} run{'s' if runs > 1 else ''}")
            error, ranked, bars = part.subplots(1, 3, width_ratios=[1, 1, 1.9])
            self._draw_curve(error, pair, ERROR, ORANGE, "^")
            self._draw_curve(ranked, pair, RANKED, GREEN, "o")
            self._draw_bars(bars, pair)
        return picture

    def _draw_curve(self, axes: Axes, pair: tuple[str, str], metric: str, colour: str, marker: str) -> None:
        from matplotlib.ticker import MaxNLocator

        scale = 100 if metric == RANKED else 1
        layers = range(1, len(self.quality[pair].errors) + 1)
        rows = [self.rows[pair][f"layer {layer}", metric] for layer in layers]
        axes.errorbar(
            layers, [scale * row.mean for row in rows], yerr=[scale * (row.std or 0.0) for row in rows], color=colour,
            marker=marker, capsize=2.5, elinewidth=1.0,
        )  # fmt: skip
        axes.set_title("(a) test RMSE" if metric == ERROR else "pairs ranked right (%)")
        axes.set_xlabel("layer")
        axes.set_xlim(0.5, max(len(layers), 2) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))

    def _draw_bars(self, axes: Axes, pair: tuple[str, str]) -> None:
        names = self._features(*pair)
        kinds = [*self.layers, TRUE]
        width = 0.82 / len(kinds)
        for k, kind in enumerate(kinds):
            rows = [self.rows[pair][f"{_WORDS[kind]}, {name}", MDI] for name in names]
            axes.bar(
                [at + 1 + (k - (len(kinds) - 1) / 2) * width for at in range(len(names))],
                [row.mean for row in rows],
                yerr=None if kind == TRUE else [row.std or 0.0 for row in rows],
                width=width,
                color=_COLOURS[kind],
                hatch="////" if kind == TRUE else None,
                edgecolor="white" if kind == TRUE else None,
                linewidth=0,
                error_kw={"elinewidth": 0.7, "capsize": 1.2, "ecolor": BLACK},
                label=_WORDS[kind],
            )
        axes.set_title("(b) MDI, sum 1")
        axes.set_xticks(range(1, len(names) + 1), [name.removeprefix("feature ") for name in names], fontsize=6.5)
        axes.grid(visible=False, axis="x")
        axes.legend(loc="upper left")
