"""A user's own CSV: one header row, one target column, numbers and categories."""

import csv
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "?", "NA", "NaN", "nan")  # default of `missing`
MISSING_LEVEL = "(missing)"
FLOAT32_WHOLE, FLOAT64_WHOLE = 2**24, 2**53  # below, every whole number is exact


def read_csv(
    path: str | Path,
    *,
    target: str,
    task: str,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    place: str = "the data set file",
) -> Parsed:
    """Read a CSV with a header row (UTF-8, commas).

    A categorical column becomes one column for each level; a missing value is a level of its own. All other columns are
    numbers; a missing value is NaN. Models read numbers as float32, which rounds decimals. A column with two whole
    numbers that are equal in float32 (dates, seconds, ids) is refused.

    Parameters
    ----------
    path : str or Path
        The CSV.
    target : str
        Column of the label or response.
    task : {'classification', 'regression'}
        What the target is.
    categorical : list of str
        Columns of categories.
    drop : list of str
        Columns to leave out: ids, dates, columns that leak the target.
    missing : list of str
        Texts that stand for a missing value.
    place : str
        Place where `target` and the lists are configured, for messages.

    Returns
    -------
    Parsed
        Data set; `raw_features` is the number of CSV columns that are used.

    Raises
    ------
    UserError
        If the CSV is invalid; the message names file, column, line, value and remedy.
    """
    path = Path(path)
    table = _read_text_table(path)
    for key, listed in (("target", [target]), ("categorical", categorical), ("drop", drop)):
        for name in listed:
            if name not in table.columns:
                raise UserError(
                    f"{place}: {key} names the column '{name}', which {path} does not have; "
                    f"its columns are {', '.join(table.columns)}."
                )
    absent = table.isin([text.strip() for text in missing])
    if absent[target].any():
        raise UserError(
            f"{path}, line {absent[target].idxmax()}: the target '{target}' is missing (in {absent[target].sum()} "
            "rows). Fill it in, or remove these rows."
        )
    y = _target(table[target], task, path, place)
    columns: list[np.ndarray] = []
    names: list[str] = []
    features = [name for name in table.columns if name != target and name not in set(drop)]
    for name in features:
        if name in set(categorical):
            levels = table[name].mask(absent[name], MISSING_LEVEL)
            for level in sorted(levels.unique()):
                columns.append((levels == level).to_numpy(np.float32))
                names.append(f"{name}={level}")
        else:
            columns.append(_numbers(table[name], absent[name], path, place))
            names.append(name)
    if not columns:
        raise UserError(f"{path}: no feature is left beside the target '{target}'. Check drop in {place}.")
    return Parsed(np.column_stack(columns), y, names, raw_features=len(features))


def _read_text_table(path: Path) -> "pd.DataFrame":
    """Every cell as stripped text, indexed by line. Uses the csv module, since pandas guesses and pads silently."""
    import pandas as pd

    rows, lines = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = _checked_header(next(reader, []), path)
            for row in reader:
                if not row:
                    continue  # a blank line
                if len(row) != len(header):
                    raise UserError(
                        f"{path}, line {reader.line_num}: {len(row)} cells, but the header has {len(header)}. "
                        "Put quotes around cells that hold a comma; leave a missing value empty (two commas)."
                    )
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file. Check file: in the data set file, or put the CSV there.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text. Save the CSV as UTF-8.") from error
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not a CSV ({error}). Check the quotes.") from error
    if not rows:
        raise UserError(f"{path}: there is no row below the header. Add the data.")
    return pd.DataFrame(rows, columns=header, index=lines, dtype=object)


def _checked_header(cells: list[str], path: Path) -> list[str]:
    """Column names, checked to be unique."""
    header = [name.strip() for name in cells]
    if not header:
        raise UserError(f"{path}: the file is empty (or its first line is). Write a header row with column names.")
    if "" in header:
        raise UserError(f"{path}: the header row has a column without a name. Name it.")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise UserError(f"{path}: the header row has the column {', '.join(twice)} twice. Name each column once.")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise UserError(f"{path}: the header is one column, '{header[0]}'. Separate the columns by commas.")
    return header


def _target(column: "pd.Series", task: str, path: Path, place: str) -> np.ndarray:
    """Response as numbers; labels as numbers if all are numbers, each written in one way, else as text."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    if np.isfinite(numbers).all():
        if task == "classification":
            texts = column.unique()
            _check_one_way(texts, column, path)
            if numbers.nunique() < len(texts):  # beyond 2**53 numbers would merge classes
                return column.to_numpy(object).astype(str)
        return numbers.to_numpy()
    if task == "regression":
        bad = ~np.isfinite(numbers)
        raise UserError(
            f"{path}, line {bad.idxmax()}: the target '{column.name}' is '{column[bad].iloc[0]}', not a number. "
            f"Correct it, or set task: classification in {place}."
        )
    return column.to_numpy(object).astype(str)


def _check_one_way(labels: np.ndarray, column: "pd.Series", path: Path) -> None:
    """Raise an error if two different labels are the same number: they may be one class or two."""
    written: dict[Decimal, str] = {}
    for text in labels:
        first = written.setdefault(Decimal(text), text)
        if first != text:
            raise UserError(
                f"{path}, line {(column == text).idxmax()}: the target '{column.name}' is '{text}', but the same "
                f"number is written '{first}' in line {(column == first).idxmax()}. Write labels of one class the "
                "same way; if they are different classes, put a letter before each."
            )


def _numbers(column: "pd.Series", absent: "pd.Series", path: Path, place: str) -> np.ndarray:
    """One numeric column, with NaN for missing values."""
    import pandas as pd

    numbers = pd.to_numeric(column.mask(absent), errors="coerce").astype(np.float64)
    bad = ~absent & ~np.isfinite(numbers)
    if bad.any():
        raise UserError(
            f"{path}, line {bad.idxmax()}: the column '{column.name}' has '{column[bad].iloc[0]}', not a finite "
            f"number. In {place}, add '{column.name}' to categorical, or to drop, or add the text to missing."
        )
    if absent.all():
        raise UserError(f"{path}: every value of the column '{column.name}' is missing. Add it to drop in {place}.")
    _check_float32(column[~absent], numbers[~absent].to_numpy(), path, place)
    return numbers.to_numpy()


def _check_float32(column: "pd.Series", numbers: np.ndarray, path: Path, place: str) -> None:
    """Refuse a column in which two whole numbers are one in float32, which `build_dataset` stores.

    Decimals that differ in later digits only may merge, and so may numbers of 2**53 and more that are not written out
    in digits: these are measurements, not dates or ids.
    """
    size = np.abs(numbers)
    suspect = (size >= FLOAT32_WHOLE) & (numbers == np.rint(numbers)) & (size < np.finfo(np.float32).max)
    written: dict[np.float32, tuple[Decimal, str]] = {}
    for text in column[suspect].unique():
        exact = Decimal(text)
        if abs(exact) >= FLOAT64_WHOLE and not text.lstrip("+-").isdigit():
            continue
        first, first_text = written.setdefault(np.float32(float(text)), (exact, text))
        if first != exact:
            raise UserError(
                f"{path}, lines {(column == first_text).idxmax()} and {(column == text).idxmax()}: the column "
                f"'{column.name}' has '{first_text}' and '{text}', which are one number in float32, the precision of "
                f"the models. In {place}, add '{column.name}' to drop or to categorical, or rescale it in the CSV, "
                "for example subtract an offset."
            )
