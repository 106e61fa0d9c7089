"""Fit one model on one repeat of one data set, and measure what that costs.

What this module and those that it imports say is part of each cell's name: an edit here fits every model again.
"""

from __future__ import annotations

import importlib
import logging
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import digest_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy as np
    from scipy.sparse import csr_matrix

    from cascadeforest.data.dataset import Dataset, Split
    from cascadeforest.experiments.plan import Run

#: Bounds for the warm-up fit, which only has to load what the real fit will use.
WARM_UP_ROWS = 60
WARM_UP_CAPS = {
    **{"n_estimators": 2, "max_layers": 2, "max_iter": 2, "n_folds": 2},
    **{"search_estimators": 2, "search_layers": 2, "n_candidates": 1},
}
#: What models choose while they are fitted, by the name in the cell: the attribute that says it.
CHOSEN = {
    "gamma": "gamma_",
    "mu": "mu_",
    "theta": "theta_",
    "a": "a_",
    "architecture": "architecture_",
    "n_hard": "n_hard_",
}
#: What cascades say of each of their layers, by the name of the curve: the attribute, one number a layer.
CURVES = {
    "validation_score": "validation_scores_",
    "rows": "n_rows_",
    "easy_rows": "easy_counts_",
    "trees_per_forest": "n_trees_",
    "confidence_threshold": "thresholds_",
    "new_interactions": "n_new_",
}
#: The method of our classifiers that predict the class with the highest probability. Named, not imported: then the
#: forests' code would be part of the names of all models' cells.
MOST_PROBABLE = "MostProbableClass.predict"
#: Digests of the estimators and parameters that this process has fitted.
_warm: set[str] = set()


class Model(Protocol):
    """A model with scikit-learn's methods; what else it has depends on its class."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Model:
        """Learn from training rows."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return a class or a number for each row."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters."""

    def set_params(self, **params: object) -> Model:
        """Change parameters."""

    def __getattr__(self, name: str) -> Any: ...


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
        Predictions for the test rows: ``predicted``, and ``probabilities`` or ``scores`` where the model gives them,
        with a column for each class of the data set.
    task : str
        ``classification`` or ``regression``.
    dataset : str
        Data set variant.
    repeat : int
        Number of the repeat.
    seed : int
        Part of every seed.
    log : tuple of (float, str)
        CPU seconds of the process and text of each line that the model logged, from the start of the fit, which has
        an empty text; empty unless it was asked for.
    """

    estimator: Model
    split: Split
    X_train: np.ndarray
    X_test: np.ndarray
    outputs: Mapping[str, np.ndarray]
    task: str
    dataset: str
    repeat: int
    seed: int = 0
    log: tuple[tuple[float, str], ...] = ()

    def attribute(self, extra: str, name: str) -> Any:
        """Return an attribute of the model that an extra needs.

        Parameters
        ----------
        extra : str
            Name of the extra, for the message.
        name : str
            The attribute.

        Raises
        ------
        ConfigError
            If the model does not have it.
        """
        if not hasattr(self.estimator, name):
            raise ConfigError(
                f"config/experiments: the extra '{extra}' needs '{name}', which {type(self.estimator).__name__} does "
                "not have. Take the model or the extra out of the experiment."
            )
        return getattr(self.estimator, name)


@dataclass(frozen=True)
class Costs:
    """What fitting and predicting cost.

    Parameters
    ----------
    fit_cpu_seconds, predict_cpu_seconds : float
        User and system time of the process, all threads.
    fit_wall_seconds, predict_wall_seconds : float
        Elapsed time.
    fit_peak_mib, predict_peak_mib : float or None
        By how much resident memory rose at most; None, as all memory below, where no table shows it.
    model_mib : float
        Size of the pickled model.
    resident_model_mib : float or None
        By how much resident memory was larger after the fit.
    memory_method : str or None
        How the peaks were measured (`cascadeforest.experiments.measure.Measurement`).
    profiler_fit_peak_mib : float or None
        The peak of the fit as memory-profiler saw it; of the first repeat only.
    """

    fit_cpu_seconds: float
    predict_cpu_seconds: float
    fit_wall_seconds: float
    predict_wall_seconds: float
    fit_peak_mib: float | None
    predict_peak_mib: float | None
    model_mib: float
    resident_model_mib: float | None
    memory_method: str | None
    profiler_fit_peak_mib: float | None = None


@dataclass(frozen=True)
class Growth:
    """How the growth of a cascade ended.

    Parameters
    ----------
    n_kept, n_grown : int
        Layers that predict, and layers that were grown.
    at_cap : bool or None
        Whether as many layers were grown as ``max_layers`` allows, so that growth may have ended for no other reason.
        None where ``max_layers`` is left to the model's preset, and where only `n_kept` is known of an old result.
    """

    n_kept: int
    n_grown: int | None = None
    at_cap: bool | None = None


@dataclass(frozen=True)
class Fit:
    """What one fit gave.

    Parameters
    ----------
    fitted : Fitted
        The model with its data and predictions.
    costs : Costs
        What it cost.
    seeds : dict
        Seed of the model and of the split; the latter is None for a given split.
    warnings : tuple of str
        What was warned of, each text once.
    """

    fitted: Fitted
    costs: Costs
    seeds: dict[str, int | None]
    warnings: tuple[str, ...]


def make_estimator(target: str, params: Mapping[str, object], seed: int, threads: int) -> Model:
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


def fit_model(
    run: Run, repeat: int, data: Path, threads: int, *, listen: bool = False, profiler: Connection | None = None
) -> Fit:
    """Fit a model on one repeat, predict the test rows, and measure both.

    For a run with `memory`, call it in a process of its own: it measures the memory of the whole process.

    Parameters
    ----------
    run : Run
        Which model, with which parameters and seed.
    repeat : int
        Number of the repeat.
    data : Path
        Processed data set.
    threads : int
        Threads that the estimator may use.
    listen : bool
        Keep what the model logs while it is fitted.
    profiler : Connection, optional
        As for `cascadeforest.experiments.measure.measure`.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If a prediction is not finite.
    """
    import numpy as np

    from cascadeforest.data.names import seed_for
    from cascadeforest.experiments.measure import MIB, measure

    dataset = load_data(data)
    split = dataset.split(repeat)
    X_train, X_test = _dense(split.X_train), _dense(split.X_test)
    # The model's seed is the same for every model: repeats are paired, and equal cells have one name.
    seed = seed_for("model", dataset.name, repeat, seed=run.seed)
    if (settings := digest_of([run.estimator, run.params])) not in _warm:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _warm_up(run, X_train, split.y_train, threads)
        _warm.add(settings)

    estimator = make_estimator(run.estimator, run.params, seed, threads)

    def fit() -> tuple[tuple[float, str], ...]:
        with listening(estimator, listen) as lines:
            estimator.fit(X_train, split.y_train)
        return tuple(lines)

    before = _settled_bytes() if run.memory else 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log, fitting = measure(fit, memory=run.memory, profiler=profiler)
        resident = (_settled_bytes() - before) / MIB if run.memory else None
        predict = partial(_predict, estimator, dataset.task, X_test)
        outputs, predicting = measure(predict, memory=run.memory)
        if "predicted" not in outputs and type(estimator).predict.__qualname__ == MOST_PROBABLE:
            outputs["predicted"] = estimator.classes_[outputs["probabilities"].argmax(axis=1)]
        elif "predicted" not in outputs:
            # Other models may decide otherwise (a tuned threshold, a weighted vote). Not timed: the paper's test time
            # is that of one pass.
            outputs["predicted"] = estimator.predict(X_test)
    if dataset.task == "classification":
        outputs = _of_all_classes(outputs, estimator, len(dataset.class_names))
    if broken := [name for name, values in outputs.items() if not np.isfinite(values).all()]:
        raise ValueError(f"{run.model} predicted numbers that are not finite: {', '.join(broken)}.")
    return Fit(
        Fitted(estimator, split, X_train, X_test, outputs, dataset.task, run.dataset, repeat, run.seed, log),
        Costs(
            fit_cpu_seconds=fitting.cpu_seconds,
            predict_cpu_seconds=predicting.cpu_seconds,
            fit_wall_seconds=fitting.wall_seconds,
            predict_wall_seconds=predicting.wall_seconds,
            fit_peak_mib=fitting.peak_mib,
            predict_peak_mib=predicting.peak_mib,
            model_mib=_pickled_bytes(estimator) / MIB,
            resident_model_mib=resident,
            memory_method=fitting.method,
            profiler_fit_peak_mib=fitting.profiler_peak_mib,
        ),
        {"model": seed, "split": None if split.seed is None else int(split.seed)},
        tuple(sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught})),
    )


def load_data(path: Path) -> Dataset:
    """Load a processed data set, or return what this process loaded last: one repeat follows the other."""
    return _load_data(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=1)
def _load_data(path: Path, _changed: int) -> Dataset:
    from cascadeforest.data.dataset import load

    return load(path)


def _settled_bytes() -> int:
    """Resident memory after freed memory was given back."""
    from cascadeforest.experiments.measure import release_memory, resident_bytes

    release_memory()
    return resident_bytes()


def _dense(X: np.ndarray | csr_matrix) -> np.ndarray:
    import numpy as np

    return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float32)


def _warm_up(run: Run, X: np.ndarray, y: np.ndarray, threads: int) -> None:
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
    estimator = make_tiny(make_estimator(run.estimator, run.params, 0, threads))
    try:
        _predict(estimator.fit(X[rows], y[rows]), "", X[rows])
    except ValueError:
        # So few rows can be too few for a model's folds. Then the real fit warms up by itself: it is what counts,
        # and an error of the model itself shows there.
        return


def make_tiny(estimator: Model) -> Model:
    """Bound an unfitted model's trees, layers and iterations to what a warm-up needs; return the same model.

    A learner whose parameters a model searches is bounded too, and its search has one candidate.
    """
    known = estimator.get_params()
    bounded: dict[str, Any] = {
        name: min(known[name], cap)
        for name, cap in WARM_UP_CAPS.items()
        if isinstance(known.get(name), int) and not isinstance(known[name], bool)
    }
    if isinstance(learner := known.get("learner"), Mapping):
        tiny = make_tiny(make_estimator(learner["estimator"], learner.get("params", {}), 0, 1))
        bounded["learner"] = {"estimator": learner["estimator"], "params": tiny.get_params(deep=False)}
    return estimator.set_params(**bounded)


@contextmanager
def listening(estimator: Model, wanted: bool = True) -> Iterator[list[tuple[float, str]]]:
    """Collect what one of our models logs in the block, with the CPU time of the process.

    Parameters
    ----------
    estimator : estimator
        The model; `verbose` is 1 in the block, and then what it was before.
    wanted : bool
        Whether to do so at all.

    Yields
    ------
    list of (float, str)
        The first entry is the start of the block.
    """
    lines: list[tuple[float, str]] = []
    verbose = estimator.get_params().get("verbose")
    if not wanted or verbose is None or not type(estimator).__module__.startswith("cascadeforest."):
        yield lines
        return

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((time.process_time(), record.getMessage()))

    logger, collector = logging.getLogger("cascadeforest"), Collector()
    level = logger.level
    logger.addHandler(collector)
    try:
        estimator.set_params(verbose=1)
        lines.append((time.process_time(), ""))
        yield lines
    finally:
        estimator.set_params(verbose=verbose)
        logger.removeHandler(collector)
        logger.setLevel(level)


def _predict(estimator: Model, task: str, X: np.ndarray) -> dict[str, np.ndarray]:
    if task == "regression":
        return {"predicted": estimator.predict(X)}
    if hasattr(estimator, "predict_proba"):
        return {"probabilities": estimator.predict_proba(X)}
    outputs = {"predicted": estimator.predict(X)}
    if hasattr(estimator, "decision_function"):
        outputs["scores"] = estimator.decision_function(X)
    return outputs


def _of_all_classes(outputs: Mapping[str, np.ndarray], estimator: Model, n_classes: int) -> dict[str, np.ndarray]:
    """Predictions of a classifier as codes, and values with a column for each class of the data set."""
    import numpy as np

    aligned = {}
    for name, values in outputs.items():
        if name == "predicted":
            aligned[name] = np.asarray(values, dtype=np.int64)
            continue
        if values.ndim == 1:  # a two-class decision function is one column
            values = np.column_stack([-values, values])
        aligned[name] = align_classes(values, estimator.classes_, n_classes)
    return aligned


def align_classes(values: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Spread the columns of a model that saw only some classes over the full list of classes.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_seen)
        Output of ``predict_proba`` or ``decision_function``.
    classes : ndarray of shape (n_seen,)
        The estimator's ``classes_``: codes in 0 .. n_classes - 1.
    n_classes : int
        Number of classes of the data set.

    Returns
    -------
    aligned : ndarray of shape (n_samples, n_classes), float64
        A class that the training rows lacked has the value 0.
    """
    import numpy as np

    aligned = np.zeros((len(values), n_classes))
    aligned[:, np.asarray(classes, dtype=np.int64)] = values
    return aligned


def chosen_of(estimator: Model) -> dict[str, object]:
    """Return what a model chose while it was fitted."""
    return {name: getattr(estimator, attribute) for name, attribute in CHOSEN.items() if hasattr(estimator, attribute)}


def growth_of(estimator: Model) -> Growth | None:
    """Return how the growth of a cascade ended; None for other models."""
    n_kept = getattr(estimator, "n_layers_", None)  # scikit-learn's MLP counts its input layer there too
    if n_kept is None or not type(estimator).__module__.startswith("cascadeforest.cascade"):
        return None
    # hiDF scores its input as well, which is no layer; each layer has a number of new interactions.
    # DDBF with out-of-bag predictions has no scores, and keeps what it grows.
    n_grown = len(getattr(estimator, "n_new_", estimator.validation_scores_)) or int(n_kept)
    cap = estimator.get_params()["max_layers"]
    return Growth(int(n_kept), n_grown, None if cap is None else n_grown >= cap)


def curves_of(estimator: Model) -> dict[str, tuple[float, ...]]:
    """Return what a cascade says of each of its layers; counts by class are added up.

    A threshold that no row reached is 1, which screens no row either.
    """
    import numpy as np

    curves = {}
    for name, attribute in CURVES.items():
        values = getattr(estimator, attribute, None)
        if values is not None and len(values):
            values = np.asarray(values)
            numbers = (values.sum(axis=1) if values.ndim > 1 else values).tolist()
            curves[name] = tuple(1.0 if math.isinf(value) else float(value) for value in numbers)
    return curves


def _pickled_bytes(estimator: Model) -> int:
    import pickle

    return len(pickle.dumps(estimator, protocol=pickle.HIGHEST_PROTOCOL))
