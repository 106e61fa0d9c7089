"""A cell holds what a fit gave, and nothing of it is believed unread."""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cascadeforest.data.errors import DamagedFile, UserError
from cascadeforest.data.files import write_signed_json
from cascadeforest.data.processed import make, write
from cascadeforest.experiments import cells, code_digest, fitting
from cascadeforest.experiments.cells import cell_key, cell_path, compute_cell, narrow, predictions, read_cell
from cascadeforest.experiments.jobs import FITTING, digest_for, scoring_digest
from cascadeforest.experiments.plan import Run
from cascadeforest.experiments.provenance import Provenance
from cascadeforest.experiments.typed_files import write_typed

ROOT = Path(__file__).parents[2]
RUN = Run(
    "test",
    "iris",
    "forest",
    "classification",
    "sklearn.ensemble:RandomForestClassifier",
    {"n_estimators": 3},
    (0, 1),
    extras=("predictions",),
)
ORIGIN = Provenance({"numpy": "2"}, {"cores": 2}, "c" * 64, "d" * 64)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A cache with both cells of `RUN`."""
    folder = tmp_path_factory.mktemp("cells")
    write(make("iris", config=ROOT / "config"), folder / "iris.npz")
    for repeat in RUN.repeats:
        compute_cell(RUN, repeat, folder / "iris.npz", folder / "cells", 1, ORIGIN)
    return folder / "cells"


@pytest.fixture
def cache(computed, tmp_path):
    shutil.copytree(computed, tmp_path / "cells")
    return tmp_path / "cells"


def path_of(cache, repeat=0):
    return cell_path(cache, cell_key(RUN, repeat, ORIGIN))


def test_a_cell_comes_back_as_it_was_written(computed):
    cell = read_cell(computed, RUN, 1, ORIGIN)
    assert (cell.dataset, cell.repeat, cell.provenance) == ("iris", 1, ORIGIN)
    assert cell.params["n_estimators"] == 3
    outputs = predictions(computed, cell)
    assert outputs["predicted"].shape == (cell.n_test,)
    assert outputs["probabilities"].shape == (cell.n_test, 3)
    assert outputs["predicted"].tolist() == outputs["probabilities"].argmax(axis=1).tolist()
    assert not hasattr(cell, "metrics")


OURS = (
    "cascadeforest.cascade.gcforest:GCForestClassifier",
    "cascadeforest.cascade.margin:MDDFClassifier",
    "cascadeforest.cascade.hard_examples:DDBFClassifier",
    "cascadeforest.forest.estimators:RandomForestClassifier",
)


@pytest.mark.parametrize("estimator", [*OURS, RUN.estimator])
def test_the_class_predicted_is_what_the_model_predicts(tmp_path, estimator):
    """Our classifiers take the class of the highest probability, so that nothing is predicted twice."""
    write(make("iris", config=ROOT / "config"), tmp_path / "iris.npz")
    params = {"n_estimators": 3} | ({"max_layers": 2} if ".cascade." in estimator else {})
    fit = fitting.fit_model(replace(RUN, estimator=estimator, params=params), 0, tmp_path / "iris.npz", 1)
    model = fit.fitted.estimator
    assert fit.fitted.outputs["predicted"].tolist() == model.predict(fit.fitted.X_test).tolist()
    assert (type(model).predict.__qualname__ == fitting.MOST_PROBABLE) == (estimator in OURS)


def test_a_cell_that_was_never_computed_is_not_damaged(computed):
    with pytest.raises(FileNotFoundError):
        read_cell(computed, RUN, 2, ORIGIN)


def arrays_file(path, extra=""):
    """File of the predictions of a cell, or of what an extra saved."""
    return next(path.parent.glob(f"{path.stem}{extra and f'.{extra}'}.[0-9a-f]*.npz"))


def edited(path, **changes):
    """Edit and sign again, as a careful forger would."""
    write_signed_json(path, json.loads(path.read_text()) | changes)


def without_provenance(path):
    content = json.loads(path.read_text())
    edited(path, provenance=content["provenance"] | {"data_digest": "e" * 64})


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda path: path.write_text(""), "the file is empty"),
        (lambda path: path.write_text("{}"), "without content_digest"),
        (lambda path: write_signed_json(path, {}), "lacks key"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "not whole JSON"),
        (lambda path: path.write_text(path.read_text().replace('"n_test":45', '"n_test":44')), "has the digest"),
        (lambda path: path.write_bytes(path_of(path.parents[1], 1).read_bytes()), "key is"),
        (lambda path: edited(path, repeat=1), "repeat is 1, not 0"),
        (lambda path: edited(path, dataset="wine"), "dataset is 'wine', not 'iris'"),
        (lambda path: edited(path, extras={}), "extras is"),
        (lambda path: edited(path, outputs=None), "without predictions"),
        (without_provenance, "data_digest is"),
        (lambda path: arrays_file(path).unlink(), r"\.npz: it cannot be read"),
        (lambda path: arrays_file(path, "predictions").write_bytes(b""), r"predictions\.\w+\.npz: its content has"),
        (
            lambda path: arrays_file(path).write_bytes(arrays_file(path_of(path.parents[1], 1)).read_bytes()),
            r"\.npz: its content has the digest",
        ),
    ],
)
def test_what_does_not_check_is_named(cache, damage, fault):
    damage(path_of(cache))
    with pytest.raises(DamagedFile, match=fault) as caught:
        read_cell(cache, RUN, 0, ORIGIN)
    assert str(path_of(cache).with_suffix("")) in str(caught.value)
    read_cell(cache, RUN, 1, ORIGIN)  # the other one is whole


def test_two_jobs_may_compute_one_cell_at_the_same_time(computed, tmp_path, monkeypatch):
    """Two presets can be equal under a suite's bounds; an extra may measure time, so that their arrays differ."""
    cache, ticks, waiting, nested = tmp_path / "cells", itertools.count(), [True], []
    monkeypatch.setattr(cells, "arrays_of", lambda name, fitted: {"seconds": np.array(next(ticks))})

    def write(path, cell):
        if waiting and waiting.pop():  # the other job does all of its work before this one writes its facts
            nested.append(compute(replace(RUN, model="equal")))
        write_typed(path, cell)

    def compute(run):
        return compute_cell(run, 0, computed.parent / "iris.npz", cache, 1, ORIGIN)

    monkeypatch.setattr(cells, "write_typed", write)
    written = compute(RUN)
    assert written.extras != nested[0].extras
    assert read_cell(cache, RUN, 0, ORIGIN) == written
    for one in (written, nested[0]):
        assert cells.read_arrays(cache, one.extras["predictions"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("inf")])
def test_a_parameter_that_is_no_number_of_json_is_kept_as_text(value):
    assert cells._plain([value, 1.5]) == [str(float(value)), 1.5]


@pytest.mark.parametrize(
    "other",
    [
        {"dataset": "wine"},
        {"estimator": "sklearn.ensemble:ExtraTreesClassifier"},
        {"params": {"n_estimators": 4}},
        {"extras": ()},
        {"seed": 1},
    ],
)
def test_what_decides_numbers_is_in_the_name_and_the_preset_is_not(other):
    key = cell_key(RUN, 0, ORIGIN)
    assert cell_key(replace(RUN, **other), 0, ORIGIN) != key
    assert cell_key(replace(RUN, model="another", suite="quick", repeats=(0,)), 0, ORIGIN) == key
    assert cell_key(RUN, 1, ORIGIN) != key
    for change in ({"code_digest": "x"}, {"data_digest": "x"}, {"versions": {"numpy": "3"}}):
        assert cell_key(RUN, 0, replace(ORIGIN, **change)) != key
    assert cell_key(RUN, 0, replace(ORIGIN, host={}, git_commit="x")) == key


def test_predictions_of_an_old_cell_are_said_to_be_absent(computed):
    old = replace(read_cell(computed, RUN, 0, ORIGIN), outputs=None)
    with pytest.raises(UserError, match="iris, repeat 0: the predictions for the test rows are not stored"):
        predictions(computed, old)


def test_single_precision_is_kept_only_where_it_loses_nothing():
    exact, inexact, codes = np.array([0.5, 0.25]), np.array([0.1, 0.5]), np.array([0, 2])
    assert [narrow(values).dtype for values in (exact, inexact, codes)] == [np.float32, np.float64, np.int32]
    for values in (exact, inexact, codes, np.array([2**40])):
        assert np.array_equal(narrow(values), values)
    assert narrow(np.array([np.nan, 1.0])).dtype == np.float32


@pytest.fixture
def edit(monkeypatch):
    """Pretend that modules were edited."""

    def pretend(*names):
        monkeypatch.setattr(code_digest, "_meaning", lambda path, _: f"{path} {path.name in names}")

    pretend()
    return pretend


FOREST = "sklearn.ensemble:RandomForestClassifier"


def test_an_edit_of_words_scores_or_records_fits_nothing_again(edit):
    before, scores = digest_for(FOREST), scoring_digest()
    edit(
        "words.py",
        "records.py",
        "run_records.py",
        "tracking.py",
        "tracking_store.py",
        "plan.py",
        "resolve.py",
        "jobs.py",
        "cells.py",
    )
    assert (digest_for(FOREST), scoring_digest()) == (before, scores)
    edit("metrics.py")
    assert digest_for(FOREST) == before
    assert scoring_digest() != scores


@pytest.mark.parametrize("module", ["fitting.py", "measure.py", "dataset.py", "splits.py", "draws.py", "names.py"])
def test_an_edit_of_what_decides_a_fit_fits_again(edit, module):
    before = digest_for(FOREST)
    edit(module)
    assert digest_for(FOREST) != before


def test_what_a_fit_depends_on_is_little():
    """Tracking, plan, reports and metrics may change without a fit."""
    used = code_digest.modules_used([FITTING])
    assert {name for name in used if not name.startswith("cascadeforest.data.")} == {
        "cascadeforest._files",
        "cascadeforest.experiments.fitting",
        "cascadeforest.experiments.measure",
    }
