"""joblib backends of other processes: the same bytes as on one machine, and the bins are sent once to a worker."""

import contextlib
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from joblib import Parallel, parallel_config
from joblib.parallel import ParallelBackendBase, register_parallel_backend
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import cascadeforest as cf
from cascadeforest.cascade import layer as layers
from cascadeforest.cascade import workers
from cascadeforest.forest.binning import BinMapper

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]
SMALL = {"n_forests": 2, "n_estimators": 4, "max_layers": 3, "patience": 3, "keep": "last", "random_state": 0}
MODELS = {
    "gcforest": cf.GCForestClassifier(**SMALL),
    "refit": cf.GCForestClassifier(**SMALL, class_vectors="k_fold_refit"),
    "oob": cf.GCForestClassifier(**SMALL, class_vectors="oob"),
    "screening": cf.GCForestCSClassifier(**SMALL),
    "mddf": cf.MDDFClassifier(**SMALL, gamma=0.85, mu=0.05, theta=4),
    "stacking": cf.MDDFClassifier(**SMALL, gamma=0.85, mu=0.05, theta=4, ablation="stacking"),
    "regression": cf.CascadeForestRegressor(**SMALL),
    "hidf": cf.HiDFClassifier(2, 4, max_layers=1, cv_estimators=3, rule_estimators=2, n_bootstraps=2, random_state=0),
    "scanning": cf.GCForestClassifier(**SMALL, scanning={"shape": (8, 8), "windows": [4], "n_estimators": 2}),
}
IN_MEMORY = {}


class Pickling(ParallelBackendBase):
    """A backend of workers that share nothing with this process: tasks and results pass as pickles, task by task.

    Parameters
    ----------
    n_workers : int
        Workers, which take tasks in turn.
    new_each_call : bool
        Whether workers end with a call of joblib, as those of the backend "multiprocessing" do.
    """

    supports_sharedmem = False
    supports_retrieve_callback = True

    def __init__(self, n_workers=2, new_each_call=False, **others):
        super().__init__(**others)
        self.n_workers, self.new_each_call = n_workers, new_each_call
        self.kept, self.sent = [OrderedDict() for _ in range(n_workers)], []

    def effective_n_jobs(self, n_jobs):
        return self.n_workers

    def start_call(self):
        if self.new_each_call:
            self.kept = [OrderedDict() for _ in range(self.n_workers)]
        self.sent.append([])

    def submit(self, func, callback):
        worker, task = len(self.sent[-1]) % self.n_workers, pickle.dumps(func)
        self.sent[-1].append(task)
        here, workers._kept = workers._kept, self.kept[worker]
        try:
            # What a worker does with `parallel_config` does not matter here.
            with parallel_config("threading"):
                result = pickle.loads(pickle.dumps(pickle.loads(task)()))
        finally:
            workers._kept = here
        callback(result)
        return result

    def retrieve_result_callback(self, out):
        return out


@pytest.fixture
def backend(monkeypatch):
    """Makes a context in which the backend is active, and yields it."""
    monkeypatch.setattr(workers, "_sent", {})

    @contextlib.contextmanager
    def active(**settings):
        made = []

        def factory(**others):
            made.append(Pickling(**settings, **others))
            return made[-1]

        register_parallel_backend("pickling", factory)
        with parallel_config("pickling"):
            yield made[-1]

    return active


def with_bins(tasks):
    """How many tasks hold the bins of X."""
    bins = BinMapper().fit_transform(X).columns.tobytes()
    return sum(bins in task for task in tasks)


def saved(model, folder):
    cf.save(model, folder / "saved")
    return (folder / "saved").read_bytes()


def in_memory(name, folder):
    """The bytes of the model as it is fitted without a backend."""
    if name not in IN_MEMORY:
        IN_MEMORY[name] = saved(MODELS[name].fit(X, Y), folder)
    return IN_MEMORY[name]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("new_each_call", [False, True])
def test_workers_give_the_same_bytes(name, new_each_call, backend, tmp_path):
    wanted = in_memory(name, tmp_path)
    with backend(new_each_call=new_each_call) as active:
        model = MODELS[name].fit(X, Y)
    assert active.sent
    assert saved(model, tmp_path) == wanted


def test_estimators_of_other_packages_run_on_workers_too(backend):
    model = cf.GCForestClassifier(**SMALL, estimators=["random_forest", LogisticRegression(max_iter=2000)])
    wanted = model.fit(X[:100], Y[:100]).predict_proba(X).tobytes()
    with backend() as active:
        model.fit(X[:100], Y[:100])
    assert len(active.sent) == 3
    assert model.predict_proba(X).tobytes() == wanted


def test_weights_categories_and_missing_values_are_sent(backend, tmp_path):
    rng = np.random.default_rng(0)
    some = np.column_stack([rng.integers(5, size=200), rng.normal(size=200), rng.normal(size=200)])
    some[rng.random(some.shape) < 0.1] = np.nan
    labels, weights = rng.integers(3, size=200), rng.integers(0, 3, size=200)
    model = cf.GCForestClassifier(**SMALL, categorical_features=[0])
    wanted = saved(model.fit(some, labels, weights), tmp_path)
    with backend():
        model.fit(some, labels, weights)
    assert saved(model, tmp_path) == wanted


def test_bins_are_sent_in_the_first_layer_only(backend):
    """A fit to the same rows sends none at all."""
    with backend() as active:
        MODELS["gcforest"].fit(X, Y)
        MODELS["oob"].fit(X, Y)
    assert [with_bins(tasks) for tasks in active.sent] == [6, 0, 0, 0, 0, 0]
    assert [len(tasks) for tasks in active.sent] == [6, 6, 6, 2, 2, 2]


def test_a_worker_without_the_bins_gets_them(backend, tmp_path):
    wanted = in_memory("gcforest", tmp_path)
    with backend() as active:
        MODELS["gcforest"].fit(X, Y)
        active.kept[1].clear()
        active.sent.clear()
        model = MODELS["gcforest"].fit(X, Y)
    assert [with_bins(tasks) for tasks in active.sent] == [0, 3, 0, 0]
    assert [len(tasks) for tasks in active.sent] == [6, 3, 6, 6]
    assert saved(model, tmp_path) == wanted


def test_workers_that_end_with_a_call_are_asked_once(backend):
    with backend(new_each_call=True) as active:
        MODELS["gcforest"].fit(X, Y)
    assert [with_bins(tasks) for tasks in active.sent] == [6, 0, 6, 6]


def test_a_worker_keeps_the_latest_matrices():
    kept = [workers._work(np.sum, str(k), np.full((2, 2), k), ()) for k in range(4)]
    assert kept == [0, 4, 8, 12]
    assert list(workers._kept)[-2:] == ["2", "3"]
    assert len(workers._kept) == 2
    assert workers._work(np.sum, "2", None, ()) == 8
    assert list(workers._kept) == ["3", "2"]
    assert isinstance(workers._work(np.sum, "1", None, ()), workers._Lacks)


def test_forests_go_to_disk_as_they_come(backend, tmp_path):
    wanted = in_memory("screening", tmp_path)
    with backend():
        model = cf.GCForestCSClassifier(**SMALL, layers_dir=tmp_path / "layers").fit(X, Y)
    assert len(list((tmp_path / "layers").rglob("*.forest"))) == 3 * 2 * 3
    assert saved(model, tmp_path) == wanted


def test_an_error_of_a_worker_reaches_the_user(backend):
    model = cf.CascadeForestRegressor(**SMALL, vector_dtype="float16")
    with backend(), pytest.raises(ValueError, match="vector_dtype is 'float16', but predictions reach"):
        model.fit(X, Y * 1e6)


@pytest.mark.parametrize("settings", [{}, {"backend": "threading", "n_jobs": 2}, {"n_jobs": 2}, {"prefer": "threads"}])
def test_threads_share_memory_unless_a_backend_was_chosen(settings, monkeypatch):
    monkeypatch.setattr(layers, "_elsewhere", None)
    with parallel_config(**settings):
        MODELS["gcforest"].fit(X[:100], Y[:100])


def test_a_fit_inside_a_worker_uses_threads():
    """As in a search that is parallel itself."""
    with parallel_config("loky", n_jobs=2):
        assert workers.has_own_memory()
        assert Parallel(n_jobs=2)([(workers.has_own_memory, (), {})] * 2) == [False, False]


def test_loky_gives_the_same_bytes(tmp_path):
    wanted = in_memory("screening", tmp_path)
    with parallel_config("loky", n_jobs=2):
        assert saved(MODELS["screening"].fit(X, Y), tmp_path) == wanted


def test_a_dask_cluster_of_two_processes_gives_the_same_bytes(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    wanted = in_memory("screening", tmp_path)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client, parallel_config("dask"):
        model = MODELS["screening"].fit(X, Y)
        kept = client.run(lambda: list(workers._kept))
    assert saved(model, tmp_path) == wanted
    assert len(kept) == 2
    assert all(len(digests) == 1 for digests in kept.values())
