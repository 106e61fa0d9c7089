"""The report of a suite: one page that needs nothing but itself, from the results behind the tables."""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.claims import OURS
from cascadeforest.experiments.plan import NOT_IMPLEMENTED
from cascadeforest.experiments.progress import duration
from cascadeforest.reports.drawing.fidelity import FidelityReport, report
from cascadeforest.reports.drawing.figure import Figure
from cascadeforest.reports.drawing.formats import to_html
from cascadeforest.reports.drawing.renderers.claims import all_rows, judged
from cascadeforest.reports.drawing.table import SUFFIXES, Table, make_table
from cascadeforest.reports.drawing.words import bounds, environment
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.fidelity import Declared, fidelity
from cascadeforest.reports.numbers.frame import TidyRow
from cascadeforest.reports.numbers.published import LAYOUTS, render_printed
from cascadeforest.reports.numbers.results import Results, cpu_seconds, origin
from cascadeforest.reports.numbers.verdicts import VERDICTS

BEYOND = "beyond"
#: Place of a verdict among the lines of a paper.
_ORDER = {verdict: place for place, verdict in enumerate(VERDICTS)}
FIGURE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
FORMATS = {".csv": "CSV", ".md": "Markdown", ".tex": "LaTeX"}


def index_page(results: Results, folder: Path, declared: Declared) -> str:
    """Return the page as HTML, without a date of its own, to stand in `folder`, whose files it embeds or links.

    `declared` is the content of ``config/fidelity.yaml``.
    """
    tables = {name: make_table(name, results) for name in results.drawable()}
    rows = {name: table.rows for name, table in tables.items()}
    experiments = [_experiment(name, results, folder, tables.get(name)) for name in results.experiments]
    found = report(fidelity(results, rows, declared), results)
    facts = origin(results)
    hosts = facts["hosts"]
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            suite=results.suite,
            description=results.plan.suite_config.description,
            papers=list(_papers(experiments, results)),
            claims=_claims(results, {name: all_rows(table) for name, table in tables.items()}),
            verdicts=VERDICTS,
            fidelity=_fidelity(found),
            bounded=list(_bounded(results, tables)),
            lacking=_lacking(results),
            counts={s: [e["status"] for e in experiments].count(s) for s in ("ready", "partial", NOT_IMPLEMENTED)},
            left_out=results.plan.left_out,
            facts=facts,
            cpu_time=duration(facts["cpu_seconds"]),
            machines=[f"{host['processor']} ({host['cores']} cores), {host['platform']}" for host in hosts],
            pythons=sorted({host["python"] for host in hosts}),
            models=_models(results),
            failures=[
                {"place": f"{preset} on {dataset}, repeat {one.repeat}", "reason": f"{one.error}: {one.message}"}
                for (dataset, preset), failed in sorted(results.failures.items())
                for one in failed
            ]
            + [
                {"place": f"{column} on {timed.timing.dataset}, in turn", "reason": f"{one.error}: {one.message}"}
                for timed in results.timings
                for column, one in timed.failures
            ],
        )
    )


def _claims(results: Results, rows: Mapping[str, Sequence[TidyRow]]) -> list[dict[str, Any]]:
    """Return the claims of each paper with their verdicts, what is decided first; those of ours last."""
    lines = judged(results, lambda name: rows.get(name, ()))
    papers = results.plan.papers
    found = []
    for key in (*papers, OURS):
        own = sorted((one for one in lines if one.paper == key), key=lambda one: _ORDER[one.verdict.verdict])
        counted = Counter(one.verdict.verdict for one in own)
        if own:
            name = papers[key].short if key in papers else "our own questions"
            found.append({"key": key, "name": name, "counts": counted, "lines": own})
    return found


def _bounded(results: Results, tables: Mapping[str, Table]) -> Iterable[tuple[str, str]]:
    """Yield experiment and words of each bound that is not one of repeats alone."""
    for name in tables:
        if words := [one for one in bounds(Cells(results.experiments[name], results)) if not one.startswith("at most")]:
            yield name, "; ".join(words)


def _lacking(results: Results) -> dict[str, list[str]]:
    """Return the reasons why data sets are not there, with the data sets."""
    found: dict[str, dict[str, None]] = {}
    for experiment in results.experiments.values():
        for dataset, reason in experiment.absent.items():
            found.setdefault(reason, {})[dataset] = None
    return {reason: list(datasets) for reason, datasets in found.items()}


def _experiment(name: str, results: Results, folder: Path, table: Table | None) -> dict[str, Any]:
    """What the page says about one experiment."""
    experiment = results.experiments[name]
    shown = {key: getattr(experiment, key) for key in ("id", "paper", "kind", "title", "status", "reason", "absent")}
    shown["printed"] = _printed(name, results)
    if table is None:
        return shown
    return shown | {
        "table": to_html(table.view),
        "folded": {below.title: to_html(below) for below in table.view.folded},
        "notes": table.view.notes,
        "deviations": table.view.deviations,
        "links": {FORMATS[suffix]: f"tables/{name}{suffix}" for suffix in SUFFIXES},
        "figure": _figure(name, folder, table.figure) if table.figure else None,
    }


def _printed(name: str, results: Results) -> dict[str, list[list[str]]] | None:
    """Head and body of the table as the paper prints it; None if it is none."""
    layouts = results.published / LAYOUTS
    layout = read_yaml(layouts).get(name) if layouts.is_file() else None
    if layout is None:
        return None
    # The spaces around a line bring back its empty first and last cells.
    printed = render_printed(name, results.published).splitlines()
    lines = [[cell.strip() for cell in f" {line} ".split(" | ")] for line in printed]
    return {"head": lines[: len(layout["header"])], "body": lines[len(layout["header"]) :]}


def _figure(name: str, folder: Path, figure: Figure) -> dict[str, Any] | None:
    """The picture of an experiment as a data address, with words and links to its files; None if it is not drawn."""
    files = {path.suffix: f"figures/{path.name}" for path in sorted((folder / "figures").glob(f"{name}.*"))}
    suffix = next((suffix for suffix in FIGURE_TYPES if suffix in files), None)
    if suffix is None:
        return None
    links = {ending[1:].upper(): file for ending, file in files.items()}
    return {**_picture((folder / files[suffix]).read_bytes(), suffix, figure), "links": links}


def _fidelity(found: FidelityReport) -> dict[str, Any]:
    """What the page says about published numbers beside reproduced ones."""
    figure = found.figure
    return {
        "introduction": found.introduction,
        "summary": to_html(found.summary),
        "notes": found.summary.notes,
        "tables": {
            f"{paper.name}: {view.title}": to_html(view)
            for paper in found.papers
            for view in (paper, *paper.folded)
            if view.rows
        },
        "figure": figure and _picture(figure.pictures()[".svg"], ".svg", figure),
    }


def _picture(content: bytes, suffix: str, figure: Figure) -> dict[str, str]:
    """A picture as a data address, with words."""
    source = f"data:{FIGURE_TYPES[suffix]};base64,{base64.b64encode(content).decode('ascii')}"
    return {"source": source, "alt": figure.alt, "caption": figure.caption}


def _papers(experiments: list[dict[str, Any]], results: Results) -> Iterable[dict[str, Any]]:
    """Experiments by paper; what belongs to none of them last."""
    for key, paper in results.plan.papers.items():
        if chosen := [experiment for experiment in experiments if experiment["paper"] == key]:
            source = f"{paper.short}; {paper.source}"
            yield {"key": key, "title": paper.title, "source": source, "experiments": chosen}
    if rest := [experiment for experiment in experiments if experiment["paper"] not in results.plan.papers]:
        yield {"key": BEYOND, "title": "Beyond the papers", "source": "", "experiments": rest}


def _models(results: Results) -> list[dict[str, Any]]:
    """What each model preset cost in this suite."""
    labels = {p: e.labels[c] for e in results.experiments.values() for c, p in e.columns.items()}
    costs = [(preset, dataset, cpu_seconds(c)) for (dataset, preset), run in results.runs.items() for c in run.cells]
    frame = pd.DataFrame(costs, columns=["preset", "dataset", "seconds"]).groupby("preset")
    counted = frame.agg(data=("dataset", "nunique"), cells=("seconds", "size"), seconds=("seconds", "sum"))
    return [
        {"preset": preset, "label": labels.get(preset, preset), "time": duration(row["seconds"])}
        | {"data": int(row["data"]), "cells": int(row["cells"])}
        for preset, row in counted.iterrows()
    ]
