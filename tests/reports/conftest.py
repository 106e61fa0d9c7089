"""A small suite of hand-made results: what a run of the workflow would have left, with numbers easy to check."""

import json
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.reports.figure import make_figure, write_figure
from cascadeforest.reports.results import read_results
from cascadeforest.reports.table import make_table, write_table

PUBLISHED_HEAD = "dataset,model,condition,metric,value,std,mark,note,unit\n"


class Suite:
    """Writes the files of a suite below `root`."""

    def __init__(self, root: Path, name: str = "smoke") -> None:
        self.root, self.name = root, name
        self.folder = root / "results" / name
        self.experiments: dict[str, dict] = {}
        self.specs: dict[tuple[str, str], dict] = {}
        (root / "reports" / "published").mkdir(parents=True)

    def experiment(self, name: str = "hidf-table2", **changes) -> dict:
        """Declare an experiment; keys of the plan can be replaced."""
        row = {
            "id": name,
            "paper": name.partition("-")[0],
            "kind": "table",
            "title": "Test accuracy",
            "render": "scores",
            "metrics": ["accuracy"],
            "columns": {"random_forest": "random_forest", "gbdt": "gbdt"},
            "labels": {"random_forest": "RF", "gbdt": "GBDT"},
            "libraries": {"random_forest": ["scikit-learn"], "gbdt": ["scikit-learn"]},
            "datasets": ["adult"],
            "published_as": {},
            "repeats": {},
            "absent": {},
            "missing_models": {},
            "status": "ready",
            "reason": "",
            "extras": [],
            "marks": "none",
            "win_tie_lose": None,
            "average_rank": None,
            "rank_columns": None,
            "options": {},
            "deviations": [],
        } | changes
        row["published_as"] = {d: d.split("+")[0] for d in row["datasets"]} | row["published_as"]
        row["repeats"] = dict.fromkeys(row["datasets"], 2) | row["repeats"]
        self.experiments[name] = row
        self.write_plan()
        return row

    def plan_run(self, dataset: str, model: str, **changes) -> None:
        """Put a run's specification into the plan; run files that are written from now on carry it."""
        spec = {
            "suite": self.name,
            "dataset": dataset,
            "model": model,
            "task": "classification",
            "estimator": f"somewhere:{model}",
            "params": {"n_estimators": 10},
            "repeats": [0, 1],
            "extras": [],
            "libraries": [],
        }
        self.specs[dataset, model] = spec | changes
        self.write_plan()

    def write_plan(self) -> None:
        self._write(
            self.folder / "plan.json",
            {
                "suite": self.name,
                "suite_config": {"description": "Hand-made.", "repeats": 2},
                "seeds_per_job": None,
                "experiments": self.experiments,
                "runs": list(self.specs.values()),
            },
        )

    def run(self, dataset: str, model: str, values: list, metric: str = "accuracy", **cell) -> None:
        """Write a run file: one cell for each value; a value can be a dict of metrics."""
        host = {"platform": "Linux", "machine": "x86_64", "processor": "A CPU", "cores": 2, "python": "3.11.7"}
        cost = {"fit_cpu_seconds": 1.5, "predict_cpu_seconds": 0.5, "fit_peak_mib": 20.0, "model_mib": 1.0}
        cells = [
            {
                "key": f"{dataset}-{model}-{repeat}",
                "dataset": dataset,
                "model": model,
                "repeat": repeat,
                "status": "ok",
                "estimator": f"somewhere:{model}",
                "params": {},
                "metrics": cost | (value if isinstance(value, dict) else {metric: value}),
                "n_train": 100,
                "n_test": 50,
                "started_ms": 1_780_000_000_000,
                "ended_ms": 1_780_000_002_000,
                "memory": {"method": "VmHWM"},
                "versions": {"numpy": "2.4.6", "scikit-learn": "1.9.1"},
                "host": host,
                "threads": 1,
                "code_digest": "c0de",
                "data_digest": "da7a",
                "git_commit": None,
            }
            | cell
            for repeat, value in enumerate(values)
        ]
        run = {"format": 1, "suite": self.name, "dataset": dataset, "model": model, "cells": cells}
        run["spec"] = self.specs.get((dataset, model), {})
        self._write(self.folder / "runs" / dataset / f"{model}.json", run)

    def extra(self, dataset: str, model: str, name: str, **arrays) -> Path:
        """Save arrays as the extra of the first repeat of a run that was written."""
        path = self.folder / "runs" / dataset / f"{model}.json"
        run = json.loads(path.read_text())
        saved = f"ab/{dataset}-{model}.{name}.npz"
        run["cells"][0]["extras"] = {name: saved}
        self._write(path, run)
        target = self.root / "results" / "cells" / saved
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(target, **arrays)
        return target

    def fail(self, dataset: str, model: str, error: str, message: str, part: str = "", ended_ms: int = 1) -> None:
        """Write a failure file."""
        cell = {"repeat": 0, "error": error, "message": message, "traceback": "", "started_ms": 0}
        record = {"dataset": dataset, "model": model, "cells": [cell | {"ended_ms": ended_ms}]}
        self._write(self.folder / "failures" / dataset / f"{model}{part}.json", record)

    def summary(self, dataset: str, **facts) -> None:
        """Write the facts about a prepared data set."""
        content = {
            "name": dataset,
            "task": "classification",
            "rows": 150,
            "features": 4,
            "raw_features": 4,
            "classes": 2,
            "class_counts": {"no": 100, "yes": 50},
            "class_names": ["no", "yes"],
            "n_train": 100,
            "n_validation": 0,
            "n_test": 50,
            "protocol": "one split",
            "subset_of": None,
            "note": None,
            "digest": "da7a",
        }
        self._write(self.root / "data" / "processed" / f"{dataset}.json", content | facts)

    def published(self, name: str, lines: list[str]) -> None:
        """Write a file of published numbers."""
        path = self.root / "reports" / "published" / f"{name}.csv"
        path.write_text(PUBLISHED_HEAD + "".join(f"{line}\n" for line in lines))

    def complete(self) -> "Suite":
        """Fill in one complete experiment: adult, RF and GBDT, two repeats."""
        self.experiment()
        self.summary("adult")
        self.run("adult", "random_forest", [0.80, 0.90])
        self.run("adult", "gbdt", [0.90, 0.92])
        self.published("hidf-table2", ["adult,random_forest,,accuracy,85.15,0.08,,,percent"])
        return self

    def draw(self) -> "Suite":
        """Draw all tables and pictures, as the workflow would."""
        results = read_results(self.root, self.name)
        for name in results.drawable():
            write_table(name, make_table(name, results).files(), self.folder / "tables")
        for name in results.figures():
            write_figure(name, make_figure(name, results).files(), self.folder / "figures")
        return self

    @staticmethod
    def _write(path: Path, content: dict) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


@pytest.fixture
def suite(tmp_path):
    """An empty suite named smoke."""
    return Suite(tmp_path)


@pytest.fixture
def make_suite(tmp_path):
    """Make suites of other names."""
    return lambda name: Suite(tmp_path / name, name)
