"""Command line of the data stage: ``python -m cascadeforest.data {fetch,prepare,vary,list}``."""

import argparse
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.data.errors import UserError

if TYPE_CHECKING:
    from cascadeforest.data.dataset import Dataset
    from cascadeforest.data.sources import Mirror


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : list of str, optional
        Arguments of the command line; by default the arguments of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 for an error that the user can fix.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        options.command(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cascadeforest.data", description="Fetch and prepare data sets.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    fetch = commands.add_parser("fetch", help="copy or download the files of one data set to data/raw, and verify them")
    prepare = commands.add_parser("prepare", help="parse one data set into an .npz, with a summary beside it")
    vary = commands.add_parser("vary", help="apply one operation of a variant to a prepared data set")
    listing = commands.add_parser("list", help="all data sets: task, rows, access, mirror, protocol")

    for command in (fetch, prepare, vary, listing):
        command.add_argument("--config", type=Path, default=Path("config"), help="config folder (default: config)")
    for command in (fetch, prepare, vary):
        command.add_argument("--raw", type=Path, default=Path("data/raw"), help="downloads (default: data/raw)")
    fetch.add_argument("--dataset", required=True, help="name of a file in config/datasets")
    prepare.add_argument("--dataset", required=True, help="name of a file in config/datasets, or a variant of it")
    vary.add_argument("--input", type=Path, required=True, help="a prepared .npz")
    vary.add_argument("--operation", required=True, help="irrelevant, imbalance-5-0.9, train-0.1, noise-50, rows-1000")
    for command in (prepare, vary):
        command.add_argument("--seed", type=int, default=0, help="seed of config/config.yaml (default: 0)")
        command.add_argument("--output", type=Path, required=True, help=".npz to write; the summary goes to .json")

    fetch.set_defaults(command=_fetch)
    prepare.set_defaults(command=_prepare)
    vary.set_defaults(command=_vary)
    listing.set_defaults(command=_list)
    return parser


def _fetch(options: argparse.Namespace) -> None:
    from cascadeforest.data.registry import find_dataset_file
    from cascadeforest.data.sources import NO_CHECKSUM, RECORD, fetch, record_user_files

    dataset = find_dataset_file(options.dataset, options.config)
    if dataset["access"] not in ("open", "credentialed"):
        print(f"{options.dataset}: {dataset['access']} data, nothing to fetch.")
        return
    if dataset["access"] == "open":
        record = fetch(dataset, options.raw)
    else:
        record = record_user_files(dataset, options.raw, options.config.parent)
    print(f"{options.dataset}: form '{record['form']}'")
    for entry in record["files"]:
        print(f"  {entry['file']}  sha256 {entry['sha256']} ({entry['checked']})  from {entry['from']}")
    for entry in record["files"]:
        if entry["checked"] == NO_CHECKSUM:
            found = f"found sha256 {entry['sha256']}; recorded in {options.raw / options.dataset / RECORD}"
            print(f"{options.dataset}: no checksum is published for {entry['file']}; {found}")


def _prepare(options: argparse.Namespace) -> None:
    from cascadeforest.data.processed import make

    _write(make(options.dataset, config=options.config, raw=options.raw, seed=options.seed), options.output)


def _vary(options: argparse.Namespace) -> None:
    from cascadeforest.data.processed import load_or_make
    from cascadeforest.data.variants import vary

    dataset = load_or_make(options.input, config=options.config, raw=options.raw, seed=options.seed)
    _write(vary(dataset, options.operation), options.output)


def _write(dataset: "Dataset", output: Path) -> None:
    from cascadeforest.data.processed import write
    from cascadeforest.data.words import protocol_text

    write(dataset, output)
    rows, protocol = dataset.X.shape[0], protocol_text(dataset.protocol, dataset.task)
    print(f"{output}: {rows} rows, {len(dataset.split_feature_names)} features, {protocol}")


def _list(options: argparse.Namespace) -> None:
    from cascadeforest.data.registry import availability, load_dataset_files
    from cascadeforest.data.sources import Mirror
    from cascadeforest.data.words import protocol_text

    mirror = Mirror.from_environment()
    rows = [("name", "task", "rows", "access", "on mirror", "protocol", "")]
    for name, dataset in load_dataset_files(options.config / "datasets").items():
        n_rows = dataset.get("expected", {}).get("rows")
        rows.append(
            (
                name,
                dataset["task"],
                f"{n_rows:,}" if n_rows else "?",
                dataset["access"],
                _mirror_word(dataset, mirror),
                protocol_text(dataset["protocol"], dataset["task"]),
                availability(dataset, options.config.parent, mirror) or "",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _mirror_word(dataset: dict, mirror: "Mirror") -> str:
    """Whether the mirror has all files of a form; `perhaps` if it is an address, which is not asked."""
    if dataset["access"] != "open":
        return "-"
    if not any(all(mirror.may_have(file) for file in form["files"]) for form in dataset["forms"].values()):
        return "no"
    return "perhaps" if mirror.is_address else "yes"


if __name__ == "__main__":
    # A terminated job must leave nothing half-written: an exception runs the clean-up, the plain signal does not.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
