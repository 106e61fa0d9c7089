"""Differences of two models on a data set, with the interval that fits the design of its repeats.

Models are paired repeat by repeat, and row by row where the predictions for single test rows were kept. Only cells of
equal data, split and test rows are paired.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from statistics import fmean
from typing import Final

import numpy as np

from cascadeforest.experiments.designs import Design
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.experiments.plan import NOT_IMPLEMENTED
from cascadeforest.experiments.records import ScoredCell
from cascadeforest.inference import intervals
from cascadeforest.inference.intervals import Estimate
from cascadeforest.inference.row_values import row_values
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.numbers.metrics import known_metric
from cascadeforest.reports.numbers.rows import BOUNDED, WITHOUT_ROWS

#: What an interval can decide.
OUTCOMES: Final = ("win", "equivalent", "lose", "undecided")
NO_ROWS: Final = "no predictions of single test rows were kept"
NO_SPREAD: Final = "all repeats have the same difference, so that their spread says nothing"
EQUAL: Final = "equal on every test row"
OTHER_ROWS: Final = "the two models were tested on other rows"
ONE_ROW: Final = "a class has one test row"
#: What varies over repeats without rows, by design.
_REPEATS: Final = {"given": "seeds, for these rows", "made": "made data sets", "draws": "training draws"}


@dataclass(frozen=True)
class Difference:
    """The tidy row of a difference, and what its interval stands on."""

    row: TidyRow  # mean, deviation, ends of the interval, smallest difference that it could find, outcome
    design: Design  # of the repeats
    interval: Estimate | None = field(default=None, repr=False)  # None if none is possible; `why` then says so
    why: str = ""  # what the interval holds for, or why there is none
    #: Of folds and splits, over all their test rows: for the models trained on these training sets. It stands beside
    #: `interval` and decides nothing.
    here: Estimate | None = field(default=None, repr=False)
    rows_needed: int | None = None  # without as many test rows no number of seeds finds a difference as the region

    @property
    def only_here(self) -> bool:
        """Whether there is a difference on these training sets only: by `here`, and not by an interval over splits."""
        is_decided = self.interval is not None and self.interval is not self.here and self.interval.excludes_zero
        return self.here is not None and self.here.excludes_zero and not is_decided


def pairs_of(cells: Cells) -> list[tuple[str, str]]:
    """Return the pairs of other columns and each of the references, reference by reference."""
    columns, only = cells.experiment.columns, cells.common.controls
    cells.check_columns("controls", [*only, *only.values()])
    pairs = [(column, other) for other in cells.experiment.references for column in columns if column != other]
    return [(column, other) for column, other in pairs if only.get(column, other) == other]


def difference(
    cells: Cells,
    dataset: str | Sequence[str],
    column: str,
    reference: str,
    metric: str,
    repeats: Collection[int] | None = None,
    design: Design | None = None,
) -> Difference:
    """Return a metric of one model minus that of another, the reference, on a data set variant.

    Of several variants, which are to have the same design, it is the mean over them, as if it were one metric; the row
    has the key and the published number of the first, and no number if a model has none on one of them. `metric` is one
    of `cascadeforest.reports.numbers.metrics.COMPARED`. By default all `repeats` count, and their `design` is that of
    the data set.
    """
    datasets = [dataset] if isinstance(dataset, str) else dataset
    design = design or cells.experiment.designs[datasets[0]]
    row = TidyRow(datasets[0], column, f"against {reference}", f"{metric}_difference")
    printed = [cells.published.number(datasets[0], one, metric) for one in (column, reference)]
    if printed[0] is not None and printed[1] is not None:
        row = replace(row, published=float(printed[0].value - printed[1].value))
    variants = []
    for dataset in datasets:
        sides = []
        for one in (column, reference):
            own = [cell for cell in cells.all(dataset, one) if repeats is None or cell.repeat in repeats]
            values = [value for cell in own if (value := value_of(cell, metric)) is not None]
            if not own or len(values) < len(own):
                status, note = cells.status(dataset, one)
                lacking = f"the model gives no {known_metric(metric).label}"
                told = (status, note) if status != OK else (UNAVAILABLE, lacking)
                return Difference(replace(row, status=told[0], note=told[1]), design)
            sides.append(list(zip(own, values, strict=True)))
        variants.append(list(zip(*sides, strict=False)))  # a model may have fewer repeats than others
    n = min(map(len, variants))
    pair = _Pair(cells, metric, [one[:n] for one in variants])
    row = replace(row.over(pair.leads), n_test=min(cell.n_test for one in variants[0] for cell, _ in one))
    is_error, rival = metric == "error_rate", printed[1]
    region = intervals.region(
        "accuracy" if is_error else metric,
        fmean(value for _, (_, value) in variants[0]),
        None if rival is None else float(1 - rival.value if is_error else rival.value),
    )
    found = Difference(row, design, why="one repeat of several")
    is_one_of_several = n == 1 < max(map(len, [*variants, *sides]))
    return _decided(found if is_one_of_several else _with_interval(Difference(row, design), pair), metric, region)


def of_repeats(cells: Cells, row: TidyRow, own: Sequence[float], other: Sequence[float], model: str) -> Difference:
    """Return the difference of two numbers of each repeat that no test rows are behind, as of importances.

    `row` has the key, and the cells of the column `model` say how many rows were for training and test.
    """
    leads = [a - b for a, b in zip(own, other, strict=True)]
    found = Difference(row.over(leads), cells.experiment.designs[row.dataset])
    return _decided(_over_repeats(found, leads, cells.all(row.dataset, model)), "", None)


def _over_repeats(found: Difference, leads: Sequence[float], own: Sequence[ScoredCell]) -> Difference:
    """Interval over repeats only, of a number that is no mean over test rows."""
    if len(leads) < 2:
        return replace(found, why="one repeat")
    # Accuracies on a few small test sets are often equal by chance. Flips of signs need no spread, but a difference.
    if (max(map(abs, leads)) if found.design == "draws" else max(leads) - min(leads)) <= 1e-12:
        return replace(found, why=NO_SPREAD)
    if found.design in ("folds", "splits"):
        interval = intervals.repeated_splits(leads, fmean(cell.n_test / cell.n_train for cell in own))
    else:
        interval = intervals.sign_flips(leads) if found.design == "draws" else intervals.paired_t(leads)
    return replace(found, interval=interval, why=f"{len(leads)} {_REPEATS.get(found.design, found.design)}")


def value_of(cell: ScoredCell, metric: str) -> float | None:
    """Return a metric of a cell, also its error rate; None if it has none."""
    right = cell.metrics.get("accuracy") if metric == "error_rate" else None
    return cell.metrics.get(metric) if right is None else 1 - right


def _decided(found: Difference, metric: str, region: float | None) -> Difference:
    """Put interval, smallest difference and outcome into the tidy row."""
    one, here, row = found.interval, found.here, found.row
    if here is not None and here is not one:
        row = replace(row, here_low=here.low, here_high=here.high)
    if one is None:
        return replace(found, row=replace(row, note=f"no interval: {found.why}"))
    shares = vars(one.shares).items() if one.shares else ()
    parts = ", ".join(f"{name} {100 * value:.0f} %" for name, value in shares)
    only_here = "on these training sets only" if found.only_here else ""
    told = [found.why, f"variance: {parts}" if parts else "", only_here]
    row = replace(row, note="; ".join(filter(None, told)))
    if math.isfinite(one.high - one.low):
        row = replace(row, low=one.low, high=one.high, smallest=one.detectable or None)
    if region is None:
        return replace(found, row=row)
    higher = METRICS.get(metric) or False  # of errors, lower is better
    # Of a single training set of several, nothing is decided.
    mark = "undecided" if one is here else intervals.outcome(one.low, one.high, region, higher)
    return replace(found, row=replace(row, mark=mark), rows_needed=one.rows_needed(region))


# Pairs of cells ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """The cells of two models with their metric: of each variant of a data set, and of each repeat, both."""

    cells: Cells
    metric: str
    variants: list[list[tuple[tuple[ScoredCell, float], ...]]]

    @cached_property
    def leads(self) -> list[float]:
        """The differences of the metric, repeat by repeat; means over variants."""
        every = [[own - other for (_, own), (_, other) in one] for one in self.variants]
        return [fmean(of_repeat) for of_repeat in zip(*every, strict=True)]

    @cached_property
    def own(self) -> list[ScoredCell]:
        """The cells of the model on the first variant."""
        return [own for (own, _), _ in self.variants[0]]

    def groups(self) -> list[list[int]]:
        """Places of the repeats of each split; a fold, whose seed is that of all folds, is one by itself."""
        found: dict[object, list[int]] = {}
        is_cv = self.cells.experiment.designs[self.own[0].dataset] == "folds"
        for place, cell in enumerate(self.own):
            found.setdefault(place if is_cv else cell.seeds["split"], []).append(place)
        return list(found.values())

    def rows(self) -> "_Rows | str":
        """Return what is known of single test rows, or why the two cannot be compared row by row."""

        def place(cell: ScoredCell) -> tuple[object, ...]:
            return cell.repeat, cell.seeds["split"], cell.n_train, cell.n_test, cell.provenance.data_digest

        if any(place(own) != place(other) for one in self.variants for (own, _), (other, _) in one):
            return OTHER_ROWS
        tests, differences, classes = [], [], []
        for of_repeat in zip(*self.variants, strict=True):
            values, there, strata = [], [], None
            for both in of_repeat:
                rows = [self.cells.results.rows(cell.dataset).get((cell.model, cell.repeat)) for cell, _ in both]
                if rows[0] is None or rows[1] is None:
                    return NO_ROWS
                there += [rows[0]["test_rows"], rows[1]["test_rows"]]
                if not all(np.array_equal(there[0], one) for one in there):
                    return OTHER_ROWS
                own, other = (row_values(one, self.metric, both[k][1]) for k, one in enumerate(rows) if one)
                if own is None or other is None:
                    return f"what a row adds to {known_metric(self.metric).label} was not kept"
                strata = own[1]
                values.append(own[0] - other[0])
            if strata is not None and np.unique(strata, return_counts=True)[1].min() < 2:
                return ONE_ROW
            tests.append(there[0])
            differences.append(np.mean(values, axis=0))
            classes.append(strata)
        return _Rows(tests, differences, [one for one in classes if one is not None])


@dataclass(frozen=True)
class _Rows:
    """Numbers of the test rows of each repeat, what they add to the metric of one model more than to the other's."""

    tests: list[np.ndarray]
    differences: list[np.ndarray]
    classes: list[np.ndarray]  # within which rows vary; none of metrics that do not weigh classes

    def n_alike(self) -> int:
        """Return the number of different test rows (of the smallest class, if classes are weighed)."""
        rows, at = np.unique(np.concatenate(self.tests), return_index=True)
        if not self.classes:
            return len(rows)
        return int(np.unique(np.concatenate(self.classes)[at], return_counts=True)[1].min())

    def shared(self) -> Estimate | None:
        """Return the estimate over rows and repeats that all have the same test rows; None if they do not."""
        if not all(np.array_equal(self.tests[0], one) for one in self.tests):
            return None
        return intervals.given_test_set(np.column_stack(self.differences), *self.classes[:1])

    def pooled(self) -> Estimate:
        """Return the estimate over all test rows of several splits."""
        return intervals.pooled_rows(np.concatenate(self.tests), np.concatenate(self.differences))


# One design after the other ----------------------------------------------------------------------------------------


def _with_interval(found: Difference, pair: _Pair) -> Difference:
    rows = pair.rows()
    if rows == OTHER_ROWS:
        return replace(found, why=OTHER_ROWS)
    kept = None if isinstance(rows, str) else rows
    if kept is not None and not any(one.any() for one in kept.differences):
        equal = intervals.equal_rows(kept.n_alike()) if pair.metric in BOUNDED else Estimate(0.0, 0.0)
        return replace(found, interval=equal, why=EQUAL)
    if found.design == "given" and pair.metric not in WITHOUT_ROWS:
        shared = None if kept is None else kept.shared()
        if shared is None:
            return replace(found, why=str(rows) if kept is None else OTHER_ROWS)
        words = f"test rows and {len(pair.leads)} seeds" if len(pair.leads) > 1 else "test rows, this fit"
        return replace(found, interval=shared, why=words)
    if found.design in ("folds", "splits"):
        return _over_splits(found, pair, kept)
    over = _over_repeats(found, pair.leads, pair.own)
    if len(pair.leads) < 2 or found.design == "made" or pair.metric in WITHOUT_ROWS:
        return over
    if kept is None:
        return replace(over, why=f"{over.why} ({rows})")
    of_rows = kept.shared() or kept.pooled()
    if over.interval is None:
        return replace(over, interval=of_rows, why=f"test rows; {over.why}")
    if of_rows.high - of_rows.low <= over.interval.high - over.interval.low:
        return over
    return replace(over, interval=of_rows, why=f"test rows, wider than {over.why}")


def _over_splits(found: Difference, pair: _Pair, kept: _Rows | None) -> Difference:
    """Interval of Nadeau and Bengio, which decides, beside that over rows for these training sets."""
    groups = pair.groups()
    if len(groups) < 2:
        here = None if kept is None else kept.shared()
        words = f"one of the {found.design}" if here is None else "test rows, on this training set only"
        return replace(found, interval=here, here=here, why=words)
    means = [fmean(pair.leads[place] for place in group) for group in groups]
    return replace(_over_repeats(found, means, pair.own), here=None if kept is None else kept.pooled())


# Over all data sets ------------------------------------------------------------------------------------------------


def counted_once(cells: Cells, but: Collection[str] = ()) -> list[str]:
    """Return the data sets that are there, but some; of several forms of one, which the paper has once, the first."""
    first: dict[str, str] = {}
    for dataset in cells.experiment.present():
        if dataset not in but:
            first.setdefault(cells.experiment.base(dataset), dataset)
    return list(first.values())


def outcomes(cells: Cells, found: Iterable[Difference]) -> list[TidyRow]:
    """Return the rows for all data sets that count what intervals decide of each reference against other columns."""
    once, flipped = counted_once(cells, cells.unequal), {"win": "lose", "lose": "win"}
    counted = [one.row for one in found]
    metrics = dict.fromkeys(row.metric.removesuffix("_difference") for row in counted)
    rows = []
    for reference, metric, column in product(cells.experiment.references, metrics, cells.experiment.columns):
        key = column, f"against {reference}", f"{metric}_difference"
        own = [row.mark for row in counted if row.key[1:] == key and row.dataset in once and row.mark]
        marks = [flipped.get(mark, mark) for mark in own]
        lacks = {column, reference} & cells.experiment.missing_models.keys()
        told = (OK, "") if marks else (NOT_IMPLEMENTED, "") if lacks else (UNAVAILABLE, "no interval that counts")
        for name in OUTCOMES if column != reference else ():
            row = TidyRow(ALL, column, f"{reference}, {metric}", f"decided_{name}", status=told[0], note=told[1])
            rows.append(replace(row, mean=float(marks.count(name)), n=len(marks)) if marks else row)
    return rows
