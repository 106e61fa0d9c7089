"""Who is best in a row, and over all rows: each comparison decides, and says in words how it decided.

All of them compare unrounded means. Means are exact to the last bit whatever the order of the repeats, so that equal
results are equal here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RULES = ("none", "best", "best_and_second")


def ranks(values: Mapping[str, float], higher_is_better: bool) -> dict[str, float]:
    """Rank numbers from 1 (best); equal numbers share the average of their ranks.

    Parameters
    ----------
    values : mapping
        Name to number.
    higher_is_better : bool
        Which end is rank 1.

    Returns
    -------
    dict
        Name to rank, in the order of `values`.
    """
    sign = -1 if higher_is_better else 1
    keys = {name: sign * value for name, value in values.items()}
    return {
        name: 1 + sum(other < key for other in keys.values()) + (sum(other == key for other in keys.values()) - 1) / 2
        for name, key in keys.items()
    }


@dataclass(frozen=True)
class RowMarks:
    """Marks the best, or best and second-best, of the columns that a row compares.

    Parameters
    ----------
    rule : {"none", "best", "best_and_second"}
        What the original table marks.
    compared : tuple of str
        Words for the compared columns if not all of them are; empty for all.
    """

    rule: str
    compared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"marks is '{self.rule}'; choose one of {', '.join(RULES)}.")

    def marks(self, values: Mapping[str, float], higher_is_better: bool) -> dict[str, str]:
        """Decide the marks of one row.

        Parameters
        ----------
        values : mapping
            Column to unrounded mean; columns without a number are not in it.
        higher_is_better : bool
            Which end is best.

        Returns
        -------
        dict
            Column to ``best``, ``second`` or ``""``. Equal means share a mark; second is the next distinct value. A
            row with fewer than two numbers compares nothing and marks nothing.
        """
        if self.rule == "none" or len(values) < 2:
            return dict.fromkeys(values, "")
        distinct = sorted(set(values.values()), reverse=higher_is_better)
        given = {distinct[0]: "best"}
        if self.rule == "best_and_second" and len(distinct) > 1:
            given[distinct[1]] = "second"
        return {name: given.get(value, "") for name, value in values.items()}

    def legend(self) -> str:
        """Say what the marks mean; empty if there are none."""
        if self.rule == "none":
            return ""
        words = "Bold: the best mean on a data set" + ("; •: the second-best" if self.rule == "best_and_second" else "")
        among = f", among {_listed(self.compared)}" if self.compared else ""
        return f"{words}{among}. Means are compared before rounding; equal means share a mark. No significance test."


@dataclass(frozen=True)
class AverageRank:
    """Mean over rows of the ranks within a row.

    Parameters
    ----------
    compared : tuple of str
        Words for the ranked columns if not all of them are; empty for all.
    over : str
        Words for the rows that count.
    """

    compared: tuple[str, ...]
    over: str

    def averages(self, rows: Sequence[Mapping[str, float]], higher_is_better: bool) -> tuple[dict[str, float], int]:
        """Average the ranks.

        Parameters
        ----------
        rows : sequence of mappings
            For each row column to unrounded mean.
        higher_is_better : bool
            Which end is rank 1.

        Returns
        -------
        averages : dict
            Column to average rank.
        n_rows : int
            Rows that counted: those where every column has a number that has one in any row.
        """
        columns = list(dict.fromkeys(column for row in rows for column in row))
        ranked = [ranks(row, higher_is_better) for row in rows if len(row) == len(columns)]
        if not ranked:
            return {}, 0
        return {column: sum(rank[column] for rank in ranked) / len(ranked) for column in columns}, len(ranked)

    def legend(self) -> str:
        """Say how the ranks are made."""
        among = f" among {_listed(self.compared)}" if self.compared else ""
        return (
            f"Average rank: rank of the unrounded mean on each data set{among} (1 = best, ties share the average of "
            f"their ranks), averaged over {self.over}; a model without any number is not ranked, a data set where "
            "another one has none is left out."
        )


@dataclass(frozen=True)
class WinTieLose:
    """Counts rows that one column wins, ties and loses against each other column.

    Parameters
    ----------
    reference : str
        The column whose wins are counted.
    label : str
        Its words in the table.
    """

    reference: str
    label: str

    def counts(self, rows: Sequence[Mapping[str, float]], higher_is_better: bool) -> dict[str, tuple[int, int, int]]:
        """Count over the rows in which both columns have a number.

        Parameters
        ----------
        rows : sequence of mappings
            For each row column to unrounded mean.
        higher_is_better : bool
            Which end wins.

        Returns
        -------
        dict
            Other column to (wins, ties, losses); columns that never meet the reference are not in it.
        """
        found: dict[str, tuple[int, int, int]] = {}
        for row in rows:
            if self.reference not in row:
                continue
            for column, value in row.items():
                if column == self.reference:
                    continue
                lead = row[self.reference] - value if higher_is_better else value - row[self.reference]
                wins, ties, losses = found.get(column, (0, 0, 0))
                found[column] = (wins + (lead > 0), ties + (lead == 0), losses + (lead < 0))
        return found

    def legend(self) -> str:
        """Say what counts as a tie."""
        return (
            f"Win/tie/lose: data sets on which the mean of {self.label} is better than, equal to or worse than that of "
            "the other model, both unrounded; only exactly equal means tie, and no test is made."
        )


@dataclass(frozen=True)
class PairedTest:
    """Counts rows that one column wins, ties and loses against each other column, where a test decides what a tie is.

    Parameters
    ----------
    reference : str
        The column whose wins are counted.
    label : str
        Its words in the table.
    level : float
        A row is a tie unless the test's p is below.
    """

    reference: str
    label: str
    level: float = 0.05

    def outcome(self, own: Sequence[float], other: Sequence[float], higher_is_better: bool) -> str | None:
        """Decide one row by a two-sided paired t test.

        Parameters
        ----------
        own, other : sequence of float
            Numbers of the same repeats.
        higher_is_better : bool
            Which end wins.

        Returns
        -------
        str or None
            ``win``, ``tie`` or ``lose`` of `own`; None for fewer than three repeats, of which differences of whole test
            rows are too often the same by chance. Differences that are all the same have no spread, and p is 0.
        """
        from scipy.stats import ttest_1samp

        leads = [a - b if higher_is_better else b - a for a, b in zip(own, other, strict=True)]
        if len(leads) < 3:
            return None
        rounding = 1e-12 * max(map(abs, (*own, *other)))
        if max(leads) - min(leads) <= rounding:
            p = 1.0 if abs(leads[0]) <= rounding else 0.0
        else:
            p = ttest_1samp(leads, 0.0).pvalue
        if not p < self.level:
            return "tie"
        return "win" if sum(leads) > 0 else "lose"

    def legend(self) -> str:
        """Say what counts as a tie."""
        return (
            f"Win/tie/lose of {self.label}, tested: a data set is a tie unless a two-sided paired t test over its "
            f"repeats (folds or seeds) has p < {self.level:g}. A few repeats miss small differences, and folds share "
            "training rows, which such a test takes for independent. Data sets with fewer than three repeats are not "
            "tested."
        )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
