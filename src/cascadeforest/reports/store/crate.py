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
from cascadeforest.experiments.claims import CHECKS_FILE
from cascadeforest.reports.numbers.results import Results
from cascadeforest.reports.store.stored import CELLS, EXTRAS, PROVENANCE, ROWS, from_git, read_provenance

CRATE, RO_CRATE = "ro-crate-metadata.json", "https://w3id.org/ro/crate/1.1"
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
    COSTS: "What a repeat of each run costs, and of runs that are no longer shown",
    CHECKS_FILE: "What running said of claims that need no data",
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
    facts: dict[str, Any] = read_provenance(folder)
    cited = read_yaml(root / "CITATION.cff")
    entities: dict[str, dict[str, object]] = {}

    def add(kind: str, name: str, at: str = "", **properties: object) -> dict[str, str]:
        own = {"@id": at or f"#{quote(name)}"}
        entities[own["@id"]] = {**own, "@type": kind, "name": name} | {k: v for k, v in properties.items() if v}
        return own

    def data_set(summary: dict[str, Any]) -> dict[str, str]:
        path = root / "config" / "datasets" / f"{summary['base_name']}.yaml"
        declared = read_yaml(path) if path.is_file() else {}  # it may have gone since
        # A file without an address is not part of the crate, so it is described as a work.
        files = [
            add("File" if "url" in one else "CreativeWork", one["file"], one.get("url", ""), sha256=one.get("sha256"))
            for one in declared.get("forms", {}).get(summary["form"], {}).get("files", ())
        ]
        about = {"citation": summary["citation"], "license": add("CreativeWork", summary["licence"])}
        places = {"url": declared.get("references"), "hasPart": files}
        return add("Dataset", summary["title"], f"#data-{summary['base_name']}", **about, **places)

    def stored(name: str, digest: str) -> dict[str, str]:
        experiment = results.experiments.get(Path(name).stem)
        words = experiment.title if experiment else CONTENT.get(name, name)
        if name.endswith("/"):
            return add("Dataset", words, quote(name), sha256=digest, description=LISTING)
        size, form = str((folder / name).stat().st_size), FORMATS[Path(name).suffix[1:]]
        return add("File", words, quote(name), sha256=digest, contentSize=size, encodingFormat=form)

    about: dict[str, Any] = {
        "license": add("CreativeWork", cited["license"], f"https://spdx.org/licenses/{cited['license']}"),
        "author": [
            add("Organization" if "name" in one else "Person", " ".join(one[key] for key in NAME if key in one))
            for one in cited["authors"]
        ],
    }
    code = add(
        "SoftwareSourceCode",
        cited["title"],
        description=cited["abstract"],
        version=cited["version"],
        identifier=sorted({facts["git_commit"] or "not a checkout", *facts["run_commits"]}),
        codeRepository=cited.get("repository-code"),
        softwareRequirements=[
            add("SoftwareApplication", name, f"#{name}-{version}", version=version)
            for name, versions in facts["versions"].items()
            for version in versions
        ],
        **about,
    )
    data = {summary["base_name"]: summary for _, summary in sorted(results.summaries.items())}
    made = [stored(*one) for one in digests(folder).items()]
    action = add(
        "CreateAction",
        f"The suite {results.suite}: fits, predictions, tables and figures",
        ACTION,
        instrument=code,
        object=[data_set(summary) for summary in data.values()],
        result=made,
        startTime=min(facts["run_dates"], default=facts["accepted"]),
        endTime=facts["accepted"],
    )
    papers = [add("ScholarlyArticle", one["title"], datePublished=str(one["year"])) for one in cited["references"]]
    addresses = [{"@id": name} for name, one in entities.items() if one["@type"] == "File" and "://" in name]
    add(
        "Dataset",
        f"cascadeforest: accepted results of the suite {results.suite}",
        "./",
        description=facts["message"],
        datePublished=facts["accepted"],
        citation=papers,
        conformsTo=add("CreativeWork", "Process Run Crate", PROFILE, version=PROFILE.rpartition("/")[2]),
        mentions=[action],
        hasPart=[*made, *addresses],
        **about,
    )
    add("CreativeWork", "RO-Crate metadata", CRATE, about={"@id": "./"}, conformsTo={"@id": RO_CRATE})
    # One line for each entity: git shows what changed, and merges what others changed.
    lines = ",\n".join(json.dumps(entity, ensure_ascii=False) for entity in entities.values())
    context = json.dumps([f"{RO_CRATE}/context", TERMS])
    atomic_write(folder / CRATE, f'{{"@context": {context}, "@graph": [\n{lines}\n]}}\n')
