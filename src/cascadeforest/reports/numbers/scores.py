"""Scores of models on data sets: tidy frames, and what is counted over all data sets.

A frame of repeats has a row for each repeat: the key of the tidy table, `repeat`, `value` and `n_test`; where there is
no number, `status` and `note` say why. `averages` makes a tidy frame of it.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from statistics import fmean, stdev

import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.experiments.plan import NOT_IMPLEMENTED, Experiment
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import counted_once
from cascadeforest.reports.numbers.frame import ALL, KEY, OK, UNAVAILABLE
from cascadeforest.reports.numbers.metrics import COMPARED, known_metric
from cascadeforest.reports.numbers.splits import ALL_SPLITS, by_split, split_name
from cascadeforest.reports.numbers.statistics import average_ranks, compare_means, complete, ranked, sign

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


# Frames ---------------------------------------------------------------------------------------------------------------


def frame_of_repeats(rows: Iterable[Sequence[object]]) -> pd.DataFrame:
    """Return a frame of repeats: key, repeat, value, n_test, status, note."""
    return pd.DataFrame(list(rows), columns=[*KEY, "repeat", "value", "n_test", "status", "note"])


def repeats(cells: Cells) -> pd.DataFrame:
    """Return the frame of repeats of the experiment, in the order data set, column, metric, repeat."""
    rows: list[tuple[object, ...]] = []
    for dataset, column in cells.pairs:
        status = cells.status(dataset, column)
        for metric in metrics_for(cells, dataset):
            key = dataset, column, "", metric
            reason = "not a cascade" if metric == "n_layers" else f"the model gives no {known_metric(metric).label}"
            for cell in cells.all(dataset, column):
                value = cell.metrics.get(metric, math.nan)
                told = (OK, "") if value == value else (UNAVAILABLE, reason)
                rows.append((*key, cell.repeat, value, cell.n_test, *told))
            if status[0] != OK:
                rows.append((*key, math.nan, math.nan, math.nan, *status))
    return frame_of_repeats(rows)


def averages(values: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy frame of a frame of repeats: mean, std (ddof = 1), n, n_test; no number if a repeat has none."""
    frame = values.groupby(list(KEY), sort=False, as_index=False).agg(
        mean=("value", fmean),  # exact sum: independent of the order, so equal results tie
        std=("value", lambda found: stdev(found.tolist()) if len(found) > 1 and found.notna().all() else math.nan),
        n=("value", "size"),
        n_test=("n_test", "min"),
        status=("status", lambda found: next((status for status in found if status != OK), OK)),
        note=("note", "max"),
        values=("value", tuple),
    )
    lacking = frame.status != OK
    values = frame["values"].mask(lacking)
    return frame.assign(n=frame["n"].mask(lacking), n_test=frame.n_test.mask(lacking), values=values)


def with_published(cells: Cells, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy frame with the paper's numbers."""
    rows = frame[list(KEY)].itertuples()
    found = [cells.published.number(row.dataset, row.model, row.metric, row.condition) for row in rows]
    return frame.assign(
        published=[math.nan if number is None else float(number.value) for number in found],
        published_std=[math.nan if number is None or number.std is None else float(number.std) for number in found],
    )


def compared_columns(experiment: Experiment) -> list[str]:
    """Return the columns that are ranked against each other."""
    return list(experiment.rank_columns or experiment.columns)


def scores(cells: Cells, values: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy frame of scores, with ranks, marks and the paper's numbers."""
    frame = ranked(averages(values), compared_columns(cells.experiment), cells.experiment.marks)
    return with_published(cells, frame)


def split_scores(cells: Cells, values: pd.DataFrame, n_printed: int) -> pd.DataFrame:
    """Return the tidy frame of scores within each split, and over all; measured costs are not compared.

    Over all splits the paper's number is the mean of the numbers that it prints of each.
    """
    frame = scores(cells, by_split(cells, values, n_printed))
    costs = frame.metric.isin(COST_METRICS)
    frame = frame.assign(rank=frame["rank"].mask(costs), mark=frame.mark.mask(costs, ""))
    for row in frame[frame.condition == ALL_SPLITS].itertuples():
        keys = [(row.dataset, row.model, row.metric, split_name(k)) for k in range(n_printed)]
        printed = [number.value for key in keys if (number := cells.published.number(*key)) is not None]
        if len(printed) == n_printed:
            frame.loc[row.Index, "published"] = float(sum(printed) / n_printed)
    return frame


# Differences ----------------------------------------------------------------------------------------------------------


def check_once(cells: Cells, option: str, columns: Sequence[str]) -> None:
    """Raise `ConfigError` if an option names what is no column, or a column twice."""
    cells.check_columns(option, columns)
    if twice := [column for column in columns if columns.count(column) > 1]:
        raise ConfigError(f"{cells.experiment.place}/options/{option} has '{twice[0]}' more than once.")


def compared_metric(experiment: Experiment, also: Collection[str] = REGRESSION_METRICS) -> str:
    """Return the only metric of an experiment whose models are compared in pairs; `ConfigError` if there is none.

    `also` are the metrics beside those of classifiers.
    """
    known = [metric for metric in COMPARED if metric in (METRICS.keys() - REGRESSION_METRICS) | set(also)]
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


def ranked_datasets(experiment: Experiment) -> list[str]:
    """Return the data sets over which ranks are averaged: those that the paper ranks, or all if the suite has none."""
    wanted = set(experiment.average_rank or ())
    return [name for name in experiment.datasets if experiment.base(name) in wanted] or list(experiment.datasets)


def summaries(cells: Cells, values: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy rows over all data sets: average ranks, and wins by means."""
    experiment = cells.experiment
    rows: list[tuple[object, ...]] = []

    def add(column: str, condition: str, name: str, mean: float, n: int, needed: list[str], why_not: str) -> None:
        lacks_model = any(one in experiment.missing_models for one in needed)
        told = (OK, "") if n else (NOT_IMPLEMENTED, "") if lacks_model else (UNAVAILABLE, f"on no data set {why_not}")
        rows.append((ALL, column, condition, name, mean if n else math.nan, n or math.nan, *told))

    def count(metric: str, reference: str, condition: str) -> None:
        found, only = complete(values[values.metric == metric]), cells.common.controls
        for column in (name for name in experiment.columns if only.get(name, reference) == reference):
            both = [(found.get((d, reference)), found.get((d, column))) for d in counted_once(cells)]
            wins = [compare_means(own, other, sign(metric) < 0) for own, other in both if own and other]
            why_not = f"have both {cells.label(reference)} and this model a number"
            for name in OUTCOMES if column != reference else ():
                add(column, condition, name, float(wins.count(name)), len(wins), [reference, column], why_not)

    for metric, condition in summarised_metrics(experiment).items():
        if experiment.average_rank is not None:
            compared = compared_columns(experiment)
            means = sign(metric) * frame[frame.metric == metric].pivot(index="dataset", columns="model", values="mean")
            found, n = average_ranks(means.reindex(index=ranked_datasets(experiment), columns=compared))
            for column in compared:
                mean, n_ranked = found.get(column, math.nan), n if column in found else 0
                add(column, condition, "average_rank", mean, n_ranked, [column], "has every compared model a number")
        if experiment.win_tie_lose is not None:
            count(metric, experiment.win_tie_lose, condition)
    return with_published(cells, pd.DataFrame(rows, columns=[*KEY, "mean", "n", "status", "note"]))
