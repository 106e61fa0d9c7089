"""Take the tables of a run as the stored ones, with the cells to draw them again and where they come from."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cascadeforest.data.errors import UserError
from cascadeforest.data.files import atomic_write, sha256_of
from cascadeforest.data.typed_json import Json
from cascadeforest.experiments import table_rows
from cascadeforest.experiments.accepted import new_folder, recover
from cascadeforest.experiments.batches import COSTS, Cost, cost_of, costs_csv
from cascadeforest.experiments.cells import SavedArrays, read_arrays, xz_bytes
from cascadeforest.experiments.claims import CHECKS_FILE, STORED
from cascadeforest.experiments.plan import Experiment, Pair, Plan
from cascadeforest.experiments.provenance import git_commit
from cascadeforest.reports.numbers.results import Results, read_results
from cascadeforest.reports.numbers.rows import Arrays, rows_of
from cascadeforest.reports.store import stored as store
from cascadeforest.reports.store.crate import write_crate

#: Problems and conflicts that an error shows.
N_SHOWN = 20


def accept(root: Path, suite: str, message: str, only: Collection[str] = (), drop: Collection[str] = ()) -> Path:
    """Store ``results/<suite>`` as ``reports/<suite>``, with `message`, why the numbers are taken.

    The tables are drawn anew from the results, so that what is stored is what the stored cells say. A suite that takes
    days can be accepted experiment by experiment, or by rows (`table_rows`): what `only` names is taken from the run,
    other stored rows and tables stay with their bounds, but for what `drop` names: tables, or rows and model presets of
    one that `only` names by rows. By default nothing stays.

    `UserError`, with nothing changed, if the message is empty, an id is unknown, a cell failed, a result is missing,
    damaged, or of another configuration or data, a table is not what the results say, or what would stay contradicts
    what is accepted.
    """
    if not message.strip():
        raise UserError(
            "--message is empty. Say why these numbers are taken as the stored ones; it is kept with them: "
            f"make accept SUITE={suite} MESSAGE='new baseline: gbdt'"
        )
    if drop and not only:
        raise UserError(f"--drop is {', '.join(drop)}, without --only: then nothing stays anyway. Leave it out.")
    stored, folder = root / "reports" / suite, root / "results" / suite
    recover(stored)
    everything = read_results(root, suite)
    results = everything.of(everything.plan.only(only)) if only else everything
    mixed = [name for name, rows in table_rows.chosen_rows(only).items() if rows]
    # A table of new and stored rows, and claims, which follow from all tables, are drawn when the others are stored.
    files = store.drawn_files(results, names=[name for name in store.without_claims(results) if name not in mixed])
    refuse(
        f"{folder} is not complete, so it is not stored:",
        _problems(results, folder, files),
        f"Mend it and run again: make run SUITE={suite}" + f" ONLY='{' '.join(only)}'" * bool(only),
    )
    rows = {name: rows_of(results, name, root / "data" / "processed", strict=True) for name in results.summaries}
    kept = everything.of(everything.plan.showing({}))
    if not only and (earlier_plan := _plan_of(stored, suite)):
        table_rows.refuse_lost_data(earlier_plan, results.plan, results.drawable())
    if is_part := bool(only) and (stored / store.CELLS).is_file():
        before = store.read_stored(root, suite)
        stay = table_rows.what_stays(before.plan, before.runs, results.plan, everything.plan, drop)
        kept = before.of(before.plan.showing(stay))
        _check_union(results, kept, everything.experiments, only)
        stored_cells = {pair: len(run.cells) for pair, run in before.runs.items()}
        # Which a table that is stored in parts may show.
        new_runs = {pair for pair, run in results.runs.items() if len(run.cells) > stored_cells.get(pair, 0)}
        mixed += [name for name in store.without_claims(kept) if new_runs & {*kept.experiments[name].needed_runs()}]
        rows = _united_rows(rows, kept, stored)
    together = _united(results, kept, everything.plan)
    if is_part:
        # A row that did not run has the scores of its task, which is known if any stored table has its data.
        told = together.summaries.keys() - before.summaries.keys()
        others = (name for name in store.without_claims(kept) if name not in mixed)
        mixed += [name for name in others if told & {*kept.experiments[name].datasets}]
    earlier = _earlier(stored, kept, together) if is_part else []
    committed = _committed(root, together)
    with new_folder(stored) as new:
        for name, content in files.items():
            atomic_write(new / name, content)
        for part in (results, kept):
            for name in part.drawable():
                for saved in store.needed_arrays(part.experiments[name], part):
                    atomic_write(new / store.EXTRAS / saved.file, (part.arrays_folder / saved.file).read_bytes())
        # What stays is not drawn again: drawing the stored tables must still see a difference to their cells.
        for path in stored.glob("[tf]*/*.*"):
            file, content = path.relative_to(stored), path.read_bytes()
            is_drawn = path.stem in {*store.without_claims(kept)} - {*mixed}
            if is_drawn and store.is_stored(file.as_posix(), content, suite):
                atomic_write(new / file, content)
        atomic_write(new / store.CELLS, store.pack(together, _write_rows(rows, new / store.ROWS)))
        # Of this suite only: what running says of claims about cost differs from run to run.
        if checks := next(filter(Path.is_file, (folder / CHECKS_FILE for folder in (root / "results", stored))), None):
            atomic_write(new / CHECKS_FILE, checks.read_bytes())
        reason: dict[str, Json] = {
            "accepted": datetime.now(UTC).isoformat(timespec="seconds"),
            "accepted_tables": table_rows.names_of(results.plan, everything.plan),
            "earlier": earlier,
            "git_commit": git_commit(root),
            "message": message.strip(),
            **committed,
        }
        atomic_write(new / COSTS, costs_csv(costs_of(together), stored / COSTS))
        store.write_provenance(new, together, reason)
        try:
            store.write_united(root, suite, new, mixed)
        except UserError as error:
            beside = f"\nStored rows may not fit: accept whole tables, or DROP='{' '.join(mixed)}'." if mixed else ""
            raise UserError(f"{error}{beside}") from error
        write_crate(root, new, together)
    return stored


def _plan_of(stored: Path, suite: str) -> Plan | None:
    """Return the plan of what is stored; None if there is nothing, or it cannot be read."""
    with suppress(UserError):
        return store.unpack(stored / store.CELLS, suite).plan
    return None


def _committed(root: Path, together: Results) -> dict[str, Json]:
    """Digests of the claims that results are stored with: those of before, as long as some cells of then stay."""
    if not together.claims.claims:
        return {}
    with suppress(UserError):  # nothing is stored, or by another version
        before = store.read_stored(root, together.suite)
        if {c.key for c in before.all_cells()} & {c.key for c in together.all_cells()}:
            return {STORED: before.claims.committed or together.claims.digests}
    return {STORED: together.claims.digests}


def refuse(head: str, problems: Iterable[str], remedy: str) -> None:
    """Raise an error that lists problems, if there are any."""
    if found := list(dict.fromkeys(problems)):
        more = [f"  and {len(found) - N_SHOWN} more"] if len(found) > N_SHOWN else []
        raise UserError("\n".join([head, *(f"  {problem}" for problem in found[:N_SHOWN]), *more, remedy]))


def costs_of(results: Results) -> dict[Pair, Cost]:
    """What a repeat of each run takes."""
    rows = {name: cast("int", facts.get("n_train", 0)) for name, facts in results.summaries.items()}
    return {pair: cost_of(run.run, run.cells, rows.get(pair[0], 0)) for pair, run in results.runs.items()}


def _problems(results: Results, folder: Path, files: Mapping[str, bytes]) -> Iterable[str]:
    """Sentences about what keeps results from being stored."""
    for name in results.drawable():
        experiment = results.experiments[name]
        for pair in experiment.needed_runs():
            dataset, preset = pair
            cells = results.cells(*pair, experiment.n_repeats(*pair))
            if cells is None and (failed := results.failures.get(pair)):
                yield f"{preset} on {dataset} failed (repeat {failed[0].repeat}): {failed[0].error}"
            elif fields := results.stale.get(pair):
                yield f"{preset} on {dataset} was run by another configuration (other {', '.join(fields)})"
            elif cells is None:
                yield f"{preset} on {dataset} has not run, or not with {experiment.n_repeats(*pair)} repeats"
            elif dataset in results.summaries:
                now = results.summaries[dataset]["digest"]
                if other := sorted({cell.provenance.data_digest[:12] for cell in cells} - {now[:12]}):
                    yield f"{preset} on {dataset} was run on other data (digest {', '.join(other)}, now {now[:12]})"
        there = {one.timing.dataset: one for one in results.timings_of(name)}
        for timing in results.plan.timings_of(name):
            if timing.dataset not in there:
                yield f"the models of {name} were not timed in turn on {timing.dataset}"
            for column, failed_turn in there[timing.dataset].failures if timing.dataset in there else ():
                yield f"{column} on {timing.dataset}, timed in turn, failed: {failed_turn.error}"
        for dataset in experiment.present():
            if dataset not in results.summaries:
                yield f"{dataset} is not prepared: data/processed/{dataset}.json is missing"
    for name, content in files.items():
        path = folder / name
        if not path.is_file():
            yield f"{path} was not drawn"
        elif path.read_bytes() != content:
            yield f"{path} is not what the results say now"


def _write_rows(rows: Mapping[str, Arrays], folder: Path) -> dict[str, SavedArrays]:
    """Write the files of all data set variants that have rows and return their names and digests."""
    saved = {}
    for dataset, arrays in sorted(rows.items()):
        if arrays:
            path = folder / f"{dataset}.npz.xz"
            atomic_write(path, xz_bytes(arrays))
            saved[dataset] = SavedArrays(path.name, sha256_of(path))
    return saved


# A suite that is accepted experiment by experiment -------------------------------------------------------------------


def _check_union(new: Results, kept: Results, declared: Mapping[str, Experiment], only: Collection[str]) -> None:
    """Refuse what stays if it contradicts what is accepted: two tables of one store would say different things."""
    again = f"make accept SUITE={new.suite}"
    refuse(
        "Stored, but the configuration no longer has it or cannot draw it, so it cannot stay:",
        [name for name in kept.drawable() if name not in declared or not declared[name].is_implemented],
        f"Give it back, or accept the whole suite: {again} MESSAGE='why'",
    )
    conflicts: list[str] = []  # what is not the same in both
    shown_by: dict[str, dict[str, None]] = {}  # stored experiments that show it, and on which rows

    def found(what: str, fields: list[str], dataset: str, names: list[str]) -> None:
        conflicts.append(f"{what} now (other {', '.join(fields)}); stored with {', '.join(names)}")
        for name in names:
            shown_by.setdefault(name, {})[table_rows.declared_row(dataset, declared[name])] = None

    for dataset in sorted(kept.summaries.keys() & new.summaries.keys()):
        if fields := _differing(kept.summaries[dataset], new.summaries[dataset]):
            names = [name for name in kept.drawable() if dataset in kept.experiments[name].present()]
            found(f"{dataset} is prepared otherwise", fields, dataset, names)
    for pair in sorted(kept.runs.keys() & new.runs.keys()):
        before, after = ({cell.repeat: vars(cell) for cell in part.runs[pair].cells} for part in (kept, new))
        both = before.keys() & after.keys()
        if fields := sorted({field for r in both for field in _differing(before[r], after[r])} - {"key"}):
            names = [name for name in kept.drawable() if pair in kept.experiments[name].needed_runs()]
            found(f"{pair[1]} on {pair[0]} is another run", fields, pair[0], names)
    anew = " ".join(table_rows.together(only, shown_by, declared))
    refuse(
        "What is stored and what is to be accepted contradict each other:",
        conflicts,
        f"Accept the stored ones anew with it: {again} ONLY='{anew}' MESSAGE='why'\n"
        f"or give them up: DROP='{' '.join(name for name in declared if name in shown_by)}'",
    )


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def _united(new: Results, kept: Results, plan: Plan) -> Results:
    """Put what stays and what is accepted together; a run that both have counts with its larger number of repeats."""
    both = table_rows.united(new.experiments, kept.experiments, plan.experiments)
    planned = {run.pair: run for part in (kept, new) for run in part.plan.runs}
    order = {run.pair: k for k, run in enumerate(plan.runs)}
    runs = kept.runs | new.runs
    for pair in kept.runs.keys() & new.runs.keys():
        runs[pair] = max(kept.runs[pair], new.runs[pair], key=lambda run: len(run.cells))
    stays = (one for one in kept.timings if table_rows.stays_timed(one.timing, kept.experiments, both))
    timings = (*stays, *new.timings)
    united = replace(
        new.plan,
        experiments={name: both[name] for name in plan.experiments if name in both},
        runs=tuple(sorted(planned.values(), key=lambda run: order.get(run.pair, len(order)))),
        timings=tuple(one.timing for one in timings),
        left_out=tuple(name for name in new.plan.left_out if name not in both),
    )
    return replace(new, plan=united, runs=runs, summaries=kept.summaries | new.summaries, timings=timings)


def _united_rows(rows: Mapping[str, Arrays], kept: Results, stored: Path) -> dict[str, Arrays]:
    """Add the rows, stored in the folder `stored`, of the models that stay."""
    found = dict(rows)
    for dataset, saved in store.unpack(stored / store.CELLS, kept.suite).rows.items():
        models = {"split", "test_rows", "class", *(model for variant, model in kept.runs if variant == dataset)}
        arrays = read_arrays(stored / store.ROWS, saved, store.from_git(stored / store.ROWS / saved.file))
        staying = {name: values for name, values in arrays.items() if name.partition("/")[0] in models}
        if len(models) > 3:
            # The splits are those of the part with more repeats.
            parts = sorted((staying, found.get(dataset, {})), key=lambda part: len(part.get("split", ())))
            found[dataset] = parts[0] | parts[1]
    return found


def _earlier(stored: Path, kept: Results, together: Results) -> list[dict[str, Json]]:
    """Why, when and with which code the tables and rows that stay were accepted."""
    facts = cast("dict[str, Any]", store.read_provenance(stored))
    entries = [*facts["earlier"], facts]
    shown = {name: kept.experiments[name].present() for name in kept.drawable()}
    every = {name: together.experiments[name].present() for name in shown}
    left = table_rows.what_is_left([entry.get("accepted_tables", entry["tables"]) for entry in entries], shown, every)
    return [
        {key: entry[key] for key in ("accepted", "git_commit", "message")} | {"tables": cast("list[Json]", words)}
        for entry, words in zip(entries, left, strict=True)
        if words
    ]
