"""A suite that is accepted experiment by experiment: what is stored already and what is accepted now, in one store.

A run that tables of both show must be the same run, or the store would say two things about one model. So either it has
the same cells in both (a cell's key names its code, data, parameters and seed), or the stored table has to be accepted
anew as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cascadeforest.data.errors import UserError
from cascadeforest.reports.results import LEFT_OUT, Results, needed_runs, present

Pair = tuple[str, str]


def united(new: Results, stored: Results, declared: Iterable[str]) -> Results:
    """Return what is to be stored, its arrays still in two folders: those of `new`.

    Parameters
    ----------
    new : Results
        The experiments that are accepted now.
    stored : Results
        What is stored. Of it stays what is not accepted anew and still in the configuration.
    declared : iterable of str
        Ids of all experiments of the suite, in the order of the configuration.

    Returns
    -------
    Results

    Raises
    ------
    UserError
        If an experiment that stays shows other bounds, other data or other cells than `new`.
    """
    declared = list(declared)
    kept = stored.only([name for name in stored.drawable() if name in declared and name not in new.experiments])
    if not kept.experiments:
        return new
    if problems := list(_conflicts(new, kept)):
        raise UserError(
            "What is stored does not go with what is to be accepted:\n"
            + "\n".join(f"  {problem}" for problem in problems[:20])
            + f"\nAccept these with it, as they are now: {', '.join(kept.experiments)}. Or give up what is stored, "
            f"accepting the whole suite, or after removing reports/{new.suite}."
        )
    both = kept.experiments | new.experiments
    specs = {(spec["dataset"], spec["model"]): spec for part in (kept, new) for spec in part.plan["runs"]}
    plan = new.plan | {
        "experiments": {name: both[name] for name in declared if name in both},
        "runs": list(specs.values()),
        LEFT_OUT: [name for name in declared if name not in both],
    }
    runs = kept.runs | new.runs
    runs |= {pair: kept.runs[pair] for pair in _shared(new, kept) if _keys(new.runs[pair]) < _keys(kept.runs[pair])}
    return replace(new, plan=plan, runs=runs, summaries=kept.summaries | new.summaries)


def _conflicts(new: Results, kept: Results) -> Iterable[str]:
    """Sentences about what both parts show, and show differently."""
    bounds = [
        key for key in new.plan["suite_config"] | kept.plan["suite_config"] if _bound(new, key) != _bound(kept, key)
    ]
    if bounds:
        yield f"the suite's configuration is another one now ({', '.join(sorted(bounds))})"
    for name in sorted(kept.summaries.keys() & new.summaries.keys()):
        if kept.summaries[name]["digest"] != new.summaries[name]["digest"]:
            yield f"{name} was prepared otherwise; shown by {_showing(kept, dataset=name)}"
    for pair in _shared(new, kept):
        one, other = _keys(new.runs[pair]), _keys(kept.runs[pair])
        if not (one <= other or other <= one):
            yield f"{pair[1]} on {pair[0]} was run by another code; shown by {_showing(kept, pair=pair)}"


def _bound(results: Results, key: str) -> Any:
    return results.plan["suite_config"].get(key)


def _shared(new: Results, kept: Results) -> list[Pair]:
    return sorted(kept.runs.keys() & new.runs.keys())


def _keys(run: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Cells of a run, and the arrays that they saved: a stored figure needs its own."""
    return {(cell["key"], name) for cell in run["cells"] for name in ("", *cell.get("extras", {}))}


def _showing(results: Results, *, dataset: str | None = None, pair: Pair | None = None) -> str:
    shown = [
        name
        for name, experiment in results.experiments.items()
        if dataset in present(experiment) or pair in needed_runs(experiment)
    ]
    return ", ".join(shown)
