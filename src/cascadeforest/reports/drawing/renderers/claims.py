"""The papers' claims, each with its verdict, the number that decides, and where that stands."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cascadeforest.data.files import digest_of
from cascadeforest.experiments.claims import CLAIMS_FILE, OURS
from cascadeforest.inference import intervals, rules
from cascadeforest.reports.drawing import Cell, Cells, Row, Table, TidyRow, common_places
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers import verdicts
from cascadeforest.reports.numbers.metrics import known_metric
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.numbers.verdicts import Verdict


@dataclass(frozen=True)
class ClaimLine:
    """A claim in one line."""

    verdict: Verdict  # with the claim and all its evidence
    number: str  # the decisive effect with its interval; empty without one
    place: str  # what the number is of
    experiments: tuple[str, ...]  # ids of the tables with the evidence

    @property
    def words(self) -> str:
        """What decides, what is missing, and what a reader must know."""
        return "; ".join(filter(None, (self.place, self.verdict.why, *self.verdict.marks)))


def render(cells: Cells) -> Table:
    """Make the table."""
    results, papers = cells.results, cells.results.plan.papers
    lines, rows, counts = judged(results), list[Row](), defaultdict[str, Counter[str]](Counter)
    for one in lines:
        paper = papers[one.verdict.claim.paper].short if one.verdict.claim.paper in papers else OURS
        counts[paper][one.verdict.verdict] += 1
        words = Cell(one.words, is_word=bool(one.words))
        own = Cell(one.verdict.verdict, is_word=True), Cell(one.number), words, Cell(", ".join(one.experiments))
        rows.append(Row((paper, one.verdict.claim.says, ""), own))
    told = {
        "counts": counts,
        "verdicts": verdicts.VERDICTS,
        "file": CLAIMS_FILE,
        "digest": digest_of(results.claims.digests)[:12],
        "withdrawn": results.claims.withdrawn,
        "factors": [f"{math.exp(rules.ORDER):.1f}", f"{math.exp(rules.NO_ORDER):.1f}"],
        "apart": [intervals.SINGLE_TIMING, intervals.MACHINE],
    }
    heads = "verdict", "decisive number", "what decides, or what is missing", "evidence"
    tidy = verdicts.rows(one.verdict for one in lines)
    return Table.of(cells, told, tidy, ("paper", "claim"), heads, rows, size="")


def judged(results: Results, rows: Callable[[str], Iterable[TidyRow]] | None = None) -> list[ClaimLine]:
    """Return a suite's claims with verdicts, in the file's order; `rows` gives rows of a table, by default drawn."""
    rows = rows or (lambda name: all_rows(make_table(name, results)) if name in results.drawable() else ())
    return [_line(one) for one in verdicts.verdicts(verdicts.Sources(results, rows))]


def all_rows(table: Table) -> list[TidyRow]:
    """Return the rows of a table and of its picture."""
    return [*table.rows, *(table.figure.rows if table.figure else ())]


def _line(one: Verdict) -> ClaimLine:
    experiments = dict.fromkeys(evidence.experiment for evidence in one.primary.evidence)
    decision, decisive = one.primary.decision, one.primary.decisive
    if decision is None:
        return ClaimLine(one, "", "", tuple(experiments))
    comparison, scale, metric = decision.decisive, one.claim.is_log, one.claim.evidence[0].metric
    numbers = [verdicts.shown(value, scale) for value in (comparison.estimate.value, *comparison.estimate.interval)]
    text = _number(one, metric, numbers, scale)
    place = decisive.label if decisive else f"mean over data sets, {comparison.rival}"
    if scale and one.claim.rule != "about":
        bar = comparison.criterion
        place += f"; asked for: {'above' if bar.upwards else 'below'} {math.exp(bar.edge):.3g} times"
    if one.verdict == verdicts.NO_POWER and (smallest := one.primary.smallest) is not None:
        place += f"; a true {_number(one, metric, [verdicts.shown(smallest, scale)], scale)} would have been found here"
    return ClaimLine(one, text, place, tuple(experiments))


def _number(one: Verdict, metric: str, numbers: list[float | None], is_ratio: bool) -> str:
    """Write an effect and its interval in the unit of its metric."""
    is_relative = one.claim.statistic in ("difference", "change")
    percent = known_metric(metric).percent and not is_ratio and one.claim.statistic != "correlation"
    known = [100 * value if percent else value for value in numbers if value is not None]
    if not known:
        return ""
    places = 2 if percent else common_places(known)
    sign = "+" if is_relative else ""
    unit = " times" if is_ratio else (" points" if is_relative else " %") if percent else ""
    first, *ends = (f"{value:{sign},.{places}f}".replace("-", "−") for value in known)
    interval = f" [{', '.join(ends)}]" if len(ends) == len(numbers) - 1 > 0 else ""
    return f"{first}{interval}{unit}"
