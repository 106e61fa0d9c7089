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

# First part of a seed's address: what the randomness is for.
_TREE, _BATCHES = range(2)

# Rows that go through a tree at a time. An array of nodes x rows is then 1 MB at depth 10, so that the passes over it
# stay in the cache. Anything from 128 to 1,000 rows cost the same within a tenth, with 32 MB of cache.
_ROWS = 256
# Shallow trees are trained several at a time: together about so many leaves, and columns of x.
_WIDTH = 1024
# Bound on the reach of leaves that is kept from one update of the leaves to the next, 262,144 rows at depth 10.
_KEPT_BYTES = 2**30

# Updates of the leaves end where one gains less than this in log-loss (nats a row). On digits and breast cancer that
# was after 7 and 9 updates in the mean; the log-loss of held-out training rows came out the same as with all 20.
_LEAST_GAIN = 1e-4
# Probabilities below are taken for this one, so that no quotient overflows.
_LEAST_PROBABILITY = 1e-20


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
    they are trained one after another, or several shallow trees at a time.

    ddbf states no hyperparameters; its numbers for Adult and Yeast are the numbers in the README of
    github.com/jingxil/Neural-Decision-Forests, 'the code' above. Deviations from the paper:

    - Adam instead of plain gradient descent, as in the code. Every tree takes a step for every batch.
    - The leaves are fitted once more at the end, to the final routers.
    - Updates of the leaves stop early if one gains less than 0.0001 in log-loss.
    - Features are scaled to mean 0 and variance 1; missing values become the median.

    Deviations from the code: the code has a linear layer of 1,024 units before the routers, which represents the same
    functions but changes the steps; it minimises the log-loss of the forest, not of each tree; it starts from the
    leaves of the epoch before, and applies a softmax to new counts where Eq. 11 normalises; its Adam has weight decay.

    The default learning rate was chosen on wine, iris, breast cancer and digits, using training rows only. On so few
    rows an epoch has one or two steps. After 100 epochs the log-loss of held-out training rows was 0.21 to 0.67 with
    0.001, 0.06 to 0.26 with 0.01, 0.05 to 0.16 with 0.03, and 0.06 to 0.14 with 0.1; with 0.1 no accuracy was higher.

    Memory during training, besides `weights_` and two or three copies of the features: the gradient and Adam's state of
    a tree, three times its part of `weights_`, and the reach of its leaves, ``2**max_depth`` float32 for each training
    row (shallow trees together: 1,024). At most 1 GiB of reach is kept (262,144 rows at depth 10); the rest is computed
    again for each update of the leaves, which makes an epoch about four times longer.

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
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        columns = _with_constant(self.preprocessing_.fit_transform(X)[order])

        n_seen = max(1, int(self.feature_fraction * X.shape[1]))
        n_leaves = 2**self.max_depth
        self.features_ = np.empty((self.n_estimators, n_seen), dtype=np.intp)
        self.weights_ = np.empty((self.n_estimators, n_leaves - 1, n_seen + 1), dtype=np.float32)
        self.leaves_ = np.empty((self.n_estimators, len(self.classes_), n_leaves), dtype=np.float32)
        for tree in range(self.n_estimators):
            rng = np.random.default_rng(seed_at(entropy, _TREE, tree))
            self.features_[tree] = np.sort(rng.choice(X.shape[1], n_seen, replace=False))
            bound = n_seen**-0.5  # as in the code: routes are nearly even at the start
            self.weights_[tree] = rng.uniform(-bound, bound, self.weights_.shape[1:])

        self.loss_curve_ = np.zeros(self.max_iter)
        n_together = len(self.features_[next(self._groups())])
        kept = np.empty(min(_KEPT_BYTES // 4, n_together * n_leaves * len(codes)), dtype=np.float32)
        for trees in self._groups():
            x = columns[self._inputs(trees)]
            self.leaves_[trees] = self._train(self.weights_[trees], x, codes, entropy, kept)
        self.loss_curve_ /= self.n_estimators
        self.n_iter_ = self.max_iter

    def _train(
        self, weights: np.ndarray, x: np.ndarray, codes: np.ndarray, entropy: int, kept: np.ndarray
    ) -> np.ndarray:
        """Algorithm 1 for some trees: changes `weights`, returns the leaves."""
        work = work_space(weights)
        adam = Adam(weights, self.learning_rate)
        n_batches = -(-len(codes) // self.batch_size)
        for epoch in range(self.max_iter):
            leaves = fitted_leaves(weights, x, codes, len(self.classes_), self.leaf_updates, work, kept)
            order = np.random.default_rng(seed_at(entropy, _BATCHES, epoch)).permutation(len(codes))
            for rows in np.array_split(order, n_batches):
                rows.sort()  # by class again
                loss, gradient = loss_and_gradient(weights, leaves, x.take(rows, axis=2), codes[rows], work)
                self.loss_curve_[epoch] += loss.sum() * len(rows) / len(codes)
                adam.step(gradient)
        return fitted_leaves(weights, x, codes, len(self.classes_), self.leaf_updates, work, kept)

    def _groups(self) -> Iterator[slice]:
        """Trees that are taken together; what they become does not depend on it."""
        _, n_nodes, n_inputs = self.weights_.shape
        size = max(1, _WIDTH // max(n_nodes + 1, n_inputs))
        return (slice(start, start + size) for start in range(0, self.n_estimators, size))

    def _inputs(self, trees: slice) -> np.ndarray:
        """Rows of `_with_constant` that the trees see: their features, and the constant for the bias."""
        features = self.features_[trees]
        return np.column_stack([features, np.full(len(features), self.n_features_in_)])

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        scaled = self.preprocessing_.transform(X)
        probabilities = np.zeros((len(scaled), len(self.classes_)))
        groups = [(self.weights_[trees], self.leaves_[trees], self._inputs(trees)) for trees in self._groups()]
        work = work_space(groups[0][0])
        for start in range(0, len(scaled), _ROWS):
            rows = slice(start, start + _ROWS)
            columns = _with_constant(scaled[rows])
            for weights, leaves, inputs in groups:
                right, reach, _ = work[:, : len(weights), :, : columns.shape[1]]
                route(weights, columns[inputs], right, reach)
                probabilities[rows] += (leaves @ reach).sum(axis=0, dtype=np.float64).T
        return probabilities / probabilities.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------------------------------------- kernels
# Arrays have trees first and rows last, so that every operation runs along memory. A level of 2^k nodes is the slice
# 2^k .. 2^(k+1) of the second axis (entry 0 of `right` is not used). Node j of level k has the children j (left) and
# j + 2^k (right) of level k + 1, so that both halves of a level are slices too, and bit k of a leaf's number is the
# turn that its path takes at level k. All of it works in the precision of `weights`.


def work_space(weights: np.ndarray) -> np.ndarray:
    """Room for what the kernels compute for some rows at a time.

    Parameters
    ----------
    weights : ndarray of shape (n_trees, n_leaves - 1, n_inputs)
        Routers of the trees.

    Returns
    -------
    work : ndarray of shape (3, n_trees, n_leaves, n_rows)
    """
    n_trees, n_nodes, _ = weights.shape
    return np.empty((3, n_trees, n_nodes + 1, _ROWS), dtype=weights.dtype)


def route(weights: np.ndarray, x: np.ndarray, right: np.ndarray, reach: np.ndarray) -> None:
    r"""Send rows down the trees (Eq. 2).

    Parameters
    ----------
    weights : ndarray of shape (n_trees, n_leaves - 1, n_inputs)
        Routers, the bias among them.
    x : ndarray of shape (n_trees, n_inputs, n_rows)
        What each tree sees of the rows, and a constant 1 for the bias.
    right : ndarray of shape (n_trees, n_leaves, n_rows)
        Receives the probability :math:`1 - d_n(x)` of a right turn at each node.
    reach : ndarray of shape (n_trees, n_leaves, n_rows)
        Receives the probability :math:`\mu_l(x)` of each leaf.
    """
    turn = right[:, 1:]
    np.matmul(weights, x, out=turn)
    with np.errstate(over="ignore"):  # infinite where the row surely goes left
        np.exp(turn, out=turn)
    turn += 1
    np.divide(1, turn, out=turn)

    reach[:, 0] = 1
    for width in _widths(reach):
        level = np.s_[:, width : 2 * width]
        np.multiply(reach[:, :width], right[level], out=reach[level])
        reach[:, :width] -= reach[level]


def backpropagate(right: np.ndarray, reach: np.ndarray) -> None:
    r"""Collect the loss gradient from the leaves up (Eqs. 6 and 7), in place.

    Parameters
    ----------
    right : ndarray of shape (n_trees, n_leaves, n_rows)
        As `route` leaves it. Becomes the derivative of :math:`-\log P_T[y | x]` with respect to :math:`w_n x + b_n`,
        times :math:`P_T[y | x]`: with :math:`A_m` the part of this probability that comes through node m,
        :math:`d_n A_{right} - (1 - d_n) A_{left} = A_{right} - (1 - d_n) A_n`.
    reach : ndarray of shape (n_trees, n_leaves, n_rows)
        :math:`\pi_{ly} \mu_l(x)`, each leaf's part. In place of leaf 0 stands :math:`P_T[y | x]` afterwards, the sum.
    """
    for width in reversed(_widths(reach)):
        level = np.s_[:, width : 2 * width]
        reach[:, :width] += reach[level]
        right[level] *= reach[:, :width]
        np.subtract(reach[level], right[level], out=right[level])


def loss_and_gradient(
    weights: np.ndarray, leaves: np.ndarray, x: np.ndarray, codes: np.ndarray, work: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-loss of each tree (Eq. 4), mean over the rows, and its gradient.

    Parameters
    ----------
    weights : ndarray of shape (n_trees, n_leaves - 1, n_inputs)
        Routers.
    leaves : ndarray of shape (n_trees, n_classes, n_leaves)
        Class distributions.
    x : ndarray of shape (n_trees, n_inputs, n_rows)
        As `route` takes it.
    codes : ndarray of shape (n_rows,)
        Class codes, in ascending order.
    work : ndarray
        From `work_space`.

    Returns
    -------
    loss : ndarray of shape (n_trees,)
    gradient : ndarray of shape (n_trees, n_leaves - 1, n_inputs)
        With respect to `weights`.
    """
    loss = np.zeros(len(weights))
    gradient = np.zeros_like(weights)
    for start in range(0, len(codes), _ROWS):
        some = codes[start : start + _ROWS]
        inputs = x[..., start : start + _ROWS]
        right, reach, value = work[..., : len(some)]
        route(weights, inputs, right, reach)
        # Each leaf's probability of the row's class. Class by class: a fifth of the time of indexing, with two classes.
        for code, same in _one_class_blocks(some):
            value[..., same] = leaves[:, code, :, np.newaxis]
        reach *= value
        backpropagate(right, reach)
        probability = np.maximum(reach[:, :1], _LEAST_PROBABILITY)
        loss -= np.log(probability).sum(axis=(1, 2))
        gradient += right[:, 1:] @ (inputs / probability).transpose(0, 2, 1)
    gradient /= len(codes)
    return loss / len(codes), gradient


def fitted_leaves(
    weights: np.ndarray,
    x: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    n_updates: int,
    work: np.ndarray,
    kept: np.ndarray,
) -> np.ndarray:
    r"""Class distributions of the leaves that suit the routers (Eq. 11), from uniform ones.

    Parameters
    ----------
    weights : ndarray of shape (n_trees, n_leaves - 1, n_inputs)
        Routers.
    x : ndarray of shape (n_trees, n_inputs, n_rows)
        All training rows, as `route` takes them.
    codes : ndarray of shape (n_rows,)
        Class codes, in ascending order.
    n_classes : int
        Number of classes.
    n_updates : int
        Most updates; a tree takes no more once one gained less than `_LEAST_GAIN`.
    work : ndarray
        From `work_space`.
    kept : ndarray of shape (n,)
        Room for the reach of leaves. What does not find room is computed again for each update.

    Returns
    -------
    leaves : ndarray of shape (n_trees, n_classes, n_leaves)
        A leaf that no row reaches stays uniform.

    Notes
    -----
    An update gives each leaf its share in every row, :math:`\pi_{ly} \mu_l(x) / P_T[y | x]`, counted for the row's
    class, and normalises. Rows of one class ask for one column of the distributions, so an update costs two products
    of a matrix with a vector, however many classes there are.
    """
    n_trees, n_nodes, _ = weights.shape
    leaves = np.full((n_trees, n_classes, n_nodes + 1), 1 / n_classes, dtype=weights.dtype)
    blocks = _one_class_blocks(codes)
    stored: dict[int, np.ndarray] = {}
    moving = np.ones(n_trees, dtype=bool)
    loss = np.full(n_trees, np.inf)
    for _ in range(n_updates):
        shares = np.zeros_like(leaves)
        before, loss = loss, np.zeros(n_trees)
        for code, reach in _reaches(weights, x, blocks, work, kept, stored):
            probability = leaves[:, code, np.newaxis] @ reach
            np.maximum(probability, _LEAST_PROBABILITY, out=probability)
            loss -= np.log(probability).sum(axis=(1, 2)) / len(codes)
            shares[:, code] += (reach @ (1 / probability).transpose(0, 2, 1))[..., 0]
        moving &= before - loss >= _LEAST_GAIN
        if not moving.any():
            break
        shares *= leaves
        total = shares.sum(axis=1, keepdims=True)
        reached = total > 0
        np.divide(shares, total, out=shares, where=reached)
        np.copyto(leaves, shares, where=reached & moving[:, np.newaxis, np.newaxis])
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


def _widths(reach: np.ndarray) -> list[int]:
    """Nodes of each level, root first."""
    return [2**k for k in range(reach.shape[1].bit_length() - 1)]


def _one_class_blocks(codes: np.ndarray) -> list[tuple[int, slice]]:
    ends = np.searchsorted(codes, np.unique(codes), side="right")
    starts = np.append(0, ends[:-1])
    return [
        (int(codes[start]), slice(row, min(row + _ROWS, end)))
        for start, end in zip(starts, ends, strict=True)
        for row in range(start, end, _ROWS)
    ]


def _reaches(
    weights: np.ndarray,
    x: np.ndarray,
    blocks: list[tuple[int, slice]],
    work: np.ndarray,
    kept: np.ndarray,
    stored: dict[int, np.ndarray],
) -> Iterator[tuple[int, np.ndarray]]:
    """Class code and reach of each block of rows. `stored` fills on the first pass, as far as there is room."""
    n_trees, n_nodes, _ = weights.shape
    for i, (code, rows) in enumerate(blocks):
        reach = stored.get(i)
        if reach is None:
            shape = n_trees, n_nodes + 1, rows.stop - rows.start
            size = np.prod(shape)
            room = kept[n_trees * (n_nodes + 1) * rows.start :][:size]
            if room.size == size:
                reach = stored[i] = room.reshape(shape)
            else:
                reach = work[1].reshape(-1)[:size].reshape(shape)  # contiguous as well, for the same bytes
            route(weights, x[..., rows], work[0, ..., : shape[-1]], reach)
        yield code, reach


def _with_constant(X: np.ndarray) -> np.ndarray:
    """Columns of `X` as rows, and a row of ones."""
    columns = np.ones((X.shape[1] + 1, len(X)), dtype=X.dtype)
    columns[:-1] = X.T
    return columns
