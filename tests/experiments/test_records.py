"""Files that jobs leave are read in one way, which checks them."""

import json
from dataclasses import replace

import pytest

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.files import write_signed_json
from cascadeforest.experiments.fitting import Growth
from cascadeforest.experiments.metrics import COST_METRICS, Scores
from cascadeforest.experiments.plan import Experiment, Plan, Suite
from cascadeforest.experiments.records import (
    Failure,
    Failures,
    discard_damaged,
    read_failures,
    read_run,
    run_path,
    scored,
)
from cascadeforest.experiments.typed_files import write_typed

from .made_results import COSTS, cell, run_of, write_run


@pytest.fixture
def folder(tmp_path):
    """Two runs of two repeats."""
    for model in ("rf", "svm"):
        write_run(tmp_path / "quick", "iris", model, [cell("iris", model, repeat) for repeat in range(2)])
    return tmp_path / "quick"


def signed(path, change):
    content = json.loads(path.read_text())
    change(content)
    write_signed_json(path, content)


def test_a_run_comes_back_as_it_was_written(folder):
    result = read_run(folder, "iris", "rf")
    assert result.run == run_of("quick", "iris", "rf")
    assert result.cells == tuple(cell("iris", "rf", repeat) for repeat in range(2))
    assert read_run(folder, "iris", "xgboost") is None


DAMAGE = [
    (lambda path: path.write_text(path.read_text().replace("0.06", "0.123", 1)), "has the digest"),
    (lambda path: path.write_text("{}"), "without content_digest"),
    (lambda path: path.write_text(""), "the file is empty"),
    (lambda path: path.write_bytes(path.read_bytes()[:200]), "not whole JSON"),
    (lambda path: write_signed_json(path, {"cells": []}), "written by another version .*lacks run"),
    (lambda path: path.write_bytes(path.with_name("svm.json").read_bytes()), "it is the result of svm on iris"),
    (lambda path: signed(path, lambda run: run["cells"].reverse()), r"repeats are \[1, 0\], not \[0, 1\], each once"),
    (lambda path: signed(path, lambda run: run["cells"].pop()), r"repeats are \[0\]"),
    (lambda path: signed(path, lambda run: run["cells"].__setitem__(1, run["cells"][0])), r"repeats are \[0, 0\]"),
    (lambda path: signed(path, lambda run: run["cells"][0].update(dataset="wine")), "cells of .*wine"),
    (lambda path: write_run(path.parents[2], "iris", "rf", [cell("iris", "rf", 0)] * 2), "each once"),
]


@pytest.mark.parametrize(("damage", "fault"), DAMAGE)
def test_a_damaged_run_is_an_error_with_a_remedy_and_is_discarded_with_a_warning(folder, damage, fault, caplog):
    path = run_path(folder, "iris", "rf")
    damage(path)
    with pytest.raises(DamagedFile, match=rf"rf\.json: .*{fault}.* snakemake --cores all --config suite=quick"):
        read_run(folder, "iris", "rf")
    names = {"shown": "rf", "other": "svm"}
    shown = {
        name: Experiment(name, "arena", "figure", "", "", datasets=("iris",), columns={"a": model})
        for name, model in names.items()
    }
    plan = Plan("quick", Suite(""), shown, tuple(run_of("quick", "iris", model) for model in ("rf", "svm", "absent")))
    drawn = [folder / kind for kind in ("tables/shown.csv", "figures/shown.svg", "tables/other.csv", "index.html")]
    for file in drawn:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert discard_damaged(folder, plan) == [path]
    assert [file.exists() for file in drawn] == [False, False, True, False]
    assert f"{path}: " in caplog.text
    assert "made again" in caplog.text
    assert read_run(folder, "iris", "rf") is None
    assert read_run(folder, "iris", "svm") is not None
    assert discard_damaged(folder, plan) == []


def test_a_run_of_another_configuration_says_in_what_it_differs(folder):
    result, planned = read_run(folder, "iris", "rf"), run_of("quick", "iris", "rf")
    assert result.differences(planned) == result.differences(None) == []
    assert result.differences(replace(planned, suite="other")) == []  # the folder says the suite
    other = replace(planned, params={"n_estimators": 50}, repeats=(0,), seed=3)
    assert result.differences(other) == ["params", "repeats", "seed"]


def test_a_scored_cell_shows_scores_costs_and_layers():
    plain = cell("iris", "rf", 0)
    one = scored(plain, "other", Scores({"accuracy": 0.5}, ((1, 0), (1, 0))))
    assert one.metrics == {"accuracy": 0.5} | {name: getattr(COSTS, name) for name in COST_METRICS}
    assert (one.model, one.confusion) == ("other", ((1, 0), (1, 0)))
    cascade = scored(replace(plain, growth=Growth(3, 4, False)), "other", Scores({}))
    assert cascade.metrics["n_layers"] == 3


def test_a_damaged_file_of_failures_is_named(tmp_path):
    path = tmp_path / "failures" / "iris" / "rf.json"
    write_typed(path, Failures("iris", "rf", (Failure(1, "MemoryError", "no room", "", 0, 1),)))
    assert [failure.repeat for failure in read_failures(tmp_path, "iris", "rf")] == [1]
    path.write_text(path.read_text().replace("no room", "room"))
    with pytest.raises(DamagedFile, match=r"rf\.json: .*Delete it"):
        read_failures(tmp_path, "iris", "rf")
