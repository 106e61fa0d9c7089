"""What models of an accepted suite predicted for each test row, so that paired tests over rows need no labels.

One file a data set variant, ``reports/<suite>/rows/<variant>.npz``, rows in the order of their split:

- ``split``: for each repeat the number of its split; ``test_rows/<split>``: numbers of the test rows in the data set;
- ``<model>/<repeat>/predicted``: class codes, and ``right``: whether they are right, packed by `numpy.packbits`;
- ``<model>/<repeat>/value`` and ``residual`` (value minus target) in regression, in single precision;
- ``<model>/<repeat>/placed``, of two classes where a table shows the ROC AUC: twice the placement of each row after
  DeLong et al. (1988). It is the number of negatives scored below a positive, and of positives scored above a
  negative, ties counted half.

`read_rows` reads them again.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from cascadeforest.data.dataset import Dataset, load
from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write, sha256_of
from cascadeforest.experiments.cells import SavedArrays, npz_bytes, predictions, read_arrays
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.store.stored import CELLS, ROWS, from_git, unpack

Arrays = dict[str, np.ndarray]


def placements(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return twice the number of rows of the other class that each row is placed right of; ties count half.

    Higher scores are more likely positive. A positive gets twice the negatives below it, a negative twice the positives
    above it: the mean over the positives, divided by twice the number of negatives, is the area under the ROC curve.
    """
    own = np.empty(len(scores))
    for side in (positive, ~positive):
        own[side] = rankdata(scores[side])
    others = rankdata(scores) - own  # rows of the other class below, ties half
    placed = np.where(positive, others, positive.sum() - others)
    return np.rint(2 * placed).astype(np.uint32)


def rows_of(results: Results, dataset: str, processed: Path) -> Arrays:
    """Return what the models of a run predicted for the test rows of one data set variant.

    Empty if no cell kept its predictions. `processed` is the folder of the processed data. `UserError` if the data are
    not those that the cells were computed on, or a file is damaged.
    """
    cells = [cell for cell in results.all_cells() if cell.dataset == dataset and cell.outputs]
    if not cells:
        return {}
    data = load(processed / f"{dataset}.npz")
    if other := {cell.provenance.data_digest for cell in cells} - {data.digest}:
        raise UserError(f"{dataset}: cells were computed on other data ({', '.join(other)}, now {data.digest}).")
    tests = [data.rows(repeat).test for repeat in range(max(cell.repeat for cell in cells) + 1)]
    numbers = {rows: k for k, rows in enumerate(dict.fromkeys(test.tobytes() for test in tests))}
    found: Arrays = {"split": np.array([numbers[test.tobytes()] for test in tests], np.int16)}
    found |= {f"test_rows/{numbers[test.tobytes()]}": test.astype(np.int32) for test in tests}
    shown = [results.experiments[name] for name in results.drawable() if "roc_auc" in results.experiments[name].metrics]
    with_auc = {model for e in shown for variant, model in e.needed_runs() if variant == dataset}
    for cell in cells:
        outputs = predictions(results.arrays_folder, cell, results.remedy)
        for name, values in _of_cell(outputs, data, tests[cell.repeat], cell.model in with_auc).items():
            found[f"{cell.model}/{cell.repeat}/{name}"] = values
    return found


def _of_cell(outputs: Arrays, data: Dataset, test: np.ndarray, with_placements: bool) -> Arrays:
    predicted, truth = outputs["predicted"], data.y[test]
    if data.task == "regression":
        return {"value": predicted.astype(np.float32), "residual": (predicted - truth).astype(np.float32)}
    small = np.min_scalar_type(len(data.class_names))
    found = {"predicted": predicted.astype(small), "right": np.packbits(predicted == truth)}
    scores = outputs.get("probabilities", outputs.get("scores"))
    if with_placements and scores is not None and len(data.class_names) == 2:
        found["placed"] = placements(scores[:, 1], truth == 1)
    return found


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
        models = {"split", "test_rows", *(model for variant, model in kept.runs if variant == dataset)}
        arrays = _read(stored, saved)
        staying = {name: values for name, values in arrays.items() if name.partition("/")[0] in models}
        if len(models) > 2:
            # The splits are those of the part with more repeats.
            parts = sorted((staying, found.get(dataset, {})), key=lambda part: len(part.get("split", ())))
            found[dataset] = parts[0] | parts[1]
    return found


def _read(stored: Path, saved: SavedArrays) -> Arrays:
    return read_arrays(stored / ROWS, saved, from_git(stored / ROWS / saved.file))


def read_rows(root: Path, suite: str, dataset: str) -> dict[tuple[str, int], Arrays]:
    """Read what the models of an accepted suite predicted for the test rows of a data set variant.

    By model preset and repeat there are arrays with a value for each test row: ``test_rows``, their numbers in the data
    set, and what the head of this module says; ``right`` is bool. `UserError` if no rows are stored for the data set,
    or the file is damaged.
    """
    stored = root / "reports" / suite
    files = unpack(stored / CELLS, suite).rows
    if dataset not in files:
        raise UserError(
            f"{stored / ROWS}: no rows of '{dataset}' are stored; there are {', '.join(files) or 'none'}. Either the "
            "suite does not have it, or an older version kept metrics only: run the suite and accept it again."
        )
    arrays = _read(stored, files[dataset])
    found: dict[tuple[str, int], Arrays] = {}
    for name, values in arrays.items():
        match name.split("/"):
            case [model, repeat, kind]:
                test = arrays[f"test_rows/{arrays['split'][int(repeat)]}"]
                one = found.setdefault((model, int(repeat)), {"test_rows": test})
                one[kind] = np.unpackbits(values, count=len(test)).astype(bool) if kind == "right" else values
    return found
