"""What a renderer gives: the tidy rows, the view of them, and the files made of both."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import atomic_write
from cascadeforest.reports.drawing.figure import Figure
from cascadeforest.reports.drawing.formats import to_latex, to_markdown
from cascadeforest.reports.drawing.panels import Picture
from cascadeforest.reports.drawing.view import Row, TableView, without_source
from cascadeforest.reports.drawing.words import Words
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow, to_csv
from cascadeforest.reports.numbers.results import Results

SUFFIXES = (".csv", ".md", ".tex")


@dataclass(frozen=True)
class Table:
    """A table, ready to be written, and the picture that it belongs to if the experiment is a figure."""

    rows: tuple[TidyRow, ...]
    view: TableView
    figure: Figure | None = None

    def files(self) -> dict[str, str]:
        """Suffix to content; the same bytes for the same results."""
        return {".csv": to_csv(self.rows), ".md": to_markdown(self.view), ".tex": to_latex(self.view)}


def table_view(
    cells: Cells,
    label_heads: Sequence[str],
    heads: Sequence[str],
    lines: Iterable[Row],
    notes: Sequence[str],
    size: str = "repeats × test rows",
) -> TableView:
    """Arrange the lines of a table.

    `label_heads` lack the last one, of the label that tells reproduced from published lines. `size` is the head of the
    last column, which says what stands behind a line; empty for none.
    """
    experiment = cells.experiment
    labels, rows = without_source((*label_heads, ""), list(lines))
    return TableView(
        name=experiment.id,
        title=experiment.title,
        suite=cells.results.suite,
        label_heads=labels,
        heads=tuple(heads),
        size_head=size,
        rows=tuple(rows),
        notes=tuple(notes),
        deviations=experiment.deviations,
    )


def with_figure(
    rows: Iterable[TidyRow], view: TableView, words: Words, drawn: Iterable[TidyRow], picture: Picture
) -> Table:
    """Return a table with its figure: the numbers drawn, and the picture with its caption."""
    return Table(tuple(rows), view, Figure(words.caption(), words.alt(), tuple(drawn), picture.draw))


def make_table(name: str, results: Results) -> Table:
    """Draw one experiment; `UserError` if it is unknown or not implemented."""
    experiment = results.experiment(name)
    # Renderers are found by name: a new one is one file, and no edit here.
    renderer = importlib.import_module(f"cascadeforest.reports.drawing.renderers.{experiment.render}")
    return renderer.render(experiment, results)


def make_figure(name: str, results: Results) -> Figure:
    """Draw the picture of one experiment; `UserError` if it cannot be drawn, `ConfigError` if it is no figure."""
    experiment = results.experiment(name)
    figure = make_table(name, results).figure if experiment.is_figure else None
    if figure is None:
        raise ConfigError(
            f"{experiment.place}/kind is '{experiment.kind}', render is '{experiment.render}': this gives no picture. "
            "Take a renderer that draws, and 'kind: figure'."
        )
    return figure


def write_files(name: str, files: Mapping[str, str | bytes], folder: Path) -> None:
    """Write the files of a table or figure, given as suffix to content."""
    for suffix, content in files.items():
        atomic_write(folder / f"{name}{suffix}", content)
