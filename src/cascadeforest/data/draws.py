"""Random draws from a table: stratified subsets, rows of one class dropped, permuted copies of the columns.

Pure functions of arrays and seeds. `Dataset.split` calls them in each repeat, `vary` once for a stored table.
"""

import numpy as np
from scipy.sparse import issparse

from cascadeforest.data.errors import UserError
from cascadeforest.data.names import Operation, seed_for


def stratified_subset(strata: np.ndarray, n: int, seed: int, least: np.ndarray | int = 0) -> np.ndarray:
    """Draw `n` positions, from each stratum in proportion to its size (largest remainders), in ascending order.

    Parameters
    ----------
    strata : ndarray of shape (n_samples,)
        Stratum of each row. If all rows have the same stratum, the draw is not stratified.
    n : int
        Number of rows to keep.
    seed : int
        Seed of the draw.
    least : int or ndarray of shape (n_strata,), default=0
        Minimum number of rows that a stratum keeps (all rows if it has fewer), so that small classes do not vanish.

    Returns
    -------
    ndarray of shape (n,) of int
        Ascending positions, so that the order of the file stays.

    Raises
    ------
    UserError
        If `n` is less than the number of rows that the strata must keep, or more than the number of rows.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    floor = np.minimum(counts, least)
    if not floor.sum() <= n <= strata.size or n < 1:
        raise UserError(
            f"{n} of {strata.size} rows cannot be kept: every class needs some, {max(1, floor.sum())} at the least, "
            f"and there are no more than {strata.size}."
        )
    ideal = n * counts / strata.size
    quota = np.maximum(np.floor(ideal).astype(np.int64), floor)
    while quota.sum() != n:  # at most one step a stratum and direction
        if quota.sum() < n:
            quota[np.argmax(np.where(quota < counts, ideal - quota, -np.inf))] += 1
        else:
            quota[np.argmax(np.where(quota > floor, quota - ideal, -np.inf))] -= 1
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(codes == stratum))[:size] for stratum, size in enumerate(quota)]
    return np.sort(np.concatenate(drawn))


def draw_train(
    operation: Operation,
    train: np.ndarray,
    y: np.ndarray,
    *,
    dataset: str,
    repeat: int,
    class_names: tuple[str, ...],
    seed: int = 0,
) -> np.ndarray:
    """Return the training rows that one per-repeat operation leaves.

    Parameters
    ----------
    operation : Operation
        ``rows`` keeps a number of rows, ``train`` and ``rest`` a fraction (rounded down; the same rows), stratified by
        class. Each class keeps
        at least one row (``rows``: two, if it has them). More rows contain the fewer, up to rounding in the classes.
        ``imbalance`` drops a share (rounded) of the rows of one class. A higher share drops a superset of the rows that
        a lower share drops, so a curve over the share compares nested sets. ``irrelevant`` keeps all rows.
    train : ndarray of int
        Training rows before the operation.
    y : ndarray of shape (n_samples,)
        Class codes of the whole data set, or the regression target.
    dataset : str
        Name without operations.
    repeat : int
        Number of the repeat.
    class_names : tuple of str
        Empty for regression.
    seed : int, default=0
        `seed` of ``config/config.yaml``.

    Returns
    -------
    ndarray of int
        Remaining rows, in the order of `train`.
    """
    if operation.kind in ("rows", "train", "rest"):
        # 1e-9: 0.29 * 100 is 28.999999999999996 in binary
        n = operation.count if operation.kind == "rows" else max(1, int(operation.amount * train.size + 1e-9))
        if n > train.size:
            raise UserError(
                f"'{dataset}' has {train.size} training rows in repeat {repeat}, so rows-{n} is not possible; ask for "
                "fewer."
            )
        strata = y[train] if class_names else np.zeros(train.size, np.int64)
        least = 0 if not class_names else 2 if operation.kind == "rows" else 1
        axis = "rows" if operation.kind == "rows" else "train"
        return train[stratified_subset(strata, n, seed_for(axis, dataset, repeat, seed=seed), least)]
    if operation.kind == "imbalance":
        members = np.flatnonzero(y[train] == class_names.index(operation.label))
        n_dropped = min(round(operation.amount * members.size), members.size - 1)
        if n_dropped < 1:
            return train
        generator = np.random.default_rng(seed_for("imbalance", dataset, operation.label, repeat, seed=seed))
        return np.delete(train, generator.permutation(members)[:n_dropped])
    return train


def with_made_negatives(
    X: np.ndarray, y: np.ndarray, feature_names: tuple[str, ...], *, dataset: str, repeat: int, seed: int = 0
) -> np.ndarray:
    """Make all rows of class 0 from those that the stored table has.

    A made row lies on the line between two of them, by less than a third of the way, with normal noise of a tenth of
    their standard deviations. The column ``Time`` is uniform over its range in the table: the negatives at hand can be
    of a part of it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The stored table. Rows of class 0 that are NaN throughout have no stored values.
    y : ndarray of shape (n_samples,)
        Class codes.
    feature_names : tuple of str
        Names of the columns.
    dataset : str
        Name without operations.
    repeat : int
        Number of the repeat.
    seed : int, default=0
        `seed` of ``config/config.yaml``.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Same type; rows of other classes are those of `X`.
    """
    generator = np.random.default_rng(seed_for("negatives", dataset, repeat, seed=seed))
    made, stored = np.flatnonzero(y == 0), ~np.isnan(X).all(axis=1)
    pool = X[stored & (y == 0)].astype(np.float64)
    one, other = generator.integers(len(pool), size=(2, made.size))
    share = 0.3 * generator.random((made.size, 1))
    noise = 0.1 * pool.std(axis=0) * generator.normal(size=(made.size, X.shape[1]))
    rows = pool[one] * (1 - share) + pool[other] * share + noise
    if "Time" in feature_names:
        time = feature_names.index("Time")
        rows[:, time] = generator.uniform(X[stored, time].min(), X[stored, time].max(), made.size)
    whole = X.copy()
    whole[made] = rows
    return whole


def with_permuted_copies(X: np.ndarray, *, dataset: str, repeat: int, seed: int = 0) -> np.ndarray:
    """Append a copy of each column, permuted over all rows (interp, section 6.3: irrelevant features).

    Each column has its own permutation over the whole table, so that training and test rows have the same kind of
    noise: the values of the column, assigned to random rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The stored table.
    dataset : str
        Name without operations.
    repeat : int
        Number of the repeat.
    seed : int, default=0
        `seed` of ``config/config.yaml``. The permutations depend only on the data set, the repeat and this seed.

    Returns
    -------
    ndarray of shape (n_samples, 2 * n_features)
        Same dtype; the first half is `X`.
    """
    if issparse(X):
        raise UserError(
            f"'{dataset}' is sparse: the operation 'irrelevant' is for dense tables only. Choose another data set."
        )
    generator = np.random.default_rng(seed_for("irrelevant", dataset, repeat, seed=seed))
    return np.hstack([X, generator.permuted(X, axis=0)])
