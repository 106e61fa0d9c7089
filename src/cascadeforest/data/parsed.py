"""The result of a parser: the table of one data set before its labels are coded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Parsed:
    """One data set as read from its files.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        Encoded features; NaN where a value is missing.
    y : ndarray of shape (n_samples,)
        Raw labels: strings or numbers.
    feature_names : sequence of str
        Names of the columns of `X`.
    given_test : ndarray of shape (n_samples,) of bool, optional
        True in the rows of the given test set; None if the files give no split.
    raw_features : int, optional
        Number of features before encoding, as the papers count them.
    class_order : sequence of str, optional
        Class names in the order of their codes; None sorts them.
    note : str, optional
        Information about the parsing, for readers of tables.
    """

    X: np.ndarray | csr_matrix
    y: np.ndarray
    feature_names: Sequence[str]
    given_test: np.ndarray | None = None
    raw_features: int | None = None
    class_order: Sequence[str] | None = None
    note: str | None = None
