"""The plan of a suite: its experiments and the runs that they need, as frozen dataclasses.

The workflow, the command lines and the report read the same plan. Written as JSON beside the results, it draws a stored
report again without the configuration. `cascadeforest.experiments.resolve` makes it from the configuration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments.designs import Design
from cascadeforest.experiments.table_rows import chosen_rows, part_of
from cascadeforest.experiments.typed_files import read_typed

NOT_IMPLEMENTED: Final = "not implemented"
#: The extra that is the fitted model itself.
MODEL: Final = "model"
#: The kind of experiments that have a picture.
FIGURE = "figure"
#: The kind of the experiment that judges claims by all others.
CLAIMS: Final = "claims"
Status: TypeAlias = Literal["ready", "partial", "not implemented"]
Marks: TypeAlias = Literal["none", "best", "best_and_second"]
#: A budget leaves at least this number of trees, rounds or epochs.
LEAST: Final = 5
#: Data set variant and model preset: what one run is about.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Run:
    """One job: repeats of one model preset on one data set variant.

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
    repeats : tuple of int
        Numbers of the repeats.
    extras : tuple of str
        What each cell saves beyond predictions.
    libraries : tuple of str
        Packages whose version decides the numbers.
    seed : int
        Part of every seed of the run: ``seed`` of ``config/config.yaml``, and what the model adds.
    memory : bool
        Whether a table shows memory: each repeat is then computed by a process of its own, and measured.
    keeps_model : bool
        Whether the first repeat also saves its fitted model.
    extra_repeats : dict
        Extras that only so many of the first repeats save.
    seed_shift : int
        What the model adds.
    """

    suite: str
    dataset: str
    model: str
    task: str
    estimator: str
    params: dict[str, Json]
    repeats: tuple[int, ...]
    extras: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    seed: int = 0
    memory: bool = True
    keeps_model: bool = False
    extra_repeats: dict[str, int] = field(default_factory=dict)
    seed_shift: int = 0

    @property
    def data_seed(self) -> int:
        """Part of the seeds of splits and draws, to which a model adds nothing."""
        return self.seed - self.seed_shift

    @property
    def pair(self) -> Pair:
        """Data set variant and model preset."""
        return self.dataset, self.model

    def extras_of(self, repeat: int) -> tuple[str, ...]:
        """Return what the cell of one repeat saves beyond predictions."""
        # Not compared with the number of repeats: a job that computes some of them has a part of the run.
        own = tuple(extra for extra in self.extras if repeat < self.extra_repeats.get(extra, repeat + 1))
        return (*own, MODEL) if self.keeps_model and repeat == 0 else own


@dataclass(frozen=True)
class Part:
    """Some or all repeats of a run.

    Parameters
    ----------
    dataset, model : str
        Data set variant and model preset of the run.
    repeats : tuple of int
        Numbers of the repeats.
    """

    dataset: str
    model: str
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """What one training job computes: runs that are cheap, or some repeats of a run that is not.

    Parameters
    ----------
    name : str
        Of the job and its log.
    parts : tuple of Part
        What is computed, in this order. Of a whole run the results are merged too.
    after : tuple of str
        Names of batches that compute repeats of the same run before.
    seconds : float or None
        Expected duration; None if it was not measured.
    mib : float
        Expected memory beside that of the libraries.
    """

    name: str
    parts: tuple[Part, ...]
    after: tuple[str, ...] = ()
    seconds: float | None = None
    mib: float = 0.0

    @property
    def datasets(self) -> list[str]:
        """Data set variants that the batch reads."""
        return list(dict.fromkeys(part.dataset for part in self.parts))


@dataclass(frozen=True)
class Timing:
    """Models of one table that are timed in turn on one data set, with nothing else running.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    dataset : str
        Data set variant; not necessarily a row of the table.
    base : str
        Name under which the paper's table lists it.
    columns : tuple of str
        In the order of their turns.
    runs : tuple of Run
        The model of each column.
    against : str
        The column whose cost is divided by that of the others. In each round it is fitted a second time, at the end: a
        model against itself.
    repeats : tuple of int
        Of each round the repeat, and so split and seeds.
    seconds : float or None
        Expected duration; None if it was not measured.
    """

    experiment: str
    dataset: str
    base: str
    columns: tuple[str, ...]
    runs: tuple[Run, ...]
    against: str
    repeats: tuple[int, ...]
    seconds: float | None = None

    def same_work(self, other: Timing | None) -> bool:
        """Whether another timing asks for the same, whatever it is expected to take."""
        return other is not None and dataclasses.replace(self, seconds=other.seconds) == other

    def turns(self) -> list[tuple[str, Run, bool]]:
        """Return column, run, and whether it is the second one of its column, in the order of a round."""
        once = [(column, run, False) for column, run in zip(self.columns, self.runs, strict=True)]
        return [*once, *((column, run, True) for column, run, _ in once if column == self.against)]


@dataclass(frozen=True)
class Bound:
    """A parameter that the suite bounds.

    Parameters
    ----------
    here, unbounded : float
        Its value in this suite, and without the bound.
    """

    here: float
    unbounded: float

    @property
    def share(self) -> float:
        """Part of what the paper has."""
        return self.here / self.unbounded


@dataclass(frozen=True)
class Experiment:
    """One table, figure or list of claims in the chosen suite.

    Parameters
    ----------
    id, paper, kind, title, render : str
        As in ``config/experiments/<paper>.yaml``.
    status : {"ready", "partial", "not implemented"}
        Partial: some columns are missing.
    reason : str
        What is missing; empty when ready.
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
    all_repeats : dict
        The same without the suite's bounds.
    fewer_repeats : dict
        Row to the number of repeats of each model preset that has fewer than the row; 0: the row leaves the model out.
    absent : dict
        Row to the reason why this suite or machine does not have it.
    missing_models : dict
        Column to the reason why it has no numbers.
    extras : dict
        Column name to what its cells save beyond predictions, by full names
        (`cascadeforest.experiments.extras.extra_name`).
    extra_repeats : dict
        Extras that only so many of the first repeats save.
    designs : dict
        Row to what varies from repeat to repeat (`cascadeforest.experiments.designs`).
    bounds : dict
        Column name to row to the parameters that the suite bounds there, by name; parameters of a learner inside are
        named ``learner__<parameter>``.
    marks, win_tie_lose, references, average_rank, rank_columns, options, deviations
        As in the configuration; `deviations` also has what the models say of themselves.
    """

    id: str
    paper: str
    kind: str
    title: str
    render: str
    status: Status = "ready"
    reason: str = ""
    metrics: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()
    published_as: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)
    all_repeats: dict[str, int] = field(default_factory=dict)
    fewer_repeats: dict[str, dict[str, int]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    missing_models: dict[str, str] = field(default_factory=dict)
    extras: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extra_repeats: dict[str, int] = field(default_factory=dict)
    designs: dict[str, Design] = field(default_factory=dict)
    bounds: dict[str, dict[str, dict[str, Bound]]] = field(default_factory=dict)
    marks: Marks = "none"
    win_tie_lose: str | None = None
    references: tuple[str, ...] = ()
    average_rank: tuple[str, ...] | None = None
    rank_columns: tuple[str, ...] | None = None
    options: dict[str, Json] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    @property
    def is_implemented(self) -> bool:
        """Whether the experiment can be drawn."""
        return self.status != NOT_IMPLEMENTED

    @property
    def is_figure(self) -> bool:
        """Whether there is a picture beside the table."""
        return self.kind == FIGURE

    @property
    def place(self) -> str:
        """Where the experiment is declared, for messages."""
        return f"config/experiments/{self.paper}.yaml: {self.id}"

    @property
    def all_extras(self) -> tuple[str, ...]:
        """What the cells of any column save beyond predictions."""
        return tuple(dict.fromkeys(extra for extras in self.extras.values() for extra in extras))

    def present(self) -> list[str]:
        """Return the rows that this suite and machine have."""
        return [dataset for dataset in self.datasets if dataset not in self.absent]

    def shown_columns(self) -> list[str]:
        """Return the columns whose model is implemented."""
        return [column for column in self.columns if column not in self.missing_models]

    def label_of(self, name: str) -> str:
        """Return a column, or an importance that the table compares, in words; the name itself if it has no label."""
        importances = cast("dict[str, dict[str, str]]", self.options.get("columns", {}))
        return self.labels.get(name) or importances.get(name, {}).get("label", name)

    def needed_runs(self) -> list[Pair]:
        """Return the pairs (data set variant, model preset) whose results the table or figure shows, in its order."""
        if not self.is_implemented:
            return []
        presets = dict.fromkeys(self.columns[column] for column in self.shown_columns())
        pairs = ((dataset, preset) for dataset in self.present() for preset in presets)
        return [pair for pair in pairs if self.n_repeats(*pair)]

    def needed_extras(self, preset: str) -> list[str]:
        """Return what the cells of a model preset save beyond predictions for this experiment."""
        columns = [column for column, other in self.columns.items() if other == preset]
        return list(dict.fromkeys(extra for column in columns for extra in self.extras.get(column, ())))

    def n_repeats(self, dataset: str, preset: str) -> int:
        """Return the number of repeats of a model preset on a row."""
        return self.fewer_repeats.get(dataset, {}).get(preset, self.repeats[dataset])

    def repeats_with(self, extra: str, dataset: str) -> int:
        """Return how many of the first repeats on a row save an extra."""
        return min(self.repeats[dataset], self.extra_repeats.get(extra, self.repeats[dataset]))

    def base(self, dataset: str) -> str:
        """Return the name under which the paper's table lists a row."""
        return self.published_as.get(dataset, dataset)


@dataclass(frozen=True)
class Budget:
    """How much of the published work a suite or a table does: the same share for all of its models.

    A suite can bound a model on a data set further (`Suite.model_budgets`).

    Parameters
    ----------
    trees : float
        Fraction of the trees and boosting rounds.
    epochs : float
        Fraction of the epochs.
    layers : int or None
        Largest number of layers; None for no bound.
    """

    trees: float = 1
    epochs: float = 1
    layers: int | None = None

    def bounded(self, kind: str, value: float) -> float:
        """Return a parameter within the budget, where `kind` is the field that bounds it.

        Fractions are rounded up, and leave at least 5.
        """
        if kind == "layers":
            return value if self.layers is None else min(value, self.layers)
        # 1e-9: 0.07 * 100 is 7.000000000000001 in binary
        return min(value, max(LEAST, ceil(getattr(self, kind) * value - 1e-9)))


@dataclass(frozen=True)
class Suite:
    """A row of ``suites`` in ``config/config.yaml``; the schema describes the fields."""

    description: str
    repeats: int | None = None
    dataset_repeats: dict[str, int] = field(default_factory=dict)
    column_repeats: dict[str, dict[str, int]] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    table_budgets: dict[str, dict[str, Json]] = field(default_factory=dict)
    model_budgets: dict[str, dict[str, dict[str, Json]]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    keep_models: bool = False
    timing_rounds: int = 3


@dataclass(frozen=True)
class Paper:
    """A row of ``config/papers.yaml``.

    Parameters
    ----------
    title : str
        Of the paper.
    source : str
        Authors, venue and year.
    short : str
        Words for narrow columns: the model's name and the year.
    """

    title: str
    source: str
    short: str


@dataclass(frozen=True)
class Plan:
    """All experiments of one suite, and the runs that they need.

    Parameters
    ----------
    suite : str
        Name of the suite.
    suite_config : Suite
        Its row in ``config/config.yaml``.
    experiments : dict
        Id to `Experiment`, in the order of the configuration.
    runs : tuple of Run
        In the order in which the experiments need them.
    papers : dict
        Key to `Paper`, in the order of the report.
    batches : tuple of Batch
        The training jobs that compute the runs; empty in a stored plan.
    timings : tuple of Timing
        What is timed in turn, in the order of the experiments.
    seed : int
        Part of every seed.
    left_out : tuple of str
        In a stored plan the experiments of the suite that were not accepted with it.
    """

    suite: str
    suite_config: Suite
    experiments: dict[str, Experiment]
    runs: tuple[Run, ...]
    papers: dict[str, Paper] = field(default_factory=dict)
    batches: tuple[Batch, ...] = ()
    timings: tuple[Timing, ...] = ()
    seed: int = 0
    left_out: tuple[str, ...] = ()

    def run(self, dataset: str, model: str) -> Run | None:
        """Return the run of a model preset on a data set variant, None if no experiment needs it."""
        return self._by_pair.get((dataset, model))

    @cached_property
    def _by_pair(self) -> dict[Pair, Run]:
        return {run.pair: run for run in self.runs}

    @cached_property
    def batch(self) -> dict[str, Batch]:
        """Batches by name."""
        return {batch.name: batch for batch in self.batches}

    @cached_property
    def merged_by(self) -> dict[Pair, str]:
        """Name of the batch that merges a run."""
        return {pair: batch.name for batch in self.batches for pair in self.merged(batch)}

    def work(self, batch: Batch) -> list[Run]:
        """Return what a batch computes: runs with the repeats of its parts."""
        return [
            dataclasses.replace(self._by_pair[part.dataset, part.model], repeats=part.repeats) for part in batch.parts
        ]

    def merged(self, batch: Batch) -> list[Pair]:
        """Return the runs that a batch merges: those of which it computes all repeats."""
        return [run.pair for run in self.work(batch) if run == self._by_pair[run.pair]]

    def made_by(self, pair: Pair, repeats: int) -> list[str]:
        """Return the names of the batches that make the first repeats of a run: the one that merges it, or some before.

        Parameters
        ----------
        pair : tuple of str
            Data set variant and model preset.
        repeats : int
            How many.
        """
        whole = self.merged_by[pair]
        before = self.batch[whole].after
        first = [name for name in before if min(self.batch[name].parts[0].repeats) < repeats]
        return first if len(first) < len(before) else [whole]

    def timings_of(self, experiment: str) -> tuple[Timing, ...]:
        """Return what one experiment has timed in turn."""
        return tuple(timing for timing in self.timings if timing.experiment == experiment)

    def experiment(self, name: str, option: str = "--experiment") -> Experiment:
        """Return one experiment that can be drawn.

        Parameters
        ----------
        name : str
            Its id.
        option : str
            How the user named it, for the error.

        Raises
        ------
        UserError
            If it is unknown, or declared but not implemented.
        """
        if name not in self.experiments:
            raise UserError(
                f"{option} is '{name}'; the suite {self.suite} declares {', '.join(self.experiments) or 'none'}."
            )
        experiment = self.experiments[name]
        if not experiment.is_implemented:
            raise UserError(f"{name} ({experiment.title}) is declared but cannot be drawn: {experiment.reason}.")
        return experiment

    def drawable(self) -> list[str]:
        """Return the ids of the experiments that have a table."""
        return [name for name, experiment in self.experiments.items() if experiment.is_implemented]

    def variants(self) -> list[str]:
        """Return the data set variants that some experiment shows and this machine can have."""
        return sorted({dataset for e in self.experiments.values() if e.is_implemented for dataset in e.present()})

    def only(self, names: Collection[str]) -> Plan:
        """Return the plan without the other experiments that can be drawn, which `left_out` then names; claims stay.

        Parameters
        ----------
        names : collection of str
            Ids of experiments that can be drawn, each alone or with some of its rows (`chosen_rows`). Of some rows
            nothing is timed in turn.

        Raises
        ------
        UserError
            If one is unknown or not implemented, or a row is none of its rows.
        """
        chosen = {name: self._chosen(name, rows) for name, rows in chosen_rows(names).items()}
        plan = self.showing(chosen)
        whole = {name for name, one in plan.experiments.items() if one is self.experiments[name]}
        return dataclasses.replace(plan, timings=tuple(one for one in plan.timings if one.experiment in whole))

    def showing(self, shown: Mapping[str, Experiment]) -> Plan:
        """Return the plan with these of its experiments, or parts of them, alone; claims stay."""
        pairs = {pair for experiment in shown.values() for pair in experiment.needed_runs()}
        others = (name for name in self.drawable() if name not in shown)
        left_out = tuple(name for name in others if self.experiments[name].kind != CLAIMS)
        return dataclasses.replace(
            self,
            experiments={name: shown.get(name, e) for name, e in self.experiments.items() if name not in left_out},
            runs=tuple(run for run in self.runs if run.pair in pairs),
            batches=(),
            timings=tuple(timing for timing in self.timings if timing.experiment not in left_out),
            left_out=left_out,
        )

    def _chosen(self, name: str, rows: Collection[str]) -> Experiment:
        """An experiment, or the part with these of its rows."""
        experiment = self.experiment(name, "--only")
        if unknown := [row for row in rows if row not in experiment.present()]:
            raise UserError(
                f"--only names rows that {name} does not have in the suite {self.suite}: {', '.join(unknown)}. It has "
                f"{', '.join(experiment.present()) or 'none'}."
            )
        return part_of(experiment, rows) if rows else experiment


def read_plan(path: Path, suite: str) -> Plan:
    """Read the plan of a suite.

    Parameters
    ----------
    path : Path
        ``results/<suite>/plan.json``.
    suite : str
        Name of the suite.

    Raises
    ------
    UserError
        If there is no such file: nothing was run.
    DamagedFile
        If it is not what was written, or the plan of another suite.
    """
    run = f"snakemake --cores all --config suite={suite}"
    if not path.is_file():
        raise UserError(f"{path}: no such file, so nothing was run for the suite '{suite}'. Run it first: {run}")
    remedy = f"Run the workflow again, which makes it anew: {run}"
    plan = read_typed(Plan, path, remedy)
    if plan.suite != suite:
        raise DamagedFile(path, f"suite is '{plan.suite}', not '{suite}'", remedy)
    return plan
