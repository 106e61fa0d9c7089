"""Jobs as users and Snakemake start them: one process per repeat, crash-safe, one thread, shared cells."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.processed import make, write
from cascadeforest.experiments.batches import Cost, make_batches
from cascadeforest.experiments.jobs import merge, run_batch
from cascadeforest.experiments.plan import Plan, Run, Suite
from cascadeforest.experiments.records import Failure, Failures, read_run
from cascadeforest.experiments.typed_files import write_typed
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.results import read_results

from .made_results import experiment

ROOT = Path(__file__).parents[2]
COST = dict.fromkeys(("fit_cpu_seconds", "predict_cpu_seconds", "fit_peak_mib", "predict_peak_mib", "model_mib"))

SPIES = '''
import json, os, signal, time
from sklearn.dummy import DummyClassifier

class Dies(DummyClassifier):
    """Killed in its second fit of a real size, as by the kernel when memory runs out."""
    def __init__(self, marker=None):
        super().__init__()
        self.marker = marker
    def fit(self, X, y):
        if len(y) > 60 and os.path.exists(self.marker):
            with open(self.marker, "a") as stream:
                stream.write("x")
            if os.path.getsize(self.marker) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)

class Raises(DummyClassifier):
    def fit(self, X, y):
        raise RuntimeError("no such luck")

class ReportsThreads(DummyClassifier):
    def __init__(self, path=None):
        super().__init__()
        self.path = path
    def fit(self, X, y):
        import threadpoolctl
        pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
        report = {"pools": pools, "loky": os.environ["LOKY_MAX_CPU_COUNT"]}
        with open(self.path, "w") as stream:
            json.dump(report, stream)
        return super().fit(X, y)

class Decides(DummyClassifier):
    """Predicts the last class whatever the probabilities say."""
    def predict(self, X):
        return super().predict(X) * 0 + self.classes_[-1]

class Waits(DummyClassifier):
    def __init__(self, path=None):
        super().__init__()
        self.path = path
    def fit(self, X, y):
        if len(y) > 60:
            with open(self.path, "w") as stream:
                stream.write(str(os.getpid()))
            time.sleep(120)
        return super().fit(X, y)

class GivesNan(DummyClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) * float("nan")
'''


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "iris.npz"
    command = [sys.executable, "-m", "cascadeforest.data", "prepare", "--dataset", "iris", "--output", str(path)]
    subprocess.run(command, check=True, cwd=ROOT)
    return path


@pytest.fixture
def job(tmp_path, iris):
    """Run one job in a folder of its own; the returned function gives the finished process."""
    (tmp_path / "spies.py").write_text(SPIES)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "2"}

    def run(
        estimator,
        params=None,
        *,
        model="model",
        repeats=2,
        extras=(),
        seed=0,
        memory=True,
        data=iris,
        wait=True,
        shift=0,
    ):
        spec = {"suite": "test", "dataset": "iris", "model": model, "task": "classification", "estimator": estimator}
        spec |= {"params": params or {}, "repeats": list(range(repeats)), "extras": list(extras), "seed": seed}
        spec |= {"memory": memory, "seed_shift": shift}
        command = [sys.executable, "-m", "cascadeforest.experiments", "run", "--spec", json.dumps(spec)]
        command += [
            "--data",
            str(data),
            "--cache",
            str(tmp_path / "cells"),
            "--output",
            str(tmp_path / f"{model}.json"),
        ]
        command += ["--failures", str(tmp_path / "failures.json")]
        if not wait:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    run.folder = tmp_path
    return run


def cells_of(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*.json")}


def merged(folder, model="model"):
    return json.loads((folder / f"{model}.json").read_text())


FOREST = "sklearn.ensemble:RandomForestClassifier"


def test_a_job_merges_its_repeats_and_a_second_run_computes_nothing(job):
    assert job(FOREST, {"n_estimators": 5}).returncode == 0
    cells = merged(job.folder)["cells"]
    assert [cell["repeat"] for cell in cells] == [0, 1]
    cell = cells[0]
    assert cell["n_train"] + cell["n_test"] == 150
    assert np.trace(cell["confusion"]) / np.sum(cell["confusion"]) == pytest.approx(cell["metrics"]["accuracy"])
    assert cell["params"]["n_estimators"] == 5
    assert cell["params"]["n_jobs"] == 1
    assert cell["params"]["max_features"] == "sqrt"  # defaults are resolved too
    assert set(cell["metrics"]) >= {"accuracy", "roc_auc", "log_loss", "ece", "fit_cpu_seconds", "model_mib"}
    assert cells[0]["seeds"] != cells[1]["seeds"]
    before = cells_of(job.folder)
    assert job(FOREST, {"n_estimators": 5}).returncode == 0
    assert cells_of(job.folder) == before


def test_equal_content_under_two_names_is_one_cell_and_other_content_is_not(job):
    job(FOREST, {"n_estimators": 5}, model="first", repeats=1)
    job(FOREST, {"n_estimators": 5}, model="second", repeats=1)
    assert len(cells_of(job.folder)) == 1
    assert merged(job.folder, "second")["cells"][0]["model"] == "second"
    job(FOREST, {"n_estimators": 6}, model="third", repeats=1)
    assert len(cells_of(job.folder)) == 2


def test_seeds_do_not_depend_on_the_model(job):
    job(FOREST, {"n_estimators": 5}, model="forest", repeats=1)
    job("sklearn.tree:DecisionTreeClassifier", model="tree", repeats=1)
    seeds = [merged(job.folder, name)["cells"][0]["seeds"] for name in ("forest", "tree")]
    assert seeds[0] == seeds[1]


def test_a_model_with_a_seed_shift_has_other_seeds_on_the_same_split(job):
    job(FOREST, {"n_estimators": 5}, repeats=1)
    again = job(FOREST, {"n_estimators": 5}, model="again", repeats=1, seed=1, shift=1)
    assert again.returncode == 0, again.stderr
    one, other = (merged(job.folder, name)["cells"][0]["seeds"] for name in ("model", "again"))
    assert one["split"] == other["split"]
    assert one["model"] != other["model"]


def test_a_killed_repeat_loses_only_itself_and_the_next_run_completes_it(job):
    marker = job.folder / "armed"
    marker.touch()
    finished = job("spies:Dies", {"marker": str(marker)}, repeats=3)
    assert finished.returncode == 1
    assert "repeat 1: SIGKILL" in finished.stderr
    assert not (job.folder / "model.json").exists()
    assert json.loads((job.folder / "failures.json").read_text())["repeats"][0]["repeat"] == 1
    survivors = cells_of(job.folder)
    assert len(survivors) == 2
    marker.unlink()
    assert job("spies:Dies", {"marker": str(marker)}, repeats=3).returncode == 0
    assert survivors.items() <= cells_of(job.folder).items()
    assert len(merged(job.folder)["cells"]) == 3
    assert not (job.folder / "failures.json").exists()
    assert not list(job.folder.rglob(".*"))  # nothing half-written


@pytest.fixture
def batch(tmp_path, iris, monkeypatch):
    """Run several jobs, given as model to estimator, in one process; the returned function gives what was told."""
    (tmp_path / "spies.py").write_text(SPIES)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "src")]))

    def run(models, *, repeats=2, memory=False):
        script = f"""
import json, sys
from pathlib import Path
from cascadeforest.experiments.__main__ import limit_threads
limit_threads(1)
from cascadeforest.experiments.jobs import Job, JobFailed, run_jobs
from cascadeforest.experiments.plan import Run
folder = Path({str(tmp_path)!r})
jobs = []
for model, (estimator, params) in {models!r}.items():
    run = Run("test", "iris", model, "classification", estimator, params, tuple(range({repeats})), memory={memory})
    jobs.append(Job(run, Path({str(iris)!r}), folder / f"{{model}}.json", folder / "failures" / f"{{model}}.json"))
try:
    run_jobs(jobs, folder / "cells", tell=lambda event, **facts: print(json.dumps([event, facts])))
except JobFailed as error:
    sys.exit(str(error))
"""
        command = [sys.executable, "-c", script]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    run.folder = tmp_path
    return run


def test_fits_that_share_a_process_give_the_bytes_of_fits_alone(batch):
    """Whatever was fitted before; memory, which a shared process cannot tell, is not measured."""
    forest = (FOREST, {"n_estimators": 5})
    others = {"cascade": ("cascadeforest.cascade.gcforest:GCForestClassifier", {"n_estimators": 3, "max_layers": 2})}
    others |= {"ours": ("cascadeforest.forest.estimators:ExtraTreesClassifier", {"n_estimators": 3})}
    assert batch(others | {"shared": forest}).returncode == 0
    assert batch({"alone": forest}, memory=True).returncode == 0
    shared, alone = merged(batch.folder, "shared"), merged(batch.folder, "alone")
    for one, other in zip(shared["cells"], alone["cells"], strict=True):
        assert one["outputs"]["sha256"] == other["outputs"]["sha256"]
        assert one["key"] != other["key"]
        assert one["costs"]["fit_peak_mib"] is None
        assert other["costs"]["fit_peak_mib"] >= 0
        assert "fit_peak_mib" not in one["metrics"]
        assert {**one["metrics"], **COST, "fit_peak_mib": 0} == {**other["metrics"], **COST, "fit_peak_mib": 0}
    readings = [cell["costs"]["profiler_fit_peak_mib"] for cell in alone["cells"]]
    assert [reading is None for reading in readings] == [False, True]  # memory-profiler's, of the first repeat only


@pytest.mark.parametrize("memory", [False, True])
def test_a_fit_that_dies_loses_only_itself_of_a_batch(batch, memory):
    marker = batch.folder / "armed"
    marker.touch()
    models = {"first": (FOREST, {"n_estimators": 3}), "fragile": ("spies:Dies", {"marker": str(marker)})}
    models |= {"wrong": ("spies:Raises", {}), "last": (FOREST, {"n_estimators": 4})}
    done = batch(models, repeats=3, memory=memory)
    assert "fragile on iris: 1 of 3 repeats failed" in done.stderr
    assert "repeat 1: SIGKILL" in done.stderr
    assert "wrong on iris: 3 of 3 repeats failed" in done.stderr
    assert sorted(path.stem for path in batch.folder.glob("*.json")) == ["first", "last"]
    assert sorted(path.stem for path in batch.folder.glob("failures/*")) == ["fragile", "wrong"]
    assert len(cells_of(batch.folder)) == 3 + 2 + 3
    survivors = cells_of(batch.folder)
    marker.unlink()
    done = batch({name: model for name, model in models.items() if name != "wrong"}, repeats=3, memory=memory)
    assert done.returncode == 0, done.stderr
    assert survivors.items() <= cells_of(batch.folder).items()
    assert sorted(path.stem for path in batch.folder.glob("*.json")) == ["first", "fragile", "last"]
    assert sorted(path.stem for path in batch.folder.glob("failures/*")) == ["wrong"]


def test_a_batch_tells_what_it_does(batch):
    told = [json.loads(line) for line in batch({"forest": (FOREST, {"n_estimators": 3})}).stdout.splitlines()]
    assert [event for event, _ in told] == ["fit", "cell", "fit", "cell", "run"]
    assert told[1][1]["fitted"] is True
    accuracy = np.mean([cell["metrics"]["accuracy"] for cell in merged(batch.folder, "forest")["cells"]])
    assert told[-1][1]["score"] == pytest.approx(accuracy, abs=1e-4)
    again = [json.loads(line) for line in batch({"forest": (FOREST, {"n_estimators": 3})}).stdout.splitlines()]
    assert [(event, facts.get("fitted")) for event, facts in again] == [("cell", False), ("cell", False), ("run", None)]


def test_a_result_of_before_does_not_pass_for_one_of_a_batch_that_failed(batch):
    (batch.folder / "wrong.json").write_text("{}")
    batch({"wrong": ("spies:Raises", {}), "right": (FOREST, {"n_estimators": 3})})
    assert sorted(path.stem for path in batch.folder.glob("*.json")) == ["right"]


def test_an_error_names_model_data_repeat_and_reason(job):
    finished = job("spies:Raises", model="unlucky", repeats=1)
    assert finished.returncode == 1
    assert "unlucky on iris" in finished.stderr
    assert "repeat 0: RuntimeError: no such luck" in finished.stderr
    failure = json.loads((job.folder / "failures.json").read_text())["repeats"][0]
    assert "in fit" in failure["traceback"]


def test_a_number_that_is_not_finite_is_an_error_not_a_result(job):
    finished = job("spies:GivesNan", repeats=1)
    assert finished.returncode == 1
    assert not cells_of(job.folder)


@pytest.mark.parametrize(
    ("estimator", "params", "words"),
    [
        ("sklearn.ensemble:RandomForrest", {}, "cannot be imported"),
        (FOREST, {"n_trees": 5}, "n_trees"),
    ],
)
def test_a_misspelt_estimator_or_parameter_says_where(job, estimator, params, words):
    finished = job(estimator, params, repeats=1)
    assert finished.returncode == 1
    assert "config/models.yaml" in finished.stderr
    assert words in finished.stderr


def test_one_thread_whatever_the_environment_says(job):
    path = job.folder / "threads.json"
    assert job("spies:ReportsThreads", {"path": str(path)}, repeats=1).returncode == 0
    report = json.loads(path.read_text())
    assert report["loky"] == "1"
    assert report["pools"]
    assert set(report["pools"]) == {1}


def test_the_models_own_decision_counts_not_the_largest_probability(job):
    assert job("spies:Decides", repeats=1).returncode == 0
    cell = merged(job.folder)["cells"][0]
    assert np.sum(cell["confusion"], axis=0)[:-1].tolist() == [0, 0]


def test_editing_a_model_of_the_users_own_makes_another_cell(job):
    """Its file belongs to no installed package, so that no version tells of the change."""
    job("spies:Decides", repeats=1)
    (job.folder / "spies.py").write_text(SPIES + "\nEDITED = True\n")
    job("spies:Decides", repeats=1)
    assert len(cells_of(job.folder)) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_job_ends_its_fit(job, number):
    path = job.folder / "pid"
    process = job("spies:Waits", {"path": str(path)}, repeats=1, wait=False)
    while not (path.exists() and path.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate()
    child = psutil.Process(int(path.read_text())) if psutil.pid_exists(int(path.read_text())) else None
    if child is not None:
        child.wait(timeout=20)  # raises TimeoutExpired if the fit goes on
    assert not cells_of(job.folder)


def test_predictions_are_saved_when_asked_for_and_belong_to_the_cell(job):
    job(FOREST, {"n_estimators": 5}, repeats=1)
    job(FOREST, {"n_estimators": 5}, model="with", repeats=1, extras=["predictions"])
    cell = merged(job.folder, "with")["cells"][0]
    with np.load(job.folder / "cells" / cell["extras"]["predictions"]["file"]) as saved:
        assert np.mean(saved["predicted"] == saved["y_test"]) == pytest.approx(cell["metrics"]["accuracy"])
        assert saved["probabilities"].shape == (cell["n_test"], 3)
    assert len(cells_of(job.folder)) == 2


def test_an_unknown_extra_is_named(job):
    finished = job(FOREST, {"n_estimators": 5}, repeats=1, extras=["predictons"])
    assert finished.returncode == 1
    assert "'predictons'" in finished.stderr


def test_a_library_that_is_not_installed_is_named_with_the_remedy(iris, tmp_path):
    spec = {"suite": "test", "dataset": "iris", "model": "m", "task": "classification", "estimator": FOREST}
    spec |= {"params": {}, "repeats": [0], "libraries": ["no-such-package"]}
    command = [sys.executable, "-m", "cascadeforest.experiments", "run", "--spec", json.dumps(spec)]
    command += ["--data", str(iris), "--output", str(tmp_path / "o"), "--failures", str(tmp_path / "f")]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "no-such-package" in finished.stderr
    assert "Traceback" not in finished.stderr


# What is in the cache is checked before it is believed.


def test_damaged_cells_are_named_and_computed_again(job):
    """Each by itself; the one that is whole stays. `test_cells` has the kinds of damage."""
    extras = ("predictions",)
    job(FOREST, {"n_estimators": 5}, repeats=3, extras=extras)
    before = merged(job.folder)
    first, second, _ = sorted(cells_of(job.folder), key=lambda path: json.loads(path.read_text())["repeat"])
    intact = second.stat().st_mtime_ns
    first.write_bytes(second.read_bytes())
    emptied = job.folder / "cells" / before["cells"][2]["extras"]["predictions"]["file"]
    emptied.write_bytes(b"")
    finished = job(FOREST, {"n_estimators": 5}, repeats=3, extras=extras)
    assert finished.returncode == 0, finished.stderr
    for warning, path in zip(finished.stderr.splitlines(), (first, emptied), strict=True):
        assert warning.startswith(f"{path}: ")
        assert warning.endswith("It is computed again.")
    assert second.stat().st_mtime_ns == intact
    for old, new in zip(before["cells"], merged(job.folder)["cells"], strict=True):
        assert {**old["metrics"], **COST} == {**new["metrics"], **COST}
        assert old["outputs"] == new["outputs"]  # also the digest: equal predictions are equal bytes
        assert old["extras"] == new["extras"]


def test_a_damaged_data_set_is_named_and_made_again(job, iris, tmp_path):
    """With other labels and the old digest: cells of it would stand under the true data's names."""
    data = tmp_path / "data" / "iris.npz"
    data.parent.mkdir()
    for path in (iris, iris.with_suffix(".json")):
        (data.parent / path.name).write_bytes(path.read_bytes())
    job(FOREST, {"n_estimators": 5}, data=data)
    before = merged(job.folder)["cells"][0]["provenance"]["data_digest"]
    with np.load(data) as content:
        arrays = dict(content)
    arrays["y"] = (arrays["y"] + 1) % 3
    header = zipfile.ZipFile(data).read("header.json")
    np.savez(data, **{name: values for name, values in arrays.items() if name != "header.json"})
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("header.json", header)
    cells = cells_of(job.folder)
    finished = job(FOREST, {"n_estimators": 5}, data=data)
    assert finished.returncode == 0, finished.stderr
    assert f"{data}: " in finished.stderr
    assert merged(job.folder)["cells"][0]["provenance"]["data_digest"] == before
    assert cells_of(job.folder) == cells


def test_a_run_file_is_written_again_from_the_cells(job):
    job(FOREST, {"n_estimators": 5})
    before, cells = (job.folder / "model.json").read_bytes(), cells_of(job.folder)
    (job.folder / "model.json").write_text("{}")
    job(FOREST, {"n_estimators": 5})
    assert (job.folder / "model.json").read_bytes() == before
    assert cells_of(job.folder) == cells


def test_a_new_metric_fits_nothing(job):
    """Scores are a view: cells stay, the merged file has the new number and another digest of its scoring."""
    job(FOREST, {"n_estimators": 5})
    before, cells = merged(job.folder), cells_of(job.folder)
    package = job.folder / "cascadeforest"
    shutil.copytree(ROOT / "src" / "cascadeforest", package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / "experiments" / "metrics.py"
    text = path.read_text()
    line = "    if broken := [name for name, value in scores.metrics.items()"
    assert line in text
    path.write_text(text.replace(line, f'    scores.metrics["error"] = 1 - scores.metrics["accuracy"]\n{line}'))
    finished = job(FOREST, {"n_estimators": 5})
    assert finished.returncode == 0, finished.stderr
    after = merged(job.folder)
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert new["metrics"] == old["metrics"] | {"error": 1 - old["metrics"]["accuracy"]}
    assert after["scoring"] != before["scoring"]
    assert cells_of(job.folder) == cells


def test_another_seed_gives_other_splits_and_models(job, tmp_path):
    data = tmp_path / "other" / "iris.npz"
    command = [sys.executable, "-m", "cascadeforest.data", "prepare", "--dataset", "iris", "--seed", "1"]
    subprocess.run([*command, "--output", str(data)], check=True, cwd=ROOT)
    job(FOREST, {"n_estimators": 5}, repeats=1)
    job(FOREST, {"n_estimators": 5}, model="other", repeats=1, seed=1, data=data)
    seeds = [merged(job.folder, name)["cells"][0]["seeds"] for name in ("model", "other")]
    assert seeds[0]["model"] != seeds[1]["model"]
    assert seeds[0]["split"] != seeds[1]["split"]
    assert len(cells_of(job.folder)) == 2
    mixed = job(FOREST, {"n_estimators": 5}, model="mixed", repeats=1, seed=1)
    assert mixed.returncode == 2
    assert "seed" in mixed.stderr


def test_a_cascade_says_how_its_growth_ended(job):
    parameters = {"n_forests": 2, "n_estimators": 2, "max_layers": 2, "patience": 2, "n_folds": 2}
    job("cascadeforest.cascade.gcforest:GCForestClassifier", parameters, repeats=1)
    cell = merged(job.folder)["cells"][0]
    assert cell["growth"]["n_grown"] == len(cell["curves"]["validation_score"]) == 2
    assert cell["growth"]["at_cap"] is True
    assert cell["metrics"]["n_layers"] == cell["growth"]["n_kept"]


def test_the_first_repeats_of_a_run_are_merged_alone(tmp_path):
    """With the bytes that they have in the whole run; what is told of a repeat that failed stays until then."""
    forest = "cascadeforest.forest.estimators:RandomForestClassifier"
    run = Run("tiny", "iris", "forest", "classification", forest, {"n_estimators": 3}, (0, 1, 2), memory=False)
    table = experiment("tiny-table1", {"forest": "forest"}, ["iris"], ["accuracy"], repeats={"iris": 3})
    batches = make_batches([run], {run.pair: Cost(100.0, 1.0)}, 25)
    plan = Plan("tiny", Suite(""), {table.id: table}, (run,), batches=batches)
    folder = tmp_path / "results" / "tiny"
    write_typed(folder / "plan.json", plan)
    write(make("iris", config=ROOT / "config"), tmp_path / "data/processed/iris.npz")
    for name in ("iris.forest.0", "iris.forest.1"):
        run_batch(plan, name, tmp_path)
    with pytest.raises(ConfigError, match=r"'iris.forest.9', which .* does not have. Did you mean 'iris.forest"):
        run_batch(plan, "iris.forest.9", tmp_path)
    with pytest.raises(ConfigError, match=r"does not have. Its plan.json names all"):
        run_batch(plan, "x", tmp_path)
    failure = Failure(2, "MemoryError", "no room", "", 0, 1)
    write_typed(folder / "failures/iris/forest.part2.json", Failures("iris", "forest", (failure,)))
    merge(tmp_path, "tiny", replace(run, repeats=(0, 1)))
    first = read_run(folder, "iris", "forest")
    assert first.differences(run) == []
    results = read_results(tmp_path, "tiny")
    assert results.incomplete() == ["tiny-table1"]
    assert results.failures == {run.pair: [failure]}
    assert Cells(table, results).status("iris", "forest")[0] == "failed"
    assert Cells(replace(table, repeats={"iris": 2}), results).status("iris", "forest") == ("ok", "")
    for name in ("iris.forest.2", "iris.forest"):
        run_batch(plan, name, tmp_path)
    whole = read_run(folder, "iris", "forest")
    assert whole.cells[:2] == first.cells
    assert read_results(tmp_path, "tiny").incomplete() == []
    assert not any((folder / "failures").rglob("*.json"))
