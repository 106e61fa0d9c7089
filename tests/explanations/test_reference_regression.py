"""The paper's regression y = Σ k·x_k (Eq. 35): errors and importances by layer, as the released procedure has them.

The reference is the released code typed again: Algorithm 1 on scikit-learn's random forests and Extra-Trees, seeds 0 to
19, with the settings of its example (4 forests of 50 trees, 3 folds, depth 5, vectors in half precision, all rows of a
fold in a node's estimate), importances centred as ours. All of it ran on the 1,000 + 1,000 rows of `rows`.

Ours are means of two seeds. They may differ from the reference by four standard errors of the difference, taken from
the spread over its seeds: 3.0 of its standard deviations. Means of forty seeds of ours are within 0.5 of them in each
number, and their spread is about the same. Calibrations, and rows of nodes, differ by less than the bounds here;
`test_reference` is about those.
"""

from functools import cache

import numpy as np
import pytest

from cascadeforest import CascadeForestRegressor
from cascadeforest.explanations import Explainer

SEEDS = range(2)
#: Four standard errors of the difference between a mean of our seeds and one of 20, in standard deviations.
BOUND = 4 * np.sqrt(1 / len(SEEDS) + 1 / 20)
#: Mean and standard deviation of the root mean squared errors at layers 1 to 4: out of fold, and on the test rows.
OUT_OF_FOLD = np.array([4.474, 2.342, 2.103, 1.987]), np.array([0.022, 0.038, 0.033, 0.035])
TEST = np.array([4.682, 2.335, 2.053, 1.919]), np.array([0.013, 0.036, 0.028, 0.029])
#: The same of the held-out MDI of x4, x8 and x12, at layers 1 and 4.
MDI = (
    np.array([[0.112, 1.515, 5.901], [0.180, 2.616, 14.357]]),
    np.array([[0.015, 0.052, 0.148], [0.030, 0.142, 0.418]]),
)


def is_close(found, reference):
    mean, deviation = reference
    return np.abs(found - mean) <= BOUND * deviation


@cache
def rows():
    X = np.random.RandomState(42).rand(2000, 12)
    return X, X @ np.arange(1.0, 13.0)


def fitted(seed, **options):
    X, y = rows()
    options = {"preset": "official", "max_depth": 5, "max_layers": 4, "patience": 9, "keep": "last"} | options
    return CascadeForestRegressor(**options, random_state=seed, n_jobs=2).fit(X[:1000], y[:1000])


def errors_of(model):
    """Out of fold, and on the test rows."""
    X, y = rows()
    return -model.validation_scores_, np.array(
        [np.sqrt(np.mean((own - y[1000:]) ** 2)) for own in model.staged_predict(X[1000:])]
    )


@cache
def ours():
    """Mean errors (2, n_layers) and importances (2 layers, 3 features)."""
    models = [fitted(seed) for seed in SEEDS]
    importances = [
        [list(Explainer(m, preset="official", n_jobs=2).staged_importances())[k] for k in (0, 3)] for m in models
    ]
    return np.mean([errors_of(model) for model in models], axis=0), np.mean(importances, axis=0)[:, [3, 7, 11]]


def test_errors_of_regression_are_those_of_the_released_procedure():
    (out_of_fold, test), _ = ours()
    assert is_close(out_of_fold, OUT_OF_FOLD).all()
    assert is_close(test, TEST).all()


def test_importances_of_regression_are_those_of_the_released_procedure():
    assert is_close(ours()[1], MDI).all()


@pytest.mark.parametrize("options", [{"preset": "paper"}, {"max_depth": 6}, {"max_features": 6}], ids=str)
def test_the_bounds_notice_other_settings(options):
    """One seed: they are 7 to 40 standard deviations away, at every layer."""
    out_of_fold, test = errors_of(fitted(0, **options))
    assert not is_close(out_of_fold, OUT_OF_FOLD).any()
    assert not is_close(test, TEST).any()


@pytest.mark.parametrize(("options", "layer"), [({"preset": "paper"}, 1), ({"max_features": 6}, 4)], ids=str)
def test_so_do_those_of_importances(options, layer):
    found = Explainer(fitted(0, **options), preset="official", n_jobs=2).importances(layer=layer)[[3, 7, 11]]
    assert not is_close(found, [part[layer // 4] for part in MDI]).all()
