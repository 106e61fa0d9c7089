"""What holds for every test."""

from collections.abc import Iterator

import pytest
from sklearn.utils import check_random_state


@pytest.fixture(autouse=True)
def same_numbers_each_time() -> Iterator[None]:
    """`random_state=None` draws from numpy's global generator: seeded here, so that no test fails now and then."""
    drawn_from = check_random_state(None)
    before = drawn_from.get_state()
    drawn_from.seed(0)
    yield
    drawn_from.set_state(before)
