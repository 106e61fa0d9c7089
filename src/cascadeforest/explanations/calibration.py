"""Calibration: estimated changes of the features are made to add up to the true change of the response.

Interpretation paper, section 4.2, Eqs. 19 to 26.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cascadeforest.explanations import _kernels
from cascadeforest.forest._parameters import check_choice

#: Names of the rules, and what the kernel calls them.
CALIBRATIONS = {
    "partial": _kernels.PARTIAL,
    "additive": _kernels.ADDITIVE,
    "multiplicative": _kernels.MULTIPLICATIVE,
}


def calibrate(estimated: Any, change: Any, calibration: str = "partial", *, equal: Any = None) -> np.ndarray:
    r"""Make estimated changes add up to the true one (Eq. 20).

    Parameters
    ----------
    estimated : array-like of shape (n_features,) or (n_features, n_outputs)
        What each feature changed as estimated by the preceding layer (Eq. 17).
    change : float or array-like of shape (n_outputs,)
        The true change of the mean response (Eq. 14). Each output is calibrated by itself.
    calibration : {"partial", "additive", "multiplicative"}, default="partial"
        "partial" (Eqs. 25 and 26): the features whose sign is that of the change share what is missing, in proportion.
        "additive" (Eq. 24): all features share it, in proportion to their absolute values. "multiplicative" (Eq. 23):
        all are multiplied by the same factor.
    equal : array-like of shape (n_features,), optional
        Shares with sum 1 by which a change is spread where all estimates are 0; equal ones by default.

    Returns
    -------
    ndarray, shaped as `estimated`
        The sum over features is `change`.

    Notes
    -----
    Where the equations divide by zero: Eq. 26 says nothing if no feature has the sign of the change, which includes a
    change of 0, and Eq. 23 nothing if the estimates cancel. Both are replaced by Eq. 24 there; a sum of estimates, or
    a change, of a millionth of their absolute sum counts as 0. If all estimates are 0, which Eq. 24 leaves open, the
    change is spread by `equal`. (The released code changes the signs, or drops the change, so that bias and
    contributions miss the prediction.)

    Examples
    --------
    >>> from cascadeforest.explanations import calibrate
    >>> calibrate([0.3, 0.1, -0.2], 0.4).round(3).tolist()
    [0.45, 0.15, -0.2]
    """
    check_choice("calibration", calibration, CALIBRATIONS)
    estimated = np.asarray(estimated, np.float64)
    if estimated.ndim not in (1, 2) or not len(estimated):
        raise ValueError(f"estimated has shape {estimated.shape}; give (n_features,) or (n_features, n_outputs).")
    out = estimated.reshape(len(estimated), -1)
    change = np.atleast_1d(np.asarray(change, np.float64))
    if change.shape != out.shape[1:]:
        raise ValueError(f"change has shape {change.shape}; estimated has {out.shape[1]} outputs.")
    if not np.isfinite(out).all() or not np.isfinite(change).all():
        raise ValueError("estimated and change must be finite numbers.")
    equal = np.full(len(out), 1.0 / len(out)) if equal is None else np.asarray(equal, np.float64)
    if equal.shape != (len(out),):
        raise ValueError(f"equal has shape {equal.shape}; estimated has {len(out)} features.")
    if not np.isfinite(equal).all() or equal.min() < 0 or abs(equal.sum() - 1.0) > 1e-9:
        raise ValueError(f"equal has the sum {equal.sum()}; give shares, not negative, with sum 1.")
    flat = out.T.flatten()
    _kernels.calibrate(flat, change, equal, CALIBRATIONS[calibration])
    return flat.reshape(out.T.shape).T.reshape(estimated.shape)
