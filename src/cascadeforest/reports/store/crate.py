"""The stored report as an RO-Crate (https://w3id.org/ro/crate/1.1): data, code and files, for other programs to read.

It follows the profile Process Run Crate: one action, with our code, made the files of the folder from the data sets. It
is no Workflow RO-Crate, since the workflow is not in the folder.
"""

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.files import atomic_write, read_json, read_yaml, sha256_of
from cascadeforest.experiments.batches import COSTS
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.store.stored import CELLS, EXTRAS, PROVENANCE, ROWS, from_git, read_provenance

CRATE = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
#: Defines the property sha256, which RO-Crate 1.1 lacks.
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
#: What the digest of a folder is.
LISTING = "sha256 is that of what this prints: find FOLDER -type f | LC_ALL=C sort | xargs sha256sum"
#: Id of the action that made the files.
ACTION = "#run"
FORMATS = dict(csv="text/csv", gz="application/gzip", json="application/json", md="text/markdown", png="image/png")
#: Parts of a name in CITATION.cff: of a person two, of an organisation the last.
NAME = ("given-names", "family-names", "name")
#: What is in files and folders that belong to no single experiment.
CONTENT = {
    CELLS: "Plan and cells: every fit with its parameters, seeds, metrics, costs, versions and digests",
    COSTS: "What a repeat of each run costs",
    PROVENANCE: "Why the numbers were accepted, and where they come from",
    f"{EXTRAS}/": "Arrays that figures are drawn from",
    f"{ROWS}/": "Predictions for single test rows",
}


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, and of the folders `EXTRAS` and `ROWS` as a whole (`LISTING`), by path."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = {path: sha256_of(folder / path) for path in paths if path != CRATE}
    found = {path: digest for path, digest in files.items() if f"{path.partition('/')[0]}/" not in CONTENT}
    for name in (EXTRAS, ROWS):
        lines = [f"{digest}  {path}\n" for path, digest in files.items() if path.startswith(f"{name}/")]
        if lines:
            found[f"{name}/"] = hashlib.sha256("".join(lines).encode()).hexdigest()
    return found


def differences(folder: Path) -> list[str]:
    """Return a sentence for each stored file that is not what its crate says; `UserError` if there is no crate."""
    path = folder / CRATE
    if not path.is_file():
        raise DamagedFile(path, "no such file", from_git(path))
    entities = {entity["@id"]: entity for entity in read_json(path)["@graph"]}
    named = {unquote(one["@id"]): entities[one["@id"]]["sha256"] for one in entities[ACTION]["result"]}
    found = digests(folder)
    return [
        f"{folder / name}: its SHA-256 is {found.get(name, 'missing')}, in {CRATE} {named.get(name, 'missing')}"
        for name in sorted(named.keys() | found.keys())
        if named.get(name) != found.get(name)
    ]


def write_crate(root: Path, folder: Path, results: Results) -> None:
    """Describe the files of `folder`, in which `results` are stored, and their origin: same files, same bytes."""
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    facts: dict[str, Any] = read_provenance(folder)
    cited = read_yaml(root / "CITATION.cff")
    crate = ROCrate(version="1.1")
    crate.metadata.extra_contexts.append(TERMS)

    def add(kind: str, name: str, at: str = "", **properties: object) -> Any:
        known = {key: value for key, value in properties.items() if value}
        return crate.add(ContextEntity(crate, at or f"#{quote(name)}", {"@type": kind, "name": name, **known}))

    def raw_file(file: dict[str, str]) -> Any:
        if "url" not in file:
            return add("CreativeWork", file["file"], sha256=file.get("sha256"))
        digest = {"sha256": file["sha256"]} if file.get("sha256") else {}
        return crate.add_file(file["url"], properties={"name": file["file"], **digest})

    def data_set(summary: dict[str, Any]) -> Any:
        path = root / "config" / "datasets" / f"{summary['base_name']}.yaml"
        declared = read_yaml(path) if path.is_file() else {}  # it may have gone since
        files = declared.get("forms", {}).get(summary["form"], {}).get("files", ())
        return add(
            "Dataset",
            summary["title"],
            f"#data-{summary['base_name']}",
            citation=summary["citation"],
            license=add("CreativeWork", summary["licence"]),
            url=declared.get("references", []),
            hasPart=[raw_file(file) for file in files],
        )

    def stored(name: str, digest: str) -> Any:
        experiment = results.experiments.get(Path(name).stem)
        known = {"name": experiment.title if experiment else CONTENT.get(name, name), "sha256": digest}
        if name.endswith("/"):
            return crate.add_dataset(dest_path=name, properties=known | {"description": LISTING})
        size, form = (folder / name).stat().st_size, FORMATS[Path(name).suffix[1:]]
        return crate.add_file(dest_path=name, properties=known | {"contentSize": str(size), "encodingFormat": form})

    licence = add("CreativeWork", cited["license"], f"https://spdx.org/licenses/{cited['license']}")
    authors = [
        add("Organization" if "name" in one else "Person", " ".join(one[key] for key in NAME if key in one))
        for one in cited["authors"]
    ]
    libraries = [
        add("SoftwareApplication", name, f"#{name}-{version}", version=version)
        for name, versions in facts["versions"].items()
        for version in versions
    ]
    code = add(
        "SoftwareSourceCode",
        cited["title"],
        description=cited["abstract"],
        version=cited["version"],
        identifier=sorted({facts["git_commit"] or "not a checkout", *facts["run_commits"]}),
        codeRepository=cited.get("repository-code"),
        softwareRequirements=libraries,
        author=authors,
        license=licence,
    )
    data = {summary["base_name"]: summary for _, summary in sorted(results.summaries.items())}
    action = crate.add_action(
        code,
        ACTION,
        object=[data_set(summary) for summary in data.values()],
        result=[stored(*one) for one in digests(folder).items()],
        properties={
            "name": f"The suite {results.suite}: fits, predictions, tables and figures",
            "startTime": min(facts["run_dates"], default=facts["accepted"]),
            "endTime": facts["accepted"],
        },
    )
    papers = [add("ScholarlyArticle", one["title"], datePublished=str(one["year"])) for one in cited["references"]]
    for key, value in {
        "name": f"cascadeforest: accepted results of the suite {results.suite}",
        "description": facts["message"],
        "datePublished": facts["accepted"],
        "license": licence,
        "author": authors,
        "citation": papers,
        "conformsTo": add("CreativeWork", "Process Run Crate", PROFILE, version=PROFILE.rpartition("/")[2]),
        "mentions": [action],
    }.items():
        crate.root_dataset[key] = value
    atomic_write(folder / CRATE, json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False) + "\n")
