"""Take the tables of a run as the stored ones, with the cells to draw them again and where they come from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write
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
from cascadeforest.reports.united import staying, united

PROVENANCE = "provenance.json"


def accept(root: Path, suite: str, message: str, only: Collection[str] = ()) -> Path:
    """Store ``results/<suite>`` as ``reports/<suite>``.

    The tables are drawn anew from the results, so that what is stored is what the stored cells say.

    A suite that takes days can be accepted experiment by experiment: what `only` names is taken from the run, other
    stored tables stay as they are.

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
        is not what the results say; if an id is unknown; if what would stay contradicts it (`united`). Nothing is
        changed then.
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
    kept = staying(results, read_stored(root, suite)) if only and (stored / CELLS).is_file() else None
    together = united(results, kept, everything.experiments) if kept else results
    reason = {"message": message.strip(), "accepted_tables": results.drawable()}
    reason["earlier"] = _earlier(stored, kept) if kept else []
    with new_folder(stored) as new:
        for name, content in files.items():
            atomic_write(new / name, content)
        _copy_extras(results, new / STORED_EXTRAS)
        if kept:
            for path in _stored_files(stored, kept):
                atomic_write(new / path.relative_to(stored), path.read_bytes())
            _copy_extras(kept, new / STORED_EXTRAS)
        _describe(new, root, replace(together, extras=new / STORED_EXTRAS), reason)
    return stored


def _draw(results: Results) -> dict[str, bytes | str]:
    """Return the files of all tables and pictures."""
    drawn = {f"tables/{name}": make_table(name, results).files() for name in results.drawable()}
    drawn |= {f"figures/{name}": make_figure(name, results).files() for name in results.figures()}
    return {f"{stem}{suffix}": content for stem, parts in drawn.items() for suffix, content in parts.items()}


def _stored_files(stored: Path, kept: Results) -> Iterable[Path]:
    """Tables and pictures that stay: as they are, so that `render` still sees a difference to their cells."""
    for name in kept.drawable():
        for folder in ("tables", "figures"):
            yield from sorted((stored / folder).glob(f"{name}.*"))


def _earlier(stored: Path, kept: Results) -> list[dict[str, Any]]:
    """Why, when and with which code the tables that stay were accepted."""
    path, stay, entries = stored / PROVENANCE, set(kept.drawable()), []
    try:
        facts = json.loads(path.read_bytes())
        for entry in [*facts.get("earlier", []), facts]:
            tables = [name for name in entry.get("accepted_tables", entry["tables"]) if name in stay]
            if tables:
                entries.append({key: entry[key] for key in ("accepted", "git_commit", "message")} | {"tables": tables})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: missing or damaged ({error!r}). Take it from git again: git checkout -- {path}"
        ) from error
    return entries


def _copy_extras(results: Results, folder: Path) -> None:
    """Copy the arrays that experiments are drawn from."""
    for experiment in results.experiments.values():
        for path in needed_extras(experiment, results):
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


def _describe(new: Path, root: Path, results: Results, reason: Mapping[str, Any]) -> None:
    """Write the page, the cells and where they come from, beside tables and pictures."""
    atomic_write(new / "index.html", index_page(results, new))
    atomic_write(new / CELLS, pack(results))
    facts = origin(results) | {
        **reason,
        "accepted": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": git_commit(root),
    }
    atomic_write(new / PROVENANCE, json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
