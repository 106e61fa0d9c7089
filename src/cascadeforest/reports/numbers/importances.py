"""Importances of features that cells saved: which columns are made of them, and what they are compared with."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_variant
from cascadeforest.data.typed_json import from_json
from cascadeforest.experiments.plan import Experiment
from cascadeforest.reports.numbers.frame import TidyRow

#: The operation that puts a permuted copy behind each column of a data set.
IRRELEVANT = "irrelevant"


@dataclass(frozen=True)
class ImportanceColumn:
    """One importance of one model, a column of the experiment, whose cells save it as `extra`, by default its name."""

    model: str
    label: str
    extra: str = ""


def importance_columns(experiment: Experiment) -> dict[str, ImportanceColumn]:
    """Read the option `columns`; `ConfigError` if it is empty, or names a model or an extra that is not there."""
    place = f"{experiment.place}/options/columns"
    given = from_json(dict[str, ImportanceColumn], experiment.options.get("columns"), place)
    if not given:
        raise ConfigError(f"{place} is empty; give {{name: {{model: ..., label: ...}}}}.")
    found = {name: replace(one, extra=one.extra or name) for name, one in given.items()}
    for name, column in found.items():
        if column.model not in experiment.columns:
            raise ConfigError(f"{place}/{name}/model is '{column.model}'; choose from {', '.join(experiment.columns)}.")
        if column.extra not in (saved := experiment.extras.get(column.model, ())):
            known = f"extras of {column.model} are {', '.join(saved) or 'none'}"
            remedy = f"Add it: 'extras: {{{column.model}: [{column.extra}]}}'."
            raise ConfigError(f"{place}/{name} needs the extra '{column.extra}', but {known}. {remedy}")
    return found


def check_has_copies(experiment: Experiment) -> None:
    """Raise `ConfigError` for data sets without permuted copies of their columns."""
    for dataset in experiment.datasets:
        if IRRELEVANT not in parse_variant(dataset)[1]:
            lacking = f"'{dataset}' has no permuted copies of its columns; relevant features are told from these"
            raise ConfigError(f"{experiment.place}/datasets: {lacking}. Take '{dataset}+{IRRELEVANT}'.")


def explained_by_rows(
    experiment: Experiment, rows: Iterable[TidyRow], labels: Mapping[str, str]
) -> Iterable[dict[str, object]]:
    """Yield what other test rows explain of the distance to the paper's numbers, and what stays open.

    A variant with the operation ``rest`` is compared with the variant of the same data set that is tested on the given
    rows. Each has `dataset`, `other`, and `parts`: label, metric, number on the other and on these rows, the paper's.
    """
    found = {(row.dataset, row.model): row for row in rows if row.mean is not None and row.published is not None}
    for dataset, other in itertools.permutations(experiment.datasets, 2):
        is_twin = is_of_rest(dataset) and not is_of_rest(other)
        if not is_twin or experiment.base(dataset) != experiment.base(other):
            continue
        both = [(found.get((other, model)), found.get((dataset, model)), label) for model, label in labels.items()]
        parts = [
            {"label": label, "metric": own.metric, "before": before.mean, "now": own.mean, "printed": own.published}
            for before, own, label in both
            if before is not None and own is not None
        ]
        if parts:
            yield {"dataset": dataset, "other": other, "parts": parts}


def is_of_rest(dataset: str) -> bool:
    """Whether a variant is tested on other rows than the given ones."""
    return any(operation.startswith("rest-") for operation in parse_variant(dataset)[1])


def ranking_auc(importances: np.ndarray) -> float:
    """Return the area under the ROC curve of telling original columns from their permuted copies, which follow them.

    It is the share of pairs (original column, copy) in which the original column is more important, ties counting half;
    NaN if an importance is not finite. Importances are not clipped.
    """
    n = len(importances) // 2
    scale = np.abs(importances).max()
    if not np.isfinite(scale):
        return math.nan
    # Sums of the same terms in another order (shares of few rows, as MDA is made of) tie.
    rounded = np.round(importances / scale, 12) if scale > 0 else importances
    return float((rankdata(rounded)[:n].sum() - n * (n + 1) / 2) / n**2)
