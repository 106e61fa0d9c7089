"""Seeds as addresses: a random number depends on its place in the model, not on the order of computation."""

from __future__ import annotations

import numpy as np


def seed_at(entropy: int, *address: int) -> np.random.SeedSequence:
    """Seed of one place in a model, such as a layer, forest, fold and purpose.

    The random numbers of a place do not depend on what was drawn elsewhere, so that neither the order of work nor a
    resumed run changes them.

    Parameters
    ----------
    entropy : int
        Seed of the whole model.
    *address : int
        Numbers that name the place.

    Returns
    -------
    SeedSequence
    """
    return np.random.SeedSequence(entropy, spawn_key=address)


def whole_seed_at(entropy: int, *address: int) -> int:
    """Seed of one place in a model as a whole number, for a ``random_state`` of scikit-learn.

    Parameters
    ----------
    entropy, *address : int
        As in `seed_at`.

    Returns
    -------
    int
        Below 2**32.
    """
    return int(seed_at(entropy, *address).generate_state(1)[0])
