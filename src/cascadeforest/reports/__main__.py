"""Command line: ``python -m cascadeforest.reports {table,figure,index,partial,check,accept,render,refresh}``."""

import argparse
import sys
from pathlib import Path


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m cascadeforest.reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("table", "draw one table from results: CSV, Markdown, LaTeX"),
        ("figure", "draw one figure from results: SVG, PNG, and the drawn numbers as CSV"),
        ("index", "gather all tables and figures in one page"),
        ("partial", "draw what there is after a run that stopped half-way: every table and the page"),
        ("check", "compare the tables of a run with the stored ones; exit status 1 on drift"),
        ("accept", "take the tables of a run as the stored ones, with provenance"),
        ("render", "draw every stored table again from its stored cells, in every form, without training"),
        ("refresh", "write the stored tables and pictures again after words or looks have changed; numbers must not"),
    ):
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--root", type=Path, default=Path(), help="folder that holds results/ and reports/")
        added.add_argument("--suite", required=True)
        if name in ("table", "figure"):
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


def _table(options: argparse.Namespace) -> int:
    from cascadeforest.reports.drawing.table import make_figure, make_table, write_files
    from cascadeforest.reports.numbers.results import read_results

    results = read_results(options.root, options.suite, [options.experiment])
    make = make_figure if options.command == "figure" else make_table
    folder = options.root / "results" / options.suite / f"{options.command}s"
    write_files(options.experiment, make(options.experiment, results).files(), folder)
    return 0


_figure = _table


def _index(options: argparse.Namespace) -> int:
    from cascadeforest.data.files import atomic_write
    from cascadeforest.reports.drawing.page import index_page
    from cascadeforest.reports.numbers.results import read_results

    folder = options.root / "results" / options.suite
    atomic_write(folder / "index.html", index_page(read_results(options.root, options.suite), folder))
    print(folder / "index.html")
    return 0


def _partial(options: argparse.Namespace) -> int:
    from cascadeforest.reports.drawing.table import make_figure, make_table, write_files
    from cascadeforest.reports.numbers.results import read_results

    results = read_results(options.root, options.suite, options.only or None)
    folder = options.root / "results" / options.suite
    names = [name for name in results.incomplete() if not options.only or name in options.only]
    for name in names:
        write_files(name, make_table(name, results).files(), folder / "tables")
        if results.experiments[name].is_figure:
            write_files(name, make_figure(name, results).files(), folder / "figures")
        # Snakemake takes a file that is there for done, even if what it is made from is not. Without its mark the next
        # run draws this again, and tries the failed cells again.
        (folder / "logs" / "table" / f"{name}.complete").unlink(missing_ok=True)
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
    return 0


def _render(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.redraw import redraw_stored

    report = redraw_stored(options.root, options.suite)
    print("\n".join(report.lines()))
    return 1 if report.differences else 0


def _refresh(options: argparse.Namespace) -> int:
    from cascadeforest.reports.store.redraw import refresh

    print(f"written again: {refresh(options.root, options.suite)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
