"""Accuracy while one class grows rare in training (ddbf-fig4): a curve a model, and the recall of that class beside it.

Variants of one data set that drop more and more training rows of a class are one series; the variant without
``+imbalance`` is its ratio 0. Accuracy hides the class that suffers, so a second panel has its recall. Below stands by
how much DDBF is ahead of gcForest, at each ratio and from `BEYOND` on, where the paper's text gives a number.
``options: {label: class}`` names the class where no variant does.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.names import parse_operation, parse_variant
from cascadeforest.reports.figure import BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.notes import (
    budget_note,
    data_notes,
    layers_note,
    listed,
    protocol_note,
    published_note,
    stand_in_words,
)
from cascadeforest.reports.printed_numbers import Published, PublishedNumber
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import FAILED, OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    TableView,
    metric_head,
    number_text,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

ACCURACY, RECALL, GAP = "accuracy", "recall", "accuracy_gap"
#: The paper's text compares DDBF with this column, and says by how much it is ahead from this ratio on.
AGAINST, BEYOND = "gcforest", 0.6
#: Columns of the paper's own method begin so.
_OWN = "ddbf"
_BEYOND_WORDS = f"imbalance ratio beyond {BEYOND:g}"
NOT_EVERYWHERE, NO_RATIO, NO_VARIANT = "not at every ratio", f"no ratio of {BEYOND:g} or more", "no such variant"
NO_TEST_ROWS, NO_CLASS = "no test rows of the class", "the class is not known"
#: Inches that the panels of one data set are high, words in their place, and a line of a legend longer than panels.
_HEIGHT, _EMPTY_HEIGHT, _LINE = 3.5, 0.75, 0.165
#: Inches around panels, so that the label of the right one keeps clear of the left one.
_PAD = 0.14
#: Looks of models: the paper's own and the one that it is compared with are thick. Of the others those that vary one
#: model (`random_forest`, `random_forest_balanced`) have shades of a colour; dashes differ too, markers everywhere.
_OWN_LOOKS = ((BLUE, "o", "solid"), ("#56B4E9", "8", (0, (1, 0.8))), ("#003A5C", "H", (0, (3, 1))))
_AGAINST_COLOUR = ORANGE
#: Over how much of the gap between ratios the points at one ratio stand, and how far apart on the axis at most.
_BESIDE_GAP, _BESIDE_SPAN = 0.25, 0.02
_COLOURS = (PURPLE, "#E69F00", GREEN, "#8C510A", GREY)
#: How much of black (below 0) or white is mixed into the colour of a family for its members.
_SHADES = (0, -0.55, 0.4, -0.3)
_MARKERS = ("s", "D", "v", "P", "X", "*", "<", "p", ">", "h", "d")
_DASHES = ("solid", (0, (4, 1.4)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))


@dataclass(frozen=True)
class Series:
    """Variants of one data set in which more and more rows of one class are dropped.

    Parameters
    ----------
    base : str
        The variant id without the imbalance.
    label : str or None
        The class; None if no variant drops rows.
    variants : dict
        Ratio to variant id, ascending.
    """

    base: str
    label: str | None
    variants: dict[float, str]


@dataclass(frozen=True)
class Look:
    """How the curve of a model is drawn."""

    colour: str
    marker: str
    dash: Any
    is_thick: bool


def find_series(datasets: Iterable[str], place: str) -> list[Series]:
    """Put variants that differ in the dropped share of one class together.

    Parameters
    ----------
    datasets : iterable of str
        Variant ids.
    place : str
        The experiment, for messages.

    Returns
    -------
    list of Series
        In the order of their first variants.

    Raises
    ------
    ConfigError
        If variants of one data set drop rows of different classes, or two have the same ratio.
    """
    found: dict[str, dict[float, str]] = {}
    labels: dict[str, str] = {}
    for variant in datasets:
        name, texts = parse_variant(variant)
        operations = {text: parse_operation(text, variant) for text in texts}
        base = "+".join([name, *(text for text, operation in operations.items() if operation.kind != "imbalance")])
        ratio = 0.0
        for operation in operations.values():
            if operation.kind == "imbalance":
                ratio = operation.amount
                if labels.setdefault(base, operation.label) != operation.label:
                    raise ConfigError(
                        f"{place}/datasets: variants of '{base}' drop rows of the classes '{labels[base]}' and "
                        f"'{operation.label}'; a curve is about one class."
                    )
        if other := found.setdefault(base, {}).get(ratio):
            raise ConfigError(f"{place}/datasets: '{other}' and '{variant}' have the same ratio, {ratio:g}; keep one.")
        found[base][ratio] = variant
    return [Series(base, labels.get(base), dict(sorted(variants.items()))) for base, variants in found.items()]


def looks(columns: Sequence[str]) -> dict[str, Look]:
    """Choose colours, markers and dashes.

    Parameters
    ----------
    columns : sequence of str
        Columns of the experiment.

    Returns
    -------
    dict
        Column to look; no two have the same colour, marker and dashes.
    """
    own = [column for column in columns if column.startswith(_OWN)]
    others = [column for column in columns if column not in own and column != AGAINST]
    families: dict[str, list[str]] = {}
    for column in others:
        roots = [other for other in others if column == other or column.startswith(f"{other}_")]
        families.setdefault(min(roots, key=len), []).append(column)
    found = {}
    for column in columns:
        if column in own:
            # The paper's default, DDBF-f, is the last column and has the first look.
            lap, place = divmod(len(own) - 1 - own.index(column), len(_OWN_LOOKS))
            colour, marker, dash = _OWN_LOOKS[place]
            found[column] = Look(_shade(colour, lap), marker, dash, True)
        elif column == AGAINST:
            found[column] = Look(_AGAINST_COLOUR, "^", (0, (6, 1.5)), True)
        else:
            number, members = next((k, own) for k, own in enumerate(families.values()) if column in own)
            lap, place = divmod(number, len(_COLOURS))
            dash = _DASHES[(members.index(column) + lap) % len(_DASHES)]
            colour = _shade(_COLOURS[place], members.index(column))
            found[column] = Look(colour, _MARKERS[others.index(column) % len(_MARKERS)], dash, False)
    return found


def _shade(colour: str, number: int) -> str:
    """Mix a colour with black or white; the first shade is the colour itself."""
    part = _SHADES[number % len(_SHADES)]
    target = 255 if part > 0 else 0
    channels = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(channel + abs(part) * (target - channel)):02X}" for channel in channels)


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the data sets make no curves.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.published = Published(experiment, results.published)
        self.columns: list[str] = list(experiment["columns"])
        self.own = [column for column in self.columns if column.startswith(_OWN)] if AGAINST in self.columns else []
        place = f"config/experiments/{experiment['paper']}.yaml: {experiment['id']}"
        label = experiment["options"].get("label")
        self.series = [
            replace(one, label=label) if one.label is None and label is not None else one
            for one in find_series(experiment["datasets"], place)
        ]
        measured = score_rows({**experiment, "metrics": [ACCURACY]}, results)
        self.accuracy = {row.key[:2]: row for row in measured if row.dataset in experiment["datasets"]}
        self.recall = {
            (variant, column): self._recall(self.accuracy[variant, column], one.label)
            for one in self.series
            for variant in one.variants.values()
            for column in self.columns
        }
        self.gaps = {
            (variant, column): self._gap(one, column, [ratio], variant, f"against {AGAINST}")
            for one in self.series
            for ratio, variant in one.variants.items()
            for column in self.own
        }
        #: Means over the ratios from `BEYOND` on: (base, column) to accuracy, and to the lead.
        self.beyond, self.gaps_beyond = {}, {}
        for one in self.series:
            ratios = [ratio for ratio in one.variants if ratio >= BEYOND]
            for column in self.columns if ratios else []:
                self.beyond[one.base, column] = self._mean_beyond(one, column, ratios)
            for column in self.own if ratios else []:
                self.gaps_beyond[one.base, column] = self._gap(
                    one, column, ratios, one.base, f"{_BEYOND_WORDS}, against {AGAINST}"
                )

    # Numbers ------------------------------------------------------------------------------------------------------

    def _cells(self, variant: str, column: str) -> list[Mapping[str, Any]]:
        """Cells behind a number."""
        return self.results.cells(variant, self.experiment["columns"][column], self.experiment["repeats"][variant])

    def _recall(self, accuracy: TidyRow, label: str | None) -> TidyRow:
        condition = "" if label is None else f"class {label}"
        row = TidyRow(accuracy.dataset, accuracy.model, condition, RECALL, status=accuracy.status, note=accuracy.note)
        if accuracy.mean is None:
            return row
        names = self.results.summaries.get(accuracy.dataset, {}).get("class_names", [])
        if label not in names:
            return replace(row, status=UNAVAILABLE, note=NO_CLASS)
        code = names.index(label)
        own = [cell["confusion"][code] for cell in self._cells(accuracy.dataset, accuracy.model)]
        if not all(map(sum, own)):
            return replace(row, status=UNAVAILABLE, note=NO_TEST_ROWS)
        return _over_repeats(row, [counts[code] / sum(counts) for counts in own], min(map(sum, own)))

    def _accuracies(self, variant: str, column: str) -> dict[int, float]:
        """Repeat to accuracy."""
        return {cell["repeat"]: cell["metrics"][ACCURACY] for cell in self._cells(variant, column)}

    def _mean_beyond(self, one: Series, column: str, ratios: Sequence[float]) -> TidyRow:
        row = TidyRow(one.base, column, _BEYOND_WORDS, ACCURACY)
        rows = [self.accuracy[one.variants[ratio], column] for ratio in ratios]
        missing = [other for other in rows if other.mean is None]
        if len(missing) == len(rows):
            return replace(row, status=missing[0].status, note=missing[0].note)
        if missing:
            return replace(row, status=UNAVAILABLE, note=NOT_EVERYWHERE)
        found = [self._accuracies(other.dataset, column) for other in rows]
        means = [statistics.fmean(values[repeat] for values in found) for repeat in _common(found)]
        return _over_repeats(row, means, min(other.n_test for other in rows))

    def _gap(self, one: Series, column: str, ratios: Sequence[float], dataset: str, condition: str) -> TidyRow:
        """Lead over `AGAINST` in the same repeats, averaged over the ratios at which both have a number."""
        row = TidyRow(dataset, column, condition, GAP)
        if number := self._printed(one, row):
            row = replace(row, published=float(number.value))
        pairs = [
            (self.accuracy[one.variants[ratio], column], self.accuracy[one.variants[ratio], AGAINST])
            for ratio in ratios
        ]
        both = [pair for pair in pairs if None not in (pair[0].mean, pair[1].mean)]
        if not both:
            missing = next(other for other in pairs[0] if other.mean is None)
            return replace(row, status=missing.status, note=missing.note)
        found = [[self._accuracies(other.dataset, other.model) for other in pair] for pair in both]
        leads = [
            statistics.fmean(mine[repeat] - theirs[repeat] for mine, theirs in found)
            for repeat in _common([values for pair in found for values in pair])
        ]
        return _over_repeats(row, leads, min(other.n_test for pair in both for other in pair))

    def _printed(self, one: Series, row: TidyRow) -> PublishedNumber | None:
        """The paper's number; a base that is no row of the experiment is published as its variants are."""
        dataset = row.dataset if row.dataset in self.experiment["datasets"] else next(iter(one.variants.values()))
        return self.published.number(dataset, row.model, row.metric, row.condition)

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        self.ratios = sorted({ratio for one in self.series for ratio in one.variants})
        heads = [f"ratio {ratio:g}" for ratio in self.ratios] + ([f"mean from {BEYOND:g} on"] if self.beyond else [])
        label_heads, lines = without_source(
            ("data set", "quantity", "model", ""), [line for one in self.series for line in self._lines(one)]
        )
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(heads),
            size_head="repeats × test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        drawn = (*self.accuracy.values(), *self.recall.values())
        figure = Figure(self._caption(), self._alt(), drawn, self._draw)
        derived = (*self.beyond.values(), *self.gaps.values(), *self.gaps_beyond.values())
        return Table((*drawn, *derived), view, figure)

    def _lines(self, one: Series) -> Iterable[Row]:
        accuracy = metric_head(ACCURACY)
        if reason := self._reason(one):
            cells = (Cell(reason, is_word=True),) * (len(self.ratios) + bool(self.beyond))
            yield Row((one.base, accuracy, "all models", REPRODUCED), cells)
        for column in [] if reason else self.columns:
            rows = [self.accuracy.get((one.variants.get(ratio), column)) for ratio in self.ratios]
            beyond = [self.beyond.get((one.base, column), NO_RATIO)] if self.beyond else []
            yield from self._pair(one, (one.base, accuracy, self._label(column)), [*rows, *beyond])
        for column in self.own:
            rows = [self.gaps.get((one.variants.get(ratio), column)) for ratio in self.ratios]
            beyond = [self.gaps_beyond.get((one.base, column), NO_RATIO)] if self.beyond else []
            words = f"{self._label(column)} minus {self._label(AGAINST)}"
            lines = self._pair(one, (one.base, "accuracy (percent points)", words), [*rows, *beyond])
            yield from (line for line in lines if not reason or line.kind == PUBLISHED)
        for column in [] if reason else self.columns:
            rows = [self.recall.get((one.variants.get(ratio), column)) for ratio in self.ratios]
            beyond = ["not averaged"] if self.beyond else []
            yield from self._pair(one, (one.base, f"{_of_class(one)} (%)", self._label(column)), [*rows, *beyond])

    def _pair(self, one: Series, labels: tuple[str, ...], line: Sequence[TidyRow | str | None]) -> Iterable[Row]:
        """A line, and the paper's numbers below it if there are any; words stand for numbers that cannot be."""
        rows = [row for row in line if isinstance(row, TidyRow)]
        reasons = {(row.status, row.note) for row in rows}
        if len(reasons) == 1 and rows[0].status != OK:
            cells = [Cell(_reason(rows[0]), is_word=True)] * len(line)
        else:
            cells = [_cell(row) for row in line]
        sizes = sorted({(row.n, row.n_test) for row in rows if row.n is not None})
        yield Row((*labels, REPRODUCED), tuple(cells), REPRODUCED, ", ".join(f"{n} × {size:,}" for n, size in sizes))
        numbers = [self._printed(one, row) if isinstance(row, TidyRow) else None for row in line]
        if any(numbers):
            printed = [
                Cell(NOT_PRINTED, is_word=True) if number is None else Cell(_printed_words(GAP, number))
                for number in numbers
            ]
            yield Row((*labels, PUBLISHED), tuple(printed), PUBLISHED)

    def _reason(self, one: Series) -> str:
        """Why no model has a number on a data set; empty if one has, or if there are several reasons."""
        rows = [self.accuracy[variant, column] for variant in one.variants.values() for column in self.columns]
        reasons = {_reason(row) if row.mean is None else "" for row in rows}
        return reasons.pop() if len(reasons) == 1 else ""

    def _label(self, column: str) -> str:
        return self.experiment["labels"][column]

    def _notes(self) -> Iterable[str]:
        yield (
            "Ratio: share of the class's training rows that is dropped. Mean ± standard deviation over repeats (sample "
            "deviation, ddof = 1; none for one repeat). Recall: share of the test rows of that class that are "
            "predicted as it; no test row is dropped. The last column says how many repeats, and the rows of the "
            "smallest test set (of the class for recall)."
        )
        if self.own:
            yield (
                "Differences: of the same repeats."
                + (f" 'mean from {BEYOND:g} on': a repeat's mean over these ratios" if self.beyond else "")
                + (", of differences over those at which both models have a number." if self.beyond else "")
            )
        yield from self._reasons()
        # What is said of a data set holds for all variants of it.
        firsts = [next(iter(one.variants.values())) for one in self.series]
        once = {**self.experiment, "datasets": firsts}
        yield protocol_note(once, self.results)
        yield layers_note(self.experiment, self.results)
        yield budget_note(self.experiment, self.results)
        yield published_note(once, self.published)
        yield from data_notes(once, self.results, self.published)

    def _reasons(self) -> Iterable[str]:
        """Each failure once, with its place: cells abbreviate it."""
        for (variant, column), row in self.accuracy.items():
            if row.status == FAILED:
                yield f"failed: {self._label(column)} on {variant}: {row.note}."

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "Test accuracy, and recall of the class that is made rare, against the share of this class's training rows "
            "that is dropped; no test row is dropped."
        ]
        thick = [self._label(column) for column in self.columns if looks(self.columns)[column].is_thick]
        if thick:
            parts.append(f"Thick: {listed(thick)}.")
        if any(row.std is not None for row in self.accuracy.values()):
            parts.append("Whiskers: ± one standard deviation over repeats.")
        if len(self.columns) > 1:
            parts.append("Points at one ratio stand a little beside each other.")
        parts += [self._published_words(), stand_in_words(self.experiment)]
        return " ".join(
            filter(None, [*parts, *map(self._gap_words, self.series), *map(self._series_words, self.series)])
        )

    def _alt(self) -> str:
        words = (filter(None, (self._series_words(one), self._gap_words(one))) for one in self.series)
        return " ".join([f"{self.experiment['title']}.", *(sentence for pair in words for sentence in pair)])

    def _published_words(self) -> str:
        """The paper's number in words, with the data set that it is of."""
        sentences = []
        for dataset in self.published.datasets():
            for column in self.own:
                model, condition = self.published.place(column, f"{_BEYOND_WORDS}, against {AGAINST}")
                if number := self.published.number_at(dataset, model, condition, GAP):
                    sentences.append(
                        f"The paper's text: on {dataset} {self._label(AGAINST)} is ahead while nothing is dropped; "
                        f"beyond a ratio of {BEYOND:g} {self._label(column)} is, by {_printed_words(GAP, number)} "
                        "percent points."
                    )
        return " ".join(sentences)

    def _gap_words(self, one: Series) -> str:
        """Our counterpart of the paper's number."""
        said = []
        for column in self.own:
            row = self.gaps_beyond.get((one.base, column))
            full = self.gaps.get((one.variants.get(0.0), column))
            numbers = []
            if row and row.mean is not None:
                ratios = [
                    f"{ratio:g}" for ratio in one.variants if ratio >= BEYOND and self._has_gap(one, ratio, column)
                ]
                numbers.append(
                    f"{_number(row)} percent points at {'ratio' if len(ratios) == 1 else 'ratios'} {listed(ratios)}"
                    + (f" (mean over {row.n} repeats)" if row.n > 1 else " (one repeat)")
                )
            if full and full.mean is not None:
                numbers.append(f"{_number(full)} percent points at ratio 0")
            if numbers:
                said.append(f"{self._label(column)} minus {self._label(AGAINST)} {', '.join(numbers)}")
        return f"Here, on {one.base}: {'; '.join(said)}." if said else ""

    def _has_gap(self, one: Series, ratio: float, column: str) -> bool:
        return self.gaps[one.variants[ratio], column].mean is not None

    def _series_words(self, one: Series) -> str:
        """From where to where each curve goes; of the models that are not thick only the best at the end."""
        said, reasons = {}, {}
        for column in self.columns:
            rows = [(ratio, self.accuracy[variant, column]) for ratio, variant in one.variants.items()]
            there = [(ratio, row) for ratio, row in rows if row.mean is not None]
            if there:
                said[column] = self._curve_words(one, column, there)
            else:
                reasons.setdefault(_reason(rows[0][1]), []).append(self._label(column))
        parts = []
        if said:
            thick = [column for column, look in looks(self.columns).items() if look.is_thick and column in said]
            parts += [said[column] for column in thick]
            if rest := [column for column in said if column not in thick]:
                end = one.variants[max(one.variants)]
                best = max(rest, key=lambda column: self.accuracy[end, column].mean or 0.0)
                among = "" if len(rest) == 1 else f"best of the other {len(rest)} models at the end: "
                parts.append(f"{among}{said[best]}")
        parts += [
            reason if len(labels) == len(self.columns) else f"{', '.join(labels)}: {reason}"
            for reason, labels in reasons.items()
        ]
        return f"{one.base}: {'; '.join(parts)}."

    def _curve_words(self, one: Series, column: str, rows: list[tuple[float, TidyRow]]) -> str:
        (first, begin), (last, end) = rows[0], rows[-1]
        words = f"{self._label(column)} accuracy {_mean(begin)} %"
        recalls = [self.recall[row.dataset, column] for row in (begin, end)]
        has_recall = all(row.mean is not None for row in recalls)
        if first == last:
            return f"{words} at ratio {first:g}" + (f", {_of_class(one)} {_mean(recalls[0])} %" if has_recall else "")
        words += f" at ratio {first:g}, {_mean(end)} % at {last:g}"
        if has_recall:
            words += f", {_of_class(one)} {_mean(recalls[0])} %, then {_mean(recalls[1])} %"
        return words

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        drawn = {one.base: self._order(one) for one in self.series}
        heights = [
            max(_HEIGHT, 0.7 + _LINE * len(drawn[one.base])) if drawn[one.base] else _EMPTY_HEIGHT
            for one in self.series
        ]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        picture.get_layout_engine().set(w_pad=_PAD)
        parts = picture.subfigures(len(self.series), 1, height_ratios=heights, squeeze=False)
        for one, (part,) in zip(self.series, parts, strict=True):
            part.suptitle(self._title(one), x=0.012, ha="left", fontsize=9, fontweight="bold")
            if not drawn[one.base]:
                rows = [self.accuracy[variant, column] for variant in one.variants.values() for column in self.columns]
                write_words(part, "; ".join(dict.fromkeys(map(_reason, rows))))
                continue
            left, right = part.subplots(1, 2)
            self._draw_panel(left, one, self.accuracy, drawn[one.base])
            left.set_ylabel(metric_head(ACCURACY))
            self._draw_panel(right, one, self.recall, drawn[one.base])
            right.set_ylabel(f"{_of_class(one)} (%)")
            handles = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
            labels = [self._label(column) for column in drawn[one.base]]
            part.legend(
                [handles[label] for label in labels],
                labels,
                loc="outside right center",
                handlelength=2.8,
                title=f"by accuracy at {max(one.variants):g}",
                title_fontsize=7.5,
                alignment="left",
            )
        return picture

    def _title(self, one: Series) -> str:
        first = min(one.variants)
        facts = self.results.summaries.get(one.variants[first])
        if facts is None:
            return one.base
        return f"{one.base}, {facts['n_train']:,} training rows (ratio {first:g}), {facts['n_test']:,} test rows"

    def _order(self, one: Series) -> list[str]:
        """Columns that are drawn, as their curves lie at the right end from top to bottom."""
        ends = {}
        for column in self.columns:
            values = [self.accuracy[variant, column].mean for variant in one.variants.values()]
            there = [(place, value) for place, value in enumerate(values) if value is not None]
            if there:
                ends[column] = there[-1]
        return sorted(ends, key=lambda column: (-ends[column][0], -ends[column][1], self.columns.index(column)))

    def _draw_panel(
        self, axes: Axes, one: Series, rows: Mapping[tuple[str, str], TidyRow], columns: Sequence[str]
    ) -> None:
        """Curves of all models; thick ones lie below, so that they hide none."""
        import numpy as np

        ratios = np.array(list(one.variants))
        span = max(ratios[-1] - ratios[0], 0.2)
        # Points stand a little beside each other, so that whiskers and equal points can be told apart.
        beside = min([_BESIDE_SPAN * span * (len(columns) - 1), *(_BESIDE_GAP * np.diff(ratios))])
        order_of = [column for column in self.columns if column in columns]
        for column in order_of:
            look = looks(self.columns)[column]
            own = [rows[variant, column] for variant in one.variants.values()]
            means = np.array([np.nan if row.mean is None else 100 * row.mean for row in own])
            spreads = np.array([np.nan if row.std is None else 100 * row.std for row in own])
            order = 2 if look.is_thick else 4
            places = ratios
            if len(order_of) > 1:
                places = ratios + beside * (order_of.index(column) / (len(order_of) - 1) - 0.5)
            axes.plot(
                places,
                means,
                color=look.colour,
                marker=look.marker,
                linestyle=look.dash,
                linewidth=2.4 if look.is_thick else 0.9,
                markersize=6.5 if look.is_thick else 4.2,
                markeredgecolor="white" if look.is_thick else look.colour,
                markeredgewidth=0.5,
                label=self._label(column),
                zorder=order,
            )
            if np.isfinite(spreads).any():
                low, high = means - spreads, means + spreads
                axes.vlines(places, low, high, color=look.colour, linewidth=0.7, zorder=order - 1)
        if all(row.mean is None for column in columns for row in (rows[v, column] for v in one.variants.values())):
            note = rows[one.variants[max(one.variants)], columns[0]].note
            axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", color=GREY, style="italic")
        margin = 0.03 * span + (beside / 2 if len(order_of) > 1 else 0)
        axes.set_xlim(ratios[0] - margin, ratios[-1] + margin)
        axes.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
        axes.set_xlabel("imbalance ratio" if one.label is None else f"imbalance ratio of class {one.label}")


def _over_repeats(row: TidyRow, values: Sequence[float], n_test: int) -> TidyRow:
    spread = float(statistics.stdev(values)) if len(values) > 1 else None
    return replace(row, mean=statistics.fmean(values), std=spread, n=len(values), n_test=n_test)


def _common(found: Sequence[Mapping[int, float]]) -> list[int]:
    """Repeats that all of them have."""
    return sorted(set.intersection(*map(set, found)))


def _reason(row: TidyRow) -> str:
    return f"{row.status}: {row.note}" if row.note else row.status


def _of_class(one: Series) -> str:
    return "recall" if one.label is None else f"recall of class {one.label}"


def _number(row: TidyRow) -> str:
    """Mean and spread; differences have a sign."""
    sign = "+" if row.metric == GAP and row.mean > 0 else ""
    return sign + number_text(row.metric, row.mean, row.std).replace("-", "−")


def _mean(row: TidyRow) -> str:
    return number_text(row.metric, row.mean, None)


def _printed_words(metric: str, number: PublishedNumber) -> str:
    return f"{number.qualifier} {printed_text(metric, number.value, None)}".strip()


def _cell(row: TidyRow | str | None) -> Cell:
    if row is None or isinstance(row, str):
        return Cell(row or NO_VARIANT, is_word=True)
    if row.mean is not None:
        return Cell(_number(row))
    if row.status == FAILED:
        return Cell(f"failed: {row.note.partition(':')[0]}", is_word=True)
    return Cell(row.note or row.status, is_word=True)
