"""What holds for every test."""

import os
from collections.abc import Iterator
from pathlib import Path

# Before numpy is there. Tests run in as many processes as there are cores; threads of BLAS and OpenMP that wait for
# one another beside them doubled the time of whole files.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import pytest
from sklearn.utils import check_random_state

#: Files that `make test-fast` leaves out, the longest first: they start processes, or repeat fits for a statement about
#: all their numbers. `make unit` begins with them, so that no process works on one when the others have nothing left.
SLOW = (
    "workflow/test_workflow.py",
    "workflow/test_faults.py",
    "forest/test_against_scikit_learn.py",
    "forest/test_grow.py",
    "test_benchmarks.py",
    "experiments/test_jobs.py",
    "experiments/test_tracking.py",
    "experiments/test_kept_models.py",
    "experiments/test_shared_stores.py",
    "cascade/test_interactions.py",
    "explanations/test_against_the_naive_twin.py",
    "data/test_mirror.py",
    "cascade/test_margin.py",
    "explanations/test_importance.py",
    "explanations/test_explainer.py",
    "explanations/test_additivity.py",
    "cascade/test_scanning_cascades.py",
    "test_readme.py",
    "explanations/test_reference.py",
    "explanations/test_reference_regression.py",
    "experiments/test_measure.py",
    "cascade/test_estimators.py",
    "reports/test_accept_some.py",
    "reports/test_renderers.py",
    "reports/test_figures.py",
    "cascade/test_hard_examples.py",
    "test_wheel.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make test-faults` makes the whole matrix of faults, `make test-slurm` starts a Slurm."""
    parser.addoption("--faults", action="store_true", help="make all faults of tests/workflow/faults.py; an hour")
    parser.addoption("--slurm", action="store_true", help="run the workflow through a Slurm on this machine; minutes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow files, and scikit-learn's checks of estimators, and take slow files first."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(SLOW)}
    assert all(path.is_file() for path in places)
    for item in items:
        if item.path in places or {"estimator", "check"} <= set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(autouse=True)
def same_numbers_each_time() -> Iterator[None]:
    """`random_state=None` draws from numpy's global generator: seeded here, so that no test fails now and then."""
    drawn_from = check_random_state(None)
    before = drawn_from.get_state()
    drawn_from.seed(0)
    yield
    drawn_from.set_state(before)
