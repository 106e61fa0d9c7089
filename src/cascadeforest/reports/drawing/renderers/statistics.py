"""Facts about data sets as they were loaded, and test errors on them, with the paper's numbers below.

``options: {facts: {fact: head}}`` names the facts (hidf-table1, interp-table3), ``class_counts: true`` adds the rows of
each class, ``test`` a test of one model's errors against others. The error is 1 - accuracy, in regression the RMSE.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cell, Cells, Row, Table, number_text, numbered_lines, published_cell, reasons
from cascadeforest.reports.numbers.differences import difference, pairs_of
from cascadeforest.reports.numbers.frame import UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.importances import explained_by_rows
from cascadeforest.reports.numbers.scores import score, scores, with_published
from cascadeforest.reports.numbers.statistics import RankSumTest, mark_worse

ACCURACY, ERROR, RMSE, REGRESSION = "accuracy", "error_rate", "rmse", "regression"
CLASS_COUNT, DIFFERS = "class_count", "differs"
#: Up to so many classes are listed; of more, the smallest and the largest count is shown.
N_LISTED = 7


@dataclass(frozen=True)
class Options:
    """Options of the experiment: facts with the heads of their columns, and what else is shown."""

    facts: dict[str, str]
    class_counts: bool = False
    test: RankSumTest | None = None
    second_test: RankSumTest | None = None


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment, options = cells.experiment, cells.options(Options)
    facts = [row for dataset in experiment.datasets for row in _facts(cells, dataset, options)]
    errors = _errors(cells, options) if experiment.columns else []
    found = [difference(cells, d, *pair, _error(cells, d)) for pair in pairs_of(cells) for d in experiment.datasets]
    heads = [*options.facts.values(), *(["rows of each class"] if options.class_counts else [])]
    heads += [f"test error, {label}" for label in experiment.labels.values()]
    lines = [line for dataset in experiment.datasets for line in _lines(cells, dataset, options, [*facts, *errors])]
    told = dict(
        options=options,
        n_listed=N_LISTED,
        differs=any(row.mark == DIFFERS for row in facts),
        reasons=reasons(cells, errors),
        explained=list(explained_by_rows(experiment, errors, experiment.labels)),
    )
    size = "repeats × test rows" if experiment.columns else ""
    return Table.of(cells, told, [*facts, *errors], ["data set"], heads, lines, size, compared=found)


def _facts(cells: Cells, dataset: str, options: Options) -> Iterable[TidyRow]:
    """Yield the facts, then the counts of the classes in the order of their codes (JSON has them by name)."""
    facts, absent = cells.facts(dataset), cells.experiment.absent.get(dataset)
    for fact in options.facts:
        row = with_published(cells, TidyRow(dataset, "", "", fact))
        if absent or not facts:
            yield replace(row, status=UNAVAILABLE, note=absent or "not prepared")
        elif facts.get(fact) is None:
            yield replace(row, status=UNAVAILABLE, note=REGRESSION)
        else:
            differs = row.published is not None and row.published != facts[fact]
            yield replace(row, mean=float(facts[fact]), mark=DIFFERS if differs else "")
    for name in facts["class_names"] if options.class_counts and facts and not absent else ():
        yield TidyRow(dataset, "", f"class {name}", CLASS_COUNT, mean=float(facts["class_counts"][name]))


def _errors(cells: Cells, options: Options) -> list[TidyRow]:
    """Return the rows of test errors."""
    experiment = cells.experiment
    if set(experiment.metrics) != {ACCURACY, RMSE}:
        found = f"{experiment.place}/metrics is {list(experiment.metrics)}"
        raise ConfigError(f"{found}; errors are made of {ACCURACY} and {RMSE}.")
    rows = scores(cells, (score(cells, *pair, _error(cells, pair[0])) for pair in cells.pairs))
    tests = [(test, experiment.columns) for test in (options.test, options.second_test)]
    return mark_worse(rows, f"{experiment.place}/options", tests)


def _error(cells: Cells, dataset: str) -> str:
    """Return the error of a data set; of one that is not prepared the paper's numbers say which it is."""
    if facts := cells.facts(dataset):
        return RMSE if facts["task"] == REGRESSION else ERROR
    printed = any(cells.published.number(dataset, column, RMSE) for column in cells.experiment.columns)
    return RMSE if printed else ERROR


def _lines(cells: Cells, dataset: str, options: Options, rows: list[TidyRow]) -> list[Row]:
    own = [row for row in rows if row.dataset == dataset]
    counts = [row for row in own if row.metric == CLASS_COUNT]

    def text(row: TidyRow) -> str:
        if row.model:
            return number_text(row.metric, row.number, row.std)
        numbers = [one.number for one in counts] if row.metric == CLASS_COUNT else [row.number]
        numbers = numbers if len(numbers) <= N_LISTED else [min(numbers), max(numbers)]
        return (" / " if len(counts) <= N_LISTED else " to ").join(f"{number:,.0f}" for number in numbers)

    def printed(row: TidyRow) -> Cell:
        return Cell(REGRESSION, is_word=True) if row.note == REGRESSION else published_cell(cells, row)

    shown: list[TidyRow | None] = [row for row in own if row.metric in options.facts]
    shown += (counts[:1] or [None]) if options.class_counts else []
    shown += [row for row in own if row.model]
    return numbered_lines(cells, (dataset,), shown, text=text, printed=printed)
