"""LIBSVM's sparse text form: a label, then ``index:value`` pairs, indices from 1."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import open_binary


def libsvm(files: Mapping[str, Path], *, train: str, n_features: int, test: str | None = None) -> Parsed:
    """Parse one or two files in LIBSVM's form into a dense matrix.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name; compressed ones are read in place.
    train : str
        Name of the file, or of the training part.
    n_features : int
        Number of features: the last ones may be zero in every row of a file.
    test : str, optional
        Name of the test part; the given split is then these two files.

    Returns
    -------
    Parsed
        Features as float32; those that a row does not list are 0. Features are called x1, x2, ...

    Raises
    ------
    UserError
        If a file is not in this form, has other features, or a number that is not finite.
    """
    parts = [_read(files, name, n_features) for name in (train, test) if name is not None]
    X = np.vstack([values for values, _ in parts])
    return Parsed(
        X=X,
        y=np.concatenate([labels for _, labels in parts]),
        feature_names=tuple(f"x{position}" for position in range(1, n_features + 1)),
        given_test=None if test is None else np.arange(len(X)) >= len(parts[0][0]),
        raw_features=n_features,
    )


def _read(files: Mapping[str, Path], name: str, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense features and labels of one file."""
    from sklearn.datasets import load_svmlight_file

    with open_binary(files, name) as stream:
        try:
            X, y = load_svmlight_file(stream, n_features=n_features, dtype=np.float32, zero_based=False)
        except ValueError as error:
            raise UserError(
                f"{name}: not a LIBSVM file of {n_features} features ({error}). "
                "Fetch the data set again, or correct `n_features` in the data set file."
            ) from error
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise UserError(f"{name}: a label or a value is not a finite number. Fetch the data set again.")
    return X.toarray(), y
