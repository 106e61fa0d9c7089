"""The perceptron chooses its architecture as the papers say, on training rows only."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import floats, integers, lists

from cascadeforest.baselines.mlp import ARCHITECTURES, SelectedMLPClassifier, validation_rows

pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def blobs():
    """Three classes of unequal size; column 0 is the number of the row, so that a row can be recognised."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 30, 10])
    X = np.column_stack([np.arange(100), y + rng.normal(0, 0.8, 100), rng.normal(size=100)])
    return X.astype(np.float32), y


@pytest.fixture
def fits(monkeypatch):
    """Every network that is trained, with the numbers of its training rows."""
    record = []
    train = SelectedMLPClassifier._fitted_network

    def spy(self, X, codes, hidden, seed):
        network = train(self, X, codes, hidden, seed)
        record.append((X[:, 0].astype(int), hidden, network))
        return network

    monkeypatch.setattr(SelectedMLPClassifier, "_fitted_network", spy)
    return record


def test_the_default_candidates_are_those_of_the_paper():
    """mddf, section 5: input-1024-512-output, 16-8-8, 70-50, 50-30, 30-20."""
    assert ARCHITECTURES == ((1024, 512), (16, 8, 8), (70, 50), (50, 30), (30, 20))
    assert SelectedMLPClassifier().architectures == ARCHITECTURES


def test_candidates_train_on_the_same_rows_and_are_judged_on_the_others(blobs, fits):
    X, y = blobs
    model = SelectedMLPClassifier([[4], [6], [8]], max_iter=20, random_state=0).fit(X, y)
    *candidates, _ = fits
    assert [hidden for _, hidden, _ in candidates] == [(4,), (6,), (8,)]
    trained = candidates[0][0]
    assert all(np.array_equal(rows, trained) for rows, _, _ in candidates)
    judged = np.setdiff1d(np.arange(100), trained)
    assert len(judged) == 20
    expected = [np.mean(network.predict(X[judged]) == y[judged]) for _, _, network in candidates]
    assert model.validation_scores_ == pytest.approx(expected)


def test_nothing_of_a_candidate_is_fitted_to_the_rows_that_judge_it(blobs, fits):
    X, y = blobs
    SelectedMLPClassifier([[4], [6]], max_iter=5, random_state=0).fit(X, y)
    rows, _, network = fits[0]
    scaler = network.named_steps["standardscaler"]
    assert scaler.mean_ == pytest.approx(X[rows].mean(axis=0, dtype=np.float64), rel=1e-6)


def test_the_chosen_architecture_is_trained_again_on_all_rows(blobs, fits):
    X, y = blobs
    model = SelectedMLPClassifier([[4], [6]], max_iter=5, random_state=0).fit(X, y)
    rows, hidden, network = fits[-1]
    assert np.array_equal(rows, np.arange(100))
    assert hidden == model.architecture_
    assert network is model.network_


def test_the_candidate_with_the_best_validation_accuracy_wins():
    """One hidden unit cannot tell the four quadrants of exclusive or; thirty can."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    model = SelectedMLPClassifier([[1], [30]], random_state=0).fit(X, y)
    assert model.architecture_ == (30,)
    assert model.validation_scores_[1] > model.validation_scores_[0]


def test_of_equally_good_candidates_the_first_wins():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    model = SelectedMLPClassifier([[30], [40]], random_state=0).fit(X, X[:, 0])
    assert model.validation_scores_.tolist() == [1, 1]
    assert model.architecture_ == (30,)


def test_a_single_candidate_holds_nothing_out(blobs, fits):
    X, y = blobs
    model = SelectedMLPClassifier([[4]], max_iter=5, random_state=0).fit(X, y)
    assert len(fits) == 1
    assert model.validation_scores_ is None


def test_no_candidate_is_an_error_that_says_so(blobs):
    with pytest.raises(ValueError, match="architectures is empty"):
        SelectedMLPClassifier([]).fit(*blobs)


@given(
    sizes=lists(integers(1, 40), min_size=1, max_size=8).filter(lambda sizes: max(sizes) > 1),
    fraction=floats(0.05, 0.6),
    seed=integers(0, 2**32 - 1),
)
@example(sizes=[2, 1, 1, 1, 1], fraction=0.5, seed=0)
def test_each_class_gives_its_share_of_validation_rows_and_keeps_one(sizes, fraction, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    drawn = np.bincount(codes[validation_rows(codes, fraction, seed)], minlength=len(sizes))
    assert drawn.sum() >= 1
    assert np.all(drawn < sizes)
    # one row of rounding at either end of a class, one that it keeps
    assert np.all(np.abs(drawn - fraction * np.array(sizes)) <= 2)


def test_other_seeds_draw_other_validation_rows():
    codes = np.repeat([0, 1], 50)
    assert not np.array_equal(validation_rows(codes, 0.2, 0), validation_rows(codes, 0.2, 1))


def test_rows_that_are_all_alone_in_their_class_cannot_judge():
    with pytest.raises(ValueError, match="only one of its class"):
        validation_rows(np.arange(5), 0.2, 0)
