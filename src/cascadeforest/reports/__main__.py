"""Command line: ``python -m cascadeforest.reports COMMAND``; ``--help`` lists the commands."""

import argparse
import sys
from pathlib import Path

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write
from cascadeforest.reports.drawing.page import index_page
from cascadeforest.reports.drawing.summary import summary
from cascadeforest.reports.drawing.table import make_table, write_files
from cascadeforest.reports.numbers.fidelity import read_declared
from cascadeforest.reports.numbers.results import Results, read_results
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.check import check
from cascadeforest.reports.store.crate import CRATE, differences
from cascadeforest.reports.store.redraw import documentation, redraw_stored, refresh
from cascadeforest.reports.store.tracked import show, track_accepted

COMMANDS = {
    "draw": "draw one table (CSV, Markdown, LaTeX), and its figure (SVG, PNG, the drawn numbers as CSV)",
    "summary": "say in three sentences what the results of a run are",
    "index": "gather all tables and figures in one page",
    "partial": "draw what there is after a run that stopped half-way: every table and the page",
    "check": "compare the tables of a run with the stored ones; exit status 1 on drift",
    "accept": "take the tables of a run as the stored ones, with provenance",
    "render": "draw every stored table again from its stored cells, in every form, without training",
    "track": "bring the accepted results of a suite into the MLflow store",
    "ui": "the MLflow UI on this machine, with the results of a suite, or its accepted results if it did not run",
    "refresh": "write the stored tables and pictures again after words or looks have changed; numbers must not",
    "verify": "compare the stored files with the digests in their RO-Crate; exit status 1 if one differs",
    "document": "write docs/fidelity.md and its picture again, from the stored cells",
}


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m cascadeforest.reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in COMMANDS.items():
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--root", type=Path, default=Path(), help="folder that holds results/ and reports/")
        added.add_argument("--suite", required=True)
        if name == "ui":
            added.add_argument("--port", type=int, default=5000, help="port of 127.0.0.1")
        elif name == "draw":
            added.add_argument("--experiment", required=True, help="its id, as in config/experiments")
        elif name == "refresh":
            added.add_argument("--add", action="store_true", help="rows that stored tables lack may be added")
        elif name in ("accept", "check", "partial"):
            text = "these alone; what else is there stays as it is (default: all, with the page)"
            text += "; rows of one: hidf-table2:adult,bank" * (name == "accept")
            added.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT", help=text)
            if name == "accept":
                added.add_argument("--message", default="", help="why these numbers are taken; it is kept with them")
                text = "with --only: stored experiments that go, since they contradict what is accepted"
                added.add_argument("--drop", nargs="+", default=[], metavar="EXPERIMENT", help=text)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 2 for a user's mistake, 1 for numbers that are not the stored ones."""
    options = parse_arguments(arguments)
    try:
        return _run(options.command, options.root, options.suite, options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(command: str, root: Path, suite: str, options: argparse.Namespace) -> int:
    folder = root / "results" / suite
    match command:
        case "draw":
            _draw(options.experiment, read_results(root, suite, [options.experiment]), folder)
        case "summary":
            print(summary(read_results(root, suite), folder))
        case "index":
            _index(root, suite, folder)
        case "partial":
            _partial(read_results(root, suite, options.only or None), folder, options.only)
            # The page shows all experiments: it is drawn where all were asked for.
            if not options.only:
                _index(root, suite, folder)
        case "check":
            found = check(root, suite, options.only)
            print("\n".join(found.lines()))
            return int(found.has_drift)
        case "render":
            drawn = redraw_stored(root, suite)
            print("\n".join(drawn.lines()))
            return int(bool(drawn.differences))
        case "track":
            print(", ".join(f"{name}: {count}" for name, count in vars(track_accepted(root, suite)).items()))
        case "ui":
            show(root, suite, options.port)
        case "accept":
            print(f"stored: {accept(root, suite, options.message, options.only, options.drop)}")
            _document(root, suite)
        case "refresh":
            print(f"written again: {refresh(root, suite, options.add)}")
            _document(root, suite)
        case "verify":
            stored = root / "reports" / suite
            others = differences(stored)
            print("\n".join(others) or f"All files of {stored} are those that {CRATE} names.")
            return int(bool(others))
        case "document" if not _document(root, suite):
            print(f"docs/ shows no numbers of the suite {suite}; nothing is written")
    return 0


def _draw(name: str, results: Results, folder: Path) -> None:
    table = make_table(name, results)
    write_files(name, table.files(), folder / "tables")
    if table.figure is not None:
        write_files(name, table.figure.files(), folder / "figures")


def _index(root: Path, suite: str, folder: Path) -> None:
    atomic_write(folder / "index.html", index_page(read_results(root, suite), folder, read_declared(root)))
    print(folder / "index.html")


def _partial(results: Results, folder: Path, only: list[str]) -> None:
    incomplete = results.incomplete()
    # Complete ones too: a training job that failed also merged runs that did not.
    for name in [name for name in results.drawable() if not only or name in only]:
        _draw(name, results, folder)
        # Snakemake takes a file that is there for done, even if what it is made from is not. Without its mark the next
        # run draws this again, and tries the failed cells again.
        if name in incomplete:
            (folder / "logs" / "draw" / f"{name}.complete").unlink(missing_ok=True)


def _document(root: Path, suite: str) -> int:
    """Write the pages of docs/ that show the suite, and return how many there are."""
    files = documentation(root, suite)
    for file, content in files.items():
        atomic_write(root / file, content)
        print(f"written again: {root / file}")
    return len(files)


if __name__ == "__main__":
    sys.exit(main())
