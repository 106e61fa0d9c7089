"""Importances of features that cells saved: which columns a table makes of them, and how well they rank features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_variant
from cascadeforest.reports.results import Results
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import OK, UNAVAILABLE, TidyRow

if TYPE_CHECKING:
    import numpy as np

#: The operation that puts a permuted copy behind each column of a data set.
IRRELEVANT = "irrelevant"


@dataclass(frozen=True)
class ImportanceColumn:
    """One importance of one model.

    Parameters
    ----------
    name : str
        Its name in tidy tables and in the published file.
    model : str
        Column of the experiment, a model.
    extra : str
        What the model's cells save it as.
    label : str
        Words for the table's head.
    """

    name: str
    model: str
    extra: str
    label: str


def importance_columns(experiment: Mapping[str, Any]) -> dict[str, ImportanceColumn]:
    """Read ``options: {columns: {name: {model: ..., label: ..., extra: ...}}}``; `extra` is the name by default.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.

    Returns
    -------
    dict
        Name to column, in the order of the configuration.

    Raises
    ------
    ConfigError
        If a model is no column of the experiment, or does not save the extra.
    """
    place = f"{place_of(experiment)}/options/columns"
    given = experiment["options"].get("columns")
    if not isinstance(given, Mapping) or not given:
        raise ConfigError(f"{place} is {given!r}; give {{name: {{model: ..., label: ...}}}}.")
    found = {}
    for name, row in given.items():
        if not isinstance(row, Mapping) or not {"model", "label"} <= row.keys() <= {"model", "label", "extra"}:
            raise ConfigError(f"{place}/{name} is {row!r}; give model and label, and extra if it is not '{name}'.")
        column = ImportanceColumn(name, row["model"], row.get("extra", name), row["label"])
        if column.model not in experiment["columns"]:
            raise ConfigError(
                f"{place}/{name}/model is '{column.model}'; choose from {', '.join(experiment['columns'])}."
            )
        saved = experiment.get("extras_of", {}).get(column.model, experiment["extras"])
        if column.extra not in saved:
            raise ConfigError(
                f"{place}/{name} needs the extra '{column.extra}', but extras of {column.model} are "
                f"{', '.join(saved) or 'none'}. Add it: 'extras: {{{column.model}: [{column.extra}]}}'."
            )
        found[name] = column
    return found


def place_of(experiment: Mapping[str, Any]) -> str:
    """Where an experiment is declared, for messages."""
    return f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"


class ImportanceCells:
    """What the cells of an experiment saved, or the reason why there is nothing.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.
    """

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self._experiment, self._results = experiment, results
        # Any metric of every model does: what counts is whether the run is there.
        measured = score_rows({**experiment, "metrics": ["fit_cpu_seconds"], "marks": "none"}, results)
        self._status = {(row.dataset, row.model): row for row in measured}

    def status(self, dataset: str, model: str) -> TidyRow:
        """A row that says whether the run is there, and why not."""
        return self._status[dataset, model]

    def cells(self, dataset: str, model: str) -> list[dict[str, Any]]:
        """All repeats; none if they are not there."""
        if self.status(dataset, model).status != OK:
            return []
        experiment = self._experiment
        return self._results.cells(dataset, experiment["columns"][model], experiment["repeats"][dataset]) or []

    def arrays(self, dataset: str, column: ImportanceColumn) -> list[dict[str, np.ndarray]]:
        """What each repeat saved.

        Raises
        ------
        UserError
            If one saved no such arrays, or they are gone.
        """
        return [self._results.arrays(cell, column.extra) for cell in self.cells(dataset, column.model)]

    def lacking(self, row: TidyRow, model: str) -> dict[str, str]:
        """Status and note of a row whose model has no run on its data set."""
        status = self.status(row.dataset, model)
        return {"status": UNAVAILABLE if status.status == OK else status.status, "note": status.note}


def check_has_copies(experiment: Mapping[str, Any]) -> None:
    """Refuse data sets whose columns are not half original, half permuted.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.

    Raises
    ------
    ConfigError
        Naming the data set.
    """
    for dataset in experiment["datasets"]:
        if IRRELEVANT not in parse_variant(dataset)[1]:
            raise ConfigError(
                f"{place_of(experiment)}/datasets: '{dataset}' has no permuted copies of its columns; relevant "
                f"features are told from these. Take '{dataset}+{IRRELEVANT}'."
            )


def ranking_auc(importances: np.ndarray) -> float:
    """Area under the ROC curve of telling original columns from their permuted copies by importance.

    Parameters
    ----------
    importances : ndarray of shape (2 * n_features,)
        The original columns, then their copies; not clipped.

    Returns
    -------
    float
        Share of pairs (original column, copy) in which the original column is more important, ties counting half; NaN
        if an importance is no finite number.
    """
    import numpy as np
    from scipy.stats import rankdata

    n = len(importances) // 2
    scale = np.abs(importances).max()
    if not np.isfinite(scale):
        return math.nan
    # Sums of the same terms in another order (shares of few rows, as MDA is made of) tie.
    rounded = np.round(importances / scale, 12) if scale > 0 else importances
    return float((rankdata(rounded)[:n].sum() - n * (n + 1) / 2) / n**2)
