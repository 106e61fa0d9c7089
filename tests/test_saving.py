"""Saved models: the same bytes after loading, on disk and in predictions; and what `save` and `load` refuse."""

import copy
import inspect
import json
import math
import pickle
import shutil
import struct
import zipfile
import zlib
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.golden import make

import cascadeforest as cf
from cascadeforest import saving

MAGIC, HEADER = saving._MAGIC, saving._HEADER
every_model = pytest.mark.parametrize("name", make.MODELS)


@cache
def model_of(name):
    """A fitted model; tests do not change it."""
    return make.MODELS[name]()


@cache
def file_of(folder, name):
    file = folder / f"{name}.model"
    cf.save(model_of(name), file)
    return file


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


@pytest.fixture
def forest_file(folder):
    return file_of(folder, "random_forest")


def same(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def fresh_forest():
    return cf.RandomForestClassifier(2, random_state=0).fit(make.X, make.CLASSES)


def parts_of(file):
    """The JSON of a file, and the bytes of its arrays."""
    data = file.read_bytes()
    length = HEADER.unpack(data[: HEADER.size])[3]
    return json.loads(data[HEADER.size : HEADER.size + length]), data[HEADER.size + length :]


def write(file, content, tail=b"", version=1):
    """Write a file with right checksums, as somebody might who wants to do harm."""
    text = json.dumps(content).encode()
    text += b" " * (-(HEADER.size + len(text)) % 64)
    file.write_bytes(HEADER.pack(MAGIC, version, zlib.crc32(text), len(text)) + text + tail)
    return file


def test_every_public_estimator_is_tried():
    public = {name for name in cf.__all__ if hasattr(getattr(cf, name), "fit")} | {"Explainer"}
    assert set(saving._MODELS) == public == {type(model_of(name)).__name__ for name in make.MODELS}


@every_model
@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_model_says_the_same_bytes(folder, name, mmap):
    model, again = model_of(name), cf.load(file_of(folder, name), mmap=mmap)
    assert type(again) is type(model)
    assert same(make.output(again), make.output(model))
    if name.startswith("explainer"):
        model, again = model.model, again.model
    assert repr(again.get_params()) == repr(model.get_params())
    for attribute in ("classes_", "validation_scores_", "feature_names_in_", "margins_", "decision_level_"):
        if hasattr(model, attribute):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute), strict=True)
    if hasattr(model, "staged_predict_proba"):
        rows = make.new_rows(model)
        both = (known.staged_predict_proba(rows) for known in (model, again))
        assert all(same(one, other) for one, other in zip(*both, strict=True))


@every_model
@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_model_is_saved_as_the_same_bytes(folder, tmp_path, name, mmap):
    file = file_of(folder, name)
    cf.save(cf.load(file, mmap=mmap), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


@every_model
def test_equal_fits_are_equal_files(folder, tmp_path, name):
    cf.save(make.MODELS[name](), tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == file_of(folder, name).read_bytes()


@pytest.mark.parametrize("name", ["random_forest_weights", "gcforest", "gcforest_refit", "screening", "mddf", "hidf"])
def test_a_loaded_model_is_explained_with_its_training_rows(folder, name):
    model, again = model_of(name), cf.load(file_of(folder, name))
    X, y = (make.SOME, make.CLASSES) if name == "gcforest_refit" else (make.FRAME, make.NAMES)
    X = X[list(model.feature_names_in_)] if name == "hidf" else X
    rows = make.new_rows(model)
    weights = make.WEIGHTS if name in ("random_forest_weights", "gcforest_refit") else None
    one, other = cf.Explainer(model).explain(rows), cf.Explainer(again, X, y, weights).explain(rows)
    assert same(one.contributions, other.contributions)
    with pytest.raises(ValueError, match="y_train is not what the model learned from"):
        cf.Explainer(again, X, y[::-1], weights)
    with pytest.raises(ValueError, match="Give X_train, y_train"):
        cf.Explainer(again)


def test_an_explainer_of_weighted_rows_is_read_with_its_walk(tmp_path):
    """A cascade whose rows get weights instead of leaving has a walk of its own."""
    model = cf.GCForestCSClassifier(**make.CASCADE, screening="weights").fit(make.FRAME, make.NAMES)
    explainer = cf.Explainer(model)
    cf.save(explainer, tmp_path / "explainer")
    again = cf.load(tmp_path / "explainer")
    assert type(again._walk) is type(explainer._walk)
    assert same(make.output(again), make.output(explainer))
    given = cf.Explainer(again.model, make.FRAME, make.NAMES)
    assert same(given.explain(make.new_rows(model)).contributions, again.explain(make.new_rows(model)).contributions)


def test_a_file_does_not_grow_with_training_rows(tmp_path):
    """It has digests of them, and leaf tables."""
    sizes = {}
    for n_rows in (100, 1100):
        X = np.repeat(np.arange(n_rows)[:, None] % 2, 50, axis=1) * 1.0
        model = cf.GCForestClassifier(2, 2, n_folds=2, max_layers=1, random_state=0).fit(X, X[:, 0])
        cf.save(model, tmp_path / "model")
        cf.save(cf.Explainer(model, X, X[:, 0]), tmp_path / "explainer")
        sizes[n_rows] = [(tmp_path / name).stat().st_size for name in ("model", "explainer")]
    of_model, of_explainer = np.subtract(sizes[1100], sizes[100])
    assert of_model < 500
    assert of_explainer < 1000


def test_an_explainer_and_its_model_stay_one(folder):
    explainer = cf.load(file_of(folder, "explainer_of_gcforest"))
    assert explainer._walk.model is explainer.model
    explainer.model.fit(make.FRAME, make.NAMES)
    with pytest.raises(RuntimeError, match="fitted again"):
        explainer.explain(make.NEW_FRAME)


def test_arrays_are_aligned_and_mapped(folder, forest_file):
    mapped, own = cf.load(forest_file, mmap=True), cf.load(forest_file)
    for values in (mapped.trees_.nodes, mapped.trees_.values, mapped.bin_mapper_.edges_):
        assert values.ctypes.data % 64 == 0
        assert not values.flags.writeable
        assert not values.flags.owndata
    assert own.trees_.nodes.flags.writeable
    assert mapped.trees_.nodes.tobytes() in forest_file.read_bytes()


def test_a_mapped_model_outlives_the_replacement_of_its_file(tmp_path):
    file = tmp_path / "model"
    cf.save(model_of("gcforest"), file)
    mapped = cf.load(file, mmap=True)
    cf.save(fresh_forest(), file)
    assert same(make.output(mapped), make.output(model_of("gcforest")))


def test_an_object_that_is_used_twice_is_written_once(folder):
    """The explainer, its walk and its model have the same layers."""
    content, _ = parts_of(file_of(folder, "explainer_of_gcforest"))
    classes = [one["class"] for one in content["objects"]]
    assert classes.count("Layer") == model_of("gcforest").n_layers_ == 2
    assert classes.count("GCForestClassifier") == 2  # one with the parameters as they were in fit


def test_plain_values_of_every_kind_come_back(tmp_path):
    shared = np.arange(3)
    values = {
        "numbers": [1, -0.0, 1e-300, math.inf, -math.inf, 2**200, True, None],
        "text": ("\ud800", "Köln\n", ""),
        "keys": {1: "one", "1": 2, (1, 2): 3, None: 4, 2.5: 5},
        "numpy": [np.float32(0.1), np.int64(-5), np.str_("x"), np.bool_(True), np.datetime64("2026-01-02", "ns")],
        "arrays": [
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.arange(12).reshape(3, 4)[::2, ::3],
            np.array(2.5),
            np.empty((0, 3), np.uint8),
            np.array(["a", "ccc"]),
            np.array([], "<U0"),
            np.array([b"a"]),
            np.array([["x", None], [1, 2.5]], object),
            np.array([("a", 1), None, "b"], object)[:2],
            np.array([1.5, np.nan], np.complex128),
            np.array(["NaT"], "timedelta64[s]"),
            np.zeros(2, np.float16),
        ],
        "shared": (shared, [shared]),
    }
    model = fresh_forest()
    model.more = values
    cf.save(model, tmp_path / "model")
    for again in (cf.load(tmp_path / "model").more, cf.load(tmp_path / "model", mmap=True).more):
        for key in ("numbers", "text", "keys", "numpy"):
            assert repr(again[key]) == repr(values[key])
        assert [type(one) for one in again["numpy"]] == [type(one) for one in values["numpy"]]
        for one, other in zip(values["arrays"], again["arrays"], strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert one.tolist() == other.tolist() or np.array_equal(one, other, equal_nan=True)
        assert again["arrays"][0].flags.f_contiguous
        assert again["shared"][0] is again["shared"][1][0]


def test_a_big_endian_array_is_read_as_the_same_numbers(tmp_path):
    model = fresh_forest()
    model.more = np.arange(3, dtype=">i4")
    cf.save(model, tmp_path / "model")
    assert same(cf.load(tmp_path / "model").more, np.arange(3, dtype=np.int32))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | arrays.arrays(
        arrays.integer_dtypes() | arrays.floating_dtypes() | arrays.boolean_dtypes() | arrays.unicode_string_dtypes(),
        arrays.array_shapes(min_dims=0, min_side=0, max_side=3),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=PLAIN)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_plain_value_comes_back(tmp_path, value):
    """As in a pickle, but for the order of bytes."""
    model = copy.copy(model_of("completely_random"))
    model.more = value
    cf.save(model, tmp_path / "model")
    np.testing.assert_equal(cf.load(tmp_path / "model").more, value)


# -- refused on loading --


def test_any_changed_byte_is_refused(tmp_path):
    """Header, JSON, padding, arrays: no byte is without a checksum."""
    file = tmp_path / "model"
    cf.save(cf.CompletelyRandomForestClassifier(1, max_depth=2, random_state=0).fit(make.X, make.CLASSES), file)
    whole = file.read_bytes()
    for k in range(len(whole)):
        changed = bytearray(whole)
        changed[k] ^= 1 << k % 8
        file.write_bytes(changed)
        with pytest.raises(ValueError, match=r"model cannot be read: .*(Copy it|Update cascadeforest|Name a file)"):
            cf.load(file, mmap=k % 2 == 0)


def test_a_part_of_a_file_is_refused(tmp_path, forest_file):
    file, whole = tmp_path / "model", forest_file.read_bytes()
    for size in [*range(HEADER.size + 2), *range(HEADER.size, len(whole), 61), len(whole) - 1]:
        file.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"model cannot be read: .*(Copy it again|Name a file)"):
            cf.load(file)
    file.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match=r"bytes, but its arrays end at byte \d+\. Copy it again"):
        cf.load(file)


class Bomb:
    """Fails the test that unpickles it."""

    def __reduce__(self):
        return pytest.fail, ("load ran code of the file",)


@pytest.mark.parametrize("kind", ["empty", "text", "pickle", "joblib", "zip", "npy", "json"])
def test_a_foreign_file_is_refused(tmp_path, kind):
    file = tmp_path / "foreign"
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model.json", "{}")
    elif kind == "joblib":
        joblib.dump([Bomb()], file)
    elif kind == "npy":
        with file.open("wb") as stream:
            np.save(stream, np.array([Bomb()]), allow_pickle=True)
    else:
        file.write_bytes({"empty": b"", "text": b"model\n", "pickle": pickle.dumps(Bomb()), "json": b"{}"}[kind])
    with pytest.raises(ValueError, match=r"foreign cannot be read: it was not written by cascadeforest\.save\. Name a"):
        cf.load(file)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.model"):
        cf.load(tmp_path / "none.model")
    with pytest.raises(OSError, match=tmp_path.name):
        cf.load(tmp_path)


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_another_version_is_refused(tmp_path, forest_file, version):
    file = write(tmp_path / "later.model", *parts_of(forest_file), version=version)
    with pytest.raises(
        ValueError,
        match=rf"later\.model cannot be read: its format has version {version}, but cascadeforest .* up to 1\. Update",
    ):
        cf.load(file)


@pytest.fixture
def no_imports(monkeypatch):
    """Import nothing that a file names; what is imported already is all that files need here."""
    imported = saving.importlib.import_module

    def checked(name):
        assert name in {*saving._HOMES.values(), "cascadeforest.saving"}
        return imported(name)

    monkeypatch.setattr(saving.importlib, "import_module", checked)


@pytest.mark.usefixtures("no_imports")
@pytest.mark.parametrize("name", ["Popen", "os.system", "sklearn.svm:SVC", "eval", "", "builtins.object", "__class__"])
def test_an_unknown_class_is_refused(tmp_path, forest_file, name):
    content, tail = parts_of(forest_file)
    content["objects"].insert(0, {"class": name, "state": {}})
    with pytest.raises(
        ValueError, match=r"odd cannot be read: .* object of the class .* does not know\. Update cascade"
    ):
        cf.load(write(tmp_path / "odd", content, tail))


CRAFTED = {
    "no objects": lambda c: c | {"objects": []},
    "no arrays": lambda c: {"objects": c["objects"]},
    "a list": lambda c: [c],
    "a root that is no model": lambda c: c | {"objects": c["objects"][:1]},
    "arrays that are larger than the file": lambda c: c | {"arrays": [c["arrays"][0] | {"shape": [2**40]}]},
    "arrays of negative size": lambda c: c | {"arrays": [c["arrays"][0] | {"shape": [-1]}, *c["arrays"][1:]]},
    "an array of pointers": lambda c: c | {"arrays": [c["arrays"][0] | {"dtype": "|O"}, *c["arrays"][1:]]},
    "strings without length": lambda c: c | {"arrays": [{"dtype": "<U0", "shape": [2**40], "crc32": 0}, *c["arrays"]]},
    "an array of records": lambda c: c | {"arrays": [c["arrays"][0] | {"dtype": [["a", "<i4"]]}, *c["arrays"][1:]]},
    "an object that is not there": lambda c: c | {"objects": [{"class": "object", "state": {"a": {"object": 0}}}]},
    "an array that is not there": lambda c: c | {"objects": [{"class": "Grain", "state": {"a": {"array": 999}}}]},
    "two kinds at once": lambda c: c | {"objects": [{"class": "Grain", "state": {"a": {"array": 0, "object": 0}}}]},
    "an object with attributes that has none": lambda c: c | {"objects": [{"class": "object", "state": {"a": 1}}]},
    "many empty objects": lambda c: c | {"objects": [{"class": "Grain", "state": {"a": {"objects": [[2**40], []]}}}]},
    "a list of unhashable keys": lambda c: c | {"objects": [{"class": "Grain", "state": {"a": {"dict": [[[], 1]]}}}]},
    "a class without a state": lambda c: c | {"objects": [{"class": "Grain"}]},
}


@pytest.mark.usefixtures("no_imports")
@pytest.mark.parametrize("name", CRAFTED)
def test_parts_that_do_not_fit_are_refused(tmp_path, forest_file, name):
    content, tail = parts_of(forest_file)
    with pytest.raises(ValueError, match=r"odd cannot be read: .*Copy it again"):
        cf.load(write(tmp_path / "odd", CRAFTED[name](content), tail))


def test_deep_json_is_refused(tmp_path):
    text = b"[" * 100_000 + b"]" * 100_000
    text += b" " * (-(HEADER.size + len(text)) % 64)
    (tmp_path / "deep").write_bytes(HEADER.pack(MAGIC, 1, zlib.crc32(text), len(text)) + text)
    with pytest.raises(ValueError, match=r"deep cannot be read: .*Copy it again"):
        cf.load(tmp_path / "deep")


def test_an_unknown_kind_of_value_is_refused(tmp_path, forest_file):
    content, tail = parts_of(forest_file)
    content["objects"][0]["state"]["more"] = {"code": "1 + 1"}
    with pytest.raises(ValueError, match=r"odd cannot be read: it has a value of the kind 'code'.*Update"):
        cf.load(write(tmp_path / "odd", content, tail))


def with_trees(**parts):
    """A forest whose trees have other arrays."""
    model = fresh_forest()
    known = model.trees_.__getstate__()
    object.__setattr__(model, "trees_", type(model.trees_)(**{**known, **parts}))
    return model


def test_nodes_that_point_outside_of_their_tree_are_refused(tmp_path):
    """Each target of each node, one beyond what is allowed: the kernels would read other memory."""
    trees = fresh_forest().trees_
    low = trees.nodes & np.uint64(2**32 - 1)
    is_leaf = (low >> np.uint64(9)) == 2**23 - 1
    end = trees.offsets[np.searchsorted(trees.offsets, np.arange(len(low)), "right")]
    begin = trees.offsets[np.searchsorted(trees.offsets, np.arange(len(low)), "right") - 1]
    trees.check()
    for k in range(len(low)):
        own = k - begin[k]
        wrong = [len(trees.values)] if is_leaf[k] else [0, own, own + 1, end[k] - begin[k], 2**32 - 1]
        for target in wrong:
            nodes = trees.nodes.copy()
            nodes[k] = low[k] | np.uint64(int(target) << 32)
            with pytest.raises(ValueError, match="points outside of its tree"):
                type(trees)(nodes, trees.offsets, trees.values, trees.n_classes).check()
    split = int(np.flatnonzero(~is_leaf)[0])
    nodes = trees.nodes.copy()
    nodes[split] |= np.uint64(255)  # a set, of which there is none
    cf.save(with_trees(nodes=nodes), tmp_path / "odd")
    with pytest.raises(ValueError, match=r"odd cannot be read: a node of its trees points outside of its sets\. Copy"):
        cf.load(tmp_path / "odd")


@pytest.mark.parametrize("at_once", [1, 2, 7, 10**6])
def test_trees_are_checked_in_any_blocks(monkeypatch, at_once):
    trees = [model_of("random_forest").trees_, model_of("random_forest_regressor").trees_, fresh_forest().trees_]
    monkeypatch.setattr("cascadeforest.forest.trees._NODES_AT_ONCE", at_once)
    assert trees[0].set_offsets is not None
    for one in trees:
        one.check()
        nodes = one.nodes.copy()
        nodes[-1] = np.uint64(2**64 - 1)  # a leaf with a value row that is not there
        with pytest.raises(ValueError, match="points outside of its tree"):
            type(one)(**{**one.__getstate__(), "nodes": nodes}).check()


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"offsets": np.array([0, 5])}, "divide their nodes"),
        ({"values": np.zeros((9, 2), np.float32)}, "values of another shape"),
        ({"set_offsets": np.array([0, 0, 4])}, "divide their sets"),
        ({"set_offsets": np.array([0, 1, 0])}, "sets of its trees have another shape"),
        ({"sets": np.zeros((0, 4), np.uint64)}, "sets of its trees have another shape"),
    ],
)
def test_trees_whose_arrays_do_not_fit_are_refused(tmp_path, parts, fault):
    cf.save(with_trees(**parts), tmp_path / "odd")
    with pytest.raises(ValueError, match=f"odd cannot be read: .*{fault}"):
        cf.load(tmp_path / "odd")


@pytest.mark.parametrize("offsets", [[0, 9, 3, 4, 5, 6], [0, 0, 0, 0, 0, 10**6], [1, 1, 1, 1, 1, 1]])
def test_bins_that_point_outside_of_their_edges_are_refused(tmp_path, offsets):
    model = fresh_forest()
    model.bin_mapper_.offsets_ = np.array(offsets)
    cf.save(model, tmp_path / "odd")
    with pytest.raises(ValueError, match=r"odd cannot be read: the offsets of its bins do not divide their edges"):
        cf.load(tmp_path / "odd")
    model.bin_mapper_.edges_, model.bin_mapper_.offsets_ = np.arange(300.0), np.array([0, 300])
    cf.save(model, tmp_path / "odd")
    with pytest.raises(ValueError, match=r"odd cannot be read: a feature has 300 edges of bins, more than 254"):
        cf.load(tmp_path / "odd")


# -- refused on saving --


def refused(tmp_path, model, message, error=TypeError):
    with pytest.raises(error, match=message):
        cf.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    refused(tmp_path, cf.RandomForestClassifier(), "not fitted yet", NotFittedError)
    refused(tmp_path, cf.HardExampleClassifier(cf.RandomForestClassifier()), "not fitted yet", NotFittedError)


class Mine(cf.RandomForestClassifier):
    pass


@pytest.mark.parametrize(
    "model",
    [
        Mine(2).fit(make.X, make.CLASSES),
        LogisticRegression(),
        make_pipeline(StandardScaler(), fresh_forest()),
        {"model": 1},
        cf.RandomForestClassifier,
    ],
    ids=["subclass", "scikit-learn", "pipeline", "dict", "class"],
)
def test_another_class_of_model_is_refused(tmp_path, model):
    refused(tmp_path, model, r"model is a \w+ of .*; save takes CascadeForestRegressor, .*pickle or joblib")


SMALL = {"n_estimators": 2, "n_forests": 2, "n_folds": 2, "max_layers": 2}


@pytest.mark.parametrize(
    ("model", "parameter", "value"),
    [
        (cf.GCForestClassifier(**SMALL, scoring=make_scorer(accuracy_score)), "scoring", None),
        (cf.MDDFClassifier(**SMALL, **make.FIXED, scoring=make_scorer(accuracy_score)), "scoring", None),
        (cf.GCForestClassifier(**SMALL, random_state=np.random.RandomState(0)), "random_state", None),
        (cf.RandomForestClassifier(20, oob_score=accuracy_score), "oob_score", False),
        (cf.RandomForestClassifier(2, random_state=np.random.RandomState(0)), "random_state", None),
    ],
    ids=lambda part: type(part).__name__ if hasattr(part, "fit") else None,
)
def test_a_parameter_that_is_no_text_is_refused_with_what_helps(tmp_path, model, parameter, value):
    model.fit(make.X, make.CLASSES)
    refused(
        tmp_path,
        model,
        rf"model\.{parameter} is .*; files hold numbers, text and objects of cascadeforest only\. A fitted model does "
        rf"not need it: call model\.set_params\({parameter}={value}\) before\.",
    )
    cf.save(model.set_params(**{parameter: value}), tmp_path / "model")
    assert same(make.output(cf.load(tmp_path / "model")), make.output(model))


def test_estimators_of_other_packages_are_refused(tmp_path):
    other = "Fit without it, or keep the model with pickle or joblib"
    X = np.nan_to_num(make.X)
    model = cf.GCForestClassifier(**SMALL, estimators=["extra_trees", LogisticRegression(max_iter=9999)])
    refused(tmp_path, model.fit(X, make.CLASSES), rf"model\.estimators\[1\] is Logistic.*{other}")
    model = cf.CascadeForestRegressor(**SMALL, estimators=["extra_trees", LinearRegression()])
    refused(tmp_path, model.fit(X, make.TARGET), rf"model\.estimators\[1\] is Linear.*{other}")
    model = cf.HardExampleClassifier(LogisticRegression(max_iter=9999), n_estimators=4)
    refused(tmp_path, model.fit(X, make.CLASSES), rf"model\.learner is Logistic.*{other}")


@pytest.mark.parametrize("value", [lambda: 1, object, np.array([(1, 2)], "i4,i4"), {1, 2}, pd.Timestamp(0), b"a", 1j])
def test_a_value_that_files_do_not_hold_is_named(tmp_path, value):
    model = fresh_forest()
    model.more = [0, {"key": value}]
    refused(tmp_path, model, r"model\.more\[1\]\['key'\] is .*pickle or joblib")


# -- writing --


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "model"
    cf.save(fresh_forest(), file)
    before = file.read_bytes()

    def fail(array):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "_bytes_of", fail)
    with pytest.raises(OSError, match="No space left"):
        cf.save(model_of("gcforest"), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_saving_does_not_change_a_model(folder):
    model = fresh_forest()
    before = pickle.dumps(model)
    cf.save(model, folder / "unchanged.model")
    assert pickle.dumps(model) == before
    assert model._learned_rows.rows is not None


def test_the_header_is_as_documented(forest_file):
    data = forest_file.read_bytes()
    magic, version, crc, length = struct.unpack("<16sIIQ", data[:32])
    assert (magic, version) == (b"\x93cascadeforest\r\n", 1)
    assert (32 + length) % 64 == len(data) % 64 == 0
    assert zlib.crc32(data[32 : 32 + length]) == crc
    content = json.loads(data[32 : 32 + length])
    assert list(content) == ["library", "arrays", "objects"]
    begin = 32 + length
    for one in content["arrays"]:
        size = np.dtype(one["dtype"]).itemsize * math.prod(one["shape"])
        size += -size % 64
        assert zlib.crc32(data[begin : begin + size]) == one["crc32"]
        begin += size
    assert begin == len(data)


# -- files that are kept --

GOLDEN = sorted(make.FOLDER.glob("*/*.model"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parent.name}-{file.stem}")
@pytest.mark.parametrize("mmap", [False, True])
def test_a_kept_file_is_read_for_ever(file, mmap):
    with np.load(file.parent / make.EXPECTED) as expected:
        assert same(make.output(cf.load(file, mmap=mmap)), expected[file.stem])


def test_there_are_kept_files_of_every_version_and_model():
    assert {file.stem for file in GOLDEN if file.parent.name == str(saving.VERSION)} == set(make.MODELS)
    assert {int(file.parent.name) for file in GOLDEN} == set(range(1, saving.VERSION + 1))
    assert sum(file.stat().st_size for file in make.FOLDER.glob("[0-9]*/*")) < 600_000 * saving.VERSION


def test_kept_files_have_every_class_and_every_parameter():
    """A new option needs a file with it (`make.MODELS`). Training rows and the place of layers are not kept."""
    files = [parts_of(file)[0]["objects"] for file in GOLDEN if file.parent.name == str(saving.VERSION)]
    kept = {}
    for one in (one for objects in files for one in objects):
        kept.setdefault(one["class"], set()).update(one["state"])
    assert set(saving._HOMES) - set(kept) == {"Rows"}
    for name in set(saving._MODELS) - {"Explainer"}:
        assert set(inspect.signature(getattr(cf, name)).parameters) - kept[name] <= {"layers_dir"}, name


@pytest.mark.parametrize(
    ("file", "later"),
    [
        ("ddbf", {"vote": "trees"}),
        ("hard_examples", {"rows": "hard"}),
        ("mddf", {"reweighting": True, "average_vectors": False}),
    ],
)
def test_files_of_the_first_version_have_the_defaults_of_later_parameters(file, later):
    old = cf.load(make.FOLDER / "1" / f"{file}.model")
    assert not set(later) & set(vars(old))
    assert {name: old.get_params()[name] for name in later} == later
    assert old.predict_proba(make.new_rows(old)).shape[1] == len(old.classes_)


def test_a_file_without_later_parameters_has_their_defaults():
    """Version 0.1.0 had no `screening`."""
    old = cf.load(make.FOLDER / "1" / "screening.model")
    assert "screening" not in vars(old)
    assert old.get_params()["screening"] == "threshold"
    rows = make.new_rows(old)
    explained = cf.Explainer(old, make.FRAME, make.NAMES).explain(rows)
    predicted = explained.bias + explained.contributions.sum(axis=1)
    np.testing.assert_allclose(predicted, old.predict_proba(rows), rtol=0, atol=1e-12)


def test_kept_files_are_never_written_again(tmp_path, monkeypatch):
    shutil.copytree(make.FOLDER / str(saving.VERSION), tmp_path / str(saving.VERSION))
    before = {file: file.read_bytes() for file in tmp_path.glob("*/*.model")}
    gone = tmp_path / str(saving.VERSION) / "random_forest.model"
    gone.unlink()
    for file in set(before) - {gone}:
        file.write_bytes(b"kept")
    monkeypatch.setattr(make, "FOLDER", tmp_path)
    make.main()
    assert cf.load(gone).n_classes_ == 3
    assert {file.read_bytes() for file in set(before) - {gone}} == {b"kept"}
