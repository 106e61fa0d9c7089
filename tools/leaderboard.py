"""Elo ratings and win rates of the arena's models, by TabArena's own evaluation package, `bencheval`.

``make leaderboard`` runs it on the accepted results of a suite; ``--fresh`` takes those of the last run.
The package is an extra of its own (`pip install 'cascadeforest[arena]'`, or `make setup EXTRAS=arena`).

A data set is a task, and the mean error over its repeats is its result: 1 minus accuracy or AUC, or the log loss. A
model without a number on a data set gets the reference's there, as in TabArena; these are printed. `elo-` and `elo+`
are the distances from the rating to the ends of its 95 % interval, over bootstrap draws of the data sets.
"""

import argparse
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from cascadeforest.data.errors import UserError
from cascadeforest.reports.numbers import scores
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.differences import counted_once
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.stored import read_stored

ARENA, REFERENCE = "arena", "random_forest"
N_BOOTSTRAP = 1000
#: Below so many data sets the intervals of the ratings mean little.
FEW = 10


def main(arguments: list[str] | None = None) -> int:
    """Print the leaderboard and return the exit status: 2 for a user's mistake, 3 if bencheval is not installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(), help="folder that holds results/ and reports/")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--metric", choices=("accuracy", "roc_auc", "log_loss"), default="accuracy")
    parser.add_argument("--fresh", action="store_true", help="results/<suite> in place of reports/<suite>")
    options = parser.parse_args(arguments)
    try:
        from bencheval.evaluator import BenchmarkEvaluator
    except ImportError:
        print("error: bencheval is not installed. Install it: make setup EXTRAS=arena", file=sys.stderr)
        return 3
    try:
        results = (
            read_results(options.root, options.suite, [ARENA])
            if options.fresh
            else read_stored(options.root, options.suite)
        )
        if ARENA not in results.experiments:
            place = "results" if options.fresh else "accepted results"
            raise UserError(f"the {place} of the suite {options.suite} have no {ARENA}. Name another --suite.")
        errors, substituted = errors_of(Cells(results.plan.experiment(ARENA), results), options.metric)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.metric}, {errors.task.nunique()} data sets, {errors.method.nunique()} models.")
    print(f"The {REFERENCE} stands in for: {', '.join(substituted) or 'nothing'}.\n")
    # bencheval draws from the global generators.
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    evaluator = BenchmarkEvaluator(columns_to_agg_extra=None)
    elo = {"calibration_framework": REFERENCE, "calibration_elo": 1000, "BOOTSTRAP_ROUNDS": N_BOOTSTRAP}
    board = evaluator.leaderboard(errors, metrics=["elo", "winrate"], elo_kwargs=elo)
    print(f"elo-, elo+: distances to the ends of the 95 % interval over {N_BOOTSTRAP:,} draws of the data sets.")
    if (n_sets := errors.task.nunique()) < FEW:
        print(f"With {n_sets} data sets the ratings say little: draws of so few repeat the same sets.")
    print(board[["elo", "elo-", "elo+", "winrate", "rank"]].round(3).to_string())
    return 0


def errors_of(cells: Cells, metric: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the mean error of each model on each data set as bencheval wants it, and what the reference stands in for.

    Parameters
    ----------
    cells : Cells
        Of the arena.
    metric : str
        Name of the metric.

    Raises
    ------
    UserError
        If the reference has no number.
    """
    means = scores.means_of(scores.averages(cells), metric, counted_once(cells), list(cells.experiment.columns))
    means = means.dropna(axis=1, how="all")
    if REFERENCE not in means:
        raise UserError(f"the arena has no {metric} of {REFERENCE}. Run it first: make run ONLY={ARENA}")
    means = means[means[REFERENCE].notna()]
    substituted = [f"{model} on {dataset}" for dataset, model in means.isna().stack().loc[lambda lacks: lacks].index]
    means = means.apply(lambda own: own.fillna(means[REFERENCE]))
    errors = means if metric == "log_loss" else 1 - means
    long = errors.rename_axis(index="task", columns="method").stack().rename("metric_error").reset_index()
    return long, substituted


if __name__ == "__main__":
    sys.exit(main())
