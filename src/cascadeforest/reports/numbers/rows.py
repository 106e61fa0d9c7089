"""What models predicted for each test row, in the form that the store keeps: paired comparisons need no labels.

The arrays of one data set variant, rows in the order of the data set:

- ``split``: for each repeat the number of its split; ``test_rows/<split>``: whether a row is tested, packed as bits;
- ``class/<split>``, where a table shows balanced accuracy, or the ROC AUC of several classes: codes of their classes;
- ``<model>/<repeat>/predicted``: class codes, and ``right``: whether they are right, packed by `numpy.packbits`;
- ``<model>/<repeat>/residual`` in regression: prediction minus target, divided by the RMSE, in half precision;
- ``<model>/<repeat>/placed``, of two classes where a table shows the ROC AUC (and repeats share test rows, or have
  few, since it takes room): twice the placement of each row after DeLong et al. (1988), the number of negatives
  scored below a positive, and of positives scored above a negative, ties counted half;
- ``<model>/<repeat>/area``, of several classes: what each row adds to the mean of the areas, minus this mean, in single
  precision (`areas`);
- ``<model>/<repeat>/loss``, where a table shows the log loss and all repeats have the same test rows, over which its
  interval is then: that of each row, right to 0.8 %, since intervals take its spread only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cascadeforest.data.dataset import Dataset, load
from cascadeforest.data.errors import UserError
from cascadeforest.experiments.cells import predictions, read_arrays
from cascadeforest.experiments.records import accepted_folder, accepted_instead, accepted_path
from cascadeforest.inference.row_values import areas, log_losses, placements, stored_losses

if TYPE_CHECKING:
    from cascadeforest.reports.numbers.results import Results

Arrays: TypeAlias = dict[str, np.ndarray]
#: Arrays of each test row by model preset and repeat.
CellRows: TypeAlias = dict[tuple[str, int], Arrays]
#: Metrics that a test row moves by 1 at most, whatever the data.
BOUNDED = frozenset({"accuracy", "error_rate", "balanced_accuracy", "roc_auc"})
#: Most test rows that are kept for the ROC AUC where each repeat has its own split: repeats decide there.
MOST_PLACED = 20_000
#: Metrics that are no mean over test rows, not even nearly.
WITHOUT_ROWS = frozenset({"ece"})
#: Arrays that are kept only where a table shows this metric.
SHOWN_BY = {"placed": "roc_auc", "area": "roc_auc", "loss": "log_loss"}


def rows_of(results: Results, dataset: str, processed: Path, strict: bool = False) -> Arrays:
    """Return what models predicted for the test rows of a data set variant: empty if no cell kept its predictions.

    `processed` is the folder of the processed data. `UserError` if the cells had other data, or a file is damaged; if
    it is `strict`, also if a cell that was taken as it was accepted has not all that the tables need.
    """
    cells = [cell for cell in results.all_cells() if cell.dataset == dataset and cell.outputs]
    if not cells:
        return {}
    data = load(processed / f"{dataset}.npz")
    if other := {cell.provenance.data_digest for cell in cells} - {data.digest}:
        raise UserError(f"{dataset}: cells were computed on other data ({', '.join(other)}, now {data.digest}).")
    splits = [data.rows(repeat).test for repeat in range(max(cell.repeat for cell in cells) + 1)]
    tested = [np.packbits(np.isin(np.arange(len(data.y)), test)) for test in splits]
    numbers = {mask: k for k, mask in enumerate(dict.fromkeys(mask.tobytes() for mask in tested))}
    found: Arrays = {"split": np.array([numbers[mask.tobytes()] for mask in tested], np.int16)}
    found |= {f"test_rows/{numbers[mask.tobytes()]}": mask for mask in tested}
    large = {"roc_auc"} if len(numbers) == len(splits) and max(map(len, splits)) > MOST_PLACED else set()
    wanted: dict[str, set[str]] = {}
    for experiment in map(results.experiments.__getitem__, results.drawable()):
        models = {model for variant, model in experiment.needed_runs() if variant == dataset}
        for metric in set(experiment.metrics) - ({"log_loss", *large} if len(numbers) > 1 else set()):
            wanted.setdefault(metric, set()).update(models)
    is_weighed = wanted.get("balanced_accuracy") or (wanted.get("roc_auc") and len(data.class_names) > 2)
    if data.task == "classification" and is_weighed:
        small = np.min_scalar_type(len(data.class_names))
        sorted_classes = [data.y[np.sort(test)].astype(small) for test in splits]
        found |= {f"class/{numbers[mask.tobytes()]}": own for mask, own in zip(tested, sorted_classes, strict=True)}
    folder, lacking = results.arrays_folder.parent / results.suite, list[Path]()
    for cell in cells:
        shown = {metric for metric, models in wanted.items() if cell.model in models}
        place = f"{cell.model}/{cell.repeat}"
        if accepted := accepted_instead(folder, results.arrays_folder, cell):
            rows = read_arrays(accepted_folder(folder), accepted.rows)
            found |= {f"{place}/{name}": rows[name] for name in rows if SHOWN_BY.get(name) in {None, *shown}}
            if {*SHOWN_BY.values()} & shown & cell.metrics.keys() - {SHOWN_BY.get(name) for name in rows}:
                lacking.append(accepted_path(folder, cell.key, "*"))  # presets that share it
            continue
        outputs = predictions(results.arrays_folder, cell, results.remedy)
        order = np.argsort(splits[cell.repeat])
        outputs = {name: values[order] for name, values in outputs.items()}
        for name, values in _of_cell(outputs, data, splits[cell.repeat][order], shown).items():
            found[f"{place}/{name}"] = values
    if strict and lacking:
        files = " ".join(map(str, lacking))
        words = "cells were accepted without rows that the tables need: run again after rm -f"
        raise UserError(f"{dataset}: {words} {files}")
    return found


def _of_cell(outputs: Arrays, data: Dataset, test: np.ndarray, shown: set[str]) -> Arrays:
    """Return what is kept of a cell whose model is in tables that show these metrics."""
    predicted, truth = outputs["predicted"], data.y[test]
    if data.task == "regression":
        residuals = predicted - truth
        return {"residual": (residuals / (np.sqrt(np.mean(residuals**2)) or 1.0)).astype(np.float16)}
    small = np.min_scalar_type(len(data.class_names))
    found = {"predicted": predicted.astype(small), "right": np.packbits(predicted == truth)}
    scores = outputs.get("probabilities", outputs.get("scores"))
    if "roc_auc" in shown and scores is not None:
        if len(data.class_names) == 2:
            found["placed"] = placements(scores[:, 1], truth == 1)
        else:
            found["area"] = areas(scores, truth).astype(np.float32)
    if "log_loss" in shown and "probabilities" in outputs:
        found["loss"] = stored_losses(log_losses(outputs["probabilities"], truth))
    return found


def by_cell(arrays: Mapping[str, np.ndarray]) -> CellRows:
    """Return arrays with a value for each test row, by model preset and repeat.

    There are ``test_rows``, their numbers in the data set, and what the head of this module says; ``right`` is bool,
    and ``class`` is there if the data set has it.
    """
    found: CellRows = {}
    for name, values in arrays.items():
        match name.split("/"):
            case [model, repeat, kind]:
                split = arrays["split"][int(repeat)]
                test = np.flatnonzero(np.unpackbits(arrays[f"test_rows/{split}"]))
                of_split = {"test_rows": test, "class": arrays.get(f"class/{split}")}
                known = {key: rows for key, rows in of_split.items() if rows is not None}
                one = found.setdefault((model, int(repeat)), known)
                one[kind] = np.unpackbits(values, count=len(test)).astype(bool) if kind == "right" else values
    return found
