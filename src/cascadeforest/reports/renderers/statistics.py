"""Facts about data sets as they were loaded, with the paper's numbers below (hidf-table1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.reports.notes import by_protocol, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published, PublishedNumber
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import UNAVAILABLE, TidyRow
from cascadeforest.reports.view import NOT_PRINTED, PUBLISHED, REPRODUCED, Cell, Row, TableView, without_source

#: Facts shown, and the heads of their columns.
FACTS = {
    "rows": "rows",
    "raw_features": "features, as the paper counts",
    "classes": "classes",
    "features": "features, encoded",
    "n_train": "training rows",
    "n_validation": "validation rows",
    "n_test": "test rows",
}
CLASS_COUNT = "class_count"
#: Up to so many classes are listed; of more, the smallest and the largest count is shown.
N_LISTED_CLASSES = 7
DIFFERS = "differs"


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the facts about the data and the paper's numbers.

    Returns
    -------
    Table
    """
    published = Published(experiment, results.published)
    rows = [row for dataset in experiment["datasets"] for row in _rows(experiment, results, published, dataset)]
    lines = [
        line for dataset in experiment["datasets"] for line in _lines(experiment, results, published, rows, dataset)
    ]
    label_heads, lines = without_source(("data set", ""), lines)
    view = TableView(
        name=experiment["id"],
        title=experiment["title"],
        suite=results.suite,
        label_heads=label_heads,
        heads=(*FACTS.values(), "rows of each class"),
        size_head="",
        rows=tuple(lines),
        notes=tuple(_notes(experiment, results, published, rows)),
        deviations=tuple(experiment["deviations"]),
    )
    return Table(tuple(rows), view)


def _rows(experiment: Mapping[str, Any], results: Results, published: Published, dataset: str) -> Iterable[TidyRow]:
    reason = experiment["absent"].get(dataset)
    facts = results.summaries.get(dataset)
    if facts is None and reason is None:
        reason = "not prepared"
    for metric in FACTS:
        row = _beside(TidyRow(dataset, "", "", metric), published.number(dataset, "", metric))
        if reason is not None:
            yield replace(row, status=UNAVAILABLE, note=reason)
        elif facts.get(metric) is None:
            yield replace(row, status=UNAVAILABLE, note="does not apply")
        else:
            differs = row.published is not None and row.published != facts[metric]
            yield replace(row, mean=float(facts[metric]), mark=DIFFERS if differs else "")
    for name, count in _counts_in_order(facts).items() if reason is None else ():
        yield TidyRow(dataset, "", f"class {name}", CLASS_COUNT, mean=float(count))


def _beside(row: TidyRow, number: PublishedNumber | None) -> TidyRow:
    return row if number is None else replace(row, published=float(number.value))


def _lines(
    experiment: Mapping[str, Any], results: Results, published: Published, rows: list[TidyRow], dataset: str
) -> Iterable[Row]:
    found = {row.metric: row for row in rows if row.dataset == dataset and row.metric in FACTS}
    reasons = {row.note for row in found.values() if row.mean is None}
    if all(row.mean is None for row in found.values()):
        cells = (Cell(f"{UNAVAILABLE}: {'; '.join(sorted(reasons))}", is_word=True),) * (len(FACTS) + 1)
    else:
        counts = list(_counts_in_order(results.summaries[dataset]).values())
        cells = (*(_cell(found[metric]) for metric in FACTS), _class_counts(counts))
    yield Row((dataset, "measured"), cells, REPRODUCED)
    numbers = [published.number(dataset, "", metric) for metric in FACTS]
    if any(numbers):
        printed = [Cell(f"{n.value:,f}", n.mark) if n else Cell(NOT_PRINTED, is_word=True) for n in numbers]
        yield Row((dataset, PUBLISHED), (*printed, Cell(NOT_PRINTED, is_word=True)), PUBLISHED)


def _cell(row: TidyRow) -> Cell:
    return Cell(row.note, is_word=True) if row.mean is None else Cell(f"{row.mean:,.0f}", row.mark)


def _counts_in_order(facts: Mapping[str, Any]) -> dict[str, int]:
    """Rows of each class, in the order of the codes: a JSON mapping is sorted by name."""
    return {name: facts["class_counts"][name] for name in facts["class_names"]}


def _class_counts(counts: list[int]) -> Cell:
    if not counts:
        return Cell("does not apply", is_word=True)
    if len(counts) <= N_LISTED_CLASSES:
        return Cell(" / ".join(f"{count:,}" for count in counts))
    return Cell(f"{min(counts):,} to {max(counts):,}")


def _notes(experiment: Mapping[str, Any], results: Results, published: Published, rows: list[TidyRow]) -> Iterable[str]:
    yield (
        f"Measured: counted in the data as prepared for the suite {results.suite}; encoded features are what a model "
        "sees; training, validation and test rows are those of the first repeat. Classes stand in the order of their "
        f"codes; where there are more than {N_LISTED_CLASSES}, the smallest and the largest count (all are in the CSV)."
    )
    if note := published_note(experiment, published):
        yield note
    if any(row.mark == DIFFERS for row in rows):
        yield "≠: the measured number is not the published one."
    for protocol, names in by_protocol(experiment["datasets"], results).items():
        yield f"Protocol of {', '.join(names)}: {protocol}."
    yield from data_notes(experiment, results, published)
