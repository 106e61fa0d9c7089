"""Training rows of the first repeat in the plane of what layers hand on (mddf-fig2b, hidf-fig2), a panel a layer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np

from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.projection import PERPLEXITY, scatter_ratio
from cascadeforest.reports.drawing import Cells, Pair, Table, metric_head, numbered_lines, panels, published_text
from cascadeforest.reports.drawing.panels import Axis, Look, Panel, Part
from cascadeforest.reports.drawing.words import metric_label, number
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.metrics import COORDINATES

METRICS = PLANE, FEATURES, LINEAR = "intra_to_inter_variance", "intra_to_inter_variance_of_features", "linear_accuracy"
#: Rows in the plane of their first two features, and what random starts of t-SNE give.
DATA, STARTS = "first_features", "plane_starts"
NO_DISTANCE, NOTHING = "all class means are equal", "no interactions found so far"
#: Numbers of the repeats by metric and layer, None where a repeat has no such layer; or words why there are none.
Values: TypeAlias = dict[tuple[str, int], Sequence[float | None] | str]


@dataclass(frozen=True)
class Options:
    """Options of the experiment: layer 0 is the input, `separability` shows a linear classifier, not S_A / S_E.

    `data`: a panel before the others shows the rows by their first two features, which have these names.
    """

    layers: tuple[int, ...]
    projection: Literal["tsne"] = "tsne"
    part: Literal["train"] = "train"
    separability: bool = False
    data: tuple[str, ...] = ()

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras that are needed, first the one that has the layers."""
        first = extra_name("representations", {"layers": self.layers}, "options")
        return (first, "separability", "interactions") if self.separability else (first,)

    @property
    def starts(self) -> str:
        """The extra that has other planes of these layers."""
        return extra_name(STARTS, {"layers": self.layers}, "options")


def render(cells: Cells) -> Table:
    """Make picture and table."""
    options = cells.options(Options)
    cells.need(*options.extras)
    rows = {row.key: row for row in _facts(cells, options)}
    metrics = (LINEAR,) if options.separability else (PLANE, FEATURES)
    names = [f"layer {layer}" if layer else "the input" for layer in options.layers]
    told = dict(options=options, names=names, perplexity=PERPLEXITY)
    lines, several = [], max(cells.experiment.repeats.values(), default=1) > 1 and not options.separability
    for pair in cells.pairs:
        shown = [rows[*pair, f"layer {layer}", metric] for metric, layer in product(metrics, options.layers)]
        n = max((row.n or 0 for row in shown), default=0)
        lines.extend(numbered_lines(cells, cells.labels(*pair), shown, f"{n or ''}" * several))
    heads = [f"{metric_head(metric)}, {name}" for metric, name in product(metrics, names)]
    picture = panels.Picture([part for pair in cells.pairs for part in _parts(cells, pair, options)])
    drawn = _drawn(cells, options)
    return Table.of(cells, told, rows.values(), cells.label_heads, heads, lines, "repeats" * several, picture, drawn)


def _values(cells: Cells, pair: Pair, options: Options) -> Values:
    """Return the numbers of a model; nothing if it did not run."""
    maps = cells.arrays(*pair, options.extras[0])
    if not maps:
        return {}
    runs = cells.arrays(*pair, options.extras[1]) if options.separability else []
    accuracies = [run["accuracy"].tolist() for run in runs]
    n_layers = min([*(int(run["n_layers"]) for run in maps), *(len(own) - 1 for own in accuracies)])
    no_layer = f"{'a' if len(runs or maps) > 1 else 'the'} cascade has {n_layers} layer{'s' * (n_layers != 1)}"
    found: Values = dict.fromkeys(product(METRICS, options.layers), no_layer)
    ratios = [dict(_ratios(run)) for run in maps]
    for layer in set().union(*ratios):
        of_runs = zip(*(own.get(layer, (None, None)) for own in ratios), strict=True)
        found |= {(metric, layer): list(values) for metric, values in zip((PLANE, FEATURES), of_runs, strict=True)}
    if accuracies:
        found |= {(LINEAR, layer): list(own) for layer, own in enumerate(zip(*accuracies, strict=False))}
        found_in = cells.first_arrays(*pair, options.extras[2])["layer"]
        first = min(found_in[found_in > 0], default=n_layers + 1)
        found |= {(metric, layer): NOTHING for metric in (PLANE, FEATURES) for layer in range(1, first)}
    return found


def _ratios(run: dict[str, np.ndarray]) -> Iterable[tuple[int, tuple[float, float]]]:
    """Yield each layer of a repeat with S_A / S_E in its plane and of its features."""
    for layer, plane, ratio in zip(run["layers"].tolist(), run["coordinates"], run["feature_ratios"], strict=True):
        yield layer, (scatter_ratio(plane, run["classes"]), float(ratio))


def _start_ratios(cells: Cells, pair: Pair, options: Options) -> dict[int, np.ndarray]:
    """Return S_A / S_E in the planes of random starts by layer; nothing where no cell saved them."""
    cell = next(iter(cells.all(*pair)), None)
    if cell is None or options.starts not in cell.extras:
        return {}
    arrays = cells.first_arrays(*pair, options.starts)
    return dict(zip(arrays["layers"].tolist(), arrays["ratios"], strict=True))


def _accuracies(found: Values) -> dict[int, list[float]]:
    """Return the linear accuracies of each layer that the cascade has in all repeats."""
    own = {layer: values for (name, layer), values in sorted(found.items()) if name == LINEAR}
    return {k: [one for one in values if one is not None] for k, values in own.items() if not isinstance(values, str)}


def _facts(cells: Cells, options: Options) -> Iterable[TidyRow]:
    """Yield the numbers of the table; linear accuracy is of every layer."""
    for pair in cells.pairs:
        found = _values(cells, pair, options)
        every = sorted({*_accuracies(found), *options.layers}) if options.separability else ()
        for metric, layer in (*product([LINEAR], every), *product((PLANE, FEATURES), options.layers)):
            value = found[metric, layer] if found else None
            yield cells.row(*pair, f"layer {layer}", metric, value, why_not=NO_DISTANCE)
        for layer, ratios in _start_ratios(cells, pair, options).items():
            for start, ratio in enumerate(ratios, start=1):
                yield cells.row(*pair, f"layer {layer}, start {start}", PLANE, float(ratio), why_not=NO_DISTANCE)


def _drawn(cells: Cells, options: Options) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: linear accuracies and the place of each point."""
    for pair in cells.pairs:
        found = _values(cells, pair, options)
        if not found:
            yield cells.row(*pair, "", COORDINATES[0], None)
            continue
        for layer, value in _accuracies(found).items():
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


def _parts(cells: Cells, pair: Pair, options: Options) -> Iterable[Part]:
    """The panels of one model, and below them the curve of the linear accuracies."""
    found = _values(cells, pair, options)
    if not found:
        yield Part(title=cells.name(*pair), words=cells.reason(*pair))
        return
    arrays = cells.first_arrays(*pair, options.extras[0])
    planes = dict(zip(arrays["layers"].tolist(), arrays["coordinates"], strict=True))
    names = {code: cells.class_name(pair[0], code) for code in sorted(set(arrays["classes"].tolist()))}
    metric, shown = LINEAR if options.separability else PLANE, []
    ratios = _start_ratios(cells, pair, options)
    if options.data and DATA in arrays:
        marks, (x, y) = panels.class_points(arrays[DATA], arrays["classes"], names, alpha=0.75), map(Axis, options.data)
        shown.append(Panel(marks, "(a) The data\n\n", x, y, equal=True))
    for layer in options.layers:
        row = cells.row(*pair, f"layer {layer}", metric, found[metric, layer])
        title = f"Layer {layer}" if layer else "The input"
        # Four narrow panels have no room for both on a line, nor for a number of repeats.
        between, of_n = ("\n", "") if options.data else (" ", f" of {row.n}")
        mean = f" (mean{of_n})" * ((row.n or 0) > 1)
        title += f"\n{metric_label(metric)}{between}{number(row)}{mean}" if row.mean is not None else ""
        if layer in ratios:
            ends = [number(replace(row, mean=float(end))) for end in (ratios[layer].min(), ratios[layer].max())]
            title += f"\n(random starts{', first repeat' * bool(mean)}: {' to '.join(ends)})"
        own = found[PLANE, layer]
        if isinstance(own, str) or layer not in planes:
            words = own if isinstance(own, str) else "the first repeat has no such layer"
            shown.append(Panel(title=title, words=words))
        else:
            marks = panels.class_points(planes[layer], arrays["classes"], names, alpha=0.75)
            shown.append(Panel(marks, title + published_text(cells, row), Axis("t-SNE 1"), Axis("t-SNE 2"), equal=True))
    title = f"{cells.name(*pair)}, {len(arrays['rows']):,} of {cells.all(*pair)[0].n_train:,} training rows"
    yield Part([shown], title, height=panels.WIDTH / max(len(shown), 2) * 0.92 + 0.15, legend=True)
    if accuracy := {layer: 100 * fmean(values) for layer, values in _accuracies(found).items()}:
        found_in = np.concatenate([run["layer"] for run in cells.arrays(*pair, options.extras[2])])
        first = min(found_in[found_in > 0], default=len(accuracy))
        hollow = {layer: value for layer, value in accuracy.items() if 0 < layer < first}
        line = panels.line(list(accuracy), list(accuracy.values()))
        dots = panels.line(list(hollow), list(hollow.values()), Look(line="none"), hollow=True)
        x, y = Axis("layer (0: the input)", ticks="whole"), Axis(metric_head(LINEAR), (0, 105))
        yield Part([[Panel([line, dots], x=x, y=y)]], height=1.45)
