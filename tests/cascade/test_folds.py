"""Folds for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.forest.seeds import seed_at

examples = settings(deadline=None, derandomize=True, max_examples=200)
#: False alarms of a statistical test.
ALARM = 1e-6


@examples
@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(2, 9), st.integers(0, 2**32))
def test_folds_and_strata_are_even(strata, n_folds, seed):
    strata = np.array(strata)
    fold = stratified_folds(strata, n_folds, np.random.SeedSequence(seed))
    n_used = min(n_folds, len(strata))
    assert set(fold.tolist()) == set(range(n_used))  # each row has one, none is empty
    assert np.ptp(np.bincount(fold, minlength=n_used)) <= 1
    for c in np.unique(strata):
        assert np.ptp(np.bincount(fold[strata == c], minlength=n_used)) <= 1


def test_folds_by_hand():
    """Three rows of one class and three of another, three folds: one of each in each."""
    strata = np.array([5, 9, 5, 9, 9, 5])
    fold = stratified_folds(strata, 3, np.random.SeedSequence(0))
    assert sorted(zip(fold.tolist(), strata.tolist(), strict=True)) == [(0, 5), (0, 9), (1, 5), (1, 9), (2, 5), (2, 9)]


def test_fewer_rows_than_folds_are_alone():
    assert sorted(stratified_folds(np.array([1, 0, 1]), 10, np.random.SeedSequence(0))) == [0, 1, 2]


def test_folds_depend_on_the_seed_only():
    strata = np.tile([0, 1, 2], 10)
    one, same, other = (stratified_folds(strata, 3, np.random.SeedSequence(seed)) for seed in (0, 0, 1))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


@pytest.mark.parametrize("strata", [np.zeros(9, int), np.array([0, 1, 1, 1, 1, 0, 2, 2, 0])])
def test_who_is_with_whom_is_chance(strata):
    """3,000 divisions of nine rows. Rows of a stratum of 3 are never together; others are as often as chance has it."""
    folds = np.array([stratified_folds(strata, 3, seed_at(0, i)) for i in range(3000)])
    for row in range(9):  # all rows of a stratum share its folds, of which one may hold more of it than the others
        shares = np.bincount(folds[0][strata == strata[row]], minlength=3) / np.count_nonzero(strata == strata[row])
        drawn = np.bincount(folds[:, row], minlength=3)
        assert stats.chisquare(drawn[shares > 0], 3000 * shares[shares > 0]).pvalue > ALARM / 9
        assert not drawn[shares == 0].any()
    together = np.count_nonzero(folds[:, 1] == folds[:, 2])
    chance = 2 / 8 if not strata.any() else 1 / 6  # four rows over three folds: one of their six pairs is together
    assert stats.binomtest(together, 3000, chance).pvalue > ALARM
    if strata.any():
        assert not (folds[:, 0] == folds[:, 5]).any()
