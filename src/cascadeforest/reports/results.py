"""What a report is made from: plan, runs, failures, facts about the data, the papers' numbers.

All of it is JSON (and the published CSV files), read from ``results/`` after a run or from the one compact file that
`accept` stores; figures also read the arrays that cells saved beside their JSON. Nothing here computes: rendering is a
pure function of `Results`.
"""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.files import read_json
from cascadeforest.experiments.failures import failed_cells
from cascadeforest.experiments.staleness import planned_specs, stale_fields

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
NOT_IMPLEMENTED = "not implemented"
#: The kind of experiments that have a picture.
FIGURE = "figure"
PLAN = "plan.json"
CELLS = "cells.json.gz"
#: Key of a stored plan: ids of the suite's experiments that were not accepted with it.
LEFT_OUT = "left_out"
#: Folders of the arrays that cells save: in the cache of a run, and beside the stored cells.
CELL_CACHE, STORED_EXTRAS = Path("results") / "cells", "extras"


@dataclass(frozen=True)
class Results:
    """Everything that a rendering reads.

    Parameters
    ----------
    plan : dict
        ``Plan.as_dict()`` of the suite.
    runs : dict
        (data set variant, model preset) to the content of its run file; what has not run is not there.
    failures : dict
        (data set variant, model preset) to the content of its failure files, their cells in one list.
    summaries : dict
        Data set variant to its facts (``data/processed/<variant>.json``).
    published : Path
        Folder of the papers' numbers.
    stale : dict
        (data set variant, model preset) to the fields in which its run file differs from the plan: the file was left
        by another configuration, so the pair counts as not run.
    extras : Path
        Folder of the arrays that cells saved.
    """

    plan: dict[str, Any]
    runs: dict[tuple[str, str], dict[str, Any]]
    failures: dict[tuple[str, str], dict[str, Any]]
    summaries: dict[str, dict[str, Any]]
    published: Path
    stale: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    extras: Path = CELL_CACHE

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.plan["suite"]

    @property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """Every declared experiment, in the order of the configuration."""
        return self.plan["experiments"]

    def experiment(self, name: str, option: str = "--experiment") -> dict[str, Any]:
        """Return one experiment that can be drawn.

        Parameters
        ----------
        name : str
            Its id.
        option : str
            How the user named it, for the error.

        Raises
        ------
        UserError
            If it is unknown, or declared but not implemented.
        """
        if name not in self.experiments:
            raise UserError(
                f"{option} is '{name}'; the suite {self.suite} declares {', '.join(self.experiments) or 'none'}."
            )
        experiment = self.experiments[name]
        if experiment["status"] == NOT_IMPLEMENTED:
            raise UserError(f"{name} ({experiment['title']}) is declared but cannot be drawn: {experiment['reason']}.")
        return experiment

    def drawable(self) -> list[str]:
        """Ids of the experiments that have a table."""
        return [name for name, experiment in self.experiments.items() if experiment["status"] != NOT_IMPLEMENTED]

    def figures(self) -> list[str]:
        """Ids of the experiments that have a picture beside their table."""
        return [name for name in self.drawable() if is_figure(self.experiments[name])]

    def only(self, names: Collection[str]) -> Results:
        """Return the part that some experiments show.

        Parameters
        ----------
        names : collection of str
            Ids of experiments that can be drawn.

        Returns
        -------
        Results
            Its plan also has the experiments that nobody can draw, and names the other ones under `LEFT_OUT`.

        Raises
        ------
        UserError
            If one is unknown or not implemented.
        """
        chosen = [self.experiment(name, "--only") for name in names]
        pairs = {pair for experiment in chosen for pair in needed_runs(experiment)}
        shown = {dataset for experiment in chosen for dataset in present(experiment)}
        left_out = [name for name in self.drawable() if name not in names]
        return replace(
            self,
            plan=self.plan
            | {
                "experiments": {name: e for name, e in self.experiments.items() if name not in left_out},
                "runs": [spec for spec in self.plan["runs"] if (spec["dataset"], spec["model"]) in pairs],
                LEFT_OUT: left_out,
            },
            runs={pair: run for pair, run in self.runs.items() if pair in pairs},
            failures={pair: failure for pair, failure in self.failures.items() if pair in pairs},
            summaries={name: facts for name, facts in self.summaries.items() if name in shown},
        )

    def incomplete(self) -> list[str]:
        """Ids of the experiments whose table lacks a run: it failed, or did not come to its turn."""
        return [name for name in self.drawable() if any(p not in self.runs for p in needed_runs(self.experiment(name)))]

    def cells(self, dataset: str, preset: str, repeats: int) -> list[dict[str, Any]] | None:
        """Return the first `repeats` cells of a run in their order, or None if not all of them are there.

        A run can have more repeats than a table shows: another table may ask for them.
        """
        run = self.runs.get((dataset, preset))
        if run is None:
            return None
        cells = sorted((cell for cell in run["cells"] if cell["repeat"] < repeats), key=lambda cell: cell["repeat"])
        return cells if len(cells) == repeats else None

    def extra_path(self, cell: Mapping[str, Any], name: str) -> Path:
        """Return the file of the arrays that a cell saved under the name of an extra.

        Raises
        ------
        UserError
            If the cell saved no such arrays, or the file is gone.
        """
        place = f"{cell['model']} on {cell['dataset']}, repeat {cell['repeat']}"
        saved = cell.get("extras", {})
        if name not in saved:
            raise UserError(
                f"{place}: extras are {', '.join(saved) or 'none'}, and the figure needs '{name}'. "
                f"Name it in the experiment: 'extras: [{name}]' (config/experiments), and run again."
            )
        path = self.extras / saved[name]
        if not path.is_file():
            raise UserError(
                f"{path}: no such file; the cell of {place} had saved its '{name}' there. {self._again(cell, path)}"
            )
        return path

    def arrays(self, cell: Mapping[str, Any], name: str) -> dict[str, np.ndarray]:
        """Return what a cell saved beyond its JSON.

        Parameters
        ----------
        cell : mapping
            One cell of a run.
        name : str
            Name of the extra, as in the configuration.

        Returns
        -------
        dict
            Name to array.

        Raises
        ------
        UserError
            If the cell saved no such arrays, or the file is gone or damaged.
        """
        import numpy as np

        path = self.extra_path(cell, name)
        try:
            with path.open("rb") as stream, np.load(stream) as content:
                return dict(content)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise UserError(f"{path}: damaged ({error}). {self._again(cell, path)}") from error

    def _again(self, cell: Mapping[str, Any], path: Path) -> str:
        """How to get the arrays of a cell again."""
        if self.extras.name == STORED_EXTRAS:
            return f"Take it from git again: git checkout -- {path}"
        run = f"results/{self.suite}/runs/{cell['dataset']}/{cell['model']}.json"
        cached = f"results/cells/{cell['key'][:2]}/{cell['key']}.json"
        return f"Delete {run} and {cached} and run again: snakemake --cores all --config suite={self.suite}"

    def all_cells(self) -> list[dict[str, Any]]:
        """Return the cells of all runs."""
        return [cell for run in self.runs.values() for cell in run["cells"]]


def is_figure(experiment: Mapping[str, Any]) -> bool:
    """Whether an experiment of the plan has a picture beside its table."""
    return experiment["kind"] == FIGURE


def needed_runs(experiment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs (data set variant, model preset) that an experiment shows, in its order.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    """
    if experiment["status"] == NOT_IMPLEMENTED:
        return []
    presets = [preset for column, preset in experiment["columns"].items() if column not in experiment["missing_models"]]
    return [(dataset, preset) for dataset in present(experiment) for preset in dict.fromkeys(presets)]


def needed_extras(experiment: Mapping[str, Any], results: Results) -> list[Path]:
    """Return the files of arrays that an experiment is drawn from, as far as their runs are there.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        For the cells.

    Raises
    ------
    UserError
        If a cell lacks such a file.
    """
    return [
        results.extra_path(cell, name)
        for dataset, preset in (needed_runs(experiment) if experiment["extras"] else [])
        for cell in results.cells(dataset, preset, experiment["repeats"][dataset]) or []
        for name in _extras_of(experiment, preset)
    ]


def _extras_of(experiment: Mapping[str, Any], preset: str) -> list[str]:
    """Extras that the cells of a model preset save; plans that were stored long ago have the same for all columns."""
    of = experiment.get("extras_of", {})
    columns = [column for column, other in experiment["columns"].items() if other == preset]
    return list(dict.fromkeys(extra for column in columns for extra in of.get(column, experiment["extras"])))


def present(experiment: Mapping[str, Any]) -> list[str]:
    """Return the rows of an experiment that this suite and machine have."""
    return [dataset for dataset in experiment["datasets"] if dataset not in experiment["absent"]]


def read_results(root: Path, suite: str, experiments: Iterable[str] | None = None) -> Results:
    """Read what a run of the workflow left.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite: its files lie in ``results/<suite>``.
    experiments : iterable of str, optional
        Read only what these experiments show; default all.

    Returns
    -------
    Results
        Runs that are missing, or were made by another configuration, are left out: a table says so in words.

    Raises
    ------
    UserError
        If there is no plan of this suite, or a file is malformed.
    """
    folder = root / "results" / suite
    if not (folder / PLAN).is_file():
        raise UserError(
            f"{folder / PLAN}: no such file, so nothing was run for the suite '{suite}'. "
            f"Run it first: snakemake --cores all --config suite={suite}"
        )
    plan = read_json(folder / PLAN)
    if plan.get("suite") != suite:
        raise ConfigError(f"{folder / PLAN}: suite is '{plan.get('suite')}', not '{suite}'. Delete it and run again.")
    chosen = [plan["experiments"][name] for name in experiments or plan["experiments"] if name in plan["experiments"]]
    pairs = sorted({pair for experiment in chosen for pair in needed_runs(experiment)})
    shown = sorted({dataset for e in chosen if e["status"] != NOT_IMPLEMENTED for dataset in present(e)})
    specs = planned_specs(plan)
    runs, failures, stale = {}, {}, {}
    for dataset, preset in pairs:
        path = folder / "runs" / dataset / f"{preset}.json"
        run = read_json(path) if path.is_file() else None
        differing = [] if run is None else stale_fields(run, specs.get((dataset, preset)))
        if differing:
            stale[dataset, preset] = differing
        if run is not None and not differing:
            runs[dataset, preset] = run
        elif cells := failed_cells(folder / "failures" / dataset, preset):
            failures[dataset, preset] = {"dataset": dataset, "model": preset, "cells": cells}
    processed = root / "data" / "processed"
    summaries = {name: read_json(path) for name in shown if (path := processed / f"{name}.json").is_file()}
    return Results(plan, runs, failures, summaries, root / "reports" / "published", stale, root / CELL_CACHE)


def pack(results: Results) -> bytes:
    """Return all that `results` holds, but for the papers' numbers, as one compact file: same content, same bytes.

    Parameters
    ----------
    results : Results
        Complete results; failures are not stored.
    """
    content = {
        "format": FORMAT,
        "plan": results.plan,
        "runs": [results.runs[pair] for pair in sorted(results.runs)],
        "summaries": results.summaries,
    }
    # Keys keep their order: in the plan it is the order of tables, columns and rows.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(f"{text}\n".encode(), compresslevel=9, mtime=0)


def read_stored(root: Path, suite: str) -> Results:
    """Read the results behind the stored tables of a suite.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    suite : str
        Name of the suite: its file is ``reports/<suite>/cells.json.gz``.

    Returns
    -------
    Results

    Raises
    ------
    UserError
        If nothing is stored for this suite, or the file is damaged or of another format.
    """
    path = root / "reports" / suite / CELLS
    if not path.is_file():
        raise UserError(
            f"{path}: no such file, so nothing is stored for the suite '{suite}'. "
            f"Run the suite, then: make accept SUITE={suite} MESSAGE='why'"
        )
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise UserError(f"{path}: damaged ({error}). Take it from git again: git checkout -- {path}") from error
    if content.get("format") != FORMAT:
        raise UserError(
            f"{path}: format is {content.get('format')}; this version reads {FORMAT}. "
            f"Run the suite again and accept it: make accept SUITE={suite} MESSAGE='new format'"
        )
    runs = {(run["dataset"], run["model"]): run for run in content["runs"]}
    published, extras = root / "reports" / "published", path.parent / STORED_EXTRAS
    return Results(content["plan"], runs, {}, content["summaries"], published, extras=extras)
