"""benchmarks/compare_reports.py: which stored numbers of two checkouts differ."""

import importlib
import shutil

import pytest
from tests.reports.conftest import ROOT

from cascadeforest.reports.store.accept import accept

TABLE = "reports/smoke/tables/hidf-table2.csv"


@pytest.fixture
def compare(monkeypatch, suite, tmp_path, capsys):
    """A checkout before and one after; the command on them: its exit status and what it prints."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    script = importlib.import_module("compare_reports")
    suite.complete()
    suite.experiment(libraries={"random_forest": ["scikit-learn"], "gbdt": []}, metrics=["accuracy", "fit_cpu_seconds"])
    accept(suite.draw().root, "smoke", "first numbers")
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(suite.root / "reports", before / "reports")
    shutil.copytree(suite.root / "reports", after / "reports")

    def run(old="", new=""):
        if old:
            text = (after / TABLE).read_text()
            assert old in text
            (after / TABLE).write_text(text.replace(old, new))
        status = script.main([str(before), str(after)])
        return status, capsys.readouterr()

    run.before, run.after = before, after
    return run


def test_the_same_numbers_are_the_same_a_table_that_is_gone_differs_and_no_reports_are_an_error(compare):
    status, printed = compare()
    assert (status, printed.out) == (0, "smoke/tables/hidf-table2.csv: same\n1 tables: 1 the same, 0 not.\n")
    other = compare.after / "reports/smoke/tables/hidf-table9.csv"
    (compare.after / TABLE).rename(other)
    status, printed = compare()
    assert (status, printed.out.splitlines()[0]) == (1, "smoke/tables/hidf-table2.csv: gone")
    shutil.rmtree(compare.before / "reports")
    status, printed = compare()
    assert status == 2
    assert "before/reports: no tables are stored here. Name two folders" in printed.err


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("adult,gbdt,,accuracy,0.91,", "adult,gbdt,,accuracy,0.9100000001,", 1),
        ("adult,random_forest,,accuracy,0.85,", "adult,random_forest,,accuracy,0.86,", 0),  # within 2 of 50 test rows
        ("adult,random_forest,,accuracy,0.85,", "adult,random_forest,,accuracy,0.95,", 1),
        ("adult,gbdt,,fit_cpu_seconds,1.5,", "adult,gbdt,,fit_cpu_seconds,99,", 0),
        ("adult,gbdt,,accuracy,", "wine,gbdt,,accuracy,", 1),
    ],
    ids=["ours", "foreign, near", "foreign, far", "cost", "another row"],
)
def test_values_that_differ_are_named_but_cost_and_small_foreign_moves(compare, old, new, status):
    found, printed = compare(old, new)
    assert found == status
    assert ("DRIFT hidf-table2: adult / " in printed.out) == bool(status)
