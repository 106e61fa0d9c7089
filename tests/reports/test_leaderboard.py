"""`make leaderboard`: what it hands to bencheval, and Elo ratings that agree with the win rates."""

import importlib
import importlib.util
import sys

import pytest
from tests.reports.conftest import ROOT

from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.results import read_results

DATA, LABELS = ("adult", "letter", "wine"), {"random_forest": "RF", "gbdt": "GBDT", "svm": "SVM"}


@pytest.fixture
def script(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    yield importlib.import_module("leaderboard")
    sys.modules.pop("leaderboard")


def cells_of(suite):
    results = read_results(suite.root, suite.name, ["arena"])
    return Cells(results.plan.experiment("arena"), results)


def declare(suite):
    suite.experiment("arena", labels=LABELS, datasets=list(DATA), metrics=["accuracy", "log_loss"])
    for dataset, forest in zip(DATA, (0.8, 0.7, 0.6), strict=True):
        suite.run(dataset, "random_forest", [{"accuracy": forest, "log_loss": 0.5}] * 2)
        suite.run(dataset, "gbdt", [{"accuracy": forest + 0.1, "log_loss": 0.4}, {"accuracy": forest, "log_loss": 0.2}])
    suite.run("adult", "svm", [{"accuracy": 0.5}] * 2)
    suite.fail("letter", "svm")
    suite.fail("wine", "svm")


def test_errors_are_means_over_repeats_and_the_reference_stands_in(suite, script):
    declare(suite)
    long, substituted = script.errors_of(cells_of(suite), "accuracy")
    found = {(row.task, row.method): row.metric_error for row in long.itertuples()}
    assert found["adult", "gbdt"] == pytest.approx(0.15)
    assert found["letter", "svm"] == found["letter", "random_forest"] == pytest.approx(0.3)
    assert substituted == ["svm on letter", "svm on wine"]
    assert {method for _, method in found} == set(LABELS)


def test_log_loss_is_an_error_itself_and_models_without_it_are_left_out(suite, script):
    declare(suite)
    long, substituted = script.errors_of(cells_of(suite), "log_loss")
    assert long[long.method == "gbdt"].metric_error.tolist() == pytest.approx([0.3] * 3)
    assert set(long.method) == {"random_forest", "gbdt"}
    assert not substituted


@pytest.mark.skipif(not importlib.util.find_spec("bencheval"), reason="needs bencheval: make setup EXTRAS=arena")
def test_the_model_that_always_wins_leads_the_board(suite, script, capsys):
    declare(suite)
    assert script.main(["--root", str(suite.root), "--suite", suite.name, "--fresh"]) == 0
    printed = capsys.readouterr().out
    assert "The random_forest stands in for: svm on letter, svm on wine." in printed
    ranks = {line.split()[0]: line.split()[1:] for line in printed.splitlines()[5:]}
    assert list(ranks) == ["gbdt", "random_forest", "svm"]
    assert float(ranks["gbdt"][3]) == 1.0  # its win rate
    assert float(ranks["random_forest"][0]) == 1000.0


def test_an_arena_that_did_not_run_is_said(suite, script, capsys, monkeypatch):
    if not importlib.util.find_spec("bencheval"):
        monkeypatch.setitem(sys.modules, "bencheval", None)
        assert script.main(["--root", str(suite.root)]) == 3
        assert "make setup EXTRAS=arena" in capsys.readouterr().err
        return
    suite.experiment("arena", labels=LABELS, datasets=list(DATA))
    assert script.main(["--root", str(suite.root), "--suite", suite.name, "--fresh"]) == 2
    assert "has no accuracy of random_forest" in capsys.readouterr().err
