"""Draw stored tables and pictures again from the stored cells: no training, no results; a clean checkout is enough.

A table follows from its cells on every machine, so numbers are compared without any tolerance.
"""

import difflib
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cascadeforest.data.files import atomic_write
from cascadeforest.experiments.accepted import new_folder, recover
from cascadeforest.experiments.batches import COSTS, costs_csv
from cascadeforest.experiments.claims import CHECKS_FILE
from cascadeforest.experiments.plan import CLAIMS
from cascadeforest.reports.drawing.fidelity import report
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.fidelity import fidelity, read_declared
from cascadeforest.reports.store import stored as store
from cascadeforest.reports.store.accept import costs_of, refuse
from cascadeforest.reports.store.check import missing, redrawn
from cascadeforest.reports.store.crate import write_crate

#: Lines of a difference that are shown for one file.
N_SHOWN_LINES = 40
PAGE = "index.html"
#: Published numbers against reproduced ones, in the documentation.
FIDELITY, FIDELITY_PICTURE = "docs/fidelity.md", "docs/figures/fidelity.png"


@dataclass(frozen=True)
class RedrawReport:
    """What was drawn again: folder, ids of the tables, and how each file differs that is not the stored one."""

    folder: Path
    tables: tuple[str, ...]
    differences: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return what was drawn and what differs, in words."""
        same = "all as stored" if not self.differences else f"{len(self.differences)} files are not as stored"
        drawn = f"{len(self.tables)} tables and the page drawn from the stored cells"
        return [*self.differences, f"{drawn}: {same}. See {self.folder / PAGE}"]


def redraw_stored(root: Path, suite: str) -> RedrawReport:
    """Draw every form into ``results/<suite>/stored``, compare with what is stored; `UserError` if it is damaged."""
    stored, folder = root / "reports" / suite, root / "results" / suite / "stored"
    recover(stored)
    recover(folder)
    results = store.read_stored(root, suite)
    # Another version of matplotlib draws the same numbers in other dots.
    same_dots = store.read_provenance(stored).get("matplotlib") == metadata.version("matplotlib")
    with new_folder(folder) as new:
        files = store.drawn_files(results, every_form=True)
        for name, content in files.items():
            atomic_write(new / name, content)
        atomic_write(new / PAGE, index_page(results, new, read_declared(root)))
    kept = {file: content for file, content in files.items() if store.is_stored(file, content, suite)}
    differences = (_difference(stored / file, folder / file, content, same_dots) for file, content in kept.items())
    return RedrawReport(folder, tuple(results.drawable()), tuple(filter(None, differences)))


def _difference(path: Path, drawn: Path, content: bytes, same_dots: bool) -> str:
    """Return how a stored file differs from what was drawn; nothing if it does not."""
    before = path.read_bytes() if path.is_file() else b""
    if path.suffix == ".png":
        differs = before != content and (same_dots or not before)
        return f"{path} (stored) is not the picture drawn now: {drawn}" if differs else ""
    names = f"{path} (stored)", f"{path} (drawn now)"
    old, now = (text.decode(errors="replace").splitlines() for text in (before, content))
    lines = list(difflib.unified_diff(old, now, *names, lineterm=""))
    more = [f"... {len(lines) - N_SHOWN_LINES} more lines"] if len(lines) > N_SHOWN_LINES else []
    return "\n".join([*lines[:N_SHOWN_LINES], *more])


def refresh(root: Path, suite: str, may_add: bool = False) -> Path:
    """Write stored tables and pictures again; `UserError`, with nothing changed, if a number would change.

    Rows that are not stored are refused too, unless they may be added: they follow from the stored cells.
    Claims are judged anew; what changed in them since results were accepted is told as post hoc.
    """
    stored = root / "reports" / suite
    recover(stored)
    results, facts = store.read_stored(root, suite), store.read_provenance(stored)
    files = store.drawn_files(results, names=store.without_claims(results))
    numbers = {file: content for file, content in files.items() if file.endswith(".csv")}
    paths = [path for path in stored.glob("[tf]*/*.csv") if path.stem != CLAIMS]
    contents = {path.relative_to(stored).as_posix(): path.read_bytes() for path in paths}
    there = {file for file, content in contents.items() if store.is_stored(file, content, suite)}
    gone = (missing(Path(file).stem, file, "file", True, False) for file in sorted(there - numbers.keys()))
    found = [*gone, *redrawn(numbers, stored)]
    refuse(
        f"{stored}: numbers would change, so nothing is written:",
        (str(one) for one in found if one.is_drift and not (may_add and one.column.startswith("row ") and one.new)),
        f"If they are meant, run the suite and accept it: make accept SUITE={suite} MESSAGE='why'",
    )
    with new_folder(stored) as new:
        for path in filter(Path.is_file, (stored / store.CELLS, stored / CHECKS_FILE)):
            shutil.copy2(path, new)
        for folder in filter(Path.is_dir, (stored / store.EXTRAS, stored / store.ROWS)):
            shutil.copytree(folder, new / folder.name)
        for file, content in files.items():
            atomic_write(new / file, content)
        atomic_write(new / COSTS, costs_csv(costs_of(results), stored / COSTS))
        store.write_provenance(new, results, facts)
        store.write_united(root, suite, new)
        write_crate(root, new, results)
    return stored


def documentation(root: Path, suite: str) -> dict[str, bytes]:
    """Return path and content of the pages in docs/ that show a suite's stored numbers; none if docs/ shows another."""
    if suite not in store.PICTURED:
        return {}
    results = store.read_stored(root, suite)
    tables = {name: make_table(name, results).rows for name in store.without_claims(results)}
    found = report(fidelity(results, tables, read_declared(root)), results)
    pictures = {FIDELITY_PICTURE: found.figure.pictures()[".png"]} if found.figure else {}
    return {FIDELITY: found.markdown(FIDELITY_PICTURE.removeprefix("docs/")).encode(), **pictures}
