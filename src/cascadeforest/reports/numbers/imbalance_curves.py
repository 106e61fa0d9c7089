"""Accuracy, and recall of one class, while more and more training rows of this class are dropped (ddbf-fig4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.scores import score_rows

ACCURACY, RECALL, GAP = "accuracy", "recall", "accuracy_gap"
#: The paper's text compares DDBF, whose columns begin with `OWN`, with this column, for ratios from this one on.
OWN, AGAINST, BEYOND = "ddbf", "gcforest", 0.6
#: Conditions: a difference, a mean over ratios, a mean of differences.
PAIR, LATER = f"against {AGAINST}", f"imbalance ratio beyond {BEYOND:g}"
LATER_PAIR = f"{LATER}, {PAIR}"


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the class whose training rows are dropped."""

    label: str


def variants(experiment: Experiment, label: str) -> dict[float, str]:
    """Return imbalance ratio to variant, ascending; refuse variants that differ in anything else."""
    found, bases = {}, set()
    for variant in experiment.datasets:
        base, ratio = (*re.split(rf"\+imbalance-{re.escape(label)}-(?=[\d.]+$)", variant), "0")[:2]
        found[float(ratio)] = variant
        bases.add(base)
    if len(bases) > 1 or len(found) < len(experiment.datasets):
        raise ConfigError(
            f"{experiment.place}/datasets are {', '.join(experiment.datasets)}; name one data set, with different "
            f"imbalance ratios of the class '{label}' of options/label."
        )
    return dict(sorted(found.items()))


def drawn(cells: Cells, series: Mapping[float, str], label: str) -> list[TidyRow]:
    """Return accuracy and recall of each model on each variant."""
    rows = score_rows(replace(cells.experiment, metrics=(ACCURACY,)), cells.results)
    rows = [row for row in rows if row.dataset in cells.experiment.datasets]
    return rows + [_recall(cells, v, column, label) for v in series.values() for column in cells.experiment.columns]


def _recall(cells: Cells, variant: str, column: str, label: str) -> TidyRow:
    """Return the share of the test rows of the class that are predicted as this class."""
    names, found = cells.facts(variant).get("class_names", []), cells.all(variant, column)
    if found and label not in names:
        return cells.row(variant, column, f"class {label}", RECALL, "the class is not known")
    code = names.index(label) if found else 0
    counts = [cell.confusion[code] for cell in found if cell.confusion]
    values = [own[code] / sum(own) if sum(own) else "no test rows of the class" for own in counts]
    return cells.row(variant, column, f"class {label}", RECALL, values, n_test=min(map(sum, counts), default=None))


def facts(cells: Cells, series: Mapping[float, str]) -> Iterable[TidyRow]:
    """Yield means over the ratios from `BEYOND` on, and by how much DDBF is ahead at each ratio and over these."""
    columns, name = list(cells.experiment.columns), next(iter(series.values()))
    own = [column for column in columns if column.startswith(OWN) and AGAINST in columns]
    scores, leads = {}, {}
    for variant in series.values():
        # Repeats by model: NaN where there is no number, also in what follows from it.
        found = {column: pd.Series(cells.metric(variant, column, ACCURACY), dtype=float) for column in columns}
        scores[variant] = pd.DataFrame(found)
        leads[variant] = scores[variant][own].sub(found.get(AGAINST, 0), axis=0)
    frames = [(variant, variant, PAIR, GAP, frame) for variant, frame in leads.items()]
    if later := [variant for ratio, variant in series.items() if ratio >= BEYOND]:
        mean, lead = (sum(found[variant] for variant in later) / len(later) for found in (scores, leads))
        frames = [(later[0], name, LATER, ACCURACY, mean), *frames, (later[0], name, LATER_PAIR, GAP, lead)]
    for variant, dataset, condition, metric, frame in frames:
        for column in frame:
            values = frame[column].dropna().tolist() or "a run is missing"
            yield replace(cells.row(variant, column, condition, metric, values), dataset=dataset)
