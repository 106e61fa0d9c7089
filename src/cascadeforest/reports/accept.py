"""Take the tables of a run as the stored ones, with the cells to draw them again and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
)
from cascadeforest.reports.storage import new_folder, recover
from cascadeforest.reports.table import make_table

PROVENANCE = "provenance.json"


def accept(root: Path, suite: str, message: str) -> Path:
    """Store ``results/<suite>`` as ``reports/<suite>``.

    The tables are drawn anew from the results, so that what is stored is what the stored cells say.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite.
    message : str
        Why the numbers are taken; it is kept in ``provenance.json``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UserError
        If the message is empty, a cell failed, a result is missing or of another configuration or data, or a table
        is not what the results say. Nothing is changed then.
    """
    if not message.strip():
        raise UserError(
            "--message is empty. Say why these numbers are taken as the stored ones; it is kept with them: "
            f"make accept SUITE={suite} MESSAGE='new baseline: gbdt'"
        )
    stored = root / "reports" / suite
    recover(stored)
    results = read_results(root, suite)
    folder = root / "results" / suite
    drawn = {f"tables/{name}": make_table(name, results).files() for name in results.drawable()}
    drawn |= {f"figures/{name}": make_figure(name, results).files() for name in results.figures()}
    files = {f"{stem}{suffix}": content for stem, parts in drawn.items() for suffix, content in parts.items()}
    if problems := list(_problems(results, folder, files)):
        shown = "\n".join(f"  {problem}" for problem in problems[:20])
        more = f"\n  and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise UserError(
            f"{folder} is not complete, so it is not stored:\n{shown}{more}\n"
            f"Mend it and run again: snakemake --cores all --config suite={suite}"
        )
    with new_folder(stored) as new:
        _fill(new, root, results, files, message.strip())
    return stored


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


def _fill(new: Path, root: Path, results: Results, files: Mapping[str, bytes | str], message: str) -> None:
    for name, content in files.items():
        atomic_write(new / name, content)
    for experiment in results.experiments.values():
        for path in needed_extras(experiment, results):
            atomic_write(new / STORED_EXTRAS / path.relative_to(results.extras), path.read_bytes())
    atomic_write(new / "index.html", index_page(results, new))
    atomic_write(new / CELLS, pack(results))
    facts = origin(results) | {
        "message": message,
        "accepted": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": git_commit(root),
    }
    atomic_write(new / PROVENANCE, json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
