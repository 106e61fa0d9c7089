"""The cases of `cascade.py`: data sets, and cascades with an equal number of trees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from forest_cases import MAKERS, RF, TEST_ROWS
from forest_cases import Case as MadeCase

ARRAYS = ("X", "y", "X_test", "y_test")
FOLDS = 3
#: Forests in a layer of DF21, two random forests and two of extra trees, and in one of ours as the paper has it.
DF21_FORESTS, PAPER_FORESTS = 4, 2


@dataclass(frozen=True)
class Case:
    """Training and test rows, the same for all models."""

    name: str
    title: str
    prepared: str | None = None  # data set to take from the folder of prepared ones; None: made here

    def file(self, folder: Path | None) -> Path | None:
        """The prepared file, None if nothing was prepared."""
        if folder is None or self.prepared is None:
            return None
        path = folder / f"{self.prepared}.npz"
        return path if path.exists() else None

    def missing(self, folder: Path | None) -> str:
        """How to get the data; empty if they are there."""
        if self.prepared is None or self.file(folder) is not None:
            return ""
        target = "FOLDER" if folder is None else folder
        return (
            f"not measured; run `python -m cascadeforest.data fetch --dataset {self.prepared}` and "
            f"`python -m cascadeforest.data prepare --dataset {self.prepared} --output {target}/{self.prepared}.npz`, "
            f"then give --data {target}"
        )


CASES = [
    Case("made-15000x50x5", "15,000 × 50, 5 classes (made: `continuous` of forest_cases.py)"),
    Case("adult-one-hot", "Adult, one-hot, the given split", "adult"),
    Case("letter", "letter, the given split", "letter"),
    Case("covertype", "Covertype, the mirror's 92,962 rows, first of five folds", "covertype_subset"),
]


def save_arrays(case: Case, prepared: Path | None, folder: Path, max_rows: int | None = None) -> dict[str, int]:
    """Write the arrays of one case once, for all models; returns what the table says about them.

    Single precision, C order, one file an array: what both sides read without a copy.
    """
    file = case.file(prepared)
    if file is None:
        made = MadeCase(RF, "continuous", 15_000, 50, 5, 1)
        X, y = MAKERS[made.data](made.rows + TEST_ROWS, made, np.random.default_rng(0))
        parts = [X[: made.rows], y[: made.rows], X[made.rows :], y[made.rows :]]
    else:
        from cascadeforest.data.dataset import load

        split = load(file).split(0)
        parts = [split.X_train, split.y_train, split.X_test, split.y_test]
    parts = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    arrays = {name: part[:max_rows] for name, part in zip(ARRAYS, parts, strict=True)}
    for name, array in arrays.items():
        dtype = np.float32 if name.startswith("X") else np.int64
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array, dtype=dtype))
    rows, features = arrays["X"].shape
    return {"rows": rows, "features": features, "classes": len(np.unique(arrays["y"]))}


def load_arrays(folder: Path) -> list[np.ndarray]:
    """What `save_arrays` wrote: X, y, X_test, y_test."""
    return [np.load(folder / f"{name}.npy") for name in ARRAYS]


@dataclass(frozen=True)
class Model:
    """A cascade, ours or DF21's."""

    name: str
    title: str
    screening: bool = False
    out_of_bag: bool = False  # DF21's design: forests with bootstrap, out-of-bag class vectors; else the paper's

    def n_trees(self, trees: int, layers: int) -> int:
        """Trees that are to be grown; with screening only those of equal rows at all levels."""
        if self.name == DF21 or self.out_of_bag:
            return DF21_FORESTS * trees * layers
        return PAPER_FORESTS * paper_trees(trees) * FOLDS * layers


DF21 = "df21"
MODELS = {
    model.name: model
    for model in [
        Model("gcforest-oob", "GCForestClassifier, DF21's design", out_of_bag=True),
        Model("gcforest", f"GCForestClassifier, the paper's design: {PAPER_FORESTS} forests, {FOLDS} folds"),
        Model("cs-oob", "GCForestCSClassifier, otherwise as gcforest-oob", screening=True, out_of_bag=True),
        Model("cs", "GCForestCSClassifier, otherwise as gcforest", screening=True),
        Model(DF21, "deepforest.CascadeForestClassifier"),
    ]
}


def paper_trees(trees: int) -> int:
    """Trees a forest and fold that make a layer of ours as large as one of DF21 with `trees` trees a forest."""
    return round(DF21_FORESTS * trees / (PAPER_FORESTS * FOLDS))


class EveryLayer:
    """A scorer that lets no layer be dropped: each scores above the one before. It remembers their accuracy."""

    def __init__(self) -> None:
        self.accuracies: list[float] = []

    def __call__(self, estimator: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
        """Score the next layer."""
        self.accuracies.append(float(np.mean(estimator.predict(X) == y)))
        return 2.0 * len(self.accuracies) + self.accuracies[-1]


def build(model: Model, trees: int, layers: int) -> Any:
    """One of our cascades, unfitted; what is not named stays at its default."""
    from cascadeforest import GCForestClassifier, GCForestCSClassifier

    size: dict[str, Any] = {"n_forests": PAPER_FORESTS, "n_estimators": paper_trees(trees), "n_folds": FOLDS}
    if model.out_of_bag:
        kinds = ["random_forest", "extra_trees"]
        size = {"n_forests": DF21_FORESTS, "n_estimators": trees, "estimators": kinds, "class_vectors": "oob"}
    estimator = GCForestCSClassifier if model.screening else GCForestClassifier
    return estimator(**size, max_layers=layers, patience=layers, scoring=EveryLayer(), n_jobs=1, random_state=0)
