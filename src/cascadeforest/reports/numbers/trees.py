"""Numbers of trees of forests and cascades, as the plan of the suite has them and as the paper prints them."""

import re
from typing import NamedTuple, TypeAlias, cast

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.numbers.cells import Cells

TREES, LAYERS = "n_estimators", "max_layers"
_CONDITION = re.compile(r"(\d+) trees")
#: Two columns that are compared, and pairs of them with equal numbers of trees.
Pair: TypeAlias = tuple[str, str]
Rung: TypeAlias = list[Pair]


class Size(NamedTuple):
    """Trees of each forest of a model, and forests one after the other, at most (None: it is one forest)."""

    trees: int
    layers: int | None

    @property
    def total(self) -> int:
        """Trees of all forests."""
        return self.trees * (self.layers or 1)

    def __str__(self) -> str:
        """Write the size as in conditions of the tidy rows: ``50``, ``3 × 17``."""
        return f"{self.trees:,}" if self.layers is None else f"{self.layers} × {self.trees:,}"


def size(cells: Cells, column: str) -> Size | None:
    """Return the trees of a column with the suite's bounds, None without a run; `ConfigError` if data sets differ."""
    preset, found = cells.experiment.columns[column], {}
    for dataset in cells.experiment.present():
        if (run := cells.results.plan.run(dataset, preset)) is not None and TREES in run.params:
            found[dataset] = Size(cast(int, run.params[TREES]), cast("int | None", run.params.get(LAYERS)))
    if len(set(found.values())) > 1:
        told = ", ".join(f"{one} on {dataset}" for dataset, one in found.items())
        raise ConfigError(
            f"config/models.yaml: {preset} has other numbers of trees on other data sets ({told}), but in "
            f"{cells.experiment.id} it is one column. Take its 'dataset_params' out."
        )
    return next(iter(found.values()), None)


def printed_trees(cells: Cells, column: str) -> str:
    """Return the trees of a forest for which the paper prints the numbers of a column; empty if it does not say."""
    found = _CONDITION.fullmatch(cells.published.place(column)[1])
    return found[1] if found else ""


def rungs(pairs: tuple[Pair, ...], sizes: dict[str, Size | None]) -> list[Rung]:
    """Return the pairs, those together whose sizes a suite made equal."""
    groups: dict[object, Rung] = {}
    for pair in pairs:
        both = tuple(sizes[column] for column in pair)
        groups.setdefault(pair if both == (None, None) else both, []).append(pair)
    return list(groups.values())


def is_bounded(cells: Cells, rung: Rung, sizes: dict[str, Size | None]) -> bool:
    """Return whether the models have not, or not only, the numbers of trees that the paper has."""
    known = [(printed_trees(cells, column), own) for column in rung[0] if (own := sizes[column]) is not None]
    return len(rung) > 1 or any(printed and printed != str(own.trees) for printed, own in known)
