"""Where a result comes from: versions, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

#: Packages whose version can change the numbers of every model of ours.
BASE_LIBRARIES = ("numpy", "scikit-learn", "scipy")
#: Distribution names that stand for one library: the CPU build of xgboost has a name of its own.
ALTERNATIVES = {"xgboost": ("xgboost", "xgboost-cpu")}


@dataclass(frozen=True)
class Provenance:
    """Where a cell comes from.

    Parameters
    ----------
    versions : dict
        Library to version (`versions`).
    host : dict
        The machine (`host`).
    code_digest : str
        Digest of our modules that took part.
    data_digest : str
        Digest of the processed data set.
    git_commit : str or None
        Commit of the checkout (`git_commit`).
    """

    versions: dict[str, str]
    host: dict[str, str | int]
    code_digest: str
    data_digest: str
    git_commit: str | None = None


def versions(libraries: Iterable[str] = ()) -> dict[str, str]:
    """Versions of the base libraries and of the named ones.

    Parameters
    ----------
    libraries : iterable of str
        Distribution names, as in ``libraries`` of ``config/models.yaml``.

    Returns
    -------
    dict
        Name to version; a library that is not installed is 'not installed'.
    """
    return {name: _version(name) for name in sorted({*BASE_LIBRARIES, *libraries})}


def libraries_of(estimator: str, declared: Iterable[str]) -> list[str]:
    """Distributions whose version decides what an estimator computes.

    Parameters
    ----------
    estimator : str
        ``"package.module:Class"``.
    declared : iterable of str
        ``libraries`` of ``config/models.yaml``.

    Returns
    -------
    list of str
        The declared ones, and the one that the estimator itself comes from.
    """
    package = estimator.partition(".")[0].partition(":")[0]
    found = () if package in ("cascadeforest", "sklearn") else _distributions().get(package, ())
    return sorted({*declared, *found})


def host() -> dict[str, str | int]:
    """The machine, without its name."""
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
    }


def git_commit(folder: Path) -> str | None:
    """Commit of a checkout, with '+changes' if files that git tracks were edited; None outside a checkout.

    Parameters
    ----------
    folder : Path
        A folder of the checkout.

    Returns
    -------
    str or None
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


@cache
def _version(name: str) -> str:
    for candidate in ALTERNATIVES.get(name, (name,)):
        try:
            return metadata.version(candidate)
        except metadata.PackageNotFoundError:
            continue
    return "not installed"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
