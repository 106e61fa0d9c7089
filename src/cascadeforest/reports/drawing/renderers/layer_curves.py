"""Numbers at each layer (mddf-fig2a): a panel for each quantity, a line for each model and kind of rows."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.drawing import Row, Table, draw, metric_head, metric_label, numbered_lines, scaled
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow

#: What the option `curves` can name, and the extra whose arrays ``train`` and ``test`` have it.
QUANTITIES = {"accuracy": "layer_scores", "rmse": "layer_scores", "margin_ratio": "margin_ratios"}
#: Metrics of the arrays of the extra `factors`, which no curve shows.
EXTRA, FACTORS = "factors", {"alphas": "factor", "shares": "factor_share"}
#: A layer with a smaller share of the sum is drawn as a layer with none: a bar of it could not be seen.
NOTHING = 0.0005
TRAIN, TEST = "train", "test"
FIRST, END = "layer 1", "last layer kept"
NO_MEAN = "the mean margin is not positive"
PARTS = {TRAIN: "training rows, out of fold", TEST: "test rows"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: `curves` names what is drawn, of `QUANTITIES`."""

    curves: tuple[str, ...]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    names = cells.options(Options).curves
    frame = _curves(cells, names)
    rows = list(_facts(cells, frame, names))
    told = dict(names=names, rows=rows, empty=list(_empty(cells)))
    heads = [f"{metric_head(name)}, {layer}" for name in names for layer in (FIRST, END)]
    heads += [f"rank correlation of {' and '.join(map(metric_label, names))}"] if len(names) == 2 else []
    heads += ["layers", *(["best layer"] if set(names) & METRICS.keys() else [])]
    picture = draw.Picture([_part(cells, dataset, frame, names) for dataset in cells.experiment.datasets], legend=True)
    lines, label_heads, shown = _lines(cells, rows), (*cells.label_heads, "rows"), _drawn(cells, frame, names)
    return Table.of(cells, told, rows, label_heads, heads, lines, "number of rows", picture, shown)


def _curves(cells: Cells, quantities: Collection[str]) -> pd.DataFrame:
    """Return a row for each data set, model, quantity, part (``train`` or ``test``) and layer, with its value.

    Training rows have a number for each layer that was grown, test rows only for the layers that the cascade kept.
    `ConfigError` if a quantity is unknown, or its extra is not saved.
    """
    for name in quantities or [""]:
        extra, experiment = QUANTITIES.get(name), cells.experiment
        if extra not in experiment.all_extras:
            raise ConfigError(
                f"{experiment.place}/options/curves has '{name}', of {', '.join(QUANTITIES)}; extras are "
                f"{list(experiment.all_extras)}: name a known one and save '{extra or 'its extra'}'."
            )
    found = [
        (dataset, column, name, part, layer, float(value))
        for dataset, column in cells.pairs
        for name in quantities
        if (arrays := cells.first_arrays(dataset, column, QUANTITIES[name]))
        for part in (TRAIN, TEST)
        for layer, value in enumerate(arrays[part], start=1)
    ]
    return pd.DataFrame(found, columns=["dataset", "model", "quantity", "part", "layer", "value"])


def _best_layer(curve: pd.DataFrame, quantity: str) -> int:
    """Return the first layer of the best score."""
    at = curve.value.argmax() if METRICS[quantity] else curve.value.argmin()
    return int(curve.layer.iloc[at])


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | str:
    """Return Spearman's correlation of two curves, in which infinite values rank last, or why there is none."""
    if len(first) < 3:
        return "fewer than three layers"
    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (first, second)]
    sizes = [float(np.sum(values**2)) for values in ranks]
    if not all(sizes):
        return "the same at all layers"
    return float(np.sum(ranks[0] * ranks[1])) / math.sqrt(sizes[0] * sizes[1])


def _facts(cells: Cells, frame: pd.DataFrame, quantities: tuple[str, ...]) -> Iterable[TidyRow]:
    """Yield the numbers of the table: first and last layer, rank correlation of two curves, layers, best layer."""
    score = next((name for name in quantities if name in METRICS), None)
    for dataset, column in cells.pairs:
        row = partial(cells.row, dataset, column, why_not=NO_MEAN)
        own = frame[(frame.dataset == dataset) & (frame.model == column)]
        ran, kept = len(own) > 0, own[own.part == TEST].layer.max()
        for part in (TRAIN, TEST):
            curve = {name: own[(own.part == part) & (own.quantity == name)] for name in quantities}
            for name in quantities:
                yield row(f"{part}, {FIRST}", name, curve[name].value.iloc[0] if ran else None)
                yield row(f"{part}, {END}", name, curve[name].value.iloc[kept - 1] if ran else None)
            if len(quantities) == 2:
                both = [one.value.to_numpy() for one in curve.values()]
                yield row(part, "rank_correlation", rank_correlation(*both) if ran else None)
            grown = len(curve[quantities[0]]) if ran else None
            yield row(part, "grown_layers" if part == TRAIN else "n_layers", grown)
            if score:
                yield row(part, "best_layer", _best_layer(curve[score], score) if ran else None)
        if ran and EXTRA in cells.experiment.all_extras:
            for name, factors in cells.first_arrays(dataset, column, EXTRA).items():
                for k, value in enumerate(factors, start=1):
                    yield row(f"layer {k}", FACTORS[name], float(value))


def _drawn(cells: Cells, frame: pd.DataFrame, quantities: tuple[str, ...]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: every layer of every curve."""
    for dataset, column in cells.pairs:
        own = frame[(frame.dataset == dataset) & (frame.model == column)]
        if own.empty:
            yield cells.row(dataset, column, "", quantities[0], None)
        for one in own.itertuples():
            yield cells.row(dataset, column, f"{one.part}, layer {one.layer}", one.quantity, one.value, why_not=NO_MEAN)


def _lines(cells: Cells, rows: list[TidyRow]) -> Iterable[Row]:
    for dataset, column in cells.pairs:
        for part, words in PARTS.items():
            key = (dataset, column, part)
            shown = [row for row in rows if (row.dataset, row.model, row.condition.partition(",")[0]) == key]
            size = [f"{cell.n_train if part == TRAIN else cell.n_test:,}" for cell in cells.all(dataset, column)[:1]]
            yield from numbered_lines(cells, (*cells.labels(dataset, column), words), shown, "".join(size))


def _part(cells: Cells, dataset: str, frame: pd.DataFrame, names: tuple[str, ...]) -> draw.Part:
    """The panels of one data set, one for each quantity."""
    own = frame[frame.dataset == dataset]
    if own.empty:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    axis = draw.layers_axis(own.layer.max())
    marks = {name: list(_marks(cells, own[own.quantity == name], name)) for name in names}
    panels = [draw.Panel(marks[name], x=axis, y=draw.Axis(metric_head(name))) for name in names]
    if EXTRA in cells.experiment.all_extras:
        panels.append(draw.Panel(list(_shares(cells, dataset)), x=axis, y=draw.Axis("share in the sum (%)", (0, 105))))
    return draw.Part([panels], title=cells.sizes(dataset))


def _shares(cells: Cells, dataset: str) -> Iterable[draw.Mark]:
    """Bars of the layers' shares in the sum up to them; a layer that has none gets a cross on the axis."""
    columns = list(cells.experiment.columns)
    width = 0.8 / len(columns)
    for k, column in enumerate(columns):
        shares = 100 * cells.first_arrays(dataset, column, EXTRA).get("shares", np.empty(0))
        at = np.arange(1, len(shares) + 1) + (k - (len(columns) - 1) / 2) * width
        colour = draw.look(k).colour
        yield draw.Bars(at, shares, colour, width=width)
        none = shares < 100 * NOTHING
        if none.any():
            look = draw.Look(colour if len(columns) > 1 else draw.ORANGE, "x")
            yield draw.Points(at[none], np.full(none.sum(), 2.5), look, "layer with a share of 0", size=5)


def _empty(cells: Cells) -> Iterable[Mapping[str, object]]:
    """Yield the layers without a share in the sum, model by model."""
    for pair in cells.pairs if EXTRA in cells.experiment.all_extras else ():
        if len(shares := cells.first_arrays(*pair, EXTRA).get("shares", ())):
            layers = [str(k) for k, share in enumerate(shares, start=1) if share < NOTHING]
            yield {"name": cells.name(*pair), "layers": layers, "n": len(shares)}


def _marks(cells: Cells, frame: pd.DataFrame, name: str) -> Iterable[draw.Mark]:
    """Lines of the models: kinds of rows differ in line and marker, with one model also in colour."""
    for (column, part), curve in frame.groupby(["model", "part"], sort=False):
        number = list(cells.experiment.columns).index(column)
        colour = draw.look(number if cells.has_models else (part == TEST)).colour
        values = scaled(name, np.where(np.isfinite(curve.value), curve.value, np.nan))
        style = draw.Look(colour, "o", draw.DASHED) if part == TRAIN else draw.Look(colour, "^", draw.SOLID)
        yield draw.Line(curve.layer, values, style, cells.prefix(column) + PARTS[part], hollow=part == TRAIN)
        if part == TRAIN and name in METRICS:
            best, style = _best_layer(curve, name), draw.Look(draw.BLACK)
            yield draw.Points([best], [values[best - 1]], style, "best layer out of fold", size=10, ring=True)
        if part == TEST and len(curve) < frame[frame.model == column].layer.max():
            yield draw.Rule(x=len(curve), label="layer that the cascade ends with", colour=colour)
