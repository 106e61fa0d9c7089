"""The RO-Crate of a stored report: read with json and hashlib alone, and by rocrate's own reader."""

import hashlib
import json
import shutil

import pytest
from rocrate.rocrate import ROCrate
from tests.reports.conftest import ROOT, snapshot

from cascadeforest.data.files import read_yaml
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.crate import CRATE
from cascadeforest.reports.store.redraw import refresh

STORED = sorted(path.parent for path in ROOT.glob("reports/*/cells.json.gz"))


@pytest.fixture
def stored(suite):
    """A stored suite with one table, on Adult as ``config/datasets`` describes it."""
    (suite.root / "config" / "datasets").mkdir(parents=True)
    shutil.copy(ROOT / "config" / "datasets" / "adult.yaml", suite.root / "config" / "datasets")
    return accept(suite.complete().draw().root, "smoke", "first numbers")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def described(folder):
    """Digests of files and folders that a crate names as results, and of the folder's content."""
    entities = {one["@id"]: one for one in json.loads((folder / CRATE).read_text(encoding="utf-8"))["@graph"]}
    (action,) = (one for one in entities.values() if one["@type"] == "CreateAction")
    named = {one["@id"]: entities[one["@id"]]["sha256"] for one in action["result"]}
    files = {name: sha256(content) for name, content in snapshot(folder).items() if name != CRATE}
    listings = {}
    for name in sorted(files):
        if name.startswith(("extras/", "rows/")):
            listings.setdefault(name.partition("/")[0] + "/", []).append(f"{files.pop(name)}  {name}\n")
    return named, files | {name: sha256("".join(lines).encode()) for name, lines in listings.items()}


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
def test_the_accepted_reports_are_what_their_crates_say(folder):
    named, there = described(folder)
    assert named == there
    crate = ROCrate(folder)
    assert {one.id for one in crate.data_entities if "://" not in one.id} == set(named)
    assert all((folder / name).exists() for name in named)


def test_a_crate_has_data_code_and_files_with_digests(suite, stored):
    named, there = described(stored)
    assert named == there
    assert {"cells.json.gz", "tables/hidf-table2.csv", "tables/hidf-table2.md", "provenance.json"} <= set(named)
    crate = ROCrate(stored)
    (action,) = crate.root_dataset["mentions"]
    assert crate.root_dataset["conformsTo"].id == "https://w3id.org/ro/wfrun/process/0.5"
    assert crate.description == "first numbers"
    assert [author["name"] for author in crate.root_dataset["author"]] == ["The cascadeforest developers"]
    assert len(crate.root_dataset["citation"]) == 6
    (adult,) = action["object"]
    (official,) = read_yaml(ROOT / "config/datasets/adult.yaml")["forms"].values()
    assert {file.id: file["sha256"] for file in adult["hasPart"]} == {f["url"]: f["sha256"] for f in official["files"]}
    assert (adult["license"]["name"], adult["citation"]) == ("CC BY 4.0", "Someone (1996), a book")
    code = action["instrument"]
    assert code["version"] == read_yaml(ROOT / "CITATION.cff")["version"]
    assert code["identifier"] == ["not a checkout"]
    assert [f"{s['name']} {s['version']}" for s in code["softwareRequirements"]] == [
        "numpy 2.4.6",
        "scikit-learn 1.9.1",
    ]
    assert crate.dereference("tables/hidf-table2.csv")["name"] == "Test accuracy"


def test_the_same_files_give_the_same_crate(suite, stored):
    before = (stored / CRATE).read_bytes()
    refresh(suite.root, "smoke")
    assert (stored / CRATE).read_bytes() == before


@pytest.mark.parametrize("change", ["other", "gone", "more"])
def test_files_that_are_not_those_of_the_crate_are_named(suite, stored, capsys, change):
    assert suite.command("verify") == 0
    file = stored / "tables" / ("hidf-table3.md" if change == "more" else "hidf-table2.md")
    if change == "gone":
        file.unlink()
    else:
        file.write_text("Other words.")
    assert suite.command("verify") == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "SHA-256" in line]
    assert str(file) in line
    assert line.count("missing") == (change != "other")


def test_a_folder_without_a_crate_is_an_error(suite, stored, capsys):
    (stored / CRATE).unlink()
    assert suite.command("verify") == 2
    assert f"{CRATE}: no such file" in capsys.readouterr().err
