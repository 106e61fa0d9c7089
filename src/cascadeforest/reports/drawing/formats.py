"""Markdown, LaTeX and HTML of a table; each writer only knows how its format writes a `TableView`."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from cascadeforest.reports.drawing.lines import PUBLISHED, SUMMARY, Cell, Row, TableView
from cascadeforest.reports.drawing.words import environment

#: Marks that a table sets in bold, and the sign that others put behind the number.
BOLD_MARKS = frozenset({"best", "predicted"})
SIGNS = {"second": "•", "worse": "•", "worse_2": "◦", "worse_both": "•◦", "differs": "≠"}

# Markdown ------------------------------------------------------------------------------------------------------------


def to_markdown(view: TableView) -> str:
    """Write a table as Markdown: heading, table, tables that are folded away, notes, deviations."""
    template = environment().get_template("table.md.j2")
    return template.render(view=view, bold=BOLD_MARKS, signs=SIGNS, escape=html.escape)


# LaTeX ---------------------------------------------------------------------------------------------------------------

_MATH = {
    "±": "pm",
    "×": "times",
    "•": "bullet",
    "◦": "circ",
    "≠": "neq",
    "≤": "leq",
    "≥": "geq",
    "→": "rightarrow",
    "√": "surd",
    "†": "dagger",
}
_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "θ": "theta", "μ": "mu", "σ": "sigma", "Σ": "Sigma"}
_TEXT = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "|": "bar", '"': "quotedbl"}
_TEXT |= {"<": "less", ">": "greater"}
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {character: rf"$\{name}$" for character, name in (_MATH | _GREEK).items()}
    | {character: rf"\text{name}{{}}" for character, name in _TEXT.items()}
    | {"−": r"$-$", "…": r"\ldots{}", "°": r"$^\circ$"}
)


def to_latex(view: TableView) -> str:
    """Write a table as a LaTeX ``table`` that needs the package booktabs only, with all that stands below it."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(view.title)} (suite {_latex(view.suite)})}}",
        rf"\label{{tab:{view.name}}}",
        *_latex_tabular(view),
    ]
    for below in view.folded:
        lines += [r"\par\medskip", rf"{_latex(below.title)}\par\smallskip", *_latex_tabular(below)]
    sentences = [*view.notes, *(f"Deviation: {sentence}" for sentence in view.deviations)]
    if sentences:
        # A minipage breaks the lines of a long note also in a centred table.
        lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize"]
        lines += [rf"{_latex(sentence)}\par" for sentence in sentences]
        lines.append(r"\end{minipage}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_tabular(view: TableView) -> list[str]:
    columns = "l" * len(view.label_heads) + "r" * len(view.heads) + ("l" if view.size_head else "")
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_line([_latex(head) for head in view.all_heads]),
        r"\midrule",
    ]
    for index, row in enumerate(view.rows):
        labels = view.new_labels(index)
        if index and labels[0] is not None:
            summary_begins = row.kind == SUMMARY and view.rows[index - 1].kind != SUMMARY
            lines.append(r"\midrule" if summary_begins else r"\addlinespace")
        cells = [_latex_cell(cell, row.kind, span) for cell, span in row.merged()]
        size = [_latex(row.size)] if view.size_head else []
        lines.append(_latex_line([*(_latex(label or "") for label in labels), *cells, *size]))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _latex_line(cells: Sequence[str]) -> str:
    # A line that begins with "[" would be read as the option of the \\ before it.
    line = " & ".join(cells)
    return rf"{{}}{line} \\" if line.startswith("[") else rf"{line} \\"


def _latex_cell(cell: Cell, kind: str, span: int) -> str:
    text = _latex(cell.text)
    if cell.is_word:
        return rf"\multicolumn{{{span}}}{{l}}{{\textit{{{text}}}}}"
    text = rf"\textbf{{{text}}}" if cell.mark in BOLD_MARKS else text
    text = rf"{text}~{_latex(SIGNS[cell.mark])}" if cell.mark in SIGNS else text
    return rf"{{\small {text}}}" if kind == PUBLISHED and text else text


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
