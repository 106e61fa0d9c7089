"""A random search that sees nothing but training rows, and chooses what a search by hand would."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss

from cascadeforest.baselines.mlp import validation_rows
from cascadeforest.baselines.tuned import _CANDIDATE, _FINAL, _PARAMETERS, _SPLIT, TunedClassifier, _value
from cascadeforest.forest._parameters import entropy_of
from cascadeforest.forest.seeds import seed_at, whole_seed_at

FOREST = {"estimator": "cascadeforest.forest.estimators:RandomForestClassifier", "params": {"n_estimators": 10}}
SPACE = {"max_depth": {"low": 1, "high": 8}, "criterion": {"choice": ["gini", "entropy"]}}


@pytest.fixture(scope="module")
def made():
    return make_classification(400, 8, n_informative=4, n_classes=3, random_state=0)


def test_the_chosen_candidate_has_the_least_loss_on_rows_that_no_candidate_learned_from(made):
    X, y = made
    tuned = TunedClassifier(FOREST, SPACE, n_candidates=6, random_state=3).fit(X, y)
    entropy = entropy_of(3)
    held_out = validation_rows(y, 0.2, whole_seed_at(entropy, _SPLIT))
    losses = []
    for i, changes in enumerate(tuned.candidates_):
        model = tuned._unfitted(changes, whole_seed_at(entropy, _CANDIDATE, i)).fit(X[~held_out], y[~held_out])
        losses.append(log_loss(y[held_out], model.predict_proba(X[held_out])))
    assert tuned.validation_losses_ == pytest.approx(losses)
    assert tuned.chosen_ == tuned.candidates_[int(np.argmin(losses))]
    final = tuned._unfitted(tuned.chosen_, whole_seed_at(entropy, _FINAL)).fit(X, y)
    assert np.array_equal(tuned.predict_proba(X), final.predict_proba(X))


def test_the_first_candidate_is_the_learner_as_it_is(made):
    alone = TunedClassifier(FOREST, SPACE, n_candidates=1, random_state=0).fit(*made)
    assert alone.candidates_ == [{}]
    assert alone.learner_.get_params()["n_estimators"] == 10
    assert alone.learner_.get_params()["max_depth"] is None


def test_a_candidate_does_not_depend_on_how_many_there_are(made):
    few, many = (TunedClassifier(FOREST, SPACE, n_candidates=n, random_state=0).fit(*made) for n in (3, 5))
    assert many.candidates_[:3] == few.candidates_
    assert many.validation_losses_[:3] == pytest.approx(few.validation_losses_)


def test_the_search_uses_the_rows_that_it_may_and_the_final_fit_all(made, monkeypatch):
    X, y = made
    sizes = []
    real = TunedClassifier._unfitted

    def spied(self, changes, seed):
        model = real(self, changes, seed)
        fit = model.fit
        model.fit = lambda X, y: sizes.append(len(y)) or fit(X, y)
        return model

    monkeypatch.setattr(TunedClassifier, "_unfitted", spied)
    TunedClassifier(FOREST, SPACE, n_candidates=3, search_rows=100, random_state=0).fit(X, y)
    assert sizes[-1] == len(y)
    assert all(75 <= size <= 85 for size in sizes[:-1])


def test_a_class_of_one_row_takes_part_in_the_search():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c", "d"])[np.where(np.arange(150) == 149, 3, y)]
    tuned = TunedClassifier(FOREST, SPACE, n_candidates=2, search_rows=60, random_state=0).fit(X, labels)
    assert tuned.predict_proba(X).shape == (150, 4)


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ({"low": 2, "high": 4}, {2, 3, 4}),
        ({"low": 1, "high": 3, "log": True}, {1, 2, 3}),
        ({"choice": ["gini", None]}, {"gini", None}),
    ],
)
def test_every_allowed_value_is_drawn_and_no_other(values, allowed):
    drawn = [_value(values, np.random.default_rng(seed_at(0, _PARAMETERS, i))) for i in range(200)]
    assert set(drawn) == allowed
    assert all(isinstance(one, (int, str, type(None))) for one in drawn)


def test_a_logarithmic_scale_has_its_median_at_the_geometric_mean():
    drawn = [_value({"low": 0.01, "high": 1.0, "log": True}, np.random.default_rng([7, i])) for i in range(2000)]
    assert min(drawn) >= 0.01
    assert max(drawn) <= 1.0
    assert np.median(np.log10(drawn)) == pytest.approx(-1, abs=0.07)  # four standard errors


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"depth": {"choice": [1]}}, r"space has 'depth', which .*RandomForestClassifier lacks"),
        ({"max_depth": {"low": 1}}, r"space\['max_depth'\] is \{'low': 1\}; give a list"),
    ],
)
def test_a_space_that_says_nothing_is_refused(space, message, made):
    with pytest.raises(ValueError, match=message):
        TunedClassifier(FOREST, space).fit(*made)
