"""Take the tables of a run as the stored ones, with the cells to draw them again and where they come from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write, read_json
from cascadeforest.experiments.provenance import git_commit
from cascadeforest.reports.figure import make_figure
from cascadeforest.reports.index_page import index_page
from cascadeforest.reports.origin import origin
from cascadeforest.reports.results import (
    CELLS,
    STORED_EXTRAS,
    Results,
    needed_extras,
    needed_runs,
    pack,
    present,
    read_results,
    read_stored,
)
from cascadeforest.reports.storage import new_folder, recover
from cascadeforest.reports.table import make_table
from cascadeforest.reports.united import united

PROVENANCE = "provenance.json"


def accept(root: Path, suite: str, message: str, only: Collection[str] = ()) -> Path:
    """Store ``results/<suite>`` as ``reports/<suite>``.

    The tables are drawn anew from the results, so that what is stored is what the stored cells say.

    A suite that takes days can be accepted experiment by experiment: what `only` names is taken from the run, other
    stored tables stay, drawn anew from their stored cells.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite.
    message : str
        Why the numbers are taken; it is kept in ``provenance.json``.
    only : collection of str
        Ids of experiments. Default: all of the suite, and nothing stays of what was stored.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UserError
        If the message is empty, a cell failed, a result is missing or of another configuration or data, or a table
        is not what the results say; if an id is unknown, or tables that would stay show the same runs with other
        numbers. Nothing is changed then.
    """
    if not message.strip():
        raise UserError(
            "--message is empty. Say why these numbers are taken as the stored ones; it is kept with them: "
            f"make accept SUITE={suite} MESSAGE='new baseline: gbdt'"
        )
    stored = root / "reports" / suite
    recover(stored)
    everything = read_results(root, suite)
    results = everything.only(only) if only else everything
    folder = root / "results" / suite
    files = _draw(results)
    if problems := list(_problems(results, folder, files)):
        shown = "\n".join(f"  {problem}" for problem in problems[:20])
        more = f"\n  and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise UserError(
            f"{folder} is not complete, so it is not stored:\n{shown}{more}\n"
            f"Mend it and run again: snakemake {' '.join([*only, '--cores'])} all --config suite={suite}"
        )
    before = read_stored(root, suite) if only and (stored / CELLS).is_file() else None
    together = united(results, before, everything.experiments) if before else results
    earlier = list(_earlier(stored, together, results)) if before else []
    with new_folder(stored) as new:
        _copy_extras(results, results.experiments, new / STORED_EXTRAS)
        if before:
            _copy_extras(before, together.experiments.keys() - results.experiments.keys(), new / STORED_EXTRAS)
            together = replace(together, extras=new / STORED_EXTRAS)
            files = _draw(together)
        _fill(new, root, together, files, {"message": message.strip(), "earlier": earlier})
    return stored


def _draw(results: Results) -> dict[str, bytes | str]:
    """Return the files of all tables and pictures."""
    drawn = {f"tables/{name}": make_table(name, results).files() for name in results.drawable()}
    drawn |= {f"figures/{name}": make_figure(name, results).files() for name in results.figures()}
    return {f"{stem}{suffix}": content for stem, parts in drawn.items() for suffix, content in parts.items()}


def _earlier(stored: Path, together: Results, results: Results) -> Iterable[dict[str, Any]]:
    """Why, when and with which code the tables that stay were accepted."""
    facts = read_json(stored / PROVENANCE)
    stay = [name for name in together.experiments if name not in results.experiments]
    for entry in [*facts.get("earlier", []), facts]:
        if tables := [name for name in entry["tables"] if name in stay]:
            yield {key: entry[key] for key in ("accepted", "git_commit", "message")} | {"tables": tables}
            stay = [name for name in stay if name not in tables]


def _copy_extras(results: Results, experiments: Iterable[str], folder: Path) -> None:
    """Copy the arrays that experiments are drawn from."""
    for name in experiments:
        for path in needed_extras(results.experiments[name], results):
            atomic_write(folder / path.relative_to(results.extras), path.read_bytes())


def _problems(results: Results, folder: Path, files: Mapping[str, bytes | str]) -> Iterable[str]:
    """Sentences about what keeps results from being stored."""
    told: set[tuple[str, str]] = set()
    for name in results.drawable():
        experiment = results.experiments[name]
        for dataset, preset in needed_runs(experiment):
            if (dataset, preset) in told:
                continue
            if failure := results.failures.get((dataset, preset)):
                told.add((dataset, preset))
                cell = failure["cells"][0]
                yield f"{preset} on {dataset} failed (repeat {cell['repeat']}): {cell['error']}"
            elif fields := results.stale.get((dataset, preset)):
                told.add((dataset, preset))
                yield f"{preset} on {dataset} was run by another configuration (other {', '.join(fields)})"
            elif (cells := results.cells(dataset, preset, experiment["repeats"][dataset])) is None:
                told.add((dataset, preset))
                yield f"{preset} on {dataset} has not run, or not with {experiment['repeats'][dataset]} repeats"
            elif other := _other_data(cells, results.summaries.get(dataset)):
                told.add((dataset, preset))
                yield f"{preset} on {dataset} was run on other data ({other})"
        for dataset in present(experiment):
            if dataset not in results.summaries:
                yield f"{dataset} is not prepared: data/processed/{dataset}.json is missing"
    for name, content in files.items():
        path = folder / name
        if not path.is_file():
            yield f"{path} was not drawn"
        elif path.read_bytes() != (content.encode("utf-8") if isinstance(content, str) else content):
            yield f"{path} is not what the results say now"


def _other_data(cells: list[dict[str, Any]], summary: Mapping[str, Any] | None) -> str:
    """Digests of run and data as they are now, in words, if they differ; data that is missing is told elsewhere."""
    if summary is None:
        return ""
    other = sorted({cell["data_digest"] for cell in cells} - {summary["digest"]})
    return f"digest {', '.join(digest[:12] for digest in other)}, now {summary['digest'][:12]}" if other else ""


def _fill(new: Path, root: Path, results: Results, files: Mapping[str, bytes | str], reason: Mapping[str, Any]) -> None:
    for name, content in files.items():
        atomic_write(new / name, content)
    atomic_write(new / "index.html", index_page(results, new))
    atomic_write(new / CELLS, pack(results))
    facts = (
        origin(results)
        | dict(reason)
        | {
            "accepted": datetime.now(UTC).isoformat(timespec="seconds"),
            "git_commit": git_commit(root),
        }
    )
    atomic_write(new / PROVENANCE, json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
