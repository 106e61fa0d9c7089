"""Markdown, LaTeX and HTML of a table; each writer only knows how its format writes a `TableView`."""

import html
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from cascadeforest.reports.drawing.lines import PUBLISHED, Cell, Row, TableView
from cascadeforest.reports.drawing.words import environment

#: Marks that a table sets in bold, and the sign that others put behind the number.
BOLD_MARKS = frozenset({"best", "predicted"})
SIGNS = {"second": "•", "worse": "•", "worse_2": "◦", "worse_both": "•◦", "differs": "≠"}


def to_markdown(view: TableView) -> str:
    """Write a table as Markdown: heading, table, tables that are folded away, notes, deviations."""
    return _written(view, "table.md.j2")


def to_latex(view: TableView) -> str:
    """Write a table as a LaTeX ``table`` that needs the package booktabs only, with all that stands below it."""
    return _written(view, "table.tex.j2")


def _written(view: TableView, template: str) -> str:
    return environment().get_template(template).render(view=view, bold=BOLD_MARKS, signs=SIGNS, escape=html.escape)


# HTML ----------------------------------------------------------------------------------------------------------------

#: How a screen reader says a mark that others see, if not by its name.
_SPOKEN = {
    "predicted": "predicted class",
    "second": "second best",
    "worse_2": "worse in the second test",
    "worse_both": "worse in both tests",
}


def to_html(view: TableView) -> str:
    """Write ``<table>``, to be put into a page that styles it.

    A published line is not a line of its own: each of its numbers stands in the cell of ours.
    """
    view, published = _paired(view)
    lines = [(row, list(_cells(row, theirs))) for row, theirs in zip(view.rows, published, strict=True)]
    groups = [(name, list(group)) for name, group in groupby(lines, key=lambda line: line[0].labels[0])]
    told = dict(view=view, groups=groups, skip=int(view.is_grouped), bold=BOLD_MARKS, signs=SIGNS, spoken=_SPOKEN)
    return environment().get_template("table.html.j2").render(told)


def _cells(row: Row, published: tuple[Cell, ...]) -> Iterable[tuple[Cell, int, Cell | None]]:
    """Yield the cells of a line, the columns that each takes, and the published number in it."""
    if not published:
        yield from ((cell, span, None) for cell, span in row.merged())
    ours = (Cell(""),) * len(published) if row.kind == PUBLISHED else row.cells
    for own, theirs in zip(ours, published, strict=False):
        yield own, 1, None if theirs.is_word else theirs


def _paired(view: TableView) -> tuple[TableView, list[tuple[Cell, ...]]]:
    """Return the view without published lines below ours, and for each line the published cells that belong to it.

    The label that tells them apart goes. A published line below words that fill several columns stays.
    """
    if not any(row.kind == PUBLISHED for row in view.rows):
        return view, [()] * len(view.rows)
    rows: list[Row] = []
    published: list[tuple[Cell, ...]] = []
    for row in view.rows:
        row = replace(row, labels=row.labels[:-1])
        ours = rows[-1] if rows and row.kind == PUBLISHED else None
        if ours and ours.labels == row.labels and not published[-1] and all(span == 1 for _, span in ours.merged()):
            published[-1] = row.cells
        elif row.kind == PUBLISHED:
            rows.append(replace(row, labels=(*row.labels[:-1], f"{row.labels[-1]}, published")))
            published.append(row.cells)
        else:
            rows.append(row)
            published.append(())
    paired = replace(view, label_heads=view.label_heads[:-1], rows=tuple(rows))
    if not paired.is_grouped:
        return paired, published
    # Numbers of a larger set are a group of their own: it stands below ours, and does not divide it.
    names = [row.labels[0] for row in rows]
    order = sorted(range(len(rows)), key=lambda place: names.index(names[place]))
    return replace(paired, rows=tuple(rows[place] for place in order)), [published[place] for place in order]
