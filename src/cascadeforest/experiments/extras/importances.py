"""Importances of a fitted model's features, and what computing them cost: the extras ``mdi_*`` and ``mda_*``.

Each saves ``importances``, a number for each feature in the order of the split's columns (under the operation
``irrelevant`` the permuted copies stand behind the original ones), and ``cpu_seconds``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import seed_for
from cascadeforest.experiments.explaining import explainer_of
from cascadeforest.experiments.fitting import Fitted, make_tiny
from cascadeforest.experiments.importance_rules import RULES, Rule

if TYPE_CHECKING:
    import numpy as np

#: Permutations of each feature; the paper says 'multiple times' (section 6.3).
N_PERMUTATIONS = 10


def arrays(fitted: Fitted, extra: str) -> dict[str, np.ndarray]:
    """Compute one of the importances once, and measure the CPU seconds of the process, all threads.

    Parameters
    ----------
    fitted : Fitted
        The model. Before it a tiny model is explained, so that compiling and loading do not count.
    extra : str
        Name of one of `RULES`.

    Returns
    -------
    dict
        ``importances`` and ``cpu_seconds``.

    Raises
    ------
    ConfigError
        If the importance is not about such a model.
    """
    import numpy as np

    rule = RULES[extra]
    check_kind(extra, rule, fitted)
    compute = _way(rule, fitted)
    started = time.process_time()
    values = np.asarray(compute(), np.float64)
    return {"importances": values, "cpu_seconds": np.array(time.process_time() - started)}


def _way(rule: Rule, fitted: Fitted) -> Callable[[], np.ndarray]:
    """What is measured; what should not be is done before."""
    from sklearn.base import clone

    if rule.way == "fit":
        return lambda: fitted.estimator.mean_decrease_impurity_
    if rule.way == "permutations":
        from cascadeforest.explanations import mean_decrease_accuracy

        X, y = held_out(fitted)
        seed = seed_for("permutations", fitted.dataset, fitted.repeat, seed=fitted.seed)
        return lambda: mean_decrease_accuracy(fitted.estimator, X, y, n_repeats=N_PERMUTATIONS, random_state=seed)
    tiny = make_tiny(clone(fitted.estimator)).fit(fitted.X_train, fitted.split.y_train)
    explainer_of(replace(fitted, estimator=tiny), rule.calibration).importances(rule.rows)
    return lambda: explainer_of(fitted, rule.calibration).importances(rule.rows)


def check_kind(extra: str, rule: Rule, fitted: Fitted) -> None:
    """Refuse a model that an importance is not about.

    Parameters
    ----------
    extra : str
        Name of the extra, for the message.
    rule : Rule
        What it is about.
    fitted : Fitted
        The model.

    Raises
    ------
    ConfigError
        If the model is of the other kind.
    """
    from cascadeforest.forest._base import Forest

    if isinstance(fitted.estimator, Forest) != (rule.model == "forest"):
        wanted = "a forest that stands alone" if rule.model == "forest" else "a cascade"
        raise ConfigError(
            f"config/experiments: the extra '{extra}' is about {wanted}, which {type(fitted.estimator).__name__} is "
            "not. Give it to the columns that it is about: 'extras: {column: [extra, ...]}'."
        )


def held_out(fitted: Fitted) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that the model did not learn from: validation rows, or test rows where the split has none of those.

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
    import numpy as np

    split = fitted.split
    if split.X_validation is not None and split.y_validation is not None:
        X, y = np.ascontiguousarray(split.X_validation, np.float32), split.y_validation
    else:
        X, y = fitted.X_test, split.y_test
    n = len(split.y_train)
    if len(y) <= n:
        return X, y
    generator = np.random.default_rng(seed_for("held_out", fitted.dataset, fitted.repeat, seed=fitted.seed))
    chosen = np.sort(generator.choice(len(y), n, replace=False))
    return X[chosen], y[chosen]
