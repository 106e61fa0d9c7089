"""Each parser on a small file in the official format, with the options of the data set file in config/datasets."""

import bz2
import gzip
import inspect
import io
import lzma
import math
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import issparse

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers import PARSERS, imdb, libsvm, table
from cascadeforest.data.parsers.archives import open_binary, read_tar
from cascadeforest.data.parsers.tables import read_frame
from cascadeforest.data.registry import load_dataset_files

CONFIG = Path(__file__).parents[2] / "config"
DATASETS = load_dataset_files(CONFIG / "datasets")
FORMS = [(name, form) for name, dataset in DATASETS.items() for form in dataset.get("forms", {})]


def parse(name: str, folder: Path, contents: dict[str, bytes], form: str = "official", **changed) -> Parsed:
    """Write `contents` under the file names of a form of config/datasets/<name>.yaml, and parse them as it says."""
    described = DATASETS[name]["forms"][form]
    assert set(contents) == {file["file"] for file in described["files"]}
    return PARSERS[described["parser"]](write(folder, contents), **(described.get("options", {}) | changed))


def write(folder: Path, contents: dict[str, bytes]) -> dict[str, Path]:
    """Write files and return them as a parser gets them."""
    for file, data in contents.items():
        (folder / file).write_bytes(data)
    return {file: folder / file for file in contents}


def text(*lines: str, end: str = "\n") -> bytes:
    """A text file."""
    return "".join(line + end for line in lines).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def columns_of(parsed: Parsed) -> dict[str, list[float]]:
    """Values by feature name."""
    return {name: parsed.X[:, position].tolist() for position, name in enumerate(parsed.feature_names)}


# --- the data set files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_form_names_a_parser_and_options_that_fit(name, form):
    described = DATASETS[name]["forms"][form]
    files = {file["file"]: Path(file["file"]) for file in described["files"]}
    inspect.signature(PARSERS[described["parser"]]).bind(files, **described.get("options", {}))


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_file_that_the_options_name_is_a_file_of_the_form(name, form):
    described = DATASETS[name]["forms"][form]
    files = {file["file"] for file in described["files"]}
    options = described.get("options", {})
    addresses = [options[key] for key in ("train", "test", "archive", "days", "songs", "table") if key in options]
    addresses += options.get("subjects", [])
    assert {address.partition("::")[0] for address in addresses} <= files


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset["access"] == "open"])
def test_an_official_form_has_an_address_for_every_file_and_a_subset_has_none(name):
    dataset = DATASETS[name]
    if "official" in dataset["forms"]:
        assert all(file.get("url") for file in dataset["forms"]["official"]["files"])
    else:
        assert dataset["subset_of"] in DATASETS


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if "forms" in dataset])
def test_a_file_without_a_published_checksum_is_mentioned_in_the_note(name):
    dataset = DATASETS[name]
    files = [file for form in dataset["forms"].values() for file in form["files"]]
    unchecked = any(file.get("sha256") is None and "md5" not in file for file in files)
    assert ("checksum" in dataset.get("note", "")) == unchecked


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if "forms" in dataset])
def test_expected_numbers_agree_with_each_other(name):
    expected = DATASETS[name]["expected"]
    if counts := expected.get("class_counts"):
        assert sum(counts.values()) == expected["rows"]
        assert len(counts) == expected["classes"]
    if DATASETS[name]["protocol"]["kind"] == "given":
        assert expected["train"] + expected["test"] == expected["rows"]


# --- archives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_compressed_file_opens_decompressed(tmp_path, suffix, compress):
    files = write(tmp_path, {f"file{suffix}": compress(b"1,2\n")})
    with open_binary(files, f"file{suffix}") as stream:
        assert stream.read() == b"1,2\n"


def test_a_member_is_found_by_the_end_of_its_path_and_not_by_the_end_of_its_name(tmp_path):
    members = {"folder/a-b.csv": b"other", "folder/b.csv": b"right", "__MACOSX/folder/b.csv": b"shadow"}
    files = write(tmp_path, {"archive.zip": zipped(members)})
    with open_binary(files, "archive.zip::b.csv") as stream:
        assert stream.read() == b"right"


@pytest.mark.parametrize("members", [{"a.csv": b""}, {"x/b.csv": b"", "y/b.csv": b""}])
def test_a_member_that_is_missing_or_ambiguous_is_refused(tmp_path, members):
    files = write(tmp_path, {"archive.zip": zipped(members)})
    with pytest.raises(UserError, match=r"members are called 'b\.csv'"), open_binary(files, "archive.zip::b.csv"):
        pass


def test_a_file_that_the_form_does_not_list_is_a_fault_of_the_options(tmp_path):
    files = write(tmp_path, {"a.csv": b""})
    with pytest.raises(ConfigError, match=r"'b\.csv'.*lists only a\.csv"), open_binary(files, "b.csv"):
        pass


@pytest.mark.parametrize(
    ("address", "data"),
    [("a.zip::b", b"no zip"), ("a.gz", b"no gzip"), ("a.gz", gzip.compress(b"cut" * 99)[:-9]), ("a.xz", b"no xz")],
    # Without these names the bytes would be in them, with the time of day that gzip writes.
    ids=["no zip", "no gzip", "cut gzip", "no xz"],
)
def test_a_broken_archive_is_named(tmp_path, address, data):
    name = address.partition("::")[0]
    files = write(tmp_path, {name: data})
    with pytest.raises(UserError, match=f"{name}: the archive is broken"), open_binary(files, address) as stream:
        stream.read()


def test_a_broken_tar_is_named(tmp_path):
    files = write(tmp_path, {"a.tar.gz": b"no tar"})
    with pytest.raises(UserError, match=r"a\.tar\.gz: the archive is broken"):
        imdb(files, archive="a.tar.gz")


# --- table ----------------------------------------------------------------------------------------------------------


def test_levels_of_training_and_test_part_together_make_the_one_hot_features(tmp_path):
    files = write(tmp_path, {"train": text("a,1,x", "b,2,y"), "test": text("c,3,x")})
    parsed = table(
        files, train="train", test="test", columns=["kind", "size", "label"], target="label", categorical=["kind"]
    )
    assert columns_of(parsed) == {"kind=a": [1, 0, 0], "kind=b": [0, 1, 0], "kind=c": [0, 0, 1], "size": [1, 2, 3]}
    assert parsed.given_test.tolist() == [False, False, True]
    assert parsed.y.tolist() == ["x", "y", "x"]
    assert parsed.raw_features == 2
    assert parsed.X.dtype == np.float32


def test_an_ignored_level_and_a_missing_category_are_zero_in_every_dummy(tmp_path):
    files = write(tmp_path, {"t": text("kind,label", "a,0", "unknown,0", ",1", "b,1")})
    parsed = table(
        files, train="t", header=0, target="label", categorical=["kind"], ignored_levels=["unknown"], missing=[""]
    )
    assert columns_of(parsed) == {"kind=a": [1, 0, 0, 0], "kind=b": [0, 0, 0, 1]}


def test_whole_number_categories_are_named_without_a_decimal_point_even_beside_a_missing_one(tmp_path):
    files = write(tmp_path, {"t": text("kind,label", "2,0", "?,0", "10,1")})
    parsed = table(files, train="t", header=0, target="label", categorical=["kind"], missing=["?"])
    assert columns_of(parsed) == {"kind=2": [1, 0, 0], "kind=10": [0, 0, 1]}


def test_ids_are_no_raw_features_but_dropped_columns_are(tmp_path):
    files = write(tmp_path, {"t": text("id,leak,size,label", "7,1,5,0", "8,2,6,1")})
    parsed = table(files, train="t", header=0, target="label", ids=["id"], drop=["leak"])
    assert columns_of(parsed) == {"size": [5, 6]}
    assert parsed.raw_features == 2


def test_a_missing_number_is_nan_or_filled(tmp_path):
    files = write(tmp_path, {"t": text("?,1,0", "4,?,1")})
    kept = table(files, train="t", target=-1, missing=["?"])
    assert columns_of(kept)["x1"] == pytest.approx([math.nan, 4], nan_ok=True)
    assert np.isnan(kept.X).sum() == 2
    filled = table(files, train="t", target=-1, missing=["?"], fill=0)
    assert columns_of(filled) == {"x1": [0, 4], "x2": [1, 0]}


def test_nothing_is_missing_that_is_not_listed(tmp_path):
    files = write(tmp_path, {"t": text("kind,label", "NA,no", "None,yes")})
    parsed = table(files, train="t", header=0, target="label", categorical=["kind"])
    assert parsed.feature_names == ("kind=NA", "kind=None")


def test_the_first_rows_of_one_file_are_the_training_part(tmp_path):
    files = write(tmp_path, {"t": text("1,0", "2,1", "3,0")})
    assert table(files, train="t", target=-1, train_rows=2).given_test.tolist() == [False, False, True]


def test_text_columns_are_found_when_categorical_is_auto(tmp_path):
    files = write(tmp_path, {"t": text("sex,age,label", "f,50,0", "m,,1")})
    parsed = table(files, train="t", header=0, target="label", categorical="auto", missing=[""])
    assert parsed.feature_names == ("sex=f", "sex=m", "age")


def test_positions_count_the_columns_of_the_file_whatever_is_dropped(tmp_path):
    files = write(tmp_path, {"t": text("9,7,0,1", "9,8,1,2")})
    parsed = table(files, train="t", target=2, ids=[0], categorical=[1])
    assert columns_of(parsed) == {"x1=7": [1, 0], "x1=8": [0, 1], "x2": [1, 2]}


def test_codes_replace_text_by_numbers(tmp_path):
    files = write(tmp_path, {"t": text("M,1", "I,2")})
    arguments = {"train": "t", "columns": ["sex", "rings"], "target": "rings"}
    assert columns_of(table(files, codes={"sex": {"M": 1, "I": 3}}, **arguments)) == {"sex": [1, 3]}
    with pytest.raises(UserError, match="'I' has no code"):
        table(files, codes={"sex": {"M": 1}}, **arguments)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (text("1,a,0", "2,3,1"), {"target": -1}, r"column 'x2' should hold numbers, but row 0 holds 'a'"),
        (text("a,b", "1,2"), {"header": 0, "target": "c"}, r"no column 'c'; its 2 columns are a, b"),
        (text("1,2", "3,4"), {"target": 2}, r"no column 2"),
        (text("1,2", "3,4"), {"columns": ["a", "b", "c"], "target": "c"}, r"2 cells, but 3 columns are named"),
        (text("a,b", "1,?"), {"header": 0, "target": "b", "missing": ["?"]}, r"row 0 has no value in the target"),
        (text("a,b", "1,2,3"), {"header": 0, "target": "b"}, r"not a table as its parser expects it"),
        (b"", {"target": 0}, r"not a table as its parser expects it"),
    ],
)
def test_a_table_that_does_not_fit_its_options_is_refused(tmp_path, content, options, message):
    files = write(tmp_path, {"t": content})
    with pytest.raises(UserError, match=message):
        table(files, train="t", **options)


def test_parts_with_other_columns_do_not_belong_together(tmp_path):
    files = write(tmp_path, {"train": text("1,2,0"), "test": text("1,0")})
    with pytest.raises(UserError, match="do not belong together"):
        table(files, train="train", test="test", target=-1)


# Fifty megabytes of zeros, at most a quarter of one when packed.
ZEROS = bytes(50_000_000)


def lying(archive: bytes, size: int) -> bytes:
    """A zip archive of one member whose directory gives another size than it unpacks to."""
    directory = archive.rindex(b"PK\x01\x02")
    return archive[: directory + 24] + struct.pack("<I", size) + archive[directory + 28 :]


def zip_bomb(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("b", ZEROS)
    return buffer.getvalue()


def tar_bomb() -> bytes:
    """A packed tar archive with one member of zeros."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("zeros")
        member.size = len(ZEROS)
        archive.addfile(member, io.BytesIO(ZEROS))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "member", "pack", "words"),
    [
        ("a.zip", "::b", zip_bomb, "its member b has 50,000,000 bytes"),
        ("a.zip", "::b", lambda: zip_bomb(zipfile.ZIP_BZIP2), "its member b has 50,000,000 bytes"),
        ("a.gz", "", lambda: gzip.compress(ZEROS, 1), "it unpacks to more than"),
        ("a.bz2", "", lambda: bz2.compress(ZEROS, 1), "it unpacks to more than"),
        ("a.xz", "", lambda: lzma.compress(ZEROS, preset=0), "it unpacks to more than"),
    ],
    ids=["zip", "zip with bzip2", "gz", "bz2", "xz"],
)
def test_an_archive_that_would_fill_the_memory_is_not_unpacked(tmp_path, name, member, pack, words):
    files = write(tmp_path, {name: pack()})
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=rf"{name}: {words}.*, which is more than 50 times the archive"):
            read_frame(files, f"{name}{member}")
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_zip_that_lies_about_its_size_is_not_unpacked_either(tmp_path):
    files = write(tmp_path, {"a.zip": lying(zip_bomb(), 1_000)})
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"a\.zip: the archive is broken"), open_binary(files, "a.zip::b") as stream:
            stream.read()
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_zip_of_an_unusual_method_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("b", b"1,2")
    files = write(tmp_path, {"a.zip": buffer.getvalue()})
    with pytest.raises(UserError, match="another method than deflate"), open_binary(files, "a.zip::b"):
        pass


def test_a_tar_is_counted_with_the_members_that_are_skipped(tmp_path):
    files = write(tmp_path, {"a.tar.gz": tar_bomb()})
    with pytest.raises(UserError, match=r"a\.tar\.gz: it unpacks to more than 10,000,000 bytes"):
        list(read_tar(files, "a.tar.gz", "wanted".__eq__))
    with pytest.raises(UserError, match=r"a\.tar\.gz: its member zeros has 50,000,000 bytes"):
        list(read_tar(files, "a.tar.gz", "zeros".__eq__))


def test_a_sparse_member_of_a_tar_is_refused(tmp_path):
    """A GNU header of one kilobyte that stands for a gigabyte of zeros."""
    entry = tarfile.TarInfo("b")
    entry.type, entry.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % 1_000_000_000  # realsize
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    files = write(tmp_path, {"a.tar": bytes(header) + bytes(1024)})
    with pytest.raises(UserError, match=r"a\.tar: its member b has 1,000,000,000 bytes"):
        list(read_tar(files, "a.tar", "b".__eq__))


def test_small_archives_may_unpack_to_ten_megabytes(tmp_path):
    files = write(tmp_path, {"a.gz": gzip.compress(ZEROS[:10_000_000]), "b.gz": gzip.compress(ZEROS[:10_000_001])})
    with open_binary(files, "a.gz") as stream:
        assert len(stream.read()) == 10_000_000
    with pytest.raises(UserError, match="more than 10,000,000 bytes"), open_binary(files, "b.gz") as stream:
        stream.read()


# --- tables in their official form ----------------------------------------------------------------------------------


def test_letter_is_labelled_by_its_first_column_and_split_at_row_16000(tmp_path):
    rows = [f"{'AB'[row % 2]},2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,{row % 16}" for row in range(16_001)]
    parsed = parse("letter", tmp_path, {"letter-recognition.data": text(*rows)})
    assert parsed.X.shape == (16_001, 16)
    assert np.flatnonzero(parsed.given_test).tolist() == [16_000]
    assert columns_of(parsed)["yegvx"][:3] == [0, 1, 2]
    assert parsed.y[:2].tolist() == ["A", "B"]


def test_yeast_drops_the_sequence_name_and_keeps_the_class_order_of_the_papers_split(tmp_path):
    rows = text("ADT1_YEAST  0.58  0.61  0.47  0.13  0.50  0.00  0.48  0.22  MIT")
    parsed = parse("yeast", tmp_path, {"yeast.data": rows})
    assert parsed.X.tolist() == [np.float32([0.58, 0.61, 0.47, 0.13, 0.50, 0.00, 0.48, 0.22]).tolist()]
    assert parsed.raw_features == 8
    assert parsed.class_order == ["CYT", "NUC", "MIT", "ME3", "ME2", "ME1", "EXC", "VAC", "POX", "ERL"]


def test_satimage_and_pendigits_end_rows_with_the_label(tmp_path):
    row = " ".join(map(str, range(36)))
    satimage = parse("satimage", tmp_path, {"sat.trn": text(f"{row} 3"), "sat.tst": text(f"{row} 7")})
    assert (satimage.X[1].tolist(), satimage.y.tolist()) == (list(range(36)), [3, 7])
    row = ",".join(f"{value:3d}" for value in range(16))
    pendigits = parse("pendigits", tmp_path, {"pendigits.tra": text(f"{row}, 8"), "pendigits.tes": text(f"{row}, 0")})
    assert (pendigits.X[0].tolist(), pendigits.y.tolist()) == (list(range(16)), [8, 0])


def test_covertype_reads_the_compressed_table(tmp_path):
    row = ",".join(map(str, [2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279, 1, *[0] * 43, 5]))
    parsed = parse("covertype", tmp_path, {"covtype.data.gz": gzip.compress(text(row))})
    assert parsed.X.shape == (1, 54)
    assert columns_of(parsed)["Elevation"] == [2596]
    assert columns_of(parsed)["Wilderness_Area1"] == [1]
    assert parsed.y.tolist() == [5]


def test_bank_drops_duration_and_codes_unknown_as_zeros(tmp_path):
    table_text = text(
        '"age";"job";"marital";"education";"default";"housing";"loan";"contact";"month";"day_of_week";"duration";'
        '"campaign";"pdays";"previous";"poutcome";"emp.var.rate";"cons.price.idx";"cons.conf.idx";"euribor3m";'
        '"nr.employed";"y"',
        '56;"housemaid";"married";"basic.4y";"unknown";"no";"no";"telephone";"may";"mon";261;1;999;0;"nonexistent";'
        '1.1;93.994;-36.4;4.857;5191;"no"',
        '57;"unknown";"single";"basic.4y";"no";"no";"yes";"cellular";"may";"mon";149;1;999;0;"nonexistent";'
        '1.1;93.994;-36.4;4.857;5191;"yes"',
        end="\r\n",
    )
    members = {"bank-additional/bank-additional-full.csv": table_text, "bank-additional/bank-additional.csv": b"small"}
    parsed = parse("bank", tmp_path, {"bank-additional.zip": zipped(members)})
    columns = columns_of(parsed)
    assert columns["job=housemaid"] == [1, 0]
    assert columns["default=no"] == [0, 1]
    assert not [name for name in columns if "unknown" in name or "duration" in name]
    assert columns["euribor3m"] == pytest.approx([4.857, 4.857])
    assert parsed.raw_features == 20
    assert parsed.y.tolist() == ["no", "yes"]


CREDIT_HEADER = ["ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0"]
CREDIT_HEADER += [f"PAY_{month}" for month in range(2, 7)]
CREDIT_HEADER += [f"{kind}{month}" for kind in ("BILL_AMT", "PAY_AMT") for month in range(1, 7)]
CREDIT_ROWS = [
    [1, 20000, 2, 2, 1, 24, 2, 2, -1, -1, -2, -2, 3913, 3102, 689, 0, 0, 0, 0, 689, 0, 0, 0, 0, 1],
    [2, 120000, 1, 1, 2, 26, -1, 2, 0, 0, 0, 2, 2682, 1725, 2682, 3272, 3455, 3261, 0, 1000, 1000, 1000, 0, 2000, 0],
]


def biff2(rows: list[list[str | int]]) -> bytes:
    """An Excel 2 worksheet, the oldest form of .xls (no library that writes .xls is among our requirements)."""
    records = [(0x0009, struct.pack("<HH", 2, 0x10))]  # BOF: version, worksheet
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            place = struct.pack("<HH3x", row, column)
            if isinstance(cell, str):
                records.append((0x0004, place + struct.pack("<B", len(cell)) + cell.encode("ascii")))  # LABEL
            else:
                records.append((0x0003, place + struct.pack("<d", cell)))  # NUMBER
    records.append((0x000A, b""))  # EOF
    return b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in records)


def test_credit_default_is_the_same_from_the_spreadsheet_and_from_the_csv(tmp_path):
    variables = ["", *(f"X{number}" for number in range(1, 24)), "Y"]
    header = [*CREDIT_HEADER, "default payment next month"]
    sheet = parse(
        "credit_default", tmp_path, {"default of credit card clients.xls": biff2([variables, header, *CREDIT_ROWS])}
    )
    lines = [
        ",".join([*CREDIT_HEADER, "default.payment.next.month"]),
        *(",".join(map(str, row)) for row in CREDIT_ROWS),
    ]
    csv = parse("credit_default", tmp_path, {"UCI_Credit_Card.csv": text(*lines)}, form="mirror")
    assert columns_of(sheet) == columns_of(csv)
    assert sheet.y.tolist() == csv.y.tolist() == [1, 0]
    assert sheet.raw_features == csv.raw_features == 23
    assert columns_of(csv)["SEX=2"] == [1, 0]
    assert columns_of(csv)["LIMIT_BAL"] == [20000, 120000]
    assert "ID" not in csv.feature_names


def test_arrhythmia_reads_a_question_mark_as_zero_and_its_twin_as_missing(tmp_path):
    row = text(",".join(["75", "?", *["1"] * 277, "8"]))
    zero = parse("arrhythmia", tmp_path, {"arrhythmia.data": row})
    missing = parse("arrhythmia_nan", tmp_path, {"arrhythmia.data": row})
    assert zero.X[0, :3].tolist() == [75, 0, 1]
    assert np.isnan(missing.X[0]).nonzero()[0].tolist() == [1]
    assert zero.y.tolist() == missing.y.tolist() == [8]


def test_crowdsourced_reads_both_tables_out_of_the_zip(tmp_path):
    header = ",".join(["class", "max_ndvi", *(f"2015{day:04d}_N" for day in range(27))])
    train, test = (f"{label},997.904," + ",".join(["637.5"] * 27) for label in ("water", "farm"))
    members = {"training.csv": text(header, train, end="\r\n"), "testing.csv": text(header, test, end="\r\n")}
    parsed = parse("crowdsourced", tmp_path, {"Crowdsourced Mapping.zip": zipped(members)})
    assert (parsed.X.shape, parsed.y.tolist(), parsed.given_test.tolist()) == (
        (2, 28),
        ["water", "farm"],
        [False, True],
    )


def test_abalone_codes_the_sex_as_one_number(tmp_path):
    rows = [
        f"{sex},0.455,0.365,0.095,0.514,0.2245,0.101,0.15,{rings}" for sex, rings in zip("MFI", (15, 7, 9), strict=True)
    ]
    parsed = parse("abalone", tmp_path, {"abalone.data": text(*rows)})
    assert columns_of(parsed)["sex"] == [1, 2, 3]
    assert (parsed.X.shape[1], parsed.y.tolist()) == (8, [15, 7, 9])


def test_skin_and_poker_and_credit_fraud(tmp_path):
    skin = parse("skin", tmp_path, {"Skin_NonSkin.txt": text("74\t85\t123\t1", "255\t255\t255\t2", end="\r\n")})
    assert columns_of(skin) == {"blue": [74, 255], "green": [85, 255], "red": [123, 255]}
    hands = text("1,10,1,11,1,13,1,12,1,1,9", end="\r\n"), text("1,1,1,13,2,4,2,3,1,12,0", end="\n")
    poker = parse("poker", tmp_path, {"poker-hand-training-true.data": hands[0], "poker-hand-testing.data": hands[1]})
    assert (poker.y.tolist(), poker.given_test.tolist(), poker.X.shape) == ([9, 0], [False, True], (2, 10))
    header = ",".join(f'"{name}"' for name in ["Time", *(f"V{number}" for number in range(1, 29)), "Amount", "Class"])
    fraud = parse("credit_fraud", tmp_path, {"creditcard.csv": text(header, "0," + "-1.5," * 28 + '149.62,"1"')})
    assert (fraud.X.shape, fraud.y.tolist(), fraud.feature_names[-1]) == ((1, 30), [1], "Amount")


def test_usps_labels_are_whole_numbers_before_256_pixels(tmp_path):
    lines = [text(f"{digit}.0000 " + "-1.0000 " * 255 + "0.2970 ") for digit in (6, 9)]
    parsed = parse("usps", tmp_path, {"zip.train.gz": gzip.compress(lines[0]), "zip.test.gz": gzip.compress(lines[1])})
    assert parsed.X.shape == (2, 256)
    assert (parsed.X[0, 0], parsed.X[1, 255]) == (-1, pytest.approx(0.297))
    assert parsed.y.tolist() == [6, 9]


def test_chf_takes_the_users_table_whatever_its_text_columns(tmp_path):
    parsed = parse(
        "chf",
        tmp_path,
        {"chf.csv": text("gender,age,in_hospital_mortality,lactate", "F,71,0,1.5", "M,80,1,", "F,64,0,NA")},
        form="csv",
    )
    assert parsed.feature_names == ("gender=F", "gender=M", "age", "lactate")
    assert np.isnan(parsed.X[:, 3]).tolist() == [False, True, True]
    assert (parsed.y.tolist(), parsed.raw_features) == ([0, 1, 0], 3)


# --- UCI sets with a parser of their own ----------------------------------------------------------------------------

ADULT_TRAIN = text(
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, "
    "<=50K",
    "54, ?, 180211, 10th, 6, Divorced, ?, Wife, Black, Female, 0, 0, 60, ?, >50K",
)
ADULT_TEST = text(
    "|1x3 Cross validator",
    "25, Private, 226802, 11th, 7, Divorced, Sales, Wife, White, Male, 0, 0, 40, Cuba, <=50K.",
    "",
)
ADULT_NAMES = text(
    "| workclass: in a comment",
    ">50K, <=50K.",
    "",
    "age: continuous.",
    "workclass: Private, Self-emp-not-inc, State-gov.",
    "education: Bachelors, 11th, 10th.",
    "marital-status: Divorced, Never-married.",
    "occupation: Sales, Adm-clerical.",
    "relationship: Wife, Not-in-family.",
    "race: White, Black.",
    "sex: Female, Male.",
    "native-country: United-States, Cuba.",
)


def test_adult_skips_the_banner_and_strips_the_full_stop_of_test_labels(tmp_path):
    parsed = parse("adult", tmp_path, {"adult.data": ADULT_TRAIN, "adult.test": ADULT_TEST})
    assert parsed.y.tolist() == ["<=50K", ">50K", "<=50K"]
    assert parsed.given_test.tolist() == [False, False, True]
    assert parsed.raw_features == 14


def test_adult_takes_the_question_mark_as_a_level_and_leaves_numbers_as_they_are(tmp_path):
    columns = columns_of(parse("adult", tmp_path, {"adult.data": ADULT_TRAIN, "adult.test": ADULT_TEST}))
    assert columns["workclass=?"] == [0, 1, 0]
    assert columns["workclass=Private"] == [0, 0, 1]
    assert columns["race=Black"] == [0, 1, 0]
    assert columns["fnlwgt"] == [77516, 180211, 226802]
    assert "race=?" not in columns


def test_adult_integer_codes_are_positions_in_the_documentation(tmp_path):
    contents = {"adult.data": ADULT_TRAIN, "adult.test": ADULT_TEST, "adult.names": ADULT_NAMES}
    parsed = parse("adult_integer", tmp_path, contents)
    assert parsed.X[0].tolist() == [39, 3, 77516, 1, 13, 2, 2, 2, 1, 2, 2174, 0, 40, 2]
    assert parsed.X[1].tolist() == [54, 0, 180211, 3, 6, 1, 0, 1, 2, 1, 0, 0, 60, 0]


def test_adult_integer_refuses_a_value_that_the_documentation_lacks(tmp_path):
    contents = {
        "adult.data": ADULT_TRAIN,
        "adult.test": ADULT_TEST,
        "adult.names": ADULT_NAMES.replace(b", Black", b""),
    }
    with pytest.raises(UserError, match="a value of 'race'"):
        parse("adult_integer", tmp_path, contents)


def test_bike_derives_the_clear_day_and_leaves_out_the_summands_of_the_target(tmp_path):
    days = text(
        "instant,dteday,season,yr,mnth,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,casual,registered,cnt",
        "1,2011-01-01,1,0,1,0,6,0,2,0.25,0.363625,0.75,0.5,331,654,985",
        "2,2012-01-02,1,1,1,0,0,1,1,0.5,0.353739,0.25,0.125,131,670,801",
        end="\r\n",
    )
    archive = zipped({"Readme.txt": b"", "hour.csv": b"", "day.csv": days})
    parsed = parse("bike", tmp_path, {"Bike-Sharing-Dataset.zip": archive})
    assert parsed.feature_names == ("yr", "workingday", "clearday", "temp", "hum", "windspeed")
    assert parsed.X.tolist() == [[0, 0, 0, 0.25, 0.75, 0.5], [1, 1, 1, 0.5, 0.25, 0.125]]
    assert (parsed.y.tolist(), parsed.raw_features) == ([985, 801], 12)


def test_diabetes_keeps_complete_rows_whose_diagnoses_are_whole_numbers(tmp_path):
    columns = {
        **{"encounter_id": "1", "patient_nbr": "2", "race": "Asian", "gender": "Male", "weight": "?"},
        **{"admission_type_id": "6", "discharge_disposition_id": "1", "admission_source_id": "17"},
        **{"time_in_hospital": "3", "payer_code": "?", "medical_specialty": "?", "num_lab_procedures": "41"},
        **{"num_procedures": "0", "num_medications": "1", "number_outpatient": "0", "number_emergency": "0"},
        **{"number_inpatient": "0", "diag_1": "250", "diag_2": "276", "diag_3": "9", "number_diagnoses": "1"},
        **{"A1Cresult": "None", "readmitted": "NO"},
    }
    kept = [{}, {"readmitted": "<30"}, {"readmitted": ">30"}]
    dropped = [{"race": "?"}, {"gender": "Unknown/Invalid"}, {"diag_2": "V27"}, {"diag_1": "?"}, {"diag_3": "250.83"}]
    lines = [",".join((columns | change).values()) for change in [*dropped, *kept]]
    members = {"dataset_diabetes/diabetic_data.csv": text(",".join(columns), *lines, end="\r\n")}
    parsed = parse("diabetes130", tmp_path, {"dataset_diabetes.zip": zipped(members)})
    assert parsed.y.tolist() == ["NO", "readmitted", "readmitted"]
    assert parsed.class_order == ("NO", "readmitted")
    assert columns_of(parsed)["diag_1"] == [250, 250, 250]
    assert not [name for name in parsed.feature_names if "_id" in name or "weight" in name]
    assert columns_of(parsed)["A1Cresult=None"] == [1, 1, 1]
    assert parsed.raw_features == len(columns) - 3
    assert parsed.note.startswith("3 of 8 rows are kept")


def test_har_names_activities_and_numbers_repeated_features(tmp_path):
    folder, row = "UCI HAR Dataset", " ".join(["-2.5000000e-001"] * 3)
    members = {
        f"{folder}/features.txt": text("1 tBodyAcc-mean()-X", "2 bandsEnergy()-1,8", "3 bandsEnergy()-1,8"),
        f"{folder}/activity_labels.txt": text("1 WALKING", "2 LAYING"),
        f"{folder}/train/X_train.txt": text(f"  {row}", f" {row}"),
        f"{folder}/train/y_train.txt": text("2", "1"),
        f"{folder}/train/Inertial Signals/body_acc_x_train.txt": b"1",
        f"{folder}/test/X_test.txt": text(f"  {row}"),
        f"{folder}/test/y_test.txt": text("2"),
        f"__MACOSX/{folder}/._features.txt": b"",
    }
    parsed = parse("har", tmp_path, {"UCI HAR Dataset.zip": zipped(members)})
    assert parsed.X.tolist() == [[-0.25] * 3] * 3
    assert parsed.feature_names == ("1_tBodyAcc-mean()-X", "2_bandsEnergy()-1,8", "3_bandsEnergy()-1,8")
    assert (parsed.y.tolist(), parsed.class_order) == (["LAYING", "WALKING", "LAYING"], ("WALKING", "LAYING"))
    assert parsed.given_test.tolist() == [False, False, True]


def test_year_draws_the_rows_of_pandas_sample_in_their_order(tmp_path):
    import pandas as pd

    years = [1999, 2000, 2001, 1950, 2010, 1998, 2005]
    lines = [",".join([str(year), *[f"{number + 0.5}"] * 90]) for number, year in enumerate(years)]
    archive = zipped({"YearPredictionMSD.txt": text(*lines, "")})
    parsed = parse("year", tmp_path, {"YearPredictionMSD.txt.zip": archive}, rows=4)
    drawn = pd.DataFrame({"year": years}).sample(4, random_state=42)
    assert (parsed.X[:, 0] - 0.5).tolist() == drawn.index.tolist()
    assert parsed.y.tolist() == ["<2000" if year < 2000 else ">=2000" for year in drawn["year"]]
    assert (parsed.X.shape, parsed.class_order) == ((4, 90), (">=2000", "<2000"))


def test_year_refuses_to_draw_more_songs_than_there_are(tmp_path):
    archive = zipped({"YearPredictionMSD.txt": text("2001,1.0", "1999,2.0")})
    with pytest.raises(UserError, match="2 songs, 50000 are to be drawn"):
        parse("year", tmp_path, {"YearPredictionMSD.txt.zip": archive})


# --- LIBSVM ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_features"), [("protein", 357), ("sensit", 100), ("usps_libsvm", 256), ("satimage_libsvm", 36)]
)
def test_libsvm_sets_with_a_test_file(tmp_path, name, n_features):
    train, test = (file["file"] for file in DATASETS[name]["forms"]["official"]["files"])
    compress = bz2.compress if train.endswith(".bz2") else bytes
    # protein separates by two blanks, and ends lines with one
    contents = {train: compress(text("0  1:0.5  3:-1 ", f"2 {n_features}:0.25")), test: compress(text("1 2:7"))}
    parsed = parse(name, tmp_path, contents)
    assert parsed.X.shape == (3, n_features)
    assert parsed.X[0, :4].tolist() == [0.5, 0, -1, 0]
    assert (parsed.X[1, -1], parsed.X[2, 1]) == (0.25, 7)
    assert (parsed.y.tolist(), parsed.given_test.tolist()) == ([0, 2, 1], [False, False, True])


def test_libsvm_sets_of_one_file(tmp_path):
    cpusmall = parse("cpusmall", tmp_path, {"cpusmall": b"90 1:6 2:2 12:1851864\r\n88 1:1"})
    assert (cpusmall.y.tolist(), cpusmall.X.shape, cpusmall.X[0, 11]) == ([90, 88], (2, 12), 1851864)
    phishing = parse("phishing", tmp_path, {"phishing": text("0 1:0.18257 68:0.18257", "1 2:0.18257")})
    assert (phishing.y.tolist(), phishing.X.shape, phishing.given_test) == ([0, 1], (2, 68), None)


def test_a_libsvm_file_with_more_features_is_refused(tmp_path):
    with pytest.raises(UserError, match="not a LIBSVM file of 3 features"):
        libsvm(write(tmp_path, {"t": text("1 4:1")}), train="t", n_features=3)


@pytest.mark.parametrize("row", ["nan 1:1", "1 1:nan", "1 1:inf"])
def test_a_libsvm_file_with_numbers_that_are_not_finite_is_refused(tmp_path, row):
    with pytest.raises(UserError, match=r"t: .* not .*finite"):
        libsvm(write(tmp_path, {"t": text("1 1:2", row)}), train="t", n_features=3)


# --- images, signals, texts -----------------------------------------------------------------------------------------


def idx_file(array: np.ndarray) -> bytes:
    """A compressed idx file of bytes."""
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes())


def mnist_files(n_train_labels: int = 2) -> dict[str, bytes]:
    """Two training images and a test image of 28 × 28."""
    images = np.arange(3 * 784).reshape(3, 28, 28) % 251
    return {
        "train-images-idx3-ubyte.gz": idx_file(images[:2]),
        "train-labels-idx1-ubyte.gz": idx_file(np.array([5, 0, 4][:n_train_labels])),
        "t10k-images-idx3-ubyte.gz": idx_file(images[2:]),
        "t10k-labels-idx1-ubyte.gz": idx_file(np.array([7])),
    }


def test_mnist_keeps_bytes_row_by_row(tmp_path):
    parsed = parse("mnist", tmp_path, mnist_files())
    assert (parsed.X.dtype, parsed.X.shape) == (np.uint8, (3, 784))
    assert parsed.X[1, parsed.feature_names.index("pixel_2_3")] == (784 + 2 * 28 + 3) % 251
    assert (parsed.y.tolist(), parsed.given_test.tolist()) == ([5, 0, 7], [False, False, True])


def test_mnist_refuses_files_that_do_not_belong_together_or_are_cut(tmp_path):
    with pytest.raises(UserError, match=r"2 images, .* 3 labels"):
        parse("mnist", tmp_path, mnist_files(n_train_labels=3))
    cut = gzip.compress(gzip.decompress(mnist_files()["t10k-images-idx3-ubyte.gz"])[:-1])
    with pytest.raises(UserError, match="783 bytes of data, its header promises 1 x 28 x 28"):
        parse("mnist", tmp_path, mnist_files() | {"t10k-images-idx3-ubyte.gz": cut})
    with pytest.raises(UserError, match="not an idx file of bytes in 3 dimensions"):
        parse("mnist", tmp_path, mnist_files() | {"t10k-images-idx3-ubyte.gz": idx_file(np.zeros(9))})


CIFAR_NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def cifar_files() -> dict[str, bytes]:
    """One record in each batch; the record of batch k is of class k, its colour planes 10 k, 10 k + 1, 10 k + 2."""
    records = [bytes([k]) + b"".join(bytes([10 * k + plane]) * 1024 for plane in range(3)) for k in range(1, 7)]
    folder = "cifar-10-batches-bin"
    batches = {f"{folder}/data_batch_{k}.bin": records[k - 1] for k in range(1, 6)}
    names = text(*CIFAR_NAMES, "")
    # The official archive does not hold them in the order of their numbers.
    return {
        f"{folder}/data_batch_5.bin": batches[f"{folder}/data_batch_5.bin"],
        f"{folder}/batches.meta.txt": names,
        f"{folder}/test_batch.bin": records[5],
        **batches,
        f"{folder}/readme.html": b"",
    }


def test_cifar_puts_the_three_colours_of_a_pixel_together(tmp_path):
    parsed = parse("cifar10", tmp_path, {"cifar-10-binary.tar.gz": tarred(cifar_files())})
    assert (parsed.X.dtype, parsed.X.shape) == (np.uint8, (6, 3072))
    assert parsed.X[:, :4].tolist() == [[10 * k, 10 * k + 1, 10 * k + 2, 10 * k] for k in range(1, 7)]
    assert parsed.feature_names[3:6] == ("pixel_0_1_red", "pixel_0_1_green", "pixel_0_1_blue")
    assert parsed.y.tolist() == CIFAR_NAMES[1:7]
    assert parsed.class_order == tuple(CIFAR_NAMES)
    assert parsed.given_test.tolist() == [False] * 5 + [True]


def test_cifar_refuses_an_archive_without_a_batch(tmp_path):
    members = cifar_files()
    del members["cifar-10-batches-bin/test_batch.bin"]
    with pytest.raises(UserError, match=r"no member cifar-10-batches-bin/test_batch\.bin"):
        parse("cifar10", tmp_path, {"cifar-10-binary.tar.gz": tarred(members)})


SUBJECTS = ("female_1", "female_2", "female_3", "male_1", "male_2")


def semg_file(subject: int) -> bytes:
    """Two trials of ten time steps for each movement and channel; the value tells subject, movement and channel."""
    movements = ("cyl", "hook", "lat", "palm", "spher", "tip")
    buffer = io.BytesIO()
    arrays = {
        f"{movement}_ch{channel}": np.full((2, 10), 100 * subject + 10 * number + channel, dtype=float)
        for number, movement in enumerate(movements)
        for channel in (1, 2)
    }
    savemat(buffer, arrays)
    return buffer.getvalue()


def test_semg_rows_are_ordered_by_subject_movement_and_channel(tmp_path):
    members = {f"Database 1/{name}.mat": semg_file(number) for number, name in enumerate(SUBJECTS)}
    members["Database 2/male_day_1.mat"] = b""
    archive = {"sEMG_Basic_Hand_movements_upatras.zip": zipped(members)}
    parsed = parse("semg", tmp_path, archive)
    assert parsed.X.shape == (5 * 6 * 2 * 2, 10)
    assert parsed.X[:6, 0].tolist() == [1, 1, 2, 2, 11, 11]
    assert parsed.X[24:26, 9].tolist() == [101, 101]
    assert parsed.y[:5].tolist() == ["cyl", "cyl", "cyl", "cyl", "hook"]
    # the codes that gcForest gives: the rows of a stratified split depend on them
    assert parsed.class_order == ("spher", "tip", "palm", "lat", "cyl", "hook")


def test_semg_is_the_same_from_the_unpacked_files(tmp_path):
    contents = {f"{name}.mat": semg_file(number) for number, name in enumerate(SUBJECTS)}
    members = {f"Database 1/{name}": data for name, data in contents.items()}
    official = parse("semg", tmp_path, {"sEMG_Basic_Hand_movements_upatras.zip": zipped(members)})
    unpacked = parse("semg", tmp_path, contents, form="mirror")
    assert np.array_equal(official.X, unpacked.X)
    assert official.y.tolist() == unpacked.y.tolist()


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((1001, 1000), np.uint8), "'cyl_ch1' is uint8 of 1001 x 1000, not a table of numbers"),
        (np.array([["text"]], dtype=object), "'cyl_ch1' is cell of 1 x 1, not a table of numbers"),
    ],
)
def test_semg_arrays_are_bounded_before_they_are_unpacked(tmp_path, array, words):
    buffer = io.BytesIO()
    savemat(buffer, {"cyl_ch1": array}, do_compression=True)
    assert len(buffer.getvalue()) < 10_000
    contents = {f"{name}.mat": buffer.getvalue() for name in SUBJECTS}
    with pytest.raises(UserError, match=words):
        parse("semg", tmp_path, contents, form="mirror")


REVIEWS = {
    "aclImdb/train/pos/1_9.txt": b"Good, GOOD film.<br />It's fun",
    "aclImdb/train/neg/0_2.txt": b"bad film",
    "aclImdb/train/neg/10_1.txt": b"bad",
    "aclImdb/train/neg/2_1.txt": b"bad it's",
    "aclImdb/test/pos/0_10.txt": b"good film, never-seen words",
    "aclImdb/test/neg/0_1.txt": b"never never never seen",
}


def test_imdb_words_are_the_most_frequent_ones_of_the_training_reviews(tmp_path):
    parsed = parse("imdb", tmp_path, {"aclImdb_v1.tar.gz": tarred(REVIEWS)}, n_words=5)
    # counts: bad 3; film, good, it's 2 each, alphabetically; then br and fun 1 each; "never" is in test reviews only
    assert parsed.feature_names == ("bad", "film", "good", "it's", "br")


def test_imdb_weights_by_hand(tmp_path):
    parsed = parse("imdb", tmp_path, {"aclImdb_v1.tar.gz": tarred(REVIEWS)}, n_words=3)
    rare, common = 1 + math.log(4 / 1), 1 + math.log(4 / 2)  # good is in one of four training reviews, film in two
    review = np.array([0, common, 2 * rare])
    assert issparse(parsed.X)
    assert parsed.X.dtype == np.float32
    # rows: training reviews before test reviews, negative before positive, by number: 0, 2, 10; 1; 0; 0
    assert parsed.X[3].toarray()[0] == pytest.approx(review / np.linalg.norm(review))
    assert parsed.X[2].toarray()[0].tolist() == [1, 0, 0]
    assert parsed.X[4].nnz == 0
    assert parsed.y.tolist() == ["neg", "neg", "neg", "pos", "neg", "pos"]
    assert parsed.given_test.tolist() == [False] * 4 + [True] * 2


def test_imdb_is_the_same_from_the_labelled_reviews_alone_in_another_order(tmp_path):
    others = {
        "aclImdb/train/unsup/0_0.txt": b"film film film",
        "aclImdb/train/urls_pos.txt": b"",
        "aclImdb/README": b"",
    }
    official = parse("imdb", tmp_path, {"aclImdb_v1.tar.gz": tarred(others | REVIEWS)}, n_words=4)
    reversed_reviews = dict(reversed(REVIEWS.items()))
    packed = {"aclImdb_labelled.tar.xz": tarred(reversed_reviews, "w:xz")}
    labelled = parse("imdb", tmp_path, packed, form="mirror", n_words=4)
    assert (official.X != labelled.X).nnz == 0
    assert official.feature_names == labelled.feature_names
    assert official.y.tolist() == labelled.y.tolist()


def test_imdb_refuses_an_archive_without_the_reviews_or_with_too_few_words(tmp_path):
    with pytest.raises(UserError, match="0 training and 0 test reviews"):
        parse("imdb", tmp_path, {"aclImdb_v1.tar.gz": tarred({"aclImdb/README": b""})})
    with pytest.raises(UserError, match="6 different words, 5000 are asked for"):
        parse("imdb", tmp_path, {"aclImdb_v1.tar.gz": tarred(REVIEWS)})


def test_a_class_can_be_thinned(tmp_path):
    """One seed keeps the same rows, another one others. Other classes keep theirs, in the order of the file."""
    (tmp_path / "t").write_text("".join(f"{k},{'rare' if k % 2 else 'common'}\n" for k in range(40)))
    files = {"t": tmp_path / "t"}
    parsed = table(files, train="t", target=-1, thinned={"rare": 3})
    assert np.count_nonzero(parsed.y == "rare") == 3
    numbers = parsed.X[:, 0]
    assert numbers[parsed.y == "common"].tolist() == list(range(0, 40, 2))
    assert (np.diff(numbers) > 0).all()
    assert (numbers[parsed.y == "rare"] % 2 == 1).all()
    again = table(files, train="t", target=-1, thinned={"rare": 3})
    assert again.X.tolist() == parsed.X.tolist()
    assert table(files, train="t", target=-1, thinned={"rare": 3}, seed=1).X.tolist() != parsed.X.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"thinned": {"rare": 21}}, "keeps 21 rows of class 'rare', which has 20"),
        ({"thinned": {"rare": 0}}, "keeps 0 rows of class 'rare'"),
        ({"thinned": {"unknown": 1}}, "of class 'unknown', which has 0"),
        ({"thinned": {"rare": 1}, "train_rows": 30}, "one table without a given test part"),
    ],
)
def test_what_cannot_be_thinned_is_named(tmp_path, options, words):
    (tmp_path / "t").write_text("".join(f"{k},{'rare' if k % 2 else 'common'}\n" for k in range(40)))
    with pytest.raises(ConfigError, match=words):
        table({"t": tmp_path / "t"}, train="t", target=-1, **options)
