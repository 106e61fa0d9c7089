"""What MLflow is to show of a suite, worked out from its results alone: runs, numbers, artifacts, views.

Pure data: nothing here knows MLflow. `cascadeforest.experiments.tracking` brings a store into line with these records.

There are two experiments. `CELLS` has one run for each cell (data set variant, model preset, repeat), and for each data
set and model a summary run above its repeats. `TABLES` has one run for each table or figure. A cell that several tables
show is one run, whose tag ``tables`` names them.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cascadeforest.data.files import digest_of, sha256_of
from cascadeforest.data.typed_json import Json, to_json
from cascadeforest.experiments.cells import SavedArrays
from cascadeforest.experiments.plan import MODEL, Experiment, Pair, Plan, read_plan
from cascadeforest.experiments.records import (
    PLAN_FILE,
    Failure,
    RunResult,
    ScoredCell,
    failure_paths,
    read_failures,
    read_run,
    run_path,
)

#: Part of every digest: raise it when something is logged differently, and each run is replaced.
FORMAT = 3
FINISHED, FAILED = "FINISHED", "FAILED"
#: Names of the two experiments.
CELLS, TABLES = "cells", "tables"
#: Values of the tag `level`: one repeat, the means of a data set and model over its repeats, a table or figure.
REPEAT, SUMMARY, TABLE = "repeat", "summary", "table"
#: Values of the tag `origin`: results of this checkout, and accepted results.
RUN_HERE, ACCEPTED = "run", "accepted"
#: Metrics that the saved view of the cells shows, as far as the suite has them.
VIEW_METRICS = (
    "accuracy",
    "accuracy_std",
    "roc_auc",
    "rmse",
    "rmse_std",
    "fit_cpu_seconds",
    "predict_cpu_seconds",
    "fit_peak_mib",
    "model_mib",
    "n_layers",
)
#: Pixels of the view's columns: name and state of the run, each tag, each metric.
NAME_WIDTHS = {"attributes.`Run Name`": 330, "runDateAndNestInfo": 130}
TAG_WIDTHS = {"title": 520, "paper": 110, "kind": 90}
METRIC_WIDTH = 105
#: Tags that say something of one repeat only, even if all repeats happen to agree.
OF_ONE_REPEAT = frozenset({"repeat", "cell", "seed_model", "seed_split"})
#: Year 2000 in milliseconds of the epoch. A file with an earlier time comes from a file system or an archive that keeps
#: none, and MLflow would show a run 'created 56 years ago'.
EARLIEST_MS = 946_684_800_000


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
    features : int or None
        Number of columns; None if the result does not say.
    target : str or None
        Type of the target: ``int64`` for classes, ``float64`` in regression; None if the result does not say.
    """

    context: str
    name: str
    digest: str
    source: str
    rows: int
    features: int | None = None
    target: str | None = None


@dataclass(frozen=True)
class RunRecord:
    """One run as the store should hold it.

    Parameters
    ----------
    key : str
        ``<suite>/<variant>/<preset>[/<repeat>]`` for cells, ``<suite>/<table>`` for tables.
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
    model : SavedArrays or None
        The fitted model that the cell kept (`cascadeforest.experiments.extras.model`).
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
    model: SavedArrays | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that is shown; a run with another one is out of date."""
        shown = {name: getattr(self, name) for name in ("key", "name", "status", "tags", "params", "metrics")}
        # Times are left out: a table that was rendered again to the same bytes is the same table.
        shown["inputs"] = [dataclasses.asdict(part) for part in self.inputs]
        shown["artifacts"] = {path: sha256(content).hexdigest() for path, content in self.artifacts.items()}
        shown["table"] = sha256(self.table).hexdigest() if self.table is not None else None
        if self.model is not None:
            shown["model"] = self.model.sha256
        return digest_of({"format": FORMAT} | shown)


@dataclass(frozen=True)
class GroupRecord:
    """The runs of one data set variant and model preset: a summary and its repeats, made when they are asked for.

    Parameters
    ----------
    key : str
        ``<suite>/<variant>/<preset>``, also the key of the summary.
    tags : dict
        Tags that the summary and all repeats have; they find the runs of the group in a store.
    source : str
        Digest of the files and settings that decide the runs. A store whose summary carries it is up to date.
    make : callable
        Reads the files and returns the summary and its repeats; nothing if no repeat was tried yet.
    """

    key: str
    tags: dict[str, str]
    source: str
    make: Callable[[], list[RunRecord]] = field(compare=False)


@dataclass(frozen=True)
class Drawing:
    """Table and figure of one experiment.

    Parameters
    ----------
    files : dict
        Path below the run's artifacts to content; empty if nothing was drawn.
    written_ms : int
        When it was drawn or accepted, in milliseconds of the epoch.
    """

    files: dict[str, bytes]
    written_ms: int


@dataclass(frozen=True)
class SuiteSource:
    """Where the results of one suite come from: the files of a run, or what was accepted.

    Parameters
    ----------
    plan : Plan
    origin : str
        ``run`` or ``accepted``.
    digest : callable
        Data set variant and preset to a digest of their results, without reading them; None if there are none.
    read : callable
        Data set variant and preset to what a job wrote, or None, and the repeats that failed.
    drawings : callable
        Id of an experiment to its table and figure.
    page : bytes or None
        The page with all tables.
    """

    plan: Plan
    origin: str
    digest: Callable[[Pair], str | None]
    read: Callable[[Pair], tuple[RunResult | None, list[Failure]]]
    drawings: Callable[[str], Drawing]
    page: bytes | None


def read_suite(folder: Path) -> SuiteSource:
    """Results of one suite as the jobs of this checkout wrote them.

    Parameters
    ----------
    folder : Path
        ``results/<suite>``, with ``plan.json``.

    Raises
    ------
    DamagedFile
        If the plan is not what was written. `GroupRecord.make` raises it for a damaged result file.
    """
    page = folder / "index.html"

    def digest(pair: Pair) -> str | None:
        paths = [path for path in (run_path(folder, *pair), *failure_paths(folder, *pair)) if path.is_file()]
        return digest_of({path.name: sha256_of(path) for path in paths}) if paths else None

    def read(pair: Pair) -> tuple[RunResult | None, list[Failure]]:
        return read_run(folder, *pair), read_failures(folder, *pair)

    return SuiteSource(
        plan=read_plan(folder / PLAN_FILE, folder.name),
        origin=RUN_HERE,
        digest=digest,
        read=read,
        drawings=lambda name: read_drawing(folder, name),
        page=page.read_bytes() if page.is_file() else None,
    )


def read_drawing(folder: Path, name: str) -> Drawing:
    """Table and figure of one experiment below ``results/<suite>`` or ``reports/<suite>``."""
    paths = [folder / "tables" / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    paths += [folder / "figures" / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
    paths = [path for path in paths if path.is_file()]
    written_ms = max((round(1000 * path.stat().st_mtime) for path in paths), default=0)
    if written_ms < EARLIEST_MS:
        written_ms = round(1000 * time.time())
    return Drawing({f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}, written_ms)


def group_records(source: SuiteSource) -> list[GroupRecord]:
    """Groups of cells that the tables of a suite show, each once, in the order of the plan.

    Parameters
    ----------
    source : SuiteSource
        The results. Only digests of the files are computed here; `GroupRecord.make` reads them.

    Returns
    -------
    list of GroupRecord
        Without data sets and models of which nothing was tried yet.
    """
    groups = []
    for pair, showing in _shown(source.plan).items():
        digest = source.digest(pair)
        if digest is None:
            continue
        tags = _group_tags(source, pair, showing)
        repeats = {experiment.id: experiment.n_repeats(*pair) for experiment in showing}
        decisive = [FORMAT, tags, repeats, to_json(source.plan.run(*pair)), digest]
        groups.append(
            GroupRecord(
                key="/".join((source.plan.suite, *pair)),
                tags=tags,
                source=digest_of(decisive),
                make=partial(_group, source, pair, tags, showing),
            )
        )
    return groups


def _shown(plan: Plan) -> dict[Pair, list[Experiment]]:
    """Pairs of data set variant and preset to the experiments that show them."""
    shown: dict[Pair, list[Experiment]] = {}
    for experiment in plan.experiments.values():
        for pair in experiment.needed_runs():
            shown.setdefault(pair, []).append(experiment)
    return shown


def _group_tags(source: SuiteSource, pair: Pair, showing: Sequence[Experiment]) -> dict[str, str]:
    """Tags by which a person finds a data set and model."""
    dataset, preset = pair
    labels = [
        experiment.labels.get(column, column)
        for experiment in showing
        for column, other in experiment.columns.items()
        if other == preset
    ]
    return {
        "suite": source.plan.suite,
        # The data set without its operations, so that one filter finds all variants of it.
        "dataset": dataset.partition("+")[0],
        "variant": dataset,
        "model": preset,
        # Tables name a model as their paper does; the most frequent name stands for it here.
        "label": Counter(labels).most_common(1)[0][0],
        **_tables_tags(showing),
        "origin": source.origin,
    }


def _tables_tags(showing: Sequence[Experiment]) -> dict[str, str]:
    """The tables that show a run, and their papers."""
    papers = dict.fromkeys(experiment.paper for experiment in showing)
    return {"paper": " ".join(papers), "tables": " ".join(experiment.id for experiment in showing)}


def _group(source: SuiteSource, pair: Pair, tags: Mapping[str, str], showing: Sequence[Experiment]) -> list[RunRecord]:
    """The summary of a data set and model, then its repeats; nothing if none was tried yet."""
    result, failures = source.read(pair)
    if result is not None and result.differences(source.plan.run(*pair)):
        result = None  # of another configuration: not what this suite says now
    found: dict[int, ScoredCell | Failure] = {cell.repeat: cell for cell in result.cells} if result else {}
    # A job's failures are removed when it succeeds: those that are here are newer than a merged file beside them.
    found |= {failure.repeat: failure for failure in failures}
    facts = result.data if result else {}
    children = []
    for repeat in sorted(found):
        # Tables may show fewer repeats of a pair than there are.
        tables = [experiment for experiment in showing if repeat < experiment.n_repeats(*pair)]
        if tables:
            one, own = found[repeat], {**tags, **_tables_tags(tables)}
            children.append(_failed_record(own, one) if isinstance(one, Failure) else _cell_record(own, one, facts))
    return [_summary_record(tags, children), *children] if children else []


def table_records(source: SuiteSource) -> list[RunRecord]:
    """Tables and figures of a suite that were drawn, in the order of the plan."""
    suite = source.plan.suite
    page = {} if source.page is None else {"index.html": source.page}
    records = []
    for name, experiment in source.plan.experiments.items():
        drawing = source.drawings(name)
        if not drawing.files:
            continue
        search = f"tags.tables LIKE '%{name}%' AND tags.suite = '{suite}'"
        tags = {
            "suite": suite,
            "paper": experiment.paper,
            "table": name,
            "kind": experiment.kind,
            "title": experiment.title,
            "level": TABLE,
            "status": "ok",
            "origin": source.origin,
            "mlflow.note.content": f"{experiment.title}. Its cells: search `{search}` in the experiment `{CELLS}`.",
        }
        records.append(
            RunRecord(
                key=f"{suite}/{name}",
                name=f"{name} · {suite}",
                status=FINISHED,
                start_ms=drawing.written_ms,
                end_ms=drawing.written_ms,
                tags=tags,
                artifacts=drawing.files | page,
                table=drawing.files.get(f"tables/{name}.csv"),
            )
        )
    return records


def cells_view(suite: str, metrics: Collection[str]) -> dict[str, Any]:
    """State of the UI's table of cells: a row for each data set and model of a suite, with the metrics that it has."""
    columns = {f"metrics.`{name}`": METRIC_WIDTH for name in VIEW_METRICS if name in metrics}
    # The run's name says data set and model: columns for them would push the numbers off the screen.
    return _view(f"tags.level = '{SUMMARY}' AND tags.suite = '{suite}'", columns)


def tables_view(suite: str) -> dict[str, Any]:
    """State of the UI's table of tables: a row for each table and figure of a suite."""
    return _view(f"tags.suite = '{suite}'", {f"tags.`{name}`": width for name, width in TAG_WIDTHS.items()})


def _view(search: str, columns: Mapping[str, int]) -> dict[str, Any]:
    return {
        "searchFilter": search,
        "orderByKey": "tags.`mlflow.runName`",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [*columns],
        # Without an order the UI sorts the metrics by name.
        "columnOrder": [*NAME_WIDTHS, *columns, "duration"],
        "columnWidths": NAME_WIDTHS | dict(columns),
        "runsHiddenMode": "FIRST_20_RUNS",
    }


def _key(tags: Mapping[str, str], *repeat: int) -> str:
    return "/".join((tags["suite"], tags["variant"], tags["model"], *map(str, repeat)))


def _name(tags: Mapping[str, str], *repeat: int) -> str:
    return " · ".join((tags["model"], tags["variant"], *map(str, repeat)))


def _cell_record(tags: Mapping[str, str], cell: ScoredCell, data: Mapping[str, Json]) -> RunRecord:
    """A repeat that was computed; `data` are the facts about the data set."""
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
        names = data.get("class_names")
        artifacts["confusion.csv"] = _confusion_csv(cell.confusion, names if isinstance(names, list) else [])
    if cell.curves:
        artifacts["layers.csv"] = _layers_csv(cell.curves)
    origin = cell.provenance
    features = data.get("features")
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
        key=_key(tags, cell.repeat),
        name=_name(tags, cell.repeat),
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
                features=features if isinstance(features, int) else None,
                target={"classification": "int64", "regression": "float64"}.get(str(data.get("task"))),
            )
            for context, rows in (("train", cell.n_train), ("test", cell.n_test))
        ),
        artifacts=artifacts,
        # Accepted results are stored without models.
        model=cell.extras.get(MODEL) if tags["origin"] == RUN_HERE else None,
    )


def _failed_record(tags: Mapping[str, str], failure: Failure) -> RunRecord:
    """A repeat that died."""
    return RunRecord(
        key=_key(tags, failure.repeat),
        name=_name(tags, failure.repeat),
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
    )


def _summary_record(tags: Mapping[str, str], children: Sequence[RunRecord]) -> RunRecord:
    """Mean and sample standard deviation (ddof = 1) over the repeats that gave a result."""
    done = [child for child in children if child.status == FINISHED]
    values: dict[str, list[float]] = {}
    for child in done:
        for name, value, _ in child.metrics:
            if not name.endswith("_per_layer"):
                values.setdefault(name, []).append(value)
    metrics: dict[str, float] = {"n_repeats": len(done)}
    for name, numbers in values.items():
        if len(numbers) < len(done):  # of some repeats only, as memory-profiler's reading
            continue
        metrics[name] = fmean(numbers)
        if len(numbers) > 1:
            metrics[f"{name}_std"] = stdev(numbers)
    failed = [child for child in children if child.status == FAILED]
    own = {"level": SUMMARY, "status": "failed" if failed else "ok", "repeats": str(len(children))}
    if failed:
        own["error"] = ", ".join(sorted({child.tags["error"] for child in failed}))
        own["error_message"] = f"{len(failed)} of {len(children)} repeats failed"
    same = _common([child.tags for child in done])
    return RunRecord(
        key=_key(tags),
        name=_name(tags),
        status=FAILED if failed else FINISHED,
        start_ms=min(child.start_ms for child in children),
        end_ms=max(child.end_ms for child in children),
        tags={**{name: same[name] for name in same if name not in OF_ONE_REPEAT}, **tags, **own},
        params=_common([child.params for child in done]),
        metrics=tuple((name, value, 0) for name, value in metrics.items()),
        inputs=done[0].inputs if done else (),
    )


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
