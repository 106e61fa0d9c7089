"""Scores of models on data sets, and what is counted over all data sets."""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.experiments.plan import NOT_IMPLEMENTED, Experiment
from cascadeforest.reports.numbers.cells import Cells, Values
from cascadeforest.reports.numbers.differences import Difference, counted_once, difference, value_of
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.metrics import COMPARED, known_metric
from cascadeforest.reports.numbers.splits import ALL_SPLITS, conditions, split_name
from cascadeforest.reports.numbers.statistics import average_ranks, compare_means, ranked, sign

REGRESSION_METRICS = frozenset({"rmse"})
#: Metrics that a model of either task has.
COMMON_METRICS = COST_METRICS | {"n_layers"}
#: Metrics of the rows that count wins by means.
OUTCOMES = ["win", "tie", "lose"]


def metrics_for(cells: Cells, dataset: str) -> list[str]:
    """Return the metrics of the experiment that mean something for a data set; all if its task is not known."""
    task = cells.facts(dataset).get("task")
    other = METRICS.keys() - REGRESSION_METRICS if task == "regression" else REGRESSION_METRICS if task else frozenset()
    return [metric for metric in cells.experiment.metrics if metric in COMMON_METRICS or metric not in other]


# Rows -----------------------------------------------------------------------------------------------------------------


def averages(cells: Cells) -> list[TidyRow]:
    """Return the rows of all scores of the experiment, in the order data set, column, metric."""
    return [score(cells, *pair, metric) for pair in cells.pairs for metric in metrics_for(cells, pair[0])]


def score(
    cells: Cells, dataset: str, column: str, metric: str, condition: str = "", repeats: Collection[int] | str = ()
) -> TidyRow:
    """Return mean and deviation of a metric; no number if a repeat has none. `repeats`: which, or why none (all)."""
    every = cells.all(dataset, column)
    own = every if isinstance(repeats, str) else [cell for cell in every if not repeats or cell.repeat in repeats]
    found = [value_of(cell, metric) for cell in own]
    values: Values = repeats if isinstance(repeats, str) and own else [math.nan if v is None else v for v in found]
    reason = "not a cascade" if metric == "n_layers" else f"the model gives no {known_metric(metric).label}"
    n_test = min((cell.n_test for cell in own), default=None)
    row = cells.row(dataset, column, condition, metric, values, why_not=reason, n_test=n_test)
    return with_published(cells, row)


def with_published(cells: Cells, row: TidyRow) -> TidyRow:
    """Return a row with the paper's number and its deviation."""
    number = cells.published.number(row.dataset, row.model, row.metric, row.condition)
    if number is None:
        return replace(row, published=None)
    spread = None if number.std is None else float(number.std)
    return replace(row, published=float(number.value), published_std=spread)


def scores(cells: Cells, rows: Iterable[TidyRow] | None = None) -> list[TidyRow]:
    """Return the rows of scores, by default of all, with ranks and marks but where a model has fewer repeats."""
    found, experiment = averages(cells) if rows is None else list(rows), cells.experiment
    few = {pair for pair in cells.pairs if experiment.columns[pair[1]] in experiment.fewer_repeats.get(pair[0], {})}
    full = [row for row in found if (row.dataset, row.model) not in few]
    by_key = {row.key: row for row in ranked(full, experiment.rank_columns or experiment.columns, experiment.marks)}
    return [by_key.get(row.key, row) for row in found]


def split_scores(cells: Cells, n_printed: int) -> Iterable[TidyRow]:
    """Yield the rows of scores within each split, and over all; measured costs are not compared.

    Over all splits the paper's number is the mean of the numbers that it prints of each.
    """
    rows = (
        score(cells, dataset, column, metric, condition, repeats)
        for dataset, column in cells.pairs
        for condition, repeats in conditions(cells, dataset, n_printed).items()
        for metric in metrics_for(cells, dataset)
    )
    for row in scores(cells, rows):
        if row.metric in COST_METRICS:
            row = replace(row, rank=None, mark="")
        keys = [(row.dataset, row.model, row.metric, split_name(k)) for k in range(n_printed)]
        printed = [number.value for key in keys if (number := cells.published.number(*key)) is not None]
        is_mean = row.condition == ALL_SPLITS and len(printed) == n_printed
        yield replace(row, published=float(sum(printed) / n_printed)) if is_mean else row


def means_of(rows: Iterable[TidyRow], metric: str, datasets: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Return the means of a metric, NaN where there is none, with data sets as rows and models as columns."""
    found = {(row.dataset, row.model): row.mean for row in rows if row.metric == metric}
    return pd.DataFrame([[found.get((name, one)) for one in columns] for name in datasets], datasets, columns, float)


# Differences ----------------------------------------------------------------------------------------------------------


def check_once(cells: Cells, option: str, columns: Sequence[str]) -> None:
    """Raise `ConfigError` if an option names what is no column, or a column twice."""
    cells.check_columns(option, columns)
    if twice := [column for column in columns if columns.count(column) > 1]:
        raise ConfigError(f"{cells.experiment.place}/options/{option} has '{twice[0]}' more than once.")


def differences(cells: Cells, pairs: Iterable[tuple[str, str]]) -> Iterable[Difference]:
    """Yield what the first column of each pair is ahead of the second, by data set and metric of `COMPARED`."""
    for pair, dataset in itertools.product(pairs, cells.experiment.datasets):
        compared = [metric for metric in metrics_for(cells, dataset) if metric in COMPARED]
        yield from (difference(cells, dataset, *pair, metric) for metric in compared)


def compared_metric(experiment: Experiment) -> str:
    """Return the only metric of an experiment whose classifiers are compared in pairs; `ConfigError` if it has none."""
    known = [metric for metric in COMPARED if metric in METRICS.keys() - REGRESSION_METRICS]
    if len(experiment.metrics) != 1 or experiment.metrics[0] not in known:
        found = f"{experiment.place}/metrics is {list(experiment.metrics)}"
        raise ConfigError(f"{found}; a table of pairs has one metric: {', '.join(known[:-1])} or {known[-1]}.")
    return experiment.metrics[0]


# Rows over all data sets ----------------------------------------------------------------------------------------------


def summarised_metrics(experiment: Experiment) -> dict[str, str]:
    """Return the metrics over which rows for ``all`` sum up, and the condition that tells them apart there.

    A table of one metric needs no condition: the papers' files have none either.
    """
    compared = [metric for metric in experiment.metrics if METRICS[metric] is not None]
    return {metric: "" if len(experiment.metrics) == 1 else metric for metric in compared}


def ranked_datasets(cells: Cells) -> list[str]:
    """Return the data sets with equal bounds, of those that the paper ranks, or of all if the suite has none."""
    wanted, every = cells.experiment.average_rank or (), cells.experiment.datasets
    named = [name for name in every if cells.experiment.base(name) in wanted] or every
    return [name for name in named if name not in cells.unequal]


def summaries(cells: Cells, scored: Sequence[TidyRow]) -> list[TidyRow]:
    """Return the rows over all data sets: average ranks, and wins by means."""
    experiment = cells.experiment
    rows: list[TidyRow] = []

    def add(column: str, condition: str, name: str, mean: float, n: int, needed: list[str], why_not: str) -> None:
        lacks_model = any(one in experiment.missing_models for one in needed)
        told = (OK, "") if n else (NOT_IMPLEMENTED, "") if lacks_model else (UNAVAILABLE, f"on no data set {why_not}")
        row = TidyRow(ALL, column, condition, name, mean if n else None, n=n or None, status=told[0], note=told[1])
        rows.append(with_published(cells, row))

    def count(metric: str, reference: str, condition: str) -> None:
        found = {(row.dataset, row.model): row.values for row in scored if row.metric == metric}
        only = cells.common.controls
        for column in (name for name in experiment.columns if only.get(name, reference) == reference):
            fair = counted_once(cells, cells.unequal)
            both = [list(zip(found.get((d, reference), ()), found.get((d, column), ()), strict=False)) for d in fair]
            pairs = [([own for own, _ in pair], [other for _, other in pair]) for pair in both if pair]
            wins = [compare_means(own, other, sign(metric) < 0) for own, other in pairs]
            why_not = f"have both {cells.label(reference)} and this model a number"
            for name in OUTCOMES if column != reference else ():
                add(column, condition, name, float(wins.count(name)), len(wins), [reference, column], why_not)

    for metric, condition in summarised_metrics(experiment).items():
        if experiment.average_rank is not None:
            compared = list(experiment.rank_columns or experiment.columns)
            means = sign(metric) * means_of(scored, metric, ranked_datasets(cells), compared)
            found, n = average_ranks(means)
            for column in compared:
                mean, n_ranked = found.get(column, math.nan), n if column in found else 0
                add(column, condition, "average_rank", mean, n_ranked, [column], "has every compared model a number")
        if experiment.win_tie_lose is not None:
            count(metric, experiment.win_tie_lose, condition)
    return rows
