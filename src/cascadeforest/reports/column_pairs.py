"""Columns of an experiment that are compared two by two, and what lies between them, repeat by repeat."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.reports.comparisons import PairedTest
from cascadeforest.reports.derived import DIFFERENCES
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import signed_text
from cascadeforest.reports.split_groups import ALL_SPLITS
from cascadeforest.reports.tidy import OK, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, Cell

#: Marks of a tested difference by the outcome of the test.
_MARKS = {"win": "better", "lose": "worse"}


def column_pairs(experiment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of ``options: {pairs: [[column, column], ...]}``.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.

    Returns
    -------
    list of tuples of two str
        In the order of the configuration.

    Raises
    ------
    ConfigError
        If they are no pairs, or do not hold each column once: a column in no pair would be shown nowhere.
    """
    place = f"{_place(experiment)}/options/pairs"
    pairs = experiment["options"].get("pairs")
    if not (isinstance(pairs, list) and pairs and all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs)):
        raise ConfigError(f"{place} is {pairs!r}; give a list of pairs of columns: [[column, column], ...].")
    paired = [column for pair in pairs for column in pair]
    for column in paired:
        if column not in experiment["columns"]:
            raise ConfigError(f"{place}: '{column}' is no column; choose from {', '.join(experiment['columns'])}.")
        if paired.count(column) > 1:
            raise ConfigError(f"{place}: '{column}' is there {paired.count(column)} times; a column has one partner.")
    if alone := [column for column in experiment["columns"] if column not in paired]:
        raise ConfigError(f"{place}: {', '.join(alone)} has no partner; pair it, or take it out of 'models'.")
    return [tuple(pair) for pair in pairs]


def differences_wanted(experiment: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """Return what ``options: {differences: {to: column, of: [column, ...]}}`` names.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.

    Returns
    -------
    tuple of str and list of str, or None
        The column that is subtracted, and those it is subtracted from; None without the option.

    Raises
    ------
    ConfigError
        If these are not columns, or the reference is to be subtracted from itself.
    """
    wanted = experiment["options"].get("differences")
    if wanted is None:
        return None
    place = f"{_place(experiment)}/options/differences"
    if not (isinstance(wanted, Mapping) and wanted.keys() == {"to", "of"} and isinstance(wanted["of"], list)):
        raise ConfigError(f"{place} is {wanted!r}; give a column and a list of columns: {{to: column, of: [column]}}.")
    reference, columns = wanted["to"], wanted["of"]
    for column in (reference, *columns):
        if column not in experiment["columns"]:
            raise ConfigError(f"{place}: '{column}' is no column; choose from {', '.join(experiment['columns'])}.")
    if not columns or reference in columns or len(set(columns)) < len(columns):
        raise ConfigError(f"{place}/of is {columns}; name columns other than '{reference}', each once.")
    return reference, list(columns)


def compared_metric(experiment: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric of a table of pairs, and the name of its differences.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.

    Raises
    ------
    ConfigError
        If it has not exactly one metric, of which we know differences.
    """
    known = sorted(name.removesuffix("_difference") for name in DIFFERENCES)
    metrics = list(experiment["metrics"])
    if len(metrics) != 1 or metrics[0] not in known:
        raise ConfigError(
            f"{_place(experiment)}/metrics is {metrics}; a table of pairs has one metric: {' or '.join(known)}."
        )
    return metrics[0], f"{metrics[0]}_difference"


def difference_row(
    experiment: Mapping[str, Any],
    results: Results,
    rows: tuple[TidyRow, TidyRow],
    condition: str,
    published: float | None,
    groups: Sequence[Sequence[int]] = (),
) -> TidyRow:
    """Subtract the numbers of one column from those of another, repeat by repeat.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    rows : tuple of two TidyRow
        Of the column, and of its reference, on one data set.
    condition : str
        Of the difference, which has the model of the column.
    published : float or None
        The same of the paper's numbers.
    groups : sequence of sequences of int
        Numbers of the repeats that share a split, counted from 0. They are not independent of each other, so that the
        test compares the means of the groups. By default it compares repeats.

    Returns
    -------
    TidyRow
        Mean and deviation of the differences, marked ``better`` or ``worse`` where `PairedTest` finds one. Without a
        number of either column it has that one's reason.
    """
    metric = rows[0].metric
    row = TidyRow(rows[0].dataset, rows[0].model, condition, f"{metric}_difference", published=published)
    for lacking in rows:
        if lacking.status != OK:
            return replace(row, status=lacking.status, note=lacking.note)
    own, other = ([cell["metrics"][metric] for cell in _cells(experiment, results, one)] for one in rows)
    differences = [a - b for a, b in zip(own, other, strict=True)]
    tested = [_means(values, groups) if groups else values for values in (own, other)]
    outcome = PairedTest(rows[1].model, rows[1].model).outcome(*tested, METRICS[metric].higher_is_better)
    return replace(
        row,
        mean=statistics.fmean(differences),
        std=float(statistics.stdev(differences)) if len(differences) > 1 else None,
        n=len(differences),
        n_test=min(one.n_test for one in rows),
        mark=_MARKS.get(outcome, ""),
    )


def _means(values: list[float], groups: Sequence[Sequence[int]]) -> list[float]:
    return [statistics.fmean(values[repeat] for repeat in group) for group in groups]


def _cells(experiment: Mapping[str, Any], results: Results, row: TidyRow) -> list[dict[str, Any]]:
    return results.cells(row.dataset, experiment["columns"][row.model], experiment["repeats"][row.dataset])


def published_difference(published: Published, dataset: str, column: str, reference: str, metric: str) -> float | None:
    """Subtract a number of the paper from another one; None if it prints not both.

    Parameters
    ----------
    published : Published
        The paper's numbers.
    dataset, column, reference, metric : str
        Our names.
    """
    pair = [published.number(dataset, one, metric) for one in (column, reference)]
    return None if None in pair else float(pair[0].value - pair[1].value)


def published_difference_cell(row: TidyRow) -> Cell:
    """Write the paper's number of a difference."""
    if row.published is None:
        return Cell(NOT_PRINTED, is_word=True)
    return Cell(signed_text(row.metric, row.published, None))


def difference_notes(
    rows: Iterable[TidyRow], words: str, splits: Mapping[str, Sequence[Any]] = MappingProxyType({})
) -> Iterable[str]:
    """Say what differences are and how they were tested.

    Parameters
    ----------
    rows : iterable of TidyRow
        The differences of a table.
    words : str
        What is subtracted from what.
    splits : mapping
        Data set to its splits, where differences over all of them are tested over their means.

    Yields
    ------
    str
    """
    text = f"Difference: {words}, repeat by repeat, mean ± standard deviation of these differences"
    yield f"{text}; the published ones are computed from the published numbers."
    sizes = {
        len(splits[row.dataset]) if row.condition.endswith(ALL_SPLITS) else row.n for row in rows if row.n is not None
    }
    if not sizes:
        return
    over = "the repeats"
    if any(splits.values()):
        over = f"the repeats of a split, or, of {ALL_SPLITS}, over their means"
    if max(sizes) < 3:
        few = "repeats" if over == "the repeats" else "repeats, or splits"
        yield f"No difference is tested: that needs three {few}."
        return
    level = f"{PairedTest.level:g}"
    untested = " Fewer than three are not tested." if min(sizes) < 3 else ""
    yield (
        f"(p < {level}): found by a two-sided paired t test over {over}, each difference by itself, without a "
        f"correction for their number; the others have p ≥ {level}{' or were not tested' if untested else ''}. A few "
        f"repeats miss small differences.{untested}"
    )


def _place(experiment: Mapping[str, Any]) -> str:
    return f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"
