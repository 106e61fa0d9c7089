"""The faults that `make test-faults` makes, one after another.

A run of the suite is disturbed and then run again. In the end its tables must be those of an undisturbed run to the
byte, measured cost excepted, and MLflow must show each fit once, as finished.
"""

from dataclasses import dataclass

N_KILLS = 30


@dataclass(frozen=True)
class Fault:
    """One disturbance.

    Parameters
    ----------
    name : str
        What is done, see the function of that name in ``test_faults.py``.
    moment : float
        When: the share of the fits that are done, between 0 and 1.
    at_cell : bool
        At the moment when a fit has just been told to be done, in place of a tenth of a second later or so.
    where : str
        Folder or file that is concerned.
    always : bool
        Whether `make test` does it too, with a small configuration.
    """

    name: str
    moment: float = 0.5
    at_cell: bool = False
    where: str = ""
    always: bool = False

    @property
    def title(self) -> str:
        """Name of the test."""
        words = [self.name, self.where.replace("/", "-"), f"{self.moment:.2f}", "at-cell" if self.at_cell else ""]
        return "_".join(word for word in words if word)


FAULTS = (
    *(Fault("kill", (k + 0.5) / N_KILLS, at_cell=k % 2 == 1, always=k in (10, 21)) for k in range(N_KILLS)),
    Fault("interrupt", 0.3),
    Fault("terminate", 0.6),
    Fault("full_disk", 0.4, where="results", always=True),
    Fault("full_disk", 0.4, where="results/cells"),
    Fault("full_disk", 0.99, where="results/mlartifacts"),
    *(Fault("damage", 1.0, where=where) for where in ("cell", "arrays", "run", "store", "kernels")),
    Fault("clock_set_back", 0.5),
    Fault("two_snakemakes", 0.2),
    Fault("two_syncs", 1.0),
)
