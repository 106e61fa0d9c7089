"""What a run says, in three sentences for a terminal."""

from pathlib import Path

from cascadeforest.experiments.plan import FIGURE, NOT_IMPLEMENTED
from cascadeforest.experiments.progress import duration
from cascadeforest.reports.numbers.frame import read_csv
from cascadeforest.reports.numbers.results import Results, origin

#: Scores between 0 and 1 that the papers print.
SHARES = frozenset({"accuracy", "roc_auc"})


def summary(results: Results, folder: Path) -> str:
    """Return what was made, how near published numbers are, and what is missing."""
    cells, kinds = results.all_cells(), [results.experiments[name].kind for name in results.drawable()]
    n_figures, cost = kinds.count(FIGURE), duration(origin(results)["cpu_seconds"])
    drawn = f"{_count(len(kinds) - n_figures, 'table')} and {_count(n_figures, 'figure')}"
    accepted = f", {n_accepted:,} of them as they were accepted" if (n_accepted := results.n_accepted()) else ""
    made = f"{drawn} show {_count(len(cells), 'fit')}, which took {cost} of CPU time{accepted}."
    paths = [folder / "tables" / f"{name}.csv" for name in results.drawable()]
    rows = [row for path in paths if path.is_file() for row in read_csv(path) if row["metric"] in SHARES]
    distances = [abs(float(row["mean"]) - float(row["published"])) for row in rows if row["published"] and row["mean"]]
    near = f"{sum(distance <= 0.01 for distance in distances)} of {len(distances)} published accuracies and AUCs"
    return "\n".join([made, f"{near} are within one point of ours.", _missing(results)])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _missing(results: Results) -> str:
    absent = {dataset for e in results.experiments.values() for dataset in e.absent}
    unwritten = [e.id for e in results.experiments.values() if e.status == NOT_IMPLEMENTED]
    counts = _count(len(absent), "data set"), _count(len(unwritten), "experiment")
    failed = _count(sum(map(len, results.failures.values())), "fit")
    return (
        f"Missing are {counts[0]} that this suite or machine does not have, {counts[1]} not written yet, and {failed} "
        f"that failed (make list SUITE={results.suite})."
    )
