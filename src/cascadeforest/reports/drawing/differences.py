"""The tables of differences below a main table, folded away, and what notes say of their intervals."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from cascadeforest.reports.drawing.lines import difference_cell
from cascadeforest.reports.drawing.view import SUMMARY, Cell, Row, TableView, number_text
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import EQUAL, OUTCOMES, Difference
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.intervals import most_by_chance
from cascadeforest.reports.numbers.metrics import known_metric

#: Behind a difference that holds for these training sets only.
HERE = "†"


def folded(
    cells: Cells, found: Sequence[Difference], counts: Iterable[TidyRow] = (), labels: Mapping[str, str] | None = None
) -> tuple[TableView, ...]:
    """Return a table for each model that others are compared with: a line for each data set and metric.

    `counts` are the rows over all data sets, `labels` the words for the models that are compared, by default those of
    the columns.
    """
    experiment, words = cells.experiment, labels or cells.experiment.labels
    counts = list(counts)
    views = []
    for condition in dict.fromkeys(one.row.condition for one in found):
        reference = condition.removeprefix("against ")
        own = [one for one in found if one.row.condition == condition]
        columns = list(dict.fromkeys(one.row.model for one in own))
        keys = list(dict.fromkeys((one.row.dataset, one.row.metric) for one in own))
        several = len({metric for _, metric in keys}) > 1
        lines = []
        for dataset, metric in keys:
            line = {one.row.model: one for one in own if (one.row.dataset, one.row.metric) == (dataset, metric)}
            if all(one.row.mean is None for one in line.values()):
                continue  # the table above says why
            names = (dataset, _head(metric))[: 1 + several]
            lines.append(Row(names, tuple(_cell(line[column]) for column in columns), size=_basis(line.values())))
        if not lines:
            continue
        for metric in dict.fromkeys(row.condition for row in counts if row.condition.startswith(f"{reference}, ")):
            by_name = {(row.model, row.metric): row for row in counts if row.condition == metric}
            names = (f"{'/'.join(OUTCOMES)} of {words[reference]}", known_metric(metric.partition(", ")[2]).label)[
                : 1 + several
            ]
            texts = tuple(_counted([by_name[column, f"decided_{name}"] for name in OUTCOMES]) for column in columns)
            lines.append(Row(names, texts, kind=SUMMARY))
        head = "Differences" if several else f"Differences of {_head(keys[0][1])}"
        title = f"{head}: each model minus {words[reference]}, with 95 % intervals"
        label_heads = ("data set", "measure") if several else ("data set",)
        heads = tuple(words[column] for column in columns)
        views.append(
            TableView(
                experiment.id, title, cells.results.suite, label_heads, heads, "interval over", tuple(lines), (), ()
            )
        )
    return tuple(views)


def _head(metric: str) -> str:
    """Write what is compared with the unit of its differences: ``accuracy (points)``."""
    shown = known_metric(metric.removesuffix("_difference"))
    unit = "points" if shown.percent else shown.unit
    return f"{shown.label} ({unit})" if unit else shown.label


def _cell(one: Difference) -> Cell:
    cell = difference_cell(one.row)
    return Cell(f"{cell.text} {HERE}", is_word=cell.is_word) if one.only_here else cell


def _counted(rows: Sequence[TidyRow]) -> Cell:
    if any(row.mean is None for row in rows):
        return Cell("not compared", is_word=True)
    return Cell("/".join(f"{row.number:.0f}" for row in rows))


def _basis(line: Iterable[Difference]) -> str:
    """Write what the intervals of a line are over, where their variance comes from, and what they could find."""
    line = list(line)
    words = "; ".join(dict.fromkeys(one.why if one.interval else f"none: {one.why}" for one in line if one.why))
    shares = [one.interval.shares for one in line if one.interval and one.interval.shares]
    parts = (
        [f"{name} {100 * fmean(vars(one)[name] for one in shares):.0f} %" for name in vars(shares[0])] if shares else []
    )
    return "; ".join(filter(None, [words, f"variance: {', '.join(parts)}" if parts else "", _range(line)]))


def _range(found: Iterable[Difference]) -> str:
    """Write the smallest differences that could be found: ``finds 0.81 to 1.42``."""
    values = [(one.row.metric, one.row.smallest) for one in found if one.row.smallest is not None]
    if not values:
        return ""
    ends = dict.fromkeys(
        number_text(metric, end, None) for metric, end in (min(values, key=_size), max(values, key=_size))
    )
    return f"finds {' to '.join(ends)}"


def _size(value: tuple[str, float]) -> float:
    return value[1]


def told_of(found: Sequence[Difference], cells: Cells, is_control: bool = False) -> dict[str, object] | None:
    """Return what notes say of the intervals of a table; None if it has no differences.

    `is_control`: a model is compared with itself, and notes say how many intervals exclude 0.
    """
    if not found:
        return None
    reasons: dict[str, dict[str, None]] = {}
    for one in found:
        if one.interval is None and one.why:
            reasons.setdefault(one.why, {})[one.row.dataset] = None
    needed: dict[str, int] = {}
    for one in found:
        if one.rows_needed:
            needed[one.row.dataset] = max(needed.get(one.row.dataset, 0), one.rows_needed)
    intervals = [one.interval for one in found if one.interval]
    found_by_metric = {
        _head(metric): _range(one for one in found if one.row.metric == metric).removeprefix("finds ")
        for metric in dict.fromkeys(one.row.metric for one in found)
    }
    designs = {design: None for one in found if one.interval for design in [one.design]}
    return dict(
        designs=list(designs),
        this_fit=any(one.why.endswith("this fit") for one in found),
        these_rows=any(one.why.endswith("for these rows") for one in found),
        smallest={metric: text for metric, text in found_by_metric.items() if text},
        none={reason: list(datasets) for reason, datasets in reasons.items()},
        needed=needed,
        here=any(one.row.here_low is not None for one in found),
        only_here=any(one.only_here for one in found),
        equal=any(one.interval is not None and one.why == EQUAL for one in found),
        excluding=sum(one.excludes_zero for one in intervals) if is_control else None,
        n=len(intervals),
        by_chance=most_by_chance(len(intervals)),
        references=[cells.experiment.labels.get(one, one) for one in cells.experiment.references],
    )
