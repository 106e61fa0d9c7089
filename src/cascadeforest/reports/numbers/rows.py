"""What models predicted for each test row, in the form that the store keeps: paired comparisons need no labels.

The arrays of one data set variant, rows in the order of their split:

- ``split``: for each repeat the number of its split; ``test_rows/<split>``: numbers of the test rows in the data set;
- ``<model>/<repeat>/predicted``: class codes, and ``right``: whether they are right, packed by `numpy.packbits`;
- ``<model>/<repeat>/value`` and ``residual`` (value minus target) in regression, in single precision;
- ``<model>/<repeat>/placed``, of two classes where a table shows the ROC AUC: twice the placement of each row after
  DeLong et al. (1988). It is the number of negatives scored below a positive, and of positives scored above a
  negative, ties counted half.

`by_cell` gives them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.stats import rankdata

from cascadeforest.data.dataset import Dataset, load
from cascadeforest.data.errors import UserError
from cascadeforest.experiments.cells import predictions

if TYPE_CHECKING:
    from cascadeforest.reports.numbers.results import Results

Arrays: TypeAlias = dict[str, np.ndarray]
#: Arrays of each test row by model preset and repeat.
CellRows: TypeAlias = dict[tuple[str, int], Arrays]


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


def by_cell(arrays: Mapping[str, np.ndarray]) -> CellRows:
    """Return arrays with a value for each test row, by model preset and repeat.

    There are ``test_rows``, their numbers in the data set, and what the head of this module says; ``right`` is bool.
    """
    found: CellRows = {}
    for name, values in arrays.items():
        match name.split("/"):
            case [model, repeat, kind]:
                test = arrays[f"test_rows/{arrays['split'][int(repeat)]}"]
                one = found.setdefault((model, int(repeat)), {"test_rows": test})
                one[kind] = np.unpackbits(values, count=len(test)).astype(bool) if kind == "right" else values
    return found
