"""Which repeats of a data set share a split, read off the cells: each has the seed that drew its split."""

import itertools
import math

import pandas as pd

from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import UNAVAILABLE

FIRST_SPLIT, ALL_SPLITS = "first split", "all splits"
NO_REPEATS, ONE_SPLIT, SINGLE = "no repeats of it", "repeats of one split", "one repeat a split"


def splits(cells: Cells, dataset: str) -> list[list[int]]:
    """Return the numbers of the repeats of each split, in the order of their first repeat; empty if nothing has run."""
    groups: dict[int | None, list[int]] = {}
    # Splits do not depend on the model: any that has run tells.
    for cell in next(filter(None, (cells.all(dataset, column) for column in cells.experiment.columns)), []):
        groups.setdefault(cell.seeds["split"], []).append(cell.repeat)
    return list(groups.values())


def are_single(groups: list[list[int]]) -> bool:
    """Return whether no two repeats share a split, so that none stands out as the first one with its repeats."""
    return all(len(group) == 1 for group in groups)


def shared_splits(cells: Cells) -> dict[str, list[list[int]]]:
    """Return the splits of the data sets that have several with several repeats."""
    found = {dataset: splits(cells, dataset) for dataset in cells.experiment.datasets}
    return {name: groups for name, groups in found.items() if len(groups) > 1 and not are_single(groups)}


def parts(cells: Cells, values: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Divide a frame of repeats into the first split of each data set, as the papers show it, and all splits.

    Where there is one split, or each repeat has its own, the first part has all repeats and the second none.
    """
    shared = shared_splits(cells)
    after_first = {name: {repeat for group in groups[1:] for repeat in group} for name, groups in shared.items()}
    later = [row.repeat in after_first.get(row.dataset, ()) for row in values.itertuples()]
    return {FIRST_SPLIT: values[[not one for one in later]], ALL_SPLITS: values[values["dataset"].isin(shared)]}


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


def by_split(cells: Cells, values: pd.DataFrame, n_printed: int) -> pd.DataFrame:
    """Return the frame of repeats with the conditions of its data sets, in the order data set, model, condition."""
    found = []
    for (dataset, _), own in values.groupby(["dataset", "model"], sort=False):
        has_run = own.repeat.notna().any()
        for condition, chosen in conditions(cells, dataset, n_printed).items():
            part = own if isinstance(chosen, str) or not has_run else own[own.repeat.isin(chosen)]
            if isinstance(chosen, str) and has_run:
                part = own.drop_duplicates("metric").assign(value=math.nan, status=UNAVAILABLE, note=chosen)
            found.append(part.assign(condition=condition))
    return pd.concat(found)


def kinds(cells: Cells) -> dict[tuple[int, tuple[int, ...]], list[str]]:
    """Return the data sets with several repeats by number and sizes of their splits (0: each repeat has its own)."""
    found: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for dataset in cells.experiment.present():
        groups = splits(cells, dataset)
        sizes = tuple(sorted({len(group) for group in groups}))
        if sum(map(len, groups)) > 1:
            found.setdefault((0 if are_single(groups) else len(groups), sizes), []).append(dataset)
    return found
