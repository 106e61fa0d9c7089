"""The configuration resolved: what runs, how often, with which parameters, and what is said when it is wrong."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.registry import load_dataset_files
from cascadeforest.data.typed_json import from_json, to_json
from cascadeforest.experiments.batches import expected_costs, read_costs, training_rows
from cascadeforest.experiments.metrics import METRICS
from cascadeforest.experiments.plan import LEAST, Bound, Budget
from cascadeforest.experiments.resolve import load_plan, read_configuration

ROOT = Path(__file__).parents[2]
ROWS = training_rows(load_dataset_files(ROOT / "config" / "datasets"))

CONFIG = {
    "suite": "tiny",
    "suites": {
        "tiny": {"description": "t", "repeats": 2, "budget": {"trees": 0.02}},
        "full": {"description": "f"},
        "special": {
            "description": "s",
            "budget": {"trees": 0.013, "epochs": 0.5, "layers": 4},
            "repeats": 2,
            "dataset_repeats": {"iris": 3},
            "unavailable": {"wine": "eaten"},
        },
    },
}
MISSPELT = "cascadeforest.baselines.gbdt:GBDTClassifer"
MODELS = {
    "forest": {
        "label": "RF",
        "estimator": {"classification": "sklearn.ensemble:RandomForestClassifier"},
        "params": {"n_estimators": 500, "max_depth": 8},
        "libraries": [],
    },
    "forest_5": {"base": "forest", "params": {"n_estimators": 5}},
    "future": {"label": "F", "estimator": {"classification": "cascadeforest.nowhere:Model"}, "libraries": []},
}
EXPERIMENTS = {
    "one": {
        "title": "One",
        "kind": "table",
        "render": "scores",
        "metrics": ["accuracy"],
        "models": {"forest": "forest", "small": "forest_5", "future": "future"},
        "datasets": {suite: ["iris", "wine+rows-100"] for suite in ("tiny", "full", "special")},
    },
    "two": {
        "title": "Two",
        "kind": "table",
        "render": "scores",
        "models": {"forest": "forest"},
        "repeats": 4,
        "extras": ["predictions"],
        "datasets": {suite: ["iris"] for suite in ("tiny", "full", "special")},
    },
    "three": {"title": "Three", "kind": "figure", "render": "not_drawn_yet", "datasets": {"tiny": ["iris"]}},
}


@pytest.fixture
def root(tmp_path):
    shutil.copytree(ROOT / "workflow/schemas", tmp_path / "workflow/schemas")
    (tmp_path / "config/datasets").mkdir(parents=True)
    for name in ("iris", "wine", "diabetes"):
        shutil.copy(ROOT / f"config/datasets/{name}.yaml", tmp_path / "config/datasets")
    (tmp_path / "config/experiments").mkdir()
    shutil.copy(ROOT / "config/papers.yaml", tmp_path / "config")
    write(tmp_path)
    return tmp_path


def write(root, config=CONFIG, models=MODELS, experiments=EXPERIMENTS):
    for name, content in (("config", config), ("models", models), ("experiments/test", experiments)):
        (root / f"config/{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def test_a_suite_bounds_trees_and_repeats(root):
    plan = load_plan(root)
    assert plan.run("iris", "forest").params == {"n_estimators": 10, "max_depth": 8}
    assert plan.run("iris", "forest_5").params["n_estimators"] == 5  # a bound never raises
    assert plan.run("iris", "forest").repeats == (0, 1)


def test_a_bounded_whole_number_stays_one(root):
    """10.0 trees are refused by models, and would be other cells than those of 10 trees."""
    plan = load_plan(root)
    assert json.dumps(to_json(plan.run("iris", "forest").params)) == '{"n_estimators": 10, "max_depth": 8}'


def test_without_bounds_the_papers_settings_hold(root):
    plan = load_plan(root, {"suite": "full"})
    assert plan.run("iris", "forest").params["n_estimators"] == 500
    assert plan.experiments["one"].repeats["iris"] == read_configuration(root).datasets["iris"]["protocol"]["repeats"]
    assert plan.experiments["two"].repeats["iris"] == 4


def test_a_seed_shift_changes_the_seeds_of_one_model_but_not_those_of_the_data(root):
    write(root, models=MODELS | {"forest_5": {"base": "forest", "seed_shift": 2}})
    plan = load_plan(root, {"seed": 3})
    runs = [plan.run("iris", name) for name in ("forest", "forest_5")]
    assert [(run.seed, run.data_seed) for run in runs] == [(3, 3), (5, 3)]


@pytest.mark.parametrize(
    ("kind", "share", "published", "here"),
    [
        ("trees", 0.1, 500, 50),
        ("trees", 0.1, 501, 51),
        ("trees", 0.07, 100, 7),
        ("trees", 0.1, 20, 5),
        ("trees", 0.1, 3, 3),
        ("epochs", 0.25, 100, 25),
        ("layers", 5, 20, 5),
        ("layers", 5, 3, 3),
        ("layers", None, 20, 20),
    ],
)
def test_a_budget_rounds_up_and_leaves_at_least_five_but_layers(kind, share, published, here):
    assert Budget(**{kind: share}).bounded(kind, published) == here


def test_bounds_that_change_a_parameter_are_named_with_the_value_without_them(root):
    """A bound that changes nothing is none."""
    plan = load_plan(root, {"suite": "special"})
    assert plan.experiments["one"].bounds["forest"]["iris"] == {"n_estimators": Bound(7, 500)}
    assert plan.experiments["one"].bounds["small"]["wine+rows-100"] == {}  # has 5 trees anyway
    larger = MODELS | {"forest_5": {"base": "forest", "params": {"n_estimators": 50}}}
    write(root, models=larger | {"forest": MODELS["forest"] | {"dataset_params": {"wine": {"n_estimators": 800}}}})
    plan = load_plan(root, {"suite": "special"})
    assert plan.experiments["one"].bounds["small"]["iris"] == {"n_estimators": Bound(5, 50)}
    assert plan.experiments["one"].bounds["forest"]["wine+rows-100"] == {"n_estimators": Bound(11, 800)}
    assert load_plan(root, {"suite": "full"}).experiments["one"].bounds["forest"] == {"iris": {}, "wine+rows-100": {}}


def test_a_model_says_what_its_parameters_are(root):
    """By its name, max_iter is a number of epochs."""
    of = {"params": {"max_iter": 200, "max_layers": 9, "max_depth": 8}}
    for bounded_as, here in ({}, 100), ({"max_iter": "trees"}, 5):
        write(root, models=MODELS | {"forest": MODELS["forest"] | of | {"bounded_as": bounded_as}})
        plan = load_plan(root, {"suite": "special"})
        assert plan.run("iris", "forest").params == {"max_iter": here, "max_layers": 4, "max_depth": 8}


@pytest.mark.parametrize("of", ["two", "test"])
def test_a_table_or_a_paper_can_have_its_own_budget(root, of):
    """Its models are then others, under names that say it, where the budget concerns them."""
    config = CONFIG | {"suites": CONFIG["suites"] | {"tiny": {**CONFIG["suites"]["tiny"], "table_budgets": {}}}}
    config["suites"]["tiny"]["table_budgets"][of] = {"trees": 0.5, "layers": 2}
    write(root, config)
    plan = load_plan(root)
    assert plan.experiments["two"].columns == {"forest": "forest+trees-0.5"}
    assert plan.experiments["two"].bounds["forest"]["iris"] == {"n_estimators": Bound(250, 500)}
    assert plan.run("iris", "forest+trees-0.5").params["n_estimators"] == 250
    other = plan.experiments["one"].columns["forest"]
    assert other == ("forest" if of == "two" else "forest+trees-0.5")
    assert plan.run("iris", other).params["n_estimators"] == (10 if of == "two" else 250)
    config["suites"]["tiny"]["table_budgets"] = {"twos": {"trees": 0.5}}
    write(root, config)
    with pytest.raises(ConfigError, match=r"suites/tiny/table_budgets is 'twos'.* Did you mean 'two'"):
        load_plan(root)


def test_a_model_can_have_its_own_budget_on_a_data_set(root):
    """Where one of its fits would take many hours; the other data sets and models keep the suite's."""
    config = yaml.safe_load(yaml.safe_dump(CONFIG))
    config["suites"]["full"]["model_budgets"] = {"forest": {"iris": {"trees": 0.25}}}
    write(root, config)
    plan = load_plan(root, {"suite": "full"})
    one = plan.experiments["one"]
    whole = one.bounds["small"]["iris"], one.bounds["forest"]["wine+rows-100"]
    assert whole == ({}, {})
    bound = one.bounds["forest"]["iris"]["n_estimators"]
    assert (bound.here, bound.unbounded) == (125, 500)
    assert plan.run("iris", one.columns["forest"]).params["n_estimators"] == 125
    # A table's own budget holds for the rest.
    config["suites"]["full"]["table_budgets"] = {"one": {"trees": 0.5, "layers": 2}}
    write(root, config)
    found = load_plan(root, {"suite": "full"}).experiments["one"].bounds["forest"]
    assert [found[row]["n_estimators"].here for row in ("iris", "wine+rows-100")] == [125, 250]
    wrong = (({"frost": {}}, "model_budgets is 'frost'.*forest"), ({"forest": {"irs": {}}}, "forest is 'irs'.*iris"))
    wrong += (({"forest": {"iris": {"epochs": 0.5}}}, "forest/iris is 'epochs'.*trees"),)
    for budgets, words in wrong:
        config["suites"]["full"]["model_budgets"] = budgets
        write(root, config)
        with pytest.raises(ConfigError, match=words):
            load_plan(root, {"suite": "full"})


OURS = "cascadeforest.forest.estimators:RandomForestClassifier"
WRAPPER = "cascadeforest.cascade.on_hard_examples:HardExampleClassifier"


def test_the_first_run_of_each_of_our_estimators_keeps_its_model(root):
    """`save` refuses learners of other packages: the first run that it takes is another one."""
    models = {
        "theirs": MODELS["forest"],
        "ours": {"label": "ours", "estimator": {"classification": OURS}},
        "deeper": {"base": "ours", "params": {"max_depth": 9}},
        "around_theirs": {"label": "hard", "estimator": {"classification": WRAPPER}, "params": {"learner": "theirs"}},
        "around_ours": {"base": "around_theirs", "params": {"learner": "ours"}},
    }
    config = CONFIG | {"suites": {"tiny": {"description": "t", "repeats": 2, "keep_models": True}}}
    table = EXPERIMENTS["one"] | {"models": {name: name for name in models}, "datasets": {"tiny": ["iris", "wine"]}}
    write(root, config, models, {"one": table})
    kept = [run for run in load_plan(root).runs if run.keeps_model]
    assert [run.pair for run in kept] == [("iris", "ours"), ("iris", "around_ours")]
    assert [kept[0].extras_of(repeat) for repeat in kept[0].repeats] == [("model",), ()]
    write(root, models=models, experiments={"one": table})
    assert not any(run.keeps_model for run in load_plan(root).runs)


def test_bounds_of_the_learner_inside_are_named_too(root):
    models = MODELS | {"outer": MODELS["forest"] | {"params": {"n_estimators": 8, "learner": "forest"}}}
    experiments = {"one": EXPERIMENTS["one"] | {"models": {"outer": "outer"}}}
    write(root, models=models, experiments=experiments)
    plan = load_plan(root, {"suite": "special"})
    bounds = {"n_estimators": Bound(5, 8), "learner__n_estimators": Bound(7, 500)}
    assert plan.experiments["one"].bounds["outer"]["iris"] == bounds
    assert plan.run("iris", "outer").params["learner"]["params"] == {"n_estimators": 7, "max_depth": 8}


def test_a_deviation_that_several_models_share_is_said_once(root):
    models = {
        "forest": MODELS["forest"] | {"deviations": ["Scaled."]},
        "second": {"base": "forest", "label": "Second"},
        "other": MODELS["forest"] | {"label": "Other", "deviations": ["Cut."]},
        "silent": {"base": "forest", "deviations": []},
    }
    write(root, models=models, experiments={"one": EXPERIMENTS["one"] | {"models": {name: name for name in models}}})
    assert load_plan(root).experiments["one"].deviations == ("RF, Second: Scaled.", "Other: Cut.")


def test_a_data_set_can_have_its_own_bound_of_repeats(root):
    plan = load_plan(root, {"suite": "special"})
    assert plan.experiments["one"].repeats["iris"] == plan.experiments["two"].repeats["iris"] == 3
    path = root / "config/config.yaml"
    config = yaml.safe_load(path.read_text())
    config["suites"]["special"]["dataset_repeats"] = {"irsi+rows-5": 1}
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(ConfigError, match=r"suites/special/dataset_repeats.*irsi.*iris"):
        load_plan(root, {"suite": "special"})
    for name, repeats in (("two:iris", [3, 1]), ("tow:iris", [])):
        config["suites"]["special"]["dataset_repeats"] = {"iris": 3, name: 1}
        path.write_text(yaml.safe_dump(config))
        if repeats:
            found = load_plan(root, {"suite": "special"}).experiments
            assert [found[one].repeats["iris"] for one in ("one", "two")] == repeats
        else:
            with pytest.raises(ConfigError, match=r"suites/special/dataset_repeats.*tow.*two"):
                load_plan(root, {"suite": "special"})


def test_a_column_can_have_fewer_repeats_than_others(root):
    path = root / "config/config.yaml"
    config = yaml.safe_load(path.read_text())
    config["suites"]["special"]["column_repeats"] = {"one": {"small": 2, "forest": 9}}
    path.write_text(yaml.safe_dump(config))
    plan = load_plan(root, {"suite": "special"})
    one = plan.experiments["one"]
    small, forest = one.columns["small"], one.columns["forest"]
    assert one.fewer_repeats["iris"] == {small: 2}  # nine are no fewer than three
    assert (one.n_repeats("iris", small), one.n_repeats("iris", forest)) == (2, 3)
    assert (len(plan.run("iris", small).repeats), len(plan.run("iris", forest).repeats)) == (2, 3)
    # Of one row only.
    config["suites"]["special"]["column_repeats"] = {"one": {"forest": 1}, "one:iris": {"small": 2}}
    path.write_text(yaml.safe_dump(config))
    of_rows = load_plan(root, {"suite": "special"}).experiments["one"].fewer_repeats
    assert of_rows == {"iris": {small: 2}, "wine+rows-100": {forest: 1}}
    # A table that shows the model with all repeats needs them.
    config["suites"]["special"]["column_repeats"] = {"one": {"forest": 2}}
    path.write_text(yaml.safe_dump(config))
    assert len(load_plan(root, {"suite": "special"}).run("iris", forest).repeats) == 3
    # None: the suite leaves the column out there.
    config["suites"]["special"]["column_repeats"] = {"one:iris": {"forest": 0}}
    path.write_text(yaml.safe_dump(config))
    assert load_plan(root, {"suite": "special"}).experiments["one"].needed_runs() == [("iris", small)]
    for wrong, words in (
        ({"one": {"forest": -1}}, "one.forest is -1; it must be at least 0"),
        ({"tow": {}}, "column_repeats.*tow.*one"),
        ({"one:irs": {}}, "column_repeats.*irs.*iris"),
        ({"one:iris": {"tree": 1}}, "one:iris is 'tree'.*small"),
        ({"one": {"frost": 1}}, "one is 'frost'.*forest"),
    ):
        config["suites"]["special"]["column_repeats"] = wrong
        path.write_text(yaml.safe_dump(config))
        with pytest.raises(ConfigError, match=words):
            load_plan(root, {"suite": "special"})


def test_a_column_that_a_table_ranks_needs_all_repeats(root):
    config = yaml.safe_load((root / "config/config.yaml").read_text())
    config["suites"]["special"]["column_repeats"] = {"one": {"small": 2}}
    models = EXPERIMENTS["one"]["models"] | {"same": EXPERIMENTS["one"]["models"]["small"]}
    one = EXPERIMENTS["one"] | {"models": models, "average_rank": ["iris"]}

    def resolved(table):
        write(root, experiments=EXPERIMENTS | {"one": table})
        (root / "config/config.yaml").write_text(yaml.safe_dump(config))
        return load_plan(root, {"suite": "special"}).experiments["one"]

    table = resolved(one | {"rank_columns": ["forest"]})
    assert table.fewer_repeats["iris"] == {table.columns["small"]: 2}
    for wrong in ({}, {"rank_columns": ["forest", "small"]}, {"rank_columns": ["forest", "same"]}):
        with pytest.raises(ConfigError, match=r"column_repeats/one/small: the table ranks this column"):
            resolved(one | wrong)
    screening = {"render": "screening_curves", "options": {"screening": "forest", "against": "small"}}
    assert resolved(EXPERIMENTS["one"] | screening).fewer_repeats["iris"] == {table.columns["small"]: 2}
    with pytest.raises(ConfigError, match=r"column_repeats/one: only scores, pairs, .* can have these"):
        resolved(EXPERIMENTS["one"] | {"render": "layer_curves"})
    config["suites"]["special"]["column_repeats"] = {"one": {"small": 0}}
    chosen = ({"ratio_of": "small"}, {"equal_trees": {"forest": "small"}}, {"differences": {"to": "small"}})
    options = [{"options": one} for one in chosen]
    for wrong in ({"references": ["small"]}, {"win_tie_lose": "small"}, screening, *options):
        with pytest.raises(ConfigError, match=r"column_repeats/one/small is 0, but the table compares others with"):
            resolved(EXPERIMENTS["one"] | wrong)


def test_an_experiment_can_have_repeats_of_its_own_suite_by_suite(root):
    write(root, experiments=EXPERIMENTS | {"one": EXPERIMENTS["one"] | {"repeats": {"full": 4, "tiny": 1}}})
    found = {suite: load_plan(root, {"suite": suite}).experiments["one"].repeats for suite in ("full", "tiny")}
    assert {suite: set(repeats.values()) for suite, repeats in found.items()} == {"full": {4}, "tiny": {1}}
    write(root, experiments=EXPERIMENTS | {"one": EXPERIMENTS["one"] | {"repeats": {"ful": 4}}})
    with pytest.raises(ConfigError, match=r"one/repeats is 'ful'.* Did you mean 'full'"):
        load_plan(root)


def test_single_data_sets_have_parameters_of_their_own(root):
    """Merged with those of the base, data set by data set, within the suite's bounds, for all variants of the data."""
    models = MODELS | {
        "forest": MODELS["forest"] | {"dataset_params": {"iris": {"max_depth": 3, "n_estimators": 400}}},
        "forest_5": MODELS["forest_5"] | {"dataset_params": {"iris": {"max_depth": 4}, "wine": {"max_depth": 9}}},
    }
    write(root, models=models)
    plan = load_plan(root)
    assert plan.run("iris", "forest").params == {"n_estimators": 8, "max_depth": 3}
    assert plan.run("iris", "forest_5").params == {"n_estimators": 8, "max_depth": 4}
    assert plan.run("wine+rows-100", "forest_5").params == {"n_estimators": 5, "max_depth": 9}
    assert plan.run("wine+rows-100", "forest").params == {"n_estimators": 10, "max_depth": 8}
    write(root, models=MODELS | {"forest": MODELS["forest"] | {"dataset_params": {"irsi": {"max_depth": 3}}}})
    with pytest.raises(ConfigError, match=r"models.yaml: forest.*/dataset_params is 'irsi'.*Did you mean 'iris'"):
        load_plan(root)


def test_a_run_that_two_experiments_show_serves_both(root):
    """The most repeats and all extras; and it is one run."""
    run = load_plan(root, {"suite": "full"}).run("iris", "forest")
    assert len(run.repeats) == max(4, load_plan(root, {"suite": "full"}).experiments["one"].repeats["iris"])
    assert run.extras == ("predictions",)


def test_an_extra_that_takes_long_is_saved_by_the_first_repeats_only(root):
    """Unless another experiment needs it of more of them; of all repeats only if it shows so many."""
    extras = {"extras": ["predictions", "layer_scores"], "extra_repeats": {"predictions": 3}}
    two = EXPERIMENTS["two"] | extras | {"repeats": 10}

    def saved(**others):
        write(root, experiments=EXPERIMENTS | {"two": two} | others)
        run = load_plan(root, {"suite": "full"}).run("iris", "forest")
        return [run.extras_of(repeat) for repeat in run.repeats]

    both, one = ("layer_scores", "predictions"), ("layer_scores",)
    assert saved() == [both] * 3 + [one] * 7
    # A job that computes some repeats saves the same: else the job that merges all would compute them again.
    part = replace(load_plan(root, {"suite": "full"}).run("iris", "forest"), repeats=(2, 3, 9))
    assert [part.extras_of(repeat) for repeat in part.repeats] == [both, one, one]
    more = two | {"extras": ["predictions"], "extra_repeats": {"predictions": 4}}
    assert saved(more=more) == [both] * 4 + [one] * 6
    assert saved(all=more | {"extra_repeats": {}}) == [both] * 10
    assert saved(fewer=more | {"extra_repeats": {}, "repeats": 5}) == [both] * 5 + [one] * 5
    write(root, experiments=EXPERIMENTS | {"two": two | {"extra_repeats": {"prediction": 3}}})
    with pytest.raises(ConfigError, match=r"two/extra_repeats is 'prediction'.*Did you mean 'predictions'"):
        load_plan(root)


def test_an_extra_of_layers_is_named_by_the_layers_of_the_options(root):
    """Two figures of different layers then ask for two extras of one run."""
    two = EXPERIMENTS["two"] | {"extras": ["representations"], "options": {"layers": [1, 5]}}
    write(root, experiments=EXPERIMENTS | {"two": two, "four": two | {"options": {"layers": [0]}}})
    plan = load_plan(root)
    assert plan.experiments["two"].extras == {"forest": ("representations-1-5",)}
    assert plan.run("iris", "forest").extras == ("representations-0", "representations-1-5")


def test_cross_validation_has_no_more_repeats_than_folds(root):
    path = root / "config/datasets/iris.yaml"
    row = yaml.safe_load(path.read_text())
    row["protocol"] = {"kind": "cv", "folds": 3, "seed": 42}
    path.write_text(yaml.safe_dump(row))
    assert load_plan(root, {"suite": "full"}).experiments["two"].repeats["iris"] == 3


def test_what_is_missing_is_said_not_hidden(root):
    experiments = load_plan(root).experiments
    assert experiments["one"].status == "partial"
    assert experiments["one"].missing_models == {"future": "not implemented"}
    assert experiments["three"].status == "not implemented"
    assert "not_drawn_yet" in experiments["three"].reason
    assert load_plan(root).run("iris", "future") is None


def test_a_suite_says_why_it_lacks_a_data_set(root):
    plan = load_plan(root, {"suite": "special"})
    assert plan.experiments["one"].absent == {"wine+rows-100": "eaten"}
    assert all(run.dataset == "iris" for run in plan.runs)


def test_own_data_and_models_join_where_they_are_taken(root):
    experiments = EXPERIMENTS | {"two": EXPERIMENTS["two"] | {"takes_own": True}}
    write(root, experiments=experiments)
    plan = load_plan(root, {"own_datasets": ["wine"], "own_models": ["forest_5"]})
    assert plan.experiments["two"].datasets == ("iris", "wine")
    assert list(plan.experiments["two"].columns) == ["forest", "forest_5"]
    assert "wine" not in plan.experiments["one"].datasets


def with_experiment(**changes):
    return {"experiments": {"one": EXPERIMENTS["one"] | changes}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"config": CONFIG | {"suite": "papr"}}, ["config/config.yaml", "suite is 'papr'", "tiny, full"]),
        ({"config": CONFIG | {"job_seconds": 0}}, ["config/config.yaml", "job_seconds is 0"]),
        ({"config": CONFIG | {"own_datasets": ["irsi"]}}, ["own_datasets is 'irsi'", "'iris'"]),
        (with_experiment(models={"rf": "forrest"}), ["config/experiments/test.yaml", "'forrest'", "'forest'"]),
        (with_experiment(metrics=["acc"]), ["one/metrics is 'acc'", "accuracy"]),
        (with_experiment(datasets={"tiny": ["iris+shuffle"]}), ["one/datasets", "shuffle"]),
        (with_experiment(datasets={"huge": ["iris"]}), ["one/datasets is 'huge'", "tiny"]),
        (with_experiment(datasets={"tiny": ["diabetes"]}), ["no estimator for regression", "'diabetes'"]),
        (with_experiment(win_tie_lose="fortress"), ["win_tie_lose is 'fortress'"]),
        (with_experiment(references=["fortress"]), ["references is 'fortress'"]),
        ({"config": ["suite"]}, ["config/config.yaml", "no mapping"]),
        (with_experiment(extras=["representations"]), ["one: options/layers is None", "layers: [1, 5]"]),
        (with_experiment(render="scoress"), ["render is 'scoress'", "'scores'"]),
        ({"models": MODELS | {"forest": {"label": "x"}}}, ["config/models.yaml", "forest.estimator is missing"]),
        (
            {"models": MODELS | {"future": MODELS["future"] | {"estimator": {"classification": MISSPELT}}}},
            ["config/models.yaml", "future/estimator", "GBDTClassifer"],
        ),
        ({"models": MODELS | {"a": {"base": "b"}, "b": {"base": "a"}}}, ["config/models.yaml", "circle"]),
        ({"models": MODELS | {"a": {"base": "forrest"}}}, ["a/base is 'forrest'", "'forest'"]),
        ({"models": MODELS | {"a": {"base": "forest", "settings": {}}}}, ["config/models.yaml", "settings"]),
        (
            {"models": MODELS | {"a": {"base": "forest", "params": {"random_state": 3}}}},
            ["config/models.yaml", "random_state"],
        ),
    ],
)
def test_a_slip_is_named_with_place_value_and_remedy(root, changes, words):
    write(root, **changes)
    with pytest.raises(ConfigError) as caught:
        load_plan(root)
    for word in words:
        assert word in str(caught.value)


# The configuration of this repository.

SUITES = ["smoke", "quick", "standard", "paper"]
#: The ids of every table and figure, from the list of experiments; they are the interface.
IDS = {
    *(f"hidf-{name}" for name in ("table1", "table2", "table3", "fig2", "fig3", "rows", "all-layers")),
    *(f"interp-fig{name}" for name in ("1b", "3", "4", "5", "6", "7", "8")),
    *(f"interp-table{number}" for number in (2, 3, 4, 5, 6)),
    *(f"cs-{name}" for name in ("table1", "table2", "fig4", "folds", "growth")),
    *(f"mddf-{name}" for name in ("table1", "fig2a", "fig2b", "folds", "controls")),
    *(f"ddbf-{name}" for name in ("table1", "table2", "table3", "table4", "table5")),
    *(f"ddbf-{name}" for name in ("fig4", "fig5", "fig6", "threshold", "random-rows", "controls")),
    "arena",
    "claims",
    "arena-ranks",
    "depth-width",
    "forest-check",  # not in that list: the kernel beside scikit-learn
    "self-check",  # nor this: a model beside itself with other seeds
    "interp-quality",  # nor this: contributions beside planted ones
}


@pytest.fixture(scope="module", params=SUITES)
def plan(request):
    return load_plan(ROOT, {"suite": request.param})


def test_every_table_and_figure_is_declared(plan):
    assert set(plan.experiments) == IDS


def test_columns_of_a_table_have_names_of_their_own(plan):
    """Two columns of ddbf-table1 were called RF: of 200 trees, and of 2,000."""
    assert [e.id for e in plan.experiments.values() if len(set(e.labels.values())) < len(e.labels)] == []


def test_every_experiment_names_data_in_every_suite(plan):
    assert [e.id for e in plan.experiments.values() if not e.datasets and e.kind != "claims"] == []


def test_small_suites_need_no_network(plan):
    if plan.suite in ("smoke", "quick"):
        datasets = read_configuration(ROOT).datasets
        assert {datasets[v.split("+")[0]]["access"] for v in plan.variants()} <= {"embedded", "synthetic"}


def test_the_paper_suite_changes_no_setting_of_a_paper(plan):
    if plan.suite == "paper":
        assert plan.suite_config.budget == Budget()
        assert plan.suite_config.table_budgets == plan.suite_config.model_budgets == {}
        others = [e for e in plan.experiments.values() if e.id != "hidf-rows"]  # its subject are numbers of rows
        assert not any("+rows-" in variant for e in others for variant in e.datasets)


def test_one_share_of_the_published_work_bounds_all_columns_of_a_table(plan):
    """Else a bound decides who wins. Smoke has forests of the least number of trees, and compares nothing."""
    for experiment in plan.experiments.values():
        layers, trees = {}, {}
        for bounds in experiment.bounds.values():
            for name, bound in (item for of_row in bounds.values() for item in of_row.items()):
                parameter = name.rpartition("__")[2]
                if parameter in ("max_layers", "search_layers"):
                    layers.setdefault(bound.unbounded, set()).add(bound.here)
                elif parameter == "n_estimators":
                    trees[bound.unbounded] = bound.here
        assert all(len(here) == 1 for here in layers.values()), experiment.id
        if plan.suite != "smoke":
            # Within a number of trees of each other, as rounding up may have it.
            for column, preset in experiment.columns.items():
                for dataset in experiment.present():
                    assert unbounded(plan, experiment, column, dataset) == [], (experiment.id, preset)
            shares = [(here / published, (here - 1) / published) for published, here in trees.items() if here > LEAST]
            assert not shares or max(low for _, low in shares) < min(high for high, _ in shares), experiment.id
            assert len(set(trees.values())) == len(trees), f"{experiment.id}: forests of other sizes are equal"


def unbounded(plan, experiment, column, dataset):
    """Parameters of a run that count trees, rounds or epochs, and that the suite does not bound though it should."""
    preset = experiment.columns[column]
    run = plan.run(dataset, preset)
    changes = plan.suite_config.table_budgets
    changes = changes.get(experiment.paper, {}) | changes.get(experiment.id, {})
    budget = replace(plan.suite_config.budget, **changes)
    given = {} if run is None else dict(run.params)
    learner = given.pop("learner", None)
    given |= {f"learner__{name}": value for name, value in learner["params"].items()} if learner else {}
    kinds = {"n_estimators": budget.trees, "search_estimators": budget.trees, "iterations": budget.trees}
    kinds |= {"max_iter": max(budget.trees, budget.epochs), "epochs": budget.epochs}
    return [
        name
        for name, value in given.items()
        if kinds.get(name.rpartition("__")[2], 1) < 1
        and value > LEAST
        and name not in experiment.bounds[column][dataset]
    ]


#: Fewer seeds than cost allows: the predictions of ten would not find room in the stored reports (40 * 10^6 bytes).
TOO_LARGE = {("depth-width", "adult+train-0.3")}


def test_all_five_folds_and_ten_seeds_where_fits_take_less_than_a_minute(plan):
    """By the costs that were measured; quick has at most three repeats of anything."""
    datasets = read_configuration(ROOT).datasets
    costs = expected_costs(plan.runs, read_costs(ROOT), ROWS) if plan.suite in ("standard", "paper") else {}
    for experiment in plan.experiments.values():
        for dataset in experiment.present() if experiment.columns else ():
            place, protocol = (experiment.id, dataset), datasets[dataset.partition("+")[0]]["protocol"]
            repeats = experiment.repeats[dataset]
            if plan.suite == "quick":
                assert repeats <= 3, place
            elif costs and experiment.kind == "table":
                if protocol["kind"] == "cv":
                    assert repeats == protocol["folds"], place
                elif repeats < 10 and place not in TOO_LARGE:
                    seconds = [costs.get((dataset, preset)) for preset in experiment.columns.values()]
                    assert any(cost is None or cost.seconds > 60 for cost in seconds), place


def test_a_model_meets_itself_on_every_data_set_of_a_table(plan):
    """Other forms of a data set, and the planted functions, count once. Small suites have one of each design."""
    datasets = read_configuration(ROOT).datasets

    def names(experiment):
        bases = (variant.partition("+")[0] for variant in experiment.present())
        return {datasets[base].get("published_as", base).partition("_")[0] for base in bases}

    if plan.suite in ("standard", "paper"):
        tables = [e for e in plan.experiments.values() if e.kind == "table" and e.columns]
        assert set().union(*map(names, tables)) <= names(plan.experiments["self-check"])


def test_missing_experiments_say_what_they_lack(plan):
    for experiment in plan.experiments.values():
        assert (experiment.status == "ready") == (experiment.reason == "")


def test_metrics_are_known_everywhere(plan):
    assert {metric for e in plan.experiments.values() for metric in e.metrics} <= set(METRICS)


def with_learner(root, learner, **others):
    models = MODELS | {
        "trains": {
            "label": "T",
            "estimator": {"classification": "sklearn.ensemble:BaggingClassifier"},
            "params": {"learner": learner, "n_estimators": 30},
            "libraries": ["numpy"],
        }
    }
    experiments = EXPERIMENTS | {
        "two": EXPERIMENTS["two"] | {"models": {"trains": "trains"}},
    }
    write(root, models=models | others, experiments=experiments)
    return load_plan(root)


def test_a_model_can_name_another_one_that_it_trains(root):
    """With the other's parameters, bounded by the suite, and its libraries."""
    plan = with_learner(root, "forest", forest=MODELS["forest"] | {"libraries": ["scipy"]})
    run = plan.run("iris", "trains")
    assert run.params == {
        "learner": {
            "estimator": "sklearn.ensemble:RandomForestClassifier",
            "params": {"n_estimators": 10, "max_depth": 8},
        },
        "n_estimators": 5,
    }
    assert run.libraries == ("numpy", "scipy")


def test_a_learner_that_is_not_written_yet_keeps_its_model_out(root):
    plan = with_learner(root, "future")
    assert plan.experiments["two"].missing_models == {"trains": "not implemented"}


def test_an_unknown_learner_is_named(root):
    with pytest.raises(ConfigError, match=r"models.yaml: trains/params/learner is 'foresd'.*Did you mean 'forest'"):
        with_learner(root, "foresd")


def test_learners_do_not_have_learners(root):
    with pytest.raises(ConfigError, match=r"trains/params/learner is 'trains', which has a learner itself"):
        with_learner(root, "trains")


# Timed in turn -----------------------------------------------------------------------------------------------------

TIMED = {"against": "small", "datasets": {"tiny": ["iris", "wine+rows-50"]}}


def timed(root, **changes):
    row = EXPERIMENTS["one"] | {"timings": TIMED | changes}
    config = CONFIG | {"suites": CONFIG["suites"] | {"tiny": CONFIG["suites"]["tiny"] | {"timing_rounds": 12}}}
    write(root, config, experiments=EXPERIMENTS | {"one": row})
    return load_plan(root)


def test_timings_are_of_implemented_columns_and_of_one_split_a_round(root):
    plan = timed(root)
    first, second = plan.timings
    assert [(one.experiment, one.dataset, one.base) for one in plan.timings] == [
        ("one", "iris", "iris"),
        ("one", "wine+rows-50", "wine"),  # no row of the table
    ]
    assert first.columns == ("forest", "small")  # `future` is not written
    assert [(column, again) for column, _, again in first.turns()] == [
        ("forest", False),
        ("small", False),
        ("small", True),
    ]
    n = yaml.safe_load((ROOT / "config/datasets/iris.yaml").read_text())["protocol"]["repeats"]
    assert first.repeats == tuple(k % n for k in range(12))
    assert first.runs[0].params == plan.run("iris", "forest").params
    assert not any(run.memory for run in second.runs)
    assert plan.only(["two"]).timings == ()
    assert from_json(type(plan), to_json(plan), "plan") == plan


def test_chosen_columns_are_timed_with_the_one_they_are_compared_with(root):
    assert timed(root, columns=["forest"]).timings[0].columns == ("forest", "small")
    with pytest.raises(ConfigError, match=r"one/timings is 'frost'; choose one of .* Did you mean 'forest'"):
        timed(root, columns=["frost"])
    with pytest.raises(ConfigError, match="one/timings/datasets is 'tyni'"):
        timed(root, datasets={"tyni": ["iris"]})


@pytest.mark.parametrize("suite", ["smoke", "quick", "standard", "paper"])
def test_tables_about_cost_are_timed_in_every_suite(suite):
    """Those whose claims are about cost."""
    timings = load_plan(ROOT, {"suite": suite}).timings
    about_cost = {"hidf-table3", "cs-table1", "cs-table2", "cs-growth", "interp-fig7"}
    # Its turns, with all test rows of MNIST, would have the machine to themselves for most of an hour.
    assert {one.experiment for one in timings} >= about_cost - ({"cs-table1"} if suite == "standard" else set())
    assert all(one.against in one.columns and len(one.repeats) > 1 for one in timings)
