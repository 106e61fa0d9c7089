"""A user's own CSV: one header row, one target column, numbers and categories."""

import csv
from pathlib import Path

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed

MISSING = ("", "?", "NA", "NaN", "nan")  # default of `missing`
MISSING_LEVEL = "(missing)"


def read_csv(
    path: str | Path,
    *,
    target: str,
    task: str,
    categorical: list[str] | tuple[str, ...] = (),
    drop: list[str] | tuple[str, ...] = (),
    missing: list[str] | tuple[str, ...] = MISSING,
    place: str = "the data set file",
) -> Parsed:
    """Read a CSV with a header row (UTF-8, commas).

    Categorical columns become one column for each level, a missing value being a level of its own; all others are
    numbers, a missing value being NaN.

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
        Columns to leave out: ids, dates, what leaks the target.
    missing : list of str
        Texts that stand for a missing value.
    place : str
        Where `target` and the lists are written, for messages.

    Returns
    -------
    Parsed
        `raw_features` counts the columns of the CSV that are used.

    Raises
    ------
    UserError
        Names file, column, line and value, and the remedy.
    """
    path = Path(path)
    table = _read_text_table(path)
    for key, names in (("target", [target]), ("categorical", categorical), ("drop", drop)):
        for name in names:
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


def _read_text_table(path: Path):
    """Every cell as stripped text, indexed by its line. The csv module, since pandas guesses and pads in silence."""
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
    """Column names, each of them once."""
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


def _target(column, task: str, path: Path, place: str) -> np.ndarray:
    """Labels as numbers if all are numbers (so that '1' and '1.0' are one class), else as text."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all() and np.isfinite(numbers).all():
        return numbers.to_numpy(np.float64)
    if task == "regression":
        bad = ~np.isfinite(numbers)
        raise UserError(
            f"{path}, line {bad.idxmax()}: the target '{column.name}' is '{column[bad].iloc[0]}', not a number. "
            f"Correct it, or set task: classification in {place}."
        )
    return column.to_numpy(object).astype(str)


def _numbers(column, absent, path: Path, place: str) -> np.ndarray:
    """One numeric column, NaN where missing."""
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
    return numbers.to_numpy()
