"""Published numbers against reproduced ones: tables, a scatter figure, and the page docs/fidelity.md."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias

from cascadeforest.experiments.plan import Paper
from cascadeforest.reports.drawing import panels as draw
from cascadeforest.reports.drawing.figure import Figure
from cascadeforest.reports.drawing.formats import to_markdown
from cascadeforest.reports.drawing.lines import printed_cell, signed_text
from cascadeforest.reports.drawing.view import SUMMARY, Cell, Row, TableView, metric_head, number_text, printed_text
from cascadeforest.reports.drawing.words import environment
from cascadeforest.reports.numbers.fidelity import BEYOND, NEAR, WITHIN, Compared, Fidelity
from cascadeforest.reports.numbers.metrics import known_metric
from cascadeforest.reports.numbers.results import Results

TITLE: Final = "Published against reproduced"
#: Makes a line of a table of a compared number.
Line: TypeAlias = Callable[[Compared], Row]
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
    papers = results.plan.papers
    by_paper = {key: [one for one in found.compared if one.experiment.paper == key] for key in papers}
    graded = [one for one in _counted(found.compared) if one.grade]
    bounded = [one for one in graded if one.bounds]
    told: dict[str, Any] = dict(suite=results.suite, graded=graded, bounded=bounded)
    told |= dict(beside=len(_counted(found.compared)), printed=sum(found.printed.values()))
    words: Any = environment().get_template("fidelity.j2").make_module(told)

    heads: tuple[str, ...] = ("printed", "beside ours", "another size", "not graded", "data: equal", "data: differ")
    heads += (WITHIN, NEAR, "explained", "unexplained")
    lines = [_summary(papers[key].short, found.printed[key], own) for key, own in by_paper.items()]
    lines.append(_summary("all", sum(found.printed.values()), found.compared, SUMMARY))
    notes = tuple(_lines(words.notes()))
    title = "published numbers by what was reproduced"
    summary = TableView("Summary", title, results.suite, ("paper",), heads, "", tuple(lines), notes, ())
    shown = [_tables(papers[key], own, results.suite) for key, own in by_paper.items() if own]
    figure = _figure(found, results, str(words.caption()))
    return FidelityReport(" ".join(_lines(words.introduction())), summary, tuple(shown), figure)


def _tables(paper: Paper, compared: Sequence[Compared], suite: str) -> TableView:
    """Return the table of a paper's numbers that do not come back, with the others folded away below it."""
    beyond = [one for one in compared if one.grade == BEYOND and one.is_first]
    near = [one for one in compared if one.grade and one not in beyond]
    sized = [one for one in compared if one.size]
    others = [one for one in compared if not one.grade and not one.size]

    def view(title: str, found: Sequence[Compared], last: str, heads: Sequence[str], line: Line) -> TableView:
        labels = ("table", "data set", "model", "number")
        return TableView(paper.short, title, suite, labels, tuple(heads), last, tuple(map(line, found)), (), ())

    sides = ("published", "reproduced")
    graded = (*sides, "difference", "2 s. d.", "repeats × test rows")
    come_back = "Numbers that come back, and further columns for the same numbers"
    below = [
        view(f"{come_back}: {len(near)}", near, "grade", graded, _graded),
        view(f"Numbers of data of another size: {len(sized)}", sized, "size", sides, _sized),
        view(f"Costs, and counts over data sets: {len(others)}", others, "", (*sides, "ratio"), _other),
    ]
    title = f"{paper.source}; {len(beyond)} numbers that do not come back"
    main = view(title, beyond, "why", graded, partial(_graded, with_reason=True))
    return replace(main, folded=tuple(one for one in below if one.rows))


def _lines(text: object) -> Iterable[str]:
    return filter(None, (" ".join(line.split()) for line in str(text).splitlines()))


def _counted(compared: Iterable[Compared]) -> list[Compared]:
    return [one for one in compared if one.is_first]


def _summary(label: str, printed: int, compared: Iterable[Compared], kind: str = "reproduced") -> Row:
    own = _counted(compared)
    facts, grades = ([one.grade for one in own if (one.kind == "fact") == is_fact] for is_fact in (True, False))
    explained = sum(one.explanation is not None for one in own)
    numbers = [
        printed,
        len(own),
        sum(bool(one.size) for one in own),
        sum(not one.size and not one.grade for one in own),
        facts.count(WITHIN),
        facts.count(BEYOND),
        grades.count(WITHIN),
        grades.count(NEAR),
        explained,
        grades.count(BEYOND) - explained,
    ]
    return Row((label,), tuple(Cell(f"{number:,}") for number in numbers), kind)


# Lines ---------------------------------------------------------------------------------------------------------------


def _labels(one: Compared) -> tuple[str, ...]:
    number = ", ".join(filter(None, (metric_head(one.row.metric), one.row.condition)))
    label = one.label or "data"  # an empty label would be taken for the one above
    model = label if one.is_first or not one.row.model else f"{label} ↳"
    return one.experiment.id, one.row.dataset, model, number


def _numbers(one: Compared) -> tuple[Cell, Cell]:
    if one.kind in ("fact", "count"):
        ours = printed_text(one.row.metric, Decimal(f"{one.row.number:.10g}"), None)
    else:
        ours = number_text(one.row.metric, one.row.number, one.row.std)
    return Cell(printed_cell(one.row.metric, one.printed).text), Cell(ours)


def _graded(one: Compared, with_reason: bool = False) -> Row:
    difference = signed_text(one.row.metric, one.difference, None)
    if one.kind == "fact":
        difference, width = f"{one.difference:+,.10g}".replace("-", "−").replace("+0", "0"), "exact"
    elif one.tolerance is None:
        width = "unknown"
    else:
        width = number_text(one.row.metric, one.tolerance, None)
    size = f"{one.row.n} × {one.row.n_test:,}" if one.row.n and one.row.n_test else f"{one.row.n or ''}"
    cells = (*_numbers(one), Cell(difference), Cell(width, is_word=not any(map(str.isdigit, width))), Cell(size))
    words = _why(one) if with_reason else f"{one.grade}, bounded" if one.bounds else one.grade
    return Row(_labels(one), cells, size=words)


def _why(one: Compared) -> str:
    """Write what explains a difference."""
    if one.explanation is None and one.note:
        return one.note
    if one.explanation is None:
        return f"unexplained; bounded: {', '.join(one.bounds)}" if one.bounds else "unexplained"
    by, own = one.explanation.by, one.experiment
    model = f"{own.labels.get(by.model, by.model)}" if by.model else ""
    return f"explained by {', '.join(filter(None, (by.experiment, by.dataset, model)))}: {one.explanation.words}"


def _sized(one: Compared) -> Row:
    return Row(_labels(one), _numbers(one), size=one.size)


def _other(one: Compared) -> Row:
    ratio = one.row.number / one.published if one.kind == "cost" and one.published else None
    cell = Cell("not compared", is_word=True) if ratio is None else Cell(f"{ratio:.2g}")
    return Row(_labels(one), (*_numbers(one), cell))


# Figure --------------------------------------------------------------------------------------------------------------


def _figure(found: Fidelity, results: Results, caption: str) -> Figure | None:
    """Reproduced against published scores: a panel for each kind, a look for each paper, rings beyond a point."""
    scores = [one for one in _counted(found.compared) if one.kind == "score" and one.grade]
    panels = []
    for title, belongs in _PANELS.items():
        own = [one for one in scores if belongs(one)]
        if not own:
            continue
        places = [_place(one) for one in own]
        ends = [min(map(min, places)), max(map(max, places))]
        marks: list[draw.Mark] = [draw.Line(ends, ends, draw.Look(draw.GREY, "", draw.DASHED), "equal", width=0.9)]
        for number, (key, paper) in enumerate(results.plan.papers.items()):
            for is_ring in (False, True):
                shown = [
                    place
                    for one, place in zip(own, places, strict=True)
                    if (one.experiment.paper, one.grade == BEYOND) == (key, is_ring)
                ]
                if shown:
                    x, y = zip(*shown, strict=True)
                    marks.append(draw.Points(x, y, draw.look(number), paper.short, 4.0, ring=is_ring))
        axes = draw.Axis("published"), draw.Axis("reproduced")
        panels.append(draw.Panel(marks, title, *axes, equal=True))
    if not panels:
        return None
    picture = draw.Picture([draw.Part([panels], height=2.6)], legend=True, legend_columns=6)
    return Figure(" ".join(_lines(caption)), f"{TITLE}.", tuple(one.row for one in scores), picture.draw)


def _place(one: Compared) -> tuple[float, float]:
    numbers = one.published, one.row.number
    if not known_metric(one.row.metric).percent:
        return numbers
    first, second = (100 * (1 - number if one.row.metric == _ERROR else number) for number in numbers)
    return first, second
