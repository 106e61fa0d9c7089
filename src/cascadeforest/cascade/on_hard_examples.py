"""Train any classifier on the hard examples of DDBF's first iteration (Wang et al. 2020, section 4.4 and Table 3)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cascadeforest.cascade._base import StagedClassifier, checked_weights
from cascadeforest.cascade.hard_examples import DDBFClassifier
from cascadeforest.forest._base import X_DTYPES
from cascadeforest.forest._parameters import check_choice, check_count, entropy_of
from cascadeforest.forest._types import MatrixLike, RandomState
from cascadeforest.forest.categories import CategoricalFeatures, TakesCategories
from cascadeforest.forest.seeds import seed_at, whole_seed_at

#: Seed addresses of the forest, of the learner, and of the draw of random rows.
_MINING, _LEARNER, _ROWS = 0, 1, 2
#: Rows that the learner learns from.
ROWS = ("hard", "random")


class HardExampleClassifier(StagedClassifier, TakesCategories):
    """A forest predicts the rows that it finds easy; another classifier learns from hard rows and predicts them.

    Parameters
    ----------
    learner : classifier or mapping
        Unfitted scikit-learn classifier with ``predict_proba``. Configuration files give a mapping instead:
        ``{"estimator": "package.module:Class", "params": {...}}``.
    n_estimators : int, default=200
        Number of trees in the forest.
    leaf_score, threshold, vote_fraction, elimination, validation
        Parameters of the forest's iteration, as in `DDBFClassifier`.
    rows : {"hard", "random"}, default="hard"
        Training rows of the learner. "hard": the rows that the forest finds hard. "random": as many rows of positive
        weight, drawn at random without replacement; a control that is not in the paper. In both cases the forest
        predicts easy rows, and the learner hard rows.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None, default="from_dtype"
        As in `GCForestClassifier`. The learner gets codes of the levels, and must have this parameter, too, if features
        are categorical.
    n_jobs : int or None, default=None
        Number of threads; also passed to the learner if it has the parameter `n_jobs`.
    random_state : int, RandomState or None, default=None
        Seed. The learner gets another seed, derived from this one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    forest_ : DDBFClassifier
        The first iteration.
    learner_ : classifier or None
        Classifier fitted on the hard examples (or random ones, see `rows`). None if there are no such examples or all
        are of one class; the forest then predicts all rows.
    n_hard_ : int
        Number of hard training rows; rows of weight 0 do not count.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.
    is_categorical_ : ndarray of shape (n_features_in_,), bool, or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Levels of each categorical feature, None for a numeric one; None if no feature is categorical. In prediction,
        other levels are missing values.

    Notes
    -----
    If the division is annulled (rule 2 of section 3.3.2), all rows are hard and the learner predicts all rows.

    References
    ----------
    .. [1] H. Wang, X. Ren, J. Sun, W. Ye, L. Chen, M. Yu and S. Zhang, "Deep Dynamic Boosted Forest", ACML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from cascadeforest import HardExampleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HardExampleClassifier(LogisticRegression(max_iter=10_000), n_estimators=20, random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    # Models that version 0.1.0 saved or pickled lack this parameter.
    rows = "hard"

    def __init__(
        self,
        learner: BaseEstimator | Mapping[str, Any],
        n_estimators: int = 200,
        *,
        leaf_score: str = "f1",
        threshold: str = "mean",
        vote_fraction: float = 1.0,
        elimination: float = 0.2,
        validation: str = "k_fold",
        rows: str = "hard",
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.learner = learner
        self.n_estimators = n_estimators
        self.leaf_score = leaf_score
        self.threshold = threshold
        self.vote_fraction = vote_fraction
        self.elimination = elimination
        self.validation = validation
        self.rows = rows
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> HardExampleClassifier:
        """Grow the forest, and train the learner on the rows that the forest finds hard, or on as many random rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN means missing, if the learner accepts NaN.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative, for the forest and the learner. Equal weights are no weights, and the learner does
            not get rows of weight 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid, or the learner's ``fit`` has no `sample_weight`; the
            message names it.
        """
        check_count("n_estimators", self.n_estimators)
        check_choice("rows", self.rows, ROWS)
        learner = self._unfitted_learner()
        X, labels = self._validated(X, y, reset=True, dtype=X_DTYPES, ensure_all_finite="allow-nan")
        if "categorical_features" not in learner.get_params():
            self._refuse_categories(f"the learner {learner!r} has no parameter categorical_features")
        elif self.is_categorical_ is not None:
            learner = clone(learner).set_params(categorical_features=self.is_categorical_)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        weights = checked_weights(sample_weight, len(labels))
        if weights is not None and not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"learner is {learner!r}, whose fit takes no sample_weight; give another learner, or fit without "
                "sample_weight."
            )
        entropy = entropy_of(self.random_state)
        self.forest_ = DDBFClassifier(
            self.n_estimators,
            max_layers=1,
            leaf_score=self.leaf_score,
            threshold=self.threshold,
            vote_fraction=self.vote_fraction,
            elimination=self.elimination,
            validation=self.validation,
            categorical_features=self.is_categorical_,
            n_jobs=self.n_jobs,
            random_state=whole_seed_at(entropy, _MINING),
        ).fit(X, labels, weights)
        hard = ~self.forest_.easy(X)
        if weights is not None:
            hard &= weights > 0
        self.n_hard_ = int(np.count_nonzero(hard))
        learned = np.flatnonzero(hard)
        if self.rows == "random":
            drawable = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
            rng = np.random.default_rng(seed_at(entropy, _ROWS))
            learned = np.sort(rng.choice(drawable, len(learned), replace=False))
        self.learner_ = None
        if len(np.unique(labels[learned])) > 1:
            self.learner_ = clone(learner)
            known, seed = self.learner_.get_params(), whole_seed_at(entropy, _LEARNER)
            own = {name: seed for name in known if name.split("__")[-1] == "random_state"}  # in pipelines, too
            self.learner_.set_params(**own, **{"n_jobs": self.n_jobs} if "n_jobs" in known else {})
            own_weights = {} if weights is None else {"sample_weight": weights[learned]}
            self.learner_.fit(X[learned], labels[learned], **own_weights)
        return self

    def _unfitted_learner(self) -> BaseEstimator:
        learner = self.learner
        if isinstance(learner, Mapping):
            try:
                module, _, name = learner["estimator"].partition(":")
                learner = getattr(importlib.import_module(module), name)(**learner.get("params", {}))
            except (KeyError, AttributeError, ImportError, TypeError, ValueError) as error:
                raise ValueError(
                    f"learner is {self.learner!r}; give a classifier, or a mapping with estimator "
                    f"'package.module:Class' and its params. ({type(error).__name__}: {error})"
                ) from error
        if isinstance(learner, type) or not (hasattr(learner, "predict_proba") and is_classifier(learner)):
            raise ValueError(f"learner is {learner!r}; give an unfitted classifier with predict_proba.")
        return learner

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict class probabilities: easy rows by the forest, hard rows by the learner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. For a hard row, classes without a hard training example have 0.
        """
        X = self._checked_X(X)
        if self.learner_ is None:
            return self.forest_.predict_proba(X)
        easy = self.forest_.easy(X)
        probabilities = np.zeros((len(X), len(self.classes_)))
        if easy.any():
            probabilities[easy] = self.forest_.predict_proba(X[easy])
        if not easy.all():
            columns = np.searchsorted(self.classes_, self.learner_.classes_)
            probabilities[np.ix_(~easy, columns)] = self.learner_.predict_proba(X[~easy])
        return probabilities

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Predict class probabilities by the forest alone, then with the learner, if there is one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Two arrays, or one if `learner_` is None; the last one equals `predict_proba`.
        """
        checked = self._checked_X(X)
        yield self.forest_.predict_proba(checked)
        if self.learner_ is not None:
            yield self.predict_proba(X)

    def _checked_X(self, X: MatrixLike) -> np.ndarray:
        check_is_fitted(self)
        return self._validated(X, dtype=X_DTYPES, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
