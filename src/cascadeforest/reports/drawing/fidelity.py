"""Published numbers against reproduced ones: tables, a scatter figure, and the page docs/fidelity.md."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from cascadeforest.experiments.plan import Paper
from cascadeforest.reports.drawing import metric_head, number_text, printed_text
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.figure import Figure
from cascadeforest.reports.drawing.formats import to_markdown
from cascadeforest.reports.drawing.lines import SUMMARY, Cell, Row, TableView, printed_cell, signed_text
from cascadeforest.reports.drawing.words import environment, sentences
from cascadeforest.reports.numbers.fidelity import BEYOND, NEAR, POINT, WITHIN, Compared, Fidelity
from cascadeforest.reports.numbers.metrics import COMPARED, known_metric
from cascadeforest.reports.numbers.results import Results

TITLE: Final = "Published against reproduced"
#: Panels of the figure: titles, with what belongs there. Errors stand as accuracies.
_ERROR = "error_rate"
_PANELS: Final[dict[str, Callable[[Compared], bool]]] = {
    "accuracy (%)": lambda one: one.row.metric in ("accuracy", _ERROR),
    "ROC AUC (%)": lambda one: one.row.metric == "roc_auc",
    "parts of predictions": lambda one: one.printed.unit == "fraction" and not known_metric(one.row.metric).percent,
}


@dataclass(frozen=True)
class FidelityReport:
    """Tables, words and figure of a suite; without a graded score there is no figure."""

    introduction: str
    summary: TableView
    papers: tuple[TableView, ...]
    figure: Figure | None

    def markdown(self, picture: str) -> str:
        """Return the page, which shows the picture that lies at this address."""
        parts = [f"# {TITLE}\n\n{self.introduction}\n"]
        for view in (self.summary, *self.papers):
            parts.append(to_markdown(view).removeprefix("#"))  # one level higher than on a page of its own
            if view is self.summary and self.figure:
                parts.append(f"![{self.figure.alt}]({picture})\n\n{self.figure.caption}\n")
        return "\n".join(parts)


def report(found: Fidelity, results: Results) -> FidelityReport:
    """Arrange what was compared: a summary, then the numbers of each paper."""
    papers, printed = results.plan.papers, sum(found.printed.values())
    by_paper = {key: [one for one in found.compared if one.experiment.paper == key] for key in papers}
    first = [one for one in found.compared if one.is_first]
    graded = [one for one in first if one.grade]
    near = [one for one in graded if one.grade != BEYOND]
    facts = [one for one in graded if one.kind == "fact"]
    shares = [one for one in graded if one.kind == "score" and one.row.metric in ("accuracy", _ERROR, "roc_auc")]
    plain = [one for one in shares if abs(one.difference) <= max(POINT, 2 * float(one.printed.std or 0)) + 1e-12]
    explained = [one for one in graded if one.explanation is not None]
    told: dict[str, Any] = dict(suite=results.suite, graded=graded, beside=len(first), printed=printed)
    told |= dict(near=near, explained=explained, facts=facts, shares=shares, plain=plain)
    words: Any = environment().get_template("fidelity.j2").make_module(told)
    heads: tuple[str, ...] = ("printed", "beside ours", "another size", "not graded", "data: equal", "data: differ")
    heads += (WITHIN, NEAR, "explained", "unexplained")
    lines = [_summary(papers[key].short, found.printed[key], own) for key, own in by_paper.items()]
    lines.append(replace(_summary("all", printed, found.compared), kind=SUMMARY))
    title = "published numbers by what was reproduced"
    notes = tuple(sentences(words.notes()))
    summary = TableView("Summary", title, results.suite, ("paper",), heads, "", tuple(lines), notes)
    shown = tuple(_table(papers[key], own, results.suite) for key, own in by_paper.items() if own)
    figure = _figure(first, results, " ".join(sentences(words.caption())))
    return FidelityReport(" ".join(sentences(words.introduction())), summary, shown, figure)


def _summary(label: str, printed: int, compared: Iterable[Compared]) -> Row:
    own = [one for one in compared if one.is_first]
    facts, grades = ([one.grade for one in own if (one.kind == "fact") == is_fact] for is_fact in (True, False))
    explained = sum(one.explanation is not None for one in own)
    sized, ungraded = sum(bool(one.size) for one in own), sum(not one.size and not one.grade for one in own)
    numbers = [printed, len(own), sized, ungraded, facts.count(WITHIN), facts.count(BEYOND)]
    numbers += [grades.count(WITHIN), grades.count(NEAR), explained, grades.count(BEYOND) - explained]
    return Row((label,), tuple(Cell(f"{number:,}") for number in numbers))


def _table(paper: Paper, compared: Sequence[Compared], suite: str) -> TableView:
    """Return the table of a paper's numbers that do not come back, with the others folded away below it."""
    sides, graded = ("published", "reproduced"), ("difference", "2 s. d.", "repeats × test rows")

    def view(title: str, heads: tuple[str, ...], last: str, lines: list[Row]) -> TableView:
        labels = ("table", "data set", "model", "number")
        return TableView(paper.short, title.format(len(lines)), suite, labels, sides + heads, last, tuple(lines))

    beyond = [one for one in compared if one.grade == BEYOND and one.is_first]
    back = [one for one in compared if one.grade and one not in beyond]
    near = [_line(one, *_graded(one), size=one.grade + _bounded(one)) for one in back]
    sized = [_line(one, size=one.size + _bounded(one)) for one in compared if one.size]
    others = [_line(one, _ratio(one), size=_bounded(one)[2:]) for one in compared if not (one.grade or one.size)]
    below = (
        view("Numbers that come back, and further columns for the same numbers: {}", graded, "grade", near),
        view("Numbers of data of another size: {}", (), "size", sized),
        view("Costs, and counts over data sets: {}", ("ratio",), "bound", others),
    )
    lines = [_line(one, *_graded(one), size=_why(one)) for one in beyond]
    main = view(f"{paper.source}; numbers that do not come back: {{}}", graded, "why", lines)
    return replace(main, folded=tuple(one for one in below if one.rows))


def _line(one: Compared, *more: Cell, size: str = "") -> Row:
    """Return a line: labels, the published and the reproduced number, and more cells."""
    metric, label = one.row.metric, one.label or "data"  # an empty label would be taken for the one above
    model = label if one.is_first else f"{label} ↳"
    number = ", ".join(filter(None, (metric_head(metric), one.row.condition)))
    if one.kind in ("fact", "count"):
        ours = printed_text(metric, Decimal(f"{one.row.number:.10g}"), None)
    else:
        ours = number_text(metric, one.row.number, one.row.std)
    numbers = Cell(printed_cell(metric, one.printed).text), Cell(ours)
    return Row((one.experiment.id, one.row.dataset, model, number), (*numbers, *more), size=size)


def _graded(one: Compared) -> Iterable[Cell]:
    """Yield difference, two standard deviations of it, repeats and test rows."""
    difference = signed_text(one.row.metric, one.difference, None)
    width = "unknown" if one.tolerance is None else number_text(one.row.metric, one.tolerance, None)
    if one.kind == "fact":
        difference, width = f"{one.difference:+,.10g}".replace("-", "−").replace("+0", "0"), "exact"
    size = f"{one.row.n or ''}" + (f" × {one.row.n_test:,}" if one.row.n_test and one.row.metric in COMPARED else "")
    return Cell(difference), Cell(width, is_word=width in ("unknown", "exact")), Cell(size)


def _ratio(one: Compared) -> Cell:
    if one.kind == "cost" and one.published:
        return Cell(f"{one.row.number / one.published:.2g}")
    return Cell("not compared", is_word=True)


def _why(one: Compared) -> str:
    """Write what explains a difference."""
    if one.explanation is None:
        return one.note or f"unexplained{_bounded(one)}"
    by = one.explanation.by
    model = one.experiment.labels.get(by.model, by.model)
    return f"explained by {', '.join(filter(None, (by.dataset, model)))}: {one.explanation.words}{_bounded(one)}"


def _bounded(one: Compared) -> str:
    return f"; bounded: {', '.join(one.bounds)}" if one.bounds else ""


def _figure(first: Iterable[Compared], results: Results, caption: str) -> Figure | None:
    """Reproduced against published scores: a panel for each kind, a look for each paper, rings beyond a point."""
    scores = [one for one in first if one.kind == "score" and one.grade]
    panels = []
    for title, belongs in _PANELS.items():
        places = [(_place(one), one.experiment.paper, one.grade == BEYOND) for one in scores if belongs(one)]
        if not places:
            continue
        ends = [min(min(place) for place, *_ in places), max(max(place) for place, *_ in places)]
        marks: list[draw.Mark] = [draw.line(ends, ends, draw.Look(draw.GREY, "", draw.DASHED), "equal", width=0.9)]
        for number, (key, paper) in enumerate(results.plan.papers.items()):
            for is_ring in (False, True):
                if shown := [place for place, *which in places if which == [key, is_ring]]:
                    x, y = zip(*shown, strict=True)
                    marks.append(draw.points(x, y, draw.look(number), paper.short, 4.0, ring=is_ring))
        panels.append(draw.Panel(marks, title, draw.Axis("published"), draw.Axis("reproduced"), equal=True))
    if not panels:
        return None
    picture = draw.Picture([draw.Part([panels], height=2.6)], legend=True, legend_columns=6)
    return Figure(caption, f"{TITLE}.", tuple(one.row for one in scores), picture.draw)


def _place(one: Compared) -> tuple[float, float]:
    def shown(number: float) -> float:
        percent = 100 * (1 - number if one.row.metric == _ERROR else number)
        return percent if known_metric(one.row.metric).percent else number

    return shown(one.published), shown(one.row.number)
