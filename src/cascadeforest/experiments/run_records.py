"""What MLflow is to show of a suite, worked out from the result files alone: experiments, runs, numbers, artifacts.

Pure data: nothing here knows MLflow. `cascadeforest.experiments.tracking` brings a store into line with these records.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cascadeforest.data.files import digest_of, read_json
from cascadeforest.experiments.failures import failed_cells
from cascadeforest.experiments.staleness import planned_specs, stale_fields

#: Part of every record's digest: raise it when something is logged differently, and each run is replaced.
FORMAT = 1
FINISHED, FAILED = "FINISHED", "FAILED"
#: Values of the tag `level`: one repeat, the mean of a data set and column over its repeats, the rendered table.
REPEAT, SUMMARY, TABLE = "repeat", "summary", "table"
#: Columns of the saved view behind those that the experiment names, where the runs have them.
VIEW_METRICS = (
    "accuracy",
    "rmse",
    "roc_auc",
    "fit_cpu_seconds",
    "predict_cpu_seconds",
    "fit_peak_mib",
    "model_mib",
    "n_layers",
)
#: Pixels of the view's columns: name and state of the run, each metric.
VIEW_WIDTHS = {"attributes.`Run Name`": 280, "runDateAndNestInfo": 130}
METRIC_WIDTH = 105
#: Tags that say something of one repeat only, even if all repeats happen to agree.
OF_ONE_REPEAT = frozenset({"repeat", "cell", "seed_model", "seed_split"})


@dataclass(frozen=True)
class DataInput:
    """The training or the test part that a run used.

    Parameters
    ----------
    context : str
        ``train`` or ``test``.
    name, digest, source : str
        Data set variant, short digest of its processed file with the context, path of that file.
    rows : int
        Number of rows of this part.
    """

    context: str
    name: str
    digest: str
    source: str
    rows: int


@dataclass(frozen=True)
class RunRecord:
    """One run as the store should hold it.

    Parameters
    ----------
    key : str
        ``<suite>/<experiment>/<dataset>/<column>[/<repeat>]``, or ``<suite>/<experiment>/TABLE``.
    name : str
        What the UI calls it.
    status : str
        ``FINISHED`` or ``FAILED``.
    start_ms, end_ms : int
        When it really ran, in milliseconds of the epoch.
    tags, params : dict
        Text by name.
    metrics : tuple of (name, value, step)
        A curve is one name with several steps.
    inputs : tuple of DataInput
    artifacts : dict
        Path below the run's artifacts to bytes.
    table : bytes or None
        CSV that is shown as a table.
    parent : str or None
        Key of the run that this one is a repeat of.
    """

    key: str
    name: str
    status: str
    start_ms: int
    end_ms: int
    tags: dict[str, str]
    params: dict[str, str] = field(default_factory=dict)
    metrics: tuple[tuple[str, float, int], ...] = ()
    inputs: tuple[DataInput, ...] = ()
    artifacts: dict[str, bytes] = field(default_factory=dict)
    table: bytes | None = None
    parent: str | None = None

    def digest(self) -> str:
        """SHA-256 of everything that is shown; a run with another one is out of date."""
        shown = {name: getattr(self, name) for name in ("key", "name", "status", "tags", "params", "metrics", "parent")}
        # Times are left out: a table that was rendered again to the same bytes is the same table.
        shown["inputs"] = [dataclasses.asdict(part) for part in self.inputs]
        shown["artifacts"] = {path: sha256(content).hexdigest() for path, content in self.artifacts.items()}
        shown["table"] = sha256(self.table).hexdigest() if self.table is not None else None
        return digest_of({"format": FORMAT} | shown)


@dataclass(frozen=True)
class ExperimentRecord:
    """One experiment of one suite: the table or figure, and the runs behind it.

    Parameters
    ----------
    name : str
        Its id.
    tags : dict
        Tags of the MLflow experiment.
    view : dict
        Columns, filter and order with which the UI should open.
    runs : list of RunRecord
        A parent stands before its repeats.
    """

    name: str
    tags: dict[str, str]
    view: dict[str, Any]
    runs: list[RunRecord]


def suite_records(folder: Path) -> list[ExperimentRecord]:
    """Everything that the results of one suite say, experiment by experiment.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``, with ``plan.json``.

    Returns
    -------
    list of ExperimentRecord
        In the order of the plan, without the experiments that have nothing to show yet.

    Raises
    ------
    ConfigError
        If a result file is not valid JSON.
    """
    plan = read_json(folder / "plan.json")
    page = folder / "index.html"
    shared = {"index.html": page.read_bytes()} if page.is_file() else {}
    specs = planned_specs(plan)
    pairs: dict[tuple[str, str], _Pair] = {}
    records = []
    for experiment in plan["experiments"].values():
        runs = []
        for dataset, column, preset in _pairs_shown(experiment):
            if (dataset, preset) not in pairs:
                pairs[dataset, preset] = _Pair(folder, dataset, preset, specs.get((dataset, preset)))
            repeats = experiment["repeats"][dataset]
            runs += _pair_records(plan["suite"], experiment, column, pairs[dataset, preset], repeats)
        runs += _table_record(folder, plan["suite"], experiment, runs, shared)
        if runs:
            records.append(
                ExperimentRecord(experiment["id"], _experiment_tags(experiment), _view(experiment, runs), runs)
            )
    return records


class _Pair:
    """Results of one model preset on one data set variant: cells and failures, by number of the repeat."""

    def __init__(self, folder: Path, dataset: str, preset: str, spec: Mapping[str, Any] | None) -> None:
        self.dataset = dataset
        self.preset = preset
        nothing = {"cells": [], "data": {}}
        merged = folder / "runs" / dataset / f"{preset}.json"
        result = read_json(merged) if merged.exists() else nothing
        if result is not nothing and stale_fields(result, spec):
            result = nothing  # of another configuration: not what this suite says now
        self.data = result["data"]
        self.cells = {cell["repeat"]: cell for cell in result["cells"]}
        # A job's failures are removed when it succeeds: those that are here are newer than a merged file beside them.
        self.failures = {cell["repeat"]: cell for cell in failed_cells(folder / "failures" / dataset, preset)}

    def results(self, repeats: int) -> list[tuple[dict[str, Any], bool]]:
        """The first `repeats` cells, each with whether it failed; a pair that tables share may have more."""
        numbers = sorted(number for number in {*self.cells, *self.failures} if number < repeats)
        return [(self.failures.get(number) or self.cells[number], number in self.failures) for number in numbers]


def _pairs_shown(experiment: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Triples (data set variant, column, preset) that the experiment shows in this suite."""
    columns = {
        name: preset for name, preset in experiment["columns"].items() if name not in experiment["missing_models"]
    }
    datasets = [dataset for dataset in experiment["datasets"] if dataset not in experiment["absent"]]
    return [(dataset, column, preset) for dataset in datasets for column, preset in columns.items()]


def _pair_records(suite: str, experiment: Mapping[str, Any], column: str, pair: _Pair, repeats: int) -> list[RunRecord]:
    """The summary of a data set and column, then its repeats; nothing if none was tried yet."""
    results = pair.results(repeats)
    if not results:
        return []
    key = f"{suite}/{experiment['id']}/{pair.dataset}/{column}"
    tags = {
        "suite": suite,
        "experiment": experiment["id"],
        "paper": experiment["paper"],
        # The data set without its operations, so that one filter finds all variants of it.
        "dataset": pair.dataset.partition("+")[0],
        "variant": pair.dataset,
        "model": column,
        "preset": pair.preset,
    }
    children = [
        _failed_record(key, tags, cell) if failed else _cell_record(key, tags, cell, pair.data)
        for cell, failed in results
    ]
    return [_summary_record(key, tags, children), *children]


def _cell_record(key: str, tags: Mapping[str, str], cell: Mapping[str, Any], data: Mapping[str, Any]) -> RunRecord:
    """A repeat that was computed."""
    repeat = cell["repeat"]
    numbers = {
        **cell["metrics"],
        "fit_wall_seconds": cell["fit_wall_seconds"],
        "predict_wall_seconds": cell["predict_wall_seconds"],
        **{name: value for name, value in cell["memory"].items() if name != "method"},
    }
    metrics = [(name, value, 0) for name, value in numbers.items() if value is not None]
    # Not under the metric's own name: the UI shows the value of the highest step, and the last layer is not
    # necessarily the one that predicts.
    metrics += [
        (f"{name}_per_layer", value, layer)
        for name, curve in cell["curves"].items()
        for layer, value in enumerate(curve, start=1)
    ]
    artifacts = {"cell.json": (json.dumps(cell, indent=1, sort_keys=True) + "\n").encode()}
    if cell["confusion"] is not None:
        artifacts["confusion.csv"] = _confusion_csv(cell["confusion"], data.get("class_names"))
    if cell["curves"]:
        artifacts["layers.csv"] = _layers_csv(cell["curves"])
    facts = {
        "repeat": repeat,
        "level": REPEAT,
        "status": "ok",
        "estimator": cell["estimator"],
        "git_commit": cell["git_commit"] or "none",
        "code_digest": cell["code_digest"],
        "data_digest": cell["data_digest"],
        "cell": cell["key"],
        "n_train": cell["n_train"],
        "n_validation": cell["n_validation"],
        "n_test": cell["n_test"],
        "threads": cell["threads"],
        "memory_method": cell["memory"]["method"],
        **{f"seed_{name}": seed for name, seed in cell["seeds"].items() if seed is not None},
        # One tag each: MLflow's cost goes with the number of tags, and cell.json has the parts.
        "versions": ", ".join(f"{name} {version}" for name, version in sorted(cell["versions"].items())),
        "host": ", ".join(f"{name} {value}" for name, value in sorted(cell["host"].items())),
    }
    return RunRecord(
        key=f"{key}/{repeat}",
        name=f"{key}/{repeat}",
        status=FINISHED,
        start_ms=cell["started_ms"],
        end_ms=cell["ended_ms"],
        tags={**tags, **{name: str(value) for name, value in facts.items()}},
        params={name: _text(value) for name, value in cell["params"].items()},
        metrics=tuple(metrics),
        inputs=tuple(
            DataInput(
                context=context,
                name=cell["dataset"],
                # One input per digest and run: without the context MLflow would keep only one of the two.
                digest=f"{cell['data_digest'][:12]}-{context}",
                source=f"data/processed/{cell['dataset']}.npz",
                rows=cell[f"n_{context}"],
            )
            for context in ("train", "test")
        ),
        artifacts=artifacts,
        parent=key,
    )


def _failed_record(key: str, tags: Mapping[str, str], cell: Mapping[str, Any]) -> RunRecord:
    """A repeat that died."""
    repeat = cell["repeat"]
    return RunRecord(
        key=f"{key}/{repeat}",
        name=f"{key}/{repeat}",
        status=FAILED,
        start_ms=cell["started_ms"],
        end_ms=cell["ended_ms"],
        tags={
            **tags,
            "repeat": str(repeat),
            "level": REPEAT,
            "status": "failed",
            "error": cell["error"],
            "error_message": cell["message"],
        },
        artifacts={
            "failure.json": (json.dumps(cell, indent=1, sort_keys=True) + "\n").encode(),
            "traceback.txt": cell["traceback"].encode(),
        },
        parent=key,
    )


def _summary_record(key: str, tags: Mapping[str, str], children: Sequence[RunRecord]) -> RunRecord:
    """Mean and sample standard deviation (ddof = 1) over the repeats that gave a result."""
    done = [child for child in children if child.status == FINISHED]
    values: dict[str, list[float]] = {}
    for child in done:
        for name, value, _ in child.metrics:
            if not name.endswith("_per_layer"):
                values.setdefault(name, []).append(value)
    metrics: dict[str, float] = {"n_repeats": len(done)}
    for name, numbers in values.items():
        metrics[name] = fmean(numbers)
        if len(numbers) > 1:
            metrics[f"{name}_std"] = stdev(numbers)
    failed = [child for child in children if child.status == FAILED]
    own = {"level": SUMMARY, "status": "failed" if failed else "ok"}
    if failed:
        own["error"] = ", ".join(sorted({child.tags["error"] for child in failed}))
        own["error_message"] = f"{len(failed)} of {len(children)} repeats failed"
    same = _common([child.tags for child in done])
    return RunRecord(
        key=key,
        name=key,
        status=FAILED if failed else FINISHED,
        start_ms=min(child.start_ms for child in children),
        end_ms=max(child.end_ms for child in children),
        tags={**{name: same[name] for name in same if name not in OF_ONE_REPEAT}, **tags, **own},
        params=_common([child.params for child in done]),
        metrics=tuple((name, value, 0) for name, value in metrics.items()),
        inputs=done[0].inputs if done else (),
    )


def _table_record(
    folder: Path, suite: str, experiment: Mapping[str, Any], runs: Sequence[RunRecord], shared: Mapping[str, bytes]
) -> list[RunRecord]:
    """The rendered table or figure, if it was rendered."""
    name = experiment["id"]
    files = [folder / "tables" / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    files += [folder / "figures" / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
    files = [path for path in files if path.is_file()]
    if not files:
        return []
    artifacts = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}
    written = round(1000 * max(path.stat().st_mtime for path in files))
    record = RunRecord(
        key=f"{suite}/{name}/TABLE",
        name=f"{experiment['kind'].upper()} {suite}/{name}",
        status=FINISHED,
        # It spans the runs behind it; a table without runs of its own happened when it was written.
        start_ms=min((run.start_ms for run in runs), default=written),
        end_ms=max((run.end_ms for run in runs), default=written),
        tags={"suite": suite, "experiment": name, "paper": experiment["paper"], "level": TABLE, "status": "ok"},
        artifacts=artifacts | dict(shared),
        table=artifacts.get(f"tables/{name}.csv"),
    )
    return [record]


def _experiment_tags(experiment: Mapping[str, Any]) -> dict[str, str]:
    """What the UI shows of the experiment as a whole; the same in every suite."""
    return {
        "paper": experiment["paper"],
        "kind": experiment["kind"],
        "title": experiment["title"],
        "mlflow.note.content": f"{experiment['title']} ({experiment['paper']}, {experiment['kind']})",
    }


def _view(experiment: Mapping[str, Any], runs: Sequence[RunRecord]) -> dict[str, Any]:
    """State of the UI's table: a row for each data set and column; the experiment's metrics first, then cost."""
    present = {name for run in runs if run.parent is None for name, _, _ in run.metrics}
    metrics: list[str] = []
    for name in dict.fromkeys([*experiment["metrics"], *VIEW_METRICS]):
        # The deviation of what the experiment is about; elsewhere it would only widen the table.
        spread = [f"{name}_std"] if name in experiment["metrics"] or name in ("accuracy", "rmse") else []
        metrics += [column for column in (name, *spread) if column in present]
    # The run's name says suite, data set and model: columns for them would push the numbers off the screen.
    columns = [f"metrics.`{name}`" for name in metrics]
    return {
        "searchFilter": f"tags.level != '{REPEAT}'",
        "orderByKey": "tags.`mlflow.runName`",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": columns,
        # Without an order the UI sorts the metrics by name.
        "columnOrder": [*VIEW_WIDTHS, *columns, "duration"],
        "columnWidths": VIEW_WIDTHS | dict.fromkeys(columns, METRIC_WIDTH),
        "runsHiddenMode": "FIRST_20_RUNS",
    }


def _common(mappings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What all mappings say alike."""
    if not mappings:
        return {}
    first, *others = mappings
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _text(value: Any) -> str:
    """A parameter as text: None, True and numbers as Python writes them, lists and mappings as JSON."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else str(value)


def _confusion_csv(confusion: Sequence[Sequence[int]], class_names: Sequence[str] | None) -> bytes:
    """True classes down, predicted ones across; by code where the result does not name the classes."""
    names = list(class_names or map(str, range(len(confusion))))
    return _csv([["true \\ predicted", *names], *([name, *row] for name, row in zip(names, confusion, strict=True))])


def _layers_csv(curves: Mapping[str, Sequence[float]]) -> bytes:
    """One row a layer, one column a curve."""
    n_layers = max(map(len, curves.values()))
    rows = [[k + 1, *(curve[k] if k < len(curve) else "" for curve in curves.values())] for k in range(n_layers)]
    return _csv([["layer", *curves], *rows])


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
