"""One cell: one model fitted and scored on one repeat of one data set.

A cell is named by a digest of everything that decides its numbers: data, estimator, resolved parameters, repeat,
extras, our code, versions of the libraries. Two tables that need the same cell share it.
"""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import atomic_path, atomic_write, canonical_json, digest_of
from cascadeforest.experiments.extras import Fitted, arrays_of

FORMAT = 1
#: Bounds for the warm-up fit, which only has to load and compile what the real fit will use.
WARM_UP_ROWS = 60
WARM_UP_CAPS = {"n_estimators": 2, "max_layers": 2, "max_iter": 2}


def cell_key(spec: Mapping[str, Any], repeat: int, data_digest: str, code: str, versions: Mapping[str, str]) -> str:
    """Name of a cell: a digest of all that decides its numbers.

    Parameters
    ----------
    spec : mapping
        Run specification; of it count dataset, estimator, params and extras, not the name of the preset.
    repeat : int
        Number of the repeat.
    data_digest : str
        Digest of the processed data set.
    code : str
        Digest of our modules that take part.
    versions : mapping
        Versions of the libraries that take part.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    decisive = {name: spec[name] for name in ("dataset", "estimator", "params", "extras")}
    return digest_of(
        decisive | {"format": FORMAT, "repeat": repeat, "data": data_digest, "code": code, "versions": dict(versions)}
    )


def cell_path(cache: Path, key: str) -> Path:
    """File of a cell in the cache."""
    return cache / key[:2] / f"{key}.json"


def make_estimator(target: str, params: Mapping[str, Any], seed: int, threads: int) -> Any:
    """Build an unfitted estimator.

    Parameters
    ----------
    target : str
        ``"package.module:Class"``.
    params : mapping
        Constructor parameters.
    seed : int
        Given as `random_state` where the estimator has one.
    threads : int
        Given as `n_jobs` where the estimator has it.

    Returns
    -------
    estimator

    Raises
    ------
    ConfigError
        If the class is missing or refuses the parameters.
    """
    module, _, name = target.partition(":")
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"config/models.yaml: the estimator '{target}' cannot be imported ({error}). "
            "Check its name, or install the package that holds it."
        ) from error
    try:
        estimator = cls(**params)
        known = estimator.get_params()
        given = {"random_state": seed, "n_jobs": threads}
        return estimator.set_params(**{key: value for key, value in given.items() if key in known})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"config/models.yaml: {target} refuses its parameters {dict(params)}: {error}") from error


def run_cell(
    spec: Mapping[str, Any], repeat: int, key: str, data: Path, cache: Path, threads: int, stamp: Mapping[str, Any]
) -> dict[str, Any]:
    """Fit, score and measure; write the result into the cache as the last step.

    Call it in a process of its own: it measures the memory of the whole process.

    Parameters
    ----------
    spec : mapping
        Run specification (`cascadeforest.experiments.plan.RunSpec` as a dict).
    repeat : int
        Number of the repeat.
    key : str
        The cell's name, from `cell_key`.
    data : Path
        Processed data set.
    cache : Path
        Folder of the cells.
    threads : int
        Threads that the estimator may use.
    stamp : mapping
        Provenance that is copied into the result (versions, host, digests, commit).

    Returns
    -------
    dict
        What was written.
    """
    from cascadeforest.data.dataset import load
    from cascadeforest.data.names import seed_for
    from cascadeforest.experiments.measure import MIB, measure, release_memory, resident_bytes

    started = time.time()
    dataset = load(data)
    split = dataset.split(repeat)
    X_train, X_test = _dense(split.X_train), _dense(split.X_test)
    # The model's seed is the same for every model: repeats are paired, and equal cells have one name.
    seed = seed_for("model", dataset.name, repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(spec, X_train, split.y_train, threads)

    estimator = make_estimator(spec["estimator"], spec["params"], seed, threads)
    release_memory()
    before = resident_bytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, fitting = measure(lambda: estimator.fit(X_train, split.y_train))
        release_memory()
        resident = (resident_bytes() - before) / MIB
        outputs, predicting = measure(lambda: _predict(estimator, dataset.task, X_test), profile=False)
        if "predicted" not in outputs:
            # Not the largest probability: a model may decide otherwise (a tuned threshold, a weighted vote). Not
            # timed: the paper's test time is that of one pass.
            outputs["predicted"] = estimator.predict(X_test)
    scored = _score(dataset, estimator, split.y_test, outputs)
    result = {
        "key": key,
        "dataset": spec["dataset"],
        "model": spec["model"],
        "repeat": repeat,
        "status": "ok",
        "estimator": spec["estimator"],
        "params": _plain(estimator.get_params()),
        "metrics": scored["metrics"]
        | {
            "fit_cpu_seconds": fitting.cpu_seconds,
            "predict_cpu_seconds": predicting.cpu_seconds,
            "fit_peak_mib": fitting.peak_mib,
            "predict_peak_mib": predicting.peak_mib,
            "model_mib": _pickled_bytes(estimator) / MIB,
        },
        "curves": _curves(estimator),
        "confusion": scored["confusion"],
        "n_train": len(split.y_train),
        "n_test": len(split.y_test),
        "n_validation": 0 if split.y_validation is None else len(split.y_validation),
        "seeds": {"model": int(seed), "split": None if split.seed is None else int(split.seed)},
        "started_ms": round(1000 * started),
        "fit_wall_seconds": fitting.wall_seconds,
        "predict_wall_seconds": predicting.wall_seconds,
        "memory": {
            "method": fitting.method,
            "profiler_fit_peak_mib": fitting.profiler_peak_mib,
            "resident_model_mib": resident,
        },
        "warnings": sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught}),
        "threads": threads,
        "extras": _save_extras(
            spec["extras"],
            cell_path(cache, key),
            Fitted(estimator, split, X_train, X_test, outputs, dataset.task, spec["dataset"], repeat),
        ),
        **stamp,
    }
    if broken := [name for name, value in result["metrics"].items() if not math.isfinite(value)]:
        raise ValueError(f"{spec['model']} gave a number that is not finite for {', '.join(broken)}.")
    layers = getattr(estimator, "n_layers_", None)  # of a cascade; scikit-learn's MLP counts its input layer there too
    if layers is not None and spec["estimator"].startswith("cascadeforest.cascade"):
        result["metrics"]["n_layers"] = int(layers)
    result["ended_ms"] = round(1000 * time.time())
    # The result comes last: a cell without it never ran, whatever else lies beside it.
    atomic_write(cell_path(cache, key), canonical_json(result) + "\n")
    return result


def _dense(X: Any) -> Any:
    import numpy as np
    from scipy.sparse import issparse

    return np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=np.float32)


def _warm_up(spec: Mapping[str, Any], X: Any, y: Any, threads: int) -> None:
    """Fit a tiny model, so that imports, compilation and first touches of pages do not count as the model's cost."""
    import numpy as np

    if np.issubdtype(y.dtype, np.integer):
        # The first rows of each class in turn: every class that the training part has in number is there.
        order = np.argsort(y, kind="stable")
        rank = np.empty(len(y), dtype=np.int64)
        starts = np.searchsorted(y[order], y[order])
        rank[order] = np.arange(len(y)) - starts
        rows = np.sort(np.argsort(rank, kind="stable")[:WARM_UP_ROWS])
    else:
        rows = np.arange(min(len(y), WARM_UP_ROWS))
    estimator = make_estimator(spec["estimator"], spec["params"], 0, threads)
    known = estimator.get_params()
    estimator.set_params(
        **{
            name: cap
            for name, cap in WARM_UP_CAPS.items()
            if isinstance(known.get(name), int) and not isinstance(known[name], bool) and known[name] > cap
        }
    )
    try:
        _predict(estimator.fit(X[rows], y[rows]), "", X[rows])
    except ValueError:
        # So few rows can be too few for a model's folds. Then the real fit warms up by itself: it is what counts,
        # and an error of the model itself shows there.
        return


def _predict(estimator: Any, task: str, X: Any) -> dict[str, Any]:
    if task == "regression":
        return {"predicted": estimator.predict(X)}
    if hasattr(estimator, "predict_proba"):
        return {"probabilities": estimator.predict_proba(X)}
    outputs = {"predicted": estimator.predict(X)}
    if hasattr(estimator, "decision_function"):
        outputs["scores"] = estimator.decision_function(X)
    return outputs


def _score(dataset: Any, estimator: Any, y: Any, outputs: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    from cascadeforest.experiments.metrics import align_probabilities, score_classifier, score_regressor

    if dataset.task == "regression":
        return {"metrics": score_regressor(y, outputs["predicted"]), "confusion": None}
    n_classes = len(dataset.class_names)
    for name in ("probabilities", "scores"):
        values = outputs.get(name)
        if values is None:
            continue
        if values.ndim == 1:  # a two-class decision function is one column
            values = np.column_stack([-values, values])
        outputs[name] = align_probabilities(values, estimator.classes_, n_classes)
    predicted = np.asarray(outputs["predicted"], dtype=np.int64)
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion, (y, predicted), 1)
    metrics = score_classifier(y, predicted, n_classes, outputs.get("probabilities"), outputs.get("scores"))
    return {"metrics": metrics, "confusion": confusion.tolist()}


#: Attributes of a fitted cascade that say something about each of its layers, by the name of their curve.
CURVES = {
    "validation_score": "validation_scores_",
    "rows": "n_rows_",
    "trees_per_forest": "n_trees_",
    "confidence_threshold": "thresholds_",
}


def _curves(estimator: Any) -> dict[str, list[float]]:
    """What a cascade tells about its layers; a threshold that nobody reached is 1, which screens nobody either."""
    found = {name: getattr(estimator, attribute, None) for name, attribute in CURVES.items()}
    return {
        name: [1.0 if math.isinf(value) else float(value) for value in values]
        for name, values in found.items()
        if values is not None and len(values)
    }


def _save_extras(names: list[str], path: Path, fitted: Fitted) -> dict[str, str]:
    import numpy as np

    saved = {}
    for name in names:
        target = path.with_suffix(f".{name}.npz")
        arrays = arrays_of(name, fitted)
        with atomic_path(target) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)
        saved[name] = f"{path.parent.name}/{target.name}"
    return saved


def _pickled_bytes(estimator: Any) -> int:
    import pickle

    return len(pickle.dumps(estimator, protocol=pickle.HIGHEST_PROTOCOL))


def _plain(value: Any) -> Any:
    """Parameters as JSON: estimators and other objects by their text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value != value:
        return "nan"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
