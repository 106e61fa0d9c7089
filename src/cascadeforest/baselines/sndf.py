"""Shallow neural decision forest: trees that route softly, trained by gradient descent (ddbf, Tables 1 to 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cascadeforest.baselines._base import ProbabilisticBaseline
from cascadeforest.baselines.missing import MedianFill
from cascadeforest.forest._parameters import check_count, check_number, entropy_of
from cascadeforest.forest._types import RandomState
from cascadeforest.forest.seeds import seed_at
from cascadeforest.kernels.soft_trees import soft_gradient, soft_reach, soft_shares

# First part of a seed's address: what the randomness is for.
_TREE, _BATCHES = range(2)

# Rows that go through a tree at a time: their turns are 1 MB at depth 10. As many as soft_trees.c adds up at a time.
_ROWS = 256
# Bound on the reach of leaves that is kept from one update of the leaves to the next, 262,144 rows at depth 10.
_KEPT_BYTES = 2**30

# Updates of the leaves end where one gains less than this in log-loss (nats a row); benchmarks/measurements.md.
_LEAST_GAIN = 1e-3


class SNDFClassifier(ProbabilisticBaseline):
    r"""Forest of full binary trees with linear routers and free class distributions in the leaves.

    Parameters
    ----------
    n_estimators : int
        Number of trees. 80, as in the MNIST command of the code (see Notes).
    max_depth : int
        Depth of every tree, which has ``2**max_depth`` leaves. 10, as in this command.
    max_iter : int
        Number of epochs; there is no early stopping. 100, as in this command; ddbf, section 4.5: 10.
    batch_size : int
        Maximum number of rows in a mini-batch; batch sizes of an epoch differ by at most one. 1,000, as in this
        command.
    learning_rate : float
        Step size of Adam. 0.03 (see Notes); the code has 0.001, for other weights.
    feature_fraction : float
        Share of the features, drawn for each tree, that its routers see; rounded down, at least one. 0.5, as in the
        code.
    leaf_updates : int
        Maximum number of updates of the leaf distributions at the start of each epoch. 20, as in the code.
    random_state : int, RandomState instance or None
        Seed of the features of the trees, the initial weights and the batches.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the training rows.
    n_iter_ : int
        Number of epochs, equal to `max_iter`.
    loss_curve_ : ndarray of shape (max_iter,)
        Log-loss of a tree in the batches of each epoch, mean over trees and rows.
    features_ : ndarray of shape (n_estimators, n_features_seen)
        Which features each tree sees.
    weights_ : ndarray of shape (n_estimators, 2**max_depth - 1, n_features_seen + 1), float32
        Routers; the last entry is the bias. Node j of level k is number ``2**k - 1 + j``, its children are the nodes
        j (left) and ``j + 2**k`` (right) of the next level, or these leaves.
    leaves_ : ndarray of shape (n_estimators, n_classes, 2**max_depth), float32
        Class distribution of every leaf.
    preprocessing_ : sklearn.pipeline.Pipeline
        Median fill, standard scaling.

    Notes
    -----
    Kontschieder, Fiterau, Criminisi and Rota Bulò, "Deep Neural Decision Forests" (ICCV 2015,
    doi:10.1109/ICCV.2015.172), in its shallow form. Node n sends a row left with probability
    :math:`d_n(x) = \sigma(w_n x_T + b_n)`, where :math:`x_T` are the features that the tree sees. The row reaches leaf
    l with probability :math:`\mu_l(x)`, the product along its path (Eq. 2). A tree predicts
    :math:`\sum_l \pi_{ly} \mu_l(x)` (Eq. 1), the forest predicts the mean of its trees (Eq. 3). Algorithm 1 minimises
    the log-loss of every tree (Eqs. 4 and 5) in two steps per epoch: it fits the leaves to all rows (Eq. 11, from
    uniform distributions), then the routers, by gradients (Eqs. 6 and 7) of mini-batches. Trees share no parameters, so
    they are trained one after another.

    ddbf states no hyperparameters; its numbers for Adult and Yeast are the numbers in the README of
    github.com/jingxil/Neural-Decision-Forests, 'the code' above. Deviations from the paper:

    - Adam instead of plain gradient descent, as in the code. Every tree takes a step for every batch.
    - The leaves are fitted once more at the end, to the final routers.
    - Updates of the leaves stop early if one gains less than 0.001 in log-loss.
    - Features are scaled to mean 0 and variance 1; missing values become the median.

    Deviations from the code: the code has a linear layer of 1,024 units before the routers, which represents the same
    functions but changes the steps; it minimises the log-loss of the forest, not of each tree; it starts from the
    leaves of the epoch before, and applies a softmax to new counts where Eq. 11 normalises; its Adam has weight decay.

    The default learning rate was chosen on wine, iris, breast cancer and digits, using training rows only. On so few
    rows an epoch has one or two steps. After 100 epochs the log-loss of held-out training rows was 0.21 to 0.67 with
    0.001, 0.06 to 0.26 with 0.01, 0.05 to 0.16 with 0.03, and 0.06 to 0.14 with 0.1; with 0.1 no accuracy was higher.

    Memory during training, besides `weights_` and two or three copies of the features: the gradient and Adam's state of
    a tree, three times its part of `weights_`, and the reach of its leaves, ``2**max_depth`` float32 for each training
    row. At most 1 GiB of reach is kept (262,144 rows at depth 10); the rest is computed again for each update of the
    leaves, in blocks of 256 rows, each of them three arrays of ``2**max_depth`` float32 a row.

    The same seed gives the same bytes with the same linear algebra library and number of its threads.
    """

    def __init__(
        self,
        n_estimators: int = 80,
        *,
        max_depth: int = 10,
        max_iter: int = 100,
        batch_size: int = 1000,
        learning_rate: float = 0.03,
        feature_fraction: float = 0.5,
        leaf_updates: int = 20,
        random_state: RandomState = None,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.feature_fraction = feature_fraction
        self.leaf_updates = leaf_updates
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_depth", "max_iter", "batch_size", "leaf_updates"):
            check_count(name, getattr(self, name))
        if self.max_depth > 20:  # a million leaves a tree
            raise ValueError(f"max_depth is {self.max_depth!r}; give a whole number from 1 to 20.")
        for name, most in (("learning_rate", math.inf), ("feature_fraction", 1.0)):
            value = getattr(self, name)
            check_number(name, value, 0.0, most)
            if value == 0:
                raise ValueError(f"{name} is {value!r}; give a number above 0, or nothing is learned.")

    def _fit(self, X: np.ndarray, codes: np.ndarray) -> None:
        entropy = entropy_of(self.random_state)
        self.preprocessing_ = make_pipeline(MedianFill(), StandardScaler())
        order = np.argsort(codes, kind="stable")  # a leaf's shares are added up class by class
        codes = np.ascontiguousarray(codes[order], dtype=np.int64)
        rows = _with_constant(self.preprocessing_.fit_transform(X)[order])

        n_seen = max(1, int(self.feature_fraction * X.shape[1]))
        n_leaves = 2**self.max_depth
        self.features_ = np.empty((self.n_estimators, n_seen), dtype=np.intp)
        self.weights_ = np.empty((self.n_estimators, n_leaves - 1, n_seen + 1), dtype=np.float32)
        self.leaves_ = np.empty((self.n_estimators, len(self.classes_), n_leaves), dtype=np.float32)
        self.loss_curve_ = np.zeros(self.max_iter)
        n_kept = _KEPT_BYTES // (4 * n_leaves)
        n_kept = len(codes) if n_kept >= len(codes) else n_kept // _ROWS * _ROWS  # whole blocks, for the same bytes
        kept = np.empty((n_kept, n_leaves), dtype=np.float32)
        for tree in range(self.n_estimators):
            rng = np.random.default_rng(seed_at(entropy, _TREE, tree))
            self.features_[tree] = np.sort(rng.choice(X.shape[1], n_seen, replace=False))
            bound = n_seen**-0.5  # as in the code: routes are nearly even at the start
            self.weights_[tree] = rng.uniform(-bound, bound, self.weights_.shape[1:])
            self.leaves_[tree] = self._train(self.weights_[tree], self._inputs(tree, rows), codes, entropy, kept)
        self.loss_curve_ /= self.n_estimators
        self.n_iter_ = self.max_iter

    def _train(
        self, weights: np.ndarray, x: np.ndarray, codes: np.ndarray, entropy: int, kept: np.ndarray
    ) -> np.ndarray:
        """Algorithm 1 for one tree: changes `weights`, returns the leaves."""
        adam = Adam(weights, self.learning_rate)
        n_batches = -(-len(codes) // self.batch_size)
        for epoch in range(self.max_iter):
            leaves = fitted_leaves(weights, x, codes, len(self.classes_), self.leaf_updates, kept)
            order = np.random.default_rng(seed_at(entropy, _BATCHES, epoch)).permutation(len(codes))
            for rows in np.array_split(order, n_batches):
                loss, gradient = loss_and_gradient(weights, leaves, x.take(rows, axis=0), codes[rows])
                self.loss_curve_[epoch] += loss * len(rows) / len(codes)
                adam.step(gradient)
        return fitted_leaves(weights, x, codes, len(self.classes_), self.leaf_updates, kept)

    def _inputs(self, tree: int, rows: np.ndarray) -> np.ndarray:
        """What a tree sees of rows from `_with_constant`: its features, and the constant for the bias."""
        return rows.take(np.append(self.features_[tree], self.n_features_in_), axis=1)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        scaled = self.preprocessing_.transform(X)
        probabilities = np.zeros((len(scaled), len(self.classes_)))
        for start in range(0, len(scaled), _ROWS):
            rows = _with_constant(scaled[start : start + _ROWS])
            for tree, (weights, leaves) in enumerate(zip(self.weights_, self.leaves_, strict=True)):
                turns = router_values(weights, self._inputs(tree, rows))
                reach = np.empty_like(turns)
                soft_reach(turns, reach)
                probabilities[start : start + _ROWS] += reach @ leaves.T
        return probabilities / probabilities.sum(axis=1, keepdims=True)


def router_values(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values :math:`w_n x + b_n` of a tree's routers, as `soft_reach` takes them.

    Parameters
    ----------
    weights : float32 array of shape (n_leaves - 1, n_inputs)
        Routers, the bias among them.
    x : float32 array of shape (n_rows, n_inputs)
        What the tree sees of the rows, and a constant 1 for the bias.

    Returns
    -------
    float32 array of shape (n_rows, n_leaves)
        The first column is not used.
    """
    values = np.empty((len(x), len(weights) + 1), dtype=np.float32)
    np.matmul(x, weights.T, out=values[:, 1:])
    return values


def loss_and_gradient(
    weights: np.ndarray, leaves: np.ndarray, x: np.ndarray, codes: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log-loss of a tree (Eq. 4), mean over the rows, and its gradient.

    Parameters
    ----------
    weights : float32 array of shape (n_leaves - 1, n_inputs)
        Routers.
    leaves : float32 array of shape (n_classes, n_leaves)
        Class distributions.
    x : float32 array of shape (n_rows, n_inputs)
        As `router_values` takes it.
    codes : int64 array of shape (n_rows,)
        Class codes.

    Returns
    -------
    loss : float
    gradient : float32 array of shape (n_leaves - 1, n_inputs)
        With respect to `weights`.
    """
    loss = 0.0
    gradient = np.zeros_like(weights)
    for start in range(0, len(codes), _ROWS):
        inputs = x[start : start + _ROWS]
        derivatives = router_values(weights, inputs)
        probability = soft_gradient(derivatives, leaves, codes[start : start + _ROWS])
        loss -= np.log(probability, dtype=np.float64).sum()
        gradient += derivatives[:, 1:].T @ inputs
    gradient /= len(codes)
    return loss / len(codes), gradient


def fitted_leaves(
    weights: np.ndarray, x: np.ndarray, codes: np.ndarray, n_classes: int, n_updates: int, kept: np.ndarray
) -> np.ndarray:
    r"""Class distributions of the leaves that suit a tree's routers (Eq. 11), from uniform ones.

    Parameters
    ----------
    weights : float32 array of shape (n_leaves - 1, n_inputs)
        Routers.
    x : float32 array of shape (n_rows, n_inputs)
        All training rows, as `router_values` takes them.
    codes : int64 array of shape (n_rows,)
        Class codes; fastest in ascending order.
    n_classes : int
        Number of classes.
    n_updates : int
        Most updates; there are no more once one gained less than `_LEAST_GAIN`.
    kept : float32 array of shape (n_kept, n_leaves)
        Room for the reach of leaves. What does not find room is computed again for each update.

    Returns
    -------
    leaves : float32 array of shape (n_classes, n_leaves)
        A leaf that no row reaches stays uniform.

    Notes
    -----
    An update gives each leaf its share in every row, :math:`\pi_{ly} \mu_l(x) / P_T[y | x]`, counted for the row's
    class, and normalises.
    """
    leaves = np.full((n_classes, len(weights) + 1), 1 / n_classes, dtype=np.float32)
    loss = math.inf
    for update in range(n_updates):
        shares = np.zeros(leaves.shape)
        before, loss = loss, 0.0
        for rows, reach in _reaches(weights, x, kept, is_first=update == 0):
            loss -= np.log(soft_shares(reach, leaves, codes[rows], shares), dtype=np.float64).sum() / len(codes)
        if before - loss < _LEAST_GAIN:
            break
        shares *= leaves
        total = shares.sum(axis=0)
        np.divide(shares, total, out=leaves, where=total > 0, casting="same_kind")
    return leaves


class Adam:
    """Descent with steps of a size for each weight (Kingma and Ba, 2015, Algorithm 1, with its constants).

    Parameters
    ----------
    weights : ndarray
        What to optimise, in place.
    learning_rate : float
        Size of the first step.
    """

    def __init__(self, weights: np.ndarray, learning_rate: float):
        self.weights = weights
        self.learning_rate = learning_rate
        self.mean = np.zeros_like(weights)
        self.square = np.zeros_like(weights)
        self.n_steps = 0

    def step(self, gradient: np.ndarray) -> None:
        """Take one step.

        Parameters
        ----------
        gradient : ndarray
            Array of the shape of the weights; overwritten.
        """
        decay, decay_of_square, epsilon = 0.9, 0.999, 1e-8
        self.n_steps += 1
        self.mean *= decay
        self.mean += (1 - decay) * gradient
        self.square *= decay_of_square
        gradient *= gradient
        gradient *= 1 - decay_of_square
        self.square += gradient
        # Both start at 0, which the quotients undo.
        correction = 1 - decay**self.n_steps
        np.divide(self.square, 1 - decay_of_square**self.n_steps, out=gradient)
        np.sqrt(gradient, out=gradient)
        gradient += epsilon
        np.divide(self.mean, gradient, out=gradient)
        gradient *= self.learning_rate / correction
        self.weights -= gradient


def _reaches(
    weights: np.ndarray, x: np.ndarray, kept: np.ndarray, is_first: bool
) -> Iterator[tuple[slice, np.ndarray]]:
    """Reach of the leaves for all rows, in parts. `kept` is filled at the first update, as far as there is room."""
    if is_first:
        for start in range(0, len(kept), _ROWS):
            _route(weights, x[start : start + _ROWS][: len(kept) - start], kept[start : start + _ROWS])
    yield slice(len(kept)), kept
    for start in range(len(kept), len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        reach = np.empty((len(x[rows]), kept.shape[1]), dtype=np.float32)
        yield rows, _route(weights, x[rows], reach)


def _route(weights: np.ndarray, x: np.ndarray, reach: np.ndarray) -> np.ndarray:
    soft_reach(router_values(weights, x), reach)
    return reach


def _with_constant(X: np.ndarray) -> np.ndarray:
    """Append a column of ones."""
    return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])
