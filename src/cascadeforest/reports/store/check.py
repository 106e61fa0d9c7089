"""The regression check: tables of a run against the stored ones.

Stored tables are golden. Where our own kernel computes them, the smoke suite must give them exactly; what passes
through BLAS or a foreign library depends on the CPU in its last bits and gets a small tolerance, unless it is a
scikit-learn forest of the very same versions; larger suites may move within their own spread. Measured cost is compared
as ratios between models only.

Tolerances would hide a wrong formula. So every stored table is also drawn anew from the stored cells, and every new one
from the new cells: both must come out exactly, with all means, deviations, ranks, marks and counts.
"""

import difflib
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.accepted import recover
from cascadeforest.experiments.plan import CLAIMS, Experiment, Pair
from cascadeforest.experiments.records import PLAN_FILE
from cascadeforest.experiments.table_rows import chosen_rows
from cascadeforest.reports.numbers import metrics
from cascadeforest.reports.numbers.costs import IN_TURN
from cascadeforest.reports.numbers.frame import ALL, COLUMNS, KEY, OF_INTERVALS, parse_csv, read_csv
from cascadeforest.reports.numbers.results import Results, read_results
from cascadeforest.reports.store.stored import CELLS, drawn_files, read_stored

Row: TypeAlias = Mapping[str, str]
Rows: TypeAlias = Sequence[Row]
Key: TypeAlias = tuple[str, ...]
#: Suites whose numbers of our own must come out the same to the last stored digit.
EXACT_SUITES = frozenset({"smoke"})
#: Decimal places of the numbers of two runs: the spread of sums that are 1 is 0 on one processor, 8e-17 on the next.
PLACES = 12
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
class Finding:
    """One cell that is not what is stored.

    `table`, `cell` and `column` say where: the experiment, the row's key in words, the CSV column. `tolerance` is what
    would have been allowed. Only a drift lets the check fail.
    """

    table: str
    cell: str
    column: str
    stored: str
    new: str
    tolerance: str
    is_drift: bool = True

    def __str__(self) -> str:
        word = "DRIFT" if self.is_drift else "note "
        return (
            f"{word} {self.table}: {self.cell}: {self.column}: stored {self.stored or '(nothing)'}, "
            f"new {self.new or '(nothing)'}, tolerance {self.tolerance}"
        )


@dataclass(frozen=True)
class CheckReport:
    """What a check found: the tables and the number of rows that were compared, and what differs."""

    suite: str
    tables: tuple[str, ...]
    n_rows: int
    findings: tuple[Finding, ...]
    n_accepted: int = 0  # cells of the run that were not computed

    @property
    def has_drift(self) -> bool:
        """Whether the check fails."""
        return any(finding.is_drift for finding in self.findings)

    def lines(self) -> list[str]:
        """Say what was compared and what differs."""
        drifts = sum(finding.is_drift for finding in self.findings)
        found = f"{drifts} drifts" if drifts else "no drift"
        lacks = self.tables and any(one.column == "file" and one.stored for one in self.findings if one.is_drift)
        return [
            *map(str, self.findings),
            f"Check of the suite {self.suite}: {len(self.tables)} tables, {self.n_rows} rows, {found}. Every table was "
            "also drawn anew from its cells, the stored and the new one: that must be exact.",
            *([f"{self.n_accepted:,} cells were taken as they were accepted."] if self.n_accepted else []),
            *([f"If the new numbers are meant: make accept SUITE={self.suite} MESSAGE='why'"] if drifts else []),
            *([f"After a partial run: make check SUITE={self.suite} ONLY='{' '.join(self.tables)}'"] if lacks else []),
        ]


def check(root: Path, suite: str, only: Collection[str] = ()) -> CheckReport:
    """Compare ``results/<suite>`` with ``reports/<suite>``, or what `only` names; `UserError` if lacking or damaged."""
    named = chosen_rows(only)
    by_rows = {name: rows for name, rows in named.items() if rows}
    stored_folder, new_folder = root / "reports" / suite, root / "results" / suite
    recover(stored_folder)
    if not (stored_folder / CELLS).is_file():
        close = difflib.get_close_matches(suite, [path.parent.name for path in root.glob(f"reports/*/{CELLS}")], n=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        raise UserError(
            f"{stored_folder}: nothing is stored for the suite '{suite}', so there is nothing to compare with. {hint}"
            f"Run it, look at results/{suite}/index.html, then: make accept SUITE={suite} MESSAGE='why'"
        )
    if not (new_folder / PLAN_FILE).is_file() or not (by_rows or any((new_folder / "tables").glob("[!.]*.csv"))):
        raise UserError(
            f"{new_folder / 'tables'}: the suite '{suite}' was not run, so there is nothing to compare. "
            f"Run it first: snakemake --cores all --config suite={suite}"
        )
    before, after = read_stored(root, suite), read_results(root, suite)
    after = after.of(after.plan.only(only)) if by_rows else after
    left_out = before.plan.left_out
    stored, new = _tables(stored_folder, before), _tables(new_folder, after, left_out)
    for name, rows in by_rows.items():  # the run draws no table of them alone
        drawn = parse_csv(drawn_files(after, names=[name])[f"tables/{name}.csv"].decode(), name)
        stored[name], new[name] = (
            [row for row in table if row["dataset"] in rows and IN_TURN not in row["condition"]]
            for table in (stored.get(name, []), _rounded(drawn))
        )
    if neither := ", ".join(name for name in named if not (stored.get(name) or new.get(name))):
        raise UserError(f"--only names {neither}: neither accepted nor a table in {new_folder}.")
    shown = list(named) or [*before.drawable(), *after.drawable()]
    findings = list(_stale_runs(after, [name for name in after.drawable() if name in {*shown} - {*left_out}]))
    for name in dict.fromkeys(shown):
        if name in left_out:
            note = ("not accepted yet", "not compared", "any")
            findings.append(Finding(name, "the whole table", "file", *note, is_drift=False))
            continue
        if name in stored and name in new:
            exact = _same_forests(name, before, after)
            findings += compare(name, stored[name], new[name], after.experiments[name], suite, exact)
            if suite in EXACT_SUITES and name not in by_rows:
                findings += _compare_figures(name, stored_folder, new_folder, after.experiments[name])
        else:
            findings.append(missing(name, "the whole table", "file", name in stored, name in new))
        if name in stored:
            findings += redrawn(drawn_files(before, names=[name]), stored_folder, "redrawn from the stored cells")
        # A table with a run of another configuration is told above; each of its rows would say it again.
        if name in {*new} - {*by_rows} and not any(p in after.stale for p in after.experiments[name].needed_runs()):
            findings += redrawn(drawn_files(after, names=[name]), new_folder, "redrawn from the new cells")
    compared = tuple(name for name in stored if name in new and name in shown)
    n_rows = sum(len(stored[name]) for name in compared)
    return CheckReport(suite, compared, n_rows, tuple(findings), after.n_accepted())


def _tables(folder: Path, results: Results, without: Collection[str] = ()) -> dict[str, list[dict[str, str]]]:
    """Read the tables of the plan; a file that an earlier configuration left behind does not count."""
    files = {name: folder / "tables" / f"{name}.csv" for name in results.drawable() if name not in without}
    return {name: _rounded(read_csv(path)) for name, path in files.items() if path.is_file()}


def _rounded(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Give the numbers of the rows of a run `PLACES`."""
    numbers = "mean", "std", *OF_INTERVALS
    return [row | {k: row[k] and f"{round(float(row[k]), PLACES) + 0:.10g}" for k in numbers} for row in rows]


def redrawn(files: Mapping[str, bytes], folder: Path, source: str = "") -> Iterable[Finding]:
    """Compare drawn files with those of a folder: other numbers are drifts, other words are not."""
    for file, content in files.items():
        path, name, what = folder / file, Path(file).stem, f"file ({source})" if source else "file"
        if not path.is_file():
            yield missing(name, file, what, False, True)
        elif path.suffix == ".csv":
            place = f"drawn in the figure, {source}" if source and path.parent.name == "figures" else source or file
            yield from compare_exactly(name, read_csv(path), parse_csv(content.decode(), file), place)
        elif path.suffix == ".md" and path.read_bytes() != content:
            note = ("", "another text", "any: the numbers are in the CSV")
            yield Finding(name, path.name, what, *note, is_drift=False)


def _compare_figures(name: str, stored: Path, new: Path, experiment: Experiment) -> Iterable[Finding]:
    """Compare drawn numbers that only our own code computes; a missing file is told when the figure is redrawn."""
    paths = [folder / "figures" / f"{name}.csv" for folder in (stored, new)]
    if all(path.is_file() for path in paths) and not any(experiment.libraries.values()):
        moving = {*metrics.COORDINATES, *metrics.FOREIGN_METRICS, *metrics.COSTS, *metrics.COST_RATIOS}
        before, after = (_rounded(read_csv(path)) for path in paths)
        yield from compare_exactly(name, before, after, "drawn in the figure", moving)


def _stale_runs(results: Results, compared: Sequence[str]) -> Iterable[Finding]:
    """A drift for each run file that another configuration left, if a table that is compared shows it."""
    again = f"none; run again: snakemake --cores all --config suite={results.suite}"
    for pair, fields in results.stale.items():
        if name := next((name for name in compared if pair in results.experiments[name].needed_runs()), None):
            found = f"of another configuration (other {', '.join(fields)})"
            yield Finding(name, words(pair), "run", "there", found, again)


def _same_forests(name: str, before: Results, after: Results) -> set[Pair]:
    """Pairs (data set, column) of `REPRODUCIBLE` estimators whose cells come from the same software, then and now."""
    new, old, found = after.experiments[name], before.experiments[name], set()
    for dataset, (column, preset) in itertools.product(new.repeats, new.columns.items()):
        both = [results.cells(dataset, preset, new.n_repeats(dataset, preset)) or [] for results in (before, after)]
        origins = [
            [(c.estimator, c.provenance.versions, *map(c.provenance.host.get, ("python", "machine"))) for c in cells]
            for cells in both
        ]
        reproducible = both[0] and all(cell.estimator.startswith(REPRODUCIBLE) for cell in both[0])
        if reproducible and origins[0] == origins[1] and old.columns.get(column) == preset:
            found.add((dataset, column))
    return found


def compare(
    name: str, stored: Rows, new: Rows, experiment: Experiment, suite: str, exact: Collection[Pair] = ()
) -> list[Finding]:
    """Compare two tidy tables of an experiment, whose rows are texts from `read_csv`.

    `exact` names pairs (data set, column) that count as our own although a foreign library computes them.
    """
    before, after = by_key(stored), by_key(new)
    if experiment.kind == CLAIMS:  # all follows from other tables, and is drawn anew from the cells
        return [replace(one, is_drift=False) for one in compare_exactly(name, stored, new, "other tables moved")]
    both = {key: (before[key], after[key]) for key in before if key in after}
    moved = {_group(key) for key, (old, now) in both.items() if key[0] != ALL and old["mean"] != now["mean"]}
    findings: list[Finding] = []
    for key in dict.fromkeys([*before, *after]):
        dataset, column, condition, metric = key
        is_cost, is_ratio = metric in metrics.COSTS, metric in metrics.COST_RATIOS
        if key not in both:
            # Beside a cost that was measured as 0 (memory of a small prediction) a ratio has no number, and no row.
            if not is_ratio or {**before, **after}[key]["published"]:
                findings.append(missing(name, words(key), "row", key in before, key in after))
        elif dataset == ALL and not is_ratio:
            # A table of one metric does not name it here; what intervals decide names the reference before it.
            of = condition.rpartition(", ")[2] or experiment.metrics[0]
            if of not in metrics.COSTS:
                moves = of in {group[2] for group in moved}
                findings += _derived(name, key, both[key], ("mean", "n", "status"), moves)
        elif not is_cost:
            has_moved = _group(key) in moved
            if not is_ratio:  # they follow from the costs, which are compared below
                is_foreign = bool(experiment.libraries.get(column)) and (dataset, column) not in exact
                findings += _compare_row(name, key, both[key], is_foreign or metric in metrics.FOREIGN_METRICS, suite)
                # An interval also moves with single predictions, which may move with foreign libraries.
                findings += _derived(name, key, both[key], OF_INTERVALS, is_foreign or has_moved)
            findings += _derived(name, key, both[key], ("rank", "mark"), has_moved)
    return findings + list(_compare_costs(name, both))


def _group(key: Key) -> Key:
    """Data set, condition and metric: the rows that are ranked against each other."""
    return key[0], key[2], key[3]


def _derived(name: str, key: Key, both: tuple[Row, Row], columns: Iterable[str], moves: bool) -> Iterator[Finding]:
    """Compare what follows from means, so must be the same where those are."""
    tolerance = "any: it follows from means that moved" if moves else "0 (exact)"
    for column in columns:
        before, after = (row.get(column, "") for row in both)  # a table without intervals has no columns for them
        if before != after:
            yield Finding(name, words(key), column, before, after, tolerance, is_drift=not moves)


def _compare_row(name: str, key: Key, both: tuple[Row, Row], foreign: bool, suite: str) -> Iterator[Finding]:
    """Compare one row that is neither cost nor derived from other rows."""
    limit = allowed(both[0], foreign, suite)
    yield from _derived(name, key, both, ("status", "n", "n_test", "published", "published_std"), False)
    why = "foreign library" if suite in EXACT_SUITES else f"suite {suite}"
    reason = "{:.4g} " + f"({why})" if limit else "0 (exact)"
    for column, tolerance in (("mean", limit), ("std", STD_FACTOR * limit)):
        was, is_now = (row[column] for row in both)
        # A number is near no empty cell.
        if was != is_now and not (was and is_now and abs(float(is_now) - float(was)) <= tolerance):
            yield Finding(name, words(key), column, was, is_now, reason.format(tolerance))


def allowed(stored: Row, foreign: bool, suite: str) -> float:
    """Return by how much a mean may differ from the stored one; `foreign`: other libraries compute the column.

    It is 0 where the digits must be the same: facts about data everywhere, our own models in `EXACT_SUITES` (unless the
    number is one of `PROJECTED`).
    """
    name, is_exact = stored["metric"], suite in EXACT_SUITES
    size = abs(float(stored["mean"] or 0))
    if name in metrics.PROJECTED:
        return metrics.PROJECTED_RELATIVE * size
    if name not in metrics.KNOWN or not stored["mean"] or (is_exact and not foreign):
        return 0.0
    metric, models = metrics.known_metric(name), 2 if name in metrics.DIFFERENCES else 1  # that may move
    n_test = int(stored["n_test"] or 1)
    of_rows = max(FOREIGN_SHARE if is_exact else FLOOR_SHARE, FOREIGN_ROWS / n_test)
    if metric.unit == metrics.ROWS:  # a share of the test rows, counted
        return (of_rows if is_exact else FLOOR_SHARE) * n_test
    if is_exact:
        return models * of_rows if metric.percent else FOREIGN_RELATIVE * size
    # One class has so few test rows that a single one is more than the floor.
    share = of_rows if foreign and name in metrics.OF_ONE_CLASS else FLOOR_SHARE
    spread = SPREADS * float(stored["std"] or 0) / math.sqrt(int(stored["n"] or 1))
    return max(models * share if metric.percent else FLOOR_RELATIVE * size, spread)


def _compare_costs(name: str, both: Mapping[Key, tuple[Row, Row]]) -> Iterator[Finding]:
    """Compare ratios of measured cost to that of `COST_REFERENCE`, or of the table's first model."""
    groups: dict[Key, dict[Key, list[float]]] = {}
    for key, rows in both.items():
        if key[3] in metrics.COSTS:
            yield from _derived(name, key, rows, ("status",), False)
            if rows[0]["status"] == rows[1]["status"] and rows[0]["mean"] and rows[1]["mean"]:
                floor = metrics.COST_FLOORS[metrics.known_metric(key[3]).unit]
                groups.setdefault(_group(key), {})[key] = [max(float(row["mean"]), floor) for row in rows]
    for costs in groups.values():
        reference = next((key for key in costs if key[1] == COST_REFERENCE), next(iter(costs)))
        for key, values in costs.items():
            ratios = [value / base for value, base in zip(values, costs[reference], strict=True)]
            if (factor := max(ratios) / min(ratios)) > COST_NOTED_FACTOR:
                old, now = (f"{ratio:.3g}" for ratio in ratios)
                limit, is_drift = f"a factor of {COST_FACTOR:g}", factor > COST_FACTOR
                yield Finding(name, words(key), f"ratio to {reference[1]}", old, now, limit, is_drift)


# Any two tables ------------------------------------------------------------------------------------------------------


def words(key: Iterable[str]) -> str:
    """Write the key of a row, or a part of it, in words."""
    return " / ".join(filter(None, key))


def by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    """Return rows of a tidy table by what names them."""
    return {tuple(row[column] for column in KEY): row for row in rows}


def missing(name: str, what: str, column: str, before: bool, after: bool) -> Finding:
    """Return the finding that something is stored, or there now, but not both."""
    return Finding(name, what, column, "there" if before else "", "there" if after else "", "none")


def compare_exactly(
    name: str, stored: Iterable[Row], new: Iterable[Row], source: str, without: Collection[str] = ()
) -> Iterable[Finding]:
    """Compare two tidy tables, but for some metrics, without any tolerance; another note is no drift."""
    before, after = (by_key(row for row in rows if row["metric"] not in without) for rows in (stored, new))
    for key in dict.fromkeys([*before, *after]):
        if key not in before or key not in after:
            yield missing(name, words(key), f"row ({source})", key in before, key in after)
            continue
        for column in COLUMNS:
            if before[key][column] != after[key][column]:
                values = before[key][column], after[key][column]
                yield Finding(name, words(key), f"{column} ({source})", *values, "0 (exact)", column != "note")
