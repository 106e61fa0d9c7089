"""What a renderer gives: the tidy rows, the view of them, and the files made of both."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.data.files import atomic_write
from cascadeforest.reports.rendering import to_latex, to_markdown
from cascadeforest.reports.results import Results
from cascadeforest.reports.tidy import TidyRow, to_csv
from cascadeforest.reports.view import TableView

if TYPE_CHECKING:
    from cascadeforest.reports.figure import Figure

SUFFIXES = (".csv", ".md", ".tex")


@dataclass(frozen=True)
class Table:
    """A table, ready to be written.

    Parameters
    ----------
    rows : tuple of TidyRow
        The numbers.
    view : TableView
        Their arrangement.
    figure : Figure or None
        The picture that the table belongs to, if the experiment is a figure.
    """

    rows: tuple[TidyRow, ...]
    view: TableView
    figure: Figure | None = None

    def files(self) -> dict[str, str]:
        """Suffix to content; the same bytes for the same results."""
        return {".csv": to_csv(self.rows), ".md": to_markdown(self.view), ".tex": to_latex(self.view)}


def make_table(name: str, results: Results) -> Table:
    """Draw one experiment.

    Parameters
    ----------
    name : str
        Id of the experiment.
    results : Results
        What it is made from.

    Returns
    -------
    Table

    Raises
    ------
    UserError
        If the experiment is unknown or not implemented.
    """
    experiment = results.experiment(name)
    # Renderers are found by name: a new one is one file, and no edit here.
    renderer = importlib.import_module(f"cascadeforest.reports.renderers.{experiment['render']}")
    return renderer.render(experiment, results)


def write_table(name: str, files: Mapping[str, str], folder: Path) -> None:
    """Write the files of a table.

    Parameters
    ----------
    name : str
        Id of the experiment.
    files : mapping
        Suffix to content, from `Table.files`.
    folder : Path
        Folder of the tables.
    """
    for suffix, content in files.items():
        atomic_write(folder / f"{name}{suffix}", content)
