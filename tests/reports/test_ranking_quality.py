"""Quality of importances by layer: ranked pairs against Kendall's tau, true importances against variances."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from tests.reports.conftest import texts

from cascadeforest.data.synthetic import linear_sum
from cascadeforest.reports.drawing.renderers.ranking_quality import ranked_pairs, true_importances

NAME = "interp-fig5"
#: Repeats of 2, 3 and 1 layers.
IMPORTANCES = [
    np.array([[3.0, 2.0, 5.0], [1.0, 2.0, 7.0]]),
    np.array([[1.0, 3.0, 4.0], [1.0, 3.0, 4.0], [1.0, 2.0, 1.0]]),
    np.array([[2.0, 2.0, 4.0]]),
]
ERRORS = [np.array([4.0, 2.0]), np.array([6.0, 3.0, 1.0]), np.array([5.0])]


def declare(suite, columns=("cascade_regressor",), **changes):
    given = {"metrics": ["rmse"], "datasets": ["linear_sum"], "repeats": 3}
    given |= {"extras": ["layer_scores", "layer_importances"]} | changes
    suite.figure(NAME, "ranking_quality", {name: name for name in columns}, "preset", **given)
    suite.summary("linear_sum", task="regression")


def run(suite):
    suite.run("linear_sum", "preset", [0.5] * 3, metric="rmse")
    for repeat, (importances, errors) in enumerate(zip(IMPORTANCES, ERRORS, strict=True)):
        suite.extra("linear_sum", "preset", "layer_importances", repeat, importances=importances)
        suite.extra("linear_sum", "preset", "layer_scores", repeat, train=errors, test=errors)


def test_the_share_of_ranked_pairs_is_kendalls_tau_without_ties_and_ties_rank_nothing():
    random = np.random.default_rng(0)
    for n in (2, 3, 12):
        for _ in range(10):
            values = random.normal(size=n)
            assert ranked_pairs(values) == pytest.approx((kendalltau(np.arange(n), values).statistic + 1) / 2)
    assert ranked_pairs(np.zeros(4)) == 0
    assert ranked_pairs(np.array([1.0, 1.0, 2.0])) == pytest.approx(2 / 3)


def test_true_importances_are_shares_of_the_variance():
    data = linear_sum(n_train=200_000, n_test=1)
    parts = np.var(data.X.astype(float) * np.arange(1, 13), axis=0)
    assert true_importances(12) == pytest.approx(parts / parts.sum(), abs=2e-3)
    assert parts.sum() == pytest.approx(np.var(data.y), rel=0.02)  # nothing is explained by two features together


def test_numbers_by_layer_are_in_panels_and_lines_for_the_layers_and_models_asked_for(shown):
    rows = {row.key[2:]: row for row in shown.table(NAME).rows}
    assert (rows["layer 1", "rmse"].mean, rows["layer 1", "rmse"].std, rows["layer 1", "rmse"].n) == (5, 1, 3)
    assert (rows["layer 2", "rmse"].mean, rows["layer 2", "rmse"].n) == (2.5, 2)
    assert ("layer 3", "rmse") not in rows
    assert rows["layer 1", "ranked_pairs"].mean == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    # Each repeat at its own end: 2, 3 and 1 layers.
    assert rows["last layer", "rmse"].mean == pytest.approx((2 + 1 + 5) / 3)
    assert rows["last layer", "ranked_pairs"].mean == pytest.approx((1 + 1 / 3 + 2 / 3) / 3)
    assert rows["first layer, feature x3", "mdi"].mean == pytest.approx((5 / 10 + 4 / 8 + 4 / 8) / 3)
    assert rows["last layer, feature x3", "mdi"].mean == pytest.approx((7 / 10 + 1 / 4 + 4 / 8) / 3)
    true = rows["true, feature x3", "mdi"]
    assert (true.mean, true.model, true.std) == (pytest.approx(9 / 14), "", None)
    error, ranked, bars = shown.table(NAME).figure.draw().axes
    assert error.containers[0].lines[0].get_ydata().tolist() == [5, 2.5]
    assert ranked.containers[0].lines[0].get_ydata().tolist() == pytest.approx([700 / 9, 100])
    kinds = {one.get_label(): [bar.get_height() for bar in one] for one in bars.containers if hasattr(one, "patches")}
    assert list(kinds) == ["first layer", "last layer", "true"]
    assert kinds["true"] == pytest.approx([1 / 14, 4 / 14, 9 / 14])
    lines = [(row.labels[1], row.size, *texts(row)) for row in shown.table(NAME).view.rows]
    assert lines[0] == ("layer 1", "3", "5.000 ± 1.000", "77.78 ± 19.25")
    words = [("layer 2", "2"), ("last layer of each repeat", "3"), ("last minus first layer (points)", "3")]
    assert [line[:2] for line in lines[1:]] == words
    notes = shown.notes(NAME)
    assert "Published: the paper gives no result in numbers; what it says of the data is in reports/pub" in notes
    assert "as printed" not in notes
    declare(shown, columns=["cascade_regressor", "official"])
    table = shown.table(NAME)
    keys = [row.key for row in table.rows]
    assert len(keys) == len(set(keys))
    assert sum(row.condition == "true, feature x3" for row in table.rows) == 1
    assert sum(row.condition == "layer 1" and row.metric == "rmse" for row in table.rows) == 2
    parts = table.figure.draw().subfigs
    titles = [part.get_suptitle() for part in parts]
    assert titles == ["linear_sum, cascade_regressor, 3 repeats", "linear_sum, official, 3 repeats"]
    assert [len(part.axes) for part in parts] == [3, 3]


def test_the_caption_says_under_which_definition_the_published_rise_comes_back(suite):
    """Held out, the last layer ranks as the first does or worse; uncentred it ranks all pairs, the first one none."""
    n = 8
    declare(suite, repeats=n, extras=["layer_scores", "layer_importances", "importance_definitions"])
    suite.run("linear_sum", "preset", [0.5] * n, metric="rmse")
    right, wrong = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    for repeat in range(n):
        half = np.array([1.0, 3.0, 2.0]) if repeat % 2 else right
        first = np.array([2.0, 1.0, 3.0]) if repeat == 0 else wrong
        suite.extra("linear_sum", "preset", "layer_importances", repeat, importances=np.array([right, half]))
        saved = {"uncentred": np.array([first, right]), "in_bag": np.array([half, wrong])}
        suite.extra("linear_sum", "preset", "importance_definitions", repeat, **saved)
        suite.extra("linear_sum", "preset", "layer_scores", repeat, train=np.ones(2), test=np.ones(2))
    table = suite.table(NAME)
    words = "The rise that the paper reports comes back with held-out rows, responses as they are."
    assert words in table.figure.caption
    rows = {row.key[2:]: row for row in table.rows}
    change = rows["last minus first layer, uncentred", "ranked_pairs_difference"]
    assert change.mean == pytest.approx((1 / 3 + (n - 1)) / n)
    assert change.low > 0
    assert rows["last minus first layer, in_bag", "ranked_pairs_difference"].high < 0
    ranked = table.figure.draw().axes[1]
    assert len(ranked.containers) == 3
