"""Nothing is believed unread: each damaged file is an error that names it and says what to do, and changes nothing."""

import gzip
import json

import pytest
from tests.reports.conftest import snapshot

from cascadeforest.data.files import CONTENT_DIGEST, digest_of, write_signed_json
from cascadeforest.reports.store.accept import accept

RUN, SUMMARY, PLAN = "results/smoke/runs/adult/gbdt.json", "data/processed/adult.json", "results/smoke/plan.json"
FAILURE = "results/smoke/failures/adult/gbdt.json"
CELLS, PROVENANCE = "reports/smoke/cells.json.gz", "reports/smoke/provenance.json"
DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "{}": lambda data: b"{}",
    "[]": lambda data: b"[]",
    "not text": lambda data: b"\xff\xfe" + data,
}
REMEDIES = {
    RUN: "Run the workflow again, which makes it anew: snakemake --cores all --config suite=smoke",
    FAILURE: "Delete it, or run the workflow again",
    PLAN: "Run the workflow again, which makes it anew: snakemake --cores all --config suite=smoke",
    SUMMARY: "python -m cascadeforest.data prepare --dataset adult",
    CELLS: "git checkout -- {}",
    PROVENANCE: "git checkout -- {}",
}


@pytest.fixture
def both(suite):
    """A suite that ran and is accepted; its forest ran with a third repeat."""
    suite.complete().draw()
    accept(suite.root, "smoke", "first numbers")
    suite.run("adult", "random_forest", [0.80, 0.90, 0.70])
    return suite


@pytest.fixture
def errors(both, capsys):
    """Run a command; what it says of a file, after which no report has changed."""

    def run(name, *arguments):
        before = snapshot(both.root / "reports")
        assert both.command(name, *arguments) == 2
        assert snapshot(both.root / "reports") == before
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        return said

    return run


TABLE, ACCEPT = ("draw", "--experiment", "hidf-table2"), ("accept", "--message", "why")
READERS = [TABLE, ("index",), ("partial",), ("check",), ACCEPT]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", REMEDIES)
def test_damaged_files_are_named_with_their_remedy_by_all_who_read_them(both, errors, file, damage):
    path = both.root / file
    if file == FAILURE:
        both.fail("adult", "gbdt")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for reader in (("render",), ("refresh",)) if file in (CELLS, PROVENANCE) else READERS:
        said = errors(*reader)
        assert said.startswith(f"error: {path}: ")
        assert REMEDIES[file].format(path) in said


def test_a_damaged_store_is_named_by_the_check_and_by_accepting_a_part(both, errors):
    """And an edited provenance is not believed."""
    both.experiment("ddbf-table1")
    both.draw()
    accept_part = ["accept", "--message", "why", "--only", "ddbf-table1"]
    path = both.root / PROVENANCE
    before = path.read_text()
    path.write_text(before.replace("first numbers", "better numbers"))
    for reader in (["render"], accept_part):
        assert f"{path}: its content has the digest" in errors(*reader)
    path.write_text(before)
    (both.root / CELLS).write_bytes(b"not gzip")
    for reader in (["check"], accept_part):
        assert f"git checkout -- {both.root / CELLS}" in errors(*reader)


def test_an_edited_accuracy_and_files_of_another_model_or_suite_are_not_believed(both, errors):
    path = both.root / RUN
    path.write_text(path.read_text().replace('"accuracy":0.92', '"accuracy":0.123'))
    for reader in READERS:
        assert f"{path}: its content has the digest " in errors(*reader)
    path.write_bytes(path.with_name("random_forest.json").read_bytes())
    assert f"{path}: it is the result of random_forest on adult. Run the workflow again" in errors(*ACCEPT)
    path = both.root / PLAN
    write_signed_json(path, json.loads(path.read_text()) | {"suite": "quick"})
    assert f"{path}: suite is 'quick', not 'smoke'. Run the workflow again" in errors("check")


def signed(content):
    """The content with a digest that fits it: only its sense can tell that it is wrong."""
    content = {key: value for key, value in content.items() if key != CONTENT_DIGEST}
    return content | {CONTENT_DIGEST: digest_of(content)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cells: [cells[0], cells[0]], "its repeats are [0, 0], not [0, 1], each once"),
        (lambda cells: cells[::-1], "its repeats are [1, 0], not [0, 1], each once"),
        (lambda cells: [cells[0], cells[1] | {"dataset": "wine"}], "it has cells of ('wine', 'gbdt')"),
        (lambda cells: cells[:1], "its repeats are [0], not [0, 1], each once"),
        (lambda cells: [cells[0], {"repeat": 1}], "written by another version"),
    ],
    ids=["another repeat's cell", "order", "other data", "a repeat is gone", "a cell without content"],
)
def test_a_well_signed_run_file_that_makes_no_sense(both, errors, change, words):
    path = both.root / RUN
    content = json.loads(path.read_text())
    path.write_text(json.dumps(signed(content | {"cells": change(content["cells"])})))
    for reader in READERS:
        assert f"{path}: {words}" in errors(*reader)


@pytest.mark.parametrize(
    ("change", "sign", "words"),
    [
        ({"summaries": {}}, dict, "its content has the digest"),
        ({"runs": [{}]}, signed, "written by another version"),
        ({"plan": {"suite": "quick"}}, signed, "it is of the suite 'quick'"),
        ({"format": 99}, signed, "format is 99; this version reads 3. Run the suite again and accept it"),
    ],
    ids=["edited", "other fields", "another suite", "another format"],
)
def test_stored_cells_that_are_not_what_was_accepted(both, errors, change, sign, words):
    path = both.root / CELLS
    content = json.loads(gzip.decompress(path.read_bytes()))
    content |= {"plan": content["plan"] | change["plan"]} if "plan" in change else change
    path.write_bytes(gzip.compress(json.dumps(sign(content)).encode()))
    for reader in ("render", "refresh", "check"):
        said = errors(reader)
        assert f"{path}: {words}" in said
        assert ("git checkout -- " in said) == ("format" not in change)
