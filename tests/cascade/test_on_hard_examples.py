"""Other learners on the hard examples of DDBF's first iteration."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cascadeforest import DDBFClassifier, HardExampleClassifier
from cascadeforest.cascade import hard_examples

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = np.arange(0, len(Y), 2), np.arange(1, len(Y), 2)


def fitted(learner, sample_weight=None, **parameters):
    parameters = {"n_estimators": 10, "threshold": "median", "vote_fraction": 0.8, "random_state": 0} | parameters
    return HardExampleClassifier(learner, **parameters).fit(X[TRAIN], Y[TRAIN], sample_weight)


class Memory(DecisionTreeClassifier):
    """Keeps the rows that it learns from."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = np.array(X)
        return super().fit(X, y, sample_weight)


CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows are other rows to draw from, as in our forests"
}


@parametrize_with_checks(
    [HardExampleClassifier(DecisionTreeClassifier(), n_estimators=5)], expected_failed_checks=lambda model: CHECKS
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_learner_sees_the_hard_examples_only_and_answers_hard_rows_only():
    model = fitted(KNeighborsClassifier(1))
    hard = ~model.forest_.easy(X[TRAIN])
    assert 0 < model.n_hard_ == hard.sum() < len(TRAIN)
    own = KNeighborsClassifier(1).fit(X[TRAIN][hard], Y[TRAIN][hard])
    easy = model.forest_.easy(X[TEST])
    assert 0 < easy.sum() < len(TEST)
    expected = np.where(
        easy[:, None], model.forest_.layers_[0].forest.trees.predict(model.forest_.layers_[0].binned(X[TEST], None)), 0
    )
    expected[~easy] = own.predict_proba(X[TEST][~easy])
    np.testing.assert_allclose(model.predict_proba(X[TEST]), expected, atol=1e-7)
    np.testing.assert_array_equal(model.predict(X[TEST]), expected.argmax(axis=1))


def test_the_forest_is_the_first_iteration_of_ddbf():
    model = fitted(DecisionTreeClassifier(), validation="oob")
    parameters = model.forest_.get_params()
    assert parameters["max_layers"] == 1
    alone = DDBFClassifier(**parameters | {"max_layers": 4, "keep": "last"}).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(alone.easy(X[TEST]), model.forest_.easy(X[TEST]))


@pytest.mark.parametrize("weighted", [False, True])
def test_random_rows_are_as_many_and_all_else_is_the_same(weighted):
    weights = np.random.default_rng(0).integers(0, 3, len(TRAIN)) if weighted else None
    hard, random = (fitted(Memory(), sample_weight=weights, rows=rows) for rows in ("hard", "random"))
    np.testing.assert_array_equal(random.forest_.easy(X), hard.forest_.easy(X))
    assert random.n_hard_ == hard.n_hard_ == len(random.learner_.rows_)
    drawn = {row.tobytes() for row in random.learner_.rows_}
    allowed = X[TRAIN] if weights is None else X[TRAIN][weights > 0]
    assert len(drawn) == random.n_hard_  # each at most once
    assert drawn <= {row.tobytes() for row in allowed}
    is_easy = hard.forest_.easy(random.learner_.rows_)
    assert 0 < is_easy.sum() < len(is_easy)
    assert not hard.forest_.easy(hard.learner_.rows_).any()
    assert random.learner_.rows_.tobytes() == fitted(Memory(), weights, rows="random").learner_.rows_.tobytes()
    assert (
        random.learner_.rows_.tobytes()
        != fitted(Memory(), weights, rows="random", random_state=1).learner_.rows_.tobytes()
    )
    easy = hard.forest_.easy(X[TEST])
    expected = np.where(easy[:, None], hard.forest_.predict_proba(X[TEST]), random.learner_.predict_proba(X[TEST]))
    np.testing.assert_array_equal(random.predict_proba(X[TEST]), expected)


def test_classes_that_no_hard_example_has_get_probability_0_in_hard_rows(monkeypatch):
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:400], labels[:400]

    def easy(self, binned, n_jobs=None):  # all of class 0, which is recognised by its row here
        rows = digits if binned.columns.shape[1] == len(digits) else None
        return labels == 0 if rows is not None else np.zeros(binned.columns.shape[1], bool)

    monkeypatch.setattr(hard_examples.HardExampleForest, "easy", easy)
    monkeypatch.setattr(hard_examples, "_mean", lambda right, weights: 1.0)  # no division is annulled
    model = HardExampleClassifier(KNeighborsClassifier(1), 5, random_state=0).fit(digits, labels)
    assert model.learner_.classes_.tolist() == list(range(1, 10))
    probabilities = model.predict_proba(digits[:30])
    assert probabilities.shape == (30, 10)
    assert (probabilities[:, 0] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("left", [0, 1], ids=["nothing", "one class"])
def test_the_forest_answers_alone_where_nothing_can_be_learned(monkeypatch, left):
    def easy(self, binned, n_jobs=None):
        found = np.ones(binned.columns.shape[1], bool)
        found[:left] = False
        return found

    monkeypatch.setattr(hard_examples.HardExampleForest, "easy", easy)
    monkeypatch.setattr(hard_examples, "_mean", lambda right, weights: 1.0)
    model = fitted(DummyClassifier())
    assert model.learner_ is None
    assert model.n_hard_ == left
    np.testing.assert_array_equal(model.predict_proba(X[TEST]), model.forest_.predict_proba(X[TEST]))


def test_an_annulled_division_leaves_the_learner_alone(monkeypatch):
    monkeypatch.setattr(
        hard_examples, "_mean", lambda right, weights: -1.0 if len(right) < len(TRAIN) else 1.0
    )  # easy examples count as worse than all
    model = fitted(KNeighborsClassifier(1))
    assert model.n_hard_ == len(TRAIN)
    alone = KNeighborsClassifier(1).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(model.predict_proba(X[TEST]), alone.predict_proba(X[TEST]))


def test_a_mapping_names_the_learner():
    by_name = {"estimator": "sklearn.tree:DecisionTreeClassifier", "params": {"max_depth": 3}}
    one, other = fitted(by_name), fitted(DecisionTreeClassifier(max_depth=3))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.learner_.get_depth() <= 3


def test_the_learner_gets_a_seed_and_threads_of_its_own():
    model = fitted(DecisionTreeClassifier(), n_jobs=2)
    assert isinstance(model.learner_.random_state, int)
    assert model.learner_.random_state != model.forest_.random_state
    assert fitted(KNeighborsClassifier(), n_jobs=2).learner_.n_jobs == 2
    again = fitted(DecisionTreeClassifier(), n_jobs=1)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_the_given_learner_is_not_touched():
    learner = DecisionTreeClassifier()
    fitted(learner)
    assert not hasattr(learner, "tree_")
    assert learner.random_state is None


def test_weights_reach_the_forest_and_the_learner():
    weights = np.random.default_rng(0).integers(0, 4, len(TRAIN)) / 2
    model = fitted(LogisticRegression(solver="liblinear"), sample_weight=weights)
    forest = DDBFClassifier(**model.forest_.get_params()).fit(X[TRAIN], Y[TRAIN], weights)
    assert model.forest_.predict_proba(X).tobytes() == forest.predict_proba(X).tobytes()
    hard = ~forest.easy(X[TRAIN]) & (weights > 0)
    assert model.n_hard_ == np.count_nonzero(hard) < np.count_nonzero(~forest.easy(X[TRAIN]))
    learner = clone(model.learner_).fit(X[TRAIN][hard], Y[TRAIN][hard], weights[hard])
    easy = forest.easy(X[TEST])
    expected = np.where(easy[:, None], forest.predict_proba(X[TEST]), learner.predict_proba(X[TEST]))
    np.testing.assert_array_equal(model.predict_proba(X[TEST]), expected)
    unweighted = fitted(LogisticRegression(solver="liblinear"))
    assert unweighted.predict_proba(X[TEST]).tobytes() != expected.tobytes()


def test_rows_without_weight_are_absent_rows():
    kept = np.random.default_rng(0).random(len(TRAIN)) < 0.8
    model = fitted(DecisionTreeClassifier(), sample_weight=kept)
    some = clone(model).fit(X[TRAIN][kept], Y[TRAIN][kept])
    assert model.n_hard_ == some.n_hard_ > 0
    assert model.predict_proba(X).tobytes() == some.predict_proba(X).tobytes()


def test_equal_weights_are_no_weights_also_for_learners_without_weights():
    one, other = fitted(KNeighborsClassifier()), fitted(KNeighborsClassifier(), sample_weight=np.full(len(TRAIN), 2.0))
    assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (
            np.arange(len(TRAIN)),
            r"^learner is KNeighborsClassifier\(\), whose fit takes no sample_weight; give another",
        ),
        (np.ones(3), r"^sample_weight has shape \(3,\); X has 285 rows"),
        (np.full(len(TRAIN), -1.0), "^sample_weight gives weights from -1"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_by_name(weights, words):
    with pytest.raises(ValueError, match=words):
        fitted(KNeighborsClassifier(), sample_weight=weights)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (None, "give an unfitted classifier with predict_proba"),
        (Ridge(), "give an unfitted classifier with predict_proba"),
        (LinearSVC(), "give an unfitted classifier with predict_proba"),
        (LogisticRegression, "give an unfitted classifier with predict_proba"),
        ({"params": {}}, r"KeyError: 'estimator'"),
        ({"estimator": "nowhere:Model"}, "ModuleNotFoundError"),
        ({"estimator": "sklearn.tree:Oak"}, "AttributeError"),
        ({"estimator": "sklearn.tree:DecisionTreeClassifier", "params": {"leaves": 3}}, "TypeError"),
    ],
)
def test_what_is_no_learner_is_refused_by_name(learner, words):
    with pytest.raises(ValueError, match=f"(?s)^learner is .*{words}"):
        fitted(learner)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0),
        ("rows", "easy"),
        ("leaf_score", "gain"),
        ("threshold", 3),
        ("vote_fraction", 0),
        ("elimination", 1),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value!r}"):
        fitted(DecisionTreeClassifier(), **{name: value})
