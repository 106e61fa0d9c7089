"""Which repeats of a data set share a split.

The protocol decides (`cascadeforest.data.splits`). Here it is read off the cells, each of which has the seed that drew
its split: no second place has to know how repeats are dealt out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from cascadeforest.reports.results import Results, present

FIRST_SPLIT, ALL_SPLITS = "first split", "all splits"
_SEEDS = " and differ in the seed of the model only: their spread, and a test over them, say nothing of other splits"


@dataclass(frozen=True)
class SplitGroups:
    """Repeats of one data set by their split.

    Parameters
    ----------
    groups : tuple of tuples of int
        Numbers of the repeats of each split, splits in the order of their first repeat; empty if nothing has run.
    """

    groups: tuple[tuple[int, ...], ...]

    @property
    def are_single(self) -> bool:
        """Whether no two repeats share a split, so that none stands out as 'the first split' with its runs."""
        return all(len(group) == 1 for group in self.groups)


def split_groups(experiment: Mapping[str, Any], results: Results, dataset: str) -> SplitGroups:
    """Group the repeats of a data set that an experiment shows.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells. Splits do not depend on the model: any that has run tells.
    dataset : str
        One of its rows.

    Returns
    -------
    SplitGroups
    """
    groups: dict[int | None, list[int]] = {}
    for preset in experiment["columns"].values() if dataset in present(experiment) else ():
        if cells := results.cells(dataset, preset, experiment["repeats"][dataset]):
            for cell in cells:
                groups.setdefault(cell["seeds"]["split"], []).append(cell["repeat"])
            break
    return SplitGroups(tuple(map(tuple, groups.values())))


def split_repeats(experiment: Mapping[str, Any], results: Results, dataset: str) -> tuple[tuple[int, ...], ...]:
    """Return the repeats of each split, where there are several splits of which one has several repeats.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    dataset : str
        One of its rows.

    Returns
    -------
    tuple of tuples of int
        Empty where the first split is no part of the repeats that could be shown beside all of them.
    """
    found = split_groups(experiment, results, dataset)
    return () if found.are_single or len(found.groups) == 1 else found.groups


def on_first_split(experiment: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Bound the repeats of an experiment to those of each data set's first split.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.

    Returns
    -------
    dict
        The experiment with fewer repeats. Where each repeat has a split of its own it keeps all of them.
    """
    return {**experiment, "repeats": {name: _on_first(experiment, results, name) for name in experiment["datasets"]}}


def _on_first(experiment: Mapping[str, Any], results: Results, dataset: str) -> int:
    found = split_groups(experiment, results, dataset)
    if found.are_single:
        return experiment["repeats"][dataset]
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], enumerate(found.groups[0])))


def first_split_notes(experiment: Mapping[str, Any], results: Results) -> Iterable[str]:
    """Say which repeats stand in the lines of the first split, and which in those of all splits.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan, as it is there.
    results : Results
        Its cells.

    Yields
    ------
    str
    """
    kinds: dict[str, list[str]] = {}
    for dataset in present(experiment):
        found = split_groups(experiment, results, dataset)
        if not found.groups or experiment["repeats"][dataset] == 1:
            continue
        if found.are_single:
            words = "each repeat has a split of its own; shown are all of them"
        elif len(found.groups) == 1:
            words = f"the repeats share one split{_SEEDS}"
        else:
            words = (
                f"the repeats of the {FIRST_SPLIT} share it{_SEEDS}. Of {ALL_SPLITS} ({len(found.groups)}) the spread "
                "is that over all repeats, and the test compares the means of the splits"
            )
        kinds.setdefault(words, []).append(dataset)
    for words, datasets in kinds.items():
        yield f"{', '.join(datasets)}: {words}."
