"""The public forests: random forests and Extra-Trees as in scikit-learn, completely random and enriched forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from cascadeforest.forest._base import ForestClassifier, ForestRegressor
from cascadeforest.forest._parameters import check_choice, feature_chances, feature_count


def _classification_criterion(criterion: Any) -> str:
    check_choice("criterion", criterion, ["gini", "entropy", "log_loss"])
    return "entropy" if criterion == "log_loss" else criterion


def _regression_criterion(criterion: Any) -> str:
    check_choice("criterion", criterion, ["squared_error"])
    return criterion


class RandomForestClassifier(ForestClassifier):
    """Random forest (Breiman 2001) on binned features: best splits of random features, trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that a node looks at: a number, a share (float), None for all. Features that are constant in the node
        count, but at least one that varies is looked at.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=True
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by accuracy (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Weights of the classes; "balanced" weights them inversely to their frequency, "balanced_subsample" to that in
        each tree's rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    The forest of scikit-learn, with these differences. Features are binned once (`BinMapper`): exactly where a feature
    has at most 255 distinct values, else at quantiles that also cover wide tails. Sample weights multiply the counts
    of the bootstrap; scikit-learn 1.9 takes them as probabilities of being drawn. Weights are single precision within
    a tree, and so are class shares and centred means in leaves. `feature_importances_` divides once, after averaging.
    One target only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Any = "gini",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = True,
        oob_score: Any = False,
        max_samples: Any = None,
        class_weight: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "best",
            "criterion": _classification_criterion(self.criterion),
            "max_features": feature_count(self.max_features, n_features),
        }


class RandomForestRegressor(ForestRegressor):
    """Random forest for regression (Breiman 2001) on binned features; by default each node looks at all features.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"squared_error"}, default="squared_error"
        Impurity.
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Features that a node looks at: a number, a share (float), None for all. Features that are constant in the node
        count, but at least one that varies is looked at.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=True
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by R² (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag predictions, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    The forest of scikit-learn, with these differences. Features are binned once (`BinMapper`): exactly where a feature
    has at most 255 distinct values, else at quantiles that also cover wide tails. Sample weights multiply the counts
    of the bootstrap; scikit-learn 1.9 takes them as probabilities of being drawn. Weights are single precision within
    a tree, and so are class shares and centred means in leaves. `feature_importances_` divides once, after averaging.
    One target only.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cascadeforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Any = "squared_error",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = True,
        oob_score: Any = False,
        max_samples: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "best",
            "criterion": _regression_criterion(self.criterion),
            "max_features": feature_count(self.max_features, n_features),
        }


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): the best of random cuts of random features.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that a node looks at: a number, a share (float), None for all. Features that are constant in the node
        count, but at least one that varies is looked at.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by accuracy (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Weights of the classes; "balanced" weights them inversely to their frequency, "balanced_subsample" to that in
        each tree's rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    A cut is drawn uniformly between the smallest and the largest value in the node, as in scikit-learn; where a bin
    holds several values it is moved to the nearest end of the bin. Otherwise as `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Any = "gini",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = False,
        oob_score: Any = False,
        max_samples: Any = None,
        class_weight: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "random",
            "criterion": _classification_criterion(self.criterion),
            "max_features": feature_count(self.max_features, n_features),
        }


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression (Geurts, Ernst, Wehenkel 2006): random cuts, the best one taken.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {"squared_error"}, default="squared_error"
        Impurity.
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Features that a node looks at: a number, a share (float), None for all. Features that are constant in the node
        count, but at least one that varies is looked at.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by R² (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag predictions, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    A cut is drawn uniformly between the smallest and the largest value in the node, as in scikit-learn; where a bin
    holds several values it is moved to the nearest end of the bin. Otherwise as `RandomForestRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cascadeforest import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Any = "squared_error",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = False,
        oob_score: Any = False,
        max_samples: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "random",
            "criterion": _regression_criterion(self.criterion),
            "max_features": feature_count(self.max_features, n_features),
        }


class CompletelyRandomForestClassifier(ForestClassifier):
    """Completely random forest, the CRF of gcForest: each split takes one random feature at one random cut.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by accuracy (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Weights of the classes; "balanced" weights them inversely to their frequency, "balanced_subsample" to that in
        each tree's rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    gcForest (Zhou and Feng 2017) and gcForest_CS, section II: a feature is drawn for each node, and a cut at random;
    the target only decides when a node is pure. It is ``ExtraTreesClassifier(max_features=1)``, as in gcForest v1.0:
    the feature is one that varies in the node, and the cut is uniform between its smallest and largest value there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import CompletelyRandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = CompletelyRandomForestClassifier(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = False,
        oob_score: Any = False,
        max_samples: Any = None,
        class_weight: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "random",
            "criterion": "gini",
            "max_features": 1,
        }


class CompletelyRandomForestRegressor(ForestRegressor):
    """Completely random forest for regression: each split takes one random feature at one random cut.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by R² (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag predictions, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    gcForest (Zhou and Feng 2017) and gcForest_CS, section II: a feature is drawn for each node, and a cut at random;
    the target only decides when a node is pure. It is ``ExtraTreesRegressor(max_features=1)``, as in gcForest v1.0: the
    feature is one that varies in the node, and the cut is uniform between its smallest and largest value there.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cascadeforest import CompletelyRandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = CompletelyRandomForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = False,
        oob_score: Any = False,
        max_samples: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "random",
            "criterion": "squared_error",
            "max_features": 1,
        }


class EnrichedRandomForestClassifier(ForestClassifier):
    """Enriched random forest (Amaratunga, Cabrera, Lee 2008): nodes draw their features with given weights.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    feature_weights : array-like of shape (n_features,) or None, default=None
        Chances of the features, not negative: a node draws the features that it looks at without replacement, each with
        a probability proportional to its weight among those not yet drawn. Weight 0 is never looked at. None for equal
        weights.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Greatest depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows, rounded up. Rows that the bootstrap
        drew several times count once.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have; otherwise as `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's in-bag weight that each side of a split must have, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that a node looks at: a number, a share (float), None for all. Features that are constant in the node
        count, but at least one that varies is looked at.
    max_leaf_nodes : int or None, default=None
        Greatest number of leaves of a tree, those kept whose splits gain most; None for no bound.
    min_impurity_decrease : float, default=0.0
        Least decrease in impurity that a split must bring, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=True
        Whether each tree learns from rows drawn with replacement, or from all.
    oob_score : bool or callable, default=False
        Whether to score each row by the trees that did not see it, by accuracy (True) or by a function of
        ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Draws of each bootstrap: a number, a share of the rows, None for as many as rows.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Weights of the classes; "balanced" weights them inversely to their frequency, "balanced_subsample" to that in
        each tree's rows.
    n_jobs : int or None, default=None
        Threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        The same, summing to 1.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, if asked for; NaN in rows that every tree saw.

    Notes
    -----
    The feature-weighted forest of iterative random forests and of hiDF (section II.B). Otherwise as
    `RandomForestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import EnrichedRandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = EnrichedRandomForestClassifier(20, feature_weights=[0, 0, 1, 1], random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        feature_weights: Any = None,
        *,
        criterion: Any = "gini",
        max_depth: Any = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: Any = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: Any = None,
        min_impurity_decrease: Any = 0.0,
        bootstrap: Any = True,
        oob_score: Any = False,
        max_samples: Any = None,
        class_weight: Any = None,
        n_jobs: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.feature_weights = feature_weights
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _splitting(self, n_features: int) -> dict[str, Any]:
        return {
            "splitter": "best",
            "criterion": _classification_criterion(self.criterion),
            "max_features": feature_count(self.max_features, n_features),
        }

    def _feature_weights(self, n_features: int) -> np.ndarray | None:
        return feature_chances(self.feature_weights, n_features)
