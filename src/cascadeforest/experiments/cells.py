"""A cell: what one fit of one model on one repeat of one data set gave, in the cache ``results/cells``.

A cell is named by a digest of everything that decides its numbers: data, estimator, resolved parameters, repeat,
extras, seed, our code, versions of the libraries. Two tables that need the same cell share it. It holds predictions for
the test rows and no metrics, which are a view of them (`cascadeforest.experiments.metrics`).

``<key>.json`` has the facts and a digest of each file of arrays beside it, ``<key>.<digest>.npz`` the predictions and
``<key>.<extra>.<digest>.npz`` what an extra saved. Two jobs may compute one cell at the same time: by the digest in the
name neither overwrites arrays that the facts of the other are about. Nothing of it is believed unread.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import math
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import atomic_write, digest_of, sha256_of
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.extras import arrays_of, needs_log
from cascadeforest.experiments.fitting import Costs, Growth, chosen_of, curves_of, fit_model, growth_of
from cascadeforest.experiments.plan import Run
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.typed_files import read_typed, write_typed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy as np

FORMAT = 2
#: What is done about a damaged cell, for messages.
REMEDY = "It is computed again."


@dataclass(frozen=True)
class SavedArrays:
    """A file of arrays.

    Parameters
    ----------
    file : str
        Path below the folder of the cells.
    sha256 : str
        Digest of its bytes.
    """

    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one fit gave.

    Parameters
    ----------
    key : str
        The cell's name, from `cell_key`.
    dataset : str
        Data set variant.
    repeat : int
        Number of the repeat.
    estimator : str
        ``"package.module:Class"``.
    params : dict
        All parameters of the estimator.
    chosen : dict
        What the model chose while it was fitted, as mdDF's gamma, mu and theta.
    growth : Growth or None
        How the growth of a cascade ended; None for other models.
    curves : dict
        Name to a number for each layer of a cascade.
    costs : Costs
        What fitting and predicting cost.
    n_train, n_test, n_validation : int
        Rows of each part.
    seeds : dict
        Seed of the model and of the split; the latter is None for a given split.
    warnings : tuple of str
        What the fit warned of.
    threads : int
        Threads that it was allowed.
    started_ms, ended_ms : int
        When it ran, in milliseconds of the epoch.
    provenance : Provenance
        Versions, machine, digests of data and code, commit.
    outputs : SavedArrays or None
        Predictions for the test rows, in the order of the split. None: an older version kept metrics only.
    extras : dict
        What the cell saved for figures, by the full name of the extra.
    """

    key: str
    dataset: str
    repeat: int
    estimator: str
    params: dict[str, Json]
    chosen: dict[str, Json] = field(default_factory=dict)
    growth: Growth | None = None
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)
    costs: Costs
    n_train: int
    n_test: int
    n_validation: int
    seeds: dict[str, int | None]
    warnings: tuple[str, ...] = ()
    threads: int
    started_ms: int
    ended_ms: int
    provenance: Provenance
    outputs: SavedArrays | None = None
    extras: dict[str, SavedArrays] = field(default_factory=dict)


def cell_key(run: Run, repeat: int, provenance: Provenance) -> str:
    """Return the name of a cell: a digest of all that decides its numbers.

    Parameters
    ----------
    run : Run
        Of it count dataset, estimator, params, extras, seed and memory, not the name of the preset.
    repeat : int
        Number of the repeat.
    provenance : Provenance
        Of it count the digests of data and code, and the versions.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    decisive: dict[str, Json] = {
        "format": FORMAT,
        "dataset": run.dataset,
        "estimator": run.estimator,
        "params": run.params,
        "extras": list(run.extras_of(repeat)),
        "repeat": repeat,
        "memory": run.memory,
        "data": provenance.data_digest,
        "code": provenance.code_digest,
        "versions": provenance.versions,
    }
    return digest_of(decisive | ({"seed": run.seed} if run.seed else {}))


def cell_path(cache: Path, key: str) -> Path:
    """Return the file of a cell in the cache."""
    return cache / key[:2] / f"{key}.json"


def read_cell(cache: Path, run: Run, repeat: int, provenance: Provenance) -> Cell:
    """Read a cell and check that it is whole, and the one that is asked for.

    Parameters
    ----------
    cache : Path
        Folder of the cells.
    run : Run
        What the cell is of.
    repeat : int
        Number of the repeat.
    provenance : Provenance
        Present digests and versions.

    Returns
    -------
    Cell

    Raises
    ------
    FileNotFoundError
        If it was never computed.
    DamagedFile
        If it, or a file of arrays that belongs to it, is not what was written, or it is another cell.
    """
    key = cell_key(run, repeat, provenance)
    path = cell_path(cache, key)
    cell = read_typed(Cell, path, REMEDY)
    for name, found, expected in (
        ("key", cell.key, key),
        ("dataset", cell.dataset, run.dataset),
        ("repeat", cell.repeat, repeat),
        ("estimator", cell.estimator, run.estimator),
        ("data_digest", cell.provenance.data_digest, provenance.data_digest),
        ("code_digest", cell.provenance.code_digest, provenance.code_digest),
        ("extras", sorted(cell.extras), sorted(run.extras_of(repeat))),
    ):
        if found != expected:
            raise DamagedFile(path, f"{name} is {found!r}, not {expected!r}: it is another cell", REMEDY)
    if cell.outputs is None:
        raise DamagedFile(path, "without predictions", REMEDY)
    for saved in (cell.outputs, *cell.extras.values()):
        check_arrays(cache, saved, REMEDY)
    return cell


def check_arrays(folder: Path, saved: SavedArrays, remedy: str) -> None:
    """Raise `DamagedFile` if a file of arrays is missing, or not what was written; see `read_arrays`."""
    path = folder / saved.file
    try:
        found = sha256_of(path)
    except OSError as error:
        raise DamagedFile(path, f"it cannot be read ({error.strerror})", remedy) from error
    if found != saved.sha256:
        raise DamagedFile(path, f"its content has the digest {found[:12]}, not {saved.sha256[:12]}", remedy)


def read_arrays(folder: Path, saved: SavedArrays, remedy: str = REMEDY) -> dict[str, np.ndarray]:
    """Read arrays that a cell saved (``.npz`` or ``.npz.xz``), and check that they are what was written.

    Parameters
    ----------
    folder : Path
        Folder of the cells, or of the arrays that were stored with a report.
    saved : SavedArrays
        Which file.
    remedy : str
        What to do about a damaged file, for the message.

    Returns
    -------
    dict
        Name to array.

    Raises
    ------
    DamagedFile
        If the file is missing, or not what was written.
    """
    import numpy as np

    check_arrays(folder, saved, remedy)
    content = (folder / saved.file).read_bytes()
    with np.load(io.BytesIO(lzma.decompress(content) if saved.file.endswith(".xz") else content)) as arrays:
        return dict(arrays)


def predictions(folder: Path, cell: Cell, remedy: str = REMEDY) -> dict[str, np.ndarray]:
    """Read what a cell predicted for its test rows, in the order of the split, and check it.

    Parameters
    ----------
    folder : Path
        Folder of the cells.
    cell : Cell
        The cell.
    remedy : str
        What to do about a damaged file, for the message.

    Returns
    -------
    dict
        ``predicted``: class codes, or values. Of a classifier also ``probabilities`` or ``scores``, with a column for
        each class of the data set, where the model gives them.

    Raises
    ------
    UserError
        If the cell has no predictions: an older version kept metrics only.
    DamagedFile
        If the file is missing, or not what was written.
    """
    if cell.outputs is None:
        raise UserError(
            f"{cell.dataset}, repeat {cell.repeat}: the predictions for the test rows are not stored; the cell "
            f"{cell.key[:12]} was computed by a version that kept metrics only. Run it again."
        )
    return read_arrays(folder, cell.outputs, remedy)


def compute_cell(
    run: Run,
    repeat: int,
    data: Path,
    cache: Path,
    threads: int,
    provenance: Provenance,
    profiler: Connection | None = None,
) -> Cell:
    """Fit a model on one repeat and write what it gave into the cache.

    For a run with `memory`, call it in a process of its own: it measures the memory of the whole process.

    Parameters
    ----------
    run : Run
        Which model on which data set.
    repeat : int
        Number of the repeat.
    data : Path
        Processed data set.
    cache : Path
        Folder of the cells.
    threads : int
        Threads that the estimator may use.
    provenance : Provenance
        Kept in the cell.
    profiler : Connection, optional
        As for `cascadeforest.experiments.measure.measure`.

    Returns
    -------
    Cell
        What was written.
    """
    started = time.time()
    listen = any(map(needs_log, run.extras_of(repeat)))
    fit = fit_model(run, repeat, data, threads, listen=listen, profiler=profiler)
    model, split = fit.fitted.estimator, fit.fitted.split
    key = cell_key(run, repeat, provenance)

    def save(name: str, arrays: Mapping[str, np.ndarray]) -> SavedArrays:
        content = npz_bytes(arrays)
        digest = hashlib.sha256(content).hexdigest()
        path = cell_path(cache, key).with_suffix(f"{name}.{digest[:12]}.npz")
        atomic_write(path, content)
        return SavedArrays(path.relative_to(cache).as_posix(), digest)

    cell = Cell(
        key=key,
        dataset=run.dataset,
        repeat=repeat,
        estimator=run.estimator,
        params={name: _plain(value) for name, value in sorted(model.get_params().items())},
        chosen={name: _plain(value) for name, value in chosen_of(model).items()},
        growth=growth_of(model),
        curves=curves_of(model),
        costs=fit.costs,
        n_train=len(split.y_train),
        n_test=len(split.y_test),
        n_validation=0 if split.y_validation is None else len(split.y_validation),
        seeds=fit.seeds,
        warnings=fit.warnings,
        threads=threads,
        started_ms=round(1000 * started),
        outputs=save("", {name: narrow(values) for name, values in fit.fitted.outputs.items()}),
        extras={name: save(f".{name}", arrays_of(name, fit.fitted)) for name in run.extras_of(repeat)},
        ended_ms=round(1000 * time.time()),
        provenance=provenance,
    )
    # Last: a cell without its JSON never ran, whatever else lies beside it.
    write_typed(cell_path(cache, key), cell)
    return cell


def narrow(values: np.ndarray) -> np.ndarray:
    """Return numbers in single precision where that changes none of them, else as they are."""
    import numpy as np

    half = values.astype(np.int32 if np.issubdtype(values.dtype, np.integer) else np.float32)
    return half if np.array_equal(half, values, equal_nan=half.dtype.kind == "f") else values


def npz_bytes(arrays: Mapping[str, np.ndarray], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return arrays as an ``.npz``. Equal ones give equal bytes: numpy's own function stamps the time of day in."""
    import numpy as np

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # of 1980
            member.compress_type = compression
            with archive.open(member, "w", force_zip64=True) as content:
                np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def xz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as an ``.npz.xz``: those whose names end alike stand together, and what they share is kept once."""
    names = sorted(arrays, key=lambda name: (name.rpartition("/")[2], name))
    return lzma.compress(npz_bytes({name: arrays[name] for name in names}, zipfile.ZIP_STORED))


def _plain(value: object) -> Json:
    """Parameters as JSON: estimators and other objects by their text."""
    import numpy as np

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has neither NaN nor infinity
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
