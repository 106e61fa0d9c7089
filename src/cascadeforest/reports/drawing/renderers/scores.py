"""Scores of models on data sets, mean and deviation over repeats, with the paper's numbers below.

One metric: models are columns. Several metrics: a line for each model, metrics are columns, as the papers print
accuracy beside time and memory. ``options: {splits: n}``: a line for each split and metric, models are columns.
``{differences: {to: column, of: [...]}}`` compares these columns with that one in a table below, ``{ratio_of: column}``
adds the cost of that column divided by the cost of each other one, ``{equal_trees: {column: other}}`` the same of
single pairs that have the same number of trees. ``{control: true}``: a model is compared with itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cell, Cells, Row, Table, differences_below, metric_head, reasons, told_of
from cascadeforest.reports.drawing import lines as draw
from cascadeforest.reports.numbers import costs, scores
from cascadeforest.reports.numbers.differences import Difference, outcomes, pairs_of
from cascadeforest.reports.numbers.frame import ALL, Key, TidyRow
from cascadeforest.reports.numbers.metrics import COST_FLOORS
from cascadeforest.reports.numbers.splits import conditions, kinds

NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Differences:
    """The column that is subtracted, and the columns it is subtracted from."""

    to: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Options:
    """Options of the experiment: number of splits that the paper prints, and what is compared."""

    splits: int | None = None
    differences: Differences | None = None
    ratio_of: str | None = None
    equal_trees: dict[str, str] = field(default_factory=dict)
    control: bool = False


@dataclass(frozen=True)
class Layout:
    """The numbers by key, and what stands in the lines of a data set: labels, and column and metric of each number."""

    cells: Cells
    found: dict[Key, TidyRow]
    grid: list[tuple[tuple[str, ...], list[tuple[str, str]]]]

    def lines(
        self, dataset: str, condition: str | Mapping[str, str], name: Callable[[str], str] = str
    ) -> Iterable[tuple[tuple[str, ...], list[str], list[TidyRow | None]]]:
        """Yield labels, columns and numbers of each line that has any; `name` gives the rows' metric for a metric."""
        metrics = self.cells.experiment.metrics
        where = dict.fromkeys(metrics, condition) if isinstance(condition, str) else condition
        for labels, keys in self.grid:
            places = [(dataset, column, where.get(metric, metric), name(metric)) for column, metric in keys]
            rows = [self.found.get(place) for place in places]
            if any(rows):
                yield labels, [column for column, _ in keys], rows


def render(cells: Cells) -> Table:
    """Make the table."""
    experiment, options = cells.experiment, _checked(cells)
    scored = scores.scores(cells)
    measured = list(scores.split_scores(cells, options.splits)) if options.splits else scored
    rows = [*measured, *scores.summaries(cells, scored), *costs.memory_rows(cells)]
    found, below = _differences(cells, options)
    counts = outcomes(cells, below)
    rows += [*(one.row for one in found), *counts]
    if options.ratio_of:
        rows += costs.ratio_rows(cells, {row.key: row for row in measured}, options.ratio_of)
    for column, other in options.equal_trees.items():
        rows += costs.ratio_rows(cells, {row.key: row for row in measured}, other, (column,))
    layout = Layout(cells, {row.key: row for row in rows}, _grid(cells, options))
    several = len(experiment.metrics) > 1
    heads = map(metric_head, experiment.metrics) if several and not options.splits else experiment.labels.values()
    label_heads = ("data set", "split", "measure") if options.splits else ("data set", "model")[: 1 + several]
    told = _told(layout, options) | {"intervals": told_of(found, options.control)}
    lines = _lines(layout, options)
    return Table.of(cells, told, rows, label_heads, heads, lines, folded=differences_below(cells, below, counts))


def _differences(cells: Cells, options: Options) -> tuple[list[Difference], list[Difference]]:
    """Return all differences, and those that tables below show."""
    experiment = cells.experiment
    pairs = [(column, options.differences.to) for column in options.differences.of] if options.differences else []
    below = [*pairs, *pairs_of(cells)]
    if options.ratio_of:
        pairs += [(column, options.ratio_of) for column in experiment.columns if column != options.ratio_of]
    pairs += options.equal_trees.items()
    found = list(scores.differences(cells, dict.fromkeys([*pairs, *below])))
    return found, [one for one in found if (one.row.model, one.row.condition.removeprefix("against ")) in below]


def _checked(cells: Cells) -> Options:
    options, experiment = cells.options(Options), cells.experiment
    if options.splits is not None and options.splits < 1:
        raise ConfigError(f"{experiment.place}/options/splits is {options.splits}; give the paper's number of splits.")
    if options.differences:
        scores.check_once(cells, "differences", (options.differences.to, *options.differences.of))
    cells.check_columns("equal_trees", [*options.equal_trees, *options.equal_trees.values()])
    if options.ratio_of or options.equal_trees:
        cells.check_columns("ratio_of", [options.ratio_of] if options.ratio_of else [])
        if len(experiment.metrics) < 2:
            raise ConfigError(f"{experiment.place}/metrics is {list(experiment.metrics)}; ratios need several metrics.")
    return options


def _grid(cells: Cells, options: Options) -> list[tuple[tuple[str, ...], list[tuple[str, str]]]]:
    columns, metrics = list(cells.experiment.columns), cells.experiment.metrics
    if options.splits:
        return [((metric_head(metric),), [(column, metric) for column in columns]) for metric in metrics]
    if len(metrics) == 1:
        return [((), [(column, metrics[0]) for column in columns])]
    return [((cells.label(column),), [(column, metric) for metric in metrics]) for column in columns]


# Lines ----------------------------------------------------------------------------------------------------------------


def _lines(layout: Layout, options: Options) -> Iterable[Row]:
    cells, experiment = layout.cells, layout.cells.experiment
    for dataset in experiment.datasets:
        yield from draw.said_once(_dataset_lines(layout, dataset, options.splits))
    summarised = scores.summarised_metrics(experiment)
    if experiment.average_rank is not None:
        yield from _summary_lines(layout, "average rank", ["average_rank"], summarised, "not ranked")
    if reference := experiment.win_tie_lose:
        label = f"win/tie/lose of {cells.label(reference)}"
        yield from _summary_lines(layout, label, scores.OUTCOMES, summarised, NOT_COMPARED, reference)
    for other in dict.fromkeys([*([options.ratio_of] if options.ratio_of else []), *options.equal_trees.values()]):
        yield from _ratio_lines(layout, other)


def _dataset_lines(layout: Layout, dataset: str, n_splits: int | None) -> Iterable[draw.Lines]:
    cells = layout.cells
    for condition in conditions(cells, dataset, n_splits) if n_splits else [""]:
        for labels, columns, rows in layout.lines(dataset, condition):
            heads = tuple(filter(None, (dataset, condition, *labels)))
            own = draw.numbered_lines(cells, heads, rows, words="not applicable", printed=partial(_published, cells))
            # A line without any number for each data set would bury the others: a note names these models.
            if len(own) > 1 or not set(columns) <= cells.experiment.missing_models.keys():
                yield own, rows


def _published(cells: Cells, row: TidyRow) -> Cell:
    """Write the paper's number; its one figure of memory stands below our peak of training."""
    memory = cells.published.number(row.dataset, row.model, costs.MEMORY) if row.metric == costs.MEMORY_BELOW else None
    if memory is None:
        return draw.published_cell(cells, row)
    cell = draw.printed_cell(costs.MEMORY, memory)
    return replace(cell, text=f"{cell.text} MB")


def _summary_lines(
    layout: Layout, label: str, names: list[str], of_metrics: dict[str, str], words: str, reference: str = ""
) -> Iterable[Row]:
    """Lines over all data sets: the rows `names`, joined in a cell; `of_metrics` has their condition by metric."""
    cells, places = layout.cells, 3 if len(names) == 1 else 0

    def text(row: TidyRow) -> str:
        return "/".join(f"{layout.found[*row.key[:3], name].mean:.{places}f}" for name in names)

    def printed(row: TidyRow) -> Cell:
        numbers = [cells.published.number(ALL, row.model, name, row.condition) for name in names]
        texts = [f"{number.value:f}" for number in numbers if number is not None]
        return Cell("/".join(texts)) if len(texts) == len(names) else draw.NOT_PRINTED

    for labels, columns, rows in layout.lines(ALL, of_metrics, lambda _: names[0]):
        n = max(row.n or 0 for row in rows if row is not None)
        size = f"over {n} data set{'s' if n > 1 else ''}" if n else ""
        apart = ["reference" if column == reference else words for column in columns]
        first, *others = draw.numbered_lines(cells, (label, *labels), rows, size, text, apart, printed)
        yield from (replace(first, kind=draw.SUMMARY), *others)


def _ratio_lines(layout: Layout, reference: str) -> Iterable[Row]:
    cells, against = layout.cells, f"against {reference}"

    def name(metric: str) -> str:
        return costs.DIFFERENCE if metric == "accuracy" else f"{metric}_ratio"

    def text(row: TidyRow) -> str:
        if row.metric == costs.DIFFERENCE:
            return draw.difference_cell(row, " points").text
        return draw.ratio_text(row, layout.found)

    def printed(row: TidyRow) -> Cell:
        cell = draw.published_cell(cells, row)
        is_points = row.metric == costs.DIFFERENCE and not cell.is_word
        return replace(cell, text=f"{cell.text} points") if is_points else cell

    for dataset in cells.experiment.datasets:
        label = f"{dataset}, cost of {cells.label(reference)} divided by the model's"
        for labels, _, rows in layout.lines(dataset, against, name):
            if any(row is not None and (row.mean is not None or row.published is not None) for row in rows):
                yield from draw.numbered_lines(cells, (label, *labels), rows, None, text, NOT_COMPARED, printed)


# Notes ----------------------------------------------------------------------------------------------------------------


def _told(layout: Layout, options: Options) -> dict[str, object]:
    cells, metrics, rows = layout.cells, layout.cells.experiment.metrics, list(layout.found.values())
    ran = [cell for pair in cells.pairs for cell in cells.all(*pair)]
    shown = [row for row in rows if row.dataset != ALL and row.metric in metrics]
    return dict(
        options=options,
        what=metric_head(metrics[0]) if len(metrics) == 1 else "",
        conditions={row.condition for row in shown},
        kinds=kinds(cells) if options.splits else [],
        ranked_over=scores.ranked_datasets(cells),
        floors=COST_FLOORS,
        threads=sorted({cell.threads for cell in ran}),
        memory_methods=sorted({cell.costs.memory_method for cell in ran if cell.costs.memory_method}),
        prints_memory=any(row.metric == costs.MEMORY for row in rows),
        reasons=reasons(cells, shown),
    )
