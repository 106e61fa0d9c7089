"""The tidy table, one row per data set, column, condition and metric: the CSV is the table, all else renders it."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Self, TypeAlias

import pandas as pd

from cascadeforest.data.errors import ConfigError

OK, FAILED, UNAVAILABLE = "ok", "failed", "unavailable"
#: The data set name of rows that sum up over data sets, in our tables and in the published files.
ALL = "all"
#: Data set, model, condition and metric of a row.
Key: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True)
class TidyRow:
    """One row of the tidy table; None and "" are empty cells. The first four fields are its key."""

    dataset: str  # variant id or `ALL`
    model: str  # column of the experiment; empty for facts about data
    condition: str
    metric: str
    mean: float | None = None  # over repeats, in the stored unit of the metric
    std: float | None = None  # with ddof = 1
    n: int | None = None  # repeats; in rows over `ALL` data sets
    n_test: int | None = None  # size of the smallest test set among the repeats
    published: float | None = None  # in the unit of `mean`
    published_std: float | None = None
    rank: float | None = None  # among the compared columns, 1 is best, ties share the average
    mark: str = ""  # best, second, ..., of a difference what its interval decides, or empty
    status: str = OK  # ok, failed, not implemented or unavailable
    note: str = ""  # the reason, where there is no number or interval; else what an interval holds for
    low: float | None = None  # ends of the 95 % interval of a difference
    high: float | None = None
    smallest: float | None = None  # difference that it could find with a probability of 80 %
    here_low: float | None = None  # ends of the interval for the models of these training sets only
    here_high: float | None = None
    values: tuple[float, ...] = field(default=(), compare=False, repr=False)  # of the repeats, NaN: none; not in files

    @property
    def key(self) -> Key:
        """What names the row."""
        return self.dataset, self.model, self.condition, self.metric

    def over(self, values: Sequence[float]) -> Self:
        """Return the row with the mean and the deviation of a number of each repeat."""
        mean, spread = (fmean(values), stdev(values)) if len(values) > 1 else (values[0], None)
        return replace(self, mean=mean, std=spread, n=len(values))

    @property
    def reason(self) -> str:
        """Why there is no number: the status, and what is known of it."""
        return ": ".join(filter(None, (self.status, self.note)))

    @property
    def number(self) -> float:
        """The mean of a row that has one."""
        assert self.mean is not None, self.key
        return self.mean


#: Rows of one model on one data set, by condition and metric.
Found: TypeAlias = dict[tuple[str, str], TidyRow]
COLUMNS = tuple(one.name for one in fields(TidyRow) if one.name != "values")
KEY = COLUMNS[:4]
#: The last columns, which a file has only if a row has such an interval.
OF_INTERVALS, OF_ROWS = COLUMNS[-5:], COLUMNS[-2:]
#: The columns that a file can have.
_HEADS = (COLUMNS, COLUMNS[: -len(OF_ROWS)], COLUMNS[: -len(OF_INTERVALS)])


def to_csv(rows: Iterable[TidyRow]) -> str:
    """Write rows as CSV: floats with 10 significant digits, nothing for no value; the same bytes every time."""
    rows = list(rows)
    has = any(row.here_low is not None for row in rows), any(row.low is not None for row in rows), True
    columns = _HEADS[has.index(True)]
    frame = pd.DataFrame([[getattr(row, column) for column in columns] for row in rows], columns=list(columns))
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read the texts of a tidy CSV file; `ConfigError` if it has other columns."""
    return parse_csv(path.read_text(encoding="utf-8"), str(path))


def parse_csv(text: str, place: str) -> list[dict[str, str]]:
    """Read the texts of a tidy table as CSV, named `place` in messages; the columns of intervals can be missing."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(reader.fieldnames or ()) not in _HEADS:
        raise ConfigError(f"{place}: the columns are {reader.fieldnames}; they must be {', '.join(COLUMNS)}.")
    return [dict.fromkeys(OF_INTERVALS, "") | row for row in reader]
