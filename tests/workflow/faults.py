"""The faults that `make test-faults` makes, in chains.

The run of a chain is disturbed at several moments, and goes on each time from what is there. In the end its tables must
be those of an undisturbed run to the byte, measured cost excepted, cells that were finished before a fault must be
those of before, and MLflow must show each fit once, as finished.
"""

import random
from dataclasses import dataclass

N_KILLS = 30
N_CHAINS = 2
#: Parts of a run on the scale of moments: preparing data, fitting, drawing, tracking.
WEIGHTS = (0.1, 0.6, 0.2, 0.1)


@dataclass(frozen=True)
class Fault:
    """One disturbance.

    Parameters
    ----------
    name : str
        What is done, see the function of that name in ``test_faults.py``.
    moment : float
        When: to 0.1 while data are prepared, to 0.7 while models are fitted, to 0.9 while tables are drawn, to 1 while
        MLflow is brought up to date (`WEIGHTS`).
    at_cell : bool
        At the moment when the next fit is told to be done, in place of up to a second later.
    where : str
        File that is damaged.
    """

    name: str
    moment: float = 1.0
    at_cell: bool = False
    where: str = ""


@dataclass(frozen=True)
class Chain:
    """Disturbances of one run, in the order of their moments.

    Parameters
    ----------
    title : str
        Name of the test.
    faults : tuple of Fault
        What is done.
    disk : str
        Folder that is a small disk of its own.
    always : tuple of int
        Places of the faults that `make test` makes too, with a small configuration.
    """

    title: str
    faults: tuple[Fault, ...]
    disk: str = ""
    always: tuple[int, ...] = ()


def kills() -> list[Fault]:
    """Moments of all kills: half of them between two finished cells, half of them at any moment, one a stratum."""
    draw, n_half = random.Random(24), N_KILLS // 2
    between = [Fault("kill", 0.1 + 0.55 * (k + draw.random()) / n_half, at_cell=True) for k in range(n_half)]
    anywhere = [Fault("kill", 0.97 * (k + draw.random()) / n_half) for k in range(n_half)]
    return sorted(between + anywhere, key=lambda fault: fault.moment)


CHAINS = (
    *(Chain(f"kills-{k}", tuple(kills()[k::N_CHAINS]), always=(4, 13) if k == 0 else ()) for k in range(N_CHAINS)),
    Chain(
        "stops",
        (
            Fault("two_snakemakes", 0.1),
            Fault("interrupt", 0.2),
            Fault("terminate", 0.4),
            Fault("clock_set_back", 0.6),
            Fault("interrupt", 0.8),
            Fault("terminate", 0.92),
        ),
    ),
    # The second time the disk is full when MLflow is brought up to date.
    Chain("full-disk", (Fault("full_disk", 0.3), Fault("full_disk", 0.91)), disk="results", always=(0,)),
    Chain("full-cache", (Fault("full_disk", 0.3),), disk="results/cells"),
    Chain(
        "damage",
        (
            *(Fault("damage", where=where) for where in ("cell", "arrays", "run", "store", "kernels")),
            Fault("two_syncs"),
        ),
    ),
)
