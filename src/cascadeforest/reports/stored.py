"""Draw stored tables and page again from the stored cells: no training, no results; a clean checkout is enough."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cascadeforest.data.files import atomic_write
from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.index_page import index_page
from cascadeforest.reports.results import Results, is_figure, read_stored
from cascadeforest.reports.storage import recover
from cascadeforest.reports.table import make_table, write_table

#: Lines of a difference that are shown for one file.
N_SHOWN_LINES = 40
PAGE = "index.html"


@dataclass(frozen=True)
class RenderReport:
    """What was drawn again.

    Parameters
    ----------
    folder : Path
        Where it is.
    tables : tuple of str
        Ids of the tables.
    differences : tuple of str
        For each table's file that is not the stored one the difference, as text; for pictures and page a sentence.
    """

    folder: Path
    tables: tuple[str, ...]
    differences: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say what was drawn and what differs."""
        same = "all as stored" if not self.differences else f"{len(self.differences)} files are not as stored"
        drawn = f"{len(self.tables)} tables and the page drawn from the stored cells"
        return [*self.differences, f"{drawn}: {same}. See {self.folder}"]


def render_stored(root: Path, suite: str) -> RenderReport:
    """Draw tables and page into ``results/<suite>/stored`` and compare them with the stored ones, byte by byte.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite.

    Returns
    -------
    RenderReport

    Raises
    ------
    UserError
        If nothing is stored for the suite.
    """
    stored = root / "reports" / suite
    recover(stored)
    results = read_stored(root, suite)
    folder = root / "results" / suite / "stored"
    differences = []
    for name in results.drawable():
        files = make_table(name, results).files()
        write_table(name, files, folder / "tables")
        for suffix, content in files.items():
            path = stored / "tables" / f"{name}{suffix}"
            old = path.read_text(encoding="utf-8") if path.is_file() else ""
            if old != content:
                differences.append(_difference(path, old, content))
        if is_figure(results.experiment(name)):
            differences += _figure_differences(name, results, stored / "figures", folder / "figures")
    # With the stored figures: `folder` may hold some of an earlier drawing.
    page = index_page(results, stored)
    atomic_write(folder / PAGE, page)
    differences += _page_difference(stored / PAGE, page, folder / PAGE)
    return RenderReport(folder, tuple(results.drawable()), tuple(differences))


def _figure_differences(name: str, results: Results, stored: Path, folder: Path) -> Iterable[str]:
    """Draw a figure; its numbers must be the stored ones, its picture if the same matplotlib draws it."""
    files = make_figure(name, results).files()
    write_figure(name, files, folder)
    for suffix, content in files.items():
        path = stored / f"{name}{suffix}"
        old = path.read_bytes() if path.is_file() else b""
        if old == content:
            continue
        if suffix == ".csv":
            yield _difference(path, old.decode("utf-8"), content.decode("utf-8"))
        elif not old or _drawn_by(stored / f"{name}.svg") == _drawn_by(folder / f"{name}.svg"):
            yield f"{path} (stored) is not the picture drawn now: {folder / path.name}"


def _drawn_by(path: Path) -> str:
    """What an SVG says of the program that wrote it."""
    found = re.search(r"<dc:title>(Matplotlib v[^<,]*)", path.read_text(encoding="utf-8")) if path.is_file() else None
    return found[1] if found else ""


def _page_difference(path: Path, new: str, drawn: Path) -> list[str]:
    """One sentence if the stored page is another one: it holds whole tables and pictures, too long to show."""
    if path.is_file() and path.read_text(encoding="utf-8") == new:
        return []
    return [f"{path} (stored) is not the page drawn now: {drawn}"]


def _difference(path: Path, old: str, new: str) -> str:
    lines = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), f"{path} (stored)", f"{path} (drawn now)", lineterm="")
    )
    more = [f"... {len(lines) - N_SHOWN_LINES} more lines"] if len(lines) > N_SHOWN_LINES else []
    return "\n".join([*lines[:N_SHOWN_LINES], *more])
