"""Full trees that send each row both ways, with probabilities (soft_trees.c)."""

import ctypes

import numpy as np

from cascadeforest.kernels import array, function, out

_F, _I = np.float32, ctypes.c_int64
_NO_ROWS = np.empty(0, np.int64)
_reach = function("soft_reach", out(_F), out(_F), _I, _I)
_gradient = function("soft_gradient", out(_F), array(_F), array(np.int64), out(_F), out(_F), _I, _I)
_shares = function("soft_shares", array(_F), array(_F), array(np.int64), out(_F), out(np.float64), out(_F), _I, _I)


def _check(
    do_fit: bool, codes: np.ndarray = _NO_ROWS, rows: np.ndarray = _NO_ROWS, leaves: np.ndarray = _NO_ROWS
) -> None:
    """Raise ValueError where a kernel would read or write beside an array."""
    if not do_fit or len(codes) != len(rows) or (len(codes) and not 0 <= codes.min() <= codes.max() < len(leaves)):
        raise ValueError("Shapes of a soft tree's arrays, or codes and classes, do not fit.")


def soft_reach(turns: np.ndarray, reach: np.ndarray) -> None:
    r"""Compute the probability :math:`\mu_l(x)` of each leaf for each row.

    Parameters
    ----------
    turns : float32 array of shape (n_rows, n_leaves)
        Values of the routers, in all columns but the first. Level k of the tree is the slice ``2**k`` to
        ``2**(k + 1)``, in which node j has the children j (left) and ``j + 2**k`` (right) of the next level. Receives
        the probabilities of right turns.
    reach : float32 array of shape (n_rows, n_leaves)
        Overwritten.
    """
    _check(turns.shape == reach.shape)
    _reach(turns, reach, *reach.shape)


def soft_gradient(turns: np.ndarray, leaves: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the probability of each row's class, and put its derivatives in place of the routers' values.

    Parameters
    ----------
    turns : float32 array of shape (n_rows, n_leaves)
        As in `soft_reach`. Receives the derivatives of minus the logarithm of the row's probability.
    leaves : float32 array of shape (n_classes, n_leaves)
        Class distributions.
    codes : int64 array of shape (n_rows,)
        Classes of the rows.

    Returns
    -------
    float32 array of shape (n_rows,)
        At least 1e-20, so that quotients stay finite.
    """
    _check(leaves.shape[1] == turns.shape[1], codes, turns, leaves)
    probability = np.empty(len(turns), _F)
    _gradient(turns, leaves, codes, np.empty(turns.shape[1], _F), probability, *turns.shape)
    return probability


def soft_shares(reach: np.ndarray, leaves: np.ndarray, codes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the probability of each row's class, and add the quotients of reach and probability to its class.

    Parameters
    ----------
    reach : float32 array of shape (n_rows, n_leaves)
        From `soft_reach`.
    leaves : float32 array of shape (n_classes, n_leaves)
        Class distributions.
    codes : int64 array of shape (n_rows,)
        Classes of the rows; fastest where rows of a class are together.
    shares : float64 array of shape (n_classes, n_leaves)
        What is added to.

    Returns
    -------
    float32 array of shape (n_rows,)
        At least 1e-20.
    """
    _check(leaves.shape[1] == reach.shape[1] and shares.shape == leaves.shape, codes, reach, leaves)
    probability = np.empty(len(reach), _F)
    _shares(reach, leaves, codes, np.empty(reach.shape[1], _F), shares, probability, *reach.shape)
    return probability
