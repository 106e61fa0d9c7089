"""Lines of a table: our numbers, and the paper's below."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from cascadeforest.experiments.plan import NOT_IMPLEMENTED
from cascadeforest.reports.drawing.view import (
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    common_places,
    decimals,
    number_text,
    printed_text,
)
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.costs import ENDS
from cascadeforest.reports.numbers.frame import FAILED, OK, UNAVAILABLE, Key, TidyRow
from cascadeforest.reports.numbers.metrics import DIFFERENCES, known_metric
from cascadeforest.reports.numbers.published import RECORDS, PublishedNumber

#: What stands in a published row where the paper prints nothing.
NOT_PRINTED = Cell("not printed", is_word=True)
#: Label of the one line of a data set that has the same reason everywhere.
EVERYTHING = "all"
#: Behind a number of a model that used all the layers, rounds or epochs that the suite allows.
CAPPED = "‡"
#: Data set in a published line whose numbers are of more rows than ours: it stands apart, so that nobody subtracts.
WHOLE = "{}, all rows (not comparable)"
#: Reasons of up to so many letters stand in the cell itself.
_SHORT_REASON = 25
#: Lines of a table, and the tidy rows that they are made of.
Lines: TypeAlias = tuple[list[Row], Sequence[TidyRow | None]]


def said_once(parts: Iterable[Lines]) -> list[Row]:
    """Return the lines of a data set, given with their rows; a reason that holds for all its numbers gets one line."""
    lines: list[Row] = []
    reasons: set[tuple[str, str]] = set()
    for own, rows in parts:
        lines += own
        reasons |= {(row.status, row.note) for row in rows if row is not None}
    if len(reasons) > 1 or (OK, "") in reasons or not lines:
        return lines
    first, *others, last = lines[0].labels
    told = replace(lines[0], labels=(first, *(EVERYTHING for _ in others), last))
    return [told, *(line for line in lines if line.kind == PUBLISHED)]


def published_cell(cells: Cells, row: TidyRow) -> Cell:
    """Write the paper's number of a row: its digits, or what was computed from several of its numbers."""
    number = cells.published.number(row.dataset, row.model, row.metric, row.condition)
    if number is not None and row.published in (None, float(number.value)):
        return printed_cell(row.metric, number)
    if row.published is None:
        return NOT_PRINTED
    write = signed_text if row.metric in DIFFERENCES else number_text
    return Cell(write(row.metric, row.published, None))


def printed_cell(metric: str, number: PublishedNumber | None) -> Cell:
    """Write a number of the paper with its digits; None: the paper prints none here."""
    if number is None:
        return NOT_PRINTED
    return Cell(f"{number.qualifier} {printed_text(metric, number.value, number.std)}".strip(), number.mark)


def signed_text(metric: str, difference: float, std: float | None) -> str:
    """Write a difference with its sign, in percent points where the metric is in percent."""
    sign = "+" if difference > 0 else ""
    return f"{sign}{number_text(metric, difference, std)}".replace("-", "−")


def difference_words(metric: str) -> str:
    """Return the label of the line of differences of a metric."""
    return "difference (points)" if known_metric(metric).percent else "difference"


def numbered_lines(
    cells: Cells,
    labels: Sequence[str],
    rows: Sequence[TidyRow | None],
    size: str | None = None,
    text: Callable[[TidyRow], str] | None = None,
    words: str | Sequence[str] = "",
    printed: Callable[[TidyRow], Cell] | None = None,
) -> list[Row]:
    """Return a reproduced line and below it, where the paper prints any of its numbers, the published line.

    A line of the authors' records follows where they have numbers that the paper draws only.

    A row that is None is a column that does not apply: `words` stand there, one for each column or the same for all. By
    default `size` has repeats and test rows, `text` writes a number with its decimal places and deviation, and
    `printed`, which writes what the paper has beside it, is `published_cell`.
    """
    apart = [Cell(word, is_word=bool(word)) for word in ([words] * len(rows) if isinstance(words, str) else words)]

    def write(row: TidyRow) -> Cell:
        one = number_cell(row) if text is None or row.mean is None else Cell(text(row), row.mark)
        is_score = row.metric in (*cells.experiment.metrics, "error_rate") and row.condition == ""
        capped = is_score and row.mean is not None and cells.n_at_cap(row.dataset, row.model)
        return replace(one, text=f"{one.text} {CAPPED}") if capped else one

    found = [row for row in rows if row is not None]
    told = {(row.status, row.note) for row in found}
    if len(told) == 1 and found[0].status != OK and (isinstance(words, str) or None not in rows):
        reason = f"{found[0].status}: {found[0].note}" if _has_reason(found[0]) else found[0].status
        ours: tuple[Cell, ...] = (Cell(reason, is_word=True),) * len(rows)
    else:
        ours = tuple(one if row is None else write(row) for row, one in zip(rows, apart, strict=True))
    if size is None:
        size = ", ".join(f"{n} × {n_test:,}" for n, n_test in sorted({(row.n, row.n_test) for row in found if row.n}))
    lines = [Row((*labels, REPRODUCED), ours, REPRODUCED, size)]
    beside = printed or (lambda row: published_cell(cells, row))
    theirs = tuple(one if row is None else beside(row) for row, one in zip(rows, apart, strict=True))
    if any(row is not None and not one.is_word for row, one in zip(rows, theirs, strict=True)):
        lines.append(Row((*_set_apart(cells, labels, found), PUBLISHED), theirs, PUBLISHED))
    drawn = [
        None if row is None else cells.published.record(row.dataset, row.model, row.metric, row.condition)
        for row in rows
    ]
    if any(drawn):
        unknown = Cell("–", is_word=True)
        found_there = [unknown if one is None else printed_cell("", one) for one in drawn]
        lines.append(Row((*labels, RECORDS), tuple(found_there), PUBLISHED))
    return lines


def _set_apart(cells: Cells, labels: Sequence[str], rows: Sequence[TidyRow]) -> Sequence[str]:
    """Return the labels of a published line; of a part of the rows of the paper's data they name the whole set."""
    dataset = rows[0].dataset if rows else ""
    whole = cells.facts(dataset).get("subset_of")
    if "+rows-" in dataset and not whole:
        whole = cells.experiment.base(dataset)
    return [labels[0].replace(dataset, WHOLE.format(whole), 1), *labels[1:]] if whole else labels


def published_text(cells: Cells, row: TidyRow) -> str:
    """Return what stands behind one of our numbers in a panel's title: `` (published 94)``, or nothing."""
    number = cells.published.number(row.dataset, row.model, row.metric, row.condition)
    return f" (published {printed_text(row.metric, number.value, None)})" if number else ""


def number_cell(row: TidyRow) -> Cell:
    """Write a number, or a short form of the reason why there is none (`is_abbreviated`)."""
    if row.status == FAILED and row.note:
        return Cell(f"failed: {row.note.split(':')[0]}", is_word=True)
    if row.status != OK:
        return Cell(row.note if _has_reason(row) and not is_abbreviated(row) else row.status, is_word=True)
    if row.metric in DIFFERENCES:
        return difference_cell(row)
    return Cell(number_text(row.metric, row.number, row.std), row.mark)


def difference_cell(row: TidyRow) -> Cell:
    """Write a difference with its interval, or with its deviation where none is possible.

    The interval for the models of these training sets only follows in round brackets.
    """
    if row.mean is None:
        return Cell(row.status, is_word=True)
    numbers = [row.number, row.low, row.high, row.here_low, row.here_high]
    if known_metric(row.metric).percent:
        texts = [signed_text(row.metric, number or 0.0, None) for number in numbers]
    else:
        places = common_places(numbers)  # of all, not of each
        texts = [f"{number or 0.0:+z,.{places}f}".replace("-", "−") for number in numbers]
    here = f" ({texts[3]}, {texts[4]})" if row.here_low is not None else ""
    if row.low is None or row.high is None:
        why_not = ", no interval" if row.note else ""
        return Cell(f"{signed_text(row.metric, row.number, row.std)}{why_not}{here}")
    return Cell(f"{with_interval(texts[:3])}{here}")


def with_interval(texts: Iterable[str]) -> str:
    """Write a number and, in brackets, the ends of its interval, if it has one."""
    first, *ends = texts
    return f"{first} [{', '.join(ends)}]" if ends else first


def ratio_text(row: TidyRow, rows: Mapping[Key, TidyRow]) -> str:
    """Write a ratio and, in brackets, the smallest and the largest one of a single repeat, if `rows` have them."""
    ends = [rows.get((row.dataset, row.model, f"{row.condition}, {name}", row.metric)) for name in ENDS]
    span = " to ".join(f"{end.number:,.{decimals(row.metric, row.number)}f}" for end in ends if end is not None)
    return number_text(row.metric, row.number, None) + (f" ({span})" if span else "")


def _has_reason(row: TidyRow) -> bool:
    return bool(row.note) and row.status != NOT_IMPLEMENTED


def is_abbreviated(row: TidyRow) -> bool:
    """Return whether a cell shows less than the reason of a row."""
    return row.status == FAILED or (row.status == UNAVAILABLE and len(row.note) > _SHORT_REASON)


def mean_text(row: TidyRow, places: int) -> str:
    """Write mean and deviation with so many decimal places; a minus is as wide as a plus, and stands before no zero."""
    text = f"{row.number:z,.{places}f}".replace("-", "−")
    return text if row.std is None else f"{text} ± {row.std:,.{places}f}"
