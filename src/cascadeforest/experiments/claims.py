"""The claims of ``config/claims.yaml``, read and checked; `cascadeforest.reports.numbers.verdicts` judges them."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import digest_of, read_yaml
from cascadeforest.data.schemas import read_schema, validate
from cascadeforest.data.typed_json import from_json

if TYPE_CHECKING:
    from cascadeforest.experiments.plan import Plan

CLAIMS_FILE: Final = Path("config/claims.yaml")
#: What running said of claims that need no data, below ``results/`` and ``reports/``; their digests in a provenance.
CHECKS_FILE, STORED = "claim_checks.json", "claims"
#: The paper of claims that are questions of ours.
OURS: Final = "ours"
Statistic: TypeAlias = Literal["difference", "ratio", "value", "change", "correlation", "spread", "rank", "run"]
Rule: TypeAlias = Literal[
    "better",
    "comparable",
    "equivalent",
    "above",
    "below",
    "about",
    "order_of_magnitude",
    "up_to",
    "descriptive",
    "holds",
]
#: The rules that fit each statistic.
RULES: Final[Mapping[str, Collection[str]]] = {
    "difference": ("better", "comparable", "equivalent", "above", "below", "about"),
    "ratio": ("better", "comparable", "equivalent", "above", "below", "about", "order_of_magnitude", "up_to"),
    "value": ("above", "below", "about"),
    "change": ("above", "below", "about"),
    "correlation": ("above", "below"),
    "spread": ("above", "below"),
    "rank": ("descriptive",),
    "run": ("holds",),
}
#: Statistics of a model and a rival.
PAIRED: Final = ("difference", "ratio", "spread")
#: What can be checked by running (`cascadeforest.experiments.claim_checks`).
CHECKS: Final = (
    "additivity",
    "mdi_sum",
    "mdi_bounded",
    "mdi_nonnegative",
    "growth_of_cost",
    "memory",
    "front_forests",
    "scanning_size",
    "levels_linear",
)
#: Keys whose words can get better without another claim.
_WORDS: Final = ("note", "says")


@dataclass(frozen=True)
class Part:
    """A part of the evidence; the schema describes the fields."""

    experiment: str
    datasets: tuple[str, ...]
    metric: str
    model: str = ""
    rivals: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ("",)
    with_metric: str | None = None
    with_conditions: tuple[str, ...] = ()
    with_datasets: tuple[str, ...] = ()
    ends: bool = False
    bounded: bool = False


@dataclass(frozen=True)
class Reading:
    """A way to understand a claim: its name, and what it changes in the evidence (None: nothing)."""

    name: str
    experiment: str | None = None
    datasets: tuple[str, ...] | None = None
    model: str | None = None
    rivals: tuple[str, ...] | None = None
    metric: str | None = None
    conditions: tuple[str, ...] | None = None
    with_metric: str | None = None
    with_conditions: tuple[str, ...] | None = None
    value: float | None = None


@dataclass(frozen=True)
class Guard:
    """A number that says whether the mechanism of a claim was active: at least `least` and at most `most`."""

    metric: str
    least: float = -math.inf
    most: float = math.inf
    experiment: str | None = None
    model: str | None = None
    condition: str = ""


@dataclass(frozen=True)
class Exploratory:
    """Why an answer was known before, and how many repeats were seen then."""

    why: str
    known_repeats: int | None = None


@dataclass(frozen=True)
class Claim:
    """An entry of ``config/claims.yaml``; the schema describes the fields.

    `digest` is that of the entry without the words of ours.
    """

    paper: str
    quotation: str
    where: str
    says: str
    statistic: Statistic | None = None
    rule: Rule | None = None
    over: Literal["all", "several", "average"] = "all"
    k: int | None = None
    value: float | None = None
    region: float | None = None
    evidence: tuple[Part, ...] = ()
    readings: tuple[Reading, ...] = ()
    guard: Guard | None = None
    check: str | None = None
    not_run: str | None = None
    exploratory: Exploratory | None = None
    note: str = ""
    id: str = ""
    digest: str = field(default="", compare=False)

    @property
    def is_log(self) -> bool:
        """Whether what is estimated is a logarithm."""
        return self.statistic in ("ratio", "spread")

    def read_as(self, reading: Reading) -> Claim:
        """Return the claim with the evidence that a reading asks for."""
        changes = {
            name: value for name, value in vars(reading).items() if name not in ("name", "value") and value is not None
        }
        parts = tuple(dataclasses.replace(part, **changes) for part in self.evidence)
        value = self.value if reading.value is None else reading.value
        return dataclasses.replace(self, evidence=parts, value=value, readings=())


@dataclass(frozen=True)
class Check:
    """What running said of a claim that needs no data."""

    holds: bool
    words: str


@dataclass(frozen=True)
class ClaimsToJudge:
    """Claims with what is beside the cells of a suite.

    Parameters
    ----------
    claims : dict
        Id to claim, in the order of the file.
    committed : dict
        Id to digest of the claims that were there when results were stored; empty if none were.
    checks : dict
        Name to what running said.
    """

    claims: dict[str, Claim] = field(default_factory=dict)
    committed: dict[str, str] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)

    def is_post_hoc(self, claim: Claim) -> bool:
        """Whether a claim is another one, or was added, since results were stored."""
        return bool(self.committed) and self.committed.get(claim.id) != claim.digest

    @property
    def digests(self) -> dict[str, str]:
        """Id to digest of the claims as they are."""
        return {name: claim.digest for name, claim in self.claims.items()}

    @property
    def withdrawn(self) -> list[str]:
        """Ids of claims that are no longer there."""
        return [name for name in self.committed if name not in self.claims]


def read_claims(root: Path) -> dict[str, Claim]:
    """Read the claims, in the order of the file.

    Parameters
    ----------
    root : Path
        Folder that holds ``config/`` and ``workflow/schemas/``.

    Raises
    ------
    ConfigError
        Naming file, key, value and what is allowed.
    """
    content = read_yaml(root / CLAIMS_FILE) or {}
    validate(content, read_schema(root / "workflow" / "schemas" / "claims.schema.yaml"), CLAIMS_FILE)
    claims = {}
    for name, entry in content.items():
        place = f"{CLAIMS_FILE}: {name}"
        claim = from_json(Claim, entry, place)
        _check(claim, place, name)
        own: dict[str, Any] = {key: value for key, value in entry.items() if key not in _WORDS}
        claims[name] = dataclasses.replace(claim, id=name, digest=digest_of(own)[:12])
    return claims


def stored_verdicts(root: Path, suite: str) -> dict[str, tuple[str, str]]:
    """Return the verdict of each claim in the accepted table of a suite, and its note; empty if none is stored."""
    path = root / "reports" / suite / "tables" / "claims.csv"
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        # Rows with a condition are of one reading, or of fresh draws.
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "verdict" and not row["condition"]]
    return {row["model"]: (row["mark"], row["note"]) for row in rows}


def undecided(root: Path, plan: Plan) -> Counter[str]:
    """Return how many open claims wait for each experiment of a plan; claims about models that it bounds do not.

    Open are claims that lack runs or repeats in the accepted table of the suite, or of ``standard`` if it has none.
    """
    verdicts, claims = stored_verdicts(root, plan.suite) or stored_verdicts(root, "standard"), read_claims(root)

    def counts(part: Part) -> bool:
        bounds = plan.experiments[part.experiment].bounds if part.experiment in plan.experiments else {}
        return part.bounded or not any(any(bounds.get(name, {}).values()) for name in (part.model, *part.rivals))

    waiting = {name for name, (verdict, _) in verdicts.items() if verdict in ("open: not run", "open: no power")}
    is_open = [claim for name, claim in claims.items() if name in waiting]
    return Counter(name for claim in is_open for name in {part.experiment for part in claim.evidence if counts(part)})


def claims_of(root: Path, stored: Path, checks: Path) -> ClaimsToJudge:
    """Read the claims with what was stored of them, and what running said.

    Parameters
    ----------
    root : Path
        Folder of the repository; without ``config/claims.yaml`` there are no claims.
    stored : Path
        Folder with the provenance of stored results; it can be missing.
    checks : Path
        File that `cascadeforest.experiments.claim_checks` wrote; it can be missing.
    """
    if not (root / CLAIMS_FILE).is_file():
        return ClaimsToJudge()
    provenance = stored / "provenance.json"
    facts = json.loads(provenance.read_text(encoding="utf-8")) if provenance.is_file() else {}
    found = json.loads(checks.read_text(encoding="utf-8")) if checks.is_file() else {}
    return ClaimsToJudge(
        read_claims(root),
        from_json(dict[str, str], facts.get(STORED, {}), f"{provenance}: {STORED}"),
        from_json(dict[str, Check], found, str(checks)),
    )


def _check(claim: Claim, place: str, name: str) -> None:
    """Raise an error for keys that do not fit each other."""
    if not name.startswith(f"{claim.paper}-"):
        raise ConfigError(f"{place}/paper is '{claim.paper}'; the id of the claim must begin with '{claim.paper}-'.")
    given = [key for key in ("evidence", "check", "not_run") if getattr(claim, key)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise ConfigError(f"{place} has {found}; give one of evidence, check and not_run.")
    if claim.not_run:
        return
    if claim.statistic is None or claim.rule is None:
        raise ConfigError(f"{place} lacks statistic or rule; without evidence for either, say why in not_run.")
    if claim.rule not in RULES[claim.statistic]:
        allowed = ", ".join(RULES[claim.statistic])
        raise ConfigError(
            f"{place}/rule is '{claim.rule}'; with the statistic {claim.statistic} choose from {allowed}."
        )
    if (claim.statistic == "run") != bool(claim.check):
        raise ConfigError(f"{place}/check is {claim.check!r}; it belongs to the statistic run, and only to it.")
    if claim.check and claim.check not in CHECKS:
        raise ConfigError(f"{place}/check is '{claim.check}'; choose from {', '.join(CHECKS)}.")
    if (claim.over == "several") != (claim.k is not None):
        raise ConfigError(f"{place}/k is {claim.k}; it belongs to 'over: several', and only to it.")
    if claim.rule in ("about", "up_to") and claim.value is None:
        raise ConfigError(f"{place}/value is missing; the rule {claim.rule} needs the number that the claim names.")
    for part in claim.evidence:
        for key, own in (("conditions", part.conditions), ("datasets", part.datasets)):
            if len(given := getattr(part, f"with_{key}")) not in (0, 1, len(own)):
                raise ConfigError(f"{place}/evidence/with_{key} has {len(given)} entries; give 1, or {len(own)}.")
        if part.with_datasets and claim.statistic not in (*PAIRED, "correlation"):
            raise ConfigError(
                f"{place}/evidence/with_datasets: {claim.statistic} compares no two data sets; leave it out."
            )
        if (claim.statistic in PAIRED) != bool(part.rivals):
            need = "needs" if claim.statistic in PAIRED else "has no"
            raise ConfigError(f"{place}/evidence/rivals are {list(part.rivals)}; {claim.statistic} {need} rivals.")


def check_claims(claims: Mapping[str, Claim], plan: Plan) -> None:
    """Check what claims name.

    Parameters
    ----------
    claims : mapping
        Id to claim.
    plan : Plan
        Of any suite: columns are the same in all.

    Raises
    ------
    ConfigError
        Naming the claim, the value and what is allowed.
    """
    for name, claim in claims.items():
        place = f"{CLAIMS_FILE}: {name}"
        if claim.paper not in (papers := (*plan.papers, OURS)):
            raise ConfigError(f"{place}/paper is '{claim.paper}'; choose from {', '.join(papers)}.")
        readings = [claim.read_as(reading) for reading in claim.readings] or [claim]
        for part in (part for reading in readings for part in reading.evidence):
            known = _models(plan, part.experiment, f"{place}/evidence")
            for model in filter(None, (part.model, *part.rivals)):
                if model not in known:
                    raise ConfigError(f"{place}/evidence names '{model}'; {part.experiment} has {', '.join(known)}.")
        if claim.guard and claim.guard.experiment:
            _models(plan, claim.guard.experiment, f"{place}/guard")


def _models(plan: Plan, name: str, place: str) -> list[str]:
    """Return the models that rows of an experiment can have: its columns, and the importances of its options."""
    if name not in plan.experiments:
        raise ConfigError(f"{place}/experiment is '{name}'; choose from {', '.join(plan.experiments)}.")
    experiment = plan.experiments[name]
    columns = experiment.options.get("columns")
    return [*experiment.columns, *(columns if isinstance(columns, dict) else ())]
