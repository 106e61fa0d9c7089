"""Claims that hold of all data or of none, checked by running small models: sums, signs, sizes, growth of cost."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from cascadeforest import CascadeForestRegressor, GCForestClassifier, HiDFClassifier, MultiGrainedScanner
from cascadeforest.experiments.claims import CHECKS, Check
from cascadeforest.explanations import Explainer

#: A cost that grows linearly has an exponent between these, measured at sizes where a fixed part counts too.
LEAST, LINEAR = 0.5, 1.25
#: Sums of floating-point numbers agree to this part.
EXACT: Final = 1e-9


def run_checks(names: tuple[str, ...] = CHECKS) -> dict[str, Check]:
    """Run the checks of these names."""
    return {name: globals()[f"_{name}"]() for name in names}


def _classes(n: int, n_features: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes by two features; the others are noise."""
    X = np.random.default_rng(seed).random((n, n_features))
    return X, np.where(X[:, 0] < 0.5, 0, np.where(X[:, 1] > 0.5, 1, 2))


def _numbers(n: int, n_features: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A sum of sine and cosine of two features, and noise."""
    generator = np.random.default_rng(seed)
    X = generator.random((n, n_features))
    return X, np.sin(6 * X[:, 0]) + np.cos(6 * X[:, 1]) + 0.1 * generator.normal(size=n)


def _cascades() -> list[tuple[Explainer, np.ndarray]]:
    """Explainers of a cascade of each task, and rows that they did not see."""
    regressor = CascadeForestRegressor(n_estimators=20, max_layers=3, patience=3, keep="last", random_state=0)
    models = (_grown(3, 20), _classes), (regressor, _numbers)
    return [(Explainer(model.fit(*data(300))), data(500, seed=1)[0]) for model, data in models]


def _grown(n_layers: int, n_estimators: int) -> GCForestClassifier:
    """A cascade that grows and keeps so many layers."""
    return GCForestClassifier(
        n_estimators=n_estimators, max_layers=n_layers, patience=n_layers, keep="last", random_state=0
    )


def _additivity() -> Check:
    """Bias plus contributions is the prediction (Eqs. 12, 13, 21, 27, 29)."""
    worst, n = 0.0, 0
    for explainer, new in _cascades():
        for explanation in explainer.staged_explain(new):
            total = explanation.bias + explanation.contributions.sum(axis=1)
            worst, n = max(worst, float(np.abs(total - explanation.prediction).max())), n + len(new)
    return Check(
        worst < EXACT, f"largest difference {worst:.1e} over {n:,} predictions of two cascades, layer by layer"
    )


def _mdi_sum() -> Check:
    """The MDI of the features sums to that of all columns of the last layer (Proposition 5.1)."""
    gaps = []
    for explainer, _ in _cascades():
        own, columns = explainer.importances("held_out").sum(), explainer.column_importances("held_out").sum()
        gaps.append(abs(own - columns) / abs(columns))
    return Check(bool(max(gaps) < EXACT), f"relative difference {max(gaps):.1e}, two cascades of three layers")


def _mdi_bounded() -> Check:
    """MDI sums to no more than the variance of the response (Eq. 10)."""
    shares = []
    for explainer, _ in _cascades():
        variance = float(explainer.responses.var(axis=0).sum())
        shares += [float(one.sum()) / variance for one in explainer.staged_importances("held_out")]
    return Check(
        max(shares) <= 1, f"sums are {min(shares):.2f} to {max(shares):.2f} of the variance, two cascades, by layer"
    )


def _mdi_nonnegative() -> Check:
    """No element of a deep forest's MDI is negative."""
    found = np.concatenate([one for e, _ in _cascades() for one in e.staged_importances("held_out")])
    negative = int((found < 0).sum())
    words = (
        f"{negative} of {len(found)} are negative, the least {found.min():.1e}: features of noise on both sides of 0"
    )
    return Check(negative == 0, words if negative else f"none of {len(found)} is negative")


def _growth_of_cost() -> Check:
    """Time of contributions: linear in trees and layers, and like n log n in the rows (section 4.3)."""

    def explaining(n: int = 1000, n_estimators: int = 10, max_layers: int = 2) -> Callable[[], object]:
        model = _grown(max_layers, n_estimators).fit(*_classes(n))
        return Explainer(model, max_table_mib=0).explain_held_out

    works = explaining(), explaining(n=4000), explaining(n_estimators=40), explaining(max_layers=8)
    base, *others = _fastest(*works)
    log = math.log(4 * math.log(4000) / math.log(1000), 4)
    exponents = {
        name: math.log(one / base, 4) / (log if name == "rows" else 1.0)
        for name, one in zip(("rows", "trees", "layers"), others, strict=True)
    }
    found = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
    words = f"exponents of four times as many (rows: of n log n), at most {LINEAR}: {found}"
    return Check(max(exponents.values()) < LINEAR, words)


def _memory() -> Check:
    """Memory of contributions: that of the layer before, whatever the number of layers (section 4.3)."""

    def peak(n: int, max_layers: int) -> int:
        explainer = Explainer(_grown(max_layers, 10).fit(*_classes(n)), max_table_mib=0)
        tracemalloc.start()
        try:
            explainer.explain_held_out()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many, rows = peak(2000, 2), peak(2000, 6), peak(4000, 2)
    words = f"six layers take {many / few:.2f} times the peak of two, twice the rows {rows / few:.2f} times"
    return Check(many / few < LINEAR and rows / few < 2 * LINEAR, words)


def _front_forests() -> Check:
    """HiDF keeps forests of one representation, and none of its front layers."""
    kept = {}
    for n_layers in (1, 6):
        model = HiDFClassifier(n_estimators=20, max_layers=n_layers, patience=n_layers, keep="last", random_state=0)
        model.fit(*_classes(500))
        kept[model.n_layers_] = len(model.final_.forests)
    return Check(len(set(kept.values())) == 1, ", ".join(f"{n} forests after {k} layers" for k, n in kept.items()))


def _scanning_size() -> Check:
    """Windows of 100 over 400 values and three classes: 301 x 3 = 903 columns, of 30 of them 90."""
    X, y = np.random.default_rng(0).random((12, 400)), np.arange(12) % 3

    def columns(subsample: int | None) -> int:
        scanner = MultiGrainedScanner(
            (100,), subsample=subsample, n_estimators=2, estimators=("random_forest",), n_folds=2, random_state=0
        )
        return int(scanner.fit(X, y).transform(X).shape[1])

    found = columns(None), columns(30)
    return Check(found == (903, 90), f"{found[0]} columns, and {found[1]} of a sample of 30 windows")


def _levels_linear() -> Check:
    """Time of gcForest's training and prediction: linear in the number of levels."""
    X, y = _classes(2000)
    exponents = {}
    for name, method in (("training", "fit"), ("prediction", "predict_proba")):
        models = [_grown(n, 20).fit(X, y) for n in (2, 8)]
        few, many = _fastest(*(partial(getattr(one, method), *((X, y) if method == "fit" else (X,))) for one in models))
        exponents[name] = math.log(many / few, 4)
    found = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
    words = f"exponents of eight levels and two, {LEAST} to {LINEAR}: {found}"
    return Check(all(LEAST < value < LINEAR for value in exponents.values()), words)


def _fastest(*works: Callable[[], object], repeats: int = 4) -> list[float]:
    """Least CPU time of each over some runs in turn: a slow while of the machine meets all; the first ones warm up."""

    def seconds(work: Callable[[], object]) -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return [min(own) for own in zip(*([seconds(work) for work in works] for _ in range(repeats)), strict=True)]
