"""Class labels as the codes 0, 1, ..., and the one thing that every baseline asks of them."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets


def encode_classes(y, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Distinct labels of `y`, and each row's index among them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class labels of the training rows; a fold need not hold every class of the data set.
    model : str
        Name for the error message.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The labels that occur, sorted.
    codes : ndarray of shape (n_samples,)
        ``classes[codes]`` equals `y`.

    Raises
    ------
    ValueError
        If `y` is no set of class labels, or if there is one class only. The wrapped libraries disagree here (two
        refuse, two return probabilities of a second class that does not exist); ours all refuse.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{model} needs training rows of at least two classes; y holds 1 class, {classes[0]!r}. "
            "Give it more rows, or a split that is stratified by class."
        )
    return classes, codes
