"""Tables in text or spreadsheet form: one parser with options, and functions that other parsers share."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.data.names import seed_for
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import open_binary

if TYPE_CHECKING:
    import pandas as pd

Column = str | int


def table(
    files: Mapping[str, Path],
    *,
    train: str,
    target: Column,
    test: str | None = None,
    train_rows: int | None = None,
    separator: str = ",",
    header: int | None = None,
    columns: Sequence[str] | None = None,
    ids: Sequence[Column] = (),
    drop: Sequence[Column] = (),
    categorical: Sequence[Column] | Literal["auto"] = (),
    ignored_levels: Sequence[str] = (),
    codes: Mapping[str, Mapping[str, float]] | None = None,
    missing: Sequence[str] = (),
    fill: float | None = None,
    class_order: Sequence[str] | None = None,
    thinned: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Parsed:
    """Parse a table in which each row is a sample and one column is the target.

    Columns are named by `columns`, else by the header row; a table with neither has numbered columns (from 0, negative
    from the end) and its features are called x1, x2, ...

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    train : str
        Address (see `open_binary`) of the table, or of its training part. A name ending in .xls is read as a
        spreadsheet (first sheet), anything else as text.
    target : str or int
        The column of labels.
    test : str, optional
        Address of the test part; the given split is then these two files.
    train_rows : int, optional
        The first so many rows of one file are the training part of a given split.
    separator : str, default=","
        One character, or ``whitespace``.
    header : int, optional
        Number (from 0) of the row that names the columns; None: there is none.
    columns : sequence of str, optional
        Names of all columns in their order, where the file has no header.
    ids : sequence of str or int, default=()
        Columns that only name the row (or repeat the target): dropped, and no raw features.
    drop : sequence of str or int, default=()
        Features that are left out although the papers count them.
    categorical : sequence of str or int, or "auto", default=()
        Columns to code one-hot, one feature a level that occurs (training and test part together); ``auto``: all
        columns that hold text.
    ignored_levels : sequence of str, default=()
        Levels of categorical columns that get no feature of their own: all features of the column are 0 there.
    codes : mapping of str to mapping, optional
        For a text column, the number that stands for each level.
    missing : sequence of str, default=()
        Cells that mean 'missing'.
    fill : float, optional
        Number to put where a value is missing; None keeps NaN.
    class_order : sequence of str, optional
        Class names in the order of their codes; None sorts them.
    thinned : mapping of str to int, optional
        Classes of which only so many rows are kept, drawn at random. For one file.
    seed : int, default=0
        Seed of that draw.

    Returns
    -------
    Parsed
        Features as float32.

    Raises
    ------
    ConfigError
        If an option names a file, a column or a class that is not there, or keeps more rows of a class than there are.
    UserError
        If a column that should hold numbers holds text.
    """
    read = partial(read_frame, files, separator=separator, header=header, columns=columns, missing=missing)
    frame = read(train)
    n_train = len(frame)
    if test is not None:
        frame = concatenate(frame, read(test), train, test)
    given_test = None
    if test is not None or train_rows is not None:
        given_test = np.arange(len(frame)) >= (n_train if train_rows is None else train_rows)

    labels = labels_of(frame[_name(frame, target, train)], train)
    if thinned:
        kept = _thinned(labels, thinned, train, seed, has_given_test=given_test is not None)
        frame, labels = frame[kept].reset_index(drop=True), labels[kept]
    # All names first: positions count the columns of the file, not those that are left.
    id_names = {_name(frame, column, train) for column in (target, *ids)}
    drop_names = {_name(frame, column, train) for column in drop}
    code_names = {_name(frame, column, train): numbers for column, numbers in (codes or {}).items()}
    if categorical != "auto":
        categorical = [_name(frame, column, train) for column in categorical]
    raw_features = frame.shape[1] - len(id_names)
    frame = frame.drop(columns=[*(id_names | drop_names)])
    for name, numbers in code_names.items():
        frame[name] = _coded(frame[name], numbers, f"{train}, column '{name}'")
    if categorical == "auto":
        categorical = [name for name in frame.columns if not _is_numeric(frame[name])]
    if columns is None and header is None:
        new_names = {name: f"x{position + 1}" for position, name in enumerate(frame.columns)}
        frame = frame.rename(columns=new_names)
        categorical = [new_names[name] for name in categorical]

    X, names = encode(frame, categorical, where=train, ignored_levels=ignored_levels)
    if fill is not None:
        X[np.isnan(X)] = fill
    return Parsed(
        X=X,
        y=labels,
        feature_names=names,
        given_test=given_test,
        raw_features=raw_features,
        class_order=class_order,
    )


def read_frame(
    files: Mapping[str, Path],
    address: str,
    *,
    separator: str = ",",
    header: int | None = None,
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    comment: str | None = None,
    as_text: bool = False,
) -> "pd.DataFrame":
    """Read one table into a data frame.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    address : str
        See `open_binary`; a name ending in .xls is read as a spreadsheet.
    separator, header, columns, missing
        See `table`.
    comment : str, optional
        A character; what follows it in a line is skipped.
    as_text : bool, default=False
        Keep every cell as it is written, instead of guessing types column by column.

    Returns
    -------
    DataFrame
        Missing cells are NaN; nothing but `missing` is taken for a missing value.

    Raises
    ------
    UserError
        If the file is not such a table.
    """
    import pandas as pd

    if address.endswith(".xls"):
        frame = _read_sheet(files, address, header, missing)
    else:
        try:
            with open_binary(files, address) as stream, warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut
                frame = pd.read_csv(
                    stream,
                    sep=r"\s+" if separator == "whitespace" else separator,
                    skipinitialspace=True,
                    header=header,
                    index_col=False,
                    comment=comment,
                    dtype=str if as_text else None,
                    na_values=list(missing),
                    keep_default_na=False,
                    # Chunks would guess types piece by piece, and warn where the guesses differ.
                    low_memory=False,
                )
        except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise _no_table(address, error) from error
    if columns is not None:
        if frame.shape[1] != len(columns):
            raise UserError(
                f"{address}: rows have {frame.shape[1]} cells, but {len(columns)} columns are named. "
                "Fetch the data set again, or correct `columns` in the data set file."
            )
        frame.columns = list(columns)
    return frame


def concatenate(train: "pd.DataFrame", test: "pd.DataFrame", train_name: str, test_name: str) -> "pd.DataFrame":
    """Put the test rows below the training rows.

    Raises
    ------
    UserError
        If the two tables have other columns.
    """
    import pandas as pd

    if list(train.columns) != list(test.columns):
        raise UserError(
            f"{train_name} and {test_name} do not belong together: they have {train.shape[1]} and {test.shape[1]} "
            "columns, or other names in the header. Fetch the data set again."
        )
    return pd.concat([train, test], ignore_index=True)


def encode(
    frame: "pd.DataFrame", categorical: Sequence[Column], *, where: str, ignored_levels: Sequence[str] = ()
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Turn a data frame into a matrix: numbers as they are, categorical columns one-hot, all in the frame's order.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        The features.
    categorical : sequence of str or int
        Names of the columns to code one-hot, levels sorted. A missing value has 0 in all features of its column.
    where : str
        File name for the error message.
    ignored_levels : sequence of str, default=()
        Levels without a feature of their own.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        The matrix.
    names : tuple of str
        ``column`` for numbers, ``column=level`` for one-hot features.

    Raises
    ------
    UserError
        If a column that is not categorical holds text.
    """
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for name, column in frame.items():
        if name in categorical:
            block, levels = _one_hot(column, ignored_levels)
            names += [f"{name}={level}" for level in levels]
        else:
            block = _numbers(column, where)[:, np.newaxis]
            names.append(str(name))
        blocks.append(block)
    return np.ascontiguousarray(np.hstack(blocks)), tuple(names)


def labels_of(column: "pd.Series", where: str) -> np.ndarray:
    """Return labels as an array: numbers as numbers, anything else as strings.

    Parameters
    ----------
    column : Series
        The target.
    where : str
        File name for the error message.

    Raises
    ------
    UserError
        If a label is missing.
    """
    absent = column.isna().to_numpy()
    if absent.any():
        raise UserError(
            f"{where}: row {int(absent.argmax())} has no value in the target column '{column.name}' "
            f"({int(absent.sum())} such rows). Remove these rows, or name the right target in the data set file."
        )
    if _is_numeric(column):
        return column.to_numpy()
    return column.to_numpy(dtype=object).astype(str)


def _thinned(
    labels: np.ndarray, thinned: Mapping[str, int], where: str, seed: int, *, has_given_test: bool
) -> np.ndarray:
    """Which rows are kept: of the classes named so many, drawn at random, of the others all."""
    if has_given_test:
        raise ConfigError(f"{where}: the option 'thinned' is for one table without a given test part.")
    kept = np.ones(len(labels), bool)
    for label, n_rows in thinned.items():
        rows = np.flatnonzero(labels.astype(str) == label)
        if not 0 < n_rows <= len(rows):
            raise ConfigError(
                f"{where}: the option 'thinned' keeps {n_rows} rows of class '{label}', which has {len(rows)}. "
                "Name a class of the file, and one row or more."
            )
        generator = np.random.default_rng(seed_for("thinned", where, label, seed=seed))
        kept[generator.permutation(rows)[n_rows:]] = False
    return kept


def _read_sheet(files: Mapping[str, Path], name: str, header: int | None, missing: Sequence[str]) -> "pd.DataFrame":
    """First sheet of an .xls file; without pandas' reader, which is about to drop the library that reads it."""
    import pandas as pd
    import xlrd

    with open_binary(files, name) as stream:
        try:
            sheet = xlrd.open_workbook(file_contents=stream.read()).sheet_by_index(0)
        except xlrd.XLRDError as error:
            raise _no_table(name, error) from error
    rows = [sheet.row_values(row) for row in range(sheet.nrows)]
    first, names = (0, None) if header is None else (header + 1, rows[header])
    frame = pd.DataFrame(rows[first:], columns=names)
    return frame.mask(frame.isin(list(missing))).infer_objects()


def _no_table(address: str, error: Exception) -> UserError:
    return UserError(
        f"{address}: not a table as its parser expects it ({str(error).strip()}). "
        "Fetch the data set again, or correct `options` in the data set file."
    )


def _name(frame: "pd.DataFrame", column: Column, where: str) -> Column:
    """Name of a column that is given by name or by position."""
    if isinstance(column, int) and -frame.shape[1] <= column < frame.shape[1]:
        return frame.columns[column]
    if column in frame.columns:
        return column
    names = [str(name) for name in frame.columns]
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    raise ConfigError(
        f"{where} has no column {column!r}; its {len(names)} columns are {shown}. "
        "Correct the options of the data set file."
    )


def _is_numeric(column: "pd.Series") -> bool:
    """Whether pandas found nothing but numbers in the column."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(column)


def _numbers(column: "pd.Series", where: str) -> np.ndarray:
    """The column as float32, or an error that shows the first cell that is no number."""
    import pandas as pd

    if _is_numeric(column):
        return column.to_numpy(dtype=np.float32)
    bad = pd.to_numeric(column, errors="coerce").isna() & column.notna()
    raise UserError(
        f"{where}: column '{column.name}' should hold numbers, but row {int(bad.to_numpy().argmax())} holds "
        f"'{column[bad].iloc[0]}'. List the column under `categorical`, or the value under `missing`, "
        "in the data set file."
    )


def _coded(column: "pd.Series", numbers: Mapping[str, float], where: str) -> "pd.Series":
    """The column with each level replaced by its number."""
    strange = set(column.dropna()) - set(numbers)
    if strange:
        raise UserError(
            f"{where}: the value '{sorted(strange)[0]}' has no code; known are {', '.join(numbers)}. "
            "Add it to `codes` in the data set file."
        )
    return column.map(numbers).astype(float)


def _one_hot(column: "pd.Series", ignored_levels: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Indicators of the column's levels, and the levels' names; a missing value has no indicator set."""
    import pandas as pd

    codes, levels = pd.factorize(column, sort=True)
    names = [_level_name(level) for level in levels]
    block = np.zeros((len(column), len(names)), dtype=np.float32)
    present = np.flatnonzero(codes >= 0)
    block[present, codes[present]] = 1
    kept = [position for position, name in enumerate(names) if name not in ignored_levels]
    return block[:, kept], [names[position] for position in kept]


def _level_name(level: object) -> str:
    """Name of a level; a column of integers with gaps was read as floats, which must not show."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
