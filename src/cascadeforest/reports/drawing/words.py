"""Notes, captions and descriptions of pictures: Jinja templates that a person can edit, filled with facts.

The template of a renderer (``templates/<renderer>.j2``) has the macro ``notes`` and, for a figure, ``caption``. Each
line of ``notes`` that is not empty is one note; the lines of the caption are joined. ``templates/common.j2`` has the
sentences that many tables need; templates know it as ``common``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from cascadeforest.reports.drawing.lines import difference_cell, is_abbreviated, metric_head, number_text
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.growth import hardly_easy, layers_with_interactions, without_layers
from cascadeforest.reports.numbers.metrics import known_metric

What = TypeVar("What")

if TYPE_CHECKING:
    from jinja2 import Environment

_URL = re.compile(r"(https?://[^\s<>\"]+[^\s<>\".,;)])")
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in r"\`*_|[]<>"})
#: Characters with their names in LaTeX, in mathematics and in text.
_MATH = "±pm ×times •bullet ◦circ ≠neq ≤leq ≥geq →rightarrow √surd †dagger αalpha βbeta γgamma δdelta θtheta μmu σsigma"
_TEXT = '\\backslash ~asciitilde ^asciicircum |bar "quotedbl <less >greater'
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {word[0]: rf"$\{word[1:]}$" for word in _MATH.split()}
    | {word[0]: rf"\text{word[1:]}{{}}" for word in _TEXT.split()}
    | {"Σ": r"$\Sigma$", "−": r"$-$", "…": r"\ldots{}", "°": r"$^\circ$"}
)


def notes_and_caption(cells: Cells, facts: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
    """Return the notes of an experiment, and the caption of its picture, from its renderer's template and these facts.

    What is said below every table comes last. Which data sets stand for others is said last in every caption; without a
    macro for it the caption is empty.
    """
    told = {
        "cells": cells,
        "experiment": cells.experiment,
        "suite": cells.results.suite,
        "published": cells.published,
        "bounds": list(bounds(cells)),
        "capped": capped(cells),
        "stand_in": stand_in(cells),
        "compared": compared(cells),
        "without_layers": list(without_layers(cells)),
        "interaction_layers": list(layers_with_interactions(cells)),
        "hardly_easy": list(hardly_easy(cells)),
        "processors": processors(cells),
        "protocols": protocols(cells),
        "named": cells.experiment.datasets,
        "reasons": [],
        "several": max(cells.experiment.repeats.values(), default=0) > 1,
        **facts,
    }
    common: Any = environment().get_template("common.j2").make_module(told)
    template = environment().get_template(f"{cells.experiment.render}.j2")
    own: Any = template.make_module(told | {"common": common})
    caption = [*sentences(own.caption()), *sentences(common.stand_in_sentence())] if hasattr(own, "caption") else []
    return (*sentences(own.notes()), *sentences(common.every())), " ".join(caption)


def sentences(text: object) -> Iterable[str]:
    """Return the lines that a macro wrote, without the empty ones."""
    return filter(None, (re.sub(r"\s+", " ", line).strip() for line in str(text).splitlines()))


@cache
def environment() -> Environment:
    """Return the templates with the filters that they use."""
    import jinja2
    from markupsafe import Markup

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("cascadeforest.reports.drawing"),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "md": lambda text: text.translate(_MARKDOWN),
        "tex": lambda text: text.translate(_LATEX),
        "listed": listed,
        "zip": zip,
        "head": metric_head,
        "label": metric_label,
        "number": number,
        "shown": lambda value, metric: number_text(metric, value, None),
        "difference": lambda row: difference_cell(row).text,
        "sentence": lambda text: Markup(html_sentence(text)),
        # Narrow columns: more of them are in sight.
        "narrow": lambda text: Markup(re.sub(r" (?=\[)|(?<=,) (?=[a-z])", "<br>", html.escape(text))),
    }
    return made


def listed(names: Sequence[str]) -> str:
    """Write names as a list in words: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def metric_label(metric: str) -> str:
    """Return a metric in a sentence, without what stands in brackets."""
    return known_metric(metric).label.partition(" (")[0]


def number(row: TidyRow) -> str:
    """Write a number with its unit, ``93.12 %``, or ``unknown`` and the reason."""
    if row.mean is None:
        return f"unknown ({row.note or row.status})"
    text = number_text(row.metric, row.mean, None)
    return f"{text} %" if known_metric(row.metric).percent else text


def html_sentence(text: str) -> str:
    """Escape a sentence of plain text and make its web addresses links."""
    # Every second part is an address: the pattern is a group.
    parts = enumerate(map(html.escape, _URL.split(text)))
    return "".join(f'<a href="{part}">{part}</a>' if k % 2 else part for k, part in parts)


# Facts of every experiment -------------------------------------------------------------------------------------------


def together(found: Iterable[tuple[What, str, str]]) -> Iterable[tuple[What, list[str], list[str]]]:
    """Group what holds for labels at places: labels that share what holds and all its places stand together."""
    places: dict[tuple[What, str], dict[str, None]] = {}
    for what, label, place in found:
        places.setdefault((what, label), {})[place] = None
    labels: dict[tuple[What, tuple[str, ...]], list[str]] = {}
    for (what, label), own in places.items():
        labels.setdefault((what, tuple(own)), []).append(label)
    return ((what, names, list(where)) for (what, where), names in labels.items())


def bounds(cells: Cells) -> Iterable[str]:
    """Yield what the suite bounds: ``gcForest and RF n_estimators 100 of 500``, ``3 of 10 repeats``."""
    experiment, found, fewer = cells.experiment, [], []
    for column, dataset in product(experiment.shown_columns(), experiment.present()):
        n, every = experiment.n_repeats(dataset, experiment.columns[column]), experiment.repeats[dataset]
        bounded = experiment.bounds.get(column, {}).get(dataset, {}).items() if n else ()
        if words := ", ".join(f"{name} {bound.here:g} of {bound.unbounded:g}" for name, bound in bounded):
            found.append((words, cells.label(column), dataset))
        if n < every:
            found.append((f"{n} of {every} repeats", cells.label(column), dataset))
    for words, labels, datasets in together(found):
        everywhere = len(datasets) == len(experiment.present())
        yield f"{listed(labels)} {words}" + ("" if everywhere else f" on {listed(datasets)}")
    for dataset in experiment.present():
        n, every = experiment.repeats[dataset], experiment.all_repeats.get(dataset, 0)
        fewer += [(f"{n} of {every} repeats", "", dataset)] if n < every else []
    for words, _, datasets in together(fewer):
        yield words if len(datasets) == len(experiment.present()) else f"{listed(datasets)} {words}"


def capped(cells: Cells) -> list[str]:
    """Return the models that used up a bound of the suite, by where: ``GBDT and gcForest on digits (2 of 3)``."""
    experiment, found = cells.experiment, []
    for column, dataset in product(experiment.shown_columns(), experiment.present()):
        if n := cells.n_at_cap(dataset, column):
            every = experiment.n_repeats(dataset, experiment.columns[column])
            found.append(("", cells.label(column), dataset if n == every else f"{dataset} ({n} of {every})"))
    return [
        f"{listed(labels)} on {'all data sets' if _is_all(cells, places) else listed(places)}"
        for _, labels, places in together(found)
    ]


def _is_all(cells: Cells, datasets: Sequence[str]) -> bool:
    return list(datasets) == list(cells.experiment.present()) and len(datasets) > 1


def stand_in(cells: Cells) -> Mapping[str, Sequence[str]]:
    """Return the data sets of the paper's figure (`wanted`), and those that stand for them here (`others`)."""
    experiment, wanted = cells.experiment, cells.common.paper_datasets
    shown = experiment.present()
    others = [name for name in shown if experiment.base(name) not in wanted] if wanted else []
    lacking = [name for name in wanted if name not in map(experiment.base, shown)]
    return {"wanted": wanted, "others": others, "lacking": lacking}


def processors(cells: Cells) -> dict[str, list[str]]:
    """Return the data sets whose costs come from processors of several names, with these."""
    found = {}
    for dataset in cells.experiment.present():
        ran = [cell for column in cells.experiment.shown_columns() for cell in cells.all(dataset, column)]
        found[dataset] = {str(cell.provenance.host["processor"] or "an unknown processor") for cell in ran}
    return {dataset: sorted(names) for dataset, names in found.items() if len(names) > 1}


def compared(cells: Cells) -> list[str]:
    """Return the labels of the columns that are ranked against each other; empty if all are."""
    named = [column for column in cells.experiment.rank_columns or () if column in cells.experiment.shown_columns()]
    return [cells.label(column) for column in named if len(named) < len(cells.experiment.columns)]


def reasons(
    cells: Cells, rows: Iterable[TidyRow], label: Callable[[TidyRow], str] | None = None
) -> list[Mapping[str, object]]:
    """Return the reasons that cells of a table abbreviate, with the models and data sets that they hold for.

    `rows` are without those that follow from others; `label` gives words for the model of a row, by default the label
    of the column. A reason that holds for several data sets and all of them names none.
    """
    found = [
        ((row.status, row.note), label(row) if label else cells.label(row.model), row.dataset)
        for row in rows
        if is_abbreviated(row) and row.dataset in cells.experiment.present()
    ]
    return [
        {"status": status, "note": note, "models": models, "datasets": [] if _is_all(cells, datasets) else datasets}
        for (status, note), models, datasets in together(found)
    ]


def protocols(cells: Cells, datasets: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Return how rows are split to the data sets that are split so; data that are not prepared are left out."""
    kinds: dict[str, list[str]] = {}
    for dataset in cells.experiment.present() if datasets is None else datasets:
        if protocol := cells.facts(dataset).get("protocol"):
            kinds.setdefault(protocol, []).append(dataset)
    return kinds
