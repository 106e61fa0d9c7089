"""The part of the regression check that knows no tolerance: a table follows from its cells, on every machine."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable
from pathlib import Path

from cascadeforest.reports.figure import PICTURE_SUFFIXES, make_figure
from cascadeforest.reports.findings import Finding, key_of, words
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import make_table
from cascadeforest.reports.tidy import COLUMNS, read_csv


def redraw(name: str, path: Path, results: Results, source: str) -> Iterable[Finding]:
    """Compare a table with what its cells give now: other numbers are drifts, other words a note.

    Parameters
    ----------
    name : str
        Id of the experiment.
    path : Path
        Its tidy CSV file; Markdown and LaTeX lie beside it.
    results : Results
        What it was made from.
    source : str
        Words for these results; they stand with each finding.

    Yields
    ------
    Finding
    """
    files = make_table(name, results).files()
    yield from compare_numbers(name, path, files[".csv"], source)
    for suffix in (".md", ".tex"):
        text = path.with_suffix(suffix)
        if not text.is_file() or text.read_text(encoding="utf-8") != files[suffix]:
            there = ["there" if text.is_file() else "", "another text"]
            yield Finding(name, text.name, f"file ({source})", *there, "any: the numbers are in the CSV", False)


def redraw_figure(name: str, folder: Path, results: Results, source: str) -> Iterable[Finding]:
    """Compare a figure with what its cells give now: other drawn numbers are drifts, another picture a note.

    Parameters
    ----------
    name : str
        Id of the experiment.
    folder : Path
        Folder of the figures.
    results : Results
        What it was made from.
    source : str
        Words for these results; they stand with each finding.

    Yields
    ------
    Finding
    """
    figure = make_figure(name, results)
    numbers = folder / f"{name}.csv"
    if not numbers.is_file():
        yield Finding(name, f"figures/{numbers.name}", f"file ({source})", "", "there", "none")
        return
    yield from compare_numbers(name, numbers, figure.csv().decode("utf-8"), f"drawn in the figure, {source}")
    for suffix in PICTURE_SUFFIXES:
        path = folder / f"{name}{suffix}"
        if not path.is_file():
            yield Finding(name, f"figures/{path.name}", f"file ({source})", "", "there", "none")


def compare_numbers(name: str, path: Path, drawn: str, source: str, without: Collection[str] = ()) -> Iterable[Finding]:
    """Compare two tidy tables without any tolerance.

    Parameters
    ----------
    name : str
        Id of the experiment.
    path : Path
        A tidy CSV file.
    drawn : str
        Content of the other one.
    source : str
        Words for the comparison; they stand with each finding.
    without : collection of str
        Metrics that are left out.

    Yields
    ------
    Finding
    """
    before = {key_of(row): row for row in read_csv(path) if row["metric"] not in without}
    after = {key_of(row): row for row in csv.DictReader(io.StringIO(drawn)) if row["metric"] not in without}
    for key in dict.fromkeys([*before, *after]):
        if key not in before or key not in after:
            there = ["there" if key in rows else "" for rows in (before, after)]
            yield Finding(name, words(key), f"row ({source})", *there, "none")
            continue
        for column in COLUMNS:
            if before[key][column] != after[key][column]:
                there = [rows[key][column] for rows in (before, after)]
                yield Finding(name, words(key), f"{column} ({source})", *there, "0 (exact)", column != "note")
