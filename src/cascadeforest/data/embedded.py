"""Data sets that scikit-learn ships. They need no network."""

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.parsed import Parsed

LOADERS = ("load_breast_cancer", "load_diabetes", "load_digits", "load_iris", "load_wine")


def load_embedded(loader: str, columns: list[int] | None = None) -> Parsed:
    """Load one data set of scikit-learn.

    Parameters
    ----------
    loader : str
        ``sklearn:<function>``, a function of `sklearn.datasets` in `LOADERS`.
    columns : list of int, optional
        Columns to keep, from 0, in this order; all by default.

    Returns
    -------
    Parsed
        Data set with scikit-learn's class names, in their order.

    Raises
    ------
    ConfigError
        If the loader is unknown or a column is out of range.
    """
    from sklearn import datasets

    library, _, function = loader.partition(":")
    if library != "sklearn" or function not in LOADERS:
        raise ConfigError(f"loader is '{loader}'; choose one of {', '.join(f'sklearn:{name}' for name in LOADERS)}.")
    bunch = getattr(datasets, function)()
    X, names = bunch.data, [str(name) for name in bunch.feature_names]
    if columns is not None:
        if not columns or not set(columns) <= set(range(len(names))):
            raise ConfigError(f"options.columns is {columns}; give numbers from 0 to {len(names) - 1}.")
        X, names = X[:, columns], [names[k] for k in columns]
    if "target_names" not in bunch:
        return Parsed(X, bunch.target, names, raw_features=len(names))
    classes = [str(name) for name in bunch.target_names]
    return Parsed(X, bunch.target_names.astype(str)[bunch.target], names, raw_features=len(names), class_order=classes)
