"""Processed data: what does not hold what was written is refused, or made again; seeds never mix."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.__main__ import main
from cascadeforest.data.dataset import build_dataset, load, read_summary, save, summary
from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import read_signed_json, signed_json, write_signed_json
from cascadeforest.data.processed import load_or_make, make, write
from cascadeforest.data.registry import find_dataset_file

CONFIG = Path(__file__).parents[2] / "config"
VARIANT = "iris+rows-60+train-0.5"


def toy(**change):
    parts = {
        "name": "toy",
        "task": "classification",
        "X": np.arange(12.0).reshape(6, 2),
        "y": [0, 1, 0, 1, 0, 1],
        "feature_names": ["a", "b"],
        "class_names": ["no", "yes"],
        "given_test": np.arange(6) > 3,
        "protocol": {"kind": "given", "repeats": 5},
        "meta": {"title": "Toy"},
    }
    return build_dataset(**(parts | change))


def with_members(path: Path, **changed: bytes) -> None:
    """Write the archive again, with other bytes in some of its members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, changed.get(name.partition(".")[0], data))


def with_array(path: Path, name: str, change, **options) -> None:
    stream = io.BytesIO()
    with np.load(path) as arrays:
        np.save(stream, change(arrays[name]), **options)
    with_members(path, **{name: stream.getvalue()})


def with_header(path: Path, **changed) -> None:
    """Change the header and sign it again, so that only the other checks are left."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    with_members(path, header=signed_json(header | changed).encode())


DAMAGE = {
    "rotated labels": (lambda path: with_array(path, "y", lambda y: np.roll(y, 1)), "arrays and names have the digest"),
    "other test rows": (
        lambda path: with_array(path, "given_test", lambda marks: marks[::-1]),
        "arrays and names have the digest",
    ),
    "another value": (lambda path: with_array(path, "X", lambda X: X + 1), "arrays and names have the digest"),
    "another class name": (
        lambda path: with_header(path, class_names=["yes", "no"]),
        "arrays and names have the digest",
    ),
    "another protocol": (
        lambda path: with_header(path, protocol={"kind": "given", "repeats": 6}),
        "arrays and names have the digest",
    ),
    "another seed": (lambda path: with_header(path, seed=1), "arrays and names have the digest"),
    "an edited note": (lambda path: with_members(path, header=b'{"meta":{},"content_digest":"0"}'), "its content has"),
    "an unsigned header": (lambda path: with_members(path, header=b'{"format":1}'), "without content_digest"),
    "a header of another format": (lambda path: with_header(path, format=1), "format 1, this version reads 2"),
    "an object in an array": (
        lambda path: with_array(path, "y", lambda y: np.array([print], object), allow_pickle=True),
        "Object arrays cannot be loaded",  # it is not unpickled, which would run code
    ),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-40]), "damaged"),
    "empty": (lambda path: path.write_bytes(b""), "damaged"),
    "no archive": (lambda path: path.write_bytes(b"{}"), "damaged"),
    "an archive of numpy": (lambda path: np.savez(path, X=np.ones(3)), "not a prepared data set"),
    "another variant": (
        lambda path: shutil.move(saved(path.with_name("toy+train-0.5.npz")), path),
        r"it holds 'toy\+train-0\.5', not 'toy'",
    ),
}


def saved(path: Path) -> Path:
    save(toy(name=path.stem), path)
    return path


@pytest.mark.parametrize(("damage", "fault"), DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_does_not_hold_what_was_written_is_refused(tmp_path, damage, fault):
    path = saved(tmp_path / "toy.npz")
    damage(path)
    with pytest.raises(DamagedFile, match=fault) as caught:
        load(path)
    assert caught.value.path == path
    remedy = f"Prepare it again (python -m cascadeforest.data prepare --dataset toy --output {path})."
    assert str(caught.value).endswith(remedy)


def test_no_changed_byte_gives_other_data(tmp_path):
    """Each byte of a file inverted in turn: load refuses it, or the byte says nothing about the data set."""
    path = saved(tmp_path / "toy.npz")
    whole, expected, n_refused = path.read_bytes(), toy(), 0
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        try:
            found = load(path)
        except DamagedFile:
            n_refused += 1
        else:
            assert (found.digest, summary(found)) == (expected.digest, summary(expected))
            np.testing.assert_array_equal(found.y, expected.y)
    assert n_refused > len(whole) / 2  # the rest are dates and attributes of the archive's members, each twice


def test_a_missing_file_is_not_a_damaged_one(tmp_path):
    for read, name in ((load, "toy.npz"), (read_summary, "toy.json")):
        with pytest.raises(UserError, match=r"no such file.*prepare --dataset toy --output .*toy\.npz\)") as caught:
            read(tmp_path / name)
        assert not isinstance(caught.value, DamagedFile)


def test_a_file_must_have_the_name_of_its_data_set(tmp_path):
    with pytest.raises(UserError, match=r"'toy' cannot be written to .*mine\.npz; name the file toy\.npz"):
        save(toy(), tmp_path / "mine.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda path: path.write_text("{}"), "without content_digest"),
        (lambda path: path.write_text(""), "the file is empty"),
        (lambda path: path.write_text(path.read_text()[:-9]), "not whole JSON"),
        (lambda path: path.write_text(path.read_text().replace('"n_test":2', '"n_test":3')), "its content has"),
        (lambda path: write_signed_json(path, summary(toy(name="other"))), "it holds 'other', not 'toy'"),
    ],
)
def test_a_summary_that_does_not_hold_what_was_written_is_refused(tmp_path, damage, fault):
    path = tmp_path / "toy.json"
    write(toy(), tmp_path / "toy.npz")
    assert read_summary(path) == summary(toy()) | {"protocol": "given training and test set, 5 model seeds"}
    damage(path)
    for read in (lambda: read_summary(path), lambda: load(path.with_suffix(".npz"))):
        with pytest.raises(DamagedFile, match=fault) as caught:
            read()
        assert caught.value.path == path


def test_data_and_summary_must_belong_together(tmp_path):
    write(toy(y=[1, 0, 0, 1, 0, 1]), tmp_path / "toy.npz")
    save(toy(), tmp_path / "toy.npz")
    with pytest.raises(DamagedFile, match=r"the digest is \w{12}, but \w{12} in toy\.json"):
        load(tmp_path / "toy.npz")


# --- made again -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """A processed variant of data that scikit-learn ships; the files' bytes by name."""
    folder = tmp_path_factory.mktemp("processed")
    for name in (VARIANT, "iris"):
        write(make(name, config=CONFIG), folder / f"{name}.npz")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def processed(tmp_path, iris):
    for name, data in iris.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(
    ("ending", "damage"),
    [
        (".npz", lambda path: with_array(path, "y", lambda y: np.roll(y, 1))),
        (".npz", lambda path: path.write_bytes(path.read_bytes()[:200])),
        (".npz", lambda path: path.write_bytes(b"")),
        (".npz", lambda path: shutil.copy(path.with_name("iris.npz"), path)),
        (".json", lambda path: path.write_text("{}")),
        (".json", lambda path: shutil.copy(path.with_name("iris.json"), path)),
    ],
)
def test_a_damaged_variant_is_made_again_in_place_with_a_warning(processed, iris, caplog, ending, damage):
    path = processed / f"{VARIANT}.npz"
    damage(processed / f"{VARIANT}{ending}")
    dataset = load_or_make(path, config=CONFIG)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith(str(processed / f"{VARIANT}{ending}"))
    assert caplog.messages[0].endswith("It is made again.")
    assert dataset.digest == load(path).digest
    assert {file.name: file.read_bytes() for file in processed.iterdir()} == iris
    load_or_make(path, config=CONFIG)
    assert len(caplog.records) == 1


def test_what_cannot_be_made_again_stays_and_the_error_says_why(tmp_path, caplog):
    path = saved(tmp_path / "letter.npz")
    with_array(path, "y", lambda y: np.roll(y, 1))
    before = path.read_bytes()
    with pytest.raises(DamagedFile, match=r"have the digest .* Making it again failed: .*fetch") as caught:
        load_or_make(path, config=CONFIG, raw=tmp_path / "raw")
    assert caught.value.path == path
    assert path.read_bytes() == before


def test_a_variant_is_made_from_a_damaged_data_set_all_the_same(processed, capsys):
    path, output = processed / "iris.npz", processed / "iris+irrelevant.npz"
    with_array(path, "y", lambda y: np.roll(y, 1))
    words = ["--config", str(CONFIG), "--input", str(path), "--operation", "irrelevant", "--output", str(output)]
    assert main(["vary", *words]) == 0
    assert load(output).digest == make("iris+irrelevant", config=CONFIG).digest
    assert load(path).digest == make("iris", config=CONFIG).digest


# --- seeds ----------------------------------------------------------------------------------------------------------


def test_data_of_two_seeds_never_have_one_digest():
    """Not even where the seed changes nothing: what is drawn later, a model's seed, may depend on it."""
    for name in ("iris", "three_class", "iris+train-0.5"):
        assert len({make(name, config=CONFIG, seed=seed).digest for seed in (0, 1, 2)}) == 3


@pytest.mark.parametrize(("name", "changes"), [("sincos", True), ("linear_sum", True), ("three_class", False)])
def test_generated_data_follow_the_seed_unless_their_file_has_one(name, changes):
    first, same, other = (make(name, config=CONFIG, seed=seed).X for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert first.shape == other.shape
    assert np.array_equal(first, other) is not changes


@pytest.mark.parametrize("name", ["hidf_circles", "three_class"])
def test_draws_of_released_codes_have_their_seed_in_their_file(name):
    assert find_dataset_file(name, CONFIG)["options"] == {"seed": 42}


def test_the_command_line_takes_the_seed_and_keeps_seeds_apart(tmp_path, capsys):
    path = tmp_path / "iris.npz"
    words = ["--config", str(CONFIG), "--output", str(path)]
    assert main(["prepare", "--dataset", "iris", "--seed", "4", *words]) == 0
    expected = make("iris", config=CONFIG, seed=4)
    np.testing.assert_array_equal(load(path).split(1).test_rows, expected.split(1).test_rows)
    assert read_signed_json(path.with_suffix(".json"))["digest"] == expected.digest
    vary = ["vary", "--config", str(CONFIG), "--input", str(path), "--operation", "train-0.5"]
    output = tmp_path / "iris+train-0.5.npz"
    assert main([*vary, "--output", str(output)]) == 2
    assert "drawn with seed 4, but seed 0 is asked for. Prepare it again" in capsys.readouterr().err
    assert main([*vary, "--seed", "4", "--output", str(output)]) == 0
    assert load(output).seed == 4
