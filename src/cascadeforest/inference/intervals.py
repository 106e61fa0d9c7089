"""Estimates of the difference of two models with their intervals, one for each design, and what an interval decides.

Intervals are of 95 % without a correction for the number of comparisons, unless another tail is asked for.
`cascadeforest.reports.numbers.differences` chooses the one that fits the design of a data set.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import special, stats

#: Probability beyond each end of an interval.
TAIL: Final = 0.025
#: With this probability the smallest difference that could be found is found.
POWER: Final = 0.8
#: A ratio of costs is this much less certain than its repeats say, since they are of one machine.
MACHINE: Final = 1.2
#: By this factor a single timing may be wrong.
SINGLE_TIMING: Final = 1.5
#: Of more repeats than this, a subgroup of 2 ** FLIP_BITS changes of sign is tried.
FLIP_BITS: Final = 16
#: A primitive polynomial of this degree: x^16 + x^12 + x^3 + x + 1.
_PRIMITIVE: Final = 0x1100B

Outcome: TypeAlias = Literal["win", "equivalent", "lose", "undecided"]


@dataclass(frozen=True)
class Shares:
    """Parts of the variance of a mean difference over test rows and seeds; they sum to 1 (0: there is no variance)."""

    rows: float  # of other test rows: it stays, however many seeds are run
    seeds: float  # of other seeds of the models
    rest: float  # of rows and seeds together


@dataclass(frozen=True)
class Estimate:
    """An estimate with what its interval needs."""

    value: float  # in the unit of the metric; of a ratio its logarithm
    error: float  # standard error
    df: float = math.inf  # degrees of freedom of the error; infinite: a normal approximation, 0: there is no interval
    widen: float = 0.0  # by so much both ends lie farther out, whatever the level
    leads: tuple[float, ...] = ()  # differences of repeats whose signs an exact test flips; the ends are then its
    shares: Shares | None = None  # where the variance comes from, for a given test set and several seeds
    n_rows: int = 0  # test rows behind it, where rows are what varies

    def ends(self, tail: float) -> tuple[float, float]:
        """Return the ends of the interval with this probability beyond each; infinite where nothing is excluded."""
        if self.df <= 0:
            return -math.inf, math.inf
        if self.leads:
            return _flip_ends(self.leads, tail, min(len(self.leads), FLIP_BITS))
        half = self.error * quantile(1 - tail, self.df) + self.widen
        return self.value - half, self.value + half

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        return self.ends(TAIL)

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.interval[1]

    @property
    def detectable(self) -> float:
        """Smallest difference that is found with a probability of `POWER`, from the standard error alone."""
        return self.error * (quantile(1 - TAIL, self.df) + quantile(POWER, self.df))

    @property
    def excludes_zero(self) -> bool:
        """Whether a difference is found."""
        return self.low > 0 or self.high < 0

    def rows_needed(self, difference: float) -> int | None:
        """Return how many test rows would find a difference whatever the number of seeds; None if these rows can.

        Seeds take the variance of seeds and of the rest away, never that of the rows.
        """
        if self.shares is None or not self.n_rows:
            return None
        of_rows = math.sqrt(self.shares.rows) * Estimate(0.0, self.error).detectable
        return math.ceil(self.n_rows * (of_rows / difference) ** 2) if of_rows > difference else None


def quantile(share: float, df: float) -> float:
    """Return a quantile of Student's t, or of the normal distribution if `df` is infinite."""
    return float(special.stdtrit(df, share) if math.isfinite(df) else special.ndtri(share))


# A given test set --------------------------------------------------------------------------------------------------


def given_test_set(differences: np.ndarray, strata: np.ndarray | None = None) -> Estimate:
    r"""Estimate over test rows and seeds, for models trained and tested on the same rows.

    In a two-way layout of rows and seeds, the variance of the mean is estimated by
    :math:`\max(MS_\mathrm{row} + MS_\mathrm{seed} - MS_\mathrm{err}, MS_\mathrm{row}, MS_\mathrm{seed}) / (n S)`, with
    Satterthwaite's (1946) degrees of freedom. A t test over seeds takes the test rows for all there are, and a test
    over rows the seeds: both find differences where there are none.

    `differences`, of shape (n_rows, n_seeds), has what each test row adds to the metric with each seed, one model minus
    the other; the mean over the rows is the difference of the metrics (`cascadeforest.reports.numbers.rows`). With one
    seed the interval is that of this fit: rows vary only. `strata`, of shape (n_rows,), are classes within which rows
    vary. Rows of each class are then taken for given in number: for areas under the ROC curve this is the variance of
    DeLong et al. (1988) within each seed. `ValueError` for fewer than two rows (of a class).
    """
    groups = [differences] if strata is None else [differences[strata == code] for code in np.unique(strata)]
    smallest = min(map(len, groups))
    _at_least_two(smallest, "test rows" if strata is None else "test rows of a class")
    (n_rows, n_seeds), of_seeds = differences.shape, differences.mean(axis=0)
    mean, sizes = float(of_seeds.mean()), np.array([len(group) for group in groups])

    def of_groups(columns: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Parts of the groups in the variance over rows of the mean."""
        variances = np.array([columns(group).var(axis=0, ddof=1).mean() for group in groups])
        return (sizes / n_rows) ** 2 * variances / sizes

    # MS_row / (n S), and MS_seed / (n S): variances of a mean over both.
    rows = of_groups(lambda group: group.mean(axis=1, keepdims=True))
    row = float(rows.sum())
    row_df = _satterthwaite(rows, sizes - 1) if row else smallest - 1.0
    if n_seeds == 1:
        return Estimate(mean, math.sqrt(row), row_df, n_rows=n_rows)
    seed = float(of_seeds.var(ddof=1)) / n_seeds
    # The variance over rows within a seed has MS_row + (S - 1) MS_err.
    err = max(float(of_groups(lambda group: group).sum()) - row, 0.0) / (n_seeds - 1)
    df = {row: row_df, seed: n_seeds - 1.0}
    if row + seed - err > max(row, seed):
        df[row + seed - err] = _satterthwaite([row, seed, -err], [row_df, n_seeds - 1, row_df * (n_seeds - 1)])
    variance = max(df)
    parts = np.array([max(row - err, 0.0), max(seed - err, 0.0), err])
    shares = Shares(*map(float, parts / parts.sum())) if parts.any() else Shares(0.0, 0.0, 0.0)
    return Estimate(mean, math.sqrt(variance), df[variance], shares=shares, n_rows=n_rows)


def _satterthwaite(parts: Sequence[float] | np.ndarray, df: Sequence[float] | np.ndarray) -> float:
    """Degrees of freedom of a sum of variances that have their own."""
    return float(np.sum(parts) ** 2 / np.sum(np.square(parts) / df))


def equal_rows(n_rows: int) -> Estimate:
    """Estimate of a difference that is 0 on every test row, of a metric that a row moves by 1 at most.

    The rows say only that the models rarely differ: with a share of more than 1 - 0.05^(1/n), about 3 / n, one of n
    rows would have differed with a probability of 95 %. The difference is at most this share.
    """
    most = 1 - (2 * TAIL) ** (1 / n_rows)
    return Estimate(0.0, most / quantile(1 - TAIL, math.inf), n_rows=n_rows)


# Folds and repeated splits -----------------------------------------------------------------------------------------


def repeated_splits(differences: Sequence[float], test_to_train: float) -> Estimate:
    r"""Estimate over folds or repeated splits of one set of rows (Nadeau and Bengio 2003, section 3.3).

    Training sets overlap, so the variance over J splits, divided by J, is too small. It is multiplied by
    :math:`1/J + n_\mathrm{test}/n_\mathrm{train}` instead. `differences` has one for each split, of one model minus
    the other; `test_to_train` is the number of test rows divided by that of training rows. `ValueError` for fewer than
    two splits.
    """
    values, n = np.array(differences, float), len(differences)
    _at_least_two(n, "repeats")
    return Estimate(float(values.mean()), math.sqrt(float(values.var(ddof=1)) * (1 / n + test_to_train)), n - 1)


def pooled_rows(rows: np.ndarray, differences: np.ndarray) -> Estimate:
    """Estimate over the test rows of several splits, for the models trained on these training sets.

    Bayle et al. (2020), 'Cross-validation confidence intervals for test error', section 3: the differences of all test
    rows are pooled. There each row is tested once; a row that several splits test counts as one here: `rows` has the
    number of the row that each difference belongs to. `ValueError` for fewer than two rows.
    """
    _, place = np.unique(rows, return_inverse=True)
    n = int(place.max(initial=-1)) + 1
    _at_least_two(n, "test rows")
    mean = float(differences.mean())
    of_row = np.bincount(place, differences - mean)
    variance = float((of_row**2).sum()) / len(differences) ** 2 * n / (n - 1)
    return Estimate(mean, math.sqrt(variance), n - 1, n_rows=n)


# Training sets of their own ----------------------------------------------------------------------------------------


def paired_t(differences: Sequence[float]) -> Estimate:
    """Estimate over repeats that each have training and test rows of their own, as made data can: paired t."""
    return repeated_splits(differences, 0.0)


def sign_flips(differences: Sequence[float]) -> Estimate:
    """Estimate over repeats with small training draws: the exact test that flips signs, inverted (Hartigan 1969).

    The differences that the test does not reject lie between two of the means of subsets of the repeats (the repeats
    that are flipped), so that nothing is approximated. Fewer than six repeats cannot reject anything at 5 %.

    Up to 16 repeats all subsets count. Of n repeats beyond, 65,536 of the 2^n do: those of a subgroup of all flips. The
    test of a subgroup has the same exact level, whatever n; Hartigan calls its subsets balanced. Here they are the
    words of the simplex code, shortened to n: repeat i has the number alpha^i of the field of 2^16 elements, and a
    subset has the repeats whose number has an odd number of ones in common with that of the subset. No repeat is then
    tied to another one: any two are flipped together, apart, and not at all, equally often.
    """
    return replace(paired_t(differences), leads=tuple(map(float, differences)))


@lru_cache(maxsize=4096)
def _flip_ends(leads: tuple[float, ...], tail: float, n_bits: int) -> tuple[float, float]:
    """Ends of the interval of `sign_flips`."""
    rejected = int(tail * 2**n_bits)
    if not rejected:
        return -math.inf, math.inf
    codes = [1]
    while len(codes) < len(leads):
        code = codes[-1] << 1
        codes.append(code ^ _PRIMITIVE if code >> FLIP_BITS else code)
    both = np.zeros((2, 2**n_bits))  # sums and sizes of the subsets
    both[:, codes] = leads, np.ones(len(leads))
    _sum_where_odd(both, n_bits)
    means = both[0, 1:] / both[1, 1:]
    ends = np.partition(means, [rejected - 1, len(means) - rejected])[[rejected - 1, len(means) - rejected]]
    # A mean that is 0 but for rounding is 0: an end of 1e-18 would exclude it.
    low, high = np.where(np.abs(ends) < 1e-12 * np.abs(leads).max(), 0.0, ends)
    return float(low), float(high)


def _sum_where_odd(values: np.ndarray, n_bits: int) -> None:
    """Replace the number at each place of a row by the sum of those at places with an odd number of ones in common.

    It is half of what the total and the Walsh-Hadamard transform differ by.
    """
    totals = values.sum(axis=1, keepdims=True)
    for bit in range(n_bits):
        pairs = values.reshape(-1, 2, 2**bit)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
    np.subtract(totals, values, out=values)
    values /= 2


# Costs -------------------------------------------------------------------------------------------------------------


def machine_factor(first: Sequence[float], again: Sequence[float]) -> float:
    """Return the factor by which ratios of costs are widened, from timings of one model against itself.

    It is `MACHINE` unless these timings exclude it: unless the t interval of their log ratios, round by round, lies
    within it, or beyond it. Then it is the end of the interval that is farther from 1. One round says nothing.
    """
    if len(first) < 2:
        return MACHINE
    found, bound = cost_ratio(first, again, 1.0), math.log(MACHINE)
    nearer, farther = sorted(map(abs, found.interval))
    return math.exp(farther) if farther < bound or (found.excludes_zero and nearer > bound) else MACHINE


def cost_ratio(own: Sequence[float], other: Sequence[float], machine: float = MACHINE) -> Estimate:
    """Estimate of the logarithm of a ratio of two costs that were timed in turn with nothing else running.

    Mean and t interval of the logarithms of the ratios, round by round, widened by the factor `machine`. A single
    timing may be wrong by the factor `SINGLE_TIMING`. `ValueError` if a cost is not positive.
    """
    if (least := min(*own, *other)) <= 0:
        raise ValueError(f"a cost is {least}; ratios need positive costs.")
    logs = [math.log(one / another) for one, another in zip(own, other, strict=True)]
    if len(logs) == 1:
        return Estimate(logs[0], 0.0, widen=math.log(SINGLE_TIMING))
    return replace(paired_t(logs), widen=math.log(machine))


def ratio_of_spreads(own: Sequence[float], other: Sequence[float]) -> Estimate:
    """Estimate of the logarithm of a ratio of two standard deviations, over paired repeats.

    Pitman (1939) and Morgan: the sum and the difference of two numbers of equal variance are not correlated. The
    interval of the logarithm is then log(s1 / s2) -/+ asinh(t sqrt((1 - r^2) / (n - 2))); t sqrt(...) itself, which is
    larger, is taken. `ValueError` for fewer than three repeats, or if one of the two does not vary.
    """
    n = len(own)
    if n < 3 or min(map(np.ptp, (own, other))) == 0:
        raise ValueError(f"{n} repeats of numbers; a ratio of their spreads needs three, and numbers that vary.")
    ratio, r = np.std(own, ddof=1) / np.std(other, ddof=1), float(np.corrcoef(own, other)[0, 1])
    return Estimate(math.log(ratio), math.sqrt((1 - r**2) / (n - 2)), n - 2)


def _at_least_two(n: int, what: str) -> None:
    if n < 2:
        raise ValueError(f"differences are of {n} {what}; an interval needs two.")


# What an interval decides ------------------------------------------------------------------------------------------

#: Metrics whose region is a part of the rival's error, within limits; of others it is a part of the number itself.
_SHARES: Final = frozenset({"accuracy", "balanced_accuracy", "roc_auc"})
_RELATIVE: Final = {"rmse": 0.02, "log_loss": 0.02}


def region(metric: str, rival: float, published: float | None) -> float | None:
    """Return the largest difference that does not matter, in the unit of the metric; None for metrics without a rule.

    Accuracy, balanced accuracy and AUC: 5 % of the rival's published error, at least .1 and at most .5 points; .3
    points where nothing is published. RMSE and log loss: 2 % of the rival's, published or else measured (`rival`).
    """
    if metric in _RELATIVE:
        return _RELATIVE[metric] * abs(rival if published is None else published)
    if metric not in _SHARES:
        return None
    return 0.003 if published is None else min(max(0.05 * (1 - published), 0.001), 0.005)


def outcome(low: float, high: float, region: float, higher_is_better: bool) -> Outcome:
    """Say what the interval of a model's number minus the rival's decides: win, lose, equivalent, or nothing.

    An interval within the region is ``equivalent`` even if it excludes 0: such a difference is too small to matter.
    """
    if max(abs(low), abs(high)) <= region:
        return "equivalent"
    if low > 0 or high < 0:
        return "win" if (low > 0) == higher_is_better else "lose"
    return "undecided"


def most_by_chance(n: int) -> int:
    """Return how many of n intervals may exclude 0 where no model differs: 99 % quantile of the binomial with p = .05.

    Of a model and itself with other seeds, more would say that intervals are too narrow.
    """
    return int(stats.binom.ppf(0.99, n, 2 * TAIL))
