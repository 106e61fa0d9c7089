"""Checks of estimators' parameters: each error names the parameter, its value and what is allowed."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np
from sklearn.utils import check_random_state

from cascadeforest.forest._types import RandomState

#: Integers of this size or more do not fit into the kernel's 64 bits.
_BEYOND = 2**62


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_count(name: str, value: object, least: int = 1, *, optional: bool = False) -> None:
    """Check that a value is an integer of at least `least`; None is allowed if `optional`.

    Raises
    ------
    ValueError
        If the check fails.
    """
    if optional and value is None:
        return
    if not _is_integer(value) or not least <= value < _BEYOND:
        none = " or None" if optional else ""
        raise ValueError(f"{name} is {value!r}; give a whole number of at least {least}{none}.")


def check_number(name: str, value: object, least: float = 0.0, most: float = math.inf, *, otherwise: str = "") -> None:
    """Check that a value is a finite number in [least, most]; `otherwise` names other allowed values in the error.

    Raises
    ------
    ValueError
        If the check fails.
    """
    if not _is_real(value) or not least <= value <= min(most, sys.float_info.max):
        bound = "" if most == math.inf else f" and at most {most:g}"
        raise ValueError(f"{name} is {value!r}; give a finite number of at least {least:g}{bound}{otherwise}.")


def check_choice(name: str, value: object, choices: Iterable[str], *, optional: bool = False) -> None:
    """Check that a value is one of `choices`; None is allowed if `optional`.

    Raises
    ------
    ValueError
        If the check fails.
    """
    if optional and value is None:
        return
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        none = " or None" if optional else ""
        raise ValueError(f"{name} is {value!r}; choose from {', '.join(map(repr, choices))}{none}.")


def check_flag(name: str, value: object, otherwise: str = "") -> None:
    """Check that a value is True or False, not 1 or "yes"; `otherwise` names other allowed values in the error.

    Raises
    ------
    ValueError
        If the check fails.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; choose True or False{otherwise}.")


def check_jobs(value: object) -> None:
    """Check a number of threads as in joblib: positive, -1 for all cores, -2 for all but one, None for one.

    Raises
    ------
    ValueError
        If the check fails.
    """
    if value is not None and (not _is_integer(value) or value == 0):
        raise ValueError(f"n_jobs is {value!r}; give a number of threads, -1 for all cores, or None for one.")


def entropy_of(random_state: RandomState) -> int:
    """Convert `random_state` to an integer seed; a generator draws the integer.

    Raises
    ------
    ValueError
        If `random_state` is not a seed.
    """
    try:
        generator = check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"random_state is {random_state!r}; give a whole number from 0 to 2**32 - 1, a numpy RandomState, or None."
        ) from error
    return int(generator.randint(np.iinfo(np.int32).max))


def n_outputs_of(y: object) -> int:
    """Number of columns of y; 1 unless it has two dimensions. Nothing else about y is checked."""
    shape = getattr(y, "shape", None)
    if (
        shape is None
        and isinstance(y, Sequence)
        and len(y)
        and isinstance(y[0], Sequence)
        and not isinstance(y[0], str)
    ):
        shape = (len(y), len(y[0]))
    return int(shape[1]) if shape is not None and len(shape) == 2 else 1


def check_one_output(y: object) -> None:
    """Check that y, which holds classes, has one column; scikit-learn checks everything else.

    Raises
    ------
    ValueError
        If it has more.
    """
    if (n_outputs := n_outputs_of(y)) > 1:
        raise ValueError(
            f"y has {n_outputs} columns, but classifiers of cascadeforest take one class for each row; fit one model "
            "for each column, for instance by sklearn.multioutput.MultiOutputClassifier."
        )


def row_weights(value: object, n_rows: int, name: str = "sample_weight", needed: str = "one row") -> np.ndarray | None:
    """Check and convert weights of rows; None stays None.

    Raises
    ------
    ValueError
        If there is not one finite weight for each row, if a weight is negative, or if no weight is positive.
    """
    if value is None:
        return None
    weights = np.asarray(value, np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"{name} has shape {weights.shape}; X has {n_rows} rows: give ({n_rows},).")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"{name} gives weights from {weights.min()} to {weights.max()}; give finite, not negative ones."
        )
    if weights.max() == 0:
        raise ValueError(f"{name} is zero for every row; give at least {needed} a positive weight.")
    return weights


def feature_chances(value: object, n_features: int) -> np.ndarray | None:
    """Check and convert `feature_weights`; None if all are equal.

    Raises
    ------
    ValueError
        If the value does not have valid weights for `n_features` features.
    """
    if value is None:
        return None
    remedy = f"give {n_features} numbers, one a feature, finite and not negative, at least one of them positive"
    try:
        weights = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"feature_weights is {value!r}; {remedy}.") from error
    if weights.shape != (n_features,):
        raise ValueError(f"feature_weights has shape {weights.shape}; {remedy}.")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise ValueError(f"feature_weights is {value!r}; {remedy}.")
    return weights


def count_of(name: str, value: object, total: int, least: int = 1) -> int:
    """Convert an integer, or a share in (0, 1] of `total`, to a number.

    Parameters
    ----------
    name : str
        Name of the parameter, for the error.
    value : int or float
        An integer is the result; a float is a share, rounded down as scikit-learn's ``max_samples``.
    total : int
        Number that shares refer to.
    least : int
        Smallest result of a share.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the value is neither.
    """
    if _is_integer(value) and 1 <= value <= total:
        return int(value)
    if _is_real(value) and not _is_integer(value) and 0 < value <= 1:
        return max(least, int(total * value))
    raise ValueError(f"{name} is {value!r}; give a whole number from 1 to {total}, or a share of (0, 1].")


def row_count(name: str, value: object, total: int, least: int, *, whole: bool = False) -> int:
    """Convert an integer of at least `least`, or a share of `total` (rounded up, as in scikit-learn), to a row count.

    Shares are below 1 unless `whole`: a minimum of all rows per leaf would give a tree without splits.

    Raises
    ------
    ValueError
        If the value is neither.
    """
    if _is_integer(value) and least <= value < _BEYOND:
        return int(value)
    if _is_real(value) and not _is_integer(value) and (0 < value < 1 or (whole and value == 1)):
        return max(least, math.ceil(value * total))
    share = "(0, 1]" if whole else "(0, 1)"
    raise ValueError(f"{name} is {value!r}; give a whole number of at least {least}, or a share of {share}.")


def feature_count(value: object, n_features: int) -> int:
    """Number of features considered at each split, from scikit-learn's ``max_features``.

    Parameters
    ----------
    value : {"sqrt", "log2"}, int, float or None
        None for all; a float is a share of the features.
    n_features : int
        Number of features.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ValueError
        If the value is none of these.
    """
    if value is None:
        return n_features
    if isinstance(value, str) and value in ("sqrt", "log2"):
        return max(1, int(math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)))
    if _is_integer(value) and value >= 1:
        return min(int(value), n_features)
    if _is_real(value) and not _is_integer(value) and 0 < value <= 1:
        return max(1, int(value * n_features))
    raise ValueError(
        f"max_features is {value!r}; give 'sqrt', 'log2', None (all), a whole number of at least 1, "
        "or a share of (0, 1]."
    )
