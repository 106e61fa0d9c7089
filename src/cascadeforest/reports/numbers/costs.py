"""Costs of models beside the cost of one of them, and what the papers' texts say of such ratios."""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from cascadeforest.experiments.metrics import COST_METRICS
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, Key, TidyRow
from cascadeforest.reports.numbers.published import PublishedText

#: The papers print one figure of memory, where we measure several peaks; it stands below the peak of training.
MEMORY, MEMORY_BELOW = "memory_mb", "fit_peak_mib"
ACCURACY, DIFFERENCE, GAP = "accuracy", "accuracy_difference", "accuracy_gap"
#: How the conditions of the ratios of single repeats end, which stand beside the ratio of the means.
ENDS = {"smallest of the repeats": min, "largest of the repeats": max}
#: Ratios in the papers' texts (reports/published/README.md), with the cost in the published file and in ours.
_TEXT_RATIOS = {f"{name}_ratio": (name, name) for name in ("fit_cpu_seconds", "predict_cpu_seconds")}
_TEXT_RATIOS |= {f"{MEMORY}_ratio": (MEMORY, MEMORY_BELOW)}


def ratio_name(metric: str) -> str:
    """Return the metric of the rows that compare a metric with the reference."""
    return DIFFERENCE if metric == ACCURACY else f"{metric}_ratio"


def cost_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, list[float]] | None:
    """Return the ratio of the mean costs and of the costs of each repeat; None if a denominator is 0."""
    if not all(denominators):
        return None
    return fmean(numerators) / fmean(denominators), [n / d for n, d in zip(numerators, denominators, strict=True)]


def ratio_rows(
    cells: Cells, rows: Mapping[Key, TidyRow], reference: str, columns: Collection[str] = ()
) -> Iterable[TidyRow]:
    """Yield the cost of the reference divided by that of each other column, by default of all.

    The ratio is that of the means; of several repeats the smallest and the largest ratio follow. `rows` has the scores
    by key.
    """
    metrics = [metric for metric in cells.experiment.metrics if metric in COST_METRICS]
    wanted = [pair for pair in cells.pairs if pair[1] in (columns or cells.experiment.columns) and pair[1] != reference]
    for (dataset, column), metric in itertools.product(wanted, metrics):
        published = published_ratio(cells, cells.experiment.base(dataset), column, reference, metric)
        row = TidyRow(dataset, column, f"against {reference}", ratio_name(metric), published=published)
        measured = [rows.get((dataset, name, "", metric)) for name in (reference, column)]
        told = [(one.status, one.note) if one else (UNAVAILABLE, "does not apply") for one in measured]
        lacking = next((one for one in told if one[0] != OK), None)
        found = None if lacking else cost_ratio(*(cells.metric(dataset, name, metric) for name in (reference, column)))
        if found is None:
            status, note = lacking or (UNAVAILABLE, "too little to be measured")
            yield replace(row, status=status, note=note)
            continue
        mean, of_repeats = found
        row = replace(row, n=len(of_repeats), n_test=cells.n_test(dataset, column))
        yield replace(row, mean=mean, std=stdev(of_repeats) if len(of_repeats) > 1 else None)
        for name, end in ENDS.items() if len(of_repeats) > 1 else ():
            yield replace(row, condition=f"{row.condition}, {name}", mean=end(of_repeats), published=None)


def published_ratio(cells: Cells, base: str, column: str, reference: str, metric: str) -> float | None:
    """Return the ratio of the paper's numbers, which it lists under the data set `base`."""
    name, published = MEMORY if metric == MEMORY_BELOW else metric, cells.published
    own, mine = (published.number_at(base, *published.place(one, "", name), name) for one in (column, reference))
    return float(mine.value / own.value) if own and mine and own.value else None


def memory_rows(cells: Cells) -> Iterable[TidyRow]:
    """Yield the paper's figure of memory under its own name: it is in MB, and not known to be a peak."""
    note = "published only; measured here are fit_peak_mib, predict_peak_mib and model_mib"
    for dataset, column in cells.pairs if MEMORY_BELOW in cells.experiment.metrics else ():
        if number := cells.published.number(dataset, column, MEMORY):
            yield TidyRow(dataset, column, "", MEMORY, published=float(number.value), status=UNAVAILABLE, note=note)


# What the text says ---------------------------------------------------------------------------------------------------


def texts(cells: Cells, rows: Mapping[Key, TidyRow]) -> list[dict[str, Any]]:
    """Return what the paper's text says of costs, with the same computed from its table and from our numbers.

    Each has `dataset`, `model`, `condition`, `words`, and `numbers`: `metric`, `digits` as printed, and `found`: ``its
    table`` and ``reproduced`` to the ratios (or gaps) by data set.
    """
    column_at = {cells.published.place(column): column for column in cells.experiment.columns}
    texts: dict[tuple[str, ...], dict[str, Any]] = {}
    for text in cells.published.texts():
        if text.metric not in _TEXT_RATIOS and text.metric != GAP:
            continue
        printed, ours = _TEXT_RATIOS.get(text.metric, (ACCURACY, ACCURACY))

        def of_paper(dataset: str, model: str, condition: str, metric: str = printed) -> float | None:
            number = cells.published.number_at(dataset, model, condition, metric)
            return None if number is None else float(number.value)

        def of_ours(dataset: str, model: str, condition: str, metric: str = ours) -> float | None:
            row = rows.get((dataset, column_at.get((model, condition), ""), "", metric))
            return None if row is None else row.mean

        in_table = cells.published.datasets() if text.dataset == ALL else [text.dataset]
        shown = [d for d in cells.experiment.datasets if text.dataset in (ALL, cells.experiment.base(d))]
        sides = {"its table": _computed(text, in_table, of_paper), "reproduced": _computed(text, shown, of_ours)}
        found = {side: {_said(cells, place): v for place, v in values.items()} for side, values in sides.items()}
        told: dict[str, Any] = dict(dataset=text.dataset, words=text.words)
        told |= dict(model=_said(cells, text.model), condition=_said(cells, text.condition), numbers=[])
        one = texts.setdefault(tuple(told.values())[:-1], told)
        one["numbers"].append({"metric": text.metric, "digits": text.digits, "found": found})
    return list(texts.values())


def _said(cells: Cells, words: str) -> str:
    """Write the names of columns as labels."""
    return re.sub(r"\w+", lambda name: cells.experiment.labels.get(name[0], name[0]), words)


def _computed(
    text: PublishedText, datasets: Iterable[str], value: Callable[[str, str, str], float | None]
) -> dict[str, float]:
    """Return the ratios of the models that a text names to its model, or the gap among its variants, by data set."""
    found: dict[str, float] = {}
    names = text.condition.removeprefix("against ").removeprefix("among ").replace(" and ", ", ").split(", ")
    for dataset in datasets:
        if text.metric == GAP:
            of_variants = [one for name in names if (one := value(dataset, text.model, name)) is not None]
            found |= {dataset: max(of_variants) - min(of_variants)} if len(of_variants) > 1 else {}
            continue
        for name in names:
            own, other = value(dataset, text.model, ""), value(dataset, name, "")
            if own and other:
                found[dataset if len(names) == 1 else f"{dataset} ({name})"] = other / own
    return found
