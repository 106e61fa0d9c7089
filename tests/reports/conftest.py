"""A small suite of hand-made results: what a run of the workflow would have left, with numbers easy to check."""

import csv
import io
import lzma
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.files import read_yaml, sha256_of, write_signed_json
from cascadeforest.experiments.cells import SavedArrays, npz_bytes, xz_bytes
from cascadeforest.experiments.fitting import Costs, Growth
from cascadeforest.experiments.plan import Experiment, Run, read_plan
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.records import Failure, Failures, RunResult, ScoredCell, read_run, run_path
from cascadeforest.experiments.typed_files import write_typed
from cascadeforest.reports.__main__ import main
from cascadeforest.reports.drawing.formats import to_latex, to_markdown
from cascadeforest.reports.drawing.table import Table, make_table, write_files
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.check import check, compare
from cascadeforest.reports.store.redraw import redraw_stored

ROOT = Path(__file__).parents[2]
PAPERS, PUBLISHED = read_yaml(ROOT / "config" / "papers.yaml"), ROOT / "reports" / "published"
HOST = {"platform": "Linux", "machine": "x86_64", "processor": "A CPU", "cores": 2, "python": "3.11.7"}
COSTS = {
    "fit_cpu_seconds": 1.5,
    "predict_cpu_seconds": 0.5,
    "fit_wall_seconds": 1.6,
    "predict_wall_seconds": 0.6,
    "fit_peak_mib": 20.0,
    "predict_peak_mib": 1.0,
    "model_mib": 1.0,
    "resident_model_mib": 1.0,
}
ORIGIN = {
    "versions": {"numpy": "2.4.6", "scikit-learn": "1.9.1"},
    "host": HOST,
    "code_digest": "c0de",
    "data_digest": "da7a",
    "git_commit": None,
}
PUBLISHED_HEAD = "dataset,model,condition,metric,value,std,mark,note,unit\n"


class Suite:
    """Writes the files of a suite below `root`."""

    def __init__(self, root: Path, name: str = "smoke") -> None:
        self.root, self.name = root, name
        self.folder = root / "results" / name
        self.experiments: dict[str, dict] = {}
        self.specs: dict[tuple[str, str], dict] = {}
        self.timings: list[dict] = []
        (root / "reports" / "published").mkdir(parents=True)
        shutil.copy(ROOT / "CITATION.cff", root)

    def experiment(self, name: str = "hidf-table2", **changes) -> dict:
        """Declare an experiment; keys of the plan can be replaced.

        `labels` alone name columns and presets; `repeats` can be a number for all data sets.
        """
        if "labels" in changes and "columns" not in changes:
            changes = {"columns": {column: column for column in changes["labels"]}, "libraries": {}} | changes
        if isinstance(changes.get("repeats"), int):
            changes["repeats"] = dict.fromkeys(changes.get("datasets", ["adult"]), changes["repeats"])
        row = {
            "id": name,
            "paper": name.partition("-")[0],
            "kind": "figure" if "-fig" in name else "table",
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
            "designs": {},
            "marks": "none",
            "win_tie_lose": None,
            "average_rank": None,
            "rank_columns": None,
            "options": {},
            "deviations": [],
        } | changes
        row["published_as"] = {d: d.split("+")[0] for d in row["datasets"]} | row["published_as"]
        row["repeats"] = dict.fromkeys(row["datasets"], 2) | row["repeats"]
        # Nothing is known of single test rows here, and made data sets need none for an interval.
        row["designs"] = dict.fromkeys(row["datasets"], "made") | row["designs"]
        if not isinstance(row["extras"], dict):
            row["extras"] = dict.fromkeys(row["columns"], row["extras"])
        self.experiments[name] = row
        self.write_plan()
        return row

    def declare(self, name: str, render: str, **changes) -> None:
        """Declare an experiment with what the paper prints of it, if anything."""
        self.experiment(name, render=render, **changes)
        if (PUBLISHED / f"{name}.csv").is_file():
            self.as_printed(name)

    def figure(self, name: str, render: str, labels: dict[str, str], preset: str = "{}_20", **changes) -> None:
        """Declare a figure of models with labels and presets, with what the paper prints of it."""
        columns = {model: preset.format(model) for model in labels}
        given = {"columns": columns, "labels": labels, "libraries": {model: [] for model in labels}}
        self.declare(name, render, **given | changes)

    def planned(self, name: str) -> Experiment:
        return read_plan(self.folder / "plan.json", self.name).experiments[name]

    def plan_run(self, dataset: str, model: str, **changes) -> None:
        """Put a run's specification into the plan; run files that are written from now on carry it."""
        self.specs[dataset, model] = self._spec(dataset, model) | changes
        self.write_plan()

    def _spec(self, dataset: str, model: str) -> dict:
        return {
            "suite": self.name,
            "dataset": dataset,
            "model": model,
            "task": "classification",
            "estimator": f"somewhere:{model}",
            "params": {"n_estimators": 10},
            "repeats": (0, 1),
            "extras": (),
            "libraries": (),
            "seed": 0,
        }

    def write_plan(self) -> None:
        write_signed_json(
            self.folder / "plan.json",
            {
                "suite": self.name,
                "suite_config": {"description": "Hand-made.", "repeats": 2},
                "papers": PAPERS,
                "experiments": self.experiments,
                "runs": list(self.specs.values()),
                "timings": self.timings,
            },
        )

    def run(
        self, dataset: str, model: str, values: list, metric: str = "accuracy", splits: list | None = None, **cell
    ) -> None:
        """Write a run file: one cell for each value; a value can be a dict of metrics.

        `splits` are the seeds of the repeats' splits, by default one split.
        """
        cells = []
        for repeat, value in enumerate(values):
            metrics = value if isinstance(value, dict) else {metric: value}
            costs = COSTS | {name: metrics[name] for name in COSTS if name in metrics}
            shown = ("fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "model_mib")
            facts = {"estimator": f"somewhere:{model}", "params": {}, "n_train": 100, "n_test": 50} | cell
            origin = ORIGIN | {name: facts.pop(name) for name in ORIGIN if name in facts}
            cells.append(
                ScoredCell(
                    **{"n_validation": 0, "seeds": {"model": 1, "split": splits and splits[repeat]}, "threads": 1}
                    | facts,
                    key=f"{dataset}-{model}-{repeat}",
                    dataset=dataset,
                    model=model,
                    repeat=repeat,
                    costs=Costs(**costs, memory_method="VmHWM"),
                    growth=Growth(int(metrics["n_layers"])) if "n_layers" in metrics else None,
                    started_ms=1_780_000_000_000,
                    ended_ms=1_780_000_002_000,
                    provenance=Provenance(**origin),
                    metrics={name: costs[name] for name in shown} | metrics,
                )
            )
        spec = self.specs.get((dataset, model)) or self._spec(dataset, model)
        self.write_run(RunResult(Run(**spec | {"repeats": tuple(range(len(values)))}), {}, "5c0re", tuple(cells)))

    def read_run(self, dataset: str, model: str) -> RunResult:
        return read_run(self.folder, dataset, model)

    def write_run(self, result: RunResult) -> None:
        write_typed(run_path(self.folder, *result.run.pair), result)

    def extra(self, dataset: str, model: str, name: str, repeat: int = 0, **arrays) -> Path:
        """Save arrays as an extra of one repeat of a run that was written."""
        saved = f"ab/{dataset}-{model}-{repeat}.{name}.npz"
        target = self.root / "results" / "cells" / saved
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(target, **arrays)
        result = self.read_run(dataset, model)
        cells = list(result.cells)
        extras = cells[repeat].extras | {name: SavedArrays(saved, sha256_of(target))}
        cells[repeat] = replace(cells[repeat], extras=extras)
        self.write_run(replace(result, cells=tuple(cells)))
        return target

    def lose(self, dataset: str, model: str, missing_ok: bool = False) -> None:
        run_path(self.folder, dataset, model).unlink(missing_ok)

    def fail(self, dataset: str, model: str, message: str = "no room") -> None:
        """Write a failure file in the place of a run file."""
        self.lose(dataset, model, missing_ok=True)
        path = self.folder / "failures" / dataset / f"{model}.json"
        write_typed(path, Failures(dataset, model, (Failure(0, "MemoryError", message, "", 0, 1),)))

    def summary(self, dataset: str, **facts) -> None:
        content = {
            "name": dataset,
            "base_name": dataset.partition("+")[0],
            "title": "Made data",
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
            "access": "open",
            "form": "official",
            "licence": "CC BY 4.0",
            "citation": "Someone (1996), a book",
            "digest": "da7a",
        }
        write_signed_json(self.root / "data" / "processed" / f"{dataset}.json", content | facts)

    def published(self, name: str, lines: list[str]) -> None:
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
            table = make_table(name, results)
            write_files(name, table.files(), self.folder / "tables")
            if table.figure is not None:
                write_files(name, table.figure.files(), self.folder / "figures")
        return self

    def table(self, name: str) -> Table:
        return make_table(name, read_results(self.root, self.name))

    def refuses(self, name: str, words: str, error: type[Exception] = ConfigError) -> None:
        """Drawing one experiment is an error with these words (a regular expression)."""
        with pytest.raises(error, match=words):
            self.table(name)

    def command(self, *arguments: str) -> int:
        """Run a command on the suite and return its exit status."""
        return main([*arguments, "--suite", self.name, "--root", str(self.root)])

    def refused(self, *only: str, message: str = "why") -> str:
        """Return why accepting is refused; nothing may have changed."""
        before = snapshot(self.root / "reports")
        with pytest.raises(UserError) as caught:
            accept(self.root, self.name, message, only)
        assert snapshot(self.root / "reports") == before
        return str(caught.value)

    def notes(self, name: str) -> str:
        return " ".join(self.table(name).view.notes)

    def as_printed(self, name: str) -> None:
        shutil.copy(PUBLISHED / f"{name}.csv", self.root / "reports" / "published")

    def moved(self, name: str, before: Table, suite: str | None = None) -> set[str]:
        """Rows of one experiment whose means the regression check would call a drift from an earlier table."""
        old, new = (list(csv.DictReader(io.StringIO(table.files()[".csv"]))) for table in (before, self.table(name)))
        findings = compare(name, old, new, self.planned(name), suite or self.name)
        return {finding.cell for finding in findings if finding.is_drift and finding.column == "mean"}

    def differences_after_storing(self) -> list[str]:
        """Draw, accept and check the suite, then draw it again from what is stored alone; what differs anywhere."""
        accept(self.draw().root, self.name, "first numbers")
        drifts = [cell for cell, _ in self.found()]
        shutil.rmtree(self.root / "results")
        return [*drifts, *redraw_stored(self.root, self.name).differences]

    def rows(self, name: str) -> dict[tuple[str, str, str, str], TidyRow]:
        """Tidy rows of a table by data set, column, condition and metric."""
        return {row.key: row for row in self.table(name).rows}

    def line(self, name: str, *labels: str, kind: str = "reproduced") -> list[str]:
        """Texts of the one line of a table that has these labels first."""
        rows = [row for row in self.table(name).view.rows if row.labels[: len(labels)] == labels and row.kind == kind]
        assert len(rows) == 1, rows
        return [cell.text for cell in rows[0].cells]

    def drifts(self) -> set[tuple[str, str]]:
        """Draw again, and return row and column of all that differs from what is stored."""
        return self.draw().found()

    def found(self) -> set[tuple[str, str]]:
        """Row and column of all that differs from what is stored, with the tables as they are."""
        return {(one.cell, one.column) for one in check(self.root, self.name).findings if one.is_drift}

    def stored(self) -> "Suite":
        accept(self.draw().root, self.name, "first numbers")
        return self

    @staticmethod
    def assert_well_formed(table: Table) -> None:
        """Every line has all columns, in Markdown and in LaTeX."""
        for view in (replace(table.view, folded=()), *table.view.folded):
            width = len(view.all_heads)
            lines = [line for line in to_markdown(view).splitlines() if line.startswith("|")]
            assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {width + 1}
            for line in to_latex(view).splitlines():
                if line.endswith(r"\\"):
                    spanned = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
                    assert line.count("&") + 1 + spanned == width, line


@pytest.fixture
def suite(tmp_path):
    return Suite(tmp_path)


@pytest.fixture
def shown(request, suite):
    """A suite with what the test file declares, run as it runs it."""
    request.module.declare(suite)
    request.module.run(suite)
    return suite


@pytest.fixture
def make_suite(tmp_path):
    return lambda name: Suite(tmp_path / name, name)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def spoil(path: Path, damage: str) -> None:
    """Damage a file of arrays; what is edited can be read as before."""
    if damage == "gone":
        path.unlink()
    elif damage == "edited":
        is_xz, content = path.suffix == ".xz", path.read_bytes()
        arrays = np.load(io.BytesIO(lzma.decompress(content) if is_xz else content))
        again = {name: array[::-1] for name, array in arrays.items()}
        path.write_bytes(xz_bytes(again) if is_xz else npz_bytes(again))
    else:
        path.write_bytes(path.read_bytes()[:100] if damage == "truncated" else b"")


def panels(table: Table) -> list:
    return [axes for part in table.figure.draw().subfigs for axes in part.axes]


def curves(axes) -> dict[str, list[float]]:
    """Heights of the points of curves with whiskers, by their names."""
    return {bars.get_label(): [round(float(y), 6) for y in bars[0].get_ydata()] for bars in axes.containers}


def texts(row) -> list[str]:
    return [cell.text for cell in row.cells]


def words(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]
