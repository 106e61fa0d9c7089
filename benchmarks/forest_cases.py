"""The cases of `forest.py`: which forest on which made data.

No file and no network, but shapes as in the papers' tables. Single precision, in which scikit-learn's trees work:
double precision would cost it a copy of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

TEST_ROWS = 10_000
RF, ET, CRF = "RandomForest", "ExtraTrees", "CompletelyRandomForest"


@dataclass(frozen=True)
class Case:
    """One forest on one made data set, the same for all libraries."""

    kind: str  # RF, ET, CRF
    data: str  # name of the maker in MAKERS
    rows: int
    features: int
    classes: int  # 0 is regression
    n_estimators: int
    max_features: float | None = None  # None: the libraries' default, the same in all of them
    quick: bool = False

    @property
    def name(self) -> str:
        """Such as ``rf-20000x20x2``; regression has no number of classes."""
        kind = {RF: "rf", ET: "et", CRF: "crf"}[self.kind]
        return f"{kind}-{self.rows}x{self.features}" + (f"x{self.classes}" if self.classes else "")

    @property
    def title(self) -> str:
        """What is learned from what, for a table."""
        classes = f"{self.classes} classes" if self.classes else "regression"
        share = f", max_features={self.max_features:.2f}" if self.max_features else ""
        return (
            f"{self.kind}, {self.n_estimators} trees{share}: {self.rows:,} × {self.features}, {classes} ({self.data})"
        )


#: At least a hundred trees up to 100,000 rows: what is paid once a forest, as binning is, must not decide.
CASES = [
    Case(RF, "continuous", 2_000, 10, 2, 100, quick=True),
    Case(RF, "continuous", 20_000, 20, 2, 100, quick=True),
    Case(RF, "continuous", 15_000, 50, 5, 100),
    Case(RF, "letter-like", 15_000, 16, 26, 100, quick=True),
    Case(RF, "adult-like", 30_000, 102, 2, 100, quick=True),
    Case(RF, "covertype-like", 100_000, 54, 7, 100),
    Case(RF, "covertype-like", 500_000, 54, 7, 10),
    Case(RF, "continuous", 2_000, 800, 10, 100),
    Case(RF, "continuous", 20_000, 800, 10, 100),
    Case(RF, "continuous", 2_000, 10, 0, 100, quick=True),
    Case(RF, "continuous", 20_000, 20, 0, 100),
    Case(RF, "continuous", 20_000, 50, 0, 100, max_features=1 / 3),
    Case(RF, "continuous", 500_000, 20, 0, 6, max_features=1 / 3),
    Case(ET, "continuous", 20_000, 20, 2, 100, quick=True),
    Case(ET, "adult-like", 30_000, 102, 2, 100),
    Case(ET, "covertype-like", 100_000, 54, 7, 100),
    Case(ET, "continuous", 20_000, 50, 0, 100),
    Case(CRF, "continuous", 20_000, 20, 2, 100, quick=True),
    Case(CRF, "letter-like", 15_000, 16, 26, 100),
    Case(CRF, "adult-like", 30_000, 102, 2, 100),
    Case(CRF, "covertype-like", 100_000, 54, 7, 100),
]


def make_continuous(n_rows: int, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Nearly every value differs; half of the columns depend on few hidden ones, the others are noise."""
    if case.classes:
        informative = max(5, min(case.features // 4, 20))
        return make_classification(
            n_rows,
            case.features,
            n_informative=informative,
            n_redundant=max(0, case.features // 2 - informative),
            n_classes=case.classes,
            n_clusters_per_class=2,
            class_sep=1.5,
            flip_y=0.05,
            random_state=rng.integers(2**31),
        )
    X = rng.normal(size=(n_rows, case.features))
    X[:, 5:] += 0.5 * X[:, [0]]
    signal = 3 * np.sin(X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + 2 * X[:, 3] + np.abs(X[:, 4]) * (X[:, 5] > 0) + X[:, 6]
    return X, signal + rng.normal(size=n_rows)


def make_letter_like(n_rows: int, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sixteen values a feature, many classes."""
    X, y = make_classification(
        n_rows,
        case.features,
        n_informative=case.features,
        n_redundant=0,
        n_classes=case.classes,
        n_clusters_per_class=2,
        class_sep=2.0,
        random_state=rng.integers(2**31),
    )
    low, high = np.quantile(X, [0.01, 0.99], axis=0)
    return np.clip(np.round((X - low) / (high - low) * 15), 0, 15), y


def make_adult_like(n_rows: int, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Six numbers, some nearly constant, and 96 columns of one-hot categories."""
    sizes = [9, 16, 7, 15, 6, 5, 2, case.features - 6 - 60]
    numbers = np.column_stack(
        [
            np.clip(rng.gamma(8, 5, n_rows), 17, 90).round(),
            rng.lognormal(12, 0.5, n_rows).round(),
            np.clip(rng.normal(10, 2.5, n_rows), 1, 16).round(),
            np.where(rng.random(n_rows) < 0.92, 0, rng.lognormal(8, 1, n_rows).round()),
            np.where(rng.random(n_rows) < 0.95, 0, rng.normal(1870, 370, n_rows).round()),
            np.where(rng.random(n_rows) < 0.47, 40, np.clip(rng.normal(40, 12, n_rows), 1, 99).round()),
        ]
    )
    logit = 0.05 * (numbers[:, 0] - 40) + 0.5 * (numbers[:, 2] - 10) + 4 * (numbers[:, 3] > 7000)
    logit += 0.05 * (numbers[:, 5] - 40)
    columns = [numbers]
    for size in sizes:
        shares = rng.dirichlet(np.full(size, 0.5))
        level = rng.choice(size, n_rows, p=shares)
        logit += rng.normal(0, 1, size)[level]
        columns.append(np.eye(size)[level])
    y = logit + rng.logistic(size=n_rows) > np.quantile(logit, 0.76)
    return np.hstack(columns), y.astype(np.int64)


def make_covertype_like(n_rows: int, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ten whole numbers of wide range, two one-hot categories with 4 and 40 levels, unequal classes."""
    X, y = make_classification(
        n_rows,
        10,
        n_informative=10,
        n_redundant=0,
        n_classes=case.classes,
        n_clusters_per_class=4,
        class_sep=1.5,
        weights=[0.365, 0.488, 0.062, 0.005, 0.016, 0.03, 0.034],
        flip_y=0.02,
        random_state=rng.integers(2**31),
    )
    numbers = np.round(X * rng.choice([10, 30, 100, 300], 10))
    columns = [numbers]
    for levels in (4, case.features - 14):
        level = (X @ rng.normal(size=(10, levels)) + rng.gumbel(size=(n_rows, levels))).argmax(axis=1)
        columns.append(np.eye(levels, dtype=np.float32)[level])
    return np.hstack(columns), y


def make_higgs_like(n_rows: int, case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers; products and a sum decide, then a fifth of the labels is turned: Bayes error 0.2."""
    X = rng.standard_normal((n_rows, case.features), dtype=np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.7 * X[:, 4:8].sum(axis=1)
    return X, ((signal > 0) ^ (rng.random(n_rows) < 0.2)).astype(np.int64)


MAKERS: dict[str, Callable[[int, Case, np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "continuous": make_continuous,
    "letter-like": make_letter_like,
    "adult-like": make_adult_like,
    "covertype-like": make_covertype_like,
    "higgs-like": make_higgs_like,
}


def save_data(case: Case, path: Path) -> None:
    """Make the data of one case once, for all libraries."""
    X, y = MAKERS[case.data](case.rows + TEST_ROWS, case, np.random.default_rng(0))
    X = np.ascontiguousarray(X, dtype=np.float32)
    np.savez(path, X=X[: case.rows], y=y[: case.rows], X_test=X[case.rows :], y_test=y[case.rows :])
