"""Predictions as sums of contributions, at some test rows: of classes by points, of a target by features.

interp-table2 shows the test rows nearest to points, interp-table6 the test rows of days.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Row, Table, common_places, feature_words, mean_text, numbered_lines
from cascadeforest.reports.numbers.frame import Found, TidyRow

EXTRA = "contributions"
BIAS, CONTRIBUTION, PREDICTION, VALUE, TARGET = "bias", "contribution", "prediction", "feature_value", "target"
OF_DATA = (VALUE, TARGET)


@dataclass(frozen=True)
class Unit:
    """How a stored value becomes the shown one: `times` a factor, then `add` a number."""

    times: float = 1
    add: float = 0


@dataclass(frozen=True)
class Options:
    """Options of the experiment: either `points`, places of the first two features, or `rows`, days as in 2011/12/7.

    By data set: the day of its first row, names of features, units of features. In data without days the first test
    rows are shown, as many as there are days.
    """

    points: tuple[tuple[float, float], ...] = ()
    rows: tuple[str, ...] = ()
    first_days: dict[str, str] = field(default_factory=dict)
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)
    units: dict[str, dict[str, Unit]] = field(default_factory=dict)


def render(cells: Cells) -> Table:
    """Make the table."""
    cells.need(EXTRA)
    experiment, options = cells.experiment, cells.options(Options)
    if bool(options.points) == bool(options.rows):
        raise ConfigError(f"{experiment.place}/options are {sorted(experiment.options)}; give 'points' or 'rows'.")
    for day in (*options.rows, *options.first_days.values()):
        try:
            day_number(day, day)
        except (TypeError, ValueError):
            place = f"{experiment.place}/options/rows (or first_days)"
            raise ConfigError(f"{place} has '{day}'; write days as in 2011/12/7.") from None
    ran = {pair: arrays for pair in cells.pairs if (arrays := cells.first_arrays(*pair, EXTRA))}
    shown = {pair: _shown(cells, pair[0], arrays, options) for pair, arrays in ran.items()}
    found = {pair: _rows(cells, *pair, shown.get(pair, {}), options) for pair in cells.pairs}
    # Values of features are facts about the data: once, whatever the number of models.
    rows = {row.key: row for own in found.values() for row in own.values()}
    by_class = not any(row.metric == TARGET for row in rows.values())
    if not by_class and any(", class " in row.condition for row in rows.values()):
        raise ConfigError(f"{experiment.place}/datasets has classifications and regressions; give each its own table.")
    heads = ["value", CONTRIBUTION]
    if by_class:
        features = _features(cells, next(iter(ran))[0], next(iter(ran.values())), options) if ran else []
        heads = [BIAS, *(f"contribution of {feature_words(name)}" for name in features), PREDICTION]
    lines = [line for pair, own in found.items() for line in _lines(cells, *pair, own, by_class, len(heads))]
    places = [
        (cells.name(*pair), name, [f"{value:.4g}" for value in ran[pair]["X_test"][at, :2]])
        for pair, own in shown.items()
        for name, at in own.items()
    ]
    without_days = dict.fromkeys(dataset for dataset, _ in ran if experiment.base(dataset) not in options.first_days)
    told = dict(points=options.points, places=places, without_days=list(without_days))
    label_heads = (*cells.label_heads, "point" if options.points else "row", "class" if by_class else "feature")
    return Table.of(cells, told, rows.values(), label_heads, heads, lines, "repeats")


def nearest(X: np.ndarray, point: Iterable[float]) -> int:
    """Return the row that is nearest to a point in the first features; the first of equal ones."""
    place = np.asarray(list(point), np.float64)
    return int(((X[:, : len(place)].astype(np.float64) - place) ** 2).sum(axis=1).argmin())


def day_number(day: str, first: str) -> int:
    """Return the days from one day to another, both written as 2011/12/7."""
    end, start = (date(*map(int, text.split("/"))) for text in (day, first))
    return (end - start).days


def _shown(cells: Cells, dataset: str, arrays: Mapping[str, np.ndarray], options: Options) -> dict[str, int]:
    """Return the names of the rows that are shown, and their places among the test rows of the first repeat."""
    rows, base = arrays["rows"].tolist(), cells.experiment.base(dataset)
    if options.points:
        return {f"point ({x:g}, {y:g})": nearest(arrays["X_test"], (x, y)) for x, y in options.points}
    if base not in options.first_days:
        return {f"row {row}": at for at, row in enumerate(rows[: len(options.rows)])}
    numbers = {day: day_number(day, options.first_days[base]) for day in options.rows}
    for day, number in numbers.items():
        if number not in rows:
            lacking = f"which is no test row of the first repeat of {dataset} (row {number})"
            raise ConfigError(f"{cells.experiment.place}/options/rows has {day}, {lacking}; choose another day.")
    return {f"day {day}": rows.index(number) for day, number in numbers.items()}


def _features(cells: Cells, dataset: str, arrays: Mapping[str, np.ndarray], options: Options) -> list[str]:
    """Return the columns of the contributions as the published file calls them."""
    n_columns, n_features = arrays["contributions"].shape[2], int(arrays["n_features"])
    names = [f"feature {name}" for name in cells.feature_names(dataset, options.features, n_features)]
    return names if n_columns == n_features else [*names[: n_columns - 1], "other features"]


def _rows(cells: Cells, dataset: str, column: str, shown: Mapping[str, int], options: Options) -> Found:
    runs = cells.arrays(dataset, column, EXTRA)
    if not runs:
        return {("", PREDICTION): cells.row(dataset, column, "", PREDICTION, None)}
    first, features = runs[0], _features(cells, dataset, runs[0], options)
    n_outputs, units = first["predictions"].shape[2], options.units.get(cells.experiment.base(dataset), {})
    values: dict[tuple[str, str], list[float]] = {}
    for name, at in shown.items():
        # Where each repeat splits anew, a row is a test row of some repeats only.
        own = [(run, k) for run in runs for k in np.flatnonzero(run["rows"] == first["rows"][at])]
        for c in range(n_outputs):
            place = name if n_outputs == 1 else f"{name}, class {cells.class_name(dataset, c)}"
            values[place, BIAS] = [run["bias"][-1, c] for run, _ in own]
            for j, feature in enumerate(features):
                values[f"{place}, {feature}", CONTRIBUTION] = [run["contributions"][-1, k, j, c] for run, k in own]
            values[place, PREDICTION] = [run["predictions"][-1, k, c] for run, k in own]
        for feature, value in zip(features, first["X_test"][at], strict=False) if n_outputs == 1 else ():
            unit = units.get(feature.removeprefix("feature "), Unit())
            # Features are stored in single precision: more digits would mean nothing.
            values[f"{name}, {feature}", VALUE] = [float(f"{float(value) * unit.times + unit.add:.6g}")]
        if n_outputs == 1:
            values[name, TARGET] = [float(first["y_test"][at])]
    return {key: cells.row(dataset, column, *key, own, of_data=key[1] in OF_DATA) for key, own in values.items()}


def _lines(cells: Cells, dataset: str, column: str, found: Found, by_class: bool, n_heads: int) -> Iterable[Row]:
    places = common_places(row.mean for row in found.values() if row.metric == CONTRIBUTION)

    def lines(labels: tuple[str, ...], rows: list[TidyRow | None], n: int | None) -> Iterable[Row]:
        def text(row: TidyRow) -> str:
            return f"{row.mean:.4g}".replace("-", "−") if row.metric in OF_DATA else mean_text(row, places)

        return numbered_lines(cells, (*cells.labels(dataset, column), *labels), rows, f"{n or ''}", text)

    if ("", PREDICTION) in found:
        yield from lines(("", ""), [found["", PREDICTION]] * n_heads, None)
        return
    predictions = {place: row for (place, metric), row in found.items() if metric == PREDICTION}
    for place, row in predictions.items():
        if by_class:
            name, _, _ = place.rpartition(", class ")
            rows = [one for (other, _), one in found.items() if other == place or other.startswith(f"{place}, ")]
            best = max(one.mean or 0.0 for other, one in predictions.items() if other.startswith(f"{name}, class "))
            mark = "predicted" if row.mean == best else ""
            yield from lines((name, place.removeprefix(f"{name}, ")), [replace(one, mark=mark) for one in rows], row.n)
            continue
        yield from lines((place, BIAS), [None, found[place, BIAS]], row.n)
        for (other, metric), one in found.items():
            if metric == CONTRIBUTION and other.startswith(f"{place}, "):
                label = feature_words(other.removeprefix(f"{place}, "))
                yield from lines((place, label), [found.get((other, VALUE)), one], row.n)
        yield from lines((place, "prediction; its value: the target"), [found[place, TARGET], row], row.n)
