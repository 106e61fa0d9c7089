"""Scores and sizes of the forests equal those of scikit-learn's: paired comparisons over splits and seeds.

For each cell (data set and kind of forest) both libraries learn from the same random part of the data with the same
seed, and are scored on the rest: accuracy, or R² in regression. Over seeds the differences are independent, given
the data set. Three things are asserted of each cell:

1. *No difference is found.* Two-sided paired t-test, Bonferroni over all cells and the pooled test: were the libraries
   equal everywhere, the whole module would raise a false alarm with probability 1e-3 (`FALSE_ALARM`).
2. *A difference would have been found.* The 99.9 % confidence interval of the mean difference lies within 1.5
   percentage points (`MARGIN`): a test without power fails here. Numbers of seeds and trees are such that the interval
   is at most about 1 point to each side.
3. *Trees are of the same size.* Mean numbers of nodes within 10 %.

One-sided deficits that are too small for a single cell add up in the pooled test. Seeds are fixed: a run on the same
versions always gives the same numbers, false alarms included. ``pytest -rP`` shows the table.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from sklearn import datasets, ensemble
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

import cascadeforest

FALSE_ALARM = 1e-3
MARGIN = 0.015
LEVEL = 0.999
SIZE = 0.10


@cache
def data(name):
    """X, y; generated data have more rows than bins, and heavy tails, few values or indicators, as their names say."""
    if name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    rng = np.random.default_rng(5)
    if name == "indicators":  # like covertype: few rounded numbers, many indicators, four classes
        n = 5000
        numbers, groups = rng.normal(size=(n, 4)).round(1), rng.integers(0, 8, size=(n, 3))
        few = rng.integers(0, 4, size=(n, 3))
        X = np.hstack([numbers, *(np.eye(8)[group] for group in groups.T), few])
        effect = np.array([0, 1, 2, -1, -2, 3, 0, 1])[groups[:, 0]]
        score = 2 * numbers[:, 0] + effect + few[:, 0] * (groups[:, 1] > 3) + 0.5 * rng.normal(size=n)
        return X, np.digitize(score, np.quantile(score, [0.3, 0.6, 0.85]))
    if name == "lognormal classes":
        X, y = datasets.make_classification(
            8000, 12, n_informative=6, n_redundant=2, n_classes=3, flip_y=0.05, random_state=3
        )
        return np.exp(X), y
    n = {"lognormal": 8000, "heavy tails": 12000}.get(name, 2400)
    X, y = datasets.make_friedman1(n, n_features=8, noise=1.0, random_state=4)
    if name in ("lognormal", "heavy tails"):  # these: half of the range holds a handful of the rows
        X = np.exp((1 if name == "lognormal" else 2) * stats.norm.ppf(X))
    elif name == "six values":
        X = np.floor(6 * X)
    elif name == "three targets":  # two that need other features than the first, one of them on a smaller scale
        y = np.column_stack([y, 8 * X[:, 5] * X[:, 3] + rng.normal(size=n), np.sin(6 * X[:, 6]) + 0.3 * y / 5])
    return X, y


class Plan(NamedTuple):
    """How much is grown in each cell of a data set: small data vary more, and cost less."""

    n_seeds: int
    n_trees: int


#: Rows to learn from; half of the others. Many rows to be scored on are a cheap way to precise scores.
N_TRAIN = {"indicators": 600, "lognormal classes": 1200, "lognormal": 2000, "heavy tails": 3000}
RANDOM, EXTRA, COMPLETE = "RandomForest", "ExtraTrees", "CompletelyRandomForest"
PLANS = {
    ("iris", RANDOM): Plan(60, 20),
    ("iris", EXTRA): Plan(60, 20),
    ("iris", COMPLETE): Plan(60, 20),
    ("wine", RANDOM): Plan(60, 20),
    ("wine", EXTRA): Plan(60, 20),
    ("wine", COMPLETE): Plan(60, 25),
    ("breast_cancer", RANDOM): Plan(30, 20),
    ("breast_cancer", EXTRA): Plan(30, 20),
    ("breast_cancer", COMPLETE): Plan(30, 20),
    ("digits", RANDOM): Plan(24, 20),
    ("digits", EXTRA): Plan(24, 20),
    ("digits", COMPLETE): Plan(24, 20),
    ("indicators", RANDOM): Plan(24, 50),
    ("indicators", EXTRA): Plan(24, 50),
    ("indicators", COMPLETE): Plan(24, 50),
    ("lognormal classes", RANDOM): Plan(24, 20),
    ("lognormal classes", EXTRA): Plan(24, 20),
    ("lognormal classes", COMPLETE): Plan(30, 20),
    ("diabetes", RANDOM): Plan(50, 40),
    ("diabetes", EXTRA): Plan(50, 40),
    ("diabetes", COMPLETE): Plan(50, 60),
    ("friedman", RANDOM): Plan(16, 15),
    ("friedman", EXTRA): Plan(16, 20),
    ("friedman", COMPLETE): Plan(40, 50),  # R2 of these differs by a point from forest to forest
    ("three targets", RANDOM): Plan(16, 15),
    ("three targets", EXTRA): Plan(16, 20),
    ("three targets", COMPLETE): Plan(40, 50),
    ("six values", RANDOM): Plan(20, 20),
    ("six values", EXTRA): Plan(20, 20),
    ("lognormal", EXTRA): Plan(24, 20),  # the scale of a feature matters to random thresholds only
    ("heavy tails", EXTRA): Plan(20, 40),  # -1.7 ± 0.9 points with bins at quantiles
}
CELLS = list(PLANS)
ALPHA = FALSE_ALARM / (len(CELLS) + 1)

every_cell = pytest.mark.parametrize(("name", "kind"), CELLS)


class Comparison(NamedTuple):
    """What the seeds of a cell gave."""

    difference: np.ndarray  # of scores, ours minus theirs
    n_nodes: np.ndarray  # (n_seeds, 2): ours, theirs

    @property
    def mean(self):
        return self.difference.mean()

    @property
    def error(self):
        return self.difference.std(ddof=1) / np.sqrt(len(self.difference))

    @property
    def p_value(self):
        return stats.ttest_1samp(self.difference, 0.0).pvalue

    @property
    def half_width(self):
        return self.error * stats.t.ppf(0.5 + 0.5 * LEVEL, len(self.difference) - 1)

    @property
    def size_ratio(self):
        ours, theirs = self.n_nodes.sum(axis=0)
        return ours / theirs

    def __str__(self):
        return (
            f"{100 * self.mean:+.2f} ± {100 * self.half_width:.2f} points ({LEVEL:.1%} interval, "
            f"{len(self.difference)} seeds), p = {self.p_value:.2g}, {self.size_ratio:.3f} times the nodes"
        )


def forests(kind, suffix, n_trees, seed):
    """Our forest, and scikit-learn's."""
    ours = getattr(cascadeforest, f"{kind}{suffix}")(n_trees, random_state=seed)
    if kind == COMPLETE:
        return ours, getattr(ensemble, f"ExtraTrees{suffix}")(n_trees, max_features=1, random_state=seed)
    return ours, getattr(ensemble, f"{kind}{suffix}")(n_trees, random_state=seed)


@cache
def compare(name, kind, their_kind=None):
    """Our forest of one kind, and scikit-learn's of the same or of another one."""
    X, y = data(name)
    n_seeds, n_trees = PLANS[name, kind]
    suffix = "Classifier" if y.dtype.kind == "i" else "Regressor"
    difference, n_nodes = [], []
    for seed in range(n_seeds):
        ours, _ = forests(kind, suffix, n_trees, seed)
        _, theirs = forests(their_kind or kind, suffix, n_trees, seed)
        stratify = y if is_classifier(ours) else None
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=N_TRAIN.get(name, 0.5), random_state=seed, stratify=stratify
        )
        ours.fit(X_train, y_train)
        theirs.fit(X_train, y_train)
        difference.append(ours.score(X_test, y_test) - theirs.score(X_test, y_test))
        n_nodes.append([len(ours.trees_.nodes), sum(tree.tree_.node_count for tree in theirs.estimators_)])
    return Comparison(np.array(difference), np.array(n_nodes))


@every_cell
def test_scores_do_not_differ(name, kind):
    comparison = compare(name, kind)
    assert comparison.p_value > ALPHA, f"{kind} on {name}: {comparison}"


@every_cell
def test_scores_are_equal_within_the_margin(name, kind):
    comparison = compare(name, kind)
    assert abs(comparison.mean) + comparison.half_width < MARGIN, f"{kind} on {name}: {comparison}"


@every_cell
def test_trees_are_of_the_same_size(name, kind):
    assert compare(name, kind).size_ratio == pytest.approx(1.0, abs=SIZE)


def test_small_differences_do_not_add_up():
    """Stouffer's sum over the cells: each t as the normal deviate of the same probability."""
    deviates = []
    for name, kind in CELLS:
        comparison = compare(name, kind)
        print(f"{name:18s} {kind:23s} {comparison}")  # noqa: T201
        t = comparison.mean / comparison.error
        deviates.append(stats.norm.ppf(stats.t.cdf(t, len(comparison.difference) - 1)))
    total = np.sum(deviates) / np.sqrt(len(deviates))
    assert 2 * stats.norm.sf(abs(total)) > ALPHA, f"the cells together deviate by {total:+.2f} standard errors"


@pytest.mark.parametrize("name", ["digits", "friedman"])
def test_another_kind_of_forest_would_be_noticed(name):
    """The procedure tells Extra-Trees from random forests: it has the power that the other tests rely on."""
    assert compare(name, EXTRA, RANDOM).p_value < ALPHA


def test_other_sizes_would_be_noticed():
    assert compare("digits", EXTRA, RANDOM).size_ratio != pytest.approx(1.0, abs=SIZE)
