"""How near reproduced numbers come to published ones: each published number with data at hand, graded.

The tidy rows of all tables are compared with ``reports/published/``. ``config/fidelity.yaml`` names the experiments
that explain a difference; whether they do is computed here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from cascadeforest.data.files import read_yaml
from cascadeforest.data.names import parse_operation, parse_variant
from cascadeforest.data.schemas import read_schema, validate
from cascadeforest.data.typed_json import from_json
from cascadeforest.experiments.plan import Experiment
from cascadeforest.inference.row_values import variance_over_rows
from cascadeforest.reports.numbers.frame import ALL, TidyRow
from cascadeforest.reports.numbers.importances import is_of_rest
from cascadeforest.reports.numbers.metrics import COST_RATIOS, COSTS
from cascadeforest.reports.numbers.published import Published, PublishedNumber
from cascadeforest.reports.numbers.results import Results

CONFIG: Final = Path("config/fidelity.yaml")
#: Grades, best first. A fact about data is equal or it differs.
WITHIN, NEAR, BEYOND = "within", "one point", "beyond"
#: A point, of numbers that are shares.
POINT: Final = 0.01
Kind: TypeAlias = Literal["score", "fact", "cost", "count"]
#: Units of shares, as printed.
_SHARES: Final = frozenset({"percent", "percent points", "fraction"})
#: Operations of a variant that leave it with another number of rows than the paper's data.
_RESIZED: Final = frozenset({"rows", "negatives"})


@dataclass(frozen=True)
class By:
    """The cell that explains a difference; what is empty is as in the cell that is explained."""

    dataset: str = ""
    model: str = ""


@dataclass(frozen=True)
class Explanation:
    """An entry of ``explanations`` in ``config/fidelity.yaml``; without models or data sets it is about all of them."""

    experiment: str
    because: Literal["reading", "data", "bound"]
    words: str
    by: By
    models: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declared:
    """Content of ``config/fidelity.yaml``."""

    same_test_rows: dict[str, str] = field(default_factory=dict)
    explanations: tuple[Explanation, ...] = ()


def read_declared(root: Path) -> Declared:
    """Read ``config/fidelity.yaml`` below a folder, if it is there; `ConfigError` if it breaks its schema."""
    if not (root / CONFIG).is_file():
        return Declared()
    content = read_yaml(root / CONFIG)
    validate(content, read_schema(root / "workflow" / "schemas" / "fidelity.schema.yaml"), CONFIG)
    return from_json(Declared, content, str(CONFIG))


@dataclass(frozen=True)
class Compared:
    """A published number, and a number of ours beside it."""

    experiment: Experiment  # whose table shows both
    row: TidyRow  # with our number; of a cost, the one that stands beside the printed one
    printed: PublishedNumber  # in the unit of `row`
    #: Scores and facts about data are graded. Costs are of other machines, counts over data sets are no numbers of a
    #: model: they are shown without a grade.
    kind: Kind
    is_first: bool = False  # whether no column before stands for the same published number
    size: str = ""  # why the data have another size than the paper's; empty if they do not
    tolerance: float | None = None  # twice the standard deviation of the difference; None if neither side says one
    grade: str = ""  # `WITHIN`, `NEAR` or `BEYOND`; empty without a grade
    explanation: Explanation | None = None  # of one that is `BEYOND`: the first whose cell has a better grade
    bounds: tuple[str, ...] = ()  # parameters of our model that the suite bounds
    note: str = ""  # what is known of the data, where a fact about them differs

    @property
    def published(self) -> float:
        """The published number."""
        return float(self.printed.value)

    @property
    def difference(self) -> float:
        """Reproduced minus published."""
        return self.row.number - self.published

    @property
    def label(self) -> str:
        """The model, or the importance, in words; the number itself of a fact about data."""
        return self.experiment.label_of(self.row.model)


@dataclass(frozen=True)
class Fidelity:
    """All published numbers of a suite's experiments that stand beside numbers of ours."""

    compared: tuple[Compared, ...]
    printed: Mapping[str, int]  # numbers that the papers print, by paper


def fidelity(results: Results, tables: Mapping[str, Iterable[TidyRow]], declared: Declared) -> Fidelity:
    """Compare and grade all numbers of a suite that stand beside a published one.

    `tables` has the tidy rows of each experiment that is drawn, by id.
    """
    found: list[Compared] = []
    printed = dict.fromkeys(results.plan.papers, 0)
    for name, experiment in results.experiments.items():
        published = Published(experiment, results.published)
        if experiment.paper in printed:
            printed[experiment.paper] += published.n_numbers
            found += _compared(results, experiment, published, tables.get(name, ()), declared)
    by_place: dict[tuple[str, ...], Compared] = {(one.experiment.id, *one.row.key): one for one in found}
    return Fidelity(tuple(_explained(one, by_place, declared) for one in found), printed)


def _compared(
    results: Results, experiment: Experiment, published: Published, rows: Iterable[TidyRow], declared: Declared
) -> list[Compared]:
    found: list[Compared] = []
    places: dict[tuple[str, ...], list[int]] = {}
    columns: Any = experiment.options.get("columns", {})
    for row in rows:
        printed = published.number(row.dataset, row.model, row.metric, row.condition)
        if row.mean is None or printed is None:
            continue
        is_cost = row.metric in COSTS or row.metric in COST_RATIOS
        kind: Kind = "cost" if is_cost else "count" if row.dataset == ALL else "score" if row.model else "fact"
        facts, size = results.summaries.get(row.dataset, {}), _size(results, row.dataset)
        n_rows = (row.n or 0) * (row.n_test or 0)
        if facts and experiment.designs[row.dataset] != "made":  # each test row counts once
            n_rows = min(n_rows, facts["rows"])
        if parse_variant(row.dataset)[0] in declared.same_test_rows and not is_of_rest(row.dataset):
            n_rows = 0
        counts = list(facts.get("class_counts", {}).values())
        width = tolerance(row, printed, n_rows, counts) if kind == "score" else None
        graded = grade(row, printed, width) if kind in ("score", "fact") and not size else ""
        note = str(facts.get("note") or "") if kind == "fact" else ""
        column = columns.get(row.model, {}).get("model", row.model)
        bounded = experiment.bounds.get(column, {}).get(row.dataset, {}).items()
        bounds = tuple(f"{name} {bound.here:g} of {bound.unbounded:g}" for name, bound in bounded)
        key = experiment.base(row.dataset), *published.place(row.model, row.condition, row.metric), row.metric
        places.setdefault(key, []).append(len(found))
        found.append(Compared(experiment, row, printed, kind, False, size, width, graded, None, bounds, note))
    # A column of the paper's own size stands for a number before one of another size does.
    first = {min(own, key=lambda place: (bool(found[place].size), place)) for own in places.values()}
    return [replace(one, is_first=place in first) for place, one in enumerate(found)]


def _size(results: Results, dataset: str) -> str:
    """Return why a data set has another size than the paper's; empty if it does not."""
    if whole := results.summaries.get(dataset, {}).get("subset_of"):
        return f"a subset of {whole}"
    operations = map(parse_operation, parse_variant(dataset)[1])
    return next((f"{one.count:,} {one.kind}" for one in operations if one.kind in _RESIZED), "")


# Grades --------------------------------------------------------------------------------------------------------------


def tolerance(row: TidyRow, printed: PublishedNumber, n_rows: int, class_counts: Sequence[int]) -> float | None:
    r"""Return twice the standard deviation of reproduced minus published, :math:`2 \sqrt{s_p^2 + s_o^2}`.

    A deviation that one side does not say is taken to be that of the other side; None if neither says one, and nothing
    is added. The variance over test rows of both numbers is added, unless both were tested on the same rows: `n_rows`
    is then 0, else the number of test rows behind our number, and taken to be behind the published one. `class_counts`
    are the rows of each class of the whole data set.
    """
    deviations = [None if printed.std is None else float(printed.std), row.std]
    known = [one for one in deviations if one is not None]
    parts = [(known[0] if one is None else one) ** 2 for one in deviations] if known else []
    both = (row.number, float(printed.value)) if n_rows else ()
    over = [variance_over_rows(row.metric, one, n_rows, class_counts) for one in both]
    parts += over if any(over) else []
    return 2 * math.sqrt(sum(parts)) if parts else None


def grade(row: TidyRow, printed: PublishedNumber, width: float | None) -> str:
    """Return the grade of a number of ours; a published number is exact to half a unit of its last digit."""
    lead = row.number - float(printed.value)
    if printed.qualifier == "less than":
        lead = max(lead, 0.0)
    elif printed.qualifier == "more than":
        lead = min(lead, 0.0)
    half = 0.5 * 10.0 ** int(printed.value.as_tuple().exponent)
    # The slack is for numbers that are equal in decimals and not in binary.
    if abs(lead) <= (width or 0.0) + half + 1e-12:
        return WITHIN
    return NEAR if row.model and printed.unit in _SHARES and abs(lead) <= POINT + 1e-12 else BEYOND


def _explained(one: Compared, by_place: Mapping[tuple[str, ...], Compared], declared: Declared) -> Compared:
    """Add the first explanation whose own cell comes near; by a bound, only a cell without bounds explains."""
    if one.grade != BEYOND:
        return one
    row = one.row
    for explanation in declared.explanations:
        by, is_of_model = explanation.by, row.model in (explanation.models or {row.model})
        is_of_row = is_of_model and row.dataset in (explanation.datasets or {row.dataset})
        if explanation.experiment == one.experiment.id and is_of_row:
            place = one.experiment.id, by.dataset or row.dataset, by.model or row.model, row.condition, row.metric
            other = by_place.get(place)
            if other is None or other.published != one.published or other.grade in ("", BEYOND):
                continue
            if explanation.because != "bound" or not other.bounds:
                return replace(one, explanation=explanation)
    return one
