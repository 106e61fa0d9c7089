"""Differences of two models on a data set, with the interval that fits the design of its repeats.

Models are paired repeat by repeat, and row by row where the predictions for single test rows were kept. Only cells of
equal data, split and test rows are paired.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Final

import numpy as np

from cascadeforest.experiments.designs import Design
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.experiments.plan import NOT_IMPLEMENTED
from cascadeforest.experiments.records import ScoredCell
from cascadeforest.reports.numbers import intervals
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.intervals import Interval
from cascadeforest.reports.numbers.metrics import known_metric
from cascadeforest.reports.numbers.row_values import BOUNDED, WITHOUT_ROWS, RowValues, row_values

#: What an interval can decide.
OUTCOMES: Final = ("win", "equivalent", "lose", "undecided")
NO_ROWS: Final = "no predictions of single test rows were kept"
NO_SPREAD: Final = "the same difference in all repeats, whose spread says nothing"
EQUAL: Final = "equal on every test row"
OTHER_ROWS: Final = "the two models were tested on other rows"
ONE_ROW: Final = "a class has one test row"
#: What varies over repeats without rows, by design.
_REPEATS: Final = {"given": "seeds, for these rows", "made": "made data sets", "draws": "training draws"}


@dataclass(frozen=True)
class Difference:
    """The tidy row of a difference, and what its interval stands on.

    Parameters
    ----------
    row : TidyRow
        Mean and deviation over the repeats, ends of the interval, smallest difference that could be found, outcome.
    design : Design
        Of the repeats.
    interval : Interval or None
        None if none is possible; `why` then says so.
    why : str
        What the interval holds for, or why there is none.
    here : Interval or None
        Of folds and splits, the interval over all their test rows: for the models trained on these training sets. It
        stands beside `interval` and decides nothing.
    rows_needed : int or None
        Test rows without which no number of seeds could find a difference as large as the region.
    """

    row: TidyRow
    design: Design
    interval: Interval | None = field(default=None, repr=False)
    why: str = ""
    here: Interval | None = field(default=None, repr=False)
    rows_needed: int | None = None

    @property
    def only_here(self) -> bool:
        """Whether there is a difference on these training sets only: by `here`, and not by an interval over splits."""
        is_decided = self.interval is not None and self.interval is not self.here and self.interval.excludes_zero
        return self.here is not None and self.here.excludes_zero and not is_decided


def pairs_of(cells: Cells) -> list[tuple[str, str]]:
    """Return the pairs of other columns and each of the references, reference by reference."""
    columns = cells.experiment.columns
    return [(column, other) for other in cells.experiment.references for column in columns if column != other]


def difference(
    cells: Cells,
    dataset: str,
    column: str,
    reference: str,
    metric: str,
    repeats: Collection[int] | None = None,
    design: Design | None = None,
) -> Difference:
    """Return a metric of one model minus that of another.

    Parameters
    ----------
    cells : Cells
        Of the experiment.
    dataset, column, reference : str
        Data set variant, model, and the model that is subtracted.
    metric : str
        One of `cascadeforest.reports.numbers.metrics.COMPARED`.
    repeats : collection of int, optional
        The repeats that count; by default all.
    design : Design, optional
        Of these repeats; by default that of the data set.
    """
    design = design or cells.experiment.designs[dataset]
    row = TidyRow(dataset, column, f"against {reference}", f"{metric}_difference")
    printed = [cells.published.number(dataset, one, metric) for one in (column, reference)]
    if all(number is not None for number in printed):
        row = replace(row, published=float(printed[0].value - printed[1].value))  # type: ignore[union-attr]
    pair = _pair_of(cells, dataset, column, reference, metric, repeats)
    if isinstance(pair, str):
        status, note = cells.status(dataset, pair)
        told = (status, note) if status != OK else (UNAVAILABLE, f"the model gives no {known_metric(metric).label}")
        return Difference(replace(row, status=told[0], note=told[1]), design)
    return _difference(pair, row, design)


def mean_difference(
    cells: Cells, datasets: Sequence[str], column: str, reference: str, metric: str
) -> Difference | None:
    """Return the mean over variants of a data set of the differences of two models, as if it were one metric.

    The row has the key of the first variant. None if a model has no number on a variant. The variants are to have the
    same design.
    """
    found = [_pair_of(cells, dataset, column, reference, metric) for dataset in datasets]
    pairs = [pair for pair in found if not isinstance(pair, str)]
    if len(pairs) < len(found):
        return None
    first, *others = pairs
    leads = [fmean(of_repeat) for of_repeat in zip(*(pair.leads for pair in (first, *others)), strict=True)]
    row = TidyRow(datasets[0], column, f"against {reference}", f"{metric}_difference")
    return _difference(replace(first, leads=leads, others=tuple(others)), row, cells.experiment.designs[datasets[0]])


def _pair_of(
    cells: Cells, dataset: str, column: str, reference: str, metric: str, repeats: Collection[int] | None = None
) -> "_Pair | str":
    """Return the cells of two models; the column that lacks a number, if one does."""
    sides = []
    for one in (column, reference):
        own = [cell for cell in cells.all(dataset, one) if repeats is None or cell.repeat in repeats]
        if not own or any(_value(cell, metric) is None for cell in own):
            return one
        sides.append(own)
    values = [[_value(cell, metric) or 0.0 for cell in side] for side in sides]
    return _Pair(cells, metric, sides[0], sides[1], [a - b for a, b in zip(*values, strict=True)])


def _difference(pair: "_Pair", row: TidyRow, design: Design) -> Difference:
    leads, every = pair.leads, (*pair.own, *pair.other)
    row = replace(row, mean=fmean(leads), std=stdev(leads) if len(leads) > 1 else None, n=len(leads))
    row = replace(row, n_test=min(cell.n_test for cell in every))
    reference, is_error = row.condition.removeprefix("against "), pair.metric == "error_rate"
    rival = pair.cells.published.number(row.dataset, reference, pair.metric)
    region = intervals.region(
        "accuracy" if is_error else pair.metric,
        fmean(_value(cell, pair.metric) or 0.0 for cell in pair.other),
        None if rival is None else float(1 - rival.value if is_error else rival.value),
    )
    return _decided(_with_interval(Difference(row, design), pair), pair.metric, region)


def of_repeats(cells: Cells, row: TidyRow, own: Sequence[float], other: Sequence[float], model: str) -> Difference:
    """Return the difference of two numbers of each repeat that no test rows are behind, as of importances.

    Parameters
    ----------
    cells : Cells
        Of the experiment.
    row : TidyRow
        The key.
    own, other : sequence of float
        The two numbers, repeat by repeat.
    model : str
        Column whose cells say how many rows were for training and test.
    """
    design = cells.experiment.designs[row.dataset]
    leads = [a - b for a, b in zip(own, other, strict=True)]
    row = replace(row, mean=fmean(leads), std=stdev(leads) if len(leads) > 1 else None, n=len(leads))
    return _decided(_over_repeats(Difference(row, design), leads, cells.all(row.dataset, model)), "", None)


def _over_repeats(found: Difference, leads: Sequence[float], own: Sequence[ScoredCell]) -> Difference:
    """Interval over repeats only, of a number that is no mean over test rows."""
    if len(leads) < 2:
        return replace(found, why="one repeat")
    if _is_constant(leads):
        return replace(found, why=NO_SPREAD)
    words = f"{len(leads)} {_REPEATS.get(found.design, found.design)}"
    if found.design in ("folds", "splits"):
        interval = intervals.repeated_splits(leads, _test_to_train(own))
    else:
        interval = intervals.sign_flips(leads) if found.design == "draws" else intervals.paired_t(leads)
    return replace(found, interval=interval, why=words)


def _test_to_train(cells: Sequence[ScoredCell]) -> float:
    return fmean(cell.n_test / cell.n_train for cell in cells)


def _value(cell: ScoredCell, metric: str) -> float | None:
    if metric == "error_rate":
        right = cell.metrics.get("accuracy")
        return None if right is None else 1 - right
    return cell.metrics.get(metric)


def _decided(found: Difference, metric: str, region: float | None) -> Difference:
    """Put interval, smallest difference and outcome into the tidy row."""
    one, here = found.interval, found.here
    if here is not None and here is not one:
        found = replace(found, row=replace(found.row, here_low=here.low, here_high=here.high))
    if one is None:
        return replace(found, row=replace(found.row, note=f"no interval: {found.why}"))
    is_finite = math.isfinite(one.high - one.low)
    row = replace(found.row, low=one.low, high=one.high) if is_finite else found.row
    row = replace(row, smallest=(one.detectable or None) if is_finite else None, note=_words(found))
    if region is None:
        return replace(found, row=row)
    higher = METRICS.get(metric) or False  # of errors, lower is better
    # Of a single training set of several, nothing is decided.
    mark = "undecided" if one is here else intervals.outcome(one.low, one.high, region, higher)
    row = replace(row, mark=mark)
    return replace(found, row=row, rows_needed=one.rows_needed(region))


def _words(found: Difference) -> str:
    """Write what the interval holds for and where its variance comes from."""
    shares = found.interval.shares if found.interval else None
    parts = [] if shares is None else [f"{name} {100 * value:.0f} %" for name, value in vars(shares).items()]
    told = [
        found.why,
        f"variance: {', '.join(parts)}" if parts else "",
        "on these training sets only" if found.only_here else "",
    ]
    return "; ".join(filter(None, told))


# Pairs of cells ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """The cells of two models, repeat by repeat, and the differences of their metric.

    `others` are further variants of the data set; `leads` are then means over all of them.
    """

    cells: Cells
    metric: str
    own: list[ScoredCell]
    other: list[ScoredCell]
    leads: list[float]
    others: tuple["_Pair", ...] = ()

    def fits(self) -> bool:
        """Whether each two cells have the same data and the same split."""

        def place(cell: ScoredCell) -> tuple[object, ...]:
            return cell.repeat, cell.seeds["split"], cell.n_train, cell.n_test, cell.provenance.data_digest

        return list(map(place, self.own)) == list(map(place, self.other)) and all(one.fits() for one in self.others)

    def groups(self) -> list[list[int]]:
        """Places of the repeats of each split; a fold, whose seed is that of all folds, is one by itself."""
        found: dict[object, list[int]] = {}
        is_cv = self.cells.experiment.designs[self.own[0].dataset] == "folds"
        for place, cell in enumerate(self.own):
            found.setdefault(place if is_cv else cell.seeds["split"], []).append(place)
        return list(found.values())

    @property
    def why_no_rows(self) -> str:
        """Reason why rows cannot be compared."""
        kept = self.cells.results.rows(self.own[0].dataset)
        has_rows = all((cell.model, cell.repeat) in kept for cell in (*self.own, *self.other))
        return f"what a row adds to {known_metric(self.metric).label} was not kept" if has_rows else NO_ROWS

    def rows(self) -> "_Rows | None":
        """What is known of single test rows; None where predictions were not kept.

        `OtherRows` if the two models of a repeat were tested on other rows.
        """
        kept = self.cells.results.rows(self.own[0].dataset)
        tests, differences = [], []
        for own, other in zip(self.own, self.other, strict=True):
            both = [kept.get((cell.model, cell.repeat)) for cell in (own, other)]
            if both[0] is None or both[1] is None:
                return None
            if _digest(both[0]["test_rows"]) != _digest(both[1]["test_rows"]):
                raise OtherRows
            values = [
                row_values(rows, self.metric, _value(cell, self.metric) or 0.0)
                for cell, rows in ((own, both[0]), (other, both[1]))
            ]
            if values[0] is None or values[1] is None:
                return None
            tests.append(both[0]["test_rows"])
            differences.append(RowValues(values[0].values - values[1].values, values[0].strata))
        found = _Rows(tests, differences)
        for variant in self.others:
            more = variant.rows()
            if more is None or [*map(_digest, more.tests)] != [*map(_digest, tests)]:
                return None
            found = found.plus(more)
        return found.divided(1 + len(self.others))


@dataclass(frozen=True)
class _Rows:
    """Numbers of the test rows of each repeat, and the differences of what they add to the metric of two models."""

    tests: list[np.ndarray]
    differences: list[RowValues]

    def plus(self, other: "_Rows") -> "_Rows":
        """Add what the same rows add elsewhere."""
        both = zip(self.differences, other.differences, strict=True)
        return replace(self, differences=[RowValues(a.values + b.values, a.strata) for a, b in both])

    def divided(self, n: int) -> "_Rows":
        """Divide by a number."""
        return replace(self, differences=[RowValues(one.values / n, one.strata) for one in self.differences])

    @property
    def are_equal(self) -> bool:
        """Whether the two models are equal on every row."""
        return not any(one.values.any() for one in self.differences)

    @property
    def n_alike(self) -> int:
        """Number of different test rows (of the smallest class, if classes are weighed)."""
        rows, at = np.unique(np.concatenate(self.tests), return_index=True)
        if self.differences[0].strata is None:
            return len(rows)
        strata = np.concatenate([one.strata for one in self.differences if one.strata is not None])[at]
        return int(np.unique(strata, return_counts=True)[1].min())

    @property
    def has_pairs(self) -> bool:
        """Whether each class that is weighed has two rows in every repeat."""
        every = (one.strata for one in self.differences)
        return all(strata is None or np.unique(strata, return_counts=True)[1].min() > 1 for strata in every)

    def shared(self) -> Interval | None:
        """Interval over rows and repeats that all have the same test rows; None if they do not."""
        if len(set(map(_digest, self.tests))) > 1:
            return None
        table = np.column_stack([one.values for one in self.differences])
        return intervals.given_test_set(table, self.differences[0].strata)

    def pooled(self) -> Interval:
        """Interval over all test rows of several splits."""
        return intervals.pooled_rows(
            np.concatenate(self.tests), np.concatenate([one.values for one in self.differences])
        )


class OtherRows(Exception):
    """Two cells that are to be paired were tested on other rows."""


def _digest(test_rows: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(test_rows, np.int64).tobytes()).digest()


# One design after the other ----------------------------------------------------------------------------------------


def _with_interval(found: Difference, pair: _Pair) -> Difference:
    if not pair.fits():
        return replace(found, why=OTHER_ROWS)
    try:
        kept = pair.rows()
    except OtherRows:
        return replace(found, why=OTHER_ROWS)
    if kept is not None and not kept.has_pairs:
        kept, no_rows = None, ONE_ROW
    else:
        no_rows = "" if kept else pair.why_no_rows
    several = len(pair.leads) > 1
    if kept is not None and kept.are_equal:
        none = Interval(0.0, 0.0, 0.0, 0.0, math.inf)
        equal = intervals.equal_rows(kept.n_alike) if pair.metric in BOUNDED else none
        return replace(found, interval=equal, why=EQUAL)
    if found.design == "given" and pair.metric not in WITHOUT_ROWS:
        if kept is None:
            return replace(found, why=no_rows)
        shared = kept.shared()
        words = f"test rows and {len(pair.leads)} seeds" if several else "test rows, this fit"
        return replace(found, why=OTHER_ROWS) if shared is None else replace(found, interval=shared, why=words)
    if found.design in ("folds", "splits"):
        return _over_splits(found, pair, kept)
    over = _over_repeats(found, pair.leads, pair.own)
    if over.interval is None or found.design == "made" or pair.metric in WITHOUT_ROWS:
        return over
    if kept is None:
        return replace(over, why=f"{over.why} ({no_rows})")
    of_rows = kept.shared() or kept.pooled()
    if over.interval.wider(of_rows) is over.interval:
        return over
    return replace(over, interval=of_rows, why=f"test rows, wider than {over.why}")


def _is_constant(leads: Sequence[float]) -> bool:
    # Accuracies on a few small test sets are often equal by chance.
    return max(leads) - min(leads) <= 1e-12


def _over_splits(found: Difference, pair: _Pair, kept: _Rows | None) -> Difference:
    """Interval of Nadeau and Bengio, which decides, beside that over rows for these training sets."""
    groups = pair.groups()
    if len(groups) < 2:
        here = None if kept is None else kept.shared()
        words = f"one of the {found.design}" if here is None else "test rows, on this training set only"
        return replace(found, interval=here, here=here, why=words)
    here = None if kept is None else kept.pooled()
    means = [fmean(pair.leads[place] for place in group) for group in groups]
    return replace(_over_repeats(found, means, pair.own), here=here)


# Over all data sets ------------------------------------------------------------------------------------------------


def counted_once(cells: Cells) -> list[str]:
    """Return the data sets that are there; of several forms of one, which the paper has once, the first."""
    first: dict[str, str] = {}
    for dataset in cells.experiment.present():
        first.setdefault(cells.experiment.base(dataset), dataset)
    return list(first.values())


def outcomes(cells: Cells, found: Iterable[Difference], metric: str, reference: str) -> list[TidyRow]:
    """Return the rows for all data sets that count what intervals decide of the reference against each other column."""
    once, flipped = counted_once(cells), {"win": "lose", "lose": "win"}
    of_column: dict[str, list[str]] = {column: [] for column in cells.experiment.columns if column != reference}
    for one in found:
        row = one.row
        if (
            row.condition == f"against {reference}"
            and row.metric == f"{metric}_difference"
            and row.dataset in once
            and row.mark
        ):
            of_column[row.model].append(flipped.get(row.mark, row.mark))
    rows = []
    for column, marks in of_column.items():
        lacks = {column, reference} & cells.experiment.missing_models.keys()
        told = (OK, "") if marks else (NOT_IMPLEMENTED, "") if lacks else (UNAVAILABLE, "no interval on any data set")
        for name in OUTCOMES:
            row = TidyRow(ALL, column, f"{reference}, {metric}", f"decided_{name}", status=told[0], note=told[1])
            rows.append(replace(row, mean=float(marks.count(name)), n=len(marks)) if marks else row)
    return rows
