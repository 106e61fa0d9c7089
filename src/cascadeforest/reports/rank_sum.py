"""Marks of columns that one column is significantly better than, by a rank-sum test over the repeats."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cascadeforest.data.errors import ConfigError

#: The only test that ``options/test/kind`` can name.
KIND = "rank_sum"
_KEYS = frozenset({"kind", "level", "column", "against"})
#: Mark of a column that is significantly worse, as the papers' files have it.
WORSE = "worse"


@dataclass(frozen=True)
class RankSumTest:
    """Marks what one column is significantly better than.

    Parameters
    ----------
    reference : str
        The column.
    label : str
        Its words in the table.
    level : float
        Significant is a p below.
    """

    reference: str
    label: str
    level: float

    def is_better(self, own: Sequence[float], other: Sequence[float], higher_is_better: bool) -> bool:
        """Whether `own` is significantly better by Wilcoxon's rank-sum test (two-sided, normal approximation).

        Parameters
        ----------
        own, other : sequence of float
            A number for each repeat.
        higher_is_better : bool
            Which end is best.

        Returns
        -------
        bool
            Never if the mean is not better: ranks and means can disagree, and what is best is not marked worse.
        """
        from scipy.stats import ranksums

        lead = statistics.fmean(own) - statistics.fmean(other)
        if (lead if higher_is_better else -lead) <= 0:
            return False
        statistic, p = ranksums(own, other)
        return bool(p < self.level and (statistic > 0) == higher_is_better)

    def legend(self) -> str:
        """Say what the mark means."""
        return (
            f"•: {self.label} is significantly better (Wilcoxon's rank-sum test over the repeats, two-sided, level "
            f"{self.level:g}, normal approximation: with three repeats it finds more than the exact test would, with "
            "two nothing)."
        )


def rank_sum_test(
    experiment: Mapping[str, Any], columns: Iterable[str], labels: Mapping[str, str]
) -> tuple[RankSumTest, list[str]]:
    """Read ``options: {test: {kind: rank_sum, level: 0.1, column: ..., against: [...]}}``.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    columns : iterable of str
        Columns that the test can be about.
    labels : mapping
        Their words in the table.

    Returns
    -------
    test : RankSumTest
    against : list of str
        Columns that are tested: those of `against`, by default all others.

    Raises
    ------
    ConfigError
        If a key is missing, unknown or cannot be used.
    """
    place = f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}/options/test"
    columns, given = list(columns), experiment["options"].get("test")
    if not isinstance(given, Mapping) or not {"kind", "level", "column"} <= given.keys() <= _KEYS:
        raise ConfigError(f"{place} is {given!r}; give {{kind: {KIND}, level: 0.1, column: ...}}, and against: [...].")
    if given["kind"] != KIND:
        raise ConfigError(f"{place}/kind is {given['kind']!r}; only '{KIND}' is known.")
    level = given["level"]
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ConfigError(f"{place}/level is {level!r}; give a number between 0 and 1.")
    reference = given["column"]
    against = given.get("against", [column for column in columns if column != reference])
    against = [against] if isinstance(against, str) else list(against)
    for key, column in (("column", reference), *(("against", column) for column in against)):
        if column not in columns:
            raise ConfigError(f"{place}/{key} is '{column}'; choose from {', '.join(columns)}.")
    if reference in against:
        raise ConfigError(f"{place}/against has '{reference}', which is the column that others are tested against.")
    return RankSumTest(reference, labels[reference], float(level)), against
