"""Eq. 3 by hand and number by number; interactions as objects, text and frames."""

import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadeforest.cascade.combination import (
    Columns,
    Condition,
    Interaction,
    Interactions,
    activated_linear_combination,
)

LARGEST = float(np.finfo(np.float64).max)


def combined(values, signs, weights, thresholds):
    return activated_linear_combination(
        np.array(values), np.array(signs), np.array(weights), np.array(thresholds)
    ).tolist()


def naive(x, signs, weights, thresholds):
    """Eq. 3 of one row; `sigma(x) = x 1[x >= 0]`."""
    total = 0.0
    for x_i, sign, w, t in zip(x, signs, weights, thresholds, strict=True):
        if math.isnan(x_i):
            return math.nan
        total += sign * w * (x_i - t)
    return total if total >= 0 else 0.0


# Eq. 3.


def test_the_papers_own_example():
    """I = {(-2, 3), (t2, t3)}: sigma(-w2 (x2 - t2) + w3 (x3 - t3)), here with t = (1, 2) and w = (0.5, 0.25)."""
    rows = [[0.0, 4.0], [1.0, 2.0], [3.0, 4.0], [3.0, 6.0], [2.0, 4.0]]
    # 0.5 + 0.5; on both thresholds; -1 + 0.5, which sigma cuts; -1 + 1; -0.5 + 0.5
    assert combined(rows, [-1, 1], [0.5, 0.25], [1.0, 2.0]) == [1.0, 0.0, 0.0, 0.0, 0.0]
    # A row may satisfy one of two conditions only and be far above 0: it is a sum, not a conjunction.
    assert combined([[3.0, 10.0]], [-1, 1], [0.5, 0.25], [1.0, 2.0]) == [1.0]


def test_a_missing_value_makes_the_new_feature_missing():
    found = combined([[math.nan, 9.0], [0.0, math.nan], [0.0, 9.0]], [-1, 1], [1.0, 1.0], [1.0, 2.0])
    assert [math.isnan(v) for v in found] == [True, True, False]
    assert found[2] == 8.0


def test_sums_that_overflow_are_the_largest_number():
    found = combined([[1e308], [-1e308], [1e30]], [1], [1.0], [-1e308])
    assert found == [LARGEST, 0.0, 1e308]
    # Both ways: nobody knows.
    found = combined([[1e308, 1e308], [0.0, 0.0]], [1, -1], [1.0, 1.0], [-1e308, -1e308])
    assert math.isnan(found[0])
    assert found[1] == 0.0


def test_units_do_not_matter():
    rows, t = np.array([[0.5, 4.0], [3.0, 1.0]]), np.array([1.0, 2.0])
    found = combined(rows, [1, -1], [0.5, 0.25], t)
    assert combined(rows * 2.0**-600, [1, -1], [0.5, 0.25], t * 2.0**-600) == [v * 2.0**-600 for v in found]


def test_single_precision_features_are_combined_in_double_precision():
    x = np.array([[16777216.0, 1.0]], np.float32)  # 2^24 + 1 is no single-precision number
    assert combined(x, [1, 1], [1.0, 1.0], [0.0, 0.0]) == [16777217.0]
    assert combined(x, [1, 1], [1.0, 1.0], [16777215.5, 0.0]) == [1.5]


def test_new_features_are_double_precision():
    found = activated_linear_combination(np.ones((3, 1)), np.array([1]), np.array([0.1]), np.array([0.0]))
    assert (found.dtype, found.shape) == (np.dtype(np.float64), (3,))
    assert activated_linear_combination(np.empty((0, 1)), np.ones(1), np.ones(1), np.ones(1)).shape == (0,)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.data(), st.integers(1, 4))
def test_eq_3_number_by_number(data, n):
    numbers = st.floats(-1e3, 1e3)
    rows = data.draw(st.lists(st.tuples(*[numbers | st.just(math.nan)] * n), min_size=1, max_size=6))
    signs = data.draw(st.tuples(*[st.sampled_from([-1, 1])] * n))
    weights = data.draw(st.tuples(*[st.floats(0, 1)] * n))
    thresholds = data.draw(st.tuples(*[numbers] * n))
    together = combined(rows, signs, weights, thresholds)
    assert together == pytest.approx([naive(x, signs, weights, thresholds) for x in rows], rel=0, abs=0, nan_ok=True)
    alone = [combined([x], signs, weights, thresholds)[0] for x in rows]
    assert np.array(alone).tobytes() == np.array(together).tobytes()  # no digit depends on the other rows


# Columns.

X = np.array([[1.0, -2.0, 0.5], [2.0, 0.0, np.nan], [3.0, 4.0, 0.0], [0.0, 5.0, -1.0]])


def condition(column, sign, threshold, name="x"):
    return Condition(column, name, sign, threshold)


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_and_interactions_of_them(form, dtype):
    columns = Columns(form(X.astype(dtype)))
    assert columns.added.shape == (4, 0)
    assert columns.added.dtype == np.float64
    first = columns.combined([condition(0, -1, 2.0), condition(1, 1, -1.0)], [1.0, 0.5])
    assert first.tolist() == [0.5, 0.5, 1.5, 5.0]  # 1 - 0.5, 0 + 0.5, -1 + 2.5, 2 + 3
    columns.append(first)
    second = columns.combined([condition(2, -1, 1.0), condition(3, 1, 0.25)], [2.0, 1.0])
    assert second[[0, 2, 3]].tolist() == [1.25, 3.25, 8.75]  # 1 + 0.25, 2 + 1.25, 4 + 4.75
    assert math.isnan(second[1])
    columns.append(second)
    third = columns.combined([condition(3, 1, 0.0), condition(4, -1, 9.0)], [1.0, 1.0])  # of interactions alone
    assert third[[0, 2, 3]].tolist() == [8.25, 7.25, 5.25]
    columns.append(third)
    assert columns.added.tobytes() == np.column_stack([first, second, third]).tobytes()
    values = columns.values([4, 0])
    assert values.dtype == np.float64
    assert np.array_equal(values, np.column_stack([second, X[:, 0]]), equal_nan=True)


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix])
def test_conditions_hold_up_to_and_above_the_threshold_and_never_where_a_value_is_missing(form):
    columns = Columns(form(X))
    assert columns.satisfied([condition(0, 1, 1.0)]).tolist() == [False, True, True, False]
    assert columns.satisfied([condition(0, -1, 1.0)]).tolist() == [True, False, False, True]
    assert columns.satisfied([condition(2, 1, -9.0)]).tolist() == [True, False, True, True]
    assert columns.satisfied([condition(2, -1, 9.0)]).tolist() == [True, False, True, True]
    both = [condition(0, 1, 0.5), condition(1, -1, 0.0)]
    assert columns.satisfied(both).tolist() == [True, True, False, False]


def test_columns_do_not_write_to_X():
    before = X.copy()
    columns = Columns(X)
    columns.combined([condition(0, 1, 1.0), condition(2, 1, 1.0)], [1.0, 1.0])
    columns.satisfied([condition(1, 1, 1.0)])
    columns.values([0])[:] = 7
    assert X.tobytes() == before.tobytes()


# Objects.

I1 = Interaction(
    name="I1",
    layer=1,
    conditions=(condition(1, -1, 2.0, "age"), condition(2, 1, 0.123456789, "x2")),
    weights=(0.5, 0.25),
    order=2,
    stability=0.75,
    support=0.125,
    class_shares=(0.2, 0.8),
    importance=0.0625,
)
I2 = replace(
    I1, name="I2", layer=2, conditions=(condition(0, 1, 1e-9, "x0"), condition(3, 1, 1e6, "I1")), order=3, support=0.5
)
BOTH = Interactions([I1, I2], ["no", "yes"])


def test_conditions_and_interactions_as_text():
    assert str(I1) == "age <= 2 and x2 > 0.123457"
    assert str(I2) == "x0 > 1e-09 and I1 > 1e+06"
    assert str(condition(0, -1, -12345.678, "a")) == "a <= -12345.7"


def test_a_table_as_text():
    lines = BOTH.to_text().split("\n")
    assert lines == [
        "I1 (layer 1, order 2, stability 0.75, importance 0.062, 12.5 % of the rows): age <= 2 and x2 > 0.123457",
        "I2 (layer 2, order 3, stability 0.75, importance 0.062, 50.0 % of the rows): x0 > 1e-09 and I1 > 1e+06",
    ]
    assert str(BOTH) == BOTH.to_text()
    assert repr(BOTH).split("\n") == ["<2 interactions>", *lines]
    assert Interactions([], ["a"]).to_text() == "no stable interactions"


def test_a_table_as_a_frame():
    frame = BOTH.to_frame()
    wanted = pd.DataFrame(
        {
            "name": ["I1", "I2"],
            "layer": [1, 2],
            "order": [2, 3],
            "stability": [0.75, 0.75],
            "importance": [0.0625, 0.0625],
            "support": [0.125, 0.5],
            "rule": [str(I1), str(I2)],
            "share of no": [0.2, 0.2],
            "share of yes": [0.8, 0.8],
        }
    )
    pd.testing.assert_frame_equal(frame, wanted)
    empty = Interactions([], ["no", "yes"]).to_frame()
    assert empty.columns.tolist() == wanted.columns.tolist()
    assert len(empty) == 0


def test_classes_of_any_type_name_columns():
    assert Interactions([I1], [0, 1]).to_frame().columns[-2:].tolist() == ["share of 0", "share of 1"]


def test_interactions_are_a_sequence():
    assert len(BOTH) == 2
    assert BOTH[0] is I1
    assert BOTH[-1] is I2
    assert list(BOTH) == [I1, I2]
    assert I2 in BOTH
    with pytest.raises(IndexError):
        BOTH[2]
    tail = BOTH[1:]
    assert isinstance(tail, Interactions)
    assert tail == Interactions([I2], ["no", "yes"])
    assert tail.to_frame()["share of yes"].tolist() == [0.8]


def test_equality():
    assert Interactions([I1, I2], ["no", "yes"]) == BOTH
    assert Interactions([I2, I1], ["no", "yes"]) != BOTH
    assert Interactions([I1, replace(I2, stability=0.5)], ["no", "yes"]) != BOTH
    assert BOTH != [I1, I2]
    with pytest.raises(TypeError):
        hash(BOTH)


def test_what_was_given_stays_apart():
    given = [I1]
    table = Interactions(given, ["no", "yes"])
    given.append(I2)
    assert len(table) == 1


def test_pickles():
    again = pickle.loads(pickle.dumps(BOTH))
    assert again == BOTH
    assert again.to_text() == BOTH.to_text()
    pd.testing.assert_frame_equal(again.to_frame(), BOTH.to_frame())


def test_interactions_cannot_be_written_to():
    with pytest.raises(FrozenInstanceError):
        I1.stability = 1.0
    with pytest.raises(FrozenInstanceError):
        I1.conditions[0].threshold = 1.0
