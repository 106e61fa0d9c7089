"""Nothing is believed unread: each damaged file is an error that names it and says what to do, and changes nothing."""

import gzip
import json

import pytest
from tests.reports.conftest import snapshot

from cascadeforest.data.files import CONTENT_DIGEST, digest_of, write_signed_json
from cascadeforest.reports.__main__ import main
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
        assert main([name, "--suite", "smoke", "--root", str(both.root), *arguments]) == 2
        assert snapshot(both.root / "reports") == before
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        return said

    return run


READERS = [
    ("table", "--experiment", "hidf-table2"),
    ("index",),
    ("partial",),
    ("check",),
    ("accept", "--message", "why"),
]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", [RUN, SUMMARY, PLAN, FAILURE])
def test_damaged_files_of_a_run(both, errors, file, damage):
    path = both.root / file
    if file == FAILURE:
        (both.root / RUN).unlink()
        both.fail("adult", "gbdt", "MemoryError", "no room")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for reader in READERS:
        said = errors(*reader)
        assert said.startswith(f"error: {path}: ")
        assert REMEDIES[file] in said


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", [CELLS, PROVENANCE])
def test_damaged_files_of_a_store(both, errors, file, damage):
    path = both.root / file
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for reader in ("render", "refresh"):
        said = errors(reader)
        assert said.startswith(f"error: {path}: ")
        assert f"git checkout -- {path}" in said


def test_cells_that_cannot_be_read_are_named_by_the_check_and_by_accepting_a_part(both, errors):
    both.experiment("ddbf-table1")
    both.draw()
    (both.root / CELLS).write_bytes(b"not gzip")
    for reader in (["check"], ["accept", "--message", "why", "--only", "ddbf-table1"]):
        assert f"git checkout -- {both.root / CELLS}" in errors(*reader)


def test_an_edited_accuracy_is_not_believed(both, errors):
    path = both.root / RUN
    path.write_text(path.read_text().replace('"accuracy":0.92', '"accuracy":0.123'))
    for reader in READERS:
        assert f"{path}: its content has the digest " in errors(*reader)


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


def test_the_run_file_of_another_model_is_not_believed(both, errors):
    path = both.root / RUN
    path.write_bytes(path.with_name("random_forest.json").read_bytes())
    assert f"{path}: it is the result of random_forest on adult. Run the workflow again" in errors(
        "accept", *READERS[-1][1:]
    )


def test_the_plan_of_another_suite_is_not_believed(both, errors):
    path = both.root / PLAN
    write_signed_json(path, json.loads(path.read_text()) | {"suite": "quick"})
    assert f"{path}: suite is 'quick', not 'smoke'. Run the workflow again" in errors("check")


def edit_cells(both, change, sign):
    path = both.root / CELLS
    content = change(json.loads(gzip.decompress(path.read_bytes())))
    path.write_bytes(gzip.compress(json.dumps(sign(content)).encode()))


@pytest.mark.parametrize(
    ("change", "sign", "words"),
    [
        (lambda content: content | {"summaries": {}}, dict, "its content has the digest"),
        (lambda content: content | {"runs": [{}]}, signed, "written by another version"),
        (
            lambda content: content | {"plan": content["plan"] | {"suite": "quick"}},
            signed,
            "it is of the suite 'quick'",
        ),
    ],
    ids=["edited", "other fields", "another suite"],
)
def test_stored_cells_that_are_not_what_was_accepted(both, errors, change, sign, words):
    edit_cells(both, change, sign)
    for reader in ("render", "refresh", "check"):
        said = errors(reader)
        assert f"{both.root / CELLS}: {words}" in said
        assert "git checkout -- " in said


def test_stored_cells_of_another_format_are_refused(both, errors):
    edit_cells(both, lambda content: content | {"format": 99}, signed)
    assert "format is 99; this version reads 2. Run the suite again and accept it" in errors("render")


def test_an_edited_provenance_is_not_believed(both, errors):
    both.experiment("ddbf-table1")
    both.draw()
    path = both.root / PROVENANCE
    path.write_text(path.read_text().replace("first numbers", "better numbers"))
    for reader in (["render"], ["accept", "--message", "why", "--only", "ddbf-table1"]):
        assert f"{path}: its content has the digest" in errors(*reader)
