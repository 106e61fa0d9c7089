"""What a cell saves beyond its metrics, for figures: named arrays of a fitted model.

An extra is asked for by name (``extras:`` of an experiment). One that is about certain layers has their numbers behind
its name, ``representations-1-5``: the plan puts them there (`extra_name`), so that they are part of the cell's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cascadeforest.data.errors import ConfigError


@dataclass(frozen=True)
class Fitted:
    """A fitted model with its data.

    Parameters
    ----------
    estimator : estimator
        The model.
    split : cascadeforest.data.dataset.Split
        Rows, classes or targets, row numbers.
    X_train, X_test : ndarray
        Features as the model saw them.
    outputs : mapping
        What it predicted for the test rows: ``predicted``, and ``probabilities`` or ``scores`` where it gives them.
    task : str
        ``classification`` or ``regression``.
    dataset : str
        Data set variant.
    repeat : int
        Number of the repeat.
    """

    estimator: Any
    split: Any
    X_train: Any
    X_test: Any
    outputs: Mapping[str, Any]
    task: str
    dataset: str
    repeat: int


def _predictions(fitted: Fitted) -> dict[str, Any]:
    """Predicted classes (and probabilities) of the test rows, with the rows' numbers and labels."""
    names = ("predicted", "probabilities", "scores")
    kept = {name: fitted.outputs[name] for name in names if name in fitted.outputs}
    return kept | {"test_rows": fitted.split.test_rows, "y_test": fitted.split.y_test}


def _layer_decisions(fitted: Fitted) -> dict[str, Any]:
    """What a cascade would predict if it ended at each layer, and the layer that decides each test row.

    Rows do not leave a cascade without screening: its last layer decides them all.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    staged = np.array(list(estimator.staged_predict(fitted.X_test)), dtype=np.int64)
    if hasattr(estimator, "decision_level"):
        level = estimator.decision_level(fitted.X_test).astype(np.int64)
    else:
        level = np.full(len(y), len(staged) - 1)
    return {"staged_predicted": staged, "decision_level": level, "y_test": y}


def _layer_scores(fitted: Fitted) -> dict[str, Any]:
    """Accuracy (regression: root mean squared error) of training rows, out of fold, and of test rows at each layer.

    Only layers that the cascade kept can predict: the curve of the training rows may be longer.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    if getattr(estimator, "scoring", None) is not None:
        raise ConfigError(
            f"config/models.yaml: scoring is {estimator.scoring!r}, but the extra 'layer_scores' compares accuracy (or "
            "RMSE) of training and test rows. Leave scoring out."
        )
    train = np.asarray(_of_layers(estimator, "layer_scores", "validation_scores_"), np.float64)
    stages = estimator.staged_predict(fitted.X_test)
    if fitted.task == "regression":
        return {"train": -train, "test": np.array([np.sqrt(np.mean((p - y) ** 2)) for p in stages])}
    return {"train": train, "test": np.array([np.mean(p == y) for p in stages])}


def _margin_ratios(fitted: Fitted) -> dict[str, Any]:
    """Standard deviation over mean of the margins of training rows, out of fold, and of test rows at each layer.

    Infinite where the mean is not positive. Test rows of a class that no training row has do not count: `n_test` says
    how many do.
    """
    import numpy as np

    estimator, y = fitted.estimator, fitted.split.y_test
    train = np.asarray(_of_layers(estimator, "margin_ratios", "margin_ratio_"), np.float64)
    known = np.isin(y, estimator.classes_)
    test = []
    for z in estimator.staged_margins(fitted.X_test[known], y[known]):
        mean = np.mean(z)
        test.append(np.std(z) / mean if mean > 0 else np.inf)
    return {"train": train, "test": np.array(test), "n_test": np.array(np.count_nonzero(known))}


def _representations(fitted: Fitted, *layers: int) -> dict[str, Any]:
    """Training rows, some of them, in the t-SNE plane of what these layers hand on; layer 0 is the input.

    Rows and classes are in `rows` (numbers of the data set) and `classes`. `layers` has those that the cascade kept,
    `n_layers` their number; `coordinates` and `feature_ratios` have an entry for each of `layers`: the plane, and the
    scatter within classes over that between them before the projection.
    """
    import numpy as np

    from cascadeforest.experiments.projection import draw_rows, scatter_ratio, tsne_plane

    estimator, y = fitted.estimator, fitted.split.y_train
    if not hasattr(estimator, "staged_training_features"):
        raise ConfigError(_lacks(estimator, "representations", "staged_training_features"))
    chosen = draw_rows(len(y), fitted.dataset, fitted.repeat)
    found = {0: fitted.X_train[chosen]} if 0 in layers else {}
    n_layers = 0
    for features in estimator.staged_training_features(fitted.X_train, y):
        n_layers += 1
        if n_layers in layers:
            found[n_layers] = features[chosen]
    shown = [layer for layer in layers if layer in found]
    return {
        "layers": np.array(shown, np.int64),
        "n_layers": np.array(n_layers),
        "rows": fitted.split.train_rows[chosen],
        "classes": y[chosen],
        "coordinates": np.array([tsne_plane(found[layer]) for layer in shown], np.float32).reshape(-1, len(chosen), 2),
        "feature_ratios": np.array([scatter_ratio(found[layer], y[chosen]) for layer in shown]),
    }


def _of_layers(estimator: Any, extra: str, attribute: str) -> Any:
    if not hasattr(estimator, attribute):
        raise ConfigError(_lacks(estimator, extra, attribute))
    return getattr(estimator, attribute)


def _lacks(estimator: Any, extra: str, attribute: str) -> str:
    return (
        f"config/experiments: the extra '{extra}' needs '{attribute}', which {type(estimator).__name__} does not have. "
        "Take the model or the extra out of the experiment."
    )


#: Each gives arrays by name.
EXTRAS: dict[str, Callable[..., dict[str, Any]]] = {
    "predictions": _predictions,
    "layer_decisions": _layer_decisions,
    "layer_scores": _layer_scores,
    "margin_ratios": _margin_ratios,
    "representations": _representations,
}
#: Those that are about certain layers.
OF_LAYERS = frozenset({"representations"})


def extra_name(extra: str, options: Mapping[str, Any], place: str) -> str:
    """Full name of an extra: with the layers that the experiment's options ask for, if it is about layers.

    Parameters
    ----------
    extra : str
        As in the experiment's ``extras``.
    options : mapping
        The experiment's ``options``.
    place : str
        The experiment, for the message.

    Returns
    -------
    str

    Raises
    ------
    ConfigError
        If the options name no layers.
    """
    if extra not in OF_LAYERS:
        return extra
    layers = options.get("layers")
    if not isinstance(layers, list | tuple) or not layers or not all(type(k) is int and k >= 0 for k in layers):
        raise ConfigError(
            f"{place}: options/layers is {layers!r}, and the extra '{extra}' saves layers; give a list of their "
            "numbers, as in 'options: {layers: [1, 5]}' (0: the input)."
        )
    return "-".join([extra, *map(str, layers)])


def arrays_of(extra: str, fitted: Fitted) -> dict[str, Any]:
    """Compute an extra.

    Parameters
    ----------
    extra : str
        Its full name.
    fitted : Fitted
        The model.

    Returns
    -------
    dict
        Name to array.

    Raises
    ------
    ConfigError
        If there is no such extra, or the model cannot give it.
    """
    name, *layers = extra.split("-")
    takes = bool(layers) == (name in OF_LAYERS) and all(re.fullmatch(r"\d+", layer) for layer in layers)
    if name not in EXTRAS or not takes:
        raise ConfigError(f"config/experiments: the extra '{extra}' is unknown; choose from {sorted(EXTRAS)}.")
    return EXTRAS[name](fitted, *map(int, layers))
