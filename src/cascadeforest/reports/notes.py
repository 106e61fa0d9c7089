"""Sentences under a table that more than one kind of table needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results, present


def published_note(experiment: Mapping[str, Any], published: Published) -> str:
    """Say where the published numbers come from, and which rows have none.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    published : Published
        The paper's numbers for it.

    Returns
    -------
    str
        Empty if the paper gives no numbers.
    """
    if not published.exists:
        return ""
    file = f"reports/published/{experiment['id']}.csv"
    without = [name for name in experiment["datasets"] if not published.has(name)]
    if len(without) == len(experiment["datasets"]):
        return f"Published: the paper has no numbers for these data sets; those that it prints are in {file}."
    text = f"Published: as printed in the paper, with its marks ({file})."
    return f"{text} It has no numbers for {', '.join(without)}." if without else text


def data_notes(experiment: Mapping[str, Any], results: Results, published: Published) -> Iterable[str]:
    """Sentences about rows that are not the paper's data set as it is.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the facts about the data.
    published : Published
        The paper's numbers for the experiment.

    Yields
    ------
    str
    """
    for dataset in present(experiment):
        facts = results.summaries.get(dataset, {})
        parts = []
        if facts.get("subset_of"):
            parts.append(f"a subset of {facts['subset_of']}")
        elif experiment["published_as"].get(dataset, dataset) != dataset and published.has(dataset):
            parts.append(f"shown in the place of the paper's {experiment['published_as'][dataset]}")
        if facts.get("note"):
            parts.append(facts["note"].strip())
        if parts:
            text = "; ".join(parts)
            yield f"{dataset}: {text}" if text.endswith((".", "?", "!")) else f"{dataset}: {text}."
