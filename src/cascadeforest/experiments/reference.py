"""Generated text: the reference of the configuration, and tables of verdicts, models and costs.

``python -m cascadeforest.experiments reference --write`` renews them; a test fails while they are stale.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import atomic_write, read_yaml
from cascadeforest.experiments.claims import stored_verdicts
from cascadeforest.experiments.code_digest import defines
from cascadeforest.experiments.cost_page import cost_tables

CONFIG_PAGE = Path("config/README.md")
README = Path("README.md")
MODEL_PAGE = Path("docs/models.md")
COST_PAGE = Path("docs/cost.md")
#: Schema, and the files that it describes.
SCHEMAS = (
    ("config", "config/config.yaml"),
    ("dataset", "config/datasets/<name>.yaml"),
    ("models", "config/models.yaml"),
    ("papers", "config/papers.yaml"),
    ("defaults", "config/defaults.yaml"),
    ("fidelity", "config/fidelity.yaml"),
    ("experiments", "config/experiments/<paper>.yaml"),
)


def pages(root: Path) -> dict[Path, str]:
    """What the generated pages should say.

    Parameters
    ----------
    root : Path
        Folder of the repository.

    Returns
    -------
    dict
        Path below `root` to text.

    Raises
    ------
    ConfigError
        If a page has lost the marks between which its table stands.
    """
    costs = cost_tables(root)
    quoted = f"{costs.splitlines()[-1]} See [docs/cost.md]({COST_PAGE})."
    return {
        CONFIG_PAGE: config_reference(root),
        README: _between_marks(root, README, "verdicts", f"{verdict_table(root).rstrip()} {quoted}\n"),
        MODEL_PAGE: _between_marks(root, MODEL_PAGE, "models", model_table(root)),
        COST_PAGE: _between_marks(root, COST_PAGE, "costs", costs),
    }


def _between_marks(root: Path, page: Path, name: str, text: str) -> str:
    marks = f"<!-- generated: {name} -->", f"<!-- end of generated: {name} -->"
    head, begin, rest = (root / page).read_text(encoding="utf-8").partition(marks[0])
    _, end, tail = rest.partition(marks[1])
    if not begin or not end:
        raise ConfigError(f"{page} lacks the lines '{marks[0]}' and '{marks[1]}'. Put them where that table goes.")
    return f"{head}{begin}\n{text}{end}{tail}"


def write(root: Path) -> list[Path]:
    """Renew the pages that are stale.

    Parameters
    ----------
    root : Path
        Folder of the repository.

    Returns
    -------
    list of Path
        The pages that were renewed.
    """
    stale = {path: text for path, text in pages(root).items() if _present(root / path) != text}
    for path, text in stale.items():
        atomic_write(root / path, text)
    return list(stale)


def differences(root: Path) -> str:
    """Unified diff from the pages as they are to what they should be; empty when they are current.

    Parameters
    ----------
    root : Path
        Folder of the repository.

    Returns
    -------
    str
    """
    lines: list[str] = []
    for path, text in pages(root).items():
        present = _present(root / path)
        lines += difflib.unified_diff(present.splitlines(True), text.splitlines(True), str(path), "as generated")
    return "".join(lines)


def config_reference(root: Path) -> str:
    """The reference of every configuration file, from the JSON schemas that check them."""
    parts = [
        "# Configuration\n",
        "This page lists every key of the files in `config/`, which say what the workflow runs. Other keys are "
        "refused; the error names the place and the remedy.\n",
        "To run the workflow: `snakemake --cores all`, or `snakemake TARGET --cores 16 --config suite=paper` with the "
        "target first. `make list` shows every experiment and what is missing to run it.\n",
        "The page is generated from `workflow/schemas/` by `python -m cascadeforest.experiments reference --write`. "
        "Edit the schemas instead.\n",
    ]
    for name, place in SCHEMAS:
        schema = read_yaml(root / "workflow" / "schemas" / f"{name}.schema.yaml")
        parts.append(f"## `{place}`\n\n{_sentence(schema['description'])}\n")
        parts.append("| key | type | default | meaning |\n|---|---|---|---|")
        parts += [*_rows(schema, "", set(schema.get("required", []))), ""]
    return "\n".join(parts).rstrip() + "\n"


def verdict_table(root: Path) -> str:
    """Numbers of claims by paper and verdict, as a Markdown table, and how many answers were known before.

    Parameters
    ----------
    root : Path
        Folder of the repository.

    Returns
    -------
    str
    """
    found = stored_verdicts(root, "standard")
    papers = read_yaml(root / "config" / "papers.yaml")
    counts: dict[str, Counter[str]] = {}
    for claim, (verdict, _) in found.items():
        counts.setdefault(claim.partition("-")[0], Counter())[verdict] += 1
    known = {verdict for verdict, _ in found.values()}
    decided = ["supported", "contradicted"]
    no_answer = ("open", "descriptive", "not exercised")
    notes = [note for verdict, note in found.values() if not verdict.startswith(no_answer)]
    n_known, n_changed = (sum(mark in note for note in notes) for mark in ("exploratory: ", "post hoc: "))
    n_again = sum(f"new repeats alone say {verdict}" in note for verdict, note in found.values())
    verdicts = [*decided, *sorted(known - set(decided))]
    lines = [f"| paper | {' | '.join(verdicts)} |", f"|---{'|---:' * len(verdicts)}|"]
    for key, own in counts.items():
        name = papers[key]["short"] if key in papers else "our own questions"
        lines.append(f"| {name} | {' | '.join(str(own[verdict]) for verdict in verdicts)} |")
    n_all = sum("post hoc: " in note for _, note in found.values())
    told = (
        f"{len(notes)} claims are decided. The answer to {n_known} of them was known when the rule that judges them "
        f"was written (exploratory); of these, {n_again} have the same verdict by later repeats alone. {n_changed} "
        f"decided claims were changed or added after results were stored (post hoc), and {n_all} of all claims."
    )
    lines += ["", told]
    return "\n".join(lines) + "\n"


def model_table(root: Path) -> str:
    """Model, paper, class and experiments, as a Markdown table."""
    models = read_yaml(root / "config" / "models.yaml")
    papers = read_yaml(root / "config" / "papers.yaml")
    used: dict[str, list[str]] = {}
    for path in sorted((root / "config" / "experiments").glob("[!.]*.yaml")):
        for experiment, row in read_yaml(path).items():
            for preset in row.get("models", {}).values():
                used.setdefault(_family(preset, models), []).append(experiment)
    lines = ["| model | paper | class | experiments |", "|---|---|---|---|"]
    for name, row in models.items():
        if "base" in row or name not in used:
            continue
        classes = ", ".join(_class_words(target) for target in dict.fromkeys(row["estimator"].values()))
        experiments = ", ".join(f"`{name}`" for name in dict.fromkeys(used[name]))
        origin = "gcForest (Zhou and Feng 2019)" if name == "gcforest" else "baseline"
        paper = papers[row["paper"]]["source"] if "paper" in row else origin
        lines.append(f"| {row['label']} (`{name}`) | {paper} | {classes} | {experiments} |")
    return "\n".join(lines) + "\n"


def _family(preset: str, models: Mapping[str, Mapping[str, Any]]) -> str:
    while "base" in models[preset]:
        preset = models[preset]["base"]
    return preset


def _class_words(target: str) -> str:
    """Our cascades and forests are imported from the package's top; the rest from where it is."""
    module, _, name = target.partition(":")
    ours = module.startswith(("cascadeforest.cascade.", "cascadeforest.forest."))
    return f"`{'cascadeforest' if ours else module}.{name}`{'' if defines(target) else ' (not written yet)'}"


def _rows(schema: Mapping[str, Any], prefix: str, required: set[str]) -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        yield _row(f"{prefix}{key}", value, key in required)
        yield from _rows(value, f"{prefix}{key}.", set(value.get("required", [])))
        entry = value.get("additionalProperties")
        if isinstance(entry, Mapping):
            yield from _rows(entry, f"{prefix}{key}.<name>.", set(entry.get("required", [])))
        items = value.get("items")
        if isinstance(items, Mapping):
            yield from _rows(items, f"{prefix}{key}[].", set(items.get("required", [])))
    entry = schema.get("additionalProperties")
    if not prefix and isinstance(entry, Mapping):
        yield from _rows(entry, "<name>.", set(entry.get("required", [])))


def _row(key: str, schema: Mapping[str, Any], required: bool) -> str:
    kind = schema.get("type", "")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if "enum" in schema:
        kind = "one of " + ", ".join(f"`{choice}`" for choice in schema["enum"])
    default = "required" if required else f"`{_yaml(schema['default'])}`" if "default" in schema else ""
    return f"| `{key}` | {kind} | {default} | {_sentence(schema.get('description', ''))} |".replace("\n", " ")


def _yaml(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _present(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
