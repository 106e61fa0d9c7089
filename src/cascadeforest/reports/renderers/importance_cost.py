"""What importances cost, the training of the model included (interp-fig7): bars for each data set.

``options: {columns: {name: {model: ..., extra: ..., label: ...}}}`` names the importances; the cost of the others is
divided by that of the first.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cascadeforest.reports.derived import COST_FLOORS, IMPORTANCE_COST, WHOLE_COST, known_metric
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure
from cascadeforest.reports.importances import IRRELEVANT, ImportanceCells, ImportanceColumn, importance_columns
from cascadeforest.reports.notes import budget_note, data_notes, listed, processor_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.score_lines import number_cell, number_cells, reason_notes
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import OK, TidyRow
from cascadeforest.reports.view import REPRODUCED, Cell, Row, TableView, decimals, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

FIT, RATIO = "fit_cpu_seconds", f"{WHOLE_COST}_ratio"
SMALLEST, LARGEST = "smallest of the repeats", "largest of the repeats"
#: What ends the name of a data set with permuted copies of its features.
_COPIES = f"+{IRRELEVANT}"
#: Colour and hatch of an importance; training is grey.
_LOOKS = ((BLUE, "//"), (ORANGE, ".."), (GREEN, "xx"), (PURPLE, "--"))
#: Inches that a row of panels is high, and the legend.
_HEIGHT, _LEGEND_HEIGHT = 2.1, 0.35


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If an option cannot be used.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.columns = importance_columns(experiment)
        self.first, *self.others = self.columns
        #: Importances of one model have its training in common.
        self.models = list(dict.fromkeys(column.model for column in self.columns.values()))
        self.published = Published(experiment, results.published)
        self.cells = ImportanceCells(experiment, results)
        #: (data set, column) to CPU seconds of the importances, and with the training, a number for each repeat.
        self.importance: dict[tuple[str, str], list[float]] = {}
        self.whole: dict[tuple[str, str], list[float]] = {}
        self.n_columns: dict[str, int] = {}
        for dataset in experiment["datasets"]:
            for column in self.columns.values():
                self._read(dataset, column)
        self.rows = {row.key: row for dataset in experiment["datasets"] for row in self._rows(dataset)}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _read(self, dataset: str, column: ImportanceColumn) -> None:
        saved = self.cells.arrays(dataset, column)
        key, fits = (dataset, column.name), self._fits(dataset, column.model)
        self.importance[key] = [float(arrays["cpu_seconds"]) for arrays in saved]
        self.whole[key] = [fit + own for fit, own in zip(fits, self.importance[key], strict=True)]
        if saved:
            self.n_columns[dataset] = len(saved[0]["importances"])

    def _fits(self, dataset: str, model: str) -> list[float]:
        return [cell["metrics"][FIT] for cell in self.cells.cells(dataset, model)]

    def _rows(self, dataset: str) -> Iterable[TidyRow]:
        for model in self.models:
            yield self._row(TidyRow(dataset, model, "", FIT), model, self._fits(dataset, model))
        for name, column in self.columns.items():
            for metric, found in ((IMPORTANCE_COST, self.importance), (WHOLE_COST, self.whole)):
                yield self._row(TidyRow(dataset, name, "", metric), column.model, found[dataset, name])
        for name in self.others:
            yield from self._ratios(dataset, name)

    def _row(self, row: TidyRow, model: str, values: Sequence[float]) -> TidyRow:
        if not values:
            return replace(row, **self.cells.lacking(row, model))
        std = statistics.stdev(values) if len(values) > 1 else None
        n_test = min(cell["n_test"] for cell in self.cells.cells(row.dataset, model))
        return replace(row, mean=statistics.fmean(values), std=std, n=len(values), n_test=n_test)

    def _ratios(self, dataset: str, name: str) -> Iterable[TidyRow]:
        """Mean cost over that of the first column, and the ratio of single repeats."""
        own, first = self.whole[dataset, name], self.whole[dataset, self.first]
        row = TidyRow(dataset, name, f"against {self.first}", RATIO)
        if not own or not first:
            lacking = name if not own else self.first
            yield replace(row, **self.cells.lacking(row, self.columns[lacking].model))
            return
        yield replace(row, mean=statistics.fmean(own) / statistics.fmean(first), n=len(own))
        ratios = [a / b for a, b in zip(own, first, strict=True)]
        for words, value in ((SMALLEST, min(ratios)), (LARGEST, max(ratios))) if len(ratios) > 1 else ():
            yield replace(row, condition=f"{row.condition}, {words}", mean=value, n=1)

    def _ratio(self, dataset: str, name: str) -> TidyRow:
        return self.rows[dataset, name, f"against {self.first}", RATIO]

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=("data set",),
            heads=tuple(self._heads()),
            size_head="repeats × training rows × columns",
            rows=tuple(map(self._line, self.experiment["datasets"])),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        rows = tuple(self.rows.values())
        return Table(rows, view, Figure(self._caption(), self._alt(), rows, self._draw))

    def _heads(self) -> Iterable[str]:
        for model in self.models:
            words = "" if len(self.models) == 1 else f" of {self.experiment['labels'][model]}"
            yield f"training{words} (CPU s)"
        yield from (f"{column.label} (CPU s)" for column in self.columns.values())
        yield from (f"training and {column.label} (CPU s)" for column in self.columns.values())
        yield from (self._ratio_words(name) for name in self.others)

    def _ratio_words(self, name: str) -> str:
        return f"{self.columns[name].label} : {self.columns[self.first].label}"

    def _line(self, dataset: str) -> Row:
        costs = [self.rows[dataset, model, "", FIT] for model in self.models]
        costs += [
            self.rows[dataset, name, "", metric] for metric in (IMPORTANCE_COST, WHOLE_COST) for name in self.columns
        ]
        ratios = [self._ratio(dataset, name) for name in self.others]
        if all(row.status != OK for row in (*costs, *ratios)):
            return Row((dataset,), number_cells([*costs, *ratios]), REPRODUCED)
        cells = (*map(number_cell, costs), *map(self._ratio_cell, ratios))
        return Row((dataset,), cells, REPRODUCED, self._size(dataset))

    def _ratio_cell(self, row: TidyRow) -> Cell:
        if row.mean is None:
            return number_cell(row)
        text, places = number_text(RATIO, row.mean, None), decimals(RATIO, row.mean)
        ends = [self.rows.get((*row.key[:2], f"{row.condition}, {words}", RATIO)) for words in (SMALLEST, LARGEST)]
        return Cell(text if None in ends else f"{text} ({ends[0].mean:,.{places}f} to {ends[1].mean:,.{places}f})")

    def _size(self, dataset: str) -> str:
        cells = [cell for model in self.models for cell in self.cells.cells(dataset, model)]
        repeats = max(len(self.cells.cells(dataset, model)) for model in self.models)
        return f"{repeats} × {min(cell['n_train'] for cell in cells):,} × {self.n_columns[dataset]:,}"

    def _notes(self) -> Iterable[str]:
        first = self.columns[self.first].label
        yield (
            "Mean ± standard deviation over repeats (sample deviation, ddof = 1; none for one repeat) of CPU seconds "
            f"(user and system), suite {self.results.suite}: of training, of computing the importances of the trained "
            "model once (of a tiny model before, so that compiling does not count), and of both. The last column says "
            "how many repeats, training rows, and columns with their permuted copies."
        )
        yield (
            f"Ratios: mean cost of training and importances divided by that of {first}; in brackets the smallest and "
            "the largest ratio of a single repeat."
        )
        floor = COST_FLOORS[known_metric(WHOLE_COST).unit]
        if any(row.metric == WHOLE_COST and row.mean is not None and row.mean < floor for row in self.rows.values()):
            yield f"Ratios of costs below {floor:g} CPU s are mostly noise; there are some here."
        yield "Measured cost differs from run to run and from machine to machine."
        yield from processor_notes(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        yield from data_notes(self.experiment, self.results, self.published)
        shown = [self.rows[dataset, model, "", FIT] for dataset in self.experiment["datasets"] for model in self.models]
        yield from reason_notes(self.experiment, shown, lambda row: self.experiment["labels"][row.model])

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        labels = [column.label for column in self.columns.values()]
        ratios = listed([self._ratio_words(name) for name in self.others])
        parts = [
            f"CPU seconds of training (grey) and of {listed(labels)} (coloured), mean over repeats.",
            f"Above the bars: ratios {ratios} of both together." if self.others else "",
        ]
        if any(dataset.endswith(_COPIES) for dataset in self.experiment["datasets"]):
            parts.append(f"Titles leave out {_COPIES}: each data set has permuted copies of its features.")
        if any(row.std is not None for row in self.rows.values()):
            parts.append("Whiskers: ± one standard deviation over repeats of both together.")
        return " ".join(filter(None, [*parts, *self._words()]))

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._words()])

    def _words(self) -> Iterable[str]:
        for dataset in self.experiment["datasets"]:
            parts = [
                f"{number_text(WHOLE_COST, row.mean, None)} CPU s with {column.label}"
                for name, column in self.columns.items()
                if (row := self.rows[dataset, name, "", WHOLE_COST]).mean is not None
            ]
            parts += [
                f"{self._ratio_words(name)} = {number_text(RATIO, row.mean, None)}"
                for name in self.others
                if (row := self._ratio(dataset, name)).mean is not None
            ]
            yield f"{dataset}: {'; '.join(parts) if parts else self._reason(dataset)}."

    def _reason(self, dataset: str) -> str:
        """Why there is nothing to draw."""
        rows = [self.cells.status(dataset, model) for model in self.models]
        return "; ".join(dict.fromkeys(f"{row.status}: {row.note}" if row.note else row.status for row in rows))

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        datasets = self.experiment["datasets"]
        n_across = 2 if len(datasets) in (2, 4) else min(len(datasets), 3)
        n_rows = -(-len(datasets) // n_across)
        heights = [n_rows * _HEIGHT, _LEGEND_HEIGHT]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        upper, lower = picture.subfigures(2, 1, height_ratios=heights)
        panels = upper.subplots(n_rows, n_across, squeeze=False).ravel()
        entries: dict[str, Any] = {}
        for axes, dataset in zip(panels, datasets, strict=False):
            # A long name would run into the next panel; the caption says what is left out.
            axes.set_title(dataset.removesuffix(_COPIES))
            self._draw_panel(axes, dataset)
            entries |= {label: one for one, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        for axes in panels[len(datasets) :]:
            axes.set_axis_off()
        upper.supylabel("CPU seconds", fontsize=8)
        lower.legend(entries.values(), entries.keys(), loc="center", ncols=max(len(entries), 1))
        return picture

    def _draw_panel(self, axes: Axes, dataset: str) -> None:
        shown = [name for name in self.columns if self.whole[dataset, name]]
        if not shown:
            _write(axes, self._reason(dataset))
            return
        for at, name in enumerate(self.columns):
            if name not in shown:
                continue
            colour, hatch = _LOOKS[at % len(_LOOKS)]
            whole, own = (self.rows[dataset, name, "", metric] for metric in (WHOLE_COST, IMPORTANCE_COST))
            fit, label = self.rows[dataset, self.columns[name].model, "", FIT], self.columns[name].label
            axes.bar(at, fit.mean, 0.6, color=GREY, label="training")
            look = {"color": f"{colour}99", "edgecolor": colour, "hatch": hatch, "linewidth": 0.6}
            axes.bar(at, own.mean, 0.6, bottom=fit.mean, label=label, **look)
            if whole.std is not None:
                axes.errorbar(at, whole.mean, whole.std, color=BLACK, capsize=3, linewidth=1)
            if name in self.others and (ratio := self._ratio(dataset, name)).mean is not None:
                top = whole.mean + (whole.std or 0.0)
                text = f"{number_text(RATIO, ratio.mean, None)} : 1"
                # On white, so that no grid line runs through the number.
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
                place = {"textcoords": "offset points", "ha": "center", "va": "bottom", "bbox": box}
                axes.annotate(text, (at, top), (0, 3), **place)
        axes.set_xticks(range(len(self.columns)), [column.label for column in self.columns.values()])
        axes.set_xlim(-0.6, len(self.columns) - 0.4)
        axes.set_ylim(0, 1.15 * axes.get_ylim()[1])  # room for the ratio
        axes.grid(visible=False, axis="x")


def _write(axes: Axes, words: str) -> None:
    """Words in the place of one panel."""
    import textwrap

    axes.set_axis_off()
    text = textwrap.fill(words, 28)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic")
