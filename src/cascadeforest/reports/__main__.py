"""Command line: ``python -m cascadeforest.reports COMMAND``; ``--help`` lists the commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cascadeforest.reports.numbers.results import Results


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m cascadeforest.reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("draw", "draw one table (CSV, Markdown, LaTeX), and its figure (SVG, PNG, the drawn numbers as CSV)"),
        ("index", "gather all tables and figures in one page"),
        ("partial", "draw what there is after a run that stopped half-way: every table and the page"),
        ("check", "compare the tables of a run with the stored ones; exit status 1 on drift"),
        ("accept", "take the tables of a run as the stored ones, with provenance"),
        ("render", "draw every stored table again from its stored cells, in every form, without training"),
        ("track", "bring the accepted results of a suite into the MLflow store"),
        ("ui", "the MLflow UI on this machine, with the results of a suite, or its accepted results if it did not run"),
        ("refresh", "write the stored tables and pictures again after words or looks have changed; numbers must not"),
        ("verify", "compare the stored files with the digests in their RO-Crate; exit status 1 if one differs"),
        ("document", "write docs/fidelity.md and its picture again, from the stored cells"),
    ):
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--root", type=Path, default=Path(), help="folder that holds results/ and reports/")
        added.add_argument("--suite", required=True)
        if name == "ui":
            added.add_argument("--port", type=int, default=5000, help="port of 127.0.0.1")
        elif name == "draw":
            added.add_argument("--experiment", required=True, help="its id, as in config/experiments")
        elif name in ("accept", "partial"):
            text = "these, what else is there stays (default: all, with the page)"
            added.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT", help=text)
            if name == "accept":
                added.add_argument("--message", default="", help="why these numbers are taken; it is kept with them")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 2 for a user's mistake, 1 for numbers that are not the stored ones."""
    options = parse_arguments(arguments)
    from cascadeforest.data.errors import UserError

    try:
        return globals()[f"_{options.command}"](options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _draw(options: argparse.Namespace) -> int:
    from cascadeforest.reports.numbers.results import read_results

    name = options.experiment
    _write(name, read_results(options.root, options.suite, [name]), options.root / "results" / options.suite)
    return 0


def _write(name: str, results: Results, folder: Path) -> None:
    from cascadeforest.reports.drawing.table import make_table, write_files

    table = make_table(name, results)
    write_files(name, table.files(), folder / "tables")
    if table.figure is not None:
        write_files(name, table.figure.files(), folder / "figures")


def _index(options: argparse.Namespace) -> int:
    from cascadeforest.data.files import atomic_write
    from cascadeforest.reports.drawing.page import index_page
    from cascadeforest.reports.numbers.fidelity import read_declared
    from cascadeforest.reports.numbers.results import read_results

    folder = options.root / "results" / options.suite
    page = index_page(read_results(options.root, options.suite), folder, read_declared(options.root))
    atomic_write(folder / "index.html", page)
    print(folder / "index.html")
    return 0


def _partial(options: argparse.Namespace) -> int:
    from cascadeforest.reports.numbers.results import read_results

    results = read_results(options.root, options.suite, options.only or None)
    folder = options.root / "results" / options.suite
    incomplete = results.incomplete()
    # Complete ones too: a training job that failed also merged runs that did not.
    for name in results.drawable():
        if options.only and name not in options.only:
            continue
        _write(name, results, folder)
        # Snakemake takes a file that is there for done, even if what it is made from is not. Without its mark the next
        # run draws this again, and tries the failed cells again.
        if name in incomplete:
            (folder / "logs" / "draw" / f"{name}.complete").unlink(missing_ok=True)
    # The page shows all experiments: it is drawn where all were asked for.
    return 0 if options.only else _index(options)


def _check(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.check import check

    report = check(options.root, options.suite)
    print("\n".join(report.lines()))
    return 1 if report.has_drift else 0


def _accept(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.accept import accept

    print(f"stored: {accept(options.root, options.suite, options.message, options.only)}")
    return _document(options)


def _render(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.redraw import redraw_stored

    report = redraw_stored(options.root, options.suite)
    print("\n".join(report.lines()))
    return 1 if report.differences else 0


def _track(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.tracked import track_accepted

    print(", ".join(f"{name}: {count}" for name, count in vars(track_accepted(options.root, options.suite)).items()))
    return 0


def _ui(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.tracked import show

    show(options.root, options.suite, options.port)
    return 0


def _refresh(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.redraw import refresh

    print(f"written again: {refresh(options.root, options.suite)}")
    return _document(options)


def _verify(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.crate import CRATE, differences

    folder = options.root / "reports" / options.suite
    found = differences(folder)
    print("\n".join(found) or f"All files of {folder} are those that {CRATE} names.")
    return 1 if found else 0


def _document(options: argparse.Namespace) -> int:
    from cascadeforest.data.files import atomic_write
    from cascadeforest.reports.store.redraw import documentation

    files = documentation(options.root, options.suite)
    if not files and options.command == "document":
        print(f"docs/ shows no numbers of the suite {options.suite}; nothing is written")
    for file, content in files.items():
        atomic_write(options.root / file, content)
        print(f"written again: {options.root / file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
