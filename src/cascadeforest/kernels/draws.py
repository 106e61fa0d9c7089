"""Rows that a tree draws, and random numbers for tests (draws.c)."""

import ctypes

import numpy as np

from cascadeforest.kernels import function, out

_bootstrap_counts = function("bootstrap_counts", ctypes.c_uint64, ctypes.c_int64, out(np.int32), ctypes.c_int64)
_draw_uint64 = function("draw_uint64", out(np.uint64), out(np.uint64), ctypes.c_int64)
_draw_below = function("draw_below", out(np.uint64), ctypes.c_int64, out(np.int64), ctypes.c_int64)
_draw_unit = function("draw_unit", out(np.uint64), out(np.float64), ctypes.c_int64)


def bootstrap_counts(seed: np.uint64 | int, n_draws: int, counts: np.ndarray) -> None:
    """Count how often each row is drawn when `n_draws` rows are drawn with replacement.

    Parameters
    ----------
    seed : uint64
        The tree's seed.
    n_draws : int
        Draws, at least 0.
    counts : int32 array of shape (n_rows,)
        Overwritten.
    """
    _bootstrap_counts(seed, n_draws, counts, counts.size)


def draw_uint64(state: np.ndarray, n: int) -> np.ndarray:
    """Return the next `n` times 64 random bits; `state` is a uint64 array of one element, advanced in place."""
    drawn = np.empty(n, np.uint64)
    _draw_uint64(state, drawn, n)
    return drawn


def draw_below(state: np.ndarray, below: int, n: int) -> np.ndarray:
    """Return the next `n` integers of [0, below), below < 2**31, as int64."""
    drawn = np.empty(n, np.int64)
    _draw_below(state, below, drawn, n)
    return drawn


def draw_unit(state: np.ndarray, n: int) -> np.ndarray:
    """Return the next `n` float64 of [0, 1), 53 random bits each."""
    drawn = np.empty(n)
    _draw_unit(state, drawn, n)
    return drawn
