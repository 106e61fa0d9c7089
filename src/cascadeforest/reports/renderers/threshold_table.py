"""DDBF's thresholds compared (ddbf-threshold): scores, who passes at once, and where mutual information fell back.

A line for each data set and model. ``options: {means: {column: column}}`` names for a column with mutual information
the same model with the mean. Where mutual information passes no row the mean stands in for it, so that the two can be
one model: their equal numbers are then said to be that, and only the mean's carry a mark.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.notes import budget_note, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import number_cells, reason_notes, size_text
from cascadeforest.reports.split_groups import split_notes
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import row_marks, score_rows
from cascadeforest.reports.tidy import OK, TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, TableView, metric_head

EXTRA = "iterations"
RATE, FALLBACKS, ITERATIONS = "train_pass_rate", "fallbacks", "n_layers"
FIRST = "iteration 1"
#: What stands where the threshold is not mutual information: there is nothing to fall back from.
NOTHING = "–"


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its option `means` says which column is another one's with the mean.
    results : Results
        Its cells and the arrays that they saved under `EXTRA`.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If `means` names what is no column, or a column's cells save no iterations.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.place = f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"
        self.means = self._means()
        scores = {(row.dataset, row.model, row.metric): row for row in score_rows(experiment, results)}
        self.metrics = [metric for metric in experiment["metrics"] if any(key[2] == metric for key in scores)]
        self.pairs = list(dict.fromkeys(key[:2] for key in scores))
        self.arrays = {pair: self._arrays(*pair, scores) for pair in self.pairs}
        self.ties = {
            pair for pair in self.pairs if pair[1] in self.means and self._is_tie(pair, (pair[0], self.means[pair[1]]))
        }
        self.rows = {row.key: row for pair in self.pairs for row in self._rows(pair, scores)}

    def _means(self) -> dict[str, str]:
        means = self.experiment["options"].get("means", {})
        for column in (*means, *means.values()):
            if column not in self.experiment["columns"]:
                known = ", ".join(self.experiment["columns"])
                raise ConfigError(f"{self.place}/options/means: '{column}' is no column; choose from {known}.")
        return means

    # Numbers ------------------------------------------------------------------------------------------------------

    def _cells(self, pair: tuple[str, str]) -> list[dict[str, Any]]:
        dataset, column = pair
        preset, repeats = self.experiment["columns"][column], self.experiment["repeats"][dataset]
        return self.results.cells(dataset, preset, repeats) or []

    def _arrays(self, dataset: str, column: str, scores: Mapping[Any, TidyRow]) -> list[dict[str, Any]]:
        """What each repeat saved; nothing where there are no numbers."""
        if all(scores[dataset, column, metric].status != OK for metric in self.metrics):
            return []
        found = [self.results.arrays(cell, EXTRA) for cell in self._cells((dataset, column))]
        if not all(found):
            raise ConfigError(
                f"{self.place}/models/{column}: '{self.experiment['columns'][column]}' has no iterations. Take it out."
            )
        return found

    def _is_tie(self, own: tuple[str, str], mean: tuple[str, str]) -> bool:
        """Whether a model fell back in every repeat, divided the rows as the mean does and has its numbers."""
        repeats = list(zip(self.arrays[own], self.arrays[mean], self._cells(own), self._cells(mean), strict=False))
        return (
            bool(repeats)
            and all(
                mine["fell_back"].any()
                # The last iteration answers all rows that are left, whoever is easy in it.
                and mine["easy_counts_train"][:-1].tolist() == other["easy_counts_train"][:-1].tolist()
                and all(cell["metrics"].get(metric) == twin["metrics"].get(metric) for metric in self.metrics)
                for mine, other, cell, twin in repeats
            )
        )

    def _rows(self, pair: tuple[str, str], scores: Mapping[Any, TidyRow]) -> Iterable[TidyRow]:
        found = [scores[*pair, metric] for metric in self.metrics]
        yield from (replace(row, mark="") if pair in self.ties else row for row in found)
        arrays = self.arrays[pair]

        def row(condition: str, metric: str, values: Sequence[float]) -> TidyRow:
            own = TidyRow(*pair, condition, metric)
            if not values:
                return replace(own, status=found[0].status, note=found[0].note)
            spread = float(statistics.stdev(values)) if len(values) > 1 else None
            n_test = min(cell["n_test"] for cell in self._cells(pair))
            return replace(own, mean=statistics.fmean(values), std=spread, n=len(values), n_test=n_test)

        rates = [float(one["easy_counts_train"][0].sum() / one["class_counts_train"][0].sum()) for one in arrays]
        yield row(FIRST, RATE, rates)
        if pair[1] in self.means:
            yield row("", FALLBACKS, [float(one["fell_back"].sum()) for one in arrays])
            yield row("", ITERATIONS, [float(len(one["fell_back"])) for one in arrays])

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=("data set", "model"),
            heads=(
                *map(metric_head, self.metrics),
                "easy in iteration 1 (% of training rows)",
                "fell back to the mean",
            ),
            size_head="repeats × test rows",
            rows=tuple(line for dataset in self.experiment["datasets"] for line in self._lines(dataset)),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        return Table(tuple(self.rows.values()), view)

    def _lines(self, dataset: str) -> Iterable[Row]:
        """A line a model; one for all of them if they lack numbers for the same reason."""
        columns = list(self.experiment["columns"])
        lines = {column: self._line(dataset, column) for column in columns}
        reasons = {(row.status, row.note) for line in lines.values() for row in line}
        if len(reasons) == 1 and next(iter(reasons))[0] != OK:
            line = lines[columns[0]]
            yield Row((dataset, "all models"), (number_cells(line)[0],) * (len(line) + 1))
            return
        for column, line in lines.items():
            cells = number_cells(line)
            last = cells[-1] if line[-1].status != OK else self._fallback_cell(dataset, column)
            yield Row((dataset, self._label(column)), (*cells, last), REPRODUCED, size_text(line))

    def _line(self, dataset: str, column: str) -> list[TidyRow]:
        keys = [*(("", metric) for metric in self.metrics), (FIRST, RATE)]
        return [self.rows[dataset, column, condition, metric] for condition, metric in keys]

    def _fallback_cell(self, dataset: str, column: str) -> Cell:
        if column not in self.means:
            return Cell(NOTHING, is_word=True)
        counts = [self.rows[dataset, column, "", metric].mean for metric in (FALLBACKS, ITERATIONS)]
        texts = [f"{count:.0f}" if count == round(count) else f"{count:.1f}" for count in counts]
        return Cell(f"{texts[0]} of {texts[1]} iterations")

    def _label(self, column: str) -> str:
        return self.experiment["labels"][column]

    def _notes(self) -> Iterable[str]:
        yield (
            "Mean ± standard deviation over repeats (sample deviation, ddof = 1; none for one repeat), suite "
            f"{self.results.suite}. The last column says how many repeats, and the rows of the smallest test set."
        )
        yield (
            "Easy in iteration 1: training rows that its threshold passes, of all training rows. Fell back: "
            "iterations, as a mean over repeats, in which mutual information passed no row and the mean took its place."
        )
        if legend := row_marks(self.experiment).legend():
            yield legend
        yield from self._tie_notes()
        yield from split_notes(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        published = Published(self.experiment, self.results.published)
        yield published_note(self.experiment, published)
        yield from data_notes(self.experiment, self.results, published)
        rows = [row for row in self.rows.values() if row.metric in self.metrics]
        yield from reason_notes(self.experiment, rows, lambda row: self._label(row.model))

    def _tie_notes(self) -> Iterable[str]:
        """Which lines are the mean's, once a model."""
        for column, mean in self.means.items():
            where = [dataset for dataset, name in self.pairs if (dataset, name) in self.ties and name == column]
            if where:
                yield (
                    f"{', '.join(where)}: {self._label(column)} is {self._label(mean)} in every repeat, since it fell "
                    "back to the mean wherever rows could pass; its equal numbers are no finding and carry no mark."
                )
