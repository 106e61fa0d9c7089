"""What models of two features predict on a grid and for their rows (ddbf-fig6); the picture is of the first repeat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow

EXTRA = "decision_grid"
ACCURACY, SHARE = "accuracy", "region_share"
PARTS = {"train": "training rows", "test": "test rows"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: names of the two features."""

    features: tuple[str, str] = ("feature 1", "feature 2")


def borders(predicted: np.ndarray) -> np.ndarray:
    """Return the lines of length 1 between neighbours of different classes on a grid, an array of shape (n, 2, 2).

    It has both ends (x, y) of each line; the first square of the grid reaches from (0, 0) to (1, 1).
    """
    upright = np.argwhere(predicted[:, 1:] != predicted[:, :-1])[:, ::-1] + np.array([1, 0])
    level = np.argwhere(predicted[1:] != predicted[:-1])[:, ::-1] + np.array([0, 1])
    steps = np.repeat([[0, 1], [1, 0]], [len(upright), len(level)], axis=0)
    begins = np.concatenate([upright, level])
    return np.stack([begins, begins + steps], axis=1)


def classes(cells: Cells, pair: Pair) -> dict[int, str]:
    """Return code and name of each class that rows have or are predicted as, or that the grid shows."""
    arrays = cells.first_arrays(*pair, EXTRA)
    codes = {int(code) for name in arrays if name.startswith(("y_", "predicted")) for code in arrays[name].flat}
    return {code: cells.class_name(pair[0], code) for code in sorted(codes)}


def facts(cells: Cells) -> Iterable[TidyRow]:
    """Yield the accuracy on training and on test rows, over all repeats and in the first repeat."""
    for pair in cells.pairs:
        repeats = cells.arrays(*pair, EXTRA)
        for part in PARTS:
            right = [arrays[f"predicted_{part}"] == arrays[f"y_{part}"] for arrays in repeats]
            for condition, shown in ((part, right), (f"{part}, first repeat", right[:1])):
                values, n = [float(one.mean()) for one in shown], min(map(len, shown), default=None)
                yield cells.row(*pair, condition, ACCURACY, values, n_test=n)


def drawn(cells: Cells) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: each class's share of the plane, and each row of data."""
    for pair in cells.pairs:
        arrays, names = cells.first_arrays(*pair, EXTRA), classes(cells, pair)
        if not arrays:
            yield cells.row(*pair, "", SHARE, None)
        for code, name in names.items():
            yield cells.row(*pair, f"class {name}", SHARE, float((arrays["predicted"] == code).mean()))
        for part in PARTS if arrays else ():
            rows = zip(*(arrays[f"{name}_{part}"] for name in ("X", "y", "predicted")), strict=True)
            for k, (place, code, predicted) in enumerate(rows, start=1):
                # Features are stored in single precision: more digits would be of no meaning.
                values = {f"feature_{i}": float(f"{value:.7g}") for i, value in enumerate(place, start=1)}
                for metric, value in (values | {"predicted_right": float(code == predicted)}).items():
                    yield cells.row(*pair, f"{part}, row {k}, class {names[int(code)]}", metric, value)
