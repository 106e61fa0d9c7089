"""What must be there before anything is computed: targets that exist, the mirror, room on the disk."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.sources import MIRROR_VARIABLE, Mirror
from cascadeforest.experiments.plan import Plan
from cascadeforest.experiments.records import batch_path

MIB = 2**20
#: Room for processed data, drawings, logs and the store of MLflow; and for the files of a fit.
BASE_MIB, CELL_MIB = 300, 0.4
#: Targets besides the experiments.
TARGETS = ("all", "default", "report", "check")


def use_this_python() -> None:
    """Let jobs run this Python, also where its environment is not activated (``.venv/bin/snakemake``)."""
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])


def check_prerequisites(root: Path, plan: Plan, targets: Iterable[str]) -> None:
    """Raise a `UserError` that says what is missing, and what to do.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    plan : Plan
        Of the suite.
    targets : iterable of str
        What is to be made: experiments, other names of rules, files.
    """
    check_targets(plan, targets)
    check_mirror()
    check_room(root, plan)


def check_targets(plan: Plan, targets: Iterable[str]) -> None:
    """Raise a `ConfigError` for a target that is no file and that nothing makes; `UserError` for unknown rows."""
    known = [*plan.experiments, *TARGETS]
    for given in targets:
        target, has_rows, _ = given.partition(":")
        if target in plan.experiments and has_rows:
            plan.only([given])
        if target in known or "/" in target or "." in target:
            continue
        close = difflib.get_close_matches(target, known, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"`make list SUITE={plan.suite}` shows all experiments."
        raise ConfigError(f"The target '{target}' is no experiment of the suite {plan.suite}. {hint}")


def slips(plan: Plan, words: Iterable[str]) -> list[str]:
    """Return the words of a command line that nearly name an experiment, and are no option or setting."""
    known = [*plan.experiments, *TARGETS]
    free = [word for word in words if word not in known and not word.startswith("-") and "=" not in word]
    return [word for word in free if difflib.get_close_matches(word, plan.experiments, n=1, cutoff=0.8)]


def check_mirror() -> None:
    """Raise a `ConfigError` if the folder that the environment names as mirror does not exist."""
    mirror = Mirror.from_environment()
    if mirror and not mirror.is_address and not Path(mirror.location).expanduser().is_dir():
        raise ConfigError(
            f"{MIRROR_VARIABLE} is '{mirror}', which is no folder. Name the folder with the copies of the "
            f"data, or take the data from their official addresses: unset {MIRROR_VARIABLE}"
        )


def check_room(root: Path, plan: Plan) -> None:
    """Raise a `UserError` if the disk has less room than what is still to be computed needs, by an estimate."""
    folder = root / "results" / plan.suite
    missing = [batch for batch in plan.batches if not batch_path(folder, batch.name).is_file()]
    if not missing:
        return
    cells = sum(len(part.repeats) for batch in missing for part in batch.parts)
    needed = BASE_MIB + CELL_MIB * cells
    place = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(place).free / MIB
    if free < needed:
        raise UserError(
            f"{place}: {free:,.0f} MiB are free on this disk, and the suite {plan.suite} needs about {needed:,.0f} MiB "
            f"for {cells:,} fits. Make room, or put the folder 'results' on another disk and link to it: "
            f"ln -s /other/disk/results {os.fspath(root / 'results')}"
        )
