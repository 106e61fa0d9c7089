"""Layers on disk (`layers_dir`): the same model to the byte, in memory, files and pickles; and files that are gone."""

import copy
import gc
import multiprocessing
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import cascadeforest as cf
from cascadeforest.cascade import layer as layers
from cascadeforest.cascade.on_disk import StoredForest
from cascadeforest.experiments.measure import measure

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
SMALL = {"n_forests": 2, "n_estimators": 4, "max_layers": 2, "keep": "last", "random_state": 0}
FIXED = {cf.MDDFClassifier: {"gamma": 0.85, "mu": 0.05, "theta": 4, "n_folds": 3}}
CASCADES = [cf.GCForestClassifier, cf.GCForestCSClassifier, cf.MDDFClassifier, cf.CascadeForestRegressor]
every_cascade = pytest.mark.parametrize("Cascade", CASCADES)


def small(Cascade, **others):
    return Cascade(**{**SMALL, **FIXED.get(Cascade, {}), **others})


def on_disk(folder, Cascade=cf.GCForestClassifier, **others):
    return small(Cascade, layers_dir=folder, **others).fit(X, Y)


def files_in(folder):
    return sorted(folder.rglob("*.forest"))


def saved(model, folder):
    cf.save(model, folder / "saved")
    return (folder / "saved").read_bytes()


@every_cascade
@pytest.mark.parametrize("class_vectors", ["k_fold", "k_fold_refit", "oob"])
def test_the_model_is_the_same_to_the_byte(Cascade, class_vectors, tmp_path):
    own = small(Cascade, class_vectors=class_vectors).fit(X, Y)
    stored = on_disk(tmp_path / "layers", Cascade, class_vectors=class_vectors)
    models = [model for layer in stored.layers_ for models in layer.forests for model in models]
    assert all(isinstance(model, StoredForest) for model in models)
    assert len(models) == len(files_in(tmp_path)) == 2 * 2 * (3 if class_vectors == "k_fold" else 1)
    assert saved(stored, tmp_path) == saved(own, tmp_path)
    assert stored.predict(X).tobytes() == own.predict(X).tobytes()
    for one, other in zip(stored.layers_, own.layers_, strict=True):
        assert (one.n_trees, one.nbytes) == (other.n_trees, other.nbytes)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_no_byte(n_jobs, tmp_path):
    own = small(cf.GCForestClassifier, n_jobs=n_jobs).fit(X, Y)
    stored = on_disk(tmp_path / "layers", n_jobs=n_jobs)
    assert saved(stored, tmp_path) == saved(own, tmp_path)
    assert stored.set_params(n_jobs=1).predict_proba(X).tobytes() == own.predict_proba(X).tobytes()


def test_a_search_of_mddf_keeps_the_files_of_its_settings_apart(tmp_path):
    """Its cascades share first layers, and are grown in one folder."""
    given = {"gamma": 0.85, "mu": 0.05, "theta": None, "search_layers": 2, "search_estimators": 4}
    own = small(cf.MDDFClassifier, **given).fit(X, Y)
    stored = on_disk(tmp_path / "layers", cf.MDDFClassifier, **given)
    assert len(files_in(tmp_path)) == 2 * 2 * 3
    assert saved(stored, tmp_path) == saved(own, tmp_path)


def test_explanations_read_the_files(tmp_path):
    own, stored = small(cf.GCForestCSClassifier).fit(X, Y), on_disk(tmp_path, cf.GCForestCSClassifier)
    assert cf.explain(stored, X[:5]).contributions.tobytes() == cf.explain(own, X[:5]).contributions.tobytes()
    assert stored.feature_importances_.tobytes() == own.feature_importances_.tobytes()


def test_the_file_of_an_explainer_has_each_forest_once(tmp_path):
    explainers = [cf.Explainer(model) for model in (small(cf.GCForestClassifier).fit(X, Y), on_disk(tmp_path / "l"))]
    one, other = (saved(explainer, tmp_path) for explainer in explainers)
    assert one == other


def test_a_file_can_be_read_by_load_only_as_part_of_a_model(tmp_path):
    model = on_disk(tmp_path)
    with pytest.raises(ValueError, match="it holds a FoldForest, which is no model"):
        cf.load(files_in(tmp_path)[0])
    assert files_in(tmp_path)[0].read_bytes().startswith(b"\x93cascadeforest")
    del model


@pytest.mark.parametrize("passed", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_copies_outlive_the_model(passed, tmp_path):
    model = on_disk(tmp_path)
    wanted, other = model.predict_proba(X).tobytes(), passed(model)
    del model
    gc.collect()
    assert other.predict_proba(X).tobytes() == wanted


def test_a_pickle_holds_the_forests_and_needs_no_file(tmp_path):
    model = on_disk(tmp_path)
    wanted, text = model.predict_proba(X).tobytes(), pickle.dumps(model)
    del model
    gc.collect()
    assert not files_in(tmp_path)
    again = pickle.loads(text)
    assert not any(isinstance(one, StoredForest) for layer in again.layers_ for k in layer.forests for one in k)
    assert again.predict_proba(X).tobytes() == wanted


def test_files_are_deleted_with_the_model_and_by_the_next_fit(tmp_path):
    model = on_disk(tmp_path)
    before = set(files_in(tmp_path))
    model.fit(X, Y)
    gc.collect()
    assert len(files_in(tmp_path)) == len(before)
    assert not before & set(files_in(tmp_path))
    del model
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_layers_after_the_best_leave_no_file(tmp_path):
    model = on_disk(tmp_path, keep="best", patience=2, max_layers=3)
    gc.collect()
    assert model.n_layers_ < 3
    assert len(files_in(tmp_path)) == model.n_layers_ * 2 * 3


def test_other_files_and_models_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "00001.forest").write_text("mine")
    one, other = on_disk(tmp_path), on_disk(tmp_path, random_state=1)
    wanted = other.predict_proba(X).tobytes()
    assert len(list(tmp_path.iterdir())) == 3
    del one
    gc.collect()
    assert (tmp_path / "00001.forest").read_text() == "mine"
    assert other.predict_proba(X).tobytes() == wanted


def test_a_failed_fit_leaves_nothing(tmp_path, monkeypatch):
    def fails(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(layers._Fit, "predicted", fails)
    model = small(cf.GCForestClassifier, layers_dir=tmp_path)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, Y)
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_clones_have_folders_of_their_own(tmp_path):
    model = on_disk(tmp_path)
    other = clone(model)
    assert other.layers_dir == tmp_path
    assert other.fit(X, Y).predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_search_can_fit_on_disk(tmp_path):
    search = GridSearchCV(small(cf.GCForestClassifier, layers_dir=tmp_path), {"max_depth": [1, None]}, cv=2)
    assert search.fit(X, Y).best_params_ == {"max_depth": None}


def test_the_process_may_change_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = on_disk("layers")
    wanted = model.predict_proba(X).tobytes()
    monkeypatch.chdir("/")
    assert model.predict_proba(X).tobytes() == wanted


def test_a_deleted_file_is_named_with_a_remedy(tmp_path):
    model = on_disk(tmp_path)
    gone = files_in(tmp_path)[4]
    gone.unlink()
    with pytest.raises(FileNotFoundError, match=rf"^{gone}, a part of a fitted model, is gone\. .*fit it again"):
        model.predict(X)
    with pytest.raises(FileNotFoundError, match=r"is gone\."):
        cf.save(model, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("place", [20, 40, -70, None])
def test_a_damaged_file_is_named_with_a_remedy(place, tmp_path):
    """A bit of the header, of the JSON or of an array changed, or the file was cut."""
    model = on_disk(tmp_path)
    file = files_in(tmp_path)[4]
    data = bytearray(file.read_bytes())
    if place is None:
        del data[-1:]
    else:
        data[place] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(1, 1))  # clocks of file systems are coarse
    with pytest.raises(ValueError, match=rf"^{file}, a part of a fitted model, cannot be used: .*fit it again"):
        model.predict(X)


def test_a_file_that_was_put_back_is_checked_and_taken(tmp_path):
    model = on_disk(tmp_path)
    file, wanted = files_in(tmp_path)[0], model.predict(X).tobytes()
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    os.utime(file, ns=(1, 1))
    assert model.predict(X).tobytes() == wanted


def test_too_few_open_files_are_an_error_with_a_remedy(tmp_path):
    resource = pytest.importorskip("resource", reason="needs a system with limits of processes")
    model = on_disk(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(file.name) for file in Path("/dev/fd").iterdir()}
    free = [number for number in range(len(used) + 7) if number not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[6], hard))
    try:
        assert model.predict(X).shape == Y.shape
        with pytest.raises(OSError, match=r"Too many open files; save and explanations .* \(ulimit -n\)"):
            cf.save(model, tmp_path / "saved")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_estimators_of_other_packages_stay_in_memory(tmp_path):
    members = ["random_forest", LogisticRegression(max_iter=1000)]
    own = small(cf.GCForestClassifier, estimators=members).fit(X, Y)
    stored = on_disk(tmp_path, estimators=members)
    assert len(files_in(tmp_path)) == 2 * 3
    assert stored.predict_proba(X).tobytes() == own.predict_proba(X).tobytes()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"^layers_dir is '.*file', which is a file; give the path of a folder"):
        on_disk(tmp_path / "file")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_deletes_no_file(tmp_path):
    model = on_disk(tmp_path)
    wanted = model.predict(X).tobytes()

    def end():
        nonlocal model
        del model
        gc.collect()

    child = multiprocessing.get_context("fork").Process(target=end)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert model.predict(X).tobytes() == wanted


def test_memory_is_that_of_a_forest(tmp_path):
    """The labels are noise, so that trees are large."""
    X, _ = load_digits(return_X_y=True)
    X, y = np.vstack([X, X + 0.5]), np.random.default_rng(0).integers(2, size=2 * len(X))
    model = cf.GCForestClassifier(
        *(4, 15), estimators=["completely_random_forest"], n_folds=6, max_layers=1, random_state=0
    )
    clone(model).fit(X[:200], y[:200])
    own, in_memory = measure(lambda: clone(model).fit(X, y))
    size = own.layers_[0].nbytes / 2**20
    del own
    assert in_memory.peak_mib > size > 10
    model.set_params(layers_dir=tmp_path)
    for call in (lambda: model.fit(X, y), lambda: model.predict(X)):
        _, cost = measure(call)
        assert cost.peak_mib < 0.5 * size
