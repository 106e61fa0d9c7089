"""The table of costs that were timed in turn, below a main table, and what notes say of it."""

from collections.abc import Sequence

from cascadeforest.reports.drawing.lines import NOT_PRINTED, number_cell
from cascadeforest.reports.drawing.view import Cell, Row, TableView, decimals, metric_head, number_text
from cascadeforest.reports.numbers import timings
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import OK, Key, TidyRow
from cascadeforest.reports.numbers.metrics import COST_FLOORS, COUNTS
from cascadeforest.reports.numbers.timings import IN_TURN, ITSELF, TIMES

#: Cores of the machine that other work may keep busy without a word.
IDLE = 0.1
NOTHING, REFERENCE = Cell(""), Cell("reference", is_word=True)
#: What stands in a column: a cost, its ratio, the paper's ratio, a count.
COST, RATIO, PRINTED, COUNT = range(4)


def folded(cells: Cells, rows: Sequence[TidyRow]) -> tuple[TableView, ...]:
    """Return the table of the rows that `cascadeforest.reports.numbers.timings.rows` gives; none without any."""
    planned = cells.results.plan.timings_of(cells.experiment.id)
    if not planned:
        return ()
    found = {row.key: row for row in rows}
    metrics = {row.metric for row in rows}
    printed = {row.metric for row in rows if row.published is not None}
    columns = [
        (kind, metric)
        for metric in (metric for metric in TIMES if metric in metrics)
        for kind in (COST, RATIO, PRINTED)
        if kind != PRINTED or f"{metric}_ratio" in printed
    ]
    columns += [(COUNT, name) for name in COUNTS if name in metrics]
    lines = []
    for timing in planned:
        names, reference = timings.names_of(cells, timing), timings.reference_of(cells, timing)
        size = _size(cells, timing.dataset)
        for name, label in names.items():
            line = [_cell(found, (timing.dataset, name), reference, *column) for column in columns]
            lines.append(Row((timing.dataset, label), tuple(line), size=size))
        again = [
            found.get((timing.dataset, reference, ITSELF, f"{metric}_ratio")) if kind == RATIO else None
            for kind, metric in columns
        ]
        if any(again):
            label = f"{names[reference]}, against itself"
            lines.append(
                Row((timing.dataset, label), tuple(_ratio(row) if row else NOTHING for row in again), size=size)
            )
    words = {COST: "{}", RATIO: "{}_ratio", PRINTED: "{}_ratio", COUNT: "{}"}
    title = f"Costs timed in turn: the cost of {names[reference]} divided by the model's, with 95 % intervals"
    heads = tuple(
        metric_head(words[kind].format(metric)) + (", published" if kind == PRINTED else "") for kind, metric in columns
    )
    size_head = "rounds × training rows"
    suite = cells.results.suite
    return (
        TableView(cells.experiment.id, title, suite, ("data set", "model"), heads, size_head, tuple(lines), (), ()),
    )


def _cell(found: dict[Key, TidyRow], place: tuple[str, str], reference: str, kind: int, metric: str) -> Cell:
    if kind == COUNT:
        row = found.get((*place, "", metric))
        return Cell("not counted", is_word=True) if row is None else Cell(number_text(metric, row.number, None))
    if kind == COST:
        return number_cell(found[(*place, IN_TURN, metric)])
    if place[1] == reference:
        return REFERENCE
    row = found[(*place, f"against {reference}, {IN_TURN}", f"{metric}_ratio")]
    if kind == RATIO:
        return _ratio(row)
    return NOT_PRINTED if row.published is None else Cell(number_text(row.metric, row.published, None))


def _ratio(row: TidyRow) -> Cell:
    """Write a ratio with its interval."""
    if row.status != OK:
        return number_cell(row)
    numbers = [number for number in (row.number, row.low, row.high) if number is not None]
    first, *ends = (f"{number:,.{decimals(row.metric, row.number)}f}" for number in numbers)
    return Cell(f"{first} [{', '.join(ends)}]" if ends else first)


def _size(cells: Cells, dataset: str) -> str:
    rounds = [one for timed in _timed(cells) if timed.timing.dataset == dataset for one in timed.rounds]
    return f"{len(rounds)} × {min(one.n_train for one in rounds):,}" if rounds else ""


def _timed(cells: Cells) -> list[timings.Timed]:
    return cells.results.timings_of(cells.experiment.id)


def told_of(cells: Cells, rows: Sequence[TidyRow]) -> dict[str, object] | None:
    """Return what notes say of timings in turn; None if the experiment has none."""
    planned = cells.results.plan.timings_of(cells.experiment.id)
    if not planned:
        return None
    names, floor = timings.names_of(cells, planned[0]), COST_FLOORS["CPU s"]
    there = _timed(cells)
    rounds = [one for timed in there for one in timed.rounds]
    factors = [
        timings.machine(cells, timed, metric)
        for timed in there
        for metric in TIMES
        if timings.itself(cells, timed, metric)
    ]
    return dict(
        reference=names[timings.reference_of(cells, planned[0])],
        turns=list(names.values()),
        datasets=[timing.dataset for timing in planned],
        smaller=[timing.dataset for timing in planned if timing.dataset not in cells.experiment.datasets],
        n_rounds=sorted({len(timed.rounds) for timed in there}),
        single=any(len(timed.rounds) == 1 for timed in there),
        factors=[f"{end:.2f}" for end in dict.fromkeys((min(factors), max(factors)))] if factors else [],
        processors=sorted({str(one.provenance.host.get("processor", "an unknown processor")) for one in rounds}),
        busiest=max((one.elsewhere for one in rounds), default=0.0),
        is_busy=any(one.elsewhere > IDLE for one in rounds),
        counted=any(row.metric in COUNTS for row in rows),
        importances=timings.has_importances(planned[0]),
        floor=floor,
        is_small=any(
            row.condition == IN_TURN and row.metric in TIMES and row.mean is not None and row.mean < floor
            for row in rows
        ),
        missing=[timing.dataset for timing in planned if not any(t.timing.dataset == timing.dataset for t in there)],
        failures=[
            f"{cells.label(column)} on {timed.timing.dataset}: {failure.error}: {failure.message}"
            for timed in there
            for column, failure in timed.failures
        ],
    )
