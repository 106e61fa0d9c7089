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
from cascadeforest.reports.numbers.rows import Arrays

#: Metrics that models are compared by.
COMPARED: Final = ("accuracy", "error_rate", "roc_auc", "rmse")
#: What an interval can decide.
OUTCOMES: Final = ("win", "equivalent", "lose", "undecided")
NO_ROWS: Final = "no predictions of single test rows were kept"
NO_SPREAD: Final = "the same difference in all repeats, whose spread says nothing"
EQUAL: Final = "equal on every test row"
OTHER_ROWS: Final = "the two models were tested on other rows"


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
    only_here : bool
        A difference on these training sets only: the interval over rows excludes 0, that over splits does not.
    rows_needed : int or None
        Test rows without which no number of seeds could find a difference as large as the region.
    """

    row: TidyRow
    design: Design
    interval: Interval | None = field(default=None, repr=False)
    why: str = ""
    only_here: bool = False
    rows_needed: int | None = None


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
        One of `COMPARED`.
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
    sides = [
        [cell for cell in cells.all(dataset, one) if repeats is None or cell.repeat in repeats]
        for one in (column, reference)
    ]
    values = [[_value(cell, metric) for cell in side] for side in sides]
    for one, found in zip((column, reference), values, strict=True):
        if None in found or not found:
            status, note = cells.status(dataset, one)
            told = (status, note) if status != OK else (UNAVAILABLE, f"the model gives no {known_metric(metric).label}")
            return Difference(replace(row, status=told[0], note=told[1]), design)
    own, other = ([value for value in found if value is not None] for found in values)
    leads = [a - b for a, b in zip(own, other, strict=True)]
    row = replace(row, mean=fmean(leads), std=stdev(leads) if len(leads) > 1 else None, n=len(leads))
    row = replace(row, n_test=min(cell.n_test for side in sides for cell in side))
    rival = cells.published.number(dataset, reference, metric)
    region = intervals.region(
        "accuracy" if metric == "error_rate" else metric,
        fmean(other),
        None if rival is None else float(1 - rival.value if metric == "error_rate" else rival.value),
    )
    return _decided(
        _with_interval(Difference(row, design), _Pair(cells, metric, sides[0], sides[1], leads)), metric, region
    )


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
    found = Difference(replace(row, mean=fmean(leads), n=len(leads)), design)
    if len(leads) < 2 or _is_constant(leads):
        return _decided(replace(found, why="one repeat" if len(leads) < 2 else NO_SPREAD), "", None)
    found = replace(found, row=replace(found.row, std=stdev(leads)))
    words = {"given": "seeds, for these training rows", "made": "made data sets", "draws": "training draws"}
    if design in ("folds", "splits"):
        ratio = fmean(cell.n_test / cell.n_train for cell in cells.all(row.dataset, model))
        interval = intervals.repeated_splits(leads, ratio)
    else:
        interval = intervals.sign_flips(leads) if design == "draws" else intervals.paired_t(leads)
    return _decided(replace(found, interval=interval, why=f"{len(leads)} {words.get(design, design)}"), "", None)


def _value(cell: ScoredCell, metric: str) -> float | None:
    if metric == "error_rate":
        right = cell.metrics.get("accuracy")
        return None if right is None else 1 - right
    return cell.metrics.get(metric)


def _decided(found: Difference, metric: str, region: float | None) -> Difference:
    """Put interval, smallest difference and outcome into the tidy row."""
    one = found.interval
    if one is None:
        return replace(found, row=replace(found.row, note=f"no interval: {found.why}"))
    is_finite = math.isfinite(one.high - one.low)
    row = replace(found.row, low=one.low, high=one.high) if is_finite else found.row
    row = replace(row, smallest=(one.detectable or None) if is_finite else None, note=_words(found))
    if region is None:
        return replace(found, row=row)
    higher = METRICS.get(metric) or False  # of errors, lower is better
    row = replace(row, mark=intervals.outcome(one.low, one.high, region, higher))
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
    """The cells of two models, repeat by repeat, and the differences of their metric."""

    cells: Cells
    metric: str
    own: list[ScoredCell]
    other: list[ScoredCell]
    leads: list[float]

    def fits(self) -> bool:
        """Whether each two cells have the same data and the same split."""

        def place(cell: ScoredCell) -> tuple[object, ...]:
            return cell.repeat, cell.seeds["split"], cell.n_train, cell.n_test, cell.provenance.data_digest

        return list(map(place, self.own)) == list(map(place, self.other))

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
        return "with several classes it is no mean over test rows" if has_rows else NO_ROWS

    def rows(self) -> tuple[list[np.ndarray], list[Arrays]] | None:
        """Difference of each test row in each repeat, and what was kept of it; None where predictions were not kept.

        `OtherRows` if the two models of a repeat were tested on other rows.
        """
        kept = self.cells.results.rows(self.own[0].dataset)
        found, sides = [], []
        for own, other in zip(self.own, self.other, strict=True):
            both = [kept.get((cell.model, cell.repeat)) for cell in (own, other)]
            losses = [None if one is None else _losses(one, self.metric) for one in both]
            if losses[0] is None or losses[1] is None or both[0] is None or both[1] is None:
                return None
            if _digest(both[0]) != _digest(both[1]):
                raise OtherRows
            found.append(losses[0] - losses[1])
            sides.append(both[0])
        return found, sides


class OtherRows(Exception):
    """Two cells that are to be paired were tested on other rows."""


def _digest(rows: Arrays) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(rows["test_rows"], np.int64).tobytes()).digest()


def _losses(rows: Arrays, metric: str) -> np.ndarray | None:
    """Number of each test row, whose differences two models are compared by; None if it was not kept.

    Accuracy and error: whether it is right or wrong. AUC: its placement. RMSE: what the row adds to it near the root of
    the mean (its linear part), so that the mean over rows is the RMSE.
    """
    if metric in ("accuracy", "error_rate") and "right" in rows:
        return (rows["right"] if metric == "accuracy" else ~rows["right"]).astype(float)
    if metric == "roc_auc" and "placed" in rows:
        positive = _positive(rows)
        others = np.where(positive, (~positive).sum(), positive.sum())
        return rows["placed"] / (2.0 * others)
    if metric == "rmse" and "residual" in rows:
        squares = rows["residual"].astype(float) ** 2
        root = math.sqrt(squares.mean())
        return root + (squares - root**2) / (2 * root) if root else squares
    return None


def _positive(rows: Arrays) -> np.ndarray:
    """Rows of the second of two classes."""
    return (rows["predicted"] == 1) == rows["right"]


# One design after the other ----------------------------------------------------------------------------------------


def _with_interval(found: Difference, pair: _Pair) -> Difference:
    if not pair.fits():
        return replace(found, why=OTHER_ROWS)
    try:
        kept = pair.rows()
    except OtherRows:
        return replace(found, why=OTHER_ROWS)
    several = len(pair.leads) > 1
    if kept is not None and not any(part.any() for part in kept[0]):
        return replace(found, interval=Interval(0.0, 0.0, 0.0, 0.0, math.inf), why=EQUAL)
    if several and found.design != "given" and _is_constant(pair.leads):
        # Accuracies on a few small test sets are often equal by chance.
        return replace(found, why=NO_SPREAD)
    if found.design == "given":
        if kept is None:
            return replace(found, why=pair.why_no_rows)
        shared = _over_shared_rows(pair, *kept)
        words = f"test rows and {len(pair.leads)} seeds" if several else "test rows, this fit"
        return replace(found, why=OTHER_ROWS) if shared is None else replace(found, interval=shared, why=words)
    if found.design in ("folds", "splits"):
        return _over_splits(found, pair, kept)
    if not several:
        return replace(found, why="one repeat")
    if found.design == "made":
        return replace(found, interval=intervals.paired_t(pair.leads), why=f"{len(pair.leads)} made data sets")
    flips = intervals.sign_flips(pair.leads)
    words = f"{len(pair.leads)} training draws"
    if kept is None:
        return replace(found, interval=flips, why=f"{words} ({pair.why_no_rows})")
    of_rows = _over_shared_rows(pair, *kept) or _pooled(pair, *kept)
    if of_rows is None:
        return replace(found, interval=flips, why=words)
    wider = flips.wider(of_rows)
    return replace(found, interval=wider, why=words if wider is flips else f"test rows, wider than {words}")


def _is_constant(leads: Sequence[float]) -> bool:
    return max(leads) - min(leads) <= 1e-12


def _over_shared_rows(pair: _Pair, differences: list[np.ndarray], sides: list[Arrays]) -> Interval | None:
    """Interval over rows and repeats that all have the same test rows; None if they do not."""
    if len({_digest(side) for side in sides}) > 1:
        return None
    table = np.column_stack(differences)
    return (
        intervals.given_test_set_auc(table, _positive(sides[0]))
        if pair.metric == "roc_auc"
        else intervals.given_test_set(table)
    )


def _pooled(pair: _Pair, differences: list[np.ndarray], sides: list[Arrays]) -> Interval | None:
    """Interval over all test rows of several splits; none for areas, which are no means over rows."""
    if pair.metric == "roc_auc":
        return None
    return intervals.pooled_rows(np.concatenate([side["test_rows"] for side in sides]), np.concatenate(differences))


def _over_splits(found: Difference, pair: _Pair, kept: tuple[list[np.ndarray], list[Arrays]] | None) -> Difference:
    """Interval of Nadeau and Bengio, which decides, beside that over rows for these training sets."""
    groups = pair.groups()
    here = None if kept is None else _pooled(pair, *kept)
    what = "folds" if found.design == "folds" else "splits"
    if len(groups) < 2:
        words = f"one of the {what}" if here is None else "test rows, on this training set only"
        return replace(found, interval=here, why=words)
    ratio = fmean(cell.n_test / cell.n_train for cell in pair.own)
    means = [fmean(pair.leads[place] for place in group) for group in groups]
    if _is_constant(means):
        return replace(found, why=NO_SPREAD)
    over = intervals.repeated_splits(means, ratio)
    only_here = here is not None and here.excludes_zero and not over.excludes_zero
    return replace(found, interval=over, why=f"{len(groups)} {what}", only_here=only_here)


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
