"""The papers' printed numbers: loaded as a typed table, and rendered back in the paper's own layout.

The numbers are transcribed once, in ``reports/published/<experiment>.csv``; ``README.md`` there defines the columns and
lists the slips of the papers. Nothing is corrected or converted here: a value means what its unit says.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml

COLUMNS = ("dataset", "model", "condition", "metric", "value", "std", "mark", "note", "unit")
#: One number per combination of these.
KEY = ("dataset", "model", "condition", "metric")
#: What a table marks, and how `render_printed` writes it around the cell's text.
MARKS = {"": "{}", "best": "**{}**", "second": "{} •", "worse": "{} •", "predicted": "**{}**"}
#: Units, and what a table that prints the unit writes after the value.
UNITS = {"percent": "%"}
UNITS |= dict.fromkeys(("percent points", "fraction", "seconds", "MB", "count", "thousands", "ratio", "rank"), "")
UNITS |= {"target units": "", "rentals": "", "°C": "°C", "km/h": " km/h", "year": "", "flag": ""}
LAYOUTS = "layouts.yaml"
# Digits as printed: an optional sign, optional thousands commas, an optional fraction.
_NUMBER = re.compile(r"-?\d{1,3}(,\d{3})+|-?\d+(\.\d+)?")


def available(folder: str | Path) -> tuple[str, ...]:
    """Return the ids of the experiments for which the papers give numbers, sorted."""
    return tuple(sorted(path.stem for path in Path(folder).glob("[!.]*.csv")))


def load_published(experiment_id: str, folder: str | Path) -> pd.DataFrame:
    """Load every number that a paper gives for one table or figure, one row each, in printed order.

    To `COLUMNS`, of which `value` and `std` are float64 in the unit of the row (NaN: none printed) and the others text
    (``""``: does not apply), come `value_text` and `std_text`, the digits as printed. `ConfigError` if the papers give
    no numbers for this id, or the file breaks a rule of its README.
    """
    path = Path(folder) / f"{experiment_id}.csv"
    if not path.is_file():
        known = ", ".join(available(folder)) or "none"
        raise ConfigError(f"{path}: there are no published numbers for '{experiment_id}'; there are some for: {known}.")
    # Not pandas' reader: it takes a row with one cell too many for a row with an index, and shifts every column.
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    _validate(header, rows, path)
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=str)
    frame["value_text"], frame["std_text"] = frame["value"], frame["std"]
    for column in ("value", "std"):
        frame[column] = pd.to_numeric(frame[column].str.replace(",", "")).astype("float64")
    return frame


def _validate(header: list[str], rows: list[list[str]], path: Path) -> None:
    """Raise ConfigError at the first row that breaks a rule of the README."""
    if tuple(header) != COLUMNS:
        raise ConfigError(f"{path}: the columns are {', '.join(header)}; they must be {', '.join(COLUMNS)}.")
    seen: dict[tuple[str, ...], int] = {}
    for line, cells in enumerate(rows, start=2):
        place = f"{path}, line {line}"
        if len(cells) != len(COLUMNS):
            raise ConfigError(f"{place}: {len(cells)} cells; write {len(COLUMNS)}, and quote a cell with a comma.")
        row = dict(zip(COLUMNS, cells, strict=True))
        if not _NUMBER.fullmatch(row["value"]):
            raise ConfigError(f"{place}: value is '{row['value']}'; write the printed digits, the unit goes to `unit`.")
        if row["std"] and not _NUMBER.fullmatch(row["std"]):
            raise ConfigError(f"{place}: std is '{row['std']}'; write the printed digits, or nothing.")
        if row["mark"] not in MARKS:
            marks = ", ".join(mark for mark in MARKS if mark)
            raise ConfigError(f"{place}: mark is '{row['mark']}'; choose one of {marks}, or leave it empty.")
        if row["unit"] not in UNITS:
            raise ConfigError(f"{place}: unit is '{row['unit']}'; choose one of {', '.join(UNITS)}.")
        key = tuple(row[column] for column in KEY)
        if key in seen:
            same = f"{', '.join(KEY)} are those of line {seen[key]} ({', '.join(key)})"
            raise ConfigError(f"{place}: {same}; tell the two numbers apart by `condition`.")
        seen[key] = line


def printed_tables(folder: str | Path) -> tuple[str, ...]:
    """Return the ids of the tables that `render_printed` can render, in the order of the layout file."""
    return tuple(read_yaml(Path(folder) / LAYOUTS))


def render_printed(experiment_id: str, folder: str | Path) -> str:
    """Render a table from its published numbers as the paper prints it, headers first, cells separated by ``" | "``.

    Row and column order, labels, decimals, ``±`` and bullets are those of the paper, bold is ``**...**``. `ConfigError`
    if the id has no layout (it is a figure, or unknown), or the layout asks for a number that is not there.
    """
    path = Path(folder) / LAYOUTS
    layouts = read_yaml(path)
    if experiment_id not in layouts:
        raise ConfigError(f"{path}: '{experiment_id}' is no printed table; choose one of {', '.join(layouts)}.")
    layout = layouts[experiment_id]
    numbers = load_published(experiment_id, folder).to_dict("records")
    records = {tuple(row[column] for column in KEY): row for row in numbers}
    lines = [list(cells) for cells in layout["header"]]
    for row in layout["rows"]:
        cells = [_cell(records, layout, row, column) for column in row.get("columns", layout["columns"])]
        if None in cells:
            raise ConfigError(
                f"{path}: {experiment_id}, row {row['labels']}: the layout asks for a number that "
                f"{experiment_id}.csv does not have, and the layout has no `missing` text. Mend either file."
            )
        lines.append([*row["labels"], *cells])
    return "\n".join(" | ".join(cells).strip() for cells in lines)


def _cell(records: dict[tuple[str, ...], dict], layout: dict, row: dict, column: dict) -> str | None:
    """Text of one cell; the layout's `missing` (None if it has none) where the paper prints no number."""
    pattern = column.get("cell", row.get("cell", layout.get("cell", "{value}")))
    join = row.get("join", layout.get("join", {"over": [{}], "with": ""}))
    parts = []
    for item in join["over"]:
        # The more special selection wins, and conditions add up: "point (0, 1)" + "class 1" + "feature x1".
        chosen = {"dataset": "", "model": "", "metric": "", **row, **item, **column}
        chosen["condition"] = ", ".join(s["condition"] for s in (row, item, column) if "condition" in s)
        record = records.get(tuple(chosen[name] for name in KEY))
        if record is None or ("{std}" in pattern and not record["std_text"]):
            continue
        text = pattern.format(value=record["value_text"], std=record["std_text"], unit=UNITS[record["unit"]])
        parts.append(MARKS[record["mark"]].format(text))
    if len(parts) < len(join["over"]):
        return layout.get("missing")
    return join.get("in", "{}").format(join["with"].join(parts))
