"""Importances that cells save: those of the right model, on the right rows, in the order of the columns."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from cascadeforest import CascadeForestRegressor, GCForestClassifier, RandomForestClassifier
from cascadeforest.data.dataset import Split
from cascadeforest.data.draws import with_permuted_copies
from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import seed_for
from cascadeforest.experiments.extras import arrays_of, known_extras
from cascadeforest.experiments.extras.importances import held_out
from cascadeforest.experiments.fitting import Fitted
from cascadeforest.experiments.importance_rules import RULES
from cascadeforest.experiments.resolve import load_plan
from cascadeforest.explanations import Explainer

ROOT = Path(__file__).parents[2]
#: Every extra of importances, and whether it is about forests.
OF_FOREST = {name: rule.model == "forest" for name, rule in RULES.items()}
TABLES = ("interp-table4", "interp-fig7", "interp-table5")


def fitted(model, n_validation=0, data=load_breast_cancer, task="classification", features=6):
    """Rows 0, 4, 8, ... train; of the others the first are validation rows if there are any, the rest test rows."""
    X, y = data(return_X_y=True)
    X = with_permuted_copies(X[:, :features].astype(np.float32), dataset="twice", repeat=0)
    train = np.arange(0, len(y), 4)
    others = np.setdiff1d(np.arange(len(y)), train)
    validation, test = others[:n_validation], others[n_validation:]
    has = n_validation > 0
    split = Split(
        X[train],
        y[train],
        X[validation] if has else None,
        y[validation] if has else None,
        X[test],
        y[test],
        train,
        test,
        None,
    )
    return Fitted(model.fit(X[train], y[train]), split, X[train], X[test], {}, task, "twice", 0)


def test_the_extras_of_importances_keep_their_names():
    forests = ("mdi_rf", "mdi_oob_rf", "mda_rf")
    cascades = ("mdi_df", "mdi_df_additive", "mdi_df_multiplicative", "mda_df")
    assert dict.fromkeys(forests, True) | dict.fromkeys(cascades, False) == OF_FOREST


@pytest.fixture(scope="module")
def forest():
    return fitted(RandomForestClassifier(20, max_depth=5, random_state=0))


@pytest.fixture(scope="module")
def cascade():
    return fitted(GCForestClassifier(2, 8, n_folds=3, max_layers=2, patience=2, keep="last", random_state=0))


def test_mdi_of_the_fit_is_that_of_the_contributions(forest):
    """The paper's Eq. 6 equals its Eq. 10: decreases in impurity are covariances of contributions and responses."""
    found = arrays_of("mdi_rf", forest)["importances"]
    by_contributions = Explainer(forest.estimator, forest.X_train, forest.split.y_train).importances("in_bag")
    assert found == pytest.approx(by_contributions, rel=1e-9)
    assert found.shape == (12,)


def test_mdi_oob_is_that_of_rows_out_of_the_bag(forest):
    found = arrays_of("mdi_oob_rf", forest)["importances"]
    explainer = Explainer(forest.estimator, forest.X_train, forest.split.y_train)
    assert found.tolist() == explainer.importances("out_of_bag").tolist()
    # On rows that trees did not learn from, a column without meaning does not seem important.
    assert np.abs(found[6:].mean()) < arrays_of("mdi_rf", forest)["importances"][6:].mean() / 2


def test_each_calibration_is_the_one_of_its_name(cascade):
    found = {}
    for extra, calibration in (
        ("mdi_df", "partial"),
        ("mdi_df_additive", "additive"),
        ("mdi_df_multiplicative", "multiplicative"),
    ):
        explainer = Explainer(cascade.estimator, cascade.X_train, cascade.split.y_train, calibration=calibration)
        found[extra] = arrays_of(extra, cascade)["importances"]
        assert found[extra].tolist() == explainer.importances("held_out").tolist()
        assert found[extra][:6].mean() > found[extra][6:].max()  # the copies stand behind the columns
    assert len({tuple(values) for values in found.values()}) == 3


def test_an_official_model_is_explained_by_the_official_preset(cascade):
    official = fitted(GCForestClassifier(2, 8, preset="official", n_folds=3, max_layers=2, patience=2, random_state=0))
    found = arrays_of("mdi_df", official)["importances"]
    rows = official.X_train, official.split.y_train
    assert found.tolist() == Explainer(official.estimator, *rows, preset="official").importances().tolist()
    assert found.tolist() != Explainer(official.estimator, *rows, preset="paper").importances().tolist()


def test_mda_is_ten_permutations_of_held_out_rows(forest):
    found = arrays_of("mda_rf", forest)["importances"]
    X, y = held_out(forest)
    seed = seed_for("permutations", "twice", 0)
    options = {"n_repeats": 10, "random_state": seed, "scoring": "accuracy"}
    assert found.tolist() == permutation_importance(forest.estimator, X, y, **options).importances_mean.tolist()
    assert found[:6].mean() > found[6:].mean() + 0.005


def test_mda_of_a_regression_is_in_the_unit_of_the_target():
    model = CascadeForestRegressor(2, 8, n_folds=3, max_layers=1, patience=1, random_state=0)
    one = fitted(model, data=load_diabetes, task="regression", features=10)
    found = arrays_of("mda_df", one)["importances"]
    X, y = held_out(one)
    worst = X.copy()
    worst[:, 2] = np.random.default_rng(0).permutation(worst[:, 2])  # body mass index
    errors = [np.sqrt(np.mean((model.predict(rows) - y) ** 2)) for rows in (X, worst)]
    assert found[2] == pytest.approx(errors[1] - errors[0], rel=0.5)
    assert found[2] > 1


def test_held_out_rows_are_validation_rows_where_the_split_has_them():
    one = fitted(RandomForestClassifier(3, random_state=0), n_validation=50)
    X, y = held_out(one)
    assert X.tolist() == one.split.X_validation.tolist()
    assert y.tolist() == one.split.y_validation.tolist()


@pytest.mark.parametrize("n_validation", [0, 300])
def test_of_more_held_out_rows_as_many_as_training_rows_are_drawn(n_validation):
    one = fitted(RandomForestClassifier(3, random_state=0), n_validation)
    pool, labels = (
        (one.X_test, one.split.y_test) if not n_validation else (one.split.X_validation, one.split.y_validation)
    )
    X, y = held_out(one)
    assert len(X) == len(y) == len(one.split.y_train) == 143 < len(pool)
    rows = {tuple(row): label for row, label in zip(pool.tolist(), labels, strict=True)}
    assert [rows[tuple(row)] for row in X.tolist()] == y.tolist()
    assert len({tuple(row) for row in X.tolist()}) == 143  # none twice
    # Another model sees the same rows, another repeat others.
    other = replace(one, estimator=LogisticRegression())
    assert held_out(other)[0].tolist() == X.tolist()
    assert held_out(replace(one, repeat=1))[0].tolist() != X.tolist()


def test_fewer_test_rows_than_training_rows_are_all_taken():
    one = fitted(RandomForestClassifier(3, random_state=0))
    few = replace(one, X_test=one.X_test[:20], split=replace(one.split, y_test=one.split.y_test[:20]))
    assert held_out(few)[0].tolist() == few.X_test.tolist()


@pytest.mark.parametrize("extra", OF_FOREST)
def test_each_extra_saves_numbers_and_cost_and_leaves_the_model(extra, forest, cascade):
    one = forest if OF_FOREST[extra] else cascade
    before = one.estimator.predict_proba(one.X_test)
    arrays = arrays_of(extra, one)
    assert arrays.keys() == {"importances", "cpu_seconds"}
    assert arrays["importances"].dtype == np.float64
    assert arrays["importances"].shape == (12,)
    assert arrays["cpu_seconds"].shape == ()
    assert 0 <= arrays["cpu_seconds"] < 60
    assert one.estimator.predict_proba(one.X_test).tolist() == before.tolist()
    assert arrays_of(extra, one)["importances"].tolist() == arrays["importances"].tolist()


@pytest.mark.parametrize("extra", OF_FOREST)
def test_a_model_of_the_other_kind_is_refused(extra, forest, cascade):
    one = cascade if OF_FOREST[extra] else forest
    name = type(one.estimator).__name__
    with pytest.raises(ConfigError, match=rf"the extra '{extra}' is about .*, which {name} is not. Give it to the col"):
        arrays_of(extra, one)


# The plan.


@pytest.mark.parametrize("suite", ["smoke", "quick", "standard", "paper"])
def test_each_model_saves_the_importances_that_are_about_it(suite):
    plan = load_plan(ROOT, {"suite": suite})
    forests = {(e.id, c) for e in plan.experiments.values() for c in e.columns if c.startswith("random_forest")}
    for name in TABLES:
        experiment = plan.experiments[name]
        assert set(experiment.all_extras) <= OF_FOREST.keys() <= set(known_extras())
        for column, extras in experiment.extras.items():
            assert extras, f"{name}: {column} saves nothing"
            assert {OF_FOREST[extra] for extra in extras} == {(name, column) in forests}
            for dataset in experiment.present():
                run = plan.run(dataset, experiment.columns[column])
                assert set(extras) <= set(run.extras)
                assert {OF_FOREST[extra] for extra in run.extras} == {(name, column) in forests}
        for row in experiment.options["columns"].values():
            assert row["model"] in experiment.columns


def test_extras_of_a_column_that_is_none_are_refused(tmp_path):
    """A list by column must not lose an extra because of a slip."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copytree(ROOT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    path = tmp_path / "config" / "experiments" / "interp.yaml"
    content = yaml.safe_load(path.read_text())
    content["interp-table4"]["extras"]["random_forrest"] = content["interp-table4"]["extras"].pop("random_forest")
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=r"interp-table4/extras is 'random_forrest'.*Did you mean 'random_forest'"):
        load_plan(tmp_path, {"suite": "smoke"})
