"""Addresses of random numbers."""

import itertools

import numpy as np

from cascadeforest.forest.seeds import seed_at, whole_seed_at


def test_each_address_has_numbers_of_its_own():
    """Also addresses that begin alike, or are written alike: (1, 12) and (11, 2)."""
    addresses = [a for length in range(1, 5) for a in itertools.product((0, 1, 2, 11, 12, 2**16, 2**17), repeat=length)]
    words = {seed_at(entropy, *a).generate_state(2, np.uint64).tobytes() for entropy in (0, 1) for a in addresses}
    assert len(words) == 2 * len(addresses)


def test_an_address_always_has_the_same_numbers():
    first = seed_at(7, 1, 2)
    first.spawn(3)  # whatever else was drawn
    assert (
        seed_at(7, 1, 2).generate_state(4).tolist()
        == np.random.SeedSequence(7, spawn_key=(1, 2)).generate_state(4).tolist()
    )


def test_a_whole_seed_is_what_scikit_learn_got_before():
    """Baselines and layers had this rule in copies of their own; runs must not change."""
    assert [whole_seed_at(7, 1, 2), whole_seed_at(0)] == [2032283795, 2968811710]
