"""Files: atomic writes, digests, readable errors of YAML and JSON."""

import errno
import hashlib
import json
import os
import pickle
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cascadeforest.data.errors import ConfigError, DamagedFile, UserError
from cascadeforest.data.files import (
    atomic_path,
    atomic_write,
    canonical_json,
    digest_of,
    read_json,
    read_signed_json,
    read_yaml,
    sha256_of,
    write_signed_json,
)


def test_atomic_write_makes_folders_and_keeps_line_ends(tmp_path):
    path = tmp_path / "a" / "b" / "c.txt"
    atomic_write(path, "x\r\ny\n")
    assert path.read_bytes() == b"x\r\ny\n"
    atomic_write(path, b"\x00")
    assert path.read_bytes() == b"\x00"


def test_a_full_disk_is_named(tmp_path):
    def fail(temporary):
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        pytest.raises(UserError, match=r"table\.csv: the disk is full\. Make room"),
        atomic_path(tmp_path / "table.csv") as path,
    ):
        fail(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_writer_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half of the new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_the_old_file_is_there_until_the_writer_is_done(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with atomic_path(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".csv"  # writers that look at the ending (numpy, matplotlib) must see it
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")
def test_a_written_file_has_the_permissions_that_open_gives(tmp_path):
    (tmp_path / "plain").write_text("")
    atomic_write(tmp_path / "atomic", "")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "atomic")}
    assert len(modes) == 1


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder cannot be opened")
def test_a_file_is_flushed_before_its_rename_and_the_folder_after(tmp_path, monkeypatch):
    """Content, then name: the other way round a power cut leaves an empty file under the final name."""
    path, flushed = tmp_path / "table.csv", []

    def fsync(descriptor):
        status = os.fstat(descriptor)
        kind = "folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes"
        flushed.append((kind, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    atomic_write(path, "12345")
    assert flushed == [("5 bytes", False), ("folder", True)]


def test_a_folder_that_cannot_be_flushed_is_no_error_a_file_is(tmp_path, monkeypatch):
    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == on_folders:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    on_folders = True
    atomic_write(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    on_folders = False
    with pytest.raises(OSError, match="Invalid argument"):
        atomic_write(tmp_path / "a", "newer")
    assert (tmp_path / "a").read_text() == "new"


CELL = {"key": "ab", "repeat": 3, "metrics": {"accuracy": 0.1 + 0.2}, "rows": [1, None, True, "α"]}


def test_signed_json_comes_back_as_it_was(tmp_path):
    path = tmp_path / "cell.json"
    write_signed_json(path, CELL | {"content_digest": "of an older content", "by_code": {10: (1,), 9: ()}})
    content = read_signed_json(path)
    assert content == CELL | {"by_code": {"10": [1], "9": []}}
    assert json.loads(path.read_text("utf-8"))["content_digest"] == digest_of(content)
    with pytest.raises(FileNotFoundError):
        read_signed_json(tmp_path / "never_made.json")


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda text: text.replace("0.30000000000000004", "0.123"), "its content has the digest"),
        (lambda text: text.replace('"repeat":3', '"repeat":2'), "its content has the digest"),
        (lambda text: text.replace('"repeat":3,', ""), "its content has the digest"),
        (lambda text: text.replace('"repeat":3', '"repeat":NaN'), "not whole JSON"),
        (lambda text: text[:-20], "not whole JSON"),
        (lambda text: "\udcff" + text, "not whole JSON"),
        (lambda text: "", "the file is empty"),
        (lambda text: "{}", "without content_digest"),
        (lambda text: "[1]", "without content_digest"),
        (lambda text: '{"content_digest": null}', "not None as stored"),
    ],
)
def test_signed_json_that_does_not_check_is_refused(tmp_path, damage, fault):
    path = tmp_path / "cell.json"
    write_signed_json(path, CELL)
    path.write_text(damage(path.read_text("utf-8")), "utf-8", "surrogateescape")
    with pytest.raises(DamagedFile, match=fault) as caught:
        read_signed_json(path, "Fit it again.")
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(". Fit it again.")
    again = pickle.loads(pickle.dumps(caught.value))  # it crosses from a job's process to another
    assert (str(again), again.path) == (str(caught.value), path)


def test_sha256_is_that_of_the_bytes(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256_of(tmp_path / "f") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2


def test_canonical_json_by_hand():
    assert canonical_json({"b": [1, 2.5, None], "a": "α"}) == '{"a":"α","b":[1,2.5,null]}'
    assert digest_of({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=6))
def test_digest_does_not_depend_on_the_order_of_keys(mapping):
    assert digest_of(mapping) == digest_of(dict(reversed(mapping.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": value})


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_yaml_merge_keys_are_no_duplicates(tmp_path):
    path = write(tmp_path / "c.yaml", "base: &b {n: 1, m: 2}\nmore: {<<: *b, n: 3}\n")
    assert read_yaml(path)["more"] == {"n": 3, "m": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3"),
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' is written twice (first in line 1)"),
        ("a:\n  b: 1\n  b: 2\n", "line 3: the key 'b' is written twice (first in line 2)"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: !!python/object:os.system x\n", "line 1"),
    ],
)
def test_a_yaml_error_names_file_and_line(tmp_path, text, words):
    path = write(tmp_path / "c.yaml", text)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_json_error_names_file_and_line(tmp_path):
    path = write(tmp_path / "c.json", '{"a": 1,\n "b": }\n')
    with pytest.raises(ConfigError, match=r"c\.json, line 2: not valid JSON"):
        read_json(path)


def test_a_missing_file_a_folder_and_another_encoding_are_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="this is a folder"):
        read_json(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("a: é".encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        read_yaml(tmp_path / "latin.yaml")
