"""What tables count: ranks and marks, average ranks, wins by means, and a paper's own rank-sum test over repeats.

Numbers are compared with `PLACES` decimal places: equal results of two processors can differ by the last bit of a sum.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import pandas as pd
from scipy import stats

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.metrics import known_metric

#: Decimal places of numbers that are compared.
PLACES = 12
#: Mark of a model that another one is significantly better than, as the papers' files have it.
WORSE = "worse"
#: The same of a second test, and of both tests.
WORSE_2, WORSE_BOTH = "worse_2", "worse_both"
#: Place among the distinct means of a line to mark, by the rule of the experiment.
_MARKS: dict[str, dict[float, str]] = {"none": {}, "best": {1: "best"}, "best_and_second": {1: "best", 2: "second"}}


def sign(metric: str) -> float:
    """Return -1 where higher is better, 1 where lower is, and NaN where neither is."""
    higher = known_metric(metric).higher_is_better
    return math.nan if higher is None else -1.0 if higher else 1.0


def ranked(rows: Iterable[TidyRow], compared: Collection[str], rule: str) -> list[TidyRow]:
    """Return the tidy rows with `rank` and `mark` of each mean.

    Models are compared within a data set, condition and metric: those of `compared` have a rank, and of all models the
    best has a mark. Equal means share the average of their ranks, and the mark. A mean that is compared with no other
    has no mark. `rule` is `marks` of the experiment.
    """
    lines: dict[tuple[str, ...], dict[str, float]] = {}
    for row in (rows := list(rows)):
        if row.mean is not None and not math.isnan(mean := round(sign(row.metric) * row.mean, PLACES)):
            lines.setdefault((row.dataset, row.condition, row.metric), {})[row.model] = mean
    found = []
    for row in rows:
        means = lines.get((row.dataset, row.condition, row.metric), {})
        if (own := means.get(row.model)) is not None:
            others = [means[name] for name in compared if name in means]
            rank = (1 + sum(other < own for other in others) + sum(other <= own for other in others)) / 2
            place = sorted(set(means.values())).index(own) + 1 if len(means) > 1 else 0
            row = replace(row, rank=rank if row.model in compared else None, mark=_MARKS[rule].get(place, ""))
        found.append(row)
    return found


def average_ranks(means: pd.DataFrame) -> tuple[dict[str, float], int]:
    """Return the average rank of each model that has any number, and the number of data sets that count.

    `means` has data sets as rows and models as columns; the lowest is best. A data set counts if each of these models
    has a number there.
    """
    full = means.round(PLACES).dropna(axis=1, how="all").dropna()
    return ({}, 0) if full.empty else (full.rank(axis=1).mean().to_dict(), len(full))


def compare_means(own: Sequence[float], other: Sequence[float], higher_is_better: bool) -> str:
    """Return ``win``, ``tie`` or ``lose`` of `own` by its mean; only equal means tie."""
    lead = round(fmean(own) - fmean(other), PLACES)
    return "tie" if lead == 0 else "win" if (lead > 0) == higher_is_better else "lose"


def signed_ranks(differences: Sequence[float]) -> float:
    """Return the two-sided p of Wilcoxon's signed ranks; differences of 0 count half on each side, and 1 if all are."""
    values = list(differences)
    return float(stats.wilcoxon(values, zero_method="zsplit").pvalue) if any(values) else 1.0


@dataclass(frozen=True)
class RankSumTest:
    """Wilcoxon's rank-sum test of one column against others, by default all; significant is a p below `level`."""

    kind: Literal["rank_sum"]
    level: float
    column: str
    against: str | tuple[str, ...] = ()

    def tested(self, columns: Collection[str], place: str) -> list[str]:
        """Return the columns that are tested against; `ConfigError` if the level or a column cannot be used."""
        named = self.named()
        if not 0 < self.level < 1:
            raise ConfigError(f"{place}/level is {self.level!r}; give a number between 0 and 1.")
        for key, column in (("column", self.column), *(("against", column) for column in named)):
            if column not in columns:
                raise ConfigError(f"{place}/{key} is '{column}'; choose from {', '.join(columns)}.")
        if self.column in named:
            raise ConfigError(f"{place}/against has '{self.column}', the column that is tested against the others.")
        return named or [column for column in columns if column != self.column]

    def named(self) -> list[str]:
        """Return the columns that the option names to be tested against."""
        return [self.against] if isinstance(self.against, str) and self.against else list(self.against)

    def is_better(self, own: Sequence[float], other: Sequence[float], higher_is_better: bool) -> bool:
        """Return whether `own` is significantly better (two-sided, normal approximation).

        It never is if its mean is not better: ranks and means can disagree, and what is best is not marked as worse.
        """
        statistic, p = stats.ranksums(own, other)
        better = compare_means(own, other, higher_is_better) == "win"
        return better and bool(p < self.level) and (statistic > 0) == higher_is_better


def mark_worse(
    rows: Iterable[TidyRow], place: str, tests: Iterable[tuple[RankSumTest | None, Collection[str]]]
) -> list[TidyRow]:
    """Return the tidy rows with the mark of what a test, and a second one, finds worse than its column.

    `tests` has the options `test` and `second_test` at `place`, with the columns that each has; `ConfigError` if one
    cannot be made of these.
    """
    found = list(rows)
    values = {row.key: row.values for row in found}
    for (option, mark), (test, columns) in zip((("test", WORSE), ("second_test", WORSE_2)), tests, strict=True):
        tested = test.tested(columns, f"{place}/{option}") if test else ()
        for k, row in enumerate(found):
            own = values.get((row.dataset, test.column, *row.key[2:])) if test and row.model in tested else ()
            if test and own and row.values and test.is_better(own, row.values, sign(row.metric) < 0):
                found[k] = replace(row, mark=WORSE_BOTH if row.mark == WORSE else mark)
    return found
