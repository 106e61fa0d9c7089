"""Verdicts: what the results of a suite say of each claim, and on which numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cascadeforest.experiments.claims import Claim
from cascadeforest.inference.rules import COST_REGION, MORE, NO_ORDER, ORDER, Decision, decide
from cascadeforest.reports.numbers.differences import NO_ROWS
from cascadeforest.reports.numbers.evidence import NOT_IN_FULL, Evidence, Sources, State, collect
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, TidyRow

SUPPORTED, CONTRADICTED, READING = "supported", "contradicted", "depends on the reading"
NO_POWER, NO_DATA, NOT_RUN = "open: no power", "open: data not at hand", "open: not run"
INACTIVE, DESCRIPTIVE = "not exercised", "descriptive only"
#: All verdicts, in the order in which they are counted.
VERDICTS: Final = (SUPPORTED, CONTRADICTED, READING, INACTIVE, NO_POWER, NO_DATA, NOT_RUN, DESCRIPTIVE)
#: Metric of the row that has the verdict of a claim, and of the means over data sets.
VERDICT, MEAN, PREDICTION = "verdict", "random_effects_mean", "prediction_interval"
#: Verdict where comparisons are missing, and what they lack: what cannot be had comes before what was not done.
_MISSING: Mapping[State, tuple[str, str]] = {
    "absent": (NO_DATA, "not at hand"),
    "not run": (NOT_RUN, "not run"),
    "inactive": (INACTIVE, "mechanism not active"),
}
#: What a comparison says by itself.
_SAYS = {"supported": "supports", "contradicted": "contradicts", "open": "open"}


@dataclass(frozen=True)
class Judged:
    """What a claim comes to in one reading."""

    reading: str  # its name; empty where there is one only
    verdict: str  # one of `VERDICTS`
    why: str  # what decides, or what is missing
    evidence: tuple[Evidence, ...] = ()  # every comparison that the claim asks for
    decision: Decision | None = None  # None without a comparison that counts

    @property
    def smallest(self) -> float | None:
        """The true value that would have been found: of the decisive comparison, or of the mean over data sets."""
        if self.decision is None or self.decision.how != "all":
            return self.decision.smallest if self.decision else None
        return decide([self.decision.decisive], "all").smallest

    @property
    def decisive(self) -> Evidence | None:
        """The comparison that decides; None for a mean over data sets, and where nothing is judged."""
        found = self.decision.decisive if self.decision else None
        return next((one for one in self.evidence if found is not None and one.comparison is found), None)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim."""

    claim: Claim
    verdict: str  # as in `Judged`, with regard to all readings
    why: str
    primary: Judged  # in the primary reading, or the only one
    others: tuple[Judged, ...] = ()  # in the other readings
    fresh: Judged | None = None  # of a claim whose answer was known, on fresh draws only
    is_post_hoc: bool = False  # whether the claim was changed after results were stored

    @property
    def marks(self) -> list[str]:
        """What a reader must know before the verdict is believed."""
        found = []
        if self.claim.exploratory:
            fresh = self.fresh.verdict if self.fresh else ""
            new = f"alone say {fresh}" if fresh in (SUPPORTED, CONTRADICTED) else "do not decide it yet"
            found.append("exploratory: known before" + (f", and new repeats {new}" if self.fresh else ""))
        return [*found, *(["post hoc: changed or added after results were stored"] if self.is_post_hoc else [])]


def verdicts(sources: Sources) -> list[Verdict]:
    """Judge all claims, in the order of the file."""
    return [_verdict(claim, sources) for claim in sources.results.claims.claims.values()]


def _verdict(claim: Claim, sources: Sources) -> Verdict:
    is_post_hoc = sources.results.claims.is_post_hoc(claim)
    read = [(reading.name, claim.read_as(reading)) for reading in claim.readings] or [("", claim)]
    primary, *others = (_judged(name, one, sources) for name, one in read)
    known = claim.exploratory.known_repeats if claim.exploratory and claim.evidence else 0
    fresh = _judged(*read[0], sources, known) if known else None
    verdict, why = primary.verdict, primary.why
    is_decided, differ = verdict in (SUPPORTED, CONTRADICTED), [one for one in others if one.verdict != verdict]
    decided = [one for one in differ if one.verdict in (SUPPORTED, CONTRADICTED)]
    if decided and is_decided:
        verdict, why = READING, f"{verdict} if read as {primary.reading}"
    also = [f"{one.verdict} if read as {one.reading}" for one in (differ if is_decided else decided)]
    return Verdict(claim, verdict, "; ".join(filter(None, (why, *also))), primary, tuple(others), fresh, is_post_hoc)


def _judged(reading: str, claim: Claim, sources: Sources, first_repeat: int = 0) -> Judged:
    if claim.not_run:
        return Judged(reading, NOT_RUN, claim.not_run.rstrip("."))
    if claim.check:
        check = sources.results.claims.checks.get(claim.check)
        if check is None:
            return Judged(reading, NOT_RUN, f"the check {claim.check} was not run")
        return Judged(reading, SUPPORTED if check.holds else CONTRADICTED, check.words)
    if claim.rule == "descriptive":
        return Judged(reading, DESCRIPTIVE, "ranks are described, not judged")
    evidence = tuple(collect(claim, sources, first_repeat))
    judged = [one.comparison for one in evidence if one.state == "judged" and one.comparison is not None]
    missing = [one for one in evidence if one.state != "judged"]
    if not judged:
        return Judged(reading, _of_missing(missing), _why_missing(missing), evidence)
    n_sets = len({one.dataset for one in evidence})
    decision = decide(judged, claim.over, claim.k, n_sets, str(claim.rule))
    found = Judged(reading, NO_POWER, "", evidence, decision)
    why_missing, is_shown = _why_missing(missing), decision.outcome == "supported"
    needs_all = decision.how == ("all" if is_shown or claim.over == "average" else "up_to")
    if is_shown and decision.how == "several":  # a data set that lacks a rival does not count
        whole = [one for one in judged if one.dataset not in {other.dataset for other in missing}]
        needs_all = not whole or decide(whole, "several", claim.k, n_sets).outcome != "supported"
    if missing and needs_all and decision.outcome != "open":
        n, holds = len({one.dataset for one in judged}), "holds" if is_shown else "does not hold"
        why = f"{holds} on the {n} data set{'s' if n > 1 else ''} judged; {why_missing}"
        return replace(found, verdict=_of_missing(missing), why=why)
    beside = why_missing if decision.how == "average" else ""
    if decision.outcome == "contradicted":
        is_equal = claim.rule == "better" and decision.decisive.estimate.high >= 0
        why = "equal: no difference that matters" if is_equal else ""
        return replace(found, verdict=CONTRADICTED, why="; ".join(filter(None, (why, beside))))
    if is_shown:
        return replace(found, verdict=SUPPORTED, why="; ".join(filter(None, (_how_much(claim, decision), beside))))
    return replace(found, why="; ".join(filter(None, (*_why_open(claim, decision, found), why_missing))))


def _of_missing(missing: Sequence[Evidence]) -> str:
    return next((found for state, (found, _) in _MISSING.items() if state in {one.state for one in missing}), NOT_RUN)


def _why_missing(missing: Sequence[Evidence]) -> str:
    """Name the data sets without a comparison by what they lack."""
    found: dict[str, dict[str, None]] = {}
    for one in missing:
        state = next(filter(one.note.startswith, (NOT_IN_FULL, NO_ROWS)), _MISSING[one.state][1])
        found.setdefault(state, {})[one.dataset] = None
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in found.items())


def _how_much(claim: Claim, decision: Decision) -> str:
    lows = [one.estimate.low for one in decision.judged]
    if claim.rule == "order_of_magnitude" and min(lows) > MORE:
        return "more than an order of magnitude"
    if claim.rule == "up_to" and max(lows) > decision.decisive.criterion.edge + 2 * COST_REGION:
        return "more than that"
    inside = []
    for one in decision.judged if claim.rule == "better" else ():
        region = max((threshold for group in one.criterion.contradicts for _, threshold, _ in group), default=0.0)
        inside.append(one.estimate.high <= region)
    if inside and all(inside):
        return "too small to matter"
    is_part = any(inside) and decision.how == "all"
    return f"too small to matter on {sum(inside)} of {len(inside)} comparisons" if is_part else ""


def _why_open(claim: Claim, decision: Decision, found: Judged) -> Iterable[str]:
    one, decisive = decision.decisive, found.decisive
    if claim.rule == "order_of_magnitude" and one.estimate.low > NO_ORDER and one.estimate.high < ORDER:
        yield "between 3 and 5.6, which the rule leaves open"
    if decisive is None:
        return
    if one.estimate.df <= 0:
        yield f"no interval: {decisive.note}"
    elif "would" in decisive.note:
        yield decisive.note
        return
    # How many times the data a published effect asks for, unless it had been found, or is no support.
    published, smallest = decisive.published, found.smallest
    if published is not None and smallest is not None and not (claim.is_log and published <= 0):
        lead = (math.log(published) if claim.is_log else published) - one.criterion.edge
        needed = smallest - one.criterion.edge
        if lead * needed > 0 and abs(needed) > abs(lead):
            times = (needed / lead) ** 2
            many = f"about {times:,.{int(times < 10)}f} times the rows or repeats"
            yield f"{many} would decide, if the published number is true"


# Rows ----------------------------------------------------------------------------------------------------------------


def rows(found: Iterable[Verdict]) -> list[TidyRow]:
    """Return the tidy rows: of each claim its verdict, then its readings, means over data sets and comparisons.

    `model` is the claim's id. The row of the verdict has `ALL` as data set and the decisive number. `mark` is the
    verdict, or what a comparison says by itself, `smallest` the true value that would have been found, `published` the
    number that the claim names, or what the paper's numbers give. Ratios are no logarithms here.
    """
    rows: dict[tuple[str, ...], TidyRow] = {}
    for one in found:
        own = [_summary(one, one.primary, "", one.verdict, "; ".join(filter(None, (one.why, *one.marks))))]
        for judged in (one.primary, *one.others):
            prefix = f"{judged.reading}: " if judged.reading else ""
            if judged.reading:
                own.append(_summary(one, judged, judged.reading, judged.verdict, judged.why))
            own += _of_means(one, judged, prefix)
            own += [_of_evidence(one, evidence, prefix) for evidence in judged.evidence]
        for row in own:
            rows.setdefault(row.key, row)
    return list(rows.values())


def shown(value: float, is_log: bool) -> float | None:
    """Return a number as it is shown: a ratio where it is a logarithm; None if it is infinite."""
    if not math.isfinite(value):
        return None
    return math.exp(value) if is_log else value


def _summary(one: Verdict, judged: Judged, condition: str, verdict: str, note: str) -> TidyRow:
    row = TidyRow(ALL, one.claim.id, condition, VERDICT, mark=verdict, note=note, published=one.claim.value)
    if judged.decision is None:
        return row
    estimate, scale, smallest = judged.decision.decisive.estimate, one.claim.is_log, judged.smallest
    row = replace(_with(row, estimate.value, estimate.interval, scale), n=len(judged.decision.judged))
    return row if smallest is None else replace(row, smallest=shown(smallest, scale))


def _with(row: TidyRow, value: float, ends: tuple[float, float], scale: bool) -> TidyRow:
    """Return a row with a number and the ends of its interval, if they are finite."""
    low, high = (shown(end, scale) if all(map(math.isfinite, ends)) else None for end in ends)
    return replace(row, mean=shown(value, scale), low=low, high=high)


def _of_means(one: Verdict, judged: Judged, prefix: str) -> Iterable[TidyRow]:
    scale, decision = one.claim.is_log, judged.decision
    for comparison in decision.judged if decision and decision.means else ():
        row = TidyRow(ALL, one.claim.id, f"{prefix}{comparison.rival}", MEAN)
        yield _with(row, comparison.estimate.value, comparison.estimate.interval, scale)
        if decision and (mean := decision.means.get(comparison.rival)):
            yield _with(replace(row, metric=PREDICTION), mean.mean, (mean.low, mean.high), scale)


def _of_evidence(one: Verdict, evidence: Evidence, prefix: str) -> TidyRow:
    condition = f"{prefix}{evidence.experiment}: {evidence.words}"
    key = evidence.dataset, one.claim.id, condition, evidence.metric
    row = TidyRow(*key, note=evidence.note, published=evidence.published)
    if evidence.state != "judged":
        row = replace(row, status=UNAVAILABLE, note=": ".join(filter(None, (evidence.state, evidence.note))))
    if evidence.comparison is None:
        return row
    estimate, says = evidence.comparison.estimate, _SAYS[decide([evidence.comparison], "all").outcome]
    row = _with(row, estimate.value, estimate.interval, one.claim.is_log)
    return replace(row, mark=says if row.status == OK else "")
