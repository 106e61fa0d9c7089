"""The papers' numbers under our names and in our units, digits as printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.numbers.frame import ALL
from cascadeforest.reports.numbers.published import KEY, available, load_published

#: Decimal places to shift a published number by, to get the unit of our metrics (fractions, single counts).
_SHIFTS = {"percent": -2, "percent points": -2, "thousands": 3}
#: How the note of a number begins that stands in the running text.
_TEXT = "text"
#: What such a note can say of the number itself.
_QUALIFIERS = ("about", "less than", "more than")


@dataclass(frozen=True)
class PublishedNumber:
    """A printed number in the unit of our metric; exact decimals, so that the printed digits survive."""

    value: Decimal
    std: Decimal | None
    mark: str  # what the paper's table marks
    unit: str  # as printed
    qualifier: str = ""  # what the text puts before the number: about, less than


@dataclass(frozen=True)
class PublishedText:
    """A number that stands in the running text, under the names of the published file."""

    dataset: str
    model: str
    condition: str
    metric: str
    digits: str  # as printed
    words: str  # what the text says around it


class Published:
    """The paper's numbers for one experiment, found by our names; `folder` is ``reports/published``.

    ``options: {published: {column: {model, condition}}}`` says where the published file has the numbers of a column, if
    not under its name.
    """

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self._experiment = experiment
        self._records: dict[tuple[str, str, str, str], Mapping[str, Any]] = {}
        self.exists = experiment.id in available(folder)
        if self.exists:
            for record in load_published(experiment.id, folder).to_dict("records"):
                self._records[tuple(record[name] for name in KEY)] = record

    def number(self, dataset: str, column: str, metric: str, condition: str = "") -> PublishedNumber | None:
        """Look one number up by our names: data set variant or ``all``, column or "", metric, condition."""
        return self.number_at(self._experiment.base(dataset), *self.place(column, condition, metric), metric)

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
        apart = self._records.get((*key, f"{metric}_std"), {"value_text": "", "unit": ""})
        own = record["std_text"], record["unit"]
        text, unit = own if own[0] else (apart["value_text"], apart["unit"])
        value, std = _decimal(record["value_text"], record["unit"]), _decimal(text, unit) if text else None
        return PublishedNumber(value, std, record["mark"], record["unit"], _qualifier(record["note"]))

    def datasets(self) -> list[str]:
        """Names of the data sets that the published file has, in its order."""
        return [name for name in dict.fromkeys(key[0] for key in self._records) if name != ALL]

    def texts(self) -> list[PublishedText]:
        """Numbers of the running text, in the order of the file."""
        return [
            PublishedText(*key, record["value_text"], record["note"].removeprefix(_TEXT).lstrip(": "))
            for key, record in self._records.items()
            if record["note"].startswith(_TEXT)
        ]

    def has_results(self) -> bool:
        """Whether the paper gives a number of any model; others are sizes of the data."""
        return any(model for _, model, *_ in self._records)

    def has(self, dataset: str) -> bool:
        """Whether the paper gives any number for this row's data set."""
        name = self._experiment.published_as.get(dataset, dataset)
        return any(key[0] == name for key in self._records)

    def lacking(self, datasets: Iterable[str]) -> list[str]:
        """Return the rows for whose data set the paper gives no number."""
        return [dataset for dataset in datasets if not self.has(dataset)]


def _decimal(text: str, unit: str) -> Decimal:
    return Decimal(text.replace(",", "")).scaleb(_SHIFTS.get(unit, 0))


def _qualifier(note: str) -> str:
    words = note.removeprefix(_TEXT).lstrip(": ")
    return words if words in _QUALIFIERS else ""
