"""How well importances tell relevant features from permuted copies: AUC by method (interp-table4, interp-table5).

``options: {columns: {name: {model: ..., extra: ..., label: ...}}}`` names the importances, ``compared`` those that are
ranked and marked against each other (default all), ``test`` the column that the others are tested against, and
``second_test`` another one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Table, TidyRow, numbered_lines, reasons
from cascadeforest.reports.numbers import importances
from cascadeforest.reports.numbers.differences import Difference, of_repeats
from cascadeforest.reports.numbers.scores import with_published
from cascadeforest.reports.numbers.statistics import RankSumTest, mark_worse, ranked

AUC = "roc_auc"
NOT_FINITE = "an importance is no finite number"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the importances, which of them are compared, and a test of one against others."""

    columns: dict[str, dict[str, str]]
    test: RankSumTest
    compared: tuple[str, ...] = ()
    second_test: RankSumTest | None = None


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment = cells.experiment
    importances.check_has_copies(experiment)
    columns, options = importances.importance_columns(experiment), cells.options(Options)
    compared, place = list(options.compared or columns), f"{experiment.place}/options"
    if unknown := [name for name in compared if name not in columns]:
        raise ConfigError(f"{place}/compared has '{unknown[0]}'; choose from {', '.join(columns)}.")
    tests = (options.test, [*compared, *options.test.named()]), (options.second_test, columns)
    rows = mark_worse(ranked(_areas(cells, columns), compared, experiment.marks), place, tests)
    references = [test.column for test, _ in tests if test]
    below = [one for name in references for one in _differences(cells, columns, rows, name)]
    lines = []
    for dataset in experiment.datasets:
        shown = [row for row in rows if row.dataset == dataset]
        half = cells.facts(dataset).get("features", 0) // 2
        size = ", ".join(f"{n} × ({half:,} + {half:,})" for n in sorted({row.n for row in shown if row.n is not None}))
        lines += numbered_lines(cells, (dataset,), shown, size)
    labels = {name: column.label for name, column in columns.items()}
    fewer: dict[int, list[str]] = {}
    for column in columns.values():
        n = experiment.extra_repeats.get(column.extra)
        if n is not None and n < max(experiment.repeats.values()):
            fewer.setdefault(n, []).append(column.label)
    told = dict(
        test=options.test,
        second_test=options.second_test,
        labels=labels,
        fewer=fewer,
        reasons=reasons(cells, rows, lambda row: columns[row.model].label),
        explained=list(importances.explained_by_rows(experiment, rows, labels)),
    )
    size, heads = "repeats × (features + copies)", labels.values()
    return Table.of(cells, told, rows, ["data set"], heads, lines, size, compared=below, labels=labels)


def _differences(
    cells: Cells, columns: Mapping[str, importances.ImportanceColumn], rows: Iterable[TidyRow], reference: str
) -> Iterable[Difference]:
    """Yield the differences of the areas of each importance and of the one that others are compared with."""
    found = {(row.dataset, row.model): row.values for row in rows}
    for dataset in cells.experiment.datasets:
        for name in columns:
            own, other = (found[dataset, one] for one in (name, reference))
            row = TidyRow(dataset, name, f"against {reference}", f"{AUC}_difference")
            n = min(len(own), len(other))  # an importance that takes long is of the first repeats only
            if name != reference and n:
                yield of_repeats(cells, row, own[:n], other[:n], columns[name].model)


def _areas(cells: Cells, columns: Mapping[str, importances.ImportanceColumn]) -> Iterable[TidyRow]:
    """Yield the AUC of each importance."""
    for dataset in cells.experiment.datasets:
        for name, column in columns.items():
            saved = cells.arrays(dataset, column.model, column.extra)
            areas = [importances.ranking_auc(arrays["importances"]) for arrays in saved]
            row = cells.row(dataset, column.model, "", AUC, areas, why_not=NOT_FINITE)
            yield with_published(cells, replace(row, model=name, n_test=None))  # a rank of what is not finite is none
