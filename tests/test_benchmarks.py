"""The benchmark scripts: they run, write what their README promises, and say what is missing. No times asserted."""

import ast
import csv
import importlib
import json
import logging
import pickle
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from cascadeforest.data.dataset import build_dataset, load, save
from cascadeforest.experiments import measure

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "forest.py"
#: Models that `screening.py` compares.
SCREENING = ["gcForest", "gcForest_CS", "bins", "weights"]
TINY = ["--cases", "rf-2000x10x2", "--max-rows", "200", "--n-jobs", "1", "--repeats", "1"]


@pytest.fixture
def forest(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("forest")
    forget_scripts()


@pytest.fixture
def cascade(monkeypatch):
    """The script that compares cascades, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("cascade")
    forget_scripts()


def forget_scripts():
    for name in (path.stem for path in SCRIPT.parent.glob("*.py")):
        sys.modules.pop(name, None)


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_tiny_run_measures_each_library_and_resumes(forest, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))  # its processes load the package of this checkout
    table = tmp_path / "forest.csv"
    arguments = [*TINY, "--libraries", "ours", "sklearn", "--csv", str(table), "--markdown"]
    assert forest.main(arguments) == 0
    printed = capsys.readouterr()
    rows = read(table)
    assert [(row["case"], row["library"], row["n_jobs"]) for row in rows] == [
        ("rf-200x10x2", library, "1") for library in ("ours", "sklearn")
    ]
    for row in rows:
        for column in ("fit_cpu_seconds", "predict_cpu_seconds", "fit_wall_seconds", "model_mib"):
            assert float(row[column]) > 0, column
        assert float(row["fit_peak_mib"]) >= 0
        assert float(row["predict_peak_mib"]) >= 0
        assert float(row["score"]) > 0.6  # a constant guess has 0.5
        assert int(row["n_nodes"]) > 3 * 100  # a hundred trees that split
        assert (row["n_estimators"], row["rows"], row["note"]) == ("100", "200", "")
    for heading in ("fit, CPU s", "predict, CPU s", "pickled size, MiB", "peak memory of fit, MiB", "nodes"):
        assert printed.out.count(f"| {heading} ") == 1
    assert "sklearn / ours" in printed.out
    assert len(printed.err.splitlines()) == 2

    before = table.read_bytes()
    assert forest.main([*arguments, "--resume"]) == 0
    again = capsys.readouterr()
    assert again.err == "", "nothing is left to measure"
    assert table.read_bytes() == before
    assert again.out.count("| fit, CPU s ") == 1

    with pytest.raises(SystemExit):  # never overwrites hours of measurements
        forest.main(arguments)
    assert "--resume" in capsys.readouterr().err


def test_a_measurement_of_regression_is_scored_by_its_share_of_the_variance(forest, tmp_path):
    """What a process of the run above does, in this one."""
    cases = importlib.import_module("forest_cases")
    case = next(case for case in forest.CASES if case.name == "rf-2000x10")
    X, y = cases.MAKERS[case.data](400, case, np.random.default_rng(0))
    np.savez(tmp_path / "data.npz", X=X[:200], y=y[:200], X_test=X[200:], y_test=y[200:])
    for library in ("ours", "sklearn"):
        row = forest.measure_cell(case, library, 1, tmp_path / "data.npz")
        assert 0.3 < row["score"] < 1  # a constant guess has 0
        assert row["n_nodes"] > 3 * 100


def test_the_command_lists_its_cases(forest, capsys):
    assert forest.main(["--list"]) == 0
    assert "rf-2000x10x2 " in capsys.readouterr().out


def test_an_unknown_case_is_named_with_the_known_ones(forest):
    with pytest.raises(SystemExit, match=r"rf-1x1; choose from .*rf-2000x10x2"):
        forest.main(["--cases", "rf-1x1"])


def test_the_grid_covers_what_is_asked_for(forest):
    random_forests = [case for case in forest.CASES if case.kind == "RandomForest"]
    assert len({case.name for case in forest.CASES}) == len(forest.CASES)
    assert {2_000, 500_000} <= {case.rows for case in random_forests if case.classes}
    assert {2_000, 500_000} <= {case.rows for case in random_forests if not case.classes}
    assert {10, 800} <= {case.features for case in random_forests}
    assert {0, 2, 26} <= {case.classes for case in random_forests}
    assert {case.kind for case in forest.CASES} == {"RandomForest", "ExtraTrees", "CompletelyRandomForest"}
    assert {case.kind for case in forest.CASES if case.quick} == {case.kind for case in forest.CASES}
    assert all(case.n_estimators >= 100 for case in forest.CASES if case.rows <= 100_000)
    for words, *_ in forest.AIMS:
        assert any(map(forest.MEANT[words], forest.CASES)), words


def test_data_have_the_shapes_that_their_names_promise(forest):
    cases = importlib.import_module("forest_cases")
    for case in {case.data + str(case.classes > 0): case for case in forest.CASES}.values():
        X, y = cases.MAKERS[case.data](2_000, case, np.random.default_rng(0))
        again = cases.MAKERS[case.data](2_000, case, np.random.default_rng(0))
        np.testing.assert_array_equal(X, again[0])
        assert X.shape == (2_000, case.features)
        if case.classes:
            np.testing.assert_array_equal(np.unique(y), np.arange(case.classes))
        binary = np.isin(X, [0, 1]).all(axis=0)
        levels = max(len(np.unique(column)) for column in X.T)
        if case.data == "adult-like":
            assert binary.sum() == 96
            np.testing.assert_array_equal(X[:, binary].sum(axis=1), 8)
        elif case.data == "covertype-like":
            assert binary.sum() == 44
            np.testing.assert_array_equal(X[:, binary].sum(axis=1), 2)
        elif case.data == "letter-like":
            assert levels == 16
        else:
            assert levels == 2_000


def test_a_library_that_is_absent_or_fails_is_named_in_the_table(forest, monkeypatch):
    monkeypatch.setattr(forest, "installed", lambda library: library != "intelex")
    row = {"fit_cpu_seconds": 2.0, "model_mib": 0.5, "note": ""}
    rows = {"ours": row, "sklearn": {"note": "failed: MemoryError"}, "ydf": {"note": "stopped: longer than 9 s"}}
    table = forest.case_table(forest.CASES[0], 1, rows, ["ours", "sklearn", "intelex", "ydf"], markdown=True)
    cells = [
        cell.strip() for cell in next(line for line in table.splitlines() if "fit, CPU s" in line).split("|")[1:-1]
    ]
    assert cells == ["fit, CPU s", "2.00", "failed", "not installed", "stopped", "–", "–", "–"]
    assert "sklearn: failed: MemoryError" in table
    assert "ydf: stopped: longer than 9 s" in table


def test_a_measurement_that_takes_too_long_is_stopped_and_not_repeated(forest, monkeypatch):
    monkeypatch.setattr(forest, "save_data", lambda case, path: None)
    run, commands = forest.run_measurement, []

    def slow(command, environment, limit):
        commands.append(command)
        return run([sys.executable, "-c", "import time; time.sleep(60)"], environment, limit)

    monkeypatch.setattr(forest, "run_measurement", slow)
    found = forest.measure_group(forest.CASES[0], 1, ["ydf"], repeats=3, limit=0.1)
    assert (found["ydf"]["note"], len(commands)) == ("stopped: longer than 0.1 s", 1)


def test_aims_count_the_cases_that_reach_them(forest):
    """Two random forests, of which one has too few rows, and two of extra trees."""
    wanted = {"rf-20000x20x2": 9.0, "rf-2000x10x2": 1.0, "et-20000x20x2": 5.0, "et-20000x50": 3.0}
    groups = []
    for case in forest.CASES:
        if case.name in wanted:
            rows = {"ours": {"fit_cpu_seconds": "1", "fit_peak_mib": "10"}}
            rows["sklearn"] = {"fit_cpu_seconds": str(wanted[case.name]), "fit_peak_mib": "25"}
            groups.append((case, 1, rows))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in forest.aims_table(groups, True).splitlines()]
    assert [line[1:] for line in lines[2:]] == [
        ["1 of 1", "9.00", "yes"],
        ["1 of 1", "9.00", "yes"],
        ["1 of 2", "3.00", "no"],
        ["1 of 2", "3.00", "yes"],
        ["4 of 4", "2.50", "yes"],
    ]


class StandInForYDF:
    """What `peers.py` needs of YDF: it predicts the shares of all rows, whatever the row."""

    def __init__(self, **parameters):
        self.parameters = parameters

    def train(self, data):
        self.y = data["y"]
        return self

    def predict(self, data):
        n = len(data["X"])
        if self.parameters["task"] == "regression":
            return np.full(n, self.y.mean())
        shares = np.bincount(self.y) / len(self.y)
        return np.full(n, shares[1]) if len(shares) == 2 else np.tile(shares, (n, 1))

    def label_classes(self):
        return [str(k) for k in np.unique(self.y)]

    def num_nodes(self):
        return 7

    def serialize(self):
        return b"trees"


class StandInForLightGBM:
    """What `peers.py` needs of LightGBM."""

    def __init__(self, **parameters):
        self.parameters, self.booster_ = parameters, self

    def model_to_string(self):
        return "tree\nTree=0\nnum_leaves=3\nsplit_feature=1 0\nTree=1\nnum_leaves=1\n"


def test_peers_get_the_same_trees_to_grow_and_answer_alike(forest, monkeypatch):
    """Stand-ins for libraries that need not be installed; that the real ones take this is seen in a run."""
    task = types.SimpleNamespace(CLASSIFICATION="classification", REGRESSION="regression")
    ydf = types.SimpleNamespace(Task=task, RandomForestLearner=StandInForYDF, verbose=lambda level: None)
    lightgbm = types.SimpleNamespace(LGBMClassifier=StandInForLightGBM, LGBMRegressor=StandInForLightGBM)
    monkeypatch.setitem(sys.modules, "ydf", ydf)
    monkeypatch.setitem(sys.modules, "lightgbm", lightgbm)
    X = np.zeros((10, 20), np.float32)
    binary, three = np.repeat([0, 1], [4, 6]), np.repeat([0, 1, 2], [2, 5, 3])
    cases = {case.name: case for case in forest.CASES}
    for name, y, looked_at, answer in (
        ("rf-20000x20x2", binary, 4, 1),
        ("rf-20000x20x2", three, 4, 1),
        ("rf-20000x20", three * 1.0, 20, 1.1),
    ):
        model = forest.build(cases[name], "ydf", 1, 100).fit(X, y)
        asked = model.model_.parameters
        assert (asked["num_trees"], asked["num_candidate_attributes"], asked["num_threads"]) == (100, looked_at, 1)
        assert (asked["winner_take_all"], asked["max_depth"], asked["min_examples"]) == (False, -1, 1)
        np.testing.assert_allclose(model.predict(X), answer)
        assert forest.count_nodes(model) == 7
        assert b"trees" in pickle.dumps(model)
        model = forest.build(cases[name], "lightgbm", 1, 100)
        asked = model.parameters
        assert (asked["boosting_type"], asked["n_estimators"], asked["num_leaves"]) == ("rf", 100, 20_000)
        assert asked["feature_fraction_bynode"] * 20 == pytest.approx(looked_at)
        assert forest.count_nodes(model) == 5 + 1
    third = cases["rf-500000x20"]
    assert forest.peers.candidates(third.features, third.max_features, third.classes) == 6


def test_growth_is_told_by_row_and_tree(forest, capsys, monkeypatch):
    """A cost of n log n and 2 bytes a row and feature beside the trees."""
    growth = importlib.import_module("growth")

    def measured(case, n_jobs, libraries, repeats):
        seconds = 1e-7 * case.n_estimators * case.rows * np.log(case.rows)
        memory = {"fit_peak_mib": (2 * 28 + 50) * case.rows / 2**20, "model_mib": 50 * case.rows / 2**20}
        return {"ours": {"fit_cpu_seconds": seconds, "fit_wall_seconds": seconds / n_jobs, "note": "", **memory}}

    monkeypatch.setattr(growth, "measure_group", measured)
    growth.main(["--rows", "10000", "100", "--trees", "3"])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[4:]]
    assert [line[0] for line in lines] == ["100", "10,000", "11,000,000, extrapolated"]
    assert [line[3] for line in lines] == ["1.00", "2.00", f"{np.log(11e6) / np.log(100):.2f}"]
    assert {line[6] for line in lines} == {"2.00"}
    assert {line[10] for line in lines} == {"2.00"}


def test_codings_of_categories_are_compared_on_the_same_rows(forest, tmp_path, monkeypatch, capsys):
    """Files in the form of Adult and Bank, in which one column says everything."""
    categories = importlib.import_module("categories")
    rng = np.random.default_rng(0)
    n, columns = 400, len(categories.ADULT_COLUMNS)
    job = rng.choice(["clerk", "cook", "pilot", "?"], n)
    table = rng.integers(0, 9, (n, columns)).astype(object)
    table[:, 1], table[:, -1] = job, np.where(np.isin(job, ["clerk", "pilot"]), ">50K", "<=50K")
    lines = [", ".join(map(str, row)) for row in table]
    (tmp_path / "adult.data").write_text("\n".join(lines[:200]) + "\n")
    (tmp_path / "adult.test").write_text("|banner\n" + "".join(f"{line}.\n" for line in lines[200:]))
    bank = "job;age;duration;y\n" + "".join(f"{row[1]};{row[2]};{row[-1]};{row[-1]}\n" for row in table)
    with zipfile.ZipFile(tmp_path / "bank-additional.zip", "w") as archive:
        archive.writestr("bank-additional-full.csv", bank)
    files = {path.name: path for path in tmp_path.iterdir()}
    monkeypatch.setattr(categories, "fetched_files", lambda dataset, raw: ({}, files))
    X, y = categories.adult(files)
    assert (X.shape, sorted(set(y))) == ((n, columns - 1), ["<=50K", ">50K"])
    assert [categories.coded(X, coding).shape[1] for coding in categories.CODINGS] == [
        columns - 1,
        columns + 2,
        columns - 1,
    ]
    assert categories.bank(files)[0].columns.tolist() == ["job", "age"]
    categories.main(["--seeds", "2", "--models", "random forest"])
    body = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[4:]]
    assert [(line[0].split(",")[0], line[1]) for line in body] == [
        (name, coding) for name in ("adult", "bank") for coding in categories.CODINGS
    ]
    assert all(float(line[2].split(" ")[0]) > 80 for line in body)  # the larger class has about half of the rows
    assert all(float(line[7].replace(",", "")) > 3 * 200 for line in body)
    assert [line[3:5] == ["", ""] for line in body] == [True, False, False] * 2
    assert categories.interval(np.array([1.0, 2.0, 3.0])).startswith("+2.00 ± ")


def test_growth_and_first_use_run(forest, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    importlib.import_module("growth").main(["--rows", "300", "--trees", "2", "--repeats", "1"])
    assert "| 11,000,000, extrapolated |" in capsys.readouterr().out
    importlib.import_module("first_use").main(["--repeats", "1"])
    lines = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[4:]]
    assert [line[0].split(",")[0].strip() for line in lines] == ["scikit-learn", "ours", "ours"]
    assert all(float(line[1]) > 0 for line in lines)
    assert float(lines[0][4]) == 0


def test_growth_of_costs_is_a_table_by_rows_and_one_by_trees(forest, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    sizes = ["--rows", "300", "600", "--trees", "2", "4", "--models", "random_forest", "--repeats", "1"]
    importlib.import_module("cost_growth").main(sizes)
    heads = [line for line in capsys.readouterr().out.splitlines() if "exponent of CPU time" in line]
    assert [head.split("|")[1].strip() for head in heads] == ["rows (4 trees a forest)", "trees a forest (600 rows)"]


def test_scaling_compares_the_bytes_of_all_ways(forest, capsys, monkeypatch):
    scaling = importlib.import_module("scaling")
    cells = []

    def here(command, environment):
        cells.append(json.loads(command[-1]))
        row = scaling.measure_cell(**cells[-1])
        return row | ({"bytes": "others"} if cells[-1]["rows"] == 400 and cells[-1]["way"] == "disk" else {})

    monkeypatch.setattr(scaling, "run_measurement", here)
    scaling.main(["--rows", "300", "--trees", "2", "--repeats", "2"])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[4:]]
    assert [line[0] for line in lines] == ["300, memory", "300, disk"]
    assert [cell["way"] for cell in cells] == ["memory", "disk"] * 2
    assert lines[0][-2:] == lines[1][-2:]  # layers and accuracy
    with pytest.raises(SystemExit, match="400 rows: the saved models differ"):
        scaling.main(["--rows", "400", "--trees", "2"])


def test_ratios_are_the_others_cost_over_ours(forest):
    rows = {"ours": {"fit_cpu_seconds": "0.5"}, "intelex": {"fit_cpu_seconds": 1.0}}
    assert forest.ratio(rows, "intelex", "fit_cpu_seconds") == "2.00"
    assert forest.ratio(rows, "sklearn", "fit_cpu_seconds") == "–"


def test_of_repeats_the_least_time_and_the_largest_memory_count(forest):
    row = dict.fromkeys([column for column, _, _ in [*forest.COSTS, *forest.WALL]], 2.0)
    merged = forest.best([row, row | {"fit_cpu_seconds": 1.0, "fit_peak_mib": 3.0, "predict_peak_mib": 1.0}])
    assert (merged["fit_cpu_seconds"], merged["predict_cpu_seconds"]) == (1.0, 2.0)
    assert (merged["fit_peak_mib"], merged["predict_peak_mib"]) == (3.0, 2.0)
    assert forest.best([row, {"note": "failed: killed"}]) == {"note": "failed: killed"}


def test_calls_left_to_scikit_learn_are_recorded(forest):
    """The wording is that of scikit-learn-intelex 2026.2, whose log is the only place that says so."""
    log = logging.getLogger("sklearnex")
    record = forest.FallbackRecord()
    try:
        log.info("sklearn.ensemble.RandomForestClassifier.fit: fallback to original Scikit-learn")
        log.info("sklearn.ensemble.RandomForestClassifier.predict: running accelerated version on CPU")
    finally:
        log.handlers, log.level = [], logging.NOTSET
    assert record.calls == ["fit"]


def test_n_jobs_of_all_cores_leaves_open_mp_all_cores(forest, monkeypatch):
    """With OMP_NUM_THREADS=1 scikit-learn-intelex would take n_jobs=-1 for one thread."""
    seen = {}

    def child(command, env, **_):
        seen[json.loads(command[-1])["n_jobs"]] = env["OMP_NUM_THREADS"]
        return subprocess.CompletedProcess(command, 0, stdout="{}\n", stderr="")

    monkeypatch.setattr(forest, "cores", lambda: 8)
    monkeypatch.setattr(subprocess, "run", child)
    for n_jobs in (1, 3, -1):
        forest.run_cell(forest.CASES[0], "intelex", n_jobs, Path("data.npz"))
    assert seen == {1: "1", 3: "3", -1: "8"}


# Cascades.

#: What the script needs of DF21, with a tree of one node and a split: it predicts the commonest class.
STAND_IN = """
import numpy as np


class Part:
    pass


class CascadeForestClassifier:
    def __init__(self, **parameters):
        assert parameters.pop("n_bins") == 255 and parameters.pop("backend") == "custom"
        assert parameters.pop("n_jobs") == 1
        self.parameters, self.layers_, self.n_layers_ = parameters, {}, 0

    def fit(self, X, y):
        assert X.dtype == np.float32 and X.flags.c_contiguous and y.dtype == np.int64
        # None of its layers is better than the first one: the worst case for how many are kept.
        while self.n_layers_ < self.parameters["max_layers"]:
            if self.n_layers_ == self.parameters["n_tolerant_rounds"]:
                break
            layer, self.n_layers_ = Part(), self.n_layers_ + 1
            self.layers_[f"layer_{self.n_layers_ - 1}"], layer.estimators_ = layer, {}
            layer.val_performance_ = 0.5
            for i in range(2 * self.parameters["n_estimators"]):
                layer.estimators_[i], forest = Part(), Part()
                layer.estimators_[i].estimator_ = forest
                forest.features = [np.zeros(1)] * self.parameters["n_trees"]
                forest.values = [np.zeros((2, 2))] * self.parameters["n_trees"]
        self.answer = np.bincount(y).argmax()

    def predict(self, X):
        return np.full(len(X), self.answer)
"""


@pytest.fixture
def df21_python(tmp_path):
    """A Python that has a stand-in for DF21."""
    package = tmp_path / "site" / "deepforest"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN, encoding="utf-8")
    information = tmp_path / "site" / "deep_forest-0.1.7.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: deep-forest\nVersion: 0.1.7\n")
    command = tmp_path / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "site"}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return str(command)


def save_prepared(path):
    """Make a prepared data set."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 2
    dataset = build_dataset(
        name=path.stem,
        task="classification",
        X=X + 2 * y[:, None],
        y=y,
        feature_names="abcd",
        class_names=("no", "yes"),
        given_test=np.arange(300) >= 200,
        protocol={"kind": "given", "repeats": 1},
    )
    save(dataset, path)


@pytest.fixture
def prepared(tmp_path):
    """A folder with one prepared data set."""
    save_prepared(tmp_path / "letter.npz")
    return tmp_path


TINY_CASCADE = ["--trees", "3", "--layers", "3", "--repeats", "1", "--max-rows", "200"]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for DF21 is a shell script")
def test_a_tiny_run_measures_cascades_and_df21_on_equal_terms(
    cascade, df21_python, prepared, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    table = tmp_path / "cascade.csv"
    cases = ["--cases", "letter", "covertype"]
    arguments = [*TINY_CASCADE, *cases, "--data", str(prepared), "--csv", str(table), "--markdown"]
    models = ["--models", "gcforest-oob", "cs", "df21"]
    assert cascade.main([*arguments, *models, "--df21-python", df21_python]) == 0
    printed = capsys.readouterr()
    rows = read(table)
    assert [row["model"] for row in rows] == ["gcforest-oob", "cs", "df21"]
    for row in rows:
        assert [row[fact] for fact in ("case", "rows", "features", "classes")] == ["letter", "200", "4", "2"]
        assert row["repeats"] == "1"
        assert float(row["fit_peak_mib"]) >= 0
        if row["model"] != "df21":
            assert float(row["fit_cpu_seconds"]) > 0
            assert float(row["accuracy"]) > 0.8  # a constant guess has 0.5
        if row["model"] != "cs":  # screening may end before, and its levels grow
            assert (row["layers"], row["n_trees"]) == ("3", "36")  # 4 forests of 3 trees in each layer
            assert len(row["validation"].split()) == 3
    assert {row["n_nodes"] for row in rows if row["model"] == "df21"} == {"108"}  # a split and two leaves each
    assert {row["version"] for row in rows if row["model"] == "df21"} == {"0.1.7"}
    assert all("rows at the levels: 200" in row["note"] for row in rows if row["model"] == "cs")
    assert "df21 / gcforest-oob" in printed.out
    assert "prepare --dataset covertype_subset" in printed.out
    assert len(printed.err.splitlines()) == 3

    before = table.read_bytes()
    assert cascade.main([*arguments, *models, "--resume"]) == 0
    again = capsys.readouterr()
    assert again.err == "", "nothing is left to measure"
    assert table.read_bytes() == before
    with pytest.raises(SystemExit):
        cascade.main(arguments)
    assert "--resume" in capsys.readouterr().err


def test_the_made_case_is_there_without_any_folder(cascade, tmp_path):
    """15,000 rows, 50 features, 5 classes, single precision."""
    cases = importlib.import_module("cascade_cases")
    made = cascade.CASES[0]
    assert made.missing(None) == ""
    assert cases.save_arrays(made, None, tmp_path) == {"rows": 15_000, "features": 50, "classes": 5}
    X, y, X_test, y_test = cases.load_arrays(tmp_path)
    assert (X.shape, y.shape, X_test.shape, y_test.shape) == ((15_000, 50), (15_000,), (10_000, 50), (10_000,))
    assert (X.dtype, X.flags.c_contiguous) == (np.float32, True)


def test_a_python_without_df21_is_refused_before_anything_is_measured(cascade, tmp_path):
    with pytest.raises(SystemExit, match=r"nowhere.*cannot be run"):
        cascade.main(["--df21-python", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match=r"DF21 cannot be imported.*README"):
        cascade.main(["--df21-python", sys.executable])


def test_without_df21_its_line_says_how_to_get_it(cascade):
    table = cascade.case_table(cascade.CASES[0], {}, ["gcforest", "df21"], "", markdown=False)
    assert "df21: not measured; give --df21-python PATH" in table


@pytest.mark.parametrize(("trees", "layers"), [(100, 3), (3, 1), (7, 4)])
def test_models_have_the_trees_that_the_list_promises(cascade, trees, layers):
    """The number that a fit grows follows from the parameters; that all layers are kept is seen in the tiny run."""
    for model in cascade.MODELS.values():
        if model.name == "df21":
            assert model.n_trees(trees, layers) == 4 * trees * layers
            continue
        parameters = cascade.build(model, trees, layers).get_params()
        folds = 1 if parameters["class_vectors"] == "oob" else parameters["n_folds"]
        grown = parameters["n_forests"] * parameters["n_estimators"] * folds * parameters["max_layers"]
        assert grown == model.n_trees(trees, layers)
        assert abs(grown - 4 * trees * layers) <= 3 * layers  # rounding of trees a forest: 2 forests of 3 folds
        assert parameters["n_jobs"] == 1


def test_every_layer_outscores_the_one_before(cascade):
    class Guess:
        def __init__(self, answer):
            self.answer = answer

        def predict(self, X):
            return np.full(4, self.answer)

    scorer = importlib.import_module("cascade_cases").EveryLayer()
    y = np.zeros(4, np.int64)
    scores = [scorer(Guess(answer), None, y) for answer in (0, 1, 1, 0)]
    assert np.all(np.diff(scores) > 0)
    assert scorer.accuracies == [1.0, 0.0, 0.0, 1.0]


@pytest.fixture
def defaults(monkeypatch):
    """The script that compares sizes of cascades, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("defaults")
    forget_scripts()


def test_sizes_are_measured_on_training_rows_only(defaults, prepared, tmp_path, monkeypatch, capsys):
    sizes = {"a fold more": defaults.sizes(2, 2, 4)}
    family = defaults.Family("GCForestClassifier", "classification", sizes, paper=defaults.sizes(2, 3))
    monkeypatch.setattr(defaults, "FAMILIES", {"gcforest": family})
    monkeypatch.setattr(defaults, "data_sets", lambda: {"classification": ["letter"]})
    table = tmp_path / "defaults.csv"
    arguments = ["--csv", str(table), "--data", str(prepared), "--families", "gcforest", "--max-rows", "90"]
    assert defaults.main(arguments) == 0
    rows = read(table)
    assert [(row["fold"], row["setting"]) for row in rows] == [
        (fold, setting) for fold in "012" for setting in ("paper", "a fold more")
    ]
    assert {row["rows"] for row in rows} == {"90"}
    assert all(float(row["accuracy"]) > 0.6 and float(row["fit_cpu_seconds"]) > 0 for row in rows)
    split = load(prepared / "letter.npz").split(0)
    X, _, classes = defaults.training_rows("letter", prepared, 90)
    assert classes == 2
    assert set(map(bytes, X)) <= set(map(bytes, split.X_train.astype(np.float32)))

    before = table.read_bytes()
    capsys.readouterr()
    assert defaults.main(arguments) == 0
    assert capsys.readouterr().err == "", "nothing is left to measure"
    assert table.read_bytes() == before


def made_rows(scores):
    """What the CSV would hold: setting to accuracies by data set, in points, and to CPU seconds."""
    columns = ("accuracy", "log_loss", "fit_cpu_seconds", "predict_cpu_seconds")
    return {
        ("gcforest", f"set {i}", "0", str(fold), setting): dict(
            zip(columns, map(str, (accuracy / 100 + (-1) ** fold / 10, 0.5, seconds, 1.0)), strict=True)
        )
        for setting, (accuracies, seconds) in scores.items()
        for i, accuracy in enumerate(accuracies)
        for fold in range(2)
    }


def test_the_cheapest_size_within_noise_of_the_papers_is_chosen(defaults):
    """The interval is Student's over data sets, whose folds count once; the second margins only without the first."""
    rows = made_rows(
        {
            "paper": ([70, 80, 90, 60], 10),
            "8×50×3": ([70.1, 79.9, 90.1, 60.1], 1),  # +0.05 ± 0.16
            "4×50×3": ([69.8, 79.5, 90.1, 60.2], 0.5),  # -0.1 ± 0.50
            "4×25×3": ([69, 79, 89, 59], 0.2),
        }
    )
    found = defaults.compare(rows, "gcforest", "4×50×3")
    differences = np.array([-0.2, -0.5, 0.1, 0.2])
    half = 3.182446305 * differences.std(ddof=1) / 2
    assert (found.accuracy, found.half_width) == (pytest.approx(-0.1), pytest.approx(half))
    assert (found.loss, found.fit, found.datasets) == (pytest.approx(1), pytest.approx(0.05), 4)
    assert defaults.choice(rows, "gcforest") == ("8×50×3", defaults.MARGINS[0])
    rows = {key: row for key, row in rows.items() if key[-1] != "8×50×3"}
    assert defaults.choice(rows, "gcforest") == (None, defaults.MARGINS[-1])
    rows = made_rows({"paper": ([70, 80, 90], 10), "4×50×3": ([69.7, 79.6, 89.7], 0.5)})  # -0.33 ± 0.14
    assert defaults.choice(rows, "gcforest") == ("4×50×3", defaults.MARGINS[1])


def test_the_sets_that_chose_the_defaults_are_named(defaults):
    from cascadeforest.data.registry import load_dataset_files

    files = load_dataset_files(ROOT / "config" / "datasets")
    for task, least in (("classification", 10), ("regression", 5)):
        names = defaults.data_sets()[task]
        assert len(names) >= least
        assert {files[name]["task"] for name in names} == {task}


def test_what_runs_beside_df21_is_python_3_9():
    """The files that `df21_cell.py` reads, parsed as that version would."""
    for path in (SCRIPT.with_name("df21_cell.py"), SCRIPT.with_name("measuring.py"), Path(measure.__file__)):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


@pytest.fixture
def layers(monkeypatch):
    """The script that compares kinds of layers, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("layers")
    for name in ("layers", "measuring"):
        sys.modules.pop(name, None)


def test_kinds_of_layers_are_compared_on_the_same_rows(layers, monkeypatch, capsys):
    """The first fit in a process of its own, as all are; the others in this one, where they take no second."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    cells, run = [], layers.run_measurement

    def measured(command, environment):
        cells.append(json.loads(command[command.index("--cell") + 1]))
        if len(cells) == 1:
            return run(command, environment)
        dataset, second, vectors, seed = cells[-1]
        return layers.measure_cell(dataset, None, second, vectors, seed, int(command[command.index("--trees") + 1]))

    monkeypatch.setattr(layers, "run_measurement", measured)
    assert layers.main(["--seeds", "1", "--trees", "3"]) == 0
    done = capsys.readouterr()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in done.out.splitlines() if "RF +" in line]
    kinds = [(second, vectors) for vectors in ("k_fold", "oob") for second in ("CRF", "ET")]
    assert cells == [["digits", *kind, 0] for kind in kinds]
    assert [row[1:3] for row in rows] == [[f"RF + {second}", vectors] for second, vectors in kinds]
    assert all(float(row[3].split()[0]) > 60 for row in rows)  # of ten digits
    monkeypatch.setattr(layers, "run_measurement", run)
    with pytest.raises(SystemExit, match="letter needs --data FOLDER"):
        layers.main(["--datasets", "letter"])


@pytest.fixture
def screening(monkeypatch):
    """The script that compares ways of screening, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("screening")
    forget_scripts()


def test_ways_of_screening_are_paired_by_split(screening, capsys, tmp_path, monkeypatch):
    for name in ("letter", "yeast"):
        save_prepared(tmp_path / f"{name}.npz")
    rows = screening.outcomes(tmp_path / "letter.npz", 2, 200, 2, 3)
    assert list(rows) == SCREENING
    assert all(len(own) == 2 and min(one.accuracy for one in own) > 80 for own in rows.values())
    found = {
        name: [screening.Outcome(80.0 + i * k, 1.0 + k, 50.0) for i in range(2)] for k, name in enumerate(SCREENING)
    }
    monkeypatch.setattr(screening, "outcomes", lambda *_: found)
    tiny = ["--data", str(tmp_path), "--seeds", "2"]
    assert screening.main([*tiny, "--datasets", "letter", "yeast"]) == 0
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    letter, ratios = (line for line in table if line and line[0] == "letter")
    assert letter[1:4] == ["80.00", "+0.50 ± 0.50", "+1.00 ± 1.00"]
    assert ratios[1:] == ["1.00", "2.00", "3.00", "4.00", "50", "50"]
    assert ["mean", "", "+0.50", "+1.00", "+1.50", "+0.50", "+1.00"] in table
    for wrong, message in (["--datasets", "adult"], "lacks prepared data sets: adult"), (["--seeds", "1"], "below 2"):
        with pytest.raises(SystemExit):
            screening.main([*tiny, *wrong])
        assert message in capsys.readouterr().err


@pytest.fixture
def released(monkeypatch):
    """The script that compares presets `official` with the released codes, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("released_codes")
    sys.modules.pop("released_codes", None)


@pytest.mark.parametrize(
    ("what", "dataset", "n_lines"),
    [("mddf", "adult_integer", 2), ("interactions", "letter", 2), ("satimage", "satimage", 2)],
)
def test_released_codes_stand_beside_ours(released, capsys, tmp_path, what, dataset, n_lines):
    save_prepared(tmp_path / f"{dataset}.npz")
    tiny = ["--data", str(tmp_path), "--datasets", "letter", "--seeds", "2", "--trees", "2", "--layers", "2"]
    assert released.main([what, *tiny]) == 0
    done = capsys.readouterr()
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.out.splitlines()[2:]][2:]
    numbers = {"mddf": released.MDDF, "interactions": released.INTERACTIONS["letter"], "satimage": released.SATIMAGE}
    assert len(lines) == n_lines
    by_seed = [[float(n) for n in line.rpartition(": ")[2].split(", ")] for line in done.err.splitlines()]
    for line, number, ours in zip(lines, numbers[what], zip(*by_seed, strict=True), strict=False):
        assert line[0] == dataset
        assert float(line[2]) == number
        assert float(line[3].split(" ± ")[0]) == pytest.approx(sum(ours) / 2, abs=0.01)
        assert sorted(map(float, line[4].split(" to "))) == pytest.approx(sorted(ours), abs=0.51)


def test_released_codes_need_prepared_data_and_two_seeds(released, tmp_path):
    with pytest.raises(SystemExit, match=r"adult_integer\.npz is missing; make it with"):
        released.main(["mddf", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        released.main(["mddf", "--data", str(tmp_path), "--seeds", "1"])


@pytest.fixture
def exact(monkeypatch):
    """The transcription of the released hiDF, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("exact_interactions")
    for name in ("exact_interactions", "released_codes"):
        sys.modules.pop(name, None)


def test_enriched_trees_of_the_transcription_are_scikit_learns_where_all_features_have_equal_chances(exact):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(300, 6)), dtype=np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
    counts = np.bincount(rng.integers(300, size=300), minlength=300).astype(float)
    parent, feature, threshold, is_left, weight, importances = exact.enriched_tree(X, y, 3, counts, np.ones(6), 6, rng)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=counts).tree_
    assert len(parent) == theirs.node_count
    assert importances == pytest.approx(theirs.compute_feature_importances(normalize=False), abs=0.02)  # ties
    assert importances.sum() == pytest.approx(theirs.impurity[0])
    assert (feature[0], threshold[0]) == (theirs.feature[0], pytest.approx(theirs.threshold[0]))
    assert weight[feature < 0].sum() == 300
    assert [is_left[1], is_left[2], parent[1], parent[2]] == [True, False, 0, 0]


def test_features_without_a_chance_are_never_split_on(exact):
    rng = np.random.default_rng(1)
    X = np.asfortranarray(rng.normal(size=(100, 3)), dtype=np.float32)
    y = rng.integers(2, size=100)
    feature = exact.enriched_tree(X, y, 2, np.ones(100), np.array([0.0, 1.0, 2.0]), 2, rng)[1]
    assert set(feature) == {-1, 1, 2}


def test_the_transcription_merges_thresholds_to_the_looser_bound(exact):
    one = {(0, True): 1.0, (1, False): 1.0, (2, True): 5.0}
    other = {(0, True): 2.0, (1, False): 2.0, (2, False): 5.0}
    assert exact.merged(one, other) == {(0, True): 2.0, (1, False): 1.0}


def test_candidates_of_the_transcription_are_drawn_by_their_chances(exact):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.normal(size=(40, 3)), dtype=np.float32)
    y = rng.integers(2, size=40)
    chances = np.array([1.0, 3.0, 4.0])
    roots = [exact.enriched_tree(X, y, 2, np.ones(40), chances, 1, rng)[1][0] for _ in range(2000)]
    assert np.bincount(roots) / 2000 == pytest.approx(chances / 8, abs=0.04)


def by_hand():
    """x0 <= 5: x1 <= 2 or not; else x0 <= 7 or not. Leaves are nodes 3 to 6, with 1, 3, 5, 7 rows in the bag."""
    parent = np.array([-1, 0, 0, 1, 1, 2, 2])
    feature = np.array([0, 1, 0, -1, -1, -1, -1])
    threshold = np.array([5.0, 2.0, 7.0, 0, 0, 0, 0])
    is_left = np.array([False, True, False, True, False, True, False])
    return parent, feature, threshold, is_left, np.array([16.0, 4, 12, 1, 3, 5, 7])


def test_rules_of_the_transcription_keep_the_split_next_to_the_root(exact):
    assert exact.leaf_rule(by_hand(), 4) == {(0, True): 5.0, (1, False): 2.0}
    assert exact.leaf_rule(by_hand(), 5) == exact.leaf_rule(by_hand(), 6) == {(0, False): 5.0}


def test_rules_of_the_transcription_are_drawn_by_rows_in_the_bag(exact):
    drawn = list(exact.drawn_rules([by_hand()], 4000, np.random.default_rng(4)))
    shares = [
        sum(rule == wanted for rule in drawn) / 4000 for wanted in ({(0, False): 5.0}, exact.leaf_rule(by_hand(), 3))
    ]
    assert shares == pytest.approx([12 / 16, 1 / 16], abs=0.03)


def test_intersection_trees_of_the_transcription_have_four_levels_and_stop_at_empty_nodes(exact):
    same, other = {(0, True): 1.0}, {(1, True): 1.0}
    rules = iter([same] * 100)
    assert list(exact.intersection_tree(rules)) == [same] * 15
    assert len(list(rules)) == 85
    rules = iter([same, other, same, other, other, same])
    assert list(exact.intersection_tree(rules)) == [same, same]  # the first child is empty; the second's are, too
    assert len(list(rules)) == 1


def test_the_transcription_finds_a_planted_pair(exact):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (2000, 6))
    y = ((X[:, 2] > 0.2) & (X[:, 4] <= -0.2)).astype(np.int64)
    found, weights = exact.search(X, y, [np.full(6, 1 / 6)], rng)
    assert {(2, False), (4, True)} in [set(one) for one in found]
    pair = next(one for one in found if set(one) == {(2, False), (4, True)})
    assert pair[2, False] <= 0.25  # the loosest bound of all bootstraps
    assert pair[4, True] >= -0.25
    assert weights.sum() == pytest.approx(exact.N_BOOTSTRAPS)


def test_the_transcription_stands_beside_the_released_codes_numbers(exact, capsys, tmp_path):
    save_prepared(tmp_path / "letter.npz")
    assert exact.main(["--data", str(tmp_path), "--datasets", "letter", "--seeds", "2", "--trees", "2"]) == 0
    done = capsys.readouterr()
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.out.splitlines()[4:]]
    by_seed = [json.loads(line.rpartition(": ")[2]) for line in done.err.splitlines()]
    assert [line[:3] for line in lines] == [["letter", "layer 1", "10"], ["letter", "layer 2", "7"]]
    for line, ours in zip(lines, zip(*by_seed, strict=True), strict=True):
        assert line[4] == ", ".join(map(str, ours))
    with pytest.raises(SystemExit, match="2"):
        exact.main(["--data", str(tmp_path), "--seeds", "1"])


@pytest.fixture
def readings(monkeypatch):
    """The script that compares readings of DDBF's rules, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("hard_example_readings")
    sys.modules.pop("hard_example_readings", None)


def test_readings_of_ddbf_are_counted_on_a_small_set(readings, capsys):
    readings.main(["--rows", "4000", "--trees", "5", "--iterations", "2"])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(lines) == 1 + len(readings.READINGS)
    assert {len(line) for line in lines} == {10}
    for line, (score, threshold, vote) in zip(lines[1:], readings.READINGS, strict=True):
        assert line[:3] == ["made", score, threshold.replace("_", " ")]
        assert line[3] == ("mean score" if vote == "score" else f"{vote:.0%}")
        passed = [float(share) for share in line[4].split(", ")]
        assert 0 < sum(passed) <= 100
        left = round(int(0.65 * 4000) * (1 - sum(passed) / 100))
        assert int(line[6].replace(",", "")) == pytest.approx(left, abs=1)


def test_thinned_and_mixed_sets_have_the_ratios_that_they_promise(readings, tmp_path):
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(256, size=(2000, 3)), np.repeat([1, 2], [800, 1200])])
    np.savetxt(tmp_path / "skin.txt", table, fmt="%d", delimiter="\t")
    data = readings.skin(tmp_path / "skin.txt", 0)
    assert np.bincount(data.y)[1] == readings.SKIN_POSITIVE
    assert len(data.y_test) == 600
    head = ",".join(["Time", *(f"V{k}" for k in range(1, 29)), "Amount", "Class"])
    rows = np.column_stack([rng.normal(size=(50, 30)), np.repeat([0, 1], [40, 10])])
    np.savetxt(tmp_path / "fraud.csv", rows, delimiter=",", header=head, comments="")
    data = readings.fraud_like(tmp_path / "fraud.csv", 0)
    assert (len(data.y) + len(data.y_test), data.y.sum() + data.y_test.sum()) == (readings.N_ROWS, 10)
    assert data.X.shape[1] == 30


@pytest.fixture
def explain_script(monkeypatch):
    """The script that measures explanations, as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # it pins threads itself: put them back afterwards
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    yield importlib.import_module("explain")
    for name in ("explain", "measuring"):
        sys.modules.pop(name, None)


def test_our_forest_becomes_scikit_learns_with_the_same_predictions(explain_script):
    X, y = explain_script._data(150, 6, 3)
    X = X.astype(np.float32).astype(np.float64)
    model = explain_script.RandomForestClassifier(5, random_state=0).fit(X, y)
    theirs = explain_script.as_scikit_learn(model, X, np.eye(3)[y])
    np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_usps_itself_is_explained_from_its_prepared_file(explain_script, monkeypatch, capsys, tmp_path):
    """Another table under its name: a tenth of the training rows, and every column's permuted copy behind."""
    rng = np.random.default_rng(0)
    X = rng.random((700, 6)).astype(np.float32)
    given = np.arange(700) >= 550
    y = (X[:, 0] > 0.5) + np.int64(X[:, 1] > 0.5)
    usps = build_dataset(
        name="usps", task="classification", X=X, y=y, feature_names=list("abcdef"),
        class_names=["0", "1", "2"], given_test=given, protocol={"kind": "given", "repeats": 2}, meta={},
    )  # fmt: skip
    save(usps, tmp_path / "usps.npz")
    ((name, X_train, y_train, X_new),) = explain_script._wide_data(None, tmp_path)
    assert (name, X_train.shape, X_new.shape) == ("usps+train-0.1+irrelevant: ", (55, 12), (100, 12))
    assert {tuple(row) for row in X_train[:, :6]} < {tuple(row) for row in X[~given]}
    assert {tuple(row) for row in X_new[:, :6]} < {tuple(row) for row in X[given]}
    assert len(y_train) == 55
    assert explain_script.main(["wide", "--data", str(tmp_path)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| usps")]
    assert ["importances" in lines[0], "100 rows" in lines[1]] == [True, True]
    assert all("55 x 12, 3 classes" in line for line in lines)
    with pytest.raises(SystemExit):
        explain_script.main(["growth", "--data", str(tmp_path)])


@pytest.mark.parametrize("table", ["forests", "growth", "wide", "again"])
def test_tables_of_explanations_are_printed_and_missing_libraries_named(explain_script, monkeypatch, capsys, table):
    monkeypatch.setattr(explain_script, "FORESTS", [(80, 5, 2, 4, None), (80, 5, 0, 4, 3)])
    monkeypatch.setattr(explain_script, "N_EXPLAINED", 10)
    for name in ("GCForestClassifier", "CascadeForestRegressor"):
        cascade = getattr(explain_script, name)
        monkeypatch.setattr(explain_script, name, lambda n, trees, kind=cascade, **others: kind(n, 2, **others))
    for name in ("shap", "treeinterpreter"):
        monkeypatch.setitem(sys.modules, name, None)
    assert explain_script.main([table, "--max-rows", "60"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    rows = {"forests": 8, "growth": 14, "wide": 4, "again": 2}[table]
    assert len(lines) == 2 + rows
    if table == "forests":
        assert sum("pip install -e '.[explain]'" in line for line in lines) == 4


def test_the_cost_of_a_sync_is_measured_on_runs_that_it_finds(monkeypatch, capsys):
    """The script fails if a copied run is not as a sync would have logged it."""
    for variable in ("MLFLOW_TRACKING_URI", "MLFLOW_DEFAULT_ARTIFACT_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.syspath_prepend(SCRIPT.parent)
    assert importlib.import_module("tracking").main(["--runs", "40", "--repeats", "3"]) == 0
    forget_scripts()
    printed = capsys.readouterr().out
    assert "40 runs, database of" in printed
    assert "no news: " in printed
    assert "replaced=4, unchanged=36" in printed
