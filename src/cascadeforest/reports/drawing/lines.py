"""A table as the papers print it: what stands in which cell, whatever the format it is written in."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.costs import ENDS
from cascadeforest.reports.numbers.frame import FAILED, OK, UNAVAILABLE, Key, TidyRow
from cascadeforest.reports.numbers.metrics import COST_RATIOS, COSTS, DIFFERENCES, NO_COMMAS, PLACES, ROWS, known_metric
from cascadeforest.reports.numbers.published import RECORDS, PublishedNumber

REPRODUCED, PUBLISHED, SUMMARY = "reproduced", "published", "summary"


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str
    mark: str = ""  # best, second, ... or empty
    is_word: bool = False  # a reason in place of a number: set apart, not aligned as a number


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    labels: tuple[str, ...]  # one for each label column; equal ones below each other are one cell
    cells: tuple[Cell, ...]
    kind: str = REPRODUCED  # reproduced, published, or summary: a reproduced row over all data sets
    size: str = ""  # repeats and test rows behind it

    def merged(self) -> list[tuple[Cell, int]]:
        """Cells and the columns that each takes: equal words beside each other are said once."""
        spans: list[tuple[Cell, int]] = []
        for cell in self.cells:
            if spans and cell.is_word and cell == spans[-1][0]:
                spans[-1] = (cell, spans[-1][1] + 1)
            else:
                spans.append((cell, 1))
        return spans


@dataclass(frozen=True)
class TableView:
    """A table in its paper's layout."""

    name: str  # id of the experiment
    title: str
    suite: str
    label_heads: tuple[str, ...]
    heads: tuple[str, ...]
    size_head: str  # of the last column; empty if the table has none
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()  # what the numbers and marks mean
    deviations: tuple[str, ...] = ()  # where this is not what the paper did
    folded: tuple["TableView", ...] = ()  # tables below, which readers open who want to know more

    @property
    def all_heads(self) -> tuple[str, ...]:
        """Every column head."""
        return (*self.label_heads, *self.heads, *((self.size_head,) if self.size_head else ()))

    @property
    def is_grouped(self) -> bool:
        """Whether several lines belong to one first label: it names a group, the next label the line."""
        return sum(map(bool, self.label_heads)) > 1

    def new_labels(self, index: int) -> tuple[str | None, ...]:
        """Labels of a row, None where the row above says the same (and everything to its left is the same)."""
        labels = self.rows[index].labels
        above = self.rows[index - 1].labels if index else ()
        return tuple(None if labels[: k + 1] == above[: k + 1] else labels[k] for k in range(len(labels)))


def decimals(metric: str, value: float) -> int:
    """Return how many decimal places a metric is shown with; `value` is its mean in the shown unit.

    Percent has two, counted rows none. Others have four significant digits, measured cost three: more would only show
    noise.
    """
    if metric in PLACES:
        return PLACES[metric]
    if known_metric(metric).percent:
        return 2
    if known_metric(metric).unit == ROWS:
        return 0
    return common_places([value], 3 if metric in COSTS or metric in COST_RATIOS else 4)


def common_places(values: Iterable[float | None], digits: int = 3) -> int:
    """Return the decimal places, 0 to 6, that give the largest of some numbers so many significant digits."""
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    magnitude = math.floor(math.log10(largest)) if largest else 0
    return min(max(digits - 1 - magnitude, 0), 6)


def number_text(metric: str, mean: float, std: float | None) -> str:
    """Write mean and spread, given in the stored unit, as they are shown: in percent where the metric is."""
    scale = 100 if known_metric(metric).percent else 1
    places = decimals(metric, scale * mean)
    if metric in ("n_layers", "grown_layers", "best_layer") and std is not None:  # means of few are no whole numbers
        places = 1
    text = f"{scale * mean:,.{places}f}".replace("-", "−")
    return text if std is None else f"{text} ± {scale * std:,.{places}f}"


def printed_text(metric: str, value: Decimal, std: Decimal | None) -> str:
    """Write a published number of the stored unit with its printed digits, in percent where the metric is."""
    shift = 2 if known_metric(metric).percent else 0
    text = f"{value.scaleb(shift):{'' if metric in NO_COMMAS else ','}f}".replace("-", "−")
    return text if std is None else f"{text} ± {std.scaleb(shift):,f}"


def feature_words(name: str) -> str:
    """Return the name of a feature as in conditions of tidy rows, ``feature wind_speed``, in words."""
    return name.removeprefix("feature ").replace("_", " ")


def metric_head(metric: str) -> str:
    """Words for a metric with the unit in which it is shown."""
    shown = known_metric(metric)
    unit = "%" if shown.percent else shown.unit
    return f"{shown.label} ({unit})" if unit else shown.label


# Lines ---------------------------------------------------------------------------------------------------------------

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
        ours: tuple[Cell, ...] = (Cell(found[0].reason, is_word=True),) * len(rows)
    else:
        ours = tuple(one if row is None else write(row) for row, one in zip(rows, apart, strict=True))
    if size is None:
        size = ", ".join(f"{n} × {n_test:,}" for n, n_test in sorted({(row.n, row.n_test) for row in found if row.n}))
    lines = [Row((*labels, REPRODUCED), ours, REPRODUCED, size)]
    beside = printed or (lambda row: published_cell(cells, row))
    theirs = tuple(one if row is None else beside(row) for row, one in zip(rows, apart, strict=True))
    if any(row is not None and not one.is_word for row, one in zip(rows, theirs, strict=True)):
        lines.append(Row((*_set_apart(cells, labels, found), PUBLISHED), theirs, PUBLISHED))
    record = cells.published.record
    drawn = [None if row is None else record(row.dataset, row.model, row.metric, row.condition) for row in rows]
    if any(drawn):
        unknown = Cell("–", is_word=True)
        found_there = [unknown if one is None else printed_cell("", one) for one in drawn]
        lines.append(Row((*labels, RECORDS), tuple(found_there), PUBLISHED))
    return lines


def _set_apart(cells: Cells, labels: Sequence[str], rows: Sequence[TidyRow]) -> Sequence[str]:
    """Return the labels of a published line; of a part of the rows of the paper's data they name the whole set."""
    dataset = rows[0].dataset if rows else ""
    whole = cells.facts(dataset).get("subset_of") or ("+rows-" in dataset and cells.experiment.base(dataset))
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
        return Cell(row.status if is_abbreviated(row) or not row.note else row.note, is_word=True)
    if row.metric in DIFFERENCES:
        return difference_cell(row)
    return Cell(number_text(row.metric, row.number, row.std), row.mark)


def difference_cell(row: TidyRow, unit: str = "") -> Cell:
    """Write a difference with its interval, or with its deviation where none is possible.

    The interval for the models of these training sets only follows in round brackets. `unit` is what the head lacks.
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
        return Cell(f"{signed_text(row.metric, row.number, row.std)}{unit}{why_not}{here}")
    return Cell(f"{with_interval(texts[:3])}{unit}{here}")


def with_interval(texts: Iterable[str]) -> str:
    """Write a number and, in brackets, the ends of its interval, if it has one."""
    first, *ends = texts
    return f"{first} [{', '.join(ends)}]" if ends else first


def ratio_text(row: TidyRow, rows: Mapping[Key, TidyRow]) -> str:
    """Write a ratio and, in brackets, the smallest and the largest one of a single repeat, if `rows` have them."""
    ends = [rows.get((row.dataset, row.model, f"{row.condition}, {name}", row.metric)) for name in ENDS]
    span = " to ".join(f"{end.number:,.{decimals(row.metric, row.number)}f}" for end in ends if end is not None)
    return number_text(row.metric, row.number, None) + (f" ({span})" if span else "")


def is_abbreviated(row: TidyRow) -> bool:
    """Return whether a cell shows less than the reason of a row."""
    return row.status == FAILED or (row.status == UNAVAILABLE and len(row.note) > _SHORT_REASON)


def mean_text(row: TidyRow, places: int) -> str:
    """Write mean and deviation with so many decimal places; a minus is as wide as a plus, and stands before no zero."""
    text = f"{row.number:z,.{places}f}".replace("-", "−")
    return text if row.std is None else f"{text} ± {row.std:,.{places}f}"
