"""From a data set file to an .npz and its summary; and the command line that does it."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from cascadeforest.data.__main__ import main
from cascadeforest.data.dataset import build_dataset, load, save, summary
from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.prepare import encode_labels, prepare
from cascadeforest.data.registry import load_dataset_files

ROOT = Path(__file__).parents[2]
DATASETS = load_dataset_files(ROOT / "config" / "datasets")
OFFLINE = [name for name, dataset in DATASETS.items() if dataset["access"] in ("embedded", "synthetic")]
HOLDOUT = {"kind": "holdout", "test_size": 0.3, "stratify": True, "seed": "per_repeat", "repeats": 10}
MINE = {
    "name": "mine",
    "title": "Mine",
    "task": "classification",
    "access": "local",
    "file": "mine.csv",
    "target": "label",
    "categorical": ["colour"],
    "protocol": HOLDOUT,
}
CSV = "colour,size,label\n" + "".join(
    f"{'red' if i % 3 else 'blue'},{i},{'yes' if i % 2 else 'no'}\n" for i in range(40)
)


def build(**change):
    parts = {
        "name": "toy",
        "task": "classification",
        "X": np.arange(12.0).reshape(6, 2),
        "y": [0, 1, 0, 1, 0, 1],
        "feature_names": ["a", "b"],
        "class_names": ["no", "yes"],
        "protocol": HOLDOUT,
        "meta": {"title": "Toy"},
    }
    return build_dataset(**(parts | change))


# --- data sets that need no network ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OFFLINE)
def test_a_dataset_without_network_holds_what_its_file_promises(name):
    """`prepare` compares with `expected`; here its keys are required, so that a file cannot promise nothing."""
    dataset = DATASETS[name]
    assert {"rows", "features", "raw_features", "classes", "train", "test"} <= set(dataset["expected"])
    prepared = prepare(dataset)
    assert prepared.X.dtype == np.float32
    assert not np.isnan(prepared.X).any()
    assert prepared.meta["citation"] == dataset["citation"]


def test_the_default_suite_splits_70_to_30_anew_in_each_repeat():
    for name in ("digits", "breast_cancer", "wine", "iris", "diabetes"):
        protocol = DATASETS[name]["protocol"]
        assert protocol == {**HOLDOUT, "stratify": name != "diabetes"}


def test_iris2_is_the_second_and_third_column():
    prepared = prepare(DATASETS["iris2"])
    assert prepared.feature_names == ("sepal width (cm)", "petal length (cm)")
    assert prepared.X[0].tolist() == pytest.approx([3.5, 1.4])  # Fisher's first flower: 5.1, 3.5, 1.4, 0.2
    assert prepared.class_names == ("setosa", "versicolor", "virginica")


def test_class_names_of_scikit_learn_keep_their_order():
    prepared = prepare(DATASETS["breast_cancer"])
    assert prepared.class_names == ("malignant", "benign")
    assert np.bincount(prepared.y).tolist() == [212, 357]


# --- labels ---------------------------------------------------------------------------------------------------------


def test_labels_are_coded_in_sorted_order():
    codes, names = encode_labels(np.array(["b", "a", "b"]))
    assert names == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


def test_numeric_labels_are_sorted_by_value_and_written_without_zeros():
    codes, names = encode_labels(np.array([10.0, 2.0, -1.0, 2.5]))
    assert names == ["-1", "2", "2.5", "10"]
    assert codes.tolist() == [3, 1, 0, 2]


def test_a_class_order_rules_and_absent_classes_are_left_out():
    codes, names = encode_labels(np.array(["low", "high", "low"]), ["low", "middle", "high"])
    assert names == ["low", "high"]
    assert codes.tolist() == [0, 1, 0]
    with pytest.raises(UserError, match="the label 'odd' is none of the classes low, high"):
        encode_labels(np.array(["low", "odd"]), ["low", "high"])


def test_a_missing_label_is_refused():
    with pytest.raises(UserError, match="a label is missing"):
        encode_labels(np.array([0.0, np.nan]))


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=3), min_size=1, max_size=20))
def test_codes_and_names_give_the_labels_back(labels):
    codes, names = encode_labels(np.array(labels))
    assert [names[code] for code in codes] == labels
    assert sorted(set(labels)) == names


# --- the parts must fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [0, 1]}, "has 6 rows but 2 targets"),
        ({"feature_names": ["a"]}, "has 2 columns but 1 names"),
        ({"feature_names": ["a", "a"]}, "two features of the same name"),
        ({"X": np.array([[1.0, np.inf]] * 6)}, "has an infinite value"),
        ({"X": np.array([[1.0, 1e39]] * 6)}, "or one above 3.4e38"),
        ({"X": np.zeros((0, 2)), "y": []}, "has 0 rows and 2 features"),
        ({"X": np.zeros(6)}, "X has 1 dimensions"),
        ({"y": [0] * 6, "class_names": ["no"]}, "has the single class 'no'; a classification needs two"),
        ({"class_names": ["no", "yes", "none"]}, "codes and class names do not match"),
        ({"task": "regression", "class_names": [], "y": [0, 1, 2, 3, 4, np.nan]}, "a target that is missing"),
        ({"given_test": np.ones(6, bool)}, "its given split has an empty part"),
        ({"given_test": np.ones(5, bool)}, "has 6 rows but 5 test marks"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, words):
    with pytest.raises(UserError) as caught:
        build(**change)
    assert words in str(caught.value)


def test_missing_values_pass():
    assert summary(build(X=np.array([[1.0, np.nan]] * 6)))["missing_values"] == 6


def test_dense_tables_become_float32_and_images_stay_bytes():
    assert build(X=np.ones((6, 2), np.int64)).X.dtype == np.float32
    assert build(X=np.ones((6, 2), np.uint8)).X.dtype == np.uint8


# --- digest and file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"X": np.arange(12.0).reshape(6, 2) + 1},
        {"X": np.arange(12, dtype=np.uint8).reshape(6, 2)},
        {"X": csr_matrix(np.arange(12.0).reshape(6, 2))},
        {"y": [1, 0, 0, 1, 0, 1]},
        {"feature_names": ["a", "c"]},
        {"class_names": ["no", "maybe"]},
        {"protocol": HOLDOUT | {"test_size": 0.4}},
        {"repeat_operations": ["irrelevant"]},
        {"given_test": np.array([True, False] * 3)},
        {"seed": 1},
    ],
)
def test_the_digest_changes_with_whatever_a_model_can_see(change):
    assert build(**change).digest != build().digest


def test_the_digest_by_hand():
    """Stored cells name their data by it. Seed 0 adds nothing."""
    text = (
        '{"class_names":["no","yes"],"feature_names":["a","b"],"name":"toy","protocol":{"kind":"given","repeats":5},'
        '"repeat_operations":[],"shape":[2,2],"task":"classification"}'
    )
    content = text.encode() + b"X:<f4:(2, 2)" + np.float32([1, 2, 3, 4]).tobytes()
    content += b"y:<i8:(2,)" + np.int64([0, 1]).tobytes() + b"given_test:|b1:(2,)" + b"\0\1"
    protocol = {"kind": "given", "repeats": 5}
    dataset = build(X=[[1, 2], [3, 4]], y=[0, 1], given_test=[False, True], protocol=protocol, seed=0)
    assert dataset.digest == hashlib.sha256(content).hexdigest()


def test_the_digest_does_not_change_with_words():
    assert build(meta={"title": "Another title"}).digest == build().digest


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"X": np.ones((6, 2), np.uint8)},
        {
            "X": csr_matrix(np.eye(6, 2)),
            "given_test": np.array([True, False] * 3),
            "protocol": {"kind": "given", "repeats": 2},
        },
        {"X": np.array([[np.nan, 1.0]] * 6), "repeat_operations": ["train-0.5", "irrelevant"]},
        {"task": "regression", "class_names": [], "protocol": HOLDOUT | {"stratify": False}},
        {"seed": 3},
    ],
)
def test_a_saved_dataset_is_read_back_as_it_was(tmp_path, change):
    dataset = build(**change)
    save(dataset, tmp_path / "toy.npz")
    again = load(tmp_path / "toy.npz")
    for field in (
        "name",
        "task",
        "feature_names",
        "class_names",
        "protocol",
        "repeat_operations",
        "meta",
        "digest",
        "seed",
    ):
        assert getattr(again, field) == getattr(dataset, field)
    assert again.X.dtype == dataset.X.dtype
    dense = [d.X.toarray() if isinstance(d.X, csr_matrix) else d.X for d in (again, dataset)]
    np.testing.assert_array_equal(*dense)
    assert isinstance(again.X, type(dataset.X))
    np.testing.assert_array_equal(again.y, dataset.y)
    assert again.y.dtype == dataset.y.dtype
    np.testing.assert_array_equal(again.given_test, dataset.given_test)


def test_equal_content_gives_equal_bytes_at_any_time(tmp_path, monkeypatch):
    path = tmp_path / "toy.npz"
    save(build(), path)
    before = path.read_bytes()
    monkeypatch.setattr("time.localtime", lambda *_: (2001, 2, 3, 4, 5, 6, 0, 0, 0))
    save(build(), path)
    assert path.read_bytes() == before
    with zipfile.ZipFile(path) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_numpy_reads_the_file_too(tmp_path):
    save(build(), tmp_path / "toy.npz")
    with np.load(tmp_path / "toy.npz") as arrays:
        np.testing.assert_array_equal(arrays["y"], build().y)


def test_sparse_tables_that_are_equal_have_equal_digests():
    """Unsorted indices and stored zeros are another spelling of one table."""
    tidy = csr_matrix(([1.0, 2.0], ([0, 0], [0, 1])), shape=(6, 2))
    untidy = csr_matrix((np.array([2.0, 1.0, 0.0]), np.array([1, 0, 1]), np.array([0, 2, 3, 3, 3, 3, 3])), shape=(6, 2))
    assert build(X=tidy).digest == build(X=untidy).digest


def test_the_summary_counts_what_a_table_shows():
    y = [0] * 6 + [1] * 4
    protocol = {"kind": "given", "repeats": 5}
    dataset = build(
        X=np.ones((10, 2)),
        y=y,
        given_test=np.arange(10) > 6,
        protocol=protocol,
        meta={"title": "Toy", "raw_features": 1},
    )
    facts = summary(dataset)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["class_counts"] == {"no": 6, "yes": 4}
    assert (facts["rows"], facts["features"], facts["raw_features"], facts["classes"]) == (10, 2, 1, 2)
    assert (facts["n_train"], facts["n_validation"], facts["n_test"]) == (7, 0, 3)
    assert facts["published_as"] == "toy"


# --- from the file to the data set ----------------------------------------------------------------------------------


def test_bring_your_own_csv(repository):
    (repository / "mine.csv").write_text(CSV)
    prepared = prepare(MINE, root=repository)
    assert prepared.feature_names == ("colour=blue", "colour=red", "size")
    assert prepared.class_names == ("no", "yes")
    assert prepared.split(0).y_test.size == 12
    assert [entry["file"] for entry in prepared.meta["files"]] == ["mine.csv"]


def test_one_class_in_the_target_is_told(repository):
    (repository / "mine.csv").write_text("colour,size,label\nred,1,yes\nblue,2,yes\n")
    with pytest.raises(UserError, match="'mine' has the single class 'yes'"):
        prepare(MINE, root=repository)


def test_broken_promises_are_all_named(repository):
    (repository / "mine.csv").write_text(CSV)
    promised = MINE | {"expected": {"rows": 41, "features": 3, "train": 27, "class_counts": {"no": 20, "yes": 20}}}
    with pytest.raises(UserError) as caught:
        prepare(promised, root=repository)
    assert str(caught.value).startswith(
        "config/datasets/mine.yaml: expected.rows is 41, but the data have 40; "
        "expected.train is 27, but the data have 28. The files"
    )


def test_unknown_generators_and_options_are_told():
    broken = DATASETS["sincos"] | {"generator": "sincoz"}
    with pytest.raises(ConfigError, match=r"sincos\.yaml: generator is 'sincoz'; choose one of .*sincos"):
        prepare(broken)
    broken = DATASETS["sincos"] | {"options": {"n_rows": 3}}
    with pytest.raises(ConfigError, match=r"options \{'n_rows': 3\} do not fit sincos: .*n_rows"):
        prepare(broken)
    broken = DATASETS["iris2"] | {"options": {"columns": [1, 4]}}
    with pytest.raises(ConfigError, match=r"options\.columns is \[1, 4\]; give numbers from 0 to 3"):
        prepare(broken)


@pytest.fixture
def open_dataset(repository, write_dataset, monkeypatch):
    """An open data set of six rows on a mirror, with a parser of its own."""
    from cascadeforest.data import parsers

    def parser(files, broken=False):
        if broken:
            raise ValueError("row 3 is short")
        rows = np.loadtxt(files["far.csv"], delimiter=",")
        return Parsed(rows[:, :1], rows[:, 1], ["a"], given_test=np.arange(6) > 3, raw_features=1, note="Parsed.")

    monkeypatch.setattr(parsers, "PARSERS", {"far": parser})
    mirror = repository / "mirror"
    mirror.mkdir()
    (mirror / "far.csv").write_text("1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n")
    monkeypatch.setenv("CASCADEFOREST_MIRROR", str(mirror))
    dataset = {
        "name": "far",
        "title": "Far",
        "task": "classification",
        "access": "open",
        "forms": {"mirror": {"files": [{"file": "far.csv", "mirror": "far.csv", "sha256": None}], "parser": "far"}},
        "note": "Of the file.",
        "protocol": {"kind": "given", "repeats": 5},
        "licence": "CC0",
        "citation": "Nobody (1900)",
    }
    write_dataset(dataset)
    return dataset


def commands(repository: Path, *words: str) -> int:
    return main([words[0], "--config", str(repository / "config"), *words[1:]])


def test_fetch_prepare_and_vary_from_the_command_line(repository, open_dataset, capsys):
    raw, processed = repository / "data" / "raw", repository / "data" / "processed"
    assert commands(repository, "fetch", "--dataset", "far", "--raw", str(raw)) == 0
    output = processed / "far.npz"
    assert commands(repository, "prepare", "--dataset", "far", "--raw", str(raw), "--output", str(output)) == 0
    variant = processed / "far+irrelevant.npz"
    assert (
        commands(repository, "vary", "--input", str(output), "--operation", "irrelevant", "--output", str(variant)) == 0
    )
    assert sorted(path.name for path in processed.iterdir()) == [
        "far+irrelevant.json",
        "far+irrelevant.npz",
        "far.json",
        "far.npz",
    ]
    facts = json.loads((processed / "far+irrelevant.json").read_text())
    assert (facts["name"], facts["features"], facts["n_test"]) == ("far+irrelevant", 2, 2)
    assert facts["note"].startswith("Of the file. Parsed. Digest not verified: far.csv. A permuted copy")
    assert "no checksum is published" in capsys.readouterr().out


def test_prepared_bytes_do_not_depend_on_where_the_files_came_from(repository, open_dataset):
    outputs = []
    for place in ("one", "two"):
        commands(repository, "fetch", "--dataset", "far", "--raw", str(repository / place))
        output = repository / f"{place}_processed" / "far.npz"
        commands(repository, "prepare", "--dataset", "far", "--raw", str(repository / place), "--output", str(output))
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]


def test_a_parser_that_fails_is_reported_with_its_files(repository, open_dataset):
    from cascadeforest.data.sources import fetch

    open_dataset["forms"]["mirror"]["options"] = {"broken": True}
    fetch(open_dataset, repository / "raw")
    with pytest.raises(UserError, match=r"the parser 'far' cannot read .*far\.csv \(ValueError: row 3 is short\)"):
        prepare(open_dataset, raw=repository / "raw")


def test_an_error_is_one_line_and_status_2_and_leaves_nothing(repository, open_dataset, capsys, monkeypatch):
    output = repository / "data" / "processed" / "far.npz"
    for words in (
        ("fetch", "--dataset", "fra"),
        ("prepare", "--dataset", "far", "--raw", str(repository / "raw"), "--output", str(output)),
        ("prepare", "--dataset", "far", "--raw", str(repository / "raw"), "--output", str(output.with_suffix(".csv"))),
        ("vary", "--input", str(output), "--operation", "rows-3", "--output", str(output)),
    ):
        assert commands(repository, *words) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert error.count("\n") == 1
    monkeypatch.delenv("CASCADEFOREST_MIRROR")
    assert commands(repository, "fetch", "--dataset", "far", "--raw", str(repository / "raw")) == 2
    assert not output.parent.exists()
    assert not (repository / "raw" / "far").exists()


def test_a_split_that_is_impossible_leaves_no_file(repository, write_dataset, capsys):
    (repository / "mine.csv").write_text("colour,size,label\nred,1,yes\nblue,2,no\nred,3,yes\n")
    write_dataset(MINE)
    output = repository / "mine.npz"
    assert commands(repository, "prepare", "--dataset", "mine", "--output", str(output)) == 2
    assert "'no' (1) of too few rows" in capsys.readouterr().err
    assert not output.exists()


def test_nothing_is_fetched_for_data_that_are_there(repository, write_dataset, capsys):
    write_dataset(MINE)
    assert commands(repository, "fetch", "--dataset", "mine", "--raw", str(repository / "raw")) == 0
    assert "local data, nothing to fetch" in capsys.readouterr().out
    assert not (repository / "raw").exists()


def test_list_says_what_there_is_and_what_is_missing(repository, open_dataset, write_dataset, capsys, monkeypatch):
    write_dataset(MINE)
    assert commands(repository, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["name", "task", "rows", "access"]
    assert [line.split()[:5] for line in lines[1:]] == [
        ["far", "classification", "?", "open", "yes"],
        ["mine", "classification", "?", "local", "-"],
    ]
    assert lines[2].endswith("file not there: put the file at mine.csv")
    monkeypatch.delenv("CASCADEFOREST_MIRROR")
    commands(repository, "list")
    assert "set CASCADEFOREST_MIRROR" in capsys.readouterr().out
