"""A model that a cell keeps is an MLflow model, and predicts what the cell says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.dataset import load
from cascadeforest.data.processed import make, write
from cascadeforest.experiments.cells import predictions
from cascadeforest.experiments.jobs import Job, run_jobs
from cascadeforest.experiments.plan import Plan, Run, Suite
from cascadeforest.experiments.records import read_run, run_path
from cascadeforest.experiments.tracking import sync
from cascadeforest.experiments.tracking_store import own_database, sqlite_uri
from cascadeforest.experiments.typed_files import write_typed

from .made_results import experiment, store_client

ROOT = Path(__file__).parents[2]
FOREST = "cascadeforest.forest.estimators:RandomForestClassifier"
RUN = Run("tiny", "iris", "forest", "classification", FOREST, {"n_estimators": 3}, (0, 1), memory=False)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A suite of one run that keeps a model, and the same run without, with the cells of both."""
    results = tmp_path_factory.mktemp("kept") / "results"
    data = results.parent / "iris.npz"
    write(make("iris", config=ROOT / "config"), data)
    runs = (replace(RUN, keeps_model=True), replace(RUN, suite="without"))
    jobs = [Job(run, data, run_path(results / run.suite, *run.pair), results / "failures.json") for run in runs]
    run_jobs(jobs, results / "cells")
    for run in runs:
        table = experiment(f"{run.suite}-table1", {"forest": "forest"}, ["iris"], ["accuracy"])
        write_typed(results / run.suite / "plan.json", Plan(run.suite, Suite(""), {table.id: table}, (run,)))
    return results


def test_only_the_first_repeat_keeps_its_model_and_no_other_cell_changes(computed):
    keeping, without = (read_run(computed / suite, *RUN.pair).cells for suite in ("tiny", "without"))
    assert [tuple(cell.extras) for cell in (*keeping, *without)] == [("model",), (), (), ()]
    assert keeping[1].key == without[1].key
    assert keeping[0].key != without[0].key
    assert keeping[0].outputs.sha256 == without[0].outputs.sha256


def test_mlflow_loads_a_kept_model_which_predicts_what_the_cell_says(computed, monkeypatch):
    import mlflow

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    sync(computed)
    uri = sqlite_uri(own_database(computed))
    with store_client(uri) as client:
        experiments = [each.experiment_id for each in client.search_experiments()]
        runs = client.search_runs(experiments, filter_string="tags.level = 'repeat'")
        (run,) = [run for run in runs if client.list_artifacts(run.info.run_id, "model")]
    assert run.data.tags["run_key"] == "tiny/iris/forest/0"
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        model = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    X = load(computed.parent / "iris.npz").split(0).X_test.astype(np.float32)
    cell = read_run(computed / "tiny", *RUN.pair).cells[0]
    assert model.predict(X).tolist() == predictions(computed / "cells", cell)["predicted"].tolist()
    (features,), (classes,) = model.metadata.signature.inputs, model.metadata.signature.outputs
    assert (features.type, features.shape) == (np.dtype("float32"), (-1, 4))
    assert (classes.type, classes.shape) == (np.dtype("int64"), (-1,))
    assert np.array_equal(model.input_example, X[:5])
    assert sync(computed).unchanged == 6  # nothing is logged twice
