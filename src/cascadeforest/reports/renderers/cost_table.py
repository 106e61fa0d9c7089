"""Accuracy beside what it costs (cs-table1, cs-table2, hidf-table3), and each model's cost against one of them.

The upper part is that of `scores`: a row for each data set and model. Below stand ratios: the cost of the model that
``options: {ratio_of: column}`` names, divided by that of each other model, beside the same ratios of the paper's
numbers. Where the paper's text sums the numbers up, a note computes what it says.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.reports.derived import COST_FLOORS
from cascadeforest.reports.printed_numbers import Published, PublishedText
from cascadeforest.reports.renderers.scores import ScoresLayout
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import ALL, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, PUBLISHED, REPRODUCED, Cell, Row, decimals, number_text

#: Where we measure several peaks the papers print one figure of memory; it stands below the peak of training.
MEMORY, MEMORY_UNIT = "memory_mb", "MB"
PRINTED_AS = MappingProxyType({"fit_peak_mib": (MEMORY, MEMORY_UNIT)})
ACCURACY, DIFFERENCE = "accuracy", "accuracy_difference"
SMALLEST, LARGEST = "smallest of the repeats", "largest of the repeats"
#: Names of the papers' ratios, as in reports/published/README.md, and the cost that they are of.
_TEXT_RATIOS = MappingProxyType(
    {f"{name}_ratio": name for name in ("fit_cpu_seconds", "predict_cpu_seconds")} | {f"{MEMORY}_ratio": MEMORY}
)
_ACCURACY_GAP = "accuracy_gap"
_AGAINST, _AMONG = "against ", "among "


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its option `ratio_of` names the column whose cost is divided by the others'.
    results : Results
        What it is made from.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If `ratio_of` is no column.
    """
    rows = score_rows(experiment, results)
    layout = ScoresLayout(experiment, results, rows, PRINTED_AS)
    if not layout.by_model:
        raise ConfigError(
            f"{_place(experiment)}/metrics is {layout.metrics}; a table of costs compares several metrics. "
            "Name more of them, or take the renderer 'scores'."
        )
    ratios = _Ratios(experiment, results, layout, rows)
    view = layout.view(ratios.lines(), [*ratios.notes(), *_text_notes(experiment, layout)])
    return Table((*rows, *_memory_rows(experiment, layout.published), *ratios.rows), view)


def _place(experiment: Mapping[str, Any]) -> str:
    return f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"


def _memory_rows(experiment: Mapping[str, Any], published: Published) -> Iterable[TidyRow]:
    """The paper's figure of memory under its own name: it is in MB, and not known to be a peak."""
    for dataset in experiment["datasets"]:
        for column in experiment["columns"]:
            if number := published.number(dataset, column, MEMORY):
                note = "published only; measured here are fit_peak_mib, predict_peak_mib and model_mib"
                yield TidyRow(dataset, column, "", MEMORY, published=float(number.value), status=UNAVAILABLE, note=note)


@dataclass(frozen=True)
class CostRatio:
    """The cost of one model divided by that of another.

    Parameters
    ----------
    value : float
        Mean cost of the one divided by the mean cost of the other.
    of_repeats : tuple of float
        The same for each repeat; `value` lies among them.
    """

    value: float
    of_repeats: tuple[float, ...]


def cost_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> CostRatio | None:
    """Divide costs, repeat by repeat and their means.

    Parameters
    ----------
    numerators, denominators : sequence of float
        Costs of two models in the same repeats.

    Returns
    -------
    CostRatio or None
        None if a denominator is 0: too little to be measured.
    """
    if not all(denominators):
        return None
    of_repeats = tuple(n / d for n, d in zip(numerators, denominators, strict=True))
    return CostRatio(statistics.fmean(numerators) / statistics.fmean(denominators), of_repeats)


class _Ratios:
    """Rows and lines that compare every column with one."""

    def __init__(
        self, experiment: Mapping[str, Any], results: Results, layout: ScoresLayout, rows: Iterable[TidyRow]
    ) -> None:
        self.experiment = experiment
        self.results = results
        self.layout = layout
        self.measured = {row.key: row for row in rows}
        self.reference = experiment["options"].get("ratio_of")
        if self.reference is not None and self.reference not in experiment["columns"]:
            raise ConfigError(
                f"{_place(experiment)}/options/ratio_of is '{self.reference}'; choose one of "
                f"{', '.join(experiment['columns'])}, or leave it out."
            )
        others = [column for column in experiment["columns"] if column != self.reference]
        self.others = [] if self.reference is None else others
        self.rows = tuple(
            row for dataset in experiment["datasets"] for column in self.others for row in self._rows(dataset, column)
        )

    @property
    def label(self) -> str:
        """The reference in words."""
        return self.experiment["labels"][self.reference]

    @property
    def condition(self) -> str:
        """What names the rows, as in the published files."""
        return f"{_AGAINST}{self.reference}"

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        for metric in self.layout.metrics:
            if metric in COST_METRICS:
                yield from self._ratio_rows(dataset, column, metric)
            elif metric == ACCURACY:
                yield self._difference_row(dataset, column)

    def _ratio_rows(self, dataset: str, column: str, metric: str) -> Iterable[TidyRow]:
        row = TidyRow(
            dataset, column, self.condition, f"{metric}_ratio", published=self._printed(metric, dataset, column)
        )
        values = self._values(dataset, column, metric)
        if isinstance(values, TidyRow):
            yield replace(row, status=values.status, note=values.note)
            return
        ratio = cost_ratio(*values)
        if ratio is None:
            yield replace(row, status=UNAVAILABLE, note="too little to be measured")
            return
        mine = self.measured[dataset, column, "", metric]
        spread = statistics.stdev(ratio.of_repeats) if len(ratio.of_repeats) > 1 else None
        yield replace(row, mean=ratio.value, std=spread, n=mine.n, n_test=mine.n_test)
        if len(ratio.of_repeats) > 1:
            for name, value in ((SMALLEST, min(ratio.of_repeats)), (LARGEST, max(ratio.of_repeats))):
                yield TidyRow(
                    dataset, column, f"{self.condition}, {name}", row.metric, value, n=mine.n, n_test=mine.n_test
                )

    def _difference_row(self, dataset: str, column: str) -> TidyRow:
        """Accuracy of a column minus that of the reference, paired by repeats."""
        numbers = [self.layout.published.number(dataset, name, ACCURACY) for name in (column, self.reference)]
        printed = None if None in numbers else float(numbers[0].value - numbers[1].value)
        row = TidyRow(dataset, column, self.condition, DIFFERENCE, published=printed)
        values = self._values(dataset, column, ACCURACY)
        if isinstance(values, TidyRow):
            return replace(row, status=values.status, note=values.note)
        differences = [theirs - reference for reference, theirs in zip(*values, strict=True)]
        mine = self.measured[dataset, column, "", ACCURACY]
        spread = statistics.stdev(differences) if len(differences) > 1 else None
        return replace(row, mean=statistics.fmean(differences), std=spread, n=mine.n, n_test=mine.n_test)

    def _values(self, dataset: str, column: str, metric: str) -> tuple[list[float], list[float]] | TidyRow:
        """Numbers of the reference and of the column, repeat by repeat, or the row that says why there are none."""
        pair = [self.measured.get((dataset, name, "", metric)) for name in (self.reference, column)]
        for row in pair:
            if row is None or row.status != OK:
                return row or TidyRow(dataset, column, "", metric, status=UNAVAILABLE, note="does not apply")
        repeats = self.experiment["repeats"][dataset]
        presets = [self.experiment["columns"][name] for name in (self.reference, column)]
        cells = [self.results.cells(dataset, preset, repeats) for preset in presets]
        return tuple([cell["metrics"][metric] for cell in part] for part in cells)

    def _printed(self, metric: str, dataset: str, column: str) -> float | None:
        name = PRINTED_AS.get(metric, (metric, ""))[0]
        pair = [self.layout.published.number(dataset, other, name) for other in (self.reference, column)]
        return None if None in pair or not pair[1].value else float(pair[0].value / pair[1].value)

    # Lines --------------------------------------------------------------------------------------------------------

    def lines(self) -> Iterable[Row]:
        """A line for each data set and column, with the ratios of the paper's numbers below."""
        rows = {row.key: row for row in self.rows}
        for dataset in self.experiment["datasets"]:
            for column in self.others:
                keys = [(dataset, column, self.condition, self._name(metric)) for metric in self.layout.metrics]
                found = [rows.get(key) for key in keys]
                labels = f"{dataset}, cost of {self.label} divided by the model's", self.experiment["labels"][column]
                has_numbers = any(row is not None and row.mean is not None for row in found)
                if has_numbers:
                    size = ", ".join(sorted({f"{row.n} × {row.n_test:,}" for row in found if row and row.n}))
                    yield Row((*labels, REPRODUCED), tuple(self._cell(row, rows) for row in found), REPRODUCED, size)
                elif any(row is not None and row.published is not None for row in found):
                    words = {row.status: None for row in found if row is not None}
                    yield Row((*labels, REPRODUCED), (Cell(", ".join(words), is_word=True),) * len(found), REPRODUCED)
                if any(row is not None and row.published is not None for row in found):
                    yield Row((*labels, PUBLISHED), tuple(map(_printed_cell, found)), PUBLISHED)

    @staticmethod
    def _name(metric: str) -> str:
        return DIFFERENCE if metric == ACCURACY else f"{metric}_ratio"

    def _cell(self, row: TidyRow | None, rows: Mapping[tuple, TidyRow]) -> Cell:
        if row is None:
            return Cell("not compared", is_word=True)
        if row.mean is None:
            return Cell(row.note if row.note == "too little to be measured" else row.status, is_word=True)
        if row.metric == DIFFERENCE:
            sign = "+" if row.mean > 0 else ""
            return Cell(f"{sign}{number_text(DIFFERENCE, row.mean, row.std)} points".replace("-", "−"))
        ends = [rows.get((*row.key[:2], f"{self.condition}, {name}", row.metric)) for name in (SMALLEST, LARGEST)]
        text = number_text(row.metric, row.mean, None)
        if None in ends:
            return Cell(text)
        places = decimals(row.metric, row.mean)
        return Cell(f"{text} ({ends[0].mean:,.{places}f} to {ends[1].mean:,.{places}f})")

    def notes(self) -> Iterable[str]:
        """Say what the ratios are."""
        metrics = set(self.layout.metrics)
        if self.reference is not None and metrics & COST_METRICS:
            text = (
                f"Ratios: mean cost of {self.label} divided by that of the model, above 1 where the model is cheaper; "
                "in brackets the smallest and the largest ratio of a single repeat."
            )
            if ACCURACY in metrics:
                text += f" Beside them the accuracy of the model minus that of {self.label}, in percent points."
            yield f"{text} The published ratios are computed from the published numbers."
            if any(self._is_small(row) for row in self.measured.values()):
                floors = " and ".join(f"{floor:g} {unit}" for unit, floor in COST_FLOORS.items())
                yield f"Ratios of costs below {floors} are mostly noise; there are some here."
        if metrics & PRINTED_AS.keys() and self._prints_memory():
            yield (
                "Memory: the paper prints one figure, in MB, and does not say how it was measured; it stands below our "
                "peak of training, which is in MiB (1 MiB = 1.049 MB), and is not converted."
            )

    @staticmethod
    def _is_small(row: TidyRow) -> bool:
        return row.metric in COST_METRICS and row.mean is not None and row.mean < COST_FLOORS[METRICS[row.metric].unit]

    def _prints_memory(self) -> bool:
        published = self.layout.published
        return any(
            published.number(dataset, column, MEMORY)
            for dataset in self.experiment["datasets"]
            for column in self.experiment["columns"]
        )


def _printed_cell(row: TidyRow | None) -> Cell:
    if row is None or row.published is None:
        return Cell(NOT_PRINTED, is_word=True)
    if row.metric == DIFFERENCE:
        sign = "+" if row.published > 0 else ""
        return Cell(f"{sign}{number_text(DIFFERENCE, row.published, None)} points".replace("-", "−"))
    return Cell(number_text(row.metric, row.published, None))


# What the text says --------------------------------------------------------------------------------------------------


def _text_notes(experiment: Mapping[str, Any], layout: ScoresLayout) -> Iterable[str]:
    """Sentences of the paper's text that sum numbers up, with the same computed from its table and from ours."""
    groups: dict[tuple[str, ...], list[PublishedText]] = {}
    for text in layout.published.texts():
        if text.metric in _TEXT_RATIOS or text.metric == _ACCURACY_GAP:
            groups.setdefault((text.dataset, text.model, text.condition, text.words), []).append(text)
    for (dataset, model, condition, words), texts in groups.items():
        where = "" if dataset == ALL else f" on {dataset}"
        computed = [_computed(experiment, layout, text) for text in texts]
        yield f"The paper's text on {_said(model)}, {_said(condition)}{where}: “{words}”. {' '.join(computed)}"


def _said(name: str) -> str:
    return name.replace("gcforest_cs", "gcForest_CS").replace("gcforest", "gcForest").replace("hidf", "hiDF")


def _computed(experiment: Mapping[str, Any], layout: ScoresLayout, text: PublishedText) -> str:
    """What one number of the text is in the paper's table and in ours."""
    is_gap = text.metric == _ACCURACY_GAP
    sides = _gaps(experiment, layout, text) if is_gap else _ratios(experiment, layout, text)
    what = "Accuracy gap in points" if is_gap else f"Ratio of {_cost_words(text.metric)}"
    parts = [f"{text.digits} (text)"]
    for name, values in zip(("its table", "reproduced"), sides, strict=True):
        if values:
            parts.append(f"{', '.join(f'{value} on {place}' for place, value in values.items())} ({name})")
    return f"{what}: {'; '.join(parts)}."


def _cost_words(metric: str) -> str:
    cost = _TEXT_RATIOS[metric]
    return "memory" if cost == MEMORY else METRICS[cost].label


def _ratios(
    experiment: Mapping[str, Any], layout: ScoresLayout, text: PublishedText
) -> tuple[dict[str, str], dict[str, str]]:
    """Ratios of the models that the condition names to this one: of the paper's numbers, of ours."""
    cost = _TEXT_RATIOS[text.metric]
    ours = next((ours for ours, (printed, _) in PRINTED_AS.items() if printed == cost), cost)
    references = _listed(text.condition.removeprefix(_AGAINST))
    published, printed, reproduced = layout.published, {}, {}
    for dataset in published.datasets() if text.dataset == ALL else [text.dataset]:
        for reference in references:
            pair = [published.number_at(dataset, model, "", cost) for model in (reference, text.model)]
            if None not in pair:
                place = dataset if len(references) == 1 else f"{dataset} ({_said(reference)})"
                printed[place] = _three_digits(float(pair[0].value / pair[1].value))
    for dataset in _datasets(experiment, text):
        for reference in references:
            pair = [layout.rows.get((dataset, column, "", ours)) for column in (reference, text.model)]
            if None not in pair and all(row.mean for row in pair):
                place = dataset if len(references) == 1 else f"{dataset} ({_said(reference)})"
                reproduced[place] = _three_digits(pair[0].mean / pair[1].mean)
    return printed, reproduced


def _gaps(
    experiment: Mapping[str, Any], layout: ScoresLayout, text: PublishedText
) -> tuple[dict[str, str], dict[str, str]]:
    """Largest minus smallest accuracy among the variants that the condition names: the paper's, ours."""
    conditions = _listed(text.condition.removeprefix(_AMONG))
    published = layout.published
    columns = [c for c in experiment["columns"] if published.place(c) in {(text.model, name) for name in conditions}]
    printed, reproduced = {}, {}
    for dataset in published.datasets() if text.dataset == ALL else [text.dataset]:
        numbers = [published.number_at(dataset, text.model, condition, ACCURACY) for condition in conditions]
        if None not in numbers:
            values = [100 * number.value for number in numbers]
            printed[dataset] = f"{max(values) - min(values):.2f}"
    for dataset in _datasets(experiment, text):
        rows = [layout.rows.get((dataset, column, "", ACCURACY)) for column in columns]
        if len(rows) > 1 and all(row is not None and row.mean is not None for row in rows):
            values = [100 * row.mean for row in rows]
            reproduced[dataset] = f"{max(values) - min(values):.2f}"
    return printed, reproduced


def _datasets(experiment: Mapping[str, Any], text: PublishedText) -> list[str]:
    """Rows of the table that a number of the text is about."""
    return [d for d in experiment["datasets"] if text.dataset in (ALL, experiment["published_as"].get(d, d))]


def _listed(words: str) -> list[str]:
    """Names in an enumeration: 'a, b and c'."""
    return [part for chunk in words.split(", ") for part in chunk.split(" and ")]


def _three_digits(value: float) -> str:
    return number_text("fit_cpu_seconds_ratio", value, None)
