"""Rows in the plane: which ones, where t-SNE puts them, and how far classes lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cascadeforest.data.names import seed_for

if TYPE_CHECKING:
    import numpy as np

#: At most so many rows are projected: more would hide each other, and t-SNE takes minutes.
N_ROWS = 1000
#: Neighbours that count (van der Maaten and Hinton 2008); fewer rows have fewer.
PERPLEXITY = 30.0


def draw_rows(n: int, dataset: str, repeat: int, seed: int = 0) -> np.ndarray:
    """Draw the rows that are projected: the same ones for every model.

    Parameters
    ----------
    n : int
        Rows that there are.
    dataset : str
        Data set variant.
    repeat : int
        Number of the repeat.
    seed : int
        Part of every seed.

    Returns
    -------
    ndarray of int
        At most `N_ROWS` numbers below `n`, ascending.
    """
    import numpy as np

    rng = np.random.default_rng(seed_for("projected rows", dataset, repeat, seed=seed))
    return np.sort(rng.permutation(n)[:N_ROWS])


def tsne_plane(values: np.ndarray, seed: int = 0, start: int | None = None) -> np.ndarray:
    """Coordinates of rows in the t-SNE plane.

    The same bytes in every run on one machine. Not on others: t-SNE multiplies differences in the last bits, with which
    linear algebra differs between processors, until points and whole clusters lie elsewhere.

    Parameters
    ----------
    values : ndarray of shape (n, n_features)
        Rows; no NaN.
    seed : int
        Part of every seed.
    start : int or None
        Number of a random start. None: from the two principal components, where another seed changes nothing.

    Returns
    -------
    ndarray of shape (n, 2), float32
        Two decimals, which is more than a picture shows.
    """
    import numpy as np
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n = len(values)
    if n < 3 or (values == values[0]).all():  # nothing to lay out
        return np.zeros((n, 2), np.float32)
    if values.shape[1] == 1:  # where the layout begins has two components
        values = np.column_stack([values, np.zeros(n)])
    perplexity = min(PERPLEXITY, (n - 1) / 3)
    init, own = ("pca", seed) if start is None else ("random", seed_for("t-SNE", start, seed=seed))
    model = TSNE(2, perplexity=perplexity, init=init, learning_rate="auto", random_state=own % 2**32)
    with threadpool_limits(1):  # sums of several threads depend on their number
        plane = model.fit_transform(values.astype(np.float64))
    return np.round(plane, 2).astype(np.float32)


def scatter_ratio(points: np.ndarray, classes: np.ndarray) -> float:
    """Scatter within classes over scatter between them, S_A / S_E.

    The two parts of the total scatter, sum_i |z_i - m|^2: S_A = sum_i |z_i - m_c(i)|^2 and S_E = sum_c n_c |m_c - m|^2,
    with the mean m of all rows and m_c of class c.

    Parameters
    ----------
    points : ndarray of shape (n, n_dimensions)
        Rows.
    classes : ndarray of shape (n,)
        Their classes.

    Returns
    -------
    float
        Infinite if all classes have the same mean.
    """
    import numpy as np

    points = np.asarray(points, np.float64)
    center, within, between = points.mean(axis=0), 0.0, 0.0
    for label in np.unique(classes):
        own = points[classes == label]
        mean = own.mean(axis=0)
        within += float(np.sum((own - mean) ** 2))
        between += len(own) * float(np.sum((mean - center) ** 2))
    return within / between if between > 0 else float("inf")
