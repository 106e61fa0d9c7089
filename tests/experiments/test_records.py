"""Files that jobs leave are read in one way, which checks them."""

import hashlib
import json
from dataclasses import replace

import pytest

from cascadeforest.data.errors import DamagedFile
from cascadeforest.data.files import write_signed_json
from cascadeforest.experiments.batches import make_batches
from cascadeforest.experiments.cells import SavedArrays
from cascadeforest.experiments.fitting import Growth
from cascadeforest.experiments.metrics import COST_METRICS, Scores
from cascadeforest.experiments.plan import Experiment, Plan, Suite, read_plan
from cascadeforest.experiments.records import (
    PLAN_FILE,
    Failure,
    Failures,
    batch_path,
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
        write_run(tmp_path / "results" / "quick", "iris", model, [cell("iris", model, repeat) for repeat in range(2)])
        mark = batch_path(tmp_path / "results" / "quick", f"iris.{model}")
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
    return tmp_path / "results" / "quick"


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
    drawn = draw(folder)
    assert discard_damaged(folder.parents[1], PLAN) == [path]
    assert [file.exists() for file in drawn] == [False, False, True, False]
    assert f"{path}: " in caplog.text
    assert "made again" in caplog.text
    assert not batch_path(folder, "iris.rf").exists()  # the job that makes it is to run again
    assert read_run(folder, "iris", "rf") is None
    assert read_run(folder, "iris", "svm") is not None
    assert discard_damaged(folder.parents[1], PLAN) == []


RUNS = tuple(run_of("quick", "iris", model) for model in ("rf", "svm", "absent"))
PLAN = Plan(
    "quick",
    Suite(""),
    {
        name: Experiment(name, "arena", "figure", "", "", datasets=(data,), repeats={data: 2}, columns={"a": model})
        for name, data, model in (("shown", "iris", "rf"), ("other", "digits", "svm"))
    },
    RUNS,
    batches=make_batches(RUNS, {}, 30),
)


def draw(folder):
    """Empty files in the place of what is drawn."""
    files = [folder / name for name in ("tables/shown.csv", "figures/shown.svg", "tables/other.csv", "index.html")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    return files


def test_a_run_that_is_gone_is_made_again_if_its_job_is_marked_as_done(folder, caplog):
    path, drawn = run_path(folder, "iris", "rf"), draw(folder)
    path.unlink()
    assert discard_damaged(folder.parents[1], PLAN) == [path]
    assert not batch_path(folder, "iris.rf").exists()
    assert [file.exists() for file in drawn] == [False, False, True, False]
    assert "rf.json: no such file" in caplog.text
    assert discard_damaged(folder.parents[1], PLAN) == []


def test_a_damaged_plan_is_discarded_with_all_drawings(folder, caplog):
    path, drawn = folder / PLAN_FILE, draw(folder)
    write_typed(path, PLAN)
    assert read_plan(path, "quick") == PLAN
    assert discard_damaged(folder.parents[1], PLAN) == []
    path.write_text(path.read_text().replace('"label"', '"lapel"').replace("arena", "areal"))
    with pytest.raises(DamagedFile, match=r"plan\.json: its content has the digest .* snakemake --cores all"):
        read_plan(path, "quick")
    assert discard_damaged(folder.parents[1], PLAN) == [path]
    assert not any(file.exists() for file in (path, *drawn))
    assert run_path(folder, "iris", "rf").exists()


def test_damaged_facts_about_a_data_set_are_discarded_with_what_shows_them(folder):
    root, drawn = folder.parents[1], draw(folder)
    path = root / "data" / "processed" / "iris.json"
    path.parent.mkdir(parents=True)
    write_signed_json(path, {"name": "iris", "rows": 150})
    assert discard_damaged(root, PLAN) == []
    path.write_text(path.read_text().replace("150", "151"))
    assert discard_damaged(root, PLAN) == [path]
    assert [file.exists() for file in (path, *drawn)] == [False, False, False, True, False]


@pytest.mark.parametrize("which", ["outputs", "extras"])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"other")])
def test_a_run_whose_arrays_are_damaged_is_discarded(folder, which, damage):
    root = folder.parents[1]
    path, content = root / "results" / "cells" / "aa" / "one.npz", b"arrays"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    saved = SavedArrays("aa/one.npz", hashlib.sha256(content).hexdigest())
    write_run(folder, "iris", "rf", [cell("iris", "rf", 0, **{which: saved if which == "outputs" else {"a": saved}})])
    assert discard_damaged(root, PLAN) == []
    damage(path)
    drawn = draw(folder)
    assert discard_damaged(root, PLAN) == [path]
    assert not path.exists()
    assert read_run(folder, "iris", "rf") is None
    assert [file.exists() for file in drawn] == [False, False, True, False]


def test_a_run_of_another_configuration_says_in_what_it_differs(folder):
    result, planned = read_run(folder, "iris", "rf"), run_of("quick", "iris", "rf")
    assert result.differences(planned) == result.differences(None) == []
    assert result.differences(replace(planned, suite="other")) == []  # the folder says the suite
    other = replace(planned, params={"n_estimators": 50}, repeats=(0,), seed=3)
    assert result.differences(other) == ["params", "repeats", "seed"]
    assert result.differences(replace(planned, repeats=(*planned.repeats, 7, 8))) == []  # its first ones are there
    assert result.differences(replace(planned, repeats=(7, *planned.repeats))) == ["repeats"]


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
