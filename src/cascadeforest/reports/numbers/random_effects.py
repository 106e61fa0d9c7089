"""The mean of differences on several data sets, which differ in truth too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special


@dataclass(frozen=True)
class RandomEffects:
    """Mean over data sets.

    Parameters
    ----------
    mean, error : float
        Estimate and its standard error.
    df : int
        Degrees of freedom of the error.
    tau2 : float
        Variance of the true differences between data sets.
    low, high : float
        Within these the true difference of a further data set lies, with a probability of 95 %.
    """

    mean: float
    error: float
    df: int
    tau2: float
    low: float
    high: float


def random_effects(values: Sequence[float], errors: Sequence[float]) -> RandomEffects:
    r"""Return the mean with the variance between data sets by REML, and the error of Hartung and Knapp (2001).

    The error is :math:`\sqrt{\sum w_i (y_i - \hat\mu)^2 / ((k - 1) \sum w_i)}` with :math:`w_i = 1 / (v_i + \tau^2)`
    on k - 1 degrees of freedom. The prediction interval has the same degrees of freedom.

    Parameters
    ----------
    values, errors : sequence of float
        Difference and standard error of each data set. An error of 0, of models that are equal on each test row, counts
        as the smallest of the others: such a set would otherwise be the mean alone.

    Raises
    ------
    ValueError
        For fewer than two data sets.
    """
    y, v = np.array(values, float), np.square(np.array(errors, float))
    k = len(y)
    if k < 2:
        raise ValueError(f"values are of {k} data sets; a mean over data sets needs two.")
    v[v == 0] = v[v > 0].min(initial=math.inf) if v.any() else 1e-300
    most = float(y.var(ddof=1)) * k
    tau2 = 0.0
    if most > 0:
        found = optimize.minimize_scalar(
            lambda value: -restricted_likelihood(value, y, v),
            bounds=(0.0, most),
            method="bounded",
            options={"xatol": 1e-6 * most},
        )
        tau2 = max((0.0, float(found.x)), key=lambda value: restricted_likelihood(value, y, v))
    weights = 1 / (v + tau2)
    mean = float(weights @ y / weights.sum())
    error = math.sqrt(float(weights @ (y - mean) ** 2) / ((k - 1) * float(weights.sum())))
    half = float(special.stdtrit(k - 1, 0.975)) * math.sqrt(tau2 + error**2)
    return RandomEffects(mean, error, k - 1, tau2, mean - half, mean + half)


def restricted_likelihood(tau2: float, y: np.ndarray, v: np.ndarray) -> float:
    """Return the logarithm of the restricted likelihood of a variance between data sets, without its constant."""
    weights = 1 / (v + tau2)
    mean = weights @ y / weights.sum()
    return float(0.5 * (np.log(weights).sum() - np.log(weights.sum()) - weights @ (y - mean) ** 2))
