"""One measurement of DF21, run by the Python that has it (3.7 to 3.9); our package is not there.

Of ours it reads two files only, which need nothing beyond the standard library: `measuring.py` beside it, and the
module with `measure`, so that both sides are measured by the same instrument.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from typing import Any

import numpy as np
from deepforest import CascadeForestClassifier
from measuring import WARM_UP_ROWS, measure_model


def load_measure(path: str) -> Any:
    """The function `measure` of a file, without the package around it."""
    spec = importlib.util.spec_from_file_location("measure", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.measure


def build(trees: int, layers: int) -> Any:
    """DF21 with exactly so many layers; what is not named stays at its default.

    By default it stops after two layers in a row that are not better, and drops them, but keeps such layers where
    `max_layers` ends the growth. `n_tolerant_rounds=layers` is never reached, as the first layer does not count.
    """
    return CascadeForestClassifier(
        n_estimators=2,  # of each kind
        n_trees=trees,
        max_layers=layers,
        n_tolerant_rounds=max(2, layers),
        backend="custom",
        n_bins=255,
        use_predictor=False,
        partial_mode=False,
        n_jobs=1,
        random_state=0,
        verbose=0,
    )


def measure_defaults(cell: dict[str, Any]) -> None:
    """Fit DF21 as it comes, with one thread; save what it predicts, print a row."""
    from deepforest import CascadeForestRegressor

    X, y, X_test = (np.load(f"{cell['folder']}/{name}.npy") for name in ("X", "y", "X_test"))
    kind = CascadeForestClassifier if cell["defaults"] == "classification" else CascadeForestRegressor
    few = kind(n_trees=50, max_layers=2, n_jobs=1, random_state=0, verbose=0)
    few.fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    few.predict(X_test[:WARM_UP_ROWS])
    model = kind(n_jobs=1, random_state=cell["seed"], verbose=0)
    predict = model.predict_proba if cell["defaults"] == "classification" else model.predict
    measure = load_measure(cell["measure"])
    _, fit = measure(lambda: model.fit(X, y), memory=False)
    found, prediction = measure(lambda: predict(X_test), memory=False)
    np.save(f"{cell['folder']}/found.npy", found)
    seconds = {"fit_cpu_seconds": fit.cpu_seconds, "predict_cpu_seconds": prediction.cpu_seconds}
    print(json.dumps({**seconds, "layers": model.n_layers_}))


def main() -> None:
    """Measure, print a row."""
    cell = json.loads(sys.argv[1])
    if "defaults" in cell:
        measure_defaults(cell)
        return
    X, y, X_test, y_test = (np.load(f"{cell['folder']}/{name}.npy") for name in ("X", "y", "X_test", "y_test"))
    few = build(2, 2)
    few.fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    few.predict(X_test[:WARM_UP_ROWS])
    model = build(cell["trees"], cell["layers"])
    row, prediction = measure_model(load_measure(cell["measure"]), model, X, y, X_test)
    forests = [forest.estimator_ for layer in model.layers_.values() for forest in layer.estimators_.values()]
    row["accuracy"] = float(np.mean(prediction == y_test))
    row["layers"] = model.n_layers_
    row["n_trees"] = sum(len(forest.features) for forest in forests)
    splits = sum(len(feature) for forest in forests for feature in forest.features)
    row["n_nodes"] = splits + sum(len(value) for forest in forests for value in forest.values)  # a value for each leaf
    accuracies = [model.layers_[f"layer_{i}"].val_performance_ for i in range(model.n_layers_)]
    row["validation"] = " ".join(f"{accuracy:.4f}" for accuracy in accuracies)
    row["version"] = importlib.metadata.version("deep-forest")
    row["note"] = ""
    print(json.dumps(row))


if __name__ == "__main__":
    main()
