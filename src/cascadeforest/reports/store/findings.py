"""What a comparison of two tidy tables finds: one cell, and both values of it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cascadeforest.reports.numbers.frame import COLUMNS, KEY

Row: TypeAlias = Mapping[str, str]
Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One cell that is not what is stored.

    `table`, `cell` and `column` say where: the experiment, the row's key in words, the CSV column. `tolerance` is what
    would have been allowed. Only a drift lets the check fail.
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


def words(key: Iterable[str]) -> str:
    """Write the key of a row, or a part of it, in words."""
    return " / ".join(filter(None, key))


def by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    """Return rows of a tidy table by what names them."""
    return {tuple(row[column] for column in KEY): row for row in rows}


def missing(name: str, what: str, column: str, before: bool, after: bool) -> Finding:
    """Return the finding that something is stored, or there now, but not both."""
    return Finding(name, what, column, "there" if before else "", "there" if after else "", "none")


def compare_exactly(
    name: str, stored: Iterable[Row], new: Iterable[Row], source: str, without: Collection[str] = ()
) -> Iterable[Finding]:
    """Compare two tidy tables, but for some metrics, without any tolerance; another note is no drift."""
    before, after = (by_key(row for row in rows if row["metric"] not in without) for rows in (stored, new))
    for key in dict.fromkeys([*before, *after]):
        if key not in before or key not in after:
            yield missing(name, words(key), f"row ({source})", key in before, key in after)
            continue
        for column in COLUMNS:
            if before[key][column] != after[key][column]:
                values = before[key][column], after[key][column]
                yield Finding(name, words(key), f"{column} ({source})", *values, "0 (exact)", column != "note")
