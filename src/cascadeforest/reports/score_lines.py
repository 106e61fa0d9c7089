"""Lines of a table whose rows are parts of a data set (a split, a way of training): ours, and the paper's below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cascadeforest.reports.comparisons import PairedTest
from cascadeforest.reports.derived import DIFFERENCES, known_metric
from cascadeforest.reports.printed_numbers import PublishedNumber
from cascadeforest.reports.results import NOT_IMPLEMENTED, present
from cascadeforest.reports.tidy import FAILED, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, PUBLISHED, REPRODUCED, Cell, Row, number_text, printed_text

#: Label of the one line of a data set that has the same reason everywhere.
EVERYTHING = "all"
#: Reasons of up to so many letters stand in the cell itself.
_SHORT_REASON = 20


@dataclass(frozen=True)
class Part:
    """A line of numbers with what the paper prints of it.

    Parameters
    ----------
    labels : tuple of str
        Its head, behind the data set.
    rows : tuple of TidyRow
        The number of each column.
    printed : tuple of Cell
        The paper's, all words if it has none.
    """

    labels: tuple[str, ...]
    rows: tuple[TidyRow, ...]
    printed: tuple[Cell, ...]


def part_lines(dataset: str, parts: Sequence[Part]) -> Iterable[Row]:
    """Arrange the parts of one data set.

    Parameters
    ----------
    dataset : str
        First label of the lines.
    parts : sequence of Part
        All of the same number of labels.

    Yields
    ------
    Row
        A reproduced line for each part and, where the paper prints any of its numbers, the published one below. A
        reason that holds for all parts (the data set is not there) has one line.
    """
    reasons = {(row.status, row.note) for part in parts for row in part.rows}
    is_one_reason = len(reasons) == 1 and next(iter(reasons))[0] != OK
    if is_one_reason:
        labels = (dataset, *(EVERYTHING for _ in parts[0].labels), REPRODUCED)
        yield Row(labels, number_cells(parts[0].rows), REPRODUCED)
    for part in parts:
        if not is_one_reason:
            yield Row((dataset, *part.labels, REPRODUCED), number_cells(part.rows), REPRODUCED, size_text(part.rows))
        if any(not cell.is_word for cell in part.printed):
            yield Row((dataset, *part.labels, PUBLISHED), part.printed, PUBLISHED)


def printed_cell(metric: str, number: PublishedNumber | None) -> Cell:
    """Write a number of the paper with its digits.

    Parameters
    ----------
    metric : str
        Name of the metric.
    number : PublishedNumber or None
        None: the paper prints none here.
    """
    if number is None:
        return Cell(NOT_PRINTED, is_word=True)
    return Cell(printed_text(metric, number.value, number.std), number.mark)


def signed_text(metric: str, difference: float, std: float | None) -> str:
    """Write a difference with its sign, in percent points where the metric is in percent.

    Parameters
    ----------
    metric : str
        Name of the difference.
    difference : float
        In the stored unit.
    std : float or None
        Same unit; None if there is none.
    """
    sign = "+" if difference > 0 else ""
    return f"{sign}{number_text(metric, difference, std)}".replace("-", "−")


def difference_words(metric: str) -> str:
    """Label of the line of differences of a metric."""
    return "difference (points)" if known_metric(metric).percent else "difference"


def reason_notes(
    experiment: Mapping[str, Any], rows: Iterable[TidyRow], label: Callable[[TidyRow], str]
) -> Iterable[str]:
    """Give each reason that a cell abbreviates once, with the models and data sets that it holds for.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    rows : iterable of TidyRow
        Its numbers, without those that follow from others.
    label : callable
        Words for the model of a row.

    Yields
    ------
    str
    """
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        if _is_abbreviated(row) and row.dataset in present(experiment):
            places = reasons.setdefault((row.status, row.note), {}).setdefault(label(row), [])
            if row.dataset not in places:
                places.append(row.dataset)
    for (status, note), models in reasons.items():
        by_places: dict[tuple[str, ...], list[str]] = {}
        for model, places in models.items():
            by_places.setdefault(tuple(places), []).append(model)
        for places, names in by_places.items():
            where = "" if len(places) == len(present(experiment)) > 1 else f" on {', '.join(places)}"
            yield f"{status}: {', '.join(names)}{where}: {note}."


def number_cells(rows: Sequence[TidyRow | None]) -> tuple[Cell, ...]:
    """Write the numbers of a line; a reason that all of them have in full.

    Parameters
    ----------
    rows : sequence of TidyRow or None
        None where a column does not apply.
    """
    if None not in rows and len({(row.status, row.note) for row in rows}) == 1 and rows[0].status != OK:
        reason = f"{rows[0].status}: {rows[0].note}" if _has_reason(rows[0]) else rows[0].status
        return (Cell(reason, is_word=True),) * len(rows)
    return tuple(map(number_cell, rows))


def number_cell(row: TidyRow | None) -> Cell:
    """Write a number, or a short form of the reason why there is none; `reason_notes` gives those that it shortens.

    Parameters
    ----------
    row : TidyRow or None
        None where the column does not apply.
    """
    if row is None:
        return Cell("not applicable", is_word=True)
    if row.status == FAILED and row.note:
        return Cell(f"failed: {row.note.split(':')[0]}", is_word=True)
    if row.status != OK:
        return Cell(row.note if _has_reason(row) and not _is_abbreviated(row) else row.status, is_word=True)
    if row.metric in DIFFERENCES:
        # The mark follows from a test; the sign before the number says which of the two models it is for.
        tested = f" (p < {PairedTest.level:g})" if row.mark else ""
        return Cell(f"{signed_text(row.metric, row.mean, row.std)}{tested}")
    return Cell(number_text(row.metric, row.mean, row.std), row.mark)


def size_text(rows: Iterable[TidyRow | None]) -> str:
    """Write how many repeats and test rows are behind the numbers of a line."""
    sizes = sorted({(row.n, row.n_test) for row in rows if row is not None and row.n})
    return ", ".join(f"{n} × {n_test:,}" for n, n_test in sizes)


def _has_reason(row: TidyRow) -> bool:
    return bool(row.note) and row.status != NOT_IMPLEMENTED


def _is_abbreviated(row: TidyRow) -> bool:
    return row.status == FAILED or (row.status == UNAVAILABLE and len(row.note) > _SHORT_REASON)
