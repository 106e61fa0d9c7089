"""Variants: what each operation changes, what it leaves, and that no model can influence it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from cascadeforest.data.dataset import Dataset, build_dataset, summary
from cascadeforest.data.draws import stratified_subset
from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.variants import vary

HOLDOUT = {"kind": "holdout", "test_size": 0.3, "stratify": True, "seed": "per_repeat", "repeats": 10}


def toy(counts=(60, 30, 10), n_features=3, protocol=HOLDOUT, n_test=None, name="toy", dtype=np.float32) -> Dataset:
    """Classes 'a', 'b', 'c' of these sizes, mixed; every value occurs once, so that rows can be recognised."""
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    return build_dataset(
        name=name,
        task="classification",
        X=np.arange(y.size * n_features, dtype=dtype).reshape(y.size, n_features),
        y=y,
        feature_names=[f"f{k}" for k in range(n_features)],
        class_names="abc"[: len(counts)],
        given_test=None if n_test is None else np.arange(y.size) >= y.size - n_test,
        protocol=protocol,
        meta={"raw_features": n_features, "note": "Toy."},
    )


def toy_regression() -> Dataset:
    X = np.arange(300.0).reshape(100, 3)
    protocol = HOLDOUT | {"stratify": False}
    return build_dataset(
        name="line", task="regression", X=X, y=X[:, 0], feature_names=["a", "b", "c"], protocol=protocol, meta={}
    )


GIVEN = {"kind": "given", "repeats": 5}


# --- rows -----------------------------------------------------------------------------------------------------------


@given(counts=st.lists(st.integers(5, 200), min_size=1, max_size=5), share=st.floats(0.2, 1), least=st.integers(0, 2))
def test_a_stratified_subset_has_each_stratum_in_proportion(counts, share, least):
    strata = np.repeat(np.arange(len(counts)), counts)
    n = max(int(share * strata.size), least * len(counts), 1)
    kept = stratified_subset(strata, n, seed=0, least=least)
    assert kept.size == n
    assert np.all(np.diff(kept) > 0)
    for stratum, count in enumerate(counts):
        found = (strata[kept] == stratum).sum()
        assert found >= min(least, count)
        # a stratum lifted to `least` takes its rows from the others
        assert abs(found - n * count / strata.size) <= 1 + least * len(counts)


def test_largest_remainders_by_hand():
    """10 of 60 + 30 + 10: ideal 6, 3, 1. 5 of them: 3, 1.5, 0.5; the tie of remainders goes to the first."""
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    assert np.bincount(strata[stratified_subset(strata, 10, seed=0)]).tolist() == [6, 3, 1]
    assert np.bincount(strata[stratified_subset(strata, 5, seed=0)], minlength=3).tolist() == [3, 2, 0]
    assert np.bincount(strata[stratified_subset(strata, 5, seed=0, least=1)]).tolist() == [3, 1, 1]


@pytest.mark.parametrize(
    ("protocol", "n_test"),
    [
        (HOLDOUT, None),
        (GIVEN, 20),
        ({"kind": "cv", "folds": 5, "seed": 42}, None),
        (HOLDOUT | {"validation_size": 0.2}, None),
    ],
)
def test_rows_draws_training_rows_only(protocol, n_test):
    base = toy((60, 30, 30), protocol=protocol, n_test=n_test)
    small = vary(base, "rows-50")
    assert small.name == "toy+rows-50"
    for repeat in range(3):
        whole, part = base.rows(repeat), small.rows(repeat)
        np.testing.assert_array_equal(part.test, whole.test)
        np.testing.assert_array_equal(part.validation, whole.validation)
        assert part.train.size == 50
        assert set(part.train) < set(whole.train)
        ideal = 50 * np.bincount(base.y[whole.train]) / whole.train.size
        assert np.abs(np.bincount(base.y[part.train]) - ideal).max() <= 1
    assert not np.array_equal(small.rows(0).train, small.rows(1).train)


def test_more_rows_contain_the_fewer():
    few, more = (vary(toy((500, 300, 200)), f"rows-{n}").rows(0).train for n in (100, 200))
    assert set(few) < set(more)


def test_rows_leaves_two_of_each_class():
    small = vary(toy((1000, 10)), "rows-20")
    assert np.bincount(small.y[small.rows(0).train]).tolist() == [18, 2]


def test_rows_of_a_regression():
    split = vary(toy_regression(), "rows-40").split(0)
    assert split.X_train.shape == (40, 3)
    assert split.X_test.shape == (30, 3)


def test_more_rows_than_there_are_or_too_few_are_refused():
    with pytest.raises(UserError, match="has 70 training rows in repeat 0, so rows-71 is not possible; ask for"):
        vary(toy(), "rows-71")
    with pytest.raises(UserError, match="has 35 training rows in repeat 0, so rows-50 is not possible"):
        vary(vary(toy(), "train-0.5"), "rows-50")
    with pytest.raises(UserError, match=r"3 of 70 rows cannot be kept: .* 6 at the least"):
        vary(toy(), "rows-3")


# --- rest -----------------------------------------------------------------------------------------------------------


def test_rest_tests_on_the_training_rows_that_were_not_drawn():
    base = toy((600, 300, 100), protocol=GIVEN, n_test=200)
    whole, drawn, rest = (dataset.rows(1) for dataset in (base, vary(base, "train-0.1"), vary(base, "rest-0.1")))
    np.testing.assert_array_equal(rest.train, drawn.train)
    np.testing.assert_array_equal(np.sort(np.r_[rest.train, rest.test]), whole.train)
    assert vary(base, "rest-0.1").split(1).X_test.shape == (720, 3)


# --- negatives ------------------------------------------------------------------------------------------------------


def with_time(n_negative=200, n_positive=30) -> Dataset:
    """Negatives of the first part of the time, at the corners of a square; positives far from it."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(n_negative + n_positive, 3)).astype(np.float32)
    X[n_negative:] += 10
    X[:, 0] = np.r_[rng.uniform(0, 10, n_negative), rng.uniform(0, 100, n_positive)]
    return build_dataset(
        name="fraud",
        task="classification",
        X=X,
        y=np.repeat([0, 1], [n_negative, n_positive]),
        feature_names=["Time", "a", "b"],
        class_names=["no", "yes"],
        protocol=HOLDOUT | {"stratify": False},
        meta={},
    )


def test_negatives_are_made_anew_in_each_repeat_from_those_that_there_are():
    base = with_time()
    whole = vary(base, "negatives-2000")
    assert whole.X.shape == (2030, 3)
    splits = [whole.split(repeat) for repeat in (0, 0, 1)]
    np.testing.assert_array_equal(splits[0].X_train, splits[1].X_train)
    for split in splits:
        X, y = np.vstack([split.X_train, split.X_test]), np.r_[split.y_train, split.y_test]
        assert np.bincount(y).tolist() == [2000, 30]
        assert {tuple(row) for row in X[y == 1].tolist()} == {tuple(row) for row in base.X[base.y == 1].tolist()}
        made = X[y == 0]
        # Up to 0.3 of the way between corners, with noise whose standard deviation is a tenth of theirs, 0.5.
        assert -0.3 < made[:, 1:].min() < made[:, 1:].max() < 1.3
        np.testing.assert_allclose(made[:, 1:].mean(axis=0), base.X[:200, 1:].mean(axis=0), atol=0.04)
        # The way is 0.15 on average, and half of the pairs differ in a column; |noise| is 0.04 on average.
        from_corner = np.abs(made[:, 1:] - (made[:, 1:] > 0.5)).mean()
        assert 0.075 < from_corner < 0.075 + 0.04
        assert 80 < made[:, 0].max() <= base.X[:, 0].max()  # the time does not tell the classes apart
    assert not np.array_equal(np.sort(splits[0].X_train[:, 1]), np.sort(splits[2].X_train[:, 1]))


def test_fewer_negatives_than_there_are_are_refused():
    with pytest.raises(UserError, match="more rows of class 0 than the 200 that there are"):
        vary(with_time(), "negatives-100")


# --- smooth ---------------------------------------------------------------------------------------------------------


def test_smooth_filters_each_image_by_itself():
    """Against the sum over pixels by hand: reflected borders, weights of a Gaussian up to four standard deviations."""
    base = replace(toy((3, 2), n_features=36), X=np.random.default_rng(0).random((5, 36), dtype=np.float32))
    found = vary(base, "smooth-1").X.reshape(5, 6, 6)
    weights = np.exp(-(np.arange(-4, 5) ** 2) / 2)
    padded = np.pad(base.X.reshape(5, 6, 6), ((0, 0), (4, 4), (4, 4)), mode="symmetric")
    expected = np.zeros((5, 6, 6))
    for i, j in np.ndindex(9, 9):
        expected += weights[i] * weights[j] * padded[:, i : i + 6, j : j + 6] / weights.sum() ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_smooth_takes_square_images():
    with pytest.raises(UserError, match="no square images: they have 3 features"):
        vary(toy(), "smooth-1")


# --- noise ----------------------------------------------------------------------------------------------------------


def test_noise_adds_uniform_columns_behind_the_others():
    base = toy((600, 400))
    noisy = vary(base, "noise-5")
    assert noisy.X.shape == (1000, 8)
    assert noisy.feature_names[3:] == ("noise_1", "noise_2", "noise_3", "noise_4", "noise_5")
    np.testing.assert_array_equal(noisy.X[:, :3], base.X)
    noise = noisy.X[:, 3:]
    assert noise.min() >= 0
    assert noise.max() < 1
    assert np.abs(noise.mean(axis=0) - 0.5).max() < 5 * np.sqrt(1 / 12 / 1000)
    assert summary(noisy)["raw_features"] == 8


def test_noise_turns_images_into_floats():
    noisy = vary(toy(dtype=np.uint8), "noise-1")
    assert noisy.X.dtype == np.float32


# --- irrelevant -----------------------------------------------------------------------------------------------------


@given(repeat=st.integers(0, 9))
def test_each_copied_column_is_a_permutation_of_the_original_over_all_rows(repeat):
    split = vary(toy(), "irrelevant").split(repeat)
    for k in range(3):
        whole, copy = (np.concatenate([split.X_train[:, c], split.X_test[:, c]]) for c in (k, k + 3))
        np.testing.assert_array_equal(np.sort(whole), np.sort(copy))
        assert not np.array_equal(whole, copy)
    # columns are permuted apart from each other: no row of copies is a row of the table
    originals = {tuple(row) for row in toy().X.tolist()}
    assert sum(tuple(row) in originals for row in split.X_train[:, 3:].tolist()) <= 3


def test_irrelevant_keeps_the_split_and_the_stored_table():
    base, doubled = toy(), vary(toy(), "irrelevant")
    np.testing.assert_array_equal(doubled.X, base.X)
    np.testing.assert_array_equal(doubled.split(2).X_test[:, :3], base.split(2).X_test)
    assert summary(doubled)["features"] == 6
    assert doubled.split_feature_names[3:] == ("f0 (permuted)", "f1 (permuted)", "f2 (permuted)")


def test_irrelevant_is_drawn_anew_in_each_repeat():
    doubled = vary(toy(protocol=GIVEN, n_test=20), "irrelevant")
    first, again, other = (doubled.split(repeat).X_train for repeat in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:, :3], other[:, :3])
    assert not np.array_equal(first[:, 3:], other[:, 3:])


def test_irrelevant_keeps_the_type_of_images():
    assert vary(toy((20, 10), dtype=np.uint8), "irrelevant").split(0).X_train.dtype == np.uint8


# --- train ----------------------------------------------------------------------------------------------------------


def test_train_keeps_a_stratified_fraction_of_the_training_rows_only():
    base = toy((600, 300, 100))
    tenth = vary(base, "train-0.1")
    split = tenth.split(0)
    assert split.y_train.size == 70
    assert np.bincount(split.y_train).tolist() == [42, 21, 7]
    assert set(split.train_rows) <= set(base.split(0).train_rows)
    np.testing.assert_array_equal(split.test_rows, base.split(0).test_rows)
    assert summary(tenth)["n_train"] == 70


def test_train_rounds_down_as_the_papers_do():
    """interp: 749 of 7,494 pendigits rows; and 0.29 of 100 is 29, not 28, though 0.29 * 100 < 29 in binary."""
    rows = vary(toy((5000, 2994 + 100), protocol=GIVEN, n_test=600), "train-0.1").rows(0)
    assert rows.train.size == 749
    assert vary(toy((60, 60), protocol=GIVEN, n_test=20), "train-0.29").rows(0).train.size == 29


def test_train_keeps_every_class_and_changes_with_the_repeat():
    small = vary(toy((1000, 10), protocol=GIVEN, n_test=100), "train-0.05")
    assert small.split(0).y_train.max() == 1
    assert set(small.split(0).train_rows) != set(small.split(1).train_rows)


def test_train_of_a_regression():
    assert vary(toy_regression(), "train-0.5").split(0).y_train.size == 35


# --- imbalance ------------------------------------------------------------------------------------------------------


@given(ratio=st.sampled_from([0, 0.1, 0.5, 0.9, 0.99]), repeat=st.integers(0, 9))
def test_imbalance_drops_this_share_of_one_class_from_the_training_rows(ratio, repeat):
    """ddbf, section 4.3: 'reducing the number of samples with label 5 in the training set'."""
    base = toy((300, 200, 100))
    split, whole = vary(base, f"imbalance-b-{ratio}").split(repeat), base.split(repeat)
    present = np.bincount(whole.y_train)
    left = np.bincount(split.y_train)
    assert left[1] == max(1, present[1] - round(ratio * present[1]))
    assert left[[0, 2]].tolist() == present[[0, 2]].tolist()
    np.testing.assert_array_equal(split.test_rows, whole.test_rows)


def test_a_higher_ratio_drops_the_same_rows_and_more():
    """A curve over the ratio then compares nested training sets, not luck."""
    sets = [set(vary(toy(), f"imbalance-a-{ratio}").split(0).train_rows) for ratio in (0.2, 0.5, 0.8)]
    assert sets[2] < sets[1] < sets[0]


def test_imbalance_of_an_unknown_class_lists_the_classes():
    with pytest.raises(UserError, match=r"'toy' has no class '5' for imbalance-5-0\.9; its classes are a, b, c"):
        vary(toy(), "imbalance-5-0.9")
    with pytest.raises(UserError, match="none: its task is regression"):
        vary(toy_regression(), "imbalance-5-0.9")


# --- together -------------------------------------------------------------------------------------------------------


def test_operations_add_up():
    variant = vary(vary(vary(toy((600, 300, 100)), "rows-500"), "train-0.5"), "irrelevant")
    split = variant.split(0)
    assert variant.name == "toy+rows-500+train-0.5+irrelevant"
    assert split.X_train.shape == (250, 6)
    assert split.X_test.shape == (300, 6)
    assert variant.meta["note"] == (
        "Toy. 500 of 700 training rows, drawn by class in each repeat; all test rows. "
        "50 % of the training rows, drawn in each repeat. A permuted copy of each column added, drawn in each repeat."
    )


def test_a_variant_has_a_digest_of_its_own():
    base = toy()
    variants = [base, *(vary(base, operation) for operation in ("rows-50", "noise-1", "irrelevant", "train-0.5"))]
    assert len({variant.digest for variant in variants}) == 5
    assert vary(base, "rows-50").digest == vary(toy(), "rows-50").digest


@pytest.mark.parametrize("operation", ["rows-50", "noise-2", "train-0.5", "imbalance-a-0.5", "irrelevant"])
def test_another_seed_of_the_configuration_draws_a_variant_anew(operation):
    """On a given split, which is the same for all seeds, the draws of the operation are all that can differ."""
    base = toy(protocol=GIVEN, n_test=20)
    first, same, other = (vary(replace(base, seed=seed), operation).split(0).X_train for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    np.testing.assert_array_equal(vary(base, operation).split(0).X_train, first)
    assert first.shape == other.shape
    assert not np.array_equal(first, other)


def test_an_operation_out_of_order_or_twice_is_refused():
    with pytest.raises(ConfigError, match="must stand before"):
        vary(vary(toy(), "irrelevant"), "noise-5")
    with pytest.raises(ConfigError, match="'train' twice"):
        vary(vary(toy(), "train-0.5"), "train-0.5")


@pytest.mark.parametrize("operation", ["irrelevant", "noise-2"])
def test_a_sparse_table_takes_no_dense_columns(operation):
    sparse = build_dataset(
        name="words",
        task="classification",
        X=csr_matrix(np.eye(4)),
        y=[0, 1, 0, 1],
        feature_names="wxyz",
        class_names="ab",
        protocol=HOLDOUT,
    )
    with pytest.raises(UserError, match="'words' is sparse"):
        vary(sparse, operation)
