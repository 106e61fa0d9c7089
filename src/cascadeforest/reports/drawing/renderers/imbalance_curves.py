"""Accuracy while one class grows rare in training, and recall of this class (ddbf-fig4): a line for each model."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.drawing import Cells, Row, Table, draw, metric_head, numbered_lines, reasons, told_of
from cascadeforest.reports.drawing.words import protocols
from cascadeforest.reports.numbers.differences import Difference, difference
from cascadeforest.reports.numbers.frame import Key, TidyRow
from cascadeforest.reports.numbers.scores import scores

ACCURACY, RECALL, GAP = "accuracy", "recall", "accuracy_gap"
#: The paper's text compares DDBF, whose columns begin with `OWN`, with this column, for ratios from this one on.
OWN, AGAINST, BEYOND = "ddbf", "gcforest", 0.6
#: Conditions: a difference, a mean over ratios, a mean of differences.
PAIR, LATER = f"against {AGAINST}", f"imbalance ratio beyond {BEYOND:g}"
LATER_PAIR = f"{LATER}, {PAIR}"
MISSING = "a run is missing"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the class whose training rows are dropped."""

    label: str


def render(cells: Cells) -> Table:
    """Make picture and table."""
    label = cells.options(Options).label
    series = variants(cells.experiment, label)
    curves = tuple(_drawn(cells, series, label))
    leads = _leads(cells, series)
    rows = {row.key: row for row in (*curves, *_means(cells, series), *(one.row for one in leads))}
    names = [next(iter(series.values()))]
    told: dict[str, object] = dict(named=names, label=label, rows=list(rows.values()), reasons=reasons(cells, curves))
    told |= dict(protocols=protocols(cells, names), intervals=told_of(leads))
    heads = [*(f"ratio {ratio:g}" for ratio in series), f"mean from {BEYOND:g} on"]
    lines, label_heads = _lines(cells, series, f"class {label}", rows), ("data set", "quantity", "model")
    picture = draw.Picture([_part(cells, series, f"class {label}", rows)], legend=True)
    return Table.of(cells, told, rows.values(), label_heads, heads, lines, picture=picture, drawn=curves)


def variants(experiment: Experiment, label: str) -> dict[float, str]:
    """Return imbalance ratio to variant, ascending; refuse variants that differ in anything else."""
    found, bases = {}, set()
    for variant in experiment.datasets:
        base, ratio = (*re.split(rf"\+imbalance-{re.escape(label)}-(?=[\d.]+$)", variant), "0")[:2]
        found[float(ratio)] = variant
        bases.add(base)
    if len(bases) > 1 or len(found) < len(experiment.datasets):
        raise ConfigError(
            f"{experiment.place}/datasets are {', '.join(experiment.datasets)}; name one data set, with different "
            f"imbalance ratios of the class '{label}' of options/label."
        )
    return dict(sorted(found.items()))


def _drawn(cells: Cells, series: Mapping[float, str], label: str) -> list[TidyRow]:
    """Return accuracy and recall of each model on each variant."""
    of_accuracy = Cells(replace(cells.experiment, metrics=(ACCURACY,)), cells.results)
    rows = scores(of_accuracy)
    return rows + [_recall(cells, v, column, label) for v in series.values() for column in cells.experiment.columns]


def _recall(cells: Cells, variant: str, column: str, label: str) -> TidyRow:
    """Return the share of the test rows of the class that are predicted as this class."""
    names, found = cells.facts(variant).get("class_names", []), cells.all(variant, column)
    if found and label not in names:
        return cells.row(variant, column, f"class {label}", RECALL, "the class is not known")
    code = names.index(label) if found else 0
    counts = [cell.confusion[code] for cell in found if cell.confusion]
    values = [own[code] / sum(own) if sum(own) else "no test rows of the class" for own in counts]
    return cells.row(variant, column, f"class {label}", RECALL, values, n_test=min(map(sum, counts), default=None))


def _leads(cells: Cells, series: Mapping[float, str]) -> list[Difference]:
    """Return by how much DDBF is ahead at each ratio, and in the mean of those from `BEYOND` on."""
    columns = cells.experiment.columns
    own = [column for column in columns if column.startswith(OWN) and AGAINST in columns]
    places = [(variant, PAIR, [variant]) for variant in series.values()]
    if later := [variant for ratio, variant in series.items() if ratio >= BEYOND]:
        places.append((next(iter(series.values())), LATER_PAIR, later))
    leads = []
    for dataset, condition, variants in places:
        for column in own:
            row = replace(cells.row(variants[0], column, condition, GAP, MISSING), dataset=dataset)
            found = difference(cells, variants, column, AGAINST, ACCURACY)
            if found.row.mean is not None:
                printed = row.published
                row = replace(found.row, dataset=dataset, condition=condition, metric=GAP, published=printed)
            leads.append(replace(found, row=row))
    return leads


def _means(cells: Cells, series: Mapping[float, str]) -> Iterable[TidyRow]:
    """Yield the means of the accuracies over the ratios from `BEYOND` on."""
    later = [variant for ratio, variant in series.items() if ratio >= BEYOND]
    for column in cells.experiment.columns if later else ():
        found = [cells.metric(variant, column, ACCURACY) for variant in later]
        missing = MISSING if any(found) else None  # nothing: the table leaves the model out
        values = [fmean(of_repeat) for of_repeat in zip(*found, strict=False)] if all(found) else missing
        yield replace(cells.row(later[0], column, LATER, ACCURACY, values), dataset=next(iter(series.values())))


def _lines(cells: Cells, series: Mapping[float, str], of_class: str, rows: Mapping[Key, TidyRow]) -> Iterable[Row]:
    """Yield the lines of the models: accuracies, differences, recalls."""
    name = next(iter(series.values()))
    for quantity, metric, condition, later in (
        (metric_head(ACCURACY), ACCURACY, "", LATER),
        ("accuracy (percent points)", GAP, PAIR, LATER_PAIR),
        (f"recall of {of_class} (%)", RECALL, of_class, ""),
    ):
        for column, model in cells.experiment.labels.items():
            own = [rows.get((variant, column, condition, metric)) for variant in series.values()]
            if any(own):
                labels = name, quantity, f"{model} minus {cells.label(AGAINST)}" if metric == GAP else model
                own.append(rows.get((name, column, later, metric)))
                yield from numbered_lines(cells, labels, own, words="not applicable")


def _part(cells: Cells, series: Mapping[float, str], of_class: str, rows: Mapping[Key, TidyRow]) -> draw.Part:
    """Draw a panel for the accuracy and, if the class is known, one for its recall."""
    # Thick, below all others: the paper's models, its default one first, and the one that they are compared with.
    thick = [column for column in reversed(cells.experiment.columns) if column.startswith(OWN) or column == AGAINST]
    columns = [*thick, *(column for column in cells.experiment.columns if column not in thick)]
    ratios, variants = np.array(list(series)), list(series.values())
    # Points at one ratio stand beside each other over a quarter of the gap to the next ratio.
    beside = 0.25 * min(np.diff(ratios), default=0.2) * np.linspace(-0.5, 0.5, len(columns))
    x = draw.Axis(f"imbalance ratio of {of_class}", ticks={ratio: f"{ratio:g}" for ratio in series})
    panels = []
    for metric, condition, head in (ACCURACY, "", "accuracy (%)"), (RECALL, of_class, f"recall of {of_class} (%)"):
        marks = []
        for number, column in enumerate(columns):
            own = [rows[variant, column, condition, metric] for variant in variants]
            means, spreads = 100 * np.array([(row.mean, row.std) for row in own], float).T
            if np.isfinite(means).any():
                size, width = (6.5, 2.4) if column in thick else (4.2, 0.9)
                look, words = draw.look(number), cells.label(column)
                marks.append(draw.line(ratios + beside[number], means, look, words, spreads, size=size, width=width))
        panels += [draw.Panel(marks, x=x, y=draw.Axis(head))] if marks else []
    reasons = "; ".join(dict.fromkeys(map(cells.reasons, variants)))
    return draw.Part([panels] if panels else [], cells.sizes(variants[0]), reasons, height=3.3)
