"""Splits: disjoint, exhaustive, stratified, paired, and equal to those that the papers saw."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, train_test_split

from cascadeforest.data import splits
from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.splits import repeats_of, split_rows
from cascadeforest.data.words import protocol_text

HOLDOUT = {"kind": "holdout", "test_size": 0.3, "stratify": True, "seed": "per_repeat", "repeats": 10}
CV = {"kind": "cv", "folds": 5, "seed": 42}


def draw(protocol, y, repeat=0, dataset="toy", task="classification", **options):
    return split_rows(protocol, np.asarray(y), repeat, dataset=dataset, task=task, **options)


def classes(*counts):
    """Codes 0, 1, ... with these counts, mixed."""
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))


# --- properties -----------------------------------------------------------------------------------------------------


@given(
    counts=st.lists(st.integers(20, 60), min_size=2, max_size=4),
    size=st.floats(0.2, 0.6) | st.integers(10, 15),
    repeat=st.integers(0, 20),
    stratify=st.booleans(),
)
def test_a_holdout_is_disjoint_and_exhaustive(counts, size, repeat, stratify):
    y = classes(*counts)
    rows = draw(HOLDOUT | {"test_size": size, "stratify": stratify}, y, repeat)
    assert sorted([*rows.train, *rows.test]) == list(range(y.size))


@given(
    counts=st.lists(st.integers(20, 60), min_size=2, max_size=4), size=st.floats(0.2, 0.6), repeat=st.integers(0, 20)
)
def test_a_stratified_part_has_each_class_in_proportion(counts, size, repeat):
    y = classes(*counts)
    rows = draw(HOLDOUT | {"test_size": size}, y, repeat)
    share = rows.test.size / y.size
    for code, count in enumerate(counts):
        assert abs((y[rows.test] == code).sum() - share * count) < 1


def test_an_unstratified_holdout_ignores_the_classes():
    y, other = classes(30, 30), classes(50, 10)
    plain = HOLDOUT | {"stratify": False}
    np.testing.assert_array_equal(draw(plain, y).test, draw(plain, other).test)
    assert set(draw(HOLDOUT, y).test) != set(draw(HOLDOUT, other).test)


@given(st.lists(st.integers(10, 40), min_size=2, max_size=4), st.sampled_from(["classification", "regression"]))
def test_the_folds_of_a_cross_validation_cover_every_row_once(counts, task):
    y = classes(*counts)
    folds = [draw(CV, y, repeat, task=task) for repeat in range(repeats_of(CV))]
    assert sorted(np.concatenate([rows.test for rows in folds])) == list(range(y.size))
    assert all(sorted([*rows.train, *rows.test]) == list(range(y.size)) for rows in folds)


def test_a_validation_set_is_apart_from_both():
    """interp: 10 % to train, as many to validate, the rest to test; abalone has 417 of 4,177."""
    protocol = {"kind": "holdout", "train_size": 0.1, "validation_size": 0.1, "seed": "per_repeat", "repeats": 10}
    rows = draw(protocol, np.linspace(0, 1, 4177), task="regression")
    assert (rows.train.size, rows.validation.size, rows.test.size) == (417, 417, 3343)
    assert sorted([*rows.train, *rows.validation, *rows.test]) == list(range(4177))


def test_sizes_may_leave_rows_unused():
    protocol = {"kind": "holdout", "train_size": 10, "validation_size": 5, "test_size": 0.5, "seed": 0, "repeats": 1}
    rows = draw(protocol, classes(20, 20))
    used = [*rows.train, *rows.validation, *rows.test]
    assert (rows.train.size, rows.validation.size, rows.test.size) == (10, 5, 20)
    assert len(set(used)) == 35


# --- seeds ----------------------------------------------------------------------------------------------------------


def test_a_repeat_is_always_the_same_split_and_another_repeat_another():
    y = classes(50, 50)
    first, again, other = draw(HOLDOUT, y, 3), draw(HOLDOUT, y, 3), draw(HOLDOUT, y, 4)
    np.testing.assert_array_equal(first.test, again.test)
    assert first.seed == again.seed
    assert first.seed != other.seed
    assert set(first.test) != set(other.test)


def test_another_dataset_has_other_splits():
    y = classes(50, 50)
    assert set(draw(HOLDOUT, y, dataset="a").test) != set(draw(HOLDOUT, y, dataset="b").test)


def test_a_split_knows_no_model():
    """Comparisons between models are paired: nothing about a model can reach the draw."""
    assert set(inspect.signature(splits.split_rows).parameters) == {
        *("protocol", "y", "repeat", "dataset", "task", "given_test", "class_names", "seed")
    }


@pytest.mark.parametrize("change", [{}, {"seed": "per_split", "splits": 2}])
def test_another_seed_of_the_configuration_draws_other_splits(change):
    y = classes(50, 50)
    splits_of = [[set(draw(HOLDOUT | change, y, repeat, seed=seed).test) for repeat in (0, 9)] for seed in (0, 1)]
    assert splits_of[0] == [set(draw(HOLDOUT | change, y, repeat).test) for repeat in (0, 9)]
    assert not [split for split in splits_of[0] if split in splits_of[1]]


@pytest.mark.parametrize("protocol", [CV, HOLDOUT | {"seed": 0}])
def test_another_seed_of_the_configuration_keeps_a_published_split(protocol):
    y = classes(50, 50)
    first, other = (draw(protocol, y, 1, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.test, other.test)
    assert first.seed == other.seed == protocol["seed"]


def test_splits_shared_by_several_repeats():
    """ddbf, credit fraud: three splits, five repeats each."""
    y = classes(50, 50)
    protocol = HOLDOUT | {"seed": "per_split", "splits": 3, "repeats": 15}
    seeds = [draw(protocol, y, repeat).seed for repeat in range(15)]
    assert [seeds.index(seed) for seed in seeds] == [0] * 5 + [5] * 5 + [10] * 5
    with pytest.raises(ConfigError, match="repeats 0 to 14"):
        draw(protocol, y, 15)


def test_a_fixed_split_is_scikit_learns_and_the_same_in_each_repeat():
    """Yeast, `train_test_split(train_size=0.7, random_state=0, stratify=y)`: the split all the papers saw."""
    y = classes(463, 35, 44, 51, 163, 244, 429, 20, 30, 5)
    train, test = train_test_split(np.arange(y.size), train_size=0.7, random_state=0, stratify=y)
    for repeat in (0, 7):
        rows = draw({"kind": "holdout", "train_size": 0.7, "stratify": True, "seed": 0, "repeats": 10}, y, repeat)
        np.testing.assert_array_equal(rows.train, train)
        np.testing.assert_array_equal(rows.test, test)
    assert (train.size, test.size) == (1038, 446)


def test_a_fixed_test_fraction_is_scikit_learns():
    """Bike, `test_size=0.33, random_state=42` of 731 days: 489 and 242."""
    train, test = train_test_split(np.arange(731), test_size=0.33, random_state=42)
    rows = draw({"kind": "holdout", "test_size": 0.33, "seed": 42, "repeats": 1}, np.zeros(731), task="regression")
    np.testing.assert_array_equal(rows.train, train)
    np.testing.assert_array_equal(rows.test, test)
    assert (rows.train.size, rows.test.size) == (489, 242)


def test_the_folds_are_those_of_the_released_hidf_code():
    y = classes(60, 40, 20)
    for repeat, (train, test) in enumerate(
        StratifiedKFold(5, shuffle=True, random_state=42).split(np.zeros((120, 1)), y)
    ):
        rows = draw(CV, y, repeat)
        np.testing.assert_array_equal(rows.train, train)
        np.testing.assert_array_equal(rows.test, test)


def test_a_given_split_is_taken_as_it_is():
    marks = np.array([False, True, False, True])
    rows = draw({"kind": "given", "repeats": 5}, [0, 1, 1, 0], 4, given_test=marks)
    assert rows.train.tolist() == [0, 2]
    assert rows.test.tolist() == [1, 3]
    assert rows.seed is None


# --- what cannot be split -------------------------------------------------------------------------------------------


def test_a_class_too_small_to_be_stratified_is_named():
    with pytest.raises(UserError) as caught:
        draw(HOLDOUT, [0] * 20 + [1] * 20 + [2], class_names=("no", "yes", "maybe"))
    assert str(caught.value).startswith(
        "'toy' cannot be split by class: 'maybe' (1) of too few rows, each class needs 2."
    )
    assert "set stratify: false in config/datasets/toy.yaml" in str(caught.value)
    with pytest.raises(UserError, match=r"'maybe' \(1\)"):
        draw(CV, [0] * 20 + [1] * 20 + [2], class_names=("no", "yes", "maybe"))


def test_a_class_of_two_rows_is_not_enough_for_three_parts():
    with pytest.raises(UserError, match=r"'1' \(2\) of too few rows, each class needs 3"):
        draw(HOLDOUT | {"validation_size": 0.2}, [0] * 20 + [1] * 2)


def test_a_part_too_small_for_all_classes_is_told():
    with pytest.raises(UserError, match="a part of 2 rows cannot hold all 3 classes"):
        draw(HOLDOUT | {"test_size": 2}, classes(10, 10, 10))


def test_a_class_smaller_than_the_number_of_folds_is_allowed_as_published():
    """Arrhythmia has classes of 2 and 3 rows under 5 folds; scikit-learn only warns, and warnings are errors here."""
    rows = draw(CV, [0] * 20 + [1] * 2)
    assert rows.test.size == 5


def test_more_folds_than_any_class_has_rows_are_refused():
    with pytest.raises(UserError, match="no class has as many rows as there are folds"):
        draw(CV, classes(4, 4, 4))


@pytest.mark.parametrize(
    ("protocol", "repeat", "words"),
    [
        (CV, 5, "has repeats 0 to 4"),
        (CV, -1, "counted from 0"),
        (HOLDOUT | {"test_size": 100}, 0, "ask for -60 training, 0 validation and 100 test rows, but there are 40"),
        (HOLDOUT | {"test_size": 0.99}, 0, "ask for 0 training"),
        ({"kind": "given", "repeats": 1}, 0, "its files give no test rows; choose cv or holdout"),
    ],
)
def test_a_protocol_that_does_not_fit_says_so(protocol, repeat, words):
    with pytest.raises(ConfigError) as caught:
        draw(protocol, classes(20, 20), repeat)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        (HOLDOUT, "30 % test, rest training, stratified, drawn anew in each of 10 repeats"),
        (
            HOLDOUT | {"seed": 3, "stratify": False},
            "30 % test, rest training, not stratified, one split (seed 3), 10 model seeds",
        ),
        (
            {
                "kind": "holdout",
                "train_size": 829,
                "validation_size": 829,
                "test_size": 2764,
                "seed": "per_repeat",
                "repeats": 2,
            },
            "829 rows training, 829 rows validation, 2,764 rows test, rest unused, not stratified, "
            "drawn anew in each of 2 repeats",
        ),
        ({"kind": "given", "repeats": 5}, "given training and test set, 5 model seeds"),
    ],
)
def test_a_protocol_in_words(protocol, text):
    assert protocol_text(protocol) == text


def test_a_regression_has_no_strata_in_words():
    assert protocol_text(CV, "regression") == "5-fold cross-validation, seed 42"
