"""Categorical features: which columns they are, their levels and codes, and forests on data frames with strings."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import is_classifier

import cascadeforest
from cascadeforest._public import HOME
from cascadeforest.forest.binning import MAX_LEVELS
from cascadeforest.forest.categories import Categories

NAMES = [name for name, home in HOME.items() if home == "cascadeforest.forest.estimators"]
FORESTS = [getattr(cascadeforest, name) for name in sorted(NAMES)]
COLOURS, CITIES = ["red", "green", "blue"], np.array(["Paris", "Bonn", "Rome", "Oslo"], dtype=object)
CATEGORICAL = [True, True, False, True, False]


def table(n=200, seed=0):
    """A data frame of five columns, its codes, and a target that follows the colour and the number."""
    rng = np.random.default_rng(seed)
    colour, city, flag = rng.integers(0, 3, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    size, number = rng.integers(0, 5, n), rng.normal(size=n)
    colour[:3], city[:4] = np.arange(3), np.arange(4)  # all levels occur
    gaps = np.arange(n) % 9 == 8
    X = pd.DataFrame(
        {
            # The category "none" does not occur.
            "colour": pd.Categorical.from_codes(np.where(gaps, -1, colour + 1), categories=["none", *COLOURS]),
            "city": np.where(gaps, None, np.sort(CITIES)[city]),
            "flag": pd.array(np.where(gaps, None, flag.astype(bool)), dtype="boolean"),
            "text": pd.array(np.where(gaps, None, CITIES[city]), dtype="string"),
            "number": np.where(size == 0, np.nan, number),
        }
    )
    of_text = np.argsort(np.argsort(CITIES))[city]
    codes = np.column_stack([np.where(gaps, np.nan, part) for part in (colour, city, flag, of_text)] + [X["number"]])
    return X, codes, (colour == 1) * 1 + (number > 0)


def prediction(forest, X):
    return forest.predict_proba(X) if is_classifier(forest) else forest.predict(X)


@pytest.mark.parametrize("Forest", FORESTS)
def test_a_data_frame_gives_the_forest_of_its_codes(Forest):
    X, codes, y = table()
    new, new_codes, _ = table(seed=1)
    forest = Forest(5, random_state=0).fit(X, y)
    by_hand = Forest(5, categorical_features=CATEGORICAL, random_state=0).fit(codes, y)
    assert prediction(forest, new).tobytes() == prediction(by_hand, new_codes).tobytes()
    np.testing.assert_array_equal(forest.apply(new), by_hand.apply(new_codes))
    np.testing.assert_array_equal(forest.decision_path(new)[1], by_hand.decision_path(new_codes)[1])
    assert forest.is_categorical_.tolist() == CATEGORICAL
    assert forest.feature_names_in_.tolist() == [*X.columns]
    levels = [None if own is None else own.tolist() for own in forest.categories_]
    assert levels == [COLOURS, sorted(CITIES), None, sorted(CITIES), None]
    again = pickle.loads(pickle.dumps(forest))
    assert prediction(again, new).tobytes() == prediction(forest, new).tobytes()


@pytest.mark.parametrize(
    "chosen",
    [["colour", "city", "text"], [0, 1, 3], CATEGORICAL, np.array([3, 1, 0])],
)
def test_names_numbers_and_masks_choose_the_same_columns(chosen):
    X, codes, _ = table()
    X["colour"] = X["colour"].cat.set_categories(COLOURS)
    learned = Categories.learn(X, chosen)
    assert learned.mask.tolist() == CATEGORICAL
    assert learned.n_levels.tolist() == [3, 4, 0, 4, 0]
    np.testing.assert_array_equal(learned.encode(X).to_numpy(float, na_value=np.nan), codes)


def test_arrays_have_categorical_features_as_well():
    """Of objects, strings and numbers; levels are sorted values, and codes do not depend on the container."""
    X, codes, y = table()
    mixed = X.astype(object).to_numpy()
    learned = Categories.learn(mixed, [1, 3])
    np.testing.assert_array_equal(learned.encode(mixed)[:, [1, 3]].astype(float), codes[:, [1, 3]])
    forest = cascadeforest.RandomForestClassifier(5, random_state=0, categorical_features=[1, 3])
    frame = X[["flag", "city", "number", "text"]].astype({"flag": float})
    forest.fit(frame, y)
    expected = forest.predict_proba(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert forest.predict_proba(frame.astype(object).to_numpy()).tobytes() == expected.tobytes()
    numbers = np.array([[7, 1.5], [3, 2.5], [np.nan, 3.5], [7, 4.5]])
    learned = Categories.learn(numbers, [0])
    np.testing.assert_array_equal(learned.encode(numbers)[:, 0], [1, 0, np.nan, 1])
    assert numbers[0, 0] == 7
    words = np.array([["b", "1"], ["a", "2"]])
    np.testing.assert_array_equal(Categories.learn(words, [0]).encode(words)[:, 0], [1, 0])
    np.testing.assert_array_equal(Categories.learn(words.tolist(), [0]).encode(words.tolist())[:, 0], [1, 0])


def test_columns_of_arrow_give_the_same_codes():
    pa = pytest.importorskip("pyarrow", reason="only the workflow needs pyarrow")
    X, _, y = table()
    text, colour = pa.array(X["text"]), pa.array(X["colour"].astype(object)).dictionary_encode()
    own = {
        "colour": colour,
        "city": pa.array(X["city"]).cast(pa.large_string()),
        "flag": pa.array(X["flag"]),
        "text": text,
        "number": pa.array(X["number"], from_pandas=True),
    }
    of_arrow = pd.DataFrame({name: pd.array(part, dtype=pd.ArrowDtype(part.type)) for name, part in own.items()})
    learned = Categories.learn(of_arrow, "from_dtype")
    assert learned.mask.tolist() == [True, True, False, True, False]
    by_name = Categories.learn(X.astype({"colour": object}), "from_dtype")
    assert [None if levels is None else levels.tolist() for levels in learned.levels] == [
        None if levels is None else levels.tolist() for levels in by_name.levels
    ]
    forest = cascadeforest.RandomForestClassifier(5, random_state=0).fit(X, y)
    assert forest.predict_proba(of_arrow).tobytes() == forest.predict_proba(X).tobytes()


def test_unseen_levels_are_missing():
    X, _, y = table()
    forest = cascadeforest.RandomForestClassifier(5, random_state=0).fit(X, y)
    unseen, missing = X.copy(), X.copy()
    unseen["colour"], missing["colour"] = "pink", None
    unseen["city"], missing["city"] = 7, np.nan
    unseen["text"], missing["text"] = pd.Categorical(["Lyon"] * len(X)), pd.NA
    assert forest.predict_proba(unseen).tobytes() == forest.predict_proba(missing).tobytes()
    assert (forest.predict_proba(unseen) != forest.predict_proba(X)).any()


def test_other_categories_in_prediction_change_nothing():
    """Codes follow the levels, not the codes of pandas."""
    X, _, y = table()
    forest = cascadeforest.RandomForestClassifier(5, random_state=0).fit(X, y)
    colour = X["colour"].cat.set_categories(["blue", "black", "red", "green"])
    other = X.assign(colour=colour, city=X["city"].astype("category"))
    assert forest.predict_proba(other).tobytes() == forest.predict_proba(X).tobytes()


def test_columns_in_another_order_and_missing_columns_are_refused():
    X, _, y = table()
    forest = cascadeforest.RandomForestClassifier(2).fit(X, y)
    for wrong in (X[X.columns[::-1]], X.drop(columns="city"), X.rename(columns={"city": "town"})):
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            forest.predict(wrong)
    array = X.astype({"flag": float}).astype(object).to_numpy()
    forest = cascadeforest.RandomForestClassifier(2, categorical_features=[0, 1, 3]).fit(array, y)
    with pytest.raises(ValueError, match="X has 4 features, but RandomForestClassifier is expecting 5"):
        forest.predict(array[:, 1:])
    with pytest.raises(ValueError, match="X is sparse, but has categorical features"):
        forest.predict(scipy.sparse.csr_matrix((2, 5)))


def test_numbers_pass_through():
    """Without categories X is not copied, whatever its type; other fits are forgotten."""
    X, _, y = table()
    forest = cascadeforest.RandomForestClassifier(2).fit(X, y)
    numbers = np.random.default_rng(0).normal(size=(200, 3))
    forest.fit(numbers, y)
    assert forest.is_categorical_ is None
    assert forest.categories_ is None
    assert np.shares_memory(forest._validated(numbers, dtype=[np.float64, np.float32]), numbers)
    sparse = scipy.sparse.csr_matrix(numbers)
    assert forest._validated(sparse, accept_sparse=True) is sparse
    frame = pd.DataFrame({"a": [1, None], "b": [True, False], "c": pd.array([1, None], "Int64")}).astype({"a": object})
    assert Categories.learn(frame, "from_dtype") is None
    assert Categories.learn(numbers, None) is None
    assert Categories.learn(numbers, []) is None


@pytest.mark.parametrize(("kind", "expected"), [("f4", np.float32), ("f8", np.float64), ("i1", np.float64)])
def test_codes_have_the_precision_of_the_numbers(kind, expected):
    X = pd.DataFrame({"a": ["x", "y"], "b": np.array([1, 2], kind)})
    forest = cascadeforest.RandomForestClassifier(1).fit(X, [0, 1])
    assert forest._validated(X, dtype=[np.float64, np.float32]).dtype == expected
    assert X["a"].tolist() == ["x", "y"]


def test_what_is_learned_has_no_reference_to_the_data():
    sizes = {len(pickle.dumps(Categories.learn(table(n)[0], "from_dtype"))) for n in (100, 10_000)}
    assert len(sizes) == 1


def test_too_many_levels_and_levels_without_order_are_named():
    many = pd.DataFrame({"id": [f"{i:03}" for i in range(MAX_LEVELS + 1)], "x": 1.0})
    forest, y = cascadeforest.RandomForestClassifier(2), np.arange(MAX_LEVELS + 1) % 2
    forest.fit(many[1:], y[1:])
    with pytest.raises(ValueError, match=r"column 'id' has 255 levels, more than 254; group .*TargetEncoder"):
        forest.fit(many, y)
    with pytest.raises(ValueError, match=r"column 'id' has values of the types int, str, .*; convert them to one type"):
        forest.fit(many.assign(id=[*many["id"][1:], 3]), y)


@pytest.mark.parametrize(
    ("X", "chosen", "column"),
    [
        (pd.DataFrame({"a": [1.0, 2], "b": ["c", "d"]}), None, "'b'"),
        (pd.DataFrame({"a": ["1", "2"], "b": ["c", "d"]}), ["a"], "'b'"),
        (np.array([[1, "c"], [2, "d"]], dtype=object), "from_dtype", "1"),
        (np.array([["1", "c"], ["2", "d"]]), "from_dtype", "1"),
        (pd.DataFrame({"b": pd.Categorical(["c", "d"])}), None, "'b'"),
    ],
)
def test_strings_in_a_numeric_column_are_named(X, chosen, column):
    with pytest.raises(ValueError, match=f"The column {column} has the string 'c', but is not categorical; name"):
        cascadeforest.RandomForestClassifier(2, categorical_features=chosen).fit(X, [0, 1])


DAYS = pd.date_range("2020-01-30", periods=3)


@pytest.mark.parametrize("beside", [np.arange(3.0), ["a", "b", "a"], None], ids=["number", "level", "nothing"])
@pytest.mark.parametrize(
    ("days", "kind"),
    [
        (DAYS, r"datetime64\[\w+\]"),
        (DAYS - DAYS[0], r"timedelta64\[\w+\]"),
        (DAYS.tz_localize("UTC"), r"datetime64\[\w+, UTC\]"),
        (DAYS.to_period("D"), "Period"),
        ([None, *DAYS.date[1:]], "date"),
        ([[1], [2], [3]], "list"),
    ],
    ids=["dates", "durations", "time zone", "periods", "objects", "lists"],
)
def test_columns_that_are_no_numbers_are_named(days, kind, beside):
    """Dates beside numbers were numpy's DTypePromotionError, and alone were taken for nanoseconds."""
    X = pd.DataFrame({"day": pd.Series(days, dtype=object) if isinstance(days, list) else days, "other": beside})
    X = X if beside is not None else X[["day"]]
    forest = cascadeforest.RandomForestClassifier(2)
    with pytest.raises(TypeError, match=f"column 'day' has values of the type {kind}, which are not .*; convert them"):
        forest.fit(X, [0, 1, 0])
    forest.fit(X.assign(day=1.0), [0, 1, 0])
    with pytest.raises(TypeError, match=f"column 'day' has values of the type {kind}, which are not .*; convert them"):
        forest.predict(X)


def test_dates_are_levels_where_they_are_named():
    X = pd.DataFrame({"day": DAYS})
    forest = cascadeforest.RandomForestClassifier(2, categorical_features=["day"], random_state=0).fit(X, [0, 1, 0])
    assert forest.is_categorical_.tolist() == [True]
    with pytest.raises(TypeError, match="The array X has values of the type datetime64"):
        cascadeforest.RandomForestClassifier(2).fit(X.to_numpy(), [0, 1, 0])
    with pytest.raises(ValueError, match="column 'day' has values of the types list, which have no common order"):
        forest.fit(pd.DataFrame({"day": [[1], [2], [3]]}), [0, 1, 0])


def test_strings_in_prediction_only_are_named():
    X, _, y = table()
    forest = cascadeforest.RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="The column 'number' has the string 'many', but is not categorical"):
        forest.predict(X.assign(number="many"))
