"""Kernels are compiled once, with a message; afterwards nothing compiles, whatever the arrays look like."""

import json
import logging
import subprocess
import sys
import threading

import pytest

from cascadeforest import ExtraTreesRegressor
from cascadeforest.forest import _compiling, _jit
from cascadeforest.forest._grow import grow_tree

# The message.


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """A machine where nothing is compiled yet, and compiling takes no time: the list of compilations."""
    done = []
    monkeypatch.setattr(_compiling, "marker", lambda: tmp_path / "kernels.compiled")
    monkeypatch.setattr(_compiling, "compile_kernels", lambda: done.append(threading.get_ident()))
    return done


def fit_one():
    ExtraTreesRegressor(1).fit([[0.0], [1.0]], [0.0, 1.0])


def test_the_first_fit_compiles_and_says_so(compilations, caplog, tmp_path):
    with caplog.at_level(logging.INFO):
        fit_one()
    assert len(compilations) == 1
    messages = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert messages == [
        (
            "cascadeforest",
            "WARNING",
            f"Compiling the forest kernels, once per machine and version (about half a minute); kept in {tmp_path}.",
        )
    ]


def test_later_fits_are_silent(compilations, caplog):
    fit_one()
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        fit_one()
    assert len(compilations) == 1
    assert not caplog.records


def test_threads_that_start_together_compile_once(compilations):
    threads = [threading.Thread(target=_compiling.ensure_compiled) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compilations) == 1


def test_an_interrupted_compilation_is_repeated(compilations, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_compiling, "compile_kernels", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit_one()
    fit_one()
    assert len(compilations) == 1


def test_the_marker_names_what_the_machine_code_depends_on():
    """Another processor, Python, numba or kernel has another marker, so that its compilation is announced as well."""
    import llvmlite
    import numba

    name = _compiling.marker().name
    python = ".".join(map(str, sys.version_info[:3]))
    for part in (f"python-{python}", f"numba-{numba.__version__}", f"llvmlite-{llvmlite.__version__}"):
        assert part in name
    assert _compiling._jit.kernel_digest()[:16] in name


# Silence afterwards: a fresh process, in which compile_kernels() has run, works through all kinds of arrays. No kernel
# may meet types that it was not compiled for; that the cache on this disk holds them from an earlier run is luck.

SCRIPT = r'''
import json, pickle, sys, tempfile, warnings
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse
from numba.core.registry import CPUDispatcher

import cascadeforest as cf
from cascadeforest.forest import _compiling

_compiling.ensure_compiled()
_compiling.compile_kernels()

modules = [module for name, module in sys.modules.items() if name.startswith("cascadeforest.forest")]
kernels = {id(k): k for module in modules for k in vars(module).values() if isinstance(k, CPUDispatcher)}.values()
known = {kernel: set(kernel.signatures) for kernel in kernels}
found = {}


def step(name):
    """What compiled since the last step."""
    found.setdefault(name, [])
    for kernel in kernels:
        for signature in set(kernel.signatures) - known[kernel]:
            found[name].append(f"{kernel.py_func.__name__}{signature}")
            known[kernel].add(signature)


def use(forest, X, targets):
    forest.predict(X)
    forest.predict(X[:1])
    forest.apply(X)
    forest.decision_path(X)
    binned = forest.bin_mapper_.transform(X)
    for weights in (None, np.ones(X.shape[0]), np.ones((3, X.shape[0])), forest.in_bag_counts):
        forest.trees_.node_statistics(binned, targets, weights=weights)
    forest.trees_.predict(binned, np.arange(5), trees=[0, 2])


rng = np.random.default_rng(0)
base = rng.normal(size=(60, 4))
frozen_weight = rng.random(60)
frozen_weight.flags.writeable = False
classes, numbers = (base[:, 0] > 0) + 2 * (base[:, 1] > 1), base[:, 0] + base[:, 1]
tasks = {
    "classification": (cf.RandomForestClassifier, classes, np.eye(4)[classes]),
    "two classes": (cf.ExtraTreesClassifier, classes % 2, np.eye(2)[classes % 2]),
    "regression": (cf.ExtraTreesRegressor, numbers, numbers[:, None]),
    "weighted features": (
        lambda *args, **kwargs: cf.EnrichedRandomForestClassifier(*args, feature_weights=[1, 2, 3, 4], **kwargs),
        classes,
        np.eye(4)[classes],
    ),
}
for task, (Forest, y, targets) in tasks.items():
    for dtype in (np.float32, np.float64):
        X = base.astype(dtype)
        forest = Forest(3, random_state=0).fit(X, y)
        use(forest, X, targets)
        step(f"{task}, {dtype.__name__}, C order")
        columns = np.asfortranarray(X)
        use(Forest(3, random_state=0).fit(columns, y), columns, targets)
        step(f"{task}, {dtype.__name__}, Fortran order")
        for order in "CF":
            frozen = X.copy(order=order)
            frozen.flags.writeable = False
            for kind in (X, frozen):  # rows to learn from, and rows to predict
                use(Forest(3, random_state=0).fit(kind, y, frozen_weight), frozen, targets)
        step(f"{task}, {dtype.__name__}, read-only")
        for view in (X[::2], X[:, ::-1]):
            use(Forest(3, random_state=0).fit(view, y[: len(view)]), view, targets[: len(view)])
        step(f"{task}, {dtype.__name__}, strided")
        for make in (scipy.sparse.csr_array, scipy.sparse.csc_array):
            use(Forest(3, random_state=0).fit(make(X), y), make(X), targets)
        step(f"{task}, {dtype.__name__}, sparse")
        use(pickle.loads(pickle.dumps(forest)), X, targets)
        step(f"{task}, {dtype.__name__}, pickled")
        with tempfile.TemporaryDirectory() as folder:  # as joblib hands large models to its processes: read-only
            path = Path(folder) / "forest.joblib"
            joblib.dump(forest, path)
            use(joblib.load(path, mmap_mode="r"), X, targets)
        step(f"{task}, {dtype.__name__}, memory-mapped")
    forest = Forest(3, max_leaf_nodes=5, bootstrap=True, oob_score=True, random_state=0, n_jobs=2)
    frozen = targets.copy()
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(forest.fit(base, y, rng.random(60)), base, frozen)
    step(f"{task}, options and read-only targets")

misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)
print(json.dumps({"compiled": found, "misses": misses, "n_kernels": len(kernels)}))
'''
KINDS = ["C order", "Fortran order", "read-only", "strided", "sparse", "pickled", "memory-mapped", "read-only targets"]


@pytest.fixture(scope="module")
def warm_process():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_process_meets_only_compiled_types(warm_process, kind):
    steps = {name: new for name, new in warm_process["compiled"].items() if name.endswith(kind)}
    assert len(steps) >= 4
    assert {name: new for name, new in steps.items() if new} == {}


def test_all_kinds_are_looked_at(warm_process):
    assert all(any(name.endswith(kind) for kind in KINDS) for name in warm_process["compiled"])
    assert warm_process["n_kernels"] > 20


def test_a_warm_process_compiles_nothing(warm_process):
    """The count that numba keeps of what it did not find on the disk. The fixture has compiled if need be."""
    if any(warm_process["compiled"].values()):
        pytest.fail(f"compiled: {warm_process['compiled']}")
    fresh = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600, check=True)
    assert json.loads(fresh.stdout)["misses"] == 0


def test_compiled_code_is_kept_under_the_digest_of_all_kernel_files():
    """Else a kernel that was compiled into another file's kernel would stay there when it changes."""
    stamp = grow_tree._cache._impl.locator.get_source_stamp()
    assert stamp == _jit.kernel_digest()


def test_each_state_of_the_kernel_files_has_a_folder_of_its_own():
    """What an older version left behind is not even read: its types may be elsewhere now, and numba would stumble."""
    assert _jit.kernel_digest()[:16] in grow_tree.stats.cache_path.split("/")[-1]
