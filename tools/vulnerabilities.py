"""List the licences of the installed packages and the known vulnerabilities of the locked ones.

``make vulnerabilities`` runs it. pip-audit is not among the packages of the project: it is installed into a temporary
environment, which is removed afterwards. The exit status is 0 if no vulnerability is known, 1 if there are some, and 3
if this could not be found out.
"""

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cascadeforest.data.addresses import without_passwords

LOCK = Path(__file__).parents[1] / "requirements.lock"
NONE_KNOWN, SOME_KNOWN, NOT_CHECKED = 0, 1, 3
SECONDS = 600  # for each of the two commands


class NotChecked(Exception):
    """The vulnerabilities could not be looked up; the message says why."""


def main() -> int:
    """Print both lists and return the exit status."""
    print("Licences of the installed packages, as their metadata state them:\n")
    print(columns(licences()), flush=True)
    print()
    try:
        audited = audit(LOCK)
    except NotChecked as reason:
        print(f"The locked versions were NOT checked for known vulnerabilities: {reason}")
        return NOT_CHECKED
    return tell(audited)


def tell(audited: list[dict]) -> int:
    """Print what pip-audit found, and return the exit status."""
    found = [
        (
            package["name"],
            package["version"],
            one["id"],
            f"fixed in {', '.join(one['fix_versions']) or 'no version yet'}",
        )
        for package in audited
        for one in package.get("vulns", [])
    ]
    skipped = [package["name"] for package in audited if "skip_reason" in package]
    n_checked = len(audited) - len(skipped)
    if found:
        print(f"Known vulnerabilities of {n_checked} locked packages:\n")
        print(columns(found))
    else:
        print(f"No vulnerability of {n_checked} locked packages is known.")
    if skipped:
        print(f"NOT checked, as the database does not have them: {', '.join(skipped)}.")
    if found:
        return SOME_KNOWN
    return NOT_CHECKED if skipped else NONE_KNOWN


def licences() -> list[tuple[str, str, str]]:
    """Return name, version and licence of each installed package, by name."""
    installed = {one.metadata["Name"]: one for one in distributions()}
    return [(name, installed[name].version, licence_of(installed[name])) for name in sorted(installed, key=str.lower)]


def licence_of(distribution: Distribution) -> str:
    """Return the SPDX expression of a package, else its classifiers, else the first line of its licence."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [text.split(" :: ") for text in metadata.get_all("Classifier") or []]
    names = [parts[-1] for parts in classifiers if parts[0] == "License" and parts[-1] != "OSI Approved"]
    lines = (metadata.get("License") or "").strip().splitlines()
    return "; ".join(names) or "".join(lines[:1])[:80] or "not stated"


def audit(lock: Path) -> list[dict]:
    """Return what pip-audit says about the packages of a lock file, one entry for each package of this platform.

    Raises
    ------
    NotChecked
        If pip-audit cannot be installed, gets no answer from its database, or gets one for no package: a package index
        in the place of PyPI may have the packages without the database.
    """
    with tempfile.TemporaryDirectory(prefix="pip-audit-") as folder:
        try:
            venv.create(folder, with_pip=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotChecked(f"a temporary environment cannot be made ({error}).") from error
        python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        failed = "pip-audit cannot be installed"
        code, output, fault = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit")
        if code == 0:
            # The lock has every package with its hashes, so that nothing is resolved or downloaded.
            options = ["--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json"]
            code, output, fault = run(python, "-m", "pip_audit", "--requirement", lock, *options)
            failed = "pip-audit has no answer from its database"
            # Its status is 1 for vulnerabilities and for errors; only an audit that came to its end prints JSON.
            if output.startswith("{"):
                audited = json.loads(output)["dependencies"]
                if any("skip_reason" not in package for package in audited):
                    return audited
                fault = f"it has none of the {len(audited)} packages"
    lines = [line for line in fault.splitlines() if line.strip()] or [f"status {code}"]
    raise NotChecked(f"{failed} ({without_passwords(lines[-1].strip())[:300]}). Try again with a network.")


def run(*command: str | Path) -> tuple[int, str, str]:
    """Run a command and return its status, what it prints, and its errors."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return -1, "", f"not done after {SECONDS} seconds"
    return done.returncode, done.stdout, done.stderr


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
