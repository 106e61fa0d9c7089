"""The plan: what the configuration asks for, checked and resolved, before anything runs.

The workflow, the command lines and the report all read the same plan. It is plain data: written as JSON beside the
results, it lets a stored report be drawn again without the configuration.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.data.registry import availability, load_dataset_files, parse_variant
from cascadeforest.data.schemas import read_schema, validate
from cascadeforest.experiments.code_digest import PACKAGE_FOLDER, defines, module_file
from cascadeforest.experiments.extras import extra_name
from cascadeforest.experiments.metrics import METRICS

NOT_IMPLEMENTED = "not implemented"
#: Parameter of a model that names another one, which it trains.
LEARNER = "learner"
RENDERERS = PACKAGE_FOLDER / "reports" / "renderers"


@dataclass(frozen=True)
class RunSpec:
    """One job: all repeats of one model preset on one data set variant.

    Parameters
    ----------
    suite, dataset, model : str
        Names; `model` is the preset of ``config/models.yaml``.
    task : str
        ``classification`` or ``regression``.
    estimator : str
        ``"package.module:Class"``.
    params : dict
        Constructor parameters, the suite's bounds applied.
    repeats : int
        Number of repeats.
    extras : tuple of str
        What each cell saves beyond metrics.
    libraries : tuple of str
        Packages whose version decides the numbers.
    """

    suite: str
    dataset: str
    model: str
    task: str
    estimator: str
    params: dict[str, Any]
    repeats: int
    extras: tuple[str, ...]
    libraries: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As JSON; `repeats` becomes the list of their numbers."""
        return dataclasses.asdict(self) | {
            "repeats": list(range(self.repeats)),
            "extras": list(self.extras),
            "libraries": list(self.libraries),
        }


@dataclass(frozen=True)
class Experiment:
    """One table, figure or list of claims in the chosen suite.

    Parameters
    ----------
    id, paper, kind, title, render : str
        As in ``config/experiments/<paper>.yaml``.
    metrics : tuple of str
        Metrics shown.
    columns : dict
        Column name to model preset.
    labels : dict
        Column name to words for the table's head.
    libraries : dict
        Column name to the foreign packages that compute its numbers.
    datasets : tuple of str
        Rows: data set variants of this suite.
    published_as : dict
        Row to the name under which the paper's table lists it.
    repeats : dict
        Row to number of repeats.
    absent : dict
        Row to the reason why this suite or machine does not have it.
    missing_models : dict
        Column to the reason why it has no numbers.
    status : str
        ``ready``, ``partial`` (some columns are missing) or ``not implemented``.
    reason : str
        What is missing; empty when ready.
    extras : tuple of str
        What cells save beyond metrics, by full names (`cascadeforest.experiments.extras.extra_name`).
    extras_of : dict
        Column name to those of them that its cells save.
    bounds : dict
        Column name to row to the parameters that the suite bounds there: name to [value here, value without the bound];
        those of a learner inside are named ``learner__<parameter>``.
    marks, win_tie_lose, paired_tests, average_rank, rank_columns, options, deviations
        As in the configuration.
    """

    id: str
    paper: str
    kind: str
    title: str
    render: str
    metrics: tuple[str, ...]
    columns: dict[str, str]
    labels: dict[str, str]
    libraries: dict[str, tuple[str, ...]]
    datasets: tuple[str, ...]
    published_as: dict[str, str]
    repeats: dict[str, int]
    absent: dict[str, str]
    missing_models: dict[str, str]
    status: str
    reason: str
    extras: tuple[str, ...] = ()
    extras_of: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    bounds: dict[str, dict[str, dict[str, list[float]]]] = dataclasses.field(default_factory=dict)
    marks: str = "none"
    win_tie_lose: str | None = None
    paired_tests: tuple[str, ...] = ()
    average_rank: tuple[str, ...] | None = None
    rank_columns: tuple[str, ...] | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    def needed_runs(self) -> list[tuple[str, str]]:
        """Pairs (data set variant, model preset) whose results the rendering reads."""
        if self.status == NOT_IMPLEMENTED:
            return []
        presets = [preset for column, preset in self.columns.items() if column not in self.missing_models]
        return [(dataset, preset) for dataset in self.present() for preset in dict.fromkeys(presets)]

    def needed_extras(self, preset: str) -> list[str]:
        """What the cells of a model preset save beyond metrics for this experiment."""
        columns = [column for column, other in self.columns.items() if other == preset]
        return list(dict.fromkeys(extra for column in columns for extra in self.extras_of[column]))

    def present(self) -> list[str]:
        """Rows that this suite and machine have."""
        return [dataset for dataset in self.datasets if dataset not in self.absent]


@dataclass(frozen=True)
class Plan:
    """All experiments of one suite, and the runs that they need.

    Parameters
    ----------
    suite : str
        Name of the suite.
    suite_config : dict
        Its row in ``config/config.yaml``.
    seeds_per_job : int or None
        Repeats a job.
    experiments : dict
        Id to `Experiment`, in the order of the configuration.
    runs : dict
        (data set variant, model preset) to `RunSpec`.
    datasets : dict
        Name to the content of its data set file.
    """

    suite: str
    suite_config: dict[str, Any]
    seeds_per_job: int | None
    experiments: dict[str, Experiment]
    runs: dict[tuple[str, str], RunSpec]
    datasets: dict[str, dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """As JSON; of the data sets the results carry what a report needs."""
        return {
            "suite": self.suite,
            "suite_config": self.suite_config,
            "seeds_per_job": self.seeds_per_job,
            "experiments": {key: _json(dataclasses.asdict(value)) for key, value in self.experiments.items()},
            "runs": [run.as_dict() for run in self.runs.values()],
        }

    def variants(self) -> list[str]:
        """Data set variants that some experiment shows and this machine can have."""
        ready = (e for e in self.experiments.values() if e.status != NOT_IMPLEMENTED)
        return sorted({dataset for experiment in ready for dataset in experiment.present()})


def load_plan(root: Path, overrides: Mapping[str, Any] | None = None) -> Plan:
    """Read, check and resolve the configuration.

    Parameters
    ----------
    root : Path
        Folder that holds ``config/`` and ``workflow/schemas/``.
    overrides : mapping, optional
        Keys that replace those of ``config/config.yaml`` (Snakemake's ``--config``).

    Returns
    -------
    Plan

    Raises
    ------
    ConfigError
        Naming file, key, value and what is allowed.
    """
    config_folder = root / "config"
    schemas = root / "workflow" / "schemas"
    config_file = read_yaml(config_folder / "config.yaml")
    if not isinstance(config_file, Mapping):
        raise ConfigError("config/config.yaml: this is no mapping of keys to values. Take the file from git again.")
    config = {**config_file, **(overrides or {})}
    validate(config, read_schema(schemas / "config.schema.yaml"), "config/config.yaml")
    suite = config["suite"]
    _choose("config/config.yaml: suite", suite, config["suites"])
    models_file = read_yaml(config_folder / "models.yaml")
    validate(models_file, read_schema(schemas / "models.schema.yaml"), "config/models.yaml")
    models = {name: _resolve_base(name, models_file) for name in models_file}
    datasets = load_dataset_files(config_folder / "datasets")
    resolver = _Resolver(root, suite, config, models, datasets)
    for place, names, known in (
        ("own_datasets", config.get("own_datasets", []), datasets),
        ("own_models", config.get("own_models", []), models),
    ):
        for name in names:
            # A data set of the user's may be named with a variant.
            base = parse_variant(name)[0] if place == "own_datasets" else name
            _choose(f"config/config.yaml: {place}", base, known)
    experiments_schema = read_schema(schemas / "experiments.schema.yaml")
    experiments: dict[str, Experiment] = {}
    for path in sorted((config_folder / "experiments").glob("[!.]*.yaml")):
        place = f"config/experiments/{path.name}"
        rows = read_yaml(path)
        validate(rows, experiments_schema, place)
        for name, row in rows.items():
            if name in experiments:
                raise ConfigError(f"{place}: the experiment '{name}' is declared twice. Rename one of the two.")
            experiments[name] = resolver.experiment(name, path.stem, row, place)
    return Plan(
        suite=suite,
        suite_config={"repeats": None, "dataset_repeats": {}, "caps": {}, "model_caps": {}, "unavailable": {}}
        | config["suites"][suite],
        seeds_per_job=config.get("seeds_per_job"),
        experiments=experiments,
        runs=resolver.runs(experiments.values()),
        datasets=datasets,
    )


class _Resolver:
    """Turns rows of the configuration into experiments and runs, for one suite."""

    def __init__(self, root: Path, suite: str, config: Mapping, models: Mapping, datasets: Mapping) -> None:
        self.suite = suite
        self.config = config
        self.budget = config["suites"][suite]
        self.models = models
        self.datasets = datasets
        self.availability = {name: availability(row, root) for name, row in datasets.items()}
        self._check_budget()
        for name, row in models.items():
            for dataset in row.get("dataset_params", {}):
                _choose(f"config/models.yaml: {name}/dataset_params", dataset, datasets)
            if LEARNER in row["params"]:
                _choose(f"config/models.yaml: {name}/params/{LEARNER}", row["params"][LEARNER], models)
                if "classification" not in models[row["params"][LEARNER]]["estimator"]:
                    raise ConfigError(
                        f"config/models.yaml: {name}/params/{LEARNER} is '{row['params'][LEARNER]}', which has no "
                        "estimator for classification. Name a classifier."
                    )
                if LEARNER in models[row["params"][LEARNER]]["params"]:
                    raise ConfigError(
                        f"config/models.yaml: {name}/params/{LEARNER} is '{row['params'][LEARNER]}', which has a "
                        "learner itself. Name a model without one."
                    )

    def _check_budget(self) -> None:
        place = f"config/config.yaml: suites/{self.suite}"
        for name in self.budget.get("unavailable", {}):
            _choose(f"{place}/unavailable", name, self.datasets)
        for name in self.budget.get("dataset_repeats", {}):
            self._base(name, f"{place}/dataset_repeats")
        for name, caps in self.budget.get("model_caps", {}).items():
            _choose(f"{place}/model_caps", name, self.models)
            for parameter in caps:
                _choose(f"{place}/model_caps/{name}", parameter, self.models[name]["params"])

    def experiment(self, name: str, paper: str, row: Mapping[str, Any], place: str) -> Experiment:
        """One experiment of the suite."""
        columns = dict(row.get("models", {}))
        for column, preset in columns.items():
            _choose(f"{place}: {name}/models/{column}", preset, self.models)
        for metric in row.get("metrics", []):
            _choose(f"{place}: {name}/metrics", metric, METRICS)
        for given in row["datasets"]:
            _choose(f"{place}: {name}/datasets", given, self.config["suites"])
        for key in ("win_tie_lose", "paired_tests", "rank_columns"):
            for column in [row[key]] if isinstance(row.get(key), str) else row.get(key, []):
                _choose(f"{place}: {name}/{key}", column, columns)
        if row.get("paired_tests") and len(row.get("metrics", [])) != 1:
            raise ConfigError(
                f"{place}: {name}/paired_tests are for tables of one metric; metrics are {row.get('metrics', [])}."
            )
        variants = list(row["datasets"].get(self.suite, []))
        if row.get("takes_own"):
            variants += [own for own in self.config.get("own_datasets", []) if own not in variants]
            columns |= {own: own for own in self.config.get("own_models", [])}
        bases = {variant: self._base(variant, f"{place}: {name}/datasets/{self.suite}") for variant in variants}
        absent = {variant: reason for variant, base in bases.items() if (reason := self._absence(base))}
        missing = {column: NOT_IMPLEMENTED for column, preset in columns.items() if not self._implemented(preset)}
        for column, preset in columns.items():
            for variant, base in bases.items():
                task = self.datasets[base]["task"]
                if task not in self.models[preset]["estimator"] and variant in self.config.get("own_datasets", []):
                    raise ConfigError(
                        f"config/config.yaml: own_datasets: '{variant}' is a {task}, and {name} compares classifiers. "
                        "Take it out, or declare an experiment of your own for it in config/experiments."
                    )
                if task not in self.models[preset]["estimator"]:
                    raise ConfigError(
                        f"{place}: {name}: the model '{preset}' (column {column}) has no estimator for {task}, "
                        f"the task of '{variant}'. Take one of the two out, or add estimator/{task} to the model."
                    )
        status, reason = self._status(row, columns, missing, variants, place)
        extras_of = self._extras_of(row, columns, f"{place}: {name}")
        return Experiment(
            id=name,
            paper=paper,
            kind=row["kind"],
            title=row["title"],
            render=row["render"],
            metrics=tuple(row.get("metrics", [])),
            columns=columns,
            labels={column: self.models[preset]["label"] for column, preset in columns.items()},
            libraries={column: tuple(self._libraries(preset)) for column, preset in columns.items()},
            datasets=tuple(variants),
            published_as={v: self.datasets[base].get("published_as", base) for v, base in bases.items()},
            repeats={variant: self._repeats(row, variant, base) for variant, base in bases.items()},
            absent=absent,
            missing_models=missing,
            status=status,
            reason=reason,
            extras=tuple(dict.fromkeys(extra for extras in extras_of.values() for extra in extras)),
            extras_of=extras_of,
            bounds={
                column: {variant: self._bounds(preset, base) for variant, base in bases.items()}
                for column, preset in columns.items()
            },
            marks=row.get("marks", "none"),
            win_tie_lose=row.get("win_tie_lose"),
            paired_tests=tuple(row.get("paired_tests", [])),
            average_rank=None if "average_rank" not in row else tuple(row["average_rank"]),
            rank_columns=None if "rank_columns" not in row else tuple(row["rank_columns"]),
            options=dict(row.get("options", {})),
            deviations=(*row.get("deviations", []), *self._notes(columns)),
        )

    def runs(self, experiments: Iterable[Experiment]) -> dict[tuple[str, str], RunSpec]:
        """The jobs: a pair that several experiments show gets the most repeats and all extras that they ask for."""
        runs: dict[tuple[str, str], RunSpec] = {}
        for experiment in experiments:
            for variant, preset in experiment.needed_runs():
                model = self.models[preset]
                task = self.datasets[parse_variant(variant)[0]]["task"]
                before = runs.get((variant, preset))
                runs[variant, preset] = RunSpec(
                    suite=self.suite,
                    dataset=variant,
                    model=preset,
                    task=task,
                    estimator=model["estimator"][task],
                    params=self._params(preset, parse_variant(variant)[0]),
                    repeats=max(experiment.repeats[variant], before.repeats if before else 0),
                    extras=tuple(sorted({*experiment.needed_extras(preset), *(before.extras if before else ())})),
                    libraries=tuple(self._libraries(preset)),
                )
        return runs

    def _extras_of(self, row: Mapping[str, Any], columns: Mapping[str, str], place: str) -> dict[str, tuple[str, ...]]:
        """Full names of the extras of each column: the same for all, or by column in the configuration."""
        given = row.get("extras", [])
        for column in given if isinstance(given, Mapping) else ():
            _choose(f"{place}/extras", column, columns)
        of = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
        options = row.get("options", {})
        return {column: tuple(extra_name(extra, options, place) for extra in of.get(column, [])) for column in columns}

    def _base(self, variant: str, place: str) -> str:
        try:
            base = parse_variant(variant)[0]
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from error
        _choose(place, base, self.datasets)
        return base

    def _absence(self, base: str) -> str | None:
        return self.budget.get("unavailable", {}).get(base) or self.availability[base]

    def _implemented(self, preset: str) -> bool:
        learner = self.models[preset]["params"].get(LEARNER)
        if learner and not self._implemented(learner):
            return False
        for target in self.models[preset]["estimator"].values():
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

    def _status(self, row: Mapping, columns: Mapping, missing: Mapping, variants: list, place: str) -> tuple[str, str]:
        reasons = []
        if not renderer_exists(row["render"]):
            written = sorted(path.stem for path in RENDERERS.glob("[a-z]*.py"))
            if close := difflib.get_close_matches(row["render"], written, n=1, cutoff=0.8):
                raise ConfigError(f"{place}: render is '{row['render']}'. Did you mean '{close[0]}'?")
            reasons.append(f"the renderer '{row['render']}' is not written yet")
        if missing:
            reasons.append(f"models not written yet: {', '.join(missing)}")
        if not renderer_exists(row["render"]) or (columns and len(missing) == len(columns)):
            return NOT_IMPLEMENTED, "; ".join(reasons)
        if not variants:
            return NOT_IMPLEMENTED, f"{place} names no data set for the suite {self.suite}"
        return ("partial" if missing else "ready"), "; ".join(reasons)

    def _repeats(self, row: Mapping[str, Any], variant: str, base: str) -> int:
        protocol = self.datasets[base]["protocol"]
        # Under cross-validation a repeat is a fold: there are no more of them.
        folds = protocol["folds"] if protocol["kind"] == "cv" else None
        bound = self.budget.get("dataset_repeats", {}).get(variant, self.budget.get("repeats"))
        bounds = [row.get("repeats", protocol.get("repeats", folds)), folds, bound]
        return min(bound for bound in bounds if bound is not None)

    def _settings(self, preset: str, base: str) -> dict[str, Any]:
        """Parameters of a model on a data set, without the suite's bounds."""
        return self.models[preset]["params"] | self.models[preset].get("dataset_params", {}).get(base, {})

    def _own_bounds(self, preset: str, base: str) -> dict[str, list[float]]:
        """Parameters that the suite bounds: name to the value here and the value without the bound."""
        caps = dict(self.budget.get("caps", {}))
        for name in reversed(self.models[preset]["ancestry"]):  # the preset's own bounds win over its base's
            caps |= self.budget.get("model_caps", {}).get(name, {})
        bounds = {}
        for parameter, value in self._settings(preset, base).items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and value > caps.get(parameter, value):
                bounds[parameter] = [caps[parameter], value]
        return bounds

    def _bounds(self, preset: str, base: str) -> dict[str, list[float]]:
        """The same with those of the learner inside."""
        learner = self.models[preset]["params"].get(LEARNER)
        inside = self._own_bounds(learner, base) if learner else {}
        return self._own_bounds(preset, base) | {f"{LEARNER}__{name}": pair for name, pair in inside.items()}

    def _params(self, preset: str, base: str) -> dict[str, Any]:
        """Parameters of a model on a data set, the suite's bounds applied."""
        bounds = self._own_bounds(preset, base)
        params = self._settings(preset, base) | {name: here for name, (here, _) in bounds.items()}
        if LEARNER in params:
            learner = self.models[params[LEARNER]]
            params[LEARNER] = {
                "estimator": learner["estimator"]["classification"],
                "params": self._params(params[LEARNER], base),
            }
        shape = self.datasets[base].get("shape")
        if shape and params.get("scanning"):  # it must know what shape the rows have
            params["input_shape"] = list(shape)
        return params

    def _libraries(self, preset: str) -> list[str]:
        learner = self.models[preset]["params"].get(LEARNER)
        own = self.models[preset]["libraries"]
        return list(dict.fromkeys([*own, *(self._libraries(learner) if learner else [])]))

    def _notes(self, columns: Mapping[str, str]) -> list[str]:
        """What the models' entries say of themselves, once for all that say the same."""
        labels: dict[str, list[str]] = {}
        for preset in dict.fromkeys(columns.values()):
            labels.setdefault(self.models[preset].get("note") or "", []).append(self.models[preset]["label"])
        return [f"{', '.join(those)}: {note}" for note, those in labels.items() if note]


def renderer_exists(name: str) -> bool:
    """Whether there is a module that draws experiments of this kind."""
    return (RENDERERS / f"{name}.py").is_file()


def _resolve_base(name: str, models: Mapping[str, Mapping[str, Any]], seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """An entry with what it takes over from its bases; `ancestry` lists it and them."""
    row = dict(models[name])
    base = row.pop("base", None)
    if base is None:
        return {"params": {}, "libraries": []} | row | {"ancestry": [*seen, name]}
    _choose(f"config/models.yaml: {name}/base", base, models)
    if base in (*seen, name):
        raise ConfigError(
            f"config/models.yaml: {name}/base is '{base}', which is based on {name} itself. Break the circle."
        )
    inherited = _resolve_base(base, models, (*seen, name))
    merged = {"params": inherited["params"] | row.get("params", {})}
    by_dataset = dict(inherited.get("dataset_params", {}))
    for dataset, params in row.get("dataset_params", {}).items():
        by_dataset[dataset] = by_dataset.get(dataset, {}) | params
    if by_dataset:
        merged["dataset_params"] = by_dataset
    return inherited | row | merged


def _choose(place: str, value: str, allowed: Iterable[str]) -> None:
    """Raise an error that names place, value and what is allowed, unless `value` is."""
    allowed = list(allowed)
    if value in allowed:
        return
    close = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise ConfigError(f"{place} is '{value}'; choose one of {', '.join(allowed) or '(none is defined)'}.{hint}")


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return value
