"""Numbers at each layer of a cascade, of training rows (out of fold) and of test rows (mddf-fig2a); first repeat."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow

#: What the option `curves` can name, and the extra whose arrays ``train`` and ``test`` have it.
QUANTITIES = {"accuracy": "layer_scores", "rmse": "layer_scores", "margin_ratio": "margin_ratios"}
#: Metrics of the arrays of the extra `factors`, which no curve shows.
FACTORS = {"alphas": "factor", "shares": "factor_share"}
TRAIN, TEST = "train", "test"
FIRST, END = "layer 1", "last layer kept"
NO_MEAN = "the mean margin is not positive"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: `curves` names what is drawn, of `QUANTITIES`."""

    curves: tuple[str, ...]


def curves(cells: Cells, quantities: Collection[str]) -> pd.DataFrame:
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


def best_layer(curve: pd.DataFrame, quantity: str) -> int:
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


def facts(cells: Cells, frame: pd.DataFrame, quantities: tuple[str, ...]) -> Iterable[TidyRow]:
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
                yield row(part, "best_layer", best_layer(curve[score], score) if ran else None)
        if ran and "factors" in cells.experiment.all_extras:
            for name, factors in cells.first_arrays(dataset, column, "factors").items():
                for k, value in enumerate(factors, start=1):
                    yield row(f"layer {k}", FACTORS[name], float(value))


def drawn(cells: Cells, frame: pd.DataFrame, quantities: tuple[str, ...]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: every layer of every curve."""
    for dataset, column in cells.pairs:
        own = frame[(frame.dataset == dataset) & (frame.model == column)]
        if own.empty:
            yield cells.row(dataset, column, "", quantities[0], None)
        for one in own.itertuples():
            yield cells.row(dataset, column, f"{one.part}, layer {one.layer}", one.quantity, one.value, why_not=NO_MEAN)
