"""What models of two features predict everywhere (ddbf-fig6): a row of panels for each model, with the rows of data."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cascadeforest.reports.drawing import Cells, Pair, Table, TidyRow, number, numbered_lines, panels, published_text
from cascadeforest.reports.drawing.panels import Axis, Look, Panel, Part

EXTRA = "decision_grid"
ACCURACY, SHARE = "accuracy", "region_share"
PARTS = {"train": "training rows", "test": "test rows"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: names of the two features."""

    features: tuple[str, str] = ("feature 1", "feature 2")


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    rows = {row.key[:3]: row for row in _facts(cells)}
    heads = [f"accuracy on {part} (%)" for part in PARTS.values()]
    lines = []
    for pair in cells.pairs:
        whole, first = ([rows[*pair, part + which] for part in PARTS] for which in ("", ", first repeat"))
        n, size = whole[0].n or 0, " + ".join(f"{row.n_test:,}" for row in first if row.n_test)
        lines.extend(numbered_lines(cells, (*cells.labels(*pair), f"all {n}" if n else ""), whole, size))
        lines.extend(numbered_lines(cells, (*cells.labels(*pair), "first, drawn"), first, size) if n > 1 else [])
    picture = panels.Picture([_part(cells, pair) for pair in cells.pairs], legend=True)
    label_heads, size = (*cells.label_heads, "repeats"), "training and test rows"
    return Table.of(cells, {}, rows.values(), label_heads, heads, lines, size, picture, _drawn(cells))


def _classes(cells: Cells, pair: Pair) -> dict[int, str]:
    """Return code and name of each class that rows have or are predicted as, or that the grid shows."""
    arrays = cells.first_arrays(*pair, EXTRA)
    codes = {int(code) for name in arrays if name.startswith(("y_", "predicted")) for code in arrays[name].flat}
    return {code: cells.class_name(pair[0], code) for code in sorted(codes)}


def _facts(cells: Cells) -> Iterable[TidyRow]:
    """Yield the accuracy on training and on test rows, over all repeats and in the first repeat."""
    for pair in cells.pairs:
        repeats = cells.arrays(*pair, EXTRA)
        for part in PARTS:
            right = [arrays[f"predicted_{part}"] == arrays[f"y_{part}"] for arrays in repeats]
            for condition, shown in ((part, right), (f"{part}, first repeat", right[:1])):
                values, n = [float(one.mean()) for one in shown], min(map(len, shown), default=None)
                yield cells.row(*pair, condition, ACCURACY, values, n_test=n)


def _drawn(cells: Cells) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: each class's share of the plane, and each row of data."""
    for pair in cells.pairs:
        arrays, names = cells.first_arrays(*pair, EXTRA), _classes(cells, pair)
        if not arrays:
            yield cells.row(*pair, "", SHARE, None)
        for code, name in names.items():
            yield cells.row(*pair, f"class {name}", SHARE, float((arrays["predicted"] == code).mean()))
        for part in PARTS if arrays else ():
            rows = zip(*(arrays[f"{name}_{part}"] for name in ("X", "y", "predicted")), strict=True)
            for k, (place, code, predicted) in enumerate(rows, start=1):
                # Features are stored in single precision: more digits would be of no meaning.
                values = {f"feature_{i}": float(f"{value:.7g}") for i, value in enumerate(place, start=1)}
                for metric, value in (values | {"predicted_right": float(code == predicted)}).items():
                    yield cells.row(*pair, f"{part}, row {k}, class {names[int(code)]}", metric, value)


def _part(cells: Cells, pair: Pair) -> Part:
    """The panels of one model: the same regions with training and with test rows."""
    if not (arrays := cells.first_arrays(*pair, EXTRA)):
        return Part(title=cells.name(*pair), words=cells.reason(*pair))
    names = _classes(cells, pair)
    # Colours of the classes, paler where the model is less sure.
    codes, strength = range(arrays["predicted"].max() + 1), 0.34 * arrays["confidence"][:, :, None]
    colours = np.array([list(bytes.fromhex(panels.look(code).colour.removeprefix("#"))) for code in codes]) / 255
    shades = 1 - strength + strength * colours[arrays["predicted"]]
    regions = panels.squares(shades, arrays["x"], arrays["y"], equal=False)
    edges = panels.borders(arrays["predicted"], arrays["x"], arrays["y"])
    x, y = map(Axis, cells.options(Options).features)
    shown = []
    for part, kind in PARTS.items():
        X, true, predicted = (arrays[f"{name}_{part}"] for name in ("X", "y", "predicted"))
        x_wrong, y_wrong = X[true != predicted].T
        ring = panels.points(x_wrong, y_wrong, Look(panels.BLACK), "predicted as another class", 8.5, ring=True)
        row = cells.row(*pair, part, ACCURACY, float((true == predicted).mean()))
        title = f"{kind}: {number(row)}{published_text(cells, row)}"
        shown.append(Panel([regions, edges, *panels.class_points(X, true, names, 4.0), ring], title, x, y))
    return Part([shown], title=cells.name(*pair), shared=True)
