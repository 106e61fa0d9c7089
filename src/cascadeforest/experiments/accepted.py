"""Cells that were accepted earlier: the file that keeps them, and how a run takes them instead of computing them again.

``reports/<suite>/cells.json.gz`` has the plan and the cells of an accepted suite, ``extras/`` the arrays that figures
are drawn from, ``rows/`` what models predicted for each test row, as far as paired comparisons need it.
`restore` puts the cells into ``results/<suite>/accepted``. A job takes one if its name, a digest of everything that
decides its numbers, is the one that it would compute: any other data, parameter, code or library computes it again.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError, DamagedFile, UserError
from cascadeforest.data.files import atomic_write, parse_signed_json
from cascadeforest.data.typed_json import Json, from_json
from cascadeforest.experiments.cells import SavedArrays, check_arrays, npz_bytes, read_arrays
from cascadeforest.experiments.plan import Plan
from cascadeforest.experiments.records import (
    CELL_CACHE,
    AcceptedCell,
    RunResult,
    ScoredCell,
    Timed,
    accepted_folder,
    accepted_path,
)
from cascadeforest.experiments.typed_files import write_typed

if TYPE_CHECKING:
    import numpy as np

FORMAT = 3
CELLS, EXTRAS, ROWS = "cells.json.gz", "extras", "rows"


@dataclass(frozen=True)
class StoredSuite:
    """Content of ``reports/<suite>/cells.json.gz``.

    Parameters
    ----------
    format : int
        `FORMAT`.
    plan : Plan
        What is shown, without training jobs.
    runs : tuple of RunResult
        The cells, by model preset and data set variant.
    summaries : dict
        Facts about the data sets.
    rows : dict
        By data set variant the file with the predictions for its test rows; data sets are not in it whose cells were
        computed by a version that kept metrics only.
    timings : tuple of Timed
        What was timed in turn.
    """

    format: int
    plan: Plan
    runs: tuple[RunResult, ...]
    summaries: dict[str, dict[str, Json]]
    rows: dict[str, SavedArrays]
    timings: tuple[Timed, ...] = ()


def from_git(path: Path) -> str:
    """Say what to do about a damaged stored file."""
    return f"Take it from git again: git checkout -- {path}"


def unpack(path: Path, suite: str) -> StoredSuite:
    """Read and check ``cells.json.gz``.

    Raises
    ------
    UserError
        If it is not there, damaged or of another format.
    """
    if not path.is_file():
        raise UserError(
            f"{path}: no such file, so nothing is stored for the suite '{suite}'. "
            f"Run the suite, then: make accept SUITE={suite} MESSAGE='why'"
        )
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DamagedFile(path, f"damaged ({error})", from_git(path)) from error
    content = parse_signed_json(text, path, from_git(path))
    if content.get("format") != FORMAT:
        raise UserError(
            f"{path}: format is {content.get('format')}; this version reads {FORMAT}. "
            f"Run the suite again and accept it: make accept SUITE={suite} MESSAGE='new format'"
        )
    try:
        stored = from_json(StoredSuite, content, str(path))
    except ConfigError as error:
        raise DamagedFile(path, f"written by another version ({error})", from_git(path)) from error
    if stored.plan.suite != suite:
        raise DamagedFile(path, f"it is of the suite '{stored.plan.suite}'", from_git(path))
    return stored


@dataclass
class Restored:
    """What `restore` put there.

    Parameters
    ----------
    cells : int
        How many cells.
    left_out : dict
        Reason to number of cells that no run can take.
    """

    cells: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return what was done, in words."""
        return [
            f"Accepted cells for runs to take: {self.cells:,}. A run takes those whose data, parameters, code and "
            "libraries are the same as now, and computes the rest.",
            *(f"Cells that no run can take, since {reason}: {n:,}" for reason, n in self.left_out.items()),
        ]


def restore(root: Path, suite: str) -> Restored:
    """Put the accepted cells of a suite where its runs take them.

    Whether a run takes a cell is decided when its turn comes (`cascadeforest.experiments.records.read_accepted`). Cells
    of an earlier call that are no longer stored go. Timings in turn are not restored: they belong to a machine.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Its name.

    Raises
    ------
    UserError
        If nothing is stored, or it is damaged, or the suite has runs: they would stay as they are.
    """
    stored_folder, folder = root / "reports" / suite, root / "results" / suite
    cache, place = root / CELL_CACHE, accepted_folder(folder)
    recover(stored_folder)
    stored, done = unpack(stored_folder / CELLS, suite), Restored()
    if any((folder / "runs").rglob("*.json")):
        raise UserError(
            f"{folder} has runs, which stay as they are. Remove this folder and restore again: fits that were computed "
            f"here stay in {cache}, and what is accepted is taken first."
        )
    shutil.rmtree(place, ignore_errors=True)
    rows: dict[str, dict[str, np.ndarray]] = {}
    for run in stored.runs:
        dataset = run.run.dataset
        if dataset not in rows:  # one data set at a time: runs are sorted by it
            saved = stored.rows.get(dataset)
            path = stored_folder / ROWS
            rows = {dataset: read_arrays(path, saved, from_git(path / saved.file)) if saved else {}}
        for cell in run.cells:
            own = _rows_of(rows[dataset], cell)
            lacking = not own or not all(_copied(stored_folder / EXTRAS, cache, one) for one in cell.extras.values())
            if lacking:
                reason = "what they save is not stored" if own else "their predictions were not kept"
                done.left_out[reason] = done.left_out.get(reason, 0) + 1
                continue
            path = accepted_path(folder, cell.key, cell.model)
            content = npz_bytes(dict(sorted(own.items())))
            atomic_write(path.with_suffix(".npz"), content)
            name = path.with_suffix(".npz").relative_to(place).as_posix()
            write_typed(path, AcceptedCell(run.scoring, cell, SavedArrays(name, sha256(content).hexdigest())))
            done.cells += 1
    return done


def _copied(stored: Path, cache: Path, saved: SavedArrays) -> bool:
    """Whether a file of arrays is whole in the cache, to which it is copied if it is stored."""
    try:
        check_arrays(cache, saved, "")
    except DamagedFile:
        if not (stored / saved.file).is_file():
            return False
        check_arrays(stored, saved, from_git(stored / saved.file))
        atomic_write(cache / saved.file, (stored / saved.file).read_bytes())
    return True


def _rows_of(arrays: Mapping[str, np.ndarray], cell: ScoredCell) -> dict[str, np.ndarray]:
    """Return what a data set's file of rows has of one cell."""
    place = f"{cell.model}/{cell.repeat}"
    return {name.rpartition("/")[2]: values for name, values in arrays.items() if name.rpartition("/")[0] == place}


# Replace a whole folder so that a reader, or a kill, finds the old one or the new one --------------------------------


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `folder` when the block ends well.

    Taking the place is two renames: there is no portable way to exchange two folders in one. `recover` mends a kill
    between them.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new.", dir=folder.parent))
    new.chmod(0o755)  # mkdtemp makes it private
    try:
        yield new
        old = _old(folder)
        if old.exists():
            shutil.rmtree(old)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put the old folder back if a replacement was killed half-way, and remove what it left."""
    old = _old(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in folder.parent.glob(f".{folder.name}.new.*"):
        shutil.rmtree(left, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")
