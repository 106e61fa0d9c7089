"""The compiled libraries: found, of these sources, with the same results on every processor, given the right arrays."""

import subprocess
import sys

import numpy as np
import pytest

from cascadeforest import kernels
from cascadeforest.kernels import build
from cascadeforest.kernels.draws import bootstrap_counts

#: Fits with every kind of split, and what they predict and explain, with the library for one kind of processor.
SCRIPT = """
import hashlib, sys, warnings
import numpy as np
from cascadeforest import kernels
library = kernels._load(sys.argv[1])
kernels._library = lambda: library
import cascadeforest as cf
from cascadeforest.baselines.sndf import SNDFClassifier

rng = np.random.default_rng(0)
digest = hashlib.sha256()
X = np.concatenate([rng.normal(size=(900, 6)), rng.random((900, 5)) < 0.3, rng.integers(0, 30, (900, 1))], axis=1)
X[rng.random(X.shape) < 0.02] = np.nan
X[:, -5:-1] = np.nan_to_num(X[:, -5:-1])
signal = np.nan_to_num(X[:, :4]).sum(axis=1) + rng.normal(size=900)
for n_classes in (0, 2, 5, 20, 300):
    y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])) if n_classes else signal
    kind = "Classifier" if n_classes else "Regressor"
    entropy = {"criterion": "entropy", "min_weight_fraction_leaf": 0.01} if n_classes else {}
    for name in ("RandomForest", "ExtraTrees", "CompletelyRandomForest"):
        for options in ({}, {"min_samples_leaf": 3}, {"max_leaf_nodes": 20}, {"categorical_features": [11], **entropy}):
            for weight in (None, rng.integers(0, 3, 900), rng.random(900)):
                forest = getattr(cf, name + kind)(3, random_state=0)
                own = {key: value for key, value in options.items() if key in forest.get_params()}
                forest.set_params(**own).fit(X, y, sample_weight=weight)
                digest.update(forest.trees_.nodes.tobytes() + forest.trees_.values.tobytes())
                digest.update(forest.mean_decrease_impurity_.tobytes())
                digest.update((forest.predict_proba if n_classes else forest.predict)(X).tobytes())
cascade = cf.GCForestClassifier(n_forests=2, n_estimators=4, max_layers=2, random_state=0).fit(X, signal > 0)
explained = cf.Explainer(cascade, X, signal > 0).explain(X[:20])
digest.update(explained.contributions.tobytes())
soft = SNDFClassifier(2, max_depth=7, max_iter=2, random_state=0).fit(X, signal > 0)
digest.update(soft.weights_.tobytes() + soft.leaves_.tobytes())
print(digest.hexdigest())
"""


def levels():
    """The libraries that this processor can run."""
    return kernels.LEVELS[: kernels._load(kernels.LEVELS[0]).processor_level() + 1]


def test_libraries_for_all_kinds_of_processors_give_the_same_bytes():
    found = {}
    for level in levels():
        done = subprocess.run([sys.executable, "-c", SCRIPT, level], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[level] = done.stdout.strip()
    assert len(set(found.values())) == 1, found


def test_the_library_is_the_newest_that_the_processor_runs():
    assert kernels._library()._name == str(kernels.library_file(levels()[-1]))


def test_a_missing_library_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    with pytest.raises(kernels.KernelError, match=r"kernels-v1\.\w+: the kernels .* not compiled; run `make setup`"):
        kernels._load("v1")


def test_a_damaged_library_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    kernels.library_file("v1").write_bytes(b"other")
    with pytest.raises(kernels.KernelError, match=r"kernels-v1\.\w+: .* cannot be loaded \(.*\); run `make setup`"):
        kernels._load("v1")


def test_a_library_of_other_sources_is_refused(monkeypatch):
    monkeypatch.setattr(build, "source_digest", lambda: "0" * 64)
    with pytest.raises(kernels.KernelError, match=r"compiled from other sources; run `make setup`"):
        kernels._load("v1")


def test_every_source_counts_in_the_digest(monkeypatch, tmp_path):
    before = build.source_digest()
    for path in build.sources():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(build, "_FOLDER", tmp_path)
    assert build.source_digest() == before
    for path in list(build.sources()):
        text = path.read_text()
        path.write_text(text.replace("0", "1", 1) + "\n")
        assert build.source_digest() != before, path.name
        path.write_text(text)
    assert build.source_digest() == before


def test_an_error_of_the_compiler_is_shown(monkeypatch, tmp_path):
    (tmp_path / "wrong.c").write_text("int wrong( { return 0; }\n")
    monkeypatch.setattr(build, "_FOLDER", tmp_path)
    with pytest.raises(RuntimeError, match=r"(?s)could not be compiled.*wrong\.c"):
        build.compile_kernels(tmp_path)
    assert not list(tmp_path.glob("kernels-*"))


@pytest.mark.parametrize(
    "counts",
    [np.zeros(4, np.int64), np.zeros(8, np.int32)[::2], np.zeros(4, np.int32)],
    ids=["another type", "not side by side", "not to be written"],
)
def test_arrays_that_a_kernel_cannot_take_are_refused(counts):
    counts.flags.writeable = counts.dtype != np.int32 or not counts.flags.c_contiguous
    with pytest.raises(TypeError, match="it takes a C-ordered one of int32 that can be written to"):
        bootstrap_counts(np.uint64(0), 4, counts)
