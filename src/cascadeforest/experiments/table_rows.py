"""Some rows of a table: named, computed, and put beside rows that were accepted earlier.

A row is a data set variant. Its place in a table is that of its data: a row of all data stands where one of fewer rows
stood (``adult``, ``adult+rows-10000``), unless the table has both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from cascadeforest.data.errors import UserError
from cascadeforest.data.names import parse_operation, parse_variant

if TYPE_CHECKING:
    from cascadeforest.experiments.plan import Experiment, Pair, Plan, Timing

Fact = TypeVar("Fact")
#: Runs that an error names.
N_SHOWN = 20


def chosen_rows(names: Iterable[str]) -> dict[str, list[str]]:
    """Read ids of experiments, each alone or with some of its rows; no rows stand for the whole experiment.

    Raises
    ------
    UserError
        If an id ends with a colon.

    Examples
    --------
    >>> chosen_rows(["hidf-table2:bank,adult", "arena"])
    {'hidf-table2': ['bank', 'adult'], 'arena': []}
    """
    found: dict[str, list[list[str]]] = {}
    for name, colon, rows in (name.partition(":") for name in names):
        named = [row for row in rows.split(",") if row]
        if colon and not named:
            raise UserError(f"'{name}:' names no row. Name some, as in {name}:adult,bank, or the whole table: {name}")
        found.setdefault(name, []).append(named)
    return {name: list(dict.fromkeys(chain(*named))) if all(named) else [] for name, named in found.items()}


def part_of(experiment: Experiment, rows: Collection[str]) -> Experiment:
    """Return an experiment with some of its rows alone."""

    def of_rows(facts: dict[str, Fact]) -> dict[str, Fact]:
        return {row: value for row, value in facts.items() if row in rows}

    return dataclasses.replace(
        experiment,
        datasets=tuple(row for row in experiment.datasets if row in rows),
        published_as=of_rows(experiment.published_as),
        repeats=of_rows(experiment.repeats),
        all_repeats=of_rows(experiment.all_repeats),
        fewer_repeats=of_rows(experiment.fewer_repeats),
        absent=of_rows(experiment.absent),
        designs=of_rows(experiment.designs),
        bounds={column: of_rows(bounds) for column, bounds in experiment.bounds.items()},
    )


def _place(row: str) -> str:
    """A data set variant without the number of its rows."""
    name, operations = parse_variant(row)
    return "+".join([name, *(text for text in operations if parse_operation(text).kind != "rows")])


def declared_row(row: str, declared: Experiment) -> str:
    """Return the row that stands now where an earlier one stood; the earlier one if there is none."""
    return next((own for own in declared.datasets if row not in declared.datasets and _place(own) == _place(row)), row)


def staying(earlier: Experiment, taken: Collection[str], declared: Experiment) -> Experiment:
    """Return the part of an experiment, accepted earlier, that stays when rows of it are taken anew.

    A row goes with the new one that takes its place, and without one if its data are no longer declared, or if they
    were missing and can be had now.
    """
    others = {_place(row) for row in declared.datasets} - {_place(row) for row in taken}

    def stays(row: str) -> bool:
        is_there = row not in taken if row in declared.datasets else _place(row) in others
        return is_there and not (row in earlier.absent and row in declared.present())

    return part_of(earlier, [row for row in earlier.datasets if stays(row)])


def with_rows_of(declared: Experiment, taken: Collection[str], earlier: Experiment) -> Experiment:
    """Return an experiment as declared now, with rows taken anew, and rows of `earlier` in other places (`staying`).

    Rows keep their facts. Rows that were never taken are not accepted yet.
    """
    places = {_place(row): row for row in earlier.datasets if row not in declared.datasets}
    rows = [row if row in earlier.datasets else places.pop(_place(row), row) for row in declared.datasets]
    own = part_of(declared, [row for row in rows if row not in earlier.datasets])
    lacking = [row for row in own.present() if row not in taken]
    own = dataclasses.replace(own, all_repeats=own.all_repeats | {row: own.repeats[row] for row in lacking})
    bounded = part_of(own, [row for row in own.datasets if row not in lacking]).bounds
    reasons = [*filter(None, [declared.reason]), *([f"not accepted yet: {', '.join(lacking)}"] if lacking else [])]
    kept = [row for row in earlier.present() if row in rows]
    words = f"Rows of an earlier acceptance, with models, code and bounds of then: {', '.join(kept)}."
    notes = [f"{words} What is said above of models need not hold there."] if kept else []
    return dataclasses.replace(
        declared,
        status="partial" if lacking else declared.status,
        reason="; ".join(reasons),
        datasets=tuple(rows),
        published_as=own.published_as | earlier.published_as,
        repeats=own.repeats | earlier.repeats,
        all_repeats=own.all_repeats | earlier.all_repeats,
        fewer_repeats=own.fewer_repeats | earlier.fewer_repeats,
        absent=own.absent | earlier.absent,
        designs=own.designs | earlier.designs,
        bounds={column: bounded.get(column, {}) | earlier.bounds.get(column, {}) for column in declared.columns},
        deviations=(*declared.deviations, *notes),
    )


def lost_runs(earlier: Experiment, taken: Collection[str], united: Experiment) -> list[Pair]:
    """Return what an experiment showed, and no longer shows, although no row was taken in its place."""
    places = {_place(row) for row in taken}
    replaced = {row for row in earlier.datasets if row not in united.datasets and _place(row) in places} | {*taken}
    return [pair for pair in earlier.needed_runs() if pair[0] not in replaced and pair not in united.needed_runs()]


def refuse_lost_data(before: Plan, new: Plan, names: Iterable[str]) -> None:
    """Refuse to replace whole tables, `names`, of which stored rows would go since their data are not at hand.

    Raises
    ------
    UserError
        If there is one.
    """
    lost: dict[str, str] = {}  # what would go, and its table
    for name in [name for name in names if name in before.drawable()]:
        one = new.experiments[name]
        for row in before.experiments[name].present():
            if reason := one.absent.get(declared_row(row, one)):
                lost[f"{row} of {name}: {reason}"] = name
    if lost:
        raise UserError(
            "Stored rows whose data are not at hand would go with their table:\n  "
            + "\n  ".join(lost)
            + "\nGet the data, accept the other rows by name (ONLY='table:row'), or, with ONLY, give these up: "
            + f"DROP='{' '.join(dict.fromkeys(lost.values()))}'"
        )


def what_stays(
    before: Plan, runs: Collection[Pair], new: Plan, declared: Plan, drop: Iterable[str]
) -> dict[str, Experiment]:
    """Return the experiments, or parts of them, that stay when those of `new` are accepted.

    Parameters
    ----------
    before : Plan
        Of what is stored.
    runs : collection of pairs
        What is stored of it.
    new : Plan
        Of what is accepted.
    declared : Plan
        Of the configuration.
    drop : iterable of str
        What is given up: ids, or rows and model presets of a table whose rows are accepted (`chosen_rows`).

    Raises
    ------
    UserError
        If something is given up that is not stored, or a stored run would no longer be shown that is not given up.
    """
    stored = {name: before.experiments[name] for name in before.drawable()}
    accepted = new.drawable()
    by_rows = {name for name in accepted if new.experiments[name] != declared.experiments[name]}
    dropped = chosen_rows(drop)
    for name, words in dropped.items():
        one = stored.get(name)
        known = list(stored) if one is None else [*one.datasets, *one.columns.values()] if name in by_rows else []
        if unknown := [name] if one is None else [own for own in words if own not in known]:
            place = f" with {name}" if one else ""
            hint = f"Stored are {', '.join(known)}." if known else f"Of {name}, --only names no rows."
            raise UserError(f"--drop names {', '.join(unknown)}, not stored{place}. {hint}")
    refuse_lost_data(before, new, [name for name in accepted if name not in by_rows and name not in dropped])
    found, lost = {}, dict[str, str]()  # what would no longer be shown, and the word that gives it up
    for name, one in stored.items():
        given_up = dropped.get(name, [])
        if (name in dropped and not given_up) or (name in accepted and name not in by_rows):
            continue
        if name in by_rows:
            taken = new.experiments[name].datasets
            part = staying(one, taken, declared.experiments[name])
            part = part_of(part, [row for row in part.datasets if row not in given_up])
            columns = {column: preset for column, preset in part.columns.items() if preset not in given_up}
            found[name] = part = dataclasses.replace(part, columns=columns)
            united = with_rows_of(declared.experiments[name], taken, part)
            for row, preset in lost_runs(one, taken, united):
                if (row, preset) in runs and not {row, preset} & {*given_up}:
                    lost[f"{preset} on {row} of {name}"] = f"{name}:{preset if row in united.datasets else row}"
            if part.present() and (metrics := [metric for metric in united.metrics if metric not in one.metrics]):
                lost[f"rows of {name}, for which {', '.join(metrics)} was not computed"] = name
        else:
            found[name] = one
    if lost:
        shown = [*list(lost)[:N_SHOWN], *([f"and {len(lost) - N_SHOWN} more"] if len(lost) > N_SHOWN else [])]
        raise UserError(
            "Stored, and not to be shown beside what is to be accepted, since the configuration has changed:\n  "
            + "\n  ".join(shown)
            + f"\nAccept the whole table, or give these up: DROP='{' '.join(dict.fromkeys(lost.values()))}'"
        )
    return found


def together(only: Iterable[str], shown_by: Mapping[str, Collection[str]], declared: Collection[str]) -> list[str]:
    """Return what must be accepted together: what `only` names, and experiments that show other runs on these rows."""
    names = list(only)
    by_rows = any(":" in name for name in names)
    names += [f"{name}:{','.join(rows)}" if by_rows else name for name, rows in shown_by.items()]
    return sorted(dict.fromkeys(names), key=lambda one: list(declared).index(one.partition(":")[0]))


def united(
    new: Mapping[str, Experiment], kept: Mapping[str, Experiment], declared: Mapping[str, Experiment]
) -> dict[str, Experiment]:
    """Return what stays and what is accepted; where rows were accepted, the table with all of its rows."""
    both = {**new, **kept, **{name: one for name, one in new.items() if one.is_implemented}}
    for name, one in new.items():
        if one != declared[name]:
            both[name] = with_rows_of(declared[name], one.datasets, kept.get(name, part_of(one, ())))
    return both


def stays_timed(timing: Timing, kept: Mapping[str, Experiment], both: Mapping[str, Experiment]) -> bool:
    """Whether what was timed in turn stays: on rows that stay, or on no row of the table, with the models of now."""
    earlier, united = kept[timing.experiment], both[timing.experiment]
    if earlier == united:
        return True
    is_row = _place(timing.dataset) in map(_place, united.datasets)
    same = [united.columns.get(column) for column in timing.columns] == [run.model for run in timing.runs]
    return same and (timing.dataset in earlier.datasets or not is_row)


def what_is_left(
    entries: Sequence[Iterable[str]], shown: Mapping[str, Sequence[str]], every: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Return what is left of acceptances, the oldest first, where later ones took rows anew.

    `entries` has what each named (`chosen_rows`); `shown`, by experiment, the rows that stay, and `every` all rows.
    """
    left: dict[str, Sequence[str]] = dict(shown)
    found = []
    for named in reversed([chosen_rows(words) for words in entries]):
        own = {name: [row for row in left.get(name, ()) if not rows or row in rows] for name, rows in named.items()}
        left |= {name: [row for row in left[name] if row not in own[name]] for name in own.keys() & left.keys()}
        # A table whose data are all missing has no row that is there.
        is_left = {name for name in own if own[name] or (name in every and not every[name])}
        found.append([name_with_rows(name, own[name], every[name]) for name in own if name in is_left])
    return found[::-1]


def names_of(accepted: Plan, declared: Plan) -> list[str]:
    """Write the experiments of a plan that have a table, with their rows if they are not every one."""
    both = {name: (accepted.experiments[name], declared.experiments[name]) for name in accepted.drawable()}
    return [name_with_rows(name, one.datasets, every.datasets) for name, (one, every) in both.items()]


def name_with_rows(name: str, rows: Collection[str], every: Collection[str]) -> str:
    """Write an experiment, with its rows if they are not every one: what `chosen_rows` reads."""
    return name if len(rows) == len(every) else f"{name}:{','.join(rows)}"
