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

from cascadeforest.data.files import digest_of
from cascadeforest.data.typed_json import Json, to_json
from cascadeforest.experiments.plan import Experiment, Pair, Run, read_plan
from cascadeforest.experiments.records import PLAN_FILE, Failure, ScoredCell, read_failures, read_run

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
    DamagedFile
        If a result file is not what a job wrote.
    """
    plan = read_plan(folder / PLAN_FILE, folder.name)
    page = folder / "index.html"
    shared = {"index.html": page.read_bytes()} if page.is_file() else {}
    pairs: dict[Pair, _Pair] = {}
    records = []
    for experiment in plan.experiments.values():
        runs: list[RunRecord] = []
        for dataset, column, preset in _pairs_shown(experiment):
            if (dataset, preset) not in pairs:
                pairs[dataset, preset] = _Pair(folder, dataset, preset, plan.run(dataset, preset))
            repeats = experiment.repeats[dataset]
            runs += _pair_records(plan.suite, experiment, column, pairs[dataset, preset], repeats)
        runs += _table_record(folder, plan.suite, experiment, runs, shared)
        if runs:
            records.append(ExperimentRecord(experiment.id, _experiment_tags(experiment), _view(experiment, runs), runs))
    return records


class _Pair:
    """Results of one model preset on one data set variant: cells and failures, by number of the repeat."""

    def __init__(self, folder: Path, dataset: str, preset: str, run: Run | None) -> None:
        self.dataset = dataset
        self.preset = preset
        result = read_run(folder, dataset, preset)
        if result is not None and result.differences(run):
            result = None  # of another configuration: not what this suite says now
        names = result.data.get("class_names") if result else None
        self.class_names = [str(name) for name in names] if isinstance(names, list) else []
        self.cells = {cell.repeat: cell for cell in result.cells} if result else {}
        # A job's failures are removed when it succeeds: those that are here are newer than a merged file beside them.
        self.failures = {failure.repeat: failure for failure in read_failures(folder, dataset, preset)}

    def results(self, repeats: int) -> list[ScoredCell | Failure]:
        """What the first `repeats` repeats gave, in their order; a pair that tables share may have more."""
        found: dict[int, ScoredCell | Failure] = {**self.cells, **self.failures}
        return [found[repeat] for repeat in sorted(found) if repeat < repeats]


def _pairs_shown(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Triples (data set variant, column, preset) that the experiment shows in this suite."""
    columns = experiment.shown_columns()
    return [(dataset, column, experiment.columns[column]) for dataset in experiment.present() for column in columns]


def _pair_records(suite: str, experiment: Experiment, column: str, pair: _Pair, repeats: int) -> list[RunRecord]:
    """The summary of a data set and column, then its repeats; nothing if none was tried yet."""
    results = pair.results(repeats)
    if not results:
        return []
    key = f"{suite}/{experiment.id}/{pair.dataset}/{column}"
    tags = {
        "suite": suite,
        "experiment": experiment.id,
        "paper": experiment.paper,
        # The data set without its operations, so that one filter finds all variants of it.
        "dataset": pair.dataset.partition("+")[0],
        "variant": pair.dataset,
        "model": column,
        "preset": pair.preset,
    }
    children = [
        _failed_record(key, tags, one) if isinstance(one, Failure) else _cell_record(key, tags, one, pair.class_names)
        for one in results
    ]
    return [_summary_record(key, tags, children), *children]


def _cell_record(key: str, tags: Mapping[str, str], cell: ScoredCell, class_names: Sequence[str]) -> RunRecord:
    """A repeat that was computed."""
    costs = {name: value for name, value in vars(cell.costs).items() if isinstance(value, int | float)}
    metrics = [(name, value, 0) for name, value in (cell.metrics | costs).items()]
    # Not under the metric's own name: the UI shows the value of the highest step, and the last layer is not
    # necessarily the one that predicts.
    metrics += [
        (f"{name}_per_layer", value, layer)
        for name, curve in cell.curves.items()
        for layer, value in enumerate(curve, start=1)
    ]
    artifacts = {"cell.json": _json_file(cell)}
    if cell.confusion is not None:
        artifacts["confusion.csv"] = _confusion_csv(cell.confusion, class_names)
    if cell.curves:
        artifacts["layers.csv"] = _layers_csv(cell.curves)
    origin = cell.provenance
    facts = {
        "repeat": cell.repeat,
        "level": REPEAT,
        "status": "ok",
        "estimator": cell.estimator,
        "git_commit": origin.git_commit or "none",
        "code_digest": origin.code_digest,
        "data_digest": origin.data_digest,
        "cell": cell.key,
        "n_train": cell.n_train,
        "n_validation": cell.n_validation,
        "n_test": cell.n_test,
        "threads": cell.threads,
        **({"memory_method": cell.costs.memory_method} if cell.costs.memory_method else {}),
        **{f"seed_{name}": seed for name, seed in cell.seeds.items() if seed is not None},
        **{f"chosen_{name}": _text(value) for name, value in cell.chosen.items()},
        # One tag each: MLflow's cost goes with the number of tags, and cell.json has the parts.
        "versions": ", ".join(f"{name} {version}" for name, version in sorted(origin.versions.items())),
        "host": ", ".join(f"{name} {value}" for name, value in sorted(origin.host.items())),
    }
    return RunRecord(
        key=f"{key}/{cell.repeat}",
        name=f"{key}/{cell.repeat}",
        status=FINISHED,
        start_ms=cell.started_ms,
        end_ms=cell.ended_ms,
        tags={**tags, **{name: str(value) for name, value in facts.items()}},
        params={name: _text(value) for name, value in cell.params.items()},
        metrics=tuple(metrics),
        inputs=tuple(
            DataInput(
                context=context,
                name=cell.dataset,
                # One input per digest and run: without the context MLflow would keep only one of the two.
                digest=f"{origin.data_digest[:12]}-{context}",
                source=f"data/processed/{cell.dataset}.npz",
                rows=rows,
            )
            for context, rows in (("train", cell.n_train), ("test", cell.n_test))
        ),
        artifacts=artifacts,
        parent=key,
    )


def _failed_record(key: str, tags: Mapping[str, str], failure: Failure) -> RunRecord:
    """A repeat that died."""
    return RunRecord(
        key=f"{key}/{failure.repeat}",
        name=f"{key}/{failure.repeat}",
        status=FAILED,
        start_ms=failure.started_ms,
        end_ms=failure.ended_ms,
        tags={
            **tags,
            "repeat": str(failure.repeat),
            "level": REPEAT,
            "status": "failed",
            "error": failure.error,
            "error_message": failure.message,
        },
        artifacts={"failure.json": _json_file(failure), "traceback.txt": failure.traceback.encode()},
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
    folder: Path, suite: str, experiment: Experiment, runs: Sequence[RunRecord], shared: Mapping[str, bytes]
) -> list[RunRecord]:
    """The rendered table or figure, if it was rendered."""
    name = experiment.id
    files = [folder / "tables" / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    files += [folder / "figures" / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
    files = [path for path in files if path.is_file()]
    if not files:
        return []
    artifacts = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}
    written = round(1000 * max(path.stat().st_mtime for path in files))
    record = RunRecord(
        key=f"{suite}/{name}/TABLE",
        name=f"{experiment.kind.upper()} {suite}/{name}",
        status=FINISHED,
        # It spans the runs behind it; a table without runs of its own happened when it was written.
        start_ms=min((run.start_ms for run in runs), default=written),
        end_ms=max((run.end_ms for run in runs), default=written),
        tags={"suite": suite, "experiment": name, "paper": experiment.paper, "level": TABLE, "status": "ok"},
        artifacts=artifacts | dict(shared),
        table=artifacts.get(f"tables/{name}.csv"),
    )
    return [record]


def _experiment_tags(experiment: Experiment) -> dict[str, str]:
    """What the UI shows of the experiment as a whole; the same in every suite."""
    return {
        "paper": experiment.paper,
        "kind": experiment.kind,
        "title": experiment.title,
        "mlflow.note.content": f"{experiment.title} ({experiment.paper}, {experiment.kind})",
    }


def _view(experiment: Experiment, runs: Sequence[RunRecord]) -> dict[str, Any]:
    """State of the UI's table: a row for each data set and column; the experiment's metrics first, then cost."""
    present = {name for run in runs if run.parent is None for name, _, _ in run.metrics}
    metrics: list[str] = []
    for name in dict.fromkeys([*experiment.metrics, *VIEW_METRICS]):
        # The deviation of what the experiment is about; elsewhere it would only widen the table.
        spread = [f"{name}_std"] if name in experiment.metrics or name in ("accuracy", "rmse") else []
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


def _json_file(content: object) -> bytes:
    return (json.dumps(to_json(content), indent=1, sort_keys=True) + "\n").encode()


def _text(value: Json) -> str:
    """A parameter as text: None, True and numbers as Python writes them, lists and mappings as JSON."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else str(value)


def _confusion_csv(confusion: Sequence[Sequence[int]], class_names: Sequence[str]) -> bytes:
    """True classes down, predicted ones across; by code where the result does not name the classes."""
    names = list(class_names or map(str, range(len(confusion))))
    return _csv([["true \\ predicted", *names], *([name, *row] for name, row in zip(names, confusion, strict=True))])


def _layers_csv(curves: Mapping[str, Sequence[float]]) -> bytes:
    """One row a layer, one column a curve."""
    n_layers = max(map(len, curves.values()))
    rows = [[k + 1, *(curve[k] if k < len(curve) else "" for curve in curves.values())] for k in range(n_layers)]
    return _csv([["layer", *curves], *rows])


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
