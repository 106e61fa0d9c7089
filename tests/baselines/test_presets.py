"""config/models.yaml and config/experiments say what the papers say, and what is written can be built."""

from pathlib import Path

import pytest

from cascadeforest.data.files import read_yaml
from cascadeforest.experiments.fitting import make_estimator
from cascadeforest.experiments.resolve import load_plan, read_configuration

ROOT = Path(__file__).parents[2]
SUITES = ["smoke", "quick", "standard", "paper"]
EXPERIMENTS = {
    "hidf": "table1 table2 table3 fig2 fig3",
    "interp": "fig1b fig3 fig4 table2 fig5 fig6 table3 table4 fig7 table5 table6 fig8",
    "cs": "table1 table2 fig4",
    "mddf": "table1 fig2a fig2b",
    "ddbf": "table1 table2 table3 table4 table5 fig4 fig5 fig6 threshold",
}


@pytest.fixture(scope="module")
def plans():
    return {suite: load_plan(ROOT, {"suite": suite}) for suite in SUITES}


def test_every_table_and_figure_of_the_papers_is_declared(plans):
    expected = {f"{paper}-{name}" for paper, names in EXPERIMENTS.items() for name in names.split()}
    assert expected | {"arena", "claims"} <= set(plans["quick"].experiments)


@pytest.mark.parametrize("suite", SUITES)
def test_every_experiment_has_data_in_every_suite(plans, suite):
    without = [name for name, experiment in plans[suite].experiments.items() if not experiment.datasets]
    assert without == ["claims"]


@pytest.mark.parametrize("suite", SUITES)
def test_every_preset_that_runs_can_be_built(plans, suite):
    for run in {run.model: run for run in plans[suite].runs}.values():
        known = make_estimator(run.estimator, run.params, seed=0, threads=1).get_params()
        assert {name: known[name] for name in run.params} == run.params


@pytest.mark.parametrize("suite", SUITES)
def test_every_cascade_of_the_workflow_names_its_preset(plans, suite):
    """So that no number of it comes from our own sizes, which may change."""
    asked = [(run.model, run.estimator, run.params) for run in plans[suite].runs]
    asked += [(model, p["learner"]["estimator"], p["learner"]["params"]) for model, _, p in asked if "learner" in p]
    cascades = set()
    for model, target, params in asked:
        estimator = make_estimator(target, params, seed=0, threads=1)
        if "preset" in estimator.get_params():
            cascades.add(model)
            # DDBF names no preset, since cells are called after their parameters; but all that its presets fill.
            assert estimator.preset in ("paper", "official") or estimator._presets[None].keys() <= params.keys(), model
    assert {"gcforest", "gcforest_cs", "hidf", "mddf", "ddbf_f"} <= cascades


def test_the_arena_shows_our_default_sizes(plans):
    """The entries name the preset `paper`, so that they stay as they are; with other sizes they are the defaults."""
    plan = plans["paper"]
    ours = {"gcforest", "gcforest_cs", "hidf", "mddf", "ddbf"}
    for column in ours:
        preset = plan.experiments["arena"].columns[column]
        run = next(run for run in plan.runs if run.model == preset)
        shown = make_estimator(run.estimator, run.params, seed=0, threads=1)
        sizes = {name: run.params.get(name, shown._presets["paper"].get(name)) for name in shown._presets[None]}
        assert sizes == dict(shown._presets[None]), column


def test_the_arena_names_the_data_sets_that_chose_our_sizes(plans):
    chosen = read_yaml(ROOT / "config" / "defaults.yaml")["classification"]
    assert list(plans["standard"].experiments["arena-ranks"].options["chosen_on"]) == chosen


@pytest.mark.parametrize(
    ("experiment", "column", "settings"),
    [
        ("hidf-table2", "random_forest", {"n_estimators": 500}),
        ("hidf-table2", "xgboost", {"n_estimators": 500, "max_depth": 6}),
        ("hidf-table2", "gbdt", {"n_estimators": 500, "max_depth": 6}),
        ("hidf-table2", "gbdt_official", {"n_estimators": 500, "max_depth": 10}),
        ("hidf-table2", "svm", {"scale": False}),
        ("hidf-table2", "svm_scaled", {"scale": True}),
        ("mddf-table1", "random_forest", {"n_estimators": 400 * 5}),
        ("mddf-table1", "xgboost", {"n_estimators": 400 * 5}),
        ("mddf-table1", "mlp", {"architectures": [[1024, 512], [16, 8, 8], [70, 50], [50, 30], [30, 20]]}),
        ("ddbf-table1", "random_forest", {"n_estimators": 200}),
        ("ddbf-table1", "gbdt", {"n_estimators": 200}),
    ],
)
def test_the_paper_suite_has_the_papers_settings(plans, experiment, column, settings):
    plan = plans["paper"]
    preset = plan.experiments[experiment].columns[column]
    params = next(run.params for run in plan.runs if run.model == preset)
    assert {name: params[name] for name in settings} == settings


def test_the_stand_in_for_the_fraud_data_has_their_classes(plans):
    """All rows of the data that the paper used, of which the frauds are real."""
    datasets = read_configuration(ROOT).datasets
    counts, whole = (datasets[name]["expected"]["class_counts"] for name in ("fraud_like", "credit_fraud"))
    assert counts == whole
    for name in ("ddbf-table2", "ddbf-table3", "ddbf-table4", "ddbf-table5"):
        assert plans["standard"].experiments[name].repeats["fraud_like"] == 20
        assert plans["paper"].experiments[name].repeats["credit_fraud"] == 15  # three splits of five runs each


@pytest.mark.parametrize("suite", ["smoke", "quick"])
def test_the_suites_without_network_ask_for_no_download(plans, suite):
    from cascadeforest.data.registry import load_dataset_files, parse_variant

    files = load_dataset_files(ROOT / "config" / "datasets")
    asked = {parse_variant(v)[0] for e in plans[suite].experiments.values() for v in e.datasets}
    assert {files[name]["access"] for name in asked} <= {"embedded", "synthetic"}
