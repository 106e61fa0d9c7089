"""`make vulnerabilities`: licences, and what it says of pip-audit's answers, which are given here."""

import importlib
import json
import sys
from email.message import Message
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "vulnerabilities.py"
CLEAN = {"name": "numpy", "version": "2.4.6", "vulns": []}
UNKNOWN = {"name": "mine", "skip_reason": "Dependency not found on PyPI and could not be audited: mine (1.0)"}
BAD = {
    "name": "jinja2",
    "version": "3.1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"]}, {"id": "GHSA-2", "fix_versions": []}],
}


@pytest.fixture
def script(monkeypatch):
    """The script as a module, which makes no environments."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    module = importlib.import_module("vulnerabilities")
    monkeypatch.setattr(module.venv, "create", lambda *_, **__: None)
    yield module
    sys.modules.pop("vulnerabilities")


@pytest.fixture
def commands(script, monkeypatch):
    """Answers to the two commands (install pip-audit; run it), and what was run."""
    answers, asked = [(0, "", "")], []

    def run(*command):
        asked.append([str(word) for word in command])
        return answers[len(asked) - 1]

    monkeypatch.setattr(script, "run", run)
    return answers, asked


def answer(*packages: dict) -> tuple[int, str, str]:
    """What pip-audit prints about packages, with its status."""
    found = any(package.get("vulns") for package in packages)
    return int(found), json.dumps({"dependencies": packages, "fixes": []}), "Found some" if found else ""


@pytest.mark.parametrize(
    ("packages", "status", "lines"),
    [
        ([CLEAN], 0, ["No vulnerability of 1 locked packages is known."]),
        ([CLEAN, BAD], 1, ["Known vulnerabilities of 2 locked packages:", "PYSEC-1", "GHSA-2", "fixed in 3.1.6"]),
        ([BAD, UNKNOWN], 1, ["of 1 locked packages", "fixed in no version yet", "NOT checked", "have them: mine."]),
        ([CLEAN, UNKNOWN], 3, ["No vulnerability of 1 locked packages", "NOT checked", "have them: mine."]),
        ([UNKNOWN], 3, ["NOT checked for known vulnerabilities: pip-audit has no answer", "none of the 1 packages"]),
    ],
)
def test_the_status_tells_what_was_found(script, commands, capsys, packages, status, lines):
    answers, asked = commands
    answers.append(answer(*packages))
    assert script.main() == status
    printed = capsys.readouterr().out
    for line in lines:
        assert line in printed
    assert asked[0][1:4] == ["-m", "pip", "install"]
    assert asked[1][1:5] == ["-m", "pip_audit", "--requirement", str(script.LOCK)]


@pytest.mark.parametrize(
    ("answers_given", "words"),
    [
        (
            [(1, "", "ERROR: no index at https://me:s3cret@example.org/simple")],
            "pip-audit cannot be installed (ERROR: no",
        ),
        ([(-1, "", "not done after 600 seconds")], "pip-audit cannot be installed (not done after 600 seconds)"),
        (
            [(0, "", ""), (1, "", "Traceback\n\nERROR:Could not connect\n")],
            "no answer from its database (ERROR:Could not",
        ),
        ([(0, "", ""), (1, "", "")], "no answer from its database (status 1)"),
    ],
)
def test_what_could_not_be_looked_up_is_said_in_a_sentence(script, commands, capsys, answers_given, words):
    commands[0][:] = answers_given
    assert script.main() == script.NOT_CHECKED
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("The locked versions were NOT checked for known vulnerabilities: ")
    assert words in last
    assert "s3cret" not in last


def test_each_installed_package_has_a_line_with_its_licence(script):
    found = {name: licence for name, _, licence in script.licences()}
    assert "BSD" in found["numpy"]
    assert "BSD" in found["cascadeforest"]
    assert all(found.values())


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "other")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: BSD License"), ("License", "text\nmore")], "BSD License"),
        ([("Classifier", "License :: OSI Approved"), ("License", "Apache 2.0\n\nmore")], "Apache 2.0"),
        ([("Classifier", "Topic :: Software")], "not stated"),
    ],
)
def test_a_licence_is_taken_from_where_the_package_states_it(script, headers, licence):
    class Package:
        metadata = Message()

    for name, value in headers:
        Package.metadata[name] = value
    assert script.licence_of(Package()) == licence


def test_a_command_that_hangs_is_stopped(script, monkeypatch):
    monkeypatch.setattr(script, "SECONDS", 0.2)
    assert script.run(sys.executable, "-c", "import time; time.sleep(60)") == (-1, "", "not done after 0.2 seconds")
    assert script.run(sys.executable, "-c", "print(1); raise SystemExit(3)")[:2] == (3, "1\n")
