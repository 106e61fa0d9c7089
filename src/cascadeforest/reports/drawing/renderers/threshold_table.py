"""DDBF's thresholds compared (ddbf-threshold): scores, who passes at once, and where mutual information fell back.

Where mutual information passes no row the mean takes its place, so that both thresholds can make one model: equal
numbers are then said to be that, and only the mean's carry a mark.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Pair, Table, metric_head, number_cell, numbered_lines, said_once
from cascadeforest.reports.drawing.lines import Lines
from cascadeforest.reports.drawing.words import reasons
from cascadeforest.reports.numbers.frame import Key, TidyRow
from cascadeforest.reports.numbers.scores import differences, scores
from cascadeforest.reports.numbers.splits import kinds

EXTRA = "iterations"
RATE, FALLBACKS, ITERATIONS = "train_pass_rate", "fallbacks", "n_layers"
FIRST = "iteration 1"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: columns with mutual information, to the column of the same model with the mean."""

    means: dict[str, str] = field(default_factory=dict)


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment, means = cells.experiment, cells.options(Options).means
    cells.check_columns("means", (*means, *means.values()))
    scored = scores(cells)
    for dataset, column in cells.pairs:
        if not all(cells.arrays(dataset, column, EXTRA)):
            place = f"{experiment.place}/models/{column}"
            raise ConfigError(f"{place}: '{experiment.columns[column]}' has no iterations. Take it out.")
    ties = {(data, name) for data, name in cells.pairs if name in means and _is_tie(cells, data, name, means[name])}
    rows = {row.key: row for row in _rows(cells, scored, means, ties)}
    metrics = [metric for metric in experiment.metrics if any(row.metric == metric for row in scored)]
    heads = [*map(metric_head, metrics), "easy in iteration 1 (% of training rows)", "fell back to the mean"]
    lines = [line for dataset in experiment.datasets for line in said_once(_lines(cells, dataset, rows, metrics))]
    same = {name: [data for data, other in cells.pairs if other == name and (data, name) in ties] for name in means}
    found = list(differences(cells, means.items()))
    told = dict(same=same, means=means, kinds=kinds(cells), reasons=reasons(cells, scored))
    return Table.of(cells, told, rows.values(), ("data set", "model"), heads, lines, compared=found)


def _is_tie(cells: Cells, dataset: str, column: str, mean: str) -> bool:
    """Return whether a model fell back in every repeat, divided the rows as the mean does and has its numbers."""
    found = []
    for name in (column, mean):
        # The last iteration answers all rows that are left, whoever is easy in it.
        easy = [run["easy_counts_train"][:-1].tolist() for run in cells.arrays(dataset, name, EXTRA)]
        found.append((easy, [cells.metric(dataset, name, metric) for metric in cells.experiment.metrics]))
    fell_back = [bool(run["fell_back"].any()) for run in cells.arrays(dataset, column, EXTRA)]
    return bool(fell_back) and all(fell_back) and found[0] == found[1]


def _rows(cells: Cells, scored: list[TidyRow], means: dict[str, str], ties: set[Pair]) -> Iterable[TidyRow]:
    for pair in cells.pairs:
        found = [row for row in scored if (row.dataset, row.model) == pair]
        yield from (replace(row, mark="") if pair in ties else row for row in found)
        runs = cells.arrays(*pair, EXTRA)
        rates = [float(run["easy_counts_train"][0].sum() / run["class_counts_train"][0].sum()) for run in runs]
        yield cells.row(*pair, FIRST, RATE, rates)
        if pair[1] in means:
            yield cells.row(*pair, "", FALLBACKS, [float(run["fell_back"].sum()) for run in runs])
            yield cells.row(*pair, "", ITERATIONS, [float(len(run["fell_back"])) for run in runs])


def _lines(cells: Cells, dataset: str, rows: dict[Key, TidyRow], metrics: list[str]) -> Iterable[Lines]:
    def text(row: TidyRow) -> str:
        if row.metric != FALLBACKS:
            return number_cell(row).text
        counts = [rows[*row.key[:3], metric].mean or 0.0 for metric in (FALLBACKS, ITERATIONS)]
        return "{} of {} iterations".format(*(f"{n:.0f}" if n == round(n) else f"{n:.1f}" for n in counts))

    for column in cells.experiment.columns:
        own = [rows.get((dataset, column, "", metric)) for metric in metrics]
        own += [rows[dataset, column, FIRST, RATE], rows.get((dataset, column, "", FALLBACKS))]
        # Nothing to fall back from: the threshold is not mutual information.
        words = "–" if cells.all(dataset, column) else ""
        yield numbered_lines(cells, (dataset, cells.label(column)), own, text=text, words=words), own
