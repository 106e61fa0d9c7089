"""Training rows in the t-SNE plane of what layers hand on, as the first repeat saved them (mddf-fig2b, hidf-fig2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.plan import Pair
from cascadeforest.experiments.projection import scatter_ratio
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.metrics import COORDINATES

METRICS = PLANE, FEATURES, LINEAR = "intra_to_inter_variance", "intra_to_inter_variance_of_features", "linear_accuracy"
NO_DISTANCE, NOTHING = "all class means are equal", "no interactions found so far"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: layer 0 is the input, `separability` shows a linear classifier, not S_A / S_E."""

    layers: tuple[int, ...]
    projection: Literal["tsne"] = "tsne"
    part: Literal["train"] = "train"
    separability: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras that are needed, first the one that has the layers."""
        first = extra_name("representations", {"layers": self.layers}, "options")
        return (first, "separability", "interactions") if self.separability else (first,)


def values(cells: Cells, pair: Pair, options: Options) -> dict[tuple[str, int], float | str]:
    """Return metric and layer to the number, or to words why there is none; nothing if the model did not run."""
    arrays, *others = (cells.first_arrays(*pair, extra) for extra in options.extras)
    if not arrays:
        return {}
    n_layers, layers = int(arrays["n_layers"]), arrays["layers"].tolist()
    no_layer = f"the cascade has {n_layers} layer{'s' * (n_layers != 1)}"
    found: dict[tuple[str, int], float | str] = dict.fromkeys(product(METRICS, options.layers), no_layer)
    for layer, plane, ratio in zip(layers, arrays["coordinates"], arrays["feature_ratios"], strict=True):
        found |= {(PLANE, layer): scatter_ratio(plane, arrays["classes"]), (FEATURES, layer): float(ratio)}
    if others:
        accuracy, found_in = others[0]["accuracy"], others[1]["layer"]
        found |= {(LINEAR, layer): float(value) for layer, value in enumerate(accuracy)}
        first = min(found_in[found_in > 0], default=n_layers + 1)
        found |= {(metric, layer): NOTHING for metric in (PLANE, FEATURES) for layer in range(1, first)}
    return found


def accuracies(found: Mapping[tuple[str, int], float | str]) -> dict[int, float]:
    """Return the linear accuracy of each layer that the cascade has."""
    return {k: value for (name, k), value in sorted(found.items()) if name == LINEAR and isinstance(value, float)}


def facts(cells: Cells, options: Options) -> Iterable[TidyRow]:
    """Yield the numbers of the table; linear accuracy is of every layer."""
    for pair in cells.pairs:
        found = values(cells, pair, options)
        every = sorted({*accuracies(found), *options.layers}) if options.separability else ()
        for metric, layer in (*product([LINEAR], every), *product((PLANE, FEATURES), options.layers)):
            value = found[metric, layer] if found else None
            yield cells.row(*pair, f"layer {layer}", metric, value, why_not=NO_DISTANCE)


def drawn(cells: Cells, options: Options) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: linear accuracies and the place of each point."""
    for pair in cells.pairs:
        found = values(cells, pair, options)
        if not found:
            yield cells.row(*pair, "", COORDINATES[0], None)
            continue
        for layer, value in accuracies(found).items():
            yield cells.row(*pair, f"layer {layer}", LINEAR, value)
        arrays = cells.first_arrays(*pair, options.extras[0])
        for layer, plane in zip(arrays["layers"].tolist(), arrays["coordinates"], strict=True):
            if found[PLANE, layer] == NOTHING:
                yield cells.row(*pair, f"layer {layer}", COORDINATES[0], NOTHING)
                continue
            for row, code, places in zip(arrays["rows"], arrays["classes"], plane, strict=True):
                condition = f"layer {layer}, row {row}, class {cells.class_name(pair[0], code)}"
                for name, place in zip(COORDINATES, places, strict=True):
                    yield cells.row(*pair, condition, name, round(float(place), 2))
