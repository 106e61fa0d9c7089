"""Which repeats of a data set share a split, read off the cells: each has the seed that drew its split."""

import itertools

from cascadeforest.reports.numbers.cells import Cells

FIRST_SPLIT, ALL_SPLITS = "first split", "all splits"
NO_REPEATS, ONE_SPLIT, SINGLE = "no repeats of it", "repeats of one split", "one repeat a split"


def splits(cells: Cells, dataset: str) -> list[list[int]]:
    """Return the numbers of the repeats of each split, in the order of their first repeat; empty if nothing has run."""
    groups: dict[int | None, list[int]] = {}
    # Splits do not depend on the model: the one with most repeats tells.
    for cell in max((cells.all(dataset, column) for column in cells.experiment.columns), key=len, default=[]):
        groups.setdefault(cell.seeds["split"], []).append(cell.repeat)
    return list(groups.values())


def are_single(groups: list[list[int]]) -> bool:
    """Return whether no two repeats share a split, so that none stands out as the first one with its repeats."""
    return all(len(group) == 1 for group in groups)


def parts(cells: Cells) -> dict[str, dict[str, list[int]]]:
    """Return, by data set, the repeats of the first split, as the papers show it, and of all splits; none: all.

    Where there is one split, or each repeat has its own, the first part has all repeats and the second none.
    """
    found = {dataset: splits(cells, dataset) for dataset in cells.experiment.datasets}
    shared = {name: groups[0] for name, groups in found.items() if len(groups) > 1 and not are_single(groups)}
    return {FIRST_SPLIT: {name: shared.get(name, []) for name in found}, ALL_SPLITS: {name: [] for name in shared}}


def split_name(k: int) -> str:
    """Return the condition of a split, counted from 0, as in the published files."""
    return f"split {k + 1}"


def conditions(cells: Cells, dataset: str, n_printed: int) -> dict[str, list[int] | str]:
    """Return the conditions of a data set, each with its repeats or the reason why there are none.

    A data set whose repeats each have a split of their own has one condition, all splits, unless the paper prints
    numbers of single ones; a single repeat is the first of those.
    """
    groups, keys = splits(cells, dataset), [(c, m) for c in cells.experiment.columns for m in cells.experiment.metrics]
    named = [split_name(k) for k in range(n_printed)]
    is_printed = any(cells.published.number(dataset, *key, name) for key in keys for name in named)
    are_told_apart = not are_single(groups) or (len(groups) == 1 and is_printed)
    found: dict[str, list[int] | str] = {}
    for k in range(max(len(groups) if are_told_apart else 0, n_printed if is_printed else 0)):
        found[split_name(k)] = SINGLE if not are_told_apart else groups[k] if k < len(groups) else NO_REPEATS
    if len(found) != 1:
        found[ALL_SPLITS] = ONE_SPLIT if are_told_apart and len(groups) == 1 else sorted(itertools.chain(*groups))
    return found


def kinds(cells: Cells) -> dict[tuple[int, tuple[int, ...]], list[str]]:
    """Return the data sets with several repeats by number and sizes of their splits (0: each repeat has its own)."""
    found: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for dataset in cells.experiment.present():
        groups = splits(cells, dataset)
        sizes = tuple(sorted({len(group) for group in groups}))
        if sum(map(len, groups)) > 1:
            found.setdefault((0 if are_single(groups) else len(groups), sizes), []).append(dataset)
    return found
