"""Rows of predictions in the store: what paired tests need, exactly, and after any order of acceptance."""

import copy
import itertools
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from tests.reports.conftest import ROOT, Suite, snapshot, spoil

from cascadeforest.data import processed
from cascadeforest.data.errors import UserError
from cascadeforest.data.files import sha256_of
from cascadeforest.experiments.accepted import CELLS, restore
from cascadeforest.experiments.batches import make_batches
from cascadeforest.experiments.cells import SavedArrays, predictions
from cascadeforest.experiments.jobs import Job, run_jobs
from cascadeforest.experiments.plan import Run, read_plan
from cascadeforest.experiments.records import (
    AcceptedCell,
    accepted_path,
    discard_damaged,
    run_path,
)
from cascadeforest.experiments.typed_files import read_typed, write_typed
from cascadeforest.inference.row_values import placements
from cascadeforest.reports.drawing.summary import summary
from cascadeforest.reports.numbers.results import read_results
from cascadeforest.reports.store.accept import accept
from cascadeforest.reports.store.check import check
from cascadeforest.reports.store.stored import pack, read_provenance, read_stored

AUC, ACCURACY, RMSE = "hidf-table2", "ddbf-table1", "mddf-table1"
FOREST = {
    "classification": "sklearn.ensemble:RandomForestClassifier",
    "regression": "sklearn.ensemble:ExtraTreesRegressor",
}
#: Data set, model and number of repeats of the runs.
RUNS = [("breast_cancer", "small", 2), ("breast_cancer", "smaller", 3), ("iris", "small", 2), ("diabetes", "extra", 2)]

scores_of_two_classes = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({positive for _, positive in rows}) == 2
)


@settings(deadline=None, derandomize=True)
@given(scores_of_two_classes)
def test_placements_count_all_pairs_with_ties_as_halves(rows):
    scores, positive = np.array([s for s, _ in rows], float) / 7, np.array([p for _, p in rows])
    expected = np.zeros(len(rows))
    for i, j in itertools.product(np.flatnonzero(positive), np.flatnonzero(~positive)):
        right = 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
        expected[[i, j]] += right
    found = placements(scores, positive)
    assert found.tolist() == (2 * expected).tolist()
    n_pairs = positive.sum() * (~positive).sum()
    area = roc_auc_score(positive, scores)
    assert found[positive].sum() / (2 * n_pairs) == pytest.approx(area)
    assert found[~positive].sum() / (2 * n_pairs) == pytest.approx(area)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Small real runs: two models of different numbers of repeats on breast_cancer, one on iris, one on diabetes."""
    suite = Suite(tmp_path_factory.mktemp("rows"))
    for dataset in {dataset for dataset, _, _ in RUNS}:
        data = processed.make(dataset, config=ROOT / "config", raw=suite.root / "data/raw")
        processed.write(data, suite.root / f"data/processed/{dataset}.npz")
    for dataset, model, repeats in RUNS:
        task = "regression" if dataset == "diabetes" else "classification"
        params = {"n_estimators": 5 if model == "smaller" else 8, "random_state": 0}
        facts = {"task": task, "estimator": FOREST[task], "params": params, "repeats": tuple(range(repeats))}
        suite.plan_run(dataset, model, **facts, libraries=("scikit-learn",))
        run, folder = Run(**suite.specs[dataset, model]), suite.root / "results"
        data = suite.root / f"data/processed/{dataset}.npz"
        job = Job(run, data, run_path(suite.folder, dataset, model), folder / "failures/none.json")
        run_jobs([job], folder / "cells")

    def table(name, metric, pairs, **columns):
        labels = {column: column for column in columns}
        libraries = {column: ["scikit-learn"] for column in columns}
        suite.experiment(name, metrics=[metric], datasets=pairs, columns=columns, labels=labels, libraries=libraries)

    table(AUC, "roc_auc", ["breast_cancer", "iris"], small="small")
    suite.experiments[AUC]["repeats"]["breast_cancer"] = 2
    table(ACCURACY, "accuracy", ["breast_cancer"], small="small", smaller="smaller")
    table(RMSE, "rmse", ["diabetes"], extra="extra")
    return suite.draw()


@pytest.fixture
def stored(ran):
    """The accepted suite in a clean checkout: nothing but reports/."""
    shutil.rmtree(ran.root / "reports/smoke", ignore_errors=True)
    folder = accept(ran.root, "smoke", "why")
    checkout = ran.root / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    shutil.copytree(folder.parent, checkout / "reports")
    return checkout


def cells(root):
    return {(c.dataset, c.model, c.repeat): c for c in read_stored(root, "smoke").all_cells()}


def test_rows_give_the_stored_scores_and_lie_in_the_order_of_the_data(ran, stored):
    assert read_provenance(stored / "reports/smoke")["cells_without_rows"] == 0
    seen, results = set(), read_stored(stored, "smoke")
    for (dataset, model, repeat), cell in cells(stored).items():
        rows = results.rows(dataset)[model, repeat]
        path = ran.root / f"data/processed/{dataset}.npz"
        data = processed.load_or_make(path, config=ROOT / "config", raw=ran.root / "data/raw")
        assert rows["test_rows"].tolist() == sorted(data.rows(repeat).test.tolist())
        truth = data.y[rows["test_rows"]]
        seen.add((dataset, tuple(sorted(rows))))
        if dataset == "diabetes":
            residuals = cell.metrics["rmse"] * rows["residual"].astype(float)
            outputs = predictions(ran.root / "results/cells", cell)["predicted"]
            assert residuals + truth == pytest.approx(outputs[np.argsort(data.rows(repeat).test)], rel=1e-3)
            continue
        assert rows["right"].mean() == cell.metrics["accuracy"]
        assert rows["right"].tolist() == (rows["predicted"] == truth).tolist()
        if "area" in rows:
            assert np.abs(rows["area"].mean()) < 1e-6
            assert rows["class"].tolist() == truth.tolist()
        if "placed" in rows:
            area = rows["placed"][truth == 1].mean() / (2 * np.sum(truth == 0))
            assert area == pytest.approx(cell.metrics["roc_auc"], abs=1e-12)
    classes = ("predicted", "right", "test_rows")
    # Of models that a table of AUC shows: the placements, of several classes what rows add to the mean of areas.
    assert seen == {
        ("breast_cancer", ("placed", *classes)),
        ("breast_cancer", classes),
        ("iris", ("area", "class", *classes)),
        ("diabetes", ("residual", "test_rows")),
    }
    rows = results.rows("breast_cancer")
    assert sorted(rows) == [("small", 0), ("small", 1), ("smaller", 0), ("smaller", 1), ("smaller", 2)]
    assert rows["small", 1]["test_rows"].tolist() == rows["smaller", 1]["test_rows"].tolist()
    assert rows["small", 0]["test_rows"].tolist() != rows["small", 1]["test_rows"].tolist()
    assert results.rows("wine") == {}


def test_placements_in_large_test_sets_of_several_splits_are_not_kept(ran, stored, monkeypatch):
    """They would take megabytes, and over splits the repeats decide."""
    monkeypatch.setattr("cascadeforest.reports.numbers.rows.MOST_PLACED", 100)
    shutil.rmtree(ran.root / "reports/smoke")
    accept(ran.root, "smoke", "why")
    results = read_stored(ran.root, "smoke")
    sizes = {cell.dataset: cell.n_test for cell in results.all_cells()}
    assert sizes["iris"] < 100 < sizes["breast_cancer"]
    assert all("placed" not in one and "right" in one for one in results.rows("breast_cancer").values())
    assert all("area" in one for one in results.rows("iris").values())

    def shared(path):
        """Return the data with repeats 0 and 1 on one split."""
        data = processed.load_or_make(path, config=ROOT / "config", raw=ran.root / "data/raw")
        own = ("digest", "y", "task", "class_names")
        return SimpleNamespace(**{name: getattr(data, name) for name in own}, rows=lambda k: data.rows(k // 2))

    monkeypatch.setattr("cascadeforest.reports.numbers.rows.load", shared)
    shutil.rmtree(ran.root / "reports/smoke")
    accept(ran.root, "smoke", "why")
    rows = read_stored(ran.root, "smoke").rows("breast_cancer")
    assert all("placed" in rows["small", repeat] for repeat in (0, 1))


@pytest.mark.parametrize("order", list(itertools.permutations([AUC, ACCURACY, RMSE]))[::2])
def test_the_order_of_acceptance_does_not_matter(ran, stored, order):
    shutil.rmtree(ran.root / "reports/smoke")
    for name in order:
        one_by_one = snapshot(accept(ran.root, "smoke", "why", [name]))
    at_once = snapshot(stored / "reports/smoke")
    names = at_once.keys() | one_by_one.keys()
    # When and why each was accepted, and the digest of this in the crate.
    differing = {name for name in names if at_once.get(name) != one_by_one.get(name)}
    assert differing == {"provenance.json", "ro-crate-metadata.json"}


@pytest.fixture
def elsewhere(ran, stored, tmp_path):
    """The accepted suite on another machine, with prepared data, before anything ran."""
    suite = copy.deepcopy(ran)
    suite.root = tmp_path / "elsewhere"
    suite.folder = suite.root / "results/smoke"
    shutil.copytree(stored, suite.root)
    shutil.copytree(ran.root / "data", suite.root / "data")
    shutil.copy(ran.root / "CITATION.cff", suite.root)
    suite.write_plan()
    return suite


def fitted(suite):
    """Do all jobs of a suite, and return what was fitted."""
    told = []

    def tell(event, **facts):
        if event == "fit":
            told.append(tuple(facts.values()))

    for (dataset, model), spec in suite.specs.items():
        data, failures = suite.root / f"data/processed/{dataset}.npz", suite.root / "results/none.json"
        job = Job(Run(**spec), data, run_path(suite.folder, dataset, model), failures)
        run_jobs([job], suite.root / "results/cells", tell=tell, folder=suite.folder)
    return told


def discarded(suite):
    """Remove what is damaged, as a run does before it begins, and return what was removed."""
    plan = read_plan(suite.folder / "plan.json", "smoke")
    return discard_damaged(suite.root, replace(plan, batches=make_batches(plan.runs, {}, seconds=60)))


def changed(path, **changes):
    """Change an accepted cell."""
    accepted = read_typed(AcceptedCell, path, "")
    write_typed(path, replace(accepted, **changes))


def test_a_run_takes_restored_cells_and_stores_the_same_bytes(elsewhere, stored):
    done = restore(elsewhere.root, "smoke")
    assert (done.cells, done.left_out) == (9, {})
    assert "for runs to take: 9." in done.lines()[0]
    assert fitted(elsewhere) == []
    assert discarded(elsewhere) == []
    assert check(elsewhere.draw().root, "smoke").lines()[-1] == "9 cells were taken as they were accepted."
    assert "9 of them as they were accepted" in summary(read_results(elsewhere.root, "smoke"), elsewhere.folder)
    shutil.rmtree(elsewhere.root / "reports/smoke")
    again, before = (snapshot(folder) for folder in (accept(elsewhere.root, "smoke", "anew"), stored / "reports/smoke"))
    names = again.keys() | before.keys()
    # When and why it was accepted, and the digest of this in the crate.
    differing = {name for name in names if again.get(name) != before.get(name)}
    assert differing == {"provenance.json", "ro-crate-metadata.json"}


def test_restored_cells_stand_beside_computed_ones(elsewhere):
    """Another parameter, or metrics by other code, and the cell is computed; others of the run are taken."""
    restore(elsewhere.root, "smoke")
    elsewhere.specs["iris", "small"]["params"] |= {"n_estimators": 9}
    elsewhere.specs["diabetes", "extra"]["repeats"] = (0, 1, 2)
    key = cells(elsewhere.root)["breast_cancer", "smaller", 1].key
    changed(accepted_path(elsewhere.folder, key, "smaller"), scoring="other code")
    assert fitted(elsewhere) == [
        *(("breast_cancer", "smaller", 1), ("iris", "small", 0), ("iris", "small", 1)),
        ("diabetes", "extra", 2),
    ]
    accepted = cells(elsewhere.root)
    for cell in elsewhere.read_run("breast_cancer", "smaller").cells:
        before = accepted["breast_cancer", "smaller", cell.repeat]
        assert cell.metrics["accuracy"] == before.metrics["accuracy"]
        assert (cell == before) == (cell.repeat != 1)  # a cell that is computed has other costs


def test_accepted_cells_are_taken_instead_of_those_computed_here_before_a_suite_has_runs(elsewhere):
    assert len(fitted(elsewhere)) == 9
    own = elsewhere.read_run("iris", "small").cells
    with pytest.raises(UserError, match=r"has runs, which stay as they are\. Remove this folder"):
        restore(elsewhere.root, "smoke")
    shutil.rmtree(elsewhere.folder)
    elsewhere.write_plan()
    restore(elsewhere.root, "smoke")
    assert fitted(elsewhere) == []
    accepted = cells(elsewhere.root)
    taken = elsewhere.read_run("iris", "small").cells
    assert taken == tuple(accepted["iris", "small", repeat] for repeat in (0, 1)) != own
    assert read_results(elsewhere.root, "smoke").n_accepted() == 9
    shutil.rmtree(elsewhere.folder)
    elsewhere.write_plan()
    assert fitted(elsewhere) == []
    assert elsewhere.read_run("iris", "small").cells == own
    assert read_results(elsewhere.root, "smoke").n_accepted() == 0


def test_a_preset_with_the_same_cell_takes_it_with_its_costs(elsewhere):
    restore(elsewhere.root, "smoke")
    elsewhere.specs["iris", "same"] = elsewhere.specs["iris", "small"] | {"model": "same"}
    elsewhere.write_plan()
    assert fitted(elsewhere) == []
    own, other = (elsewhere.read_run("iris", model).cells for model in ("same", "small"))
    assert [replace(cell, model="small") for cell in own] == [*other]
    assert discarded(elsewhere) == []


def test_an_accepted_cell_does_not_stand_for_another_fit(elsewhere):
    """The predictions of a cell that was computed here are gone; the accepted one has other numbers."""
    restore(elsewhere.root, "smoke")
    place, aside = elsewhere.folder / "accepted", elsewhere.root / "aside"
    place.rename(aside)
    fitted(elsewhere)
    aside.rename(place)
    cell = elsewhere.read_run("iris", "small").cells[0]
    path = accepted_path(elsewhere.folder, cell.key, "small")
    changed(path, cell=replace(cell, metrics=cell.metrics | {"accuracy": 0.5}))
    (elsewhere.root / "results/cells" / cell.outputs.file).unlink()
    assert len(discarded(elsewhere)) == 1
    assert fitted(elsewhere) == []  # the accepted one is taken now, whole
    assert elsewhere.read_run("iris", "small").cells[0].metrics["accuracy"] == 0.5


@pytest.mark.parametrize("damage", ["edited", "truncated", "empty", "gone"])
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_damaged_restored_cells_are_computed(elsewhere, damage, suffix):
    restore(elsewhere.root, "smoke")
    fitted(elsewhere)
    key = cells(elsewhere.root)["iris", "small", 1].key
    path = accepted_path(elsewhere.folder, key, "small").with_suffix(suffix)
    if (damage, suffix) == ("edited", ".json"):
        text, n_changed = re.subn(r'("repeat": ?)1', r"\g<1>0", path.read_text())
        assert n_changed
        path.write_text(text)
    else:
        spoil(path, damage)
    assert len(discarded(elsewhere)) == 1
    assert fitted(elsewhere) == [("iris", "small", 1)]


def test_restored_cells_without_what_a_metric_needs_are_refused(ran, elsewhere):
    """Placements are kept for tables of the AUC alone. Such a table is drawn without them, and not accepted."""
    folder = elsewhere.root / "reports/smoke"
    for root in (ran.root, elsewhere.root):
        shutil.rmtree(root / "reports/smoke")
    shutil.copytree(accept(ran.root, "smoke", "why", [ACCURACY]), folder)
    restore(elsewhere.root, "smoke")
    assert {pair[:2] for pair in fitted(elsewhere)} == {("iris", "small"), ("diabetes", "extra")}
    results = read_results(elsewhere.root, "smoke")
    assert {*results.rows("breast_cancer")["small", 0]} == {"predicted", "right", "test_rows"}
    words = elsewhere.draw().refused(AUC, ACCURACY)
    assert words.startswith(
        "breast_cancer: cells were accepted without rows that the tables need: run again after rm -f "
    )
    patterns = [Path(word) for word in words.partition("rm -f ")[2].split()]
    paths = [path for pattern in patterns for path in pattern.parent.glob(pattern.name)]
    keys = [cells(elsewhere.root)["breast_cancer", "small", repeat].key for repeat in (0, 1)]
    assert paths == [accepted_path(elsewhere.folder, key, "small") for key in keys]
    for path in paths:
        path.unlink()
    discarded(elsewhere)
    assert fitted(elsewhere) == [("breast_cancer", "small", repeat) for repeat in (0, 1)]
    accept(elsewhere.draw().root, "smoke", "why")


def test_what_cells_save_is_restored(suite):
    """A cell is left out if its predictions or what it saved are not stored."""
    suite.complete()
    array = suite.extra("adult", "gbdt", "layer_scores", accuracy=np.arange(3))
    stored, cache = suite.stored().root / "reports/smoke", suite.root / "results/cells"
    shutil.rmtree(suite.folder)
    assert restore(suite.root, "smoke").left_out == {"their predictions were not kept": 4}
    rows = {f"{model}/{k}/right": np.ones(1) for model in ("gbdt", "random_forest") for k in (0, 1)}
    (stored / "rows").mkdir()
    np.savez(stored / "rows/adult.npz", **rows)
    saved = SavedArrays("adult.npz", sha256_of(stored / "rows/adult.npz"))
    results = read_stored(suite.root, "smoke")
    (stored / CELLS).write_bytes(pack(results, {"adult": saved}))
    saved_here = array.read_bytes()
    array.unlink()
    done = restore(suite.root, "smoke")
    assert done.cells == 3
    assert done.left_out == {"what they save is not stored": 1}  # no table shows it
    target = stored / "extras" / array.relative_to(cache)
    target.parent.mkdir(parents=True)
    target.write_bytes(saved_here)
    array.write_bytes(b"damaged")
    stored.rename(stored.with_name(".smoke.old"))  # where a killed `accept` leaves it
    assert restore(suite.root, "smoke").cells == 4
    assert array.read_bytes() == target.read_bytes()
    target.write_bytes(b"damaged")
    array.unlink()
    with pytest.raises(UserError, match="git checkout"):
        restore(suite.root, "smoke")


@pytest.mark.parametrize("damage", ["edited", "truncated", "empty", "gone"])
def test_damaged_rows_are_an_error_that_names_the_file_and_git(stored, damage):
    spoil(stored / "reports/smoke/rows/iris.npz.xz", damage)
    with pytest.raises(UserError, match=r"rows/iris\.npz\.xz: .*git checkout -- .*reports/smoke/rows/iris\.npz\.xz"):
        read_stored(stored, "smoke").rows("iris")


def test_rows_that_stay_are_read_before_they_are_believed(ran, stored):
    path = ran.root / "reports/smoke/rows/iris.npz.xz"
    path.write_bytes(b"")
    assert re.search(r"rows/iris\.npz\.xz: .*git checkout", ran.refused(RMSE))


@pytest.mark.parametrize("what", ["predictions", "labels"])
def test_damaged_predictions_and_labels_are_not_accepted(ran, stored, tmp_path, what):
    root = tmp_path / "copy"
    shutil.copytree(ran.root, root)
    path = root / "data/processed/iris.npz"
    if what == "predictions":
        cell = cells(stored)["iris", "small", 0]
        path = root / "results/cells" / cell.outputs.file
    arrays = dict(np.load(path, allow_pickle=False))
    name = "predicted" if what == "predictions" else "y"
    arrays[name] = np.roll(arrays[name], 1)
    np.savez_compressed(path, **arrays)
    before = snapshot(root / "reports")
    with pytest.raises(UserError, match=rf"{path.name}: "):
        accept(root, "smoke", "why")
    assert snapshot(root / "reports") == before


def test_the_stored_suite_standard_has_its_size(request):
    folder = request.config.rootpath / "reports" / "standard"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 40 * 10**6
