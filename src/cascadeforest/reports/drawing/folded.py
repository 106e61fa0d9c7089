"""Tables that are folded away below a main table, and what notes say of differences and of costs timed in turn."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from cascadeforest.inference.intervals import most_by_chance
from cascadeforest.reports.drawing.lines import (
    SUMMARY,
    Cell,
    Row,
    TableView,
    decimals,
    difference_cell,
    metric_head,
    number_cell,
    number_text,
    published_cell,
    with_interval,
)
from cascadeforest.reports.drawing.words import together
from cascadeforest.reports.numbers import costs
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import EQUAL, OUTCOMES, Difference
from cascadeforest.reports.numbers.frame import OK, TidyRow
from cascadeforest.reports.numbers.growth import CHOSEN, GROWN, KEPT, METRICS, growth_numbers
from cascadeforest.reports.numbers.metrics import COST_FLOORS, COUNTS, known_metric

#: Behind a difference that holds for these training sets only.
HERE = "†"
#: Cores of the machine that other work may keep busy without a word.
IDLE = 0.1


def _below(
    cells: Cells, title: str, label_heads: Iterable[str], heads: Iterable[str], size: str, lines: Iterable[Row]
) -> TableView:
    place = cells.experiment.id, title, cells.results.suite
    return TableView(*place, tuple(label_heads), tuple(heads), size, tuple(lines))


# Differences ---------------------------------------------------------------------------------------------------------


def differences(
    cells: Cells, found: Sequence[Difference], counts: Iterable[TidyRow] = (), labels: Mapping[str, str] | None = None
) -> Iterable[TableView]:
    """Yield a table for each model that others are compared with: a line for each data set and metric.

    `counts` are the rows over all data sets, `labels` the words for the models that are compared, by default those of
    the columns.
    """
    words, counts = labels or cells.experiment.labels, list(counts)
    for condition in dict.fromkeys(one.row.condition for one in found):
        reference = condition.removeprefix("against ")
        own = {one.row.key: one for one in found if one.row.condition == condition}
        columns = list(dict.fromkeys(one.row.model for one in own.values()))
        keys = list(dict.fromkeys((one.row.dataset, one.row.metric) for one in own.values()))
        several = len({metric for _, metric in keys}) > 1
        lines = []
        for dataset, metric in keys:
            line = [own[dataset, column, condition, metric] for column in columns]
            if any(one.row.mean is not None for one in line):  # else the table above says why
                names = (dataset, _head(metric))[: 1 + several]
                lines.append(Row(names, tuple(map(_difference, line)), size=_basis(line)))
        if not lines:
            continue
        for over in dict.fromkeys(row.condition for row in counts if row.condition.startswith(f"{reference}, ")):
            by_name = {(row.model, row.metric): row.mean for row in counts if row.condition == over}
            names = f"{'/'.join(OUTCOMES)} of {words[reference]}", known_metric(over.partition(", ")[2]).label
            numbers = ([by_name[column, f"decided_{name}"] for name in OUTCOMES] for column in columns)
            lines.append(Row(names[: 1 + several], tuple(map(_counted, numbers)), kind=SUMMARY))
        head = "Differences" if several else f"Differences of {_head(keys[0][1])}"
        title = f"{head}: each model minus {words[reference]}, with 95 % intervals"
        label_heads, heads = ("data set", "measure")[: 1 + several], [words[column] for column in columns]
        yield _below(cells, title, label_heads, heads, "interval over", lines)


def _head(metric: str) -> str:
    """Write what is compared with the unit of its differences: ``accuracy (points)``."""
    shown = known_metric(metric.removesuffix("_difference"))
    unit = "points" if shown.percent else shown.unit
    return f"{shown.label} ({unit})" if unit else shown.label


def _difference(one: Difference) -> Cell:
    cell = difference_cell(one.row)
    return Cell(f"{cell.text} {HERE}", is_word=cell.is_word) if one.only_here else cell


def _counted(numbers: Sequence[float | None]) -> Cell:
    known = [f"{number:.0f}" for number in numbers if number is not None]
    return Cell("/".join(known)) if len(known) == len(numbers) else Cell("not compared", is_word=True)


def _basis(line: Sequence[Difference]) -> str:
    """Write what the intervals of a line are over, where their variance comes from, and what they could find."""
    words = "; ".join(dict.fromkeys(one.why if one.interval else f"none: {one.why}" for one in line if one.why))
    shares = [vars(one.interval.shares) for one in line if one.interval and one.interval.shares]
    parts = ", ".join(f"{name} {100 * fmean(one[name] for one in shares):.0f} %" for name in next(iter(shares), ()))
    finds = _range(line)
    return "; ".join(filter(None, [words, parts and f"variance: {parts}", finds and f"finds {finds}"]))


def _range(found: Iterable[Difference]) -> str:
    """Write the smallest differences that could be found: ``0.81 to 1.42``; nothing if they are not known."""
    values = [(one.row.smallest, one.row.metric) for one in found if one.row.smallest is not None]
    ends = (min(values), max(values)) if values else ()
    return " to ".join(dict.fromkeys(number_text(metric, end, None) for end, metric in ends))


def told_of(found: Sequence[Difference], is_control: bool = False) -> dict[str, object] | None:
    """Return what notes say of the intervals of a table; None if it has no differences.

    `is_control`: a model is compared with itself, and notes say how many intervals exclude 0.
    """
    if not found:
        return None
    decided = [one for one in found if one.interval]
    n, metrics = len(decided), dict.fromkeys(one.row.metric for one in found)
    smallest = {_head(metric): _range(one for one in found if one.row.metric == metric) for metric in metrics}
    lacking = ((one.why, "", one.row.dataset) for one in found if one.why and not one.interval)
    needed: dict[str, int] = {}
    for one in found:
        if one.rows_needed:
            needed[one.row.dataset] = max(needed.get(one.row.dataset, 0), one.rows_needed)
    return dict(
        designs={one.design for one in decided},
        this_fit=any(one.why.endswith("this fit") for one in found),
        these_rows=any(one.why.endswith("for these rows") for one in found),
        smallest={metric: text for metric, text in smallest.items() if text},
        none={reason: datasets for reason, _, datasets in together(lacking)},
        needed=needed,
        here=any(one.row.here_low is not None for one in found),
        only_here=any(one.only_here for one in found),
        equal=any(one.why == EQUAL for one in decided),
        excluding=sum(one.interval.excludes_zero for one in decided if one.interval) if is_control else None,
        n=n,
        by_chance=most_by_chance(n),
    )


# Costs timed in turn -------------------------------------------------------------------------------------------------


def in_turn(cells: Cells, rows: Sequence[TidyRow]) -> Iterable[TableView]:
    """Yield the table of the rows that `cascadeforest.reports.numbers.costs.rows` gives; none without timings."""
    planned = cells.results.plan.timings_of(cells.experiment.id)
    done = cells.results.timings_of(cells.experiment.id)
    found, metrics = {row.key: row for row in rows}, {row.metric for row in rows}
    printed = {row.metric for row in rows if row.published is not None}
    times, counts = ([name for name in of if name in metrics] for of in (costs.TIMES, COUNTS))
    heads = []
    for metric, ratio in ((metric, f"{metric}_ratio") for metric in times):
        heads += [metric_head(metric), metric_head(ratio)]
        heads += [f"{metric_head(ratio)}, published"] if ratio in printed else []
    lines = []
    for timing in planned:
        names, reference = costs.names_of(cells, timing), costs.reference_of(cells, timing)
        there = [one for timed in done if timed.timing.dataset == timing.dataset for one in timed.rounds]
        size = f"{len(there)} × {min(one.n_train for one in there):,}" if there else ""
        for name, label in [*names.items(), (reference, f"{names[reference]}, against itself")]:
            is_itself, line = "against itself" in label, list[Cell]()
            for metric, ratio in ((metric, f"{metric}_ratio") for metric in times):
                where = costs.ITSELF if is_itself else f"against {reference}, {costs.IN_TURN}"
                row = found.get((timing.dataset, name, where, ratio))
                nothing = Cell("") if is_itself else Cell("reference", is_word=True)
                cost = Cell("") if is_itself else number_cell(found[timing.dataset, name, costs.IN_TURN, metric])
                line += [cost, _ratio(row) if row else nothing]
                if ratio in printed:
                    line.append(nothing if row is None or is_itself else published_cell(cells, row))
            for name_of_count in counts:
                row = found.get((timing.dataset, name, "", name_of_count))
                text = "" if is_itself else number_text(row.metric, row.number, None) if row else "not counted"
                line.append(Cell(text, is_word=row is None and not is_itself))
            if not is_itself or any(cell.text for cell in line):
                lines.append(Row((timing.dataset, label), tuple(line), size=size))
    if planned:
        title = f"Costs timed in turn: the cost of {names[reference]} divided by the model's, with 95 % intervals"
        heads += map(metric_head, counts)
        yield _below(cells, title, ("data set", "model"), heads, "rounds × training rows", lines)


def _ratio(row: TidyRow) -> Cell:
    """Write a ratio with its interval."""
    if row.status != OK:
        return number_cell(row)
    numbers = [number for number in (row.number, row.low, row.high) if number is not None]
    return Cell(with_interval(f"{number:,.{decimals(row.metric, row.number)}f}" for number in numbers))


def told_in_turn(cells: Cells, rows: Sequence[TidyRow]) -> dict[str, object] | None:
    """Return what notes say of timings in turn; None if the experiment has none."""
    planned = cells.results.plan.timings_of(cells.experiment.id)
    there = cells.results.timings_of(cells.experiment.id)
    if not planned:
        return None
    names = costs.names_of(cells, planned[0])
    rounds = [one for timed in there for one in timed.rounds]
    datasets, known = [timing.dataset for timing in planned], {timed.timing.dataset for timed in there}
    busiest = max((one.elsewhere for one in rounds), default=0.0)
    return dict(
        reference=names[costs.reference_of(cells, planned[0])],
        turns=list(names.values()),
        datasets=datasets,
        smaller=[dataset for dataset in datasets if dataset not in cells.experiment.datasets],
        n_rounds=sorted({len(timed.rounds) for timed in there}),
        processors=sorted({str(one.provenance.host.get("processor", "an unknown processor")) for one in rounds}),
        busiest=busiest if busiest > IDLE else None,
        counted=any(row.metric in COUNTS for row in rows),
        importances=costs.has_importances(planned[0]),
        floor=COST_FLOORS["CPU s"],
        missing=[dataset for dataset in datasets if dataset not in known],
    )


# What models grew and chose ------------------------------------------------------------------------------------------


def growth(cells: Cells) -> Iterable[TableView]:
    """Yield a table with a line for each data set and model that grew layers or chose something, if any did."""
    found = {pair: numbers for pair in cells.pairs if (numbers := growth_numbers(cells, pair))}
    metrics = [name for name in METRICS if any(name in numbers for numbers in found.values())]
    lines = []
    for (dataset, column), numbers in found.items():
        texts = [_grown(name, numbers[name]) if name in numbers else "" for name in metrics]
        line = tuple(Cell(text or "–", is_word=not text) for text in texts)
        lines.append(Row((dataset, cells.label(column)), line, size=str(len(next(iter(numbers.values()))))))
    words = {name: text.replace("layers", cells.common.layers_as) for name, text in _LAYERS.items()}
    heads = [words.get(name, metric_head(name)) for name in metrics]
    shown = "values of the repeats, 2 (7) being 2 in 7 of them, or means (least to most)"
    title = f"What the models grew and chose: {shown}"
    if metrics:
        yield _below(cells, title, ("data set", "model"), heads, "repeats", lines)


_LAYERS = {KEPT: "layers kept", GROWN: "layers grown"}
#: Shown as the values of the repeats, of which a mean would say little.
_BY_VALUE = frozenset({KEPT, GROWN, *CHOSEN.values()})


def _grown(name: str, values: Sequence[float]) -> str:
    if name in _BY_VALUE:
        counts = sorted(Counter(values).items())
        return ", ".join(f"{value:g}" + (f" ({n})" if len(counts) > 1 else "") for value, n in counts)
    mean, ends = fmean(values), [number_text(name, end, None) for end in (min(values), max(values))]
    text = number_text(name, mean, None) if known_metric(name).percent else f"{mean:,.1f}"
    return text if ends[0] == ends[1] else f"{text} ({' to '.join(ends)})"
