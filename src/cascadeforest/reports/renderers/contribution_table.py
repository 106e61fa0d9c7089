"""Predictions as sums of contributions, at some test rows: of classes by points, of a target by features.

``options: {points: [[0, 1], ...]}`` names places of the first features; the nearest test row is shown (interp-table2).
``options: {rows: [2011/12/7, ...]}`` names days (interp-table6), where ``first_days: {<data set>: 2011/1/1}`` says
which day the first row of the data is; in data without days the first test rows are shown, as many. ``features``
names features by data set, ``units: {<data set>: {<feature>: {times: 41, add: 0}}}`` turns stored values into shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.every_repeat import MEANS, EveryRepeat, common_places, mean_text
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    import numpy as np

EXTRA = "contributions"
BIAS, CONTRIBUTION, PREDICTION, VALUE, TARGET = "bias", "contribution", "prediction", "feature_value", "target"
_DAYS_TO_COME = "is no test row of the first repeat"


@dataclass(frozen=True)
class Shown:
    """A test row that is shown.

    Parameters
    ----------
    name : str
        As the published file calls it.
    number : int
        Of the row in the data set.
    place : tuple of float
        Its first two features.
    """

    name: str
    number: int
    place: tuple[float, float]


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make the table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan; its option `points` or `rows` says which test rows are shown.
    results : Results
        Its cells and the arrays that they saved under `EXTRA`.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        If the options name neither points nor rows, or rows that are no test rows; if cells do not save the arrays.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


def nearest(X: np.ndarray, point: Iterable[float]) -> int:
    """Row that is nearest to a point in the first features; the first of equal ones.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Rows.
    point : iterable of float
        Values of the first features.

    Returns
    -------
    int
    """
    import numpy as np

    point = np.asarray(list(point), np.float64)
    return int(((X[:, : len(point)].astype(np.float64) - point) ** 2).sum(axis=1).argmin())


def day_number(day: str, first: str) -> int:
    """Days from one day to another, both written as 2011/12/7."""
    return (_date(day) - _date(first)).days


def _date(text: str) -> date:
    return date(*map(int, str(text).split("/")))


class _Renderer:
    """Everything about one table."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.all = EveryRepeat(experiment, results, [EXTRA])
        self.points, self.days = self._checked_options()
        self.arrays = {pair: self.all.arrays(*pair, EXTRA) for pair in self.all.first.pairs}
        self.shown = {pair: self._shown(*pair) for pair in self.all.first.pairs}
        self.rows = {row.key: row for pair in self.all.first.pairs for row in self._rows(*pair)}

    def _checked_options(self) -> tuple[list[list[float]] | None, list[str] | None]:
        options, place = self.experiment["options"], self.all.first.place
        points, days = options.get("points"), options.get("rows")
        if (points is None) == (days is None):
            raise ConfigError(f"{place}/options are {sorted(options)}; give 'points' or 'rows', not both.")
        if points is not None and not (
            isinstance(points, list) and all(isinstance(p, list) and len(p) == 2 for p in points)
        ):
            raise ConfigError(f"{place}/options/points is {points!r}; give a list of pairs, as in [[0, 1], [1, 1]].")
        if days is not None:
            try:
                _ = [_date(day) for day in [*days, *options.get("first_days", {}).values()]]
            except (TypeError, ValueError):
                raise ConfigError(
                    f"{place}/options/rows is {days!r}; give a list of days, as in [2011/12/7] (first_days too)."
                ) from None
        return points, days

    # Numbers ------------------------------------------------------------------------------------------------------

    def _base(self, dataset: str) -> str:
        return self.experiment["published_as"].get(dataset, dataset)

    def _shown(self, dataset: str, column: str) -> list[Shown]:
        """Rows of the table: test rows of the first repeat."""
        arrays = self.arrays[dataset, column]
        if not arrays:
            return []
        X, rows = arrays[0]["X_test"], arrays[0]["rows"]
        if self.points is not None:
            found = {f"point ({x:g}, {y:g})": nearest(X, (x, y)) for x, y in self.points}
        elif (first := self.experiment["options"].get("first_days", {}).get(self._base(dataset))) is None:
            found = {f"row {rows[at]}": at for at in range(min(len(self.days), len(rows)))}
        else:
            places = {int(row): at for at, row in enumerate(rows)}
            found = {}
            for day in self.days:
                if (number := day_number(day, first)) not in places:
                    raise ConfigError(
                        f"{self.all.first.place}/options/rows has {day}, which {_DAYS_TO_COME} of {dataset} (row "
                        f"{number}); choose another day."
                    )
                found[f"day {day}"] = places[number]
        return [Shown(name, int(rows[at]), tuple(map(float, X[at, :2]))) for name, at in found.items()]

    def _rows(self, dataset: str, column: str) -> Iterable[TidyRow]:
        if not (arrays := self.arrays[dataset, column]):
            yield self.all.row(dataset, column, "", PREDICTION, [])
            return
        for shown in self.shown[dataset, column]:
            # Where each repeat splits anew, a row is a test row of some of them only.
            found = [(one, int(at)) for one in arrays for at in (one["rows"] == shown.number).nonzero()[0]]
            for c, output in enumerate(self._outputs(dataset, column)):
                parts = [shown.name, output] if output else [shown.name]
                yield self._row(dataset, column, parts, BIAS, [one["bias"][-1, c] for one, _ in found])
                for k, feature in enumerate(self._features(dataset, column)):
                    values = [one["contributions"][-1, at, k, c] for one, at in found]
                    yield self._row(dataset, column, [*parts, feature], CONTRIBUTION, values)
                values = [one["predictions"][-1, at, c] for one, at in found]
                yield self._row(dataset, column, parts, PREDICTION, values)
            if self._is_regression(dataset, column):
                one, at = found[0]
                for k, feature in enumerate(self._features(dataset, column)[: one["X_test"].shape[1]]):
                    value = self._in_unit(dataset, feature.removeprefix("feature "), float(one["X_test"][at, k]))
                    yield self._row(dataset, column, [shown.name, feature], VALUE, [value], of_data=True)
                yield self._row(dataset, column, [shown.name], TARGET, [float(one["y_test"][at])], of_data=True)

    def _row(
        self, dataset: str, column: str, condition: list[str], metric: str, values: Iterable[Any], of_data: bool = False
    ) -> TidyRow:
        return self.all.row(dataset, column, ", ".join(condition), metric, list(map(float, values)), of_data=of_data)

    def _is_regression(self, dataset: str, column: str) -> bool:
        return self.arrays[dataset, column][0]["predictions"].shape[2] == 1

    def _outputs(self, dataset: str, column: str) -> list[str]:
        """Classes as the published file calls them; of a regression one of no name."""
        n_outputs = self.arrays[dataset, column][0]["predictions"].shape[2]
        if n_outputs == 1:
            return [""]
        names = self.results.summaries.get(dataset, {}).get("class_names") or map(str, range(n_outputs))
        return [f"class {name}" for name in names]

    def _features(self, dataset: str, column: str) -> list[str]:
        """Columns of the contributions as the published file calls them."""
        first = self.arrays[dataset, column][0]
        n_columns, n_features = first["contributions"].shape[2], int(first["n_features"])
        names = [f"feature {name}" for name in self.all.feature_names(dataset, n_features)]
        if n_columns == n_features:
            return names
        return [*names[: n_columns - 1], "other features"]

    def _in_unit(self, dataset: str, feature: str, value: float) -> float:
        unit = self.experiment["options"].get("units", {}).get(self._base(dataset), {}).get(feature, {})
        # Features are stored in single precision: more digits would be of no meaning.
        return float(f"{value * unit.get('times', 1) + unit.get('add', 0):.6g}")

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        drawn = [pair for pair in self.all.first.pairs if self.arrays[pair]]
        by_class = not any(self._is_regression(*pair) for pair in drawn)
        if by_class:
            columns = self._features(*drawn[0]) if drawn else []
            heads = [BIAS, *(f"contribution of {_words(name)}" for name in columns), PREDICTION]
        else:
            heads = ["value", CONTRIBUTION]
        if not by_class and any(not self._is_regression(*pair) for pair in drawn):
            raise ConfigError(
                f"{self.all.first.place}/datasets has classifications and regressions; give each a table of its own."
            )
        lines = [line for pair in self.all.first.pairs for line in self._lines(*pair, by_class, len(heads))]
        where = "point" if self.points is not None else "row"
        label_heads, lines = without_source(
            (*self.all.first.label_heads, where, "class" if by_class else "feature", ""), lines
        )
        view = self.all.view(label_heads, heads, "runs", lines, self._notes())
        return Table(tuple(self.rows.values()), view)

    def _lines(self, dataset: str, column: str, by_class: bool, n_heads: int) -> Iterable[Row]:
        labels = self.all.first.labels(dataset, column)
        if not self.arrays[dataset, column]:
            reason = Cell(self.all.first.reason(dataset, column), is_word=True)
            yield Row((*labels, "", "", REPRODUCED), (reason,) * n_heads, REPRODUCED)
            return
        own = [row for key, row in self.rows.items() if key[:2] == (dataset, column) and row.metric == CONTRIBUTION]
        places = common_places(row.mean for row in own)
        for shown in self.shown[dataset, column]:
            rows = self._class_rows if by_class else self._feature_rows
            for label, keys, mark in rows(dataset, column, shown):
                found = [self.rows.get((dataset, *key)) for key in keys]
                size = next((f"{row.n}" for row in reversed(found) if row and row.metric != VALUE), "")
                cells = tuple(_cell(row, places, mark) for row in found)
                yield Row((*labels, shown.name, label, REPRODUCED), cells, REPRODUCED, size)
                printed = [self._printed(dataset, row) for row in found]
                if any(cell.text and not cell.is_word for cell in printed):
                    yield Row((*labels, shown.name, label, PUBLISHED), tuple(printed), PUBLISHED)

    def _class_rows(
        self, dataset: str, column: str, shown: Shown
    ) -> Iterable[tuple[str, list[tuple[str, str, str]], str]]:
        """Label, keys of the cells and mark of each class's line."""
        outputs = self._outputs(dataset, column)
        chances = [self.rows[dataset, column, f"{shown.name}, {output}", PREDICTION].mean for output in outputs]
        for output, chance in zip(outputs, chances, strict=True):
            condition = f"{shown.name}, {output}"
            keys = [(column, condition, BIAS)]
            keys += [(column, f"{condition}, {name}", CONTRIBUTION) for name in self._features(dataset, column)]
            yield output, [*keys, (column, condition, PREDICTION)], "predicted" if chance == max(chances) else ""

    def _feature_rows(
        self, dataset: str, column: str, shown: Shown
    ) -> Iterable[tuple[str, list[tuple[str, str, str]], str]]:
        """Label, keys of the cells and mark of each feature's line, between those of bias and prediction."""
        yield BIAS, [("", "", ""), (column, shown.name, BIAS)], ""
        for name in self._features(dataset, column):
            condition = f"{shown.name}, {name}"
            yield _words(name), [("", condition, VALUE), (column, condition, CONTRIBUTION)], ""
        yield "prediction; its value: the target", [("", shown.name, TARGET), (column, shown.name, PREDICTION)], ""

    def _printed(self, dataset: str, row: TidyRow | None) -> Cell:
        if row is None:
            return Cell("")
        number = self.all.first.published.number(dataset, row.model, row.metric, row.condition)
        if number is None:
            return Cell(NOT_PRINTED, is_word=True)
        # Values of features are written without a thousands comma: one is a year.
        text = f"{number.value:f}" if row.metric == VALUE else printed_text(row.metric, number.value, None)
        return Cell(text.replace("-", "−"), number.mark)

    def _notes(self) -> Iterable[str]:
        yield (
            f"Contributions at the last layer: bias and contributions of all features add up to the prediction. {MEANS}"
        )
        if self.points is not None:
            for pair, rows in self.shown.items():
                name = self.all.first.name(*pair)
                for one in rows:
                    x, y = (f"{value:.4g}" for value in one.place)
                    if one.name != f"point ({x}, {y})":
                        yield f"{name}: {one.name} is shown by the nearest test row, ({x}, {y})."
            yield "Bold: the class of the largest probability."
            return
        without = {dataset for (dataset, _), rows in self.shown.items() if rows and rows[0].name.startswith("row ")}
        for dataset in self.experiment["datasets"]:
            if dataset in without:
                yield (
                    f"{dataset} has no days: shown are the first test rows of the first repeat, by "
                    "their number in the data set; where each repeat draws its test rows anew, means are over the "
                    "repeats that have the row among them."
                )


def _words(name: str) -> str:
    """A feature as the published file calls it, in words."""
    return name.removeprefix("feature ").replace("_", " ")


def _cell(row: TidyRow | None, places: int, mark: str) -> Cell:
    if row is None:
        return Cell("")
    if row.mean is None:
        return Cell(row.note or row.status, is_word=True)
    if row.metric in (VALUE, TARGET):
        return Cell(f"{row.mean:.4g}".replace("-", "−"))
    return Cell(mean_text(row, places), mark)
