"""Cells, run files and suites that no model was fitted for."""

from contextlib import contextmanager

from cascadeforest.experiments import tracking_store
from cascadeforest.experiments.fitting import Costs
from cascadeforest.experiments.plan import Experiment, Plan, Run, Suite
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import RunResult, ScoredCell, run_path
from cascadeforest.experiments.typed_files import write_typed

ESTIMATOR = "sklearn.ensemble:RandomForestClassifier"
COSTS = Costs(1.5, 0.1, 1.6, 0.1, 3.0, 0.5, 2.0, 1.0, "VmHWM", 3.5)

REPEATS = 2
#: Runs of one suite as `write_suite` makes it: a summary and its repeats for three pairs, and one table.
N_RUNS = 3 * (1 + REPEATS) + 1


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


def experiment(name, columns, datasets, metrics, **changes):
    plain = {
        "id": name,
        "paper": name.partition("-")[0],
        "kind": "table",
        "title": f"Title of {name}",
        "render": "scores",
        "metrics": (*metrics,),
        "columns": columns,
        "datasets": (*datasets,),
        "repeats": dict.fromkeys(datasets, REPEATS),
    }
    return Experiment(**(plain | changes))


def write_plan(folder, runs=()):
    experiments = [
        experiment("hidf-table2", {"hidf": "hidf", "forest": "rf10"}, ["digits+irrelevant"], ["accuracy"]),
        experiment("arena-regression", {"forest": "rf10"}, ["abalone"], ["rmse"]),
        # A cell of the table above, shown again under another name: its first repeat only.
        experiment(
            "mddf-table1",
            {"theirs": "hidf"},
            ["digits+irrelevant"],
            ["accuracy"],
            labels={"theirs": "hiDF"},
            repeats={"digits+irrelevant": 1},
        ),
        experiment("ddbf-table9", {"ddbf": "ddbf"}, ["digits"], ["accuracy"], missing_models={"ddbf": "not written"}),
    ]
    plan = Plan(folder.name, Suite("for tests"), {each.id: each for each in experiments}, tuple(runs))
    write_typed(folder / "plan.json", plan)


def write_suite(results, suite):
    """A table of two columns on one data set, one of which a second table shows too, and a regression."""
    folder = results / suite
    cascade = {"curves": {"accuracy": (0.5, 0.7, 0.6)}}
    write_run(folder, "digits+irrelevant", "rf10", [cell("digits+irrelevant", "rf10", r) for r in range(REPEATS)])
    write_run(folder, "digits+irrelevant", "hidf", [cell("digits+irrelevant", "hidf", r, **cascade) for r in range(2)])
    regression = {"metrics": {"rmse": 2.5}, "confusion": None}
    write_run(folder, "abalone", "rf10", [cell("abalone", "rf10", r, **regression) for r in range(REPEATS)])
    tables = folder / "tables"
    tables.mkdir()
    (tables / "hidf-table2.csv").write_text("dataset,model,metric,mean,note\ndigits,hidf,accuracy,0.5,\n")
    (tables / "hidf-table2.md").write_text("| dataset |\n")
    (tables / "hidf-table2.tex").write_text("\\begin{tabular}\n")
    (folder / "index.html").write_text("<h1>Report</h1>")
    write_plan(folder)
    return folder


@contextmanager
def store_client(uri):
    with tracking_store.quiet_mlflow(), tracking_store.open_client(uri) as client:
        yield client
