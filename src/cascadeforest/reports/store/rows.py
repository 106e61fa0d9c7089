"""What models of an accepted suite predicted for each test row, so that paired comparisons need no labels.

One file a data set variant, ``reports/<suite>/rows/<variant>.npz``, with the arrays that
`cascadeforest.reports.numbers.rows` describes. `read_rows` reads them again.
"""

from collections.abc import Mapping
from pathlib import Path

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write, sha256_of
from cascadeforest.experiments.cells import SavedArrays, npz_bytes, read_arrays
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.numbers.rows import Arrays, CellRows, by_cell
from cascadeforest.reports.store.stored import CELLS, ROWS, from_git, unpack


def write_rows(rows: Mapping[str, Arrays], folder: Path) -> dict[str, SavedArrays]:
    """Write the files of all data set variants that have rows and return their names and digests."""
    saved = {}
    for dataset, arrays in sorted(rows.items()):
        if arrays:
            atomic_write(folder / f"{dataset}.npz", npz_bytes(dict(sorted(arrays.items()))))
            saved[dataset] = SavedArrays(f"{dataset}.npz", sha256_of(folder / f"{dataset}.npz"))
    return saved


def united_rows(rows: Mapping[str, Arrays], kept: Results, stored: Path) -> dict[str, Arrays]:
    """Add the rows, stored in the folder `stored`, of the models that stay."""
    found = dict(rows)
    for dataset, saved in unpack(stored / CELLS, kept.suite).rows.items():
        models = {"split", "test_rows", "class", *(model for variant, model in kept.runs if variant == dataset)}
        arrays = _read(stored, saved)
        staying = {name: values for name, values in arrays.items() if name.partition("/")[0] in models}
        if len(models) > 3:
            # The splits are those of the part with more repeats.
            parts = sorted((staying, found.get(dataset, {})), key=lambda part: len(part.get("split", ())))
            found[dataset] = parts[0] | parts[1]
    return found


def _read(stored: Path, saved: SavedArrays) -> Arrays:
    return read_arrays(stored / ROWS, saved, from_git(stored / ROWS / saved.file))


def read_rows(root: Path, suite: str, dataset: str) -> CellRows:
    """Read what the models of an accepted suite predicted for the test rows of a data set variant.

    `UserError` if no rows are stored for the data set, or the file is damaged.
    """
    stored = root / "reports" / suite
    files = unpack(stored / CELLS, suite).rows
    if dataset not in files:
        raise UserError(
            f"{stored / ROWS}: no rows of '{dataset}' are stored; there are {', '.join(files) or 'none'}. Either the "
            "suite does not have it, or an older version kept metrics only: run the suite and accept it again."
        )
    return by_cell(_read(stored, files[dataset]))
