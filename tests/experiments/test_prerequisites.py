"""What must be there before anything is computed is looked for, and said in a sentence when it is not."""

import os
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.experiments import prerequisites
from cascadeforest.experiments.batches import make_batches
from cascadeforest.experiments.plan import Experiment, Plan, Run, Suite
from cascadeforest.experiments.prerequisites import (
    check_mirror,
    check_prerequisites,
    check_room,
    check_targets,
    slips,
    use_this_python,
)
from cascadeforest.experiments.records import batch_path

Usage = namedtuple("Usage", ["total", "used", "free"])


@pytest.fixture
def plan():
    runs = tuple(
        Run("quick", data, "m", "classification", "sklearn.dummy:DummyClassifier", {}, tuple(range(500)))
        for data in ("iris", "wine")
    )
    experiment = Experiment("hidf-table1", "hidf", "table", "T", "scores", datasets=("iris", "wine"))
    return Plan("quick", Suite("a suite"), {"hidf-table1": experiment}, runs, batches=make_batches(runs, {}, 30))


def test_known_targets_and_files_are_let_through(plan, tmp_path):
    check_prerequisites(tmp_path, plan, ["hidf-table1", "hidf-table1:wine", "report", "results/quick/x.html", "x.json"])


@pytest.mark.parametrize(("target", "words"), [("hidf-tabel1", "Did you mean 'hidf-table1'"), ("xyz", "make list")])
def test_an_unknown_target_is_named(plan, target, words):
    with pytest.raises(ConfigError, match=f"'{target}' is no experiment of the suite quick. .*{words}"):
        check_targets(plan, [target])


def test_an_unknown_row_is_named(plan):
    with pytest.raises(UserError, match=r"rows that hidf-table1 does not have in the suite quick: win. It has iris, w"):
        check_targets(plan, ["hidf-table1:wine,win"])
    with pytest.raises(ConfigError, match=r"'hidf-tabel1' is no experiment .* Did you mean 'hidf-table1'"):
        check_targets(plan, ["hidf-tabel1:wine"])


def test_words_of_a_command_that_nearly_name_an_experiment_are_slips(plan):
    words = ["hidf-tabel1", "--cores", "2", "hidf-table1", "--config", "suite=hidf-tabel1", "smoke", "all"]
    assert slips(plan, words) == ["hidf-tabel1"]


def test_a_mirror_that_does_not_exist_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CASCADEFOREST_MIRROR", str(tmp_path / "gone"))
    with pytest.raises(ConfigError, match=r"CASCADEFOREST_MIRROR is '.*gone', which is no folder.*unset"):
        check_mirror()
    for good in (str(tmp_path), "https://example.org/data", ""):
        monkeypatch.setenv("CASCADEFOREST_MIRROR", good)
        check_mirror()


def test_too_little_room_is_said_before_the_run_and_only_what_is_missing_counts(plan, tmp_path, monkeypatch):
    free = prerequisites.BASE_MIB + 500 * prerequisites.CELL_MIB + 1  # enough for one of the two runs
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, free * 2**20))
    with pytest.raises(UserError, match=r"needs about 700 MiB for 1,000 fits. Make room"):
        check_room(tmp_path, plan)
    mark = batch_path(tmp_path / "results" / "quick", "iris.m")
    mark.parent.mkdir(parents=True)
    mark.touch()
    check_room(tmp_path, plan)


def test_jobs_run_the_python_of_the_workflow(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    use_this_python()
    assert shutil.which("python") == str(Path(sys.executable).with_name("python"))
    assert os.environ["PATH"].endswith(f"{os.pathsep}/nowhere")
