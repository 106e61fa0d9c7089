"""A user's own CSV: what is read, and what each mistake is told."""

import numpy as np
import pytest

from cascadeforest.data.errors import UserError
from cascadeforest.data.local import read_csv

CSV = "colour,size,weight,label\nred,1,0.5,yes\nblue,2,,no\n,3,?,yes\nred,4,-1e3,no\n"


@pytest.fixture
def read(tmp_path):
    """Write text (or bytes) to a CSV and read it."""

    def call(content=CSV, *, target="label", task="classification", place="config/datasets/mine.yaml", **options):
        path = tmp_path / "mine.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_csv(path, target=target, task=task, place=place, **options)

    return call


def test_categories_become_columns_and_missing_numbers_nan(read):
    parsed = read(categorical=["colour"])
    assert parsed.feature_names == ["colour=(missing)", "colour=blue", "colour=red", "size", "weight"]
    np.testing.assert_array_equal(
        parsed.X, [[0, 0, 1, 1, 0.5], [0, 1, 0, 2, np.nan], [1, 0, 0, 3, np.nan], [0, 0, 1, 4, -1000]]
    )
    assert parsed.y.tolist() == ["yes", "no", "yes", "no"]
    assert parsed.raw_features == 3


def test_columns_may_be_left_out_and_the_target_may_stand_anywhere(read):
    parsed = read("id,y,a\n7,0,1\n8,1,2\n", target="y", drop=["id"])
    assert parsed.feature_names == ["a"]
    assert parsed.y.tolist() == [0, 1]


def test_a_byte_order_mark_windows_line_ends_spaces_and_quotes_are_understood(read):
    parsed = read(b'\xef\xbb\xbfa, b ,y\r\n 1 ,"x, y",0\r\n2,z,1\r\n', target="y", categorical=["b"])
    assert parsed.feature_names == ["a", "b=x, y", "b=z"]
    assert parsed.X[:, 0].tolist() == [1, 2]


def test_blank_lines_are_no_rows(read):
    assert read("a,y\n1,0\n\n2,1\n\n", target="y").X[:, 0].tolist() == [1, 2]


def test_what_counts_as_missing_is_the_users_choice(read):
    parsed = read("a,y\n-9,0\n2,1\n", target="y", missing=["-9"])
    np.testing.assert_array_equal(parsed.X, [[np.nan], [2]])
    with pytest.raises(UserError, match="has 'NA', not a finite number"):
        read("a,y\nNA,0\n2,1\n", target="y", missing=["-9"])


def test_labels_that_are_one_number_written_twice_are_refused(read):
    """'01', '1', '1.0' and '001' once became one class in silence."""
    with pytest.raises(UserError) as caught:
        read("a,y\n1,1\n2,0\n3,1.0\n", target="y")
    assert "mine.csv, line 4: the target 'y' is '1.0', but the same number is written '1' in line 2." in str(
        caught.value
    )
    assert "Write labels of one class the same way" in str(caught.value)
    with pytest.raises(UserError, match="is '1', but the same number is written '01' in line 2"):
        read("a,y\n1,01\n2,1\n", target="y")
    assert read("a,y\n1,01\n2,02\n", target="y").y.tolist() == [1, 2]
    assert read("a,y\n1,1\n2,1.0\n", target="y", task="regression").y.tolist() == [1, 1]


def test_labels_beyond_float64_stay_apart(read):
    labels = ["9007199254740992", "9007199254740993"]
    assert read(f"a,y\n1,{labels[0]}\n2,{labels[1]}\n", target="y").y.tolist() == labels


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("20230103", "20230104"),
        ("1700000000", "1700000001.0"),
        ("-16777216", "-16777217"),
        ("1.700000000e9", "1.700000001e9"),
        ("9007199254740992", "9007199254740993"),
    ],
)
def test_whole_numbers_that_float32_merges_are_refused(read, first, second):
    content = f"when,a,y\n5,1,0\n{first},1,0\n,1,1\n{second},2,1\n"
    with pytest.raises(UserError) as caught:
        read(content, target="y")
    message = str(caught.value)
    assert f"mine.csv, lines 3 and 5: the column 'when' has '{first}' and '{second}', which are one number" in message
    assert "In config/datasets/mine.yaml, add 'when' to drop or to categorical, or rescale it" in message
    assert read(content, target="y", drop=["when"]).feature_names == ["a"]
    assert read(content, target="y", categorical=["when"]).X.shape == (4, 5)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0.123456789", "0.123456788"),
        ("20230101.25", "20230101.5"),
        ("16777215", "16777214"),
        ("20230101", "20230101.0"),
        ("20230100", "20230104"),
        ("6.02214076e23", "6.02214077e23"),
    ],
)
def test_decimals_and_whole_numbers_that_float32_tells_apart_are_taken(read, first, second):
    assert read(f"a,y\n{first},0\n{second},1\n", target="y").X.shape == (2, 1)


def test_a_regression_target_is_read_as_numbers(read):
    np.testing.assert_array_equal(read("a,y\n1,0.25\n2,-3\n", target="y", task="regression").y, [0.25, -3])


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (CSV, {"target": "class"}, "mine.yaml: target names the column 'class', which "),
        (CSV, {"target": "class"}, "its columns are colour, size, weight, label."),
        (CSV, {"categorical": ["color"]}, "categorical names the column 'color'"),
        (CSV, {"drop": ["id"]}, "drop names the column 'id'"),
        (
            CSV,
            {},
            "mine.csv, line 2: the column 'colour' has 'red', not a finite number. In config/datasets/mine.yaml, add",
        ),
        ("a,y\n1,0\ninf,1\n", {"target": "y"}, "line 3: the column 'a' has 'inf', not a finite number"),
        ("a,y\n1,0\n2,\n3,\n", {"target": "y"}, "line 3: the target 'y' is missing (in 2 rows)"),
        ("a,y\n1,0\n2,x\n", {"target": "y", "task": "regression"}, "line 3: the target 'y' is 'x', not a number"),
        ("a,b,y\n,1,0\n?,1,1\n", {"target": "y"}, "every value of the column 'a' is missing. Add it to drop"),
        ("y\n1\n0\n", {"target": "y"}, "no feature is left beside the target 'y'"),
        ("", {}, "the file is empty"),
        ("a,label\n", {}, "there is no row below the header"),
        ("a,a,label\n1,2,3\n", {}, "the header row has the column a twice"),
        ("a,,label\n1,2,3\n", {}, "the header row has a column without a name"),
        ("a;label\n1;2\n", {}, "the header is one column, 'a;label'. Separate the columns by commas"),
        ("a,label\n1,2\n1,2,3\n", {}, "line 3: 3 cells, but the header has 2"),
        ("a,label\n1,2,3\n1,2,3\n", {}, "line 2: 3 cells, but the header has 2"),
        ("a,b,label\n1,2,3\n1,2\n", {}, "line 3: 2 cells, but the header has 3"),
        ('a,b,label\n"x\ny",2,3\nx,z,4\n', {"categorical": ["a"]}, "line 4: the column 'b' has 'z'"),
        ('a,label\n"1,2\n3,4\n', {}, "line 3: not a CSV (unexpected end of data). Check the quotes."),
        (b"a,label\n\xe9,1\n", {}, "not UTF-8 text. Save the CSV as UTF-8"),
    ],
)
def test_a_mistake_is_told_with_place_and_remedy(read, content, options, words):
    with pytest.raises(UserError) as caught:
        read(content, **options)
    assert words in str(caught.value)


def test_a_missing_csv_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.csv: no such file"):
        read_csv(tmp_path / "none.csv", target="y", task="classification")
