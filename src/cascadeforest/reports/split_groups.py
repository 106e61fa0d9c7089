"""Which repeats of a data set share a split.

The protocol decides (`cascadeforest.data.splits`). Here it is read off the cells, each of which has the seed that drew
its split: no second place has to know how repeats are dealt out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from cascadeforest.reports.results import Results, present
from cascadeforest.reports.tidy import TidyRow

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


@dataclass(frozen=True)
class SplitPart:
    """What a table shows of repeats: the first split of each data set, as the papers do, or all splits.

    Parameters
    ----------
    name : str
        `FIRST_SPLIT` or `ALL_SPLITS`.
    experiment : mapping
        The experiment of the plan with the repeats of this part.
    splits : mapping
        Data set to the repeats of each of its splits; empty if there is one split, or each repeat has its own. Then the
        part of the first split has all repeats, and that of all splits nothing.
    """

    name: str
    experiment: Mapping[str, Any]
    splits: Mapping[str, tuple[tuple[int, ...], ...]]

    @property
    def is_first(self) -> bool:
        """Whether it is that of the first split, beside which the paper's numbers stand."""
        return self.name == FIRST_SPLIT

    @property
    def datasets(self) -> list[str]:
        """Data sets that it shows."""
        return [name for name in self.experiment["datasets"] if self.is_first or self.splits[name]]

    def groups(self, dataset: str) -> tuple[tuple[int, ...], ...]:
        """Repeats that are not independent of each other, for a test over all splits; empty if all are."""
        return () if self.is_first else self.splits[dataset]

    def label(self, words: str, dataset: str) -> str:
        """Head of a line; it names the part where a data set has both."""
        return f"{words}, {self.name}" if self.splits[dataset] else words

    def condition(self, words: str = "") -> str:
        """Condition of a number; those of the first split are named as if there were no other."""
        return words if self.is_first else ", ".join(filter(None, [words, self.name]))

    def row(self, row: TidyRow, words: str = "") -> TidyRow:
        """A number of this part, which is not ranked: columns are compared two by two."""
        row = replace(row, condition=self.condition(words), rank=None, mark="")
        return row if self.is_first else replace(row, published=None, published_std=None)


def split_parts(experiment: Mapping[str, Any], results: Results) -> tuple[SplitPart, SplitPart]:
    """Divide what a table shows into the first split of each data set, and all splits.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.

    Returns
    -------
    first, every : SplitPart
        Repeats of a split follow each other (`cascadeforest.data.splits`), so that a number bounds those of the first.
    """
    splits, n_first = {}, dict(experiment["repeats"])
    for dataset in experiment["datasets"]:
        found = split_groups(experiment, results, dataset)
        splits[dataset] = () if found.are_single or len(found.groups) == 1 else found.groups
        if splits[dataset]:
            n_first[dataset] = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], enumerate(found.groups[0])))
    first = SplitPart(FIRST_SPLIT, {**experiment, "repeats": n_first}, splits)
    return first, SplitPart(ALL_SPLITS, experiment, splits)


def first_split_notes(experiment: Mapping[str, Any], results: Results) -> Iterable[str]:
    """Say which repeats the parts of `split_parts` have.

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

    def words(found: SplitGroups) -> str:
        if found.are_single:
            return "each repeat has a split of its own; shown are all of them"
        if len(found.groups) == 1:
            return f"the repeats share one split{_SEEDS}"
        return (
            f"the repeats of the {FIRST_SPLIT} share it{_SEEDS}. Of {ALL_SPLITS} ({len(found.groups)}) the spread "
            "is that over all repeats"
        )

    yield from _said_together(experiment, results, words)


def split_notes(experiment: Mapping[str, Any], results: Results) -> Iterable[str]:
    """Say what the deviation over all repeats is about, where some may share a split.

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

    def words(found: SplitGroups) -> str:
        if found.are_single:
            return "each repeat has a split of its own"
        if len(found.groups) == 1:
            return "the repeats share one split and differ in the seed of the model only"
        sizes = sorted({len(group) for group in found.groups})
        return (
            f"{len(found.groups)} splits of {' or '.join(map(str, sizes))} repeats each, which differ in the seed of "
            "the model; the deviation is over all of them. The paper's numbers are of one split"
        )

    yield from _said_together(experiment, results, words)


def _said_together(
    experiment: Mapping[str, Any], results: Results, words: Callable[[SplitGroups], str]
) -> Iterable[str]:
    """Sentences on data sets with several repeats; those of which the same is said share one."""
    kinds: dict[str, list[str]] = {}
    for dataset in present(experiment):
        found = split_groups(experiment, results, dataset)
        if sum(map(len, found.groups)) > 1:
            kinds.setdefault(words(found), []).append(dataset)
    for said, datasets in kinds.items():
        yield f"{', '.join(datasets)}: {said}."
