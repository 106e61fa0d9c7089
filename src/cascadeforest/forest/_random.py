"""Random numbers inside kernels: SplitMix64 on an explicit state, the same on every machine.

`numpy.random` inside numba has one hidden state per thread, so that a tree would depend on who grew it.
Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195.
"""

from __future__ import annotations

import numpy as np

from cascadeforest.forest._jit import Int, kernel

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = (np.uint64(bits) for bits in (30, 27, 31, 32, 11))
#: A tree has two streams: which rows it sees, and how it grows. The first can be drawn again without growing.
BOOTSTRAP_STREAM = np.uint64(0x5851F42D4C957F2D)


@kernel(inline=True)
def next_uint64(state: np.ndarray) -> np.uint64:
    """The next 64 random bits; `state` is a uint64 array of one element, advanced in place."""
    state[0] += _GAMMA
    z = state[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@kernel(inline=True)
def random_below(state: np.ndarray, n: int) -> Int:
    """An integer of [0, n), n < 2**31. Lemire's multiplication; the bias is below n / 2**32."""
    return np.int64(((next_uint64(state) >> _32) * np.uint64(n)) >> _32)


@kernel(inline=True)
def random_unit(state: np.ndarray) -> float:
    """A float64 of [0, 1), 53 random bits."""
    return np.float64(next_uint64(state) >> _11) * 1.1102230246251565e-16


@kernel(allocates=True)
def bootstrap_counts(seed: np.uint64, n_draws: int, counts: np.ndarray) -> None:
    """How often each row is drawn when `n_draws` rows are drawn with replacement.

    Parameters
    ----------
    seed : uint64
        The tree's seed.
    n_draws : int
        Draws, at least 0.
    counts : int32 array of shape (n_rows,)
        Overwritten.
    """
    state = np.empty(1, np.uint64)
    state[0] = seed ^ BOOTSTRAP_STREAM
    counts[:] = 0
    for _ in range(n_draws):
        counts[random_below(state, counts.size)] += 1
