"""The report of a suite: one page that needs nothing but itself, from the results behind the tables."""

import base64
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from cascadeforest.experiments.claims import OURS
from cascadeforest.experiments.progress import duration
from cascadeforest.reports.drawing.fidelity import report
from cascadeforest.reports.drawing.formats import to_html
from cascadeforest.reports.drawing.renderers.claims import ClaimLine, all_rows, judged
from cascadeforest.reports.drawing.table import make_table
from cascadeforest.reports.drawing.words import bounds, environment, together
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.fidelity import Declared, fidelity
from cascadeforest.reports.numbers.results import Results, origin
from cascadeforest.reports.numbers.verdicts import VERDICTS

BEYOND = "beyond"
FORMATS = {".csv": "CSV", ".md": "Markdown", ".tex": "LaTeX"}


def index_page(results: Results, folder: Path, declared: Declared) -> str:
    """Return the page as HTML, without a date of its own, to stand in `folder`, whose files it embeds or links.

    `declared` is the content of ``config/fidelity.yaml``.
    """
    tables = {name: make_table(name, results) for name in results.drawable()}
    found = report(fidelity(results, {name: table.rows for name, table in tables.items()}, declared), results)
    facts, experiments = origin(results), results.experiments.values()
    rows = {name: all_rows(table) for name, table in tables.items()}
    bounded = {name: bounds(Cells(results.experiments[name], results)) for name in tables}
    absent = ((why, "", dataset) for experiment in experiments for dataset, why in experiment.absent.items())
    told: dict[str, Any] = dict(
        suite=results.suite,
        description=results.plan.suite_config.description,
        papers=list(_papers(results)),
        tables=tables,
        pictures={name: _picture(name, folder) for name, table in tables.items() if table.figure},
        links_of={name: {form: f"tables/{name}{suffix}" for suffix, form in FORMATS.items()} for name in tables},
        html=lambda view: Markup(to_html(view)),
        address=_address,
        claims=list(_claims(results, judged(results, lambda name: rows.get(name, ())))),
        verdicts=VERDICTS,
        fidelity=found,
        bounded=[name for name, words in bounded.items() if not all(one.endswith(" repeats") for one in words)],
        lacking={reason: datasets for reason, _, datasets in together(absent)},
        counts=Counter(experiment.status for experiment in experiments),
        left_out=results.plan.left_out,
        facts=facts,
        cpu_time=duration(facts["cpu_seconds"]),
        machines=[f"{host['processor']} ({host['cores']} cores), {host['platform']}" for host in facts["hosts"]],
        pythons=sorted({host["python"] for host in facts["hosts"]}),
        n_models=len({preset for _, preset in results.runs}),
        failures=list(_failures(results)),
    )
    return environment().get_template("index.html.j2").render(told)


def _claims(results: Results, lines: list[ClaimLine]) -> Iterable[dict[str, Any]]:
    """Yield the claims of each paper with their verdicts, what is decided first; those of ours last."""
    papers = results.plan.papers
    for key in (*papers, OURS):
        own = [line for line in lines if line.verdict.claim.paper == key]
        own.sort(key=lambda line: VERDICTS.index(line.verdict.verdict))
        name = papers[key].short if key in papers else "our own questions"
        if own:
            yield {"key": key, "name": name, "counts": Counter(line.verdict.verdict for line in own), "lines": own}


def _failures(results: Results) -> Iterable[str]:
    """Yield what failed, with its place."""
    for (dataset, preset), failed in sorted(results.failures.items()):
        for one in failed:
            yield f"{preset} on {dataset}, repeat {one.repeat}: {one.error}: {one.message}"
    for timed in results.timings:
        for column, one in timed.failures:
            yield f"{column} on {timed.timing.dataset}, in turn: {one.error}: {one.message}"


def _picture(name: str, folder: Path) -> dict[str, Any] | None:
    """The picture of an experiment as a data address, and links to its files; None if it is not drawn."""
    files = {path.suffix: path for path in sorted((folder / "figures").glob(f"{name}.*"))}
    if ".svg" not in files:
        return None
    links = {ending[1:].upper(): f"figures/{path.name}" for ending, path in files.items()}
    return {"source": _address(files[".svg"].read_bytes()), "links": links}


def _address(content: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(content).decode('ascii')}"


def _papers(results: Results) -> Iterable[dict[str, Any]]:
    """Yield the experiments by paper; what belongs to none of them last."""
    papers, experiments = results.plan.papers, results.experiments.values()
    for key, paper in [*papers.items(), (BEYOND, None)]:
        own = [one for one in experiments if (one.paper == key if paper else one.paper not in papers)]
        title, source = (paper.title, f"{paper.short}; {paper.source}") if paper else ("Beyond the papers", "")
        if own:
            yield {"key": key, "title": title, "source": source, "experiments": own}
