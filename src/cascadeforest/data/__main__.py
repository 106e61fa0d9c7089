"""Command line of the data stage: ``python -m cascadeforest.data {fetch,prepare,vary,list}``."""

import argparse
import json
import logging
import signal
import sys
from pathlib import Path

from cascadeforest.data.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : list of str, optional
        Words of the command line; default those of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 for an error that the user can mend.
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

    fetch = commands.add_parser("fetch", help="bring the files of one data set to data/raw, verified")
    prepare = commands.add_parser("prepare", help="parse one data set into an .npz, with a summary beside it")
    vary = commands.add_parser("vary", help="apply one operation of a variant to a prepared data set")
    listing = commands.add_parser("list", help="all data sets: task, rows, access, mirror, protocol")

    for command in (fetch, prepare, listing):
        command.add_argument("--config", type=Path, default=Path("config"), help="config folder (default: config)")
    for command in (fetch, prepare):
        command.add_argument("--dataset", required=True, help="name of a file in config/datasets")
        command.add_argument("--raw", type=Path, default=Path("data/raw"), help="downloads (default: data/raw)")
    vary.add_argument("--input", type=Path, required=True, help="a prepared .npz")
    vary.add_argument("--operation", required=True, help="irrelevant, imbalance-5-0.9, train-0.1, noise-50, rows-1000")
    for command in (prepare, vary):
        command.add_argument("--output", type=Path, required=True, help=".npz to write; the summary goes to .json")

    fetch.set_defaults(command=_fetch)
    prepare.set_defaults(command=_prepare)
    vary.set_defaults(command=_vary)
    listing.set_defaults(command=_list)
    return parser


def _dataset_file(options: argparse.Namespace) -> dict:
    """Only the asked file is read: a fault in another one is no reason to fail here."""
    from cascadeforest.data.errors import ConfigError
    from cascadeforest.data.registry import dataset_file_paths, dataset_schema, load_dataset_file

    folder = options.config / "datasets"
    path = folder / f"{options.dataset}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in dataset_file_paths(folder))) or "none"
        raise ConfigError(f"{folder}: there is no data set '{options.dataset}'; there are {names}.")
    return load_dataset_file(path, dataset_schema(options.config))


def _fetch(options: argparse.Namespace) -> None:
    from cascadeforest.data.sources import NO_CHECKSUM, RECORD, fetch, record_user_files

    dataset = _dataset_file(options)
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
    from cascadeforest.data.prepare import prepare

    _save(prepare(_dataset_file(options), raw=options.raw, root=options.config.parent), options.output)


def _vary(options: argparse.Namespace) -> None:
    from cascadeforest.data.dataset import load
    from cascadeforest.data.variants import vary

    _save(vary(load(options.input), options.operation), options.output)


def _save(dataset, output: Path) -> None:
    from cascadeforest.data.dataset import save, summary
    from cascadeforest.data.files import atomic_write

    if output.suffix != ".npz":
        raise UserError(f"--output is '{output}'; it must end in .npz.")
    facts = summary(dataset)  # before anything is written: it draws the first split, which may fail
    save(dataset, output)
    atomic_write(output.with_name(f"{output.name.removesuffix('.npz')}.json"), json.dumps(facts, indent=2) + "\n")
    print(f"{output}: {facts['rows']} rows, {facts['features']} features, {facts['protocol']}")


def _list(options: argparse.Namespace) -> None:
    from cascadeforest.data.registry import availability, load_dataset_files
    from cascadeforest.data.sources import Mirror
    from cascadeforest.data.splits import protocol_text

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


def _mirror_word(dataset: dict, mirror) -> str:
    """Whether a form is on the mirror in full; of an address only a download can tell."""
    if dataset["access"] != "open":
        return "-"
    if not any(all(mirror.may_have(file) for file in form["files"]) for form in dataset["forms"].values()):
        return "no"
    return "perhaps" if mirror.is_address else "yes"


if __name__ == "__main__":
    # A terminated job must leave nothing half-written: an exception runs the clean-up, the plain signal does not.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
