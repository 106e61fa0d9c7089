"""Calibration: worked examples of Eqs. 23 to 26 of the interpretation paper, properties, and what is left open."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cascadeforest.explanations import calibrate

from .naive import calibrated

RULES = ("partial", "additive", "multiplicative")
#: Numbers whose sums are exact: nothing here depends on rounding.
EIGHTHS = st.integers(-16, 16).map(lambda n: n / 8)
#: From denormal to huge, with room for sums and quotients.
ANY = st.floats(-1e250, 1e250) | st.sampled_from([0.0, 5e-324, -5e-324, 1e-310, 1e200, -1e200])


@pytest.mark.parametrize(
    ("rule", "estimated", "change", "expected"),
    [
        # Missing 0.2 goes to 0.3 and 0.1, which have the sign of the change: both grow by one half.
        ("partial", [0.3, 0.1, -0.2], 0.4, [0.45, 0.15, -0.2]),
        ("partial", [0.3, -0.1, -0.3], -0.5, [0.3, -0.2, -0.6]),
        # Too much was estimated: those of the sign shrink, none changes its sign.
        ("partial", [0.6, 0.2, -0.1], 0.3, [0.3, 0.1, -0.1]),
        # Missing 0.3, by absolute values 3 : 1 : 2.
        ("additive", [0.3, 0.1, -0.2], 0.5, [0.45, 0.15, -0.1]),
        # The paper's objection: the more negative it was, the more positive it becomes.
        ("additive", [0.1, -0.3], 1.0, [0.4, 0.6]),
        ("multiplicative", [0.3, 0.1, -0.2], 0.4, [0.6, 0.2, -0.4]),
        ("multiplicative", [0.3, 0.1, -0.2], -0.1, [-0.15, -0.05, 0.1]),
    ],
)
def test_worked_examples(rule, estimated, change, expected):
    assert_allclose(calibrate(estimated, change, rule), expected, rtol=1e-14, atol=1e-15)


@given(st.lists(EIGHTHS, min_size=1, max_size=9), EIGHTHS, st.sampled_from(RULES))
def test_calibration_is_that_of_the_naive_twin(estimated, change, rule):
    """Up to nine features: the kernel sums four at a time, and what is left one by one."""
    expected = calibrated(estimated, change, rule, [1 / len(estimated)] * len(estimated))
    assert_allclose(calibrate(estimated, change, rule), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=300)
@given(st.lists(ANY, min_size=1, max_size=9), ANY, st.sampled_from(RULES))
def test_contributions_add_up_to_the_change(estimated, change, rule):
    """Eq. 20, for denormal and huge numbers too."""
    found = calibrate(estimated, change, rule)
    assert np.isfinite(found).all()
    assert abs(found.sum() - change) <= 1e-12 * (abs(found).sum() + np.abs(estimated).sum() + abs(change)) + 1e-320


@given(st.lists(EIGHTHS, min_size=1, max_size=9), EIGHTHS)
def test_partial_calibration_leaves_the_other_features_alone(estimated, change):
    """Eq. 26 speaks of S only (Eq. 25); features of S keep their sign."""
    estimated = np.array(estimated)
    of_sign = np.sign(estimated) == np.sign(change)
    assume(change != 0 and of_sign.any())
    found = calibrate(estimated, change)
    assert_array_equal(found[~of_sign], estimated[~of_sign])
    # The sum of the others has not the sign of the change, so that what S has to add up to has it.
    assert (np.sign(found[of_sign]) == np.sign(change)).all()
    assert_allclose(found[of_sign] / estimated[of_sign], found[of_sign][0] / estimated[of_sign][0], rtol=1e-12)


@given(st.lists(EIGHTHS, min_size=1, max_size=9), EIGHTHS, st.sampled_from(RULES), st.integers(-40, 40))
def test_units_do_not_matter(estimated, change, rule, exponent):
    unit = 2.0**exponent
    assert_array_equal(
        calibrate(np.multiply(estimated, unit), change * unit, rule), unit * calibrate(estimated, change, rule)
    )


@given(st.lists(EIGHTHS, min_size=1, max_size=9), EIGHTHS, st.sampled_from(RULES))
def test_signs_do_not_matter(estimated, change, rule):
    assert_array_equal(calibrate(np.negative(estimated), -change, rule), -calibrate(estimated, change, rule))


@pytest.mark.parametrize("rule", RULES)
def test_right_estimates_stay(rule):
    assert_allclose(calibrate([0.5, -0.25, 0.0], 0.25, rule), [0.5, -0.25, 0.0], rtol=0, atol=0)


# What the equations leave open.


@pytest.mark.parametrize(
    ("rule", "estimated", "change", "expected"),
    [
        ("partial", [0.3, -0.1], 0.0, [0.15, -0.15]),  # a change of 0 has no sign: Eq. 24
        ("partial", [-0.3, -0.1], 0.2, [0.15, 0.05]),  # S is empty: Eq. 24
        ("partial", [-0.3, 0.0], 0.2, [0.2, 0.0]),
        ("multiplicative", [0.5, -0.5, 0.0], 0.4, [0.7, -0.3, 0.0]),  # nothing to multiply: Eq. 24
        ("multiplicative", [0.5, -0.5], 0.0, [0.5, -0.5]),
        ("multiplicative", [0.1, 0.2, -0.3], 0.6, [0.2, 0.4, 0.0]),  # their sum is 5.6e-17 in floats
    ],
)
def test_where_an_equation_divides_by_zero_another_one_stands_in(rule, estimated, change, expected):
    assert_allclose(calibrate(estimated, change, rule), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rule", RULES)
def test_without_any_estimate_the_change_is_spread_by_given_shares(rule):
    assert_allclose(calibrate([0.0, -0.0, 0.0, 0.0], 0.8, rule), [0.2] * 4, rtol=1e-15)
    assert_allclose(calibrate([0.0, 0.0, 0.0], -0.6, rule, equal=[0.5, 0.0, 0.5]), [-0.3, 0.0, -0.3], rtol=1e-15)
    assert_array_equal(calibrate([0.0, 0.0], 0.0, rule), [0.0, 0.0])


@pytest.mark.parametrize("error", [1e-17, 1e-9])
def test_partial_calibration_divides_by_no_rounding_error(error):
    """A mean of equal numbers is off by 1e-17, contributions that are handed on as float32 by 1e-9."""
    assert_allclose(calibrate([-0.2, error, 0.0], 0.3), calibrate([-0.2, 0.0, 0.0], 0.3), rtol=0, atol=1e-6)


def test_the_sign_of_rounding_error_decides_nothing():
    up, down = (calibrate([0.05, 0.03, -0.16], change) for change in (1e-16, -1e-16))
    assert_allclose(up, down, rtol=0, atol=1e-9)


@given(
    st.lists(st.tuples(EIGHTHS, EIGHTHS, EIGHTHS), min_size=1, max_size=6),
    st.tuples(EIGHTHS, EIGHTHS, EIGHTHS),
    st.sampled_from(RULES),
)
def test_each_output_is_calibrated_by_itself(estimated, change, rule):
    estimated = np.array(estimated)
    before = estimated.copy()
    found = calibrate(estimated, change, rule)
    expected = [calibrate(own, to, rule) for own, to in zip(estimated.T, change, strict=True)]
    assert_array_equal(found, np.transpose(expected))
    assert_array_equal(estimated, before)  # not in place


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1], 0.2, "naive"), r"calibration is 'naive'"),
        (([], 0.2), r"estimated has shape \(0,\); give \(n_features,\)"),
        ((np.zeros((2, 2, 2)), 0.2), r"estimated has shape \(2, 2, 2\)"),
        (([0.1, 0.2], [0.1, 0.2]), r"change has shape \(2,\); estimated has 1 outputs"),
        (([[0.1, 0.2]], 0.1), r"change has shape \(1,\); estimated has 2 outputs"),
        (([0.1, np.nan], 0.1), r"must be finite"),
        (([0.1, 0.2], np.inf), r"must be finite"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        calibrate(*arguments)


def test_shares_of_other_features_are_refused():
    with pytest.raises(ValueError, match=r"equal has shape \(3,\); estimated has 2 features"):
        calibrate([0.1, 0.2], 0.1, equal=[1.0, 0.0, 0.0])
    for equal in ([0.5, 0.4], [1.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match=r"equal has the sum .*; give shares, not negative, with sum 1"):
            calibrate([0.0, 0.0], 1.0, equal=equal)
