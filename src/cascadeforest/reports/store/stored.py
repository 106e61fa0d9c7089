"""What is kept of an accepted suite, in ``reports/<suite>``.

``cells.json.gz`` has the plan and the cells, ``extras/`` the arrays that figures are drawn from, ``rows/`` the
predictions for test rows, ``provenance.json`` why and from where; each is checked when it is read. ``costs.csv`` says
what a repeat of each run costs, by which later runs are divided into jobs. ``tables/`` and
``figures/`` are drawn from them: tidy CSV and Markdown, and the PNG of `PICTURED` suites.
"""

import gzip
import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import cast

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.files import CONTENT_DIGEST, atomic_write, digest_of, parse_signed_json, signed_json
from cascadeforest.data.typed_json import Json, to_json
from cascadeforest.experiments.accepted import CELLS, EXTRAS, FORMAT, ROWS, StoredSuite, from_git, unpack
from cascadeforest.experiments.cells import SavedArrays, read_arrays
from cascadeforest.experiments.claims import CHECKS_FILE, claims_of
from cascadeforest.experiments.plan import CLAIMS, Experiment
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.numbers.growth import DECIDED
from cascadeforest.reports.numbers.results import Results, origin
from cascadeforest.reports.numbers.rows import Arrays

PROVENANCE = "provenance.json"
#: Suites whose pictures are kept: the ones that the documentation shows.
PICTURED = frozenset({"standard"})
#: Most bytes of a picture's numbers that are kept as text.
MOST_DRAWN = 300_000


def pack(results: Results, rows: dict[str, SavedArrays]) -> bytes:
    """Return what is stored of complete results as one file: same content, same bytes."""
    runs = tuple(results.runs[pair] for pair in sorted(results.runs))
    plan = replace(results.plan, batches=())
    content = to_json(StoredSuite(FORMAT, plan, runs, dict(sorted(results.summaries.items())), rows, results.timings))
    # Keys keep their order, which in the plan is the order of tables, columns and rows.
    return gzip.compress(signed_json(cast("dict[str, Json]", content)).encode(), compresslevel=9, mtime=0)


def read_stored(root: Path, suite: str, folder: Path | None = None) -> Results:
    """Read the results behind the stored tables of a suite; `UserError` as from `unpack`.

    Claims are those of today, whenever the results were stored; `folder` is by default ``reports/<suite>``.
    """
    folder = folder or root / "reports" / suite
    stored = unpack(folder / CELLS, suite)
    runs = {run.run.pair: run for run in stored.runs}
    published = root / "reports" / "published"

    def row_source(_: Results, dataset: str) -> Arrays:
        saved = stored.rows.get(dataset)
        return read_arrays(folder / ROWS, saved, from_git(folder / ROWS / saved.file)) if saved else {}

    claims = claims_of(root, folder, folder / CHECKS_FILE)
    plan, arrays = stored.plan, folder / EXTRAS
    return Results(
        plan, runs, {}, stored.summaries, published, stored.timings, {}, arrays, from_git(arrays), row_source, claims
    )


def without_claims(results: Results) -> list[str]:
    """Return the ids of the experiments that have a table which does not follow from the other tables."""
    return [name for name in results.drawable() if results.experiments[name].kind != CLAIMS]


def write_united(root: Path, suite: str, folder: Path, others: Collection[str] = ()) -> None:
    """Judge the claims by what is stored in a folder, and write their table and the tables of `others` there."""
    results = read_stored(root, suite, folder)
    names = [name for name in results.drawable() if results.experiments[name].kind == CLAIMS or name in others]
    for name, content in drawn_files(results, names=names).items():
        atomic_write(folder / name, content)


def needed_arrays(experiment: Experiment, results: Results) -> Iterable[SavedArrays]:
    """Yield the files of arrays that an experiment is drawn from, as far as its runs are there."""
    for dataset, preset in experiment.needed_runs():
        cells = results.cells(dataset, preset, experiment.n_repeats(dataset, preset)) or []
        for extra in dict.fromkeys([*experiment.needed_extras(preset), DECIDED]):  # what grew stands below each table
            own = cells[: experiment.repeats_with(extra, dataset)]
            for cell in (one for one in own if extra != DECIDED or extra in one.extras):
                results.arrays(cell, extra)  # is it there, and what was written?
                yield cell.extras[extra]


def is_stored(file: str, content: bytes, suite: str) -> bool:
    """Whether a table or picture is kept; the numbers of a large picture are drawn again from the cells."""
    is_large = file.startswith("figures/") and len(content) > MOST_DRAWN
    return (file.endswith((".csv", ".md")) and not is_large) or (file.endswith(".png") and suite in PICTURED)


def drawn_files(results: Results, every_form: bool = False, names: Collection[str] | None = None) -> dict[str, bytes]:
    """Return path and content of the tables and pictures (of `names`) that are stored, or of every form of them."""
    found: dict[str, bytes] = {}
    for name in results.drawable() if names is None else names:
        table = make_table(name, results)
        found |= {f"tables/{name}{suffix}": text.encode() for suffix, text in table.files().items()}
        if table.figure is not None:
            with_picture = every_form or results.suite in PICTURED
            forms = table.figure.files() if with_picture else {".csv": table.figure.csv()}
            found |= {f"figures/{name}{suffix}": content for suffix, content in forms.items()}
    return {file: text for file, text in found.items() if every_form or is_stored(file, text, results.suite)}


def write_provenance(folder: Path, results: Results, reason: dict[str, Json]) -> None:
    """Write where the numbers come from, and why they were taken, as a signed file that people read."""
    drawn_with = {"matplotlib": metadata.version("matplotlib")} if results.suite in PICTURED else {}
    facts = json.loads(json.dumps(reason | origin(results) | drawn_with))
    text = json.dumps(facts | {CONTENT_DIGEST: digest_of(facts)}, indent=1, sort_keys=True, ensure_ascii=False)
    atomic_write(folder / PROVENANCE, text + "\n")


def read_provenance(folder: Path) -> dict[str, Json]:
    """Read what `write_provenance` wrote; `DamagedFile` if it is missing or something else."""
    path = folder / PROVENANCE
    if not path.is_file():
        raise DamagedFile(path, "no such file", from_git(path))
    return parse_signed_json(path.read_bytes(), path, from_git(path))
