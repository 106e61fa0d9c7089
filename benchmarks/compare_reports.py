"""Compare the numbers of all stored tables and figures of two checkouts.

    python benchmarks/compare_reports.py BEFORE AFTER

BEFORE and AFTER are folders of the repository. For each tidy CSV below ``reports/<suite>/{tables,figures}`` it says
whether all values are the same, and else which differ. What our own code computes must be the same to the last digit;
models of foreign libraries may move as far as `make check` allows for the smoke suite; measured cost, places in a t-SNE
plane, and the numbers of large pictures, which are not stored, are left out. The exit status is 1 if a value differs or
a table is gone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from cascadeforest.data.errors import UserError
from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.numbers.frame import read_csv
from cascadeforest.reports.numbers.metrics import COORDINATES, COST_RATIOS, COSTS
from cascadeforest.reports.store.check import EXACT_SUITES, Finding, Row, compare
from cascadeforest.reports.store.stored import CELLS, MOST_DRAWN, read_stored

LEFT_OUT = {*COSTS, *COST_RATIOS, *COORDINATES}
N_SHOWN = 20


def files(root: Path) -> dict[str, Path]:
    """Tidy CSV files of all stored suites, by their path below ``reports``."""
    reports = root / "reports"
    found = sorted(path for folder in ("tables", "figures") for path in reports.glob(f"*/{folder}/[!.]*.csv"))
    if not found:
        raise UserError(f"{reports}: no tables are stored here. Name two folders of the repository.")
    kept = [path for path in found if path.parent.name == "tables" or path.stat().st_size <= MOST_DRAWN]
    return {path.relative_to(reports).as_posix(): path for path in kept}


def experiments(root: Path, suite: str) -> dict[str, Experiment]:
    """Experiments of a stored suite, which name the libraries behind their columns."""
    return read_stored(root, suite).experiments if (root / "reports" / suite / CELLS).is_file() else {}


def rows(path: Path) -> list[Row]:
    """Rows of a table that must not change."""
    return [row for row in read_csv(path) if row["metric"] not in LEFT_OUT]


def differences(before: Path, after: Path) -> Iterator[tuple[str, list[Finding] | None]]:
    """Yield each file of `before` with what differs in it; None if it is gone."""
    old, new = files(before), files(after)
    plans = {suite: experiments(after, suite) for suite in {file.partition("/")[0] for file in old}}
    exact = next(iter(EXACT_SUITES))
    for file, path in old.items():
        suite, name = file.partition("/")[0], path.stem
        if file not in new or name not in plans[suite]:
            yield file, None
            continue
        found = compare(name, rows(path), rows(new[file]), plans[suite][name], exact)
        yield file, [finding for finding in found if finding.is_drift]


def main(arguments: list[str] | None = None) -> int:
    """Print a line a table; the exit status is 1 if anything differs, 2 for a user's mistake."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the repository")
    parser.add_argument("after", type=Path, help="another one, whose stored cells this version reads")
    options = parser.parse_args(arguments)
    n_same = n_differing = 0
    try:
        for file, found in differences(options.before, options.after):
            n_same, n_differing = (n_same, n_differing + 1) if found is None or found else (n_same + 1, n_differing)
            words = "gone" if found is None else f"{len(found)} values differ" if found else "same"
            print(f"{file}: {words}")
            for finding in (found or [])[:N_SHOWN]:
                print(f"  {finding}")
            if found and len(found) > N_SHOWN:
                print(f"  and {len(found) - N_SHOWN} more")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{n_same + n_differing} tables: {n_same} the same, {n_differing} not.")
    return 1 if n_differing else 0


if __name__ == "__main__":
    sys.exit(main())
