"""Tidy rows of a table that compares models on data sets, from cells and the papers' numbers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.comparisons import AverageRank, PairedTest, RowMarks, WinTieLose, ranks
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import NOT_IMPLEMENTED, Results
from cascadeforest.reports.tidy import ALL, FAILED, UNAVAILABLE, TidyRow

REGRESSION_METRICS = frozenset({"rmse"})
#: Metrics that a model of either task has.
COMMON_METRICS = frozenset(
    {"fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "predict_peak_mib", "model_mib", "n_layers"}
)


def metrics_for(experiment: Mapping[str, Any], task: str | None) -> list[str]:
    """Return the metrics of an experiment that mean something for a task (all of them where it is not known)."""
    if task is None:
        return list(experiment["metrics"])
    fitting = COMMON_METRICS | (REGRESSION_METRICS if task == "regression" else METRICS.keys() - REGRESSION_METRICS)
    return [metric for metric in experiment["metrics"] if metric in fitting]


def score_rows(experiment: Mapping[str, Any], results: Results) -> list[TidyRow]:
    """Make the tidy rows of an experiment that compares models on data sets.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its runs, failures and published numbers.

    Returns
    -------
    list of TidyRow
        In the order data set, column, condition, metric of the configuration, then the rows over all data sets.
    """
    published = Published(experiment, results.published)
    rows = [
        _with_published(row, published)
        for dataset in experiment["datasets"]
        for column in experiment["columns"]
        for row in _measured(experiment, results, dataset, column)
    ]
    rows = _with_ranks(experiment, rows)
    summaries = _summary_rows(experiment, rows) + _tested_rows(experiment, results, rows)
    return rows + [_with_published(row, published) for row in summaries]


def _measured(experiment: Mapping[str, Any], results: Results, dataset: str, column: str) -> list[TidyRow]:
    """Rows of one data set and column: a number or the reason why there is none, for each metric."""
    preset = experiment["columns"][column]
    task = results.summaries.get(dataset, {}).get("task")
    rows = [TidyRow(dataset, column, "", metric) for metric in metrics_for(experiment, task)]

    def without_number(status: str, note: str) -> list[TidyRow]:
        return [replace(row, status=status, note=note) for row in rows]

    if dataset in experiment["absent"]:
        return without_number(UNAVAILABLE, experiment["absent"][dataset])
    if column in experiment["missing_models"]:
        return without_number(NOT_IMPLEMENTED, "")
    if failure := results.failures.get((dataset, preset)):
        return without_number(FAILED, _reason(failure))
    cells = results.cells(dataset, preset, experiment["repeats"][dataset])
    if cells is None:
        return without_number(UNAVAILABLE, "not run")
    return [_number(row, cells) for row in rows]


def _reason(failure: Mapping[str, Any]) -> str:
    """First failure in words; a message can be long and have lines, a table cell has neither."""
    cells = failure["cells"]
    lines = cells[0]["message"].strip().splitlines()
    message = f"{cells[0]['error']}: {lines[0]}" if lines else cells[0]["error"]
    message = message if len(message) <= 300 else f"{message[:299]}…"
    return message if len(cells) == 1 else f"{message} ({len(cells)} repeats)"


def _number(row: TidyRow, cells: list[Mapping[str, Any]]) -> TidyRow:
    values = [cell["metrics"].get(row.metric) for cell in cells]
    if None in values:
        reason = "not a cascade" if row.metric == "n_layers" else f"the model gives no {METRICS[row.metric].label}"
        return replace(row, status=UNAVAILABLE, note=reason)
    return replace(
        row,
        mean=statistics.fmean(values),  # exact sum: independent of the order, so equal results tie
        std=float(statistics.stdev(values)) if len(values) > 1 else None,
        n=len(values),
        n_test=min(cell["n_test"] for cell in cells),
    )


def _with_published(row: TidyRow, published: Published) -> TidyRow:
    number = published.number(row.dataset, row.model, row.metric, row.condition)
    if number is None:
        return row
    return replace(row, published=float(number.value), published_std=None if number.std is None else float(number.std))


def compared_columns(experiment: Mapping[str, Any]) -> list[str]:
    """Return the columns that are ranked and marked against each other."""
    return list(experiment["rank_columns"] or experiment["columns"])


def row_marks(experiment: Mapping[str, Any]) -> RowMarks:
    """Return what decides the marks of an experiment."""
    return RowMarks(experiment["marks"], _subset_labels(experiment))


def _subset_labels(experiment: Mapping[str, Any]) -> tuple[str, ...]:
    """Words for the compared columns if not all are; a column that is not implemented takes no part."""
    compared = compared_columns(experiment)
    everything = len(compared) == len(experiment["columns"])
    taking_part = [column for column in compared if column not in experiment["missing_models"]]
    return () if everything else tuple(experiment["labels"][column] for column in taking_part)


def _with_ranks(experiment: Mapping[str, Any], rows: list[TidyRow]) -> list[TidyRow]:
    marks = row_marks(experiment)
    compared = set(compared_columns(experiment))
    groups: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        if row.mean is not None and row.model in compared and METRICS[row.metric].higher_is_better is not None:
            groups.setdefault((row.dataset, row.condition, row.metric), {})[row.model] = row.mean
    rank, mark = {}, {}
    for (dataset, condition, metric), values in groups.items():
        higher = METRICS[metric].higher_is_better
        for column, value in ranks(values, higher).items():
            rank[dataset, column, condition, metric] = value
        for column, value in marks.marks(values, higher).items():
            mark[dataset, column, condition, metric] = value
    return [replace(row, rank=rank.get(row.key), mark=mark.get(row.key, "")) for row in rows]


def summarised_metrics(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Return the metrics over which rows for ``all`` sum up, and the condition that tells them apart there.

    A table of one metric needs no condition: the papers' files have none either.
    """
    metrics = [metric for metric in experiment["metrics"] if METRICS[metric].higher_is_better is not None]
    return {metric: "" if len(experiment["metrics"]) == 1 else metric for metric in metrics}


def ranked_datasets(experiment: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the rows over which ranks are averaged, and words for them.

    The configuration names the papers' data sets. A suite without any of them averages over what it has.
    """
    wanted = set(experiment["average_rank"] or ())
    chosen = [name for name in experiment["datasets"] if experiment["published_as"].get(name, name) in wanted]
    if not chosen:
        return list(experiment["datasets"]), "the data sets of this table (the suite has none of the paper's)"
    if len(chosen) == len(experiment["datasets"]):
        return chosen, "the data sets of this table"
    return chosen, f"{', '.join(chosen)}"


def average_rank(experiment: Mapping[str, Any]) -> AverageRank | None:
    """Return what averages the ranks of an experiment, None if it shows no such row."""
    if experiment["average_rank"] is None:
        return None
    return AverageRank(_subset_labels(experiment), ranked_datasets(experiment)[1])


def win_tie_lose(experiment: Mapping[str, Any]) -> WinTieLose | None:
    """Return what counts the wins of an experiment, None if it shows no such row."""
    reference = experiment["win_tie_lose"]
    return None if reference is None else WinTieLose(reference, experiment["labels"][reference])


def _summary_rows(experiment: Mapping[str, Any], rows: list[TidyRow]) -> list[TidyRow]:
    summaries = []
    for metric, condition in summarised_metrics(experiment).items():
        means: dict[tuple[str, str], dict[str, float]] = {}
        for row in rows:
            if row.metric == metric and row.mean is not None:
                means.setdefault((row.dataset, row.condition), {})[row.model] = row.mean
        higher = METRICS[metric].higher_is_better
        summaries += _average_rank_rows(experiment, means, higher, condition)
        summaries += _win_tie_lose_rows(experiment, means, higher, condition)
    return summaries


def _average_rank_rows(experiment: Mapping[str, Any], means: Mapping, higher: bool, condition: str) -> list[TidyRow]:
    decider = average_rank(experiment)
    if decider is None:
        return []
    compared, chosen = compared_columns(experiment), ranked_datasets(experiment)[0]
    counted = [
        {column: value for column, value in values.items() if column in compared}
        for (dataset, _), values in means.items()
        if dataset in chosen
    ]
    averages, n_rows = decider.averages(counted, higher)
    return [
        TidyRow(ALL, column, condition, "average_rank", mean=averages[column], n=n_rows)
        if column in averages
        else _no_summary(
            experiment, column, condition, "average_rank", "on no data set has every compared model a number"
        )
        for column in compared
    ]


def _win_tie_lose_rows(experiment: Mapping[str, Any], means: Mapping, higher: bool, condition: str) -> list[TidyRow]:
    decider = win_tie_lose(experiment)
    if decider is None:
        return []
    counts = decider.counts(list(means.values()), higher)
    rows = []
    for column in experiment["columns"]:
        if column == decider.reference:
            continue
        for position, metric in enumerate(("win", "tie", "lose")):
            if column in counts:
                count = counts[column]
                rows.append(TidyRow(ALL, column, condition, metric, mean=float(count[position]), n=sum(count)))
            else:
                missing = decider.reference if decider.reference in experiment["missing_models"] else column
                note = f"on no data set have both {decider.label} and this model a number"
                rows.append(_no_summary(experiment, missing, condition, metric, note, column))
    return rows


def paired_tests(experiment: Mapping[str, Any]) -> list[PairedTest]:
    """Return what counts tested wins of an experiment, one for each reference."""
    return [PairedTest(reference, experiment["labels"][reference]) for reference in experiment.get("paired_tests", ())]


#: Metrics of the rows that count tested outcomes.
TESTED = {"win": "tested_win", "tie": "tested_tie", "lose": "tested_lose"}


def _tested_rows(experiment: Mapping[str, Any], results: Results, rows: list[TidyRow]) -> list[TidyRow]:
    """Outcomes of paired tests, counted over the data sets; the condition names the reference."""
    if not experiment.get("paired_tests", ()):
        return []
    metric = experiment["metrics"][0]
    higher = METRICS[metric].higher_is_better
    measured = {(row.dataset, row.model) for row in rows if row.metric == metric and row.mean is not None}

    def values(dataset: str, column: str) -> list[float]:
        cells = results.cells(dataset, experiment["columns"][column], experiment["repeats"][dataset])
        return [cell["metrics"][metric] for cell in cells]

    found = []
    for decider in paired_tests(experiment):
        for column in experiment["columns"]:
            if column == decider.reference:
                continue
            outcomes = [
                decider.outcome(values(dataset, decider.reference), values(dataset, column), higher)
                for dataset in experiment["datasets"]
                if {(dataset, decider.reference), (dataset, column)} <= measured
            ]
            judged = [outcome for outcome in outcomes if outcome is not None]
            for outcome, name in TESTED.items():
                if judged:
                    count = float(judged.count(outcome))
                    found.append(TidyRow(ALL, column, decider.reference, name, mean=count, n=len(judged)))
                else:
                    missing = decider.reference if decider.reference in experiment["missing_models"] else column
                    note = f"on no data set have both {decider.label} and this model three repeats"
                    found.append(_no_summary(experiment, missing, decider.reference, name, note, column))
    return found


def _no_summary(
    experiment: Mapping[str, Any], cause: str, condition: str, metric: str, note: str, column: str | None = None
) -> TidyRow:
    """Row over all data sets without a number, because of the column `cause`."""
    status = NOT_IMPLEMENTED if cause in experiment["missing_models"] else UNAVAILABLE
    return TidyRow(
        ALL, column or cause, condition, metric, status=status, note="" if status == NOT_IMPLEMENTED else note
    )
