"""The papers' numbers under our names and in our units, digits as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from cascadeforest.reports.published import KEY, available, load_published

#: Decimal places to shift a published number by, to get the unit of our metrics (fractions, single counts).
_SHIFTS = {"percent": -2, "percent points": -2, "thousands": 3}


@dataclass(frozen=True)
class PublishedNumber:
    """A printed number in the unit of our metric; exact decimals, so that the printed digits survive.

    Parameters
    ----------
    value : Decimal
        The number.
    std : Decimal or None
        Printed spread.
    mark : str
        What the paper's table marks.
    unit : str
        Unit as printed.
    """

    value: Decimal
    std: Decimal | None
    mark: str
    unit: str


class Published:
    """The paper's numbers for one experiment, found by our names.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan. Its ``options: {published: {column: {model, condition}}}`` says where the published
        file has the numbers of a column, if not under its name.
    folder : Path
        ``reports/published``.
    """

    def __init__(self, experiment: Mapping[str, Any], folder: Path) -> None:
        self._experiment = experiment
        self._records: dict[tuple[str, str, str, str], Mapping[str, Any]] = {}
        self.exists = experiment["id"] in available(folder)
        if self.exists:
            for record in load_published(experiment["id"], folder).to_dict("records"):
                self._records[tuple(record[name] for name in KEY)] = record

    def number(self, dataset: str, column: str, metric: str, condition: str = "") -> PublishedNumber | None:
        """Look one number up.

        Parameters
        ----------
        dataset : str
            Data set variant of this suite, or ``all``.
        column : str
            Column of the experiment, or ``""``.
        metric : str
            Our metric.
        condition : str
            Our condition.

        Returns
        -------
        PublishedNumber or None
        """
        elsewhere = self._experiment["options"].get("published", {})
        place = {"model": column, "condition": condition} | elsewhere.get(column, {})
        key = self._experiment["published_as"].get(dataset, dataset), place["model"], place["condition"]
        record = self._records.get((*key, metric))
        if record is None:
            return None
        # ddbf-table2 prints the spread in a column, and a unit, of its own.
        spread = self._records.get((*key, f"{metric}_std"))
        std = _decimal(record["std_text"], record["unit"])
        if std is None and spread is not None:
            std = _decimal(spread["value_text"], spread["unit"])
        return PublishedNumber(_decimal(record["value_text"], record["unit"]), std, record["mark"], record["unit"])

    def has(self, dataset: str) -> bool:
        """Whether the paper gives any number for this row's data set."""
        name = self._experiment["published_as"].get(dataset, dataset)
        return any(key[0] == name for key in self._records)


def _decimal(text: str, unit: str) -> Decimal | None:
    if not text:
        return None
    return Decimal(text.replace(",", "")).scaleb(_SHIFTS.get(unit, 0))
