"""Read, check and resolve the configuration into the plan of one suite, before anything runs."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from cascadeforest._public import HOME
from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.data.registry import availability, load_dataset_files, parse_variant
from cascadeforest.data.schemas import read_schema, validate
from cascadeforest.data.typed_json import Json, from_json
from cascadeforest.experiments.batches import expected_costs, expected_seconds, make_batches, read_costs, training_rows
from cascadeforest.experiments.code_digest import PACKAGE_FOLDER, defines, module_file
from cascadeforest.experiments.designs import design_of
from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.importance_rules import RULES
from cascadeforest.experiments.metrics import MEMORY_METRICS, METRICS
from cascadeforest.experiments.plan import (
    CLAIMS,
    NOT_IMPLEMENTED,
    Bound,
    Budget,
    Experiment,
    Marks,
    Pair,
    Paper,
    Plan,
    Run,
    Status,
    Suite,
    Timing,
)

#: Parameter of a model that names another one, which it trains.
LEARNER = "learner"
#: Field of the budget that bounds a parameter of this name. The key `bounded_as` of a model can say otherwise.
BOUNDED_AS = {
    "n_estimators": "trees",
    "search_estimators": "trees",
    "max_iter": "epochs",
    "max_layers": "layers",
    "search_layers": "layers",
}
RENDERERS = PACKAGE_FOLDER / "reports" / "drawing" / "renderers"
#: Renderers that show columns of fewer repeats beside others.
WITH_FEWER_REPEATS = ("scores", "pairs", "imbalance_curves", "screening_curves")


@dataclass(frozen=True)
class ModelEntry:
    """An entry of ``config/models.yaml`` with what it takes over from its base; the schema describes the fields.

    `budget` bounds its parameters. The suite's, unless the entry is one that a table with its own budget made.
    """

    label: str
    estimator: dict[str, str]
    params: dict[str, Json] = field(default_factory=dict)
    dataset_params: dict[str, dict[str, Json]] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    seed_shift: int = 0
    paper: str | None = None
    bounded_as: dict[str, str] = field(default_factory=dict)
    budget: Budget | None = None


@dataclass(frozen=True)
class TimingsEntry:
    """The key `timings` of an experiment; the schema describes the fields."""

    against: str
    datasets: dict[str, tuple[str, ...]]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentEntry:
    """An entry of ``config/experiments/<paper>.yaml``; the schema describes the fields."""

    title: str
    kind: str
    render: str
    datasets: dict[str, tuple[str, ...]]
    metrics: tuple[str, ...] = ()
    models: dict[str, str] = field(default_factory=dict)
    extras: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    extra_repeats: dict[str, int] = field(default_factory=dict)
    repeats: int | dict[str, int] | None = None  # of every suite, or by suite
    marks: Marks = "none"
    win_tie_lose: str | None = None
    references: tuple[str, ...] = ()
    average_rank: tuple[str, ...] | None = None
    rank_columns: tuple[str, ...] | None = None
    takes_own: bool = False
    timings: TimingsEntry | None = None
    options: dict[str, Json] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The content of ``config/``, read and checked against its schemas, with the overrides of the command line.

    Parameters
    ----------
    suite : str
        The chosen suite.
    suites : dict
        Name to `Suite`.
    models : dict
        Name to `ModelEntry`, bases resolved.
    datasets : dict
        Name to the content of its data set file.
    papers : dict
        Key to `Paper`.
    experiments : dict
        File name to the experiments that it declares.
    own_datasets, own_models : tuple of str
        The user's own, for experiments that take them.
    job_seconds : float
        Aim for the duration of a training job.
    seed : int
        Part of every seed.
    """

    suite: str
    suites: dict[str, Suite]
    models: dict[str, ModelEntry]
    datasets: dict[str, dict[str, Json]]
    papers: dict[str, Paper]
    experiments: dict[str, dict[str, ExperimentEntry]]
    own_datasets: tuple[str, ...] = ()
    own_models: tuple[str, ...] = ()
    job_seconds: float = 60
    seed: int = 0


def read_configuration(root: Path, overrides: Mapping[str, Json] | None = None) -> Configuration:
    """Read ``config/`` and check each file against its schema.

    Parameters
    ----------
    root : Path
        Folder that holds ``config/`` and ``workflow/schemas/``.
    overrides : mapping, optional
        Keys that replace those of ``config/config.yaml`` (Snakemake's ``--config``).

    Raises
    ------
    ConfigError
        Naming file, key, value and what is allowed.
    """
    folder, schemas = root / "config", root / "workflow" / "schemas"

    def checked(name: str, schema: str, also: Mapping[str, Json] | None = None) -> dict[str, Json]:
        content = read_yaml(folder / name)
        if not isinstance(content, Mapping):
            raise ConfigError(f"config/{name}: this is no mapping of keys to values. Take the file from git again.")
        content = {**content, **(also or {})}
        validate(content, read_schema(schemas / f"{schema}.schema.yaml"), f"config/{name}")
        return content

    config = checked("config.yaml", "config", overrides)
    models = checked("models.yaml", "models")
    place = "config/config.yaml"
    return Configuration(
        suite=from_json(str, config["suite"], f"{place}: suite"),
        suites=from_json(dict[str, Suite], config["suites"], f"{place}: suites"),
        models={name: _resolve_base(name, models) for name in models},
        datasets=load_dataset_files(folder / "datasets"),
        papers=from_json(dict[str, Paper], checked("papers.yaml", "papers"), "config/papers.yaml"),
        experiments={
            path.stem: from_json(
                dict[str, ExperimentEntry],
                checked(f"experiments/{path.name}", "experiments"),
                f"config/experiments/{path.name}",
            )
            for path in sorted((folder / "experiments").glob("[!.]*.yaml"))
        },
        own_datasets=from_json(tuple[str, ...], config.get("own_datasets", []), f"{place}: own_datasets"),
        own_models=from_json(tuple[str, ...], config.get("own_models", []), f"{place}: own_models"),
        job_seconds=from_json(float, config.get("job_seconds", 60), f"{place}: job_seconds"),
        seed=from_json(int, config.get("seed", 0), f"{place}: seed"),
    )


def load_plan(root: Path, overrides: Mapping[str, Json] | None = None) -> Plan:
    """Read, check and resolve the configuration: `resolve_plan` of `read_configuration`."""
    return resolve_plan(read_configuration(root, overrides), root)


def resolve_plan(configuration: Configuration, root: Path) -> Plan:
    """Work out the experiments and runs of the chosen suite.

    Parameters
    ----------
    configuration : Configuration
        What ``config/`` says.
    root : Path
        Folder of the repository, where data sets of the user's own are looked for.

    Raises
    ------
    ConfigError
        Naming file, key, value and what is allowed.
    """
    place = "config/config.yaml"
    _choose(f"{place}: suite", configuration.suite, configuration.suites)
    resolver = _Resolver(configuration, root)
    for name in configuration.own_datasets:  # may be named with a variant
        _choose(f"{place}: own_datasets", parse_variant(name)[0], configuration.datasets)
    for name in configuration.own_models:
        _choose(f"{place}: own_models", name, configuration.models)
        check_model(name, configuration.models[name])
    experiments: dict[str, Experiment] = {}
    entries_of: dict[str, ExperimentEntry] = {}
    for paper, entries in configuration.experiments.items():
        for name, entry in entries.items():
            where = f"config/experiments/{paper}.yaml"
            if name in experiments:
                raise ConfigError(f"{where}: the experiment '{name}' is declared twice. Rename one of the two.")
            experiments[name] = resolver.experiment(name, paper, entry, where)
            entries_of[name] = entry
    runs = resolver.runs(experiments.values())
    timings = [timing for name, one in experiments.items() for timing in resolver.timings(one, entries_of[name])]
    costs = expected_costs(
        [*runs, *(run for timing in timings for run in timing.runs)],
        read_costs(root),
        training_rows(configuration.datasets),
    )
    return Plan(
        suite=configuration.suite,
        suite_config=configuration.suites[configuration.suite],
        experiments=experiments,
        runs=runs,
        papers=configuration.papers,
        batches=make_batches(runs, costs, configuration.job_seconds),
        timings=tuple(dataclasses.replace(timing, seconds=expected_seconds(timing, costs)) for timing in timings),
        seed=configuration.seed,
    )


def check_model(name: str, entry: ModelEntry) -> None:
    """Raise a `ConfigError` if a model's classes cannot be imported, or do not take its parameters.

    Parameters
    ----------
    name : str
        Of the entry of ``config/models.yaml``.
    entry : ModelEntry
        The entry. Its modules are imported, which for scikit-learn takes a second.
    """
    place = f"config/models.yaml: {name}"
    for target in entry.estimator.values():
        module, _, cls = target.partition(":")
        try:
            constructor = getattr(importlib.import_module(module), cls)
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"{place}/estimator is '{target}', which cannot be imported ({error}). Check the name, or install the "
                "package that holds it."
            ) from error
        known = inspect.signature(constructor).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
            continue
        given = [*entry.params, *(parameter for params in entry.dataset_params.values() for parameter in params)]
        for parameter in given:
            if parameter != LEARNER:
                _choose(f"{place}/params", parameter, known)


class _Resolver:
    """Turns entries of the configuration into experiments and runs, for one suite."""

    def __init__(self, configuration: Configuration, root: Path) -> None:
        self.configuration = configuration
        self.suite = configuration.suite
        self.settings = configuration.suites[configuration.suite]
        self.models = dict(configuration.models)
        self.datasets = configuration.datasets
        self.availability = {name: availability(row, root) for name, row in self.datasets.items()}
        self._check_budget()
        for name in self.models:
            self._check_model(name)

    def _check_budget(self) -> None:
        place = f"config/config.yaml: suites/{self.suite}"
        for name in self.settings.unavailable:
            _choose(f"{place}/unavailable", name, self.datasets)
        experiments = [name for entries in self.configuration.experiments.values() for name in entries]
        for name in self.settings.dataset_repeats:
            experiment, _, variant = name.rpartition(":")
            self._base(variant, f"{place}/dataset_repeats")
            if experiment:
                _choose(f"{place}/dataset_repeats", experiment, experiments)
        entries = {name: entry for own in self.configuration.experiments.values() for name, entry in own.items()}
        for name, most in self.settings.column_repeats.items():
            experiment, _, variant = name.partition(":")
            _choose(f"{place}/column_repeats", experiment, experiments)
            if variant:
                _choose(f"{place}/column_repeats", variant, entries[experiment].datasets.get(self.suite, ()))
            for column in most:
                _choose(f"{place}/column_repeats/{name}", column, entries[experiment].models)
        declared = [name for paper, entries in self.configuration.experiments.items() for name in (paper, *entries)]
        for name in self.settings.table_budgets:
            _choose(f"{place}/table_budgets", name, declared)
        for name, rows in self.settings.model_budgets.items():
            _choose(f"{place}/model_budgets", name, self.models)
            for dataset, changes in rows.items():
                _choose(f"{place}/model_budgets/{name}", dataset, self.datasets)
                for kind in changes:
                    _choose(f"{place}/model_budgets/{name}/{dataset}", kind, self._kinds(name).values())

    def _check_model(self, name: str) -> None:
        entry = self.models[name]
        for dataset in entry.dataset_params:
            _choose(f"config/models.yaml: {name}/dataset_params", dataset, self.datasets)
        if entry.paper is not None:
            _choose(f"config/models.yaml: {name}/paper", entry.paper, self.configuration.papers)
        learner = self._learner(name)
        if learner is None:
            return
        place = f"config/models.yaml: {name}/params/{LEARNER}"
        _choose(place, learner, self.models)
        if "classification" not in self.models[learner].estimator:
            raise ConfigError(f"{place} is '{learner}', which has no estimator for classification. Name a classifier.")
        if self._learner(learner) is not None:
            raise ConfigError(f"{place} is '{learner}', which has a learner itself. Name a model without one.")

    def _learner(self, preset: str) -> str | None:
        """The entry that a model trains inside itself."""
        return cast("str | None", self.models[preset].params.get(LEARNER))

    def _task(self, variant: str) -> str:
        return cast(str, self.datasets[parse_variant(variant)[0]]["task"])

    def experiment(self, name: str, paper: str, entry: ExperimentEntry, file: str) -> Experiment:
        """One experiment of the suite."""
        place, columns, variants = f"{file}: {name}", dict(entry.models), list(entry.datasets.get(self.suite, ()))
        for column, preset in columns.items():
            _choose(f"{place}/models/{column}", preset, self.models)
        for metric in entry.metrics:
            _choose(f"{place}/metrics", metric, METRICS)
        by_suite: dict[str, Iterable[str]] = {
            "datasets": entry.datasets,
            "repeats": entry.repeats if isinstance(entry.repeats, dict) else {},
        }
        for key, suites in by_suite.items():
            for given in suites:
                _choose(f"{place}/{key}", given, self.configuration.suites)
        named = {"references": entry.references, "rank_columns": entry.rank_columns or ()}
        for key, chosen in (named | {"win_tie_lose": (entry.win_tie_lose,) if entry.win_tie_lose else ()}).items():
            for column in chosen:
                _choose(f"{place}/{key}", column, columns)
        if entry.takes_own:
            variants += [own for own in self.configuration.own_datasets if own not in variants]
            columns |= {own: own for own in self.configuration.own_models}
        tables = self.settings.table_budgets
        if changes := tables.get(paper, {}) | tables.get(name, {}):
            columns = {column: self._within(preset, changes) for column, preset in columns.items()}
        bases = {variant: self._base(variant, f"{place}/datasets/{self.suite}") for variant in variants}
        missing = {column: NOT_IMPLEMENTED for column, preset in columns.items() if not self._implemented(preset)}
        self._check_tasks(place, columns, variants)
        status, reason = self._status(entry, columns, missing, variants, place)
        return Experiment(
            id=name,
            paper=paper,
            kind=entry.kind,
            title=entry.title,
            render=entry.render,
            status=status,
            reason=reason,
            metrics=entry.metrics,
            columns=columns,
            labels={column: self.models[preset].label for column, preset in columns.items()},
            libraries={column: self._libraries(preset) for column, preset in columns.items()},
            datasets=tuple(variants),
            published_as={v: cast(str, self.datasets[base].get("published_as", base)) for v, base in bases.items()},
            repeats=(repeats := {v: self._repeats(entry, base, self._bound(name, v)) for v, base in bases.items()}),
            all_repeats={v: self._repeats(entry, base, None) for v, base in bases.items()},
            fewer_repeats=self._fewer_repeats(name, entry, repeats),
            absent={variant: absence for variant, base in bases.items() if (absence := self._absence(base))},
            missing_models=missing,
            extras=(extras := self._extras(entry, columns, place)),
            extra_repeats=self._extra_repeats(entry, extras, place),
            designs={variant: design_of(variant, self.datasets[base]) for variant, base in bases.items()},
            bounds={
                column: {variant: self._bounds(preset, base) for variant, base in bases.items()}
                for column, preset in columns.items()
            },
            marks=entry.marks,
            win_tie_lose=entry.win_tie_lose,
            references=entry.references,
            average_rank=entry.average_rank,
            rank_columns=entry.rank_columns,
            options=entry.options,
            deviations=(*entry.deviations, *self._model_deviations(columns)),
        )

    def runs(self, experiments: Iterable[Experiment]) -> tuple[Run, ...]:
        """The jobs: a pair that several experiments show gets the most repeats and all extras that they ask for.

        If the suite keeps models, the first run of each of our estimators does so.
        """
        runs: dict[Pair, Run] = {}
        saved: dict[Pair, dict[str, int]] = {}
        for experiment in experiments:
            for variant, preset in experiment.needed_runs():
                before, task = runs.get((variant, preset)), self._task(variant)
                repeats = max(experiment.n_repeats(variant, preset), len(before.repeats) if before else 0)
                own = saved.setdefault((variant, preset), {})
                for extra in experiment.needed_extras(preset):
                    own[extra] = max(experiment.repeats_with(extra, variant), own.get(extra, 0))
                memory = not MEMORY_METRICS.isdisjoint(experiment.metrics) or (before is not None and before.memory)
                runs[variant, preset] = Run(
                    suite=self.suite,
                    dataset=variant,
                    model=preset,
                    task=task,
                    estimator=self.models[preset].estimator[task],
                    params=self._params(preset, parse_variant(variant)[0]),
                    repeats=tuple(range(repeats)),
                    extras=tuple(sorted(own)),
                    extra_repeats={extra: n for extra, n in sorted(own.items()) if n < repeats},
                    libraries=self._libraries(preset),
                    seed=self.configuration.seed + self.models[preset].seed_shift,
                    memory=memory,
                    seed_shift=self.models[preset].seed_shift,
                )
        if self.settings.keep_models:
            first = {run.estimator: run for run in reversed(runs.values()) if _savable(run)}
            runs |= {run.pair: dataclasses.replace(run, keeps_model=True) for run in first.values()}
        return tuple(runs.values())

    def timings(self, experiment: Experiment, entry: ExperimentEntry) -> Iterable[Timing]:
        """What the experiment has timed in turn: a `Timing` for each data set that the suite names and can have."""
        if entry.timings is None or not experiment.is_implemented:
            return
        place, given = f"{experiment.place}/timings", entry.timings
        for suite in given.datasets:
            _choose(f"{place}/datasets", suite, self.configuration.suites)
        for column in (given.against, *given.columns):
            _choose(place, column, experiment.columns)
        columns = tuple(
            c for c in experiment.shown_columns() if not given.columns or c in (given.against, *given.columns)
        )
        if given.against not in columns:
            return
        for variant in given.datasets.get(self.suite, ()):
            base = self._base(variant, f"{place}/datasets/{self.suite}")
            if self._absence(base):
                continue
            self._check_tasks(place, {column: experiment.columns[column] for column in columns}, [variant])
            protocol = cast("dict[str, int]", self.datasets[base]["protocol"])
            n = protocol["folds" if cast(str, protocol["kind"]) == "cv" else "repeats"]
            yield Timing(
                experiment=experiment.id,
                dataset=variant,
                base=cast(str, self.datasets[base].get("published_as", base)),
                columns=columns,
                runs=tuple(self._timed_run(experiment, variant, base, column) for column in columns),
                against=given.against,
                repeats=tuple(k % n for k in range(self.settings.timing_rounds)),
            )

    def _timed_run(self, experiment: Experiment, variant: str, base: str, column: str) -> Run:
        preset, task = experiment.columns[column], self._task(variant)
        return Run(
            suite=self.suite,
            dataset=variant,
            model=preset,
            task=task,
            estimator=self.models[preset].estimator[task],
            params=self._params(preset, base),
            repeats=(),
            extras=tuple(extra for extra in experiment.extras.get(column, ()) if extra in RULES),
            libraries=self._libraries(preset),
            seed=self.configuration.seed + self.models[preset].seed_shift,
            memory=False,
            seed_shift=self.models[preset].seed_shift,
        )

    def _check_tasks(self, place: str, columns: Mapping[str, str], variants: Iterable[str]) -> None:
        for variant in variants:
            task = self._task(variant)
            for column, preset in columns.items():
                if task in self.models[preset].estimator:
                    continue
                if variant in self.configuration.own_datasets:
                    raise ConfigError(
                        f"config/config.yaml: own_datasets: '{variant}' is a {task}, and {place.partition(': ')[2]} "
                        "compares classifiers. Take it out, or declare an experiment of your own for it in "
                        "config/experiments."
                    )
                raise ConfigError(
                    f"{place}: the model '{preset}' (column {column}) has no estimator for {task}, "
                    f"the task of '{variant}'. Take one of the two out, or add estimator/{task} to the model."
                )

    def _extras(self, entry: ExperimentEntry, columns: Mapping[str, str], place: str) -> dict[str, tuple[str, ...]]:
        """Full names of the extras of each column: the same for all, or by column in the configuration."""
        of = entry.extras if isinstance(entry.extras, dict) else dict.fromkeys(columns, entry.extras)
        for column in of:
            _choose(f"{place}/extras", column, columns)
        return {column: tuple(extra_name(e, entry.options, place) for e in of.get(column, ())) for column in columns}

    def _extra_repeats(
        self, entry: ExperimentEntry, extras: Mapping[str, tuple[str, ...]], place: str
    ) -> dict[str, int]:
        known = {extra for own in extras.values() for extra in own}
        found = {extra_name(extra, entry.options, place): n for extra, n in entry.extra_repeats.items()}
        for extra in found:
            _choose(f"{place}/extra_repeats", extra, known)
        return found

    def _base(self, variant: str, place: str) -> str:
        try:
            base = parse_variant(variant)[0]
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from error
        _choose(place, base, self.datasets)
        return base

    def _absence(self, base: str) -> str | None:
        return self.settings.unavailable.get(base) or self.availability[base]

    def _implemented(self, preset: str) -> bool:
        learner = self._learner(preset)
        if learner and not self._implemented(learner):
            return False
        for target in self.models[preset].estimator.values():
            module, _, name = target.partition(":")
            if defines(target):
                continue
            if module_file(module):
                raise ConfigError(
                    f"config/models.yaml: {preset}/estimator is '{target}', but the module {module} defines no {name}. "
                    "Check the name."
                )
            return False
        return True

    def _status(
        self,
        entry: ExperimentEntry,
        columns: Mapping[str, str],
        missing: Mapping[str, str],
        variants: list[str],
        place: str,
    ) -> tuple[Status, str]:
        reasons = []
        if not renderer_exists(entry.render):
            written = sorted(path.stem for path in RENDERERS.glob("[a-z]*.py"))
            if close := difflib.get_close_matches(entry.render, written, n=1, cutoff=0.8):
                raise ConfigError(f"{place}: render is '{entry.render}'. Did you mean '{close[0]}'?")
            reasons.append(f"the renderer '{entry.render}' is not written yet")
        if missing:
            reasons.append(f"models not written yet: {', '.join(missing)}")
        if not renderer_exists(entry.render) or (columns and len(missing) == len(columns)):
            return NOT_IMPLEMENTED, "; ".join(reasons)
        if not variants and entry.kind != CLAIMS:
            return NOT_IMPLEMENTED, f"{place} names no data set for the suite {self.suite}"
        return ("partial" if missing else "ready"), "; ".join(reasons)

    def _bound(self, experiment: str, variant: str) -> int | None:
        """The largest number of repeats that the suite allows on a row of an experiment."""
        given = self.settings.dataset_repeats
        return given.get(f"{experiment}:{variant}", given.get(variant, self.settings.repeats))

    def _fewer_repeats(
        self, experiment: str, entry: ExperimentEntry, repeats: Mapping[str, int]
    ) -> dict[str, dict[str, int]]:
        """Row to the presets of an experiment that the suite gives fewer repeats there than the others."""
        given, found = self.settings.column_repeats, dict[str, dict[str, int]]()
        in_ranks = () if entry.average_rank is None else entry.rank_columns or entry.models
        ranked = {entry.models[column] for column in in_ranks}
        for row, every in repeats.items():
            name = f"{experiment}:{row}" if f"{experiment}:{row}" in given else experiment
            place, most = f"config/config.yaml: suites/{self.suite}/column_repeats/{name}", given.get(name, {})
            if most and entry.render not in WITH_FEWER_REPEATS:
                raise ConfigError(f"{place}: only {', '.join(WITH_FEWER_REPEATS)} can have these.")
            for column in most:
                if entry.models[column] in ranked:
                    raise ConfigError(f"{place}/{column}: the table ranks this column, so that it needs all.")
                options = cast("dict[str, dict[str, str] | None]", entry.options)
                others = map(options.get, ("screening", "against", "ratio_of"))
                pairs = ((options.get("differences") or {}).get("to"), *(options.get("equal_trees") or {}).values())
                compared = (*entry.references, entry.win_tie_lose, *others, *pairs)
                if not most[column] and column in compared:
                    raise ConfigError(f"{place}/{column} is 0, but the table compares others with this column.")
            if most and cast("dict[str, Json]", self.datasets[self._base(row, place)]["protocol"]).get("splits"):
                raise ConfigError(f"{place}: repeats of {row} share splits, so that each model needs all of them.")
            if own := {entry.models[column]: n for column, n in most.items() if n < every}:
                found[row] = own
        return found

    def _repeats(self, entry: ExperimentEntry, base: str, bound: int | None) -> int:
        protocol = cast("dict[str, int]", self.datasets[base]["protocol"])
        # Under cross-validation a repeat is a fold: there are no more of them.
        folds = protocol["folds"] if cast(str, protocol["kind"]) == "cv" else None
        own = entry.repeats.get(self.suite) if isinstance(entry.repeats, dict) else entry.repeats
        wanted = protocol.get("repeats", folds) if own is None else own
        return min(number for number in (wanted, folds, bound) if number is not None)

    def _settings(self, preset: str, base: str) -> dict[str, Json]:
        """Parameters of a model on a data set, without the budget's bounds."""
        return self.models[preset].params | self.models[preset].dataset_params.get(base, {})

    def _kinds(self, preset: str) -> dict[str, str]:
        """What a budget bounds among the parameters of a model, by their names."""
        entry = self.models[preset]
        return {name: kind for name, kind in (BOUNDED_AS | entry.bounded_as).items() if name in entry.params}

    def _within(self, preset: str, changes: Mapping[str, Json]) -> str:
        """The model with the budget of one table, under a name that says it if the budget concerns the model."""
        learner = self._learner(preset)
        kinds = {*self._kinds(preset).values(), *(self._kinds(learner).values() if learner else ())}
        changes = {kind: value for kind, value in changes.items() if kind in kinds}
        name = "+".join([preset, *(f"{kind}-{'all' if value is None else value}" for kind, value in changes.items())])
        budget = dataclasses.replace(self.settings.budget, **cast("dict[str, int]", changes))
        self.models[name] = dataclasses.replace(self.models[preset], budget=budget)
        return name

    def _own_bounds(self, preset: str, base: str, budget: Budget) -> dict[str, Bound]:
        """Parameters that the budget bounds, without those of a learner inside."""
        kinds, bounds = self._kinds(preset), {}
        changes = self.settings.model_budgets.get(preset.partition("+")[0], {}).get(base, {})
        budget = dataclasses.replace(budget, **cast("dict[str, int]", changes))
        for parameter, value in self._settings(preset, base).items():
            if parameter in kinds and isinstance(value, int | float):
                here = budget.bounded(kinds[parameter], value)
                if here != value:
                    bounds[parameter] = Bound(here, value)
        return bounds

    def _bounds(self, preset: str, base: str) -> dict[str, Bound]:
        """Parameters that the budget bounds, of the model and of a learner inside."""
        learner, budget = self._learner(preset), self.models[preset].budget or self.settings.budget
        inside = self._own_bounds(learner, base, budget) if learner else {}
        own = self._own_bounds(preset, base, budget)
        return own | {f"{LEARNER}__{name}": bound for name, bound in inside.items()}

    def _params(self, preset: str, base: str, budget: Budget | None = None) -> dict[str, Json]:
        """Parameters of a model on a data set, the budget's bounds applied: by default of the model's own budget."""
        budget = budget or self.models[preset].budget or self.settings.budget
        bounds = self._own_bounds(preset, base, budget)
        params = self._settings(preset, base) | {name: bound.here for name, bound in bounds.items()}
        if learner := self._learner(preset):
            params[LEARNER] = {
                "estimator": self.models[learner].estimator["classification"],
                "params": self._params(learner, base, budget),
            }
        shape = cast("list[int] | None", self.datasets[base].get("shape"))
        if shape and params.get("scanning"):  # it must know what shape the rows have
            params["input_shape"] = list(shape)
        return params

    def _libraries(self, preset: str) -> tuple[str, ...]:
        learner = self._learner(preset)
        inside = self._libraries(learner) if learner else ()
        return tuple(dict.fromkeys([*self.models[preset].libraries, *inside]))

    def _model_deviations(self, columns: Mapping[str, str]) -> list[str]:
        """What the models' entries say of themselves, one sentence for all models that say the same."""
        labels: dict[str, list[str]] = {}
        for preset in dict.fromkeys(columns.values()):
            for sentence in self.models[preset].deviations:
                labels.setdefault(sentence, []).append(self.models[preset].label)
        return [f"{', '.join(dict.fromkeys(names))}: {sentence}" for sentence, names in labels.items()]


def _savable(run: Run) -> bool:
    """Whether `cascadeforest.save` takes the models of a run: a learner inside must be ours too."""
    learner = cast("dict[str, str] | None", run.params.get(LEARNER))
    targets = [run.estimator, *([learner["estimator"]] if learner else [])]
    return all(HOME.get(name) == module for module, _, name in (target.partition(":") for target in targets))


def renderer_exists(name: str) -> bool:
    """Whether there is a module that draws experiments of this kind."""
    return (RENDERERS / f"{name}.py").is_file()


def _resolve_base(name: str, models: Mapping[str, Json], seen: tuple[str, ...] = ()) -> ModelEntry:
    """An entry with what it takes over from its bases."""
    row = dict(cast("Mapping[str, Json]", models[name]))
    base = cast("str | None", row.pop("base", None))
    place = f"config/models.yaml: {name}"
    if base is None:
        return from_json(ModelEntry, row, place)
    _choose(f"{place}/base", base, models)
    if base in (*seen, name):
        raise ConfigError(f"{place}/base is '{base}', which is based on {name} itself. Break the circle.")
    inherited = _resolve_base(base, models, (*seen, name))
    given = from_json(ModelEntry, {"label": inherited.label, "estimator": dict(inherited.estimator)} | row, place)
    by_dataset = dict(inherited.dataset_params)
    for dataset, params in given.dataset_params.items():
        by_dataset[dataset] = by_dataset.get(dataset, {}) | params
    replaced = {key: getattr(given, key) for key in row if key not in ("params", "dataset_params")}
    return dataclasses.replace(inherited, **replaced, params=inherited.params | given.params, dataset_params=by_dataset)


def _choose(place: str, value: str, allowed: Iterable[str]) -> None:
    """Raise an error that names place, value and what is allowed, unless `value` is."""
    allowed = list(allowed)
    if value in allowed:
        return
    close = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise ConfigError(f"{place} is '{value}'; choose one of {', '.join(allowed) or '(none is defined)'}.{hint}")
