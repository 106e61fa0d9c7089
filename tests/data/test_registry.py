"""Data set files, their faults in words, names of variants, seeds."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cascadeforest.data.__main__ import main
from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import Operation, parse_operation, parse_variant, seed_for
from cascadeforest.data.registry import availability, load_dataset_files
from cascadeforest.data.sources import Mirror

ROOT = Path(__file__).parents[2]
DATASETS = load_dataset_files(ROOT / "config" / "datasets")
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "dataset.schema.yaml").read_text(encoding="utf-8"))

LOCAL = {
    "name": "mine",
    "title": "Mine",
    "task": "classification",
    "access": "local",
    "file": "mine.csv",
    "target": "label",
    "protocol": {"kind": "cv", "folds": 5, "seed": 0},
}
OPEN = {
    "name": "far",
    "title": "Far",
    "task": "classification",
    "access": "open",
    "forms": {
        "official": {
            "files": [{"file": "far.csv", "url": "https://example.org/far.csv", "sha256": "0" * 64}],
            "parser": "table",
        }
    },
    "protocol": {"kind": "given", "repeats": 5},
    "licence": "CC0",
    "citation": "Nobody (1900)",
}
HOLDOUT = {"kind": "holdout", "test_size": 0.3, "seed": "per_repeat", "repeats": 10}


# --- the files of this repository -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_file_names_code_and_datasets_that_exist(name):
    from cascadeforest.data.parsers import PARSERS
    from cascadeforest.data.synthetic import GENERATORS

    dataset = DATASETS[name]
    assert {form["parser"] for form in dataset.get("forms", {}).values()} <= set(PARSERS)
    assert dataset.get("generator", "sincos") in GENERATORS
    assert dataset.get("subset_of", name) in DATASETS


def test_the_datasets_without_network_are_the_default_suites():
    offline = {name for name, dataset in DATASETS.items() if dataset["access"] in ("embedded", "synthetic")}
    assert offline == {
        *("digits", "breast_cancer", "wine", "iris", "iris2", "diabetes"),
        *("hidf_circles", "hidf_sphere", "sincos", "three_class", "linear_sum"),
        *("planted_additive", "planted_interaction", "planted_xor"),
    }


def test_data_md_lists_the_datasets_without_a_published_sha256():
    files = {
        (name, "md5" if file.get("md5") else "none")
        for name, dataset in DATASETS.items()
        if dataset["access"] == "open"
        for form in dataset["forms"].values()
        for file in form["files"]
        if not file.get("sha256")
    }
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Known gap: files without a published SHA-256\n")[2].partition("\n## ")[0]
    for line, word in (("No checksum", "none"), ("MD5 only", "md5")):
        listed = next(row for row in section.splitlines() if row.startswith(f"- **{line}:**"))
        assert re.findall(r"`(\w+)`", listed) == sorted(name for name, kind in files if kind == word)


def test_every_key_of_the_schema_has_a_description():
    """The configuration reference is made of these; conditions (`allOf`) only restrict keys described elsewhere."""

    def bare(node, path):
        found = []
        for key, value in node.get("properties", {}).items():
            found += [] if "description" in value else [f"{path}.{key}"]
            found += bare(value, f"{path}.{key}")
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                found += [] if "description" in node[key] else [f"{path}[{key}]"]
                found += bare(node[key], f"{path}[{key}]")
        return found

    assert bare(SCHEMA, "") == []


def test_the_registry_and_the_command_line_load_no_numpy():
    """A command line sets thread variables before numpy is loaded, so what it imports first must not load it."""
    code = "import sys, cascadeforest.data.registry, cascadeforest.data.__main__; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


# --- malformed files ------------------------------------------------------------------------------------------------


def test_a_good_file_is_read_as_written(repository, write_dataset):
    write_dataset(LOCAL)
    write_dataset(OPEN)
    assert load_dataset_files(repository / "config" / "datasets") == {"far": OPEN, "mine": LOCAL}


def test_hidden_files_that_editors_leave_are_no_dataset_files(repository, write_dataset, capsys):
    folder = write_dataset(LOCAL).parent
    (folder / ".#mine.yaml").symlink_to("nobody@nowhere.1")  # the lock of Emacs: a dangling link
    (folder / ".mine.yaml").write_text("half: [")
    (folder / "._mine.yml").write_text("")
    assert load_dataset_files(folder) == {"mine": LOCAL}
    assert main(["fetch", "--config", str(folder.parent), "--dataset", "far"]) == 2
    assert "there is no data set 'far'; there are mine." in capsys.readouterr().err


def test_the_name_of_the_summary_rows_is_reserved(repository, write_dataset):
    write_dataset(LOCAL | {"name": "all"})
    with pytest.raises(ConfigError, match=r"all\.yaml: name is 'all', which is .* choose another name\."):
        load_dataset_files(repository / "config" / "datasets")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "clustering"}, "task is 'clustering'; choose one of classification, regression."),
        ({"titl": "x"}, "titl is not a known key; did you mean title?"),
        ({"title": 3}, "title is 3; it must be text."),
        ({"title": None}, "title is None; it must be text."),
        ({"target": ...}, "target is missing; add it."),
        ({"forms": OPEN["forms"]}, "forms does not belong into a file of this kind; remove it."),
        ({"protocol": {"kind": "given", "repeats": 2}}, "protocol.kind is 'given'; choose one of cv, holdout."),
        ({"protocol": {"kind": "cv", "folds": 1, "seed": 0}}, "protocol.folds is 1; it must be at least 2."),
        ({"protocol": {"kind": "cv", "seed": 0}}, "protocol.folds is missing; add it."),
        (
            {"protocol": {"kind": "cv", "folds": 5, "seed": "per_repeat"}},
            "protocol.seed is 'per_repeat'; it must be: a whole",
        ),
        (
            {"protocol": {"kind": "cv", "folds": 5, "seed": 0, "repeats": 10}},
            "protocol.repeats is 10; in a cross-validation",
        ),
        ({"protocol": {"kind": "cv", "folds": 5, "seed": 0, "splits": 3}}, "protocol.splits does not belong into"),
        ({"protocol": HOLDOUT | {"test_size": 1.5}}, "protocol.test_size is 1.5; give a fraction between 0 and 1"),
        ({"protocol": HOLDOUT | {"test_size": 0}}, "protocol.test_size is 0; it must be greater than 0."),
        ({"protocol": HOLDOUT | {"train_size": 0.8}}, "exceed 1; lower one."),
        ({"protocol": HOLDOUT | {"seed": "per_split"}}, "protocol.splits and seed: per_split belong together"),
        ({"protocol": HOLDOUT | {"seed": "per_split", "splits": 3}}, "must be a multiple of splits (3)."),
        ({"protocol": HOLDOUT | {"seed": "often"}}, "protocol.seed is 'often'; it must be: cv and holdout. A number ="),
        ({"task": "regression", "protocol": HOLDOUT | {"stratify": True}}, "a regression target has no classes"),
        ({"drop": ["label"]}, "drop names label, which target or categorical use too"),
        ({"expected": {"rows": 0}}, "expected.rows is 0; it must be at least 1."),
        ({"expected": {"row": 10}}, "expected.row is not a known key; did you mean rows?"),
        (
            {"expected": {"class_counts": {False: 3}}},
            "the key False under expected.class_counts is not text. Put it in quotes.",
        ),
        ({"categorical": ["a", "a"]}, "categorical has an entry twice"),
    ],
)
def test_a_fault_is_told_with_file_key_value_and_remedy(repository, write_dataset, change, words):
    dataset = {key: value for key, value in (LOCAL | change).items() if value is not ...}
    path = write_dataset(dataset)
    with pytest.raises(ConfigError) as caught:
        load_dataset_files(repository / "config" / "datasets")
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"url": "https://e.org/f", "sha256": "abc"}, "forms.official.files[0].sha256 is 'abc'; it must be: SHA-256"),
        (
            {"url": "file:///f", "sha256": "0" * 64},
            "forms.official.files[0].url is 'file:///f'; it must be: Official",
        ),
        (
            {"url": "https://e.org/f"},
            "forms.official.files[0] has no sha256; add it (null only where none is published).",
        ),
        ({"sha256": "0" * 64}, "forms.official.files[0] has neither url nor mirror"),
    ],
)
def test_a_file_entry_without_place_or_checksum_is_refused(repository, write_dataset, file, words):
    write_dataset(OPEN | {"forms": {"official": {"files": [{"file": "f.csv", **file}], "parser": "table"}}})
    with pytest.raises(ConfigError) as caught:
        load_dataset_files(repository / "config" / "datasets")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("file", name) for name in ("..", ".", ".partial", "a/b", "a\\b", "C:b", "fetched.json", "a\0", "a\n", "")),
        *(("mirror", path) for path in ("/etc/x", "../x", "a/../../x", "a/..", "a/./b", "a\\..\\b", "C:/x", "a\n", "")),
        *(
            ("url", f"https://{rest}")
            for rest in ("u:s3cret@e.org/a", "s3cret@e.org", "u:s3cret@e.org?a", "/a", "e.org/\n")
        ),
    ],
)
def test_an_entry_that_leaves_its_folder_or_has_a_password_is_refused(repository, write_dataset, key, value):
    """Of a refused address the password is not shown."""
    entry = {"file": "f.csv", "url": "https://e.org/f", "mirror": "far/f.csv", "sha256": None, key: value}
    write_dataset(OPEN | {"forms": {"official": {"files": [entry], "parser": "table"}}})
    with pytest.raises(ConfigError, match=rf"forms\.official\.files\[0\]\.{key} is ") as caught:
        load_dataset_files(repository / "config" / "datasets")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("key", ["file", "mirror", "credentialed"])
@given(data=st.data())
def test_what_the_schema_allows_stays_inside_its_folder(key, data):
    """On Windows too; and a plain file name never meets what the fetch keeps for itself."""
    entry = SCHEMA["properties"]["forms"]["additionalProperties"]["properties"]["files"]["items"]["properties"]
    credentialed = next(
        rule for rule in SCHEMA["allOf"] if rule["if"]["properties"]["access"]["const"] == "credentialed"
    )
    rule = entry.get(key) or credentialed["then"]["properties"]["file"]
    text = data.draw(st.text("aC./\\:\n", max_size=8))
    if Draft202012Validator(rule).is_valid(text):
        for flavour in (PurePosixPath, PureWindowsPath):
            path = flavour(text)
            assert text.strip()
            assert not path.is_absolute()
            assert not path.drive
            assert ".." not in path.parts
            assert key != "file" or (len(path.parts) == 1 and not text.startswith("."))


@pytest.mark.parametrize("path", ["far/a b..csv", "..a/b", "a/.b/c...", "a"])
def test_dots_inside_the_names_of_a_mirror_are_allowed(repository, write_dataset, path):
    entry = {"file": "f..csv", "mirror": path, "sha256": None}
    write_dataset(OPEN | {"forms": {"official": {"files": [entry], "parser": "table"}}})
    assert "far" in load_dataset_files(repository / "config" / "datasets")


def test_a_file_of_the_user_may_lie_anywhere_a_credentialed_one_only_below_the_root(repository, write_dataset):
    anywhere = ("/data/x.csv", "../x.csv", "data/../../x.csv")
    for file in anywhere:
        write_dataset(LOCAL | {"file": file})
        assert load_dataset_files(repository / "config" / "datasets")["mine"]["file"] == file
    for file in anywhere:
        write_dataset(LOCAL | {"access": "credentialed", "licence": "x", "citation": "y", "file": file})
        with pytest.raises(ConfigError, match=r"file is '.*'; it must be: a path below the repository root"):
            load_dataset_files(repository / "config" / "datasets")


def test_a_name_from_the_command_line_leaves_no_folder(repository, write_dataset, capsys):
    write_dataset(LOCAL).rename(repository / "mine.yaml")
    assert main(["fetch", "--config", str(repository / "config"), "--dataset", "../../mine"]) == 2
    assert "there is no data set '../../mine'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ({"kind": "cv", "folds": 1001, "seed": 0}, "protocol.folds is 1001; it must be at most 1000."),
        (HOLDOUT | {"repeats": 10**9}, "protocol.repeats is 1000000000; it must be at most 1000."),
        (HOLDOUT | {"seed": "per_split", "splits": 2000}, "protocol.splits is 2000; it must be at most 1000."),
    ],
)
def test_repeats_and_folds_have_upper_bounds(repository, write_dataset, protocol, words):
    write_dataset(LOCAL | {"protocol": protocol})
    with pytest.raises(ConfigError) as caught:
        load_dataset_files(repository / "config" / "datasets")
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset["access"] == "open"])
def test_each_file_of_an_open_dataset_has_a_bound(name):
    assert all(file["max_bytes"] > 0 for form in DATASETS[name]["forms"].values() for file in form["files"])


def test_a_checksum_may_be_null_or_md5(repository, write_dataset):
    files = [
        {"file": "a", "url": "https://e.org/a", "sha256": None},
        {"file": "b", "url": "https://e.org/b", "md5": "0" * 32},
    ]
    write_dataset(OPEN | {"forms": {"official": {"files": files, "parser": "table"}}})
    assert "far" in load_dataset_files(repository / "config" / "datasets")


def test_the_name_must_equal_the_file_name(repository, write_dataset):
    write_dataset(LOCAL).rename(repository / "config" / "datasets" / "other.yaml")
    with pytest.raises(ConfigError, match="name is 'mine'; it must equal the file name, 'other'"):
        load_dataset_files(repository / "config" / "datasets")


def test_an_overlooked_ending_an_empty_file_and_a_missing_folder_are_told(repository):
    folder = repository / "config" / "datasets"
    (folder / "empty.yaml").write_text("")
    with pytest.raises(ConfigError, match="a mapping of keys to values is expected"):
        load_dataset_files(folder)
    (folder / "empty.yaml").rename(folder / "empty.yml")
    with pytest.raises(ConfigError, match=r"files end in \.yaml"):
        load_dataset_files(folder)
    with pytest.raises(ConfigError, match="no such folder"):
        load_dataset_files(repository / "datasets")


# --- names of variants ----------------------------------------------------------------------------------------------


def test_a_variant_is_a_name_and_its_operations():
    assert parse_variant("adult") == ("adult", ())
    assert parse_variant("mnist+rows-10000+imbalance-5-0.9") == ("mnist", ("rows-10000", "imbalance-5-0.9"))
    assert parse_operation("imbalance-class_0-0.25") == Operation("imbalance", 0.25, "class_0")
    assert parse_operation("imbalance--1-0.5") == Operation("imbalance", 0.5, "-1")
    assert parse_operation("rows-100") == Operation("rows", 100)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("Adult", "may have only a-z, 0-9 and _"),
        (
            "adult+irrelevantly",
            "'irrelevantly' in 'adult+irrelevantly' is unknown; the forms are irrelevant, ",
        ),
        ("adult+train-1.5", "is unknown"),
        ("adult+train-0.0", "is unknown"),
        ("adult+rows-0", "is unknown"),
        ("adult+imbalance-5-1", "is unknown"),
        ("adult+rows-10+rows-5", "has the operation 'rows' twice"),
        ("adult+irrelevant+noise-5", "must stand before"),
        ("adult+", "is unknown"),
    ],
)
def test_a_wrong_variant_says_what_is_possible(identifier, words):
    with pytest.raises(ConfigError) as caught:
        parse_variant(identifier)
    assert words in str(caught.value)


# --- seeds and availability -----------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=4) | st.integers(0, 99), max_size=4), st.integers(0, 99))
def test_a_seed_fits_scikit_learn_and_changes_with_its_last_axis(parts, last):
    seed = seed_for(*parts, last)
    assert 0 <= seed < 2**32
    assert seed == seed_for(*parts, last)
    assert seed != seed_for(*parts, last + 1)


def test_a_seed_keeps_its_axes_apart():
    assert (
        len(
            {
                seed_for("ab", "c"),
                seed_for("a", "bc"),
                seed_for("abc"),
                seed_for("ab", "c", 0),
                seed_for(1),
                seed_for("1"),
            }
        )
        == 6
    )


def test_seed_0_of_the_configuration_adds_nothing_and_others_change_every_seed():
    address = hashlib.sha256(b'["split","adult",3]').hexdigest()
    expected = np.random.SeedSequence(int(address, 16)).generate_state(1)[0]
    assert seed_for("split", "adult", 3) == seed_for("split", "adult", 3, seed=0) == expected
    assert len({seed_for("split", "adult", 3, seed=seed) for seed in range(100)}) == 100
    assert seed_for("split", "adult", 3, seed=5) != seed_for("split", "adult", 3, 5)


def test_what_a_user_has_to_bring_is_unavailable_until_it_is_there(repository):
    chf = {"name": "chf", "access": "credentialed", "file": "data/raw/chf/chf.csv"}
    assert availability(chf, repository) == "needs credentialed access: put the file at data/raw/chf/chf.csv"
    assert availability(LOCAL, repository) == "file not there: put the file at mine.csv"
    (repository / "data" / "raw" / "chf").mkdir(parents=True)
    for file in ("data/raw/chf/chf.csv", "mine.csv"):
        (repository / file).write_text("")
    assert availability(chf, repository) is None
    assert availability(LOCAL, repository) is None


def test_a_form_without_address_is_available_only_with_its_mirror(repository, tmp_path):
    part = OPEN | {
        "forms": {"mirror": {"files": [{"file": "p.csv", "mirror": "far/p.csv", "sha256": None}], "parser": "table"}}
    }
    mirror = Mirror(str(tmp_path / "mirror"))
    assert availability(OPEN, repository) is None
    assert availability(part, repository) == "no official address is known: set CASCADEFOREST_MIRROR"
    assert availability(part, repository, mirror) == "neither on the mirror nor at an official address"
    (tmp_path / "mirror" / "far").mkdir(parents=True)
    (tmp_path / "mirror" / "far" / "p.csv").write_text("")
    assert availability(part, repository, mirror) is None
    (repository / "data" / "raw" / "far").mkdir(parents=True)
    (repository / "data" / "raw" / "far" / "p.csv").write_text("")
    assert availability(part, repository) is None
