"""The public forests: random forests and Extra-Trees as in scikit-learn, completely random and enriched forests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cascadeforest.forest._base import ForestClassifier, ForestRegressor
from cascadeforest.forest._parameters import feature_chances
from cascadeforest.forest._types import ClassWeight, MaxFeatures, RandomState, Score
from cascadeforest.forest.categories import CategoricalFeatures


class RandomForestClassifier(ForestClassifier):
    """Random forest (Breiman 2001) on binned features: best splits of random features, trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; "log_loss" is another name of "entropy".
    max_depth : int or None, default=None
        Maximum depth of a tree; None for no bound.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node that is split; a float is a share of all rows, rounded up. Rows that the
        bootstrap drew several times count once.
    min_samples_leaf : int or float, default=1
        Minimum number of rows on each side of a split, counted as for `min_samples_split`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum share of the tree's in-bag weight on each side of a split, at most 0.5.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features considered at each split: a number, a share of all features (float), or None for all. As in
        scikit-learn, features that are constant in the node count, but at least one that varies is considered.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree; the splits with the largest gain are made first. None for no bound.
    min_impurity_decrease : float, default=0.0
        Minimum decrease in impurity by a split, weighted by the node's share of the tree's weight.
    bootstrap : bool, default=True
        Whether each tree learns from rows drawn with replacement, or from all rows.
    oob_score : bool or callable, default=False
        Whether to compute an out-of-bag score: accuracy (True) or a function of ``(y_true, y_pred)``.
    max_samples : int, float or None, default=None
        Number of rows that each bootstrap draws: a number, a share of all rows, or None for n_samples.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Weights of the classes. "balanced": inversely proportional to class frequencies in y; "balanced_subsample":
        inversely proportional to class frequencies in the rows of each tree.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None, default="from_dtype"
        Categorical features: a mask, column numbers, or names of columns. "from_dtype": the columns of a DataFrame that
        have a categorical type or strings. None: none.
    n_jobs : int or None, default=None
        Number of threads for binning, growing and prediction; None for one, -1 for all. The result does not depend on
        it.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    trees_ : Trees
        All trees as flat arrays.
    bin_mapper_ : BinMapper
        Thresholds of the features.
    mean_decrease_impurity_ : ndarray of shape (n_features,)
        Impurity decrease by feature, mean over trees (interpretation paper, Eqs. 6 and 9).
    feature_importances_ : ndarray of shape (n_features,)
        `mean_decrease_impurity_` divided by its sum.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.
    is_categorical_ : ndarray of shape (n_features_in_,), bool, or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Levels of each categorical feature, None for a numeric one; None if no feature is categorical. In prediction,
        other levels are missing values.
    oob_score_ : float
        Out-of-bag score. Exists only if `oob_score` is not False.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, NaN in rows that every tree drew. Exists only if `oob_score` is not False.

    Notes
    -----
    Differences from scikit-learn's forest:

    - Features are binned once (`BinMapper`). A feature with at most 255 distinct values keeps all of them; for other
      features the bins follow quantiles and also cover long tails.
    - Sample weights multiply bootstrap counts; scikit-learn 1.9 uses them as probabilities of being drawn.
    - Weights inside a tree, and class shares and centred means in leaves, have single precision.
    - `feature_importances_` is normalised once, after the mean over trees.
    - `y` has one column of classes; our forests for regression take several targets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cascadeforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    walk = ForestClassifier.walk

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class RandomForestRegressor(ForestRegressor):
    """Random forest for regression (Breiman 2001) on binned features; by default each split considers all features.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        Impurity.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Number of features considered at each split: a number, a share of all features (float), or None for all. As in
        scikit-learn, features that are constant in the node count, but at least one that varies is considered.
    oob_score : bool or callable, default=False
        Whether to compute an out-of-bag score: R² (True) or a function of ``(y_true, y_pred)``.
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes, \
min_impurity_decrease, bootstrap, max_samples, categorical_features, n_jobs, random_state
        As in `RandomForestClassifier`.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs_)
        Out-of-bag predictions, NaN in rows that every tree drew. Exists only if `oob_score` is not False.
    trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, feature_names_in_, \
is_categorical_, categories_, oob_score_
        As in `RandomForestClassifier`.

    Notes
    -----
    The differences from scikit-learn's forest are the same as for `RandomForestClassifier`. With several targets a
    split maximises the mean of their impurity decreases, as in scikit-learn; levels of a categorical feature are put in
    the order of their mean of one target, for each of up to eight targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cascadeforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:3]).shape
    (3,)
    """

    walk = ForestRegressor.walk

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): the best of random cuts of random features.

    Parameters
    ----------
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, \
max_leaf_nodes, min_impurity_decrease, oob_score, max_samples, class_weight, categorical_features, n_jobs, random_state
        As in `RandomForestClassifier`.

    Attributes
    ----------
    classes_, n_classes_, trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, \
feature_names_in_, is_categorical_, categories_, oob_score_, oob_decision_function_
        As in `RandomForestClassifier`.

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

    walk = ForestClassifier.walk
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for regression (Geurts, Ernst, Wehenkel 2006): the best of random cuts.

    Parameters
    ----------
    bootstrap : bool, default=False
        Whether each tree learns from rows drawn with replacement, or from all.
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, \
max_leaf_nodes, min_impurity_decrease, oob_score, max_samples, categorical_features, n_jobs, random_state
        As in `RandomForestRegressor`.

    Attributes
    ----------
    trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, feature_names_in_, \
is_categorical_, categories_, n_outputs_, oob_score_, oob_prediction_
        As in `RandomForestRegressor`.

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

    walk = ForestRegressor.walk
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class CompletelyRandomForestClassifier(ForestClassifier):
    """Completely random forest, the CRF of gcForest: each split takes one random feature at one random cut.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes, \
min_impurity_decrease, bootstrap, oob_score, max_samples, class_weight, categorical_features, n_jobs, random_state
        As in `ExtraTreesClassifier`.

    Attributes
    ----------
    classes_, n_classes_, trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, \
feature_names_in_, is_categorical_, categories_, oob_score_, oob_decision_function_
        As in `ExtraTreesClassifier`.

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

    walk = ForestClassifier.walk
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class CompletelyRandomForestRegressor(ForestRegressor):
    """Completely random forest for regression: each split takes one random feature at one random cut.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes, \
min_impurity_decrease, bootstrap, oob_score, max_samples, categorical_features, n_jobs, random_state
        As in `ExtraTreesRegressor`.

    Attributes
    ----------
    trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, feature_names_in_, \
is_categorical_, categories_, n_outputs_, oob_score_, oob_prediction_
        As in `ExtraTreesRegressor`.

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

    walk = ForestRegressor.walk
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state


class EnrichedRandomForestClassifier(ForestClassifier):
    """Enriched random forest (Amaratunga, Cabrera, Lee 2008): nodes draw their features with given weights.

    Parameters
    ----------
    feature_weights : array-like of shape (n_features,) or None, default=None
        Weights of the features, not negative. A node draws the features that it considers without replacement, each
        with a probability proportional to its weight among the features not yet drawn. A feature of weight 0 is never
        used. None for equal weights.
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, \
max_leaf_nodes, min_impurity_decrease, bootstrap, oob_score, max_samples, class_weight, categorical_features, n_jobs, \
random_state
        As in `RandomForestClassifier`.

    Attributes
    ----------
    classes_, n_classes_, trees_, bin_mapper_, mean_decrease_impurity_, feature_importances_, n_features_in_, \
feature_names_in_, is_categorical_, categories_, oob_score_, oob_decision_function_
        As in `RandomForestClassifier`.

    Notes
    -----
    Iterative random forests and hiDF (section II.B) use this forest. Apart from the feature weights it equals
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

    walk = ForestClassifier.walk

    def __init__(
        self,
        n_estimators: int = 100,
        feature_weights: ArrayLike | None = None,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Score = False,
        max_samples: int | float | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
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
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _feature_weights(self, n_features: int) -> np.ndarray | None:
        return feature_chances(self.feature_weights, n_features)


#: Classifier and regressor for each forest name in the parameter `estimators` of cascades and scanners.
FORESTS = {
    "random_forest": (RandomForestClassifier, RandomForestRegressor),
    "completely_random_forest": (CompletelyRandomForestClassifier, CompletelyRandomForestRegressor),
    "extra_trees": (ExtraTreesClassifier, ExtraTreesRegressor),
}
