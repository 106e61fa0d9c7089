"""The report of a suite: one page that needs nothing but itself, from the results behind the tables."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascadeforest.data.files import read_yaml
from cascadeforest.reports.origin import cpu_seconds, origin
from cascadeforest.reports.published import LAYOUTS, render_printed
from cascadeforest.reports.rendering import html_sentence, to_html
from cascadeforest.reports.results import LEFT_OUT, NOT_IMPLEMENTED, Results
from cascadeforest.reports.table import SUFFIXES, make_table

if TYPE_CHECKING:
    from cascadeforest.reports.figure import Figure

#: Key of a paper (the name of its file in config/experiments) to its title and where it appeared.
PAPERS = {
    "hidf": ("Improving Deep Forest by Exploiting High-order Interactions", "hiDF, ICDM 2021"),
    "interp": (
        "Interpreting Deep Forest through Feature Contribution and MDI Feature Importance",
        "interpretation, TKDD 2024",
    ),
    "cs": ("Improving Deep Forest by Confidence Screening", "gcForest_CS, ICDM 2018"),
    "mddf": ("A Refined Margin Distribution Analysis for Forest Representation Learning", "mdDF, NeurIPS 2019"),
    "ddbf": ("Deep Dynamic Boosted Forest", "DDBF, ACML 2020"),
}
BEYOND = ("Beyond the papers", "")
FIGURE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
_BOLD = re.compile(r"\*\*(.+?)\*\*")
FORMATS = {".csv": "CSV", ".md": "Markdown", ".tex": "LaTeX"}


def index_page(results: Results, folder: Path) -> str:
    """Make the page.

    Parameters
    ----------
    results : Results
        What the tables are made from.
    folder : Path
        Folder that the page will stand in; its ``figures/`` are embedded, its ``tables/`` linked.

    Returns
    -------
    str
        HTML. It says nothing about the time of its making: the dates in it are those of the cells.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cascadeforest.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["sentence"] = lambda text: Markup(html_sentence(text))
    environment.filters["bold"] = lambda text: Markup(_BOLD.sub(r"<strong>\1</strong>", html.escape(text)))
    experiments = [_experiment(name, results, folder) for name in results.experiments]
    facts = origin(results)
    return environment.get_template("index.html.j2").render(
        suite=results.suite,
        description=results.plan["suite_config"].get("description", ""),
        papers=list(_papers(experiments)),
        counts=_counts(experiments),
        left_out=results.plan.get(LEFT_OUT, []),
        facts=facts,
        cpu_time=duration(facts["cpu_seconds"]),
        machines=[_machine(host) for host in facts["hosts"]],
        pythons=sorted({host["python"] for host in facts["hosts"]}),
        models=_models(results),
        failures=_failures(results),
    )


def duration(seconds: float) -> str:
    """Write a time in the two units that matter.

    Parameters
    ----------
    seconds : float

    Examples
    --------
    >>> duration(0.42), duration(75), duration(7384), duration(200_000)
    ('0.4 s', '1 min 15 s', '2 h 3 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def _experiment(name: str, results: Results, folder: Path) -> dict[str, Any]:
    """What the page says about one experiment."""
    experiment = results.experiments[name]
    shown = {key: experiment[key] for key in ("id", "paper", "kind", "title", "status", "reason", "absent")}
    shown |= {"table": None, "notes": (), "deviations": experiment["deviations"], "links": {}, "figure": None}
    shown["printed"] = _printed(name, results)
    if experiment["status"] == NOT_IMPLEMENTED:
        return shown
    table = make_table(name, results)
    return shown | {
        "table": to_html(table.view),
        "notes": table.view.notes,
        "deviations": table.view.deviations,
        "links": {FORMATS[suffix]: f"tables/{name}{suffix}" for suffix in SUFFIXES},
        "figure": _figure(name, folder, table.figure),
    }


def _printed(name: str, results: Results) -> dict[str, list[list[str]]] | None:
    """Head and body of the table as the paper prints it; None if it is none."""
    layouts = results.published / LAYOUTS
    layout = read_yaml(layouts).get(name) if layouts.is_file() else None
    if layout is None:
        return None
    # The spaces around a line bring back its empty first and last cells.
    lines = [
        [cell.strip() for cell in f" {line} ".split(" | ")]
        for line in render_printed(name, results.published).splitlines()
    ]
    return {"head": lines[: len(layout["header"])], "body": lines[len(layout["header"]) :]}


def _figure(name: str, folder: Path, figure: Figure | None) -> dict[str, Any] | None:
    """The picture of an experiment as a data address, with words and links to its files; None if there is none."""
    files = {path.suffix: f"figures/{path.name}" for path in sorted((folder / "figures").glob(f"{name}.*"))}
    for suffix, kind in FIGURE_TYPES.items():
        if suffix in files:
            content = base64.b64encode((folder / files[suffix]).read_bytes()).decode("ascii")
            return {
                "source": f"data:{kind};base64,{content}",
                "alt": figure.alt if figure else None,
                "caption": figure.caption if figure else None,
                "links": {s[1:].upper(): f for s, f in files.items()},
            }
    return None


def _papers(experiments: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Experiments by paper, in the order of `PAPERS`; what belongs to none of them last."""
    for key, (title, source) in PAPERS.items():
        if chosen := [experiment for experiment in experiments if experiment["paper"] == key]:
            yield {"key": key, "title": title, "source": source, "experiments": chosen}
    if rest := [experiment for experiment in experiments if experiment["paper"] not in PAPERS]:
        yield {"key": "beyond", "title": BEYOND[0], "source": BEYOND[1], "experiments": rest}


def _counts(experiments: list[dict[str, Any]]) -> dict[str, int]:
    counts = dict.fromkeys(("ready", "partial", NOT_IMPLEMENTED), 0)
    for experiment in experiments:
        counts[experiment["status"]] += 1
    return counts


def _machine(host: Mapping[str, Any]) -> str:
    return f"{host['processor']} ({host['cores']} cores), {host['platform']}"


def _models(results: Results) -> list[dict[str, Any]]:
    """What each model preset cost in this suite."""
    labels = {p: e["labels"][c] for e in results.experiments.values() for c, p in e["columns"].items()}
    models: dict[str, dict[str, Any]] = {}
    for (_, preset), run in sorted(results.runs.items(), key=lambda item: item[0][1]):
        row = models.setdefault(
            preset, {"preset": preset, "label": labels.get(preset, preset), "data": 0, "cells": 0, "seconds": 0.0}
        )
        row["data"] += 1
        row["cells"] += len(run["cells"])
        row["seconds"] += sum(map(cpu_seconds, run["cells"]))
    return [row | {"time": duration(row["seconds"])} for row in models.values()]


def _failures(results: Results) -> list[dict[str, str]]:
    return [
        {
            "place": f"{preset} on {dataset}, repeat {cell['repeat']}",
            "reason": f"{cell['error']}: {cell['message']}",
        }
        for (dataset, preset), failure in sorted(results.failures.items())
        for cell in failure["cells"]
    ]
