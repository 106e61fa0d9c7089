"""Fetching: order of the places, checksums, broken downloads, and that a failure leaves nothing behind."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from cascadeforest.data import sources
from cascadeforest.data.__main__ import main
from cascadeforest.data.addresses import without_passwords
from cascadeforest.data.errors import ChecksumError, ConfigError, CredentialsError, DownloadError
from cascadeforest.data.prepare import prepare
from cascadeforest.data.sources import Mirror, fetch, fetched_files, record_user_files

ROOT = Path(__file__).parents[2]
A, B = b"a,b\n1,2\n", b"c,d\n3,4\n" * 5_000

# What a data set file says besides the files.
DESCRIPTION = {
    "title": "Far",
    "task": "classification",
    "protocol": {"kind": "given", "repeats": 1},
    "licence": "CC0",
    "citation": "Nobody (1900)",
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def dataset(**forms: list[dict]) -> dict:
    """One open data set whose forms are lists of files."""
    return {
        "name": "far",
        "access": "open",
        "forms": {name: {"files": files, "parser": "table"} for name, files in forms.items()},
    }


def left_in(folder: Path) -> list[str]:
    """Everything below a folder, folders too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return tmp_path / "raw"


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    """A mirror folder with far/a.csv and far/b.csv."""
    folder = tmp_path / "mirror"
    (folder / "far").mkdir(parents=True)
    (folder / "far" / "a.csv").write_bytes(A)
    (folder / "far" / "b.csv").write_bytes(B)
    return Mirror(str(folder))


# --- where the files come from --------------------------------------------------------------------------------------


def test_files_of_a_mirror_folder_are_copied_checked_and_recorded(raw, mirror):
    files = [
        {"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)},
        {"file": "b", "mirror": "far/b.csv", "sha256": sha256(B)},
    ]
    record = fetch(dataset(official=files), raw, mirror=mirror)
    assert left_in(raw) == ["far", "far/a", "far/b", "far/fetched.json"]
    assert (raw / "far" / "b").read_bytes() == B
    assert json.loads((raw / "far" / "fetched.json").read_text()) == record
    assert record["form"] == "official"
    assert record["files"][0] == {
        "file": "a",
        "sha256": sha256(A),
        "bytes": len(A),
        "from": mirror.place("far/a.csv"),
        "checked": "sha256",
        "when": record["files"][0]["when"],
    }


def test_the_mirror_is_named_by_an_environment_variable(raw, mirror, monkeypatch):
    monkeypatch.setenv("CASCADEFOREST_MIRROR", mirror.location)
    assert (
        fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}]), raw)["form"] == "official"
    )


def test_a_mirror_may_be_a_base_address(raw, server):
    server.bodies["/copy/far/a%20b.csv"] = A
    mirror = Mirror(f"{server.address}/copy/")
    record = fetch(dataset(official=[{"file": "a", "mirror": "far/a b.csv", "sha256": sha256(A)}]), raw, mirror=mirror)
    assert record["files"][0]["from"] == f"{server.address}/copy/far/a%20b.csv"


def test_without_a_mirror_the_official_address_is_used(raw, server):
    server.bodies["/a.csv"] = A
    files = [{"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/a.csv", "sha256": sha256(A)}]
    record = fetch(dataset(official=files), raw, mirror=Mirror())
    assert (raw / "far" / "a").read_bytes() == A
    assert record["files"][0]["from"] == f"{server.address}/a.csv"


def test_the_server_is_asked_not_to_compress(raw, server):
    """Requests unpacks what a server compressed on the way; of a .gz file no checksum would then hold."""
    server.bodies["/a.gz"] = A
    fetch(dataset(official=[{"file": "a", "url": f"{server.address}/a.gz", "sha256": sha256(A)}]), raw, mirror=Mirror())
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_a_form_that_the_mirror_has_in_full_is_preferred(raw, mirror, server):
    official = [
        {"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/a.csv", "sha256": sha256(A)},
        {"file": "x", "url": f"{server.address}/x.csv", "mirror": "far/x.csv", "sha256": sha256(A)},
    ]
    other = [{"file": "b", "mirror": "far/b.csv", "sha256": sha256(B)}]
    assert fetch(dataset(official=official, repacked=other), raw, mirror=mirror)["form"] == "repacked"
    assert server.requests == []


def test_a_file_of_an_official_form_comes_from_the_mirror_where_that_has_it(raw, mirror, server):
    server.bodies["/x.csv"] = A
    files = [
        {"file": "b", "url": f"{server.address}/b.csv", "mirror": "far/b.csv", "sha256": sha256(B)},
        {"file": "x", "url": f"{server.address}/x.csv", "sha256": sha256(A)},
    ]
    fetch(dataset(official=files), raw, mirror=mirror)
    assert server.requests == ["/x.csv"]


def test_files_that_are_there_and_right_are_not_fetched_again(raw, server):
    server.bodies["/a.csv"] = A
    far = dataset(official=[{"file": "a", "url": f"{server.address}/a.csv", "sha256": None}])
    first = fetch(far, raw, mirror=Mirror())
    assert fetch(far, raw, mirror=Mirror()) == first
    assert server.requests == ["/a.csv"]
    assert first["files"][0]["sha256"] == sha256(A)
    assert first["files"][0]["checked"] == "no checksum is published"


def test_the_form_of_an_earlier_fetch_stays_when_a_mirror_appears(raw, mirror, server):
    server.bodies["/a.csv"] = A
    far = dataset(
        repacked=[{"file": "b", "mirror": "far/b.csv", "sha256": sha256(B)}],
        official=[{"file": "a", "url": f"{server.address}/a.csv", "sha256": sha256(A)}],
    )
    assert fetch(far, raw, mirror=Mirror())["form"] == "official"
    assert fetch(far, raw, mirror=mirror)["form"] == "official"


def test_of_two_forms_that_are_there_the_recorded_one_stays(raw, mirror, server):
    server.bodies["/a.csv"] = A
    far = dataset(
        repacked=[{"file": "b", "mirror": "far/b.csv", "sha256": sha256(B)}],
        official=[{"file": "a", "url": f"{server.address}/a.csv", "sha256": sha256(A)}],
    )
    fetch(far, raw, mirror=Mirror())
    (raw / "far" / "b").write_bytes(B)
    assert fetch(far, raw, mirror=Mirror())["form"] == "official"


def test_a_file_that_the_user_put_in_place_is_taken_if_it_is_right(raw):
    (raw / "far").mkdir(parents=True)
    (raw / "far" / "a").write_bytes(A)
    far = dataset(official=[{"file": "a", "url": "http://127.0.0.1:9/a", "sha256": sha256(A)}])
    assert fetch(far, raw, mirror=Mirror())["files"][0]["from"] == "found in place"


def test_a_file_with_other_bytes_is_fetched_again(raw, mirror):
    far = dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}])
    fetch(far, raw, mirror=mirror)
    (raw / "far" / "a").write_bytes(B)
    fetch(far, raw, mirror=mirror)
    assert (raw / "far" / "a").read_bytes() == A


# --- what can go wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_checksum_mismatch_names_expected_found_and_source_and_keeps_nothing(raw, mirror, algorithm):
    expected = hashlib.new(algorithm, B).hexdigest()
    with pytest.raises(ChecksumError) as caught:
        fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", algorithm: expected}]), raw, mirror=mirror)
    message = str(caught.value)
    assert f"{algorithm} is {hashlib.new(algorithm, A).hexdigest()}, expected {expected}" in message
    assert f"{len(A)} bytes from {mirror.place('far/a.csv')}" in message
    assert not (raw / "far").exists()


def test_a_mismatch_of_a_download_keeps_nothing(raw, server):
    server.bodies["/a.csv"] = A
    with pytest.raises(ChecksumError, match=f"bytes from {server.address}/a.csv"):
        fetch(
            dataset(official=[{"file": "a", "url": f"{server.address}/a.csv", "sha256": sha256(B)}]),
            raw,
            mirror=Mirror(),
        )
    assert not (raw / "far").exists()


def test_a_mismatch_spares_the_file_that_was_there(raw, mirror):
    (raw / "far").mkdir(parents=True)
    (raw / "far" / "a").write_bytes(b"mine")
    with pytest.raises(ChecksumError):
        fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(B)}]), raw, mirror=mirror)
    assert left_in(raw) == ["far", "far/a"]
    assert (raw / "far" / "a").read_bytes() == b"mine"


def test_a_fetch_that_fails_halfway_changes_nothing(raw, mirror):
    """No file is replaced before all are right, so the record describes what it described."""
    files = [{"file": name, "mirror": f"far/{name}.csv", "sha256": None} for name in "ab"]
    record = fetch(dataset(official=files), raw, mirror=mirror)
    for name in "ab":
        (raw / "far" / name).write_bytes(b"edited")
    broken = [files[0], files[1] | {"sha256": sha256(A)}]
    with pytest.raises(ChecksumError):
        fetch(dataset(official=broken), raw, mirror=mirror)
    assert left_in(raw) == ["far", "far/a", "far/b", "far/fetched.json"]
    assert (raw / "far" / "a").read_bytes() == b"edited"
    assert json.loads((raw / "far" / "fetched.json").read_text()) == record


def test_a_file_without_checksum_must_stay_what_it_was_at_an_earlier_fetch(raw, server):
    """Also at the next attempt, and where another file of the form was fetched before it."""
    server.bodies |= {"/a.csv": A, "/b.csv": B}
    far = dataset(official=[{"file": name, "url": f"{server.address}/{name}.csv", "sha256": None} for name in "ab"])
    record = fetch(far, raw, mirror=Mirror())
    for name in "ab":
        (raw / "far" / name).unlink()
    server.bodies["/b.csv"] = A
    for _ in range(2):
        with pytest.raises(ChecksumError) as caught:
            fetch(far, raw, mirror=Mirror())
        message = str(caught.value)
        assert f"b: sha256 is {sha256(A)}, but {raw / 'far' / 'fetched.json'} has {sha256(B)}" in message
        assert f"to take the new file, delete {raw / 'far'} and fetch again" in message
    server.bodies["/b.csv"] = B
    again = fetch(far, raw, mirror=Mirror())
    assert [entry["sha256"] for entry in again["files"]] == [entry["sha256"] for entry in record["files"]]


def test_the_command_says_of_which_files_no_checksum_is_published(repository, write_dataset, server, capsys):
    server.bodies |= {"/a.csv": A, "/b.csv": B}
    files = [
        {"file": "a.csv", "url": f"{server.address}/a.csv", "sha256": None},
        {"file": "b.csv", "url": f"{server.address}/b.csv", "md5": hashlib.md5(B).hexdigest()},
    ]
    write_dataset(dataset(official=files) | DESCRIPTION)
    raw = repository / "raw"
    assert main(["fetch", "--config", str(repository / "config"), "--dataset", "far", "--raw", str(raw)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "no checksum is published for" in line]
    recorded = raw / "far" / "fetched.json"
    assert lines == [
        f"far: no checksum is published for a.csv; found sha256 {sha256(A)}; recorded in {recorded}",
    ]
    assert json.loads(recorded.read_text())["files"][0]["sha256"] == sha256(A)


def test_a_download_that_breaks_off_is_tried_again(raw, server):
    server.bodies["/b.csv"] = B
    server.broken["/b.csv"] = 1
    far = dataset(official=[{"file": "b", "url": f"{server.address}/b.csv", "sha256": None}])
    fetch(far, raw, mirror=Mirror(), retries=1)
    assert (raw / "far" / "b").read_bytes() == B
    assert len(server.requests) == 2


def test_a_download_that_keeps_breaking_off_leaves_nothing(raw, server):
    """Half of a file without a checksum must not pass for the whole."""
    server.bodies["/b.csv"] = B
    server.broken["/b.csv"] = 9
    far = dataset(official=[{"file": "b", "url": f"{server.address}/b.csv", "sha256": None}])
    with pytest.raises(DownloadError, match=r"b could not be had from .*/b\.csv"):
        fetch(far, raw, mirror=Mirror(), retries=0)
    assert not (raw / "far").exists()


def test_no_answer_names_every_place_and_the_remedy(raw, server, tmp_path):
    mirror = Mirror(f"{server.address}/copy")
    files = [{"file": "a", "url": "http://127.0.0.1:9/a.csv", "mirror": "far/a.csv", "sha256": sha256(A)}]
    with pytest.raises(DownloadError) as caught:
        fetch(dataset(official=files), raw, mirror=mirror, retries=0)
    message = str(caught.value)
    assert "config/datasets/far.yaml: a could not be had from" in message
    assert f"{server.address}/copy/far/a.csv (HTTP 404 Not Found)" in message
    assert "nor from http://127.0.0.1:9/a.csv (ConnectionError: " in message
    assert "refused" in message
    for remedy in ("Check the network", "set CASCADEFOREST_MIRROR to", str(raw / "far"), "choose a suite without"):
        assert remedy in message
    assert not (raw / "far").exists()


def test_a_form_without_address_says_what_the_mirror_lacks(raw, mirror):
    part = dataset(part=[{"file": "p", "mirror": "far/part.csv", "sha256": None}])
    with pytest.raises(DownloadError, match=r"the mirror .* lacks some of far/part\.csv\. .*choose a suite"):
        fetch(part, raw, mirror=mirror)
    with pytest.raises(
        DownloadError, match=r"no form of 'far' has official addresses for all files, and no mirror is set"
    ):
        fetch(part, raw, mirror=Mirror())


def test_a_terminated_fetch_leaves_nothing(repository, write_dataset, server, environment):
    """A job that Snakemake stops gets SIGTERM, which by default skips every `finally`."""
    server.bodies["/b.csv"] = B
    server.stalled.add("/b.csv")
    far = dataset(official=[{"file": "b", "url": f"{server.address}/b.csv", "sha256": sha256(B)}]) | DESCRIPTION
    write_dataset(far)
    raw = repository / "data" / "raw"
    command = [sys.executable, "-m", "cascadeforest.data", "fetch", "--config", "config", "--dataset", "far"]
    with subprocess.Popen(command, cwd=repository, env=environment, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 30
            while not any((raw / "far" / ".partial").glob("*")) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert left_in(raw) != ["far"], "the download never started"
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(timeout=30) != 0
        finally:
            process.kill()
    assert left_in(raw) == []


def test_what_a_killed_fetch_left_is_dropped_by_the_next(raw, mirror):
    (raw / "far" / ".partial").mkdir(parents=True)
    (raw / "far" / ".partial" / "download").write_bytes(b"half")
    fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}]), raw, mirror=mirror)
    assert left_in(raw) == ["far", "far/a", "far/fetched.json"]


# --- sources that are not trusted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["announced", "unannounced", "folder"])
def test_no_more_than_max_bytes_are_taken(raw, mirror, server, source):
    server.bodies["/b.csv"] = B
    if source == "unannounced":
        server.unannounced.add("/b.csv")
    place = {"mirror": "far/b.csv"} if source == "folder" else {"url": f"{server.address}/b.csv"}
    exact = {"file": "b", "sha256": sha256(B), "max_bytes": len(B), **place}
    assert fetch(dataset(official=[exact]), raw / "exact", mirror=mirror)["files"][0]["bytes"] == len(B)
    small = exact | {"max_bytes": len(B) - 1}
    with pytest.raises(DownloadError, match=r"b\.csv \(too large: .* max_bytes in config/datasets is 39,999\)"):
        fetch(dataset(official=[small]), raw, mirror=mirror)
    assert left_in(raw / "far") == []
    assert len(server.requests) == (0 if source == "folder" else 2), "what is too large is not asked for again"


def test_a_file_without_max_bytes_has_the_default_of_the_schema(raw, server, monkeypatch):
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "dataset.schema.yaml").read_text("utf-8"))
    entry = schema["properties"]["forms"]["additionalProperties"]["properties"]["files"]["items"]["properties"]
    assert entry["max_bytes"]["default"] == sources.MAX_BYTES
    monkeypatch.setattr(sources, "MAX_BYTES", 3)
    server.bodies["/a.csv"] = A
    with pytest.raises(DownloadError, match="too large: 8 bytes are announced"):
        fetch(dataset(official=[{"file": "a", "url": f"{server.address}/a.csv", "sha256": None}]), raw, mirror=Mirror())


@pytest.mark.parametrize("behaviour", ["dripping", "silent", "stalled"])
def test_a_source_that_takes_too_long_is_given_up(raw, server, monkeypatch, behaviour):
    """A byte every 50 ms keeps every time-out of a socket from ending."""
    monkeypatch.setattr(sources, "PATIENCE", 0.3)
    server.bodies["/b.csv"] = B
    getattr(server, behaviour).add("/b.csv")
    file = {"file": "b", "url": f"{server.address}/b.csv", "sha256": sha256(B), "max_bytes": len(B)}
    started = time.monotonic()
    with pytest.raises(DownloadError, match=r"b\.csv \(too slow: not done after 1 seconds\)"):
        fetch(dataset(official=[file]), raw, mirror=Mirror())
    assert time.monotonic() - started < 10
    assert not (raw / "far").exists()


PAGES = [
    b"<!DOCTYPE html><html><body>Sign in</body></html>",
    b"\r\n  <HTML>\n",
    b"<?xml version='1.0'?>\n<!DOCTYPE html>",
    b"<!-- moved --><html>",
    "\ufeff<html>".encode(),
    "\ufeff\n<html>".encode("utf-16-le"),
]


@pytest.mark.parametrize("page", PAGES, ids=range(len(PAGES)))
def test_a_page_of_html_is_never_data(raw, mirror, server, page):
    """Neither downloaded, nor copied, nor found in place, nor read afterwards."""
    server.bodies["/a.csv"] = page
    Path(mirror.place("far/a.csv")).write_bytes(page)
    far = dataset(
        official=[{"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/a.csv", "sha256": None}],
    )
    (raw / "far").mkdir(parents=True)
    (raw / "far" / "a").write_bytes(page)
    with pytest.raises(DownloadError) as caught:
        fetch(far, raw, mirror=mirror)
    for place in (mirror.place("far/a.csv"), f"{server.address}/a.csv"):
        assert f"{place} (a page of HTML, not data)" in str(caught.value)
    server.bodies["/a.csv"] = A
    assert fetch(far, raw, mirror=mirror)["files"][0]["from"] == f"{server.address}/a.csv"
    record = json.loads((raw / "far" / "fetched.json").read_text())
    record["files"][0]["sha256"] = sha256(page)
    (raw / "far" / "fetched.json").write_text(json.dumps(record))
    (raw / "far" / "a").write_bytes(page)
    with pytest.raises(DownloadError, match="a page of HTML, not data"):
        fetched_files(far, raw)


@pytest.mark.parametrize("data", [b"<50K,1\n", b"<= 3,1\n", b"1 < 2\n", b"", b"\0\0\x08\x03"])
def test_data_are_not_taken_for_a_page(raw, mirror, data):
    Path(mirror.place("far/a.csv")).write_bytes(data)
    fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": None}]), raw, mirror=mirror)
    assert (raw / "far" / "a").read_bytes() == data


def test_after_wrong_bytes_of_the_mirror_the_official_address_is_asked(raw, mirror, server, caplog):
    server.bodies["/a.csv"] = B
    official = {"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/a.csv", "sha256": sha256(B)}
    record = fetch(dataset(official=[official]), raw, mirror=mirror)
    assert record["files"][0]["from"] == f"{server.address}/a.csv"
    assert (raw / "far" / "a").read_bytes() == B
    warning = next(entry.getMessage() for entry in caplog.records if entry.levelname == "WARNING")
    assert f"sha256 is {sha256(A)}, expected {sha256(B)} ({len(A)} bytes from {mirror.place('far/a.csv')})" in warning
    assert f"taken from {server.address}/a.csv instead" in warning


def test_wrong_bytes_everywhere_name_every_place(raw, mirror, server):
    server.bodies["/a.csv"] = b"other"
    official = {"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/a.csv", "sha256": sha256(B)}
    with pytest.raises(ChecksumError) as caught:
        fetch(dataset(official=[official]), raw, mirror=mirror)
    assert f"{len(A)} bytes from {mirror.place('far/a.csv')}" in str(caught.value)
    assert f"5 bytes from {server.address}/a.csv" in str(caught.value)
    del server.bodies["/a.csv"]
    with pytest.raises(ChecksumError, match=r"It could not be had from .*/a\.csv \(HTTP 404 Not Found\) either"):
        fetch(dataset(official=[official]), raw, mirror=mirror, retries=0)
    assert not (raw / "far").exists()


def test_after_a_wrong_form_of_the_mirror_the_official_form_is_taken(raw, mirror, server, caplog):
    server.bodies["/b.csv"] = B
    far = dataset(
        repacked=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(B)}],
        official=[{"file": "b", "url": f"{server.address}/b.csv", "sha256": sha256(B)}],
    )
    assert fetch(far, raw, mirror=mirror)["form"] == "official"
    assert left_in(raw) == ["far", "far/b", "far/fetched.json"]
    assert f"bytes from {mirror.place('far/a.csv')}" in caplog.text
    assert "The form 'official' is taken instead" in caplog.text


def test_a_source_that_changed_is_not_hidden_by_another_form(raw, mirror, server):
    server.bodies["/a.csv"] = A
    far = dataset(
        official=[{"file": "a", "url": f"{server.address}/a.csv", "mirror": "far/none.csv", "sha256": None}],
        repacked=[{"file": "b", "mirror": "far/b.csv", "sha256": sha256(B)}],
    )
    fetch(far, raw, mirror=Mirror())
    (raw / "far" / "a").unlink()
    Path(mirror.place("far/none.csv")).write_bytes(b"other")
    server.bodies["/a.csv"] = b"another"
    with pytest.raises(ChecksumError, match=f"{sha256(A)} from an earlier fetch"):
        fetch(far, raw, mirror=mirror)
    server.bodies["/a.csv"] = A  # the mirror's copy is another one still
    assert fetch(far, raw, mirror=mirror)["files"][0]["from"] == f"{server.address}/a.csv"


def test_tables_say_which_digests_are_not_verified(raw, mirror):
    files = [
        {"file": "a", "mirror": "far/a.csv", "sha256": None},
        {"file": "c", "mirror": "far/c.csv", "sha256": sha256(B)},
    ]
    Path(mirror.place("far/c.csv")).write_bytes(B)
    Path(mirror.place("far/a.csv")).write_bytes(b"1,2,x\n3,4,y\n5,6,x\n7,8,y\n")
    far = DESCRIPTION | dataset(official=files)
    far["forms"]["official"]["options"] = {"train": "a", "target": -1}
    far["protocol"] = {"kind": "holdout", "test_size": 0.5, "seed": 0, "repeats": 1}
    fetch(far, raw, mirror=mirror)
    assert prepare(far, raw=raw).meta["note"] == "Digest not verified: a."
    files[0]["sha256"] = sha256((raw / "far" / "a").read_bytes())
    fetch(far, raw, mirror=mirror)
    assert prepare(far, raw=raw).meta["note"] is None


def test_a_password_is_neither_printed_nor_stored(repository, write_dataset, server, monkeypatch, capsys, caplog):
    """The mirror's, which must reach the server all the same."""
    monkeypatch.setattr("time.sleep", lambda _: None)  # between two attempts
    server.bodies["/far/a.csv"] = A
    monkeypatch.setenv("CASCADEFOREST_MIRROR", server.address.replace("://", "://me:s3cret@"))
    write_dataset(DESCRIPTION | dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}]))
    raw = repository / "raw"
    command = ["fetch", "--config", str(repository / "config"), "--dataset", "far", "--raw", str(raw)]
    with caplog.at_level("DEBUG"):
        assert main(command) == 0
        assert server.headers[0]["Authorization"].startswith("Basic ")
        record = (raw / "far" / "fetched.json").read_text()
        assert json.loads(record)["files"][0]["from"] == server.address.replace("://", "://***@") + "/far/a.csv"
        (raw / "far" / "a").unlink()
        server.bodies["/far/a.csv"] = B
        assert main(command) == 2
        del server.bodies["/far/a.csv"]
        assert main(command) == 2
        monkeypatch.setenv("CASCADEFOREST_MIRROR", "http://me:s3cret@127.0.0.1:9/x")
        assert main(command) == 2
    printed = capsys.readouterr()
    assert "127.0.0.1:9/x/far/a.csv (ConnectionError: " in printed.err
    for text in (record, printed.out, printed.err, caplog.text, repr(Mirror.from_environment())):
        assert "s3cret" not in text


def test_a_password_in_an_older_record_does_not_stay(raw, mirror):
    far = dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}])
    record = fetch(far, raw, mirror=mirror)
    record["files"][0]["from"] = "https://me:s3cret@example.org/a.csv"
    (raw / "far" / "fetched.json").write_text(json.dumps(record))
    assert fetch(far, raw, mirror=mirror)["files"][0]["from"] == "https://***@example.org/a.csv"
    assert "s3cret" not in (raw / "far" / "fetched.json").read_text()


@pytest.mark.parametrize(
    "address",
    [
        "https://me:s3/cret@host/x",
        "https://me:4/cret@host/x",
        "http://me:s3#cret@host",
        "https://me:1?c@host",
        "http://",
    ],
)
def test_a_mirror_address_that_would_be_split_inside_its_password_is_refused(address):
    with pytest.raises(ConfigError, match="CASCADEFOREST_MIRROR is no valid address") as caught:
        Mirror(address)
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://example.org/a@b?id=3", "https://example.org/a@b?id=3"),
        ("no https://u:p@h/a nor ftp://u@h:2/b.", "no https://***@h/a nor ftp://***@h:2/b."),
        ("https://u:p@ss@h/a", "https://***@h/a"),
        ("'/x?id=1&X-Amz-Signature=ab%2F&b=2'", "'/x?id=1&X-Amz-Signature=***&b=2'"),
        ("https://h/x?access_token=a", "https://h/x?access_token=***"),
        ("me@example.org, 3 @ 4", "me@example.org, 3 @ 4"),
    ],
)
def test_addresses_are_shown_without_passwords(text, shown):
    assert without_passwords(text) == shown


# --- what `prepare` finds -------------------------------------------------------------------------------------------


def test_fetched_files_are_checked_again(raw, mirror):
    far = dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}])
    with pytest.raises(
        DownloadError, match=r"was not fetched yet\. Run: python -m cascadeforest\.data fetch --dataset far"
    ):
        fetched_files(far, raw)
    record = fetch(far, raw, mirror=mirror)
    assert fetched_files(far, raw) == (record, {"a": raw / "far" / "a"})
    (raw / "far" / "a").write_bytes(B)
    with pytest.raises(ChecksumError, match=f"changed since it was fetched .sha256 {sha256(B)}, recorded {sha256(A)}"):
        fetched_files(far, raw)
    (raw / "far" / "a").unlink()
    with pytest.raises(DownloadError, match="not there any more"):
        fetched_files(far, raw)


def test_a_form_that_was_renamed_since_must_be_fetched_again(raw, mirror):
    files = [{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}]
    fetch(dataset(official=files), raw, mirror=mirror)
    with pytest.raises(DownloadError, match="the form 'official' is not the one in"):
        fetched_files(dataset(repacked=files), raw)


@pytest.mark.parametrize("text", ["", "{}", '{"form": "official"}'])
def test_a_damaged_record_must_be_fetched_again(raw, mirror, text):
    far = dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}])
    fetch(far, raw, mirror=mirror)
    (raw / "far" / "fetched.json").write_text(text)
    with pytest.raises(DownloadError, match=r"is not the one in .*Run: python -m cascadeforest\.data fetch"):
        fetched_files(far, raw)


def test_a_checksum_edited_since_is_not_passed_over(raw, mirror):
    fetch(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(A)}]), raw, mirror=mirror)
    with pytest.raises(ChecksumError, match=f"expected {sha256(B)}"):
        fetched_files(dataset(official=[{"file": "a", "mirror": "far/a.csv", "sha256": sha256(B)}]), raw)


# --- credentialed data ----------------------------------------------------------------------------------------------

CHF = {
    "name": "chf",
    "access": "credentialed",
    "file": "data/raw/chf/chf.csv",
    "obtain": "apply at https://physionet.org.",
    "citation": "Johnson et al. (2016)",
}


def test_a_missing_credentialed_file_names_the_path_and_how_to_get_access(tmp_path):
    with pytest.raises(CredentialsError) as caught:
        record_user_files(CHF, tmp_path / "data" / "raw", tmp_path)
    message = str(caught.value)
    assert "'chf' needs credentialed access, and data/raw/chf/chf.csv is not there" in message
    assert "(apply at https://physionet.org), put the file at data/raw/chf/chf.csv" in message
    assert left_in(tmp_path) == []


def test_a_credentialed_file_in_place_is_recorded(tmp_path):
    raw = tmp_path / "data" / "raw"
    (raw / "chf").mkdir(parents=True)
    (raw / "chf" / "chf.csv").write_bytes(A)
    record = record_user_files(CHF, raw, tmp_path)
    assert record["form"] == "csv"
    assert record["files"][0]["sha256"] == sha256(A)
    with_parser = CHF | {"forms": {"table": {"files": [{"file": "chf.csv", "sha256": sha256(B)}], "parser": "table"}}}
    with pytest.raises(ChecksumError):
        record_user_files(with_parser, raw, tmp_path)
