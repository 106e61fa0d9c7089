"""What models did while they were fitted: layers, interactions, rows decided early, and what was chosen."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cascadeforest.experiments.plan import Pair
from cascadeforest.experiments.records import ScoredCell
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow

#: Condition of these rows, which tells layers that were kept from layers as a metric of the table.
GROWTH = "growth"
KEPT, GROWN, INTERACTIONS, MOST = "n_layers", "grown_layers", "interactions", "most_interactions"
#: Shares of all rows: decided before the last layer, and found easy by DDBF's first iteration.
_EARLY = {"early_share_train": "train", "early_share_test": "test"}
EASY_TRAIN, EASY_TEST = "easy_share_train", "easy_share_test"
#: Numbers that models choose, by the name in the cell.
CHOSEN = {"gamma": "gamma", "mu": "mu", "theta": "theta", "a": "screening_a", "n_hard": "hard_rows"}
#: The extra that has the test rows.
DECIDED = "decided_rows"
METRICS = (KEPT, GROWN, INTERACTIONS, MOST, *_EARLY, EASY_TRAIN, EASY_TEST, *CHOSEN.values())


def growth_numbers(cells: Cells, pair: Pair) -> dict[str, list[float]]:
    """Return, by metric, a number for each repeat; nothing where no model ran that has any."""
    own = [_of_cell(cells, cell) for cell in cells.all(*pair)]
    return {name: [one[name] for one in own] for name in METRICS if own and all(name in one for one in own)}


def _of_cell(cells: Cells, cell: ScoredCell) -> dict[str, float]:
    found: dict[str, Any] = {metric: cell.chosen.get(name) for name, metric in CHOSEN.items()}
    curves, growth = cell.curves, cell.growth
    if growth is not None:
        found |= {KEPT: growth.n_kept, GROWN: growth.n_grown}
    if "new_interactions" in curves:
        # Layers that were dropped have found interactions too, which predict nothing.
        own = curves["new_interactions"][: growth.n_kept if growth else None]
        found |= {INTERACTIONS: sum(own), MOST: max(own, default=0)}
    saved = cells.results.arrays(cell, DECIDED) if DECIDED in cell.extras else {}
    if "train" in saved:
        found |= {name: 1 - saved[part][-1] / saved[part].sum() for name, part in _EARLY.items()}
    if "easy_rows" in curves:
        found[EASY_TRAIN] = curves["easy_rows"][0] / curves["rows"][0]
    if "easy_test" in saved:
        found[EASY_TEST] = int(saved["easy_test"]) / cell.n_test
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def growth_rows(cells: Cells) -> Iterable[TidyRow]:
    """Yield these numbers as tidy rows, means over the repeats; they have no published number."""
    for pair in cells.pairs:
        for name, values in growth_numbers(cells, pair).items():
            yield replace(cells.row(*pair, GROWTH, name, values), published=None)


def without_layers(cells: Cells) -> Iterable[tuple[str, int, int]]:
    """Yield label, fits without any layer, and all fits, of columns that have such fits.

    A control that searches for no interactions can have no layer of them.
    """
    for column in cells.experiment.columns:
        own = [pair for pair in cells.pairs if pair[1] == column]
        kept = [n for pair in own for n in growth_numbers(cells, pair).get(KEPT, [])]
        if kept.count(0) and not any(_searches_nothing(cell) for pair in own for cell in cells.all(*pair)):
            yield cells.label(column), kept.count(0), len(kept)


def layers_with_interactions(cells: Cells) -> Iterable[tuple[str, list[int], int]]:
    """Yield name, layers that found new interactions in some repeat, and all layers, where repeats have as many.

    Of several repeats only models with a layer that never found any are told.
    """
    for dataset, column in cells.pairs:
        own = cells.all(dataset, column)
        curves = [cell.curves.get("new_interactions", ()) for cell in own]
        n = len(curves[0]) if len(set(map(len, curves))) == 1 else 0
        having = [k + 1 for k in range(n) if any(curve[k] for curve in curves)]
        if n > 1 and not _searches_nothing(own[0]) and (len(own) == 1 or len(having) < n):
            yield cells.name(dataset, column), having, n


def hardly_easy(cells: Cells) -> Iterable[tuple[str, list[str]]]:
    """Yield label and data sets where the first iteration of no repeat finds a hundredth of the training rows easy."""
    for column in cells.experiment.columns:
        found = {name: growth_numbers(cells, (name, column)).get(EASY_TRAIN) for name in cells.experiment.present()}
        if places := [name for name, shares in found.items() if shares and max(shares) < 0.01]:
            yield cells.label(column), places


def _searches_nothing(cell: ScoredCell) -> bool:
    return cell.params.get("n_bootstraps") == 0
