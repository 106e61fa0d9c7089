"""A suite that is accepted experiment by experiment: what is stored already and what is accepted now, in one store.

What is stored stays as it is. So whatever both show must be the same in both: the cells of a run, with their costs, the
arrays beside them, the data, the bounds that stand below a table. Else the stored tables would say something that
nobody accepted, or two tables of one store would contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from cascadeforest.data.errors import UserError
from cascadeforest.reports.notes import budget_note
from cascadeforest.reports.results import LEFT_OUT, NOT_IMPLEMENTED, Results, needed_extras, needed_runs, present

Pair = tuple[str, str]
#: Conflicts that an error shows.
N_SHOWN = 20


class Conflict(NamedTuple):
    """Something that is stored and is not so now; in words, and the stored experiments that show it."""

    what: str
    shown_by: list[str]


def staying(new: Results, stored: Results) -> Results:
    """Return the part of a store that is not accepted anew."""
    return stored.only([name for name in stored.drawable() if name not in new.drawable()])


def united(new: Results, kept: Results, declared: Mapping[str, Mapping[str, Any]]) -> Results:
    """Return what is to be stored; arrays of both parts are where each part has them.

    Parameters
    ----------
    new : Results
        The experiments that are accepted now.
    kept : Results
        What stays of the store (see `staying`).
    declared : mapping
        All experiments of the suite as configured now.

    Returns
    -------
    Results

    Raises
    ------
    UserError
        If the configuration no longer has what is to stay, or both parts show something that is not the same in both.
    """
    if gone := [
        name for name in kept.drawable() if declared.get(name, {"status": NOT_IMPLEMENTED})["status"] == NOT_IMPLEMENTED
    ]:
        raise UserError(
            f"{', '.join(gone)}: stored, but the configuration no longer has it or cannot draw it, so it cannot stay. "
            f"Give it back, or accept the whole suite: make accept SUITE={new.suite} MESSAGE='why'"
        )
    if conflicts := list(_conflicts(new, kept, declared)):
        more = f"\n  and {len(conflicts) - N_SHOWN} more" if len(conflicts) > N_SHOWN else ""
        shown_by = {name for conflict in conflicts for name in conflict.shown_by}
        together = [name for name in declared if name in shown_by or name in new.drawable()]
        raise UserError(
            "What is stored and what is to be accepted contradict each other:\n"
            + "\n".join(f"  {what}; stored with {', '.join(names)}" for what, names in conflicts[:N_SHOWN])
            + f"{more}\nAccept the stored ones anew with it: make accept SUITE={new.suite} ONLY='{' '.join(together)}' "
            "MESSAGE='why'"
        )
    both = new.experiments | {name: kept.experiments[name] for name in kept.drawable()}
    specs = {(spec["dataset"], spec["model"]): spec for part in (kept, new) for spec in part.plan["runs"]}
    plan = new.plan | {
        "experiments": {name: both[name] for name in declared if name in both},
        "runs": list(specs.values()),
        LEFT_OUT: [name for name in new.plan[LEFT_OUT] if name not in both],
    }
    runs = kept.runs | new.runs
    for pair in _shared(new, kept):  # the one with more repeats has those of the other
        runs[pair] = max(kept.runs[pair], new.runs[pair], key=lambda run: len(run["cells"]))
    return replace(new, plan=plan, runs=runs, summaries=kept.summaries | new.summaries)


def _conflicts(new: Results, kept: Results, declared: Mapping[str, Mapping[str, Any]]) -> Iterable[Conflict]:
    under_new_bounds = replace(kept, plan=kept.plan | {"suite_config": new.plan["suite_config"]})
    for name in kept.drawable():
        experiment = kept.experiments[name]
        bounded_now = experiment | {"bounds": _bounds_now(experiment, declared[name])}
        if budget_note(experiment, kept) != budget_note(bounded_now, under_new_bounds):
            yield Conflict("the suite has other bounds now", [name])
    for dataset in sorted(kept.summaries.keys() & new.summaries.keys()):
        if fields := _differing(kept.summaries[dataset], new.summaries[dataset]):
            shown_by = [name for name in kept.drawable() if dataset in present(kept.experiments[name])]
            yield Conflict(f"{dataset} is prepared otherwise now (other {', '.join(fields)})", shown_by)
    for pair in _shared(new, kept):
        before, after = ({cell["repeat"]: cell for cell in part.runs[pair]["cells"]} for part in (kept, new))
        if fields := sorted(
            {f for r in before.keys() & after.keys() for f in _differing(before[r], after[r])} - {"key"}
        ):
            what = f"{pair[1]} on {pair[0]} is another run now (other {', '.join(fields)})"
            yield Conflict(what, [name for name in kept.drawable() if pair in needed_runs(kept.experiments[name])])
    for name in kept.drawable():
        for path in needed_extras(kept.experiments[name], kept):
            now = new.extras / path.relative_to(kept.extras)
            if now.is_file() and now.read_bytes() != path.read_bytes():
                yield Conflict(f"{now} is not what is stored", [name])


def _bounds_now(stored: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configured bounds on what is stored; what the configuration does not name keeps the stored ones."""
    return {
        column: {row: declared.get("bounds", {}).get(column, {}).get(row, bounds) for row, bounds in rows.items()}
        for column, rows in stored.get("bounds", {}).items()
    }


def _shared(new: Results, kept: Results) -> list[Pair]:
    return sorted(kept.runs.keys() & new.runs.keys())


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
