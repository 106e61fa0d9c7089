"""Categorical features: which columns are categorical, their levels, and X with codes in place of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, validate_data

from cascadeforest.forest._parameters import check_one_output
from cascadeforest.forest._types import MatrixLike
from cascadeforest.forest.binning import MAX_LEVELS

#: What the parameter `categorical_features` may be.
CategoricalFeatures = str | ArrayLike | None
_CHOICE = "'from_dtype', a list of column numbers or names, a boolean mask, or None"


class Categories:
    """The levels of categorical features.

    Parameters
    ----------
    levels : list of (ndarray or None)
        Levels of each feature in the order of their codes; None for numeric features.
    """

    def __init__(self, levels: list[np.ndarray | None]):
        self.levels = levels

    @classmethod
    def learn(cls, X: MatrixLike, chosen: CategoricalFeatures) -> Categories | None:
        """Find the categorical features and their levels in training rows.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        chosen : "from_dtype", array-like or None
            The parameter `categorical_features` of estimators.

        Returns
        -------
        Categories or None
            None if no feature is categorical.

        Raises
        ------
        ValueError
            If `chosen` does not fit X, X is sparse, or a column has too many levels or values that have no order.
        """
        mask = _chosen_mask(X, chosen)
        if mask is None or not mask.any():
            return None
        table = _table(X)
        return cls([_levels_of(_column(table, k), _name(X, k)) if own else None for k, own in enumerate(mask)])

    @property
    def mask(self) -> np.ndarray:
        """Which features are categorical."""
        return np.array([levels is not None for levels in self.levels])

    @property
    def n_levels(self) -> np.ndarray:
        """Number of levels of each feature; 0 for numeric features."""
        return np.array([0 if levels is None else len(levels) for levels in self.levels])

    def encode(self, X: MatrixLike) -> Any:
        """Put codes in place of levels; NaN for missing values and for levels that training rows did not have.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Rows with the columns of the training rows; not changed.

        Returns
        -------
        DataFrame or ndarray
            As X. If all numeric columns have single precision, codes have it, too.
        """
        table = _table(X)
        if isinstance(table, pd.DataFrame):
            single = all(d == np.float32 for d, own in zip(table.dtypes, self.levels, strict=True) if own is None)
            encoded = table.copy(deep=False)
        else:
            single = table.dtype == np.float32
            encoded = table.astype(table.dtype if table.dtype.kind in "fO" else np.float64)  # a copy
        for k, own in enumerate(self.levels):
            if own is not None:
                codes = _codes(_column(table, k), own).astype(np.float32 if single else np.float64)
                if isinstance(encoded, pd.DataFrame):
                    encoded.isetitem(k, codes)
                else:
                    encoded[:, k] = codes
        return encoded

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Put levels in place of codes; NaN stays.

        Parameters
        ----------
        codes : ndarray of shape (n_samples, n_features)
            What `encode` gave.

        Returns
        -------
        ndarray of shape (n_samples, n_features), object
        """
        X = codes.astype(object)
        for k, own in enumerate(self.levels):
            if own is not None:
                known = ~np.isnan(codes[:, k])
                X[known, k] = own[codes[known, k].astype(int)]
        return X


class TakesCategories(BaseEstimator):
    """Mixin of estimators with the parameter `categorical_features`: the door through which X comes in."""

    categorical_features: CategoricalFeatures = "from_dtype"
    categories_: list[np.ndarray | None] | None
    is_categorical_: np.ndarray | None
    _categories: Categories | None = None

    def _validated(self, X: MatrixLike, *y: Any, reset: bool = False, **checks: Any) -> Any:
        """`validate_data` of scikit-learn, with codes in place of levels; ``reset=True`` in `fit` learns the levels."""
        if isinstance(self, ClassifierMixin) and y:
            check_one_output(*y)
        if reset:
            self._categories = Categories.learn(X, self.categorical_features)
            self.categories_ = None if self._categories is None else self._categories.levels
            self.is_categorical_ = None if self._categories is None else self._categories.mask
        encoded = X
        if self._categories is not None:
            if not reset:
                validate_data(self, X, reset=False, skip_check_array=True)  # names and number of columns
            encoded = self._categories.encode(X)
        _refuse_dates(encoded)
        try:
            if reset or self._categories is None:
                return validate_data(self, encoded, *y, reset=reset, **checks)
            return check_array(encoded, estimator=self, input_name="X", **checks)
        except (TypeError, ValueError) as error:
            _explain(encoded, error)
            raise

    @property
    def _n_levels(self) -> np.ndarray | None:
        """`levels` for `BinMapper`."""
        return None if self._categories is None else self._categories.n_levels

    def _refuse_categories(self, why: str) -> None:
        """Raise an error if a feature is categorical."""
        if self._categories is not None:
            raise ValueError(
                f"X has {np.count_nonzero(self._categories.mask)} categorical feature(s), but {why}; encode them, for "
                "instance by sklearn.preprocessing.TargetEncoder or OneHotEncoder, or leave them out."
            )


def _chosen_mask(X: Any, chosen: CategoricalFeatures) -> np.ndarray | None:
    """Which columns are categorical; None if none is."""
    if isinstance(chosen, str) and chosen == "from_dtype":
        if not isinstance(X, pd.DataFrame):
            return None
        return np.array([_has_levels(X, k, dtype) for k, dtype in enumerate(X.dtypes)])
    if chosen is None or (given := np.asarray(chosen)).size == 0:
        return None
    shape = np.shape(X)
    if len(shape) != 2:
        return None  # refused later, in scikit-learn's words
    if given.ndim != 1 or given.dtype.kind not in "biuUO":
        remedy = _CHOICE
    elif given.dtype.kind == "b":
        if given.shape == shape[1:]:
            return given
        remedy = f"a mask of {shape[1]} entries, one for each column"
    elif given.dtype.kind in "iu":
        if given.min() >= 0 and given.max() < shape[1]:
            return np.isin(np.arange(shape[1]), given)
        remedy = f"column numbers from 0 to {shape[1] - 1}"
    else:
        names = [*getattr(X, "columns", ())]
        if not names:
            remedy = "column numbers or a mask, since X has no column names"
        elif unknown := [name for name in given.tolist() if name not in names]:
            remedy = f"names of columns: X has none with the name {unknown[0]!r}"
        else:
            return np.isin(np.arange(shape[1]), [k for k, name in enumerate(names) if name in given])
    raise ValueError(f"categorical_features is {chosen!r}; give {remedy}.")


def _has_levels(X: pd.DataFrame, k: int, dtype: Any) -> bool:
    """Whether a column has a categorical type or strings."""
    if pd.api.types.is_object_dtype(dtype):
        return any(isinstance(value, str) for value in X.iloc[:, k])
    if isinstance(dtype, pd.ArrowDtype):  # dictionaries are the categorical type of Arrow
        return issubclass(dtype.type, str) or str(dtype).startswith("dictionary")
    return isinstance(dtype, pd.CategoricalDtype | pd.StringDtype)


def _table(X: MatrixLike) -> Any:
    """X as a data frame or an array; of objects if it has strings."""
    if scipy.sparse.issparse(X):
        raise ValueError("X is sparse, but has categorical features; give a dense array or a DataFrame.")
    if isinstance(X, pd.DataFrame):
        return X
    table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    return table.astype(object) if table.dtype.kind in "US" else table


def _column(table: Any, k: int) -> pd.Series:
    return table.iloc[:, k] if isinstance(table, pd.DataFrame) else pd.Series(table[:, k])


def _name(X: Any, k: int) -> str:
    return f"column {X.columns[k]!r}" if isinstance(X, pd.DataFrame) else f"column {k}"


def _levels_of(column: pd.Series, name: str) -> np.ndarray:
    """Distinct values of a column: categories in their own order, other values sorted."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = np.unique(column.cat.codes)
        levels = np.array(column.cat.categories)[codes[codes >= 0]]
    else:
        known = column.dropna()
        try:
            levels = np.sort(np.asarray(known.unique()))
        except TypeError as error:
            kinds = sorted({type(value).__name__ for value in known})
            raise ValueError(
                f"The categorical {name} has values of the types {', '.join(kinds)}, which have no common order; "
                "convert them to one type, for instance by astype(str)."
            ) from error
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"The categorical {name} has {len(levels)} levels, more than {MAX_LEVELS}; group rare levels, or encode "
            "the column, for instance by sklearn.preprocessing.TargetEncoder."
        )
    return levels


def _codes(column: pd.Series, levels: np.ndarray) -> np.ndarray:
    known = pd.Index(levels)
    if isinstance(column.dtype, pd.CategoricalDtype):
        of_categories = np.append(known.get_indexer(column.cat.categories), -1)  # the last is for missing values
        codes = of_categories[column.cat.codes]
    else:
        codes = known.get_indexer(pd.Index(column))
    return np.where(codes < 0, np.nan, codes)


def _refuse_dates(X: Any) -> None:
    """Raise an error for columns of dates and durations, which scikit-learn takes for numbers if X has nothing else."""
    for k, dtype in enumerate(X.dtypes if isinstance(X, pd.DataFrame) else [getattr(X, "dtype", None)]):
        if getattr(dtype, "kind", None) in ("m", "M"):
            raise TypeError(_no_number(_name(X, k) if isinstance(X, pd.DataFrame) else "array X", str(dtype)))


def _no_number(name: str, what: str) -> str:
    return (
        f"The {name} has values of the type {what}, which are not numbers; convert them, for instance dates to days "
        "since the first one, or name the column in categorical_features: the argument must be a string or a number."
    )


def _explain(X: Any, error: Exception) -> None:
    """Say in which column of X values are that are not numbers, if that is why scikit-learn or numpy refused it."""
    if not (isinstance(X, pd.DataFrame) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS")):
        return
    for k, dtype in enumerate(X.dtypes if isinstance(X, pd.DataFrame) else [X.dtype] * X.shape[1]):
        if pd.api.types.is_numeric_dtype(dtype):
            continue
        for value in _column(X, k).dropna():
            try:
                float(value)
            except TypeError:
                raise TypeError(_no_number(_name(X, k), type(value).__name__)) from error
            except ValueError:
                raise ValueError(
                    f"The {_name(X, k)} has the string {str(value)!r}, but is not categorical; name the column in "
                    "categorical_features, or encode it as numbers."
                ) from error
