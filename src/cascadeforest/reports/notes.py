"""Sentences under a table that more than one kind of table needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results, present


def published_note(experiment: Mapping[str, Any], published: Published) -> str:
    """Say where the published numbers come from, and which rows have none.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    published : Published
        The paper's numbers for it.

    Returns
    -------
    str
        Empty if the paper gives no numbers. Of a figure whose file has nothing but sizes of the data it says so.
    """
    if not published.exists:
        return ""
    file = f"reports/published/{experiment['id']}.csv"
    if experiment["kind"] == "figure" and not published.has_results():  # tables show sizes of the data, figures do not
        return f"Published: the paper gives no result in numbers; what it says of the data is in {file}."
    without = [name for name in experiment["datasets"] if not published.has(name)]
    if len(without) == len(experiment["datasets"]):
        return f"Published: the paper has no numbers for these data sets; those that it prints are in {file}."
    text = f"Published: as printed in the paper, with its marks ({file})."
    return f"{text} It has no numbers for {', '.join(without)}." if without else text


def budget_note(experiment: Mapping[str, Any], results: Results) -> str:
    """Say what the suite bounds, so that nobody takes a small run for the paper's.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its ``bounds`` are the parameters that are bounded, and their values without.
    results : Results
        Its plan carries the suite's bounds on repeats.

    Returns
    -------
    str
        Empty if no bound concerns this experiment.
    """
    budget = results.plan["suite_config"]
    parts = list(_parameter_bounds(experiment))
    general, of_dataset = budget.get("repeats"), budget.get("dataset_repeats", {})
    if general is not None and not set(experiment["datasets"]) <= of_dataset.keys():
        parts.append(f"at most {general} repeats")
    for bound in dict.fromkeys(of_dataset.values()):
        if names := [name for name in experiment["datasets"] if of_dataset.get(name) == bound]:
            parts.append(f"{listed(names)} at most {bound} repeat{'s' if bound > 1 else ''}")
    return f"Bounds of the suite {results.suite}: {'; '.join(parts)}." if parts else ""


def _parameter_bounds(experiment: Mapping[str, Any]) -> Iterable[str]:
    """Words such as 'gcForest and RF n_estimators 100 of 500', columns with the same bounds together."""
    together: dict[str, list[str]] = {}
    for column, preset_bounds in experiment.get("bounds", {}).items():
        if column in experiment["missing_models"]:
            continue
        rows: dict[str, list[str]] = {}
        for dataset in present(experiment):
            pairs = preset_bounds.get(dataset, {}).items()
            words = ", ".join(f"{name} {here:g} of {unbounded:g}" for name, (here, unbounded) in pairs)
            rows.setdefault(words, []).append(dataset)
        for words, datasets in rows.items():
            if words:
                place = "" if len(rows) == 1 else f" on {listed(datasets)}"
                together.setdefault(f"{words}{place}", []).append(experiment["labels"][column])
    for words, labels in together.items():
        yield f"{listed(list(dict.fromkeys(labels)))} {words}"


def stand_in_words(experiment: Mapping[str, Any]) -> str:
    """Say that a figure does not show, or does not only show, the data sets of the paper's figure.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; ``options: {paper_datasets: [...]}`` names the paper's.

    Returns
    -------
    str
        A sentence; empty if the data sets are the paper's, or those are not named.
    """
    wanted = experiment["options"].get("paper_datasets", [])
    shown = present(experiment)
    base = {name: experiment["published_as"].get(name, name) for name in shown}
    others = [name for name in shown if base[name] not in wanted]
    if not wanted or not others:
        return ""
    lacking = [name for name in wanted if name not in base.values()]
    if not lacking:
        return f"The paper shows {listed(wanted)} only."
    verb = "stand" if len(others) > 1 else "stands"
    return f"The paper shows {listed(wanted)}, for which {listed(others)} {verb} here."


def listed(names: Sequence[str]) -> str:
    """Write names as a list in words."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def data_notes(experiment: Mapping[str, Any], results: Results, published: Published) -> Iterable[str]:
    """Sentences about rows that are not the paper's data set as it is.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the facts about the data.
    published : Published
        The paper's numbers for the experiment.

    Yields
    ------
    str
    """
    for dataset in present(experiment):
        facts = results.summaries.get(dataset, {})
        parts = []
        if facts.get("subset_of"):
            parts.append(f"a subset of {facts['subset_of']}")
        elif experiment["published_as"].get(dataset, dataset) != dataset and published.has(dataset):
            parts.append(f"shown in the place of the paper's {experiment['published_as'][dataset]}")
        if facts.get("note"):
            parts.append(facts["note"].strip())
        if parts:
            text = "; ".join(parts)
            yield f"{dataset}: {text}" if text.endswith((".", "?", "!")) else f"{dataset}: {text}."


def protocol_note(experiment: Mapping[str, Any], results: Results) -> str:
    """Say how rows are split, and so what a deviation over repeats is about.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the facts about the data.

    Returns
    -------
    str
        Empty if nothing is prepared.
    """
    parts = [f"{listed(names)}: {protocol}" for protocol, names in by_protocol(present(experiment), results).items()]
    return f"Splits (of the repeats named, the first ones are shown): {'; '.join(parts)}." if parts else ""


def by_protocol(datasets: Iterable[str], results: Results) -> dict[str, list[str]]:
    """Group data sets that are split in the same way.

    Parameters
    ----------
    datasets : iterable of str
        Names; those that are not prepared are left out.
    results : Results
        For the facts about the data.

    Returns
    -------
    dict
        Protocol in words to the data sets that have it.
    """
    kinds: dict[str, list[str]] = {}
    for dataset in datasets:
        if protocol := results.summaries.get(dataset, {}).get("protocol"):
            kinds.setdefault(protocol, []).append(dataset)
    return kinds


def layers_note(experiment: Mapping[str, Any], results: Results) -> str:
    """Say how many layers predict, repeat by repeat, for the columns that ``options: {layers_of: [...]}`` names.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; `layers_as` in its options is what its paper calls layers.
    results : Results
        Its cells.

    Returns
    -------
    str
        Empty if none is named or has run.

    Raises
    ------
    ConfigError
        If a column is unknown.
    """
    options, parts = experiment["options"], []
    for column in options.get("layers_of", []):
        if column not in experiment["columns"]:
            raise ConfigError(
                f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}/options/layers_of has '{column}'; "
                f"choose from {', '.join(experiment['columns'])}."
            )
    for dataset in present(experiment):
        counts = []
        for column in options.get("layers_of", []):
            preset = experiment["columns"][column]
            cells = results.cells(dataset, preset, experiment["repeats"][dataset]) or []
            if numbers := ", ".join(f"{cell['metrics']['n_layers']:.0f}" for cell in cells):
                counts.append(f"{experiment['labels'][column]} {numbers}")
        parts += [f"{dataset}: {'; '.join(counts)}"] if counts else []
    what = options.get("layers_as", "layers").capitalize()
    return f"{what} that predict, repeat by repeat: {' | '.join(parts)}." if parts else ""


def processor_notes(experiment: Mapping[str, Any], results: Results) -> Iterable[str]:
    """Say where costs come from processors of different names.

    Columns are compared repeat by repeat: a repeat whose cells name several processors cannot be; repeats from several
    machines have a wider spread.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells, which name the processor.

    Yields
    ------
    str
        One sentence for each such data set.
    """
    for dataset in present(experiment):
        repeats = experiment["repeats"][dataset]
        found = {
            column: [cell["host"]["processor"] or "an unknown processor" for cell in cells]
            for column, preset in experiment["columns"].items()
            if column not in experiment["missing_models"] and (cells := results.cells(dataset, preset, repeats))
        }
        names = sorted(set().union(*found.values()))
        mixed = [k for k, of_repeat in enumerate(zip(*found.values(), strict=True)) if len(set(of_repeat)) > 1]
        if mixed:
            models = {
                name: listed([experiment["labels"][c] for c, own in found.items() if name in {own[k] for k in mixed}])
                for name in names
            }
            parts = [f"that of {words} on {name}" for name, words in models.items() if words]
            where = "" if len(mixed) == repeats else f" in {len(mixed)} of {repeats} repeats"
            said = ", ".join(parts).removeprefix("that")
            yield f"{dataset}: the cost{said}{where}: measured on different processors, it cannot be compared."
        elif len(names) > 1:
            yield f"{dataset}: the repeats ran on {listed(names)}, all models of a repeat on one; so costs spread more."
