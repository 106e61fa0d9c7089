"""The regression check: tables of a run against the stored ones.

Stored tables are golden. Where our own kernel computes them, the smoke suite must give them exactly; what passes
through BLAS or a foreign library depends on the CPU in its last bits and gets a small tolerance, unless it is a
scikit-learn forest of the very same versions; larger suites may move within their own spread. Measured cost is compared
as ratios between models only.

Tolerances would hide a wrong formula. So every stored table is also drawn anew from the stored cells, and every new one
from the new cells: both must come out exactly, with all means, deviations, ranks, marks and counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import UserError
from cascadeforest.reports.derived import (
    COORDINATES,
    COST_FLOORS,
    COST_RATIOS,
    COSTS,
    DIFFERENCES,
    FOREIGN_METRICS,
    OF_ONE_CLASS,
    PROJECTED,
    PROJECTED_RELATIVE,
    ROWS,
    known_metric,
)
from cascadeforest.reports.findings import Finding, key_of, words
from cascadeforest.reports.redrawing import compare_numbers, redraw, redraw_figure
from cascadeforest.reports.results import (
    CELLS,
    LEFT_OUT,
    NOT_IMPLEMENTED,
    PLAN,
    Results,
    is_figure,
    needed_runs,
    read_results,
    read_stored,
)
from cascadeforest.reports.storage import recover
from cascadeforest.reports.tidy import ALL, read_csv

#: Suites whose numbers of our own must come out the same to the last stored digit.
EXACT_SUITES = frozenset({"smoke"})
#: Foreign libraries in such a suite: metrics that are shares may move by this much or by so many test rows (the
#: larger of the two: small test sets move in steps), others by this part of their value.
FOREIGN_SHARE, FOREIGN_ROWS, FOREIGN_RELATIVE = 0.01, 2, 0.02
#: A deviation may move by the mean's tolerance times this: if every repeat moves by at most t, the deviation of n
#: repeats moves by at most t * sqrt(n / (n - 1)), which is 1.41 t for two.
STD_FACTOR = 1.5
#: Estimators of a foreign library that compute the same digits on every machine: no BLAS, no OpenMP, seeds only. They
#: are compared exactly where versions, Python and kind of machine are those of the stored cells.
REPRODUCIBLE = ("sklearn.ensemble:RandomForest", "sklearn.ensemble:ExtraTrees")
#: Other suites: `max(floor, SPREADS * std / sqrt(n))` with these floors.
SPREADS, FLOOR_SHARE, FLOOR_RELATIVE = 3, 0.005, 0.01
#: Cost: by so much may the ratio of a model to the reference model change; what is below `COST_FLOORS` counts as these.
COST_FACTOR, COST_NOTED_FACTOR = 5.0, 2.0
#: The model that others' cost is divided by, where the table has it; else the table's first.
COST_REFERENCE = "random_forest"


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Parameters
    ----------
    suite : str
        The suite.
    tables : tuple of str
        Tables that were compared.
    n_rows : int
        Rows that were compared.
    findings : tuple of Finding
        Differences, drifts and notes.
    """

    suite: str
    tables: tuple[str, ...]
    n_rows: int
    findings: tuple[Finding, ...]

    @property
    def has_drift(self) -> bool:
        """Whether the check fails."""
        return any(finding.is_drift for finding in self.findings)

    def lines(self) -> list[str]:
        """Say what was compared, how, and what differs."""
        drifts = sum(finding.is_drift for finding in self.findings)
        if self.suite in EXACT_SUITES:
            rule = (
                "exact for our own code, and for scikit-learn's forests of the stored versions; other foreign code: "
                f"means of shares within max({FOREIGN_SHARE}, {FOREIGN_ROWS} / test rows), of others within "
                f"{FOREIGN_RELATIVE:.0%}, in a t-SNE plane within {PROJECTED_RELATIVE:.0%}"
            )
        else:
            rule = (
                f"means within max(floor, {SPREADS} * std / sqrt(n)), floor {FLOOR_SHARE} for shares, "
                f"{FLOOR_RELATIVE:.0%} for others; in a t-SNE plane within {PROJECTED_RELATIVE:.0%}"
            )
        result = f"{drifts} drifts" if drifts else "no drift"
        return [
            *map(str, self.findings),
            f"Check of the suite {self.suite}: {len(self.tables)} tables, {self.n_rows} rows, {result}.",
            "Every table was also drawn anew from its cells, the stored and the new one: that must be exact.",
            f"Tolerances: {rule}; differences of two models within twice that; "
            f"deviations within {STD_FACTOR} times that of their mean; cost as ratios to "
            f"{COST_REFERENCE}, within a factor of {COST_FACTOR:g} "
            f"(below {', '.join(f'{floor:g} {unit}' for unit, floor in COST_FLOORS.items())} it counts as noise).",
            *([f"If the new numbers are meant: make accept SUITE={self.suite} MESSAGE='why'"] if drifts else []),
        ]


def check(root: Path, suite: str) -> CheckReport:
    """Compare ``results/<suite>/tables`` with ``reports/<suite>/tables``, and each table with the cells behind it.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite.

    Returns
    -------
    CheckReport

    Raises
    ------
    UserError
        If nothing is stored or nothing was run.
    """
    stored_folder = root / "reports" / suite
    recover(stored_folder)
    if not (stored_folder / CELLS).is_file():
        raise UserError(
            f"{stored_folder}: nothing is stored for the suite '{suite}', so there is nothing to compare with. "
            f"Run it, look at results/{suite}/index.html, then: make accept SUITE={suite} MESSAGE='why'"
        )
    new_folder = root / "results" / suite
    if not (new_folder / PLAN).is_file() or not any((new_folder / "tables").glob("[!.]*.csv")):
        raise UserError(
            f"{new_folder / 'tables'}: the suite '{suite}' was not run, so there is nothing to compare. "
            f"Run it first: snakemake --cores all --config suite={suite}"
        )
    before, after = read_stored(root, suite), read_results(root, suite)
    experiments = after.experiments
    left_out = set(before.plan.get(LEFT_OUT, ()))
    new = {n: path for n, path in _table_files(new_folder / "tables", experiments).items() if n not in left_out}
    stored = _table_files(stored_folder / "tables", before.experiments)
    findings = list(_stale_runs(after, left_out))
    compared, n_rows = [], 0
    for name in dict.fromkeys([*before.experiments, *experiments]):
        if name in stored and name in new:
            rows = read_csv(stored[name])
            compared.append(name)
            n_rows += len(rows)
            findings += compare(
                name, rows, read_csv(new[name]), experiments[name], suite, _same_forests(name, before, after)
            )
            if suite in EXACT_SUITES and is_figure(experiments[name]):
                findings += _compare_figures(name, stored[name], new[name], experiments[name])
        elif name in left_out:
            note = ("not accepted yet", "not compared", "any")
            findings.append(Finding(name, "the whole table", "file", *note, is_drift=False))
        elif _drawn(before.experiments, name) or _drawn(experiments, name):
            there = ["there" if name in tables else "" for tables in (stored, new)]
            findings.append(Finding(name, "the whole table", "file", *there, "none"))
        if name in stored:
            findings += _redrawn(name, stored[name], before, "redrawn from the stored cells")
        # A table with a run of another configuration is told above; each of its rows would say it again.
        if name in new and not any(pair in after.stale for pair in needed_runs(experiments[name])):
            findings += _redrawn(name, new[name], after, "redrawn from the new cells")
    return CheckReport(suite, tuple(compared), n_rows, tuple(findings))


def _compare_figures(name: str, stored: Path, new: Path, experiment: Mapping[str, Any]) -> Iterable[Finding]:
    """Drawn numbers that only our own code computes; a file that is missing is told when the figure is redrawn."""
    before, after = (path.parents[1] / "figures" / path.name for path in (stored, new))
    if before.is_file() and after.is_file() and not any(experiment["libraries"].values()):
        drawn = after.read_text(encoding="utf-8")
        moving = {*COORDINATES, *FOREIGN_METRICS, *COSTS, *COST_RATIOS}
        yield from compare_numbers(name, before, drawn, "drawn in the figure", moving)


def _redrawn(name: str, path: Path, results: Results, source: str) -> Iterable[Finding]:
    """Table, and picture if there is one, against what their cells give."""
    yield from redraw(name, path, results, source)
    if is_figure(results.experiment(name)):
        yield from redraw_figure(name, path.parents[1] / "figures", results, source)


def _stale_runs(results: Results, left_out: Collection[str]) -> Iterable[Finding]:
    """A drift for each run file that another configuration left, if a table that is compared shows it."""
    again = f"none; run again: snakemake --cores all --config suite={results.suite}"
    for (dataset, preset), fields in results.stale.items():
        showing = [name for name in results.drawable() if (dataset, preset) in needed_runs(results.experiment(name))]
        name = next((name for name in showing if name not in left_out), None)
        if name is None:
            continue
        found = f"of another configuration (other {', '.join(fields)})"
        yield Finding(name, words((dataset, preset)), "run", "there", found, again)


def _same_forests(name: str, before: Results, after: Results) -> set[tuple[str, str]]:
    """Pairs (data set, column) of `REPRODUCIBLE` estimators whose cells come from the same software, then and now."""
    old, new = before.experiments[name], after.experiments[name]
    found = set()
    for dataset, preset in needed_runs(new):
        repeats = new["repeats"][dataset]
        cells = [results.cells(dataset, preset, repeats) for results in (before, after)]
        if None in cells or _software(cells[0]) != _software(cells[1]):
            continue
        if all(cell["estimator"].startswith(REPRODUCIBLE) for part in cells for cell in part):
            columns = [column for column, other in new["columns"].items() if other == preset]
            found |= {(dataset, column) for column in columns if old["columns"].get(column) == preset}
    return found


def _software(cells: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [(cell["versions"], cell["host"]["python"], cell["host"]["machine"]) for cell in cells]


def _drawn(experiments: Mapping[str, Any], name: str) -> bool:
    return name in experiments and experiments[name]["status"] != NOT_IMPLEMENTED


def _table_files(folder: Path, experiments: Mapping[str, Any]) -> dict[str, Path]:
    """Tables of the plan; a file that an earlier configuration left behind does not count."""
    files = {name: folder / f"{name}.csv" for name in experiments if _drawn(experiments, name)}
    return {name: path for name, path in files.items() if path.is_file()}


def compare(
    name: str,
    stored: Sequence[Mapping[str, str]],
    new: Sequence[Mapping[str, str]],
    experiment: Mapping[str, Any],
    suite: str,
    exact: Collection[tuple[str, str]] = (),
) -> list[Finding]:
    """Compare two tidy tables.

    Parameters
    ----------
    name : str
        Id of the experiment.
    stored, new : sequence of mappings
        Rows as texts, from `read_csv`.
    experiment : mapping
        The experiment, for the foreign libraries behind each column.
    suite : str
        Decides the tolerances.
    exact : collection of (str, str)
        Pairs (data set, column) that count as our own although a foreign library computes them.

    Returns
    -------
    list of Finding
        In the order of the stored rows, then rows that are new.
    """
    before = {key_of(row): row for row in stored}
    after = {key_of(row): row for row in new}
    findings = []
    for key in dict.fromkeys([*before, *after]):
        if key not in before or key not in after:
            row = before.get(key) or after[key]
            # Beside a cost that was measured as 0 (memory of a small prediction) a ratio has no number, and no row.
            if key[3] in COST_RATIOS and not row["published"]:
                continue
            there = ["there" if key in rows else "" for rows in (before, after)]
            findings.append(Finding(name, words(key), "row", *there, "none"))
            continue
        # Ratios of cost follow from the costs, which are compared below.
        if key[0] != ALL and key[3] not in COSTS and key[3] not in COST_RATIOS:
            is_foreign_model = bool(experiment["libraries"].get(key[1])) and key[:2] not in exact
            foreign = is_foreign_model or key[3] in FOREIGN_METRICS
            findings += _compare_row(name, key, before[key], after[key], foreign, suite)
    findings += _compare_derived(name, before, after, experiment)
    findings += _compare_costs(name, before, after)
    return findings


def _compare_row(name: str, key: tuple, before: Mapping, after: Mapping, foreign: bool, suite: str) -> list[Finding]:
    """Compare one row that is neither cost nor derived from other rows."""
    tolerance = allowed(before, foreign, suite)
    exact_columns = ["status", "n", "n_test", "published", "published_std"]
    if tolerance == 0:
        exact_columns += ["mean", "std"]
    findings = [
        Finding(name, words(key), column, before[column], after[column], "0 (exact)")
        for column in exact_columns
        if before[column] != after[column]
    ]
    if tolerance:
        reason = "foreign library" if suite in EXACT_SUITES else f"suite {suite}"
        findings += [
            Finding(name, words(key), column, before[column], after[column], f"{limit:.4g} ({reason})")
            for column, limit in (("mean", tolerance), ("std", STD_FACTOR * tolerance))
            if not _is_near(before[column], after[column], limit)
        ]
    return findings


def _is_near(stored: str, new: str, limit: float) -> bool:
    """Whether two numbers differ by no more than `limit`; a number is near no empty cell."""
    if not stored or not new:
        return stored == new
    return abs(float(new) - float(stored)) <= limit


def allowed(stored: Mapping[str, str], foreign: bool, suite: str) -> float:
    """Return by how much a mean may differ from the stored one.

    Parameters
    ----------
    stored : mapping
        The stored row, as texts.
    foreign : bool
        Whether libraries other than ours compute the column.
    suite : str
        Name of the suite.

    Returns
    -------
    float
        0 where the digits must be the same: facts about data everywhere, our own models in `EXACT_SUITES` (unless the
        number is one of `PROJECTED`).
    """
    metric = known_metric(stored["metric"])
    if stored["metric"] in PROJECTED and stored["mean"]:
        return PROJECTED_RELATIVE * abs(float(stored["mean"]))
    if metric is None or not stored["mean"] or (suite in EXACT_SUITES and not foreign):
        return 0.0
    size = abs(float(stored["mean"]))
    if metric.unit == ROWS:  # a share of the test rows, counted
        n_test = int(stored["n_test"])
        share = max(FOREIGN_SHARE, FOREIGN_ROWS / n_test) if suite in EXACT_SUITES else FLOOR_SHARE
        return share * n_test
    models = 2 if stored["metric"] in DIFFERENCES else 1  # that may move
    if suite in EXACT_SUITES:
        share = models * max(FOREIGN_SHARE, FOREIGN_ROWS / int(stored["n_test"]))
        return share if metric.percent else FOREIGN_RELATIVE * size
    share = FLOOR_SHARE
    if foreign and stored["metric"] in OF_ONE_CLASS:  # so few test rows that a single one is more than the floor
        share = max(FLOOR_SHARE, FOREIGN_ROWS / int(stored["n_test"]))
    floor = models * share if metric.percent else FLOOR_RELATIVE * size
    spread = SPREADS * float(stored["std"]) / math.sqrt(int(stored["n"])) if stored["std"] else 0.0
    return max(floor, spread)


def _compare_derived(name: str, before: Mapping, after: Mapping, experiment: Mapping[str, Any]) -> list[Finding]:
    """Ranks, marks and rows over all data sets: they follow from means, so they must be the same where those are."""
    both = [key for key in before if key in after]
    moved = {_group(key) for key in both if key[0] != ALL and before[key]["mean"] != after[key]["mean"]}
    findings = []
    for key in both:
        if key[0] == ALL:
            metric = key[2] or experiment["metrics"][0]  # a table of one metric does not name it here
            moves, columns = any(group[2] == metric for group in moved), ("mean", "n", "status")
        else:
            metric = key[3]
            moves, columns = _group(key) in moved, ("rank", "mark")
        if metric in COSTS:
            continue
        tolerance = "any: it follows from means that moved" if moves else "0 (exact)"
        findings += [
            Finding(name, words(key), column, before[key][column], after[key][column], tolerance, is_drift=not moves)
            for column in columns
            if before[key][column] != after[key][column]
        ]
    return findings


def _group(key: tuple[str, ...]) -> tuple[str, str, str]:
    """Data set, condition and metric: the rows that are ranked against each other."""
    return key[0], key[2], key[3]


def _compare_costs(name: str, before: Mapping, after: Mapping) -> list[Finding]:
    findings = []
    groups: dict[tuple[str, str, str], list[tuple[str, ...]]] = {}
    for key in before:
        if key in after and key[3] in COSTS:
            if before[key]["status"] != after[key]["status"]:
                findings.append(
                    Finding(name, words(key), "status", before[key]["status"], after[key]["status"], "0 (exact)")
                )
            elif before[key]["mean"] and after[key]["mean"]:
                groups.setdefault(_group(key), []).append(key)
    for (_, _, metric), keys in groups.items():
        floor = COST_FLOORS[known_metric(metric).unit]
        reference = next((key for key in keys if key[1] == COST_REFERENCE), keys[0])
        for key in keys:
            ratios = [
                max(float(rows[key]["mean"]), floor) / max(float(rows[reference]["mean"]), floor)
                for rows in (before, after)
            ]
            factor = max(ratios) / min(ratios)
            if factor > COST_NOTED_FACTOR:
                findings.append(
                    Finding(
                        name,
                        words(key),
                        f"ratio to {reference[1]}",
                        f"{ratios[0]:.3g}",
                        f"{ratios[1]:.3g}",
                        f"a factor of {COST_FACTOR:g}",
                        is_drift=factor > COST_FACTOR,
                    )
                )
    return findings
