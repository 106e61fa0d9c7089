"""What a renderer gives: the tidy rows, the view of them, and the files made of both."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import atomic_write
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.drawing import folded as below
from cascadeforest.reports.drawing.figure import Figure
from cascadeforest.reports.drawing.formats import to_latex, to_markdown
from cascadeforest.reports.drawing.lines import PUBLISHED, Row, TableView
from cascadeforest.reports.drawing.panels import Picture
from cascadeforest.reports.drawing.words import notes_and_caption
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.costs import rows as timed_rows
from cascadeforest.reports.numbers.differences import Difference
from cascadeforest.reports.numbers.frame import Found, TidyRow, to_csv
from cascadeforest.reports.numbers.growth import growth_rows
from cascadeforest.reports.numbers.metrics import COSTS
from cascadeforest.reports.numbers.results import Results


@dataclass(frozen=True)
class Table:
    """A table, ready to be written, and the picture that it belongs to if the experiment is a figure."""

    rows: tuple[TidyRow, ...]
    view: TableView
    figure: Figure | None = None

    @classmethod
    def of(
        cls,
        cells: Cells,
        facts: Mapping[str, object],
        rows: Iterable[TidyRow] | Mapping[Pair, Found],
        label_heads: Sequence[str],
        heads: Iterable[str],
        lines: Iterable[Row],
        size: str = "repeats × test rows",
        picture: Picture | None = None,
        drawn: Iterable[TidyRow] | Mapping[Pair, Found] | None = None,
        folded: Iterable[TableView] = (),
        compared: Sequence[Difference] = (),
        labels: Mapping[str, str] | None = None,
    ) -> Self:
        """Arrange the lines of a table, and add its picture with the numbers that are drawn, by default `rows`.

        `facts` are what the template of the renderer speaks of, beside those that every template knows, and
        `numbers`, which returns the rows with a number whose fields are as given.
        `label_heads` lack the last one, of the label that tells reproduced from published lines; it is dropped if all
        lines are reproduced. `size` is the head of the last column: what stands behind a line; empty for none. `folded`
        are tables below; those of the differences `compared`, with the `labels` of their models, of costs timed in turn
        and of what models grew and chose are added.
        """
        rows, drawn = _each(rows), None if drawn is None else _each(drawn)
        experiment, shown, first = cells.experiment, list(lines), (*label_heads, "")
        rows = (*rows, *(one.row for one in compared))
        if not any(row.kind == PUBLISHED for row in shown):
            first, shown = first[:-1], [replace(row, labels=row.labels[:-1]) for row in shown]
        head, in_turn = (experiment.id, experiment.title, cells.results.suite), tuple(timed_rows(cells))
        told: dict[str, object] = {"numbers": partial(_numbers, rows), "intervals": below.told_of(compared)}
        told |= {"timings": below.told_in_turn(cells, in_turn)}
        told |= {"measures_cost": any(row.metric in COSTS for row in rows), **facts}
        notes, caption = notes_and_caption(cells, told)
        folded = *folded, *below.differences(cells, compared, labels=labels), *below.in_turn(cells, in_turn)
        folded = *folded, *below.growth(cells)
        view = TableView(*head, first, tuple(heads), size, tuple(shown), notes, experiment.deviations, folded)
        every = *rows, *in_turn, *growth_rows(cells)
        if picture is None:
            return cls(every, view)
        return cls(every, view, Figure(caption, f"{experiment.title}.", rows if drawn is None else drawn, picture.draw))

    def files(self) -> dict[str, str]:
        """Suffix to content; the same bytes for the same results."""
        return {".csv": to_csv(self.rows), ".md": to_markdown(self.view), ".tex": to_latex(self.view)}


def _each(rows: Iterable[TidyRow] | Mapping[Pair, Found]) -> tuple[TidyRow, ...]:
    """Return the rows; facts about data come once, whatever the number of models."""
    if isinstance(rows, Mapping):
        rows = {row.key: row for own in rows.values() for row in own.values()}.values()
    return tuple(rows)


def _numbers(rows: Iterable[TidyRow], **fields: str) -> list[TidyRow]:
    return [row for row in rows if row.mean is not None and all(getattr(row, k) == v for k, v in fields.items())]


def make_table(name: str, results: Results) -> Table:
    """Draw one experiment; `UserError` if it is unknown or not implemented, or a figure whose renderer draws none."""
    experiment = results.plan.experiment(name)
    # Renderers are found by name: a new one is one file, and no edit here.
    renderer = importlib.import_module(f"cascadeforest.reports.drawing.renderers.{experiment.render}")
    table: Table = renderer.render(Cells(experiment, results))
    if experiment.is_figure and table.figure is None:
        raise ConfigError(
            f"{experiment.place}/kind is '{experiment.kind}', render is '{experiment.render}': this gives no picture. "
            "Take a renderer that draws, or 'kind: table'."
        )
    return table


def write_files(name: str, files: Mapping[str, str | bytes], folder: Path) -> None:
    """Write the files of a table or figure, given as suffix to content."""
    for suffix, content in files.items():
        atomic_write(folder / f"{name}{suffix}", content)
