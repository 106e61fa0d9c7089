"""Timing jobs as Snakemake starts them: turns, rounds, what is kept after a failure, and counts."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cascadeforest.cascade.gcforest import GCForestClassifier
from cascadeforest.data.dataset import load
from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Plan, Run, Suite, Timing
from cascadeforest.experiments.records import discard_damaged, read_timings, timings_mark, timings_path
from cascadeforest.experiments.timing import COUNTS, counting, kept, run_timings, take_turn, timing_digest
from cascadeforest.experiments.typed_files import write_typed

ROOT = Path(__file__).parents[2]

SPIES = '''
import os, signal, time
from sklearn.dummy import DummyClassifier

class Spy(DummyClassifier):
    """Notes its name and its rows in a file; the file `<name>.<what>` says what it does in its second fit."""
    def __init__(self, name=None, folder=None):
        super().__init__()
        self.name, self.folder = name, folder
    def fit(self, X, y):
        if len(y) > 60:  # no warm-up
            with open(os.path.join(self.folder, "log"), "a") as stream:
                stream.write(f"{self.name} {X.sum():.3f}\\n")
            with open(os.path.join(self.folder, "log")) as stream:
                n = sum(line.startswith(self.name) for line in stream)
            here = lambda what: n == 2 and os.path.exists(os.path.join(self.folder, f"{self.name}.{what}"))
            if here("raises"):
                raise RuntimeError("no such luck")
            if here("dies"):
                os.kill(os.getpid(), signal.SIGKILL)
            if here("waits"):
                time.sleep(60)
        return super().fit(X, y)
'''


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "iris.npz"
    command = [sys.executable, "-m", "cascadeforest.data", "prepare", "--dataset", "iris", "--output", str(path)]
    subprocess.run(command, check=True, cwd=ROOT)
    return path


def run_of(model, estimator, **params):
    return Run("test", "iris", model, "classification", estimator, params, (), memory=False)


class Job:
    """One timing job of the columns a, b and c on iris, three rounds, a twice in each."""

    def __init__(self, folder, iris):
        self.folder, self.suite = folder, folder / "results/test"
        (folder / "data/processed").mkdir(parents=True)
        (folder / "data/processed/iris.npz").symlink_to(iris)
        (folder / "spies.py").write_text(SPIES)
        runs = tuple(run_of(name, "spies:Spy", name=name, folder=str(folder)) for name in "abc")
        self.timing = Timing("e", "iris", "iris", ("a", "b", "c"), runs, "a", (0, 1, 2))
        self.plan = Plan("test", Suite("t"), {}, (), timings=(self.timing,))
        write_typed(self.suite / "plan.json", self.plan)

    def start(self):
        path = os.pathsep.join([str(self.folder), str(ROOT / "src")])
        command = [sys.executable, "-m", "cascadeforest.experiments", "time", "--suite", "test", "--experiment", "e"]
        command += ["--root", str(self.folder), "--spec", timing_digest(self.plan, "e")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, text=True, **pipes)

    def run(self):
        process = self.start()
        self.output = "".join(process.communicate(timeout=300))
        return process.returncode

    def log(self):
        """Names and rows of the fits since the last look."""
        path = self.folder / "log"
        lines = path.read_text().split("\n")[:-1] if path.is_file() else []
        path.write_text("")
        return [tuple(line.split()) for line in lines]

    def timed(self):
        (found,) = read_timings(self.suite, self.plan, "e")
        return found


@pytest.fixture
def job(tmp_path, iris):
    return Job(tmp_path, iris)


def names(log):
    return "".join(name for name, _ in log)


def test_models_take_turns_on_the_rows_of_each_round_and_one_a_second_time(job):
    assert job.run() == 0, job.output
    log = job.log()
    assert names(log) == "abca" * 3
    rows = [{row for _, row in log[k : k + 4]} for k in (0, 4, 8)]
    assert [len(one) for one in rows] == [1, 1, 1]  # models of a round share their rows
    assert len(set.union(*rows)) == 3  # rounds do not
    timed = job.timed()
    assert [[(turn.column, turn.is_second) for turn in one.turns] for one in timed.rounds] == [
        [("a", False), ("b", False), ("c", False), ("a", True)]
    ] * 3
    assert [one.repeat for one in timed.rounds] == [0, 1, 2]
    assert all(turn.costs.keys() == {"fit_cpu_seconds", "predict_cpu_seconds"} for turn in timed.rounds[0].turns)
    assert all(0 <= one.elsewhere <= os.cpu_count() and one.n_train == 105 for one in timed.rounds)
    assert timings_mark(job.suite, "e").is_file()
    job.log()
    assert job.run() == 0
    assert job.log() == []  # all rounds are kept
    assert job.timed() == timed


@pytest.mark.parametrize(("what", "error"), [("raises", "RuntimeError"), ("dies", "SIGKILL")])
def test_a_fit_that_fails_or_dies_loses_only_itself_and_is_tried_again(job, what, error):
    trap = job.folder / f"b.{what}"
    trap.touch()
    assert job.run() == 1
    assert names(job.log()) == "abca" * 3
    assert f"e, iris, b: {error}" in job.output
    assert not timings_mark(job.suite, "e").is_file()
    timed = job.timed()
    assert [(column, failure.error) for column, failure in timed.failures] == [("b", error)]
    assert [[bool(turn.costs) for turn in one.turns] for one in timed.rounds] == [
        [True] * 4,
        [True, False, True, True],
        [True] * 4,
    ]
    trap.unlink()
    assert job.run() == 0
    assert names(job.log()) == "abca"  # the second round alone
    again = job.timed()
    assert (again.failures, again.rounds[0], again.rounds[2]) == ([], timed.rounds[0], timed.rounds[2])


def test_a_killed_job_goes_on_after_its_last_whole_round(job):
    (job.folder / "c.waits").touch()
    process, path = job.start(), job.folder / "log"
    for _ in range(1200):
        if path.is_file() and path.read_text().count("\n") == 7:  # a b c a, a b c
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert names(job.log()) == "abcaabc"
    (job.folder / "c.waits").unlink()
    assert job.run() == 0
    assert names(job.log()) == "abca" * 2


def test_damaged_or_other_timings_are_not_believed(job):
    assert job.run() == 0
    timed, path = job.timed(), timings_path(job.suite, "e")
    one = next((job.folder / "results/rounds").glob("*/*.json"))
    one.write_text(one.read_text().replace('"repeat"', '"repaet"', 1))
    job.log()
    assert job.run() == 0
    assert names(job.log()) == "abca"  # the damaged round
    other = replace(job.timing, repeats=(0, 1))
    assert read_timings(job.suite, replace(job.plan, timings=(other,)), "e") == ()
    slower = replace(job.timing, seconds=9.0)  # what it is expected to take decides nothing
    assert read_timings(job.suite, replace(job.plan, timings=(slower,)), "e")[0].timing == timed.timing
    table = job.suite / "tables/e.csv"
    table.parent.mkdir()
    table.touch()
    path.write_text(path.read_text()[:-5])
    assert discard_damaged(job.folder, job.plan) == [path]
    assert not any(one.exists() for one in (path, timings_mark(job.suite, "e"), table))


def test_an_experiment_without_timings_is_refused(job):
    with pytest.raises(ConfigError, match="--experiment is 'f'; the suite test has timings of e"):
        run_timings(job.plan, "f", job.folder)


# Counts ------------------------------------------------------------------------------------------------------------

GCFOREST = {"n_estimators": 6, "n_forests": 2, "n_folds": 3, "max_layers": 3, "patience": 2}


def test_counts_of_a_cascade_are_those_of_its_folds_and_forests(iris):
    """Each layer that was grown has 2 forests of 6 trees on each of 3 folds: the fold's training rows are 2/3."""
    run = run_of("gcforest", "cascadeforest.cascade.gcforest:GCForestClassifier", **GCFOREST)
    turns = [take_turn(run, 0, iris) for _ in range(2)]  # with and without a warm-up before
    assert turns[0].counts == turns[1].counts
    found, split = turns[0].counts, load(iris).split(0)
    model = fitted(run, split)
    n_grown = len(model.validation_scores_)
    assert found["grown_trees"] == n_grown * 2 * 6 * 3
    assert found["tree_rows"] == n_grown * 2 * 6 * 2 * len(split.y_train)
    assert found["n_trees"] == model.n_layers_ * 2 * 6 * 3
    assert found.keys() == set(COUNTS)
    assert {name: found[name] for name in ("n_trees", "n_nodes")} == kept(model)


def fitted(run, split):
    """The model of the first repeat, as `fit_model` seeds it."""
    from cascadeforest.data.names import seed_for

    model = GCForestClassifier(**run.params, random_state=seed_for("model", "iris", 0, seed=0))
    return model.fit(split.X_train, split.y_train)


def test_counts_of_forests_are_those_of_their_trees(iris):
    sklearn_run = run_of("sk", "sklearn.ensemble:RandomForestClassifier", n_estimators=7)
    found = take_turn(sklearn_run, 0, iris).counts
    assert found["n_trees"] == 7
    assert found.keys() == {"n_trees", "n_nodes"}  # our kernel grew nothing
    ours = take_turn(run_of("rf", "cascadeforest.forest.estimators:RandomForestClassifier", n_estimators=7), 0, iris)
    assert ours.counts["tree_rows"] == 7 * 105
    assert ours.counts["n_nodes"] >= 7 * 3
    assert take_turn(run_of("svm", "sklearn.svm:SVC"), 0, iris).counts == {}


def test_what_is_counted_leaves_the_forest_as_it_was():
    from cascadeforest.forest import growth

    before = growth._grow_trees
    with pytest.raises(KeyError), counting(run_of("m", "x:Y")):
        raise KeyError
    assert growth._grow_trees is before
