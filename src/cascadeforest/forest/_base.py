"""Base classes of the public forests: validation, growing, prediction, importances, out-of-bag scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from cascadeforest.forest._parameters import (
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_number,
    count_of,
    entropy_of,
    feature_count,
    n_outputs_of,
    row_count,
    row_weights,
)
from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.binning import BinMapper, BinnedMatrix
from cascadeforest.forest.categories import TakesCategories
from cascadeforest.forest.growth import GrownForest, GrowthRules, grow_forest, in_bag_counts, tree_seeds
from cascadeforest.forest.learned_rows import KeepsRows, LearnedRows, Rows
from cascadeforest.forest.walks import ForestWalk, Walk

X_DTYPES = [np.float64, np.float32]  # neither is converted; integers become float64


@dataclass(frozen=True)
class _Bags:
    """Data to draw a forest's bootstraps again. It has no array with one entry per row, unless rows had weight 0."""

    seeds: np.ndarray
    n_draws: int
    n_samples: int
    n_kept: int
    kept: np.ndarray | None  # one bit a row, packed; None if no row was left out

    @classmethod
    def of(cls, forest: GrownForest, n_samples: int) -> _Bags:
        kept = None
        if len(forest.rows) < n_samples:
            mask = np.zeros(n_samples, bool)
            mask[forest.rows] = True
            kept = np.packbits(mask)
        return cls(forest.seeds, forest.n_draws, n_samples, len(forest.rows), kept)

    def counts(self, tree: int) -> np.ndarray:
        counts = in_bag_counts(self.seeds[tree], self.n_draws, self.n_kept)
        if self.kept is None:
            return counts
        of_all = np.zeros(self.n_samples, np.int32)
        of_all[np.unpackbits(self.kept, count=self.n_samples).astype(bool)] = counts
        return of_all


def balanced_factors(label: np.ndarray, weight: np.ndarray | None, n_classes: int) -> np.ndarray:
    """Class weights that make the total weights of all classes equal; 0 for a class without weight.

    Parameters
    ----------
    label : ndarray of shape (n,), int
        Class numbers.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    total = np.bincount(label, weight, n_classes)
    present = total > 0
    factor = np.zeros(n_classes)
    factor[present] = total.sum() / (np.count_nonzero(present) * total[present])
    return factor


def checks_of_targets(y: object) -> dict[str, bool]:
    """Arguments of `validate_data` for the targets of a regression, of which a row may have several.

    Raises
    ------
    ValueError
        If y is sparse.
    """
    if issparse(y):
        raise ValueError("y is sparse; give a dense array of targets.")
    return {"y_numeric": True, "multi_output": n_outputs_of(y) > 1}


def one_column(targets: np.ndarray) -> np.ndarray:
    """Targets as estimators return them: a column alone, of shape (n_samples, 1), as (n_samples,)."""
    return targets[:, 0] if targets.shape[1] == 1 else targets


class Forest(KeepsRows, TakesCategories):
    """Base class of all forests: validation, growing, importances, leaves and decision paths."""

    #: Whether splits use the "best" cut of a feature or a "random" cut.
    _splitter = "best"

    def walk(self, n_jobs: int | None = None) -> Walk:
        """Return the `Walk` of the forest: how it predicts. Explanations follow it.

        A class is explained only if its own body has this method (see `Explainer`).

        Parameters
        ----------
        n_jobs : int, optional
            Threads.

        Returns
        -------
        Walk
        """
        return ForestWalk(self, n_jobs)

    @abstractmethod
    def _checked_criterion(self) -> str:
        """The kernel's name of the criterion; the default if the forest has no such parameter."""

    def _feature_weights(self, n_features: int) -> np.ndarray | None:
        return None

    def growth_rules(self, n_rows: int, n_features: int) -> GrowthRules:
        """Rules by which trees grow on data of a given size.

        Parameters
        ----------
        n_rows, n_features : int
            Size of the data, to which shares such as ``min_samples_leaf=0.01`` and ``max_features="sqrt"`` refer.

        Returns
        -------
        GrowthRules

        Raises
        ------
        ValueError
            If a parameter cannot be used.
        """
        check_count("max_depth", self.max_depth, optional=True)
        check_count("max_leaf_nodes", self.max_leaf_nodes, 2, optional=True)
        check_number("min_impurity_decrease", self.min_impurity_decrease)
        check_number("min_weight_fraction_leaf", self.min_weight_fraction_leaf, most=0.5)
        return GrowthRules(
            splitter=self._splitter,
            criterion=self._checked_criterion(),
            max_features=feature_count(getattr(self, "max_features", 1), n_features),
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=row_count("min_samples_split", self.min_samples_split, n_rows, 2, whole=True),
            min_samples_leaf=row_count("min_samples_leaf", self.min_samples_leaf, n_rows, 1),
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
        )

    def draws_of_bootstrap(self, n_rows: int) -> int | None:
        """Number of rows that each bootstrap draws, or None for the number of training rows.

        Parameters
        ----------
        n_rows : int
            Training rows.

        Returns
        -------
        int or None

        Raises
        ------
        ValueError
            If `max_samples` cannot be used.
        """
        if self.max_samples is None:
            return None
        if not self.bootstrap:
            raise ValueError(f"max_samples is {self.max_samples!r} while bootstrap is False; set one of them.")
        return count_of("max_samples", self.max_samples, n_rows)

    def _grow(
        self,
        X: MatrixLike,
        y: np.ndarray,
        n_classes: int,
        sample_weight: ArrayLike | None,
        weights: np.ndarray | None,
        balance: bool,
    ) -> None:
        """Bin X and grow the forest; `y` holds class indices or targets, `weights` what the trees see."""
        for attribute in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(attribute, None)  # left by an earlier fit with other parameters
        check_count("n_estimators", self.n_estimators)
        check_jobs(self.n_jobs)
        check_flag("bootstrap", self.bootstrap)
        if not callable(self.oob_score):
            check_flag("oob_score", self.oob_score, ", or give a function of (y_true, y_pred)")
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                f"oob_score is {self.oob_score!r} while bootstrap is False, which leaves no row out of the bag; set "
                "bootstrap=True or oob_score=False."
            )
        max_samples = self.draws_of_bootstrap(X.shape[0])
        rules = self.growth_rules(*X.shape)
        feature_weights = self._feature_weights(X.shape[1])
        entropy = entropy_of(self.random_state)
        self.bin_mapper_ = BinMapper()
        binned = self.bin_mapper_.fit_transform(X, sample_weight, n_jobs=self.n_jobs, levels=self._n_levels)
        forest = grow_forest(
            binned,
            y,
            n_classes=n_classes,
            rules=rules,
            seeds=tree_seeds(entropy, self.n_estimators),
            weights=weights,
            bootstrap=bool(self.bootstrap),
            max_samples=max_samples,
            feature_weights=feature_weights,
            balance_bootstraps=balance,
            n_jobs=self.n_jobs,
        )
        self.trees_ = forest.trees
        self.mean_decrease_impurity_ = forest.mean_decrease_impurity
        self._offset, self._scale = forest.offset, forest.scale
        self._bags = _Bags.of(forest, X.shape[0])
        self._learned_rows = LearnedRows(Rows.of(binned, y, weights, balanced=balance))
        self._weighted_by = {
            name: copy(vars(self)[name]) for name in ("bootstrap", "class_weight") if name in vars(self)
        }
        if self.oob_score:
            learned = np.ones(len(y), bool) if weights is None else np.asarray(weights) > 0
            self._set_oob_score(y, forest.oob_prediction(binned, n_jobs=self.n_jobs), learned)

    @abstractmethod
    def _set_oob_score(self, y: np.ndarray, prediction: np.ndarray, learned: np.ndarray) -> None:
        """Score the out-of-bag prediction on rows of positive weight; it is NaN in rows that every tree drew."""

    def _oob_rows(self, prediction: np.ndarray) -> np.ndarray:
        """Rows that at least one tree did not draw."""
        rows = ~np.isnan(prediction[:, 0])
        if not rows.all():
            warnings.warn(
                f"{np.count_nonzero(~rows)} of {len(rows)} rows were in the bag of every tree and do not count in the "
                "out-of-bag score; take more trees.",
                UserWarning,
                stacklevel=5,  # the caller of fit
            )
        return rows

    def _binned(self, X: MatrixLike) -> BinnedMatrix:
        check_is_fitted(self)
        check_jobs(self.n_jobs)
        X = self._validated(X, dtype=X_DTYPES, accept_sparse=["csc", "csr"], ensure_all_finite="allow-nan")
        return self.bin_mapper_.transform(X, n_jobs=self.n_jobs)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean decrease in impurity of each feature, scaled to sum 1; all 0 if no tree has a split.

        This is `mean_decrease_impurity_` (interpretation paper, Eqs. 6 and 9) divided by its sum. scikit-learn
        normalises each tree before the mean, so its importances differ slightly.
        """
        check_is_fitted(self)
        total = self.mean_decrease_impurity_.sum()
        return self.mean_decrease_impurity_ / total if total > 0 else np.zeros_like(self.mean_decrease_impurity_)

    def apply(self, X: MatrixLike) -> np.ndarray:
        """Find the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators), int32
            Numbers of nodes within their trees.
        """
        binned = self._binned(X)  # first, since it raises NotFittedError
        return self.trees_.apply(binned, n_jobs=self.n_jobs)

    def decision_path(self, X: MatrixLike) -> tuple[csr_matrix, np.ndarray]:
        """Find the nodes that each row passes in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Tree i has the columns from ``n_nodes_ptr[i]`` up to ``n_nodes_ptr[i + 1]``.
        """
        binned = self._binned(X)
        return self.trees_.decision_path(binned, n_jobs=self.n_jobs)

    def in_bag_counts(self, tree: int) -> np.ndarray:
        """Count how often a tree drew each training row, by drawing its bootstrap again from its seed.

        Parameters
        ----------
        tree : int
            Number of the tree.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Without bootstrap, 1 for all rows of positive weight. 0 for out-of-bag rows and for rows of weight 0.
        """
        check_is_fitted(self)
        return self._bags.counts(tree)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class MostProbableClass(ClassifierMixin):
    """Mixin of classifiers that predict the class with the highest probability in `predict_proba`."""

    @abstractmethod
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Class probabilities of shape (n_samples, n_classes), columns in the order of `classes_`."""

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class with the highest probability; among equal probabilities, the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class ProbabilisticClassifier(MostProbableClass):
    """Mixin of forests and cascades, with `predict_log_proba`."""

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict logarithms of class probabilities, -inf for a probability of 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ForestClassifier(ProbabilisticClassifier, Forest):
    """Base class of forests for classification: class weights and probabilities."""

    def _checked_criterion(self) -> str:
        criterion = getattr(self, "criterion", "gini")
        check_choice("criterion", criterion, ["gini", "entropy", "log_loss"])
        return "entropy" if criterion == "log_loss" else criterion

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ForestClassifier:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. They multiply the counts of the bootstrap.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid; the message names it.
        """
        self._forget_fit()
        X, label, weight, weights, balance = self._training_data(X, y, sample_weight)
        self._grow(X, label, self.n_classes_, weight, weights, balance)
        return self

    def _training_data(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray | None, bool]:
        """X, class numbers, sample weights, the weights that trees use, and whether bootstraps balance the classes."""
        X, y = self._validated(
            X, y, reset=True, dtype=X_DTYPES, accept_sparse=["csc", "csr"], ensure_all_finite="allow-nan"
        )
        check_classification_targets(y)
        weight = row_weights(sample_weight, X.shape[0])
        self.classes_, label = np.unique(y, return_inverse=True)
        self.n_classes_, label = len(self.classes_), label.astype(np.int32)
        return X, label, weight, *self._class_weighted(y, label, weight)

    def _class_weighted(
        self, y: ArrayLike, label: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, bool]:
        """Weights times class weights, and whether each bootstrap balances its own classes."""
        if self.class_weight is None:
            return weight, False
        by_name = isinstance(self.class_weight, str) and self.class_weight in ("balanced", "balanced_subsample")
        if not by_name and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight is {self.class_weight!r}; choose 'balanced', 'balanced_subsample', None, or give a dict "
                "of class to weight."
            )
        if by_name and self.class_weight == "balanced_subsample" and self.bootstrap:
            return weight, True
        # Use class weights, not class counts: a weight counts as repetitions of the row.
        by_class = balanced_factors(label, weight, self.n_classes_)[label] if by_name else self._weights_of_dict(y)
        with np.errstate(over="ignore"):
            both = by_class if weight is None else by_class * weight
        if not np.isfinite(both).all():
            raise ValueError(
                f"class_weight is {self.class_weight!r}; times sample_weight it is beyond float64: give smaller ones."
            )
        if both.max() == 0:
            raise ValueError(
                f"class_weight is {self.class_weight!r}, which leaves no row a positive weight; give a class that y "
                "has a positive weight."
            )
        return both, False

    def _weights_of_dict(self, y: ArrayLike) -> np.ndarray:
        """Class weight of each row; 1 for classes that are not in the dict."""
        message = f"class_weight is {self.class_weight!r}; give each class a finite number that is not negative."
        try:
            by_class = np.asarray(compute_sample_weight(self.class_weight, y), np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{message} ({error})") from error
        if not np.isfinite(by_class).all() or by_class.min() < 0:
            raise ValueError(message)
        return by_class

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict class probabilities: the mean over trees of the class shares in the leaf that a row reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. If a feature had no NaN in training, rows with NaN go to the side of most training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        binned = self._binned(X)
        return self.trees_.predict(binned, n_jobs=self.n_jobs)

    def _set_oob_score(self, y: np.ndarray, prediction: np.ndarray, learned: np.ndarray) -> None:
        rows = self._oob_rows(prediction) & learned
        self.oob_decision_function_ = prediction
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = (
            float(score(self.classes_[y[rows]], self.classes_[prediction[rows].argmax(axis=1)]))
            if rows.any()
            else float("nan")
        )


class ForestRegressor(RegressorMixin, Forest):
    """Base class of forests for regression."""

    def _checked_criterion(self) -> str:
        criterion = getattr(self, "criterion", "squared_error")
        check_choice("criterion", criterion, ["squared_error"])
        return criterion

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ForestRegressor:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. With several, a split maximises the mean of their impurity decreases, as in scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative. They multiply the counts of the bootstrap.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is invalid; the message names it.
        """
        self._forget_fit()
        X, y, weight, weights, balance = self._training_data(X, y, sample_weight)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self._grow(X, y, 0, weight, weights, balance)
        return self

    def _training_data(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, np.ndarray | None, np.ndarray | None, bool]:
        """X, targets, sample weights, the weights that trees use (the same), and False."""
        X, y = self._validated(
            X,
            y,
            reset=True,
            dtype=X_DTYPES,
            accept_sparse=["csc", "csr"],
            ensure_all_finite="allow-nan",
            **checks_of_targets(y),
        )
        weight = row_weights(sample_weight, X.shape[0])
        return X, np.asarray(y, dtype=np.float64), weight, weight, False

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict targets: the mean over trees of the mean target in the leaf that a row reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. If a feature had no NaN in training, rows with NaN go to the side of most training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets.
        """
        binned = self._binned(X)
        return one_column(self._offset + self._scale * self.trees_.predict(binned, n_jobs=self.n_jobs))

    def _set_oob_score(self, y: np.ndarray, prediction: np.ndarray, learned: np.ndarray) -> None:
        rows = self._oob_rows(prediction) & learned
        self.oob_prediction_ = one_column(prediction)
        score = self.oob_score if callable(self.oob_score) else r2_score
        enough = np.count_nonzero(rows) > 1
        self.oob_score_ = float(score(y[rows], self.oob_prediction_[rows])) if enough else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
