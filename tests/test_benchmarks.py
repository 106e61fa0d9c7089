"""The benchmark script: it runs, it writes what its README promises, and it says what is missing. No times asserted."""

import csv
import importlib
import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "forest.py"
TINY = ["--cases", "rf-2000x10x2", "rf-2000x10", "--max-rows", "200", "--n-jobs", "1", "--repeats", "1"]


@pytest.fixture
def forest(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    yield importlib.import_module("forest")
    for name in ("forest", "forest_cases"):
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
        (case, library, "1") for case in ("rf-200x10x2", "rf-200x10") for library in ("ours", "sklearn")
    ]
    for row in rows:
        for column in ("fit_cpu_seconds", "predict_cpu_seconds", "fit_wall_seconds", "model_mib"):
            assert float(row[column]) > 0, column
        assert float(row["fit_peak_mib"]) >= 0
        assert float(row["predict_peak_mib"]) >= 0
        assert float(row["score"]) > (0.6 if row["classes"] == "2" else 0.3)  # a constant guess has 0.5 or 0
        assert int(row["n_nodes"]) > 3 * 100  # a hundred trees that split
        assert (row["n_estimators"], row["rows"], row["note"]) == ("100", "200", "")
    for heading in ("fit, CPU s", "predict, CPU s", "pickled size, MiB", "peak memory of fit, MiB", "nodes"):
        assert printed.out.count(f"| {heading} ") == 2
    assert "sklearn / ours" in printed.out
    assert len(printed.err.splitlines()) == 4

    before = table.read_bytes()
    assert forest.main([*arguments, "--resume"]) == 0
    again = capsys.readouterr()
    assert again.err == "", "nothing is left to measure"
    assert table.read_bytes() == before
    assert again.out.count("| fit, CPU s ") == 2

    with pytest.raises(SystemExit):  # never overwrites hours of measurements
        forest.main(arguments)
    assert "--resume" in capsys.readouterr().err


def test_the_command_runs_and_lists_its_cases():
    done = subprocess.run([sys.executable, SCRIPT, "--list"], capture_output=True, text=True, check=True)
    assert "rf-2000x10x2 " in done.stdout


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
    rows = {"ours": row, "sklearn": {"note": "failed: MemoryError"}}
    table = forest.case_table(forest.CASES[0], 1, rows, ["ours", "sklearn", "intelex"], markdown=True)
    cells = [
        cell.strip() for cell in next(line for line in table.splitlines() if "fit, CPU s" in line).split("|")[1:-1]
    ]
    assert cells == ["fit, CPU s", "2.00", "failed", "not installed", "–", "–"]
    assert "sklearn: failed: MemoryError" in table


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
    monkeypatch.setattr(forest.subprocess, "run", child)
    for n_jobs in (1, 3, -1):
        forest.run_cell(forest.CASES[0], "intelex", n_jobs, Path("data.npz"))
    assert seen == {1: "1", 3: "3", -1: "8"}
