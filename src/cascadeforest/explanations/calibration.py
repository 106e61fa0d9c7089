"""Calibration: adjust estimated changes of the features so that they add up to the true change of the response.

Interpretation paper, section 4.2, Eqs. 19 to 26.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cascadeforest.forest._parameters import check_choice
from cascadeforest.kernels import contributions

#: The kernel's number of each rule.
CALIBRATIONS = {
    "partial": contributions.PARTIAL,
    "additive": contributions.ADDITIVE,
    "multiplicative": contributions.MULTIPLICATIVE,
}


def calibrate(
    estimated: ArrayLike, change: ArrayLike, calibration: str = "partial", *, equal: ArrayLike | None = None
) -> np.ndarray:
    r"""Adjust estimated changes so that they add up to the true change (Eq. 20).

    Parameters
    ----------
    estimated : array-like of shape (n_features,) or (n_features, n_outputs)
        Change by each feature, as the preceding layer estimates it (Eq. 17).
    change : float or array-like of shape (n_outputs,)
        True change of the mean response (Eq. 14). Each output is calibrated separately.
    calibration : {"partial", "additive", "multiplicative"}, default="partial"
        "partial" (Eqs. 25 and 26): features whose estimate has the sign of the change share the missing part, in
        proportion. "additive" (Eq. 24): all features share it, in proportion to their absolute values.
        "multiplicative" (Eq. 23): all estimates are multiplied by the same factor.
    equal : array-like of shape (n_features,), optional
        Shares, with sum 1, by which the change is spread if all estimates are 0; equal shares by default.

    Returns
    -------
    ndarray, shaped as `estimated`
        The sum over features is `change`.

    Notes
    -----
    Eq. 26 divides by zero if no feature has the sign of the change (also if the change is 0), and Eq. 23 if the
    estimates cancel. In these cases Eq. 24 is used. A sum of estimates, or a change, counts as 0 up to a millionth of
    the absolute sum of the estimates. If all estimates are 0, which Eq. 24 leaves open, `equal` spreads the change.
    (The released code changes the signs, or drops the change; its bias and contributions then do not add up to the
    prediction.)

    Examples
    --------
    >>> from cascadeforest.explanations import calibrate
    >>> calibrate([0.3, 0.1, -0.2], 0.4).round(3).tolist()
    [0.45, 0.15, -0.2]
    """
    check_choice("calibration", calibration, CALIBRATIONS)
    given, to = np.asarray(estimated, np.float64), np.atleast_1d(np.asarray(change, np.float64))
    if given.ndim not in (1, 2) or not len(given):
        raise ValueError(f"estimated has shape {given.shape}; give (n_features,) or (n_features, n_outputs).")
    out = given.reshape(len(given), -1)
    if to.shape != out.shape[1:]:
        raise ValueError(f"change has shape {to.shape}; estimated has {out.shape[1]} outputs.")
    if not np.isfinite(out).all() or not np.isfinite(to).all():
        raise ValueError("estimated and change must be finite numbers.")
    shares = np.full(len(out), 1.0 / len(out)) if equal is None else np.asarray(equal, np.float64)
    if shares.shape != (len(out),):
        raise ValueError(f"equal has shape {shares.shape}; estimated has {len(out)} features.")
    if not np.isfinite(shares).all() or shares.min() < 0 or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"equal has the sum {shares.sum()}; give shares, not negative, with sum 1.")
    flat = out.T.flatten()
    contributions.calibrate(flat, to, shares, CALIBRATIONS[calibration])
    return flat.reshape(out.T.shape).T.reshape(given.shape)
