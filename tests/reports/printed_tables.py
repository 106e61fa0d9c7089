"""The published numbers as a frame, and as the papers print their tables: for comparison with copies of these."""

from pathlib import Path

import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml
from cascadeforest.reports.numbers import published
from cascadeforest.reports.numbers.frame import KEY

#: How a table writes a mark around the cell's text, and the units that a table prints after the value.
MARKS = {"": "{}", "best": "**{}**", "second": "{} •", "worse": "{} •", "predicted": "**{}**"}
UNITS = {"percent": "%", "°C": "°C", "km/h": " km/h"}
LAYOUTS = "layouts.yaml"


def load_published(experiment_id: str, folder: str | Path) -> pd.DataFrame:
    """Return the numbers of a file; `value` and `std` are float64 (NaN: none printed), beside their printed digits."""
    frame = pd.DataFrame(published.load_published(experiment_id, folder), columns=list(published.COLUMNS), dtype=str)
    frame["value_text"], frame["std_text"] = frame["value"], frame["std"]
    for column in ("value", "std"):
        frame[column] = pd.to_numeric(frame[column].str.replace(",", "")).astype("float64")
    return frame


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
    records = {tuple(row[name] for name in KEY): row for row in published.load_published(experiment_id, folder)}
    lines = [list(cells) for cells in layout["header"]]
    for row in layout["rows"]:
        cells = [_cell(records, layout, row, column) for column in row.get("columns", layout["columns"])]
        if None in cells:
            asks = f"the layout asks for a number that {experiment_id}.csv does not have, and it has no `missing` text"
            raise ConfigError(f"{path}: {experiment_id}, row {row['labels']}: {asks}. Mend either file.")
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
        if record is None or ("{std}" in pattern and not record["std"]):
            continue
        text = pattern.format(value=record["value"], std=record["std"], unit=UNITS.get(record["unit"], ""))
        parts.append(MARKS[record["mark"]].format(text))
    if len(parts) < len(join["over"]):
        return layout.get("missing")
    return join.get("in", "{}").format(join["with"].join(parts))
