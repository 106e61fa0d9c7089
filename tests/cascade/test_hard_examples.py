"""DDBF: Eqs. 4 to 9 by hand, mining and Algorithm 1 against naive twins, ends, weights, life and errors.

The twins share single forests (`grow_forest`), bins and the addresses of seeds with the code under test. They walk
trees by thresholds in the units of the data, one row after the other, and compare scores as fractions.
"""

import itertools
import logging
import math
import pickle
import re
import statistics
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV

from cascadeforest import DDBFClassifier, RandomForestClassifier
from cascadeforest.cascade import hard_examples as module
from cascadeforest.cascade.folds import stratified_folds
from cascadeforest.cascade.hard_examples import (
    MiningRules,
    leaf_scores,
    leaf_threshold,
    mutual_information,
    retained_trees,
)
from cascadeforest.cascade.layer import _ALL_ROWS, _FOLDS, _MODEL, FoldForest
from cascadeforest.forest.binning import BinMapper
from cascadeforest.forest.seeds import seed_at
from cascadeforest.forest.tree_subsets import some_trees, trees_beside

from . import naive

examples = settings(deadline=None, derandomize=True, max_examples=100)

# Equations 4 to 9.

#: A tree of three leaves and ten rows of two classes.
WORKED = np.array([[4.0, 0.0], [1.0, 3.0], [1.0, 1.0]])


def test_f1_by_hand():
    """Eqs. 4 to 6: supports 0.4, 0.4 and 0.2; confidences 1, 0.75 and 0.5."""
    assert leaf_scores(WORKED, 10.0, "f1") == pytest.approx([0.8 / 1.4, 0.6 / 1.15, 0.2 / 0.7])
    assert leaf_scores(WORKED, 20.0, "f1") == pytest.approx([0.4 / 1.2, 0.3 / 0.95, 0.1 / 0.6])


def test_gini_by_hand():
    """Eq. 7: 1 - 1, 1/16 + 9/16 - 1, 1/4 + 1/4 - 1."""
    assert leaf_scores(WORKED, 10.0, "gini").tolist() == [0.0, -0.375, -0.5]


def test_entropy_by_hand():
    """Eq. 8 with p log p: a quarter and three quarters have 0.5623 nats, two halves have log 2."""
    assert leaf_scores(WORKED, 10.0, "entropy") == pytest.approx([0.0, -0.5623351446, -0.6931471806])


def test_mutual_information_by_hand():
    """Eq. 9: H(6/10, 4/10) = 0.6730, less 0.4 * 0 + 0.4 * 0.5623 + 0.2 * 0.6931 = 0.3636."""
    assert mutual_information(WORKED) == pytest.approx(0.6730116671 - 0.3635634940)
    assert mutual_information(np.array([[3.0, 1.0], [6.0, 2.0]])) == 0.0  # the same shares in both leaves
    assert mutual_information(np.array([[5.0, 2.0]])) == 0.0
    assert mutual_information(np.array([[5.0, 0.0], [0.0, 5.0]])) == pytest.approx(math.log(2))


tables = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any), min_size=1, max_size=8)
)


@examples
@given(tables, st.integers(1, 5))
@example([[1, 0], [0, 1]], 1)
def test_scores_are_those_of_the_equations(table, times):
    """The f1 score as an exact fraction; impurities between those of one class and of classes in equal parts."""
    counts, n_classes = np.array(table, float), len(table[0])
    total = sum(map(sum, table)) * times
    f1, gini, entropy = (leaf_scores(counts, float(total), kind) for kind in ("f1", "gini", "entropy"))
    for k, leaf in enumerate(table):
        support, confidence = Fraction(sum(leaf), total), Fraction(max(leaf), sum(leaf))
        assert f1[k] == pytest.approx(float(2 / (1 / support + 1 / confidence)))
        assert gini[k] == pytest.approx(float(sum(Fraction(c, sum(leaf)) ** 2 for c in leaf) - 1), abs=1e-15)
        assert entropy[k] == pytest.approx(sum(c * math.log(c / sum(leaf)) for c in leaf if c) / sum(leaf), abs=1e-15)
        is_pure = max(leaf) == sum(leaf)
        assert (gini[k] == 0.0) == (entropy[k] == 0.0) == is_pure
    assert f1.min() > 0
    assert f1.max() <= 1
    assert gini.min() >= 1 / n_classes - 1 - 1e-12
    assert entropy.min() >= -math.log(n_classes) - 1e-12


@examples
@given(tables)
def test_mutual_information_is_that_of_scikit_learn(table):
    counts = np.array(table)
    leaf, label = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    got = mutual_information(counts.astype(float))
    assert got == pytest.approx(mutual_info_score(label, leaf), abs=1e-12)
    shares = counts.sum(axis=0) / counts.sum()
    assert 0.0 <= got <= -sum(p * math.log(p) for p in shares if p) + 1e-12
    assert isinstance(got, float)


def of_equations(counts):
    """Everything that Eqs. 4 to 9 make of a table."""
    scores = [leaf_scores(counts, counts.sum(), kind) for kind in ("f1", "gini", "entropy")]
    return np.array(scores), mutual_information(counts)


@examples
@given(tables, st.sampled_from([2.0, 0.25, 2.0**60]), st.integers(2, 7), st.randoms(use_true_random=False))
def test_only_proportions_matter(table, power, times, random):
    """Scale of weights, a class without rows, and the order of leaves and classes."""
    counts = np.array(table, float)
    scores, information = of_equations(counts)
    same_scores, same_information = of_equations(counts * power)
    assert same_scores.tobytes() == scores.tobytes()
    assert same_information == information
    leaves, classes = list(range(len(counts))), list(range(len(table[0])))
    random.shuffle(leaves)
    random.shuffle(classes)
    wider = np.hstack([counts, np.zeros((len(counts), 1))])
    for other in (counts * times / 10, wider, counts[:, classes]):
        same_scores, same_information = of_equations(other)
        np.testing.assert_allclose(same_scores, scores, atol=1e-12)
        assert same_information == pytest.approx(information, abs=1e-12)
    mixed_scores, mixed_information = of_equations(counts[leaves])
    np.testing.assert_allclose(mixed_scores, scores[:, leaves], atol=1e-12)
    assert mixed_information == pytest.approx(information, abs=1e-12)


@examples
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.integers(2, 4))
def test_pure_leaves_are_pure_whatever_their_weights(weights, n_classes):
    """Sums of weights are rounded; the share of the only class is not."""
    counts = np.zeros((len(weights), n_classes))
    counts[np.arange(len(weights)), np.arange(len(weights)) % n_classes] = weights
    assert not leaf_scores(counts, counts.sum(), "gini").any()
    assert not leaf_scores(counts, counts.sum(), "entropy").any()


@examples
@given(st.lists(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), min_size=1, max_size=9))
def test_bounds_hold_for_weights(rows):
    counts = np.array(rows)
    (f1, gini, entropy), information = of_equations(counts)
    assert 0 < f1.min() <= f1.max() <= 1 + 1e-12
    assert max(gini.max(), entropy.max()) < 0
    shares = counts.sum(axis=0) / counts.sum()
    assert 0 <= information <= -(shares * np.log(shares)).sum() + 1e-12


# Thresholds.


def test_thresholds_by_hand():
    scores, counts = np.array([1.0, 2.0, 6.0]), WORKED
    assert leaf_threshold(scores, counts, "mean") == 3.0
    assert leaf_threshold(scores, counts, "median") == 2.0
    assert leaf_threshold(np.array([7.0, 1.0, 2.0, 6.0]), counts, "median") == 4.0
    assert leaf_threshold(scores, np.array([[3, 1], [0, 2], [1, 1]]), "row_mean") == 2.5  # 4, 2 and 2 rows
    assert leaf_threshold(scores, counts, "mutual_information") == pytest.approx(0.3094481731)
    assert all(isinstance(leaf_threshold(scores, counts, kind), float) for kind in module.THRESHOLDS)


@examples
@given(st.floats(-1, 1), st.integers(1, 60), st.sampled_from(["mean", "median", "row_mean"]))
@example(0.1, 3, "mean")
def test_none_of_equal_scores_exceeds_the_threshold(score, n, kind):
    """However a mean is rounded: a sum of equal numbers divided by their number may lie below all of them."""
    assert leaf_threshold(np.full(n, score), np.ones((n, 2)), kind) == score


def test_means_of_equal_numbers_are_rounded():
    """What the test above is about does occur, above and below."""
    rng = np.random.default_rng(0)
    off = [np.sign(np.full(n, v).mean() - v) for v in rng.random(200) for n in (3, 7, 11)]
    assert set(off) == {-1.0, 0.0, 1.0}


@examples
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=20))
def test_thresholds_are_means_and_medians(sixteenths):
    scores = np.array(sixteenths) / 16
    assert leaf_threshold(scores, np.ones((len(scores), 2)), "mean") == pytest.approx(statistics.fmean(scores))
    assert leaf_threshold(scores, np.ones((len(scores), 2)), "median") == statistics.median(scores)


# Elimination.


@pytest.mark.parametrize(
    ("fitness", "share", "stay"),
    [
        ([0.1, 0.5, 0.3, 0.4, 0.2], 0.0, [1, 1, 1, 1, 1]),
        ([0.1, 0.5, 0.3, 0.4, 0.2], 0.19, [1, 1, 1, 1, 1]),
        ([0.1, 0.5, 0.3, 0.4, 0.2], 0.2, [0, 1, 1, 1, 1]),
        ([0.1, 0.5, 0.3, 0.4, 0.2], 0.5, [0, 1, 1, 1, 0]),
        ([0.1, 0.5, 0.3, 0.4, 0.2], 0.99, [0, 1, 0, 0, 0]),
        ([0.1, 0.1, 0.3, 0.4, 0.2], 0.2, [1, 1, 1, 1, 1]),  # as good as the second worst, which stays
        ([0.1, 0.1, 0.3, 0.4, 0.2], 0.4, [0, 0, 1, 1, 1]),
        ([0.1, 0.2, 0.2, 0.2, 0.3], 0.6, [0, 1, 1, 1, 1]),
        ([-0.5, -0.5, -0.5], 0.99, [1, 1, 1]),
        ([0.7], 0.99, [1]),
    ],
)
def test_elimination_by_hand(fitness, share, stay):
    assert retained_trees(np.array(fitness), share).tolist() == [bool(s) for s in stay]


@examples
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(0, 63))
def test_the_worst_trees_are_dropped_as_far_as_the_share_goes(fitness, share):
    """A tree is dropped if it and all that are not better are no more than the share."""
    stay = retained_trees(np.array(fitness) / 8, share / 64)
    allowed = Fraction(share, 64) * len(fitness)
    assert stay.tolist() == [sum(other <= own for other in fitness) > allowed for own in fitness]
    assert stay[np.argmax(fitness)]


def test_a_whole_number_of_trees_is_not_rounded_down():
    assert np.count_nonzero(retained_trees(np.arange(100.0), 0.29)) == 71


# A twin of mining.


class Tree:
    """One tree as lists, walked by thresholds."""

    def __init__(self, trees, i, mapper):
        view = trees.tree(i, mapper)
        self.nodes = list(
            zip(
                *(a.tolist() for a in (view.children_left, view.children_right, view.feature, view.threshold)),
                view.missing_go_to_left.tolist(),
                strict=True,
            )
        )
        self.values = {k: trees.values[row].astype(float).tolist() for k, row in enumerate(view.value_row) if row >= 0}

    def leaf(self, x):
        node = 0
        while self.nodes[node][0] != -1:
            left, right, feature, threshold, missing_left = self.nodes[node]
            to_left = missing_left if math.isnan(x[feature]) else x[feature] <= threshold
            node = left if to_left else right
        return node


def score_of(of_class, total, kind):
    """Eqs. 4 to 8 for a leaf, in the precision that scores are stored in."""
    size = sum(of_class.values())
    shares = [w / size for w in of_class.values() if w]
    if kind == "gini":
        score = sum(p * p for p in shares) - 1.0
    elif kind == "entropy":
        score = sum(p * math.log(p) for p in shares)
    else:
        support, confidence = size / total, max(shares)
        score = 2 * support * confidence / (support + confidence)
    return Fraction(float(np.float32(min(score, 0.0) if kind != "f1" else score)))


def information_of(leaves):
    """Eq. 9, term by term."""
    total = sum(sum(of_class.values()) for of_class in leaves)
    priors = sum(leaves, Counter())
    return sum(
        w / total * math.log(w / sum(of_class.values()) / (priors[c] / total))
        for of_class in leaves
        for c, w in of_class.items()
        if w
    )


@dataclass
class Mined:
    """The twin of `HardExampleForest`."""

    trees: list
    scores: list
    thresholds: list
    voters: list
    needed: int
    kind: str
    answering: list
    vote: str = "trees"

    def is_easy(self, x):
        if self.vote == "score":
            own = [np.float32(self.scores[t][self.trees[t].leaf(x)]) for t in self.voters]
            return sum(map(float, own)) > sum(float(self.thresholds[t]) for t in self.voters) + 1e-9
        votes = [self.scores[t][self.trees[t].leaf(x)] > self.thresholds[t] for t in self.voters]
        return sum(votes) >= self.needed

    def probabilities(self, x):
        leaves = [self.trees[t].values[self.trees[t].leaf(x)] for t in self.answering]
        means = [sum(of_class) / len(leaves) for of_class in zip(*leaves, strict=True)]
        return [m / sum(means) for m in means]


def mined(rules, grown, mapper, X, y, weights=None):
    """Section 3.2 and elimination, tree after tree and row after row; and which rows are easy."""
    n_trees = grown.trees.n_trees
    trees = [Tree(grown.trees, t, mapper) for t in range(n_trees)]
    scores, thresholds, means, fitness = [], [], [], []
    for t, tree in enumerate(trees):
        drawn = grown.in_bag_counts(t).tolist() if rules.leaf_rows == "in_bag" else [1] * len(y)
        leaves = {}
        for i, x in enumerate(X.tolist()):
            weight = drawn[i] if weights is None else drawn[i] * float(weights[i])
            if weight:
                leaves.setdefault(tree.leaf(x), Counter())[int(y[i])] += weight
        total = sum(sum(of_class.values()) for of_class in leaves.values())
        own = {leaf: score_of(of_class, total, rules.leaf_score) for leaf, of_class in leaves.items()}
        mean = sum(own.values()) / len(own)
        scores.append(own)
        fitness.append(mean)
        means.append(mean)
        if rules.threshold == "mutual_information":
            thresholds.append(information_of(list(leaves.values())))
        elif rules.threshold == "row_mean":
            of_rows = {leaf: sum(of_class.values()) for leaf, of_class in leaves.items()}
            thresholds.append(sum(n * own[leaf] for leaf, n in of_rows.items()) / total)
        else:
            thresholds.append(mean if rules.threshold == "mean" else statistics.median(own.values()))
    dropped = math.floor(Fraction(str(rules.elimination)) * n_trees)
    voters = [t for t in range(n_trees) if sum(other <= fitness[t] for other in fitness) > dropped]
    needed = max(1, math.ceil(Fraction(str(rules.vote_fraction)) * len(voters)))
    answering = voters if rules.predict_with == "retained" else list(range(n_trees))
    found = Mined(trees, scores, thresholds, voters, needed, rules.threshold, answering, rules.vote)
    easy = [found.is_easy(x) for x in X.tolist()]
    if rules.threshold == "mutual_information" and not any(easy):
        found.thresholds, found.kind = means, "mean"
        easy = [found.is_easy(x) for x in X.tolist()]
    return found, easy


def rules_of(**others):
    wanted = {"leaf_score": "f1", "threshold": "mean", "leaf_rows": "all", "elimination": 0.3, "vote_fraction": 1.0}
    return MiningRules(**{**wanted, "predict_with": "retained", **others})


def data(n_rows=120, seed=0):
    """Three classes, one of them in half of the rows; ties, missing values, and some wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(1)
    signal = X[:, 0] + 0.7 * X[:, 1] + rng.normal(scale=0.4, size=n_rows)
    y = np.searchsorted([0.2, 1.0], signal)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


@cache
def a_forest(kind="plain", n_trees=7):
    """Binned rows, a forest on them, classes and weights; "weak": features say little, as mutual information has it."""
    X, y = data()
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.2, 3, len(y)) if kind == "weighted" else None
    if kind == "weak":
        y = (rng.random(len(y)) < 0.2) + (X[:, 0] > 2).astype(int)
    mapper = BinMapper()
    binned = mapper.fit_transform(X, weights)
    member = RandomForestClassifier(n_trees, max_depth=6 if kind == "weak" else 4, min_samples_leaf=2)
    grown = naive.grow(member, binned, y, 3, np.random.SeedSequence(5), weights)
    return X, y, weights, mapper, binned, grown


def mine(rules, kind="plain", n_jobs=None, n_trees=7):
    _, y, weights, mapper, binned, grown = a_forest(kind, n_trees)
    return rules.mine(FoldForest.of(grown), mapper, binned, y, weights, n_jobs)


SCORES, LEAF_ROWS = ("f1", "gini", "entropy"), ("all", "in_bag")
THRESHOLDS = ("mean", "median", "mutual_information", "row_mean")
every_score = pytest.mark.parametrize("leaf_score", SCORES)
every_threshold = pytest.mark.parametrize("threshold", THRESHOLDS)


@every_score
@every_threshold
@pytest.mark.parametrize("leaf_rows", LEAF_ROWS)
@pytest.mark.parametrize("kind", ["plain", "weighted", "weak"])
def test_mining_is_its_naive_twin(leaf_score, threshold, leaf_rows, kind):
    X, y, weights, mapper, _, grown = a_forest(kind)
    new = data(60, seed=9)[0]
    for predict_with in ("retained", "all"):
        for vote, vote_fraction in (*(("trees", f) for f in (1.0, 0.9, 0.5, 0.2, 0.01)), ("score", 1.0)):
            rules = rules_of(
                vote=vote,
                leaf_score=leaf_score,
                threshold=threshold,
                leaf_rows=leaf_rows,
                predict_with=predict_with,
                vote_fraction=vote_fraction,
            )
            twin, easy_of_twin = mined(rules, grown, mapper, X, y, weights)
            got, easy = mine(rules, kind)
            assert easy.tolist() == easy_of_twin
            assert got.is_valid
            assert got.calibration is None
            assert got.threshold_kind == twin.kind
            assert got.n_needed == twin.needed
            held = twin.answering  # whose nodes, scores and seeds are there
            assert got.votes.tolist() == [t in twin.voters for t in held]
            assert got.threshold == pytest.approx([float(twin.thresholds[t]) for t in held])
            assert got.forest.seeds.tolist() == grown.seeds[held].tolist()
            assert got.forest.trees.n_trees == len(held)
            assert got.leaf_score.dtype == np.float32
            wanted = [[float(twin.scores[t].get(k, 0)) for k in range(len(twin.trees[t].nodes))] for t in held]
            assert got.leaf_score == pytest.approx(np.concatenate(wanted), rel=1e-6)
            seen = got.binned(new, None)
            assert got.easy(seen).tolist() == [twin.is_easy(x) for x in new.tolist()]
            assert got.easy(got.binned(X, None)).tolist() == easy_of_twin
            rows = np.arange(3, 60, 2)
            wanted = [twin.probabilities(new[i]) for i in rows]
            assert got.probabilities(seen, rows).tolist() == wanted


def test_the_twins_of_mining_tell_much():
    """Some rows are easy and some are not, of each score and threshold; trees are dropped; thresholds fall back."""
    shares, kinds, n_voters = {}, set(), set()
    for case in itertools.product(SCORES, THRESHOLDS, LEAF_ROWS, ("plain", "weak")):
        leaf_score, threshold, leaf_rows, kind = case
        rules = rules_of(leaf_score=leaf_score, threshold=threshold, leaf_rows=leaf_rows, vote_fraction=0.5)
        got, easy = mine(rules, kind)
        shares[case] = easy.mean()
        kinds.add((leaf_score, got.threshold_kind))
        n_voters.add(np.count_nonzero(got.votes))
    assert sum(0.05 < share < 0.95 for share in shares.values()) >= 40  # of 48
    assert kinds >= {("f1", "mutual_information"), ("f1", "mean"), ("gini", "mean"), ("entropy", "mean")}
    assert n_voters == {5}
    easy_to_all, easy_to_some = (mine(rules_of(vote_fraction=f))[1].sum() for f in (1.0, 0.2))
    assert 0 < easy_to_all < easy_to_some < 120


@pytest.mark.parametrize(("vote_fraction", "needed"), [(1.0, 10), (0.9, 9), (0.91, 10), (0.5, 5), (1e-12, 1), (1, 10)])
def test_votes_that_are_needed(vote_fraction, needed):
    got, _ = mine(rules_of(vote_fraction=vote_fraction, elimination=0.0), n_trees=10)
    assert got.n_needed == needed


def test_no_vote_is_asked_for_by_rounding():
    """0.1 + 0.2 is a little more than 0.3, and ten times that would be rounded up to 4."""
    assert math.ceil((0.1 + 0.2) * 10) == 4
    assert mine(rules_of(vote_fraction=0.1 + 0.2, elimination=0.0), n_trees=10)[0].n_needed == 3


@pytest.mark.parametrize("vote", [{"vote_fraction": f} for f in (1.0, 0.7, 0.3)] + [{"vote": "score"}])
@pytest.mark.parametrize("leaf_rows", LEAF_ROWS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 0), (7, 2, 1 << 26, 0), (7, 3, 5_000, 0), (50, 5, 1, 0), (50, 5, 1, 20), (7, 2, 1, 50)]
)
def test_what_is_done_at_once_changes_no_byte(monkeypatch, vote, leaf_rows, sizes):
    """Rows and trees that are asked at once, bytes of leaf statistics, and how many rows go through all trees."""
    rules = rules_of(**vote, leaf_rows=leaf_rows, predict_with="all")
    wanted, easy_wanted = mine(rules)
    assert 0 < easy_wanted.sum() < 120
    for name, value in zip(("_ROWS_AT_ONCE", "_TREES_AT_ONCE", "_AT_ONCE", "_FEW_ROWS"), sizes, strict=True):
        monkeypatch.setattr(module, name, value)
    wrong = [~easy_wanted for _ in range(20)]
    del wrong  # memory that is not written to now holds the opposite
    got, easy = mine(rules)
    assert easy.tobytes() == easy_wanted.tobytes()
    assert got.leaf_score.tobytes() == wanted.leaf_score.tobytes()
    assert got.threshold.tobytes() == wanted.threshold.tobytes()
    assert got.votes.tobytes() == wanted.votes.tobytes()


@pytest.mark.parametrize("leaf_rows", LEAF_ROWS)
def test_threads_change_no_byte_of_mining(leaf_rows):
    rules = rules_of(leaf_rows=leaf_rows, vote_fraction=0.5)
    (one, easy_one), (two, easy_two) = (mine(rules, "weighted", n_jobs) for n_jobs in (1, 2))
    assert easy_one.tobytes() == easy_two.tobytes()
    assert one.leaf_score.tobytes() == two.leaf_score.tobytes()
    assert one.threshold.tobytes() == two.threshold.tobytes()
    many = one.binned(np.tile(data()[0], (10, 1)), None)  # more rows than a thread has at least
    assert one.easy(many, 1).tobytes() == one.easy(many, 2).tobytes() == np.tile(easy_one, 10).tobytes()


@pytest.mark.parametrize("vote", module.VOTES)
def test_scores_are_compared_in_double_precision(vote):
    """A mean of single precision scores need not have a place there; rounded, it would pass for one of them."""
    got, _ = mine(rules_of())
    seen, one = a_forest()[4], np.float32(0.1)
    for below, is_easy in ((1e-12, True), (0.0, False), (-1e-12, False)):
        threshold = np.full(len(got.threshold), float(one) - below)
        equal = replace(got, leaf_score=np.full(len(got.leaf_score), one), threshold=threshold, vote=vote)
        assert equal.easy(seen).tolist() == [is_easy] * 120


def test_rows_that_are_asked_no_further_are_hard(monkeypatch):
    """Who cannot get the votes any more is not sent through the trees that are left."""
    monkeypatch.setattr(module, "_TREES_AT_ONCE", 1)
    monkeypatch.setattr(module, "_FEW_ROWS", 0)
    asked = []

    def some(trees, first, last):
        part = trees_beside(trees, first, last)
        apply = part.apply
        object.__setattr__(part, "apply", lambda binned, rows, n_jobs: asked.append(len(rows)) or apply(binned, rows))
        return part

    got, easy = mine(rules_of(vote_fraction=1.0))
    monkeypatch.setattr(module, "trees_beside", some)
    again = got.easy(a_forest()[4])
    assert again.tolist() == easy.tolist()
    assert asked[0] == 120
    assert easy.sum() <= asked[-1] < 120
    assert asked == sorted(asked, reverse=True)


def test_few_rows_go_through_the_whole_forest_at_once(monkeypatch):
    """Otherwise each call looks at all nodes again to learn which features they need."""
    got, _ = mine(rules_of())
    monkeypatch.setattr(module, "trees_beside", None)
    got.easy(a_forest()[4])
    assert "_n_features_needed" in vars(got.forest.trees)  # found once, and kept


@pytest.mark.parametrize("chosen", [[2], [0, 1, 2], [1, 2, 3], [0, 2, 3], [6], [6, 0], list(range(7))])
def test_some_trees_are_those_trees(chosen):
    *_, binned, grown = a_forest()
    part = some_trees(grown.trees, np.array(chosen))
    assert part.n_trees == len(chosen)
    assert part.apply(binned).tolist() == grown.trees.apply(binned)[:, chosen].tolist()
    assert part.predict(binned).tobytes() == grown.trees.predict(binned, trees=chosen).tobytes()
    assert not np.shares_memory(part.nodes, grown.trees.nodes)


def test_some_trees_keep_the_values_that_their_leaves_hold():
    *_, grown = a_forest()
    part = some_trees(grown.trees, np.array([1, 4]))
    held = {row for t in (1, 4) for row in grown.trees.tree(t).value_row if row >= 0}
    n_classes = grown.trees.n_classes
    assert len(part.values) == len(held | set(range(n_classes))) < len(grown.trees.values)
    np.testing.assert_array_equal(part.values[:n_classes], np.eye(n_classes))


@pytest.mark.parametrize(("first", "last"), [(0, 7), (0, 1), (2, 5), (6, 7)])
def test_trees_beside_each_other_are_a_view(first, last):
    *_, binned, grown = a_forest()
    part = trees_beside(grown.trees, first, last)
    assert part.apply(binned).tolist() == grown.trees.apply(binned)[:, first:last].tolist()
    assert np.shares_memory(part.nodes, grown.trees.nodes)
    assert np.shares_memory(part.values, grown.trees.values)


def test_nobody_is_easy_where_the_division_does_not_stand():
    got, easy = mine(rules_of(vote_fraction=0.5))
    assert easy.any()
    void = replace(got, is_valid=False)
    assert void.easy(a_forest()[4]).tolist() == [False] * 120
    assert void.easy(a_forest()[4]).dtype == bool


@pytest.mark.parametrize("is_valid", [True, False])
def test_no_rows_are_no_easy_rows(is_valid):
    got = replace(mine(rules_of())[0], is_valid=is_valid)
    nobody = got.binned(np.empty((0, 5)), None)
    assert got.easy(nobody).shape == (0,)
    assert got.probabilities(nobody, np.arange(0)).shape == (0, 3)


def test_memory_is_that_of_trees_and_scores():
    """Eight bytes a node and four for its score, four for each number in a leaf."""
    got = mine(rules_of())[0]
    assert got.nbytes == 12 * len(got.forest.trees.nodes) + 4 * got.forest.trees.values.size


def test_leaf_scores_of_weights_are_those_of_repeated_rows():
    """The same forest; rows as often as they weigh."""
    X, y, _, mapper, binned, grown = a_forest()
    often = np.random.default_rng(2).integers(1, 4, len(y))
    repeated = mapper.transform(np.repeat(X, often, axis=0))
    for leaf_score in SCORES:
        for threshold in THRESHOLDS:
            rules = rules_of(leaf_score=leaf_score, threshold=threshold, vote_fraction=0.5)
            one, easy = rules.mine(FoldForest.of(grown), mapper, binned, y, often.astype(float), None)
            other, easy_repeated = rules.mine(FoldForest.of(grown), mapper, repeated, np.repeat(y, often), None, None)
            assert one.leaf_score.tobytes() == other.leaf_score.tobytes()
            assert one.threshold.tobytes() == other.threshold.tobytes()
            assert np.repeat(easy, often).tobytes() == easy_repeated.tobytes()
    plain = rules_of().mine(FoldForest.of(grown), mapper, binned, y, None, None)[0]
    assert (
        plain.leaf_score.tobytes()
        != rules_of().mine(FoldForest.of(grown), mapper, binned, y, often.astype(float), None)[0].leaf_score.tobytes()
    )


# A twin of Algorithm 1.


@dataclass
class Iteration:
    """What the twin knows of one."""

    mapper: BinMapper
    grown: object
    rows: list
    found: Mined
    stands: bool
    easy: list
    decided: np.ndarray

    def is_easy(self, x):
        return self.stands and self.found.is_easy(x)


def accuracy(right, weights):
    """As a fraction; None where there are no rows."""
    weights = [Fraction(float(w)) for w in weights]
    return sum(w for w, r in zip(weights, right, strict=True) if r) / sum(weights) if weights else None


@dataclass
class Fold:
    """A cascade of the twin that does not see some rows, and predicts them."""

    rows: list
    held_out: list
    waiting: list
    over: bool = False


def patience_of(model):
    """Two decreases, unless the model says otherwise."""
    return 2 if model.patience is None else model.patience


def algorithm_1(model, X, y, weights=None, log=None):
    """Lines 1 to 10 with the two rules; iterations, scores, and the last iteration that each row reached."""
    n_classes, entropy = len(np.unique(y)), naive.entropy_of(model.random_state)
    member = RandomForestClassifier(
        model.n_estimators,
        criterion=model.criterion,
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        max_features=model.max_features,
    )
    rules = MiningRules(**{name: getattr(model, name) for name in MiningRules.__dataclass_fields__})
    every_weight = np.ones(len(y)) if weights is None else weights
    rows = np.flatnonzero(every_weight).tolist()

    def grow(rows, i, fold):
        w = None if weights is None else weights[rows]
        mapper = BinMapper()
        binned = mapper.fit_transform(X[rows], w)
        if model.validation == "oob":
            layer, vectors = naive.fit_layer(
                [member], binned, y[rows], n_classes, entropy, i, weights=w, n_folds=2, class_vectors="oob"
            )
            grown, out_of_bag = layer.forests[0][0], naive.mean(vectors)
        else:
            seed = seed_at(entropy, i, 0, _MODEL, fold)
            grown, out_of_bag = naive.grow(member, binned, y[rows], n_classes, seed, w), None
        return mapper, grown, out_of_bag, *mined(rules, grown, mapper, X[rows], y[rows], w)

    def are_few(rows):
        classes = {int(y[row]) for row in rows}
        return len(classes) <= 1 or len(rows) < model.n_folds * len(classes)

    folds = []
    if model.validation == "k_fold":
        fold_of = stratified_folds(y[rows], model.n_folds, seed_at(entropy, 0, 0, _FOLDS)).tolist()
        for k in range(max(fold_of) + 1):
            held_out = [row for row, f in zip(rows, fold_of, strict=True) if f == k]
            folds.append(Fold([row for row in rows if row not in held_out], held_out, held_out))
    everyone, level_of, decided = rows, [-1] * len(y), {}
    iterations, scores = [], []
    for i in range(model.max_layers):
        mapper, grown, out_of_bag, found, easy = grow(rows, i, _ALL_ROWS)
        for row in rows:
            level_of[row] = i
        predicted = {}
        if out_of_bag is not None:
            predicted = dict(zip(rows, out_of_bag.tolist(), strict=True))
        for k, fold in enumerate(folds):
            if not fold.over:
                *_, fold.found, fold.easy = grow(fold.rows, i, k)
            predicted |= {row: fold.found.probabilities(X[row]) for row in fold.held_out}
            decided |= {row: predicted[row] for row in fold.waiting}
        if folds:
            if log is not None:
                log.append(np.array([decided[row] for row in everyone]))
            scores.append(accuracy([np.argmax(decided[row]) == y[row] for row in everyone], every_weight[everyone]))
        right = [np.argmax(predicted[row]) == y[row] for row in rows]
        of_easy = [k for k in range(len(rows)) if easy[k]]
        stands = not of_easy or accuracy([right[k] for k in of_easy], every_weight[rows][of_easy]) >= accuracy(
            right, every_weight[rows]
        )
        easy = [e and stands for e in easy]
        own = np.array([predicted[row] for row in rows])
        iterations.append(Iteration(mapper, grown, rows, found, stands, easy, own))
        last = scores[-patience_of(model) - 1 :]
        if len(last) > patience_of(model) and all(b < a for a, b in itertools.pairwise(last)):
            break
        hard = [row for row, e in zip(rows, easy, strict=True) if not e]
        if are_few(hard):
            break
        rows = hard
        for fold in folds:
            still = [row for row, e in zip(fold.rows, fold.easy, strict=True) if not e]
            if fold.over or not stands:
                continue
            fold.over = are_few(still)
            if not fold.over:
                fold.rows = still
                fold.waiting = [row for row in fold.waiting if not fold.found.is_easy(X[row])]
    return iterations, scores, level_of


def answer(iterations, x):
    """Lines 12 to 25 for one row: its probabilities and the iteration that gives them."""
    for level, iteration in enumerate(iterations):
        if level == len(iterations) - 1 or iteration.is_easy(x):
            return iteration.found.probabilities(x), level
    raise AssertionError


VARIANTS = [
    {},
    {"vote_fraction": 1.0, "max_layers": 3},
    {"leaf_score": "gini"},
    {"leaf_score": "entropy", "vote_fraction": 0.8, "predict_with": "all"},
    {"threshold": "median", "elimination": 0.5, "vote_fraction": 1.0},
    {"threshold": "mutual_information", "vote_fraction": 1.0, "max_depth": 2},
    {"leaf_score": "gini", "threshold": "mutual_information", "min_samples_leaf": 3},
    {"leaf_rows": "in_bag", "min_samples_leaf": 4, "leaf_score": "entropy"},
    {"validation": "oob", "n_folds": 2, "keep": "last"},
    {"n_folds": 5, "elimination": 0.0, "criterion": "entropy", "vote_fraction": 1.0},
    {"patience": 1, "vote_fraction": 0.9, "max_features": None, "max_layers": 7},
    {"keep": "last", "vote_fraction": 0.8, "max_layers": 7},
    {"keep": "last", "max_depth": 3, "patience": 2, "leaf_rows": "in_bag", "vote_fraction": 0.8},
    {"vote": "score"},
    {"vote": "score", "threshold": "row_mean", "leaf_score": "gini", "predict_with": "all"},
]
#: Trees so small that few votes agree by chance, rows so few that the twin is quick.
DEFAULTS = {"n_estimators": 6, "vote_fraction": 0.6, "max_layers": 5}
every_variant = pytest.mark.parametrize("variant", range(len(VARIANTS)))


@cache
def model_and_twin(variant, seed, weighted):
    X, y = data(90, seed)
    y[::9] = (y[::9] + 1) % 3
    weights = None
    if weighted:  # some rows have none
        weights = np.random.default_rng(seed).integers(0, 5, 90) / 4
    model = DDBFClassifier(random_state=seed, **{**DEFAULTS, **VARIANTS[variant]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # mutual information gives way to the mean
        model.fit(X, y, sample_weight=weights)
    return model, algorithm_1(model, X, y, weights), (X, y, weights)


@every_variant
@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, False), (2, False), (0, True)])
def test_the_classifier_is_its_naive_twin(variant, seed, weighted):
    model, (iterations, scores, level_of), (_, y, _) = model_and_twin(variant, seed, weighted)
    assert model.validation_scores_ == pytest.approx([float(s) for s in scores], rel=1e-12)
    best = max(range(len(scores)), key=lambda i: (scores[i], -i), default=None)
    kept = len(iterations) if model.keep == "last" else best + 1
    assert model.n_layers_ == len(model.layers_) == kept
    iterations = iterations[:kept]
    assert model.n_rows_.tolist() == [len(i.rows) for i in iterations]
    assert model.class_counts_.tolist() == [[int(c) for c in np.bincount(y[i.rows], minlength=3)] for i in iterations]
    easy = [[row for row, e in zip(i.rows, i.easy, strict=True) if e] for i in iterations]
    assert model.easy_counts_.tolist() == [[sum(1 for row in rows if y[row] == c) for c in range(3)] for rows in easy]
    assert model.n_trees_.tolist() == [len(i.found.voters) for i in iterations]
    assert model.decision_level_.tolist() == [min(level, kept - 1) for level in level_of]
    assert [layer.is_valid for layer in model.layers_] == [i.stands for i in iterations]
    assert [layer.threshold_kind for layer in model.layers_] == [i.found.kind for i in iterations]
    new = data(40, seed + 20)[0]
    for n, stage in enumerate(model.staged_predict_proba(new), 1):
        wanted, levels = zip(*(answer(iterations[:n], x) for x in new.tolist()), strict=True)
        assert stage.tolist() == list(wanted)
    assert n == kept
    assert model.predict_proba(new).tolist() == list(wanted)
    assert model.decision_level(new).tolist() == list(levels)


def test_the_twins_tell_much():
    """Among the models above: rules 1 and 2, early ends, dropped iterations, rows that all iterations decide."""
    events = Counter()
    for variant in range(len(VARIANTS)):
        for seed, weighted in ((0, False), (1, False), (2, False), (0, True)):
            model, (iterations, scores, _), _ = model_and_twin(variant, seed, weighted)
            events["annulled"] += sum(not i.stands for i in iterations[:-1])
            events["kept annulled"] += sum(not layer.is_valid for layer in model.layers_)
            last = scores[-patience_of(model) - 1 :]
            fell = len(last) > patience_of(model) and all(b < a for a, b in itertools.pairwise(last))
            events["rule 1"] += fell and len(iterations) < model.max_layers
            events["short"] += not fell and len(iterations) < model.max_layers
            events["nobody easy"] += sum(not any(i.easy) and i.stands for i in iterations)
            events["dropped"] += model.n_layers_ < len(iterations)
            events["deep"] += model.n_layers_ > 2
            events["fell back"] += sum(i.found.kind != model.threshold for i in iterations)
            events["levels"] += len(set(model.decision_level_.tolist()) - {-1}) > 1
    assert len([name for name, n in events.items() if n >= 3]) == 9, events


def test_the_score_of_noise_stays_at_chance():
    """Training rows of later iterations are chosen by their labels; rows that a cascade has not seen are not."""
    scores = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 4)).round(1), rng.integers(0, 2, 200)
        given = {"vote_fraction": 0.5, "max_layers": 4, "patience": 4, "keep": "last", "random_state": seed}
        model = DDBFClassifier(10, leaf_score="gini", **given).fit(X, y)
        assert model.n_layers_ > 1
        scores.append(model.validation_scores_[[0, 1, -1]])
    mean, error = np.mean(scores, axis=0), np.std(scores, axis=0) / np.sqrt(20)
    assert (np.abs(mean - 0.5) < 3 * error).all()


# The two rules.


def noisy(n_rows=90, seed=0):
    return make_classification(n_rows, 5, n_informative=3, n_redundant=0, flip_y=0.3, random_state=seed)


def prescribed(scores):
    scores = iter(scores)
    return lambda estimator, X, y: next(scores)


@pytest.mark.parametrize(
    ("scores", "patience", "n_run", "best"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5], 1, 2, 1),
        ([0.9, 0.8, 0.7, 0.6, 0.5], 2, 3, 1),
        ([0.9, 0.8, 0.8, 0.7, 0.6], 2, 5, 1),  # an equal score is no decrease, and the count begins again
        ([0.5, 0.4, 0.9, 0.8, 0.7], 2, 5, 3),  # so does it after a rise
        ([0.9, 0.9, 0.9, 0.9, 0.9], 1, 5, 1),
        ([0.5, 0.4, 0.9, 0.8, 0.9], 2, 5, 3),
        ([0.1, 0.2, 0.3, 0.4, 0.5], 1, 5, 5),
        ([0.9, 0.8, 0.7, 0.6, 0.5], 4, 5, 1),
        ([0.9, 0.8, 0.7, 0.6, 0.5], 5, 5, 1),
    ],
)
@pytest.mark.parametrize("keep", ["best", "last"])
def test_rule_1_by_hand(scores, patience, n_run, best, keep):
    """Growing ends after so many decreases in a row; what is kept are the iterations up to the best score, or all."""
    X, y = noisy()
    model = DDBFClassifier(
        4, max_layers=5, vote_fraction=1.0, patience=patience, keep=keep, scoring=prescribed(scores), random_state=0
    ).fit(X, y)
    assert model.validation_scores_.tolist() == scores[:n_run]
    assert model.n_layers_ == (best if keep == "best" else n_run)
    for name in ("layers_", "n_rows_", "n_trees_", "class_counts_", "easy_counts_"):
        assert len(getattr(model, name)) == model.n_layers_
    assert model.decision_level_.max() == model.n_layers_ - 1


def clusters(*of_class):
    """One feature, the number of the cluster; of each cluster how many rows it has of each class."""
    X, y = [], []
    for k, rows in enumerate(of_class):
        for c, n in rows.items():
            X += [[float(k)]] * n
            y += [c] * n
    return np.array(X), np.array(y)


#: The largest leaf has the best f1 score, and wrong labels.
WRONG_IN_THE_LARGEST = ({0: 36, 1: 24}, {1: 10}, {0: 10})


@pytest.mark.parametrize("validation", ["k_fold", "oob"])
def test_rule_2_annuls_a_division_whose_easy_rows_are_predicted_worse(validation):
    """60 % of the easy rows are predicted at best, and 70 % of all: all stay, and other forests are grown on them."""
    X, y = clusters(*WRONG_IN_THE_LARGEST)
    given = {"max_layers": 3, "validation": validation, "keep": "last", "random_state": 0}
    model = DDBFClassifier(8, **given).fit(X, y)
    assert [layer.is_valid for layer in model.layers_] == [False] * 3
    assert model.n_rows_.tolist() == [80] * 3
    assert model.class_counts_.tolist() == [[46, 34]] * 3
    assert not model.easy_counts_.any()
    assert model.decision_level_.tolist() == [2] * 80
    assert len({layer.forest.seeds.tobytes() for layer in model.layers_}) == 3
    stages = [stage[0].tolist() for stage in model.staged_predict_proba(X)]
    assert len(set(map(tuple, stages))) == 3
    # It screens nobody, though leaves and thresholds would.
    assert model.decision_level(X).tolist() == [2] * 80
    first = model.layers_[0]
    assert not first.easy(first.binned(X, None)).any()
    assert replace(first, is_valid=True).easy(first.binned(X, None)).tolist() == (X[:, 0] == 0).tolist()


def test_rule_2_lets_a_division_stand_whose_easy_rows_are_predicted_as_well_as_all():
    """All rows are predicted rightly: 100 % is not less than 100 %."""
    X, y = clusters({0: 40}, {1: 12}, {0: 12})
    model = DDBFClassifier(8, max_layers=1, random_state=0).fit(X, y)
    assert model.validation_scores_.tolist() == [1.0]
    assert model.layers_[0].is_valid
    assert model.easy_counts_.tolist() == [[40, 0]]


def test_rule_2_weighs_rows():
    """The wrong labels of the largest leaf hardly count any more: its rows are predicted better than the others.

    Half of the smaller clusters is mislabelled, without a way to tell.
    """
    X, y = clusters({0: 36, 1: 24}, {1: 10, 0: 9}, {0: 10, 1: 9})
    weights = np.where((X[:, 0] == 0) & (y == 1), 0.01, 1.0)
    model = DDBFClassifier(8, max_layers=2, keep="last", random_state=0).fit(X, y, sample_weight=weights)
    assert model.layers_[0].is_valid
    assert model.easy_counts_[0].tolist() == [36, 24]
    X, y = clusters(*WRONG_IN_THE_LARGEST)
    weights = np.where((X[:, 0] == 0) & (y == 1), 1.5, 1.0)
    model = DDBFClassifier(8, max_layers=2, keep="last", random_state=0).fit(X, y, sample_weight=weights)
    assert not model.layers_[0].is_valid


def test_rule_2_lets_equal_accuracies_stand_whatever_the_unit_of_weights():
    """Nine tenths of each cluster are predicted; in tenths, the share of the largest is rounded to less."""
    X, y = clusters({0: 189, 1: 21}, {1: 63, 0: 7}, {0: 63, 1: 7})
    weights = np.where(X[:, 0] == 2, 2.0, 1.0)
    ones, tenths = (DDBFClassifier(8, max_layers=1, random_state=0).fit(X, y, weights * unit) for unit in (1.0, 0.1))
    assert ones.layers_[0].is_valid
    assert tenths.layers_[0].is_valid


def test_rule_2_compares_accuracies_whatever_the_scorer():
    X, y = clusters(*WRONG_IN_THE_LARGEST)
    model = DDBFClassifier(8, max_layers=2, scoring="neg_log_loss", keep="last", random_state=0).fit(X, y)
    assert [layer.is_valid for layer in model.layers_] == [False] * 2


# Ends of growth.


def test_growth_ends_when_no_row_is_hard():
    """Labels that say next to nothing about the feature: mutual information is less than all scores."""
    X, y = clusters({0: 20, 1: 11}, {0: 20, 1: 10})
    model = DDBFClassifier(5, threshold="mutual_information", max_layers=4, random_state=0).fit(X, y)
    assert len(model.validation_scores_) == 1
    assert model.easy_counts_.tolist() == model.class_counts_.tolist() == [[40, 21]]
    assert model.decision_level_.tolist() == [0] * 61
    assert model.layers_[0].threshold_kind == "mutual_information"


def test_growth_ends_when_hard_rows_are_of_one_class():
    X, y = clusters({"a": 50}, {"b": 20})
    model = DDBFClassifier(5, max_layers=4, random_state=0).fit(X, y)
    assert len(model.validation_scores_) == 1
    assert model.class_counts_.tolist() == [[50, 20]]
    assert model.easy_counts_.tolist() == [[50, 0]]
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("smaller", "n_folds", "goes_on"),
    [
        ((3, 3), 3, True),
        ((3, 2), 3, False),
        ((5, 1), 3, True),
        ((3, 2), 2, True),
        ((7, 3), 5, True),
        ((7, 2), 5, False),
    ],
)
@pytest.mark.parametrize("validation", ["k_fold", "oob"])
def test_growth_ends_with_fewer_hard_rows_than_folds_times_their_classes(smaller, n_folds, goes_on, validation):
    X, y = clusters({0: 60}, {1: smaller[0]}, {2: smaller[1]})
    given = {"max_layers": 2, "n_folds": n_folds, "keep": "last", "validation": validation, "random_state": 0}
    model = DDBFClassifier(5, **given).fit(X, y)
    assert model.easy_counts_[0].tolist() == [60, 0, 0]
    assert model.n_layers_ == 1 + goes_on
    if goes_on:
        assert model.class_counts_.tolist() == [[60, *smaller], [0, *smaller]]


def test_a_class_that_hard_rows_lack_has_no_chance_there():
    X, y = clusters({"easy": 60}, {"b": 6}, {"a": 5})
    model = DDBFClassifier(5, max_layers=2, keep="last", random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "easy"]
    assert model.class_counts_.tolist() == [[5, 6, 60], [5, 6, 0]]
    assert model.decision_level([[0.0], [1.0], [2.0]]).tolist() == [0, 1, 1]
    probabilities = model.predict_proba([[0.0], [1.0], [2.0]])
    assert probabilities[0, 2] == 1.0
    assert probabilities[1:, 2].tolist() == [0.0, 0.0]
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(3))
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == ["easy", "b", "a"]


def test_who_finds_nobody_easy_is_followed_by_another_forest_on_all_rows():
    """Leaves of equal scores: none is above their mean."""
    X, y = clusters({0: 20}, {1: 20})
    model = DDBFClassifier(5, leaf_score="gini", max_layers=3, keep="last", random_state=0).fit(X, y)
    assert model.n_rows_.tolist() == [40] * 3
    assert not model.easy_counts_.any()
    assert all(layer.is_valid for layer in model.layers_)
    assert len({layer.forest.seeds.tobytes() for layer in model.layers_}) == 3


def test_pure_leaves_of_in_bag_rows_have_equal_scores():
    """Fully grown trees, and no two rows alike: nobody is easy with gini or entropy, as the documentation says."""
    X, y = noisy()
    for leaf_score in ("gini", "entropy"):
        given = {"leaf_score": leaf_score, "leaf_rows": "in_bag", "vote_fraction": 0.01}
        model = DDBFClassifier(5, max_layers=2, keep="last", random_state=0, **given).fit(X, y)
        assert not model.easy_counts_.any()
        assert all(not layer.leaf_score.any() and not layer.threshold.any() for layer in model.layers_)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("validation", ["k_fold", "oob"])
@pytest.mark.parametrize("calibration", [None, "isotonic"])
def test_one_class(threshold, validation, calibration):
    X = np.random.default_rng(0).normal(size=(20, 3))
    given = {"threshold": threshold, "validation": validation, "calibration": calibration, "random_state": 0}
    model = DDBFClassifier(3, keep="last", **given).fit(X, np.full(20, "only"))
    assert model.n_layers_ == 1
    assert len(model.validation_scores_) == (validation == "k_fold")
    assert model.predict_proba(X + 1).tolist() == [[1.0]] * 20
    assert model.predict(X).tolist() == ["only"] * 20
    # Information of one class is 0, and any f1 score is above that.
    assert model.easy_counts_.tolist() == [[20 if threshold == "mutual_information" else 0]]


@pytest.mark.parametrize("validation", ["k_fold", "oob"])
@pytest.mark.parametrize("calibration", [None, "isotonic"])
def test_two_rows(validation, calibration):
    given = {"validation": validation, "calibration": calibration, "random_state": 0}
    model = DDBFClassifier(4, keep="last", **given).fit([[0.0], [1.0]], [3, 5])
    assert model.n_layers_ == 1
    assert set(model.predict([[-1.0], [0.0], [1.0], [9.0]])) <= {3, 5}
    assert model.predict_proba([[0.0], [1.0]]).sum(axis=1) == pytest.approx(np.ones(2))


@pytest.mark.parametrize("n_rows", range(2, 12))
def test_tiny_data(n_rows):
    rng = np.random.default_rng(n_rows)
    X, y = rng.normal(size=(n_rows, 3)), rng.integers(0, 3, n_rows)
    model = DDBFClassifier(3, n_folds=2, vote_fraction=0.5, keep="last", random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (n_rows, len(np.unique(y)))
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(n_rows))
    assert sorted(np.concatenate([rows for rows, _ in model.iterate(X)])) == list(range(n_rows))


@pytest.mark.parametrize("value", [1.0, math.nan])
def test_features_that_say_nothing(value):
    """Trees are roots: each has one leaf, which no row exceeds."""
    y = np.repeat([0, 1], [30, 10])
    model = DDBFClassifier(20, max_layers=2, keep="last", random_state=0).fit(np.full((40, 2), value), y)
    assert model.n_rows_.tolist() == [40, 40]
    assert not model.easy_counts_.any()
    assert model.predict_proba([[5.0, math.nan]])[0] == pytest.approx([0.75, 0.25], abs=0.1)


def test_missing_values_send_rows_to_iterations():
    """The large cluster is the one whose only feature is missing."""
    X, y = clusters({0: 60}, {1: 10}, {2: 10})
    X[X[:, 0] == 0] = np.nan
    model = DDBFClassifier(5, max_layers=2, keep="last", random_state=0).fit(X, y)
    assert model.decision_level([[np.nan], [1.0], [2.0]]).tolist() == [0, 1, 1]
    assert model.predict([[np.nan], [1.0], [2.0]]).tolist() == [0, 1, 2]


# Inputs and weights.

#: Several iterations, each of which decides some rows.
SEVERAL = {"n_estimators": 5, "vote_fraction": 0.8, "max_layers": 4, "keep": "last", "random_state": 0}


def several(**others):
    return DDBFClassifier(**{**SEVERAL, **others})


def same(one, other, X):
    """Whether two models scored and predict the same bytes, iteration after iteration."""
    stages = zip(one.staged_predict_proba(X), other.staged_predict_proba(X), strict=True)
    return (
        one.validation_scores_.tobytes() == other.validation_scores_.tobytes()
        and one.easy_counts_.tobytes() == other.easy_counts_.tobytes()
        and all(a.tobytes() == b.tobytes() for a, b in stages)
        and one.decision_level(X).tobytes() == other.decision_level(X).tobytes()
    )


def test_several_iterations_decide_rows():
    """What the tests below lean on."""
    X, y = data()
    model = several().fit(X, y)
    assert model.n_layers_ == 4
    assert (np.diff(model.n_rows_) < 0).all()
    assert set(model.decision_level(X)) == {0, 1, 2, 3}
    assert set(model.decision_level_) == {0, 1, 2, 3}


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_dense(form, weighted):
    X, y = data()
    X[np.abs(X) < 0.5] = 0
    weights = np.arange(120) % 3 + 0.0 if weighted else None
    dense, sparse = several().fit(X, y, weights), several().fit(form(X), y, weights)
    assert dense.n_layers_ > 2
    assert same(dense, sparse, X)
    assert same(dense, sparse, form(X))
    assert sparse.predict_proba(form(X)).tobytes() == dense.predict_proba(X).tobytes()
    assert sparse.decision_level_.tolist() == dense.decision_level_.tolist()


def test_labels_may_be_words():
    X, y = data()
    numbers, words = several().fit(X, np.array([2, 0, 1])[y]), several().fit(X, np.array(["z", "a", "m"])[y])
    assert words.classes_.tolist() == ["a", "m", "z"]
    assert same(numbers, words, X)
    assert words.predict(X).tolist() == np.array(["a", "m", "z"])[numbers.predict(X)].tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "others", [{}, {"leaf_rows": "in_bag", "max_depth": 3}, {"validation": "oob", "calibration": "isotonic"}], ids=str
)
def test_rows_without_weight_are_absent_rows(weighted, others):
    X, y = data()
    weights = np.tile([1.0, 0.0, 1.0, 1.0, 0.0], 24)
    kept = weights > 0
    if weighted:
        weights[kept] = np.random.default_rng(0).uniform(0.5, 3, kept.sum())
    X[~kept] += 1000.0
    y[~kept] = 2
    given = {"max_layers": 1, **others} if "calibration" in others else others
    model = several(**given).fit(X, y, weights)
    absent = several(**given).fit(X[kept], y[kept], weights[kept])
    assert same(model, absent, X)
    assert model.class_counts_.tolist() == absent.class_counts_.tolist()
    assert model.decision_level_[kept].tolist() == absent.decision_level_.tolist()
    assert model.decision_level_[~kept].tolist() == [-1] * 48
    assert model.decision_level_.dtype == model.decision_level(X).dtype == np.int16


def test_a_single_row_without_weight_is_an_absent_row():
    X, y = data()
    weights = np.ones(120)
    weights[7] = 0
    assert same(several().fit(X, y, weights), several().fit(np.delete(X, 7, axis=0), np.delete(y, 7)), X)


@pytest.mark.parametrize("leaf_rows", LEAF_ROWS)
def test_weights_that_vanish_in_single_precision_are_none(leaf_rows):
    """Forests leave such rows out; who draws their bootstraps again must do so, too."""
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2, 120)
    weights[::4] = 1e-60
    given = {"leaf_rows": leaf_rows, "max_depth": 3}
    model, without = (
        several(**given).fit(X, y, weights),
        several(**given).fit(X, y, np.where(weights < 0.1, 0, weights)),
    )
    assert same(model, without, X)
    assert model.decision_level_.tolist() == without.decision_level_.tolist()
    assert set(model.decision_level_[::4]) == {-1}


def test_the_least_weights_that_do_not_vanish_count():
    X, y = data()
    weights = np.full(120, 1.0)
    weights[::4] = np.finfo(np.float32).tiny
    model = several(leaf_rows="in_bag", max_depth=3).fit(X, y, weights)
    assert model.n_rows_[0] == 120
    assert model.decision_level_.min() == 0


@pytest.mark.parametrize("n_light", [1, 2])
def test_one_row_of_more_than_vanishing_weight(n_light):
    """Two rows have weight, as `fit` asks for, though one has next to none: it learns, or says what is wrong."""
    said = "weight"
    X, y = [[0.0], [1.0], [2.0]][: n_light + 1], [0, 1, 1][: n_light + 1]
    try:
        DDBFClassifier(3, random_state=0).fit(X, y, sample_weight=[1.0, 1e-60, 1e-60][: n_light + 1])
    except ValueError as error:
        said = str(error)
    assert "weight" in said


@pytest.mark.parametrize("weighted", [False, True])
def test_each_iteration_bins_its_own_rows_by_weight(weighted):
    """More values than bins: where they end depends on the rows, and on their weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = (X[:, 0] + rng.normal(scale=0.5, size=1500) > 0).astype(int)
    weights = np.where(X[:, 1] > 0, 5.0, rng.integers(0, 2, 1500)) if weighted else None
    model = several(max_layers=2, max_depth=4).fit(X, y, weights)
    rows = np.arange(1500) if weights is None else np.flatnonzero(weights)
    edges = []
    for layer in model.layers_:
        wanted = BinMapper().fit(X[rows], None if weights is None else weights[rows])
        assert layer.mapper.edges_.tobytes() == wanted.edges_.tobytes()
        edges.append(wanted.edges_.tolist())
        rows = rows[model.decision_level_[rows] > 0]
        assert len(rows) > 300
    assert edges[0] != edges[1]
    if weighted:
        assert edges[0] != BinMapper().fit(X).edges_.tolist()


def test_scale_of_weights_does_not_matter():
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2, 120)
    assert same(several().fit(X, y, weights), several().fit(X, y, weights * 2.0**-70), X)
    assert same(several().fit(X, y), several().fit(X, y, np.full(120, 0.3)), X)


def test_class_weights_are_weights_of_rows():
    X, y = data()
    of_class = {0: 1.0, 1: 2.0, 2: 5.0}
    by_row = np.array([of_class[c] for c in y.tolist()])
    plain, by_class = several().fit(X, y), several(class_weight=of_class).fit(X, y)
    assert same(by_class, several().fit(X, y, by_row), X)
    assert not same(by_class, plain, X)
    balanced = 120 / (3 * np.bincount(y))
    assert same(several(class_weight="balanced").fit(X, y), several().fit(X, y, balanced[y]), X)
    without = several(class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert not without.predict_proba(X)[:, 2].any()
    assert (without.decision_level_ == -1).tolist() == (y == 2).tolist()


def test_frames_are_arrays_without_warnings():
    """Iterations see arrays: no names are missed there."""
    X, y = data()
    frame = pd.DataFrame(X).add_prefix("column ")
    named, plain = several().fit(frame, y), several().fit(X, y)
    assert named.feature_names_in_.tolist() == list(frame.columns)
    assert [p.tobytes() for _, p in named.iterate(frame)] == [p.tobytes() for _, p in plain.iterate(X)]
    assert named.predict_proba(frame).tobytes() == plain.predict_proba(X).tobytes()
    assert named.decision_level(frame).tolist() == plain.decision_level(X).tolist()


# Predictions.


@pytest.mark.parametrize("predict_with", ["retained", "all"])
def test_iterations_divide_the_rows_among_them(predict_with):
    X, y = data()
    model = several(predict_with=predict_with).fit(X, y)
    new = data(200, seed=3)[0]
    parts, levels = list(model.iterate(new)), model.decision_level(new)
    probabilities = model.predict_proba(new)
    assert len(parts) == model.n_layers_
    assert sorted(np.concatenate([rows for rows, _ in parts])) == list(range(200))
    for level, (rows, own) in enumerate(parts):
        assert rows.dtype == np.int32
        assert rows.tolist() == np.flatnonzero(levels == level).tolist()  # ascending, too
        assert own.tobytes() == probabilities[rows].tobytes()
    assert all(len(rows) for rows, _ in parts)


def test_a_row_keeps_the_probabilities_of_the_iteration_that_decides_it():
    X, y = data()
    model = several().fit(X, y)
    new = data(200, seed=3)[0]
    stages, levels = list(model.staged_predict_proba(new)), model.decision_level(new)
    assert len(stages) == model.n_layers_
    assert stages[-1].tobytes() == model.predict_proba(new).tobytes()
    assert [p.tolist() for p in model.staged_predict(new)] == [s.argmax(axis=1).tolist() for s in stages]
    for row, level in enumerate(levels):
        assert all(stage[row].tolist() == stages[level][row].tolist() for stage in stages[level:])
    changed = [(b != a).any(axis=1) for a, b in itertools.pairwise(stages)]
    assert all(is_other.any() for is_other in changed)
    copies = [stage.copy() for stage in model.staged_predict_proba(new)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(copies, stages, strict=True))  # not one array, overwritten


def test_rows_are_predicted_each_by_itself():
    X, y = data()
    model = several().fit(X, y)
    new = data(60, seed=3)[0]
    probabilities, levels = model.predict_proba(new), model.decision_level(new)
    assert b"".join(model.predict_proba(x[None]).tobytes() for x in new) == probabilities.tobytes()
    assert [model.decision_level(x[None])[0] for x in new] == levels.tolist()
    assert model.predict_proba(new[::-1])[::-1].tobytes() == probabilities.tobytes()
    # Rows of which nobody reaches the later iterations.
    first = new[levels == 0]
    assert len(first) > 3
    assert [s.tobytes() for s in model.staged_predict_proba(first)] == [probabilities[levels == 0].tobytes()] * 4
    assert [len(rows) for rows, _ in model.iterate(scipy.sparse.csr_matrix(first))] == [len(first), 0, 0, 0]


def test_levels_of_training_rows_are_counted_where_they_were_decided():
    """Rows that the iterations found easy, and in the last one all that reached it."""
    X, y = data()
    for keep in ("best", "last"):
        model = several(keep=keep, max_layers=5).fit(X, y)
        decided = np.array(
            [np.bincount(y[model.decision_level_ == level], minlength=3) for level in range(model.n_layers_)]
        )
        assert decided[:-1].tolist() == model.easy_counts_[:-1].tolist()
        assert decided[-1].tolist() == model.class_counts_[-1].tolist()
        assert model.decision_level(X).tolist() == model.decision_level_.tolist()


def test_scorers_see_each_row_as_it_was_decided():
    X, y = data()
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.predict_proba(X), y))
        return 0.0

    model = several(scoring=scorer).fit(X, y)
    assert [labels.tolist() for _, labels in seen] == [y.tolist()] * 4
    wanted = []
    algorithm_1(model, X, y, log=wanted)
    n_changed = 120
    for level, (probabilities, _) in enumerate(seen):
        assert probabilities.tolist() == wanted[level].tolist()
        assert probabilities.sum(axis=1) == pytest.approx(np.ones(120), abs=1e-12)
        if level:  # fewer rows are left in each iteration
            before, n_changed = n_changed, np.count_nonzero((probabilities != seen[level - 1][0]).any(axis=1))
            assert 0 < n_changed < before


# Life of an estimator.


def test_the_first_forest_does_not_depend_on_the_validation():
    X, y = data()
    one, other = (several(validation=validation, keep="last").fit(X, y) for validation in ("k_fold", "oob"))
    first, second = one.layers_[0], other.layers_[0]
    assert first.forest.trees.nodes.tobytes() == second.forest.trees.nodes.tobytes()
    assert first.forest.trees.values.tobytes() == second.forest.trees.values.tobytes()
    assert first.leaf_score.tobytes() == second.leaf_score.tobytes()
    assert len(one.validation_scores_) == one.n_layers_
    assert len(other.validation_scores_) == 0


@pytest.mark.parametrize(
    "others", [{}, {"validation": "oob", "leaf_rows": "in_bag", "max_depth": 4}, {"calibration": "isotonic"}], ids=str
)
def test_equal_fits_are_equal_pickles_for_any_number_of_threads(others):
    X, y = np.tile(data()[0], (5, 1)), np.tile(data()[1], 5)
    one, again, two = (several(n_jobs=n_jobs, **others).fit(X, y) for n_jobs in (1, 1, 2))
    assert pickle.dumps(one) == pickle.dumps(again)
    assert pickle.dumps(one.layers_) == pickle.dumps(two.layers_)
    assert pickle.dumps(two.set_params(n_jobs=1)) == pickle.dumps(one)
    if not others:
        assert same(one, two.set_params(n_jobs=2), X)


def test_a_pickle_predicts_the_same():
    X, y = data()
    model = several().fit(X, y)
    assert same(pickle.loads(pickle.dumps(model)), model, X)


def test_a_clone_learns_the_same():
    X, y = data()
    model = several(leaf_score="entropy", elimination=0.4).fit(X, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "layers_")
    assert same(twin.fit(X, y), model, X)
    assert not same(clone(model).set_params(random_state=1).fit(X, y), model, X)


@pytest.mark.parametrize("calibration", [None, "isotonic"])
def test_a_model_holds_no_training_rows(calibration):
    """Shallow trees and 20,000 rows; the level of each row is all that is known of it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    given = {"max_depth": 2, "min_samples_leaf": 0.1, "max_layers": 2, "n_estimators": 2, "calibration": calibration}
    model = several(**given).fit(X, y)
    assert len(pickle.dumps(model)) - model.decision_level_.nbytes < 20_000


def test_every_parameter_reaches_its_place():
    """Each of them changes something."""
    X, y = data()
    wanted = several(scoring="accuracy", patience=9).fit(X, y)
    assert same(wanted, several(patience=9).fit(X, y), X)
    changed = {
        "n_estimators": 7,
        "max_layers": 3,
        "leaf_score": "gini",
        "threshold": "median",
        "vote": "score",
        "vote_fraction": 0.5,
        "elimination": 0.6,
        "leaf_rows": "in_bag",
        "predict_with": "all",
        "n_folds": 2,
        "scoring": "neg_log_loss",
        "criterion": "entropy",
        "max_depth": 3,
        "min_samples_leaf": 3,
        "max_features": None,
        "class_weight": "balanced",
        "random_state": 1,
    }
    for name, value in changed.items():
        other = several(**{name: value}).fit(X, y)
        assert other.n_layers_ != wanted.n_layers_ or not same(other, wanted, X), name


def test_a_grid_may_be_searched():
    X, y = data()
    grid = {"leaf_score": ["f1", "gini"], "vote_fraction": [0.5, 1.0]}
    search = GridSearchCV(DDBFClassifier(3, max_layers=2, random_state=0), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict_proba(X).shape == (120, 3)


def test_methods_of_an_unfitted_model_say_so():
    X, _ = data()
    model = DDBFClassifier()
    for method in (model.predict, model.predict_proba, model.decision_level, model.iterate):
        with pytest.raises(NotFittedError, match="not fitted"):
            method(X)
    with pytest.raises(NotFittedError, match="not fitted"):
        next(model.staged_predict_proba(X))


@pytest.fixture
def library_log(caplog):
    logger = logging.getLogger("cascadeforest")
    level, handlers = logger.level, list(logger.handlers)
    yield caplog
    logger.setLevel(level)
    logger.handlers[:] = handlers


def test_a_line_for_each_iteration(library_log):
    X, y = clusters(*WRONG_IN_THE_LARGEST)
    DDBFClassifier(8, max_layers=2, random_state=0).fit(X, y)
    assert not library_log.records
    model = DDBFClassifier(8, max_layers=2, random_state=0, verbose=1).fit(X, y)
    scores = [f"{score:.5f}" for score in model.validation_scores_]
    assert [record.getMessage() for record in library_log.records] == [
        f"iteration 1: held-out score of all {scores[0]}, 80 rows, 0 of them easy (division annulled)",
        f"iteration 2: held-out score of all {scores[1]}, 80 rows, 0 of them easy (division annulled)",
        f"kept {model.n_layers_} of 2 iterations",
    ]
    library_log.clear()
    DDBFClassifier(8, max_layers=1, random_state=0, verbose=True).fit(*clusters({0: 40}, {1: 12}, {0: 12}))
    assert library_log.records[0].getMessage().endswith("1.00000, 64 rows, 40 of them easy")


# Mutual information that nobody exceeds.


@pytest.mark.parametrize("leaf_score", ["gini", "entropy"])
def test_the_mean_takes_the_place_of_mutual_information_that_nobody_exceeds(leaf_score):
    """Impurities are never above 0, and information is never below it. The warning points at the call of `fit`."""
    X, y = data()
    given = {"leaf_score": leaf_score, "max_layers": 3, "min_samples_leaf": 2}
    with pytest.warns(UserWarning, match=rf"leaf_score '{leaf_score}' .* in iterations 1, 2, 3; the mean") as caught:
        model = several(threshold="mutual_information", **given).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert [layer.threshold_kind for layer in model.layers_] == ["mean"] * 3
    mean = several(**given).fit(X, y)
    assert same(model, mean, X)
    assert mean.easy_counts_.any()
    assert model.layers_[0].threshold.tobytes() == mean.layers_[0].threshold.tobytes()


def test_no_warning_where_rows_exceed_mutual_information():
    """Warnings are errors here."""
    X, y = clusters({0: 20, 1: 11}, {0: 20, 1: 10})
    model = DDBFClassifier(5, threshold="mutual_information", random_state=0).fit(X, y)
    assert [layer.threshold_kind for layer in model.layers_] == ["mutual_information"]


def test_only_iterations_that_are_kept_are_named():
    X, y = data()
    given = {"threshold": "mutual_information", "leaf_score": "gini", "min_samples_leaf": 2, "keep": "best"}
    with pytest.warns(UserWarning, match=r"in iterations 1, 2; the mean"):
        several(scoring=prescribed([0.1, 0.9, 0.5, 0.5]), **given).fit(X, y)


# Calibration.


def isotonic(p, is_class, weights):
    """Isotonic regression by its max-min formula, at the distinct values of p."""
    values = sorted(set(p))
    groups = [
        (
            sum(w * c for q, c, w in zip(p, is_class, weights, strict=True) if q == v),
            sum(w for q, w in zip(p, weights, strict=True) if q == v),
        )
        for v in values
    ]

    def mean(first, last):
        part = groups[first : last + 1]
        return sum(s for s, _ in part) / sum(w for _, w in part)

    n = len(values)
    fitted = [max(min(mean(j, k) for k in range(i, n)) for j in range(i + 1)) for i in range(n)]
    return values, fitted


def calibrated(p, out_of_sample, y, weights):
    """Each class by itself, linear between the values that occurred; then shares of their sum."""
    own = np.column_stack(
        [
            np.interp(p[:, c], *isotonic(out_of_sample[:, c].tolist(), (y == c).tolist(), weights.tolist()))
            for c in range(p.shape[1])
        ]
    )
    total = own.sum(axis=1, keepdims=True)
    return np.where(total > 0, own / np.where(total > 0, total, 1), p)


@pytest.mark.parametrize("validation", ["k_fold", "oob"])
@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_is_isotonic_regression_on_out_of_sample_predictions(validation, weighted):
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.2, 3, 120) if weighted else None
    plain = several(validation=validation).fit(X, y, weights)
    model = several(validation=validation, calibration="isotonic").fit(X, y, weights)
    iterations, _, _ = algorithm_1(model, X, y, weights)
    assert model.validation_scores_.tolist() == plain.validation_scores_.tolist()
    assert model.easy_counts_.tolist() == plain.easy_counts_.tolist()
    new = data(50, seed=4)[0]
    n_changed = 0
    for layer, other, twin in zip(model.layers_, plain.layers_, iterations, strict=True):
        assert other.calibration is None
        seen, rows = layer.binned(new, None), np.arange(50)
        uncalibrated = other.probabilities(seen, rows)
        w = np.ones(len(twin.rows)) if weights is None else weights[twin.rows]
        wanted = calibrated(uncalibrated, twin.decided, y[twin.rows], w)
        assert layer.probabilities(seen, rows) == pytest.approx(wanted, abs=1e-6)
        n_changed += np.abs(wanted - uncalibrated).max() > 0.05
    assert n_changed > 2


def test_calibration_of_two_classes_is_monotone():
    X, y = noisy(200)
    given = {"max_layers": 1, "random_state": 0, "n_estimators": 10}
    plain, model = (DDBFClassifier(calibration=c, **given).fit(X, y) for c in (None, "isotonic"))
    new = noisy(400, seed=1)[0]
    before, after = plain.predict_proba(new), model.predict_proba(new)
    assert after.sum(axis=1) == pytest.approx(np.ones(400), abs=1e-12)
    order = before[:, 1].argsort(kind="stable")
    assert (np.diff(after[order, 1]) >= -1e-12).all()
    assert len(np.unique(after[:, 1])) > 3
    assert before.tobytes() != after.tobytes()
    assert [len(layer.calibration) for layer in model.layers_] == [2]


class Prescribed:
    """In place of an isotonic regression."""

    def __init__(self, of_value):
        self.of_value = of_value

    def predict(self, p):
        return np.array([self.of_value[v] for v in p.tolist()])


def test_calibrated_probabilities_are_shares_or_stay():
    """0.4 and 0.1 are 80 % and 20 %; where all classes come out as 0 nothing else is known."""
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75]])
    by_class = [Prescribed({0.75: 0.4, 0.25: 0.0}), Prescribed({0.25: 0.1, 0.75: 0.0})]
    assert module._calibrated(probabilities, by_class) == pytest.approx(np.array([[0.8, 0.2], [0.25, 0.75]]))
    assert module._calibrated(probabilities, None) is probabilities


def test_calibration_where_a_class_is_missing():
    X, y = clusters({0: 60}, {1: 6}, {2: 5})
    model = DDBFClassifier(5, max_layers=2, keep="last", calibration="isotonic", random_state=0).fit(X, y)
    assert model.n_layers_ == 2
    seen = model.layers_[1].binned(np.array([[1.0], [2.0]]), None)
    own = model.layers_[1].probabilities(seen, np.arange(2))
    assert own[:, 0].tolist() == [0.0, 0.0]
    assert own.sum(axis=1) == pytest.approx(np.ones(2))


def test_calibration_of_constant_probabilities_gives_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [20, 12, 8])
    given = {"max_layers": 1, "calibration": "isotonic", "random_state": 0, "n_folds": 4, "max_depth": 1}
    model = DDBFClassifier(40, **given).fit(np.ones((40, 2)), y)
    assert model.predict_proba([[7.0, 1.0]])[0] == pytest.approx([0.5, 0.3, 0.2], abs=0.15)


@pytest.mark.parametrize("method", ["predict_proba", "staged_predict_proba", "iterate"])
def test_calibration_where_an_iteration_decides_nobody(method):
    """As it is for a single row in all iterations but one, and for all rows where a division was annulled."""
    X, y = data()
    model = several(calibration="isotonic").fit(X, y)
    plain = several().fit(X, y)
    alone = X[plain.decision_level(X) == 0][:1]
    assert model.decision_level(alone).tolist() == [0]
    got = getattr(model, method)(alone)
    got = np.vstack([g[1] if isinstance(g, tuple) else g for g in got])
    assert got.sum(axis=1) == pytest.approx(np.ones(len(got)))


# Errors.

WRONG = {
    "n_estimators": [0, -1, 2.5, "many", None, True],
    "max_layers": [0, -1, 2.5, None, "all", True],
    "leaf_score": ["f2", "F1", None, 1, ["f1"]],
    "threshold": ["mode", None, 0.5, True],
    "vote": ["scores", None, 1.0, True],
    "vote_fraction": [0, 0.0, -0.5, 1.1, 2, math.nan, math.inf, "all", None, True],
    "elimination": [1, 1.0, -0.1, 1.5, math.nan, math.inf, "none", None, False],
    "leaf_rows": ["bag", None, True, 1],
    "predict_with": ["retain", None, True],
    "validation": ["k_fold_refit", "cv", None, 3],
    "n_folds": [1, 0, -1, 2.5, None, "three", True],
    "patience": [0, -1, 1.5, "long", True],
    "preset": ["official", "papers", 1],
    "keep": ["first", None, 1, ["last"]],
    "scoring": ["no_such_score", 5, ["accuracy"]],
    "calibration": ["sigmoid", True, False, 1, ""],
    "criterion": ["mse", None, 1],
    "max_depth": [0, -1, 1.5, "deep", True],
    "min_samples_leaf": [0, -1, 0.0, 1.0, 1.5, math.nan, "1", None, True],
    "max_features": [0, -1, 0.0, 1.5, math.nan, "auto", True],
    "class_weight": ["auto", 3, {0: -1.0}, {0: math.nan}, {0: "a"}],
    "categorical_features": ["dtype", 1, [1.5], [-1], [99], [True], ["age"]],
    "n_jobs": [0, 1.5, "all", True],
    "random_state": ["seed", -1, 1.5],
    "verbose": [-1, 1.5, "yes", None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=str
)
def test_wrong_parameters_are_named_with_value_and_remedy(name, value):
    X, y = data(30)
    with pytest.raises(ValueError, match=rf"(?s)^{name} (is|gives) .*[;,] .*(give|choose) ") as raised:
        several(**{name: value}).fit(X, y)
    if not isinstance(value, dict):
        assert re.match(rf"{name} is {re.escape(repr(value))}[;,]", str(raised.value))


def test_the_message_names_none_where_it_is_allowed():
    with pytest.raises(ValueError, match=r"^calibration is 'sigmoid'; choose from 'isotonic' or None\.$"):
        several(calibration="sigmoid").fit(*data(30))


def test_every_parameter_is_checked():
    assert set(WRONG) == set(DDBFClassifier().get_params())


def test_the_number_of_features_is_checked_before_the_first_iteration():
    """By `iterate`, too, when it is called."""
    X, y = data(30)
    model = several().fit(X, y)
    for method in (model.predict_proba, model.decision_level, model.iterate):
        with pytest.raises(ValueError, match="X has 3 features, but DDBFClassifier is expecting 5"):
            method(X[:, :3])


def test_fit_leaves_parameters_and_data_alone():
    X, y = data()
    weights = np.random.default_rng(0).random(120)
    for array in (X, y, weights):
        array.flags.writeable = False  # as memory-mapped data are
    model = several()
    parameters = model.get_params()
    model.fit(X, y, weights).predict_proba(X)
    assert model.get_params() == parameters
