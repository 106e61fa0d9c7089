"""What the repeats of an experiment gave: cells, saved arrays, and tidy rows of numbers found in them."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.typed_json import from_json
from cascadeforest.experiments.plan import LEAST, NOT_IMPLEMENTED, Experiment, Pair
from cascadeforest.experiments.records import Failure, ScoredCell
from cascadeforest.reports.numbers.frame import FAILED, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.published import Published
from cascadeforest.reports.numbers.results import Results

Options = TypeVar("Options")
#: Place of a layer that options name among those of a repeat.
PLACES = {"first": 0, "last": -1}
#: Models that take all the rounds or epochs that they are given, by class, and the parameter that has the number.
_STEPS = {f"{name}Classifier": "n_estimators" for name in ("GBDT", "XGBoost", "LightGBM", "CatBoost")}
_STEPS |= {"HistGradientBoostingClassifier": "max_iter", "SNDFClassifier": "max_iter"}
_SIZES = frozenset({"n_estimators", "max_iter"})  # parameters that count trees, rounds or epochs
#: A number of each repeat; words where there is no number.
Values = float | str | Sequence[float | str | None] | None


@dataclass(frozen=True)
class CommonOptions:
    """Options that every experiment can have."""

    #: Column to `model` and `condition` of the published file, if not its name.
    published: dict[str, dict[str, str]] = field(default_factory=dict)
    paper_datasets: tuple[str, ...] = ()  # of the paper's figure, where others stand for them
    layers_of: tuple[str, ...] = ()  # not read any more: plans that are stored name it
    layers_as: str = "layers"  # what the paper calls layers
    controls: dict[str, str] = field(default_factory=dict)  # column to the only one that tables compare it with


class Cells:
    """The cells of one experiment by data set and column."""

    def __init__(self, experiment: Experiment, results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.published = Published(experiment, results.published)
        self.pairs: list[Pair] = [(dataset, column) for dataset in experiment.datasets for column in experiment.columns]
        self.common = self.options(CommonOptions)

    def need(self, *extras: str) -> None:
        """Raise `ConfigError` if cells do not save an extra that the table or figure is made from."""
        saved, place = self.experiment.all_extras, self.experiment.place
        for extra in extras:
            if extra not in saved:
                raise ConfigError(f"{place}/extras are {list(saved)}; add '{extra.partition('-')[0]}'.")

    def options(self, kind: type[Options]) -> Options:
        """Return the experiment's own options, or its `CommonOptions`; `ConfigError` if one does not fit."""
        common = {option.name for option in fields(CommonOptions)}
        given = self.experiment.options.items()
        wanted = {name: value for name, value in given if (name in common) == (kind is CommonOptions)}
        return from_json(kind, wanted, f"{self.experiment.place}/options")

    def check_columns(self, option: str, names: Iterable[str]) -> None:
        """Raise `ConfigError` if an option names something else than columns of the experiment."""
        for name in names:
            if name not in (known := self.experiment.columns):
                place = f"{self.experiment.place}/options/{option}"
                raise ConfigError(f"{place} has '{name}'; choose from {', '.join(known)}.")

    # Words --------------------------------------------------------------------------------------------------------

    @property
    def has_models(self) -> bool:
        """Whether several models are shown, which must then be told apart."""
        return len(self.experiment.columns) > 1

    @property
    def label_heads(self) -> tuple[str, ...]:
        """Heads of the columns of a table that name data set and model."""
        return ("data set", "model") if self.has_models else ("data set",)

    def label(self, column: str) -> str:
        """Return a model in words."""
        return self.experiment.labels[column]

    def labels(self, dataset: str, column: str) -> tuple[str, ...]:
        """Return what stands below `label_heads`."""
        return (dataset, self.label(column)) if self.has_models else (dataset,)

    def name(self, dataset: str, column: str) -> str:
        """Return the data set, and the model where several are shown, in words."""
        return ", ".join(self.labels(dataset, column))

    def prefix(self, column: str) -> str:
        """Return the model before another word, where several models are shown: ``gcForest, ``."""
        return f"{self.label(column)}, " if self.has_models else ""

    def title(self, dataset: str, column: str, n: int | None = None) -> str:
        """Return data set, model and number of repeats, by default of all: ``digits, gcForest, 10 repeats``."""
        n = len(self.all(dataset, column)) if n is None else n
        return f"{self.name(dataset, column)}, {n} repeat{'s' if n > 1 else ''}"

    def sizes(self, dataset: str) -> str:
        """Return the data set and, if a model ran, the numbers of rows in the first repeat of the first that did."""
        cell = next((cells[0] for column in self.experiment.columns if (cells := self.all(dataset, column))), None)
        return dataset if cell is None else f"{dataset}, {cell.n_train:,} training and {cell.n_test:,} test rows"

    def reasons(self, dataset: str) -> str:
        """Return why no model has numbers on a data set."""
        return "; ".join(dict.fromkeys(self.reason(dataset, column) for column in self.experiment.columns))

    def facts(self, dataset: str) -> dict[str, Any]:
        """Return what is known of a data set; empty if it is not prepared."""
        return self.results.summaries.get(dataset, {})

    def class_name(self, dataset: str, code: int) -> str:
        """Return the name of a class; its code if the data set is not prepared."""
        names = self.facts(dataset).get("class_names", [])
        return names[code] if code < len(names) else str(code)

    def feature_names(self, dataset: str, names: dict[str, tuple[str, ...]], n_features: int) -> list[str]:
        """Return names of features: those of the option `features` for the data set, else x1, x2, ..."""
        base = self.experiment.base(dataset)
        if base not in names:
            return [f"x{k}" for k in range(1, n_features + 1)]
        if len(names[base]) != n_features:
            place = f"{self.experiment.place}/options/features/{base}"
            many = f"{dataset} has {n_features} features: name them all, or leave the entry out"
            raise ConfigError(f"{place} is {list(names[base])!r}; {many}.")
        return list(names[base])

    # Numbers ------------------------------------------------------------------------------------------------------

    def status(self, dataset: str, column: str) -> tuple[str, str]:
        """Return whether all repeats of a model on a data set are there (``ok``), and else why not."""
        preset, experiment = self.experiment.columns[column], self.experiment
        if dataset in experiment.absent:
            return UNAVAILABLE, experiment.absent[dataset]
        if column in experiment.missing_models:
            return NOT_IMPLEMENTED, ""
        if not experiment.n_repeats(dataset, preset):
            return UNAVAILABLE, "left out of this table"
        if self.results.cells(dataset, preset, experiment.n_repeats(dataset, preset)):
            return OK, ""
        if failure := self.results.failures.get((dataset, preset)):
            return FAILED, failure_words(failure)
        return UNAVAILABLE, "not run"

    def reason(self, dataset: str, column: str) -> str:
        """Return why a model has no numbers on a data set."""
        return ": ".join(filter(None, self.status(dataset, column)))

    def all(self, dataset: str, column: str) -> list[ScoredCell]:
        """Return the cells of all repeats in their order; none if not all of them are there."""
        if self.status(dataset, column)[0] != OK:
            return []
        preset = self.experiment.columns[column]
        return self.results.cells(dataset, preset, self.experiment.n_repeats(dataset, preset)) or []

    def metric(self, dataset: str, column: str, name: str) -> list[float]:
        """Return a metric of all repeats; none if a repeat lacks it."""
        cells = self.all(dataset, column)
        return [cell.metrics[name] for cell in cells] if all(name in cell.metrics for cell in cells) else []

    def n_at_cap(self, dataset: str, column: str) -> int:
        """Return how many repeats used up the layers, boosting rounds or epochs of the suite: nothing stopped them."""
        bounds = self.experiment.bounds.get(column, {}).get(dataset, {})
        return sum(any(is_met(cell, name) for name in bounds) for cell in self.all(dataset, column))

    @cached_property
    def unequal(self) -> list[str]:
        """The data sets on which a model has all trees, rounds or epochs of its paper, another less than a third."""
        found: dict[str, set[float]] = {}
        for dataset, column in itertools.product(self.experiment.present(), self.experiment.shown_columns()):
            bounds = self.experiment.bounds.get(column, {}).get(dataset, {})
            for cell in self.all(dataset, column)[:1]:
                sizes = {name for name in _SIZES if name in bounds or cast("float", cell.params.get(name, 0)) > LEAST}
                shares = (bounds[name].share if name in bounds else 1.0 for name in sizes)
                found.setdefault(dataset, set()).update(shares)
        return [dataset for dataset, shares in found.items() if 1.0 in shares and min(shares) < 1 / 3]

    def n_test(self, dataset: str, column: str) -> int:
        """Return the number of rows of the smallest test set among the repeats."""
        return min(cell.n_test for cell in self.all(dataset, column))

    def arrays(self, dataset: str, column: str, extra: str) -> list[dict[str, np.ndarray]]:
        """Return what the repeats saved as an extra, nothing if they are not there; `UserError` if one lacks it.

        These are all repeats, or as many of the first ones as `extra_repeats` of the experiment says.
        """
        cells = self.all(dataset, column)[: self.experiment.repeats_with(extra, dataset)]
        return [self.results.arrays(cell, extra) for cell in cells]

    def first_arrays(self, dataset: str, column: str, extra: str) -> dict[str, np.ndarray]:
        """Return what the first repeat saved as an extra; nothing if the repeats are not there."""
        cells = self.all(dataset, column)
        return self.results.arrays(cells[0], extra) if cells else {}

    def row(
        self,
        dataset: str,
        column: str,
        condition: str,
        metric: str,
        values: Values,
        *,
        why_not: str = "not a finite number in every run",
        of_data: bool = False,
        n_test: int | None = None,
    ) -> TidyRow:
        """Return mean and deviation over repeats as a tidy row, with the paper's number.

        Words in `values` say why there is no number, nothing that the repeats are not there, `why_not` that numbers are
        not finite. A repeat of several may have None: it has no such layer. A fact `of_data` has no model. `n_test` is
        by default that of the smallest test set of the repeats.
        """
        model = "" if of_data else column
        number = self.published.number(dataset, model, metric, condition)
        row = TidyRow(dataset, model, condition, metric, published=float(number.value) if number else None)
        found = [values] if isinstance(values, str | int | float) else list(() if values is None else values)
        if not found:
            status, note = self.status(dataset, column)
            return replace(row, status=status, note=note)
        if words := [value for value in found if isinstance(value, str)]:
            return replace(row, status=UNAVAILABLE, note="; ".join(dict.fromkeys(words)))
        numbers = [float(value) for value in found if value is not None]
        if not all(map(math.isfinite, numbers)):
            return replace(row, status=UNAVAILABLE, note=why_not)
        n_test = self.n_test(dataset, column) if n_test is None else n_test
        values = tuple(math.nan if value is None else float(value) for value in found)
        return replace(row.over(numbers), n_test=n_test, values=values)


def is_met(cell: ScoredCell, name: str) -> bool:
    """Whether a fit went on up to this bound, a parameter; the trees of a forest are no steps, and meet none."""
    if name == "max_layers" and (growth := cell.growth):
        if growth.at_cap is not None:
            return growth.at_cap
        # Of old results only the layers kept are known: growth ended `patience` layers later, or at the bound.
        params: dict[str, Any] = dict(cell.params)
        return growth.n_kept + params.get("patience", 0) >= params.get("max_layers", math.inf)
    inside: Any = cell.params["learner"] if name.startswith("learner__") else {"estimator": cell.estimator}
    model, steps = inside["estimator"].rpartition(":")[2], name.removeprefix("learner__")
    if model == "SelectedMLPClassifier":
        return any("ConvergenceWarning" in text for text in cell.warnings)
    # HistGBDT stops early on more rows.
    return _STEPS.get(model) == steps and not (model.startswith("Hist") and cell.n_train > 10_000)


def failure_words(failures: Sequence[Failure]) -> str:
    """Return the first failure in words: a message can be long and have lines, a table cell has neither."""
    lines = failures[0].message.strip().splitlines()
    message = f"{failures[0].error}: {lines[0]}" if lines else failures[0].error
    message = message if len(message) <= 300 else f"{message[:299]}…"
    return message if len(failures) == 1 else f"{message} ({len(failures)} repeats)"


def by_layer(curves: Sequence[np.ndarray]) -> list[list[Any]]:
    """Return the entries of each layer that at least half of the runs have; None stands for a run without this layer.

    The first axis of a run is the layer.
    """
    n_layers = [len(curve) for curve in curves]
    kept = [k for k in range(max(n_layers, default=0)) if 2 * sum(n > k for n in n_layers) >= len(curves)]
    return [[curve[k] if len(curve) > k else None for curve in curves] for k in kept]


def means(rows: Iterable[TidyRow], scale: float = 1.0) -> tuple[list[float], list[float] | None]:
    """Return means (NaN: none) and deviations (0: none; None if no row has one) for marks of a picture."""
    found = list(rows)
    spreads = [scale * (row.std or 0.0) for row in found] if any(row.std is not None for row in found) else None
    return [math.nan if row.mean is None else scale * row.mean for row in found], spreads
