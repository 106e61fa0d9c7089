"""MLflow: an index of the results, for browsing and comparing; rebuilt from them at will.

Training never touches MLflow. `sync` brings a store into line with the results, as its only writer. It can be killed at
any time: a run is terminated when all of it is there, and a summary after its repeats, so that the next `sync`
recognises and replaces what is unfinished. The tag ``result_sha`` says what a run shows. A summary also keeps the
digest of the files behind it (``source_sha``): where that is equal, neither the files nor the repeats' runs are read.
The experiment keeps one of all summaries of a suite: where that is equal, no run is read.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cascadeforest._version import __version__
from cascadeforest.data.errors import UserError
from cascadeforest.data.files import digest_of
from cascadeforest.experiments.cells import read_arrays
from cascadeforest.experiments.records import CELL_CACHE
from cascadeforest.experiments.run_records import (
    ACCEPTED,
    CELLS,
    FORMAT,
    REPEAT,
    SUMMARY,
    TABLES,
    DataInput,
    GroupRecord,
    RunRecord,
    SuiteSource,
    cells_view,
    group_records,
    read_suite,
    table_records,
    tables_view,
)
from cascadeforest.experiments.tracking_store import (
    ARTIFACTS_VARIABLE,
    MANAGED_TAG,
    Store,
    find_store,
    make_own_store,
    only_writer,
    open_client,
    quiet_mlflow,
    require_mlflow,
)

if TYPE_CHECKING:
    import numpy as np
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Experiment, Run

#: Experiment tag under which the UI of MLflow 3.17 looks up a saved view (undocumented); the view's name follows.
VIEW_TAG = "mlflow.sharedViewState."
#: Experiment tag with the state of a suite; the suite's name follows: origin, number of runs, digest of their sources.
STATE_TAG = "cascadeforest.state."
DESCRIPTIONS = {
    CELLS: "One run for each repeat of a model on a data set, below a summary with means and standard deviations. "
    "Example of a search: `tags.model = 'hidf' AND tags.dataset = 'letter'`. The tag `tables` names the tables that "
    "show a run.",
    TABLES: "One run for each table or figure, with its files.",
}
# MLflow takes 100 parameters and 1,000 values in all in one call of log_batch.
METRICS_PER_BATCH, PARAMS_PER_BATCH = 900, 100
RUNS_PER_PAGE = 1_000
#: Tag of a repeat with the id of its summary, below which the UI shows it.
PARENT_TAG = "mlflow.parentRunId"
NO_TAGS: Mapping[str, str] = MappingProxyType({})
#: From so many changed groups on, the repeats of a suite are listed at once and not group by group.
MANY_GROUPS = 20


@dataclass(frozen=True)
class SyncReport:
    """What one `sync` did, in numbers of runs.

    Parameters
    ----------
    created : int
        New runs.
    replaced : int
        Runs whose result changed or whose logging was cut off.
    unchanged : int
        Runs that were there already.
    deleted : int
        Runs without a result any more, and doubles.
    """

    created: int
    replaced: int
    unchanged: int
    deleted: int


def sync(
    results: Path,
    suites: Sequence[str] | None = None,
    tracking_uri: str | None = None,
    accepted: SuiteSource | None = None,
    every_run: bool = False,
    tables: bool = True,
) -> SyncReport:
    """Bring the MLflow store into line with the results.

    Parameters
    ----------
    results : Path
        Folder of the results, one folder a suite.
    suites : sequence of str, optional
        Suites to compare; by default all that have results. A store that is new or had to be made anew gets all.
    tracking_uri : str, optional
        Server or database; by default ``MLFLOW_TRACKING_URI``, else ``results/mlflow.db``. The runs of these suites
        there are made equal to the results here: checkouts that share a store overwrite each other's.
    accepted : SuiteSource, optional
        Accepted results of one suite, to be shown in place of results of this checkout. `suites` is then not used.
    every_run : bool
        Also compare runs whose files did not change, for a store in which somebody deleted runs by hand.
    tables : bool
        Whether tables are brought up to date too, or cells only: while tables are drawn.

    Returns
    -------
    SyncReport

    Raises
    ------
    UserError
        If there are no results, or the store cannot be reached.
    """
    results = Path(results)
    chosen = [] if accepted else _choose_suites(results, suites)
    require_mlflow()
    with quiet_mlflow():
        store = find_store(results, tracking_uri)
        with only_writer(store, results):
            if store.is_own and make_own_store(results):
                chosen = _suites_with_results(results)
            sources = [read_suite(results / suite) for suite in chosen]
            if accepted:
                sources = [source for source in sources if source.plan.suite != accepted.plan.suite] + [accepted]
            with open_client(store.uri, is_disposable=store.is_own) as client:
                compared = [source.plan.suite for source in sources]
                mirror = _Mirror(client, store, results / CELL_CACHE.name, compared, every_run)
                for source in sources:
                    mirror.suite(source, tables)
                # A store of our own mirrors the folder: a suite whose results were removed goes. A shared one may hold
                # suites that lie elsewhere.
                if store.is_own and suites is None and accepted is None:
                    mirror.remove_the_rest()
                mirror.remove_old_layout()
                return SyncReport(**mirror.counts)


class _Mirror:
    """Makes a store equal to records: creates what is missing, replaces what differs, deletes what is left over.

    Parameters
    ----------
    client, store
        The store.
    cells : Path
        Folder of the cells, for the models that some keep.
    suites : sequence of str
        Suites that are compared.
    every_run : bool
        Whether to look at runs whose results did not change.
    """

    def __init__(self, client: MlflowClient, store: Store, cells: Path, suites: Sequence[str], every_run: bool) -> None:
        self.client = client
        self.store = store
        self.cells = cells
        self.suites = suites
        self.every_run = every_run
        self.counts = {"created": 0, "replaced": 0, "unchanged": 0, "deleted": 0}
        self.experiments = {name: self._experiment(name) for name in (CELLS, TABLES)}

    def suite(self, source: SuiteSource, with_tables: bool) -> None:
        """Bring one suite up to date: its cells and its tables, each only where something is new."""
        groups = group_records(source)
        self._update(CELLS, source, {group.key: group.source for group in groups}, partial(self._cells, groups))
        if with_tables:
            tables = table_records(source)
            self._update(TABLES, source, {table.key: table.digest for table in tables}, partial(self._tables, tables))

    def _update(
        self, name: str, source: SuiteSource, digests: dict[str, str], update: Callable[[str], dict[str, Any]]
    ) -> None:
        """Call `update`, which returns the saved view, unless the store says that it holds just these digests."""
        suite, digest = source.plan.suite, digest_of([FORMAT, digests])
        state: str = self.experiments[name].tags.get(STATE_TAG + suite, "")
        origin, n_runs, held, *_ = [*state.split(), "", "", ""]
        if (origin, held) == (source.origin, digest) and not self.every_run:
            self.counts["unchanged"] += int(n_runs)
            return
        # Should this sync be killed now, the next one must look at the runs.
        self._tag(name, STATE_TAG + suite, source.origin)
        before = self._n_live()
        self._tag(name, VIEW_TAG + suite, json.dumps(update(suite)))
        self._tag(name, STATE_TAG + suite, f"{source.origin} {self._n_live() - before} {digest}")

    def _n_live(self) -> int:
        return sum(number for what, number in self.counts.items() if what != "deleted")

    def _cells(self, groups: Sequence[GroupRecord], suite: str) -> dict[str, Any]:
        summaries = self._by_key(CELLS, f"tags.level = '{SUMMARY}' AND tags.suite = '{suite}'")
        known = {group.key: summaries.pop(group.key, []) for group in groups}
        changed = [group for group in groups if self.every_run or not _is_current(group, known[group.key])]
        repeats = None
        if self.every_run or len(changed) > MANY_GROUPS:
            repeats = self._by_key(CELLS, f"tags.level = '{REPEAT}' AND tags.suite = '{suite}'")
        metrics: set[str] = set()
        for group in changed:
            present = known.pop(group.key)
            metrics |= self._group(group, present, self._repeats(group.tags) if repeats is None else repeats)
        for (summary,) in known.values():
            self.counts["unchanged"] += 1 + int(summary.data.tags["repeats"])
            metrics |= summary.data.metrics.keys()
        for runs in (repeats or {}).values() if self.every_run else ():
            self._delete(runs)
        for runs in summaries.values():
            for below in self._repeats(runs[0].data.tags).values():
                self._delete(below)
            self._delete(runs)
        return cells_view(suite, metrics)

    def _tables(self, tables: Sequence[RunRecord], suite: str) -> dict[str, Any]:
        known = self._by_key(TABLES, f"tags.suite = '{suite}'")
        for table in tables:
            self._run(TABLES, table, known.pop(table.key, []))
        for runs in known.values():
            self._delete(runs)
        return tables_view(suite)

    def remove_the_rest(self) -> None:
        """Delete suites without results, but for accepted ones, which have none in the folder."""
        for experiment in self.experiments.values():
            for tag, state in experiment.tags.items():
                suite = tag.removeprefix(STATE_TAG)
                if suite in (tag, *self.suites) or state.startswith(ACCEPTED):
                    continue
                self._delete(self._search(experiment.experiment_id, f"tags.suite = '{suite}'"))
                for each in {tag, VIEW_TAG + suite} & experiment.tags.keys():
                    self.client.delete_experiment_tag(experiment.experiment_id, each)

    def remove_old_layout(self) -> None:
        """Remove what version 0.1.0 left of the compared suites: it had an experiment for each table."""
        key, value = MANAGED_TAG
        for experiment in self.client.search_experiments(filter_string=f"tags.{key} = '{value}'"):
            if experiment.name in self.experiments:
                continue
            for suite in self.suites:
                self._delete(self._search(experiment.experiment_id, f"tags.suite = '{suite}'"))
            if not self.client.search_runs([experiment.experiment_id], max_results=1):
                self.client.delete_experiment(experiment.experiment_id)

    def _experiment(self, name: str) -> Experiment:
        """One of the two experiments, made if it is missing."""
        key, value = MANAGED_TAG
        location = None if self.store.artifact_root is None else f"{self.store.artifact_root}/{name}"
        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            if location is None and not self.store.is_server:
                raise UserError(
                    f"The artifacts of {self.store.shown} have no place yet. Set {ARTIFACTS_VARIABLE} to a folder, or "
                    "an address (s3://bucket/runs), that every machine sees which uses this database."
                )
            tags = {key: value, "mlflow.experimentKind": "custom_model_development"}
            made = self.client.create_experiment(name, artifact_location=location, tags=tags)
            experiment = self.client.get_experiment(made)
        elif experiment.tags.get(key) != value:
            raise UserError(
                f"{self.store.shown} has an experiment '{name}' that is not of cascadeforest. Rename it, or use "
                "another database: MLFLOW_TRACKING_URI."
            )
        elif experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        if location is not None and experiment.artifact_location != location:
            raise UserError(
                f"The artifacts of the experiment '{name}' in {self.store.shown} are in "
                f"{experiment.artifact_location}, not in {location}. MLflow cannot move them. Set "
                f"{ARTIFACTS_VARIABLE}={experiment.artifact_location.rpartition('/')[0]}, or use another database."
            )
        if experiment.tags.get("mlflow.note.content") != DESCRIPTIONS[name]:
            self.client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", DESCRIPTIONS[name])
        return experiment

    def _tag(self, name: str, tag: str, value: str) -> None:
        self.client.set_experiment_tag(self.experiments[name].experiment_id, tag, value)

    def _search(self, experiment_id: str, text: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self.client.search_runs([experiment_id], text, max_results=RUNS_PER_PAGE, page_token=token)
            runs += page
            if not (token := page.token):
                return runs

    def _by_key(self, name: str, text: str) -> dict[str, list[Run]]:
        """Runs by key; several under one key only if somebody restored deleted ones."""
        found: dict[str, list[Run]] = {}
        for run in self._search(self.experiments[name].experiment_id, text):
            if key := run.data.tags.get("run_key"):
                found.setdefault(key, []).append(run)
        return found

    def _repeats(self, tags: dict[str, str]) -> dict[str, list[Run]]:
        """Runs of the repeats of one group."""
        named = " AND ".join(f"tags.{name} = '{tags[name]}'" for name in ("suite", "variant", "model"))
        return self._by_key(CELLS, f"tags.level = '{REPEAT}' AND {named}")

    def _group(self, group: GroupRecord, present: list[Run], repeats: dict[str, list[Run]]) -> set[str]:
        """Make a summary and its repeats; names of the summary's metrics. Runs are taken out of `repeats`."""
        records = group.make()
        parent_id, is_new = "", False
        for record in records[:1]:
            parent_id, is_new = self._begin(CELLS, record, present, {"source_sha": group.source})
            if not is_new:
                # Should this sync be killed now, the next one must look at the repeats again.
                self.client.set_tag(parent_id, "source_sha", "")
        for record in records[1:]:
            self._run(CELLS, record, repeats.pop(record.key, []), {PARENT_TAG: parent_id})
        for key in [key for key in repeats if key.rpartition("/")[0] == group.key]:
            self._delete(repeats.pop(key))
        if not records:
            self._delete(present)
            return set()
        if is_new:
            self._finish(records[0], parent_id)
        else:
            self.client.set_tag(parent_id, "source_sha", group.source)
        return {name for name, _, _ in records[0].metrics}

    def _run(self, name: str, record: RunRecord, present: Sequence[Run], added: Mapping[str, str] = NO_TAGS) -> None:
        """Make one run as the record says."""
        run_id, is_new = self._begin(name, record, present, added)
        if is_new:
            self._finish(record, run_id)

    def _begin(
        self, name: str, record: RunRecord, present: Sequence[Run], added: Mapping[str, str] = NO_TAGS
    ) -> tuple[str, bool]:
        """Find the run that is as the record says, or log one that is not finished yet; its id, whether it is new.

        What the tags `added` say is not part of the record.
        """
        current = [
            run
            for run in present
            if run.info.status == record.status and run.data.tags.get("result_sha") == record.digest
        ][:1]
        outdated = [run for run in present if run not in current]
        if current:
            self._delete(outdated)
            self.counts["unchanged"] += 1
            run = current[0]
            # The summary may be a new run, because another repeat changed.
            if PARENT_TAG in added and run.data.tags.get(PARENT_TAG) != added[PARENT_TAG]:
                self.client.set_tag(run.info.run_id, PARENT_TAG, added[PARENT_TAG])
            return run.info.run_id, False
        # Parameters are immutable and a killed sync leaves a part: replace, never patch.
        for run in outdated:
            self.client.delete_run(run.info.run_id)
        self.counts["replaced" if outdated else "created"] += 1
        return self._log(self.experiments[name].experiment_id, record, added), True

    def _log(self, experiment_id: str, record: RunRecord, added: Mapping[str, str]) -> str:
        from mlflow.entities import Metric, Param
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        tags = {
            **record.tags,
            **added,
            "run_key": record.key,
            "result_sha": record.digest,
            "mlflow.source.name": "cascadeforest",
            "mlflow.source.type": "PROJECT",
            "mlflow.user": "cascadeforest",
        }
        if "git_commit" in record.tags:
            tags["mlflow.source.git.commit"] = record.tags["git_commit"]
        run = self.client.create_run(experiment_id, record.start_ms, tags, record.name)
        run_id = run.info.run_id
        metrics = [Metric(name, value, record.end_ms, step) for name, value, step in record.metrics]
        params = [Param(name, value) for name, value in record.params.items()]
        # One call for nearly every run; a long curve or a long list of parameters needs more.
        while metrics or params:
            self.client.log_batch(run_id, metrics=metrics[:METRICS_PER_BATCH], params=params[:PARAMS_PER_BATCH])
            metrics, params = metrics[METRICS_PER_BATCH:], params[PARAMS_PER_BATCH:]
        if record.inputs:
            self.client.log_inputs(run_id, [_mlflow_input(part) for part in record.inputs])
        if record.artifacts or record.model:
            with tempfile.TemporaryDirectory() as folder:
                for path, content in record.artifacts.items():
                    target = Path(folder, path)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                if record.model is not None:
                    _write_model(Path(folder, "model"), read_arrays(self.cells, record.model))
                # client.log_artifacts would read the whole run again to learn this address: a fifth of the time.
                get_artifact_repository(run.info.artifact_uri, self.client.tracking_uri).log_artifacts(folder)
        if record.table is not None:
            self._log_table(run_id, record.table, record.tags["table"])
        return run_id

    def _log_table(self, run_id: str, table: bytes, name: str) -> None:
        import pandas as pd

        frame = pd.read_csv(io.BytesIO(table)).astype(object)
        # An empty field would show as 'null'.
        self.client.log_table(run_id, frame.where(frame.notna(), ""), f"{name}.json")

    def _finish(self, record: RunRecord, run_id: str) -> None:
        # Last: an interrupted run is left as running.
        self.client.set_terminated(run_id, record.status, record.end_ms)

    def _delete(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self.client.delete_run(run.info.run_id)
            self.counts["deleted"] += 1


def _is_current(group: GroupRecord, summaries: Sequence[Run]) -> bool:
    """Whether the summary in the store says that it and its repeats were made from these files."""
    ended = [run for run in summaries if run.info.status != "RUNNING"]
    return len(summaries) == len(ended) == 1 and ended[0].data.tags.get("source_sha") == group.source


def _write_model(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model in MLflow's format: what a cell kept, and `cascadeforest.load` as its loader; no pickle."""
    from mlflow import pyfunc
    from mlflow.models import infer_signature

    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "saved.model")
        arrays["file"].tofile(file)
        pyfunc.save_model(
            folder,
            loader_module="cascadeforest.saving",
            data_path=file,
            signature=infer_signature(arrays["rows"], arrays["predicted"]),
            input_example=arrays["rows"],
            pip_requirements=[f"cascadeforest=={__version__}"],
        )


def _mlflow_input(part: DataInput) -> DatasetInput:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    profile = {"num_rows": part.rows} | ({} if part.features is None else {"num_features": part.features})
    dataset = Dataset(
        name=part.name,
        digest=part.digest,
        source_type="local",
        source=json.dumps({"uri": part.source}),
        schema=_schema(part),
        profile=json.dumps(profile),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", part.context)])


def _schema(part: DataInput) -> str | None:
    """What a model sees of the data, as MLflow writes the schema of arrays."""
    from mlflow.types.schema import Schema, TensorSpec

    if part.features is None or part.target is None:
        return None
    import numpy as np

    features = Schema([TensorSpec(np.dtype("float32"), (-1, part.features))])
    targets = Schema([TensorSpec(np.dtype(part.target), (-1,))])
    return json.dumps({"mlflow_tensorspec": {"features": features.to_json(), "targets": targets.to_json()}})


def _suites_with_results(results: Path) -> list[str]:
    return sorted(path.parent.name for path in results.glob("*/plan.json"))


def _choose_suites(results: Path, suites: Sequence[str] | None) -> list[str]:
    """The suites to compare, each of which must have a plan beside its results."""
    present = _suites_with_results(results)
    if not present:
        raise UserError(f"{results}: no suite has results here (<suite>/plan.json). Run `make run` first.")
    for suite in suites or ():
        if suite not in present:
            raise UserError(
                f"{results / suite / 'plan.json'}: the suite '{suite}' has no results; there are some of "
                f"{', '.join(present)}. Run `make run SUITE={suite}` first."
            )
    return present if suites is None else list(dict.fromkeys(suites))
