"""Draw stored tables and page again from the stored cells: no training, no results; a clean checkout is enough."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from cascadeforest.data.files import atomic_write
from cascadeforest.reports.index_page import index_page
from cascadeforest.reports.results import read_stored
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
        For each table's file that is not the stored one the difference, as text; for the page a sentence.
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
    for figure in sorted((stored / "figures").glob("[!.]*")):
        atomic_write(folder / "figures" / figure.name, figure.read_bytes())
    # With the stored figures: `folder` may hold some of an earlier drawing.
    page = index_page(results, stored)
    atomic_write(folder / PAGE, page)
    differences += _page_difference(stored / PAGE, page, folder / PAGE)
    return RenderReport(folder, tuple(results.drawable()), tuple(differences))


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
