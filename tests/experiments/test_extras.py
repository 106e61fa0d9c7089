"""Arrays that cells save for figures: what is in them, and what is said when a model cannot give them."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from cascadeforest import (
    CascadeForestRegressor,
    DDBFClassifier,
    Explainer,
    GCForestClassifier,
    GCForestCSClassifier,
    HiDFClassifier,
    MDDFClassifier,
)
from cascadeforest.data.dataset import Split
from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments import code_digest, projection
from cascadeforest.experiments.extras import arrays_of, extra_name, known_extras, needs_log
from cascadeforest.experiments.fitting import Fitted, listening
from cascadeforest.experiments.jobs import digest_for
from cascadeforest.experiments.projection import draw_rows, scatter_ratio, tsne_plane

X, Y = load_iris(return_X_y=True)
#: Rows 0, 2, 4, ... train, the others test; numbers of the data set's rows are ten times theirs.
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)


def fitted(model, data=X, target=Y, task="classification"):
    split = Split(data[TRAIN], target[TRAIN], None, None, data[TEST], target[TEST], 10 * TRAIN, 10 * TEST, None)
    with listening(model) as lines:
        model.fit(data[TRAIN], target[TRAIN])
    return Fitted(model, split, data[TRAIN], data[TEST], {}, task, "iris", 0, log=tuple(lines))


@pytest.fixture(scope="module")
def mddf():
    parameters = {"gamma": 0.85, "mu": 0.05, "theta": 2, "max_layers": 4, "patience": 4, "random_state": 1}
    return fitted(MDDFClassifier(2, 5, **parameters))


def test_layer_scores_of_training_rows_may_be_of_more_layers(mddf):
    arrays = arrays_of("layer_scores", mddf)
    assert arrays["train"].tolist() == mddf.estimator.validation_scores_.tolist()
    assert arrays["test"].tolist() == [np.mean(p == Y[TEST]) for p in mddf.estimator.staged_predict(X[TEST])]
    assert len(arrays["test"]) == mddf.estimator.n_layers_ < len(arrays["train"]) == 4


def test_layer_scores_of_a_regression_are_errors():
    data, target = load_diabetes(return_X_y=True)
    model = CascadeForestRegressor(2, 5, max_layers=2, patience=2, random_state=0)
    arrays = arrays_of("layer_scores", fitted(model, data, target, "regression"))
    assert arrays["train"].tolist() == (-model.validation_scores_).tolist()
    assert arrays["test"][-1] == pytest.approx(np.sqrt(np.mean((model.predict(data[TEST]) - target[TEST]) ** 2)))
    assert (arrays["train"] > 0).all()


def test_layer_scores_of_another_scorer_are_refused():
    model = fitted(GCForestClassifier(2, 3, scoring="neg_log_loss", max_layers=1, random_state=0))
    with pytest.raises(ConfigError, match=r"scoring is 'neg_log_loss', but the extra 'layer_scores' .* Leave scoring"):
        arrays_of("layer_scores", model)


def test_margin_ratios_are_those_of_staged_margins(mddf):
    arrays = arrays_of("margin_ratios", mddf)
    assert arrays["train"].tolist() == mddf.estimator.margin_ratio_.tolist()
    margins = list(mddf.estimator.staged_margins(X[TEST], Y[TEST]))
    assert arrays["test"] == pytest.approx([np.std(z) / np.mean(z) for z in margins])
    assert arrays["n_test"] == 75


def test_factors_are_those_of_all_layers_that_were_grown(mddf):
    arrays = arrays_of("factors", mddf)
    assert arrays["alphas"].tolist() == mddf.estimator.alphas_.tolist()
    assert len(arrays["alphas"]) == len(mddf.estimator.validation_scores_)
    assert arrays["shares"] == pytest.approx(arrays["alphas"] / np.cumsum(arrays["alphas"]))


def test_test_rows_of_an_unknown_class_have_no_margin(mddf):
    y = Y[TEST].copy()
    y[:5] = 7
    arrays = arrays_of("margin_ratios", replace(mddf, split=replace(mddf.split, y_test=y)))
    (first, *_) = mddf.estimator.staged_margins(X[TEST][5:], y[5:])
    assert arrays["test"][0] == pytest.approx(np.std(first) / np.mean(first))
    assert arrays["n_test"] == 70


def test_a_mean_margin_below_zero_has_an_infinite_ratio(mddf):
    wrong = (Y[TEST] + 1) % 3
    arrays = arrays_of("margin_ratios", replace(mddf, split=replace(mddf.split, y_test=wrong)))
    assert np.isinf(arrays["test"]).all()


def test_representations_are_those_of_the_training_rows(mddf, monkeypatch):
    monkeypatch.setattr(projection, "N_ROWS", 40)
    model = fitted(mddf.estimator.__class__(**mddf.estimator.get_params()).set_params(keep="last"))
    arrays = arrays_of("representations-0-1-3-9", model)
    assert arrays["layers"].tolist() == [0, 1, 3]  # there is no layer 9
    assert arrays["n_layers"] == 4
    assert len(arrays["rows"]) == 40
    assert arrays["classes"].tolist() == Y[arrays["rows"] // 10].tolist()
    assert arrays["coordinates"].shape == (3, 40, 2)
    assert arrays["first_features"].tolist() == X[arrays["rows"] // 10, :2].tolist()
    place = np.searchsorted(TRAIN, arrays["rows"] // 10)
    features = [X[TRAIN], *model.estimator.staged_training_features(X[TRAIN], Y[TRAIN])]
    for layer, plane, ratio in zip((0, 1, 3), arrays["coordinates"], arrays["feature_ratios"], strict=True):
        assert plane.tolist() == tsne_plane(features[layer][place]).tolist()
        assert ratio == pytest.approx(scatter_ratio(features[layer][place], arrays["classes"]))


def test_a_cascade_of_too_few_layers_has_an_empty_plane(mddf):
    arrays = arrays_of("representations-9", mddf)
    assert arrays["coordinates"].shape == (0, 75, 2)
    assert arrays["layers"].tolist() == arrays["feature_ratios"].tolist() == []


def test_starts_of_t_sne_are_random_and_of_the_rows_that_are_drawn(mddf, monkeypatch):
    monkeypatch.setattr(projection, "N_ROWS", 40)
    drawn, arrays = (arrays_of(name, mddf) for name in ("representations-0-9", "plane_starts-0-9"))
    assert arrays["layers"].tolist() == [0]
    rows = X[drawn["rows"] // 10]
    ratios = [scatter_ratio(tsne_plane(rows, 0, start), drawn["classes"]) for start in range(5)]
    assert arrays["ratios"].tolist() == [ratios]
    assert len({*ratios, scatter_ratio(drawn["coordinates"][0], drawn["classes"])}) == 6


# Rows that leave early.


def test_decided_rows_are_those_of_each_level_of_a_cascade_with_screening():
    model = fitted(GCForestCSClassifier(2, 5, max_layers=3, patience=3, keep="last", random_state=0))
    arrays, reached = arrays_of("decided_rows", model), model.estimator.n_rows_
    assert arrays["train"].tolist() == [*(reached[:-1] - reached[1:]), reached[-1]]
    left = [np.count_nonzero(model.estimator.decision_level(X[TEST]) == k) for k in range(len(reached))]
    assert arrays["test"].tolist() == left
    assert arrays["test"][0] > 0
    assert "easy_train" not in arrays


def test_rows_that_the_first_iteration_finds_easy_are_counted_where_it_is_the_only_one():
    model = fitted(DDBFClassifier(10, max_layers=1, keep="last", validation="oob", random_state=0))
    arrays = arrays_of("decided_rows", model)
    assert arrays["train"].tolist() == arrays["test"].tolist() == [75]
    assert arrays["easy_train"] == model.estimator.easy_counts_[0].sum() > 0
    assert arrays["easy_test"] == model.estimator.easy(X[TEST]).sum() > 0


def test_a_cascade_that_lets_no_row_leave_saves_no_decided_rows(mddf):
    assert arrays_of("decided_rows", mddf) == {}


# Importances under several definitions.


def test_definitions_of_importance_are_those_of_the_explainer():
    data, target = load_diabetes(return_X_y=True)
    data, target = data[:150], target[:150]
    model = fitted(CascadeForestRegressor(2, 5, max_layers=2, patience=2, random_state=0), data, target, "regression")
    arrays, explainer = (
        arrays_of("importance_definitions", model),
        Explainer(model.estimator, data[TRAIN], target[TRAIN]),
    )
    assert arrays["in_bag"].tolist() == [own.tolist() for own in explainer.staged_importances("in_bag")]
    assert arrays["uncentred"][-1] == pytest.approx(explainer.importances(centred=False))
    assert arrays["uncentred"][-1] != pytest.approx(explainer.importances(), rel=0.01)


# Interactions, and how well classes are told apart by them.


@pytest.fixture(scope="module")
def hidf():
    parameters = {"preset": "official", "n_forests": 1, "use_class_vectors": False, "max_layers": 3, "keep": "last"}
    return fitted(HiDFClassifier(n_estimators=20, max_new_features=5, random_state=0, **parameters))


def test_interactions_stand_behind_the_features(hidf):
    arrays = arrays_of("interactions", hidf)
    found = hidf.estimator.interactions_
    assert len(found) > 0
    assert arrays["order"].tolist() == [1] * 4 + [one.order for one in found]
    assert arrays["layer"].tolist() == [0] * 4 + [one.layer for one in found]
    assert np.isnan(arrays["stability"][:4]).all()
    assert arrays["stability"][4:].tolist() == [one.stability for one in found]
    assert arrays["importance"].tolist() == hidf.estimator.importances_.tolist()
    assert arrays["root_importance"].tolist() == hidf.estimator.root_importances_.tolist()
    assert arrays["importance"][4:].tolist() == [one.importance for one in found]
    assert arrays["rule"].tolist() == [str(one) for one in found]
    assert arrays["n_new"].tolist() == hidf.estimator.n_new_.tolist()
    assert all(values.dtype != object for values in arrays.values())  # else they could not be loaded again


def test_without_interactions_there_are_the_features_only():
    """A threshold that no stability exceeds."""
    model = HiDFClassifier(1, 5, stability_threshold=1.0, max_layers=2, patience=2, keep="last", random_state=0)
    arrays = arrays_of("interactions", fitted(model))
    assert arrays["order"].tolist() == [1] * 4
    assert len(arrays["importance"]) == len(arrays["root_importance"]) == 4
    assert arrays["rule"].shape == (0,)
    assert arrays["rule"].dtype.kind == "U"
    assert arrays["n_new"].tolist() == [0, 0]


def test_separability_is_that_of_the_input_and_of_what_each_layer_hands_on(hidf):
    accuracy = arrays_of("separability", hidf)["accuracy"]
    features = [(X[TRAIN], X[TEST])] + [
        tuple(
            hidf.estimator.interaction_values(rows)[:, [one.layer <= layer for one in hidf.estimator.interactions_]]
            for rows in (X[TRAIN], X[TEST])
        )
        for layer in (1, 2, 3)
    ]
    expected = []
    for train, test in features:
        middle, spread = train.mean(axis=0), train.std(axis=0)
        linear = LogisticRegression(max_iter=1000).fit((train - middle) / spread, Y[TRAIN])
        expected.append(np.mean(linear.predict((test - middle) / spread) == Y[TEST]))
    assert accuracy == pytest.approx(expected, abs=1.5 / len(TEST))  # sums of another order: a row may change sides
    assert len(accuracy) == hidf.estimator.n_layers_ + 1 == 4


def test_separability_learns_from_training_rows_only(hidf):
    """With the test labels turned round the classifier is as wrong as it was right."""
    accuracy = arrays_of("separability", hidf)["accuracy"]
    y = (Y[TEST] + 1) % 3
    turned = arrays_of("separability", replace(hidf, split=replace(hidf.split, y_test=y)))["accuracy"]
    assert (turned <= 1 - accuracy).all()
    assert accuracy[0] > 0.9


def test_where_a_layer_hands_nothing_on_the_most_frequent_class_is_predicted():
    model = HiDFClassifier(1, 5, stability_threshold=1.0, max_layers=2, patience=2, keep="last", random_state=0)
    unequal = np.where(np.arange(150) < 90, 0, Y)
    accuracy = arrays_of("separability", fitted(model, target=unequal))["accuracy"]
    assert accuracy[1:].tolist() == [np.mean(unequal[TEST] == 0)] * 2
    assert accuracy[0] > accuracy[1]


def test_representations_of_interactions_leave_the_features_out(hidf):
    arrays = arrays_of("representations-1-3", hidf)
    place = np.searchsorted(TRAIN, arrays["rows"] // 10)
    values = hidf.estimator.interaction_values(X[TRAIN])[place]
    first = values[:, [one.layer == 1 for one in hidf.estimator.interactions_]]
    assert arrays["feature_ratios"] == pytest.approx([scatter_ratio(v, arrays["classes"]) for v in (first, values)])


@pytest.mark.parametrize(
    ("extra", "attribute"),
    [
        ("layer_scores", "validation_scores_"),
        ("margin_ratios", "margin_ratio_"),
        ("factors", "alphas_"),
        ("representations-1", "staged_training_features"),
        ("interactions", "interactions_"),
        ("separability", "staged_interaction_values"),
    ],
)
def test_a_model_without_layers_is_named(extra, attribute):
    with pytest.raises(
        ConfigError, match=f"'{extra.split('-')[0]}' needs '{attribute}', which DummyClassifier does not"
    ):
        arrays_of(extra, fitted(DummyClassifier()))


@pytest.mark.parametrize("extra", ["layer_score", "representations", "representations-x", "layer_scores-1", "", "-1"])
def test_an_extra_that_there_is_not_is_named(extra, mddf):
    with pytest.raises(ConfigError, match=f"the extra '{extra}' is unknown; choose from .*'representations'"):
        arrays_of(extra, mddf)


def test_extras_of_layers_have_the_layers_in_their_names():
    assert extra_name("layer_scores", {"layers": [1]}, "x") == "layer_scores"
    assert extra_name("representations", {"layers": [1, 5]}, "x") == "representations-1-5"


@pytest.mark.parametrize("layers", [None, [], 5, ["1"], [-1], [True]])
def test_layers_that_are_none_are_refused(layers):
    with pytest.raises(ConfigError, match=r"x\.yaml: fig: options/layers is .*'representations' saves layers"):
        extra_name("representations", {"layers": layers}, "x.yaml: fig")


def test_an_edit_of_an_extra_makes_only_those_cells_stale_that_save_it(monkeypatch):
    monkeypatch.setattr(code_digest, "_meaning", lambda path, _: path.name)
    before = [digest_for("sklearn.svm:SVC", extras) for extras in ([], ["layer_scores"], ["representations-1-5"])]
    assert len(set(before)) == 3
    monkeypatch.setattr(
        code_digest, "_meaning", lambda path, _: "edited" if path.name == "representations.py" else path.name
    )
    after = [digest_for("sklearn.svm:SVC", extras) for extras in ([], ["layer_scores"], ["representations-1-5"])]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False]


# Rows in the plane.


def test_the_scatter_by_hand():
    """Classes at -2 +- 1 and 1 +- 0 on a line, one row more in the second: mean 0; within 2, between 2 * 4 + 4 * 1."""
    points = np.array([[-3.0, 5], [-1, 5], [1, 5], [1, 5], [1, 5], [1, 5]])
    assert scatter_ratio(points, np.array([4, 4, 9, 9, 9, 9])) == pytest.approx(2 / 12)


def test_both_parts_make_the_total_scatter():
    rng = np.random.default_rng(0)
    points, classes = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    total = np.sum((points - points.mean(axis=0)) ** 2)
    within = sum(np.sum((points[classes == c] - points[classes == c].mean(axis=0)) ** 2) for c in range(4))
    assert scatter_ratio(points, classes) == pytest.approx(within / (total - within))


def test_one_class_has_no_scatter_between():
    assert scatter_ratio(np.array([[0.0], [1.0]]), np.zeros(2)) == np.inf


def test_rows_are_drawn_by_data_set_and_repeat_only():
    drawn = draw_rows(5000, "digits", 0)
    assert len(set(drawn.tolist())) == projection.N_ROWS
    assert drawn.tolist() == sorted(drawn.tolist()) == draw_rows(5000, "digits", 0).tolist()
    assert drawn.tolist() != draw_rows(5000, "digits", 1).tolist() != draw_rows(5000, "letter", 1).tolist()
    assert draw_rows(7, "digits", 0).tolist() == list(range(7))


def test_the_plane_is_the_same_each_time_and_keeps_groups_apart():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    values = rng.normal(size=(40, 4)) + 50 * group[:, None]
    plane = tsne_plane(values)
    assert plane.dtype == np.float32
    assert plane.tolist() == tsne_plane(values).tolist()
    distance = np.linalg.norm(plane[:, None] - plane[None], axis=2) + 1e9 * np.eye(40)
    assert (group[distance.argmin(axis=1)] == group).all()


@pytest.mark.parametrize("values", [np.zeros((2, 3)), np.ones((50, 3))])
def test_where_there_is_nothing_to_lay_out_all_rows_are_at_one_place(values):
    assert not tsne_plane(values).any()


@pytest.fixture(scope="module")
def ddbf():
    parameters = {"threshold": "median", "vote_fraction": 0.8, "max_layers": 3, "patience": 3, "keep": "last"}
    return fitted(DDBFClassifier(10, validation="oob", random_state=1, **parameters))


def test_iterations_count_rows_of_each_class(ddbf):
    arrays = arrays_of("iterations", ddbf)
    model = ddbf.estimator
    assert model.n_layers_ == 3
    assert arrays["class_counts_train"].tolist() == model.class_counts_.tolist()
    assert arrays["easy_counts_train"].tolist() == model.easy_counts_.tolist()
    assert arrays["easy_counts_train"].sum() > 0
    level = model.decision_level(X[TEST])
    for i in range(3):
        reached = np.bincount(Y[TEST][level >= i], minlength=3)
        easy = model.easy(X[TEST], i) & (level >= i)
        assert arrays["class_counts_test"][i].tolist() == reached.tolist()
        assert arrays["easy_counts_test"][i].tolist() == np.bincount(Y[TEST][easy], minlength=3).tolist()
        assert arrays["decided_counts_test"][i].tolist() == np.bincount(Y[TEST][level == i], minlength=3).tolist()
    for name in ("fit_cpu_seconds", "predict_cpu_seconds"):
        assert arrays[name].shape == (3,)
        assert (arrays[name] >= 0).all()
    assert arrays["fit_cpu_seconds"].sum() > 0


def test_iterations_in_which_the_mean_took_the_place_of_mutual_information(ddbf):
    """Gini scores are never positive, so that mutual information passes no row."""
    assert not arrays_of("iterations", ddbf)["fell_back"].any()
    with pytest.warns(UserWarning, match="had no easy row"):
        model = fitted(clone(ddbf.estimator).set_params(leaf_score="gini", threshold="mutual_information"))
    arrays = arrays_of("iterations", model)
    assert arrays["fell_back"].tolist() == [True] * len(arrays["is_valid"])
    assert arrays["easy_counts_train"][0].sum() > 0


def test_times_of_iterations_are_those_of_the_log(ddbf):
    """The lines before and after the iterations do not count; each iteration ends with its line."""
    log = [(1.0, ""), (3.0, "iteration 1: a"), (4.5, "iteration 2: b"), (9.0, "iteration 3: c"), (20.0, "kept 3")]
    arrays = arrays_of("iterations", replace(ddbf, log=tuple(log)))
    assert arrays["fit_cpu_seconds"].tolist() == [2.0, 1.5, 4.5]
    assert [line.split(":")[0] for _, line in ddbf.log[1:4]] == ["iteration 1", "iteration 2", "iteration 3"]


def test_iterations_without_a_log_are_refused(ddbf):
    with pytest.raises(ConfigError, match="a line in the log for each of 3 iterations, and DDBFClassifier logged 0"):
        arrays_of("iterations", replace(ddbf, log=()))


def test_one_extra_reads_the_log():
    assert [extra for extra in known_extras() if needs_log(extra)] == ["iterations"]
    assert not needs_log("unknown")


@pytest.mark.parametrize("verbose", [0, 2])
def test_listening_leaves_logging_and_the_model_as_they_were(verbose, caplog):
    logger, model = logging.getLogger("cascadeforest"), DDBFClassifier(5, max_layers=1, verbose=verbose)
    before = logger.level, list(logger.handlers)
    listener = listening(model)
    lines = listener.__enter__()
    assert model.verbose == 1
    assert not listener.__exit__(ZeroDivisionError, ZeroDivisionError(), None)  # the error goes on
    assert (logger.level, logger.handlers) == before
    assert model.verbose == verbose
    assert lines[0][1] == ""


def test_iterations_of_a_class_that_no_training_row_has(ddbf):
    few = Y[TRAIN] < 2
    split = replace(ddbf.split, X_train=X[TRAIN][few], y_train=Y[TRAIN][few])
    model = clone(ddbf.estimator)
    with listening(model) as lines:
        model.fit(X[TRAIN][few], Y[TRAIN][few])
    seen = replace(ddbf, estimator=model, split=split, X_train=X[TRAIN][few], log=tuple(lines))
    arrays = arrays_of("iterations", seen)
    assert arrays["class_counts_test"][0].tolist() == np.bincount(Y[TEST])[:2].tolist()


def test_models_without_iterations_save_none():
    assert arrays_of("iterations", fitted(LogisticRegression(max_iter=1000))) == {}


def test_a_decision_grid_covers_all_rows_and_predicts_them():
    two = X[:, [1, 2]]
    model = fitted(GCForestClassifier(2, 3, max_layers=1, random_state=0), two)
    arrays = arrays_of("decision_grid", model)
    assert arrays["predicted"].shape == arrays["confidence"].shape == (200, 200)
    assert arrays["x"][0] < two[:, 0].min() < two[:, 0].max() < arrays["x"][-1]
    assert arrays["y"][0] < two[:, 1].min() < two[:, 1].max() < arrays["y"][-1]
    point = np.array([[arrays["x"][30], arrays["y"][120]]])  # x is the first feature, a line of the grid one y
    assert arrays["predicted"][120, 30] == model.estimator.predict(point)[0]
    assert arrays["confidence"][120, 30] == model.estimator.predict_proba(point).max()
    for part, rows in (("train", TRAIN), ("test", TEST)):
        assert arrays[f"X_{part}"].tolist() == two[rows].tolist()
        assert arrays[f"y_{part}"].tolist() == Y[rows].tolist()
        assert arrays[f"predicted_{part}"].tolist() == model.estimator.predict(two[rows]).tolist()


def test_a_decision_grid_is_of_two_features():
    with pytest.raises(ConfigError, match=r"'decision_grid' shows two features, but iris has 4"):
        arrays_of("decision_grid", fitted(LogisticRegression(max_iter=1000)))


def test_the_digest_of_a_cell_covers_a_nested_learner():
    """Its code decides the numbers as well."""
    target = "cascadeforest.cascade.on_hard_examples:HardExampleClassifier"
    digests = [
        digest_for(target, (), {"learner": {"estimator": learner, "params": {}}, "n_estimators": 5})
        for learner in (
            "cascadeforest.baselines.gbdt:GBDTClassifier",
            "cascadeforest.baselines.mlp:SelectedMLPClassifier",
        )
    ]
    assert len({*digests, digest_for(target)}) == 3
    assert digest_for(target, (), {"n_estimators": 5}) == digest_for(target)


def test_a_single_column_has_a_layout_too():
    """A model may have found no interaction, and the data one feature."""
    plane = projection.tsne_plane(np.arange(20.0)[:, None], seed=0)
    assert plane.shape == (20, 2)
    assert np.isfinite(plane).all()
    assert len(np.unique(plane[:, 0])) > 10
