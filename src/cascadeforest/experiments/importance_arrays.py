"""Importances of a fitted model's features and what computing them cost: the arrays of the extras ``mdi_*``, ``mda_*``.

All of them hold ``importances``, a number for each feature in the order of the split's columns (under the operation
``irrelevant`` the permuted copies stand behind the original ones), and ``cpu_seconds``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import seed_for
from cascadeforest.experiments.cells import WARM_UP_CAPS
from cascadeforest.experiments.extras import Fitted
from cascadeforest.explanations import Explainer, mean_decrease_accuracy
from cascadeforest.forest._base import Forest

#: Permutations of each feature; the paper says 'multiple times' (section 6.3).
N_PERMUTATIONS = 10


def measured(importances: Callable[[], Any]) -> dict[str, Any]:
    """Compute importances once, and measure it.

    Parameters
    ----------
    importances : callable
        Gives one number for each feature.

    Returns
    -------
    dict
        ``importances``, and ``cpu_seconds``: user and system time of this process, all threads.
    """
    started = time.process_time()
    values = np.asarray(importances(), np.float64)
    return {"importances": values, "cpu_seconds": np.array(time.process_time() - started)}


def check_kind(extra: str, fitted: Fitted, *, of_forest: bool) -> None:
    """Refuse a model that an importance is not about: a forest that stands alone, or a cascade of forests.

    Parameters
    ----------
    extra : str
        Name of the extra, for the message.
    fitted : Fitted
        The model.
    of_forest : bool
        Whether the importance is that of a forest.

    Raises
    ------
    ConfigError
        If the model is of the other kind.
    """
    if isinstance(fitted.estimator, Forest) != of_forest:
        wanted = "a forest that stands alone" if of_forest else "a cascade"
        raise ConfigError(
            f"config/experiments: the extra '{extra}' is about {wanted}, which {type(fitted.estimator).__name__} is "
            "not. Give it to the columns that it is about: 'extras: {column: [extra, ...]}'."
        )


def decrease_in_impurity(fitted: Fitted, rows: str, calibration: str = "partial") -> dict[str, Any]:
    """MDI by contributions of the training rows.

    Parameters
    ----------
    fitted : Fitted
        The model; one with a preset is explained by the same preset.
    rows : str
        As in `Explainer.importances`.
    calibration : str
        As in `Explainer`.

    Returns
    -------
    dict
        As `measured` gives it. A tiny model is explained before, so that compiling and loading do not count.
    """
    estimator = fitted.estimator

    def importances(model: Any) -> Any:
        options = {"calibration": calibration, "preset": getattr(model, "preset", "paper"), "n_jobs": model.n_jobs}
        return Explainer(model, fitted.X_train, fitted.split.y_train, **options).importances(rows)

    importances(_tiny(estimator).fit(fitted.X_train, fitted.split.y_train))
    return measured(lambda: importances(estimator))


def _tiny(estimator: Any) -> Any:
    """An unfitted model of the same kind, with few trees and layers."""
    known = estimator.get_params()
    caps = {name: min(known[name], cap) for name, cap in WARM_UP_CAPS.items() if isinstance(known.get(name), int)}
    return clone(estimator).set_params(**caps)


def decrease_in_accuracy(fitted: Fitted) -> dict[str, Any]:
    """MDA on held-out rows, as many as training rows if there are so many: the same for every model.

    Parameters
    ----------
    fitted : Fitted
        The model.

    Returns
    -------
    dict
        As `measured` gives it.
    """
    X, y = held_out(fitted)
    seed = seed_for("permutations", fitted.dataset, fitted.repeat)
    return measured(lambda: mean_decrease_accuracy(fitted.estimator, X, y, n_repeats=N_PERMUTATIONS, random_state=seed))


def held_out(fitted: Fitted) -> tuple[Any, Any]:
    """Rows that the model did not learn from: validation rows, test rows where the split has no validation rows.

    Parameters
    ----------
    fitted : Fitted
        The model with its split.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        At most as many rows as training rows; of more a random part, the same for every model.
    y : ndarray of shape (n,)
        Their classes or targets.
    """
    split = fitted.split
    if split.X_validation is not None:
        X, y = np.ascontiguousarray(split.X_validation, np.float32), split.y_validation
    else:
        X, y = fitted.X_test, split.y_test
    n = len(split.y_train)
    if len(y) <= n:
        return X, y
    generator = np.random.default_rng(seed_for("held_out", fitted.dataset, fitted.repeat))
    chosen = np.sort(generator.choice(len(y), n, replace=False))
    return X[chosen], y[chosen]
