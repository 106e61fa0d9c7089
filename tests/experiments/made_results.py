"""Cells and run files that no model was fitted for."""

from cascadeforest.experiments.fitting import Costs
from cascadeforest.experiments.plan import Run
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import RunResult, ScoredCell, run_path
from cascadeforest.experiments.typed_files import write_typed

ESTIMATOR = "sklearn.ensemble:RandomForestClassifier"
COSTS = Costs(1.5, 0.1, 1.6, 0.1, 3.0, 0.5, 2.0, 1.0, "VmHWM", 3.5)


def cell(dataset, model, repeat, **changes):
    """A cell with numbers that differ by data set, model and repeat, so that a mix-up shows."""
    start = 1_700_000_000_000 + 1_000 * repeat
    value = (len(dataset) + len(model)) / 100 + repeat / 10
    plain = {
        "key": f"{dataset}-{model}-{repeat}",
        "dataset": dataset,
        "model": model,
        "repeat": repeat,
        "estimator": ESTIMATOR,
        "params": {"n_estimators": 10, "max_depth": None, "random_state": 7 + repeat, "grid": [1, 2]},
        "metrics": {"accuracy": value, "roc_auc": 0.5 + value / 2},
        "confusion": ((3, 1), (0, 4)),
        "costs": COSTS,
        "n_train": 20,
        "n_test": 8,
        "n_validation": 0,
        "seeds": {"model": 7 + repeat, "split": None},
        "started_ms": start,
        "ended_ms": start + 500,
        "threads": 1,
        "provenance": Provenance({"numpy": "2.0.0"}, {"machine": "x86_64", "cores": 2}, "c" * 64, "d" * 64, "abc123"),
    }
    return ScoredCell(**(plain | changes))


def run_of(suite, dataset, model, repeats=2, **changes):
    plain = {"task": "classification", "estimator": ESTIMATOR, "params": {"n_estimators": 10}}
    return Run(suite, dataset, model, **(plain | changes), repeats=tuple(range(repeats)))


def write_run(folder, dataset, model, cells, **changes):
    """The run file of these cells below ``results/<suite>``."""
    run = run_of(folder.name, dataset, model, len(cells), **changes)
    task = "regression" if any("rmse" in cell.metrics for cell in cells) else "classification"
    facts = {"name": dataset, "task": task, "features": 7}
    write_typed(run_path(folder, dataset, model), RunResult(run, facts, "s" * 64, tuple(cells)))
