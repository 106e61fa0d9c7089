"""What a run says, in three sentences for a terminal."""

from pathlib import Path

from cascadeforest.experiments.plan import FIGURE, NOT_IMPLEMENTED
from cascadeforest.experiments.progress import duration
from cascadeforest.reports.numbers.frame import read_csv
from cascadeforest.reports.numbers.results import Results, cpu_seconds

#: Scores between 0 and 1 that the papers print.
SHARES = frozenset({"accuracy", "roc_auc"})
#: A reproduced score is near the published one within this, or within two published standard deviations.
NEAR = 0.01


def summary(results: Results, folder: Path) -> str:
    """Return what was made, how near published numbers are, and what is missing."""
    cells, kinds = results.all_cells(), [results.experiments[name].kind for name in results.drawable()]
    n_figures, cost = kinds.count(FIGURE), duration(sum(map(cpu_seconds, cells)))
    drawn = f"{_count(len(kinds) - n_figures, 'table')} and {_count(n_figures, 'figure')}"
    made = f"{drawn} show {_count(len(cells), 'fit')}, which took {cost} of CPU time."
    return "\n".join([made, _published(results, folder), _missing(results)])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _published(results: Results, folder: Path) -> str:
    near = []
    for name in results.drawable():
        path = folder / "tables" / f"{name}.csv"
        for row in read_csv(path) if path.is_file() else []:
            if row["metric"] in SHARES and row["published"] and row["mean"]:
                tolerance = max(NEAR, 2 * float(row["published_std"] or 0))
                near.append(abs(float(row["mean"]) - float(row["published"])) <= tolerance)
    if not near:
        return (
            "None of the papers' accuracies and AUCs can be compared: they are of data sets that this suite does not "
            "have (make list SUITE=standard)."
        )
    return (
        f"{sum(near)} of {len(near)} published accuracies and AUCs are within one point or two published standard "
        "deviations."
    )


def _missing(results: Results) -> str:
    absent = {dataset for e in results.experiments.values() for dataset in e.absent}
    unwritten = [e.id for e in results.experiments.values() if e.status == NOT_IMPLEMENTED]
    failed = sum(map(len, results.failures.values()))
    if not (absent or unwritten or failed):
        return f"Nothing that the suite {results.suite} declares is missing."
    return (
        f"Missing are {_count(len(absent), 'data set')} that this suite or machine does not have, "
        f"{_count(len(unwritten), 'experiment')} not written yet, and {_count(failed, 'fit')} that failed "
        f"(make list SUITE={results.suite})."
    )
