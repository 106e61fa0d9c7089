"""The papers' printed numbers: as rows of their files, and under our names and in our units.

The numbers are transcribed once, in ``reports/published/<experiment>.csv``; ``README.md`` there defines the columns and
lists the slips of the papers. Nothing is corrected: a value means what its unit says.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import cast

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.numbers.frame import KEY

COLUMNS = ("dataset", "model", "condition", "metric", "value", "std", "mark", "note", "unit")
#: What a table marks; nothing where it marks nothing.
MARKS = ("", "best", "second", "worse", "predicted")
UNITS: tuple[str, ...] = ("percent", "percent points", "fraction", "seconds", "MB", "count", "thousands", "ratio")
UNITS += ("rank", "target units", "rentals", "°C", "km/h", "year", "flag")
# Digits as printed: an optional sign, optional thousands commas, an optional fraction.
_NUMBER = re.compile(r"-?\d{1,3}(,\d{3})+|-?\d+(\.\d+)?")
#: Decimal places to shift a published number by, to get the unit of our metrics (fractions, single counts).
_SHIFTS = {"percent": -2, "percent points": -2, "thousands": 3}
#: How the condition of a number ends that the paper draws and does not print, known from its authors' records.
RECORDS = "authors' records, not printed in the paper"
#: How the note of a number begins that stands in the running text.
_TEXT = "text"
#: What such a note can say of the number itself.
_QUALIFIERS = ("about", "less than", "more than")


def available(folder: str | Path) -> tuple[str, ...]:
    """Return the ids of the experiments for which the papers give numbers, sorted."""
    return tuple(sorted(path.stem for path in Path(folder).glob("[!.]*.csv")))


def load_published(experiment_id: str, folder: str | Path) -> list[dict[str, str]]:
    """Load every number that a paper gives for one table or figure: rows of `COLUMNS` as printed, in printed order.

    `ConfigError` if the file breaks a rule of its README.
    """
    path = Path(folder) / f"{experiment_id}.csv"
    # Not pandas' reader: it takes a row with one cell too many for a row with an index, and shifts every column.
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    _validate(header, rows, path)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _validate(header: list[str], rows: list[list[str]], path: Path) -> None:
    """Raise ConfigError at the first row that breaks a rule of the README."""
    if tuple(header) != COLUMNS:
        raise ConfigError(f"{path}: the columns are {', '.join(header)}; they must be {', '.join(COLUMNS)}.")
    seen: dict[tuple[str, ...], int] = {}
    for line, cells in enumerate(rows, start=2):
        row = dict(zip(COLUMNS, cells, strict=False))
        key = tuple(cells[: len(KEY)])
        wrong = ""
        if len(cells) != len(COLUMNS):
            wrong = f"{len(cells)} cells; write {len(COLUMNS)}, and quote a cell with a comma."
        elif not _NUMBER.fullmatch(row["value"]):
            wrong = f"value is '{row['value']}'; write the printed digits, the unit goes to `unit`."
        elif row["std"] and not _NUMBER.fullmatch(row["std"]):
            wrong = f"std is '{row['std']}'; write the printed digits, or nothing."
        elif row["mark"] not in MARKS:
            wrong = f"mark is '{row['mark']}'; choose one of {', '.join(filter(None, MARKS))}, or leave it empty."
        elif row["unit"] not in UNITS:
            wrong = f"unit is '{row['unit']}'; choose one of {', '.join(UNITS)}."
        elif key in seen:
            same = f"{', '.join(KEY)} are those of line {seen[key]} ({', '.join(key)})"
            wrong = f"{same}; tell the two numbers apart by `condition`."
        if wrong:
            raise ConfigError(f"{path}, line {line}: {wrong}")
        seen[key] = line


# Under our names ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedNumber:
    """A printed number in the unit of our metric; exact decimals, so that the printed digits survive."""

    value: Decimal
    std: Decimal | None
    mark: str  # what the paper's table marks
    unit: str  # as printed
    qualifier: str = ""  # what the text puts before the number: about, less than


class Published:
    """The paper's numbers for one experiment, found by our names; `folder` is ``reports/published``.

    ``options: {published: {column: {model, condition}}}`` says where the published file has the numbers of a column, if
    not under its name.
    """

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self._experiment = experiment
        self.exists = (folder / f"{experiment.id}.csv").is_file()
        records = load_published(experiment.id, folder) if self.exists else []
        self._records = {tuple(record[name] for name in KEY): record for record in records}
        self.n_numbers = sum(not record["condition"].endswith(RECORDS) for record in records)

    def number(self, dataset: str, column: str, metric: str, condition: str = "") -> PublishedNumber | None:
        """Look one number up by our names: data set variant or ``all``, column or "", metric, condition."""
        return self.number_at(self._experiment.base(dataset), *self.place(column, condition, metric), metric)

    def record(self, dataset: str, column: str, metric: str, condition: str = "") -> PublishedNumber | None:
        """Look up a number that the paper does not print, but its authors' records have; as `number`."""
        condition = f"{condition}, {RECORDS}" if condition else RECORDS
        return self.number_at(self._experiment.base(dataset), column, condition, metric)

    def place(self, column: str, condition: str = "", metric: str = "") -> tuple[str, str]:
        """Return the model and the condition under which the published file has a metric of a column."""
        elsewhere = cast("dict[str, dict[str, str]]", self._experiment.options.get("published", {})).get(column, {})
        model = elsewhere.get(metric, elsewhere.get("model", column))
        return model, elsewhere.get("condition", condition)

    def number_at(self, dataset: str, model: str, condition: str, metric: str) -> PublishedNumber | None:
        """Look one number up by the names of the published file."""
        key = dataset, model, condition
        record = self._records.get((*key, metric))
        if record is None:
            return None
        # ddbf-table2 prints the spread in a column, and a unit, of its own.
        apart = self._records.get((*key, f"{metric}_std"), {"value": "", "unit": ""})
        own = record["std"], record["unit"]
        text, unit = own if own[0] else (apart["value"], apart["unit"])
        value, std = _decimal(record["value"], record["unit"]), _decimal(text, unit) if text else None
        words = record["note"].removeprefix(_TEXT).lstrip(": ")
        return PublishedNumber(value, std, record["mark"], record["unit"], words if words in _QUALIFIERS else "")

    def texts(self) -> list[dict[str, str]]:
        """Rows of the file with numbers of the running text, in its order."""
        return [record for record in self._records.values() if record["note"].startswith(_TEXT)]

    def has_results(self) -> bool:
        """Whether the paper gives a number of any model; others are sizes of the data."""
        return any(model for _, model, *_ in self._records)

    def has_records(self) -> bool:
        """Whether authors' records have numbers of the experiment's data sets that the paper does not print."""
        shown = {self._experiment.base(dataset) for dataset in self._experiment.datasets}
        return any(name in shown and condition.endswith(RECORDS) for name, _, condition, _ in self._records)

    def has(self, dataset: str) -> bool:
        """Whether the paper gives any number for this row's data set."""
        name = self._experiment.published_as.get(dataset, dataset)
        return any(key[0] == name for key in self._records)

    def lacking(self, datasets: Iterable[str]) -> list[str]:
        """Return the rows for whose data set the paper gives no number."""
        return [dataset for dataset in datasets if not self.has(dataset)]


def _decimal(text: str, unit: str) -> Decimal:
    return Decimal(text.replace(",", "")).scaleb(_SHIFTS.get(unit, 0))
