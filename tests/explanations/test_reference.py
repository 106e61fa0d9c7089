"""The paper's three classes (Fig. 4a): errors and importances layer by layer, as another implementation has them.

The reference is a plain numpy version of Algorithm 1 on scikit-learn's random forests and Extra-Trees, with the
settings of the released code (all rows of a fold in a node's estimate, out-of-fold contributions, float16 vectors,
class-balanced MDI), seeds 0 to 7 of the model on the data set of the released example.

Of the released code itself one seed is known (`RELEASED`): it was run as it is, and the authors' own record of the
figure has the same importances to four decimals. All twelve numbers are within two standard deviations of our seeds.
The mean of its noise features is -4e-5, 7e-4, 9e-4, 9e-4; ours is at most 8e-4 at layers 1 and 2, and with some seeds
at layers 3 and 4 (mean of the seeds 9.0e-4 and 8.6e-4; the reference has 8.9e-4 and 8.6e-4).
"""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from cascadeforest import GCForestClassifier
from cascadeforest.explanations import Explainer

SEEDS = range(40)
#: Mean and standard deviation over 8 seeds, for layers 1 to 4.
ERROR = np.array([0.154, 0.014, 0.011, 0.011]), np.array([0.022, 0.007, 0.007, 0.006])
X1 = np.array([0.0890, 0.2312, 0.3005, 0.3197]), np.array([0.0051, 0.0084, 0.0041, 0.0059])
X2 = np.array([0.0443, 0.1072, 0.1602, 0.1791]), np.array([0.0019, 0.0090, 0.0072, 0.0067])
NOISE = np.array([-6e-5, 7.0e-4, 8.9e-4, 8.6e-4]), np.array([1.6e-5, 2.5e-5, 3.1e-5, 4.2e-5])
#: The released code, seed 42: errors, MDI of x1 and of x2 at layers 1 to 4.
RELEASED = np.array([[0.140, 0.020, 0.005, 0.000], [0.0886, 0.2260, 0.2992, 0.3240], [0.0415, 0.1023, 0.1598, 0.1827]])
#: Four standard errors of the difference between a mean of our seeds and one of 8.
BOUND = 4 * np.sqrt(1 / len(SEEDS) + 1 / 8)
#: One more seed is that far from the mean of ours, in their standard deviations, as seldom as 2 in a normal law.
SPREAD = stats.t.ppf(stats.norm.cdf(2), len(SEEDS) - 1) * np.sqrt(1 + 1 / len(SEEDS))


def is_close(found, reference):
    mean, deviation = reference
    return np.abs(found - mean) <= BOUND * deviation


@cache
def ours():
    """Errors (n_seeds, n_layers) and importances (n_seeds, n_layers, n_features)."""
    X = np.random.RandomState(42).rand(200, 102)
    y = np.where(X[:, 0] < 0.5, 0, np.where(X[:, 1] > 0.5, 1, 2))
    errors, importances = [], []
    for seed in SEEDS:
        model = GCForestClassifier(
            4, 50, max_depth=5, n_folds=3, preset="official", estimators=["random_forest", "extra_trees"],
            vector_dtype="float16", max_layers=4, patience=9, keep="last", random_state=seed,
        ).fit(X, y)  # fmt: skip
        errors.append(1 - model.validation_scores_)
        importances.append(list(Explainer(model, X, y, preset="official").staged_importances()))
    return np.array(errors), np.array(importances)


def test_errors_and_importances_are_those_of_another_implementation():
    errors, importances = ours()
    assert is_close(errors.mean(axis=0), ERROR).all()
    means = importances.mean(axis=0)
    assert is_close(means[:, 0], X1).all()
    assert is_close(means[:, 1], X2).all()
    # Folds and forests are other ones than in the reference; the data, on which the noise depends most, are the same.
    assert (np.abs(means[:, 2:].mean(axis=1) - NOISE[0]) <= 1e-4).all()


def test_the_released_codes_numbers_are_within_the_spread_of_seeds():
    """Of our seeds, and of the one seed of the released code."""
    errors, importances = ours()
    found = np.array([errors, importances[:, :, 0], importances[:, :, 1]])
    mean, deviation = found.mean(axis=1), found.std(axis=1, ddof=1)
    assert (np.abs(RELEASED - mean) <= SPREAD * deviation).all()


def test_noise_has_as_little_as_in_the_released_code():
    """At most 8e-4 at layers 1 and 2 with every seed, and with some at layers 3 and 4; nowhere more than 1.1e-3."""
    noise = ours()[1][:, :, 2:].mean(axis=2)
    assert (noise[:, :2] <= 8e-4).all()
    assert (noise.min(axis=0) <= 8e-4).all()
    assert (noise <= 1.1e-3).all()


def test_importances_rise_with_the_layers_and_noise_has_little():
    _, importances = ours()
    assert (np.diff(importances[:, :, :2].mean(axis=0), axis=0) > 0).all()
    assert (importances[:, :, 0] > importances[:, :, 1]).all()
    assert (importances[:, :, 1] > importances[:, :, 2:].max(axis=2)).all()


@pytest.mark.parametrize(
    ("x1", "x2", "noise"),
    [
        ([0.0898, 0.1115, 0.1204, 0.1308], [0.0452, 0.0565, 0.0633, 0.0709], [-5e-5, 0.0, -5e-5, -7e-5]),
        ([0.0902, 0.1571, 0.1857, 0.1956], [0.0504, 0.0844, 0.1030, 0.1117], [2.1e-3, 2.9e-3, 3.2e-3, 3.2e-3]),
        ([0.0898, 0.0507, 0.0357, 0.0326], [0.0452, 0.0384, 0.0264, 0.0269], [-5e-5, 3.3e-3, 4.9e-3, 5.2e-3]),
    ],
    ids=["not calibrated", "contributions of models that knew the row", "changes spread equally"],
)
def test_the_bounds_would_notice(x1, x2, noise):
    """The reference implementation with one thing done wrong, mean of seeds 0 to 2: no deeper layer is close."""
    assert not is_close(np.array(x1), X1)[1:].any()
    assert not is_close(np.array(x2), X2)[1:].any()
    assert (np.abs(np.array(noise) - NOISE[0])[1:] > 1e-4).all()
