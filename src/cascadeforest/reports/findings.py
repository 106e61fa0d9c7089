"""What a regression check finds: one cell of a table, and both values of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cascadeforest.reports.tidy import KEY


@dataclass(frozen=True)
class Finding:
    """One cell that is not what is stored.

    Parameters
    ----------
    table, cell, column : str
        Where: the experiment, the row's key in words, the CSV column.
    stored, new : str
        Both values.
    tolerance : str
        What would have been allowed.
    is_drift : bool
        Whether the check fails because of it; else it is only reported.
    """

    table: str
    cell: str
    column: str
    stored: str
    new: str
    tolerance: str
    is_drift: bool = True

    def __str__(self) -> str:
        word = "DRIFT" if self.is_drift else "note "
        return (
            f"{word} {self.table}: {self.cell}: {self.column}: stored {self.stored or '(nothing)'}, "
            f"new {self.new or '(nothing)'}, tolerance {self.tolerance}"
        )


def key_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return what names a row of a tidy table."""
    return tuple(row[column] for column in KEY)


def words(key: Iterable[str]) -> str:
    """Write such a key, or a part of it, in words."""
    return " / ".join(filter(None, key))
