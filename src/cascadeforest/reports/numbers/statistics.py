"""What tables count: ranks and marks, average ranks, wins by means, and a paper's own rank-sum test over repeats.

Numbers are compared unrounded. Means are exact sums (`statistics.fmean`), so equal results tie whatever the order of
their repeats.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.numbers.frame import OK
from cascadeforest.reports.numbers.metrics import known_metric

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


def ranked(frame: pd.DataFrame, compared: Sequence[str], rule: str) -> pd.DataFrame:
    """Return the tidy frame with `rank` and `mark` of each mean.

    Models are compared within a data set, condition and metric: those of `compared` have a rank, and of all models the
    best has a mark. Equal means share the average of their ranks, and the mark. A mean that is compared with no other
    has no mark. `rule` is `marks` of the experiment.
    """
    means = frame["mean"] * frame.metric.map(sign)
    line = [frame.dataset, frame.condition, frame.metric]
    groups = means.groupby(line, sort=False)
    places = groups.rank(method="dense").where(groups.transform("count") > 1)
    ranks = means.where(frame.model.isin(compared)).groupby(line, sort=False).rank()
    return frame.assign(rank=ranks, mark=[_MARKS[rule].get(place, "") for place in places])


def average_ranks(means: pd.DataFrame) -> tuple[dict[str, float], int]:
    """Return the average rank of each model that has any number, and the number of data sets that count.

    `means` has data sets as rows and models as columns; the lowest is best. A data set counts if each of these models
    has a number there.
    """
    full = means.dropna(axis=1, how="all").dropna()
    return ({}, 0) if full.empty else (full.rank(axis=1).mean().to_dict(), len(full))


def compare_means(own: Sequence[float], other: Sequence[float], higher_is_better: bool) -> str:
    """Return ``win``, ``tie`` or ``lose`` of `own` by its mean; only equal means tie."""
    lead = fmean(own) - fmean(other)
    return "tie" if lead == 0 else "win" if (lead > 0) == higher_is_better else "lose"


def signed_ranks(differences: Sequence[float]) -> float:
    """Return the two-sided p of Wilcoxon's signed ranks; differences of 0 count half on each side, and 1 if all are."""
    values = list(differences)
    return float(stats.wilcoxon(values, zero_method="zsplit").pvalue) if any(values) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected by Holm (1979): the k-th smallest of n is multiplied by n - k + 1, none above a later.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.5])
    [0.08, 0.03, 0.5]
    """
    found = pd.Series(p_values, dtype=float).sort_values(kind="stable")
    return (found * np.arange(len(found), 0, -1)).clip(upper=1.0).cummax().sort_index().tolist()


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


def complete(values: pd.DataFrame) -> dict[tuple[str, str], list[float]]:
    """Return the numbers of the repeats by data set and model, where no repeat lacks one."""
    groups = values.groupby(["dataset", "model"], sort=False)
    return {key: part["value"].tolist() for key, part in groups if (part.status == OK).all()}


def mark_worse(
    frame: pd.DataFrame,
    values: pd.DataFrame,
    test: RankSumTest,
    columns: Collection[str],
    place: str,
    second: bool = False,
) -> pd.DataFrame:
    """Return the tidy frame with the mark `WORSE` of the `columns` that a test finds worse than its column.

    `second`: of a second test, whose mark is another one. `ConfigError` if the test, the option at `place`, cannot be
    made of these columns.
    """
    tested, found = test.tested(columns, place), complete(values)
    marks = {WORSE: WORSE_BOTH} if second else {}

    def is_worse(row: Any) -> bool:
        own, other = found.get((row.dataset, test.column), []), found.get((row.dataset, row.model), [])
        return bool(row.model in tested and own and other) and test.is_better(own, other, sign(row.metric) < 0)

    own = WORSE_2 if second else WORSE
    return frame.assign(mark=[marks.get(row.mark, own) if is_worse(row) else row.mark for row in frame.itertuples()])
